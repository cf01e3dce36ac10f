"""Differences between results on the same held-out samples, and their standard errors.

Two results are scored on the same samples, so that their errors are correlated: the error of their
difference is that of the paired difference, and not that of either score.

Notation: a split trains on n1 samples and holds n2 out. Sample i of the held-out ones has the
class y_i and the prediction p_i. t_j, q_j and h_j count the samples of class j, the predictions of
class j, and the correct ones among them. J is the number of classes.

| metric | T |
|---|---|
| accuracy | sum_j h_j / n2 |
| balanced accuracy | sum_j (h_j / t_j) / J, over the classes with t_j > 0 |
| macro-F1 | sum_j 2 h_j / (t_j + q_j) / J, over the classes with t_j + q_j > 0 |
| area under the ROC curve | share of pairs of a class and the others in order, ties half |
| average precision | mean over a class of the precision at its samples, by falling score |
| log-loss | mean of log p_i(y_i), its negative, so that larger is better |
| R^2 | 1 - sum_i (y_i - p_i)^2 / sum_i (y_i - mean)^2, the mean over the targets that vary |

The area and the average precision are those of the rarer of two classes, else means over classes.

One split. The infinitesimal jackknife (Efron 1982, chapter 6): with a weight w_i per sample, all
1, the variance of T is sum_i g_i^2 with g_i = dT/dw_i. The difference of two results has the
gradient g_i - g'_i, and so the variance v = sum_i (g_i - g'_i)^2. For the accuracy this is the
variance of the mean of the paired differences of single samples.

Several splits r = 1, ..., R. The difference is the mean of the differences D_r. Its variance is

    max(S, V) (1/R + n2/n1),    S = sum_r (D_r - mean)^2 / (R - 1),    V = sum_r v_r / R.

The term n2/n1 corrects for training sets that overlap (Nadeau and Bengio 2003). V is a lower bound
of the variance between splits, for few splits whose differences agree by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

METRICS = {
    "accuracy": "accuracy",
    "macro_f1": "macro-F1",
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "area under the ROC curve",
    "average_precision": "average precision",
    "log_loss": "log-loss",
    "r2": "R^2",
}
BY_SCORES = "roc_auc", "average_precision", "log_loss"
MARGIN = 0.005  # that a difference needs to count: half a point
IMBALANCE = 9  # times as many samples: "highly imbalanced" (Alcalá-Fdez et al. 2011)


class HeldOutPredictions(NamedTuple):
    """The classes and the predictions of the held-out samples of one split, as class numbers.

    For numeric targets both are numbers, of shape (n_samples, n_targets). `scores` orders the
    samples for each class, and `probabilities` are those of the classes, of shape
    (n_samples, n_classes); `rarer` is the rarer of two classes.
    """

    true: np.ndarray
    predicted: np.ndarray
    n_train: int
    scores: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    rarer: int | None = None


class Difference(NamedTuple):
    """The mean difference between two results, and its standard error."""

    mean: float
    standard_error: float

    def is_worse(self, margin: float) -> bool:
        """Whether the first result is worse by more than one standard error, and the margin."""
        return self.mean < -max(self.standard_error, margin)

    def is_better(self, margin: float = 0.0, by: float = 1.0) -> bool:
        """Whether the first result is better by so many standard errors, and the margin."""
        return self.mean > max(by * self.standard_error, margin)

    def __str__(self) -> str:
        return f"{self.mean:+.3f} +- {self.standard_error:.3f}"


def score(outcome: HeldOutPredictions, metric: str) -> float:
    """Return a metric of one split."""
    return _value(outcome, metric)[0]


def gradient(outcome: HeldOutPredictions, metric: str) -> np.ndarray:
    """Return the derivative of a metric of one split by the weight of each sample."""
    return _value(outcome, metric)[1]


def _value(outcome: HeldOutPredictions, metric: str) -> tuple[float, np.ndarray]:
    true, predicted = outcome.true, outcome.predicted
    if metric == "r2":
        return _explained(true, predicted)
    if metric == "log_loss":
        assert outcome.probabilities is not None
        own = outcome.probabilities[np.arange(len(true)), true].astype(np.float64)
        logs = np.log(np.clip(own, np.finfo(float).eps, 1.0))
        return float(logs.mean()), (logs - logs.mean()) / len(true)
    if metric in BY_SCORES:
        assert outcome.scores is not None
        measure = area if metric == "roc_auc" else average_precision
        present = np.bincount(true, minlength=outcome.scores.shape[1]) % len(true) > 0
        classes = np.flatnonzero(present) if outcome.rarer is None else [outcome.rarer]
        if not present.any():  # one class only
            return 0.0, np.zeros(len(true))
        found = [measure(true == k, outcome.scores[:, k]) for k in classes]
        values, slopes = zip(*found, strict=True)
        return float(np.mean(values)), np.mean(slopes, axis=0)
    right = (true == predicted).astype(float)
    if metric == "accuracy":
        mean = float(right.mean())
        return mean, (right - mean) / len(true)
    size = int(max(true.max(), predicted.max())) + 1
    t = np.bincount(true, minlength=size)
    h = np.bincount(true, weights=right, minlength=size)
    if metric == "balanced_accuracy":
        recall, present = h / np.maximum(t, 1), t > 0
        by_sample = (right - recall[true]) / t[true]
        return float(recall[present].mean()), by_sample / present.sum()
    total = t + np.bincount(predicted, minlength=size)
    f1, present = 2 * h / np.maximum(total, 1), total > 0
    own, guessed = 1 / total[true], 1 / total[predicted]
    by_sample = 2 * right * own - f1[true] * own - f1[predicted] * guessed
    return float(f1[present].mean()), by_sample / present.sum()


def area(is_one: np.ndarray, scores: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the area under the ROC curve, and its derivative by the weight of each sample."""
    found = np.empty(len(scores))
    for one in (True, False):
        others = np.sort(scores[is_one != one])
        mine = scores[is_one == one]
        places = [np.searchsorted(others, mine, side) for side in ("left", "right")]
        below = (places[0] + places[1]) / 2 / len(others)
        found[is_one == one] = below if one else 1 - below
    value, n = float(found[is_one].mean()), is_one.sum()
    return value, (found - value) / np.where(is_one, n, len(scores) - n)


def average_precision(is_one: np.ndarray, scores: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the average precision, and its derivative by the weight of each sample."""
    order = np.argsort(-scores, kind="stable")
    one, ordered = is_one[order].astype(float), scores[order]
    first = np.searchsorted(-ordered, -ordered, "left")  # samples with equal scores come together
    n_above = np.searchsorted(-ordered, -ordered, "right")
    precision = np.cumsum(one)[n_above - 1] / n_above
    n = one.sum()
    value = float(one @ precision / n)
    after, of_others = (
        np.cumsum((one * each / n_above)[::-1])[::-1][first] for each in (1, precision)
    )
    slopes = np.empty(len(scores))
    slopes[order] = (one * (precision - value + after) - of_others) / n
    return value, slopes


def _explained(true: np.ndarray, predicted: np.ndarray) -> tuple[float, np.ndarray]:
    away, errors = np.square(true - true.mean(axis=0)), np.square(true - predicted)
    total = away.sum(axis=0)
    varies = total > 0
    if not varies.any():
        return 0.0, np.zeros(len(true))
    away, errors, total = away[:, varies], errors[:, varies], total[varies]
    share = errors.sum(axis=0) / total
    by_sample = (away * share - errors) / total
    return float(1 - share.mean()), by_sample.mean(axis=1)


def difference(
    a: Sequence[HeldOutPredictions], b: Sequence[HeldOutPredictions], metric: str
) -> Difference:
    """Return the paired difference between two results on the same splits."""
    pairs = [(_value(x, metric), _value(y, metric)) for x, y in zip(a, b, strict=True)]
    values = [mine - other for (mine, _), (other, _) in pairs]
    variances = [float(np.square(mine - other).sum()) for (_, mine), (_, other) in pairs]
    return Difference(float(np.mean(values)), standard_error(values, variances, ratio_of(a)))


def ratio_of(splits: Sequence[HeldOutPredictions]) -> float:
    """Return n2/n1."""
    return len(splits[0].true) / splits[0].n_train


def standard_error(values: Sequence[float], variances: Sequence[float], ratio: float) -> float:
    """Return the standard error of a mean over splits, of its values and variances by split.

    `ratio` is n2/n1.
    """
    if len(values) == 1:
        return float(np.sqrt(variances[0]))
    between = max(float(np.var(values, ddof=1)), float(np.mean(variances)))
    return float(np.sqrt(between * (1 / len(values) + ratio)))


def metric_of(y: Any, metric: str = "auto") -> tuple[str, str]:
    """Return the metric for labels or targets, and a sentence that says which and why."""
    if np.ndim(y) == 2:
        return "r2", "Metric: R^2, the share of the variance of held-out targets that is explained."
    if metric != "auto":
        return metric, f"Metric: {METRICS[metric]}, as requested.{_weighted(metric)}"
    counts = np.unique(y, return_counts=True)[1]
    ratio = counts.max() / counts.min()
    metric = "balanced_accuracy" if ratio > IMBALANCE else "accuracy"
    shown = f"{ratio:,.{0 if ratio >= 10 else 1}f}"
    limit = "more than" if ratio > IMBALANCE else "not more than"
    return metric, (
        f"Metric: {METRICS[metric]}, because the largest class has {shown} times as many samples "
        f"as the smallest ({limit} {IMBALANCE}).{_weighted(metric)}"
    )


def _weighted(metric: str) -> str:
    """Return what else the metric changes."""
    if metric == "log_loss":
        return (
            " Differences are positive where it is smaller. Probabilities of SVMs are a logistic "
            "function of their decision values, fitted to the training samples."
        )
    weighted = ' Logistic regression and SVMs have class_weight="balanced".'
    return weighted if metric == "balanced_accuracy" else ""
