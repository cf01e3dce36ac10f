"""The registry of file formats: to add one, write its module and name it in `FORMATS`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from narrows.errors import DataError, ParameterError
from narrows.io import streams
from narrows.io.formats import arrow, csv, h5ad, jsonl, numpy, svmlight
from narrows.io.formats.base import Format
from narrows.io.kinds import Kind, kind_of
from narrows.io.parts import FilePart

# standard input has the first format whose `first_row` matches: vague patterns come last
FORMATS = (
    svmlight.FORMAT, arrow.FORMAT, arrow.ARROW, arrow.ORC, numpy.NPZ, numpy.NPY, h5ad.FORMAT,
    jsonl.FORMAT, csv.FORMAT, csv.TSV,
)  # fmt: skip
# the header of a CSV file of one column
_ONE_NAME = re.compile(rb"[\w\"\x80-\xff][^\x00-\x20\x7f,:]*")
OPTIONS = sorted({name for format in FORMATS for name in format.options})  # not those of all


def format_of(path: str) -> tuple[Format, str]:
    """Return the format that the suffix of a path names, and the suffix of its compression or "".

    Raises
    ------
    ParameterError
        The suffix is not supported.
    """
    kind, compressed = kind_of(path)
    return of_kind(kind), compressed


def of_kind(kind: Kind) -> Format:
    """Return the format of a kind of files."""
    return next(format for format in FORMATS if format.kind is kind)


def parts_of(path: str, size: int, encoding: str | None = None) -> list[str | FilePart]:
    """Return the parts of a file, of about `size` bytes each; the file itself if it is one.

    A file that is not here, but where it will be read, is one part.
    """
    format, compressed = format_of(path)
    is_small = not os.path.isfile(path) or os.path.getsize(path) < 2 * size
    if compressed or format.cut is None or is_small:
        return [path]
    if not format.kind.is_binary:
        with open(path, "rb") as file:
            other = streams.starts_otherwise(file.read(4))
        if other or (encoding is not None and "\n".encode(encoding) != b"\n"):
            return [path]
    parts = format.cut(path, size)
    return [path] if len(parts) < 2 else [*parts]


def common_format(formats: Mapping[str, Format]) -> Format:
    """Return the one format of files, given by their names; ParameterError where they differ."""
    (before, first), *others = formats.items()
    for name, format in others:
        if format is not first:
            raise ParameterError(
                f"{name}: expected files of one format, {first.name} as {before}, got "
                f"{format.name}. Run once for each format, or convert the files."
            )
    return first


def format_of_row(row: bytes) -> Format:
    """Return the format of standard input whose first row this is."""
    name = "standard input"
    if not row:
        raise DataError(name, "expected at least one row, got none.")
    if streams.is_compressed(row):
        raise ParameterError(
            f"{name}: expected text, got a compressed file. Decompress it first, or name the file."
        )
    for format in FORMATS:
        if format.first_row is not None and format.first_row.fullmatch(row):
            return format
    if _ONE_NAME.fullmatch(row):
        return csv.FORMAT
    names = ", ".join(format.name for format in FORMATS if format.first_row is not None)
    raise ParameterError(
        f"{name}: expected one of {names}, got a file that starts with {row[:40]!r}. "
        "Write it to a file, whose suffix names the format."
    )
