"""The scatter of the class means as H'H, with an H that is multiplied without being made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from narrows.state.class_stats import ClassStats


def between(stats: ClassStats, p: np.ndarray) -> LinearOperator:
    """Return H with the rows p_j^(1/2) (m_j - m), so that H'H is S_b.

    Parameters
    ----------
    stats : ClassStats
        The class sums. A product costs as much as reading them as they are stored.
    p : ndarray of shape (n_classes,)
        Priors; m is sum_j p_j m_j. Classes with p_j = 0 have no row.

    Returns
    -------
    H : LinearOperator of shape (number of classes with p_j > 0, n_features)
    """
    live = p > 0
    root, stored = np.sqrt(p[live]), stats._sums.stored()
    S, scale = stored if live.all() else stored[live], root / stats.counts[live]
    m = S.T @ (root * scale)
    return LinearOperator(
        S.shape,
        matvec=lambda v: scale * (S @ v.ravel()) - root * (m @ v.ravel()),
        rmatvec=lambda u: S.T @ (scale * u.ravel()) - m * (root @ u.ravel()),
        dtype=np.float64,
    )


class Halves(NamedTuple):
    """One fold, and the sum of the others, with the priors of each.

    Parameters
    ----------
    whole, others, fold : ClassStats
        The state of all folds, the sum of all but one, and this one.
    p_others, p_fold : ndarray
        The priors of their classes; zeros where only classes without weight have priors.
    """

    whole: ClassStats
    others: ClassStats
    fold: ClassStats
    p_others: np.ndarray
    p_fold: np.ndarray

    @classmethod
    def of(cls, stats: ClassStats, priors: Any) -> Iterator[Halves]:
        """Yield the halves for each fold of a state; only those of one fold are in memory."""
        labels = np.array([])
        if not isinstance(priors, str):
            live = stats.counts > 0
            labels, priors = stats.classes[live], stats.priors(priors)[live]
        for k in range(stats.folds or 0):
            others, fold = stats.without(k), stats.fold(k)
            p = (_priors(priors, labels, half) for half in (others, fold))
            yield cls(stats, others, fold, *p)

    @property
    def p_known(self) -> np.ndarray:
        """The priors in the others of the classes with a prior in the fold; 0 if they lack it."""
        return self._matched(self.p_others[self.p_others > 0, None])[:, 0]

    def deviations(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield the deviations of class means in both halves, a block of features at a time.

        Yields
        ------
        columns : slice
            A range of features.
        A, B : ndarray of shape (number of classes with a prior in the fold, number of features)
            m_j - m in the others and in the fold; 0 where rounding may be all there is, and in the
            others for classes that they lack.
        """
        faint = self.others.rounding(self.p_others), self.fold.rounding(self.p_fold)
        for columns, A, B in self._blocks("deviations"):
            for D, rounding in zip((A, B), faint, strict=True):
                D[np.abs(D) <= rounding[columns]] = 0.0
            yield columns, self._matched(A), B

    def joint(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (columns, A, B, total): p_j m_j as `deviations`, and its sum over all others."""
        for columns, A, B in self._blocks("joint"):
            yield columns, self._matched(A), B, A.sum(axis=0)

    def _matched(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of the others in the order of the classes of the fold, else zeros."""
        theirs = self.others.classes[self.p_others > 0]
        mine = self.fold.classes[self.p_fold > 0]
        if np.array_equal(theirs, mine):
            return rows
        found = np.zeros((len(mine), rows.shape[1]))
        known = np.isin(mine, theirs)
        found[known] = rows[np.searchsorted(theirs, mine[known])]
        return found

    def _blocks(self, what: str) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        size = max(len(self.others.counts), len(self.fold.counts))
        theirs = getattr(self.others, what)(self.p_others, size)
        mine = getattr(self.fold, what)(self.p_fold, size)
        for (columns, A), (_, B) in zip(theirs, mine, strict=True):
            yield columns, A, B


def _priors(kind: Any, labels: np.ndarray, half: ClassStats) -> np.ndarray:
    """Return the priors of a half: given numbers are those of the classes that it has."""
    if isinstance(kind, str):
        return half.priors(kind)
    p, live = np.zeros(len(half.counts)), half.counts > 0
    p[live] = kind[np.searchsorted(labels, half.classes[live])]
    return p / (p.sum() or 1.0)
