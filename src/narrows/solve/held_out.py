"""Curves of held-out scores, one for each fold, and the size that they choose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class HeldOutCurve(NamedTuple):
    """The mean of the curves of all folds, and its standard error.

    Parameters
    ----------
    scores, errors : ndarray of shape (n_sizes,)
        Entry p - 1 is for the size p.
    """

    scores: np.ndarray
    errors: np.ndarray

    @classmethod
    def of(cls, curves: np.ndarray, weight: np.ndarray) -> HeldOutCurve:
        """Return the mean of curves and its standard error.

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
        return cls(unit * scores, unit * np.sqrt(squares * (count / (count - 1))))

    def smallest(self) -> int:
        """Return the smallest size whose score is within one standard error of the best."""
        best = int(self.scores.argmax())
        return int((self.scores >= self.scores[best] - self.errors[best]).argmax()) + 1


NO_CURVE = HeldOutCurve(np.empty(0), np.empty(0))
