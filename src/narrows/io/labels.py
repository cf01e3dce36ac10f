"""The type of labels in files: integers, or text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Any

import numpy as np

from narrows.errors import DataError
from narrows.io.chunk import DECIDED, MAY_HAVE_MORE, Chunk, Options
from narrows.methods.names import has_text_labels
from narrows.moments.labels import integer_of, is_integer, text_of

_IN_MODEL, _BEFORE = ", as the model has", ", as in the rows before"


def as_in_model(options: Options, estimator: Any, may_have_more: bool = False) -> Options:
    """Return options by which labels have the type of the classes of a fitted estimator.

    If files `may_have_more` columns, those that are not of its fit are ignored.
    """
    is_text = has_text_labels(estimator) if estimator._needs_y else None
    more = may_have_more or bool(options.get(MAY_HAVE_MORE))
    return options.with_found({MAY_HAVE_MORE: more, **decided_by(is_text)})


def decided_by(is_text: bool | None) -> dict[str, Any]:
    """Return the type of labels that the classes of a model decide, if there are any."""
    return {} if is_text is None else {DECIDED: ("text" if is_text else "integer", _IN_MODEL)}


class Labels:
    """Makes labels of the cells of a file: integers, or text.

    The type is the one that was asked for, or that of a model, or that of the rows before. If none
    of them decides, the first chunk does: its labels are integers if all of them are numbers. The
    cells of CSV that are written as integers, such as 7 and -1, are numbers.

    Parameters
    ----------
    name : str
        The file, for errors.
    options : Options
        What was asked for or decided, and whether all samples need a label.

    Attributes
    ----------
    decided : (str, str), optional
        The type of the labels, and who decided it, for errors.
    """

    def __init__(self, name: str, options: Options):
        self.name, self.required, self._is_asked = name, options.labels_required, options.labels
        self.decided = (options.labels, "") if options.labels else options.get(DECIDED)
        self._present: bool | None = None  # either all samples of a file have a label, or none

    def of(self, chunk: Chunk) -> Any:
        """Return the labels of a chunk; those of several a sample, and targets, as they are."""
        y = chunk.y
        if y is None or getattr(y, "ndim", 1) == 2:
            return y
        why = self.decided[1] if self.decided else ""
        self.decide([y])
        kind = self.decided[0] if self.decided else "integer"
        if isinstance(y, np.ndarray):  # numbers
            if kind == "integer" and _are_integers(y):
                return y.astype(np.int64) if self._is_asked and y.dtype.kind in "bf" else y
            y = y.tolist()
        has_some = any(cell is not None for cell in y)
        if self._present is None:
            self._present = has_some or self.required
        if not (has_some or self._present):
            return None
        # True and 1 are two labels, if they are text
        keys = list(zip(map(type, y), y, strict=True)) if bool in set(map(type, y)) else y
        found: dict[Any, Any] = {}
        for key in dict.fromkeys(keys):
            cell = key[1] if isinstance(key, tuple) else key
            try:
                found[key] = self._label(cell, kind, why, chunk.label)
            except ValueError as error:
                line = int(chunk.lines[keys.index(key)])
                raise DataError(self.name, str(error), line) from None
        labels = list(map(found.__getitem__, keys))
        return np.array(labels, dtype=str if kind == "text" else None)

    def decide(self, parts: Iterable[Any]) -> None:
        """Decide the type of labels by the parts of the first chunk, unless it is decided."""
        if self.decided is not None:
            return
        single = [y for y in parts if isinstance(y, list) or getattr(y, "ndim", 2) == 1]
        cells = [cell for y in single if isinstance(y, list) for cell in y if cell is not None]
        if cells or any(isinstance(y, np.ndarray) for y in single):
            is_text = any(isinstance(cell, str) for cell in cells)
            self.decided = "text" if is_text else "integer", _BEFORE

    def _label(self, cell: Any, kind: str, why: str, column: str | None) -> Any:
        """Return the label that a cell is; ValueError where it has another type, or is missing."""
        where = "" if column is None else f"{column!r}: "
        if cell is None or (isinstance(cell, float) and not isfinite(cell)):
            got = "none" if cell is None else cell
            advice = "Fill in a label, or remove the row, or set `label`."
            raise ValueError(f"{where}expected a label, got {got}. {advice}")
        if not self._present:
            raise ValueError(f"{where}expected no label, as in the rows before, got {cell!r}.")
        if kind == "text":
            return _checked(text_of(cell))
        value = integer_of(cell)
        if isinstance(cell, str) and not (self._is_asked or is_integer(cell)):
            also = f" Or set `labels` to integer to read it as {value}." * (value is not None)
            advice = f"Set `labels` to text.{also}"
            raise ValueError(f"expected an integer label{why}, got {cell!r}. {advice}")
        if value is None:
            also = " Or set `target` for numbers to predict." * isinstance(cell, float)
            advice = f"Set `labels` to text.{also}"
            raise ValueError(f"expected an integer label under 2^63{why}, got {cell!r}. {advice}")
        return cell if isinstance(cell, bool) and not self._is_asked else value


def labelled(chunks: Iterable[Chunk], name: str, options: Options) -> Iterator[Chunk]:
    """Yield the chunks of a table with labels of one type."""
    labels = Labels(name, options)
    for chunk in chunks:
        yield chunk.replace(y=labels.of(chunk))


def _are_integers(y: np.ndarray) -> bool:
    """Whether all numbers are whole, and those of floating point are under 2^63."""
    if y.dtype.kind != "f":
        return True
    with np.errstate(invalid="ignore"):
        y = y.astype(np.float64, copy=False)  # float16 has no 2^63
        return bool(((y == np.floor(y)) & (np.abs(y) < 2.0**63)).all())


def _checked(text: str) -> str:
    """Return a text; ValueError if it would not be the same in an array, or in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"expected a label in Unicode, got {text!r}.") from None
    if "\0" in text:
        raise ValueError(f"expected a label without NUL characters, got {text!r}.")
    return text
