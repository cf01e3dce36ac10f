"""Projections onto what predicts numeric targets, and the regression by them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import NotFittedError

from narrows.errors import ParameterError, RangeError, warn
from narrows.methods.parameters import (
    CV,
    FOLDS,
    KEPT,
    LARGEST,
    NONE,
    Constraint,
    check_filled,
    check_keep,
    is_cv,
    parameters,
    real,
    whole,
    word,
)
from narrows.methods.projector import (
    EXPLAINED,
    HELD_OUT_ERRORS,
    HELD_OUT_SCORES,
    Found,
    Projector,
    of_curve,
    of_solution,
)
from narrows.methods.routes import Gathered, Solved, check_adds_up
from narrows.methods.standardize import unit_of, unit_of_samples
from narrows.methods.targets import Numeric
from narrows.solve.applied import Applied, Decision
from narrows.solve.arrays import check_not_masked
from narrows.solve.codec import SchemaError, from_arrays
from narrows.solve.eigen import signs_of
from narrows.solve.exact import Centred, occupied
from narrows.solve.held_out import GRID, NO_CURVE, Curve
from narrows.solve.products import SMALL, one_blas_thread
from narrows.solve.scatter import Answer, Scatter, discriminants, of_samples
from narrows.solve.sums import divided
from narrows.solve.targets import (
    held_out_shares,
    pls_of_samples,
    pls_of_scatter,
    reduced_rank_of_samples,
    transposed,
)
from narrows.state.arrays import read_only
from narrows.state.class_stats import Second
from narrows.state.cross import MOST
from narrows.state.labels import weights
from narrows.state.targets import TargetStats

_COMPARED = 50  # components
_ROUNDING = 1e-24  # of the mean square: a variance of less is rounding


class GatheredTargets(Gathered):
    """Samples with numeric targets that a fit needs all at once."""

    def update(self, X: Any, y: Any, sample_weight: Any, check_input: bool) -> Gathered:
        """Add checked samples and targets, in place."""
        if self.chunks and self.chunks[0][1].shape[1] != y.shape[1]:
            raise ValueError(
                f"TargetStats: expected {self.chunks[0][1].shape[1]} targets as before, got "
                f"{y.shape[1]}. Give all samples the same targets."
            )
        self.chunks.append((X, y, weights(sample_weight, len(y), "TargetStats")))
        return self

    def solved(self, estimator: Any) -> Solved:
        """Return the directions that an estimator finds for the samples."""
        X, Y, w = self.joined(estimator)
        n_samples, live = len(w), w > 0
        if not live.any():
            estimator._check_two_classes(Solved(np.arange(0), np.zeros(0), n_samples))
        if not live.all():
            X, Y, w = X[live], Y[live], w[live]
        unit = unit_of_samples(estimator, X, w)
        X, columns, d = divided(X, unit), occupied(X), X.shape[1]
        A = Centred(X if columns is None else X[:, columns], np.zeros(len(w), int), w)
        if A.power or A.weight_power:
            raise RangeError("numbers from 1e-40 to 1e40", f"numbers up to {A.largest:.1e}")
        centre = w @ Y / w.sum()
        Y = A.root[:, None] * (Y - centre)
        Y *= np.einsum("ij,ij->j", Y, Y) > _ROUNDING * A.n * centre**2
        squares = float(np.einsum("ij,ij->", Y, Y))
        alpha = estimator._scale_of(max(A.squares - A.n * float(A.m @ A.m), 0.0) / A.n)
        answer = estimator._from_samples(A, Y, alpha)
        W, coef = answer.W, transposed(answer)
        if columns is not None:
            W = np.zeros((d, answer.W.shape[1]))
            W[columns] = answer.W
        W = np.array(W if unit is None else W / unit[:, None], order="C")
        signs = signs_of(W, unit)
        q, L, along = len(centre), answer.eigenvalues / A.n, A.mean @ answer.W
        return Solved(
            np.arange(q), np.full(q, A.n), n_samples, W * signs, L, estimator._size or len(L),
            alpha, signs[:, None] * coef, centre, squares / A.n, signs * along,
        )  # fmt: skip


class TargetProjector(RegressorMixin, Numeric, Projector):
    """Directions that predict numeric targets, and the linear regression by them."""

    _state_type: ClassVar[Any] = (TargetStats, Solved)
    _only_route: ClassVar[Any] = None
    _gathers: ClassVar[Any] = GatheredTargets
    _instead = "CorrelationFS to select features first, or fit with all samples in memory"
    _chosen: ClassVar[tuple[str, ...]] = ("n_components",)  # the parameters that may be "cv"
    explained_variance_ratio_ = EXPLAINED
    held_out_scores_, held_out_errors_ = HELD_OUT_SCORES, HELD_OUT_ERRORS

    # -- reading --------------------------------------------------------------------------------

    @property
    def mean_(self) -> np.ndarray:
        """The mean of the features, of shape (n_features,)."""
        check_adds_up(self, self._state)
        return self._state.mean

    @property
    def coef_(self) -> np.ndarray:
        """The coefficients of the features, of shape (n_targets, n_features)."""
        return read_only(self._rule[0].T)

    @property
    def intercept_(self) -> np.ndarray:
        """The intercepts, of shape (n_targets,)."""
        return read_only(self._rule[1])

    @property
    def _rule(self) -> tuple[np.ndarray, np.ndarray]:
        return self._latest("_to_predict")

    def _to_predict(self) -> tuple[np.ndarray, np.ndarray]:
        saved = self._saved
        if saved is not None and saved.decision is not None:
            return saved.decision.weights, saved.decision.intercept
        solution = self._solution
        if solution.rule is None:
            raise NotFittedError(
                f"{type(self).__name__}: expected samples to predict by, got none so far. "
                "Continue with partial_fit."
            )
        return solution.rule

    def predict(self, X: Any) -> np.ndarray:
        """Predict the targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Of shape (n_samples,) for one target.

        See Also
        --------
        transform : Project samples onto the directions.
        score : Return the coefficient of determination R^2.
        """
        decision = Decision(*self._rule)
        return decision.predicted(decision.scores(self._check_X(X, reset=False)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R^2 of `predict`, the mean over targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        R2 : float

        Raises
        ------
        ValueError
            y is a masked array.

        See Also
        --------
        predict : Predict the targets.
        """
        check_not_masked(y, "y", type(self).__name__)
        return float(super().score(X, y, sample_weight))

    def _to_apply(self) -> Applied:
        applied = super()._to_apply()
        applied.decision = Decision(*self._rule)
        return applied

    @property
    def _n_targets(self) -> int:
        """The number of targets seen."""
        state = self._state
        return len(state.classes) if isinstance(state, Solved) else int(state.n_targets)

    # -- states ---------------------------------------------------------------------------------

    def _second(self) -> Second:
        return "cross"

    def _folds(self) -> int | None:
        return FOLDS if is_cv(self.n_components) else None

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Any:
        if "W" not in arrays:
            return super()._state_from(arrays)
        state = from_arrays(Solved, arrays)
        parts = state.coef, state.intercept, state.centre
        if any(part is None for part in parts) or state.more > state.n_features:
            raise SchemaError("W: expected directions with a regression by them, got others.")
        return state

    def _sums_show_nan(self, X: Any, y: Any, sample_weight: Any) -> bool:
        shape: Any = getattr(X, "shape", ())
        return len(shape) == 2 and shape[1] <= MOST and super()._sums_show_nan(X, y, sample_weight)

    def _check_no_choice(self) -> None:
        """Raise ParameterError where held-out folds choose, which only sums have."""
        for name in self._chosen:
            if is_cv(getattr(self, name)):
                raise ParameterError(
                    f'{type(self).__name__}: expected at most {MOST:,} features for {name}="cv", '
                    f"which needs folds of sums, got more. Set {name} to a number."
                )

    # -- solving --------------------------------------------------------------------------------

    @abstractmethod
    def _from_scatter(
        self, S: Scatter, alpha: float, most: int | None, squares: np.ndarray
    ) -> Answer:
        """Return the directions of a scatter, whose H are the products with the targets.

        These have the sums of `squares` about their means.
        """

    @abstractmethod
    def _from_samples(self, A: Centred, Y: np.ndarray, alpha: float) -> Answer:
        """Return the directions of samples; Y are the targets about their means, as its rows."""

    def _scale_of(self, mean_square: float) -> float:
        """Return the ridge for samples of this mean squared length."""
        return 0.0

    def _choose(self, stats: TargetStats, unit: np.ndarray | None) -> tuple[float, Curve]:
        """Return the ridge, and how it was chosen."""
        return 0.0, NO_CURVE

    def _solve(self, state: Any) -> Found:
        if isinstance(state, Solved):
            return self._of_solved(state)
        if not state.n:
            return Found.best(np.zeros((state.n_features, 0)), np.zeros(0), self._size)
        with one_blas_thread(min(state.n_features, state.n_samples) <= SMALL):
            return self._of_sums(self._shown(state))

    def _of_sums(self, state: Any) -> Found:
        """Return the solution for a state that has samples."""
        unit = unit_of(self, state)
        alpha, curve = self._choose(state, unit)
        p, sizes = self._size, NO_CURVE
        if is_cv(self.n_components):
            sizes = self._compare(state, "n_components", [alpha])
            p = sizes.smallest() if len(sizes.scores) else 1
        variances = state.target_variances
        S = state.scatters(unit=unit)
        answer = self._from_scatter(S, alpha, p, variances * state.n).of_features(unit)
        coef = answer.W[:, :p] @ transposed(answer)[:p]  # first, since `best` sets the signs
        found = Found.best(answer.W, answer.eigenvalues / state.n, p, unit=unit)
        found.rule = coef, state.target_mean - state.mean @ coef
        found.total, found.held_out, found.curve = float(variances.sum()), sizes, curve
        found.alpha = alpha
        return found

    def _of_solved(self, state: Any) -> Found:
        self._check_no_choice()
        self._check_as_fitted()
        found, p = len(state.eigenvalues), self._size
        if p is not None and p > state.more:
            raise ParameterError(
                f"{type(self).__name__}: expected n_components<={state.more}, the number that fit "
                f"computed, got {p}. Call fit again."
            )
        W, L = np.ascontiguousarray(state.W[:, :p]), state.eigenvalues[:p]
        best = Found(W, L, available=found, size=p)
        coef = state.coef[:p]
        best.rule = state.W[:, :p] @ coef, state.intercept - state.centre[:p] @ coef
        best.total, best.alpha = state.mean_square or 0.0, state.alpha
        return best

    def _compare(self, stats: TargetStats, what: str, alphas: Any) -> Curve:
        """Return how much of held-out folds is explained: by each ridge, or each number for one."""
        who = type(self).__name__
        if not stats.folds and not stats.kept:
            raise ParameterError(
                f'{who}: expected a state with folds or kept samples for {what}="cv", got one '
                f'without. Fit again with {what}="cv", or use TargetStats.of(X, y, '
                f"folds={FOLDS}) for fit_stats."
            )
        unit = unit_of(self, stats)
        curves, weight = [], []
        for others, fold in stats.halves():
            if not is_cv(getattr(self, what)) and not (fold.n and others.n):
                continue
            check_filled(who, what, fold, stats.n_samples)
            S, fold_S = others.scatters(unit=unit), fold.scatters(by_samples=False)
            away, off = fold.mean - others.mean, fold.target_mean - others.target_mean
            total = float(np.sum(fold.target_variances + off**2))
            of_others = S.n * others.target_variances
            answers = (
                self._from_scatter(S, alpha, _COMPARED, of_others).of_features(unit)
                for alpha in alphas
            )
            each = [held_out_shares(fold_S, answer, away, off, total) for answer in answers]
            curves.append(each[0] if len(each) == 1 else [np.append(0.0, one)[-1] for one in each])
            weight.append(fold.n)
        shortest = min(map(len, curves), default=0)
        if not shortest or len(curves) < 2:
            return NO_CURVE
        return Curve.of_folds(np.array([each[:shortest] for each in curves]), np.array(weight))

    def _check_any(self, solution: Any) -> None:
        if not solution.width:
            raise NotFittedError(
                f"{type(self).__name__}: expected targets that vary with the features, got none so "
                "far. Continue with partial_fit."
            )

    def _check_solution(self, solution: Found, stats: Any) -> None:
        if not solution.available:
            raise ValueError(
                f"{type(self).__name__}: expected targets that vary with the features, got "
                "constant targets or features, or one sample. Check X and y."
            )


@parameters
class PLS(TargetProjector):
    """Partial least squares regression, exactly additive.

    ::

        criterion   maximise |Cov(X w, Y)| for each direction in turn, deflated
        space       W real
        schedule    exact, from all samples at once or batch by batch

    Each component is the direction w, of length 1, whose scores have the largest covariance with
    the targets: the leading left singular vector of X'Y, with the samples X and the targets Y less
    their means. The part of X'Y that the scores t = X r explain is then subtracted. For one target,
    this is also the sequence of conjugate gradients for least squares.

    The predictions are those of scikit-learn's PLSRegression with ``scale=False`` and a small
    ``tol``. `transform` returns X R with the rotations R, not centred: subtract ``mean_ @ R`` for
    the result of PLSRegression, up to the signs of the columns. Units of features matter (see
    `standardize`), and so do units of targets: divide targets in different units by their standard
    deviations, or those of small values are not predicted.

    Parameters
    ----------
    n_components : int or "cv", default=2
        p, the number of components, at most n_features. Components that do not add anything are
        zero. "cv" chooses the smallest number, up to 50, whose held-out score is within one
        standard error of the best. One pass computes five folds; the state is five times as large.
    {half_life}
    {keep_none}
    {standardize}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of the rotations R. The entry of largest magnitude in each row is positive.
    coef_ : ndarray of shape (n_targets, n_features)
        The coefficients of the regression.
    intercept_ : ndarray of shape (n_targets,)
        The intercepts: ``predict(X)`` is ``X @ coef_.T + intercept_``.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The share of the variance of all targets that each component explains.
    held_out_scores_, held_out_errors_ : ndarray of shape (n_components_compared,)
        With ``n_components="cv"``: entry p - 1 is the share of the variance of the targets of a
        held-out fold that p components of the other folds explain, and its standard error; else
        empty.
    mean_ : ndarray of shape (n_features,)
        The mean of the features; not available after a `fit` with more than 8,192 features.
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X or y contain NaN, the targets or the features are constant, the number of
        targets changes, n_components exceeds the number of features, or there are more than 8,192
        features in `partial_fit`, or for "cv".

    Warns
    -----
    UserWarning
        Fewer than `n_components` components explain all that can be explained of the targets.

    See Also
    --------
    ReducedRank : The directions of ridge regression.
    PCA : The directions of largest variance.
    CorrelationFS : Selection of features by their correlation with the targets.
    SRDA : Projection for classes.
    sklearn.cross_decomposition.PLSRegression : The same regression, from all samples at once.

    Notes
    -----
    **Cost**, for d <= 8,192 features and q targets: O(n d^2) to learn n dense samples on all cores,
    O(d^2 p) when attributes are read; memory 8 d^2 bytes. With fewer samples than features,
    O(n^2 d). With more than 8,192 features, `fit` needs all samples, and two products with X for
    each component.

    The sums lose digits where features depend on each other: directions of a variance below 1e-15
    of that of their features are rounding, whatever the units of the features are.

    References
    ----------
    B. S. Dayal, J. F. MacGregor, "Improved PLS algorithms", Journal of Chemometrics 11(1), 1997,
    algorithm 2, which computes the components from X'X and X'Y alone. The state is specific to
    narrows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from narrows import PLS
    >>> X, y = load_diabetes(return_X_y=True)
    >>> pls = PLS(n_components=3)
    >>> for start in range(0, 442, 100):
    ...     pls = pls.partial_fit(X[start : start + 100], y[start : start + 100])
    >>> pls.transform(X).shape, round(pls.score(X, y), 3)
    ((442, 3), 0.513)
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"n_components": whole(1) | CV}

    n_components: int | str = 2
    half_life: float | None = None
    keep: int = KEPT
    standardize: Any = False

    def _check_together(self, n_features: int) -> None:
        super()._check_together(n_features)
        p = self._size
        if p is not None and p > n_features:
            raise ParameterError(
                f"{type(self).__name__}: expected n_components<={n_features}, since n_features="
                f"{n_features}, got {p}. Use fewer components."
            )

    def _from_scatter(
        self, S: Scatter, alpha: float, most: int | None, squares: np.ndarray
    ) -> Answer:
        return pls_of_scatter(S, most or _COMPARED, squares)

    def _from_samples(self, A: Centred, Y: np.ndarray, alpha: float) -> Answer:
        return pls_of_samples(A, Y, self._size or _COMPARED)

    def _check_solution(self, solution: Found, stats: Any) -> None:
        super()._check_solution(solution, stats)
        p, found = self._size, solution.available
        if p is not None and found < p:
            warn(
                f"{type(self).__name__}: expected n_components<={found}, which explain all that "
                f"can be explained of the targets, got {p}. The other components are zero."
            )


@parameters
class ReducedRank(TargetProjector):
    """Reduced-rank ridge regression, exactly additive.

    ::

        criterion   minimise |Y - X B|^2 + alpha |B|^2 over all B = W Q' of rank p
        space       W real, W'(C + alpha/n I) W = I
        schedule    exact, from all samples at once or batch by batch

    where X and Y are the samples and their targets less the means, and C is the covariance of the
    features. Without a limit of the rank it is the ridge regression of each target. The first p
    directions predict the targets better than any others do; with a 0-1 indicator matrix of classes
    for the targets, all of them span the directions of `SRDA` with the same ridge. `transform`
    returns X W, not centred.

    Parameters
    ----------
    n_components : int or "cv", optional
        p, the number of directions, at most the number of targets. By default the rank of the ridge
        regression, which is the number of targets unless they depend on each other. "cv" chooses
        the smallest number whose held-out score is within one standard error of the best. One pass
        computes five folds; the state is five times as large.
    alpha : float or {"auto", "scale", "cv"}, default="auto"
        The ridge, in the squared units of X. It is added to the scatter of all samples, which is a
        sum and not a mean, as in scikit-learn's Ridge. "scale" is the mean squared length of the
        centred samples. "cv" chooses the best of ten ridges by held-out samples: "scale" times
        the powers of ten from 1e-7 to 100. "auto" is "cv" where there are samples to hold out, and
        "scale" for more than 8,192 features, fewer than five samples, and states that keep none.
    {half_life}
    {keep}
    {standardize}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The transpose of W, best direction first. The entry of largest magnitude in each row is
        positive.
    coef_ : ndarray of shape (n_targets, n_features)
        The coefficients of the regression, of rank n_components.
    intercept_ : ndarray of shape (n_targets,)
        The intercepts: ``predict(X)`` is ``X @ coef_.T + intercept_``.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The share of the variance of all targets that each direction explains, less the penalty.
    alpha_ : float
        The ridge.
    alphas_, alpha_scores_, alpha_errors_ : ndarray of shape (n_alphas,)
        The ridges that "cv" compares, the share of the variance of held-out targets that each
        explains, and its standard error; empty if alpha was not chosen.
    held_out_scores_, held_out_errors_ : ndarray of shape (n_components_compared,)
        With ``n_components="cv"``: entry p - 1 is the share of the variance of the targets of a
        held-out fold that p directions of the other folds explain, and its standard error; else
        empty.
    mean_ : ndarray of shape (n_features,)
        The mean of the features; not available after a `fit` with more than 8,192 features.
    {n_samples_seen_}

    Raises
    ------
    ValueError
        See `fit`. X or y contain NaN, the targets or the features are constant, the number of
        targets changes, n_components exceeds the number of directions, or there are more than 8,192
        features in `partial_fit`, or for "cv".

    See Also
    --------
    PLS : Components of largest covariance with the targets, more than there are targets.
    SRDA : The same directions for classes.
    ForwardFS : Selection of features by the same criterion.
    sklearn.linear_model.Ridge : The regression of full rank, from all samples at once.

    Notes
    -----
    **Cost**, for d <= 8,192 features and q targets: O(n d^2) to learn n dense samples on all cores,
    O(d^3 + d^2 q) when attributes are read, about 50 times that with alpha chosen; memory 8 d^2
    bytes, and up to 2,000 samples where alpha is chosen. With fewer samples than features,
    O(n^2 d). With more than 8,192 features, `fit` needs all samples: products with X by LSQR, or
    inner products of at most 8,192 dense samples.

    **The choice of alpha**: the state keeps up to 2,000 samples, those with the smallest hashes, so
    that order and merging do not matter. Each fifth of them is subtracted from the sums, and
    predicted from all other samples with each ridge. With ``n_components="cv"``, the folds of the
    state take the place of these parts. Model files contain the kept samples.

    References
    ----------
    A. Mukherjee, J. Zhu, "Reduced rank ridge regression and its kernel extensions", Statistical
    Analysis and Data Mining 4(6), 2011. The state and the choice of alpha are specific to narrows.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from narrows import ReducedRank
    >>> X, y = load_linnerud(return_X_y=True)
    >>> model = ReducedRank(n_components=1, alpha=1.0).fit(X, y)
    >>> model.transform(X).shape, model.predict(X).shape
    ((20, 1), (20, 3))
    >>> model.explained_variance_ratio_.round(2).tolist()
    [0.26]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": whole(1) | CV | NONE,
        "alpha": word("auto", "scale", "cv") | real(0, LARGEST),
    }
    _chosen = "n_components", "alpha"
    alpha_ = of_solution(lambda found: float(found.alpha), "The ridge.")
    alphas_, alpha_scores_, alpha_errors_ = of_curve("alphas_", "ridges")

    n_components: int | str | None = None
    alpha: float | str = "auto"
    half_life: float | None = None
    keep: int = KEPT
    standardize: Any = False

    def _check_together(self, n_features: int) -> None:
        super()._check_together(n_features)
        if not self._folds():
            check_keep(self, "alpha")

    def _keeps(self) -> int:
        return 0 if self._folds() or self.alpha not in ("auto", "cv") else int(self.keep)

    def _scale_of(self, mean_square: float) -> float:
        return mean_square if isinstance(self.alpha, str) else float(self.alpha)

    def _choose(self, stats: TargetStats, unit: np.ndarray | None) -> tuple[float, Curve]:
        scale = self._scale_of(stats.mean_square(unit))
        if isinstance(self.alpha, Real) or self.alpha == "scale" or not scale:
            return scale, NO_CURVE
        if self.alpha == "auto" and not (stats.folds or stats.kept):
            return scale, NO_CURVE
        alphas = scale * GRID
        curve = self._compare(stats, "alpha", alphas)
        if not len(curve.scores):
            return scale, NO_CURVE
        return float(alphas[int(curve.scores.argmax())]), curve._replace(values=alphas)

    def _from_scatter(
        self, S: Scatter, alpha: float, most: int | None, squares: np.ndarray
    ) -> Answer:
        answer, unit = discriminants(S, alpha, total=True), np.sqrt(S.n)
        assert answer.between is not None
        return replace(answer, W=answer.W * unit, between=answer.between / unit)

    def _from_samples(self, A: Centred, Y: np.ndarray, alpha: float) -> Answer:
        if A.is_sparse or A.shape[0] > MOST:
            answer, unit = reduced_rank_of_samples(A, Y, alpha), np.sqrt(A.n)
            return replace(answer, W=answer.W * unit, between=answer.between / unit)
        S = of_samples(A.X, A.root**2, A.m, A.rmatmat(Y).T)
        return self._from_scatter(S, alpha, None, np.zeros(len(S.H)))

    def _check_solution(self, solution: Found, stats: Any) -> None:
        super()._check_solution(solution, stats)
        p, found = self._size, solution.available
        if p is not None and found < p:
            raise ParameterError(
                f"{type(self).__name__}: expected n_components<={found}, the rank of the "
                f"regression, which is at most the number of targets, got {p}. Use fewer, or PLS."
            )
