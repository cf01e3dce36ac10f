"""What a frozen map of samples to coordinates is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from narrows.solve.scatter import Scatter
from narrows.state.kept import ToKeep


class Map(ABC):
    """A map that never changes, so that sums over the coordinates of samples add up."""

    marker: ClassVar[str]  # the name of an array of a file that only this map has
    by_samples: ClassVar[bool] = False  # whether scatters may be in coordinates of the samples

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of features of samples."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of coordinates of samples."""

    @property
    def kept_width(self) -> int:
        """The number of features, or coordinates, that are kept of samples."""
        return self.width

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(array.nbytes for array in self.to_arrays().values())

    @abstractmethod
    def n_samples_at_once(self, X: Any) -> int:
        """Return how many of these samples to map at a time."""

    @abstractmethod
    def mapped(self, X: Any, weight: float, keep: bool) -> tuple[Any, ToKeep | None]:
        """Return the coordinates of samples, and with `keep` what to keep of them.

        RangeError where sums of them, with so much weight in all, would overflow.
        """

    @abstractmethod
    def coordinates_of_kept(self, X: Any) -> Any:
        """Return the coordinates of kept samples."""

    @abstractmethod
    def mean(self, stats: Any) -> np.ndarray:
        """Return the mean of the samples, as far as the map keeps it, of shape (n_features,)."""

    @abstractmethod
    def mean_square(self, stats: Any) -> float:
        """Return the mean squared length of samples, less that of their mean."""

    @abstractmethod
    def scatter(self, S: Scatter) -> Scatter:
        """Return the scatters to solve for, from those of the coordinates."""

    @abstractmethod
    def feature(self, coordinate: int) -> int | None:
        """Return the feature that a coordinate is, or None where it is of many."""

    @abstractmethod
    def widened(self, n_features: int) -> Self:
        """Return the map of samples with more features."""

    @abstractmethod
    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the map as named arrays."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the map that `to_arrays` described."""

    def is_same(self, other: Map) -> bool:
        """Whether another map gives equal coordinates."""
        mine, theirs = self.to_arrays(), other.to_arrays()
        if mine.keys() != theirs.keys():
            return False
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)
