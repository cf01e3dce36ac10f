"""River's SelectKBest, which learns a dict at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import feature_selection, stats
from scipy import sparse

ROWS = 1000


class RiverSelect:
    """The first 1,000 rows only, by Pearson's correlation with the first class."""

    name = f"River SelectKBest/{ROWS}"

    def run(self, X: Any, y: np.ndarray) -> Any:
        X, first = sparse.csr_array(X[:ROWS]), y == y[0]
        select = feature_selection.SelectKBest(similarity=stats.PearsonCorr(), k=100)
        for i in range(X.shape[0]):
            entries = slice(X.indptr[i], X.indptr[i + 1])
            row = zip(X.indices[entries].tolist(), X.data[entries].tolist(), strict=True)
            select.learn_one(dict(row), float(first[i]))
        return select.leaderboard
