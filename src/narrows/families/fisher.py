"""The Fisher criterion: the spread between the classes over the spread within them."""

from __future__ import annotations

from typing import Any

import numpy as np

from narrows.criteria import BETWEEN, TOTAL
from narrows.errors import ParameterError
from narrows.families._select import Scores, Selector
from narrows.priors import second_for
from narrows.solve import columns
from narrows.stats import ClassStats, Second

_ROUNDING = 1e-12  # of a column's variance: as much within the classes is none


class FisherFS(Selector):
    """Fisher Feature Selection.

    ::

        criterion   "score": each column by w'S_b w / w'S_w w, which ranks them
                    "trace_ratio": maximise trace(W'S_b W) / trace(W'S_w W)
        space       W picks columns: a 0-1 matrix with a single 1 in each column
        schedule    exact, at once or at every moment of a stream

    A ratio of two sums is no sum of ratios, so the two are different things. The trace ratio is
    exact over all sets of p columns, and of little use: a set's ratio lies between those of its
    columns, so the optimum takes the best column, and then those that add least to either sum,
    the rarest. The ranking by score is the useful one.

    Parameters
    ----------
    n_features : int or float, optional
        How many columns to keep, or which fraction of them (rounded down, at least 1).
    energy : float, optional
        Keep the fewest columns that hold this share of the sum of positive scores, in (0, 1].
        This is what happens, with 0.8, where no size is given.
    threshold : float, optional
        Keep the columns with a score of at least this.
    priors : {"empirical", "sqrt", "balanced"} or array-like of shape (c,), default="empirical"
        p_j proportional to N_j, N_j^(1/2), 1, or the numbers given, in the order of `classes_`.
    optimum : {"score", "trace_ratio"}, default="score"
        Which of the two; the second needs n_features.

    Attributes
    ----------
    scores_ : ndarray of shape (d,)
        "score": s_bk / s_wk, without unit; infinite where the classes do not spread at all but
        their means do, 0 where the means do not. "trace_ratio": s_bk - lambda s_wk, with lambda
        the best ratio; where that is infinite, s_bk and minus infinity.
    energy_ : ndarray of shape (d,)
        E(p) for p = 1..d, the share of the p best columns in the sum of s_bk / (s_bk + s_wk),
        which orders them as the score does; for the trace ratio of max(score, 0).
    ranking_ : ndarray of shape (d,)
        The columns from the best to the worst. Ties go to the lower column; columns that do not
        vary come last, whatever their score.
    n_features_, n_positive_ : int
        How many columns are kept, and how many have a positive score.
    classes_, class_count_ : ndarray of shape (c,)
        Labels, sorted, and the weight of each.
    n_samples_seen_, n_features_in_ : int
        Rows learnt from, and d.

    Raises
    ------
    ValueError
        See `fit`; NaN, fewer than two classes, n_features over d, more than one size.

    Notes
    -----
    **Cost**: O(nnz) a batch, O(c d) a merge, O(c d + d log d) when read, times a few rounds for
    the trace ratio; memory 8 d (c + 1) bytes, and 16 c d with priors other than the empirical
    ones, which take second moments of each class.

    References
    ----------
    Paper 000: J. Yan et al., IEEE TKDE 18(3), 2006, section 2.2.2, prints the ratio of
    determinants, paper 002 (J. Ye et al., IEEE TKDE 17(9), 2005) the trace of a quotient, paper
    004 (J. Yan et al., Information Sciences 176, 2006, section 2.3.2) the ratio of traces: three
    different criteria. For one column all are the score. The rounds for the ratio of sums: W.
    Dinkelbach, "On Nonlinear Fractional Programming", Management Science 13(7), 1967.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import FisherFS
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherFS(n_features=2).fit(X, y).get_support(indices=True).tolist()
    [2, 3]
    """

    def __init__(
        self,
        n_features: int | float | None = None,
        energy: float | None = None,
        threshold: float | None = None,
        priors: Any = "empirical",
        optimum: str = "score",
    ):
        self.n_features = n_features
        self.energy = energy
        self.threshold = threshold
        self.priors = priors
        self.optimum = optimum

    def _second(self) -> Second:
        return second_for(self.priors)

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self.optimum not in ("score", "trace_ratio"):
            raise ParameterError(
                f'FisherFS: optimum must be "score" or "trace_ratio", but {self.optimum!r} came.'
            )
        if self.optimum == "trace_ratio" and self.n_features is None:
            raise ParameterError(
                'FisherFS: optimum="trace_ratio" needs n_features, because the best ratio '
                "depends on how many columns share it."
            )

    def _score(self, stats: ClassStats) -> Scores:
        p = stats.priors(self.priors)
        varies = stats.varying(p)
        total = TOTAL.diagonal(stats, self.priors)
        between = np.where(varies, np.minimum(BETWEEN.diagonal(stats, self.priors), total), 0.0)
        within = total - between
        within[within <= _ROUNDING * total] = 0.0
        if self.optimum == "score":
            return Scores(_ratio(between, within), varies, _ratio(between, between + within))
        size = min(columns.count_wanted(self.n_features, stats.n_features), int(varies.sum()))
        best = columns.best_ratio(between[varies], within[varies], size)
        with np.errstate(invalid="ignore"):  # infinity times 0
            loss = np.where(within > 0, best * within, 0.0)
        return Scores(between - loss, varies)


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b; infinite where only b is 0, and 0 where a is."""
    return np.divide(a, b, out=np.where(a > 0, np.inf, 0.0), where=(a > 0) & (b > 0))
