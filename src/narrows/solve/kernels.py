"""The compiler of loops, the only module that imports numba, and loops that several modules share.

`iterations_steps`, `idr_qr_steps` and `regression_steps` have the steps of one solver each. Numba
is imported, and a loop compiled or read from the disk, when the loop is first called.
"""

from __future__ import annotations

import sys
from functools import cache, cached_property, update_wrapper
from threading import RLock
from types import FunctionType
from typing import Any

import numpy as np

from narrows.solve.in_place import SignalsHeld

Array = np.ndarray
Maybe = Any  # an array of a sparse matrix, or of the products of a dense block; else None

# without an entry point for C, which takes time to compile
_PLAIN: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
_INNER = {**_PLAIN, "no_cpython_wrapper": True, "forceinline": True}  # nor one for Python
_COMPILING = RLock()
_INLINED: set[Any] = set()


_said = False


@cache
def numba() -> Any:
    """Return the package, which says on a terminal, once, that functions of narrows are compiled.

    What is found on the disk is no such event.
    """
    with SignalsHeld():  # an import that ends half-way could not be repeated
        import numba
        from numba.core import event

    class Notice(event.Listener):
        def on_start(self, event: Any) -> None:
            global _said
            module = event.data["dispatcher"].py_func.__module__
            if not _said and module.startswith("narrows.") and sys.stderr.isatty():
                from tqdm import tqdm

                _said = True
                tqdm.write("narrows: compiling, once; this takes a few seconds.", file=sys.stderr)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Notice())  # type: ignore[no-untyped-call]
    return numba


class compiled:  # noqa: N801 (a decorator)
    """Compile a function that releases the GIL, and cache it on disk where that is possible.

    Its attribute `plain` is the function in Python, which gives the same bits.
    """

    def __init__(self, function: Any):
        self.function = function
        self.plain = np.errstate(all="ignore")(function)
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled function."""
        return self.fast(*arguments)

    @cached_property
    def fast(self) -> Any:
        """The compiled function."""
        with _COMPILING:
            return _compiled(self.function)


def inlined(function: Any) -> Any:
    """Inline a function into the compiled functions that call it; in Python it is what it was.

    Passing its many arrays would cost as much as its work. Inlining by numba instead of LLVM
    (inline="always") compiles more slowly.
    """
    _INLINED.add(function)
    return function


@cache
def _compiled(function: Any) -> Any:
    """Return a function as numba compiles it, of which the functions that it calls are, too."""
    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        called = names.get(name)
        if isinstance(called, compiled):
            names[name] = called.fast
        elif isinstance(called, FunctionType) and called in _INLINED:
            names[name] = _compiled(called)
    copy = update_wrapper(FunctionType(function.__code__, names), function)
    if function in _INLINED:
        return numba().njit(**_INNER)(copy)
    try:
        return numba().njit(nogil=True, cache=True, **_PLAIN)(copy)
    except RuntimeError:  # a read-only install without a home: nowhere to cache
        return numba().njit(nogil=True, **_PLAIN)(copy)


GO_ON, TOO_LARGE = 0, 1  # what any step may ask of its caller
LARGEST = 1e120  # the largest |x|^2, whose square has to be finite
_PLACE = np.uintp  # the type of indices: signed ones are checked for being negative


@compiled
def add_class_rows(
    indptr: Array, indices: Array, data: Array, label_ptr: Array, label_row: Array,
    label_weight: Array, sums: Array, squares: Array, square_row: Array,
) -> None:  # fmt: skip
    """Add the rows of CSR parts to `sums` and to `squares`; O(nnz labels).

    Row j of `sums` has its squares in row square_row[j] of `squares`, which may have no rows.
    """
    for i in range(len(indptr) - 1):
        for k in range(label_ptr[i], label_ptr[i + 1]):
            row, weight = label_row[k], label_weight[k]
            s = sums[row]
            if len(squares):
                q = squares[square_row[row]]
                for e in range(indptr[i], indptr[i + 1]):
                    v = np.float64(data[e])
                    s[_PLACE(indices[e])] += weight * v
                    q[_PLACE(indices[e])] += weight * v * v
            else:
                for e in range(indptr[i], indptr[i + 1]):
                    s[_PLACE(indices[e])] += weight * data[e]


@compiled
def add_dense_rows(
    X: Array, label_ptr: Array, label_row: Array, label_weight: Array, origin: Array,
    sums: Array, squares: Array, square_row: Array,
) -> None:  # fmt: skip
    """Add dense rows less `origin` to `sums` and to `squares`; O(n d).

    Row j of `sums` has its squares in row square_row[j] of `squares`, which may have no rows.
    """
    for i in range(len(X)):
        x = X[i]
        for k in range(label_ptr[i], label_ptr[i + 1]):
            row, weight = label_row[k], label_weight[k]
            s = sums[row]
            if len(squares):
                q = squares[square_row[row]]
                for e in range(len(s)):
                    v = x[e] - origin[e]
                    s[e] += weight * v
                    q[e] += weight * v * v
            else:
                for e in range(len(s)):
                    v = x[e] - origin[e]
                    s[e] += weight * v


@compiled
def add_products(
    indptr: Array, indices: Array, data: Array, weight: Array, low: int, high: int, G: Array
) -> None:
    """G += sum_i w_i x_i x_i' for rows of CSR parts, sorted; O(nnz^2 / n).

    What is above the diagonal, in the rows of G from `low` on, and below `high`.
    """
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            row, v = indices[e], weight[i] * data[e]
            if row < low:
                continue
            if row >= high:
                break
            for f in range(e, indptr[i + 1]):
                G[row, indices[f]] += v * data[f]


@compiled
def hash_rows(bits: Array, factors: Array) -> Array:
    """Return the sum of each row of bits, with their high ones also as low ones, times factors."""
    found = np.empty(len(bits), np.uint64)
    for i in range(len(bits)):
        key = np.uint64(0)
        for k in range(len(factors)):
            key += factors[k] * (bits[i, k] ^ (bits[i, k] >> np.uint64(32)))
        found[i] = key
    return found


@compiled
def gather_products(
    indptr: Array, indices: Array, data: Array, V: Array, a: Array, s: Array, out: Array
) -> None:
    """out = X V + a s' for rows X of CSR parts, summed in their order; O(nnz k)."""
    for i in range(len(out)):
        for k in range(len(s)):
            out[i, k] = a[i] * s[k]
        e, end = indptr[i], indptr[i + 1]
        while e + 4 <= end:  # four at a time: the sum is read and written once for them
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
def scatter_products(indptr: Array, indices: Array, data: Array, V: Array, out: Array) -> None:
    """out += X'V for rows X of CSR parts; O(nnz k)."""
    for i in range(len(V)):
        for e in range(indptr[i], indptr[i + 1]):
            row, v = indices[e], data[e]
            for k in range(V.shape[1]):
                out[row, k] += v * V[i, k]


@inlined
def sparse_products(
    t: int, indptr: Array, indices: Array, data: Array, Q: Array, q: Array
) -> float:
    """Set q = Q'x for row t of CSR parts, and return x'x."""
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


@inlined
def products(
    t: int, indptr: Maybe, indices: Maybe, data: Maybe, QX: Maybe, XX: Maybe, Q: Array,
    coefficients: Array, q: Array,
) -> float:  # fmt: skip
    """Set q = Q'x for sample t of CSR parts or of a block, and return x'x."""
    # two conditions, each on what may be None: such a branch is not compiled
    if indptr is not None:
        xx = sparse_products(t, indptr, indices, data, Q, q)
    if QX is not None:
        xx = block_products(t, t, QX, XX, coefficients, q)
    return xx


@inlined
def block_products(
    t: int, before: int, QX: Array, XX: Array, coefficients: Array, q: Array
) -> float:
    """Set q = Q'x for row t of a block X, which is given by X Q and X X'; return x'x.

    Q is the one from the start of the block, plus X'coefficients, what rows have added since: those
    up to row `before`, and the last one, which is the shift.
    """
    last = len(coefficients) - 1
    for k in range(len(q)):
        q[k] = QX[t, k] + XX[t, last] * coefficients[last, k]
    for i in range(before):
        for k in range(len(q)):
            q[k] += XX[i, t] * coefficients[i, k]
    return XX[t, t]


@compiled
def less(A: Array, B: Array, by: Array) -> Array:
    """Set B = A - B diag(by); return the squares of the columns."""
    squares = np.zeros(len(by))
    for i in range(len(B)):
        for k in range(len(by)):
            t = A[i, k] - by[k] * B[i, k]
            B[i, k] = t
            squares[k] += t * t
    return squares


@compiled
def advance(X: Array, W: Array, V: Array, unit: Array, t1: Array, t2: Array) -> Array:
    """Set V *= unit, X += t1 W, W = V + t2 W; return the squares of the columns of the old W."""
    squares = np.zeros(len(unit))
    for i in range(len(X)):
        for k in range(len(unit)):
            w, v = W[i, k], V[i, k] * unit[k]
            squares[k] += w * w
            X[i, k] += t1[k] * w
            V[i, k] = v
            W[i, k] = v + t2[k] * w
    return squares
