"""Convergence of an iteration to its batch solution in one pass, over random orders."""

from __future__ import annotations

from typing import Any

import numpy as np
from examples.papers.convergence import convergence
from examples.papers.data import leading, scatters

ORDERS = 15
CONVERGED = 0.95  # |cosine|; the papers give no number


def targets(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Return the leading eigenvectors of the three criteria."""
    S_b, C = scatters(X, y)
    return {"IIS": leading(S_b), "IMMC": leading(2 * S_b - C), "CCIPCA": leading(C)}


def curve(
    method: Any, X: np.ndarray, y: np.ndarray, target: np.ndarray, passes: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return n, and the |cosine| of the first direction: least, quartiles, and most over orders."""
    cosines = []
    for order in range(ORDERS):
        rng = np.random.default_rng(order)
        rows = np.concatenate([rng.permutation(len(y)) for _ in range(passes)])
        found = convergence(method, X[rows], y[rows], target)
        cosines.append(found.cosines[:, 0])
    return found.n, np.percentile(cosines, [0, 25, 50, 75, 100], axis=0)
