"""The definitions of Yan et al., IEEE TKDE (2006), section 2, sample by sample on dense arrays."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def repeated(X, y, weight=None):
    """The pairs (row, class, weight) of labels or an indicator matrix."""
    X = np.asarray(X, dtype=float)
    weight = np.ones(len(X)) if weight is None else weight
    if np.ndim(y) == 1:
        return [(x, label, w) for x, label, w in zip(X, y, weight, strict=True)]
    return [
        (x, j, w) for x, row, w in zip(X, y, weight, strict=True) for j in range(len(row)) if row[j]
    ]


def scatters(X, y, weight=None, priors="empirical"):
    """S_b, S_w and C of the classes of positive weight, with class j given the weight p_j."""
    pairs = [pair for pair in repeated(X, y, weight) if pair[2] > 0]
    classes = sorted({label for _, label, _ in pairs})
    N = np.array([sum(w for _, label, w in pairs if label == j) for j in classes])
    if isinstance(priors, str):
        p = N ** {"empirical": 1.0, "sqrt": 0.5, "balanced": 0.0}[priors]
    else:
        p = np.asarray(priors, dtype=float)
    p = p / p.sum()
    means = [
        sum(w * x for x, label, w in pairs if label == j) / N_j
        for j, N_j in zip(classes, N, strict=True)
    ]
    m = sum(p_j * m_j for p_j, m_j in zip(p, means, strict=True))
    S_b = sum(p_j * np.outer(m_j - m, m_j - m) for p_j, m_j in zip(p, means, strict=True))
    S_w = sum(
        p[classes.index(label)] / N[classes.index(label)] * w
        * np.outer(x - means[classes.index(label)], x - means[classes.index(label)])
        for x, label, w in pairs
    )  # fmt: skip
    return S_b, S_w, S_b + S_w


def best_subset(A, p):
    """The columns, of all sets of p, for which trace(W'AW) is largest; and that trace."""
    best = max(combinations(range(len(A)), p), key=lambda K: sum(A[k, k] for k in K))
    return set(best), sum(A[k, k] for k in best)


def between(X, y, priors):
    """Scores of OCFS, Yan et al. (2005), Table 1."""
    return np.diag(scatters(X, y, priors=priors)[0])


def margin(eps):
    """Scores of MMCFS: the diagonal of S_b - eps S_w."""

    def scores(X, y, priors):
        S_b, S_w, _ = scatters(X, y, priors=priors)
        return np.diag(S_b - eps * S_w)

    return scores


def total(X, y, priors):
    """Scores of VarianceFS."""
    return np.diag(scatters(X, y)[2])


def fisher(X, y, priors):
    """Scores of FisherFS."""
    S_b, S_w, _ = scatters(X, y, priors=priors)
    return np.diag(S_b) / np.diag(S_w)


def trace_ratio(p):
    """Scores of FisherFS by trace ratio, from the best of all sets of p columns."""

    def scores(X, y, priors):
        b, w = (np.diag(S) for S in scatters(X, y, priors=priors)[:2])
        best = max(b[list(K)].sum() / w[list(K)].sum() for K in combinations(range(len(b)), p))
        return b - best * w

    return scores


def indicators(X, y, priors):
    """X in standard units, and the weighted class indicators less their mean: ForwardFS."""
    X = np.asarray(X, dtype=float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    classes, N = np.unique(y, return_counts=True)
    if isinstance(priors, str):
        p = N ** {"empirical": 1.0, "sqrt": 0.5, "balanced": 0.0}[priors]
    else:
        p = np.asarray(priors, dtype=float)
    T = (y[:, None] == classes) * ((p / p.sum()) ** 0.75 / (N / len(y)))
    return X, T - T.mean(axis=0)


def explained(X, T, ridge):
    """By how much a ridge regression on X lowers the mean squared length of T and the penalty."""
    n, k = X.shape
    rows = np.vstack([X, np.sqrt(n * ridge) * np.eye(k)])
    targets = np.vstack([T, np.zeros((k, T.shape[1]))])
    left = targets - rows @ np.linalg.lstsq(rows, targets, rcond=None)[0]
    return ((T**2).sum() - (left**2).sum()) / n


def forward(size, ridge=0.01):
    """Scores of ForwardFS: the gain of each selected feature; 0 for the others."""

    def scores(X, y, priors):
        X, T = indicators(X, y, priors)
        found, chosen, before = np.zeros(X.shape[1]), [], 0.0
        while len(chosen) < min(size, X.shape[1]):
            rest = [k for k in range(X.shape[1]) if k not in chosen]
            gain = {k: explained(X[:, [*chosen, k]], T, ridge) - before for k in rest}
            best = max(rest, key=gain.get)
            found[best], before = gain[best], before + gain[best]
            chosen.append(best)
        return found

    return scores
