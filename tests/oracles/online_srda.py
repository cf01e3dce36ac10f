"""OnlineSRDA's core in plain NumPy, a row at a time: no reservoir, no polish."""

from __future__ import annotations

import numpy as np


def online_srda(X, T, weight=None, half_life=None, centred=False):
    """Learn samples X with targets T of shape (n, n_classes), all given; yield after each sample.

    Yields (W, b, Q, qb, s2, right), with `right` whether the best output was that of a target, and
    outputs xW + b. With `centred` samples are measured from an origin, and so are Q and s2: the
    first sample, and after 2, 4, 8, ... samples their mean, from which all is computed anew.
    With a half-life it moves after every so many samples too, but at least 32.
    """
    (n_rows, d), c = X.shape, T.shape[1]
    keep = 1.0 if half_life is None else 0.5 ** (1.0 / half_life)
    weight = np.ones(n_rows) if weight is None else weight
    W, b, Q, qb, n, s2 = np.zeros((d, c)), np.zeros(c), np.zeros(d), 0.0, 0.0, 0.0
    met, origin, learned, w_of = np.zeros(c, dtype=bool), None, [], []
    for row, t, w in zip(X, T, weight, strict=True):
        right = None
        if w > 0:
            if origin is None:
                origin = row if centred else np.zeros(d)
            x = row - origin
            Q, qb, n = keep * Q, keep * qb, keep * n
            n += w
            s2 += w * (x @ x - s2) / n
            p = np.divide(x, s2 + Q, out=np.zeros(d), where=x != 0)
            output = x @ W + b
            right = bool(t[np.where(met, output, -np.inf).argmax()]) and met.any()
            met |= t > 0
            e = (t - output) * w / (1 + w * (x @ p + 1 / (1 + qb)))
            W, b = W + np.outer(p, e), b + e / (1 + qb)
            Q, qb = Q + w * x * x, qb + w
            if centred:
                w_of = [keep * other for other in w_of] + [w]
                learned.append(row)
                m = len(learned)
                if m > 1 and (
                    m & (m - 1) == 0 or (half_life and m % max(32, int(np.ceil(half_life))) == 0)
                ):
                    new = np.average(learned, axis=0, weights=w_of)
                    b, origin, about = b + (new - origin) @ W, new, np.array(learned) - new
                    Q, s2 = w_of @ about**2, np.average((about**2).sum(axis=1), weights=w_of)
        yield W, b - (0.0 if origin is None else origin @ W), Q, qb, s2, right
