"""Projectors that need all rows at once: an estimator that has only `fit`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from narrows.families._base import Learnt, absent, whole
from narrows.families._elsewhere import also_dask
from narrows.families._project import Directions, Projector
from narrows.moments.labels import one_a_row, union, weights
from narrows.moments.stats import checked_rows
from narrows.solve.centred import LARGEST, Centred, occupied
from narrows.solve.errors import ParameterError, RangeError
from narrows.solve.exact import set_signs
from narrows.solve.schema import COUNT, FINITE, LABELS, NOT_NEGATIVE, Field, checked
from narrows.solve.sums import HUGE, TINY, stacked, widened

_NO_WEIGHT = "{}: every sample has zero weight. Some rows need a positive sample_weight."

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
    """What a fit has found: directions, one a column, best first, and of what data they are."""

    classes: np.ndarray
    counts: np.ndarray
    n_samples: int
    W: np.ndarray
    eigenvalues: np.ndarray
    more: int = 0  # a number that goes with the method: how many gain, iterations

    @property
    def n_features(self) -> int:
        """d."""
        return len(self.W)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`; numbers are kept to the bit."""
        return {name: np.asarray(value) for name, value in asdict(self).items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Solved:
        """Return the state that `to_arrays` described."""
        checked(arrays, _SCHEMA)
        own = {name: arrays[name] for name in _SCHEMA}
        values: dict[str, Any] = {k: v.item() if v.ndim == 0 else v for k, v in own.items()}
        return cls(**values)


class Gathered:
    """Rows that are yet to be fitted to: a data set that comes in chunks has to be whole first."""

    def __init__(self, n_features: int):
        self.n_features = n_features
        self.classes = np.empty(0, np.int64)
        self.chunks: list[tuple[Any, np.ndarray]] = []

    def widen(self, n_features: int) -> Gathered:
        """Let there be more columns, 0 so far."""
        self.n_features = n_features
        return self

    def rows(self) -> tuple[Any, np.ndarray]:
        """X and y of all chunks."""
        X = [widened(chunk, self.n_features) for chunk, _ in self.chunks]
        return stacked(X), np.concatenate([y for _, y in self.chunks])


class BatchProjector(Projector):
    """Directions that are no function of sums. Subclasses give `_directions`.

    n_components is read anew with each answer, up to as many as `fit` has worked out; what else
    the answer depends on is that of `fit`.
    """

    _state_type = Solved
    _by_products: ClassVar[bool] = False  # whether `_directions` asks for products with rows only

    @also_dask
    @whole
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows; sparse matrices are never made dense.
        y : array-like of shape (n,)
            One label a row.
        sample_weight : array-like of shape (n,), optional
            Weights, 0 or from 1e-100 to 1e100; a weight of 2 is a row that came twice.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes of positive weight, all weights zero, several labels a row,
            NaN or infinity, or a parameter that does not fit the data. The estimator is then as
            it was before.
        """
        name = type(self).__name__
        X = self._check_X(X, reset=True)
        self._check_parameters(X.shape[1])
        classes, codes = one_a_row(X, self._labels(X, y), name)
        weight, n = weights(sample_weight, len(codes), name), len(codes)
        if not weight.any():
            raise ValueError(_NO_WEIGHT.format(name))
        if not weight.all():
            X, codes, weight = X[weight > 0], codes[weight > 0], weight[weight > 0]
        present, codes = np.unique(codes, return_inverse=True)
        counts = np.bincount(codes, weight)
        solved = Solved(classes[present], counts, n, np.empty((0, 0)), np.empty(0))
        self._check_two_classes(solved)
        columns, d = occupied(X), X.shape[1]
        A = Centred(X if columns is None else X[:, columns], codes, weight)
        try:
            self._finish(solved, A)
        except RangeError as error:
            if columns is not None and error.feature is not None:
                raise error.of_feature(int(columns[error.feature])) from None
            raise
        if columns is not None:
            narrow, solved.W = solved.W, np.zeros((d, solved.W.shape[1]))
            solved.W[columns] = narrow
        return self

    @whole
    def _fit_parts(self, parts: Any) -> Self:
        """Learn from rows that stay where they are, by products with them."""
        if not self._by_products:
            return super()._fit_parts(parts)
        A, stats = parts.rows(self)
        self._check_parameters(stats.n_features)
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = stats.n_features
        live = stats.counts > 0
        solved = Solved(
            stats.classes[live], stats.counts[live], stats.n_samples,
            np.empty((0, 0)), np.empty(0),
        )  # fmt: skip
        if stats.n_samples and not stats.n:
            raise ValueError(_NO_WEIGHT.format(type(self).__name__))
        self._check_two_classes(solved)
        return self._finish(solved, A)

    def _finish(self, solved: Solved, A: Centred) -> Self:
        self._check_size(A)
        with np.errstate(over="ignore", invalid="ignore"):  # of what is seen next
            solved.eigenvalues, W, solved.more = self._directions(A)
        for what, values in (("eigenvalues", solved.eigenvalues), ("directions", W)):
            size = float(np.abs(values).max(initial=0.0))
            if not size <= HUGE or (A.power and size < TINY):
                raise RangeError(
                    f"rows whose {what} are between {TINY:.1e} and {HUGE:.1e}",
                    f"numbers up to {A.largest:.1e}",
                    A.largest_in(),
                )
        solved.W = np.ascontiguousarray(W)
        set_signs(solved.W)
        self._learnt = Learnt(solved)
        return self

    partial_fit = absent("partial_fit", "for it needs all rows at once")
    merge = absent("merge", "for what it learns does not add up")
    fit_stats = absent("fit_stats", "for it is no function of sums")

    def _empty_state(self, n_features: int) -> Gathered:
        """Return what rows are gathered in, with none yet."""
        return Gathered(n_features)

    def _update_state(self, state: Gathered, X: Any, y: Any) -> Gathered:
        """Keep more rows, in place, for `fit_state`."""
        name = type(self).__name__
        X = checked_rows(X, name)
        classes, codes = one_a_row(X, self._labels(X, y), name)
        state.classes = union(state.classes, classes)
        state.chunks.append((X, classes[codes]))
        return state

    def _fit_state(self, state: Gathered) -> Self:
        """Learn from the rows gathered."""
        return self.fit(*state.rows())

    @abstractmethod
    def _directions(self, A: Centred) -> tuple[np.ndarray, np.ndarray, int]:
        """(eigenvalues (k,) descending, W (d, k), `Solved.more`); k >= n_components."""

    def _check_size(self, A: Centred) -> None:
        """Raise where squares of squares would not be numbers, which is of rows in parts only."""
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
                f"{type(self).__name__}: n_components={p}, but fit has worked out {found}. "
                "Call fit again."
            )
        W = np.ascontiguousarray(state.W[:, :p]).view()
        W.flags.writeable = False  # it may be the state itself
        return Directions(W, state.eigenvalues[:p], available=found)
