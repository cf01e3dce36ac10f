"""One Newton step of logistic regression from a discriminant, by weighted moments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import eigh

from narrows.moments.moments import Moments
from narrows.solutions.regressors import ridge_directions
from narrows.solve.curve import NO_CURVE, Curve
from narrows.solve.eigen import DROPPED
from narrows.solve.logistic import LogOdds, log_loss, share_of
from narrows.solve.pairs import symmetric
from narrows.solve.scatter import Scatter
from narrows.solve.solution import Rule, Solution

_GRID = 10.0 ** np.arange(-7, 2, 0.5)  # of the ridge, times the mean squared length of samples
_FREE = 0.25  # coefficients for each sample: with more, samples explain themselves through others
_SAME = 0.01  # standard errors: as good as the best
_CLEAR = 0.5  # standard errors: better than the step
_LEAST = 1e-6  # of the weight of a sample without itself
# a step is not taken if the loss that moments let expect is larger than twice that before it, and
# than this share of the loss without features
_WORSE, _WORST = 2.0, 0.9
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(40)  # of the normal distribution
_PARTS = np.array([1.0, 0.5, 0.25, 0.125, 0.0])  # of a step that is too long


def refined(
    start: LogOdds, m: Moments, newton: Moments, ridge: float | str, unit: np.ndarray | None,
    by_within: bool,
) -> Solution:  # fmt: skip
    """Return the solution of a Newton step from a classifier: its direction, and what predicts.

    ::

        minimise    sum_i w_i (r_i - x_i'b - b0)^2 + alpha |b|^2

    Parameters
    ----------
    start : LogOdds
        Those of the classifier that the step starts from.
    m, newton : Moments
        Those of the classes; and the weighted ones, whose targets are the working response and the
        log odds that it was made by.
    ridge : float or str
        alpha, or a word: "scale" is the mean squared length of the centred samples, weighted. For
        others kept samples choose it, and which part of the step is best if the whole is too long.
        In any case the step is not taken where the moments of the classes, if they were normal, let
        expect more than twice the loss, and no less than 0.9 of that without features.
    unit : ndarray of shape (n_features,), optional
        What features are divided by.
    by_within : bool
        Whether the eigenvalue is the ratio to the scatter within the classes, or to the total.
    """
    S, scale = newton.scatters(unit=unit), newton.mean_square(unit)
    S = replace(S, H=S.H[:1])
    alpha, curve, part = scale if isinstance(ridge, str) else float(ridge), NO_CURVE, 1.0
    if ridge in ("auto", "cv") and newton.keep and scale:
        alpha, curve, part = _chosen(S, newton, scale, start, m.n)
    found = ridge_directions(S, alpha, 1, np.zeros(1)).of_features(unit)
    coef = (found.W @ found.loadings)[:, 0] if len(found.values) else np.zeros(m.n_features)
    coef = start.coef + part * (coef - start.coef)
    intercept = newton.target_mean[0] - newton.mean @ coef
    C, H = symmetric(m.scatters(by_samples=False).C), m.with_targets()
    given = _expected_loss(start.coef, start.intercept, m, C, H)
    shares = m.counts[m.counts > 0] / m.n
    most = max(_WORSE * given, -_WORST * float(shares @ np.log(shares)))
    if _expected_loss(coef, intercept, m, C, H) > most:
        coef, intercept = start.coef, start.intercept
    halves = np.array([-0.5, 0.5])
    ratio, length = _along(coef, m.n, C, H, by_within)
    return Solution.of_directions(
        np.array([ratio]), coef[:, None] * length, None, unit=unit,
        rule=Rule(coef[:, None] * halves, intercept * halves), alpha=alpha, compared=curve,
    )  # fmt: skip


def log_odds(found: Solution, share: float = 1.0) -> LogOdds:
    """Return the log odds of the second of two classes, by a classifier with probabilities.

    `share` is that of the weights that its ridge is beside in the weights of the samples.
    """
    rule, labels = found.rule, found.classes.labels[found.classes.seen]
    coef, intercept = rule.coef / rule.temperature, rule.intercept / rule.temperature
    curve = found.compared
    score = curve.score_at(found.alpha) if curve and found.is_chosen else -np.inf
    return LogOdds(
        labels, coef[:, 1] - coef[:, 0], float(intercept[1] - intercept[0]), found.alpha / share,
        score,
    )  # fmt: skip


def _expected_loss(
    coef: np.ndarray, intercept: float, m: Moments, C: np.ndarray, H: np.ndarray
) -> float:
    """Return the logarithmic loss of log odds that are normal in each class.

    By the scatter C of all samples and the class means, as the rows of H are `m.with_targets()`.
    """
    counts, between = m.counts[m.counts > 0], H @ coef
    deviation = np.sqrt(max(float(coef @ C @ coef - between @ between), 0.0) / m.n)
    middle = m.mean @ coef + intercept + between / np.sqrt(counts)
    eta = middle[:, None] + deviation * _NODES
    loss = log_loss(eta, np.array([[0.0], [1.0]])) @ _SHARES / _SHARES.sum()
    return float(counts @ loss / m.n)


def _along(
    coef: np.ndarray, n: float, C: np.ndarray, H: np.ndarray, by_within: bool
) -> tuple[float, float]:
    """Return the eigenvalue of a direction, and what makes its variance within the classes 1."""
    between, total = float(((H @ coef) ** 2).sum()), float(coef @ C @ coef)
    within = total - between
    if not total > 0:
        return 0.0, 1.0
    varies = within > DROPPED * total
    ratio = between / (within if by_within and varies else total)
    return ratio, np.sqrt(n / (within if varies else total))


def _chosen(
    S: Scatter, newton: Moments, scale: float, start: LogOdds, n: float
) -> tuple[float, Curve, float]:
    """Return the ridge that kept samples choose, how others compare, and how long the step is.

    Each sample is predicted without itself, by the best ridge, the largest of equal ones. The part
    is the whole, unless the classifier predicts held-out samples better by half a standard error.
    """
    L, V = eigh(S.C, lower=True)
    L, ridges = np.maximum(L, 0.0), scale * _GRID
    preferred = min(max(start.alpha * newton.n / n, ridges[0]), ridges[-1])
    free = np.array([(L / (L + ridge)).sum() for ridge in ridges])
    ridges = ridges[(free <= _FREE * newton.n_samples) | (ridges >= preferred)]
    kept, origin = newton.samples, 0.0 if newton.origin is None else newton.origin
    assert kept.Y is not None
    response, eta = kept.Y.T
    share, unit = share_of(response, eta)
    weight = kept.weight / unit
    Z, g = S.coordinates(kept.X - origin) @ V, V.T @ S.H[0]
    without = np.empty((len(ridges), len(Z)))
    for k, ridge in enumerate(ridges):
        d = 1 / (L + ridge)
        fitted = newton.target_mean[0] + Z @ (d * g)
        own = np.minimum(kept.weight * (Z**2 @ d + 1 / newton.n), 1 - _LEAST)
        without[k] = fitted - own / (1 - own) * (response - fitted)
    each = -log_loss(without, share)
    scores = each @ weight / weight.sum()
    errors = np.sqrt((each - scores[:, None]) ** 2 @ weight**2) / weight.sum()
    curve = Curve(ridges, scores, errors, each, weight)
    k = int(np.flatnonzero(scores >= scores.max() - _SAME * errors[scores.argmax()])[-1])
    alpha = float(ridges[k])
    if scores[k] + _CLEAR * errors[k] >= start.score:
        return alpha, curve, 1.0
    before = start.of(kept.X)
    steps = before + _PARTS[:, None] * (without[k] - before)
    best = int((log_loss(steps, share) @ weight).argmin())
    return alpha, curve, float(_PARTS[best])
