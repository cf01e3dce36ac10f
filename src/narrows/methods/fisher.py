"""The Fisher criterion: the ratio of the scatters between and within the classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from narrows.criteria import BETWEEN, TOTAL, Criterion, held_out_gain
from narrows.errors import ParameterError
from narrows.methods.parameters import Constraint, is_cv, parameters, real, word
from narrows.methods.selector import HeldOutSelector, Scores
from narrows.methods.streams import OnlineProjector, Stream
from narrows.solve import columns
from narrows.solve.iterations import Rule, Span
from narrows.state.class_stats import ClassStats, Second
from narrows.state.halves import Halves
from narrows.state.labels import second_for

_ROUNDING = 1e-12  # relative to the variance of a feature: a smaller scatter within is 0


@parameters
class FisherFS(HeldOutSelector):
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

    _constraints: ClassVar[dict[str, Constraint]] = {"optimum": word("score", "trace_ratio")}

    n_features: int | float | str | None = None
    energy: float | None = None
    threshold: float | None = None
    priors: Any = "empirical"
    optimum: str = "score"
    half_life: float | None = None

    def _second(self) -> Second:
        return second_for(self.priors)

    def _check_together(self, n_features: int) -> None:
        super()._check_together(n_features)
        if self.optimum == "trace_ratio" and is_cv(self.n_features):
            raise ParameterError(
                f"{type(self).__name__}: expected n_features to be a number for "
                'optimum="trace_ratio", got "cv". Set a number, or use optimum="score".'
            )
        if self.optimum == "trace_ratio" and self.n_features is None:
            raise ParameterError(
                f'{type(self).__name__}: expected n_features for optimum="trace_ratio", since the '
                "largest ratio depends on the number of features, got None. Set n_features."
            )

    def _score(self, stats: ClassStats) -> Scores:
        p = stats.priors(self.priors)
        varies = stats.varying(p)
        total = TOTAL.diagonal(stats, self.priors)
        between = np.minimum(BETWEEN.diagonal(stats, self.priors), total)
        between[~varies] = 0.0
        within = total - between
        within[within <= _ROUNDING * total] = 0.0
        if self.optimum == "score":
            return Scores(_ratio(between, within), varies, _ratio(between, between + within))
        size = min(columns.count_wanted(self.n_features, stats.n_features), int(varies.sum()))
        best = columns.best_ratio(between[varies], within[varies], size)
        with np.errstate(invalid="ignore"):  # inf * 0
            loss = np.where(within > 0, best * within, 0.0)
        return Scores(between - loss, varies)

    def _held_out(self, halves: Halves) -> np.ndarray:
        whole, gain = halves.whole, held_out_gain(halves)
        p = whole.priors(self.priors)
        return np.divide(gain, whole.variances(p), out=np.zeros_like(gain), where=whole.varying(p))


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a / b: 0 where a is 0, infinite where only b is 0."""
    return np.divide(a, b, out=np.where(a > 0, np.inf, 0.0), where=(a > 0) & (b > 0))


@parameters
class ILDA(OnlineProjector):
    """Incremental linear discriminant analysis by a Sanger-type rule.

    ::

        criterion   trace((W'S_w W)^-1 W'S_b W), with W'S_w W = I and W'S_b W diagonal
        space       W real
        schedule    one update per sample

    where S_b is the scatter of the class means and S_w the scatter within the classes. Sample n
    updates V <- V + eta (S_b V - u u'V UT[V'S_b V]), with S_b and the class means m_l of the
    samples so far. u = x - m_l for a sample of class l, so that u u' estimates S_w; UT[.] is the
    upper triangle with the diagonal. Component j starts at sample j, from `x(j)/|x(j)|`, and there
    is no update for n <= 20. `transform` returns X W with the columns `v_j/|v_j|` of W, not
    centred.

    ILDA converges slowly: it needs many passes for directions whose eigenvalue is small compared to
    the first one, and for features of very different scale. Standardise dense data.

    Parameters
    ----------
    {n_components}
    eta : "auto" or float, default="auto"
        The gain, > 0. "auto" is 5/(n + 20). Both are limited to `0.5/(|UT|_F |u|^2)`, which keeps
        the iteration stable.
    {iteration}

    Attributes
    ----------
    {components_}
    eigenvalues_ : ndarray of shape (n_components,)
        v_j'S_b v_j before v_j is normalised, which converges to the eigenvalue of S_w^-1 S_b.
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
    LDA : The exact solution for dense data.
    SRDA : The exact solution for sparse and dense data.
    OnlineSRDA : Discriminant analysis that learns from single samples.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The exact solution for n > d.

    Notes
    -----
    **Cost** per sample, for c classes and d features: O(nnz (p + c)) and O(c^2 p) operations
    independent of d; memory 8 d (p + c) bytes.

    References
    ----------
    K. Hiraoka, K. Hidai, M. Hamahira, H. Mizoguchi, T. Mishima, S. Yoshizawa, "Successive Learning
    of Linear Discriminant Analysis: Sanger-Type Algorithm", ICPR 2000. Yan et al. (2006), IEEE TKDE
    18(3) and Information Sciences 176, compare with it. The start, the gain and its limit are
    specific to narrows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from narrows import ILDA
    >>> X, y = load_wine(return_X_y=True)
    >>> ilda = ILDA(passes=100, shuffle=True, random_state=0).fit(scale(X), y)
    >>> ilda.eigenvalues_.round(0).tolist()
    [9.0, 4.0]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"eta": word("auto") | real(0, above=True)}
    _start = "unit"
    _instead = "LDA for exact directions, or FisherFS to select features: both support merge"

    n_components: int | None = 2
    eta: float | str = "auto"
    tol: float | None = None
    patience: int = 100
    early_stopping: bool = False
    orthonormalize: bool = False
    passes: int = 1
    shuffle: bool = False
    random_state: Any = None

    def _criterion(self) -> Criterion:
        return BETWEEN  # the rule itself contributes u u'

    def _rule(self, stream: Stream) -> Rule:
        eta = 0.0 if isinstance(self.eta, str) else float(self.eta)
        return super()._rule(stream)._replace(total=1.0, eta=eta)

    def _eigenvalues(self, span: Span) -> np.ndarray:
        SV, N = span.state.SV, span.state.N
        n = max(1.0, N.sum())
        K = np.divide(SV, N[:, None], out=np.zeros_like(SV), where=N[:, None] > 0)
        K[N > 0] -= SV.sum(axis=0) / n  # (m_i - m)'v_j
        return (N / n) @ K**2
