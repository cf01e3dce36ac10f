"""Projectors that learn one sample at a time, on the engine of `narrows.solve.span`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from narrows.criteria import Criterion
from narrows.families._base import check_whole, is_number, whole
from narrows.families._elsewhere import also_dask
from narrows.families._project import Directions
from narrows.families._sequential import Sequential, Stream
from narrows.solve.errors import ParameterError
from narrows.solve.exact import set_signs
from narrows.solve.schema import SchemaError
from narrows.solve.span import ILDARule, Rule, Span, Start
from narrows.solve.sums import blocks

_SHUFFLED_ROWS = 1 << 16  # so many rows at a time are put into their order of a pass


class OnlineProjector(Sequential):
    """One step of an iteration for each sample. Subclasses give `_criterion`.

    The iterates are those of the papers' tables, in the order of the rows, and do not depend on
    how the rows come in batches.
    """

    _by_class: ClassVar[bool] = True  # False for a criterion that knows no classes
    _start: ClassVar[Start] = "centred"

    tol: float | None
    patience: int
    early_stopping: bool
    orthonormalize: bool
    passes: int
    shuffle: bool
    random_state: Any

    # -- learning ---------------------------------------------------------------------------

    @also_dask
    @whole
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the rows, one at a time: `passes` times in their order, or shuffled.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows; sparse matrices are never made dense.
        y : array-like of shape (n,)
            One label a row. Only methods whose criterion knows no classes do without.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes, several labels a row, NaN or infinity, or a parameter that
            does not fit the data. The estimator is then as it was before.
        """
        X = self._check_X(X, reset=True)
        self._check_parameters(X.shape[1])
        stream = self._new_stream(X.shape[1])
        classes, codes = self._one_label_a_row(X, y)
        rng = check_random_state(self.random_state)
        for _ in range(self.passes):
            for X_part, part in self._in_order(X, codes, rng):
                stream.learn(X_part, classes, part, *self._how(stream))
        return self._finish(stream)

    def transform_while_learning(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn as `partial_fit` does, and reduce each row by what was learnt up to and with it.

        Parameters
        ----------
        X, y
            As for `partial_fit`.

        Returns
        -------
        X_r : ndarray of shape (n, p)
            Row i is W(i)'x(i), with the columns of W(i) those of the moment, `v_j(i) / |v_j(i)|`,
            and 0 for a component that has not started. Their signs are the iteration's own, which
            do not jump from row to row; `components_` and `transform` set signs by a rule.

        Notes
        -----
        **Cost** a row: that of `partial_fit` and O(p (p + c)), O(p^3) with `orthonormalize`.
        """
        reduced = self._learn(X, y, reducing=True)
        assert reduced is not None
        return reduced

    def _new_stream(self, n_features: int) -> Stream:
        return Stream(Span(n_features, self._p(n_features)), self._by_class)

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Stream:
        """Return the state that gave these arrays; it has to have the sums of this method."""
        state: Stream = super()._state_from(arrays)
        if state.by_class != self._by_class:
            raise SchemaError(f"by_class: expected {self._by_class}, got {state.by_class}.")
        return state

    def _passes_in_order(self) -> int:
        """How often `fit` goes through the rows, if it takes them in the order of a file."""
        if self.shuffle:
            raise ParameterError(
                f"{type(self).__name__}: shuffle=True, but a file is learnt in its own order. "
                "Shuffle the file, or use fit in Python."
            )
        return self.passes

    # -- reading ----------------------------------------------------------------------------

    @property
    def n_samples_still_(self) -> int | None:
        """The n at which `tol` had held for `patience` samples in a row for the first time.

        None as long as it has not.
        """
        return self._state.core.still

    # -- inside -----------------------------------------------------------------------------

    @abstractmethod
    def _criterion(self) -> Criterion:
        """What is maximised."""

    def _particulars(self, p: int, n_features: int) -> dict[str, Any]:
        """What else `Rule` has to say of this method."""
        return {}

    def _rule(self, stream: Stream) -> Rule | ILDARule:
        """The iteration, by the parameters of now."""
        criterion, p = self._criterion(), stream.core.p
        rule = Rule(criterion.between, criterion.total, np.zeros(p), **self._rule_options())
        return rule._replace(**self._particulars(p, stream.n_features))

    def _rule_options(self) -> dict[str, Any]:
        """Return the options that every rule has."""
        return {
            "tol": float(self.tol or 0.0),
            "patience": float(self.patience),
            "least": 2 if self._by_class else 0,
            "stop": bool(self.early_stopping),
            "orthonormal": bool(self.orthonormalize),
        }

    def _how(self, stream: Stream) -> tuple[Any, ...]:
        p = self._p(stream.n_features)
        if stream.core.p != p:
            raise ParameterError(
                f"{type(self).__name__}: n_components={p}, but {stream.core.p} were begun with. "
                "Use fit to begin anew."
            )
        return self._rule(stream), self._start

    def _p(self, n_features: int) -> int:
        return min(2, n_features) if self.n_components is None else self.n_components

    def _eigenvalues(self, span: Span) -> np.ndarray:
        return span.lengths

    def _solve(self, state: Stream) -> Directions:
        W = state.core.directions(self.orthonormalize)
        return Directions(set_signs(W), self._eigenvalues(state.core), available=W.shape[1])

    def _in_order(
        self, X: Any, codes: np.ndarray, rng: np.random.RandomState
    ) -> Iterator[tuple[Any, np.ndarray]]:
        """The rows and labels of one pass, a part at a time."""
        if not self.shuffle:
            yield X, codes
            return
        order = rng.permutation(len(codes))
        for part in blocks(len(codes), _SHUFFLED_ROWS):
            yield X[order[part]], codes[order[part]]

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        name, p = type(self).__name__, self.n_components
        if p is not None and p > n_features:
            raise ParameterError(
                f"{name}: n_components={p}, but the data have n_features={n_features}. "
                f"Use n_components<={n_features}."
            )
        for key in ("patience", "passes"):
            check_whole(name, key, getattr(self, key))
        if self.tol is not None and not is_number(self.tol, 0, above=True):
            raise ParameterError(
                f"{name}: tol must be a number > 0 or None, but {self.tol!r} came."
            )
        for key in ("early_stopping", "orthonormalize", "shuffle"):
            value = getattr(self, key)
            if not isinstance(value, bool | np.bool_):
                raise ParameterError(f"{name}: {key} must be True or False, but {value!r} came.")
        if self.early_stopping and self.tol is None:
            raise ParameterError(f"{name}: early_stopping needs a tol; 0.06 is the papers'.")
