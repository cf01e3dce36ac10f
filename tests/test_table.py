"""Sums that are kept as their non-zeros stay small, whatever is added to them."""

from __future__ import annotations

import sys
import threading
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from narrows import OC, FisherFS, Moments
from tests.forks import holds_in_a_fork
from tests.inside import pretend
from tests.traced import SOURCE, AtLine, run_traced

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


def learn_with_a_half_life(state):
    X, _ = wide_rows(1, seed=1)
    fresh = Moments.of(X, [3], second=state.second)
    return state.copy().fade(0.5, fresh)


def merge_shards_of_one_class(state):
    X, y = wide_rows(12, seed=2)
    return sum((Moments.of(X[[i]], y[[i]], second=state.second) for i in range(12)), state)


def widen(state):
    return state.widen(D + 5)


@pytest.mark.parametrize("second", [None, "class"])
@pytest.mark.parametrize(
    "change",
    [
        merge_a_dense_row,
        learn_a_dense_row,
        learn_with_a_half_life,
        merge_shards_of_one_class,
        widen,
    ],
)
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


def test_sums_of_rows_that_came_dense_and_sparse_are_those_of_the_rows():
    X, y = wide_rows()
    rows = np.vstack([X.toarray(), dense_row()])
    labels = np.append(y, 3)
    for kind in (None, "total", "class"):
        state = learn_a_dense_row(Moments.of(X, y, second=kind))
        for other in (state, merge_a_dense_row(Moments.of(X, y, second=kind))):
            for j in (0, 3, 17):
                np.testing.assert_allclose(other.sums[j], rows[labels == j].sum(axis=0))
            if kind == "total":
                np.testing.assert_allclose(other.squares, (rows**2).sum(axis=0))
            elif kind == "class":
                np.testing.assert_allclose(other.squares[3], (rows[labels == 3] ** 2).sum(axis=0))


def test_shards_of_one_class_each_merge_to_their_non_zeros():
    X, y = wide_rows(12)
    shards = [OC().partial_fit(X[[i]], y[[i]]) for i in range(12)]
    merged = OC().merge(*shards)
    assert merged.moments_.nbytes < 12 * 8 * D / 4
    np.testing.assert_array_equal(merged.moments_.sums, X.toarray())


def test_what_is_dense_becomes_an_array():
    X, y = wide_rows()
    state = Moments.of(X, y)
    full = Moments.of(np.random.default_rng(0).normal(size=(CLASSES, D)), np.arange(CLASSES))
    merged = state + full
    assert merged.to_arrays()["tx"].shape == (CLASSES, D)
    np.testing.assert_allclose(merged.sums, state.sums + full.sums)


def test_a_half_life_leaves_the_state_of_a_stream_small():
    X, y = wide_rows()
    method = FisherFS(n_features=5, half_life=50.0)
    for start in range(0, 200, 10):
        method.partial_fit(X[start : start + 10], y[start : start + 10])
    assert method.moments_.nbytes < 8 * CLASSES * D / 4


@pytest.mark.slow
def test_a_thread_that_sorts_in_while_another_reads_loses_nothing():
    X, y = wide_rows()
    expected = Moments.of(X, y).sums

    def read(number):
        """The sums as `to_arrays` has them where another thread sorts in at that line of it."""
        state = Moments.of(X[:190], y[:190]).update(X[190:], y[190:])
        other, lines = threading.Thread(target=lambda: state.sums), []

        def trace(frame, event, arg):
            if not frame.f_code.co_filename.startswith(SOURCE):
                return None
            lines.extend([event] * (event == "line"))
            if len(lines) == number and not other.ident:
                other.start()
                other.join(timeout=0.2)  # it may have to wait
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            arrays = state.to_arrays()
        finally:
            sys.settrace(before)
        if other.ident:
            other.join(timeout=60)
        return len(lines), Moments.from_arrays(arrays).sums

    for number in range(1, read(0)[0] + 1):
        np.testing.assert_allclose(read(number)[1], expected, err_msg=str(number))


@pytest.mark.slow
def test_a_fork_while_another_thread_sorts_in_can_read():
    X, y = wide_rows()
    unread = Moments.of(X, y)
    read = unread.copy()
    for number in range(1, run_traced(lambda: read.sums), 2):
        state = unread.copy()

        def hold(wait, state=state, number=number):
            sys.settrace(AtLine(number, wait))
            _ = state.sums
            sys.settrace(None)

        assert holds_in_a_fork(hold, lambda state=state: state.sums.shape == (CLASSES, D)), number
