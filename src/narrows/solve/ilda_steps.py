"""The step of ILDA, compiled: a Sanger-type rule on the inner products of a `Span`."""

from __future__ import annotations

from typing import Any

import numpy as np

from narrows.solve.kernels import GO_ON, Array, Part, block_products, compiled, part, products
from narrows.solve.span_parts import add_fold, add_sample, fold_in, reduce_sample, verdict

_ETA, _WAIT, _STABLE = 5.0, 20.0, 0.5  # the gain 5/(n + 20) after 20 samples, bounded


@compiled
def ilda_steps(
    indptr: Part, indices: Part, data: Part, QX: Part, XX: Part, first: int, labels: Array,
    Q: Array, active: int, rule: Any, state: tuple[Array, ...], work: tuple[Array, ...],
    folds: Array, reduced: Part,
) -> tuple[int, int]:  # fmt: skip
    """Run the step for samples from number `first` on, as `criterion_steps` does."""
    # all arrays by name before the loop: to get one out of a tuple costs as much as ten sums
    A, B, L, SV, SS, N, WW, _, _, _, clock = state
    q, share, Y, w, kap, low, a, per_nu, y, r, _, shift = work
    if QX is not None:
        block_products(len(folds) - 1, first, QX, XX, folds, shift)
    for i in range(len(labels)):
        t, label = first + i, labels[i]
        xx = products(t, indptr, indices, data, QX, XX, Q, folds, q)
        add_sample(label, q, xx, True, A, B, SV, SS, N, clock, share, Y, r)
        moved = _hebbian(label, active, rule.eta, L, N, clock[0], Y, w, kap, low, a, per_nu, y, r)
        fold_in(
            t, label, q, xx, active, True, A, B, L, SV, N, WW, clock[0], share,
            w, kap, low, a, per_nu, y, r, folds,
        )  # fmt: skip
        add_fold(t, indptr, indices, data, folds, Q)
        asked = verdict(GO_ON, moved, xx, active, rule, A, B, L, SS, N, WW, clock)
        if reduced is not None:
            reduce_sample(t, q, xx, QX, XX, folds, shift, rule.orthonormal, A, B, L, low, reduced)
        if asked != GO_ON:
            return i + 1, asked
    return len(labels), GO_ON


@part
def _hebbian(
    label: int, active: int, eta: float, L: Array, N: Array, n: float, Y: Array, w: Array,
    kap: Array, low: Array, a: Array, per_nu: Array, y: Array, r: Array,
) -> float:  # fmt: skip
    """Update V by eta (S_b V - u u'V UT[V'S_b V]), u = x - m_l; return how far directions moved.

    All vectors step at once, so no v depends on another: a = 1, and nothing is deflated.
    """
    s, p = len(N), len(L)
    u, m, f = s, s + 1, s + 2
    uu = Y[u, p + u] - 2.0 * Y[label, p + u] + Y[label, p + label]
    size = 0.0
    for j in range(active):  # r = UT'V'u
        r[j] = 0.0
        for k in range(j + 1):
            t = 0.0
            for i in range(s):
                t += N[i] / n * Y[i, k] * Y[i, j]
            size += t * t
            r[j] += (Y[u, k] - Y[label, k]) * t
    if not eta > 0.0:
        eta = _ETA / (n + _WAIT)
    if eta * np.sqrt(size) * uu > _STABLE:
        eta = _STABLE / (np.sqrt(size) * uu)
    if n <= _WAIT:
        eta = 0.0
    for j in range(active):  # the coefficients of F, whose u is x - m
        for i in range(s):
            kap[j, i] = eta * N[i] / n * Y[i, j]
        kap[j, u] = -eta * r[j]
        kap[j, label] += eta * r[j]
        a[j], per_nu[j] = 1.0, 0.0
    for j in range(active):
        for k in range(p + f):
            y[k] = 0.0
        for i in range(m):
            t = kap[j, i]
            for k in range(p + f):
                y[k] += t * Y[i, k]
        for i in range(f):
            w[i, j] = Y[i, j] + y[p + i]
        for k in range(active):
            low[j, k] = L[j, k] + y[k]  # v_j(new)'v_k
    moved = 0.0 if eta > 0.0 else 2.0 * p
    for j in range(active):
        before = L[j, j]
        for k in range(j + 1):
            t = low[j, k]
            for i in range(m):
                t += kap[k, i] * w[i, j]
            L[j, k] = t
            L[k, j] = t
        moved += np.sqrt(max(0.0, 2.0 - 2.0 * low[j, j] / np.sqrt(before) / np.sqrt(L[j, j])))
    for j in range(active):
        for k in range(active):
            low[j, k] = 0.0
    return moved
