"""The criterion: three numbers that say what a reduction is to keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from narrows.moments.stats import ClassStats
from narrows.solve.sums import HUGE, TINY, check_not_tiny, too_large, weighted


@dataclass(frozen=True)
class Criterion:
    """The matrix A = between S_b + total C + shift I of the criterion trace(W'AW).

    S_b = sum_j p_j (m_j - m)(m_j - m)' is the scatter of the class means about the mean,
    C the covariance of all rows, both divided by n (paper 000, section 2). Selection reads
    A's diagonal: with W a 0-1 matrix that picks columns, trace(W'AW) is a sum of diagonal
    entries, so the p largest are the optimum. Extraction reads A's leading eigenvectors.

    Parameters
    ----------
    between, total, shift : float
        The three numbers.

    Examples
    --------
    >>> from narrows import ClassStats
    >>> from narrows.criteria import BETWEEN
    >>> stats = ClassStats.of([[0.0, 5.0], [2.0, 5.0]], [0, 1])
    >>> BETWEEN.diagonal(stats).tolist()
    [1.0, 0.0]
    """

    between: float = 0.0
    total: float = 0.0
    shift: float = 0.0

    def diagonal(
        self, stats: ClassStats, priors: Any = "empirical", alone: bool = False
    ) -> np.ndarray:
        """diag A, of shape (d,), at O(c d) time and no memory beyond the answer.

        RangeError where digits are lost because all features are small; with `alone`, because one
        is, however large others are.
        """
        p = stats.priors(priors)
        a = np.full(stats.n_features, self.shift)
        if self.between:
            a += self.between * _spread(stats, p, alone)
        if self.total:
            with np.errstate(over="ignore"):  # of what is seen next
                a += self.total * stats.variances(p)
        if not np.isfinite(a).all():
            k = int((~np.isfinite(a)).argmax())
            raise too_large(f"a criterion below {HUGE:.1e}", k)
        return a


def _spread(stats: ClassStats, p: np.ndarray, alone: bool) -> np.ndarray:
    """sum_j p_j (m_j - m)^2, of shape (d,)."""
    spread, rounding = np.empty(stats.n_features), stats.rounding(p)
    faint = np.zeros(stats.n_features)
    with np.errstate(over="ignore", invalid="ignore"):  # of what is seen next
        for columns, D in stats.deviations(p):
            spread[columns] = weighted(p[p > 0], D**2)
            if alone:
                few = columns.start + np.flatnonzero(spread[columns] < TINY)
                faint[few] = np.abs(D[:, few - columns.start]).max(axis=0, initial=0.0)
        noise = rounding**2
    check_spread(spread, lambda: deviations(stats, p))
    check_not_tiny(np.where(faint > rounding, faint, 0.0))
    spread[spread <= noise] = 0.0
    return spread


def check_spread(spread: np.ndarray, size: Callable[[], np.ndarray]) -> None:
    """Raise where squares are infinite, or all are so small that digits are lost.

    Parameters
    ----------
    spread : ndarray of shape (d,)
        Sums of squares, or some of them.
    size : callable
        Returns what they are of, one number a feature.
    """
    if not np.isfinite(spread).all():
        expected = f"class means that differ by less than {HUGE**0.5:.1e}"
        raise too_large(expected, int(size().argmax()))
    if spread.max(initial=0.0) < TINY:
        check_not_tiny(size())


def deviations(stats: ClassStats, p: np.ndarray) -> np.ndarray:
    """max_j |m_j - m|, of shape (d,), without rounding."""
    size, rounding = np.empty(stats.n_features), stats.rounding(p)
    with np.errstate(over="ignore", invalid="ignore"):
        for columns, D in stats.deviations(p):
            D = np.nan_to_num(np.abs(D), nan=np.inf)
            size[columns] = np.where(D > rounding[columns], D, 0.0).max(axis=0, initial=0.0)
    return size


BETWEEN = Criterion(between=1.0)
TOTAL = Criterion(total=1.0)
