"""Discriminants, margins and components from two scatters, which sums determine.

Everything is solved in coordinates of few dimensions: the features themselves, or, where there are
fewer samples than features, an orthonormal basis of what the samples span.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import blas, lapack

from narrows.errors import no_samples_have, warn
from narrows.solve.eigen import DROPPED, orthonormal
from narrows.solve.solution import Solution
from narrows.solve.sums import TINY, divided

_FIRM = 1e6  # times the noise: a ridge of less needs the span of the samples
VARIES = 1e3  # times the noise: a variance of less is rounding
_DEPENDENT = 1e-11  # relative: smaller singular values of H are rounding
_ATTEMPTS = 12  # at a Cholesky factorisation
_FAR = 1e3  # times: lengths of features that are in units far apart
_CLOSE = 1e-7  # of the scatter: a pivot below that leaves a direction too few digits
_GRADED = 1e-9  # eigenvalues below this share of the largest need the Jacobi method then
UNIT = 0.1  # the temperature of the outputs of regressions, if there is nothing to judge by


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
    few : Few, optional
        The samples, where the coordinates are those of few samples of many features.
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
    few: Few | None = None
    _spanned: dict[bool, Scatter] = field(default_factory=dict, init=False, repr=False)

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
        varies = squares > np.maximum(VARIES * self.noise, TINY)
        size = np.sqrt(squares[varies])
        C = self.C if varies.all() else self.C[np.ix_(varies, varies)]
        some = replace(self, C=C, H=self.H[:, varies], noise=self.noise[varies], few=None)

        def basis(V: np.ndarray) -> np.ndarray:
            W = np.zeros((len(varies), V.shape[1]))
            W[varies] = V / size[:, None]
            return self.basis(W)

        equal = replace(some.in_units(size), m=self.m[:0], basis=basis, penalty=1 / size / size)
        return equal, varies, size

    def in_units(self, size: np.ndarray) -> Scatter:
        """Return the scatters with coordinate i divided by size[i], with the same `basis`."""
        C = np.divide(self.C, size[:, None], order="F")
        C /= size
        return replace(self, C=C, H=self.H / size, noise=self.noise / size / size)

    def spanned(self, ridge: bool = True) -> Scatter:
        """Return the scatters in the span of the samples, without coordinates of rounding alone.

        What is rounding is decided in equal units. If the samples span all features that vary,
        the coordinates are those in equal units; else some of these, on which the others depend, by
        a Cholesky factorisation with pivots. The directions are then the shortest ones; without a
        `ridge`, others of the same scores where units are far apart.
        """
        if ridge not in self._spanned:
            few = None if ridge or self.few is None else self.few.in_equal_units()
            self._spanned[ridge] = few or self._in_equal_units(ridge)
        return self._spanned[ridge]

    def _in_equal_units(self, ridge: bool) -> Scatter:
        equal, varies, size = self.equilibrated()
        if equal.is_definite():
            return equal
        L, order, r, _ = lapack.dpstrf(equal.C, tol=equal.rounding, lower=1)
        first, others = order[:r] - 1, order[r:] - 1
        B = np.zeros((len(size), r))
        B[np.sort(first)] = np.diag(1 / size[np.sort(first)])
        if ridge or not far_apart(size):
            N = np.zeros((len(size), len(others)))  # directions in which all samples are equal
            T = linalg.solve_triangular(L[:r, :r], L[r:, :r].T, lower=True, trans=1)
            N[first], N[others] = np.where(np.abs(T) > DROPPED, T, 0.0), -np.eye(len(others))
            N = _orthonormal(N / size[:, None])
            for _ in range(2):
                B -= N @ (N.T @ B)
        W, first = np.zeros((len(varies), r)), np.sort(first)
        W[varies] = B
        return replace(
            equal, C=np.asfortranarray(equal.C[np.ix_(first, first)]), H=equal.H[:, first],
            noise=equal.noise[first], basis=lambda V: self.basis(W @ V), penalty=B.T @ B,
        )  # fmt: skip

    def principal(self) -> Scatter:
        """Return the scatters in the principal directions of the samples, without rounding alone.

        Where units are far apart, or hide directions, these are found by a Jacobi method, which
        computes small eigenvalues to as many digits as large ones.
        """
        spread, Q, found = _directions(self)
        if self.few is not None and self.is_far_apart:
            H, noise = self.few.H, self.few.squares()[1]
            basis: Callable[[np.ndarray], np.ndarray] = np.ascontiguousarray
            spread, Q = _graded(self.few.factor())
        else:
            H, noise, basis = self.H, self.noise, self.basis
            F = self._factor()
            graded = self.is_far_apart or F.shape[1] > found.sum()
            spread, Q = _graded(F) if graded else (spread[found], Q[:, found])
        noise = (np.abs(Q).T @ np.sqrt(noise)) ** 2
        return Scatter(
            np.asfortranarray(np.diag(spread)), H @ Q, self.n, noise, self.m, lambda V: basis(Q @ V)
        )

    @property
    def is_far_apart(self) -> bool:
        """Whether features are in units so far apart that products of samples lose digits."""
        size = self.few.size() if self.few is not None else self.equilibrated()[2]
        return far_apart(size[np.isfinite(size)])

    def _factor(self) -> np.ndarray:
        """Return F with C = F F' and as many columns as its rank."""
        equal, varies, size = self.equilibrated()
        L, order, r, _ = lapack.dpstrf(equal.C, tol=equal.rounding, lower=1)
        F, order = np.zeros((len(varies), r), order="F"), order - 1
        F[np.flatnonzero(varies)[order]] = size[order, None] * np.tril(L[:, :r])
        return F

    def is_definite(self) -> bool:
        """Whether all eigenvalues of C are more than rounding; no if that is a close call.

        **Cost**: a Cholesky factorisation, of C less what is surely more than rounding.
        """
        A = self.C.copy(order="F")
        A[np.diag_indices_from(A)] -= self.rounding
        return bool(lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)[1] == 0)

    @property
    def rounding(self) -> float:
        """An eigenvalue of C up to which it counts as rounding."""
        return float(max(self.noise.sum(), DROPPED * np.trace(self.C)))

    def with_ridge(self, alpha: float, overwrite: bool = False) -> np.ndarray:
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
        W = self.with_ridge(alpha, overwrite)
        if not W.size:
            return W
        return blas.dsyrk(-1.0, self.H.T, beta=1.0, c=W, lower=1, overwrite_c=1)


def far_apart(size: np.ndarray) -> bool:
    """Whether features of these lengths are in units so far apart that products lose digits."""
    return bool(len(size) and size.max() > _FAR * size.min())


def _directions(S: Scatter) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the eigenvalues and eigenvectors of C, and which of them are more than rounding."""
    spread, Q = eigh(S.C)
    return spread, Q, spread > max(S.noise.sum(), DROPPED * spread.max(initial=0.0))


def _orthonormal(N: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the columns of N, whose rows may be of any size.

    Notes
    -----
    Large rows and columns come first, so that small rows lose no digits: A. J. Cox, N. J. Higham,
    "Stability of Householder QR factorization for weighted least squares problems", 1998.
    """
    if not N.size:
        return N
    order = np.argsort(-np.abs(N).max(axis=1), kind="stable")
    Q = np.empty_like(N)
    Q[order] = linalg.qr(N[order] / np.abs(N).max(axis=0), mode="economic", pivoting=True)[0]
    return Q


def _graded(F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues and eigenvectors of F F', whose rows may be of any size.

    Notes
    -----
    By the preconditioned Jacobi method (LAPACK's dgejsv) of Z. Drmac, K. Veselic, "New Fast and
    Accurate Jacobi SVD Algorithm", SIAM J. Matrix Anal. Appl. 29(4), 2008.
    """
    order = np.argsort(-np.abs(F).max(axis=1), kind="stable")
    unit = np.ldexp(1.0, np.frexp(np.abs(F).max(initial=0.0))[1])
    size, U, _, work, _, info = lapack.dgejsv(F[order] / unit, joba=2, jobu=0, jobv=3)
    if info:
        raise np.linalg.LinAlgError("the principal directions were not found")
    Q = np.empty_like(U)
    Q[order] = U
    return (size * (work[0] / work[1] * unit)) ** 2, Q


@dataclass
class Few:
    """Few samples of many features: the parameters of `of_samples`."""

    X: Any
    weight: np.ndarray
    m: np.ndarray
    H: np.ndarray

    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the scatter of each feature, and how far it may be off by rounding."""
        squares = self.weight @ (self.X.power(2) if sparse.issparse(self.X) else self.X**2)
        noise = 4 * np.finfo(np.float64).eps * squares
        return np.maximum(squares - self.weight.sum() * self.m**2, 0.0), noise

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return the scatter of the features times vectors, without forming it."""
        Z = self.X @ V - self.m @ V
        Z = self.weight * Z if Z.ndim == 1 else self.weight[:, None] * Z
        return self.X.T @ Z - np.multiply.outer(self.m, Z.sum(axis=0))

    def size(self) -> np.ndarray:
        """Return the length of each feature about its mean; infinite where it is rounding."""
        squares, noise = self.squares()
        return np.sqrt(np.where(squares > np.maximum(VARIES * noise, TINY), squares, np.inf))

    def in_equal_units(self) -> Scatter | None:
        """Return the scatters with coordinates in equal units; None if units are alike."""
        size = self.size()
        if not far_apart(size[np.isfinite(size)]):
            return None
        X, m, H = (divided(each, size) for each in (self.X, self.m, self.H))
        S = of_samples(X, self.weight, m, H)
        return replace(S, m=self.m, basis=lambda V: S.basis(V) / size[:, None], few=None)

    def factor(self) -> np.ndarray:
        """Return F, of which F F' is the scatter of the features, where units are far apart."""
        S = self.in_equal_units()
        assert S is not None
        return np.asarray(self.squares()[0][:, None] * S.basis(linalg.cholesky(S.C, lower=True)))


def of_samples(X: Any, weight: np.ndarray, m: np.ndarray, H: np.ndarray) -> Scatter:
    """Return the scatter of few samples of many features, in an orthonormal basis of their span.

    By a Cholesky factorisation with pivots of the n x n matrix of the inner products of samples
    less their mean; in O(n^2 d) time. Where dense samples nearly depend on others, so that these
    products have lost too many digits, a QR factorisation of the samples follows.

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

    spread = max(float(K.trace()), 0.0)
    noise = 4 * np.finfo(np.float64).eps * spread
    least = max(noise, DROPPED * float(lapack.dlange("F", K)))
    L, order, k, _ = lapack.dpstrf(K, tol=noise, lower=1, overwrite_a=1)
    pivots = L.diagonal()[:k] ** 2
    depends = k < min(X.shape[0] - 1, X.shape[1]) or (pivots < _CLOSE * spread).any()
    if depends and not sparse.issparse(X):
        Q = linalg.qr(F.T, mode="economic", check_finite=False)[0]
        FQ, each = F @ Q, np.full(Q.shape[1], noise / Q.shape[1])
        return Scatter(
            np.asfortranarray(FQ.T @ FQ), H @ Q, float(weight.sum()), each, m,
            lambda V: Q @ V, lambda some: (some - m) @ Q, few=Few(X, weight, m, H),
        )  # fmt: skip
    k = int((pivots > least).sum())
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
        few=Few(X, weight, m, H),
    )  # fmt: skip


def discriminants(
    S: Scatter, alpha: float, total: bool = False, overwrite: bool = False
) -> Solution:
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
        return discriminants_of_span(S.spanned(alpha > 0), alpha, total)
    return discriminants_of_span(S, alpha, total, overwrite)


def discriminants_of_span(
    S: Scatter, alpha: float, total: bool = False, overwrite: bool = False
) -> Solution:
    """Return `discriminants` of scatters without directions of rounding."""
    if not S.C.size:
        return _nothing(S, alpha)
    factor = _factor(S, alpha, total, overwrite)
    T = lapack.dtrtrs(factor, np.asfortranarray(S.H.T), lower=1)[0]
    _, t, Ut = linalg.svd(T.T, full_matrices=False)
    found = t**2 > DROPPED * (t[:1] ** 2).max(initial=0.0)
    if not found.any():
        return _nothing(S, alpha)
    V = lapack.dtrtrs(factor, np.asfortranarray(Ut[found].T), lower=1, trans=1)[0]
    ratios, between = t[found] ** 2, S.H @ V
    within = np.diag(np.maximum(1 - ratios, 0.0)) if total else np.eye(len(ratios))
    return Solution.of_all(ratios, S.basis(V), between=between, within=within, alpha=alpha)


def correlated(S: Scatter, scale: np.ndarray) -> np.ndarray:
    """Return V with V'C V = I, in whose span the targets vary with the samples: that of C^-1 H'.

    The rows of H are multiplied by `scale`, so that all matter as much. How many directions there
    are follows from H in equal units of the features.

    Notes
    -----
    **Cost**: O(k^3), a Cholesky factorisation.
    """
    S = S.spanned(ridge=False)
    H = scale[:, None] * S.H
    if not H.size or not H.any():
        return S.basis(np.empty((len(S.C), 0)))
    _, s, R = linalg.svd(H, full_matrices=False)
    factor = _factor(S, 0.0, total=True, overwrite=False)
    T = lapack.dtrtrs(factor, np.asfortranarray(R[s > _DEPENDENT * s[0]].T), lower=1)[0]
    Q = linalg.qr(T, mode="economic", overwrite_a=True)[0]
    return S.basis(lapack.dtrtrs(factor, Q, lower=1, trans=1)[0])


def continued(S: Scatter, found: Solution, alpha: float, p: int) -> Solution:
    """Return p directions: those of `discriminants`, and then others, as far as there are any.

    The others maximise w'n S_w w / w'D w one after the other, for D = n S_w + alpha I, among the w
    that are orthogonal to all differences of class means. These are the principal directions of
    n S_w there, of the scatter s, in units in which w'D w = 1. Their eigenvalues are s / (s +
    alpha). All p directions satisfy W'D W = I. Directions that are rounding are left out.

    Notes
    -----
    **Cost**: O(k^3), an eigenproblem.
    """
    r, k = len(found.values), len(S.C)
    q = min(p, k) - r
    if q <= 0 or not r:  # without a direction that separates classes, none is of use
        return found
    Q = linalg.svd(S.H.T, full_matrices=False)[0][:, :r]  # what separates the class means
    CQ = blas.dsymm(1.0, S.C, Q, lower=1)
    T = CQ - Q @ (0.5 * (Q.T @ CQ))
    rest = blas.dsyr2k(-1.0, Q, T, beta=1.0, c=S.C, lower=1)  # (I - QQ') C (I - QQ')
    s, U = linalg.eigh(rest, lower=True, subset_by_index=[k - q, k - 1])
    more = s > max(S.noise.sum(), DROPPED * s.max(initial=0.0))
    s, U = s[more][::-1], U[:, more][:, ::-1]
    between = np.zeros((len(found.between), len(s)))
    within = np.append(found.within.diagonal(), np.ones(len(s)))
    return replace(
        found,
        values=np.append(found.values, s / (s + alpha)),
        W=np.hstack([found.W, S.basis(U / np.sqrt(s + alpha))]),
        between=np.hstack([found.between, between]),
        within=np.diag(within),
        separating=r,
        rank=r + len(s),
    )


def _factor(S: Scatter, alpha: float, total: bool, overwrite: bool) -> np.ndarray:
    """Return a Cholesky factor of C or n S_w plus the ridge.

    Where rounding leaves none, as much as it may be is added to each number of the diagonal, so
    that a coordinate of much rounding does not change the others.
    """
    more = 0.0
    for _ in range(1 if total and overwrite else _ATTEMPTS):
        D = S.with_ridge(alpha, overwrite) if total else S.within(alpha)
        D[np.diag_indices_from(D)] += more * S.noise
        factor, info = lapack.dpotrf(D, lower=1, clean=0, overwrite_a=1)
        if not info:
            return np.asarray(factor)
        more = max(16 * more, float(len(D)))
    raise np.linalg.LinAlgError(no_samples_have("a scatter that is not positive"))


def _nothing(S: Scatter, alpha: float) -> Solution:
    """Return the solution without directions."""
    W = S.basis(np.empty((len(S.C), 0)))
    between, within = np.empty((len(S.H), 0)), np.empty((0, 0))
    return Solution.of_all(np.empty(0), W, between=between, within=within, alpha=alpha)


def lengths(found: Solution, n: float) -> np.ndarray:
    """Return what to multiply directions by for unit variance within the classes.

    For w'(S_w + alpha/n I) w = 1, with the scatter S_w within the classes divided by n. If it is
    rounding in one of the directions, all directions have w'(C + alpha/n I) w = 1 instead, with the
    total scatter C, so that the directions that separate best are not the shortest.

    Parameters
    ----------
    found : Solution
        With `between` and `within`.
    n : float
        The weight of all samples.
    """
    within, between = found.within.diagonal(), (found.between**2).sum(axis=0)
    varies = within > DROPPED * (within + between)
    return np.sqrt(n / (within if varies.all() else within + between))


def rule(
    found: Solution, counts: np.ndarray, centre: np.ndarray, regresses: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the linear functions that classify: log posteriors of normal classes.

    Or outputs of `regressions`, of more than two classes.

    With the common covariance Sigma = W'(n S_w + alpha I) W / n of the classes in the space of the
    directions, the log posterior of class j is, but for a term that all classes share,
    ``z'Sigma^-1 d_j - d_j'Sigma^-1 d_j / 2 + log p_j``, with z = W'(x - m) and d_j = W'(m_j - m).

    Parameters
    ----------
    found : Solution
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
    n, between, within = float(counts.sum()), found.between, found.within
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
    noise = S.noise.sum() * max(1.0, np.sqrt(S.n))  # single roundings add up like a random walk
    return int((L > max(noise, DROPPED * L.max(initial=0.0))).sum())


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
    size, graded = np.abs(L), False
    if len(L) and L[-1] <= abs(total) * S.noise.sum() + DROPPED * size.max():
        graded = not S.is_definite()
    small = len(L) and (p > len(L) or size.min() <= _GRADED * size.max())
    if graded or (small and S.is_far_apart):
        hides, S, graded = S.is_far_apart, S.principal(), True
        L, V = _leading(S, between, total, p)
        if hides and between and len(L) and np.abs(L).min() <= DROPPED * S.C.max():
            warn(
                "expected features in units less far apart, got directions whose "
                "eigenvalues are rounding beside the largest. Use standardize=True, or fewer "
                "components."
            )
    W = S.basis(V)
    return L / S.n, W if graded or not len(L) else orthonormal(W)


def _leading(S: Scatter, between: float, total: float, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the p leading eigenpairs of between H'H + total C in coordinates, or all there are."""
    k = len(S.C)
    if not min(p, k):
        return np.empty(0), np.empty((k, 0))
    A = total * S.C
    if between and len(S.H):
        A = blas.dsyrk(between, S.H.T, beta=1.0, c=A, lower=1, overwrite_c=1)
    L, V = eigh(A, min(p, k))
    return L[::-1], V[:, ::-1]


def eigh(A: np.ndarray, p: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the p largest eigenvalues of a lower triangle, ascending, and the eigenvectors.

    The matrix may be of any size: it is divided by a power of two, so that no square underflows.
    """
    power, k = int(np.frexp(np.abs(A).max(initial=0.0))[1]), len(A)
    some = None if p is None else [k - p, k - 1]
    L, V = linalg.eigh(np.ldexp(A, -power), lower=True, subset_by_index=some)
    return np.ldexp(L, power), V
