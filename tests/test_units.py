"""What the float type of samples, and the units of features, must not change."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from narrows import LDA, PCA, PLS, SRDA, ReducedRank

REAL = {"iris": load_iris, "wine": load_wine, "digits": load_digits, "cancer": load_breast_cancer}
EXACT = {
    "SRDA": SRDA(alpha=0),
    "LDA": LDA(mu=0),
    "LDA gsvd": LDA(solver="gsvd"),
    "LDA pca": LDA(solver="pca"),
    "ReducedRank": ReducedRank(alpha=0),
    "PLS": PLS(2, standardize=True),
}


def in_units(X, seed):
    """X in random units, from 10^-9 to 10^9."""
    return X * 10.0 ** np.random.default_rng(seed).integers(-9, 10, X.shape[1])


@pytest.mark.parametrize("name", list(EXACT)[:4])
@pytest.mark.parametrize("data", REAL)
def test_units_change_no_prediction_without_a_ridge(name, data):
    """And the predictions are those of scikit-learn's LDA, also with constant features (digits)."""
    X, y = REAL[data](return_X_y=True)
    expected = LinearDiscriminantAnalysis(solver="svd").fit(X, y).predict(X)
    method = EXACT[name]
    np.testing.assert_array_equal(method.fit(X, y).predict(X), expected)
    for seed in range(2 if data == "digits" else 5):
        Z = in_units(X, seed)
        np.testing.assert_array_equal(method.fit(Z, y).predict(Z), expected)


def test_units_do_not_make_a_dependent_feature_independent():
    """A feature that is a sum of others, a copy or a constant adds nothing, in any units."""
    X, y = load_wine(return_X_y=True)
    expected = LinearDiscriminantAnalysis().fit(X, y).predict(X)
    X = np.column_stack([X, X[:, 0] + X[:, 1] / 10, X[:, 2], np.full(len(y), 7.0)])
    for seed in range(5):
        Z = in_units(X, seed)
        for method in (SRDA(alpha=0), LDA(mu=0)):
            np.testing.assert_array_equal(method.fit(Z, y).predict(Z), expected)
        assert PCA().fit(Z).components_.shape == (13, 16)


def test_principal_components_of_any_units():
    """Eigenvalues of features in units far apart are what is left by the features before them."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((400, 4)) @ rng.standard_normal((4, 4))
    units = np.array([1.0, 1e9, 1e-9, 1e5])
    found, order = PCA().fit(A * units), np.argsort(-units)
    C = np.cov(A.T, bias=True)[np.ix_(order, order)]
    pivots = np.diag(np.linalg.cholesky(C)) ** 2  # Schur complements
    np.testing.assert_allclose(found.eigenvalues_, pivots * units[order] ** 2, rtol=1e-6)
    np.testing.assert_array_equal(np.abs(found.components_).argmax(axis=1), order)
    np.testing.assert_allclose(found.components_ @ found.components_.T, np.eye(4), atol=1e-12)


WAYS = ["fit", "merge", "subtract"]
UNITS = [10.0 ** np.array(powers) for powers in ([9, -9, 0, 5], [-6, 6, 6, -8], [-3, 1, -9, 9])]


def learned(model, X, y, way):
    """A copy of the model that has learned the samples in one of the WAYS."""
    if way == "fit":
        return clone(model).fit(X, y)
    if way == "subtract":
        more = clone(model).partial_fit(np.vstack([X, 2 * X[:2]]), np.append(y, y[:2]))
        less = clone(model).partial_fit(2 * X[:2], y[:2])
        return clone(model).fit_moments(more.moments_ - less.moments_)
    first, *others = (
        clone(model).partial_fit(X[part], y[part])
        for part in (slice(0, 7), slice(7, 8), slice(8, None))
    )
    return first.merge(*others)


def design(kind):
    """Small integers, as numbers of tables are; with a feature that adds nothing, or few rows."""
    rng = np.random.default_rng(3)
    X, y = rng.integers(-4, 5, (24, 4)).astype(float), np.arange(24) % 3
    X[:, 1] += 2 * y
    if kind != "plain":
        X[:, 3] = {"copy": X[:, 0], "sum": X[:, 0] + X[:, 1], "constant": 3.0, "zeros": 0.0}[kind]
    return X, y


@pytest.mark.parametrize("kind", ["plain", "copy", "sum", "constant", "zeros"])
@pytest.mark.parametrize(
    ("name", "way"),
    [(name, way) for name in EXACT for way in WAYS if way == "fit" or " " not in name],
)  # LDA of all samples at once has only fit
def test_units_change_nothing_in_any_way_to_learn(name, way, kind):
    """The outputs are those of one fit in plain units; all of X may be of any size, too."""
    model, (X, y) = EXACT[name], design(kind)
    expected = outputs(clone(model).fit(X, y), X)
    for unit, size, offset in zip(UNITS, (1, 1e-140, 1e140), (0, 50, 0), strict=True):
        Z = (X + offset) * unit * size
        found = outputs(learned(model, Z, y, way), Z)
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def outputs(model, X):
    """What a model predicts by; scores of classes but for the temperature, which hashes decide."""
    if not hasattr(model, "classes_"):
        return model.predict(X)
    scores = model.decision_function(X)
    scores -= scores.mean(axis=1, keepdims=True)
    return scores / np.abs(scores).max()


@pytest.mark.parametrize("way", WAYS)
def test_few_samples_of_any_units_are_fitted_without_a_ridge(way):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-4, 5, (12, 20)).astype(float), np.arange(12) % 3
    Z, targets = X * 10.0 ** rng.integers(-9, 10, 20), rng.integers(-5, 6, 12).astype(float)
    assert learned(SRDA(alpha=0), Z, y, way).score(Z, y) == 1
    for model in (ReducedRank(alpha=0), PLS(11)):
        found = learned(model, Z, targets, way).predict(Z)
        np.testing.assert_allclose(found, targets, atol=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_pls_finds_the_components_of_features_of_small_units(way):
    """scikit-learn's predictions, also where one feature is 1e8 times as large as the other."""
    rng = np.random.default_rng(0)
    time, rate = 1.6e9 + rng.random(200) * 1e8, rng.random(200)
    X, y = np.column_stack([time, rate]), rate + 0.05 * rng.normal(size=200)
    for p in (1, 2):
        expected = PLSRegression(p, scale=False).fit(X, y).predict(X).ravel()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = learned(PLS(p), X, y, way).predict(X)
        np.testing.assert_allclose(found, expected, atol=1e-6)
