"""Moments against sums taken row by row."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from narrows import CHI, OC, FisherFS, Moments
from narrows.errors import ParameterError
from tests.cases import labelled
from tests.conftest import slow
from tests.inside import pretend
from tests.oracles.dense import scatters

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


def test_reduced_keeps_the_second_moments_asked_for():
    X, y = labelled()
    full = Moments.of(X, y, second="class")
    assert_equal(full.reduced("total"), Moments.of(X, y, second="total"))
    assert_equal(full.reduced(None), Moments.of(X, y))
    with pytest.raises(ValueError, match="second moments"):
        full.reduced("total").reduced("class")


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


def test_threads_that_read_what_waits_read_the_same(monkeypatch):
    pretend(monkeypatch, "non-zeros, many of which wait")
    X = sparse.csr_array(labelled(n=30, d=12, sparse=True)[0])
    m = Moments.of(X, np.arange(30) % 3)
    expected = m.copy().sums
    for _ in range(50):
        waiting = m.copy()
        with ThreadPoolExecutor(4) as threads:
            for sums in threads.map(lambda _, state=waiting: state.sums, range(4)):
                np.testing.assert_allclose(sums, expected)
    m += m.update(X, np.arange(30) % 3)  # what is sorted, and what waits
    np.testing.assert_allclose(m.sums, 4 * expected)


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


def test_rounding_that_a_subtraction_leaves_is_no_variance():
    large = Moments.of(
        1e3 * np.random.default_rng(0).normal(size=(1000, 3)), [0] * 1000, second="total"
    )
    left = (Moments.of(np.full((500, 3), 3.7), [0] * 500, second="total") + large) - large
    assert left.variances(left.priors()).tolist() == [0.0] * 3


def test_the_origin_follows_the_weight_of_a_stream():
    """So the variances within the classes that came later have their digits."""
    rng = np.random.default_rng(0)
    early, late = rng.normal(size=(1000, 3)), 1e6 + 1e-3 * rng.normal(size=(6000, 3))
    labels = np.arange(6000) % 2
    monday, stream = (Moments.of(early, labels[:1000], second="class") for _ in range(2))
    for rows in np.array_split(np.arange(6000), 6):
        stream.update(late[rows], labels[rows] + 2)
    later = Moments.of(late, labels + 2, second="class")
    for m in (stream, monday + later, later + monday):
        np.testing.assert_allclose(m.variances(m.priors([0, 0, 1, 1])), late.var(axis=0), rtol=1e-6)


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
    X, y = labelled(n=700)
    padded = np.hstack([X[:, :4], np.zeros((700, 3))])
    for form in (np.asarray, sparse.csr_array):
        for second in ("total", "cross"):
            narrow = Moments.of(form(X[:, :4]), y, second=second)
            assert_equal(narrow.widen(7), Moments.of(form(padded), y, second=second))
            both = narrow.widen(7).update(form(X), y)
            assert_equal(both, Moments.of(np.vstack([padded, X]), np.r_[y, y], second=second))
            assert narrow.n_features == 4


@pytest.mark.filterwarnings("ignore:.*expected a positive score of")
@pytest.mark.parametrize("method", [OC, FisherFS, CHI])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("labels", [slow("all"), "not all", slow("weighted")])
def test_what_is_not_finite_is_seen_in_many_samples(method, bad, labels, monkeypatch):
    X, y = labelled()
    X = X.astype(np.float32)
    X[41, 5] = bad
    weight = np.ones(60) if labels == "weighted" else None
    if labels == "not all":
        y = np.eye(3, dtype=int)[np.unique(y, return_inverse=True)[1]]
        y[41] = 0
    pretend(monkeypatch, "many samples")
    for form in (np.asarray, sparse.csr_array, np.asfortranarray):
        for learn in (method().fit, method().partial_fit):
            with pytest.raises(ValueError, match=r"expected finite|contains infinity"):
                learn(form(X), y, weight)
    X[40:42, 5] = np.finfo(np.float32).max  # of which two are no number of 32 bits
    assert method().fit(X, y, weight).n_samples_seen_ == 60


def test_a_moment_of_no_samples_takes_no_memory():
    m = Moments(3, second="cross")
    assert m.nbytes < 100
    assert m.cross.tolist() == m.covariance().tolist() == np.zeros((3, 3)).tolist()
