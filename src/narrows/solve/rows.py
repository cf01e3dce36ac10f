"""A block of samples for a compiled step: products with its basis Q, and what they add to Q."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from narrows.solve.sums import weighted


def touched(X: Any) -> Any:
    """Return an index of the rows of Q that change when the samples of X are learned."""
    return X.indices if sparse.issparse(X) and X.nnz < X.shape[1] else slice(None)


class SparseRows:
    """CSR samples; the kernel adds each to Q at once.

    Attributes
    ----------
    arrays : tuple
        For the kernel: three CSR parts and two products of a dense block, or None.
    folds : ndarray of shape (n_samples, n_columns)
        Sample t has added x g' to Q, with g row t.
    """

    def __init__(self, Q: np.ndarray, X: Any, rows: slice):
        ends = X.indptr[rows.start : rows.stop + 1]
        entries = slice(ends[0], ends[-1])
        self.Q = Q
        # of one type whatever those of X, so that one compiled kernel serves all
        self.ends = (ends - ends[0]).astype(np.int32)
        self.indices = X.indices[entries].astype(np.int32, copy=False)
        self.data = X.data[entries].astype(np.float64, copy=False)
        self.arrays = self.ends, self.indices, self.data, None, None
        self.folds = np.zeros((rows.stop - rows.start, self.Q.shape[1]))

    def _entries(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        entries = slice(self.ends[t], self.ends[t + 1])
        return self.indices[entries], self.data[entries]

    def products(self, t: int, raw: bool) -> np.ndarray:
        """Return Q'x for sample t, which has been learned; `raw`: without subtracting the shift."""
        indices, data = self._entries(t)
        return weighted(data, self.Q[indices])

    def square(self, t: int, raw: bool) -> float:
        """Return x'x."""
        data = self._entries(t)[1]
        return float(data @ data)

    def put(self, t: int, j: int, raw: bool) -> None:
        """Make sample t the base vector j."""
        indices, data = self._entries(t)
        self.Q[indices, j] = data

    def fold(self) -> None:
        """Add to Q what has not been added yet: nothing."""

    def keep(self, t: int) -> Any:
        """Return what `restore` needs to undo learning sample t."""
        return self.Q[self._entries(t)[0]]

    def restore(self, t: int, held: Any) -> None:
        """Undo learning sample t."""
        self.Q[self._entries(t)[0]] = held


class DenseRows:
    """Dense samples less the shift, and the shift as a last row; added to Q all at once.

    For the rest see `SparseRows`.
    """

    def __init__(self, Q: np.ndarray, X: np.ndarray, rows: slice, shift: np.ndarray | None):
        shift = np.zeros(X.shape[1]) if shift is None else shift
        self.Q, self.X = Q, X[rows]
        self.block = np.vstack([self.X - shift, shift])
        self.folds = np.zeros((len(self.block), self.Q.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):  # checked by the kernel
            self.QX, self.XX = self.block @ self.Q, self.block @ self.block.T
        self.arrays = None, None, None, self.QX, self.XX

    def products(self, t: int, raw: bool) -> np.ndarray:
        products = self.QX[t] + self.XX[t] @ self.folds
        return products + self.products(-1, False) if raw else products

    def square(self, t: int, raw: bool) -> float:
        if raw:
            row = self.X[t].astype(np.float64)
            return float(row @ row)
        return float(self.XX[t, t])

    def put(self, t: int, j: int, raw: bool) -> None:
        self.folds[t, j] = 1.0
        if raw:
            self.folds[-1, j] = 1.0

    def fold(self) -> None:
        self.Q += self.block.T @ self.folds

    def keep(self, t: int) -> Any:
        return self.folds.copy()

    def restore(self, t: int, held: Any) -> None:
        self.folds[:] = held


Rows = SparseRows | DenseRows
