"""The state of samples behind a map that stays as it is: sums of their coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from scipy import sparse

from narrows.errors import fit_alike
from narrows.solve.codec import SchemaError, from_arrays, to_arrays
from narrows.solve.held_out import HeldOut
from narrows.solve.scatter import Scatter
from narrows.solve.sums import blocks, check_summable
from narrows.state.class_stats import ClassStats, checked_rows
from narrows.state.kept import EVERY
from narrows.state.labels import indicator
from narrows.state.maps import RandomFeatures, SomeFeatures

ONE_MAP = "Fit one, and let emptied() copies of it learn the other samples."  # in errors
_MAPS = RandomFeatures, SomeFeatures
_OF_SAMPLES = {"classes", "counts", "known", "n", "n_held", "n_samples", "priors", "register"}


class Mapped:
    """A map and the cross products of the coordinates that it gives.

    States of one map add up as those of `ClassStats` do, of which all that depends on samples is
    one: of the coordinates.

    Parameters
    ----------
    map : RandomFeatures or SomeFeatures
        What makes coordinates of samples; frozen.
    stats : ClassStats
        Of the coordinates, with ``second="cross"``.
    """

    def __init__(self, map: Any, stats: ClassStats):
        self.map, self.stats = map, stats

    @classmethod
    def empty(cls, map: Any, kept: int) -> Self:
        """Return the state of no samples, that will keep some."""
        return cls(map, ClassStats.of_coordinates(map.width, kept, map.n_features))

    @classmethod
    def of_kept(cls, map: Any, stats: ClassStats, kept: int) -> Self:
        """Return the state of samples that another state has kept, all of them."""
        order = np.argsort(stats.samples.when, kind="stable")
        X, code, weight, _, when = (each[order] for each in stats.samples)
        new = cls.empty(map, kept)
        classes = stats.classes
        Y = sparse.csr_array((weight, code, np.arange(len(code) + 1)), (len(code), len(classes)))
        new._learn(X, classes, Y)
        new.stats.renumber(when, stats.n_samples)
        new.register(classes[stats.known])
        return new

    def of_same_map(self, stats: ClassStats) -> Self:
        """Return the state, with this map, of samples that another state has kept, all of them."""
        return self.of_kept(self.map, stats, self.stats.kept)

    # -- learning -------------------------------------------------------------------------------

    def update(
        self, X: Any, y: Any, sample_weight: Any = None, *, check_input: bool = True
    ) -> Self:
        """Add samples, in place; parameters and errors are those of `ClassStats.update`."""
        if check_input:
            X = checked_rows(X)
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"ClassStats: expected samples with {self.n_features} features, got {X.shape[1]}."
            )
        classes, Y = indicator(X, y, sample_weight)
        check_summable(X, float(Y.sum()))
        return self._learn(X, classes, Y)

    def _learn(self, X: Any, classes: np.ndarray, Y: Any) -> Self:
        """Add checked samples, of what `indicator` makes of their labels, in place."""
        parts = list(blocks(X.shape[0], self.map.n_samples_at_once(X)))
        new = self.stats if len(parts) < 2 else self.stats.copy()  # all of them or none
        for part in parts:
            Z, kept = self.map.mapped(X[part], bool(new.kept))
            new.add_samples(Z, classes, Y[part], kept)
        self.stats = new
        return self

    def renamed(self, names: np.ndarray) -> Self:
        """Return the state with other labels, different ones, in the order of `classes`."""
        return type(self)(self.map, self.stats.renamed(names))

    def widen(self, n_features: int) -> Self:
        """Return the same state with more features, which the map leaves out."""
        return type(self)(self.map.widened(n_features), self.stats)

    # -- adding up ------------------------------------------------------------------------------

    def emptied(self) -> Self:
        """Return the state of no samples, with the same map."""
        return self.empty(self.map, self.stats.kept)

    def copy(self) -> Self:
        """Return a state that shares only the map with this one."""
        return type(self)(self.map, self.stats.copy())

    @classmethod
    def summed(cls, states: Iterable[Self]) -> Self:
        """Return the sum of at least one state."""
        first, *others = states
        for other in others:
            first._check_map(other)
        return cls(first.map, ClassStats.summed([first.stats, *(each.stats for each in others)]))

    def __add__(self, other: Any) -> Self:
        return self.summed([self, self._like(other)])

    def _later(self, first: int) -> Self:
        """Return a state of samples that were learned after so many others."""
        return type(self)(self.map, self.stats._later(first))

    def __sub__(self, other: Any) -> Self:
        return type(self)(self.map, self.stats - self._like(other).stats)

    def _like(self, other: Any) -> Any:
        """Return another state as one with this map."""
        if isinstance(other, ClassStats) and other.kept == EVERY:
            return self.of_same_map(other)
        if not isinstance(other, Mapped):
            raise TypeError(
                f"ClassStats: expected another state with a map, got {type(other).__name__}."
            )
        self._check_map(other)
        return other

    def __mul__(self, weight: Any) -> Self:
        return type(self)(self.map, self.stats * weight)

    __rmul__ = __mul__

    def without_kept(self) -> Self:
        """Return the state without the samples that are kept; it shares arrays with this one."""
        return type(self)(self.map, self.stats.without_kept())

    def sums_only(self) -> Self:
        """Return the state without samples; see `ClassStats.sums_only`."""
        return type(self)(self.map, self.stats.sums_only())

    def fade(self, weight: float, fresh: Self) -> Self:
        """Scale all weights, add a state, and return self."""
        self._check_map(fresh)
        self.stats.fade(weight, fresh.stats)
        return self

    def _check_map(self, other: Self) -> None:
        mine, theirs = to_arrays(self.map), to_arrays(other.map)
        alike = mine.keys() == theirs.keys()
        if not (alike and all(np.array_equal(mine[name], theirs[name]) for name in mine)):
            raise ValueError(
                "ClassStats: expected states with one map to add up, got two maps. "
                + fit_alike("map", ONE_MAP)
            )

    # -- reading --------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """The number of features, not of coordinates."""
        return self.map.n_features

    def __getattr__(self, name: str) -> Any:
        """Read what depends on the samples only, and not on their coordinates."""
        if name not in _OF_SAMPLES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.stats, name)

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return self.stats.nbytes + sum(array.nbytes for array in to_arrays(self.map).values())

    def mean_square(self) -> float:
        """Return the mean squared length of coordinates, less that of their mean."""
        return self.stats.mean_square()

    def scatters(self) -> Scatter:
        """Return the total scatter and that of the class means, in coordinates."""
        return self.stats.scatters()

    def held_out(self, S: Scatter, most: int | None = None) -> list[HeldOut]:
        """Return the first kept samples in the coordinates of `scatters`, in a few parts."""
        return self.stats.held_out(S, most, self.map.coordinates)

    # -- storage --------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`; numbers keep all bits."""
        return self.stats.to_arrays() | to_arrays(self.map)

    @staticmethod
    def is_in(arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether arrays describe a state with a map."""
        return any(kind.marker in arrays for kind in _MAPS)

    @classmethod
    def read_from(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Return the state that `to_arrays` described, and take its arrays out of the dict."""
        kind = next(kind for kind in _MAPS if kind.marker in arrays)
        map, stats = from_arrays(kind, arrays), ClassStats.read_from(arrays)
        fits = stats.n_features == map.width and stats.kept_width in (None, map.n_features)
        if stats.second != "cross" or not fits:
            raise SchemaError("map: expected the cross products of its coordinates, got others.")
        return cls(map, stats)
