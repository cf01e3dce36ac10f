"""`standardize=`: the result of StandardScaler in front, from the sums; and units of features."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from onnxruntime import InferenceSession
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.datasets import make_circles
from sklearn.preprocessing import StandardScaler

from narrows import LDA, MMC, PCA, PLS, SRDA, KernelSRDA, ReducedRank
from narrows.export import to_onnx
from tests.inside import pretend

METHODS = [
    SRDA(), SRDA(alpha=0.0), SRDA(n_components="cv", alpha=2.0), LDA(mu=0.0),
    SRDA(solver="lsqr", tol=1e-14, max_iter=200), LDA(n_components=6, mu=3.0), LDA(solver="pca"),
    LDA(solver="gsvd"), PLS(n_components="cv"), ReducedRank(n_components="cv", alpha="scale"),
]  # fmt: skip


FIXED = [  # what is not chosen by held-out samples
    SRDA(alpha="scale"), LDA(mu=1.0), MMC(n_components=2, eps=0.1), PCA(n_components=4),
    PLS(n_components=3), ReducedRank(alpha=3.0),
]  # fmt: skip
NAMES = [f"c{k}" for k in range(12)]

pytestmark = pytest.mark.filterwarnings("ignore:MMC")  # few directions gain margin


def units(n=300, d=12, seed=0):
    """Samples of three classes in random units, of which feature 3 is constant; and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    y = np.digitize(X[:, 0] + X[:, 1] + rng.standard_normal(n), [-1, 1])
    T = X[:, :3] @ rng.standard_normal((3, 2)) + rng.standard_normal((n, 2))
    X = (X + 5 * rng.standard_normal(d)) * 10.0 ** rng.uniform(-6, 6, d)
    X[:, 3] = 7.5
    return X, y, T, rng.uniform(0.1, 3, n)


def fit(method, X, y, T, w=None, **parameters):
    found = clone(method).set_params(**parameters)
    return found.fit(X, T if is_regressor(method) else y, w)


def close(a, b, tol=1e-8):
    a, b = np.asarray(a, float), np.asarray(b, float)
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=0, atol=tol * np.abs(b).max(initial=1e-300))


def assert_is(model, other, Z, X, scale, tol=1e-8):
    """A model of X is another one of Z, which are features of X over their scale."""
    directions = other.components_ / scale
    signs = np.sign(np.sum(model.components_ * directions, axis=1))
    # feature by feature, since their units differ
    close(model.components_ * scale, signs[:, None] * other.components_, tol)
    away = model.transform(X) - signs * other.transform(Z)
    size = np.abs(other.transform(Z)).max()
    assert np.abs(away - away.mean(axis=0)).max() <= tol * size
    for name in ("eigenvalues_", "alpha_", "mu_", "eps_", "explained_variance_ratio_"):
        if hasattr(other, name):
            close(getattr(model, name), getattr(other, name), tol)
    # kept samples that choose the ridge improve the rule; they are in the order of their hashes
    chosen = len(getattr(other, "alphas_", getattr(other, "mus_", ()))) > 0
    if hasattr(other, "predict") and not chosen:
        a, b = model.predict(X), other.predict(Z)
        close(a, b, tol) if is_regressor(other) else np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("method", "shape"),
    [*product(METHODS + FIXED, [(300, 12)]), *product(FIXED, [(20, 50)])],
    ids=str,
)
def test_equals_a_scaler_in_front(method, shape, weighted):
    X, y, T, w = units(*shape)
    w = w if weighted else None
    scaler = StandardScaler().fit(X, sample_weight=w)
    Z = scaler.transform(X)
    # LSQR amplifies rounding
    tol = 1e-6 if getattr(method, "solver", "") == "lsqr" else 1e-8
    model, other = fit(method, X, y, T, w, standardize=True), fit(method, Z, y, T, w)
    assert not model.components_[:, 3].any()
    assert_is(model, other, Z, X, scaler.scale_, tol)
    if getattr(method, "solver", "") in ("pca", "gsvd"):
        close(model.predict_proba(X), other.predict_proba(Z))


@pytest.mark.parametrize("method", [*FIXED, LDA(solver="gsvd")], ids=repr)
def test_some_features_by_index_name_and_mask(method):
    X, y, T, _ = units()
    X[:, 4:] /= X[:, 4:].std(axis=0)  # what stays as it is
    some, scale, Z = [0, 2, 3], np.ones(12), X.copy()
    scaler = StandardScaler().fit(X[:, some])
    Z[:, some], scale[some] = scaler.transform(X[:, some]), scaler.scale_
    other, table = fit(method, Z, y, T), pd.DataFrame(X, columns=NAMES)
    mask = np.isin(np.arange(12), some)
    for given, value in ((X, some), (X, mask), (X, mask.tolist()), (table, ["c2", 0, "c3"])):
        model = fit(method, given, y, T, standardize=value)
        assert_is(model, other, Z, given, scale)


def wide(n=60, d=9000):
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, d), density=0.02, rng=rng, format="csr")
    X = sparse.csr_array(X * 10.0 ** rng.uniform(-3, 3, d))
    y = np.arange(n) % 3
    return X, y, np.c_[np.asarray(X[:, [0]].todense()), rng.random(n)]


@pytest.mark.slow
@pytest.mark.parametrize("as_dense", [False, True])
@pytest.mark.parametrize("method", FIXED, ids=repr)
def test_wide_samples_in_memory(method, as_dense):
    X, y, T = wide()
    scaler = StandardScaler().fit(X.toarray())
    Z, given = scaler.transform(X.toarray()), X.toarray() if as_dense else X
    if isinstance(method, SRDA) and not as_dense:  # dense samples have an exact solution
        method = clone(method).set_params(solver="lsqr", max_iter=200, tol=1e-14)
    model = fit(method, given, y, T, standardize=True)
    assert_is(model, fit(method, Z, y, T), Z, given, scaler.scale_, 1e-6)


def rings(n=300, seed=0):
    """Classes that no line separates, in random units, beside a constant feature; and weights."""
    X, y = make_circles(n, noise=0.15, factor=0.5, random_state=seed)
    rng = np.random.default_rng(seed)
    X = (X + np.array([2.0, -3.0])) * 10.0 ** np.array([-5, 4])
    return np.c_[X, np.full(n, 7.5)], y, None, rng.uniform(0.1, 3, n)


def kernel(**parameters):
    return KernelSRDA(**{"n_hidden": 30, "alpha": 0.5, "keep": 0, **parameters})


def assert_kernels_alike(a, X, b, Z, tol=1e-8):
    """A model of X is another one of Z, but for signs and a constant row."""
    found, expected = a.transform(X), b.transform(Z)
    away = found - np.sign((found * expected).sum(axis=0)) * expected
    assert np.abs(away - away.mean(axis=0)).max() <= tol * np.abs(expected).max()
    for name in ("eigenvalues_", "alpha_", "gamma_", "class_count_"):
        close(getattr(a, name), getattr(b, name), tol)
    np.testing.assert_array_equal(a.predict(X), b.predict(Z))
    close(a.predict_log_proba(X), b.predict_log_proba(Z), tol)


@pytest.mark.parametrize("half_life", [None, 60.0])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_first_samples_of_a_stream_give_the_units(form, half_life, monkeypatch):
    pretend(monkeypatch, "maps of few samples")  # 100
    X, y, _, _ = rings()
    X[200:, 2] += np.arange(100)  # constant in the first samples, so that it stays as it is
    X[150:, :2] *= 3
    w = 0.5 ** (np.arange(100)[::-1] / half_life) if half_life else None
    Z = StandardScaler().fit(X[:100], sample_weight=w).transform(X)
    method = kernel(half_life=half_life)
    other = clone(method).partial_fit(Z, y)
    for cuts in ([], [100], [30, 99, 101], [140, 180, 250]):
        model = clone(method).set_params(standardize=True)
        for rows in np.split(np.arange(300), cuts):
            model.partial_fit(form(X[rows]), y[rows])
        assert_kernels_alike(model, form(X), other, Z)


@pytest.mark.parametrize("method", [SRDA(alpha="scale"), kernel(), kernel(kernel="relu")], ids=repr)
def test_onnx(method):
    X, y, T, _ = units()
    X = X / X.std(axis=0).clip(1e-9) * 10.0 ** (np.arange(12) % 3)
    X[:, 3] = 1.0
    model = fit(method, X, y, T, standardize=True)
    running = InferenceSession(to_onnx(model).SerializeToString())
    found = running.run(["transformed"], {"X": X.astype(np.float32)})[0]
    close(found, model.transform(X), 1e-4 if isinstance(method, KernelSRDA) else 1e-5)


EXACT = {
    "SRDA": SRDA(alpha=0),
    "LDA": LDA(mu=0),
    "LDA gsvd": LDA(solver="gsvd"),
    "LDA pca": LDA(solver="pca"),
    "ReducedRank": ReducedRank(alpha=0),
    "PLS": PLS(2, standardize=True),
}


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
