"""IIS: Yan et al., Information Sciences (2006), Table 4, with equation (14)."""

from __future__ import annotations

import numpy as np
from examples.papers.printed.moments import Moments, deflated


def iis(X, y, p):
    """Yield v(n) of shape (p, d) after each sample; v^j = 0 before n = j."""
    d = X.shape[1]
    moments, v = Moments(d, set(y)), np.zeros((p, d))
    for n, (x, l_n) in enumerate(zip(X, y, strict=True), 1):
        moments.update(x, l_n)
        Phi = moments.Phi()
        u = x - moments.m  # Table 3: u(n) = u(n) - m(n)
        for j in range(1, min(p, n) + 1):
            if j == n:
                # at n = 1 the centred sample is zero: the first sample itself, as the text says
                v[j - 1] = x if n == 1 else u
            else:
                before = v[j - 1].copy()
                # Table 4 leaves 1/|v| out; equation (14) has it
                alpha = {i: Phi_i @ before / np.linalg.norm(before) for i, Phi_i in Phi.items()}
                v[j - 1] = (n - 1) / n * before + 1 / n * sum(
                    alpha[i] * moments.p(i) * Phi_i for i, Phi_i in Phi.items()
                )
                Phi = {i: deflated(Phi_i, v[j - 1]) for i, Phi_i in Phi.items()}
                u = deflated(u, v[j - 1])
        yield v.copy()
