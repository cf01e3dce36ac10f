"""How sure a reduction is: bounds of its score, and of the best one, from folds of the samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special, stats
from scipy.optimize import brentq

FIRST = 500  # samples: with fewer, nothing is certified
_DRAWS, _LEVEL = 200, 0.95  # of random errors of the score, and their quantile
_UNEVEN = 2.5  # times the mean: with a larger fold, nothing is certified
_RARE = 1e-6  # probability of folds that are so equal or so different, in random order
_HEAVY = 0.35  # standard deviation of the folds' variances, as a share of their mean: heavy tails
HEAVY = "a few samples have much of the variance within the classes (heavy tails)"
_CLUSTERED = 3.0  # times the variance of class counts between folds, in random order


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
        ``lower / upper``, since an error that both have in common cancels.
    confidence : float
        The probability that the bounds hold, each by itself, whenever the number of samples is
        doubled.
    reason : str
        Why nothing is certified, and `share` is 0; else empty.
    """

    n_samples: int
    share: float
    lower: float
    upper: float
    confidence: float
    reason: str = ""


class HeldOutScores(NamedTuple):
    """What a certificate is made of, for K folds.

    Parameters
    ----------
    held_out : list of float
        The score of the reduction that the other folds choose, with their means, in each fold. Its
        expectation is at most the score of that reduction.
    plugged_in : list of float
        The same with the reduction and the means of all folds; only its differences are used.
    best : float
        The largest score of a reduction, by the means of all folds. The expectation of the score of
        any reduction is at least its true score.
    regret : callable
        Returns, for each of n_errors errors of the scores, how much larger than that of the
        reduction the largest score would be. Errors are given by weights of the folds, of shape
        (n_errors, K); see `errors_of`.
    """

    held_out: list[float]
    plugged_in: list[float]
    best: float
    regret: Callable[[np.ndarray], np.ndarray]


def errors_of(fold_values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return D, of which w'D is an error of the mean if w are K standard normal weights.

    Parameters
    ----------
    fold_values : ndarray of shape (n_folds, ...)
        The mean over the samples of each fold.
    sizes : ndarray of shape (n_folds,)
        The weights of the folds.
    """
    count = len(sizes)
    part = (sizes * count / sizes.sum()).reshape(-1, *[1] * (fold_values.ndim - 1))
    mean = (part * fold_values).mean(axis=0)
    return part * (fold_values - mean) / np.sqrt(count * (count - 1))


def certify(
    scores: HeldOutScores, sizes: np.ndarray, n_samples: int, confidence: float
) -> Certificate:
    """Return a certificate, by Student's t over the folds.

    Parameters
    ----------
    scores : HeldOutScores
        The scores in K folds.
    sizes : ndarray of shape (n_folds,)
        The weights of the folds.
    n_samples : int
        The number of samples.
    confidence : float
        The probability that each bound holds.
    """
    unit = scores.best
    if sizes.max() > _UNEVEN * sizes.mean() or not sizes.all():
        return unsure(n_samples, confidence, "parts of very different sizes")
    if not 0 < unit < np.inf:
        return unsure(n_samples, confidence, "no positive score")
    risk = (1 - confidence) / (look(n_samples) * (look(n_samples) + 1)) / 2
    quantile = stats.t.ppf(1 - risk, len(sizes) - 1)
    part, best = sizes / sizes.sum(), n_samples / (n_samples - 1)
    held_out, plugged_in = (np.array(each) / unit for each in scores[:2])
    most = plugged_in - part @ plugged_in + best
    most = most + _regret(scores, len(sizes), quantile) / unit

    def margin(share: float) -> float:
        difference = held_out - share * most
        error = np.linalg.norm(errors_of(difference, sizes))
        return float(part @ difference - quantile * error)

    if margin(0.0) <= 0:
        share = 0.0
    elif margin(1.0) >= 0:
        share = 1.0
    else:  # margin is concave, so that there is one zero
        share = float(brentq(margin, 0.0, 1.0))
    upper = part @ most + quantile * np.linalg.norm(errors_of(most, sizes))
    lower = unit * max(0.0, margin(0.0))
    return Certificate(n_samples, share, lower, unit * float(upper), confidence)


def unsure(n_samples: int, confidence: float, reason: str) -> Certificate:
    """Return the certificate of a result of which nothing is known."""
    return Certificate(n_samples, 0.0, 0.0, np.inf, confidence, reason)


def has_heavy_tails(variances: np.ndarray) -> bool:
    """Whether the variances within the classes of the folds show that a few samples have most.

    Ten folds cannot show the error of such means. Of n normal samples of one feature, the standard
    deviation of the variances is sqrt(20 / n) of their mean, and less with more features.
    """
    share = variances / (variances.max(initial=0.0) or 1.0)  # whose squares are numbers
    return bool(share.std(ddof=1) > _HEAVY * share.mean())


def look(n_samples: int) -> int:
    """Return the number of this look: how often samples were doubled, and 1.

    The i-th look has the risk of 1 / (i (i + 1)) of all, whose sum over all i is 1.
    """
    return max(0, int(np.log2(max(1, n_samples) / FIRST))) + 1


def _regret(scores: HeldOutScores, count: int, quantile: float) -> float:
    """Return how much larger the best score is than that of the reduction, surely.

    The regret is convex in the error, so that its quantile is at most that for an error which is as
    many times larger as the quantile of the error itself is.
    """
    random = np.random.default_rng(0)
    weights = quantile / stats.norm.ppf(_LEVEL) * random.normal(size=(_DRAWS, count))
    return float(np.quantile(scores.regret(weights), _LEVEL))


def order_of(counts: np.ndarray) -> str:
    """Return what is wrong with the order of samples, by the classes of folds; "" if nothing is.

    In random order the class counts of folds vary as those of a multinomial distribution. Folds of
    every K-th sample vary less where samples are sorted by class, and folds of blocks vary more.

    Parameters
    ----------
    counts : ndarray of shape (n_folds, n_classes)
        The number of samples.
    """
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if freedom <= 0:
        return ""
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    square = float(((counts - expected) ** 2 / expected).sum())
    if special.gammainc(freedom / 2, square / 2) < _RARE:
        return "sorted by class, or nearly so"
    clustered = special.gammaincc(freedom / 2, square / 2) < _RARE
    return "blocks with different classes" if clustered and square > _CLUSTERED * freedom else ""
