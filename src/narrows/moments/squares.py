"""Sums of squares of each feature: in all, and in each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np

from narrows.moments.second import Second, ratio
from narrows.moments.table import Table
from narrows.solve.codec import PART


@dataclass(eq=False)
class Squares(Second):
    """Sums of squares of each feature.

    Parameters
    ----------
    table : Table of shape (1, n_features)
        The sums.
    """

    kind = "total"

    table: Annotated[Table, PART, "1 d"]

    @classmethod
    def zeros(cls, n_classes: int, n_features: int) -> Self:
        """Return that of no samples."""
        return cls(Table((1, n_features)))

    def about(self, shift: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> Self:
        """Return that of the samples plus a shift."""
        more = (shift * (2 * sums + weights[:, None] * shift)).sum(axis=0, keepdims=True)
        return self._with_table(self.table.toarray() + more)

    @property
    def squares(self) -> np.ndarray:
        """The sums of squares of the features, of shape (n_features,)."""
        return self.table.weighted(np.ones(self.table.shape[0]))

    def _with_table(self, array: np.ndarray) -> Any:
        new = self.shared()
        new.table = Table(array.shape, array)
        return new


@dataclass(eq=False)
class ClassSquares(Squares):
    """Sums of squares of each feature in each class.

    Parameters
    ----------
    table : Table of shape (n_classes, n_features)
        The sums.
    """

    kind = "class"

    table: Annotated[Table, PART, "c d"]

    @classmethod
    def zeros(cls, n_classes: int, n_features: int) -> Self:
        """Return that of no samples."""
        return cls(Table((n_classes, n_features)))

    def table_row(self, n_classes: int) -> np.ndarray:
        """Return the row of `table` that the samples of each class add to."""
        return np.arange(n_classes)

    def merge(self, other: Any, sign: float, row: np.ndarray) -> None:
        """Add `sign` times another one, in place; its class j has the number row[j] here."""
        self.table.add(row, other.table, sign)

    def about(self, shift: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> Self:
        """Return that of the samples plus a shift."""
        more = shift * (2 * sums + weights[:, None] * shift)
        return self._with_table(self.table.toarray() + more)

    def regrouped(self, row: np.ndarray, n_classes: int) -> Self:
        """Return that of so many classes, of which class j here is number row[j]."""
        new = self.shared()
        new.table = self.table.spread(row, (n_classes, self.table.shape[1]))
        return new

    def forget(self, gone: np.ndarray) -> None:
        """Remove the rounding that is left of classes without weight, in place."""
        self.table.clear(np.flatnonzero(gone))

    @property
    def by_class(self) -> np.ndarray:
        """The sums of squares of each class, of shape (n_classes, n_features)."""
        return self.table.toarray()

    def mean_squares(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the mean squares of the features under priors p of classes of such weights."""
        return self.table.weighted(ratio(p, counts))
