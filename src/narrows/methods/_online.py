"""Projectors that take one step of an iteration per sample, by `narrows.solve.span`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from narrows.criteria import Criterion
from narrows.errors import ParameterError
from narrows.methods._atomic import atomic
from narrows.methods._engines import accepts_collections
from narrows.methods._parameters import check, check_flags, check_whole, is_number
from narrows.methods._project import Directions, RankedProjector
from narrows.methods._sequential import Sequential
from narrows.methods._streams import Stream
from narrows.solve.eigen import set_signs
from narrows.solve.schema import SchemaError
from narrows.solve.span import Span
from narrows.solve.span_rules import Rule, Start


class OnlineProjector(RankedProjector, Sequential):
    """One step of an iteration per sample. Subclasses give `_criterion`.

    The iterates are those of the papers' tables, in the order of the samples, and do not depend
    on the batches.
    """

    _state_type = Stream
    _by_class: ClassVar[bool] = True  # False for a criterion that uses no classes
    _start: ClassVar[Start] = "centred"

    def __init__(
        self,
        n_components: int | None = 2,
        tol: float | None = None,
        patience: int = 100,
        early_stopping: bool = False,
        orthonormalize: bool = False,
        passes: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.tol = tol
        self.patience = patience
        self.early_stopping = early_stopping
        self.orthonormalize = orthonormalize
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    # -- fitting --------------------------------------------------------------------------------

    @accepts_collections
    @atomic
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the samples, one at a time: `passes` times, in their order or shuffled.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; sparse matrices are never converted to dense arrays.
        y : array-like of shape (n_samples,)
            One label per sample. Optional only for methods that use no labels.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes, several labels per sample, NaN or infinity, or a parameter that
            does not fit the data. The estimator is then unchanged.

        See Also
        --------
        partial_fit : Update with more samples, in a single pass.
        """
        return self._fit(X, y, passes=self.passes, shuffle=self.shuffle)

    @atomic
    def transform_while_learning(self, X: Any, y: Any = None) -> Any:
        """Update as `partial_fit` does, and reduce each sample by the directions after it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As for `partial_fit`.
        y : array-like of shape (n_samples,)
            As for `partial_fit`.

        Returns
        -------
        X_r : ndarray of shape (n_samples, n_components)
            Row i is W(i)'x(i), with the columns `v_j(i) / |v_j(i)|` of W(i) after sample i, and 0
            for a component that has not started. Signs are those of the iteration, which are stable
            from sample to sample; `components_` and `transform` normalise the signs.

        See Also
        --------
        partial_fit : Update without reducing.
        transform : Reduce without updating.

        Notes
        -----
        **Cost** per sample: that of `partial_fit` and O(p (p + c)), O(p^3) with `orthonormalize`.
        """
        return self._learn(X, y, reducing=True)

    def _new_stream(self, n_features: int, dtype: Any) -> Stream:
        return Stream(Span(n_features, self._p(n_features)), self._by_class)

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Stream:
        """Return the state that gave these arrays; it has to hold the sums of this method."""
        state: Stream = super()._state_from(arrays)
        if state.by_class != self._by_class:
            raise SchemaError(f"by_class: expected {self._by_class}, got {state.by_class}.")
        return state

    def _passes_in_order(self, narrow: bool = False) -> int:
        """Return how often `fit` goes through the samples in the order of a file."""
        if self.shuffle:
            raise ParameterError(
                f"{type(self).__name__}: expected shuffle=False, since a file is read in its own "
                "order, got True. Shuffle the file, or use fit in Python."
            )
        return self.passes

    # -- reading --------------------------------------------------------------------------------

    @property
    def n_samples_still_(self) -> int | None:
        """The first n with a movement below `tol` for `patience` samples in a row, or None."""
        return self._state.core.still

    # -- inside ---------------------------------------------------------------------------------

    @abstractmethod
    def _criterion(self) -> Criterion:
        """Return the criterion to maximise."""

    def _rule(self, stream: Stream) -> Any:
        """Return the iteration, a `Rule` or an `ILDARule`, by the present parameters."""
        criterion, theta = self._criterion(), np.zeros(stream.core.p)
        return Rule(criterion.between, criterion.total, theta, **self._rule_options())

    def _rule_options(self) -> dict[str, Any]:
        """Return the fields that every rule has."""
        return {
            "tol": float(self.tol or 0.0),
            "patience": float(self.patience),
            "least": 2 if self._by_class else 0,
            "stop": bool(self.early_stopping),
            "orthonormal": bool(self.orthonormalize),
        }

    def _how(self, stream: Stream, y: Any) -> tuple[Any, ...]:
        p = self._p(stream.n_features)
        if stream.core.p != p:
            raise ParameterError(
                f"{type(self).__name__}: expected n_components={stream.core.p} as at the start, "
                f"got {p}. Use fit to start again."
            )
        return self._rule(stream), self._start

    def _p(self, n_features: int) -> int:
        return min(2, n_features) if self.n_components is None else self.n_components

    def _eigenvalues(self, span: Span) -> np.ndarray:
        return span.lengths

    def _solve(self, state: Stream) -> Directions:
        W = state.core.directions(self.orthonormalize)
        return Directions(set_signs(W), self._eigenvalues(state.core), available=W.shape[1])

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        name, p = type(self).__name__, self.n_components
        if p is not None and p > n_features:
            raise ParameterError(
                f"{name}: expected n_components<={n_features}, the number of features in the data, "
                f"got {p}. Use fewer components."
            )
        for key in ("patience", "passes"):
            check_whole(name, key, getattr(self, key))
        valid = self.tol is None or is_number(self.tol, 0, above=True)
        check(name, "tol", self.tol, valid, "a number > 0 or None")
        check_flags(self, ("early_stopping", "orthonormalize", "shuffle"))
        if self.early_stopping and self.tol is None:
            raise ParameterError(
                f"{name}: expected a tol for early_stopping=True, got None. "
                "Use tol=0.06, for example."
            )
