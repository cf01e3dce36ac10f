"""A matrix of sums, one row per class: an array, or its non-zeros where these are smaller."""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from narrows.solve.schema import FINITE, Check, Field, between
from narrows.solve.sums import BLOCK, Places, add_sparse, blocks, check_room, is_absorbed, weighted
from narrows.solve.undo import Undo

SMALL = 1 << 22  # numbers (32 MB): an array of at most this size stays one, for speed
_PENDING = 1 << 20  # entries that wait, at least, before they are sorted in
_ENTRY = 12  # bytes of a number with its place
_settling = threading.RLock()  # reading sorts in what waits, which two threads must not both do


def _unlock() -> None:
    """Replace the lock in a fork, which does not have the thread that holds it."""
    global _settling
    _settling = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, columns, values


def is_array(shape: tuple[int, int], nonzeros: Any) -> bool:
    """Whether a table is stored as an array: a small one, or one no larger than its non-zeros."""
    numbers = shape[0] * shape[1]
    return numbers <= SMALL or int(nonzeros) * _ENTRY > numbers * 8


class Table:
    """A matrix of shape (n_rows, n_features) that is added to.

    It is an array where that has at most `SMALL` numbers, or is no larger than the non-zeros with
    their places. Otherwise it is the non-zeros, sorted by feature, and the entries that were added
    since they were last sorted.

    Parameters
    ----------
    shape : (int, int)
        (n_rows, n_features).
    array : ndarray of shape (n_rows, n_features), optional
        All numbers, to be stored as an array.
    nonzeros : csc_array of shape (n_rows, n_features), optional
        The non-zeros. Zeros if neither is given.

    Attributes
    ----------
    array : ndarray of shape (n_rows, n_features), or None
        All numbers, if they are stored as an array.
    """

    def __init__(self, shape: Any, array: np.ndarray | None = None, nonzeros: Any = None):
        self.shape: tuple[int, int] = shape
        if array is None and nonzeros is None:
            if shape[1] > SMALL:  # a few numbers per feature are needed in any case:
                np.empty(4 * shape[1])  # raise MemoryError now, before the process is killed
            small = is_array(shape, 0)
            array, nonzeros = (np.zeros(shape), None) if small else (None, sparse.csc_array(shape))
        self.array, self._sorted = array, nonzeros
        self._pending: list[Entries] = []

    # -- adding -----------------------------------------------------------------------------

    def add(
        self,
        row: np.ndarray,
        other: Table,
        sign: float = 1.0,
        of: str | None = None,
        undo: Undo | None = None,
    ) -> None:
        """Add `sign` times another table in place, its rows to those numbered `row`, ascending.

        With `of`, which names the numbers, RangeError where some would become infinite.
        """
        if of is not None and not is_absorbed(*other._values()):
            for part in blocks(other.shape[1], max(1, BLOCK // max(1, len(row)))):
                check_room(sign * other[part], self[part][row], of, part.start)
        array, nonzeros, pending = other._parts()
        all_rows = len(row) == self.shape[0]
        alike = all_rows and self.shape == other.shape
        if array is not None:
            if self.array is None and is_array(self.shape, np.count_nonzero(array)):
                self.become_array()
            if self.array is not None:
                if undo is not None:
                    undo.array(self.array, row)
                places: Any = slice(None) if all_rows else row  # adding to a slice makes no copy
                self.array[places, : other.shape[1]] += array if sign == 1 else sign * array
                return
            nonzeros = sparse.csc_array(array) if alike else sparse.coo_array(array)
        if self.array is None and alike and nonzeros.nnz * 4 > self._sorted.nnz:
            self._sorted = self._sorted + sign * nonzeros
        else:
            pending = [_entries(nonzeros), *pending]
        for rows, columns, values in pending:
            self._add_entries((row[rows], columns, sign * values))

    def add_samples(
        self, X: sparse.csr_array, Y: sparse.csr_array, row: np.ndarray, undo: Undo | None
    ) -> None:
        """Add Y'X in place: to row[j] what Y has in column j."""
        if self.array is not None:
            add_sparse(X, Y, Places([self.array], row[Y.indices]), undo=undo)
            return
        if X.nnz > self.shape[1]:  # sum first: the same places occur again and again
            sums = Y.T.tocsr() @ X
            sums.indices = sums.indices.astype(X.indices.dtype, copy=False)
            X, Y = sums, sparse.eye_array(Y.shape[1], format="csr")
        times = np.diff(Y.indptr)
        if not (times == 1).all():
            X = X[np.repeat(np.arange(len(times)), times)]
        lengths = np.diff(X.indptr)
        rows = np.repeat(row[Y.indices].astype(np.int32), lengths)
        used = slice(X.indptr[0], X.indptr[-1])  # X may be a part of a larger CSR array
        self._add_entries((rows, X.indices[used], X.data[used] * np.repeat(Y.data, lengths)))

    def _add_entries(self, entries: Entries) -> None:
        rows, columns, values = entries
        if self.array is not None:
            np.add.at(self.array, (rows, columns), values)
            return
        entries = rows.astype(np.int32, copy=False), columns, values
        self._pending = [*self._pending, entries]  # a new list: an `Undo` may hold the old one
        waiting = sum(len(values) for _, _, values in self._pending)
        if waiting > max(self._sorted.nnz, _PENDING):
            self._settle()

    def _parts(self) -> tuple[Any, Any, list[Entries]]:
        """The array, the sorted entries and the pending ones, as they are at one moment."""
        with _settling:
            return self.array, self._sorted, self._pending

    def _settle(self) -> None:
        """Sort in what is pending; become an array where that is smaller."""
        with _settling:
            if self.array is not None:
                return
            if self._pending:
                parts = (_entries(self._sorted), *self._pending)
                rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
                self._sorted = sparse.coo_array((values, (rows, columns)), shape=self.shape).tocsc()
                self._pending = []
            if is_array(self.shape, self._sorted.nnz):
                self.array, self._sorted = self._sorted.toarray(), None

    def become_array(self) -> None:
        """Store all numbers as an array from now on."""
        self._settle()
        if self.array is None:
            self.array, self._sorted = self._sorted.toarray(), None

    # -- other tables made of it --------------------------------------------------------------

    def scaled(self, weight: float) -> Table:
        """Return a copy times a number."""
        array, nonzeros, pending = self._parts()
        if array is not None:
            return Table(self.shape, array * weight)
        new = Table(self.shape, nonzeros=nonzeros * weight)
        new._pending = [(rows, columns, values * weight) for rows, columns, values in pending]
        return new

    def spread(self, rows: np.ndarray, shape: tuple[int, int]) -> Table:
        """Return a table of this shape that has these rows at the places `rows`, else zeros."""
        new, order = Table(shape), np.argsort(rows)
        new.add(rows[order], self.ordered(order) if (np.diff(rows) < 0).any() else self)
        return new

    def ordered(self, rows: np.ndarray) -> Table:
        """Return a copy of these rows, in this order."""
        self._settle()
        if self.array is not None:
            return Table((len(rows), self.shape[1]), self.array[rows])
        nonzeros = self._sorted[rows]
        return Table(nonzeros.shape, nonzeros=nonzeros)

    def cut(self, columns: slice) -> Table:
        """Return a copy of some neighbouring features."""
        self._settle()
        if self.array is not None:
            part = self.array[:, columns]
            return Table(part.shape, part.copy())
        nonzeros = self._sorted[:, columns]
        new = Table(nonzeros.shape, nonzeros=nonzeros)
        new._settle()
        return new

    # -- checks, and changes ------------------------------------------------------------------

    def check_finite(self, of: str) -> None:
        """Raise RangeError where a number is infinite or NaN."""
        if not is_absorbed(*self._values()):
            for columns in blocks(self.shape[1], max(1, BLOCK // max(1, self.shape[0]))):
                check_room(self[columns], np.zeros(1), of, columns.start)

    def clear(self, row: np.ndarray) -> None:
        """Set rows to 0, in place."""
        if not len(row):
            return
        self._settle()
        if self.array is not None:
            self.array[row] = 0.0
        else:
            self._sorted.data[np.isin(self._sorted.indices, row)] = 0.0
            self._sorted.eliminate_zeros()

    def _values(self) -> list[np.ndarray]:
        array, nonzeros, pending = self._parts()
        if array is not None:
            return [array]
        return [nonzeros.data, *(values for _, _, values in pending)]

    # -- reading ----------------------------------------------------------------------------

    def __getitem__(self, columns: slice) -> np.ndarray:
        """Return some neighbouring features as an array, not to be written to."""
        self._settle()
        return self._sorted[:, columns].toarray() if self.array is None else self.array[:, columns]

    def middle(self) -> int:
        """Return the feature that has half of the bytes before it."""
        self._settle()
        if self.array is not None or not self._sorted.nnz:
            return self.shape[1] // 2
        k = int(np.searchsorted(self._sorted.indptr, self._sorted.nnz / 2))
        return min(max(k, 1), self.shape[1] - 1)

    def toarray(self) -> np.ndarray:
        """Return all numbers; the array itself, where it is one."""
        return self[:]

    def stored(self) -> Any:
        """Return the array, or the non-zeros as a csc_array; not to be written to."""
        self._settle()
        return self._sorted if self.array is None else self.array

    def weighted(self, weight: np.ndarray) -> np.ndarray:
        """weight @ self, of shape (n_features,), a block of features at a time.

        A feature has the same bits at every place, which BLAS does not ensure. Features alike to
        the bit then have scores alike to the bit, so that ties are ties.
        """
        answer = np.empty(self.shape[1])
        for columns in blocks(self.shape[1], max(1, BLOCK // max(1, len(weight)))):
            answer[columns] = weighted(weight, self[columns])
        return answer

    # -- storage ----------------------------------------------------------------------------

    def to_arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return it as arrays whose names begin with `name`, to the bit."""
        array, nonzeros, pending = self._parts()
        if array is not None:
            return {name: array}
        parts = {"shape": np.array(self.shape), "indptr": nonzeros.indptr}
        parts |= {"indices": nonzeros.indices, "data": nonzeros.data}
        if pending:
            waiting = map(np.concatenate, zip(*pending, strict=True))
            parts |= zip(("rows", "columns", "values"), waiting, strict=True)
        return {f"{name}_{key}": part for key, part in parts.items()}

    @staticmethod
    def schema(
        arrays: Mapping[str, np.ndarray], name: str, rows: str | int
    ) -> tuple[dict[str, Field], tuple[Check, ...]]:
        """Return the schema of the arrays of a table, in the form that it has, and rules.

        `rows` is its number of rows, or the name of that number; the number of columns is "d".
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
        """Return the table of `to_arrays`, which fits `schema`, with arrays of its own."""
        if name in arrays:
            array = np.array(arrays[name])
            return cls(array.shape, array)

        def of(*keys: str) -> Any:
            return tuple(np.array(arrays[f"{name}_{key}"]) for key in keys)

        shape = tuple(arrays[f"{name}_shape"].tolist())
        new = cls(shape, nonzeros=sparse.csc_array(of("data", "indices", "indptr"), shape=shape))
        if f"{name}_rows" in arrays:
            new._pending = [of("rows", "columns", "values")]
        return new

    @classmethod
    def beside(cls, parts: Sequence[Table], in_memory: bool = True) -> Table:
        """Return tables side by side as one; its numbers may be in temporary files."""
        shape = parts[0].shape[0], sum(table.shape[1] for table in parts)
        for table in parts:
            table._settle()
        n = sum(t._sorted.nnz if t.array is None else np.count_nonzero(t.array) for t in parts)
        if is_array(shape, n):
            if in_memory:
                return cls(shape, np.hstack([table.toarray() for table in parts]))
            by_feature = on_disk([table.toarray().T for table in parts])
            return cls(shape, by_feature.reshape(shape[::-1]).T)
        nonzeros = [sparse.csc_array(t._sorted if t.array is None else t.array) for t in parts]
        index = np.int32 if max(n, *shape) <= np.iinfo(np.int32).max else np.int64
        joined = np.concatenate if in_memory else on_disk
        data = joined([part.data for part in nonzeros])
        indices = joined([part.indices.astype(index, copy=False) for part in nonzeros])
        lengths = [np.diff(part.indptr) for part in nonzeros]
        indptr = np.concatenate([[0], *lengths]).cumsum().astype(index)
        return cls(shape, nonzeros=sparse.csc_array((data, indices, indptr), shape=shape))


def on_disk(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the numbers of arrays, one array after the other, mapped from a temporary file.

    The file has no name and goes with the array. What is written to the array stays in memory, and
    copies and pickles hold the numbers.
    """
    with tempfile.TemporaryFile() as file:
        for part in parts:
            np.ascontiguousarray(part).tofile(file)
        if not file.tell():
            return np.empty(0, parts[0].dtype)
        file.flush()
        # nothing is reserved: the file may be larger than the memory
        flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0)
        mapped = mmap.mmap(file.fileno(), 0, flags=flags)
        return np.frombuffer(mapped, parts[0].dtype)


def _entries(nonzeros: Any) -> Entries:
    """The non-zeros with their places, from a COO or CSC array."""
    if nonzeros.format == "coo":
        return nonzeros.row, nonzeros.col, nonzeros.data
    lengths = np.diff(nonzeros.indptr)
    columns = np.repeat(np.arange(nonzeros.shape[1], dtype=nonzeros.indices.dtype), lengths)
    return nonzeros.indices, columns, nonzeros.data
