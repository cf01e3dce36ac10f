"""Dicts, one at a time and in batches; and River's own pipelines, where River is there."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_selection import SelectKBest

import narrows.river
from narrows import LDA, OC, OCFS, PLS, SRDA, OnlineSRDA
from narrows.errors import ParameterError
from narrows.river import OneByOne, batches, rows_of

PREDICTS = [SRDA(), LDA(), OnlineSRDA(polish=False, random_state=0)]
HAS_PROBABILITIES = [kind for kind in (SRDA, LDA, OnlineSRDA) if hasattr(kind, "predict_proba")]
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
    with pytest.raises(ParameterError, match="expected `rows` to be an integer >= 1"):
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
    with pytest.raises(ParameterError, match="expected at most 8,192 features"):
        OneByOne(SRDA()).learn_one({"a": 1.0}, 1)


@pytest.mark.slow
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
    with pytest.raises(
        ParameterError, match="expected `n_features` to be an integer >= 1, less than"
    ):
        rows_of([{"a": 1.0}], 2**31)
    for columns in (0, -1, 1.5):  # 0 ended the process
        with pytest.raises(ParameterError, match="expected `n_features` to be an integer >= 1"):
            rows_of([{"a": 1.0}], columns)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(
    ("bad", "named"),
    [
        (({"a": [1]}, "x"), r"'a': \[1\]"),
        (({"a": np.nan}, "x"), "'a': nan"),
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


@pytest.mark.nightly
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


# -- as a classifier of River ---------------------------------------------------------------------


def rivers():
    return pytest.importorskip("river", reason="River is not installed")


def phishing(n):
    from river.datasets import Phishing

    return Phishing().take(n)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", PREDICTS, ids=lambda estimator: type(estimator).__name__)
def test_river_scores_an_estimator_that_predicts(estimator):
    rivers()
    from river import evaluate, metrics, preprocessing

    one = OneByOne(estimator, 32)
    learner, hits, asked = type(estimator)(**estimator.get_params()), 0, 0
    for k, (x, y) in enumerate(phishing(40)):
        row = rows_of([x], 32)
        row = row.toarray() if isinstance(estimator, LDA) else row
        if k:
            hits, asked = hits + (learner.predict(row)[0] == y), asked + 1
        learner.partial_fit(row, [y])
    alone = evaluate.progressive_val_score(phishing(40), one, metrics.Accuracy())
    assert alone.get() == hits / asked
    scaled = preprocessing.StandardScaler() | OneByOne(estimator, 32, batch=40)
    assert evaluate.progressive_val_score(phishing(200), scaled, metrics.Accuracy()).get() > 0.7
    with pytest.raises(ValueError, match="not compatible"):
        evaluate.progressive_val_score(phishing(9), OneByOne(OC(), 32), metrics.Accuracy())


@pytest.mark.nightly
@pytest.mark.parametrize("kind", HAS_PROBABILITIES)
def test_river_scores_probabilities(kind):
    rivers()
    from river import evaluate, metrics, preprocessing

    one = OneByOne(kind(), 32)
    assert one.predict_proba_one({"a": 1.0}) == {}
    scaled = preprocessing.StandardScaler() | one
    loss = evaluate.progressive_val_score(phishing(50), scaled, metrics.LogLoss())
    assert 0 < loss.get() < 2
    x = {"https": 1.0, "is_popular": 0.5}
    row = rows_of([x], 32)
    found = one.estimator_.predict_proba(row.toarray() if kind is LDA else row)[0]
    assert one.predict_proba_one(x) == {False: found[0], True: found[1]}
    assert {type(label) for label in one.predict_proba_one(x)} == {bool}
    assert one.predict_one(x) is bool(found[1] > found[0])


def test_river_asks_what_the_estimator_can_do():
    rivers()
    from river import base, preprocessing

    def kinds(one):
        asked = (base.Transformer, base.MiniBatchTransformer, base.SupervisedTransformer,
                 base.Classifier, base.MiniBatchClassifier)  # fmt: skip
        return [isinstance(one, kind) for kind in asked]

    both = OneByOne(SRDA(), 64)
    transformer = OneByOne(OC(), 64)
    for one in (both, both.clone(), copy.deepcopy(both), pickle.loads(pickle.dumps(both))):
        assert type(one) is OneByOne
        assert kinds(one) == [True] * 5
        assert one._multiclass is True
        assert repr(one) == "OneByOne(estimator=SRDA(), n_features=64)"
        assert isinstance(preprocessing.StandardScaler() | one, base.Classifier)
    for one in (transformer, transformer.clone(), both.clone({"estimator": OC()})):
        assert kinds(one) == [True] * 3 + [False] * 2
        assert one._multiclass is False
    assert kinds(transformer.clone({"estimator": SRDA()})) == [True] * 5

    class Mine(OneByOne):
        """Of a user."""

    mine = Mine(SRDA(), 64).clone()
    assert type(mine) is Mine
    assert isinstance(mine, Mine)
    assert kinds(mine) == [True] * 5


@pytest.mark.nightly
def test_an_estimator_that_predicts_also_transforms():
    rivers()
    from river import compose, evaluate, linear_model, metrics

    middle = OneByOne(LDA(), 64) | linear_model.LogisticRegression()
    lda, regression = OneByOne(LDA(), 64), linear_model.LogisticRegression()
    for x, y in phishing(40):
        middle.learn_one(x, y)
        regression.learn_one(lda.transform_one(x), y)
        lda.learn_one(x, y)
    assert middle.predict_proba_one(x) == regression.predict_proba_one(lda.transform_one(x))
    assert middle.transform_one(x) == lda.transform_one(x) != {}
    two = OneByOne(OCFS(n_features=4), 64, batch=20) | OneByOne(LDA(), 64, batch=20)
    assert isinstance(two, compose.Pipeline)
    assert list(two.steps) == ["OneByOne", "OneByOne1"]
    assert evaluate.progressive_val_score(phishing(200), two, metrics.Accuracy()).get() > 0.7
    assert "OneByOne(batch=20, estimator=LDA()" in two._repr_html_()
    assert two.clone()[1].estimator is not two[1].estimator


@pytest.mark.nightly
def test_river_wraps_it_and_measures_its_memory():
    rivers()
    from river import ensemble, evaluate, metrics

    model = ensemble.BaggingClassifier(OneByOne(LDA(), 16), n_models=2, seed=1).clone()
    steps = evaluate.iter_progressive_val_score(phishing(60), model, metrics.Accuracy(), step=60)
    assert next(steps)["Accuracy"].get() > 0.7
    assert OneByOne(LDA(), 16)._raw_memory_usage > 100
    with pytest.raises(AttributeError, match="no attribute 'predict_two'"):
        _ = OneByOne(LDA(), 16).predict_two


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
    rivers()
    from river import checks

    asked = getattr(checks.common, check, None) or getattr(checks.clf, check, None)
    if asked is None:
        pytest.skip(f"this version of River has no {check}")
    data = [list(phishing(25))] if "dataset" in inspect.signature(asked).parameters else []
    asked(OneByOne(LDA(), 16), *data)


@pytest.mark.parametrize("labels", [("sea", "land"), (3, 1), (True, False)], ids=str)
@pytest.mark.parametrize("estimator", PREDICTS, ids=lambda estimator: type(estimator).__name__)
def test_labels_come_back_as_the_types_they_were(estimator, labels):
    one = OneByOne(estimator, 64)
    of = dict(zip(("sea", "land"), labels, strict=True))
    for x, y in stream(30):
        one.learn_one(x, of[y])
    found = [one.predict_one(x) for x, _ in stream(30)]
    assert {type(label) for label in found} == {type(labels[0])}
    assert np.mean([label == of[y] for label, (_, y) in zip(found, stream(30), strict=True)]) > 0.8
    if hasattr(estimator, "predict_proba"):
        assert [*one.predict_proba_one({"sea": 1.0})] == sorted(labels)
        assert {type(label) for label in one.predict_proba_one({"sea": 1.0})} == {type(labels[0])}


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
    X, y = frame(dicts), pd.Series(labels)
    assert many.predict_many(X).tolist() == [None] * 60
    for row, label in zip(dicts, labels, strict=True):
        one.learn_one(row, label)
    for row, label in zip(dicts[:35], labels, strict=False):  # 10 of them wait
        many.learn_one(row, label)
    assert many.learn_many(X[35:50], y[35:50]) is many
    assert many.estimator_.n_samples_seen_ == 50
    many.learn_many(X[50:], labels[50:]).learn_many(X[:0], [])
    assert many.predict_many(X).tolist() == [one.predict_one(row) for row in dicts]
    assert many.predict_many(X).index.equals(X.index)
    reduced = many.transform_many(X)
    assert reduced.columns.tolist() == [*one.transform_one(dicts[0])]
    assert reduced.iloc[7].to_dict() == pytest.approx(one.transform_one(dicts[7]), abs=1e-6)
    if hasattr(estimator, "predict_proba"):
        found = many.predict_proba_many(X)
        assert found.columns.tolist() == ["land", "sea"]
        assert found.loc["row 7"].to_dict() == pytest.approx(
            one.predict_proba_one(dicts[7]), abs=1e-6
        )


class Rows(OC):
    """Keeps the rows that it is given."""

    def partial_fit(self, X, y):
        self.rows_ = X
        return self


def rows_of_frame(X, n_features):
    return OneByOne(Rows(), n_features).learn_many(X, ["a"] * len(X)).estimator_.rows_


@pytest.mark.parametrize(
    "kind",
    ["float64", "float32", "int8", "Int64", "Float64", pd.SparseDtype("float", 0.0)],
    ids=str,
)
def test_frames_are_hashed_as_their_dicts(kind):
    dicts = [x for x, _ in stream(20)]
    X = frame(dicts)
    numbers = X.select_dtypes("number").columns
    found = rows_of_frame(X.astype(dict.fromkeys(numbers, kind)), 8)  # they collide
    np.testing.assert_array_equal(found.toarray(), rows_of(dicts, 8).toarray())
    assert found.has_canonical_format


def test_frames_of_numbers_text_and_nothing():
    X = pd.DataFrame(
        {"a": [True, False], "b": pd.Series([2.0, None], dtype=object), "c": ["red", None],
         "d": pd.Categorical(["x", "y"])}
    )  # fmt: skip
    dicts = [{"a": 1, "b": 2.0, "c": "red", "d": "x"}, {"d": "y"}]
    np.testing.assert_array_equal(rows_of_frame(X, 64).toarray(), rows_of(dicts, 64).toarray())
    assert rows_of_frame(X[[]], 64).shape == (2, 64)


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
        here = {k: v for k, v in reduced.items() if v not in (0, None)}
        assert here == one.transform_one(row)


def test_frames_stand_in_pipelines_of_river():
    rivers()
    from river import naive_bayes, preprocessing

    rows = list(phishing(100))
    X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([label for _, label in rows])
    for made in (
        preprocessing.StandardScaler() | OneByOne(SRDA(), 64),
        preprocessing.StandardScaler() | OneByOne(OC(), 64) | naive_bayes.GaussianNB(),
        (preprocessing.StandardScaler() + OneByOne(OC(), 64)) | naive_bayes.GaussianNB(),
    ):
        for start in range(0, 100, 20):
            made.learn_many(X[start : start + 20], y[start : start + 20])
        assert (made.predict_many(X) == y).mean() > 0.7


def test_frames_of_something_else_are_refused():
    one = OneByOne(SRDA(), 64)
    some = pd.DataFrame({"a": [1.0, 2.0]})
    with pytest.raises(TypeError, match=r"expected a pandas DataFrame, got builtins\.dict"):
        one.learn_many({"a": 1.0}, ["x"])
    with pytest.raises(ValueError, match="expected numbers in column 'b', got NaN"):
        one.learn_many(some.assign(b=[1.0, np.nan]), ["x", "y"])
    with pytest.raises(ValueError, match="expected one label for each of 2 samples, got 1"):
        one.learn_many(some, ["x"])
    with pytest.raises(ValueError, match="'when': "):
        one.learn_many(some.assign(when=pd.Timestamp("2020-01-01")), ["x", "y"])
    assert not hasattr(one, "estimator_")
    with pytest.raises(ParameterError, match=r"expected at most 8,192 features.*got 262,144"):
        OneByOne(LDA()).learn_many(some, ["x", "y"])
    oc = OneByOne(OC(), 64).learn_many(some, ["x", "y"])
    for ask in (oc.predict_one, oc.predict_many):
        with pytest.raises(AttributeError, match="expected an estimator with predict, got OC"):
            ask({"a": 1.0} if ask == oc.predict_one else some)
    for ask in (oc.predict_proba_one, oc.predict_proba_many):
        with pytest.raises(NotImplementedError, match="with predict_proba, got OC"):
            ask({"a": 1.0} if ask == oc.predict_proba_one else some)


def test_a_batch_that_waits_and_cannot_be_learned_is_left_out():
    one = OneByOne(OC(), 64, batch=10)
    some = pd.DataFrame({"a": [1.0, 2.0]})
    one.learn_one({"a": 1.0}, "x").learn_one({"a": [1]}, "x")
    with pytest.raises(ValueError, match=r"'a': \[1\]"):
        one.learn_many(some, ["x", "y"])
    assert one.learn_many(some, ["x", "y"]).estimator_.n_samples_seen_ == 2


def test_neither_river_nor_pandas_is_needed(monkeypatch):
    for path in Path(narrows.river.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = getattr(node, "module", node.names[0].name)
                assert module.split(".")[0] not in ("river", "pandas")
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    one = OneByOne(SRDA(), 64).learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    assert one.predict_one({"a": 1.0}) == "x"
    assert [*one.predict_proba_one({})] == ["x", "y"]
    assert one.__class__ is OneByOne
    assert one.clone()._multiclass
    with pytest.raises(TypeError, match=r"expected a pandas DataFrame, got builtins\.list"):
        one.learn_many([{"a": 1.0}], ["x"])


def test_the_comparison_with_other_libraries_is_true():
    """What `docs/compared.md` says that scikit-learn and River do not support."""
    river = rivers()
    from river import feature_selection, preprocessing, stats

    X, y = sparse.random_array((60, 9), density=0.3, rng=0, format="csr"), np.arange(60) % 3
    with pytest.raises((TypeError, ValueError), match="Sparse data was passed"):
        LinearDiscriminantAnalysis().fit(X, y)
    kinds = SelectKBest, PCA, IncrementalPCA
    assert [hasattr(kind, "partial_fit") for kind in kinds] == [False, False, True]
    assert not any(hasattr(kind, "merge") for kind in kinds)
    assert "decomposition" not in [each.name for each in pkgutil.iter_modules(river.__path__)]
    selectors = [name for name in feature_selection.__all__ if name.startswith("Select")]
    assert selectors == ["SelectKBest"]
    assert [name for name in preprocessing.__all__ if name.endswith("Projector")] == [
        "GaussianRandomProjector", "SparseRandomProjector",
    ]  # fmt: skip
    select = feature_selection.SelectKBest(similarity=stats.PearsonCorr(), k=1)
    with pytest.raises(TypeError):
        select.learn_one({"a": 1.0}, "a class")


def test_reduced_samples_are_whatever_set_output_asks_for():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    X = pd.DataFrame(rng.normal(size=(90, 4)) + y[:, None], columns=list("abcd"))
    model = OneByOne(OC(), n_features=64).learn_many(X, y)
    some = X.iloc[[3, 2, 1, 0]].set_axis([9, 7, 5, 3])
    expected = model.transform_many(some), model.transform_one({"a": 1.0})
    for output in ("pandas", "polars"):
        with sklearn.config_context(transform_output=output):
            pd.testing.assert_frame_equal(model.transform_many(some), expected[0])
            assert model.transform_one({"a": 1.0}) == expected[1]


def test_selected_entries_of_value_0_are_kept():
    X = pd.DataFrame({"a": [0.0, 1.0, 0.0, 2.0], "b": [1.0, 0.0, 3.0, 0.0], "c": [1.0] * 4})
    model = OneByOne(OCFS(n_features=2), n_features=64).learn_many(X, [0, 1, 0, 1])
    assert model.transform_one({"a": 0.0, "b": 1, "c": 0}) == {"a": 0.0, "b": 1}


def test_several_targets_are_predicted_as_a_frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(50, 3)), columns=list("abc"))
    Y = X[["a", "b"]].to_numpy() * 2
    model = OneByOne(PLS(2), n_features=64).learn_many(X, Y)
    found = model.predict_many(X)
    assert found.shape == (50, 2)
    assert found.index.equals(X.index)


@pytest.mark.parametrize("bad", [float("nan"), float("-inf"), np.float32("nan")])
def test_values_that_are_not_finite_are_named(bad):
    model = OneByOne(OC(), n_features=64)
    model.learn_one({"a": 1.0}, "x").learn_one({"b": 2.0}, "y")
    for _who, call in {
        "OneByOne": lambda: model.learn_one({"a": 1.0, "tempo": bad}, "x"),
        "OneByOne: ": lambda: model.transform_one({"tempo": bad}),
        "rows_of": lambda: rows_of([{"tempo": bad, "word": "x"}]),
        "batches": lambda: list(batches([({"tempo": bad}, 1)])),
    }.items():
        with pytest.raises(ValueError, match=r"'tempo'"):
            call()
    assert model.transform_one({"a": 1.0})  # what was learned before
