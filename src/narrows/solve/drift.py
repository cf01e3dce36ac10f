"""Whether one of two solutions is better on later samples too, where data drift.

Samples that are held out at random have neighbours in time among the others. A flexible solution
then looks better than it is on samples that are still to come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from narrows.solve.ridge import TIMID, HeldOut, calibrated, classifier, likelihoods, without
from narrows.solve.scatter import Scatter

_SURE = 10.0  # standard errors: a drift


def by_time(code: np.ndarray, when: np.ndarray, folds: int) -> np.ndarray:
    """Return the number of the block of time of each sample, in turn for each class.

    So a stream that is sorted by label does not seem to drift.
    """
    order = np.lexsort((when, code))
    counts = np.bincount(code)
    rank = np.empty(len(code), np.int64)
    rank[order] = np.arange(len(code)) - np.repeat(np.cumsum(counts) - counts, counts)
    found: np.ndarray = rank * folds // counts[code]
    return found


class Kept(NamedTuple):
    """Kept samples, their scatter, and the weight of each class."""

    S: Scatter
    counts: np.ndarray
    all: HeldOut

    @classmethod
    def of(cls, Z: np.ndarray, code: np.ndarray, weight: np.ndarray) -> Kept:
        """Return kept samples in coordinates; `code` is the number of the class of each."""
        counts = np.bincount(code, weight)
        n, m = float(weight.sum()), weight @ Z / weight.sum()
        Z = Z - m
        C = blas.dsyrk(1.0, (np.sqrt(weight)[:, None] * Z).T, lower=1)
        sums = sparse.csc_array((weight, code, np.arange(len(code) + 1))) @ Z
        size = np.sqrt(np.where(counts > 0, counts, np.inf))[:, None]
        S = Scatter(C, sums / size, n, 4 * np.finfo(np.float64).eps * C.diagonal(), m)
        return cls(S, counts, HeldOut(Z, code, weight))

    def ahead(self, block: np.ndarray, alpha: float) -> np.ndarray:
        """Return the log-likelihoods of the samples of each block but the first, by earlier ones.

        Parameters
        ----------
        block : ndarray of shape (n_samples,)
            The number of the block of each.
        alpha : float
            The ridge.

        Returns
        -------
        likelihoods : ndarray of shape (n_samples,)
            0 for those of the first block, and of classes without earlier samples.
        """
        return self._by_others(block, alpha, lambda k: block >= k)

    def drift(self, block: np.ndarray, alpha: float) -> bool:
        """Whether the samples of a block are harder to predict by others than random ones are."""
        mixed = by_time(self.all.code, np.arange(len(block)), int(block.max()) + 1)
        later = self._by_others(block, alpha, lambda k: block == k)
        random = self._by_others(mixed, alpha, lambda k: mixed == k)
        return leads(random - later, self.all.weight, _SURE)

    def _by_others(
        self, block: np.ndarray, alpha: float, held_with: Callable[[int], np.ndarray]
    ) -> np.ndarray:
        """Return log-likelihoods by the samples that are not held out with a block."""
        Z, code, weight = self.all
        posterior = np.zeros((len(block), len(self.counts)))
        predicted = np.zeros(len(block), dtype=bool)
        for k in np.unique(block).tolist():
            held = held_with(k)
            if held.all():
                continue
            rest, left, m = without(self.S, self.counts, HeldOut(*(a[held] for a in self.all)))
            some = (block == k) & (left[code] > 0)
            posterior[some] = classifier(rest, left, Z[some] - m)(alpha)
            predicted |= some
        found = np.zeros(len(block))
        if predicted.any():
            posterior, code, weight = posterior[predicted], code[predicted], weight[predicted]
            temperature = calibrated(posterior, code, weight, TIMID, 1.0)[2]
            found[predicted] = likelihoods(posterior, code, temperature)
        return found


def leads(differences: np.ndarray, weight: np.ndarray, errors: float) -> bool:
    """Whether the mean of differences is more than so many standard errors above 0."""
    n = float(weight.sum())
    mean = float(weight @ differences) / n
    return mean * n > errors * float(np.sqrt(weight**2 @ (differences - mean) ** 2))
