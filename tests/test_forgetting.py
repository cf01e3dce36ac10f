"""Streams that change: half-lives, and windows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from narrows import DF, IG, LDA, MMC, OC, OCFS, OCM, PCA, SRDA, OnlineSRDA, VarianceFS, Window
from narrows.errors import ParameterError
from tests.cases import labelled
from tests.conftest import EVERYTHING, slow

BATCHES = [[], [1, 2, 40], list(range(1, 300, 7 if EVERYTHING else 35)), [150], [299]]
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


def test_weights_and_half_life_multiply():
    X, y = rows()
    given = np.random.default_rng(0).random(len(y))
    weight = given * 0.5 ** (np.arange(len(y))[::-1] / 50)
    expected = OC().fit(X, y, sample_weight=weight)
    for half_life in (50, np.float16(50)):
        assert_same(OC(half_life=half_life).fit(X, y, sample_weight=given), expected)


def test_the_smallest_half_life_keeps_the_last_sample():
    model = OnlineSRDA(half_life=1e-300).partial_fit([[1.0], [2.0], [4.0]], [0, 1, 1])
    assert np.isfinite(model.components_).all()


def test_streams_that_ran_side_by_side_are_added():
    X, y = rows()
    a, b = OCFS(half_life=30).fit(X[:200], y[:200]), OCFS(half_life=30).fit(X[200:], y[200:])
    both = a.class_count_ + b.class_count_
    np.testing.assert_allclose(a.merge(b).class_count_, both)
    with pytest.raises(ValueError, match="half_life"):
        a.merge(OCFS(half_life=31).fit(X, y))


def test_a_class_that_faded_is_dropped():
    X, y = rows()
    late = np.where(y == "ant", "bee", y)
    oc = OC(half_life=5).partial_fit(X, y)
    assert "ant" in oc.classes_
    for _ in range(2):
        oc.partial_fit(X, late)
    assert "ant" not in oc.classes_
    assert oc.components_.shape == (1, 7)
    assert_same(oc, OC(half_life=5).fit(X, late), rtol=1e-6)
    oc.partial_fit(X[:50], y[:50])
    assert "ant" in oc.classes_


@pytest.mark.parametrize("model", [OC(half_life=10), Window(OC(), 100)], ids=repr)
def test_what_fails_changes_nothing(model):
    X, y = rows()
    stream, fresh = clone(model).partial_fit(X, y), clone(model)
    again = clone(stream).partial_fit(X, y).partial_fit(X[:9], y[:9])
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
    stream.partial_fit(X[:9], y[:9])
    assert stream.n_samples_seen_ == again.n_samples_seen_ == 309
    np.testing.assert_array_equal(stream.transform(X), again.transform(X))


def test_the_smallest_half_life_leaves_the_last_sample():
    with np.errstate(all="raise", under="ignore"):
        assert OC(half_life=5e-324).partial_fit(*rows()).class_count_.tolist() == [1.0]
    with pytest.raises(ParameterError, match="half_life"):
        OC(half_life=0).fit(*rows())


METHODS = [OC(), OCM(), IG(), VarianceFS(), SRDA(), LDA(n_components=5), MMC(), PCA(2)]


@pytest.mark.more
@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("kind", [slow("dense"), "sparse"])
@pytest.mark.parametrize("samples", [slow(1), 37, slow(100), slow(256), slow(1000)])
def test_a_window_is_the_fit_of_its_rows(method, kind, samples):
    X, y = rows(kind)
    alone = Window(clone(method), samples).partial_fit(X[-samples:], y[-samples:])
    for cuts in BATCHES:
        window, end = Window(clone(method), samples), 0
        for part in np.split(np.arange(len(y)), cuts):
            window.partial_fit(X[part], y[part])
            end += len(part)
            last = slice(max(0, end - samples), end)
            if len(np.unique(y[last])) < 3 or (end % 5 and len(cuts) > 5):
                continue
            expected = clone(method).partial_fit(X[last], y[last])
            assert_same(window.estimator_, expected, rtol=1e-7)
        assert window.n_samples_seen_ == len(y)
        assert len(pickle.dumps(window)) < 3 * len(pickle.dumps(alone))


@pytest.mark.parametrize(
    ("window", "word"),
    [
        (Window(LDA(solver="gsvd")), "states add up"),
        (Window(SRDA(solver="lsqr")), "states add up"),
        (Window(OnlineSRDA()), "states add up"),
        (Window(OC(half_life=3)), "half_life"),
        (Window(OC(), 0), "samples"),
    ],
)
def test_what_a_window_expects(window, word):
    with pytest.raises(ParameterError, match=word):
        window.partial_fit(*rows())


@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
def test_a_window_of_too_many_features_is_an_error(verb):
    window = Window(SRDA(), samples=10)
    with pytest.raises(ParameterError, match="expected at most 8,192 features for SRDA"):
        getattr(window, verb)(np.eye(10, 8193), np.arange(10) % 2)
    assert not hasattr(window, "n_samples_seen_")


@parametrize_with_checks([Window(OCFS(n_features=1), 10_000)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n", [1000, 1030, 1070, 2000])
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
    window = Window(OC(), 100).partial_fit(X, y)
    assert window.estimator_ is window.estimator_
    window.set_params(samples=50, estimator__n_components=1)
    assert_same(window.estimator_, OC(n_components=1).fit(X[250:], y[250:]))
    window.set_params(estimator__half_life=3)
    with pytest.raises(ParameterError, match="an estimator without a half_life"):
        window.transform(X)


def test_a_window_reduces_samples_as_its_estimator():
    X, y = rows()
    window = Window(OCFS(n_features=2), 100).fit(X, y, sample_weight=np.ones(len(y)))
    expected = OCFS(n_features=2).fit(X[200:], y[200:])
    np.testing.assert_array_equal(window.transform(X), expected.transform(X))
    assert window.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    assert Window(DF(), 10).fit(X).estimator_.n_samples_seen_ == 10
