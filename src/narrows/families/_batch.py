"""Projectors that need all samples at once: estimators that have only `fit`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from narrows.families._atomic import atomic
from narrows.families._base import Fitted
from narrows.families._engines import accepts_collections
from narrows.families._errors import errors_named_after
from narrows.families._project import Directions, RankedProjector
from narrows.moments.labels import one_a_row, union, weights
from narrows.moments.stats import checked_rows
from narrows.solve.centred import LARGEST, Centred, occupied
from narrows.solve.errors import ParameterError, RangeError
from narrows.solve.exact import set_signs
from narrows.solve.schema import COUNT, FINITE, LABELS, NOT_NEGATIVE, Field, checked
from narrows.solve.sums import HUGE, TINY, stacked, widened

_SCHEMA = {
    "classes": LABELS,
    "counts": Field("f8", ("c",), NOT_NEGATIVE),
    "n_samples": Field("i8", (), COUNT),
    "W": Field("f8", ("d", "k"), FINITE),
    "eigenvalues": Field("f8", ("k",), FINITE),
    "more": Field("i8", (), COUNT),
}


@dataclass
class Solved:
    """Directions that a fit found, one per column, best first, and the classes they are of."""

    classes: np.ndarray
    counts: np.ndarray
    n_samples: int
    W: np.ndarray
    eigenvalues: np.ndarray
    more: int = 0  # a number of the method: directions that gain, or iterations

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.W)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`, without rounding."""
        return {name: np.asarray(value) for name, value in asdict(self).items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Solved:
        """Return the state that `to_arrays` described."""
        checked(arrays, _SCHEMA)
        own = {name: arrays[name] for name in _SCHEMA}
        values: dict[str, Any] = {k: v.item() if v.ndim == 0 else v for k, v in own.items()}
        return cls(**values)


class Gathered:
    """Samples that a fit needs all at once, from a data set that comes in chunks."""

    def __init__(self, n_features: int):
        self.n_features = n_features
        self.classes = np.empty(0, np.int64)
        self.chunks: list[tuple[Any, np.ndarray]] = []

    def widen(self, n_features: int) -> Gathered:
        """Append features that are 0 so far."""
        self.n_features = n_features
        return self

    def rows(self) -> tuple[Any, np.ndarray]:
        """Return X and y of all chunks."""
        X = [widened(chunk, self.n_features) for chunk, _ in self.chunks]
        return stacked(X), np.concatenate([y for _, y in self.chunks])


class BatchProjector(RankedProjector):
    """Directions that are not a function of sums. Subclasses give `_directions`.

    n_components can be changed after `fit`, up to the number of directions that `fit` computed;
    other parameters need a new `fit`.
    """

    _state_type = Solved
    _by_products: ClassVar[bool] = False  # whether `_directions` only needs products with X
    _unsupported: ClassVar[dict[str, str]] = {
        "partial_fit": "it needs all samples at once",
        "merge": "its fits do not add up",
        "fit_stats": "it is not a function of sums",
    }

    @accepts_collections
    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to all samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; sparse matrices are never converted to dense arrays.
        y : array-like of shape (n_samples,)
            One label per sample.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100; a weight of 2 stands for two equal samples.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes of positive weight, all weights zero, several labels per sample,
            NaN or infinity, or a parameter that does not fit the data. The estimator is then
            unchanged.
        """
        name = type(self).__name__
        X = self._check_X(X, reset=True)
        self._check_parameters(X.shape[1])
        classes, codes = one_a_row(X, self._labels(X, y), name)
        weight, n = weights(sample_weight, len(codes), name), len(codes)
        counts = np.bincount(codes, weight, len(classes))
        solved = self._unsolved(classes, counts, n)
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

    @atomic
    def _fit_parts(self, parts: Any) -> Self:
        """Fit to samples that stay where they are, by products with them."""
        if not self._by_products:
            return super()._fit_parts(parts)
        A, stats = parts.rows(self)
        self._check_parameters(stats.n_features)
        self._set_unnamed(stats.n_features)
        return self._complete(self._unsolved(stats.classes, stats.counts, stats.n_samples), A)

    def _unsolved(self, classes: np.ndarray, counts: np.ndarray, n_samples: int) -> Solved:
        """Return a state without directions yet, of the classes of positive weight."""
        live = counts > 0
        solved = Solved(classes[live], counts[live], n_samples, np.empty((0, 0)), np.empty(0))
        self._check_two_classes(solved)
        return solved

    def _complete(self, solved: Solved, A: Centred) -> Self:
        self._check_size(A)
        with np.errstate(over="ignore", invalid="ignore"):  # checked next
            solved.eigenvalues, W, solved.more = self._directions(A)
        for what, values in (("eigenvalues", solved.eigenvalues), ("directions", W)):
            size = float(np.abs(values).max(initial=0.0))
            if not size <= HUGE or (A.power and size < TINY):
                raise RangeError(
                    f"samples whose {what} are between {TINY:.1e} and {HUGE:.1e}",
                    f"numbers up to {A.largest:.1e}",
                    A.largest_in(),
                )
        solved.W = np.ascontiguousarray(W)
        set_signs(solved.W)
        self._fitted = Fitted(solved)
        return self

    def _empty_state(self, n_features: int) -> Gathered:
        """Return an empty state that gathers samples."""
        return Gathered(n_features)

    def _update_state(self, state: Gathered, X: Any, y: Any) -> Gathered:
        """Gather more samples, in place, for `_fit_state`."""
        name = type(self).__name__
        X = checked_rows(X, name)
        with errors_named_after(self):
            classes, codes = one_a_row(X, self._labels(X, y), name)
            state.classes = union(state.classes, classes)
        state.chunks.append((X, classes[codes]))
        return state

    def _finish(self, state: Gathered) -> Self:
        return self.fit(*state.rows())

    @abstractmethod
    def _directions(self, A: Centred) -> tuple[np.ndarray, np.ndarray, int]:
        """Return eigenvalues (k,), descending, W (n_features, k) and `Solved.more`.

        k >= n_components.
        """

    def _check_size(self, A: Centred) -> None:
        """Raise where squares of squares would overflow, which only samples in parts can do."""
        if A.largest and not A.power and not 1 / LARGEST < A.largest < LARGEST:
            raise RangeError(
                f"numbers of which the largest is between {1 / LARGEST:g} and {LARGEST:g}",
                f"{A.largest:.1e}",
                A.largest_in(),
            )

    def _solve(self, state: Solved) -> Directions:
        found = len(state.eigenvalues)
        p = min(found, len(state.counts) - 1) if self.n_components is None else self.n_components
        if p > found:
            raise ParameterError(
                f"{type(self).__name__}: n_components={p}, but fit computed only {found}. "
                "Call fit again."
            )
        W = np.ascontiguousarray(state.W[:, :p]).view()
        W.flags.writeable = False  # it may be the state itself
        return Directions(W, state.eigenvalues[:p], available=found)
