"""Products of a matrix with several vectors, on all cores."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from narrows.solve.threads import CORES, each

_ENTRIES = 1 << 19  # the fewest non-zeros worth a thread
_MANY = 1 << 23  # the fewest multiplications worth loading a compiled loop


def product(X: Any, V: np.ndarray) -> np.ndarray:
    """Return X V; for a large sparse X on all cores, with the same bits."""
    if not sparse.issparse(X) or X.nnz * V.shape[1] < _MANY:
        return np.asarray(X @ V)
    from narrows.solve.kernels import gather_products

    V = np.ascontiguousarray(V)
    out = np.empty((X.shape[0], V.shape[1]), np.result_type(X.dtype, V.dtype))
    a, s = np.zeros(len(out), out.dtype), np.zeros(V.shape[1], out.dtype)

    def gather(p: slice) -> None:
        gather_products(X.indptr[p.start : p.stop + 1], X.indices, X.data, V, a[p], s, out[p])

    each(gather, _shares(X.indptr))
    return out


def _shares(ends: np.ndarray) -> list[slice]:
    """Return slices of rows with about equally many entries, one for each core."""
    start, nnz = int(ends[0]), int(ends[-1] - ends[0])
    parts = min(CORES, 1 + nnz // _ENTRIES)
    inner = np.searchsorted(ends, [start + nnz * k // parts for k in range(1, parts)])
    cuts = [0, *inner.tolist(), len(ends) - 1]
    return [slice(a, b) for a, b in pairwise(cuts) if a < b]


class Products:
    """X V and X'U for blocks of vectors, written into existing arrays.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Not copied; but if sparse and n_samples < n_features, held as CSC, so that random access
        is to the shorter of the two blocks, which stays in a core's cache.
    """

    def __init__(self, X: Any):
        self.X, self.shape = X, X.shape
        self._parts: list[slice] = []
        if sparse.issparse(X):
            self.X = X.tocsc() if X.shape[0] < X.shape[1] else X
            self._parts = _shares(self.X.indptr)

    def times(self, V: np.ndarray, a: np.ndarray, s: np.ndarray, out: np.ndarray) -> None:
        """Set out = X V + a s', for V of shape (n_features, k)."""
        self._product(V, a, s, out, transposed=False)

    def transposed(self, U: np.ndarray, a: np.ndarray, s: np.ndarray, out: np.ndarray) -> None:
        """Set out = X'U + a s', for U of shape (n_samples, k)."""
        self._product(U, a, s, out, transposed=True)

    def _product(
        self, V: np.ndarray, a: np.ndarray, s: np.ndarray, out: np.ndarray, transposed: bool
    ) -> None:
        X = self.X
        if isinstance(X, np.ndarray):
            np.matmul(X.T if transposed else X, V, out=out)
            out += np.outer(a, s)
            return
        from narrows.solve.kernels import gather_products, scatter_products

        if transposed == (X.format == "csc"):
            each(
                lambda p: gather_products(
                    X.indptr[p.start : p.stop + 1], X.indices, X.data, V, a[p], s, out[p]
                ),
                self._parts,
            )
            return
        outs = [out, *(np.zeros_like(out) for _ in self._parts[1:])]
        np.outer(a, s, out=out)
        each(
            lambda k: scatter_products(
                X.indptr[self._parts[k].start : self._parts[k].stop + 1],
                X.indices, X.data, V[self._parts[k]], outs[k],
            ),
            range(len(self._parts)),
        )  # fmt: skip
        for other in outs[1:]:
            out += other
