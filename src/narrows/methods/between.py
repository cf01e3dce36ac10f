"""Selection by the criterion trace(W'S_b W): the scatter of the class means."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from narrows.criteria import BETWEEN, HALFWAY, Criterion, held_out_gain
from narrows.methods._certified import CertifiedPerClassSelector
from narrows.methods._held_out import HeldOutSelector
from narrows.methods._select import CriterionSelector
from narrows.state.halves import Halves
from narrows.state.stats import ClassStats


class OCFS(CertifiedPerClassSelector, HeldOutSelector, CriterionSelector):
    """Orthogonal centroid feature selection.

    ::

        criterion   maximise trace(W'S_b W),  S_b = sum_j p_j (m_j - m)(m_j - m)'
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    exact, from all samples at once or batch by batch

    where p_j and m_j are the prior and the mean of class j, and m is the mean of all samples. The
    optimum is the set of features with the largest scores s_k = sum_j p_j (m_jk - m_k)^2.

    Parameters
    ----------
    n_features : int, float or "cv", optional
        Number of features to select, or a fraction of them in (0, 1] (rounded down, at least 1).
        "cv" chooses the smallest number whose held-out score is within one standard error of the
        best. One pass computes five folds; the state is five times as large.
    energy : float, optional
        Select the fewest features that hold this share of the sum of scores, in (0, 1]. By default
        0.8 if neither `n_features`, `threshold` nor `per_class` is given.
    threshold : float, optional
        Select the features with a score of at least `threshold`.
    priors : str, dict or array-like of shape (n_classes,), default="empirical"
        The class weights p_j: "empirical" is proportional to N_j, "sqrt" to N_j^(1/2), "balanced"
        to 1; an array gives them in the order of `classes_`, a dict by class. "sqrt" and "balanced"
        give rare classes more weight.
    per_class : int, optional
        Select the union of the `per_class` best features of each class by `class_scores_`.
    half_life : float, optional
        The number of samples after which the weight of a sample is halved: a sample followed by k
        others has weight 0.5^(k / half_life). By default weights do not decay.
    tolerance : float, optional
        Read the samples in random order, and stop when the selection has at least 1 - tolerance of
        the best possible score, with probability `confidence`. 0 reads all samples and keeps the
        ten folds that `certificate_` needs. Requires priors="empirical".
    confidence : float, default=0.95
        The probability with which the bounds of `certificate_` hold.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the samples, used with `tolerance`.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The scores s_k, in the squared units of X; never negative.
    class_scores_ : ndarray of shape (n_classes, n_features)
        p_j (m_jk - m_k)^2, the contribution of each class to the score.
    energy_ : ndarray of shape (n_features,)
        Entry p - 1 is the share of the p best scores in the sum of the scores.
    ranking_ : ndarray of shape (n_features,)
        Feature indices, best first; ties go to the lower index. Sums alone do not distinguish a
        constant feature from one with equal class means: both score 0 and come last.
    held_out_scores_, held_out_errors_ : ndarray of shape (n_features,)
        With ``n_features="cv"``: entry p - 1 is the sum of the held-out scores of the p best
        features, and its standard error; else empty. The score of a feature is the decrease in the
        mean squared error of a held-out fold if its values are predicted by the point halfway
        between the mean and the class mean of the other folds, instead of by the mean.
    n_features_, n_positive_ : int
        Number of selected features, and of features with a positive score.
    certificate_ : Certificate
        With `tolerance` or other folds: `n_samples`, `share`, `lower`, `upper` and `confidence`.
        The selection has at least `share` of the best possible score.
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the weight N_j of each class.
    n_samples_seen_, n_features_in_ : int
        Number of samples learned from, and of features.

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_features exceeds the number
        of features, more than one size is given, or there are fewer than five samples for "cv".

    See Also
    --------
    MMCFS : Selection that also penalises the scatter within the classes.
    FisherFS : Selection by the ratio of both scatters.
    OC : Projection by the same criterion.
    sklearn.feature_selection.f_classif : Scores by the ratio of the scatters (ANOVA).

    Notes
    -----
    **Cost**, for c classes and d features: O(nnz) per batch, O(c d) per merge, O(c d + d log d)
    when attributes are read; memory 8 c d bytes.

    References
    ----------
    Yan et al. (2005): J. Yan et al., "OCFS: Optimal Orthogonal Centroid Feature Selection for Text
    Categorization", SIGIR 2005, Table 1 and section 4.4.2 (energy), doi:10.1145/1076034.1076058.
    Yan et al. (2006): J. Yan et al., "Effective and Efficient Dimensionality Reduction for
    Large-Scale and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, eq. (2) and Table 2,
    doi:10.1109/TKDE.2006.45.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from narrows import OCFS
    >>> X, y = load_digits(return_X_y=True)
    >>> OCFS(n_features=3).fit(X, y).get_support(indices=True).tolist()
    [26, 34, 42]
    >>> OCFS(energy=0.9).fit(X, y).n_features_
    32
    """

    def _criterion(self) -> Criterion:
        return BETWEEN

    def _held_out(self, halves: Halves) -> np.ndarray:
        return held_out_gain(halves, HALFWAY, own_mean=True)

    def _gain(self, halves: Halves) -> np.ndarray:
        return held_out_gain(halves)

    def _class_blocks(self, stats: ClassStats, p: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        rounding = stats.rounding(p)
        for columns, D in stats.deviations(p):
            D[np.abs(D) <= rounding[columns]] = 0.0
            yield columns, p[p > 0, None] * D**2
