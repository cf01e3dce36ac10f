"""What users of scikit-learn expect of every method, beside the laws."""

import copy
import re
import sys
import types
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import narrows
import narrows.engines
from narrows import (
    CCIPCA,
    IDRQR,
    LDA,
    OC,
    OCFS,
    OCM,
    PCA,
    PLS,
    SRDA,
    KernelSRDA,
    Window,
    load,
    save,
)
from narrows.errors import ParameterError
from narrows.river import OneByOne
from tests.cases import ALL, NUMERIC, NUMERIC_METHODS, assert_same, labelled
from tests.cases import METHODS as METHODS_BY_NAME
from tests.inside import pretend

METHODS = list(METHODS_BY_NAME.values())
EVERY_METHOD = METHODS + list(NUMERIC_METHODS.values())


def expected_failures(estimator):
    """What scikit-learn asks for and a method does not promise, with the reason."""
    checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    weights = "a weight is one longer step, and no repetition"
    return dict.fromkeys(checks, weights) if isinstance(estimator, narrows.OnlineSRDA) else {}


def test_the_table_of_laws_has_every_method():
    assert {type(case.estimator) for case in ALL + NUMERIC} == set(EVERY_METHOD)


@pytest.mark.filterwarnings("ignore:.*gains? margin|.*expected a positive score of")
@parametrize_with_checks(
    [*(method() for method in EVERY_METHOD), Window(OC()), Window(SRDA())],
    expected_failed_checks=expected_failures,
)
def test_checks(estimator, check):
    check(estimator)


UNSUPPORTED = [
    (method, verb)
    for method in METHODS
    for verb in ("partial_fit", "merge", "fit_moments", "eigenvalues_")
    if not hasattr(method, verb) and not issubclass(method, SelectorMixin)
]


@pytest.mark.parametrize(("method", "verb"), UNSUPPORTED)
def test_a_verb_that_is_not_supported_names_one_that_is(method, verb):
    for estimator in (method(), clone(method()), copy.deepcopy(method())):
        assert not hasattr(estimator, verb)
        with pytest.raises(AttributeError, match=rf"{method.__name__} .* {verb}: .*Use ") as e:
            getattr(estimator, verb)
        assert set(re.findall(r"\w+", str(e.value).split(" Use ")[1])) & {*narrows.__all__}


def test_errors_of_inner_products_are_warned_of(monkeypatch):
    pretend(monkeypatch, "inner products have errors")
    with pytest.warns(UserWarning, match="expected inner products with errors below"):
        CCIPCA().fit(labelled()[0])


@pytest.mark.parametrize("method", METHODS)
def test_a_collection_goes_to_the_engine_that_is_registered_for_it(method, monkeypatch):
    table = type("Table", (), {"columns": ["a"], "__module__": "fastlib.frames"})()
    engine = types.ModuleType("fastlib_engine")
    engine.fit = engine.transform = lambda estimator, data: data
    monkeypatch.setitem(sys.modules, "fastlib_engine", engine)
    monkeypatch.setitem(narrows.engines.ENGINES, "fastlib", "fastlib_engine")
    assert method().fit(table, "labels") == (table, "labels", None)
    assert method().transform(table) is table
    if hasattr(method(), "partial_fit"):
        with pytest.raises(TypeError, match=r"fastlib collection, which"):
            method().partial_fit(table, [1])


UNLABELLED = [CCIPCA(2), narrows.VarianceFS(n_features=3), narrows.DF(n_features=3), PCA(2)]
NO_LABELS = [
    np.linspace(0.5, 2.4, 60), np.full(60, np.nan), [None] * 60, [None, 1] * 30,
    np.linspace(0, 1, 120).reshape(60, 2),
]  # fmt: skip


@pytest.mark.parametrize("estimator", UNLABELLED, ids=str)
def test_y_without_labels_is_not_looked_at_by_methods_without(estimator):
    X, _ = labelled()
    alone = clone(estimator).fit(X)
    for y in NO_LABELS:
        assert_same(clone(estimator).fit(X, y), alone)
        assert_same(clone(estimator).partial_fit(X, y), alone)


SELECTORS = [type(c.estimator) for c in ALL + NUMERIC if hasattr(c.estimator, "get_support")]


@pytest.mark.parametrize("dtype", ["i1", "u1", "?", "f2", "f4", "i8", "f8"])
@pytest.mark.parametrize("method", sorted(set(SELECTORS), key=str))
def test_selected_features_keep_their_dtype(method, dtype):
    X, y = labelled()
    X = (10 * np.abs(X) > np.arange(len(X))[:, None] % 25).astype(dtype)
    y = np.unique(y, return_inverse=True)[1]  # numbers, for any method
    fitted = method(n_features=3).fit(X, y)
    kept = np.flatnonzero(fitted.get_support())
    assert fitted.transform(X).dtype == X.dtype
    np.testing.assert_array_equal(fitted.transform(X), X[:, kept])
    if dtype != "f2":  # which SciPy does not have
        for form in (sparse.csr_matrix, sparse.csr_array):
            reduced = fitted.transform(form(X))
            assert isinstance(reduced, form)
            assert reduced.dtype == X.dtype
            np.testing.assert_array_equal(reduced.toarray(), X[:, kept])


@pytest.mark.parametrize("estimator", [SRDA(), LDA(), PLS(2), OC(), OCFS(n_features=3)], ids=str)
def test_a_window_predicts_if_its_estimator_does(estimator):
    X, y = labelled(200)
    y = X[:, 0] if isinstance(estimator, PLS) else y
    window = Window(estimator, samples=80)
    for start in range(0, 200, 25):
        window.partial_fit(X[start : start + 25], y[start : start + 25])
    alone = clone(estimator).fit(X[120:], y[120:])
    for name in ("predict", "predict_proba", "decision_function", "score"):
        assert hasattr(window, name) == hasattr(alone, name)
        if hasattr(alone, name):
            given = (X, y) if name == "score" else (X,)
            found, expected = (np.asarray(getattr(each, name)(*given)) for each in (window, alone))
            if expected.dtype.kind == "U":  # labels
                np.testing.assert_array_equal(found, expected)
            else:
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert get_tags(window).estimator_type == get_tags(alone).estimator_type


@pytest.mark.parametrize("method", [PLS, narrows.ReducedRank])
def test_methods_for_numbers_are_regressors_of_river(method):
    base = pytest.importorskip("river.base", reason="the extra river is not installed")
    assert isinstance(OneByOne(method(), 64), base.Regressor)
    assert not isinstance(OneByOne(method(), 64), base.Classifier)


OF_SUMS = [SRDA(), LDA(), narrows.MMC(n_components=2), PCA(2), narrows.FisherFS(n_features=2),
           narrows.VarianceFS(n_features=2), narrows.ForwardFS(n_features=2), PLS(1)]  # fmt: skip


def never_added():
    """Yield an estimator, its moments, and others that are more than it has, but for 0.9."""
    X, y = labelled()
    for method in (narrows.IG(n_features=2), narrows.DF(n_features=2)):
        one, other = (clone(method).fit(np.where(s * X > 0, X, 0), y).moments_ for s in (1, -1))
        yield method, one, other
    z = np.random.default_rng(0).normal(size=60)
    z -= z.mean()
    one, other = (SRDA().fit(np.column_stack([z, s * z]), y).moments_ for s in (1, -1))
    yield SRDA(alpha=0.001), one, other
    for method in OF_SUMS:
        y = X[:, 0] if isinstance(method, PLS) else y
        yield method, clone(method).fit(X, y).moments_, clone(method).fit(10 * X, y).moments_


def test_moments_of_no_samples_are_refused():
    for method, one, other in never_added():
        with pytest.raises(ValueError, match="which no samples have"):
            method.fit_moments(one - 0.9 * other)


X, Y = load_wine(return_X_y=True)


def also_from_a_file(fitted, folder):
    """Yield the estimator, and one that was saved and loaded."""
    yield fitted
    save(fitted, folder / "m.narrows")
    yield load(folder / "m.narrows")


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("p", [None, 5, 0.3, 0.9999, 0.99999999])
def test_pca_inverts_and_explains_as_scikit_learn(tmp_path, p, standardize):
    theirs = decomposition.PCA(p, svd_solver="full")
    pipeline = make_pipeline(*[StandardScaler()] * standardize, theirs).fit(X)
    expected = pipeline.inverse_transform(pipeline.transform(X))
    stream, part = (PCA(p, standardize=standardize) for _ in range(2))
    stream.partial_fit(X[:1]).partial_fit(X[1:50]).merge(part.partial_fit(X[50:]))
    fitted = PCA(p, standardize=standardize).fit(X)
    for ours in (fitted, *also_from_a_file(stream, tmp_path)):
        assert ours.components_.shape == (theirs.n_components_, 13)
        for name in ("explained_variance_", "explained_variance_ratio_"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)
        found = ours.inverse_transform(ours.transform(X))
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(X).max())
    few = ours.transform(X.astype(np.float32))
    assert ours.inverse_transform(few).dtype == np.float32


def test_pca_of_more_features_than_products_are_summed_for(monkeypatch):
    wide = np.random.default_rng(0).normal(size=(30, 9_000)) * np.linspace(0, 1, 9_000)
    expected = decomposition.PCA(n_components=3, svd_solver="full").fit(wide)
    found = PCA(n_components=3).fit(wide).explained_variance_ratio_
    np.testing.assert_allclose(found, expected.explained_variance_ratio_, rtol=1e-9)
    pretend(monkeypatch, "no products")
    samples, _ = labelled(n=30, d=12)
    few, fitted = PCA(3).fit(samples), PCA(0.8).fit(sparse.csr_array(samples))
    expected = decomposition.PCA(0.8, svd_solver="full").fit(samples).explained_variance_
    np.testing.assert_allclose(fitted.explained_variance_, expected)
    with pytest.raises(ParameterError, match=r"expected n_components up to 0"):
        few.set_params(n_components=0.99).transform(samples)
    with pytest.raises(ParameterError, match=r"expected at most .* features for mean_"):
        fitted.inverse_transform(fitted.transform(samples))


EXPLAINED = [
    OC(), OC(priors="balanced"), OCM(), PCA(), SRDA(), SRDA(alpha=1.0), LDA(),
    LDA(solver="pca"), LDA(solver="gsvd"), IDRQR(), SRDA(solver="lsqr"),
]  # fmt: skip


@pytest.mark.parametrize("estimator", EXPLAINED, ids=repr)
@pytest.mark.parametrize(("n", "d", "c"), [(200, 9, 5), (12, 30, 4)])
def test_ratios_are_shares_of_all_eigenvalues(estimator, n, d, c, tmp_path):
    samples = labelled(n=n, d=d, c=c)
    everything = clone(estimator).fit(*samples).eigenvalues_
    shares = everything / everything.sum()
    for p in (None, 1, 2):
        fitted = clone(estimator).set_params(n_components=p).fit(*samples)
        for each in also_from_a_file(fitted, tmp_path):
            found = each.explained_variance_ratio_
            np.testing.assert_allclose(found, shares[:p], rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        fitted.explained_variance_ratio_[0] = 1.0


@pytest.mark.parametrize("stored", ["array", "non-zeros"])
def test_few_directions_of_many_classes_are_those_of_all(monkeypatch, stored):
    """By Lanczos, with the sums as they are stored."""
    rng = np.random.default_rng(3)
    X = sparse.random_array((400, 60), density=0.2, rng=rng, format="csr")
    y = rng.integers(0, 45, 400)
    if stored == "non-zeros":
        pretend(monkeypatch, "non-zeros")
    every = OC(priors="sqrt").fit(X, y)
    pretend(monkeypatch, "Lanczos for classes")
    few = OC(3, priors="sqrt").fit(X, y)
    for name in ("eigenvalues_", "components_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(few, name), getattr(every, name)[:3], atol=1e-9)
    assert (few.components_ != every.components_[:3]).any()  # found in another way


RULES = [
    LDA(), LDA(mu=0.5, keep=0, standardize=True), LDA(solver="gsvd"), SRDA(n_components=1),
    SRDA(solver="lsqr"),
]  # fmt: skip


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", RULES, ids=repr)
def test_coefficients_are_those_of_the_decisions(tmp_path, method, classes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = method.fit(X, Y % classes)
    rows = 1 if classes == 2 else 3
    for each in also_from_a_file(fitted, tmp_path):
        assert (each.coef_.shape, each.intercept_.shape) == ((rows, 13), (rows,))
        found = X @ each.coef_.T + each.intercept_
        expected = each.decision_function(X).reshape(len(X), rows)
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_hidden_features_and_classes_to_come_have_no_coefficients():
    assert not hasattr(KernelSRDA(n_hidden=20).fit(X, Y), "coef_")
    fitted = LDA(mu=1.0).partial_fit(X, Y, classes=[0, 1, 2, 3])
    assert (fitted.coef_[3].any(), fitted.intercept_[3]) == (False, -np.inf)
    expected = fitted.decision_function(X)
    np.testing.assert_allclose(X @ fitted.coef_.T + fitted.intercept_, expected, atol=1e-9)
