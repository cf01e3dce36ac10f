"""The stages of pyspark.ml: parameters, pipelines, and what is saved."""

from __future__ import annotations

import shutil
from uuid import uuid4

import numpy as np
import pandas as pd
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from sklearn.exceptions import NotFittedError

import narrows
from narrows import IOC, OC, OCFS, SRDA
from narrows.errors import DataError, ParameterError
from narrows.spark import Reducer, ReducerModel, fit
from tests.cases import assert_same, labelled
from tests.inside import pretend
from tests.spark.frames import frame, is_connect

FILE, PIECES = "estimator.narrows", "estimator.narrows.parquet"  # in the folder of a stage


def test_a_stage_is_the_fit(spark):
    X, y = labelled(n=90)
    df = frame(spark, X, y).withColumnsRenamed({"label": "y", "features": "x"})
    reducer = Reducer(
        estimator=SRDA(), featuresCol="x", labelCol="y", outputCol="z", predictionCol="p",
        probabilityCol="q",
    )  # fmt: skip
    model = reducer.fit(df)
    assert_same(model.getEstimator(), fit(SRDA(), df, "x", "y"))
    assert not hasattr(reducer.getEstimator(), "classes_")
    assert model.transform(df).columns == ["y", "x", "z", "p", "q"]
    assert model.uid != reducer.uid
    model.clear(model.predictionCol)
    assert model.transform(df).columns == ["y", "x", "z", "q"]
    other = reducer.copy({reducer.estimator: OC(), reducer.predictionCol: None})
    assert isinstance(other.getEstimator(), OC)
    assert isinstance(reducer.getEstimator(), SRDA)


def test_a_stage_weighs_samples(spark):
    X, y = labelled(n=90)
    weight = 1.0 + np.arange(90) % 3
    rows = list(zip(y.tolist(), X.tolist(), weight.tolist(), strict=True))
    df = spark.createDataFrame(rows, "label string, features array<double>, w double")
    model = Reducer(estimator=OC(), weightCol="w").fit(df)
    assert_same(model.getEstimator(), OC().fit(X, y, weight))


def test_a_stage_stands_in_a_pipeline(spark):
    X, y = labelled(n=90)
    rows = [(label.item(), *map(float, x)) for label, x in zip(y, X, strict=True)]
    names = [f"x{k}" for k in range(X.shape[1])]
    df = spark.createDataFrame(rows, ["species", *names])
    stages = [
        VectorAssembler(inputCols=names, outputCol="features"),
        StringIndexer(inputCol="species", outputCol="label"),
        Reducer(estimator=OC(), outputCol="z"),
        LogisticRegression(featuresCol="z"),
    ]
    found = Pipeline(stages=stages).fit(df).transform(df).select("label", "prediction").collect()
    assert np.mean([row.label == row.prediction for row in found]) > 0.8


def test_a_grid_chooses_between_estimators(spark):
    X, y = labelled(n=120)
    codes = np.unique(y, return_inverse=True)[1].astype(float)
    reducer = Reducer(predictionCol="prediction")
    grid = ParamGridBuilder().addGrid(reducer.estimator, [SRDA(alpha=1e9), SRDA()]).build()
    measure = MulticlassClassificationEvaluator(metricName="accuracy")
    search = CrossValidator(
        estimator=reducer, estimatorParamMaps=grid, evaluator=measure, numFolds=2, seed=0
    )
    best = search.fit(frame(spark, X, codes)).bestModel
    assert isinstance(best, ReducerModel)
    assert isinstance(best.getEstimator(), SRDA)


def test_stages_are_saved_and_loaded(spark, tmp_path):
    X, y = labelled(n=90)
    df = frame(spark, X, y)
    reducer = Reducer(estimator=OC(n_components=1, priors=[0.2, 0.3, 0.5]), outputCol="z")
    path = str(tmp_path / "reducer")
    reducer.save(path)
    again = Reducer.load(path)
    assert (again.uid, again.getOutputCol()) == (reducer.uid, "z")
    assert repr(again.getEstimator()) == repr(reducer.getEstimator())
    model, path = reducer.fit(df), str(tmp_path / "model")
    model.save(path)
    with pytest.raises(Exception, match=r"(?i)exist"):
        model.save(path)
    for estimator in (OCFS(n_features=2), SRDA()):
        model = Reducer(estimator=estimator, outputCol="z").fit(df)
        model.write().overwrite().save(path)
        again = ReducerModel.load(path)
        assert_same(again.getEstimator(), model.getEstimator())
        assert again.transform(df).columns == ["label", "features", "z"]
    assert_same(narrows.load(f"{path}/{FILE}"), model.getEstimator())


def test_a_pipeline_is_saved_and_loaded(spark, tmp_path):
    X, y = labelled(n=60)
    df = frame(spark, X, np.unique(y, return_inverse=True)[1].astype(float))
    stages = [Reducer(estimator=OC(), outputCol="z"), LogisticRegression(featuresCol="z")]
    Pipeline(stages=stages).write().overwrite().save(str(tmp_path / "unfitted"))
    again = Pipeline.load(str(tmp_path / "unfitted"))
    assert repr(again.getStages()[0].getEstimator()) == repr(OC())
    model = again.fit(df)
    for _ in range(2):
        model.write().overwrite().save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    assert_same(loaded.stages[0].getEstimator(), model.stages[0].getEstimator())
    got, expected = (  # in any order, which that of shuffled partitions is
        sorted((*row.features, *row.z, row.prediction) for row in each.transform(df).collect())
        for each in (loaded, model)
    )
    assert got == expected


@pytest.fixture
def other_files(spark, tmp_path):
    """Return the URL of a folder that is not one of the machines' file system, to Spark."""
    name = f"narrows-{uuid4().hex}"  # file systems are kept by name
    link = f"fs.viewfs.mounttable.{name}.link./data"
    (tmp_path / "other").mkdir()
    spark.conf.set(link, (tmp_path / "other").as_uri())
    yield f"viewfs://{name}/data"
    spark.conf.unset(link)


@pytest.mark.parametrize("kind", ["machine", "other"])
def test_models_come_in_pieces_from_any_file_system(
    spark, kind, other_files, tmp_path, monkeypatch
):
    pretend(monkeypatch, "models in small pieces")
    path = f"{other_files}/a model" if kind == "other" else str(tmp_path / "a model%20")
    model = ReducerModel(estimator=SRDA().fit(*labelled(n=90)))
    model.save(path)
    other = spark if kind == "other" or is_connect(spark) else spark.newSession()
    again = ReducerModel.read().session(other).load(path)
    assert again.uid == model.uid
    assert_same(again.getEstimator(), model.getEstimator())


def other_kind(folder):
    """Let a folder of a model be as a session of the other mode would have saved it."""
    file, pieces = folder / FILE, folder / PIECES
    if pieces.exists():
        rows = pd.read_parquet(pieces).sort_values("start")
        shutil.rmtree(pieces)
        file.write_bytes(b"".join(rows.data))
    else:
        data = file.read_bytes()
        pieces.mkdir()
        starts = range(0, len(data), 100)
        rows = {"start": list(starts), "data": [data[k : k + 100] for k in starts]}
        pd.DataFrame(rows).to_parquet(pieces / "0.parquet")
        file.unlink()
    for stale in folder.glob(".*.crc"):
        stale.unlink()


def test_a_model_file_of_another_session_is_read(spark, other_files, tmp_path):
    model = ReducerModel(estimator=OC().fit(*labelled(n=90)))
    model.save(f"{other_files}/model")
    other_kind(tmp_path / "other" / "model")
    again = ReducerModel.load(f"{other_files}/model")
    assert_same(again.getEstimator(), model.getEstimator())


def test_what_is_overwritten_is_gone(spark, tmp_path):
    model, path = ReducerModel(estimator=OC().fit(*labelled(n=90))), tmp_path / "model"
    model.save(str(path))
    (path / f".{FILE}.crc").write_bytes(b"crc\0\0\0\x02\0" + bytes(160))  # of another file
    (path / "more").touch()
    model.write().overwrite().save(str(path))
    assert not (path / "more").exists()
    assert_same(ReducerModel.load(str(path)).getEstimator(), model.getEstimator())


DAMAGED = [  # the text of the metadata, or a word of it that becomes another, and what is said
    ("{", "got none"),
    ('{"class": "narrows.spark.reducer.Reducer"}', "damaged metadata .*uid"),
    ('"outputCol"', "damaged metadata .*nosuch"),
    ('"OC"', "got 'nosuch'"),
]


def test_damaged_folders_are_named(spark, tmp_path):
    Reducer(estimator=OC()).save(str(tmp_path / "reducer"))
    (file,) = (tmp_path / "reducer" / "metadata").glob("part-*")
    for checksum in file.parent.glob(".*.crc"):
        checksum.unlink()
    good = file.read_text()
    for text, message in DAMAGED:
        file.write_text(good.replace(text, '"nosuch"') if text in ('"outputCol"', '"OC"') else text)
        with pytest.raises(DataError, match=f"reducer: expected a saved .*{message}"):
            Reducer.load(str(tmp_path / "reducer"))
    model, path = ReducerModel(estimator=OC().fit(*labelled())), tmp_path / "model"
    model.save(str(path))
    for folder, got in ((path, "got a .*ReducerModel"), (tmp_path / "nothing", "got none")):
        with pytest.raises(DataError, match=f"expected a saved .*Reducer, {got}"):
            Reducer.load(str(folder))
    file = path / FILE
    file.write_bytes(file.read_bytes()[:200])
    for stale in path.glob(".*.crc"):  # of Hadoop
        stale.unlink()
    for damage in (lambda: None, file.unlink):
        damage()
        with pytest.raises(DataError, match=r"estimator\.narrows: expected"):
            ReducerModel.load(str(path))


WRONG = [
    ({}, ParameterError, "got NoneType"),
    ({"estimator": OC(), "predictionCol": "p"}, ParameterError, "predictionCol"),
    ({"estimator": OC(), "probabilityCol": "p"}, ParameterError, "probabilityCol"),
    ({"estimator": IOC()}, ParameterError, "Use OC"),
    ({"estimator": OC(), "labelCol": "y"}, DataError, "expected a column 'y'"),
]


def test_wrong_stages_say_what_to_do(spark, tmp_path):
    df, path = frame(spark, *labelled()), str(tmp_path / "stage")
    for given, error, message in WRONG:
        with pytest.raises(error, match=message):
            Reducer(**given).fit(df)
    unfitted = (ReducerModel(), ParameterError), (ReducerModel(estimator=OC()), NotFittedError)
    for stage, error in (*unfitted, (Reducer(estimator="OC"), ParameterError)):
        with pytest.raises(error):
            stage.save(path)
    for stage, error in unfitted:
        with pytest.raises(error):
            stage.transform(df)
    assert not (tmp_path / "stage").exists()
