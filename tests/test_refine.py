"""``refine=True``: one Newton step of logistic regression, computed on the rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import narrows
from narrows import LDA, SRDA
from tests.cases import bytes_of
from tests.inside import LogOdds, Refine, SchemaError, local, refined

RIDGE = {SRDA: "alpha", LDA: "mu"}


def samples(n=1000, d=12, seed=0):
    return make_classification(n, d, n_informative=5, flip_y=0.1, weights=[0.8], random_state=seed)


def made(kind, ridge, **more):
    return kind(**{RIDGE[kind]: ridge}, **more)


def newton(X, y, eta, alpha, weight=None):
    """Coefficients and intercept after one step from log odds, with a penalty alpha/2 |b|^2."""
    weight = np.ones(len(y)) if weight is None else weight
    q = expit(eta)
    w, r = weight * q * (1 - q), eta + (y - q) / (q * (1 - q))
    R, P = np.column_stack([X, np.ones(len(y))]), alpha * np.eye(X.shape[1] + 1)
    P[-1, -1] = 0.0
    b = np.linalg.solve(R.T @ (w[:, None] * R) + P, R.T @ (w * r))
    return b[:-1], b[-1]


def assert_is(model, b, unit=1.0):
    coef, intercept = b
    near = {"rtol": 0, "atol": 1e-8 * max(np.abs(coef).max(), 1.0)}
    np.testing.assert_allclose(model.coef_[0] * unit, coef, **near)
    if np.isscalar(unit):
        np.testing.assert_allclose(model.intercept_[0], intercept, **near)


@pytest.mark.parametrize("ridge", [0.5, 20.0, "scale", "auto"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", RIDGE)
def test_it_is_a_newton_step(kind, weighted, ridge):
    X, y = samples()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    first = made(kind, ridge).fit(X, y, weight)
    model = made(kind, ridge, refine=True).fit(X, y, weight)
    alpha = getattr(model, f"{RIDGE[kind]}_")
    assert_is(model, newton(X, y, first.decision_function(X), alpha, weight))
    if ridge == 0.5:
        assert alpha == 0.5
    Z, w = model.transform(X)[:, 0], np.ones(len(y)) if weight is None else weight
    assert abs(np.corrcoef(Z, model.decision_function(X))[0, 1]) == pytest.approx(1.0)
    means = np.array([np.average(Z[y == j], weights=w[y == j]) for j in (0, 1)])
    assert np.average((Z - means[y]) ** 2, weights=w) == pytest.approx(1.0)  # within the classes
    between = np.average((means[y] - np.average(Z, weights=w)) ** 2, weights=w)
    ratio = between if kind is LDA else between / (1 + between)
    np.testing.assert_allclose(model.eigenvalues_, [ratio], rtol=1e-10)


def test_an_indicator_matrix_counts_pairs():
    X, y = samples(300)
    T = np.eye(2, dtype=int)[y]
    T[:50] = 1  # of both classes
    every, labels = np.vstack([X, X[:50]]), np.append(y, 1 - y[:50])
    eta = SRDA(alpha=1.0).fit(X, T).decision_function(every)
    assert_is(SRDA(alpha=1.0, refine=True).fit(X, T), newton(every, labels, eta, 1.0))


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_ten_steps_are_logistic_regression(C):
    X, y = samples()
    start = LogOdds(np.array([0, 1]), np.zeros(X.shape[1]), 0.0)
    for _ in range(10):
        step = Refine(second="cross", start=start)
        found = refined(start, *step.add(step.empty(X.shape[1]), X, y), 1 / C, None, False)
        coef, intercept = found.rule.coef, found.rule.intercept
        start = LogOdds(start.labels, coef[:, 1] - coef[:, 0], intercept[1] - intercept[0])
    expected = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(start.coef, expected.coef_[0], rtol=0, atol=1e-4)
    assert start.intercept == pytest.approx(expected.intercept_[0], abs=1e-4)


# -- schedules -------------------------------------------------------------------------------------


def test_merged_steps_have_the_starts_of_their_parts():
    X, y = samples()
    parts = slice(0, 600), slice(600, 1000)
    eta = [SRDA(alpha=1.0).fit(X[p], y[p]).decision_function(X[p]) for p in parts]
    first, second = (SRDA(alpha=1.0, refine=True).fit(X[p], y[p]) for p in parts)
    later = np.append(eta[0], first.decision_function(X[600:]))
    merged = clone(first).merge(first, second)
    assert_is(merged, newton(X, y, np.concatenate(eta), 1.0))
    # more samples start from the last solution
    assert_is(first.partial_fit(X[600:], y[600:]), newton(X, y, later, 1.0))


def test_older_samples_fade():
    X, y = samples(400)
    model = SRDA(alpha=1.0, refine=True, half_life=100.0).fit(X, y)
    weight = 0.5 ** (np.arange(400)[::-1] / 100)
    eta = SRDA(alpha=1.0, half_life=100.0).fit(X, y).decision_function(X)
    assert_is(model, newton(X, y, eta, 1.0, weight))


FORGED = {
    "a start of other features": lambda a: a.update(start_coef=a["start_coef"][1:]),
    "a third label": lambda a: a.update(start_labels=np.arange(3)),
    "no weighted moments": lambda a: [a.pop(k) for k in list(a) if k.startswith("weighted_")],
    "moments of classes as weighted ones": lambda a: a.update(
        {f"weighted_{k}": v for k, v in a.items() if not k.startswith(("weighted_", "start_"))}
    ),
    "NaN": lambda a: a.update(start_coef=np.full_like(a["start_coef"], np.nan)),
}


@pytest.mark.parametrize("forged", FORGED)
def test_forged_states_are_refused(forged):
    X, y = samples(300)
    step = Refine(second="cross", start=LogOdds(np.array([0, 1]), np.ones(X.shape[1]), 0.0))
    arrays = step.to_arrays(step.add(step.empty(X.shape[1]), X, y))
    Refine.of_arrays(dict(arrays), step)
    FORGED[forged](arrays)
    with pytest.raises(SchemaError):
        Refine.of_arrays(arrays, step)


# -- the ridge, and steps that are too long --------------------------------------------------------


def test_the_ridge_predicts_each_kept_sample_by_the_others():
    X, y = samples(150, 8)
    model = SRDA(refine=True).fit(X, y)
    eta = SRDA().fit(X, y).decision_function(X)
    for alpha, score in zip(model.alphas_, model.alpha_scores_, strict=True):
        loss = []
        for i in range(len(y)):
            left = np.arange(len(y)) != i
            coef, intercept = newton(X[left], y[left], eta[left], alpha)
            own = X[i] @ coef + intercept
            loss.append(np.logaddexp(0, own) - y[i] * own)
        assert -np.mean(loss) == pytest.approx(score, abs=1e-8)
    best = np.argmax(model.alpha_scores_)
    as_good = model.alpha_scores_ >= model.alpha_scores_[best] - 0.01 * model.alpha_errors_[best]
    assert model.alpha_ == model.alphas_[as_good].max()


@pytest.mark.slow
@pytest.mark.parametrize("given", [{"alpha": 1.0}, {"keep": 0}, {}])
def test_a_step_that_loses_the_classes_is_not_taken(given):
    """Where the classifier is nearly sure of every sample, and no kept one says so."""
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 2
    X = rng.normal(size=(4000, 5)) + 10 * y[:, None]
    assert SRDA(**given, refine=True).fit(X, y).score(X, y) == 1
    X[:, 1:] -= 10 * y[:, None]
    X[:, 0] -= 4 * y
    y = np.where(rng.random(4000) < 0.005, 1 - y, y)  # wrong labels
    first, model = (SRDA(**given, refine=refine).fit(X, y) for refine in (False, True))
    losses = [log_loss(y, each.predict_proba(X)) for each in (first, model)]
    assert losses[1] <= losses[0] + 0.01


# -- the command line ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind", "more"),
    [
        ("sparse", {"alpha": 1.0}, {}),
        ("units", {"alpha": 2.0}, {"standardize": True}),
        ("few", {"alpha": 3000.0}, {}),  # of which the classifier is not sure of all
        ("no kept samples", {"alpha": "auto"}, {"keep": 0}),
    ],
)
def test_samples_of_any_form(given, kind, more):
    X, y = samples(60, 300) if given == "few" else samples()
    unit = np.geomspace(1e-3, 1e3, X.shape[1]) if given == "units" else np.ones(X.shape[1])
    Z = X * (np.abs(X) > 0.7) if given == "sparse" else X * unit
    rows, names = csr_array(Z) if given == "sparse" else Z, np.array(["yes", "no"])[y]
    first, model = (SRDA(**kind, **more, refine=each).fit(rows, names) for each in (False, True))
    deviation = Z.std(axis=0) if given == "units" else 1.0
    R = (Z - Z.mean(axis=0)) / deviation if given == "units" else Z
    assert_is(model, newton(R, 1 - y, first.decision_function(rows), model.alpha_), deviation)
    assert list(model.classes_) == ["no", "yes"]


@pytest.mark.parametrize("ridge", [1.0, "auto"])
def test_chunks_orders_and_layouts_give_the_fit(ridge):
    X, y = samples()
    whole = SRDA(alpha=ridge, refine=True).fit(X, y)
    chunks = [(X[s : s + 70], y[s : s + 70]) for s in range(0, 1000, 70)]
    for other in (
        local.fit(SRDA(alpha=ridge, refine=True), chunks),
        SRDA(alpha=ridge, refine=True).fit(np.asfortranarray(X), y),
        SRDA(alpha=ridge, refine=True).fit(X[::-1], y[::-1]),
    ):
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-9)
        assert other.alpha_ == pytest.approx(whole.alpha_)


def test_a_stream_starts_with_its_first_batch_and_is_saved(tmp_path):
    X, y = samples()
    one, batch = SRDA(refine=True), SRDA(refine=True).fit(X[:300], y[:300])
    one.partial_fit(X[:300], y[:300])
    np.testing.assert_allclose(one.coef_, batch.coef_, rtol=1e-10)
    narrows.save(one, tmp_path / "m.narrows")
    loaded = narrows.load(tmp_path / "m.narrows")
    for model, start in product((one, loaded), range(300, 1000, 100)):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    np.testing.assert_array_equal(loaded.decision_function(X), one.decision_function(X))
    before = bytes_of(one)
    with pytest.raises(ValueError, match="two classes"):
        one.partial_fit(X, np.arange(len(X)) % 3)
    assert bytes_of(one) == before
    whole = SRDA(refine=True).fit(X, y)
    assert log_loss(y, one.predict_proba(X)) < 1.02 * log_loss(y, whole.predict_proba(X))
