"""Regressors: directions that predict numeric targets, and the linear regression by them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from narrows.errors import ParameterError, warn
from narrows.methods.attributes import (
    EXPLAINED,
    HELD_OUT_ERRORS,
    HELD_OUT_SCORES,
    RIDGE,
    compared,
)
from narrows.methods.base import check_adds_up
from narrows.methods.learned import Learned
from narrows.methods.parameters import (
    CV,
    LARGEST,
    NONE,
    Constraint,
    is_cv,
    parameters,
    real,
    whole,
    word,
)
from narrows.methods.plan import Data, Pass, n_folds
from narrows.methods.projectors import Projector
from narrows.methods.standardize import unit_of, unit_of_samples
from narrows.solutions import regressors
from narrows.solutions.at_once import of_targets
from narrows.solutions.choice import KEPT
from narrows.solve.arrays import check_not_masked, read_only
from narrows.solve.solution import Solution
from narrows.solve.targets import pls_of_samples


class Regressor(RegressorMixin, Projector):
    """Shows the rule of a solution as a regression."""

    _takes_numbers = True
    _instead = "CorrelationFS to select features first, or fit with all samples in memory"
    explained_variance_ratio_ = EXPLAINED
    held_out_scores_, held_out_errors_ = HELD_OUT_SCORES, HELD_OUT_ERRORS

    @property
    def mean_(self) -> np.ndarray:
        """The mean of the features, of shape (n_features,)."""
        check_adds_up(self)
        return self.moments_.mean

    @property
    def coef_(self) -> np.ndarray:
        """The coefficients of the features, of shape (n_targets, n_features)."""
        return read_only(self._predicting().rule.coef.T)

    @property
    def intercept_(self) -> np.ndarray:
        """The intercepts, of shape (n_targets,)."""
        return read_only(self._predicting().rule.intercept)

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
        found = self._predicting()
        return found.predicted(found.scores(self._check_X(X, reset=False)))

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
        check_not_masked(y, "y")
        return float(super().score(X, y, sample_weight))

    # -- solving --------------------------------------------------------------------------------

    def _sums(self, data: Data) -> Pass:
        folds = n_folds(self.n_components)
        return Pass(second="cross", n_folds=folds, half_life=self.half_life, numeric=True)

    def _of_targets(self, X: Any, Y: Any, weight: np.ndarray, ridge_of: Any, find: Any) -> Solution:
        """Return the solution for all samples at once, by what finds their directions."""
        return of_targets(X, Y, weight, unit_of_samples(self, X, weight), ridge_of, find)

    def _check_solution(self, found: Solution) -> None:
        if not found.rank:
            raise ValueError(
                "expected targets that vary with the features, got "
                "constant targets or features, or one sample. Check X and y."
            )


@parameters
class PLS(Regressor):
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
                f"expected n_components<={n_features}, since n_features="
                f"{n_features}, got {p}. Use fewer components."
            )

    def _solve(self, learned: Learned) -> Solution:
        m = learned.moments
        return regressors.pls(learned.folds, m, self.n_components, unit_of(self, m))

    def _solve_samples(self, X: Any, y: Any, weight: np.ndarray) -> Solution:
        most = self._size or regressors.COMPARED

        def find(A: Any, Y: np.ndarray, ridge: float) -> Any:
            return pls_of_samples(A, Y, most)

        return self._of_targets(X, y, weight, lambda mean_square: 0.0, find)

    def _check_solution(self, found: Solution) -> None:
        super()._check_solution(found)
        p = self._size
        if p is not None and found.rank < p:
            warn(
                f"expected n_components<={found.rank}, which explain all that can be explained of "
                f"the targets, got {p}. The other components are zero."
            )


@parameters
class ReducedRank(Regressor):
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
    alpha_ = RIDGE
    alphas_, alpha_scores_, alpha_errors_ = compared("alphas_", "ridges")

    n_components: int | str | None = None
    alpha: float | str = "auto"
    half_life: float | None = None
    keep: int = KEPT
    standardize: Any = False

    def _sums(self, data: Data) -> Pass:
        keeps = self.alpha in ("auto", "cv") and not is_cv(self.n_components)
        return replace(super()._sums(data), keep=int(self.keep) if keeps else 0)

    def _check_solution(self, found: Solution) -> None:
        super()._check_solution(found)
        p = self._size
        if p is not None and found.rank < p:
            raise ParameterError(
                f"expected n_components<={found.rank}, the rank of the "
                f"regression, which is at most the number of targets, got {p}. Use fewer, or PLS."
            )

    def _solve(self, learned: Learned) -> Solution:
        m = learned.moments
        return regressors.reduced_rank(
            learned.folds, m, self.n_components, self.alpha, unit_of(self, m)
        )

    def _solve_samples(self, X: Any, y: Any, weight: np.ndarray) -> Solution:
        ridge_of = partial(regressors.ridge_of, self.alpha)
        return self._of_targets(X, y, weight, ridge_of, regressors.reduced_rank_of_samples)
