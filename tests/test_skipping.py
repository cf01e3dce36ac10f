"""Rows that cannot be read, which commands skip where they are asked to."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from narrows import SRDA, load
from narrows.command.cli import main

NUMBERS = "a,b,label\n", [f"{k % 7}.5,{k * k % 11},{'xy'[k % 2]}" for k in range(40)]
TABLE = "a,c,label\n", [f"{k % 7}.5,{'rgb'[k % 3]},{'xy'[k % 2]}" for k in range(40)]
TEXTS = "", [json.dumps({"text": f"w{k % 5}", "label": "xy"[k % 2]}) for k in range(40)]
SVMLIGHT = "", [f"{k % 2} 1:{k % 7}.5 2:{k * k % 11}" for k in range(40)]
BAD = {  # rows that cannot be read, by their place
    "csv": (*NUMBERS, {3: "oops,1,x", 7: "1,2,", 11: "1,2,3,x", 20: '1,"2"3,x', 30: "nan,1,y"}),
    "jsonl": (*TEXTS, {2: '{"text": null, "label": "x"}', 4: "{broken", 39: '{"text": "w1"}'}),
    "svm": (*SVMLIGHT, {0: "1 3:1 2:1", 9: "x 1:1", 10: "1 1:inf"}),
}


def written(path, head, rows, bad=()):
    bad = dict(bad)
    path.write_text(head + "".join(bad.get(k, row) + "\n" for k, row in enumerate(rows)))
    return str(path)


def run(capfd, *words):
    status = main([*map(str, words), "--json"])
    out, err = capfd.readouterr()
    assert status == 0, err
    return json.loads(out.splitlines()[-1])


@pytest.mark.parametrize("suffix", BAD)
def test_a_fit_without_the_bad_rows_is_that_of_the_others(tmp_path, capfd, monkeypatch, suffix):
    monkeypatch.chdir(tmp_path)
    head, rows, bad = BAD[suffix]
    file = written(tmp_path / f"bad.{suffix}", head, rows, bad)
    good = [row for k, row in enumerate(rows) if k not in bad]
    rest = written(tmp_path / f"good.{suffix}", head, good)
    fit = ["fit", "--method", "oc", "-o"]
    assert main([*fit, "m.narrows", file]) == 1
    skip = ["--on-error", "skip", "--skipped", f"skipped.{suffix}", "--chunk-rows", 16]
    found = run(capfd, *fit, "m.narrows", file, *skip)
    run(capfd, *fit, "good.narrows", rest)
    first = 1 + bool(head)
    assert [each["line"] for each in found["skipped"]] == [k + first for k in sorted(bad)]
    assert all(each["reason"] and each["file"] == file for each in found["skipped"])
    left = (tmp_path / f"skipped.{suffix}").read_text()
    assert left == head + "".join(bad[k] + "\n" for k in sorted(bad))
    m, other = load("m.narrows"), load("good.narrows")
    np.testing.assert_allclose(m.components_, other.components_, atol=1e-12)
    assert m.class_count_.tolist() == other.class_count_.tolist()


def test_predict_and_update_go_on_behind_bad_rows(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    head, rows, bad = BAD["csv"]
    written(tmp_path / "good.csv", head, rows)
    written(tmp_path / "bad.csv", head, rows, bad)
    run(capfd, "fit", "good.csv", "--method", "srda", "-o", "m.narrows")
    skip = "--on-error", "skip"
    found = run(capfd, "predict", "m.narrows", "bad.csv", "-o", "p.csv", *skip)
    assert found["rows"] == len(rows) - 4  # that without a label is predicted
    labels = [line.split(",")[-1] for line in (tmp_path / "p.csv").read_text().splitlines()[1:]]
    X = [[float(c) for c in row.split(",")[:2]] for k, row in enumerate(rows) if k not in bad]
    y = [row[-1] for k, row in enumerate(rows) if k not in bad]
    expected = load("m.narrows").predict(np.array([*X[:6], [1.0, 2.0], *X[6:]])).tolist()
    assert labels == expected
    found = run(capfd, "transform", "m.narrows", "bad.csv", "-o", "t.csv", *skip)
    assert found["rows"] == len(rows) - 5
    assert run(capfd, "update", "m.narrows", "bad.csv", "-o", "u.narrows", *skip)["rows"] == 75
    assert load("u.narrows").class_count_.sum() == 40 + len(SRDA().fit(X, y).predict(X))


def test_bad_cells_of_a_table_are_missing_or_their_rows_are_skipped(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "good.csv", *TABLE)
    written(tmp_path / "bad.csv", *TABLE, {5: "oops,r,x", 6: "?,r,x"})
    written(tmp_path / "empty.csv", *TABLE, {5: ",r,x", 6: "?,r,x"})
    run(capfd, "fit", "good.csv", "--method", "srda", "-o", "m.narrows")
    predict = "predict", "m.narrows", "bad.csv", "-o", "p.csv", "--on-error"
    skip = "skip", "--skipped", "left.csv", "--chunk-rows", "7"
    assert run(capfd, *predict, *skip)["rows"] == 39
    assert (tmp_path / "left.csv").read_text().splitlines()[1:] == ["oops,r,x"]
    found = run(capfd, *predict, "missing")
    assert found["rows"] == 40
    assert found["missing_cells"] == 1
    run(capfd, "predict", "m.narrows", "empty.csv", "-o", "q.csv")
    assert (tmp_path / "p.csv").read_text() == (tmp_path / "q.csv").read_text()


def test_rows_of_arrays_are_skipped(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2
    X[7, 1] = np.nan
    np.savez("a.npz", X=X, y=y)
    found = run(capfd, "fit", "a.npz", "--method", "oc", "-o", "m.narrows", "--on-error", "skip")
    assert [each["line"] for each in found["skipped"]] == [8]
    labels = [None if k == 3 else "ab"[k % 2] for k in range(50)]
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "label": labels}), "a.parquet")
    fit = "fit", "a.parquet", "--method", "oc", "-o", "m.narrows", "--on-error", "skip"
    found = run(capfd, *fit, "--chunk-rows", 20)
    assert [each["line"] for each in found["skipped"]] == [4, 8]


def test_new_classes_and_files_learned_twice_are_named(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    head, rows = NUMBERS
    written(tmp_path / "a.csv", head, rows)
    written(tmp_path / "b.csv", head, rows, {3: "1,2,yy", 5: "2,1,yy"})
    fit = "fit", "a.csv", "--method", "oc", "-o", "m.narrows", "--checkpoint", "c.narrows"
    run(capfd, *fit, "--resume")
    update = "update", "m.narrows", "b.csv", "-o", "n.narrows"
    assert run(capfd, *update)["new_classes"] == {"yy": 2}
    assert main([*update]) == 0
    err = capfd.readouterr().err
    assert "'yy' (2 rows)" in err
    assert "learned a file" not in err
    assert main([*update, "--no-new-classes"]) == 1
    assert "b.csv:5: " in capfd.readouterr().err
    found = run(capfd, *update, "--no-new-classes", "--on-error", "skip")
    assert [each["line"] for each in found["skipped"]] == [5, 7]
    assert found["rows"] == 78
    (tmp_path / "c.csv").write_bytes((tmp_path / "a.csv").read_bytes())
    assert main(["update", "m.narrows", "c.csv", "-o", "n.narrows"]) == 0
    assert "m.narrows has learned a file" in capfd.readouterr().err
    assert main(["fit", "a.csv", "c.csv", "--method", "oc", "-o", "p.narrows"]) == 0
    assert "learned a file" in capfd.readouterr().err


def test_columns_that_are_named_are_those_that_are_not_dropped(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a.csv", *TABLE)
    fit = "fit", "a.csv", "--method", "oc", "-o"
    run(capfd, *fit, "m.narrows", "--columns", "a")
    run(capfd, *fit, "n.narrows", "--drop", "c")
    np.testing.assert_array_equal(load("m.narrows").components_, load("n.narrows").components_)
    assert main([*fit, "m.narrows", "--columns", "cc"]) == 1
    assert "'c'" in capfd.readouterr().err
