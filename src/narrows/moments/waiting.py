"""Samples whose products are not summed yet: few, or fewer than the features."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from narrows.solve.codec import Sizes, samples_from, samples_to_arrays, taken
from narrows.solve.sums import canonical, stacked, widened, with_values


class Weighted(NamedTuple):
    """Samples about the origin, and their weights."""

    X: Any  # ndarray or csr_array of shape (n_samples, n_features), float64
    weight: np.ndarray

    @property
    def squares(self) -> np.ndarray:
        """The weighted sums of the squares of each feature."""
        return self.weight @ (self.X.power(2) if sparse.issparse(self.X) else self.X**2)


class Waiting(NamedTuple):
    """Samples that wait, in the items in which they were added. Neither it nor its arrays change.

    Parameters
    ----------
    items : tuple of Weighted
        The samples.
    n_samples : int
        How many they are.
    """

    items: tuple[Weighted, ...] = ()
    n_samples: int = 0

    def with_more(self, *more: Weighted) -> Waiting:
        """Return these samples and more."""
        return Waiting((*self.items, *more), self.n_samples + sum(len(w) for _, w in more))

    def scaled(self, factor: float) -> Waiting:
        """Return the samples with weights times a number."""
        return self._replace(items=tuple(Weighted(X, w * factor) for X, w in self.items))

    def shifted(self, shift: np.ndarray) -> Waiting:
        """Return the samples plus a vector; they are dense."""
        return self._replace(items=tuple(Weighted(X + shift, w) for X, w in self.items))

    def widened(self, n_features: int) -> Waiting:
        """Return the samples with more features, which are 0."""
        return self._replace(
            items=tuple(Weighted(widened(X, n_features), w) for X, w in self.items)
        )

    @property
    def are_sparse(self) -> bool:
        """Whether some of the samples are sparse."""
        return any(sparse.issparse(X) for X, _ in self.items)

    def stacked(self) -> Waiting:
        """Return the samples in one item, or none; CSR if some are sparse."""
        if len(self.items) < 2:
            return self
        X = stacked([each.X for each in self.items])
        weight = np.concatenate([each.weight for each in self.items])
        return self._replace(items=(Weighted(X, weight),))

    @property
    def nbytes(self) -> int:
        """The bytes of the numbers."""
        return sum(X.data.nbytes + weight.nbytes for X, weight in self.items)

    def to_arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return them as arrays whose names begin with `name`; none if there are no samples."""
        arrays: dict[str, np.ndarray] = {}
        for X, weight in self.stacked().items:
            arrays |= {f"{name}_weight": weight, **samples_to_arrays(X, f"{name}_")}
        return arrays

    @classmethod
    def read_from(
        cls, arrays: dict[str, np.ndarray], name: str, shape: tuple[str, str], sizes: Sizes
    ) -> Self:
        """Return the samples of `to_arrays`, of a shape of two sizes."""
        if f"{name}_weight" not in arrays:
            return cls()
        weight = taken(arrays, f"{name}_weight", ("f8",), shape[:1], sizes, (">=0",))
        X = samples_from(arrays, f"{name}_", shape, sizes)
        return cls((Weighted(canonical(X) if sparse.issparse(X) else X, weight),), len(weight))


NONE = Waiting()


def of_weight(X: Any, weight: np.ndarray) -> Weighted:
    """Return the samples of positive weight; dense ones are as they were."""
    if not weight.all():
        X, weight = X[weight > 0], weight[weight > 0]
    if sparse.issparse(X):
        X = canonical(X)
        X = with_values(X, X.data.astype(np.float64))
    return Weighted(X, weight)
