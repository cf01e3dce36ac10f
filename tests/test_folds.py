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


@pytest.fixture(params=["arrays", "non-zeros", "few non-zeros at a time"])
def tables(request, monkeypatch):
    if request.param != "arrays":
        pretend(monkeypatch, request.param)


def data(n=71):
    X, y = labelled(n=n, sparse=True)
    return X, y, np.random.default_rng(0).integers(0, 3, n) / 2


def several(y):
    """An indicator matrix: some samples have two labels, some none."""
    Y = (y[:, None] == np.unique(y)).astype(int)
    Y[::5, 0], Y[4::7] = 1, 0
    return Y


def learned(X, y, weight=None, **kind):
    """A pass, and the moments of samples that came in batches."""
    step = Pass(n_folds=K, **kind)
    state = step.empty(X.shape[1])
    for a, b in pairwise([0, 1, 1, 3, 14, 54, X.shape[0]]):
        state = step.add(state, X[a:b], y[a:b], None if weight is None else weight[a:b])
    return step, state


def assert_holds(m, X, y, w, second=None, keep=0, map=None):
    """What moments say is what NumPy computes of these samples."""
    assert m.n_samples == len(X)
    keys = hashes(X)
    X = X if map is None else (X != 0).astype(float)
    Y = (y if y.ndim == 2 else y[:, None] == m.classes) * w[:, None]
    np.testing.assert_allclose(m.counts, Y.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(m.sums, Y.T @ X, atol=1e-9)
    if second is not None:
        of = Y if second == "class" else Y.sum(axis=1)
        np.testing.assert_allclose(m.squares, of.T @ X**2, atol=1e-9)
    if second == "cross":
        np.testing.assert_allclose(m.cross, (X.T * Y.sum(axis=1)) @ X, atol=1e-9)
    if keep:
        pairs = [(key, j) for key, row in zip(keys, Y, strict=True) for j in np.flatnonzero(row)]
        kept = m.samples
        assert list(zip(kept.keys, kept.code, strict=True)) == sorted(set(pairs))[:keep]


@kinds
@forms
@pytest.mark.parametrize("labels", ["one", "weighted", "several"])
def test_every_fold_has_the_moments_of_every_kth_sample(kind, form, labels, tables):
    X, y, weight = data()
    y = several(y) if labels == "several" else y
    weight = weight if labels == "weighted" else np.ones(len(y))
    step, state = learned(form(X), y, weight, **kind)
    kind = {**kind, "keep": 0} if labels == "weighted" else kind  # weights of 0 are not kept
    again, read = Pass.of_arrays(step.to_arrays(state), step)
    assert (again.second, again.keep, again.n_folds) == (step.second, step.keep, K)
    for found in (state, read, pickle.loads(pickle.dumps(state))):
        for k, m in enumerate(found):
            assert_holds(m, X[k::K], y[k::K], weight[k::K], **kind)


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


def of_another_kind(arrays):
    step, state = learned(*data()[:2], second="class")
    other = {k: v for k, v in step.to_arrays(state).items() if k.startswith("fold1_")}
    return {k: v for k, v in arrays.items() if not k.startswith("fold1_")} | other


FORGED = {
    "two kinds": (of_another_kind, "one kind"),
    "one fold": (lambda a: a | {"folds": np.array(1)}, "folds"),
    "many folds": (lambda a: a | {"folds": np.array(1001)}, "folds"),
    "a fraction": (lambda a: a | {"folds": np.array(3.0)}, "type i8"),
    "a fold too many": (lambda a: a | {"folds": np.array(4)}, "got none"),
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
