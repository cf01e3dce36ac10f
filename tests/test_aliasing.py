"""What is read cannot be written to, what is given can be; warnings say where they are from."""

from __future__ import annotations

import inspect
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from narrows import CCIPCA, CHI, IMMC, MMC, MMCFS, OC, OCFS, OCM, FisherFS, Window
from tests.cases import ADDITIVE, ALL, answer, assert_same, labelled
from tests.inside import pretend

pytestmark = pytest.mark.filterwarnings("ignore:.*(gain margin|positive score|gains margin)")
by_name = {"ids": lambda case: case.name}


@pytest.mark.parametrize("case", ALL, **by_name)
def test_what_is_read_off_an_estimator_does_not_change_it(case):
    X, y = case.labelled()
    learner = case.new().fit(case.form(X), y)
    before = {key: value.copy() for key, value in answer(learner).items()}
    names = [name for name, _ in inspect.getmembers(type(learner)) if name.endswith("_")]
    assert {"classes_", "class_count_"} <= set(names)
    read = [getattr(learner, name, None) for name in names if not name.startswith("_")]
    if hasattr(learner, "get_support"):
        read += [learner.get_support(), learner.get_support(indices=True)]
    for array in read:
        if isinstance(array, np.ndarray) and array.flags.writeable:
            array[...] = array[::-1].copy()  # its own
    after = answer(learner)
    for key in before:
        np.testing.assert_array_equal(after[key], before[key], err_msg=key)


@pytest.mark.parametrize("name", ["components_", "eigenvalues_"])
def test_directions_are_read_only(name):
    oc = OC().fit(*labelled())
    with pytest.raises(ValueError, match="read-only"):
        getattr(oc, name)[0] = 1.0


@pytest.mark.parametrize("case", ADDITIVE, **by_name)
def test_what_is_read_off_a_state_does_not_change_it(case):
    X, y = case.labelled()
    stats = case.new().fit(case.form(X), y).moments_
    stats = getattr(stats, "stats", stats)  # of coordinates, behind a map
    p = stats.priors()

    def read():
        arrays = [stats.classes, stats.counts, stats.sums, stats.means, stats.mean, stats.total]
        arrays += [stats.centre(p), stats.rounding(p), stats.priors()]
        arrays += [] if stats.squares is None else [stats.squares, stats.variances(p)]
        return arrays

    before = [array.copy() for array in read()]
    for array in read():
        if array.flags.writeable:
            array[...] = array[::-1].copy()
    for was, now in zip(before, read(), strict=True):
        np.testing.assert_array_equal(now, was)
    for array in (stats.classes, stats.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[-1]


@pytest.mark.parametrize("kind", [np.array, list])
@pytest.mark.parametrize("method", [OC, OCM, OCFS, CHI, FisherFS])
def test_priors_that_are_changed_in_place_change_the_answer(method, kind):
    X, y = labelled(sparse=True)
    given = kind([0.2, 0.3, 0.5])
    learner = method(priors=given).fit(X, y)
    window = Window(method(priors=given), samples=60).fit(X, y)
    read = "components_" if isinstance(learner, OC | OCM) else "scores_"
    for fitted in (learner, window.estimator_):
        _ = getattr(fitted, read)
    given[0], given[2] = given[2], given[0]
    expected = getattr(method(priors=[0.5, 0.3, 0.2]).fit(X, y), read)
    for fitted in (learner, window.estimator_):
        np.testing.assert_allclose(getattr(fitted, read), expected, atol=1e-12)


def with_indices(X, of_indices, of_ends):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(of_indices), X.indptr.astype(of_ends)
    return X


def shuffled_twice(X):
    """Every entry as two halves, in no order."""
    halves = sparse.coo_array(X)
    places = [np.append(at, at)[::-1] for at in halves.coords]
    order = np.lexsort((-places[1], places[0]))
    ends = np.searchsorted(places[0][order], np.arange(X.shape[0] + 1))
    data = np.append(halves.data, halves.data)[::-1][order] / 2
    return sparse.csr_array((data, places[1][order], ends), shape=X.shape)


@pytest.mark.slow
@pytest.mark.parametrize("of_ends", [np.int32, np.int64])
@pytest.mark.parametrize("of_indices", [np.int32, np.int64])
@pytest.mark.parametrize("tidy", [True, False])
@pytest.mark.parametrize("case", [case for case in ALL if case.takes_sparse], **by_name)
def test_indices_may_be_of_any_types(case, tidy, of_indices, of_ends):
    X, y = case.labelled(sparse=True)
    given = with_indices(X if tidy else shuffled_twice(X), of_indices, of_ends)
    types = given.indices.dtype, given.indptr.dtype
    expected = case.streamed(sparse.csr_array(X), y)
    learner = case.streamed(given, y)
    assert_same(learner, expected, rtol=1e-7)
    np.testing.assert_allclose(
        (lambda Z: Z.toarray() if sparse.issparse(Z) else Z)(learner.transform(given)),
        (lambda Z: Z.toarray() if sparse.issparse(Z) else Z)(expected.transform(X)),
        rtol=1e-6,
        atol=1e-6,
    )
    assert (given.indices.dtype, given.indptr.dtype) == types  # it is the caller's


def line_of(call):
    """The warnings of a call, as (file, line) relative to the one where it is made."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [(w.filename, w.lineno) for w in caught if "narrows" not in w.category.__module__]


def warned_here(call, least=1):
    """Whether all warnings of `call`, a lambda of one line, point at that line.

    Before Python 3.12, warnings cannot skip the files of a package, and point into it.
    """
    found = line_of(call)
    if sys.version_info < (3, 12):
        return len(found) >= least
    return len(found) >= least and set(found) == {
        (call.__code__.co_filename, call.__code__.co_firstlineno)
    }


def test_warnings_point_at_the_line_of_the_caller(monkeypatch):
    X, y = labelled()
    constant = np.ones_like(X)
    assert warned_here(lambda: MMC(3, eps=9.0).fit(X, y))
    assert warned_here(lambda: MMC(3, eps=9.0).fit_transform(X, y))
    assert warned_here(lambda: make_pipeline(MMC(3, eps=9.0), OC()).fit(X, y))
    assert warned_here(lambda: IMMC(3, eps=9.0).fit(X, y))
    assert warned_here(lambda: MMCFS(5, eps=9.0).fit(X, y))
    assert warned_here(lambda: OCFS().fit(constant, y))
    streamed = OCFS().partial_fit(constant, y)
    assert warned_here(lambda: clone(streamed).partial_fit(constant, y).scores_)
    assert warned_here(lambda: clone(streamed).partial_fit(constant, y).transform(constant))
    assert warned_here(lambda: clone(streamed).partial_fit(constant, y).get_support())
    pretend(monkeypatch, "inner products have errors")
    assert warned_here(lambda: CCIPCA().fit(X))
