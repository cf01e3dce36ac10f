"""Compiled parts that the steps on a `Span` share; `narrows.solve.span` defines the letters.

A step sets each new v_j to a_j v_j + F kap_j - sum_k<j low_jk v_k(new), with F = [Phi_1 .. Phi_s,
u, m], Phi_i = m_i - m and u = x - m, and w to F'v. `add_sample` prepares the inner products of F;
`fold_in` then adds the sample to the basis and updates the coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from narrows.solve.kernels import LARGEST, TOO_LARGE, Array, Part, part

REBASE, STILL = 2, 3  # what these steps may ask for, too

_GUARD_EVERY = 64  # samples between two checks of the cancellation in the coordinates
_CANCELLED = 100.0  # the largest |parts| of a vector over its length: products lose its square
_SMALL, _GROWN = 1e-30, 10.0  # bounds of the diagonal of A, which each sample can multiply


@part
def add_sample(
    label: int, q: Array, xx: float, with_u: bool, A: Array, B: Array, SV: Array, SS: Array,
    N: Array, clock: Array, share: Array, Y: Array, r: Array,
) -> float:  # fmt: skip
    """Add a sample to the products of the class sums, set Y = [F'V | F'F], and return m'm.

    F has the column u only with `with_u`.
    """
    p, s = B.shape
    u, m = s, s + 1 if with_u else s
    for j in range(p):
        t = 0.0
        for k in range(p):
            t += A[j, k] * q[k]
        for k in range(s):
            t += B[j, k] * q[p + k]
        SV[label, j] += t
        if with_u:
            Y[u, j] = t
    for k in range(s):
        SS[label, k] += q[p + k]
    for k in range(s):
        SS[k, label] += q[p + k]
    SS[label, label] += xx
    N[label] += 1.0
    clock[0] += 1.0
    clock[1] += xx
    per_n = 1.0 / clock[0]
    mm = 0.0
    for i in range(s):
        t = 0.0
        for k in range(s):
            t += SS[i, k]
        r[i] = t * per_n  # S_i'm
        mm += r[i] * per_n
        share[i] = 1.0 / N[i] if N[i] > 0.0 else 0.0
    for k in range(p):
        t = 0.0
        for i in range(s):
            t += SV[i, k]
        Y[m, k] = t * per_n
    Y[m, p + m] = mm
    for i in range(s):
        to_m = r[i] * share[i] - mm
        Y[m, p + i] = to_m
        Y[i, p + m] = to_m
        for k in range(p):
            Y[i, k] = SV[i, k] * share[i] - Y[m, k]
        for k in range(s):
            Y[i, p + k] = (SS[i, k] * share[i] - r[k]) * share[k] - to_m
    if with_u:
        mx = xx
        for i in range(s):
            mx += q[p + i]
        mx *= per_n
        for k in range(p):
            Y[u, k] -= Y[m, k]
        for i in range(s):
            Sx = q[p + i] + xx if i == label else q[p + i]
            Y[u, p + i] = (Sx * share[i] - mx) - Y[m, p + i]
            Y[i, p + u] = Y[u, p + i]
        Y[u, p + u] = xx - 2.0 * mx + mm
        Y[u, p + m] = mx - mm
        Y[m, p + u] = mx - mm
    return mm


@part
def fold_in(
    t: int, label: int, q: Array, xx: float, active: int, with_u: bool, A: Array, B: Array,
    L: Array, SV: Array, N: Array, WW: Array, n: float, share: Array, w: Array, kap: Array,
    low: Array, a: Array, per_nu: Array, y: Array, r: Array, folds: Array,
) -> None:  # fmt: skip
    """Set row t of `folds`, and update A, B and SV to the new v.

    The fold is W += x g' and S_label += x, with g such that no new v has a part in x alone.
    """
    p, s = B.shape
    m = s + 1 if with_u else s
    for j in range(p):
        g = 0.0
        if j < active:
            g = -B[j, label]
            if with_u:
                g += kap[j, s] / a[j]
            for k in range(j):
                g -= A[j, k] * folds[t, k]
            g /= A[j, j]
        folds[t, j] = g
        WW[j] += 2.0 * g * q[j] + g * g * xx
    for k in range(s):
        folds[t, p + k] = 0.0
    folds[t, p + label] = 1.0
    for j in range(active):
        x = 0.0
        for i in range(m):
            x += kap[j, i]
        x /= n
        for k in range(j + 1):
            A[j, k] *= a[j]
        for k in range(s):
            if N[k] > 0.0:
                B[j, k] = a[j] * B[j, k] + kap[j, k] * share[k] - x
        for k in range(j):
            x = low[j, k]
            for i in range(k + 1):
                A[j, i] -= x * A[k, i]
            for i in range(s):
                B[j, i] -= x * B[k, i]
    for k in range(active):  # F'v_j = w_j + sum_{k<j} w_k v_k'v_j / nu_k
        for j in range(k + 1, active):
            low[k, j] = L[k, j] * per_nu[k]
    for i in range(s):
        for j in range(active):
            r[j] = w[i, j] + w[m, j]
            y[j] = r[j]
        for k in range(active):
            x = r[k]
            for j in range(k + 1, active):
                y[j] += x * low[k, j]
        for j in range(active):
            SV[i, j] = N[i] * y[j]


@part
def add_fold(t: int, indptr: Part, indices: Part, data: Part, folds: Array, Q: Array) -> None:
    """Add x g' to Q, for row x of CSR parts and g row t of `folds`; a block is added as a whole."""
    if indptr is not None:
        g = folds[t]
        for e in range(indptr[t], indptr[t + 1]):
            x, v = Q[indices[e]], data[e]
            for k in range(len(g)):
                x[k] += v * g[k]


@part
def verdict(
    asked: int, moved: float, xx: float, active: int, rule: Any, A: Array, B: Array, L: Array,
    SS: Array, N: Array, WW: Array, clock: Array,
) -> int:  # fmt: skip
    """Update the stop criterion, check the numbers, and return what the step asks of its caller."""
    p, s = B.shape
    n = clock[0]
    if rule.tol > 0.0:
        seen = 0
        for i in range(s):
            if N[i] > 0.0:
                seen += 1
        counts = active == p and n > p and seen >= rule.least
        clock[2] = clock[2] + 1.0 if counts and moved < rule.tol else 0.0
        if clock[2] >= rule.patience and clock[3] == 0.0:
            clock[3] = n
            if rule.stop:
                asked = max(asked, STILL)
    for j in range(active):
        if not _SMALL < abs(A[j, j]) < _GROWN:
            asked = max(asked, REBASE)
    if int(n) % _GUARD_EVERY == 0:
        for j in range(active):
            t = 0.0
            for k in range(j + 1):
                t += abs(A[j, k]) * np.sqrt(max(0.0, WW[k]))
            for k in range(s):
                t += abs(B[j, k]) * np.sqrt(SS[k, k])
            if not t <= _CANCELLED * np.sqrt(L[j, j]):
                asked = max(asked, REBASE)
    if not (xx < LARGEST and clock[1] < LARGEST):
        asked = TOO_LARGE
    return asked


@part
def reduce_sample(
    t: int, q: Array, xx: float, QX: Part, XX: Part, folds: Array, shift: Array, orthonormal: bool,
    A: Array, B: Array, L: Array, C: Array, reduced: Array,
) -> None:  # fmt: skip
    """Project sample t after its step, from q = Q'x before it, with Q less the shift if dense."""
    for k in range(len(q)):
        q[k] += xx * folds[t, k]
    if QX is not None:
        for k in range(len(q)):
            shift[k] += XX[t, -1] * folds[t, k]
            q[k] += shift[k]
    project(t, q, orthonormal, A, B, L, C, reduced)


@part
def project(
    t: int, q: Array, orthonormal: bool, A: Array, B: Array, L: Array, C: Array, reduced: Array
) -> None:
    """Set row t of `reduced` to V'x / |v| from q = Q'x, or to x on the orthonormalised V.

    The latter is C^-1 V'x, with L = C C'.
    """
    p, s = B.shape
    for j in range(p):
        x = 0.0
        for k in range(p):
            x += A[j, k] * q[k]
        for k in range(s):
            x += B[j, k] * q[p + k]
        length = L[j, j]
        if orthonormal:
            for k in range(j):
                C[j, k] = L[j, k]
                for i in range(k):
                    C[j, k] -= C[j, i] * C[k, i]
                C[j, k] = C[j, k] / C[k, k] if C[k, k] > 0.0 else 0.0
                length -= C[j, k] ** 2
                x -= C[j, k] * reduced[t, k]
            C[j, j] = np.sqrt(max(0.0, length))
        reduced[t, j] = x / np.sqrt(length) if length > 0.0 else 0.0
