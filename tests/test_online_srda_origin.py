"""The origin of OnlineSRDA: dense samples, and those of few features, are learned about a mean."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import narrows
from narrows import OnlineSRDA
from tests.cases import assert_same, labelled, same_directions, widened
from tests.inside import state_of
from tests.oracles.online_srda import online_srda


def core_of(estimator):
    return state_of(estimator).core


def wide(n=120, d=90, seed=0):
    """Samples with more features than sparse ones may have to be learned about an origin."""
    X, y = labelled(n=n, d=d, sparse=True, seed=seed)
    return np.where(np.random.default_rng(seed).random(X.shape) < 0.3, X, 0.0), y


def test_dense_samples_have_an_origin_and_wide_sparse_ones_have_none():
    X, y = wide()
    T = (y[:, None] == np.unique(y)).astype(float)
    for form, centred in ((np.asarray, True), (sparse.csr_array, False)):
        learner = OnlineSRDA(keep=0, polish=False).partial_fit(form(X), y)
        *_, (W, b, Q, *_) = online_srda(X, T, centred=centred)
        core = core_of(learner)
        assert (core.origin is not None) == centred
        origin = core.origin if centred else np.zeros(90)
        column = state_of(learner).column
        same_directions(learner.components_, W.T, atol=1e-10)
        np.testing.assert_allclose((core.b - origin @ core.W)[column], b, atol=1e-9)
        np.testing.assert_allclose(core.energy, Q, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("half_life", [None, 40.0])
def test_an_offset_changes_nothing(ordered, half_life):
    X, y = labelled(n=300, d=9)
    if ordered:
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    parameters = {"random_state": 0, "half_life": half_life}
    plain = OnlineSRDA(**parameters).partial_fit(X, y)
    far = OnlineSRDA(**parameters).partial_fit(X + 1e6, y)
    np.testing.assert_allclose(far.components_, plain.components_, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(far.predict(X + 1e6), plain.predict(X))
    np.testing.assert_allclose(far.predict_proba(X + 1e6), plain.predict_proba(X), atol=1e-6)
    assert far.score_ == plain.score_


def test_an_offset_changes_nothing_when_parts_are_merged():
    X, y = labelled(n=300, d=9)

    def fit(X):
        parts = (OnlineSRDA(random_state=0).partial_fit(X[i::3], y[i::3]) for i in range(3))
        return OnlineSRDA(random_state=0).merge(*parts)

    plain, far = fit(X), fit(X + 1000.0)
    np.testing.assert_allclose(
        core_of(far).origin, core_of(plain).origin + 1000, rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(core_of(far).W, core_of(plain).W, atol=1e-9)
    np.testing.assert_allclose(core_of(far).b, core_of(plain).b, atol=1e-9)
    np.testing.assert_allclose(core_of(plain).origin, X.mean(axis=0), atol=1e-12)


def test_samples_of_few_features_are_learned_alike_in_any_form():
    X, y = labelled(n=200, d=30, sparse=True)
    dense = OnlineSRDA(random_state=0).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    mixed = OnlineSRDA(random_state=0).partial_fit(sparse.csr_array(X[:50]), y[:50])
    assert_same(mixed.partial_fit(X[50:], y[50:]), dense, rtol=1e-12)
    kept = [core_of(each).samples()[0].toarray() for each in (dense, mixed)]
    np.testing.assert_array_equal(*kept)
    np.testing.assert_allclose(kept[0], X - X.mean(axis=0) + X.mean(axis=0) - core_of(dense).origin)


def test_merging_with_samples_about_0_is_about_0():
    X, y = wide(240)
    X[:120] += 3.0
    dense = OnlineSRDA(random_state=0, polish=False).partial_fit(X[:120], y[:120])
    outputs = dense.decision_function(X)
    about_0 = OnlineSRDA(random_state=0, polish=False).partial_fit(
        sparse.csr_array(X[120:]), y[120:]
    )
    merged = OnlineSRDA(random_state=0, polish=False).merge(dense, about_0)
    core = core_of(merged)
    assert core.origin is core.first is None
    np.testing.assert_allclose(core.energy, (X**2).sum(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(dense.decision_function(X), outputs)
    column = state_of(merged).column
    sums = [X[y == label].sum(axis=0) for label in merged.classes_]
    np.testing.assert_allclose(core.sums[:, column].T, sums, atol=1e-9)
    other = OnlineSRDA(random_state=0, polish=False).merge(about_0, dense)
    np.testing.assert_allclose(other.components_, merged.components_, atol=1e-10)


def test_moving_the_origin_leaves_outputs_and_sums_about_0():
    X, y = labelled(n=100, d=9)
    learner = OnlineSRDA(random_state=0, polish=False).partial_fit(X + 5.0, y)
    core = core_of(learner)
    before, kept = (X - core.origin + 5.0) @ core.W + core.b, core.samples()[0].toarray()
    there, s2 = core.origin, core.clock[2]
    core.move(np.full(9, 2.5))
    np.testing.assert_allclose((X + 2.5) @ core.W + core.b, before, atol=1e-10)
    np.testing.assert_allclose(core.samples()[0].toarray(), kept + there - 2.5, atol=1e-12)
    np.testing.assert_allclose(core.clock[2], ((X + 2.5) ** 2).sum(axis=1).mean(), rtol=1e-12)
    core.move(there)
    np.testing.assert_allclose(core.clock[2], s2, rtol=1e-10)
    np.testing.assert_allclose(X @ core.W + (5.0 - there) @ core.W + core.b, before, atol=1e-10)


def test_an_origin_is_saved(tmp_path):
    X, y = labelled(n=200, d=9)
    X += 50.0
    half = OnlineSRDA(random_state=0).partial_fit(X[:100], y[:100])
    narrows.save(half, tmp_path / "m.narrows")
    gone_on = narrows.load(tmp_path / "m.narrows").partial_fit(X[100:], y[100:])
    assert_same(gone_on, half.partial_fit(X[100:], y[100:]), rtol=0, atol=0)


def test_sparse_samples_that_become_wide_are_learned_about_0():
    X, y = wide(200)
    narrow = OnlineSRDA(random_state=0, polish=False).partial_fit(
        sparse.csr_array(X[:50, :20]), y[:50]
    )
    assert core_of(narrow).origin is not None
    before = narrow.decision_function(X[:, :20])
    widened(narrow, 90)
    assert core_of(narrow).origin is None
    only = np.hstack([X[:, :20], np.zeros((200, 70))])
    ratio = narrow.decision_function(only) / before  # of temperatures
    np.testing.assert_allclose(ratio, ratio.flat[0], rtol=1e-7)
    assert ratio.flat[0] == pytest.approx(1, abs=0.01)
    narrow.partial_fit(sparse.csr_array(X[50:]), y[50:])
    assert narrow.score_ > 0.4


def test_dense_samples_after_wide_sparse_ones_are_learned_about_0():
    X, y = wide()
    first = OnlineSRDA(random_state=0).partial_fit(sparse.csr_array(X[:60]), y[:60])
    second = OnlineSRDA(random_state=0).partial_fit(sparse.csr_array(X[:60]), y[:60])
    assert_same(
        first.partial_fit(X[60:], y[60:]),
        second.partial_fit(sparse.csr_array(X[60:]), y[60:]),
        rtol=1e-12,
    )
