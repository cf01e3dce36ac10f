"""svmlight files: `label column:value column:value … # comment`, one sample per line.

Several labels or targets of a sample have commas between them. Every file is read to the same
numbers as by scikit-learn's `load_svmlight_file`, to the last bit, or is an error; both ignore
`qid:…`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError
from narrows.io import kinds
from narrows.io.chunk import CLASSES, Chunk, Options, as_targets, indicator, row_of
from narrows.io.formats.base import Format, Writer, whole_as_int
from narrows.io.parts import by_lines
from narrows.io.streams import Lines
from narrows.moments.labels import integer_of, number_of
from narrows.solve.arrays import EXACT, beyond_floats
from narrows.solve.products import compiled_pays

_TOKEN = re.compile(rb"[^\s#]*")
_HEAD = re.compile(rb"\A\s*([^\s#]*)")
_NUMBER = rb"[-+]?[0-9][0-9.eE+-]*"
_SIMPLE = re.compile(rb"(?:%b(?: [0-9]{1,10}:%b)* ?\r?\n)+" % (_NUMBER, _NUMBER))  # in one reading
_ZERO = re.compile(rb"^[^ ]+ 0+:", re.MULTILINE)  # the first column of a row
_BYTES = 8  # of a file that take as long as an operation in Python


class _ParsedRows(NamedTuple):
    """Rows as they were read; the order is that of `svmlight_steps.rows`."""

    lines: np.ndarray
    label_counts: np.ndarray
    counts: np.ndarray
    labels: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    def parts(self, size: int) -> Iterator[_ParsedRows]:
        """Cut into parts of `size` rows, and one of the fewer that are left."""
        n, label_at, at = len(self.lines), _starts(self.label_counts), _starts(self.counts)
        for first in range(0, n + 1, size):
            stop = min(first + size, n)
            rows, labels = slice(first, stop), slice(label_at[first], label_at[stop])
            entries = slice(at[first], at[stop])
            yield _ParsedRows(
                self.lines[rows], self.label_counts[rows], self.counts[rows],
                self.labels[labels], self.columns[entries], self.values[entries],
            )  # fmt: skip


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of `options.chunk_rows` sparse samples; empty lines and comments are none."""
    several, width = options.get("several_labels"), options.width
    first = 0 if options.zero_based else 1
    lines = Lines(stream, name, options.max_line_mb)
    for rows, fault in _read(lines, first, options.chunk_rows, options.after):
        if several is None:  # the first chunk decides
            several = bool((rows.label_counts > 1).any())
        y: Any = None
        if options.has_labels and options.target is not None:
            y = _targets(rows, options.target, name)
        elif options.has_labels:
            y = _several(rows, name) if several else _one_each(rows, name)
        last, starts = int(rows.columns.max(initial=0)), _starts(rows.counts)
        if width is not None and last >= width:
            row = row_of(np.flatnonzero(rows.columns >= width)[0], starts)
            got = rows.columns[starts[row] : starts[row + 1]].max() + first
            problem = f"expected columns from {first} to {width - 1 + first}, got column {got}."
            raise DataError(name, problem, int(rows.lines[row]))
        shape = len(rows.lines), width or last + 1
        X = sparse.csr_array((rows.values, rows.columns, starts), shape)
        if fault is not None:
            raise fault
        yield Chunk(X, y, rows.lines, is_truncated=lines.is_truncated)


def survey(stream: IO[bytes], name: str, options: Options) -> dict[str, bool]:
    """Find whether a sample has a column 0, so that columns count from 0, or several labels."""
    zero = several = False
    lines = Lines(stream, name, options.max_line_mb)
    for block in lines:
        if not compiled_pays(0, len(block) // _BYTES) and _SIMPLE.fullmatch(block):
            zero |= _ZERO.search(block) is not None
            lines.line += block.count(b"\n")
            continue
        from narrows.io.formats.svmlight_steps import COLUMN_ZERO, SEVERAL_LABELS, heads

        found, lines.line = heads(np.frombuffer(block, np.uint8), lines.line)
        zero |= bool(found & COLUMN_ZERO)
        several |= bool(found & SEVERAL_LABELS)
        if zero and several:
            break
    return {"zero_based": zero, "several_labels": several}


def _read(
    lines: Lines, base: int, size: int, skipped: int
) -> Iterator[tuple[_ParsedRows, DataError | None]]:
    """Yield `size` rows at a time, the last ones with the error in the row after them, if any.

    The first `skipped` lines are left out.
    """
    held: list[_ParsedRows] = []
    for block in lines:
        if lines.line <= skipped:
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
            few = min(len(ends), skipped + 1 - lines.line)
            lines.line, block = lines.line + few, block[ends[few - 1] + 1 :]
            if not block:
                continue
        rows, lines.line, fault = _parsed(block, lines.line, lines.name, base)
        held.append(rows)
        if sum(len(rows.lines) for rows in held) >= size:
            parts, held = _joined(held).parts(size), []
            for part in parts:
                if len(part.lines) == size:
                    yield part, None
                else:
                    held = [part]
        if fault is not None:
            yield _joined(held), fault
            return
    if any(len(rows.lines) for rows in held):
        yield _joined(held), None


def _joined(held: list[_ParsedRows]) -> _ParsedRows:
    return held[0] if len(held) == 1 else _ParsedRows(*map(np.concatenate, zip(*held, strict=True)))


def _parsed(
    block: bytes, line: int, name: str, base: int
) -> tuple[_ParsedRows, int, DataError | None]:
    """Return the rows of a block, the number of the line after it, and the error, if any."""
    found = None if compiled_pays(0, len(block) // _BYTES) else _plainly_parsed(block, line, base)
    if found is not None:
        return _with_exact_labels(found, block, line), line + len(found.lines), None
    import narrows.io.formats.svmlight_steps as steps

    text = np.frombuffer(block, np.uint8)
    n, commas, colons = (np.count_nonzero(text == ord(c)) for c in "\n,:")  # at most so many
    lines, label_counts, counts = np.empty((3, n), dtype=np.int64)
    labels, values = np.empty(n + commas), np.empty(colons)
    out = _ParsedRows(lines, label_counts, counts, labels, np.empty(colons, dtype=np.int32), values)
    odd = np.empty((n + commas + colons, 3), dtype=np.int64)
    n, n_labels, n_entries, n_odd, after, fault, at = steps.rows(text, base, line, tuple(out), odd)
    problem = _problem(block, at, base, fault) if fault else None
    for which, start, stop in odd[:n_odd].tolist():
        token = block[start:stop]
        try:
            value = float(token.replace(b"_", b"?"))  # Python takes 1_000, too
        except ValueError:
            kind = "value" if which >= 0 else "label"
            problem, at = f"{kind}: expected a number, got {_shown(token)}.", start
            break
        if which >= 0:
            values[which] = value
        else:
            labels[~which] = value
    if problem is not None:
        before = block[: block.rfind(b"\n", 0, at) + 1]
        rows, line, _ = _parsed(before, line, name, base)
        return rows, line, DataError(name, f"not a svmlight row: {problem}", line)
    sizes = n, n, n, n_labels, n_entries, n_entries
    rows = _ParsedRows(*(a[:size] for a, size in zip(out, sizes, strict=True)))
    return _with_exact_labels(rows, block, line), after, None


def _with_exact_labels(rows: _ParsedRows, block: bytes, line: int) -> _ParsedRows:
    """Return rows with labels as objects, if floats would round an integer among them."""
    if not beyond_floats(rows.labels):
        return rows
    texts = block.split(b"\n")
    heads = [_HEAD.findall(texts[k])[0] for k in (rows.lines - line)[rows.label_counts > 0]]
    labels = [number_of(label.decode()) for head in heads for label in head.split(b",")]
    exact = np.array(labels, dtype=object)
    return _ParsedRows(rows.lines, rows.label_counts, rows.counts, exact, rows.columns, rows.values)


def _plainly_parsed(block: bytes, line: int, base: int) -> _ParsedRows | None:
    """Return the rows of a block without compiled loops; None where they have to look closely."""
    if not _SIMPLE.fullmatch(block):
        return None
    entries = [row.split() for row in block.replace(b":", b" ").splitlines()]
    n = len(entries)
    counts = np.array([len(row) // 2 for row in entries], dtype=np.int64)
    try:
        labels = np.array([float(row[0]) for row in entries])
        columns = np.array([int(k) for row in entries for k in row[1::2]], dtype=np.int64) - base
        values = np.array([float(value) for row in entries for value in row[2::2]])
    except ValueError:
        return None
    grows = np.diff(columns, prepend=-1) > 0
    starts = np.cumsum(counts)[:-1]
    grows[starts[starts < len(columns)]] = True  # the first ones of rows
    if not grows.all() or columns.min(initial=0) < 0 or columns.max(initial=0) >= 2**31 - 1:
        return None
    lines, ones = np.arange(line, line + n), np.ones(n, dtype=np.int64)
    return _ParsedRows(lines, ones, counts, labels, columns.astype(np.int32), values)


def _problem(block: bytes, at: int, base: int, fault: int) -> str:
    from narrows.io.formats.svmlight_steps import LARGEST, NO_ORDER, TOO_LARGE

    token = _shown(_TOKEN.match(block, at)[0])  # type: ignore[index]
    if fault == NO_ORDER:
        before = _shown(block[:at].rsplit(None, 1)[-1])
        return f"expected increasing columns, got {token} after {before}."
    if fault == TOO_LARGE:
        return f"expected columns up to {LARGEST + base}, got {token}."
    return f"expected column:value with a column from {base} on, got {token}."


def _shown(token: bytes) -> str:
    return repr(token[:40])[1:] + " …" * (len(token) > 40)


def _starts(counts: np.ndarray) -> np.ndarray:
    starts = np.concatenate([[0], np.cumsum(counts)])
    return starts.astype(np.int32 if starts[-1] < 2**31 else np.int64)


def _one_each(rows: _ParsedRows, name: str) -> Any:
    """Return the cells of single labels; whole numbers are integers."""
    odd = np.flatnonzero(rows.label_counts != 1)
    if len(odd):
        count = int(rows.label_counts[odd[0]])
        several = " Several labels per sample are found anywhere in a file, but in a pipe only "
        advice = f"{several}among its first rows." if count > 1 else ""
        problem = f"expected one label, got {count or 'none'}.{advice}"
        raise DataError(name, problem, int(rows.lines[odd[0]]))
    is_exact = rows.labels.dtype != object and bool((np.abs(rows.labels) < EXACT).all())
    if is_exact and (rows.labels == np.floor(rows.labels)).all():
        return rows.labels.astype(np.int64)
    is_whole = (abs(x) < 2.0**64 and x == x // 1 for x in rows.labels.tolist())
    return [int(x) if whole else x for x, whole in zip(rows.labels.tolist(), is_whole, strict=True)]


def _targets(rows: _ParsedRows, targets: Sequence[str], name: str) -> np.ndarray:
    """Return the numbers at the beginning of each row, as many as there are names."""
    odd = np.flatnonzero(rows.label_counts != len(targets))
    if len(odd):
        problem = f"expected {len(targets)} target{'s' * (len(targets) > 1)} before the columns"
        advice = "Set `target` as often as there are numbers."
        count = rows.label_counts[odd[0]] or "none"
        raise DataError(name, f"{problem}, got {count}. {advice}", int(rows.lines[odd[0]]))
    numbers = rows.labels.astype(np.float64).reshape(-1, len(targets))
    return as_targets(numbers, targets, name, rows.lines)


def _several(rows: _ParsedRows, name: str) -> sparse.csr_array:
    wrong = ~((rows.labels >= 0) & (rows.labels < CLASSES)).astype(bool)
    expected = f"an integer label from 0 to {CLASSES - 1}, as samples have several labels"
    _refuse(wrong, rows, name, expected)
    labels = rows.labels.astype(np.int32)
    return indicator(labels, _starts(rows.label_counts), int(labels.max(initial=0)) + 1)


def _refuse(wrong: np.ndarray, rows: _ParsedRows, name: str, expected: str) -> None:
    """Raise where a label is wrong, or no integer."""
    numbers = rows.labels.astype(np.float64)
    odd = np.flatnonzero(wrong | (numbers != np.floor(numbers)))
    if len(odd):
        row, label = row_of(odd[0], _starts(rows.label_counts)), rows.labels[odd[0]]
        shown = f"{label}" if isinstance(label, int) else f"{label:.17g}"
        problem = f"expected {expected}, got {shown}."
        raise DataError(name, problem, int(rows.lines[row]))


class _Writer(Writer):
    """Writes columns that count from 1; without labels every sample gets the label 0."""

    def write(self, X: Any, y: Any) -> None:
        y = np.zeros(X.shape[0], dtype=np.int64) if y is None else y
        if not sparse.issparse(y) and y.dtype.kind not in "biuf":
            odd = next((text for text in y.tolist() if integer_of(text) is None), None)
            advice = "Set `labels` to integer." if odd is None else "Write to .npz or .csv instead."
            got = repr(str(y[0] if odd is None else odd))
            problem = f"svmlight files: expected labels that are numbers, got {got}."
            raise ParameterError(f"{problem} {advice}")
        X = sparse.csr_array(X, copy=True)
        X.sum_duplicates()  # which puts them in order, too
        # repr is the shortest number that is read as the same one
        entries = [
            f"{column}:{repr(value).removesuffix('.0')}"
            for column, value in zip((X.indices + 1).tolist(), X.data.tolist(), strict=True)
        ]
        if sparse.issparse(y):
            y = sparse.csr_array(y)
            heads = [",".join(map(str, row)) for row in _by_row(y, y.indices.tolist())]
        else:
            heads = [",".join(map(str, whole_as_int(each))) for each in y.reshape(len(y), -1)]
        for head, row in zip(heads, _by_row(X, entries), strict=True):
            line = " ".join([head, *row]) or " 1:0"  # where an empty line would be no row
            self.stream.write(line.encode() + b"\n")


def _by_row(rows: sparse.csr_array, entries: list) -> Iterator[list]:
    """Yield the entries of each row."""
    return (entries[a:b] for a, b in pairwise(rows.indptr.tolist()))


FORMAT = Format(
    kinds.SVMLIGHT, read, _Writer, survey=survey, surveyed=("zero_based", "several_labels"),
    first_row=re.compile(rb"[-+.\deE]+\s*(#.*)?|([-+.\deE,]+\s+)?(qid:\S+\s+)?\d+:\S.*"),
    cut=by_lines, may_widen=True,
)  # fmt: skip
