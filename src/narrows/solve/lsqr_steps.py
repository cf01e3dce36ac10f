"""The vector updates of `narrows.solve.lsqr`, compiled to read each array once."""

from __future__ import annotations

import numpy as np

from narrows.solve.kernels import Array, compiled


@compiled
def less(A: Array, B: Array, by: Array) -> Array:
    """Set B = A - B diag(by); return the squares of the columns."""
    squares = np.zeros(len(by))
    for i in range(len(B)):
        for k in range(len(by)):
            t = A[i, k] - by[k] * B[i, k]
            B[i, k] = t
            squares[k] += t * t
    return squares


@compiled
def advance(X: Array, W: Array, V: Array, unit: Array, t1: Array, t2: Array) -> Array:
    """Set V *= unit, X += t1 W, W = V + t2 W; return the squares of the columns of the old W."""
    squares = np.zeros(len(unit))
    for i in range(len(X)):
        for k in range(len(unit)):
            w, v = W[i, k], V[i, k] * unit[k]
            squares[k] += w * w
            X[i, k] += t1[k] * w
            V[i, k] = v
            W[i, k] = v + t2[k] * w
    return squares
