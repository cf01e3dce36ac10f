"""OnlineSRDA where classes are registered, losses change, and numbers are extreme."""

from __future__ import annotations

import copy
import threading
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from narrows import OnlineSRDA
from tests.cases import arrays_of, labelled
from tests.inside import state_of
from tests.traced import interleaved, stopped


def by_label(**options):
    X, y = labelled(n=300, d=90, **options)
    order = np.argsort(y, kind="stable")
    return sparse.csr_array(X[order]), y[order]


def test_classes_of_an_empty_batch_are_kept():
    X, y = labelled()
    classes = [*np.unique(y), "zebra"]
    stream = OnlineSRDA().partial_fit(X[:0], y[:0], classes=classes)
    assert stream.partial_fit(X, y).classes_.tolist() == classes


@pytest.mark.slow
def test_a_batch_with_classes_that_is_stopped_is_not_learned():
    X, y = labelled()
    stream = OnlineSRDA().partial_fit(X[:30], y[:30])
    more = {"classes": [*np.unique(y), "zebra"]}
    done = copy.deepcopy(stream).partial_fit(X[30:], y[30:], **more)
    for left in stopped(stream, lambda stream: stream.partial_fit(X[30:], y[30:], **more), 25):
        learned = left.n_samples_seen_ > 30
        assert without_room(left) == without_room(done if learned else stream)


def without_room(estimator):
    """What it has learned, without the room behind the samples that are held."""
    room = {"state.arena", "state.arena_of"}
    return {name: a.tobytes() for name, a in arrays_of(estimator).items() if name not in room}


@pytest.mark.parametrize("verb", ["predict", "predict_proba", "decision_function"])
@pytest.mark.slow
def test_predictions_and_classes_are_of_one_moment(verb):
    """Another thread learns a new class while samples are classified."""
    X, y = labelled(n=90)
    shared = OnlineSRDA(random_state=0).partial_fit(X[y != "ant"], y[y != "ant"])
    expected = getattr(shared, verb)(X)
    samples = X[y == "ant"], y[y == "ant"]
    for share in (0.3, 0.5, 0.7, 0.9):  # before, it is not read yet
        model = copy.deepcopy(shared)
        learner = threading.Thread(target=model.partial_fit, args=samples)

        def meanwhile(learner=learner):
            learner.start()
            learner.join(0.2)  # it may have to wait

        found = interleaved(model, lambda model: getattr(model, verb)(X), share, meanwhile)
        learner.join(30)
        np.testing.assert_array_equal(found, expected)
        assert "ant" in model.classes_


def test_several_labels_are_read_after_all_of_them_decayed():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(3000, 4)), (rng.random((3000, 3)) < 0.4).astype(int)
    for half_life, reservoir in ((0.5, 1), (5.0, 100)):
        stream = OnlineSRDA(half_life=half_life, keep=reservoir, random_state=0)
        P = stream.partial_fit(X, Y).predict_proba(X)
        assert np.isfinite(P).all()
    _, _, weight = state_of(stream).core.samples()
    assert np.median(weight) > 1e-9  # samples of late are held


@pytest.mark.parametrize("scale", [1e-60, 1e80])
def test_a_sorted_stream_of_any_scale_is_solved_again(scale):
    X, y = by_label()
    plain = OnlineSRDA(random_state=0).partial_fit(X, y)
    scaled = OnlineSRDA(random_state=0).partial_fit(scale * X, y)
    np.testing.assert_allclose(scale * scaled.components_, plain.components_, rtol=1e-5, atol=1e-9)
    assert not np.allclose(plain.components_, state_of(plain).core.W.T)


@pytest.mark.parametrize("weight", [1e-90, 1e17, 1e90])
def test_a_sorted_stream_of_any_weight_is_solved_again(weight):
    X = np.repeat(np.eye(3, 70), 30, axis=0)  # no scatter within classes
    y = np.repeat([0, 1, 2], 30)
    stream = OnlineSRDA(random_state=0).partial_fit(sparse.csr_array(X), y, np.full(90, weight))
    assert np.isfinite(stream.transform(X)).all()
    assert np.isfinite(stream.predict_proba(X)).all()


def test_moves_of_the_origin_keep_no_copies():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 300)).astype(np.float32), rng.integers(0, 100, 2000)
    stream = OnlineSRDA(half_life=32, keep=50).partial_fit(X[:100], y[:100])
    tracemalloc.start()
    try:
        stream.partial_fit(X, y)  # 62 moves
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * state_of(stream).core.sums.nbytes
