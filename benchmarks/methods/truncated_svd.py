"""scikit-learn's TruncatedSVD, which knows no labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD


class SVD:
    """As many directions as OC has."""

    name = "TruncatedSVD"

    def run(self, X: Any, y: np.ndarray) -> Any:
        return TruncatedSVD(max(1, len(np.unique(y)) - 1), random_state=0).fit(X).components_
