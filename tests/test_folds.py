"""Moments(folds=K) against sums over every K-th sample, taken with NumPy."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import narrows
from narrows import IG, OC, OCFS, FisherFS, Moments, Window
from narrows.errors import ParameterError, RangeError
from tests.cases import labelled
from tests.inside import pretend
from tests.oracles.hashes import hashes
from tests.traced import stopped

K = 3
KINDS = {
    "first": {},
    "total": {"second": "total"},
    "class": {"second": "class"},
    "cross": {"second": "cross"},
    "presence": {"presence": True},
    "counted squares": {"second": "class", "presence": True},
    "counted products": {"second": "cross", "presence": True},
    "kept": {"second": "cross", "kept": 12},
    "kept of counts": {"presence": True, "kept": 100},
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
FORMS = {"dense": np.asarray, "sparse": sparse.csr_array}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def data(n=71, seed=0):
    X, y = labelled(n=n, seed=seed, sparse=True)
    return X, y, np.random.default_rng(seed).integers(0, 3, n) / 2


def several(y):
    """An indicator matrix: some samples have two labels, some none."""
    Y = (y[:, None] == np.unique(y)).astype(int)
    Y[::5, 0], Y[4::7] = 1, 0
    return Y


def learned(X, y, weight=None, sizes=(1, 0, 2, 11, 40), folds=K, **kind):
    """The state of samples that came in batches of these sizes, and one of all the others."""
    stats = Moments(X.shape[1], folds=folds, **kind)
    ends = [0, *np.cumsum(sizes).tolist(), X.shape[0]]
    for a, b in pairwise(ends):
        stats.update(X[a:b], y[a:b], None if weight is None else weight[a:b])
    return stats


def assert_holds(stats, X, y, weight=None, atol=1e-9, **kind):
    """What is read of a state is what NumPy computes of these samples."""
    w = np.ones(len(X)) if weight is None else weight
    keys = hashes(X)
    X = (X != 0).astype(float) if kind.get("presence") else X
    Y = (y if y.ndim == 2 else y[:, None] == stats.classes) * w[:, None]
    np.testing.assert_allclose(stats.counts, Y.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(stats.sums, Y.T @ X, atol=atol)
    second = kind.get("second")
    if second == "class":
        np.testing.assert_allclose(stats.squares, Y.T @ X**2, atol=atol)
    elif second is not None:
        np.testing.assert_allclose(stats.squares, Y.sum(axis=1) @ X**2, atol=atol)
    if second == "cross":
        np.testing.assert_allclose(stats.cross, (X.T * Y.sum(axis=1)) @ X, atol=atol)
    if kind.get("kept"):
        pairs = [(key, j) for key, row in zip(keys, Y, strict=True) for j in np.flatnonzero(row)]
        pairs = sorted(set(pairs))[: kind["kept"]]
        kept = stats.samples
        assert list(zip(kept.keys, kept.code, strict=True)) == pairs


def assert_folds(stats, X, y, weight=None, first=0, atol=1e-9, **kind):
    """The state is that of all samples, and so are its folds; `first` numbers the first sample."""
    assert stats.n_samples == len(X)
    assert_holds(stats, X, y, weight, atol, **kind)
    for k in range(stats.folds):
        own = slice((k - first) % stats.folds, None, stats.folds)
        fold = stats.fold(k)
        assert fold.folds is None
        assert fold.n_samples == len(X[own])
        np.testing.assert_array_equal(fold.classes, stats.classes)
        assert_holds(fold, X[own], y[own], None if weight is None else weight[own], atol, **kind)


def assert_same(a, b):
    """Two states are equal to the bit."""
    a, b = a.to_arrays(), b.to_arrays()
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


# -- learning --------------------------------------------------------------------------------------


slow = pytest.mark.slow


@pytest.fixture(params=["arrays", pytest.param("non-zeros", marks=slow)])
def tables(request, monkeypatch):
    if request.param == "non-zeros":
        pretend(monkeypatch, "non-zeros")


@kinds
@forms
@pytest.mark.parametrize("labels", ["one", "weighted", "several"])
def test_every_fold_is_the_state_of_every_kth_sample(kind, form, labels, tables):
    X, y, weight = data()
    y = several(y) if labels == "several" else y
    weight = weight if labels == "weighted" else None
    stats = learned(form(X), y, weight, **kind)
    if kind.get("kept") and labels == "weighted":
        kind = {**kind, "kept": 0}  # samples of weight 0 are not kept
    assert_folds(stats, X, y, weight, **kind)


@slow
@kinds
def test_neither_batches_nor_their_form_change_a_fold(kind):
    X, y, _ = data()
    expected = Moments.of(sparse.csr_array(X), y, folds=K, **kind)
    mixed = Moments(X.shape[1], folds=K, **kind)
    for i in range(len(X)):  # the first ones dense
        mixed.update((sparse.csr_array if i > 20 else np.asarray)(X[i : i + 1]), y[i : i + 1])
    for k in range(K):
        np.testing.assert_allclose(mixed.fold(k).sums, expected.fold(k).sums, atol=1e-12)
    assert_folds(mixed, X, y, **kind)


@pytest.mark.slow
def test_many_dense_samples_are_added_on_all_cores(monkeypatch):
    pretend(monkeypatch, "many samples")
    X, y, weight = data()
    for kind in ({}, {"second": "total"}, {"second": "class"}, {"presence": True}):
        assert_folds(learned(X, y, weight, **kind), X, y, weight, **kind)


@forms
def test_an_offset_costs_no_digits(form):
    X, y, _ = data(n=300)
    stats = learned(form(X + 1e8), y, second="cross")
    if form is np.asarray:
        for k in range(K):
            C = np.cov(X[k::K].T, bias=True)
            np.testing.assert_allclose(stats.fold(k).covariance(), C, atol=1e-6)
    np.testing.assert_allclose(stats.means[0], (X + 1e8)[y == stats.classes[0]].mean(axis=0))


def test_folds_may_be_empty():
    X, y, _ = (each[:2] for each in data())
    stats = Moments(7, folds=5, second="class")
    assert [stats.fold(k).n for k in range(5)] == [0.0] * 5
    stats.update(X[:0], y[:0])
    stats.update(X, y)
    assert [stats.fold(k).n_samples for k in range(5)] == [1, 1, 0, 0, 0]
    assert_folds(stats, X, y, second="class")
    assert_same(Moments.from_arrays(stats.to_arrays()), stats)


def test_samples_without_labels_have_numbers():
    X, y, _ = data()
    Y = several(y)
    Y[:6] = 0
    assert_folds(learned(X, Y), X, Y)


def test_the_fold_is_a_copy():
    X, y, _ = data()
    stats = learned(X, y, second="class")
    fold = stats.fold(1)
    before = {name: array.copy() for name, array in fold.to_arrays().items()}
    stats.update(X, y)
    for name, array in fold.to_arrays().items():
        np.testing.assert_array_equal(array, before[name])
    fold.update(X, y)
    assert_folds(stats, np.r_[X, X], np.r_[y, y], second="class")


# -- arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize("folds", [1, 0, -2, 1001, 2.0, "5", True])
def test_the_number_of_folds_is_checked(folds):
    message = "Moments: expected folds to be an integer from 2 to 1,000 or None, got "
    with pytest.raises(ParameterError, match=message):
        Moments(3, folds=folds)
    with pytest.raises(ParameterError, match=rf"None, got {folds!r}\.$"):
        Moments.of([[1.0]], ["a"], folds=folds)


def test_the_number_of_a_fold_is_checked():
    stats = Moments(3, folds=np.int64(2))
    assert stats.folds == 2
    assert "folds=2" in repr(stats)
    assert "folds" not in repr(Moments(3))
    for k in (-1, 2):
        with pytest.raises(ValueError, match=f"the number of one of 2 folds, got {k}. Make"):
            stats.fold(k)
    with pytest.raises(ValueError, match="the number of one of 0 folds, got 0"):
        Moments(3).fold(0)


@pytest.mark.parametrize("other", [None, 2])
def test_states_of_other_folds_are_refused(other):
    a, b = Moments(3, folds=K), Moments(3, folds=other)
    for combine in (a.__add__, a.__sub__, lambda b: a.fade(0.5, b)):
        with pytest.raises(ValueError, match=f"one kind, got folds=3 and folds={other}"):
            combine(b)


# -- adding up -------------------------------------------------------------------------------------


@kinds
@forms
def test_states_add_up_fold_by_fold(kind, form):
    X, y, _ = data()
    a = Moments.of(form(X[:31]), y[:31], folds=K, **kind)
    b = Moments.of(form(X[31:]), y[31:], folds=K, **kind)
    order = [*range(31), *range(31, 71)]
    number = np.r_[np.arange(31), np.arange(40)]  # both count from 0
    for both in (a + b, b + a, sum([a, b]), Moments.summed([b, a])):
        assert_holds(both, X[order], y[order], **kind)
        for k in range(K):
            own = number % K == k
            assert_holds(both.fold(k), X[own], y[own], **kind)
        more = both.update(form(X[:5]), y[:5])  # counts on from both
        for k in range(K):
            own = np.r_[number % K == k, (71 + np.arange(5)) % K == k]
            assert more.fold(k).n_samples == own.sum()
            assert_holds(more.fold(k), np.r_[X, X[:5]][own], np.r_[y, y[:5]][own], **kind)


@kinds
@forms
def test_what_was_added_can_be_subtracted(kind, form):
    X, y, _ = data()
    kind = {name: value for name, value in kind.items() if name != "kept"}
    whole = learned(form(X), y, **kind)
    gone = Moments(7, folds=K, **kind).update(form(X[:30]), y[:30])
    left = whole - gone
    assert_folds(left, X[30:], y[30:], first=30, **kind)
    left.update(form(X[:4]), y[:4])  # number 71 and those after
    expected = np.r_[X[30:], X[:4]], np.r_[y[30:], y[:4]]
    assert_folds(left, *expected, first=30, **kind)
    nothing = whole - whole
    assert_holds(nothing, X[:0], y[:0], **kind)
    assert all(not nothing.fold(k).sums.any() for k in range(K))


def test_what_is_kept_is_subtracted():
    X, y, _ = data()
    whole = Moments.of(X, y, second="cross", keep=100, folds=K)
    left = whole - Moments.of(X[:30], y[:30], second="cross", keep=100, folds=K)
    for k in range(K):
        expected = np.sort(hashes(X[30:][k::K]))
        np.testing.assert_array_equal(left.fold(k).samples.keys, expected)
    np.testing.assert_array_equal(left.samples.keys, np.sort(hashes(X[30:])))


def test_a_class_that_is_gone_from_one_fold_leaves_no_rounding():
    X, y = (
        np.array([[0.1, 0.3], [0.7, 5.0], [0.2, 7.0], [9.0, 1.0]]),
        np.array(["a", "a", "b", "b"]),
    )
    whole = Moments.of(X, y, [0.1, 0.7, 1, 1], second="class", folds=2)
    whole.update(X, y, [1e-3, 1, 1, 1])
    left = whole - Moments(2, second="class", folds=2).update(X[:1], y[:1], [0.101])
    assert left.fold(0).counts.tolist() == [0.0, 2.0]
    assert not left.fold(0).sums[0].any()
    assert not left.fold(0).squares[0].any()
    assert left.counts.tolist() == [1.7, 4.0]


def test_samples_of_other_folds_are_not_subtracted():
    X, y, _ = data()
    whole = Moments.of(X, np.where(np.arange(71) == 40, "z", y), folds=K)
    with pytest.raises(
        ValueError, match=r"at most 0 from class 'new', got 1. Subtract only what w"
    ):
        whole - Moments.of(X[:1], ["new"], folds=K)
    message = r"at most 0 from class 'z' in fold 0, got 1. Give the samples the numbers that they"
    with pytest.raises(ValueError, match=message):
        whole - Moments.of(X[40:41], ["z"], folds=K)
    one = Moments(7, folds=K).count_from(40).update(X[40:50], np.r_[["z"], y[41:50]])
    left = whole - one
    for k in range(K):
        own = [i for i in range(71) if i % K == k and not 40 <= i < 50]
        assert_holds(left.fold(k), X[own], np.array(y[own]))
    assert Moments(3).count_from(4).folds is None


def test_a_state_can_count_from_any_number():
    X, y, _ = data()
    stats = Moments.of(X[:5], y[:5], folds=K).count_from(0).update(X[:3], y[:3])
    assert [stats.fold(k).n_samples for k in range(K)] == [3, 3, 2]
    assert_same(Moments.from_arrays(stats.to_arrays()), stats)
    stats.update(X[:1], y[:1])
    assert [stats.fold(k).n_samples for k in range(K)] == [4, 3, 2]
    for k in range(K):
        others = stats.without(k)
        assert others.folds is None
        np.testing.assert_allclose(others.sums + stats.fold(k).sums, stats.sums)
        np.testing.assert_array_equal(others.counts + stats.fold(k).counts, stats.counts)
        assert others.n_samples + stats.fold(k).n_samples == 9
    with pytest.raises(ValueError, match="the number of one of 3 folds, got 3"):
        stats.without(3)


@kinds
@forms
def test_weights_are_scaled_in_every_fold(kind, form):
    X, y, weight = data()
    kind = {name: value for name, value in kind.items() if name != "kept"}
    stats = learned(form(X), y, weight, **kind)
    assert_folds(2.5 * stats, X, y, 2.5 * weight, **kind)
    assert_folds(0 * stats, X, y, 0 * weight, **kind)
    with pytest.raises(RangeError, match="Moments: expected finite weights"):
        1e308 * stats


IN_FOLDS = [OC(n_components="cv"), FisherFS(n_features="cv"), IG(n_features="cv")]  # five
in_folds = pytest.mark.parametrize("estimator", IN_FOLDS, ids=repr)


# -- decay -----------------------------------------------------------------------------------------


@in_folds
@pytest.mark.parametrize("sizes", [(71,), (1, 0, 2, 11, 40), pytest.param((1,) * 71, marks=slow)])
def test_decay_does_not_change_the_numbers(estimator, sizes):
    X, y, _ = data()
    model = clone(estimator).set_params(half_life=20.0)
    ends = [0, *np.cumsum(sizes).tolist(), len(X)]
    for a, b in pairwise(ends):
        model.partial_fit(X[a:b], y[a:b])
    stats = model.moments_
    kind = {"second": stats.second, "presence": stats.presence}
    assert_folds(stats, X, y, 0.5 ** (np.arange(71)[::-1] / 20), **kind)


def test_an_empty_state_counts_on():
    X, y, _ = data()
    for n in (0, 5, 31):
        a = Moments.of(X[:n], y[:n], folds=K)
        b = a.emptied().update(X[n:], y[n:])
        assert_folds(b, X[n:], y[n:], first=n)
        for both in (a + b, b + a):
            assert_folds(both, X, y)
            assert_folds(both.emptied().update(X, y), X, y, first=71)
        assert_folds(a.fade(0.5, b), X, y, np.repeat([0.5, 1.0], [n, 71 - n]))
        assert_folds(a.update(X[:4], y[:4]), np.r_[X, X[:4]], np.r_[y, y[:4]],
                     np.repeat([0.5, 1.0], [n, 75 - n]))  # fmt: skip


def test_classes_are_dropped_as_they_are_without_folds():
    X = np.eye(4)
    states = []
    for folds in (None, 2):
        stats = Moments.of(X, ["a", "a", "b", "c"], [1e-12, 1e-9, 3.0, 4.0], folds=folds)
        fresh = stats.emptied().update(X, ["b", "b", "c", "b"])
        states.append(stats.fade(1e-6, fresh))
    plain, folded = states
    np.testing.assert_array_equal(plain.counts > 0, folded.counts > 0)
    np.testing.assert_allclose(folded.counts, plain.counts)
    assert folded.counts[0] == 0
    assert not folded.fold(0).sums[0].any()
    assert not folded.fold(1).sums[0].any()
    # one that is faint in one fold is not dropped
    stats = Moments.of(X, ["a", "a", "b", "c"], [1e-12, 1.0, 3.0, 4.0], folds=2)
    stats.fade(0.5, stats.emptied())
    assert stats.fold(0).counts[0] == 5e-13


@kinds
def test_copies_share_nothing(kind):
    X, y, _ = data()
    a, b = (Moments.of(X[rows], y[rows], folds=K, **kind) for rows in (slice(30), slice(30, 71)))
    before = a.copy()
    for other in (copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a.copy()):
        other += b
        assert_folds(other, X, y, **kind)
        assert_same(a, before)
        if not kind.get("kept"):
            other -= b
            assert_folds(other, X[:30], y[:30], **kind)


# -- features --------------------------------------------------------------------------------------


@kinds
@forms
def test_features_are_those_of_every_fold(kind, form):
    X, y, _ = data()
    stats = learned(form(X), y, **kind)
    kind = {name: value for name, value in kind.items() if name != "kept"}
    assert_folds(stats.widen(9), np.pad(X, ((0, 0), (0, 2))), y, **kind)
    with pytest.raises(ValueError, match="at least the present 7 features"):
        stats.widen(6)


@kinds
def test_states_travel_as_arrays(kind):
    X, y, _ = data()
    a, b = learned(X[:40], y[:40], **kind), learned(X[40:, :5], y[40:], **kind)
    received = pickle.loads(pickle.dumps(a))
    assert_same(received, a)
    both = received + b.widen(7)
    np.testing.assert_allclose(both.fold(2).counts, a.fold(2).counts + b.fold(2).counts)
    assert received.nbytes == a.nbytes


def test_second_moments_are_reduced_in_every_fold():
    X, y, _ = data()
    for second, less in (("class", "total"), ("cross", "total"), ("cross", None)):
        stats = learned(X, y, second=second, keep=9)
        assert_folds(stats.reduced(less), X, y, second=less)
        plain = stats.reduced(less, folds=False)
        assert plain.folds is None
        assert_holds(plain, X, y, second=less)
        assert_same(stats.reduced(second), stats)
        whole = stats.reduced(second, folds=False)
        assert_holds(whole, X, y, second=second, keep=9)
        before = stats.sums.copy()
        whole.update(X, y)
        np.testing.assert_array_equal(stats.sums, before)
    with pytest.raises(ValueError, match="that follow from second=None, got 'class'"):
        learned(X, y).reduced("class")


# -- files -----------------------------------------------------------------------------------------


@kinds
@forms
def test_arrays_keep_every_bit(kind, form, tables):
    X, y, weight = data()
    stats = learned(form(X), y, weight, **kind)
    stats.register(np.array(["dog"]))
    stats = 0.3 * stats
    read = Moments.from_arrays({name: a.copy() for name, a in stats.to_arrays().items()})
    assert_same(Moments.from_arrays(read.to_arrays()), read)
    for _ in range(2):  # a table may be stored as its non-zeros, or as an array
        np.testing.assert_array_equal(read.known, stats.known)
        for k in range(K):
            one, other = read.fold(k), stats.fold(k)
            np.testing.assert_array_equal(one.sums, other.sums)
            np.testing.assert_array_equal(one.counts, other.counts)
            np.testing.assert_array_equal(
                *(state.squares if state.second else state.means for state in (one, other))
            )
        for state in (read, stats):
            state.update(form(X), y)


@in_folds
def test_estimators_save_their_folds(estimator, tmp_path):
    X, y, _ = data()
    path = tmp_path / "a.narrows"
    narrows.save(clone(estimator).partial_fit(X[:40], y[:40]), path)
    model = narrows.load(path).partial_fit(X[40:], y[40:])
    stats = model.moments_
    assert_folds(stats, X, y, second=stats.second, presence=stats.presence)
    merged = clone(estimator).partial_fit(X[:40], y[:40]).merge(narrows.load(path))
    assert merged.moments_.fold(0).n_samples == 16


def test_a_state_with_folds_fits_a_method_that_needs_none():
    X, y, _ = data()
    model = OCFS().fit_moments(learned(X, y, second="total"))
    assert model.moments_.folds is None
    np.testing.assert_allclose(model.scores_, OCFS().fit(X, y).scores_)
    model.merge(OCFS().fit(X, y))


def forgeries():
    X, y, _ = data()
    dense, text = learned(X, y, second="total").to_arrays(), {"kept": 9, "second": "cross"}
    kept = learned(X, y, **text).to_arrays()
    yield dense | {"folds": np.array(1)}, "folds: expected numbers from 2"
    yield dense | {"folds": np.array(4)}, "fold 3: counts: expected an array, got none"
    yield dense | {"folds": np.array(3.0)}, "folds: expected type i8"
    yield dense | {"folds_added": np.array(-1)}, "folds_added: expected integers from 0"
    yield {k: v for k, v in dense.items() if k != "folds_first"}, "folds_first: expected an array"
    yield {k: v for k, v in dense.items() if k != "fold1_sums"}, "fold 1: sums"
    yield dense | {"fold1_counts": dense["fold1_counts"][:2]}, "fold 1: counts: expected shape c"
    yield dense | {"fold1_counts": -dense["fold1_counts"]}, "fold 1: counts: expected numbers >= 0"
    yield dense | {"fold2_sums": dense["fold2_sums"][:, :4]}, "fold 2: "
    wide = np.zeros((1, 9)), np.zeros((3, 9))
    yield ({k: v for k, v in dense.items() if k not in ("origin", "placed")}
           | {"fold2_squares_total": wide[0], "fold2_sums": wide[1]},
           "fold 2: .*got n_features=7 and n_features=9")  # fmt: skip
    other = {k: v for k, v in dense.items() if k != "fold1_squares_total"}
    yield other, "fold 1: .*got second='total' and second=None"
    yield kept | {"fold1_kept": np.array(8)}, "fold 1: .*got keep=9 and keep=8"
    yield dense | {"origin": np.zeros(5)}, "fold 0: sums: expected shape c x d"
    yield dense | {"registered": np.zeros(9, bool)}, "fold 0: registered: expected shape c"
    yield dense | {"fold0_folds": np.array(2)}, "fold 0: "


def test_forged_arrays_are_refused():
    for arrays, message in forgeries():
        with pytest.raises(ValueError, match=message):
            Moments.from_arrays(arrays)


def test_float32_samples_are_summed_in_double_precision():
    X, y, _ = data(n=900)
    X = (X + 3).astype(np.float32)
    stats, exact = (Moments(7, second="cross", folds=K) for _ in range(2))
    for rows in (slice(300), slice(300, 600), slice(600, 900)):
        stats.update(X[rows], y[rows])
        exact.update(X[rows].astype(float), y[rows])
        assert_same(stats, exact)
        assert_same(Moments.from_arrays(stats.to_arrays()), stats)
    for k in range(K):
        own = X[k::K].astype(float)
        np.testing.assert_allclose(stats.fold(k).cross, own.T @ own, rtol=1e-12)


# -- an update that is interrupted -----------------------------------------------------------------


def test_arrays_of_other_names_are_refused():
    X, y, _ = data()
    arrays = learned(X, y).to_arrays()
    for name in ("other", "fold3_sums", "fold1_other", "fold1_cross"):
        with pytest.raises(ValueError, match=r"expected known names only, got|expected an array"):
            Moments.from_arrays({**arrays, name: arrays["fold0_sums"]})


@kinds
@forms
@pytest.mark.parametrize("new", [False, pytest.param(True, marks=slow)])
def test_an_update_that_is_stopped_changes_nothing_or_is_whole(kind, form, new, tables):
    X, y, _ = data()
    stats = learned(form(X), y, **kind)
    read, labels = stats.sums.copy(), np.full(len(y), "dog") if new else y
    done = copy.deepcopy(stats).update(form(X), labels)
    for left in stopped(stats, lambda state: state.update(form(X), labels), 20):
        assert_same(left, stats if left.n_samples == len(y) else done)
        assert left.n_samples > len(y) or (left.sums == read).all()
    kind = {name: value for name, value in kind.items() if name != "kept"}
    assert_folds(stats.update(form(X), y), np.r_[X, X], np.r_[y, y], **kind)


@pytest.mark.parametrize("kind", [{}, {"second": "total"}, {"second": "class"}, {"presence": True}])
@pytest.mark.parametrize("folds", [None, K])
@pytest.mark.parametrize("several_labels", [False, True])
def test_entries_are_restored_block_by_block(kind, folds, several_labels, monkeypatch):
    """Sparse samples that are added a few entries at a time, of which some were added."""
    X, y, weight = data()
    y = several(y) if several_labels else y
    wide = sparse.csr_array(np.pad(X, ((0, 0), (0, 5000))))
    stats = learned(wide, y, weight, folds=folds, **kind)
    pretend(monkeypatch, "few non-zeros at a time")
    rows = [0, 1, 1, 1, *range(20)]
    done = copy.deepcopy(stats).update(wide[rows], y[rows])
    for left in stopped(stats, lambda state: state.update(wide[rows], y[rows]), 20):
        assert_same(left, stats if left.n_samples == len(y) else done)


def test_a_window_numbers_all_samples():
    X, y, _ = data()
    window = Window(OC(n_components="cv"), samples=40)
    for i in range(len(X)):
        window.partial_fit(X[i : i + 1], y[i : i + 1])
    stats = window.estimator_.moments_
    assert_folds(stats, X[31:], y[31:], first=31)


def test_squares_of_folds_are_read_without_products():
    X, y = labelled(n=71, d=300)
    stats, p = learned(X, y, second="cross"), np.bincount(np.unique(y, return_inverse=True)[1]) / 71
    tracemalloc.start()
    found = stats.variances(p)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 300 * 300
    np.testing.assert_allclose(found, X.var(axis=0))
