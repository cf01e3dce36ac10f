"""CCIPCA: Weng, Zhang and Hwang, IEEE TPAMI 25(8), 2003, section 3; the papers give no formula.

v(n) = (n - 1 - a)/n v(n-1) + (1 + a)/n u u'v/|v|, with a the amnesic parameter and u = x - m(n),
the mean with the current sample in it; later components see u less its projections. While
n <= 1 + a, where the weight of v(n-1) would not be positive, a is 0.
"""

from __future__ import annotations

import numpy as np
from examples.papers.printed.moments import Moments, deflated


def ccipca(X, p, amnesic=0.0):
    """Yield v(n) of shape (p, d) after each sample; v^j = 0 before n = j."""
    d = X.shape[1]
    moments, v = Moments(d, {0}), np.zeros((p, d))
    for n, x in enumerate(X, 1):
        moments.update(x, 0)
        u = x - moments.m
        for j in range(1, min(p, n) + 1):
            if j == n:
                v[j - 1] = x if n == 1 else u  # the start of the tables
            else:
                before = v[j - 1].copy()
                a = amnesic if n > 1 + amnesic else 0
                gain = (1 + a) / n
                v[j - 1] = (1 - gain) * before + gain * u * (u @ before) / np.linalg.norm(before)
                u = deflated(u, v[j - 1])
        yield v.copy()
