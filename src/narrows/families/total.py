"""The criterion trace(W'C W): the spread of all rows, whatever their labels."""

from __future__ import annotations

from narrows.criteria import TOTAL
from narrows.families._select import Scores, Selector
from narrows.stats import ClassStats, Second


class VarianceFS(Selector):
    """Variance Feature Selection.

    ::

        criterion   maximise trace(W'C W),  C = E (x - m)(x - m)'
        space       W picks columns: a 0-1 matrix with a single 1 in each column
        schedule    exact, at once or at every moment of a stream

    The optimum is the columns of largest variance. Labels play no part in it, but for this: with
    an indicator matrix for y a row counts once for each of its labels, as everywhere. Leave y out
    where that is not wanted.

    Parameters
    ----------
    n_features : int or float, optional
        How many columns to keep, or which fraction of them (rounded down, at least 1).
    energy : float, optional
        Keep the fewest columns that hold this share of the sum of positive scores, in (0, 1].
        This is what happens, with 0.8, where no size is given.
    threshold : float, optional
        Keep the columns with a score of at least this.

    Attributes
    ----------
    scores_ : ndarray of shape (d,)
        The variance of each column (the 1/n scale), in the squared units of X.
    energy_ : ndarray of shape (d,)
        E(p) for p = 1..d, the share of the p best scores in the sum of max(score, 0).
    ranking_ : ndarray of shape (d,)
        The columns from the best to the worst. Ties go to the lower column; columns that do not
        vary come last, whatever their score.
    n_features_, n_positive_ : int
        How many columns are kept, and how many have a positive score.
    classes_, class_count_ : ndarray of shape (c,)
        Labels, sorted, and the weight of each; the one label 0 where y was None.
    n_samples_seen_, n_features_in_ : int
        Rows learnt from, and d.

    Raises
    ------
    ValueError
        See `fit`; NaN, n_features over d, more than one size.

    Notes
    -----
    **Cost**: O(nnz) a batch, O(c d) a merge, O(c d + d log d) when read; memory 8 d (c + 1)
    bytes, 16 d where y is None.

    References
    ----------
    Paper 000: J. Yan et al., "Effective and Efficient Dimensionality Reduction for Large-Scale
    and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, sections 2.2.1 and 2.4: what PCA
    maximises, in the discrete space.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import VarianceFS
    >>> X, y = load_iris(return_X_y=True)
    >>> VarianceFS(n_features=2).fit(X).get_support(indices=True).tolist()
    [0, 2]
    """

    _needs_y = False

    def __init__(
        self,
        n_features: int | float | None = None,
        energy: float | None = None,
        threshold: float | None = None,
    ):
        self.n_features = n_features
        self.energy = energy
        self.threshold = threshold

    def _second(self) -> Second:
        return "total"

    def _score(self, stats: ClassStats) -> Scores:
        return Scores.of_spread(TOTAL.diagonal(stats), stats.varying(stats.priors()))
