"""The compiled loop of `narrows.state.bands`."""

from __future__ import annotations

import numpy as np

from narrows.solve.kernels import Array, compiled


@compiled
def fold_rows(
    indptr: Array, indices: Array, data: Array, place: Array, ends: Array, codes: Array,
    sums: Array, mix: Array, first: Array, raw: Array, touched: Array, out_ptr: Array,
    out_index: Array, out_data: Array,
) -> None:  # fmt: skip
    """Write the coordinates of the rows of CSR parts as CSR parts; O(nnz c + g c r) a row.

    place[k] >= 0 is the coordinate of feature k; -2 - b says that it is in band b, with the class
    sums sums[ends[k]:ends[k + 1]] of the classes `codes`. The products of band b with these times
    mix[b] are its coordinates first[b] to first[b + 1] - 1. The last coordinate is the length of
    what the others leave out. `raw`, which has a row for each band, holds zeros, and `touched`
    False, before and after.
    """
    n, last = 0, first[-1]
    out_ptr[0] = 0
    for i in range(len(indptr) - 1):
        square, kept = 0.0, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            where, x = place[indices[e]], np.float64(data[e])
            square += x * x
            if where >= 0:
                out_index[n], out_data[n] = where, x
                kept += x * x
                n += 1
            elif where != -1:  # somewhere
                b = -2 - where
                touched[b] = True
                for k in range(ends[indices[e]], ends[indices[e] + 1]):
                    raw[b, codes[k]] += x * sums[k]
        for b in range(len(touched)):
            if touched[b]:
                start, width = n, first[b + 1] - first[b]
                for k in range(width):
                    out_index[n], out_data[n] = first[b] + k, 0.0
                    n += 1
                for j in range(raw.shape[1]):
                    x = raw[b, j]
                    for k in range(width):
                        out_data[start + k] += x * mix[b, j, k]
                    raw[b, j] = 0.0
                for k in range(start, n):
                    kept += out_data[k] * out_data[k]
                touched[b] = False
        if square - kept > 1e-12 * square:
            out_index[n], out_data[n] = last, np.sqrt(square - kept)
            n += 1
        out_ptr[i + 1] = n
