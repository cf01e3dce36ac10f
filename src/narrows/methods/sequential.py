"""Methods that learn one sample at a time: IOC, IIS, IMMC, CCIPCA and ILDA, and their base.

Their iterates are those of the papers' tables, in the order of the samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError
from narrows.methods.attributes import EIGENVALUES
from narrows.methods.base import shows_all_classes
from narrows.methods.in_order import InOrder, Iterates, Labels
from narrows.methods.learned import Learned, atomic
from narrows.methods.parameters import (
    EPS,
    FLAG,
    LARGEST,
    NONE,
    NOT_NEGATIVE,
    Constraint,
    check,
    parameters,
    real,
    seed,
    whole,
    word,
)
from narrows.methods.plan import Data, Plan, Where
from narrows.methods.projectors import OC, Projector, warn_of_few
from narrows.moments.labels import union
from narrows.moments.moments import Moments
from narrows.moments.table import Table
from narrows.solve.devices import in_memory
from narrows.solve.iterations import Span, Start
from narrows.solve.iterations_steps import StepRule
from narrows.solve.signs import with_signs
from narrows.solve.solution import Solution

_NO_RULE = StepRule(0.0, 0.0, np.zeros(()))
_MARGIN = 0.05  # the automatic shift adds this share of the mean variance of a feature


class Missing:
    """What other methods have and a class has not; `why` not, or what to use."""

    def __init__(self, why: str | None = None):
        self.why = why

    def __set_name__(self, kind: type, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, kind: Any = None) -> NoReturn:
        raise AttributeError(f"{kind.__name__!r} object has no attribute {self.name!r}")


class Sequential(Projector):
    """Learns one sample at a time, so that the result does not depend on the batches.

    `_sums` returns the step that learns by the present parameters, whose state is a solver.
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "random_state": seed(),
        "shuffle": FLAG,
        "tol": real(0, above=True) | NONE,
        "patience": whole(1),
        "early_stopping": FLAG,
        "orthonormalize": FLAG,
        "passes": whole(1),
    }
    merge: ClassVar[Any] = Missing("its result depends on the order of all samples")
    fit_moments: ClassVar[Any] = Missing(
        "its result depends on the order of the samples, which sums do not hold"
    )
    moments_: ClassVar[Any] = Missing()
    set_fit_request: ClassVar[Any] = Missing()  # of weights
    set_partial_fit_request: ClassVar[Any] = Missing()
    eigenvalues_: ClassVar[Any] = EIGENVALUES

    # -- fitting --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Fit to the samples, one at a time: `passes` times, in their order or shuffled.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; sparse matrices are never converted to dense arrays.
        y : array-like of shape (n_samples,)
            One label per sample. Optional only for methods that use no labels.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes, several labels per sample, NaN or infinity, or a parameter that
            does not fit the data. The estimator is then unchanged.

        See Also
        --------
        partial_fit : Update with more samples, in a single pass.
        """
        return Projector.fit(self, X, y)

    @atomic
    def partial_fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, classes: Any = None
    ) -> Self:
        """Update with more samples, one at a time, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Any number of samples, also 0 or 1; the result does not depend on the batches.
        y : array-like of shape (n_samples,)
            One label per sample, as for `fit`; new classes may appear at any time.
        classes : array-like of shape (n_classes,), optional
            All labels that may occur. Never required, in contrast to scikit-learn; if given, other
            labels raise an error. `classes_` has the labels that were seen.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            NaN or infinity, another number of features, labels of another type or not among
            `classes`, another n_components than at the start. The estimator is then unchanged.

        See Also
        --------
        fit : Forget all samples and fit to new ones.
        """
        self._learn(X, y, classes=classes)
        return self

    @atomic
    def transform_while_learning(self, X: Any, y: Any = None) -> Any:
        """Update as `partial_fit` does, and reduce each sample by the directions after it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As for `partial_fit`.
        y : array-like of shape (n_samples,)
            As for `partial_fit`.

        Returns
        -------
        X_r : ndarray of shape (n_samples, n_components)
            Row i is W(i)'x(i), with the columns `v_j(i) / |v_j(i)|` of W(i) after sample i, and 0
            for a component that has not started. Signs are those of the iteration, which are stable
            from sample to sample; `components_` and `transform` normalise the signs.

        See Also
        --------
        partial_fit : Update without reducing.
        transform : Reduce without updating.

        Notes
        -----
        **Cost** per sample: that of `partial_fit` and O(p (p + c)), O(p^3) with `orthonormalize`.
        """
        return self._learn(X, y, reducing=True)

    def _learn(
        self, X: Any, y: Any, weight: Any = None, classes: Any = None, reducing: bool = False
    ) -> np.ndarray | None:
        """Update with more samples; with `reducing`, return them as reduced on the way."""
        allowed, n_known = self._check_classes(classes, y), self._n_known
        before = self._learned if self.__sklearn_is_fitted__() else None
        X = in_memory(self._check_X(X, reset=before is None, ensure_min_samples=0))
        checked = self._check_parameters(X.shape[1], None if before is None else before.checked)
        step = self._sums(Data.of(X))
        labels = step.encoded(X, self._labels(X, y), weight)
        if before is not None and (before.n_samples or before.known is not None):
            learned = before
            learned.forget()  # first, since an interrupt may come after the update
        else:  # nothing was learned before that could need to be restored
            state = replace(step, dtype=X.dtype).empty(X.shape[1])
            learned = Learned(step, state, source=before and before.source, checked=checked)
        self._learned = learned  # so that an interrupt leaves the blocks that were learned
        learned.step, undo = step, learned is before
        options: dict[str, Any] = {"reducing": reducing, "undo": undo}
        if allowed is not None and shows_all_classes(self):
            options["register"] = partial(register, learned, allowed)
        reduced = step.learn(learned.state, X, labels, **options)
        if allowed is None:
            self._warn_of_numbers(y, n_known)
        return reduced

    def _plan(self, data: Data, where: Where, samples: Any) -> Plan:
        step, passes = self._sums(data), getattr(self, "passes", None)
        shuffles = getattr(self, "shuffle", False)
        if where == "memory" and samples is not None:
            random = check_random_state(self.random_state) if shuffles else None
            step = replace(step, dtype=samples[0].dtype, random=random)
        elif where == "chunks" and shuffles and passes is not None:
            raise ParameterError(
                "expected shuffle=False, since a file is read in its own "
                "order, got True. Shuffle the file, or use fit in Python."
            )
        return Plan((step,) * (passes or 1), goes_on=self._sums(data))

    # -- reading --------------------------------------------------------------------------------

    @property
    def n_samples_still_(self) -> int | None:
        """The first n with a movement below `tol` for `patience` samples in a row, or None."""
        check_is_fitted(self)
        still: int | None = self._learned.state.core.still
        return still

    # -- inside ---------------------------------------------------------------------------------

    def _iteration(
        self, start: Start, between: float, total: float = 0.0, *, theta: Any = 0.0, **more: Any
    ) -> Iteration:
        """Return the step of an iteration by the present parameters; see `StepRule`."""
        rule = StepRule(
            between,
            total,
            theta,
            tol=float(self.tol or 0.0),
            patience=float(self.patience),
            least=2 if self._needs_y else 0,
            stop=bool(self.early_stopping),
            orthonormal=bool(self.orthonormalize),
            **more,
        )
        return Iteration(
            n_components=self.n_components, rule=rule, start=start, by_class=self._needs_y
        )

    def _solve(self, learned: Learned) -> Solution:
        span = learned.state.core
        W = span.directions(self.orthonormalize)
        return Solution(len(W), span.lengths, with_signs(W), rank=W.shape[1])

    def _check_together(self, n_features: int) -> None:
        super()._check_together(n_features)
        p = self.n_components
        if p is not None and p > n_features and hasattr(self, "passes"):  # vectors, which start
            raise ParameterError(
                f"expected n_components<={n_features}, the number of features in the data, "
                f"got {p}. Use fewer components."
            )
        if getattr(self, "early_stopping", False) and self.tol is None:
            raise ParameterError(
                "expected a tol for early_stopping=True, got None. Use tol=0.06, for example."
            )


def register(learned: Learned, classes: np.ndarray) -> None:
    """Note labels, distinct and sorted, as classes that may occur, in place."""
    learned.state.number(classes)
    learned.known = classes if learned.known is None else union(learned.known, classes)


@dataclass(frozen=True)
class Iteration(InOrder):
    """One pass in which each sample is one step of an iteration on a few vectors.

    Parameters
    ----------
    n_components : int or None
        The number of vectors; 2, or 1 for a single feature, if None.
    rule : StepRule
        The iteration, with a shift for all components or for each; its `margin` is that for a
        single feature, which is divided by the number of features.
    start : {"raw", "centred", "unit"}
        How a component starts; see `Span.learn`.
    by_class : bool
        Whether there is a sum of samples for each class, or one of all samples.
    """

    n_components: int | None = 2
    rule: StepRule = _NO_RULE
    start: Start = "centred"
    by_class: bool = True

    def n_vectors(self, n_features: int) -> int:
        """Return the number of vectors for so many features."""
        return min(2, n_features) if self.n_components is None else self.n_components

    def new(self, n_features: int) -> Iterates:
        """Return the state before the first sample."""
        return Iterates(Span(n_features, self.n_vectors(n_features)), self.by_class)

    def learn(
        self, state: Iterates, X: Any, labels: Labels, *, reducing: bool = False,
        undo: bool = False, **more: Any,
    ) -> np.ndarray | None:  # fmt: skip
        """Learn samples in order, in place; with `reducing`, return them as reduced on the way."""
        p, d = self.n_vectors(state.n_features), state.n_features
        if state.core.p != p:
            raise ParameterError(
                f"expected n_components={state.core.p} as at the start, got {p}. Use fit to start "
                "again."
            )
        rule = self.rule._replace(theta=np.zeros(p) + self.rule.theta, margin=self.rule.margin / d)
        reduced = np.zeros((X.shape[0], p)) if reducing else None
        state.learn(X, labels, rule, self.start, reduced=reduced, undo=undo)
        return None if reduced is None else reduced.astype(X.dtype)

    @classmethod
    def of_arrays(
        cls, arrays: dict[str, np.ndarray], expected: Iteration
    ) -> tuple[Iteration, Iterates]:
        """Return the pass and the state of named arrays, which are taken out of the dict."""
        return expected, Iterates.of_arrays(arrays, Span, expected.by_class)


# -- by the class means ---------------------------------------------------------------------------


@parameters
class IOC(Sequential):
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

    _instead = "OC, which is exact on a stream and supports merge"

    n_components: int | None = 2
    tol: float | None = None
    patience: int = 100
    early_stopping: bool = False
    orthonormalize: bool = False
    passes: int = 1
    shuffle: bool = False
    random_state: Any = None

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
        check_is_fitted(self)
        state = self._learned.state
        oc = OC().fit_moments(class_sums(state))
        if hasattr(self, "feature_names_in_"):
            oc.feature_names_in_ = self.feature_names_in_
        return oc.set_params(n_components=min(state.core.p, len(oc.components_)))

    def _sums(self, data: Data) -> Iteration:
        return self._iteration("raw", between=1.0)


def class_sums(state: Iterates) -> Moments:
    """Return the class sums of an iteration as moments."""
    span = state.core
    sums, m = span.sums[state.column], Moments(span.n_features)
    m.labels, m.tt, m.tx = state.classes, state.counts, Table(sums.shape, sums)
    m.count, m.origin, m.placed = span.n, span.shift, 0.0 if span.shift is None else m.n
    return m.copy()


class IIS(IOC):
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

    def _sums(self, data: Data) -> Iteration:
        return self._iteration("centred", between=1.0)


# -- by the margin --------------------------------------------------------------------------------


@parameters
class IMMC(Sequential):
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

    **Choosing the parameters.** The maximum margin criterion of the papers, and of `MMC`, has
    eps = 1. Few directions of real data gain margin with it, and on some data none does: the
    iteration then hardly converges in a pass. `fit` warns if fewer than n_components gain margin.
    The default suits most data; eps = 1 is slightly better on texts, and a smaller eps, such as
    0.05, converges faster. Give a number for theta only to repeat the papers' experiments: the
    shift is then not deflated, as printed, and a component with a negative eigenvalue collapses
    onto an earlier one.

    Parameters
    ----------
    {n_components}
    eps : float, default=0.3
        The weight of the scatter within the classes, >= 0; 1 in the papers.
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
    [3.8]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "eps": EPS,
        "deflate_shift": word("auto") | FLAG,
    }
    _instead = "MMC for exact directions, or MMCFS to select features: both support merge"

    n_components: int | None = 2
    eps: float = 0.3
    theta: Any = "auto"
    deflate_shift: bool | str = "auto"
    tol: float | None = None
    patience: int = 100
    early_stopping: bool = False
    orthonormalize: bool = False
    passes: int = 1
    shuffle: bool = False
    random_state: Any = None

    def _sums(self, data: Data) -> Iteration:
        auto, eps = isinstance(self.theta, str), float(self.eps)
        return self._iteration(
            "centred",
            between=1 + eps,
            total=-eps,
            theta=0.0 if auto else np.asarray(self.theta, dtype=np.float64),
            margin=_MARGIN if auto else 0.0,
            deflate=auto if self.deflate_shift == "auto" else bool(self.deflate_shift),
        )

    def _solve(self, learned: Learned) -> Solution:
        values = learned.state.core.lengths - learned.state.core.state.theta
        positive = int((values > 0).sum())
        return replace(super()._solve(learned), values=values, n_positive=positive)

    def _check_solution(self, found: Solution) -> None:
        warn_of_few(found.n_positive, len(found.values), float(self.eps), " so far")

    def _check_together(self, n_features: int) -> None:
        super()._check_together(n_features)
        if not (isinstance(self.theta, str) and self.theta == "auto"):
            p = min(2, n_features) if self.n_components is None else self.n_components
            try:
                theta = np.asarray(None if isinstance(self.theta, str) else self.theta, dtype=float)
                fits = theta.shape in ((), (p,))
                valid = bool(fits and ((theta >= 0) & (theta < LARGEST)).all())
            except (TypeError, ValueError, OverflowError):
                valid = False
            expected = f'"auto", a number >= 0, or {p} of them, one per component'
            check("theta", self.theta, valid, expected)


# -- by the covariance of all samples -------------------------------------------------------------


@parameters
class CCIPCA(Sequential):
    """Candid covariance-free incremental principal component analysis.

    ::

        criterion   maximise trace(W'C W),  C = E (x - m)(x - m)'
        space       W real, W'W = I in the limit
        schedule    one update per sample

    where m is the mean of all samples x, and C their covariance. Sample n updates `v_j <- (n-1-a)/n
    v_j + (1+a)/n u u'v_j/|v_j|` for j = 1, ..., p in turn, with u = x - m(n) deflated by the new
    v_1, ..., v_{j-1}, and a the amnesic parameter. v_1 starts from the first sample, and v_j for j
    > 1 from u at sample j. `transform` returns X W with the columns `v_j/|v_j|` of W, not centred.

    Labels are ignored, and y may be None. In contrast to scikit-learn's IncrementalPCA, sparse
    samples stay sparse, batches may have any size, and the cost of a sample depends on its
    non-zeros; however, the directions are iterates and not a truncated decomposition.

    Parameters
    ----------
    {n_components}
    amnesic : float, default=0.0
        The additional weight a >= 0 of new samples, with which old samples decay; 2 to 4 if the
        first samples are not typical. It applies for n > 1 + a, so that the weight of earlier
        samples is positive.
    {iteration}

    Attributes
    ----------
    {components_}
    eigenvalues_ : ndarray of shape (n_components,)
        `|v_j|`, which converges to the variance along the direction (normalised by 1/n).
    {n_samples_still_}
    classes_, class_count_ : ndarray of shape (n_classes,)
        The sorted class labels, and the number of samples of each class; the single label 0 if y
        was None.
    n_samples_seen_, n_features_in_ : int
        Number of samples learned from, counted once per pass, and of features.

    Raises
    ------
    ValueError
        See `fit`. X contains NaN, n_components exceeds the number of features, or a parameter is
        out of range.

    See Also
    --------
    VarianceFS : Selection of features by the same criterion.
    IOC : The iteration for the scatter of the class means.
    sklearn.decomposition.IncrementalPCA : Principal components of dense batches.
    sklearn.decomposition.TruncatedSVD : Decomposition of sparse data, from all samples at once.

    Notes
    -----
    **Cost** per sample, for d features: O(nnz (p + 1)) and O(p^3) operations independent of d;
    memory 8 d (p + 1) bytes.

    References
    ----------
    J. Weng, Y. Zhang, W.-S. Hwang, "Candid Covariance-Free Incremental Principal Component
    Analysis", IEEE TPAMI 25(8), 2003, section 3, doi:10.1109/TPAMI.2003.1217609. Yan et al. (2006),
    IEEE TKDE 18(3) and Information Sciences 176, compare with it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows import CCIPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> CCIPCA(passes=10, shuffle=True, random_state=0).fit(X).eigenvalues_.round(1).tolist()
    [4.2, 0.2]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"amnesic": NOT_NEGATIVE}
    _needs_y = False
    _instead = (
        "PCA, which is exact on a stream and supports merge with at most 8,192 features, or "
        "VarianceFS to select features"
    )

    n_components: int | None = 2
    amnesic: float = 0.0
    tol: float | None = None
    patience: int = 100
    early_stopping: bool = False
    orthonormalize: bool = False
    passes: int = 1
    shuffle: bool = False
    random_state: Any = None

    def _sums(self, data: Data) -> Iteration:
        return self._iteration("centred", 0.0, total=1.0, amnesic=float(self.amnesic))


# -- by the ratio of both scatters ----------------------------------------------------------------


@parameters
class ILDA(Sequential):
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
    the first one, and for features of very different scale. Standardise dense data. The automatic
    gain suits samples of any length, as it is in the inverse squared units of X.

    Parameters
    ----------
    {n_components}
    eta : "auto" or float, default="auto"
        The gain, > 0. "auto" is `20/((n + 20) tr S_b)`. Both are limited to `0.5/(|UT|_F |u|^2)`,
        which keeps the iteration stable.
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

    def _sums(self, data: Data) -> Iteration:
        eta = 0.0 if isinstance(self.eta, str) else float(self.eta)
        return self._iteration("unit", between=1.0, total=1.0, eta=eta)

    def _solve(self, learned: Learned) -> Solution:
        SV, N = learned.state.core.state.SV, learned.state.core.state.N
        n = max(1.0, N.sum())
        K = np.divide(SV, N[:, None], out=np.zeros_like(SV), where=N[:, None] > 0)
        K[N > 0] -= SV.sum(axis=0) / n  # (m_i - m)'v_j
        return replace(super()._solve(learned), values=(N / n) @ K**2)
