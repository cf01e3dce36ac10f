"""ILDA: Hiraoka et al., ICPR 2000, which the papers cite.

The Sanger-type rule for V'S_wV = I, V'S_bV = Lambda, in the form V + eta (S_b V - S_w V UT[V'S_bV])
with u u', u = x - m_l, for S_w, and UT[.] what is on and above the diagonal. The start and the step
size are narrows' own: v^j(j) = x(j)/|x(j)|, no step while n <= 20, and
eta = min(20/((n + 20) tr S_b), 0.5/(|UT|_F |u|^2)), 0 while tr S_b is 0 up to rounding.
"""

from __future__ import annotations

import numpy as np
from examples.papers.printed.moments import Moments


def ilda(X, y, p, eta=None):
    """Yield v(n) of shape (p, d) after each sample; v^j = 0 before n = j."""
    d = X.shape[1]
    moments, v = Moments(d, set(y)), np.zeros((p, d))
    for n, (x, l_n) in enumerate(zip(X, y, strict=True), 1):
        moments.update(x, l_n)
        if n <= p:
            v[n - 1] = x / np.linalg.norm(x)
        if n > 20:
            V = v.T
            Phi = moments.Phi()
            S_b_V = sum(moments.p(i) * np.outer(Phi_i, Phi_i @ V) for i, Phi_i in Phi.items())
            u = x - moments.m_i[l_n]
            UT = np.triu(V.T @ S_b_V)
            size = np.linalg.norm(UT) * (u @ u)
            between = sum(moments.p(i) * Phi_i @ Phi_i for i, Phi_i in Phi.items())
            is_zero = between <= 1e-12 * (u @ u + moments.m @ moments.m)
            auto = 0.0 if is_zero else 20 / (n + 20) / between
            gain = auto if eta is None else eta
            gain = min(gain, 0.5 / size) if size > 0 else gain
            V = V + gain * (S_b_V - np.outer(u, u @ V @ UT))
            v = V.T.copy()
        yield v.copy()
