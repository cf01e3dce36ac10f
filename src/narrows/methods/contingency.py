"""Contingency tables: the number of samples of each class in which a feature is not zero."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from scipy.special import rel_entr

from narrows.methods.selector import HeldOutSelector, PerClassSelector, Scores, Selector
from narrows.solve.products import each
from narrows.solve.sums import weighted
from narrows.state.class_stats import ClassStats
from narrows.state.halves import Halves

_ROUNDING = 1e-13  # relative, or in bits: smaller differences are rounding


class _Contingency(PerClassSelector):
    """A score of the 2 x 2 tables of each feature and each class.

    Subclasses define `_per_class`. P of shape (n_classes, n_features) is the probability that a
    sample has the feature and is of the class, p of shape (n_classes, 1) are the priors.
    """

    _presence = True

    @abstractmethod
    def _per_class(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        """Return the scores, of the shape of P."""

    def _combined(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        """Return the mean of the class scores, weighted by the priors."""
        return weighted(p[:, 0], self._per_class(P, p, n))

    def _score(self, stats: ClassStats) -> Scores:
        p = stats.priors(self.priors)
        scores = np.empty(stats.n_features)

        def score(block: tuple[slice, np.ndarray]) -> None:
            columns, P = block
            scores[columns] = self._combined(P, p[p > 0, None], stats.n)

        each(score, stats.joint(p))
        return Scores.of_spread(scores, stats.varying(p))

    def _class_blocks(self, stats: ClassStats, p: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        for columns, P in stats.joint(p):
            yield columns, self._per_class(P, p[p > 0, None], stats.n)


class HeldOutInformation(HeldOutSelector, _Contingency):
    """Held-out scores in bits, whatever the score that features are ranked by."""

    def _held_out(self, halves: Halves) -> np.ndarray:
        """Return the information in bits that the other folds have about the classes of a fold."""
        gain, n = np.empty(halves.fold.n_features), halves.others.n
        more = int((halves.p_others > 0).sum()) / n if n else 1.0
        p, p_fold = halves.p_known[:, None], halves.p_fold[halves.p_fold > 0, None]

        def score(block: tuple[slice, np.ndarray, np.ndarray, np.ndarray]) -> None:
            columns, P, P_fold, total = block
            present = _foreseen(P, total, P_fold, p, more)
            P, P_fold, total = p - P, p_fold - P_fold, 1 - total  # of samples without the feature
            P, total = np.maximum(P, 0.0, out=P), np.maximum(total, 0.0)
            gain[columns] = present + _foreseen(P, total, P_fold, p, more)

        each(score, halves.joint())
        return gain


class IG(HeldOutInformation):
    """Information gain feature selection.

    ::

        criterion   H(c) - P(t) H(c | t present) - P(t absent) H(c | t absent) of each feature t
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    exact, from all samples at once or batch by batch

    where H(c) is the entropy of the classes. A feature is present in a sample if its value is not
    0. The joint information of several features is not the sum of their scores.

    Parameters
    ----------
    {n_features}
    {energy}
    threshold : float, optional
        Select the features with a score of at least `threshold`, in bits.
    {priors}
    {per_class}
    {half_life}

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The information gain in bits, from 0 to the entropy of the classes.
    class_scores_ : ndarray of shape (n_classes, n_features)
        The information gain in bits of each class against all others; its sum is not `scores_`.
    {energy_}
    {ranking_}
    held_out_scores_, held_out_errors_ : ndarray of shape (n_features,)
        With ``n_features="cv"``: entry p - 1 is the sum of the information of the p best features
        on held-out folds in bits, and its standard error; else empty.
    {n_features_}
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_features exceeds the number
        of features, more than one size is given, or there are fewer than five samples for "cv".

    See Also
    --------
    CHI : Selection by the chi-squared statistic.
    MI : Selection by pointwise mutual information.
    OCFS : Selection by class means, which uses the values of X.
    sklearn.feature_selection.mutual_info_classif : Mutual information, also of real values.

    Notes
    -----
    **Cost**, for c classes and d features: O(nnz) per batch, O(c d) per merge, O(c d + d log d)
    when attributes are read; memory 8 c d bytes. Held-out information is the log-likelihood of the
    classes of a fold given the counts of the other folds, minus that given the priors.

    References
    ----------
    Yan et al. (2005): J. Yan et al., "OCFS: Optimal Orthogonal Centroid Feature Selection for Text
    Categorization", SIGIR 2005, section 3.1, doi:10.1145/1076034.1076058, and Yan et al. (2006),
    IEEE TKDE 18(3), section 2.3.1. Both misprint the last term; see Y. Yang and J. O. Pedersen, "A
    Comparative Study on Feature Selection in Text Categorization", ICML 1997.

    Examples
    --------
    >>> from narrows import IG
    >>> X = [[1, 1, 0], [2, 0, 0], [0, 1, 3], [0, 0, 1]]
    >>> IG().fit(X, ["a", "a", "b", "b"]).scores_.tolist()
    [1.0, 0.0, 1.0]
    """

    def _combined(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        absent = np.maximum(p - P, 0.0)
        with_it, without = P.sum(axis=0), absent.sum(axis=0)
        j, k = np.nonzero(P)  # few classes have a feature; for the others P(absent, c_j) is p_j
        share = p[j, 0]
        bits = _bits(P[j, k], share * with_it[k]) + _bits(absent[j, k], share * without[k])
        others = np.maximum(1 - np.bincount(k, share, len(without)), 0.0)
        surprise = -np.log2(without, out=np.zeros_like(without), where=without > 0)
        return _without_rounding(np.bincount(k, bits, len(without)) + others * surprise)

    def _per_class(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        absent = np.maximum(p - P, 0.0)
        return _without_rounding(
            sum(
                _bits(part, p * every) + _bits(np.maximum(every - part, 0.0), (1 - p) * every)
                for part, every in ((P, P.sum(axis=0)), (absent, absent.sum(axis=0)))
            )
        )


class MI(_Contingency):
    """Mutual information feature selection, averaged over the classes.

    ::

        criterion   sum_j p_j log2(P(t, c_j) / (P(t) P(c_j))) of each feature t
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    exact, from all samples at once or batch by batch

    where p_j is the prior of class j. This is the pointwise mutual information of feature t
    (present in a sample if its value is not 0) and class j; a class without the feature adds 0. MI
    favours rare features: prefer `IG`.

    Parameters
    ----------
    n_features : int or float, optional
        Number of features to select, or a fraction of them in (0, 1] (rounded down, at least 1).
    {energy}
    threshold : float, optional
        Select the features with a score of at least `threshold`, in bits.
    {priors}
    {per_class}
    {half_life}

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The mean of the class scores with weights p_j, in bits; may be negative.
    class_scores_ : ndarray of shape (n_classes, n_features)
        log2(P(t, c_j) / (P(t) P(c_j))), in bits; 0 if no sample of the class has the feature.
    {energy_}
    {ranking_}
    {n_features_}
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_features exceeds the number
        of features, or more than one size is given.

    See Also
    --------
    IG : Selection by information gain, which does not favour rare features.
    CHI : Selection by the chi-squared statistic.
    sklearn.feature_selection.mutual_info_classif : Mutual information, also of real values.

    Notes
    -----
    **Cost**, for c classes and d features: O(nnz) per batch, O(c d) per merge, O(c d + d log d)
    when attributes are read; memory 8 c d bytes.

    References
    ----------
    Y. Yang and J. O. Pedersen, "A Comparative Study on Feature Selection in Text Categorization",
    ICML 1997, which Yan et al. (2005) and Yan et al. (2006) follow.

    Examples
    --------
    >>> from narrows import MI
    >>> X = [[1, 1, 0], [2, 0, 0], [0, 1, 3], [0, 0, 1]]
    >>> MI().fit(X, ["a", "a", "b", "b"]).scores_.tolist()
    [0.5, 0.0, 0.5]
    """

    def _per_class(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        chance = p * P.sum(axis=0)
        ratio = np.divide(P, chance, out=np.ones_like(P), where=P > 0)
        ratio[np.abs(ratio - 1) <= _ROUNDING] = 1.0
        return np.log2(ratio)


def _foreseen(
    P: np.ndarray, total: np.ndarray, P_fold: np.ndarray, p: np.ndarray, more: float
) -> np.ndarray:
    """Return sum_j P_fold_j log2(q_j / p_j), with the shares q_j of P + more p.

    A class that P does not know, with p_j = 0, adds nothing.
    """
    shares = P + more * p
    np.divide(shares, p * (total + more), out=shares, where=p > 0)
    shares[p[:, 0] == 0] = 1.0
    return np.multiply(np.log2(shares, out=shares), P_fold, out=shares).sum(axis=0)


def _without_rounding(bits: np.ndarray) -> np.ndarray:
    """Return the information, which is never negative, without rounding."""
    return np.where(bits > _ROUNDING, bits, 0.0)


def _bits(part: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Return part log2(part / chance), 0 where part is 0."""
    return rel_entr(part, chance) / np.log(2)


class CHI(HeldOutInformation):
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
    {n_features}
    {energy}
    {threshold}
    {priors}
    {per_class}
    {half_life}

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The mean of the statistics of the classes with weights p_j, without unit, from 0 to n.
    class_scores_ : ndarray of shape (n_classes, n_features)
        The statistics chi2(t, c_j).
    {energy_}
    {ranking_}
    held_out_scores_, held_out_errors_ : ndarray of shape (n_features,)
        With ``n_features="cv"``: entry p - 1 is the sum of the information of the p best features
        on held-out folds in bits, as for `IG`, and its standard error; else empty.
    {n_features_}
    {classes_}
    {n_samples_seen_}

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

    def _per_class(self, P: np.ndarray, p: np.ndarray, n: float) -> np.ndarray:
        present, absent = P.sum(axis=0), np.maximum(p - P, 0.0).sum(axis=0)
        apart = P - p * present
        apart[np.abs(apart) <= _ROUNDING * P] = 0.0
        apart = n * apart**2
        margins = p * (1 - p) * (present * absent)
        return np.divide(apart, margins, out=np.zeros_like(apart), where=margins > 0)


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
    {half_life}

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The number of samples (the sum of their weights) in which the feature is not 0.
    energy_ : ndarray of shape (n_features,)
        Entry p - 1 is the share of the p best scores in the sum of the scores.
    {ranking_}
    {n_features_}
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the weight N_j of each class; the single label 0 if y was None.
    {n_samples_seen_}

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
