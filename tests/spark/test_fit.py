"""Fits on Spark, by a cluster of two executors and by Spark Connect, against local fits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from narrows import IDRQR, IOC, LDA, MMC, OC, OCFS, PCA, SRDA, ForwardFS, OnlineSRDA
from narrows.engines import local
from narrows.errors import DataError, ParameterError
from narrows.spark import fit
from tests.cases import ADDITIVE, NUMERIC, assert_same, labelled
from tests.conftest import slow
from tests.inside import pretend
from tests.spark.frames import disturbed, fail, frame, is_connect, kill_executor, wait

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
    X, y = case.labelled(sparse=form != "dense")
    X = X if form == "dense" else sparse.csr_array(X)
    df = frame(spark, X, y)
    if form == "sparse, disturbed":
        df = disturbed(df, str(tmp_path), kill_executor)
    assert_same(fit(case.new(), df), case.new().fit(X, y))


NAMES = ["label", "class", "k", "first", "data", "indices", "values", "row", "sum", "about"]


def test_an_estimator_takes_a_dataframe(spark):
    """The names of features are free, also to be those of columns of partial sums."""
    X, y = labelled(n=40, d=10)
    w = 1.0 + np.arange(40) % 3
    table = zip(y.tolist(), np.column_stack([w, X]).tolist(), strict=True)
    df = spark.createDataFrame([(label, *row) for label, row in table], ["y", "w", *NAMES])
    for fitted in (
        OC().fit(df, "y", "w"),
        fit(OC(), df, NAMES, "y", "w"),
        fit(OC(), df, label_col="y", weight_col="w"),
    ):
        assert_same(fitted, OC().fit(X, y, w))
        assert fitted.feature_names_in_.tolist() == NAMES
    z = np.array([row.reduced.toArray() for row in fitted.transform(df).collect()])
    np.testing.assert_allclose(z, OC().fit(X, y, w).transform(X), atol=1e-12)
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
    assert_same(fitted, type(estimator)(**estimator.get_params()).fit(X, y))


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


def test_labels_may_be_missing_where_they_are_not_needed(spark):
    X, _ = labelled(n=40, d=5)
    rows = [(None if k else "a", x.tolist()) for k, x in enumerate(X)]
    df = spark.createDataFrame(rows, "label string, features array<double>")
    assert_same(fit(PCA(), df, label_col=None), PCA().fit(X))
    assert_same(fit(PCA(), df.select("features")), PCA().fit(X))
