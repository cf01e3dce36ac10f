"""SRDA, LDA and OnlineSRDA as classifiers: their answers, priors, and which scores predict."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, log_loss
from sklearn.preprocessing import StandardScaler

from narrows import LDA, SRDA, KernelSRDA, OnlineSRDA, load, save
from tests.cases import labelled
from tests.inside import solution_of
from tests.solvers import UNIT, regressions
from tests.traced import stopped

METHODS = [
    SRDA(), SRDA(alpha=1.0), SRDA(alpha="scale"), SRDA(solver="lsqr"), LDA(),
    LDA(solver="pca"), LDA(solver="gsvd"),
]  # fmt: skip
ONLINE = [OnlineSRDA(random_state=0), OnlineSRDA(random_state=0, polish=False)]
ADDED_UP = [e for e in METHODS if e.solver in ("auto", "regularized")]
every = pytest.mark.parametrize("estimator", METHODS + ONLINE, ids=repr)
streamed = pytest.mark.parametrize("estimator", ADDED_UP + ONLINE, ids=repr)
summed = pytest.mark.parametrize("estimator", ADDED_UP, ids=repr)
LABELS = {
    "integers": np.array([3, -1, 40]),
    "strings": np.array(["no", "maybe", "yes"]),
    "booleans": np.array([False, True, True]),
}


def three(labels="strings", n=90):
    X, y = labelled(n=n)
    return X, LABELS[labels][np.unique(y, return_inverse=True)[1]]


def assert_same_answers(a, b, X, rtol=1e-6):
    assert a.classes_.tolist() == b.classes_.tolist()
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    for verb in ("predict_proba", "predict_log_proba", "decision_function"):
        one, other = getattr(a, verb)(X), getattr(b, verb)(X)
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


def assert_same_but_for_a_factor(found, expected, atol=1e-6):
    found, expected = (Z - Z.mean(axis=1, keepdims=True) for Z in (found, expected))
    factor = np.vdot(found, expected) / np.vdot(found, found)
    np.testing.assert_allclose(factor * found, expected, atol=atol * np.abs(expected).max())


def test_without_a_ridge_predictions_are_those_of_scikit_learn():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    expected = LinearDiscriminantAnalysis().fit(X, y)
    for estimator in (SRDA(alpha=1e-9), LDA(mu=1e-9), LDA(solver="pca")):
        found = clone(estimator).fit(X, y)
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    # theirs are not calibrated
    assert_same_but_for_a_factor(found.predict_log_proba(X), expected.predict_log_proba(X), 0.03)


@pytest.mark.parametrize("estimator", [*METHODS, *ONLINE, KernelSRDA(random_state=0)], ids=repr)
@pytest.mark.parametrize(
    "priors", ["balanced", "sqrt", (0.2, 0.7, 0.1), {"yes": 3, "no": 0, "maybe": 1}], ids=str
)
def test_other_priors_multiply_probabilities(estimator, priors):
    X, y = three(n=60)
    weight = np.where(y == "no", 0.1, 1.0)
    fitted = clone(estimator).fit(X, y, sample_weight=weight)
    share = np.array([weight[y == c].sum() for c in fitted.classes_]) / weight.sum()
    new = {"balanced": np.ones(3), "sqrt": np.sqrt(share)}.get(str(priors), priors)
    new = np.array([new[c] for c in fitted.classes_] if isinstance(new, dict) else new)
    P = fitted.predict_proba(X)
    expected = P * new / share
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.abs(expected - P).max() > 1e-3
    np.testing.assert_allclose(fitted.predict_proba(X, priors=priors), expected, atol=1e-12)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X, priors)), expected, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict_proba(X, priors="empirical"), P)
    for each in (expected, fitted.decision_function(X, priors)):
        found = fitted.classes_[each.argmax(axis=1)]
        np.testing.assert_array_equal(found, fitted.predict(X, priors=priors))


@every
@pytest.mark.parametrize(
    "priors", ["uniform", (1, 1), (1, -1, 1), (1, np.nan, 1), {"yes": 1}], ids=str
)
def test_priors_that_are_none_are_refused(estimator, priors):
    X, y = three(n=40)
    with pytest.raises(ValueError, match=r"^expected priors"):
        clone(estimator).fit(X, y).predict_proba(X, priors=priors)


def test_classes_to_come_have_priors_but_no_probability_and_several_labels_have_none():
    X, y = three("integers", n=60)
    online = OnlineSRDA(random_state=0).partial_fit(X, y, classes=[-1, 3, 40, 99])
    P = online.predict_proba(X, priors=[1] * len(online.classes_))
    assert (P[:, -1] == 0).all()
    np.testing.assert_allclose(P, online.predict_proba(X, priors="balanced"), atol=1e-12)
    online.fit(X, np.eye(3, dtype=int)[np.unique(y, return_inverse=True)[1]])
    with pytest.raises(ValueError, match="several labels"):
        online.predict(X, priors="balanced")


@summed
def test_a_class_of_one_label_is_certain_until_another_appears(estimator):
    X, y = three()
    stream, first, second = clone(estimator), y == "no", y == "yes"
    with pytest.raises(NotFittedError):
        stream.predict_log_proba(X)
    stream.partial_fit(X[first], y[first])
    assert stream.predict(X).tolist() == ["no"] * len(X)
    assert stream.predict_proba(X).tolist() == [[1.0]] * len(X)
    assert stream.decision_function(X).shape == (len(X), 1)
    stream.partial_fit(X[second], y[second])
    assert stream.decision_function(X).shape == (len(X),)
    stream.partial_fit(X[~first & ~second], y[~first & ~second])
    assert_same_answers(stream, clone(estimator).fit(X, y), X)


@streamed
def test_classes_that_are_given_have_probability_0_until_they_appear(estimator, tmp_path):
    X, y = three()
    first, given = y != "maybe", ["maybe", "no", "yes", "zero"]
    stream = clone(estimator).partial_fit(X[first], y[first], classes=given)
    alone = clone(estimator).partial_fit(X[first], y[first])
    assert stream.classes_.tolist() == given
    assert stream.class_count_.tolist() == [0.0, *alone.class_count_.tolist(), 0.0]
    P = stream.predict_proba(X)
    np.testing.assert_array_equal(P[:, [0, 3]], 0)
    np.testing.assert_allclose(P[:, 1:3], alone.predict_proba(X), rtol=1e-12)
    # BLAS may add up products with more columns, those of unseen classes, in another order
    np.testing.assert_allclose(stream.components_, alone.components_, rtol=1e-12)
    save(stream, tmp_path / "m.narrows")
    assert load(tmp_path / "m.narrows").classes_.tolist() == given
    for each in (stream, alone):
        each.partial_fit(X[~first], y[~first])
    np.testing.assert_allclose(stream.predict_proba(X)[:, :3], alone.predict_proba(X), rtol=1e-12)


@pytest.mark.slow
def test_an_interrupted_calibration_is_made_again():
    X, y = three()
    expected, fitted = SRDA().fit(X, y).predict_proba(X), SRDA().fit(X, y)
    for left in stopped(fitted, lambda fitted: fitted.predict_proba(X), 15):
        np.testing.assert_array_equal(left.predict_proba(X), expected)


def ridge_outputs(X, y, alpha, other):
    """The outputs of ridge regressions of indicators of the classes."""
    m, T = X.mean(axis=0), np.eye(y.max() + 1)[y]
    B = np.linalg.solve((X - m).T @ (X - m) + alpha * np.eye(X.shape[1]), (X - m).T @ T)
    return T.mean(axis=0) + (other - m) @ B


@pytest.mark.parametrize(("c", "k"), [(3, 7), (6, 6), (40, 5)])
def test_regressions_are_computed_in_the_smaller_of_classes_and_coordinates(c, k):
    rng = np.random.default_rng(0)
    y = np.arange(4 * c) % c
    X, alpha = rng.normal(size=(4 * c, k)) + 3 * rng.normal(size=(c, k))[y], 0.7
    d = np.array([X[y == j].mean(axis=0) for j in range(c)]) - X.mean(axis=0)
    within = X - X.mean(axis=0) - d[y]
    coef = len(y) * np.linalg.solve(within.T @ within + alpha * np.eye(k), d.T)
    found, offset = regressions(d, coef, np.full(c, 4.0))
    outputs = ((X - X.mean(axis=0)) @ found + offset) * UNIT
    np.testing.assert_allclose(outputs, ridge_outputs(X, y, alpha, X), rtol=0, atol=1e-12)


def normal_scores(X, y, alpha, other):
    """Log posteriors of normal classes with the covariance within classes and a ridge."""
    M = np.array([X[y == j].mean(axis=0) for j in range(y.max() + 1)])
    S = ((X - M[y]).T @ (X - M[y]) + alpha * np.eye(X.shape[1])) / len(y)
    A = np.linalg.solve(S, M.T)
    return other @ A - 0.5 * np.sum(M.T * A, axis=0) + np.log(np.bincount(y) / len(y))


@pytest.mark.parametrize("solver", ["auto", "lsqr"])
def test_words_are_classified_by_regressions(solver):
    rng = np.random.default_rng(0)  # counts of rare words in eight classes, that share some
    rates = rng.gamma(0.05, 1.0, (8, 600)) + rng.gamma(0.05, 1.0, 600)
    y = rng.integers(8, size=600)
    X = rng.poisson(10 * (rates / rates.sum(axis=1, keepdims=True))[y]).astype(float)
    other, X, y = X[400:], X[:400], y[:400]
    model = SRDA(solver=solver, max_iter=500, tol=1e-14).fit(csr_array(X), y)
    expected = ridge_outputs(X, y, model.alpha_, other)
    scores = solution_of(model).scores(other)  # before held-out samples improve them
    np.testing.assert_array_equal(scores.argmax(axis=1), expected.argmax(axis=1))
    assert_same_but_for_a_factor(scores, expected)
    assert (model.predict(other) == expected.argmax(axis=1)).mean() > 0.95


def test_classes_between_others_are_normal():
    """Four classes along a line: those between others have the largest output nowhere."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=1200)
    X = rng.normal(size=(1200, 5)) * 0.3 + y[:, None] * np.eye(5)[0] * 1.5
    X, y, other, labels = X[:600], y[:600], X[600:], y[600:]
    alpha = SRDA().fit(X, y).alpha_
    model = SRDA(alpha=alpha).fit(X, y)
    assert_same_but_for_a_factor(model.decision_function(X), normal_scores(X, y, alpha, X))
    online = OnlineSRDA(random_state=0).fit(X, y)
    assert online.score(other, labels) > 0.9
    assert log_loss(labels, online.predict_proba(other)) < 0.3


@pytest.mark.filterwarnings("error")
def test_weights_far_apart_are_weights():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 3
    X = rng.normal(size=(40, 4)) + 2 * rng.normal(size=(3, 4))[y]
    for i in range(40):  # a heavy sample is held out by itself
        weight = np.ones(40)
        weight[i] = 1000.0
        assert SRDA().fit(X, y, sample_weight=weight).alpha_scores_.all()
    model = SRDA().fit(X, y, sample_weight=np.where(y == 0, 1e-16, 1.0))
    assert model.score(X[y > 0], y[y > 0]) > 0.9
    X, y = np.repeat([[0.0], [1.0]], [5, 6], axis=0), np.repeat([0, 1], [5, 6])
    assert SRDA().fit(X, y).score(X, y) == 1  # two samples, of the weights 5 and 6


@every
@pytest.mark.parametrize("labels", LABELS)
def test_predictions_are_the_most_probable_classes(estimator, labels):
    X, y = three(labels)
    fitted = clone(estimator).fit(X, y)
    assert fitted.classes_.tolist() == np.unique(y).tolist()
    P, predicted, c = fitted.predict_proba(X), fitted.predict(X), len(fitted.classes_)
    assert P.shape == (len(X), c)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(predicted, fitted.classes_[P.argmax(axis=1)])
    assert predicted.dtype.kind == fitted.classes_.dtype.kind
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), P, atol=1e-12)
    scores = fitted.decision_function(X)
    if c == 2:
        assert scores.shape == (len(X),)
        np.testing.assert_allclose(1 / (1 + np.exp(-scores)), P[:, 1], atol=1e-9)
        scores = fitted.decision_function(X, priors=[0.01, 0.99])
        expected = fitted.predict_proba(X, priors=[0.01, 0.99])[:, 1]
        np.testing.assert_allclose(1 / (1 + np.exp(-scores)), expected, atol=1e-9)
    else:
        np.testing.assert_array_equal(scores.argmax(axis=1), P.argmax(axis=1))
    assert fitted.score(X, y) == accuracy_score(y, predicted)
    few = clone(estimator).set_params(n_components=1).fit(X, y)
    assert_same_answers(few, fitted, X)  # components do not matter for predictions
