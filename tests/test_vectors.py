"""Samples in a column of vectors of Parquet files and tables, and in `.npy` files."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import narrows
from narrows.errors import DataError, ParameterError
from narrows.read import Source, iter_chunks, source_of
from tests.inside import pretend

TYPES = {
    **dict.fromkeys(["float16", "float32", "int8", "uint8", "int16", "uint16", "bool"], np.float32),
    **dict.fromkeys(["float64", "int32", "uint32", "int64", "uint64"], np.float64),
}


def embeddings(n=50, d=6, dtype=np.float32, seed=0):
    """Samples of three classes, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d)) + 2 * np.eye(3, d)[y]
    X = X if np.dtype(dtype).kind == "f" else np.abs(50 * X).round() % 127
    return X.astype(dtype), np.array(["a", "b", "c"])[y]


def vector_array(X, kind):
    """Return samples as an Arrow array of lists, which starts at an offset."""
    flat = pa.array(np.append(X[0], X.ravel()))
    starts = np.arange(0, len(flat) + 1, X.shape[1])
    if kind == "fixed":
        return pa.FixedSizeListArray.from_arrays(flat, X.shape[1]).slice(1)
    if kind == "large":
        return pa.LargeListArray.from_arrays(starts, flat).slice(1)
    return pa.ListArray.from_arrays(starts.astype(np.int32), flat).slice(1)


def table_of(X, y, kind="fixed"):
    return pa.table(
        {"id": [f"n{k}" for k in range(len(X))], "embedding": vector_array(X, kind), "label": y}
    )


def gathered(inputs, **options):
    chunks = list(iter_chunks(inputs, **options))
    return [chunk[0] for chunk in chunks], np.concatenate([chunk[1] for chunk in chunks])


# -- columns of vectors --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", ["list", "large", "fixed"])
def test_vectors_are_read_from_files_and_tables(tmp_path, kind, dtype):
    X, y = embeddings(dtype=dtype)
    table = table_of(X, y, kind)
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=20)
    cut = pa.concat_tables([table.slice(0, 13), table.slice(13)])
    for inputs in (path, table, cut):
        parts, labels = gathered(inputs, vector="embedding", chunk_rows=7)
        assert [len(part) for part in parts] == [7] * 7 + [1]
        assert {part.dtype for part in parts} == {np.dtype(TYPES[dtype])}
        np.testing.assert_array_equal(np.vstack(parts), X)
        assert labels.tolist() == y.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TYPES)
def test_vectors_of_every_type_fit_alike(run, dtype):
    X, y = embeddings(dtype=dtype)
    pq.write_table(table_of(X, y), "v.parquet")
    np.save("v.npy", X)
    np.save("y.npy", y)
    np.savez("v.npz", X=X, y=y)
    expected = narrows.SRDA().fit(X.astype(np.float64), y).predict(X.astype(np.float64))
    for given in "v.parquet --vector embedding", "v.npy --label y.npy", "v.npz":
        assert run(f"fit {given} --method srda -o m.narrows")[0] == 0
        model = narrows.load("m.narrows")
        assert model.predict(X.astype(TYPES[dtype])).tolist() == expected.tolist()


def test_vectors_of_other_libraries():
    X, y = embeddings()
    frames = [
        pd.DataFrame({"label": y, "embedding": list(X)}),
        pl.DataFrame({"label": y, "embedding": X.tolist()}),
        pl.DataFrame(
            {"label": y, "embedding": X}, schema_overrides={"embedding": pl.Array(pl.Float32, 6)}
        ),
    ]
    tensor = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.float32(), [6]), pa.FixedSizeListArray.from_arrays(X.ravel(), 6)
    )
    for frame in [*frames, pa.table({"label": y, "embedding": tensor})]:
        parts, labels = gathered(frame, vector="embedding")
        np.testing.assert_allclose(np.vstack(parts), X)
        assert labels.tolist() == y.tolist()


def test_wide_vectors_come_in_smaller_chunks(tmp_path, monkeypatch):
    X, y = embeddings()
    pretend(monkeypatch, "few vectors at a time")
    for kind in ("list", "fixed"):
        pq.write_table(table_of(X, y, kind), tmp_path / "a.parquet")
        for inputs in (tmp_path / "a.parquet", table_of(X, y, kind)):
            parts, _ = gathered(inputs, vector="embedding", width=6)
            assert {len(part) for part in parts} == {10}


def nulls(kind):
    return pa.array([[1.0, 2.0], None, [3.0, 4.0]], kind)


def inner(kind):
    return pa.array([[1.0, 2.0], [3.0, 4.0], [None, 5.0]], kind)


FIXED, LIST = pa.list_(pa.float32(), 2), pa.list_(pa.float64())
WRONG = [
    (nulls(FIXED), {}, ":2: column 'v'.* null"),
    (nulls(LIST), {}, ":2: column 'v'.* null"),
    (inner(FIXED), {}, ":3: column 'v'.* null"),
    (inner(pa.large_list(pa.float32())), {}, ":3: column 'v'.* null"),
    (pa.array([[1, None]]), {}, ":1: column 'v'.* null"),
    (pa.array([[1.0, 2.0], [1.0, 2.0], [1.0]], LIST), {}, ":3: column 'v'.* 2 numbers, got 1"),
    (inner(FIXED)[:2], {"width": 3}, ":1: column 'v'.* 3 numbers, got 2"),
    (pa.array([[], []], LIST), {}, ":1: column 'v'.* several numbers, got 0"),
    (pa.array([["a"], ["b"]]), {}, ": column 'v'.* lists of numbers, got list<"),
    (pa.array([1.0, 2.0]), {}, ": column 'v'.* lists of numbers, got double"),
    (pa.array([[1.0, np.nan]], LIST), {}, ":1: .*NaN"),
    (pa.array([[1.0]], LIST), {"vector": "w"}, ": expected a column 'w'"),
]


@pytest.mark.parametrize(("array", "options", "message"), WRONG)
def test_what_is_wrong_with_vectors_is_named(tmp_path, array, options, message):
    table = pa.table({"v": array})
    pq.write_table(table, tmp_path / "a.parquet")
    for inputs in (table, tmp_path / "a.parquet"):
        for chunk_rows in (2, 1000):
            with pytest.raises(DataError, match=message):
                list(iter_chunks(inputs, chunk_rows=chunk_rows, **{"vector": "v", **options}))


def test_files_of_vectors_of_spark_are_read(tmp_path):
    """As Spark writes those of `pyspark.ml.linalg`: a struct for each vector, dense or sparse."""
    names = {"type": pa.int8(), "size": pa.int32(), "indices": pa.list_(pa.int32())}
    kind = pa.struct({**names, "values": pa.list_(pa.float64())})
    vectors = [
        {"type": 1, "values": [1.0, 0.0]},
        {"type": 0, "size": 2, "indices": [1], "values": [3.0]},
    ]
    table = pa.table({"v": pa.array(vectors, kind), "t": ["x", "y"], "label": ["a", "b"]})
    path = str(tmp_path / "part-0.parquet")
    pq.write_table(table, path)
    with pytest.raises(DataError, match=r"column 'v': expected numbers, got struct"):
        list(iter_chunks(path))
    ((found, _),) = iter_chunks(path, vector="v")
    assert found.toarray().tolist() == [[1, 0], [0, 3]]
    ((found, _),) = iter_chunks(path, text="t")  # which leaves the vectors alone
    assert found == ["x", "y"]


# -- .npy files ----------------------------------------------------------------------------------


def save_npy(path, array):
    np.save(path, array)
    return str(path)


def damaged(array, *cuts):
    """Return the bytes of a file with changes."""
    file = io.BytesIO()
    np.save(file, array)
    found = file.getvalue()
    for old, new in cuts:
        assert old in found
        found = found.replace(old, new)
    return found


EYE = np.eye(3)
NO_ARRAY = r"expected a \.npy array"
WRONG_ARRAYS = [
    (b"", None, NO_ARRAY),
    (b"a,b\n1,2\n", None, NO_ARRAY),
    (damaged(EYE)[:100], None, NO_ARRAY),
    (damaged(EYE, (b"NUMPY\x01", b"NUMPY\x09")), None, NO_ARRAY),
    (damaged(EYE)[:-1], None, NO_ARRAY),
    (damaged(EYE, (b"(3, 3)", b"(-3,3)")), None, "negative dimensions"),
    (damaged(EYE, (b"(3, 3)", b"(9**9)")), None, NO_ARRAY),
    (damaged(EYE[0]), None, r"\(n_samples, n_features\), got \(3,\)"),
    (damaged(np.empty((3, 0))), None, "samples of shape"),
    (damaged(np.empty((0, 3))), None, "at least one row"),
    (damaged(EYE * 1j), None, "numbers, got complex128"),
    (damaged(EYE.astype("O")), None, "Python objects"),
    (damaged(EYE.astype("U")), None, "numbers, got <U32"),
    (damaged(np.array([[1, 2], [np.inf, 1]])), None, r"X\.npy:2: .*finite"),
    (damaged(EYE), damaged(np.arange(4)), r"y\.npy: expected 3 labels"),
    (damaged(EYE), damaged(EYE), r"y\.npy: expected 3 labels"),
    (damaged(EYE), damaged(np.arange(3) / 2), r"y\.npy:2: expected an integer label"),
    (damaged(EYE), damaged(np.array(list("abc"), "O")), r"y\.npy: .*Python objects"),
    (damaged(EYE), damaged(np.array(list("abc"), "S")), "text or integers"),
    (damaged(EYE), damaged(np.array(["a", "b\0c", "d"])), r"y\.npy:2: .* NUL"),
    (damaged(EYE), b"label\n1\n", NO_ARRAY),
]


@pytest.mark.parametrize(("samples", "labels", "message"), WRONG_ARRAYS)
def test_what_is_wrong_with_an_array_is_named(tmp_path, samples, labels, message):
    (tmp_path / "X.npy").write_bytes(samples)
    if labels is not None:
        (tmp_path / "y.npy").write_bytes(labels)
    with pytest.raises(DataError, match=message):
        list(iter_chunks(tmp_path / "X.npy", label=labels and str(tmp_path / "y.npy")))


@pytest.mark.slow
def test_a_pair_of_arrays_from_fit_to_transform(run, tmp_path):
    X, y = embeddings(120)
    arrays = {"X": X, "y": y, "half": X[:60], "first": y[:60], "rest": X[60:], "z": y[60:]}
    for name, array in arrays.items():
        save_npy(tmp_path / f"{name}.npy", array)
    pq.write_table(table_of(X, y), tmp_path / "a.parquet")
    expected = narrows.SRDA().fit(X, y).transform(X)
    for line in (
        "fit half.npy --label first.npy --method srda -o m.narrows",
        "update m.narrows rest.npy --label z.npy -o m.narrows",
        "transform m.narrows X.npy --label y.npy -o r.npz",
        # models of vectors and of arrays read each other's files
        "transform m.narrows a.parquet --vector embedding -o r.npz",
        "fit a.parquet --vector embedding --method srda -o v.narrows",
        "transform v.narrows X.npy -o r.npz",
        "compare X.npy --label y.npy --methods oc --dims 1",
    ):
        assert run(line)[0] == 0
        if "transform" in line:
            with np.load("r.npz") as r:
                np.testing.assert_allclose(r["X"], expected, atol=1e-4)
                assert "--label" not in line or r["y"].tolist() == y.tolist()
    assert source_of(narrows.load("m.narrows")) is None  # not the labels of these samples
    assert source_of(narrows.load("v.narrows")) == Source(vector="embedding")
    for command, message in (
        ("fit X.npy --method srda -o n.narrows", "got none"),
        ("fit X.npy --label class --method oc -o n", "got 'class'"),
        ("fit X.npy --label q.npy --method oc -o n", "no such file: q.npy"),
        ("fit half.npy rest.npy --label y.npy --method oc -o n", "one file of samples"),
        ("transform m.narrows X.npy -o r.npz --vector v", ".npy does not support"),
    ):
        status, _, err = run(command)
        assert (status in (1, 2), message in err) == (True, True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dense_samples_are_written(run, tmp_path, dtype):
    X, y = embeddings(120, dtype=dtype)
    pq.write_table(table_of(X, y), tmp_path / "a.parquet")
    status, _, err = run("convert a.parquet a.npy --vector embedding --chunk-rows 50")
    assert (status, err.count("left out")) == (0, 1)  # the labels
    written = np.load("a.npy")
    assert written.dtype == dtype
    assert written.flags.c_contiguous
    np.testing.assert_array_equal(written, X)
    (tmp_path / "a.svm").write_text("1 1:2 3:4\n0 2:1\n")
    assert run("convert a.svm s.npy --one-based --chunk-rows 1")[0] == 0
    assert np.load("s.npy").tolist() == [[2, 0, 4], [0, 1, 0]]
    (tmp_path / "b.svm").write_text("1 1:2\n0 2:1\n")
    status, _, err = run("convert b.svm s.npy --one-based --chunk-rows 1")
    assert (status, "expected 1 columns" in err) == (2, True)


@pytest.mark.slow
def test_vectors_and_arrays_on_dask(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    from narrows.engines.dask import fit, transform

    monkeypatch.chdir(tmp_path)
    X, y = embeddings(120)
    save_npy("X.npy", X), save_npy("y.npy", y)
    pq.write_table(table_of(X, y), "a.parquet")
    frame = pd.DataFrame({"embedding": list(X), "label": y})
    vector, expected = {"vector": "embedding"}, narrows.OC().fit(X, y)
    with distributed.Client(processes=False, dashboard_address=None, n_workers=1) as client:
        for data, options in (
            (["a.parquet"], vector), ([frame], vector), (["X.npy"], {"label": "y.npy"})
        ):  # fmt: skip
            model = fit(narrows.OC(), data, client, **options)
            np.testing.assert_allclose(model.components_, expected.components_)
            found = transform(model, data).compute()
            np.testing.assert_allclose(found, model.transform(X))
        with pytest.raises(ParameterError, match="one file of samples"):
            fit(narrows.OC(), ["X.npy", "X.npy"], client, label="y.npy")
