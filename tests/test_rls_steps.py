"""What the steps of OnlineSRDA count beside W: class sums, first moments, correct predictions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import narrows
from narrows import OnlineSRDA
from tests.cases import labelled
from tests.inside import state_of
from tests.oracles.online_srda import online_srda
from tests.solvers import FACTOR, REPLAYS, DiagonalRLS, from_arrays, to_arrays
from tests.solvers import RuleOfRegression as Rule

forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def core_of(estimator):
    return state_of(estimator).core


def sums_of(estimator):
    """The decayed class sums about 0, in the order of `classes_`."""
    return raw_sums(core_of(estimator))[:, state_of(estimator).live]


def raw_sums(core):
    origin = np.zeros(core.n_features) if core.origin is None else core.origin
    return core.clock[FACTOR] * core.sums + origin[:, None] * core.N[0]


def expected(X, T, weight=None, half_life=None):
    """The sum of w x of each class; all weights decay with each sample of positive weight."""
    weight = np.ones(len(X)) if weight is None else weight
    age = np.cumsum((weight > 0)[::-1])[::-1] - (weight > 0)
    decay = 1.0 if half_life is None else 0.5 ** (age / half_life)
    return ((weight * decay)[:, None] * X).T @ T


def indicators(y):
    return (y[:, None] == np.unique(y)).astype(float)


def learned(core, X, T, rule, **options):
    """Let a core learn samples with targets T."""
    Y = sparse.csr_array(T)
    weight = options.pop("weight", np.ones(len(T)))
    core.learn(X, (Y.indptr, Y.indices, weight), rule, **options)
    return core


def bits(core):
    arrays = {name: array.tobytes() for name, array in to_arrays(core).items()}
    return arrays | {"arena": b"", "arena_of": b""}  # behind what is in use there is room


# -- class sums ----------------------------------------------------------------------------------


@forms
@pytest.mark.parametrize("half_life", [None, 25.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_sums_are_exact(form, half_life, weighted):
    X, y = labelled(n=400, d=15, c=5, sparse=True)
    y[:200] = np.where(y[:200] == "ant", "bee", y[:200])  # a class that comes late
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], 400) if weighted else None
    learner, done = OnlineSRDA(half_life=half_life, keep=50), 0
    for size in (1, 2, 0, 97, 300):
        part = slice(done, done + size)
        done += size
        learner.partial_fit(form(X[part]), y[part], None if weight is None else weight[part])
    np.testing.assert_allclose(
        sums_of(learner), expected(X, indicators(y), weight, half_life), rtol=1e-12, atol=1e-12
    )


@forms
def test_a_sample_counts_for_each_of_its_labels(form):
    X, _ = labelled(n=300, d=9)
    T = (np.random.default_rng(1).random((300, 3)) < [0.2, 0.5, 0.6]).astype(int)
    learner = OnlineSRDA(keep=20, shuffle=False).fit(form(X), form(T))
    np.testing.assert_allclose(sums_of(learner), expected(X, T), rtol=1e-12)


def test_repeated_samples_do_not_count_again():
    X, y = labelled(n=500)
    order = np.argsort(y, kind="stable")
    learner = OnlineSRDA(random_state=0).partial_fit(X[order], y[order])
    assert core_of(learner).clock[REPLAYS] > 100
    np.testing.assert_allclose(sums_of(learner), expected(X, indicators(y)), rtol=1e-11)


def test_class_sums_do_not_underflow():
    X, y = labelled(n=3000, d=5)
    learner = OnlineSRDA(half_life=5.0, keep=20, shuffle=False).fit(X, y)
    assert 1e-31 < core_of(learner).clock[FACTOR]
    np.testing.assert_allclose(
        sums_of(learner), expected(X, indicators(y), half_life=5.0), rtol=1e-9, atol=1e-12
    )


def test_class_sums_of_more_features():
    X, y = labelled(n=60, d=7)
    core = learned(DiagonalRLS(5, 10), X[:0, :5], indicators(y)[:0], Rule())
    core.add_classes(3)
    learned(core, X[:30, :5], indicators(y)[:30], Rule()).widen(7)
    learned(core, X[30:], indicators(y)[30:], Rule())
    whole = np.where(np.arange(7) < 5, X, np.where(np.arange(60)[:, None] < 30, 0.0, X))
    np.testing.assert_allclose(raw_sums(core), expected(whole, indicators(y)), rtol=1e-12)


def test_class_sums_are_of_double_precision():
    X, y = labelled(n=90)
    X = X.astype(np.float32)
    learner = OnlineSRDA(keep=9).partial_fit(X, y)
    core = core_of(learner)
    assert (core.W.dtype, core.sums.dtype) == (np.float32, np.float64)
    exact = expected(X.astype(float), indicators(y))
    np.testing.assert_allclose(sums_of(learner), exact, rtol=1e-12)


def test_without_a_reservoir_there_are_no_class_sums():
    core = core_of(OnlineSRDA(keep=0).partial_fit(*labelled()))
    assert core.sums is None
    assert "sums" not in to_arrays(core)


def test_class_sums_of_merged_parts_add_up():
    X, y = labelled(n=300)
    options = {"half_life": 50.0, "keep": 40}
    a, b = (OnlineSRDA(**options).partial_fit(X[k::2], y[k::2]) for k in (0, 1))
    T = indicators(y)
    both = sum(expected(X[k::2], T[k::2], half_life=50.0) for k in (0, 1))
    np.testing.assert_allclose(sums_of(a.merge(b)), both, rtol=1e-11, atol=1e-12)


# -- first moments -------------------------------------------------------------------------------


@pytest.mark.parametrize("half_life", [None, 5.0])
def test_first_moments_are_weighed_as_the_energies(half_life):
    n, (X, y) = 1000, labelled(n=1000, d=8)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], n)
    T = indicators(y)
    core = DiagonalRLS(8, 30)
    core.add_classes(3)
    keep = 1.0 if half_life is None else 0.5 ** (1 / half_life)
    learned(core, X, T, Rule(keep), weight=weight)
    # the weight of a sample is what it added to the weight of the bias
    twin = list(online_srda(X, T, weight, half_life, centred=True))
    qb = np.array([0.0, *(row[3] for row in twin)])
    decay = np.where(weight > 0, keep, 1.0)
    added = qb[1:] - decay * qb[:-1]
    later = np.append(np.cumprod(decay[::-1])[::-1][1:], 1.0)
    first, about = core.clock[FACTOR] * core.first, X - core.origin
    assert core.clock[REPLAYS] == 0
    np.testing.assert_allclose(first[0], (added * later) @ about, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(first[1], (weight * later) @ about, rtol=1e-9, atol=1e-11)
    core.widen(9)
    assert core.first.shape == (2, 9)
    restored = from_arrays(DiagonalRLS, to_arrays(core))
    np.testing.assert_array_equal(restored.first, core.first)


# -- files -------------------------------------------------------------------------------------


@forms
@pytest.mark.parametrize("n", [1, 40, 400])
@pytest.mark.parametrize("keep", [1.0, 0.8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_copy_of_arrays_learns_the_same(form, n, keep, dtype):
    X, _ = labelled(n=500, d=90, sparse=True)
    X = X.astype(dtype)
    T = (np.random.default_rng(1).random((500, 5)) < 0.4).astype(int)  # also samples without labels
    core, rule = DiagonalRLS(90, 30, 0, dtype), Rule(keep, several=True)
    core.add_classes(5)
    learned(core, form(X[:100]), T[:100], rule)
    again = from_arrays(DiagonalRLS, to_arrays(core))
    for each in (core, again):
        learned(each, form(X[100 : 100 + n]), T[100 : 100 + n], rule)
    assert bits(core) == bits(again)


def test_models_without_class_sums_go_on(tmp_path):
    X, y = labelled()
    learner = OnlineSRDA(keep=20, random_state=0).partial_fit(X, y)
    core_of(learner).sums = None  # as in a file of 0.1.0
    narrows.save(learner, tmp_path / "m.narrows")
    loaded = narrows.load(tmp_path / "m.narrows").partial_fit(X, y)
    assert core_of(loaded).sums is None
    whole = OnlineSRDA(keep=20, random_state=0).partial_fit(X, y).partial_fit(X, y)
    np.testing.assert_array_equal(core_of(loaded).W, core_of(whole).W)
    assert core_of(loaded.merge(whole)).sums is None


def test_class_sums_are_checked():
    arrays = to_arrays(core_of(OnlineSRDA(keep=20).partial_fit(*labelled())))
    for name, wrong in (
        ("sums", arrays["sums"][1:]),
        ("sums", np.full_like(arrays["sums"], np.nan)),
        ("sums", arrays["sums"].astype(np.float32)),
        ("first", np.zeros((3, 7))),
        ("first", np.full((2, 7), np.inf)),
        ("origin", np.zeros(8)),
        ("origin", np.full(7, np.nan)),
    ):
        with pytest.raises(ValueError, match=name):
            from_arrays(DiagonalRLS, arrays | {name: wrong})
    with pytest.raises(ValueError, match="origin: expected"):
        from_arrays(DiagonalRLS, {k: v for k, v in arrays.items() if k != "origin"})
