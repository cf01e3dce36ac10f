"""Small eigenproblems behind the exact projections, and how large ones become small."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from narrows.solve.centred import Centred, triangle
from narrows.solve.lsqr import lsqr
from narrows.solve.sums import blocks

Blocks = Iterable[tuple[slice, np.ndarray]]

DROPPED = 1e-12  # eigenvalues below this share of the largest are rounding
_TINY = 1e-200
_SUSPECT = 1e-8  # below this share the vectors of the Gram route are no longer orthogonal enough
SMALL_SIDE = 1_000  # rows or columns up to which a square array of them is made at once
_LARGEST_SIDE = 4_000  # and where there is no other way
_RESTARTS = 100  # of Lanczos, before what has not converged is given up
_ROOM = 1 << 24  # numbers in each array that several responses need
_NOTHING = 1e-9  # of a typical eigenvalue: no more is taken for 0
_SAME = 1e-6  # of the largest entry of a direction: by no more do entries of one size differ


def gram_eigh(
    blocks: Callable[[], Blocks], n_features: int, noise: float = 0.0, most: int | None = None
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
    most : int, optional
        How many vectors are wanted; all if left out.

    Returns
    -------
    eigenvalues : ndarray of shape (r,)
        Descending; those under 1e-12 of the largest, or of noise, are dropped, so r is the rank.
        They may be infinite or 0, where squares are no numbers.
    W : ndarray of shape (d, p)
        Orthonormal columns, p = min(r, most).
    """
    power = 0
    with np.errstate(over="ignore", invalid="ignore"):
        K = sum(H @ H.T for _, H in blocks())
        if not _TINY < np.trace(K) < 1 / _TINY:  # squares vanish or overflow: take other units
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
        W, R = np.linalg.qr(W)
        W *= np.sign(np.diag(R))
    return L, W


def positive_eigh(K: np.ndarray, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of a nonnegative matrix, descending, without those that are rounding."""
    L, U = linalg.eigh(K)
    L, U = L[::-1], U[:, ::-1]
    kept = (DROPPED * L[:1].max(initial=0.0) < L) & (noise < L)
    return L[kept], U[:, kept]


def orthogonal_part(
    w: np.ndarray, W: np.ndarray, scale: float = 0.0, share: float = 1e-6
) -> np.ndarray:
    """The unit vector of `w` less its projection on the orthonormal columns of W, as (d, 1).

    Of shape (d, 0) where no more than `share` of the length of `w`, or of `scale`, is left.
    """
    size = float(np.abs(w).max(initial=0.0))
    if size and not _TINY < size * size < 1 / _TINY:
        power = int(np.frexp(size)[1])
        w, scale = np.ldexp(w, -power), float(np.ldexp(scale, -power))
    rest = w - W @ (W.T @ w)
    rest -= W @ (W.T @ rest)  # twice is enough
    length = np.linalg.norm(rest)
    if length <= share * max(scale, float(np.linalg.norm(w))):
        return np.empty((len(w), 0))
    return rest[:, None] / length


def set_signs(W: np.ndarray) -> np.ndarray:
    """Set each column's sign, in place, so that its entry of largest magnitude is positive.

    Entries that are as large but for rounding count as equal, and the first of them decides:
    features that mirror each other have opposite entries, and no last bit chooses between them.
    """
    high, low = W.max(axis=0, initial=0.0), W.min(axis=0, initial=0.0)
    turned, least = -low > high, (1 - _SAME) * np.maximum(high, -low)
    for j in np.flatnonzero((np.minimum(high, -low) >= least) & (high > 0)):
        turned[j] = W[(np.abs(W[:, j]) >= least[j]).argmax(), j] < 0
    if turned.any():
        W *= np.where(turned, -1.0, 1.0)
    return W


# -- the ratio of two scatters -------------------------------------------------------------------


def best_ratios(
    H: np.ndarray, F: np.ndarray, mu: float = 0.0, n: int = 0, noise: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The v that maximise v'H'Hv / v'(F'F + mu I)v one after the other.

    By the singular values of F and those of H on what F makes of unit length: no scatter is
    formed, so no digits are lost to squares.

    Parameters
    ----------
    H, F : ndarray of shape (c, r) and (n, r)
        Factors of the two scatters.
    mu : float
        >= 0. With 0, what F does not reach is left out.
    n : int
        How many rows F was made of, if more than it has.
    noise : float
        Singular values of F up to this are rounding, too.

    Returns
    -------
    ratios : ndarray of shape (k,)
        Descending; k is the smaller of c and r, less what is left out.
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
    """Singular values s of F, which was made of n rows, up to this are rounding."""
    return float(max(n, *F.shape) * np.finfo(np.float64).eps * s.max(initial=0.0))


def row_basis(F: np.ndarray, n: int = 0, noise: float = 0.0) -> np.ndarray:
    """An orthonormal basis of what the rows of F span beyond noise, one vector a column."""
    _, s, Vt = linalg.svd(triangle(F), full_matrices=False)
    return Vt[s > max(noise, rank_tolerance(F, s, n))].T


def total_space(A: Centred) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The space that dense rows span, and the two scatters in it: the SVD route to LDA/GSVD.

    Parameters
    ----------
    A : Centred
        Of dense rows.

    Returns
    -------
    Q : ndarray of shape (d, t)
        Orthonormal: the principal directions of the total scatter H'H + F'F, largest first.
    s : ndarray of shape (t,)
        Their singular values, none of which is rounding.
    H : ndarray of shape (c, t)
        N_j^(1/2) (m_j - m)'Q.
    F : ndarray of shape (n or d, t)
        w_i^(1/2) (x_i - m_j)'Q, with j the class of row i; or what has the same scatter.

    Notes
    -----
    **Cost**: O(n d min(n, d)), by the smaller side: the number of columns costs as much as the
    number of rows.
    """
    H, F = A.between(), A.within()
    K = np.vstack([H, F])
    _, s, Qt = linalg.svd(triangle(K), full_matrices=False)
    Q = Qt[s > rank_tolerance(K, s, A.shape[0])].T
    H[np.linalg.norm(H, axis=1) <= A.noise] = 0.0
    return Q, s[: Q.shape[1]], H @ Q, F @ Q


def regressions(A: Centred, alpha: float, max_iter: int, tol: float) -> tuple[np.ndarray, int]:
    """The ridge regressions of orthonormal responses that tell the classes apart.

    ::

        minimise |A w - t|^2 + alpha |w|^2    for each response t

    The responses are E U, with U the left singular vectors of E'A: constant on each class,
    orthonormal, orthogonal to the constant, and the same ones whatever the order of the classes.
    The first iterate of LSQR is then a multiple of A'E U, the directions of OC.

    Returns
    -------
    W : ndarray of shape (d, r)
        A solution a response, times a number; r is the rank of the class means.
    n_iter : int
        The most iterations that a response took.

    Notes
    -----
    **Cost**: O(nnz + n + d) for an iteration of a response; responses go together, and share each
    product with A.
    """
    H = A.between()
    _, U = positive_eigh(H @ H.T, A.noise**2)
    del H
    by_class = U / np.sqrt(A.counts)[:, None]
    unit = float(2.0 ** np.round(np.log2(A.length or 1.0)))
    scaled = A.over(unit)  # LSQR's own tests take for granted that numbers are about 1
    damp = np.sqrt(alpha) / unit
    r = U.shape[1]
    W, n_iter = np.empty((A.shape[1], r)), 0
    products = scaled.products()
    for some in blocks(r, max(1, _ROOM // max(A.shape))):
        T = A.root[:, None] * by_class[A.codes, some]
        W[:, some], used = lsqr(products, T, A.shape[1], damp, tol, max_iter)
        n_iter = max(n_iter, used)
    return W, n_iter


def by_discriminant_power(A: Centred, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn solutions into directions in the order of w'S_b w / w'S_t w, of unit length.

    Returns the ratios, descending, and the directions, of shape (d, k).
    """
    Z = A.matmat(W)
    ratios, V = best_ratios(A.indicators().T @ Z, Z)
    W = W @ V
    return ratios, W / np.linalg.norm(W, axis=0)


# -- the margin ----------------------------------------------------------------------------------


def margin_eigh(A: Centred, eps: float, p: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """The p leading eigenvectors of S_b - eps S_w in the space of the rows.

    S_b - eps S_w = A'MA/n with M = (1 + eps) E E' - eps I, so products with X do. M has as many
    positive eigenvalues as there are classes, one of which A does not reach: no more than c - 1
    directions gain margin. Behind them lies all that the rows do not span, where nothing gains and
    nothing loses. Lanczos finds those that gain. For what lies past them, and where it does not
    come to an end, the space of the rows is written out if rows or columns are few enough; if both
    are many, the rest comes from the space that A'MA makes of the class means.

    Returns
    -------
    eigenvalues : ndarray of shape (k,)
        Descending.
    W : ndarray of shape (d, k)
        Orthonormal, in the space of the rows; k is p or c - 1, whichever is more, or fewer where
        the rows span fewer.
    converged : bool
        Whether all that gain are known to be among them.

    Notes
    -----
    **Cost**: O(nnz) for each of some tens of products; or O(min(n, d)^3).
    """
    side, most = min(A.shape), len(A.counts) - 1
    p = max(p, most)
    if side <= max(SMALL_SIDE, p + 1) or (p > most and side <= _LARGEST_SIDE):
        return *_margin_by_rows(A, eps, p), True
    E, d = A.indicators(), A.shape[1]

    def product(v: np.ndarray) -> np.ndarray:
        z = A.matvec(v)
        return A.rmatvec((1 + eps) * (E @ (E.T @ z)) - eps * z) / A.n

    # from where the class means are, with one random weight for each whatever they are; where they
    # do not differ nothing gains, and any rows will do
    random = np.random.default_rng(0)
    first = A.rmatvec(E @ random.standard_normal(len(A.counts)))
    if np.linalg.norm(first) <= A.noise:
        first = A.rmatvec(random.standard_normal(A.shape[0]))
    if np.linalg.norm(first) <= A.noise:
        return np.empty(0), np.empty((d, 0)), True  # all rows are alike
    unit = np.linalg.norm(product(first)) / np.linalg.norm(first)  # of the size of an eigenvalue
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
        return *_margin_by_rows(A, eps, p), True
    return *_from_means(A, product, W[:, gains], p), converged


def _margin_by_rows(A: Centred, eps: float, p: int) -> tuple[np.ndarray, np.ndarray]:
    scatter, Y, back = _row_space(A)
    L, U = linalg.eigh(((1 + eps) * Y.T @ Y - eps * np.diag(scatter)) / A.n)
    return L[::-1][:p], _orthonormal(back(U[:, ::-1][:, :p]))


def _row_space(A: Centred) -> tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """An orthonormal basis Q of what the rows span, by the smaller side of A.

    Returns the eigenvalues Q'A'AQ, the means E'AQ, and what makes QV of V. Dense rows go by their
    singular values, so that columns of very different size keep their digits.
    """
    if not A.is_sparse:
        _, s, Qt = linalg.svd(A.triangle(), full_matrices=False)
        Q = Qt[s > rank_tolerance(A, s)].T
        return s[: Q.shape[1]] ** 2, A.between() @ Q, lambda V: Q @ V
    m = A.m
    if A.shape[0] <= A.shape[1]:
        X, root = A.X, A.root
        Xm = X @ m
        K = root[:, None] * ((X @ X.T).toarray() - Xm[:, None] - Xm + m @ m) * root
        L, U = positive_eigh(K)
        half = U / np.sqrt(L)
        return L, A.indicators().T @ U * np.sqrt(L), lambda V: A.rmatmat(half @ V)
    L, Q = positive_eigh(A.square() - A.n * np.outer(m, m))
    return L, A.between() @ Q, lambda V: Q @ V


def _orthonormal(W: np.ndarray) -> np.ndarray:
    """The columns made orthonormal, where rounding has left them not quite so."""
    W, R = np.linalg.qr(W)
    return W * np.where(np.diag(R) < 0, -1.0, 1.0)


def _from_means(
    A: Centred, product: Callable[[np.ndarray], np.ndarray], W: np.ndarray, p: int
) -> tuple[np.ndarray, np.ndarray]:
    """The best p directions in what is spanned by those of W, the class means, and products.

    All of it in the space of the rows. Returns the eigenvalues of the operator there, and the
    directions: those of W, which are its eigenvectors, and then others.
    """
    basis, block = W, list(A.between())
    random = np.random.default_rng(0)
    while block and basis.shape[1] < 2 * p + len(A.counts):
        width = basis.shape[1]
        for w in block:
            basis = np.hstack([basis, orthogonal_part(w, basis)])
        block = [product(w) for w in basis[:, width:].T]
        if not block:  # nothing new from there: rows at random, if they are not all there
            w = orthogonal_part(A.rmatvec(random.standard_normal(A.shape[0])), basis)
            basis, block = np.hstack([basis, w]), list(w.T)
    K = basis.T @ np.array([product(w) for w in basis.T]).T
    L, U = linalg.eigh((K + K.T) / 2)
    return L[::-1][:p], basis @ U[:, ::-1][:, :p]
