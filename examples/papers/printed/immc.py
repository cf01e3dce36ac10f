"""IMMC: Yan et al., Information Sciences (2006), Tables 2 and 3, with equation (7).

The weighted criterion is that of Yan et al. (2004).
"""

from __future__ import annotations

import numpy as np
from examples.papers.printed.moments import Moments, deflated


def immc(X, y, p, theta, eps=1.0, deflate_shift=False):
    """Yield v(n) of shape (p, d) after each sample; v^j = 0 before n = j.

    S_b - eps S_w = (1 + eps) S_b - eps C, which at eps = 1 is the tables' 2 S_b - C. theta is a
    number, or one for each component: the table prints theta(j). What is not in the papers:
    theta="auto", theta_j(n) = max(0, -rho_j(n)) + 0.05 tr C(n)/d, with rho_j the running mean, at a
    gain of 2/n, of the Rayleigh quotient of v_j; and the shift deflated by the earlier vectors.
    """
    d = X.shape[1]
    auto = isinstance(theta, str)
    theta = np.broadcast_to(0.0 if auto else np.asarray(theta, dtype=float), (p,)).copy()
    rho, squares = np.zeros(p), 0.0
    moments, v = Moments(d, set(y)), np.zeros((p, d))
    for n, (x, l_n) in enumerate(zip(X, y, strict=True), 1):
        moments.update(x, l_n)
        Phi = moments.Phi()
        u = x - moments.m
        squares += x @ x
        for j in range(1, min(p, n) + 1):
            if j == n:
                v[j - 1] = x if n == 1 else u
            else:
                before = v[j - 1].copy()
                alpha = {i: Phi_i @ before for i, Phi_i in Phi.items()}
                beta = u @ before
                bracket = (1 + eps) * sum(
                    moments.p(i) * alpha[i] * Phi_i for i, Phi_i in Phi.items()
                ) - eps * beta * u
                if auto:
                    rho[j - 1] += 2 / n * (bracket @ before / (before @ before) - rho[j - 1])
                    trace = squares / n - moments.m @ moments.m
                    theta[j - 1] = max(0.0, -rho[j - 1]) + 0.05 * trace / d
                shift = before
                if deflate_shift:  # the table's is not
                    shift = before - sum(v_k * (v_k @ before) / (v_k @ v_k) for v_k in v[: j - 1])
                bracket = bracket + theta[j - 1] * shift
                # Table 2 prints |v(n-1)| without its index; the whole bracket is divided by it
                v[j - 1] = (n - 1) / n * before + 1 / n * bracket / np.linalg.norm(before)
                Phi = {i: deflated(Phi_i, v[j - 1]) for i, Phi_i in Phi.items()}
                u = deflated(u, v[j - 1])
        yield v.copy()
