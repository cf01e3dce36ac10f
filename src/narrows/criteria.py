"""The criterion: three numbers that say what a reduction is to keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from narrows.solve.sums import weighted
from narrows.stats import ClassStats


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

    def diagonal(self, stats: ClassStats, priors: Any = "empirical") -> np.ndarray:
        """diag A, of shape (d,), at O(c d) time and no memory beyond the answer."""
        p = stats.priors(priors)
        a = np.full(stats.n_features, self.shift)
        if self.between:
            with np.errstate(over="ignore"):
                spread = np.empty_like(a)
                for columns, D in stats.deviations(p):
                    spread[columns] = weighted(p[p > 0], D**2)
                spread[np.isfinite(spread) & (spread <= stats.rounding(p) ** 2)] = 0.0
            a += self.between * spread
        if self.total:
            a += self.total * stats.variances(p)
        if not np.isfinite(a).all():
            raise ValueError(
                f"the spread of column {np.flatnonzero(~np.isfinite(a))[0]} is too large to be "
                "told; scale the data down."
            )
        return a


BETWEEN = Criterion(between=1.0)
TOTAL = Criterion(total=1.0)
