"""What goes into a reader, and what comes out of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from narrows.io.lines import MAX_LINE_MB
from narrows.solve.errors import DataError, ParameterError


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
    header: tuple[str, ...] | None = None  # of CSV; None: the first row is it
    after: int = 0  # lines, or rows of arrays, that are passed over
    several_labels: bool | None = None  # a row, of svmlight; None: the first chunk decides
    may_be_empty: bool = False  # a file, as one of many may be
    max_line_mb: int = MAX_LINE_MB  # of text

    def __post_init__(self) -> None:
        if self.chunk_rows < 1 or (self.width is not None and self.width < 1):
            raise ParameterError("chunk_rows and width must be whole numbers >= 1.")
        if self.max_line_mb < 1:
            raise ParameterError(
                f"max_line_mb: expected a whole number >= 1, got {self.max_line_mb!r}."
            )

    def having(self, **known: Any) -> Self:
        """Return the same with more known."""
        return replace(self, **known)


class Position(NamedTuple):
    """Where a chunk ends: in which file, at which line (or row) of it, after how many rows."""

    file: int = 0
    line: int = 0
    rows: int = 0


class Chunk(NamedTuple):
    """Some rows, their labels if any, and the line each row came from.

    `columns` names the columns, `header` all there is in a CSV file; `cut` is whether a number may
    have lost digits, as the last line has no end; `at` is put there by the data set.
    """

    X: Any
    y: Any
    lines: Sequence[int] | np.ndarray
    columns: tuple[str, ...] | None = None
    header: tuple[str, ...] | None = None
    cut: bool = False
    at: Position = Position()


LABELS = ("class", "label")  # the label column, where none is named
CLASSES = 1 << 24  # with several labels a row they number the columns of y, which all count


def label_column(
    header: Sequence[str], options: Options, name: str, line: int | None = None
) -> str | None:
    """Return the name of the column that holds the labels, if there is one."""
    candidates = [options.label] if options.label else list(LABELS)
    found = [column for column in candidates if column in header]
    if len(found) > 1:
        raise DataError(name, "a column `class` and one `label`: name the one with --label.", line)
    if not found and options.labels_required:
        raise DataError(
            name,
            f"no label column {' or '.join(map(repr, candidates))}; there are "
            f"{', '.join(header[:10])}{', …' if len(header) > 10 else ''}. "
            "Name it with --label.",
            line,
        )
    return found[0] if found else None


def wanted_columns(
    header: Sequence[str],
    label: str | None,
    options: Options,
    name: str,
    line: int | None = None,
) -> list[str]:
    """Return the columns of a row in their order: those of a fit where `options` name them."""
    present = [column for column in header if column != label]
    if options.columns is None:
        return present
    there, known = set(present), set(options.columns)
    missing = [column for column in options.columns if column not in there]
    extra = [column for column in present if column not in known]
    for what, which in (("lacks", missing), ("has, beside those wanted,", extra)):
        if which:
            raise DataError(
                name,
                f"{len(options.columns)} columns wanted, as in the fit; it {what} "
                f"{', '.join(which[:5])}{', …' if len(which) > 5 else ''}.",
                line,
            )
    return list(options.columns)


def check_text(label: str, name: str, line: int) -> None:
    """Raise where a label would not be the same in an array, or in a file of UTF-8."""
    try:
        label.encode()
    except UnicodeEncodeError:
        raise DataError(name, f"label {label!r} is not text in Unicode.", line) from None
    if "\0" in label:
        raise DataError(name, f"label {label!r}: text without NUL characters wanted.", line)


def check_numbers(labels: np.ndarray, name: str, lines: Sequence[int]) -> None:
    """Raise where one of the labels, which are floats, would be no integer of 64 bits."""
    odd = np.flatnonzero(~(np.abs(labels) < 2.0**63))
    if len(odd):
        problem = f"label {labels[odd[0]]}: expected text or a whole number under 2^63."
        raise DataError(name, problem, lines[odd[0]])


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
            if isinstance(label, str):
                check_text(label, self.name, line)
            if isinstance(label, float):
                if not label.is_integer():
                    raise DataError(self.name, f"label {label}: a whole number wanted.", line)
                label = int(label)
            if isinstance(label, int) and not -(2**63) <= label < 2**63:
                raise DataError(self.name, f"label {label}: too large; use text.", line)
        return label

    def array(self, labels: list[Any]) -> np.ndarray | None:
        """Return what has been checked as an array, or None where there are no labels."""
        return np.array(labels) if self.present else None
