"""The criterion trace(W'(S_b - eps S_w) W): distant class means and compact classes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from narrows.criteria import Criterion
from narrows.errors import warn
from narrows.methods.cross import Choice, CriterionCrossProjector
from narrows.methods.parameters import (
    CV,
    FLAG,
    KEPT,
    LARGEST,
    Constraint,
    check,
    is_cv,
    parameters,
    real,
    word,
)
from narrows.methods.projector import of_curve
from narrows.methods.selector import CriterionSelector, Selection
from narrows.methods.streams import OnlineProjector, Stream
from narrows.solve.held_out import EPS_GRID, by_leading
from narrows.solve.iterations import Span
from narrows.state.class_stats import Second
from narrows.state.labels import second_for

EPS = real(0, LARGEST).said("a finite number >= 0")
_NO_GAIN = 2e-14  # relative to the largest eigenvalue: smaller ones are rounding


def margin(eps: float) -> Criterion:
    """Return the criterion S_b - eps S_w = (1 + eps) S_b - eps C."""
    return Criterion(between=1 + eps, total=-eps)


def warn_of_few(who: str, positive: int, of: int, eps: float, sure: bool = True) -> None:
    """Warn if only `positive` of the components gain margin."""
    if positive >= of:
        return
    if positive:
        found = f"only {positive} of {of} components {'' if sure else 'seem to '}gain"
    else:
        found = f"none of {of} components {'gains' if sure else 'seems to gain'}"
    fewer = f"n_components={positive}, or " if positive else ""
    warn(f"{who}: {found} margin at eps={eps:g} (eigenvalues_ > 0). Use {fewer}a smaller eps.")


@parameters
class MMCFS(CriterionSelector):
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

    def _second(self) -> Second:
        return second_for(self.priors)

    def _criterion(self) -> Criterion:
        return margin(self.eps)

    def _advice(self, selection: Selection) -> str:
        if self.n_features is None or selection.n_positive >= selection.size:
            return super()._advice(selection)
        return (
            f"only {selection.n_positive} of the {selection.size} selected features gain margin at "
            f"eps={self.eps:g}; the others are the rarest features. Use a smaller eps."
        )


@parameters
class MMC(CriterionCrossProjector):
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
    _choice = Choice("eps", EPS_GRID, by_leading)
    _several_labels, _gathers_sparse = True, False
    eps_values_, eps_scores_, eps_errors_ = of_curve("eps_values_", "values of eps")
    _constraints: ClassVar[dict[str, Constraint]] = {
        "eps": EPS | CV,
        "solver": word("auto", "cross"),
    }

    n_components: int | None = None
    eps: float | str = 1.0
    half_life: float | None = None
    solver: str = "auto"
    keep: int = KEPT
    standardize: Any = False

    @property
    def n_positive_(self) -> int:
        """The number of directions that gain margin."""
        return int(self._solution.more)

    @property
    def eps_(self) -> float:
        """The weight of the scatter within the classes."""
        chosen = self._solution.alpha
        return float(chosen if is_cv(self.eps) else self.eps)

    @property
    def _kept(self) -> int:
        return int(self.keep) if is_cv(self.eps) else 0

    def _ridge(self, mean_square: float) -> float:
        return 1.0 if is_cv(self.eps) else float(self.eps)

    def _criterion(self, alpha: float) -> Criterion:
        return margin(alpha)

    def _most(self, n_classes: int, rank: int) -> int:
        return max(self.n_components or 0, n_classes - 1)

    def _count(self, eigenvalues: np.ndarray) -> int:
        return int((eigenvalues > _NO_GAIN * np.abs(eigenvalues).max(initial=0.0)).sum())

    def _check_found(self, found: int, more: int, n_classes: int) -> None:
        super()._check_found(found, more, n_classes)
        p = self.n_components or n_classes - 1
        if not is_cv(self.eps):
            warn_of_few(type(self).__name__, more, min(p, found), float(self.eps))


_MARGIN = 0.05  # the automatic shift adds this share of the mean variance of a feature


@parameters
class IMMC(OnlineProjector):
    """Incremental maximum margin criterion with an automatic shift, one update per sample.

    ::

        criterion   maximise trace(W'(S_b - eps S_w) W)
        space       W real, W'W = I in the limit
        schedule    one update per sample

    where S_b is the scatter of the class means and S_w the scatter within the classes. Sample n
    updates `v_j <- (n-1)/n v_j + 1/n (A^j v_j + theta_j v_j)/|v_j|` for j = 1, ..., p in turn, with
    A = (1 + eps) sum_i p_i Phi_i Phi_i' - eps u u', Phi_i = m_i - m and u = x - m. In A^j, Phi and
    u are deflated by the new v_1, ..., v_{j-1}. v_1 starts from the first sample, and v_j for j > 1
    from the deflated u at sample j. `transform` returns X W with the columns `v_j/|v_j|` of W, not
    centred.

    The shift theta_j keeps components with a negative eigenvalue from vanishing. If it is too small
    v_j shrinks and changes direction; if it is too large v_j hardly moves. The papers leave the
    choice to the user. "auto" uses theta_j(n) = max(0, -rho_j(n)) + 0.05 tr C(n)/d, with C the
    covariance of the d features and rho_j the running mean, at a gain of 2/n, of
    `v_j'A^j v_j/|v_j|^2`. It follows the scale of the data.

    **Choosing the parameters.** At eps = 1 few directions of real data gain margin, and hardly any
    direction of text; `fit` warns if n_components is larger. A small eps, such as 0.05, is the
    robust choice: nearly all relevant eigenvalues are then positive, and the iteration converges
    fast. At eps = 1 use theta="auto". Give a number for theta only to repeat the papers'
    experiments: the shift is then not deflated, as printed, and a component with a negative
    eigenvalue collapses onto an earlier one.

    Parameters
    ----------
    {n_components}
    eps : float, default=1.0
        The weight of the scatter within the classes, >= 0.
    theta : "auto", float, or array-like of shape (n_components,), default="auto"
        The shift of all components, or of each, >= 0, in the squared units of X.
    deflate_shift : "auto" or bool, default="auto"
        Whether the shift of v_j excludes its projections on v_1, ..., v_{j-1}. "auto" excludes them
        for theta="auto", and includes them, as in the papers, if theta is given.
    {iteration}

    Attributes
    ----------
    {components_}
    eigenvalues_ : ndarray of shape (n_components,)
        `|v_j|` minus the mean of theta_j(n), with the same weights as in v_j. Converges to the
        eigenvalue of S_b - eps S_w (normalised by 1/n).
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

    Warns
    -----
    UserWarning
        By `fit`: fewer directions than requested gain margin.

    See Also
    --------
    MMC : The exact solution.
    MMCFS : Selection of features by the same criterion.
    OC : The exact solution at eps = 0, also on a stream.
    sklearn.decomposition.IncrementalPCA : Incremental projection without labels.

    Notes
    -----
    **Cost** per sample, for c classes and d features: O(nnz (p + c)) and about 10 c^3 operations
    (for p = c) independent of d; memory 8 d (p + c) bytes. The iterates equal those of the papers'
    tables up to rounding, which a large theta amplifies.

    References
    ----------
    Yan et al. (2004): J. Yan et al., "IMMC: Incremental Maximum Margin Criterion", KDD 2004. Yan et
    al. (2006b): J. Yan et al., "A scalable supervised algorithm for dimensionality reduction on
    streaming data", Information Sciences 176, 2006, Tables 2 and 3 with equation (7). The automatic
    shift and its deflation are specific to narrows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import IMMC
    >>> X, y = load_iris(return_X_y=True)
    >>> immc = IMMC(n_components=1, passes=20, shuffle=True, random_state=0).fit(X, y)
    >>> immc.eigenvalues_.round(1).tolist()
    [3.6]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "eps": EPS,
        "deflate_shift": word("auto") | FLAG,
    }
    _instead = "MMC for exact directions, or MMCFS to select features: both support merge"

    n_components: int | None = 2
    eps: float = 1.0
    theta: Any = "auto"
    deflate_shift: bool | str = "auto"
    tol: float | None = None
    patience: int = 100
    early_stopping: bool = False
    orthonormalize: bool = False
    passes: int = 1
    shuffle: bool = False
    random_state: Any = None

    def _criterion(self) -> Criterion:
        return margin(float(self.eps))

    def _rule(self, stream: Stream) -> Any:
        auto = isinstance(self.theta, str)
        theta = 0.0 if auto else np.asarray(self.theta, dtype=np.float64)
        rule = super()._rule(stream)
        return rule._replace(
            theta=rule.theta + theta,
            margin=_MARGIN / stream.n_features if auto else 0.0,
            deflate=auto if self.deflate_shift == "auto" else bool(self.deflate_shift),
        )

    def _eigenvalues(self, span: Span) -> np.ndarray:
        return span.lengths - span.state.theta

    def _check_together(self, n_features: int) -> None:
        super()._check_together(n_features)
        if not (isinstance(self.theta, str) and self.theta == "auto"):
            try:
                theta = np.asarray(None if isinstance(self.theta, str) else self.theta, dtype=float)
                fits = theta.shape in ((), (self._p(n_features),))
                valid = bool(fits and ((theta >= 0) & (theta < LARGEST)).all())
            except (TypeError, ValueError, OverflowError):
                valid = False
            expected = f'"auto", a number >= 0, or {self._p(n_features)} of them, one per component'
            check(type(self).__name__, "theta", self.theta, valid, expected)

    def _store(self, stream: Stream) -> Self:
        super()._store(stream)
        positive = int((self.eigenvalues_ > 0).sum())
        warn_of_few(type(self).__name__, positive, len(self.eigenvalues_), self.eps, sure=False)
        return self
