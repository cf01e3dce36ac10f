"""Numbers at the ends of what a float can be: a right answer, or an error that says where."""

from __future__ import annotations

import pickle
import re
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import narrows
from narrows import OCFS, PCA, SRDA, FisherFS, ForwardFS, Moments, Window
from narrows.errors import RangeError
from tests.cases import ADDITIVE, ALL, ONLINE, ONLINE_SRDA, WEIGHTED, answer, labelled
from tests.conftest import EVERYTHING, slow

pytestmark = [
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.filterwarnings(
        "ignore:.*gains? margin|.*no column has a|.*expected inner products with errors"
    ),
]
every = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)

POWERS = [1019, 664, 470, 300, -300, -470]  # of 2: 1e307, 1e200, 1e141, 1e90, …
PLACES = ["all", "feature", "first", "later", "one", "one at first"]
EXTREMES = {
    np.float64: [1e308, 1e200, 1e20, 1e-155, 1e-310] if EVERYTHING else [1e308, 1e-155],
    np.float32: [3e38, 1e20, 1e-40] if EVERYTHING else [3e38, 1e-40],
}


def placed(X, value, where):
    """X with an extreme value somewhere."""
    Z, few = X.copy(), {"all": np.s_[:], "feature": np.s_[:, 2], "first": 0, "later": 30}
    with np.errstate(under="ignore"):
        if where in few:
            Z[few[where]] *= value / np.abs(X).max()
        else:
            Z[30 if where == "one" else 0, 3] = value
    return Z


def streamed(estimator, X, y):
    for rows in (slice(1), slice(1, 25), slice(25, None)):
        estimator.partial_fit(X[rows], y[rows])
    return estimator


def clear(error):
    assert re.fullmatch(r"expected .*", str(error)), error


def finite(estimator):
    """All that can be read is a number; FisherFS says infinity where a class does not scatter."""
    for name, values in answer(estimator).items():
        if values.dtype.kind == "f" and name != "score":
            assert not np.isnan(values).any(), name
            assert isinstance(estimator, FisherFS) or np.isfinite(values).all(), name


@pytest.mark.slow
@pytest.mark.more
@every
@pytest.mark.parametrize("dtype", [np.float64, slow(np.float32)])
def test_a_number_or_a_clear_error(case, dtype):
    X, y = case.labelled()
    verbs = [lambda e, *rows: e.fit(*rows)]
    if hasattr(case.estimator, "partial_fit"):
        verbs.append(streamed)
    for value, where, form, learn in product(EXTREMES[dtype], PLACES, case.forms, verbs):
        try:
            finite(learn(case.new(), form(placed(X, value, where).astype(dtype)), y))
        except ValueError as error:
            clear(error)


@every
def test_an_answer_is_that_of_the_same_numbers_in_other_units(case):
    standardize = getattr(case.estimator, "standardize", False)
    if case in ONLINE or isinstance(standardize, list):
        pytest.skip("it depends on the units: of the first steps, or of some features")
    X, y = case.labelled()
    given = case.estimator.get_params()
    scaled = {n: given[n] for n in ("mu", "alpha", "threshold") if isinstance(given.get(n), float)}
    scaled = {} if case.presence or standardize or not any(scaled.values()) else scaled
    right = 0
    for power, form in product(POWERS, case.forms):
        here, there = case.new(), case.new()
        if scaled and not -500 <= power <= 149:
            continue  # no such number, or it is refused
        there.set_params(**{n: value * 2.0 ** (2 * power) for n, value in scaled.items()})
        with np.errstate(under="ignore"):
            Z = np.ldexp(X, power)
        try:
            finite(there.fit(form(Z), y))
        except ValueError as error:
            clear(error)
            continue
        here.fit(form(np.ldexp(Z, -power)), y)  # of what is smallest some digits are gone
        right += 1
        assert_equal_answers(here, there)
    if case in ADDITIVE and not getattr(case.estimator, "threshold", None):
        # which few powers leave in range
        with_unit = hasattr(case.estimator, "mu") and not standardize
        assert right >= (len(POWERS) if case.presence else 1 if with_unit else 2)


def close_in_direction(here, there):
    unit = [W / np.abs(W).max(axis=1, keepdims=True) for W in (here, there)]
    np.testing.assert_allclose(unit[0], unit[1], atol=1e-7)


def assert_equal_answers(here, there):
    if hasattr(here, "get_support"):
        assert here.get_support().tolist() == there.get_support().tolist()
        np.testing.assert_allclose(here.energy_, there.energy_, rtol=1e-9)
    else:
        close_in_direction(here.components_, there.components_)


@pytest.mark.parametrize("case", [*WEIGHTED, ONLINE_SRDA[0]], ids=lambda case: case.name)
@pytest.mark.parametrize("weight", [5e-324, 1e-200, 1e307])
@pytest.mark.parametrize("mixed", [False, True])
def test_weights_that_lose_digits_are_refused(case, weight, mixed):
    X, y = case.labelled()
    given = np.full(60, weight)
    if mixed:
        given[::2] = 1.0
    for verb in ("fit", "partial_fit"):
        if hasattr(case.estimator, verb):
            said = rf"got {re.escape(f'{weight:g}')} for sample {int(mixed)}"
            with pytest.raises(ValueError, match=said):
                getattr(case.new(), verb)(X, y, given)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("second", [None, "total", "class", "cross"])
def test_the_algebra_never_comes_to_infinity(form, second):
    X, y = labelled()
    a = Moments.of(form(X), y, second=second)
    large = a * 3e305
    before = large.to_arrays()
    for add in (
        lambda: large * 1e10,
        lambda: large + large * 9,
        lambda: sum([large] * 20),
        lambda: a * 1.7e308,
        lambda: 1e200 * (1e200 * a),
        lambda: large.update(form(np.full((3, 7), 1.7e308)), ["ant"] * 3),
    ):
        with pytest.raises(RangeError, match=r"expected (finite )?(sums|weights)"):
            add()
    for name, array in large.to_arrays().items():
        np.testing.assert_array_equal(array, before[name])
    assert ((large - large * 0.5) * (1 / 3e305)).counts.sum() == pytest.approx(30)
    assert not (a * 1e-300).counts.any()  # weighs next to nothing


def test_a_window_and_files_say_it_too(run):
    X, y = labelled()
    window = Window(OCFS(), samples=20).partial_fit(X, y)
    before = window.estimator_.scores_.copy()
    with pytest.raises(ValueError, match=r"^expected"):
        window.partial_fit(np.full((3, 7), 1.7e308), y[:3])
    np.testing.assert_array_equal(before, window.estimator_.scores_)
    rows = "".join(f"{k % 2},1{'0' * (k % 5)}e300,{'xy'[k % 2]}\n" for k in range(12))
    for method in ("ocfs", "ioc", "variancefs", "idrqr", "onlinesrda", "lda"):
        command = f"fit a.csv --label label --method {method} -o m"
        status, _, err = run(command, a__csv="v,w,label\n" + rows)
        assert (status, bool(re.search("a.csv: expected .* in feature 'w'", err))) == (1, True)


PUBLIC = [getattr(narrows, name) for name in narrows.__all__]
ESTIMATORS = [each for each in PUBLIC if hasattr(each, "get_params") and each is not Window]


@pytest.mark.slow
@pytest.mark.parametrize("method", ESTIMATORS, ids=lambda method: f"of {method.__name__}")
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_an_integer_too_large_for_a_float_or_a_size_is_learned_with_or_an_error(method):
    X, y = labelled()
    for name, value in product(method().get_params(), (2**63, 10**400)):
        for learn in ("fit", "partial_fit"):
            try:
                answer(getattr(method(**{name: value}), learn)(X, y))
            except (ValueError, TypeError) as error:
                assert re.search(r"xpected .* got ", str(error), re.DOTALL)  # noqa: PT017


@pytest.mark.parametrize("method", [SRDA(), FisherFS(n_features=1), PCA(), ForwardFS(1)], ids=str)
def test_a_column_of_sparse_samples_far_from_zero_is_named(method):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    few, spread = rng.poisson(0.5, 300), y + rng.normal(size=300)
    with pytest.warns(UserWarning, match=r"in column 1. They are not"):
        clone(method).fit(sparse.csr_array(np.c_[few, 1.7e9 + spread]), y)
    with warnings.catch_warnings():  # of all of these, zeros, a spread, or one value are no reason
        warnings.simplefilter("error")
        clone(method).fit(np.c_[few, 1.7e9 + spread], y)
        for column in (spread, np.where(np.arange(300) == 7, 0, 1e6), np.full(300, np.pi)):
            clone(method).fit(sparse.csr_array(np.c_[few, column]), y)


METHODS = [
    "OCFS", "OC", "OCM", "VarianceFS", "FisherFS", "SRDA", "LDA", "MMC", "PCA", "IOC", "IIS",
    "IMMC", "CCIPCA", "ILDA", "IDRQR", "OnlineSRDA",
]  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_an_error_names_the_feature_and_changes_nothing(name):
    method = getattr(narrows, name)
    X, y = labelled(d=4)
    good, bad = (pd.DataFrame(X, columns=["one", "two", "three", "four"]) for _ in range(2))
    bad.iloc[7, 2] = 1e300
    unfitted, fitted = method(), method().fit(good, y)
    with pytest.raises(ValueError, match=r"^expected .* in feature 'three'") as e:
        unfitted.fit(bad, y)
    assert vars(unfitted) == vars(method())
    assert pickle.loads(pickle.dumps(e.value)).args == e.value.args
    before = answer(fitted)
    with pytest.raises(ValueError, match=r"^expected"):
        fitted.partial_fit(0 * good + 1.7e308, y)
    for key, values in answer(fitted).items():
        np.testing.assert_array_equal(values, before[key])
    with pytest.raises(ValueError, match=r"^expected .* in feature 'three'"):
        finite(fitted.partial_fit(bad, y))  # of sums, or where they are read


def test_one_sample_without_a_class_has_no_direction_yet():
    X = np.random.default_rng(0).normal(size=(5, 3))
    for model in (PCA(), PCA(n_components=0.8)):
        with pytest.raises(NotFittedError, match=r"^expected samples that differ, got none"):
            model.partial_fit(X[:1]).transform(X)
