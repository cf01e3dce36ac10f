"""Selectors: methods that keep the features of the best scores, as they are."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.feature_selection import SelectorMixin

from narrows.errors import ParameterError
from narrows.methods.attributes import HELD_OUT_ERRORS, HELD_OUT_SCORES, attribute, class_scores
from narrows.methods.base import Reducer
from narrows.methods.learned import Learned
from narrows.methods.names import column_names
from narrows.methods.parameters import (
    CV,
    EPS,
    NONE,
    Constraint,
    is_cv,
    is_integer,
    parameters,
    real,
    whole,
    word,
)
from narrows.methods.plan import Data, Pass, n_folds
from narrows.moments.labels import second_for
from narrows.moments.maps import Presence
from narrows.solutions import selectors
from narrows.solutions.selectors import Size
from narrows.solve import columns
from narrows.solve.arrays import as_asked, as_numpy, output_of
from narrows.solve.devices import as_given
from narrows.solve.solution import Solution

SHARE = real(0, 1, above=True, closed=True)
_NUMBER = "an integer >= 1, or a fraction in (0, 1] of the features"
WITH_CV = (NONE | whole(1) | SHARE | CV).said(_NUMBER, 'a number or "cv"')
# what a model of the command line has where another estimator predicts behind it
_BEHIND = "predict", "predict_proba", "predict_log_proba", "decision_function", "score"


@parameters
class Selector(SelectorMixin, Reducer):
    """Keeps the chosen features of a solution."""

    _selects: ClassVar[bool] = True
    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_features": (NONE | whole(1) | SHARE | CV).said(_NUMBER, "a number"),
        "energy": (NONE | SHARE).said("in (0, 1]", "a number"),
        "threshold": (NONE | real()).said("finite", "a number"),
        "per_class": (NONE | whole(1)).said("an integer >= 1"),
    }

    n_features: int | float | str | None = None
    energy: float | None = None
    threshold: float | None = None
    half_life: float | None = None

    scores_ = attribute(lambda s: s.values, "The score of each feature, of shape (n_features,).")
    energy_ = attribute(
        lambda s: s.energy,
        "Entry p - 1 is the share of the p best features in the sum of positive scores.",
    )
    ranking_ = attribute(
        lambda s: s.order, "The features from the best to the worst, of shape (n_features,)."
    )
    n_features_ = attribute(lambda s: s.rank, "The number of selected features.")
    n_positive_ = attribute(lambda s: s.n_positive, "The number of features with a positive score.")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return `then_`, or one of its verbs, which only models of `narrows fit` have."""
            then = vars(self)["_learned"].then if "_learned" in vars(self) else None
            if then is not None and name == "then_":
                return then.estimator
            if then is not None and name in _BEHIND and hasattr(then.estimator, name):
                return partial(self._predicted, name)
            return super().__getattr__(name)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a new size, such as `energy`, replaces the previous one.

        Parameters
        ----------
        **params : dict
            Parameters by name, such as ``n_features=5``.

        Returns
        -------
        self

        See Also
        --------
        get_params : The parameters.
        """
        known = self.get_params(deep=False)
        if set(params) <= set(known) and any(params.get(size) is not None for size in Size._fields):
            params = dict.fromkeys(size for size in Size._fields if size in known) | params
        return super().set_params(**params)

    def transform(self, X: Any) -> Any:
        """Keep the selected features of X, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        X_r : {ndarray, sparse matrix} of shape (n_samples, n_features_out)
            In the dtype of X; CSR for sparse X. With ``set_output(transform="pandas")`` a
            DataFrame, with the dtypes of the columns of a DataFrame, and sparse columns for sparse
            X.

        See Also
        --------
        get_support : Return which features are selected.
        inverse_transform : Fill the other features with zeros.
        """
        types = None if getattr(getattr(X, "dtype", None), "kind", "O") in "biuf" else "numeric"
        reduced = self._applied().reduce(self._check_X(X, reset=False, types=types))
        asked = output_of(self)
        if sparse.issparse(reduced) and asked == "pandas":
            return as_asked(reduced, self, X)
        if hasattr(X, "columns") and type(X).__module__.partition(".")[0] == asked:
            chosen = self.get_support(indices=True)
            return X.iloc[:, chosen] if asked == "pandas" else X[:, chosen.tolist()]
        return reduced

    def inverse_transform(self, X: Any) -> Any:
        """Return samples with the selected features in their places, and zeros for the others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features_out)
            What `transform` returned.

        Returns
        -------
        X_original : {ndarray, sparse matrix} of shape (n_samples, n_features)

        Raises
        ------
        ValueError
            Another number of columns.

        See Also
        --------
        transform : Keep the selected features.
        """
        return as_given(super().inverse_transform(as_numpy(X, "X")), X)

    def _predicted(self, verb: str, X: Any, *args: Any, **named: Any) -> Any:
        """Return what the estimator behind the selection says of samples with all features."""
        then: Any = self._learned.then
        X = columns.take(self._check_X(X, reset=False), then.chosen)
        return getattr(then.estimator, verb)(X, *args, **named)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the selected features.

        Parameters
        ----------
        input_features : array-like of str of shape (n_features,), optional
            Names of all features; by default those seen in `fit`, or x0, x1, …

        Returns
        -------
        names : ndarray of str objects of shape (n_features_out,)

        See Also
        --------
        get_support : Return which features are selected.
        """
        if input_features is None:
            input_features = column_names(self)
        return super().get_feature_names_out(input_features)

    def _get_support_mask(self) -> np.ndarray:
        return self._read().mask.copy()  # none where `transform` says why

    def _applied(self) -> Solution:
        found = self._read()
        self._check_solution(found)
        return found

    @property
    def _size(self) -> Size:
        """The parameters that set the size; at most one is not None."""
        params = self.get_params(deep=False)
        return Size(**{name: params[name] for name in Size._fields if name in params})

    def _sums(self, data: Data) -> Pass:
        return Pass(n_folds=n_folds(self.n_features), half_life=self.half_life)

    def _check_together(self, n_features: int) -> None:
        params = self.get_params(deep=False)
        sizes = {size: params[size] for size in Size._fields if size in params}
        given = {key: value for key, value in sizes.items() if value is not None}
        if len(given) > 1:
            raise ParameterError(
                f"expected at most one of {', '.join(sizes)}, got "
                + " and ".join(f"{key}={value!r}" for key, value in given.items())
                + ". Leave out all but one."
            )
        if is_cv(self.n_features) and not hasattr(type(self), "held_out_scores_"):
            raise ParameterError(
                'expected `n_features` to be a number, got "cv", which only OCFS, FisherFS, '
                "IG, CHI and ForwardFS support. Use a number, energy or threshold."
            )
        for key, value in given.items():
            if key in ("n_features", "per_class") and is_integer(value, 1) and value > n_features:
                raise ParameterError(
                    f"expected {key}<={n_features}, the number of features in the data, "
                    f"got {value}. Use fewer"
                    + (", or a fraction such as 0.1." if key == "n_features" else ".")
                )

    def _check_solution(self, found: Solution) -> None:
        if not found.width:
            raise ValueError(
                f"expected scores of at least threshold="
                f"{self._size.threshold}, got scores up to {found.values.max():g}. "
                "Use a lower threshold."
            )


# -- by the scatters ------------------------------------------------------------------------------


@parameters
class OCFS(Selector):
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

    _constraints: ClassVar[dict[str, Constraint]] = {"n_features": WITH_CV}
    held_out_scores_, held_out_errors_ = HELD_OUT_SCORES, HELD_OUT_ERRORS
    class_scores_ = class_scores(lambda self, m: selectors.ocfs_by_class(m, self.priors))

    n_features: int | float | str | None = None
    energy: float | None = None
    threshold: float | None = None
    priors: Any = "empirical"
    per_class: int | None = None
    half_life: float | None = None

    def _solve(self, learned: Learned) -> Solution:
        return selectors.ocfs(learned.folds, learned.moments, self.priors, self._size)


@parameters
class MMCFS(Selector):
    """Maximum margin criterion feature selection.

    ::

        criterion   maximise trace(W'(S_b - eps S_w) W)
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    exact, from all samples at once or batch by batch

    where S_b is the scatter of the class means and S_w the scatter within the classes. The optimum
    is the set of features with the largest margins s_bk - eps s_wk, the diagonal entries. At eps =
    0 this is `OCFS`.

    In sparse data few features gain margin (have a positive score) at eps = 1, since features vary
    more within the classes than between them. The next largest margins are those of the rarest
    features, which are nearest to 0; MMCFS warns if it selects them. A small eps, such as 0.1,
    still selects informative features.

    Parameters
    ----------
    n_features : int or float, optional
        Number of features to select, or a fraction of them in (0, 1] (rounded down, at least 1).
    energy : float, optional
        Select the fewest features that hold this share of the sum of positive scores, in (0, 1]. By
        default 0.8 if neither `n_features` nor `threshold` is given.
    {threshold}
    {priors}
    eps : float, default=1.0
        The weight of the scatter within the classes, >= 0.
    {half_life}

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The margins s_bk - eps s_wk, in the squared units of X.
    {energy_}
    ranking_ : ndarray of shape (n_features,)
        Feature indices, best first. Ties go to the lower index; constant features come last,
        whatever their score.
    {n_features_}
    {classes_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, there are fewer than two classes, n_features exceeds the number
        of features, or more than one size is given.

    Warns
    -----
    UserWarning
        More features are requested than have a positive margin (`n_positive_`).

    See Also
    --------
    OCFS : Selection by the scatter of the class means only.
    FisherFS : Selection by the ratio of both scatters.
    MMC : Projection by the same criterion.
    sklearn.feature_selection.f_classif : Scores by the ratio of the scatters (ANOVA).

    Notes
    -----
    **Cost**, for c classes and d features: O(nnz) per batch, O(c d) per merge, O(c d + d log d)
    when attributes are read; memory 8 d (c + 1) bytes, and 16 c d with priors other than
    "empirical", which need second moments of each class.

    References
    ----------
    Yan et al. (2004): J. Yan et al., "IMMC: Incremental Maximum Margin Criterion", KDD 2004, whose
    experiment on Ionosphere has the weight eps. Yan et al. (2006): J. Yan et al., "Effective and
    Efficient Dimensionality Reduction for Large-Scale and Streaming Data Preprocessing", IEEE TKDE
    18(3), 2006, sections 2.2.3 and 2.4 (selection of features).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import MMCFS
    >>> X, y = load_iris(return_X_y=True)
    >>> mmcfs = MMCFS(threshold=0.0).fit(X, y)
    >>> mmcfs.scores_.round(2).tolist()
    [0.16, -0.04, 2.73, 0.5]
    >>> mmcfs.get_support(indices=True).tolist()
    [0, 2, 3]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"eps": EPS}

    n_features: int | float | str | None = None
    energy: float | None = None
    threshold: float | None = None
    priors: Any = "empirical"
    eps: float = 1.0
    half_life: float | None = None

    def _sums(self, data: Data) -> Pass:
        return replace(super()._sums(data), second=second_for(self.priors))

    def _solve(self, learned: Learned) -> Solution:
        return selectors.mmcfs(learned.moments, self.priors, self.eps, self._size)


class VarianceFS(Selector):
    """Variance feature selection.

    ::

        criterion   maximise trace(W'C W),  C = E (x - m)(x - m)'
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    exact, from all samples at once or batch by batch

    where m is the mean of all samples x, and C their covariance. The optimum is the set of features
    with the largest variances. Labels are ignored, with one exception: for an indicator matrix y a
    sample counts once for each of its labels, as in all methods. Omit y to count each sample once.

    Parameters
    ----------
    n_features : int or float, optional
        Number of features to select, or a fraction of them in (0, 1] (rounded down, at least 1).
    energy : float, optional
        Select the fewest features that hold this share of the sum of positive scores, in (0, 1]. By
        default 0.8 if neither `n_features` nor `threshold` is given.
    {threshold}
    {half_life}

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The variance of each feature (normalised by 1/n), in the squared units of X.
    {energy_}
    ranking_ : ndarray of shape (n_features,)
        Feature indices, best first. Ties go to the lower index; constant features come last,
        whatever their score.
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
    OCFS : Selection by the scatter of the class means.
    CCIPCA : Projection by the same criterion.
    sklearn.feature_selection.VarianceThreshold : Selection by a threshold on the variance.

    Notes
    -----
    **Cost**, for c classes and d features: O(nnz) per batch, O(c d) per merge, O(c d + d log d)
    when attributes are read; memory 8 d (c + 1) bytes, 16 d if y is None.

    References
    ----------
    Yan et al. (2006): J. Yan et al., "Effective and Efficient Dimensionality Reduction for
    Large-Scale and Streaming Data Preprocessing", IEEE TKDE 18(3), 2006, sections 2.2.1 and 2.4:
    the criterion of PCA in the space of feature selections.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import VarianceFS
    >>> X, y = load_iris(return_X_y=True)
    >>> VarianceFS(n_features=2).fit(X).get_support(indices=True).tolist()
    [0, 2]
    """

    _needs_y = False

    def _sums(self, data: Data) -> Pass:
        return replace(super()._sums(data), second="total")

    def _solve(self, learned: Learned) -> Solution:
        return selectors.variance_fs(learned.moments, self._size)


@parameters
class FisherFS(Selector):
    """Fisher score feature selection.

    ::

        criterion   "score": rank each feature by w'S_b w / w'S_w w
                    "trace_ratio": maximise trace(W'S_b W) / trace(W'S_w W)
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    exact, from all samples at once or batch by batch

    where S_b is the scatter of the class means and S_w the scatter within the classes. The two
    criteria differ, since a ratio of sums is not a sum of ratios. Use "score" in general.
    "trace_ratio" computes the exact optimum over all sets of features, which is of little use: the
    ratio of a set lies between the ratios of its features, so that the best set consists of the
    best feature and of the rarest features, which add least to either sum.

    Parameters
    ----------
    {n_features}
    energy : float, optional
        Select the fewest features that hold this share of the sum that `energy_` is of, in (0, 1].
        By default 0.8 if neither `n_features` nor `threshold` is given.
    {threshold}
    {priors}
    optimum : {"score", "trace_ratio"}, default="score"
        The criterion; "trace_ratio" requires n_features.
    {half_life}

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        "score": s_bk / s_wk, without unit; infinite if feature k varies between the classes but not
        within them, 0 if its class means are equal. "trace_ratio": s_bk - lambda s_wk, with lambda
        the largest ratio; s_bk or minus infinity if lambda is infinite.
    energy_ : ndarray of shape (n_features,)
        Entry p - 1 is the share of the p best features in the sum of s_bk / (s_bk + s_wk), which
        has the order of the score; for the trace ratio, in the sum of max(score, 0).
    ranking_ : ndarray of shape (n_features,)
        Feature indices, best first. Ties go to the lower index; constant features come last,
        whatever their score.
    held_out_scores_, held_out_errors_ : ndarray of shape (n_features,)
        With ``n_features="cv"``: entry p - 1 is the sum of the held-out scores of the p best
        features, and its standard error; else empty. The scores are those of `OCFS`, divided by the
        variance of the feature.
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
    OCFS : Selection by the scatter of the class means only.
    MMCFS : Selection by the difference of both scatters.
    SRDA : Projection by the ratio of both scatters.
    sklearn.feature_selection.f_classif : The same ratio with degrees of freedom (ANOVA).

    Notes
    -----
    **Cost**, for c classes and d features: O(nnz) per batch, O(c d) per merge, O(c d + d log d)
    when attributes are read, times a few rounds for the trace ratio; memory 8 d (c + 1) bytes, and
    16 c d with priors other than "empirical", which need second moments of each class.

    References
    ----------
    Three criteria are called Fisher's; for a single feature, each of them is the score. The ratio
    of determinants: Yan et al. (2006), IEEE TKDE 18(3), section 2.2.2. The trace of a quotient: Ye
    et al. (2005), IEEE TKDE 17(9). The ratio of traces: Yan et al. (2006b), Information Sciences
    176, section 2.3.2. The rounds for the ratio of sums: W. Dinkelbach, "On Nonlinear Fractional
    Programming", Management Science 13(7), 1967.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import FisherFS
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherFS(n_features=2).fit(X, y).get_support(indices=True).tolist()
    [2, 3]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_features": WITH_CV, "optimum": word("score", "trace_ratio"),
    }  # fmt: skip
    held_out_scores_, held_out_errors_ = HELD_OUT_SCORES, HELD_OUT_ERRORS

    n_features: int | float | str | None = None
    energy: float | None = None
    threshold: float | None = None
    priors: Any = "empirical"
    optimum: str = "score"
    half_life: float | None = None

    def _sums(self, data: Data) -> Pass:
        return replace(super()._sums(data), second=second_for(self.priors))

    def _check_together(self, n_features: int) -> None:
        super()._check_together(n_features)
        if self.optimum == "trace_ratio" and is_cv(self.n_features):
            raise ParameterError(
                "expected n_features to be a number for "
                'optimum="trace_ratio", got "cv". Set a number, or use optimum="score".'
            )
        if self.optimum == "trace_ratio" and self.n_features is None:
            raise ParameterError(
                'expected n_features for optimum="trace_ratio", since the '
                "largest ratio depends on the number of features, got None. Set `n_features`."
            )

    def _solve(self, learned: Learned) -> Solution:
        return selectors.fisher_fs(
            learned.folds, learned.moments, self.priors, self.optimum, self._size
        )


# -- by presence ----------------------------------------------------------------------------------


def by_tables(per_class: selectors.OfTable) -> Any:
    """Return the attribute `class_scores_`, by a score of the table of each feature and class."""
    return class_scores(lambda self, m: selectors.by_class(m, self.priors, per_class))


@parameters
class MI(Selector):
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

    class_scores_ = by_tables(selectors.mutual_information)

    n_features: int | float | str | None = None
    energy: float | None = None
    threshold: float | None = None
    priors: Any = "empirical"
    per_class: int | None = None
    half_life: float | None = None

    def _sums(self, data: Data) -> Pass:
        return replace(super()._sums(data), map=Presence(data.n_features))

    def _solve(self, learned: Learned) -> Solution:
        return selectors.contingency_fs(
            learned.folds, learned.moments, self.priors, self._size, selectors.mutual_information
        )


class IG(MI):
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

    _constraints: ClassVar[dict[str, Constraint]] = {"n_features": WITH_CV}
    held_out_scores_, held_out_errors_ = HELD_OUT_SCORES, HELD_OUT_ERRORS
    class_scores_ = by_tables(selectors.information_by_class)

    def _solve(self, learned: Learned) -> Solution:
        return selectors.contingency_fs(
            learned.folds, learned.moments, self.priors, self._size,
            selectors.information_by_class, selectors.information_gain,
        )  # fmt: skip


class CHI(IG):
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

    class_scores_ = by_tables(selectors.chi_squared)

    def _solve(self, learned: Learned) -> Solution:
        return selectors.contingency_fs(
            learned.folds, learned.moments, self.priors, self._size, selectors.chi_squared
        )


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

    _needs_y = False

    def _sums(self, data: Data) -> Pass:
        return replace(super()._sums(data), map=Presence(data.n_features))

    def _solve(self, learned: Learned) -> Solution:
        return selectors.df(learned.moments, self._size)


# -- by numbers -----------------------------------------------------------------------------------


class CorrelationFS(Selector):
    """Selection of features by their correlation with numeric targets.

    ::

        criterion   maximise the sum of r_i^2 over the selected features
        space       W selects features: a 0-1 matrix with a single 1 in each column
        schedule    exact, from all samples at once or batch by batch

    where r_i^2 is the squared correlation of feature i with the target, and with several targets
    the mean of those with each target that varies. For one target this is the order of
    `sklearn.feature_selection.f_regression`. Units of features and targets do not matter.

    Parameters
    ----------
    n_features : int or float, optional
        Number of features to select, or a fraction of them in (0, 1] (rounded down, at least 1).
    energy : float, optional
        Select the fewest features that hold this share of the sum of scores, in (0, 1]. By default
        0.8 if neither `n_features` nor `threshold` is given.
    {threshold}
    {half_life}

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The squared correlation of each feature with the target, from 0 to 1.
    {energy_}
    ranking_ : ndarray of shape (n_features,)
        Feature indices, best first. Ties go to the lower index; constant features come last.
    {n_features_}
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X or y contain NaN, the number of targets changes, n_features exceeds the number
        of features, or more than one size is given.

    See Also
    --------
    ForwardFS : Selection of features that complement each other.
    OCFS : Selection of features for classes.
    sklearn.feature_selection.f_regression : The same order, from all samples at once.

    Notes
    -----
    **Cost**, for q targets and d features: O(q nnz) per batch, O(q d) per merge, O(q d + d log d)
    when attributes are read; memory 8 d (q + 2) bytes.

    References
    ----------
    The score is that of `sklearn.feature_selection.r_regression`, squared. The state is specific to
    narrows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from narrows import CorrelationFS
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = CorrelationFS(n_features=3)
    >>> for start in range(0, 442, 100):
    ...     selector = selector.partial_fit(X[start : start + 100], y[start : start + 100])
    >>> selector.get_support(indices=True).tolist(), round(float(selector.scores_.max()), 3)
    ([2, 3, 8], 0.344)
    """

    _takes_numbers = True

    def _sums(self, data: Data) -> Pass:
        return replace(super()._sums(data), second="total", numeric=True)

    def _solve(self, learned: Learned) -> Solution:
        return selectors.correlation_fs(learned.moments, self._size)
