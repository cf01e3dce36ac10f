"""The ridge, and how sure posteriors are, from samples that are held out.

Samples that were kept are subtracted from the scatters, in parts, and classified by what is left:
as if they had never been learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from narrows.solve.scatter import Scatter, factorised

GRID = 10.0 ** np.arange(-7, 3)  # of alpha, times the mean squared length of samples
_SHARE = 4  # at most 1 / 4 of the samples are held out at a time
_TOO_WIDE = 1_000  # coordinates: with more, one part has to do
_HELD = 0.5  # standard errors: as good as the best
_TIMID = 1.0  # the weight of (log T)^2 beside the log-losses while alpha is chosen
_SURE = 5.0  # and at the end


class HeldOut(NamedTuple):
    """Samples in coordinates, less the mean, with the numbers of their classes and weights."""

    Z: np.ndarray
    code: np.ndarray
    weight: np.ndarray


class Curve(NamedTuple):
    """The mean log-likelihood of held-out samples for each alpha, and the temperature for each."""

    alphas: np.ndarray
    scores: np.ndarray
    errors: np.ndarray
    temperatures: np.ndarray


def parts(n_kept: int, n_samples: int, k: int) -> list[slice]:
    """Return which of the kept samples to hold out at a time: all of them in a few parts."""
    size = max(1, n_samples // _SHARE)
    if k > _TOO_WIDE:
        n_kept = min(n_kept, size)
    count = -(-n_kept // size)
    ends = np.linspace(0, n_kept, count + 1).astype(int)
    return [slice(a, b) for a, b in pairwise(ends)]


def curve(
    S: Scatter, counts: np.ndarray, held: Sequence[HeldOut], alphas: np.ndarray, timid: float
) -> Curve:
    """Return how well held-out samples are predicted with each ridge.

    Parameters
    ----------
    S : Scatter
        Of all samples.
    counts : ndarray of shape (n_classes,)
        N_j.
    held : sequence of HeldOut
        Parts of the samples in S; each is predicted from all others.
    alphas : ndarray of shape (n_alphas,)
        The ridges.
    timid : float
        The weight of (log T)^2 beside the log-losses, of which T minimises the sum.

    Notes
    -----
    **Cost**: a Cholesky factorisation for each part and ridge.
    """
    posteriors: list[list[np.ndarray]] = [[] for _ in alphas]
    codes, weights = [], []
    for part in held:
        rest, left, m = without(S, counts, part)
        known = left[part.code] > 0
        Z, code = part.Z[known] - m, part.code[known]
        codes.append(code)
        weights.append(part.weight[known])
        for k, alpha in enumerate(alphas):
            posteriors[k].append(classify(rest, left, alpha, Z))
    code, weight = np.concatenate(codes), np.concatenate(weights)
    found = [_calibrated(np.vstack(p), code, weight, timid) for p in posteriors]
    scores, errors, temperatures = (np.array(each) for each in zip(*found, strict=True))
    return Curve(alphas, scores, errors, temperatures)


def chosen(result: Curve, near: float) -> float:
    """Return the ridge nearest to `near` among those half a standard error from the best."""
    best = int(result.scores.argmax())
    good = result.scores >= result.scores[best] - _HELD * result.errors[best]
    alphas = result.alphas[good]
    return float(alphas[np.abs(np.log(alphas / near)).argmin()])


def temperature(S: Scatter, counts: np.ndarray, held: Sequence[HeldOut], alpha: float) -> float:
    """Return the number that divides log posteriors, so that held-out ones are calibrated."""
    return float(curve(S, counts, held, np.array([alpha]), _SURE).temperatures[0])


def choose(S: Scatter, counts: np.ndarray, held: Sequence[HeldOut], unit: float) -> Curve:
    """Return the curve over `GRID` times `unit`."""
    return curve(S, counts, held, unit * GRID, _TIMID)


def without(
    S: Scatter, counts: np.ndarray, part: HeldOut
) -> tuple[Scatter, np.ndarray, np.ndarray]:
    """Return the scatters and counts of all samples but some, and their mean in coordinates."""
    left = counts - np.bincount(part.code, part.weight, len(counts))
    left[left <= 1e-9 * counts] = 0.0
    sums = np.sqrt(counts)[:, None] * S.H
    np.subtract.at(sums, part.code, part.weight[:, None] * part.Z)
    n = float(left.sum())
    m = sums.sum(axis=0) / n
    C = blas.dsyr(-n, m, lower=1, a=S.C)  # a copy
    root = np.sqrt(part.weight)[:, None]
    C = blas.dsyrk(-1.0, (root * part.Z).T, beta=1.0, c=C, lower=1, overwrite_c=1)
    size = np.sqrt(np.where(left > 0, left, np.inf))[:, None]
    H = sums / size - np.sqrt(left)[:, None] * m
    return Scatter(C, H, n, S.noise, S.faint, S.m), left, m


def classify(S: Scatter, counts: np.ndarray, alpha: float, Z: np.ndarray) -> np.ndarray:
    """Return the log posteriors of samples in coordinates, of normal classes.

    -inf for classes without samples.
    """
    live = counts > 0
    factor = factorised(S.within(S.ridge(alpha)))
    d = S.H[live] / np.sqrt(counts[live])[:, None]
    coef = S.n * lapack.dpotrs(factor, np.asfortranarray(d.T), lower=1)[0]
    found = np.full((len(Z), len(counts)), -np.inf)
    offset = np.log(counts[live] / S.n) - 0.5 * np.einsum("jk,kj->j", d, coef)
    found[:, live] = Z @ coef + offset
    return found


def _calibrated(
    posterior: np.ndarray, code: np.ndarray, weight: np.ndarray, timid: float
) -> tuple[float, float, float]:
    """Return the mean log-likelihood at the best temperature, its standard error, and T."""
    weight = weight / weight.mean()
    rows = np.arange(len(code))

    def likelihood(log_t: float) -> np.ndarray:
        found: np.ndarray = log_softmax(posterior / np.exp(log_t), axis=1)[rows, code]
        return weight * found

    def loss(log_t: float) -> float:
        return timid * log_t**2 - float(likelihood(log_t).sum())

    log_t = float(minimize_scalar(loss, bounds=(-3.0, 7.0), method="bounded").x)
    each = likelihood(log_t)
    return float(each.mean()), float(each.std() / np.sqrt(len(each))), float(np.exp(log_t))
