"""Selection: the solution space of 0-1 matrices W that pick features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import _safe_indexing

from narrows.criteria import Criterion
from narrows.errors import ParameterError, warn
from narrows.methods.base import Additive
from narrows.methods.parameters import (
    CV,
    FOLDS,
    NONE,
    Constraint,
    check_filled,
    check_folds,
    is_cv,
    is_integer,
    parameters,
    real,
    whole,
)
from narrows.solve import columns
from narrows.solve.applied import Applied
from narrows.solve.arrays import as_asked
from narrows.solve.held_out import NO_CURVE, Curve
from narrows.state.arrays import read_only
from narrows.state.class_stats import ClassStats
from narrows.state.halves import Halves

_SIZES = ("n_features", "energy", "threshold", "per_class")
SHARE = real(0, 1, above=True, closed=True)
_NUMBER = "an integer >= 1, or a fraction in (0, 1] of the features"


class Scores(NamedTuple):
    """The scores that a criterion gives the features.

    Parameters
    ----------
    values : ndarray of shape (n_features,)
        The scores that features are ranked by.
    varies : ndarray of bool of shape (n_features,), optional
        Constant features rank last, whatever their score; all vary if left out.
    gain : ndarray of shape (n_features,), optional
        The quantity that energy is the share of; the scores if left out.
    """

    values: np.ndarray
    varies: np.ndarray | None = None
    gain: np.ndarray | None = None

    @classmethod
    def of_spread(cls, values: np.ndarray, varies: np.ndarray) -> Self:
        """Return scores of a criterion that is 0, but for rounding, for constant features."""
        return cls(np.where(varies, values, 0.0), varies)


class Selection:
    """Ranked features and the best of them; each part is computed when it is first read."""

    def __init__(self, selector: Any, stats: Any):
        self.scores, self.varies, gain = selector._score(stats)
        self.gain = self.scores if gain is None else gain
        self._selector, self._stats, self._sizes = selector, stats, selector._sizes()
        self.by_energy = all(size is None for key, size in self._sizes.items() if key != "energy")
        self.order = columns.rank(self.scores, self.varies)

    @cached_property
    def energy(self) -> np.ndarray:
        return columns.energy_curve(self.gain[self.order])

    @cached_property
    def held_out(self) -> Curve:
        return self._selector._held_out_curve(self._stats)

    @cached_property
    def n_positive(self) -> int:
        return int((self.scores > 0).sum())

    @cached_property
    def mask(self) -> np.ndarray:
        """The selected features, by the one size that was given."""
        given = (item for item in self._sizes.items() if item[1] is not None)
        kind, size = next(given, ("energy", 0.8))
        if kind == "threshold":
            return self.scores >= size
        mask = np.zeros(len(self.scores), dtype=bool)
        if kind == "per_class":
            for scores in self._selector._class_scores(self._stats):
                mask[columns.rank(scores, self.varies)[:size]] = True
            return mask
        if is_cv(size):
            size = self.held_out.elbow()
        if kind == "energy":
            size = columns.count_by_energy(self.energy, size)
        mask[self.order[: columns.count_wanted(size, len(mask))]] = True
        return mask

    @cached_property
    def size(self) -> int:
        return int(self.mask.sum())


# what a model of the command line has where another estimator predicts behind it
_BEHIND = "predict", "predict_proba", "predict_log_proba", "decision_function", "score"


@parameters
class Selector(SelectorMixin, Additive):
    """Picks features by score.

    Subclasses give `_score`, the scores of all features, and `_class_scores` for `per_class`; or
    `_solve` itself.
    """

    _score: ClassVar[Callable[[Any, ClassStats], Scores]]
    _class_scores: ClassVar[Callable[..., np.ndarray]]
    _selects: ClassVar[bool] = True
    _useless: ClassVar[str] = "distinguishes the classes"  # what features should do
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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return `then_`, or one of its verbs, which only models of `narrows fit` have."""
            then = vars(self)["_fitted"].then if "_fitted" in vars(self) else None
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
        if set(params) <= set(known) and any(params.get(size) is not None for size in _SIZES):
            params = dict.fromkeys(size for size in _SIZES if size in known) | params
        return super().set_params(**params)

    def _folds(self) -> int | None:
        return FOLDS if is_cv(self.n_features) else None

    def _held_out_curve(self, stats: ClassStats) -> Curve:
        """Return held-out scores by the number of features; empty where they are not asked for."""
        return NO_CURVE

    @property
    def scores_(self) -> np.ndarray:
        """The score of each feature, of shape (n_features,)."""
        return read_only(self._solution.scores)

    @property
    def energy_(self) -> np.ndarray:
        """Entry p - 1 is the share of the p best features in the sum of positive scores."""
        return read_only(self._solution.energy)

    @property
    def n_features_(self) -> int:
        """The number of selected features."""
        return self._solution.size

    @property
    def n_positive_(self) -> int:
        """The number of features with a positive score."""
        return self._solution.n_positive

    @property
    def ranking_(self) -> np.ndarray:
        """The features from the best to the worst, of shape (n_features,)."""
        return read_only(self._solution.order)

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
        reduced = self._reducer()(self._check_X(X, reset=False, types=types))
        asked = getattr(self, "_sklearn_output_config", {}).get("transform")
        asked = asked or get_config()["transform_output"]
        if sparse.issparse(reduced) and asked == "pandas":
            return as_asked(reduced, self, X)
        if hasattr(X, "columns") and type(X).__module__.partition(".")[0] == asked:
            return _safe_indexing(X, self.get_support(indices=True), axis=1)
        return reduced

    @property
    def _then(self) -> Any:
        return self._fitted.then

    @property
    def _predictor(self) -> dict[str, Any] | None:
        then = self._then
        if then is None:
            return None
        return {
            "method": type(then.estimator).__name__,
            "parameters": then.estimator.get_params(),
            "is_of_selection": np.array_equal(then.chosen, self.get_support(indices=True)),
        }

    def _predicted(self, verb: str, X: Any, *args: Any, **named: Any) -> Any:
        """Return what the estimator behind the selection says of samples with all features."""
        X = columns.take(self._check_X(X, reset=False), self._then.chosen)
        return getattr(self._then.estimator, verb)(X, *args, **named)

    def _emptied(self) -> Self:
        new, then = super()._emptied(), self._then
        if then is not None:
            new._fitted.then = then._replace(estimator=then.estimator._emptied())
        return new

    def _rename_classes(self, names: np.ndarray) -> None:
        then = self._then
        super()._rename_classes(names)
        if then is not None:
            then.estimator._rename_classes(names)
            self._fitted.then = then

    @property
    def _rows_kept(self) -> int:
        then = self._then
        return super()._rows_kept + (0 if then is None else then.estimator._rows_kept)

    @property
    def _lost(self) -> str:
        return super()._lost if self._then is None else str(self._then.estimator._lost)

    def _reducer(self) -> Callable[[Any], Any]:
        """Return a function that does what `transform` does, for samples that were checked."""
        found = self._applied
        if not found.mask.any():
            self._check_solution(found, self._state)  # says why
        return partial(columns.take, chosen=np.flatnonzero(found.mask))

    def _to_apply(self) -> Applied:
        found = self._solution
        self._check_solution(found, self._state)
        return Applied(self.n_features_in_, chosen=np.flatnonzero(found.mask))

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
            input_features = self._column_names()
        return super().get_feature_names_out(input_features)

    def _get_support_mask(self) -> np.ndarray:
        return read_only(self._applied.mask)

    def _sizes(self) -> dict[str, Any]:
        """Return the parameters that set the size; at most one is not None."""
        params = self.get_params(deep=False)
        return {name: params[name] for name in _SIZES if name in params}

    def _check_together(self, n_features: int) -> None:
        name, sizes = type(self).__name__, self._sizes()
        given = {key: value for key, value in sizes.items() if value is not None}
        if len(given) > 1:
            raise ParameterError(
                f"{name}: expected at most one of {', '.join(sizes)}, got "
                + " and ".join(f"{key}={value!r}" for key, value in given.items())
                + ". Leave out all but one."
            )
        if is_cv(self.n_features) and not isinstance(self, HeldOutSelector):
            raise ParameterError(
                f'{name}: expected n_features to be a number, got "cv", which only OCFS, FisherFS, '
                "IG, CHI and ForwardFS support. Use a number, energy or threshold."
            )
        for key, value in given.items():
            if key in ("n_features", "per_class") and is_integer(value, 1) and value > n_features:
                raise ParameterError(
                    f"{name}: expected {key}<={n_features}, the number of features in the data, "
                    f"got {value}. Use fewer"
                    + (", or a fraction such as 0.1." if key == "n_features" else ".")
                )

    def _solve(self, stats: Any) -> Any:
        selection = Selection(self, stats)
        advice = self._advice(selection)
        if advice:
            warn(f"{type(self).__name__}: {advice}")
        return selection

    def _advice(self, selection: Any) -> str:
        """Return a warning, or an empty string."""
        if selection.n_positive or (not selection.by_energy and selection.scores.any()):
            return ""
        return (
            "expected a positive score of at least one feature, got none. "
            f"{selection.size} of {len(selection.scores)} features are selected"
            + (f", but none {self._useless}." if self._needs_y else ".")
        )

    def _check_solution(self, solution: Any, stats: Any) -> None:
        if not solution.size:
            raise ValueError(
                f"{type(self).__name__}: expected scores of at least threshold="
                f"{solution._sizes['threshold']}, got scores up to {solution.scores.max():g}. "
                "Use a lower threshold."
            )


class CriterionSelector(Selector):
    """The largest entries of the diagonal of a criterion's matrix. Subclasses give `_criterion`."""

    @abstractmethod
    def _criterion(self) -> Criterion:
        """Return the criterion to maximise."""

    def _score(self, stats: ClassStats) -> Scores:
        scores, priors = self._criterion().diagonal(stats, self._priors()), self._priors()
        if self._second() is None:  # then the diagonal is exactly 0 for constant features
            return Scores(scores)
        return Scores.of_spread(scores, stats.varying(stats.priors(priors)))


@parameters
class PerClassSelector(Selector):
    """A selector whose score combines one for each class. Subclasses give `_class_blocks`."""

    n_features: int | float | str | None = None
    energy: float | None = None
    threshold: float | None = None
    priors: Any = "empirical"
    per_class: int | None = None
    half_life: float | None = None

    @abstractmethod
    def _class_blocks(self, stats: ClassStats, p: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield (columns, scores of shape (n_classes, columns)) for the classes with p_j > 0."""

    @property
    def class_scores_(self) -> np.ndarray:
        """The scores for each class, of shape (n_classes, n_features), ordered as `classes_`."""
        stats, _ = self._state, self._solution  # which raises where scores overflow
        p = stats.priors(self.priors)
        scores = np.zeros((len(self.classes_), stats.n_features))
        scores[p[stats.counts > 0] > 0] = self._class_scores(stats)
        return scores

    def _class_scores(self, stats: ClassStats) -> np.ndarray:
        """Return the scores for each class with p_j > 0, of shape (n_classes, n_features)."""
        p = stats.priors(self.priors)
        scores = np.empty((int((p > 0).sum()), stats.n_features))
        for some, block in self._class_blocks(stats, p):
            scores[:, some] = block
        return scores


def warn_of_no_held_out_score(who: str, curve: Curve, useless: str) -> None:
    """Warn if no number of features has a positive held-out score."""
    if not curve.scores.max() > 0:
        warn(
            f"{who}: expected a positive held-out score of at least one feature, got none. One "
            f"feature is selected, but none {useless} of held-out samples."
        )


class HeldOutSelector(Selector):
    """A selector for which n_features may be "cv". Subclasses give `_held_out`."""

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_features": (NONE | whole(1) | SHARE | CV).said(_NUMBER, 'a number or "cv"')
    }

    @abstractmethod
    def _held_out(self, halves: Halves) -> np.ndarray:
        """Return what each feature adds to the score of a fold, given the other folds."""

    @property
    def held_out_scores_(self) -> np.ndarray:
        """With ``n_features="cv"``, the held-out scores of the best features; else empty.

        Entry p - 1 is the mean over the folds for the p best features.
        """
        return read_only(self._solution.held_out.scores)

    @property
    def held_out_errors_(self) -> np.ndarray:
        """The standard errors of `held_out_scores_`, from the differences between folds."""
        return read_only(self._solution.held_out.errors)

    def _solve(self, stats: ClassStats) -> Selection:
        if is_cv(self.n_features):
            check_folds(type(self).__name__, "n_features", stats)
        return super()._solve(stats)

    def _held_out_curve(self, stats: ClassStats) -> Curve:
        if not is_cv(self.n_features):
            return NO_CURVE
        curves, weight = [], []
        for halves in Halves.of(stats, self._priors()):
            check_filled(type(self).__name__, "n_features", halves.fold, stats.n_samples)
            scores, varies, _ = self._with_priors(halves)._score(halves.others)
            curves.append(self._held_out(halves)[columns.rank(scores, varies)].cumsum())
            weight.append(halves.fold.n)
        curve = Curve.of_folds(np.array(curves), np.array(weight))
        warn_of_no_held_out_score(type(self).__name__, curve, self._useless)
        return curve

    def _with_priors(self, halves: Halves) -> Self:
        """Return this selector, with the priors of the classes that the other folds have."""
        priors: Any = self._priors()
        if isinstance(priors, str):
            return self
        given = halves.p_others[halves.others.counts > 0]
        return clone(self).set_params(priors=given if given.any() else "empirical")
