"""CSV files with a header: a number in every column but the label's, or texts in some columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, dropwhile, islice
from operator import itemgetter
from threading import Lock
from typing import IO, Any

import numpy as np

from narrows.errors import DataError, ParameterError
from narrows.io import kinds
from narrows.io.chunk import (
    MAY_BE_TABLE,
    NUMBERS,
    OF_CLASSES,
    OF_TABLE,
    TEXT,
    Chunk,
    Labels,
    Options,
    as_targets,
    check_columns,
    feature_columns,
    label_column,
    target_columns,
)
from narrows.io.formats.base import Format, Writer, column_names, whole
from narrows.io.parts import by_rows
from narrows.io.streams import Lines, weight
from narrows.io.table_rows import of_strings
from narrows.solve.late import sparse
from narrows.state.labels import is_integer

_CELLS = 1_000_000  # in a chunk, at most
_MANY = 3 << 20  # bytes behind the header that are worth loading pyarrow
_SHOWN = 40  # characters of a cell in a message
_OF_FEATURES = (
    "Set text (--text) to read texts, label (--label) if the column holds labels, or remove it."
)


def read(stream: IO[bytes], name: str, options: Options, delimiter: str = ",") -> Iterator[Chunk]:
    """Yield chunks of dense samples with features in the order of `options.columns`.

    Where options name columns of texts, X is a list of those of each row, joined by a newline; of
    a table X is `TableRows`.
    """
    lines_in = Lines(stream, name, options.max_line_mb, delimiter)
    texts = options.text
    with nullcontext() if texts is None else _cells_up_to(lines_in.longest):
        rows, header, label = _open(lines_in, name, options)
        columns, size = texts, options.chunk_rows
        if columns is None:
            columns = tuple(feature_columns(header, label, options, name, 1))
            # a cell takes fifteen times as much room as text as it does as a number
            size = max(1, min(size, _CELLS // len(header)))
        else:
            check_columns(header, columns, TEXT, name, 1)
        places = {column: k for k, column in enumerate(header)}
        pick = _picker([places[column] for column in columns])
        targets = target_columns(header, options, name, 1)
        pick_y = _picker([places[column] for column in (targets if label is None else [label])])

        def picked() -> Iterator[tuple[int, Any, Sequence[str]]]:
            for line, cells in rows:
                if len(cells) != len(header):
                    problem = f"expected {len(header)} cells, got {len(cells)}."
                    quoted = " Put cells that hold commas or several lines in double quotes."
                    raise DataError(name, problem + quoted * (len(cells) > len(header)), line)
                found = pick(cells)
                yield line, "\n".join(found) if texts else found, pick_y(cells)

        labels, each = Labels(name, options, f"{label!r}"), picked()
        while block := list(islice(each, size)):
            lines, samples, found = map(list, zip(*block, strict=True))
            y: Any = None
            if label is not None:
                y = labels.of_cells([cell for (cell,) in found], lines)
            elif targets:
                y = _as_numbers(found, lines, targets, name, OF_CLASSES)
                y = as_targets(y, targets, name, lines)
            X: Any = samples
            if options.table:
                X = of_strings(columns, samples)
            elif not texts:
                instead = (OF_TABLE,) if options.get(MAY_BE_TABLE) else ()
                X = _as_numbers(samples, lines, columns, name, *instead)
            names = None if texts else columns
            yield Chunk(X, y, lines, names, tuple(header), lines_in.is_truncated)


def survey(stream: IO[bytes], name: str, options: Options, delimiter: str = ",") -> dict[str, bool]:
    """Find whether all labels are integers: one that is not makes the others text, too."""
    lines = Lines(stream, name, options.max_line_mb, delimiter)
    with _cells_up_to(lines.longest):
        rows, header, label = _open(lines, name, options)
        at = None if label is None else header.index(label)
        found = at is not None and all(is_integer(row[at]) for _, row in rows if len(row) > at)
    return {NUMBERS: found}


def _open(
    lines: Lines, name: str, options: Options
) -> tuple[Iterator[tuple[int, Sequence[str]]], list[str], str | None]:
    """Return the rows with their line numbers, the header, and the label column's name."""
    blocks = iter(lines)
    rows = _rows(lines, blocks, name)
    header = list(options.get("header") or next(rows, (0, []))[1])  # known where a pipe goes on
    if not header:
        raise DataError(name, "expected a header and at least one row, got none.")
    if len(header) == 1 and header[0] not in (options.text or options.columns or ()):
        _check_separator(header[0], lines.delimiter, name)
    label = label_column(header, options, name, 1)
    if options.text is not None or options.table:
        rows = _fast_rows(rows, blocks, lines, header, name)
    return dropwhile(lambda row: row[0] <= options.after, rows), header, label


def _check_separator(header: str, delimiter: str, name: str) -> None:
    """Raise DataError where the only column has a name that another separator would cut."""
    found = next((each for each in ";\t," if each in header and each != delimiter), None)
    if found is None:
        return
    what, suffix = ("tabs", ".csv") if delimiter == "\t" else ("commas", ".tsv")
    advice = f"Separate by {what}." if found == ";" else f"Name the file {suffix}."
    problem = f"expected columns separated by {what}, got one column {_shortened(header)}."
    raise DataError(name, f"{problem} Is the separator {found!r}? {advice}", 1)


def _rows(lines: Lines, blocks: Iterable[bytes], name: str) -> Iterator[tuple[int, Sequence[str]]]:
    length = 0  # of the row so far, without ends; it has several lines where these are quoted
    before = lines.line - 1

    def texts() -> Iterator[str]:
        nonlocal length
        for number, line in lines.numbered(blocks):
            length += len(line) - 1
            if length > lines.long:
                length += weight(line, len(line))
                if length > lines.longest:
                    lines.refuse()
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                problem = f"expected a CSV row in UTF-8, got other bytes: {error}."
                raise DataError(name, problem, number) from None

    reader = csv.reader(texts(), strict=True, delimiter=lines.delimiter)
    try:
        for cells in reader:
            length = 0
            if cells:
                yield before + reader.line_num, cells
    except csv.Error as error:
        problem = f"expected a CSV row, got another line: {error}."
        raise DataError(name, problem, before + reader.line_num) from None


def _fast_rows(
    rows: Iterator[tuple[int, Sequence[str]]], blocks: Iterator[bytes], lines: Lines,
    header: list[str], name: str,
) -> Iterator[tuple[int, Sequence[str]]]:  # fmt: skip
    """Yield the rows after the header, read by pyarrow as far as it is known to read the same.

    The standard module reads small files, what follows a row that it might read otherwise or that
    is not valid, and all where pyarrow is not installed.
    """
    if len(lines.rest.getvalue()) < _MANY:
        yield from rows
        return
    whole = _whole_rows(chain([lines.rest.read()], blocks), lines.long)
    lines.line += 1  # that of the header
    for block in whole:
        found = _columns(block, header, lines.long, lines.delimiter)
        if found is None:
            yield from _rows(lines, chain([block], whole), name)
            return
        sizes, columns = found
        yield from zip(lines.line - 1 + np.cumsum(sizes), zip(*columns, strict=True), strict=True)
        lines.line += int(sizes.sum())


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
    block: bytes, header: list[str], most: int, delimiter: str
) -> tuple[np.ndarray, list[list[str]]] | None:
    """Return the number of lines of each row, and the cells of each column.

    None where the standard module might not read the same: where quotation marks are not at the
    borders of cells, lines are empty or end otherwise, rows are long, or pyarrow raises an error.
    """
    found = np.frombuffer(block, np.uint8)
    marks, ends, returns = (np.flatnonzero(found == ord(each)) for each in '"\n\r')
    returns = returns[found[returns + 1] != ord("\n")]  # the block ends with a line's end
    beside = found[marks[::2] - 1], found[marks[1::2] + 1]
    borders = np.frombuffer(f'{delimiter}\n\r"'.encode(), np.uint8)
    at_borders = len(marks) % 2 == 0 and all(np.isin(each, borders).all() for each in beside)
    last = np.flatnonzero(np.searchsorted(marks, ends) % 2 == 0)  # of the lines of a row
    longest = np.diff(ends[last], prepend=0).max(initial=0)
    if not at_borders or (np.searchsorted(marks, returns) % 2 == 0).any() or longest > most:
        return None
    try:
        import pyarrow as pa
        from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv
    except ImportError:
        return None
    try:
        table = read_csv(
            pa.BufferReader(block),
            ReadOptions(use_threads=False, block_size=len(block), column_names=header),
            ParseOptions(delimiter=delimiter, newlines_in_values=True),
            ConvertOptions(column_types=dict.fromkeys(header, pa.string())),
        )
    except pa.ArrowInvalid:
        return None
    if len(table) != len(last):  # some of the lines are empty
        return None
    return np.diff(last, prepend=-1), [column.to_pylist() for column in table.columns]


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
    rows: list[Sequence[str]],
    lines: list[int],
    features: Sequence[str],
    name: str,
    of_words: str = _OF_FEATURES,
) -> np.ndarray:
    table = np.array(rows, dtype=object)
    with suppress(ValueError):
        if not any("_" in cell for cell in table.flat):  # Python takes 1_000, too
            return table.astype(np.float64)
    for line, cells in zip(lines, table, strict=True):
        for column, cell in zip(features, cells, strict=True):
            try:
                float(cell.replace("_", "?"))
            except ValueError:
                problem = f"column {column!r}: expected a number, got {_shortened(cell)}."
                advice = "Fill in a number, or remove the row."
                if cell.strip() or of_words == OF_TABLE:
                    advice = of_words
                raise DataError(name, f"{problem} {advice}", line) from None
    raise AssertionError("a cell that is no number was not found")


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
            names = column_names(self.names, X.shape[1])
            header = list(map(self.words, names))
            self.rows.writerow([*header, *map(self.words, self.of_labels(y, header))])
            self.width = len(names)
        self.check_width(X, "CSV", ".parquet")
        found = [] if y is None else map(whole, y.reshape(len(y), -1))
        labels = [[self.words(x) if isinstance(x, str) else x for x in each] for each in found]
        labels = labels or [[]] * X.shape[0]
        for at in range(X.shape[0]):
            row = X[[at]].toarray()[0] if sparse.issparse(X) else X[at]
            self.rows.writerow(row.tolist() + labels[at])

    def finish(self) -> None:
        self.text.detach()


class _WriterOfTsv(_Writer):
    delimiter = "\t"


FORMAT = Format(
    kinds.CSV, read, _Writer, options=("label", "target", "text", "table", "csv_safe"),
    survey=survey, surveyed={NUMBERS: all}, cut=by_rows,
    first_row=re.compile(rb".*,.*"), has_header=True,
)  # fmt: skip
TSV = replace(
    FORMAT, kind=kinds.TSV, read=partial(read, delimiter="\t"), writer=_WriterOfTsv,
    survey=partial(survey, delimiter="\t"), cut=None, first_row=None,
)  # fmt: skip
