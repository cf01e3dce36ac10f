"""`narrows predict`: classes, selections that predict, skipped rows, and numbers to predict."""

from __future__ import annotations

import json
import signal
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.feature_selection import f_regression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import average_precision_score, log_loss, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline

from narrows import (
    LDA,
    OC,
    OCFS,
    PLS,
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
from narrows.errors import DataError, ParameterError
from narrows.evaluate import compare
from narrows.read import iter_chunks, source_of
from tests.inside import before_chunk, fit_in_parts


def predictions(path="p.csv"):
    """The columns of probabilities or numbers that a file has, and its labels."""
    frame = pd.read_csv(path)
    return frame.drop(columns="label").to_numpy(), frame["label"].to_numpy()


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
    out = run("predict m.narrows a.npz -o p.npz --json")[1]
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
    header = run("transform m.narrows rest.csv -o -")[1].split()[0]  # of the selection alone
    assert header == ",".join([*np.array(COLUMNS)[expected[0].get_support()], "label"])
    model = load("m.narrows")
    assert (type(model), type(model.then_)) == (KINDS[method], type(rule))
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-10)
    assert model.score(X, y) == expected.score(X, y)
    for other in (clone(model), model.fit(X, y)):  # a selection alone does not predict
        assert not any(hasattr(other, name) for name in ("predict", "score", "then_"))


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


N, D = 90, 5
FILES = "a.csv", "a.parquet", "a.npz", "a.svm", "a.h5ad"


def samples(n=N, seed=0):
    """Features, and two targets that a linear function of them explains in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * [1, 10, 0.1, 1, 1] + 3
    Y = X @ rng.normal(size=(D, 2)) + 0.3 * rng.normal(size=(n, 2)) + [1e4, -5]
    return X, Y


def table_of(X, Y):
    """A table whose targets stand between the features."""
    table = pd.DataFrame(X).add_prefix("f")
    for at, name in enumerate(("price", "dose")[: Y.shape[1]]):
        table.insert(2 + at, name, Y[:, at])
    return table


@pytest.fixture
def files(run):
    """The same samples and targets in every format; return them, and what runs commands."""
    X, Y = samples()
    table = table_of(X, Y)
    table.to_csv("a.csv", index=False)
    table.to_parquet("a.parquet", row_group_size=20, index=False)
    np.savez("a.npz", X=X, price=Y[:, 0], dose=Y[:, 1:])
    np.save("X.npy", X)
    np.save("price.npy", Y[:, 0])
    with open("a.svm", "w") as file:
        for x, y in zip(X.tolist(), Y.tolist(), strict=True):
            entries = " ".join(f"{k}:{value!r}" for k, value in enumerate(x, 1))
            file.write(f"{y[0]!r},{y[1]!r} {entries}\n")
    cells, genes = (  # an index of objects is what every version of anndata writes
        pd.Index([f"{c}{k}" for k in range(n)], dtype=object) for c, n in (("c", N), ("g", D))
    )
    obs = pd.DataFrame({"price": Y[:, 0], "dose": Y[:, 1]}, cells)
    import_module("anndata").AnnData(X, obs, pd.DataFrame(index=genes)).write_h5ad("a.h5ad")
    texts = pd.DataFrame(Y, columns=["price", "dose"]).assign(body=["sea", "sea salt"] * (N // 2))
    rows = [json.dumps(row) + "\n" for row in texts.to_dict("records")]
    Path("a.jsonl").write_text("".join(rows))
    return X, Y, run


def read_csv(path):
    header, *rows = (line.split(",") for line in Path(path).read_text().splitlines())
    return header, np.array(rows, float)


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("chunk_rows", [7, 1000])
def test_every_format_has_the_same_targets(files, path, chunk_rows):
    X, Y, _ = files
    chunks = list(iter_chunks(path, target=["price", "dose"], chunk_rows=chunk_rows))
    assert all(y.dtype == np.float64 and y.ndim == 2 for _, y in chunks)
    np.testing.assert_array_equal(np.vstack([y for _, y in chunks]), Y)
    found = [x.toarray() if sparse.issparse(x) else x for x, _ in chunks]
    np.testing.assert_array_equal(np.vstack(found), X)
    assert len(chunks) == 1 or chunk_rows == 7
    ((_, y),) = iter_chunks("X.npy", target="price.npy")  # an array in a file of its own
    np.testing.assert_array_equal(y, Y[:, 0])
    ((texts, y),) = iter_chunks("a.jsonl", text="body", target=["dose", "price"])
    assert texts[1] == "sea salt"
    np.testing.assert_array_equal(y, Y[:, ::-1])


JSON = '{"text": "sea", "price": 1}\n{"text": "salt", "price": %s}\n'
WRONG = [  # a file, what it has, and the error behind its name
    *(("p.csv", f"f,price\n1,2\n1,3\n1,{cell}\n", ":4: .*'price': expected a .*number")
      for cell in ("cheap", "", "nan", "-inf")),
    ("p.jsonl", JSON % '"good"', ":2: .* a number, got text"),
    ("p.jsonl", JSON % "null", ":2: .* got none"),
    ("p.jsonl", JSON % ("1" + "0" * 400), ":2: .* a finite number, got inf"),
    ("p.svm", "1.5 1:2\n1.5,2.5 1:3\n", ":2: expected 1 target"),
    ("p.parquet", [1.0, None, 2.0], ":2: column 'price'.* nulls"),
    ("p.parquet", ["a", "b", "c"], "column 'price': expected numbers"),
    ("p.npz", [1.0, 2.0], "expected 3 targets"),
    ("p.npz", [1.0, np.nan, 2.0], ":2: target 'price'.* finite"),
    ("p.npz", ["a", "b", "c"], "targets that are numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "message"), WRONG)
def test_a_target_that_is_no_number_is_an_error_with_its_row(run, name, given, message):
    if name == "p.parquet":
        pd.DataFrame({"f": [1.0, 2.0, 3.0], "price": pd.array(given)}).to_parquet(name)
    elif name == "p.npz":
        np.savez(name, X=np.eye(3), price=given)
    else:
        Path(name).write_text(given)
    with pytest.raises(DataError, match=rf"^{name}.*{message}"):
        list(iter_chunks(name, target="price"))


@pytest.mark.parametrize("path", FILES)
def test_a_model_of_a_file_predicts_as_in_python(files, path, tmp_path):
    X, Y, run = files
    fit = f"fit {path} --target price --target dose --method pls --n-components 3 --chunk-rows 20"
    assert run(f"{fit} -o m.narrows")[::2] == (0, "")
    out = run(f"predict m.narrows {path} -o p.csv --chunk-rows 11")[1]
    header, found = read_csv("p.csv")
    expected = PLSRegression(3, scale=False, tol=1e-14, max_iter=10_000).fit(X, Y).predict(X)
    assert header == ["price", "dose"]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    each = r2_score(Y, expected, multioutput="raw_values")
    assert f"{each.mean():.3f} (price {each[0]:.3f}, dose {each[1]:.3f})" in out
    shown = json.loads(run("info m.narrows --json")[1])
    assert (shown["targets"], "classes" in shown) == (["price", "dose"], False)


def test_a_file_without_targets_is_predicted_but_not_learned(files):
    X, _, run = files
    run("fit a.csv --target price --target dose -o m.narrows")
    table_of(X, np.empty((N, 0))).to_csv("b.csv", index=False)
    out = run("predict m.narrows b.csv -o p.csv --json")[1]
    assert json.loads(out) == {"output": "p.csv", "rows": N, "r2": None, "r2_by_target": {}}
    status, _, err = run("update m.narrows b.csv -o m2.narrows")
    assert (status, "b.csv:1: expected a column 'price'" in err) == (1, True)
    assert run("transform m.narrows b.csv -o -")[1].startswith("reducedrank0,reducedrank1\n")


def test_transform_carries_the_targets_and_convert_keeps_them(files):
    _, Y, run = files
    run("fit a.csv --target price --target dose --method correlationfs --n-features 2 -o m.narrows")
    names = load("m.narrows").get_feature_names_out().tolist()
    run("transform m.narrows a.csv -o t.csv --chunk-rows 13")
    header, found = read_csv("t.csv")
    assert header == [*names, "price", "dose"]
    np.testing.assert_array_equal(found[:, 2:], Y)
    for suffix in ("parquet", "npz", "svm"):
        run(f"transform m.narrows a.csv -o t.{suffix} --chunk-rows 13")
        targets = "--target y" if suffix == "npz" else "--target price --target dose"
        assert run(f"convert t.{suffix} back.csv {targets}")[0] == 0
        np.testing.assert_array_equal(read_csv("back.csv")[1], found)


REFUSED = [
    ("fit a.csv --method srda --target price -o x", 2, "use a regressor"),
    ("fit a.csv --method pls -o x", 2, "--target"),
    ("fit a.csv --method pls --label price -o x", 2, "got label 'price'"),
    ("fit a.csv --target price --label f0 -o x", 2, "--label, --target"),
    ("fit X.npy --target a.npz -o x", 2, "--target: expected a .npy file"),
    ("predict classes.narrows a.csv --target price -o x.csv", 2, "--label, since SRDA"),
    ("update classes.narrows a.csv --target price -o x", 2, "--label, since SRDA"),
    ("predict numbers.narrows a.csv --proba -o x.csv", 2, "--proba"),
    ("merge numbers.narrows classes.narrows -o x", 1, "expected a model to merge"),
    ("merge numbers.narrows numbers.narrows --labels text -o x", 2, "--labels"),
    ("predict few.narrows a.csv -o x.csv", 2, "(pls, reducedrank)"),
    ("compare a.csv --target price --methods srda", 2, "methods for numeric targets"),
    ("compare a.csv --label f --methods pls", 2, "For numbers, set "),
    ("compare a.csv --target price --metric accuracy", 2, "a metric of numbers"),
    ("compare nine.csv --target price", 1, "nine.csv: expected at least 10 samples"),
    *((f"{line} -o price.npy", 2, "price.npy: expected an output, got an input") for line in (
        "fit X.npy --target price.npy --method pls",
        "transform numbers.narrows X.npy --target price.npy",
        "update numbers.narrows X.npy --target price.npy",
    )),
    ("convert X.npy price.npy --target price.npy", 2, "price.npy: expected an output"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "status", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_wrong_use_of_targets_is_refused(files, line, status, message):
    X, Y, run = files
    save(SRDA().fit(X, np.arange(N) % 3), "classes.narrows")
    run("fit a.csv --target price -o numbers.narrows")
    run("fit a.csv --target price --method correlationfs --then none -o few.narrows")
    table_of(X[:9], Y[:9]).to_csv("nine.csv", index=False)
    found, out, err = run(line)
    assert (found, out) == (status, "")
    assert message in err
    assert err.count("\n") == 1
    np.testing.assert_array_equal(np.load("price.npy"), Y[:, 0])


def test_files_in_parts_are_one_fit(files, tmp_path):
    X, Y, _ = files
    whole = ReducedRank(alpha=1.0).fit(X, Y)
    for path in ("a.csv", "a.parquet", "a.svm"):
        found = fit_in_parts(ReducedRank(alpha=1.0), [path], target=["price", "dose"])
        np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-9)
        assert source_of(found).target == ("price", "dose")
    with pytest.raises(ParameterError, match="targets of PLS are numbers, got none"):
        fit_in_parts(PLS(), ["a.csv"])
    with pytest.raises(ParameterError, match="OC is for classes, got target 'price'"):
        fit_in_parts(OC(), ["a.csv"], target="price")


def test_the_lines_are_those_of_scikit_learn():
    X, Y = samples(200)
    y = Y[:, 0]
    methods = ["pls", "correlationfs", "f_regression", "plsregression", "sklearn-pca"]
    lines = compare(X[:150], y[:150], methods, dims=[2, D], test=(X[150:], y[150:]))
    r2 = {(line.method, line.dimensions): line.r2 for line in lines}
    ordinary = LinearRegression().fit(X[:150], y[:150])
    expected = r2_score(y[150:], ordinary.predict(X[150:]))
    assert r2["all columns", D] == pytest.approx(expected, abs=0.01)
    assert r2["pls", D] == pytest.approx(r2["all columns", D], abs=0.01)
    best = np.argsort(-f_regression(X[:150], y[:150])[0])[:2]
    line = LinearRegression().fit(X[:150, best], y[:150])
    two = r2_score(y[150:], line.predict(X[150:, best]))
    assert r2["correlationfs", 2] == r2["f_regression", 2] == pytest.approx(two, abs=0.01)
    rmse = next(line.rmse for line in lines if line.method == "all columns")
    residuals = y[150:] - ordinary.predict(X[150:])
    assert rmse == pytest.approx(np.sqrt(np.mean(residuals**2)), rel=0.02)
    assert lines.recommendation_.line.dimensions < D


def test_integers_are_classes_unless_they_are_called_numbers():
    X, Y = samples()
    ratings = np.searchsorted(np.quantile(Y[:, 1], [0.3, 0.7]), Y[:, 1])
    assert compare(X, ratings, ["pca"], dims=[2], repeats=1).metric == "accuracy"
    lines = compare(X, ratings, dims=[2], repeats=1, target="numeric", classifiers=["knn", "ridge"])
    assert (lines.metric, {line.classifier for line in lines}) == ("r2", {"knn", "ridge"})
    for y, given, message in (
        (np.full(N, 0.5), {}, "targets that vary"), (ratings, {"target": "class"}, "got 'class'"),
        (Y[:, 0], {"test": (X, Y)}, "test set with 1 targets, got 2"),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=message):
            compare(X, y, **given)


def test_targets_are_those_of_their_names_in_any_order(run):
    table_of(*samples()).to_csv("a.csv", index=False)
    table_of(*samples(seed=1)).to_csv("b.csv", index=False)
    orders = {"one": "--target price --target dose", "other": "--target dose --target price"}
    run(f"fit a.csv {orders['one']} --method pls -o m.n")
    for name, given in orders.items():
        assert run(f"predict m.n b.csv {given} -o {name}.csv")[0] == 0
        status, _, said = run(f"update m.n b.csv {given} -o {name}.n")
        assert (status, said) == (0, "")  # no warning of new classes
    assert Path("one.csv").read_text() == Path("other.csv").read_text()
    X, _ = samples(seed=2)
    np.testing.assert_array_equal(load("one.n").predict(X), load("other.n").predict(X))


@pytest.mark.parametrize("method", [SRDA, LDA, KernelSRDA, OnlineSRDA])
def test_the_predictions_of_a_file_are_those_of_python(method, run):
    X, y = load_iris(return_X_y=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    pd.DataFrame(X).to_csv("new.csv", index=False)
    pd.DataFrame(X).assign(label=y).to_csv("iris.csv", index=False)
    assert run(f"fit iris.csv --method {method.__name__.lower()} -o m.narrows")[0] == 0
    out = run("predict m.narrows iris.csv -o p.csv --proba --chunk-rows 7")[1]
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


def test_what_predicts_is_updated_and_says_if_the_selection_changes(run, data):
    X, y, _ = data
    assert run(f"{FIT} m.narrows")[0] == 0
    assert run("update m.narrows rest.csv -o u.narrows")[::2] == (0, "")
    expected = make_pipeline(OCFS(n_features=3), SRDA()).fit(X, y)
    np.testing.assert_allclose(load("u.narrows").predict_proba(X), expected.predict_proba(X))
    X[200:, 7] += 50.0 * (y[200:] == "a")
    pd.DataFrame(X[200:], columns=COLUMNS).assign(kind=y[200:]).to_csv("other.csv", index=False)
    err = run("update m.narrows other.csv -o u.narrows")[2]
    assert "ocfs now selects other columns, and srda predicts by those of the fit" in err
    X_s = X[:, OCFS(n_features=3).fit(X[:200], y[:200]).get_support()]
    found = load("u.narrows")
    np.testing.assert_allclose(found.predict_proba(X), SRDA().fit(X_s, y).predict_proba(X_s))
    assert found.get_support()[7]
    assert not json.loads(run("info u.narrows --json")[1])["then"]["is_of_selection"]
