"""Numeric targets in files: what is read, fitted, predicted, compared and refused."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cross_decomposition import PLSRegression
from sklearn.feature_selection import f_regression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from narrows import OC, PLS, SRDA, ReducedRank, load, save
from narrows.errors import DataError, ParameterError
from narrows.evaluate import compare
from narrows.read import iter_chunks, source_of
from tests.inside import fit_in_parts

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


def test_one_target_is_of_one_dimension_and_other_columns_are_features(files):
    X, Y, _ = files
    ((found, y),) = iter_chunks("a.csv", target="price")
    np.testing.assert_array_equal(found, np.c_[X[:, :2], Y[:, 1], X[:, 2:]])
    ((_, other),) = iter_chunks("X.npy", target="price.npy")
    for each in (y, other):
        np.testing.assert_array_equal(each, Y[:, 0])
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
    status, _, err = run(f"{fit} -o m.narrows")
    assert (status, err) == (0, "")
    status, out, _ = run(f"predict m.narrows {path} -o p.csv --chunk-rows 11")
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
    status, out, err = run("predict m.narrows b.csv -o p.csv --json")
    assert (status, err) == (0, "")
    assert json.loads(out) == {"output": "p.csv", "rows": N, "r2": None, "r2_by_target": {}}
    status, _, err = run("update m.narrows b.csv -o m2.narrows")
    assert (status, "b.csv:1: expected a column 'price'" in err) == (1, True)
    assert run("transform m.narrows b.csv -o -")[1].startswith("reducedrank0,reducedrank1\n")


def test_parts_updates_and_merges_are_one_fit(files):
    X, Y, run = files
    for name, rows in ("one", slice(0, 30)), ("two", slice(30, N)):
        table_of(X[rows], Y[rows]).to_csv(f"{name}.csv", index=False)
        assert run(f"fit {name}.csv --target price --method pls -o {name}.narrows")[0] == 0
    whole = PLS().fit(np.c_[X[:, :2], Y[:, 1], X[:, 2:]], Y[:, 0])
    for line in (
        "fit ???.csv --target price --method pls", "update one.narrows two.csv",
        "merge one.narrows two.narrows",
    ):  # fmt: skip
        assert run(f"{line} -o found.narrows")[0] == 0
        found = load("found.narrows")
        np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
        assert source_of(found).target == ("price",)
    run("fit a.csv --label dose --method variancefs -o classes.narrows")
    status, _, err = run("merge one.narrows classes.narrows -o x.narrows")
    assert (status, "classes.narrows: expected a model to merge" in err) == (1, True)


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
def test_wrong_use_is_refused(files, line, status, message):
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
    names = ["price", "dose"]
    for path in ("a.csv", "a.parquet", "a.svm"):
        found = fit_in_parts(ReducedRank(alpha=1.0), [path], target=names)
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
