"""Tables of polars, pandas and pyarrow, Parquet files that they wrote, and `.npy` files."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

import narrows
from narrows.errors import DataError, ParameterError
from narrows.read import iter_chunks
from tests.cases import labelled
from tests.inside import fit_in_parts, transform_in_parts
from tests.test_read import gathered

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

COLUMNS = [f"c{k}" for k in range(7)]
LISTS = ("indices", "values")


def data():
    X, y = labelled()
    return X, np.array([f"k {label}" for label in y])


def columns():
    return dict(zip(COLUMNS, data()[0].T, strict=True)) | {"class": data()[1]}


def lists():
    """The same as lists of indices and values, the last column all 0."""
    X, y = data()
    rows = [np.flatnonzero(row[:6]) for row in X]
    values = [row[k].tolist() for row, k in zip(X, rows, strict=True)]
    return {"indices": [k.tolist() for k in rows], "values": values, "label": y.tolist()}


def batches(table):
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=9))


def categories(table):
    at = table.schema.get_field_index("class")
    return table.set_column(at, "class", table.column("class").dictionary_encode())


DENSE = {
    "polars": lambda: pl.DataFrame(columns()),
    "polars categories": lambda: pl.DataFrame(columns()).cast({"class": pl.Categorical}),
    "pandas": lambda: pd.DataFrame(columns()),
    "pandas categories": lambda: pd.DataFrame(columns()).astype({"class": "category"}),
    "pandas, any index": lambda: pd.DataFrame(columns(), index=np.arange(60)[::-1] * 7 % 60),
    "pyarrow": lambda: pa.table(columns()),
    "pyarrow categories": lambda: categories(pa.table(columns())),
    "pyarrow reader": lambda: batches(pa.table(columns())),
}
SPARSE = {
    "polars lists": lambda: pl.DataFrame(lists()),
    "pandas lists": lambda: pd.DataFrame(lists()),
    "pyarrow lists": lambda: pa.table(lists()),
    "reader of lists": lambda: batches(pa.table(lists())),
}


@pytest.mark.parametrize("make", [*DENSE.values(), *SPARSE.values()], ids=[*DENSE, *SPARSE])
def test_tables_of_every_library_are_read(make):
    X, y = gathered(make(), chunk_rows=7)
    np.testing.assert_array_equal(X, data()[0][:, : X.shape[1]])
    assert X.shape[1] >= 6
    assert y.tolist() == data()[1].tolist()
    assert [X.shape[0] for X, _ in iter_chunks(make(), chunk_rows=7)] == [7] * 8 + [4]


@pytest.mark.parametrize("of", [pa.list_, pa.large_list])
@pytest.mark.parametrize("values", [pa.float16(), pa.float32(), pa.float64(), pa.int8()])
@pytest.mark.parametrize("indices", [pa.int8(), pa.uint64()])
def test_lists_of_any_type(of, values, indices):
    indices = pa.array([[2, 0], [], [1, 1]], of(indices))  # unsorted, and twice the same
    values = pa.array([[1, 1], [], [1, 0]], of(values))
    [(X, _)] = iter_chunks(pa.table({"indices": indices, "values": values, "label": [5, 6, 5]}))
    assert X.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert X.dtype == (np.float32 if values.type.value_type == pa.float32() else np.float64)
    X.sum_duplicates()  # which writes into its arrays
    assert X.nnz == 3


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pa.array([3, -4], pa.int8()), [3, -4]),
        (pa.array([2**53 + 1, 2**63 - 1]), [2**53 + 1, 2**63 - 1]),
        (pa.array([1, 2**64 - 1], pa.uint64()).dictionary_encode(), [1, 2**64 - 1]),
        (pa.array([2.0, -1.0], pa.float32()), [2, -1]),
        (pa.array([True, False]), [True, False]),
        (pa.array(["a", "\u00fc "], pa.string_view()), ["a", "\u00fc "]),
        (pa.array([[0, 2, 2], []]), [[1, 0, 1], [0, 0, 0]]),
        (pa.array([[], []], pa.large_list(pa.int8())), [[], []]),
        (pa.array([[2], [0]], pa.list_(pa.uint64())), [[0, 0, 1], [1, 0, 0]]),
        (pa.DictionaryArray.from_arrays([1, 1], pa.array([None, "a"])), ["a", "a"]),
    ],
)
def test_labels(labels, expected):
    [(_, y)] = iter_chunks(pa.table({"a": [1.0, 2.0], "label": labels}))
    assert (y.toarray() if sparse.issparse(y) else y).tolist() == expected


def nan_that_signals(kind):
    """NaN of the kind that processors report, as any file may hold it."""
    bits = {"f2": 0x7C01, "f4": 0x7F800001, "f8": 0x7FF0000000000001}[kind]
    return np.array([0, bits], f"u{kind[1]}").view(kind)


def two(**columns):
    return pa.table({"a": [1.0, 2.0], "label": [0, 1]} | columns)


def pairs(indices, values=((1.0,), (1.0,))):
    return two(indices=indices, values=values)


SIGNALS = ("f2", "f4", "f8")
WRONG = [  # and words of the message
    (two(a=[1.0, None]), ":2: column 'a'.* nulls"),
    (two(label=[1, None]), ":2: column 'label'.* nulls"),
    (two(label=pa.array(["a", None]).dictionary_encode()), ":2: column 'label'.* nulls"),
    (two(a=[1.0, np.nan]), ":2: .*NaN"),
    *((two(a=nan_that_signals(kind)), ":2: .*NaN") for kind in SIGNALS),
    *((two(label=nan_that_signals(kind)), ":2: .*label, got nan") for kind in SIGNALS),
    (two(a=[{"b\n\x1b[1m": 1}] * 2), r"column 'a'.*struct<b\\n\\x1b\[1m"),
    (two(label=[0.5, 1.0]), ":1: .*integer label .*0.5"),
    (two(label=[1.0, -1e300]), ":2: .*integer label"),
    (two(label=["a", "b\0"]), ":2: .*NUL"),
    (two(label=pa.array([b"a", b"\xff"]).view(pa.string())), ":2: column 'label'.*UTF-8"),
    (two(label=[[0], [-1]]), ":2: column 'label'.*lists of integers"),
    (two(label=pa.array([[0], [2**64 - 1]], pa.list_(pa.uint64()))), ":2: column 'label'.*lists"),
    (two(**{"class": [1, 2]}), "'class' and 'label'"),
    (pa.table({"label": [1, 2]}), "features"),
    (pairs([[0], [1]], [[1.0], []]), ":2: column 'values'.*as many"),
    (pairs([[0], [10**12]]), ":2: column 'indices'.* got 10+"),
    (pairs([[0], None], [[1.0], []]), ":2: column 'indices'.* nulls"),
    (pairs([[0], [1]], [[1.0], [None]]), "column 'values'.* without nulls"),
    (pairs([[0], [1]], [[1.0], [np.inf]]), ":2: .*NaN"),
    (pairs([[0], [1]], pa.ListArray.from_arrays([0, 1, 2], nan_that_signals("f4"))), ":2: .*NaN"),
    (pd.DataFrame({"a": [1, "b"]}), "Arrow can read"),
    (pl.Series([1.0]), "Arrow can read"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("table", "message"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_in_a_table_is_named(table, message):
    with pytest.raises(DataError, match=message) as caught:
        list(iter_chunks(table))
    assert "\n" not in str(caught.value)


def of_every_type():
    """Columns of two rows, of every type that Arrow has."""
    numbers, texts = pa.array([1, 0]), pa.array(["ab", "cd"])
    times = [pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us"), pa.duration("ms")]
    times += [pa.timestamp("ns"), pa.timestamp("s", "UTC")]
    flat = [pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.decimal128(25, 2)]
    flat += [pa.decimal256(50, 2), pa.bool_(), pa.null()]
    bytes_ = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()]
    bytes_ += [pa.binary(2), pa.binary_view()]
    columns = [pa.nulls(2, kind) for kind in [*times, *flat, *bytes_]]
    columns += [pa.array([1, 0], kind) for kind in times]
    columns += [pa.array(np.array([1, 0], "f2")), pa.array(np.array([True, False]))]
    columns += [numbers.cast(kind) for kind in flat[:2] + flat[3:6]]
    columns += [pa.array([b"ab", b"cd"], kind) for kind in bytes_]
    columns += [column.dictionary_encode() for column in columns[-12:-2]]
    for make in (pa.list_, pa.large_list, pa.list_view, lambda kind: pa.list_(kind, 1)):
        columns += [pa.array([[1], None], make(kind)) for kind in times]
        columns += [pa.array([[1], [0]], make(kind)) for kind in (*times, *flat[:2], flat[3])]
        columns += [pa.array([["a"], ["b"]], make(pa.string()))]
        columns += [pa.array([[None], [None]], make(kind)) for kind in (flat[-1], flat[4])]
        columns += [pa.array([[[1]], [[0]]], make(pa.list_(pa.int8())))]
    columns += [pa.array([[("a", 1)], []], pa.map_(texts.type, pa.int8()))]
    columns += [pa.array([{"a": 1}, {"a": 0}])]
    union = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [numbers])
    ends = pa.RunEndEncodedArray.from_arrays([1, 2], numbers)
    for column in (union, ends, texts.dictionary_encode(), numbers.dictionary_encode()):
        columns += [column, pa.ListArray.from_arrays([0, 1, 2], column)]
    return columns


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("role", ["feature", "label", "indices", "values"])
def test_a_column_of_any_type_is_read_or_named(tmp_path, role):
    read, told = 0, []
    for column in of_every_type():
        beside = {"indices": [[0], [1]], "values": [[1.0], [2.0]]} if role in LISTS else {}
        table = pa.table({"label": [0, 1], "a": [1.0, 2.0]} | beside | {role: column})
        sources = [table]
        try:
            pq.write_table(table, tmp_path / "a.parquet")
            sources.append(tmp_path / "a.parquet")
        except pa.ArrowException:
            pass  # no type of Parquet
        for source in sources:
            try:
                read += sum(X.shape[0] == y.shape[0] for X, y in iter_chunks(source))
            except DataError as error:
                told.append(str(error))
    assert read > 4
    assert [error for error in told if repr(role) not in error or "\n" in error] == []


@pytest.mark.parametrize("width", [b"many", b"-5", b"99999999999"])
def test_a_width_that_is_none(tmp_path, width):
    with pq.ParquetWriter(tmp_path / "a.parquet", two().schema) as file:
        file.write_table(two())
        file.add_key_value_metadata({"narrows.width": width})
    with pytest.raises(DataError, match="expected a number of features, got"):
        list(iter_chunks(tmp_path / "a.parquet"))


def test_a_page_with_another_checksum_is_damaged(tmp_path):
    table = pa.table(columns())
    options = {"write_page_checksum": True, "compression": "none", "use_dictionary": False}
    pq.write_table(table, tmp_path / "a.parquet", **options)
    whole = (tmp_path / "a.parquet").read_bytes()
    at = whole.index(np.array([data()[0][5, 2]]).tobytes()) + 2  # in the middle of a page
    (tmp_path / "b.parquet").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert not pq.read_table(tmp_path / "b.parquet").equals(table)  # only the checksum shows it
    with pytest.raises(DataError, match=r"b\.parquet: .*CRC"):
        gathered(tmp_path / "b.parquet")


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_estimators_take_tables(library):
    X, y = data()
    labels = {"polars": pl.Series, "pandas": pd.Series, "pyarrow": pa.array}[library](y)
    table = DENSE[library]()
    table = table.select(COLUMNS) if library == "pyarrow" else table[COLUMNS]
    expected = narrows.SRDA().fit(X, y).partial_fit(X, y)
    found = narrows.SRDA().fit(table, labels).partial_fit(table, labels)
    np.testing.assert_allclose(found.transform(table), expected.transform(X), atol=1e-12)
    if library != "pyarrow":
        assert found.feature_names_in_.tolist() == COLUMNS


def test_rows_that_a_damaged_file_does_not_give_are_missed(tmp_path, monkeypatch):
    pq.write_table(pa.table(columns()), tmp_path / "a.parquet", row_group_size=20)
    batches = pq.ParquetFile.iter_batches

    def some(file, size, row_groups, **more):
        return [] if row_groups == [1] else batches(file, size, row_groups=row_groups, **more)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", some)
    with pytest.raises(DataError, match=r"a\.parquet: expected 60 rows, got 40"):
        list(iter_chunks(tmp_path / "a.parquet", chunk_rows=20))


# -- samples in a column of vectors of Parquet files and tables, and in `.npy` files --

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


def parts_of(inputs, **options):
    chunks = list(iter_chunks(inputs, **options))
    return [chunk[0] for chunk in chunks], np.concatenate([chunk[1] for chunk in chunks])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", ["list", "large", "fixed"])
def test_vectors_are_read_from_files_and_tables(tmp_path, kind, dtype):
    X, y = embeddings(dtype=dtype)
    table = table_of(X, y, kind)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=20)
    cut = pa.concat_tables([table.slice(0, 13), table.slice(13)])
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    of_vectors = [
        (inputs, {"vector": "embedding"}) for inputs in (tmp_path / "a.parquet", table, cut)
    ]
    for inputs, options in (*of_vectors, (tmp_path / "X.npy", {"label": str(tmp_path / "y.npy")})):
        parts, labels = parts_of(inputs, chunk_rows=7, **options)
        assert [len(part) for part in parts] == [7] * 7 + [1]
        assert "label" in options or {part.dtype for part in parts} == {np.dtype(TYPES[dtype])}
        np.testing.assert_array_equal(np.vstack(parts), X)
        assert labels.tolist() == y.tolist()


def test_vectors_of_other_libraries():
    X, y = embeddings()
    fixed = pa.FixedSizeListArray.from_arrays(X.ravel(), 6)
    tensor = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), [6]), fixed)
    for frame in (
        pd.DataFrame({"label": y, "embedding": list(X)}),
        pl.DataFrame({"label": y, "embedding": X.tolist()}),
        pl.DataFrame({"label": y, "embedding": pl.Series(X, dtype=pl.Array(pl.Float32, 6))}),
        pa.table({"label": y, "embedding": tensor}),
    ):
        parts, labels = parts_of(frame, vector="embedding")
        np.testing.assert_allclose(np.vstack(parts), X)
        assert labels.tolist() == y.tolist()


FIXED, LIST = pa.list_(pa.float32(), 2), pa.list_(pa.float64())
WRONG_VECTORS = [
    (pa.array([[1.0, 2.0], None], FIXED), {}, ":2: column 'v'.* null"),
    (pa.array([[1.0, 2.0], None], LIST), {}, ":2: column 'v'.* null"),
    (pa.array([[1.0, 2.0], [None, 5.0]], FIXED), {}, ":2: column 'v'.* null"),
    (pa.array([[1, None]]), {}, ":1: column 'v'.* null"),
    (pa.array([[1.0, 2.0], [1.0, 2.0], [1.0]], LIST), {}, ":3: column 'v'.* 2 numbers, got 1"),
    (pa.array([[1.0, 2.0]], FIXED), {"width": 3}, ":1: column 'v'.* 3 numbers, got 2"),
    (pa.array([[], []], LIST), {}, ":1: column 'v'.* several numbers, got 0"),
    (pa.array([1.0, 2.0]), {}, ": column 'v'.* lists of numbers, got double"),
    (pa.array([[1.0, np.nan]], LIST), {}, ":1: .*NaN"),
    (pa.array([[1.0]], LIST), {"vector": "w"}, ": expected a column 'w'"),
]


@pytest.mark.parametrize(("array", "options", "message"), WRONG_VECTORS)
def test_what_is_wrong_with_vectors_is_named(tmp_path, array, options, message):
    table = pa.table({"v": array})
    pq.write_table(table, tmp_path / "a.parquet")
    for inputs in (table, tmp_path / "a.parquet"):
        with pytest.raises(DataError, match=message):
            list(iter_chunks(inputs, chunk_rows=2, **{"vector": "v", **options}))


def test_files_of_vectors_of_spark_are_read(tmp_path):
    """As Spark writes those of `pyspark.ml.linalg`: a struct for each vector, dense or sparse."""
    names = {"type": pa.int8(), "size": pa.int32(), "indices": pa.list_(pa.int32())}
    kind = pa.struct({**names, "values": pa.list_(pa.float64())})
    dense = {"type": 1, "values": [1.0, 0.0]}
    other = {"type": 0, "size": 2, "indices": [1], "values": [3.0]}
    table = pa.table({"v": pa.array([dense, other], kind), "t": ["x", "y"], "label": ["a", "b"]})
    pq.write_table(table, tmp_path / "a.parquet")
    [(found, _)] = iter_chunks(tmp_path / "a.parquet", vector="v")
    assert found.toarray().tolist() == [[1, 0], [0, 3]]
    [(found, _)] = iter_chunks(tmp_path / "a.parquet", text="t")  # which leaves the vectors alone
    assert found == ["x", "y"]


def damaged(array, old=b"", new=b""):
    """Return the bytes of a file with a change."""
    file = io.BytesIO()
    np.save(file, array)
    assert old in file.getvalue()
    return file.getvalue().replace(old, new)


EYE = np.eye(3)
NO_ARRAY = r"expected a \.npy array"
WRONG_ARRAYS = [
    (b"", None, NO_ARRAY),
    (b"a,b\n1,2\n", None, NO_ARRAY),
    (damaged(EYE)[:100], None, NO_ARRAY),
    (damaged(EYE, b"NUMPY\x01", b"NUMPY\x09"), None, NO_ARRAY),
    (damaged(EYE)[:-1], None, NO_ARRAY),
    (damaged(EYE, b"(3, 3)", b"(-3,3)"), None, "negative dimensions"),
    (damaged(EYE, b"(3, 3)", b"(9**9)"), None, NO_ARRAY),
    (damaged(EYE[0]), None, r"\(n_samples, n_features\), got \(3,\)"),
    (damaged(np.empty((3, 0))), None, "samples of shape"),
    (damaged(np.empty((0, 3))), None, "at least one row"),
    (damaged(EYE * 1j), None, "numbers, got complex128"),
    (damaged(np.array([[1, 2], [np.inf, 1]])), None, r"X\.npy:2: .*finite"),
    (damaged(EYE), damaged(np.array(list("abc"), "S")), "text or integers"),
    (damaged(EYE), damaged(np.arange(4)), r"y\.npy: expected 3 labels"),
    (damaged(EYE), damaged(EYE), r"y\.npy: expected 3 labels"),
    (damaged(EYE), damaged(np.arange(3) / 2), r"y\.npy:2: expected an integer label"),
    (damaged(EYE), b"label\n1\n", NO_ARRAY),
]


@pytest.mark.parametrize(("samples", "labels", "message"), WRONG_ARRAYS)
def test_what_is_wrong_with_an_array_is_named(tmp_path, samples, labels, message):
    (tmp_path / "X.npy").write_bytes(samples)
    if labels is not None:
        (tmp_path / "y.npy").write_bytes(labels)
    with pytest.raises(DataError, match=message):
        list(iter_chunks(tmp_path / "X.npy", label=labels and str(tmp_path / "y.npy")))


def test_models_of_vectors_and_of_arrays_read_the_files_of_each_other(run, tmp_path):
    X, y = embeddings()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    pq.write_table(table_of(X, y), tmp_path / "a.parquet")
    for line in (
        "fit X.npy --label y.npy --method oc -o m.narrows",
        "transform m.narrows a.parquet --vector embedding -o r.npz",
        "fit a.parquet --vector embedding --method oc -o v.narrows",
        "transform v.narrows X.npy -o r.npz",
    ):
        assert run(line)[0] == 0
        if "transform" in line:
            with np.load("r.npz") as r:
                np.testing.assert_allclose(r["X"], narrows.OC().fit_transform(X, y), atol=1e-5)
    files = [str(tmp_path / "X.npy")]
    spread = fit_in_parts(narrows.OC(), files, label=str(tmp_path / "y.npy"))
    np.testing.assert_allclose(spread.transform(X), narrows.OC().fit_transform(X, y), atol=1e-5)
    assert len(transform_in_parts(spread, files, tmp_path / "out")) == 1
    with pytest.raises(ParameterError, match="one file of samples"):
        fit_in_parts(narrows.OC(), files * 2, label=str(tmp_path / "y.npy"))
    for options, message in (
        ("X.npy", "got none"),
        ("X.npy --label q.npy", "no such file: q.npy"),
        ("X.npy --label class", "got 'class'"),
        ("X.npy X.npy --label y.npy", "one file of samples"),
        ("X.npy --vector v", ".npy does not support"),
    ):
        status, _, err = run(f"fit {options} --method oc -o n.narrows")
        assert (status in (1, 2), message in err) == (True, True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dense_samples_are_written(run, tmp_path, dtype):
    X, y = embeddings(120, dtype=dtype)
    pq.write_table(table_of(X, y), tmp_path / "a.parquet")
    status, _, err = run("convert a.parquet a.npy --vector embedding --chunk-rows 50")
    assert (status, err.count("left out")) == (0, 1)  # the labels
    written = np.load("a.npy")
    assert written.dtype == dtype
    np.testing.assert_array_equal(written, X)
    status, _, err = run("convert b.svm s.npy --chunk-rows 1", b__svm="1 1:2\n0 2:1\n")
    assert (status, "expected 1 columns" in err) == (2, True)
