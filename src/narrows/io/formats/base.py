"""What a file format is: how its files are recognised, read and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from narrows.errors import DataError, ParameterError, unique
from narrows.io.chunk import LABELS, Chunk, Options, names_as_json, names_of
from narrows.io.kinds import Kind
from narrows.io.parts import FilePart


class Writer:
    """Writes chunks of one type and kind, each as wide as those before, or wider if sparse.

    Parameters
    ----------
    stream : binary stream
        Where to write.
    names : sequence of str, optional
        The names of the features.
    """

    typed = False  # whether files of the format store the type of numbers
    targets: Sequence[str] = ()  # the names of numeric targets

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None):
        self.stream, self.names, self.width = stream, names, 0

    def write(self, X: Any, y: Any) -> None:
        """Add samples, or texts; y may be None."""
        raise ParameterError("expected a format that is written, got one that is only read.")

    def finish(self) -> None:
        """Write the end of the file."""

    def of_labels(self, y: Any, features: Sequence[str]) -> Sequence[str]:
        """Return names for the columns of labels or targets, beside those of the features."""
        if y is None or y.ndim == 1:
            return [] if y is None else [label_name(features)]
        n = y.shape[1]
        names = self.targets if len(self.targets) == n else [f"y{k}" for k in range(n)]
        return unique(names, beside=features)

    def check_width(self, X: Any, format: str, other: str) -> None:
        """Raise where samples have another width than those before, which the format needs."""
        if X.shape[1] != self.width:
            raise ParameterError(
                f"{format} files: expected {self.width} columns, as in the rows before, got "
                f"{X.shape[1]}. Set `width`, or write to {other}."
            )


@dataclass(frozen=True)
class Format:
    """A file format: how its files are recognised, read and written.

    Parameters
    ----------
    kind : Kind
        What its suffixes say.
    read : callable
        Turns a binary stream, the file's name and the options into chunks.
    writer : callable, optional
        Returns a `Writer`, given a binary stream and the names of the features or None, and also
        ``csv_safe=True`` where this was asked for and is among `options`.
        Left out for formats that are only read.
    survey : callable, optional
        Goes through a whole file for facts that every row may change, and returns them by name.
    surveyed : sequence of str
        The names of these facts. They hold if they hold of any of several files. A pipe cannot be
        read without the first one.
    cut : callable, optional
        Cuts a file, given by its path, into parts of about so many bytes. Files of a format without
        it are one part.
    first_row : pattern of bytes, optional
        What the first row of standard input in this format matches as a whole; None for formats
        that are not read from standard input.
    has_header : bool
        Whether the first row names the columns.
    may_widen : bool
        Whether later samples may have more features than those before them.
    labels_apart : bool
        Whether `label` names a file of labels, beside one file of samples.

    See Also
    --------
    narrows.io.formats.FORMATS : All of them.
    """

    kind: Kind
    read: Callable[[IO[bytes], str, Options], Iterator[Chunk]]
    writer: Callable[..., Writer] = Writer
    survey: Callable[[IO[bytes], str, Options], dict[str, bool]] | None = None
    surveyed: Sequence[str] = ()
    cut: Callable[[str, int], list[FilePart]] | None = None
    first_row: re.Pattern[bytes] | None = None
    has_header: bool = False
    may_widen: bool = False
    labels_apart: bool = False

    def is_text(self, options: Options) -> bool:
        """Whether the samples of files read with these options are texts, not numbers."""
        return self.kind.holds_texts or (options.text is not None and "text" in self.options)

    @property
    def name(self) -> str:
        """How messages call it."""
        return self.kind.name

    @property
    def options(self) -> Sequence[str]:
        """The options that it supports."""
        return self.kind.options

    def check_labels_apart(self, paths: Sequence[str], options: Options) -> None:
        """Raise where one file of labels stands beside several files of samples."""
        what = "label" if options.target is None else "target"
        if self.labels_apart and getattr(options, what) is not None and len(paths) > 1:
            beside = names_as_json(names_of(getattr(options, what), what))
            raise ParameterError(
                f"`{what}`: expected one file of samples beside {beside}, got "
                f"{len(paths)}. Put all samples in one, or run fit with one and update with the "
                "others."
            )

    def combine(self, found: Sequence[Mapping[str, bool]]) -> dict[str, bool]:
        """Return the facts about several files together, as far as all were surveyed."""
        names = [name for name in self.surveyed if all(name in facts for facts in found)]
        return {name: any(facts[name] for facts in found) for name in names}


@contextmanager
def damage_named(name: str, problem: str) -> Iterator[None]:
    """Raise a DataError about the file instead of any error of the library that reads it."""
    try:
        yield
    except (DataError, ParameterError, ImportError, Warning):
        raise
    except Exception as error:  # damaged files raise what the parts of a library raise
        first_line = str(error).partition("\n")[0]
        raise DataError(name, f"{problem}: {first_line}") from None


def column_names(names: Sequence[str] | None, width: int) -> list[str]:
    """Return names for the columns of a file: x0, x1, … where there are none."""
    return [f"x{k}" for k in range(width)] if names is None else unique(names)


def label_name(names: Sequence[str]) -> str:
    """Return a name for the column of the labels that no other column has."""
    return next(name for name in (*reversed(LABELS), "__label__") if name not in names)


def as_int32(indices: np.ndarray) -> np.ndarray:
    """Return column numbers in the type that binary files hold."""
    if indices.max(initial=0) > np.iinfo(np.int32).max:
        problem = f"expected columns under 2^31 to write, got {indices.max()}."
        raise ParameterError(f"{problem} Write to .svm instead.")
    return indices.astype(np.int32, copy=False)


def whole_as_int(y: np.ndarray) -> list[Any]:
    """Return labels as a list, whole ones as int: a label is the same text in every chunk."""
    return [int(label) if y.dtype.kind in "bf" and label == label // 1 else label
            for label in y.tolist()]  # fmt: skip
