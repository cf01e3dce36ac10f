"""Discriminants, margins and components from two scatters, which sums determine.

Everything is solved in coordinates of few dimensions: the features themselves, or, where there are
fewer samples than features, the principal directions of the samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import blas, lapack

from narrows.solve.eigen import DROPPED, orthonormal, positive_eigh

_FIRM = 1e6  # times the noise: a ridge of less needs the span of the samples
_RIDGE = 2.0  # times the noise: the least ridge with which a Cholesky factorisation cannot fail


@dataclass
class Answer:
    """Directions, and what a classifier by them needs.

    Parameters
    ----------
    eigenvalues : ndarray of shape (k,)
        The value of the criterion for each direction, descending.
    W : ndarray of shape (n_features, k)
        One direction in each column.
    more : int
        A number of the method: directions that gain margin, or iterations.
    between : ndarray of shape (n_classes, k), optional
        N_j^(1/2) (m_j - m)'W.
    within : ndarray of shape (k, k), optional
        W'(n S_w + alpha I) W.
    unit : float
        The columns to return are W times this.
    """

    eigenvalues: np.ndarray
    W: np.ndarray
    more: int = 0
    between: np.ndarray | None = None
    within: np.ndarray | None = None
    unit: float = 1.0


@dataclass
class Scatter:
    """The total scatter and the class means, in k coordinates.

    Parameters
    ----------
    C : ndarray of shape (k, k)
        The lower triangle of the total scatter sum_i w_i (x_i - m)(x_i - m)', in Fortran order.
    H : ndarray of shape (n_classes, k)
        N_j^(1/2) (m_j - m), so that H'H is the scatter of the class means.
    n : float
        The weight of all samples.
    noise : float
        Eigenvalues of C up to this may be rounding.
    faint : float
        The length that a row of H may have by rounding.
    m : ndarray of shape (n_features,)
        The mean of the samples.
    basis : callable, optional
        Returns the directions of shape (n_features, p) with given coordinates of shape (k, p).
    place : callable, optional
        Returns the coordinates of samples less the mean, of shape (n_samples, k).
    """

    C: np.ndarray
    H: np.ndarray
    n: float
    noise: float
    faint: float
    m: np.ndarray
    basis: Callable[[np.ndarray], np.ndarray] = np.ascontiguousarray
    place: Callable[[Any], np.ndarray] | None = None

    def coordinates(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples less the mean, of shape (n_samples, k)."""
        if self.place is not None:
            return self.place(X)
        return (X.toarray() if sparse.issparse(X) else X) - self.m

    def spanned(self) -> Scatter:
        """Return the scatters in the span of the samples, without directions of rounding alone."""
        spread, Q = linalg.eigh(self.C, lower=True)
        kept = spread > max(self.noise, DROPPED * spread.max(initial=0.0))
        Q, C = Q[:, kept], np.asfortranarray(np.diag(spread[kept]))
        return Scatter(
            C, self.H @ Q, self.n, self.noise, self.faint, self.m,
            lambda V: self.basis(Q @ V), lambda X: self.coordinates(X) @ Q,
        )  # fmt: skip

    def ridge(self, alpha: float) -> float:
        """Return alpha, or the least ridge that is more than rounding."""
        return max(alpha, max(_RIDGE, len(self.C) / 16) * self.noise)

    def plus(self, alpha: float, overwrite: bool = False) -> np.ndarray:
        """Return the lower triangle of C + alpha I, with `overwrite` in the place of C."""
        C = self.C if overwrite else self.C.copy(order="F")
        C[np.diag_indices_from(C)] += alpha
        return C

    def within(self, alpha: float = 0.0) -> np.ndarray:
        """Return the lower triangle of n S_w + alpha I = C - H'H + alpha I."""
        W = self.plus(alpha)
        return blas.dsyrk(-1.0, self.H.T, beta=1.0, c=W, lower=1, overwrite_c=1)


def of_samples(X: Any, weight: np.ndarray, m: np.ndarray, H: np.ndarray, faint: float) -> Scatter:
    """Return the scatter of few samples of many features, in their principal directions.

    From the eigenvectors of the n x n matrix of the inner products of samples less their mean; in
    O(n^2 d) time.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        The samples; sparse ones stay sparse.
    weight : ndarray of shape (n_samples,)
        Positive.
    m : ndarray of shape (n_features,)
        Their mean.
    H, faint
        As for `Scatter`, in the features.
    """
    root = np.sqrt(weight)
    if sparse.issparse(X):
        Xm, XX = X @ m, (X @ X.T).toarray()
        K = root[:, None] * (XX - Xm[:, None] - Xm + m @ m) * root

        def times(Z: np.ndarray) -> np.ndarray:  # D (X - 1 m')'Z
            Z = root[:, None] * Z
            return X.T @ Z - np.outer(m, Z.sum(axis=0))

        def products(some: Any) -> np.ndarray:
            inner = (some @ X.T).toarray() - (some @ m)[:, None] - Xm + m @ m
            return inner * root
    else:
        F = root[:, None] * (X - m)
        K = F @ F.T

        def times(Z: np.ndarray) -> np.ndarray:
            return F.T @ Z

        def products(some: Any) -> np.ndarray:
            return (some - m) @ F.T

    noise = float(4 * np.finfo(np.float64).eps * max(K.trace(), 0.0))
    L, U = positive_eigh(K, noise)
    half = U / np.sqrt(L)
    HF = root[:, None] * (X @ H.T - m @ H.T)
    return Scatter(
        np.asfortranarray(np.diag(L)), (half.T @ HF).T, float(weight.sum()), noise, faint, m,
        lambda V: times(half @ V), lambda some: products(some) @ half,
    )  # fmt: skip


def discriminants(S: Scatter, alpha: float, total: bool = False, overwrite: bool = False) -> Answer:
    """Return the v that maximise v'H'H v / v'D v one after the other, with V'D V = I.

    D = n S_w + alpha I, or C + alpha I with `total`: the same directions in the same order, and the
    ratios r there are r / (1 + r) here. Those that are rounding are left out. With `overwrite`, C
    may be changed.

    Notes
    -----
    **Cost**: O(k^3 + k^2 c), a Cholesky factorisation. n S_w = C - H'H loses digits where nearly
    all scatter is between the classes: the relative error of a ratio r is about r times that of C.
    """
    if alpha <= _FIRM * S.noise:  # 1 / alpha would let rounding in
        S = S.spanned()
    if not S.C.size:
        return _nothing(S)
    alpha = S.ridge(alpha)
    factor = factorised(S.plus(alpha, overwrite) if total else S.within(alpha))
    T = lapack.dtrtrs(factor, np.asfortranarray(S.H.T), lower=1)[0]
    _, t, Ut = linalg.svd(T.T, full_matrices=False)
    found = t**2 > DROPPED * (t[:1] ** 2).max(initial=0.0)
    if not found.any():
        return _nothing(S)
    V = lapack.dtrtrs(factor, np.asfortranarray(Ut[found].T), lower=1, trans=1)[0]
    ratios, between = t[found] ** 2, S.H @ V
    within = np.diag(np.maximum(1 - ratios, 0.0)) if total else np.eye(len(ratios))
    return Answer(ratios, S.basis(V), 1, between, within)


def _nothing(S: Scatter) -> Answer:
    """Return the answer without directions."""
    W = S.basis(np.empty((len(S.C), 0)))
    return Answer(np.empty(0), W, 0, np.empty((len(S.H), 0)), np.empty((0, 0)))


def scaled(answer: Answer, n: float, by: str) -> Answer:
    """Return directions with scatter 1 / n within the classes, or times one number for all of them.

    Parameters
    ----------
    answer : Answer
        Whose `within` is diagonal.
    n : float
        The weight of all samples.
    by : {"mean", "within"}
        With "mean" the mean squared length of the directions is 1; with "within" W'(n S_w + alpha
        I) W = n I.
    """
    assert answer.within is not None
    assert answer.between is not None
    scatter = answer.within.diagonal()
    size = np.sqrt(n / np.maximum(scatter, DROPPED * scatter.max(initial=1.0)))
    if by == "mean" and len(size):
        size /= np.sqrt(np.mean((np.linalg.norm(answer.W, axis=0) * size) ** 2))
    within = answer.within * np.outer(size, size)
    return Answer(
        answer.eigenvalues, answer.W * size, answer.more, answer.between * size, within
    )  # fmt: skip


def rule(answer: Answer, counts: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the linear functions that classify: log posteriors of normal classes.

    With the common covariance Sigma = W'(n S_w + alpha I) W / n of the classes in the space of the
    directions, the log posterior of class j is, but for a term that all classes share,
    ``z'Sigma^-1 d_j - d_j'Sigma^-1 d_j / 2 + log p_j``, with z = W'(x - m) and d_j = W'(m_j - m).

    Parameters
    ----------
    answer : Answer
        With `between` and `within`.
    counts : ndarray of shape (n_classes,)
        N_j.
    centre : ndarray of shape (k,)
        W'm.

    Returns
    -------
    coef : ndarray of shape (k, n_classes)
    intercept : ndarray of shape (n_classes,)
        The log posteriors of x are W'x @ coef + intercept.
    """
    n, between, within = float(counts.sum()), answer.between, answer.within
    assert between is not None
    assert within is not None
    difference = between / np.sqrt(counts)[:, None]
    L, Q = linalg.eigh((within + within.T) / 2) if within.size else (np.empty(0), within)
    spread = max(L.max(initial=0.0), (between**2).sum(axis=0).max(initial=0.0))
    L = np.maximum(L, DROPPED * spread)  # classes without scatter are certain
    coef = n * (Q @ ((Q.T @ difference.T) / L[:, None]))
    offset = np.log(counts / n) - 0.5 * np.einsum("jk,kj->j", difference, coef)
    return coef, offset - centre @ coef


def rank_within(S: Scatter) -> int:
    """Return the rank of the scatter within the classes, beyond rounding."""
    L = linalg.eigvalsh(S.within(), lower=True)
    return int((L > max(S.noise, DROPPED * L.max(initial=0.0))).sum())


def leading(S: Scatter, between: float, total: float, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the p leading eigenpairs of (between H'H + total C) / n in the span of the samples.

    Directions outside of the span have the eigenvalue 0; where eigenvalues of others are less, the
    span is computed first.

    Returns
    -------
    eigenvalues : ndarray of shape (q,)
        Descending; q is p, or the dimension of the span.
    W : ndarray of shape (n_features, q)
        Orthonormal.

    Notes
    -----
    **Cost**: O(k^3).
    """
    k = len(S.C)
    p = min(p, k)
    if not p:
        return np.empty(0), S.basis(np.empty((k, 0)))
    L, V = linalg.eigh(
        _criterion(S.C, S.H, between, total), lower=True, subset_by_index=[k - p, k - 1]
    )
    if L[0] <= abs(total) * S.noise + DROPPED * np.abs(L).max():
        S = S.spanned()
        k = len(S.C)
        p = min(p, k)
        if not p:
            return np.empty(0), S.basis(np.empty((k, 0)))
        A = _criterion(S.C, S.H, between, total)
        L, V = linalg.eigh(A, lower=True, subset_by_index=[k - p, k - 1])
    return L[::-1] / S.n, orthonormal(S.basis(V[:, ::-1]))


def _criterion(C: np.ndarray, H: np.ndarray, between: float, total: float) -> np.ndarray:
    A = total * C
    if between and len(H):
        A = blas.dsyrk(between, H.T, beta=1.0, c=A, lower=1, overwrite_c=1)
    return A


def factorised(A: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of a matrix, given by its lower triangle, in its place."""
    factor, info = lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return factor
