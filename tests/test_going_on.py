"""Streams that go on: other parameters, labels that may occur, a fixed number of components."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from narrows import (
    CHI,
    DF,
    IDRQR,
    IG,
    IOC,
    MI,
    OC,
    OCM,
    PLS,
    SRDA,
    KernelSRDA,
    OnlineSRDA,
    load,
    save,
)
from narrows.errors import DataError
from tests.cases import labelled
from tests.inside import Moments, local, rename_classes
from tests.test_forgery import rewritten

OLD_FILES = Path(__file__).parent / "models_0_3_0"
X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("method", [IOC, IDRQR])
def test_methods_without_weights_refuse_them_in_chunks(method):
    with pytest.raises(TypeError, match="expected no sample_weight"):
        local.fit(method(), [(X[k::2], y[k::2], np.ones(75)) for k in range(2)])


@pytest.mark.parametrize("method", [SRDA, OnlineSRDA, KernelSRDA])
def test_labels_that_may_occur_are_renamed(method):
    model = method().partial_fit(X[:100], y[:100], classes=[0, 1, 2, 7])
    rename_classes(model, np.array(["zero", "one", "two", "seven"]))
    assert model.classes_.tolist() == ["one", "seven", "two", "zero"]
    model.partial_fit(X[100:], np.array(["two"] * 50))
    assert model.class_count_.tolist() == [50, 0, 50, 50]


@pytest.mark.parametrize("method", [IG, CHI, MI, DF])
@pytest.mark.parametrize("second", [None, "class", "cross"])
def test_moments_of_presence_are_those_of_zeros_and_ones(method, second):
    weight = np.linspace(0, 1e6, len(X))
    Z = np.where(X > 2, X, 0)
    expected = method(2).fit(Z, y, weight).scores_
    for form in (np.asarray, sparse.csr_array):
        moments = Moments.of(form(Z != 0), y, weight, second=second)
        np.testing.assert_allclose(method(2).fit_moments(moments).scores_, expected, 1e-9, 1e-12)


def test_moments_that_cannot_be_fitted_are_refused():
    none = Moments.of(X[:0], X[:0, 0], second="cross", numeric=True)
    for model, moments, word in (
        (OC(), [], "at least one fold"),
        (OC(n_components="cv"), [Moments.of(X, y), Moments.of(X[:, :3], y)], "n_features"),
        (PLS(), none, "non-zero weight"),
    ):
        with pytest.raises(ValueError, match=word):
            model.fit_moments(moments)


FORGED = [("pls", "n_targets", np.array([1, 1])), ("srda", "registered", np.ones(1, bool))]


@pytest.mark.parametrize(("name", "array", "value"), FORGED)
def test_a_forged_count_of_an_old_file_is_named(name, array, value, tmp_path):
    path = tmp_path / "m.narrows"
    shutil.copy(OLD_FILES / f"{name}.narrows", path)
    rewritten(path, {f"state.{array}": value})
    with pytest.raises(DataError, match=f"{array}: expected"):
        load(path)


@pytest.mark.parametrize("name", ["srda", "onlinesrda"])
@pytest.mark.parametrize("known", [[False] * 3, [False, True, False]], ids=str)
def test_labels_that_may_occur_are_read_of_old_files(name, known, tmp_path):
    """Version 0.3 stored which labels of the state were registered."""
    path = tmp_path / "m.narrows"
    shutil.copy(OLD_FILES / f"{name}.narrows", path)
    rewritten(path, {"state.registered": np.array(known)})
    labels = load(path).classes_
    save(load(path), path)
    stored = load_file(path).get("known.labels.text", np.array([], np.uint8))
    assert bytes(stored).decode() == "".join(labels[known])


P = 4  # components, from the first batch of a stream on


def batches(size=10):
    """Samples of five classes, one class after the other."""
    X, y = labelled(n=150, d=9, c=5)
    order = np.argsort(y, kind="stable")
    for start in range(0, len(X), size):
        yield X[order[start : start + size]], y[order[start : start + size]]


def assert_width(learner, p=P):
    assert learner.components_.shape == (p, 9)
    if not isinstance(learner, OnlineSRDA):
        assert not learner.eigenvalues_[~learner.components_.any(axis=1)].any()
    assert len(learner.get_feature_names_out()) == learner.transform(np.eye(9)).shape[1] == p


@pytest.mark.parametrize("method", [OC, OCM, IDRQR, OnlineSRDA])
def test_columns_are_as_many_as_asked_for_at_every_moment(method):
    fixed, follows, wide = method(n_components=P), method(), method(n_components=8)
    for part in batches():
        for learner in (fixed, follows, wide):
            learner.partial_fit(*part)
        assert_width(fixed)
        assert_width(wide, 8)
        found = len(follows.components_)
        if found <= P:  # all there are, and zeros
            np.testing.assert_allclose(fixed.components_[:found], follows.components_, atol=1e-12)
            assert not fixed.components_[found:].any()
    assert found > P or method is OC
    assert fixed.components_.any(axis=1).all()
    assert not wide.components_[5:].any()


@pytest.mark.parametrize("method", [OC, OCM])
def test_priors_of_classes_to_come_leave_the_columns_zeros(method):
    given = [0.1, 0.2, 0.3, 0.2, 0.2]
    learner = method(n_components=P, priors=given)
    for part in batches(70):
        assert_width(learner.partial_fit(*part))
        assert learner.components_.any() == (len(learner.classes_) == 5)
    (first, labels), *_ = batches(5)
    for waiting in (method(priors=given), OC()):
        with pytest.raises(NotFittedError, match=r"expected 5 classes|without a direction"):
            waiting.partial_fit(first, labels).transform(first)
