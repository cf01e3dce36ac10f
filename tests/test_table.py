"""Sums that are kept as their non-zeros stay small, whatever is added to them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from narrows import Moments
from tests.inside import pretend

D, CLASSES = 20_000, 40


@pytest.fixture(autouse=True)
def _small_is_smaller(monkeypatch):
    pretend(monkeypatch, "small tables", D)  # that of one class is an array, of two is not


def wide_rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, D), density=2e-4, format="csr", random_state=rng)
    return X, np.arange(n) % CLASSES


def dense_row():
    row = np.zeros((1, D))
    row[0, ::500] = 2.0
    return row


def merged(state, X, y):
    """With a state of each sample."""
    parts = (Moments.of(X[[i]], y[[i]], second=state.second) for i in range(len(y)))
    return sum(parts, state)


def learned(state, X, y):
    return state.copy().update(X, y)


def faded(state, X, y):
    return state.copy().fade(0.5, Moments.of(X, y, second=state.second))


CHANGES = [
    (merged, dense_row(), np.array([3]), 1),
    (learned, dense_row(), np.array([3]), 1),
    (merged, *wide_rows(12, seed=2), 1),
    (faded, *wide_rows(1, seed=1), 0.5),
]


@pytest.mark.parametrize("second", [None, "total", "class"])
@pytest.mark.parametrize(("change", "rows", "labels", "factor"), CHANGES)
def test_non_zeros_stay_non_zeros(change, rows, labels, factor, second):
    X, y = wide_rows()
    state = Moments.of(X, y, second=second)
    as_array = 8 * CLASSES * D * (2 if second == "class" else 1)
    _ = state.sums  # sorts in what waits
    change(state, rows, labels)
    tracemalloc.start()
    changed = change(state, rows, labels).widen(D + 5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < as_array / 2
    assert max(state.nbytes, changed.nbytes) < as_array / 10
    T = (np.append(y, labels)[:, None] == np.arange(CLASSES)) * 1.0
    T[:200] *= factor
    Z = sparse.vstack([X, sparse.csr_array(rows)]).toarray()
    np.testing.assert_allclose(changed.sums[:, :D], T.T @ Z)
    assert not changed.sums[:, D:].any()
    if second is not None:
        of = T if second == "class" else T.sum(axis=1)
        np.testing.assert_allclose(changed.squares[..., :D], of.T @ Z**2)


def test_what_is_dense_becomes_an_array():
    X, y = wide_rows()
    state = Moments.of(X, y)
    full = Moments.of(np.random.default_rng(0).normal(size=(CLASSES, D)), np.arange(CLASSES))
    merged = state + full
    assert merged.to_arrays()["tx"].shape == (CLASSES, D)
    np.testing.assert_allclose(merged.sums, state.sums + full.sums)
