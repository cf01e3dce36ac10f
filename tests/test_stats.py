"""Moments against sums taken row by row."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from narrows import CHI, OC, OCFS, FisherFS, Moments
from narrows.criteria import BETWEEN
from narrows.errors import ParameterError
from tests.cases import labelled
from tests.conftest import slow
from tests.inside import pretend
from tests.oracles.dense import repeated, scatters
from tests.traced import stopped

kinds = pytest.mark.parametrize("second", [None, "total", "class"])


@pytest.fixture(autouse=True, params=["arrays", "non-zeros"])
def tables(request, monkeypatch):
    """All that is said of states holds also where every table is kept as its non-zeros."""
    if request.param == "non-zeros":
        pretend(monkeypatch, "non-zeros")


def assert_equal(a, b, rtol=1e-10):
    np.testing.assert_array_equal(a.classes, b.classes)
    assert (a.n_samples, a.second) == (b.n_samples, b.second)
    for name in ("counts", "sums", "squares", "mean", "means"):
        mine, theirs = getattr(a, name), getattr(b, name)
        if theirs is None:
            assert mine is None
        else:
            np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=1e-9, err_msg=name)


def brute_force(X, y, weight, second):
    pairs = repeated(X, y, weight)
    classes = sorted({label for _, label, _ in pairs})
    N = [sum(w for _, label, w in pairs if label == j) for j in classes]
    S = [sum(w * x for x, label, w in pairs if label == j) for j in classes]
    Q = [sum(w * x * x for x, label, w in pairs if label == j) for j in classes]
    return classes, N, S, {None: None, "total": sum(Q), "class": Q}[second]


@kinds
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_the_rows(second, form, weighted):
    X, y = labelled(sparse=True)
    weight = np.random.default_rng(0).random(60) if weighted else None
    stats = Moments.of(form(X), y, weight, second=second)
    classes, N, S, Q = brute_force(X, y, weight, second)
    assert stats.classes.tolist() == classes
    np.testing.assert_allclose(stats.counts, N)
    np.testing.assert_allclose(stats.sums, S, atol=1e-12)
    np.testing.assert_allclose(stats.mean, sum(S) / sum(N), atol=1e-12)
    np.testing.assert_allclose(stats.means, np.array(S) / np.array(N)[:, None], atol=1e-12)
    if second is None:
        assert stats.squares is None
    else:
        np.testing.assert_allclose(stats.squares, Q, atol=1e-12)
    assert stats.n == pytest.approx(sum(N))
    assert stats.n_samples == 60


@kinds
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("several", [slow(False), True])
def test_many_dense_rows_are_added_on_all_cores(second, dtype, several, monkeypatch):
    X, y = labelled(sparse=True)
    X = (X + 10 * (X != 0)).astype(dtype)
    y = np.eye(3)[np.unique(y, return_inverse=True)[1]] + np.eye(3)[1] * (X[:, :1] > 0)
    y = np.minimum(y, 1) if several else y.argmax(axis=1)
    weight = np.random.default_rng(0).random(60)
    few = Moments.of(X, y, weight, second=second)
    pretend(monkeypatch, "many samples")
    many = Moments(7, second=second)
    for rows in (slice(0, 20), slice(20, 60)):  # the second about the origin of the first
        many.update(X[rows], y[rows], weight[rows])
    assert_equal(many, few)


@pytest.mark.filterwarnings("ignore:.*expected a positive score of")
@pytest.mark.parametrize("method", [OC, OCFS, FisherFS, CHI])
@pytest.mark.parametrize("bad", [np.nan, np.inf, slow(-np.inf)])
@pytest.mark.parametrize("labels", [slow("all"), "not all", slow("weighted")])
def test_what_is_not_finite_is_seen_in_many_rows(method, bad, labels, monkeypatch):
    X, y = labelled()
    X = X.astype(np.float32)
    X[41, 5] = bad
    weight = np.ones(60) if labels == "weighted" else None
    if labels == "not all":
        y = np.eye(3, dtype=int)[np.unique(y, return_inverse=True)[1]]
        y[41] = 0
    pretend(monkeypatch, "many samples")
    learner = method()
    for rows in (X, sparse.csr_array(X), np.asfortranarray(X)):
        for learn in (learner.fit, learner.partial_fit):
            with pytest.raises(ValueError, match=r"expected finite|contains infinity"):
                learn(rows, y, weight)
    assert vars(learner) == vars(method())
    X[41, 5] = np.finfo(np.float32).max  # of which two are no number of 32 bits
    X[40, 5] = X[41, 5]
    assert method().fit(X, y, weight).n_samples_seen_ == 60


@pytest.mark.slow
@kinds
@given(data=st.data())
def test_states_form_a_vector_space(second, data):
    # any mixture of sparse states, and dense ones about origins of their own
    states = []
    for seed in range(3):
        X, y = labelled(n=12, seed=seed, sparse=True)
        X = sparse.csr_array(X) if data.draw(st.booleans()) else X + 10 * (X != 0)
        states.append(Moments.of(X, y, second=second))
    a, b, c = states
    g = data.draw(st.floats(0.1, 10))
    assert_equal(a + b, b + a)
    assert_equal((a + b) + c, a + (b + c))
    assert_equal(a + Moments(7, second=second), a)
    assert_equal(Moments(7, second=second) + a, a)
    left = a + b - b
    np.testing.assert_allclose(left.counts, a.counts, atol=1e-9)
    np.testing.assert_allclose(left.sums, a.sums, atol=1e-9)
    for x, z in ((g * (a + b), g * a + g * b), (a * g * 2, (2 * g) * a), (1 * a, a)):
        assert_equal(x, z)
    grown = a.copy()
    grown += b
    assert_equal(grown, a + b)
    grown -= b
    np.testing.assert_allclose(grown.counts, a.counts, atol=1e-9)


def test_moments_survive_a_large_offset():
    X, y = labelled()
    far = Moments.of(X + 1e8, y, second="class")
    near = Moments.of((X + 1e8) - 1e8, y, second="class")
    p = near.priors("balanced")
    np.testing.assert_allclose(far.variances(p), near.variances(p), rtol=1e-9)
    merged = Moments.of(X[:9] + 1e8, y[:9], second="class")
    merged += Moments.of(X[9:] + 1e8, y[9:], second="class")
    np.testing.assert_allclose(merged.variances(p), near.variances(p), rtol=1e-7)


@pytest.mark.parametrize("priors", ["empirical", "sqrt", "balanced", [0.1, 0.0, 0.9]])
@pytest.mark.parametrize("second", ["total", "class"])
def test_variances_are_the_diagonal_of_the_covariance(priors, second):
    X, y = labelled()
    stats = Moments.of(X, y, second=second)
    if second == "total" and priors != "empirical":
        with pytest.raises(ValueError, match='Use second="class"'):
            stats.variances(stats.priors(priors))
        return
    keep = y != "bee" if isinstance(priors, list) else slice(None)
    given_priors = [0.1, 0.9] if isinstance(priors, list) else priors
    _, _, C = scatters(X[keep], y[keep], priors=given_priors)
    np.testing.assert_allclose(stats.variances(stats.priors(priors)), np.diag(C), rtol=1e-9)


def test_a_class_whose_count_returns_to_zero_is_reset():
    X, y = labelled()
    whole = Moments.of(sparse.csr_array(X), y, second="class")
    bees = Moments.of(sparse.csr_array(X[y == "bee"]), y[y == "bee"], second="class")
    left = whole - bees
    j = left.classes.tolist().index("bee")
    assert left.counts[j] == 0
    assert not left.sums[j].any()
    assert not left.squares[j].any()
    assert not left.means[j].any()
    assert left.priors()[j] == 0
    assert whole.n_samples - left.n_samples == (y == "bee").sum()


def test_more_than_was_added_cannot_be_taken_out():
    a = Moments.of([[1.0], [2.0]], ["x", "y"])
    b = Moments.of([[1.0], [1.0]], ["x", "x"])
    before = a.copy()
    with pytest.raises(ValueError, match=r"a weight of at most 1 from class 'x', got 2\."):
        a -= b
    assert_equal(a, before)


def test_widening_appends_empty_columns():
    X, y = labelled()
    for form in (np.asarray, sparse.csr_array):
        narrow = Moments.of(form(X[:, :4]), y, second="total")
        padded = np.hstack([X[:, :4], np.zeros((60, 3))])
        assert_equal(narrow.widen(7), Moments.of(form(padded), y, second="total"))
        assert narrow.n_features == 4
    with pytest.raises(ValueError, match="at least the present 7"):
        narrow.widen(7).widen(4)


def test_reduced_keeps_the_second_moments_asked_for():
    X, y = labelled()
    full = Moments.of(X, y, second="class")
    assert_equal(full.reduced("total"), Moments.of(X, y, second="total"))
    assert_equal(full.reduced(None), Moments.of(X, y))
    for state, second in ((full.reduced("total"), "class"), (full.reduced(None), "total")):
        with pytest.raises(ValueError, match=f"expected second moments .*, got '{second}'"):
            state.reduced(second)


def test_rows_that_do_not_count_are_as_if_not_there():
    """They may hold anything; the origin that dense rows are kept about is not theirs."""
    X, y = labelled()
    wild = np.vstack([X, np.full((1, 7), 1e20)])
    codes = np.unique(y, return_inverse=True)[1]
    indicator = np.vstack([np.eye(3)[codes], np.zeros((1, 3))])
    weight = np.append(np.ones(60), 0.0)
    expected = Moments.of(X, codes, second="class")
    p = expected.priors()
    for stats in (
        Moments.of(wild, np.append(codes, 0), weight, second="class"),
        Moments.of(wild, indicator, second="class"),
    ):
        np.testing.assert_allclose(stats.variances(p), expected.variances(p), rtol=1e-9)


def test_an_empty_first_batch_leaves_the_origin_to_the_next():
    X, y = labelled()
    Y = np.eye(3)[np.unique(y, return_inverse=True)[1]]
    near = Moments.of(X, Y, second="class")
    for empty in (Moments(7, second="class").update(X[:0], Y[:0]),
                  Moments(7, second="class").update(X[:5], Y[:5], np.zeros(5))):  # fmt: skip
        far = empty.update(X + 1e8, Y)
        np.testing.assert_allclose(
            far.variances(far.priors()), near.variances(near.priors()), rtol=1e-6
        )
        merged = Moments(7, second="class") + far
        np.testing.assert_allclose(merged.variances(far.priors()), far.variances(far.priors()))


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (np.array([2**63 + 1, 2**63 + 3], dtype=np.uint64), np.array([-1])),
        (np.array([2**60 + 1, 2**60 + 3]), np.array([1.0])),
        (np.array(["1"]), np.array([1])),
    ],
)
def test_labels_that_would_be_rounded_into_each_other_do_not_mix(first, then):
    stats = Moments.of(np.ones((len(first), 1)), first)
    with pytest.raises(ValueError, match="expected labels of one type"):
        stats.update([[1.0]], then)
    assert stats.classes.tolist() == first.tolist()
    assert Moments.of([[1.0]], [2**40]).update([[1.0]], [0.0]).classes.tolist() == [0, 2**40]


@pytest.mark.parametrize("y", [[1.0, np.nan], [1.5, 2.0], [None, None], [1, "a"], [[1], [1, 2]]])
def test_objects_that_are_no_labels(y):
    labels = np.empty(len(y), dtype=object)
    labels[:] = y
    with pytest.raises(ValueError, match=r"^expected |^Unknown label type"):
        Moments.of(np.ones((2, 1)), labels)


def test_numbers_as_objects_are_numbers():
    stats = Moments.of(np.ones((2, 1)), np.array([1, 2], dtype=object))
    assert stats.update([[1.0]], [1]).counts.tolist() == [2, 1]
    for dtype in (">i8", np.longdouble):
        assert Moments.of([[1.0]], np.array([1], dtype=dtype)).classes.dtype.isnative


@pytest.mark.nightly
def test_a_state_that_is_stopped_while_new_classes_are_added_is_whole():
    stats = Moments.of([[1.0], [2.0]], ["a", "b"], second="class")
    done = Moments.of([[1.0], [2.0]], ["a", "b"], second="class").update([[1.0]], ["c"])
    for left in stopped(stats, lambda state: state.update([[1.0]], ["c"]), 1000):
        assert_equal(left, stats if left.n_samples == 2 else done, rtol=0)


def test_states_sum_and_unlearn_row_by_row():
    X, y = labelled()
    weight = np.random.default_rng(0).random(60)
    parts = [Moments.of(X[[i]], y[[i]], weight[[i]]) for i in range(60)]
    whole = sum(parts)
    assert_equal(whole, Moments.of(X, y, weight))
    for part in parts:
        whole -= part
    assert whole.counts.tolist() == [0, 0, 0]
    assert not whole.sums.any()


def test_what_is_read_cannot_be_written_to():
    stats = Moments.of(sparse.csr_array([[1.0, 0.0]]), ["x"], second="class")
    for array in (stats.sums, stats.squares):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 5


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("empirical", [0.8, 0.2]),
        ("sqrt", [2 / 3, 1 / 3]),
        ("balanced", [0.5, 0.5]),
        ([1, 3], [0.25, 0.75]),
    ],
)
def test_priors(kind, expected):
    stats = Moments.of(np.ones((6, 1)), ["a"] * 4 + ["b", "c"], [1, 1, 1, 1, 1, 0])
    np.testing.assert_allclose(stats.priors(kind), [*expected, 0])


@pytest.mark.parametrize("kind", ["uniform", [1.0], [1, -1], [0, 0], [np.nan, 1], [[1, 2]]])
def test_wrong_priors_are_named(kind):
    stats = Moments.of(np.ones((2, 1)), ["a", "b"])
    with pytest.raises(ParameterError, match="priors"):
        stats.priors(kind)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s + 1, TypeError, "expected other moments, got int"),
        (lambda s: -2 * s, ValueError, "a number >= 0, got -2"),
        (lambda s: s * np.nan, ValueError, "a number >= 0, got nan"),
        (lambda s: s + s.widen(3), ValueError, "got n_features=1 and n_features=3"),
        (
            lambda s: s + Moments(1, second="total"),
            ValueError,
            "got second=None and second='total'",
        ),
        (
            lambda s: s + Moments(1, numeric=True),
            ValueError,
            "got numeric=False and numeric=True",
        ),
        (
            lambda s: s.update([[1, 2]], ["a"]),
            ValueError,
            "expected samples with 1 features, got 2",
        ),
        (lambda s: s.update([[1]], [7]), ValueError, "expected labels of one type"),
        (lambda s: s.update([[np.nan]], ["a"]), ValueError, "NaN"),
        (lambda s: s.update([[1]], ["a"], [-1]), ValueError, "finite sample_weight >= 0, got -1"),
        (lambda s: s.update([[1]], ["a"], [1, 2]), ValueError, r"shape \(1,\).*got \(2,\)"),
        (
            lambda s: s.update([[1], [2]], ["a", None]),
            ValueError,
            "all text or all numbers, got None",
        ),
        (lambda s: s.update([[1]], [[2, 1]]), ValueError, "an indicator matrix of 0 and 1"),
        (lambda s: s.update([[1]], None), ValueError, "target y is None"),
        (lambda s: Moments(1, second="all"), ParameterError, "expected one of second="),
    ],
)
def test_errors_say_what_came_and_change_nothing(call, error, message):
    stats = Moments.of([[1.0], [2.0]], ["a", "b"])
    before = stats.copy()
    with pytest.raises(error, match=message):
        call(stats)
    assert_equal(stats, before, rtol=0)


def test_classes_appear_in_any_order_and_are_sorted():
    stats = Moments(1)
    for label in ("m", "z", "a", "mm", "m"):
        stats.update([[1.0]], [label])
    assert stats.classes.tolist() == ["a", "m", "mm", "z"]
    assert stats.counts.tolist() == [1, 2, 1, 1]
    assert stats.sums[:, 0].tolist() == [1, 2, 1, 1]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
@pytest.mark.parametrize("wide", [False, True])
def test_labels_that_are_numbers_are_found_as_numpy_finds_them(dtype, wide):
    limits = np.iinfo(dtype)
    near = [limits.max, limits.max - 3, limits.max, limits.max - 1]
    labels = np.array([*near, limits.min, limits.max] if wide else near, dtype=dtype)
    classes, code = np.unique(labels, return_inverse=True)
    stats = Moments.of(np.eye(len(labels)), labels)
    np.testing.assert_array_equal(stats.classes, classes)
    assert stats.classes.dtype == classes.dtype
    np.testing.assert_array_equal(stats.sums, np.eye(len(classes))[code].T)


def sparse_state(monkeypatch):
    """A state of which the tables are kept as non-zeros, and the rows that it is of."""
    pretend(monkeypatch, "non-zeros, many of which wait")
    X = sparse.csr_array(labelled(n=30, d=12, sparse=True)[0])
    return X, Moments.of(X, np.arange(30) % 3)


def test_a_sparse_state_is_added_to_itself(monkeypatch):
    X, stats = sparse_state(monkeypatch)
    expected = 4 * stats.sums  # which sorts what came so far
    stats.update(X, np.arange(30) % 3)  # and this waits
    stats += stats
    np.testing.assert_allclose(stats.sums, expected)


def test_threads_that_read_what_waits_read_the_same(monkeypatch):
    _, stats = sparse_state(monkeypatch)
    expected = stats.copy().sums
    for _ in range(50):
        waiting = stats.copy()
        with ThreadPoolExecutor(4) as threads:
            for sums in threads.map(lambda _, state=waiting: state.sums, range(4)):
                np.testing.assert_allclose(sums, expected)


def far_apart(n=(1000, 6000), seed=0):
    """Rows about 0, and rows about 1e6 that differ by thousandths; each of two classes."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n[0], 3)), 1e6 + 1e-3 * rng.normal(size=(n[1], 3))]
    return [(rows, np.arange(len(rows)) % 2 + 2 * k) for k, rows in enumerate(X)]


def in_batches(state, X, y, size):
    for start in range(0, len(X), size):
        state.update(X[start : start + size], y[start : start + size])
    return state


@pytest.mark.parametrize("second", [None, "total", "class"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_subtraction_is_that_of_the_samples_that_remain(second, form):
    X, y = labelled(n=400, sparse=True)
    # and features that do not vary, one of them but for the rounding of the samples
    rounded = np.where(np.arange(400) < 390, np.nextafter(3.7, 4), 3.7)[:, None]
    X = np.hstack([X, np.full((400, 1), 3.7), np.zeros((400, 1)), rounded])
    whole = Moments.of(form(X), y, second=second)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rest = whole - Moments.of(form(X[:390]), y[:390], second=second)
        one = rest - Moments.of(form(X[391:]), y[391:], second=second)
        bees = whole - Moments.of(form(X[y != "bee"]), y[y != "bee"], second=second)
    assert one.n_samples == 1
    np.testing.assert_allclose(rest.mean, X[390:].mean(axis=0), atol=1e-12)
    if second is not None:
        for left, rows in ((rest, X[390:]), (bees, X[y == "bee"])):
            p = left.priors()
            np.testing.assert_allclose(left.variances(p), rows.var(0), rtol=1e-9, atol=1e-12)


def test_a_class_far_away_is_subtracted_without_loss():
    (X_far, _), (X, y) = far_apart()[::-1]
    far = Moments.of(X_far, np.full(len(X_far), 9), second="class")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        left = (far + Moments.of(X, y, second="class")) - far
    np.testing.assert_allclose(
        left.squares[:2], Moments.of(X, y, second="class").squares, rtol=1e-3
    )


def test_words_that_are_gone_from_sparse_rows_do_not_vary():
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 50), density=0.1, format="csr", random_state=rng)
    X = X.multiply(np.arange(50) < np.where(np.arange(400) < 300, 50, 30)[:, None]).tocsr()
    y = np.arange(400) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        left = Moments.of(X, y, second="total") - Moments.of(X[:300], y[:300], second="total")
    assert left.varying(left.priors()).tolist() == [True] * 30 + [False] * 20
    assert not left.variances(left.priors())[30:].any()


def test_rounding_that_a_subtraction_leaves_is_no_variance():
    large = Moments.of(
        1e3 * np.random.default_rng(0).normal(size=(1000, 3)), [0] * 1000, second="total"
    )
    left = (Moments.of(np.full((500, 3), 3.7), [0] * 500, second="total") + large) - large
    assert left.variances(left.priors()).tolist() == [0.0] * 3


def test_the_origin_leaves_with_the_rows_that_it_was_near():
    rng = np.random.default_rng(0)
    far = Moments.of(1e6 + rng.normal(size=(6000, 3)), [9] * 6000, second="class")
    near, later = (1e-3 * rng.normal(size=(n, 3)) for n in (1000, 500))
    left = far + Moments.of(near, [0] * 1000, second="class") - far
    left.update(later, [1] * 500)
    alone = left.priors([0, 1])
    np.testing.assert_allclose(left.variances(alone), later.var(axis=0), rtol=1e-9)


@pytest.mark.nightly
@pytest.mark.parametrize("subtracted", [False, True])
def test_the_origin_follows_small_batches(subtracted):
    rng = np.random.default_rng(0)
    state = Moments.of(rng.normal(size=(10, 3)), [0] * 10, second="class")
    if subtracted:
        many = Moments.of(rng.normal(size=(20_000, 3)), [9] * 20_000, second="class")
        state = state + many - many
    in_batches(state, 1e6 + rng.normal(size=(4000, 3)), np.ones(4000, int), 5)
    last = 1e6 + rng.normal(size=(1000, 3))
    state.update(last, [2] * 1000)
    np.testing.assert_allclose(
        state.variances(state.priors([0, 0, 1])), last.var(axis=0), rtol=1e-6
    )


@pytest.mark.parametrize("second", ["total", "class"])
def test_rounding_of_what_was_subtracted_is_none_of_what_comes_later(second):
    rng = np.random.default_rng(0)
    far, some, later = (
        Moments.of(scale * rng.normal(size=(1000, 3)), [0] * 1000, second=second)
        for scale in (1e6, 1, 1e-4)
    )
    gone = some + far - far - some
    assert not gone.n
    expected = later.variances(later.priors())
    np.testing.assert_allclose((gone + later).variances(later.priors()), expected, rtol=1e-9)


def test_rounding_that_a_subtraction_leaves_is_no_difference_of_means():
    rng = np.random.default_rng(0)
    other = Moments.of(rng.normal(size=(1000, 3)), np.arange(1000) % 2)
    same = Moments.of(np.full((501, 3), 3.7), np.arange(501) % 2)
    left = same + other - other
    assert not BETWEEN.diagonal(left).any()


@pytest.mark.parametrize("size", [6000, 1000])
def test_the_origin_follows_the_weight_of_a_stream(size):
    """So the variances within the classes that came later have their digits."""
    monday, later = far_apart()
    states = [in_batches(Moments.of(*monday, second="class"), *later, size)]
    parts = [Moments.of(*rows, second="class") for rows in (monday, later)]
    states += [parts[0] + parts[1], parts[1] + parts[0]]
    for state in states:
        alone = state.priors([0, 0, 1, 1])
        np.testing.assert_allclose(state.variances(alone), later[0].var(axis=0), rtol=1e-6)


@pytest.mark.nightly
def test_a_state_that_forgets_has_the_digits_of_what_it_knows():
    """Rows of long ago were elsewhere; those since then come in batches that weigh little."""
    (X, y), (X_later, y_later) = far_apart()
    state = Moments.of(X, y, second="total")
    for start in range(0, 6000, 20):
        rows = slice(start, start + 20)
        state.fade(0.5**0.4, Moments.of(X_later[rows], y_later[rows], second="total"))
    weight = 0.5 ** (0.4 * (np.arange(6000)[::-1] // 20))
    mean = np.average(X_later - 1e6, axis=0, weights=weight)
    expected = np.average((X_later - 1e6 - mean) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(state.variances(state.priors()), expected, rtol=1e-6)


def test_a_variance_of_which_a_subtraction_leaves_nothing_is_0_and_no_error():
    rng = np.random.default_rng(0)

    def rows(n, at):
        return Moments.of(rng.normal(size=(n, 1)) + at, np.arange(n) % 2, second="class")

    near, far = rows(2, 0.3), [rows(20, 1e7 * 2.0**-k) for k in range(8)]
    state = sum(far, near)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of digits that are lost
        for part in far:
            state = state - part
    assert state.counts.sum() == 2
    assert (state.variances(state.priors()) >= 0).all()
    assert not state.varying(state.priors())[state.variances(state.priors()) == 0].any()
