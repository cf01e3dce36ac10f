"""How many directions are enough, from samples that are held out.

They are classified by the first p directions of all other samples, for every p.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from narrows.solve.eigen import DROPPED
from narrows.solve.held_out import NO_CURVE, HeldOutCurve
from narrows.solve.ridge import TIMID, HeldOut, calibrated, without
from narrows.solve.scatter import Scatter, discriminants


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
    codes, weights, terms = [], [], []
    for part in held:
        rest, left, m = without(S, counts, part)
        known = left[part.code] > 0
        if known.any():
            codes.append(part.code[known])
            weights.append(part.weight[known])
            terms.append(_Terms(rest, left, part.Z[known] - m, alpha))
    if not codes:
        return np.empty((0, 0)), np.empty(0)
    code, weight = np.concatenate(codes), np.concatenate(weights)
    found, temperature = [], 1.0
    for p in range(max(each.count for each in terms)):
        posterior = np.concatenate([each.plus(p) for each in terms])
        temperature = calibrated(posterior, code, weight, TIMID, temperature)[2]
        found.append(_scores(posterior, code, temperature))
    return np.array(found).reshape(-1, len(code)), weight


class _Terms:
    """The log posteriors of samples, to which each direction adds a term."""

    def __init__(self, S: Scatter, counts: np.ndarray, Z: np.ndarray, alpha: float):
        answer, live = discriminants(S, alpha, total=True), counts > 0
        assert answer.between is not None
        assert answer.within is not None
        within = answer.within.diagonal()
        spread = max(within.max(initial=0.0), (answer.between**2).sum(axis=0).max(initial=0.0))
        self.scale = S.n / np.maximum(within, DROPPED * spread)  # as for prediction
        self.D = answer.between / np.sqrt(np.where(live, counts, np.inf))[:, None]
        self.Z, self.count = Z @ answer.W, len(within)
        self.sums = np.full((len(Z), len(counts)), -np.inf)
        self.sums[:, live] = np.log(counts[live] / S.n)

    def plus(self, p: int) -> np.ndarray:
        """Add the term of direction p, if there is one, and return the sums."""
        if p < self.count:
            z, d = self.Z[:, p], self.D[:, p]
            self.sums += self.scale[p] * (np.outer(z, d) - 0.5 * d**2)
        return self.sums


def curve_of(each: np.ndarray, weight: np.ndarray, size: int) -> HeldOutCurve:
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
    return HeldOutCurve(scores, np.sqrt((each - scores[:, None]) ** 2 @ weight) / n)


def _scores(posterior: np.ndarray, code: np.ndarray, temperature: float) -> np.ndarray:
    """Return the score of each sample, by log posteriors but for a term of the sample."""
    share = np.exp((posterior - posterior.max(axis=1, keepdims=True)) / temperature)
    share /= share.sum(axis=1, keepdims=True)
    found: np.ndarray = 2 * share[np.arange(len(code)), code] - (share**2).sum(axis=1)
    return found
