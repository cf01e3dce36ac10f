"""The bare cost: SciPy's product of the indicator matrix and the rows, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


class Bare:
    """Y'X, the class sums that every method here needs."""

    name = "bare"

    def run(self, X: Any, y: np.ndarray) -> Any:
        _, codes = np.unique(y, return_inverse=True)
        n = len(codes)
        Y = sparse.csr_array((np.ones(n), codes, np.arange(n + 1)))
        return Y.T.tocsr() @ X
