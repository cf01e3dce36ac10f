"""Matrices that are stored in a file, of which any range can be read: dense, CSR or CSC.

Only a chunk is in memory. Of a matrix stored by columns (CSC) some rows are gathered in each of
several passes over it. Nothing that a file says of itself is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError
from narrows.io.chunk import Chunk, Options
from narrows.solve.sums import blocks

_CELLS = 4_000_000  # numbers in a chunk, at most, unless a sample has more
_GATHERED = 1 << 24  # entries of a matrix stored by columns that a pass gathers, at most
_LARGEST = np.iinfo(np.int32).max


def stored_matrix(X: Any, name: str) -> Dense | CSR:
    """Return what reads a matrix of a file: a dataset, or a group with the parts of CSR or CSC."""
    if not hasattr(X, "keys"):
        return Dense(X, name)
    stored = as_text(X.attrs.get("encoding-type", "no encoding-type"))
    kind = {"csr": CSR, "csc": CSC}.get(stored.removesuffix("_matrix"))
    if kind is None:
        raise DataError(name, f"expected X to be dense, csr_matrix or csc_matrix, got {stored}.")
    n, d = (int(size) for size in X.attrs["shape"])
    return kind(X, (n, d), name)


def chunks_of(
    X: Dense | CSR,
    y_of: Callable[[int, int], Any],
    options: Options,
    columns: Sequence[str] | None = None,
) -> Iterator[Chunk]:
    """Yield chunks of a matrix; `y_of` returns labels or targets of the next rows, or None."""
    start = options.after
    for rows in X.chunks(start, options.chunk_rows):
        stop = start + rows.shape[0]
        names = None if columns is None else tuple(columns)
        yield Chunk(rows, y_of(start, stop), range(start + 1, stop + 1), names)
        start = stop


class Dense:
    """A matrix whose numbers are all stored."""

    def __init__(self, X: Any, name: str):
        if X.ndim != 2:
            shape = "(n_samples, n_features)"
            raise DataError(name, f"expected X of shape {shape}, got {X.shape}.")
        self.X, self.shape = X, X.shape
        self.dtype = _float_type(X, name)

    def chunks(self, start: int, most: int) -> Iterator[np.ndarray]:
        """Yield samples from `start` on, at most so many at a time."""
        n, d = self.shape
        most = max(1, min(most, _CELLS // max(1, d)))
        # a compressed block of a file is decompressed as a whole
        tall = (self.X.chunks or (1,))[0]
        step = max(most, tall if tall * d <= 16 * _CELLS else 1)
        for first in range(start, n, step):
            block = self.X[first : min(n, first + step)]
            block = _as_type(block, self.dtype)
            for rows in blocks(len(block), most):
                yield block[rows]


class CSR:
    """A sparse matrix stored by rows (CSR)."""

    by_rows = True

    def __init__(self, X: Any, shape: tuple[int, int], name: str):
        self.data, self.indices, self.indptr = (X[part] for part in ("data", "indices", "indptr"))
        self.shape, self.name = shape, name
        self.dtype = _float_type(self.data, name)
        for part in (self.indices, self.indptr):
            if part.dtype.kind not in "iu":
                raise DataError(name, f"expected indices that are integers, got {part.dtype}.")
        n, d = shape if self.by_rows else shape[::-1]
        found = [part.shape for part in (self.data, self.indices, self.indptr)]
        if min(shape) < 0 or found != [(len(self.data),), (len(self.data),), (n + 1,)]:
            problem = f"expected a matrix of shape {shape}, got data, indices and indptr of shapes"
            raise DataError(name, f"{problem} {', '.join(map(str, found))}.")
        self.most = d  # entries of a row

    def chunks(self, start: int, most: int, n: int | None = None) -> Iterator[sparse.csr_array]:
        """Yield samples from `start` on, at most so many at a time, below number n if given."""
        n, d = self.shape[0] if n is None else n, self.shape[1]
        while start < n:
            indptr = self._ends(start, min(n, start + most))
            few = int(np.searchsorted(indptr, indptr[0] + _CELLS, side="right")) - 1
            indptr = indptr[: max(1, few) + 1]
            data, indices = self._entries(int(indptr[0]), int(indptr[-1]), d)
            rows = len(indptr) - 1
            indptr = (indptr - indptr[0]).astype(indices.dtype)
            yield sparse.csr_array((data, indices, indptr), shape=(rows, d))
            start += rows

    def _ends(self, first: int, last: int) -> np.ndarray:
        """Return indptr[first : last + 1]; DataError if a row has an impossible length."""
        indptr = self.indptr[first : last + 1].astype(np.int64)
        length = np.diff(indptr)
        odd = np.flatnonzero((length < 0) | (length > self.most))
        if len(odd):
            what = ("column", "row")[self.by_rows]
            problem = f"expected from 0 to {self.most} entries in a {what}, got {length[odd[0]]}"
            raise DataError(self.name, f"{problem} in {what} {first + odd[0] + 1}.")
        if len(indptr) and not 0 <= indptr[0] <= indptr[-1] <= len(self.data):
            problem = f"expected entries up to number {len(self.data)}, got"
            raise DataError(self.name, f"{problem} indptr from {indptr[0]} to {indptr[-1]}.")
        return indptr

    def _entries(self, first: int, last: int, below: int) -> tuple[np.ndarray, np.ndarray]:
        """Return some data and indices; DataError for one that is not from 0 to `below` - 1."""
        indices = self.indices[first:last]
        if len(indices) and (indices.min() < 0 or indices.max() >= below):
            wrong = indices[(indices < 0) | (indices >= below)][0]
            problem = f"expected indices from 0 to {below - 1} in X, got {wrong}."
            raise DataError(self.name, problem)
        indices = indices.astype(np.int32 if below <= _LARGEST else np.int64, copy=False)
        return _as_type(self.data[first:last], self.dtype), indices


class CSC(CSR):
    """A sparse matrix stored by columns (CSC)."""

    by_rows = False

    def chunks(self, start: int, most: int, n: int | None = None) -> Iterator[sparse.csr_array]:
        """Yield samples from `start` on, at most so many at a time, below number n if given."""
        d = self.shape[1]
        n, total = (self.shape[0] if n is None else n), self.shape[0]
        ends = self._ends(0, d)
        count = np.zeros(total + 1, dtype=np.int64)
        for entries in self._blocks(ends):
            count[1:] += np.bincount(self._entries(*entries, total)[1], minlength=total)
        before = np.cumsum(count)
        while start < n:
            few = int(np.searchsorted(before, before[start] + _GATHERED, side="right")) - 1
            stop = min(n, max(start + 1, few))
            size, rows = int(before[stop] - before[start]), stop - start
            band = self._gathered(start, stop, size, ends)
            for some in blocks(rows, max(1, min(most, _CELLS * rows // max(1, size)))):
                yield band[some]
            del band  # before the next one is gathered
            start = stop

    def _blocks(self, ends: np.ndarray) -> Iterator[tuple[int, int]]:
        """Yield ranges of entries."""
        for first in range(int(ends[0]), int(ends[-1]), _CELLS):
            yield first, min(int(ends[-1]), first + _CELLS)

    def _gathered(self, start: int, stop: int, n: int, ends: np.ndarray) -> sparse.csr_array:
        """Return rows, whose n entries are picked from all columns."""
        d, filled = self.shape[1], 0
        data, row = np.empty(n, self.dtype), np.empty(n, np.int32)
        indptr = np.zeros(d + 1, dtype=np.int64)
        for first, last in self._blocks(ends):
            values, rows = self._entries(first, last, self.shape[0])
            chosen = np.flatnonzero((rows >= start) & (rows < stop))
            to = slice(filled, filled + len(chosen))
            data[to], row[to] = values[chosen], rows[chosen] - start
            column = np.searchsorted(ends, first + chosen, side="right") - 1
            indptr[1:] += np.bincount(column, minlength=d)
            filled = to.stop
        parts = data, row, np.cumsum(indptr).astype(np.int32 if n <= _LARGEST else np.int64)
        return sparse.csc_array(parts, shape=(stop - start, d)).tocsr()


def _float_type(data: Any, name: str) -> Any:
    """Return the type of samples made of this array: float64, or float32 of up to 32 bits."""
    if data.dtype.kind not in "biuf":
        raise DataError(name, f"expected X to hold numbers, got {data.dtype}.")
    is_single = data.dtype.kind == "f" and data.dtype.itemsize <= 4
    return np.dtype(np.float32 if is_single else np.float64)


def _as_type(values: Any, dtype: Any) -> np.ndarray:
    """Return values as a type; infinite ones are refused later."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(values).astype(dtype, copy=False)


def as_text(value: Any) -> str:
    """Return an attribute as text."""
    return value.decode() if isinstance(value, bytes) else str(value)
