"""OnlineSRDA's core in plain NumPy, a row at a time: no reservoir, no polish."""

from __future__ import annotations

import numpy as np


def online_srda(X, T, weight=None, half_life=None, softmax=False):
    """Learn samples X with targets T of shape (n, n_classes), all given; yield after each sample.

    Yields (W, b, Q, qb, s2, right), with `right` whether the best output was that of a target.
    """
    (n_rows, d), c = X.shape, T.shape[1]
    keep = 1.0 if half_life is None else 0.5 ** (1.0 / half_life)
    weight = np.ones(n_rows) if weight is None else weight
    least = 0.1 if softmax else 1.0
    W, b, Q, qb, n, s2 = np.zeros((d, c)), np.zeros(c), np.zeros(d), 0.0, 0.0, 0.0
    came = np.zeros(c, dtype=bool)
    for x, t, w in zip(X, T, weight, strict=True):
        right = None
        if w > 0:
            Q, qb, n = keep * Q, keep * qb, keep * n
            n += w
            s2 += w * (x @ x - s2) / n
            p = np.divide(x, least * s2 + Q, out=np.zeros(d), where=x != 0)
            output = x @ W + b
            right = bool(t[np.where(came, output, -np.inf).argmax()]) and came.any()
            came |= t > 0
            if softmax:
                output = np.where(came, np.exp(output - output[came].max()), 0.0)
                output /= output.sum()
            e = t - output
            h = 0.1 * e @ e if softmax else 1.0
            e = e * w / (1 + w * h * (x @ p + 1 / (least + qb)))
            W, b = W + np.outer(p, e), b + e / (least + qb)
            Q, qb = Q + w * h * x * x, qb + w * h
        yield W, b, Q, qb, s2, right
