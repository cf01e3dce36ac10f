"""The command line, run as a user runs it: what it prints, what it leaves, how it ends."""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import narrows
import narrows.read
from narrows import OCFS
from tests.cases import METHODS as METHODS_BY_NAME
from tests.cases import labelled

METHODS = {name.lower(): kind for name, kind in METHODS_BY_NAME.items()}


@pytest.fixture
def svm(tmp_path):
    X, _ = labelled(sparse=True)
    y = np.arange(60) % 3
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=False)
    return sparse.csr_array(X), y


@pytest.mark.filterwarnings("ignore:.*gains? margin")
@pytest.mark.parametrize("method", [name for name in METHODS if name != "leace"])  # dense alone
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
    for name in ("r.npz", "r.svm.gz"):
        assert run(f"transform m.narrows a.svm -o {name} {chunks}")[0] == 0
    of_npz = next(narrows.read.iter_chunks("r.npz"))
    for found, labels in (of_npz, load_svmlight_file("r.svm.gz", zero_based=False)):
        found = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_array_equal(labels, y)
    text = run(f"transform m.narrows a.svm -o - {chunks}")[1]
    header, *rows = (line.split(",") for line in text.splitlines())
    assert header == [*narrows.load("m.narrows").get_feature_names_out(), "label"]
    np.testing.assert_allclose(np.array(rows, float), np.c_[expected, y], atol=1e-12)


def test_the_svmlight_base_is_kept(run):
    zero = "1 0:1 1:2\n2 1:5\n"
    assert run("fit a.svm --method ocfs --n-features 1 -o m.narrows", a__svm=zero)[0] == 0
    assert run("transform m.narrows b.svm -o -", b__svm="1 1:7\n")[1] == "x1,label\n7.0,1\n"
    status, _, err = run("transform m.narrows b.svm -o - --one-based")
    assert status == 2
    assert "--one-based: expected --zero-based, as m.narrows was fitted" in err


def test_info(run, svm):
    run("fit a.svm --method oc -o m.narrows --priors sqrt")
    text = run("info m.narrows --top 2")[1]
    assert "priors='sqrt'" in text
    assert "3 classes: 0 (20), 1 (20), 2 (20)" in text
    top = json.loads(run("info m.narrows --top 2 --json")[1])["top"]
    model = narrows.load("m.narrows")
    assert [d["eigenvalue"] for d in top] == model.eigenvalues_.tolist()
    assert top[0]["columns"][0]["column"] == np.abs(model.components_[0]).argmax()
    assert run("info m.narrows --per-class")[0] == 2  # without scores of classes
    run("fit a.svm --method ocfs -o m.narrows")
    found = json.loads(run("info m.narrows --per-class --json --top 2")[1])
    model = narrows.load("m.narrows")
    assert [entry["column"] for entry in found["top"]] == np.argsort(-model.scores_)[:2].tolist()
    assert found["top"][0]["value"] == model.scores_.max()
    assert list(found["per_class"]) == ["0", "1", "2"]
    best = found["per_class"]["1"][0]
    assert best["column"] == model.class_scores_[1].argmax()
    assert best["more"] == (model.moments_.means[1] > model.moments_.mean)[best["column"]]
    assert run("info m.narrows --per-class --top 7")[1].count("\n* ") == model.n_features_


def test_info_ranks_as_the_selection_does_and_its_json_has_no_infinity(run):
    rows = "1 1:1 2:1 4:5\n1 1:1 2:3 4:5\n2 1:1 2:9 3:1 4:7\n2 1:1 2:4 4:7\n"
    assert run("fit a.svm --method fisherfs --n-features 1 -o m.narrows", a__svm=rows)[0] == 0
    top = json.loads(run("info m.narrows --json")[1], parse_constant=pytest.fail)["top"]
    assert top[0] == {"column": 3, "name": "x3", "value": "inf", "kept": True}
    assert top[-1]["column"] == 0  # which is constant
    narrows.save(narrows.OnlineSRDA().partial_fit(np.empty((0, 2)), np.empty(0, int)), "n.narrows")
    found = json.loads(run("info n.narrows --json")[1], parse_constant=pytest.fail)
    assert found["score"] == "nan"
    assert "nan" in run("info n.narrows")[1]


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


GOOD = "1 1:1 2:1\n2 2:5\n"
FIT, REDUCE = "fit a.svm -o x --method ", "transform m.narrows "
WRONG = [  # what is run, its status, and words of the one line that it prints
    ("fit a.txt --method oc -o x", 2, "a.txt: expected a file that ends in"),
    ("fit - - --method oc -o x", 2, "standard input once"),
    ("fit a.svm a.csv --method oc -o x", 2, "files of one format"),
    ("fit a.svm --method oc -o a.svm", 2, "a.svm: expected an output, got an input"),
    (FIT + "nope", 2, "'nope'"),
    (FIT + "oc --n-features 3", 2, "Methods with --n-features"),
    (FIT + "oc --param q=1", 2, "got 'q'"),
    (FIT + "oc --n-components 5", 2, "at most 1 direction, got 5"),
    (FIT + "oc --every 5", 2, "--checkpoint"),
    (FIT + "oc --param q", 2, "NAME=VALUE"),
    (FIT + f"oc --n-components {2**40}", 2, "less than 2**31"),
    (FIT + "immc --param theta={}", 2, "--theta"),
    (FIT + "forwardfs --start x1", 2, "no names, got 'x1'"),
    ("fit a.svm --method oc -o -", 2, "a file for the model"),
    ("info .", 2, "got a folder"),
    (FIT + "ocfs --tolerance 0.1", 2, "Version 0.4 removed it"),
    (FIT + f"mmc --param eps={'[' * 100_000}", 2, "--eps"),
    ("fit empty.svm --method oc -o x", 1, "empty.svm: expected at least one row"),
    ("fit bad.svm --method oc -o x", 1, "bad.svm:2: "),
    ("fit words.csv --one-based --method oc -o x", 2, "words.csv: expected no --zero-based"),
    ("fit words.jsonl --method oc -o x", 1, "words.jsonl: expected texts with words"),
    *(
        (f"fit words.jsonl --method oc -o x {options}", 2, options.split()[-2])
        for options in ("--ngram-range 2,1", "--ngram-range a,b", "--min-df 1.5", "--max-df some",
                        "--max-features 0", "--vectorizer hashing --max-df .5")
    ),
    ("transform half.narrows a.svm -o x.npz", 1, "half.narrows: expected a narrows model"),
    (FIT + "srda --checkpoint half.narrows --resume", 1, "half.narrows: expected a narrows model"),
    ("convert far.svm x.csv --one-based", 2, "at most 16,777,216 columns"),
    (REDUCE + "a.svm -o x.jsonl", 2, "a format for numbers"),
    (REDUCE + "a.svm -o x.h5ad", 2, "only reads"),
    (REDUCE + "a.svm -o x.txt", 2, "got .txt"),
    (REDUCE + "a.svm -o x.npz --width 9", 2, "--width"),
    (REDUCE + "wide.svm -o x.npz", 1, "wide.svm:2: "),
    (REDUCE + "a.csv -o x.npz", 1, "rows of 2 columns, got 3"),
    (REDUCE + "words.jsonl -o x.npz", 2, "numbers, as m.narrows has, got texts"),
    ("transform words.narrows words.csv -o x.svm", 2, "labels that are numbers, got 'u'"),
    ("transform words.narrows other.csv -o x.npz", 1, "all but 'a', and 'q' besides"),
    ("compare a.svm --method oc", 2, "--methods"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected", "message"), WRONG, ids=[w[0][:80] for w in WRONG])
def test_what_goes_wrong_is_one_line_and_leaves_nothing(run, tmp_path, line, expected, message):
    files = {
        "a__svm": GOOD, "words__csv": "a,class\n1,u\n2,v\n", "a__txt": "1", "empty__svm": "",
        "far__svm": "1 99999999:1\n",
        "bad__svm": "1 1:1\n2 x:1\n", "a__csv": "a,b,c\n1,2,3\n", "wide__svm": "1 1:1\n1 3:1\n",
        "words__jsonl": '{"text": "?", "label": "a"}\n', "other__csv": "q,class\n1,u\n",
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


def test_nothing_of_a_file_reaches_the_terminal_as_a_control_character(run):
    evil = "\x1b[2J\x1b]0;x\x07\x9b1m\x7f\u202e"
    Path("a.csv").write_text(f'"{evil}",b,class\n1,2,"{evil}"\n3,5,y\n2,2,"{evil}"\n')
    Path(f"{evil}.csv").write_text("q,class\n1,u\n")
    Path("bad.csv").write_text(f'a,class\n1,u\n"{evil}",v\n')
    Path("bad.jsonl").write_text(json.dumps({"text": "a", "label": evil + "\0"}) + "\n")
    assert run("fit a.csv --method ocfs --n-features 2 -o m.narrows")[0] == 0
    for line in (
        "info m.narrows --per-class", "info m.narrows --json --per-class", f"info {evil}",
        f"fit {evil}.csv --method oc -o x", "fit bad.csv --method oc -o x", evil, f"fit --{evil}",
        "fit bad.jsonl --method oc -o x", f"fit a.csv --method ocfs -o {evil}.narrows --json",
        f"convert a.csv {evil}.npz", f"compare a.csv --methods {evil}",
        f"fit a.csv --method oc -o x --param {evil}=1",
    ):  # fmt: skip
        _, out, err = run(line)
        assert (out + err).replace("\n", "").isprintable(), (line, out, err)
        assert "x1b" in out + err or "u001b" in out + err, line
        if "--json" in line:
            found = json.loads(out)
            assert evil in found["classes"]


def test_pipes(run, tmp_path, svm, monkeypatch):
    content = (tmp_path / "a.svm").read_bytes()
    assert run("fit - --one-based --method ocfs --n-features 2 -o m.narrows", content)[0] == 0
    expected = narrows.OCFS(n_features=2).fit(*svm)
    np.testing.assert_allclose(narrows.load("m.narrows").scores_, expected.scores_)
    status, out, _ = run("transform m.narrows - -o -", content)
    assert (status, out.count("\n")) == (0, 61)
    for wrong, expected_status, message in (
        (content, 2, "expected --zero-based, or its opposite"), (b"", 1, "at least one"),
        (gzip.compress(content), 2, "compressed"), (b"what is this", 2, "that starts with"),
    ):  # fmt: skip
        status, out, err = run("fit - --method oc -o x.narrows", wrong)
        assert (status, out, message in err) == (expected_status, "", True), err
        assert not Path("x.narrows").exists()
    words = b'{"label": 1, "text": "a b"}\n{"label": 2, "text": "c"}\n'
    for table in (b"a,class\n1,x\n2,y\n", words):
        assert run("fit - --method oc -o t.narrows", table)[0] == 0
    assert run("transform t.narrows - -o -", b"text\na b\n")[0] == 0  # of one column
    monkeypatch.setattr(sys, "stdout", None)
    status, _, err = run("convert a.svm - --one-based")
    assert (status, "got a closed one" in err) == (2, True)
    assert run("fit - --one-based --method oc -o t.narrows", b"# a comment\n" + content)[0] == 0
