"""The updates of IDR/QR, compiled; `narrows.solve.idr_qr` defines the letters."""

from __future__ import annotations

import numpy as np

from narrows.solve.kernels import (
    GO_ON,
    LARGEST,
    TOO_LARGE,
    Array,
    Maybe,
    compiled,
    inlined,
    products,
)

EXPLICIT = 4  # what this step may ask for, too

NEAR = 1e-8  # of G_kk: where R_kk^2 is smaller, R has lost half its digits


@compiled
def centroid_steps(
    indptr: Maybe, indices: Maybe, data: Maybe, QX: Maybe, XX: Maybe, first: int, labels: Array,
    S: Array, state: tuple[Array, ...], work: tuple[Array, ...], transport: bool,
    coefficients: Array,
) -> tuple[int, int]:  # fmt: skip
    """Run Algorithm 2 or 3 for samples from number `first` on, as `iteration_steps` does.

    Where it asks for EXPLICIT, the sums, R and N include the last sample, but W does not.
    """
    SS, N, R, W = state
    q, u, old, K, T = work
    for i in range(len(labels)):
        t, label = first + i, labels[i]
        xx = products(t, indptr, indices, data, QX, XX, S, coefficients, q)
        before = N[label]
        for k in range(len(N)):
            SS[label, k] += q[k]
        for k in range(len(N)):
            SS[k, label] += q[k]
        SS[label, label] += xx
        N[label] += 1.0
        coefficients[t, label] = 1.0
        if indptr is not None:
            for e in range(indptr[t], indptr[t + 1]):
                S[indices[e], label] += data[e]
        q[label] += xx  # S'x, with x in S
        for k in range(len(N)):
            for j in range(k + 1):
                old[j, k] = R[j, k]
        near = _cholesky(SS, N, R)
        if not (xx < LARGEST and SS[label, label] < LARGEST):
            return i + 1, TOO_LARGE
        if near:
            return i + 1, EXPLICIT
        if before > 0.0:
            if transport:
                _transport(label, q, SS, N, R, old, W, K, T)
            for k in range(len(N)):  # C'(x - m_i), with the m_i before x
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


@np.errstate(all="ignore")
def plain_steps(
    indptr: Maybe, indices: Maybe, data: Maybe, QX: Maybe, XX: Maybe, first: int, labels: Array,
    S: Array, state: tuple[Array, ...], work: tuple[Array, ...], transport: bool,
    coefficients: Array,
) -> tuple[int, int]:  # fmt: skip
    """Do what `centroid_steps` does, with the same bits, and O(c) calls of NumPy for a sample."""
    SS, N, R, W = state
    q, u, old, K, T = work
    for i in range(len(labels)):
        t, label = first + i, labels[i]
        xx = products(t, indptr, indices, data, QX, XX, S, coefficients, q)
        before = N[label]
        SS[label] += q
        SS[:, label] += q
        SS[label, label] += xx
        N[label] += 1.0
        coefficients[t, label] = 1.0
        if indptr is not None:
            entries = slice(indptr[t], indptr[t + 1])
            S[indices[entries], label] += data[entries]
        q[label] += xx
        old[:] = R
        G, near = centroid_products(SS, N), False
        for k in range(len(N)):
            near = near or G[k, k] < NEAR * SS[k, k] / max(1.0, N[k] * N[k])
            eliminate(G, R, k, np.sqrt(max(0.0, G[k, k])))
        if not (xx < LARGEST and SS[label, label] < LARGEST):
            return i + 1, TOO_LARGE
        if near:
            return i + 1, EXPLICIT
        if before > 0.0:
            if transport:
                _transport(label, q, SS, N, R, old, W, K, T)
            u[:] = np.where(N > 0, (q - (SS[:, label] - q) / before) / np.maximum(1.0, N), 0.0)
            substitute(R, u)
            W += (before / (before + 1.0) * u)[:, None] * u
    return len(labels), GO_ON


def centroid_products(SS: Array, N: Array) -> Array:
    """Return C'C; 0 for a class without samples."""
    return np.where(np.outer(N, N) > 0, SS / np.maximum(1.0, np.outer(N, N)), 0.0)


def eliminate(G: Array, R: Array, k: int, length: float, row: Maybe = None) -> None:
    """Set row k of R, whose diagonal is `length`, and take its squares out of G."""
    R[k, k] = length
    if length > 0.0:
        R[k, k + 1 :] = G[k, k + 1 :] / length if row is None else row[k + 1 :]
        G[k + 1 :, k + 1 :] -= R[k, k + 1 :, None] * R[k, k + 1 :]
    else:
        R[k, k + 1 :] = 0.0


def substitute(R: Array, u: Array, known: Maybe = None) -> None:
    """Set u to R^-T u, where R_kk > 0, and else to 0; `known` gives some of its entries."""
    for k in range(len(u)):
        if known is not None and k in known:
            u[k] = known[k]
        else:
            u[k] = u[k] / R[k, k] if R[k, k] > 0.0 else 0.0
        u[k + 1 :] -= R[k, k + 1 :] * u[k]


@inlined
def _cholesky(SS: Array, N: Array, R: Array) -> bool:
    """Set R, R'R = C'C; return whether a centroid nearly depends on earlier ones."""
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
        near = near or rest < NEAR * square
    return near


@inlined
def _transport(
    label: int, Sx: Array, SS: Array, N: Array, R: Array, old: Array, W: Array, K: Array,
    T: Array,
) -> None:  # fmt: skip
    """Set W to T W T', with T = Q'Q_old = R^-T (C'C_old) R_old^-1."""
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
