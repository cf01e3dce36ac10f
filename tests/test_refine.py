"""``refine=True``, computed on the rows; and probabilities that kept samples calibrate."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import narrows
from narrows import LDA, SRDA, OnlineSRDA
from tests.cases import bytes_of
from tests.inside import LogOdds, Refine, SchemaError, calibration, local, refined

RIDGE = {SRDA: "alpha", LDA: "mu"}


def samples(n=1000, d=12, seed=0):
    return make_classification(n, d, n_informative=5, flip_y=0.1, weights=[0.8], random_state=seed)


def newton(X, y, eta, alpha, weight=None):
    """Coefficients and intercept after one step from log odds, with a penalty alpha/2 |b|^2."""
    weight = np.ones(len(y)) if weight is None else weight
    q = expit(eta)
    w, r = weight * q * (1 - q), eta + (y - q) / (q * (1 - q))
    R, P = np.column_stack([X, np.ones(len(y))]), alpha * np.eye(X.shape[1] + 1)
    P[-1, -1] = 0.0
    b = np.linalg.solve(R.T @ (w[:, None] * R) + P, R.T @ (w * r))
    return b[:-1], b[-1]


def assert_is(model, b):
    coef, intercept = b
    near = {"rtol": 0, "atol": 1e-8 * max(np.abs(coef).max(), 1.0)}
    np.testing.assert_allclose(model.coef_[0], coef, **near)
    np.testing.assert_allclose(model.intercept_[0], intercept, **near)


@pytest.mark.parametrize("ridge", [0.5, 20.0, "scale", "auto"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", RIDGE)
def test_it_is_a_newton_step(kind, weighted, ridge):
    X, y = samples()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    first = kind(**{RIDGE[kind]: ridge}).fit(X, y, weight)
    model = clone(first).set_params(refine=True).fit(X, y, weight)
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


@pytest.mark.parametrize(
    "given", [{"alpha": 1.0}, {"alpha": "auto"}, {"standardize": True, "alpha": 2.0}, {"keep": 0}]
)
def test_chunks_orders_and_forms_give_the_fit(given):
    X, y = samples()
    X *= np.abs(X) > 0.7
    model = SRDA(**given, refine=True)
    whole, chunks = clone(model).fit(X, y), [(X[s::14], y[s::14]) for s in range(14)]
    for other in (
        local.fit(clone(model), chunks),
        clone(model).fit(csr_array(X), y),
        clone(model).fit(X[::-1], np.array(["no", "yes"])[y[::-1]]),
    ):
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-9)
        assert other.alpha_ == pytest.approx(whole.alpha_)


def test_a_stream_starts_with_its_first_batch_and_is_saved(tmp_path):
    X, y = samples()
    one, whole = SRDA(refine=True).partial_fit(X[:300], y[:300]), SRDA(refine=True).fit(X, y)
    narrows.save(one, tmp_path / "m.narrows")
    loaded = narrows.load(tmp_path / "m.narrows")
    for model, start in product((one, loaded), range(300, 1000, 100)):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    np.testing.assert_array_equal(loaded.decision_function(X), one.decision_function(X))
    before = bytes_of(one)
    with pytest.raises(ValueError, match="two classes"):
        one.partial_fit(X, np.arange(len(X)) % 3)
    assert bytes_of(one) == before
    assert log_loss(y, one.predict_proba(X)) < 1.02 * log_loss(y, whole.predict_proba(X))


SETS = (
    "balance_scale", "electricity_stream", "ionosphere", "iris", "monk1_train", "pima_diabetes",
    "waveform", "wine",
)  # fmt: skip


def scores(n, c, seed=0):
    """Log posteriors, and labels drawn by them."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(n, c)) * 2 + np.linspace(0, 2, c)
    return L, np.array([rng.choice(c, p=p) for p in softmax(L, axis=1)])


def gradient(found, L, code, ridge):
    """Of the objective by E and b, where A = I + E."""
    c = L.shape[1]
    Z, centre = L - L.mean(axis=1, keepdims=True), np.eye(c) - 1 / c
    G = softmax(Z @ found.A + found.b, axis=1) - np.eye(c)[code]  # A is centred
    return G.sum(axis=0) + found.b, centre @ (Z.T @ G + ridge * (found.A - centre))


def test_a_matrix_is_found_where_scores_are_wrong():
    centre = np.eye(3) - 1 / 3
    wrong = centre @ np.diag([2.0, 1.0, 0.3]) @ centre  # of scores up to a term of the sample
    L, code = scores(2000, 3)
    found = calibration(L @ wrong, code, np.ones(2000), np.bincount(code), 1.0)
    slopes = [gradient(found, L @ wrong, code, ridge) for ridge in (100.0, 10.0, 1.0)]
    assert sum(max(np.abs(g).max() for g in each) < 1e-3 for each in slopes) == 1
    L, code = scores(5000, 3, seed=1)
    best, given, after = (log_loss(code, softmax(each, axis=1))
                          for each in (L, L @ wrong, L @ wrong @ found.A + found.b))  # fmt: skip
    assert after - best < 0.05 * (given - best)


@pytest.mark.slow
@pytest.mark.parametrize("model", [SRDA(), SRDA(refine=True), OnlineSRDA(random_state=0)], ids=repr)
def test_mean_probabilities_are_the_shares_of_the_classes(model, data):
    """Within two standard errors, of held-out and of kept samples, but for chance."""
    away = []
    for name in SETS:
        rows = np.genfromtxt(data / f"{name}.csv", delimiter=",", skip_header=1, dtype=str)
        X, y = rows[:, :-1].astype(float), rows[:, -1]
        if getattr(model, "refine", False) and len(np.unique(y)) > 2:
            continue
        for seed in range(5):
            X_fit, X_new, y_fit, y_new = train_test_split(
                X, y, test_size=0.3, random_state=seed, stratify=y
            )
            model.fit(X_fit, y_fit)
            differs = model.predict_proba(X_new) - (y_new[:, None] == model.classes_)
            n = 1 / (1 / len(y_new) + 1 / min(2000, len(y_fit)))
            away.extend(differs.mean(axis=0) / (differs.std(axis=0) / np.sqrt(n) + 1e-12))
    assert (np.abs(away) > 2).mean() < 0.05
