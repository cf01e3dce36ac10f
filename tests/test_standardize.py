"""`standardize=`: the result of StandardScaler in front, from the sums."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from onnxruntime import InferenceSession
from scipy import sparse
from sklearn import decomposition
from sklearn.base import clone, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine, make_circles
from sklearn.preprocessing import StandardScaler

import narrows
from narrows import LDA, MMC, PCA, PLS, SRDA, KernelSRDA, Moments, ReducedRank, Window
from narrows.errors import DataError, ParameterError
from narrows.export import to_onnx
from tests.inside import map_of, pretend
from tests.test_forgery import rewritten

METHODS = [
    SRDA(),
    SRDA(alpha="scale"),
    SRDA(alpha=0.0),
    SRDA(n_components="cv", alpha=2.0),
    SRDA(solver="lsqr", tol=1e-14, max_iter=200),
    LDA(mu=0.0),
    LDA(n_components=6, mu=3.0),
    LDA(solver="pca"),
    LDA(solver="gsvd"),
    MMC(n_components=2, eps=0.1),
    PCA(n_components=5),
    PLS(n_components=3),
    PLS(n_components="cv"),
    ReducedRank(alpha=3.0),
    ReducedRank(n_components="cv", alpha="scale"),
]
STREAMED = [m for m in METHODS if getattr(m, "solver", "auto") in ("auto", "regularized")]
FIXED = [  # what is not chosen by held-out samples
    SRDA(alpha="scale"),
    LDA(mu=1.0),
    MMC(n_components=2, eps=0.1),
    PCA(n_components=4),
    PLS(n_components=3),
    ReducedRank(alpha=3.0),
]
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


def scores_of(model, X):
    """What a model predicts by; not the probabilities, which differ by a temperature."""
    if hasattr(model, "coef_"):
        return model.predict(X)
    if hasattr(model, "predict_log_proba"):
        scores = model.predict_log_proba(X)
        found = scores - scores.mean(axis=1, keepdims=True)
        return found / np.linalg.norm(found)
    Z = model.transform(X)
    return Z - Z.mean(axis=0)


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
        close(a, b, tol) if a.dtype.kind == "f" else np.testing.assert_array_equal(a, b)
        close(scores_of(model, X), scores_of(other, Z), tol)


def assert_alike(a, b, X, tol=1e-8):
    """Two standardised models are the same."""
    size = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    close(a.components_ * size, b.components_ * size, tol)
    close(scores_of(a, X), scores_of(b, X), tol)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_equals_a_scaler_in_front(method, weighted):
    X, y, T, w = units()
    w = w if weighted else None
    scaler = StandardScaler().fit(X, sample_weight=w)
    Z = scaler.transform(X)
    # LSQR amplifies rounding
    tol = 1e-6 if getattr(method, "solver", "") == "lsqr" else 1e-8
    model = fit(method, X, y, T, w, standardize=True)
    assert not model.components_[:, 3].any()
    assert_is(model, fit(method, Z, y, T, w), Z, X, scaler.scale_, tol)


@pytest.mark.parametrize(
    "method", [SRDA(alpha="scale"), LDA(mu=2.0), PCA(n_components=3), PLS(), ReducedRank(alpha=1.0)]
)
def test_fewer_samples_than_features(method):
    X, y, T, w = units(20, 50)
    scaler = StandardScaler().fit(X, sample_weight=w)
    Z = scaler.transform(X)
    model = fit(method, X, y, T, w, standardize=True)
    assert_is(model, fit(method, Z, y, T, w), Z, X, scaler.scale_)
    given = sparse.csr_array(X)  # about 0: fewer digits
    assert_alike(fit(method, given, y, T, w, standardize=True), model, X, 1e-6)


@pytest.mark.parametrize("method", [SRDA(alpha=2.0), LDA(mu=2.0)], ids=repr)
def test_probabilities_without_kept_samples(method):
    """With kept ones, the temperature depends on their order, which is by hashes."""
    X, y, _, w = units()
    scaler = StandardScaler().fit(X, sample_weight=w)
    Z = scaler.transform(X)
    of_X, of_Z = (Moments.of(given, y, w, second="cross") for given in (X, Z))
    model = clone(method).set_params(standardize=True).fit_moments(of_X)
    close(model.predict_proba(X), clone(method).fit_moments(of_Z).predict_proba(Z))


def test_a_weight_that_is_chosen_is_that_of_standardised_samples():
    X, y, _, _ = units()
    Z = StandardScaler().fit_transform(X)
    model = MMC(n_components=2, eps="cv", standardize=True).fit(X, y)
    np.testing.assert_array_equal(model.eps_values_, MMC(eps="cv").fit(Z, y).eps_values_)
    other = MMC(n_components=2, eps=model.eps_).fit(Z, y)
    assert_is(model, other, Z, X, StandardScaler().fit(X).scale_)


@pytest.mark.parametrize("solver", ["pca", "gsvd"])
def test_probabilities_from_all_samples(solver):
    X, y, _, w = units()
    scaler = StandardScaler().fit(X, sample_weight=w)
    Z = scaler.transform(X)
    model = LDA(solver=solver, standardize=True).fit(X, y, w)
    close(model.predict_proba(X), LDA(solver=solver).fit(Z, y, w).predict_proba(Z))


# -- some of the features --------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*FIXED, LDA(solver="gsvd")], ids=repr)
def test_some_features_by_index_name_and_mask(method):
    X, y, T, _ = units()
    X[:, 4:] /= X[:, 4:].std(axis=0)  # what stays as it is
    some = [0, 2, 3]
    front = ColumnTransformer([("s", StandardScaler(), some)], remainder="passthrough")
    order = [*some, *(k for k in range(12) if k not in some)]
    Z = np.empty_like(X)
    Z[:, order] = front.fit_transform(X)
    other, scale = fit(method, Z, y, T), np.ones(12)
    scale[some] = front.named_transformers_["s"].scale_
    table = pd.DataFrame(X, columns=NAMES)
    for given, value in (
        (X, some),
        (X, np.isin(np.arange(12), some)),
        (X, np.isin(np.arange(12), some).tolist()),
        (X, tuple(some)),
        (table, ["c0", "c2", "c3"]),
        (table, ["c2", 0, 3]),
    ):
        model = fit(method, given, y, T, standardize=value)
        assert_is(model, other, Z, given, scale)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            "yes",
            "expected `standardize` to be True, False or a list of names or indices, or a mask,",
        ),
        (2, "expected `standardize` to be True, False or a list"),
        (None, "expected `standardize` to be True, False or a list"),
        ([12], "expected `standardize` to have indices of the 12 features, got 12"),
        ([-1], "expected `standardize` to have indices of the 12 features, got -1"),
        ([1, True], "expected `standardize` to have indices of the 12 features, got True"),
        (["c0"], ".* since they have no names, got 'c0'"),
        ([True, False], "expected a mask of 12 features for standardize, got one of 2"),
    ],
)
@pytest.mark.parametrize("method", [SRDA(), PLS(), KernelSRDA()], ids=repr)
def test_a_wrong_choice_says_so(method, value, said):
    X, y, T, _ = units()
    with pytest.raises(ParameterError, match=said):
        fit(method, X, y, T, standardize=value)


def test_a_wrong_name_has_a_hint():
    X, y, _, _ = units()
    table = pd.DataFrame(X, columns=["age", "income", *NAMES[2:]])
    with pytest.raises(ParameterError, match=r"got 'incom'\. Did you mean income\?"):
        SRDA(standardize=["incom"]).fit(table, y)
    model = SRDA().fit(table, y)
    with pytest.raises(ParameterError, match=r"Did you mean income\?"):
        _ = model.set_params(standardize=["incom"]).components_


# -- sums ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", STREAMED, ids=repr)
def test_batches_merges_and_subtraction_equal_fit(method):
    X, y, T, w = units(400)
    t = T if is_regressor(method) else y
    new = clone(method).set_params(standardize=True)
    one = clone(new).fit(X, t, w)
    stream = clone(new)
    for rows in np.array_split(np.arange(400), 7):
        stream.partial_fit(X[rows], t[rows], w[rows])
    assert_alike(stream, one, X)
    if method.n_components == "cv":
        return  # each part numbers its samples by itself
    parts = [clone(new).fit(X[rows], t[rows], w[rows]) for rows in (slice(150), slice(150, None))]
    assert_alike(parts[0].merge(parts[1]), one, X)
    rest = clone(new).fit_moments(one.moments_ - parts[1].moments_)
    assert_alike(rest, clone(new).fit(X[:150], t[:150], w[:150]), X, 1e-6)


@pytest.mark.parametrize("method", FIXED, ids=repr)
def test_forgetting_equals_weights(method):
    X, y, T, _ = units()
    w = 0.5 ** (np.arange(300)[::-1] / 50)
    faded = fit(method, X, y, T, standardize=True, half_life=50)
    assert_alike(faded, fit(method, X, y, T, w, standardize=True), X)


def test_a_window_standardises_its_own_samples():
    X, y, _, _ = units()
    window = Window(SRDA(alpha="scale", standardize=True), samples=100)
    for rows in np.array_split(np.arange(300), 6):
        window.partial_fit(X[rows], y[rows])
    expected = SRDA(alpha="scale", standardize=True).fit(X[200:], y[200:])
    assert_alike(window.estimator_, expected, X, 1e-6)


@pytest.mark.parametrize("method", FIXED, ids=repr)
def test_the_state_is_the_same_and_solves_in_any_units(method):
    X, y, T, _ = units()
    raw, standardised = fit(method, X, y, T), fit(method, X, y, T, standardize=True)
    mine, other = (model.moments_.to_arrays() for model in (raw, standardised))
    assert mine.keys() == other.keys()
    for name in mine:
        np.testing.assert_array_equal(mine[name], other[name])
    before = raw.components_
    np.testing.assert_array_equal(
        raw.set_params(standardize=True).components_, standardised.components_
    )
    np.testing.assert_array_equal(raw.set_params(standardize=False).components_, before)
    np.testing.assert_array_equal(raw.set_params(standardize=[]).components_, before)


@pytest.mark.parametrize("method", FIXED, ids=repr)
def test_powers_of_two_change_nothing(method):
    X, y, T, _ = units()
    X[:, 3] += np.arange(300) % 2
    X /= X.std(axis=0)
    rng = np.random.default_rng(1)
    model = fit(method, X, y, T, standardize=True)
    for _ in range(3):
        unit = 2.0 ** rng.integers(-40, 41, 12)
        other = fit(method, X * unit, y, T, standardize=True)
        signs = np.sign(np.sum(model.components_ * other.components_ * unit, axis=1))
        found = signs[:, None] * other.components_ * unit
        np.testing.assert_array_equal(found, model.components_)
        if hasattr(model, "predict"):
            np.testing.assert_array_equal(other.predict(X * unit), model.predict(X))


@pytest.mark.parametrize("method", [SRDA(), LDA(), SRDA(n_components="cv")], ids=repr)
def test_powers_of_two_change_no_prediction_of_what_is_chosen(method):
    X, y = load_wine(return_X_y=True)
    unit = 2.0 ** np.random.default_rng(1).integers(-40, 41, 13)
    models = [clone(method).set_params(standardize=True).fit(X * u, y) for u in (1, unit)]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X * unit))


@pytest.mark.parametrize("method", [*FIXED, SRDA()], ids=repr)
def test_float32_is_the_same_numbers(method):
    X, y, T, _ = units()
    X = X.astype(np.float32)
    models = [fit(method, given, y, T, standardize=True) for given in (X, X.astype(float))]
    close(models[0].components_ * X.std(axis=0), models[1].components_ * X.std(axis=0), 1e-10)


def test_pca_is_that_of_the_correlation_matrix():
    X, y, _, _ = units()
    X[:, 3] = y
    correlation = np.corrcoef(X.T)
    values, vectors = np.linalg.eigh(correlation)
    model = PCA(n_components=12, standardize=True).fit(X)
    close(model.eigenvalues_, values[::-1])
    close(np.abs(model.components_ * X.std(axis=0)), np.abs(vectors.T[::-1]))
    other = decomposition.PCA(12).fit(StandardScaler().fit_transform(X))
    close(model.explained_variance_ratio_, other.explained_variance_ratio_)


def test_what_varies_by_rounding_alone_is_constant():
    """Also what a subtraction leaves of a feature that varied only in what is gone."""
    X, y, _, _ = units(400)
    X[:, 3] = 0.1 + 1e-17 * (np.arange(400) % 3)
    X[200:, 5] = 3.0
    both, gone = (Moments.of(X[:n], y[:n], second="cross") for n in (400, 200))
    model = PCA(standardize=True).fit_moments(both - gone)
    expected = PCA(standardize=True).fit(X[200:])
    assert len(expected.components_) == len(model.components_) == 10
    assert not model.components_[:, [3, 5]].any()
    close(model.eigenvalues_, expected.eigenvalues_, 1e-6)


def test_sparse_samples_stay_sparse_and_are_centred_by_the_sums():
    rng = np.random.default_rng(0)
    X = sparse.random_array((500, 40), density=0.1, rng=rng, format="csr") * 3.0
    y = np.asarray(X[:, [0]].todense()).ravel() + rng.random(500) > 0.6
    Z = StandardScaler().fit_transform(X.toarray())
    scale = X.toarray().std(axis=0)
    model = SRDA(alpha="scale", standardize=True).fit(X, y)
    assert_is(model, SRDA(alpha="scale").fit(Z, y), Z, X, scale)


# -- more than 8,192 features ----------------------------------------------------------------------


def wide(n=60, d=9000):
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, d), density=0.02, rng=rng, format="csr")
    X = sparse.csr_array(X * 10.0 ** rng.uniform(-3, 3, d))
    y = np.arange(n) % 3
    return X, y, np.c_[np.asarray(X[:, [0]].todense()), rng.random(n)]


@pytest.mark.slow
@pytest.mark.parametrize("as_dense", [False, True])
@pytest.mark.parametrize(
    "method",
    [
        SRDA(alpha=2.0),
        LDA(mu=2.0),
        MMC(n_components=2),
        PCA(n_components=2),
        PLS(),
        ReducedRank(alpha=1.0),
    ],
    ids=repr,
)
def test_wide_samples_in_memory(method, as_dense):
    X, y, T = wide()
    given = X.toarray() if as_dense else X
    scaler = StandardScaler().fit(X.toarray())
    Z = scaler.transform(X.toarray())
    model = fit(method, given, y, T, standardize=True)
    if isinstance(method, SRDA) and not as_dense:  # dense samples have an exact solution
        method = clone(method).set_params(solver="lsqr", max_iter=200, tol=1e-14)
        model = fit(method, given, y, T, standardize=True)
    assert_is(model, fit(method, Z, y, T), Z, given, scaler.scale_, 1e-6)


# -- the map of KernelSRDA -------------------------------------------------------------------------


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


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("samples", [rings, units])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"kernel": "relu", "alpha": "scale"}, {"gamma": 0.05, "n_components": 1}],
    ids=str,
)
def test_a_map_is_that_behind_a_scaler(parameters, samples, weighted, form):
    X, y, _, w = samples()
    w = w if weighted else None
    Z = StandardScaler().fit(X, sample_weight=w).transform(X)
    for keep in (0, 2000):
        method = kernel(**parameters, keep=keep)
        model = clone(method).set_params(standardize=True).fit(form(X), y, w)
        other = method.fit(Z, y, w)
        if keep:  # held-out samples calibrate, and others are held out
            np.testing.assert_array_equal(model.predict(form(X)), other.predict(Z))
        else:
            assert_kernels_alike(model, form(X), other, Z)


def test_a_map_of_some_features_by_index_name_and_mask():
    X, y, _, _ = units()
    X[:, 4:] /= X[:, 4:].std(axis=0)
    some = [0, 2, 3]
    Z = X.copy()
    Z[:, some] = StandardScaler().fit_transform(X[:, some])
    other, table = kernel().fit(Z, y), pd.DataFrame(X, columns=NAMES)
    for given, value in ((X, some), (X, np.isin(np.arange(12), some)), (table, ["c2", 0, 3])):
        assert_kernels_alike(kernel(standardize=value).fit(given, y), given, other, Z)


@pytest.mark.parametrize("half_life", [None, 60.0])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_first_samples_of_a_stream_give_the_units(form, half_life, monkeypatch):
    pretend(monkeypatch, "maps of few samples")  # 100
    X, y, _, _ = rings()
    X[200:, 2] += np.arange(100)  # constant in the first samples, so that it stays as it is
    X[150:, :2] *= 3
    w = 0.5 ** (np.arange(100)[::-1] / half_life) if half_life else None
    scaler = StandardScaler().fit(X[:100], sample_weight=w)
    assert scaler.scale_[2] == 1
    Z, method = scaler.transform(X), kernel(half_life=half_life)
    other = clone(method).partial_fit(Z, y)
    for cuts in ([], [100], [30, 99, 101], [140, 180, 250]):
        model = clone(method).set_params(standardize=True)
        for rows in np.split(np.arange(300), cuts):
            model.partial_fit(form(X[rows]), y[rows])
        assert_kernels_alike(model, form(X), other, Z)


def test_maps_of_the_same_units_add_up_and_others_do_not():
    X, y, _, w = rings()
    one = kernel(standardize=True).fit(X, y, w)
    parts = [one.emptied().partial_fit(X[k::2], y[k::2], w[k::2]) for k in (0, 1)]
    assert_kernels_alike(parts[0].merge(parts[1]), X, one, X)
    rest = one.emptied().fit_moments(one.moments_ - parts[1].moments_)
    expected = one.emptied().partial_fit(X[::2], y[::2], w[::2])
    assert_kernels_alike(rest, X, expected, X)
    # before there are maps
    parts = [kernel(standardize=True).partial_fit(X[k::2], y[k::2]) for k in (0, 1)]
    whole = kernel(standardize=True).fit(X, y)
    assert_kernels_alike(parts[0].merge(parts[1]), X, whole, X)
    ring = np.round(np.r_[X, -X] / X.std(axis=0).clip(1e-9) * 9)  # whose mean is 0, exactly
    same_but = kernel(standardize=True, gamma=0.1)
    one, other = (clone(same_but).fit(ring * unit, np.r_[y, y]) for unit in (1, 2))
    np.testing.assert_array_equal(map_of(one).centre, map_of(other).centre)
    with pytest.raises(
        ValueError,
        match=r"one map to add up, got two maps\. Each fit decides on its own map\. Fit one, and",
    ):
        one.merge(other)
    with pytest.raises(ValueError, match="standardize=False instead of True"):
        kernel(standardize=True).fit(X, y).merge(kernel().fit(X, y))


def test_a_window_standardises_its_map_by_its_own_samples():
    X, y, _, _ = rings()
    window = Window(kernel(standardize=True), samples=100)
    for rows in np.array_split(np.arange(300), 6):
        window.partial_fit(X[rows] * (1 + rows[0]), y[rows])
    last = X[200:] * (1 + 50 * np.repeat([4, 5], 50))[:, None]
    Z = StandardScaler().fit_transform(last)
    assert_kernels_alike(window.estimator_, last, kernel().fit(Z, y[200:]), Z)


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_a_map_in_single_precision(unit):
    X, y, _, _ = rings()
    X = (X * [unit / X[:, 0].std(), unit / X[:, 1].std(), 0.0]).astype(np.float32)
    models = [kernel(standardize=True).fit(given, y) for given in (X, X.astype(float))]
    assert_kernels_alike(models[0], X.astype(float), models[1], X.astype(float))
    for given in (X, sparse.csr_array(X)):
        close(models[0].transform(given), models[1].transform(X.astype(float)), 1e-4)


@pytest.mark.parametrize("samples", [rings, units])
@pytest.mark.parametrize("value", [True, ["c1"]])
def test_files_and_onnx_have_the_units_of_the_map(samples, value, tmp_path, run):
    X, y, _, _ = samples()
    X = X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0) * 10.0 ** (np.arange(X.shape[1]) % 3)
    table = pd.DataFrame(X, columns=NAMES[: X.shape[1]])
    model = kernel(standardize=value).fit(table, y)
    narrows.save(model, tmp_path / "m.narrows")
    loaded = narrows.load(tmp_path / "m.narrows")
    assert loaded.standardize == value
    assert repr(loaded) == repr(model)
    table.to_csv(tmp_path / "x.csv", index=False)
    assert run("predict m.narrows x.csv -o p.csv --proba")[0] == 0
    expected = model.predict_proba(table)
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "p.csv").to_numpy()[:, :-1], expected)
    after = [m.partial_fit(table[::2], y[::2]).transform(table) for m in (model, loaded)]
    np.testing.assert_array_equal(*after)
    running = InferenceSession(to_onnx(model).SerializeToString())
    names = ["transformed", "probabilities"]
    found = running.run(names, {"X": X.astype(np.float32)})
    close(found[0], model.transform(table), 1e-4)
    close(found[1], model.predict_proba(table), 1e-4)


@pytest.mark.parametrize("scale", [np.zeros(3), np.array([1, -1, 1.0]), np.full(3, np.inf), [1.0]])
def test_units_of_a_damaged_map_are_refused(scale, tmp_path):
    X, y, _, _ = rings()
    narrows.save(kernel(standardize=True).fit(X, y), tmp_path / "m.narrows")
    rewritten(str(tmp_path / "m.narrows"), {"state.map_scale": np.asarray(scale)})
    with pytest.raises(DataError, match=r"m\.narrows: damaged, or .*map_scale"):
        narrows.load(tmp_path / "m.narrows")


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FIXED, ids=repr)
@pytest.mark.parametrize("value", [True, [0, 2], ["c2", "c5"], np.arange(12) > 4])
def test_models_are_saved_with_it(method, value, tmp_path):
    X, y, T, _ = units()
    table = pd.DataFrame(X, columns=NAMES)
    model = fit(method, table, y, T, standardize=value)
    narrows.save(model, tmp_path / "m.narrows")
    loaded = narrows.load(tmp_path / "m.narrows")
    np.testing.assert_array_equal(loaded.standardize, value)
    np.testing.assert_array_equal(loaded.components_, model.components_)
    answers = [m.set_params(standardize=False).transform(table) for m in (model, loaded)]
    np.testing.assert_array_equal(*answers)
    for each in (model, loaded):
        each.set_params(standardize=value)
    t = T if is_regressor(method) else y
    after = [m.partial_fit(table[:50], t[:50]) for m in (model, loaded)]
    np.testing.assert_array_equal(after[0].components_, after[1].components_)


@pytest.mark.parametrize("method", [SRDA(alpha="scale"), PCA(n_components=2)], ids=repr)
def test_onnx(method):
    X, y, T, _ = units()
    X = X / X.std(axis=0).clip(1e-300) * 100 ** (np.arange(12) % 3 - 1.0)
    X[:, 3] = 1.0
    model = fit(method, X, y, T, standardize=True)
    running = InferenceSession(to_onnx(model).SerializeToString())
    found = running.run(["transformed"], {"X": X.astype(np.float32)})[0]
    close(found, model.transform(X), 1e-5)


ROWS = "age,income,label\n" + "".join(
    f"{20 + k % 40},{1000 * (k % 7) + k},{'ab'[k % 40 > 18]}\n" for k in range(80)
)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--standardize all", True),
        ("--standardize income", [1]),
        ("--standardize 1,age", [1, 0]),
        ("--param standardize=true", True),
        ('--param standardize=["income"]', [1]),
    ],
)
def test_the_command_line(run, option, value):
    command = f"fit a.csv --label label --method srda --alpha scale {option} -o m.narrows"
    assert run(command, a__csv=ROWS)[0] == 0
    model = narrows.load("m.narrows")
    assert model.standardize == value
    table = pd.read_csv("a.csv")
    expected = SRDA(alpha="scale", standardize=value).fit(
        table[["age", "income"]].to_numpy(float), table["label"]
    )
    close(model.components_[0], expected.components_[0])
    assert run("predict m.narrows a.csv -o p.csv")[0] == 0


def test_the_command_line_names_a_column_that_is_not_there(run):
    command = "fit a.csv --label label --method srda --standardize incom -o m.narrows"
    status, _, err = run(command, a__csv=ROWS)
    assert status == 2
    assert "expected --standardize to have names" in err
    assert "Did you mean income?" in err
