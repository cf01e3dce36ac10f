"""Our OC, down to its directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from narrows import OC


class OrthogonalCentroid:
    """All c - 1 directions."""

    name = "OC"

    def run(self, X: Any, y: np.ndarray) -> Any:
        return OC().fit(X, y).components_
