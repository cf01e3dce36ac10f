"""Paired differences and their standard errors, against brute force."""

from functools import partial

import numpy as np
import pytest
from sklearn import metrics

from tests.solvers import METRICS, HeldOutPredictions, difference, gradient, metric_of, score

OF_LABELS = {
    "accuracy": metrics.accuracy_score, "balanced_accuracy": metrics.balanced_accuracy_score,
    "macro_f1": partial(metrics.f1_score, average="macro", zero_division=0),
    "r2": metrics.r2_score,
}  # fmt: skip


def outcomes(seed=0, n=300, skill=(0.7, 0.6), splits=1, n_train=1200):
    """Two results on the same samples, of 70, 20, 8 and 2 % in four classes."""
    rng = np.random.default_rng(seed)
    found = [], []
    for _ in range(splits):
        true = rng.choice(4, n, p=[0.7, 0.2, 0.08, 0.02])
        true[:4] = range(4)
        for each, right in zip(found, skill, strict=True):
            guess = np.where(rng.random(n) < right, true, rng.integers(0, 4, n))
            each.append(HeldOutPredictions(true, guess, n_train))
    return found


def assert_is_measured_by(outcome, metric, measure, atol=(1e-12, 1e-8)):
    """The score is this measure, and the gradient that of the measure by the weights."""
    n = len(outcome.true)
    assert score(outcome, metric) == pytest.approx(measure(np.ones(n)), abs=atol[0])
    slopes = [(measure(1 + step) - measure(1 - step)) / 2e-5 for step in 1e-5 * np.eye(n)]
    np.testing.assert_allclose(gradient(outcome, metric), slopes, rtol=0, atol=atol[1])


@pytest.mark.slow
@pytest.mark.parametrize("metric", OF_LABELS)
def test_scores_and_gradients_are_those_of_weighted_samples(metric):
    (a,), _ = outcomes(n=60)
    measure = partial(OF_LABELS[metric], a.true, a.predicted)
    assert_is_measured_by(a, metric, lambda weights: measure(sample_weight=weights))


@pytest.mark.slow
def test_r2_of_several_targets_is_the_mean_over_those_that_vary():
    rng = np.random.default_rng(0)
    true = rng.normal(size=(50, 3)) * [1, 1e3, 1e-3] + [0, 1e6, 7]
    found = HeldOutPredictions(true, true + 0.3 * rng.normal(size=(50, 3)) * true.std(axis=0), 200)
    measure = partial(metrics.r2_score, *found[:2])
    atol = 1e-9, 1e-6
    assert_is_measured_by(found, "r2", lambda weights: measure(sample_weight=weights), atol)
    true[:, 2] = 7  # a constant target is not explained, nor does it count
    first = HeldOutPredictions(true[:, :2], found.predicted[:, :2], 200)
    assert score(found, "r2") == pytest.approx(score(first, "r2"), abs=1e-12)
    assert score(HeldOutPredictions(true[:, 2:], true[:, 2:], 200), "r2") == 0


@pytest.mark.slow
@pytest.mark.parametrize("metric", OF_LABELS)
def test_the_error_on_one_split_is_that_of_the_paired_bootstrap(metric):
    a, b = outcomes(n=1500)
    rng, drawn = np.random.default_rng(1), []
    for _ in range(2000):
        rows = rng.integers(0, 1500, 1500)
        one, other = (
            score(HeldOutPredictions(x.true[rows], x.predicted[rows], 1), metric) for x in (*a, *b)
        )
        drawn.append(one - other)
    found = difference(a, b, metric)
    assert found.mean == pytest.approx(score(a[0], metric) - score(b[0], metric), abs=1e-12)
    assert found.standard_error == pytest.approx(np.std(drawn), rel=0.1)


def test_the_error_over_splits_is_that_of_nadeau_and_bengio():
    rng = np.random.default_rng(0)
    a, b = outcomes(splits=6, n=400, n_train=1600)
    for r, skill in enumerate(rng.uniform(0.2, 0.9, 6)):  # splits that differ by more than chance
        right = rng.random(400) < skill
        a[r] = a[r]._replace(predicted=np.where(right, a[r].true, 3 - a[r].true))
    right = [np.array([x.predicted == x.true for x in of], dtype=float) for of in (a, b)]
    apart = (right[0] - right[1]).mean(axis=1)
    found = difference(a, b, "accuracy")
    assert found.mean == pytest.approx(apart.mean())
    expected = (apart.var(ddof=1) * (1 / 6 + 400 / 1600)) ** 0.5
    assert found.standard_error == pytest.approx(expected)
    of_samples = (right[0][0] - right[1][0]).var() / 400  # that of splits that agree by chance
    found = difference(a[:1] * 5, b[:1] * 5, "accuracy")
    assert found.standard_error == pytest.approx(np.sqrt(of_samples * (1 / 5 + 400 / 1600)))
    assert difference(a[:1] * 3, a[:1] * 3, "macro_f1") == (0, 0)


def test_the_metric_is_chosen_by_imbalance():
    for counts, metric in (
        ((50, 50), "accuracy"), ((90, 10), "accuracy"), ((91, 10, 60), "balanced_accuracy"),
    ):  # fmt: skip
        found, why = metric_of(np.repeat(np.arange(len(counts)), counts))
        assert (found, METRICS[metric] in why) == (metric, True)
    assert metric_of([0, 1], "macro_f1")[0] == "macro_f1"
