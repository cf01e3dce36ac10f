"""Readers: the numbers of scikit-learn's and NumPy's own, texts in columns, and an error for each
broken line.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
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
from tests.inside import pretend


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


def svmlight(folder, name="a.svm", zero_based=False, **options):
    X, _ = labelled(sparse=True)
    y = np.arange(60) % 3
    dump_svmlight_file(X, y, str(folder / name), zero_based=zero_based, **options)
    return X, y


def test_width_pads_and_bounds(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:5\n\n# nothing\n2 3:1\n")
    assert gathered(tmp_path / "a.svm", width=5)[0].shape == (2, 5)
    with pytest.raises(DataError, match=r"a\.svm:4: expected columns from 1 to 2, got column 3"):
        gathered(tmp_path / "a.svm", width=2)


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
    X, _ = svmlight(tmp_path)
    compress, kind = COMPRESSED[suffix]
    plain = (tmp_path / "a.svm").read_bytes()
    whole = compress(plain)
    half = plain.index(b"\n", len(plain) // 2) + 1
    for name, content in {
        "b": whole,
        "parts": compress(plain[:half]) + compress(plain[half:]),
        "c": whole[: len(whole) // 2],
        "d": b"1 1:1\n",
        "e": whole[: len(whole) // 2] + bytes(100) + whole[len(whole) // 2 + 100 :],
    }.items():
        (tmp_path / f"{name}.svm{suffix}").write_bytes(content)
    for name in ("b", "parts"):
        np.testing.assert_allclose(gathered(tmp_path / f"{name}.svm{suffix}")[0], X)
    for name in ("c", "d", "e"):
        what = rf": expected a whole {kind} file"
        if (name, suffix) == ("e", ".zst"):  # without a checksum, the line shows it
            what = ":149: not a svmlight row"
        with pytest.raises(DataError, match=rf"{name}\.svm\{suffix}{what}"):
            gathered(tmp_path / f"{name}.svm{suffix}")


def test_csv_labels_are_numbers_where_all_of_them_are(tmp_path):
    (tmp_path / "a.csv").write_text("label,a\n1,5\n-2,6\n")
    assert gathered(tmp_path / "a.csv")[1].tolist() == [1, -2]
    X, y = gathered(tmp_path / "a.csv", label="a")
    assert (X.tolist(), y.tolist()) == ([[1], [-2]], [5, 6])
    (tmp_path / "c.csv").write_text("a,label\n1,99999999999999999999\n2,3\n")
    assert gathered(tmp_path / "c.csv")[1].tolist() == ["99999999999999999999", "3"]
    (tmp_path / "b.csv").write_text("a\n5\n")
    assert gathered(tmp_path / "b.csv")[1] is None


@pytest.mark.parametrize("y", [np.eye(3, dtype=bool), np.array([[0], [1], [2]])])
def test_npz_labels_in_columns(tmp_path, y):
    np.savez(tmp_path / "a.npz", X=np.eye(3), y=y)
    [(_, found)] = iter_chunks(tmp_path / "a.npz")
    if y.shape[1] == 1:
        assert found.tolist() == [0, 1, 2]
    else:
        np.testing.assert_array_equal(found.toarray(), y)


def test_json_lines(tmp_path):
    lines = [
        {"label": "x", "text": "sea", "split": "train", "id": 1},
        {"label": "y", "text": "l\u00e4nd", "split": "test"},
        {"label": "y", "text": "", "split": "train"},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n\n".join(json.dumps(line) for line in lines))
    texts, y = gathered(path, split="train", chunk_rows=1)
    assert (texts, y.tolist()) == (["sea", ""], ["x", "y"])
    texts, y = gathered(path, label="text", text="label")
    assert (texts, y.tolist()) == (["x", "y", "y"], ["sea", "l\u00e4nd", ""])
    with pytest.raises(DataError, match="split is 'dev', got only test, train"):
        gathered(path, split="dev")


BROKEN = [  # the line, and a word of the message
    ("a.svm", "1 1:1\n2 x:1\n", ":2: .*svmlight"),
    ("a.svm", "1 1:1\n1.5 1:1\n", ":2: .*integer label"),
    ("a.svm", "1 1:1\nnan 1:1\n", ":2: .*label"),
    ("a.svm", "1 1:1\n2 1:1 2:nan\n", ":2: .*finite"),
    ("a.svm", "-9223372036854775809 1:1\n", r":1: .*under 2\^63"),
    ("a.svm", "# nothing\n", "at least one row"),
    ("a.csv", "", "a header and at least one row"),
    ("a.csv", "a,label\n", "at least one row"),
    ("a.csv", "a,label\n1,x\n1\n", ":3: .*2 cells"),
    ("a.csv", "a,label\n1,x\n,y\n", ":3: column 'a'.* number"),
    ("a.csv", "a,label\n1,x\n1_000,y\n", ":3: column 'a'.* number"),
    ("a.csv", "a,label\n1,x\n2,\n", ":3: 'label'.* none"),
    ("a.csv", "a,label\n1,x\n2,x\0\n", ":3: .*NUL"),
    ("a.csv", "a,a,label\n1,1,x\n", ":1: .*different names"),
    ("a.csv", "a,class,label\n1,1,x\n", ":1: .*'class' and 'label'"),
    ("a.csv", "label\nx\n", ":1: .*features"),
    ("a.csv", 'a,label\n1,"x\n', r":\d+: .*CSV"),
    ("a.csv", b"a,label\n1,x\n2,\xe9\n", ":3: .*UTF-8"),
    ("a.csv", "a,label\n1,x\ninf,y\n", ":3: .*finite"),
    ("a.csv", f"a,label\n{'1' * 200_000},x\n", ":2: .*finite"),
    ("a.jsonl", "", "at least one row"),
    ("a.jsonl", '{"text": "a"}\n{"text" "b"}\n', ":2: .*JSON"),
    ("a.jsonl", b'{"text": "\xff"}\n', ":1: .*JSON"),
    ("a.jsonl", "[1]\n", ":1: .*JSON object"),
    ("a.jsonl", '{"text": 5}\n', ":1: 'text'"),
    ("a.jsonl", '{"label": 5}\n', ":1: 'text'"),
    ("a.jsonl", '{"text": "", "label": [1]}\n', ":1: 'label'.* list"),
    ("a.jsonl", '{"text": "", "label": 1}\n{"text": ""}\n', ":2: 'label'.* none"),
    ("a.jsonl", '{"text": ""}\n{"text": "", "label": 1}\n', ":1: 'label'.* none"),
    (
        "a.jsonl",
        '{"text": "", "label": 1}\n{"text": "", "label": %s}\n' % ("9" * 20),
        r":2: .*2\^63",
    ),
    ("a.jsonl", '{"text": "", "label": %s}\n' % ("9" * 20), r":1: .*2\^63"),
    ("a.jsonl", '{"text": "", "id": %s}\n' % ("1" * 5000), ":1: .*JSON"),
    ("a.jsonl", '{"text": "", "label": "\\ud800"}\n', ":1: .*Unicode"),
    ("a.jsonl", '{"text": "", "label": "x\\u0000"}\n', ":1: .*NUL"),
    ("a.jsonl", '{"text": "", "label": 1.5}\n', ":1: .*integer label"),
    ("a.jsonl", '{"text": "", "label": 1e999}\n', ":1: 'label'.* inf"),
    ("a.jsonl", '{"text": ""}\n{"text": "", "id": [{"a": NaN}]}\n', ":2: .*JSON.*NaN"),
    ("a.jsonl", '{"id": -Infinity, "text": ""}\n', ":1: .*-Infinity"),
    pytest.param("a.jsonl", "[" * 100_000, ":1: .*JSON", id="nested"),
    ("a.npz", "PK", "NumPy archive"),
    ("a.npz", "PK\x03\x04 and then nothing", "archive of samples"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN)
def test_what_is_broken_is_named_with_its_line(tmp_path, name, content, message):
    raw = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(DataError, match=rf"{name}.*{message}") as caught:
        gathered(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_labels_of_half_precision_are_integers(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(3), y=np.array([1, 2, 60000], np.float16))
    assert gathered(tmp_path / "a.npz")[1].tolist() == [1, 2, 60000]


ONE = {"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [1, 2]}
NO_ROWS = [
    ({"Z": np.eye(2)}, "no array 'data' among Z"),
    ({"X": np.eye(2), "y": [1]}, "2 labels"),
    ({"X": np.eye(2), "y": [1j, 2]}, "complex128"),
    ({"X": np.eye(2), "y": [b"a", b"b"]}, "text or integers"),
    ({"X": np.eye(2), "yindices": [1], "yindptr": [0, 1, 1], "yshape": [2, 10**12]}, "16777215"),
    ({"X": np.ones(3)}, r"\(n_samples, n_features\), got \(3,\)"),
    ({"X": np.array([["a"]])}, "numbers, got <U1"),
    ({"X": np.array([[None]], dtype=object)}, "Python objects"),
    ({"X": [[1.0], [np.nan]]}, ":2: .*finite"),
    ({"X": np.array([[0], [0x7C01]], "u2").view("f2")}, ":2: .*finite"),  # one that signals
    ({"X": np.array([[1], ["1e400"]], np.longdouble)}, ":2: .*finite"),
    ({"X": np.eye(2), "y": [1, np.inf]}, ":2: .*label"),
    ({"X": np.eye(2), "y": [-1e300, 1]}, ":1: .*integer label"),
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
    [({"chunk_rows": 0}, ">= 1"), ({"chunk_rows": -1}, ">= 1"), ({"width": 0}, ">= 1"),
     ({"split": "train"}, "CSV"), ({"vector": "body"}, "CSV"), ({"zero_based": True}, "CSV")],
)  # fmt: skip
def test_options_that_are_wrong(tmp_path, options, message):
    (tmp_path / "a.csv").write_text("a,class\n1,x\n")
    with pytest.raises(ParameterError, match=f"expected .*{message}"):
        gathered(tmp_path / "a.csv", **options)
    with pytest.raises(ParameterError, match="at least one file"):
        gathered([])


def test_a_damaged_archive_is_named(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, X=np.random.default_rng(0).random((50, 50)), y=np.arange(50))
    whole = path.read_bytes()
    before, _, after = whole.rpartition(b"y.npy")
    for content in (before + b"\0.npy" + after, whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"a\.npz: expected an archive of samples"):
            gathered(path)


def test_wrong_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        gathered(tmp_path / "none.svm")
    for name in ("a.txt", "a", "a.npz.gz", "a.gz", "a.svm", "a.csv"):
        (tmp_path / name).write_text("1 1:1\n")
    for paths in (["a.txt"], ["a"], ["a.npz.gz"], ["a.gz"], ["a.svm", "a.csv"], ["."]):
        with pytest.raises(ParameterError, match=r"expected a? ?file"):
            gathered([tmp_path / name for name in paths])


# -- texts in columns of CSV files, Parquet files and tables --

WORDS = {"billing": "invoice refund card charge", "network": "router cable signal drop"}
TRICKY = [
    'a "quoted" word, and a comma',
    "two\nlines",
    "three\r\nlines\n\nof text",
    "",
    "höher 漢字 🦉",
    " spaces \t around ",
]


def tickets(n=60, seed=0):
    """Texts of two classes, the first of them hard to quote, with their classes."""
    rng = np.random.default_rng(seed)
    queues = [list(WORDS)[k % 2] for k in range(n)]
    bodies = [" ".join(rng.choice(WORDS[queue].split(), 6)) for queue in queues]
    for k, text in enumerate(TRICKY[:n]):
        bodies[k] += " " + text if text else text
    return queues, bodies


def write_csv(path, columns, **settings):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, **settings)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    return str(path)


def write(path, columns):
    """Write columns in the format of the suffix."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path, row_group_size=25)
    elif path.suffix == ".jsonl":
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        write_csv(path, columns)
    return str(path)


def ticket_columns(n=60):
    queues, bodies = tickets(n)
    subjects = [f"re {queue[:3]}" for queue in queues]
    return {"id": list(range(n)), "queue": queues, "subject": subjects, "body": bodies}


# -- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.jsonl"])
def test_texts_are_read_from_every_format(tmp_path, name):
    columns = ticket_columns()
    path = write(tmp_path / name, columns)
    texts, y = gathered(path, label="queue", text="body", chunk_rows=7)
    assert texts == columns["body"]
    assert y.tolist() == columns["queue"]
    texts, _ = gathered(path, label="queue", text=["subject", "body"], chunk_rows=7)
    pairs = zip(columns["subject"], columns["body"], strict=True)
    assert texts == [f"{subject}\n{body}" for subject, body in pairs]


# -- errors --------------------------------------------------------------------------------------

WRONG_CSV = [
    (b"a,t\nx,y\n", {"text": "body"}, ":1: expected a column 'body'"),
    (b"label,t\nx,\xff\n", {}, ":2: .*UTF-8"),
    (b'label,t\nx,"a\n\xe9"\n', {}, ":3: .*UTF-8"),
    (b"label,t\nx,y\nx,y, z\n", {}, ":3: .*2 cells"),
    (b'label,t\nx,"y\n', {}, ":2: .*CSV row"),
    (b"label,t\nx,y\n,y\n", {}, ":3: 'label'"),
    (b"label,t,t\nx,y,z\n", {}, ":1: .*different names"),
    (b"label,class,t\nx,y,z\n", {}, "one label column"),
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


# -- at the command line -------------------------------------------------------------------------


@pytest.mark.slow
def test_a_csv_of_texts_from_compare_to_transform(run, tmp_path):
    columns = ticket_columns()
    for name in ("tickets.csv", "tickets.parquet", "tickets.jsonl"):
        write(tmp_path / name, columns)
    fit = "fit tickets.csv --label queue --text subject --text body --method oc -o m.narrows"
    assert run(fit)[0] == 0
    model = narrows.load("m.narrows")
    assert source_of(model).text == ("subject", "body")
    assert "invoice" in run("info m.narrows")[1]
    pairs = zip(columns["subject"], columns["body"], strict=True)
    texts = [f"{subject}\n{body}" for subject, body in pairs]
    expected = model.transform(source_of(model).tfidf.transform(texts))
    for name in ("tickets.csv", "tickets.parquet", "tickets.jsonl"):
        assert run(f"transform m.narrows {name} -o r.npz")[0] == 0
        with np.load("r.npz") as reduced:
            np.testing.assert_allclose(reduced["X"], expected)
            assert reduced["y"].tolist() == columns["queue"]
        assert run(f"update m.narrows {name} -o u.narrows")[0] == 0
        assert narrows.load("u.narrows").n_samples_seen_ == 120
    assert run("convert tickets.csv a.jsonl.gz --label queue --text body")[0] == 0
    assert gathered(tmp_path / "a.jsonl.gz")[0] == columns["body"]
    assert run("convert tickets.csv b.parquet --label queue --text body")[0] == 2


@pytest.mark.parametrize("verb", ["fit", "compare"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.slow
def test_columns_beside_the_texts_are_named(run, tmp_path, verb, suffix):
    queues, bodies = tickets()
    options = "--method oc -o m.narrows" if verb == "fit" else "--methods oc"
    command = f"{verb} a{suffix} --label queue --text body {options}"
    more = {f"c{k:02}": [f"{k}"] * 60 for k in range(12)}
    for columns, named in (({}, ""), (more, ", ".join(map(repr, list(more)[:10])) + ", …")):
        write(tmp_path / f"a{suffix}", {"queue": queues, "body": bodies} | columns)
        status, _, err = run(command)
        assert (status, err.count("\n"), named in err) == (0, len(named) > 0, True)
    assert "columns that are not read" not in run(f"{command} --text c00 --table")[2]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@pytest.mark.parametrize(("gone", "said"), [(0, ""), (1, "1 text is empty"), (9, "9 texts are")])
@pytest.mark.slow
def test_empty_texts_are_counted(run, tmp_path, suffix, gone, said):
    queues, bodies = tickets()
    for k in range(gone):
        bodies[10 + k] = ("", " \t", "\n")[k % 3]
    write(tmp_path / f"a{suffix}", {"queue": queues, "body": bodies})
    columns = f"a{suffix} --label queue --text body"
    for command in (
        f"fit {columns} -o m.narrows --method kernelsrda",  # in two passes
        f"fit {columns} -o m.narrows --method oc --vectorizer hashing --hash-columns 64",
        f"fit {columns} -o m.narrows --method oc --idf-sample 20",
        f"update m.narrows a{suffix} -o n.narrows",
        f"compare {columns} --methods oc",
    ):
        status, _, err = run(command)
        assert (status, err.count("empty"), said in err) == (0, gone > 0, True), command


def test_a_test_file_of_another_format_is_compared(run, tmp_path):
    columns = ticket_columns()
    both = {"label": columns["queue"], "text": columns["body"]}
    write(tmp_path / "a.jsonl", both)
    write(tmp_path / "b.csv", both)
    compare = "compare {} --test {} --methods oc --dims 1"
    assert run(compare.format("a.jsonl", "b.csv"))[0] == 0
    assert run(compare.format("b.csv", "a.jsonl") + " --text text")[0] == 0


# -- models and clusters -------------------------------------------------------------------------


@pytest.mark.slow
def test_texts_on_dask(tmp_path):
    distributed = pytest.importorskip("distributed")
    import dask.dataframe as dd

    from narrows.engines.dask import fit, transform

    columns = ticket_columns()
    path = write(tmp_path / "a.csv", columns)
    frame = pd.DataFrame(columns)
    sources = [path], [frame], dd.from_pandas(frame, npartitions=2)
    with distributed.Client(processes=False, dashboard_address=None, n_workers=1) as client:
        models = [fit(narrows.OC(), data, client, label="queue", text="body") for data in sources]
        expected = models[0].transform(source_of(models[0]).tfidf.transform(columns["body"]))
        for model, data in zip(models, sources, strict=True):
            assert model.n_samples_seen_ == 60
            np.testing.assert_allclose(transform(model, data).compute(), expected)
        with pytest.raises(ValueError, match="a file or a table of texts"):
            fit(narrows.OC(), [(np.eye(2), ["a", "b"])], client, text="body")
