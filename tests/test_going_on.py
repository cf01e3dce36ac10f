"""Streams that go on, and that forget: labels to come, fixed widths, half-lives, windows."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from narrows import (
    DF,
    IDRQR,
    IG,
    IOC,
    LDA,
    OC,
    OCFS,
    OCM,
    PCA,
    PLS,
    SRDA,
    OnlineSRDA,
    VarianceFS,
    Window,
    load,
    save,
)
from narrows.errors import DataError, ParameterError
from tests.cases import labelled
from tests.conftest import slow
from tests.inside import Moments, local
from tests.test_forgery import rewritten

OLD_FILES = Path(__file__).parent / "models_0_3_0"
X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("method", [IOC, IDRQR])
def test_methods_without_weights_refuse_them_in_chunks(method):
    with pytest.raises(TypeError, match="expected no sample_weight"):
        local.fit(method(), [(X[k::2], y[k::2], np.ones(75)) for k in range(2)])


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


# -- streams that forget


pytestmark = pytest.mark.filterwarnings(
    "ignore:.*gains? margin", "ignore:.*gain margin", "ignore:.*expected a positive score of"
)


def rows(kind="dense", n=300):
    X, y = labelled(n=n, d=7)
    X = np.abs(np.where(np.random.default_rng(1).random(X.shape) < 0.4, 0.0, X))
    return (sparse.csr_array(X) if kind == "sparse" else X), y


def answers(estimator):
    found = [estimator.class_count_]
    found.append(estimator.scores_ if hasattr(estimator, "scores_") else estimator.components_)
    return found


def assert_same(a, b, rtol=1e-9):
    assert a.classes_.tolist() == b.classes_.tolist()
    for mine, theirs in zip(answers(a), answers(b), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=1e-12)


def test_a_class_that_faded_is_dropped():
    X, y = rows()
    late = np.where(y == "ant", "bee", y)
    oc = OC(half_life=5).partial_fit(X, y)
    assert "ant" in oc.classes_
    oc.partial_fit(X, late).partial_fit(X, late)
    assert "ant" not in oc.classes_
    assert_same(oc, OC(half_life=5).fit(X, late), rtol=1e-6)
    assert "ant" in oc.partial_fit(X[:50], y[:50]).classes_


def test_the_smallest_half_life_leaves_the_last_sample():
    with np.errstate(all="raise", under="ignore"):
        assert OC(half_life=5e-324).partial_fit(*rows()).class_count_.tolist() == [1.0]
        online = OnlineSRDA(half_life=1e-300).partial_fit(*rows())
        assert np.isfinite(online.components_).all()
    with pytest.raises(ParameterError, match="half_life"):
        OC(half_life=0).fit(*rows())


@pytest.mark.parametrize("n", [1000, 1070])
def test_what_has_faded_to_nothing_is_gone(n):
    X, y = rows()
    variance = VarianceFS(half_life=1).partial_fit(X, y)
    variance.partial_fit(X[[0] * n], y[[0] * n], sample_weight=np.zeros(n))
    assert np.isfinite(variance.scores_).all()
    assert_same(variance.partial_fit(X, y), VarianceFS(half_life=1).fit(X, y))


@pytest.mark.parametrize("cuts", [[], [5000], list(range(100, 10_000, 100))])
def test_values_that_moved_far_away_have_their_variance(cuts):
    X = np.random.default_rng(0).normal(size=(10_000, 3)) * [1, 2, 3]
    X[5000:] += 1e7
    variance = VarianceFS(half_life=50)
    for part in np.split(X, cuts):
        variance.partial_fit(part)
    expected = VarianceFS(half_life=50).fit(X[5000:] - 1e7).scores_
    np.testing.assert_allclose(variance.scores_, expected, rtol=1e-6)


METHODS = [OC(), IG(), VarianceFS(), LDA(n_components=5), PCA(2)]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("kind", [slow("dense"), "sparse"])
@pytest.mark.parametrize("samples", [slow(1), 37, slow(256), slow(1000)])
def test_a_window_is_the_fit_of_its_rows(method, kind, samples):
    X, y = rows(kind)
    alone = Window(clone(method), samples).partial_fit(X[-samples:], y[-samples:])
    for cuts in ([], [1, 2, 40], list(range(1, 300, 35)), [299]):
        window, end = Window(clone(method), samples), 0
        for part in np.split(np.arange(len(y)), cuts):
            window.partial_fit(X[part], y[part])
            end += len(part)
            last = slice(max(0, end - samples), end)
            if len(np.unique(y[last])) == 3:
                expected = clone(method).partial_fit(X[last], y[last])
                assert_same(window.estimator_, expected, rtol=1e-7)
        assert window.n_samples_seen_ == len(y)
        assert len(pickle.dumps(window)) < 3 * len(pickle.dumps(alone))


@pytest.mark.parametrize("model", [OC(half_life=10), Window(OC(), 100)], ids=repr)
def test_a_stream_that_fails_is_as_before(model):
    X, y = rows()
    stream, fresh = clone(model).partial_fit(X, y), clone(model)
    expected = stream.transform(X)
    for *bad, word in (
        (X, y[:-1], "inconsistent"),
        (X[:, :3], y, "3 features"),
        (X, None, "requires y"),
        (X, np.arange(len(y)) % 2, "one type"),
    ):
        with pytest.raises(ValueError, match=word):
            stream.partial_fit(*bad)
    with pytest.raises(ValueError, match="inconsistent"):
        fresh.partial_fit(X, y[:-1])
    assert not hasattr(fresh, "n_features_in_")
    np.testing.assert_array_equal(stream.transform(X), expected)


REFUSED = [
    (Window(LDA(solver="gsvd")), "states add up"),
    (Window(SRDA(solver="lsqr")), "states add up"),
    (Window(OnlineSRDA()), "states add up"),
    (Window(OC(half_life=3)), "half_life"),
    (Window(OC(), 0), "samples"),
]


@pytest.mark.parametrize(("window", "word"), REFUSED)
def test_what_a_window_expects(window, word):
    with pytest.raises(ParameterError, match=word):
        window.partial_fit(*rows())


@parametrize_with_checks([Window(OCFS(n_features=1), 10_000)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_a_window_keeps_rows_of_its_own(kind):
    X, y = rows()
    window = Window(OC(), 100)
    for start in range(0, 300, 30):
        some, labels = kind(X[start : start + 30]), y[start : start + 30].copy()
        weight = np.ones(30)
        window.partial_fit(some, labels, sample_weight=weight)
        (some.data if kind is sparse.csr_array else some)[:] = 7.0  # the buffer is used again
        labels[:], weight[:] = "ant", 9.0
    assert_same(window.estimator_, OC().fit(X[200:], y[200:]))


def test_a_window_answers_for_the_parameters_of_the_moment():
    X, y = rows()
    window = Window(OC(), 100).fit(X, y, sample_weight=np.ones(len(y)))
    window.set_params(samples=50, estimator__n_components=1)
    assert_same(window.estimator_, OC(n_components=1).fit(X[250:], y[250:]))
    assert window.get_feature_names_out().tolist() == ["oc0"]
    window.set_params(estimator__half_life=3)
    with pytest.raises(ParameterError, match="an estimator without a half_life"):
        window.transform(X)
    assert Window(DF(), 10).fit(X).estimator_.n_samples_seen_ == 10
