"""The command line, run as a user runs it: what it prints, what it leaves, how it ends."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer

import narrows
from narrows import OCFS, ForwardFS
from narrows.command import cli
from narrows.read import source_of
from tests.cases import METHODS as METHODS_BY_NAME
from tests.cases import labelled
from tests.conftest import EVERYTHING, slow

METHODS = {name.lower(): kind for name, kind in METHODS_BY_NAME.items()}
TAKES_DENSE = {"leace"}  # alone: tests/test_leace.py has its files

COMMAND = [sys.executable, "-m", "narrows.command.cli"]


@pytest.fixture
def svm(tmp_path):
    X, _ = labelled(sparse=True)
    y = np.arange(60) % 3
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=False)
    return sparse.csr_array(X), y


def read_npz(path):
    with np.load(path) as archive:
        arrays = dict(archive)
    if "X" in arrays:
        return arrays["X"], arrays.get("y")
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    return sparse.csr_array(parts, shape=arrays["shape"]).toarray(), arrays.get("y")


# -- the main job --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*gains? margin")
@pytest.mark.parametrize("method", [name for name in METHODS if name not in TAKES_DENSE])
@pytest.mark.parametrize("chunk_rows", [7, 1000])
def test_from_file_to_reduced_file_is_what_python_gives(run, svm, method, chunk_rows):
    X, y = svm
    size = "n_features" if "n_features" in METHODS[method]().get_params() else "n_components"
    status, out, err = run(
        f"fit a.svm --method {method} --{size.replace('_', '-')} 2 -o m.narrows "
        f"--chunk-rows {chunk_rows}"
    )
    name = METHODS[method].__name__
    assert status == 0
    assert err == "" or err.startswith(f"narrows: warning: {name}:")
    classes = "1 class" if method == "pca" else "3 classes"  # pca ignores labels
    assert out == f"{name}: 60 rows, {classes}, 7 columns -> 2; saved to m.narrows\n"
    expected = METHODS[method](2)
    if "shuffle" in expected.get_params():
        expected.set_params(shuffle=False)  # a file is learned in its own order
    expected = expected.fit(X, y).transform(X)
    expected = expected.toarray() if sparse.issparse(expected) else expected
    for name in ("r.npz", "r.svm", "r.svm.gz", "r.csv", "r.csv.gz"):
        assert run(f"transform m.narrows a.svm -o {name} --chunk-rows {chunk_rows}")[0] == 0
    found, labels = read_npz("r.npz")
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(labels, y)
    for name in ("r.svm", "r.svm.gz"):
        found, labels = load_svmlight_file(name, zero_based=False, n_features=2)
        np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)
        np.testing.assert_array_equal(labels, y)
    text = Path("r.csv").read_text()
    assert gzip.decompress(Path("r.csv.gz").read_bytes()).decode() == text
    header, *rows = text.splitlines()
    model = narrows.load("m.narrows")
    assert header.split(",") == [*model.get_feature_names_out(), "label"]
    numbers = [[float(cell) for cell in row.split(",")[:-1]] for row in rows]
    np.testing.assert_allclose(numbers, expected, atol=1e-12)
    assert [row.split(",")[-1] for row in rows] == [str(label) for label in y]
    again = run(f"transform m.narrows a.svm -o - --chunk-rows {chunk_rows}")
    assert again[1] == text


def test_text_goes_in_raw_and_its_terms_come_out_as_names(run):
    lines = [("sea", "salt water and a ship"), ("land", "sand and a tree"),
             ("sea", "a ship of salt"), ("land", "a tree and a stone")]  # fmt: skip
    text = "".join(json.dumps({"label": label, "text": t}) + "\n" for label, t in lines)
    status, out, _ = run(
        "fit a.jsonl --method ocfs --n-features 3 -o m.narrows --json", a__jsonl=text
    )
    assert status == 0
    summary = json.loads(out)
    assert summary["classes"] == ["land", "sea"]
    assert (summary["rows"], summary["columns"], summary["dimensions"]) == (4, 9, 3)
    new = '{"text": "the SHIP, the ship!"}\n{"text": "tree"}\n'
    assert run("transform m.narrows b.jsonl -o r.csv", b__jsonl=new)[0] == 0
    header, first, second = Path("r.csv").read_text().splitlines()
    assert sorted(header.split(",")) == ["salt", "ship", "tree"]
    assert [float(cell) > 0 for cell in first.split(",")] == [False, True, False]
    assert [float(cell) for cell in second.split(",")] == [0, 0, 1]
    status, out, _ = run("info m.narrows --top 3")
    assert status == 0
    assert {"salt", "ship", "tree"} <= set(out.split())
    model = narrows.load("m.narrows")
    assert sorted(model.get_feature_names_out()) == ["salt", "ship", "tree"]
    X = source_of(model).tfidf.transform(["a ship"])
    assert model.transform(X).toarray()[0, 1] > 0


def test_split_label_and_several_files(run):
    rows = [{"kind": i % 2, "body": f"w{i % 2} x{i}", "split": "ab"[i % 3 == 0]} for i in range(9)]
    a, b = ("".join(json.dumps(row) + "\n" for row in part) for part in (rows[:4], rows[4:]))
    status, out, _ = run(
        "fit a.jsonl b.jsonl --label kind --text body --split a --method oc -o m.narrows --json",
        a__jsonl=a, b__jsonl=b,
    )  # fmt: skip
    assert status == 0
    assert json.loads(out)["rows"] == 6
    # the model knows the keys
    assert run("transform m.narrows b.jsonl --split b -o r.npz")[1].startswith("1 rows x 1 columns")


def test_csv_columns_are_found_by_name(run):
    assert run("fit a.csv --method ocfs --n-features 1 -o m.narrows",
               a__csv="a,b,class\n1,5,x\n9,5,y\n")[0] == 0  # fmt: skip
    assert run("transform m.narrows b.csv -o -", b__csv="b,a\n1,2\n")[1] == "a\n2.0\n"
    status, _, err = run("transform m.narrows c.csv -o r.npz", c__csv="b,q\n1,2\n")
    assert status == 1
    assert "c.csv:1: expected the 2 columns of the fit, got all but 'a', and 'q' besides." in err


@pytest.mark.parametrize("method", ["df", "variancefs"])
def test_methods_without_labels_take_files_without_labels(run, method):
    assert run(f"fit a.csv --method {method} --n-features 1 -o m.narrows",
               a__csv="a,b\n1,0\n0,5\n0,9\n")[0] == 0  # fmt: skip
    assert run("transform m.narrows a.csv -o -")[1] == "b\n0.0\n5.0\n9.0\n"


def test_files_of_one_data_set_need_not_have_their_columns_in_one_order_or_number(run):
    two = "a,b,class\n1,5,x\n9,5,y\n", "b,a,class\n5,1,x\n5,9,y\n"
    assert run("fit a.csv b.csv --method ocfs -o m.narrows", a__csv=two[0], b__csv=two[1])[0] == 0
    assert narrows.load("m.narrows").scores_.tolist() == [16, 0]
    wide, slim = "1 1:1 5:2\n2 2:1\n", "1 1:3\n2 3:1\n"
    for order in ("a.svm b.svm", "b.svm a.svm"):
        assert run(f"fit {order} --method ocfs -o m.narrows", a__svm=wide, b__svm=slim)[0] == 0
        assert narrows.load("m.narrows").n_features_in_ == 5


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_labels_of_a_csv_are_numbers_only_if_those_of_the_first_chunk_are(run, rows):
    numbers, late = "a,class\n1,0\n2,1\n3,0\n", "a,class\n1,0\n2,1\n3,0\n4,x\n"
    for text, classes, n in ((numbers, [0, 1], 0), (late, ["0", "1", "x"], 4), (
        "a,class\n1,01\n2,1\n", ["01", "1"], 0
    )):  # fmt: skip
        line = f"fit a.csv --method ocfs --chunk-rows {rows} -o m.narrows"
        status, _, err = run(line, a__csv=text)
        if rows < n:
            assert (status, "a.csv:5: " in err, err.count("\n")) == (1, True, 1)
            assert run(line + " --labels text")[0] == 0
        assert narrows.load("m.narrows").classes_.tolist() == classes


def test_without_a_verb_the_help_is_shown(run):
    status, _, err = run("")
    assert status == 2
    assert err.startswith("Usage: narrows")
    assert len(err.splitlines()) > 10


def test_the_svmlight_base_is_kept(run):
    zero = "1 0:1 1:2\n2 1:5\n"
    assert run("fit a.svm --method ocfs --n-features 1 -o m.narrows", a__svm=zero)[0] == 0
    assert run("transform m.narrows b.svm -o -", b__svm="1 1:7\n")[1] == "x1,label\n7.0,1\n"
    status, _, err = run("transform m.narrows b.svm -o - --one-based")
    assert status == 2
    assert "--one-based: expected --zero-based, as m.narrows was fitted" in err


def test_several_labels_a_row(run, tmp_path):
    X, _ = labelled()
    Y = sparse.csr_array(np.random.default_rng(3).random((60, 3)) < 0.5).astype(int)
    np.savez(tmp_path / "a.npz", X=X, yindices=Y.indices, yindptr=Y.indptr, yshape=Y.shape)
    assert run("fit a.npz --method oc -o m.narrows --chunk-rows 25")[0] == 0
    expected = narrows.OC().fit(X, Y)
    np.testing.assert_allclose(narrows.load("m.narrows").components_, expected.components_)
    assert run("transform m.narrows a.npz -o r.svm")[0] == 0
    _, labels = load_svmlight_file("r.svm", multilabel=True)
    assert [set(map(int, row)) for row in labels] == [
        set(np.flatnonzero(row)) for row in Y.toarray()
    ]
    assert run("transform m.narrows a.npz -o r.npz")[0] == 0
    assert (
        "expected one label per sample, got several" in run("transform m.narrows a.npz -o r.csv")[2]
    )


@pytest.mark.parametrize("method", ["ocfs", "oc"])
def test_info(run, svm, method):
    run(f"fit a.svm --method {method} -o m.narrows --priors sqrt")
    status, text, err = run("info m.narrows --top 2")
    assert (status, err) == (0, "")
    assert "priors='sqrt'" in text
    assert "60 rows, 7 columns" in text
    assert "3 classes: 0 (20), 1 (20), 2 (20)" in text
    summary = json.loads(run("info m.narrows --top 2 --json")[1])
    model = narrows.load("m.narrows")
    if method == "ocfs":
        best = np.argsort(-model.scores_)[:2]
        assert [entry["column"] for entry in summary["top"]] == best.tolist()
        assert summary["top"][0]["value"] == model.scores_[best[0]]
    else:
        assert [d["eigenvalue"] for d in summary["top"]] == model.eigenvalues_.tolist()
        first = summary["top"][0]["columns"][0]
        assert first["column"] == np.abs(model.components_[0]).argmax()
    status, out, err = run("info m.narrows --per-class --json --top 1")
    if method == "ocfs":
        per_class = json.loads(out)["per_class"]
        assert list(per_class) == ["0", "1", "2"]
        best = per_class["1"][0]
        assert best["column"] == model.class_scores_[1].argmax()
        above = model.moments_.means[1] > model.moments_.mean
        assert best["more"] == above[best["column"]]
        assert summary["top"][0]["kept"]
        lines = run("info m.narrows --per-class --top 7")[1].splitlines()
        assert sum(line.startswith("* ") for line in lines) == model.n_features_
        assert {line[0] for line in lines if line.startswith(("+ ", "- "))} == {"+", "-"}
    else:
        assert (status, out) == (2, "")
        assert "expected a method with class scores, such as OCFS, IG, CHI or MI, got OC." in err


def test_info_ranks_as_the_selection_does_and_its_json_has_no_infinity(run):
    rows = "1 1:1 2:1 4:5\n1 1:1 2:3 4:5\n2 1:1 2:9 3:1 4:7\n2 1:1 2:4 4:7\n"
    assert run("fit a.svm --method fisherfs --n-features 1 -o m.narrows", a__svm=rows)[0] == 0
    top = json.loads(run("info m.narrows --json")[1], parse_constant=pytest.fail)["top"]
    assert [entry["column"] for entry in top][::3] == [3, 0]  # the constant column is last
    assert top[0] == {"column": 3, "name": "x3", "value": "inf", "kept": True}
    assert "* x3   inf" in run("info m.narrows")[1]
    run("fit b.svm --method mmcfs --n-features 1 -o m.narrows", b__svm="1 1:1\n2 3:1\n1 3:2\n")
    top = json.loads(run("info m.narrows --json")[1])["top"]
    assert top[-1]["column"] == 1
    assert [entry["kept"] for entry in top] == [True, False, False]


def test_parameters(run, svm):
    assert run("fit a.svm --method ocfs --param energy=0.5 -o m.narrows")[0] == 0
    assert narrows.load("m.narrows").energy == 0.5
    assert run("fit a.svm --method ocfs --n-features 0.5 --priors 1,2,3 -o m.narrows")[0] == 0
    assert narrows.load("m.narrows").get_params() == {
        "n_features": 0.5, "energy": None, "threshold": None, "priors": [1, 2, 3],
        "per_class": None, "half_life": None,
    }  # fmt: skip
    assert run("fit a.svm --method OCFS --threshold 0.01 -o m.narrows")[0] == 0


@pytest.mark.slow
def test_demo(run, tmp_path):
    pytest.importorskip("matplotlib")
    status, out, err = run("demo")
    assert (status, err) == (0, "")
    assert "\nUse SRDA with 9 dimensions: " in out
    table = {line.split()[0]: line.split()[1:3] for line in out.splitlines() if "  " in line}
    assert list(table)[:7] == ["method", "all", "srda", "pca", "forwardfs", "ocfs", "f_classif"]
    assert "\nUse PLS with 2 dimensions: R^2 0.4" in out
    assert table["srda"][0] == "9"  # the last of its sizes
    assert float(table["srda"][1]) > 0.93
    assert (tmp_path / "narrows-demo.png").read_bytes().startswith(b"\x89PNG")
    status, out, _ = run("demo --json -o x.svg")
    assert json.loads(out)["lines"][0]["method"] == "all columns"
    assert "<svg" in (tmp_path / "x.svg").read_text()


# -- what goes wrong -----------------------------------------------------------------------------

GOOD = "1 1:1 2:1\n2 2:5\n"
WRONG = [
    ("fit none.svm --method oc -o x", 2, "no such file: none.svm"),
    ("fit a.txt --method oc -o x", 2, "a.txt: expected a file that ends in .svm, .svmlight"),
    ("fit a.svm --method nope -o x", 2, "'nope' is not one of 'ccipca', 'chi'"),
    ("fti a.svm --method oc -o x", 2, "No such command 'fti'"),
    ("fit a.svm --method oc", 2, "Missing option '-o'"),
    ("fit --method oc -o x", 2, "Missing argument 'INPUT...'"),
    ("fit a.svm --method oc -o x --nope", 2, "No such option"),
    (
        "fit a.svm --method oc -o x --n-features 3",
        2,
        "expected a parameter of OC, got 'n_features'. Methods with --n-features: chi, corr",
    ),
    (
        "fit a.svm --method oc -o x --param q=1",
        2,
        "expected a parameter of OC, got 'q'. Choose from half_life, n_components,",
    ),
    (
        "fit a.svm --method ocfs -o x --tolerance 0.1",
        2,
        "No such option '--tolerance'. Version 0.4 removed it: all rows are read.",
    ),
    ("fit a.svm --method oc -o x --param q", 2, "--param: expected NAME=VALUE, got q."),
    (
        "fit a.svm --method ocfs -o x --n-features few",
        2,
        "expected --n-features to be a number or \"cv\", got 'few'",
    ),
    (
        "fit a.svm --method ocfs -o x --n-features 9",
        2,
        "expected n_features<=2, the number of features in the data, got 9",
    ),
    ("fit a.svm --method ocfs -o x --energy 2", 2, "expected --energy to be in (0, 1], got 2"),
    (
        "fit a.svm --method oc -o x --n-components 5",
        2,
        "2 classes have at most 1 direction, got 5. Use",
    ),
    ("fit a.svm --method oc -o x --priors uneven", 2, "expected priors to be"),
    (
        "fit a.svm --method forwardfs -o x --start x1",
        2,
        "expected --start to have indices of the features, since they have no names, got 'x1'",
    ),
    ("fit a.svm --method forwardfs -o x --start 1,2", 2, "indices of the 2 features, got 2"),
    ("fit a.svm --method forwardfs -o x --param start=2", 2, "indices of the 2 features, got 2"),
    ("fit a.svm --method srda -o x --alpha=-1", 2, "expected --alpha to be"),
    (
        "fit a.svm --method srda -o x --half-life x",
        2,
        "expected --half-life to be a number of samples",
    ),
    (
        "fit a.svm --method srda -o x --param max_iter=1.5",
        2,
        "expected `max_iter` to be an integer >= 1",
    ),
    (
        "fit a.svm --method ocfs -o x --start 1",
        2,
        "Methods with --start: forwardfs.",
    ),
    (
        "fit a.svm --method oc -o x --ridge 1",
        2,
        "Methods with --ridge: forwardfs.",
    ),
    (
        "fit a.svm --method forwardfs -o x --ridge -1",
        2,
        'expected --ridge to be "auto" or a number >= 0',
    ),
    (
        "fit a.svm --method forwardfs -o x --head 0",
        2,
        "expected --head to be an integer from 1 to 8,191",
    ),
    (
        "fit a.svm --method oc -o x --priors 1,b",
        2,
        'expected priors to be "empirical", "sqrt", "balanced"',
    ),
    ("fit a.svm --method oc -o none/x", 2, "expected a folder none, got none"),
    ("fit a.svm --method oc -o .", 2, ".: expected a file, got a folder"),
    ("fit . --method oc -o x", 2, "expected a file, got a folder"),
    (
        "fit a.svm a.csv --method oc -o x",
        2,
        "a.csv: expected files of one format, svmlight as a.svm, got CSV",
    ),
    ("fit empty.svm --method oc -o x", 1, "empty.svm: expected at least one row, got none"),
    ("fit bad.svm --method oc -o x", 1, "bad.svm:2: not a svmlight row"),
    (
        "fit one.svm --method oc -o x",
        1,
        "one.svm: expected two classes of positive weight, got 1",
    ),
    ("fit nan.svm --method oc -o x", 1, "nan.svm:2: expected finite values, got NaN"),
    ("fit same.svm --method oc -o x", 1, "same.svm: expected classes with different means"),
    ("fit a.csv --method oc -o x", 1, "a.csv:1: expected a label column"),
    ("fit words.jsonl --method oc -o x", 1, "words.jsonl: expected texts with words, got none"),
    ("transform none.narrows a.svm -o x.npz", 2, "none.narrows"),
    ("transform m.narrows none.svm -o x.npz", 2, "no such file: none.svm"),
    ("transform m.narrows a.svm -o x.txt", 2, "got .txt, which is not supported. Convert"),
    (
        "transform m.narrows a.svm -o x.jsonl",
        2,
        "x.jsonl: expected a format for numbers, got one for texts",
    ),
    (
        "transform half.narrows a.svm -o x.npz",
        1,
        "half.narrows: expected a narrows model, got another file, or",
    ),
    ("transform a.svm a.svm -o x.npz", 1, "a.svm: expected a narrows model"),
    (
        "transform m.narrows wide.svm -o x.npz",
        1,
        "wide.svm:2: expected columns from 1 to 2, got column 3",
    ),
    ("transform m.narrows wide.csv -o x.npz", 1, "expected rows of 2 columns, got 3"),
    ("transform m.narrows bad.svm -o x.npz", 1, "bad.svm:2: not a svmlight row"),
    (
        "transform m.narrows words.jsonl -o x.npz",
        2,
        "words.jsonl: expected numbers, as m.narrows has, got texts",
    ),
    (
        "transform m.narrows a.svm -o x.npz --width 9",
        2,
        "--width: expected 2, as of m.narrows, got 9",
    ),
    ("transform words.narrows words.csv -o x.svm", 2, "expected labels that are numbers, got 'u'"),
    ("info half.narrows", 1, "half.narrows"),
    ("info none.narrows", 2, "no such file: none.narrows"),
    ("fit a.svm --method oc -o -", 2, "-o: expected a file for the model, got standard output"),
    ("fit a.svm --method oc --priors 1,2,3 -o x", 2, "one number for each class"),
    ("nope", 2, "No such command 'nope'"),
    ("info .", 2, ".: expected a file, got a folder"),
    ("fit a.svm --method oc -o a.svm", 2, "a.svm: expected an output, got an input"),
    ("transform m.narrows a.svm -o a.svm", 2, "a.svm: expected an output, got an input"),
    ("transform m.narrows a.svm -o m.narrows", 2, "m.narrows: expected an output, got an input"),
    (
        "fit a.svm --split train --method oc -o x",
        2,
        "a.svm: expected no --split, which svmlight does not",
    ),
    (
        "fit words.csv --one-based --method oc -o x",
        2,
        "words.csv: expected no --zero-based, which CSV does not",
    ),
    ("fit - - --method oc -o x", 2, "-: expected standard input once, got it twice"),
    ('fit a.svm --method oc --param priors=["a","b"] -o x', 2, "expected priors to be numbers"),
    (
        "fit a.svm --method ocfs --param energy=high -o x",
        2,
        "expected --energy to be a number, got 'high'",
    ),
    ("fit a.svm --method oc -o x --every 5", 2, "--every: expected --checkpoint FILE beside it"),
    ("update m.narrows a.svm -o x --every 5", 2, "--every: expected --checkpoint FILE beside it"),
    ("compare a.svm --seed -1", 2, "-1 is not in the range 0<=x<=4294967295"),
    ("compare a.svm --seed 4294967296", 2, "is not in the range 0<=x<=4294967295"),
    (f"fit a.svm --method mmc -o x --param eps={'9' * 400}", 2, "expected --eps to be"),
    (
        f"fit a.svm --method mmc -o x --param eps={'[' * 100_000}",
        2,
        "expected --eps to be a finite number >= 0",
    ),
    (f"fit a.svm --method oc -o x --n-components {'9' * 400}", 2, "expected --n-components to be"),
    (f"fit a.svm --method ocfs -o x --n-features {'9' * 400}", 2, "expected --n-features to be"),
    (
        "fit words.csv other.csv --method oc -o x",
        1,
        "other.csv:1: expected the 1 columns of the fi",
    ),
]


@pytest.mark.parametrize(("line", "expected", "message"), WRONG, ids=[w[0][:80] for w in WRONG])
def test_what_goes_wrong_is_one_line_and_leaves_nothing(run, tmp_path, line, expected, message):
    assert run("fit a.svm --method ocfs --n-features 1 -o m.narrows", a__svm=GOOD)[0] == 0
    (tmp_path / "half.narrows").write_bytes((tmp_path / "m.narrows").read_bytes()[:200])
    assert (
        run("fit words.csv --method oc -o words.narrows", words__csv="a,class\n1,u\n2,v\n")[0] == 0
    )
    files = {
        "a__txt": "1", "empty__svm": "", "bad__svm": "1 1:1\n2 x:1\n", "one__svm": "1 1:1\n1 2:1\n",
        "nan__svm": "1 1:1\n2 1:nan\n", "a__csv": "a,b\n1,2\n", "wide__svm": "1 1:1\n1 3:1\n",
        "wide__csv": "a,b,c\n1,2,3\n", "words__jsonl": '{"text": "?", "label": "a"}\n',
        "same__svm": "1 1:1\n2 1:1\n", "other__csv": "q,class\n1,u\n",
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name.replace("__", ".")).write_text(content)
    before = sorted(os.listdir(tmp_path))
    status, out, err = run(line)
    assert status == expected, err
    assert out == ""
    assert message in err
    assert err.startswith("narrows: ")
    assert err.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == before


VALUES = [
    "9" * 400, "-" + "9" * 400, "9" * 5_000, "[" * 100_000, "[" * 100_000 + "]" * 100_000,
    '{"a":' * 100_000, "NaN", "Infinity", "-Infinity", "1e999", "1e-400", str(10**30), str(2**63),
    "\udcff", '"\udcff"', r'"\ud800"', "\x1b[31m", "", "[]", "{}", "true", "null", "[null]", "[{}]",
    '[1,"a"]', "[NaN,1,1]", f"[{'9' * 400},1]", "[[1,2],[3]]", '{"array":[1]}', "[5e-324,5e-324]",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.more
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", list(METHODS))
def test_no_value_of_a_parameter_is_a_traceback(tmp_path, monkeypatch, capfd, method):
    monkeypatch.chdir(tmp_path)
    Path("a.svm").write_text(GOOD * 3)
    for name in [*METHODS[method]().get_params(), "", "none"]:
        values = VALUES if EVERYTHING else VALUES[::3]
        if name in ("passes", "max_iter", "patience"):  # a large number of them takes its time
            values = [value for value in values if not value.isdecimal()]
        for value in values:
            parameter = f"{name}={value}"
            command = ["fit", "a.svm", "--method", method, "-o", "m.narrows", "--one-based"]
            status = cli.main([*command, "--param", parameter])
            out, err = capfd.readouterr()
            assert status in (0, 1, 2), parameter[:80]
            assert all(line.startswith("narrows: ") for line in err.splitlines()), err
            assert status == 0 or err.count("\n") > 0
            assert (out + err).replace("\n", "").isprintable()
            if status == 0:
                assert cli.main(["info", "m.narrows", "--json"]) == 0
                json.loads(capfd.readouterr()[0], parse_constant=pytest.fail)


# -- cross products ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*gains? margin")
@pytest.mark.parametrize("method", ["srda", "lda", "mmc", "pca"])
def test_cross_products_are_updated_merged_and_described(run, method):
    rows = [f"{k % 7},{k * k % 11},{(k % 3) * 2 + k % 2},{k % 3}" for k in range(90)]
    for name, some in (("a", rows), ("b", rows[:40]), ("c", rows[40:])):
        Path(f"{name}.csv").write_text("\n".join(["x,y,z,class", *some, ""]))
        assert run(f"fit {name}.csv --method {method} --n-components 2 -o {name}.narrows")[0] == 0
    assert run("merge b.narrows c.narrows -o merged.narrows")[0] == 0
    assert run("update b.narrows c.csv -o updated.narrows --chunk-rows 7")[0] == 0
    whole = narrows.load("a.narrows")
    for name in ("merged", "updated"):
        found = narrows.load(f"{name}.narrows")
        np.testing.assert_allclose(found.components_, whole.components_, rtol=1e-9, atol=1e-9)
    status, out, _ = run("info merged.narrows --json")
    assert status == 0
    assert len(json.loads(out)["top"]) == 2
    assert ("alpha" in json.loads(out)) == (method == "srda")
    assert ("\nalpha " in run("info merged.narrows")[1]) == (method == "srda")
    assert run("transform merged.narrows a.csv -o z.npz")[0] == 0
    assert read_npz("z.npz")[0].shape == (90, 2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--alpha auto", {"alpha": "auto"}),
        ("--alpha cv", {"alpha": "cv"}),
        ("--alpha scale --half-life 20", {"alpha": "scale", "half_life": 20.0}),
        ("--alpha 0.5", {"alpha": 0.5}),
        ("--param solver=lsqr --param tol=1e-3", {"solver": "lsqr", "tol": 1e-3}),
    ],
)
def test_the_parameters_of_srda(run, svm, options, expected):
    status, _, err = run(f"fit a.svm --method srda {options} -o m.narrows")
    assert (status, err) == (0, "")
    found = narrows.load("m.narrows").get_params()
    assert {name: found[name] for name in expected} == expected
    status, out, err = run("fit a.svm --method srda --alpha much -o m.narrows")
    assert (status, out) == (2, "")
    assert "got 'much'" in err


# -- forward selection ---------------------------------------------------------------------------


def test_features_to_start_with_are_columns_by_name_or_number(run):
    X, y = labelled(d=6)
    columns = ["a", "b", "c", "d", "e", "1"]
    rows = [[*map(repr, row.tolist()), label] for row, label in zip(X, y, strict=True)]
    text = "\n".join(map(",".join, [[*columns, "class"], *rows, ""]))
    fit = "fit a.csv --method forwardfs --n-features 4 -o m.narrows"
    expected = ForwardFS(n_features=4, start=[3, 5]).fit(X, y)
    for start in ("d,1", "3,5", "d,5"):  # a column that is called 1 comes before column number 1
        assert run(f"{fit} --start {start}", a__csv=text)[::2] == (0, "")
        found = narrows.load("m.narrows")
        assert found.start == [3, 5]
        assert found.ranking_.tolist() == expected.ranking_.tolist()
    top = json.loads(run("info m.narrows --json")[1])["top"]
    assert [entry["name"] for entry in top] == [columns[k] for k in expected.ranking_]
    assert [entry["explained"] for entry in top if entry["kept"]] == expected.gain_curve_.tolist()
    assert all("explained" not in entry for entry in top[4:])
    shown = run("info m.narrows --top 5")[1].splitlines()[-5:]
    assert shown[0] == f"* d  {expected.scores_[3]: .6g}  {expected.gain_curve_[0]:.4f}"
    assert shown[4][:4].split() == [columns[expected.ranking_[4]]]
    assert run("update m.narrows a.csv -o m.narrows")[0] == 0
    assert narrows.load("m.narrows").n_samples_seen_ == 120
    status, out, err = run(f"{fit} --start b,dd")
    assert (status, out) == (2, "")
    assert err == (
        "narrows: expected --start to have names of the 6 features, got 'dd'. Did you mean d?\n"
    )


def test_forward_selection_by_its_options(run):
    X, y = labelled(n=120)
    y = np.unique(y, return_inverse=True)[1]
    dump_svmlight_file(X, y, "a.svm", zero_based=False)
    options = "--n-features cv --ridge 0.1 --priors balanced --half-life 400 --head 5"
    assert run(f"fit a.svm --method forwardfs {options} -o m.narrows")[0] == 0
    found = narrows.load("m.narrows")
    expected = ForwardFS("cv", "balanced", 0.1, 5, 400.0).fit(X, y)
    assert found.get_params() == expected.get_params()
    assert found.get_support().tolist() == expected.get_support().tolist()
    assert expected.n_features_ > 1
    np.testing.assert_allclose(found.held_out_scores_, expected.held_out_scores_, atol=1e-12)


@pytest.mark.parametrize("more", ["", "--idf-sample 4", slow("--engine dask")])
def test_terms_of_texts_are_features_to_start_with(run, more):
    lines = [("sea", "salt water and a ship"), ("land", "sand and a tree"),
             ("sea", "a ship of salt"), ("land", "a tree and a stone")]  # fmt: skip
    text = "".join(json.dumps({"label": label, "text": t}) + "\n" for label, t in lines)
    fit = "fit a.jsonl --method forwardfs --n-features 2 -o m.narrows"
    assert run(f"{fit} --start stone {more}", a__jsonl=text)[0] == 0
    found = narrows.load("m.narrows")
    assert source_of(found).tfidf.terms[found.ranking_[0]] == "stone"
    assert (
        "names of the 9 features, got 'stones'. Did you mean stone?"
        in (run(f"{fit} --start stones")[2])
    )


@pytest.mark.parametrize("engine", ["--chunk-rows 7", slow("--engine dask")])
def test_files_of_many_columns_keep_those_to_start_with(run, engine):
    X, _ = labelled(n=60, d=9000, sparse=True)
    y = np.arange(60) % 3
    dump_svmlight_file(sparse.csr_array(X), y, "wide.svm", zero_based=False)
    best = OCFS(n_features=40).fit(X, y).ranking_
    start, head = best[[39, 30]].tolist(), np.union1d(best[:18], best[[39, 30]])
    expected = ForwardFS(n_features=6, start=np.searchsorted(head, start)).fit(X[:, head], y)
    fit = f"fit wide.svm --method forwardfs --n-features 6 --head 20 --start {start[0]},{start[1]}"
    assert run(f"{fit} {engine} -o m.narrows")[0] == 0
    found = narrows.load("m.narrows")
    assert found.ranking_[:6].tolist() == head[expected.ranking_[:6]].tolist()
    assert run("transform m.narrows wide.svm -o r.npz")[0] == 0
    np.testing.assert_allclose(read_npz("r.npz")[0], X[:, np.sort(found.ranking_[:6])])


@pytest.mark.slow
def test_a_file_may_turn_out_to_be_too_wide_for_cross_products(run, tmp_path):
    method = "pca --n-components 2"
    X, _ = labelled(n=60, d=9000, sparse=True)
    rows, y = sparse.lil_array(X), np.arange(60) % 3
    rows[:30, 4000:] = 0
    dump_svmlight_file(rows.tocsr(), y, str(tmp_path / "wide.svm"), zero_based=False)
    dump_svmlight_file(rows[:30].tocsr()[:, :4000], y[:30], "narrow.svm", zero_based=False)
    whole = f"fit wide.svm --method {method}"
    assert run(f"{whole} -o whole.narrows")[0] == 0
    assert run(f"{whole} --chunk-rows 7 -o m.narrows")[0] == 0
    given = Path("wide.svm").read_bytes()
    pipe = f"fit - --one-based --method {method} --chunk-rows 7 -o piped.narrows"
    done = subprocess.run([*COMMAND, *pipe.split()], input=given, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    expected = narrows.load("whole.narrows").components_
    for name in ("m", "piped"):
        found = narrows.load(f"{name}.narrows").components_
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert run(f"fit narrow.svm --method {method} -o narrow.narrows")[0] == 0
    for command in (
        "update narrow.narrows wide.svm -o x.narrows",
        "merge narrow.narrows m.narrows -o x.narrows",
        "update m.narrows narrow.svm -o x.narrows",
        f"{whole} --chunk-rows 7 --checkpoint c --every 7 -o x.narrows",
        f"{whole} --chunk-rows 7 --checkpoint c --every 7 --resume -o x.narrows",
    ):
        status, out, err = run(command)
        assert (status, out) == (2, ""), command
        assert "expected at most 8,192" in err


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ("--ngram-range 1,2 --min-df 2", {"ngram_range": (1, 2), "min_df": 2}),
        ("--min-df .5 --max-df 0.8", {"min_df": 0.5, "max_df": 0.8}),
        ("--max-df 3 --max-features 4", {"max_df": 3, "max_features": 4}),
    ],
)
def test_options_of_texts_are_those_of_scikit_learn(run, options, parameters):
    texts = ["sea salt of the sea", "hill of the trees", "sea ship of salt", "hill and trees"]
    rows = [json.dumps({"text": text, "label": text[0]}) for text in texts]
    status, _, err = run(
        f"fit a.jsonl --method oc {options} -o m.narrows", a__jsonl="\n".join(rows)
    )
    assert status == 0, err
    expected = CountVectorizer(token_pattern=r"(?u)\b\w+\b", **parameters).fit(texts)
    terms = source_of(narrows.load("m.narrows")).names.tolist()
    assert terms == expected.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    "options",
    ["--ngram-range 2,1", "--ngram-range 2", "--ngram-range a,b", "--min-df 0", "--min-df 1.5",
     "--max-df some", "--max-features 0", "--vectorizer hashing --max-df .5"],
)  # fmt: skip
def test_wrong_options_of_texts_are_one_line(run, options):
    status, out, err = run(
        f"fit a.jsonl --method oc {options} -o m", a__jsonl='{"text": "a", "label": 1}\n'
    )
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "expected" in err or "range" in err


EXTREME = ["1" + "0" * 30, "9" * 400, "9" * 5_000, "1e308", "1e999", "nan", "inf", "-inf", "-1", ""]


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        ("fit a.svm --method ocfs -o x", "--n-features --energy --threshold --width --chunk-rows"),
        ("fit a.svm --method immc -o x", "--theta --eps --n-components --every"),
        ("fit a.svm --method oc -o x --checkpoint c", "--priors --half-life --every"),
        ("fit a.svm --method idrqr -o x", "--mu"),
        ("fit a.svm --method srda -o x", "--alpha"),
        (
            "fit a.jsonl --method oc -o x",
            "--idf-sample --min-df --max-df --max-features --hash-columns",
        ),
        ("transform m.narrows a.svm -o x.npz", "--width --chunk-rows"),
        ("info m.narrows", "--top"),
        ("compare a.svm --methods ocfs", "--dims --cv --seed --width"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_no_number_is_a_traceback(run, line, flags):
    assert run("fit a.svm --method ocfs --n-features 1 -o m.narrows", a__svm=GOOD * 3)[0] == 0
    Path("a.jsonl").write_text('{"text": "sea salt", "label": 1}\n{"text": "hill", "label": 2}\n')
    for flag in flags.split():
        for value in EXTREME:
            status, out, err = run(f"{line} {flag}={value}")
            assert status in (0, 1, 2), (flag, value[:80])
            assert status == 0 or err.count("\n") == 1
            assert (out + err).replace("\n", "").isprintable()


def test_nothing_of_a_file_reaches_the_terminal_as_a_control_character(run):
    evil = "\x1b[2J\x1b]0;x\x07\x9b1m\x7f\u202e"
    Path("a.csv").write_text(f'"{evil}",b,class\n1,2,"{evil}"\n3,5,y\n2,2,"{evil}"\n')
    Path(f"{evil}.csv").write_text("q,class\n1,u\n")
    Path("bad.csv").write_text(f'a,class\n1,u\n"{evil}",v\n')
    Path("bad.jsonl").write_text(json.dumps({"text": "a", "label": evil + "\0"}) + "\n")
    assert run("fit a.csv --method ocfs --n-features 2 -o m.narrows")[0] == 0
    for line in (
        "info m.narrows --per-class", "info m.narrows --json --per-class",
        f"fit {evil}.csv --method oc -o x", "fit bad.csv --method oc -o x",
        "fit bad.jsonl --method oc -o x", f"fit a.csv --method ocfs -o {evil}.narrows",
        f"fit a.csv --method ocfs -o {evil}.narrows --json", f"convert a.csv {evil}.npz",
        f"transform m.narrows {evil}.csv -o x.npz", f"info {evil}", evil, f"fit --{evil}",
        f"fit a.csv --method oc -o x --label {evil}b", f"compare a.csv --methods {evil}",
        f"fit a.csv --method oc -o x --param {evil}=1", f"fit a.csv --method oc -o no{evil}/x",
    ):  # fmt: skip
        _, out, err = run(line)
        assert (out + err).replace("\n", "").isprintable(), (line, out, err)
        assert "x1b" in out + err or "u001b" in out + err, line
        if "--json" in line:
            found = json.loads(out)
            assert evil in found["classes"]


def test_a_failing_transform_leaves_the_old_output(run):
    run("fit a.svm --method ocfs --n-features 1 -o m.narrows", a__svm=GOOD)
    for name in ("r.npz", "r.csv", "r.svm.gz"):
        assert run(f"transform m.narrows a.svm -o {name}")[0] == 0
        before = Path(name).read_bytes()
        bad = GOOD + "1 1:1 x\n"
        assert run(f"transform m.narrows b.svm -o {name} --chunk-rows 1", b__svm=bad)[0] == 1
        assert Path(name).read_bytes() == before


def test_a_warning_is_one_line(run):
    status, _, err = run("fit a.svm --method ocfs -o m.narrows", a__svm="1 1:1\n2 1:1\n")
    assert status == 0
    assert err.count("\n") == 1
    assert err.startswith("narrows: warning: expected a positive score of")


def test_json_holds_no_nan(run, tmp_path):
    fresh = narrows.OnlineSRDA().partial_fit(np.empty((0, 2)), np.empty(0, int))
    assert np.isnan(fresh.score_)
    narrows.save(fresh, tmp_path / "m.narrows")
    status, out, _ = run("info m.narrows --json")
    assert (status, json.loads(out, parse_constant=pytest.fail)["score"]) == (0, "nan")
    assert "predicted correctly before learning: nan" in run("info m.narrows")[1]


# -- as a process of its own ---------------------------------------------------------------------


def test_pipes(run, tmp_path, svm):
    content = (tmp_path / "a.svm").read_bytes()
    fit = "fit - --method oc -o x.narrows"
    assert run("fit - --one-based --method ocfs --n-features 2 -o m.narrows", content)[0] == 0
    expected = narrows.OCFS(n_features=2).fit(*svm)
    np.testing.assert_allclose(narrows.load("m.narrows").scores_, expected.scores_)
    for wrong, expected_status, message in (
        (content, 2, "expected --zero-based, or its opposite"),
        (b"", 1, "at least one"),
        (gzip.compress(content), 2, "compressed"),
        (b"what is this", 2, "that starts with"),
    ):
        status, out, err = run(fit, wrong)
        assert (status, out, message in err) == (expected_status, "", True), err
        assert not Path("x.narrows").exists()
    assert run(f"{fit} --one-based", b"# from elsewhere\n" + content)[0] == 0
    status, out, _ = run("transform m.narrows - -o -", content)
    assert (status, out.count("\n")) == (0, 61)
    long = b"# from elsewhere\n" * 10_000 + content
    assert run("fit - --method ioc --param passes=2 --one-based -o c.narrows", long)[0] == 0
    words = b'{"label": 1, "text": "a b"}\n{"label": 2, "text": "c"}\n'
    assert run("fit - --method oc -o t.narrows", words)[0] == 0
    assert run("transform t.narrows - -o -", words)[1].count("\n") == 3
    assert run("fit - --method oc -o c.narrows", b"a,class\n1,x\n2,y\n")[0] == 0


@pytest.mark.nightly
def test_a_pipe_that_begins_slowly_and_one_that_is_closed(tmp_path):
    line = [*COMMAND, *["fit", "-", "--method", "oc", "-o", "m.narrows"]]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as fit:
        for piece in (b"\xef", b"\xbb\xbf", b"\n", b"a", b",cl", b"ass\n1", b",x\n2,y\n"):
            time.sleep(0.3)
            fit.stdin.write(piece)
            fit.stdin.flush()
        try:
            _, err = fit.communicate(timeout=60)
        finally:
            fit.kill()
        assert fit.returncode == 0, err
    command = f"{sys.executable} -m narrows fit - --method oc -o x.narrows <&-"
    done = subprocess.run(
        command, shell=True, capture_output=True, cwd=tmp_path, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (
        2,
        b"narrows: -: expected standard input, got none. Name a file.\n",
    )


def test_closed_standard_output_is_named(run, monkeypatch):
    Path("a.csv").write_text("a,b,label\n1,2,x\n3,4,y\n")
    monkeypatch.setattr(sys, "stdout", None)
    status, _, err = run("convert a.csv -")
    assert status == 2
    assert err == "narrows: -o -: expected standard output, got a closed one. Write to a file.\n"


def bytes_read(pid, name):
    """How far a process is in a file, 0 before it is open."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed in the meantime
            if Path(os.readlink(link)).name == name:
                info = Path(f"/proc/{pid}/fdinfo/{link.name}").read_text()
                return int(info.split()[1])
    return 0


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["fit", "transform"])
def test_an_interrupted_run_ends_with_130_and_leaves_nothing(tmp_path, verb):
    row = " ".join(f"{k}:1" for k in range(1, 200))
    with open(tmp_path / "big.svm", "w") as file:
        file.writelines(f"{i % 2} {row}\n" for i in range(40_000))
    X, y = np.eye(2, 199), [0, 1]
    narrows.save(narrows.OC().fit(X, y), tmp_path / "m.narrows")
    line = {
        "fit": "fit big.svm --method oc -o x.narrows",
        "transform": "transform m.narrows big.svm -o x.csv",
    }[verb]
    before = sorted(os.listdir(tmp_path))
    process = subprocess.Popen(
        [*COMMAND, *line.split(), "--chunk-rows", "100"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    # so far that the first rows were learned: Python ignores a signal within some imports
    while bytes_read(process.pid, "big.svm") < 10_000_000:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert err.strip().startswith("narrows: interrupted; no file was changed.")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    "raising",
    [
        slow("exec('raise KeyboardInterrupt')"),
        slow("raise RuntimeError('Error calling __set_name__') from KeyboardInterrupt()"),
    ],
)
def test_an_interrupt_inside_an_import_is_one(tmp_path, raising):
    # as when Ctrl-C comes while a library that is being imported makes its classes
    (tmp_path / "sitecustomize.py").write_text(
        f"import click\ndef main(*args, **kwargs):\n    {raising}\nclick.Group.main = main\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "narrows", "demo"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "narrows: interrupted; no file was changed.\n")


@pytest.mark.slow
def test_a_terminated_run_leaves_nothing(tmp_path):
    with open(tmp_path / "big.svm", "w") as file:
        file.writelines(f"{i % 2} 1:{i} 2:1\n" for i in range(400_000))
    narrows.save(narrows.OC().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]), tmp_path / "m.narrows")
    before = sorted(os.listdir(tmp_path))
    process = subprocess.Popen(
        [*COMMAND, *["transform", "m.narrows", "big.svm", "-o", "x.csv", "--one-based"]],
        cwd=tmp_path,
    )
    until = time.monotonic() + 60
    while not any(name.endswith(".part") for name in os.listdir(tmp_path)):
        assert time.monotonic() < until
        time.sleep(0.01)
    process.terminate()
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("line", ["--help", "fit --help", "transform --help", "info -h", "demo -h"])
def test_help_fits_80_columns(run, line):
    status, out, _ = run(line)
    assert status == 0
    assert out.startswith("Usage: narrows")
    assert max(map(len, out.splitlines())) <= 80
    assert "\\b" not in out
    assert "\b" not in out
