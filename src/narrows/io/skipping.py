"""Rows that cannot be read: skipped and listed, where reading would stop at the first one."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from narrows.errors import DataError
from narrows.io.atomic import replacing
from narrows.io.chunk import Chunk, Options, check_finite
from narrows.io.formats import csv as cells
from narrows.io.formats.arrow import opened
from narrows.io.formats.base import Format
from narrows.io.kinds import ARROW, CSV, ORC, PARQUET, TSV
from narrows.io.labels import Labels
from narrows.io.streams import Lines

_LATEST = 8  # chunks, more than are read ahead


class Skipped(NamedTuple):
    """A row that was skipped: its file, its line, why, and its text where it has one."""

    file: str
    line: int
    reason: str
    row: bytes = b""


class Tolerance:
    """Reads files without the rows that cannot be read, which it lists.

    Parameters
    ----------
    how : {"skip", "missing"}
        What becomes of a cell of a table that cannot be read: its row is skipped, or it counts as
        missing. Rows with any other error are skipped.

    Attributes
    ----------
    rows : dict of (str, int) to Skipped
        The rows that were skipped, once each, by file and line.
    n_missing : int
        The number of cells that count as missing.
    """

    def __init__(self, how: str):
        self.how, self.n_missing = how, 0
        self.rows: dict[tuple[str, int], Skipped] = {}
        self._heads: dict[str, bytes] = {}
        self._name = ""
        self._cells: set[tuple[str, int, str]] = set()
        # of text files, the rows read last: some turn out to be wrong only later, such as a cell
        # that a table cannot encode
        self._latest: deque[dict[tuple[str, int], bytes]] = deque(maxlen=_LATEST)

    def add(self, error: DataError, row: bytes = b"") -> None:
        """Add the row of an error; errors of whole files are raised."""
        if error.line is None:
            raise error
        at = error.path, int(error.line)
        row = row or next((rows[at] for rows in self._latest if at in rows), b"")
        self.rows.setdefault(at, Skipped(*at, error.problem, row))

    def add_cell(self, file: str, line: int, column: str) -> None:
        """Count a cell that is missing, once."""
        self._cells.add((file, line, column))
        self.n_missing = len(self._cells)

    def labelled(self, chunks: list[Chunk], labels: Labels, may_lack: bool) -> Iterator[Chunk]:
        """Yield chunks with their labels, or parts of them without rows whose label is wrong."""
        labels.decide(chunk.y for chunk in chunks)
        for chunk in chunks:
            try:
                yield chunk.replace(y=labels.of(chunk))
            except DataError as error:
                n = len(chunk.lines)
                if n > 1:
                    halves = np.arange(n // 2), np.arange(n // 2, n)
                    parts = [chunk.take(rows) for rows in halves]
                    yield from self.labelled(parts, labels, may_lack)
                elif may_lack and isinstance(chunk.y, list) and chunk.y[0] is None:
                    yield chunk.replace(y=None)
                else:
                    self.add(error)

    def pieces(
        self, format: Format, stream: Any, name: str, options: Options
    ) -> Iterator[list[Chunk]]:
        """Yield what is read of so many rows of a file at a time, without rows that are wrong."""
        self._name = name
        if format.kind in (PARQUET, ARROW, ORC):
            with opened(format.kind, stream, name, options) as (columns, pieces):
                for lines, batch in pieces:

                    def part(some: range, lines: Any = lines, batch: Any = batch) -> list[Chunk]:
                        rows = slice(some.start, some.stop)
                        return [columns.chunk(lines[rows], batch.slice(some.start, len(some)))]

                    yield self._without_wrong_rows(range(batch.num_rows), part)
            return
        if format.kind.is_binary:
            for chunk in format.read(stream, name, options):

                def some(rows: Any, of: Chunk = chunk) -> list[Chunk]:
                    return [of.take(rows)]

                yield self._without_wrong_rows(np.arange(len(chunk.lines)), some)
            return
        of_text = Lines(stream, name, options.max_line_mb)
        rows: Iterator[tuple[int, bytes]]
        how = options.replace(after=0)
        if format.kind in (CSV, TSV):
            how, head, rows = cells.rows_of(of_text, name, options, ",\t"[format.kind is TSV])
            self._heads.setdefault(name, head)
            list(format.read(io.BytesIO(), name, how))  # errors of the header are those of the file
        else:
            rows = ((n, line) for n, line in of_text.numbered() if n > options.after)

        def read(some: Sequence[tuple[int, bytes]]) -> list[Chunk]:
            ends = np.cumsum([row.count(b"\n") for _, row in some])

            def line_of(n: int) -> int:
                return some[int(np.searchsorted(ends, n))][0]

            text = io.BytesIO(b"".join(row for _, row in some))
            return _with_lines(line_of, lambda: format.read(text, name, how))

        while held := list(islice(rows, options.chunk_rows)):
            self._latest.append({(name, n): each for n, each in held})
            yield self._without_wrong_rows(held, read)

    def _without_wrong_rows(self, rows: Any, read: Callable[[Any], list[Chunk]]) -> list[Chunk]:
        """Return what is read of rows, or of their halves if there is an error, and so on."""
        try:
            chunks = read(rows)
            for chunk in chunks:
                check_finite(chunk, self._name)
            return chunks
        except DataError as error:
            if error.line is None:
                raise
            if len(rows) > 1:
                n = len(rows) // 2
                return [
                    c for half in (rows[:n], rows[n:]) for c in self._without_wrong_rows(half, read)
                ]
            self.add(error, rows[0][1] if isinstance(rows, list) else b"")
            return []

    def write(self, path: str) -> None:
        """Write the rows that were skipped, behind their header if they have one."""
        with replacing(path) as new, open(new, "wb") as file:
            before = None
            for each in sorted(self.rows.values(), key=lambda row: (row.file, row.line)):
                if before is None and each.file in self._heads:
                    file.write(self._heads[each.file])
                before = each.file
                file.write(each.row)


def _with_lines(line_of: Callable[[int], int], read: Callable[[], Iterable[Chunk]]) -> list[Chunk]:
    """Return chunks with their lines in the file, which errors name, too."""
    try:
        chunks = [*read()]
    except DataError as error:
        line = None if error.line is None else line_of(error.line)
        raise DataError(error.path, error.problem, line) from None
    return [chunk.replace(lines=[line_of(int(n)) for n in chunk.lines]) for chunk in chunks]
