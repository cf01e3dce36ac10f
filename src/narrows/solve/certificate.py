"""How sure a reduction is: bounds of its score, and of the best one, from folds of the samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special, stats
from scipy.optimize import brentq

FIRST = 500  # samples: with fewer, nothing is certified
_ORDERED = 1e-6  # probability of folds that are so equal, if samples come in random order
_CLUSTERED = 10.0  # times the variance of class counts between folds, in random order


class Certificate(NamedTuple):
    """How much of the best possible score a reduction has, with some confidence.

    Parameters
    ----------
    n_samples : int
        The number of samples that were read, whatever their weights.
    share : float
        A lower bound of the score of the reduction, divided by the score of the best one of the
        same size; from 0 to 1.
    lower : float
        A lower bound of the score of the reduction.
    upper : float
        An upper bound of the score of the best reduction of the same size. `share` may exceed
        ``lower / upper``, since errors that both have in common cancel.
    confidence : float
        The probability that the bounds hold, each by itself, whenever the number of samples is
        doubled.
    """

    n_samples: int
    share: float
    lower: float
    upper: float
    confidence: float


def certify(
    held_out: np.ndarray,
    plugged_in: np.ndarray,
    best: float,
    n_samples: int,
    confidence: float,
) -> Certificate:
    """Return a certificate, by Student's t over the folds.

    Parameters
    ----------
    held_out : ndarray of shape (n_folds,)
        The score of the reduction that the other folds choose, with their means, in each fold. Its
        expectation is at most the score of that reduction.
    plugged_in : ndarray of shape (n_folds,)
        The same with the reduction and the means of all folds; only its differences are used.
    best : float
        The largest score of a reduction, by the means of all folds. Its expectation is at least
        the score of the best reduction, since the expectation of a maximum exceeds the maximum of
        expectations.
    n_samples : int
        The number of samples.
    confidence : float
        The probability that each bound holds.
    """
    if n_samples < FIRST or not best > 0:
        return Certificate(n_samples, 0.0, 0.0, np.inf, confidence)
    count = len(held_out)
    quantile = stats.t.ppf(1 - _risk(n_samples, confidence), count - 1) / np.sqrt(count)
    most = plugged_in - plugged_in.mean() + best * n_samples / (n_samples - 1)

    def margin(share: float) -> float:
        difference = held_out - share * most
        return float(difference.mean() - quantile * difference.std(ddof=1))

    if margin(0.0) <= 0:
        share = 0.0
    elif margin(1.0) >= 0:
        share = 1.0
    else:  # margin is concave, so that there is one zero
        share = float(brentq(margin, 0.0, 1.0))
    upper = most.mean() + quantile * most.std(ddof=1)
    return Certificate(n_samples, share, max(0.0, margin(0.0)), float(upper), confidence)


def _risk(n_samples: int, confidence: float) -> float:
    """Return the probability of an error that is left for this look, the i-th doubling.

    The sum of 1 / (i (i + 1)) over all i is 1.
    """
    look = int(np.log2(n_samples / FIRST)) + 1
    return (1 - confidence) / (look * (look + 1))


def order_of(counts: np.ndarray) -> str:
    """Return what is wrong with the order of samples, by the classes of folds; "" if nothing is.

    In random order the class counts of folds vary as those of a multinomial distribution. Folds of
    every K-th sample vary less where samples are sorted by class, and folds of blocks vary more.

    Parameters
    ----------
    counts : ndarray of shape (n_folds, n_classes)
        The number of samples.
    """
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if not freedom or not (expected > 0).all():
        return ""
    square = float(((counts - expected) ** 2 / expected).sum())
    if special.gammainc(freedom / 2, square / 2) < _ORDERED:
        return "sorted by class, or nearly so"
    return "blocks with different classes" if square > _CLUSTERED * freedom else ""
