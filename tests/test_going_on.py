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
    CCIPCA,
    CHI,
    DF,
    IDRQR,
    IG,
    IIS,
    ILDA,
    IMMC,
    IOC,
    MI,
    OC,
    OCFS,
    OCM,
    PCA,
    PLS,
    SRDA,
    ForwardFS,
    KernelSRDA,
    OnlineSRDA,
    load,
    save,
)
from narrows.errors import DataError
from tests.cases import labelled
from tests.inside import (
    Moments,
    local,
    rename_classes,
)
from tests.test_forgery import rewritten

OLD_FILES = Path(__file__).parent / "models_0_3_0"
X, y = load_iris(return_X_y=True)
HALVES = slice(0, None, 2), slice(1, None, 2)


@pytest.mark.parametrize(
    "method", [IOC, IIS, IMMC, CCIPCA, ILDA, IDRQR], ids=lambda method: method.__name__
)
def test_methods_without_weights_refuse_them_in_chunks(method):
    chunks = [(X[half], y[half], np.ones(75)) for half in HALVES]
    with pytest.raises(TypeError, match="expected no sample_weight"):
        local.fit(method(), chunks)
    local.fit(method(), [chunk[:2] for chunk in chunks])


@pytest.mark.parametrize("method", [OC, OCFS, SRDA, PCA, KernelSRDA], ids=lambda m: m.__name__)
def test_another_half_life_holds_for_the_next_samples(method):
    learned = method().partial_fit(X[HALVES[0]], y[HALVES[0]])
    learned.set_params(half_life=10).partial_fit(X[HALVES[1]], y[HALVES[1]])
    assert 10 < learned.moments_.n < 20
    before = learned.moments_.n
    learned.set_params(half_life=None).partial_fit(X[:30], y[:30])
    np.testing.assert_allclose(learned.moments_.n, before + 30)


@pytest.mark.parametrize("method", [SRDA, OnlineSRDA, KernelSRDA], ids=lambda m: m.__name__)
def test_labels_that_may_occur_are_renamed(method):
    model = method().partial_fit(X[:100], y[:100], classes=[0, 1, 2, 7])
    rename_classes(model, np.array(["zero", "one", "two", "seven"]))
    assert model.classes_.tolist() == ["one", "seven", "two", "zero"]
    assert model.class_count_.tolist() == [50, 0, 0, 50]
    model.partial_fit(X[100:], np.array(["two"] * 50))
    assert model.class_count_.tolist() == [50, 0, 50, 50]


@pytest.mark.parametrize("method", [IG, CHI, MI, DF], ids=lambda method: method.__name__)
@pytest.mark.parametrize("second", [None, "class", "cross"])
def test_moments_of_presence_are_those_of_zeros_and_ones(method, second):
    weight = np.linspace(0, 1e6, len(X))
    Z = np.where(X > 2, X, 0)
    expected = method(2).fit(Z, y, weight).scores_
    for form in (np.asarray, sparse.csr_array):
        found = method(2).fit_moments(Moments.of(form(Z != 0), y, weight, second=second)).scores_
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    if second is not None:
        with pytest.raises(ValueError, match="expected moments of zeros"):
            method(2).fit_moments(Moments.of(Z / 100, y, second=second))


def test_moments_that_cannot_be_fitted_are_refused():
    with pytest.raises(ValueError, match="at least one fold"):
        OC().fit_moments([])
    with pytest.raises(ValueError, match="n_features"):
        OC(n_components="cv").fit_moments([Moments.of(X, y), Moments.of(X[:, :3], y)])
    with pytest.raises(ValueError, match="non-zero weight"):
        PLS().fit_moments(Moments.of(X[:0], X[:0, 0], second="cross", numeric=True))
    with pytest.raises(ValueError, match="in each fold"):
        PLS(n_components="cv").fit(X[:1], X[:1, 0])


@pytest.mark.parametrize("first", [y[:0], y[:0] + 0.5, np.array([], str)], ids=["i", "f", "U"])
def test_forward_selection_finds_its_targets_in_the_first_samples(first, tmp_path):
    model = ForwardFS(2).partial_fit(X[:0], first)
    save(model, tmp_path / "m.narrows")
    expected = ForwardFS(2).fit(X, X[:, 0])
    for each in (model, load(tmp_path / "m.narrows")):
        found = each.partial_fit(X[:100], X[:100, 0]).partial_fit(X[100:], X[100:, 0])
        np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-9)
        assert not hasattr(found, "classes_")


def test_a_forged_number_of_targets_of_an_old_file_is_named(tmp_path):
    path = tmp_path / "m.narrows"
    shutil.copy(OLD_FILES / "pls.narrows", path)
    rewritten(path, {"state.n_targets": np.array([1, 1])})
    with pytest.raises(DataError, match="n_targets: expected"):
        load(path)


@pytest.mark.parametrize("name", ["srda", "onlinesrda"])
def test_labels_that_may_occur_are_read_of_old_files(name, tmp_path):
    """Version 0.3 stored which labels of the state were registered."""
    path = tmp_path / "m.narrows"
    labels = load(OLD_FILES / f"{name}.narrows").classes_
    for known in ([False] * 3, [False, True, False], [True]):
        shutil.copy(OLD_FILES / f"{name}.narrows", path)
        rewritten(path, {"state.registered": np.array(known)})
        if len(known) < 3:
            with pytest.raises(DataError, match="registered: expected"):
                load(path)
            continue
        save(load(path), path)
        stored = load_file(path).get("known.labels.text", np.array([], np.uint8))
        assert bytes(stored).decode() == "".join(labels[known])


P = 4  # components, from the first batch of a stream on
METHODS = [OC, OCM, IDRQR, OnlineSRDA]
methods = pytest.mark.parametrize("method", METHODS)


def by_class():
    """Rows of five classes, one class after the other."""
    X, y = labelled(n=150, d=9, c=5)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def batches(size=10):
    X, y = by_class()
    for start in range(0, len(X), size):
        yield X[start : start + size], y[start : start + size]


def assert_width(learner, X, p=P):
    assert learner.components_.shape == (p, X.shape[1])
    if not isinstance(learner, OnlineSRDA):
        assert not learner.eigenvalues_[~learner.components_.any(axis=1)].any()
    assert len(learner.get_feature_names_out()) == p
    reduced = learner.transform(X)
    np.testing.assert_allclose(reduced, X @ learner.components_.T, rtol=1e-4, atol=1e-4)


@methods
def test_columns_are_as_many_as_asked_for_at_every_moment(method):
    fixed, follows = method(n_components=P), method()
    X, _ = by_class()
    for X_part, y_part in batches():
        fixed.partial_fit(X_part, y_part)
        follows.partial_fit(X_part, y_part)
        assert_width(fixed, X)
        found = len(follows.components_)
        if found <= P:  # all there are, and zeros
            np.testing.assert_allclose(fixed.components_[:found], follows.components_, atol=1e-12)
            assert not fixed.components_[found:].any()
    assert found > P or method is OC
    assert fixed.components_.any(axis=1).all()


@methods
def test_columns_without_a_class_are_zeros(method):
    X, y = by_class()
    for rows in (0, 1, 5):  # of one class or none
        learner = method(n_components=P).partial_fit(X[:rows], y[:rows])
        assert_width(learner, X)
        assert method is not OC or not learner.transform(X).any()
    learner = method(n_components=8).partial_fit(X, y)
    assert_width(learner, X, 8)
    assert not learner.components_[5:].any()
    with pytest.raises(NotFittedError, match="without a direction"):
        OC().partial_fit(X[:5], y[:5]).transform(X)


@pytest.mark.parametrize("method", [OC, OCM])
def test_priors_of_classes_to_come_leave_the_columns_zeros(method):
    X, y = by_class()
    given = [0.1, 0.2, 0.3, 0.2, 0.2]
    learner = method(n_components=P, priors=given)
    for X_part, y_part in batches(70):
        learner.partial_fit(X_part, y_part)
        assert_width(learner, X)
        assert learner.components_.any() == (len(learner.classes_) == 5)
    with pytest.raises(NotFittedError, match="expected 5 classes, one for each of the priors"):
        method(priors=given).partial_fit(X[:5], y[:5]).transform(X)
