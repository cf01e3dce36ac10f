"""CSV files with a header: a number in every column but the label's."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import dropwhile, islice
from typing import IO, Any

import numpy as np

from narrows.io.chunk import Chunk, Labels, Options, label_column, wanted_columns
from narrows.io.lines import Lines, weight
from narrows.solve.errors import DataError

_CELLS = 1_000_000  # in a chunk, at most


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of dense rows, in the order of `options.columns` where it is given."""
    lines_in = Lines(stream, name, options.max_line_mb)
    rows, header, label = _open(lines_in, name, options)
    wanted = wanted_columns(header, label, options, name, 1)
    places = {column: k for k, column in enumerate(header)}
    at = np.array([places[column] for column in wanted])
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
        X = _as_numbers(table[:, at], lines, wanted, name)
        yield Chunk(X, y, lines, tuple(wanted), tuple(header), lines_in.cut)


def labels_are_numbers(stream: IO[bytes], name: str, options: Options) -> bool:
    """Whether all labels are whole numbers; the others decide together, so all have to be seen."""
    rows, header, label = _open(Lines(stream, name, options.max_line_mb), name, options)
    if label is None:
        return False
    at = header.index(label)
    return all(_is_number(cells[at]) for _, cells in rows if len(cells) > at)


def _open(
    lines: Lines, name: str, options: Options
) -> tuple[Iterator[tuple[int, list[str]]], list[str], str | None]:
    """Return the rows with their line numbers, the header, and the label column's name."""
    rows = _rows(lines, name)
    header = list(options.header) if options.header else next(rows, (0, []))[1]
    if not header:
        raise DataError(name, "holds no rows; a header and at least one row are wanted.")
    if len(set(header)) < len(header):
        twice = next(column for column in header if header.count(column) > 1)
        raise DataError(name, f"two columns are named {twice!r}; names must differ.", 1)
    label = label_column(header, options, name, 1)
    if header == [label]:
        raise DataError(name, f"no column but the label's, {label!r}.", 1)
    fresh = dropwhile(lambda row: row[0] <= options.after, rows)
    return fresh, header, label


def _rows(lines: Lines, name: str) -> Iterator[tuple[int, list[str]]]:
    length = 0  # of the row so far, without ends; it has several lines where these are quoted

    def texts() -> Iterator[str]:
        nonlocal length
        for number, line in lines.numbered():
            length += len(line) - 1
            if length > lines.long:
                length += weight(line, len(line))
                if length > lines.longest:
                    lines.refuse()
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                raise DataError(name, f"not a CSV row in UTF-8: {error}.", number) from None

    reader = csv.reader(texts(), strict=True)
    try:
        for cells in reader:
            length = 0
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(name, f"not a CSV row: {error}.", reader.line_num) from None


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
        if not any("_" in cell for cell in table.flat):  # Python's 1_000 is none of ours
            return table.astype(np.float64)
    except ValueError:
        pass
    for line, cells in zip(lines, table, strict=True):
        for column, cell in zip(wanted, cells, strict=True):
            try:
                float(cell.replace("_", "?"))
            except ValueError:
                problem = f"column {column!r}: {cell!r} is not a number."
                raise DataError(name, problem, line) from None
    raise AssertionError("a cell is no number, and none was found")
