"""Interrupts, errors and threads: a model has learned whole blocks or batches, and goes on."""

from __future__ import annotations

import copy
import signal
import threading
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from narrows import IDRQR, IOC, OC, OCFS, PLS, SRDA, OnlineSRDA, Window, load, save
from narrows.river import OneByOne
from narrows.text import HashedTfidf, Tfidf
from tests.cases import STREAMED, assert_same, bytes_of, labelled
from tests.conftest import EVERYTHING, slow
from tests.forks import holds_in_a_fork
from tests.inside import Moments, pretend
from tests.traced import run_traced

MOMENTS = 60 if EVERYTHING else 8
streamed = pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.name)


def samples():
    return labelled(n=150, d=3)


def texts():
    rng = np.random.default_rng(0)
    words = np.array([f"word{k}" for k in range(300)])
    return np.array([" ".join(words[rng.integers(0, 300, 200)]) for _ in range(150)]), None


def seen(model):
    """How many samples a model has learned."""
    return getattr(model, "n_samples_seen_", getattr(model, "n_documents_", 0))


def assert_alike(a, b, X):
    """Two models say the same of themselves, and make the same of samples."""
    answers = []
    for model in (a, b):
        reduced = model.transform(X)
        reduced = reduced.toarray() if sparse.issparse(reduced) else reduced
        answers.append([seen(model), getattr(model, "class_count_", 0), reduced])
    for found, expected in zip(*answers, strict=True):
        scale = np.abs(expected).max(initial=1e-300)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * scale)


def learn(model, X, y, rows):
    return model.partial_fit(X[rows]) if y is None else model.partial_fit(X[rows], y[rows])


CASES = {
    "OnlineSRDA": (lambda: OnlineSRDA(keep=30, polish=False), samples),
    "PLS": (lambda: PLS(n_components=2), lambda: (samples()[0], samples()[0][:, :2].sum(axis=1))),
    "Window": (lambda: Window(OC(), samples=50), samples),
    "Tfidf": (Tfidf, texts),
    "HashedTfidf": (lambda: HashedTfidf(n_features=256), texts),
}


def of_case(case):
    X, y = case.labelled(n=150)
    return case.form(X), y


CASES |= {case.name: (case.new, partial(of_case, case)) for case in STREAMED}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*(gain margin|positive score|gains margin)")
@pytest.mark.parametrize("before", [0, 30])
@pytest.mark.parametrize("name", CASES)
def test_a_model_that_is_interrupted_has_learned_whole_blocks(name, before, monkeypatch):
    """Of the first call or a later one; compared with one fed what was learned."""
    pretend(monkeypatch, "small blocks")  # of texts
    pretend(monkeypatch, "tiny blocks")
    make, data = CASES[name]
    X, y = data()
    begun, handler = make(), signal.getsignal(signal.SIGINT)
    if before:
        learn(begun, X, y, slice(before))
    rest, found = slice(before, 150), set()
    lines = run_traced(lambda: learn(copy.deepcopy(begun), X, y, rest))
    for number in np.linspace(1, lines, MOMENTS).astype(int).tolist():
        model, expected = copy.deepcopy(begun), copy.deepcopy(begun)
        run_traced(lambda model=model: learn(model, X, y, rest), number)
        assert signal.getsignal(signal.SIGINT) is handler
        done = max(before, seen(model))
        found.add(done)
        if done > before:
            learn(expected, X, y, slice(before, done))
        then = slice(done, 150) if done < 150 else slice(100)
        assert_alike(learn(model, X, y, then), learn(expected, X, y, then), X[:50])
    assert before in found
    assert len(found) > 1


@pytest.mark.parametrize("estimator", [OC(), Window(OC(), 50)], ids=repr)
@pytest.mark.parametrize("before", [0, 30])
def test_an_interrupt_waits_until_sums_are_added(estimator, before, monkeypatch):
    """Also for a handler of one's own, which is called after the block."""
    pretend(monkeypatch, "tiny blocks")
    X, y = samples()
    model, add = clone(estimator).partial_fit(X[:before], y[:before]), Moments.add

    def interrupted(self, *args, **named):
        signal.raise_signal(signal.SIGINT)
        return add(self, *args, **named)

    counts = []
    with monkeypatch.context() as patch:
        patch.setattr(Moments, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[before:], y[before:])
        done = seen(model)
        assert done in (before, 150)
        handler = signal.signal(signal.SIGINT, lambda *given: counts.append(seen(model)))
        try:
            model.partial_fit(X[done:], y[done:])
        finally:
            signal.signal(signal.SIGINT, handler)
    assert set(counts) <= {done, 150}
    whole = clone(estimator).partial_fit(X[:before], y[:before]).partial_fit(X[before:], y[before:])
    assert_alike(model, whole, X)


class Full:
    """Samples for which there is no memory."""

    shape = (150, 3)

    def __array__(self, dtype=None, copy=None):
        raise MemoryError


@pytest.mark.parametrize("estimator", [OnlineSRDA(), IOC(), IDRQR(), OC(half_life=9)], ids=repr)
@pytest.mark.parametrize("wrong", ["nan", "label", "length", "memory"])
def test_an_error_in_a_later_block_leaves_everything_as_it_was(estimator, wrong, monkeypatch):
    pretend(monkeypatch, "tiny blocks")
    X, y = samples()
    bad, labels = X.copy(), y
    if wrong == "nan":
        bad[140, 1] = np.nan
    elif wrong == "label":
        labels = np.where(np.arange(150) < 140, y.astype(object), 7)
    elif wrong == "length":
        bad[140] = 1e200 if isinstance(estimator, IOC | IDRQR | OnlineSRDA) else np.inf
    else:
        bad = Full()
    fresh, begun = clone(estimator), clone(estimator).partial_fit(X[:30], y[:30])
    before = bytes_of(begun)
    for model in (fresh, begun):
        with pytest.raises((ValueError, TypeError, MemoryError)):
            model.partial_fit(bad, labels)
    assert bytes_of(begun) == before
    assert vars(fresh) == vars(clone(estimator))


@pytest.mark.parametrize("estimator", [OC(), slow(SRDA(alpha=1.0)), slow(IDRQR())])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(estimator):
    X, y = samples()
    done = clone(estimator).fit(X, y)
    lines = run_traced(lambda e=estimator: clone(e).fit(X, y))
    for number in np.linspace(1, lines, 8).astype(int).tolist():
        first, again = clone(estimator), copy.deepcopy(done)
        run_traced(lambda m=first: m.fit(X, y), number)
        run_traced(lambda m=again: m.fit(X[:100], y[:100]), max(1, number // 2))
        assert vars(first) == vars(clone(estimator)) or bytes_of(first) == bytes_of(done)
        assert bytes_of(again) == bytes_of(done)


def test_an_interrupt_of_one_dict_at_a_time_loses_none(monkeypatch):
    one, learn, interrupts = OneByOne(OC(), n_features=16, batch=10), OC.partial_fit, []

    def interrupted(self, *args, **named):
        if not interrupts:
            interrupts.append(None)
            raise KeyboardInterrupt
        return learn(self, *args, **named)

    monkeypatch.setattr(OC, "partial_fit", interrupted)
    for k in range(20):
        row = {"sea": 1.0, "salt": k % 7}, "water"
        try:
            one.learn_one(*row)
        except KeyboardInterrupt:
            one.learn_one(*row)
    assert len(interrupts) == 1
    assert one.estimator_.n_samples_seen_ == 20


def in_threads(functions):
    """Run each in a thread of its own; all have to come to an end."""
    threads = [threading.Thread(target=function, daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


@streamed
def test_threads_that_learn_with_one_estimator_lose_nothing(case):
    first = samples()
    estimator, times = case.new(), 8

    def learn():
        for _ in range(times):
            estimator.partial_fit(*first)

    in_threads([learn] * 4)
    once = case.new()
    for _ in range(4 * times):
        once.partial_fit(*first)
    assert estimator.n_samples_seen_ == once.n_samples_seen_ == 150 * 4 * times
    assert_same(estimator, once, rtol=1e-7)


class Waiting:
    """Samples that another thread waits for."""

    def __init__(self, X, wait):
        self.X, self.wait, self.shape = X, wait, X.shape

    def __array__(self, dtype=None, copy=None):
        self.wait()
        return self.X


def test_a_fork_while_another_thread_learns_can_learn():
    X, y = samples()
    estimator = OCFS().fit(X, y)
    assert holds_in_a_fork(
        lambda wait: estimator.partial_fit(Waiting(X, wait), y),
        lambda: estimator.partial_fit(X, y).n_samples_seen_ == 300,
    )


@streamed
def test_a_model_that_is_saved_waits_for_the_thread_that_learns(case, tmp_path):
    X, y = samples()
    estimator = case.new().partial_fit(X, y)
    held, saved = threading.Event(), threading.Event()

    def wait():
        held.set()
        assert not saved.wait(timeout=0.1)

    def write():
        held.wait(timeout=60)
        save(estimator, tmp_path / "model")
        saved.set()

    in_threads([lambda: estimator.partial_fit(Waiting(X, wait), y), write])
    assert load(tmp_path / "model").n_samples_seen_ == 300
