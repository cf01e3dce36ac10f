"""The step of IOC, IIS, IMMC and CCIPCA, compiled: a criterion between S_b + total C + shift I."""

from __future__ import annotations

from typing import Any

import numpy as np

from narrows.solve.kernels import GO_ON, Array, Part, block_products, compiled, part, products
from narrows.solve.span_parts import REBASE, add_fold, add_sample, fold_in, reduce_sample, verdict

_EPS = 2.0**-52
_TRUSTED = 1e-10  # the largest estimated relative error of |v_j|^2


@compiled
def criterion_steps(
    indptr: Part, indices: Part, data: Part, QX: Part, XX: Part, first: int, labels: Array,
    Q: Array, active: int, rule: Any, state: tuple[Array, ...], work: tuple[Array, ...],
    folds: Array, reduced: Part,
) -> tuple[int, int]:  # fmt: skip
    """Run the step for samples from number `first` on.

    Returns how many samples were learned, and what the last one asks for.

    Row t of `folds` is set to g, where sample t adds x g' to Q. Sparse samples are given by CSR
    parts, and added to Q at once. A block X of dense samples is given by X Q and X X', with the
    shift as its last row; the caller adds X'folds. Row t of `reduced` is set to sample t on the
    unit vectors after its step. Arguments that are None are not compiled.
    """
    # unpacked before the loop: to get an array out of a tuple costs as much as ten additions
    A, B, L, SV, SS, N, WW, mean_theta, rho, err, clock = state
    q, share, Y, w, kap, low, a, per_nu, y, r, size, shift = work
    theta, with_u = rule.theta, rule.total != 0.0
    if QX is not None:
        block_products(len(folds) - 1, first, QX, XX, folds, shift)
    for i in range(len(labels)):
        t, label = first + i, labels[i]
        xx = products(t, indptr, indices, data, QX, XX, Q, folds, q)
        mm = add_sample(label, q, xx, with_u, A, B, SV, SS, N, clock, share, Y, r)
        asked, moved = _iterate(
            active, mm, with_u, rule, theta, L, N, mean_theta, rho, err, clock,
            Y, w, kap, low, a, per_nu, y, r, size,
        )  # fmt: skip
        fold_in(
            t, label, q, xx, active, with_u, A, B, L, SV, N, WW, clock[0], share,
            w, kap, low, a, per_nu, y, r, folds,
        )  # fmt: skip
        add_fold(t, indptr, indices, data, folds, Q)
        asked = verdict(asked, moved, xx, active, rule, A, B, L, SS, N, WW, clock)
        if reduced is not None:
            reduce_sample(t, q, xx, QX, XX, folds, shift, rule.orthonormal, A, B, L, low, reduced)
        if asked != GO_ON:
            return i + 1, asked
    return len(labels), GO_ON


@part
def _iterate(
    active: int, mm: float, with_u: bool, rule: Any, theta: Array, L: Array, N: Array,
    mean_theta: Array, rho: Array, err: Array, clock: Array, Y: Array, w: Array, kap: Array,
    low: Array, a: Array, per_nu: Array, y: Array, r: Array, size: Array,
) -> tuple[int, float]:  # fmt: skip
    """Update each component in turn, as the papers' tables do.

    After the turn of v_k, row and column k of L and column k of Y belong to the new v_k. Returns
    what to ask of the caller, and how far the directions moved.
    """
    n, s, p = clock[0], len(N), len(L)
    u, m = s, s + 1 if with_u else s  # rows of Y; m weighs nothing
    f = m + 1
    gain = (1.0 + rule.amnesic) / n if n > 1.0 + rule.amnesic else 1.0 / n
    asked, moved = GO_ON, 0.0
    for i in range(m):
        size[i] = Y[i, p + i]
    clock[4] = 1.0
    for j in range(active):
        # the step of v_j: kap, its coefficients of F, and b, that of the shift
        length = np.sqrt(L[j, j])
        per_step = 1.0 / (n * length)
        t = rule.between * per_step / n
        for i in range(s):
            kap[j, i] = t * N[i] * Y[i, j]
        if with_u:
            kap[j, u] = rule.total * gain * Y[u, j] / length
        for k in range(p + f):
            y[k] = 0.0
        for i in range(m):
            t = kap[j, i]
            for k in range(p + f):
                y[k] += t * Y[i, k]
        shift = theta[j]
        if rule.margin > 0.0:  # from the running mean of v_j'A^j v_j / |v_j|^2, and tr C
            rho[j] += 2.0 / n * (n * y[j] / length - rho[j])
            spread = max(0.0, clock[1] / n - mm)
            shift = max(0.0, -rho[j]) + rule.margin * spread
        mean_theta[j] += (shift - mean_theta[j]) / n
        b = shift * per_step
        a[j] = 1.0 - gain + b

        # the products of the new v_j: with F, with the other v, and with itself
        along = y[j]
        for i in range(f):
            y[p + i] += a[j] * Y[i, j]
        for k in range(p):
            y[k] += a[j] * L[j, k]
        for k in range(j):
            low[j, k] = 0.0
        for i in range(m):
            t = kap[j, i]
            for k in range(j):
                low[j, k] += t * w[i, k]
        t = 0.0
        if rule.deflate:  # the shift less its projections on the earlier v_k
            for k in range(j):
                r[k] = b * L[k, j]
                low[j, k] += r[k]
                r[k] *= per_nu[k]
                for i in range(f):
                    y[p + i] -= r[k] * Y[i, k]
                for i in range(p):
                    y[i] -= r[k] * L[k, i]
            for k in range(j):
                t -= r[k] * y[k]
        for k in range(j):
            low[j, k] *= per_nu[k]
        t += a[j] * y[j]
        for i in range(m):
            t += kap[j, i] * y[p + i]
        t = max(t, 0.0)
        per_nu[j] = 1.0 / t if t > 0.0 else 0.0
        err[j] = (err[j] + _EPS) * a[j] * a[j] * L[j, j] * per_nu[j] + _EPS
        if not (t > 0.0 and err[j] < _TRUSTED):
            asked = REBASE
        if rule.tol > 0.0:
            moved += _turn(j, m, along, t, rule.deflate, L, Y, kap, y)

        # deflation by the new v_j, a projection
        y[j] = t
        for k in range(p):
            L[j, k] = y[k]
            L[k, j] = y[k]
        for i in range(f):
            w[i, j] = y[p + i]
            Y[i, j] = y[p + i]
        for k in range(p + f):
            r[k] = y[k] * per_nu[j]
        for i in range(f):
            t = w[i, j]
            for k in range(p + f):
                Y[i, k] -= t * r[k]
        if j + 1 < active:
            for i in range(m):
                if size[i] > 0.0 and (i == u or N[i] > 0.0):
                    clock[4] = min(clock[4], Y[i, p + i] / size[i])
    return asked, moved


@part
def _turn(
    j: int, m: int, along: float, nu: float, deflate: bool, L: Array, Y: Array, kap: Array,
    y: Array,
) -> float:  # fmt: skip
    """Return |u_j(n) - u_j(n-1)|, u = v/|v|; `along` = kap'F'v_j, y the products of the new v."""
    if not nu > 0.0:
        return np.sqrt(2.0)
    cosine = y[j] / np.sqrt(L[j, j]) / np.sqrt(nu)
    if deflate or not cosine > 0.0:
        return np.sqrt(max(0.0, 2.0 - 2.0 * cosine))
    # from the sine, which loses fewer digits: the part of F kap orthogonal to v_j
    a_j = (y[j] - along) / L[j, j]
    across = -along * along / L[j, j]
    for i in range(m):
        across += kap[j, i] * (y[L.shape[0] + i] - a_j * Y[i, j])
    return np.sqrt(2.0 * max(0.0, across) / nu / (1.0 + cosine))
