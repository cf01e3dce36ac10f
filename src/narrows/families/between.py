"""The criterion trace(W'S_b W): the scatter of the class means (Yan et al. 2005, 2006)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from narrows.criteria import BETWEEN, Criterion, held_out_gain
from narrows.families._choices import HeldOutProjector
from narrows.families._folds import FOLDS, check_filled, check_folds, is_cv
from narrows.families._held_out import HeldOutSelector
from narrows.families._project import Directions, ExactProjector
from narrows.families._select import CriterionSelector, PerClassSelector
from narrows.moments.halves import Halves
from narrows.moments.stats import ClassStats
from narrows.solve.eigen import orthogonal_part
from narrows.solve.held_out import NO_CURVE, HeldOutCurve


class OCFS(HeldOutSelector, CriterionSelector, PerClassSelector):
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
        "cv" chooses the fewest whose held-out score is within one standard error of the best, by
        five folds of one pass; the state is five times as large.
    energy : float, optional
        Select the fewest features that hold this share of the sum of scores, in (0, 1]. By default
        0.8 if neither `n_features`, `threshold` nor `per_class` is given.
    threshold : float, optional
        Select the features with a score of at least `threshold`.
    priors : str or array-like of shape (n_classes,), default="empirical"
        The class weights p_j: "empirical" is proportional to N_j, "sqrt" to N_j^(1/2), "balanced"
        to 1; an array gives them in the order of `classes_`. "sqrt" and "balanced" give rare
        classes more weight.
    per_class : int, optional
        Select the union of the `per_class` best features of each class by `class_scores_`.
    half_life : float, optional
        A sample that k samples have followed has weight 0.5^(k / half_life), so that old samples
        are forgotten. By default nothing is forgotten.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The scores s_k, in the squared units of X; never negative.
    class_scores_ : ndarray of shape (n_classes, n_features)
        p_j (m_jk - m_k)^2, the contribution of each class to the score.
    energy_ : ndarray of shape (n_features,)
        The share of the p best scores in the sum of all, for p = 1, ..., n_features.
    ranking_ : ndarray of shape (n_features,)
        Feature indices, best first; ties go to the lower index. Sums alone do not distinguish a
        constant feature from one with equal class means: both score 0 and come last.
    held_out_scores_, held_out_errors_ : ndarray of shape (n_features,)
        With ``n_features="cv"``, for p = 1, ..., n_features, the sum over the p best features of
        how much lower the mean squared error of a held-out fold is, if samples are predicted
        halfway between the mean and the class mean of the other folds, instead of by the mean; and
        its standard error. Otherwise empty.
    n_features_, n_positive_ : int
        Number of selected features, and of features with a positive score.
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
        return held_out_gain(halves)

    def _class_blocks(self, stats: ClassStats, p: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        rounding = stats.rounding(p)
        for columns, D in stats.deviations(p):
            D[np.abs(D) <= rounding[columns]] = 0.0
            yield columns, p[p > 0, None] * D**2


class _OrthogonalCentroid(ExactProjector):
    def __init__(
        self,
        n_components: int | str | None = None,
        priors: Any = "empirical",
        half_life: float | None = None,
    ):
        self.n_components = n_components
        self.priors = priors
        self.half_life = half_life

    def _criterion(self) -> Criterion:
        return BETWEEN


class OC(HeldOutProjector, _OrthogonalCentroid):
    """Orthogonal centroid projection.

    ::

        criterion   maximise trace(W'S_b W),  S_b = sum_j p_j (m_j - m)(m_j - m)'
        space       W real, W'W = I
        schedule    exact, from all samples at once or batch by batch

    where p_j and m_j are the prior and the mean of class j, and m is the mean of all samples. The
    optimum consists of the leading eigenvectors of S_b. `transform` returns X W, not centred.

    Parameters
    ----------
    n_components : int or "cv", optional
        p, the number of directions. By default n_classes - 1 (fewer if the rank is lower). A given
        number is the width on a stream from the first batch on; directions that are not available
        yet are zero. "cv" is the smallest number whose held-out score is within one standard error
        of the best one, see Notes.
    priors : str or array-like of shape (n_classes,), default="empirical"
        The class weights p_j: "empirical" is proportional to N_j, "sqrt" to N_j^(1/2), "balanced"
        to 1; an array gives them in the order of `classes_`.
    half_life : float, optional
        A sample that k samples have followed has weight 0.5^(k / half_life), so that old samples
        are forgotten. By default nothing is forgotten.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W: orthonormal directions, largest eigenvalue first. The entry of largest
        magnitude in each direction is positive. Directions that are not available (yet) are zero.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of S_b (normalised by 1/n), descending; 0 for zero directions.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The eigenvalues, divided by the trace of S_b: the share of the scatter of the class means
        that each direction explains.
    held_out_scores_, held_out_errors_ : ndarray of shape (n_components_available,)
        With ``n_components="cv"``: entry p - 1 is the held-out score of the first p directions, and
        its standard error; else without entries.
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the weight N_j of each class.
    n_samples_seen_, n_features_in_ : int
        Number of samples learned from, and of features.

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, or n_components exceeds the
        number of available directions; or it is "cv" and a fold has no samples.

    See Also
    --------
    OCM : The span of the class means themselves, one direction more.
    SRDA : Discriminant analysis, usually more accurate, from all samples at once.
    OCFS : Selection of features by the same criterion.
    IOC : The incremental iteration that converges to these directions.
    sklearn.neighbors.NearestCentroid : Classification by the nearest class mean.

    Notes
    -----
    **Cost**, for c classes and d features: O(nnz) per batch, O(c d) per merge, O(c^2 d + c^3) when
    attributes are read; memory 8 d (c + p) bytes.

    S_b is a function of sums that add up. Therefore OC computes the limit of the incremental IOC
    directly, without waiting for convergence and with less work.

    **The number of directions**: with "cv" the state has five folds, and sample number i is in fold
    i mod 5. The score of p directions is the scatter of the class means that they explain in one
    fold, if they are computed from the others: sum_j p_j (w'(m_j - m)) (w'(m_j - m)), with the
    first factor of the others and the second one of the fold. Directions that are noise add nothing
    on average. On a stream all directions are used while a fold has no samples. The choice depends
    on the order of the samples; docs/choosing.md says where it is a good one.

    References
    ----------
    Yan et al. (2006): J. Yan et al., "Effective and Efficient Dimensionality Reduction for
    Large-Scale and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, section 2.2.4 and Theorem
    1, doi:10.1109/TKDE.2006.45.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import OC
    >>> X, y = load_iris(return_X_y=True)
    >>> oc = OC().fit(X, y)
    >>> oc.eigenvalues_.round(3).tolist()
    [3.913, 0.034]
    >>> oc.transform(X).shape
    (150, 2)
    """

    def _folds(self) -> int | None:
        return FOLDS if is_cv(self.n_components) else None

    def _check_kind(self, stats: ClassStats) -> None:
        super()._check_kind(stats)
        if is_cv(self.n_components):
            check_folds(type(self).__name__, "n_components", stats)

    def _solve(self, stats: ClassStats) -> Directions:
        if not is_cv(self.n_components):
            return super()._solve(stats)
        check_folds(type(self).__name__, "n_components", stats)
        found = super()._solve(stats)
        curve = self._held_out_curve(stats, found.available)
        return found.first(curve.smallest(), curve) if len(curve.scores) else found

    def _held_out_curve(self, stats: ClassStats, size: int) -> HeldOutCurve:
        """Return the scatter of the class means of each fold that others' directions explain.

        Without entries if there are no directions, or no samples in one of the folds.
        """
        curves, weight = [], []
        for halves in Halves.of(stats, self._priors()):
            weight.append(halves.fold.n)
            if not size or not halves.fold.n:
                return NO_CURVE
            p = halves.p_fold[halves.p_fold > 0]
            _, W = BETWEEN.leading(halves.others, halves.p_others[halves.others.counts > 0], size)
            A = B = np.zeros((len(p), W.shape[1]))
            for columns, others, fold in halves.deviations():
                A = A + others @ W[columns]
                B = B + fold @ W[columns]
            explained = np.cumsum(p @ (A * B))
            last = explained[-1:] if len(explained) else np.zeros(1)
            curves.append(np.append(explained, np.repeat(last, size - len(explained))))
        return HeldOutCurve.of(np.array(curves), np.array(weight))

    def _check_solution(self, solution: Directions, stats: ClassStats) -> None:
        super()._check_solution(solution, stats)
        if is_cv(self.n_components) and not len(solution.held_out.scores):
            for k in range(stats.folds or 0):
                check_filled(type(self).__name__, "n_components", stats.fold(k), stats.n_samples)


class OCM(_OrthogonalCentroid):
    """Orthogonal centroid method: projection onto the span of the class means.

    ::

        criterion   maximise trace(W'S_b W),  S_b = sum_j p_j (m_j - m)(m_j - m)'
        space       W real, W'W = I, with as many columns as the rank of the means [m_1 .. m_c]
        schedule    exact, from all samples at once or batch by batch

    where p_j and m_j are the prior and the mean of class j, and m is the mean of all samples. Every
    orthonormal basis Q of the class means is an optimum (Ye et al. 2005, Theorem 2). OCM uses Q M,
    with M the eigenvectors of Q'S_b Q, so that the best directions come first: those of `OC`,
    followed by the direction that m adds to their span, with eigenvalue 0. The last direction
    contains no scatter of the means. It preserves the inner products of the samples with the means,
    and with them which mean has the largest cosine with a sample. `transform` returns X W, not
    centred.

    Parameters
    ----------
    n_components : int, optional
        p, the number of directions. By default n_classes (fewer if the rank is lower). A given
        number is the width on a stream from the first batch on; directions that are not available
        yet are zero.
    priors : str or array-like of shape (n_classes,), default="empirical"
        The class weights p_j: "empirical" is proportional to N_j, "sqrt" to N_j^(1/2), "balanced"
        to 1; an array gives them in the order of `classes_`.
    half_life : float, optional
        A sample that k samples have followed has weight 0.5^(k / half_life), so that old samples
        are forgotten. By default nothing is forgotten.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W: orthonormal directions, largest eigenvalue first. The entry of largest
        magnitude in each direction is positive. Directions that are not available (yet) are zero.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of S_b (normalised by 1/n), descending; 0 for zero directions.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The eigenvalues, divided by the trace of S_b: the share of the scatter of the class means
        that each direction explains.
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the weight N_j of each class.
    n_samples_seen_, n_features_in_ : int
        Number of samples learned from, and of features.

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, or n_components exceeds the
        number of available directions.

    See Also
    --------
    OC : The same directions without the last one.
    IDRQR : Regularised discriminant analysis in the span of the class means.
    sklearn.neighbors.NearestCentroid : Classification by the nearest class mean.

    Notes
    -----
    **Cost**: that of `OC`. The result depends on the origin of the data. Use another method for
    dense data with a large offset.

    References
    ----------
    Ye et al. (2005): J. Ye et al., "IDR/QR: An Incremental Dimension Reduction Algorithm via QR
    Decomposition", IEEE TKDE 17(9), 2005, section 4 and Theorem 2, doi:10.1109/TKDE.2005.148.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import OCM
    >>> X, y = load_iris(return_X_y=True)
    >>> OCM().fit(X, y).eigenvalues_.round(3).tolist()
    [3.913, 0.034, 0.0]
    """

    def _directions(self, stats: ClassStats) -> tuple[np.ndarray, np.ndarray]:
        L, W = self._criterion().leading(stats, self.priors)
        p = stats.priors(self.priors)
        rest = orthogonal_part(stats.centre(p), W, scale=np.sqrt(L.max(initial=0.0)))
        return np.append(L, np.zeros(rest.shape[1])), np.hstack([W, rest])

    def _limit(self, classes: int) -> tuple[int, str]:
        return classes, ""
