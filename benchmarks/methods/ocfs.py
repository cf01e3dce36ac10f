"""Our OCFS, down to the columns it keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from narrows import OCFS


class OrthogonalCentroidSelection:
    """Scores, their order, and the 100 best columns."""

    name = "OCFS"

    def run(self, X: Any, y: np.ndarray) -> Any:
        return OCFS(n_features=100).fit(X, y).get_support(indices=True)
