"""The updates of IDR/QR: the QR decomposition of the class means, and the scatter in their span.

The centroid matrix C = [m_1 .. m_c] of shape (n_features, n_classes), classes in order of arrival,
is C = Q R, with R upper triangular and nonnegative on its diagonal. A centroid that depends on
earlier ones has q_k = 0 and R_kk = 0. The algorithms need, besides R, the scatter within the
classes in the span of the means, W = Q'S_wQ. A sample x of a class of n_i samples and mean m_i
changes it by

    W  <-  W + n_i/(n_i + 1) u u',    u = Q'(x - m_i),  with Q of the new means

which is equation (8) of Ye et al. (2005) in one term. It approximates the old Q in W by the new
one; with T = Q'Q_old, setting W <- T W T' first transports W into the new basis.

Q is not formed. The state holds the sums S, of shape (n_features, n_classes), and their inner
products S'S, so R is the Cholesky factor of C'C, u = R^-T C'(x - m_i), and a sample costs O(nnz c)
for S'x and O(c^3) for the rest, instead of O(d c). Squaring C costs digits, which every step
checks: where a centroid is within 1e-4 of the span of the earlier ones, it forms q_k itself for
each centroid within 1e-2, at O(d c). `update="transport"` then forms all of Q, at O(d c^2).

**Source**: Ye et al. (2005), Algorithms 1 to 3. They allow any signs of R and any order of the
classes, but W depends on both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from narrows.solve.eigen import DROPPED, best_ratios, orthogonal_part
from narrows.solve.in_place import RANDOM, WORK, entries
from narrows.solve.iterations import DenseBlock, SparseBlock, restorer
from narrows.solve.products import compiled_pays
from narrows.solve.sums import BLOCK, blocks, class_sums, too_large

_RENEWED = 4096  # samples after which S'S is computed from S again; a multiple of the next
_BLOCK_ROWS = 64  # dense samples whose products with S are one matrix product
_DEPENDENT = 1e-10  # of its length: a centroid with less outside the span of the others depends
_LARGEST = 1e120  # the largest square, whose own square has to be finite
_FORMED = 1e-4  # of G_kk: where R_kk^2 is smaller, a step with explicit vectors forms q_k
_EXPECTED = f"sums of classes whose squares are below {_LARGEST:g}"
_EPS = np.finfo(np.float64).eps
_NONE = 1e-12  # of the length of the mean: a class mean closer to it equals it


class CentroidQR:
    """The class means, and the scatter within the classes in their span.

    Parameters
    ----------
    n_features : int
        Number of features.

    Attributes
    ----------
    S : ndarray of shape (n_features, n_classes)
        Sum of the samples of each class.
    SS, R, W : ndarray of shape (n_classes, n_classes)
        S'S, and R and W as above.
    N : ndarray of shape (n_classes,)
        Number of samples of each class.
    """

    N: Annotated[np.ndarray, "f8 whole", "c"]
    S: Annotated[np.ndarray, "f8", "d c"]
    SS: Annotated[np.ndarray, "f8", "c c"]
    R: Annotated[np.ndarray, "f8", "c c"]
    W: Annotated[np.ndarray, "f8", "c c"]

    def __init__(self, n_features: int):
        self.S = np.zeros((n_features, 0))
        self.N = np.zeros(0)
        self.SS = self.R = self.W = np.zeros((0, 0))

    @property
    def n(self) -> int:
        """Number of samples learned."""
        return int(self.N.sum())

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.S)

    def add_sums(self, more: int) -> None:
        """Make room for more classes, in new arrays; the old ones do not change."""
        self.S = np.pad(self.S, ((0, 0), (0, more)))
        self.N = np.pad(self.N, (0, more))
        self.SS, self.R, self.W = (np.pad(a, (0, more)) for a in (self.SS, self.R, self.W))

    def widen(self, n_features: int) -> None:
        """Append features that were 0 in every sample so far."""
        self.S = np.pad(self.S, ((0, n_features - len(self.S)), (0, 0)))

    def cost(self, X: Any, classes: int) -> float:
        """Return about how many operations one of the samples X of so many classes takes."""
        c = max(classes, len(self.N))
        return 50 + c**3 + entries(X) * (RANDOM + c)

    def restorer(self, X: Any) -> Callable[[], None]:
        """Return a function that restores everything, if only samples of X were learned since."""
        return restorer(self, "S", X)

    # -- all samples at once ----------------------------------------------------------------

    def add(self, X: Any, labels: np.ndarray) -> None:
        """Add samples to the means alone; `settle` and `spread` have to follow."""
        n, c = len(labels), len(self.N)
        Y = sparse.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, c))
        self.S += class_sums(X, Y).T
        self.N += np.bincount(labels, minlength=c)

    def settle(self) -> np.ndarray:
        """Update R and S'S to the sums, set the scatter to 0, and return Q."""
        self._renew()
        Q, self.R = self.basis()
        self.W = np.zeros_like(self.R)
        return Q

    def spread(
        self, X: Any, labels: np.ndarray, Q: np.ndarray, weight: np.ndarray | None = None
    ) -> None:
        """Add the scatter of samples about the means to W (Algorithm 1, lines 3 and 5).

        `weight` is of shape (n_classes,).
        """
        for rows in blocks(len(labels), max(1, BLOCK // max(1, len(self.N)))):
            Z = X[rows] @ Q - self.R.T[labels[rows]]
            if weight is not None:
                Z *= np.sqrt(weight[labels[rows], None])
            self.W += Z.T @ Z

    # -- one sample at a time ---------------------------------------------------------------

    def learn(self, X: Any, labels: np.ndarray, transport: bool) -> int:
        """Run Algorithm 2 or 3 for each sample, in order.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_samples, n_features)
            Finite; a sparse one without duplicate entries.
        labels : ndarray of shape (n_samples,)
            The class of each sample, numbered by order of arrival.
        transport : bool
            Whether W is transported into the new basis.

        Returns
        -------
        int
            Number of samples learned: all, or fewer where steps on all features took long.
        """
        from narrows.solve.idr_qr_steps import EXPLICIT, centroid_steps, plain_steps
        from narrows.solve.kernels import TOO_LARGE

        dense, c = isinstance(X, np.ndarray), len(self.N)
        entries = c * X.shape[0] if dense else X.nnz
        fast = compiled_pays(0, len(labels) * (50 + c**3) + entries * c)
        run: Any = centroid_steps if fast else plain_steps
        work = tuple(np.zeros(shape) for shape in (c, c, (c, c), (c, c), (c, c)))
        done = slow = 0
        while done < len(labels) and slow * self.n_features * c * (c if transport else 8) < WORK:
            size = _BLOCK_ROWS if dense else _RENEWED
            part = slice(done, min(len(labels), done + size - self.n % size))
            block = DenseBlock(self.S, X, part, None) if dense else SparseBlock(self.S, X, part)
            more, asked = run(
                *block.arrays, 0, labels[part], self.S, (self.SS, self.N, self.R, self.W),
                work, transport, block.coefficients,
            )  # fmt: skip
            if asked == TOO_LARGE:
                raise too_large(_EXPECTED, None, f"larger ones up to sample {done + more - 1}")
            block.add_to_basis()
            done += more
            if asked == EXPLICIT:
                self._step(X[[done - 1]], int(labels[done - 1]), transport)
                slow += 1
            if self.n % _RENEWED == 0:
                self._renew()
        return done

    def _step(self, x: Any, label: int, transport: bool) -> None:
        """Run the rest of Algorithm 2 or 3 with explicit vectors; the sums include x."""
        from narrows.solve.idr_qr_steps import substitute

        before = self.N[label] - 1
        if transport:
            Q, self.R = self.basis()
            if not before:
                return
            T = Q.T @ self.basis(x, label)[0]
            self.W = T @ self.W @ T.T
            # x less the old m_i is (n_i + 1)/n_i (x - m_i) with the new one
            u = (before + 1) / before * ((x @ Q)[0] - self.R[:, label])
        else:
            self.R, explicit = self._near_basis()
            if not before:
                return
            x = x.toarray()[0] if sparse.issparse(x) else x[0]
            v = x - (self.S[:, label] - x) / before
            u = self._by_centroids(v)
            substitute(self.R, u, {k: q @ v for k, q in explicit.items()})
        self.W += before / (before + 1) * np.outer(u, u)

    def _by_centroids(self, v: np.ndarray) -> np.ndarray:
        """Return C'v."""
        return np.where(self.N > 0, self.S.T @ v / np.maximum(1.0, self.N), 0.0)

    def _near_basis(self) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """Return R, and those q_k whose centroids are near the span of the earlier ones, by k."""
        from narrows.solve.idr_qr_steps import centroid_products, eliminate

        G = centroid_products(self.SS, self.N)
        R, squares = np.zeros_like(G), np.diag(G).copy()
        explicit: dict[int, np.ndarray] = {}
        for k in range(len(G)):
            if G[k, k] >= _FORMED * squares[k]:
                eliminate(G, R, k, float(np.sqrt(G[k, k])))
                continue
            q, length = self._outside(k, R, explicit)
            if length:
                explicit[k] = q
            eliminate(G, R, k, length, self._by_centroids(q) if length else None)
        return R, explicit

    def _outside(
        self, k: int, R: np.ndarray, explicit: dict[int, np.ndarray]
    ) -> tuple[np.ndarray, float]:
        """Return q_k and R_kk by the k first rows of R; 0 where the centroid depends.

        The other q_j are not formed: with E the explicit ones, they are the columns of
        (C_g - E R_eg) R_gg^-1, for those that have R_jj > 0.
        """
        e = np.array(list(explicit), dtype=int)
        g = np.setdiff1d(np.flatnonzero(np.diag(R)[:k] > 0), e)
        E = np.array(list(explicit.values())).reshape(len(e), self.n_features)
        R_gg, R_eg = R[np.ix_(g, g)], R[np.ix_(e, g)]
        # less its part in the span, and once more while that was most of it
        rest, part_g, part_e = self.S[:, k] / self.N[k], R[g, k], R[e, k]
        least = _DEPENDENT * float(np.linalg.norm(rest))
        length = np.inf
        while True:
            z, by_sum = solve_triangular(R_gg, part_g), np.zeros(len(self.N))
            by_sum[g] = z / self.N[g]
            rest = rest - self.S @ by_sum - (part_e - R_eg @ z) @ E
            before, length = length, float(np.linalg.norm(rest))
            if length <= least:
                return rest, 0.0
            if length > before / 2:
                return rest / length, length
            part_e = E @ rest
            part_g = solve_triangular(R_gg, self._by_centroids(rest)[g] - part_e @ R_eg, trans=1)

    def _renew(self) -> None:
        """Compute S'S from S again, so that rounding does not accumulate."""
        c = len(self.N)
        SS = np.zeros((c, c))
        for rows in blocks(self.n_features, max(1, BLOCK // max(1, c))):
            SS += self.S[rows].T @ self.S[rows]
        if not np.trace(SS) < _LARGEST:
            raise too_large(_EXPECTED, None, "larger ones")
        self.SS = SS

    # -- reading ----------------------------------------------------------------------------

    def basis(self, x: Any = None, label: int = -1) -> tuple[np.ndarray, np.ndarray]:
        """Return Q and R by Gram-Schmidt, run twice; O(c^2 d).

        Q has the shape (n_features, n_classes), and R (n_classes, n_classes). With x and its label
        they are those before that sample was learned.
        """
        c = len(self.N)
        Q, R = np.zeros((self.n_features, c), order="F"), np.zeros((c, c))
        for k in range(c):
            m, N = self.S[:, k], self.N[k]
            if k == label:
                m, N = m - (x.toarray()[0] if sparse.issparse(x) else x[0]), N - 1
            if N:
                m = m / N
                q = orthogonal_part(m, Q[:, :k], share=_DEPENDENT)
                if q.size:
                    Q[:, k] = q[:, 0]
                R[: k + 1, k] = Q[:, : k + 1].T @ m
        return Q, R

    def discriminants(self, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the directions G = Q M, with M the eigenvectors of (W + mu I)^-1 B (Algorithm 1).

        Returns
        -------
        eigenvalues : ndarray of shape (k,)
            Descending; 0 for the one direction in which the means do not differ. k is the rank of
            C.
        G : ndarray of shape (n_features, k)
            With M'(W + mu I)M = n I.
        """
        Q, R = self.basis()
        N, n = self.N, max(1.0, self.N.sum())
        mean = R @ N / n
        Y = (R - mean[:, None]) * np.sqrt(N)
        Y[:, np.linalg.norm(Y, axis=0) <= _NONE * np.sqrt(N) * np.linalg.norm(mean)] = 0.0
        L, U = np.linalg.eigh(self.W)
        within = np.sqrt(np.maximum(L, 0.0))[:, None] * U.T
        # the rounding of samples less their means, and of the eigenvalues of W
        far, wide = np.linalg.norm(R * np.sqrt(N)), np.sqrt(L.max(initial=0.0))
        noise = max(n * _EPS * far, np.sqrt(n * _EPS) * wide)
        eigenvalues, M = best_ratios(Y.T, within, mu, noise=noise)
        separating = eigenvalues > DROPPED * eigenvalues.max(initial=0.0)
        # of the others only those that Q does not map to 0: the mean, if it is outside
        rest = M[:, ~separating]
        _, s, Vt = np.linalg.svd(rest[np.diag(R) > 0], full_matrices=False)
        rest = rest @ Vt[s > _NONE * np.linalg.norm(rest)].T
        eigenvalues = np.append(eigenvalues[separating], np.zeros(rest.shape[1]))
        return eigenvalues, Q @ (np.sqrt(n) * np.hstack([M[:, separating], rest]))
