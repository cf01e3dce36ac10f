"""SRDA of wide sparse samples in two passes, against dense transcriptions of what it computes."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import narrows
from narrows import OC, SRDA, ClassStats, Window
from narrows.engines import local
from narrows.errors import DataError, ParameterError, RangeError
from tests.cases import bytes_of, widened
from tests.inside import Bands, pretend
from tests.test_forgery import rewritten
from tests.traced import stopped

NAMES = np.array(["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"])


def texts(n=300, d=90, c=4, seed=0, length=12, unit=True):
    """Counts of terms, rare and frequent ones, as rows of a CSR array, and labels."""
    rng = np.random.default_rng(seed)
    weights = (1 / np.arange(1, d + 1)) * rng.gamma(0.5, size=(c, d))
    y = np.append(np.arange(c), rng.integers(0, c, n - c))
    weights /= weights.sum(axis=1, keepdims=True)
    X = np.array([rng.multinomial(length, weights[j]) for j in y], dtype=float)
    if unit:
        X = np.log1p(X)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    return sparse.csr_array(X), NAMES[y]


def in_bands(head=12, bands=4, **parameters):
    return SRDA(solver="bands", head=head, bands=bands, **parameters)


def map_of(X, Y, head, bands):
    return Bands.of(ClassStats.of(X, Y, second="total"), head, bands)


def whole(map):
    """P as an array."""
    return map.directions(np.eye(map.n_coordinates))


# -- what is computed, in arrays -------------------------------------------------------------------


def dense_map(X, Y, head, g):
    """The head, the band of each feature (-1: none), and a basis of the span of P.

    Y is a weighted indicator matrix, as an array.
    """
    N, S = Y.sum(axis=0), Y.T @ X
    p, energy = N / N.sum(), Y.sum(axis=1) @ X**2
    means = S / N[:, None]
    between = p @ (means - p @ means) ** 2
    order = sorted(range(X.shape[1]), key=lambda k: (-float(f"{between[k]:.8e}"), k))
    first = sorted(order[:head])
    rest = [k for k in range(X.shape[1]) if k not in first and energy[k] > 0]
    rest.sort(key=lambda k: (-float(f"{energy[k]:.8e}"), k))
    g = min(g, len(rest))
    band, before, total = np.full(X.shape[1], -1), 0.0, energy[rest].sum()
    for k in rest if g else []:
        band[k] = min(g - 1, int(g * (before + energy[k] / 2) / total + 1e-9))
        before += energy[k]
    bases = [np.eye(X.shape[1])[:, first]]
    for b in range(g):
        T = np.where(band == b, S, 0.0)
        T /= np.maximum(np.linalg.norm(T, axis=1, keepdims=True), 1e-300)
        U, size, _ = np.linalg.svd(T.T, full_matrices=False)
        bases.append(U[:, size**2 > 1e-6 * size[0] ** 2])
    return first, band, np.hstack(bases)


def dense_srda(X, y, P, alpha=None, weight=None):
    """The directions, eigenvalues and ridge of discriminants of X P."""
    weight = np.ones(len(y)) if weight is None else weight
    n, m = weight.sum(), np.average(X, axis=0, weights=weight)
    if alpha is None:
        alpha = weight @ (X**2).sum(axis=1) / n - m @ m
    Z = (X - m) @ P
    C, B = (Z.T * weight) @ Z / n, np.zeros((P.shape[1], P.shape[1]))
    for label in np.unique(y[weight > 0]):
        of = y == label
        mean = np.average(Z[of], axis=0, weights=weight[of])
        B += weight[of].sum() / n * np.outer(mean, mean)
    r = len(np.unique(y[weight > 0])) - 1
    ratio, U = linalg.eigh(B, C - B + alpha / n * np.eye(len(B)))
    ratio, W = ratio[::-1][:r], (P @ U)[:, ::-1][:, :r].T
    W *= np.sign(W[np.arange(r), np.abs(W).argmax(axis=1)])[:, None]
    return W, ratio / (1 + ratio), alpha


def indicator(y):
    return (y[:, None] == np.unique(y)).astype(float)


def same_directions(found, W, rtol=1e-9):
    np.testing.assert_allclose(found.components_, W, atol=rtol * np.abs(W).max(), rtol=0)


def same_models(a, b, rtol=1e-9):
    np.testing.assert_array_equal(a.classes_, b.classes_)
    np.testing.assert_allclose(a.class_count_, b.class_count_, rtol=1e-12)
    assert a.n_samples_seen_ == b.n_samples_seen_
    assert a.alpha_ == pytest.approx(b.alpha_, rel=rtol)
    np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=rtol, atol=1e-12)
    same_directions(a, b.components_, rtol)


# -- the map -------------------------------------------------------------------------------------

SIZES = [(12, 4), (1, 1), (0, 3), (12, 0), (40, 7), (200, 4), (5, 1000)]


@pytest.mark.parametrize(("head", "g"), SIZES)
@pytest.mark.parametrize("c", [2, 4])
def test_the_map_is_that_of_its_definition(head, g, c):
    X, y = texts(c=c)
    map = map_of(X, y, head, g)
    first, band, Q = dense_map(X.toarray(), indicator(y), head, g)
    assert map.head.tolist() == first
    np.testing.assert_array_equal(map.band, band)
    P = whole(map)
    np.testing.assert_allclose(P.T @ P, np.eye(P.shape[1]), atol=1e-10)
    np.testing.assert_allclose(P @ P.T, Q @ Q.T, atol=1e-9)
    U = np.random.default_rng(0).normal(size=(map.n_coordinates, 3))
    np.testing.assert_allclose(map.directions(U), P @ U, atol=1e-12)


def assert_are_coordinates(map, X):
    dense, P = X.toarray().astype(float), whole(map)
    Z = map.coordinates(X)
    assert Z.has_sorted_indices
    Z = Z.toarray()
    assert Z.shape == (len(dense), P.shape[1] + 1)
    np.testing.assert_allclose(Z[:, :-1], dense @ P, atol=1e-12)
    rest = np.linalg.norm(dense - dense @ P @ P.T, axis=1)
    np.testing.assert_allclose(Z[:, -1], rest, atol=2e-6 * rest.max(initial=1.0))
    np.testing.assert_allclose((Z**2).sum(axis=1), (dense**2).sum(axis=1), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(("head", "g"), SIZES)
def test_coordinates_are_those_of_the_definition(head, g):
    X, y = texts()
    map = map_of(X[:150], y[:150], head, g)  # later samples have features of their own
    assert_are_coordinates(map, X)


def test_coordinates_of_untidy_rows():
    X, y = texts()
    map = map_of(X, y, 12, 4)
    some = X[:20]
    single = some.astype(np.float32)
    wide = some.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    zeros = some.copy()
    zeros.data[::3] = 0.0
    twice = sparse.csr_array(
        (np.repeat(some.data / 2, 2), np.repeat(some.indices, 2), 2 * some.indptr), some.shape
    )
    turned = some.copy()
    for i in range(20):
        row = slice(*turned.indptr[i : i + 2])
        turned.indices[row] = turned.indices[row][::-1].copy()
        turned.data[row] = turned.data[row][::-1].copy()
    turned.has_sorted_indices = False
    for rows in (single, wide, zeros, twice, turned, some * 0, X[:0], sparse.csr_array(some.shape)):
        before = rows.data.copy(), rows.indices.copy()
        assert_are_coordinates(map, rows)
        np.testing.assert_array_equal(rows.data, before[0])
        np.testing.assert_array_equal(rows.indices, before[1])
    assert map.coordinates(single).dtype == np.float64


def test_bands_have_equal_energy():
    X, y = texts(n=600, d=2000, length=40)
    map = map_of(X, y, 50, 6)
    energy = (X**2).sum(axis=0)
    of_bands = np.bincount(map.band[map.band >= 0], energy[map.band >= 0])
    assert len(of_bands) == 6
    assert np.ptp(of_bands) < 2 * energy[map.band >= 0].max()
    means = [energy[map.band == b].mean() for b in range(6)]  # from much energy to little
    assert means == sorted(means, reverse=True)


def test_features_without_energy_are_left_out():
    X, y = texts()
    X = X.toarray()
    X[:, 10:30] = 0.0
    map = map_of(sparse.csr_array(X), y, 12, 4)
    assert (map.band[10:30] == -1).all()
    assert not set(map.head) & set(range(10, 30))
    more = np.eye(90)[10:13]
    Z = map.coordinates(sparse.csr_array(more)).toarray()
    np.testing.assert_array_equal(Z, np.eye(map.n_coordinates + 1)[[-1] * 3])
    np.testing.assert_array_equal(whole(map)[10:30], 0.0)


def test_a_class_may_have_nothing_in_a_band():
    X, y = texts()
    X = X.toarray()
    map = map_of(sparse.csr_array(X), y, 12, 4)
    X[np.ix_(y == "ant", map.band == 1)] = 0.0
    X = sparse.csr_array(X)
    map = map_of(X, y, 12, 4)
    _, _, Q = dense_map(X.toarray(), indicator(y), 12, 4)
    np.testing.assert_allclose(whole(map) @ whole(map).T, Q @ Q.T, atol=1e-9)
    assert_are_coordinates(map, X)


@pytest.mark.slow
def test_several_labels_a_sample():
    X, _ = texts()
    Y = (np.random.default_rng(1).random((300, 4)) < 0.4).astype(int)
    map = map_of(X, Y, 12, 4)
    _, band, Q = dense_map(X.toarray(), Y.astype(float), 12, 4)
    np.testing.assert_array_equal(map.band, band)
    np.testing.assert_allclose(whole(map) @ whole(map).T, Q @ Q.T, atol=1e-9)
    state = in_bands().fit(X, Y).stats_
    np.testing.assert_array_equal(whole(state.map), whole(map))
    Z, m = X.toarray() @ whole(map), (Y.sum(axis=1) @ X.toarray()) / Y.sum()
    C = (Z.T * Y.sum(axis=1)) @ Z - Y.sum() * np.outer(m @ whole(map), m @ whole(map))
    S = state.scatters()
    np.testing.assert_allclose(np.tril(S.C)[:-1, :-1], np.tril(C), atol=1e-10)
    assert not S.C[-1].any()
    assert (state.n, state.n_samples) == (Y.sum(), 300)
    squares = (Y.sum(axis=1) @ X.toarray() ** 2).sum() / Y.sum() - m @ m
    assert state.mean_square() == pytest.approx(squares, rel=1e-10)


@pytest.mark.parametrize("alpha", [0.5, "scale", "cv"])
def test_a_head_of_all_features_is_the_solver_of_cross_products(alpha):
    X, y = texts()
    found = in_bands(head=100, alpha=alpha).fit(X, y)
    expected = SRDA(solver="cross", alpha=alpha).fit(X, y)
    same_models(found, expected)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-8)


def test_the_limit_of_coordinates_cuts_bases_and_bands(monkeypatch):
    pretend(monkeypatch, "few coordinates")
    X, y = texts(c=8)
    for head, g in ((12, 4), (30, 4), (38, 4), (39, 4), (10**9, 4), (0, 1000), (0, "auto")):
        map = map_of(X, y, head, g)
        assert map.n_coordinates <= 39
        assert len(map.head) == min(head, 39)
        P = whole(map)
        np.testing.assert_allclose(P.T @ P, np.eye(P.shape[1]), atol=1e-10)
        assert_are_coordinates(map, X)
    assert map_of(X, y, 12, 4).sizes.tolist() == [6] * 4  # 27 coordinates for 4 bands


@pytest.mark.slow
def test_many_classes_fill_the_limit():
    rng = np.random.default_rng(0)
    c, d = 600, 14_000
    y = np.arange(2 * c) % c
    X = sparse.random_array((2 * c, d), density=100 / d, rng=rng, format="csr")
    map = map_of(X, y, 4000, 8)
    assert map.n_coordinates == 4000 + 8 * (4191 // 8)
    some = X[:50]
    Z = map.coordinates(some)
    np.testing.assert_allclose((Z**2).sum(axis=1), (some**2).sum(axis=1), rtol=1e-10)


# -- the result ------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [None, 0.7])
@pytest.mark.parametrize(("head", "g"), [(12, 4), (1, 2), (30, 0), (1, 1)])
@pytest.mark.parametrize("form", [sparse.csr_array, np.asarray])
def test_directions_are_discriminants_of_coordinates(head, g, alpha, form):
    X, y = texts()
    _, _, Q = dense_map(X.toarray(), indicator(y), head, g)
    W, ratios, ridge = dense_srda(X.toarray(), y, Q, alpha)
    parameters = {} if alpha is None else {"alpha": alpha}
    found = in_bands(head, g, **parameters).fit(form(X.toarray()), y)
    if g or alpha:
        assert found.alpha_ == pytest.approx(ridge, rel=1e-10)
        k = int((ratios > 1e-9).sum())
        np.testing.assert_allclose(found.eigenvalues_[:k], ratios[:k], rtol=1e-9)
        if k == len(ratios):
            same_directions(found, W)


def learned_in(X, y, cuts, model):
    chunks = [(X[i:j], y[i:j]) for i, j in itertools.pairwise([0, *cuts, len(y)])]
    return local.fit(model, chunks)


KINDS = {
    "texts": lambda: texts(),
    "counts": lambda: texts(unit=False, d=60),
    "twins": lambda: (lambda X, y: (sparse.hstack([X, X, X[:, :9]]).tocsr(), y))(*texts(d=40)),
    "signs": lambda: _signs(),
    "few": lambda: texts(n=30, d=300),
}


def _signs():
    """Class sums of values that cancel: rounding, in bands of their own."""
    rng = np.random.default_rng(0)
    X, y = texts(n=160)
    Z = 5 * rng.normal(size=(160, 30)) * (rng.random((160, 30)) < 0.3)
    minus = -Z
    for label in np.unique(y):
        of = np.flatnonzero(y == label)
        minus[of] = minus[rng.permutation(of)]
    X, order = X.toarray(), rng.permutation(320)
    X = np.vstack([np.hstack([X, Z]), np.hstack([X, minus])])[order]
    return sparse.csr_array(X), np.append(y, y)[order]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("alpha", "head"), [("scale", 12), ("cv", 12), ("scale", 100)])
def test_order_batches_and_merging_change_nothing(kind, alpha, head):
    X, y = KINDS[kind]()
    X, rng, n = sparse.csr_array(X), np.random.default_rng(0), len(y)
    model = in_bands(alpha=alpha, head=head)
    expected = clone(model).fit(X, y)
    P = expected.predict_proba(X)
    for order in (rng.permutation(n), np.argsort(y, kind="stable"), np.arange(n)[::-1]):
        for cuts in ([], range(7, n, 13), [1, 1, 2, n // 2]):
            found = learned_in(X[order], y[order], cuts, clone(model))
            same_models(found, expected)
            np.testing.assert_allclose(found.predict_proba(X), P, atol=1e-7)
        shards = np.array_split(order, 5)
        parts = [expected.emptied().partial_fit(X[rows], y[rows]) for rows in shards]
        merged = parts[0].merge(*parts[1:])
        same_models(merged, expected)
        np.testing.assert_allclose(merged.predict_proba(X), P, atol=1e-7)


def test_a_permutation_of_features_permutes_the_directions():
    X, y = texts()
    order = np.random.default_rng(3).permutation(90)
    found, turned = in_bands().fit(X, y), in_bands().fit(X[:, order], y)
    same_directions(turned, found.components_[:, order])


def test_weights_are_repetitions():
    X, y = texts()
    times = np.random.default_rng(0).integers(0, 4, 300)
    many = in_bands().fit(X[np.repeat(np.arange(300), times)], np.repeat(y, times))
    one = in_bands().fit(X, y, times.astype(float))
    same_directions(one, many.components_)
    assert one.alpha_ == pytest.approx(many.alpha_, rel=1e-10)
    Q = dense_map(X.toarray(), indicator(y) * times[:, None], 12, 4)[2]
    W, _, alpha = dense_srda(X.toarray(), y, Q, weight=times.astype(float))
    same_directions(one, W)
    assert one.alpha_ == pytest.approx(alpha, rel=1e-10)
    with pytest.raises(ValueError, match="SRDA: expected samples with a label and a non-zero"):
        in_bands().fit(X, y, np.zeros(300))


def test_half_life_is_a_weight():
    X, y = texts()
    weight = 0.5 ** (np.arange(300)[::-1] / 80)
    expected = in_bands().fit(X, y, weight)
    for cuts in ([], [50, 51, 200], range(9, 300, 9)):
        found = learned_in(X, y, cuts, in_bands(half_life=80))
        same_directions(found, expected.components_, rtol=1e-8)
        np.testing.assert_allclose(found.class_count_, expected.class_count_, rtol=1e-10)
    # updates decay what was learned before, behind the map as it is
    first = in_bands(half_life=80).fit(X[:200], y[:200])
    Q = whole(first.stats_.map)
    for cuts in ([200, 300], [200, 201, 250, 300]):
        stream = copy.deepcopy(first)
        for i, j in itertools.pairwise(cuts):
            stream.partial_fit(X[i:j], y[i:j])
        W, ratios, _ = dense_srda(X.toarray(), y, Q, stream.alpha_, weight)
        same_directions(stream, W, rtol=1e-8)
        np.testing.assert_allclose(stream.eigenvalues_, ratios, rtol=1e-8)


# -- after the map is frozen -----------------------------------------------------------------------


def test_updates_with_new_classes_are_discriminants_behind_the_same_map():
    X, y = texts(c=6)
    few = np.isin(y, NAMES[:4])
    model = in_bands().fit(X[few], y[few])
    Q = whole(model.stats_.map)
    for rows in np.array_split(np.flatnonzero(~few), 7):
        model.partial_fit(X[rows], y[rows])
    assert model.classes_.tolist() == NAMES[:6].tolist()
    W, ratios, _ = dense_srda(X.toarray(), y, Q, model.alpha_)
    same_directions(model, W)
    np.testing.assert_allclose(model.eigenvalues_, ratios, rtol=1e-9)
    np.testing.assert_array_equal(whole(model.stats_.map), Q)
    squares = (X.toarray() ** 2).sum(axis=1).mean()
    assert model.alpha_ == pytest.approx(squares - ((X.toarray().mean(axis=0) @ Q) ** 2).sum())


def test_features_that_come_later_only_count_in_the_ridge():
    X, y = texts()
    model = in_bands(alpha=0.4).fit(X[:, :80], y)
    wide = in_bands(alpha=0.4).fit(X[:, :80], y)
    local.update(wide, [(X, y)])
    assert wide.n_features_in_ == 90
    np.testing.assert_array_equal(wide.components_[:, 80:], 0.0)
    narrow = model.partial_fit(X[:, :80], y)
    same_directions(narrow, wide.components_[:, :80])
    wide.set_params(alpha="scale")
    assert wide.alpha_ > narrow.set_params(alpha="scale").alpha_
    with pytest.raises(ValueError, match="SRDA: expected an estimator with 90 features to merge"):
        wide.merge(narrow)
    same_models(wide.merge(widened(narrow, 90)), wide)


def test_a_stream_starts_with_fit():
    X, y = texts()
    model = in_bands()
    for rows in (slice(None), slice(0)):
        with pytest.raises(
            ParameterError, match=r"SRDA: expected fit before partial_fit for .*Use"
        ):
            model.partial_fit(X[rows], y[rows])
    assert vars(model) == vars(in_bands())
    assert not hasattr(model, "fit_stats")
    with pytest.raises(AttributeError, match='not support fit_stats: solver="bands" makes a state'):
        _ = model.fit_stats
    with pytest.raises(TypeError, match="expected another state with a map, got int"):
        model.fit(X, y).stats_ - 1
    assert (model.stats_ - model.stats_).n == 0


def test_two_fits_do_not_merge_and_say_how_to_share_a_map():
    X, y = texts()
    a, b = in_bands().fit(X, y), in_bands().fit(X[:200], y[:200])
    before = a.components_.copy()
    with pytest.raises(ValueError, match=r"SRDA: expected states with one map .* emptied\(\) cop"):
        a.merge(b)
    np.testing.assert_array_equal(a.components_, before)
    c = SRDA(alpha="auto").fit(X.toarray(), y).set_params(solver="bands", head=12, bands=4)
    for one, other in ((a, c), (c, a)):
        with pytest.raises(ValueError, match=r"SRDA: expected estimators that all have a map"):
            one.merge(other)
    same_models(in_bands().merge(a), a)
    same_models(a.emptied().merge(copy.deepcopy(a)), a)  # a copy has an equal map
    assert a.n_samples_seen_ == 300


def test_emptied_shares_only_the_map():
    X, y = texts()
    model = in_bands().fit(X, y)
    before = model.components_.copy()
    empty = model.emptied()
    assert (empty.n_samples_seen_, empty.classes_.tolist(), empty.n_features_in_) == (0, [], 90)
    assert empty.components_.shape == (0, 90)
    empty.partial_fit(X[:1], y[:1])
    assert empty.components_.shape == (0, 90)
    empty.partial_fit(X, y)
    np.testing.assert_array_equal(model.components_, before)
    with pytest.raises(ParameterError, match="expected a model that was fitted in bands, got anot"):
        SRDA().fit(X.toarray(), y).emptied()
    with pytest.raises(NotFittedError):
        in_bands().emptied()


def test_names_of_features_stay():
    pd = pytest.importorskip("pandas")
    X, y = texts()
    frame = pd.DataFrame(X.toarray(), columns=[f"t{k}" for k in range(90)])
    model = in_bands().fit(frame, y)
    empty = model.emptied().partial_fit(frame, y)
    assert empty.feature_names_in_.tolist() == list(frame.columns)
    same_models(empty, model)
    with pytest.raises(ValueError, match="feature names"):
        empty.partial_fit(frame[frame.columns[::-1]], y)


def test_a_window_over_two_passes_is_refused():
    X, y = texts()
    with pytest.raises(ParameterError, match=r"Window: expected .* learns samples once, got SRDA"):
        Window(in_bands(), samples=50).partial_fit(X, y)


@pytest.mark.slow
def test_samples_in_memory_have_bands_only_if_asked():
    X = sparse.csr_array((np.ones(40), (np.arange(40), np.arange(40) * 300)), shape=(40, 12_000))
    y = np.arange(40) % 2
    model = SRDA().fit(X, y)
    assert not hasattr(model.stats_, "map")
    with pytest.raises(ValueError, match="expected at most 8,192 features for partial_fit"):
        model.partial_fit(X, y)
    model = SRDA(solver="bands").fit(X, y)
    assert hasattr(model.stats_, "map")
    assert model.partial_fit(X, y).n_samples_seen_ == 80
    assert model.score(X, y) == 1.0
    assert model.transform(X[:3]).shape == (3, 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"head": 0}, "head must be an integer >= 1, got 0"),
        ({"head": 2.5}, "head must be an integer >= 1"),
        ({"bands": -1}, 'bands must be "auto" or an integer >= 0, got -1'),
        ({"bands": "many"}, "bands must be"),
        ({"bands": True}, "bands must be"),
        ({"n_components": 4}, r"SRDA: expected n_components<=3, since 4 classes"),
    ],
)
def test_parameters_out_of_range_are_named(parameters, message):
    X, y = texts()
    with pytest.raises(ParameterError, match=message):
        in_bands(**parameters).fit(X, y)


# -- storage -----------------------------------------------------------------------------------


def variants():
    X, y = texts()
    yield in_bands().fit(X, y)
    yield in_bands(bands=0).fit(X, y)
    yield in_bands(head=1000).fit(X, y)
    yield in_bands(half_life=30).fit(X, y).partial_fit(X[:50], NAMES[np.arange(50) % 8])
    yield widened(in_bands().fit(X, y), 200)
    yield in_bands().fit(X, y).emptied()
    yield in_bands(bands="auto").fit(X, np.arange(300) % 2)


@pytest.mark.parametrize("k", range(7))
def test_a_copy_goes_on_to_the_bit(k, tmp_path):
    X, y = texts(n=60, d=90, seed=2)
    model = next(itertools.islice(variants(), k, None))
    X.resize(60, model.n_features_in_)
    y = y if model.classes_.dtype.kind != "i" else np.arange(60) % 3
    narrows.save(model, tmp_path / "m.narrows")
    copies = [
        narrows.load(tmp_path / "m.narrows"), pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ]  # fmt: skip
    model.partial_fit(X, y)
    for other in copies:
        assert other.get_params() == model.get_params()
        other.partial_fit(X, y)
        np.testing.assert_array_equal(other.components_, model.components_)
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        assert other.stats_.map.is_same(model.stats_.map)
        assert (other.merge(model).n_samples_seen_) == 2 * model.n_samples_seen_
    assert not hasattr(clone(model), "components_")


FORGED = {
    "band": [(0, 4), (0, -2), (0, 2**31 - 2), ("head", 0)],
    "head": [(0, -1), (-1, 90), (0, 89)],
    "ends": [(0, 1), (-1, 10**6), (5, 10**6), (5, -1), (-1, 0)],
    "codes": [(0, 4), (0, -1)],
    "sums": [(0, np.nan), (0, np.inf)],
    "mix": [((0, 0, 0), np.nan)],
    "sizes": [(0, 5), (0, -1), (0, 2**62), (0, 3)],
}


@pytest.mark.parametrize("name", FORGED)
def test_a_map_that_does_not_fit_is_refused(tmp_path, name):
    X, y = texts()
    path = str(tmp_path / "m.narrows")
    model = in_bands().fit(X, y)
    arrays = model.stats_.to_arrays()
    for at, value in FORGED[name]:
        narrows.save(model, path)
        forged = arrays[f"map_{name}"].copy()
        forged[arrays["map_head"][0] if at == "head" else at] = value
        rewritten(path, {f"state.map_{name}": forged})
        with pytest.raises(DataError, match=r"m\.narrows: damaged, or .*map"):
            narrows.load(path)
    narrows.save(model, path)
    rewritten(path, {f"state.map_{name}": arrays[f"map_{name}"][:-1]})
    with pytest.raises(DataError, match=r"m\.narrows: damaged, or .*map"):
        narrows.load(path)


def test_a_map_of_other_coordinates_is_refused(tmp_path):
    X, y = texts()
    path = str(tmp_path / "m.narrows")
    model, other = in_bands().fit(X, y), in_bands(head=13).fit(X, y)
    narrows.save(model, path)
    rewritten(path, {f"state.{name}": a for name, a in other.stats_.map.to_arrays().items()})
    with pytest.raises(DataError, match="map: expected the cross products of its coordinates"):
        narrows.load(path)


# -- faults --------------------------------------------------------------------------------------


def everything(model):
    return bytes_of(model), model.components_.tobytes()


@pytest.mark.nightly
def test_an_update_that_is_stopped_changes_nothing(monkeypatch):
    """Perhaps in the second of several blocks."""
    X, y = texts()
    fitted, fresh = in_bands().fit(X, y), in_bands()
    pretend(monkeypatch, "blocks of coordinates", 3000)
    for verb in ("partial_fit", "fit"):
        done = getattr(copy.deepcopy(fitted), verb)(X, y)
        for left in stopped(fitted, lambda model, verb=verb: getattr(model, verb)(X, y), 25):
            assert everything(left) in (everything(fitted), everything(done))
    for left in stopped(fresh, lambda model: model.fit(X, y), 25):
        assert vars(left) == vars(in_bands()) or everything(left) == everything(fitted)
    same_models(fresh.fit(X, y), fitted)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e150, 1e200, -1e300])
@pytest.mark.parametrize("column", ["head", "band", "neither"])
def test_numbers_out_of_range_are_named(value, column):
    X, y = texts()
    X = X.toarray()
    X[:, 17] = 0.0
    model = in_bands().fit(sparse.csr_array(X), y)
    map = model.stats_.map
    before = everything(model)
    at = {"head": map.head[3], "band": np.flatnonzero(map.band == 2)[0], "neither": 17}[column]
    X[5, at] = value
    message = "NaN" if value != value else "infinity" if value == np.inf else f"feature 'x{at}'"
    for rows in (sparse.csr_array(X), X, sparse.csr_array(X[5:6])):
        with pytest.raises(ValueError, match=message) as found:
            model.partial_fit(rows, y[: rows.shape[0]])
        assert str(found.value).startswith(("SRDA: ", "Input X"))
        assert everything(model) == before
    for rows in (sparse.csr_array(X), X):
        with pytest.raises(ValueError, match=message):
            in_bands().fit(rows, y)


def test_large_and_small_units_give_the_same_directions():
    X, y = texts()
    expected = in_bands().fit(X, y)
    for unit in (2.0**300, 2.0**-300, 2.0**60):
        found = in_bands().fit(X * unit, y)
        np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-9)
        same_directions(found, expected.components_ / unit)
    for unit in (1e-160, 1e160):
        with pytest.raises(RangeError, match=r"SRDA: .* in feature 'x\d+'\. Scale"):
            in_bands().fit(X * unit, y)


@pytest.mark.slow
def test_sums_that_overflow_later_name_a_feature_of_the_samples():
    X, y = texts()
    X = X.toarray()[:, ::-1] * 1e142
    model, said = in_bands().fit(sparse.csr_array(X), y), None
    for _ in range(100):
        try:
            model.merge(copy.deepcopy(model))
        except RangeError as error:
            said = str(error)
            break
    assert said is not None
    assert said.startswith("SRDA: expected sums of squares below 1.8e+308, got infinity in feature")
    sizes = (X**2).sum(axis=0) / 1e284
    named = int(said.split("feature 'x")[1].split("'")[0])
    assert named in model.stats_.map.head
    assert sizes[named] > 1


def test_fit_needs_samples_and_classes():
    X, y = texts()
    for rows, labels, message in (
        (X, np.full(300, "a"), "SRDA: expected two classes of positive weight, got 1 class"),
        (X * 0, y, "SRDA: expected classes with different means"),
        (X, y[:-1], "inconsistent numbers of samples"),
        (X[:0], y[:0], "0 sample"),
    ):
        with pytest.raises(ValueError, match=message):
            in_bands().fit(rows, labels)
    assert isinstance(OC().fit(X, y).stats_, ClassStats)
