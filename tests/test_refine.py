"""``refine=True``: one Newton step of logistic regression, computed on the rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import narrows
from narrows import LDA, SRDA, Moments, Window
from narrows.command.cli import main
from tests.inside import LogOdds, Refine, SchemaError, folds_of, local, refined
from tests.traced import stopped

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


def test_sparse_samples_and_other_labels():
    X, y = samples()
    X = X * (np.abs(X) > 0.7)
    names = np.array(["yes", "no"])[y]  # in another order
    first = SRDA(alpha=1.0).fit(csr_array(X), names)
    model = SRDA(alpha=1.0, refine=True).fit(csr_array(X), names)
    assert_is(model, newton(X, 1 - y, first.decision_function(X), 1.0))
    assert list(model.classes_) == ["no", "yes"]


def test_standardised_features():
    X, y = samples()
    X = X * np.geomspace(1e-3, 1e3, X.shape[1])
    given = {"alpha": 2.0, "standardize": True}
    eta = SRDA(**given).fit(X, y).decision_function(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_is(SRDA(**given, refine=True).fit(X, y), newton(Z, y, eta, 2.0), X.std(axis=0))


def test_fewer_samples_than_features():
    X, y = samples(60, 300)
    eta = SRDA(alpha=3000.0).fit(X, y).decision_function(X)  # not sure of all samples
    assert_is(SRDA(alpha=3000.0, refine=True).fit(X, y), newton(X, y, eta, 3000.0))


def test_a_constant_feature_and_an_offset():
    X, y = samples()
    X[:, 3] = 7.0
    X[:, 4] += 1e6
    eta = SRDA(alpha=1.0).fit(X, y).decision_function(X)
    model = SRDA(alpha=1.0, refine=True).fit(X, y)
    coef, _ = newton(X - X.mean(axis=0), y, eta, 1.0)
    np.testing.assert_allclose(model.coef_[0], coef, rtol=0, atol=1e-6)


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


def test_more_samples_start_from_the_last_solution():
    X, y = samples()
    model = SRDA(alpha=1.0, refine=True).fit(X[:600], y[:600])
    first = SRDA(alpha=1.0).fit(X[:600], y[:600]).decision_function(X[:600])
    eta = np.append(first, model.decision_function(X[600:]))
    model.partial_fit(X[600:], y[600:])
    assert_is(model, newton(X, y, eta, 1.0))
    assert model.n_samples_seen_ == 1000


def test_a_stream_starts_with_its_first_batch():
    X, y = samples()
    one, batch = SRDA(refine=True), SRDA(refine=True).fit(X[:300], y[:300])
    one.partial_fit(X[:300], y[:300])
    np.testing.assert_allclose(one.coef_, batch.coef_, rtol=1e-10)
    for start in range(300, 1000, 100):
        one.partial_fit(X[start : start + 100], y[start : start + 100])
    whole = SRDA(refine=True).fit(X, y)
    assert log_loss(y, one.predict_proba(X)) < 1.02 * log_loss(y, whole.predict_proba(X))


def test_merged_steps_have_the_starts_of_their_parts():
    X, y = samples()
    parts = slice(0, 400), slice(400, 1000)
    first, second = (SRDA(alpha=1.0, refine=True).fit(X[p], y[p]) for p in parts)
    eta = [SRDA(alpha=1.0).fit(X[p], y[p]).decision_function(X[p]) for p in parts]
    first.merge(second)
    assert_is(first, newton(X, y, np.concatenate(eta), 1.0))


@pytest.mark.parametrize("ridge", [1.0, "auto"])
def test_chunks_and_parts_give_the_fit(ridge):
    X, y = samples()
    whole = SRDA(alpha=ridge, refine=True).fit(X, y)
    chunks = [(X[s : s + 70], y[s : s + 70]) for s in range(0, 1000, 70)]
    chunked = local.fit(SRDA(alpha=ridge, refine=True), chunks)
    np.testing.assert_allclose(chunked.coef_, whole.coef_, rtol=1e-9)
    assert chunked.alpha_ == pytest.approx(whole.alpha_)


def test_dask_parts_give_the_fit():
    array = pytest.importorskip("dask.array")
    X, y = samples()
    whole = SRDA(alpha=1.0, refine=True).fit(X, y)
    parts = SRDA(alpha=1.0, refine=True).fit(
        array.from_array(X, chunks=(130, -1)), array.from_array(y, chunks=130)
    )
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)


def test_older_samples_fade():
    X, y = samples(400)
    model = SRDA(alpha=1.0, refine=True, half_life=100.0).fit(X, y)
    weight = 0.5 ** (np.arange(400)[::-1] / 100)
    eta = SRDA(alpha=1.0, half_life=100.0).fit(X, y).decision_function(X)
    assert_is(model, newton(X, y, eta, 1.0, weight))


def test_a_saved_model_goes_on_to_the_bit(tmp_path):
    X, y = samples()
    model = SRDA(refine=True).fit(X[:700], y[:700])
    narrows.save(model, tmp_path / "m.narrows")
    copy = narrows.load(tmp_path / "m.narrows")
    for each in (model, copy):
        each.partial_fit(X[700:], y[700:])
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))


def test_an_interrupt_leaves_both_moments_of_the_same_samples():
    X, y = samples()
    fitted = SRDA(alpha=1.0, refine=True).fit(X[:500], y[:500])
    for model in stopped(fitted, lambda each: each.partial_fit(X[500:], y[500:]), 30):
        n, expected = model.n_samples_seen_, SRDA(alpha=1.0, refine=True).fit(X[:500], y[:500])
        expected.partial_fit(X[500:n], y[500:n])
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)


def test_without_kept_samples():
    X, y = samples()
    model = SRDA(refine=True, keep=0).fit(X, y)
    eta = SRDA(keep=0).fit(X, y).decision_function(X)
    assert_is(model, newton(X, y, eta, model.alpha_))
    assert model.alphas_.size == 0


def test_parameters_are_set_after_the_fit():
    X, y = samples()
    model = SRDA(refine=True).fit(X, y)
    plain = clone(model).set_params(refine=False).fit(X, y)
    np.testing.assert_array_equal(
        model.set_params(refine=False).decision_function(X), plain.decision_function(X)
    )
    with pytest.raises(ValueError, match="expected a fit to samples with `refine`"):
        _ = plain.set_params(refine=True).coef_


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


def test_a_step_that_is_too_long_is_shortened():
    """From log odds that are too sure, the step of samples that are easy to tell goes too far."""
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    losses = []
    for seed in range(5):
        a, b, ya, yb = train_test_split(X, y, random_state=seed, stratify=y)
        first, model = SRDA().fit(a, ya), SRDA(refine=True).fit(a, ya)
        whole = newton(a, ya, first.decision_function(a), model.alpha_)
        eta = [first.decision_function(b), model.decision_function(b), b @ whole[0] + whole[1]]
        losses.append([np.mean(np.logaddexp(0, each) - yb * each) for each in eta])
    first, model, whole = np.mean(losses, axis=0)
    assert model <= 1.05 * min(first, whole)


@pytest.mark.parametrize("given", [{"alpha": 1.0}, {"alpha": "scale"}, {"keep": 0}, {}])
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


def test_neither_layout_nor_order_matter_where_kept_samples_choose():
    X, y = samples(5000, 20)
    model = SRDA(refine=True).fit(X, y)
    chunks = [(X[s : s + 300], y[s : s + 300]) for s in range(0, 5000, 300)]
    for other in (
        SRDA(refine=True).fit(np.asfortranarray(X), y),
        SRDA(refine=True).fit(X[::-1], y[::-1]),
        local.fit(SRDA(refine=True), chunks),
    ):
        assert other.alpha_ == pytest.approx(model.alpha_)
        np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-6, atol=1e-8)


def test_both_moments_keep_the_same_samples():
    X, y = samples(5000, 20)
    X[:100], y[:100] = X[0], np.arange(100) % 2  # equal samples of both classes
    model = SRDA(refine=True, keep=300).fit(X, y)
    first, newton = (each.samples for each in folds_of(model))
    np.testing.assert_array_equal(first.X, newton.X)
    np.testing.assert_array_equal(first.code, newton.Y[:, 0] > 0)


# -- what it refuses -------------------------------------------------------------------------------


def _three(X):
    return SRDA(refine=True).fit(X, np.arange(len(X)) % 3)


REFUSED = {
    "three classes": lambda X, y: _three(X),
    "a third class later": lambda X, y: SRDA(refine=True).fit(X, y).partial_fit(X[:1], [2]),
    "a batch of one class": lambda X, y: SRDA(refine=True).partial_fit(X[:9], np.zeros(9, int)),
    "two components": lambda X, y: LDA(refine=True, n_components=2).fit(X, y),
    "a number that is chosen": lambda X, y: SRDA(refine=True, n_components="cv").fit(X, y),
    "LSQR": lambda X, y: SRDA(refine=True, solver="lsqr").fit(X, y),
    "an SVD": lambda X, y: LDA(refine=True, solver="gsvd").fit(X, y),
    "many features": lambda X, y: SRDA(refine=True).fit(np.zeros((6, 9000)), [0, 1] * 3),
    "moments": lambda X, y: SRDA(refine=True).fit_moments(Moments.of(X, y, second="cross")),
    "a window": lambda X, y: Window(SRDA(refine=True), 50).partial_fit(X, y),
    "a number for the flag": lambda X, y: SRDA(refine=2).fit(X, y),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_it_refuses(case):
    X, y = samples(200)
    with pytest.raises(ValueError, match=r"expected .*(Use|Give|Leave|Fit|got)"):
        REFUSED[case](X, y)


# -- the command line ------------------------------------------------------------------------------


def test_the_command_line_refines(tmp_path, capsys):
    X, y = samples(600)
    table = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])]).assign(label=y)
    table.to_csv(tmp_path / "a.csv", index=False)
    model = str(tmp_path / "m.narrows")
    fit = ["fit", str(tmp_path / "a.csv"), "--label", "label", "--method", "srda"]
    assert main([*fit, "--refine", "-o", model]) == 0
    expected = SRDA(refine=True).fit(X, y)
    np.testing.assert_allclose(narrows.load(model).coef_, expected.coef_, rtol=1e-8)
    capsys.readouterr()
    assert main(["info", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"]["refine"] is True
    assert main([*fit[:-1], "oc", "--refine", "-o", model]) == 2
    assert "lda, srda" in capsys.readouterr().err
