"""Estimators whose states add up: fit, partial_fit, merge and fit_stats for all of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from narrows.errors import RangeError
from narrows.methods._atomic import atomic
from narrows.methods._base import Estimator, Fitted
from narrows.methods._engines import accepts_collections
from narrows.methods._errors import errors_named_after
from narrows.methods._merge import merge_into
from narrows.methods._parameters import check_half_life, check_parts
from narrows.state.labels import SMALLEST_WEIGHT, weights
from narrows.state.priors import by_class, check_word
from narrows.state.state import Second, checked_rows
from narrows.state.stats import ClassStats
from narrows.solve.schema import SchemaError
from narrows.solve.sums import are_many

_SHORTEST = 1e-6  # samples: after one sample, nothing is left for shorter half-lives either


class Additive(Estimator):
    """An estimator whose solution is a function of a `ClassStats` and its parameters."""

    _state_type: ClassVar[Any] = ClassStats
    _presence: ClassVar[bool] = False
    half_life: float | None
    priors: Any

    # -- fitting --------------------------------------------------------------------------------

    @accepts_collections
    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to all samples at once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; sparse matrices are never converted to dense arrays.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_classes)
            Labels; or a 0-1 indicator matrix, where every pair of a sample and a class counts as a
            sample. Optional only for methods that use no labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100; a weight of 2 stands for two equal samples.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes of positive weight, all weights zero, NaN or infinity, or a
            parameter that does not fit the data. The estimator is then unchanged.

        See Also
        --------
        partial_fit : Update with more samples.
        fit_stats : Fit to a state instead of samples.
        """
        return self._finish(self._learn_all(X, y, sample_weight))

    @atomic
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, classes: Any = None
    ) -> Self:
        """Update with more samples; the result is that of `fit` on all samples so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Any number of samples, also 0 or 1.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_classes)
            Labels as for `fit`; new classes may appear at any time.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100.
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
            `classes`. The estimator is then unchanged.

        See Also
        --------
        fit : Fit to all samples at once.
        merge : Add the samples of other estimators.
        """
        allowed = self._check_classes(classes, y)
        fitted = self.__sklearn_is_fitted__()
        late = sparse.issparse(X) and self._sums_show_nan(X, y, sample_weight)
        if fitted:
            self._fitted.solution = None  # first, since an interrupt may come after the update
        old = self._fitted.state if fitted else None
        new = self._add(old, X, y, sample_weight, late, reset=not fitted, ensure_min_samples=0)
        if new is not old:
            self._fitted = Fitted(new, self._fitted.source if fitted else None)
        if allowed is not None:
            self._register(allowed)
        return self

    def _register(self, classes: np.ndarray) -> None:
        """Note the classes that may occur; only classifiers show them."""

    def fit_stats(self, stats: ClassStats) -> Self:
        """Fit to a state; the result is that of `fit` on its samples.

        Parameters
        ----------
        stats : ClassStats
            A state of the kind that the method needs, or with additional second moments. It is
            copied.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            The state is of another kind, or `fit` would raise for its samples.

        See Also
        --------
        fit : Fit to samples.
        narrows.ClassStats : The state.
        """
        self._check_kind(stats)
        with errors_named_after(self):
            stats = stats.reduced(self._second(), self._folds() is not None)
        return self._fit_state(stats)

    def _fit_parts(self, parts: Any) -> Self:
        """Fit to the parts of a data set, wherever they are; their states add up."""
        check_parts(type(self).__name__, self.half_life)
        with errors_named_after(self):
            stats = self._sum_of(parts)
        return self._fit_state(stats)

    def _sum_of(self, parts: Any) -> ClassStats:
        """Return the state of the parts of a data set."""
        state: ClassStats = parts.sum(self)
        return state

    def _add_states(self, a: ClassStats, b: ClassStats) -> ClassStats:
        """Return the state of the samples of both, which stay as they are."""
        with errors_named_after(self):
            return a + b

    def merge(self, *others: Self) -> Self:
        """Merge other estimators of the same method and parameters into this one.

        The result is that of one estimator that saw all samples. With a `half_life`, the estimators
        count as parallel streams: each decays with its own samples only. The other estimators are
        not changed.

        Parameters
        ----------
        *others : estimators of this class
            Fitted. This one may be unfitted.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            The estimators differ in method, parameters (the message names them), features or kind
            of state.

        See Also
        --------
        partial_fit : Update with more samples.
        narrows.ClassStats : The states that are added.
        """
        return merge_into(self, others, self._summed)

    def _summed(self, states: list[Any]) -> Any:
        """Return the sum of states, as one that shares nothing with them."""
        return type(states[0]).summed(states)

    def _empty_state(self, n_features: int) -> ClassStats:
        """Return an empty state of the kind that `fit_stats` expects."""
        return ClassStats(
            n_features, second=self._second(), presence=self._presence, folds=self._folds()
        )

    def _state_from(self, arrays: dict[str, np.ndarray]) -> ClassStats:
        """Return the state that gave these arrays; it has to count what this method counts."""
        state = ClassStats.from_arrays(arrays)
        if state.presence != self._presence:
            raise SchemaError(f"presence: expected {self._presence}, got {state.presence}.")
        return state

    # -- reading --------------------------------------------------------------------------------

    @property
    def stats_(self) -> ClassStats:
        """The state, a `ClassStats`, that determines all attributes; copy it before changing it."""
        return self._state

    @property
    def _solution(self) -> Any:
        if self._waits(self._state):
            raise NotFittedError(
                f"{type(self).__name__}: expected {np.size(self.priors)} classes, one for each of "
                f"the priors, got {len(self.classes_)} so far. Continue with partial_fit."
            )
        return super()._solution

    # -- inside ---------------------------------------------------------------------------------

    def _priors(self) -> Any:
        """The parameter `priors`, which not all methods have."""
        return getattr(self, "priors", "empirical")

    def _lacks_classes(self, stats: ClassStats) -> bool:
        """Whether there are priors for more classes than were seen so far."""
        priors = self._priors()
        in_order = not isinstance(priors, str) and by_class(priors) is None
        return in_order and bool(np.size(priors) > (stats.counts > 0).sum())

    def _waits(self, stats: ClassStats) -> bool:
        """Whether there is no solution before more classes are seen."""
        return self._lacks_classes(stats)

    def _sums_show_nan(self, X: Any, y: Any, sample_weight: Any) -> bool:
        """Whether the sums show NaN and infinity, so that X need not be read for them before."""
        if sparse.issparse(X):
            return not self._presence and self.half_life is None
        every_row = getattr(y, "ndim", 0) == 1 and sample_weight is None and self.half_life is None
        return every_row and not self._presence and are_many(X)

    def _second(self) -> Second:
        """Return which second moments the state has to hold."""
        return None

    def _folds(self) -> int | None:
        """Return how many folds the state has to have, for parameters that are "cv"."""
        return None

    @abstractmethod
    def _check_solution(self, solution: Any, stats: ClassStats) -> None:
        """Raise in `fit` where the solution is not the one asked for; a stream waits instead."""

    def _check_parameters(self, n_features: int) -> None:
        priors = self._priors()
        if isinstance(priors, str):
            with errors_named_after(self):
                check_word(priors)
        check_half_life(type(self).__name__, self.half_life)

    def _finish(self, stats: ClassStats) -> Self:
        self._check_two_classes(stats)
        stats.priors(self._priors())  # a stream waits for classes; here no more will come
        self._fitted = Fitted(stats)
        self._check_solution(self._solution, stats)
        return self

    def _learn_all(self, X: Any, y: Any, sample_weight: Any) -> ClassStats:
        """Return the state that `fit` solves for."""
        late = self._sums_show_nan(X, y, sample_weight)
        return self._add(None, X, y, sample_weight, late, again=True, reset=True)

    def _add(
        self,
        stats: ClassStats | None,
        X: Any,
        y: Any,
        weight: Any,
        late: bool,
        again: bool = False,
        **checks: Any,
    ) -> ClassStats:
        """Check samples, and return a state with them, which is a new one if None.

        With `late`, NaN and infinity are found in the sums, so that X is read only once. With
        `again`, these are all samples, and can be read again.
        """
        finite = {"ensure_all_finite": False} if late else {}
        X = self._check_X(X, **checks, **finite)
        self._check_parameters(X.shape[1])
        try:
            if stats is None:
                stats = self._first_state(X.shape[1]) if again else self._empty_state(X.shape[1])
            return self._learned(stats, X, y, weight)
        except RangeError:
            if late:
                self._check_X(X, **checks)  # names what is not finite, unless it is the sum
            raise

    def _check_starts(self) -> None:
        """Raise ParameterError where the first samples cannot be learned by `partial_fit`."""

    def _first_state(self, n_features: int) -> Any:
        """Return an empty state for a first pass over all samples."""
        return self._empty_state(n_features)

    def _learned(self, state: ClassStats, X: Any, y: Any, sample_weight: Any) -> ClassStats:
        """Return a state with more samples, the same or another one."""
        return self._update_state(state, X, y, sample_weight, check_input=False)

    def _update_state(
        self, state: ClassStats, X: Any, y: Any, sample_weight: Any = None, **options: Any
    ) -> ClassStats:
        """Add samples to a state, as `ClassStats.update` does.

        Where labels are not used, y may be None; all samples are then of the one class 0. With a
        `half_life` the state decays first, and older samples weigh less than newer ones.
        """
        with errors_named_after(self):
            y = self._labels(X, y)
            if self.half_life is None:
                return state.update(X, y, sample_weight, **options)
            return self._decayed(state, checked_rows(X, type(self).__name__), y, sample_weight)

    def _decayed(self, state: ClassStats, X: Any, y: Any, sample_weight: Any) -> ClassStats:
        """Let a state decay by these samples, and add them, the newest with the weight 1."""
        age = np.arange(X.shape[0])[::-1]
        half_life = max(float(self.half_life or 0.0), _SHORTEST)
        weight, unit = 0.5 ** (age / half_life), 1.0
        if sample_weight is not None:
            given = weights(sample_weight, len(weight), type(self).__name__)
            unit = 2.0 ** np.frexp(given.max(initial=0.0))[1]
            weight = weight * (given / unit)
        weight[weight < SMALLEST_WEIGHT] = 0.0  # nothing beside the newest samples
        fresh = state.emptied().update(X, y, weight, check_input=False)
        return state.fade(0.5 ** (len(age) / half_life), fresh if unit == 1 else fresh * unit)

    def _check_kind(self, stats: ClassStats) -> None:
        name = type(self).__name__
        if not isinstance(stats, ClassStats):
            raise TypeError(
                f"{name}: expected a ClassStats for fit_stats, got {type(stats).__name__}. "
                "Use fit for samples."
            )
        second = self._second()
        if stats.presence != self._presence or not stats.has(second):
            raise ValueError(
                f"{name}: expected a state with second={second!r} and presence={self._presence}, "
                f"got one with second={stats.second!r} and presence={stats.presence}. "
                f"Make it with ClassStats.of(X, y, second={second!r}, presence={self._presence})."
            )
