"""Numbers at the ends of what a float can be: a right answer, or an error that says where."""

from __future__ import annotations

import contextlib
import pickle
import re
import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import narrows
from narrows import (
    CCIPCA,
    DF,
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
    KernelSRDA,
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
    assert_same,
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


def clear(error, estimator):
    said = str(error)
    assert said.startswith("expected "), said
    assert "\n" not in said
    return said


@pytest.mark.slow
@pytest.mark.more
@every
@pytest.mark.parametrize("dtype", [np.float64, slow(np.float32)])
def test_a_number_or_a_clear_error(case, dtype):
    X, y = case.labelled()
    for value in EXTREMES[dtype]:
        for where in PLACES:
            Z = placed(X, value, where).astype(dtype)
            for form in (np.asarray, sparse.csr_array) if case.takes_sparse else (np.asarray,):
                for learn in (lambda e, *rows: e.fit(*rows), streamed):
                    if learn is streamed and not hasattr(case.estimator, "partial_fit"):
                        continue
                    try:
                        finite(learn(case.new(), form(Z), y))
                    except ValueError as error:
                        clear(error, case.estimator)


@every
def test_an_answer_is_that_of_the_same_numbers_in_other_units(case):
    if case in ONLINE:
        pytest.skip("its first steps are in the units of the samples")
    standardize = getattr(case.estimator, "standardize", False)
    if isinstance(standardize, list):
        pytest.skip("only some of its features are in units of their own")
    X, y = case.labelled()
    right = 0
    for power in POWERS:
        with np.errstate(under="ignore"):
            Z = np.ldexp(X, power)
        X_there = np.ldexp(Z, -power)  # of what is smallest some digits are gone
        for form in (np.asarray, sparse.csr_array) if case.takes_sparse else (np.asarray,):
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
                there.fit(form(Z), y)
                finite(there)
            except ValueError as error:
                clear(error, case.estimator)
                continue
            here.fit(form(X_there), y)
            right += 1
            if hasattr(here, "get_support"):
                assert here.get_support().tolist() == there.get_support().tolist()
                np.testing.assert_allclose(here.energy_, there.energy_, rtol=1e-9)
            else:
                close_in_direction(here.components_, there.components_)
    if case in ADDITIVE and not getattr(case.estimator, "threshold", None):
        # which few powers leave in range
        with_unit = hasattr(case.estimator, "mu") and not standardize
        assert right >= (len(POWERS) if case.presence else 1 if with_unit else 2)


def close_in_direction(here, there):
    unit = [W / np.abs(W).max(axis=1, keepdims=True) for W in (here, there)]
    np.testing.assert_allclose(unit[0], unit[1], atol=1e-7)


@pytest.mark.parametrize(
    "method", [partial(LDA, mu=0.5), SRDA, MMC, partial(SRDA, solver="lsqr")], ids=repr
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("power", [400, -400, 200, -200])
def test_samples_may_be_in_other_units(method, form, power):
    if isinstance(method(), SRDA):
        power = power * 3 // 8  # or there is no such alpha
        method = partial(method, alpha=1.0)
    X, y = labelled()
    weight = 1.0 + np.arange(60) % 3
    here, there = method(), method()
    unit = {LDA: "mu", SRDA: "alpha"}.get(type(here))
    if unit is not None:
        there.set_params(**{unit: float(np.ldexp(getattr(here, unit), 2 * power))})
    here.fit(form(X), y, weight)
    there.fit(form(np.ldexp(X, power)), y, weight)
    close_in_direction(here.components_, there.components_)
    scale = 2 * power if method is MMC else 0
    np.testing.assert_allclose(np.ldexp(here.eigenvalues_, scale), there.eigenvalues_, rtol=1e-7)
    if isinstance(here, LDA):
        np.testing.assert_allclose(here.components_, np.ldexp(there.components_, power), rtol=1e-7)


@pytest.mark.parametrize("solver", ["regularized", "pca", "gsvd"])
@pytest.mark.parametrize("weight", [1e-90, 1e-30, 1e30, 1e90])
def test_large_and_small_weights_are_those_of_one_but_for_what_is_beside_them(solver, weight):
    X, y = labelled()
    here, there = LDA(solver=solver, mu=0.5), LDA(solver=solver, mu=0.5 * weight)
    here.fit(X, y)
    there.fit(X, y, np.full(60, weight))
    np.testing.assert_allclose(here.eigenvalues_, there.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(here.components_, there.components_, rtol=1e-7)
    for one, other in (
        (SRDA(alpha=1.0), SRDA(alpha=weight)),
        (SRDA(alpha=1.0, solver="lsqr"), SRDA(alpha=weight, solver="lsqr")),
        (MMC(), MMC()),
    ):
        other.fit(X, y, np.full(60, weight))
        close_in_direction(one.fit(X, y).components_, other.components_)
        np.testing.assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-7)


# -- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1 / 60, 1e-6, 1e-90])
@pytest.mark.parametrize("kind", [SRDA, LDA, KernelSRDA])
def test_what_is_chosen_by_samples_that_are_held_out_is_that_of_weights_of_one(kind, weight):
    X, y = labelled()
    here, there = kind().fit(X, y), kind().fit(X, y, np.full(60, weight))
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), rtol=1e-6, atol=1e-9)
    name = "mu" if kind is LDA else "alpha"
    chosen = getattr(there, f"{name}_") / getattr(here, f"{name}_")
    assert chosen == pytest.approx(weight)


@pytest.mark.parametrize(
    "estimator",
    [SRDA(), SRDA(solver="lsqr"), SRDA(standardize=True), LDA(), MMC(2), PCA(2)],
    ids=str,
)
@pytest.mark.parametrize("d", [7, 9_000])
def test_entries_of_one_place_add_up(estimator, d):
    X, y = labelled()
    X = sparse.csr_array(np.pad(X, ((0, 0), (0, d - 7))))
    halves = sparse.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    found, expected = clone(estimator).fit(halves, y), clone(estimator).fit(X, y)
    np.testing.assert_allclose(found.components_, expected.components_, rtol=1e-9, atol=1e-12)


@weighted
@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e-200, 1e200, 1e307])
@pytest.mark.parametrize("mixed", [False, True])
def test_weights_that_lose_digits_are_refused(case, weight, mixed):
    X, y = case.labelled()
    given = np.full(60, weight)
    if mixed:
        given[::2] = 1.0
    for verb in ("fit", "partial_fit"):
        if hasattr(case.estimator, verb):
            start = case.new()
            with pytest.raises(ValueError, match="expected sample weights of 0 or") as found:
                getattr(start, verb)(X, y, given)
            assert f"got {weight:g} for sample {int(mixed)}" in clear(found.value, case.estimator)


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
    there.fit(X, y, np.full(60, weight))
    ridge = getattr(there, "alpha", getattr(there, "mu", None))
    if isinstance(ridge, str) and getattr(there, "solver", "") not in ("pca", "gsvd"):
        # it does not grow with the weights
        finite(there)
        return
    here = case.new().fit(X, y)
    if hasattr(here, "get_support"):
        assert here.get_support().tolist() == there.get_support().tolist()
        np.testing.assert_allclose(here.energy_, there.energy_, rtol=1e-9)
    else:
        close_in_direction(here.components_, there.components_)


@pytest.mark.parametrize("weight", [1e-99, 1e15, 1e30, 1e99])
def test_weights_of_a_regression(weight):
    X, y = labelled()
    finite(OnlineSRDA(random_state=0).fit(X, y, np.full(60, weight)))
    for bad in (5e-324, 1e-200, 1e307):
        for verb in ("fit", "partial_fit"):
            with pytest.raises(ValueError, match="expected sample weights of 0 or"):
                getattr(OnlineSRDA(), verb)(X, y, np.full(60, bad))


@pytest.mark.parametrize("weight", [1e-99, 1.0, 1e99])
def test_weights_beside_a_half_life(weight):
    X, y = labelled(n=3000)
    given = weight * (1.0 + np.arange(3000) % 2)
    for method in (OC, OCFS, FisherFS):
        here = method(half_life=1.5).fit(X, y, given / weight)
        assert_same(
            method(half_life=1.5).fit(X, y, given),
            here,
            rtol=1e-7,
            only=["components"] if method is OC else ["energy", "support"],
        )


# -- states --------------------------------------------------------------------------------------


def state(X=None, form=np.asarray, second="class", scale=1.0):
    X, y = labelled() if X is None else (X, np.arange(len(X)) % 3)
    return Moments.of(form(scale * X), y, second=second)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("second", [None, "total", "class", "cross"])
def test_the_algebra_never_comes_to_infinity(form, second):
    a = state(form=form, second=second)
    large = a * 3e305
    before = large.to_arrays()
    for add in (
        lambda: large * 1e10,
        lambda: large + large * 9,
        lambda: sum([large] * 20),
        lambda: large + 9 * large,
        lambda: a * 1.7e308,
        lambda: 1e200 * (1e200 * a),
    ):
        with pytest.raises(RangeError, match=r"expected finite (sums|weights)"):
            add()
    for name, array in large.to_arrays().items():
        np.testing.assert_array_equal(array, before[name])
    assert ((large - large * 0.5) * (1 / 3e305)).counts.sum() == pytest.approx(30)


def test_a_sum_of_states_names_the_feature():
    X = sparse.csr_array([[1.0, 0, 1e140, 0]] * 3)
    a, b = (1e168 * Moments.of(X, [0, 0, 1], np.full(3, 0.5)) for _ in range(2))
    for add in (lambda: a + b, lambda: a * 4):
        with pytest.raises(RangeError, match=r"finite sums, got infinity in feature 2"):
            add()
    assert np.isfinite((a - b).sums).all()


def test_what_weighs_next_to_nothing_is_gone():
    a = state()
    assert not (a * 1e-300).counts.any()
    assert not (1e-200 * (1e-200 * a)).n
    with pytest.raises(ValueError, match="expected samples with a label and a non-zero"):
        OC().fit_moments(a * 1e-300)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_that_no_sum_holds_change_nothing(form):
    X, y = labelled()
    for second in (None, "total", "class", "cross"):
        a = Moments.of(form(X), y, second=second)
        before = a.copy()
        for bad in (np.full((3, 7), 1.7e308), np.full((3, 7), 1e306)):
            if second is None and bad[0, 0] < 1e308 and form is np.asarray:
                continue
            with pytest.raises(RangeError, match="expected sums"):
                a.update(form(bad), ["ant", "ant", "ant"])
        assert a.n == before.n
        np.testing.assert_array_equal(a.sums, before.sums)


def merged(method, X, y):
    one, other = (method().partial_fit(X[k::2], y[k::2]) for k in range(2))
    return one.merge(other)


@pytest.mark.parametrize("method", [OC, OCM, OCFS, VarianceFS, FisherFS, SRDA, MMC, PCA])
@pytest.mark.filterwarnings("ignore:.*expected a positive score")
def test_merge_of_extremes(method):
    X, y = labelled()
    with pytest.raises(ValueError, match="expected"):
        finite(merged(method, 1e200 * X, y))
    with contextlib.suppress(ValueError):  # whose squares are 0
        finite(merged(method, 1e-200 * X, y))


# -- who, and where ------------------------------------------------------------------------------


NAMES = ["one", "two", "three", "four"]


def named(value, k=2):
    pd = pytest.importorskip("pandas")
    X, y = labelled(d=4)
    X[7, k] = value
    return pd.DataFrame(X, columns=NAMES), y


@pytest.mark.parametrize("method", [
    OCFS, OC, OCM, VarianceFS, FisherFS, SRDA, LDA, MMC, PCA, IOC, IIS, IMMC, CCIPCA, ILDA, IDRQR,
    OnlineSRDA,
])  # fmt: skip
def test_an_error_says_who_and_which_feature(method):
    X, y = named(1e300)
    unfitted = method()
    said = "^expected .* in feature 'three'"
    with pytest.raises(ValueError, match=said) as e:
        unfitted.fit(X, y)
    assert vars(unfitted) == vars(method())
    assert pickle.loads(pickle.dumps(e.value)).args == e.value.args
    good, _ = named(1.0)
    fitted = method().fit(good, y)
    with pytest.raises(ValueError, match=said):  # of sums, or where they are read
        finite(fitted.partial_fit(X, y))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("priors", ["empirical", "balanced"])
def test_a_ratio_of_one_small_feature_is_right_or_none(form, priors):
    X, y = labelled()
    X[:, [1, 3]] = 0.0, 7.0  # neither of which varies
    right = FisherFS(priors=priors).fit(form(X), y).scores_
    for value in (1e-140, 1e-151, 1e-200, 1e-310):
        Z = placed(X, value, "feature")
        scores = FisherFS(priors=priors).fit(form(Z), y).scores_
        if value > 1e-154:
            np.testing.assert_allclose(scores, right, rtol=1e-9)
        assert np.isfinite(scores).all()
        assert OCFS().fit(form(Z), y).scores_[2] == pytest.approx(0.0)  # beside the others


@pytest.mark.parametrize("method", [OCFS, VarianceFS, SRDA, PCA, IOC, CCIPCA, IDRQR, OnlineSRDA])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_what_is_refused_leaves_all_as_it_was(method, form):
    X, y = labelled()
    fitted = method().partial_fit(form(X), y)
    before = answer(fitted)
    with pytest.raises(ValueError, match=r"^expected"):
        fitted.partial_fit(form(np.full((3, 7), 1.7e308)), [y[0]] * 3)
    for name, values in answer(fitted).items():
        np.testing.assert_array_equal(values, before[name])


@pytest.mark.parametrize("method", [MMC, LDA, SRDA, PCA])
def test_eigenvalues_that_are_no_numbers_are_an_error(method):
    X, y = named(1e300)
    unfitted, said = method(), "^expected sums of squares below"
    with pytest.raises(RangeError, match=f"{said} .* in feature 'three'"):
        unfitted.fit(X, y)
    assert vars(unfitted) == vars(method())
    with contextlib.suppress(ValueError):  # whose squares are 0
        finite(method().fit(1e-320 * labelled()[0], y))
    narrow = labelled(d=30)[0][:20] * 1e300  # fewer samples than features
    with pytest.raises(RangeError, match=r"^expected sums of squares below"):
        method().fit(narrow, y[:20])


def test_a_window_and_files_say_it_too(run):
    X, y = labelled()
    window = Window(OCFS(), samples=20).partial_fit(X, y)
    before = answer(window.estimator_)
    with pytest.raises(ValueError, match=r"^expected sample weights"):
        window.partial_fit(X, y, np.full(60, 1e-300))
    np.testing.assert_array_equal(before["scores"], window.estimator_.scores_)
    with pytest.raises(ValueError, match=r"^expected"):
        window.partial_fit(np.full((3, 7), 1.7e308), [y[0]] * 3)
    np.testing.assert_array_equal(before["scores"], window.estimator_.scores_)
    rows = "".join(f"{k % 2},1{'0' * (k % 5)}e300,{'xy'[k % 2]}\n" for k in range(12))
    for method in ("ocfs", "oc", "ioc", "variancefs", "idrqr", "onlinesrda", "lda", "mmc"):
        status, _, err = run(
            f"fit a.csv --label label --method {method} -o m", a__csv="v,w,label\n" + rows
        )
        assert status == 1
        assert len(err.strip().splitlines()) == 1 + ("none of" in err)
        assert re.search("a.csv: expected .* in feature 'w'", err)


@pytest.mark.parametrize("method", [OC, OCM])
def test_large_numbers_that_do_not_differ_are_beside_the_point(method):
    X, y = labelled()
    X[:, 3] = 1e140
    with pytest.raises(ValueError, match=r"equal means|span only 1"):
        method(n_components=2).fit(X, y)
    assert OCFS().fit(X, y).ranking_[-1] == 3


def test_presence_has_no_bounds():
    X = np.array([[1e308, 0, 5e-324], [0, 1e-310, 1e200], [1e308, 1e308, 0]])
    for form in (np.asarray, sparse.csr_array):
        assert DF().fit(form(X)).scores_.tolist() == [2, 2, 2]


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


def test_the_first_sample_alone_is_looked_at():
    for method in (IOC, IIS, IMMC, CCIPCA, ILDA, IDRQR):
        for value in (1e308, 1e-310):
            for form in (np.asarray, sparse.csr_array):
                with pytest.raises(ValueError, match=r"^expected samples"):
                    method().partial_fit(form(np.array([[0.0, value, 0.0]])), [1])


@pytest.mark.parametrize("method", [IOC, OnlineSRDA, OCFS, SRDA, ForwardFS])
def test_of_very_many_features_a_number_is_named_that_is_not_finite(method):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 8193), density=0.001, rng=rng, format="csr")
    assert method().fit(X, np.arange(30) % 3).n_samples_seen_ == 30
    X.data[5] = np.nan
    with pytest.raises(ValueError, match="expected finite values, got NaN"):
        method().fit(X, np.arange(30) % 3)


@pytest.mark.parametrize("method", [OC, OCFS, VarianceFS])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_sparse_rows_that_are_not_finite_are_named_so(method, bad):
    X, y = labelled()
    fitted = method().partial_fit(sparse.csr_array(X), y)
    before = answer(fitted)
    X[9, 3] = bad
    for learn in (fitted.partial_fit, method().fit, method().partial_fit):
        with pytest.raises(ValueError, match=r"got NaN|X contains infinity"):
            learn(sparse.csr_array(X), y)
    for name, values in answer(fitted).items():
        np.testing.assert_array_equal(values, before[name])


PUBLIC = [getattr(narrows, name) for name in narrows.__all__]
ESTIMATORS = [each for each in PUBLIC if hasattr(each, "get_params") and each is not Window]


@pytest.mark.parametrize("method", ESTIMATORS, ids=lambda method: method.__name__)
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


@pytest.mark.parametrize("method", [SRDA, LDA, MMC, PCA])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_equal_samples_reach_no_library_with_sizes_it_refuses(method, form, capfd):
    for d in (5, 20):
        with contextlib.suppress(ValueError):
            method().fit(form(np.ones((9, d))), np.arange(9) % 3)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("form", [sparse.csr_array, np.asarray])
@pytest.mark.parametrize("method", [SRDA(), LDA(), MMC(eps="cv"), SRDA(n_components="cv")], ids=str)
def test_equal_samples_of_more_features_are_a_clear_error(method, form):
    X = form(np.full((6, 9), np.pi))
    with pytest.raises(ValueError, match=r"^expected (classes with|samples that) diff"):
        clone(method).fit(X, [0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize("method", [SRDA(), FisherFS(n_features=1), PCA(), ForwardFS(1)], ids=str)
def test_a_column_of_sparse_samples_far_from_zero_is_named(method):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = np.c_[rng.poisson(0.5, 300), 1.7e9 + y + rng.normal(size=300)]
    with pytest.warns(UserWarning, match="in column 1. They are not"):
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
    model = PCA().partial_fit(X[:1])
    with pytest.raises(NotFittedError, match=r"^expected samples that differ, got none"):
        model.transform(X)
    assert model.partial_fit(X[1:]).transform(X).shape == (5, 3)
