"""What software of others expects: labels that are ignored, dtypes that stay, names of any kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import get_tags

from narrows import (
    CCIPCA,
    DF,
    IG,
    LDA,
    MMC,
    OC,
    OCFS,
    PCA,
    PLS,
    SRDA,
    FisherFS,
    ForwardFS,
    OnlineSRDA,
    ReducedRank,
    VarianceFS,
    Window,
)
from narrows.river import OneByOne
from narrows.table import TableEncoder
from narrows.text import HashedTfidf, Tfidf
from tests.cases import ALL, NUMERIC, assert_same, labelled

UNLABELLED = [CCIPCA(n_components=2), VarianceFS(n_features=3), DF(n_features=3), PCA(2)]
NO_LABELS = {
    "numbers": np.linspace(0.5, 2.4, 60),
    "NaN": np.full(60, np.nan),
    "None": [None] * 60,
    "some None": [None, 1] * 30,
    "several numbers": np.linspace(0, 1, 120).reshape(60, 2),
}


@pytest.mark.parametrize("y", NO_LABELS.values(), ids=NO_LABELS)
@pytest.mark.parametrize("estimator", UNLABELLED, ids=str)
def test_y_without_labels_is_not_looked_at_by_methods_without(estimator, y):
    X, _ = labelled()
    alone = clone(estimator).fit(X)
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


TEXTS = ["a red apple", "green apple pie", "the old car"]


@pytest.mark.parametrize("maker", [Tfidf(), HashedTfidf(n_features=64), TableEncoder()], ids=str)
def test_made_samples_are_of_the_class_that_the_setting_asks_for(maker):
    given = pd.DataFrame({"a": [1.0, 2.5, 2.0]}) if isinstance(maker, TableEncoder) else TEXTS
    assert isinstance(maker.fit_transform(given), sparse.csr_matrix)
    assert isinstance(maker.fit(given).transform(given), sparse.csr_matrix)
    with config_context(sparse_interface="sparray"):
        assert isinstance(maker.fit_transform(given), sparse.csr_array)
        assert isinstance(maker.transform(given), sparse.csr_array)


@pytest.mark.parametrize("estimator", [SRDA(), LDA(), PLS(2), OC(), OCFS(n_features=3)], ids=str)
def test_a_window_predicts_if_its_estimator_does(estimator):
    X, y = labelled(200)
    y = X[:, 0] if isinstance(estimator, PLS) else y
    window = Window(estimator, samples=80)
    for start in range(0, 200, 25):
        window.partial_fit(X[start : start + 25], y[start : start + 25])
    alone = type(estimator)(**estimator.get_params()).fit(X[120:], y[120:])
    for name in ("predict", "predict_proba", "decision_function", "score"):
        assert hasattr(window, name) == hasattr(alone, name)
        if not hasattr(alone, name):
            continue
        given = (X, y) if name == "score" else (X,)
        found, expected = (np.asarray(getattr(each, name)(*given)) for each in (window, alone))
        if expected.dtype.kind == "U":  # labels
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert get_tags(window).estimator_type == get_tags(alone).estimator_type


def test_tags_say_where_several_labels_are_learned():
    X, y = labelled()
    for method, several in ((OnlineSRDA(), True), (LDA(), False)):
        tags = get_tags(method)
        assert tags.classifier_tags.multi_label == tags.target_tags.multi_output == several
    Y = np.eye(3, dtype=int)[np.unique(y, return_inverse=True)[1]]
    assert OnlineSRDA().fit(X, Y).score(X, Y) > 0.3


METHODS = [SRDA(), LDA(), MMC(n_components=2), PCA(2), FisherFS(n_features=2),
           VarianceFS(n_features=2), ForwardFS(n_features=2), PLS(1)]  # fmt: skip


def never_added():
    """Yield an estimator, its moments, and others that are more than it has, but for 0.9."""
    X, y = labelled()
    for method in (IG(n_features=2), DF(n_features=2)):
        one, other = (clone(method).fit(np.where(s * X > 0, X, 0), y).moments_ for s in (1, -1))
        yield method, one, other
    z = np.random.default_rng(0).normal(size=60)
    z -= z.mean()
    one, other = (SRDA().fit(np.column_stack([z, s * z]), y).moments_ for s in (1, -1))
    yield SRDA(alpha=0.001), one, other
    for method in METHODS:
        y = X[:, 0] if isinstance(method, PLS) else y
        yield method, clone(method).fit(X, y).moments_, clone(method).fit(10 * X, y).moments_


def test_moments_of_no_samples_are_refused():
    for method, one, other in never_added():
        with pytest.raises(ValueError, match="which no samples have"):
            method.fit_moments(one - 0.9 * other)


@pytest.mark.slow
def test_methods_without_labels_learn_without():
    pytest.importorskip("river", reason="the extra river is not installed")
    from river import compose, linear_model

    X, _ = labelled()
    model = compose.Pipeline(OneByOne(PCA(2), 64), linear_model.LinearRegression())
    for x in X:
        model.learn_one(dict(enumerate(x.tolist())), float(x[0]))
    assert set(model["OneByOne"].transform_one({0: 1.0})) == {"pca0", "pca1"}
    assert np.isfinite(model.predict_one({0: 1.0}))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [PLS, ReducedRank])
def test_methods_for_numbers_are_regressors_of_river(kind):
    base = pytest.importorskip("river.base", reason="the extra river is not installed")
    X, _ = labelled()
    one = OneByOne(kind(), 64, batch=len(X))
    assert isinstance(one, base.Regressor)
    assert not isinstance(one, base.Classifier)
    targets = 3 * X[:, 0] - X[:, 1]
    for x, target in zip(X, targets.tolist(), strict=True):
        one.learn_one(dict(enumerate(x)), target)
    expected = kind().fit(X, targets).predict(X)
    assert one.predict_one(dict(enumerate(X[3]))) == pytest.approx(expected[3])
