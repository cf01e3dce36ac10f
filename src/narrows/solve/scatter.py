"""Discriminants, margins and components from two scatters, which sums determine.

Everything is solved in coordinates of few dimensions: the features themselves, or, where there are
fewer samples than features, an orthonormal basis of what the samples span.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import blas, lapack

from narrows.errors import no_samples_have
from narrows.solve.eigen import DROPPED, orthonormal
from narrows.solve.sums import divided

_FIRM = 1e6  # times the noise: a ridge of less needs the span of the samples
VARIES = 1e3  # times the noise: a variance of less is rounding
_SMALLEST = 1e-290  # a variance of less has no inverse
_ATTEMPTS = 12  # at a Cholesky factorisation
UNIT = 0.1  # the temperature of the outputs of regressions, if there is nothing to judge by


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
    alpha : float, optional
        The ridge that was used, where there is one.
    separating : int, optional
        How many of the directions, the first ones, separate the classes; all by default.
    regresses : bool
        Whether they are solutions of regressions, by whose outputs to predict.
    """

    eigenvalues: np.ndarray
    W: np.ndarray
    more: int = 0
    between: np.ndarray | None = None
    within: np.ndarray | None = None
    unit: float = 1.0
    alpha: float | None = None
    separating: int | None = None
    regresses: bool = False

    def of_features(self, unit: np.ndarray | None) -> Answer:
        """Return the directions of the features, from those of features divided by their unit."""
        return self if unit is None else replace(self, W=self.W / unit[:, None])


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
    noise : ndarray of shape (k,)
        How far each number of the diagonal of C may be off by rounding; C_ij by the root of the
        product of those of i and j, and an eigenvalue of C by their sum.
    m : ndarray of shape (n_features,)
        The mean of the samples.
    basis : callable, optional
        Returns the directions of shape (n_features, p) with given coordinates of shape (k, p).
    place : callable, optional
        Returns the coordinates of samples less the mean, of shape (n_samples, k).
    penalty : ndarray of shape (k,) or (k, k), optional
        The diagonal, or the whole, of the symmetric matrix that a ridge is multiplied by; the
        identity by default.
    unit : ndarray of shape (n_features,), optional
        What features are divided by first: H, m and the directions of `basis` are those of the
        quotients.
    """

    C: np.ndarray
    H: np.ndarray
    n: float
    noise: np.ndarray
    m: np.ndarray
    basis: Callable[[np.ndarray], np.ndarray] = np.ascontiguousarray
    place: Callable[[Any], np.ndarray] | None = None
    penalty: np.ndarray | None = None
    unit: np.ndarray | None = None

    def coordinates(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples less the mean, of shape (n_samples, k)."""
        if self.unit is not None:
            X = divided(X, self.unit)
        if self.place is not None:
            return self.place(X)
        return (X.toarray() if sparse.issparse(X) else X) - self.m

    def equilibrated(self) -> tuple[Scatter, np.ndarray, np.ndarray]:
        """Return the scatters in units in which the features that vary have the variance 1 / n.

        So units of features do not decide what is rounding.

        Returns
        -------
        scatter : Scatter
        varies : ndarray of shape (k,)
            Which coordinates are in it.
        size : ndarray
            The unit of each of them.
        """
        squares = self.C.diagonal()
        varies = squares > np.maximum(VARIES * self.noise, _SMALLEST)
        size = np.sqrt(squares[varies])
        C = self.C if varies.all() else self.C[np.ix_(varies, varies)]
        some = replace(self, C=C, H=self.H[:, varies], noise=self.noise[varies])

        def basis(V: np.ndarray) -> np.ndarray:
            W = np.zeros((len(varies), V.shape[1]))
            W[varies] = V / size[:, None]
            return self.basis(W)

        equal = replace(some.over(size), m=self.m[:0], basis=basis, penalty=1 / size / size)
        return equal, varies, size

    def over(self, size: np.ndarray) -> Scatter:
        """Return the scatters with coordinate i divided by size[i], with the same `basis`."""
        C = np.divide(self.C, size[:, None], order="F")
        C /= size
        return replace(self, C=C, H=self.H / size, noise=self.noise / size / size)

    def spanned(self) -> Scatter:
        """Return the scatters in the span of the samples, without directions of rounding alone.

        What is rounding is decided in equal units. If the samples span all features that vary,
        the coordinates are those in equal units; else the principal directions, unless rounding
        hides some of them.
        """
        equal, _, size = self.equilibrated()
        if equal.is_definite():
            return equal
        spread, Q, found = _directions(equal)
        if found.all():
            return equal
        if found.sum() <= _directions(self)[2].sum():
            return self.principal()
        Q = Q[:, found]
        C, penalty = np.asfortranarray(np.diag(spread[found])), Q.T @ (Q / size[:, None] ** 2)
        noise = (np.abs(Q).T @ np.sqrt(equal.noise)) ** 2
        return Scatter(
            C, equal.H @ Q, self.n, noise, self.m, lambda V: equal.basis(Q @ V), penalty=penalty
        )

    def principal(self) -> Scatter:
        """Return the scatters in the principal directions of the samples, without rounding alone.

        Where the units of features differ so much that rounding hides directions, these are found
        by a Jacobi method, which computes small eigenvalues to as many digits as large ones.
        """
        spread, Q, found = _directions(self)
        if not found.all():
            equal, varies, size = self.equilibrated()
            squares, P, more = _directions(equal)
            if more.sum() > found.sum():
                F = np.zeros((len(varies), more.sum()), order="F")
                F[varies] = size[:, None] * (P[:, more] * np.sqrt(squares[more]))
                spread, Q = _graded(F)
                found = np.ones(len(spread), dtype=bool)
        Q, C = Q[:, found], np.asfortranarray(np.diag(spread[found]))
        noise = (np.abs(Q).T @ np.sqrt(self.noise)) ** 2
        return Scatter(C, self.H @ Q, self.n, noise, self.m, lambda V: self.basis(Q @ V))

    def is_definite(self) -> bool:
        """Whether all eigenvalues of C are more than rounding; no if that is a close call.

        **Cost**: a Cholesky factorisation, of C less what is surely more than rounding.
        """
        A = self.C.copy(order="F")
        A[np.diag_indices_from(A)] -= max(self.noise.sum(), DROPPED * np.trace(A))
        return bool(lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)[1] == 0)

    def plus(self, alpha: float, overwrite: bool = False) -> np.ndarray:
        """Return the lower triangle of C + alpha P, with `overwrite` in the place of C.

        P is the penalty.
        """
        C = self.C if overwrite else self.C.copy(order="F")
        if self.penalty is None or self.penalty.ndim == 1:
            C[np.diag_indices_from(C)] += alpha if self.penalty is None else alpha * self.penalty
        elif alpha:
            C += alpha * self.penalty
        return C

    def within(self, alpha: float = 0.0, overwrite: bool = False) -> np.ndarray:
        """Return the lower triangle of n S_w + alpha P = C - H'H + alpha P, as `plus`."""
        W = self.plus(alpha, overwrite)
        if not W.size:
            return W
        return blas.dsyrk(-1.0, self.H.T, beta=1.0, c=W, lower=1, overwrite_c=1)


def _directions(S: Scatter) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the eigenvalues and eigenvectors of C, and which of them are more than rounding."""
    spread, Q = linalg.eigh(S.C, lower=True)
    return spread, Q, spread > max(S.noise.sum(), DROPPED * spread.max(initial=0.0))


def _graded(F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues and eigenvectors of F F', whose rows may be of any size.

    Notes
    -----
    By the preconditioned Jacobi method (LAPACK's dgejsv) of Z. Drmac, K. Veselic, "New Fast and
    Accurate Jacobi SVD Algorithm", SIAM J. Matrix Anal. Appl. 29(4), 2008.
    """
    order = np.argsort(-np.abs(F).max(axis=1), kind="stable")
    size, U, _, work, _, info = lapack.dgejsv(F[order], joba=2, jobu=0, jobv=3)
    if info:
        raise np.linalg.LinAlgError("the principal directions were not found")
    Q = np.empty_like(U)
    Q[order] = U
    return (size * (work[0] / work[1])) ** 2, Q


def of_samples(X: Any, weight: np.ndarray, m: np.ndarray, H: np.ndarray) -> Scatter:
    """Return the scatter of few samples of many features, in an orthonormal basis of their span.

    By a Cholesky factorisation with pivots of the n x n matrix of the inner products of samples
    less their mean; in O(n^2 d) time.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        The samples; sparse ones stay sparse.
    weight : ndarray of shape (n_samples,)
        Positive.
    m : ndarray of shape (n_features,)
        Their mean.
    H : ndarray of shape (n_classes, n_features)
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
    least = max(noise, DROPPED * float(lapack.dlange("F", K)))
    L, order, k, _ = lapack.dpstrf(K, tol=least, lower=1, overwrite_a=1)
    L, first = np.tril(L[:, :k]), order[:k] - 1  # those samples span all of them
    solved = partial(linalg.solve_triangular, L[:k], lower=True, check_finite=False)

    def basis(V: np.ndarray) -> np.ndarray:
        Z = np.zeros((len(L), V.shape[1]))
        Z[first] = solved(V, trans=1)
        return times(Z)

    HF = root[first, None] * (X[first] @ H.T - m @ H.T)
    return Scatter(
        np.asfortranarray(L.T @ L), solved(HF).T, float(weight.sum()),
        np.full(k, noise / max(1, k)), m, basis, lambda some: solved(products(some)[:, first].T).T,
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
    if alpha <= _FIRM * S.noise.sum():  # 1 / alpha would let rounding in
        S = S.spanned()
    return discriminants_of_span(S, alpha, total, overwrite)


def discriminants_of_span(
    S: Scatter, alpha: float, total: bool = False, overwrite: bool = False
) -> Answer:
    """Return `discriminants` of scatters without directions of rounding."""
    if not S.C.size:
        return _nothing(S)
    factor, alpha = _factor(S, alpha, total, overwrite)
    T = lapack.dtrtrs(factor, np.asfortranarray(S.H.T), lower=1)[0]
    _, t, Ut = linalg.svd(T.T, full_matrices=False)
    found = t**2 > DROPPED * (t[:1] ** 2).max(initial=0.0)
    if not found.any():
        return _nothing(S)
    V = lapack.dtrtrs(factor, np.asfortranarray(Ut[found].T), lower=1, trans=1)[0]
    ratios, between = t[found] ** 2, S.H @ V
    within = np.diag(np.maximum(1 - ratios, 0.0)) if total else np.eye(len(ratios))
    return Answer(ratios, S.basis(V), 1, between, within, alpha=alpha)


def continued(S: Scatter, answer: Answer, alpha: float, p: int) -> Answer:
    """Return p directions: those of `discriminants`, and then others, as far as there are any.

    The others maximise w'n S_w w / w'D w one after the other, for D = n S_w + alpha I, among the w
    that are orthogonal to all differences of class means. These are the principal directions of
    n S_w there, of the scatter s, in units in which w'D w = 1. Their eigenvalues are s / (s +
    alpha). All p directions satisfy W'D W = I. Directions that are rounding are left out.

    Notes
    -----
    **Cost**: O(k^3), an eigenproblem.
    """
    r, k = len(answer.eigenvalues), len(S.C)
    q = min(p, k) - r
    if q <= 0 or not r:  # without a direction that separates classes, none is of use
        return answer
    assert answer.between is not None
    assert answer.within is not None
    Q = linalg.svd(S.H.T, full_matrices=False)[0][:, :r]  # what separates the class means
    CQ = blas.dsymm(1.0, S.C, Q, lower=1)
    T = CQ - Q @ (0.5 * (Q.T @ CQ))
    rest = blas.dsyr2k(-1.0, Q, T, beta=1.0, c=S.C, lower=1)  # (I - QQ') C (I - QQ')
    s, U = linalg.eigh(rest, lower=True, subset_by_index=[k - q, k - 1])
    found = s > max(S.noise.sum(), DROPPED * s.max(initial=0.0))
    s, U = s[found][::-1], U[:, found][:, ::-1]
    between = np.zeros((len(answer.between), len(s)))
    within = np.append(answer.within.diagonal(), np.ones(len(s)))
    return replace(
        answer,
        eigenvalues=np.append(answer.eigenvalues, s / (s + alpha)),
        W=np.hstack([answer.W, S.basis(U / np.sqrt(s + alpha))]),
        between=np.hstack([answer.between, between]),
        within=np.diag(within),
        separating=r,
    )


def _factor(S: Scatter, alpha: float, total: bool, overwrite: bool) -> tuple[np.ndarray, float]:
    """Return a Cholesky factor of C or n S_w plus the ridge, and the ridge.

    The ridge is `alpha`; or the least one of a few with which there is a factor, if rounding leaves
    none.
    """
    if total:  # C is not singular in the span of the samples
        return factorised(S.plus(alpha, overwrite)), alpha
    for _ in range(_ATTEMPTS):
        try:
            return factorised(S.within(alpha)), alpha
        except np.linalg.LinAlgError:
            alpha = max(16 * alpha, float(S.noise.sum()))
    return factorised(S.within(alpha)), alpha


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
        With "mean" the mean squared length of the directions that separate the classes is 1; with
        "within" W'(n S_w + alpha I) W = n I.
    """
    assert answer.within is not None
    assert answer.between is not None
    scatter = answer.within.diagonal()
    size = np.sqrt(n / np.maximum(scatter, DROPPED * scatter.max(initial=1.0)))
    if by == "mean" and len(size):
        length = (np.linalg.norm(answer.W, axis=0) * size)[: answer.separating]
        size /= np.sqrt(np.mean(length**2))
    within = answer.within * np.outer(size, size)
    return replace(answer, W=answer.W * size, between=answer.between * size, within=within)


def rule(
    answer: Answer, counts: np.ndarray, centre: np.ndarray, regresses: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the linear functions that classify: log posteriors of normal classes.

    Or outputs of `regressions`, of more than two classes.

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
    if regresses and len(counts) > 2:
        coef, offset = regressions(difference, coef, counts)
    else:
        offset = np.log(counts / n) - 0.5 * np.einsum("jk,kj->j", difference, coef)
    return coef, offset - centre @ coef


def regressions(
    d: np.ndarray, coef: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients and offsets of ridge regressions of the indicators of the classes.

    Their outputs, divided by `UNIT`, are ``p_j + (x - m)'(C + alpha I)^-1 N_j d_j`` for the total
    scatter C. **Cost**: O(n_classes k min(n_classes, k)).

    Parameters
    ----------
    d : ndarray of shape (n_classes, k)
        d_j.
    coef : ndarray of shape (k, n_classes)
        Sigma^-1 d_j.
    counts : ndarray of shape (n_classes,)
        N_j.
    """
    share = counts / counts.sum()
    if len(counts) <= len(coef):
        found = coef @ np.linalg.inv(d @ coef + np.diag(1 / share))
    else:
        found = np.linalg.solve(np.eye(len(coef)) + (coef * share) @ d, coef * share)
    return found / UNIT, share / UNIT


def rank_within(S: Scatter) -> int:
    """Return the rank of the scatter within the classes, beyond rounding."""
    L = linalg.eigvalsh(S.within(), lower=True)
    return int((L > max(S.noise.sum(), DROPPED * L.max(initial=0.0))).sum())


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
    L, V = _leading(S, between, total, p)
    is_rounding = len(L) and L[-1] <= abs(total) * S.noise.sum() + DROPPED * np.abs(L).max()
    if is_rounding and not S.is_definite():
        S = S.principal()
        L, V = _leading(S, between, total, p)
    W = S.basis(V)
    return L / S.n, orthonormal(W) if len(L) else W


def _leading(S: Scatter, between: float, total: float, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the p leading eigenpairs of between H'H + total C in coordinates, or all there are."""
    k = len(S.C)
    if not min(p, k):
        return np.empty(0), np.empty((k, 0))
    A = total * S.C
    if between and len(S.H):
        A = blas.dsyrk(between, S.H.T, beta=1.0, c=A, lower=1, overwrite_c=1)
    L, V = linalg.eigh(A, lower=True, subset_by_index=[max(0, k - p), k - 1])
    return L[::-1], V[:, ::-1]


def factorised(A: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of a matrix, given by its lower triangle, in its place."""
    factor, info = lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError(no_samples_have("a scatter that is not positive"))
    return factor
