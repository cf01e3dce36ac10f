"""Regressions of several targets by a few linear functions of the features.

A solution is an `Answer` whose `between`, of shape (n_targets, k), has the coefficients of the
directions: the first p directions predict the targets by ``W[:, :p] @ between[:, :p].T``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from narrows.solve.exact import Centred, lsqr
from narrows.solve.forward import explained
from narrows.solve.scatter import Few, Scatter
from narrows.solve.solution import Solution

_EPS = float(np.finfo(np.float64).eps)
_STEPS, _TOL = 1000, 1e-12  # of LSQR
_NOTHING = 2e3  # times the rounding of a product of a feature and a target

Product = Callable[[np.ndarray], np.ndarray]


def pls(
    times: Product, XY: np.ndarray, most: int, noise: np.ndarray, squares: np.ndarray
) -> Solution:
    """Return the components of partial least squares, by improved kernel PLS.

    Parameters
    ----------
    times : callable
        Returns the product of the scatter of the features with a vector.
    XY : ndarray of shape (n_features, n_targets)
        The products of features and targets, about their means.
    most : int
        The number of components to compute; there are fewer where they explain all that is more
        than rounding.
    noise : ndarray of shape (n_features,)
        How far each number of the diagonal of the scatter may be off by rounding.
    squares : ndarray of shape (n_targets,)
        The sum of squares of each target about its mean.

    Returns
    -------
    found : Solution
        The rotations, of which X W are the scores, and the loadings of the targets. The eigenvalues
        are the sums of squares of the targets that each component explains.

    Notes
    -----
    What is rounding is judged in equal units: a number of XY by the lengths of its feature and
    target, and a score by those of the features in it. A direction w that is rounding makes no
    component; those that follow are orthogonal to it, as all w are to each other.

    **Cost** for each component: two products with the scatter, O(d (k + q)) and O(d q^2).

    **Source**: B. S. Dayal, J. F. MacGregor, "Improved PLS algorithms", Journal of Chemometrics
    11(1), 1997, algorithm 2. The rotations are made orthogonal to the loadings twice, since
    rounding adds up otherwise.
    """
    d, q = XY.shape
    R, P, Q = np.empty((d, most)), np.empty((d, most)), np.empty((q, most))
    explained, W = np.empty(most), np.empty((d, 0))
    power = int(np.frexp(np.abs(XY).max(initial=0.0))[1])  # so that squares are finite
    XY, k, size = np.ldexp(XY, -power), 0, np.sqrt(np.maximum(noise, 0.0))
    least = np.outer(size, np.ldexp(_NOTHING * np.sqrt(_EPS * squares), -power))
    while k < most and W.shape[1] < d:
        XY[np.abs(XY) <= least] = 0.0
        w = XY[:, 0] if q == 1 else XY @ linalg.eigh(XY.T @ XY)[1][:, -1]
        length = np.linalg.norm(w)
        if not length > 0:
            break
        w = w / length
        W, r = np.column_stack([W, w]), w
        for _ in range(2):
            r = r - R[:, :k] @ (P[:, :k].T @ r)
        product = times(r)
        square = float(r @ product)
        if square > (np.abs(r) @ size) ** 2:
            R[:, k], P[:, k], Q[:, k] = r, product / square, XY.T @ r / square
            XY -= np.outer(product, Q[:, k])
            explained[k] = float(np.sum((np.sqrt(square) * Q[:, k]) ** 2))
            k += 1
        XY -= W @ (W.T @ XY)
    loadings = np.ascontiguousarray(np.ldexp(Q[:, :k], power).T)
    return Solution.of_all(np.ldexp(explained[:k], 2 * power), R[:, :k], loadings=loadings)


def pls_of_scatter(S: Scatter, most: int, squares: np.ndarray) -> Solution:
    """Return `pls` of a scatter and its products with the targets.

    Of few samples, it is that of the samples, whose inner products hide features of small units.
    """
    if S.few is not None:
        most, noise = min(most, *S.few.X.shape), S.few.squares()[1]
        return pls(S.few.times, S.few.H.T, most, noise, squares)

    def times(v: np.ndarray) -> np.ndarray:
        return np.asarray(blas.dsymv(1.0, S.C, v, lower=1))

    found = pls(times, S.H.T, min(most, len(S.C)), S.noise, squares)
    W = S.basis(found.W)
    return replace(found, n_features=len(W), W=W)


def pls_of_samples(A: Centred, Y: np.ndarray, most: int) -> Solution:
    """Return `pls` of samples, by products with them; Y are the targets of the rows of A."""
    few = Few(A.X, A.root**2, A.m, A.rmatmat(Y).T)
    squares = np.einsum("ij,ij->j", Y, Y)
    return pls(few.times, few.H.T, min(most, *A.shape), few.squares()[1], squares)


def reduced_rank_of_samples(A: Centred, Y: np.ndarray, alpha: float) -> Solution:
    """Return the components of ridge regression, best first, from that of each target by LSQR.

    The first p of them minimise ``|Y - X B|^2 + alpha |B|^2`` over all B of rank p. Their
    eigenvalues are by how much each lowers that sum.

    Notes
    -----
    B is the p leading parts of the singular value decomposition of L^-1 X'Y, for the Cholesky
    factor L of C + alpha I. So `discriminants`, with `total`, gives the same of a scatter that has
    the rows of Y'X in the place of class means.

    **Source**: A. Mukherjee, J. Zhu, "Reduced rank ridge regression and its kernel extensions",
    Statistical Analysis and Data Mining 4(6), 2011.
    """
    unit = float(2.0 ** np.round(np.log2(A.length or 1.0)))  # LSQR expects numbers of about 1
    size = np.linalg.norm(Y, axis=0)
    T = Y / np.where(size > 0, size, 1.0)
    damp = np.sqrt(alpha) / unit
    B, steps = lsqr(A.divided_by(unit).products(), T, A.shape[1], damp, _TOL, _STEPS)
    B *= size / unit
    Z = np.vstack([A.matmat(B), np.sqrt(alpha) * B])
    products = Z.T @ Z
    squares, V = linalg.eigh(products)
    lengths = np.sqrt(np.where(products.diagonal() > 0, products.diagonal(), 1.0))  # of targets
    alike = linalg.eigvalsh(products / lengths / lengths[:, None])
    rounding = 4 * _EPS * np.sqrt(len(Z)) * len(squares)  # of the products, and of the eigenproblem
    rank = int((alike > rounding * alike.max(initial=0.0)).sum())
    found = squares > _EPS * squares.max(initial=0.0)
    found[: len(found) - rank] = False
    squares, V = squares[found][::-1], V[:, found][:, ::-1]
    length = np.sqrt(squares)
    loadings = np.ascontiguousarray((V * length).T)
    return Solution.of_all(squares, B @ V / length, loadings=loadings, n_iter=steps)


def held_out_shares(
    fold: Scatter, found: Solution, away: np.ndarray, off: np.ndarray, total: float
) -> np.ndarray:
    """Return the share of the targets of other samples that the first p directions explain.

    Parameters
    ----------
    fold : Scatter
        Of the other samples, in the features.
    found : Solution
        The directions and their loadings.
    away, off : ndarray of shape (n_features,) and (n_targets,)
        The mean of the other samples, and of their targets, less those of the samples that the
        answer is of.
    total : float
        The mean of |t|^2 of the targets of the other samples, about the latter mean.
    """
    W, Q = found.W, found.loadings
    a = away @ W
    C = W.T @ blas.dsymm(1.0, fold.C, W, lower=1) / fold.n + np.outer(a, a)
    K = (fold.H @ W).T / fold.n + np.outer(a, off)
    return explained(K, C, Q) / (total or 1.0)
