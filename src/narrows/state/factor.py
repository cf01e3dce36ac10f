"""The scatter of the class means as H'H, with an H that is multiplied without being made."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator

from narrows.state.stats import ClassStats


def between(stats: ClassStats, p: np.ndarray) -> LinearOperator:
    """Return H with the rows p_j^(1/2) (m_j - m), so that H'H is S_b.

    Parameters
    ----------
    stats : ClassStats
        The class sums. A product costs as much as reading them as they are stored.
    p : ndarray of shape (n_classes,)
        Priors; m is sum_j p_j m_j. Classes with p_j = 0 have no row.

    Returns
    -------
    H : LinearOperator of shape (number of classes with p_j > 0, n_features)
    """
    live = p > 0
    root, stored = np.sqrt(p[live]), stats._sums.stored()
    S, scale = stored if live.all() else stored[live], root / stats.counts[live]
    m = S.T @ (root * scale)
    return LinearOperator(
        S.shape,
        matvec=lambda v: scale * (S @ v.ravel()) - root * (m @ v.ravel()),
        rmatvec=lambda u: S.T @ (scale * u.ravel()) - m * (root @ u.ravel()),
        dtype=np.float64,
    )
