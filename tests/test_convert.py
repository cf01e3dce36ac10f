"""From every format to every other and back: the same rows, labels and columns."""

from __future__ import annotations

import csv
import gzip
import json
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from narrows.errors import DataError
from narrows.read import iter_chunks
from tests.inside import pretend, writer

FORMATS = ["npz", "parquet", "arrow", "svm", "svm.xz", "csv", "csv.bz2", "csv.zst"]
ROWS = 23


def numbers():
    """Numbers that need all their digits, with empty rows and columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 6)) * 10.0 ** rng.integers(-300, 300, size=(ROWS, 6))
    X[rng.random(X.shape) < 0.5] = 0
    X[[0, 4]] = 0
    X[1, 5] = 0.1 + 0.2
    X[:, 2] = 0
    return X


def several():
    Y = np.random.default_rng(1).random((ROWS, 4)) < 0.3
    Y[[0, 5]] = False
    Y[1, 3] = True
    return sparse.csr_array(Y.astype(float))


LABELS = {
    "int": np.arange(ROWS) % 3 - 1,
    "text": np.array(["a b", 'say "x",\n', "\u00fc\r#"])[np.arange(ROWS) % 3],
    "whole": (np.arange(ROWS) % 3).astype(float),
    "large": 2**53 + np.arange(ROWS) % 3,
    "several": several(),
    "none": None,
}


def save(path, X, y, is_sparse):
    arrays = {"X": X}
    if is_sparse:
        S = sparse.csr_array(X)
        arrays = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": S.shape}
    if sparse.issparse(y):
        arrays |= {"yindices": y.indices, "yindptr": y.indptr, "yshape": y.shape}
    elif y is not None:
        arrays["y"] = y
    np.savez(path, **arrays)


def read(path, width=6, **options):
    """All rows of a file, dense and as wide as told, and all labels."""
    if "svm" in path:
        options["zero_based"] = False
    rows, labels = zip(*iter_chunks(path, chunk_rows=5, **options), strict=True)
    rows = [part.toarray() if sparse.issparse(part) else part for part in rows]
    rows = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in rows]
    if sparse.issparse(labels[0]):
        labels = [part.toarray() for part in labels]
        labels = [np.pad(part, ((0, 0), (0, 4 - part.shape[1]))) for part in labels]
    return np.concatenate(rows), None if labels[0] is None else np.concatenate(labels)


@pytest.mark.parametrize("kind", list(LABELS))
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("target", FORMATS)
def test_there_and_back(run, kind, is_sparse, target):
    X, y = numbers(), LABELS[kind]
    save("a.npz", X, y, is_sparse)
    status, _, err = run(f"convert a.npz b.{target} --chunk-rows 7 --json")
    if (target.split(".")[0], kind) in (("svm", "text"), ("csv", "several")):
        assert (status in (1, 2), Path(f"b.{target}").exists()) == (True, False)
        return
    assert (status, err) == (0, "")
    base = "--one-based --width 6" if "svm" in target else ""
    back = {"none": "npz", "int": "parquet", "text": "csv"}.get(kind, "arrow")
    assert run(f"convert b.{target} c.{back} {base} --chunk-rows 4")[0] == 0
    found, labels = read(f"c.{back}")
    np.testing.assert_array_equal(found, X)
    if y is None:
        assert labels is None or ("svm" in target and not labels.any())
    else:
        np.testing.assert_array_equal(labels, y.toarray() if sparse.issparse(y) else y)


@pytest.mark.parametrize("text", ["label,class,q\n1,2,3\n4,5,6\n", "indices,class,values\n1,2,3\n"])
@pytest.mark.parametrize("target", ["csv", "parquet", "arrow"])
def test_columns_with_names_that_mean_something(run, text, target):
    Path("a.csv").write_text(text)
    assert run(f"convert a.csv b.{target} --label class") == (
        0, f"{text.count(chr(10)) - 1} rows written to b.{target}\n", ""
    )  # fmt: skip
    name = "class" if "label" in text else "label"
    expected, found = read("a.csv", 2, label="class"), read(f"b.{target}", 2, label=name)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_texts(run):
    rows = [
        {"label": 3, "text": "\ud800 half of a pair, \u2028 \u00fc \U0001f333"},
        {"label": -4, "text": ""},
    ]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    assert run("convert a.jsonl b.jsonl.gz")[0] == 0
    lines = gzip.decompress(Path("b.jsonl.gz").read_bytes()).split(b"\n")
    assert [json.loads(line) for line in lines if line] == rows
    assert "\u00fc".encode() in lines[0]  # as it is, not as an escape
    assert run("convert a.jsonl b.npz")[0] == 2


# -- several files in one ------------------------------------------------------------------------

TARGETS = ["npz", "parquet", "arrow", "csv", "svm"]
FORMS = {
    "dense": np.asarray,
    "sparse": sparse.csr_array,
    "single": np.float32,
    "sparse single": partial(sparse.csr_array, dtype=np.float32),
}
INTS = np.array([0, 1, 2])


def put(path, first, second):
    """Write samples and labels as those of two files."""
    with writer(str(path), ["a", "b"]) as out:
        out.write(*first, "first", range(1, 4))
        out.write(*second, "second", range(1, 4))


WHOLE, HALVES, TEXT = INTS.astype(np.float64), INTS + 0.5, np.array(["a", "bb", "2"])
INT32, UNSIGNED = INTS.astype(np.int32), INTS.astype(np.uint64) + 2**63
SEVERAL = sparse.csr_array(np.eye(3))
CAN_FOLLOW = [  # labels of a file, and of another: the first type holds all numbers of both
    (INT32, INTS - 1), (INT32, WHOLE), (INT32, INTS > 0), (INTS, INTS + 2**53 - 1),
    (INTS - 1, INT32), (WHOLE, INTS + 2**40), (WHOLE, HALVES), (UNSIGNED, WHOLE),
    (UNSIGNED, INTS > 0), (INTS > 0, INTS > 0), (TEXT, TEXT[:0:-1].repeat([1, 2])),
    (None, None), (SEVERAL, SEVERAL),
]  # fmt: skip
CANNOT = [
    (INT32, INTS + 2**40), (INT32, HALVES), (INTS, HALVES), (INTS, UNSIGNED),
    (WHOLE, INTS + 2**53 - 1), (HALVES, INTS + 2**53 - 1), (UNSIGNED, INTS - 1),
    (INTS > 0, INTS), (INTS > 0, HALVES), (INTS, TEXT), (TEXT, INTS), (INTS, None), (None, INTS),
    (SEVERAL, INTS), (INTS, SEVERAL), (TEXT, None), (SEVERAL, TEXT),
]  # fmt: skip


@pytest.mark.parametrize("pair", range(len(CAN_FOLLOW)))
def test_labels_of_later_files_are_those_of_the_first(tmp_path, pair):
    X, (first, second) = np.arange(1, 7.0).reshape(3, 2), CAN_FOLLOW[pair]
    put(tmp_path / "a.npz", (X, first), (X, second))
    with np.load(tmp_path / "a.npz") as archive:
        if first is None:
            assert "y" not in archive
        elif first is SEVERAL:
            assert archive["yindices"].tolist() == [0, 1, 2] * 2
            assert archive["yindptr"].tolist() == [*range(7)]
        else:  # which Python compares exactly
            assert archive["y"].tolist() == [*first.tolist(), *second.tolist()]


@pytest.mark.parametrize("pair", range(len(CANNOT)))
def test_labels_that_the_first_file_cannot_hold_are_refused(tmp_path, pair):
    X, (first, second) = np.arange(1, 7.0).reshape(3, 2), CANNOT[pair]
    has_small_type = first is not None and first.dtype.itemsize < 8  # which CSV does not keep
    is_held_by_csv = not (has_small_type or first is SEVERAL or second is SEVERAL)
    for target in ("npz", "csv") if is_held_by_csv else ("npz",):
        with pytest.raises(DataError, match=r"^second(:[123])?: expected .*as in the rows"):
            put(tmp_path / f"a.{target}", (X, first), (X, second))
        assert not (tmp_path / f"a.{target}").exists()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("second", FORMS)
@pytest.mark.parametrize("first", FORMS)
def test_rows_of_later_files_are_those_of_the_first(tmp_path, first, second, target):
    X, path = np.array([[0.5, 0.0], [0.0, 4.0], [3.0, 2.0]]), tmp_path / f"r.{target}"
    put(path, (FORMS[first](X), INTS), (FORMS[second](X + 1), INTS))
    found, labels = read(str(path), 2)
    np.testing.assert_array_equal(found, np.vstack([X, X + 1]))
    np.testing.assert_array_equal(labels, [*INTS, *INTS])
    if target not in ("csv", "svm"):  # text has no types
        assert found.dtype == FORMS[first](X).dtype


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("target", ["npz", "parquet", "arrow"])
def test_values_that_would_be_rounded_are_refused(tmp_path, target, form):
    single = form(np.eye(3, 2, dtype=np.float32)), INTS
    double = form(np.array([[1, 0], [0, 1.1], [0, 1e300]])), INTS
    with pytest.raises(DataError, match="second:2: expected values that float32 holds"):
        put(tmp_path / f"r.{target}", single, double)
    put(tmp_path / f"r.{target}", double, single)


@pytest.mark.parametrize("target", ["csv", "npz", "parquet", "arrow"])
def test_columns_that_do_not_fit_are_refused(run, target):
    np.savez("a.npz", y=[1], data=[1.0], indices=[2**39], indptr=[0, 1], shape=[1, 2**40])
    lines, said = ("a.npz", "expected columns under 2^31")
    if target == "csv":  # whose rows would grow
        Path("a.svm").write_text("".join(f"{i % 2} {i + 1}:1\n" for i in range(9)))
        lines, said = ("a.svm", "expected 3 columns, as in the rows before, got 6")
    status, out, err = run(f"convert {lines} b.{target} --chunk-rows 3")
    assert (status, out, said in err, Path(f"b.{target}").exists()) == (2, "", True, False)


def test_what_a_spreadsheet_would_compute_is_quoted_if_asked(run):
    Path("a.csv").write_text('=1+1,@sum,a=1,"\t=1",class\n-1,2,-6.5,3,=x\n1,2,3,4,"-y"\n')
    assert run("convert a.csv b.csv --csv-safe")[0] == 0
    with open("b.csv", newline="") as file:
        names, first, second = csv.reader(file)
    assert names[:3] == ["'=1+1", "'@sum", "a=1"]
    assert names[3] in ("'\t=1", r"'\t=1'")
    assert (first, second[-1]) == (["-1.0", "2.0", "-6.5", "3.0", "'=x"], "'-y")
    status, _, err = run("convert a.csv b.npz --csv-safe")
    assert (status, "expected no --csv-safe" in err) == (2, True)


def test_an_error_that_is_kept_leaves_ctrl_c_as_it_was(run, monkeypatch):
    kept, before = [], signal.getsignal(signal.SIGINT)

    def fails(*given, **options):
        kept.append(ValueError("full"))
        raise kept[0]

    pretend(monkeypatch, "another function opens outputs", fails)
    assert run("convert a.csv b.csv", a__csv="a,label\n1,x\n2,y\n")[0] == 1
    assert signal.getsignal(signal.SIGINT) is before
