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
from narrows.io.streams import BLOCK, MARK, Lines, entry_bytes
from narrows.io.table_rows import TableRows
from narrows.moments.labels import is_integer, number_of
from narrows.solve.arrays import EXACT as EXACT_UP_TO
from narrows.solve.arrays import beyond_floats
from narrows.solve.cells import reads_as_number

_CELLS = 1_000_000  # in a chunk, at most
_FOR_PYARROW = 1 << 20  # bytes, of all files so far, that are worth loading pyarrow
_FEW = 1 << 13  # bytes of a block, as of a pipe, that the standard module reads faster
_LONG = 1 << 17  # bytes of a row that it does not read
_begun = 0  # bytes that the standard module has read
_END, _RETURN, _QUOTE = b'\n\r"'
_ANOTHER = "expected a CSV row, got another line:"
_ALONE = "a carriage return in a cell. Put the cell in double quotes."
_NOT_CLOSED = "a double quote that is not closed. Close it, or double it."
_BEHIND = "text behind a quoted cell. Double the quotes within cells."
_SHOWN = 40  # characters of a cell in a message
_OF_FEATURES = "Set `text` to read texts, `label` if the column holds labels, or remove it."


def read(stream: IO[bytes], name: str, options: Options, delimiter: str = ",") -> Iterator[Chunk]:
    """Yield chunks of dense samples with features in the order of `options.columns`.

    Where options name columns of texts, X is a list of those of each row, joined by a newline; of
    a table X is `TableRows`.
    """
    lines = Lines(stream, name, options.max_line_mb)
    file = _File(lines, name, options, delimiter)
    header, label, texts, size = file.header, file.label, options.text, options.chunk_rows
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
    holds_numbers = not texts and not options.table
    advice = OF_TABLE if options.get(MAY_BE_TABLE) else _OF_FEATURES
    chosen: dict[str, str | None] = dict.fromkeys(columns, advice if holds_numbers else None)
    chosen |= dict.fromkeys(targets, OF_CLASSES) | ({} if label is None else {label: None})
    for at, found in _chunks(file.columns(chosen, columns if holds_numbers else ()), size):
        y: Any = None
        if label is not None:
            y = _of_labels(_joined(found[label]))
        elif targets:
            y = np.column_stack([_whole(found[target]) for target in targets])
            y = as_targets(y, targets, name, at)
        X: Any
        if holds_numbers:
            X = _samples([_whole(found[column]) for column in columns], at, columns, name)
        else:
            cells = {column: _joined(found[column]) for column in columns}
            if texts:
                X = list(map("\n".join, zip(*cells.values(), strict=True)))
            else:
                X = TableRows({k: np.array(each, dtype=object) for k, each in cells.items()})
        names = None if texts else columns
        yield Chunk(X, y, at, names, tuple(header), lines.is_truncated, label=label)


def _whole(parts: Sequence[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _joined(parts: Sequence[Any]) -> list[str]:
    """Return the cells of parts of a column, each one of pyarrow or a sequence."""
    cells = (part if isinstance(part, tuple) else part.to_pylist() for part in parts)
    return [*chain.from_iterable(cells)]


def _of_labels(cells: list[str]) -> list[Any]:
    """Return the labels that are written as integers as such, others as text, None if empty."""
    found = {cell: int(cell) if is_integer(cell) else cell or None for cell in set(cells)}
    return [found[cell] for cell in cells]


# the last line of each row, and parts of columns: numbers in arrays, or text
_Piece = tuple[np.ndarray, dict[str, Any]]


def _chunks(pieces: Iterable[_Piece], size: int) -> Iterator[tuple[list[int], dict[str, list]]]:
    """Yield the lines of `size` rows together, and the parts of their columns."""
    held: list[_Piece] = []
    n = 0
    for at, columns in pieces:
        done = 0
        while done < len(at):
            part = slice(done, done + size - n)
            held.append((at[part], {name: column[part] for name, column in columns.items()}))
            n, done = n + len(held[-1][0]), part.stop
            if n == size:
                yield _together(held)
                held, n = [], 0
    if held:
        yield _together(held)


def _together(pieces: Sequence[_Piece]) -> tuple[list[int], dict[str, list]]:
    lines = [line for at, _ in pieces for line in at.tolist()]
    return lines, {name: [columns[name] for _, columns in pieces] for name in pieces[0][1]}


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
        if size > lines.long and size + entry_bytes(rest, size) > lines.longest:
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
    for k in np.flatnonzero(sizes > lines.long).tolist():
        lines.line = int(at[k]) - block.count(b"\n", starts[k], ends[k])
        if sizes[k] + entry_bytes(block[starts[k] : ends[k]], sizes[k]) > lines.longest:
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
    label : str or None
        The column of the labels.
    """

    def __init__(self, lines: Lines, name: str, options: Options, delimiter: str):
        self._lines, self._name, self._after = lines, name, options.after
        self.delimiter = options.separator or delimiter
        self._is_exact, self.head = options.get(EXACT), b""
        self._blocks = iter(lines)
        self.header = [*(options.get("header") or ())]  # of a part of a file
        first = next(self._blocks, b"")
        if not self.header:
            first = self._without_preface(first, options)
        self.rows = _whole_rows(lines, chain([first], self._blocks), self.delimiter)
        some = None if self.header else next(self.rows, None)
        if some is not None:
            stop = int(some.ends[0]) + 1
            if b"\0" in some.block[:stop] and some.lines[0] == 1:
                which = "utf-16-be" if some.block.startswith(b"\0") else "utf-16-le"
                problem = "expected a header in UTF-8, got NUL characters, as UTF-16 has them."
                raise DataError(name, f"{problem} Use `encoding` {which}.", 1)
            fault = self._fault(some.part(0, 1))
            if fault is not None:
                raise fault[1]
            self.head = some.block[some.starts[0] : stop]
            self.header = self._cells(self.head, int(some.lines[0]))
            if options.no_header:
                self.header, self.head = [f"x{k}" for k in range(len(self.header))], b""
            else:
                some = some.part(1, len(some.ends))
            self.rows = chain([some] if len(some.ends) else [], self.rows)
        if not self.header:
            raise DataError(name, "expected a header and at least one row, got none.")
        if len(self.header) == 1 and self.header[0] not in (options.text or options.columns or ()):
            row = b"" if some is None else some.block.lstrip(b"\r\n").partition(b"\n")[0]
            line = 1 if some is None or not len(some.lines) else int(some.lines[0]) - 1
            _check_separator(self.header[0], row, self.delimiter, name, line)
        self.label = label_column(self.header, options, name, 1)

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

    def columns(
        self, chosen: dict[str, str | None], exact: Sequence[str]
    ) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
        """Yield the last line of each row, and columns: numbers, or text.

        `chosen` has advice for cells of a column that are not numbers; None for columns of text.
        Of those in `exact`, numbers are Python's where floats would round an integer.
        """
        exact = exact if self._is_exact else ()
        for rows in self.rows:
            fault = self._fault(rows)
            rows = rows if fault is None else rows.part(0, fault[0])
            if len(rows.ends):
                found, other = self._read(rows, chosen, exact)
                fault = other or fault
                n = len(rows.ends) if other is None else other[0]
                lines = rows.lines[:n]
                skipped = int(np.searchsorted(lines, self._after, side="right"))
                yield lines[skipped:], {name: x[skipped:n] for name, x in found.items()}
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

    def _read(
        self, rows: _Rows, chosen: dict[str, str | None], exact: Sequence[str]
    ) -> tuple[dict[str, Any], tuple[int, DataError] | None]:
        """Return columns of valid rows, up to the first fault in their cells, and this."""
        global _begun
        width, fault = len(self.header), None
        size, longest = len(rows.block), int((rows.ends - rows.starts).max())
        numbers = [name for name, advice in chosen.items() if advice is not None]
        if (size >= _FEW and _begun + size > _FOR_PYARROW) or longest >= _LONG:
            import pyarrow

            try:
                found, odd = self._by_pyarrow(rows.block, chosen, numbers)
                large = any(beyond_floats(found[name]) for name in exact)
            except pyarrow.ArrowInvalid:  # a cell that is no number, or one to Python only
                large = True
            if large:
                found, odd = self._by_pyarrow(rows.block, chosen, ())
                found |= {name: found[name].to_pylist() for name in numbers}
        else:
            _begun += size
            text = io.StringIO(rows.block.decode(), newline="")
            cells = [row for row in csv.reader(text, delimiter=self.delimiter) if row]
            odd = next(((k, len(row)) for k, row in enumerate(cells) if len(row) != width), None)
            of_columns = zip(*(cells if odd is None else cells[: odd[0]]), strict=True)
            every = dict(zip(self.header, of_columns, strict=False))
            found = {name: every.get(name, ()) for name in chosen}
        n = len(rows.ends)
        if odd is not None:
            n, got = odd
            problem = f"expected {width} cells, got {got}."
            quoted = " Put cells that hold commas or several lines in double quotes."
            problem += quoted * (got > width)
            fault = n, DataError(self._name, problem, int(rows.lines[n]))
        texts = {name: found[name] for name in numbers if not isinstance(found[name], np.ndarray)}
        with suppress(ValueError):  # all at once, since there may be one row only
            found |= zip(texts, _as_floats([*texts.values()]), strict=True)
        for name, cells in texts.items():
            if found[name] is cells:
                found[name] = _floats(cells)
            if len(found[name]) < n:
                n = len(found[name])
                advice = chosen[name]
                if not cells[n].strip() and advice != OF_TABLE:
                    advice = "Fill in a number, or remove the row."
                problem = f"column {name!r}: expected a number, got {_shortened(cells[n])}."
                fault = n, DataError(self._name, f"{problem} {advice}", int(rows.lines[n]))
            if name in exact and beyond_floats(found[name]):
                some = map(number_of, cells[: len(found[name])])
                found[name] = np.array([*some, None], dtype=object)[:-1]
        return found, fault

    def _by_pyarrow(
        self, block: bytes, chosen: Iterable[str], numbers: Sequence[str]
    ) -> tuple[dict[str, Any], tuple[int, int] | None]:
        """Return columns of rows; and the first row that has not as many cells, and how many."""
        import pyarrow as pa
        from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

        # not a mark of byte order, which is text within a file
        block = b"\n" + block if block.startswith(MARK) else block
        odd: list[tuple[int, int]] = []
        names = {name: f"{k}" for k, name in enumerate(self.header)}
        types = {names[each]: pa.float64() if each in numbers else pa.string() for each in chosen}

        def skip(row: Any) -> str:
            odd.append((row.number - 1, row.actual_columns))
            return "skip"

        table = read_csv(
            pa.BufferReader(block),
            ReadOptions(use_threads=False, block_size=len(block), column_names=[*names.values()]),
            ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=skip
            ),
            ConvertOptions(
                check_utf8=False, column_types=types, null_values=[], include_columns=[*types]
            ),
        )
        table = table.slice(0, odd[0][0] if odd else None)
        columns = {name: table[names[name]] for name in chosen}
        return columns | {name: columns[name].to_numpy() for name in numbers}, [*odd, None][0]


def _as_floats(cells: Sequence[Any]) -> np.ndarray:
    """Return the numbers that cells are; ValueError where one is none."""
    if any("_" in "".join(column) for column in cells):  # Python takes 1_000, too
        raise ValueError
    return np.array(cells, dtype=object).astype(np.float64)


def _floats(cells: Sequence[str]) -> np.ndarray:
    """Return the numbers that cells are, up to the first one that is none."""
    found = []
    with suppress(ValueError):
        for cell in cells:
            found.append(float(cell.replace("_", "?")))
    return np.array(found, dtype=np.float64)


def _samples(
    columns: Sequence[np.ndarray], lines: Sequence[int], names: Sequence[str], name: str
) -> np.ndarray | TableRows:
    """Return numbers as samples; as columns where one has integers that floats may round."""
    X = np.stack(columns, axis=1).astype(np.float64, copy=False)
    are_exact = [
        each.dtype == object and beyond_floats(x) for each, x in zip(columns, X.T, strict=True)
    ]
    if not any(are_exact) or not np.isfinite(X).all():
        return X  # what is not finite is refused later
    found = dict(zip(names, X.T, strict=True))
    for column, each, is_exact in zip(names, columns, are_exact, strict=True):
        if not is_exact:
            continue
        cells = each.tolist()
        if all(isinstance(x, int) or (x.is_integer() and abs(x) < EXACT_UP_TO) for x in cells):
            with suppress(OverflowError):
                whole = np.array([*map(int, cells)], np.int64 if min(cells) < 0 else np.uint64)
                found[column] = whole if whole.max() >= 2**63 else whole.astype(np.int64)
                continue
        for cell, line in zip(cells, lines, strict=True):
            if isinstance(cell, int) and float(cell) != cell:
                problem = f"column {column!r}: expected integers of 64 bits only, got {cell} and"
                raise DataError(name, f"{problem} other numbers. Leave the column out.", line)
    return TableRows(found)


def _check_separator(header: str, row: bytes, delimiter: str, name: str, line: int) -> None:
    """Raise DataError where the only column has a name that another separator would cut."""
    found = next((each for each in ";\t,|" if each in header and each != delimiter), None)
    if found is None and " " in header.strip():  # the name of a column may have several words
        n = len(row.decode(errors="replace").split())
        found = " " if n == len(header.split()) else None
    if found is None:
        return
    what = {",": "commas", "\t": "tabs"}.get(delimiter, repr(delimiter))
    advice = f"If the separator is {found!r}, use `separator` {found!r}."
    problem = f"expected columns separated by {what}, got one column {_shortened(header)}."
    raise DataError(name, f"{problem} {advice}", line)


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
    kinds.CSV, read, _Writer, cut=by_rows, first_row=re.compile(rb".*,.*"), has_header=True,
)  # fmt: skip
TSV = replace(
    FORMAT, kind=kinds.TSV, read=partial(read, delimiter="\t"), writer=_WriterOfTsv,
    cut=None, first_row=None,
)  # fmt: skip
