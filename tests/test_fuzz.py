"""Damaged files: what a reference reads of them, or an error that names the file. Nothing else."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from narrows.errors import DataError
from narrows.read import iter_chunks
from tests.conftest import EVERYTHING
from tests.inside import writer

X = np.array([[1.5, 0, -2, 0], [0, 0, 0, 0], [1e-300, 3, 0, 0.1], [0, 7, 1e20, 0], [2, 0, 0, 5]])
Y = np.array([1, 0, 1, -3, 12])
WORDS = np.array(["a b", 'say "x"', "ü,ß", "a b", "ü,ß"])
TEXTS = ["the sea", 'a "ship"\n', "", "\u2028 tree \U0001f333", "{}"]
ODD = [
    b"", b'"', b"'", b",", b":", b"\n", b"\r", b"\r\n", b"\0", b"\t", b"#", b"_", b"-", b".", b"e9",
    b"nan", b"-inf", b"1e999", b"0x1", b"1_0", b"9" * 20, b"9" * 5000, b"\xff", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", b"\\ud800", b"\\u0000", b"{", b"}", b"[[", b"null", b"true", b"1.5", b"2.0",
]  # fmt: skip


def written(path, rows, labels):
    """What our own writer makes of the rows, in two pieces."""
    with writer(str(path), None, texts=path.suffix == ".jsonl") as out:
        for part in (slice(0, 2), slice(2, 5)):
            out.write(rows[part], None if labels is None else labels[part])


def theirs(path, labels):
    """What other libraries make of the samples."""
    whole = pa.table({"a": X[:, 0], "b": X[:, 1].astype(np.int8), "label": labels})
    if path.suffix == ".csv":
        whole.to_pandas().to_csv(path, index=False, lineterminator="\r\n")
    elif path.suffix == ".jsonl":
        rows = zip(TEXTS, labels.tolist(), strict=True)
        path.write_text("\r\n\n".join(json.dumps({"label": j, "text": t}) for t, j in rows))
    elif path.suffix == ".npz":
        np.savez(path, X=X, y=labels)
    elif path.suffix == ".npy":
        np.save(path, X.astype(np.float32).T if labels is Y else np.ones((5, 2), "i1"))
    elif path.suffix == ".parquet":
        pq.write_table(whole, path, row_group_size=2, use_dictionary=labels is Y)
    elif path.suffix == ".orc":
        orc.write_table(whole, str(path), compression="zlib" if labels is Y else "zstd")
    else:
        make = pa.ipc.new_file if labels is Y else pa.ipc.new_stream
        with make(str(path), whole.schema) as file:
            file.write_table(whole, 2)


DENSE, SPARSE = (X, WORDS), (sparse.csr_array(X), Y)
OURS = {
    ".csv": [DENSE, SPARSE], ".jsonl": [(TEXTS, WORDS), (TEXTS, None)],
    ".npz": [DENSE, SPARSE], ".npy": [(X, None), (sparse.csr_array(X), None)],
    ".parquet": [DENSE, SPARSE], ".arrow": [DENSE, SPARSE], ".orc": [DENSE],
}  # fmt: skip


def contents(folder, suffix):
    """Files of a format, as bytes."""
    path = folder / f"a{suffix}"
    for labels in (Y, WORDS):
        theirs(path, labels)
        yield path.read_bytes()
    for rows, labels in OURS[suffix]:
        written(path, rows, labels)
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
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    return folder, {suffix: [*contents(folder, suffix)] for suffix in OURS}


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
@pytest.mark.parametrize("suffix", OURS)
@settings(max_examples=1000 if EVERYTHING else 100)
@given(data=st.data())
def test_what_is_damaged_is_read_as_by_the_reference_or_refused(files, suffix, data):
    folder, contents = files
    content = data.draw(st.sampled_from(contents[suffix]))
    for _ in range(data.draw(st.sampled_from([0, 1, 1, 1, 2, 3]))):
        at = data.draw(st.integers(0, len(content)))
        gone = data.draw(st.sampled_from([0, 0, 1, 1, 2, 30, len(content)]))
        odd = st.sampled_from(ODD) if suffix in (".csv", ".jsonl") else st.binary(max_size=2)
        content = content[:at] + data.draw(odd) + content[at + gone :]
    whole = content in contents[suffix]
    assert check(folder / f"damaged{suffix}", content, suffix) or not whole
