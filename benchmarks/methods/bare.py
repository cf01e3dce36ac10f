"""The bare cost of class sums, and nothing else: by SciPy's product, and as near memory allows."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from scipy import sparse


class Bare:
    """Y'X by SciPy, Y the indicator matrix: the class sums that every method here needs."""

    name = "bare"

    def run(self, X: Any, y: np.ndarray) -> Any:
        if sparse.issparse(y):  # several labels a row
            return y.T.tocsr() @ X
        _, codes = np.unique(y, return_inverse=True)
        n = len(codes)
        Y = sparse.csr_array((np.ones(n), codes, np.arange(n + 1)))
        return Y.T.tocsr() @ X


class Limit:
    """A loop that touches each non-zero once and adds it to its class sum, on one core."""

    name = "limit"

    def run(self, X: Any, y: np.ndarray) -> Any:
        codes = np.unique(y, return_inverse=True)[1]
        sums = np.zeros((codes.max() + 1, X.shape[1]))
        if sparse.issparse(X):
            _add_entries(X.indptr, X.indices, X.data, codes, sums)
        else:
            _add_rows(X, codes, sums)
        return sums


class Products(Limit):
    """The same loop, and the two products that directions of class sums need, by BLAS."""

    name = "limit, products"

    def run(self, X: Any, y: np.ndarray) -> Any:
        sums = super().run(X, y)
        _, U = np.linalg.eigh(sums @ sums.T)
        return sums.T @ U[:, 1:]


class Total:
    """The sum of dense rows by NumPy, without classes; for sparse rows that of all entries."""

    name = "sum"

    def run(self, X: Any, y: np.ndarray) -> Any:
        return X.sum(axis=0)


@numba.njit
def _add_entries(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, codes: np.ndarray, sums: np.ndarray
) -> None:
    for i in range(len(codes)):
        for e in range(indptr[i], indptr[i + 1]):
            sums[codes[i], indices[e]] += data[e]


@numba.njit
def _add_rows(X: np.ndarray, codes: np.ndarray, sums: np.ndarray) -> None:
    for i in range(len(codes)):
        for k in range(X.shape[1]):
            sums[codes[i], k] += X[i, k]
