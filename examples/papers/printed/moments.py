"""The moments of step n: Yan et al., Information Sciences (2006), Table 3.

The first lines of Table 1 of Yan et al., IEEE TKDE (2006), are the same.
"""

from __future__ import annotations

import numpy as np


class Moments:
    """m, N_i and m_i, with the current sample in them."""

    def __init__(self, d, classes):
        self.n = 0
        self.m = np.zeros(d)  # all initial values are zero (IEEE TKDE, worked example)
        self.N = dict.fromkeys(classes, 0)
        self.m_i = {i: np.zeros(d) for i in classes}

    def update(self, x, l_n):
        self.n += 1
        n = self.n
        self.m = ((n - 1) * self.m + x) / n  # m(n)
        self.N[l_n] += 1  # N_i(n) for i = l_n; the others keep theirs
        N = self.N[l_n]
        self.m_i[l_n] = ((N - 1) * self.m_i[l_n] + x) / N  # m_i(n)

    def Phi(self):
        """Phi_i(n) = m_i(n) - m(n), for the classes seen: with p_i = 0 the others add nothing."""
        return {i: self.m_i[i] - self.m for i, N in self.N.items() if N}

    def p(self, i):
        """p_i(n) = N_i(n) / n. Table 2 prints p_j(n) = N_i(n)/n for it."""
        return self.N[i] / self.n


def deflated(a, v):
    """a less its projection on v: (a'v) v / |v| |v|."""
    return a - (a @ v) * v / (np.linalg.norm(v) * np.linalg.norm(v))
