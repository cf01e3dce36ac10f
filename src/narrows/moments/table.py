"""A matrix of sums, a row for each class: an array, or its non-zeros where these are smaller."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file
from scipy import sparse

from narrows.solve.schema import FINITE, Check, Field, between
from narrows.solve.sums import (
    BLOCK,
    add_dense,
    add_sparse,
    blocks,
    canonical,
    check_room,
    is_absorbed,
    with_values,
)
from narrows.solve.undo import Undo

SMALL = 1 << 22  # numbers (32 MB): an array of no more is kept as one, for the speed
_PENDING = 1 << 20  # entries that are kept aside, at least, before they are sorted in
_ENTRY = 12  # bytes of a number with its place
_settling = threading.RLock()  # reading sorts in what came, which two threads must not both do


def _unlock() -> None:
    """Let a fork go on, in which the thread that holds the lock is not."""
    global _settling
    _settling = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, columns, values


def is_array(shape: tuple[int, int], nonzeros: Any) -> bool:
    """Whether so many non-zeros are kept as an array: a small one, or no larger than they are."""
    numbers = shape[0] * shape[1]
    return numbers <= SMALL or int(nonzeros) * _ENTRY > numbers * 8


class Table:
    """A matrix of shape (c, d) that is added to.

    It is an array where that has at most `SMALL` numbers, or is no larger than the non-zeros with
    their places; else the non-zeros, by columns, and what came since they were last sorted.

    Parameters
    ----------
    shape : (int, int)
        (c, d).
    array : ndarray of shape (c, d), optional
        All numbers, to be kept as an array.
    held : csc_array of shape (c, d), optional
        The non-zeros.
    stored : Stored, optional
        What is kept in files, for want of memory; it is read a block of columns at a time, and
        taken into memory when it is to be changed. Zeros if none of the three is given.

    Attributes
    ----------
    array : ndarray of shape (c, d), or None
        All numbers, if they are kept as an array.
    """

    def __init__(
        self,
        shape: Any,
        array: np.ndarray | None = None,
        held: Any = None,
        stored: Stored | None = None,
    ):
        self.shape: tuple[int, int] = shape
        self._stored = stored
        if array is None and held is None and stored is None:
            if shape[1] > SMALL:  # a few numbers a column have to be held whatever is in it:
                np.empty(4 * shape[1])  # a MemoryError now, and not to be killed for want of it
            small = is_array(shape, 0)
            array, held = (np.zeros(shape), None) if small else (None, sparse.csc_array(shape))
        self.array, self._sorted = array, held
        self._pending: list[Entries] = []

    # -- adding -----------------------------------------------------------------------------

    def add_rows(
        self,
        X: sparse.csr_array,
        Y: sparse.csr_array,
        row: np.ndarray,
        undo: Undo | None = None,
    ) -> None:
        """Add, in place, Y'X: to row[j] what Y has in column j."""
        self._load()
        if self.array is not None:
            add_sparse(X, Y, row, self.array, (None, None), False, undo)
            return
        if X.nnz > self.shape[1]:  # sums of their own first: the same places come again and again
            sums = Y.T.tocsr() @ X
            sums.indices = sums.indices.astype(X.indices.dtype, copy=False)
            X, Y = sums, sparse.eye_array(Y.shape[1], format="csr")
        times = np.diff(Y.indptr)
        if not (times == 1).all():
            X = X[np.repeat(np.arange(len(times)), times)]
        lengths = np.diff(X.indptr)
        rows = np.repeat(row[Y.indices].astype(np.int32), lengths)
        # of a CSR array that is part of a larger one
        held = slice(X.indptr[0], X.indptr[-1])
        self._add((rows, X.indices[held], X.data[held] * np.repeat(Y.data, lengths)))

    def _parts(self) -> tuple[Any, Any, list[Entries]]:
        """The array, the sorted entries and the pending ones of one moment."""
        with _settling:
            self._load()
            return self.array, self._sorted, self._pending

    def add(
        self, row: np.ndarray, other: Table, sign: float = 1.0, undo: Undo | None = None
    ) -> None:
        """Add `sign` times another table, in place: its rows to these."""
        self._load()
        array, held, pending = other._parts()
        all_rows = self.shape[0] == other.shape[0] and np.array_equal(row, np.arange(len(row)))
        if array is not None:
            if self.array is None and is_array(self.shape, np.count_nonzero(array)):
                self.become_array()
            if self.array is not None:
                if undo is not None:
                    undo.array(self.array, row)
                rows = slice(None) if all_rows else row  # a slice is added to without a copy
                self.array[rows, : other.shape[1]] += array if sign == 1 else sign * array
                return
            held = sparse.csc_array(array)
        alike = all_rows and self.shape == other.shape
        if self.array is None and alike and held.nnz * 4 > self._sorted.nnz:
            self._sorted = self._sorted + sign * held
            others = pending
        else:
            others = [_entries(held), *pending]
        for rows, columns, values in others:
            self._add((row[rows], columns, sign * values))

    def _add(self, entries: Entries) -> None:
        rows, columns, values = entries
        if self.array is not None:
            np.add.at(self.array, (rows, columns), values)
            return
        entries = rows.astype(np.int32, copy=False), columns, values
        self._pending = [*self._pending, entries]  # a new list: who noted the old one has it still
        waiting = sum(len(values) for _, _, values in self._pending)
        if waiting > max(self._sorted.nnz, _PENDING):
            self._settle()

    def _load(self) -> None:
        """Take what is stored in files into memory."""
        stored = self._stored
        if stored is not None:
            whole = stored.joined()
            self.array, self._sorted, self._stored = whole.array, whole._sorted, None

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles hold the numbers: the files go with the table that made them."""
        stored = self._stored
        return dict(vars(self if stored is None else stored.joined()))

    def _settle(self) -> None:
        """Sort in what is pending; become an array where that is smaller."""
        with _settling:
            self._load()
            if self.array is not None:
                return
            if self._pending:
                parts = (_entries(self._sorted), *self._pending)
                rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
                self._sorted = sparse.coo_array((values, (rows, columns)), shape=self.shape).tocsc()
                self._pending = []
            if is_array(self.shape, self._sorted.nnz):
                self.array, self._sorted = self._sorted.toarray(), None

    def become_array(self) -> np.ndarray:
        """Keep all numbers as an array from now on, and return it."""
        if self.array is None:
            self._settle()
            if self.array is None:
                self.array, self._sorted = self._sorted.toarray(), None
        return self.array

    # -- others like it ---------------------------------------------------------------------

    def scaled(self, weight: float) -> Table:
        """Return a copy, times a number."""
        array, held, pending = self._parts()
        if array is not None:
            return Table(self.shape, array * weight)
        new = Table(self.shape, held=held * weight)
        new._pending = [(rows, columns, values * weight) for rows, columns, values in pending]
        return new

    def spread(self, rows: np.ndarray, size: int) -> Table:
        """Return a table of `size` rows that has these at the places `rows`, and zeros else."""
        new = Table((size, self.shape[1]))
        new.add(rows, self)
        return new

    def widened(self, n_features: int) -> Table:
        """Return a copy with columns of zeros appended."""
        c = self.shape[0]
        new = Table((c, n_features))
        new.add(np.arange(c), self)
        return new

    def _by_columns(self) -> Table:
        """Return the table, or where it is an array its non-zeros."""
        return self if self.array is None else Table(self.shape, held=sparse.csc_array(self.array))

    def cut(self, columns: slice) -> Table:
        """Return a copy of some neighbouring columns."""
        self._settle()
        if self.array is not None:
            part = self.array[:, columns]
            return Table(part.shape, part.copy())
        held = self._sorted[:, columns]
        new = Table(held.shape, held=held)
        new._settle()
        return new

    # -- changing ---------------------------------------------------------------------------

    def check_room(self, row: np.ndarray, other: Table, sign: float, of: str) -> None:
        """Raise where `add` would make numbers infinite."""
        if is_absorbed(*other._values()):
            return
        for columns in blocks(self.shape[1], max(1, BLOCK // max(1, len(row)))):
            check_room(sign * other[columns], self[columns][row], of, columns.start)

    def check_finite(self, of: str) -> None:
        """Raise where a number is none."""
        if not is_absorbed(*self._values()):
            for columns in blocks(self.shape[1], max(1, BLOCK // max(1, self.shape[0]))):
                check_room(self[columns], np.zeros(1), of, columns.start)

    def clear(self, row: np.ndarray) -> None:
        """Set rows to 0, in place."""
        if self.array is not None:
            self.array[row] = 0.0
        elif len(row):
            self._settle()
            if self.array is not None:
                return self.clear(row)
            self._sorted.data[np.isin(self._sorted.indices, row)] = 0.0
            self._sorted.eliminate_zeros()

    def _values(self) -> list[np.ndarray]:
        array, held, pending = self._parts()
        if array is not None:
            return [array]
        return [held.data, *(values for _, _, values in pending)]

    # -- reading ----------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """What it takes in memory."""
        if self._stored is not None:
            return 0
        array, held, waiting = self._parts()
        if array is not None:
            return int(array.nbytes)
        pending = sum(part.nbytes for entries in waiting for part in entries)
        return int(held.data.nbytes + held.indices.nbytes + held.indptr.nbytes + pending)

    def __getitem__(self, columns: slice) -> np.ndarray:
        """Return some neighbouring columns as an array, not to be written to."""
        stored = self._stored  # another thread may take it into memory
        if stored is not None:
            return stored[columns]
        self._settle()
        return self._sorted[:, columns].toarray() if self.array is None else self.array[:, columns]

    def middle(self) -> int:
        """Return the column that has half of what it takes in memory before it."""
        self._settle()
        if self.array is not None or not self._sorted.nnz:
            return self.shape[1] // 2
        k = int(np.searchsorted(self._sorted.indptr, self._sorted.nnz / 2))
        return min(max(k, 1), self.shape[1] - 1)

    def toarray(self) -> np.ndarray:
        """Return all numbers; where they are kept as an array, that."""
        return self[:]

    def weighted(self, weight: np.ndarray) -> np.ndarray:
        """weight @ self, of shape (d,), a block of columns at a time.

        Of the same bits for the same column wherever it stands: BLAS gives others. Columns alike
        to the bit then have scores alike to the bit, so that ties are ties.
        """
        answer = np.empty(self.shape[1])
        for columns in blocks(self.shape[1], max(1, BLOCK // max(1, len(weight)))):
            answer[columns] = (weight[:, None] * self[columns]).sum(axis=0)
        return answer

    # -- storage ----------------------------------------------------------------------------

    def to_arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return it as arrays whose names begin with `name`, to the bit."""
        array, held, pending = self._parts()
        if array is not None:
            return {name: array}
        parts = {"shape": np.array(self.shape), "indptr": held.indptr}
        parts |= {"indices": held.indices, "data": held.data}
        if pending:
            waiting = map(np.concatenate, zip(*pending, strict=True))
            parts |= zip(("rows", "columns", "values"), waiting, strict=True)
        return {f"{name}_{key}": part for key, part in parts.items()}

    @staticmethod
    def schema(
        arrays: Mapping[str, np.ndarray], name: str, rows: str | int
    ) -> tuple[dict[str, Field], tuple[Check, ...]]:
        """Return what the arrays of a table have to be, in the form that they have, and rules.

        `rows` is its number of rows, or the name of that; its columns are "d".
        """
        if name in arrays:
            return {name: Field("f8", (rows, "d"), FINITE)}, ()
        n, m = f"{name}_n", f"{name}_m"
        row = between(0, rows if isinstance(rows, str) else rows - 1)
        fields = {
            f"{name}_indptr": Field("i4 i8", ("d+1",)),
            f"{name}_indices": Field("i4 i8", (n,), row),
            f"{name}_data": Field("f8", (n,), FINITE),
            f"{name}_shape": Field("i8", (2,)),
        }
        if f"{name}_rows" in arrays:
            fields |= {
                f"{name}_rows": Field("i4", (m,), row),
                f"{name}_columns": Field("i4 i8", (m,), between(0, "d")),
                f"{name}_values": Field("f8", (m,), FINITE),
            }

        def by_columns(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
            ends, shape = arrays[f"{name}_indptr"], arrays[f"{name}_shape"].tolist()
            in_order = ends[0] == 0 and ends[-1] == sizes[n] and bool((ends[1:] >= ends[:-1]).all())
            return in_order and shape == [sizes.get(str(rows), rows), sizes["d"]]

        return fields, (Check(f"{name}_indptr that divides {name}_indices by columns", by_columns),)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], name: str) -> Table:
        """Return the table that `to_arrays` described, and `schema` wants; its own to write to."""
        if name in arrays:
            array = np.array(arrays[name])
            return cls(array.shape, array)

        def of(*keys: str) -> Any:
            return tuple(np.array(arrays[f"{name}_{key}"]) for key in keys)

        shape = tuple(arrays[f"{name}_shape"].tolist())
        new = cls(shape, held=sparse.csc_array(of("data", "indices", "indptr"), shape=shape))
        if f"{name}_rows" in arrays:
            new._pending = [of("rows", "columns", "values")]
        return new


class Stored:
    """Tables side by side in files of their own, which go with it; one at a time is in memory."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="narrows-")
        self._starts: list[int] = [0]  # the first column of each, and the end
        self.shape = (0, 0)
        self._last: tuple[int, Table] | None = None

    def append(self, table: Table) -> None:
        """Put a table to the right of those before."""
        arrays = {name: np.ascontiguousarray(a) for name, a in table.to_arrays("table").items()}
        save_file(arrays, self._path(len(self._starts) - 1))
        self._starts.append(self._starts[-1] + table.shape[1])
        self.shape = table.shape[0], self._starts[-1]

    def _path(self, number: int) -> str:
        return os.path.join(self._folder.name, str(number))

    def _table(self, number: int) -> Table:
        last = self._last  # of this thread: another may be at another table
        if last is None or last[0] != number:
            last = self._last = None  # before the next is read
            last = self._last = number, Table.from_arrays(load_file(self._path(number)), "table")
        return last[1]

    def __getitem__(self, columns: slice) -> np.ndarray:
        """Return some neighbouring columns as an array."""
        first, last, _ = columns.indices(self._starts[-1])
        parts = []
        for number, (start, stop) in enumerate(pairwise(self._starts)):
            if max(first, start) < min(last, stop):
                within = slice(max(first - start, 0), min(last, stop) - start)
                parts.append(self._table(number)[within])
        return parts[0] if len(parts) == 1 else np.hstack(parts or [self._table(0)[0:0]])

    def joined(self) -> Table:
        """Return all of them as one table in memory."""
        return beside([self._table(number) for number in range(len(self._starts) - 1)])


def _entries(held: sparse.csc_array) -> Entries:
    """Numbers by columns, with their places."""
    columns = np.repeat(np.arange(held.shape[1], dtype=held.indices.dtype), np.diff(held.indptr))
    return held.indices, columns, held.data


def beside(parts: list[Table] | Stored) -> Table:
    """Return tables side by side as one."""
    if isinstance(parts, Stored):
        return Table(parts.shape, stored=parts)
    c, d = parts[0].shape[0], sum(table.shape[1] for table in parts)
    for table in parts:
        table._settle()
    nonzeros = sum(t._sorted.nnz if t.array is None else np.count_nonzero(t.array) for t in parts)
    if is_array((c, d), nonzeros):
        return Table((c, d), np.hstack([table.toarray() for table in parts]))
    held = [table._by_columns()._sorted for table in parts]
    return Table((c, d), held=sparse.hstack(held, format="csc"))


def add_dense_rows(
    X: np.ndarray,
    Y: sparse.csr_array,
    row: np.ndarray,
    sums: Table,
    squares: tuple[Table | None, np.ndarray | None],
    presence: bool,
    origin: np.ndarray | None,
    undo: Undo | None = None,
) -> None:
    """Add rows to the sums of their classes, as `sums.add_dense` does."""
    second, second_row = squares
    if sums.array is not None and (second is None or second.array is not None):
        of_squares = None if second is None else second.array
        add_dense(X, Y, row, sums.array, (of_squares, second_row), presence, origin, undo)
        return
    given = np.unique(Y.indices)  # of an indicator matrix the classes that a row has
    codes, d = np.arange(len(given)), X.shape[1]
    own = np.zeros((len(given), d))
    own_row, where = None, np.zeros(1, np.intp)
    if second_row is not None:
        own_row, where = codes, second_row[given]
    own_squares = None if second is None else np.zeros((len(where), d))
    add_dense(X, Y[:, given], codes, own, (own_squares, own_row), presence, origin)
    sums.add(row[given], Table(own.shape, own), undo=undo)
    if second is not None and own_squares is not None:
        second.add(where, Table(own_squares.shape, own_squares), undo=undo)


def add_sparse_rows(
    X: sparse.csr_array,
    Y: sparse.csr_array,
    row: np.ndarray,
    sums: Table,
    squares: tuple[Table | None, np.ndarray | None],
    presence: bool,
    undo: Undo | None = None,
) -> None:
    """Add rows to the sums of their classes, as `sums.add_sparse` does."""
    second, second_row = squares
    if sums.array is not None and (second is None or second.array is not None):
        of_squares = None if second is None else second.array
        add_sparse(X, Y, row, sums.array, (of_squares, second_row), presence, undo)
        return
    if presence or second is not None:
        X = canonical(X)
    values = (X.data != 0).astype(np.float64) if presence else X.data
    sums.add_rows(with_values(X, values), Y, row, undo)
    if second is not None:
        where = np.zeros_like(row) if second_row is None else second_row
        second.add_rows(with_values(X, values.astype(np.float64) ** 2), Y, where, undo)
