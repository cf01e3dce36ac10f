"""IMMC: paper 004, Tables 2 and 3, with equation (7); the weighted criterion of paper 003."""

from __future__ import annotations

import numpy as np

from tests.papers.moments import Moments, deflated


def immc(X, y, p, theta, eps=1.0):
    """Yield v(n) of shape (p, d) after each sample; v^j = 0 before n = j.

    S_b - eps S_w = (1 + eps) S_b - eps C, which at eps = 1 is the tables' 2 S_b - C. theta is a
    number, or one for each component: the table prints theta(j).
    """
    d = X.shape[1]
    theta = np.broadcast_to(np.asarray(theta, dtype=float), (p,))
    moments, v = Moments(d, set(y)), np.zeros((p, d))
    for n, (x, l_n) in enumerate(zip(X, y, strict=True), 1):
        moments.update(x, l_n)
        Phi = moments.Phi()
        u = x - moments.m
        for j in range(1, min(p, n) + 1):
            if j == n:
                v[j - 1] = x if n == 1 else u
            else:
                before = v[j - 1].copy()
                alpha = {i: Phi_i @ before for i, Phi_i in Phi.items()}
                beta = u @ before
                bracket = (
                    (1 + eps) * sum(moments.p(i) * alpha[i] * Phi_i for i, Phi_i in Phi.items())
                    - eps * beta * u
                    + theta[j - 1] * before  # not deflated in the table
                )
                # Table 2 prints |v(n-1)| without its index; the whole bracket is divided by it
                v[j - 1] = (n - 1) / n * before + 1 / n * bracket / np.linalg.norm(before)
                Phi = {i: deflated(Phi_i, v[j - 1]) for i, Phi_i in Phi.items()}
                u = deflated(u, v[j - 1])
        yield v.copy()
