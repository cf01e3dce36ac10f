"""The hash of a sample, written out: which samples are kept follows from it, in files too."""

from __future__ import annotations

import numpy as np


def shifted(a, by):
    return a ^ (a >> np.uint64(by))


def hashes(X):
    """A number of 64 bits for each dense sample; features that are 0 do not count."""
    bits = (np.asarray(X, dtype=np.float64) + 0.0).view(np.uint64)
    with np.errstate(over="ignore"):
        k = np.arange(1, X.shape[1] + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        factors = shifted(k, 30) * np.uint64(0xBF58476D1CE4E5B9) | np.uint64(1)
        keys = (factors * shifted(bits, 32)).sum(axis=1, dtype=np.uint64)
        keys = shifted(keys, 30) * np.uint64(0xBF58476D1CE4E5B9)
        keys = shifted(keys, 27) * np.uint64(0x94D049BB133111EB)
    return shifted(keys, 31)
