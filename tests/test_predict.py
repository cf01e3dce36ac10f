"""`narrows predict`: what it writes, selections that predict, and rows that are skipped."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline

from narrows import (
    LDA,
    OC,
    OCFS,
    SRDA,
    CorrelationFS,
    ForwardFS,
    KernelSRDA,
    OnlineSRDA,
    ReducedRank,
    VarianceFS,
    load,
    save,
)
from tests.inside import before_chunk


def predictions(path="p.csv"):
    """The columns of probabilities or numbers that a file has, and its labels."""
    frame = pd.read_csv(path)
    return frame.drop(columns="label").to_numpy(), frame["label"].to_numpy()


@pytest.mark.parametrize("method", [SRDA, LDA, KernelSRDA, OnlineSRDA])
def test_the_predictions_of_a_file_are_those_of_python(method, run):
    X, y = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    pd.DataFrame(X).to_csv("new.csv", index=False)
    pd.DataFrame(X).assign(label=y).to_csv("iris.csv", index=False)
    assert run(f"fit iris.csv --method {method.__name__.lower()} -o m.narrows")[0] == 0
    status, out, err = run("predict m.narrows iris.csv -o p.csv --proba --chunk-rows 7")
    assert (status, err) == (0, "")
    model = load("m.narrows")
    predicted, P = model.predict(X), model.predict_proba(X)
    shares = [average_precision_score(y == k, P[:, i]) for i, k in enumerate(model.classes_)]
    for said in (
        f"{(predicted == y).sum()} of 150 are equal to the labels of iris.csv",
        f"ROC curve {roc_auc_score(y, P, multi_class='ovr'):.3f}",
        f"precision {np.mean(shares):.3f}, log-loss {log_loss(y, P):.3f}.",
        "Always answering setosa has 33.3%.",
    ):
        assert said in out
    assert list(pd.read_csv("p.csv")) == ["setosa", "versicolor", "virginica", "label"]
    for priors in ("empirical", "balanced", "sqrt", ".6,.05,.35"):
        given = priors if priors.isalpha() else [float(part) for part in priors.split(",")]
        assert run(f"predict m.narrows iris.csv -o p.csv --proba --priors {priors}")[0] == 0
        found, labels = predictions()
        expected = model.predict_proba(X, priors=given)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)
        np.testing.assert_array_equal(labels, model.predict(X, priors=given))
    assert run("predict m.narrows iris.csv -o p.csv")[0] == 0
    np.testing.assert_allclose(pd.read_csv("p.csv")["probability"], P.max(axis=1), rtol=1e-12)
    found = json.loads(run("predict m.narrows new.csv -o p.npz --json")[1])
    assert found == {"output": "p.npz", "rows": 150, "accuracy": None, "largest_class": None}
    with np.load("p.npz") as archive:
        assert archive["y"].tolist() == predicted.tolist()


@pytest.mark.parametrize("labels", [[0.0, 1.0], [False, True], [3, 7]])
def test_columns_of_probabilities_are_named_as_labels_are_written(labels, run):
    X = np.arange(20.0).reshape(-1, 1)
    save(SRDA().fit(X, np.repeat(labels, 10)), "m.narrows")
    np.savez("a.npz", X=X)
    assert run("predict m.narrows a.npz -o p.csv --proba")[0] == 0
    frame = pd.read_csv("p.csv", dtype=str)
    best = frame.iloc[:, :2].astype(float).idxmax(axis=1)
    assert best.tolist() == frame["label"].tolist()


def test_several_labels_a_row_are_predicted_as_such(run):
    X = np.random.default_rng(0).normal(size=(60, 5))
    Y = (X[:, :3] > 0).astype(int)
    y = sparse.csr_array(Y)
    np.savez("a.npz", X=X, yindices=y.indices, yindptr=y.indptr, yshape=y.shape)
    save(OnlineSRDA(random_state=0).fit(X, Y), "m.narrows")
    status, out, err = run("predict m.narrows a.npz -o p.npz --json")
    assert (status, err) == (0, "")
    predicted = load("m.narrows").predict(X)
    assert json.loads(out)["accuracy"] == (predicted == Y).all(axis=1).mean()
    with np.load("p.npz") as archive:
        rows = np.split(archive["yindices"], archive["yindptr"][1:-1])
    assert [row.tolist() for row in rows] == [np.flatnonzero(row).tolist() for row in predicted]
    assert run("fit a.npz --method ocfs --n-features 4 -o m.narrows")[0] == 0
    wide = sparse.random_array((40, 2300), density=0.1, rng=np.random.default_rng(0), format="csr")
    dump_svmlight_file(wide, np.arange(40) % 2, "b.svm", zero_based=False)
    assert run("fit b.svm --method df --n-features 2100 -o wide.narrows")[0] == 0
    for model in ("m", "wide"):  # with several labels, or many columns
        assert isinstance(load(f"{model}.narrows").then_, OnlineSRDA)


KINDS = {"ocfs": OCFS, "forwardfs": ForwardFS, "variancefs": VarianceFS}
COLUMNS = [f"f{k}" for k in range(8)]
OF_OCFS = "fit first.csv --label kind --method ocfs --n-features 3"
FIT = f"{OF_OCFS} -o"


@pytest.fixture
def data(tmp_path):
    """Return samples, labels and a number to predict, which first.csv and rest.csv also have."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 8)) + np.outer(y == 0, np.r_[3, 0, 2, np.zeros(5)])
    X += np.outer(y == 1, np.r_[0, 2.5, np.zeros(6)])
    price = X[:, 1] - 2 * X[:, 4] + 0.1 * rng.normal(size=300)
    frame = pd.DataFrame(X, columns=COLUMNS)
    labelled = frame.assign(kind=np.array(["a", "b", "c"])[y])
    for name, rows in (("first", slice(200)), ("rest", slice(200, 300))):
        labelled[rows].to_csv(tmp_path / f"{name}.csv", index=False)
        frame.assign(price=price)[rows].to_csv(tmp_path / f"{name}_prices.csv", index=False)
    return X, labelled["kind"].to_numpy(), price


@pytest.mark.parametrize("then", [None, "lda"])
@pytest.mark.parametrize("method", KINDS)
def test_a_selection_predicts_as_a_pipeline_does(run, data, method, then):
    X, y, _ = data
    line = FIT.replace("ocfs", method) + " m.narrows --chunk-rows 70 --json"
    status, out, err = run(line + f" --then {then}" * (then is not None))
    assert (status, err) == (0, "")
    rule = LDA() if then else SRDA()
    assert json.loads(out)["then"]["method"] == type(rule).__name__
    expected = make_pipeline(KINDS[method](n_features=3), rule).fit(X[:200], y[:200])
    assert run("predict m.narrows rest.csv -o p.csv --proba")[0] == 0
    P, labels = predictions()
    np.testing.assert_allclose(P, expected.predict_proba(X[200:]), atol=1e-10)
    np.testing.assert_array_equal(labels, expected.predict(X[200:]))
    assert run("transform m.narrows rest.csv -o r.csv")[0] == 0  # of the selection alone
    chosen = [COLUMNS[k] for k in expected[0].get_support(indices=True)]
    assert list(pd.read_csv("r.csv")) == [*chosen, "label"]
    model = load("m.narrows")
    assert (type(model), type(model.then_)) == (KINDS[method], type(rule))
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-10)
    assert model.score(X, y) == expected.score(X, y)


@pytest.mark.parametrize("kind", [ForwardFS, CorrelationFS])
def test_a_selection_predicts_numbers(run, data, kind):
    X, _, price = data
    fit = "fit first_prices.csv --target price --n-features 2 -o m.narrows --method"
    assert run(f"{fit} {kind.__name__.lower()}")[0] == 0
    assert run("predict m.narrows rest_prices.csv -o p.csv")[0] == 0
    # the command line makes curves of the columns of a table, but not of numbers alone
    columns = kind(n_features=2).fit(X[:200], price[:200]).get_support()
    expected = ReducedRank().fit(X[:200, columns], price[:200]).predict(X[200:, columns])
    np.testing.assert_allclose(pd.read_csv("p.csv")["price"], expected, atol=1e-10)


def test_what_predicts_is_updated_and_says_if_the_selection_changes(run, data):
    X, y, _ = data
    assert run(f"{FIT} m.narrows")[0] == 0
    assert run("update m.narrows rest.csv -o u.narrows")[::2] == (0, "")
    expected = make_pipeline(OCFS(n_features=3), SRDA()).fit(X, y)
    np.testing.assert_allclose(load("u.narrows").predict_proba(X), expected.predict_proba(X))
    X[200:, 7] += 50.0 * (y[200:] == "a")
    pd.DataFrame(X[200:], columns=COLUMNS).assign(kind=y[200:]).to_csv("other.csv", index=False)
    status, _, err = run("update m.narrows other.csv -o u.narrows")
    assert status == 0
    assert "ocfs now selects other columns, and srda predicts by those of the fit" in err
    X_s = X[:, OCFS(n_features=3).fit(X[:200], y[:200]).get_support()]
    found = load("u.narrows")
    np.testing.assert_allclose(found.predict_proba(X), SRDA().fit(X_s, y).predict_proba(X_s))
    assert found.get_support()[7]
    assert not json.loads(run("info u.narrows --json")[1])["then"]["is_of_selection"]


def test_models_of_the_same_columns_are_merged_with_what_predicts(run, data):
    X, y, _ = data
    assert run(f"{FIT} a.narrows")[0] == 0
    assert run("fit rest.csv --like a.narrows -o b.narrows")[0] == 0
    assert run("merge a.narrows b.narrows -o m.narrows")[::2] == (0, "")
    X_s = X[:, OCFS(n_features=3).fit(X[:200], y[:200]).get_support()]
    expected = SRDA().fit(X_s, y).predict_proba(X_s)
    np.testing.assert_allclose(load("m.narrows").predict_proba(X), expected)
    assert run(f"{FIT.replace('first', 'rest')} b.narrows --then lda")[0] == 0
    status, _, err = run("merge a.narrows b.narrows -o m.narrows")
    assert (status, err.count("warning")) == (0, 1)
    assert not hasattr(load("m.narrows"), "predict")


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("fit first.csv --label kind --method srda --then lda -o x", 2, "ocfs"),
        ("fit first.csv --label kind --method ocfs --then oc -o x", 2, "srda"),
        (f"{FIT} x --then srda --engine dask", 2, "--engine"),
        ("fit first.csv --label kind --like m.narrows --then srda -o x", 2, "--like"),
        ("update v.narrows new.csv -o x", 1, "--then none"),  # no labels for what predicts
        ("predict m.narrows rest.csv -o x.csv --priors 1,1", 2, "priors"),
        ("predict oc.narrows rest.csv -o x.csv", 2, "expected a model that predicts"),
    ],
)
def test_wrong_use_is_refused(run, data, line, status, said):
    X, y, _ = data
    save(OC().fit(X, y), "oc.narrows")
    assert run(f"{FIT} m.narrows")[0] == 0
    assert run(f"{FIT.replace('ocfs', 'variancefs')} v.narrows")[0] == 0
    pd.read_csv("rest.csv").drop(columns="kind").to_csv("new.csv", index=False)
    found, out, err = run(line)
    assert (found, out, [*Path().glob("x*")]) == (status, "", [])
    assert said in err


def test_a_selection_alone_does_not_predict(run, data):
    X, y, _ = data
    assert run(f"{FIT} m.narrows")[0] == 0
    assert run(f"{FIT} alone.narrows --then none")[::2] == (0, "")
    model = load("m.narrows")
    for other in (load("alone.narrows"), OCFS().fit(X, y), OCFS(), clone(model), model.fit(X, y)):
        for name in ("predict", "predict_proba", "score", "then_"):
            assert not hasattr(other, name)


@pytest.mark.slow
# in the selection, in what predicts, and in both
@pytest.mark.parametrize(
    ("line", "n"), [(OF_OCFS, 4), (OF_OCFS, 14), ("update a.narrows rest.csv", 3)]
)
def test_an_interrupted_run_goes_on_with_the_same_bytes(run, data, monkeypatch, line, n):
    def stop(number, size):
        if number == n:
            signal.raise_signal(signal.SIGINT)

    assert run(f"{FIT} a.narrows")[0] == 0
    line += " -o m.narrows --chunk-rows 20 --checkpoint c.narrows --every 20"
    assert run(line)[0] == 0
    expected = Path("m.narrows").read_bytes()
    with monkeypatch.context() as patch:
        before_chunk(patch, stop)
        assert run(line)[0] == 130
    assert run(f"{line} --resume")[0] == 0
    assert Path("m.narrows").read_bytes() == expected


def test_onnx_has_both(run, data):
    onnxruntime = pytest.importorskip("onnxruntime")
    X = data[0]
    for line in (f"{FIT} m.narrows", "export m.narrows -o m.onnx"):
        assert run(line)[0] == 0
    model, session = load("m.narrows"), onnxruntime.InferenceSession("m.onnx")
    reduced, labels, P = session.run(None, {"X": np.float32(X)})
    np.testing.assert_array_equal(reduced, model.transform(np.float32(X)))
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(P, model.predict_proba(X), atol=1e-5)


NUMBERS = "a,b,label\n", [f"{k % 7}.5,{k * k % 11},{'xy'[k % 2]}" for k in range(40)]
TABLE = "a,c,label\n", [f"{k % 7}.5,{'rgb'[k % 3]},{'xy'[k % 2]}" for k in range(40)]
TEXTS = "", [json.dumps({"text": f"w{k % 5}", "label": "xy"[k % 2]}) for k in range(40)]
SVMLIGHT = "", [f"{k % 2} 1:{k % 7}.5 2:{k * k % 11}" for k in range(40)]
BAD = {  # rows that cannot be read, by their place
    "csv": (*NUMBERS, {3: "oops,1,x", 7: "1,2,", 11: "1,2,3,x", 20: '1,"2"3,x', 30: "nan,1,y"}),
    "jsonl": (*TEXTS, {2: '{"text": null, "label": "x"}', 4: "{broken", 39: '{"text": "w1"}'}),
    "svm": (*SVMLIGHT, {0: "1 3:1 2:1", 9: "x 1:1", 10: "1 1:inf"}),
}


def written(name, head, rows, bad=()):
    bad = dict(bad)
    Path(name).write_text(head + "".join(bad.get(k, row) + "\n" for k, row in enumerate(rows)))


def call(run, line):
    status, out, err = run(f"{line} --json")
    assert status == 0, err
    return json.loads(out.splitlines()[-1])


@pytest.mark.parametrize("suffix", BAD)
def test_a_fit_without_the_bad_rows_is_that_of_the_others(run, suffix):
    head, rows, bad = BAD[suffix]
    written(f"bad.{suffix}", head, rows, bad)
    written(f"good.{suffix}", head, [row for k, row in enumerate(rows) if k not in bad])
    fit = f"fit bad.{suffix} --method oc -o m.narrows"
    assert run(fit)[0] == 1
    found = call(run, f"{fit} --on-error skip --skipped skipped.{suffix} --chunk-rows 16")
    call(run, f"fit good.{suffix} --method oc -o good.narrows")
    lines = [k + 1 + bool(head) for k in sorted(bad)]
    assert [each["line"] for each in found["skipped"]] == lines
    assert all(each["reason"] and each["file"] == f"bad.{suffix}" for each in found["skipped"])
    left = Path(f"skipped.{suffix}").read_text()
    assert left == head + "".join(bad[k] + "\n" for k in sorted(bad))
    m, other = load("m.narrows"), load("good.narrows")
    np.testing.assert_allclose(m.components_, other.components_, atol=1e-12)
    assert m.class_count_.tolist() == other.class_count_.tolist()


def test_predict_and_update_go_on_behind_bad_rows(run):
    head, rows, bad = BAD["csv"]
    written("good.csv", head, rows)
    written("bad.csv", head, rows, bad)
    call(run, "fit good.csv --method srda -o m.narrows")
    found = call(run, "predict m.narrows bad.csv -o p.csv --on-error skip")
    assert found["rows"] == len(rows) - 4  # that without a label is predicted
    X = [[float(c) for c in row.split(",")[:2]] for k, row in enumerate(rows) if k not in bad]
    expected = load("m.narrows").predict(np.array([*X[:6], [1.0, 2.0], *X[6:]]))
    assert pd.read_csv("p.csv")["label"].tolist() == expected.tolist()
    skipping = "m.narrows bad.csv --on-error skip -o"
    assert call(run, f"transform {skipping} t.csv")["rows"] == len(rows) - 5
    assert call(run, f"update {skipping} u.narrows")["rows"] == 75


def test_bad_cells_of_a_table_are_missing_or_their_rows_are_skipped(run):
    written("good.csv", *TABLE)
    written("bad.csv", *TABLE, {5: "oops,r,x", 6: "?,r,x"})
    written("empty.csv", *TABLE, {5: ",r,x", 6: "?,r,x"})
    call(run, "fit good.csv --method srda -o m.narrows")
    predict = "predict m.narrows bad.csv -o p.csv --chunk-rows 7 --on-error"
    assert call(run, f"{predict} skip --skipped left.csv")["rows"] == 39
    assert Path("left.csv").read_text().splitlines()[1:] == ["oops,r,x"]
    found = call(run, f"{predict} missing")
    assert (found["rows"], found["missing_cells"]) == (40, 1)
    call(run, "predict m.narrows empty.csv -o q.csv")
    assert Path("p.csv").read_text() == Path("q.csv").read_text()


def test_rows_of_arrays_are_skipped(run):
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2
    X[7, 1] = np.nan
    np.savez("a.npz", X=X, y=y)
    labels = [None if k == 3 else "ab"[k % 2] for k in range(50)]
    pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "label": labels}), "a.parquet")
    for name, lines in (("a.npz", [8]), ("a.parquet", [4, 8])):
        fit = f"fit {name} --method oc -o m.narrows --on-error skip --chunk-rows 20"
        assert [each["line"] for each in call(run, fit)["skipped"]] == lines


def test_new_classes_and_files_learned_twice_are_named(run):
    written("a.csv", *NUMBERS)
    written("c.csv", *NUMBERS)
    written("b.csv", *NUMBERS, {3: "1,2,yy", 5: "2,1,yy"})
    call(run, "fit a.csv --method oc -o m.narrows")
    update = "update m.narrows b.csv -o n.narrows"
    assert call(run, update)["new_classes"] == {"yy": 2}
    assert "b.csv:5: " in run(f"{update} --no-new-classes")[2]
    found = call(run, f"{update} --no-new-classes --on-error skip")
    assert ([each["line"] for each in found["skipped"]], found["rows"]) == ([5, 7], 78)
    for line in ("update m.narrows c.csv -o n.n", "fit a.csv c.csv --method oc -o p.n"):
        status, _, err = run(line)
        assert (status, "learned a file" in err) == (0, True)
