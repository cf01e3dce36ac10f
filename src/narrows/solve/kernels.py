"""Compiled loops; the only file that imports numba, and imported only when one is needed."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


def _compiled(function: Any) -> Any:
    """Compile without the GIL, and keep the result on disk where there is a place for it."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # a read-only install without a home: no place to keep it
        return numba.njit(nogil=True)(function)


@_compiled
def add_class_rows(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    label_ptr: np.ndarray,
    label_row: np.ndarray,
    label_weight: np.ndarray,
    out: np.ndarray,
) -> None:
    """out += Y'X for X (n, d) and Y (n, c) in CSR parts, out (c, d) dense; O(nnz labels a row)."""
    for i in range(len(indptr) - 1):
        for k in range(label_ptr[i], label_ptr[i + 1]):
            row, weight = label_row[k], label_weight[k]
            for e in range(indptr[i], indptr[i + 1]):
                out[row, indices[e]] += weight * data[e]
