"""Projections of features in units of their standard deviations, which the sums determine."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import numpy as np

from narrows.errors import ParameterError, RangeError
from narrows.methods.names import listed, listed_indices
from narrows.methods.parameters import FLAG, LIST, Constraint
from narrows.methods.projector import Projector
from narrows.state.cross import MOST
from narrows.state.mapped import Mapped


class Standardizing(Projector):
    """A projection with `standardize`; without this parameter, features stay as they are."""

    _lists_features = "standardize"
    _constraints: ClassVar[dict[str, Constraint]] = {
        "standardize": FLAG | LIST.said("a list of names or indices, or a mask")
    }

    def _check_together(self, n_features: int) -> None:
        super()._check_together(n_features)
        if n_features < sys.maxsize:  # the data are known
            self._standardized(n_features)

    def _standardized(self, n_features: int) -> np.ndarray | None:
        """Return which features to standardise, of shape (n_features,); None for none."""
        value, given = getattr(self, "standardize", False), listed(self)
        if np.ndim(value) == 0:
            return np.ones(n_features, dtype=bool) if value else None
        if np.asarray(given).dtype != bool:
            chosen = np.zeros(n_features, dtype=bool)
            chosen[listed_indices(self, n_features)] = True
            return chosen
        if len(given) != n_features:
            raise ParameterError(
                f"{type(self).__name__}: expected a mask of {n_features} features for standardize, "
                f"got one of {len(given)}. Give each feature True or False, or list indices."
            )
        return np.asarray(given)

    def _check_units(self) -> None:
        """Raise ParameterError if features are to be standardised, where they cannot be."""
        value = getattr(self, "standardize", False)
        if listed(self) or (np.ndim(value) == 0 and value):
            raise ParameterError(
                f"{type(self).__name__}: expected standardize=False in bands, and for more than "
                f"{MOST:,} features on a cluster, got features to standardise. Put scikit-learn's "
                "StandardScaler(with_mean=False) in front, or select features first."
            )

    def _unit(self, stats: Any) -> np.ndarray | None:
        """Return what features are divided by, from the state; None if they stay as they are."""
        chosen = self._standardized(stats.n_features)
        if chosen is None:
            return None
        if isinstance(stats, Mapped):
            self._check_units()
        found: np.ndarray = stats.units(chosen)
        return found

    def _unit_of_samples(self, X: Any, weight: np.ndarray) -> np.ndarray | None:
        """Return what features are divided by, from all samples."""
        chosen = self._standardized(X.shape[1])
        if chosen is None:
            return None
        from sklearn.preprocessing import StandardScaler  # slow to import, seldom needed

        scaler = StandardScaler(with_mean=False).fit(X.astype(np.float64), sample_weight=weight)
        if not np.isfinite(scaler.scale_).all():
            largest = np.abs(X.data if hasattr(X, "indptr") else X).max()
            raise RangeError("numbers whose squares are finite", f"numbers up to {largest:.1e}")
        return np.where(chosen, scaler.scale_, 1.0)
