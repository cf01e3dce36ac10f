"""Passes in folds, each of which has the moments of every K-th sample, against NumPy."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from tests.cases import labelled
from tests.inside import Pass, Presence, SchemaError, pretend
from tests.oracles.hashes import hashes

K = 3
KINDS = {
    "first": {},
    "total": {"second": "total"},
    "class": {"second": "class"},
    "cross": {"second": "cross"},
    "presence": {"map": Presence(7)},
    "kept": {"second": "cross", "keep": 12},
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
FORMS = {"dense": np.asarray, "sparse": sparse.csr_array}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@pytest.fixture(params=["arrays", "non-zeros"])
def tables(request, monkeypatch):
    if request.param == "non-zeros":
        pretend(monkeypatch, "non-zeros")


def data(n=71, seed=0):
    X, y = labelled(n=n, seed=seed, sparse=True)
    return X, y, np.random.default_rng(seed).integers(0, 3, n) / 2


def several(y):
    """An indicator matrix: some samples have two labels, some none."""
    Y = (y[:, None] == np.unique(y)).astype(int)
    Y[::5, 0], Y[4::7] = 1, 0
    return Y


def learned(X, y, weight=None, sizes=(1, 0, 2, 11, 40), folds=K, half_life=None, **kind):
    """A pass, and the moments of samples that came in batches of these sizes, and the others."""
    step = Pass(n_folds=folds, half_life=half_life, **kind)
    state = step.empty(X.shape[1])
    for a, b in pairwise([0, *np.cumsum(sizes).tolist(), X.shape[0]]):
        state = step.add(state, X[a:b], y[a:b], None if weight is None else weight[a:b])
    return step, state


def assert_holds(m, X, y, weight=None, atol=1e-9, second=None, keep=0, map=None):
    """What moments say is what NumPy computes of these samples."""
    assert m.n_samples == len(X)
    w = np.ones(len(X)) if weight is None else weight
    keys = hashes(X)
    X = X if map is None else (X != 0).astype(float)
    Y = (y if y.ndim == 2 else y[:, None] == m.classes) * w[:, None]
    np.testing.assert_allclose(m.counts, Y.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(m.sums, Y.T @ X, atol=atol)
    if second == "class":
        np.testing.assert_allclose(m.squares, Y.T @ X**2, atol=atol)
    elif second is not None:
        np.testing.assert_allclose(m.squares, Y.sum(axis=1) @ X**2, atol=atol)
    if second == "cross":
        np.testing.assert_allclose(m.cross, (X.T * Y.sum(axis=1)) @ X, atol=atol)
    if keep:
        pairs = [(key, j) for key, row in zip(keys, Y, strict=True) for j in np.flatnonzero(row)]
        kept = m.samples
        assert list(zip(kept.keys, kept.code, strict=True)) == sorted(set(pairs))[:keep]


def assert_folds(state, X, y, weight=None, first=0, atol=1e-9, **kind):
    """The moments are those of the samples of each fold; `first` numbers the first sample."""
    assert sum(m.n_samples for m in state) == len(X)
    for k, m in enumerate(state):
        own = slice((k - first) % len(state), None, len(state))
        assert_holds(m, X[own], y[own], None if weight is None else weight[own], atol, **kind)


def assert_same(state, other):
    """The moments of all folds are equal to the bit."""
    for a, b in zip(state, other, strict=True):
        a, b = a.to_arrays(), b.to_arrays()
        assert a.keys() == b.keys()
        for name in a:
            np.testing.assert_array_equal(a[name], b[name], err_msg=name)


# -- learning --------------------------------------------------------------------------------------


@kinds
@forms
@pytest.mark.parametrize("labels", ["one", "weighted", "several"])
def test_every_fold_has_the_moments_of_every_kth_sample(kind, form, labels, tables):
    X, y, weight = data()
    y = several(y) if labels == "several" else y
    weight = weight if labels == "weighted" else None
    step, state = learned(form(X), y, weight, **kind)
    kind = {**kind, "keep": 0} if labels == "weighted" else kind  # weights of 0 are not kept
    assert_folds(state, X, y, weight, **kind)
    for _ in range(2):  # a table may be stored as its non-zeros, or as an array
        again, read = Pass.of_arrays(step.to_arrays(state), step)
        assert (again.second, again.keep, again.n_folds) == (step.second, step.keep, K)
        assert_folds(read, X, y, weight, **kind)
        assert_same(pickle.loads(pickle.dumps(state)), state)


def test_an_error_in_one_fold_changes_none():
    X, y, _ = data()
    step, state = learned(X, y, second="class")
    before, bad = step.to_arrays(step.summed([state])), X[:6].copy()
    bad[4, 2] = 1e300
    with pytest.raises(ValueError, match="in feature 2"):
        step.add(state, bad, y[:6])
    after = step.to_arrays(state)
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array, err_msg=name)


# -- adding up -------------------------------------------------------------------------------------


@kinds
@forms
def test_features_are_those_of_every_fold(kind, form):
    X, y, _ = data()
    step, state = learned(form(X), y, **kind)
    step, state = step.widened(state, 9)
    wide = np.pad(X, ((0, 0), (0, 2)))
    assert step.n_features(state) == 9
    kind = {**kind, "keep": 0}  # hashes are those of the narrow samples
    state = step.add(state, form(wide[:5]), y[:5])
    assert_folds(state, np.r_[wide, wide[:5]], np.r_[y, y[:5]], **kind)


# -- files -----------------------------------------------------------------------------------------


def of_another_kind(arrays):
    step, state = learned(*data()[:2], second="class")
    other = step.to_arrays(state)
    kept = {k: v for k, v in arrays.items() if not k.startswith("fold1_")}
    return kept | {k: v for k, v in other.items() if k.startswith("fold1_")}


FORGED = {
    "two kinds": (of_another_kind, "one kind"),
    "one fold": (lambda a: a | {"folds": np.array(1)}, "folds"),
    "many folds": (lambda a: a | {"folds": np.array(1001)}, "folds"),
    "a fraction": (lambda a: a | {"folds": np.array(3.0)}, "type i8"),
    "a fold too many": (lambda a: a | {"folds": np.array(4)}, "got none"),
    "an array less": (
        lambda a: {k: v for k, v in a.items() if not k.startswith("fold1_tx")}, "got none",
    ),
    "a class less": (lambda a: a | {"fold1_tt": a["fold1_tt"][:2]}, "tt"),
    "negative": (lambda a: a | {"fold1_tt": -a["fold1_tt"]}, "tt"),
    "narrow": (lambda a: a | {"fold2_tx": a["fold2_tx"][:, :4]}, "shape"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_arrays_are_refused(name):
    X, y, _ = data()
    step, state = learned(X, y, second="total")
    forge, word = FORGED[name]
    with pytest.raises((SchemaError, ValueError), match=word):
        Pass.of_arrays(forge(step.to_arrays(state)), Pass(n_folds=K, second="total"))


# -- an update that is interrupted -----------------------------------------------------------------


@forms
@pytest.mark.parametrize("kind", [{}, {"second": "total"}, {"second": "class"}], ids=str)
@pytest.mark.parametrize("labels", ["one", "several"])
def test_sparse_samples_are_added_a_few_entries_at_a_time(kind, form, labels, monkeypatch):
    X, y, weight = data()
    pretend(monkeypatch, "few non-zeros at a time")
    y = several(y) if labels == "several" else y
    wide = np.pad(X, ((0, 0), (0, 500)))
    assert_folds(learned(form(wide), y, weight, **kind)[1], wide, y, weight, **kind)
