"""Sums of dense samples by class, checks of the range of sums, and helpers on rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from narrows.errors import RangeError, warn
from narrows.solve.devices import OnDevice, in_memory
from narrows.solve.in_place import some_rows
from narrows.solve.products import compiled_pays, cores, map_on_cores

BLOCK = 1 << 18  # numbers in a block of rows or columns: about as many as a core's cache holds
_MANY = 1 << 23  # the fewest numbers worth loading a compiled loop
_ROWS_A_CLASS = 16  # the fewest rows per class in the share of a core
_NEAR = 1 << 10  # rows whose mean is near enough to that of all
_ONE_CORE = 10_000  # numbers: BLAS starts threads for more, which costs more than the product
TINY = float(np.finfo(np.float64).tiny)  # the smallest number with all digits
HUGE = float(np.finfo(np.float64).max)
_MOST = 1e305  # of a sum of squares: a thousand such batches of samples add up to a number
_LOOKED_AT = 20  # sparse samples, in which a column far from 0 is looked for
_FAR = 1e5  # standard deviations: with a mean of more, a variance has fewer than 5 digits
_SAME = 1e-14  # of the mean: a standard deviation of less is rounding
_SHORT, _LONG = 1e-60, 1e60  # bounds of a sample's length, whose fourth power has to be finite


def dense_sums(
    X: np.ndarray,
    Y: sparse.csr_array,
    square_row: np.ndarray | None = None,
    origin: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of the samples of each class, less `origin`, and of their squares; O(n d).

    Many samples are read once, on all cores, few a block at a time.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The samples.
    Y
        As for `add_sparse`.
    square_row : ndarray of shape (n_classes,), optional
        The row of `squares` for each class, ascending from 0; no squares are summed without it.

    Returns
    -------
    sums, squares : ndarray of shape (n_classes, n_features)
        `squares` has as many rows as `square_row` says, or none.
    """
    add = _add_many if are_many(X) else _add_blocks
    row = np.empty(0, np.intp) if square_row is None else square_row
    m = int(row.max(initial=-1)) + 1
    return X.sums(Y, row, m, origin) if isinstance(X, OnDevice) else add(X, Y, row, m, origin)


def check_summable(X: Any, weight: float = 1.0) -> None:
    """Raise RangeError where weighted sums of squares of samples, or of numbers, may overflow.

    `weight` is that of all samples, at most.
    """
    if isinstance(X, OnDevice):
        with np.errstate(over="ignore", invalid="ignore"):
            if X.largest() ** 2 * X.shape[0] * X.shape[1] * max(1.0, weight) < _MOST:
                return
        X = X.numpy()  # to name the feature
    values = X.data if sparse.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if sum_of_squares(values) * max(1.0, weight) < _MOST:
            return
        size = np.abs(values.astype(np.float64))  # squares of single precision may be infinite
        if not (size.max() ** 2 * size.size * max(1.0, weight) < _MOST):
            k = int(size.argmax())  # of NaN, if there is one
            column = X.indices[k] if sparse.issparse(X) else k % X.shape[-1]
            raise too_large(f"sums of squares below {_MOST:g}", int(column), f"{size.flat[k]:.1e}")


def too_large(expected: str, feature: int | None, got: str = "infinity") -> RangeError:
    """Return the error of a number that overflows."""
    return RangeError(expected, got, feature, "Scale the data down.")


def check_finite(sums: np.ndarray) -> None:
    """Raise RangeError where sums of shape (n_rows, n_features) or (n_features,) are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(sums.sum()):
            return
    lost = ~np.isfinite(sums)
    if lost.any():
        raise too_large("finite sums", int(lost.argmax()) % sums.shape[-1])


def warn_if_far(X: sparse.csr_array) -> None:
    """Warn where a column of the first sparse samples has a mean of far more than its spread.

    Sums of sparse samples are not centred, so little is left of the variance of such a column. It
    has no zeros, and is looked for in a few of the samples.
    """
    rows = np.linspace(0, X.shape[0] - 1, min(X.shape[0], _LOOKED_AT)).astype(np.int64)
    columns: Any = None
    for k in rows.tolist():
        found = X.indices[X.indptr[k] : X.indptr[k + 1]]
        columns = found if columns is None else np.intersect1d(columns, found)
        if not len(columns):
            return
    if columns is not None:
        some = X[rows][:, columns].toarray().astype(np.float64)
        spread, mean = some.std(axis=0), np.abs(some.mean(axis=0))
        far = (spread > _SAME * mean) & (mean > _FAR * spread)
        if far.any():
            k = int(far.argmax())
            warn(
                f"expected columns of sparse samples with a mean of at most {_FAR:g} "
                f"standard deviations, got {mean[k] / spread[k]:.0e} in column {columns[k]}. They "
                "are not centred, so its variance can be lost: subtract a number near the mean "
                "from the column, or use dense samples."
            )


def check_lengths(X: Any) -> None:
    """Raise RangeError at the first sample of positive length whose fourth power is not in range.

    Single lengths are computed only where a bound from all numbers does not suffice.
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
            square = row_squares(part)
        for i in np.flatnonzero(~((_SHORT**2 < square) & (square < _LONG**2))):
            x = np.abs(part[[i]].toarray()[0] if sparse.issparse(X) else part[i])
            k = int(x.argmax())
            if x[k]:
                raise RangeError(
                    f"samples of length 0 or between {_SHORT:g} and {_LONG:g}",
                    f"{x[k]:.1e} in sample {rows.start + i}",
                    k,
                )


def row_squares(X: Any) -> np.ndarray:
    """Return |x|^2 for each row x of X, in double precision."""
    values = (X.data if sparse.issparse(X) else X).astype(np.float64, copy=False)
    if sparse.issparse(X):
        return np.asarray(with_values(X, values**2).sum(axis=1))
    return np.asarray(np.einsum("ij,ij->i", values, values))


def check_largest(X: Any, least: float, most: float) -> None:
    """Raise RangeError where the largest number is outside a range, but for 0."""
    values = X.data if sparse.issparse(X) else X
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if largest and not least < largest < most:
        sizes = abs(canonical(X) if sparse.issparse(X) else X).max(axis=0)  # abs changes X
        raise RangeError(
            f"numbers of which the largest is between {least:.1e} and {most:.1e}",
            f"{largest:.1e}",
            int((sizes.toarray() if sparse.issparse(X) else sizes).argmax()),
        )


def sum_of_squares(values: np.ndarray) -> float:
    """Return |values|^2, which may be infinite or NaN."""
    if values.flags.c_contiguous or values.flags.f_contiguous:
        flat = values.ravel(order="K")
        if len(flat) <= _ONE_CORE:
            return float(np.vdot(flat, flat))
        parts = (flat[part] for part in blocks(len(flat), _ONE_CORE))
        return sum(float(np.vdot(part, part)) for part in parts)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.einsum("ij,ij->", values, values))


def are_many(X: Any) -> bool:
    """Return whether X is a plain dense array so large that reading it once more takes time."""
    plain = isinstance(X, np.ndarray) and X.dtype.char in "fd" and X.flags.c_contiguous
    return bool(plain and X.size >= _MANY)


def _add_blocks(
    X: np.ndarray, Y: sparse.csr_array, square_row: np.ndarray, m: int,
    origin: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the sums by class, and those of squares in m rows."""
    k, d = Y.shape[1], X.shape[1]
    sums, squares = np.zeros((k, d)), np.zeros((m, d))
    Z = with_labels(Y, square_row[Y.indices], m) if 0 < m < k else Y
    # at least as many rows as classes in a block: Y'B costs k d for each block
    size = max(1, BLOCK // max(1, d), k)
    room = np.empty((min(len(X), size), d))  # one array for all blocks, which stays in the cache
    for rows in blocks(len(X), size):
        if X.dtype == np.float64 and origin is None:
            B = X[rows]
        else:
            B = room[: rows.stop - rows.start]
            B[:] = X[rows]
        if origin is not None:
            B -= origin
        sums += some_rows(Y, rows).T @ B
        if m:
            squares += some_rows(Z, rows).T @ (B * B)
    return sums, squares


def _add_many(
    X: np.ndarray, Y: sparse.csr_array, square_row: np.ndarray, m: int,
    origin: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return what `_add_blocks` does, by a compiled loop."""
    from narrows.solve.kernels import add_dense_rows

    (n, d), k = X.shape, Y.shape[1]
    origin = np.zeros(d) if origin is None else origin

    def add(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        sums, squares = np.zeros((k, d)), np.zeros((m, d))
        ends = Y.indptr[rows.start : rows.stop + 1]
        add_dense_rows(X[rows], ends, Y.indices, Y.data, origin, sums, squares, square_row)
        return sums, squares

    shares = max(1, min(cores(), n // (_ROWS_A_CLASS * k)))  # each has sums of its own
    every = map_on_cores(add, blocks(n, -(-n // shares)))
    for mine, others in zip(every[0], zip(*every[1:], strict=True), strict=False):
        for other in others:
            mine += other
    return every[0]


def rough_mean(X: np.ndarray) -> np.ndarray:
    """Return a point amid dense rows: the mean of about a thousand of them, or of all if few."""
    with np.errstate(over="ignore"):  # an overflow is found when the rows are added
        some = in_memory(X[:: max(1, len(X) // _NEAR)])
        mean = some.mean(axis=0, dtype=np.float64)
        return mean if np.isfinite(mean).all() else (some / np.float64(len(some))).sum(axis=0)


def all_finite(X: Any) -> bool:
    """Return whether sums, computed on all cores, prove that all numbers are finite.

    If False, scikit-learn has to check single numbers, and to name what it finds.
    """
    values = getattr(X, "data", None) if sparse.issparse(X) else X
    if not isinstance(values, np.ndarray) or not values.ndim or values.dtype.char not in "fd":
        return False
    plain = np.asarray(values)  # masked numbers count

    def finite(part: slice) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(plain[part].sum()))

    shares = cores() if plain.size >= _MANY else 1
    return all(map_on_cores(finite, blocks(len(plain), max(1, -(-len(plain) // shares)))))


def weighted(weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return weight @ rows, with the same bits for equal columns, which BLAS does not guarantee.

    Equal columns then have equal scores, so that ties are ties.
    """
    return (weight[:, None] * rows).sum(axis=0)


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def canonical(X: sparse.csr_array) -> sparse.csr_array:
    """Return X with duplicate entries added up, since their sum is squared or counted."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def check_places(X: Any, what: str) -> None:
    """Raise ValueError where sparse samples have indices that are no places in them.

    SciPy and compiled loops read and write there, without a check.
    """
    if not hasattr(X, "indptr"):
        return
    ends, width = X.indptr, X.shape[0 if X.format == "csc" else -1]
    width //= X.blocksize[1] if X.format == "bsr" else 1
    places = X.indices[: ends[-1]]
    fits = ends[0] == 0 and len(places) == ends[-1] <= len(X.data)
    fits = fits and bool((ends[1:] >= ends[:-1]).all())
    if not fits or (len(places) and (places.min() < 0 or places.max() >= width)):
        raise ValueError(
            f"expected sparse {what} whose indices are places in shape {X.shape}, got others. "
            f"Check how {what} was made by {what}.check_format(full_check=True)."
        )


def with_one_index_type(X: Any) -> Any:
    """Return X with `indices` and `indptr` of one type if it is sparse, as SciPy requires."""
    if not sparse.issparse(X) or X.indices.dtype == X.indptr.dtype:
        return X
    return type(X)((X.data, X.indices, X.indptr), shape=X.shape)


def widened(X: Any, n_features: int) -> Any:
    """Return X with columns of zeros appended, up to n_features."""
    more = n_features - X.shape[1]
    if not more:
        return X
    if sparse.issparse(X):
        return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    return np.pad(X, ((0, 0), (0, more)))


def stacked(parts: list[Any]) -> Any:
    """Return the rows of all parts, as wide as the widest; CSR if any part is sparse."""
    width = max(X.shape[1] for X in parts)
    wide = [widened(X, width) for X in parts]
    return sparse.vstack(wide, format="csr") if any(map(sparse.issparse, wide)) else np.vstack(wide)


def with_values(X: sparse.csr_array, values: np.ndarray) -> sparse.csr_array:
    """Return X with other numbers in the same places."""
    return sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)


def divided(X: Any, unit: np.ndarray | None) -> Any:
    """Return samples with feature i divided by unit[i], which may be infinite; sparse ones stay."""
    if unit is None:
        return X
    return with_values(X, X.data / unit[X.indices]) if sparse.issparse(X) else X / unit


def with_labels(Y: sparse.csr_array, indices: np.ndarray, n_classes: int) -> sparse.csr_array:
    """Return Y with its numbers in other columns of as many classes; nothing is checked."""
    new = sparse.csr_array((Y.shape[0], n_classes))
    new.data, new.indptr = Y.data, Y.indptr
    new.indices = indices.astype(Y.indices.dtype, copy=False)
    return new


_ENTRIES = 1 << 21  # non-zeros from one return to Python, where signals are seen, to the next


def add_sparse(
    X: sparse.csr_array,
    Y: sparse.csr_array,
    sums: np.ndarray,
    squares: np.ndarray | None = None,
    square_row: np.ndarray | None = None,
) -> None:
    """Add samples to the sums of their classes, in place; O(nnz).

    Parameters
    ----------
    X : csr_array of shape (n_samples, n_features)
        The samples.
    Y : csr_array of shape (n_samples, n_rows)
        The weight of each sample in each row of `sums`.
    sums : ndarray of shape (n_rows, n_features)
        What samples are added to.
    squares : ndarray of shape (n_square_rows, n_features), optional
        What their squares are added to.
    square_row : ndarray of shape (n_rows,), optional
        The row of `squares` for each row of `sums`.
    """
    add: Any = _add_class_rows
    if compiled_pays(X.nnz):
        from narrows.solve.kernels import add_class_rows as add

    if squares is not None:
        X = canonical(X)
    if squares is None or square_row is None:
        squares, square_row = np.empty((0, sums.shape[1])), np.empty(0, np.intp)
    for part in blocks(X.shape[0], max(1, _ENTRIES * X.shape[0] // max(1, X.nnz))):
        ends = slice(part.start, part.stop + 1)
        add(
            X.indptr[ends], X.indices, X.data, Y.indptr[ends], Y.indices, Y.data, sums, squares,
            square_row,
        )  # fmt: skip


def class_sums(X: Any, Y: sparse.csr_array) -> np.ndarray:
    """Return the sums of the samples of each class."""
    if not sparse.issparse(X):
        return dense_sums(X, Y)[0]
    sums = np.zeros((Y.shape[1], X.shape[1]))
    add_sparse(X, Y, sums)
    return sums


def _add_class_rows(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, label_ptr: np.ndarray,
    label_row: np.ndarray, label_weight: np.ndarray, sums: np.ndarray, squares: np.ndarray,
    square_row: np.ndarray,
) -> None:  # fmt: skip
    """Do what the compiled loop of this name does, in its order."""
    sample = np.repeat(np.arange(len(indptr) - 1), np.diff(label_ptr))
    labels = slice(label_ptr[0], label_ptr[-1])
    length = np.diff(indptr)[sample]
    entries = ranges(indptr[sample], length)
    values = data[entries].astype(np.float64)
    row, columns = label_row[labels], indices[entries]
    added = np.repeat(label_weight[labels], length) * values
    add_at(sums, np.repeat(row, length), columns, added)
    if len(squares):
        add_at(squares, np.repeat(square_row[row], length), columns, added * values)


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the integers of several ranges, one range after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


def number_in_class(code: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the number of each sample among those of its class; `order` has classes in turn."""
    counts, number = np.bincount(code), np.empty(len(code), np.int64)
    number[order] = np.arange(len(code)) - np.repeat(np.cumsum(counts) - counts, counts)
    return number


def add_at(A: np.ndarray, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
    """Add values to entries of A, in their order; A is contiguous."""
    np.add.at(A.reshape(-1, copy=False), rows.astype(np.intp) * A.shape[1] + columns, values)
