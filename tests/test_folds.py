"""States in folds: each fold against a state of every K-th sample, and the sum against all."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from narrows import OC, ClassStats
from narrows.engines.learn import from_bytes, to_bytes
from narrows.moments.first import First
from narrows.solve.errors import ParameterError
from narrows.solve.schema import SchemaError
from tests.test_stats import assert_equal

K = 5
KINDS = [
    {"second": second, "presence": presence}
    for second in (None, "total", "class", "cross")
    for presence in (False, True)
]
kinds = pytest.mark.parametrize("kind", [*KINDS, {"second": "cross", "kept": 20}], ids=str)
forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def samples(n=103, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 9)) * (rng.random((n, 9)) < 0.6) + 3.0
    X[rng.random((n, 9)) < 0.3] = 0.0
    return X, np.array(list("abcd"))[rng.integers(0, 4, n)], rng.integers(1, 4, n).astype(float)


def assert_folds(found, X, y, weight, form, kind, first=0, form_y=lambda y: y):
    """Each fold is the state of its samples, and the state that of all."""
    assert_equal(found, ClassStats.of(form(X), form_y(y), weight, **kind))
    number = (first + np.arange(len(X))) % K
    for k in range(K):
        some = number == k
        alone = ClassStats.of(form(X[some]), form_y(y[some]), weight[some], **kind)
        fold = found.fold(k)
        assert fold.folds is None
        assert fold.n_samples == some.sum()
        np.testing.assert_array_equal(fold.classes, found.classes)
        seen = fold.counts > 0
        np.testing.assert_array_equal(fold.classes[seen], alone.classes[alone.counts > 0])
        for name in ("counts", "sums", "means"):
            mine, theirs = getattr(fold, name), getattr(alone, name)
            np.testing.assert_allclose(mine[seen], theirs[alone.counts > 0], 1e-10, 1e-10)
        if kind["second"] == "cross":
            np.testing.assert_allclose(fold.cross, alone.cross, 1e-10, 1e-8)
        elif kind["second"] == "total":
            np.testing.assert_allclose(fold.squares, alone.squares, 1e-10, 1e-10)


@kinds
@forms
def test_samples_go_to_folds_by_their_numbers_whatever_the_batches(form, kind):
    X, y, weight = samples()
    found = ClassStats(9, folds=K, **kind)
    for start, stop in ((0, 3), (3, 3), (3, 50), (50, 51), (51, 103)):
        found.update(form(X[start:stop]), y[start:stop], weight[start:stop])
    assert_folds(found, X, y, weight, form, kind)
    assert found.folds == K


@forms
def test_a_sample_of_several_labels_is_in_one_fold(form):
    X, _, weight = samples()
    Y = np.random.default_rng(1).integers(0, 2, (103, 3))
    found = ClassStats.of(form(X), Y, weight, second="class", folds=K)
    assert_folds(found, X, Y, weight, form, {"second": "class"})


@kinds
@forms
def test_sums_are_those_of_the_folds(form, kind):
    X, y, weight = samples()
    a = ClassStats.of(form(X[:60]), y[:60], weight[:60], folds=K, **kind)
    b = ClassStats.of(form(X[60:]), y[60:], weight[60:], folds=K, **kind)
    assert_folds(a + b, X, y, weight, form, kind)  # 60 is a multiple of K
    assert_folds((a + b) - b, X[:60], y[:60], weight[:60], form, kind)
    assert_folds(sum([a, b]), X, y, weight, form, kind)
    assert_folds(a * 2.0, X[:60], y[:60], 2 * weight[:60], form, kind)
    changed = a.copy()
    changed += b
    changed -= b
    assert_folds(changed, X[:60], y[:60], weight[:60], form, kind)
    assert_folds(copy.deepcopy(a), X[:60], y[:60], weight[:60], form, kind)
    assert_folds(pickle.loads(pickle.dumps(a)), X[:60], y[:60], weight[:60], form, kind)


@kinds
def test_decay_goes_on_with_the_numbers(kind):
    X, y, _ = samples()
    found, one = ClassStats(9, folds=K, **kind), ClassStats(9, **kind)
    for start, stop in ((0, 33), (33, 60), (60, 103)):
        for state in (found, one):
            fresh = state.emptied().update(X[start:stop], y[start:stop])
            state.fade(0.5 ** (stop - start), fresh * 2.0)
    assert_equal(found, one)
    weight = np.repeat([2 * 0.5**70, 2 * 0.5**43, 2.0], [33, 27, 43])
    n = np.array([weight[k::K].sum() for k in range(K)])
    np.testing.assert_allclose([found.fold(k).n for k in range(K)], n)


def test_a_class_that_is_gone_is_gone_from_all_folds():
    X, y, _ = samples()
    found, one = (ClassStats.of(X, y, folds=folds) for folds in (K, None))
    more = np.full(40, "z")
    for state in (found, one):
        state.fade(1e-13, state.emptied().update(X[:40], more))
    np.testing.assert_array_equal(found.counts, one.counts)
    assert (found.counts > 0).sum() == 1


@kinds
@forms
def test_features_are_appended_and_cut_in_every_fold(form, kind):
    X, y, weight = samples()
    found = ClassStats.of(form(X), y, weight, folds=K, **kind)
    wide = np.hstack([X, np.zeros((103, 3))])
    assert_folds(found.widen(12), wide, y, weight, form, kind)
    assert_folds(found.cut(slice(2, 5)), X[:, 2:5], y, weight, form, kind)
    if kind["second"] != "cross":
        parts = [found.cut(slice(0, found.middle())), found.cut(slice(found.middle(), None))]
        assert_folds(ClassStats.beside(parts), X, y, weight, form, kind)


@kinds
def test_a_state_in_folds_survives_storage(kind):
    X, y, weight = samples()
    found = ClassStats.of(X[:60], y[:60], weight[:60], folds=K, **kind)
    for again in (
        ClassStats.from_arrays(found.to_arrays()),
        from_bytes(to_bytes(found), ClassStats.from_arrays),
    ):
        again.update(X[60:], y[60:], weight[60:])
        assert_folds(again, X, y, weight, np.asarray, kind)


def test_registered_classes_are_those_of_all_folds():
    found = ClassStats(9, folds=K)
    found.register(np.array(["a", "x"]))
    found.update(*samples()[:2])
    assert found.classes[found.known].tolist() == ["a", "b", "c", "d", "x"]


def test_a_reduced_state_has_the_folds():
    X, y, weight = samples()
    found = ClassStats.of(X, y, weight, second="cross", folds=K)
    assert_folds(found.reduced("total"), X, y, weight, np.asarray, {"second": "total"})
    assert OC().fit_stats(found).n_samples_seen_ == 103


@forms
@pytest.mark.parametrize("fails_at", range(1, K + 1))
def test_an_update_that_fails_changes_no_fold(monkeypatch, form, fails_at):
    X, y, weight = samples()
    found = ClassStats.of(form(X), y, weight, second="total", folds=K)
    before = {name: array.copy() for name, array in found.to_arrays().items()}
    update, calls = First.update, []

    def failing(self, batch):
        calls.append(None)
        if len(calls) == fails_at:
            raise KeyboardInterrupt
        update(self, batch)

    monkeypatch.setattr(First, "update", failing)
    with pytest.raises(KeyboardInterrupt):
        found.update(form(X), np.where(y == "a", "new", y), weight)
    after = found.to_arrays()
    assert after.keys() == before.keys()
    for name in before:
        np.testing.assert_array_equal(after[name], before[name])
    assert found.classes.tolist() == list("abcd")


@pytest.mark.parametrize("folds", [0, 1, 1001, 2.0, True, "5", -3])
def test_a_number_of_folds_that_is_none_is_refused(folds):
    with pytest.raises(ParameterError, match="ClassStats: expected folds to be an integer from 2"):
        ClassStats(3, folds=folds)


def test_messages():
    X, y, _ = samples()
    five, seven, none = (ClassStats.of(X, y, folds=folds) for folds in (5, 7, None))
    for other in (seven, none):
        with pytest.raises(ValueError, match="expected states of one kind, got folds=5 and folds="):
            five + other
    with pytest.raises(ValueError, match="expected the number of one of 5 folds, got 5"):
        five.fold(5)
    with pytest.raises(ValueError, match="expected the number of one of 0 folds, got 0"):
        none.fold(0)
    later = ClassStats.of(X[1:], y[1:], folds=5)  # every sample in the fold before its own
    with pytest.raises(ValueError, match="samples to subtract that are in the same folds"):
        ClassStats.of(X[:7], y[:7], folds=5) - ClassStats.of(X[1:3], y[1:3], folds=5)
    with pytest.raises(ValueError, match="expected to subtract a weight of at most"):
        five - later * 2.0
    assert "folds=5" in repr(five)
    assert "folds" not in repr(none)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("folds", np.array(4000)),
        ("folds", np.array(1)),
        ("folds", np.array(6)),
        ("next", np.array(-1)),
        ("fold2_classes", np.array([0, 1, 2, 9])),
        ("fold2_classes", np.array([-1, 1, 2, 3])),
        ("fold2_classes", np.array([0.0, 1.0, 2.0, 3.0])),
        ("fold2_classes", np.array([3, 2, 1, 0])),
        ("fold2_counts", np.array([1.0, np.nan, 1.0, 1.0])),
        ("fold2_presence", np.array(True)),
        ("fold2_sums", np.zeros((4, 3))),
    ],
)
def test_forged_folds_are_refused(name, value):
    arrays = ClassStats.of(*samples()[:2], folds=K).to_arrays()
    with pytest.raises(SchemaError):
        ClassStats.from_arrays(arrays | {name: value})


def test_fewer_samples_than_folds():
    X, y, weight = samples()
    found = ClassStats.of(X[:3], y[:3], weight[:3], folds=K)
    assert_folds(found, X[:3], y[:3], weight[:3], np.asarray, {"second": None})
    assert found.fold(4).n == 0
    empty = ClassStats(9, folds=K)
    assert (empty.n, empty.n_samples, len(empty.classes)) == (0.0, 0, 0)
