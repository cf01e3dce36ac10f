"""Estimators whose state adds up: fit, partial_fit, merge and fit_stats, written once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from narrows.families._base import (
    Estimator,
    Learnt,
    check_half_life,
    check_parts,
    merge_into,
    naming,
    take_state,
    whole,
)
from narrows.families._elsewhere import also_dask
from narrows.moments.labels import SMALLEST_WEIGHT, weights
from narrows.moments.priors import check_word
from narrows.moments.stats import ClassStats, Second, checked_rows
from narrows.solve.errors import RangeError
from narrows.solve.schema import SchemaError
from narrows.solve.sums import are_many

_SHORTEST = 1e-6  # rows: of a shorter half-life, too, nothing is left one row later


class Additive(Estimator):
    """An estimator whose answer is a function of a `ClassStats` and its parameters."""

    _state_type = ClassStats
    _presence: ClassVar[bool] = False
    half_life: float | None
    priors: Any

    # -- learning ---------------------------------------------------------------------------

    @also_dask
    @whole
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all rows at once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows; sparse matrices are never made dense.
        y : array-like of shape (n,), or {array, sparse matrix} of shape (n, c)
            Labels; or a 0-1 indicator matrix, where every (row, class) pair counts as a row.
            Only methods whose criterion knows no classes do without.
        sample_weight : array-like of shape (n,), optional
            Weights, 0 or from 1e-100 to 1e100; a weight of 2 is a row that came twice.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes of positive weight, all weights zero, NaN or infinity, or a
            parameter that does not fit the data. The estimator is then as it was before.
        """
        late = self._sums_tell(X, y, sample_weight)
        X = self._check_X(X, reset=True, **({"ensure_all_finite": False} if late else {}))
        self._check_parameters(X.shape[1])
        stats = self._empty_state(X.shape[1])
        try:
            self._update_state(stats, X, y, sample_weight, check_input=False)
        except RangeError:
            if late:
                self._check_X(X, reset=True)  # says what is not finite, if it is not the sum
            raise
        return self._finish(stats)

    @whole
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; the answer is that of `fit` on all rows so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Any number of rows, 0 and 1 too.
        y : array-like of shape (n,), or {array, sparse matrix} of shape (n, c)
            Labels as for `fit`; new classes may come at any time.
        sample_weight : array-like of shape (n,), optional
            Weights, 0 or from 1e-100 to 1e100.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            NaN or infinity, another number of columns, labels of another type. The estimator
            is then as it was before.
        """
        fitted = self.__sklearn_is_fitted__()
        late = sparse.issparse(X) and self._sums_tell(X, y, sample_weight)
        options = {"ensure_all_finite": False} if late else {}
        X = self._check_X(X, reset=not fitted, ensure_min_samples=0, **options)
        self._check_parameters(X.shape[1])
        if fitted:
            stats = self._learnt.state
        else:
            stats = self._empty_state(X.shape[1])
            self._learnt = Learnt(stats)
        self._learnt.solution = None  # first: an interrupt may come once the rows are counted
        try:
            self._update_state(stats, X, y, sample_weight, check_input=False)
        except RangeError:
            if late:
                self._check_X(X, reset=False)  # says what is not finite, if anything
            raise
        return self

    def fit_stats(self, stats: ClassStats) -> Self:
        """Learn from a state instead of rows: `fit` of the rows it was made of.

        Parameters
        ----------
        stats : ClassStats
            Of this method's kind (`empty_state` makes one); it is copied. One that also holds
            second moments will do.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            A state of another kind, or one that `fit` would refuse.
        """
        self._check_kind(stats)
        return self._fit_state(stats.reduced(self._second()))

    def _fit_state(self, state: ClassStats) -> Self:
        """Take a state of the very kind for what was learnt, as `fit_stats` does with a copy."""
        return take_state(self, state)

    def _fit_parts(self, parts: Any) -> Self:
        """Learn from the parts of a data set, wherever they are; their states add up."""
        check_parts(type(self).__name__, self.half_life)
        return self._fit_state(parts.sum(self))

    def _add_states(self, a: ClassStats, b: ClassStats) -> ClassStats:
        """Return the state of the rows of both, which are left as they are."""
        return a + b

    def merge(self, *others: Self) -> Self:
        """Add what other estimators of the same method and parameters have learnt, in place.

        The answer is that of one estimator that saw all their rows; with a `half_life`, of
        streams that ran side by side, of which none fades for the others' rows. Nothing is shared
        with the others afterwards. O(c d) for each.

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
            Another method, other parameters (named), columns or kind of state.
        """
        return merge_into(self, others, ClassStats.summed)

    def _empty_state(self, n_features: int) -> ClassStats:
        """Return a state of the kind that `fit_stats` wants, with nothing in it yet."""
        return ClassStats(n_features, second=self._second(), presence=self._presence)

    def _state_from(self, arrays: dict[str, np.ndarray]) -> ClassStats:
        """Return the state that gave these arrays; it has to count what this method counts."""
        state: ClassStats = super()._state_from(arrays)
        if state.presence != self._presence:
            raise SchemaError(f"presence: expected {self._presence}, got {state.presence}.")
        return state

    # -- reading ----------------------------------------------------------------------------

    @property
    def stats_(self) -> ClassStats:
        """The state, of which all answers are a function; to be read, and copied to be changed."""
        return self._state

    @property
    def _solution(self) -> Any:
        if self._waits(self._state):
            raise NotFittedError(
                f"{type(self).__name__}: priors are for {np.size(self.priors)} classes, of which "
                f"{len(self.classes_)} came so far. Go on with partial_fit."
            )
        return super()._solution

    # -- inside -----------------------------------------------------------------------------

    def _lacks_classes(self, stats: ClassStats) -> bool:
        """Whether priors are for more classes than were seen so far."""
        priors = self.get_params(deep=False).get("priors")
        return not isinstance(priors, str | None) and np.size(priors) > (stats.counts > 0).sum()

    def _waits(self, stats: ClassStats) -> bool:
        """Whether there is no answer before more classes come."""
        return self._lacks_classes(stats)

    def _sums_tell(self, X: Any, y: Any, sample_weight: Any) -> bool:
        """Whether NaN and infinity will be seen in what is added, so that rows are read once."""
        if sparse.issparse(X):
            return not self._presence and self.half_life is None
        every_row = getattr(y, "ndim", 0) == 1 and sample_weight is None and self.half_life is None
        return every_row and not self._presence and are_many(X)

    def _second(self) -> Second:
        """Which second moments the state has to hold."""
        return None

    @abstractmethod
    def _check_solution(self, solution: Any, stats: ClassStats) -> None:
        """Raise where the answer is not the one asked for: `fit` does, a stream waits."""

    def _check_parameters(self, n_features: int) -> None:
        priors = self.get_params(deep=False).get("priors")
        if isinstance(priors, str):
            check_word(priors)
        check_half_life(type(self).__name__, self.half_life)

    def _finish(self, stats: ClassStats) -> Self:
        if stats.n_samples and not stats.n:
            raise ValueError(
                f"{type(self).__name__}: every sample has zero weight, or no label. "
                "Some rows need a label and a positive sample_weight."
            )
        self._check_two_classes(stats)
        priors = self.get_params(deep=False).get("priors")
        if priors is not None:
            stats.priors(priors)  # on a stream they may wait for classes; here none will come
        self._learnt = Learnt(stats)
        self._check_solution(self._solution, stats)
        return self

    def _update_state(
        self, state: ClassStats, X: Any, y: Any, sample_weight: Any = None, **options: Any
    ) -> ClassStats:
        """Add rows to a state, as `ClassStats.update` does.

        Where labels play no part y may be None; all rows are then of the one class 0. With a
        `half_life` what was learnt before fades first, and the rows weigh less the older they are.
        """
        with naming(self):
            return self._add_rows(state, X, self._labels(X, y), sample_weight, **options)

    def _add_rows(
        self, state: ClassStats, X: Any, y: Any, sample_weight: Any, **options: Any
    ) -> ClassStats:
        if self.half_life is None:
            return state.update(X, y, sample_weight, **options)
        X = checked_rows(X, type(self).__name__)
        age = np.arange(X.shape[0])[::-1]
        half_life = max(float(self.half_life), _SHORTEST)
        weight, unit = 0.5 ** (age / half_life), 1.0
        if sample_weight is not None:
            given = weights(sample_weight, len(weight), type(self).__name__)
            unit = 2.0 ** np.frexp(given.max(initial=0.0))[1]
            weight = weight * (given / unit)
        weight[weight < SMALLEST_WEIGHT] = 0.0  # beside the newest rows nothing
        fresh = self._empty_state(state.n_features).update(X, y, weight, check_input=False)
        return state.fade(0.5 ** (len(age) / half_life), fresh if unit == 1 else fresh * unit)

    def _check_kind(self, stats: ClassStats) -> None:
        name = type(self).__name__
        if not isinstance(stats, ClassStats):
            raise TypeError(
                f"{name}: fit_stats wants a ClassStats, but {type(stats).__name__} came. "
                "Use fit for rows."
            )
        second, kinds = self._second(), (None, "total", "class")
        if stats.presence != self._presence or kinds.index(stats.second) < kinds.index(second):
            raise ValueError(
                f"{name}: a state with second={second!r} and presence={self._presence} "
                f"wanted, but second={stats.second!r} and presence={stats.presence} came. "
                f"Make it with ClassStats.of(X, y, second={second!r}, "
                f"presence={self._presence})."
            )
