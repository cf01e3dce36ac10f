"""Small eigenproblems of the exact projections, and the reduction of large ones to small ones."""

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
_SUSPECT = 1e-8  # below this share the vectors from a Gram matrix need another orthogonalisation
SMALL_SIDE = 1_000  # rows or columns up to which a square array is always formed
_LARGEST_SIDE = 4_000  # rows or columns up to which it is formed where nothing else works
_RESTARTS = 100  # of Lanczos
_ROOM = 1 << 24  # numbers in each array for a group of responses
_NOTHING = 1e-9  # eigenvalues below this share of a typical one count as 0
_SAME = 1e-6  # entries of a direction that differ by less, relative to the largest, count as equal


def gram_eigh(
    blocks: Callable[[], Blocks], n_features: int, noise: float = 0.0, most: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of A = H'H from the small matrix K = H H'.

    With K = U L U', the vectors are W = H'U L^(-1/2). H is read twice, by columns, and A is
    never formed. O(c^2 d) time, O(c^2 + d p) memory.

    Parameters
    ----------
    blocks : callable
        Returns an iterable of (columns, H[:, columns]) for H of shape (n_classes, n_features).
    n_features : int
        Number of columns of H.
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
    power = 0
    with np.errstate(over="ignore", invalid="ignore"):
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
        W = _orthonormal(W)
    return L, W


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


def set_signs(W: np.ndarray) -> np.ndarray:
    """Set each column's sign, in place, so that its entry of largest magnitude is positive.

    Entries that differ by rounding count as equal, and the first of them decides: features that
    mirror each other have opposite entries, and the last bit must not choose between them.
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


def total_space(A: Centred) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the space that dense samples span, and the two scatters in it, for LDA/GSVD.

    Parameters
    ----------
    A : Centred
        Of dense samples.

    Returns
    -------
    Q : ndarray of shape (n_features, t)
        Orthonormal: the principal directions of the total scatter H'H + F'F, largest first.
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
    K = np.vstack([H, F])
    _, s, Qt = linalg.svd(triangle(K), full_matrices=False)
    Q = Qt[s > rank_tolerance(K, s, A.shape[0])].T
    H[np.linalg.norm(H, axis=1) <= A.noise] = 0.0
    return Q, s[: Q.shape[1]], H @ Q, F @ Q


def regressions(A: Centred, alpha: float, max_iter: int, tol: float) -> tuple[np.ndarray, int]:
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


def by_discriminant_power(A: Centred, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotate solutions into unit directions in descending order of w'S_b w / w'S_t w.

    Returns the ratios, and the directions, of shape (n_features, k).
    """
    Z = A.matmat(W)
    ratios, V = best_ratios(A.indicators().T @ Z, Z)
    W = W @ V
    return ratios, W / np.linalg.norm(W, axis=0)


# -- the margin ----------------------------------------------------------------------------------


def margin_eigh(A: Centred, eps: float, p: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the p leading eigenvectors of S_b - eps S_w in the row space.

    S_b - eps S_w = A'MA/n with M = (1 + eps) E E' - eps I, so it needs products with X alone. M has
    as many positive eigenvalues as there are classes, and the range of A excludes one of them: at
    most c - 1 directions gain margin. Directions outside the row space have eigenvalue 0. Lanczos
    finds those that gain. For further ones, and where Lanczos does not converge, a basis of the row
    space is computed if rows or columns are few enough; if both are many, further directions come
    from the Krylov space of A'MA and the class means.

    Returns
    -------
    eigenvalues : ndarray of shape (k,)
        Descending.
    W : ndarray of shape (n_features, k)
        Orthonormal, in the row space; k is the larger of p and n_classes - 1, or less where the
        row space has fewer dimensions.
    converged : bool
        Whether all directions that gain margin are known to be included.

    Notes
    -----
    **Cost**: O(nnz) for each of some tens of products; or O(r^3), with r the smaller of n and d.
    """
    side, most = min(A.shape), len(A.counts) - 1
    p = max(p, most)
    if side <= max(SMALL_SIDE, p + 1) or (p > most and side <= _LARGEST_SIDE):
        return *_margin_by_rows(A, eps, p), True
    E, d = A.indicators(), A.shape[1]

    def product(v: np.ndarray) -> np.ndarray:
        z = A.matvec(v)
        return A.rmatvec((1 + eps) * (E @ (E.T @ z)) - eps * z) / A.n

    # from a random combination of the class means; if these do not differ nothing gains margin,
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
        return *_margin_by_rows(A, eps, p), True
    return *_from_means(A, product, W[:, gains], p), converged


def _margin_by_rows(A: Centred, eps: float, p: int) -> tuple[np.ndarray, np.ndarray]:
    scatter, Y, back = _row_space(A)
    L, U = linalg.eigh(((1 + eps) * Y.T @ Y - eps * np.diag(scatter)) / A.n)
    return L[::-1][:p], _orthonormal(back(U[:, ::-1][:, :p]))


def _row_space(A: Centred) -> tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Return an orthonormal basis Q of the row space, from the smaller side of A.

    Returns the eigenvalues Q'A'AQ, the means E'AQ, and a function from V to QV. Dense A uses
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
    """Return the columns orthonormalised once more, against rounding."""
    W, R = np.linalg.qr(W)
    return W * np.where(np.diag(R) < 0, -1.0, 1.0)


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
