"""Samples whose cross products are summed later, and how the products are summed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from narrows.state.table import Table
from narrows.solve.schema import FINITE, NOT_NEGATIVE, Field, between
from narrows.solve.sums import (
    HUGE,
    TINY,
    check_not_tiny,
    sum_of_squares,
    too_large,
    with_values,
)
from narrows.solve.threads import CORES, each

FEW = 256  # samples that wait, at least, before their products are added
_BLOCK = 1 << 20  # numbers in a block of samples
_MANY = 1 << 21  # products that are worth several threads
# the time of a product, where both features are scattered in a sample 1: one of them, and none
_BESIDE, _BLAS = 1 / 8, 1 / 50


class Rows(NamedTuple):
    """Samples about the origin whose products are not summed yet, and their weights."""

    X: Any  # ndarray or csr_array of shape (n_samples, n_features), float64
    weight: np.ndarray

    @property
    def squares(self) -> np.ndarray:
        """The weighted sums of the squares of each feature."""
        squares: np.ndarray = self.weight @ (
            self.X.power(2) if sparse.issparse(self.X) else self.X**2
        )
        return squares


def groups(rows: Sequence[Rows]) -> list[Rows]:
    """Return the dense samples together, and the sparse ones."""
    found = []
    for is_sparse in (False, True):
        some = [r for r in rows if sparse.issparse(r.X) == is_sparse]
        if len(some) > 1:
            stack: Any = sparse.vstack if is_sparse else np.vstack
            X = stack([r.X for r in some])
            weight = np.concatenate([r.weight for r in some])
            some = [Rows(X.tocsr() if is_sparse else X, weight)]
        found += some
    return found


def to_wait(X: Any, weight: np.ndarray, origin: np.ndarray | None) -> Rows:
    """Return samples about the origin, whose squares are in range."""
    if not sparse.issparse(X):
        X = about(X, origin)
    check_range(X, float(weight.max()))
    return Rows(X, weight)


def add(G: np.ndarray, X: Any, weight: np.ndarray) -> None:
    """Add w x x' of each sample, in place."""
    if sparse.issparse(X):
        _add_sparse(G, X, weight)
    elif X.size:
        if (weight != 1).any():
            X = X * np.sqrt(weight)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):  # checked by the caller
            blas.dsyrk(1.0, X.T, beta=1.0, c=G, lower=1, overwrite_c=1)


def _add_sparse(G: np.ndarray, X: sparse.csr_array, weight: np.ndarray) -> None:
    """Add the products of sparse samples; the last features may be there in most of them."""
    k = _first_filled(X)
    if k == X.shape[1]:
        _add_scattered(G, X, weight)
        return
    if (weight != 1).any():
        X = with_values(X, X.data * np.repeat(np.sqrt(weight), np.diff(X.indptr)))
    thin, filled = X[:, :k], X[:, k:].toarray()
    _add_scattered(G, thin, np.ones(len(weight)))
    G[k:, :k] += (thin.T @ filled).T
    with np.errstate(over="ignore", invalid="ignore"):  # checked by the caller
        G[k:, k:] += blas.dsyrk(1.0, filled.T, lower=1)


def _add_scattered(G: np.ndarray, X: sparse.csr_array, weight: np.ndarray) -> None:
    """Add the products of sparse samples on all cores, each with features of its own."""
    from narrows.solve.kernels import add_products

    def add(features: slice) -> None:
        low, high = features.start, features.stop
        add_products(X.indptr, X.indices, X.data, weight, low, high, G.T)

    each(add, _shares(X))


def _shares(X: sparse.csr_array) -> list[slice]:
    """Return ranges of features with about equal numbers of products with the features after."""
    entries = np.arange(X.nnz)
    products = np.repeat(X.indptr[1:], np.diff(X.indptr)) - entries
    if CORES == 1 or products.sum() < _MANY:
        return [slice(0, X.shape[1])]
    done = np.cumsum(np.bincount(X.indices, products, X.shape[1]))
    cuts = np.searchsorted(done, done[-1] * np.arange(1, CORES) / CORES) + 1
    ends = [0, *cuts.tolist(), X.shape[1]]
    return [slice(a, b) for a, b in pairwise(ends) if a < b]


def _first_filled(X: sparse.csr_array) -> int:
    """Return the feature from which on samples are an array, so that products take least time."""
    n, d = X.shape
    share = np.bincount(X.indices, minlength=d) / max(1, n)
    thin, filled = np.append(0.0, np.cumsum(share)), np.arange(d, -1, -1)
    return int((thin**2 / 2 + _BESIDE * thin * filled + _BLAS * filled**2).argmin())


def about(X: np.ndarray, origin: np.ndarray | None) -> np.ndarray:
    """Return a copy of samples about the origin, in double precision."""
    return X.astype(np.float64) if origin is None else X - origin


def step(X: Any) -> int:
    """The number of samples in a block."""
    if sparse.issparse(X):
        return max(1, _BLOCK * X.shape[0] // max(1, X.nnz))
    return max(FEW, _BLOCK // max(1, X.shape[1]))


def check_range(X: Any, heaviest: float) -> None:
    """Raise RangeError where squares of samples overflow or underflow."""
    values = X.data if sparse.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        size = sum_of_squares(values)
        if TINY < size < HUGE and size * max(heaviest, 1.0) < HUGE:
            return
        largest = abs(X).max(axis=0)
        largest = largest.toarray().ravel() if sparse.issparse(largest) else largest
        check_squares(largest**2 * max(heaviest, 1.0) * X.shape[0])
    if size < TINY:
        check_not_tiny(largest)


def check_products(G: np.ndarray) -> None:
    """Raise RangeError where a sum of products is infinite."""
    check_squares(G.diagonal())


def check_squares(squares: np.ndarray) -> None:
    """Raise RangeError where a sum of squares is infinite, which others are bounded by."""
    if not np.isfinite(squares).all():
        k = int((~np.isfinite(squares)).argmax())
        raise too_large(f"sums of squares below {HUGE:.1e}", k)


def one_row(values: np.ndarray) -> Table:
    """Return numbers as a table of one row."""
    return Table((1, len(values)), values[None, :])


# -- storage ------------------------------------------------------------------------------------

ROWS = {
    "cross_weight": Field("f8", ("b",), NOT_NEGATIVE, optional=True),
    "cross_rows": Field("f8", ("b", "d"), FINITE, optional=True),
    "cross_short_weight": Field("f8", ("a",), NOT_NEGATIVE, optional=True),  # of 0.2
    "cross_short_rows": Field("f4", ("a", "d"), FINITE, optional=True),
    "cross_sparse_weight": Field("f8", ("s",), NOT_NEGATIVE, optional=True),
    "cross_indptr": Field("i8", ("s+1",), between(0, 2**53), optional=True),
    "cross_indices": Field("i8", ("e",), between(0, "d"), optional=True),
    "cross_data": Field("f8", ("e",), FINITE, optional=True),
}
_DENSE = ("cross", "cross_short")


def rows_to_arrays(rows: Sequence[Rows]) -> dict[str, np.ndarray]:
    """Return samples that wait as named arrays."""
    arrays: dict[str, np.ndarray] = {}
    for r in groups(rows):
        if sparse.issparse(r.X):
            arrays["cross_sparse_weight"] = r.weight
            arrays["cross_indptr"] = r.X.indptr.astype(np.int64)
            arrays["cross_indices"] = r.X.indices.astype(np.int64)
            arrays["cross_data"] = r.X.data
        else:
            arrays["cross_weight"] = r.weight
            arrays["cross_rows"] = np.ascontiguousarray(r.X)
    return arrays


def rows_from_arrays(arrays: Mapping[str, np.ndarray], d: int) -> tuple[Rows, ...]:
    """Return the samples of `rows_to_arrays`, which fit `ROWS`."""
    rows = [
        Rows(arrays[f"{name}_rows"].astype(np.float64), np.array(arrays[f"{name}_weight"]))
        for name in _DENSE
        if f"{name}_rows" in arrays
    ]
    if "cross_data" in arrays:
        weight = np.array(arrays["cross_sparse_weight"])
        parts = tuple(np.array(arrays[f"cross_{k}"]) for k in ("data", "indices", "indptr"))
        rows.append(Rows(sparse.csr_array(parts, shape=(len(weight), d)), weight))
    return tuple(rows)


def are_complete(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    """Whether samples have weights, and sparse ones are tidy."""
    dense = ({f"{name}_rows", f"{name}_weight"} for name in _DENSE)
    form = {"cross_sparse_weight", "cross_indptr", "cross_indices", "cross_data"}
    if any(len(each & arrays.keys()) == 1 for each in dense) or len(form & arrays.keys()) not in (
        0,
        4,
    ):
        return False
    ends = arrays.get("cross_indptr")
    if ends is None:
        return True
    tidy = bool(ends[0] == 0 and ends[-1] == sizes["e"] and (np.diff(ends) >= 0).all())
    if not tidy or len(ends) != len(arrays["cross_sparse_weight"]) + 1:
        return False
    falls = np.flatnonzero(np.diff(arrays["cross_indices"]) <= 0) + 1  # where a row starts only
    return bool(np.isin(falls, ends).all())
