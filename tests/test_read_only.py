"""Arrays that cannot be written to: memory maps of joblib as samples, as models and as states."""

from __future__ import annotations

import copy

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import narrows
from narrows import OC, OCFS, PLS, SRDA, Moments, OnlineSRDA, Window
from narrows.river import OneByOne
from narrows.table import TableEncoder
from narrows.text import HashedTfidf, Tfidf
from tests.cases import ALL, NUMERIC, labelled
from tests.inside import pretend

pytestmark = pytest.mark.filterwarnings("ignore:.*(gain margin|positive score|gains margin)")
EVERY = [(case, False) for case in ALL] + [(case, True) for case in NUMERIC]


@pytest.fixture
def mapped(tmp_path):
    """Return a function that maps all arrays of a value from a file, as joblib's workers do."""

    def load(value, mode="r"):
        path = tmp_path / "value"
        joblib.dump(value, path)
        found = joblib.load(path, mmap_mode=mode)
        if mode == "r":
            path.unlink()
        return found

    return load


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def samples_of(case, numeric):
    X, y = case.labelled()
    return X, np.column_stack([X[:, 0] + X[:, 2], X[:, 1]]) if numeric else y


def assert_reduces(a, b, X):
    np.testing.assert_allclose(dense(a.transform(X)), dense(b.transform(X)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("case", "numeric"), EVERY, ids=lambda v: getattr(v, "name", ""))
def test_samples_and_models_may_be_read_only(case, numeric, mapped):
    X, y = samples_of(case, numeric)
    for form in case.forms:
        Z = form(X)
        model = case.new().fit(Z, y)
        assert_reduces(case.new().fit(mapped(Z), mapped(y)), model, X)
        assert_reduces(mapped(model), model, mapped(X))
        if hasattr(model, "predict"):
            np.testing.assert_array_equal(mapped(model).predict(mapped(Z)), model.predict(Z))
        if hasattr(model, "merge"):
            merged = mapped(model).merge(mapped(model))
            assert_reduces(merged, copy.deepcopy(model).merge(model), X)
        if hasattr(model, "partial_fit"):
            there = mapped(model).partial_fit(mapped(Z), mapped(y)).partial_fit(Z[:5], y[:5])
            assert_reduces(there, model.partial_fit(Z, y).partial_fit(Z[:5], y[:5]), X)


def test_an_update_that_fails_restores_a_mapped_model(mapped):
    X, y = labelled()
    for method in (OC(), OnlineSRDA(random_state=0), narrows.IOC(), narrows.IDRQR()):
        model = method.fit(X, y)
        there = mapped(model)
        size = np.ones((len(X), 1))
        size[-1] = np.nan if isinstance(method, OC) else 1e200  # the others learn those before it
        with pytest.raises(ValueError):
            there.partial_fit(X * size, y)
        assert_reduces(there, model, X)


def test_the_file_of_a_mapped_model_does_not_change(mapped, tmp_path):
    X, y = labelled()
    for method in (OC(), SRDA(alpha=1.0), OnlineSRDA(random_state=0), narrows.IOC()):
        there = mapped(method.fit(sparse.csr_array(X), y), "r+")
        before = (tmp_path / "value").read_bytes()
        there.partial_fit(sparse.csr_array(X), y)
        assert (tmp_path / "value").read_bytes() == before


TEXTS = ["a b c", "b c d d", "e f é", "a a g"] * 3
VECTORISERS = [Tfidf(), Tfidf(ngram_range=(1, 2), max_features=4), HashedTfidf(n_features=64)]


@pytest.mark.parametrize("vectoriser", VECTORISERS, ids=repr)
def test_vectorisers_may_be_read_only(vectoriser, mapped, monkeypatch):
    pretend(monkeypatch, "loops are compiled")
    known = vectoriser.fit(TEXTS)
    assert_reduces(mapped(known), known, TEXTS)
    more = mapped(known).partial_fit(["z a", "y"]).merge(mapped(known))
    assert_reduces(more, copy.deepcopy(known).partial_fit(["z a", "y"]).merge(known), TEXTS)


def test_encoders_windows_and_moments_may_be_read_only(mapped):
    X, y = labelled()
    table = {"a": X[:, 0], "b": y}
    encoder = TableEncoder().fit(table)
    assert_reduces(mapped(encoder), encoder, mapped(table))
    for model in (Window(OC(), 20), OneByOne(OC(), n_features=8)):
        learn = model.partial_fit if isinstance(model, Window) else model.learn_many
        frame = X if isinstance(model, Window) else pd.DataFrame(X, columns=list("abcdefg"))
        learn(frame, y)
        there = mapped(model)
        again = there.partial_fit if isinstance(model, Window) else there.learn_many
        again(frame[:9], y[:9])
        learn(frame[:9], y[:9])
        assert_reduces(there.estimator_, model.estimator_, np.eye(model.estimator_.n_features_in_))
    for method, stats in (
        (OCFS(), Moments.of(X, y)),
        (PLS(), Moments.of(X, X[:, :1], second="cross", numeric=True)),
    ):
        given = y if isinstance(method, OCFS) else X[:, :1]
        there = mapped(stats).update(mapped(X), mapped(given))
        there += mapped(stats)
        there -= mapped(stats)
        expected = copy.deepcopy(stats).update(X, given)
        assert_reduces(clone(method).fit_moments(there), clone(method).fit_moments(expected), X)


METHODS = [OC(), OCFS(), SRDA(alpha=1.0), OnlineSRDA(), narrows.IOC(), narrows.IDRQR(), PLS()]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_masked_arrays_are_refused(method):
    X, y = labelled()
    y = X[:, 0] if isinstance(method, PLS) else y
    hidden = [np.ma.array(each, mask=each == each[:1]) for each in (X, y)]
    model = method.fit(X, y)
    calls = [
        lambda: method.fit(hidden[0], y),
        lambda: method.fit(X, hidden[1]),
        lambda: model.partial_fit(hidden[0], y),
        lambda: model.partial_fit(X, hidden[1]),
        lambda: model.transform(hidden[0]),
    ]
    if hasattr(model, "predict"):
        calls += [lambda: model.predict(hidden[0]), lambda: model.score(X, hidden[1])]
    if hasattr(model, "merge"):
        weights = np.ma.array(np.ones(len(X)), mask=hidden[0].mask[:, 0])
        calls.append(lambda: method.fit(X, y, sample_weight=weights))
    for call in calls:
        with pytest.raises(ValueError, match="mask"):
            call()


def test_masked_priors_texts_and_columns_are_refused():
    X, y = labelled()
    cells = np.ma.array(X[:, 0], mask=X[:, 0] > 0)
    for call in (
        lambda: OC(priors=np.ma.array([0.2, 0.3, 0.5], mask=[0, 1, 0])).fit(X, y),
        lambda: Moments.of(np.ma.array(X), y),
        lambda: TableEncoder().fit({"a": cells}),
        lambda: TableEncoder().fit({"a": X[:, 0]}).transform({"a": cells}),
        lambda: Tfidf().fit(np.ma.array(["a", "b"], mask=[False, True])),
    ):
        with pytest.raises(ValueError, match=r"mask|missing"):
            call()
