"""Signs of directions, which no criterion determines: the largest entry is positive."""

from __future__ import annotations

import numpy as np

_SAME = 1e-6  # entries that differ by less, relative to the largest, count as equal


def with_signs(W: np.ndarray, unit: np.ndarray | None = None) -> np.ndarray:
    """Return directions, one per column, with the entry of largest magnitude positive."""
    signs = signs_of(W, unit)
    return W * signs if (signs < 0).any() else W


def turn_signs(W: np.ndarray, unit: np.ndarray | None = None) -> None:
    """Turn directions, in place, as `with_signs` does: a copy may take most of the memory."""
    signs = signs_of(W, unit)
    if (signs < 0).any():
        W *= signs


def signs_of(W: np.ndarray, unit: np.ndarray | None = None) -> np.ndarray:
    """Return 1 or -1 for each column: the sign of its entry of largest magnitude.

    Entries that differ by rounding count as equal, and the first of them decides: features that
    mirror each other have opposite entries, and the last bit must not choose between them. With a
    unit, these are the entries for features that are divided by it.
    """
    V = W if unit is None else W * np.where(np.isfinite(unit), unit, 0.0)[:, None]
    high, low = V.max(axis=0, initial=0.0), V.min(axis=0, initial=0.0)
    turned, least = -low > high, (1 - _SAME) * np.maximum(high, -low)
    for j in np.flatnonzero((np.minimum(high, -low) >= least) & (high > 0)):
        turned[j] = V[(np.abs(V[:, j]) >= least[j]).argmax(), j] < 0
    return np.where(turned, -1.0, 1.0)
