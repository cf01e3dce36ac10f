"""Tables at the command line: categories, missing values, dates and texts in columns."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.pipeline import make_pipeline

import narrows
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
def ok(run):
    """Files of customers, and what runs a command that succeeds and returns what it printed."""
    rows = customers()
    write("churn.csv", rows[:300])
    write("new.csv", rows[300:])

    def command(line):
        status, *said = run(line)
        assert status == 0, said
        return said

    return command


FIT = "fit churn.csv --label churn --method srda -o m.narrows"


def test_what_fit_learns_is_what_the_encoder_and_the_estimator_learn(ok):
    assert "plan: category" in ok(FIT)[1]
    table = pd.DataFrame(customers()[:300], columns=NAMES, dtype=object).replace("", None)
    y = table.pop("churn").to_numpy(dtype=str)
    pipeline = make_pipeline(TableEncoder(), narrows.SRDA()).fit(table, y)
    found = load_model("m.narrows")
    np.testing.assert_allclose(found.components_, pipeline[1].components_, rtol=1e-8, atol=1e-12)
    narrows.save(pipeline, "p.narrows")
    for name in "mp":
        ok(f"predict {name}.narrows new.csv --label churn -o {name}.csv")
    assert Path("m.csv").read_text() == Path("p.csv").read_text()
    assert "phone: left out" in ok("info p.narrows")[0]
    assert len(json.loads(ok("info m.narrows --json")[0])["table"]) == len(NAMES) - 1
    found = []
    for options in ("--columns age,plan", "--drop city,since,phone,paid"):
        ok(f"{FIT} {options}")
        found.append(load_model("m.narrows").components_)
    np.testing.assert_array_equal(*found)
    # the labels are a column more
    assert "ignored: 'churn'." in ok("predict p.narrows new.csv -o p.csv")[1]


def test_forward_selection_takes_whole_columns_in_their_order(ok):
    line = "fit churn.csv --label churn --method forwardfs --n-features 2 -o m.narrows"
    rows = ok(line)[0].splitlines()[2:]
    model = load_model("m.narrows")
    kept, encoder = model.get_feature_names_out(), source_of(model).encoder
    of_column = dict(zip(encoder.get_feature_names_out(), encoder.groups_, strict=True))
    found = [NAMES[of_column[name]] for name in kept]
    assert sorted(set(found)) == ["age", "plan"]
    assert len(kept) == sum(NAMES[column] in found for column in encoder.groups_)
    best = json.loads(ok("info m.narrows --json")[0])["top"]
    kept = [entry["name"] for entry in best if entry["kept"]]
    assert [row.split()[1] for row in rows] == kept
    ok(f"{line} --start city")
    model = load_model("m.narrows")
    assert NAMES[encoder.groups_[model.ranking_[0]]] == "city"


@pytest.mark.slow
def test_compare_selects_the_columns_that_the_command_selects(ok):
    lines = "compare churn.csv --label churn --methods forwardfs,oc --dims 1,2,9"
    printed = ok(lines)[0]
    assert printed.startswith("Use ForwardFS with 2 columns, ")
    ok(printed.splitlines()[-1].removeprefix("narrows "))
    found = json.loads(ok(lines + " --json")[0])
    names = found["columns_in_order"]
    assert sorted(names[:2]) == ["age", "plan"]
    assert sorted(names[2:]) == ["city", "paid", "since"]
    columns = {line["asked"]: line["columns"] for line in found["lines"] if line["method"] != "oc"}
    assert columns == {None: 0, 1: 1, 2: 2, 9: 5}
    assert {x["asked"] for x in found["lines"] if x["all_columns"]} == {9}  # no reduction
    chosen = next(line for line in found["lines"] if line["asked"] == 2)
    model = load_model("model.narrows")
    assert len(model.get_feature_names_out()) == chosen["dimensions"]
    entries = json.loads(ok("info model.narrows --top 2 --json")[0])["top"]
    assert {entry["name"] for entry in entries} == {"age", "plan"}
    assert [entry["features"] for entry in entries] == [
        list(model.groups).count(NAMES.index(entry["name"])) for entry in entries
    ]
    assert 0 < entries[0]["explained"] < entries[1]["explained"] < 1


def test_samples_for_the_model_of_a_table_come_from_its_encoder(ok):
    ok(FIT)
    model = narrows.load("m.narrows")
    frame = pd.DataFrame(customers()[:300], columns=NAMES).drop(columns="churn")
    with pytest.raises(ValueError, match=r"Transform X by narrows\.read\.source_of\(model\)"):
        model.predict(frame)
    encoder = source_of(model).encoder
    expected = ok("predict m.narrows churn.csv --label churn -o -")[0].splitlines()
    found = model.predict(encoder.transform(frame)).tolist()
    assert [row.split(",")[-1] for row in expected[1:]] == found
    narrows.save(make_pipeline(encoder, model), "p.narrows")
    for name, maker in ("m", ".encoder makes them"), ("p", "narrows.load('p.narrows')[0] makes"):
        assert maker in "".join(ok(f"export {name}.narrows -o {name}.onnx"))


def test_wrong_tables_are_one_line_each(ok, run, monkeypatch):
    def error_of(line):
        status, out, err = run(line)
        said = [row for row in err.splitlines() if not row.startswith(("  ", "narrows: columns"))]
        assert (status in (1, 2), out, len(said)) == (True, "", 1), err
        return said[0]

    rows = customers()
    ok(FIT)
    predict = "predict m.narrows x.csv --label churn -o o.csv"
    fit = "fit x.csv --label churn --method onlinesrda -o o.narrows"
    write("x.csv", [row[1:] + ("1",) * 7 for row in rows], (*NAMES[1:], "Age", *"abcd", "", "e"))
    assert "Did you mean 'age' by" in error_of(predict)
    write("x.csv", [*rows[:7], ("old", *rows[7][1:]), *rows[8:]])
    assert "x.csv:9" in error_of(predict)
    write("x.csv", [*rows[:7], (*rows[7][:-1], ""), *rows[8:]])
    assert "x.csv:9" in error_of(fit)
    write("x.csv", [*rows[:333], ("1e400", *rows[333][1:]), *rows[334:]])
    assert "in row 333" in error_of("compare x.csv --label churn --methods srda")
    for options in ("--categories nothing", "--numbers plan", "--columns nothing"):
        error_of(f"{FIT} {options}")
    np.save("x.npy", np.ones((3, 2)))
    assert "tables" in error_of("predict m.narrows x.npy -o o.csv")
    lists = pa.table({"a": [["q"], ["r"]], "b": ["x", None], "label": [0, 1]})
    parquet.write_table(lists, "l.parquet")
    assert "column 'a'" in error_of("fit l.parquet --table --method srda -o l.narrows")
    parquet.write_table(pa.table({"indices": [[0]], "values": [[1.0]], "label": [0]}), "l.parquet")
    assert "as lists" in error_of("fit l.parquet --drop a --method srda -o l.narrows")
    pretend(monkeypatch, "few rows decide")
    write("x.csv", [*rows[:250], ("forty", *rows[250][1:])])
    assert "x.csv:252" in error_of(f"{fit} --chunk-rows 50")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_only_columns_with_features_are_needed_and_new_ones_are_named(ok, kind):
    ok(f"{FIT} --drop city")
    frame = pd.DataFrame(customers()[300:], columns=NAMES)
    frames = {"new": frame, "few": frame.drop(columns=["city", "phone"])}
    frames["more"] = frame.assign(**{"": "1", "extra": "2"})
    for name, each in frames.items():
        file = f"{name}.{kind}"
        each.to_csv(file, index=False) if kind == "csv" else each.to_parquet(file)
        for line in (
            f"predict m.narrows {file} -o {name}.p.csv", f"fit {file} --like m.narrows -o l.n",
            f"transform m.narrows {file} -o {name}.t.csv",
            f"update m.narrows {file} -o {name}.narrows",
        ):  # fmt: skip
            said = ok(f"{line} --label churn")[1]
            assert ("ignored: '', 'extra'." in said) == (name == "more")
        for made in ("p.csv", "t.csv"):
            assert Path(f"{name}.{made}").read_text() == Path(f"new.{made}").read_text()
    assert load_model("few.narrows").n_samples_seen_ == N
