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
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

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
    size = "n-features" if "n_features" in METHODS[method]().get_params() else "n-components"
    chunks = f"--chunk-rows {chunk_rows}"
    status, out, err = run(f"fit a.svm --method {method} --{size} 2 -o m.narrows {chunks}")
    assert (status, "60 rows, " in out) == (0, True)
    assert all(line.startswith("narrows: warning: ") for line in err.splitlines())
    expected = METHODS[method](2)
    if "shuffle" in expected.get_params():
        expected.set_params(shuffle=False)  # a file is learned in its own order
    expected = expected.fit(X, y).transform(X)
    expected = expected.toarray() if sparse.issparse(expected) else expected
    for name in ("r.npz", "r.svm.gz", "r.csv"):
        assert run(f"transform m.narrows a.svm -o {name} {chunks}")[0] == 0
    for found, labels in (read_npz("r.npz"), load_svmlight_file("r.svm.gz", zero_based=False)):
        found = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_array_equal(labels, y)
    text = Path("r.csv").read_text()
    header, *rows = [line.split(",") for line in text.splitlines()]
    assert header == [*narrows.load("m.narrows").get_feature_names_out(), "label"]
    np.testing.assert_allclose(np.array(rows, float), np.c_[expected, y], atol=1e-12)
    assert run(f"transform m.narrows a.svm -o - {chunks}")[1] == text


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


@pytest.mark.parametrize("method", ["ocfs", "oc"])
def test_info(run, svm, method):
    run(f"fit a.svm --method {method} -o m.narrows --priors sqrt")
    status, text, err = run("info m.narrows --top 2")
    assert (status, err) == (0, "")
    assert "priors='sqrt'" in text
    assert "3 classes: 0 (20), 1 (20), 2 (20)" in text
    top = json.loads(run("info m.narrows --top 2 --json")[1])["top"]
    model = narrows.load("m.narrows")
    status, out, err = run("info m.narrows --per-class --json --top 1")
    if method == "oc":
        assert [d["eigenvalue"] for d in top] == model.eigenvalues_.tolist()
        assert top[0]["columns"][0]["column"] == np.abs(model.components_[0]).argmax()
        assert (status, out, "expected a method with class scores" in err) == (2, "", True)
        return
    assert [entry["column"] for entry in top] == np.argsort(-model.scores_)[:2].tolist()
    assert top[0]["value"] == model.scores_.max()
    per_class = json.loads(out)["per_class"]
    assert list(per_class) == ["0", "1", "2"]
    best = per_class["1"][0]
    assert best["column"] == model.class_scores_[1].argmax()
    assert best["more"] == (model.moments_.means[1] > model.moments_.mean)[best["column"]]
    lines = run("info m.narrows --per-class --top 7")[1].splitlines()
    assert sum(line.startswith("* ") for line in lines) == model.n_features_
    assert {line[0] for line in lines if line.startswith(("+ ", "- "))} == {"+", "-"}


def test_info_ranks_as_the_selection_does_and_its_json_has_no_infinity(run):
    rows = "1 1:1 2:1 4:5\n1 1:1 2:3 4:5\n2 1:1 2:9 3:1 4:7\n2 1:1 2:4 4:7\n"
    assert run("fit a.svm --method fisherfs --n-features 1 -o m.narrows", a__svm=rows)[0] == 0
    top = json.loads(run("info m.narrows --json")[1], parse_constant=pytest.fail)["top"]
    assert [entry["column"] for entry in top][::3] == [3, 0]  # the constant column is last
    assert top[0] == {"column": 3, "name": "x3", "value": "inf", "kept": True}
    narrows.save(narrows.OnlineSRDA().partial_fit(np.empty((0, 2)), np.empty(0, int)), "n.narrows")
    found = json.loads(run("info n.narrows --json")[1], parse_constant=pytest.fail)
    assert found["score"] == "nan"
    assert "nan" in run("info n.narrows")[1]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--method ocfs --param energy=0.5", {"energy": 0.5}),
        ("--method OCFS --threshold 0.01", {"threshold": 0.01}),
        ("--method ocfs --n-features 0.5 --priors 1,2,3", {"n_features": 0.5, "priors": [1, 2, 3]}),
        ("--method srda --alpha auto", {"alpha": "auto"}),
        ("--method srda --alpha scale --half-life 20", {"alpha": "scale", "half_life": 20.0}),
        ("--method srda --param solver=lsqr --param tol=1e-3", {"solver": "lsqr", "tol": 1e-3}),
        ("--method forwardfs --ridge 0.1 --head 5", {"ridge": 0.1, "head": 5}),
    ],
)
def test_parameters(run, svm, options, expected):
    assert run(f"fit a.svm {options} -o m.narrows")[::2] == (0, "")
    assert narrows.load("m.narrows").get_params().items() >= expected.items()


@pytest.mark.slow
def test_demo(run, tmp_path):
    pytest.importorskip("matplotlib")
    status, out, err = run("demo")
    assert (status, err) == (0, "")
    assert "\nUse SRDA with 9 dimensions: " in out
    assert "\nUse PLS with 2 dimensions: R^2 0.4" in out
    assert (tmp_path / "narrows-demo.png").read_bytes().startswith(b"\x89PNG")
    status, out, _ = run("demo --json -o x.svg")
    assert json.loads(out)["lines"][0]["method"] == "all columns"
    assert "<svg" in (tmp_path / "x.svg").read_text()


# -- what goes wrong -----------------------------------------------------------------------------

GOOD = "1 1:1 2:1\n2 2:5\n"
FIT, REDUCE = "fit a.svm -o x --method ", "transform m.narrows "
WRONG = [  # what is run, its status, and words of the one line that it prints
    ("fit none.svm --method oc -o x", 2, "no such file: none.svm"),
    ("fit a.txt --method oc -o x", 2, "a.txt: expected a file that ends in"),
    ("fti a.svm --method oc -o x", 2, "'fti'"),
    ("nope", 2, "'nope'"),
    ("fit a.svm --method oc", 2, "'-o'"),
    ("fit --method oc -o x", 2, "'INPUT...'"),
    ("fit . --method oc -o x", 2, "got a folder"),
    ("fit - - --method oc -o x", 2, "standard input once"),
    ("fit a.svm a.csv --method oc -o x", 2, "files of one format"),
    ("fit a.svm --method oc -o none/x", 2, "a folder none"),
    ("fit a.svm --method oc -o .", 2, "got a folder"),
    ("fit a.svm --method oc -o -", 2, "a file for the model"),
    ("fit a.svm --method oc -o a.svm", 2, "a.svm: expected an output, got an input"),
    (FIT + "nope", 2, "'nope'"),
    (FIT + "oc --nope", 2, "No such option"),
    (FIT + "oc --n-features 3", 2, "Methods with --n-features"),
    (FIT + "oc --param q=1", 2, "got 'q'"),
    (FIT + "oc --param q", 2, "NAME=VALUE"),
    (FIT + "oc --n-components 5", 2, "at most 1 direction, got 5"),
    (FIT + f"oc --n-components {'9' * 400}", 2, "--n-components"),
    (FIT + "oc --priors uneven", 2, "priors"),
    (FIT + "oc --priors 1,b", 2, "priors"),
    (FIT + "oc --priors 1,2,3", 2, "one number for each class"),
    (FIT + 'oc --param priors=["a","b"]', 2, "priors to be numbers"),
    (FIT + "ocm --priors 1,2,3", 2, "one number for each class"),
    (FIT + "oc --ridge 1", 2, "Methods with --ridge"),
    (FIT + "oc --every 5", 2, "--checkpoint"),
    (FIT + "oc --split train", 2, "--split"),
    (FIT + "ocfs --tolerance 0.1", 2, "Version 0.4 removed it"),
    (FIT + "ocfs --n-features few", 2, "--n-features"),
    (FIT + "ocfs --n-features 9", 2, "n_features<=2"),
    (FIT + f"ocfs --n-features {'9' * 400}", 2, "--n-features"),
    (FIT + "ocfs --energy 2", 2, "--energy"),
    (FIT + "ocfs --param energy=high", 2, "--energy"),
    (FIT + "ocfs --start 1", 2, "Methods with --start"),
    (FIT + "forwardfs --start x1", 2, "no names, got 'x1'"),
    (FIT + "forwardfs --start 1,2", 2, "indices of the 2 features, got 2"),
    (FIT + "forwardfs --param start=2", 2, "indices of the 2 features, got 2"),
    (FIT + "forwardfs --ridge -1", 2, "--ridge"),
    (FIT + "forwardfs --head 0", 2, "--head"),
    (FIT + "srda --alpha=-1", 2, "--alpha"),
    (FIT + "srda --alpha much", 2, "--alpha"),
    (FIT + "srda --half-life x", 2, "--half-life"),
    (FIT + "srda --param max_iter=1.5", 2, "`max_iter`"),
    (FIT + f"mmc --param eps={'9' * 400}", 2, "--eps"),
    (FIT + f"mmc --param eps={'[' * 100_000}", 2, "--eps"),
    ("fit empty.svm --method oc -o x", 1, "empty.svm: expected at least one row"),
    ("fit bad.svm --method oc -o x", 1, "bad.svm:2: "),
    ("fit one.svm --method oc -o x", 1, "one.svm: expected two classes"),
    ("fit nan.svm --method oc -o x", 1, "nan.svm:2: "),
    ("fit same.svm --method oc -o x", 1, "same.svm: expected classes with different means"),
    ("fit a.csv --method oc -o x", 1, "a.csv:1: expected a label column"),
    ("fit words.csv --one-based --method oc -o x", 2, "words.csv: expected no --zero-based"),
    ("fit words.csv other.csv --method oc -o x", 1, "other.csv:1: expected the 1 columns"),
    ("fit words.jsonl --method oc -o x", 1, "words.jsonl: expected texts with words"),
    *(
        (f"fit words.jsonl --method oc -o x {options}", 2, options.split()[-2])
        for options in ("--ngram-range 2,1", "--ngram-range 2", "--ngram-range a,b", "--min-df 0",
                        "--min-df 1.5", "--max-df some", "--max-features 0",
                        "--vectorizer hashing --max-df .5")
    ),
    ("transform none.narrows a.svm -o x.npz", 2, "none.narrows"),
    ("transform half.narrows a.svm -o x.npz", 1, "half.narrows: expected a narrows model"),
    (FIT + "srda --checkpoint half.narrows --resume", 1, "half.narrows: expected a narrows model"),
    ("transform a.svm a.svm -o x.npz", 1, "a.svm: expected a narrows model"),
    (REDUCE + "none.svm -o x.npz", 2, "no such file: none.svm"),
    (REDUCE + "a.svm -o x.txt", 2, "got .txt"),
    (REDUCE + "a.svm -o x.xlsx", 2, "got .xlsx"),
    (REDUCE + "a.svm -o x.h5ad", 2, "only reads"),
    ("convert a.svm x.h5ad --one-based", 2, "only reads"),
    ("convert far.svm x.csv --one-based", 2, "at most 16,777,216 columns"),
    (REDUCE + "a.svm -o x.jsonl", 2, "a format for numbers"),
    (REDUCE + "a.svm -o a.svm", 2, "a.svm: expected an output, got an input"),
    (REDUCE + "a.svm -o m.narrows", 2, "m.narrows: expected an output, got an input"),
    (REDUCE + "a.svm -o x.npz --width 9", 2, "--width"),
    (REDUCE + "wide.svm -o x.npz", 1, "wide.svm:2: "),
    (REDUCE + "wide.csv -o x.npz", 1, "rows of 2 columns, got 3"),
    (REDUCE + "bad.svm -o x.npz", 1, "bad.svm:2: "),
    (REDUCE + "words.jsonl -o x.npz", 2, "numbers, as m.narrows has, got texts"),
    ("transform words.narrows words.csv -o x.svm", 2, "labels that are numbers, got 'u'"),
    ("transform words.narrows other.csv -o x.npz", 1, "all but 'a', and 'q' besides"),
    ("info half.narrows", 1, "half.narrows"),
    ("info none.narrows", 2, "no such file: none.narrows"),
    ("info .", 2, "got a folder"),
    ("info a.csv --seed 7", 2, "No such option"),
    ("update m.narrows a.svm -o x --every 5", 2, "--checkpoint"),
    ("compare a.svm --seed -1", 2, "range"),
    ("compare a.svm --seed 4294967296", 2, "range"),
    ("compare a.svm --method oc", 2, "--methods"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected", "message"), WRONG, ids=[w[0][:80] for w in WRONG])
def test_what_goes_wrong_is_one_line_and_leaves_nothing(run, tmp_path, line, expected, message):
    files = {
        "a__svm": GOOD, "words__csv": "a,class\n1,u\n2,v\n",
        "a__txt": "1", "empty__svm": "", "bad__svm": "1 1:1\n2 x:1\n", "one__svm": "1 1:1\n1 2:1\n",
        "nan__svm": "1 1:1\n2 1:nan\n", "a__csv": "a,b\n1,2\n", "wide__svm": "1 1:1\n1 3:1\n",
        "wide__csv": "a,b,c\n1,2,3\n", "words__jsonl": '{"text": "?", "label": "a"}\n',
        "far__svm": "1 99999999:1\n", "same__svm": "1 1:1\n2 1:1\n", "other__csv": "q,class\n1,u\n",
    }  # fmt: skip
    narrows.save(OCFS(n_features=1).fit([[1.0, 1.0], [0.0, 5.0]], [1, 2]), "m.narrows")
    assert run("fit words.csv --method oc -o words.narrows", **files)[0] == 0
    (tmp_path / "half.narrows").write_bytes((tmp_path / "m.narrows").read_bytes()[:200])
    before = sorted(os.listdir(tmp_path))
    status, out, err = run(line)
    assert (status, out, err.count("\n")) == (expected, "", 1), err
    assert message in err
    assert err.startswith("narrows: ")
    assert sorted(os.listdir(tmp_path)) == before


VALUES = [
    "9" * 5_000, "[" * 100_000, '{"a":' * 100_000, "NaN", "-Infinity", "1e-400", "\udcff",
    r'"\ud800"', "\x1b[31m", "", "[]", "{}", "true", "null", "[{}]", '[1,"a"]', "[NaN,1,1]",
    f"[{'9' * 400},1]", "[[1,2],[3]]", '{"array":[1]}', "[5e-324,5e-324]",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.more
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", list(METHODS))
def test_no_value_of_a_parameter_is_a_traceback(run, capfd, method):
    Path("a.svm").write_text(GOOD * 3)
    for name in [*METHODS[method]().get_params(), "", "none"]:
        for value in VALUES if EVERYTHING else VALUES[::3]:
            if name in ("passes", "max_iter", "patience") and value.isdecimal():
                continue  # a large number of them takes its time
            command = ["fit", "a.svm", "--method", method, "-o", "m.narrows", "--one-based"]
            status = cli.main([*command, "--param", f"{name}={value}"])
            out, err = capfd.readouterr()
            assert status in (0, 1, 2), (name, value[:80])
            assert all(line.startswith("narrows: ") for line in err.splitlines()), err
            assert status == 0 or err
            assert (out + err).replace("\n", "").isprintable()


# -- cross products ------------------------------------------------------------------------------


# -- forward selection ---------------------------------------------------------------------------


def test_features_to_start_with_are_columns_by_name_or_number(run):
    X, y = labelled(d=6)
    pd.DataFrame(X, columns=["a", "b", "c", "d", "e", "1"]).assign(y=y).to_csv("a.csv", index=False)
    fit = "fit a.csv --label y --method forwardfs --n-features 4 -o m.narrows"
    expected = ForwardFS(n_features=4, start=[3, 5]).fit(X, y)
    for start in ("d,1", "3,5", "d,5"):  # a column that is called 1 comes before column number 1
        assert run(f"{fit} --start {start}")[::2] == (0, "")
        found = narrows.load("m.narrows")
        assert found.start == [3, 5]
        assert found.ranking_.tolist() == expected.ranking_.tolist()
    top = json.loads(run("info m.narrows --json")[1])["top"]
    assert [entry["column"] for entry in top] == expected.ranking_.tolist()
    assert [entry["explained"] for entry in top if entry["kept"]] == expected.gain_curve_.tolist()
    status, _, err = run(f"{fit} --start b,dd")
    assert (status, "got 'dd'. Did you mean d?" in err) == (2, True)
    texts = "".join(json.dumps({"text": t, "label": t[0]}) + "\n" for t in ("a stone", "b sea"))
    fit = "fit a.jsonl --method forwardfs --n-features 2 --start stone -o m.narrows"
    assert run(fit, a__jsonl=texts)[0] == 0
    found = narrows.load("m.narrows")
    assert source_of(found).tfidf.terms[found.ranking_[0]] == "stone"


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
@pytest.mark.parametrize(
    ("verb", "number", "expected"),
    [("fit", signal.SIGINT, 130), ("transform", signal.SIGINT, 130),
     ("transform", signal.SIGTERM, 128 + signal.SIGTERM)],
)  # fmt: skip
def test_a_stopped_run_ends_with_its_status_and_leaves_nothing(tmp_path, verb, number, expected):
    row = " ".join(f"{k}:1" for k in range(1, 200))
    with open(tmp_path / "big.svm", "w") as file:
        file.writelines(f"{i % 2} {row}\n" for i in range(40_000))
    narrows.save(narrows.OC().fit(np.eye(2, 199), [0, 1]), tmp_path / "m.narrows")
    line = "--method oc big.svm" if verb == "fit" else "m.narrows big.svm"
    before = sorted(os.listdir(tmp_path))
    process = subprocess.Popen(
        [*COMMAND, verb, *line.split(), "-o", "x.csv", "--chunk-rows", "100"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    # so far that the first rows were learned: Python ignores a signal within some imports
    while bytes_read(process.pid, "big.svm") < 10_000_000:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.005)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (expected, ""), err
    assert ("narrows: interrupted; no file was changed." in err) == (number == signal.SIGINT)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("line", ["--help", "fit --help", "transform --help", "info -h", "demo -h"])
def test_help_fits_80_columns(run, line):
    status, out, _ = run(line)
    assert status == 0
    assert out.startswith("Usage: narrows")
    assert max(map(len, out.splitlines())) <= 80
    assert "\\b" not in out
    assert "\b" not in out
