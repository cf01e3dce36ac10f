"""Held-out scores of selectors by brute force: every score is computed again without each fold.

Sample i is in fold i mod K. All follows from the samples: nothing is subtracted, and no function of
the package is used.
"""

from __future__ import annotations

import itertools

import numpy as np

POWERS = {"empirical": 1.0, "sqrt": 0.5, "balanced": 0.0}


def curve(method, X, y, weight=None, priors="empirical", K=5):
    """Return the held-out scores, their standard errors, and the size at the elbow."""
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    labels = np.unique(y)
    fold = np.arange(len(y)) % K
    curves, sizes = [], []
    whole = Half(X, y, weight, labels, priors)
    for k in range(K):
        halves = [Half(X[rows], y[rows], weight[rows], labels, priors)
                  for rows in (fold != k, fold == k)]  # fmt: skip
        halves[1].whole = whole
        gains = [(rank(method, f, halves[0]), method.gain(f, *halves)) for f in range(X.shape[1])]
        ordered = sorted(range(X.shape[1]), key=lambda f: (*gains[f][0], f))
        for one, other in itertools.pairwise(ordered):
            (a, gain_a), (b, gain_b) = gains[one], gains[other]
            if a == b and not np.isclose(gain_a, gain_b, rtol=1e-12, atol=1e-15):
                raise ValueError(f"features {one} and {other} tie: their order is rounding")
        curves.append(np.cumsum([gains[f][1] for f in ordered]))
        sizes.append(weight[fold == k].sum())
    mean, error = averaged(curves, sizes)
    return mean, error, elbow(mean, error[mean.argmax()])


def centroids(X, y, size, weight=None, priors="empirical", K=5):
    """OC: the held-out scatter of p directions, its standard error, and the number chosen."""
    weight = np.ones(len(y)) if weight is None else weight
    labels, fold, curves, share = np.unique(y), np.arange(len(y)) % K, [], []
    for k in range(K):
        others, held = (
            Half(X[some], y[some], weight[some], labels, priors) for some in (fold != k, fold == k)
        )
        there, here = ({j: half.means[j] - half.centre for j in half.classes}
                       for half in (others, held))  # fmt: skip
        W = np.linalg.eigh(sum(others.p[j] * np.outer(d, d) for j, d in there.items()))[1]
        W = W[:, ::-1][:, :size]
        each = [held.p[j] * (W.T @ there[j]) * (W.T @ here[j]) for j in here if j in there]
        curves.append(np.cumsum(np.sum(each, axis=0)))
        share.append(held.n)
    mean, error = averaged(curves, share)
    best = mean.argmax()
    return mean, error, int((mean >= mean[best] - error[best]).argmax()) + 1


def averaged(curves, sizes):
    """The mean of the curves of folds by their sizes, and its standard error."""
    share, K = np.array(sizes) / sum(sizes), len(sizes)
    mean = share @ np.array(curves)
    spread = share**2 @ (np.array(curves) - mean) ** 2
    return mean, np.sqrt(spread * K / (K - 1))


def elbow(mean, error):
    """The bend of a curve, or 0.9 of its best; at most the first size within one error of that."""
    sizes, top = range(1, len(mean) + 1), max(mean)

    def first(least):
        return next(p for p in sizes if mean[p - 1] >= least)

    if top <= 0:
        return first(top - error)
    bend = max(sizes, key=lambda p: mean[p - 1] / top - p / len(mean))
    return min(first(top - error), max(bend, first(0.9 * top)))


def rank(method, f, half):
    """The best score first; features that do not vary last. Rounded, so that ties are ties."""
    constant = not half.varies(f)
    return constant, -float(f"{method.score(f, half):.10g}")


class Half:
    """Samples with weights and priors of the classes that they have."""

    def __init__(self, X, y, weight, labels, priors):
        self.X, self.y, self.weight = X, y, weight
        self.classes = [j for j in labels if weight[y == j].sum() > 0]
        size = {j: weight[y == j].sum() for j in self.classes}
        if isinstance(priors, str):
            prior = {j: size[j] ** POWERS[priors] for j in self.classes}
        else:
            prior = {j: p for j, p in zip(labels, priors, strict=True) if j in size}
        self.p = {j: prior[j] / sum(prior.values()) for j in self.classes}
        self.n = weight.sum()
        self.means = {j: self.mean(X[:, :], j) for j in self.classes}
        self.centre = sum(self.p[j] * self.means[j] for j in self.classes)
        shares = {j: self.mean(X != 0, j) for j in self.classes}
        self.joint = {j: self.p[j] * shares[j] for j in self.classes}

    def mean(self, values, j):
        rows = self.y == j
        return self.weight[rows] @ values[rows] / self.weight[rows].sum()

    def off(self, f, j):
        return self.means[j][f] - self.centre[f]

    def variance(self, f):
        """Of samples that weigh p_j in class j."""
        return sum(
            self.p[j] * self.mean((self.X[:, [f]] - self.centre[f]) ** 2, j)[0]
            for j in self.classes
        )

    def varies(self, f):
        return len(np.unique(self.X[self.weight > 0, f])) > 1

    def present(self, f):
        return sum(self.joint[j][f] for j in self.classes)


class Spread:
    """OCFS."""

    def score(self, f, half):
        return sum(half.p[j] * half.off(f, j) ** 2 for j in half.classes)

    def gain(self, f, others, fold):
        """The squared error about the mean, less that about the point halfway to the class mean."""
        both, lower = [j for j in fold.classes if j in others.classes], 0.0
        for j in both:
            rows = fold.y == j
            x, w = fold.X[rows, f] - fold.centre[f], fold.weight[rows]
            halfway = others.off(f, j) / 2
            lower += fold.p[j] * (w @ (x**2 - (x - halfway) ** 2)) / w.sum()
        return lower


class Ratio(Spread):
    """FisherFS."""

    def score(self, f, half):
        spread, variance = super().score(f, half), half.variance(f)
        if not half.varies(f):
            return 0.0
        return spread / (variance - spread) if variance - spread > 1e-12 * variance else np.inf

    def gain(self, f, others, fold):
        whole = fold.whole
        return super().gain(f, others, fold) / whole.variance(f) if whole.varies(f) else 0.0


class Information:
    """IG."""

    def score(self, f, half):
        total = 0.0
        for joint, share in self.sides(f, half):
            for j in half.classes:
                if joint[j] > 1e-15:
                    total += joint[j] * np.log2(joint[j] / (half.p[j] * share))
        return total

    def gain(self, f, others, fold):
        """The log-likelihood of the labels of the fold, less that by the priors, a sample."""
        more, total = len(others.classes) / others.n, 0.0
        for (known, share), (joint, _) in zip(
            self.sides(f, others), self.sides(f, fold), strict=True
        ):
            for j in fold.classes:
                if j in others.classes:
                    q = (known[j] + more * others.p[j]) / (share + more)
                    total += joint[j] * np.log2(q / others.p[j])
        return total

    def sides(self, f, half):
        """For the samples with and without the feature: the share of each class, and of all."""
        have = {j: half.joint[j][f] for j in half.classes}
        lack = {j: half.p[j] - have[j] for j in half.classes}
        return [(side, sum(side.values())) for side in (have, lack)]


class ChiSquared(Information):
    """CHI, whose order is its own."""

    def score(self, f, half):
        share, total = half.present(f), 0.0
        for j in half.classes:
            p = half.p[j]
            margins = p * (1 - p) * share * (1 - share)
            if margins > 1e-15:
                total += p * half.n * (half.joint[j][f] - p * share) ** 2 / margins
        return total
