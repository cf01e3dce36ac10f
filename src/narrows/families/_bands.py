"""Projectors that learn wide sparse samples in two passes: the map of bands, and what it gives."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar, Self

from scipy import sparse
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from narrows.families._additive import Additive
from narrows.families._atomic import lock_of
from narrows.families._base import Fitted
from narrows.families._cross import CrossProjector
from narrows.families._errors import errors_named_after
from narrows.families._parameters import (
    check,
    check_parts,
    check_whole,
    check_word,
    is_integer,
    same,
)
from narrows.families._solved import Solved
from narrows.moments.bands import Bands
from narrows.moments.cross import MOST
from narrows.moments.mapped import Mapped
from narrows.moments.stats import ClassStats
from narrows.solve.errors import ParameterError


def _takes_stats(estimator: Any) -> bool:
    return estimator.solver != "bands" and bool(estimator._adds_up())


class InBands(CrossProjector):
    """A projector that has, beside its other solvers, one in bands: `moments.bands.Bands`.

    The first pass over the samples sums what the map is made of, and the second one the products
    of coordinates. The map then stays as it is.
    """

    _state_type = (ClassStats, Solved, Mapped)
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

    def emptied(self) -> Self:
        """Return a copy that has learned no samples, with the same map of bands.

        Estimators with one map can be merged: fit one, let emptied copies of it learn other
        samples by `partial_fit`, and merge all of them.

        Returns
        -------
        estimator : estimator of this class

        Raises
        ------
        NotFittedError
            The estimator is not fitted.
        ParameterError
            The estimator was not fitted in bands.

        See Also
        --------
        merge : Add the samples of other estimators.

        Notes
        -----
        **Cost**: O(1), since the map is shared. docs/srda.md has an example.
        """
        check_is_fitted(self)
        if not isinstance(self._state, Mapped):
            raise ParameterError(
                f"{type(self).__name__}: expected a model that was fitted in bands, got another, "
                "which has no map. Use sklearn.base.clone."
            )
        new = clone(self)
        with lock_of(self):
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(self, name):
                    setattr(new, name, deepcopy(getattr(self, name)))
            new._fitted = Fitted(self._state.emptied(), self._source)
        return new

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

    def _state_from(self, arrays: dict[str, Any]) -> Any:
        return Mapped.from_arrays(arrays) if "map_band" in arrays else super()._state_from(arrays)

    def _is_finished(self, state: Any) -> bool:
        return super()._is_finished(state) and not _is_first(state)

    def _is_of_pass(self, state: Any, number: int) -> bool:
        if number:
            return isinstance(state, Mapped)
        return isinstance(state, ClassStats) and (self.solver != "bands" or _is_first(state))

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

    def _next_pass(self, state: Any) -> Any:
        if not _is_first(state):
            return None
        with errors_named_after(self):
            self._check_two_classes(state)
            return Mapped.empty(Bands.of(state, self.head, self.bands), self._kept)

    # -- learning -------------------------------------------------------------------------------

    def _summed(self, states: list[Any]) -> Any:
        if len({isinstance(state, Mapped) for state in states}) > 1:
            raise ValueError(
                f"{type(self).__name__}: expected estimators that were all fitted in bands, or "
                "none of them, got both. Fit one, and let emptied() copies of it learn the other "
                "samples."
            )
        return super()._summed(states)

    def _add(self, stats: Any, X: Any, y: Any, weight: Any, late: bool, **checks: Any) -> Any:
        new = super()._add(stats, X, y, weight, late, **checks)
        second = self._next_pass(new) if stats is None else None
        return new if second is None else self._update_state(second, X, y, weight)

    def _fit_wide_parts(self, parts: Any, n_features: int) -> Self:
        if self.solver != "bands" and (self.solver != "auto" or not parts.are_sparse()):
            return super()._fit_wide_parts(parts, n_features)
        check_parts(type(self).__name__, self.half_life)
        with errors_named_after(self):
            first = parts.sum(self, ClassStats(0, second="total"))
            second = self._next_pass(first)
            del first
            second.stats = parts.sum(self, second)
        return self._fit_state(second)

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        name = type(self).__name__
        check_word(name, "solver", self.solver, self._solvers)
        check_whole(name, "head", self.head)
        valid = same(self.bands, "auto") or is_integer(self.bands, 0)
        check(name, "bands", self.bands, valid, '"auto" or an integer >= 0')


def _is_first(state: Any) -> bool:
    """Whether a state is that of the first pass."""
    return isinstance(state, ClassStats) and state.second == "total"
