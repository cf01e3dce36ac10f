"""What compiled loops are made with; the only file that imports numba, where one is needed.

The steps of each engine are in a file beside it: `span_steps`, `idr_qr_steps`, `rls_steps`.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

Array = np.ndarray
Part = Any  # an array of a sparse matrix, or of the products of a dense block; else None

# without what C would call it by, which takes time to make
_PLAIN: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
_INNER = {**_PLAIN, "forceinline": True, "no_cpython_wrapper": True}  # nor Python


def compiled(function: Any) -> Any:
    """Compile without the GIL, and keep the result on disk where there is a place for it."""
    try:
        return numba.njit(nogil=True, cache=True, **_PLAIN)(function)
    except RuntimeError:  # a read-only install without a home: no place to keep it
        return numba.njit(nogil=True, **_PLAIN)(function)


def part(function: Any) -> Any:
    """Compile what compiled functions alone call, into each of them.

    To hand its many arrays over would cost as much as the work. To have numba and not LLVM put it
    in (inline="always") takes longer.
    """
    return numba.njit(**_INNER)(function)


GO_ON, TOO_LARGE = 0, 1  # what a step asks of its caller; others are its own
LARGEST = 1e120  # of |x|^2, whose square has to be a number


@compiled
def add_class_rows(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    label_ptr: np.ndarray,
    label_row: np.ndarray,
    label_weight: np.ndarray,
    presence: bool,
    sums: np.ndarray,
    squares: np.ndarray,
    square_row: np.ndarray,
) -> None:
    """Add the rows X of CSR parts, or their presence, to `sums` and to `squares`.

    Label k adds, with its weight, to row label_row[k] of `sums` and, if `squares` has rows, to row
    square_row[k] of these. O(nnz labels a row).
    """
    for i in range(len(indptr) - 1):
        for k in range(label_ptr[i], label_ptr[i + 1]):
            row, weight = label_row[k], label_weight[k]
            if len(squares):
                square = square_row[k]
                for e in range(indptr[i], indptr[i + 1]):
                    v = (1.0 if data[e] != 0.0 else 0.0) if presence else np.float64(data[e])
                    sums[row, indices[e]] += weight * v
                    squares[square, indices[e]] += weight * v * v
            elif presence:
                for e in range(indptr[i], indptr[i + 1]):
                    sums[row, indices[e]] += weight if data[e] != 0.0 else 0.0
            else:
                for e in range(indptr[i], indptr[i + 1]):
                    sums[row, indices[e]] += weight * data[e]


@compiled
def numbers_at(
    indptr: np.ndarray,
    indices: np.ndarray,
    label_ptr: np.ndarray,
    label_row: np.ndarray,
    table: np.ndarray,
    out: np.ndarray,
    done: int,
) -> int:
    """Copy what `add_class_rows` would change, in its order, to `out` from place `done` on.

    Returns the place behind the last one.
    """
    for i in range(len(indptr) - 1):
        for k in range(label_ptr[i], label_ptr[i + 1]):
            for e in range(indptr[i], indptr[i + 1]):
                out[done] = table[label_row[k], indices[e]]
                done += 1
    return done


@compiled
def add_dense_rows(
    X: np.ndarray,
    label_ptr: np.ndarray,
    label_row: np.ndarray,
    label_weight: np.ndarray,
    origin: np.ndarray,
    presence: bool,
    sums: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Add dense rows less `origin`, or their presence, to `sums` and to `squares`; O(n d).

    `squares` has as many rows as `sums`, one for all, or none.
    """
    for i in range(len(X)):
        x = X[i]
        for k in range(label_ptr[i], label_ptr[i + 1]):
            row, weight = label_row[k], label_weight[k]
            s = sums[row]
            if len(squares):
                q = squares[row if len(squares) > 1 else 0]
                for e in range(len(s)):
                    v = (1.0 if x[e] != 0.0 else 0.0) if presence else x[e] - origin[e]
                    s[e] += weight * v
                    q[e] += weight * v * v
            else:
                for e in range(len(s)):
                    v = (1.0 if x[e] != 0.0 else 0.0) if presence else x[e] - origin[e]
                    s[e] += weight * v


@compiled
def gather_products(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    V: np.ndarray,
    a: np.ndarray,
    s: np.ndarray,
    out: np.ndarray,
) -> None:
    """out = X V + a s' for rows X of CSR parts, summed in their order; O(nnz k)."""
    for i in range(len(out)):
        for k in range(len(s)):
            out[i, k] = a[i] * s[k]
        e, end = indptr[i], indptr[i + 1]
        while e + 4 <= end:  # four at a time: what is added to is read and written once for them
            r0, r1, r2, r3 = indices[e], indices[e + 1], indices[e + 2], indices[e + 3]
            v0, v1, v2, v3 = data[e], data[e + 1], data[e + 2], data[e + 3]
            for k in range(len(s)):
                t = out[i, k] + v0 * V[r0, k] + v1 * V[r1, k]
                out[i, k] = t + v2 * V[r2, k] + v3 * V[r3, k]
            e += 4
        while e < end:
            row, v = indices[e], data[e]
            for k in range(len(s)):
                out[i, k] += v * V[row, k]
            e += 1


@compiled
def scatter_products(
    indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, V: np.ndarray, out: np.ndarray
) -> None:
    """out += X'V for rows X of CSR parts; O(nnz k)."""
    for i in range(len(V)):
        for e in range(indptr[i], indptr[i + 1]):
            row, v = indices[e], data[e]
            for k in range(V.shape[1]):
                out[row, k] += v * V[i, k]


@part
def row_products(
    t: int, indptr: Part, indices: Part, data: Part, QX: Part, XX: Part, folds: Array, Q: Array,
    q: Array,
) -> float:  # fmt: skip
    """Set q = Q'x for row t of CSR parts, or of a block of dense rows, and return x'x.

    What is None is not compiled. A block is given by its products, as for `block_products`.
    """
    xx = 0.0
    if QX is not None:
        block_products(t, t, QX, XX, folds, q)
        xx = XX[t, t]
    if indptr is not None:
        xx = _sparse_products(t, indptr, indices, data, Q, q)
    return xx


@part
def _sparse_products(
    t: int, indptr: Array, indices: Array, data: Array, Q: Array, q: Array
) -> float:
    xx = 0.0
    for k in range(len(q)):
        q[k] = 0.0
    e, end = indptr[t], indptr[t + 1]
    while e + 4 <= end:  # four at a time: q is read and written once for them
        r0, r1, r2, r3 = indices[e], indices[e + 1], indices[e + 2], indices[e + 3]
        v0, v1, v2, v3 = data[e], data[e + 1], data[e + 2], data[e + 3]
        xx += (v0 * v0 + v1 * v1) + (v2 * v2 + v3 * v3)
        for k in range(len(q)):
            q[k] += (v0 * Q[r0, k] + v1 * Q[r1, k]) + (v2 * Q[r2, k] + v3 * Q[r3, k])
        e += 4
    while e < end:
        row, v = indices[e], data[e]
        xx += v * v
        for k in range(len(q)):
            q[k] += v * Q[row, k]
        e += 1
    return xx


@part
def block_products(t: int, before: int, QX: Array, XX: Array, folds: Array, q: Array) -> None:
    """Set q = Q'x for row t of a block X, given by X Q and X X', with Q as it was after `before`.

    The Q of now is that of the block's start, and X'folds of so many rows, and of the last one.
    """
    last = len(folds) - 1
    for k in range(len(q)):
        q[k] = QX[t, k] + XX[t, last] * folds[last, k]
    for i in range(before):
        for k in range(len(q)):
            q[k] += XX[i, t] * folds[i, k]
