"""The criterion trace(W'(S_b - eps S_w) W): classes far apart, and each of them compact."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from narrows.criteria import Criterion
from narrows.errors import ParameterError
from narrows.families._select import Scores, Selection, Selector
from narrows.priors import second_for
from narrows.stats import ClassStats, Second


def margin(eps: float) -> Criterion:
    """Return S_b - eps S_w, which is (1 + eps) S_b - eps C."""
    return Criterion(between=1 + eps, total=-eps)


class MMCFS(Selector):
    """Maximum Margin Criterion Feature Selection.

    ::

        criterion   maximise trace(W'(S_b - eps S_w) W)
        space       W picks columns: a 0-1 matrix with a single 1 in each column
        schedule    exact, at once or at every moment of a stream

    The optimum is the columns with the largest margin s_bk - eps s_wk: the spread of the class
    means, less eps times the spread within the classes. At eps = 0 this is `OCFS`.

    Few columns of sparse data gain margin at eps = 1, since a word spreads more within the
    classes than between them; past those columns the largest margins are the ones nearest to 0,
    of the rarest words, and a warning says so. A small eps, such as 0.1, still keeps what counts.

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
    eps : float, default=1.0
        The weight of the spread within the classes, >= 0.

    Attributes
    ----------
    scores_ : ndarray of shape (d,)
        s_bk - eps s_wk, in the squared units of X.
    energy_ : ndarray of shape (d,)
        E(p) for p = 1..d, the share of the p best scores in the sum of max(score, 0).
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

    Warns
    -----
    UserWarning
        More columns are asked for than gain margin; `n_positive_` says how many do.

    Notes
    -----
    **Cost**: O(nnz) a batch, O(c d) a merge, O(c d + d log d) when read; memory 8 d (c + 1)
    bytes, and 16 c d with priors other than the empirical ones, which take second moments of
    each class.

    References
    ----------
    The criterion: paper 003, J. Yan et al., "IMMC: Incremental Maximum Margin Criterion", KDD
    2004; the weight eps is in its experiment on Ionosphere. The discrete space: paper 000, J.
    Yan et al., "Effective and Efficient Dimensionality Reduction for Large-Scale and Streaming
    Data Preprocessing", IEEE TKDE 18(3), 2006, sections 2.2.3 and 2.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import MMCFS
    >>> X, y = load_iris(return_X_y=True)
    >>> mmcfs = MMCFS(threshold=0.0).fit(X, y)
    >>> mmcfs.scores_.round(2).tolist()
    [0.16, -0.04, 2.73, 0.5]
    >>> mmcfs.get_support(indices=True).tolist()
    [0, 2, 3]
    """

    def __init__(
        self,
        n_features: int | float | None = None,
        energy: float | None = None,
        threshold: float | None = None,
        priors: Any = "empirical",
        eps: float = 1.0,
    ):
        self.n_features = n_features
        self.energy = energy
        self.threshold = threshold
        self.priors = priors
        self.eps = eps

    def _second(self) -> Second:
        return second_for(self.priors)

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if not (isinstance(self.eps, numbers.Real) and 0 <= float(self.eps) < np.inf):
            raise ParameterError(f"MMCFS: eps must be finite and >= 0, but {self.eps!r} came.")

    def _score(self, stats: ClassStats) -> Scores:
        varies = stats.varying(stats.priors(self.priors))
        return Scores.of_spread(margin(self.eps).diagonal(stats, self.priors), varies)

    def _advice(self, selection: Selection) -> str:
        if self.n_features is None or selection.n_positive >= selection.size:
            return super()._advice(selection)
        return (
            f"of the {selection.size} columns kept only {selection.n_positive} gain margin at "
            f"eps={self.eps:g}; past those the rarest columns rank best. Use a smaller eps."
        )
