"""The document frequency: in how many samples a feature is not zero."""

from __future__ import annotations

from narrows.methods._select import Scores, Selector
from narrows.state.stats import ClassStats


class DF(Selector):
    """Document frequency feature selection.

    ::

        criterion   the number of samples in which a feature is not 0
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    exact, from all samples at once or batch by batch

    Labels are ignored, with one exception: for an indicator matrix y a sample counts once for each
    of its labels, as in all methods. Omit y to count each sample once.

    Parameters
    ----------
    n_features : int or float, optional
        Number of features to select, or a fraction of them in (0, 1] (rounded down, at least 1).
    energy : float, optional
        Select the fewest features that hold this share of the sum of scores, in (0, 1]. By default
        0.8 if neither `n_features` nor `threshold` is given.
    threshold : float, optional
        Select the features that are present in at least `threshold` samples.
    half_life : float, optional
        The number of samples after which the weight of a sample is halved: a sample followed by k
        others has weight 0.5^(k / half_life). By default weights do not decay.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The number of samples (the sum of their weights) in which the feature is not 0.
    energy_ : ndarray of shape (n_features,)
        Entry p - 1 is the share of the p best scores in the sum of the scores.
    ranking_ : ndarray of shape (n_features,)
        Feature indices, best first. Ties go to the lower index; features that are present in no
        sample or in all come last.
    n_features_, n_positive_ : int
        Number of selected features, and of features with a positive score.
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the weight N_j of each class; the single label 0 if y was None.
    n_samples_seen_, n_features_in_ : int
        Number of samples learned from, and of features.

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, n_features exceeds the number of features, or more than one size
        is given.

    See Also
    --------
    VarianceFS : Selection by the variance of each feature.
    IG : Selection by information gain, which uses the labels.
    sklearn.feature_extraction.text.CountVectorizer : Texts to counts, with bounds on the frequency.

    Notes
    -----
    **Cost**, for c classes and d features: O(nnz) per batch, O(c d) per merge, O(c d + d log d)
    when attributes are read; memory 8 c d bytes, 8 d if y is None.

    References
    ----------
    Y. Yang and J. O. Pedersen, "A Comparative Study on Feature Selection in Text Categorization",
    ICML 1997, which Yan et al. (2005) and Yan et al. (2006) follow.

    Examples
    --------
    >>> from narrows import DF
    >>> DF(n_features=1).fit([[1, 1, 0], [2, 0, 0], [0, 5, 3], [7, 0, 1]]).scores_.tolist()
    [3.0, 2.0, 2.0]
    """

    _presence = True
    _needs_y = False

    def _score(self, stats: ClassStats) -> Scores:
        return Scores(stats.total, stats.varying(stats.priors()))
