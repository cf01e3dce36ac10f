"""KernelSRDA: its map, its solution, its choices and its states, against plain NumPy."""

from __future__ import annotations

import copy
import hashlib
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_circles
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

import narrows
from narrows import SRDA, KernelSRDA, Moments, Window
from narrows.errors import DataError, ParameterError, RangeError
from tests.cases import assert_same, bytes_of, labelled
from tests.conftest import slow
from tests.inside import RandomFeatures, map_of, pretend
from tests.oracles import kernel as oracle
from tests.oracles.hashes import hashes
from tests.solvers import by_time
from tests.test_cross import real
from tests.test_forgery import rewritten
from tests.test_papers import uci
from tests.traced import stopped

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


# -- the map ---------------------------------------------------------------------------------------


GOLDEN_SUMS = [383304, 287717]
GOLDEN_RBF, GOLDEN_RELU = "9ef9e25f001800f7", "ff9c24e22e36d84f"


def test_weights_are_sums_of_integers_of_a_fixed_generator():
    raw = np.random.PCG64(3)
    bits = raw.random_raw(6).tolist()
    sums = [sum((b >> s) & 0xFFFF for b in bits[i : i + 3] for s in (0, 16, 32, 48))
            for i in (0, 3)]  # fmt: skip
    assert sums == GOLDEN_SUMS
    expected = (np.array(sums) - 6 * 65535) / 65536
    W, _ = oracle.weights(3, "rbf", 4, 5)
    np.testing.assert_array_equal(W[0], expected)
    assert hashlib.sha256((0.5 * W).astype("<f8").tobytes()).hexdigest()[:16] == GOLDEN_RBF
    W, shift = oracle.weights(3, "relu", 4, 5)
    np.testing.assert_array_equal(shift[:2], expected)
    assert hashlib.sha256(W.astype("<f8").tobytes()).hexdigest()[:16] == GOLDEN_RELU
    for kernel in KERNELS:  # and the map has these
        found = RandomFeatures(3, kernel, 4, 0.5, np.zeros(5)).coordinates(np.eye(5))
        expected = oracle.coordinates(np.eye(5), 3, kernel, 4, 0.5, np.zeros(5))
        np.testing.assert_allclose(found, expected, rtol=0, atol=4e-16)


def test_weights_are_nearly_normal():
    Z = RandomFeatures(0, "rbf", 8000, 0.5, np.zeros(50)).coordinates(np.eye(50) / 4)
    W = 4 * np.arctan2(Z[:, 4000:8000], Z[:, :4000])  # of the sine and the cosine of w'x
    assert abs(W.mean()) < 0.01
    assert W.std() == pytest.approx(1, abs=0.01)
    assert (W**4).mean() == pytest.approx(3 - 0.1, abs=0.05)  # of twelve uniform numbers


@pytest.mark.parametrize("m", [1, 2, 7, 40])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_coordinates_are_those_of_the_formula(m, kernel, form):
    rng = np.random.default_rng(0)
    X, centre = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < 0.6), rng.normal(size=6)
    map = RandomFeatures(11, kernel, m, 0.3, centre)
    expected = oracle.coordinates(X, 11, kernel, m, 0.3, centre)
    np.testing.assert_allclose(map.coordinates(form(X)), expected, atol=1e-13)
    V = rng.normal(size=(m + 6, 2))
    np.testing.assert_allclose(map.times(form(X), V), expected @ V, atol=1e-12)
    single = map.coordinates(form(X.astype(np.float32)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=3e-6)
    assert map.coordinates(form(X[:0])).shape == (0, m + 6)


def test_inner_products_tend_to_the_kernel():
    X = np.random.default_rng(0).normal(size=(40, 5))
    distance = ((X[:, None] - X) ** 2).sum(axis=2)
    for m, near in ((200, 0.3), (8000, 0.05)):
        H = RandomFeatures(1, "rbf", m, 0.2, X.mean(axis=0)).coordinates(X)[:, :m]
        np.testing.assert_allclose(H @ H.T, np.exp(-0.2 * distance), atol=near)


def test_the_map_of_a_fit_is_that_of_its_definition():
    X, y = circles()
    fitted = small(random_state=5).fit(X, y)
    map = map_of(fitted)
    assert (map.seed, map.n_hidden, map.kernel) == (5, 30, "rbf")
    np.testing.assert_allclose(map.centre, X.mean(axis=0), atol=1e-14)
    assert fitted.gamma_ == pytest.approx(0.15 / X.var(axis=0).sum(), rel=1e-12)
    assert small(gamma=0.7).fit(X, y).gamma_ == 0.7


def test_wide_blocks_are_mapped_a_few_at_a_time(monkeypatch):
    X, y = circles()
    expected = small(alpha=0.5).fit(X, y)
    pretend(monkeypatch, "blocks of random features", 7)
    same(small(alpha=0.5).fit(X, y), expected, X)


# -- the solution ----------------------------------------------------------------------------------


def explicit(model, X):
    """The coordinates that a model has to have used."""
    map = map_of(model) or map_of(copy.deepcopy(model).emptied())
    return oracle.coordinates(X, map.seed, map.kernel, map.n_hidden, map.gamma, map.centre)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("data", [circles, blobs])
@pytest.mark.parametrize("alpha", ["cv", "scale", 0.5])
@pytest.mark.parametrize("weighted", [False, True])
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
    mean = np.average(Z, axis=0, weights=weight)
    of = explicit(model, other) - mean
    near["atol"] *= 10
    np.testing.assert_allclose(model.transform(other), of @ W, **near)
    if alpha == "cv":  # held-out samples improve the classifier
        model = clone(model).set_params(alpha=model.alpha_).fit(X, y, weight)
    posterior = oracle.log_posterior(Z, y, model.alpha_, explicit(model, other), weight)
    np.testing.assert_array_equal(model.predict(other), posterior.argmax(axis=1))
    decided = model.decision_function(other)
    posterior -= posterior.mean(axis=1, keepdims=True)
    decided = np.column_stack([-decided / 2, decided / 2]) if decided.ndim == 1 else decided
    decided = decided - decided.mean(axis=1, keepdims=True)
    scale = np.vdot(decided, posterior) / np.vdot(posterior, posterior)
    np.testing.assert_allclose(decided, scale * posterior, atol=1e-6 * np.abs(decided).max())
    if alpha == "scale":
        unit = np.average(((Z - np.average(Z, axis=0, weights=weight)) ** 2).sum(axis=1),
                          weights=weight)  # fmt: skip
        assert model.alpha_ == pytest.approx(unit, rel=1e-10)


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


@pytest.mark.slow
def test_fewer_samples_than_coordinates_are_compared_as_by_explicit_fits():
    rng = np.random.default_rng(0)
    grid = np.array(list(itertools.product(range(1, 6), repeat=4)), dtype=float)
    X = rng.permutation(grid)[:400]
    y = np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]).astype(int) + 1
    model = KernelSRDA(n_hidden=600).fit(X, y)
    map, order = map_of(model), np.argsort(hashes(X))
    Z = oracle.coordinates(X, map.seed, "rbf", 600, map.gamma, map.centre)
    each = oracle.curve(Z, y, order, model.alphas_[4:], 399)
    np.testing.assert_allclose(model.alpha_scores_[4:], each.mean(axis=1), atol=1e-3)


@pytest.mark.nightly
def test_many_coordinates_hold_out_one_part_of_a_thousand_samples():
    X, y = circles(1300, noise=0.4)
    model = KernelSRDA(n_hidden=1000).fit(X, y)
    Z, order = explicit(model, X), np.argsort(hashes(X))
    assert model.alphas_[7] == pytest.approx(Z.var(axis=0).sum(), rel=1e-9)
    each = oracle.curve(Z, y, order[:1000], model.alphas_[3::3], 1002)
    assert each.shape == (3, 325)
    np.testing.assert_allclose(model.alpha_scores_[3::3], each.mean(axis=1), rtol=1e-5)


# -- streams, merging and subtraction --------------------------------------------------------------


@pytest.mark.slow
def test_shards_in_any_order_are_one_fit():
    X, y = circles(600)
    fitted, rng = small(alpha="cv").fit(X, y), np.random.default_rng(0)
    for order in (np.arange(600), np.argsort(y, kind="stable"), rng.permutation(600)):
        shards = [fitted.emptied().partial_fit(X[rows], y[rows])
                  for rows in np.array_split(order, 20)]  # fmt: skip
        first, *others = (shards[k] for k in rng.permutation(20))
        same(first.merge(*others), fitted, X)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_what_is_subtracted_was_never_learned(kernel, form):
    X, y = blobs(400, c=4)
    y[200:] = np.where(y[200:] == 3, 4, y[200:])  # a class that goes
    fitted = small(kernel=kernel, n_hidden=9, alpha=0.3).fit(form(X), y)
    gone = fitted.emptied().partial_fit(form(X[200:]), y[200:])
    left = fitted.emptied().fit_moments(fitted.moments_ - gone.moments_)
    same(left, fitted.emptied().partial_fit(form(X[:200]), y[:200]), X)
    assert left.classes_.tolist() == [0, 1, 2, 3]
    # and before there is a map
    whole = small(alpha=0.3).partial_fit(X, y)
    part = small(alpha=0.3).partial_fit(X[200:], y[200:])
    assert isinstance(whole.moments_, Moments)
    same(
        small(alpha=0.3).fit_moments(whole.moments_ - part.moments_),
        small(alpha=0.3).fit(X[:200], y[:200]),
        X,
    )


def in_chunks(model, cuts, *arrays):
    for i, j in itertools.pairwise([0, *cuts, arrays[0].shape[0]]):
        model.partial_fit(*(a[i:j] for a in arrays))
    return model


@pytest.fixture
def soon(monkeypatch):
    """Let streams make their maps of 100 samples."""
    pretend(monkeypatch, "maps of few samples")


@pytest.mark.nightly
@pytest.mark.parametrize("half_life", [None, 60.0])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_chunks_do_not_matter_where_the_map_is_made(soon, half_life, form):
    X, y = circles(140)
    X, weight = form(X), np.random.default_rng(0).integers(0, 3, 140).astype(float)
    model = small(half_life=half_life, alpha=0.2)
    expected = in_chunks(clone(model), [], X.toarray() if sparse.issparse(X) else X, y, weight)
    assert map_of(expected) is not None
    first = clone(model).partial_fit(X[:100], y[:100], weight[:100])
    np.testing.assert_allclose(map_of(expected).centre, map_of(first).centre, atol=1e-12)
    for cuts in ([99], [100], [101], [30, 99, 100], [99, 101], [0, 0, 120], range(80, 140)):
        found = in_chunks(clone(model), cuts, X, y, weight)
        assert (found.n_samples_seen_, (map_of(found) is not None)) == (140, True)
        same(found, expected, X, rtol=1e-8)


def test_a_map_is_made_of_a_thousand_samples():
    X, y = blobs(1200, d=2)
    for first in (999, 1000, 1001):
        model = small(n_hidden=5, alpha=1.0).partial_fit(X[:first], y[:first])
        assert (map_of(model) is not None) == (first >= 1000)
        model.partial_fit(X[first:], y[first:])
        np.testing.assert_allclose(map_of(model).centre, X[:1000].mean(axis=0), atol=1e-12)
    whole = small(n_hidden=5, alpha=1.0).fit(X, y)
    np.testing.assert_allclose(map_of(whole).centre, X.mean(axis=0), atol=1e-12)
    merged = [small(n_hidden=5).partial_fit(X[i::2], y[i::2]) for i in (0, 1)]
    assert map_of(merged[0].merge(merged[1])) is not None


def test_few_samples_of_several_labels_come_in_their_order(soon):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(150, 3)), rng.integers(0, 2, (150, 3))
    streams = [in_chunks(small(alpha=0.5), cuts, X, Y) for cuts in ([], [70], [100], [120])]
    for found in streams:
        same(found, streams[0], X)
        assert (found.n_samples_seen_, found.class_count_.sum()) == (150, Y.sum())
        times = found.moments_.samples
        labels = {X[i].tobytes(): i for i in range(150)}
        assert [labels[x.tobytes()] for x in times.X] == times.when.tolist()


def test_classes_may_come_late():
    X, y = blobs(300, c=4)
    few = y < 2
    model = small(alpha=0.5).fit(X[few], y[few])
    map = map_of(model)
    model.partial_fit(X[~few], y[~few])
    assert map_of(model) is map
    assert model.classes_.tolist() == [0, 1, 2, 3]
    W, eigenvalues = oracle.discriminants(explicit(model, X), y, 0.5)
    np.testing.assert_allclose(model.components_, W.T, atol=1e-9)
    np.testing.assert_allclose(model.eigenvalues_, eigenvalues, rtol=1e-9)


def test_classes_that_are_announced_stay(soon):
    X, y = circles(160)
    announced = small().partial_fit(X[:60], y[:60], classes=[0, 1, 7])
    announced.partial_fit(X[60:120], y[60:120]).partial_fit(X[120:], list(y[120:]))
    assert map_of(announced) is not None
    assert announced.classes_.tolist() == [0, 1, 7]
    assert not announced.predict_proba(X)[:, 2].any()
    with pytest.raises(ValueError, match="among the given classes"):
        announced.partial_fit(X, y, classes=[0, 2])


def test_several_labels_are_several_samples():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(90, 3)), rng.integers(0, 2, (90, 3))
    row, label = np.nonzero(Y)
    for Y_ in (Y, sparse.csr_array(Y)):
        model = small(alpha=0.5).fit(X, Y_)
        same_as = small(alpha=0.5).fit(X[row], label)
        np.testing.assert_allclose(model.components_, same_as.components_, atol=1e-9)


def test_half_life_is_a_weight_behind_the_map(soon):
    X, y = circles(160)
    weight = 0.5 ** (np.arange(160)[::-1] / 40)
    model = in_chunks(small(half_life=40, alpha=0.01), [90, 130], X, y)
    Z = explicit(model, X)
    W, eigenvalues = oracle.discriminants(Z, y, 0.01, weight)
    np.testing.assert_allclose(model.eigenvalues_, eigenvalues, rtol=1e-7)
    np.testing.assert_allclose(model.components_, W.T, atol=1e-6)
    centre = np.average(X[:100], axis=0, weights=weight[:100])
    np.testing.assert_allclose(map_of(model).centre, centre, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("samples", [45, 150])
@pytest.mark.parametrize("parameters", [{}, {"kernel": "relu", "alpha": 0.5}], ids=str)
def test_a_window_is_a_fit_to_the_last_samples(samples, parameters):
    X, y = circles(290)
    window = Window(small(**parameters), samples=samples)
    for start in range(0, 290, 23):
        window.partial_fit(X[start : start + 23], y[start : start + 23])
    last = small(**parameters).fit(X[-samples:], y[-samples:])
    for found in (window, Window(small(**parameters), samples=samples).fit(X, y)):
        same(found.estimator_, last, X, rtol=1e-7)
        stats = found.estimator_.moments_
        np.testing.assert_array_equal(
            np.argsort(stats.samples.when),
            np.argsort(last.moments_.samples.when),
        )
    assert vars(window.estimator) == vars(small(**parameters))


@pytest.mark.slow
def test_two_fits_have_two_maps():
    X, y = circles()
    a, b = small().fit(X, y), small().fit(X[:200], y[:200])
    before = a.components_.copy()
    with pytest.raises(ValueError, match=r"^expected moments with one map .* emptied\(\)"):
        a.merge(b)
    np.testing.assert_array_equal(a.components_, before)
    # samples without a map yet take that of the others, in any order
    few = small().partial_fit(X[200:], y[200:])
    one, two = copy.deepcopy(b).merge(few), copy.deepcopy(few).merge(b)
    same(one, two, X)
    same(one, copy.deepcopy(b).partial_fit(X[200:], y[200:]), X)
    same(small().merge(a), a, X)


def test_emptied_before_and_after_the_map():
    X, y = circles()
    with pytest.raises(NotFittedError):
        small().emptied()
    with pytest.raises(ParameterError, match=r"^expected a model that has learned samp"):
        small().partial_fit(X[:0], y[:0]).emptied()
    stream = small().partial_fit(X[:80], y[:80])
    empty = stream.emptied()
    assert map_of(stream) is not None  # it stays as it is from now on
    assert (empty.n_samples_seen_, empty.classes_.tolist()) == (0, [])
    assert not empty.components_.any()
    empty.partial_fit(X[80:], y[80:])
    stream.partial_fit(X[80:], y[80:])
    same(empty.merge(small().merge(stream.emptied().partial_fit(X[:80], y[:80]))), stream, X)


# -- forms and types -------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("alpha", ["cv", 0.5])
def test_sparse_samples_are_dense_ones(kernel, alpha):
    X, y = labelled(200, sparse=True)
    models = [
        small(kernel=kernel, alpha=alpha).fit(form(X), y) for form in (np.asarray, sparse.csr_array)
    ]
    same(*models, X)
    for model in models:
        np.testing.assert_allclose(
            model.transform(sparse.csr_array(X)), model.transform(X), atol=1e-12
        )


def test_single_precision_stays():
    X, y = circles()
    for model in (
        small().fit(X.astype(np.float32), y),
        small(alpha=0.5).fit(X.astype(np.float32), y),
    ):
        assert model.transform(X.astype(np.float32)).dtype == np.float32
        assert model.transform(X).dtype == np.float64
        expected = model.transform(X.astype(np.float32).astype(float))
        np.testing.assert_allclose(model.transform(X.astype(np.float32)), expected, atol=1e-3)


def test_an_offset_changes_nothing():
    X, y = circles()
    X = np.round(X * 2**20) / 2**20
    near, far = small(alpha="scale").fit(X, y), small(alpha="scale").fit(X + 1e8, y)
    np.testing.assert_allclose(far.transform(X + 1e8), near.transform(X), atol=1e-5)
    np.testing.assert_array_equal(far.predict(X + 1e8), near.predict(X))


@pytest.mark.parametrize("state", ["gathered", "mapped", "emptied"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.slow
def test_a_copy_goes_on_to_the_bit(tmp_path, state, kernel):
    X, y = circles(200)
    model = small(kernel=kernel)
    model = (
        model.partial_fit(X[:120], y[:120]) if state == "gathered" else model.fit(X[:120], y[:120])
    )
    model = model.emptied() if state == "emptied" else model
    narrows.save(model, tmp_path / "m.narrows")
    copies = [
        narrows.load(tmp_path / "m.narrows"),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ]
    model.partial_fit(X[120:], y[120:])
    for other in copies:
        assert repr(other) == repr(model)
        other.partial_fit(X[120:], y[120:])
        np.testing.assert_array_equal(other.components_, model.components_)
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    assert (tmp_path / "m.narrows").stat().st_size < 60_000


# -- drift -----------------------------------------------------------------------------------------


def test_blocks_of_time_are_those_of_each_class():
    rng = np.random.default_rng(0)
    code, when = rng.integers(0, 3, 50), rng.permutation(1000)[:50]
    expected = np.empty(50, int)
    for j in range(3):
        of = sorted(np.flatnonzero(code == j), key=lambda i: when[i])
        for rank, i in enumerate(of):
            expected[i] = rank * 5 // len(of)
    np.testing.assert_array_equal(by_time(code, when, 5), expected)


def test_the_order_of_samples_changes_nothing():
    X, y = circles(600)
    order = np.argsort(y, kind="stable")
    fitted = [small().fit(X[rows], y[rows]) for rows in (slice(None), order, order[::-1])]
    for model in fitted:
        same(model, fitted[0], X)


# -- the command line ------------------------------------------------------------------------------


def write(path, X, y):
    lines = [f"{label}," + ",".join(map(repr, x)) for label, x in zip(y, X.tolist(), strict=True)]
    path.write_text("label,a,b\n" + "\n".join(lines) + "\n")


@pytest.mark.nightly
def test_the_command_line_is_python(run, tmp_path):
    X, y = circles(240)
    write(tmp_path / "a.csv", X[:200], y[:200])
    write(tmp_path / "b.csv", X[200:], y[200:])
    method = "--method kernelsrda --param n_hidden=30 --label label --chunk-rows 37"
    status, out, err = run(f"fit a.csv {method} -o m.narrows")
    assert (status, err) == (0, "")
    assert out.startswith("KernelSRDA: 200 rows, 2 classes, 2 columns -> 1; saved to m.narrows")
    fitted = small().fit(X[:200], y[:200])
    loaded = narrows.load(tmp_path / "m.narrows")
    same(loaded, fitted, X)
    assert run("update m.narrows b.csv -o u.narrows")[0] == 0
    same(narrows.load(tmp_path / "u.narrows"), fitted.partial_fit(X[200:], y[200:]), X)
    narrows.save(narrows.load(tmp_path / "m.narrows").emptied(), tmp_path / "e.narrows")
    assert run("update e.narrows b.csv -o n.narrows")[0] == 0
    assert run("merge m.narrows n.narrows -o s.narrows")[0] == 0
    same(narrows.load(tmp_path / "s.narrows"), fitted, X)
    assert run("transform u.narrows b.csv -o z.npz")[0] == 0
    with np.load(tmp_path / "z.npz") as reduced:
        np.testing.assert_allclose(reduced["X"], fitted.transform(X[200:]), atol=1e-9)
    status, out, _ = run("info u.narrows")
    assert status == 0
    assert "KernelSRDA" in out
    assert run(f"fit b.csv {method} -o o.narrows")[0] == 0
    status, out, err = run("merge m.narrows o.narrows -o x.narrows")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "expected moments with one map to add up" in err


@pytest.mark.parametrize("chunks", [2, 5, 6, 9])
@pytest.mark.slow
def test_a_stopped_fit_is_gone_on_with(run, tmp_path, monkeypatch, chunks):
    from tests.test_checkpoint import bytes_of, stop_after

    X, y = circles(200)
    write(tmp_path / "a.csv", X, y)
    fit = "fit a.csv --method kernelsrda --param n_hidden=30 --label label --chunk-rows 37"
    assert run(f"{fit} -o whole.narrows")[0] == 0
    kept = f"{fit} -o m.narrows --checkpoint c.narrows --every 1000"
    with monkeypatch.context() as patch:
        stop_after(patch, chunks)
        assert run(kept)[0] == 130
    status, _, err = run(f"{kept} --resume")
    assert status == 0, err
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")


# -- extremes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_hidden": 0}, "expected `n_hidden` to be an integer from 1 to 8,000, got 0"),
        ({"n_hidden": 8001}, "expected `n_hidden` to be"),
        ({"n_hidden": 2.5}, "expected `n_hidden` to be"),
        ({"n_hidden": True}, "expected `n_hidden` to be"),
        ({"kernel": "poly"}, "expected `kernel` to be"),
        ({"gamma": 0.0}, 'expected `gamma` to be "auto" or a number > 0, got 0'),
        ({"gamma": "scale"}, "expected `gamma` to be"),
        ({"gamma": np.inf}, "expected `gamma` to be"),
        ({"gamma": np.nan}, "expected `gamma` to be"),
        ({"alpha": -1}, "expected `alpha` to be"),
        ({"alpha": "best"}, 'expected `alpha` to be "auto", "cv", "scale" or a number >= 0, got'),
        ({"alpha": np.nan}, "expected `alpha` to be"),
        ({"random_state": -1}, "expected `random_state` to be"),
        ({"random_state": 2**64}, "expected `random_state` to be"),
        ({"random_state": "x"}, "cannot be used to seed|expected `random_state` to be"),
        ({"random_state": 1.5}, "cannot be used to seed|expected `random_state` to be"),
        ({"half_life": 0}, "expected `half_life` to be"),
        ({"n_components": 2000}, r"expected n_components<=\d+, since the samples span only"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_named(parameters, message):
    X, y = circles(50)
    with pytest.raises(ValueError, match=message):
        small(**parameters).fit(X, y)


@pytest.mark.nightly
@pytest.mark.parametrize("state", [None, np.random.RandomState(3)])
def test_random_states(state):
    X, y = circles(120)
    a = small(random_state=state).fit(X, y)
    assert a.components_.tobytes() == a.components_.tobytes()
    stream = small(random_state=state).partial_fit(X, y)
    first = stream.components_.copy()
    solved_again = pickle.loads(pickle.dumps(stream))
    np.testing.assert_array_equal(solved_again.components_, first)
    merged = small(random_state=state).merge(stream)
    assert merged.components_.shape == first.shape
    again = stream.set_params(random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.components_, small().fit(X, y).components_)
    assert map_of(small(random_state=np.int64(2**63 - 1)).fit(X, y)).seed == 2**63 - 1


def spoilt(kind):
    X, y = circles(60)
    if kind == "constant feature":
        return np.column_stack([X, np.full(60, 7.0)]), y
    if kind == "a class of one sample":
        return X, np.append(y[:-1], 2)
    if kind == "classes of one sample":
        return X[:9], np.arange(9)
    if kind == "two samples":
        return X[:2], np.arange(2)
    if kind == "large":
        return X * 1e140, y
    if kind == "small":
        return X * 1e-140, y
    return {"far": (X + 1e150, y), "one far": (np.vstack([X[:-1], [1e140, 0]]), y)}[kind]


@pytest.mark.parametrize("alpha", ["cv", slow("scale"), slow(0.0)])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "kind",
    ["constant feature", "a class of one sample", "classes of one sample", "two samples",
     "large", "small", "one far"],
)  # fmt: skip
def test_unusual_samples_give_numbers(kind, verb, kernel, alpha):
    X, y = spoilt(kind)
    model = getattr(small(kernel=kernel, alpha=alpha), verb)(X, y)
    for found in (
        model.components_,
        model.transform(X),
        model.predict_proba(X),
        model.eigenvalues_,
    ):
        assert np.isfinite(found).all()
    if kind != "one far" and alpha:
        assert model.score(X, y) > 0.6


@pytest.mark.parametrize("kernel", KERNELS)
def test_units_do_not_matter(kernel):
    X, y = circles(100)
    expected = small(kernel=kernel, alpha=0.5).fit(X, y)
    for unit in (2.0**-400, 2.0**-100, 2.0**100, 2.0**400):
        found = small(kernel=kernel, alpha=0.5).fit(X * unit, y)
        assert found.gamma_ == pytest.approx(expected.gamma_ / unit**2, rel=1e-9)
        np.testing.assert_allclose(found.transform(X * unit), expected.transform(X), atol=1e-6)


def test_equal_samples_are_an_error():
    X, y = np.ones((30, 2)), np.arange(30) % 2
    with pytest.raises(ValueError, match=r"^expected classes with different means"):
        small().fit(X, y)
    stream = small(n_components=1).partial_fit(X, y)
    assert not stream.transform(X).any()


@pytest.mark.parametrize("value", [1e200, -1e300, np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.slow
def test_numbers_out_of_range_are_named(value, form):
    X, y = circles(60)
    X = np.column_stack([X, np.zeros(60)])
    bad = X.copy()
    bad[5, 2] = value
    message = {True: r"NaN|infinity"}.get(not np.isfinite(value), r"^expected .*'x2'")
    for model in (small(), small().partial_fit(X, y), small().fit(X, y)):
        before = everything(model)
        for verb in ("fit", "partial_fit"):
            with pytest.raises(ValueError, match=message):
                getattr(model, verb)(form(bad), y)
        assert everything(model) == before


def everything(model):
    return bytes_of(model) if model.__sklearn_is_fitted__() else sorted(vars(model))


def test_sums_that_overflow_later_name_a_feature():
    X, y = circles(60)
    model = small(gamma=1.0, kernel="relu", alpha=0.0).fit(X * 1e140, y)
    said = None
    for _ in range(200):
        try:
            model.merge(copy.deepcopy(model))
        except RangeError as error:
            said = str(error)
            break
    assert said is not None
    assert said.startswith("expected ")


@pytest.mark.nightly
@pytest.mark.parametrize("verb", ["partial_fit", "fit"])
@pytest.mark.parametrize("start", [None, 0, 60, 90, "fit"])
def test_a_stopped_update_changes_nothing(soon, verb, start):
    X, y = circles(160)
    model = small(half_life=9.0 if start == 90 else None)
    if start == "fit":
        model.fit(X[:60], y[:60])
    elif start is not None:
        model.partial_fit(X[:start], y[:start])
    done = getattr(copy.deepcopy(model), verb)(X[60:], y[60:])
    for left in stopped(model, lambda model: getattr(model, verb)(X[60:], y[60:]), 15):
        assert everything(left) in (everything(model), everything(done))
        assert set(vars(left)) in (set(vars(model)), set(vars(done)))


def test_the_last_of_many_blocks_fails(monkeypatch):
    X, y = circles(160)
    model = small().fit(X, y)
    before = everything(model)
    pretend(monkeypatch, "blocks of random features", 20)
    bad = X.copy()
    bad[-1, 1] = 1e300
    with pytest.raises(RangeError, match="feature 'x1'"):
        model.partial_fit(bad, y)
    assert everything(model) == before
    assert model.partial_fit(X, y).n_samples_seen_ == 320


def test_too_many_features_are_an_error():
    X = sparse.csr_array((4, 8193))
    for model in (small(), Window(small())):
        for verb in ("fit", "partial_fit"):
            with pytest.raises(ValueError, match=r"^expected at most 8,192 features.* got 8,193"):
                getattr(model, verb)(X, [0, 1, 0, 1])


def test_states_of_others_are_an_error():
    X, y = circles(60)
    for stats in (SRDA().fit(X, y).moments_ * 1.0, Moments.of(X, y), 3, X):
        with pytest.raises(
            (TypeError, ValueError),
            match=r"^expected (Moments|an estimator that has a map)",
        ):
            small().fit_moments(stats)
    with pytest.raises(ValueError, match="KernelSRDA"):
        SRDA().merge(small().fit(X, y))


# -- files that do not fit -------------------------------------------------------------------------

FORGED = {
    "map_seed": np.array(7), "map_kernel": np.array(2), "map_hidden": np.array(31),
    "map_gamma": np.array(np.inf), "map_centre": np.zeros(3), "kept_width": np.array(32),
    "kept_rows": np.zeros((120, 3)), "kept_when": np.full(120, -1), "kept": np.array(0),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_file_that_does_not_fit_is_refused(tmp_path, name):
    X, y = circles(120)
    path = str(tmp_path / "m.narrows")
    narrows.save(small().fit(X, y), path)
    rewritten(path, {f"state.{name}": FORGED[name]})
    with pytest.raises(DataError, match=r"m\.narrows: damaged, or .*(map|kept|d = )"):
        narrows.load(path)


# -- real data, and much of it --------------------------------------------------------------------


def accuracy(estimator, X, y, folds):
    return np.mean([clone(estimator).fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds])


def five_folds(X, y):
    return StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "least"), [("monk1", 0.95), ("balance_scale", 0.90), ("ionosphere", 0.91)]
)
def test_classes_that_no_plane_separates(data, name, least):
    parts = ["monk1_train", "monk1_test"] if name == "monk1" else [name]
    X, y = (np.concatenate(part) for part in zip(*(uci(data, n) for n in parts), strict=True))
    assert accuracy(KernelSRDA(), X, y, five_folds(X, y)) >= least


@pytest.mark.nightly
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("name", ["iris", "wine", "waveform", "pima_diabetes"])
def test_hidden_features_cost_at_most_3_of_100_samples(data, name, scaled):
    X, y = uci(data, name)
    X = StandardScaler().fit_transform(X) if scaled else X
    folds = list(five_folds(X, y))
    found = [accuracy(KernelSRDA(random_state=seed), X, y, folds) for seed in range(3)]
    expected = accuracy(SRDA(), X, y, folds)
    assert np.mean(found) >= expected - 0.03


@pytest.mark.nightly
def test_embeddings(data):
    X, y = real("news20_static384", data)
    train = np.load(data / "news20_static384.npz")["train"].astype(bool)
    linear, kernel = (m.fit(X[train], y[train]) for m in (SRDA(), KernelSRDA()))
    assert kernel.score(X[~train], y[~train]) >= linear.score(X[~train], y[~train]) - 0.005


@pytest.mark.nightly
def test_digits_are_predicted():
    X, y = load_digits(return_X_y=True)
    assert accuracy(KernelSRDA(), X, y, five_folds(X, y)) >= 0.98


@pytest.mark.nightly
def test_shards_of_digits_are_one_fit():
    X, y = load_digits(return_X_y=True)
    fitted = KernelSRDA(n_hidden=500).fit(X, y)
    order = np.argsort(y, kind="stable")
    shards = [fitted.emptied().partial_fit(X[rows], y[rows]) for rows in np.array_split(order, 20)]
    same(shards[7].merge(*shards[:7], *shards[8:]), fitted, X)
    half = fitted.emptied().partial_fit(X[::2], y[::2])
    left = fitted.emptied().fit_moments(fitted.moments_ - half.moments_)
    refit = fitted.emptied().partial_fit(X[1::2], y[1::2])
    np.testing.assert_array_equal(left.moments_.samples.keys, refit.moments_.samples.keys)
    same(left, refit, X)


@pytest.mark.nightly
def test_the_most_hidden_features():
    X, y = circles(500)
    model = KernelSRDA(n_hidden=8000).fit(X, y)
    assert model.components_.shape == (1, 8002)
    assert model.score(X, y) > 0.9


STREAM = """
import resource
import numpy as np
from narrows import KernelSRDA

rng, model, peaks = np.random.default_rng(0), KernelSRDA(n_hidden=200), []
for k in range(400):
    X = rng.normal(size=(1000, 30))
    model.partial_fit(X, (X[:, 0] * X[:, 1] > 0).astype(int))
    if k % 100 == 50:
        model.predict_proba(X)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
print(peaks[-1] - peaks[0], model.n_samples_seen_)
"""


@pytest.mark.nightly
def test_a_stream_takes_constant_memory():
    done = subprocess.run(
        [sys.executable, "-c", STREAM], capture_output=True, text=True, check=True, timeout=300
    )
    more, n = done.stdout.split()
    assert float(more) < 10  # MB
    assert int(n) == 400_000
