"""The chi-squared statistic of contingency tables."""

from __future__ import annotations

import numpy as np

from narrows.methods._certified import CertifiedPerClassSelector
from narrows.methods.contingency import HeldOutInformation
from narrows.state.halves import Halves
from narrows.solve.sums import weighted
from narrows.solve.threads import each

_ROUNDING = 1e-13  # relative: smaller differences are rounding


class CHI(CertifiedPerClassSelector, HeldOutInformation):
    """Chi-squared feature selection.

    ::

        criterion   sum_j p_j chi2(t, c_j), of the 2 x 2 table of feature t and class j
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    exact, from all samples at once or batch by batch

    where p_j is the prior of class j. A feature is present in a sample if its value is not 0. chi2
    = n (A D - C B)^2 / ((A + C)(B + D)(A + B)(C + D)), without continuity correction: the feature
    is present in A samples of the class and in B others, and absent from C samples of the class and
    from D others. CHI counts presence, whereas scikit-learn's ``chi2`` sums values.

    Parameters
    ----------
    n_features : int, float or "cv", optional
        Number of features to select, or a fraction of them in (0, 1] (rounded down, at least 1).
        "cv" chooses the smallest number whose held-out score is within one standard error of the
        best. One pass computes five folds; the state is five times as large.
    energy : float, optional
        Select the fewest features that hold this share of the sum of positive scores, in (0, 1]. By
        default 0.8 if neither `n_features`, `threshold` nor `per_class` is given.
    threshold : float, optional
        Select the features with a score of at least `threshold`.
    priors : str, dict or array-like of shape (n_classes,), default="empirical"
        The class weights p_j: "empirical" is proportional to N_j, "sqrt" to N_j^(1/2), "balanced"
        to 1; an array gives them in the order of `classes_`, a dict by class.
    per_class : int, optional
        Select the union of the `per_class` best features of each class by `class_scores_`.
    half_life : float, optional
        The number of samples after which the weight of a sample is halved: a sample followed by k
        others has weight 0.5^(k / half_life). By default weights do not decay.
    tolerance : float, optional
        Read the samples in random order, and stop when the selection has at least 1 - tolerance of
        the best possible score, with probability `confidence`. 0 reads all samples. Requires
        priors="empirical".
    confidence : float, default=0.95
        The probability with which the bounds of `certificate_` hold.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the samples, used with `tolerance`.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The mean of the statistics of the classes with weights p_j, without unit, from 0 to n.
    class_scores_ : ndarray of shape (n_classes, n_features)
        The statistics chi2(t, c_j).
    energy_ : ndarray of shape (n_features,)
        Entry p - 1 is the share of the p best scores in the sum of max(score, 0).
    ranking_ : ndarray of shape (n_features,)
        Feature indices, best first. Ties go to the lower index; features that are present in no
        sample or in all come last.
    held_out_scores_, held_out_errors_ : ndarray of shape (n_features,)
        With ``n_features="cv"``: entry p - 1 is the sum of the information of the p best features
        on held-out folds in bits, as for `IG`, and its standard error; else empty.
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
    IG : Selection by information gain.
    MI : Selection by pointwise mutual information.
    OCFS : Selection by class means, which uses the values of X.
    sklearn.feature_selection.chi2 : The statistic of sums of values.

    Notes
    -----
    **Cost**, for c classes and d features: O(nnz) per batch, O(c d) per merge, O(c d + d log d)
    when attributes are read; memory 8 c d bytes.

    References
    ----------
    Yan et al. (2005): J. Yan et al., "OCFS: Optimal Orthogonal Centroid Feature Selection for Text
    Categorization", SIGIR 2005, section 3.2, doi:10.1145/1076034.1076058, and Yan et al. (2006),
    IEEE TKDE 18(3), section 2.3.2.

    Examples
    --------
    >>> from narrows import CHI
    >>> X = [[1, 1, 0], [2, 0, 0], [0, 1, 3], [0, 0, 1]]
    >>> CHI().fit(X, ["a", "a", "b", "b"]).scores_.tolist()
    [4.0, 0.0, 4.0]
    """

    def _gain(self, halves: Halves) -> np.ndarray:
        gain, n = np.empty(halves.fold.n_features), halves.whole.n
        p, p_fold = halves.p_known[:, None], halves.p_fold[halves.p_fold > 0, None]

        def score(block: tuple[slice, np.ndarray, np.ndarray, np.ndarray]) -> None:
            columns, P, P_fold, total = block
            total_fold, found = P_fold.sum(axis=0), np.full(P.shape, -1.0)
            for share, share_fold, part, part_fold in (
                (p, p_fold, P, P_fold),
                (1 - p, 1 - p_fold, total - P, total_fold - P_fold),
            ):
                found += _dependence(part, share * total, part_fold, share_fold * total_fold)
                absent, absent_fold = share * (1 - total), share_fold * (1 - total_fold)
                found += _dependence(share - part, absent, share_fold - part_fold, absent_fold)
            gain[columns] = n * weighted(p_fold[:, 0], found)

        each(score, halves.joint())
        return gain

    def _per_class(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        present, absent = P.sum(axis=0), np.maximum(p - P, 0.0).sum(axis=0)
        apart = P - p * present
        apart[np.abs(apart) <= _ROUNDING * P] = 0.0
        apart = n * apart**2
        margins = p * (1 - p) * (present * absent)
        return np.divide(apart, margins, out=np.zeros_like(apart), where=margins > 0)


def _dependence(
    part: np.ndarray, chance: np.ndarray, part_fold: np.ndarray, chance_fold: np.ndarray
) -> np.ndarray:
    """Return a cell's part of chi2 / n + 1 = max over g of 2 E g - E_0 g^2, with g of the others.

    E_0 is the expectation if the feature and the class were independent.
    """
    g = np.divide(part, chance, out=np.zeros_like(part), where=chance > 0)
    return 2 * part_fold * g - chance_fold * g**2
