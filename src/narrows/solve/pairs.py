"""Products of all pairs of features of samples: X'X, by BLAS and by compiled loops."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from narrows.solve.products import compiled_pays, cores, map_on_cores, one_blas_thread
from narrows.solve.sums import add_at, blocks, ranges, with_values

_FEWEST = 256  # dense samples in a block, at least
_BLOCK = 1 << 20  # numbers in a block of samples
_NARROW = 256  # features for whose products several threads of BLAS gain little
_MANY = 1 << 21  # products that are worth several threads
# the time of a product, where both features are scattered in a sample 1: one of them, and none
_BESIDE, _BLAS = 1 / 8, 1 / 50


def add_products(G: np.ndarray, X: Any, weight: np.ndarray) -> None:
    """Add w x x' of each sample to the lower triangle G, in Fortran order, in place."""
    if sparse.issparse(X):
        _add_sparse(G, X, weight)
    elif X.size:
        if (weight != 1).any():
            X = X * np.sqrt(weight)[:, None]
        with one_blas_thread(len(G) <= _NARROW):
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
    G[k:, k:] += blas.dsyrk(1.0, filled.T, lower=1)


def _add_scattered(G: np.ndarray, X: sparse.csr_array, weight: np.ndarray) -> None:
    """Add the products of sparse samples on all cores, each with features of its own."""
    if not compiled_pays(int(_products(X).sum())):
        _add_pairs(G, X, weight)
        return
    from narrows.solve.kernels import add_products as add_to

    def add(features: slice) -> None:
        low, high = features.start, features.stop
        add_to(X.indptr, X.indices, X.data, weight, low, high, G.T)

    map_on_cores(add, _shares(X))


def _products(X: sparse.csr_array) -> np.ndarray:
    """Return the number of products of each non-zero, with itself and those after it."""
    return np.repeat(X.indptr[1:], np.diff(X.indptr)) - np.arange(X.nnz)


def _add_pairs(G: np.ndarray, X: sparse.csr_array, weight: np.ndarray) -> None:
    """Do what the compiled loop `add_products` does for all features, in its order."""
    products, weighted = _products(X), np.repeat(weight, np.diff(X.indptr)) * X.data
    for some in blocks(X.nnz, max(1, _BLOCK // max(1, int(products.max(initial=0))))):
        first = np.arange(some.start, some.stop)
        second = ranges(first, products[some])
        first = np.repeat(first, products[some])
        values = weighted[first] * X.data[second]
        add_at(G.T, X.indices[first], X.indices[second], values)


def _shares(X: sparse.csr_array) -> list[slice]:
    """Return ranges of features with about equal numbers of products with the features after."""
    products = _products(X)
    if cores() == 1 or products.sum() < _MANY:
        return [slice(0, X.shape[1])]
    done = np.cumsum(np.bincount(X.indices, products, X.shape[1]))
    cuts = np.searchsorted(done, done[-1] * np.arange(1, cores()) / cores()) + 1
    ends = [0, *cuts.tolist(), X.shape[1]]
    return [slice(a, b) for a, b in pairwise(ends) if a < b]


def _first_filled(X: sparse.csr_array) -> int:
    """Return the feature from which on samples are an array, so that products take least time."""
    n, d = X.shape
    share = np.bincount(X.indices, minlength=d) / max(1, n)
    thin, filled = np.append(0.0, np.cumsum(share)), np.arange(d, -1, -1)
    return int((thin**2 / 2 + _BESIDE * thin * filled + _BLAS * filled**2).argmin())


def symmetric(lower: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix with this lower triangle, and zeros above it."""
    return lower + np.tril(lower, -1).T


def step(X: Any) -> int:
    """The number of samples in a block."""
    if sparse.issparse(X):
        return max(1, _BLOCK * X.shape[0] // max(1, X.nnz))
    return max(_FEWEST, _BLOCK // max(1, X.shape[1]))
