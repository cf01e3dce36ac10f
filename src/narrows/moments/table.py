"""A matrix of sums, one row per class: an array, or its non-zeros where these are smaller."""

from __future__ import annotations

from itertools import chain
from typing import Any, Self

import numpy as np
from scipy import sparse

from narrows.solve.codec import SchemaError, Sizes, parts_from, parts_of, taken
from narrows.solve.sums import BLOCK, add_sparse, blocks, check_finite, weighted

SMALL = 1 << 22  # numbers (32 MB): an array of at most this size stays one, for speed
_PENDING = 1 << 20  # entries that wait, at least, before they are sorted in
_ENTRY = 12  # bytes of a number with its place

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, columns, values


def is_array(shape: tuple[int, int], nonzeros: Any) -> bool:
    """Whether a table is stored as an array: a small one, or one no larger than its non-zeros."""
    numbers = shape[0] * shape[1]
    return numbers <= SMALL or int(nonzeros) * _ENTRY > numbers * 8


class Table:
    """A matrix of shape (n_rows, n_features) that is added to.

    It is an array where that has at most `SMALL` numbers, or is no larger than the non-zeros with
    their places. Otherwise it is the non-zeros, sorted by feature, and the entries
    that were added since they were last sorted.

    Parameters
    ----------
    shape : (int, int)
        (n_rows, n_features).
    array : ndarray of shape (n_rows, n_features), optional
        All numbers, to be stored as an array.
    nonzeros : csc_array of shape (n_rows, n_features), optional
        The non-zeros. Zeros if neither is given.
    """

    def __init__(self, shape: Any, array: np.ndarray | None = None, nonzeros: Any = None):
        self.shape: tuple[int, int] = shape
        if array is None and nonzeros is None:
            if shape[1] > SMALL:  # a few numbers per feature are needed in any case:
                np.empty(4 * shape[1])  # raise MemoryError now, before the process is killed
            small = is_array(shape, 0)
            array, nonzeros = (np.zeros(shape), None) if small else (None, sparse.csc_array(shape))
        # the array, the sorted non-zeros, and the entries that wait: replaced together, so that
        # threads that read, and sort in what waits, see one or the other
        self.held: tuple[Any, Any, list[Entries]] = array, nonzeros, []

    @property
    def array(self) -> np.ndarray | None:
        """All numbers, if they are stored as an array."""
        return self.held[0]

    # -- adding -----------------------------------------------------------------------------

    def add(self, row: np.ndarray, other: Table, sign: float = 1.0) -> None:
        """Add `sign` times another table in place, its row k to row row[k]; these are distinct."""
        array, nonzeros, pending = other.held
        all_rows = len(row) == self.shape[0] and bool((row == np.arange(len(row))).all())
        alike = all_rows and self.shape == other.shape
        if array is not None:
            if self.array is None and self._is_array(np.count_nonzero(array)):
                self.held = self.toarray(), None, []
            if self.array is not None:
                places: Any = slice(None) if all_rows else row  # adding to a slice makes no copy
                self.array[places, : other.shape[1]] += array if sign == 1 else sign * array
                return
            nonzeros = sparse.csc_array(array) if alike else sparse.coo_array(array)
        mine = self.held
        if mine[0] is None and alike and nonzeros.nnz * 4 > mine[1].nnz:
            self.held = None, mine[1] + sign * nonzeros, mine[2]
        else:
            pending = [_entries(nonzeros), *pending]
        for rows, columns, values in pending:
            self._add_entries((row[rows], columns, sign * values))
            self.sort_in()

    def add_samples(self, X: sparse.csr_array, Y: sparse.csr_array) -> None:
        """Add Y'X in place; `sort_in` is to be called before the next time."""
        if self.array is not None:
            add_sparse(X, Y, self.array)
            return
        if X.nnz > self.shape[1]:  # sum first: the same places occur again and again
            sums = Y.T.tocsr() @ X
            sums.indices = sums.indices.astype(X.indices.dtype, copy=False)
            X, Y = sums, sparse.eye_array(Y.shape[1], format="csr")
        times = np.diff(Y.indptr)
        if not (times == 1).all():
            X = X[np.repeat(np.arange(len(times)), times)]
        lengths = np.diff(X.indptr)
        rows = np.repeat(Y.indices.astype(np.int32, copy=False), lengths)
        used = slice(X.indptr[0], X.indptr[-1])  # X may be a part of a larger CSR array
        self._add_entries((rows, X.indices[used], X.data[used] * np.repeat(Y.data, lengths)))

    def _add_entries(self, entries: Entries) -> None:
        rows, columns, values = entries
        array, nonzeros, pending = self.held
        if array is not None:
            np.add.at(array, (rows, columns), values)
            return
        pending = [*pending, (rows.astype(np.int32, copy=False), columns, values)]
        self.held = None, nonzeros, pending

    def sort_in(self) -> None:
        """Sort in the entries that wait, if they are many."""
        _, nonzeros, pending = self.held
        if pending and sum(len(each[2]) for each in pending) > max(nonzeros.nnz, _PENDING):
            self.stored()

    def stored(self) -> Any:
        """Return the array, or the non-zeros as a csc_array; not to be written to.

        Sorts in what waits, and makes an array of the non-zeros where that is smaller.
        """
        array, nonzeros, pending = self.held
        if pending:
            parts = (_entries(nonzeros), *pending)
            rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
            nonzeros = sparse.coo_array((values, (rows, columns)), shape=self.shape).tocsc()
        if array is None and self._is_array(nonzeros.nnz):
            array, nonzeros = nonzeros.toarray(), None
        self.held = array, nonzeros, []
        return nonzeros if array is None else array

    def _is_array(self, nonzeros: Any) -> bool:
        return is_array(self.shape, nonzeros)

    # -- other tables made of it --------------------------------------------------------------

    def scaled(self, weight: float) -> Table:
        """Return a copy times a number."""
        array, nonzeros, pending = self.held
        if array is not None:
            return Table(self.shape, array * weight)
        new = Table(self.shape, nonzeros=nonzeros * weight)
        waiting = [(rows, columns, values * weight) for rows, columns, values in pending]
        new.held = None, new.held[1], waiting
        return new

    def spread(self, rows: np.ndarray, shape: tuple[int, int]) -> Table:
        """Return a table of this shape that has these rows at the places `rows`, else zeros."""
        new = Table(shape)
        new.add(rows, self)
        return new

    # -- checks, and changes ------------------------------------------------------------------

    def check_finite(self) -> None:
        """Raise RangeError where a number is infinite or NaN."""
        with np.errstate(over="ignore", invalid="ignore"):
            if not all(np.isfinite(values.sum()) for values in self._values()):
                check_finite(self.weighted(np.ones(self.shape[0])))

    def clear(self, row: np.ndarray) -> None:
        """Set rows to 0, in place."""
        if not len(row):
            return
        numbers = self.stored()
        if self.array is not None:
            numbers[row] = 0.0
        else:
            numbers.data[np.isin(numbers.indices, row)] = 0.0
            numbers.eliminate_zeros()

    def empty(self, features: np.ndarray) -> None:
        """Set features to 0, in place."""
        if not len(features):
            return
        numbers = self.stored()
        if self.array is not None:
            numbers[:, features] = 0.0
        else:
            lengths = np.diff(numbers.indptr)
            numbers.data[np.repeat(np.isin(np.arange(self.shape[1]), features), lengths)] = 0.0
            numbers.eliminate_zeros()

    def _values(self) -> list[np.ndarray]:
        array, nonzeros, pending = self.held
        if array is not None:
            return [array]
        return [nonzeros.data, *(values for _, _, values in pending)]

    # -- reading ----------------------------------------------------------------------------

    def __getitem__(self, columns: slice) -> np.ndarray:
        """Return some neighbouring features as an array, not to be written to."""
        part = self.stored()[:, columns]
        return part if self.array is not None else part.toarray()

    def toarray(self) -> np.ndarray:
        """Return all numbers; the array itself, where it is one."""
        return self[:]

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

    @property
    def nbytes(self) -> int:
        """The bytes of the numbers, and of their places."""
        array, nonzeros, pending = self.held
        held = [array] if array is not None else [nonzeros.data, nonzeros.indices, nonzeros.indptr]
        return sum(each.nbytes for each in (*held, *chain.from_iterable(pending)))

    def to_arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return it as arrays whose names begin with `name`; what waits is sorted in first."""
        numbers = self.stored()
        if self.array is not None:
            return {name: numbers}
        return {f"{name}_shape": np.array(self.shape), **parts_of(numbers, f"{name}_")}

    @classmethod
    def read_from(
        cls, arrays: dict[str, np.ndarray], name: str, shape: tuple[str, ...], sizes: Sizes
    ) -> Self:
        """Return the table of `to_arrays`, of a shape of two sizes."""
        if name in arrays:
            array = taken(arrays, name, ("f8",), shape, sizes)
            return cls(array.shape, array)
        rows, d = shape
        numbers: Any = tuple(taken(arrays, f"{name}_shape", ("i8",), ("2",)).tolist())
        own = {**sizes, rows: int(rows) if rows.isdigit() else sizes.get(rows, -1)}
        parts = parts_from(arrays, f"{name}_", d, rows, own)
        sizes.setdefault(d, own[d])
        if numbers != (own[rows], sizes[d]):
            raise SchemaError(f"{name}_shape: expected that of its numbers, got {numbers}.")
        return cls(numbers, nonzeros=sparse.csc_array(parts, shape=numbers))


def _entries(nonzeros: Any) -> Entries:
    """The non-zeros with their places, from a COO or CSC array."""
    if nonzeros.format == "coo":
        return nonzeros.row, nonzeros.col, nonzeros.data
    lengths = np.diff(nonzeros.indptr)
    columns = np.repeat(np.arange(nonzeros.shape[1], dtype=nonzeros.indices.dtype), lengths)
    return nonzeros.indices, columns, nonzeros.data
