"""Moments against sums taken row by row."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from narrows import Moments
from tests.cases import labelled
from tests.conftest import slow
from tests.inside import pretend
from tests.oracles.dense import scatters


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


@pytest.mark.parametrize("second", [None, "total", "class"])
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
def test_variances_are_the_diagonal_of_the_covariance(priors):
    X, y = labelled()
    stats, total = (Moments.of(X, y, second=second) for second in ("class", "total"))
    given = isinstance(priors, list)
    keep = y != "bee" if given else slice(None)
    _, _, C = scatters(X[keep], y[keep], priors=[0.1, 0.9] if given else priors)
    np.testing.assert_allclose(stats.variances(stats.priors(priors)), np.diag(C), rtol=1e-9)
    if priors != "empirical":
        with pytest.raises(ValueError, match='Use second="class"'):
            total.variances(total.priors(priors))


@pytest.mark.parametrize("second", ["total", "cross"])
def test_features_may_be_appended(second):
    X, y = labelled(n=700)
    m = Moments.of(X[:, :4], y, second=second).widen(7)
    padded = np.hstack([X[:, :4], np.zeros((700, 3))])
    assert_equal(m.update(X, y), Moments.of(np.vstack([padded, X]), np.r_[y, y], second=second))


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


WRONG = {
    "other moments, got int": lambda m: m + 1,
    "number >= 0": lambda m: -2 * m,
    "n_features": lambda m: m + m.widen(3),
    "second": lambda m: m + Moments(1, second="total"),
    "numeric": lambda m: m + Moments(1, numeric=True),
    "at least the present 3": lambda m: m.widen(3).widen(2),
    "second moments": lambda m: m.reduced("total"),
    'second="cross"': lambda m: m.covariance(),
    "1 features, got 2": lambda m: m.update([[1, 2]], ["a"]),
    "labels of one type": lambda m: m.update([[1]], [7]),
    "NaN": lambda m: m.update([[np.nan]], ["a"]),
    "sample_weight >= 0": lambda m: m.update([[1]], ["a"], [-1]),
    "shape": lambda m: m.update([[1]], ["a"], [1, 2]),
    "got lists": lambda m: m.update([[1], [2]], np.array([[1], [1, 2]], dtype=object)),
    "got None": lambda m: m.update([[1], [2]], ["a", None]),
    "indicator matrix": lambda m: m.update([[1]], [[2, 1]]),
    "target y is None": lambda m: m.update([[1]], None),
    "second=": lambda m: Moments(1, second="all"),
    "8,192": lambda m: Moments(1, second="cross").widen(8193),
    "priors": lambda m: m.priors([np.nan, 1]),
}


@pytest.mark.parametrize("word", WRONG)
def test_errors_change_nothing(word):
    m = Moments.of([[1.0], [2.0]], ["a", "b"])
    before = m.copy()
    with pytest.raises((ValueError, TypeError), match=word):
        WRONG[word](m)
    assert_equal(m, before, rtol=0)
