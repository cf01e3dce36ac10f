"""Numbers of components, ridges and eps by brute force: all is computed again without some samples.

Nothing is subtracted, and no function of the package is used. Densities are those of SciPy.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, optimize, special, stats

POWERS = {"empirical": 1.0, "sqrt": 0.5, "balanced": 0.0}
GRID = [10.0**k for k in range(-7, 3)]
EPS = [10.0 ** (k / 2) for k in range(-2, 4)]


class Means:
    """The class means of weighted samples, and their mean by priors."""

    def __init__(self, X, y, weight, labels, priors="empirical"):
        self.classes = [j for j in labels if weight[y == j].sum() > 0]
        size = {j: weight[y == j].sum() for j in self.classes}
        if isinstance(priors, str):
            p = {j: size[j] ** POWERS[priors] for j in self.classes}
        else:
            p = {j: given for j, given in zip(labels, priors, strict=True) if j in size}
        self.n = weight.sum()
        self.p = {j: p[j] / sum(p.values()) for j in self.classes}
        self.means = {j: weight[y == j] @ X[y == j] / size[j] for j in self.classes}
        self.centre = sum(self.p[j] * self.means[j] for j in self.classes)
        self.between = sum(self.p[j] * np.outer(d, d) for j, d in self.deviations().items())
        self.samples = X, y, weight

    @property
    def within(self):
        X, y, weight = self.samples
        D = np.array([x - self.means[j] for x, j in zip(X, y, strict=True)])
        return (weight[:, None] * D).T @ D / self.n

    def deviations(self):
        return {j: self.means[j] - self.centre for j in self.classes}


def centroids(X, y, size, weight=None, priors="empirical", K=5):
    """OC: the held-out scatter of p directions, its standard error, and the number chosen."""
    weight = np.ones(len(y)) if weight is None else weight
    labels, fold, curves, share = np.unique(y), np.arange(len(y)) % K, [], []
    for k in range(K):
        others, held = (
            Means(X[some], y[some], weight[some], labels, priors) for some in (fold != k, fold == k)
        )
        _, W = linalg.eigh(others.between)
        there, here, total, curve = others.deviations(), held.deviations(), 0.0, []
        for w in W.T[::-1][:size]:
            total += sum(held.p[j] * (w @ there[j]) * (w @ here[j]) for j in here if j in there)
            curve.append(total)
        curves.append(curve)
        share.append(held.n / weight.sum())
    mean = sum(s * np.array(c) for s, c in zip(share, curves, strict=True))
    spread = sum((s * (np.array(c) - mean)) ** 2 for s, c in zip(share, curves, strict=True))
    error = np.sqrt(spread * K / (K - 1))
    best = mean.argmax()
    return mean, error, next(p + 1 for p in range(size) if mean[p] >= mean[best] - error[best])


def log_posteriors(rest, Z, W, covariance):
    """The log densities of normal classes in the space of W, and log priors."""
    return np.array([
        stats.multivariate_normal(W.T @ rest.means[j], covariance).logpdf(Z @ W) + np.log(rest.p[j])
        for j in rest.classes
    ]).reshape(len(rest.classes), -1).T  # fmt: skip


def likelihoods(posteriors, code, brier=False):
    """The log-likelihood of each sample at the temperature that suits them all.

    Or 1 less its Brier score.
    """

    def each(log_t):
        scaled = posteriors / np.exp(log_t)
        return scaled[np.arange(len(code)), code] - np.logaddexp.reduce(scaled, axis=1)

    def loss(log_t):
        return log_t**2 - each(log_t).sum()

    found = optimize.minimize_scalar(
        loss, bounds=(-3, 7), method="bounded", options={"xatol": 1e-9}
    )
    if not brier:
        return each(found.x)
    share = special.softmax(posteriors / np.exp(found.x), axis=1)
    return 1 - ((share - np.eye(share.shape[1])[code]) ** 2).sum(axis=1)


def discriminants(rest, ridge):
    """The directions of regularised LDA, best first, and the scatter within the classes."""
    within = rest.within + ridge / rest.n * np.eye(len(rest.within))
    _, W = linalg.eigh(rest.between, within)
    return W[:, ::-1], within


def held_out(X, y, parts, classified):
    """Return log posteriors of all parts, of which each is classified by the others, and codes."""
    labels, found, codes = np.unique(y), [], []
    for part in parts:
        left = np.setdiff1d(np.arange(len(y)), part)
        rest = Means(X[left], y[left], np.ones(len(left)), labels)
        found.append(classified(rest, X[part]))
        codes.append(np.searchsorted(labels, y[part]))
    return np.concatenate(found), np.concatenate(codes)


def components(X, y, parts, ridge, size):
    """Scores of the first p discriminants, their errors, and the number chosen."""

    def first(p):
        def classified(rest, Z):
            W, within = discriminants(rest, ridge)
            W = W[:, :p]
            return log_posteriors(rest, Z, W, W.T @ within @ W)

        return classified

    each = np.array(
        [likelihoods(*held_out(X, y, parts, first(p)), brier=True) for p in range(1, size + 1)]
    )
    mean, error = each.mean(axis=1), each.std(axis=1) / np.sqrt(each.shape[1])
    best = mean.argmax()
    return mean, error, next(p + 1 for p in range(size) if mean[p] >= mean[best] - error[best])


def ridges(X, y, parts):
    """Scores of all ridges, their errors, and the ridge chosen."""
    unit = X.var(axis=0).sum()

    def of(ridge):
        def classified(rest, Z):
            within = rest.within + ridge / rest.n * np.eye(X.shape[1])
            return log_posteriors(rest, Z, np.eye(X.shape[1]), within)

        return classified

    return _chosen(X, y, parts, [unit * g for g in GRID], of, unit)


def weights(X, y, parts):
    """Scores of all eps, their errors, and the eps chosen."""

    def of(eps):
        def classified(rest, Z):
            A = rest.between - eps * rest.within
            W = linalg.eigh(A)[1][:, ::-1][:, : len(rest.classes) - 1]
            return log_posteriors(rest, Z, W, W.T @ rest.within @ W)

        return classified

    return _chosen(X, y, parts, EPS, of, 1.0)


def _chosen(X, y, parts, grid, of, near):
    each = np.array([likelihoods(*held_out(X, y, parts, of(value))) for value in grid])
    mean, error = each.mean(axis=1), each.std(axis=1) / np.sqrt(each.shape[1])
    best = mean.argmax()
    good = [v for v, score in zip(grid, mean, strict=True) if score >= mean[best] - error[best] / 2]
    return mean, error, min(good, key=lambda v: abs(np.log(v / near)))
