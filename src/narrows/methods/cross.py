"""Projectors that need cross products of features: sums of them, or all samples at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from narrows.criteria import Criterion
from narrows.errors import ParameterError, warn
from narrows.methods.base import Additive, lock_of
from narrows.methods.parameters import KEPT, check_keep, is_cv
from narrows.methods.projector import EIGENVALUES, Directions, Found, Projector
from narrows.methods.routes import Data, Solved, Sums, can_add, route_of
from narrows.methods.standardize import unit_of
from narrows.solve.codec import from_arrays
from narrows.solve.exact import Centred, criterion_eigh
from narrows.solve.held_out import GRID, NO_CURVE, Curve, by_components, chosen, curve_of
from narrows.solve.products import SMALL, one_blas_thread
from narrows.solve.scatter import Answer, Scatter, leading, lengths, rule
from narrows.state.arrays import read_only
from narrows.state.class_stats import ClassStats, Second
from narrows.state.cross import MOST
from narrows.state.labels import is_matrix, one_a_row
from narrows.state.mapped import Mapped

COMPARED = 1000  # kept samples that numbers such as ridges are compared by


class Choice(NamedTuple):
    """A parameter that kept samples choose where it is "cv": the ridge, or what is in its place.

    Its numbers are those of a grid, times the given one; see `chosen` for `by`.
    """

    parameter: str
    grid: np.ndarray = GRID
    by: Callable[..., Any] | None = None
    required: bool = True  # whether there has to be something to choose by
    may_regress: bool = True  # whether to compare with outputs of regressions

    def of(
        self, stats: Any, S: Scatter, near: float, decays: bool
    ) -> tuple[float, Curve | None, bool]:
        """Return what `chosen` does; `near` if no samples were kept.

        A ridge is added to weighted sums. Where all weights are below 1, and not since they decay,
        it is in the unit of the largest.
        """
        counts = stats.counts[stats.counts > 0]
        held = stats.held_out(S, COMPARED) if near and len(counts) > 1 else []
        if not held:
            return near, None, False
        if self.by is None and not decays:
            near *= min(1.0, np.concatenate([part.weight for part in held]).max())
        return chosen(S, counts, held, near * self.grid, near, self.by, self.may_regress)


class CrossProjector(Projector, Additive):
    """Directions that are a function of the cross products of at most 8,192 features.

    With more features `fit` computes them from all samples at once, and nothing is added later.
    """

    _state_type: ClassVar[Any] = (ClassStats, Solved)
    _only_route: ClassVar[Any] = None
    _several_labels: ClassVar[bool] = False  # whether a sample may have, where there is a state
    _choice: ClassVar[Choice | None] = None
    # returns what `_from_scatter` does, from all samples; of methods that can be `AllAtOnce`
    _from_samples: ClassVar[Callable[[Any, Centred, float], Answer]]
    _summing: ClassVar[str] = "cross"  # the solver that sums, but for "auto"
    _kept: Any = 0  # how many samples a state keeps
    eigenvalues_ = EIGENVALUES

    def _why_not(self, name: str) -> str | None:
        if name in ("partial_fit", "merge", "fit_stats") and not can_add(self):
            return f"solver={getattr(self, 'solver', None)!r} needs all samples at once"
        return super()._why_not(name)

    # -- states ---------------------------------------------------------------------------------

    def _second(self) -> Second:
        return "cross"

    def _empty_state(self, n_features: int) -> Any:
        return ClassStats(n_features, second="cross", kept=self._kept)

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Any:
        """Return the state that gave these arrays."""
        return from_arrays(Solved, arrays) if "W" in arrays else super()._state_from(arrays)

    def _labels(self, X: Any, y: Any) -> Any:
        y = super()._labels(X, y)
        if is_matrix(y) and not self._several_labels:
            one_a_row(X, y, type(self).__name__)  # says why not
        return y

    def _sums_show_nan(self, X: Any, y: Any, sample_weight: Any) -> bool:
        shape: Any = getattr(X, "shape", ())
        if len(shape) != 2 or shape[1] > MOST:
            return False
        by_sums = isinstance(route_of(self, Data(shape[1], False), "memory"), Sums)
        return by_sums and super()._sums_show_nan(X, y, sample_weight)

    # -- choices by held-out samples ------------------------------------------------------------

    @property
    def _chosen(self) -> list[str]:
        """The names of the parameters that held-out samples choose."""
        names = ["n_components"] + (
            [self._choice.parameter] if self._choice and self._choice.required else []
        )
        return [name for name in names if is_cv(getattr(self, name))]

    def _check_no_choice(self) -> None:
        """Raise ParameterError where held-out samples choose, which only sums have."""
        solver = getattr(self, "solver", "auto")
        for what in self._chosen:
            other = "a number or None" if what == "n_components" else "a number"
            if solver not in ("auto", self._summing):
                raise ParameterError(
                    f'{type(self).__name__}: expected solver="{self._summing}" for {what}="cv", '
                    f'which needs held-out samples, got "{solver}". Use another solver, or set '
                    f"{what} to {other}."
                )
            raise ParameterError(
                f'{type(self).__name__}: expected at most {MOST:,} features for {what}="cv", which '
                f"needs held-out samples, got more. Set {what} to {other}."
            )

    def _check_kept(self, stats: Any, what: str) -> None:
        """Raise ParameterError unless a state has kept samples."""
        if not getattr(stats, "stats", stats).kept:
            raise ParameterError(
                f'{type(self).__name__}: expected a state with kept samples for {what}="cv", got '
                f'one without. Fit again with {what}="cv", or use ClassStats.of(X, y, '
                f'second="cross", kept={KEPT}) for fit_stats.'
            )

    def _check_together(self, n_features: int) -> None:
        super()._check_together(n_features)
        check_keep(self, "n_components", "alpha", "mu", "eps")
        if getattr(self, "solver", "auto") not in ("auto", self._summing):
            self._check_no_choice()

    # -- solving --------------------------------------------------------------------------------

    @abstractmethod
    def _from_scatter(self, S: Scatter, alpha: float) -> Answer:
        """Return at least n_components directions, or all there are."""

    def _ridge(self, mean_square: float) -> float:
        """Return the ridge for samples of this mean squared length."""
        value = getattr(self, self._choice.parameter) if self._choice else 0.0
        return mean_square if isinstance(value, str) else float(value)

    def _total(self, of_found: float, mean_square: float) -> float:
        """Return the sum of all eigenvalues, from that of the directions that were found."""
        return of_found

    def _solve(self, state: Any) -> Directions:
        if isinstance(state, Solved):
            return self._of_solved(state)
        if not state.n or self._lacks_classes(state):
            return Found.best(np.zeros((state.n_features, 0)), np.zeros(0), self._size)
        state = self._shown(self._mapped(state))
        with one_blas_thread(min(state.n_features, state.n_samples) <= SMALL):
            S, mean_square = self._scatters(state)
            regresses = isinstance(state, Mapped) and state.n_features > state.n_samples
            found = self._solve_sums(state, S, self._ridge(mean_square), regresses)
        found.total = self._total(found.total, mean_square)
        return found

    def _mapped(self, state: Any) -> Any:
        """Return the state to solve for, behind the map of the method if it has one."""
        return state

    def _scatters(self, state: Any) -> tuple[Scatter, float]:
        """Return the scatters of a state, and the mean squared length, in units to solve in."""
        unit = unit_of(self, state)
        if unit is None:
            return state.scatters(), state.mean_square()
        return state.scatters(unit=unit), state.mean_square(unit)

    def _solve_sums(self, stats: Any, S: Scatter, alpha: float, regresses: bool = False) -> Found:
        """Return the solution for a state, with its scatters and a ridge, or where to look.

        It predicts by regressions if `regresses`, or if held-out samples choose both.
        """
        for what in self._chosen:
            self._check_kept(stats, what)
        curve, each, counts = None, None, stats.counts[stats.counts > 0]
        choice = self._choice
        value = getattr(self, choice.parameter) if choice else None
        if choice and isinstance(value, str) and value in ("auto", "cv"):
            alpha, curve, regresses = choice.of(stats, S, alpha, self.half_life is not None)
        # else there are no directions
        if is_cv(self.n_components) and len(counts) > 1 and S.C.size:
            each = by_components(S, counts, stats.held_out(S), alpha)
        found = self._of_ridge(stats, S, alpha, regresses)  # may change S
        found.curve = found.curve if curve is None else curve
        sizes = NO_CURVE if each is None else curve_of(*each, found.available)
        return found.first(sizes.smallest(), sizes) if len(sizes.scores) else found

    def _of_ridge(self, stats: Any, S: Scatter, alpha: float, regresses: bool) -> Found:
        """Return the solution for a state, with its scatters and a ridge."""
        answer, linear = self._from_scatter(S, alpha).of_features(S.unit), None
        W = answer.W
        if answer.within is not None:
            counts = stats.counts[stats.counts > 0]
            coef, intercept = rule(answer, counts, stats.mean @ W, regresses)
            linear, W = (W @ coef, intercept), W * lengths(answer, S.n)
        best = Found.best(W, answer.eigenvalues, self._size, answer.separating, S.unit)
        best.more, best.rule, best.regresses = answer.more, linear, regresses
        best.alpha = alpha if answer.alpha is None else answer.alpha
        return best

    def _of_solved(self, state: Solved) -> Directions:
        self._check_no_choice()
        self._check_as_fitted()
        found = len(state.eigenvalues)
        p = min(found, self._default(len(state.counts), found))
        p = p if self._size is None else self._size
        if p > found:
            raise ParameterError(
                f"{type(self).__name__}: expected n_components<={found}, the number that fit "
                f"computed, got {p}. Call fit again."
            )
        W = read_only(np.ascontiguousarray(state.W[:, :p]))  # it may be the state itself
        best = Found(W, state.eigenvalues[:p], found, more=state.more, alpha=state.alpha)
        best.separating, L = state.separating, state.eigenvalues[: state.separating]
        best.total = self._total(float(L.sum()), state.mean_square or 0.0)
        if state.coef is not None and state.intercept is not None:
            best.rule = state.W @ state.coef, state.intercept
        return best

    def _default(self, n_classes: int, rank: int) -> int:
        """Return the number of directions by default."""
        return n_classes - 1

    def _check_solution(self, solution: Directions, stats: Any) -> None:
        if isinstance(stats, Solved):
            return
        self._check_rank(solution.available, int((stats.counts > 0).sum()))
        if is_cv(self.n_components) and not len(solution.held_out.scores):
            raise ValueError(
                f"{type(self).__name__}: expected a class with two samples at least for "
                'n_components="cv", got one sample of each class. Use a number or None.'
            )


def emptied(self: Any) -> Any:
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
        self._frozen()
        return self._emptied()


class CriterionCrossProjector(CrossProjector):
    """The leading eigenvectors of a criterion that has the covariance in it."""

    @abstractmethod
    def _criterion(self, alpha: float) -> Criterion:
        """Return the criterion to maximise, with the number that was given or chosen."""

    @abstractmethod
    def _most(self, n_classes: int, rank: int) -> int:
        """Return how many directions to compute, if the samples span so many."""

    def _count(self, eigenvalues: np.ndarray) -> int:
        """Return `Found.more`."""
        return 0

    def _from_scatter(self, S: Scatter, alpha: float) -> Answer:
        criterion = self._criterion(alpha)
        L, W = leading(S, criterion.between, criterion.total, self._most(len(S.H), len(S.C)))
        return Answer(L, W, self._count(L))

    def _from_samples(self, A: Centred, alpha: float) -> Answer:
        criterion, p = self._criterion(alpha), self._most(len(A.counts), min(A.shape))
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
