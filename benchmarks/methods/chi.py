"""Our CHI, all columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from narrows import CHI


class ChiSquared:
    """Scores of presence."""

    name = "CHI"

    def run(self, X: Any, y: np.ndarray) -> Any:
        return CHI(n_features=100).fit(X, y).scores_
