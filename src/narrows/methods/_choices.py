"""Projectors with parameters that are chosen by held-out samples: those that are "cv"."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from narrows.errors import ParameterError
from narrows.methods._base import read_only
from narrows.methods._cross import CrossProjector
from narrows.methods._discriminant import Discriminant
from narrows.methods._folds import is_cv
from narrows.methods._project import Directions, RankedProjector
from narrows.methods._solved import Found, ridge_curve
from narrows.state.cross import MOST
from narrows.solve.components import by_components, curve_of
from narrows.solve.held_out import NO_CURVE, HeldOutCurve
from narrows.solve.ridge import Curve, choose, chosen
from narrows.solve.scatter import Scatter

COMPARED = 1000  # kept samples that numbers such as ridges are compared by
KEPT = 2000  # samples


class HeldOutProjector(RankedProjector):
    """A projector for which n_components may be "cv".

    On a stream all directions are used while there is nothing to choose by.
    """

    _chooses_components = True

    @property
    def held_out_scores_(self) -> np.ndarray:
        """With ``n_components="cv"``, the held-out score of the first p directions; else empty.

        Entry p - 1 is for p directions.
        """
        return read_only(self._held_out.scores)

    @property
    def held_out_errors_(self) -> np.ndarray:
        """The standard errors of `held_out_scores_`."""
        return read_only(self._held_out.errors)

    @property
    def _held_out(self) -> HeldOutCurve:
        curve: HeldOutCurve = self._solution.held_out
        return curve


class ByHeldOut(CrossProjector):
    """A projector with parameters that samples of a state of cross products choose."""

    _choices: ClassVar[tuple[str, ...]]  # the names of these parameters
    _summing: ClassVar[tuple[str, ...]]  # the solvers that sum, but for "auto"

    def _check_sums(self) -> None:
        solver = getattr(self, "solver", "auto")
        for what in self._choices:
            if is_cv(getattr(self, what)):
                self._refuse_choice(what, solver)

    def _refuse_choice(self, what: str, solver: str) -> None:
        """Raise ParameterError, since nothing is summed with this solver or so many features."""
        solvers = " or ".join(f'"{name}"' for name in self._summing)
        other = "a number or None" if what == "n_components" else "a number"
        if solver not in ("auto", *self._summing):
            raise ParameterError(
                f'{type(self).__name__}: expected solver={solvers} for {what}="cv", which needs '
                f'held-out samples, got "{solver}". Use another solver, or set {what} to {other}.'
            )
        instead = 'Use solver="bands", or set' if "bands" in self._summing else "Set"
        raise ParameterError(
            f'{type(self).__name__}: expected at most {MOST:,} features for {what}="cv", which '
            f"needs held-out samples, got more. {instead} {what} to {other}."
        )

    def _check_kept(self, stats: Any, what: str) -> None:
        """Raise ParameterError unless a state has kept samples."""
        if not getattr(stats, "stats", stats).kept:
            raise ParameterError(
                f'{type(self).__name__}: expected a state with kept samples for {what}="cv", got '
                f'one without. Fit again with {what}="cv", or use ClassStats.of(X, y, '
                f'second="cross", kept={KEPT}) for fit_stats.'
            )

    def _compared(
        self, compare: Callable[..., Curve], stats: Any, S: Scatter, near: float
    ) -> tuple[float, Curve | None]:
        """Return the number that held-out samples choose, and how; `near` if there are none.

        `compare` returns how well they are predicted with several numbers, about `near`.
        """
        counts = stats.counts[stats.counts > 0]
        held = stats.held_out(S, COMPARED) if near and len(counts) > 1 else []
        if not held:
            return near, None
        result = compare(S, counts, held, near)
        return chosen(result, near), result

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if getattr(self, "solver", "auto") not in ("auto", *self._summing):
            self._check_sums()

    def _curve(self) -> Curve:
        return ridge_curve(self._solution)


class HeldOutDiscriminant(HeldOutProjector, ByHeldOut, Discriminant):
    """A discriminant whose ridge and number of components held-out samples may choose."""

    @abstractmethod
    def _chooses_ridge(self, stats: Any) -> bool:
        """Whether held-out samples choose the ridge for a state."""

    def _solve_sums(self, stats: Any, S: Scatter, alpha: float) -> Found:
        curve, each = None, None
        if self._chooses_ridge(stats):
            alpha, curve = self._compared(choose, stats, S, alpha)
        if is_cv(self.n_components):
            self._check_kept(stats, "n_components")
            counts = stats.counts[stats.counts > 0]
            if len(counts) > 1 and S.C.size:  # else there are no directions
                each = by_components(S, counts, stats.held_out(S), alpha)
        found = super()._solve_sums(stats, S, alpha)  # may change S
        found.curve = curve
        sizes = NO_CURVE if each is None else curve_of(*each, found.available)
        return found.first(sizes.smallest(), sizes) if len(sizes.scores) else found

    def _check_solution(self, solution: Directions, stats: Any) -> None:
        super()._check_solution(solution, stats)
        if is_cv(self.n_components) and not len(solution.held_out.scores):
            raise ValueError(
                f"{type(self).__name__}: expected a class with two samples at least for "
                'n_components="cv", got one sample of each class. Use a number or None.'
            )
