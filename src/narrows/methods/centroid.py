"""Projection by the criterion trace(W'S_b W): the orthogonal centroid methods."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from narrows.criteria import BETWEEN, Criterion
from narrows.methods.parameters import (
    CV,
    FOLDS,
    NONE,
    Constraint,
    check_filled,
    check_folds,
    is_cv,
    parameters,
    whole,
)
from narrows.methods.projector import (
    HELD_OUT_ERRORS,
    HELD_OUT_SCORES,
    Directions,
    ExactProjector,
)
from narrows.solve.eigen import orthogonal_part
from narrows.solve.held_out import NO_CURVE, Curve
from narrows.state.class_stats import ClassStats
from narrows.state.halves import Halves


@parameters
class _OrthogonalCentroid(ExactProjector):
    n_components: int | str | None = None
    priors: Any = "empirical"
    half_life: float | None = None

    def _criterion(self) -> Criterion:
        return BETWEEN


class OC(_OrthogonalCentroid):
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
        p, the number of directions. By default n_classes - 1 (fewer if the rank is lower). An
        explicit number holds from the first batch of a stream on; directions that are not available
        yet are zero. "cv" chooses the smallest number whose held-out score is within one standard
        error of the best: see Notes.
    {priors}
    {half_life}

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
        its standard error; else empty.
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_components exceeds the number
        of available directions, or n_components is "cv" and a fold has no samples.

    See Also
    --------
    OCM : The span of the class means themselves, one direction more.
    SRDA : Discriminant analysis.
    OCFS : Selection of features by the same criterion.
    IOC : The incremental iteration that converges to these directions.
    sklearn.neighbors.NearestCentroid : Classification by the nearest class mean.

    Notes
    -----
    **Cost**, for c classes and d features: O(nnz) per batch, O(c d) per merge, O(c^2 d + c^3) when
    attributes are read; memory 8 d (c + p) bytes.

    OC computes the limit of the incremental `IOC` directly from class sums, with less work.

    **The number of directions**: with "cv" the state has five folds, and sample number i is in fold
    i mod 5. Directions are computed from four folds, and the score of p directions is the scatter
    of the class means that they explain in the fifth: the sum of p_j (w'(m_j - m)) (w'(m_j - m))
    over classes and directions w, with the means of the four folds in the first factor and those of
    the fifth in the second. Directions of noise add nothing on average. On a stream, all directions
    are used while a fold has no samples. The choice depends on the order of the samples.

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

    _constraints: ClassVar[dict[str, Constraint]] = {"n_components": whole(1) | CV | NONE}
    held_out_scores_, held_out_errors_ = HELD_OUT_SCORES, HELD_OUT_ERRORS

    def _folds(self) -> int | None:
        return FOLDS if is_cv(self.n_components) else None

    def _solve(self, stats: ClassStats) -> Directions:
        if not is_cv(self.n_components):
            return super()._solve(stats)
        check_folds(type(self).__name__, "n_components", stats)
        found = super()._solve(stats)
        curve = self._held_out_curve(stats, found.available)
        return found.first(curve.smallest(), curve) if len(curve.scores) else found

    def _held_out_curve(self, stats: ClassStats, size: int) -> Curve:
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
        return Curve.of_folds(np.array(curves), np.array(weight))

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
    contains no scatter of the class means. It preserves the inner products of samples with class
    means, and with them the class mean that has the largest cosine with a sample. `transform`
    returns X W, not centred.

    Parameters
    ----------
    n_components : int, optional
        p, the number of directions. By default n_classes (fewer if the rank is lower). An explicit
        number holds from the first batch of a stream on; directions that are not available yet are
        zero.
    {priors}
    {half_life}

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
    {classes_}
    {n_samples_seen_}

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
