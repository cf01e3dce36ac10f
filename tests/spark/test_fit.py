"""Fits on Spark, by a cluster of two executors and by Spark Connect, against local fits."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from narrows import IDRQR, IOC, LDA, MMC, OC, OCFS, PCA, SRDA, ForwardFS, OnlineSRDA
from narrows.engines import local
from narrows.errors import DataError, ParameterError
from narrows.spark import fit
from narrows.text import HashedTfidf, Tfidf
from tests.cases import ADDITIVE, NUMERIC, assert_same, labelled
from tests.conftest import slow
from tests.inside import pretend
from tests.spark.frames import disturbed, fail, frame, is_connect, kill_executor, wait

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*gains? margin|.*has a positive score"),
    pytest.mark.filterwarnings("ignore:.*merged approximately"),
]
ONE_EXECUTOR = "Connect runs its only executor in its server, which would be killed as well"


def test_executors_are_other_processes(spark):
    def where(batches):
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"process": [os.getpid()]})

    rows = spark.range(0, 4, 1, 4).mapInArrow(where, "process long").collect()
    assert len(rows) == 4
    assert os.getpid() not in {row.process for row in rows}


@pytest.mark.parametrize("case", ADDITIVE, ids=lambda case: case.name)
@pytest.mark.parametrize("form", [slow("dense"), "sparse", slow("sparse, disturbed")])
def test_a_fit_on_spark_is_a_local_fit(spark, case, form, tmp_path):
    if form == "sparse, disturbed" and is_connect(spark):
        pytest.skip(ONE_EXECUTOR)
    X, y = case.labelled(sparse=form != "dense")
    X = X if form == "dense" else sparse.csr_array(X)
    df = frame(spark, X, y)
    if form == "sparse, disturbed":
        df = disturbed(df, str(tmp_path), kill_executor)
    assert_same(fit(case.new(), df), case.new().fit(X, y))


def test_a_newton_step_takes_two_passes(spark):
    X, y = labelled()
    y = y == y[0]
    found = fit(SRDA(alpha=1.0, refine=True), frame(spark, X, y))
    assert_same(found, SRDA(alpha=1.0, refine=True).fit(X, y))


def test_an_estimator_takes_a_dataframe(spark):
    X, y = labelled()
    weight = 1.0 + np.arange(len(y)) % 3
    rows = [
        (label.item(), *map(float, x), float(w)) for label, x, w in zip(y, X, weight, strict=True)
    ]
    names = [f"column {k}" for k in range(X.shape[1])]
    df = spark.createDataFrame(rows, ["class", *names, "weight"])
    for fitted in (
        OC().fit(df, "class", "weight"),
        fit(OC(), df, names, "class", "weight"),
        fit(OC(), df, label_col="class", weight_col="weight"),
    ):
        assert_same(fitted, OC().fit(X, y, weight))
        assert fitted.feature_names_in_.tolist() == names
    assert fitted.transform(df).columns == [*df.columns, "reduced"]
    with pytest.raises(TypeError, match="expected y as the name of a column of the DataFrame, got"):
        OC().fit(df, y)


@pytest.mark.parametrize("case", NUMERIC, ids=lambda case: case.name)
def test_targets_are_numbers(spark, case):
    X, _ = labelled(sparse=True)
    y = X[:, 1] + np.random.default_rng(0).normal(size=60)
    spread = fit(case.new(), frame(spark, sparse.csr_array(X), y))
    local = case.new().fit(X, y)
    np.testing.assert_allclose(spread.transform(X), local.transform(X), atol=1e-9)
    with pytest.raises(DataError, match=r"expected an integer label under .*, got"):
        fit(SRDA(), frame(spark, X, y))


# -- forms of samples ------------------------------------------------------------------------------


def some_zeros():
    X, y = labelled(n=90, d=7)
    return sparse.csr_array(np.where(X > np.median(X), X, 0)), y


def test_arrays_lists_and_vectors_of_both_kinds(spark):
    X, y = some_zeros()
    labels, half = y.tolist(), len(y) // 2
    ends = list(zip(X.indptr, X.indptr[1:], strict=False))
    lists = [(label, X.indices[i:j].tolist(), X.data[i:j].tolist())
             for label, (i, j) in zip(labels, ends, strict=True)]  # fmt: skip
    arrays = list(zip(labels, X.toarray().tolist(), strict=True))
    both = frame(spark, X[:half], y[:half]).union(frame(spark, X[half:].toarray(), y[half:]))
    of_lists = "label string, indices array<int>, values array<double>"
    for df, column in (
        (spark.createDataFrame(lists, of_lists).repartition(4), None),
        (spark.createDataFrame(arrays, "label string, vector array<double>"), "vector"),
        (both.repartition(1), None),
        (both.repartition(5), None),
    ):
        for method in (OCFS, OC, SRDA):
            assert_same(fit(method(), df, column), method().fit(X, y))
    single = spark.createDataFrame(arrays, "label string, features array<float>")
    X = X.toarray().astype(np.float32)
    assert_same(fit(SRDA(), single), SRDA().fit(X.astype(float), y))  # summed in double precision


def test_a_forward_selection_of_wide_samples_takes_two_passes(spark):
    X = sparse.random_array((200, 9000), density=0.004, format="csr", rng=np.random.default_rng(0))
    y = np.where(X[:, [0, 10, 20]].sum(axis=1) > 0, "some", "none")
    forward = ForwardFS(n_features=4, head=100)
    parts = [(X[rows], y[rows]) for rows in np.array_split(np.arange(200), 3)]
    expected = local.fit(ForwardFS(n_features=4, head=100), parts)
    wide = frame(spark, X, y).repartition(3)
    assert_same(fit(forward, wide), expected)
    for method in (SRDA(), MMC()):
        with pytest.raises(ParameterError, match="OC, OCFS or OnlineSRDA"):
            fit(method, wide)


def test_texts(spark):
    docs = ["red green blue " * (k % 3 + 1) + f"word{k % 7}" for k in range(60)]
    y = np.array(["a" if k % 7 < 3 else "b" for k in range(60)])
    rows = list(zip(docs, y.tolist(), strict=True))
    df = spark.createDataFrame(rows, ["body", "label"]).repartition(3)
    fitted, tfidf = fit(OCFS(n_features=3), df, "body"), Tfidf().fit(docs)
    local = OCFS(n_features=3).fit(tfidf.transform(docs), y)
    names = tfidf.get_feature_names_out()
    assert set(fitted.get_feature_names_out()) == set(names[local.get_support()])
    np.testing.assert_allclose(np.sort(fitted.scores_), np.sort(local.scores_), rtol=1e-9)
    hashed = fit(OC(), df, "body", vectoriser=HashedTfidf(2**10))
    assert hashed.n_features_in_ == 2**10
    frequent = fit(OC(), df, "body", vectoriser=Tfidf(min_df=9))
    assert frequent.get_feature_names_out().shape == (1,)
    assert frequent.n_features_in_ == 7


# -- large states, and what happens to executors ---------------------------------------------------


def test_large_states_are_added_by_the_executors(spark, monkeypatch):
    pretend(monkeypatch, "states are large")
    n, d, c = 400, 150_000, 8  # 9.6 MB, which come in several rows
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, d), density=0.002, format="lil", rng=rng)
    X[0, d - 1] = 1  # lists do not say how many features there are
    X = sparse.csr_array(X)
    y = np.sort(rng.integers(c, size=n))  # partitions of few classes
    rows = [
        (int(label), X.indices[i:j].tolist(), X.data[i:j].tolist())
        for label, i, j in zip(y, X.indptr, X.indptr[1:], strict=False)
    ]
    df = spark.createDataFrame(rows, "label int, indices array<int>, values array<double>")
    df = df.repartitionByRange(5, "label")
    assert_same(fit(OCFS(), df), OCFS().fit(X, y))


REPEATED = [(fail, OC()), (wait, OCFS()), (kill_executor, SRDA())]


@pytest.mark.parametrize(("happens", "estimator"), REPEATED)
def test_what_spark_repeats_counts_once(spark, happens, estimator, tmp_path):
    if happens is not fail and is_connect(spark):
        pytest.skip(ONE_EXECUTOR)
    X, y = some_zeros()
    df = disturbed(frame(spark, X, y, parts=4), str(tmp_path), happens)
    fitted = fit(estimator, df)
    assert (tmp_path / "disturbed").exists()
    assert_same(fitted, type(estimator)(**estimator.get_params()).fit(X, y))


# -- errors ----------------------------------------------------------------------------------------

VECTORS, NUMBERS = "label string, features array<double>", "label string, f float"
WRONG = [
    ([("a", [1.0]), (None, [2.0])], VECTORS, {}, "0:2: column 'label': expected no nulls"),
    ([("a", [1.0]), ("b", None)], VECTORS, {}, "0:2: column 'features'"),
    ([("a", [1.0]), ("b", [None])], VECTORS, {}, "0:2: column 'features'"),
    ([("a", [1.0]), ("b", [2.0, 1.0])], VECTORS, {}, "0:2: column 'features'"),
    ([("a", [1.0]), ("b", [np.nan])], VECTORS, {}, "0:2: expected finite"),
    ([], VECTORS, {}, "expected (two classes|at least one sample)"),
    ([("a", 1.0), ("b", None)], NUMBERS, {}, "0:2: column 'f': expected no nulls"),
    ([("a", 1.0)], NUMBERS, {"weight_col": "w"}, "weight_col"),
    ([("a", 1.0)], NUMBERS, {"label_col": "l"}, "got label: string, f: float"),
    ([("a", [1.0])], VECTORS, {"label_col": None}, "label_col"),
    ([("a", 1.0)], NUMBERS, {"features_col": "x"}, "features_col"),
    ([("a", 1.0)], NUMBERS, {"weight_col": "label"}, "expected weights"),
    ([("a", 1.0)], NUMBERS, {"weight_col": "f", "features_col": "f"}, "'f' twice"),
    ([("a", 1.0, -1.0)], f"{NUMBERS}, w double", {"weight_col": "w"}, "got -1"),
    ([("a", 1.0, 1.0)], f"{NUMBERS}, F double", {}, "two 'f'"),
    ([(1.5, 1.0)], "label double, f float", {}, "0:1: .* an integer label"),
    ([("a", 1.0)], "label string, `a.b` double", {}, "without dots"),
    ([("a", [1])], "label string, features array<int>", {}, "Cast it: .*double"),
    ([("a", None)], "label string, f decimal(8,3)", {}, "Cast it: .*double"),
]


@pytest.mark.parametrize(("rows", "schema", "given", "message"), WRONG)
def test_wrong_columns_are_named(spark, rows, schema, given, message):
    df = spark.createDataFrame(rows, schema).coalesce(1)
    with pytest.raises(ValueError, match=message):
        fit(OC(), df, **given)


def calls_that_are_refused(spark):
    """Yield an estimator, a DataFrame or not, more arguments, the kind of error and a word."""
    df = frame(spark, *labelled())
    yield IOC(), df, (), ParameterError, "Use OC"
    yield IDRQR(), df, (), ParameterError, "Use OCM"
    yield OC(half_life=9), df, (), ParameterError, "half_life=None"
    yield SRDA(solver="lsqr"), df, (), ParameterError, "Use OnlineSRDA"
    X = sparse.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 8999, 5, 9])), (4, 9000))
    wide = frame(spark, X, np.array(["a", "b", "a", "b"]))
    yield PCA(), wide, (), ParameterError, "at most 8,192 features"
    yield LDA(), wide, (), ParameterError, "at most 8,192 features"
    rate = spark.readStream.format("rate").load()
    yield OC(), rate, (["value"], "timestamp"), TypeError, "got a stream"
    yield OC(), [[1.0]], (), TypeError, "expected a DataFrame of Spark"


def test_other_methods_and_frames_are_refused_with_what_to_use(spark):
    for estimator, df, more, error, word in calls_that_are_refused(spark):
        with pytest.raises(error, match=word):
            fit(estimator, df, *more)


def test_online_srda_warns_that_it_is_merged_approximately(spark):
    with pytest.warns(UserWarning, match="merged approximately"):
        fit(OnlineSRDA(), frame(spark, *labelled()))


def test_the_names_of_features_are_free(spark):
    """Also those that the columns of partial sums have."""
    X, y = labelled(n=40, d=10)
    names = ["label", "class", "k", "first", "data", "indices", "values", "row", "sum", "about"]
    rows = [(label.item(), *map(float, x)) for label, x in zip(y, X, strict=True)]
    df = spark.createDataFrame(rows, ["y", *names])
    fitted = fit(OC(), df, label_col="y")
    assert_same(fitted, OC().fit(X, y))
    assert fitted.feature_names_in_.tolist() == names
    z = np.array([row.reduced.toArray() for row in fitted.transform(df).collect()])
    np.testing.assert_allclose(z, OC().fit_transform(X, y), atol=1e-12)


def test_labels_may_be_missing_where_they_are_not_needed(spark):
    X, _ = labelled(n=40, d=5)
    rows = [(None if k else "a", x.tolist()) for k, x in enumerate(X)]
    df = spark.createDataFrame(rows, "label string, features array<double>")
    assert_same(fit(PCA(), df, label_col=None), PCA().fit(X))
    assert_same(fit(PCA(), df.select("features")), PCA().fit(X))
    with pytest.raises(DataError, match="column 'label': expected no nulls"):
        fit(PCA(), df)
