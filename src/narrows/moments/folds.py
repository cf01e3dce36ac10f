"""Folds: the moments of each fold in turn, which is held out, and of all others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from narrows.moments.moments import Moments
from narrows.solve.codec import SchemaError


@contextmanager
def errors_of_fold(k: int) -> Iterator[None]:
    """Name fold k in errors about its arrays."""
    try:
        yield
    except SchemaError as error:
        raise SchemaError(f"fold {k}: {error}") from None


class Split(NamedTuple):
    """A fold that is held out, and the moments of all other folds, with the priors of each.

    Parameters
    ----------
    others, fold : Moments
        The sum of all folds but one, and this one.
    p_others, p_fold : ndarray
        The priors of their classes; zeros where only classes without weight have priors.
    """

    others: Moments
    fold: Moments
    p_others: np.ndarray
    p_fold: np.ndarray

    @property
    def p_known(self) -> np.ndarray:
        """The priors in the others of the classes with a prior in the fold; 0 if they lack it."""
        return self._matched(self.p_others[self.p_others > 0, None])[:, 0]

    def deviations(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield the deviations of class means in both, a block of features at a time.

        Yields
        ------
        columns : slice
            A range of features.
        A, B : ndarray of shape (number of classes with a prior in the fold, number of features)
            m_j - m in the others and in the fold; 0 where rounding may be all there is, and in the
            others for classes that they lack.
        """
        noise = self.others.rounding(self.p_others), self.fold.rounding(self.p_fold)
        for columns, A, B in self._blocks("deviations"):
            for D, rounding in zip((A, B), noise, strict=True):
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


def splits(folds: list[Moments], priors: Any = "empirical") -> Iterator[Split]:
    """Yield the split for each fold; only the moments of one are in memory."""
    labels = np.array([])
    if not isinstance(priors, str):
        whole = Moments.summed(folds)
        live = whole.counts > 0
        labels, priors = whole.classes[live], whole.priors(priors)[live]
    for k, fold in enumerate(folds):
        others = Moments.summed(folds[:k] + folds[k + 1 :])
        p = (_priors(priors, labels, part) for part in (others, fold))
        yield Split(others, fold, *p)


def _priors(kind: Any, labels: np.ndarray, part: Moments) -> np.ndarray:
    """Return the priors of a part: given numbers are those of the classes that it has."""
    if isinstance(kind, str):
        return part.priors(kind)
    p, live = np.zeros(len(part.counts)), part.counts > 0
    p[live] = kind[np.searchsorted(labels, part.classes[live])]
    return p / (p.sum() or 1.0)
