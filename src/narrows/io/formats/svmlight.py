"""svmlight files: `label column:value column:value … # comment`, a row a line.

Several labels of a row have commas between them. What scikit-learn's `load_svmlight_file` reads
is read as the same numbers, to the last bit, or is an error; as there, `qid:…` is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, NamedTuple

import numpy as np
from scipy import sparse

from narrows.io.chunk import CLASSES, Chunk, Options
from narrows.io.lines import Lines
from narrows.solve.errors import DataError

_TOKEN = re.compile(rb"[^\s#]*")
_EXACT = 2.0**53  # from here on floating point, which labels are read as, skips numbers


class _Rows(NamedTuple):
    """Rows as they were read; the order is that of `svmlight_steps.rows`."""

    lines: np.ndarray
    label_counts: np.ndarray
    counts: np.ndarray
    labels: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    def parts(self, size: int) -> Iterator[_Rows]:
        """Cut into parts of `size` rows, and one of the fewer that are left."""
        n, label_at, at = len(self.lines), _starts(self.label_counts), _starts(self.counts)
        for first in range(0, n + 1, size):
            stop = min(first + size, n)
            rows, labels = slice(first, stop), slice(label_at[first], label_at[stop])
            entries = slice(at[first], at[stop])
            yield _Rows(
                self.lines[rows], self.label_counts[rows], self.counts[rows],
                self.labels[labels], self.columns[entries], self.values[entries],
            )  # fmt: skip


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of `options.chunk_rows` sparse rows; empty lines and comments are no rows."""
    several = options.several_labels
    first = 0 if options.zero_based else 1
    lines = Lines(stream, name, options.max_line_mb)
    for rows, fault in _read(lines, first, options.chunk_rows, options.after):
        if several is None:
            several = bool((rows.label_counts > 1).any())
        y = _several(rows, name) if several else _one_each(rows, name)
        shape = len(rows.lines), int(rows.columns.max(initial=0)) + 1
        X = sparse.csr_array((rows.values, rows.columns, _starts(rows.counts)), shape=shape)
        width = options.width
        if width is not None and shape[1] > width:
            row = _row_of(np.flatnonzero(rows.columns >= width)[0], rows.counts)
            raise DataError(
                name,
                f"column {X[[row]].indices.max() + first} came, but columns go from {first} to "
                f"{width - 1 + first}.",
                int(rows.lines[row]),
            )
        if fault is not None:
            raise fault
        yield Chunk(X, y, rows.lines, cut=lines.cut)


def survey(stream: IO[bytes], name: str, options: Options) -> tuple[bool, bool]:
    """Whether any row has a column 0, so that columns count from 0; and whether several labels."""
    from narrows.io.formats.svmlight_steps import COLUMN_ZERO, SEVERAL_LABELS, heads

    seen, lines = 0, Lines(stream, name, options.max_line_mb)
    for block in lines:
        found, lines.line = heads(np.frombuffer(block, np.uint8), lines.line)
        seen |= found
        if seen == COLUMN_ZERO | SEVERAL_LABELS:
            break
    return bool(seen & COLUMN_ZERO), bool(seen & SEVERAL_LABELS)


def _read(
    lines: Lines, base: int, size: int, passed: int
) -> Iterator[tuple[_Rows, DataError | None]]:
    """Yield `size` rows at a time, and with the last ones what is wrong with the row after them.

    So many lines are passed over first.
    """
    held: list[_Rows] = []
    for block in lines:
        if lines.line <= passed:
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
            few = min(len(ends), passed + 1 - lines.line)
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


def _joined(held: list[_Rows]) -> _Rows:
    return held[0] if len(held) == 1 else _Rows(*map(np.concatenate, zip(*held, strict=True)))


def _parsed(block: bytes, line: int, name: str, base: int) -> tuple[_Rows, int, DataError | None]:
    """Return the rows of a block, the number of the line after it, and what was wrong, if so."""
    from narrows.io.formats import svmlight_steps as steps

    text = np.frombuffer(block, np.uint8)
    n, commas, colons = (np.count_nonzero(text == ord(c)) for c in "\n,:")  # at most so many
    lines, label_counts, counts = np.empty((3, n), dtype=np.int64)
    labels, values = np.empty(n + commas), np.empty(colons)
    out = _Rows(lines, label_counts, counts, labels, np.empty(colons, dtype=np.int32), values)
    odd = np.empty((n + commas + colons, 3), dtype=np.int64)
    n, n_labels, n_entries, n_odd, after, fault, at = steps.rows(text, base, line, tuple(out), odd)
    problem = _told(block, at, base, fault) if fault else None
    for which, start, stop in odd[:n_odd].tolist():
        token = block[start:stop]
        try:
            value = float(token.replace(b"_", b"?"))  # Python's 1_000 is none of ours
        except ValueError:
            kind = "value" if which >= 0 else "label"
            problem, at = f"{kind}: a number wanted, but {_shown(token)} came.", start
            break
        if which >= 0:
            values[which] = value
        else:
            labels[~which] = value
    if problem is not None:
        whole = block[: block.rfind(b"\n", 0, at) + 1]
        rows, line, _ = _parsed(whole, line, name, base)
        return rows, line, DataError(name, f"not a svmlight row: {problem}", line)
    sizes = n, n, n, n_labels, n_entries, n_entries
    return _Rows(*(a[:size] for a, size in zip(out, sizes, strict=True))), after, None


def _told(block: bytes, at: int, base: int, fault: int) -> str:
    from narrows.io.formats.svmlight_steps import LARGEST, NO_ORDER, TOO_LARGE

    token = _shown(_TOKEN.match(block, at)[0])  # type: ignore[index]
    if fault == NO_ORDER:
        before = _shown(block[:at].rsplit(None, 1)[-1])
        return f"columns must increase, but {token} came after {before}."
    if fault == TOO_LARGE:
        return f"columns go up to {LARGEST + base}, but {token} came."
    return f"column:value wanted, with a column from {base} on, but {token} came."


def _shown(token: bytes) -> str:
    return repr(token[:40])[1:] + " …" * (len(token) > 40)


def _starts(counts: np.ndarray) -> np.ndarray:
    starts = np.concatenate([[0], np.cumsum(counts)])
    return starts.astype(np.int32 if starts[-1] < 2**31 else np.int64)


def _row_of(entry: int, counts: np.ndarray) -> int:
    """Return which row an entry is in."""
    return int(np.searchsorted(np.cumsum(counts), entry, side="right"))


def _one_each(rows: _Rows, name: str) -> np.ndarray:
    odd = np.flatnonzero(rows.label_counts != 1)
    if len(odd):
        count = int(rows.label_counts[odd[0]])
        raise DataError(
            name,
            f"one label a row wanted, but {count} came."
            + " Several are read anywhere in a file, but have to be in a pipe's first rows."
            * (count > 1),
            int(rows.lines[odd[0]]),
        )
    _refuse(~(np.abs(rows.labels) < _EXACT), rows, name, "labels must be whole numbers under 2^53.")
    return rows.labels.astype(np.int64)


def _several(rows: _Rows, name: str) -> sparse.csr_array:
    _refuse(
        ~((rows.labels >= 0) & (rows.labels < CLASSES)),
        rows,
        name,
        "where rows have several, labels must be whole numbers from 0 on, under 2^24.",
    )
    labels = rows.labels.astype(np.int32)
    y = sparse.csr_array(
        (np.ones(len(labels)), labels, _starts(rows.label_counts)),
        shape=(len(rows.lines), int(labels.max(initial=0)) + 1),
    )
    y.sum_duplicates()
    y.data[:] = 1
    return y


def _refuse(wrong: np.ndarray, rows: _Rows, name: str, wanted: str) -> None:
    """Raise where a label is wrong, or not whole."""
    odd = np.flatnonzero(wrong | (rows.labels != np.floor(rows.labels)))
    if len(odd):
        row = _row_of(odd[0], rows.label_counts)
        raise DataError(name, f"label {rows.labels[odd[0]]:.17g}: {wanted}", int(rows.lines[row]))
