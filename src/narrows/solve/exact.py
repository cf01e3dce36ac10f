"""Small eigenproblems behind the exact projections."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from scipy import linalg

Blocks = Iterable[tuple[slice, np.ndarray]]

DROPPED = 1e-12  # eigenvalues below this share of the largest are rounding
_TINY = 1e-200
_SUSPECT = 1e-8  # below this share the vectors of the Gram route are no longer orthogonal enough


def gram_eigh(
    blocks: Callable[[], Blocks], n_features: int, noise: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of A = H'H from the small matrix K = H H'.

    With K = U L U', the vectors are W = H'U L^(-1/2). H is read twice, by columns, and A is
    never made. O(c^2 d) time, O(c^2 + d p) memory.

    Parameters
    ----------
    blocks : callable
        Returns an iterable of (columns, H[:, columns]) for H of shape (c, d).
    n_features : int
        d.
    noise : float
        The norm of a row of H that is only rounding.

    Returns
    -------
    eigenvalues : ndarray of shape (p,)
        Descending; those under 1e-12 of the largest, or of noise, are dropped, so p is the rank.
    W : ndarray of shape (d, p)
        Orthonormal columns.
    """
    unit = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        K = sum(H @ H.T for _, H in blocks())
    if not _TINY < np.trace(K) < 1 / _TINY:  # squares vanish or overflow: take other units
        unit = max(float(np.abs(H).max(initial=0.0)) for _, H in blocks()) or 1.0
        K = sum((H / unit) @ (H / unit).T for _, H in blocks())
    L, U = linalg.eigh(K)
    L, U = L[::-1], U[:, ::-1]
    kept = (L > DROPPED * L[0]) & (L > (noise / unit) ** 2)
    L, U = L[kept], U[:, kept] / np.sqrt(L[kept])
    W = np.empty((n_features, len(L)))
    for columns, H in blocks():
        W[columns] = H.T @ (U / unit)
    L = L * unit**2
    if len(L) and L[-1] < _SUSPECT * L[0]:
        W, R = np.linalg.qr(W)
        W *= np.sign(np.diag(R))
    return L, W


def orthogonal_part(w: np.ndarray, W: np.ndarray, scale: float) -> np.ndarray:
    """The unit vector of `w` less its projection on the orthonormal columns of W, as (d, 1).

    Of shape (d, 0) where no more than 1e-6 of the length of `w`, or of `scale`, is left.
    """
    rest = w - W @ (W.T @ w)
    rest -= W @ (W.T @ rest)  # twice is enough
    length = np.linalg.norm(rest)
    if length <= np.sqrt(DROPPED) * max(scale, np.linalg.norm(w)):
        return np.empty((len(w), 0))
    return rest[:, None] / length


def set_signs(W: np.ndarray) -> np.ndarray:
    """Set each column's sign, in place, so that its entry of largest magnitude is positive."""
    for w in W.T:
        if w[np.abs(w).argmax()] < 0:
            w *= -1
    return W
