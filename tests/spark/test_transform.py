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
from narrows.text import HashedTfidf, Tfidf
from tests.cases import labelled
from tests.spark.frames import frame

pytestmark = pytest.mark.filterwarnings("ignore:.*merged approximately")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("estimator", [OCFS(n_features=3), OC(), SRDA()], ids=repr)
def test_reduced_samples_are_those_of_transform(spark, estimator, form):
    X, y = labelled(n=200, d=7)
    estimator.fit(form(X), y)
    got = transform(estimator, frame(spark, form(X), y), "z").collect()
    expected = estimator.transform(form(np.array([row.features.toArray() for row in got])))
    kind = "SparseVector" if sparse.issparse(expected) else "DenseVector"
    assert {type(row.z).__name__ for row in got} == {kind}
    expected = expected.toarray() if sparse.issparse(expected) else expected
    np.testing.assert_allclose([row.z.toArray() for row in got], expected, atol=1e-12)


def test_other_columns_stay_as_they_are(spark):
    X = np.random.default_rng(0).normal(size=(50, 2))
    day = datetime(2026, 1, 1)
    rows = [
        (k, x, day.replace(hour=k % 24), Decimal(k), {"a": k}, None, ["é"] * 3)
        for k, x in enumerate(X.tolist())
    ]
    schema = (
        "id long, features array<double>, at timestamp, price decimal(9,2), counts map<string,int>,"
        " empty string, words array<string>"
    )
    df = spark.createDataFrame(rows, schema).repartition(3)
    estimator = PCA(n_components=1).fit(X)
    reduced = transform(estimator, df)
    assert reduced.dtypes == [*df.dtypes, ("reduced", "array<double>")]
    got = sorted(reduced.collect(), key=lambda row: row.id)
    assert [tuple(row)[:-1] for row in got] == [tuple(row) for row in sorted(df.collect())]
    np.testing.assert_allclose([row.reduced for row in got], estimator.transform(X), atol=1e-12)


@pytest.mark.parametrize(
    "estimator", [SRDA(), LDA(), OnlineSRDA(), KernelSRDA(n_hidden=30, standardize=True)], ids=repr
)
def test_predicted_classes_are_those_of_predict(spark, estimator):
    X, y = labelled(n=120, d=5)
    fitted = fit(estimator, frame(spark, X, y, parts=1))
    got = predict(fitted, frame(spark, X, y), probability_col="p")
    assert got.dtypes[2:] == [("prediction", "string"), ("p", "vector")]
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
    labels = ["ab"[k % 5 < 2] for k in range(40)]
    rows = list(zip(docs, labels, strict=True))
    df = spark.createDataFrame(rows, ["body", "label"]).repartition(2)
    numbers = OC().fit(Tfidf().fit_transform(docs), labels)
    for vectoriser, width in ((None, 7), (HashedTfidf(2**10), 2**10), (Tfidf(min_df=9), 2)):
        fitted = fit(OC(), df, "body", vectoriser=vectoriser)
        assert fitted.n_features_in_ == width
        got = transform(fitted, df.drop("label"), "z").collect()
        X = source_of(fitted).tfidf.transform([row.body for row in got])
        z = [row.z.toArray() for row in got]
        np.testing.assert_allclose(z, fitted.transform(X), atol=1e-12)
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
