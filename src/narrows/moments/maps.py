"""Maps: frozen functions of samples, in front of the sums. Moments behind one map add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy import sparse

from narrows.moments.moments import Moments
from narrows.moments.products import MOST
from narrows.solve.codec import SchemaError, from_arrays
from narrows.solve.hashing import hashes
from narrows.solve.kernel_map import KernelMap
from narrows.solve.sums import canonical, weighted, with_values

ONE_MAP = "Fit one, and let emptied() copies of it learn the other samples."  # in errors
_CANCELLED = 1e-12  # of the length that class sums can have: what is rounding where values cancel
_ENTRIES_AT_ONCE = 1 << 22  # entries of samples, before and after, at a time
_NOT_ONE = 1e-9  # of a weight: by less, sums of zeros and ones differ from those of their squares
_DIGITS = 30  # bits of a number that decide an order, so that rounding does not

Kept = tuple[Any, np.ndarray]  # what is kept of samples, and the hashes to keep by


@dataclass(frozen=True)
class Presence:
    """The map to which features are not 0: moments behind it are contingency tables.

    Parameters
    ----------
    n_features : int
        The number of features.
    """

    marker: ClassVar[str] = "map_presence"  # the name of an array that only this map has
    sees_values: ClassVar[bool] = False  # whether coordinates are larger where features are

    n_features: Annotated[int, "i8 whole", "", "map_presence"]

    @property
    def width(self) -> int:
        """The number of coordinates of samples."""
        return self.n_features

    def n_samples_at_once(self, X: Any) -> int:
        """Return how many of these samples to map at a time."""
        return max(1, X.shape[0])

    def mapped(self, X: Any, keep: bool) -> tuple[sparse.csr_array, Kept | None]:
        """Return the coordinates of samples, and what to keep of them."""
        X = canonical(sparse.csr_array(X))
        return with_values(X, X.data != 0), None  # of one byte each

    def widened(self, n_features: int) -> Self:
        """Return the map of samples with more features."""
        return replace(self, n_features=n_features)

    def check_moments(self, folds: Iterable[Moments]) -> None:
        """Raise ValueError where sums of squares differ from sums, as those of 0 and 1 do not."""
        for m in folds:
            if m.squares is None:
                continue
            squares = m.squares.reshape(-1, m.n_features).sum(axis=0)  # of all classes
            if (np.abs(squares - m.total) > _NOT_ONE * m.n).any():
                raise ValueError(
                    "expected moments of zeros and ones, got some of other numbers. Make them with "
                    "Moments.of(X != 0, y)."
                )


@dataclass(frozen=True, eq=False)
class Columns:
    """The map to some of the features, as they are.

    Parameters
    ----------
    chosen : ndarray of int of shape (width,)
        Which they are, in order.
    n_features : int
        The number of all features.
    """

    marker: ClassVar[str] = "map_chosen"
    sees_values: ClassVar[bool] = True

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

    def mapped(self, X: Any, keep: bool) -> tuple[sparse.csr_array, Kept | None]:
        """Return the coordinates of samples, and what to keep of them."""
        return canonical(sparse.csr_array(X))[:, self.chosen].astype(np.float64), None

    def widened(self, n_features: int) -> Self:
        """Return the map of samples with more features, which are left out."""
        return replace(self, n_features=n_features)

    def check_arrays(self, sizes: Mapping[str, int]) -> None:
        """Raise SchemaError where there are no such features."""
        if not (0 < sizes["h"] < MOST and 0 <= self.chosen[0] <= self.chosen[-1] < self.n_features):
            raise SchemaError("map_chosen: expected features of the map, got others.")


class RandomFeatures(KernelMap):
    """The map to random functions of samples; see `KernelMap`."""

    marker: ClassVar[str] = "map_seed"
    sees_values: ClassVar[bool] = True

    def mapped(self, X: Any, keep: bool) -> tuple[np.ndarray, Kept | None]:
        """Return the coordinates of samples, and with `keep` what to keep of them."""
        # in double precision: small ridges need all digits of the products
        return self.coordinates(X.astype(np.float64)), (X, hashes(X)) if keep else None

    def widened(self, n_features: int) -> Self:
        """Return the map of samples with more features."""
        raise ValueError(
            f"expected samples with {self.n_features} features, got {n_features}, which the map of "
            "a kernel does not know. Fit again."
        )


_MAPS: tuple[Any, ...] = Presence, Columns, RandomFeatures


def map_in(arrays: dict[str, np.ndarray]) -> Any:
    """Return the map that named arrays describe, and take these out of the dict; None without."""
    kind = next((kind for kind in _MAPS if kind.marker in arrays), None)
    return None if kind is None else from_arrays(kind, arrays)


def most_scattered(m: Moments) -> np.ndarray:
    """Return the features with the largest scatter of the class means, best first."""
    p, score, energy = m.priors(), np.zeros(m.n_features), np.array(m.squares)
    for columns, D in m.deviations(p):
        score[columns] = weighted(p[p > 0], D**2)
    score[score <= _CANCELLED**2 * energy / max(m.n, 1e-300)] = 0.0
    return np.argsort(-_coarse(score), kind="stable")[: MOST - 1]


def _coarse(values: np.ndarray) -> np.ndarray:
    """Return numbers without their last digits, which depend on the order of the samples."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(mantissa, _DIGITS)), exponent - _DIGITS)
