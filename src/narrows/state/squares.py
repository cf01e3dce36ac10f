"""Sums of squares, by class or over all samples, with the rounding that subtractions leave."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from narrows.errors import warn
from narrows.state.batch import Batch
from narrows.state.moment import Shift, TableMoment
from narrows.state.table import Table

NOISE = 4 * float(np.finfo(np.float64).eps)  # of a sum of squares: its rounding
_DIGITS = 6  # of each variance, that a subtraction promises to leave


class Squares(TableMoment):
    """Sums of squares about the origin; `noise` is the rounding of those that were subtracted."""

    of = " of squares"

    def update(self, batch: Batch) -> None:
        """Have the batch add its sums of squares to the table."""
        batch.squares, batch.by_class = self.table, self.by_class

    def add(self, row: np.ndarray, other: Self, sign: float) -> None:
        """Add `sign` times a moment; a subtraction adds to `noise`."""
        rounding = self.table.scaled(NOISE) if sign < 0 else None
        super().add(row, other, sign)
        if other.noise is not None:
            self._add_noise(self._rows(row), other.noise)
        if rounding is not None:
            every = np.arange(rounding.shape[0])
            rounding.clear(np.setdiff1d(every, self._rows(row)))
            self._add_noise(every, rounding)

    def _add_noise(self, rows: np.ndarray, noise: Table) -> None:
        if self.noise is None:
            self.noise = Table(self.table.shape)
        self.noise.add(rows, noise)

    def shifted(self, shift: Shift) -> Self:
        """Return sums of (x - o + delta)^2 from those of x - o and of (x - o)^2."""
        change = 2 * shift.delta * shift.sums.toarray() + shift.first * shift.delta
        if not self.by_class:
            change = change.sum(axis=0, keepdims=True)
        return type(self)(Table(self.table.shape, self.table.toarray() + change), self.noise)

    def total(self) -> TotalSquares:
        """Return a copy that holds only what ``second="total"`` holds."""
        return TotalSquares(*map(_in_one, self._tables()))

    # -- reading ----------------------------------------------------------------------------

    def squares(self) -> np.ndarray:
        """Return sums, of shape (n_classes, n_features), or (n_features,) over all samples."""
        return self.table.toarray() if self.by_class else self.table.toarray()[0]

    def mean(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the mean square about the origin under priors p, of shape (n_features,)."""
        # the rounding that a subtraction left may be less than 0
        return np.maximum(self.table.weighted(self._weights(p, counts)), 0.0)

    def mean_noise(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
        """Return how far `mean` may be off by earlier subtractions; None without any."""
        return None if self.noise is None else self.noise.weighted(self._weights(p, counts))

    @abstractmethod
    def _weights(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The weight of each row of the table in a mean under priors p."""


class TotalSquares(Squares):
    """The sum of the squares of all samples, of shape (1, n_features)."""

    names = ("squares_total", "noise")
    by_class = False

    def _weights(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray:
        n = float(counts.sum())
        if not np.allclose(p * n, counts, rtol=1e-12, atol=0):
            raise not_enough("total")
        return np.array([1 / (n or 1.0)])


class ClassSquares(Squares):
    """The sums of the squares of the samples of each class, of shape (n_classes, n_features)."""

    names = ("squares_class", "noise")

    def _weights(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return ratio(p, counts)


def not_enough(second: str | None) -> ValueError:
    """Return the error of variances that the second moments of a state do not determine."""
    return ValueError(
        f"ClassStats: expected sums of squares for variances with these priors, got "
        f'second={second!r}. Use second="class" ("total" is enough for empirical priors).'
    )


def warn_of_lost_digits(
    varied: np.ndarray, squares: np.ndarray, variances: np.ndarray, noise: np.ndarray, raw: bool
) -> None:
    """Warn where a subtraction left fewer digits of a variance than it promises.

    Parameters
    ----------
    varied : ndarray of shape (n_features,)
        Whether the feature varied before.
    squares, variances, noise : ndarray of shape (n_features,)
        Mean squares, variances and their noise after it.
    raw : bool
        Whether the samples are sparse: a feature of which nothing is left is gone then.
    """
    lost = varied & (noise * 10**_DIGITS > variances)
    if raw:
        lost &= squares > noise
    if not lost.any():
        return
    digits = np.full(len(lost), np.inf)
    digits[lost] = np.log10(np.maximum(variances[lost] / noise[lost], 1.0))
    worst = int(digits.argmin())
    warn(
        f"ClassStats: expected at least {_DIGITS} correct digits of each variance after a "
        f"subtraction, got about {int(digits[worst])} for feature {worst}; {int(lost.sum())} "
        f"of {len(lost)} features have fewer than {_DIGITS}. Most of the spread stems from the "
        "samples subtracted: add up the states that remain instead."
    )


def ratio(a: Any, b: np.ndarray) -> np.ndarray:
    """a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(len(b)), where=b > 0)


def _in_one(table: Table) -> Table:
    """The sum of the rows, as a table of one row."""
    return Table((1, table.shape[1]), table.weighted(np.ones(table.shape[0]))[None, :])
