"""Paired differences and their standard errors, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    r2_score,
    roc_auc_score,
)

from tests.solvers import METRICS, HeldOutPredictions, difference, gradient, metric_of, score

WEIGHTED = {
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "macro_f1": lambda y, p, **more: f1_score(y, p, average="macro", zero_division=0, **more),
    "r2": r2_score,
}


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


@pytest.mark.slow
@pytest.mark.parametrize("metric", WEIGHTED)
def test_scores_and_gradients_are_those_of_weighted_samples(metric):
    (a,), _ = outcomes(n=60)
    measure = WEIGHTED[metric]
    assert score(a, metric) == pytest.approx(measure(a.true, a.predicted), abs=1e-12)
    for i, slope in enumerate(gradient(a, metric)):
        weights = np.ones((2, 60))
        weights[:, i] += (1e-5, -1e-5)
        more, less = (measure(a.true, a.predicted, sample_weight=w) for w in weights)
        assert slope == pytest.approx((more - less) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_by_probabilities_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(n_classes)
    true = rng.choice(n_classes, 60, p=[0.7, 0.3] if n_classes == 2 else [0.6, 0.3, 0.1])
    found = rng.random((60, n_classes)).round(1) + 0.5 * np.eye(n_classes)[true] + 0.1
    found /= found.sum(axis=1, keepdims=True)
    found = found.round(2)  # with ties
    rarer, one = (1, [1]) if n_classes == 2 else (None, range(n_classes))
    outcome = HeldOutPredictions(true, found.argmax(axis=1), 240, found, found, rarer)
    measures = {
        "roc_auc": lambda w: np.mean(
            [roc_auc_score(true == k, found[:, k], sample_weight=w) for k in one]
        ),
        "average_precision": lambda w: np.mean(
            [average_precision_score(true == k, found[:, k], sample_weight=w) for k in one]
        ),
        "log_loss": lambda w: np.average(np.log(found[np.arange(60), true]), weights=w),
    }
    for metric, measure in measures.items():
        assert score(outcome, metric) == pytest.approx(measure(np.ones(60)), abs=1e-12)
        slopes = []
        for i in range(60):
            weights = np.ones((2, 60))
            weights[:, i] += (1e-5, -1e-5)
            slopes.append((measure(weights[0]) - measure(weights[1])) / 2e-5)
        np.testing.assert_allclose(gradient(outcome, metric), slopes, atol=1e-8)


def test_r2_of_several_targets_is_the_mean_over_those_that_vary():
    rng = np.random.default_rng(0)
    true = rng.normal(size=(50, 3)) * [1, 1e3, 1e-3] + [0, 1e6, 7]
    found = HeldOutPredictions(true, true + 0.3 * rng.normal(size=(50, 3)) * true.std(axis=0), 200)
    assert score(found, "r2") == pytest.approx(r2_score(*found[:2]), abs=1e-9)
    for i, slope in enumerate(gradient(found, "r2")):
        weights = np.ones((2, 50))
        weights[:, i] += (1e-5, -1e-5)
        more, less = (r2_score(*found[:2], sample_weight=w) for w in weights)
        assert slope == pytest.approx((more - less) / 2e-5, abs=1e-6)
    true[:, 2] = 7  # a constant target is not explained, nor does it count
    first = HeldOutPredictions(true[:, :2], found.predicted[:, :2], 200)
    assert score(found, "r2") == pytest.approx(score(first, "r2"), abs=1e-12)
    assert score(HeldOutPredictions(true[:, 2:], true[:, 2:], 200), "r2") == 0


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
def test_a_class_that_is_only_predicted_counts_as_it_does_in_scikit_learn():
    outcome = HeldOutPredictions(np.array([0, 0, 2, 2]), np.array([0, 1, 2, 2]), 16)
    for metric, measure in WEIGHTED.items():
        with np.errstate(all="raise"):
            assert score(outcome, metric) == pytest.approx(measure(*outcome[:2]))
    assert np.isfinite(gradient(outcome, "macro_f1")).all()


@pytest.mark.slow
@pytest.mark.parametrize("metric", WEIGHTED)
def test_the_error_on_one_split_is_that_of_the_paired_bootstrap(metric):
    a, b = outcomes(n=1500)
    rng, drawn = np.random.default_rng(1), []
    for _ in range(2000):
        rows = rng.integers(0, 1500, 1500)
        of = [
            score(HeldOutPredictions(x.true[rows], x.predicted[rows], 1), metric) for x in (*a, *b)
        ]
        drawn.append(of[0] - of[1])
    found = difference(a, b, metric)
    assert found.mean == pytest.approx(score(a[0], metric) - score(b[0], metric), abs=1e-12)
    assert found.standard_error == pytest.approx(np.std(drawn), rel=0.1)


def test_the_error_over_splits_is_that_of_nadeau_and_bengio():
    rng = np.random.default_rng(0)
    a, b = outcomes(splits=6, n=400, n_train=1600)
    for r, skill in enumerate(rng.uniform(0.2, 0.9, 6)):  # splits that differ by more than chance
        right = rng.random(400) < skill
        a[r] = a[r]._replace(predicted=np.where(right, a[r].true, 3 - a[r].true))
    right = [[np.mean(outcome.predicted == outcome.true) for outcome in of] for of in (a, b)]
    apart = [mine - other for mine, other in zip(*right, strict=True)]
    squares = sum((value - sum(apart) / 6) ** 2 for value in apart) / 5
    found = difference(a, b, "accuracy")
    assert found.mean == pytest.approx(sum(apart) / 6)
    assert found.standard_error == pytest.approx((squares * (1 / 6 + 400 / 1600)) ** 0.5)


def test_splits_that_agree_by_chance_have_the_error_of_their_samples():
    a, b = outcomes(n=100)
    right = [np.array(x[0].predicted == x[0].true, dtype=float) for x in (a, b)]
    of_samples = np.var(right[0] - right[1]) / 100
    found = difference(a * 5, b * 5, "accuracy")
    assert found.standard_error == pytest.approx(np.sqrt(of_samples * (1 / 5 + 100 / 1200)))


def test_equal_predictions_have_no_difference():
    a, _ = outcomes(splits=3)
    found = difference(a, a, "macro_f1")
    assert found == (0, 0)
    assert not found.is_worse(0)
    assert not found.is_better()


def test_the_error_of_a_difference_covers_it():
    """Of the mean of the populations, one standard error covers about two thirds."""
    n, covered = 400, 0
    for seed in range(300):
        a, b = outcomes(seed, n=n, skill=(0.7, 0.65))
        found = difference(a, b, "accuracy")
        truth = 0.75 * (0.7 - 0.65)  # a guess is right once in four times
        covered += abs(found.mean - truth) < found.standard_error
    assert 0.6 < covered / 300 < 0.76


@pytest.mark.parametrize(
    ("counts", "metric", "said"),
    [
        ((50, 50), "accuracy", "1.0 times as many samples as the smallest (not more than 9)"),
        ((90, 10), "accuracy", "9.0 times as many samples as the smallest (not more than 9)"),
        ((91, 10, 60), "balanced_accuracy", "9.1 times as many samples as the smallest (more than"),
        ((9900, 100), "balanced_accuracy", "99 times as many samples as the smallest (more than 9"),
    ],
)
def test_the_metric_is_chosen_by_imbalance(counts, metric, said):
    found, why = metric_of(np.repeat(np.arange(len(counts)), counts))
    assert found == metric
    assert why.startswith(f"Metric: {METRICS[metric]}, because the largest class has {said}")
    assert metric_of([0, 1], "macro_f1") == ("macro_f1", "Metric: macro-F1, as requested.")
