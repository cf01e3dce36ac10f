"""Frozen maps of samples: to some of their features, and to random features of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy import sparse

from narrows.solve.codec import SchemaError
from narrows.solve.kernel_map import KernelMap
from narrows.solve.sums import canonical, weighted
from narrows.state.class_stats import ClassStats
from narrows.state.cross import MOST
from narrows.state.kept import ToKeep, hashes

# -- some of the features ----------------------------------------------------------------------

_CANCELLED = 1e-12  # of the length that class sums can have: what is rounding where values cancel
_ENTRIES_AT_ONCE = 1 << 22  # entries of samples, before and after, at a time
_DIGITS = 30  # bits of a number that decide an order, so that rounding does not


@dataclass(eq=False, repr=False)
class SomeFeatures:
    """The map to some of the features, as they are.

    Parameters
    ----------
    chosen : ndarray of int of shape (width,)
        Which they are, in order.
    n_features : int
        The number of all features.
    """

    marker: ClassVar[str] = "map_chosen"  # the name of an array that only this map has

    chosen: Annotated[np.ndarray, "i8 sorted", "h", "map_chosen"]
    n_features: Annotated[int, "i8 whole", "", "map_width"]

    @property
    def width(self) -> int:
        """The number of coordinates of samples."""
        return len(self.chosen)

    def n_samples_at_once(self, X: Any) -> int:
        """Return how many of these samples to map at a time."""
        n, d = X.shape
        entries = (X.nnz // max(1, n) if sparse.issparse(X) else d) + 1
        return max(1, _ENTRIES_AT_ONCE // entries)

    def mapped(self, X: Any, keep: bool) -> tuple[sparse.csr_array, None]:
        """Return the coordinates of samples; what is kept of samples is not needed."""
        return canonical(sparse.csr_array(X))[:, self.chosen].astype(np.float64), None

    def widened(self, n_features: int) -> Self:
        """Return the map of samples with more features, which are left out."""
        return type(self)(self.chosen, n_features)

    def check_arrays(self, sizes: Mapping[str, int]) -> None:
        """Raise SchemaError where there are no such features."""
        if not (0 < sizes["h"] < MOST and 0 <= self.chosen[0] <= self.chosen[-1] < self.n_features):
            raise SchemaError("map_chosen: expected features of the map, got others.")


def most_scattered(stats: ClassStats) -> np.ndarray:
    """Return the features with the largest scatter of the class means, best first."""
    p, score, energy = stats.priors(), np.zeros(stats.n_features), np.array(stats.squares)
    for columns, D in stats.deviations(p):
        score[columns] = weighted(p[p > 0], D**2)
    score[score <= _CANCELLED**2 * energy / max(stats.n, 1e-300)] = 0.0
    return np.argsort(-_coarse(score), kind="stable")[: MOST - 1]


def _coarse(values: np.ndarray) -> np.ndarray:
    """Return numbers without their last digits, which depend on the order of the samples."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(mantissa, _DIGITS)), exponent - _DIGITS)


# -- random features --------------------------------------------------------------------------


class RandomFeatures(KernelMap):
    """The map to random functions of samples; see `KernelMap`."""

    marker = "map_seed"  # the name of an array of a file that only this map has

    def mapped(self, X: Any, keep: bool) -> tuple[np.ndarray, ToKeep | None]:
        """Return the coordinates of samples, and with `keep` what to keep of them."""
        # in double precision: small ridges need all digits of the products
        return self.coordinates(X.astype(np.float64)), ToKeep(X, hashes(X)) if keep else None

    def widened(self, n_features: int) -> Self:
        """Return the map of samples with more features."""
        raise ValueError(
            f"ClassStats: expected samples with {self.n_features} features, got {n_features}, "
            "which the map of a kernel does not know. Fit again."
        )
