"""Exact projections of samples that are at hand, or that products are made with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from narrows.solve.centred import Centred
from narrows.solve.eigen import (
    best_ratios,
    orthogonal_part,
    positive_eigh,
    rank_tolerance,
    triangle,
)
from narrows.solve.lsqr import lsqr
from narrows.solve.scatter import Answer, leading
from narrows.solve.sums import blocks

SMALL_SIDE = 1_000  # rows or columns up to which a square array is always formed
_LARGEST_SIDE = 4_000  # rows or columns up to which it is formed where nothing else works
_RESTARTS = 100  # of Lanczos
_ROOM = 1 << 24  # numbers in each array for a group of responses
_VARIES = 1e-12  # of the root mean square: a standard deviation of less is rounding
_NOTHING = 1e-9  # eigenvalues below this share of a typical one count as 0


def total_space(A: Centred, equal: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the space that dense samples span, and the two scatters in it, for LDA/GSVD.

    Parameters
    ----------
    A : Centred
        Of dense samples.
    equal : bool
        Whether features may be in other units: if the samples span all features that vary, these
        have the same length. So the units do not decide what is rounding.

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

    Notes
    -----
    **Cost**: O(n d r), with r the smaller of n and d.
    """
    H, F = A.between(), A.within()
    K = triangle(np.vstack([H, F]))
    H[np.linalg.norm(H, axis=1) <= A.noise] = 0.0
    size = np.linalg.norm(K, axis=0)
    live = size > _VARIES * np.sqrt(A.n) * np.abs(A.mean)
    if equal and 0 < live.sum() <= len(K):
        unit = np.divide(1.0, size, out=np.zeros(len(size)), where=live)
        Q, s = _right_vectors(K * unit, A.shape[0])
        if len(s) == live.sum():
            Q *= unit[:, None]
            return Q, s, H @ Q, F @ Q
    Q, s = _right_vectors(K, A.shape[0])
    return Q, s, H @ Q, F @ Q


def _right_vectors(K: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the right singular vectors and singular values of K that are more than rounding."""
    _, s, Qt = linalg.svd(K, full_matrices=False)
    kept = s > rank_tolerance(K, s, n)
    return Qt[kept].T, s[kept]


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
    scaled = A.over(unit)  # LSQR's own tests expect numbers of about 1
    damp = np.sqrt(alpha) / unit
    r = U.shape[1]
    W, n_iter = np.empty((A.shape[1], r)), 0
    products = scaled.products()
    for some in blocks(r, max(1, _ROOM // max(A.shape))):
        T = A.root[:, None] * by_class[A.codes, some]
        W[:, some], used = lsqr(products, T, A.shape[1], damp, tol, max_iter)
        n_iter = max(n_iter, used)
    return W, n_iter


def by_discriminant_power(A: Centred, W: np.ndarray, alpha: float) -> Answer:
    """Rotate solutions into the order of w'S_b w / w'(C + alpha/n I) w, as `discriminants`."""
    Z = A.matmat(W)
    ratios, V = best_ratios(A.indicators().T @ Z, np.vstack([Z, np.sqrt(alpha) * W]))
    answer = with_rule(A, Answer(ratios, W @ V), alpha)
    answer.within = np.diag(np.maximum(1 - ratios, 0.0))
    return answer


def with_rule(A: Centred, answer: Answer, alpha: float) -> Answer:
    """Add to an answer what a classifier needs; one product with the samples."""
    Z = A.matmat(answer.W)
    answer.between = A.indicators().T @ Z
    answer.within = Z.T @ Z - answer.between.T @ answer.between + alpha * answer.W.T @ answer.W
    return answer


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
