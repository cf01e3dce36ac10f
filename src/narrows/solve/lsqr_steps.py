"""What `narrows.solve.lsqr` does to whole vectors, compiled: each array is gone through once."""

from __future__ import annotations

import numpy as np

from narrows.solve.kernels import compiled


@compiled
def less(A: np.ndarray, B: np.ndarray, by: np.ndarray) -> np.ndarray:
    """B = A less B with each column times a number; returns the squares of the columns."""
    squares = np.zeros(len(by))
    for i in range(len(B)):
        for k in range(len(by)):
            t = A[i, k] - by[k] * B[i, k]
            B[i, k] = t
            squares[k] += t * t
    return squares


@compiled
def advance(
    X: np.ndarray, W: np.ndarray, V: np.ndarray, unit: np.ndarray, t1: np.ndarray, t2: np.ndarray
) -> np.ndarray:
    """V *= unit, X += t1 W, W = V + t2 W; returns the squares of the columns of W before."""
    squares = np.zeros(len(unit))
    for i in range(len(X)):
        for k in range(len(unit)):
            w, v = W[i, k], V[i, k] * unit[k]
            squares[k] += w * w
            X[i, k] += t1[k] * w
            V[i, k] = v
            W[i, k] = v + t2[k] * w
    return squares
