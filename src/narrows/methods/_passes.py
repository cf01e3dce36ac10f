"""Projectors that learn samples behind a map, which a first pass over them makes."""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from typing import Any, ClassVar, Self

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError
from narrows.methods._atomic import lock_of
from narrows.methods._base import Fitted
from narrows.methods._cross import CrossProjector
from narrows.methods._errors import errors_named_after
from narrows.methods._parameters import check_parts
from narrows.methods._solved import Solved
from narrows.state.mapped import Mapped
from narrows.state.maps import Map
from narrows.state.stats import ClassStats


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
