"""CSV and TSV files: samples of numbers, of texts in some columns, or of columns of any kind."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError, some_names, unique, warn
from narrows.io import kinds
from narrows.io.chunk import OF_CLASSES, OF_FEATURES, OTHER_ENCODING, Chunk, Options
from narrows.io.formats.base import Format, Writer, column_names, whole_as_int
from narrows.io.formats.columns import Columns, Piece, column_of, pyarrow
from narrows.io.parts import SEPARATOR_LINE, by_rows
from narrows.io.streams import BLOCK, MARK, Lines
from narrows.solve.cells import reads_as_number

_END, _RETURN, _QUOTE = b'\n\r"'
_ANOTHER = "expected a CSV row, got another line:"
_ALONE = "a carriage return in a cell. Put the cell in double quotes."
_NOT_CLOSED = "a double quote that is not closed. Close it, or double it."
_BEHIND = "text behind a quoted cell. Double the quotes within cells."
_MOST_COLUMNS = 1 << 24  # to write: the header of more is longer than the longest line to read
_SHOWN = 40  # characters of a cell in a message


def read(stream: IO[bytes], name: str, options: Options, delimiter: str = ",") -> Iterator[Chunk]:
    """Yield chunks of dense samples, of texts, or of `TableRows`."""
    lines = Lines(stream, name, options.max_line_mb)
    file = _File(lines, name, options, delimiter)
    if not (options.get("header") or options.no_header):
        _warn_of_names(file.header, name, options)
    columns = Columns(file.header, options, name, line=1)
    for chunk in columns.chunks(file.pieces(columns)):
        yield chunk.replace(header=tuple(file.header), is_truncated=lines.is_truncated)


def _warn_of_names(header: Sequence[str], name: str, options: Options) -> None:
    """Warn where a header may be the first row, since it has fractions, or begins with an index."""
    if set(header) & set(options.columns or ()):  # those of a fit
        return
    if len(header) > 1 and not header[0].strip() and not (options.text or options.table):
        warn(
            f"{name}:1: expected names of columns, got none of the first one, as of the index that "
            "pandas writes. It is a feature. Write the file without it: to_csv(..., index=False)."
        )
    if all(map(reads_as_number, header)) and not all(cell.strip().isdecimal() for cell in header):
        warn(
            f"{name}:1: expected names of columns, got {some_names(header, 3)}. If the file has no "
            "header, use `no_header`: the first row is not read as a sample."
        )


def rows_of(
    lines: Lines, name: str, options: Options, delimiter: str
) -> tuple[Options, bytes, Iterator[tuple[int, bytes]]]:
    """Return options to read rows without their header, this, and each row with its last line."""
    file = _File(lines, name, options, delimiter)

    def rows() -> Iterator[tuple[int, bytes]]:
        for some in file.rows:
            for line, start, end in zip(*(each.tolist() for each in some[1:4]), strict=True):
                if line > options.after:
                    yield line, some.block[start : end + 1]

    how = options.replace(after=0, separator=file.delimiter).with_found({"header": file.header})
    return how, file.head, rows()


class _Rows(NamedTuple):
    """Rows of a file, and empty lines between them.

    Parameters
    ----------
    block : bytes
        Whole lines.
    lines, starts, ends : ndarray of shape (n_rows,)
        The last line of each row, and its first and last byte, which is the line's end.
    quoted : ndarray of shape (n_cells, 2)
        The first byte of each quoted cell, and the one behind it.
    """

    block: bytes
    lines: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    quoted: np.ndarray

    def part(self, first: int, stop: int) -> _Rows:
        """Return some of the rows."""
        ends = np.append(self.starts, len(self.block))
        a, b = int(ends[first]), int(ends[stop])
        of_block = slice(*np.searchsorted(self.quoted[:, 0], [a, b]))
        lines, starts, ends = (each[first:stop] for each in (self.lines, self.starts, self.ends))
        return _Rows(self.block[a:b], lines, starts - a, ends - a, self.quoted[of_block] - a)


def _whole_rows(lines: Lines, blocks: Iterable[bytes], delimiter: str) -> Iterator[_Rows]:
    """Yield whole rows; the last one may have a quoted cell that does not end."""
    held: list[bytes] = []
    size = seen = 0
    for block in chain(blocks, [b""]):
        held.append(block)
        size += len(block)
        if block and BLOCK < size < 2 * seen:  # a long row is looked through a few times only
            continue
        rows, rest = _split(b"".join(held), lines, delimiter)
        if len(rows.ends):
            yield rows
        held, size, seen = [rest], len(rest), len(rest)
        if size > lines.longest:
            lines.refuse()
    if size:
        parts = [lines.line], [0], [size - 1], [[0, size]]
        yield _Rows(held[0], *map(np.array, parts))


def _split(block: bytes, lines: Lines, delimiter: str) -> tuple[_Rows, bytes]:
    """Return the whole rows of a block, and the rest of it."""
    found = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(found == _END)
    at = lines.line + np.arange(len(ends))
    cells = np.empty((0, 2), np.int64)
    if b'"' in block:
        cells = _quoted(block, delimiter)
        begun, over = cells.T
        is_end = np.searchsorted(begun, ends) == np.searchsorted(over, ends, side="right")
        ends, at = ends[is_end], at[is_end]
    starts = np.append(0, ends + 1)
    starts, stop = starts[:-1], int(starts[-1])
    sizes = ends - starts
    for k in np.flatnonzero(sizes > lines.longest).tolist():
        lines.line = int(at[k]) - block.count(b"\n", starts[k], ends[k])
        lines.refuse()
    lines.line = int(at[-1]) + 1 if len(at) else lines.line
    full = found[starts] != _END
    for k in np.flatnonzero(found[starts] == _RETURN).tolist():
        full[k] = bool(block[starts[k] : ends[k]].strip(b"\r"))
    cells = cells[cells[:, 1] <= stop]
    return _Rows(block[:stop], at[full], starts[full], ends[full], cells), block[stop:]


def _quoted(block: bytes, delimiter: str) -> np.ndarray:
    """Return where quoted cells begin, and what follows them; the last one may have no end."""
    found, most = np.frombuffer(block, np.uint8), len(block) - 1
    marks = np.flatnonzero(found == _QUOTE)
    marks = np.append(marks, most) if len(marks) % 2 else marks
    begun, over = marks[::2], marks[1::2] + 1
    borders = np.frombuffer(f'\r\n"{delimiter}'.encode(), np.uint8)
    beside = np.isin(found[begun - 1], borders[1:]), np.isin(found[np.minimum(over, most)], borders)
    if np.all(beside):
        return np.stack([begun, over], axis=1)
    border = re.escape(delimiter.encode())  # others are text, in cells that are not quoted
    cell = re.compile(rb'"(?:(?<=\A")|(?<=[%b\n]"))[^"]*+(?:""[^"]*+)*+"?' % border)
    return np.array([each.span() for each in cell.finditer(block)], np.int64).reshape(-1, 2)


class _File:
    """The header of a file, and the rows behind it.

    Attributes
    ----------
    header : list of str
        The names of the columns.
    delimiter : str
        What is between the cells of a row.
    head : bytes
        The header as it is written.
    rows : iterator of _Rows
        What follows it.
    """

    def __init__(self, lines: Lines, name: str, options: Options, delimiter: str):
        self._lines, self._name, self._after = lines, name, options.after
        self.delimiter, self.head = options.separator or delimiter, b""
        self._blocks = iter(lines)
        self.header = [*(options.get("header") or ())]  # of a part of a file
        first = next(self._blocks, b"")
        if not self.header:
            first = self._without_preface(first, options)
        self.rows = _whole_rows(lines, chain([first], self._blocks), self.delimiter)
        some = None if self.header else next(self.rows, None)
        if some is not None:
            fault = self._fault(some.part(0, 1))
            if fault is not None:
                raise fault[1]
            self.head = some.block[some.starts[0] : int(some.ends[0]) + 1]
            self.header = self._cells(self.head, int(some.lines[0]))
            if options.no_header:
                self.header, self.head = [f"x{k}" for k in range(len(self.header))], b""
            else:
                some = some.part(1, len(some.ends))
            self.rows = chain([some] if len(some.ends) else [], self.rows)
        if not self.header:
            raise DataError(name, "expected a header and at least one row, got none.")

    def _without_preface(self, block: bytes, options: Options) -> bytes:
        """Return the first block without a line that names the separator, and without comments.

        A line that begins with # is the header if it has as many cells as the first line after it
        that does not.
        """
        lines = self._lines
        if found := SEPARATOR_LINE.match(block):
            if options.separator is None:
                self.delimiter = found[1].decode("latin-1")
            lines.line, block = lines.line + 1, block[found.end() :] or next(self._blocks, b"")
        while block.startswith(b"#"):
            line, _, rest = block.partition(b"\n")
            after = next((each for each in rest.split(b"\n") if not each.startswith(b"#")), b"")
            n, of_row = (len(self._cells(each, 1)) for each in (line, after))
            if not rest.startswith(b"#") and n == (of_row or max(n, 2)):
                break
            lines.line, block = lines.line + 1, rest or next(self._blocks, b"")
        return block

    def _cells(self, row: bytes, line: int) -> list[str]:
        text = io.StringIO(row.decode(errors="replace"), newline="")
        try:
            return next(csv.reader(text, delimiter=self.delimiter), [])
        except csv.Error as error:
            raise DataError(
                self._name, f"expected a CSV row, got another: {error}.", line
            ) from None

    def pieces(self, columns: Columns) -> Iterator[Piece]:
        """Yield the last line of each row, and the cells of the columns that are read."""
        for rows in self.rows:
            fault = self._fault(rows)
            rows = rows if fault is None else rows.part(0, fault[0])
            if len(rows.ends):
                batch, other = self._read(rows, columns)
                fault = other or fault
                lines = rows.lines[: batch.num_rows]
                skipped = int(np.searchsorted(lines, self._after, side="right"))
                yield lines[skipped:], batch.slice(skipped)
            if fault is not None:
                raise fault[1]

    def _fault(self, rows: _Rows) -> tuple[int, DataError] | None:
        """Return the first row that is not valid, and what is wrong with it."""
        block, found, over = rows.block, np.frombuffer(rows.block, np.uint8), rows.quoted[:, 1]
        wrong: list[tuple[int, str]] = []
        if len(over) and over[-1] == len(block):
            wrong.append((len(block) - 1, f"{_ANOTHER} {_NOT_CLOSED}"))
            over = over[:-1]
        if len(over):
            borders = np.frombuffer(f'{self.delimiter}\n\r"'.encode(), np.uint8)
            odd = over[~np.isin(found[over], borders)]
            wrong += [(k, f"{_ANOTHER} {_BEHIND}") for k in odd[:1]]
        if b"\r" in block:
            at = np.flatnonzero(found == _RETURN)
            at = at[(found[at + 1] != _END) & (found[at + 1] != _RETURN)]
            begun, over = rows.quoted.T
            at = at[np.searchsorted(begun, at) == np.searchsorted(over, at, side="right")]
            wrong += [(k, f"{_ANOTHER} {_ALONE}") for k in at[:1]]
        try:
            block.decode()
        except UnicodeDecodeError as error:
            problem = f"expected a CSV row in UTF-8, got other bytes: {block[error.start]:#x}."
            wrong.append((error.start, f"{problem} {OTHER_ENCODING}"))
        if not wrong:
            return None
        place, problem = min(wrong)
        k = int(np.searchsorted(rows.ends, place))
        return k, DataError(self._name, problem, int(rows.lines[k]))

    def _read(self, rows: _Rows, columns: Columns) -> tuple[Any, tuple[int, DataError] | None]:
        """Return the cells of valid rows, up to the first fault in them, and this."""
        pa = pyarrow()
        n, fault, width = len(rows.ends), None, len(self.header)
        try:
            found, odd = self._parsed(rows.block, columns.read, columns.numbers)
            texts: Sequence[str] = ()
        except pa.ArrowInvalid:  # a cell that is no number, or one to Python only
            found, odd = self._parsed(rows.block, columns.read, ())
            texts = columns.numbers
        if odd is not None:
            n, got = odd
            problem = f"expected {width} cells, got {got}."
            quoted = " Put cells that hold commas or several lines in double quotes."
            problem += quoted * (got > width)
            fault = n, DataError(self._name, problem, int(rows.lines[n]))
        for name in texts:
            cells = found[name].to_pylist()[:n]
            found[name] = pa.array(_floats(cells), pa.float64())
            if len(found[name]) < n:
                n = len(found[name])
                advice = OF_CLASSES if name in columns.targets else OF_FEATURES
                problem = f"column {name!r}: expected a number, got {_shortened(cells[n])}."
                fault = n, DataError(self._name, f"{problem} {advice}", int(rows.lines[n]))
        cut = [each.slice(0, n) for each in found.values()]
        return pa.RecordBatch.from_arrays(cut, names=[*found]), fault

    def _parsed(
        self, block: bytes, names: Sequence[str], numbers: Sequence[str]
    ) -> tuple[dict[str, Any], tuple[int, int] | None]:
        """Return columns of rows; and the first row that has not as many cells, and how many."""
        import pyarrow as pa
        from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

        # not a mark of byte order, which is text within a file
        block = b"\n" + block if block.startswith(MARK) else block
        odd: list[tuple[int, int]] = []
        ids = {name: f"{k}" for k, name in enumerate(self.header)}  # a mark may begin a name, too
        are_numbers = set(numbers)
        types = {ids[each]: pa.float64() if each in are_numbers else pa.string() for each in names}

        def skip(row: Any) -> str:
            odd.append((row.number - 1, row.actual_columns))
            return "skip"

        table = read_csv(
            pa.BufferReader(block),
            ReadOptions(use_threads=False, block_size=len(block), column_names=[*ids.values()]),
            ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=skip
            ),
            ConvertOptions(
                check_utf8=False, column_types=types, null_values=[], include_columns=[*types]
            ),
        )
        return {name: column_of(table, ids[name]) for name in names}, [*odd, None][0]


def _floats(cells: Sequence[str]) -> np.ndarray:
    """Return the numbers that cells are, up to the first one that is none."""
    found = []
    with suppress(ValueError):
        for cell in cells:
            found.append(float(cell.replace("_", "?")))  # Python takes 1_000, too
    return np.array(found, dtype=np.float64)


def _shortened(cell: str) -> str:
    return repr(cell) if len(cell) <= _SHOWN else repr(cell[:_SHOWN]) + "…"


def _no_formula(text: str) -> str:
    """Return the text so that no spreadsheet computes it."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


class _Ends:
    """Shortens the line ends of `csv`, which quotes only such characters as it ends lines with."""

    def __init__(self, text: IO[str]):
        self.text = text

    def write(self, line: str) -> None:
        self.text.write(line.removesuffix("\r\n") + "\n")


class _Writer(Writer):
    """Writes a header, and the label in the last column where there is one, or the targets."""

    delimiter = ","

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None, csv_safe: bool = False):
        super().__init__(stream, names)
        self.text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
        self.rows = csv.writer(_Ends(self.text), delimiter=self.delimiter, lineterminator="\r\n")
        self.words: Callable[[str], str] = _no_formula if csv_safe else str

    def write(self, X: Any, y: Any) -> None:
        if sparse.issparse(y):
            problem = "CSV files: expected one label per sample, got several."
            raise ParameterError(f"{problem} Write to .npz or .svm instead.")
        if not self.width:
            if X.shape[1] > _MOST_COLUMNS:
                problem = (
                    f"CSV files: expected at most {_MOST_COLUMNS:,} columns, got {X.shape[1]:,}."
                )
                raise ParameterError(f"{problem} Write to .parquet instead.")
            names = column_names(self.names, X.shape[1])
            header = unique([*map(self.words, names)])
            self.rows.writerow([*header, *map(self.words, self.of_labels(y, header))])
            self.width = len(names)
        self.check_width(X, "CSV", ".parquet")
        found = [] if y is None else map(whole_as_int, y.reshape(len(y), -1))
        labels = [[self.words(x) if isinstance(x, str) else x for x in each] for each in found]
        labels = labels or [[]] * X.shape[0]
        if sparse.issparse(X):
            rows: Iterable[Any] = (X[[k]].toarray()[0].tolist() for k in range(X.shape[0]))
        else:
            columns = [column.tolist() for column in X.T]
            rows = zip(*columns, strict=True) if columns else [()] * X.shape[0]
        self.rows.writerows([*row, *more] for row, more in zip(rows, labels, strict=True))

    def finish(self) -> None:
        self.text.detach()


class _WriterOfTsv(_Writer):
    delimiter = "\t"


FORMAT = Format(
    kinds.CSV, read, _Writer, cut=by_rows, first_row=re.compile(rb".*,.*"), has_header=True,
)  # fmt: skip
TSV = replace(
    FORMAT, kind=kinds.TSV, read=partial(read, delimiter="\t"), writer=_WriterOfTsv,
    cut=None, first_row=None,
)  # fmt: skip
