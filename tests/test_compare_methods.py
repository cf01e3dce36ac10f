"""Which methods `compare` takes, with which sizes, and how large reduced samples are."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from narrows import LDA, OCFS, PCA, SRDA, load
from narrows.errors import ParameterError
from narrows.evaluate import compare
from narrows.table import TableEncoder


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    return X[:500], y[:500], X[500:700], y[500:700]


class Own(TransformerMixin, BaseEstimator):
    """Keeps the first columns."""

    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X[:, : self.n_components]


def test_any_transformer_that_learns_with_y_is_compared(digits):
    X, y, X_test, y_test = digits
    steps = make_pipeline(StandardScaler(), SelectKBest(f_classif, k=7))
    methods = [Own, Own(n_components=3), OCFS, LinearDiscriminantAnalysis(), steps,
               make_pipeline(StandardScaler(), LinearDiscriminantAnalysis())]  # fmt: skip
    lines = compare(X, y, methods, [5], ["svm"], test=(X_test, y_test))
    assert not [line.skipped for line in lines if line.skipped]
    assert [line.dimensions for line in lines[1:]] == [5, 3, 5, 5, 7, 5]
    for line, alone in zip(
        lines[1:],
        [Own(5), Own(3), OCFS(5), LinearDiscriminantAnalysis(n_components=5), steps,
         make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(n_components=5))],
        strict=True,
    ):  # fmt: skip
        Z, Z_test = alone.fit(X, y).transform(X), alone.transform(X_test)
        score = LinearSVC(random_state=0).fit(Z, y).score(Z_test, y_test)
        assert line.micro_f1 == pytest.approx(score, abs=0.006)
        assert (line.features, line.is_reduction) == (64, True)
    for wrong in (StandardScaler, LinearSVC(), 3, "Own"):
        if wrong is StandardScaler:  # of as many columns
            assert compare(X, y, [wrong], [5], repeats=1).recommendation_ is None
            continue
        with pytest.raises(ParameterError, match="with fit"):
            compare(X, y, [wrong], [5])


def test_a_size_of_its_own_is_compared_as_it_is_and_more_than_the_classes_are_continued(digits):
    X, y, X_test, y_test = digits
    methods = ["lda", "srda", LDA(n_components=12), OCFS(n_features=7), OCFS(threshold=1.0)]
    lines = compare(X, y, methods, [5, 20], ["svm"], test=(X_test, y_test))
    sizes = {}
    for line in lines:
        sizes.setdefault(line.method, []).append(line.dimensions)
    above = OCFS(threshold=1.0).fit(X, y).n_features_
    assert list(sizes.values()) == [[64], [5, 20], [5, 9], [12], [7], [above]]
    assert "OCFS(n_features=7) with 5" not in str(lines)
    [twenty] = [line for line in lines if (line.method, line.asked) == ("lda", 20)]
    alone = LDA(n_components=20).fit(X, y)
    svm = LinearSVC(random_state=0).fit(alone.transform(X), y)
    assert twenty.micro_f1 == pytest.approx(svm.score(alone.transform(X_test), y_test), abs=0.006)


def churn(n=600, shift=1.0):
    """8 % of the samples are of the rarer class."""
    rng = np.random.default_rng(3)
    y = np.where(rng.random(n) < 0.08, "leaves", "stays")
    X = rng.normal(size=(n, 6))
    X[y == "leaves", :2] += shift
    return X, y


@pytest.mark.parametrize("classifier", ["svm", "knn", "smo"])
def test_metrics_of_rare_classes_are_those_of_scikit_learn(classifier):
    X, y = churn()
    test = X[400:], y[400:]
    machine = {
        "svm": LinearSVC(random_state=0),
        "knn": KNeighborsClassifier(),
        "smo": SVC(kernel="linear"),
    }[classifier].fit(X[:400], y[:400])
    has = hasattr(machine, "predict_proba")
    scores = machine.predict_proba(test[0])[:, 0] if has else -machine.decision_function(test[0])
    for metric, measure in {
        "roc_auc": roc_auc_score, "average_precision": average_precision_score,
    }.items():  # fmt: skip
        lines = compare(X[:400], y[:400], ["srda"], [1], [classifier], test=test, metric=metric)
        expected = measure(test[1] == "leaves", scores)
        assert getattr(lines[0], metric) == pytest.approx(expected, abs=1e-9)
        assert lines.metric == lines.recommendation_.metric == metric
        constant = {"roc_auc": 0.5, "average_precision": (test[1] == "leaves").mean()}[metric]
        assert getattr(lines.largest_class_, metric) == pytest.approx(constant)
    lines = compare(X[:400], y[:400], ["srda"], [1], [classifier], test=test, metric="log_loss")
    if has:
        expected = log_loss(test[1], machine.predict_proba(test[0]))
        assert lines[0].log_loss == pytest.approx(expected, rel=1e-6)
    else:  # sensible probabilities of a strong signal
        assert lines[0].log_loss < lines.largest_class_.log_loss
    best = min(lines, key=lambda line: line.log_loss)
    assert lines.recommendation_.best.log_loss == best.log_loss
    [apart, _] = [each.mean for each in lines.differences()]
    assert apart == pytest.approx(best.log_loss - lines[0].log_loss)


def test_more_than_two_classes_and_numbers_have_their_metrics(digits):
    X, y, X_test, y_test = digits
    lines = compare(X, y, ["srda"], [9], ["knn"], test=(X_test, y_test), metric="roc_auc")
    found = KNeighborsClassifier().fit(X, y).predict_proba(X_test)
    assert lines[0].roc_auc == pytest.approx(roc_auc_score(y_test, found, multi_class="ovr"))
    assert np.isnan(compare(X, y, ["oc"], [2], repeats=1)[0].roc_auc)
    with pytest.raises(ParameterError, match="a metric of numbers"):
        compare(X, X[:, 0] + 0.5, ["pls"], [1], metric="roc_auc")


def test_the_report_has_calibration_and_lift_and_predict_the_metrics(run, tmp_path):
    X, y = churn()
    rows = [
        "label,a,b,c,d,e,f",
        *(f"{k}," + ",".join(map(str, x)) for x, k in zip(X, y, strict=True)),
    ]
    asked = "compare a.csv --label label --methods srda --dims 1 --repeats 2 --report r.html"
    status, out, _ = run(f"{asked} --metric average-precision", a__csv="\n".join(rows))
    assert (status, "Metric: average precision" in out) == (0, True)
    found = json.loads((tmp_path / "r.json").read_text())
    n = np.array(found["calibration"]["samples"])
    assert n @ found["calibration"]["share"] == pytest.approx(
        2 * round(0.2 * (y == "leaves").sum())
    )
    assert found["lift"]["found"][-1] == found["lift"]["lift"][-1] == 1
    assert "Lift of SRDA" in (tmp_path / "r.html").read_text()
    assert run("fit a.csv --label label --method srda -o m.narrows")[0] == 0
    found = json.loads(run("predict m.narrows a.csv --label label -o p.csv --json")[1])
    X = np.loadtxt(rows[1:], delimiter=",", usecols=range(1, 7))
    probabilities = load(tmp_path / "m.narrows").predict_proba(X)
    assert found["roc_auc"] == pytest.approx(roc_auc_score(y == "leaves", probabilities[:, 0]))
    assert found["average_precision"] == pytest.approx(
        average_precision_score(y == "leaves", probabilities[:, 0])
    )
    assert found["log_loss"] == pytest.approx(log_loss(y, probabilities))


def reasons(n=400):
    """A table in which a reason stands for the rarer class only, and an id."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.3, "leaves", "stays")
    reason = np.where(y == "leaves", rng.choice(["price", "moved", "other"], n), "")
    table = {
        "id": rng.permutation(10 * n)[:n],
        "age": rng.normal(50, 9, n).round(1),
        "town": rng.choice(["a", "b", "c"], n),
        "reason": reason,
    }
    return pd.DataFrame(table), y


@pytest.mark.parametrize("where", ["Python", "file"])
def test_a_column_that_alone_predicts_everything_is_named(where, run):
    table, y = reasons()
    if where == "Python":
        said = compare(table, y, ["srda", "ocfs"], preprocess=TableEncoder(), repeats=2).sentence_
    else:
        text = table.assign(label=y).to_csv(index=False)
        said = run("compare a.csv --label label --methods srda --repeats 2", a__csv=text)[1]
    assert "Column reason alone predicts" in said
    assert "Column id may be" in said
    table["reason"] = np.random.default_rng(1).permutation(table["reason"])
    lines = compare(table.drop(columns="id"), y, ["srda"], preprocess=TableEncoder(), repeats=2)
    assert lines.notes == []


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_one_feature_that_says_the_target_and_duplicates_are_named(make):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), np.arange(300) % 3
    X[:, 3] = (y * 7) % 3 + 0.01 * X[:, 3]
    [note] = compare(make(X), y, ["oc", "ocfs"], [1, 2], repeats=1).notes
    assert "Column 3 alone" in note
    [note] = compare(make(X), X[:, 3] + 0.5, ["correlationfs"], [1], repeats=1).notes
    assert "Column 3 alone" in note
    X[:, 3] = rng.normal(size=300)
    assert compare(make(X), y, ["oc"], [1], repeats=1).notes == []
    twice = np.vstack([X, X[:150]])
    lines = compare(make(twice), np.append(y, y[:150]), ["oc"], [1], repeats=1)
    [(train, test)] = StratifiedShuffleSplit(1, test_size=0.2, random_state=0).split(
        twice, np.append(y, y[:150])
    )
    known = {tuple(row) for row in twice[train]}
    expected = sum(tuple(row) in known for row in twice[test])
    assert f"{expected} of 90 held-out samples are equal" in lines.notes[0]


def test_reductions_that_are_all_equally_good_are_said_to_be():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    X = rng.normal(size=(600, 8)) + 2 * y[:, None]
    lines = compare(X, y, ["srda", "oc", "pca"], [1, 2], repeats=2)
    reductions = [line for line in lines if line.is_reduction and line.classifier == "svm"]
    assert f"All {len(reductions)} reductions are equally good" in lines.sentence_
    X[:, 1:] = 9 * rng.normal(size=(600, 7))
    assert "equally" not in compare(X, y, ["srda", "pca"], [1, 2], repeats=2).sentence_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bytes_are_those_of_transform(digits, dtype):
    X, y, *_ = digits
    X = X.astype(dtype)
    lines = compare(X, y, ["pca", "srda", "ocfs", "onlinesrda"], [4], ["svm"], repeats=1)
    for line, alone in zip(lines[1:], [PCA(4), SRDA(4), OCFS(4), None], strict=True):
        Z = X[:, :4] if alone is None else alone.fit(X, y).transform(X)
        assert line.row_bytes == Z.nbytes / len(Z) == 4 * X.itemsize
    assert lines[0].row_bytes == 64 * X.itemsize


def test_all_columns_are_trained_once(digits, monkeypatch):
    X, y, X_test, y_test = digits
    fits, fit = [], LinearSVC.fit

    def counted(self, Z, *args, **more):
        fits.append(Z.shape[1])
        return fit(self, Z, *args, **more)

    monkeypatch.setattr(LinearSVC, "fit", counted)
    lines = compare(X, y, ["ocfs", "forwardfs", "oc"], [3, 64], test=(X_test, y_test))
    assert fits.count(64) == 1
    for every in lines[:3]:
        mine = [line for line in lines if line.classifier == every.classifier]
        assert {line.micro_f1 for line in mine if line.dimensions == 64} == {every.micro_f1}
