"""Selection of columns: W is a 0-1 matrix, so the best columns have the best scores."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from scipy import sparse

from narrows.solve.devices import OnDevice

_SETTLED = 1e-12
_ROUNDING = 8 * np.finfo(np.float64).eps


def take(X: Any, chosen: np.ndarray) -> Any:
    """Return X[:, chosen], with 32-bit indices if possible."""
    if isinstance(X, OnDevice):
        return X.columns(chosen)
    return narrowed(X[:, chosen]) if sparse.issparse(X) else X[:, chosen]


def narrowed(X: sparse.csr_array) -> sparse.csr_array:
    """Give X 32-bit indices if possible, and return it: many classifiers need them."""
    fits = max(X.nnz, *X.shape) <= np.iinfo(np.int32).max
    narrow = np.int32 if fits else np.int64
    X.indices = X.indices.astype(narrow, copy=False)
    X.indptr = X.indptr.astype(narrow, copy=False)
    return X


def rank(scores: np.ndarray, varies: np.ndarray | None = None) -> np.ndarray:
    """Return the columns from the best score to the worst; ties go to the lower column.

    Columns that do not vary come after all others, whatever their score.
    """
    order = np.argsort(-scores, kind="stable")
    if varies is None:
        return order
    return np.concatenate([order[varies[order]], order[~varies[order]]])


def energy_curve(ranked: np.ndarray) -> np.ndarray:
    """Return E(p), the share of the sum of positive scores that the p best columns have.

    Yan et al. (2005), section 4.4.2.

    Parameters
    ----------
    ranked : ndarray of shape (n_features,)
        Scores, best first.

    Returns
    -------
    energy : ndarray of shape (n_features,)
        energy[p - 1] = E(p), from above 0 to 1; zeros if no score is positive.
    """
    gain = np.maximum(ranked, 0.0)
    with np.errstate(over="ignore"):  # checked next
        total = np.cumsum(gain)
    if not np.isfinite(total[-1]):
        total = np.cumsum(gain / 2.0 ** np.ceil(np.log2(len(gain))))
    return total / total[-1] if total[-1] > 0 else total


def count_wanted(n_features: Any, d: int) -> int:
    """Return the number of columns for a number, or a fraction of d: rounded down, at least 1."""
    if isinstance(n_features, numbers.Integral):
        return int(n_features)
    return max(1, int(n_features * d * (1 + _ROUNDING)))  # 0.29 of 100 is 29


def count_by_energy(energy: np.ndarray, share: float) -> int:
    """Return the smallest p with E(p) >= share; 1 if no score is positive."""
    if energy[-1] == 0:
        return 1
    return int(np.searchsorted(energy, share * (1 - _ROUNDING))) + 1


def best_ratio(a: np.ndarray, b: np.ndarray, p: int) -> float:
    """Return the largest sum(a[K]) / sum(b[K]) over all sets K of p columns.

    Dinkelbach's algorithm: given a value, the best set is the p largest of a - value b, and its
    ratio is the next value, which never decreases; at the optimum it is the same.

    Parameters
    ----------
    a, b : ndarray of shape (n_features,)
        Not negative.
    p : int
        At most n_features.

    Returns
    -------
    value : float
        Infinite if p columns have b = 0 and not all of them a = 0. At the optimum the best set
        is the p largest of a - value b.
    """
    if not np.isfinite(len(a) * (float(a.max(initial=0.0)) + float(b.max(initial=0.0)))):
        unit = 2.0 ** np.ceil(np.log2(2 * len(a)))
        a, b = a / unit, b / unit
    free = b == 0
    if free.sum() >= p and a[free].any():
        return np.inf
    value = 0.0
    while True:
        K = rank(a - value * b)[:p]
        total = b[K].sum()
        better = a[K].sum() / total if total > 0 else 0.0
        if better <= value * (1 + _SETTLED):
            return max(value, better)
        value = better
