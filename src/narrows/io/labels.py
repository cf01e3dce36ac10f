"""Labels of files: text or integers, as a file shows or as `Options.labels` asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError
from narrows.io.chunk import Options, check_text
from narrows.state.labels import are_text, integer_of, is_integer, text_of, written

NUMBERS = "number_labels"  # a fact: whether labels that a format writes as text are integers
VARY = "labels_vary"  # a fact: a model has both read, so that each chunk may show another type
_KINDS = {True: "text", False: "a number"}


def as_in_model(options: Options, estimator: Any, is_update: bool = False) -> Options:
    """Return options by which labels have the type of the classes of a fitted estimator.

    Those of an update of a model of text stay numbers if a format has numbers.
    """
    classes = estimator._fitted.state.classes
    if options.labels is not None or not estimator._needs_y or not len(classes):
        return options
    if not are_text(classes):
        return options.with_found({VARY: True})
    return options.with_found({NUMBERS: False}) if is_update else options.replace(labels="text")


def as_asked(y: Any, options: Options, name: str, lines: Sequence[int] | np.ndarray) -> Any:
    """Return the labels of a chunk as text or as integers, where one of them was asked for.

    Several labels per sample stay what they are.
    """
    if options.labels is None or y is None or sparse.issparse(y):
        return y
    if options.labels == "text":
        return written(y)
    if y.dtype.kind in "iu":
        return y
    distinct, first, codes = np.unique(y, return_index=True, return_inverse=True)
    found = [
        _as_integer(label, name, lines[k])
        for label, k in zip(distinct.tolist(), first.tolist(), strict=True)
    ]
    return np.array(found, dtype=np.int64)[codes]


def _as_integer(label: Any, name: str, line: Any) -> int:
    value = integer_of(label)
    if value is None:
        problem = f"expected a label that is an integer under 2^63, got {label!r}."
        raise DataError(name, f'{problem} Set labels="text".', line)
    return value


class Labels:
    """Collects the labels of a file: every sample has one, or none has.

    Parameters
    ----------
    name : str
        The file, for errors.
    options : Options
        Whether samples without a label are an error, and what type labels have.
    what : str
        What holds the labels, for errors.
    """

    def __init__(self, name: str, options: Options, what: str):
        self.name, self.required, self.what = name, options.labels_required, what
        self.asked = options.labels
        self.present: bool | None = None
        self.is_text: bool | None = None
        self._numbers = False if self.asked else options.get(NUMBERS)
        self._as_text = self.asked == "text" or self._numbers is False
        self._vary = self._numbers is None and options.get(VARY)

    def of_cells(self, cells: list[str], lines: Sequence[int]) -> np.ndarray | None:
        """Return labels that a format writes as text; an empty cell is no label.

        Without a survey of the file, the first labels decide whether all are integers.
        """
        if self._numbers is None or self._vary:
            self._numbers = all(map(is_integer, cells))
        labels = [int(c) if self._numbers and is_integer(c) else c or None for c in cells]
        return self.array([self.check(*pair) for pair in zip(labels, lines, strict=True)])

    def check(self, label: Any, line: int) -> Any:
        """Return `label`, as it was asked for; DataError where it is unlike those before."""
        if self.present is None:
            self.present = label is not None
        if label is None:
            if self.required or self.present:
                raise DataError(self.name, f"{self.what}: expected a label, got none.", line)
            return None
        if not self.present:
            before = f"{self.what}: expected no label, as in the rows before"
            raise DataError(self.name, f"{before}, got {label!r}.", line)
        if self.asked == "integer":
            return _as_integer(label, self.name, line)
        if self._as_text:
            label = text_of(label)
        is_text = isinstance(label, str)
        if self.is_text not in (None, is_text) and not self._vary:
            before = f"expected a label that is {_KINDS[not is_text]}, as in the rows before"
            problem = f'{before}, got {label!r}. Set labels="text".'
            raise DataError(self.name, problem, line)
        self.is_text = is_text
        if is_text:
            check_text(label, self.name, line)
            return label
        if isinstance(label, float):
            if not label.is_integer():
                problem = f'expected an integer label, got {label}. Set labels="text".'
                raise DataError(self.name, problem, line)
            label = int(label)
        if not -(2**63) <= label < 2**63:
            problem = (
                f'expected a label under 2^63, got {label}. Write it as text, or set labels="text".'
            )
            raise DataError(self.name, problem, line)
        return label

    def array(self, labels: list[Any]) -> np.ndarray | None:
        """Return checked labels as an array, or None where there are none."""
        if self._vary and any(isinstance(label, str) for label in labels):
            labels = [label if label is None else text_of(label) for label in labels]
        return np.array(labels) if self.present else None
