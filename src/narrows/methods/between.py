"""Selection by the criterion trace(W'S_b W): the scatter of the class means."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from narrows.criteria import BETWEEN, Criterion, held_out_gain
from narrows.methods.centroid import OC
from narrows.methods.selector import CriterionSelector, HeldOutSelector, PerClassSelector
from narrows.methods.streams import OnlineProjector
from narrows.state.class_stats import ClassStats
from narrows.state.halves import Halves


class OCFS(PerClassSelector, HeldOutSelector, CriterionSelector):
    """Orthogonal centroid feature selection.

    ::

        criterion   maximise trace(W'S_b W),  S_b = sum_j p_j (m_j - m)(m_j - m)'
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    exact, from all samples at once or batch by batch

    where p_j and m_j are the prior and the mean of class j, and m is the mean of all samples. The
    optimum is the set of features with the largest scores s_k = sum_j p_j (m_jk - m_k)^2.

    Parameters
    ----------
    {n_features}
    energy : float, optional
        Select the fewest features that hold this share of the sum of scores, in (0, 1]. By default
        0.8 if neither `n_features`, `threshold` nor `per_class` is given.
    {threshold}
    priors : str, dict or array-like of shape (n_classes,), default="empirical"
        The class weights p_j: "empirical" is proportional to N_j, "sqrt" to N_j^(1/2), "balanced"
        to 1; an array gives them in the order of `classes_`, a dict by class. "sqrt" and "balanced"
        give rare classes more weight.
    {per_class}
    {half_life}

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


class _OnlineCentroid(OnlineProjector):
    _instead = "OC, which is exact on a stream and supports merge"

    def exact(self) -> OC:
        """Return the exact orthogonal centroid directions of the samples so far.

        They are the limit of the iterates, computed from the same class sums.

        Returns
        -------
        oc : OC
            A fitted estimator with `n_components` directions, or all if there are fewer.

        Raises
        ------
        ValueError
            There are fewer than two classes so far, or the class means are equal.

        See Also
        --------
        OC : The estimator of these directions.

        Notes
        -----
        **Cost**, for c classes and d features: O(c^2 d + c^3).
        """
        stats = self._state.sums()
        oc = OC().fit_stats(stats)
        if hasattr(self, "feature_names_in_"):
            oc.feature_names_in_ = self.feature_names_in_
        return oc.set_params(n_components=min(self._p(stats.n_features), len(oc.components_)))

    def _criterion(self) -> Criterion:
        return BETWEEN


class IOC(_OnlineCentroid):
    """Incremental orthogonal centroid, one update per sample.

    ::

        criterion   maximise trace(W'S_b W),  S_b = sum_j p_j (m_j - m)(m_j - m)'
        space       W real, W'W = I in the limit
        schedule    one update per sample

    where p_j and m_j are the prior and the mean of class j, and m is the mean of all samples.
    Sample n updates `v_j <- (n-1)/n v_j + 1/n S_b^j v_j/|v_j|` for j = 1, ..., p in turn. S_b is
    that of the samples so far; in S_b^j its columns are deflated by the new v_1, ..., v_{j-1}.
    Component j starts at sample j, from the sample itself. `transform` returns X W with the columns
    `v_j/|v_j|` of W, not centred.

    **Prefer `OC`** in nearly all cases. It computes the optimum from the same sums at any time,
    with less work (see also `exact`), whereas the iterates converge slowly. IOC is provided to
    reproduce the experiments of Yan et al. (2006) and for research.

    Parameters
    ----------
    {n_components}
    {iteration}

    Attributes
    ----------
    {components_}
    eigenvalues_ : ndarray of shape (n_components,)
        `|v_j|`, which converges to the eigenvalue of S_b (normalised by 1/n).
    {n_samples_still_}
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the number of samples of each class.
    n_samples_seen_, n_features_in_ : int
        Number of samples learned from, counted once per pass, and of features.

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_components exceeds the number
        of features, or a parameter is out of range.

    See Also
    --------
    OC : The exact solution, also on a stream.
    IIS : The same update with another start.
    OnlineSRDA : Discriminant analysis that learns from single samples.
    sklearn.decomposition.IncrementalPCA : Incremental projection without labels.

    Notes
    -----
    **Cost** per sample, for c classes and d features: O(nnz (p + c)) and about 10 c^3 operations
    (for p = c) independent of d; memory 8 d (p + c) bytes. The iterates equal those of Table 1 up
    to rounding, for any batches.

    References
    ----------
    Yan et al. (2006): J. Yan et al., "Effective and Efficient Dimensionality Reduction for
    Large-Scale and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, section 3.1 and Table 1,
    doi:10.1109/TKDE.2006.45; the stopping rule is in section 4.2.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import IOC
    >>> X, y = load_iris(return_X_y=True)
    >>> ioc = IOC(n_components=1, passes=5, shuffle=True, random_state=0).fit(X, y)
    >>> cosine = ioc.components_ @ ioc.exact().components_.T
    >>> bool(cosine > 0.999)
    True
    """

    _start = "raw"


class IIS(_OnlineCentroid):
    """Incremental inter-class scatter, one update per sample.

    ::

        criterion   maximise trace(W'S_b W),  S_b = sum_j p_j (m_j - m)(m_j - m)'
        space       W real, W'W = I in the limit
        schedule    one update per sample

    where p_j and m_j are the prior and the mean of class j, and m is the mean of all samples. The
    updates are those of `IOC`, but the start differs: v_1 starts from the first sample, and v_j for
    j > 1 from x(j) - m, deflated by v_1, ..., v_{j-1}. The printed table omits the factor `1/|v|`
    of equation (14), without which the iterates depend on the scale of the data; IIS includes it.
    `transform` returns X W with the columns `v_j/|v_j|` of W, not centred.

    As for `IOC`, prefer `OC`, which computes the optimum from the same sums (see also `exact`).

    Parameters
    ----------
    {n_components}
    {iteration}

    Attributes
    ----------
    {components_}
    eigenvalues_ : ndarray of shape (n_components,)
        `|v_j|`, which converges to the eigenvalue of S_b (normalised by 1/n).
    {n_samples_still_}
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the number of samples of each class.
    n_samples_seen_, n_features_in_ : int
        Number of samples learned from, counted once per pass, and of features.

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_components exceeds the number
        of features, or a parameter is out of range.

    See Also
    --------
    OC : The exact solution, also on a stream.
    IOC : The same update with another start.
    sklearn.decomposition.IncrementalPCA : Incremental projection without labels.

    Notes
    -----
    **Cost**: that of `IOC`. A start vector that consists of rounding errors (below 1e-12 of `|x|^2
    + |m|^2`) is not used: this component and later ones start at later samples.

    References
    ----------
    Yan et al. (2006b): J. Yan et al., "A scalable supervised algorithm for dimensionality reduction
    on streaming data", Information Sciences 176, 2006, Table 4 and equation (14).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import IIS
    >>> X, y = load_iris(return_X_y=True)
    >>> iis = IIS(passes=10, shuffle=True, random_state=0).fit(X, y)
    >>> iis.eigenvalues_.round(1).tolist()
    [3.9, 0.0]
    """
