"""Compiled loops; the only file that imports numba, and imported only when one is needed."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


def _compiled(function: Any) -> Any:
    """Compile without the GIL, and keep the result on disk where there is a place for it."""
    try:
        return numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    except RuntimeError:  # a read-only install without a home: no place to keep it
        return numba.njit(nogil=True, error_model="numpy")(function)


# part of one compiled function: to hand its many arrays over would cost as much as the work
_part = numba.njit(inline="always", error_model="numpy")


@_compiled
def add_class_rows(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    label_ptr: np.ndarray,
    label_row: np.ndarray,
    label_weight: np.ndarray,
    out: np.ndarray,
) -> None:
    """out += Y'X for X (n, d) and Y (n, c) in CSR parts, out (c, d) dense; O(nnz labels a row)."""
    for i in range(len(indptr) - 1):
        for k in range(label_ptr[i], label_ptr[i + 1]):
            row, weight = label_row[k], label_weight[k]
            for e in range(indptr[i], indptr[i + 1]):
                out[row, indices[e]] += weight * data[e]


# -- one step of the incremental engine; `narrows.solve.span` says what the letters are ----------

GO_ON, REBASE, STILL, TOO_LARGE = 0, 1, 2, 3  # what a step asks of its caller

_GUARD_EVERY = 64  # samples from one look at the cancellation in the coordinates to the next
_CANCELLED = 100.0  # times their sum the parts of a vector may be: products lose its square
_SMALL, _GROWN = 1e-30, 10.0  # where the diagonal of A may be; each sample can multiply it
_EPS = 2.0**-52
_TRUSTED = 1e-10  # how wrong, relatively, |v_j|^2 may be by what is known of the steps
_ETA, _WAIT, _STABLE = 5.0, 20.0, 0.5  # of ILDA: the gain 5/(n + 20) after 20 samples, bounded
_LARGEST = 1e120  # of |x|^2; v is of that size, and its square has to be a number


@_compiled
def span_steps(
    rows: tuple[np.ndarray, ...],
    first: int,
    labels: np.ndarray,
    Q: np.ndarray,
    active: int,
    rule: Any,
    state: tuple[np.ndarray, ...],
    work: tuple[np.ndarray, ...],
    folds: np.ndarray,
    reduced: np.ndarray,
) -> tuple[int, int]:
    """Step over rows from number `first`; return how many, and what the last one asks for.

    Row t of `folds` is what row t of X, times its transpose, adds to Q. Sparse rows are given by
    CSR parts, and their folds are added here. A block of dense rows is given by its products with
    Q and with each other, X Q and X X', with a last row for what was taken off all rows; the
    caller adds X'folds. Row t of `reduced`, if it has rows, is row t of X as it was on the unit
    vectors of its moment.
    """
    # all arrays by name before the loop: to take one out of a tuple costs as much as ten sums
    indptr, indices, data, QX, XX = rows
    A, B, L, SV, SS, N, WW, mean_theta, rho, err, clock = state
    q, Vx, Sm, share, Y, w, kap, low, a, per_nu, y, r, shift, size = work
    theta, width, sparse = rule.theta, Q.shape[1], len(indptr) > 0
    if not sparse:  # Q's of the row that was taken off
        _recall(len(folds) - 1, first, QX, XX, folds, shift)
    for i in range(len(labels)):
        t, label = first + i, labels[i]
        xx = _gather(t, indptr, indices, data, Q, q) if sparse else _recall(t, t, QX, XX, folds, q)
        _add_sample(label, q, xx, A, B, SS, SV, N, clock, Vx)
        mm = _inner_products(label, q, xx, rule, SS, SV, N, clock, Vx, Sm, share, Y)
        if rule.hebbian:
            asked, moved = _hebbian(
                label, active, rule, L, N, clock, Y, w, kap, low, a, per_nu, y, r
            )
        else:
            asked, moved = _iterate(
                active, mm, rule, theta, L, N, mean_theta, rho, err, clock,
                Y, w, kap, low, a, per_nu, y, r, size,
            )  # fmt: skip
        _fold_in(label, t, q, xx, active, rule, A, B, WW, kap, a, folds)
        _new_coordinates(active, rule, A, B, L, SV, N, clock, share, w, kap, low, a, per_nu, y, r)
        asked = _verdict(asked, moved, xx, active, rule, A, B, L, SS, N, WW, clock)
        if sparse:
            for e in range(indptr[t], indptr[t + 1]):
                row, v = indices[e], data[e]
                for k in range(width):
                    Q[row, k] += v * folds[t, k]
        if len(reduced):
            for k in range(width):
                q[k] += xx * folds[t, k]
            if not sparse:
                for k in range(width):
                    shift[k] += XX[t, -1] * folds[t, k]
                    q[k] += shift[k]
            _project(t, q, rule, A, B, L, low, reduced)
        if asked != GO_ON:
            return i + 1, asked
    return len(labels), GO_ON


@_part
def _gather(
    t: int,
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    Q: np.ndarray,
    q: np.ndarray,
) -> float:
    """q = Q'x of a sparse row; returns x'x."""
    xx = 0.0
    for k in range(len(q)):
        q[k] = 0.0
    for e in range(indptr[t], indptr[t + 1]):
        row, v = indices[e], data[e]
        xx += v * v
        for k in range(len(q)):
            q[k] += v * Q[row, k]
    return xx


@_part
def _recall(
    t: int, before: int, QX: np.ndarray, XX: np.ndarray, folds: np.ndarray, q: np.ndarray
) -> float:
    """q = Q'x of a row of a block, with the folds of so many rows and the last; returns x'x."""
    last = len(folds) - 1
    for k in range(len(q)):
        q[k] = QX[t, k] + XX[t, last] * folds[last, k]
    for i in range(before):
        for k in range(len(q)):
            q[k] += XX[i, t] * folds[i, k]
    return XX[t, t]


@_part
def _add_sample(
    label: int,
    q: np.ndarray,
    xx: float,
    A: np.ndarray,
    B: np.ndarray,
    SS: np.ndarray,
    SV: np.ndarray,
    N: np.ndarray,
    clock: np.ndarray,
    Vx: np.ndarray,
) -> None:
    """Work out V'x; bring the class sums' inner products up to date."""
    p, s = B.shape
    for j in range(p):
        t = 0.0
        for k in range(p):
            t += A[j, k] * q[k]
        for k in range(s):
            t += B[j, k] * q[p + k]
        Vx[j] = t
        SV[label, j] += t
    for k in range(s):
        SS[label, k] += q[p + k]
    for k in range(s):
        SS[k, label] += q[p + k]
    SS[label, label] += xx
    N[label] += 1.0
    clock[0] += 1.0
    clock[1] += xx


@_part
def _inner_products(
    label: int,
    q: np.ndarray,
    xx: float,
    rule: Any,
    SS: np.ndarray,
    SV: np.ndarray,
    N: np.ndarray,
    clock: np.ndarray,
    Vx: np.ndarray,
    Sm: np.ndarray,
    share: np.ndarray,
    Y: np.ndarray,
) -> float:
    """Y = [F'V | F'F] for F = [Phi_1 .. Phi_s, u, m], without u if total is 0; returns m'm."""
    per_n = 1.0 / clock[0]
    s, p = SV.shape
    u, m = s, s + 1 if rule.with_u else s
    mm = 0.0
    for i in range(s):
        t = 0.0
        for k in range(s):
            t += SS[i, k]
        Sm[i] = t * per_n  # S_i'm
        mm += Sm[i] * per_n
        share[i] = 1.0 / N[i] if N[i] > 0.0 else 0.0
    for k in range(p):
        t = 0.0
        for i in range(s):
            t += SV[i, k]
        Y[m, k] = t * per_n
    Y[m, p + m] = mm
    for i in range(s):
        to_m = Sm[i] * share[i] - mm
        Y[m, p + i] = to_m
        Y[i, p + m] = to_m
        for k in range(p):
            Y[i, k] = SV[i, k] * share[i] - Y[m, k]
        for k in range(s):
            Y[i, p + k] = (SS[i, k] * share[i] - Sm[k]) * share[k] - to_m
    if rule.with_u:
        mx = xx
        for i in range(s):
            mx += q[p + i]
        mx *= per_n
        for k in range(p):
            Y[u, k] = Vx[k] - Y[m, k]
        for i in range(s):
            Sx = q[p + i] + xx if i == label else q[p + i]
            Y[u, p + i] = (Sx * share[i] - mx) - Y[m, p + i]
            Y[i, p + u] = Y[u, p + i]
        Y[u, p + u] = xx - 2.0 * mx + mm
        Y[u, p + m] = mx - mm
        Y[m, p + u] = mx - mm
    return mm


@_part
def _iterate(
    active: int,
    mm: float,
    rule: Any,
    theta: np.ndarray,
    L: np.ndarray,
    N: np.ndarray,
    mean_theta: np.ndarray,
    rho: np.ndarray,
    err: np.ndarray,
    clock: np.ndarray,
    Y: np.ndarray,
    w: np.ndarray,
    kap: np.ndarray,
    low: np.ndarray,
    a: np.ndarray,
    per_nu: np.ndarray,
    y: np.ndarray,
    r: np.ndarray,
    size: np.ndarray,
) -> tuple[int, float]:
    """The tables' loop over components.

    Once the turn of v_k is over, row and column k of L and column k of Y are of the new v_k.
    Returns what is to be asked for, and how far the directions moved.
    """
    n, s, p = clock[0], len(N), len(L)
    with_u = rule.with_u
    u, m = s, s + 1 if with_u else s  # rows of Y; m weighs nothing
    f = m + 1
    gain = (1.0 + rule.amnesic) / n if n > 1.0 + rule.amnesic else 1.0 / n
    asked, moved = GO_ON, 0.0
    for i in range(m):
        size[i] = Y[i, p + i]
    clock[4] = 1.0
    for j in range(active):
        # the step of v_j: kap = what it takes of each column of F, b = what the shift gives it
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

        # its inner products: with F, with the other v, and with itself
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
        if rule.deflate:  # the shift less its parts along the v_k before
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
            moved += _turn(j, m, along, t, rule, L, Y, kap, y)

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


@_part
def _hebbian(
    label: int,
    active: int,
    rule: Any,
    L: np.ndarray,
    N: np.ndarray,
    clock: np.ndarray,
    Y: np.ndarray,
    w: np.ndarray,
    kap: np.ndarray,
    low: np.ndarray,
    a: np.ndarray,
    per_nu: np.ndarray,
    y: np.ndarray,
    r: np.ndarray,
) -> tuple[int, float]:
    """ILDA's step, V += eta (S_b V - u u'V UT[V'S_bV]), u = x - m_l, in the place of `_iterate`.

    All vectors step at once, so V is not mixed: a = 1, and nothing is deflated.
    """
    n, s, p = clock[0], len(N), len(L)
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
    eta = rule.eta if rule.eta > 0.0 else _ETA / (n + _WAIT)
    if eta * np.sqrt(size) * uu > _STABLE:
        eta = _STABLE / (np.sqrt(size) * uu)
    if n <= _WAIT:
        eta = 0.0
    for j in range(active):  # what v_j takes of each column of F, of which u here is x - m
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


@_part
def _turn(
    j: int,
    m: int,
    along: float,
    nu: float,
    rule: Any,
    L: np.ndarray,
    Y: np.ndarray,
    kap: np.ndarray,
    y: np.ndarray,
) -> float:
    """|u_j(n) - u_j(n-1)| of the unit vectors; `along` = kap'F'v_j, y the products of the new v."""
    if not nu > 0.0:
        return np.sqrt(2.0)
    cosine = y[j] / np.sqrt(L[j, j]) / np.sqrt(nu)
    if rule.deflate or not cosine > 0.0:
        return np.sqrt(max(0.0, 2.0 - 2.0 * cosine))
    # from the sine, which rounding leaves more of: what F kap has across v_j
    a_j = (y[j] - along) / L[j, j]
    across = -along * along / L[j, j]
    for i in range(m):
        across += kap[j, i] * (y[L.shape[0] + i] - a_j * Y[i, j])
    return np.sqrt(2.0 * max(0.0, across) / nu / (1.0 + cosine))


@_part
def _fold_in(
    label: int,
    t: int,
    q: np.ndarray,
    xx: float,
    active: int,
    rule: Any,
    A: np.ndarray,
    B: np.ndarray,
    WW: np.ndarray,
    kap: np.ndarray,
    a: np.ndarray,
    folds: np.ndarray,
) -> None:
    """W += x g' and S_label += x, with g such that no new v has a part in x alone."""
    p, s = B.shape
    for j in range(p):
        g = 0.0
        if j < active:
            g = -B[j, label]
            if rule.with_u:
                g += kap[j, s] / a[j]
            for k in range(j):
                g -= A[j, k] * folds[t, k]
            g /= A[j, j]
        folds[t, j] = g
        WW[j] += 2.0 * g * q[j] + g * g * xx
    for k in range(s):
        folds[t, p + k] = 0.0
    folds[t, p + label] = 1.0


@_part
def _new_coordinates(
    active: int,
    rule: Any,
    A: np.ndarray,
    B: np.ndarray,
    L: np.ndarray,
    SV: np.ndarray,
    N: np.ndarray,
    clock: np.ndarray,
    share: np.ndarray,
    w: np.ndarray,
    kap: np.ndarray,
    low: np.ndarray,
    a: np.ndarray,
    per_nu: np.ndarray,
    y: np.ndarray,
    r: np.ndarray,
) -> None:
    """A and B of the new v, and their inner products with the class sums."""
    s = len(N)
    m = s + 1 if rule.with_u else s
    for j in range(active):
        t = 0.0
        for i in range(m):
            t += kap[j, i]
        t /= clock[0]
        for k in range(j + 1):
            A[j, k] *= a[j]
        for k in range(s):
            if N[k] > 0.0:
                B[j, k] = a[j] * B[j, k] + kap[j, k] * share[k] - t
        for k in range(j):
            t = low[j, k]
            for i in range(k + 1):
                A[j, i] -= t * A[k, i]
            for i in range(s):
                B[j, i] -= t * B[k, i]
    for k in range(active):  # F'v_j = w_j + sum_{k<j} w_k v_k'v_j / nu_k
        for j in range(k + 1, active):
            low[k, j] = L[k, j] * per_nu[k]
    for i in range(s):
        for j in range(active):
            r[j] = w[i, j] + w[m, j]
            y[j] = r[j]
        for k in range(active):
            t = r[k]
            for j in range(k + 1, active):
                y[j] += t * low[k, j]
        for j in range(active):
            SV[i, j] = N[i] * y[j]


@_part
def _verdict(
    asked: int,
    moved: float,
    xx: float,
    active: int,
    rule: Any,
    A: np.ndarray,
    B: np.ndarray,
    L: np.ndarray,
    SS: np.ndarray,
    N: np.ndarray,
    WW: np.ndarray,
    clock: np.ndarray,
) -> int:
    """Count how long the directions were still; look whether the numbers are still good."""
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
    if not (xx < _LARGEST and clock[1] < _LARGEST):
        asked = TOO_LARGE
    return asked


@_part
def _project(
    row: int,
    q: np.ndarray,
    rule: Any,
    A: np.ndarray,
    B: np.ndarray,
    L: np.ndarray,
    C: np.ndarray,
    reduced: np.ndarray,
) -> None:
    """V'x / |v| of each component from Q'x, or x on V made orthonormal: C^-1 V'x, L = C C'."""
    p, s = B.shape
    for j in range(p):
        t = 0.0
        for k in range(p):
            t += A[j, k] * q[k]
        for k in range(s):
            t += B[j, k] * q[p + k]
        length = L[j, j]
        if rule.orthonormal:
            for k in range(j):
                C[j, k] = L[j, k]
                for i in range(k):
                    C[j, k] -= C[j, i] * C[k, i]
                C[j, k] = C[j, k] / C[k, k] if C[k, k] > 0.0 else 0.0
                length -= C[j, k] ** 2
                t -= C[j, k] * reduced[row, k]
            C[j, j] = np.sqrt(max(0.0, length))
        reduced[row, j] = t / np.sqrt(length) if length > 0.0 else 0.0


@_compiled
def project(q: np.ndarray, rule: Any, state: tuple[np.ndarray, ...], reduced: np.ndarray) -> None:
    """Set the one row of `reduced`, as `span_steps` does, from Q'x."""
    A, B, L = state[0], state[1], state[2]
    _project(0, q, rule, A, B, L, np.zeros_like(L), reduced)


# -- one update of IDR/QR; `narrows.solve.idr_qr` says what the letters are ----------------------

EXPLICIT = 4  # what a step may ask of its caller besides

_NEAR = 1e-8  # of G_kk: with an R_kk^2 below this R has lost half its digits


@_compiled
def centroid_steps(
    rows: tuple[np.ndarray, ...],
    first: int,
    labels: np.ndarray,
    S: np.ndarray,
    state: tuple[np.ndarray, ...],
    work: tuple[np.ndarray, ...],
    transport: bool,
    folds: np.ndarray,
) -> tuple[int, int]:
    """Algorithms 2 and 3 over rows from number `first`; returns as `span_steps` does.

    Where it asks for EXPLICIT, the sums, R and N are those with the last row, but W is not.
    """
    indptr, indices, data, QX, XX = rows
    SS, N, R, W = state
    q, u, old, K, T = work
    sparse = len(indptr) > 0
    for i in range(len(labels)):
        t, label = first + i, labels[i]
        xx = _gather(t, indptr, indices, data, S, q) if sparse else _recall(t, t, QX, XX, folds, q)
        before = N[label]
        for k in range(len(N)):
            SS[label, k] += q[k]
        for k in range(len(N)):
            SS[k, label] += q[k]
        SS[label, label] += xx
        N[label] += 1.0
        folds[t, label] = 1.0
        if sparse:
            for e in range(indptr[t], indptr[t + 1]):
                S[indices[e], label] += data[e]
        q[label] += xx  # S'x, with x in S
        for k in range(len(N)):
            for j in range(k + 1):
                old[j, k] = R[j, k]
        near = _cholesky(SS, N, R)
        if not (xx < _LARGEST and SS[label, label] < _LARGEST):
            return i + 1, TOO_LARGE
        if near:
            return i + 1, EXPLICIT
        if before > 0.0:
            if transport:
                _transport(label, q, SS, N, R, old, W, K, T)
            for k in range(len(N)):  # C'(x - m_i), with m_i of before
                u[k] = (q[k] - (SS[k, label] - q[k]) / before) / N[k] if N[k] > 0.0 else 0.0
            for k in range(len(N)):
                for j in range(k):
                    u[k] -= R[j, k] * u[j]
                u[k] = u[k] / R[k, k] if R[k, k] > 0.0 else 0.0
            share = before / (before + 1.0)
            for j in range(len(N)):
                for k in range(len(N)):
                    W[j, k] += share * u[j] * u[k]
    return len(labels), GO_ON


@_part
def _cholesky(SS: np.ndarray, N: np.ndarray, R: np.ndarray) -> bool:
    """R'R = C'C; returns whether a centroid, or nearly so, depends on those before it."""
    near = False
    for k in range(len(N)):
        square = SS[k, k] / (N[k] * N[k]) if N[k] > 0.0 else 0.0
        rest = square
        for j in range(k):
            t = SS[j, k] / (N[j] * N[k]) if N[j] > 0.0 and N[k] > 0.0 else 0.0
            for i in range(j):
                t -= R[i, j] * R[i, k]
            R[j, k] = t / R[j, j] if R[j, j] > 0.0 else 0.0
            rest -= R[j, k] * R[j, k]
        R[k, k] = np.sqrt(max(0.0, rest))
        near = near or rest < _NEAR * square
    return near


@_part
def _transport(
    label: int,
    Sx: np.ndarray,
    SS: np.ndarray,
    N: np.ndarray,
    R: np.ndarray,
    old: np.ndarray,
    W: np.ndarray,
    K: np.ndarray,
    T: np.ndarray,
) -> None:
    """W becomes T W T', with T = Q'Q_old = R^-T (C'C_old) R_old^-1."""
    c = len(N)
    for b in range(c):
        for a in range(c):
            was, count = SS[a, b], N[b]
            if b == label:
                was, count = was - Sx[a], count - 1.0
            t = was / (N[a] * count) if N[a] > 0.0 and count > 0.0 else 0.0
            for i in range(a):
                t -= R[i, a] * K[i, b]
            K[a, b] = t / R[a, a] if R[a, a] > 0.0 else 0.0
        for a in range(c):
            t = K[a, b]
            for i in range(b):
                t -= T[a, i] * old[i, b]
            T[a, b] = t / old[b, b] if old[b, b] > 0.0 else 0.0
    for a in range(c):
        for b in range(c):
            t = 0.0
            for i in range(c):
                t += T[a, i] * W[i, b]
            K[a, b] = t
    for a in range(c):
        for b in range(c):
            t = 0.0
            for i in range(c):
                t += K[a, i] * T[b, i]
            W[a, b] = t


# -- diagonal recursive least squares; `narrows.solve.rls` says what the letters are --------------

_SUSPICIOUS = 0.2  # kappa over this: rows come in the order of their labels
_MEMORY = 100.0  # rows over which agreement of a label with the one before is averaged
_FADED = 1e-30  # of the lazy factor: here it is multiplied into what it stands for
_SOFT = 0.1  # of softmax: what a prior and a squared residual weigh against those of squared loss
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@_compiled
def rls_steps(
    first: int,
    rows: tuple[np.ndarray, ...],
    targets: tuple[np.ndarray, ...],
    rule: Any,
    model: tuple[np.ndarray, ...],
    store: tuple[np.ndarray, ...],
    window: np.ndarray,
    reduced: np.ndarray,
) -> int:
    """Learn the rows from number `first` on; return the number of the first not learnt.

    That is one for which the store has no room, if it is not their end.
    """
    indptr, indices, data = rows
    label_ptr, label_of, weight = targets
    W, b, Q, N, clock = model
    arena_of, arena, slots, kept, use, random = store
    size, c = len(slots), len(b)
    o, e = np.zeros(c), np.zeros(c)
    for i in range(first, len(weight)):
        w = weight[i]
        lo, hi = indptr[i], indptr[i + 1]
        first_label, last_label = label_ptr[i], label_ptr[i + 1]
        if size and use[1] + (hi - lo) + (last_label - first_label) > len(arena):
            return i
        if w > 0.0:
            if rule.keep < 1.0:
                _fade(rule.keep, Q, N, clock)
            xx = 0.0
            for k in range(lo, hi):
                xx += np.float64(data[k]) * data[k]
            clock[1] += w
            clock[2] += w * (xx - clock[2]) / clock[1]
            best = _rls_step(
                lo, hi, indices, data, first_label, last_label, label_of, w, True,
                rule, W, b, Q, N, clock, o, e,
            )  # fmt: skip
            for k in range(first_label, last_label):
                N[label_of[k]] += w
            hit = 0
            for k in range(first_label, last_label):
                if label_of[k] == best:
                    hit = 1
            window[int(clock[9]) % len(window)] = hit
            clock[6] += hit
            clock[7] += 1.0
            clock[9] += 1.0
            if size:
                slot = _slot(label_of[first_label] if not rule.several else -1, slots, kept, use,
                             N, clock, random)  # fmt: skip
                if slot >= 0:
                    _put(slot, lo, hi, indices, data, first_label, last_label, label_of, w,
                         arena_of, arena, slots, kept, use)  # fmt: skip
                if not rule.several:
                    kappa = _kappa(label_of[first_label], N, clock)
                    if kappa > _SUSPICIOUS and _uniform(random) < kappa:
                        k = int(_uniform(random) * use[0])
                        a, z = slots[k, 0], slots[k, 0] + slots[k, 1]
                        clock[8] += 1.0
                        _rls_step(
                            a, z, arena_of, arena, z, z + slots[k, 2], arena_of, kept[k], False,
                            rule, W, b, Q, N, clock, o, e,
                        )  # fmt: skip
        if len(reduced):
            for j in range(c):
                o[j] = 0.0
            for k in range(lo, hi):
                for j in range(c):
                    o[j] += data[k] * W[indices[k], j]
            for j in range(c):
                reduced[i, j] = o[j]
    return len(weight)


@_part
def _fade(keep: float, Q: np.ndarray, N: np.ndarray, clock: np.ndarray) -> None:
    """Let all that was counted weigh less: Q and qb by the one factor that they are read with."""
    clock[3] *= keep
    clock[1] *= keep
    for j in range(len(N)):
        N[j] *= keep
    if clock[3] < _FADED:
        for k in range(len(Q)):
            Q[k] *= clock[3]
        clock[0] *= clock[3]
        clock[3] = 1.0


@_part
def _rls_step(
    lo: int,
    hi: int,
    indices: np.ndarray,
    data: np.ndarray,
    first_label: int,
    last_label: int,
    label_of: np.ndarray,
    w: float,
    counts: bool,
    rule: Any,
    W: np.ndarray,
    b: np.ndarray,
    Q: np.ndarray,
    N: np.ndarray,
    clock: np.ndarray,
    o: np.ndarray,
    e: np.ndarray,
) -> int:
    """One implicit step for a row; returns the best of the classes before it, -1 if none came."""
    c, g = len(b), clock[3]
    least = _SOFT if rule.softmax else 1.0
    prior, bias = least * clock[2], 1.0 / (least + g * clock[0])
    for j in range(c):
        o[j] = b[j]
    xp = 0.0
    for k in range(lo, hi):
        x, row = np.float64(data[k]), indices[k]
        energy = prior + g * Q[row]
        if energy > 0.0:
            xp += x * x / energy
        for j in range(c):
            o[j] += x * W[row, j]
    best, h = -1, 1.0
    for j in range(c):
        if N[j] > 0.0 and (best < 0 or o[j] > o[best]):
            best = j
    if rule.softmax:  # of the classes that came, this row's with them; there is room for others
        here, top = label_of[first_label], -np.inf
        for j in range(c):
            if (N[j] > 0.0 or j == here) and o[j] > top:
                top = o[j]
        t = 0.0
        for j in range(c):
            o[j] = np.exp(o[j] - top) if N[j] > 0.0 or j == here else 0.0
            t += o[j]
        for j in range(c):
            o[j] /= t
    for j in range(c):
        e[j] = -o[j]
    for k in range(first_label, last_label):
        e[label_of[k]] += 1.0
    if rule.softmax:
        h = 0.0
        for j in range(c):
            h += e[j] * e[j]
        h *= _SOFT
    f = w / (1.0 + w * h * (xp + bias))
    for j in range(c):
        e[j] *= f
        b[j] += bias * e[j]
    for k in range(lo, hi):
        x, row = np.float64(data[k]), indices[k]
        energy = prior + g * Q[row]
        if energy > 0.0:
            p = x / energy
            for j in range(c):
                W[row, j] += p * e[j]
        if counts:
            Q[row] += w * h * x * x / g
    if counts:
        clock[0] += w * h / g
    return best


@_part
def _kappa(label: int, N: np.ndarray, clock: np.ndarray) -> float:
    """How much more often a label is that of the row before than it would be by chance."""
    if clock[5] >= 0.0:
        same = 1.0 if clock[5] == label else 0.0
        clock[4] += (same - clock[4]) / min(clock[1], _MEMORY)
    clock[5] = label
    chance = 0.0
    for j in range(len(N)):
        chance += (N[j] / clock[1]) ** 2
    return (clock[4] - chance) / (1.0 - chance) if chance < 1.0 else 0.0


@_part
def _slot(
    label: int,
    slots: np.ndarray,
    kept: np.ndarray,
    use: np.ndarray,
    N: np.ndarray,
    clock: np.ndarray,
    random: np.ndarray,
) -> int:
    """Where a row goes in the store: -1 nowhere. Classes are balanced; label -1: all rows alike."""
    size, counts = len(slots), use[2:]
    if use[0] < size:
        return use[0]
    if label < 0:
        k = int(_uniform(random) * clock[7])
        return k if k < size else -1
    largest = 0
    for j in range(1, len(counts)):
        if counts[j] > counts[largest]:
            largest = j
    target = -1
    if counts[label] < counts[largest]:
        target = largest
    elif _uniform(random) * N[label] < counts[label]:
        target = label
    if target < 0:
        return -1
    k = int(_uniform(random) * size)
    while slots[k, 4] != target:
        k = int(_uniform(random) * size)
    return k


@_part
def _put(
    slot: int,
    lo: int,
    hi: int,
    indices: np.ndarray,
    data: np.ndarray,
    first_label: int,
    last_label: int,
    label_of: np.ndarray,
    w: float,
    arena_of: np.ndarray,
    arena: np.ndarray,
    slots: np.ndarray,
    kept: np.ndarray,
    use: np.ndarray,
) -> None:
    """Copy a row, and behind it its labels, into the store; there is room at the end."""
    n, labels = hi - lo, last_label - first_label
    if slot < use[0]:
        if slots[slot, 4] >= 0:
            use[2 + slots[slot, 4]] -= 1
    else:
        use[0] += 1
    if slots[slot, 3] < n + labels:
        slots[slot, 0], slots[slot, 3] = use[1], n + labels
        use[1] += n + labels
    start = slots[slot, 0]
    slots[slot, 1], slots[slot, 2] = n, labels
    for k in range(n):
        arena_of[start + k], arena[start + k] = indices[lo + k], data[lo + k]
    for k in range(labels):
        arena_of[start + n + k], arena[start + n + k] = label_of[first_label + k], 1.0
    slots[slot, 4] = label_of[first_label] if labels == 1 else -1
    if labels == 1:
        use[2 + label_of[first_label]] += 1
    kept[slot] = w


@_part
def _uniform(random: np.ndarray) -> float:
    """The next number in [0, 1) of splitmix64."""
    random[0] += _GOLDEN
    z = random[0]
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return np.float64((z ^ (z >> _31)) >> _11) * 2.0**-53
