"""Readers: the numbers of scikit-learn's and NumPy's own, texts in columns, and an error for each
broken line.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import narrows
from narrows.errors import DataError, ParameterError
from narrows.read import iter_chunks, source_of
from tests.cases import labelled
from tests.inside import fit_in_parts, pretend, transform_in_parts


def gathered(*args, **kwargs):
    """All chunks as one (X, y)."""
    X, y = zip(*iter_chunks(*args, **kwargs), strict=True)
    if isinstance(X[0], list):
        rows = [text for part in X for text in part]
    elif sparse.issparse(X[0]):
        widest = max(part.shape[1] for part in X)
        for part in X:
            part.resize(part.shape[0], widest)
        rows = sparse.vstack(X).toarray()
    else:
        rows = np.concatenate(X)
    return rows, None if y[0] is None else np.concatenate(y)


def zstd(data):
    """A frame without a checksum, as pyarrow writes it."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as file:
        file.write(data)
    return sink.getvalue().to_pybytes()


COMPRESSED = {
    ".gz": (gzip.compress, "gzip"),
    ".bz2": (bz2.compress, "bzip2"),
    ".xz": (lzma.compress, "xz"),
    ".zst": (zstd, "zstd"),
}


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_a_compressed_file_is_read_as_what_is_in_it(tmp_path, suffix):
    X, _ = labelled(n=600, sparse=True)
    dump_svmlight_file(X, np.arange(600) % 3, str(tmp_path / "a.svm"), zero_based=False)
    compress, kind = COMPRESSED[suffix]
    plain, path = (tmp_path / "a.svm").read_bytes(), tmp_path / f"b.svm{suffix}"
    middle = plain.index(b"\n", len(plain) // 2) + 1
    path.write_bytes(compress(plain[:middle]) + compress(plain[middle:]))
    np.testing.assert_allclose(gathered(path)[0], X)
    whole = compress(plain)
    half = len(whole) // 2
    for content in (whole[:half], b"1 1:1\n", whole[:half] + bytes(100) + whole[half + 100 :]):
        path.write_bytes(content)
        # zstd has no checksum here, so that a line of nonsense shows it
        with pytest.raises(DataError, match=rf"b\.svm\{suffix}(: .*whole {kind} file|:\d+: )"):
            gathered(path)


@pytest.mark.parametrize(
    "y", [np.eye(3, dtype=bool), np.array([[0], [1], [2]]), np.array([1, 2, 60000], np.float16)]
)
def test_labels_of_archives(tmp_path, y):
    np.savez(tmp_path / "a.npz", X=np.eye(3), y=y)
    [(_, found)] = iter_chunks(tmp_path / "a.npz")
    np.testing.assert_array_equal(found.toarray() if y.dtype == bool else found, y.squeeze())


def test_json_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = '{"label": "x", "text": "sea", "split": "train", "id": 1}', '{"label": "y", "text": ""}'
    path.write_text("\n\n".join(lines).replace('""', '"", "split": "test"'))
    for split, text, label in (("train", "sea", "x"), ("test", "", "y")):
        texts, y = gathered(path, split=split, chunk_rows=1)
        assert (texts, y.tolist()) == ([text], [label])
    with pytest.raises(DataError, match="split is 'dev', got only test, train"):
        gathered(path, split="dev")


BROKEN = [  # the line, and a word of the message
    ("a.svm", "# nothing\n", "at least one row"),
    ("a.csv", "", "a header and at least one row"),
    ("a.csv", "a,label\n1,x\n1\n", ":3: .*2 cells"),
    ("a.csv", "a,label\n1,x\n,y\n", ":3: column 'a'.* number"),
    ("a.csv", "a,label\n1,x\n2,x\0\n", ":3: .*NUL"),
    ("a.csv", "a,a,label\n1,1,x\n", ":1: .*different names"),
    ("a.csv", "a,class,label\n1,1,x\n", ":1: .*'class' and 'label'"),
    ("a.csv", "label\nx\n", ":1: .*features"),
    ("a.csv", 'a,label\n1,"x\n', r":\d+: .*CSV"),
    ("a.csv", b"a,label\n1,x\n2,\xe9\n", ":3: .*UTF-8"),
    ("a.csv", "a,label\n1,x\ninf,y\n", ":3: .*finite"),
    ("a.jsonl", "", "at least one row"),
    ("a.jsonl", '{"text": "a"}\n{"text" "b"}\n', ":2: .*JSON"),
    ("a.jsonl", b'{"text": "\xff"}\n', ":1: .*JSON"),
    ("a.jsonl", "[1]\n", ":1: .*JSON object"),
    ("a.jsonl", '{"text": 5}\n', ":1: 'text'"),
    ("a.jsonl", '{"label": 5}\n', ":1: 'text'"),
    ("a.jsonl", '{"text": "", "label": [1]}\n', ":1: 'label'.* list"),
    ("a.jsonl", '{"text": "", "label": 1}\n{"text": ""}\n', ":2: 'label'.* none"),
    ("a.jsonl", '{"text": ""}\n{"text": "", "label": 1}\n', ":1: 'label'.* none"),
    ("a.jsonl", '{"text": "", "label": %s}\n' % ("9" * 20), r":1: .*2\^63"),
    ("a.jsonl", '{"text": "", "id": %s}\n' % ("1" * 5000), ":1: .*JSON"),
    ("a.jsonl", '{"text": "", "label": "\\ud800"}\n', ":1: .*Unicode"),
    ("a.jsonl", '{"text": "", "label": "x\\u0000"}\n', ":1: .*NUL"),
    ("a.jsonl", '{"text": ""}\n{"text": "", "id": [{"a": NaN}]}\n', ":2: .*JSON.*NaN"),
    ("a.jsonl", "[" * 100_000, ":1: .*JSON"),
    ("a.npz", "PK", "NumPy archive"),
    ("a.npz", "PK\x03\x04 and then nothing", "archive of samples"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_broken_is_named_with_its_line(tmp_path, name, content, message):
    raw = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(DataError, match=rf"{name}.*{message}") as caught:
        gathered(tmp_path / name)
    assert "\n" not in str(caught.value)


ONE = {"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [1, 2]}
NO_ROWS = [
    ({"Z": np.eye(2)}, "no array 'data' among Z"),
    ({"X": np.eye(2), "y": [1]}, "2 labels"),
    ({"X": np.eye(2), "y": [b"a", b"b"]}, "text or integers"),
    ({"X": np.eye(2), "yindices": [1], "yindptr": [0, 1, 1], "yshape": [2, 10**12]}, "16777215"),
    ({"X": np.ones(3)}, r"\(n_samples, n_features\), got \(3,\)"),
    ({"X": np.array([["a"]])}, "numbers, got <U1"),
    ({"X": [[1.0], [np.nan]]}, ":2: .*finite"),
    ({"X": np.array([[0], [0x7C01]], "u2").view("f2")}, ":2: .*finite"),  # one that signals
    ({"X": np.array([[1], ["1e400"]], np.longdouble)}, ":2: .*finite"),
    ({"X": np.eye(2), "y": [1, np.inf]}, ":2: .*label"),
    ({"X": np.eye(2), "y": np.array([0, 0x7F800001], "u4").view("f4")}, ":2: .*label"),
    (ONE | {"indices": [5]}, "indices from 0 to 1"),
    (ONE | {"indptr": [0, 9]}, "from 0 to 1 entries"),
    (ONE | {"shape": 7}, "archive of"),
]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("arrays", "message"), NO_ROWS, ids=range(len(NO_ROWS)))
def test_archives_that_are_not_rows(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=message):
        gathered(tmp_path / "a.npz")


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("form", ["C", "F", "csr", "csc", "coo"])
def test_archives_are_read_in_step(tmp_path, monkeypatch, form, compressed):
    pretend(monkeypatch, "few cells at a time")
    rng = np.random.default_rng(0)
    X = rng.poisson(0.6, (53, 7)) * rng.normal(size=(53, 7))
    Y, arrays = rng.random((53, 3)) < 0.4, {"X": np.asarray(X, order=form if form < "a" else "C")}
    if form > "a":
        S = sparse.csr_array(X)
        with io.BytesIO() as buffer:
            sparse.save_npz(buffer, S.asformat(form), compressed=False)
            buffer.seek(0)
            arrays = dict(np.load(buffer))
    parts = sparse.csr_array(Y)
    several = {"yindices": parts.indices, "yindptr": parts.indptr, "yshape": Y.shape}
    save = np.savez_compressed if compressed else np.savez
    text = np.array(["a", "bc", "def"])[np.arange(53) % 3]
    save(tmp_path / "a.npz", **arrays, **several, text=text, t=np.asfortranarray(X[:, :2]))
    for rows in (1, 10, 1000):
        chunks = list(iter_chunks(tmp_path / "a.npz", chunk_rows=rows))
        assert len(chunks) > 1  # a chunk has few cells
        as_dense = [found.toarray() if form > "a" else found for found, _ in chunks]
        np.testing.assert_array_equal(np.concatenate(as_dense), X)
        np.testing.assert_array_equal(np.concatenate([y.toarray() for _, y in chunks]), Y)
        assert gathered(tmp_path / "a.npz", chunk_rows=rows, label="text")[1].tolist() == [*text]
        targets = gathered(tmp_path / "a.npz", chunk_rows=rows, target="t")[1]
        np.testing.assert_array_equal(targets, X[:, :2])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"chunk_rows": 0}, ">= 1"), ({"width": 0}, ">= 1"), ({"split": "train"}, "CSV"),
     ({"vector": "body"}, "CSV"), ({"zero_based": True}, "CSV")],
)  # fmt: skip
def test_options_that_are_wrong(tmp_path, options, message):
    (tmp_path / "a.csv").write_text("a,class\n1,x\n")
    with pytest.raises(ParameterError, match=f"expected .*{message}"):
        gathered(tmp_path / "a.csv", **options)
    with pytest.raises(ParameterError, match="at least one file"):
        gathered([])


@pytest.mark.parametrize("paths", ["a.txt", "a", "a.npz.gz", "a.gz", "a.svm a.csv", "."])
def test_wrong_paths(tmp_path, paths):
    with pytest.raises(FileNotFoundError, match="none"):
        gathered(tmp_path / "none.svm")
    for name in set(paths.split()) - {"."}:
        (tmp_path / name).write_text("1 1:1\n")
    with pytest.raises(ParameterError, match=r"expected a? ?file"):
        gathered([tmp_path / name for name in paths.split()])


# -- texts in columns of CSV files, Parquet files and tables --


def tickets():
    """Texts of two classes, which are hard to quote, with their subjects and classes."""
    rng = np.random.default_rng(0)
    queues = ["billing", "network"] * 30
    words = {"billing": ["invoice", '"card",', "höher 🦉"], "network": ["router\n", "漢字", " \t"]}
    bodies = [" ".join(rng.choice(words[queue], 6)) for queue in queues]
    return {"id": [*range(60)], "queue": queues, "subject": ["re net"] * 60, "body": bodies}


WRONG_CSV = [
    (b"a,t\nx,y\n", {"text": "body"}, ":1: expected a column 'body'"),
    (b'label,t\nx,"a\n\xe9"\n', {}, ":3: .*UTF-8"),
    (b"label,t\nx,y\nx,y, z\n", {}, ":3: .*2 cells"),
    (b"label,t\nx,y\n,y\n", {}, ":3: 'label'"),
    (b"label,t\nx,y\n", {"label": "t"}, "named once"),
    (b"label,t\nx,y\n", {"text": ()}, "`text`"),
    (b"label,t\nx,y\n", {"text": [1]}, "`text`"),
    (b"label,t\nx,y\n", {"split": "test"}, "`split`"),
    (b"label,t\nx,y\n", {"vector": "t"}, "one of them, got both"),
]


@pytest.mark.parametrize(("content", "options", "message"), WRONG_CSV)
def test_what_is_wrong_in_a_csv_file_is_named(tmp_path, content, options, message):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises((DataError, ParameterError), match=message):
        gathered(tmp_path / "a.csv", **{"text": "t", **options})


WRONG_TABLES = [
    ({"t": ["a", None], "n": [1, 2]}, "t", ":2: column 't'.* nulls"),
    ({"t": ["a", "b"], "u": ["a", None]}, ["t", "u"], ":2: column 'u'.* nulls"),
    ({"t": [1, 2]}, "t", "column 't'.* got int64"),
    ({"t": [b"a"]}, "t", "column 't'.* got binary"),
    ({"u": ["a"], "v": [1]}, "t", "column 't'"),
    ({"t": pa.array([b"a", b"\xff"]).view(pa.string())}, "t", ":2: column 't'.*UTF-8"),
]


@pytest.mark.parametrize(("columns", "text", "message"), WRONG_TABLES)
def test_what_is_wrong_in_a_table_is_named(tmp_path, columns, text, message):
    table = pa.table(columns)
    with pytest.raises(DataError, match=message):
        list(iter_chunks(table, text=text, chunk_rows=1))
    path = str(tmp_path / "a.parquet")
    pq.write_table(table, path)
    with pytest.raises(DataError, match=rf"a\.parquet.*{message}"):
        list(iter_chunks(path, text=text, chunk_rows=1))


@pytest.mark.parametrize(("gone", "said"), [(0, ""), (1, "1 text is empty"), (9, "9 texts are")])
@pytest.mark.slow
def test_empty_texts_are_counted(run, tmp_path, gone, said):
    columns = tickets()
    for k in range(gone):
        columns["body"][10 + k] = ("", " \t", "\n")[k % 3]
    pd.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
    columns = "a.csv --label queue --text body"
    for command in (
        f"fit {columns} -o m.narrows --method kernelsrda",  # in two passes
        f"fit {columns} -o m.narrows --method oc --vectorizer hashing --hash-columns 64",
        f"fit {columns} -o m.narrows --method oc --idf-sample 20",
        "update m.narrows a.csv -o n.narrows",
        f"compare {columns} --methods oc",
    ):
        status, _, err = run(command)
        assert (status, err.count("empty"), said in err) == (0, gone > 0, True), command


@pytest.mark.slow
def test_texts_of_parts_are_those_of_one_file(tmp_path):
    columns = tickets()
    path, frame = str(tmp_path / "a.csv"), pd.DataFrame(columns)
    frame.to_csv(path, index=False, lineterminator="\r\n")
    texts = [f"re net\n{body}" for body in columns["body"]]
    options = {"label": "queue", "text": ["subject", "body"]}
    found, y = gathered(path, chunk_rows=7, **options)
    assert (found, y.tolist()) == (texts, columns["queue"])
    whole, parts = (
        fit_in_parts(narrows.OC(), data, **options) for data in ([path], [frame[:25], frame[25:]])
    )
    X = [source_of(model).tfidf.transform(texts) for model in (whole, parts)]
    np.testing.assert_allclose(parts.transform(X[1]), whole.transform(X[0]))
    (written,) = transform_in_parts(whole, [path], tmp_path / "out")
    np.testing.assert_allclose(gathered(written, label="label")[0], whole.transform(X[0]))
    with pytest.raises(ValueError, match="a file or a table of texts"):
        fit_in_parts(narrows.OC(), [(np.eye(2), ["a", "b"])], text="body")
