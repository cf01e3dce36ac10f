"""Numeric targets in files: what is read, fitted, predicted, compared and refused."""

from __future__ import annotations

import csv
import json
import signal
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse
from sklearn.cross_decomposition import PLSRegression
from sklearn.feature_selection import f_regression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from narrows import OC, PCA, PLS, SRDA, ReducedRank, load, save
from narrows.engines.dask import fit as dask_fit
from narrows.errors import DataError, ParameterError
from narrows.evaluate import ComparisonDisplay, compare
from narrows.read import iter_chunks, source_of
from tests.inside import before_chunk, fit_in_parts

N, D = 90, 5
FILES = "a.csv", "a.parquet", "a.npz", "a.svm", "a.h5ad"


def samples(n=N, seed=0):
    """Features, and two targets that a linear function of them explains in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * [1, 10, 0.1, 1, 1] + 3
    Y = X @ rng.normal(size=(D, 2)) + 0.3 * rng.normal(size=(n, 2)) + [1e4, -5]
    return X, Y


def write_table(path, X, Y, names=("price", "dose"), at=2):
    """A CSV file whose targets stand between the features."""
    columns = [f"f{k}" for k in range(D)]
    header = [*columns[:at], *names, *columns[at:]]
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(header)
        rows.writerows([*x[:at], *y, *x[at:]] for x, y in zip(X.tolist(), Y.tolist(), strict=True))


@pytest.fixture
def files(run):
    """The same samples and targets in every format; return them, and what runs commands."""
    X, Y = samples()
    write_table("a.csv", X, Y)
    table = import_module("pyarrow.csv").read_csv("a.csv")
    import_module("pyarrow.parquet").write_table(table, "a.parquet", row_group_size=20)
    np.savez("a.npz", X=X, price=Y[:, 0], dose=Y[:, 1:])
    np.save("X.npy", X)
    np.save("price.npy", Y[:, 0])
    with open("a.svm", "w") as file:
        for x, y in zip(X.tolist(), Y.tolist(), strict=True):
            entries = " ".join(f"{k}:{value!r}" for k, value in enumerate(x, 1))
            file.write(f"{y[0]!r},{y[1]!r} {entries}\n")
    anndata, pandas = import_module("anndata"), import_module("pandas")
    cells, genes = (  # an index of objects is what every version of anndata writes
        pandas.Index([f"{c}{k}" for k in range(n)], dtype=object) for c, n in (("c", N), ("g", D))
    )
    obs = pandas.DataFrame(dict(zip(["price", "dose"], Y.T, strict=True)), cells)
    anndata.AnnData(X, obs, pandas.DataFrame(index=genes)).write_h5ad("a.h5ad")
    with open("a.jsonl", "w") as file:
        for k, y in enumerate(Y.tolist()):
            words = ["sea", "salt", "ship", "wave"][: 1 + k % 4]
            file.write(json.dumps({"body": " ".join(words), "price": y[0], "dose": y[1]}) + "\n")
    return X, Y, run


def read_csv(path):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    return header, np.array(rows, float)


# -- reading ---------------------------------------------------------------------------------------


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
    assert found.shape == (N, D + 1)
    np.testing.assert_array_equal(found, np.c_[X[:, :2], Y[:, 1], X[:, 2:]])
    np.testing.assert_array_equal(y, Y[:, 0])
    ((found, y),) = iter_chunks("X.npy", target="price.npy")
    np.testing.assert_array_equal(y, Y[:, 0])


def test_a_table_and_texts_have_targets(files):
    _, Y, _ = files
    table = import_module("pyarrow.csv").read_csv("a.csv")
    ((_, y),) = iter_chunks(table, target="dose")
    np.testing.assert_array_equal(y, Y[:, 1])
    ((texts, y),) = iter_chunks("a.jsonl", text="body", target=["dose", "price"])
    assert texts[1] == "sea salt"
    np.testing.assert_array_equal(y, Y[:, ::-1])


WRONG = [  # a cell in row 3 of the data, and what the message says
    ("cheap", "a.csv:4: column 'price': expected a number, got 'cheap'. Set `label`"),
    ("", "a.csv:4: column 'price': expected a number, got ''. Set `label`"),
    ("nan", "a.csv:4: target 'price': expected a finite number, got nan. Leave out rows"),
    ("-inf", "a.csv:4: target 'price': expected a finite number, got -inf."),
]


@pytest.mark.parametrize(("cell", "message"), WRONG)
def test_a_target_that_is_no_number_is_an_error_with_its_line(run, cell, message):
    X, Y = samples()
    Y = Y.astype(object)
    Y[2, 0] = cell
    write_table("a.csv", X, Y)
    with pytest.raises(DataError) as error:
        list(iter_chunks("a.csv", target="price", chunk_rows=2))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('"good"', "a.jsonl:2: target 'price': expected a number, got text."),
        ("true", "a.jsonl:2: target 'price': expected a number, got True."),
        ("null", "a.jsonl:2: expected targets, as in other lines, got none."),
        ("1" + "0" * 400, "a.jsonl:2: target 'price': expected a finite number, got inf."),
    ],
)
def test_a_target_of_json_that_is_no_number_is_an_error_with_its_line(run, value, message):
    with open("a.jsonl", "w") as file:
        file.write('{"text": "sea", "price": 1}\n{"text": "salt", "price": ' + value + "}\n")
    with pytest.raises(DataError) as error:
        list(iter_chunks("a.jsonl", target="price"))
    assert str(error.value).startswith(message)


def test_wrong_targets_of_binary_files_are_errors(files, run):
    X, Y, _ = files
    pa, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    for values, message in (
        ([1.0, None, 2.0], "p.parquet:2: column 'price': expected no nulls, got one."),
        ([1.0, 2.0, np.inf], "p.parquet:3: target 'price': expected a finite number, got inf."),
        (["a", "b", "c"], "p.parquet: column 'price': expected numbers, got string. Set `label`"),
    ):
        table = pa.table({"f": [1.0, 2.0, 3.0], "price": pa.array(values)})
        parquet.write_table(table, "p.parquet")
        with pytest.raises(DataError) as error:
            list(iter_chunks("p.parquet", target="price"))
        assert str(error.value).startswith(message)
    for y, message in (
        (Y[:-1, 0], "p.npz: expected 90 targets, got an array of shape ."),
        (np.where(np.arange(N) == 6, np.nan, Y[:, 0]), "p.npz:7: target 'y': expected a finite"),
        (Y[:, 0].astype(str), "p.npz: expected targets that are numbers"),
    ):
        np.savez("p.npz", X=X, y=y)
        with pytest.raises(DataError, match=message.replace("(", r"\(")):
            list(iter_chunks("p.npz", target="y"))
    with open("b.svm", "w") as file:
        file.write("1.5 1:2\n1.5,2.5 1:3\n")
    with pytest.raises(DataError, match=r"b\.svm:2: expected 1 target before the columns, got 2"):
        list(iter_chunks("b.svm", target="label"))


@pytest.mark.parametrize(
    "more", [{"label": "f0"}, {"labels": "text"}, {"text": "price"}, {"vector": "price"}]
)
def test_targets_are_neither_labels_nor_anything_else(more):
    with pytest.raises(ParameterError, match=r"`target`.*: expected"):
        list(iter_chunks("a.csv", target="price", **more))


# -- fit, update, merge, predict -------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES)
def test_a_model_of_a_file_predicts_as_in_python(files, path, tmp_path):
    X, Y, run = files
    fit = f"fit {path} --target price --target dose --method pls --n-components 3 --chunk-rows 20"
    status, out, err = run(f"{fit} -o m.narrows")
    assert (status, err) == (0, "")
    assert out == "PLS: 90 rows, 2 targets, 5 columns -> 3; saved to m.narrows\n"
    status, out, _ = run(f"predict m.narrows {path} -o p.csv --chunk-rows 11")
    header, found = read_csv("p.csv")
    expected = PLSRegression(3, scale=False, tol=1e-14, max_iter=10_000).fit(X, Y).predict(X)
    assert header == ["price", "dose"]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    each = r2_score(Y, expected, multioutput="raw_values")
    assert out == (
        f"90 predictions written to p.csv\nR^2 of 90 rows of {path}: {each.mean():.3f} "
        f"(price {each[0]:.3f}, dose {each[1]:.3f})\n"
    )


def test_r2_is_that_of_scikit_learn_whatever_the_chunks_and_the_offset(run):
    X, Y = samples(200)
    Y[:, 0] += 1e9
    write_table("a.csv", X, Y)
    run("fit a.csv --target price --method reducedrank --param alpha=1 -o m.narrows")
    model = load("m.narrows")
    for rows in (3, 1000):
        _, out, _ = run(f"predict m.narrows a.csv -o p.csv --json --chunk-rows {rows}")
        expected = r2_score(Y[:, 0], read_csv("p.csv")[1])
        found = json.loads(out)
        assert found["r2"] == pytest.approx(expected, abs=1e-6)
        assert found["r2_by_target"] == {"price": found["r2"]}
    assert model.n_features_in_ == D + 1  # the other target is a feature


def test_a_file_without_targets_is_predicted_but_not_learned(files):
    X, _, run = files
    run("fit a.csv --target price --target dose -o m.narrows")
    write_table("b.csv", X, np.empty((N, 0)), names=())
    status, out, err = run("predict m.narrows b.csv -o p.csv --json")
    assert (status, err) == (0, "")
    assert json.loads(out) == {"output": "p.csv", "rows": N, "r2": None, "r2_by_target": {}}
    status, _, err = run("update m.narrows b.csv -o m2.narrows")
    assert status == 1
    assert err.startswith("narrows: b.csv:1: expected a column 'price', got the columns 'f0', ")
    assert run("transform m.narrows b.csv -o -")[1].startswith("reducedrank0,reducedrank1\n")


def test_constant_targets_have_no_r2(files):
    X, Y, run = files
    run("fit a.csv --target price -o m.narrows")
    write_table("b.csv", X[:4], np.c_[np.full(4, 0.1), Y[:4, 1]])
    _, out, _ = run("predict m.narrows b.csv -o p.csv --json")
    assert json.loads(out)["r2"] is None


def test_parts_folders_updates_and_merges_are_one_fit(files, tmp_path):
    X, Y, run = files
    for name, rows in ("one.csv", slice(0, 30)), ("two.csv", slice(30, N)):
        write_table(name, X[rows], Y[rows])
    fit = "fit {} --target price --method pls -o {}"
    for line in (
        fit.format("a.csv", "whole.narrows"), fit.format("one.csv two.csv", "parts.narrows"),
        fit.format("one.csv", "one.narrows"), fit.format("two.csv", "two.narrows"),
        fit.format("???.csv", "pattern.narrows"),
        "update one.narrows two.csv -o updated.narrows",
        "merge one.narrows two.narrows -o merged.narrows",
    ):  # fmt: skip
        assert run(line)[0] == 0, line
    whole = load("whole.narrows")
    for name in ("parts", "pattern", "updated", "merged"):
        found = load(f"{name}.narrows")
        np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
        assert source_of(found).target == ("price",)
    run("fit two.csv --target dose --method pls -o dose.narrows")
    status, _, err = run("merge one.narrows dose.narrows -o x.narrows")
    assert (status, "same feature names and source" in err) == (1, True)
    run("fit a.csv --label dose --method variancefs -o classes.narrows")
    status, _, err = run("merge one.narrows classes.narrows -o x.narrows")
    assert status == 1
    assert err.startswith("narrows: classes.narrows: expected a model to merge into one.narrows")
    status, _, err = run("merge one.narrows two.narrows --labels text -o x.narrows")
    assert (status, err.split(":")[1]) == (2, " --labels")


def test_a_pipe_is_read_and_predicted(files):
    X, Y, run = files
    with open("a.csv", "rb") as file:
        data = file.read()
    with open("a.svm", "rb") as file:
        svm = file.read()
    assert run("fit - --target price --method pls -o m.narrows", data)[0] == 0
    _, out, _ = run("predict m.narrows - -o -", data)
    assert out.splitlines()[0] == "price"
    assert len(out.splitlines()) == N + 1
    fit = "fit - --target a --target b --method pls --one-based -o s.narrows"
    assert run(fit, svm)[0] == 0
    np.testing.assert_allclose(load("s.narrows").coef_, PLS().fit(X, Y).coef_, rtol=1e-9)


def test_a_run_that_is_stopped_goes_on_with_its_targets(files, monkeypatch):
    run = files[2]
    fit = "fit a.csv --target price --method pls --chunk-rows 20 -o {} --checkpoint c.narrows"
    assert run(fit.format("whole.narrows"))[0] == 0
    with monkeypatch.context() as patch:
        before_chunk(patch, lambda k, _: signal.raise_signal(signal.SIGINT) if k == 3 else None)
        assert run(fit.format("m.narrows") + " --every 20")[0] == 130
    other = fit.replace("price", "dose").format("m.narrows")
    status, _, err = run(f"{other} --resume")
    assert status == 2
    assert "target was 'price', now 'dose'" in err
    status, _, err = run(fit.format("m.narrows") + " --resume")
    assert (status, "resuming after" in err) == (0, True)
    with open("m.narrows", "rb") as mine, open("whole.narrows", "rb") as whole:
        assert mine.read() == whole.read()


def test_transform_carries_the_targets_and_convert_keeps_them(files):
    X, Y, run = files
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
    for suffix in ("svm", "parquet", "npz"):
        status, _, err = run(f"convert a.csv b.{suffix} --target price --target dose")
        assert (status, err) == (0, "")
    ((x, y),) = iter_chunks("b.svm", target=["a", "b"])
    np.testing.assert_array_equal(x.toarray(), X)
    np.testing.assert_array_equal(y, Y)


def test_a_method_without_targets_leaves_the_column_out(files):
    X, _, run = files
    assert run("fit a.csv --method pca --target price --target dose -o m.narrows")[0] == 0
    model = load("m.narrows")
    np.testing.assert_allclose(model.components_, PCA().fit(X).components_, atol=1e-9)
    assert run("transform m.narrows a.csv -o -")[1].startswith("pca0,pca1,pca2,pca3,pca4\n")
    assert run("update m.narrows a.csv -o m2.narrows")[0] == 0
    assert load("m2.narrows").n_samples_seen_ == 2 * N


def test_what_a_model_of_numbers_has_learned_is_shown(files):
    run = files[2]
    run("fit a.csv --target price --target dose --method reducedrank -o m.narrows")
    _, out, _ = run("info m.narrows")
    assert "90 rows, 5 columns -> 2\n2 targets: price, dose\nalpha " in out
    assert "direction 1, eigenvalue" in out or "direction 1, explained variance" in out
    found = json.loads(run("info m.narrows --json")[1])
    assert found["targets"] == ["price", "dose"]
    assert "classes" not in found


def test_a_model_of_arrays_predicts_files(files):
    X, Y, run = files
    save(PLS().fit(X, Y[:, 0]), "m.narrows")
    write_table("b.csv", X, np.empty((N, 0)), names=())
    assert run("predict m.narrows b.csv -o p.csv")[0] == 0
    header, found = read_csv("p.csv")
    assert header == ["y"]
    np.testing.assert_allclose(found[:, 0], PLS().fit(X, Y[:, 0]).predict(X), rtol=1e-12)
    status, _, err = run("update m.narrows b.csv -o m2.narrows")
    assert (status, err.startswith("narrows: --target: expected the name of a column")) == (
        2,
        True,
    )
    status, out, _ = run("predict m.narrows a.npz --target price -o p.csv --json")
    expected = r2_score(Y[:, 0], found[:, 0])
    assert json.loads(out)["r2"] == pytest.approx(expected)


REFUSED = [
    ("fit a.csv --method srda --target price -o x", 2, "For numbers use a regressor, such as PLS."),
    ("fit a.csv --method pls -o x", 2, "--target: expected the name of a column of numbers"),
    ("fit a.csv --method pls --label price -o x", 2, "got label 'price'"),
    ("fit a.csv --target nothing -o x", 1, "a.csv:1: expected a column 'nothing', got the columns"),
    ("fit a.csv --target price --label f0 -o x", 2, "--label, --target: expected one of them"),
    ("fit a.csv --target price --target price -o x", 2, "expected columns that are named once"),
    ("fit X.npy --target a.npz -o x", 2, "--target: expected a .npy file of targets"),
    ("predict classes.narrows a.csv --target price -o x.csv", 2, "expected --label, since SRDA"),
    ("update classes.narrows a.csv --target price -o x", 2, "expected --label, since SRDA"),
    ("predict numbers.narrows a.csv --label f0 -o x.csv", 2, "since the targets of ReducedRank"),
    ("predict numbers.narrows a.csv --proba -o x.csv", 2, "--proba: expected a model of classes"),
    ("predict few.narrows a.csv -o x.csv", 2, "predicts (pls, reducedrank), got one of corr"),
    ("compare a.csv --target price --methods srda", 2, "expected methods for numeric targets"),
    ("compare a.csv --label f --methods pls", 2, "For numbers, set "),
    ("compare a.csv --target price --methods chi2", 2, "expected methods for numeric targets"),
    ("compare a.csv --label f --methods plsregression", 2, "expected methods for classes"),
    ("compare a.csv --target price --classifier svm", 2, "expected a regressor, got 'svm'"),
    ("compare a.csv --target price --metric accuracy", 2, "expected a metric of numbers, got"),
    ("compare a.csv --label f --metric r2", 2, "expected a metric of classes, got 'r2'"),
    ("compare nine.csv --target price", 1, "nine.csv: expected at least 10 samples, got 9."),
    ("compare flat.csv --target price", 1, "flat.csv: expected targets that vary, got only [2.0]."),
]


@pytest.mark.parametrize(("line", "status", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_wrong_use_is_refused(files, line, status, message):
    X, Y, run = files
    save(SRDA().fit(X, np.arange(N) % 3), "classes.narrows")
    run("fit a.csv --target price -o numbers.narrows")
    run("fit a.csv --target price --method correlationfs --then none -o few.narrows")
    write_table("nine.csv", X[:9], Y[:9])
    write_table("flat.csv", X, np.full((N, 2), 2.0))
    found, out, err = run(line)
    assert (found, out) == (status, "")
    assert err.startswith("narrows: ")
    assert message in err
    assert err.count("\n") == 1


# -- engines ---------------------------------------------------------------------------------------


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


@pytest.mark.slow
def test_dask_learns_files_and_tables_with_targets(files):
    frame, distributed = import_module("dask.dataframe"), import_module("distributed")
    X, Y, _ = files
    whole = PLS().fit(X, Y)
    names = ["price", "dose"]
    with distributed.Client(processes=False, dashboard_address=None) as client:
        for data in (["a.csv"], ["a.parquet"], frame.read_csv("a.csv", blocksize=2000)):
            found = dask_fit(PLS(), data, client, target=names)
            np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-9)
        blocks = import_module("dask.array").from_array
        found = dask_fit(PLS(), (blocks(X, chunks=(20, D)), blocks(Y, chunks=(20, 2))), client)
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-9)


# -- compare ---------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_compare_shows_r2_and_a_command_that_runs(files):
    _, _, run = files
    status, out, err = run("compare a.csv --target price --target dose --dims 1,2 --report r.html")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("Use ")
    assert lines[1] == (
        "Metric: R^2, the share of the variance of held-out targets that is explained."
    )
    assert lines[3].split()[:3] == ["method", "dimensions", "R^2"]
    command = next(line for line in lines if line.startswith("narrows fit "))
    assert " --target price --target dose --method " in command
    assert run(command.removeprefix("narrows "))[0] == 0
    assert load("model.narrows").n_features_in_ == D
    with open("r.html") as page, open("r.json") as data:
        text, found = page.read(), json.load(data)
    assert "RMSE" in text
    assert "samples per class" not in text
    assert len(found["data"]["targets"]) == 2
    assert found["metric"] == "r2"
    assert found["mean"]["r2"] < 0.1


def test_the_lines_are_those_of_scikit_learn():
    X, Y = samples(200)
    y = Y[:, 0]
    methods = ["pls", "correlationfs", "f_regression", "plsregression", "sklearn-pca"]
    test = X[150:], y[150:]
    lines = compare(X[:150], y[:150], methods, dims=[2, D], test=test)
    r2 = {(line.method, line.dimensions): line.r2 for line in lines}
    ordinary = LinearRegression().fit(X[:150], y[:150])
    expected = r2_score(y[150:], ordinary.predict(X[150:]))
    assert r2["all columns", D] == pytest.approx(expected, abs=0.01)
    assert r2["pls", D] == pytest.approx(r2["all columns", D], abs=0.01)
    best = np.argsort(-f_regression(X[:150], y[:150])[0])[:2]
    line = LinearRegression().fit(X[:150, best], y[:150])
    two = r2_score(y[150:], line.predict(X[150:, best]))
    assert r2["correlationfs", 2] == pytest.approx(two, abs=0.01)
    assert r2["correlationfs", 2] == r2["f_regression", 2]
    rmse = next(line.rmse for line in lines if line.method == "all columns")
    residuals = y[150:] - ordinary.predict(X[150:])
    assert rmse == pytest.approx(np.sqrt(np.mean(residuals**2)), rel=0.02)
    chosen = lines.recommendation_
    assert chosen.line.is_reduction
    assert chosen.line.dimensions < D
    assert ComparisonDisplay(lines).plot().ax_.get_ylabel().startswith("R^2")


@pytest.mark.slow
def test_nothing_is_recommended_where_nothing_beats_the_mean():
    rng = np.random.default_rng(1)
    lines = compare(rng.normal(size=(120, 6)), rng.normal(size=120), dims=[2])
    chosen = lines.recommendation_
    assert chosen.verdict == "nothing"
    assert str(chosen).startswith("Nothing here beats always answering the mean (R^2 -0.0")
    assert lines.largest_class_.r2 <= 0


def test_all_features_are_no_reduction():
    """Twenty features that each explain a twentieth: no two of them do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = X @ np.ones(20) + 0.1 * rng.normal(size=300)
    lines = compare(X, y, ["correlationfs", "pca"], dims=[2])
    assert lines.recommendation_.verdict == "worse"
    assert "Every reduction is worse than all 20 features" in str(lines)


def test_integers_are_classes_unless_they_are_called_numbers():
    X, Y = samples()
    ratings = np.searchsorted(np.quantile(Y[:, 1], [0.3, 0.7]), Y[:, 1])
    assert compare(X, ratings, ["pca"], dims=[2], repeats=1).metric == "accuracy"
    lines = compare(X, ratings, dims=[2], repeats=1, target="numeric", classifiers=["knn", "ridge"])
    assert lines.metric == "r2"
    assert {line.classifier for line in lines} == {"knn", "ridge"}
    assert lines.largest_class_.method == "always answering the mean"
    for y, message in ((np.full(N, 0.5), "targets that vary"), (Y[:9, 0], "at least 10 samples")):
        with pytest.raises(ParameterError, match=message):
            compare(X[: len(y)], y, ["pls"])
    with pytest.raises(ParameterError, match="expected target 'auto' or 'numeric', got 'class'"):
        compare(X, ratings, target="class")
    with pytest.raises(ParameterError, match="expected a test set with 1 targets, got 2"):
        compare(X, Y[:, 0], test=(X, Y))


def test_a_sorted_file_does_not_hide_a_method():
    """The first targets are equal, so that the first samples alone have no solution."""
    X, Y = samples(300)
    y = np.where(np.arange(300) < 100, 0.5, Y[:, 1])
    lines = compare(X, y, ["pls", "reducedrank"], dims=[2], repeats=1)
    assert not any(line.skipped for line in lines)


@pytest.mark.slow
def test_pipelines_and_test_files_have_targets(files):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, Y, run = files
    lines = compare(X, Y, [make_pipeline(StandardScaler(), PLS()), PLS()], dims=[1])
    assert len(lines) == 3
    status, out, err = run("compare a.csv --target price --dims 2 --test a.parquet --json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["splits"] == 1
    assert found["fit"].startswith("narrows fit a.csv --target price --method")
    texts = "compare a.jsonl --text body --target price --dims 2 --methods pls,correlationfs --cv 3"
    status, out, _ = run(texts)
    assert (status, "always answering the mean" in out) == (0, True)


def test_targets_are_those_of_their_names_in_any_order(run):
    write_table("a.csv", *samples())
    write_table("b.csv", *samples(seed=1))
    orders = {"one": "--target price --target dose", "other": "--target dose --target price"}
    run(f"fit a.csv {orders['one']} --method pls -o m.n")
    for name, given in orders.items():
        assert run(f"predict m.n b.csv {given} -o {name}.csv")[0] == 0
        status, _, said = run(f"update m.n b.csv {given} -o {name}.n")
        assert (status, said) == (0, "")  # no warning of new classes
    with open("one.csv") as one, open("other.csv") as other:
        assert one.read() == other.read()
    X, _ = samples(seed=2)
    np.testing.assert_array_equal(load("one.n").predict(X), load("other.n").predict(X))


def test_a_file_of_targets_is_no_output(files, run):
    with open("price.npy", "rb") as file:
        before = file.read()
    fit = "fit X.npy --target price.npy --method pls -o"
    assert run(f"{fit} m.n")[0] == 0
    for line in (f"{fit} price.npy", "transform m.n X.npy --target price.npy -o price.npy",
                 "update m.n X.npy --target price.npy -o price.npy",
                 "convert X.npy price.npy --target price.npy"):  # fmt: skip
        status, _, said = run(line)
        assert "price.npy: expected an output, got an input" in said, line
        assert status == 2
    with open("price.npy", "rb") as file:
        assert file.read() == before
