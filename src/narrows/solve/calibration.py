"""Probabilities of classes by scores, as held-out samples say."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from narrows.solve.curve import Curve
from narrows.solve.solution import Rule

_RIDGES = np.inf, 100.0, 10.0, 1.0  # of E; with infinity, E is 0
_FOLDS = 3
ENOUGH = 16  # held-out samples for each class; with fewer, intercepts cost hits
_OF_EACH = 4  # for each number of E
_LEAST = -60.0  # log probability: less is no different
_FAST = {"maxcor": 20, "maxiter": 100, "ftol": 1e-6}
_CLOSE = {"maxcor": 20, "maxiter": 1000, "ftol": 1e-9}
_STEPS = 3  # of Newton's method, from there to rounding


class Calibration(NamedTuple):
    """What makes log posteriors of scores: scores A + b, but for a term of the sample."""

    A: np.ndarray
    b: np.ndarray

    def of(self, rule: Rule) -> Rule:
        """Return the rule whose scores are the log posteriors."""
        coef, intercept = rule.coef @ self.A, rule.intercept @ self.A + self.b
        return replace(rule, coef=coef, intercept=intercept, temperature=1.0)


def calibration(
    scores: np.ndarray, code: np.ndarray, weight: np.ndarray, counts: np.ndarray, T: float
) -> Calibration:
    """Return A and b, with which the classes of held-out samples are most likely.

    ::

        minimise    - sum_i w_i log softmax(s_i A + b)_(y_i) + lambda/2 |E|^2 + 1/2 |b|^2
        where       A = (I + E)/T

    The classes have the weights that they have among all samples, so that the means of the
    probabilities are their shares. lambda is the largest of infinity, 100, 10 and 1 that predicts
    other samples, in three folds, as well as the best, or by at most one standard error worse. With
    fewer than four samples for each number of E, E is 0; with fewer than 16 for each class, b is 0,
    too.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        The scores of held-out samples; -inf where a class is impossible.
    code, weight : ndarray of shape (n_samples,)
        The number of the class of each sample, and its weight.
    counts : ndarray of shape (n_classes,)
        The weight of each class among all samples.
    T : float
        The temperature.

    Notes
    -----
    **Cost**: O(n_samples n_classes^2) for each step of L-BFGS.
    """
    n, c = scores.shape
    if n < ENOUGH * c:
        return Calibration(np.eye(c) / T, np.zeros(c))
    Z = np.maximum((scores - scores.max(axis=1, keepdims=True)) / T, _LEAST)
    Z -= Z.mean(axis=1, keepdims=True)
    held = np.bincount(code, weight, c)
    weight = weight * (counts / np.where(held > 0, held, 1.0))[code] * (weight.sum() / counts.sum())
    ridges, best = _RIDGES, 0
    if n >= _OF_EACH * c**2:
        each, fold = np.empty((len(ridges), n)), np.empty(n, np.intp)
        # each has samples of all classes, likely and unlikely ones, in whatever order they come
        fold[np.lexsort((Z[np.arange(n), code], code))] = np.arange(n) % _FOLDS
        for k in range(_FOLDS):
            out, start = fold == k, None
            for i, ridge in enumerate(ridges):
                start = _fitted(Z[~out], code[~out], weight[~out], ridge, start, _FAST)
                L = log_softmax(Z[out] @ start.A + start.b, axis=1)
                each[i, out] = np.take_along_axis(L, code[out, None], axis=1)[:, 0]
        means = each @ weight / weight.sum()
        best = Curve(np.arange(len(ridges)), means, np.zeros(len(means)), each, weight).smallest()
    found = _fitted(Z, code, weight, ridges[best], None, _CLOSE)
    for _ in range(_STEPS):
        found = _stepped(Z, code, weight, ridges[best], found)
    mean = found.A.mean(axis=0)  # Z are scores / T less their means
    return Calibration((found.A - mean) / T, found.b)


def _fitted(
    Z: np.ndarray, code: np.ndarray, weight: np.ndarray, ridge: float,
    start: Calibration | None, options: dict[str, float],
) -> Calibration:  # fmt: skip
    """Return I + E and b for log posteriors Z, found from those of another ridge."""
    n, c = Z.shape
    row, free, eye = np.arange(n), np.isfinite(ridge), np.eye(c)
    A, b = start or Calibration(eye, np.zeros(c))

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        b, E = x[:c], x[c:].reshape(-1, c)
        L = log_softmax(Z + b + Z @ E if free else Z + b, axis=1)
        G = np.exp(L)
        G[row, code] -= 1.0
        G *= weight[:, None]
        value, slopes = b @ b / 2 - weight @ L[row, code], G.sum(axis=0) + b
        if not free:
            return value, slopes
        return value + ridge * np.vdot(E, E) / 2, np.append(slopes, Z.T @ G + ridge * E)

    x = np.append(b, A - eye if free else [])
    x = minimize(loss, x, jac=True, method="L-BFGS-B", options=options).x
    return Calibration(eye + x[c:].reshape(-1, c) if free else eye, x[:c])


def _stepped(
    Z: np.ndarray, code: np.ndarray, weight: np.ndarray, ridge: float, found: Calibration
) -> Calibration:
    """Return I + E and b after one step of Newton's method."""
    n, c = Z.shape
    free, eye = np.isfinite(ridge), np.eye(c)
    F = np.column_stack([np.ones(n), Z]) if free else np.ones((n, 1))
    size = F.shape[1]
    x, penalty = np.vstack([found.b, found.A - eye])[:size], np.full(size, ridge)
    penalty[0] = 1.0
    P = np.exp(log_softmax(Z @ found.A + found.b, axis=1))
    G = (P[:, :, None] * F[:, None, :]).reshape(n, -1)
    H = G.T @ (-weight[:, None] * G)
    for j in range(c):
        own = slice(j * size, (j + 1) * size)
        H[own, own] += F.T @ ((weight * P[:, j])[:, None] * F) + np.diag(penalty)
    P[np.arange(n), code] -= 1.0
    slopes = F.T @ (weight[:, None] * P) + penalty[:, None] * x
    x = x - np.linalg.solve(H, slopes.T.ravel()).reshape(c, size).T
    return Calibration(eye + x[1:] if free else eye, x[0])
