"""The steps of the iterations, compiled; `narrows.solve.iterations` defines the letters.

A step sets each new v_j to a_j v_j + F kap_j - sum_k<j low_jk v_k(new), with F = [Phi_1 .. Phi_s,
u, m], Phi_i = m_i - m and u = x - m, and w to F'v. `add_sample` prepares the inner products of F;
`_iterate` or `_hebbian` chooses a, kap and low, and `update_coordinates` then adds the sample to
the basis and updates the coordinates.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from narrows.solve.kernels import (
    GO_ON,
    LARGEST,
    TOO_LARGE,
    Array,
    Maybe,
    block_products,
    compiled,
    inlined,
    products,
)

REBASE, STILL = 2, 3  # what these steps may ask for, too

_GUARD_EVERY = 64  # samples between two checks of the cancellation in the coordinates
_CANCELLED = 100.0  # the largest |parts| of a vector over its length: products lose its square
_SMALL, _GROWN = 1e-30, 10.0  # bounds of the diagonal of A, which each sample can multiply
_EPS = 2.0**-52
_TRUSTED = 1e-10  # the largest estimated relative error of |v_j|^2
_ETA, _WAIT, _STABLE = 20.0, 20.0, 0.5  # ILDA's gain 20/(n + 20)/tr S_b after 20 samples, bounded
_NOISE = 1e-12  # of |x - m_l|^2 + |m|^2: a smaller tr S_b is rounding


class StepRule(NamedTuple):
    """The iteration of the criterion between S_b + total C + shift I, or that of ILDA.

    Parameters
    ----------
    between, total : float
        Two numbers of the criterion.
    theta : ndarray of shape (n_components,)
        The third, the shift, for each component.
    margin : float
        If > 0, the shift is automatic: theta_j = max(0, -rho_j) + margin tr C, with rho_j the
        running mean (gain 2/n) of v_j'A^j v_j / |v_j|^2.
    deflate : bool
        Shift v_j less its projections on the new v_1 .. v_{j-1}, instead of v_j itself.
    amnesic : float
        CCIPCA's: a sample weighs 1 + amnesic times as much as in a plain mean.
    tol, patience : float
        Stop criterion: the sum of |u_j(n) - u_j(n-1)| over the unit vectors was below tol for
        patience samples in a row. The default tol, 0, switches it off.
    least : int
        Number of classes to be seen before the stop criterion counts.
    stop : bool
        Ignore further samples once the stop criterion holds.
    orthonormal : bool
        Reduce samples by the orthonormalised vectors, the first ones first.
    eta : float, optional
        If given, the iteration is that of ILDA, with this gain; 0 for its default, 20/(n + 20) over
        tr S_b. The criterion, the shift and `amnesic` do not matter, but `total` is not 0.
    """

    between: float
    total: float
    theta: np.ndarray
    margin: float = 0.0
    deflate: bool = False
    amnesic: float = 0.0
    tol: float = 0.0
    patience: float = 100.0
    least: int = 2
    stop: bool = False
    orthonormal: bool = False
    eta: float | None = None


class SpanArrays(NamedTuple):
    """The small arrays of a `Span`, for p components and s class sums."""

    A: Annotated[np.ndarray, "f8", "p p"]  # lower triangular
    B: Annotated[np.ndarray, "f8", "p s"]
    L: Annotated[np.ndarray, "f8", "p p"]  # V'V; a component with L_jj = 0 has not started
    SV: Annotated[np.ndarray, "f8", "s p"]  # S'V
    SS: Annotated[np.ndarray, "f8", "s s"]  # S'S
    N: Annotated[np.ndarray, "f8 whole", "s"]  # samples in each sum
    WW: Annotated[np.ndarray, "f8", "p"]  # |W_k|^2
    # the mean of theta_j over the steps of v_j, with v's own weights
    theta: Annotated[np.ndarray, "f8", "p"]
    rho: Annotated[np.ndarray, "f8", "p"]  # the running mean that an automatic theta_j follows
    err: Annotated[np.ndarray, "f8", "p"]  # an estimate of the relative error of L_jj
    # n; the sum of |x|^2; for how many samples the stop criterion has held; the n at which it had
    # held for long enough; and what deflation left of the most reduced column of F in the last
    # step, as a share of its square
    clock: Annotated[np.ndarray, "f8", "5"]


@compiled
def iteration_steps(
    indptr: Maybe, indices: Maybe, data: Maybe, QX: Maybe, XX: Maybe, first: int, labels: Array,
    Q: Array, active: int, rule: Any, eta: float | None, state: tuple[Array, ...],
    work: tuple[Array, ...], coefficients: Array, reduced: Maybe,
) -> tuple[int, int]:  # fmt: skip
    """Run the step for samples from number `first` on.

    Returns how many samples were learned, and what the last one asks for.

    Row t of `coefficients` is set to g, where sample t adds x g' to Q. Sparse samples are given by
    CSR parts, and added to Q at once. A block X of dense samples is given by X Q and X X', with the
    shift as its last row; the caller adds X'coefficients. Row t of `reduced` is set to sample t on
    the unit vectors after its step. Arguments that are None are not compiled.
    """
    # all arrays by name before the loop: to get one out of a tuple costs as much as ten sums
    A, B, L, SV, SS, N, WW, mean_theta, rho, err, clock = state
    q, share, Y, w, kap, low, a, per_nu, y, r, size, shift = work
    theta, with_u = rule.theta, rule.total != 0.0
    if QX is not None:
        block_products(len(coefficients) - 1, first, QX, XX, coefficients, shift)
    for i in range(len(labels)):
        t, label = first + i, labels[i]
        xx = products(t, indptr, indices, data, QX, XX, Q, coefficients, q)
        mm = add_sample(label, q, xx, with_u, A, B, SV, SS, N, clock, share, Y, r)
        # two conditions on what may be None: such a branch is not compiled
        if eta is None:
            asked, moved = _iterate(
                active, mm, with_u, rule, theta, L, N, mean_theta, rho, err, clock,
                Y, w, kap, low, a, per_nu, y, r, size,
            )  # fmt: skip
        if eta is not None:
            asked, moved = _hebbian(
                label, active, eta, L, N, clock[0], Y, w, kap, low, a, per_nu, y, r
            )
        update_coordinates(
            t, label, q, xx, active, with_u, A, B, L, SV, N, WW, clock[0], share,
            w, kap, low, a, per_nu, y, r, coefficients,
        )  # fmt: skip
        g = coefficients[t]
        if indptr is not None:  # Q += x g'
            for e in range(indptr[t], indptr[t + 1]):
                row, v = Q[indices[e]], data[e]
                for k in range(len(g)):
                    row[k] += v * g[k]
        asked = verdict(asked, moved, xx, active, rule, A, B, L, SS, N, WW, clock)
        if reduced is not None:  # by Q'x after the step, with Q less the shift if dense
            for k in range(len(q)):
                q[k] += xx * g[k]
                if QX is not None:
                    shift[k] += XX[t, -1] * g[k]
                    q[k] += shift[k]
            project(t, q, rule.orthonormal, A, B, L, low, reduced)
        if asked != GO_ON:
            return i + 1, asked
    return len(labels), GO_ON


# -- IOC, IIS, IMMC and CCIPCA ---------------------------------------------------------------------


@inlined
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


@inlined
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


# -- ILDA ------------------------------------------------------------------------------------------


@inlined
def _hebbian(
    label: int, active: int, eta: float, L: Array, N: Array, n: float, Y: Array, w: Array,
    kap: Array, low: Array, a: Array, per_nu: Array, y: Array, r: Array,
) -> tuple[int, float]:  # fmt: skip
    """Update V by eta (S_b V - u u'V UT[V'S_b V]), u = x - m_l; return as `_iterate` does.

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
    if not eta > 0.0:  # in the units of the samples
        between = 0.0
        for i in range(s):
            between += N[i] / n * Y[i, p + i]
        eta = _ETA / (n + _WAIT) / between if between > _NOISE * (uu + Y[m, p + m]) else 0.0
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
    return GO_ON, moved


# -- what both share -------------------------------------------------------------------------------


@inlined
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


@inlined
def update_coordinates(
    t: int, label: int, q: Array, xx: float, active: int, with_u: bool, A: Array, B: Array,
    L: Array, SV: Array, N: Array, WW: Array, n: float, share: Array, w: Array, kap: Array,
    low: Array, a: Array, per_nu: Array, y: Array, r: Array, coefficients: Array,
) -> None:  # fmt: skip
    """Set row t of `coefficients`, and update A, B and SV to the new v.

    So W += x g' and S_label += x, with g such that no new v has a part in x alone.
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
                g -= A[j, k] * coefficients[t, k]
            g /= A[j, j]
        coefficients[t, j] = g
        WW[j] += 2.0 * g * q[j] + g * g * xx
    for k in range(s):
        coefficients[t, p + k] = 0.0
    coefficients[t, p + label] = 1.0
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


@inlined
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


@inlined
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
