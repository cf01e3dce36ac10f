"""The origin that dense samples are measured from, so that their moments keep their digits.

Raw sums of squares lose every digit where the mean is large. The origin is near the mean of the
first batch, and follows most of the weight. None stands for 0, of sparse samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from narrows.state.moment import Shift
from narrows.solve.sums import near

EPS = float(np.finfo(np.float64).eps)
Origin = np.ndarray | None
Moments = dict[str, Any]  # by name; the class sums are the first


def middle(X: np.ndarray, Y: sparse.csr_array) -> np.ndarray:
    """A point in the middle of the samples that have weight."""
    each = Y.sum(axis=1)
    counted = (each > 0) & (each >= each.max(initial=0.0) / 2)
    return near(X if counted.all() else X[counted])


def about(moments: Moments, counts: np.ndarray, old: Origin, new: Origin) -> Moments:
    """Return moments about another origin: an exact shift."""
    if new is old or not counts.any():
        return moments
    delta = (np.zeros(1) if old is None else old) - (np.zeros(1) if new is None else new)
    with np.errstate(over="ignore", invalid="ignore"):  # checked next
        if "folds" in moments:
            shifted = {"folds": moments["folds"].moved(delta)}
        else:
            shift = Shift.of(moments, counts, delta)
            shifted = {name: moment.shifted(shift) for name, moment in moments.items()}
    for moment in shifted.values():
        moment.check_finite()
    return shifted


def is_far(mean: np.ndarray, squares: np.ndarray, origin: Origin) -> bool:
    """Whether the mean is farther from the origin, in any feature, than samples are from it.

    `mean` and `squares`, the mean square, are about the origin.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # no where squares are infinite
        return bool((mean**2 > 4 * (squares - mean**2) + resolution(origin)).any())


def resolution(origin: Origin) -> np.ndarray | float:
    """The largest squared deviation that may be the rounding of dense samples themselves."""
    return 0.0 if origin is None else (8 * EPS * origin) ** 2
