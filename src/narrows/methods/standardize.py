"""Features in units of their standard deviations, which the sums determine."""

from __future__ import annotations

from typing import Any

import numpy as np

from narrows.errors import ParameterError, RangeError
from narrows.methods.names import listed, listed_indices


def standardized(estimator: Any, n_features: int) -> np.ndarray | None:
    """Return which features to standardise, of shape (n_features,); None for none."""
    value, given = getattr(estimator, "standardize", False), listed(estimator)
    if np.ndim(value) == 0:
        return np.ones(n_features, dtype=bool) if value else None
    if np.asarray(given).dtype != bool:
        chosen = np.zeros(n_features, dtype=bool)
        chosen[listed_indices(estimator, n_features)] = True
        return chosen
    if len(given) != n_features:
        raise ParameterError(
            f"expected a mask of {n_features} features for "
            f"standardize, got one of {len(given)}. Give each feature True or False, or list "
            "indices."
        )
    return np.asarray(given)


def unit_of(estimator: Any, stats: Any) -> np.ndarray | None:
    """Return what features are divided by, from the state; None if they stay as they are."""
    chosen = standardized(estimator, stats.n_features)
    if chosen is None:
        return None
    return stats.units(chosen)


def unit_of_samples(estimator: Any, X: Any, weight: np.ndarray) -> np.ndarray | None:
    """Return what features are divided by, from all samples."""
    chosen = standardized(estimator, X.shape[1])
    if chosen is None:
        return None
    from sklearn.preprocessing import StandardScaler  # slow to import, seldom needed

    scaler = StandardScaler(with_mean=False).fit(X.astype(np.float64), sample_weight=weight)
    if not np.isfinite(scaler.scale_).all():
        largest = np.abs(X.data if hasattr(X, "indptr") else X).max()
        raise RangeError("numbers whose squares are finite", f"numbers up to {largest:.1e}")
    return np.where(chosen, scaler.scale_, 1.0)
