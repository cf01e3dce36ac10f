"""One step of the incremental engine, compiled; `narrows.solve.span` says what the letters are."""

from __future__ import annotations

from typing import Any

import numpy as np

from narrows.solve.kernels import GO_ON, LARGEST, TOO_LARGE, compiled, gather, part, recall

REBASE, STILL = 2, 3  # what a step may ask for besides

_GUARD_EVERY = 64  # samples from one look at the cancellation in the coordinates to the next
_CANCELLED = 100.0  # times their sum the parts of a vector may be: products lose its square
_SMALL, _GROWN = 1e-30, 10.0  # where the diagonal of A may be; each sample can multiply it
_EPS = 2.0**-52
_TRUSTED = 1e-10  # how wrong, relatively, |v_j|^2 may be by what is known of the steps
_ETA, _WAIT, _STABLE = 5.0, 20.0, 0.5  # of ILDA: the gain 5/(n + 20) after 20 samples, bounded


@compiled
def span_steps(
    csr: tuple[np.ndarray, ...] | None,
    block: tuple[np.ndarray, ...] | None,
    first: int,
    labels: np.ndarray,
    Q: np.ndarray,
    active: int,
    rule: Any,
    eta: float | None,
    state: tuple[np.ndarray, ...],
    work: tuple[np.ndarray, ...],
    folds: np.ndarray,
    reduced: np.ndarray | None,
) -> tuple[int, int]:
    """Step over rows from number `first`; return how many, and what the last one asks for.

    Row t of `folds` is what row t of X, times its transpose, adds to Q. Sparse rows are given by
    CSR parts, and their folds are added here. A block of dense rows is given by its products with
    Q and with each other, X Q and X X', with a last row for what was taken off all rows; the
    caller adds X'folds. Row t of `reduced` is row t of X as it was on the unit vectors of its
    moment. `eta` is ILDA's. What is None is not compiled.
    """
    # all arrays by name before the loop: to take one out of a tuple costs as much as ten sums
    A, B, L, SV, SS, N, WW, mean_theta, rho, err, clock = state
    q, Vx, Sm, share, Y, w, kap, low, a, per_nu, y, r, shift, size = work
    theta, width = rule.theta, Q.shape[1]
    if csr is not None:
        indptr, indices, data = csr
    if block is not None:
        QX, XX = block
        recall(len(folds) - 1, first, QX, XX, folds, shift)  # Q's of the row that was taken off
    for i in range(len(labels)):
        t, label = first + i, labels[i]
        if csr is not None:
            xx = gather(t, indptr, indices, data, Q, q)
        if block is not None:
            xx = recall(t, t, QX, XX, folds, q)
        _add_sample(label, q, xx, A, B, SS, SV, N, clock, Vx)
        mm = _inner_products(label, q, xx, rule, SS, SV, N, clock, Vx, Sm, share, Y)
        if eta is not None:
            asked, moved = _hebbian(
                label, active, eta, L, N, clock, Y, w, kap, low, a, per_nu, y, r
            )
        if eta is None:
            asked, moved = _iterate(
                active, mm, rule, theta, L, N, mean_theta, rho, err, clock,
                Y, w, kap, low, a, per_nu, y, r, size,
            )  # fmt: skip
        _fold_in(label, t, q, xx, active, rule, A, B, WW, kap, a, folds)
        _new_coordinates(active, rule, A, B, L, SV, N, clock, share, w, kap, low, a, per_nu, y, r)
        asked = _verdict(asked, moved, xx, active, rule, A, B, L, SS, N, WW, clock)
        if csr is not None:
            g = folds[t]
            for e in range(indptr[t], indptr[t + 1]):
                x, v = Q[indices[e]], data[e]
                for k in range(width):
                    x[k] += v * g[k]
        if reduced is not None:
            for k in range(width):
                q[k] += xx * folds[t, k]
            if block is not None:
                for k in range(width):
                    shift[k] += XX[t, -1] * folds[t, k]
                    q[k] += shift[k]
            _project(t, q, rule, A, B, L, low, reduced)
        if asked != GO_ON:
            return i + 1, asked
    return len(labels), GO_ON


@part
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


@part
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


@part
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


@part
def _hebbian(
    label: int,
    active: int,
    eta: float,
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
    if not eta > 0.0:
        eta = _ETA / (n + _WAIT)
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


@part
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


@part
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


@part
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


@part
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
    if not (xx < LARGEST and clock[1] < LARGEST):
        asked = TOO_LARGE
    return asked


@part
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


@compiled
def project(q: np.ndarray, rule: Any, state: tuple[np.ndarray, ...], reduced: np.ndarray) -> None:
    """Set the one row of `reduced`, as `span_steps` does, from Q'x."""
    A, B, L = state[0], state[1], state[2]
    _project(0, q, rule, A, B, L, np.zeros_like(L), reduced)
