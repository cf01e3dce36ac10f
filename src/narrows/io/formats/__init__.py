"""The registry of file formats: to add one, write its module and name it in `FORMATS`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from narrows.io import compression
from narrows.io.formats import csv, jsonl, npz, parquet, svmlight
from narrows.io.formats.base import Format
from narrows.solve.errors import DataError, ParameterError

# standard input has the first format whose `first_row` matches: vague patterns come last
FORMATS = (svmlight.FORMAT, parquet.FORMAT, npz.FORMAT, jsonl.FORMAT, csv.FORMAT)
FOR_ROWS, FOR_TEXTS = csv.FORMAT, jsonl.FORMAT  # of standard output
OPTIONS = sorted({name for format in FORMATS for name in format.options})  # not those of all


def format_of(path: str) -> tuple[Format, bool]:
    """Return the format that the suffix of a path names, and whether the file is compressed.

    Raises
    ------
    ParameterError
        The suffix is not supported.
    """
    suffix, is_compressed = compression.suffix_of(path)
    for format in FORMATS:
        if suffix in format.suffixes and not (is_compressed and format.is_binary):
            return format, is_compressed
    suffix += compression.SUFFIX * is_compressed
    raise ParameterError(
        f"{path}: {suffix or 'a file name without suffix'} is not supported. Supported are "
        f"{listed(FORMATS)}; {compression.SUFFIX} may follow the suffix of a text format."
    )


def common_format(paths: Iterable[str]) -> Format:
    """Return the one format of files; ParameterError where they have several."""
    return one_of([format_of(path)[0] for path in paths])


def one_of(formats: Sequence[Format]) -> Format:
    """Return the format that all of these are; ParameterError where they differ."""
    first = formats[0]
    if any(format is not first for format in formats):
        names = ", ".join(sorted({format.name for format in formats}))
        raise ParameterError(
            f"expected files of one format, got {names}. Run once for each, or convert them."
        )
    return first


def format_of_row(row: bytes) -> Format:
    """Return the format of standard input whose first row this is."""
    name = "standard input"
    if not row:
        raise DataError(name, "expected at least one row, got none.")
    if compression.is_compressed(row):
        raise ParameterError(
            f"{name}: expected text, got a compressed file. Decompress it first, or name the file."
        )
    for format in FORMATS:
        if format.first_row is not None and format.first_row.fullmatch(row):
            return format
    names = ", ".join(format.name for format in FORMATS if format.first_row is not None)
    raise ParameterError(
        f"{name}: expected one of {names}, got a file that starts with {row[:40]!r}."
    )


def listed(formats: Iterable[Format]) -> str:
    """Return the suffixes of formats, for messages."""
    return ", ".join(suffix for format in formats for suffix in format.suffixes)
