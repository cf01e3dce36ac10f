"""Readers: the numbers of scikit-learn's and NumPy's own, and an error for each broken line."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from narrows.errors import DataError, ParameterError
from narrows.read import iter_chunks
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


@pytest.mark.parametrize("rows", [1, 7, 60, 1000])
@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_is_read_as_scikit_learn_reads_it(tmp_path, rows, zero_based):
    svmlight(tmp_path, zero_based=zero_based, comment="0:1 is not a column")
    X, y = gathered(tmp_path / "a.svm", chunk_rows=rows)
    expected = load_svmlight_file(str(tmp_path / "a.svm"), zero_based=zero_based)
    np.testing.assert_array_equal(X, expected[0].toarray())
    np.testing.assert_array_equal(y, expected[1])
    assert y.dtype == np.int64


def test_one_column_zero_in_any_file_makes_all_of_them_zero_based(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:5\n")
    (tmp_path / "b.svm").write_text("2 0:7 # or so\n")
    X, _ = gathered([tmp_path / "a.svm", tmp_path / "b.svm"])
    assert X.tolist() == [[0, 5], [7, 0]]
    X, _ = gathered(tmp_path / "a.svm")
    assert X.tolist() == [[5]]
    X, _ = gathered(tmp_path / "a.svm", zero_based=True)
    assert X.tolist() == [[0, 5]]
    (tmp_path / "b.svm").write_text("2 1:7 # not a 0:7\n")
    X, _ = gathered([tmp_path / "a.svm", tmp_path / "b.svm"])
    assert X.tolist() == [[5], [7]]


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


@pytest.mark.parametrize("rows", [1, 25, 1000])
@pytest.mark.parametrize("form", ["dense", "csr", "scipy", "bytes"])
def test_npz(tmp_path, rows, form):
    X, _ = labelled(sparse=True)
    y = np.arange(60) % 3
    S = sparse.csr_array(X)
    path = tmp_path / "a.npz"
    if form == "dense":
        np.savez(path, X=X, y=y)
    elif form == "bytes":
        X = X.astype(np.uint8)
        np.savez_compressed(path, X=X, y=y)
    elif form == "csr":
        np.savez(path, data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=y)
    else:
        sparse.save_npz(path, sparse.csc_array(S))
        y = None
    found, labels = gathered(path, chunk_rows=rows)
    np.testing.assert_array_equal(found, X)
    assert labels is y if y is None else (labels == y).all()


def test_npz_with_several_labels_a_row(tmp_path):
    Y = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]]))
    np.savez(tmp_path / "a.npz", X=np.eye(3), yindices=Y.indices, yindptr=Y.indptr, yshape=Y.shape)
    [(_, y)] = iter_chunks(tmp_path / "a.npz")
    np.testing.assert_array_equal(y.toarray(), Y.toarray())


def test_csv(tmp_path):
    (tmp_path / "a.csv").write_bytes(
        '\ufeffa,"b, c",class\r\n1,2.5,x\r\n\r\n-3e2,0,"y ""z"""\r\n'.encode()
    )
    X, y = gathered(tmp_path / "a.csv")
    assert X.tolist() == [[1, 2.5], [-300, 0]]
    assert y.tolist() == ["x", 'y "z"']


def test_csv_labels_are_numbers_where_all_of_them_are(tmp_path):
    (tmp_path / "a.csv").write_text("label,a\n1,5\n-2,6\n")
    assert gathered(tmp_path / "a.csv")[1].tolist() == [1, -2]
    X, y = gathered(tmp_path / "a.csv", label="a")
    assert (X.tolist(), y.tolist()) == ([[1], [-2]], [5, 6])
    (tmp_path / "b.csv").write_text("a\n5\n")
    assert gathered(tmp_path / "b.csv")[1] is None


def test_large_whole_numbers_in_a_csv_stay_text(tmp_path):
    (tmp_path / "a.csv").write_text("a,label\n1,99999999999999999999\n2,3\n")
    assert gathered(tmp_path / "a.csv")[1].tolist() == ["99999999999999999999", "3"]


@pytest.mark.parametrize("y", [np.eye(3, dtype=bool), np.array([[0], [1], [2]])])
def test_npz_labels_in_columns(tmp_path, y):
    np.savez(tmp_path / "a.npz", X=np.eye(3), y=y)
    [(_, found)] = iter_chunks(tmp_path / "a.npz")
    if y.shape[1] == 1:
        assert found.tolist() == [0, 1, 2]
    else:
        np.testing.assert_array_equal(found.toarray(), y)


def test_options_of_other_formats_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,class\n1,x\n")
    for option in ({"split": "train"}, {"vector": "body"}, {"zero_based": True}):
        with pytest.raises(
            ParameterError, match=r"which CSV does not support, got one\. Leave it out"
        ):
            gathered(tmp_path / "a.csv", **option)


def test_json_lines(tmp_path):
    lines = [
        {"label": "x", "text": "sea", "split": "train", "id": 1},
        {"label": "y", "text": "l\u00e4nd", "split": "test"},
        {"label": "y", "text": "", "split": "train"},
    ]
    path = tmp_path / "a.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n\n".join(json.dumps(line) for line in lines))
    assert gathered(path)[0] == ["sea", "l\u00e4nd", ""]
    texts, y = gathered(path, split="train", chunk_rows=1)
    assert texts == ["sea", ""]
    assert y.tolist() == ["x", "y"]
    texts, y = gathered(path, label="text", text="label")
    assert texts == ["x", "y", "y"]
    assert y.tolist() == ["sea", "l\u00e4nd", ""]
    with pytest.raises(
        DataError, match="expected lines whose split is 'dev', got only test, train"
    ):
        gathered(path, split="dev")


BROKEN = [
    ("a.svm", "1 1:1\n2 x:1\n", r"a\.svm:2: not a svmlight row"),
    ("a.svm", "1 1:1\n\n2 1:1:1\n", r"a\.svm:3: not a svmlight row"),
    ("a.svm", "1 2:1 1:1\n", r"a\.svm:1: .*expected increasing columns"),
    ("a.svm", "1 -1:1\n", r"a\.svm:1: .*from 1 on, got '-1:1'"),
    ("a.svm", "one 1:1\n", r"a\.svm:1: not a svmlight row"),
    (
        "a.svm",
        "1 1:1\n1.5 1:1\n",
        r"a\.svm:2: expected an integer label .*, got 1\.5\. Set `labels` to text",
    ),
    ("a.svm", "1 1:1\nnan 1:1\n", r"a\.svm:2: expected a label, got nan"),
    ("a.svm", "1 1:1\n2 1:1 2:nan\n", r"a\.svm:2: expected finite values, got NaN"),
    ("a.svm", "1 1:1\n2 1:1 2:1e999\n", r"a\.svm:2: expected finite values, got NaN"),
    ("a.svm", "", r"a\.svm: expected at least one row, got none"),
    ("a.svm", "# nothing\n", r"a\.svm: expected at least one row, got none"),
    ("a.csv", "", r"a\.csv: expected a header and at least one row, got none"),
    ("a.csv", "a,label\n", r"a\.csv: expected at least one row, got none"),
    ("a.csv", "a,label\n1,x\n1\n", r"a\.csv:3: expected 2 cells, got 1"),
    ("a.csv", "a,label\n1,x\n,y\n", r"a\.csv:3: column 'a': expected a number, got ''"),
    ("a.csv", "a,label\n1,x\n2,\n", r"a\.csv:3: 'label': expected a label, got none"),
    ("a.csv", "a,a,label\n1,1,x\n", r"a\.csv:1: expected columns of different names, got two 'a'"),
    (
        "a.csv",
        "a,class,label\n1,1,x\n",
        r"a\.csv:1: expected one label column, got 'class' and 'label'",
    ),
    ("a.csv", 'a,label\n1,"x\n', r"a\.csv:\d+: expected a CSV row"),
    ("a.csv", b"a,label\n1,\xff\n", r"a\.csv:\d+: expected a CSV row"),
    ("a.csv", "a,label\n1,x\ninf,y\n", r"a\.csv:3: expected finite values, got NaN or infinity"),
    ("a.jsonl", "", r"a\.jsonl: expected at least one row, got none"),
    ("a.jsonl", '{"text": "a"}\n{"text" "b"}\n', r"a\.jsonl:2: expected a line of JSON"),
    ("a.jsonl", b'{"text": "\xff"}\n', r"a\.jsonl:1: expected a line of JSON"),
    ("a.jsonl", "[1]\n", r"a\.jsonl:1: expected a JSON object, got a list"),
    ("a.jsonl", '{"text": 5}\n', r"a\.jsonl:1: 'text': expected text, got 5"),
    ("a.jsonl", '{"label": 5}\n', r"a\.jsonl:1: 'text': expected text, got nothing"),
    (
        "a.jsonl",
        '{"text": "", "label": [1]}\n',
        r"a\.jsonl:1: 'label': expected text or a number, got a list",
    ),
    (
        "a.jsonl",
        '{"text": "", "label": 1}\n{"text": ""}\n',
        r"a\.jsonl:2: 'label': expected a label, got none",
    ),
    (
        "a.jsonl",
        '{"text": ""}\n{"text": "", "label": 1}\n',
        r"a\.jsonl:1: 'label': expected a label, got none",
    ),
    (
        "a.jsonl",
        '{"text": "", "label": 1}\n{"text": "", "label": 99999999999999999999}\n',
        r"a\.jsonl:2: expected an integer label under 2\^63, got 9+\. Set `labels`",
    ),
    (
        "a.jsonl",
        f'{{"text": "", "id": {"1" * 5000}}}\n',
        r"a\.jsonl:1: expected a line of JSON, got another: Exceeds the limit",
    ),
    (
        "a.jsonl",
        '{"text": "", "label": "\\ud800"}\n',
        r"a\.jsonl:1: expected a label in Unicode, got",
    ),
    (
        "a.jsonl",
        b'{"text": "\xed\xa0\x80"}\n',
        r"a\.jsonl:1: expected a line of JSON, got another: 'utf-8'",
    ),
    (
        "a.jsonl",
        '{"text": "", "label": "x\\u0000"}\n',
        r"a\.jsonl:1: expected a label without NUL characters",
    ),
    ("a.jsonl", '{"text": "", "label": 1.5}\n', r"a\.jsonl:1: expected an integer label .*1\.5"),
    ("a.jsonl", '{"text": "", "label": NaN}\n', r"a\.jsonl:1: .*: NaN is not a JSON value"),
    (
        "a.jsonl",
        '{"text": ""}\n{"text": "", "id": NaN}\n',
        r"a\.jsonl:2: expected a line of JSON, got another: NaN",
    ),
    ("a.jsonl", '{"text": "", "id": [{"a": Infinity}]}\n', r"a\.jsonl:1: .*: Infinity is not a"),
    (
        "a.jsonl",
        '{"id": -Infinity, "text": ""}\n',
        r"a\.jsonl:1: .*: -Infinity is not a JSON value",
    ),
    (
        "a.jsonl",
        '{"text": "", "label": 1e999}\n',
        r"a\.jsonl:1: 'label': expected a label, got inf",
    ),
    ("a.csv", "a,label\n1,x\n1_000,y\n", r"a\.csv:3: column 'a': expected a number, got '1_000'"),
    ("a.csv", "a,label\n1,x\n2,x\0\n", r"a\.csv:3: expected a label without NUL characters, got"),
    (
        "a.csv",
        f"a,label\n{'1' * 200_000},x\n",
        r"a\.csv:2: expected finite values, got NaN or infinity",
    ),
    ("a.csv", "label\nx\n", r"a\.csv:1: expected features, got no column beside 'label'"),
    ("a.csv", b"a,label\n1,x\n2,\xe9\n", r"a\.csv:3: expected a CSV row in UTF-8"),
    (
        "a.svm",
        "1 1:1\n10000000000000000000 1:1\n",
        r"a\.svm:2: expected an integer label .*, got 10000000000000000000",
    ),
    (
        "a.svm",
        "-9223372036854775809 1:1\n",
        r"a\.svm:1: expected an integer label under 2\^63, got -9223372036854775809",
    ),
    (
        "a.jsonl",
        '{"text": "", "label": 99999999999999999999}\n',
        r"a\.jsonl:1: expected an integer label under 2\^63, got 9+\. Set `labels`",
    ),
    pytest.param("a.jsonl", "[" * 100_000, r"a\.jsonl:1: expected a line of JSON", id="nested"),
    ("a.npz", "PK", r"a\.npz: expected a NumPy archive"),
    (
        "a.npz",
        "PK\x03\x04 and then nothing",
        r"a\.npz: expected an archive of samples, got another, or a damaged one",
    ),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN)
def test_what_is_broken_is_named_with_its_line(tmp_path, name, content, message):
    raw = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(DataError, match=message) as caught:
        gathered(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": np.eye(2)}, "expected an array X, or data.*, got no array 'data' among Z"),
        ({"X": np.eye(2), "y": [1]}, r"expected 2 labels, got an array of shape \(1,\)"),
        (
            {"X": np.eye(2), "y": [1j, 2]},
            "expected labels that are text or integers, got complex128",
        ),
        ({"X": np.eye(2), "y": [b"a", b"b"]}, "expected labels that are text or integers"),
        (
            {"X": np.eye(2), "yindices": [1], "yindptr": [0, 1, 1], "yshape": [2, 10**12]},
            "rows of labels up to 16777215",
        ),
        ({"X": np.ones(3)}, r"expected X of shape \(n_samples, n_features\), got \(3,\)"),
        ({"X": np.array([["a"]])}, "expected samples that are numbers, got <U1"),
        ({"X": np.array([[None]], dtype=object)}, "Python objects in dtype"),
        ({"X": [[1.0], [np.nan]]}, r":2: expected finite values, got NaN"),
        (
            {"X": np.array([[0], [0x7C01]], "u2").view("f2")},
            r":2: expected finite values, got NaN",
        ),  # one that signals
        ({"X": np.array([[1], ["1e400"]], np.longdouble)}, r":2: expected finite values, got NaN"),
        (
            {"X": np.eye(2), "y": [1, np.inf]},
            r":2: expected a label, got inf",
        ),
        (
            {"X": np.eye(2), "y": [-1e300, 1]},
            r":1: expected an integer label .*, got -1e\+300",
        ),
        (
            {"X": np.eye(2), "y": np.array([0, 0x7F800001], "u4").view("f4")},
            ":2: expected a label, got nan",
        ),
        (
            {"data": [1.0], "indices": [5], "indptr": [0, 1], "shape": [1, 2]},
            "expected indices from 0 to 1 in X, got 5",
        ),
        (
            {"data": [1.0], "indices": [0], "indptr": [0, 9], "shape": [1, 2]},
            "expected from 0 to 1 entries in a row, got 9",
        ),
        ({"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": 7}, "expected an archive of"),
    ],
)
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


def test_an_entry_of_an_archive_may_be_there_several_times(tmp_path):
    np.savez(tmp_path / "a.npz", data=[1.0, 2, 3], indices=[0, 0, 1], indptr=[0, 3], shape=[1, 2])
    assert gathered(tmp_path / "a.npz")[0].tolist() == [[3, 3]]


@pytest.mark.parametrize("kind", ["f2", ">f4", ">f8", "longdouble", "u1", "?"])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_numbers_of_any_type_become_ones_that_are_learned_from(tmp_path, kind, is_sparse):
    S = sparse.csr_array(np.eye(3))
    arrays = {"X": np.eye(3).astype(kind)}
    if is_sparse:
        arrays = {"indices": S.indices, "indptr": S.indptr, "shape": S.shape}
        arrays["data"] = S.data.astype(kind)
    np.savez(tmp_path / "a.npz", **arrays)
    [(X, _)] = iter_chunks(tmp_path / "a.npz")
    assert X.dtype == (np.float32 if kind in ("f2", ">f4") else np.float64)
    np.testing.assert_array_equal(X.toarray() if is_sparse else X, np.eye(3))


def test_whole_numbers_of_json_are_not_rounded(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"text": "", "label": 9007199254740993}\n{"text": "", "label": 1.0}\n'
    )
    assert gathered(tmp_path / "a.jsonl")[1].tolist() == [9007199254740993, 1]


@pytest.mark.parametrize("options", [{"chunk_rows": 0}, {"chunk_rows": -1}, {"width": 0}])
def test_options_out_of_range(tmp_path, options):
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(ParameterError, match="expected an integer >= 1, got"):
        gathered(tmp_path / "a.csv", **options)
    with pytest.raises(ParameterError, match="expected at least one file, got none"):
        gathered([])


def test_an_array_whose_name_is_damaged_is_not_overlooked(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.eye(3), y=np.arange(3))
    before, _, after = path.read_bytes().rpartition(b"y.npy")
    path.write_bytes(before + b"\0.npy" + after)
    with pytest.raises(
        DataError, match=r"a\.npz: expected an archive of samples, got another, or a"
    ):
        list(iter_chunks(path))


def test_a_half_archive_is_damaged(tmp_path):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=np.random.default_rng(0).random((50, 50)))
    (tmp_path / "a.npz").write_bytes(buffer.getvalue()[:5000])
    with pytest.raises(
        DataError, match=r"a\.npz: expected an archive of samples, got another, or a damaged one"
    ):
        gathered(tmp_path / "a.npz")


def test_wrong_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        gathered(tmp_path / "none.svm")
    for name in ("a.txt", "a", "a.npz.gz", "a.gz"):
        (tmp_path / name).write_text("")
        with pytest.raises(ParameterError, match=r"expected a file that ends in \.svm, \.svmlight"):
            gathered(tmp_path / name)
    (tmp_path / "a.svm").write_text("1 1:1\n")
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(ParameterError, match=r"expected files of one format, .*CSV"):
        gathered([tmp_path / "a.svm", tmp_path / "a.csv"])
    with pytest.raises(ParameterError, match="expected a file, got a folder"):
        gathered(tmp_path)


@given(junk=st.binary(max_size=60), suffix=st.sampled_from([".svm", ".csv", ".jsonl", ".npz"]))
@example(junk=b"1 1:0.5\n2 2:1e300\n", suffix=".svm")  # or nothing might be read at all
@example(junk=b"a,class\n1.5,x\n", suffix=".csv")
@example(junk=b'{"text": "sea", "label": "x"}\n', suffix=".jsonl")
def test_junk_is_an_error_or_finite_numbers(tmp_path_factory, junk, suffix):
    path = tmp_path_factory.mktemp("junk") / f"a{suffix}"
    path.write_bytes(junk)
    try:
        rows, _ = gathered(path)
    except DataError as error:
        named = error.path
    else:
        named = str(path)
        if isinstance(rows, list):
            assert all(isinstance(text, str) for text in rows)
        else:
            assert np.isfinite(rows).all()
    assert named == str(path)
