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

from narrows import CCIPCA, IMMC, MMC, MMCFS, OC, OCFS
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


@pytest.mark.parametrize("case", ADDITIVE, **by_name)
def test_what_is_read_off_moments_does_not_change_them(case):
    X, y = case.labelled()
    m = case.new().fit(case.form(X), y).moments_
    m = getattr(m, "stats", m)  # of coordinates, behind a map

    def read():
        p = m.priors()
        arrays = [m.classes, m.counts, m.sums, m.means, m.mean, m.total, m.centre(p), m.rounding(p)]
        return arrays + ([] if m.squares is None else [m.squares, m.variances(p)])

    before = [array.copy() for array in read()]
    for array in read():
        if array.flags.writeable:
            array[...] = array[::-1].copy()
    for was, now in zip(before, read(), strict=True):
        np.testing.assert_array_equal(now, was)


def shuffled_twice(X):
    """Every entry as two halves, in no order."""
    halves = sparse.coo_array(X)
    places = [np.append(at, at)[::-1] for at in halves.coords]
    order = np.lexsort((-places[1], places[0]))
    ends = np.searchsorted(places[0][order], np.arange(X.shape[0] + 1))
    data = np.append(halves.data, halves.data)[::-1][order] / 2
    return sparse.csr_array((data, places[1][order], ends), shape=X.shape)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tidy", "of_indices", "of_ends"),
    [(True, "i4", "i8"), (False, "i8", "i4"), (False, "i8", "i8")],
)
@pytest.mark.parametrize("case", [case for case in ALL if case.takes_sparse], **by_name)
def test_indices_may_be_of_any_types(case, tidy, of_indices, of_ends):
    X, y = case.labelled(sparse=True)
    given = sparse.csr_array(X if tidy else shuffled_twice(X))
    given.indices, given.indptr = given.indices.astype(of_indices), given.indptr.astype(of_ends)
    types = given.indices.dtype, given.indptr.dtype
    expected = case.streamed(sparse.csr_array(X), y)
    learner = case.streamed(given, y)
    assert_same(learner, expected, rtol=1e-7)
    found, right = map(dense, (learner.transform(given), expected.transform(X)))
    np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-6)
    assert (given.indices.dtype, given.indptr.dtype) == types  # it is the caller's


def dense(Z):
    return Z.toarray() if sparse.issparse(Z) else Z


def warned_here(call):
    """Whether all warnings of `call`, a lambda of one line, point at that line.

    Before Python 3.12, warnings cannot skip the files of a package, and point into it.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    found = {(w.filename, w.lineno) for w in caught if "narrows" not in w.category.__module__}
    here = call.__code__.co_filename, call.__code__.co_firstlineno
    return found == {here} if sys.version_info >= (3, 12) else bool(found)


def test_warnings_point_at_the_line_of_the_caller(monkeypatch):
    X, y = labelled()
    constant = np.ones_like(X)
    streamed = OCFS().partial_fit(constant, y)
    assert warned_here(lambda: MMC(3, eps=9.0).fit_transform(X, y))
    assert warned_here(lambda: make_pipeline(MMC(3, eps=9.0), OC()).fit(X, y))
    assert warned_here(lambda: IMMC(3, eps=9.0).fit(X, y))
    assert warned_here(lambda: MMCFS(5, eps=9.0).fit(X, y))
    assert warned_here(lambda: clone(streamed).partial_fit(constant, y).scores_)
    assert warned_here(lambda: clone(streamed).partial_fit(constant, y).transform(constant))
    pretend(monkeypatch, "inner products have errors")
    assert warned_here(lambda: CCIPCA().fit(X))
