"""Samples in files of every kind and compression: the same in all, and damage is named."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import math
import re
from collections import Counter
from functools import partial
from itertools import pairwise

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather
from scipy import sparse

from narrows.errors import DataError
from narrows.read import Dataset, iter_chunks
from tests.conftest import EVERYTHING
from tests.inside import Options, writer

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


# a name for the test, the name of the file, what writes it, and whether it holds texts, too
FILES = [
    *(
        (f"a.{kind}{suffix}", partial(of_text, compress=compress), kind != "svm")
        for kind in ("csv", "tsv", "svm", "jsonl")
        for suffix, compress in COMPRESSIONS.items()
    ),
    ("a.svmlight", of_text, False),
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
]  # fmt: skip
OF_NUMBERS = [(name, write) for name, write, _ in FILES if "jsonl" not in name]
OF_TEXTS = [(name, write) for name, write, too in FILES if too]


def gathered(path, **options):
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
    labels = [None if row == 30 else int(k) for row, k in enumerate(Y)]
    number = [np.nan if row == 40 else x for row, x in enumerate(X[:, 1])]
    for columns, more, word in (
        ({"a": number, "label": Y}, {}, ":41: .*NaN"),
        ({"a": X[:, 0], "label": labels}, {}, ":31: column 'label'"),
        ({"a": X[:, 0], "label": Y}, {"vector": "v"}, ": .*'v'"),
    ):
        path = write(kind, tmp_path, columns)
        with pytest.raises(DataError, match=f"{path}{word}"):
            gathered(path, chunk_rows=20, **more)
    found = [
        *Dataset([str(write(kind, tmp_path, {"a": number, "label": Y}))], Options(on_error="skip"))
    ]
    assert sum(len(chunk.lines) for chunk in found) == N - 1


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


# -- damaged files: what a reference reads of them, or an error that names the file


FEW = np.array([[1.5, 0, -2, 0], [0, 0, 0, 0], [1e-300, 3, 0, 0.1], [0, 7, 1e20, 0], [2, 0, 0, 5]])
CODES = np.array([1, 0, 1, -3, 12])
WORDS = np.array(["a b", 'say "x"', "ü,ß", "a b", "ü,ß"])
STRINGS = ["the sea", 'a "ship"\n', "", "\u2028 tree \U0001f333", "{}"]
ODD = [
    b"", b'"', b"'", b",", b":", b"\n", b"\r", b"\r\n", b"\0", b"\t", b"#", b"_", b"-", b".", b"e9",
    b"nan", b"-inf", b"1e999", b"0x1", b"1_0", b"9" * 20, b"9" * 5000, b"\xff", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", b"\\ud800", b"\\u0000", b"{", b"}", b"[[", b"null", b"true", b"1.5", b"2.0",
]  # fmt: skip


DENSE, SPARSE = [(FEW, CODES), (FEW, WORDS)], [(sparse.csr_array(FEW), CODES)]
WRITTEN = {
    ".csv": DENSE, ".jsonl": [(STRINGS, CODES), (STRINGS, WORDS), (STRINGS, None)],
    ".npz": DENSE + SPARSE, ".npy": [(FEW, None)], ".parquet": DENSE + SPARSE,
    ".arrow": DENSE + SPARSE, ".orc": DENSE,
}  # fmt: skip


def contents(folder, suffix):
    """Files of a format in two pieces, as bytes."""
    path = folder / f"a{suffix}"
    for rows, labels in WRITTEN[suffix]:
        with writer(str(path), None, texts=suffix == ".jsonl") as out:
            for part in (slice(0, 2), slice(2, 5)):
                out.write(rows[part], None if labels is None else labels[part])
        yield path.read_bytes()


def as_csv(data):
    rows = [row for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")) if row]
    while len(rows) > 1 and rows[0][0].startswith("#") and len(rows[0]) != len(rows[1]):
        del rows[0]  # a comment above the header
    header, *rows = rows
    assert all(len(row) == len(header) for row in rows)
    assert len(set(header)) == len(header)
    [at] = [k for k, name in enumerate(header) if name in ("class", "label")] or [None]
    numbers = [[float(cell) for k, cell in enumerate(row) if k != at] for row in rows]
    if at is None:
        return numbers, None
    labels = [row[at] for row in rows]
    if not any(labels):
        return numbers, None
    whole = all(re.fullmatch("0|-?[1-9][0-9]{,18}", label) for label in labels)
    whole = whole and all(abs(int(label)) < 2**63 for label in labels)
    return numbers, [int(label) for label in labels] if whole else labels


def as_json(data):
    rows = [json.loads(line) for line in data.decode("utf-8-sig").split("\n") if line.strip()]
    labels = [row.get("label") for row in rows]
    texts = [row["text"] for row in rows]
    assert all(isinstance(text, str) for text in texts)
    return texts, labels if any(label is not None for label in labels) else None


def as_npz(data):
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        arrays = dict(archive)
    if "X" in arrays:
        rows = arrays["X"]
    else:
        parts = arrays["data"], arrays["indices"], arrays["indptr"]
        rows = sparse.csr_array(parts, shape=arrays["shape"]).toarray()
    return rows.tolist(), arrays["y"].tolist() if "y" in arrays else None


def as_npy(data):
    found = np.load(io.BytesIO(data), allow_pickle=False)
    assert found.ndim == 2
    return found.tolist(), None


def as_arrow(data):
    is_file = data.startswith(b"ARROW1")
    return as_rows((pa.ipc.open_file if is_file else pa.ipc.open_stream)(data).read_all())


def as_rows(table):
    table.validate(full=True)
    rows = table.to_pylist()
    names = [name for name in ("class", "label") if name in rows[0]]
    labels = [row.pop(names[0]) for row in rows] if names else None
    if "indices" in rows[0] and "values" in rows[0]:
        numbers = []
        for row in rows:
            numbers.append(Counter())
            for k, value in zip(row["indices"], row["values"], strict=True):
                numbers[-1][k] += float(value)
        return numbers, labels
    return [[float(value) for value in row.values()] for row in rows], labels


REFERENCES = {
    ".csv": as_csv, ".jsonl": as_json, ".npz": as_npz, ".npy": as_npy, ".arrow": as_arrow,
    ".parquet": lambda data: as_rows(pq.read_table(io.BytesIO(data))),
    ".orc": lambda data: as_rows(orc.read_table(io.BytesIO(data))),
}  # fmt: skip


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    return folder, {suffix: [*contents(folder, suffix)] for suffix in WRITTEN}


def ours(path):
    rows, labels = [], []
    for X, y in iter_chunks(path, chunk_rows=2):
        rows += by_column(X) if sparse.issparse(X) else list(X)
        labels.append(None if y is None else y.tolist())
    if all(part is None for part in labels):
        return rows, None
    return rows, [label for part in labels for label in part]


def by_column(X):
    X.sum_duplicates()
    pieces = [slice(*ends) for ends in pairwise(X.indptr)]
    return [dict(zip(X.indices[a].tolist(), X.data[a].tolist(), strict=True)) for a in pieces]


def without_zeros(row):
    if isinstance(row, str):
        return row
    row = {k: float(v) for k, v in (row.items() if isinstance(row, dict) else enumerate(row))}
    assert all(math.isfinite(value) for value in row.values())
    return {k: value for k, value in row.items() if value}


def check(path, data, suffix):
    """Return whether there was something to read; see that it is read as by the reference."""
    path.write_bytes(data)
    error = None
    try:
        rows, labels = ours(path)
    except DataError as caught:
        error = caught
    if error is not None:
        assert error.path == str(path)
        assert "\n" not in str(error)
        return False
    expected, its = REFERENCES[suffix](data)
    assert list(map(without_zeros, rows)) == list(map(without_zeros, expected))
    assert labels == its
    assert labels is None or {type(a) for a in labels} <= {int, str, float}
    return True


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*the last line has no end")
@pytest.mark.parametrize("suffix", WRITTEN)
@settings(max_examples=1000 if EVERYTHING else 100)
@given(data=st.data())
def test_what_is_damaged_is_read_as_by_the_reference_or_refused(damaged, suffix, data):
    folder, contents = damaged
    content = data.draw(st.sampled_from(contents[suffix]))
    for _ in range(data.draw(st.sampled_from([0, 1, 1, 1, 2, 3]))):
        at = data.draw(st.integers(0, len(content)))
        gone = data.draw(st.sampled_from([0, 0, 1, 1, 2, 30, len(content)]))
        odd = st.sampled_from(ODD) if suffix in (".csv", ".jsonl") else st.binary(max_size=2)
        content = content[:at] + data.draw(odd) + content[at + gone :]
    whole = content in contents[suffix]
    assert check(folder / f"damaged{suffix}", content, suffix) or not whole
