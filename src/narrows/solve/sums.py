"""Sums of rows by class, from sparse and from dense rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from narrows.solve.errors import RangeError
from narrows.solve.threads import CORES, each
from narrows.solve.undo import Undo

BLOCK = 1 << 18  # numbers in a block of rows or columns: about what a core's cache holds
_MANY = 1 << 23  # numbers from which on a compiled loop is worth loading
_ROWS_A_CLASS = 16  # at least, in what one core is given
_NEAR = 1 << 10  # rows whose mean is near enough to that of all
_ENTRIES = 1 << 21  # of sparse rows from one return to Python, where signals are seen, to the next
_ONE_CORE = 10_000  # numbers: BLAS starts threads for more, which costs more than the product
TINY = float(np.finfo(np.float64).tiny)  # the least number of all its digits
HUGE = float(np.finfo(np.float64).max)
_ABSORBED = 1e290  # to add a number of less makes none infinite
_SHORT, _LONG = 1e-60, 1e60  # of a sample: the fourth powers of its numbers have to be numbers

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
    if undo is not None:
        labels = np.diff(Y.indptr)
        size = int(labels @ np.diff(X.indptr)) if len(labels) else 0
        _note(undo, sums, row, X, Y, size)
        if len(second):
            _note(undo, second, where, X, Y, size)
    rows, square_rows = row[Y.indices], where[Y.indices]
    for part in _parts(X):
        ends = slice(part.start, part.stop + 1)
        add_class_rows(
            X.indptr[ends], X.indices, X.data, Y.indptr[ends], rows, Y.data, presence,
            sums, second, square_rows,
        )  # fmt: skip


def _parts(X: sparse.csr_array) -> Iterator[slice]:
    """Rows to go in at once."""
    return blocks(X.shape[0], max(1, _ENTRIES * X.shape[0] // max(1, X.nnz)))


def _note(
    undo: Undo,
    table: np.ndarray,
    places: np.ndarray,
    X: sparse.csr_array,
    Y: sparse.csr_array,
    size: int,
) -> None:
    """Let `undo` put back what so many entries of X, each with its labels, are about to change.

    Where whole rows of the table are smaller than that, they are copied.
    """
    from narrows.solve.kernels import numbers_at

    changed = np.unique(places)
    if size >= len(changed) * table.shape[1]:
        undo.array(table, changed if len(changed) < len(table) else ...)
        return
    rows, kept, done = places[Y.indices], np.empty(size), 0
    for part in _parts(X):
        ends = slice(part.start, part.stop + 1)
        done = numbers_at(X.indptr[ends], X.indices, Y.indptr[ends], rows, table, kept, done)

    def restore() -> None:
        many = X[np.repeat(np.arange(X.shape[0]), np.diff(Y.indptr))]
        table[np.repeat(rows, np.diff(many.indptr)), many.indices] = kept

    undo.step(restore)


def dense_sums(
    X: np.ndarray,
    Y: sparse.csr_array,
    squared: bool = False,
    in_all: bool = True,
    presence: bool = False,
    origin: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of the samples of each class, less `origin`, and of their squares; O(n d).

    Many samples are read once, on all cores, few a block at a time.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    Y, presence
        As for `add_sparse`.
    squared, in_all : bool
        Whether squares are summed, and over all classes together.

    Returns
    -------
    sums, squares : ndarray of shape (n_classes, n_features)
        `squares` has one row if `in_all`.
    """
    add = _add_many if are_many(X) else _add_blocks
    with np.errstate(over="ignore", invalid="ignore"):  # checked next
        sums, squares = add(X, Y, squared, in_all, presence, origin)
    for found, of in ((sums, ""), (squares, " of squares")):
        if not is_absorbed(found):
            check_room(found, np.zeros(1), of)
    if squared and not presence and squares.max(initial=0.0) < TINY:
        _check_not_lost(X, Y, origin)
    return sums, squares


def check_room(added: np.ndarray, now: np.ndarray, of: str = "", first: int = 0) -> None:
    """Raise where a sum would be no number any more; the first column is feature `first`."""
    with np.errstate(over="ignore", invalid="ignore"):
        lost = ~np.isfinite(now + added).all(axis=0)
    if lost.any():
        raise too_large(f"sums{of} below {HUGE:.1e}", first + int(lost.argmax()))


def is_absorbed(*added: np.ndarray) -> bool:
    """Whether these are numbers so small that no number is made infinite by adding one of them."""
    return bool(sum(map(sum_of_squares, added)) < _ABSORBED)


def too_large(expected: str, feature: int) -> RangeError:
    """Return the error of a sum that is no number."""
    return RangeError(expected, "more", feature, "Scale the data down.")


def _check_not_lost(X: np.ndarray, Y: sparse.csr_array, origin: np.ndarray | None) -> None:
    """Raise where rows differ from the origin, but the squares of that are 0."""
    heavy = Y.sum(axis=1) > 0
    size = np.zeros(X.shape[1])
    for rows in blocks(len(X), max(1, BLOCK // max(1, X.shape[1]))):
        B = X[rows][heavy[rows]] - (0.0 if origin is None else origin)
        np.maximum(size, np.abs(B).max(axis=0, initial=0.0), out=size)
    check_not_tiny(size)


def check_not_tiny(size: np.ndarray) -> None:
    """Raise where numbers of this size, one a feature, are not all 0: their squares are."""
    if size.any():
        k = int(size.argmax())
        raise RangeError(
            f"values that differ by more than {TINY**0.5:.1e}",
            f"at most {size[k]:.1e}",
            k,
            "Scale the data up.",
        )


def check_sparse(X: sparse.csr_array, weight: float, squared: bool) -> None:
    """Raise where sums of so much weight of sparse rows, or of their squares, are no numbers."""
    if 1e-280 < sum_of_squares(X.data) < 1e160:
        return  # whatever the weights are
    size = np.abs(X.data.astype(np.float64))
    if not size.any():
        return
    largest = float(size.max())  # NaN where there is one
    k = int(X.indices[X.indptr[0] : X.indptr[-1]][size[X.indptr[0] : X.indptr[-1]].argmax()])
    with np.errstate(over="ignore"):
        if not (largest if not squared else largest * max(largest, 1.0)) * weight < _ABSORBED:
            raise too_large(f"sums{' of squares' if squared else ''} below {_ABSORBED:g}", k)
    if squared and largest**2 < TINY:
        check_not_tiny(np.bincount([k], [largest]))


def check_lengths(X: Any) -> None:
    """Raise at the first sample whose length is not 0, nor such that its fourth power is a number.

    The lengths are looked at where all numbers together do not show that they are good.
    """
    if sparse.issparse(X):
        parts = blocks(len(X.data), BLOCK)
        if all(_SHORT < np.abs(X.data[part]).min() for part in parts) and (
            sum_of_squares(X.data) < _LONG**2
        ):
            return
    for rows in blocks(X.shape[0], max(1, BLOCK // max(1, X.shape[1]))):
        part = X[rows]
        with np.errstate(over="ignore", under="ignore"):
            if sparse.issparse(X):
                part = part.astype(np.float64)
                square = part.power(2).sum(axis=1)
            else:
                part = part.astype(np.float64, copy=False)
                square = np.einsum("ij,ij->i", part, part)
        for i in np.flatnonzero(~((_SHORT**2 < square) & (square < _LONG**2))):
            x = np.abs(part[[i]].toarray()[0] if sparse.issparse(X) else part[i])
            k = int(x.argmax())
            if x[k]:
                raise RangeError(
                    f"samples of length 0 or between {_SHORT:g} and {_LONG:g}",
                    f"{x[k]:.1e} in sample {rows.start + i}",
                    k,
                )


def sum_of_squares(values: np.ndarray) -> float:
    """|values|^2; infinite or NaN where that is no number."""
    if values.flags.c_contiguous or values.flags.f_contiguous:
        flat = values.ravel(order="K")
        if len(flat) <= _ONE_CORE:
            return float(np.vdot(flat, flat))
        parts = (flat[part] for part in blocks(len(flat), _ONE_CORE))
        return sum(float(np.vdot(part, part)) for part in parts)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.einsum("ij,ij->", values, values))


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
    with np.errstate(over="ignore"):  # a sum that is no number is seen when the rows are added
        some = X[:: max(1, len(X) // _NEAR)]
        mean = some.mean(axis=0, dtype=np.float64)
        return mean if np.isfinite(mean).all() else (some / np.float64(len(some))).sum(axis=0)


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


def with_values(X: sparse.csr_array, values: np.ndarray) -> sparse.csr_array:
    """X with other numbers in the same places."""
    return sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)
