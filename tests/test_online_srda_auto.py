"""OnlineSRDA(loss="auto"): two regressions side by side, and which of them is taken."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

import narrows
from narrows import OnlineSRDA
from narrows.errors import ParameterError
from tests.cases import arrays_of, assert_same, labelled
from tests.inside import state_of
from tests.solvers import HITS
from tests.traced import stopped


def by_loss(X, y, **parameters):
    return [
        OnlineSRDA(loss=loss, random_state=0, **parameters).partial_fit(X, y)
        for loss in ("squared", "softmax", "auto")
    ]


def bent(n=2000, seed=0):
    """Three clusters in a row, of which the middle one is between the others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return np.column_stack([4.0 * y, np.zeros(n)]) + rng.normal(size=(n, 2)), y


def test_both_losses_are_learned_as_each_alone():
    X, y = labelled(n=300, d=9, c=4)
    squared, softmax, auto = by_loss(X, y)
    state = state_of(auto)
    for core, alone in ((state.core, squared), (state.rival, softmax)):
        ours, theirs = core.to_arrays(), state_of(alone).core.to_arrays()
        for name, array in theirs.items():
            np.testing.assert_array_equal(ours[name], array, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("reservoir", [0, 50])
@pytest.mark.parametrize("half_life", [None, 30.0])
def test_samples_that_one_loss_alone_predicted_are_counted(half_life, reservoir):
    X, y = labelled(n=200, d=5, c=4)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 200)
    *alone, auto = (
        OnlineSRDA(loss=loss, half_life=half_life, reservoir=reservoir, random_state=0)
        for loss in ("squared", "softmax", "auto")
    )
    keep = 1.0 if half_life is None else 0.5 ** (1 / half_life)
    expected, hits, last = np.zeros(2), np.zeros(2), None
    for i in range(200):
        sample = X[i : i + 1], y[i : i + 1], weight[i : i + 1]
        before = hits
        hits = np.array([state_of(each.partial_fit(*sample)).core.clock[HITS] for each in alone])
        squared, softmax = hits > before
        if weight[i] > 0:
            alone_right = [squared and not softmax, softmax and not squared]
            expected = keep * expected + np.multiply(alone_right, y[i] != last)
            last = y[i]
        auto.partial_fit(*sample)
    np.testing.assert_allclose(state_of(auto).leads, expected, rtol=1e-12)
    at_once = OnlineSRDA(loss="auto", half_life=half_life, reservoir=reservoir, random_state=0)
    at_once.partial_fit(X, y, weight)
    np.testing.assert_allclose(state_of(at_once).leads, expected, rtol=1e-12)


def test_softmax_is_taken_where_a_class_is_between_others():
    X, y = bent()
    squared, softmax, auto = by_loss(X, y)
    assert auto.loss_ == "softmax"
    assert auto.score_ == softmax.score_ > squared.score_ + 0.1
    test, truth = bent(seed=1)
    np.testing.assert_array_equal(auto.predict(test), softmax.predict(test))
    np.testing.assert_array_equal(auto.components_, softmax.components_)
    # squared loss finds the class, too, by log posteriors of its outputs, but not by these alone
    outputs = squared.set_params(polish=False).score(test, truth)
    assert auto.score(test, truth) > outputs + 0.1


def test_squared_loss_is_taken_where_softmax_is_not_clearly_better():
    X, y = labelled(n=400, d=9)
    squared, _, auto = by_loss(X, y)
    assert auto.loss_ == "squared"
    assert auto.score_ == squared.score_
    np.testing.assert_array_equal(auto.components_, squared.components_)
    np.testing.assert_array_equal(auto.predict_proba(X), squared.predict_proba(X))


def test_a_sorted_stream_says_nothing_of_the_losses():
    X, y = labelled(n=2000, d=20, c=5)
    order = np.argsort(y, kind="stable")
    *_, auto = by_loss(X[order], y[order])
    assert state_of(auto).leads.sum() <= 5  # samples that are the first of their class
    assert auto.loss_ == "squared"


def test_digits_are_predicted_better_by_the_loss_that_is_chosen():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    assert OnlineSRDA(loss="auto").partial_fit(X[order], y[order]).score_ >= 0.91


def test_batches_files_and_merging(tmp_path):
    X, y = bent(600)
    whole = OnlineSRDA(loss="auto", random_state=0).partial_fit(X, y)
    part = OnlineSRDA(loss="auto", random_state=0).partial_fit(X[:250], y[:250])
    narrows.save(part, tmp_path / "m.narrows")
    gone_on = narrows.load(tmp_path / "m.narrows").partial_fit(X[250:], y[250:])
    assert_same(gone_on, whole, rtol=0, atol=0)
    np.testing.assert_allclose(state_of(gone_on).leads, state_of(whole).leads, rtol=1e-12)
    parts = [OnlineSRDA(loss="auto", random_state=0).partial_fit(X[k::2], y[k::2]) for k in (0, 1)]
    merged = OnlineSRDA(loss="auto", random_state=0).merge(*parts)
    np.testing.assert_array_equal(
        state_of(merged).leads, state_of(parts[0]).leads + state_of(parts[1]).leads
    )
    alone = [
        OnlineSRDA(loss="softmax", random_state=0).partial_fit(X[k::2], y[k::2]) for k in (0, 1)
    ]
    alone = OnlineSRDA(loss="softmax", random_state=0).merge(*alone)
    np.testing.assert_array_equal(state_of(merged).rival.W, state_of(alone).core.W)


@pytest.mark.slow
def test_an_update_that_is_stopped_changes_neither():
    X, y = bent(300)
    learner = OnlineSRDA(loss="auto", random_state=0).partial_fit(X[:200], y[:200])
    batch = X[200:], np.where(y[200:] == 2, 5, y[200:])  # and a new class
    done = copy.deepcopy(learner).partial_fit(*batch)
    for left in stopped(learner, lambda learner: learner.partial_fit(*batch), 40):
        learned = left.n_samples_seen_ > 200
        expected, found = arrays_of(done if learned else learner), arrays_of(left)
        for name, array in expected.items():
            if name.rpartition(".")[2] not in ("arena", "arena_of"):  # room behind the samples
                np.testing.assert_array_equal(found[name], array, err_msg=name)


def test_several_labels_have_squared_loss():
    X, _ = labelled(n=100)
    Y = (np.random.default_rng(0).random((100, 3)) < 0.4).astype(int)
    auto = OnlineSRDA(loss="auto", random_state=0).fit(X, Y)
    assert state_of(auto).rival is None
    assert auto.loss_ == "squared"
    assert_same(auto, OnlineSRDA(random_state=0).fit(X, Y), rtol=0, atol=0)
    auto.partial_fit(sparse.csr_array(X), Y)


def test_the_loss_cannot_become_auto_later():
    X, y = labelled(n=60)
    for before, after in (("squared", "auto"), ("auto", "softmax")):
        learner = OnlineSRDA(loss=before).partial_fit(X, y).set_params(loss=after)
        with pytest.raises(ParameterError, match=r"as at the start, got .*Use fit to start again"):
            learner.partial_fit(X, y)
        learner.fit(X, y)


def test_a_rival_of_other_samples_is_refused():
    X, y = bent(200)
    learner = OnlineSRDA(loss="auto", random_state=0).partial_fit(X, y)
    arrays = state_of(learner).to_arrays()
    for name, wrong in (
        ("softmax.W", arrays["softmax.W"][:1]),
        ("softmax.N", 2 * arrays["N"]),
        ("softmax.W", arrays["W"].astype(np.float32)),
        ("leads", np.array([-1.0, 0.0])),
    ):
        with pytest.raises(ValueError):
            type(state_of(learner)).from_arrays(arrays | {name: wrong})
    with pytest.raises(ValueError, match="how often each was ahead"):
        type(state_of(learner)).from_arrays({k: v for k, v in arrays.items() if k != "leads"})
