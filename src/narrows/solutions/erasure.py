"""Erasure: samples without what predicts targets, as a function of moments."""

from __future__ import annotations

import numpy as np

from narrows.moments.moments import Moments
from narrows.solve.scatter import correlated
from narrows.solve.signs import with_signs
from narrows.solve.solution import Solution


def leace(m: Moments) -> Solution:
    """Return the smallest change of the samples after which no target varies with a feature.

    Of the covariance Sigma and the directions V with V'Sigma V = I that span Sigma^-1 H', for the
    covariances H of targets and features, x loses V'(x - m) times ``(Sigma V)'``. These rows are
    computed as pinv(H V) H, so that H itself has none of them left, to rounding.
    """
    H, scale = m.with_targets(), _scale(m)
    H = scale[:, None] * H
    V = correlated(m.scatters(), scale)
    _, r, U = np.linalg.svd(H @ V, full_matrices=False)
    V = with_signs(V @ U.T) * np.sqrt(m.n)
    taken, share = np.linalg.pinv(H @ V) @ H, r**2
    return Solution.of_all(share, V, total=float(share.sum()), taken=taken, centre=m.mean @ V)


def _scale(m: Moments) -> np.ndarray:
    """Return what makes covariances correlations: of targets in units of their deviations."""
    if not m.is_numeric:
        return np.ones(int((m.counts > 0).sum()))
    size = np.sqrt(m.n * m.target_variances)
    return 1 / np.where(size > 0, size, np.inf)
