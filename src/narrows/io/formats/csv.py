"""CSV and TSV files: samples of numbers, of texts in some columns, or of columns of any kind."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, dropwhile, islice
from operator import itemgetter
from threading import Lock
from typing import IO, Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError, some_names, unique, warn
from narrows.io import kinds
from narrows.io.chunk import (
    EXACT,
    MAY_BE_TABLE,
    OF_CLASSES,
    OF_TABLE,
    OTHER_ENCODING,
    TEXT,
    Chunk,
    Options,
    as_targets,
    check_columns,
    feature_columns,
    label_column,
    target_columns,
)
from narrows.io.formats.base import Format, Writer, column_names, whole_as_int
from narrows.io.parts import SEPARATOR_LINE, by_rows
from narrows.io.streams import MARK, Lines, entry_bytes
from narrows.io.table_rows import TableRows, of_strings
from narrows.moments.labels import is_integer, number_of
from narrows.solve.arrays import EXACT as EXACT_UP_TO
from narrows.solve.arrays import beyond_floats
from narrows.solve.cells import reads_as_number

_CELLS = 1_000_000  # in a chunk, at most
_FOR_PYARROW = 3 << 20  # bytes that are worth loading pyarrow
_begun = 0  # bytes of the first blocks of all files, or parts of them, so far
# errors of the standard module, in the words of a message
_FAULTS = {
    "new-line character": "a carriage return in a cell. Put the cell in double quotes.",
    "unexpected end of data": "a double quote that is not closed. Close it, or double it.",
    "expected after": "text behind a quoted cell. Double the quotes within cells.",
}
_SHOWN = 40  # characters of a cell in a message
_OF_FEATURES = "Set `text` to read texts, `label` if the column holds labels, or remove it."


def read(stream: IO[bytes], name: str, options: Options, delimiter: str = ",") -> Iterator[Chunk]:
    """Yield chunks of dense samples with features in the order of `options.columns`.

    Where options name columns of texts, X is a list of those of each row, joined by a newline; of
    a table X is `TableRows`.
    """
    lines = Lines(stream, name, options.max_line_mb, options.separator or delimiter)
    texts, size = options.text, options.chunk_rows
    with nullcontext() if texts is None else _cells_up_to(lines.longest):
        rows = _Reader(lines, name, options)
        header, label = rows.header, rows.label
        if not (options.get("header") or options.no_header) and not set(header) & set(
            options.columns or ()
        ):
            _warn_of_names(header, name, not (options.text or options.table))
        if texts is None:
            columns = tuple(feature_columns(header, label, options, name, 1))
            # a cell takes fifteen times as much room as text as it does as a number
            size = max(1, min(size, _CELLS // len(header)))
        else:
            columns = texts
            check_columns(header, columns, TEXT, name, 1)
        targets = target_columns(header, options, name, 1)
        places = {column: k for k, column in enumerate(header)}
        wanted = columns, targets, () if label is None else (label,)
        groups = [[places[column] for column in group] for group in wanted]
        holds_numbers = not texts and not options.table
        instead = (OF_TABLE,) if options.get(MAY_BE_TABLE) else ()
        for pieces in _chunks(rows.pieces(groups, (holds_numbers, True, False), size), size):
            at, samples, found, cells = (list(each) for each in zip(*pieces, strict=True))
            every = list(chain.from_iterable(at))
            y: Any = None
            if label is not None:
                y = _of_labels([cell for (cell,) in chain.from_iterable(cells)])
            elif targets:
                y = _as_numbers(found, at, targets, name, OF_CLASSES)
                y = as_targets(y, targets, name, every)
            if holds_numbers:
                X: Any = _as_numbers(samples, at, columns, name, *instead)
                if options.get(EXACT) and beyond_floats(X):
                    X = _as_integers(X, chain.from_iterable(samples), every, columns, name)
            else:
                X = list(chain.from_iterable(samples))
                X = list(map("\n".join, X)) if texts else of_strings(columns, X)
            names = None if texts else columns
            yield Chunk(X, y, every, names, tuple(header), lines.is_truncated, label=label)


def _of_labels(cells: list[str]) -> list[Any]:
    """Return the labels that are written as integers as such, others as text, None if empty."""
    found = {cell: int(cell) if is_integer(cell) else cell or None for cell in set(cells)}
    return [found[cell] for cell in cells]


# the lines of some rows; and their features, targets and labels, numbers in arrays or cells in rows
_Piece = tuple[list[int], Any, Any, Any]


def _chunks(pieces: Iterable[_Piece], size: int) -> Iterator[list[_Piece]]:
    """Yield pieces that are `size` rows together; those at the end may be fewer."""
    held: list[_Piece] = []
    n = 0
    for piece in pieces:
        held.append(piece)
        n += len(piece[0])
        if n == size:
            yield held
            held, n = [], 0
    if held:
        yield held


def _warn_of_names(header: Sequence[str], name: str, numbers: bool) -> None:
    """Warn where a header may be the first row, since it has fractions, or begins with an index.

    `numbers` is whether each column but those of labels and targets becomes a feature.
    """
    if len(header) > 1 and not header[0].strip() and numbers:
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
    lines: Lines, name: str, options: Options, add: Callable[[DataError, bytes], None]
) -> tuple[Sequence[str], Iterator[tuple[int, Sequence[str]]]]:
    """Return the header, and the rows with their lines; `add` gets the lines that are no rows."""
    found = _Reader(lines, name, options)

    def rows() -> Iterator[tuple[int, Sequence[str]]]:
        some: Iterator[tuple[int, Sequence[str]]] = iter(found)
        while True:
            try:
                yield from some
                return
            except DataError as error:  # goes on behind the line
                read = lines.rest.getvalue()[: lines.rest.tell()]
                add(error, read[read.rfind(b"\n", 0, -1) + 1 :])
                lines.line += 1
                left = chain([lines.rest.read()], found._blocks)
                some = _rows(lines, left, name)

    return found.header, rows()


class _Reader:
    """The rows behind the header, with their line numbers, without those to skip.

    Iterating gives those that follow all blocks.

    Attributes
    ----------
    header : list of str
        The names of the columns.
    label : str or None
        The column of the labels.
    """

    def __init__(self, lines: Lines, name: str, options: Options):
        self._lines, self._name, self._after = lines, name, options.after
        self._is_exact = options.get(EXACT)
        self._blocks = iter(lines)
        first = next(self._blocks, b"")
        self._given = options.get("rows")  # instead of those of the stream
        known = options.get("header")  # of a part of a file, or where a pipe goes on
        if not known:
            first = self._without_preface(first, options)
            if options.no_header:  # looks at a copy of the first rows
                copy = Lines(io.BytesIO(first), name, options.max_line_mb, lines.delimiter)
                known = [f"x{k}" for k in range(len(next(_rows(copy, copy, name), (0, []))[1]))]
        self._rows = _rows(lines, chain([first], self._blocks), name)
        self.header = list(known or next(self._rows, (0, []))[1])
        if not self.header:
            raise DataError(name, "expected a header and at least one row, got none.")
        if len(self.header) == 1 and self.header[0] not in (options.text or options.columns or ()):
            _check_separator(self.header[0], lines, name)
        self.label = label_column(self.header, options, name, 1)
        self._behind = None if known else lines.rest  # what follows the header in the first block
        self._first = first if known else lines.rest.getvalue()

    def _without_preface(self, block: bytes, options: Options) -> bytes:
        """Return the first block without a line that names the separator, and without comments.

        A line that begins with # is the header if it has as many cells as the first line after it
        that does not.
        """
        lines = self._lines
        if found := SEPARATOR_LINE.match(block):
            if options.separator is None:
                lines.delimiter = found[1].decode("latin-1")
            lines.line, block = lines.line + 1, block[found.end() :] or next(self._blocks, b"")
        while block.startswith(b"#"):
            line, _, rest = block.partition(b"\n")
            after = next((each for each in rest.split(b"\n") if not each.startswith(b"#")), b"")
            n, of_row = (len(self._cells(each)) for each in (line, after))
            if not rest.startswith(b"#") and n == (of_row or max(n, 2)):
                break
            lines.line, block = lines.line + 1, rest or next(self._blocks, b"")
        return block

    def _cells(self, line: bytes) -> list[str]:
        text = line.decode(errors="replace").strip("\r\n")
        return next(csv.reader([text], delimiter=self._lines.delimiter), [])

    def __iter__(self) -> Iterator[tuple[int, Sequence[str]]]:
        rows = self._rows if self._given is None else iter(self._given)
        yield from dropwhile(lambda row: row[0] <= self._after, rows)

    def blocks(self, numbers: dict[int, bool]) -> Iterator[tuple[np.ndarray, dict[int, Any]]]:
        """Yield lines and columns that pyarrow is known to read the same: numbers, or its text.

        The standard module reads small files, what follows a row that it might read otherwise or
        that is not valid.
        """
        global _begun
        lines, first = self._lines, self._first
        _begun += len(first)
        if _begun < _FOR_PYARROW or self._given is not None:
            return
        if self._behind is not None:
            first = self._behind.read()
            lines.line += 1  # that of the header
        whole = _whole_rows(chain([first], self._blocks), lines.long)
        self._rows = iter(())
        for block in whole:
            found = _columns(block, len(self.header), numbers, lines.long, lines.delimiter)
            if found is None or (self._is_exact and _have_large(found[1], numbers)):
                self._rows = _rows(lines, chain([block], whole), self._name)
                return
            at, columns = found
            at += lines.line
            lines.line = int(at[-1]) + 1
            n = int(np.searchsorted(at, self._after, side="right"))  # rows to skip
            yield at[n:], {k: column[n:] for k, column in columns.items()}

    def pieces(
        self, groups: Sequence[list[int]], of_numbers: Sequence[bool], size: int
    ) -> Iterator[_Piece]:
        """Yield groups of columns in parts of blocks, and then of rows; none is of two chunks."""
        done = 0
        numbers = {k: n for group, n in zip(groups, of_numbers, strict=True) for k in group}
        for at, columns in self.blocks(numbers):
            while len(at):
                part = slice(size - done % size)
                some = [[columns[k][part] for k in group] for group in groups]
                X, Y, y = (
                    np.stack(each, axis=1)
                    if each and n
                    else list(zip(*(column.to_pylist() for column in each), strict=True))
                    for each, n in zip(some, of_numbers, strict=True)
                )
                yield at[part].tolist(), X, Y, y
                done += len(at[part])
                rest = slice(part.stop, None)
                at, columns = at[rest], {k: column[rest] for k, column in columns.items()}
        rows = self._picked([_picker(group) for group in groups])
        while block := list(islice(rows, size - done % size)):
            done += len(block)
            yield tuple(map(list, zip(*block, strict=True)))  # type: ignore[misc]

    def _picked(
        self, pickers: list[Callable[[Sequence[str]], Sequence[str]]]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the line of each row, and its groups of cells."""
        for line, cells in self:
            if len(cells) != len(self.header):
                problem = f"expected {len(self.header)} cells, got {len(cells)}."
                quoted = " Put cells that hold commas or several lines in double quotes."
                more = len(cells) > len(self.header)
                raise DataError(self._name, problem + quoted * more, line)
            yield (line, *(pick(cells) for pick in pickers))


def _check_separator(header: str, lines: Lines, name: str) -> None:
    """Raise DataError where the only column has a name that another separator would cut."""
    found = next((each for each in ";\t,|" if each in header and each != lines.delimiter), None)
    if found is None and " " in header.strip():  # the name of a column may have several words
        at = lines.rest.tell()
        row = lines.rest.readline().decode(errors="replace")
        lines.rest.seek(at)
        found = " " if len(row.split()) == len(header.split()) else None
    if found is None:
        return
    what = {",": "commas", "\t": "tabs"}.get(lines.delimiter, repr(lines.delimiter))
    advice = f"If the separator is {found!r}, use `separator` {found!r}."
    problem = f"expected columns separated by {what}, got one column {_shortened(header)}."
    raise DataError(name, f"{problem} {advice}", lines.line)


def _rows(lines: Lines, blocks: Iterable[bytes], name: str) -> Iterator[tuple[int, Sequence[str]]]:
    length = 0  # of the row so far, without ends; it has several lines where these are quoted
    before = lines.line - 1

    def texts() -> Iterator[str]:
        nonlocal length
        for number, line in lines.numbered(blocks):
            length += len(line) - 1
            if length > lines.long:
                length += entry_bytes(line, len(line))
                if length > lines.longest:
                    lines.refuse()
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                problem = f"expected a CSV row in UTF-8, got other bytes: {error}."
                raise DataError(name, f"{problem} {OTHER_ENCODING}", number) from None
            if number == 1 and "\0" in text:
                problem = "expected a header in UTF-8, got NUL characters, as UTF-16 has them."
                which = "utf-16-be" if text.startswith("\0") else "utf-16-le"
                raise DataError(name, f"{problem} Use `encoding` {which}.", number)
            yield text

    reader = csv.reader(texts(), strict=True, delimiter=lines.delimiter)
    try:
        for cells in reader:
            length = 0
            if cells:
                yield before + reader.line_num, cells
    except csv.Error as error:
        got = next((got for key, got in _FAULTS.items() if key in str(error)), f"{error}.")
        problem = f"expected a CSV row, got another line: {got}"
        raise DataError(name, problem, before + reader.line_num) from None


def _whole_rows(blocks: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Yield blocks that end where rows do, if quotation marks are only at the borders of cells."""
    held = b""
    for block in blocks:
        held += block
        end, is_odd = len(held), held.count(b'"') % 2
        while is_odd and end:
            start = held.rfind(b"\n", 0, end - 1) + 1
            is_odd ^= held.count(b'"', start, end) % 2
            end = start
        end = end or len(held) * (len(held) > most)
        if end:
            yield held[:end]
            held = held[end:]
    if held:
        yield held


def _columns(
    block: bytes, width: int, numbers: dict[int, bool], most: int, delimiter: str
) -> tuple[np.ndarray, dict[int, Any]] | None:
    """Return the last line of each row, from 0 on, and columns: numbers, or pyarrow's text.

    None where the standard module might not read the same: where quotation marks are not at the
    borders of cells, lines are empty or end otherwise, rows are long, the first begins with a mark
    of byte order, numbers are not finite, or pyarrow raises an error.
    """
    found = np.frombuffer(block, np.uint8)
    marks, ends, returns = (np.flatnonzero(found == ord(each)) for each in '"\n\r')
    returns = returns[found[returns + 1] != ord("\n")]  # the block ends with a line's end
    beside = found[marks[::2] - 1], found[marks[1::2] + 1]
    borders = np.frombuffer(f'{delimiter}\n\r"'.encode(), np.uint8)
    at_borders = len(marks) % 2 == 0 and all(np.isin(each, borders).all() for each in beside)
    last = np.flatnonzero(np.searchsorted(marks, ends) % 2 == 0)  # of the lines of a row
    longest = np.diff(ends[last], prepend=0).max(initial=0)
    ends_otherwise = (np.searchsorted(marks, returns) % 2 == 0).any()
    if not at_borders or ends_otherwise or longest > most or block.startswith(MARK):
        return None
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

    names = list(map(str, range(width)))
    types = {names[k]: pa.float64() if number else pa.string() for k, number in numbers.items()}
    try:
        block.decode()  # also what no column takes
        table = read_csv(
            pa.BufferReader(block),
            ReadOptions(use_threads=False, block_size=len(block), column_names=names),
            ParseOptions(delimiter=delimiter, newlines_in_values=True),
            ConvertOptions(
                check_utf8=False, column_types=types, null_values=[], include_columns=list(types)
            ),
        )
    except (UnicodeDecodeError, pa.ArrowInvalid):
        return None
    if len(table) != len(last):  # some of the lines are empty
        return None
    columns: dict[int, Any] = {}
    for k, number in numbers.items():
        column = table[names[k]]
        columns[k] = column.to_numpy() if number else column
        if number and not np.isfinite(columns[k]).all():
            return None
    return last, columns


_limits: list[int] = []  # that readers of long cells have found, one for each reader
_limits_lock = Lock()


@contextmanager
def _cells_up_to(size: int) -> Iterator[None]:
    """Let `csv` read cells of so many characters; its limit is one for the whole process."""
    with _limits_lock:
        _limits.append(csv.field_size_limit(max(size, csv.field_size_limit())))
    try:
        yield
    finally:
        with _limits_lock:
            first = _limits[0]
            _limits.pop()
            if not _limits:
                csv.field_size_limit(first)


def _picker(at: list[int]) -> Callable[[Sequence[str]], Sequence[str]]:
    """Return a function that picks some cells of a row."""
    return itemgetter(*at) if len(at) > 1 else lambda cells: [cells[k] for k in at]


def _as_numbers(
    pieces: Sequence[Any],
    at: Sequence[Sequence[int]],
    columns: Sequence[str],
    name: str,
    of_words: str = _OF_FEATURES,
) -> np.ndarray:
    """Return pieces, each numbers or rows of cells with their lines, as one array."""
    each = [
        piece if isinstance(piece, np.ndarray) else _of_cells(piece, lines, columns, name, of_words)
        for piece, lines in zip(pieces, at, strict=True)
    ]
    return each[0] if len(each) == 1 else np.concatenate(each)


def _of_cells(
    rows: list[Sequence[str]], lines: Sequence[int], columns: Sequence[str], name: str,
    of_words: str,
) -> np.ndarray:  # fmt: skip
    with suppress(ValueError):
        if not any("_" in "".join(cells) for cells in rows):  # Python takes 1_000, too
            return np.array(rows, dtype=object).astype(np.float64)
    for line, cells in zip(lines, rows, strict=True):
        for column, cell in zip(columns, cells, strict=True):
            try:
                float(cell.replace("_", "?"))
            except ValueError:
                problem = f"column {column!r}: expected a number, got {_shortened(cell)}."
                advice = "Fill in a number, or remove the row."
                if cell.strip() or of_words == OF_TABLE:
                    advice = of_words
                raise DataError(name, f"{problem} {advice}", line) from None
    raise AssertionError("a cell that is no number was not found")


def _have_large(columns: Mapping[int, Any], numbers: Mapping[int, bool]) -> bool:
    """Whether columns that were read as numbers may have lost digits of an integer."""
    return any(beyond_floats(column) for k, column in columns.items() if numbers[k])


def _as_integers(
    X: np.ndarray,
    rows: Iterable[Sequence[Any]],
    lines: Sequence[int],
    columns: Sequence[str],
    name: str,
) -> np.ndarray | TableRows:
    """Return numbers as columns; one with integers that floats may round is of integers."""
    if not np.isfinite(X).all():
        return X  # which is refused later
    rows, found = list(rows), {column: X[:, k] for k, column in enumerate(columns)}
    for k, column in enumerate(columns):
        if not beyond_floats(X[:, k]):
            continue
        cells = [number_of(row[k]) if isinstance(row[k], str) else row[k] for row in rows]
        if all(isinstance(x, int) or (x.is_integer() and abs(x) < EXACT_UP_TO) for x in cells):
            low, high = int(min(cells)), int(max(cells))
            kind = np.int64 if high < 2**63 else np.uint64
            if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
                found[column] = np.array(list(map(int, cells)), kind)
                continue
        for cell, line in zip(cells, lines, strict=True):
            if isinstance(cell, int) and float(cell) != cell:
                problem = f"column {column!r}: expected integers of 64 bits only, got {cell} and"
                raise DataError(name, f"{problem} other numbers. Leave the column out.", line)
    return TableRows(found)


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

    delimiter, by_column = ",", True

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
    kinds.CSV, read, _Writer, options=(
        "label", "target", "text", "table", "csv_safe", "separator", "encoding", "no_header"
    ),
    cut=by_rows, first_row=re.compile(rb".*,.*"), has_header=True,
)  # fmt: skip
TSV = replace(
    FORMAT, kind=kinds.TSV, read=partial(read, delimiter="\t"), writer=_WriterOfTsv,
    cut=None, first_row=None,
)  # fmt: skip
