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
    status, out, err = run("predict m.narrows iris.csv -o p.csv --proba --chunk-rows 7")
    assert (status, err) == (0, "")
    model = load(tmp_path / "m.narrows")
    predicted, P = model.predict(X), model.predict_proba(X)
    shares = [average_precision_score(y == k, P[:, i]) for i, k in enumerate(model.classes_)]
    for said in (
        f"{(predicted == y).sum()} of 150 are equal to the labels of iris.csv",
        f"ROC curve {roc_auc_score(y, P, multi_class='ovr'):.3f}",
        f"precision {np.mean(shares):.3f}, log-loss {log_loss(y, P):.3f}.",
        "Always answering setosa has 33.3%.",
    ):
        assert said in out
    header, rows = read_csv(tmp_path / "p.csv")
    assert header == ["setosa", "versicolor", "virginica", "label"]
    assert [row[-1] for row in rows] == predicted.tolist()
    np.testing.assert_allclose(np.array([row[:3] for row in rows], float), P, rtol=1e-12)
    status, out, _ = run("predict m.narrows iris.csv -o -")
    rows = [row.split(",") for row in out.splitlines()]
    assert rows[0] == ["probability", "label"]
    best = [float(probability) for probability, _ in rows[1:]]
    np.testing.assert_allclose(best, P.max(axis=1), rtol=1e-12)
    np.savetxt(tmp_path / "new.csv", X, delimiter=",", header="a,b,c,d", comments="")
    found = json.loads(run("predict m.narrows new.csv -o p.npz --json")[1])
    assert found == {"output": "p.npz", "rows": 150, "accuracy": None, "largest_class": None}
    with np.load(tmp_path / "p.npz") as archive:
        assert archive["y"].tolist() == predicted.tolist()


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
    save(SRDA().fit(*iris), "m.narrows")
    status, _, err = run(f"predict m.narrows iris.csv -o p.csv --priors {priors}")
    assert (status, "expected" in err) == (2, True)
    save(OC().fit(*iris), "m.narrows")
    status, _, err = run("predict m.narrows iris.csv -o p.csv")
    assert (status, "expected a model that predicts" in err) == (2, True)


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


def test_several_labels_a_row_are_predicted_as_such(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 5))
    Y = (X[:, :3] > 0).astype(int)
    y = sparse.csr_array(Y)
    np.savez(tmp_path / "a.npz", X=X, yindices=y.indices, yindptr=y.indptr, yshape=y.shape)
    save(OnlineSRDA(random_state=0).fit(X, Y), tmp_path / "m.narrows")
    status, out, err = run("predict m.narrows a.npz -o p.npz --json")
    assert (status, err) == (0, "")
    predicted = load(tmp_path / "m.narrows").predict(X)
    assert json.loads(out)["accuracy"] == (predicted == Y).all(axis=1).mean()
    with np.load(tmp_path / "p.npz") as archive:
        rows = np.split(archive["yindices"], archive["yindptr"][1:-1])
    assert [row.tolist() for row in rows] == [np.flatnonzero(row).tolist() for row in predicted]
