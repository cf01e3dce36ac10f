"""An update is learned wholly or not at all, and in one thread at a time."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from scipy import sparse

from narrows import (
    CCIPCA,
    OC,
    OCFS,
    Moments,
    Window,
    load,
    save,
)
from narrows.river import OneByOne
from tests.cases import STREAMED, arrays_of, assert_same
from tests.conftest import EVERYTHING
from tests.forks import holds_in_a_fork
from tests.traced import run_traced

FORMS = {"dense": np.asarray, "sparse": sparse.csr_array}


def everything(estimator):
    """What an estimator has learned and its attributes, to the bit."""
    arrays = {name: array.tobytes() for name, array in arrays_of(estimator).items()}
    arena = {f"state.{name}": b"" for name in ("arena", "arena_of")}  # behind it is room
    names = getattr(estimator, "feature_names_in_", None)
    held = {name: arena.get(name, content) for name, content in arrays.items()}
    return held, estimator.n_features_in_, None if names is None else list(names)


def batches(form, n=90, d=12):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)) + 1.0, 0.0)
    y = np.array(["ant", "bee", "cat"])[np.arange(n) % 3]
    y[-5:] = "dog"  # a class of its own in the last batch
    return [(FORMS[form](X[k : k + 30]), y[k : k + 30]) for k in range(0, n, 30)]


def in_threads(functions):
    """Run each in a thread of its own; all have to come to an end."""
    threads = [threading.Thread(target=function, daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.slow
@pytest.mark.more
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.name)
def test_an_interrupt_at_any_line_leaves_all_of_a_batch_or_nothing(case, form):
    first, second, third = batches(form)
    if form == "sparse" and not case.takes_sparse:
        pytest.skip("dense samples only")
    for n_before in (1, 2):  # the next batch has known classes only, or a new one
        begun = [first, second][:n_before]
        X, y = [second, third][n_before - 1]

        def new(begun=begun):
            estimator = case.new()
            for batch in begun:
                estimator.partial_fit(*batch)
            return estimator

        read = new()
        for _ in range(2):  # the first may import and compile
            done = new()
            lines = run_traced(lambda done=done, X=X, y=y: done.partial_fit(X, y), 0)
        before, after = everything(read), everything(done)
        after_reading = everything(read.partial_fit(X, y))  # which adds samples up that waited
        rng = np.random.default_rng(n_before)
        some = min(12 if EVERYTHING else 4, lines - 1)
        for number in sorted(rng.choice(np.arange(1, lines), some, replace=False)):
            estimator = new()
            run_traced(lambda e=estimator, X=X, y=y: e.partial_fit(X, y), int(number))
            left = everything(estimator)
            assert left in (before, after), number
            if left == before:
                assert everything(estimator.partial_fit(X, y)) == after_reading


@pytest.mark.slow
@pytest.mark.more
@pytest.mark.parametrize("second", [None, "total", "class", "cross"])
@pytest.mark.parametrize("form", FORMS)
def test_an_interrupt_at_any_line_of_a_state_leaves_all_of_a_batch_or_nothing(form, second):
    first, then, third = batches(form)

    def arrays(state):
        return {name: array.tobytes() for name, array in state.to_arrays().items()}

    for X, y in (then, third, (third[0][:1], ["ant"])):
        before = arrays(Moments.of(*first, second=second))
        state = Moments.of(*first, second=second)
        lines = run_traced(lambda s=state, X=X, y=y: s.update(X, y))
        after = arrays(state)
        for number in range(1, lines, 3 if EVERYTHING else 11):
            state = Moments.of(*first, second=second)
            run_traced(lambda s=state, X=X, y=y: s.update(X, y), number)
            assert arrays(state) in (before, after), number


@pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.name)
def test_threads_that_learn_with_one_estimator_lose_nothing(case):
    first, *_ = batches("dense")
    estimator, times = case.new(), 8

    def learn():
        for _ in range(times):
            estimator.partial_fit(*first)

    in_threads([learn] * 4)
    once = case.new()
    for _ in range(4 * times):
        once.partial_fit(*first)
    assert estimator.n_samples_seen_ == once.n_samples_seen_ == 30 * 4 * times
    assert_same(estimator, once, rtol=1e-7)


def test_two_estimators_that_merge_each_other_do_not_wait_for_each_other():
    (X, y), *_ = batches("dense")
    a, b = OC().fit(X, y), OC().fit(X, y)
    both = threading.Barrier(2, timeout=60)

    def merge(one, other):
        for _ in range(50):
            both.wait(timeout=60)
            one.merge(other)

    in_threads([lambda: merge(a, b), lambda: merge(b, a)])


class Waiting:
    """Samples that another thread waits for."""

    def __init__(self, X, wait):
        self.X, self.wait, self.shape = X, wait, X.shape

    def __array__(self, dtype=None, copy=None):
        self.wait()
        return self.X


def test_a_fork_while_another_thread_learns_can_learn():
    (X, y), *_ = batches("dense")
    estimator = OCFS().fit(X, y)
    assert holds_in_a_fork(
        lambda wait: estimator.partial_fit(Waiting(X, wait), y),
        lambda: estimator.partial_fit(X, y).n_samples_seen_ == 60,
    )


@pytest.mark.nightly
@pytest.mark.more
@pytest.mark.parametrize("form", FORMS)
def test_a_window_takes_all_of_a_batch_or_nothing(form):
    first, second, third = batches(form)

    def new():
        return Window(OC(), samples=40).partial_fit(*first).partial_fit(*second)

    def known(window):
        return window.n_samples_seen_, window.estimator_.moments_.to_arrays()

    lines = run_traced(lambda: new())  # at least as many as of one batch
    before, after = known(new()), known(new().partial_fit(*third))
    for number in range(1, lines, 61 if EVERYTHING else 211):
        window = new()
        run_traced(lambda w=window: w.partial_fit(*third), number)
        found = known(window)
        expected = before if found[0] == before[0] else after
        for name, array in expected[1].items():
            np.testing.assert_array_equal(found[1][name], array)


class Interrupted(OC):
    """The first batch is interrupted before anything is learned."""

    interrupted = False

    def partial_fit(self, *args, **named):
        if not self.interrupted:
            self.interrupted = True
            raise KeyboardInterrupt
        return super().partial_fit(*args, **named)


def test_an_interrupt_of_one_dict_at_a_time_loses_none():
    rows = [({"sea": 1.0, "salt": k % 7}, "water") for k in range(20)]
    one = OneByOne(Interrupted(), n_features=16, batch=10)
    interrupts = 0
    for x, y in rows:
        try:
            one.learn_one(x, y)
        except KeyboardInterrupt:
            interrupts += 1
            one.learn_one(x, y)
    assert interrupts == 1
    assert one.estimator_.n_samples_seen_ == 20


def test_what_no_class_is_needed_for_is_whole_too():
    X = np.random.default_rng(0).normal(size=(40, 5))
    pca = CCIPCA().partial_fit(X)
    with pytest.raises(ValueError, match="NaN"):
        pca.partial_fit(np.full((3, 5), np.nan))
    assert pca.n_samples_seen_ == 40


@pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.name)
def test_a_model_that_is_saved_waits_for_the_thread_that_learns(case, tmp_path):
    first, *_ = batches("dense")
    estimator = case.new().partial_fit(*first)
    held, go_on, saved = threading.Event(), threading.Event(), threading.Event()

    def wait():
        held.set()
        go_on.wait(timeout=60)
        time.sleep(0.05)
        assert not saved.is_set()

    def hold():
        X, y = first
        estimator.partial_fit(Waiting(X, wait), y)

    def write():
        held.wait(timeout=60)
        go_on.set()
        save(estimator, tmp_path / "model")
        saved.set()

    in_threads([hold, write])
    assert load(tmp_path / "model").n_samples_seen_ == 60
