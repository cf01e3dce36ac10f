"""The state of samples behind a map that stays as it is: sums of their coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse

from narrows.moments.bands import Bands
from narrows.moments.kept import hashes
from narrows.moments.labels import indicator
from narrows.moments.stats import ClassStats, checked_rows
from narrows.solve.errors import RangeError
from narrows.solve.ridge import HeldOut
from narrows.solve.scatter import Scatter
from narrows.solve.schema import SchemaError
from narrows.solve.sums import blocks, check_sparse

_NUMBERS = 1 << 22  # entries of samples, before and after, at a time


class Mapped:
    """A map and the cross products of the coordinates that it gives.

    States of one map add up as those of `ClassStats` do, of which all that depends on samples is
    one: of the coordinates.

    Parameters
    ----------
    map : Bands
        What makes coordinates of samples; frozen.
    stats : ClassStats
        Of the coordinates, with ``second="cross"``.
    """

    def __init__(self, map: Bands, stats: ClassStats):
        self.map, self.stats = map, stats

    @classmethod
    def empty(cls, map: Bands, kept: int) -> Self:
        """Return the state of no samples, that will keep some."""
        return cls(map, ClassStats(map.n_coordinates + 1, second="cross", kept=kept))

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
        weight, new = float(Y.sum()), self.stats.copy()
        n, d = X.shape
        entries = (X.nnz // max(1, n) if sparse.issparse(X) else d) + self.map.n_filled
        for part in blocks(n, max(1, _NUMBERS // entries)):
            some = sparse.csr_array(X[part])
            check_sparse(some, weight, squared=True)
            keys = hashes(some) if new.kept else None  # of coordinates, they depend on rounding
            with self._features_in_errors():
                new.add_samples(self.map.coordinates(some), classes, Y[part], keys)
        self.stats = new
        return self

    def register(self, classes: np.ndarray) -> None:
        """Note distinct labels, sorted, as classes to come, in place."""
        self.stats.register(classes)

    def widen(self, n_features: int) -> Self:
        """Return the same state with more features, which the map leaves out."""
        return type(self)(self.map.widened(n_features), self.stats)

    # -- adding up ------------------------------------------------------------------------------

    def emptied(self) -> Self:
        """Return the state of no samples, with the same map."""
        return type(self)(self.map, self.stats.emptied())

    def copy(self) -> Self:
        """Return a state that shares only the map with this one."""
        return type(self)(self.map, self.stats.copy())

    @classmethod
    def summed(cls, states: Iterable[Self]) -> Self:
        """Return the sum of at least one state."""
        first, *others = states
        for other in others:
            first._check_map(other)
        with first._features_in_errors():
            stats = ClassStats.summed([first.stats, *(each.stats for each in others)])
        return cls(first.map, stats)

    def __mul__(self, weight: Any) -> Self:
        return type(self)(self.map, self.stats * weight)

    def fade(self, weight: float, fresh: Self) -> Self:
        """Scale all weights, add a state, and return self."""
        self._check_map(fresh)
        with self._features_in_errors():
            self.stats.fade(weight, fresh.stats)
        return self

    @contextmanager
    def _features_in_errors(self) -> Iterator[None]:
        """Name features in errors, not coordinates, of which those of bands are of many."""
        try:
            yield
        except RangeError as error:
            k, head = error.feature, self.map.head
            feature = int(head[k]) if k is not None and k < len(head) else None
            raise error.of_feature(feature) from None

    def _check_map(self, other: Self) -> None:
        if self.map is not other.map and not self.map.is_same(other.map):
            raise ValueError(
                "ClassStats: expected states with one map to add up, got two maps, since each fit "
                "in bands makes its own. Fit to all samples at once, or fit one estimator and let "
                "its emptied() copies learn the other samples."
            )

    # -- reading --------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """The number of features, not of coordinates."""
        return self.map.n_features

    @property
    def classes(self) -> np.ndarray:
        """All labels seen so far, sorted."""
        return self.stats.classes

    @property
    def counts(self) -> np.ndarray:
        """The weight of each class."""
        return self.stats.counts

    @property
    def known(self) -> np.ndarray:
        """Which classes have weight or were registered."""
        return self.stats.known

    @property
    def n(self) -> float:
        """The total weight."""
        return self.stats.n

    @property
    def n_samples(self) -> int:
        """The number of samples seen."""
        return self.stats.n_samples

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return self.map.nbytes + self.stats.nbytes

    @property
    def mean(self) -> np.ndarray:
        """The mean of the samples, as far as the map keeps it, of shape (n_features,)."""
        return self.map.directions(self.stats.mean[: self.map.n_coordinates, None])[:, 0]

    def priors(self, kind: Any = "empirical") -> np.ndarray:
        """Return the weight of each class in a criterion."""
        return self.stats.priors(kind)

    def mean_square(self) -> float:
        """Return the mean squared length of whole samples, less that of their mean."""
        return self.stats.mean_square() + float(self.stats.mean[-1]) ** 2

    def scatters(self) -> Scatter:
        """Return the total scatter and that of the class means, in coordinates."""
        S = self.stats.scatters(by_samples=False)
        for of_length in (S.C[-1], S.H[:, -1], S.m[-1:]):
            of_length[:] = 0.0  # outside of the span of the samples, so that no direction has it
        return replace(S, basis=self.map.directions, place=partial(_placed, S.m))

    def held_out(self, S: Scatter, most: int | None = None) -> list[HeldOut]:
        """Return the first kept samples in the coordinates of `scatters`, in a few parts."""
        return self.stats.held_out(S, most)

    # -- storage --------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`; numbers keep all bits."""
        return self.stats.to_arrays() | self.map.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the state that `to_arrays` described."""
        own = {name: array for name, array in arrays.items() if not name.startswith("map_")}
        map, stats = Bands.from_arrays(arrays), ClassStats.from_arrays(own)
        if stats.second != "cross" or stats.n_features != map.n_coordinates + 1:
            raise SchemaError("map: expected the cross products of its coordinates, got others.")
        return cls(map, stats)


def _placed(m: np.ndarray, X: sparse.csr_array) -> np.ndarray:
    """Return coordinates of samples less the mean, without the length of what is left out."""
    found: np.ndarray = X.toarray() - m
    found[:, -1] = 0.0
    return found
