"""Forward selection: features one after another, each the one that explains most of what is left.

The regression of the targets on the features chosen so far is never computed again: each step
sweeps one feature out of all others, which is a Cholesky factorisation with pivots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

_DEPENDENT = 1e-9  # of a variance: what the features chosen so far leave of one they determine
_TIE = 1e-9  # of a gain


class Path(NamedTuple):
    """The features in the order in which they were chosen.

    Parameters
    ----------
    order : ndarray of shape (n_chosen,)
        Feature indices.
    gains : ndarray of shape (n_steps,)
        By how much each step lowers the residual.
    ends : ndarray of shape (n_steps,)
        How many features are chosen after each step.
    left : ndarray of shape (n_features,)
        By how much each feature, or its group, would lower the residual next.
    factor : ndarray of shape (n_chosen, n_chosen)
        The lower triangular L with L L' = A, of the chosen features in their order.
    solved : ndarray of shape (n_chosen, n_targets)
        L^-1 R of the chosen features.
    """

    order: np.ndarray
    gains: np.ndarray
    ends: np.ndarray
    left: np.ndarray
    factor: np.ndarray
    solved: np.ndarray


class _Swept:
    """A matrix with ones on its diagonal, plus a ridge, less what chosen features explain."""

    def __init__(self, d: int, ridge: float, most: int):
        self.diagonal = np.full(d, 1.0 + ridge)
        self.L, self.t = np.empty((most, d)), 0

    def sweep(self, j: int, column: np.ndarray) -> np.ndarray:
        """Sweep feature j out; return the next row of the factor.

        That of a feature that the chosen ones determine has no other entries.
        """
        L, t = self.L, self.t
        if self.diagonal[j] > _DEPENDENT:
            row = column - L[:t, j] @ L[:t]
            row[j] = self.diagonal[j]
            row /= np.sqrt(self.diagonal[j])
        else:
            row = np.zeros(len(column))
            row[j] = 1.0
        L[t], self.t = row, t + 1
        self.diagonal = np.maximum(self.diagonal - row**2, 0.0)
        return row


class _Groups:
    """All groups of one size, and what is left of their blocks of the matrix."""

    def __init__(
        self, number: np.ndarray, members: np.ndarray, block: Callable[[np.ndarray], np.ndarray]
    ):
        self.number, self.members = number, members
        self.left = np.array([block(J) for J in members])

    def gains(self, R: np.ndarray, some: np.ndarray) -> np.ndarray:
        """Return the gains of some of the groups."""
        inverse = np.linalg.pinv(self.left[some], _DEPENDENT, hermitian=True)
        of_each = R[self.members[some]]
        return np.maximum(np.einsum("gik,gij,gjk->g", of_each, inverse, of_each, optimize=True), 0)

    def sweep(self, row: np.ndarray) -> None:
        """Subtract what the next row of the factor explains."""
        own = row[self.members]
        self.left -= own[:, :, None] * own[:, None, :]


def forward(
    column: Callable[[int], np.ndarray],
    block: Callable[[np.ndarray], np.ndarray],
    R: np.ndarray,
    n_steps: int,
    ridge: float,
    groups: Sequence[np.ndarray] | None = None,
    start: Sequence[int] = (),
) -> Path:
    """Choose features by what each adds to a ridge regression on those chosen before it.

    ::

        gain_j = |R_j|^2 / A_jj,   A = C + ridge I

    where C, with ones on its diagonal, and R are what is left of the matrix of the features and of
    their products with the targets once the chosen features are swept out. Features that the
    chosen ones determine (which leave 1e-9 of their variance) come after all others.

    Parameters
    ----------
    column : callable
        Returns column j of C, of shape (n_features,).
    block : callable
        Returns the rows and columns J of C, of a group of features.
    R : ndarray of shape (n_features, n_targets)
        The products of the features with the targets.
    n_steps : int
        How many steps to take at most, with those of `start`.
    ridge : float
        At least 0.
    groups : sequence of ndarrays, optional
        The features of each group, which are chosen together. By default, each feature alone.
    start : sequence of int
        The groups, or features, of the first steps.

    Returns
    -------
    path : Path

    Notes
    -----
    **Cost**: O(d (k + n_targets)) for step k, and one column of C.
    """
    d, n_targets = R.shape
    first, sizes = np.arange(d), np.ones(d, dtype=int)  # of each group
    if groups is not None:
        first, sizes = np.array([(J[0], len(J)) for J in groups], dtype=int).reshape(-1, 2).T
    n_steps = min(n_steps, len(first))
    most = int(np.sort(sizes)[len(sizes) - n_steps :].sum())
    A, R = _Swept(d, ridge, most), R.copy()
    plain = _Swept(d, 0.0, most) if ridge else A  # which tells what is dependent
    several = []
    for size in np.unique(sizes[sizes > 1]):
        number = np.flatnonzero(sizes == size)
        members = np.array([J for J in groups or () if len(J) == size])
        several.append(_Groups(number, members, block))
        several[-1].left += ridge * np.eye(size)
    free = np.ones(len(first), dtype=bool)
    order: list[int] = []
    gains: list[float] = []
    ends: list[int] = []
    solved: list[np.ndarray] = []

    def gain_of_each() -> np.ndarray:
        length = np.einsum("ij,ij->i", R, R)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(A.diagonal > _DEPENDENT, length / A.diagonal, 0.0)
        found: np.ndarray = each[first]
        for each_size in several:
            some = np.flatnonzero(free[each_size.number])
            found[each_size.number[some]] = each_size.gains(R, some)
        return found

    for step in range(n_steps):
        gain = gain_of_each()
        if step < len(start):
            g = start[step]
        else:
            adds = plain.diagonal[first] > _DEPENDENT
            for each_size in several:
                most_left = plain.diagonal[each_size.members].max(axis=1)
                adds[each_size.number] = most_left > _DEPENDENT
            allowed = free & adds if (free & adds).any() else free
            best = gain[allowed].max()
            g = int(np.flatnonzero(allowed & (gain >= best * (1 - _TIE)))[0])
        free[g] = False
        gains.append(float(gain[g]))
        for j in [first[g]] if groups is None else groups[g]:
            own, independent = column(j), A.diagonal[j] > _DEPENDENT
            row = A.sweep(j, own)
            if plain is not A:
                plain.sweep(j, own)
            for each_size in several:
                each_size.sweep(row)
            solved.append(R[j] / row[j] if independent else np.zeros(n_targets))
            for k in range(n_targets):  # without an array as large as R
                R[:, k] -= solved[-1][k] * row
            order.append(int(j))
        ends.append(len(order))
    last = gain_of_each()
    left = last.copy() if groups is None else np.empty(d)
    for J, gain_of in zip(groups or (), last, strict=False):
        left[J] = gain_of
    chosen = np.array(order, dtype=int)
    return Path(
        chosen,
        np.array(gains),
        np.array(ends, dtype=int),
        left,
        np.tril(A.L[: A.t][:, chosen].T),
        np.array(solved).reshape(len(chosen), n_targets),
    )


def held_out_shares(path: Path, C: np.ndarray, K: np.ndarray, total: float) -> np.ndarray:
    """Return the share of the targets of other samples that each step of a path explains.

    ::

        1 - |t - x'B_k|^2 / |t|^2,   B_k = A_kk^-1 R_k

    for the regression B_k of the first k features of the path.

    Parameters
    ----------
    path : Path
        Of k features.
    C : ndarray of shape (k, k)
        The mean of x x' of the other samples, in the units and about the mean of the path.
    K : ndarray of shape (k, n_targets)
        The mean of x t'.
    total : float
        The mean of |t|^2, > 0.

    Returns
    -------
    shares : ndarray of shape (n_steps,)
        At most 1, and negative where the regression is worse than none.
    """
    V = np.linalg.inv(path.factor).T  # B_k = V[:, :k] solved[:k], so that each step adds a term
    by_feature = explained(V.T @ K, V.T @ C @ V, path.solved)
    return np.append(0.0, by_feature)[path.ends] / total


def explained(K: np.ndarray, C: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return what regressions by the first directions explain of the targets of other samples.

    ::

        |t|^2 - |t - Q_p'z_p|^2,   z_p = the first p coordinates of a sample

    Parameters
    ----------
    K : ndarray of shape (k, n_targets)
        The mean of z t'.
    C : ndarray of shape (k, k)
        The mean of z z'.
    Q : ndarray of shape (k, n_targets)
        The coefficients of each coordinate.

    Returns
    -------
    explained : ndarray of shape (k,)
        For p = 1, ..., k.
    """
    linear = np.cumsum(np.einsum("ij,ij->i", K, Q))
    upto = np.cumsum(np.cumsum(C * (Q @ Q.T), axis=0), axis=1).diagonal()
    return 2 * linear - upto
