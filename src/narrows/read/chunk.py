"""What goes into a reader, and what comes out of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from narrows.errors import DataError


@dataclass(frozen=True)
class Options:
    """How to read; each reader takes what concerns it. See `narrows.read.iter_chunks`."""

    label: str | None = None
    text: str | None = None
    split: str | None = None
    width: int | None = None
    zero_based: bool | None = None
    columns: tuple[str, ...] | None = None
    chunk_rows: int = 10_000
    labels_required: bool = False
    number_labels: bool | None = None  # of CSV; None: the first label decides
    several_labels: bool | None = None  # a row, of svmlight; None: the first chunk decides

    def having(self, **known: Any) -> Self:
        """Return the same with more known."""
        return replace(self, **known)


class Chunk(NamedTuple):
    """Some rows, their labels if any, the line each row came from, the columns' names if any."""

    X: Any
    y: Any
    lines: Sequence[int] | np.ndarray
    columns: tuple[str, ...] | None = None


class Labels:
    """Collects the labels of a file whose rows have all of them one, or none.

    Parameters
    ----------
    name : str
        The file, for errors.
    required : bool
        Whether rows without a label are an error.
    wanted : str
        What holds the labels, for errors.
    """

    def __init__(self, name: str, required: bool, wanted: str):
        self.name, self.required, self.wanted = name, required, wanted
        self.present: bool | None = None
        self.kind: str | None = None

    def check(self, label: Any, line: int) -> Any:
        """Return `label`; DataError where it is unlike those before."""
        if self.present is None:
            self.present = label is not None
        if (label is not None) != self.present or (label is None and self.required):
            raise DataError(
                self.name,
                f"no {self.wanted}, though every row has to have a label"
                + ("." if self.required else ", or none of them.")
                if label is None
                else f"a {self.wanted}, though rows before this one had none.",
                line,
            )
        if label is not None:
            kind = "text" if isinstance(label, str) else "a number"
            if self.kind not in (None, kind):
                raise DataError(
                    self.name, f"label {label!r} is {kind}, labels before it were not.", line
                )
            self.kind = kind
            if isinstance(label, int) and not -(2**63) <= label < 2**63:
                raise DataError(self.name, f"label {label}: too large; use text.", line)
        return label

    def array(self, labels: list[Any]) -> np.ndarray | None:
        """Return what has been checked as an array, or None where there are no labels."""
        return np.array(labels) if self.present else None
