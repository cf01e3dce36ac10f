"""The document frequency: in how many samples a feature is not zero."""

from __future__ import annotations

from narrows.families._select import Scores, Selector
from narrows.moments.stats import ClassStats


class DF(Selector):
    """Document Frequency.

    ::

        criterion   the number of rows in which a column is not 0
        space       W picks columns: a 0-1 matrix with a single 1 in each column
        schedule    exact, at once or at every moment of a stream

    Labels play no part in it, but for this: with an indicator matrix for y a row counts once
    for each of its labels, as everywhere. Leave y out where that is not wanted.

    Parameters
    ----------
    n_features : int or float, optional
        How many columns to keep, or which fraction of them (rounded down, at least 1).
    energy : float, optional
        Keep the fewest columns that hold this share of the sum of scores, in (0, 1]. This is
        what happens, with 0.8, where no size is given.
    threshold : float, optional
        Keep the columns that are present in at least so many rows.
    half_life : float, optional
        Rows after which a row weighs half: each is weighted .5^((rows after it)/half_life), so
        that what is old is forgotten. Left out, nothing is.

    Attributes
    ----------
    scores_ : ndarray of shape (d,)
        Rows (the sum of their weights) in which the column is not 0.
    energy_ : ndarray of shape (d,)
        E(p) for p = 1..d, the share of the p best scores in their sum.
    ranking_ : ndarray of shape (d,)
        The columns from the best to the worst. Ties go to the lower column; columns that are
        present in no row or in all come last.
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
    **Cost**: O(nnz) a batch, O(c d) a merge, O(c d + d log d) when read; memory 8 c d bytes, 8 d
    where y is None.

    References
    ----------
    Y. Yang and J. O. Pedersen, "A Comparative Study on Feature Selection in Text
    Categorization", ICML 1997, which papers 000 and 001 follow.

    Examples
    --------
    >>> from narrows import DF
    >>> DF(n_features=1).fit([[1, 1, 0], [2, 0, 0], [0, 5, 3], [7, 0, 1]]).scores_.tolist()
    [3.0, 2.0, 2.0]
    """

    _presence = True
    _needs_y = False

    def __init__(
        self,
        n_features: int | float | None = None,
        energy: float | None = None,
        threshold: float | None = None,
        half_life: float | None = None,
    ):
        self.n_features = n_features
        self.energy = energy
        self.threshold = threshold
        self.half_life = half_life

    def _score(self, stats: ClassStats) -> Scores:
        return Scores(stats.total, stats.varying(stats.priors()))
