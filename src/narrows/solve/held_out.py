"""Numbers chosen by held-out samples: ridges, eps, sizes and temperatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import blas, lapack
from scipy.optimize import brentq

from narrows.errors import no_samples_have
from narrows.solve.calibration import calibration
from narrows.solve.curve import NO_CURVE, Curve
from narrows.solve.eigen import DROPPED
from narrows.solve.scatter import (
    Scatter,
    discriminants,
    leading,
    regressions,
    rule,
)
from narrows.solve.solution import Rule, Solution
from narrows.solve.sums import number_in_class

GRID = 10.0 ** np.arange(-7, 3)  # of alpha, times the mean squared length of samples
EPS_GRID = 10.0 ** np.arange(-1.0, 2.0, 0.5)  # of eps, times `unit`
_SHARE = 4  # at most 1 / 4 of the samples are held out at a time
_TOO_WIDE = 1_000  # coordinates: with more, one part has to do
_CLEAR = 2.5  # standard errors: better scores
TIMID = 1.0  # the weight of (log T)^2 beside the log-losses while alpha is chosen
SURE = 5.0  # and at the end
_RANGE = -3.0, 7.0  # of log T
_NEWTON = 8  # steps
_ATTEMPTS = 12  # at a Cholesky factorisation
_FLOOR = 2.0  # times the noise, in equal units: the least ridge with which it rarely fails
_LIGHT = 1e-200  # below all weights

_NONE = np.empty(0)

Posterior = Callable[..., np.ndarray]  # of a ridge


# -- samples that are held out ---------------------------------------------------------------------


class HeldOut(NamedTuple):
    """Samples in coordinates, less the mean, with the numbers of their classes and weights."""

    Z: np.ndarray
    code: np.ndarray
    weight: np.ndarray


def parts(weight: np.ndarray, n: float, k: int) -> list[slice]:
    """Return which kept samples to hold out at a time: all of them, in a few parts.

    No part has much more than a quarter of the weight n of all samples; a sample that has more is a
    part.
    """
    total = np.append(0.0, np.cumsum(weight))
    share = n / _SHARE * (1 + 1e-9)
    heavy = np.flatnonzero(weight > share)
    count = max(1, int(min(len(weight), np.ceil(total[-1] / share))))
    if k > _TOO_WIDE:
        total, count, heavy = total[total <= share], 1, heavy[:0]
    ends = np.searchsorted(total, np.linspace(0, total[-1], count + 1) * (1 - 1e-12))
    ends = np.unique(np.concatenate([ends, heavy, heavy + 1]))
    return [slice(a, b) for a, b in pairwise(ends.tolist())]


def without(
    S: Scatter, counts: np.ndarray, part: HeldOut
) -> tuple[Scatter, np.ndarray, np.ndarray]:
    """Return the scatters and counts of all samples but some, and their mean in coordinates."""
    left = counts - np.bincount(part.code, part.weight, len(counts))
    left[left <= 1e-9 * counts] = 0.0
    q = len(part.code)
    Y = sparse.csc_array((part.weight, part.code, np.arange(q + 1)), shape=(len(counts), q))
    sums = np.sqrt(counts)[:, None] * S.H - Y @ part.Z
    n = float(left.sum())
    m = sums.sum(axis=0) / n
    if not len(m):  # no coordinate varies
        return Scatter(S.C, sums, n, S.noise, S.m), left, m
    C = blas.dsyr(-n, m, lower=1, a=S.C)  # a copy
    Z = part.Z if (part.weight == 1).all() else np.sqrt(part.weight)[:, None] * part.Z
    C = blas.dsyrk(-1.0, Z.T, beta=1.0, c=C, lower=1, overwrite_c=1)
    size = np.sqrt(np.where(left > 0, left, np.inf))[:, None]
    H = sums / size - np.sqrt(left)[:, None] * m
    return Scatter(C, H, n, S.noise, S.m), left, m


def _by_the_others(
    S: Scatter, counts: np.ndarray, held: Sequence[HeldOut], by: Callable[..., Any]
) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """Return by(scatter, counts, samples) for each part, by all samples but those of the part.

    And the classes and weights of the samples, without those whose class no other sample has; parts
    of such samples alone are left out. Weights that are all below 1 are relative to the largest, so
    that those that add up to 1 count samples, too; a weight of 2 stands for two equal samples.
    """
    found, codes, weights = [], [np.empty(0, np.intp)], [_NONE]
    for part in held:
        rest, left, m = without(S, counts, part)
        known = left[part.code] > 0
        if known.any():
            found.append(by(rest, left, part.Z[known] - m))
            codes.append(part.code[known])
            weights.append(part.weight[known])
    weight = np.concatenate(weights)
    return found, np.concatenate(codes), weight / min(1.0, weight.max(initial=_LIGHT))


# -- the ridge, and probabilities ----------------------------------------------------------------


def chosen(
    S: Scatter,
    counts: np.ndarray,
    held: Sequence[HeldOut],
    values: np.ndarray,
    preferred: float,
    by: Callable[[Scatter, np.ndarray, np.ndarray], Posterior] | None = None,
    may_regress: bool = True,
) -> tuple[float, Curve, bool]:
    """Return the ridge that predicts held-out samples best, or nearly; and how well each does.

    And whether outputs of regressions with this ridge predict them better than log posteriors, by
    2.5 standard errors.

    Parameters
    ----------
    S : Scatter
        Of all samples.
    counts : ndarray of shape (n_classes,)
        N_j.
    held : sequence of HeldOut
        Parts of the samples in S; each is predicted from all others.
    values : ndarray of shape (n_values,)
        The ridges.
    preferred : float
        The ridge to choose among those that hardly differ is the nearest to it.
    by : callable, optional
        What classifies, for another number than the ridge; as `classifier`.
    may_regress : bool, default=True
        Whether to compare with regressions.

    Notes
    -----
    **Cost**: a Cholesky factorisation for each part and ridge.
    """
    posteriors, code, weight = _by_the_others(S, counts, held, by or classifier)
    if not posteriors:
        same = np.zeros(len(values))
        curve = Curve(values, same, same, np.zeros((len(values), 0)), weight)
        return curve.nearest(preferred), curve, False
    found, start = [], 1.0
    for value in values.tolist():  # one at a time, and not kept: there may be many classes
        every = np.concatenate([posterior(value) for posterior in posteriors])
        found.append(calibrated(every, code, weight, TIMID, start))
        start = found[-1][2]
        del every
    scores, errors, _, each = (np.array(values) for values in zip(*found, strict=True))
    curve = Curve(values, scores, errors, each, weight)
    best = curve.nearest(preferred)
    if by is not None or not may_regress or len(counts) <= 2:
        return best, curve, False
    every = np.concatenate([posterior(best, regresses=True) for posterior in posteriors])
    outputs = calibrated(every, code, weight, TIMID, 1.0)[3]
    return best, curve, is_clearly_positive(outputs - curve.at(best), weight, _CLEAR)


def probable(
    rule: Rule, S: Scatter, counts: np.ndarray, held: Sequence[HeldOut], alpha: float, whole: bool
) -> Rule:
    """Return a rule with a temperature, such that probabilities of held-out samples are calibrated.

    Or, if `whole`, with all that they say of its scores; see `calibration`. If they say nothing, it
    is the rule that was given.
    """
    found, code, weight = _by_the_others(S, counts, held, classifier)
    if not found:
        return rule
    every = np.concatenate([posterior(alpha, rule.regresses) for posterior in found])
    T = calibrated(every, code, weight, SURE, 1.0)[2]
    if not whole:
        return replace(rule, temperature=T)
    return calibration(every, code, weight, counts, T).of(rule)


def classifier(S: Scatter, counts: np.ndarray, Z: np.ndarray) -> Posterior:
    """Return a function of the ridge: the log posteriors of samples, of normal classes.

    Or, if asked, the outputs of `regressions`. Z are the samples in coordinates. Scores of classes
    without samples are -inf.
    """
    live, n = counts > 0, S.n
    equal, varies, size = S.equilibrated()
    # rounding is D F D, D^2 the noise and |F_ij| <= 1, so that D (k + F) D is definite
    within, noise = equal.within(overwrite=True), _FLOOR * len(size) * equal.noise
    within[np.diag_indices_from(within)] += noise
    d, Z = equal.H[live] / np.sqrt(counts[live])[:, None], Z[:, varies] / size
    share = np.log(counts[live] / n)

    def posterior(alpha: float, regresses: bool = False) -> np.ndarray:
        coef = n * _solved(within, alpha / size**2, noise, d.T)
        if regresses:
            coef, offset = regressions(d, coef, counts[live])
        else:
            offset = share - 0.5 * np.einsum("jk,kj->j", d, coef)
        scores = Z @ coef
        scores += offset
        if live.all():
            return scores
        found = np.full((len(Z), len(counts)), -np.inf)
        found[:, live] = scores
        return found

    return posterior


def _solved(within: np.ndarray, ridge: np.ndarray, noise: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return (within + diag(ridge))^-1 B, with a larger ridge where rounding asks for one.

    It grows by `noise`, which has a number for each coordinate: one of much rounding does not
    change the others.
    """
    if not within.size:
        return np.zeros_like(B)
    for attempt in range(_ATTEMPTS):
        A = within.copy(order="F")
        A.reshape(-1, order="F")[:: len(A) + 1] += ridge + (noise * 16.0**attempt * bool(attempt))
        _, found, info = lapack.dposv(A, B, lower=1, overwrite_a=1)
        if not info:
            return found
    raise np.linalg.LinAlgError(no_samples_have("a scatter that is not positive"))


def calibrated(
    posterior: np.ndarray, code: np.ndarray, weight: np.ndarray, timid: float, start: float
) -> tuple[float, float, float, np.ndarray]:
    """Return the mean log-likelihood at the best temperature T, its standard error, T, and each.

    By log posteriors but for a term of the sample; `each` has the log-likelihood of each sample.
    log T is the root of the derivative, since a minimum is known to half as many digits only: by
    Newton's method from log `start`, and between the ends of `_RANGE` where that fails.
    """
    n, exact = float(weight.sum()), timid == SURE
    posterior = posterior - posterior.max(axis=1, keepdims=True)
    posterior[np.isneginf(posterior)] = -1e150  # of probability 0
    true, share = posterior[np.arange(len(code)), code], np.empty_like(posterior)
    one = np.ones(posterior.shape[1])  # a product is faster than a sum over few columns

    def slopes(log_t: float) -> tuple[float, float]:
        t = np.exp(min(max(log_t, -20.0), 20.0))
        np.exp(np.multiply(posterior, 1 / t, out=share), out=share)
        norm = share @ one
        np.multiply(share, posterior, out=share)
        expected = share @ one / norm
        spread = np.einsum("ij,ij->i", share, posterior) / norm - expected**2
        first = float(weight @ (true - expected)) / t
        return 2 * timid * log_t + first, 2 * timid - first + float(weight @ spread) / t**2

    def slope(log_t: float) -> float:
        return slopes(log_t)[0]

    low, high = _RANGE
    digits = 1e-13 if exact else 1e-3
    log_t, change = float(np.log(start)), np.inf
    for _ in range(_NEWTON):  # SciPy's takes as long for its checks as for the steps of few samples
        first, second = slopes(log_t)
        change = first / second if second else np.inf
        log_t -= change
        if not abs(change) > digits:
            break
    if abs(change) > digits or not low < log_t < high:
        if slope(low) >= 0 or slope(high) <= 0:
            log_t = low if slope(low) >= 0 else high
        else:
            log_t = brentq(slope, low, high, xtol=digits)
    t = np.exp(log_t)
    np.exp(np.multiply(posterior, 1 / t, out=share), out=share)
    each = true / t - np.log(share @ one)
    mean = float(weight @ each) / n
    return mean, float(np.sqrt(weight @ (each - mean) ** 2)) / n, float(t), each


# -- eps of the margin -----------------------------------------------------------------------------


def by_leading(S: Scatter, counts: np.ndarray, Z: np.ndarray) -> Posterior:
    """Return a function of eps: the log posteriors of samples.

    By the c - 1 leading directions, as normal classes with the common covariance that these have in
    that space: an eigenproblem for each eps.
    """
    live = counts > 0
    L = S.within()
    within = L + np.tril(L, -1).T

    def posterior(eps: float) -> np.ndarray:
        _, V = leading(S, 1 + eps, -eps, max(1, int(live.sum()) - 1))
        along = Solution.of_all(np.empty(0), V, between=S.H[live] @ V, within=V.T @ within @ V)
        coef, intercept = rule(along, counts[live], np.zeros(V.shape[1]))
        found = np.full((len(Z), len(counts)), -np.inf)
        found[:, live] = (Z @ V) @ coef + intercept
        return found

    return posterior


# -- the number of components ----------------------------------------------------------------------


def by_components(
    S: Scatter, counts: np.ndarray, held: Sequence[HeldOut], alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return how well held-out samples are classified by the first p discriminants, for every p.

    The score of a sample is 1 less the sum of squares of P_j - [j = y], for the probabilities P_j
    of the classes and its class y: the Brier score, in which no sample can outweigh many others.
    The log posteriors of the first p are sums of one term for each direction, since W'(n S_w +
    alpha I) W is diagonal. They are divided by the temperature that suits all samples for this p.

    Parameters
    ----------
    S : Scatter
        Of all samples.
    counts : ndarray of shape (n_classes,)
        N_j.
    held : sequence of HeldOut
        Parts of the samples in S; each is classified by the directions of all others.
    alpha : float
        The ridge.

    Returns
    -------
    each : ndarray of shape (n_components, n_held)
        Without rows if no other sample is of their classes.
    weight : ndarray of shape (n_held,)

    Notes
    -----
    **Cost**: for each part that of `discriminants`, and O(n_held n_classes n_components).
    """
    terms, code, weight = _by_the_others(S, counts, held, partial(_Posteriors, alpha=alpha))
    if not terms:
        return np.empty((0, 0)), weight
    found, temperature = [], 1.0
    for p in range(max(each.count for each in terms)):
        posterior = np.concatenate([each.add_direction(p) for each in terms])
        temperature = calibrated(posterior, code, weight, TIMID, temperature)[2]
        found.append(_brier(posterior, code, temperature))
    return np.array(found).reshape(-1, len(code)), weight


class _Posteriors:
    """The log posteriors of samples, to which each direction adds a term."""

    def __init__(self, S: Scatter, counts: np.ndarray, Z: np.ndarray, alpha: float):
        all_of, live = discriminants(S, alpha, total=True), counts > 0
        assert all_of.between is not None
        assert all_of.within is not None
        within = all_of.within.diagonal()
        spread = max(within.max(initial=0.0), (all_of.between**2).sum(axis=0).max(initial=0.0))
        self.scale = S.n / np.maximum(within, DROPPED * spread)  # as for prediction
        self.D = all_of.between / np.sqrt(np.where(live, counts, np.inf))[:, None]
        self.Z, self.count = Z @ all_of.W, len(within)
        self.sums = np.full((len(Z), len(counts)), -np.inf)
        self.sums[:, live] = np.log(counts[live] / S.n)

    def add_direction(self, p: int) -> np.ndarray:
        """Add the term of direction p, if there is one, and return the sums."""
        if p < self.count:
            z, d = self.Z[:, p], self.D[:, p]
            self.sums += self.scale[p] * (np.outer(z, d) - 0.5 * d**2)
        return self.sums


def curve_of(each: np.ndarray, weight: np.ndarray, size: int) -> Curve:
    """Return the mean of scores and its standard error.

    Parameters
    ----------
    each : ndarray of shape (n_components, n_held)
        The scores of held-out samples.
    weight : ndarray of shape (n_held,)
        Their weights.
    size : int
        The number of components to return scores for; further ones have the last score.
    """
    if not len(each) or not size:
        return NO_CURVE
    each = each[np.minimum(np.arange(size), len(each) - 1)]
    n = weight.sum()
    scores = each @ weight / n
    errors = np.sqrt((each - scores[:, None]) ** 2 @ weight) / n
    return Curve(np.arange(1, size + 1), scores, errors, each=each, weight=weight)


def _brier(posterior: np.ndarray, code: np.ndarray, temperature: float) -> np.ndarray:
    """Return the score of each sample, by log posteriors but for a term of the sample."""
    share = np.exp((posterior - posterior.max(axis=1, keepdims=True)) / temperature)
    share /= share.sum(axis=1, keepdims=True)
    return 2 * share[np.arange(len(code)), code] - (share**2).sum(axis=1)


# -- comparisons -----------------------------------------------------------------------------------


def by_time(code: np.ndarray, when: np.ndarray, folds: int) -> np.ndarray:
    """Return the number of the block of time of each sample, in turn for each class.

    So a stream that is sorted by label does not seem to drift.
    """
    number = number_in_class(code, np.lexsort((when, code)))
    return number * folds // np.bincount(code)[code]


def is_clearly_positive(differences: np.ndarray, weight: np.ndarray, errors: float) -> bool:
    """Whether the mean of differences is more than so many standard errors above 0."""
    n = float(weight.sum())
    mean = float(weight @ differences) / n
    return mean * n > errors * float(np.sqrt(weight**2 @ (differences - mean) ** 2))
