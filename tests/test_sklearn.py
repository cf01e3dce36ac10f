"""scikit-learn's own checks, on every method."""

from __future__ import annotations

import copy
import re
import sys
import types

import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.estimator_checks import parametrize_with_checks

import narrows
import narrows.engines
from narrows import CCIPCA, OC, SRDA, KernelSRDA, Window
from tests.cases import ALL, NUMERIC, NUMERIC_METHODS, labelled
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


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_data_frames_keep_their_names(method):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.where(X > X.median(), 0.0)  # zeros, or there is nothing to count
    fitted = method().set_output(transform="pandas").fit(X, y)
    reduced = fitted.transform(X)
    assert isinstance(reduced, pd.DataFrame)
    assert list(reduced.columns) == list(fitted.get_feature_names_out())
    assert reduced.index.equals(X.index)


def public(names):
    return {name for name in names if not name.startswith("_")}


@pytest.mark.filterwarnings("ignore:.*gains? margin")
@pytest.mark.parametrize("method", [*EVERY_METHOD, Window])
def test_dir_shows_what_a_method_supports_and_nothing_else(method):
    X, y = labelled(sparse=True)
    numeric = method in NUMERIC_METHODS.values()
    new = Window(OC()) if method is Window else method()
    fitted = clone(new).fit(X, X[:, 1] if numeric else y)
    hidden = {"coef_", "intercept_"} if method is KernelSRDA else set()
    hidden |= {"classes_", "class_count_"} if numeric else set()
    given = {*new.get_params(deep=False), "n_features_in_"}
    if method is Window:  # OC does not predict
        hidden = {"predict", "predict_proba", "decision_function", "score"}
        given |= {"n_samples_seen_", "estimator_"}
        assert not any(hasattr(fitted, name) for name in hidden)
    supported = public(name for name in dir(method) if hasattr(method, name))
    assert public(dir(fitted)) == supported - hidden | given
    assert public(dir(new)) <= supported | given


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


def test_an_error_inside_an_attribute_is_not_hidden():
    with pytest.raises(AttributeError, match="'OC' object has no attribute 'fitt'") as error:
        OC().fitt  # noqa: B018
    assert (error.value.name, type(error.value.obj)) == ("fitt", OC)
    stream = OC(priors=[0.2] * 5).partial_fit(*labelled())
    for estimator, word in ((OC(), "OC instance is not fitted"), (stream, "expected 5 classes")):
        with pytest.raises(NotFittedError, match=word):
            estimator.components_  # noqa: B018


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
