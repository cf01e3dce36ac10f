"""KernelSRDA in plain NumPy; held-out scores of ridges, of components and of MMC's eps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import linalg, special
from scipy.optimize import minimize_scalar

GRID = 10.0 ** np.arange(-7, 3)


def normal(raw, count):
    """Sums of twelve uniform integers of 16 bits, as numbers of mean 0 and variance 1."""
    parts = raw.random_raw(3 * count).astype("<u8").view("<u2").reshape(count, 12)
    return (parts.astype(np.int64).sum(axis=1) - 393_210) / 65_536


def weights(seed, kernel, m, d):
    """The random weights w, and v, of which there are none for "rbf"."""
    raw, k = np.random.PCG64(seed), m if kernel == "relu" else -(-m // 2)
    v = normal(raw, m) if kernel == "relu" else np.zeros(0)
    return np.array([normal(raw, k) for _ in range(d)]), v


def hidden(X, seed, kernel, m, gamma, centre):
    """The random features of samples."""
    W, shift = weights(seed, kernel, m, X.shape[1])
    if kernel == "relu":
        return np.sqrt(2 / m) * np.maximum(0, np.sqrt(2 * gamma) * (X - centre) @ W + shift)
    angle = np.sqrt(2 * gamma) * (X - centre) @ W
    return np.sqrt(2 / m) * np.hstack([np.cos(angle), np.sin(angle)])[:, :m]


def coordinates(X, seed, kernel, m, gamma, centre):
    """The random features of samples, and the samples themselves."""
    linear = np.sqrt(2 * gamma) * (X - centre)
    return np.hstack([hidden(X, seed, kernel, m, gamma, centre), linear])


def moments(Z, code, weight):
    """The weight, mean and class means, and n times the covariance within the classes."""
    N = np.bincount(code, weight)
    means = np.array([np.average(Z[code == j], axis=0, weights=weight[code == j])
                      if N[j] > 0 else np.zeros(Z.shape[1]) for j in range(len(N))])  # fmt: skip
    D = Z - means[code]
    return N, N @ means / N.sum(), means, (D.T * weight) @ D


def discriminants(Z, code, alpha, weight=None):
    """Directions as columns, of variance 1 within the classes, and their eigenvalues."""
    weight = np.ones(len(code)) if weight is None else weight
    N, m, means, within = moments(Z, code, weight)
    B = ((means - m).T * N) @ (means - m)
    ratio, U = linalg.eigh(B, (within + alpha * np.eye(len(B))) / weight.sum())
    ratio = ratio / weight.sum()
    r = (N > 0).sum() - 1
    ratio, W = ratio[::-1][:r], U[:, ::-1][:, :r]
    W = W * np.sign(W[np.abs(W).argmax(axis=0), np.arange(r)])
    return W, ratio / (1 + ratio)


def log_posterior(Z, code, alpha, of, weight=None):
    """Log posteriors of other samples, of normal classes with one covariance; -inf if unknown.

    The penalty `alpha` is a number, or a matrix.
    """
    weight = np.ones(len(code)) if weight is None else weight
    N, m, means, within = moments(Z, code, weight)
    penalty = alpha * np.eye(Z.shape[1]) if np.isscalar(alpha) else alpha
    A = linalg.solve((within + penalty) / N.sum(), (means - m).T, assume_a="pos")
    offset = -0.5 * np.einsum("jk,kj->j", means - m, A)
    with np.errstate(divide="ignore"):
        return (of - m) @ A + offset + np.log(N / N.sum())


def likelihoods(posterior, code, t):
    scaled = posterior / t
    scaled = scaled - scaled.max(axis=1, keepdims=True)
    return scaled[np.arange(len(code)), code] - np.log(np.exp(scaled).sum(axis=1))


def calibrated(posterior, code, weight, timid):
    """The log-likelihoods with the temperature T of least log-loss plus timid (log T)^2, and T."""

    def loss(log_t):
        return timid * log_t**2 - weight @ likelihoods(posterior, code, np.exp(log_t))

    best = minimize_scalar(loss, bounds=(-3, 7), method="bounded", options={"xatol": 1e-9})
    return likelihoods(posterior, code, np.exp(best.x)), np.exp(best.x)


def parts(n_kept, n, width):
    """The kept samples that are held out together: at most a quarter of all."""
    share = n / 4 * (1 + 1e-9)
    if width > 1000:
        return [range(min(n_kept, int(share)))]
    count = max(1, int(min(n_kept, np.ceil(n_kept / share))))
    ends = np.searchsorted(np.arange(n_kept + 1), np.linspace(0, n_kept, count + 1) * (1 - 1e-12))
    return [range(a, b) for a, b in pairwise(ends.tolist()) if a < b]


def held_out(Z, code, kept, width, classified):
    """Log posteriors of kept samples, each part of them classified by the others, and codes."""
    posteriors, codes = [], []
    for some in parts(len(kept), len(code), width):
        held = kept[list(some)]
        rest = np.setdiff1d(np.arange(len(code)), held)
        posteriors.append(classified(Z[rest], code[rest], Z[held]))
        codes.append(code[held])
    return np.vstack(posteriors), np.concatenate(codes)


def log_likelihoods(Z, code, kept, width, classified):
    """The log-likelihood of each kept sample, at the temperature that suits them all."""
    found, codes = held_out(Z, code, kept, width, classified)
    return calibrated(found, codes, np.ones(len(codes)), 1.0)[0]


def curve(Z, code, kept, alphas, width):
    """The log-likelihood of each kept sample with each ridge, by a fit to all but its part.

    `kept` are places in Z, of which there is one sample each.
    """

    def of(alpha):
        return lambda X, code, held: log_posterior(X, code, alpha, held)

    return np.array([log_likelihoods(Z, code, kept, width, of(alpha)) for alpha in alphas])


def eps_curve(Z, code, kept, values):
    """The log-likelihood of each kept sample by the directions of MMC with each eps."""

    def of(eps):
        def classified(X, code, held):
            N, m, means, within = moments(X, code, np.ones(len(code)))
            between = ((means - m).T * N) @ (means - m)
            W = linalg.eigh(between - eps * within)[1][:, ::-1][:, : (N > 0).sum() - 1]
            return log_posterior(X @ W, code, 0.0, held @ W)

        return classified

    return np.array([log_likelihoods(Z, code, kept, Z.shape[1], of(eps)) for eps in values])


def component_curve(Z, code, kept, alpha, size):
    """1 less the Brier score of each kept sample by the first discriminants of the others."""
    found = []
    for p in range(1, size + 1):

        def classified(X, code, held, p=p):
            W = discriminants(X, code, alpha)[0][:, :p]
            return log_posterior(X @ W, code, alpha * W.T @ W, held @ W)

        each, codes = held_out(Z, code, kept, Z.shape[1], classified)
        t = calibrated(each, codes, np.ones(len(codes)), 1.0)[1]
        share = special.softmax(each / t, axis=1)
        found.append(1 - ((share - np.eye(share.shape[1])[codes]) ** 2).sum(axis=1))
    return np.array(found)


def chosen(each, alphas, near):
    """The number of the ridge nearest to one of those half a standard error from the best."""
    scores, errors = each.mean(axis=1), each.std(axis=1) / np.sqrt(each.shape[1])
    best = scores.argmax()
    good = np.flatnonzero(scores >= scores[best] - 0.5 * errors[best])
    return good[np.abs(np.log(alphas[good] / near)).argmin()]
