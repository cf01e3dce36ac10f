"""Files on Spark, by the readers of narrows, from Python and from the command line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pyspark.ml.functions import vector_to_array
from pyspark.sql import functions
from sklearn.datasets import dump_svmlight_file

import narrows
from narrows import OC, SRDA, load
from narrows.errors import DataError
from narrows.read import source_of
from narrows.spark import fit, fit_files, predict, transform, transform_files
from narrows.table import TableEncoder
from tests.cases import assert_same, labelled
from tests.spark.frames import frame, is_connect
from tests.test_tables import NAMES, customers


@pytest.fixture
def pattern(tmp_path):
    X, y = labelled(n=90, d=6)
    y = np.unique(y, return_inverse=True)[1]
    for k, rows in enumerate(np.array_split(np.arange(90), 3)):
        dump_svmlight_file(X[rows], y[rows], str(tmp_path / f"{k}.svm"), zero_based=False)
    return str(tmp_path / "*.svm")


def test_files_are_fitted_and_reduced_as_on_one_machine(spark, pattern, tmp_path):
    fitted = fit_files(OC(), [pattern], spark)
    files = sorted(str(path) for path in tmp_path.glob("*.svm"))
    X, y = zip(*narrows.read.iter_chunks(files), strict=True)
    X = np.vstack([each.toarray() for each in X])
    assert_same(fitted, OC().fit(X, np.concatenate(y)))
    written = transform_files(fitted, [pattern], str(tmp_path / "out"), spark)
    got = [z for path in written for z, _ in narrows.read.iter_chunks(path, label="label")]
    np.testing.assert_allclose(np.vstack(got), fitted.transform(X), atol=1e-12)
    with open(tmp_path / "1.svm", "a") as file:
        file.write("1 1:x\n")
    with pytest.raises(DataError, match=r"1\.svm:31: "):
        fit_files(OC(), [pattern], spark)


def test_files_of_vectors_and_lists(spark, tmp_path):
    df = frame(spark, *labelled(n=90, d=6))
    vectors, lists = str(tmp_path / "vectors"), str(tmp_path / "lists")
    df.write.parquet(vectors)
    df.withColumn("features", vector_to_array("features")).write.parquet(lists)
    for folder in (vectors, lists):
        found = fit_files(OC(), [f"{folder}/*.parquet"], spark, vector="features")
        assert_same(found, OC().fit(*labelled(n=90, d=6)))


def test_tables_are_encoded_by_the_workers(spark, run, tmp_path):
    frame = pd.DataFrame(customers(600), columns=NAMES).replace("", None)
    frame = frame.astype({"age": float, "paid": float, "since": "datetime64[us]"})
    for k, rows in enumerate(np.array_split(np.arange(600), 3)):
        frame.iloc[rows].to_parquet(tmp_path / f"{k}.parquet", index=False)
    pattern, encoder = str(tmp_path / "*.parquet"), TableEncoder()
    X, y = frame.drop(columns="churn"), frame["churn"].to_numpy().astype(str)
    expected = SRDA().fit(encoder.fit_transform(X), y)
    found = fit_files(SRDA(), [pattern], spark, label="churn", vectoriser=TableEncoder())
    # a folder would be read in the order of the sizes of its files
    parts = [spark.read.parquet(str(tmp_path / f"{k}.parquet")) for k in range(3)]
    table = parts[0].union(parts[1]).union(parts[2])
    for each in (found, fit(SRDA(), table, None, "churn", vectoriser=TableEncoder())):
        assert source_of(each).encoder == encoder
        np.testing.assert_allclose(each.components_, expected.components_, rtol=1e-8, atol=1e-12)
    narrows.save(each, tmp_path / "m.narrows")
    rows = predict(load(tmp_path / "m.narrows"), table).select("phone", "prediction").toPandas()
    here = dict(zip(X["phone"], expected.predict(encoder.transform(X)), strict=True))
    assert dict(zip(rows["phone"], rows["prediction"], strict=True)) == here
    late = functions.expr("if(phone like '+1-00299%', 'forty', string(age))")
    wrong = table.withColumn("age", late).orderBy("phone").coalesce(1)
    with pytest.raises(Exception, match=r"expected numbers in column 'age', got 'forty'"):
        transform(each, wrong).collect()


def test_the_command_line_runs_on_spark(spark, pattern, run, tmp_path):
    """In the session that is there; one of its own takes ten seconds to start."""
    if is_connect(spark):
        pytest.skip("the command line takes the active session, of which there is none here")
    line = f"fit {pattern} --method ocfs --n-features 3 -o"
    assert run(f"{line} local.narrows")[0] == 0
    status, out, _ = run(f"{line} spark.narrows --engine spark")
    assert (status, "90 rows" in out) == (0, True)
    assert_same(load(tmp_path / "spark.narrows"), load(tmp_path / "local.narrows"))
    status, out, _ = run(f"transform spark.narrows {pattern} -o reduced --engine spark")
    assert (status, "3 files written to reduced" in out) == (0, True)
    status, _, err = run(f"{line} x.narrows --master local[2]")
    assert (status, "--engine spark" in err) == (2, True)
