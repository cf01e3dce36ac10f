"""The engine against the papers' tables, and at the edges."""

from __future__ import annotations

import csv
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from examples.papers.printed.ccipca import ccipca
from examples.papers.printed.iis import iis
from examples.papers.printed.ilda import ilda
from examples.papers.printed.immc import immc
from examples.papers.printed.ioc import ioc
from scipy import sparse

from narrows import CCIPCA, IIS, ILDA, IMMC, IOC
from tests.cases import labelled
from tests.conftest import EVERYTHING, slow
from tests.inside import state_of

pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin")

# estimator, the table written out, and how near they have to be
METHODS = {
    "IOC": (IOC, ioc, 1e-10),
    "IIS": (IIS, iis, 1e-10),
    "CCIPCA": (CCIPCA, lambda X, y, p: ccipca(X, p), 1e-10),
    "CCIPCA, amnesic": (partial(CCIPCA, amnesic=2.0), lambda X, y, p: ccipca(X, p, 2.0), 1e-10),
    "IMMC, theta": (partial(IMMC, eps=1.0, theta=1.0), partial(immc, theta=1.0), 1e-6),
    "IMMC, thetas": (
        lambda p: IMMC(p, eps=0.3, theta=0.2 + np.arange(p)),
        lambda X, y, p: immc(X, y, p, 0.2 + np.arange(p), eps=0.3), 1e-6,
    ),
    "IMMC, deflated": (
        partial(IMMC, eps=1.0, theta=1.0, deflate_shift=True),
        partial(immc, theta=1.0, deflate_shift=True), 1e-8,
    ),
    "IMMC, auto": (
        partial(IMMC, eps=1.0), partial(immc, theta="auto", deflate_shift=True), 1e-8,
    ),
    "IMMC, auto, not deflated": (
        partial(IMMC, eps=0.3, deflate_shift=False), partial(immc, theta="auto", eps=0.3), 1e-8,
    ),
    "ILDA": (ILDA, ilda, 1e-8),
    "ILDA, eta": (partial(ILDA, eta=0.003), lambda X, y, p: ilda(X, y, p, 0.003), 1e-8),
}  # fmt: skip


def stream(X, y, n, late, seed=0):
    """n rows drawn from X; those of the class `late` come only in the second half."""
    rng = np.random.default_rng(seed)
    early = np.flatnonzero(y != late)
    return np.concatenate([rng.choice(early, n // 2), rng.choice(len(y), n - n // 2)])


def batches(n, seed=0):
    """Ends of batches: one row at a time first, then of any size, some of none."""
    rng = np.random.default_rng(seed)
    ends = np.sort(np.concatenate([np.arange(8), rng.integers(8, n, 25), [n, n]]))
    return [slice(a, b) for a, b in pairwise(ends)]


def vectors(estimator):
    return state_of(estimator).core.vectors().T


def assert_near(found, expected, tolerance, what=""):
    """Each vector to `tolerance` of its largest entry."""
    scale = np.abs(expected).max(axis=1, keepdims=True)
    apart = np.abs(found - expected) / np.where(scale > 0, scale, 1.0)
    assert apart.max() < tolerance, f"{what}: {apart.max(axis=1)}"


def assert_follows(method, X, y, p):
    """After every batch the vectors are those of the table."""
    make, table, tolerance = METHODS[method]
    dense = (X.toarray() if sparse.issparse(X) else X).astype(float)  # or the table is in singles
    expected = dict(enumerate(table(dense, list(y), p), 1))
    estimator = make(p)
    for rows in batches(len(y)):
        estimator.partial_fit(X[rows], y[rows])
        if rows.stop:
            assert_near(vectors(estimator), expected[rows.stop], tolerance, f"n = {rows.stop}")
    assert state_of(estimator).core.drift() < 1e-8


def uci(data, name):
    with open(data / f"{name}.csv") as file:
        lines = list(csv.reader(file))[1:]
    return np.array([line[:-1] for line in lines], dtype=float), np.array([x[-1] for x in lines])


@pytest.mark.more
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("is_sparse", [slow(False), True])
@pytest.mark.parametrize(("c", "p"), [slow(4, 3), slow(2, 1), (3, 6)])
def test_random_rows(method, is_sparse, c, p):
    rng = np.random.default_rng(c)
    X, y = labelled(n=400, d=20, c=c, sparse=is_sparse)
    X, y = X + 0.3 * (X != 0), y.astype(object)
    n = 5000 if EVERYTHING else 1000  # the basis is made new each time that n has doubled
    order = stream(X, y, n, late=sorted(set(y))[-1])
    X, y = X[order], y[order]
    X[rng.integers(0, n, 40)] = 0.0  # rows of zeros in between
    assert_follows(method, sparse.csr_array(X) if is_sparse else X, y, p)


TABLES = [(name, *METHODS[name][:2]) for name in ("IOC", "IIS", "CCIPCA", "IMMC, auto", "ILDA")]
edges = pytest.mark.parametrize(("name", "make", "table"), TABLES, ids=lambda v: str(v)[:8])


@edges
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_component_waits_for_a_sample_to_start_from(name, make, table, form):
    X, y = labelled(n=60, d=6, c=3)
    learner = make(2).partial_fit(form(np.zeros((5, 6))), ["ant"] * 5)
    np.testing.assert_array_equal(learner.components_, np.zeros((2, 6)))
    np.testing.assert_array_equal(learner.transform(np.eye(6)), np.zeros((6, 2)))
    learner.partial_fit(form(X[:1]), y[:1])
    np.testing.assert_allclose(np.abs(learner.components_[0]), np.abs(X[0]) / np.linalg.norm(X[0]))
    assert not learner.components_[1].any()


@edges
def test_more_components_than_columns_can_bear_is_an_error(name, make, table):
    with pytest.raises(ValueError, match="expected n_components<=5"):
        make(6).partial_fit(np.eye(5), [0, 1, 0, 1, 0])
    X, y = labelled(n=500, d=5, c=2)
    *_, expected = table(X, list(y), 5)
    assert_near(vectors(make(5).partial_fit(X, y)), expected, 1e-6)


@pytest.mark.parametrize(("name", "tolerance"), [("IOC", 1e-12), ("IIS", 1e-9), ("CCIPCA", 1e-6)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_long_rows_are_begun_on_whole_vectors(name, tolerance, form):
    """Where |x|^2 is far more than |x|, v_1 is all but u after one step, as in the table."""
    X, y = labelled(n=600, d=8, c=4)
    make, table, _ = METHODS[name]
    *_, expected = table(1000 * X, list(y), 5)
    assert_near(vectors(make(5).partial_fit(form(1000 * X), y)), expected, tolerance)


def test_sparse_rows_may_follow_dense_ones_and_the_other_way_round():
    X, y = labelled(n=900, d=8, c=3)
    X += 5.0
    for method in (IIS, IMMC, CCIPCA):
        for first, second in ((np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)):
            mixed = method(3).partial_fit(first(X[:300]), y[:300]).partial_fit(second(X[:0]), y[:0])
            mixed.partial_fit(second(X[300:600]), y[300:600]).partial_fit(first(X[600:]), y[600:])
            assert_near(vectors(mixed), vectors(method(3).partial_fit(X, y)), 1e-10)


@edges
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_repeated_samples_and_rows_on_a_line(name, make, table, form):
    X, y = labelled(n=200, d=6, c=3)
    for length in (np.ones(200), np.arange(1.0, 201.0)):
        learner = make(3).partial_fit(form(np.outer(length, X[0])), ["ant", "bee"] * 100)
        found = learner.components_
        assert np.isfinite(found).all()
        if name not in ("IOC", "ILDA") and length[-1] == 1:  # nothing but rounding is left
            assert not found[1:].any()
    assert np.isfinite(learner.partial_fit(form(X), y).components_).all()
