"""Projectors that need cross products of features: a state of them, or all samples at once."""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from functools import wraps
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from narrows.criteria import Criterion
from narrows.errors import ParameterError, RangeError, WidthError, warn
from narrows.methods.base import Additive, Estimator, Fitted, atomic, errors_named_after, lock_of
from narrows.methods.parameters import Constraint, Whole, Word, check_parts
from narrows.methods.projector import Directions, Found, Gathered, RankedProjector, Solved
from narrows.solve.eigen import set_signs
from narrows.solve.exact import LARGEST, Centred, criterion_eigh, occupied
from narrows.solve.scatter import Answer, Scatter, leading, rule
from narrows.solve.sums import HUGE, TINY
from narrows.state.bands import Bands
from narrows.state.class_stats import ClassStats, Second, checked_rows
from narrows.state.cross import MOST
from narrows.state.labels import is_matrix, one_a_row
from narrows.state.mapped import Mapped
from narrows.state.maps import Map


def _adds_up(estimator: Any) -> bool:
    return bool(estimator._adds_up())


class CrossProjector(RankedProjector, Additive):
    """Directions that are a function of the cross products of at most 8,192 features.

    With more features `fit` computes them from all samples at once, and nothing is added later.
    """

    _state_type: ClassVar[Any] = (ClassStats, Solved)
    _by_products: ClassVar[bool] = True  # whether `_from_samples` only needs products with X
    _several_labels: ClassVar[bool] = False  # whether a sample may have, where there is a state

    # -- learning -------------------------------------------------------------------------------

    @available_if(_adds_up)  # type: ignore[untyped-decorator]
    @atomic
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, classes: Any = None
    ) -> Self:
        """Update with more samples; the result is that of `fit` on all samples so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Any number of samples, also 0 or 1, of at most 8,192 features. This limit does not apply
            to estimators that were fitted in bands.
        y : array-like of shape (n_samples,)
            One label per sample; new classes may appear at any time. SRDA and MMC also accept a 0-1
            indicator matrix of shape (n_samples, n_classes).
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100.
        classes : array-like of shape (n_classes,), optional
            All labels that may occur. Never required, in contrast to scikit-learn; if given, other
            labels raise an error, and `classes_` of a classifier has all of them, with probability
            0 until they are seen.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            More than 8,192 features, NaN or infinity, another number of features, labels of another
            type or not among `classes`, or an estimator with ``solver="bands"`` before `fit`. The
            estimator is then unchanged.

        See Also
        --------
        fit : Fit to all samples at once.
        merge : Add the samples of other estimators.
        """
        if self.__sklearn_is_fitted__():
            self._check_adds_up(self._state)
        else:
            self._check_starts()
        super().partial_fit(X, y, sample_weight, classes=classes)
        self._check_adds_up(self._state)
        return self

    @available_if(_adds_up)  # type: ignore[untyped-decorator]
    @wraps(Additive.merge)
    def merge(self, *others: Self) -> Self:
        for each in (self, *others):
            if each.__sklearn_is_fitted__() and isinstance(each, CrossProjector):
                each._check_adds_up(each._state)
        return super().merge(*others)

    fit_stats = available_if(_adds_up)(Additive.fit_stats)

    def _why_not(self, name: str) -> str | None:
        if name in ("partial_fit", "merge", "fit_stats") and not _adds_up(self):
            return f"solver={getattr(self, 'solver', None)!r} needs all samples at once"
        return super()._why_not(name)

    def _adds_up(self) -> bool:
        """Whether there are sums to add to, for any number of features."""
        return self._has_sums(1)

    def _check_adds_up(self, state: Any) -> None:
        if isinstance(state, Solved | Gathered):
            self._refuse(state.n_features)

    def _widen(self, n_features: int) -> Self:
        if isinstance(self._state, ClassStats) and not self._has_sums(n_features):
            self._refuse(n_features)
        return super()._widen(n_features)

    def _refuse(self, n_features: int) -> NoReturn:
        if n_features > MOST:
            raise WidthError(
                f"{type(self).__name__}: expected at most {MOST:,} features for partial_fit and "
                f"merge, got {n_features:,}. Use {self._instead}.",
                n_features,
            )
        raise ParameterError(
            f"{type(self).__name__}: expected sums for partial_fit and merge, got a model that "
            "narrows 0.1 or another solver made of all samples at once. Call fit again."
        )

    def _check_sums(self) -> None:
        """Raise ParameterError where a parameter needs a state of sums."""

    @property
    def _kept(self) -> int:
        """How many samples a state keeps."""
        return 0

    def _second(self) -> Second:
        return "cross"

    def _has_sums(self, n_features: int) -> bool:
        """Whether `fit` computes a state, and not only directions."""
        return n_features <= MOST

    def _empty_state(self, n_features: int) -> Any:
        """Return an empty state: of sums, or one that gathers samples."""
        if not self._has_sums(n_features):
            self._check_sums()
            return Gathered(n_features)
        return ClassStats(n_features, second="cross", kept=self._kept)

    def _update_state(
        self, state: Any, X: Any, y: Any, sample_weight: Any = None, **options: Any
    ) -> Any:
        if not isinstance(state, Gathered):
            return super()._update_state(state, X, y, sample_weight, **options)
        name = type(self).__name__
        with errors_named_after(self):
            return state.update(checked_rows(X, name), self._labels(X, y), sample_weight, name)

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Any:
        """Return the state that gave these arrays."""
        return Solved.from_arrays(arrays) if "W" in arrays else super()._state_from(arrays)

    def _labels(self, X: Any, y: Any) -> Any:
        y = super()._labels(X, y)
        if is_matrix(y) and not self._several_labels:
            one_a_row(X, y, type(self).__name__)  # says why not
        return y

    def _sums_show_nan(self, X: Any, y: Any, sample_weight: Any) -> bool:
        shape: Any = getattr(X, "shape", ())
        narrow = len(shape) == 2 and self._has_sums(shape[1])
        return narrow and super()._sums_show_nan(X, y, sample_weight)

    def _fit_parts(self, parts: Any) -> Self:
        """Fit to the parts of a data set, by sums, or by products with samples that stay there."""
        n_features = parts.n_features()
        if self._has_sums(n_features):
            try:
                return super()._fit_parts(parts)
            except WidthError as error:  # later parts have more features
                n_features = error.n_features
                if self._has_sums(n_features):  # as solver="cross" asks for
                    raise
        return self._fit_wide_parts(parts, n_features)

    def _fit_wide_parts(self, parts: Any, n_features: int) -> Self:
        """Fit to the parts of a data set of more features than there are products for."""
        if not self._by_products:
            if n_features > MOST:
                self._refuse(n_features)
            return Estimator._fit_parts(self, parts)  # raises
        self._check_sums()
        return self._fit_rows(*parts.rows(self))

    @atomic
    def _fit_rows(self, A: Centred, stats: ClassStats) -> Self:
        self._check_parameters(stats.n_features)
        self._set_unnamed(stats.n_features)
        return self._complete(self._unsolved(stats.classes, stats.counts, stats.n_samples), A)

    def _finish(self, state: Any) -> Self:
        if not isinstance(state, Gathered):
            return super()._finish(state)
        X, codes, weight = state.samples()
        if self.half_life is not None:
            weight = weight * 0.5 ** (np.arange(len(codes))[::-1] / self.half_life)
        counts = np.bincount(codes, weight, len(state.classes))
        solved = self._unsolved(state.classes, counts, len(codes))
        if not weight.all():
            X, codes, weight = X[weight > 0], codes[weight > 0], weight[weight > 0]
        codes = (np.cumsum(counts > 0) - 1)[codes]
        columns, d = occupied(X), X.shape[1]
        A = Centred(X if columns is None else X[:, columns], codes, weight)
        try:
            self._complete(solved, A)
        except RangeError as error:
            if columns is not None and error.feature is not None:
                raise error.of_feature(int(columns[error.feature])) from None
            raise
        if columns is not None:
            narrow, solved.W = solved.W, np.zeros((d, solved.W.shape[1]))
            solved.W[columns] = narrow
        return self

    # -- solving --------------------------------------------------------------------------------

    @abstractmethod
    def _from_scatter(self, S: Scatter, alpha: float) -> Answer:
        """Return at least n_components directions, or all there are."""

    @abstractmethod
    def _from_samples(self, A: Centred, alpha: float) -> Answer:
        """Return the same from all samples, where `_has_sums` says no."""

    def _ridge(self, mean_square: float) -> float:
        """Return the ridge for samples of this mean squared length."""
        return 0.0

    def _total(self, of_found: float, mean_square: float) -> float:
        """Return the sum of all eigenvalues, from that of the directions that were found."""
        return of_found

    def _solve(self, state: Any) -> Directions:
        if isinstance(state, Solved):
            return self._of_solved(state)
        if self._lacks_classes(state) or not state.n:
            none = np.zeros((state.n_features, 0))
            return Found(none, np.zeros(0), available=0, size=self._size)
        mean_square = state.mean_square()
        found = self._solve_sums(state, state.scatters(), self._ridge(mean_square))
        found.total = self._total(found.total, mean_square)
        return found

    def _solve_sums(self, stats: ClassStats, S: Scatter, alpha: float) -> Found:
        """Return the solution for a state, with its scatters and a ridge."""
        answer, linear = self._from_scatter(S, alpha), None
        if answer.within is not None:
            counts = stats.counts[stats.counts > 0]
            coef, intercept = rule(answer, counts, stats.mean @ answer.W)
            linear = answer.W @ coef, intercept
        best = Found.best(answer.W, answer.eigenvalues, self._size)
        best.more, best.rule = answer.more, linear
        best.alpha = alpha if answer.alpha is None else answer.alpha
        return best

    def _of_solved(self, state: Solved) -> Directions:
        self._check_sums()
        found = len(state.eigenvalues)
        p = min(found, self._default(len(state.counts), found))
        p = p if self._size is None else self._size
        if p > found:
            raise ParameterError(
                f"{type(self).__name__}: expected n_components<={found}, the number that fit "
                f"computed, got {p}. Call fit again."
            )
        W = np.ascontiguousarray(state.W[:, :p]).view()
        W.flags.writeable = False  # it may be the state itself
        best = Found(W, state.eigenvalues[:p], found, more=state.more, alpha=state.alpha)
        best.total = self._total(float(state.eigenvalues.sum()), state.mean_square or 0.0)
        if state.coef is not None and state.intercept is not None:
            best.rule = state.W @ state.coef, state.intercept
        return best

    def _default(self, n_classes: int, rank: int) -> int:
        """Return the number of directions by default."""
        return n_classes - 1

    def _check_solution(self, solution: Directions, stats: Any) -> None:
        if not isinstance(stats, Solved):
            self._check_rank(solution.available, int((stats.counts > 0).sum()))

    def _unsolved(self, classes: np.ndarray, counts: np.ndarray, n_samples: int) -> Solved:
        """Return a state without directions yet, of the classes of positive weight."""
        live = counts > 0
        solved = Solved(classes[live], counts[live], n_samples)
        self._check_two_classes(solved)
        return solved

    def _complete(self, solved: Solved, A: Centred) -> Self:
        self._check_size(A)
        with np.errstate(over="ignore", invalid="ignore"):  # checked next
            mean_square = max(A.squares / A.n - A.m @ A.m, 0.0)
            mean_square = min(float(np.ldexp(mean_square, 2 * A.power)), HUGE)
            solved.mean_square, solved.alpha = mean_square, min(self._ridge(mean_square), HUGE)
            answer = self._from_samples(A, solved.alpha)
            W = answer.W * answer.unit
        solved.eigenvalues, solved.more = answer.eigenvalues, answer.more
        for what, values in (("eigenvalues", solved.eigenvalues), ("directions", W)):
            size = float(np.abs(values).max(initial=0.0))
            if not size <= HUGE or (A.power and size < TINY):
                raise RangeError(
                    f"samples whose {what} are between {TINY:.1e} and {HUGE:.1e}",
                    f"numbers up to {A.largest:.1e}",
                    A.largest_in(),
                )
        solved.W = set_signs(np.array(W, order="C"))
        signs = np.sign(np.einsum("dk,dk->k", solved.W, W))
        if answer.within is not None:
            coef, intercept = rule(answer, A.counts, A.mean @ answer.W)
            with np.errstate(over="ignore", invalid="ignore"):
                scale = np.ldexp(1 / answer.unit, -A.power)  # the samples are held in other units
                coef = signs[:, None] * coef * scale
            if np.isfinite(coef).all():
                solved.coef, solved.intercept = coef, intercept
        self._fitted = Fitted(solved)
        return self

    def _check_size(self, A: Centred) -> None:
        """Raise where squares of squares would overflow, which only samples in parts can do."""
        if A.largest and not A.power and not 1 / LARGEST < A.largest < LARGEST:
            raise RangeError(
                f"numbers of which the largest is between {1 / LARGEST:g} and {LARGEST:g}",
                f"{A.largest:.1e}",
                A.largest_in(),
            )


class CriterionCrossProjector(CrossProjector):
    """The leading eigenvectors of a criterion that has the covariance in it."""

    @abstractmethod
    def _criterion(self) -> Criterion:
        """Return the criterion to maximise."""

    @abstractmethod
    def _most(self, n_classes: int, rank: int) -> int:
        """Return how many directions to compute, if the samples span so many."""

    def _count(self, eigenvalues: np.ndarray) -> int:
        """Return `Found.more`."""
        return 0

    def _from_scatter(self, S: Scatter, alpha: float) -> Answer:
        criterion = self._criterion()
        L, W = leading(S, criterion.between, criterion.total, self._most(len(S.H), len(S.C)))
        return Answer(L, W, self._count(L))

    def _from_samples(self, A: Centred, alpha: float) -> Answer:
        criterion, p = self._criterion(), self._most(len(A.counts), min(A.shape))
        L, W, converged = criterion_eigh(A, criterion.between, criterion.total, p)
        L = np.ldexp(L, 2 * A.power)
        if not converged:
            warn(
                f"{type(self).__name__}: expected Lanczos to find all leading directions, got "
                "those from before it was stopped, and estimates. Standardise the features.",
                ConvergenceWarning,
            )
        self._check_found(len(L), self._count(L), len(A.counts))
        return Answer(L, W, self._count(L))

    def _check_solution(self, solution: Any, stats: Any) -> None:
        if not isinstance(stats, Solved):
            n_classes = int((stats.counts > 0).sum())
            self._check_found(solution.available, solution.more, n_classes)

    def _check_found(self, found: int, more: int, n_classes: int) -> None:
        """Raise where there are fewer directions than n_components."""
        name, p = type(self).__name__, self._size
        if not found:
            raise ValueError(
                f"{name}: expected samples that differ, got one sample or equal ones. Check X."
            )
        if p is not None and p > found:
            raise ParameterError(
                f"{name}: expected n_components<={found}, since the samples span only {found} "
                f"direction{'s' if found > 1 else ''}, got {p}."
            )


class InPasses(CrossProjector):
    """A projector that can go through the samples twice.

    The first pass sums what the map is made of, and the second one the products of coordinates.
    The map then stays as it is.
    """

    _state_type = (ClassStats, Solved, Mapped)
    _of_map: ClassVar[str]  # which models have a map

    @abstractmethod
    def _map_of(self, stats: Any) -> Map:
        """Return the map for the samples of a first pass."""

    def _is_first(self, state: Any) -> bool:
        """Whether a state is that of the first pass."""
        return isinstance(state, ClassStats) and state.second == "total"

    def emptied(self) -> Self:
        """Return a copy that has learned no samples, with the same map.

        Estimators with the same map can be merged: fit one, call `partial_fit` of emptied copies on
        the other samples, and merge all of them.

        Returns
        -------
        estimator : estimator of this class

        Raises
        ------
        NotFittedError
            The estimator is not fitted.
        ParameterError
            The estimator has no map.

        See Also
        --------
        merge : Add the samples of other estimators.

        Notes
        -----
        **Cost**: O(1), since the map is shared.
        """
        check_is_fitted(self)
        with lock_of(self):
            state = self._frozen()
            new = clone(self)
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(self, name):
                    setattr(new, name, deepcopy(getattr(self, name)))
            new._fitted = Fitted(state.emptied(), self._source)
        return new

    def _frozen(self) -> Mapped:
        """Return the state, with its map."""
        if not isinstance(self._state, Mapped):
            raise ParameterError(
                f"{type(self).__name__}: expected a model that {self._of_map}, got another, "
                "which has no map. Use sklearn.base.clone."
            )
        return self._state

    # -- states ---------------------------------------------------------------------------------

    def _state_from(self, arrays: dict[str, Any]) -> Any:
        return Mapped.from_arrays(arrays) if Mapped.is_in(arrays) else super()._state_from(arrays)

    def _is_finished(self, state: Any) -> bool:
        return super()._is_finished(state) and not self._is_first(state)

    def _next_pass(self, state: Any) -> Any:
        if not self._is_first(state):
            return None
        with errors_named_after(self):
            self._check_two_classes(state)
            return Mapped.empty(self._map_of(state), self._kept)

    # -- learning -------------------------------------------------------------------------------

    def _add(
        self,
        stats: Any,
        X: Any,
        y: Any,
        weight: Any,
        late: bool,
        again: bool = False,
        **checks: Any,
    ) -> Any:
        new = super()._add(stats, X, y, weight, late, again, **checks)
        second = self._next_pass(new) if again else None
        return new if second is None else self._update_state(second, X, y, weight)

    def _fit_in_passes(self, parts: Any) -> Self:
        """Fit to the parts of a data set, which are learned twice."""
        check_parts(type(self).__name__, self.half_life)
        with errors_named_after(self):
            first = parts.sum(self, ClassStats(0, second="total"))
            second = self._next_pass(first)
            del first
            second.stats = parts.sum(self, second)
        return self._fit_state(second)


def _takes_stats(estimator: Any) -> bool:
    return estimator.solver != "bands" and bool(estimator._adds_up())


class InBands(InPasses):
    """A projector that has, beside its other solvers, one in bands: `moments.bands.Bands`."""

    _of_map = "was fitted in bands"
    _several_labels = True
    _constraints: ClassVar[dict[str, Constraint]] = {
        "solver": Word("auto", "cross", "bands"),
        "head": Whole(1),
        "bands": Word("auto") | Whole(0),
    }
    solver: str
    head: int
    bands: Any

    fit_stats = available_if(_takes_stats)(Additive.fit_stats)

    def _why_not(self, name: str) -> str | None:
        if name == "fit_stats" and self.solver == "bands":
            return 'solver="bands" makes a state of its own. Use fit, or solver="cross".'
        return super()._why_not(name)

    # -- states ---------------------------------------------------------------------------------

    def _has_sums(self, n_features: int) -> bool:
        return self.solver == "cross" or (self.solver == "auto" and super()._has_sums(n_features))

    def _empty_state(self, n_features: int) -> Any:
        if self.solver == "bands":
            return ClassStats(n_features, second="total")
        return super()._empty_state(n_features)

    def _state_for(self, X: Any) -> Any:
        if self.solver == "auto" and sparse.issparse(X) and X.shape[1] > MOST:
            return ClassStats(X.shape[1], second="total")
        return super()._state_for(X)

    def _is_of_pass(self, state: Any, number: int) -> bool:
        if number:
            return isinstance(state, Mapped)
        return isinstance(state, ClassStats) and (self.solver != "bands" or self._is_first(state))

    def _adds_up(self) -> bool:
        return self.solver == "bands" or super()._adds_up()

    def _check_starts(self) -> None:
        if self.solver == "bands":
            raise ParameterError(
                f'{type(self).__name__}: expected fit before partial_fit for solver="bands", since '
                f"the map of bands needs all samples, got a new estimator. Use {self._instead}."
            )

    def _passes_in_order(self, narrow: bool = False) -> int:
        return 2 if self.solver == "bands" or (self.solver == "auto" and not narrow) else 1

    def _map_of(self, stats: Any) -> Bands:
        return Bands.of(stats, self.head, self.bands)

    # -- learning -------------------------------------------------------------------------------

    def _summed(self, states: list[Any]) -> Any:
        if len({isinstance(state, Mapped) for state in states}) > 1:
            raise ValueError(
                f"{type(self).__name__}: expected estimators that were all fitted in bands, or "
                "none of them, got both. Fit one, and let emptied() copies of it learn the other "
                "samples."
            )
        return super()._summed(states)

    def _fit_wide_parts(self, parts: Any, n_features: int) -> Self:
        if self.solver != "bands" and (self.solver != "auto" or not parts.are_sparse()):
            return super()._fit_wide_parts(parts, n_features)
        return self._fit_in_passes(parts)
