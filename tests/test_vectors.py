"""Samples in a column of vectors of Parquet files and tables, and in `.npy` files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import narrows
from narrows.command.cli import main
from narrows.io.formats import parquet
from narrows.read import Source, iter_chunks, source_of
from narrows.solve.errors import DataError, ParameterError

TYPES = {"float16": np.float32, "float32": np.float32, "float64": np.float64}


def embeddings(n=50, d=6, dtype=np.float32, seed=0):
    """Samples of three classes, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d)) + 2 * np.eye(3, d)[y]
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


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def called(command):
        status = main(command.split())
        return status, *capsys.readouterr()

    return called


# -- columns of vectors --------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_rows", [7, 1000])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", ["list", "large", "fixed"])
def test_vectors_are_read_from_files_and_tables(tmp_path, kind, dtype, chunk_rows):
    X, y = embeddings(dtype=dtype)
    table = table_of(X, y, kind)
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=20)
    cut = pa.concat_tables([table.slice(0, 13), table.slice(13)])
    for inputs in (path, table, cut):
        parts, labels = gathered(inputs, vector="embedding", chunk_rows=chunk_rows)
        assert [len(part) for part in parts[:-1]] == [chunk_rows] * (len(parts) - 1)
        found = np.vstack(parts)
        assert found.dtype == TYPES[dtype]
        np.testing.assert_array_equal(found, X)
        assert labels.tolist() == y.tolist()


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


@pytest.mark.parametrize("kind", ["list", "large", "fixed"])
def test_vectors_are_not_copied(kind):
    X, y = embeddings()
    table = table_of(X, y, kind)
    ((found, _),) = iter_chunks(table.slice(5, 20), vector="embedding")
    at = table.column("embedding").chunk(0).values.buffers()[1]
    start = found.__array_interface__["data"][0]
    assert at.address <= start < at.address + at.size
    np.testing.assert_array_equal(found, X[5:25])
    narrows.OC().partial_fit(found, y[5:25])  # which cannot be written to


def test_wide_vectors_come_in_smaller_chunks(tmp_path, monkeypatch):
    X, y = embeddings()
    monkeypatch.setattr(parquet, "_CELLS", 60)
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
    (nulls(FIXED), {}, r":2: column 'v': expected a vector, got a null"),
    (nulls(LIST), {}, r":2: column 'v': expected a vector, got a null"),
    (inner(FIXED), {}, r":3: column 'v': expected vectors without nulls, got a null"),
    (inner(pa.large_list(pa.float32())), {}, r":3: column 'v': expected vectors without nulls"),
    (
        pa.array([[1.0, 2.0], [1.0, 2.0], [1.0]], LIST), {},
        r":3: column 'v': expected vectors of 2 numbers, got 1",
    ),
    (inner(FIXED)[:2], {"width": 3}, r":1: column 'v': expected vectors of 3 numbers, got 2"),
    (pa.array([[], []], LIST), {}, r":1: column 'v': expected vectors of several numbers, got 0"),
    (pa.array([[1], [2]]), {}, r": column 'v': expected lists of floats, got list<"),
    (pa.array([1.0, 2.0]), {}, r": column 'v': expected lists of floats, got double"),
    (pa.array([[1.0, np.nan]], LIST), {}, r":1: expected finite values, got NaN or infinity"),
    (pa.array([[1.0]], LIST), {"vector": "w"}, r": expected a column 'w', got the columns v"),
]  # fmt: skip


@pytest.mark.parametrize(("array", "options", "message"), WRONG)
def test_what_is_wrong_with_vectors_is_named(tmp_path, array, options, message):
    table = pa.table({"v": array})
    options = {"vector": "v", **options}
    with pytest.raises(DataError, match=message):
        list(iter_chunks(table, chunk_rows=2, **options))
    with pytest.raises(DataError, match=message):
        list(iter_chunks(table, **options))
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet" + message):
        list(iter_chunks(tmp_path / "a.parquet", **options))


def test_a_column_of_vectors_has_to_be_named(tmp_path):
    X, y = embeddings()
    for kind in ("list", "fixed"):
        with pytest.raises(DataError, match=r"Set vector \(--vector\) to 'embedding'"):
            list(iter_chunks(table_of(X, y, kind)))
    with pytest.raises(ParameterError, match=r"vector \(--vector\): expected one of them, got bo"):
        list(iter_chunks(table_of(X, y), text="id", vector="embedding"))


def test_a_model_of_vectors_from_fit_to_transform(run, tmp_path):
    X, y = embeddings(120)
    pq.write_table(table_of(X, y), tmp_path / "a.parquet", row_group_size=50)
    for method in ("srda", "ocfs --n-features 2", "onlinesrda"):
        fit = f"fit a.parquet --vector embedding --method {method} -o m.narrows"
        status, out, err = run(fit)
        assert status == 0, err
        assert "120 rows, 3 classes, 6 columns" in out
    assert run(fit.replace("onlinesrda", "srda"))[0] == 0
    model = narrows.load("m.narrows")
    np.testing.assert_allclose(model.components_, narrows.SRDA().fit(X, y).components_, atol=1e-5)
    assert source_of(model) == Source(vector="embedding")
    assert model.get_feature_names_out().tolist() == ["srda0", "srda1"]
    assert narrows.OCFS(n_features=2).fit(X, y).get_feature_names_out()[0].startswith("x")
    assert run("info m.narrows")[0] == 0
    assert run("transform m.narrows a.parquet -o r.npz")[0] == 0
    assert run("update m.narrows a.parquet -o u.narrows")[0] == 0
    assert narrows.load("u.narrows").n_samples_seen_ == 240
    assert run("compare a.parquet --vector embedding --methods oc --dims 1")[0] == 0
    assert run("convert a.parquet a.csv --vector embedding")[0] == 0
    assert run("transform m.narrows a.csv -o c.npz")[0] == 0
    # another file, whose column has another name
    other = table_of(X, y).rename_columns(["id", "vector", "label"])
    pq.write_table(other, tmp_path / "b.parquet")
    status, _, err = run("transform m.narrows b.parquet -o o.npz")
    assert status == 1
    assert "expected a column 'embedding', got the columns id, vector, label. Set vector" in err
    assert run("transform m.narrows b.parquet --vector vector -o o.npz")[0] == 0
    with np.load("r.npz") as r, np.load("o.npz") as o, np.load("c.npz") as c:
        np.testing.assert_array_equal(r["X"], o["X"])
        np.testing.assert_allclose(r["X"], c["X"], rtol=1e-5)
        assert r["X"].dtype == np.float32
    pq.write_table(table_of(X[:, :4].copy(), y), tmp_path / "narrow.parquet")
    status, _, err = run("transform m.narrows narrow.parquet -o o.npz")
    assert status == 1
    assert "expected vectors of 6 numbers, got 4" in err
    status, _, err = run("transform m.narrows a.parquet --text id -o o.npz")
    assert status == 2
    assert "a.parquet: expected numbers, as m.narrows has, got texts" in err


def test_vectors_on_dask(tmp_path):
    pytest.importorskip("distributed")
    from distributed import Client

    from narrows.engines.dask import fit, transform

    X, y = embeddings(120)
    pq.write_table(table_of(X, y), tmp_path / "a.parquet")
    path = str(tmp_path / "a.parquet")
    frame = pd.DataFrame({"embedding": list(X), "label": y})
    with Client(processes=False, dashboard_address=None, n_workers=1) as client:
        for data in ([path], [frame]):
            model = fit(narrows.OC(), data, client, vector="embedding")
            np.testing.assert_allclose(model.components_, narrows.OC().fit(X, y).components_)
            assert source_of(model).vector == "embedding"
            np.testing.assert_allclose(transform(model, data).compute(), model.transform(X))
