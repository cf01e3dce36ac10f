"""Solutions from all samples at once: the samples as an operator, regressions, eigenvectors."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from narrows.solve.eigen import (
    best_ratios,
    orthogonal_part,
    positive_eigh,
    rank_tolerance,
    triangle,
)
from narrows.solve.products import BlockProducts, map_on_cores
from narrows.solve.scatter import Scatter, leading, of_samples
from narrows.solve.solution import Solution
from narrows.solve.sums import BLOCK, blocks, class_sums, row_squares, with_values

_ROUNDING = 1e-15
_LOST = 1e6  # times: lengths of features of which the small ones are lost beside the large ones
LARGEST = 1e40  # entries that are larger, or all below its inverse, are rescaled
_HEAVY = 1e20  # the same for weights
_QR_ROWS = 1 << 13  # the fewest rows of one QR decomposition
SMALL_SIDE = 1_000  # rows or columns up to which a square array is always formed
_LARGEST_SIDE = 4_000  # rows or columns up to which it is formed where nothing else works
_RESTARTS = 100  # of Lanczos
_ROOM = 1 << 24  # numbers in each array for a group of responses
_VARIES = 1e-12  # of the root mean square: a standard deviation of less is rounding
_NOTHING = 1e-9  # eigenvalues below this share of a typical one count as 0
_SMALL = 1 << 16  # numbers: fewer are not worth loading a compiled loop
_LSQR_ROWS = 1 << 14  # in a part for one thread; sums of squares are added part by part
_EPS = np.finfo(np.float64).eps

Product = Callable[[np.ndarray, np.ndarray], Any]


def occupied(X: Any) -> np.ndarray | None:
    """Return the columns of a sparse X that are not empty, if most are empty; else None."""
    if not sparse.issparse(X):
        return None
    holds = np.zeros(X.shape[1], dtype=bool)
    holds[X.indices] = True
    return np.flatnonzero(holds) if 2 * holds.sum() < len(holds) else None


class Centred(LinearOperator):
    """The operator A = D (X - 1 m'), with D the roots of the weights.

    So A'A is the total scatter sum_i w_i (x_i - m)(x_i - m)', n times the covariance. With E, of
    shape (n_samples, n_classes), the orthonormal class indicators, E_ij = (w_i / N_j)^(1/2) where
    sample i is of class j, (E'A)'E'A is the scatter of the class means.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Finite. Sparse samples are not copied; dense ones are copied and centred, since a large
        offset would cost digits.
    codes : ndarray of shape (n_samples,)
        The class of each sample, from 0 to n_classes - 1; no class is empty.
    weight : ndarray of shape (n_samples,)
        Positive.

    Attributes
    ----------
    is_sparse : bool
        Whether X is.
    largest : float
        The largest magnitude in the given X.
    power, weight_power : int
        X is held times 2^-power, and weights are times 2^-weight_power, an even number, so that
        fourth powers are finite: `largest` is then about 1. 0 for ordinary numbers, and for a part
        of a larger data set.
    counts : ndarray of shape (n_classes,)
        N_j, the weight of each class.
    mean : ndarray of shape (n_features,)
        The mean of X times 2^-power.
    length : float
        The Frobenius norm of X as it is held.
    squares : float
        sum_i w_i |x_i|^2 of X as it is held.
    noise : float
        The length that a row of `between` may have by rounding.
    """

    def __init__(self, X: Any, codes: np.ndarray, weight: np.ndarray):
        self.power = self.weight_power = 0
        if not 1 / _HEAVY < weight.max() < _HEAVY:
            self.weight_power = int(np.frexp(weight.max())[1]) // 2 * 2
            weight = np.ldexp(weight, -self.weight_power)
        self.codes, self.root, self.n = codes, np.sqrt(weight), float(weight.sum())
        self.counts: np.ndarray = np.bincount(codes, weight)
        self.is_sparse = sparse.issparse(X)
        origin = np.zeros(X.shape[1])
        values = X.data if self.is_sparse else X
        self.largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
        if self.largest and not 1 / LARGEST < self.largest < LARGEST:
            self.power = int(np.frexp(self.largest)[1])
            values = np.ldexp(values.astype(np.float64), -self.power)
            X = with_values(X, values) if self.is_sparse else values
        if not self.is_sparse:
            for rows in blocks(len(X), max(1, BLOCK // X.shape[1])):
                origin += weight[rows] @ X[rows].astype(np.float64, copy=False)
            origin /= self.n
            X = X - origin
        self.X = X.astype(np.float64, copy=False)
        self.m = (weight @ self.X) / self.n  # the rounding of the origin, if dense
        self.mean = origin + self.m
        self.length = float(np.linalg.norm(self.X.data if self.is_sparse else self.X))
        self.squares = float(self.root**2 @ row_squares(self.X))
        super().__init__(np.float64, (len(self.codes), len(self.m)))
        far, heaviest = 1e-12 * np.linalg.norm(self.m), weight.max(initial=0.0)
        far += _ROUNDING * np.linalg.norm(origin)
        self.noise = float(np.sqrt(self.n) * far + _ROUNDING * np.sqrt(heaviest) * self.length)

    def scaled(self, alpha: float) -> float:
        """Return a number to add to the scatter of the given X, in the operator's units."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(alpha, -2 * self.power - self.weight_power))

    def largest_in(self) -> int:
        """Return a column with the largest magnitude, about the mean if X is dense."""
        if self.is_sparse:
            return int(self.X.indices[np.abs(self.X.data).argmax()])
        return int(np.abs(self.X).max(axis=0).argmax())

    def divided_by(self, unit: float) -> Self:
        """Return the operator divided by a number."""
        new = copy(self)
        new.root = self.root / unit
        return new

    def scatter(self) -> Scatter:
        """Return the scatters, in the columns, or in the rows if these are fewer."""
        H = self.between()
        if self.shape[0] <= self.shape[1]:
            return of_samples(self.X, self.root**2, self.m, H)
        C = np.asfortranarray(self.square())
        noise = 4 * _ROUNDING * C.diagonal()
        C -= self.n * np.outer(self.m, self.m)
        return Scatter(C, H, self.n, noise, self.m)

    def square(self) -> np.ndarray:
        """Return sum_i w_i x_i x_i', for few columns."""
        if not self.is_sparse:
            scaled = self.root[:, None] * self.X
            return scaled.T @ scaled
        scaled = self.X.multiply(self.root[:, None]).tocsr()
        return (scaled.T @ scaled).toarray()

    def _matvec(self, v: np.ndarray) -> np.ndarray:
        v = v.reshape(-1)
        return self.root * (self.X @ v - self.m @ v)

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        Z = self.X @ V
        Z -= self.m @ V
        Z *= self.root[:, None]
        return Z

    def _rmatvec(self, z: np.ndarray) -> np.ndarray:
        z = self.root * z.reshape(-1)
        return self.X.T @ z - z.sum() * self.m

    def _rmatmat(self, Z: np.ndarray) -> np.ndarray:
        Z = self.root[:, None] * Z
        return self.X.T @ Z - np.outer(self.m, Z.sum(axis=0))

    def products(self) -> tuple[Product, Product]:
        """Return functions that compute A V and A'U into a second array."""
        X = BlockProducts(self.X)

        def times(V: np.ndarray, out: np.ndarray) -> None:
            # not by BLAS, whose threads would compete with these
            X.times(V, np.ones(len(out)), -np.einsum("i,ik->k", self.m, V), out)
            out *= self.root[:, None]

        def transposed(U: np.ndarray, out: np.ndarray) -> None:
            U = self.root[:, None] * U
            X.transposed(U, self.m, -U.sum(axis=0), out)

        return times, transposed

    def indicators(self) -> sparse.csr_array:
        """Return E, of shape (n_samples, n_classes)."""
        n, c = len(self.codes), len(self.counts)
        values = self.root / np.sqrt(self.counts)[self.codes]
        return sparse.csr_array((values, self.codes, np.arange(n + 1)), shape=(n, c))

    def between(self) -> np.ndarray:
        """Return E'A, of shape (n_classes, n_features): row j is N_j^(1/2) (m_j - m)."""
        E = self.indicators()
        E.data *= self.root
        H = class_sums(self.X, E)
        H -= np.outer(np.sqrt(self.counts), self.m)
        return H

    def within(self) -> np.ndarray:
        """Return A - E E'A for dense X: each sample less its class mean.

        With more samples than features, the triangle of its QR decomposition instead, which has the
        same scatter; computed a block of samples at a time.
        """
        means = self.between() / np.sqrt(self.counts)[:, None] + self.m
        n, d = self.shape
        R = np.empty((0, d))
        for part in blocks(n, max(_QR_ROWS, 8 * d) if n > d else n):
            F = (self.X[part] - means[self.codes[part]]) * self.root[part, None]
            R = triangle(np.vstack([R, F]))
        return R


# -- the space of the samples ----------------------------------------------------------------------


def total_space(
    A: Centred, equal: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Return the space that dense samples span, and the two scatters in it, for LDA/GSVD.

    Parameters
    ----------
    A : Centred
        Of dense samples.
    equal : bool
        Whether features may be in other units: if the samples span all features that vary, these
        have the same length, so that the units do not decide what is rounding. Where the samples
        span fewer, other units give other directions: features keep theirs, unless these are so far
        apart that small ones would be lost.

    Returns
    -------
    Q : ndarray of shape (n_features, t)
        The principal directions of the total scatter H'H + F'F, largest first; orthonormal, but
        for the units of features.
    s : ndarray of shape (t,)
        Their singular values, none of which is rounding.
    H : ndarray of shape (n_classes, t)
        N_j^(1/2) (m_j - m)'Q.
    F : ndarray of shape (n_samples or n_features, t)
        w_i^(1/2) (x_i - m_j)'Q, with j the class of sample i; or a factor of the same scatter.
    noise : float
        Singular values of F up to this are rounding.

    Notes
    -----
    **Cost**: O(n d r), with r the smaller of n and d.
    """
    H, F = A.between(), A.within()
    K = triangle(np.vstack([H, F]))
    size = np.linalg.norm(K, axis=0)
    far = 1e-12 * np.abs(A.m) + _ROUNDING * np.abs(A.mean)
    H[np.abs(H) <= np.sqrt(A.n) * far + _ROUNDING * A.root.max() * size] = 0.0
    live = size > _VARIES * np.sqrt(A.n) * np.abs(A.mean)
    if equal and live.any():
        unit = np.divide(1.0, size, out=np.zeros(len(size)), where=live)
        Q, s, noise = _right_vectors(K * unit, A, unit)
        if len(s) == live.sum() or size[live].max() > _LOST * size[live].min():
            Q *= unit[:, None]
            return Q, s, H @ Q, F @ Q, noise
    Q, s, noise = _right_vectors(K, A, np.ones(len(size)))
    return Q, s, H @ Q, F @ Q, noise


def _right_vectors(
    K: np.ndarray, A: Centred, unit: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return right singular vectors and singular values beyond rounding, and what that is.

    That of the singular values, and of the samples, whose features are held times `unit`.
    """
    _, s, Qt = linalg.svd(K, full_matrices=False)
    of_samples = np.sqrt(A.n) * _EPS * float(np.linalg.norm(unit * A.mean))
    noise = max(rank_tolerance(K, s, A.shape[0]), of_samples)
    kept = s > noise
    return Qt[kept].T, s[kept], noise


# -- leading eigenvectors of a criterion -----------------------------------------------------------


def criterion_eigh(
    A: Centred, between: float, total: float, p: int
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the p leading eigenvectors of between S_b + total C in the row space.

    That is A'MA/n with M = between E E' + total I, so it needs products with X alone. With total <
    0, M has as many positive eigenvalues as there are classes, and the range of A excludes one of
    them: at most c - 1 directions have a positive eigenvalue. Directions outside the row space have
    eigenvalue 0. Lanczos finds the positive ones. For further ones, and where Lanczos does not
    converge, both scatters are computed if rows or columns are few enough; if both are many,
    further directions come from the Krylov space of A'MA and the class means.

    Returns
    -------
    eigenvalues : ndarray of shape (k,)
        Descending.
    W : ndarray of shape (n_features, k)
        Orthonormal, in the row space; k is p, and with total < 0 at least n_classes - 1, or less
        where the row space has fewer dimensions.
    converged : bool
        Whether all directions with a positive eigenvalue are known to be included.

    Notes
    -----
    **Cost**: O(nnz) for each of some tens of products; or O(r^3), with r the smaller of n and d.
    """
    most = p if total > 0 else len(A.counts) - 1
    side, p = min(A.shape), max(p, most)
    if side <= max(SMALL_SIDE, p + 1) or (p > most and side <= _LARGEST_SIDE):
        return *leading(A.scatter(), between, total, p), True
    E, d = A.indicators(), A.shape[1]

    def product(v: np.ndarray) -> np.ndarray:
        z = A.matvec(v)
        return A.rmatvec(between * (E @ (E.T @ z)) + total * z) / A.n

    # from a random combination of the class means; if these do not differ nothing is between them,
    # and a random combination of the samples will do
    random = np.random.default_rng(0)
    first = A.rmatvec(E @ random.standard_normal(len(A.counts)))
    if np.linalg.norm(first) <= A.noise:
        first = A.rmatvec(random.standard_normal(A.shape[0]))
    if np.linalg.norm(first) <= A.noise:
        return np.empty(0), np.empty((d, 0)), True  # all samples are equal
    unit = np.linalg.norm(product(first)) / np.linalg.norm(first)  # the size of an eigenvalue
    lifted = LinearOperator((d, d), dtype=np.float64, matvec=lambda v: product(v) + unit * v)
    try:
        L, W = eigsh(lifted, k=most, which="LA", v0=first, maxiter=_RESTARTS)
    except ArpackNoConvergence as stopped:
        L, W = stopped.eigenvalues, stopped.eigenvectors
    L, W = L[::-1] - unit, W[:, ::-1]
    converged, gains = len(L) == most, _NOTHING * unit < L
    if converged and gains.all() and p == most:
        return L, W, True
    if side <= _LARGEST_SIDE:
        return *leading(A.scatter(), between, total, p), True
    return *_from_means(A, product, W[:, gains], p), converged


def _from_means(
    A: Centred, product: Callable[[np.ndarray], np.ndarray], W: np.ndarray, p: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best p directions in the span of W, the class means, and their products.

    All lie in the row space. Returns the eigenvalues of the operator there, and the directions:
    those of W, which are its eigenvectors, and then others.
    """
    basis, block = W, list(A.between())
    random = np.random.default_rng(0)
    while block and basis.shape[1] < 2 * p + len(A.counts):
        width = basis.shape[1]
        for w in block:
            basis = np.hstack([basis, orthogonal_part(w, basis)])
        block = [product(w) for w in basis[:, width:].T]
        if not block:  # nothing new: add random combinations of samples, if any are left
            w = orthogonal_part(A.rmatvec(random.standard_normal(A.shape[0])), basis)
            basis, block = np.hstack([basis, w]), list(w.T)
    K = basis.T @ np.array([product(w) for w in basis.T]).T
    L, U = linalg.eigh((K + K.T) / 2)
    return L[::-1][:p], basis @ U[:, ::-1][:, :p]


# -- regressions -----------------------------------------------------------------------------------


def lsqr_regressions(A: Centred, alpha: float, max_iter: int, tol: float) -> tuple[np.ndarray, int]:
    """Solve the ridge regressions of orthonormal responses that separate the classes.

    ::

        minimise |A w - t|^2 + alpha |w|^2    for each response t

    The responses are E U, with U the left singular vectors of E'A: constant on each class,
    orthonormal, orthogonal to the constant, and independent of the order of the classes.
    The first iterate of LSQR is then a multiple of A'E U, the directions of OC.

    Returns
    -------
    W : ndarray of shape (n_features, r)
        The solution for each response, times a number; r is the rank of the class means.
    n_iter : int
        The largest number of iterations of a response.

    Notes
    -----
    **Cost**: O(nnz + n + d) for an iteration of a response. Responses are solved together, and
    share each product with A.
    """
    H = A.between()
    _, U = positive_eigh(H @ H.T, A.noise**2)
    del H
    by_class = U / np.sqrt(A.counts)[:, None]
    unit = float(2.0 ** np.round(np.log2(A.length or 1.0)))
    damp = np.sqrt(alpha) / unit
    products, found = A.divided_by(unit).products(), []  # LSQR's tests expect numbers of about 1
    for some in blocks(U.shape[1], max(1, _ROOM // max(A.shape))):
        T = A.root[:, None] * by_class[A.codes, some]
        found.append(lsqr(products, T, A.shape[1], damp, tol, max_iter))
    if len(found) == 1:  # without a copy
        return found[0]
    W = np.hstack([np.empty((A.shape[1], 0)), *(W for W, _ in found)])
    return W, max((n_iter for _, n_iter in found), default=0)


def by_discriminant_power(A: Centred, W: np.ndarray, alpha: float) -> Solution:
    """Rotate solutions into the order of w'S_b w / w'(C + alpha/n I) w, as `discriminants`.

    Where there are more features than samples, classes are predicted by outputs of regressions.
    """
    Z = A.matmat(W)
    ratios, V = best_ratios(A.indicators().T @ Z, np.vstack([Z, np.sqrt(alpha) * W]))
    found = with_scatters(A, ratios, W @ V, alpha)
    return replace(
        found, within=np.diag(np.maximum(1 - ratios, 0.0)), regresses=A.shape[1] > A.shape[0]
    )


def with_scatters(A: Centred, values: np.ndarray, W: np.ndarray, alpha: float) -> Solution:
    """Return directions with what a classifier needs; one product with the samples."""
    Z = A.matmat(W)
    between = A.indicators().T @ Z
    within = Z.T @ Z - between.T @ between + alpha * W.T @ W
    return Solution.of_all(values, W, between=between, within=within, alpha=alpha)


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

    **Source**: C. C. Paige, M. A. Saunders, "LSQR: An Algorithm for Sparse Linear Equations and
    Sparse Least Squares", ACM TOMS 8(1), 1982. Letters, tests and their order are those of
    ``scipy.sparse.linalg.lsqr``, which solves for one right-hand side at a time.
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
    if A.size <= _SMALL:
        np.subtract(A, by * B, out=B)
        return np.sqrt((B**2).sum(axis=0))
    from narrows.solve.kernels import less

    return np.sqrt(
        sum(map_on_cores(lambda rows: less(A[rows], B[rows], by), blocks(len(A), _LSQR_ROWS)))
    )


def _advance(
    X: np.ndarray, W: np.ndarray, V: np.ndarray, unit: np.ndarray, t1: np.ndarray, t2: np.ndarray
) -> np.ndarray:
    """Set V *= unit, X += t1 W, W = V + t2 W; return the squares of the columns of the old W."""
    if X.size <= _SMALL:
        squares = (W**2).sum(axis=0)
        V *= unit
        X += t1 * W
        np.add(V, t2 * W, out=W)
        return squares
    from narrows.solve.kernels import advance

    return sum(
        map_on_cores(
            lambda rows: advance(X[rows], W[rows], V[rows], unit, t1, t2),
            blocks(len(X), _LSQR_ROWS),
        )
    )


def _share(a: float | np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(len(b)), where=b != 0)


def _inverse(a: np.ndarray) -> np.ndarray:
    return _share(1.0, a)
