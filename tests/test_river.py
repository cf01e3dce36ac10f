"""Dicts, one at a time and in batches; and River's own pipelines, where River is there."""

from __future__ import annotations

import copy
import inspect
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction import FeatureHasher

from narrows import LDA, OC, OCFS, PLS, SRDA, OnlineSRDA
from narrows.errors import ParameterError
from narrows.river import OneByOne, batches, rows_of

PREDICTS = [SRDA(), LDA(), OnlineSRDA(polish=False, random_state=0)]
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
    for bad in (2**31, 0, -1, 1.5):  # 0 ended the process
        with pytest.raises(ParameterError, match="n_features"):
            rows_of([{"a": 1.0}], bad)


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_batches_are_the_stream(rows):
    found = list(batches(stream(), rows, 64))
    assert [X.shape[0] for X, _ in found[:-1]] == [rows] * (len(found) - 1)
    dicts, labels = zip(*stream(), strict=True)
    joined = np.vstack([X.toarray() for X, _ in found])
    np.testing.assert_array_equal(joined, rows_of(dicts, 64).toarray())
    assert [label for _, y in found for label in y] == list(labels)
    with pytest.raises(ParameterError, match="rows"):
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


@pytest.mark.parametrize(
    "value", [[1], {"b": 1}, 1j, b"x", 10**400, float("nan"), np.float32("-inf")]
)
def test_dicts_of_something_else_are_refused(value):
    model = OneByOne(OC(), 64).learn_one({"a": 1.0}, "x").learn_one({"b": 2.0}, "y")
    for call in (
        lambda: rows_of([{"a": value}], 8),
        lambda: list(batches([({"a": value}, 1)])),
        lambda: model.transform_one({"a": value}),
    ):
        with pytest.raises(ValueError, match="'a': "):
            call()


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(
    ("bad", "word"),
    [(({"a": [1]}, "x"), "'a'"), (({"a": np.nan}, "x"), "nan"), (({"a": 1.0}, 5), "labels")],
)
def test_a_batch_that_cannot_be_learned_is_left_out(batch, bad, word):
    one = OneByOne(OC(), 64, batch)
    some = [({"a": 1.0}, "x"), ({"b": 1.0}, "y"), ({"c": 1.0}, "y")] * 2
    for row in [*some, *some[: batch - 1]]:
        one.learn_one(*row)
    with pytest.raises(ValueError, match=word):
        one.learn_one(*bad)
    assert one.estimator_.n_samples_seen_ == 6
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    waiting = OneByOne(OC(), 64, batch=10).learn_one({"a": 1.0}, "x").learn_one({"a": [1]}, "x")
    with pytest.raises(ValueError, match="'a'"):
        waiting.learn_many(frame, ["x", "y"])
    assert waiting.learn_many(frame, ["x", "y"]).estimator_.n_samples_seen_ == 2


# -- as a classifier of River ---------------------------------------------------------------------


def phishing(n):
    from river.datasets import Phishing

    return Phishing().take(n)


def test_river_asks_what_the_estimator_can_do():
    pytest.importorskip("river")
    from river import base, compose

    asked = (base.Transformer, base.MiniBatchTransformer, base.SupervisedTransformer,
             base.Classifier, base.MiniBatchClassifier)  # fmt: skip
    both, transformer = OneByOne(SRDA(), 64), OneByOne(OC(), 64).learn_one({"a": 1.0}, "x")
    copies = both.clone(), copy.deepcopy(both), transformer.clone({"estimator": SRDA()})
    for one in (both, *copies, transformer, transformer.clone(), both.clone({"estimator": OC()})):
        predicts = isinstance(one.estimator, SRDA)
        assert [isinstance(one, kind) for kind in asked] == [True] * 3 + [predicts] * 2
        assert one._multiclass is predicts
    assert isinstance(transformer | both, compose.Pipeline)
    assert not hasattr(transformer.clone(), "estimator_")
    assert transformer.clone(include_attributes=True).estimator_.n_samples_seen_ == 1


@pytest.mark.slow
@pytest.mark.parametrize("check", [
    "check_repr", "check_str", "check_tags", "check_clone_same_class", "check_clone_is_idempotent",
    "check_pickling_supports_roundtrip", "check_clone_with_new_params_applies",
    "check_get_params_matches_signature", "check_learn_one", "check_pickling",
    "check_emerging_features", "check_predict_one_pure", "check_predict_one_before_any_learn",
    "check_no_state_aliasing_with_input", "check_transform_one",
    "check_predict_many_matches_predict_one", "check_learn_many_matches_learn_one",
    "check_predict_proba_many_matches_predict_proba_one",
    "check_transform_many_matches_transform_one", "check_predict_proba_one",
    "check_classifier_tracks_seen_labels",
])  # fmt: skip
def test_rivers_own_checks_pass(check):
    pytest.importorskip("river")
    from river import checks

    asked = getattr(checks.common, check, None) or getattr(checks.clf, check, None)
    if asked is None:
        pytest.skip(f"this version of River has no {check}")
    data = [list(phishing(25))] if "dataset" in inspect.signature(asked).parameters else []
    asked(OneByOne(LDA(), 16), *data)


# -- DataFrames -----------------------------------------------------------------------------------


def frame(dicts):
    """What `stream` has, numbers without a value as 0."""
    X = pd.DataFrame(dicts, index=[f"row {k}" for k in range(len(dicts))])
    numbers = X.select_dtypes("number").columns
    return X.assign(**{name: X[name].fillna(0) for name in numbers})


@pytest.mark.parametrize("estimator", PREDICTS, ids=lambda estimator: type(estimator).__name__)
def test_many_samples_are_learned_after_those_before(estimator):
    dicts, labels = map(list, zip(*stream(60), strict=True))
    one, many = OneByOne(estimator, 64), OneByOne(estimator, 64, batch=25)
    assert many.predict_many(frame(dicts)).tolist() == [None] * 60
    assert many.predict_proba_one(dicts[0]) == {}
    for row, label in zip(dicts, labels, strict=True):
        one.learn_one(row, label)
    for row, label in zip(dicts[:35], labels, strict=False):  # 10 of them wait
        many.learn_one(row, label)
    many.learn_many(frame(dicts[35:]), pd.Series(labels[35:])).learn_many(frame(dicts)[:0], [])
    some = frame(dicts).iloc[::-1]
    found = many.predict_many(some)
    assert found.index.equals(some.index)
    assert found.tolist() == [one.predict_one(row) for row in dicts[::-1]]
    expected = one.predict_proba_one(dicts[-1])
    assert many.predict_proba_many(some).iloc[0].to_dict() == pytest.approx(expected)
    numbers = OneByOne(PLS(2), 64).learn_many(some, np.arange(120.0).reshape(60, 2) % 7)
    assert numbers.predict_many(some).shape == (60, 2)


@pytest.mark.parametrize(
    "kind",
    ["float64", "float32", "int8", "Int64", "Float64", pd.SparseDtype("float", 0.0)],
    ids=str,
)
def test_frames_are_hashed_as_their_dicts(kind):
    dicts, labels = map(list, zip(*stream(20), strict=True))
    X = frame(dicts)
    numbers = X.select_dtypes("number").columns
    nothing = pd.Series([2.0, None], dtype=object)
    mixed = {"a": [True, False], "b": nothing, "c": ["red", None], "d": pd.Categorical(["x", "y"])}
    of_mixed = [{"a": 1, "b": 2.0, "c": "red", "d": "x"}, {"d": "y"}]
    for given, rows, y, n_features in (
        (X.astype(dict.fromkeys(numbers, kind)), dicts, labels, 8),  # they collide
        (pd.DataFrame(mixed), of_mixed, ["s", "t"], 64),
        (X[[]], [{}] * 20, labels, 64),
    ):
        found = OneByOne(OCFS(1), n_features).learn_many(given, y).estimator_.moments_
        expected = OCFS(1).partial_fit(rows_of(rows, n_features), y).moments_
        np.testing.assert_array_equal(found.sums, expected.sums)


def test_selectors_keep_columns_of_a_frame():
    dicts, labels = map(list, zip(*stream(60), strict=True))
    for row, label in zip(dicts, labels, strict=True):
        row["colour"] = {"sea": "blue", "land": "green"}[label]
    X = frame(dicts)
    one = OneByOne(OCFS(n_features=3), 4096)
    assert one.transform_many(X).shape == (60, 0)
    kept = one.learn_many(X, labels).transform_many(X)
    assert 0 < len(kept.columns) <= 3
    assert kept.index.equals(X.index)
    for row, reduced in zip(dicts, kept.to_dict("records"), strict=True):
        assert {k: v for k, v in reduced.items() if v not in (0, None)} == one.transform_one(row)
    name = next(name for name in kept.columns if name != "colour")
    assert one.transform_one({name: 0.0, "else": 1}) == {name: 0.0}


def test_frames_of_something_else_are_refused():
    one, some = OneByOne(SRDA(), 64), pd.DataFrame({"a": [1.0, 2.0]})
    oc = OneByOne(OC(), 64).learn_many(some, ["x", "y"])
    dated = some.assign(when=pd.Timestamp("2020-01-01"))
    for call, error, word in (
        (lambda: one.learn_many(some.assign(b=[1.0, np.nan]), ["x", "y"]), ValueError, "'b'"),
        (lambda: one.learn_many(some, ["x"]), ValueError, "one label for each of 2"),
        (lambda: one.learn_many(dated, ["x", "y"]), ValueError, "'when'"),
        (lambda: one.learn_many({"a": 1.0}, ["x"]), TypeError, "DataFrame"),
        (lambda: OneByOne(LDA()).learn_many(some, ["x", "y"]), ParameterError, "8,192"),
        (lambda: OneByOne(LDA(solver="pca")).learn_one({}, 1), ParameterError, "partial_fit"),
        (lambda: oc.predict_one({"a": 1.0}), AttributeError, "predict"),
        (lambda: oc.predict_many(some), AttributeError, "predict"),
        (lambda: oc.predict_proba_one({"a": 1.0}), NotImplementedError, "predict_proba"),
        (lambda: oc.predict_proba_many(some), NotImplementedError, "predict_proba"),
    ):
        with pytest.raises(error, match=word):
            call()
    assert not hasattr(one, "estimator_")


def test_neither_river_nor_pandas_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    one = OneByOne(SRDA(), 64).learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    assert one.predict_one({"a": 1.0}) == "x"
    assert [*one.predict_proba_one({})] == ["x", "y"]
    assert one.clone()._multiclass
    with pytest.raises(TypeError, match=r"expected a pandas DataFrame, got builtins\.list"):
        one.learn_many([{"a": 1.0}], ["x"])
