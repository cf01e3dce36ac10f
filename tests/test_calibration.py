"""Probabilities that kept samples calibrate: intercepts, and a multinomial rule."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from narrows import LDA, SRDA, KernelSRDA, OnlineSRDA
from tests.inside import calibration

MODELS = [SRDA(), LDA(), KernelSRDA(n_hidden=50), OnlineSRDA(random_state=0), SRDA(alpha=1.0)]
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


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_the_most_probable_class_is_predicted(model, load):
    X, y = load(return_X_y=True)
    model.fit(X[::2], y[::2])
    P, decided = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(softmax(decided, axis=1), P, atol=1e-12)
    if hasattr(model, "coef_"):
        away = X @ model.coef_.T + model.intercept_ - decided  # the same for all classes
        np.testing.assert_allclose(away, np.broadcast_to(away[:, :1], away.shape), atol=1e-8)


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
