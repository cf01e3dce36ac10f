"""How the features of a model are called."""

from __future__ import annotations

from typing import Any

import numpy as np


class Named:
    """What has the names of features: of the data, or of the files that these were read from."""

    _source: Any

    @property
    def _method(self) -> str:
        """The name of the method."""
        return type(self).__name__

    def _column_names(self) -> np.ndarray | None:
        """Return the names of the features in the data, of shape (n_features,), if any."""
        names = getattr(self, "feature_names_in_", None)
        if names is None and self._source is not None:
            names = self._source.names
        return names

    def _file_columns(self) -> tuple[str, ...] | None:
        """Return the names of the columns of a file or table to read, if they have names."""
        names, source = getattr(self, "feature_names_in_", None), self._source
        if source is not None:
            columns: tuple[str, ...] | None = source.columns
            return columns
        return None if names is None else tuple(names)
