"""The same samples in files of every kind and compression, which other libraries wrote."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from scipy import sparse

from narrows.errors import DataError
from narrows.read import Dataset, iter_chunks
from tests.inside import Options

N = 50
NAMES = ["a", "b", "c"]


def samples():
    """Numbers that need all their digits, none of them 0, and labels that are integers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) * 10.0 ** rng.integers(-9, 9, size=(N, 3))
    return X, np.arange(N) % 3


def texts():
    return [f'sea "{k}", ü' for k in range(N)], [f"k {k % 3}" for k in range(N)]


def table(of_texts):
    X, y = texts() if of_texts else samples()
    columns = {"text": X} if of_texts else dict(zip(NAMES, X.T, strict=True))
    whole = pa.table({**columns, "label": y})
    return pa.concat_tables([whole.slice(start, 10) for start in range(0, N, 10)])


COMPRESSIONS = {
    "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}  # fmt: skip


def of_text(path, of_texts, compress=bytes):
    X, y = texts() if of_texts else samples()
    kind = path.name.split(".")[1]
    if kind == "jsonl":
        rows = (json.dumps({"text": x, "label": label}) for x, label in zip(X, y, strict=True))
        content = "".join(f"{row}\n" for row in rows)
    elif kind in ("csv", "tsv"):
        content = table(of_texts).to_pandas().to_csv(index=False, sep=",\t"[kind == "tsv"])
    else:
        rows = (" ".join(f"{k}:{x!r}" for k, x in enumerate(row, 1)) for row in X.tolist())
        content = "".join(f"{label} {row}\n" for label, row in zip(y, rows, strict=True))
    path.write_bytes(compress(content.encode()))


def write_table(whole, path, stream=False, size=7, **options):
    """Write a table to a file of the kind of its name, in several pieces."""
    if path.suffix == ".parquet":
        pq.write_table(whole, path, row_group_size=size, **options)
    elif path.suffix == ".orc":
        orc.write_table(whole, str(path), **options)
    else:
        make = pa.ipc.new_stream if stream else pa.ipc.new_file
        with make(str(path), whole.schema, options=pa.ipc.IpcWriteOptions(**options)) as file:
            file.write_table(whole, size)


def of_table(path, of_texts, **options):
    write_table(table(of_texts), path, **options)


def of_npz(path, of_texts, save=np.savez):
    X, y = samples()
    save(path, X=X, y=y)


def of_npy(path, of_texts, order="C"):
    X, y = samples()
    np.save(path, np.array(X, order=order))
    np.save(path.with_name("y.npy"), y)


def of_h5ad(path, of_texts):
    anndata = pytest.importorskip("anndata", reason="the extra anndata is not installed")
    X, y = samples()
    cells, genes = (pd.Index(list(map(str, names)), dtype=object) for names in (range(N), NAMES))
    obs, var = pd.DataFrame({"label": y}, index=cells), pd.DataFrame(index=genes)
    anndata.AnnData(X, obs, var).write_h5ad(path)


# a name for the test, the name of the file, what writes it, and whether it holds texts, too
FILES = [
    *(
        (f"a.{kind}{suffix}", partial(of_text, compress=compress), kind != "svm")
        for kind in ("csv", "tsv", "svm", "jsonl")
        for suffix, compress in COMPRESSIONS.items()
    ),
    ("a.svmlight", of_text, False),
    ("a.libsvm", of_text, False),
    *(
        ("a.parquet", partial(of_table, compression=codec), True)
        for codec in ("none", "snappy", "gzip", "zstd", "lz4", "brotli")
    ),
    *(
        ("a.arrow", partial(of_table, stream=stream, compression=codec), True)
        for stream in (False, True)
        for codec in (None, "lz4", "zstd")
    ),
    ("a.arrow", partial(of_table, size=1000), True),
    ("a.feather", lambda path, of_texts: feather.write_feather(table(of_texts), path), True),
    ("a.feather", lambda path, of_texts: pl.from_arrow(table(of_texts)).write_ipc(path), True),
    *(
        ("a.orc", partial(of_table, compression=codec), True)
        for codec in ("uncompressed", "snappy", "zlib", "zstd", "lz4")
    ),
    ("a.npz", of_npz, False),
    ("a.npz", partial(of_npz, save=np.savez_compressed), False),
    ("a.npy", of_npy, False),
    ("a.npy", partial(of_npy, order="F"), False),
    ("a.h5ad", of_h5ad, False),
]  # fmt: skip
OF_NUMBERS = [(name, write) for name, write, _ in FILES if "jsonl" not in name]
OF_TEXTS = [(name, write) for name, write, too in FILES if too]


def gathered(path, **options):
    if path.suffix == ".npy":
        options["label"] = str(path.with_name("y.npy"))
    elif path.suffix == ".h5ad":
        options["label"] = "label"
    rows, labels = zip(*iter_chunks(path, **options), strict=True)
    if isinstance(rows[0], list):
        return [x for part in rows for x in part], np.concatenate(labels).tolist()
    rows = [part.toarray() if sparse.issparse(part) else part for part in rows]
    return np.concatenate(rows), np.concatenate(labels)


@pytest.mark.parametrize("chunk_rows", [9, 1000])
@pytest.mark.parametrize(("name", "write"), OF_NUMBERS)
def test_numbers_are_the_same_in_every_kind(tmp_path, name, write, chunk_rows):
    write(tmp_path / name, False)
    found, labels = gathered(tmp_path / name, chunk_rows=chunk_rows)
    X, y = samples()
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)
    assert labels.dtype == y.dtype


@pytest.mark.parametrize(("name", "write"), OF_TEXTS)
def test_texts_are_the_same_in_every_kind(tmp_path, name, write):
    write(tmp_path / name, True)
    assert gathered(tmp_path / name, text="text", chunk_rows=9) == texts()


TYPED = ["parquet", "arrow", "orc", "arrow stream"]
X, Y = samples()


def write(kind, folder, columns=None):
    """Write columns, or the samples and their labels, to a file of a kind."""
    path = folder / f"t.{kind.split()[0]}"
    stream = {"stream": True} if "stream" in kind else {}
    columns = columns or dict(zip(NAMES, X.T, strict=True)) | {"label": Y}
    write_table(pa.table(columns), path, **stream)
    return path


@pytest.mark.parametrize("kind", TYPED)
def test_what_is_wrong_is_named_with_its_row(tmp_path, kind):
    column = [np.nan if row == 40 else x for row, x in enumerate(X[:, 1])]
    path = write(kind, tmp_path, {"a": column, "label": Y})
    for more, word in (({}, ":41: .*NaN"), ({"vector": "v"}, "'v'"), ({"text": "d"}, "'d'")):
        with pytest.raises(DataError, match=f"{path}.*{word}"):
            gathered(path, chunk_rows=20, **more)
    found = [*Dataset([str(path)], Options(on_error="skip", chunk_rows=20))]
    assert sum(len(chunk.lines) for chunk in found) == N - 1
    labels = [None if row == 30 else int(k) for row, k in enumerate(Y)]
    path = write(kind, tmp_path, {"a": X[:, 0], "label": labels})
    with pytest.raises(DataError, match=f"{path}:31: column 'label'"):
        gathered(path, chunk_rows=20)


@pytest.mark.parametrize("kind", TYPED)
def test_a_resumed_pass_skips_the_rows_before(tmp_path, kind):
    path = write(kind, tmp_path)
    first, *_ = Dataset([str(path)], Options(chunk_rows=9))
    rest = Dataset([str(path)], Options(chunk_rows=9))
    rest.resume_from(first.at)
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in rest]), X[9:])
    assert rest.position / rest.size == pytest.approx(1, abs=0.5 if "stream" in kind else 1e-9)


@pytest.mark.parametrize("kind", TYPED)
def test_a_part_of_a_file_is_damaged(tmp_path, kind):
    path = write(kind, tmp_path)
    whole = path.read_bytes()
    for size in (0, 3, 200, len(whole) - 300, len(whole) - 8, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=f"{path}: expected"):
            gathered(path)


@pytest.mark.parametrize("kind", ["arrow", "feather", "parquet"])
def test_files_of_sparse_samples_keep_their_width(run, kind):
    svm = "1 1:1\n0 9:2\n" + "1 2:1\n" * 20
    assert run(f"convert a.svm b.{kind} --chunk-rows 1 --width 12", a__svm=svm)[0] == 0
    for on_error in (None, "skip"):
        chunks = Dataset([f"b.{kind}"], Options(chunk_rows=1, on_error=on_error))
        assert {chunk.X.shape[1] for chunk in chunks} == {12}


def test_orc_files_refuse_what_they_cannot_hold(run, tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=np.array([2**63, 1], dtype=np.uint64))
    for name, word in (("a.svm", "dense samples"), ("a.npz", "types of num")):
        status, _, err = run(f"convert {name} b.orc", a__svm="1 1:1\n0 9:2\n")
        assert (status, word in err) == (2, True)
        assert not (tmp_path / "b.orc").exists()


def test_offsets_of_an_arrow_file_are_checked(tmp_path):
    """Whose library reads beyond its memory where they are wrong."""
    path = tmp_path / "a.arrow"
    write_table(pa.table({"text": ["a" * 10, "b" * 10], "label": [1, 2]}), path)
    content, offsets = path.read_bytes(), np.array([0, 10, 20], np.int32).tobytes()
    assert content.count(offsets) == 1
    wrong = np.array([0, 1 << 30, 20], np.int32).tobytes()
    path.write_bytes(content.replace(offsets, wrong))
    with pytest.raises(DataError, match="expected an Arrow file, got another file, or a damaged"):
        gathered(path, text="text")
