"""From every format to every other and back: the same rows, labels and columns."""

from __future__ import annotations

import csv
import gzip
import json
import math
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from narrows.errors import DataError, ParameterError
from narrows.read import iter_chunks
from tests.inside import write_otherwise, writer

FORMATS = [
    "npz",
    "parquet",
    "arrow",
    "svm",
    "svm.gz",
    "libsvm",
    "svm.xz",
    "csv",
    "csv.bz2",
    "csv.zst",
]
ROWS = 23


def numbers(dtype=np.float64):
    """Numbers that need all their digits, with empty rows and columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 6)) * 10.0 ** rng.integers(-300, 300, size=(ROWS, 6))
    if dtype == np.float32:
        X = rng.normal(size=(ROWS, 6))
    X[rng.random(X.shape) < 0.5] = 0
    X[[0, 4]] = 0
    X[1, 5] = 0.1 + 0.2
    X[:, 2] = 0
    return X.astype(dtype)


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


def refused(kind, target):
    """What a format cannot hold."""
    text = target.split(".")[0]
    if text in ("svm", "libsvm"):
        return kind == "text"
    return text == "csv" and kind == "several"


@pytest.mark.parametrize("kind", list(LABELS))
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("target", FORMATS)
def test_there_and_back(run, kind, is_sparse, target):
    X, y = numbers(), LABELS[kind]
    save("a.npz", X, y, is_sparse)
    status, _, err = run(f"convert a.npz b.{target} --chunk-rows 7 --json")
    if refused(kind, target):
        assert status in (1, 2)
        assert not Path(f"b.{target}").exists()
        return
    assert (status, err) == (0, "")
    base = "--one-based --width 6" if "svm" in target else ""
    for back in ("npz", "parquet", "arrow"):
        assert run(f"convert b.{target} c.{back} {base} --chunk-rows 4")[0] == 0
        found, labels = read(f"c.{back}")
        np.testing.assert_array_equal(found, X)
        if y is None:
            assert labels is None or ("svm" in target and not labels.any())
        else:
            np.testing.assert_array_equal(labels, y.toarray() if sparse.issparse(y) else y)


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_every_pair(run, source, target):
    X, y = numbers(), LABELS["int"]
    save("o.npz", X, y, is_sparse=True)
    base = "--one-based --width 6" if "svm" in source else ""
    assert run(f"convert o.npz a.{source}")[0] == 0
    status, out, err = run(f"convert a.{source} b.{target} {base} --chunk-rows 7")
    assert (status, out, err) == (0, f"23 rows written to b.{target}\n", "")
    found, labels = read(f"b.{target}")
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)
    assert labels.dtype.kind == "i"


@pytest.mark.parametrize("target", FORMATS)
def test_float32_keeps_its_values_and_in_binary_files_its_type(run, target):
    X = numbers(np.float32)
    save("a.npz", X, LABELS["int"], is_sparse=False)
    assert run(f"convert a.npz b.{target}")[0] == 0
    found, _ = read(f"b.{target}")
    np.testing.assert_array_equal(found, X)
    assert found.dtype == (np.float32 if target in ("npz", "parquet", "arrow") else np.float64)


def test_svmlight_is_what_scikit_learn_reads(run):
    X = numbers()
    save("a.npz", X, LABELS["several"], is_sparse=True)
    assert run("convert a.npz b.svm")[0] == 0
    found, labels = load_svmlight_file("b.svm", zero_based=False, n_features=6, multilabel=True)
    np.testing.assert_array_equal(found.toarray(), X)
    assert [set(map(int, row)) for row in labels] == [
        set(np.flatnonzero(row)) for row in LABELS["several"].toarray()
    ]


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


def test_a_csv_whose_rows_would_grow_is_refused(run):
    Path("a.svm").write_text("".join(f"{i % 2} {i + 1}:1\n" for i in range(9)))
    status, out, err = run("convert a.svm b.csv --chunk-rows 3")
    assert (status, out) == (2, "")
    assert "expected 3 columns, as in the rows before, got 6. Set --width" in err
    assert not Path("b.csv").exists()
    assert run("convert a.svm b.csv --chunk-rows 3 --width 9")[0] == 0
    np.testing.assert_array_equal(read("b.csv", 9)[0], np.eye(9))


def test_texts(run):
    rows = [
        {"label": 3, "text": "\ud800 half of a pair, \u2028 \u00fc \U0001f333"},
        {"label": -4, "text": "", "id": 5},
    ]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n\n" for row in rows))
    assert run("convert a.jsonl b.jsonl.gz")[0] == 0
    assert run("convert b.jsonl.gz c.jsonl")[0] == 0
    lines = Path("c.jsonl").read_bytes().decode().splitlines(keepends=False)
    found = [json.loads(line) for line in Path("c.jsonl").read_bytes().split(b"\n") if line]
    assert found == [{key: row[key] for key in ("label", "text")} for row in rows]
    assert "\u00fc" in lines[0] + lines[1]  # as it is, not as an escape
    assert run("convert a.jsonl b.npz")[0] == 2
    assert gzip.decompress(Path("b.jsonl.gz").read_bytes()) == Path("c.jsonl").read_bytes()


@pytest.mark.parametrize("chunk", [1, 4, ROWS, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_archive_in_pieces_holds_what_a_whole_one_does(tmp_path, chunk, dtype):
    X, Y = numbers(dtype), several()
    S = sparse.csr_array(X)
    pieces = [slice(a, a + chunk) for a in range(0, ROWS, chunk)]
    for name, rows, y in (("a", X, LABELS["text"]), ("b", S, Y), ("c", S, LABELS["int"])):
        with writer(str(tmp_path / f"{name}.npz"), None) as out:
            for piece in pieces:
                out.write(rows[piece], y[piece])
    parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": S.shape}
    labels = {"yindices": Y.indices, "yindptr": Y.indptr, "yshape": Y.shape}
    np.savez(tmp_path / "a2.npz", X=X, y=LABELS["text"])
    np.savez(tmp_path / "b2.npz", **parts, **labels)
    np.savez(tmp_path / "c2.npz", **parts, y=LABELS["int"])
    for name in "abc":
        with (
            np.load(tmp_path / f"{name}.npz") as found,
            np.load(tmp_path / f"{name}2.npz") as whole,
        ):
            assert set(found) == set(whole)
            for key in whole:
                np.testing.assert_array_equal(found[key], whole[key])
                assert key in ("indptr", "yindptr") or found[key].dtype == whole[key].dtype


def test_a_full_disk_is_told_with_the_name_of_the_file(run, monkeypatch):
    save("a.npz", numbers(), LABELS["int"], is_sparse=False)
    Path("b.svm").write_text("old")

    def full(writer, X, y, write):
        raise OSError(28, "No space left on device")

    write_otherwise(monkeypatch, "b.svm", full)
    status, out, err = run("convert a.npz b.svm")
    assert (status, out) == (1, "")
    assert err == "narrows: no space left on device: b.svm\n"
    assert Path("b.svm").read_text() == "old"


def test_labels_are_written_as_they_are_read(tmp_path):
    with (
        pytest.raises(ParameterError, match="expected labels that are numbers, got 'a'"),
        writer(str(tmp_path / "a.svm"), None) as out,
    ):
        out.write(np.eye(1), np.array(["a"]))
    for name in ("a.svm", "a.csv"):
        with writer(str(tmp_path / name), None) as out:
            out.write(np.eye(2) * math.pi, np.array([2.0, -1.0]))
        assert read(str(tmp_path / name), 2)[1].tolist() == [2, -1]
    with writer(str(tmp_path / "a.csv"), None) as out:
        for labels in ([2.0, 1.0], [2.0, 0.5], [-0.0, 2.0**62]):  # the same in every chunk
            out.write(np.eye(2), np.array(labels))
    labels = ["2", "1", "2", "0.5", "0", str(2**62)]
    assert read(str(tmp_path / "a.csv"), 2)[1].tolist() == labels


# -- several files in one ------------------------------------------------------------------------

INTS = np.array([0, 1, 2])
SHARDS = {  # of labels, by name: each can follow those that hold all its numbers
    "int32": INTS.astype(np.int32),
    "int64": INTS.astype(np.int64),
    "large": INTS + 2**40,
    "larger": INTS + 2**53 - 1,
    "unsigned": INTS.astype(np.uint64) + 2**63,
    "negative": INTS - 1,
    "float": INTS.astype(np.float64),
    "half": INTS + 0.5,
    "bool": INTS > 0,
    "text": np.array(["a", "bb", "2"]),
    "none": None,
    "several": sparse.csr_array(np.eye(3)),
}


def kind_of(y):
    if y is None or sparse.issparse(y):
        return "none" if y is None else "several"
    return "text" if y.dtype.kind == "U" else "number"


def shards(*pairs):
    """Files of rows and labels, and the model that keeps all columns."""
    for k, (X, y) in enumerate(pairs):
        save(f"shard{k}.npz", X, y, sparse.issparse(X))
    save("fit.npz", np.arange(6.0).reshape(3, 2), INTS, False)


@pytest.fixture
def keep_all(run):
    """The command line, and a model of two columns that keeps both."""

    def made(*pairs, target="npz"):
        shards(*pairs)
        assert run("fit fit.npz --method ocfs --n-features 2 -o m.narrows")[0] == 0
        status, out, err = run(f"transform m.narrows shard*.npz -o r.{target}")
        assert Path(f"r.{target}").exists() == (status == 0)
        return status, out, err

    return made


def written_labels(path):
    """The labels of a file, by what is not our own reader; None where it has none."""
    suffix = path.suffix
    if suffix in (".parquet", ".arrow"):
        table = (pq if suffix == ".parquet" else feather).read_table(path)
        return table["label"].to_pylist() if "label" in table.column_names else None
    if suffix == ".npz":
        with np.load(path) as archive:
            if "yindices" in archive:
                return np.split(archive["yindices"], archive["yindptr"][1:-1])
            return archive["y"].tolist() if "y" in archive else None
    lines = path.read_text().splitlines()
    if suffix == ".csv":
        words = [line.split(",")[2:] for line in lines[1:]]
        return None if not words[0] else [word for (word,) in words]
    return [line.split(" ")[0] for line in lines]


@pytest.mark.parametrize("target", ["npz", "parquet", "arrow", "csv", "svm"])
@pytest.mark.parametrize("first", list(SHARDS))
def test_labels_of_later_files_are_those_of_the_first_or_are_refused(tmp_path, first, target):
    X, before = np.arange(1, 7.0).reshape(3, 2), SHARDS[first]
    not_there = {"csv": ["several"], "svm": ["text"]}.get(target, [])
    for second, y in SHARDS.items():
        if first in not_there or second in not_there:
            continue
        path = tmp_path / f"{second}.{target}"

        def write(path=path, y=y):
            with writer(str(path), ["a", "b"]) as out:
                out.write(X, before, "first", range(1, 4))
                out.write(X, y, "second", range(1, 4))

        is_held = kind_of(before) == kind_of(y)
        if is_held and kind_of(y) == "number":
            dtype = before.dtype
            if target in ("csv", "svm") and dtype.itemsize < 8:  # text has no types
                dtype = np.dtype(np.int64)
            is_held = all(holds(dtype, value) for value in y.tolist())
        if not is_held:
            with pytest.raises(DataError, match=r"^second(:[123])?: expected .*as in the rows"):
                write()
            assert not path.exists()
            continue
        write()
        found = written_labels(path)
        if y is None:
            assert found == (["0"] * 6 if target == "svm" else None)
        elif sparse.issparse(y):
            assert [list(map(int, row)) for row in found] == [[0], [1], [2]] * 2
        elif kind_of(y) == "text":
            assert found == [*before.tolist(), *y.tolist()]
        else:
            expected = [Fraction(value) for value in [*before.tolist(), *y.tolist()]]
            assert [Fraction(value) for value in found] == expected


def holds(dtype, value):
    """Whether a number is among those of a type, by Python's own arithmetic."""
    if dtype.kind == "f":
        return float(value) == value  # which Python compares exactly
    if value != int(value):
        return False
    limits = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return limits[0] <= int(value) <= limits[1]


@pytest.mark.parametrize("target", ["npz", "parquet", "arrow", "csv", "svm"])
@pytest.mark.parametrize("second", ["dense", "sparse", "single"])
@pytest.mark.parametrize("first", ["dense", "sparse", "single", "sparse single"])
def test_rows_of_later_files_are_those_of_the_first(keep_all, first, second, target):
    whole = {"first": np.array([[0.5, 0.0], [0.0, 4.0], [3.0, 2.0]])}
    whole["second"] = whole["first"] + 1

    def of(kind, X):
        X = X.astype(np.float32 if "single" in kind else np.float64)
        return sparse.csr_array(X) if "sparse" in kind else X

    pairs = (of(first, whole["first"]), INTS), (of(second, whole["second"]), INTS)
    status, _, err = keep_all(*pairs, target=target)
    assert (status, err) == (0, "")
    found, labels = read(f"r.{target}", 2)
    np.testing.assert_array_equal(found, np.vstack(list(whole.values())))
    np.testing.assert_array_equal(labels, [*INTS, *INTS])
    if target in ("npz", "parquet", "arrow"):
        assert found.dtype == (np.float32 if "single" in first else np.float64)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("target", ["npz", "parquet", "arrow", "csv", "svm"])
def test_values_that_would_be_rounded_are_refused(keep_all, target, is_sparse):
    X, Z = np.eye(3, 2, dtype=np.float32), np.array([[1, 0], [0, 1.1], [0, 1e300]])
    if is_sparse:
        X, Z = sparse.csr_array(X), sparse.csr_array(Z)
    status, out, err = keep_all((X, INTS), (Z, INTS), target=target)
    if target in ("csv", "svm"):  # text has no types
        assert status == 0
        expected = Z.toarray() if is_sparse else Z
        np.testing.assert_array_equal(read(f"r.{target}", 2)[0][3:], expected)
        return
    assert (status, out) == (1, "")
    assert "shard1.npz:2: expected values that float32 holds" in err
    assert "got 1.1. Name the files with the wider type first." in err
    assert keep_all((Z, INTS), (X, INTS), target=target)[0] == 0


def test_labels_that_end_between_files_are_refused_by_name(keep_all):
    X = np.eye(3, 2)
    for first, second, message in (
        (INTS, None, "expected labels that are numbers, as in the rows before, got no labels"),
        (None, INTS, "expected no labels, as in the rows before, got labels that are numbers"),
        (INTS, np.array(["a", "b", "c"]), "got 'a'. Set --labels to text."),
        (INTS.astype(np.int32), INTS + 2**31, "shard1.npz:1: expected labels that int32 holds"),
        (
            sparse.csr_array(np.eye(3)),
            INTS,
            "expected several labels per sample, as in the rows befo",
        ),
    ):
        status, out, err = keep_all((X, first), (X, second))
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert err.startswith("narrows: shard1.npz")
        assert message in err


def test_columns_that_no_archive_holds_are_refused(run):
    big = {"data": [1.0], "indices": np.array([2**39]), "indptr": [0, 1], "shape": [1, 2**40]}
    np.savez("a.npz", y=[1], **big)
    for target in ("npz", "parquet", "arrow"):
        status, out, err = run(f"convert a.npz b.{target}")
        assert (status, out, "expected columns under 2^31" in err) == (2, "", True)


@pytest.mark.parametrize("target", ["npz", "parquet", "arrow", "csv", "svm"])
def test_a_failing_write_says_one_line(run, target):
    """Above all of Parquet, whose writer tries again when it is let go."""
    Path("a.svm").write_text("1 1:1\n" * 20 + "1 x\n")
    status, out, err = run(f"convert a.svm b.{target} --width 1 --chunk-rows 3")
    assert (status, out) == (1, "")
    assert err.startswith("narrows: a.svm:21: not a svmlight row")
    assert err.count("\n") == 1
    assert not Path(f"b.{target}").exists()


@pytest.mark.slow
def test_a_terminated_write_of_parquet_says_nothing(tmp_path):
    command = """
import os, signal, sys
from narrows.command import cli
from pyarrow.parquet import ParquetWriter
write_chunk = ParquetWriter.write_table
def ended(self, *args, **options):
    write_chunk(self, *args, **options)
    os.kill(os.getpid(), signal.SIGTERM)
ParquetWriter.write_table = ended
sys.exit(cli.main(["convert", "a.csv", "b.parquet", "--chunk-rows", "2"]))
"""
    (tmp_path / "a.csv").write_text("a,class\n" + "1,2\n" * 9)
    done = subprocess.run(
        [sys.executable, "-c", command], cwd=tmp_path, capture_output=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGTERM, b"", b"")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


# -- spreadsheets --------------------------------------------------------------------------------

FORMULAS = ["=1+1", "+1", "-1", "@sum", "a=1", "\t=1"]


def test_what_a_spreadsheet_would_compute_is_quoted_if_asked(run):
    header = ",".join(f'"{name}"' for name in FORMULAS)
    Path("a.csv").write_text(f'{header},class\n-1,2,3,4,5,-6.5,=x\n1,2,3,4,5,6,"-y"\n')
    assert run("convert a.csv b.csv")[0] == 0
    with open("b.csv", newline="") as file:
        names, first, second = csv.reader(file)
    assert names == [*FORMULAS, "label"]
    assert first == ["-1.0", "2.0", "3.0", "4.0", "5.0", "-6.5", "=x"]
    assert run("convert a.csv b.csv --csv-safe")[0] == 0
    with open("b.csv", newline="") as file:
        names, first, second = csv.reader(file)
    assert names == ["'=1+1", "'+1", "'-1", "'@sum", "a=1", "'\t=1", "label"]
    assert first == ["-1.0", "2.0", "3.0", "4.0", "5.0", "-6.5", "'=x"]
    assert second[-1] == "'-y"
    assert run("fit a.csv --method ocfs --n-features 6 -o m.narrows")[0] == 0
    status, out, _ = run("transform m.narrows a.csv -o - --csv-safe")
    assert status == 0
    assert "'=1+1" in out
    assert ",'=x\n" in out
    for line in ("convert a.csv b.npz", "transform m.narrows a.csv -o b.svm"):
        status, out, err = run(f"{line} --csv-safe")
        assert (status, out, "expected no --csv-safe" in err) == (2, "", True)
