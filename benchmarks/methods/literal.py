"""The step of IOC written out on dense vectors, O(c d p) a row: line by line, and with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from examples.papers.printed.ioc import ioc
from scipy import sparse

ROWS = 400  # only the first ones: a million would take a quarter of an hour and more


class PrintedIOC:
    """The table of the paper, line by line, as the tests have it."""

    name = f"table/{ROWS}"

    def run(self, X: Any, y: np.ndarray) -> Any:
        X = X[:ROWS].toarray() if sparse.issparse(X) else X[:ROWS]
        for v in ioc(X, list(y[:ROWS]), max(1, len(np.unique(y)) - 1)):
            last = v
        return last


class DenseIOC:
    """The same with all classes in one array, and nothing made that need not be."""

    name = f"dense numpy/{ROWS}"

    def run(self, X: Any, y: np.ndarray) -> Any:
        codes = np.unique(y, return_inverse=True)[1]
        c, d = codes.max() + 1, X.shape[1]
        p = max(1, c - 1)
        N, M, m, V = np.zeros(c), np.zeros((c, d)), np.zeros(d), np.zeros((p, d))
        for i in range(min(ROWS, len(codes))):
            n, j = i + 1, codes[i]
            x = X[[i]].toarray()[0] if sparse.issparse(X) else X[i].astype(np.float64)
            m += (x - m) / n
            N[j] += 1
            M[j] += (x - M[j]) / N[j]
            Phi = (M - m)[N > 0]
            shares = N[N > 0] / n
            for k in range(min(p, n)):
                if k == i:
                    V[k] = x
                    break
                v = V[k]
                alpha = Phi @ v / np.sqrt(v @ v)
                v *= i / n
                v += (alpha * shares / n) @ Phi
                Phi -= np.outer(Phi @ v / (v @ v), v)
        return V
