"""Dicts, one at a time and in batches; and River's own pipelines, where River is there."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.feature_extraction import FeatureHasher

from narrows import LDA, OC, OCFS, SRDA, OnlineSRDA
from narrows.river import OneByOne, batches, rows_of
from narrows.solve.errors import ParameterError

WORDS = {"sea": ["salt", "ship", "wave"], "land": ["tree", "sand", "hill"]}


def stream(n=300, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        label = ("sea", "land")[rng.integers(2)]
        row = {str(word): float(rng.integers(1, 4)) for word in rng.choice(WORDS[label], 2)}
        yield row | {"and": 1.0, "colour": "blue", "nothing": None}, label


def test_rows_are_hashed_dicts():
    X = rows_of([{"a": 2.0, "b": -1.5}, {"c": "red", "d": None}, {}], 32)
    theirs = FeatureHasher(32, alternate_sign=False).transform(
        [{"a": 2.0, "b": -1.5}, {"c=red": 1.0}, {}]
    )
    np.testing.assert_array_equal(X.toarray(), theirs.toarray())
    assert rows_of([], 32).shape == (0, 32)


@pytest.mark.parametrize("rows", [1, 7, 300, 1000])
def test_batches_are_the_stream(rows):
    found = list(batches(stream(), rows, 64))
    assert [X.shape[0] for X, _ in found[:-1]] == [rows] * (len(found) - 1)
    dicts, labels = zip(*stream(), strict=True)
    np.testing.assert_array_equal(
        np.vstack([X.toarray() for X, _ in found]), rows_of(dicts, 64).toarray()
    )
    assert [label for _, y in found for label in y] == list(labels)
    with pytest.raises(ParameterError, match="rows must be an integer >= 1"):
        next(batches(stream(), 0))


@pytest.mark.parametrize("batch", [1, 13])
def test_one_by_one_is_partial_fit(batch):
    one = OneByOne(OC(), 64, batch)
    assert one.transform_one({"salt": 1.0}) == {}
    assert one.predict_one({"salt": 1.0}) is None
    for row, label in stream():
        one.learn_one(row, label)
    learned = 300 // batch * batch
    dicts, labels = zip(*stream(), strict=True)
    oc = OC().fit(rows_of(dicts[:learned], 64), list(labels[:learned]))
    expected = oc.transform(rows_of([dicts[0]], 64))[0]
    assert one.transform_one(dicts[0]) == pytest.approx({"oc0": expected[0]})
    assert one.estimator_.n_samples_seen_ == learned


def test_selectors_keep_entries_of_the_dict():
    one = OneByOne(OCFS(n_features=3), 4096, 50)
    for row, label in stream():
        one.learn_one(row, label)
    kept = one.transform_one({"salt": 2.0, "ship": 1.0, "and": 1.0, "colour": "blue"})
    assert kept == {"salt": 2.0}
    assert one.transform_one({}) == {}


def test_prediction_and_estimators_without_partial_fit():
    one = OneByOne(OnlineSRDA(random_state=0), 64, 10)
    for row, label in stream():
        one.learn_one(row, label)
    assert one.predict_one({"salt": 1.0, "wave": 1.0}) == "sea"
    assert one.predict_one({"sand": 1.0}) == "land"
    with pytest.raises(ParameterError, match="expected an estimator with partial_fit, got LDA"):
        OneByOne(LDA(solver="pca")).learn_one({"a": 1.0}, 1)
    with pytest.raises(ParameterError, match="SRDA: expected at most 8,192 features"):
        OneByOne(SRDA()).learn_one({"a": 1.0}, 1)


@pytest.mark.parametrize(
    "made",
    [OneByOne(OC(), 64, 10), OneByOne(OCFS(n_features=4), 64, 50)],
    ids=["OC", "OCFS"],
)
def test_it_stands_in_a_pipeline_of_river(made):
    river = pytest.importorskip("river", reason="River is not installed")
    from river import compose, linear_model, metrics, preprocessing
    from river.datasets import Phishing

    model = compose.Pipeline(
        preprocessing.StandardScaler(), OneByOne(**made.get_params(deep=False)),
        linear_model.LogisticRegression(),
    )  # fmt: skip
    accuracy = metrics.Accuracy()
    for x, y in Phishing():
        accuracy.update(y, model.predict_one(x))
        model.learn_one(x, y)
    assert river
    assert accuracy.get() > 0.8  # .56 are of the larger class


@pytest.mark.parametrize("value", [[1], {"b": 1}, 1j, b"x", 10**400])
def test_dicts_of_something_else_are_refused(value):
    with pytest.raises(ValueError, match=r"expected dicts .* got 'a': "):
        rows_of([{"a": value}], 8)
    with pytest.raises(ValueError, match=r"got 1: 2\.0"):
        rows_of([{1: 2.0}], 8)
    with pytest.raises(ParameterError, match="expected n_features <= 2,147"):
        rows_of([{"a": 1.0}], 2**31)
    for columns in (0, -1, 1.5):  # 0 ended the process
        with pytest.raises(ParameterError, match="n_features must be an integer >= 1"):
            rows_of([{"a": 1.0}], columns)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(
    ("bad", "named"),
    [
        (({"a": [1]}, "x"), r"'a': \[1\]"),
        (({"a": np.nan}, "x"), "contains NaN"),
        (({"a": 1.0}, 5), "labels"),
    ],
)
def test_a_batch_that_cannot_be_learned_is_left_out(batch, bad, named):
    one = OneByOne(OC(), 64, batch)
    some = [({"a": 1.0}, "x"), ({"b": 1.0}, "y"), ({"c": 1.0}, "y")] * 2
    for row in some:
        one.learn_one(*row)
    for row in some[: batch - 1]:
        one.learn_one(*row)
    with pytest.raises(ValueError, match=named):
        one.learn_one(*bad)
    assert one.estimator_.n_samples_seen_ == 6
    for row in some:
        one.learn_one(*row)
    assert one.estimator_.n_samples_seen_ == 12
    with pytest.raises(AttributeError, match="expected an estimator with predict, got OC"):
        one.predict_one({"a": 1.0})


def test_clones_know_nothing_and_copies_all():
    one = OneByOne(OC(), 64).learn_one({"a": 1.0}, "x")
    assert not hasattr(one.clone(), "estimator_")
    assert one.clone({"batch": 5}).batch == 5
    assert one.clone(include_attributes=True).estimator_.n_samples_seen_ == 1


def test_river_may_come_later():
    code = """
import pickle
from narrows import OC
from narrows.river import OneByOne
early = OneByOne(OC(), 64)
kept = pickle.dumps(early)
from river import base, compose, linear_model, preprocessing
assert isinstance(early, base.Transformer) and isinstance(early, OneByOne)
both = compose.TransformerUnion(pickle.loads(kept), preprocessing.StandardScaler())
model = (both | linear_model.LogisticRegression()).clone()
for i in range(4):
    model.learn_one({"a": float(i % 2), "b": 1.0}, bool(i % 2))
assert "oc0" in model.transform_one({"a": 1.0})
"""
    pytest.importorskip("river", reason="River is not installed")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
