"""The stages of pyspark.ml: parameters, pipelines, and what is saved."""

import shutil
from uuid import uuid4

import numpy as np
import pandas as pd
import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import StringIndexer, VectorAssembler
from sklearn.exceptions import NotFittedError

import narrows
from narrows import IOC, OC, OCFS, SRDA
from narrows.errors import DataError, ParameterError
from narrows.spark import Reducer, ReducerModel, fit
from tests.cases import assert_same, labelled
from tests.inside import pretend
from tests.spark.frames import frame

FILE, PIECES = "estimator.narrows", "estimator.narrows.parquet"  # in the folder of a stage


def remove_checksums(folder):
    """Remove the files of Hadoop that would find each change."""
    for stale in folder.glob(".*.crc"):
        stale.unlink()


def test_a_stage_is_the_fit(spark):
    X, y = labelled(n=90)
    weight = 1.0 + np.arange(90) % 3
    rows = list(zip(y.tolist(), X.tolist(), weight.tolist(), strict=True))
    df = spark.createDataFrame(rows, "y string, x array<double>, w double")
    reducer = Reducer(
        estimator=SRDA(), featuresCol="x", labelCol="y", outputCol="z", predictionCol="p",
        probabilityCol="q", weightCol="w",
    )  # fmt: skip
    model = reducer.fit(df)
    assert_same(model.getEstimator(), fit(SRDA(), df, "x", "y", "w"))
    assert not hasattr(reducer.getEstimator(), "classes_")
    assert model.transform(df).columns == ["y", "x", "w", "z", "p", "q"]
    assert model.uid != reducer.uid
    model.clear(model.predictionCol)
    assert model.transform(df).columns == ["y", "x", "w", "z", "q"]
    other = reducer.copy({reducer.estimator: OC(), reducer.predictionCol: None})
    assert isinstance(other.getEstimator(), OC)
    assert isinstance(reducer.getEstimator(), SRDA)


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
    (tmp_path / "model" / "more").touch()
    for estimator in (OCFS(n_features=2), SRDA()):
        model = Reducer(estimator=estimator, outputCol="z").fit(df)
        model.write().overwrite().save(path)
        assert not (tmp_path / "model" / "more").exists()
        again = ReducerModel.load(path)
        assert_same(again.getEstimator(), model.getEstimator())
        assert again.transform(df).columns == ["label", "features", "z"]
    assert_same(narrows.load(f"{path}/{FILE}"), model.getEstimator())


def test_a_pipeline_is_saved_and_loaded(spark, tmp_path):
    X, y = labelled(n=60)
    rows = [(label.item(), *map(float, x)) for label, x in zip(y, X, strict=True)]
    names = [f"x{k}" for k in range(X.shape[1])]
    df = spark.createDataFrame(rows, ["species", *names])
    stages = [
        VectorAssembler(inputCols=names, outputCol="features"),
        StringIndexer(inputCol="species", outputCol="label"),
        Reducer(estimator=OC(), outputCol="z"),
        LogisticRegression(featuresCol="z"),
    ]
    Pipeline(stages=stages).write().overwrite().save(str(tmp_path / "unfitted"))
    model = Pipeline.load(str(tmp_path / "unfitted")).fit(df)
    for _ in range(2):
        model.write().overwrite().save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    got, expected = (  # in any order, which that of shuffled partitions is
        sorted((*row.features, *row.z, row.label, row.prediction) for row in each.collect())
        for each in (loaded.transform(df), model.transform(df))
    )
    assert got == expected
    assert np.mean([label == prediction for *_, label, prediction in got]) > 0.8


@pytest.fixture
def other_files(spark, tmp_path):
    """Return the URL of a folder that is not one of the machines' file system, to Spark."""
    name = f"narrows-{uuid4().hex}"  # file systems are kept by name
    link = f"fs.viewfs.mounttable.{name}.link./data"
    (tmp_path / "other").mkdir()
    spark.conf.set(link, (tmp_path / "other").as_uri())
    yield f"viewfs://{name}/data"
    spark.conf.unset(link)


def test_a_model_file_of_another_session_is_read(spark, other_files, tmp_path, monkeypatch):
    """A session of one mode writes one file, one of the other a table of its pieces."""
    pretend(monkeypatch, "models in small pieces")
    model, folder = ReducerModel(estimator=OC().fit(*labelled(n=90))), tmp_path / "other" / "a %20"
    model.save(f"{other_files}/a %20")
    assert_same(ReducerModel.load(f"{other_files}/a %20").getEstimator(), model.getEstimator())
    file, pieces = folder / FILE, folder / PIECES
    if pieces.exists():
        rows = pd.read_parquet(pieces).sort_values("start")
        shutil.rmtree(pieces)
        file.write_bytes(b"".join(rows.data))
    else:
        data, starts = file.read_bytes(), list(range(0, file.stat().st_size, 100))
        pieces.mkdir()
        rows = pd.DataFrame({"start": starts, "data": [data[k : k + 100] for k in starts]})
        rows.to_parquet(pieces / "0.parquet")
        file.unlink()
    remove_checksums(folder)
    again = ReducerModel.load(f"{other_files}/a %20")
    assert_same(again.getEstimator(), model.getEstimator())


DAMAGED = [  # the text of the metadata, or a word of it that becomes another, and what is said
    ("{", "got none"),
    ('{"class": "narrows.spark.reducer.Reducer"}', "damaged metadata .*uid"),
    ('"outputCol"', "damaged metadata .*nosuch"),
    ('"OC"', "got 'nosuch'"),
]


def test_damaged_folders_are_named(spark, tmp_path):
    stage, path = tmp_path / "reducer", tmp_path / "model"
    Reducer(estimator=OC()).save(str(stage))
    (file,) = (stage / "metadata").glob("part-*")
    remove_checksums(file.parent)
    good = file.read_text()
    for text, message in DAMAGED:
        file.write_text(good.replace(text, '"nosuch"') if text in ('"outputCol"', '"OC"') else text)
        with pytest.raises(DataError, match=f"reducer: expected a saved .*{message}"):
            Reducer.load(str(stage))
    ReducerModel(estimator=OC().fit(*labelled())).save(str(path))
    for folder, got in ((path, "got a .*ReducerModel"), (tmp_path / "nothing", "got none")):
        with pytest.raises(DataError, match=f"expected a saved .*Reducer, {got}"):
            Reducer.load(str(folder))
    file = path / FILE
    file.write_bytes(file.read_bytes()[:200])
    remove_checksums(path)
    for damage in (lambda: None, file.unlink):
        damage()
        with pytest.raises(DataError, match=r"estimator\.narrows: expected"):
            ReducerModel.load(str(path))


def test_wrong_stages_say_what_to_do(spark, tmp_path):
    df, path = frame(spark, *labelled()), str(tmp_path / "stage")
    for call, error, message in (
        (lambda: Reducer().fit(df), ParameterError, "got NoneType"),
        (lambda: Reducer(estimator=OC(), predictionCol="p").fit(df), ParameterError, "predictionC"),
        (lambda: Reducer(estimator=OC(), probabilityCol="p").fit(df), ParameterError, "probabil"),
        (lambda: Reducer(estimator=IOC()).fit(df), ParameterError, "Use OC"),
        (lambda: Reducer(estimator=OC(), labelCol="y").fit(df), DataError, "a column 'y'"),
        (lambda: Reducer(estimator="OC").save(path), ParameterError, ""),
        (lambda: ReducerModel().save(path), ParameterError, ""),
        (lambda: ReducerModel().transform(df), ParameterError, ""),
        (lambda: ReducerModel(estimator=OC()).save(path), NotFittedError, ""),
        (lambda: ReducerModel(estimator=OC()).transform(df), NotFittedError, ""),
    ):
        with pytest.raises(error, match=message):
            call()
    assert not (tmp_path / "stage").exists()
