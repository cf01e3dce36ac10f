"""New columns of DataFrames, against what the estimators give on this machine."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse

from narrows import LDA, OC, OCFS, PCA, SRDA, KernelSRDA, OnlineSRDA
from narrows.errors import DataError, ParameterError
from narrows.read import source_of
from narrows.spark import fit, predict, transform
from narrows.text import Tfidf
from tests.cases import labelled
from tests.spark.frames import frame

pytestmark = pytest.mark.filterwarnings("ignore:.*merged approximately")


def column(df, name):
    return np.array([row[0].toArray() for row in df.select(name).collect()])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("estimator", [OCFS(n_features=3), OC(), SRDA()], ids=repr)
def test_reduced_samples_are_those_of_transform(spark, estimator, form):
    X, y = labelled(n=200, d=7)
    estimator.fit(form(X), y)
    reduced = transform(estimator, frame(spark, form(X), y), "z")
    assert reduced.columns == ["label", "features", "z"]
    got = reduced.select("features", "z").collect()
    samples = form(np.array([row.features.toArray() for row in got]))
    expected = estimator.transform(samples)
    assert {type(row.z).__name__ for row in got} == {
        "SparseVector" if sparse.issparse(expected) else "DenseVector"
    }
    expected = expected.toarray() if sparse.issparse(expected) else expected
    np.testing.assert_allclose([row.z.toArray() for row in got], expected, atol=1e-12)


def test_other_columns_stay_as_they_are(spark):
    rows = [
        (k, [k, 1.0 + k % 3], datetime(2026, 1, 1, k % 24), Decimal(k), {"a": k}, None, ["é"] * 3)
        for k in map(float, range(50))
        for k in [int(k)]
    ]
    schema = (
        "id long, features array<double>, at timestamp, price decimal(9,2), counts map<string,int>,"
        " empty string, words array<string>"
    )
    rows = [(k, [float(v) for v in x], *rest) for k, x, *rest in rows]
    df = spark.createDataFrame(rows, schema).repartition(3)
    X = np.array([x for _, x, *_ in rows])
    estimator = PCA(n_components=1).fit(X)
    reduced = transform(estimator, df)
    assert reduced.dtypes == [*df.dtypes, ("reduced", "array<double>")]
    got = sorted(reduced.collect(), key=lambda row: row.id)
    assert [tuple(row)[:-1] for row in got] == [tuple(row) for row in sorted(df.collect())]
    np.testing.assert_allclose([row.reduced for row in got], estimator.transform(X), atol=1e-12)


def test_nothing_is_computed_before_it_is_needed(spark):
    X, y = labelled()

    def broken(batches):
        raise OSError("computed")

    df = frame(spark, X, y)
    df = df.mapInArrow(broken, df.schema)
    reduced = transform(OC().fit(X, y), df)
    with pytest.raises(Exception, match="computed"):
        reduced.collect()


def test_large_directions_are_sent_as_a_file(spark):
    n, d = 40, 300_000  # 7 MB of directions
    X = sparse.random_array((n, d), density=1e-4, format="csr", rng=np.random.default_rng(0))
    y = np.arange(n) % 4
    estimator = OC().fit(X, y)
    expected = estimator.transform(X)
    for _ in range(2):
        z = column(transform(estimator, frame(spark, X, y), "z"), "z")
        np.testing.assert_allclose(np.sort(z, axis=0), np.sort(expected, axis=0), atol=1e-12)


@pytest.mark.parametrize("labels", [np.asarray, lambda y: np.unique(y, return_inverse=True)[1]])
@pytest.mark.parametrize(
    "estimator", [SRDA(), LDA(), OnlineSRDA(), KernelSRDA(n_hidden=30, standardize=True)], ids=repr
)
def test_predicted_classes_are_those_of_predict(spark, estimator, labels):
    X, y = labelled(n=120, d=5)
    y = labels(y)
    fitted = fit(estimator, frame(spark, X, y, parts=1))
    got = predict(fitted, frame(spark, X, y), probability_col="p")
    kind = "bigint" if y.dtype.kind == "i" else "string"
    assert got.dtypes[2:] == [("prediction", kind), ("p", "vector")]
    rows = got.collect()
    samples = np.array([row.features.toArray() for row in rows])
    assert [row.prediction for row in rows] == fitted.predict(samples).tolist()
    p = [row.p.toArray() for row in rows]
    np.testing.assert_allclose(p, fitted.predict_proba(samples), atol=1e-12)


@pytest.mark.parametrize("kind", ["float", "double", "boolean", "bigint"])  # double: StringIndexer
def test_classes_are_predicted_in_the_type_of_the_labels(spark, kind):
    X, y = labelled(n=60, d=4)
    df = frame(spark, X, (y == y[0]).astype(float))
    df = df.withColumn("label", df.label.cast(kind))
    predicted = predict(fit(SRDA(), df), df)
    assert predicted.dtypes[-1][1] == {"float": "double"}.get(kind, kind)
    assert np.mean([row.prediction == row.label for row in predicted.collect()]) > 0.7


def test_texts_are_reduced_by_the_terms_of_the_fit(spark):
    docs = ["red green " * (k % 3) + f"word{k % 5}" for k in range(40)]
    rows = [(doc, "ab"[k % 5 < 2]) for k, doc in enumerate(docs)]
    df = spark.createDataFrame(rows, ["body", "label"]).repartition(2)
    fitted = fit(OC(), df, "body")
    got = transform(fitted, df.drop("label"), "z").collect()
    X = source_of(fitted).tfidf.transform([row.body for row in got])
    np.testing.assert_allclose([row.z.toArray() for row in got], fitted.transform(X), atol=1e-12)
    numbers = OC().fit(Tfidf().fit_transform(docs), [label for _, label in rows])
    with pytest.raises(DataError, match="expected numbers as in the fit, got texts in body"):
        transform(numbers, df, features_col="body")


def test_wrong_calls_say_what_to_do(spark):
    X, y = labelled()
    df, oc = frame(spark, X, y), OC().fit(X, y)
    numbers = spark.createDataFrame([("a", 1.0, 2.0)], ["label", "u", "v"])
    for call, error, word in (
        (lambda: transform(oc, df, "label"), DataError, "output_col"),
        (lambda: predict(oc, df), ParameterError, "an estimator that predicts"),
        (lambda: predict(SRDA().fit(X, y), df, "p", probability_col="p"), DataError, "'p'"),
        (lambda: transform(oc, numbers), DataError, "got 2: u"),
        (lambda: transform(oc, df, features_col="x"), DataError, "features_col"),
        (lambda: transform(oc, frame(spark, np.hstack([X, X]), y)).collect(), Exception,
         f"expected vectors of {X.shape[1]} numbers"),
    ):  # fmt: skip
        with pytest.raises(error, match=word):
            call()
