"""Numbers at the ends of what a float can be: a right answer, or an error that says where."""

from __future__ import annotations

import contextlib
import pickle
import re
import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import narrows
from narrows import (
    CCIPCA,
    IDRQR,
    IIS,
    ILDA,
    IMMC,
    IOC,
    LDA,
    MMC,
    OC,
    OCFS,
    OCM,
    PCA,
    SRDA,
    FisherFS,
    ForwardFS,
    Moments,
    OnlineSRDA,
    VarianceFS,
    Window,
)
from narrows.errors import RangeError
from tests.cases import (
    ADDITIVE,
    ALL,
    ONLINE,
    WEIGHTED,
    answer,
    labelled,
)
from tests.conftest import EVERYTHING, slow

pytestmark = [
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.filterwarnings(
        "ignore:.*gains? margin|.*no column has a|.*expected inner products with errors"
    ),
]
every = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
weighted = pytest.mark.parametrize("case", WEIGHTED, ids=lambda case: case.name)

POWERS = [1019, 664, 470, 300, -300, -470]  # of 2: 1e307, 1e200, 1e141, 1e90, …
PLACES = ["all", "feature", "first", "later", "one", "one at first"]
EXTREMES = {
    np.float64: [1e308, 1e200, 1e20, 1e-155, 1e-310] if EVERYTHING else [1e308, 1e-155],
    np.float32: [3e38, 1e20, 1e-40] if EVERYTHING else [3e38, 1e-40],
}


def placed(X, value, where):
    """X with an extreme value somewhere."""
    Z = X.copy()
    with np.errstate(under="ignore"):
        unit = X / np.abs(X).max()
        if where == "all":
            Z = unit * value
        elif where == "feature":
            Z[:, 2] = unit[:, 2] * value
        elif where in ("first", "later"):
            row = 0 if where == "first" else 30
            Z[row] = unit[row] * value
        else:
            Z[30 if where == "one" else 0, 3] = value
    return Z


def streamed(estimator, X, y):
    for rows in (slice(1), slice(1, 25), slice(25, None)):
        estimator.partial_fit(X[rows], y[rows])
    return estimator


def finite(estimator):
    """All that can be read is a number; FisherFS says infinity where a class does not scatter."""
    for name, values in answer(estimator).items():
        if values.dtype.kind == "f" and name != "score":
            assert not np.isnan(values).any(), name
            assert isinstance(estimator, FisherFS) or np.isfinite(values).all(), name


def clear(error):
    said = str(error)
    assert said.startswith("expected "), said
    assert "\n" not in said


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
    right = 0
    for power, form in product(POWERS, case.forms):
        with np.errstate(under="ignore"):
            Z = np.ldexp(X, power)
        here, there = case.new(), case.new()
        for name in ("mu", "alpha", "threshold"):
            value = getattr(here, name, None)
            if isinstance(value, float) and value and not (case.presence or standardize):
                unit = 2.0 ** max(-1000, min(1000, 2 * power))
                there.set_params(**{name: float(value * unit)})
                if abs(power) > 500 or unit > 1e90:
                    there = None  # no such number, or it is refused
        if there is None:
            continue
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


# -- weights -------------------------------------------------------------------------------------


@weighted
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


@weighted
@pytest.mark.parametrize("weight", [1e-99, 1e99])
def test_weights_at_the_bounds_keep_all_digits(case, weight):
    X, y = case.labelled()
    there = case.new()
    if hasattr(there, "get_support") and "forgetting" in case.expected_to_fail:
        pytest.skip(f"scores that weights change: {case.expected_to_fail['forgetting']}")
    for name in ("mu", "alpha"):
        if isinstance(getattr(there, name, None), float):
            there.set_params(**{name: getattr(there, name) * weight})
    finite(there.fit(X, y, np.full(60, weight)))
    ridge = getattr(there, "alpha", getattr(there, "mu", None))
    if not isinstance(ridge, str) or getattr(there, "solver", "") in ("pca", "gsvd"):
        assert_equal_answers(case.new().fit(X, y), there)  # else it does not grow with the weights


# -- states --------------------------------------------------------------------------------------


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


# -- who, and where ------------------------------------------------------------------------------


NAMES = ["one", "two", "three", "four"]


def named(value, k=2):
    pd = pytest.importorskip("pandas")
    X, y = labelled(d=4)
    X[7, k] = value
    return pd.DataFrame(X, columns=NAMES), y


@pytest.mark.parametrize("method", [MMC, LDA, SRDA, PCA])
def test_eigenvalues_that_are_no_numbers_are_an_error(method):
    with contextlib.suppress(ValueError):  # whose squares are 0
        finite(method().fit(1e-320 * labelled()[0], labelled()[1]))
    narrow, y = labelled(d=30)  # fewer samples than features
    with pytest.raises(RangeError, match=r"^expected sums of squares below"):
        method().fit(narrow[:20] * 1e300, y[:20])


def test_a_window_and_files_say_it_too(run):
    X, y = labelled()
    window = Window(OCFS(), samples=20).partial_fit(X, y)
    before = window.estimator_.scores_.copy()
    for rows, weight in ((X[:3], np.full(3, 1e-300)), (np.full((3, 7), 1.7e308), None)):
        with pytest.raises(ValueError, match=r"^expected"):
            window.partial_fit(rows, y[:3], weight)
        np.testing.assert_array_equal(before, window.estimator_.scores_)
    rows = "".join(f"{k % 2},1{'0' * (k % 5)}e300,{'xy'[k % 2]}\n" for k in range(12))
    for method in ("ocfs", "oc", "ioc", "variancefs", "idrqr", "onlinesrda", "lda", "mmc"):
        command = f"fit a.csv --label label --method {method} -o m"
        status, _, err = run(command, a__csv="v,w,label\n" + rows)
        assert status == 1
        assert re.search("a.csv: expected .* in feature 'w'", err)


def test_scores_whose_sum_is_no_number_have_energies():
    X = np.array([[0.0, 0.0, 0.0], [2.0, 1.0, 2.0]]) * 1e144
    selector = OCFS().fit(X, ["a", "b"])
    np.testing.assert_allclose(selector.energy_, [4 / 9, 8 / 9, 1.0])
    ratio = FisherFS(n_features=2, optimum="trace_ratio").fit(X, ["a", "b"], [0.25, 0.25])
    assert ratio.get_support().tolist() == [True, False, True]


def test_samples_of_one_length_are_asked_for_where_products_are_lost():
    X, y = labelled()
    X[0] *= 1e20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(ValueError, match="expected samples of about one length"):
            IOC(n_components=3).fit(X, y)


@pytest.mark.parametrize("method", [IOC, OnlineSRDA, OCFS, SRDA, ForwardFS])
def test_of_very_many_features_a_number_is_named_that_is_not_finite(method):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 8193), density=0.001, rng=rng, format="csr")
    assert method().fit(X, np.arange(30) % 3).n_samples_seen_ == 30
    X.data[5] = np.nan
    with pytest.raises(ValueError, match="expected finite values, got NaN"):
        method().fit(X, np.arange(30) % 3)


PUBLIC = [getattr(narrows, name) for name in narrows.__all__]
ESTIMATORS = [each for each in PUBLIC if hasattr(each, "get_params") and each is not Window]


@pytest.mark.slow
@pytest.mark.parametrize("method", ESTIMATORS, ids=lambda method: f"of {method.__name__}")
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_an_integer_too_large_for_a_float_or_a_size_is_learned_with_or_an_error(method):
    X, y = labelled()
    problems = []
    for name in method().get_params():
        for value in (2**63, 10**400):
            for learn in ("fit", "partial_fit"):
                estimator = method(**{name: value})
                try:
                    answer(getattr(estimator, learn)(X, y))
                except (ValueError, TypeError) as error:
                    problems.append(str(error))
    assert all(re.search(r"xpected .* got ", each, re.DOTALL) for each in problems)


@pytest.mark.parametrize("method", [SRDA(), FisherFS(n_features=1), PCA(), ForwardFS(1)], ids=str)
def test_a_column_of_sparse_samples_far_from_zero_is_named(method):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = np.c_[rng.poisson(0.5, 300), 1.7e9 + y + rng.normal(size=300)]
    with pytest.warns(UserWarning, match=r"in column 1. They are not"):
        clone(method).fit(sparse.csr_array(X), y)
    with warnings.catch_warnings():  # of all of these, zeros, a spread, or one value are no reason
        warnings.simplefilter("error")
        clone(method).fit(X, y)
        X[:, 1] -= 1.7e9
        clone(method).fit(sparse.csr_array(X), y)
        X[:, 1] = np.where(np.arange(300) == 7, 0, 1e6)
        clone(method).fit(sparse.csr_array(X), y)
        clone(method).fit(sparse.csr_array(np.c_[X[:, :1], np.full(300, np.pi)]), y)


def test_one_sample_without_a_class_has_no_direction_yet():
    X = np.random.default_rng(0).normal(size=(5, 3))
    for model in (PCA(), PCA(n_components=0.8)):
        with pytest.raises(NotFittedError, match=r"^expected samples that differ, got none"):
            model.partial_fit(X[:1]).transform(X)
        assert model.partial_fit(X[1:]).transform(X).shape[0] == 5


@pytest.mark.parametrize("weight", [1e-99, 1e30, 1e99])
def test_weights_of_a_regression_and_of_lsqr(weight):
    X, y = labelled()
    finite(OnlineSRDA(random_state=0).fit(X, y, np.full(60, weight)))
    here, there = (SRDA(alpha=a, solver="lsqr") for a in (1.0, min(weight, 1e90)))
    there.fit(X, y, np.full(60, min(weight, 1e90)))
    close_in_direction(here.fit(X, y).components_, there.components_)
    np.testing.assert_allclose(here.eigenvalues_, there.eigenvalues_, rtol=1e-7)
    for bad, verb in product((5e-324, 1e-200, 1e307), ("fit", "partial_fit")):
        with pytest.raises(ValueError, match="expected sample weights of 0 or"):
            getattr(OnlineSRDA(), verb)(X, y, np.full(60, bad))


@pytest.mark.parametrize(
    "method",
    [OCFS, OC, OCM, VarianceFS, FisherFS, SRDA, LDA, MMC, PCA, IOC, IIS, IMMC, CCIPCA, ILDA, IDRQR,
     OnlineSRDA],
    ids=lambda method: f"of {method.__name__}",
)  # fmt: skip
def test_an_error_names_the_feature_and_changes_nothing(method):
    (X, y), (good, _) = named(1e300), named(1.0)
    unfitted = method()
    with pytest.raises(ValueError, match=r"^expected .* in feature 'three'") as e:
        unfitted.fit(X, y)
    assert vars(unfitted) == vars(method())
    assert pickle.loads(pickle.dumps(e.value)).args == e.value.args
    fitted = method().fit(good, y)
    with pytest.raises(ValueError, match=r"^expected .* in feature 'three'"):
        finite(fitted.partial_fit(X, y))  # of sums, or where they are read
    fitted = method().fit(good, y)
    before = answer(fitted)
    with pytest.raises(ValueError, match=r"^expected"):
        fitted.partial_fit(np.full((3, 4), 1.7e308), [y[0]] * 3)
    for name, values in answer(fitted).items():
        np.testing.assert_array_equal(values, before[name])
