"""Moments against sums taken row by row."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from narrows import CHI, OC, OCFS, FisherFS, Moments
from narrows.errors import ParameterError
from tests.cases import labelled
from tests.conftest import slow
from tests.inside import pretend
from tests.oracles.dense import repeated, scatters

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


def test_reduced_keeps_the_second_moments_asked_for():
    X, y = labelled()
    full = Moments.of(X, y, second="class")
    assert_equal(full.reduced("total"), Moments.of(X, y, second="total"))
    assert_equal(full.reduced(None), Moments.of(X, y))
    with pytest.raises(ValueError, match="second moments"):
        full.reduced("total").reduced("class")


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


@kinds
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_the_samples(second, form, weighted):
    X, y = labelled(sparse=True)
    weight = np.random.default_rng(0).random(60) if weighted else None
    m = Moments.of(form(X), y, weight, second=second)
    pairs = repeated(X, y, weight)
    assert m.classes.tolist() == sorted(set(y))
    for j, label in enumerate(m.classes):
        of = [(x, w) for x, other, w in pairs if other == label]
        assert m.counts[j] == pytest.approx(sum(w for _, w in of))
        np.testing.assert_allclose(m.sums[j], sum(w * x for x, w in of), atol=1e-12)
        if second == "class":
            np.testing.assert_allclose(m.squares[j], sum(w * x * x for x, w in of), atol=1e-12)
    if second == "total":
        np.testing.assert_allclose(m.squares, sum(w * x * x for x, _, w in pairs), atol=1e-12)
    assert m.n_samples == 60


def test_objects_are_labels_where_all_are_numbers_or_text():
    for y in ([1.0, np.nan], [1.5, 2.0], [None, None], [1, "a"], [[1], [1, 2]]):
        labels = np.empty(len(y), dtype=object)
        labels[:] = y
        with pytest.raises(ValueError, match=r"^expected |^Unknown label type"):
            Moments.of(np.ones((2, 1)), labels)
    m = Moments.of(np.ones((2, 1)), np.array([1, 2], dtype=object))
    assert m.update([[1.0]], [1]).counts.tolist() == [2, 1]
    for dtype in (">i8", np.longdouble):
        assert Moments.of([[1.0]], np.array([1], dtype=dtype)).classes.dtype.isnative


WRONG = [
    (lambda m: m + 1, TypeError, "other moments, got int"),
    (lambda m: -2 * m, ValueError, "number >= 0"),
    (lambda m: m * np.nan, ValueError, "number >= 0"),
    (lambda m: m + m.widen(3), ValueError, "n_features"),
    (lambda m: m + Moments(1, second="total"), ValueError, "second"),
    (lambda m: m + Moments(1, numeric=True), ValueError, "numeric"),
    (lambda m: m.widen(3).widen(2), ValueError, "at least the present 3"),
    (lambda m: m.reduced("total"), ValueError, "second moments"),
    (lambda m: m.cross, ValueError, 'second="cross"'),
    (lambda m: m.covariance(), ValueError, 'second="cross"'),
    (lambda m: m - m - m, ValueError, "weight of at most"),
    (lambda m: m.update([[1, 2]], ["a"]), ValueError, "1 features, got 2"),
    (lambda m: m.update([[1]], [7]), ValueError, "labels of one type"),
    (lambda m: m.update([[np.nan]], ["a"]), ValueError, "NaN"),
    (lambda m: m.update([[1]], ["a"], [-1]), ValueError, "sample_weight >= 0"),
    (lambda m: m.update([[1]], ["a"], [1, 2]), ValueError, "shape"),
    (lambda m: m.update([[1], [2]], ["a", None]), ValueError, "got None"),
    (lambda m: m.update([[1]], [[2, 1]]), ValueError, "indicator matrix"),
    (lambda m: m.update([[1]], None), ValueError, "target y is None"),
    (lambda m: Moments(1, second="all"), ParameterError, "second="),
    (lambda m: Moments(8193, second="cross"), ParameterError, "8,192"),
    (lambda m: Moments(1, second="cross").widen(8193), ParameterError, "8,192"),
    *((lambda m, kind=kind: m.priors(kind), ParameterError, "priors")
      for kind in ("uniform", [1.0], [1, -1], [0, 0], [np.nan, 1], [[1, 2]])),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "word"), WRONG)
def test_errors_change_nothing(call, error, word):
    m = Moments.of([[1.0], [2.0]], ["a", "b"])
    before = m.copy()
    with pytest.raises(error, match=word):
        call(m)
    assert_equal(m, before, rtol=0)


def test_features_may_be_appended():
    X, y = labelled()
    padded = np.hstack([X[:, :4], np.zeros((60, 3))])
    for form in (np.asarray, sparse.csr_array):
        for second in ("total", "cross"):
            narrow = Moments.of(form(X[:, :4]), y, second=second)
            assert_equal(narrow.widen(7), Moments.of(form(padded), y, second=second))
            both = narrow.widen(7).update(form(X), y)
            assert_equal(both, Moments.of(np.vstack([padded, X]), np.r_[y, y], second=second))
            assert narrow.n_features == 4
