"""IDR/QR: Ye et al. (2005), Algorithms 1, 2 and 3 (Figs. 1 to 3), with real Q and R.

The paper leaves two choices. It allows any QR decomposition, but the approximation of W depends on
the signs of Q and on the order of the classes: here R is nonnegative on its diagonal, and classes
are in order of arrival. And Algorithm 3 needs x outside the span of the centroids: a centroid that
depends on earlier ones has q_k = 0 and R_kk = 0.
"""

from __future__ import annotations

import numpy as np

ZERO = 1e-9  # of a centroid's length: with no more left of it, it depends on the others
ROUNDING = 1e-14  # of a centroid's length: an f_2 of no more is none


def triangular(A):
    """A = P R with R upper triangular, nonnegative on the diagonal; p_k = 0 where R_kk = 0."""
    P, R = np.zeros(A.shape), np.zeros((A.shape[1],) * 2)
    for k, a in enumerate(A.T):
        rest = a.copy()
        for _ in range(2):
            rest -= P[:, :k] @ (P[:, :k].T @ rest)
        if np.linalg.norm(rest) > ZERO * np.linalg.norm(a):
            P[:, k] = rest / np.linalg.norm(rest)
        R[: k + 1, k] = P[:, : k + 1].T @ a
    return P, R


def between(R, sizes):
    """Lines 16 to 18 of Algorithm 2: B = (R D - r~ h')(R D - r~ h')'."""
    D, h, r = np.diag(np.sqrt(sizes)), np.sqrt(sizes), np.asarray(sizes, dtype=float)
    Y = R @ D - np.outer(R @ r / r.sum(), h)
    return Y @ Y.T


class Literal:
    """C, Q, R, W, B of the classes so far, and their labels in order of arrival."""

    def __init__(self):
        self.labels, self.n_j = [], []

    def update(self, x, label):
        if label in self.labels:
            self.existing_class(x, self.labels.index(label))
        else:
            self.new_class(x, label)

    def existing_class(self, x, i):
        """Algorithm 2."""
        n_i, m_i = self.n_j[i], self.C[:, i].copy()
        self.n_j[i] = n_i + 1
        f = (x - m_i) / (n_i + 1)  # 1
        self.C = self.C.copy()
        self.C[:, i] = m_i + f  # 2, 3
        g = np.eye(len(self.n_j))[i]
        f_1 = self.Q.T @ f
        f_2 = f - self.Q @ f_1  # 4
        f_2 -= self.Q @ (self.Q.T @ f_2)  # the same again, for rounding
        P_1, R_1 = triangular(self.R + np.outer(f_1, g))  # 5, on a small matrix
        Q_1 = self.Q @ P_1
        if np.linalg.norm(f_2) <= ROUNDING * np.linalg.norm(m_i + f):  # 6
            Q, R = Q_1, R_1  # 7
        else:
            q = f_2 / np.linalg.norm(f_2)  # 9
            below = np.linalg.norm(f_2) * g
            # 10; R_1 alone tells what is in Q_1, and a row that stands for q_k = 0 is empty
            P_2, R = triangular(np.vstack([R_1, below]))
            Q = np.column_stack([Q_1, q]) @ P_2  # 11
        u, v = x - m_i, f  # 13
        u, v = Q.T @ u, Q.T @ v  # 14
        self.W = self.W + np.outer(u - v, u - v) + n_i * np.outer(v, v)  # 15
        self.Q, self.R = Q, R
        self.B = between(R, self.n_j)  # 16 to 18

    def new_class(self, x, label):
        """Algorithm 3."""
        k = len(self.labels)
        self.labels.append(label)
        self.n_j.append(1)  # 1
        if k == 0:
            self.C, self.Q, self.R, self.W = (
                x[:, None],
                np.zeros((len(x), 0)),
                *[np.zeros((0, 0))] * 2,
            )
        else:
            self.C = np.column_stack([self.C, x])
        r = self.Q.T @ x  # 2, by Gram and Schmidt
        rest = x - self.Q @ r
        rest -= self.Q @ (self.Q.T @ rest)
        length = np.linalg.norm(rest)
        if length <= ZERO * np.linalg.norm(x):
            q, length = np.zeros(len(x)), 0.0
        else:
            q = rest / length
        self.Q = np.column_stack([self.Q, q])
        self.R = np.block([[self.R, r[:, None]], [np.zeros((1, k)), length]])
        self.W = np.pad(self.W, (0, 1))  # 3
        self.B = between(self.R, self.n_j)  # 4 to 6

    def transformation(self, mu):
        """Section 5.3: G = Q M, with M the eigenvectors of (W + mu I)^-1 B."""
        return transformation(self.Q, self.W, self.B, mu)


def batch(X, y, mu):
    """Algorithm 1, with an orthonormal basis of the centroids' span for Q, whatever its rank."""
    classes = sorted(set(y))
    C = np.array([X[y == j].mean(axis=0) for j in classes]).T
    U, s, _ = np.linalg.svd(C, full_matrices=False)
    Q = U[:, s > 1e-10 * s[0]]
    H_w = np.vstack([X[y == j] - X[y == j].mean(axis=0) for j in classes])
    H_b = np.array(
        [np.sqrt((y == j).sum()) * (X[y == j].mean(axis=0) - X.mean(axis=0)) for j in classes]
    )
    Z, Y = H_w @ Q, H_b @ Q  # 3, 4
    return transformation(Q, Z.T @ Z, Y.T @ Y, mu)  # 5 to 8


def transformation(Q, W, B, mu):
    """Eigenvalues, descending, and Q times the eigenvectors, (W + mu I)-orthonormal."""
    A = W + mu * np.eye(len(W))
    L, M = np.linalg.eig(np.linalg.pinv(A) @ B)
    order = np.argsort(-L.real)
    L, M = L.real[order], M.real[:, order]
    M = M / np.sqrt(np.sum(M * (A @ M), axis=0))
    return L, Q @ M
