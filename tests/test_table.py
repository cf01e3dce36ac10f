"""Sums that are kept as their non-zeros stay small, whatever is added to them."""

from __future__ import annotations

import copy
import threading
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from narrows import Moments
from tests.inside import pretend
from tests.traced import interleaved

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


def merge_a_dense_row(state):
    return state + Moments.of(dense_row(), [3], second=state.second)


def learn_a_dense_row(state):
    return state.copy().update(dense_row(), [3])


def merge_shards_of_one_class(state):
    X, y = wide_rows(12, seed=2)
    return sum((Moments.of(X[[i]], y[[i]], second=state.second) for i in range(12)), state)


def widen(state):
    return state.widen(D + 5)


def decay(state):
    return state.copy().fade(0.5, Moments.of(wide_rows(1, seed=1)[0], [3], second=state.second))


CHANGES = [merge_a_dense_row, learn_a_dense_row, decay, merge_shards_of_one_class, widen]


@pytest.mark.parametrize("second", [None, "class"])
@pytest.mark.parametrize("change", CHANGES)
def test_non_zeros_stay_non_zeros(change, second):
    state = Moments.of(*wide_rows(), second=second)
    as_array = 8 * CLASSES * D * (1 if second is None else 2)
    _ = state.sums  # sorts in what waits
    assert state.nbytes < as_array / 10
    expected = change(state).sums.copy()
    tracemalloc.start()
    changed = change(state)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert changed.nbytes < as_array / 10
    assert peak < as_array / 2
    np.testing.assert_array_equal(changed.sums, expected)


@pytest.mark.parametrize("second", [None, "total", "class"])
def test_sums_of_samples_that_came_dense_and_sparse_are_those_of_the_samples(second):
    X, y = wide_rows()
    T = np.append(y, 3)[:, None] == np.arange(CLASSES)
    rows = np.vstack([X.toarray(), dense_row()])
    for change in (learn_a_dense_row, merge_a_dense_row):
        state = change(Moments.of(X, y, second=second))
        np.testing.assert_allclose(state.sums, T.T @ rows)
        if second is not None:
            of = T if second == "class" else np.ones(len(rows))
            np.testing.assert_allclose(state.squares, of.T @ rows**2)


def test_what_is_dense_becomes_an_array():
    X, y = wide_rows()
    state = Moments.of(X, y)
    full = Moments.of(np.random.default_rng(0).normal(size=(CLASSES, D)), np.arange(CLASSES))
    merged = state + full
    assert merged.to_arrays()["tx"].shape == (CLASSES, D)
    np.testing.assert_allclose(merged.sums, state.sums + full.sums)


@pytest.mark.slow
def test_a_thread_that_sorts_in_while_another_reads_loses_nothing():
    X, y = wide_rows()
    expected = Moments.of(X, y).sums
    unread = Moments.of(X[:190], y[:190]).update(X[190:], y[190:])
    for share in np.linspace(0, 1, 40):
        state = copy.deepcopy(unread)
        other = threading.Thread(target=lambda state=state: state.sums)

        def meanwhile(other=other):
            other.start()
            other.join(timeout=0.2)  # it may have to wait

        arrays = interleaved(state, lambda state: state.to_arrays(), share, meanwhile)
        other.join(timeout=60)
        np.testing.assert_allclose(Moments.from_arrays(arrays).sums, expected)
