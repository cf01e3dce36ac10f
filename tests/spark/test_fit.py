"""Fits, new columns and files on Spark: by two executors and by Connect, against this machine."""

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

import narrows
from narrows import IDRQR, IOC, LDA, OC, OCFS, PCA, SRDA, KernelSRDA, OnlineSRDA
from narrows.errors import DataError, ParameterError
from narrows.read import source_of
from narrows.spark import fit, fit_files, predict, transform, transform_files
from narrows.table import TableEncoder
from narrows.text import HashedTfidf, Tfidf
from tests.cases import ADDITIVE, NUMERIC, assert_same, labelled
from tests.conftest import slow
from tests.inside import pretend
from tests.spark.frames import disturbed, fail, frame, is_connect, kill_executor, wait
from tests.test_tables import NAMES, customers

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*gains? margin|.*has a positive score"),
    pytest.mark.filterwarnings("ignore:.*merged approximately"),
]
ONE_EXECUTOR = "Connect runs its only executor in its server, which would be killed as well"


@pytest.mark.parametrize("case", ADDITIVE, ids=lambda case: case.name)
@pytest.mark.parametrize("form", [slow("dense"), "sparse", slow("sparse, disturbed")])
def test_a_fit_on_spark_is_a_local_fit(spark, case, form, tmp_path):
    if form == "sparse, disturbed" and is_connect(spark):
        pytest.skip(ONE_EXECUTOR)
    if form != "dense" and not case.takes_sparse:
        pytest.skip("it refuses sparse samples")
    X, y = case.labelled(sparse=form != "dense")
    X = X if form == "dense" else sparse.csr_array(X)
    df = frame(spark, X, y)
    if form == "sparse, disturbed":
        df = disturbed(df, str(tmp_path), kill_executor)
    assert_same(fit(case.new(), df), case.new().fit(X, y))


FREE = ["label", "class", "k", "first", "data", "indices", "values", "row", "sum", "about"]


def test_an_estimator_takes_a_dataframe(spark):
    """The names of features are free, also to be those of columns of partial sums."""
    X, y = labelled(n=40, d=10)
    w = 1.0 + np.arange(40) % 3
    table = zip(y.tolist(), np.column_stack([w, X]).tolist(), strict=True)
    df = spark.createDataFrame([(label, *row) for label, row in table], ["y", "w", *FREE])
    for fitted in (
        OC().fit(df, "y", "w"),
        fit(OC(), df, FREE, "y", "w"),
        fit(OC(), df, label_col="y", weight_col="w"),
    ):
        assert_same(fitted, OC().fit(X, y, w))
        assert fitted.feature_names_in_.tolist() == FREE
    z = np.array([row.reduced.toArray() for row in fitted.transform(df).collect()])
    np.testing.assert_allclose(z, OC().fit(X, y, w).transform(X), atol=1e-12)
    with pytest.raises(TypeError, match="expected y as the name of a column of the DataFrame, got"):
        OC().fit(df, y)


@pytest.mark.parametrize("case", NUMERIC, ids=lambda case: case.name)
def test_targets_are_numbers(spark, case):
    X, _ = labelled(sparse=True)
    y = X[:, 1] + np.random.default_rng(0).normal(size=60)
    spread = fit(case.new(), frame(spark, sparse.csr_array(X) if case.takes_sparse else X, y))
    local = case.new().fit(X, y)
    np.testing.assert_allclose(spread.transform(X), local.transform(X), atol=1e-9)
    with pytest.raises(DataError, match=r"expected an integer label under .*, got"):
        fit(SRDA(), frame(spark, X, y))


def some_zeros():
    X, y = labelled(n=90, d=7)
    return sparse.csr_array(np.where(X > np.median(X), X, 0)), y


def lists_of(X, y):
    """Rows of labels, indices and values."""
    parts = np.split(X.indices, X.indptr[1:-1]), np.split(X.data, X.indptr[1:-1])
    return list(zip(y.tolist(), *([p.tolist() for p in part] for part in parts), strict=True))


def test_arrays_lists_and_vectors_of_both_kinds(spark):
    X, y = some_zeros()
    arrays = list(zip(y.tolist(), X.toarray().tolist(), strict=True))
    both = frame(spark, X[:45], y[:45]).union(frame(spark, X[45:].toarray(), y[45:]))
    of_lists = "label string, indices array<int>, values array<double>"
    for df, column in (
        (spark.createDataFrame(lists_of(X, y), of_lists).repartition(4), None),
        (spark.createDataFrame(arrays, "label string, vector array<double>"), "vector"),
        (both.repartition(5), None),
    ):
        for method in (OCFS, OC, SRDA):
            assert_same(fit(method(), df, column), method().fit(X, y))
    single = spark.createDataFrame(arrays, "label string, features array<float>")
    X = X.toarray().astype(np.float32)
    assert_same(fit(SRDA(), single), SRDA().fit(X.astype(float), y))  # summed in double precision


def test_large_states_are_added_by_the_executors(spark, monkeypatch):
    pretend(monkeypatch, "states are large")
    n, d, c = 400, 150_000, 8  # 9.6 MB, which come in several rows
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, d), density=0.002, format="lil", rng=rng)
    X[0, d - 1] = 1  # lists do not say how many features there are
    X = sparse.csr_array(X)
    y = np.sort(rng.integers(c, size=n))  # partitions of few classes
    columns = "label int, indices array<int>, values array<double>"
    df = spark.createDataFrame(lists_of(X, y), columns)
    df = df.repartitionByRange(5, "label")
    assert_same(fit(OCFS(), df), OCFS().fit(X, y))


@pytest.mark.parametrize(
    ("happens", "estimator"), [(fail, OC()), (wait, OCFS()), (kill_executor, SRDA())]
)
def test_what_spark_repeats_counts_once(spark, happens, estimator, tmp_path):
    if happens is not fail and is_connect(spark):
        pytest.skip(ONE_EXECUTOR)
    X, y = some_zeros()
    df = disturbed(frame(spark, X, y, parts=4), str(tmp_path), happens)
    fitted = fit(estimator, df)
    assert (tmp_path / "disturbed").exists()
    assert_same(fitted, clone(estimator).fit(X, y))


VECTORS, NUMBERS = "label string, features array<double>", "label string, f float"
WRONG = [
    ([("a", [1.0]), (None, [2.0])], VECTORS, {}, "0:2: column 'label': expected no nulls"),
    ([("a", [1.0]), ("b", [2.0, 1.0])], VECTORS, {}, "0:2: column 'features'"),
    ([("a", [1.0]), ("b", [np.nan])], VECTORS, {}, "0:2: expected finite"),
    ([], VECTORS, {}, "expected (two classes|at least one sample)"),
    ([("a", 1.0)], NUMBERS, {"weight_col": "w"}, "weight_col"),
    ([("a", 1.0, -1.0)], f"{NUMBERS}, w double", {"weight_col": "w"}, "got -1"),
    ([("a", 1.0, 1.0)], f"{NUMBERS}, F double", {}, "two 'f'"),
    ([(1.5, 1.0)], "label double, f float", {}, "0:1: .* an integer label"),
    ([("a", 1.0)], "label string, `a.b` double", {}, "without dots"),
    ([("a", [1])], "label string, features array<int>", {}, "Cast it: .*double"),
]


@pytest.mark.parametrize(("rows", "schema", "given", "message"), WRONG)
def test_wrong_columns_are_named(spark, rows, schema, given, message):
    df = spark.createDataFrame(rows, schema).coalesce(1)
    with pytest.raises(ValueError, match=message):
        fit(OC(), df, **given)


def test_other_methods_and_frames_are_refused_with_what_to_use(spark):
    df = frame(spark, *labelled())
    X = sparse.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 8999, 5, 9])), (4, 9000))
    wide = frame(spark, X, np.array(["a", "b", "a", "b"]))
    rate = spark.readStream.format("rate").load()
    for estimator, given, more, error, word in (
        (IOC(), df, (), ParameterError, "Use OC"),
        (IDRQR(), df, (), ParameterError, "Use OCM"),
        (OC(half_life=9), df, (), ParameterError, "half_life=None"),
        (SRDA(solver="lsqr"), df, (), ParameterError, "Use OnlineSRDA"),
        (PCA(), wide, (), ParameterError, "at most 8,192 features"),
        (LDA(), wide, (), ParameterError, "at most 8,192 features"),
        (OC(), rate, (["value"], "timestamp"), TypeError, "got a stream"),
        (OC(), [[1.0]], (), TypeError, "expected a DataFrame of Spark"),
    ):
        with pytest.raises(error, match=word):
            fit(estimator, given, *more)
    with pytest.warns(UserWarning, match="merged approximately"):
        fit(OnlineSRDA(), df)
    with pytest.raises(ConnectionError, match=r"expected Spark at sc://127.0.0.1:1, got none"):
        fit_files(OC(), [__file__], "sc://127.0.0.1:1")


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


def test_tables_are_encoded_by_the_workers(spark, run, tmp_path):
    rows = pd.DataFrame(customers(600), columns=NAMES).replace("", None)
    rows = rows.astype({"age": float, "paid": float, "since": "datetime64[us]"})
    for k, part in enumerate(np.array_split(np.arange(600), 3)):
        rows.iloc[part].to_parquet(tmp_path / f"{k}.parquet", index=False)
    pattern, encoder = str(tmp_path / "*.parquet"), TableEncoder()
    X, y = rows.drop(columns="churn"), rows["churn"].to_numpy().astype(str)
    expected = SRDA().fit(encoder.fit_transform(X), y)
    found = fit_files(SRDA(), [pattern], spark, label="churn", vectoriser=TableEncoder())
    # a folder would be read in the order of the sizes of its files
    parts = [spark.read.parquet(str(tmp_path / f"{k}.parquet")) for k in range(3)]
    table = parts[0].union(parts[1]).union(parts[2])
    for each in (found, fit(SRDA(), table, None, "churn", vectoriser=TableEncoder())):
        assert source_of(each).encoder == encoder
        np.testing.assert_allclose(each.components_, expected.components_, rtol=1e-8, atol=1e-12)
    narrows.save(each, tmp_path / "m.narrows")
    rows = (
        predict(narrows.load(tmp_path / "m.narrows"), table)
        .select("phone", "prediction")
        .toPandas()
    )
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
    assert_same(narrows.load(tmp_path / "spark.narrows"), narrows.load(tmp_path / "local.narrows"))
    status, out, _ = run(f"transform spark.narrows {pattern} -o reduced --engine spark")
    assert (status, "3 files written to reduced" in out) == (0, True)
    status, _, err = run(f"{line} x.narrows --master local[2]")
    assert (status, "--engine spark" in err) == (2, True)
