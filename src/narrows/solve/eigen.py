"""Small eigenproblems, and the reduction of large ones to small ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, svds

Blocks = Iterable[tuple[slice, np.ndarray]]

DROPPED = 1e-12  # eigenvalues below this share of the largest are rounding
_TINY = 1e-200
_SUSPECT = 1e-8  # below this share the vectors from a Gram matrix need another orthogonalisation


def triangle(F: np.ndarray) -> np.ndarray:
    """Return a factor with the scatter of F and at most as many rows as columns."""
    return np.asarray(np.linalg.qr(F, mode="r")) if len(F) > F.shape[1] else F


def gram_eigh(
    blocks: Callable[[], Blocks],
    shape: tuple[int, int],
    noise: float = 0.0,
    most: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of A = H'H from the smaller matrix K = H H'.

    With K = U L U', the vectors are W = H'U L^(-1/2). H is read twice, by columns, and A is
    never formed. O(c^2 d) time, O(c^2 + d p) memory. With fewer columns than rows, H is replaced by
    its triangular factor, in O(c d^2) time.

    Parameters
    ----------
    blocks : callable
        Returns an iterable of (columns, H[:, columns]).
    shape : (int, int)
        (n_classes, n_features), that of H.
    noise : float
        The largest norm of a row of H that is only rounding.
    most : int, optional
        The largest number of vectors to return; all by default.

    Returns
    -------
    eigenvalues : ndarray of shape (r,)
        Descending; those below 1e-12 of the largest, or due to noise, are dropped, so r is the
        rank. They may be infinite or 0, where squares overflow or underflow.
    W : ndarray of shape (n_features, min(r, most))
        Orthonormal columns.
    """
    power, n_features = 0, shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        if shape[0] > n_features > 0:
            R = triangle(np.hstack([H for _, H in blocks()]))

            def blocks() -> Blocks:
                return [(slice(None), R)]

        K = sum(H @ H.T for _, H in blocks())
        if not _TINY < np.trace(K) < 1 / _TINY:  # squares underflow or overflow: rescale
            size = max(float(np.abs(H).max(initial=0.0)) for _, H in blocks())
            power = int(np.frexp(size)[1])
            K = sum(np.ldexp(H, -power) @ np.ldexp(H, -power).T for _, H in blocks())
    if not np.isfinite(K).all():
        return np.array([np.inf]), np.empty((n_features, 0))
    noise = float(np.ldexp(noise, -power))
    L, U = positive_eigh(np.asarray(K), noise * noise)
    U = (U / np.sqrt(L))[:, :most]
    W = np.empty((n_features, U.shape[1]))
    for columns, H in blocks():
        np.matmul((np.ldexp(H, -power) if power else H).T, U, out=W[columns])
    with np.errstate(over="ignore"):
        L = np.ldexp(L, 2 * power)
    if len(L) and L[-1] < _SUSPECT * L[0]:
        W = orthonormal(W)
    return L, W


def lanczos(H: LinearOperator, k: int, noise: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the k leading eigenpairs of H'H, by products of vectors with H alone.

    As `gram_eigh`, which is to be used if this returns None: Lanczos did not converge, or the
    squares underflow or overflow.
    """
    first = np.random.default_rng(0).standard_normal(min(H.shape))
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            _, s, Wt = svds(H, k=k, v0=first, return_singular_vectors="vh")
    except (ArpackError, linalg.LinAlgError):
        return None
    order = s.argsort()[::-1]
    L, W = s[order] ** 2, Wt[order].T
    if not _TINY < L[0] < 1 / _TINY:
        return None
    kept = (L > DROPPED * L[0]) & (L > noise * noise)
    return L[kept], W[:, kept]


def orthonormal(W: np.ndarray) -> np.ndarray:
    """Return the columns orthonormalised once more, against rounding."""
    W, R = np.linalg.qr(W)
    return W * np.where(np.diag(R) < 0, -1.0, 1.0)


def positive_eigh(K: np.ndarray, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenpairs of a nonnegative matrix beyond rounding, descending."""
    L, U = linalg.eigh(K)
    L, U = L[::-1], U[:, ::-1]
    kept = (DROPPED * L[:1].max(initial=0.0) < L) & (noise < L)
    return L[kept], U[:, kept]


def orthogonal_part(
    w: np.ndarray, W: np.ndarray, scale: float = 0.0, share: float = 1e-6
) -> np.ndarray:
    """Return the unit vector of `w` less its projection on the orthonormal columns of W.

    Of shape (n_features, 1), or (n_features, 0) where at most `share` of the length of `w`, or of
    `scale`, remains.
    """
    size = float(np.abs(w).max(initial=0.0))
    if size and not _TINY < size * size < 1 / _TINY:
        power = int(np.frexp(size)[1])
        w, scale = np.ldexp(w, -power), float(np.ldexp(scale, -power))
    rest = w - W @ (W.T @ w)
    rest -= W @ (W.T @ rest)  # two rounds are enough
    length = np.linalg.norm(rest)
    if length <= share * max(scale, float(np.linalg.norm(w))):
        return np.empty((len(w), 0))
    return rest[:, None] / length


def best_ratios(
    H: np.ndarray, F: np.ndarray, mu: float = 0.0, n: int = 0, noise: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the v that maximise v'H'Hv / v'(F'F + mu I)v one after the other.

    From the singular values of F, and those of H after F'F + mu I has been whitened: no scatter
    is formed, so squares cost no digits.

    Parameters
    ----------
    H, F : ndarray of shape (n_classes, r) and (n_samples, r)
        Factors of the two scatters.
    mu : float
        >= 0. With 0, the null space of F is dropped.
    n : int
        Number of samples that F was computed from, if more than it has rows.
    noise : float
        Singular values of F up to this are rounding, too.

    Returns
    -------
    ratios : ndarray of shape (k,)
        Descending; k is the smaller of n_classes and r, less what is dropped.
    V : ndarray of shape (r, k)
        V'(F'F + mu I)V = I.
    """
    F = triangle(F)
    _, s, Vt = linalg.svd(F, full_matrices=mu > 0)
    s = np.append(s, np.zeros(len(Vt) - len(s)))
    kept = (s > max(noise, rank_tolerance(F, s, n))) | (mu > 0)
    whitener = Vt[kept].T / np.sqrt(s[kept] ** 2 + mu)
    _, t, Ut = linalg.svd(H @ whitener, full_matrices=False)
    return t**2, whitener @ Ut.T


def rank_tolerance(F: Any, s: np.ndarray, n: int = 0) -> float:
    """Return a bound of the rounding in the singular values s of F, computed from n samples."""
    return float(max(n, *F.shape) * np.finfo(np.float64).eps * s.max(initial=0.0))


def row_basis(F: np.ndarray, n: int = 0, noise: float = 0.0) -> np.ndarray:
    """Return an orthonormal basis of the row space of F beyond noise, one vector a column."""
    _, s, Vt = linalg.svd(triangle(F), full_matrices=False)
    return Vt[s > max(noise, rank_tolerance(F, s, n))].T
