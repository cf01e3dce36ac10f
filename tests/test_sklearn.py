"""scikit-learn's own checks, on every method."""

from __future__ import annotations

import copy
import re
import sys
import types

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import narrows
import narrows.engines
from narrows import OC, SRDA, KernelSRDA, Window
from tests.cases import ALL, NUMERIC, NUMERIC_METHODS, labelled
from tests.cases import METHODS as METHODS_BY_NAME
from tests.inside import state_of

METHODS = list(METHODS_BY_NAME.values())
EVERY_METHOD = METHODS + list(NUMERIC_METHODS.values())


def expected_failures(estimator):
    """What scikit-learn asks for and a method does not promise, with the reason."""
    if isinstance(estimator, narrows.OnlineSRDA):
        reason = "a weight is one longer step, and no repetition"
        return {
            "check_sample_weight_equivalence_on_dense_data": reason,
            "check_sample_weight_equivalence_on_sparse_data": reason,
        }
    return {}


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
    if method is narrows.OCFS:
        assert set(reduced.columns) <= set(X.columns)


# -- what a user sees of an estimator ------------------------------------------------------------


def public(names):
    return {name for name in names if not name.startswith("_")}


def supported(method):
    """The public names of a class, which tests/signatures.txt lists."""
    return public(name for name in dir(method) if hasattr(method, name))


UNSUPPORTED = [
    (method, verb)
    for method in METHODS
    for verb in ("partial_fit", "merge", "fit_moments", "eigenvalues_")
    if not hasattr(method, verb) and not issubclass(method, SelectorMixin)
]


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
    assert public(dir(fitted)) == supported(method) - hidden | given
    assert public(dir(new)) <= supported(method) | given


@pytest.mark.parametrize(("method", "verb"), UNSUPPORTED)
def test_a_verb_that_is_not_supported_names_one_that_is(method, verb):
    for estimator in (method(), clone(method()), copy.deepcopy(method())):
        assert not hasattr(estimator, verb)
        with pytest.raises(
            AttributeError, match=rf"^{method.__name__} does not support {verb}: "
        ) as e:
            getattr(estimator, verb)
        used = re.search(r" Use .*\.$", str(e.value))[0]
        assert set(re.findall(r"\w+", used)) & {*narrows.__all__, "PCA"}


def test_an_error_inside_an_attribute_is_not_hidden():
    with pytest.raises(AttributeError, match="'OC' object has no attribute 'fitt'") as error:
        OC().fitt  # noqa: B018
    assert (error.value.name, type(error.value.obj)) == ("fitt", OC)
    stream = OC(priors=[0.2] * 5).partial_fit(*labelled())
    for estimator, word in ((OC(), "OC instance is not fitted"), (stream, "expected 5 classes")):
        with pytest.raises(NotFittedError, match=word):
            estimator.components_  # noqa: B018


# -- errors of wrong samples, labels and parameters ----------------------------------------------

WRONG = {
    "labels of another type": lambda X, y: (X, np.arange(len(y)) % 3),
    "labels of no type": lambda X, y: (X, np.array([None, 1.5] * len(y))[: len(y)]),
    "fractions": lambda X, y: (X, np.linspace(0, 1, len(y))),
    "mixed labels": lambda X, y: (X, np.array([1, "a"] * len(y), dtype=object)[: len(y)]),
    "no indicators": lambda X, y: (X, np.full((len(y), 3), 0.5)),
    "no labels": lambda X, y: (X, None),
    "another width": lambda X, y: (X[:, :3], y),
    "huge": lambda X, y: (np.where(X > 0, 1e307, 0.0), y),
}


@pytest.mark.filterwarnings("ignore:.*gains? margin|.*expected a positive score of")
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("method", [*METHODS, narrows.Window])
def test_errors_say_what_was_expected(method, wrong):
    X, y = labelled(sparse=True)
    estimator = narrows.Window(narrows.OCFS()) if method is narrows.Window else method()
    needs_y = get_tags(estimator).target_tags.required
    raised = []
    for verb in ("fit", "partial_fit"):
        fitted = clone(estimator).fit(X, y)
        if hasattr(fitted, verb):
            try:
                getattr(fitted, verb)(*WRONG[wrong](X, y))
            except ValueError as error:
                raised.append(str(error))
    for message in raised:
        assert "xpected " in message or "expecting " in message or wrong == "no labels", message
        assert "Moments" not in message
    uses_types = hasattr(estimator, "partial_fit") and method is not narrows.PCA
    if wrong == "labels of another type" and uses_types:
        assert "expected labels of one type" in raised[0]
    if wrong in ("fractions", "mixed labels", "no indicators", "no labels") and needs_y:
        assert raised


WRONG_PARAMETERS = [
    narrows.FisherFS(optimum="best"), narrows.FisherFS(optimum="trace_ratio"),
    narrows.ILDA(eta="fast"), narrows.IMMC(eps=-1.0), narrows.IMMC(theta="much"),
    narrows.CCIPCA(amnesic=-1.0), narrows.IDRQR(mu=-1.0), narrows.IDRQR(update="none"),
    narrows.OnlineSRDA(half_life=0.0), narrows.OnlineSRDA(random_state=-1),
    narrows.OnlineSRDA(n_components=9), narrows.OCFS(n_features=99),
]  # fmt: skip
WRONG_NUMBERS = [
    (narrows.IDRQR(mu=0.0), ([[1.0, 0.0], [0.0, 1.0]], [0, 1])),  # without a scatter
    (narrows.OnlineSRDA(), (np.eye(2), [0, 1], [1.0, -1.0])),
    (narrows.OnlineSRDA(), (1e200 * np.eye(2), [0, 1])),
    (narrows.IOC(), (1e200 * np.eye(2), [0, 1])),
    (narrows.OC(), ([[1e200, 1.0], [-1e200, 1.0]], [0, 1])),
]


@pytest.mark.parametrize(
    ("estimator", "samples"), [*((each, labelled()) for each in WRONG_PARAMETERS), *WRONG_NUMBERS]
)
def test_wrong_parameters_and_numbers_say_what_was_expected(estimator, samples):
    with pytest.raises(ValueError, match="expected "):
        estimator.fit(*samples)


def test_errors_and_warnings_of_states_say_what_was_expected():
    y = np.eye(2, dtype=int)
    one, several = narrows.OnlineSRDA().fit(np.eye(2), [0, 1]), narrows.OnlineSRDA().fit(y * 1.0, y)
    with pytest.raises(ValueError, match="expected labels of one form to merge"):
        one.merge(several)
    with pytest.raises(ValueError, match="expected one label per sample as before"):
        one.partial_fit(np.eye(2), y)
    with pytest.raises(ValueError, match="expected keep=2000 as at the start"):
        one.set_params(keep=5).partial_fit(np.eye(2), [0, 1])
    X = np.random.default_rng(0).normal(size=(600, 6))
    fitted = narrows.CCIPCA().fit(X)
    state_of(fitted).core.state.SV[0, 0] *= 1.001
    state_of(fitted).core.rebased = 300  # so that a new basis is due
    with pytest.warns(UserWarning, match="expected inner products with errors below"):
        fitted.partial_fit(X[1:3])


@pytest.mark.parametrize(
    ("method", "verb"),
    [
        (narrows.IOC, "fit"),
        (narrows.IOC, "transform_while_learning"),
        (narrows.IDRQR, "fit"),
        (narrows.CCIPCA, "partial_fit"),
        (narrows.OnlineSRDA, "partial_fit"),
        (narrows.OCFS, "fit"),
    ],
)
def test_arguments_that_a_method_does_not_take_are_errors(method, verb):
    X, y = labelled()
    with pytest.raises(TypeError, match=rf"{verb}\(\) got an unexpected .* 'weights'"):
        getattr(method(), verb)(X, y, weights=np.ones(len(y)))
    with pytest.raises(TypeError, match=rf"{verb}\(\) takes "):
        getattr(method(), verb)(X, y, None, None)


@pytest.mark.parametrize(
    "method", [m for m in METHODS if "priors" in m().get_params()], ids=lambda m: m.__name__
)
def test_wrong_priors_are_refused_by_every_verb(method):
    X, y = labelled(sparse=True)
    fitted = method().fit(X, y)
    stats = method(priors="balanced").fit(X, y).moments_
    for priors in ("even", [1.0], [-1.0, 1.0, 1.0], [["a"]]):
        for verb in (
            lambda e: e.fit(X, y),
            lambda e: e.fit_moments(stats),
            lambda e: e.partial_fit(X, y).transform(X),
        ):
            with pytest.raises(ValueError, match=r"priors"):
                verb(method(priors=priors))
    numbers = method().fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match=r"^expected labels of one type"):
        fitted.merge(numbers)


# -- collections of other libraries --------------------------------------------------------------


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
