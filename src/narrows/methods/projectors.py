"""Projectors: methods that find a few directions, and project samples onto these."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError, warn
from narrows.methods.attributes import (
    EIGENVALUES,
    EXPLAINED,
    HELD_OUT_ERRORS,
    HELD_OUT_SCORES,
    attribute,
    compared,
)
from narrows.methods.base import Reducer, check_at_once, refuse_more
from narrows.methods.learned import Learned, lock_of
from narrows.methods.parameters import (
    CV,
    EPS,
    FEATURES,
    FLAG,
    NONE,
    Constraint,
    check_keep,
    chosen,
    is_cv,
    is_integer,
    parameters,
    real,
    whole,
    word,
)
from narrows.methods.plan import AT_ONCE, Data, Gather, Pass, Plan, Where, n_folds
from narrows.methods.standardize import standardized, unit_of, unit_of_samples
from narrows.moments.labels import distinct
from narrows.moments.products import MOST
from narrows.solutions import projectors
from narrows.solutions.at_once import Find, of_classes
from narrows.solutions.choice import KEPT
from narrows.solutions.selectors import check_filled
from narrows.solve.arrays import as_numpy, read_only
from narrows.solve.devices import as_given
from narrows.solve.solution import Classes, Solution


class Projector(ClassNamePrefixFeaturesOutMixin, Reducer):
    """Projects onto the directions of a solution: W is real."""

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": whole(1) | NONE,
        "standardize": FLAG | FEATURES.said("a list of names or indices, or a mask"),
    }
    n_components: Any

    @property
    def components_(self) -> np.ndarray:
        """The directions, the transpose of W, of shape (n_components, n_features)."""
        found = self._solution
        return read_only(found.padded(found.W).T)

    def transform(self, X: Any) -> Any:
        """Project X onto the directions: X W, not centred.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        X_r : ndarray of shape (n_samples, n_components)
            In the float dtype of X (float64 for other dtypes). With an explicit ``n_components``,
            the columns of directions that are not available yet are 0.

        See Also
        --------
        fit_transform : Fit to samples and reduce them.
        get_feature_names_out : Return the names of the components.
        """
        return self._applied().reduce(self._check_X(X, reset=False))

    def _predicting(self, calibrated: bool = False) -> Solution:
        """Return the solution, which has a rule; with a temperature if `calibrated`."""
        found = self._read(calibrated)
        if found.rule is None or not len(found.rule.intercept):
            raise NotFittedError(
                "expected samples to predict by, got none so far. Continue with partial_fit."
            )
        return found

    @property
    def _n_features_out(self) -> int:
        return self._read().width

    @property
    def _size(self) -> int | None:
        """The number of components that was given; None if it follows from the samples."""
        return int(self.n_components) if is_integer(self.n_components, 1) else None

    def _applied(self) -> Solution:
        found = self._read()
        if found.width:
            return found
        expected, got = "samples that differ", "none"
        if self._is_numeric:
            expected = "targets that vary with the features"
        elif self._needs_y:
            expected = "classes with different means"
            got = f"{int((self.class_count_ > 0).sum())} class(es) without a direction"
        raise NotFittedError(f"expected {expected}, got {got} so far. Continue with partial_fit.")

    def _check_together(self, n_features: int) -> None:
        if n_features < sys.maxsize:  # the data are known
            standardized(self, n_features)
        if chosen(self) and self._sums(Data(n_features)).n_folds == 1:  # no folds choose
            check_keep(self)
        if getattr(self, "solver", "auto") in AT_ONCE:
            check_at_once(self)

    # -- all samples at once --------------------------------------------------------------------

    def _plan(self, data: Data, where: Where, samples: Any) -> Plan:
        sums, solver = self._sums(data), getattr(self, "solver", None)
        if sums.second != "cross" or solver == "cross":
            return Plan((sums,))
        if where == "stream" and data.n_features > MOST:
            refuse_more(self, data.n_features)
        if where == "stream" or not (solver in AT_ONCE or data.n_features > MOST):
            return Plan((sums,))
        if where == "chunks" and data.is_sparse and solver == "auto":  # others are asked for
            refuse_more(self, data.n_features, "sparse samples in chunks")
        check_at_once(self)
        return Plan((Gather(sums.half_life, sums.numeric),))

    def _of_classes(
        self, X: Any, y: Any, weight: np.ndarray, ridge_of: Any, find: Find
    ) -> Solution:
        """Return the solution for all samples at once, by what finds their directions."""
        labels, codes = distinct(y)
        classes = Classes(labels, np.bincount(codes, weight))
        return of_classes(
            X, codes, weight, classes, unit_of_samples(self, X, weight), ridge_of, find
        )


def check_means(estimator: Any, found: Solution, most: int | None, more: str = "") -> None:
    """Raise where class means give no direction, or fewer than n_components.

    `most` is the number of directions that so many classes have, and `more` says what to use for
    more; None where others follow them, which separate no classes.
    """
    p, rank = estimator._size, found.rank
    if not rank:
        raise ValueError(
            "expected classes with different means, got equal means, so no direction "
            "distinguishes them. Check that the samples and the labels belong together."
        )
    if p is None or p <= rank:
        return
    if most is None:
        raise spans_only(rank, p)
    classes = int(found.classes.seen.sum())
    reason = (
        f"{classes} classes have at most {most} direction{'s' if most > 1 else ''}"
        if rank == most
        else f"the means of these {classes} classes in {estimator.n_features_in_} features span "
        f"only {rank}"
    )
    raise ParameterError(
        f"expected n_components<={rank}, since {reason}, got {p}. Use fewer components"
        + (f", or {more}." if more and rank == most else ".")
    )


def spans_only(rank: int, p: int) -> ParameterError:
    """Return the error where more directions are asked for than samples span."""
    return ParameterError(
        f"expected n_components<={rank}, since the samples span only {rank} "
        f"direction{'s' if rank > 1 else ''}, got {p}."
    )


def predictor_of(estimator: Projector) -> Solution:
    """Return the solution that `predict` applies to samples that were checked, calibrated."""
    return estimator._predicting(calibrated=True)


# -- by the class means ---------------------------------------------------------------------------


@parameters
class OC(Projector):
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
    eigenvalues_, explained_variance_ratio_ = EIGENVALUES, EXPLAINED

    n_components: int | str | None = None
    priors: Any = "empirical"
    half_life: float | None = None

    def _sums(self, data: Data) -> Pass:
        return Pass(n_folds=n_folds(self.n_components), half_life=self.half_life)

    def _solve(self, learned: Learned) -> Solution:
        if is_cv(self.n_components):
            return projectors.oc_by_folds(learned.folds, learned.moments, self.priors)
        return projectors.oc(learned.moments, self._size, self.priors)

    def _check_solution(self, found: Solution) -> None:
        classes = int(found.classes.seen.sum())
        check_means(self, found, classes - 1, f"OCM for {classes}")
        if is_cv(self.n_components) and found.sizes is None:
            for fold in self._learned.folds:
                check_filled(fold, "n_components", found.n_samples)


class OCM(OC):
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

    _constraints: ClassVar[dict[str, Constraint]] = {"n_components": whole(1) | NONE}

    def _solve(self, learned: Learned) -> Solution:
        return projectors.ocm(learned.moments, self._size, self.priors)

    def _check_solution(self, found: Solution) -> None:
        check_means(self, found, int(found.classes.seen.sum()))


# -- by the covariance ----------------------------------------------------------------------------


@parameters
class MMC(Projector):
    """Maximum margin criterion projection.

    ::

        criterion   maximise trace(W'(S_b - eps S_w) W)
        space       W real, W'W = I, in the span of the samples
        schedule    exact, from all samples at once or batch by batch

    where S_b is the scatter of the class means and S_w the scatter within the classes. The optimum
    consists of the leading eigenvectors of S_b - eps S_w. `transform` returns X W, not centred.

    At most c - 1 directions of c classes gain margin, that is, have a positive eigenvalue; with
    many features nearly always all c - 1 do. `n_positive_` is their number. MMC warns if more
    directions are requested: these have the largest of the other eigenvalues in the span of the
    samples. (Directions outside of this span have eigenvalue 0, but every projection onto them is
    0.) At eps = 0 this is `OC`.

    Parameters
    ----------
    n_components : int, optional
        p, the number of directions. By default n_classes - 1. An explicit number holds from the
        first batch of a stream on; directions that are not available yet are zero.
    eps : float or "cv", default=1.0
        The weight of the scatter within the classes, >= 0. "cv" chooses the weight with held-out
        samples: see Notes.
    {half_life}
    solver : {"auto", "cross"}, default="auto"
        "cross" solves the eigenproblem from cross products. "auto" is "cross" for at most 8,192
        features, and computes W of more features from all samples at once.
    {keep_for_eps}
    {standardize}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W: orthonormal directions, largest eigenvalue first. The entry of largest
        magnitude in each direction is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of S_b - eps S_w (normalised by 1/n), descending.
    n_positive_ : int
        The number of directions that gain margin, for any `n_components`.
    eps_ : float
        The weight of the scatter within the classes.
    eigenvalues_ = EIGENVALUES
    eps_values_, eps_scores_, eps_errors_ : ndarray of shape (n_values,)
        The weights that "cv" compares, the mean log-likelihood of held-out samples with each, and
        its standard error; empty if eps was given.
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_components exceeds the
        dimension of the span of the samples, eps is "cv" and no samples are kept, or there are more
        than 8,192 features in `partial_fit`, in sparse files or on a cluster.

    Warns
    -----
    UserWarning
        Fewer directions than requested gain margin with a given eps.
    ConvergenceWarning
        The iteration stopped early; further directions may gain margin.

    See Also
    --------
    OC : Projection by the scatter of the class means only.
    LDA : Projection by the ratio of both scatters.
    MMCFS : Selection of features by the same criterion.
    IMMC : The incremental iteration that converges to these directions.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Projection by the ratio.

    Notes
    -----
    **Cost**, for n samples and d features: with at most 8,192 features O(n d^2) to learn dense
    samples on all cores, O(d^3) when attributes are read, and 8 d^2 bytes; with fewer samples than
    features O(n^2 d). With more features, `fit` needs all samples: some tens of products with X and
    X', O(nnz) each, by Lanczos; memory about 8 d (5 p + 20) bytes. For n <= 1,000, an eigenproblem
    of size n replaces Lanczos; for n <= 4,000 also if Lanczos does not converge, or for directions
    that do not gain margin. For larger n, the latter are estimated from the space that the class
    means generate.

    **The choice of eps**: up to 2,000 samples are kept and held out in parts, as in `SRDA`. The
    n_classes - 1 leading directions of the other samples classify them, assuming normal classes
    with a common covariance, for each of six weights from 0.1 to 31.6. The weight is the one
    nearest to 1 whose mean log-likelihood is within half a standard error of the best. Reading
    takes 10 to 50 times as long.

    References
    ----------
    H. Li, T. Jiang, K. Zhang, "Efficient and Robust Feature Extraction by Maximum Margin
    Criterion", NIPS 16, 2004. Yan et al. (2006): J. Yan et al., "Effective and Efficient
    Dimensionality Reduction for Large-Scale and Streaming Data Preprocessing", IEEE TKDE 18(3),
    2006, section 2.2.3. Yan et al. (2004): J. Yan et al., "IMMC: Incremental Maximum Margin
    Criterion", KDD 2004 (the weight eps).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import MMC
    >>> X, y = load_iris(return_X_y=True)
    >>> mmc = MMC(n_components=1).fit(X, y)
    >>> mmc.eigenvalues_.round(2).tolist(), mmc.n_positive_
    ([3.64], 1)
    """

    _instead = "OC or OnlineSRDA, MMCFS to select features, or IMMC to learn from single samples"
    _constraints: ClassVar[dict[str, Constraint]] = {
        "eps": EPS | CV,
        "solver": word("auto", "cross"),
    }
    eigenvalues_ = EIGENVALUES
    eps_values_, eps_scores_, eps_errors_ = compared("eps_values_", "values of eps")
    n_positive_ = attribute(lambda s: s.n_positive, "The number of directions that gain margin.")
    eps_ = attribute(lambda s: float(s.alpha), "The weight of the scatter within the classes.")

    n_components: int | None = None
    eps: float | str = 1.0
    half_life: float | None = None
    solver: str = "auto"
    keep: int = KEPT
    standardize: Any = False

    def _sums(self, data: Data) -> Pass:
        kept = int(self.keep) if is_cv(self.eps) else 0
        return Pass(second="cross", keep=kept, half_life=self.half_life)

    def _solve(self, learned: Learned) -> Solution:
        decays = self.half_life is not None
        return projectors.mmc(
            learned.moments, self._size, self.eps, unit_of(self, learned.moments), decays
        )

    def _solve_samples(self, X: Any, y: Any, weight: np.ndarray) -> Solution:
        eps = float(self.eps)
        find = partial(projectors.mmc_of_samples, size=self._size)
        return self._of_classes(X, y, weight, lambda mean_square: eps, find)

    def _check_solution(self, found: Solution) -> None:
        check_span(self, found)
        p = self.n_components or int(found.classes.seen.sum()) - 1
        if not is_cv(self.eps):
            warn_of_few(found.n_positive, min(p, found.rank), float(self.eps))


def check_span(estimator: Any, found: Solution) -> None:
    """Raise where samples span fewer directions than n_components, or none."""
    p = estimator._size
    if not found.rank:
        raise ValueError("expected samples that differ, got one sample or equal ones. Check X.")
    if p is not None and p > found.rank:
        raise spans_only(found.rank, p)


def warn_of_few(positive: int, of: int, eps: float, seem: str = "") -> None:
    """Warn if only some of the components gain margin."""
    if positive < of:
        fewer = f"n_components={positive}, or " if positive else ""
        warn(
            f"expected {of} components that gain margin at eps={eps:g} (eigenvalues_ > 0), got "
            f"{positive}{seem}. Use {fewer}a smaller eps."
        )


@parameters
class PCA(Projector):
    """Exact principal component analysis, also on a stream.

    ::

        criterion   maximise trace(W'C W),  C = E (x - m)(x - m)'
        space       W real, W'W = I
        schedule    exact, from all samples at once or batch by batch

    where m is the mean of all samples x, and C their covariance. The optimum consists of the
    leading eigenvectors of C. `transform` returns X W, not centred: subtract ``mean_ @ W`` for the
    result of scikit-learn's PCA, up to the signs of the columns. Labels are ignored.

    Parameters
    ----------
    n_components : int or float, optional
        p, the number of directions. By default the rank of C. An explicit number holds from the
        first batch of a stream on; directions that are not available yet are zero. A share in
        (0, 1): the fewest directions with more than this share of the variance.
    {half_life}
    {keep_none}
    {standardize}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W: orthonormal directions, largest eigenvalue first. The entry of largest
        magnitude in each direction is positive. Directions that are not available (yet) are zero.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of C (normalised by 1/n), descending: the variance in each direction.
    explained_variance_ : ndarray of shape (n_components,)
        The same, normalised by 1/(n - 1) as in scikit-learn if n > 1, where n is the sum of the
        weights.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The eigenvalues, divided by the trace of C: the share of the variance in each direction.
    mean_ : ndarray of shape (n_features,)
        The mean of the samples; available after `partial_fit`, and after `fit` with at most 8,192
        features.
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, all samples are equal, n_components exceeds the dimension of the
        span of the samples, or there are more than 8,192 features in `partial_fit`.

    See Also
    --------
    CCIPCA : Principal components of streams with any number of features, approximately.
    OC : Projection by the scatter of the class means.
    SRDA : Projection that distinguishes classes.
    sklearn.decomposition.IncrementalPCA : Approximate updates of a truncated decomposition.

    Notes
    -----
    **Cost**, for d features: O(n d^2) to learn n samples on all cores, O(d^3) when attributes are
    read; memory 8 d^2 bytes. With fewer samples than features, O(n^2 d). With more than 8,192
    features, `fit` needs all samples, and some tens of products with X.

    **Not available** from scikit-learn's PCA: `svd_solver`, `tol`, `iterated_power`,
    `n_oversamples`, `power_iteration_normalizer`, `random_state`, `copy`, `whiten`, `score`,
    `score_samples`, `noise_variance_`, `get_covariance`, `get_precision`, `singular_values_`,
    `n_components_`, `n_samples_`. Nothing is random, and X is only read. Put `StandardScaler`
    behind PCA to whiten. ``moments_.covariance()`` is the covariance, ``sqrt(n * eigenvalues_)``
    are the singular values of n samples, and ``len(components_)`` is the number of components.

    References
    ----------
    The criterion: Yan et al. (2006): J. Yan et al., "Effective and Efficient Dimensionality
    Reduction for Large-Scale and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, section
    2.2.1, doi:10.1109/TKDE.2006.45.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import PCA
    >>> X, _ = load_iris(return_X_y=True)
    >>> pca = PCA(n_components=2)
    >>> for start in range(0, 150, 50):
    ...     pca = pca.partial_fit(X[start : start + 50])
    >>> pca.eigenvalues_.round(3).tolist()
    [4.2, 0.241]
    """

    _needs_y = False
    _instead = "CCIPCA"
    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": whole(1) | real(0, 1, above=True).said("a share in (0, 1)") | NONE,
    }
    eigenvalues_, explained_variance_ratio_ = EIGENVALUES, EXPLAINED

    n_components: int | float | None = None
    half_life: float | None = None
    keep: int = KEPT
    standardize: Any = False

    @property
    def mean_(self) -> np.ndarray:
        """The mean of the samples, of shape (n_features,)."""
        check_is_fitted(self)
        if self._learned.state is None:
            raise ParameterError(
                f"expected at most {MOST:,} features for mean_ and "
                f"inverse_transform, got {self.n_features_in_:,}. Select features first."
            )
        return self.moments_.mean

    @property
    def explained_variance_(self) -> np.ndarray:
        """The variance in each direction, normalised by 1/(n - 1), of shape (n_components,)."""
        with lock_of(self):
            n, eigenvalues = float(self.class_count_.sum()), self.eigenvalues_
        return read_only(eigenvalues * (n / (n - 1) if n > 1 else 1.0))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the samples that reduced samples stand for, up to what other directions hold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            What `transform` returned.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            The points nearest to the samples in the space of the directions through the mean (in
            units of standard deviations for standardised features).

        Raises
        ------
        ValueError
            Another number of columns, or an estimator that `fit` found with more than 8,192
            features.

        See Also
        --------
        transform : Project samples onto the directions.
        """
        with lock_of(self):  # directions and mean of one moment
            V, mean, unit = self.components_, self.mean_, unit_of(self, self.moments_)
        Z = check_array(as_numpy(X, "X"), dtype=[np.float64, np.float32], ensure_min_samples=0)
        if Z.shape[1] != len(V):
            raise ValueError(
                f"expected reduced samples with {len(V)} columns, got "
                f"{Z.shape[1]}. Use those that transform returns."
            )
        back = V if unit is None else V * np.where(np.isfinite(unit), unit, 0.0) ** 2
        found = Z @ back + (mean - V @ mean @ back)
        return as_given(found.astype(Z.dtype, copy=False), X)

    def _labels(self, X: Any, y: Any, numeric: bool | None = None) -> Any:
        return super()._labels(X, None)

    def _sums(self, data: Data) -> Pass:
        return Pass(second="cross", half_life=self.half_life)

    def _solve(self, learned: Learned) -> Solution:
        return projectors.pca(learned.moments, self.n_components, unit_of(self, learned.moments))

    def _solve_samples(self, X: Any, y: Any, weight: np.ndarray) -> Solution:
        find = partial(projectors.pca_of_samples, size=self._size)
        # the total of the eigenvalues is the mean square, which the ridge of others may be
        found = self._of_classes(X, y, weight, lambda mean_square: mean_square, find)
        return replace(found, total=found.alpha, alpha=0.0)

    def _check_solution(self, found: Solution) -> None:
        check_span(self, found)
