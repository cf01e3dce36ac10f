"""Single cells in `.h5ad` files: samples from `X`, labels or targets from `obs`, names from `var`.

HDF5 hands out any range of a file, so that only a chunk is in memory, and the label of each cell.
Of a matrix stored by columns (CSC) some rows are gathered in each of several passes over it.
Nothing that a file says of itself is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from narrows.errors import DataError, warn
from narrows.io import kinds
from narrows.io.chunk import (
    Chunk,
    Options,
    as_targets,
    check_text,
    check_whole,
    feature_columns,
    label_column,
    target_columns,
)
from narrows.io.extras import needing
from narrows.io.formats.base import Format, damage_named
from narrows.solve.late import sparse
from narrows.solve.sums import blocks

_CELLS = 4_000_000  # numbers in a chunk, at most, unless a sample has more
_GATHERED = 1 << 24  # entries of a matrix stored by columns that a pass gathers, at most
_LARGEST = np.iinfo(np.int32).max
_DAMAGED = "expected an .h5ad file, got another file, or a damaged one"


def libraries() -> tuple[Any, Any]:
    """Return h5py, and the function of anndata that reads an element of a file.

    ImportError names the extra.
    """
    with needing("anndata", "anndata", ".h5ad files"):
        import h5py
        from anndata.io import read_elem
    return h5py, read_elem


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of cells, in the order of the file."""
    h5py, _ = libraries()
    with damage_named(name, _DAMAGED), h5py.File(stream, "r") as file:
        if "X" not in file:
            got = ", ".join(file) or "an empty file"
            raise DataError(name, f"expected a matrix X, got only {got}.")
        X = stored_matrix(file["X"], name)
        (n, d), names = X.shape, _names(file, name)
        if len(names) != d:
            raise DataError(name, f"expected {d} names in var, got {len(names)}.")
        labels = _labels(file, n, name, options)
        columns = feature_columns(names, None, options, name)
        at = None
        if columns != names:
            places = {column: k for k, column in enumerate(names)}
            at = np.array([places[column] for column in columns])
        start = options.after
        rows: Any
        for rows in X.chunks(start, options.chunk_rows):
            stop = start + rows.shape[0]
            lines = range(start + 1, stop + 1)
            y = None if labels is None else labels[start:stop]
            if at is not None:
                rows = rows[:, at]
                if sparse.issparse(rows):
                    rows.sort_indices()
            yield Chunk(rows, y, lines, tuple(columns))
            start = stop


# -- the matrix ----------------------------------------------------------------------------------


def stored_matrix(X: Any, name: str) -> _Dense | _Rows:
    """Return what reads a matrix of a file: a dataset, or a group with the parts of CSR or CSC."""
    if not hasattr(X, "keys"):
        return _Dense(X, name)
    stored = _text(X.attrs.get("encoding-type", "no encoding-type"))
    kind = {"csr": _Rows, "csc": _Columns}.get(stored.removesuffix("_matrix"))
    if kind is None:
        raise DataError(name, f"expected X to be dense, csr_matrix or csc_matrix, got {stored}.")
    n, d = (int(size) for size in X.attrs["shape"])
    return kind(X, (n, d), name)


class _Dense:
    """A matrix whose numbers are all stored."""

    def __init__(self, X: Any, name: str):
        if X.ndim != 2:
            shape = "(n_samples, n_features)"
            raise DataError(name, f"expected X of shape {shape}, got {X.shape}.")
        self.X, self.dtype, self.shape = X, _float_type(X, name), X.shape

    def chunks(self, start: int, most: int) -> Iterator[np.ndarray]:
        """Yield samples from `start` on, at most so many at a time."""
        n, d = self.shape
        most = max(1, min(most, _CELLS // max(1, d)))
        # a compressed block of a file is decompressed as a whole
        tall = (self.X.chunks or (1,))[0]
        step = max(most, tall if tall * d <= 16 * _CELLS else 1)
        for first in range(start, n, step):
            block = self.X[first : min(n, first + step)].astype(self.dtype, copy=False)
            for rows in blocks(len(block), most):
                yield block[rows]


class _Rows:
    """A sparse matrix stored by rows (CSR)."""

    by_rows = True

    def __init__(self, X: Any, shape: tuple[int, int], name: str):
        self.data, self.indices, self.indptr = (X[part] for part in ("data", "indices", "indptr"))
        self.shape, self.name, self.dtype = shape, name, _float_type(self.data, name)
        for part in (self.indices, self.indptr):
            if part.dtype.kind not in "iu":
                raise DataError(name, f"expected indices that are integers, got {part.dtype}.")
        n, d = shape if self.by_rows else shape[::-1]
        found = [part.shape for part in (self.data, self.indices, self.indptr)]
        if min(shape) < 0 or found != [(len(self.data),), (len(self.data),), (n + 1,)]:
            problem = f"expected a matrix of shape {shape}, got data, indices and indptr of shapes"
            raise DataError(name, f"{problem} {', '.join(map(str, found))}.")
        self.most = d  # entries of a row

    def chunks(self, start: int, most: int) -> Iterator[sparse.csr_array]:
        """Yield samples from `start` on, at most so many at a time."""
        n, d = self.shape
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
        return self.data[first:last].astype(self.dtype, copy=False), indices


class _Columns(_Rows):
    """A sparse matrix stored by columns (CSC)."""

    by_rows = False

    def chunks(self, start: int, most: int) -> Iterator[sparse.csr_array]:
        """Yield samples from `start` on, at most so many at a time."""
        n, d = self.shape
        ends = self._ends(0, d)
        count = np.zeros(n + 1, dtype=np.int64)
        for entries in self._blocks(ends):
            count[1:] += np.bincount(self._entries(*entries, n)[1], minlength=n)
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
    """Return the type of samples made of this array: float32 stays, others become float64."""
    if data.dtype.kind not in "biuf":
        raise DataError(name, f"expected X to hold numbers, got {data.dtype}.")
    return np.float32 if data.dtype.str[1:] == "f4" else np.float64


# -- names and labels ----------------------------------------------------------------------------


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _table(file: Any, part: str, name: str) -> tuple[Any, str]:
    """Return `obs` or `var`, and the name of its index; DataError where they are records."""
    table = file[part]
    if not hasattr(table, "keys"):
        problem = "expected a file of anndata 0.7 or later, got one of an older version."
        raise DataError(name, f"{problem} Read it with anndata, and write it again.")
    return table, _text(table.attrs["_index"])


def _names(file: Any, name: str) -> list[str]:
    """Return `var_names`."""
    _, read_elem = libraries()
    var, index = _table(file, "var", name)
    names = [str(each) for each in read_elem(var[index])]
    if len(set(names)) < len(names):
        values, count = np.unique(np.array(names), return_counts=True)
        problem = f"expected different var_names, got {str(values[count > 1][0])!r} twice."
        raise DataError(name, f"{problem} Use adata.var_names_make_unique().")
    return names


def _labels(file: Any, n: int, name: str, options: Options) -> np.ndarray | None:
    """Return the labels or targets of all cells; None without, or where some cells have none."""
    import pandas

    _, read_elem = libraries()
    obs, index = _table(file, "obs", name)
    columns = [column for column in obs if column not in (index, "__categories")]
    label = label_column(columns, options, name)
    targets = target_columns(columns, options, name)
    if targets:
        of_cells = [np.asarray(read_elem(obs[target])) for target in targets]
        for target, each in zip(targets, of_cells, strict=True):
            if each.dtype.kind not in "biuf" or each.shape != (n,):
                problem = f"column {target!r} of obs: expected {n} numbers"
                raise DataError(name, f"{problem}, got {each.dtype} of shape {each.shape}.")
        return as_targets(np.column_stack(of_cells), targets, name, range(1, n + 1))
    if label is None:
        return None
    # anndata 0.7 wrote numbers that refer to categories elsewhere in obs
    refers = "categories" in obs[label].attrs
    column = read_elem(obs)[label] if refers else read_elem(obs[label])
    code, found = map(np.asarray, pandas.factorize(column))  # -1 where a label is missing
    if len(code) != n:
        raise DataError(name, f"column {label!r} of obs: expected {n} labels, got {len(code)}.")
    missing = np.flatnonzero(code < 0)
    if len(missing):
        row, expected = int(missing[0]) + 1, f"column {label!r} of obs: expected a label"
        if options.labels_required:
            raise DataError(name, f"{expected}, got none. Leave out such cells.", row)
        warn(
            f"{name}:{row}: {expected}, got none, as in {len(missing):,} of {n:,} cells. The "
            "labels of all cells are left out."
        )
        return None
    # each label that `factorize` numbers occurs in some cell, a category only if it is used
    first = (np.unique(code, return_index=True)[1] + 1).tolist()
    if found.dtype.kind == "O" and all(isinstance(each, str) for each in found):
        for text, line in zip(found, first, strict=True):
            check_text(text, name, line)
        found = found.astype(str)
    if found.dtype.kind not in "biufU":
        problem = f"column {label!r} of obs: expected text or integers, got {found.dtype}."
        raise DataError(name, problem)
    if found.dtype.kind == "f":
        check_whole(found, name, first)
    return found[code]


FORMAT = Format(kinds.H5AD, read, options=("label", "target"))
