"""Ctrl-C at any moment leaves a model that has learned a whole number of blocks, and goes on."""

from __future__ import annotations

import copy
import signal
import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from narrows import IDRQR, IOC, OC, PLS, SRDA, ForwardFS, KernelSRDA, OnlineSRDA, Window
from narrows.river import OneByOne
from narrows.text import HashedTfidf, Tfidf
from tests.cases import bytes_of
from tests.conftest import EVERYTHING, slow
from tests.inside import pretend
from tests.traced import AtLine, run_traced

MOMENTS = 200 if EVERYTHING else 12


def samples(n=2000, d=20, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(4, d))[y]
    return X, np.array(["ant", "bee", "cat", "dog"])[y]


def sparse_samples():
    X, y = samples()
    return sparse.csr_array(np.where(X > 1.0, X, 0.0)), y


def numbers():
    X, _ = samples()
    return X, X[:, :5].sum(axis=1)


def texts(n=2000):
    rng = np.random.default_rng(0)
    words = np.array([f"word{k}" for k in range(300)])
    return [" ".join(words[rng.integers(0, 300, 20)]) for _ in range(n)], None


def seen(model):
    """How many samples a model has learned."""
    for name in ("n_samples_seen_", "n_documents_"):
        if hasattr(model, name):
            return getattr(model, name)
    return 0


def interrupted(act, delay):
    """Run a function that gets SIGINT after so many seconds; say whether it ended before that."""
    sent, main = threading.Event(), threading.get_ident()

    def send():
        end = time.perf_counter() + delay
        while time.perf_counter() < end:
            time.sleep(0.0001)
        sent.set()
        signal.pthread_kill(main, signal.SIGINT)

    sender = threading.Thread(target=send, daemon=True)
    ended = False
    try:
        sender.start()
        act()
        ended = True
        sent.wait(timeout=60)
        sender.join(timeout=60)
        time.sleep(0.01)
    except KeyboardInterrupt:
        sender.join(timeout=60)
        return ended
    raise AssertionError("an interrupt was lost")


def answers(model, X):
    """What a model makes of samples, and what it says of itself."""
    found = {"seen": np.array(seen(model)), "X": model.transform(X)}
    for name in ("scores_", "class_count_"):
        if hasattr(model, name):
            found[name] = getattr(model, name)
    if hasattr(model, "predict"):
        found["y"] = model.predict(X)
    return found


def assert_alike(a, b, X):
    a, b = answers(a, X), answers(b, X)
    assert a.keys() == b.keys()
    for name, expected in b.items():
        found = a[name].toarray() if sparse.issparse(a[name]) else a[name]
        expected = expected.toarray() if sparse.issparse(expected) else expected
        if expected.dtype.kind == "f":
            scale = np.abs(expected).max(initial=1e-300)
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * scale)
        else:
            np.testing.assert_array_equal(found, expected)


def learn(model, X, y, rows):
    return model.partial_fit(X[rows]) if y is None else model.partial_fit(X[rows], y[rows])


CASES = {
    "OC": (OC, sparse_samples),
    "SRDA": (lambda: SRDA(alpha=1.0), samples),
    "OnlineSRDA": (lambda: OnlineSRDA(keep=30, polish=False), samples),
    "OnlineSRDA, sparse": (lambda: OnlineSRDA(polish=False, half_life=500), sparse_samples),
    "IOC": (lambda: IOC(n_components=2), samples),
    "IDRQR": (IDRQR, samples),
    "KernelSRDA": (lambda: KernelSRDA(n_hidden=20, alpha=1.0), samples),
    "PLS": (lambda: PLS(n_components=2), numbers),
    "ForwardFS": (lambda: ForwardFS(n_features=3), samples),
    "Window": (lambda: Window(OC(), samples=500), samples),
    "Tfidf": (Tfidf, texts),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_model_that_is_interrupted_has_learned_whole_blocks(name, monkeypatch):
    """At random moments, the first call and a later one; compared with one fed what was learned."""
    pretend(monkeypatch, "small blocks")
    make, data = CASES[name]
    X, y = data()
    n, handler = len(X) if y is None else len(y), signal.getsignal(signal.SIGINT)
    rng = np.random.default_rng(0)
    begun = {0: make(), 300: learn(make(), X, y, slice(300))}
    lengths, found = [], []
    for _ in range(3):
        one, start = copy.deepcopy(begun[300]), time.perf_counter()
        learn(one, X, y, slice(300, n))
        lengths.append(time.perf_counter() - start)
    for k in range(MOMENTS):
        before = 300 * (k % 2)
        model, expected = (copy.deepcopy(begun[before]) for _ in range(2))
        delay = max(0.0, rng.uniform(-0.05, 1.1) * min(lengths)) * bool(k)
        interrupted(lambda m=model, b=before: learn(m, X, y, slice(b, n)), delay)
        assert signal.getsignal(signal.SIGINT) is handler
        done = max(before, seen(model))
        found.append((done - before) / (n - before))
        if done > before:
            learn(expected, X, y, slice(before, done))
        rest = slice(done, n) if done < n else slice(100)
        assert_alike(learn(model, X, y, rest), learn(expected, X, y, rest), X[:50])
    assert min(found) < 1


@pytest.mark.slow
def test_a_loop_over_a_pipeline_goes_on_where_it_was_interrupted(monkeypatch):
    pretend(monkeypatch, "small blocks")
    given, _ = texts(1000)
    labels = np.array(["sea", "land"])[[int("word7 " in text) for text in given]]

    def loop(pipeline):
        counts, oc, machine = (step for _, step in pipeline.steps)
        for end in range(200, 1001, 200):
            counts.partial_fit(given[seen(counts) : end])
            if seen(oc) < end:
                rows = slice(seen(oc), end)
                oc.partial_fit(counts.transform(given[rows]), labels[rows])
        machine.fit(oc.transform(counts.transform(given)), labels)

    def new():
        return make_pipeline(HashedTfidf(n_features=256), OC(), LinearDiscriminantAnalysis())

    whole, start = new(), time.perf_counter()
    loop(whole)
    lasted, rng = time.perf_counter() - start, np.random.default_rng(0)
    for _ in range(MOMENTS):
        pipeline = new()
        interrupted(lambda p=pipeline: loop(p), rng.uniform(0, lasted))
        loop(pipeline)
        np.testing.assert_allclose(pipeline.transform(given), whole.transform(given), rtol=1e-10)
        assert seen(pipeline[0]) == seen(pipeline[1]) == 1000


@pytest.mark.parametrize("learned", [30, slow(0)])
@pytest.mark.parametrize(
    "estimator", [OnlineSRDA(keep=9), IOC(n_components=1), slow(IDRQR()), slow(OC())], ids=repr
)
def test_an_interrupt_waits_for_the_block_at_hand(estimator, learned, monkeypatch):
    pretend(monkeypatch, "tiny blocks")
    X, y = samples(n=150, d=3)
    begun = clone(estimator)
    if learned:
        begun.partial_fit(X[:learned], y[:learned])
    lines = run_traced(lambda: copy.deepcopy(begun).partial_fit(X, y))
    found = set()
    for number in np.linspace(1, lines, 12 if EVERYTHING else 6).astype(int).tolist():
        model, expected = copy.deepcopy(begun), copy.deepcopy(begun)
        run_traced(lambda model=model: model.partial_fit(X, y), number)
        done = seen(model) - learned
        found.add(done)
        if done:
            expected.partial_fit(X[:done], y[:done])
            assert_alike(model, expected, X)
        assert_alike(
            model.partial_fit(X[done:], y[done:]), expected.partial_fit(X[done:], y[done:]), X
        )
    assert {0, 150} <= found
    assert len(found) > 2 or isinstance(estimator, OC)  # which adds all of them at once


@pytest.mark.parametrize(
    "estimator", [OnlineSRDA(), IOC(), IDRQR(), OC(), SRDA(alpha=1.0)], ids=repr
)
@pytest.mark.parametrize("wrong", ["nan", "label", "length", "memory"])
def test_an_error_in_a_later_block_leaves_everything_as_it_was(estimator, wrong, monkeypatch):
    pretend(monkeypatch, "tiny blocks")
    X, y = samples(n=150, d=3)

    class Full:
        shape = (150, 3)

        def __array__(self, dtype=None, copy=None):
            raise MemoryError

    bad, labels = X.copy(), y
    if wrong == "nan":
        bad[140, 1] = np.nan
    elif wrong == "label":
        labels = np.where(np.arange(150) < 140, y.astype(object), 7)
    elif wrong == "length":
        bad[140] = 1e200
        if not isinstance(estimator, IOC | IDRQR | OnlineSRDA):
            pytest.skip("such sums are finite")
    else:
        bad = Full()
    fresh, begun = clone(estimator), clone(estimator).partial_fit(X[:30], y[:30])
    before = bytes_of(begun)
    for model in (fresh, begun):
        with pytest.raises((ValueError, TypeError, MemoryError)):
            model.partial_fit(bad, labels)
    assert bytes_of(begun) == before
    assert vars(fresh) == vars(clone(estimator))


def test_a_handler_of_ones_own_is_called_after_the_block():
    """Also one that raises no error, and only once for an impatient user."""
    X, y = samples(n=200, d=3)
    model, counts = OC().partial_fit(X, y).partial_fit(X, y), []
    handler = signal.signal(signal.SIGINT, lambda *given: counts.append(seen(model)))
    try:
        ours = signal.getsignal(signal.SIGINT)
        lines = run_traced(lambda: model.partial_fit(X, y))
        at = AtLine(lines - 12, lambda: [signal.raise_signal(signal.SIGINT) for _ in range(3)])
        before = sys.gettrace()
        sys.settrace(at)
        try:
            model.partial_fit(X, y)
        finally:
            sys.settrace(before)
        assert signal.getsignal(signal.SIGINT) is ours
    finally:
        signal.signal(signal.SIGINT, handler)
    assert seen(model) == 800
    assert counts
    assert set(counts) <= {600, 800}


@pytest.mark.parametrize("estimator", [OC(), slow(SRDA(alpha=1.0)), slow(IDRQR())])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(estimator):
    X, y = samples(n=150, d=3)
    done = clone(estimator).fit(X, y)
    lines = run_traced(lambda e=estimator: clone(e).fit(X, y))
    for number in np.linspace(1, lines, 8).astype(int).tolist():
        first, again = clone(estimator), copy.deepcopy(done)
        run_traced(lambda m=first: m.fit(X, y), number)
        run_traced(lambda m=again: m.fit(X[:100], y[:100]), max(1, number // 2))
        assert vars(first) == vars(clone(estimator)) or bytes_of(first) == bytes_of(done)
        assert bytes_of(again) == bytes_of(done)


def test_an_interrupt_of_dicts_learns_none_twice(monkeypatch):
    """The call is made again unless `n_samples_seen_` says that its sample was learned."""
    rows = [({"sea": 1.0, "salt": k % 7}, "water") for k in range(40)]
    one = OneByOne(OC(), n_features=16, batch=10)
    for row in rows[:20]:
        one.learn_one(*row)
    lines = run_traced(lambda: [copy.deepcopy(one).learn_one(*row) for row in rows[20:30]])
    for number in np.linspace(1, lines - 1, 20).astype(int).tolist():
        model, done = copy.deepcopy(one), 20

        def learn(model=model):
            nonlocal done
            for row in rows[done:30]:
                model.learn_one(*row)
                done += 1

        run_traced(learn, number)
        if seen(model.estimator_) == 30:
            done = 30
        learn()
        assert seen(model.estimator_) == 30
