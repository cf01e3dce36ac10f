"""Tables at the command line: categories, missing values, dates and texts in columns."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.pipeline import make_pipeline

import narrows
from narrows.command import cli
from narrows.read import source_of
from narrows.table import TableEncoder
from tests.inside import load_model, pretend

N = 400
NAMES = ("age", "plan", "city", "since", "phone", "paid", "churn")


def customers(n=N, seed=0):
    """Rows of strings; who churns depends on the age and on the plan."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    plan = rng.choice(["basic", "full", "student"], n)
    churn = (np.abs(age - 50) > 18) | (plan == "full")
    missing = rng.random(n) < 0.1
    return [
        (
            "" if missing[k] else str(age[k]),
            str(plan[k]),
            f"town {rng.integers(12)}",
            f"20{rng.integers(10, 24)}-0{rng.integers(1, 10)}-15",
            f"+1-{k:05d}-{rng.integers(10_000)}",
            f"{rng.lognormal(3):.2f}",
            "yes" if churn[k] else "no",
        )
        for k in range(n)
    ]


def write(path, rows, names=NAMES):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = customers()
    write("churn.csv", rows[:300])
    write("new.csv", rows[300:])
    return tmp_path


def narrows_(line):
    return cli.main(shlex.split(line))


def predicted(line, capsys):
    capsys.readouterr()
    assert narrows_(line) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def error_of(line, capsys):
    capsys.readouterr()
    status = narrows_(line)
    out, err = capsys.readouterr()
    said = [row for row in err.splitlines() if not row.startswith(("  ", "narrows: columns of"))]
    assert (status in (1, 2), out, len(said)) == (True, "", 1), err
    return said[0]


def test_what_fit_learns_is_what_the_encoder_and_the_estimator_learn(folder, capsys):
    assert narrows_("fit churn.csv --label churn --method srda -o m.narrows") == 0
    assert "plan: category" in capsys.readouterr().err
    table = pd.DataFrame(customers()[:300], columns=NAMES, dtype=object).replace("", None)
    y = table.pop("churn").to_numpy(dtype=str)
    pipeline = make_pipeline(TableEncoder(), narrows.SRDA()).fit(table, y)
    found = load_model("m.narrows")
    np.testing.assert_allclose(found.components_, pipeline[1].components_, rtol=1e-8, atol=1e-12)
    narrows.save(pipeline, "p.narrows")
    for name in "mp":
        line = f"predict {name}.narrows new.csv --label churn -o {name}.csv"
        assert "equal to the labels" in predicted(line, capsys)
    assert Path("m.csv").read_text() == Path("p.csv").read_text()
    most = max(map([row[-1] for row in customers()[300:]].count, ("yes", "no")))
    line = "predict m.narrows new.csv -o out.csv --label churn --json"
    assert json.loads(predicted(line, capsys))["largest_class"]["accuracy"] == most / 100
    assert "phone: left out" in predicted("info p.narrows", capsys)
    found = json.loads(predicted("info m.narrows --json", capsys))
    assert len(found["table"]) == len(NAMES) - 1
    assert narrows_("predict p.narrows new.csv -o p.csv") == 0  # the labels are a column more
    assert "ignored: 'churn'." in capsys.readouterr().err


@pytest.mark.parametrize("method", ["srda", "ocfs", "lda", "onlinesrda", "pca"])
def test_batches_updates_and_merges_of_tables(folder, capsys, method):
    small = "--chunk-rows 50"
    fit = f"fit churn.csv --label churn --method {method} -o"
    assert narrows_(f"{fit} whole.narrows {small}") == 0
    rows = customers()
    write("a.csv", rows[:150])
    write("b.csv", rows[150:300])
    assert narrows_(f"{fit.replace('churn.csv', 'a.csv')} a.narrows") == 0
    assert narrows_("update a.narrows b.csv --label churn -o both.narrows") == 0
    assert narrows_("transform both.narrows new.csv --label churn -o z.npy") == 0
    assert np.isfinite(np.load("z.npy")).all()
    assert narrows_(f"{fit.replace('churn.csv', 'b.csv')} b.narrows") == 0
    err = error_of("merge a.narrows b.narrows -o ab.narrows", capsys)
    assert "narrows fit --like MODEL" in err
    assert narrows_("merge a.narrows both.narrows -o ab.narrows") == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_only_columns_with_features_are_needed_and_new_ones_are_named(folder, capsys, kind):
    assert narrows_("fit churn.csv --label churn --drop city --method srda -o m.narrows") == 0
    frame = pd.DataFrame(customers()[300:], columns=NAMES)
    frames = {"new": frame, "few": frame.drop(columns=["city", "phone"])}
    frames["more"] = frame.assign(**{"": "1", "extra": "2"})
    for name, each in frames.items():
        file = f"{name}.{kind}"
        each.to_csv(file, index=False) if kind == "csv" else each.to_parquet(file)
        for line in (
            f"predict m.narrows {file} -o {name}.p.csv",
            f"transform m.narrows {file} -o {name}.t.csv",
            f"update m.narrows {file} -o {name}.narrows",
            f"fit {file} --like m.narrows -o like.narrows",
        ):
            capsys.readouterr()
            assert narrows_(f"{line} --label churn") == 0
            assert ("ignored: '', 'extra'." in capsys.readouterr().err) == (name == "more")
        for made in ("p.csv", "t.csv"):
            assert Path(f"{name}.{made}").read_text() == Path(f"new.{made}").read_text()
    assert load_model("few.narrows").n_samples_seen_ == N


def test_forward_selection_takes_whole_columns_in_their_order(folder, capsys):
    line = "fit churn.csv --label churn --method forwardfs --n-features 2 -o m.narrows"
    assert narrows_(line) == 0
    kept = load_model("m.narrows").get_feature_names_out()
    encoder = source_of(load_model("m.narrows")).encoder
    of_column = dict(zip(encoder.get_feature_names_out(), encoder.groups_, strict=True))
    found = [NAMES[of_column[name]] for name in kept]
    assert sorted(set(found)) == ["age", "plan"]
    assert len(kept) == sum(NAMES[column] in found for column in encoder.groups_)
    best = json.loads(predicted("info m.narrows --json", capsys))["top"]
    best = [entry for entry in best if entry["kept"]]
    _, _, *rows = predicted(line, capsys).splitlines()
    assert [row.split()[1] for row in rows] == [entry["name"] for entry in best]
    assert json.loads(predicted(f"{line} --json", capsys))["top"] == best


@pytest.mark.slow
def test_compare_selects_the_columns_that_the_command_selects(folder, capsys):
    lines = "compare churn.csv --label churn --methods forwardfs,oc --dims 1,2,9"
    printed = predicted(lines, capsys)
    assert printed.startswith("Use ForwardFS with 2 columns, ")
    assert narrows_(printed.splitlines()[-1].removeprefix("narrows ")) == 0
    found = json.loads(predicted(lines + " --json", capsys))
    names = found["columns_in_order"]
    assert sorted(names[:2]) == ["age", "plan"]
    assert sorted(names[2:]) == ["city", "paid", "since"]
    columns = {line["asked"]: line["columns"] for line in found["lines"] if line["method"] != "oc"}
    assert columns == {None: 0, 1: 1, 2: 2, 9: 5}
    assert {x["asked"] for x in found["lines"] if x["all_columns"]} == {9}  # no reduction
    chosen = next(line for line in found["lines"] if line["asked"] == 2)
    model = load_model("model.narrows")
    assert len(model.get_feature_names_out()) == chosen["dimensions"]

    shown = predicted("info model.narrows", capsys).split("groups in order (* selected)")[1]
    top = shown.split("\n\n")[0].splitlines()[1:]
    assert [row.split()[0] for row in top].count("*") == 2
    assert {row[2:].split()[0] for row in top[:2]} == {"age", "plan"}
    entries = json.loads(predicted("info model.narrows --top 2 --json", capsys))["top"]
    assert [entry["features"] for entry in entries] == [
        list(model.groups).count(NAMES.index(entry["name"])) for entry in entries
    ]
    assert 0 < entries[0]["explained"] < entries[1]["explained"] < 1


def test_samples_for_the_model_of_a_table_come_from_its_encoder(folder, capsys):
    assert narrows_("fit churn.csv --label churn --method srda -o m.narrows") == 0
    model = narrows.load("m.narrows")
    table = {
        name: list(cells) for name, cells in zip(NAMES, zip(*customers(), strict=True), strict=True)
    }
    frame = pd.DataFrame(table).drop(columns="churn")
    with pytest.raises(ValueError, match=r"Transform X by narrows\.read\.source_of\(model\)"):
        model.predict(frame)
    encoder = source_of(model).encoder
    expected = predicted("predict m.narrows churn.csv --label churn -o -", capsys)
    found = model.predict(encoder.transform(frame))[:300].tolist()
    assert [row.split(",")[-1] for row in expected.splitlines()[1:]] == found


def test_wrong_tables_are_one_line_each(folder, capsys, monkeypatch):
    rows = customers()
    assert narrows_("fit churn.csv --label churn --method srda -o m.narrows") == 0
    predict = "predict m.narrows x.csv --label churn -o o.csv"
    fit = "fit x.csv --label churn --method onlinesrda -o o.narrows"
    write("x.csv", [row[1:] + ("1",) * 7 for row in rows], (*NAMES[1:], "Age", *"abcd", "", "e"))
    assert "Did you mean 'age' by" in error_of(predict, capsys)
    write("x.csv", [*rows[:7], ("old", *rows[7][1:]), *rows[8:]])
    assert "x.csv:9" in error_of(predict, capsys)
    write("x.csv", [*rows[:7], (*rows[7][:-1], ""), *rows[8:]])
    assert "x.csv:9" in error_of(fit, capsys)
    write("x.csv", [*rows[:333], ("1e400", *rows[333][1:]), *rows[334:]])
    assert "in row 333" in error_of("compare x.csv --label churn --methods srda", capsys)
    for options in ("--categories nothing", "--numbers plan", "--drop age,plan,nothing",
                    "--table --scheduler x"):  # fmt: skip
        error_of(f"fit churn.csv --label churn --method srda {options} -o o.narrows", capsys)
    assert "--table" in error_of("compare x.csv --label churn --task retrieval --table", capsys)
    np.save("x.npy", np.ones((3, 2)))
    assert "tables" in error_of("predict m.narrows x.npy -o o.csv", capsys)
    lists = pa.table({"a": [["q"], ["r"]], "b": ["x", None], "label": [0, 1]})
    parquet.write_table(lists, "l.parquet")
    assert "column 'a'" in error_of("fit l.parquet --table --method srda -o l.narrows", capsys)
    parquet.write_table(pa.table({"indices": [[0]], "values": [[1.0]], "label": [0]}), "l.parquet")
    assert "as lists" in error_of("fit l.parquet --drop a --method srda -o l.narrows", capsys)
    pretend(monkeypatch, "few rows decide")
    write("x.csv", [*rows[:250], ("forty", *rows[250][1:])])
    assert "x.csv:252" in error_of(f"{fit} --chunk-rows 50", capsys)


def test_exports_say_what_makes_their_vectors(folder, capsys):
    assert narrows_("fit churn.csv --label churn --method srda -o m.narrows") == 0
    model = narrows.load("m.narrows")
    narrows.save(make_pipeline(source_of(model).encoder, model), "p.narrows")
    for name, maker in ("m", ".encoder makes them"), ("p", "narrows.load('p.narrows')[0] makes"):
        assert maker in predicted(f"export {name}.narrows -o {name}.onnx", capsys)
        assert Path(f"{name}.onnx").stat().st_size > 0


def test_forward_selection_may_start_with_a_column(folder):
    line = "fit churn.csv --label churn --method forwardfs --n-features 2 --start city -o m.narrows"
    assert narrows_(line) == 0
    model = load_model("m.narrows")
    assert NAMES[source_of(model).encoder.groups_[model.ranking_[0]]] == "city"
