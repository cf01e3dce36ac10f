"""LSQR for several right-hand sides, which share each product with the matrix.

**Source**: C. C. Paige, M. A. Saunders, "LSQR: An Algorithm for Sparse Linear Equations and Sparse
Least Squares", ACM TOMS 8(1), 1982. Letters, tests and their order are those of
``scipy.sparse.linalg.lsqr``, which does one right-hand side at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from narrows.solve.sums import blocks
from narrows.solve.threads import each

_ROWS = 1 << 14  # in a part for one thread; sums of squares are added part by part
_EPS = np.finfo(np.float64).eps

Product = Callable[[np.ndarray, np.ndarray], Any]


def lsqr(
    products: tuple[Product, Product],
    B: np.ndarray,
    d: int,
    damp: float,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, int]:
    """Solve the least squares problems of several right-hand sides at once.

    ::

        minimise |A x - b|^2 + damp^2 |x|^2    for each column b of B

    Parameters
    ----------
    products : (callable, callable)
        A function of (V, out) that sets out = A V, and one of (U, out) that sets out = A'U.
    B : ndarray of shape (n_samples, k)
        Right-hand sides; overwritten.
    d : int
        n_features, the number of columns of A.
    damp, tol : float
        >= 0; tol is LSQR's atol and btol.
    max_iter : int
        The most iterations of one right-hand side.

    Returns
    -------
    X : ndarray of shape (n_features, k)
        Solutions; each is the same as if solved alone.
    n_iter : int
        The largest number of iterations.

    Notes
    -----
    **Cost** per iteration: two products with A, and O((n + d) k). Memory: four arrays of d k
    numbers and two of n k.
    """
    (times, transposed), damp2, k = products, damp**2, B.shape[1]
    U, AV = np.zeros_like(B), B
    V, W, X, AU = (np.zeros((d, k)) for _ in range(4))
    bnorm = beta = _less(AV, U, np.zeros(k))
    U *= _inverse(beta)
    transposed(U, AU)
    alfa = _less(AU, V, np.zeros(k))
    _advance(X, W, V, _inverse(alfa), np.zeros(k), np.zeros(k))
    rhobar, phibar = alfa, beta
    anorm, ddnorm, res2, xxnorm, z, sn2 = (np.zeros(k) for _ in range(6))
    cs2 = -np.ones(k)
    n_iter, going = 0, alfa * beta > 0
    while n_iter < max_iter and going.any():  # those that have stopped continue with the same x
        n_iter += 1
        times(V, AV)
        beta = _less(AV, U, alfa)
        U *= _inverse(beta)
        anorm = np.sqrt(anorm**2 + alfa**2 + beta**2 + damp2)
        transposed(U, AU)
        alfa = _less(AU, V, beta)

        # two plane rotations: against damp, and against beta
        rhobar1 = np.sqrt(rhobar**2 + damp2)
        psi, phibar = _share(damp * phibar, rhobar1), _share(rhobar * phibar, rhobar1)
        rho = np.hypot(rhobar1, beta)
        cs, sn = _share(rhobar1, rho), _share(beta, rho)
        theta, rhobar = sn * alfa, -cs * alfa
        phi, phibar = cs * phibar, sn * phibar
        tau = sn * phi
        t1, t2 = _share(phi, rho) * going, _share(-theta, rho)
        ddnorm = ddnorm + _advance(X, W, V, _inverse(alfa), t1, t2) * _inverse(rho) ** 2

        # and one from the right, for the length of x
        delta, gambar = sn2 * rho, -cs2 * rho
        rhs = phi - delta * z
        xnorm = np.sqrt(xxnorm + _share(rhs, gambar) ** 2)
        gamma = np.hypot(gambar, theta)
        cs2, sn2, z = _share(gambar, gamma), _share(theta, gamma), _share(rhs, gamma)
        xxnorm = xxnorm + z**2

        res2 = res2 + psi**2
        rnorm = np.sqrt(phibar**2 + res2)
        residual, size = _share(rnorm, bnorm), _share(anorm * xnorm, bnorm)
        gradient = alfa * np.abs(tau) / (anorm * rnorm + _EPS)
        condition = 1 / (anorm * np.sqrt(ddnorm) + _EPS)
        going &= (residual > tol + tol * size) & (gradient > tol)
        going &= (1 + residual / (1 + size) > 1) & (1 + gradient > 1) & (1 + condition > 1)
    return X, n_iter


def _less(A: np.ndarray, B: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Set B = A - B diag(by); return the lengths of the columns."""
    from narrows.solve.lsqr_steps import less

    return np.sqrt(sum(each(lambda rows: less(A[rows], B[rows], by), blocks(len(A), _ROWS))))


def _advance(
    X: np.ndarray, W: np.ndarray, V: np.ndarray, unit: np.ndarray, t1: np.ndarray, t2: np.ndarray
) -> np.ndarray:
    """Set V *= unit, X += t1 W, W = V + t2 W; return the squares of the columns of the old W."""
    from narrows.solve.lsqr_steps import advance

    return sum(
        each(lambda rows: advance(X[rows], W[rows], V[rows], unit, t1, t2), blocks(len(X), _ROWS))
    )


def _share(a: float | np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(len(b)), where=b != 0)


def _inverse(a: np.ndarray) -> np.ndarray:
    return _share(1.0, a)
