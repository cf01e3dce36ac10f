"""IOC: Yan et al., IEEE TKDE (2006), Table 1."""

from __future__ import annotations

import numpy as np
from examples.papers.printed.moments import Moments, deflated


def ioc(X, y, p):
    """Yield v(n) of shape (p, d) after each sample; v^j = 0 before n = j."""
    d = X.shape[1]
    moments, v = Moments(d, set(y)), np.zeros((p, d))
    for n, (x, l_n) in enumerate(zip(X, y, strict=True), 1):
        moments.update(x, l_n)
        Phi = moments.Phi()  # Phi^1_i(n)
        for j in range(1, min(p, n) + 1):
            if j == n:
                # Table 1; the derivation's v(0) = x(1) dies at once, since S_b(1) = 0
                v[j - 1] = x
            else:
                before = v[j - 1].copy()  # v^j(n - 1)
                norm = np.linalg.norm(before)
                # the worked example divides alpha by |v|^2 and leaves p_i out: a slip
                alpha = {i: Phi_i @ before / norm for i, Phi_i in Phi.items()}
                v[j - 1] = (n - 1) / n * before + 1 / n * sum(
                    alpha[i] * moments.p(i) * Phi_i for i, Phi_i in Phi.items()
                )
                # of every class, as the table has it; the text deflates that of l_n only
                Phi = {i: deflated(Phi_i, v[j - 1]) for i, Phi_i in Phi.items()}
        yield v.copy()
