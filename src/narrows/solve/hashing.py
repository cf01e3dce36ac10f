"""Hashes of samples, by which a few of them are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from narrows.solve.products import compiled_pays
from narrows.solve.sums import BLOCK, blocks, canonical

_HALF = np.uint64(32)  # of the bits of a number


def hashes(X: Any) -> np.ndarray:
    """Return a hash of each sample; zeros do not count, and sparse ones have that of dense ones.

    It is that of sum_k a_k b_k, with an odd a_k for each column. b_k are the bits of a number, the
    high ones, which all numbers differ in, also as low ones.
    """
    if sparse.issparse(X):
        X = canonical(X)
        bits = (X.data.astype(np.float64) + 0.0).view(np.uint64)
        bits ^= bits >> _HALF
        bits *= _factors(X.indices)
        sums = np.append(np.uint64(0), np.cumsum(bits))
        keys = sums[X.indptr[1:]] - sums[X.indptr[:-1]]  # modulo 2^64, as the sums are
    else:
        fast = compiled_pays(X.size)
        if fast:
            from narrows.solve.kernels import hash_rows
        factors = _factors(np.arange(X.shape[1]))
        keys = np.empty(len(X), np.uint64)
        size = max(1, BLOCK // max(1, X.shape[1]))
        room = np.empty((min(len(X), size), X.shape[1]))  # one array, which stays in the cache
        for rows in blocks(len(X), size):
            part = room[: rows.stop - rows.start]
            part[:] = X[rows]
            part += 0.0  # -0 becomes 0
            bits = part.view(np.uint64)
            if fast:
                keys[rows] = hash_rows(bits, factors)
            else:
                keys[rows] = np.einsum("ij,j->i", bits ^ (bits >> _HALF), factors)
    with np.errstate(over="ignore"):  # splitmix64: each bit depends on all bits
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _factors(columns: np.ndarray) -> np.ndarray:
    """Return an odd number for each column."""
    a = (columns.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return ((a ^ (a >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)) | np.uint64(1)
