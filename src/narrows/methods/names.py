"""How the features of a model are called: functions that classes take as methods."""

from __future__ import annotations

from typing import Any

import numpy as np


def method_of(model: Any) -> str:
    """Return the name of the method."""
    name: str = vars(model).get("_method", type(model).__name__)
    return name


def column_names(model: Any) -> np.ndarray | None:
    """Return the names of the features in the data, of shape (n_features,), if any."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and model._source is not None:
        names = model._source.names
    return names


def file_columns(model: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a file or table to read, if they have names."""
    names, source = getattr(model, "feature_names_in_", None), model._source
    if source is not None:
        columns: tuple[str, ...] | None = source.columns
        return columns
    return None if names is None else tuple(names)


def targets_of(estimator: Any) -> list[str]:
    """Return the names of the targets of an estimator of numbers; y, or y0, y1, … without names."""
    names, n = getattr(estimator._source, "target", None), estimator._n_targets
    if names is not None and len(names) == n:
        return list(names)
    return [f"y{k}" for k in range(n)] if n > 1 else ["y"]
