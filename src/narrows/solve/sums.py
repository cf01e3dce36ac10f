"""Sums of rows by class, from sparse and from dense rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from narrows.solve.threads import CORES, each
from narrows.solve.undo import Undo

BLOCK = 1 << 18  # numbers in a block of rows or columns: about what a core's cache holds
_MANY = 1 << 23  # numbers from which on a compiled loop is worth loading
_ROWS_A_CLASS = 16  # at least, in what one core is given
_NEAR = 1 << 10  # rows whose mean is near enough to that of all
_ENTRIES = 1 << 21  # of sparse rows from one return to Python, where signals are seen, to the next

# where sums of squares go, and to which of its rows each class: None for all to the first
Squares = tuple[np.ndarray | None, np.ndarray | None]


def add_sparse(
    X: sparse.csr_array,
    Y: sparse.csr_array,
    row: np.ndarray,
    sums: np.ndarray,
    squares: Squares,
    presence: bool,
    undo: Undo | None = None,
) -> None:
    """Add the rows of X to the sums of their classes, in place; O(nnz).

    Parameters
    ----------
    X : csr_array of shape (n, d)
        The rows.
    Y : csr_array of shape (n, k)
        The weight of each row in each class.
    row : ndarray of shape (k,)
        The row of `sums` that each class has.
    sums : ndarray of shape (c, d)
        sums[row[j]] += sum_i Y_ij X_i.
    squares : (ndarray of shape (1 or c, d) or None, ndarray of shape (k,) or None)
        Likewise of X_i^2, if not None.
    presence : bool
        Take 1 for what is not 0, instead of its value.
    undo : Undo, optional
        Note there what is changed.
    """
    from narrows.solve.kernels import add_class_rows

    second, second_row = squares
    if presence or second is not None:
        X = canonical(X)
    where = np.zeros_like(row) if second_row is None else second_row
    second = np.zeros((0, 0)) if second is None else second
    rows, square_rows, kept = row[Y.indices], where[Y.indices], np.zeros(2, np.int64)
    kept_sums, kept_squares = (
        _kept(undo, kept[k : k + 1], table, places, X, Y)
        for k, (table, places) in enumerate(((sums, rows), (second, square_rows)))
    )
    for part in blocks(X.shape[0], max(1, _ENTRIES * X.shape[0] // max(1, X.nnz))):
        ends = slice(part.start, part.stop + 1)
        add_class_rows(
            X.indptr[ends], X.indices, X.data, Y.indptr[ends], rows, Y.data, presence,
            sums, second, square_rows, kept_sums, kept_squares, kept,
        )  # fmt: skip


def _kept(
    undo: Undo | None,
    kept: np.ndarray,
    table: np.ndarray,
    rows: np.ndarray,
    X: sparse.csr_array,
    Y: sparse.csr_array,
) -> np.ndarray:
    """Return room for what the entries of X are about to change, and let `undo` put it back.

    Where whole rows of the table are smaller than that, they are copied, and no room is needed.
    """
    if undo is None or not len(table):
        return np.empty(0)
    labels = np.diff(Y.indptr)
    size = int(labels @ np.diff(X.indptr)) if len(labels) else 0
    changed = np.unique(rows)
    if size >= len(changed) * table.shape[1]:
        undo.array(table, changed)
        return np.empty(0)
    room = np.empty(size)

    def restore() -> None:  # of several changes of one number the first is the last put back
        many = X[np.repeat(np.arange(len(labels)), labels)]
        which = np.repeat(rows, np.diff(many.indptr))[: kept[0]][::-1]
        table[which, many.indices[: kept[0]][::-1]] = room[: kept[0]][::-1]

    undo.step(restore)
    return room


def add_dense(
    X: np.ndarray,
    Y: sparse.csr_array,
    row: np.ndarray,
    sums: np.ndarray,
    squares: Squares,
    presence: bool,
    origin: np.ndarray | None,
    undo: Undo | None = None,
) -> None:
    """Add the rows of X, less `origin`, as `add_sparse` does; O(n d).

    Many rows are gone through once, on all cores, few a block at a time.
    """
    second, second_row = squares
    add = _add_many if are_many(X) else _add_blocks
    first_sums, second_sums = add(X, Y, second is not None, second_row is None, presence, origin)
    for table, rows, more in ((second, second_row, second_sums), (sums, row, first_sums)):
        if table is not None:
            rows = np.zeros(1, np.intp) if rows is None else rows
            if undo is not None:
                undo.array(table, rows)
            table[rows] += more


def are_many(X: Any) -> bool:
    """Whether these are dense rows of plain numbers, so many that a look more at them counts."""
    plain = isinstance(X, np.ndarray) and X.dtype.char in "fd" and X.flags.c_contiguous
    return bool(plain and X.size >= _MANY)


def _add_blocks(
    X: np.ndarray,
    Y: sparse.csr_array,
    squared: bool,
    in_all: bool,
    presence: bool,
    origin: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the rows by class, and of their squares, by class or in all."""
    k, d = Y.shape[1], X.shape[1]
    sums = np.zeros((k, d))
    squares = np.zeros((1 if in_all else k, d))
    # blocks of rows at least as many as there are classes: Y'B costs k d each time
    for rows in blocks(len(X), max(1, BLOCK // max(1, d), k)):
        B = (X[rows] != 0).astype(np.float64) if presence else X[rows]
        B = B.astype(np.float64, copy=False) if origin is None else B - origin
        Y_t = Y[rows].T
        sums += Y_t @ B
        if squared:
            B2 = B * B
            squares += (_in_all(Y_t) if in_all else Y_t) @ B2
    return sums, squares


def _add_many(
    X: np.ndarray,
    Y: sparse.csr_array,
    squared: bool,
    in_all: bool,
    presence: bool,
    origin: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """As `_add_blocks`, compiled."""
    from narrows.solve.kernels import add_dense_rows

    (n, d), k = X.shape, Y.shape[1]
    origin = np.zeros(d) if origin is None else origin

    def add(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        sums, squares = np.zeros((k, d)), np.zeros((squared * (1 if in_all else k), d))
        ends = Y.indptr[rows.start : rows.stop + 1]
        add_dense_rows(X[rows], ends, Y.indices, Y.data, origin, presence, sums, squares)
        return sums, squares

    shares = max(1, min(CORES, n // (_ROWS_A_CLASS * k)))  # each has sums of its own
    every = each(add, blocks(n, -(-n // shares)))
    for mine, others in zip(every[0], zip(*every[1:], strict=True), strict=False):
        for other in others:
            mine += other
    return every[0]


def near(X: np.ndarray) -> np.ndarray:
    """A point in the middle of dense rows: the mean of a thousand of them, of few all."""
    return X[:: max(1, len(X) // _NEAR)].mean(axis=0, dtype=np.float64)


def all_finite(X: Any) -> bool:
    """Whether rows are known to hold finite numbers alone, by their sums, made on all cores.

    False where they may: it is then for scikit-learn to look, and to name what it finds.
    """
    values = getattr(X, "data", None) if sparse.issparse(X) else X
    if not isinstance(values, np.ndarray) or not values.ndim or values.dtype.char not in "fd":
        return False
    plain = np.asarray(values)  # what is masked counts

    def finite(part: slice) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(plain[part].sum()))

    shares = CORES if plain.size >= _MANY else 1
    return all(each(finite, blocks(len(plain), max(1, -(-len(plain) // shares)))))


def weighted(weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """weight @ rows, of the same bits for the same column wherever it stands: BLAS gives others.

    Columns alike to the bit then have scores alike to the bit, so that ties are ties.
    """
    return (weight[:, None] * rows).sum(axis=0)


def _in_all(Y_t: sparse.csc_array) -> sparse.csr_array:
    """The weight of each row in all classes together, of shape (1, n)."""
    return sparse.csr_array(Y_t.sum(axis=0)[None, :])


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def canonical(X: sparse.csr_array) -> sparse.csr_array:
    """X without duplicates, of which the sum, and not each, is squared or counted."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def with_one_index_type(X: Any) -> Any:
    """Rows, of which the indices and the ends are of one type if they are sparse, as SciPy asks."""
    if not sparse.issparse(X) or X.indices.dtype == X.indptr.dtype:
        return X
    return type(X)((X.data, X.indices, X.indptr), shape=X.shape)


def widened(X: Any, n_features: int) -> Any:
    """X with columns of zeros appended, up to n_features."""
    more = n_features - X.shape[1]
    if not more:
        return X
    if sparse.issparse(X):
        return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    return np.pad(X, ((0, 0), (0, more)))


def stacked(parts: list[Any]) -> Any:
    """Rows below one another, of as many columns as the widest have; CSR if any are sparse."""
    width = max(X.shape[1] for X in parts)
    wide = [widened(X, width) for X in parts]
    return sparse.vstack(wide, format="csr") if any(map(sparse.issparse, wide)) else np.vstack(wide)
