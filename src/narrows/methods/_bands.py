"""Projectors that learn wide sparse samples in two passes: the map of bands, and what it gives."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from scipy import sparse
from sklearn.utils.metaestimators import available_if

from narrows.errors import ParameterError
from narrows.methods._additive import Additive
from narrows.methods._parameters import (
    check,
    check_whole,
    check_word,
    is_integer,
    same,
)
from narrows.methods._passes import InPasses
from narrows.state.bands import Bands
from narrows.state.cross import MOST
from narrows.state.mapped import Mapped
from narrows.state.stats import ClassStats


def _takes_stats(estimator: Any) -> bool:
    return estimator.solver != "bands" and bool(estimator._adds_up())


class InBands(InPasses):
    """A projector that has, beside its other solvers, one in bands: `moments.bands.Bands`."""

    _of_map = "was fitted in bands"
    _several_labels = True
    _solvers: ClassVar[tuple[str, ...]] = ("auto", "cross", "bands")
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

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        name = type(self).__name__
        check_word(name, "solver", self.solver, self._solvers)
        check_whole(name, "head", self.head)
        valid = same(self.bands, "auto") or is_integer(self.bands, 0)
        check(name, "bands", self.bands, valid, '"auto" or an integer >= 0')
