"""Curve: how held-out samples score by each of several values of a number, such as a ridge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from narrows.solve.codec import SchemaError

_HELD = 0.5  # standard errors: as good as the best
_LEAST = 0.9  # of the best score, at an elbow


def _no_numbers() -> np.ndarray:
    return np.empty(0)


@dataclass(frozen=True)
class Curve:
    """The mean score of held-out samples for each of several values of a number.

    Parameters
    ----------
    values, scores, errors : ndarray of shape (n_values,)
        The values, such as ridges or sizes; the means, and their standard errors.
    each : ndarray of shape (n_values, n_held)
        The scores of single samples, if they are kept; they are not stored in files.
    weight : ndarray of shape (n_held,)
        The weights of these samples.
    """

    values: Annotated[np.ndarray, "f8 i8", "..."] = field(default_factory=_no_numbers)
    scores: Annotated[np.ndarray, "f8 infinite", "..."] = field(default_factory=_no_numbers)
    errors: Annotated[np.ndarray, "f8 infinite", "..."] = field(default_factory=_no_numbers)
    each: np.ndarray = field(default_factory=_no_numbers)
    weight: np.ndarray = field(default_factory=_no_numbers)

    def check_arrays(self, sizes: Mapping[str, int]) -> None:
        """Raise SchemaError where arrays have no entry for each value."""
        if not self.values.shape == self.scores.shape == self.errors.shape or self.values.ndim != 1:
            raise SchemaError("curve: expected scores and errors of its values, got others.")

    @classmethod
    def of_folds(cls, curves: np.ndarray, weight: np.ndarray) -> Curve:
        """Return the mean of curves over the sizes 1, 2, …, and its standard error.

        Parameters
        ----------
        curves : ndarray of shape (n_folds, n_sizes)
            The curve of each fold; two folds at least.
        weight : ndarray of shape (n_folds,)
            The weight of the samples of each fold, > 0.
        """
        share, count = weight / weight.sum(), len(weight)
        unit = np.ldexp(1.0, np.frexp(np.abs(curves).max(initial=0.0))[1] - 1)  # for the squares
        curves = curves / unit
        scores = share @ curves
        squares = share**2 @ (curves - scores) ** 2
        errors = unit * np.sqrt(squares * (count / (count - 1)))
        return cls(np.arange(1, len(scores) + 1), unit * scores, errors)

    def at(self, value: float) -> np.ndarray:
        """Return the score of each held-out sample with one of the values."""
        return self.each[int(np.abs(self.values - value).argmin())]

    def score_at(self, value: float) -> float:
        """Return the mean score with one of the values."""
        return float(self.scores[int(np.abs(self.values - value).argmin())])

    def nearest(self, to: float) -> float:
        """Return the value nearest to a number among those half a standard error from the best."""
        best = int(self.scores.argmax())
        values = self.values[self.scores >= self.scores[best] - _HELD * self.errors[best]]
        if len(values) == 1:  # it may be 0
            return float(values[0])
        return float(values[np.abs(np.log(values / to)).argmin()])

    def smallest(self) -> int:
        """Return the smallest value whose score is within one standard error of the best.

        That of the difference where the scores of single samples are kept.
        """
        best = int(self.scores.argmax())
        error = self.errors[best]
        if len(self.each):
            behind = self.each - self.each[best]
            away = behind - (self.scores - self.scores[best])[:, None]
            error = np.sqrt(away**2 @ self.weight) / self.weight.sum()
        good = self.scores >= self.scores[best] - error
        return int(self.values[int(good.argmax())])

    def elbow(self) -> int:
        """Return the size where the curve is farthest above the line from 0 to its best score.

        The line ends at the last size. It is the smallest size with 0.9 of the best score if that
        is larger, and `smallest` if that is less.
        """
        best = self.scores.max()
        if not best > 0:
            return self.smallest()
        share = self.scores / best
        bend = share[int((share - self.values / len(self.values)).argmax())]
        return min(self.smallest(), int(self.values[int((share >= max(bend, _LEAST)).argmax())]))


NO_CURVE = Curve()
