"""The samples that a diagonal regression holds, and what they stand for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from narrows.solve.rls import DiagonalRLS
from narrows.solve.rls_rule import FACTOR, WEIGHT

_FULL = 0.1  # of the entries: from this density on products are made by dense blocks


class Held(NamedTuple):
    """The samples held.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Dense where sparse would be slower.
    targets : ndarray of shape (n_samples, n_classes)
        Indicators of their labels.
    code : ndarray
        With one label per sample, its number.
    weight, stands : ndarray of shape (n_samples,)
        Their decayed weights, and those of all samples that each stands for.
    """

    X: Any
    targets: np.ndarray
    code: np.ndarray
    weight: np.ndarray
    stands: np.ndarray


def n_held(core: DiagonalRLS) -> int:
    """Return the number of samples held that have weight; others decayed to nothing."""
    return int(np.count_nonzero(core.reservoir.kept[1, : core.reservoir.used] * core.clock[FACTOR]))


def held_samples(core: DiagonalRLS, several: bool = False) -> Held:
    """Return the samples held; those of a class stand for all of it, or each for as many."""
    X, Y, weight = core.samples()
    if not weight.all():  # they decayed to nothing
        X, Y, weight = X[weight > 0], Y[weight > 0], weight[weight > 0]
    X = X.astype(np.float64)
    if X.nnz > _FULL * X.shape[0] * X.shape[1]:
        X = X.toarray()
    if several:
        stands = weight * (core.clock[WEIGHT] / weight.sum())
    else:
        held = np.bincount(Y.indices, weight, len(core.b))
        stands = weight * (core.N[0] / np.where(held > 0, held, 1.0))[Y.indices]
    return Held(X, Y.toarray(), Y.indices, weight, np.maximum(stands, weight))
