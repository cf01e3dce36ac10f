"""CSV files with a header: a number in every column but the label's."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

import numpy as np

from narrows.errors import DataError
from narrows.read.chunk import Chunk, Labels, Options

LABELS = ("class", "label")  # the label column, where none is named
_CELLS = 1_000_000  # in a chunk, at most


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of dense rows, in the order of `options.columns` where it is given."""
    rows, header, label = _open(stream, name, options)
    wanted = _columns(header, label, name, options)
    at = np.array([header.index(column) for column in wanted])
    labels = Labels(name, options.labels_required, f"{label!r}")
    # a cell takes fifteen times as much room as text as it does as a number
    size = max(1, min(options.chunk_rows, _CELLS // len(header)))
    numbers = options.number_labels
    while block := list(islice(rows, size)):
        lines = [line for line, _ in block]
        for line, cells in block:
            if len(cells) != len(header):
                raise DataError(name, f"{len(header)} cells wanted, but {len(cells)} came.", line)
        table = np.array([cells for _, cells in block], dtype=object)
        y = None
        if label is not None:
            cells = table[:, header.index(label)].tolist()
            if numbers is None:
                numbers = _is_number(cells[0])
            found = [_as_label(cell, numbers) for cell in cells]
            y = labels.array([labels.check(*pair) for pair in zip(found, lines, strict=True)])
        yield Chunk(_as_numbers(table[:, at], lines, wanted, name), y, lines, tuple(wanted))


def labels_are_numbers(stream: IO[bytes], name: str, options: Options) -> bool:
    """Whether all labels are whole numbers; the others decide together, so all have to be seen."""
    rows, header, label = _open(stream, name, options)
    if label is None:
        return False
    at = header.index(label)
    return all(_is_number(cells[at]) for _, cells in rows if len(cells) > at)


def _open(
    stream: IO[bytes], name: str, options: Options
) -> tuple[Iterator[tuple[int, list[str]]], list[str], str | None]:
    """Return the rows with their line numbers, the header, and the label column's name."""
    rows = _rows(stream, name)
    _, header = next(rows, (0, []))
    if not header:
        raise DataError(name, "holds no rows; a header and at least one row are wanted.")
    if len(set(header)) < len(header):
        twice = next(column for column in header if header.count(column) > 1)
        raise DataError(name, f"two columns are named {twice!r}; names must differ.", 1)
    candidates = [options.label] if options.label else list(LABELS)
    found = [column for column in candidates if column in header]
    if len(found) > 1:
        raise DataError(name, "a column `class` and one `label`: name the one with --label.", 1)
    if not found and options.labels_required:
        raise DataError(
            name,
            f"no label column {' or '.join(map(repr, candidates))}; there are "
            f"{', '.join(header[:10])}{', …' if len(header) > 10 else ''}. "
            "Name it with --label.",
            1,
        )
    if header == found:
        raise DataError(name, f"no column but the label's, {found[0]!r}.", 1)
    return rows, header, found[0] if found else None


def _rows(stream: IO[bytes], name: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(_lines(stream, name), strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(name, f"not a CSV row: {error}.", reader.line_num) from None


def _lines(stream: IO[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(name, f"not a CSV row in UTF-8: {error}.", number) from None


def _columns(header: list[str], label: str | None, name: str, options: Options) -> list[str]:
    present = [column for column in header if column != label]
    if options.columns is None:
        return present
    missing = [column for column in options.columns if column not in present]
    extra = [column for column in present if column not in options.columns]
    for what, which in (("lacks", missing), ("has, beside those wanted,", extra)):
        if which:
            raise DataError(
                name,
                f"{len(options.columns)} columns wanted, as in the fit; it {what} "
                f"{', '.join(which[:5])}{', …' if len(which) > 5 else ''}.",
                1,
            )
    return list(options.columns)


def _is_number(cell: str) -> bool:
    """Whether a label is a whole number, and written as one would write it: not 01, not 1_0."""
    try:
        return str(int(cell)) == cell and abs(int(cell)) < 2**63
    except ValueError:
        return False


def _as_label(cell: str, numbers: bool) -> Any:
    """A whole number where all labels are; else text. An empty cell is no label."""
    return int(cell) if numbers and _is_number(cell) else cell or None


def _as_numbers(table: np.ndarray, lines: list[int], wanted: list[str], name: str) -> np.ndarray:
    try:
        return table.astype(np.float64)
    except ValueError:
        for line, cells in zip(lines, table, strict=True):
            for column, cell in zip(wanted, cells, strict=True):
                try:
                    float(cell)
                except ValueError:
                    raise DataError(
                        name, f"column {column!r}: {cell!r} is not a number.", line
                    ) from None
        raise
