"""KernelSRDA: its map, its solution, its choices and its states, against plain NumPy."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.exceptions import NotFittedError

import narrows
from narrows import KernelSRDA
from narrows.errors import DataError, ParameterError
from tests.cases import assert_same, bytes_of
from tests.conftest import slow
from tests.inside import RandomFeatures, map_of
from tests.oracles import kernel as oracle
from tests.oracles.hashes import hashes
from tests.test_forgery import rewritten

KERNELS = ("rbf", "relu")


def circles(n=300, seed=0, noise=0.15):
    """Two classes that no line separates."""
    return make_circles(n, noise=noise, factor=0.5, random_state=seed)


def blobs(n=300, seed=0, c=3, d=4):
    """Normal classes, which lines separate best."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, c, n)
    return rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(c, d))[y], y


def small(**parameters):
    return KernelSRDA(**{"n_hidden": 30, **parameters})


def same(a, b, X, rtol=1e-9):
    """Two models give the same directions and probabilities, and classify alike."""
    assert_same(a, b, rtol=rtol)
    assert a.alpha_ == pytest.approx(b.alpha_, rel=rtol)
    for verb in ("transform", "predict_proba"):
        found, expected = getattr(a, verb)(X), getattr(b, verb)(X)
        scale = np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(found, expected, atol=10 * rtol * scale, rtol=0)


@pytest.mark.parametrize("m", [1, 2, 7, 40])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_coordinates_are_those_of_the_formula(m, kernel, form):
    rng = np.random.default_rng(0)
    X, centre = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < 0.6), rng.normal(size=6)
    map = RandomFeatures(11, kernel, m, 0.3, centre)
    expected = oracle.coordinates(X, 11, kernel, m, 0.3, centre)
    V = rng.normal(size=(m + 6, 2))
    np.testing.assert_allclose(map.coordinates(form(X)), expected, atol=1e-13)
    np.testing.assert_allclose(map.times(form(X), V), expected @ V, atol=1e-12)
    single = map.coordinates(form(X.astype(np.float32)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=3e-6)


def explicit(model, X):
    """The coordinates that a model has to have used."""
    map = map_of(model) or map_of(copy.deepcopy(model).emptied())
    return oracle.coordinates(X, map.seed, map.kernel, map.n_hidden, map.gamma, map.centre)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("data", "alpha", "weighted"),
    [(circles, "cv", False), (blobs, "cv", True), (circles, "scale", True), (blobs, 0.5, True)],
)
def test_directions_are_discriminants_of_coordinates(kernel, data, alpha, weighted):
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    model = small(kernel=kernel, alpha=alpha).fit(X, y, weight)
    Z = explicit(model, X)
    W, eigenvalues = oracle.discriminants(Z, y, model.alpha_, weight)
    near = {"rtol": 0, "atol": 1e-6 * np.abs(W).max() if alpha == "cv" else 1e-9}
    np.testing.assert_allclose(model.eigenvalues_, eigenvalues, rtol=1e-7)
    np.testing.assert_allclose(model.components_, W.T, **near)
    other = X[::-1] * 1.1 + 0.1
    of = explicit(model, other) - np.average(Z, axis=0, weights=weight)
    near["atol"] *= 10
    np.testing.assert_allclose(model.transform(other), of @ W, **near)
    if alpha == "cv":  # held-out samples improve the classifier
        model = clone(model).set_params(alpha=model.alpha_).fit(X, y, weight)
    posterior = oracle.log_posterior(Z, y, model.alpha_, explicit(model, other), weight)
    np.testing.assert_array_equal(model.predict(other), posterior.argmax(axis=1))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("data", [circles, slow(blobs), slow(lambda: circles(noise=0.4))])
def test_the_ridge_is_that_of_fits_without_the_held_out_samples(kernel, data):
    X, y = data()
    model = small(kernel=kernel).fit(X, y)
    map = map_of(model)
    order = np.argsort(hashes(X))
    np.testing.assert_array_equal(model.moments_.samples.X, X[order])
    curved = oracle.coordinates(X, map.seed, kernel, 30, map.gamma, map.centre)
    unit = curved.var(axis=0).sum()
    alphas = unit * oracle.GRID
    each = oracle.curve(curved, y, order, alphas, curved.shape[1])
    best = oracle.chosen(each, alphas, unit)
    np.testing.assert_allclose(model.alphas_, alphas, rtol=1e-9)
    np.testing.assert_allclose(model.alpha_scores_, each.mean(axis=1), rtol=1e-5)
    errors = each.std(axis=1) / np.sqrt(len(order))
    np.testing.assert_allclose(model.alpha_errors_, errors, rtol=1e-3)
    assert model.alpha_ == pytest.approx(alphas[best], rel=1e-9)


def test_probabilities_are_calibrated_by_held_out_samples():
    X, y = circles(noise=0.4)
    model = small(alpha=0.5).fit(X, y)
    Z, order = explicit(model, X), np.argsort(hashes(X))
    posteriors, codes = [], []
    for some in oracle.parts(len(y), len(y), Z.shape[1]):
        held = order[list(some)]
        rest = np.setdiff1d(np.arange(len(y)), held)
        posteriors.append(oracle.log_posterior(Z[rest], y[rest], 0.5, Z[held]))
        codes.append(y[held])
    t = oracle.calibrated(np.vstack(posteriors), np.concatenate(codes), np.ones(len(y)), 5.0)[1]
    posterior = oracle.log_posterior(Z, y, 0.5, Z) / t
    expected = np.exp(posterior) / np.exp(posterior).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


def test_a_map_is_made_of_a_thousand_samples():
    X, y = blobs(1200, d=2)
    for first in (999, 1000, 1001):
        model = small(n_hidden=5, alpha=1.0).partial_fit(X[:first], y[:first])
        assert (map_of(model) is not None) == (first >= 1000)
        model.partial_fit(X[first:], y[first:])
        np.testing.assert_allclose(map_of(model).centre, X[:1000].mean(axis=0), atol=1e-12)
    one, other = (small(n_hidden=5).partial_fit(X[i::2], y[i::2]) for i in (0, 1))
    assert map_of(one.merge(other)) is not None


@pytest.mark.slow
def test_two_fits_have_two_maps():
    X, y = circles()
    a, b = small().fit(X, y), small().fit(X[:200], y[:200])
    before = bytes_of(a)
    with pytest.raises(ValueError, match=r"^expected moments with one map .* emptied\(\)"):
        a.merge(b)
    assert bytes_of(a) == before
    # samples without a map yet take that of the others, in any order
    few = small().partial_fit(X[200:], y[200:])
    one, two = copy.deepcopy(b).merge(few), copy.deepcopy(few).merge(b)
    same(one, two, X)
    same(one, copy.deepcopy(b).partial_fit(X[200:], y[200:]), X)
    gone = b.emptied().partial_fit(X[200:], y[200:])
    same(b.emptied().fit_moments(one.moments_ - gone.moments_), b, X)


def test_emptied_before_and_after_the_map():
    X, y = circles()
    with pytest.raises(NotFittedError):
        small().emptied()
    with pytest.raises(ParameterError, match=r"^expected a model that has learned samp"):
        small().partial_fit(X[:0], y[:0]).emptied()
    stream = small().partial_fit(X[:80], y[:80])
    empty = stream.emptied()
    assert (empty.n_samples_seen_, empty.classes_.tolist()) == (0, [])
    assert not empty.components_.any()
    empty.partial_fit(X[80:], y[80:])
    stream.partial_fit(X[80:], y[80:])
    same(empty.merge(stream.emptied().partial_fit(X[:80], y[:80])), stream, X)


def test_an_offset_changes_nothing():
    X, y = circles()
    X = np.round(X * 2**20) / 2**20
    near, far = small(alpha="scale").fit(X, y), small(alpha="scale").fit(X + 1e8, y)
    np.testing.assert_allclose(far.transform(X + 1e8), near.transform(X), atol=1e-5)
    np.testing.assert_array_equal(far.predict(X + 1e8), near.predict(X))


FORGED = [
    ("map_seed", np.array(7)), ("map_kernel", np.array(2)), ("map_hidden", np.array(31)),
    ("map_gamma", np.array(np.inf)), ("map_centre", np.zeros(3)), ("kept_width", np.array(32)),
    ("kept_rows", np.zeros((120, 3))), ("kept_when", np.full(120, -1)), ("kept", np.array(0)),
    *(("map_scale", np.array(scale)) for scale in ([0.0, 0], [1, -1.0], [np.inf, np.inf], [1.0])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), FORGED)
def test_a_file_that_does_not_fit_is_refused(tmp_path, name, value):
    X, y = circles(120)
    path = str(tmp_path / "m.narrows")
    narrows.save(small(standardize=True).fit(X, y), path)
    rewritten(path, {f"state.{name}": value})
    with pytest.raises(DataError, match=r"m\.narrows: damaged, or .*(map|kept|d = )"):
        narrows.load(path)


def test_classes_of_one_sample_without_a_ridge_give_numbers():
    X, _ = circles(60)
    model = small(alpha=0.0).fit(X[:9], np.arange(9))
    for found in (model.components_, model.transform(X), model.predict_proba(X)):
        assert np.isfinite(found).all()
