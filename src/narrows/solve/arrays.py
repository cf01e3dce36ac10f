"""Arrays as compiled steps need them."""

from __future__ import annotations

import numpy as np


def read_only(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return views that cannot be written: one type to compile for, whatever the arrays are."""
    views = tuple(array.view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views


def wider(array: np.ndarray, more: int) -> np.ndarray:
    """Return an array with so many columns of zeros appended, which are not written here."""
    new = np.zeros((len(array), array.shape[1] + more), array.dtype)
    new[:, : array.shape[1]] = array
    return new
