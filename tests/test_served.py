"""Threads: a model that one updates while others read it, and reading ahead."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone

from narrows import CCIPCA, LDA, OCFS, PLS, SRDA, ForwardFS, KernelSRDA, OnlineSRDA
from tests.cases import labelled
from tests.inside import interrupt_between, prefetch
from tests.traced import interleaved

CLASSIFIERS = [
    SRDA(), SRDA(alpha=1.0), LDA(), KernelSRDA(random_state=0), OnlineSRDA(random_state=0),
    OnlineSRDA(random_state=0, polish=False), OnlineSRDA(random_state=0, half_life=30.0),
]  # fmt: skip
OTHERS = [OCFS(n_features=2), CCIPCA(n_components=2), ForwardFS(n_features=2), PLS()]


def answers(model, X):
    names = ("transform", "predict", "predict_proba", "decision_function")
    found = {name: getattr(model, name)(X) for name in names if hasattr(model, name)}
    return {**found, "classes_": model.classes_} if "predict_proba" in found else found


def elsewhere(read, limit=60):
    """Return what another thread reads; None if it has to wait for longer than the limit."""
    found = []
    thread = threading.Thread(target=lambda: found.append(read()), daemon=True)
    thread.start()
    thread.join(limit)
    return found[0] if found else None


def assert_same(found, expected):
    assert found is not None, "it waited"
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def parts(estimator):
    """Return samples, and labels or targets, in three parts; the last has one more class."""
    X, y = labelled(n=120)
    rare = y == np.unique(y)[-1]
    order = np.argsort(rare, kind="stable")
    X, y = X[order], y[order]
    if isinstance(estimator, PLS):
        y = X.sum(axis=1)
    return [(X[a:b], y[a:b]) for a, b in ((0, 40), (40, 80), (80, 120))]


def during(model, part, share):
    """What another thread reads when an update by the part has come so far."""
    found = []
    interleaved(
        model, lambda model: model.partial_fit(*part), share,
        lambda: found.append(elsewhere(lambda: answers(model, part[0]), limit=5)),
    )  # fmt: skip
    return found[-1]  # of the model itself; before it, copies were traced


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *OTHERS], ids=repr)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_another_thread_does_not_wait_for_an_update(estimator, share):
    first, second, third = parts(estimator)
    X = third[0]
    model = clone(estimator).partial_fit(*first).partial_fit(*second)
    before = elsewhere(lambda: answers(model, X))
    assert_same(during(model, third, share), before)
    alone = clone(estimator).partial_fit(*first).partial_fit(*second).partial_fit(*third)
    assert_same(answers(model, X), answers(alone, X))
    assert_same(elsewhere(lambda: answers(model, X)), answers(alone, X))


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
def test_a_thread_that_updates_reads_its_update(estimator):
    first, second, third = parts(estimator)
    model, alone = clone(estimator).partial_fit(*first), clone(estimator).partial_fit(*first)
    stop = threading.Event()

    def read():
        while not stop.is_set():
            model.predict_proba(third[0])

    readers = [threading.Thread(target=read, daemon=True) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for X, y in (second, third, first):
            assert_same(answers(model.partial_fit(X, y), X), answers(alone.partial_fit(X, y), X))
    finally:
        stop.set()
        for reader in readers:
            reader.join(60)


def gone():
    """Wait until no reader is left."""
    until = time.monotonic() + 10
    while any(thread.name == "narrows-reader" for thread in threading.enumerate()):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def test_an_interrupt_while_waiting_comes_at_once():
    before, never = signal.getsignal(signal.SIGINT), threading.Event()

    def items():
        yield 1
        never.wait(60)

    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(interrupt_between(prefetch(items())))
    assert time.monotonic() - started < 10
    assert signal.getsignal(signal.SIGINT) is before
    never.set()
    assert gone()


@pytest.mark.parametrize("leave", [lambda reading: reading.close(), lambda reading: None])
def test_a_reader_that_is_left_ends_and_closes_what_it_read(leave):
    closed = threading.Event()

    def items():
        try:
            while True:
                yield 1
        finally:
            closed.set()

    reading = prefetch(items())
    assert next(reading) == 1
    leave(reading)
    del reading
    assert gone()
    assert closed.wait(10)
