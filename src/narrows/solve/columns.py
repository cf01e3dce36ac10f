"""The discrete solution space: W is a 0-1 matrix, so the best columns are the best scores."""

from __future__ import annotations

import numpy as np

_ROUNDING = 8 * np.finfo(np.float64).eps


def rank(scores: np.ndarray) -> np.ndarray:
    """Columns from the best score to the worst, of shape (d,); ties go to the lower column."""
    return np.argsort(-scores, kind="stable")


def energy_curve(ranked: np.ndarray) -> np.ndarray:
    """E(p), the share of all positive score that the p best columns hold.

    Paper 001, section 4.4.2.

    Parameters
    ----------
    ranked : ndarray of shape (d,)
        Scores, best first.

    Returns
    -------
    energy : ndarray of shape (d,)
        energy[p - 1] = E(p), from above 0 to 1; zeros if no score is positive.
    """
    total = np.cumsum(np.maximum(ranked, 0.0))
    return total / total[-1] if total[-1] > 0 else total


def count_by_energy(energy: np.ndarray, wanted: float) -> int:
    """The smallest p with E(p) >= wanted; 1 if there is no energy at all."""
    if energy[-1] == 0:
        return 1
    return int(np.searchsorted(energy, wanted * (1 - _ROUNDING))) + 1


def count_by_threshold(ranked: np.ndarray, threshold: float) -> int:
    """How many scores, best first, are at or over the threshold."""
    return int(np.searchsorted(-ranked, -threshold, side="right"))
