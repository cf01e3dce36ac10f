"""Vectors of Spark's MLlib in tables and files, against SciPy."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from scipy import sparse

import narrows
from narrows import OC
from narrows.errors import DataError
from tests.cases import assert_same, labelled

pa = pytest.importorskip("pyarrow", reason="needs the extra `arrow`")
pq = pytest.importorskip("pyarrow.parquet")

KIND = pa.struct([
    ("type", pa.int8()), ("size", pa.int32()), ("indices", pa.list_(pa.int32())),
    ("values", pa.list_(pa.float64())),
])  # fmt: skip


def vector(x, dense):
    found = np.flatnonzero(x)
    if dense:
        return {"type": 1, "values": x.tolist()}
    return {"type": 0, "size": len(x), "indices": found.tolist(), "values": x[found].tolist()}


def table(vectors, labels=None):
    labels = ["a", "b"] * len(vectors) if labels is None else labels
    return pa.table({"v": pa.array(vectors, KIND), "label": labels[: len(vectors)]})


@pytest.mark.parametrize("are_dense", [[True], [False], [True, False, False], [False, True]])
def test_vectors_are_samples(are_dense, tmp_path):
    X, y = labelled(n=30, d=6)
    X = np.where(X > 0, X, 0)
    vectors = [vector(x, are_dense[k % len(are_dense)]) for k, x in enumerate(X)]
    path = str(tmp_path / "spark.parquet")
    pq.write_table(table(vectors, y.tolist()), path)
    (found, labels), *_ = narrows.read.iter_chunks(path, vector="v")
    assert sparse.issparse(found) == (False in are_dense)
    np.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, X)
    assert_same(OC().fit(found, labels), OC().fit(X, y))
    sliced = table(vectors, y.tolist()).slice(7)
    ((found, _),) = narrows.read.iter_chunks(sliced, vector="v")
    np.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, X[7:])


GOOD = {"type": 0, "size": 3, "indices": [0, 2], "values": [1.0, 2.0]}
WRONG = [
    ([GOOD, None], "2: column 'v': expected a vector, got a null"),
    ([GOOD, GOOD | {"size": 4}], "2: column 'v': expected vectors of 3 numbers, got 4"),
    ([GOOD, {"type": 1, "values": [1.0]}], "2: column 'v': expected vectors of 3 numbers, got 1"),
    (
        [GOOD, GOOD | {"indices": [1]}],
        "2: column 'v': expected as many indices as values, got 1 an",
    ),
    ([GOOD, GOOD | {"indices": [0, 3]}], "2: column 'v': expected indices from 0 to 2, got 3"),
    ([GOOD, GOOD | {"indices": [-1, 2]}], "2: column 'v': expected indices from 0 to 2, got -1"),
    (
        [GOOD, GOOD | {"values": None}],
        "2: column 'v': expected as many indices as values, got 2 an",
    ),
    ([GOOD, GOOD | {"values": [1.0, np.nan]}], "2: expected finite values"),
    ([GOOD, GOOD | {"values": [1.0, None]}], "2: column 'v': expected vectors without nulls"),
    ([GOOD, GOOD | {"indices": [0, None]}], "2: column 'v': expected vectors without nulls"),
    ([GOOD, GOOD | {"type": 2}], "2: column 'v': expected vectors of type 0 or 1, got 2"),
    ([GOOD, GOOD | {"type": None}], "2: column 'v': expected vectors of type 0 or 1, got"),
]


@pytest.mark.parametrize(("vectors", "message"), WRONG)
def test_damaged_vectors_are_named(vectors, message):
    with pytest.raises(DataError, match=message):
        list(narrows.read.iter_chunks(table(vectors), vector="v"))


@pytest.mark.skipif(importlib.util.find_spec("pyspark") is not None, reason="pyspark is there")
def test_spark_is_asked_for_with_its_extra(run):
    status, _, err = run(
        "fit a.svm --method oc -o m.narrows --engine spark", a__svm="1 1:2\n2 1:3\n"
    )
    assert (status, "pip install 'narrows[spark]'" in err) == (2, True)
