"""`narrows predict`: what it writes, prints and refuses."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

from narrows import LDA, OC, SRDA, KernelSRDA, OnlineSRDA, load, save


@pytest.fixture
def iris(tmp_path):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    with open(tmp_path / "iris.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["a", "b", "c", "d", "label"])
        rows.writerows([*x, name] for x, name in zip(X.tolist(), names.tolist(), strict=True))
    return X, names


def read_csv(path):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


@pytest.mark.parametrize("method", [SRDA, LDA, KernelSRDA, OnlineSRDA])
def test_the_predictions_of_a_file_are_those_of_python(method, run, iris, tmp_path):
    X, y = iris
    assert run(f"fit iris.csv --method {method.__name__.lower()} -o m.narrows")[0] == 0
    status, out, err = run("predict m.narrows iris.csv -o p.csv")
    model = load(tmp_path / "m.narrows")
    predicted = model.predict(X)
    right = int((predicted == y).sum())
    assert (status, err) == (0, "")
    found = model.predict_proba(X)
    shares = [average_precision_score(y == k, found[:, i]) for i, k in enumerate(model.classes_)]
    by_probabilities = (
        f"Area under the ROC curve {roc_auc_score(y, found, multi_class='ovr'):.3f}, average "
        f"precision {np.mean(shares):.3f}, log-loss {log_loss(y, found):.3f}."
    )
    assert out == (
        "150 predictions written to p.csv\n"
        f"{right} of 150 are equal to the labels of iris.csv: {right / 150:.1%}\n"
        f"{by_probabilities}\n"
        "Always answering setosa has 33.3%.\n"
    )
    header, rows = read_csv(tmp_path / "p.csv")
    assert header == ["probability", "label"]
    assert [label for _, label in rows] == predicted.tolist()
    found = np.array([float(probability) for probability, _ in rows])
    np.testing.assert_allclose(found, model.predict_proba(X).max(axis=1), rtol=1e-12)


@pytest.mark.parametrize("method", [SRDA, LDA, KernelSRDA, OnlineSRDA])
@pytest.mark.parametrize("priors", ["balanced", "sqrt", ".6,.05,.35"])
def test_other_priors_are_those_of_python(method, priors, run, iris, tmp_path):
    X, y = iris
    model = method().fit(X[:130], y[:130])
    save(model, tmp_path / "m.narrows")
    given = priors if priors.isalpha() else [float(part) for part in priors.split(",")]
    assert run(f"predict m.narrows iris.csv -o p.csv --proba --priors {priors}")[0] == 0
    _, rows = read_csv(tmp_path / "p.csv")
    found = np.array([row[:3] for row in rows], float)
    np.testing.assert_allclose(found, model.predict_proba(X, priors=given), rtol=1e-12, atol=1e-300)
    assert [row[-1] for row in rows] == model.predict(X, priors=given).tolist()
    assert np.abs(found - model.predict_proba(X)).max() > 1e-3


@pytest.mark.parametrize("priors", ["uniform", ".5", "1,1", "0,0,0", "a=.2,b=.8"])
def test_priors_that_are_none_are_refused(priors, run, iris):
    run("fit iris.csv --method srda -o m.narrows")
    status, _, err = run(f"predict m.narrows iris.csv -o p.csv --priors {priors}")
    assert status == 2
    assert "expected" in err


def test_all_probabilities_are_columns_named_after_the_classes(run, iris, tmp_path):
    X, _ = iris
    run("fit iris.csv --method srda -o m.narrows")
    assert run("predict m.narrows iris.csv -o p.csv --proba --chunk-rows 7")[0] == 0
    header, rows = read_csv(tmp_path / "p.csv")
    assert header == ["setosa", "versicolor", "virginica", "label"]
    found = np.array([row[:3] for row in rows], float)
    np.testing.assert_allclose(found, load(tmp_path / "m.narrows").predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("labels", [[0.0, 1.0], [False, True], [3, 7]])
def test_columns_of_probabilities_are_named_as_labels_are_written(labels, run, tmp_path):
    X = np.arange(20.0).reshape(-1, 1)
    save(SRDA().fit(X, np.repeat(labels, 10)), tmp_path / "m.narrows")
    np.savez(tmp_path / "a.npz", X=X)
    assert run("predict m.narrows a.npz -o p.csv --proba")[0] == 0
    header, rows = read_csv(tmp_path / "p.csv")
    assert [header[int(np.argmax(list(map(float, row[:2]))))] for row in rows] == [
        row[-1] for row in rows
    ]


def test_rows_without_labels_are_predicted_and_the_result_is_json(run, iris, tmp_path):
    X, _ = iris
    run("fit iris.csv --method lda -o m.narrows")
    np.savetxt(tmp_path / "new.csv", X, delimiter=",", header="a,b,c,d", comments="")
    status, out, _ = run("predict m.narrows new.csv -o p.npz --json")
    assert status == 0
    assert json.loads(out) == {
        "output": "p.npz",
        "rows": 150,
        "accuracy": None,
        "largest_class": None,
    }
    with np.load(tmp_path / "p.npz") as archive:
        assert archive["y"].tolist() == load(tmp_path / "m.narrows").predict(X).tolist()


def test_standard_output_is_csv_and_the_summary_goes_to_standard_error(run, iris):
    run("fit iris.csv --method srda -o m.narrows")
    status, out, err = run("predict m.narrows iris.csv -o -")
    assert status == 0
    assert out.startswith("probability,label\n")
    assert out.count("\n") == 151
    assert err.startswith("150 predictions written to -\n")


def test_several_labels_a_row_are_predicted_as_such(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    Y = (X[:, :3] > 0).astype(int)
    sparse.save_npz(tmp_path / "plain.npz", sparse.csr_array(X))
    with np.load(tmp_path / "plain.npz") as archive:
        parts = {name: archive[name] for name in ("data", "indices", "indptr", "shape")}
    y = sparse.csr_array(Y)
    labels = {"yindices": y.indices, "yindptr": y.indptr, "yshape": np.array(y.shape)}
    np.savez(tmp_path / "a.npz", **parts, **labels)
    save(OnlineSRDA(random_state=0).fit(sparse.csr_array(X), Y), tmp_path / "m.narrows")
    status, out, err = run("predict m.narrows a.npz -o p.npz --json")
    assert (status, err) == (0, "")
    predicted = load(tmp_path / "m.narrows").predict(X)
    assert json.loads(out)["accuracy"] == (predicted == Y).all(axis=1).mean()
    with np.load(tmp_path / "p.npz") as archive:
        assert archive["X"].shape == (80, 3)
        found = sparse.csr_array(
            (np.ones(len(archive["yindices"])), archive["yindices"], archive["yindptr"]),
            shape=tuple(archive["yshape"]),
        )
    assert (found.toarray() == predicted).all()


def test_numbers_and_text_are_never_equal_labels(run, iris, tmp_path):
    X, _ = iris
    save(SRDA().fit(X, load_iris().target), tmp_path / "m.narrows")
    status, out, _ = run("predict m.narrows iris.csv -o p.csv --json --labels text")
    assert (status, json.loads(out)["accuracy"]) == (0, 0.0)


def test_a_method_that_does_not_predict_is_refused(run, iris, tmp_path):
    X, y = iris
    save(OC().fit(X, y), tmp_path / "m.narrows")
    assert run("predict m.narrows iris.csv -o p.csv") == (
        2,
        "",
        "narrows: m.narrows: expected a model that predicts (kernelsrda, lda, onlinesrda, srda), "
        "got one of oc. Reduce the rows with transform, and fit a classifier to them.\n",
    )
    assert not (tmp_path / "p.csv").exists()
