"""Comparisons: against scikit-learn by hand, what they recommend, and from the command line."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.base import clone
from sklearn.datasets import (
    dump_svmlight_file,
    load_digits,
    load_iris,
    make_classification,
)
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from narrows import LDA, MMC, OC, OCFS, ForwardFS, OnlineSRDA
from narrows.command.cli import main
from narrows.errors import ParameterError
from narrows.evaluate import Comparison, compare, retrieval
from narrows.table import TableEncoder
from tests.cases import METHODS, bytes_of, labelled
from tests.conftest import nightly
from tests.inside import Line, pretend
from tests.solvers import HeldOutPredictions

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*gains? margin", "ignore:.*expected a positive score of"
)
CLASSIFIERS = {
    "svm": LinearSVC(random_state=0), "logistic": LogisticRegression(max_iter=1000),
    "knn": KNeighborsClassifier(), "knn1": KNeighborsClassifier(1), "smo": SVC(kernel="linear"),
}  # fmt: skip


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X / 16 + np.random.default_rng(0).normal(size=X.shape) / 16
    return X[:500], y[:500], X[500:700], y[500:700]


def scaled(step):
    return make_pipeline(StandardScaler(), step)


OF_PAIRS = ForwardFS(start=[9], groups=np.arange(64) // 2)
LDA_OF_SKLEARN = LinearDiscriminantAnalysis
COMPARED = [  # what is compared, and what is fitted for each size that is asked for
    ("oc", {5: OC(5), 20: OC()}),
    ("lda", {5: LDA(5), 20: LDA(20)}),  # more than the classes have, which are continued
    ("mmc", {5: MMC(5), 20: MMC(9)}),
    (OF_PAIRS, {p: clone(OF_PAIRS).set_params(n_features=p) for p in (5, 20)}),
    (OCFS(threshold=0.05), {None: OCFS(threshold=0.05)}),
    (decomposition.PCA, {5: decomposition.PCA(5), 20: decomposition.PCA(20)}),
    (LDA_OF_SKLEARN(), {5: LDA_OF_SKLEARN(n_components=5), 20: LDA_OF_SKLEARN(n_components=9)}),
    (scaled(LDA_OF_SKLEARN()), {5: scaled(LDA_OF_SKLEARN(n_components=5))}),
    (scaled(SelectKBest(f_classif, k=7)), {None: scaled(SelectKBest(f_classif, k=7))}),
]  # fmt: skip


@pytest.mark.slow
@threadpool_limits.wrap(limits=1)  # as `compare`: the steps of LSQR magnify rounding
@pytest.mark.parametrize(("given", "made"), COMPARED, ids=lambda each: str(each)[:40])
def test_a_line_is_the_score_of_a_classifier_behind_the_reduction(digits, given, made):
    X, y, X_test, y_test = digits
    sizes = [5, 20] if 20 in made else [5]
    every, *lines = compare(X, y, [given], sizes, ["svm"], test=(X_test, y_test))
    assert every.micro_f1 == CLASSIFIERS["svm"].fit(X, y).score(X_test, y_test)
    assert not [line.skipped for line in lines if line.skipped]
    assert [line.method for line in lines] == [lines[0].method] * len(made)
    for line, alone in zip(lines, made.values(), strict=True):
        Z, Z_test = alone.fit(X, y).transform(X), alone.transform(X_test)
        found = CLASSIFIERS["svm"].fit(Z, y).predict(Z_test)
        assert (line.dimensions, line.features, line.is_reduction) == (Z.shape[1], 64, True)
        assert (every.row_bytes, line.row_bytes) == (64 * 8, Z.shape[1] * 8)
        assert line.micro_f1 == pytest.approx(np.mean(found == y_test), abs=0.006)  # a sample
        expected = f1_score(y_test, found, average="macro", zero_division=0)
        assert line.macro_f1 == pytest.approx(expected, abs=0.006)
        assert line.micro_f1 + sum(line.wrong.values()) / 200 == pytest.approx(1)


def test_the_classifiers_are_those_of_scikit_learn(digits):
    X, y, X_test, y_test = digits
    oc = OC(3).fit(X, y)
    lines = compare(X, y, ["oc"], [3], list(CLASSIFIERS), test=(X_test, y_test))
    Z, Z_test = oc.transform(X), oc.transform(X_test)
    for line, (name, machine) in zip(lines[5:], CLASSIFIERS.items(), strict=True):
        assert line.classifier == name
        assert line.micro_f1 == pytest.approx(machine.fit(Z, y).score(Z_test, y_test))
    by_default = compare(X, y, ["oc"], [3], test=(X_test, y_test))
    assert [line.classifier for line in by_default] == ["svm", "logistic", "knn"] * 2
    assert by_default.ranked_by == by_default.recommendation_.line.classifier == "svm"


def test_folds_are_averaged():
    X, y = labelled(n=120, d=6)
    [_, line] = compare(X, y, ["oc", "oc"], [1, 1], ["svm"], cv=4, seed=3)  # once
    scores = []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=3).split(X, y):
        oc = OC(1).fit(X[train], y[train])
        machine = LinearSVC(random_state=0).fit(oc.transform(X[train]), y[train])
        scores.append(machine.score(oc.transform(X[test]), y[test]))
    assert line.micro_f1 == pytest.approx(np.mean(scores))
    assert line.spread["micro_f1"] == pytest.approx(np.std(scores, ddof=1))
    assert sum(line.wrong.values()) == pytest.approx(120 * (1 - np.mean(scores)))


WRONG = [
    ({"methods": ["pcaa"]}, "got 'pcaa'"), ({"methods": "oc"}, "got 'oc'"),
    ({"methods": [LinearSVC()]}, "with fit"), ({"X": {"a": np.arange(60)}}, "got a map"),
    ({"classifiers": ["svn"]}, "Did you mean svm"), ({"dims": [0]}, "integers >= 1"),
    ({"dims": 5}, "integers >= 1, got 5"), ({"cv": 3, "repeats": 2}, "got both"),
    ({"cv": 1}, "`cv`"), ({"cv": 1_000}, "samples of the largest class"),
    ({"test": labelled()[0]}, "got ndarray"), ({"repeats": 0}, "`repeats`"),
    ({"test": (labelled()[0][:, 1:], labelled()[1])}, "features"), ({"margin": -0.1}, "margin"),
    ({"test": (labelled()[0][:0], labelled()[1][:0])}, "got none"),
    ({"metric": "macro-f1"}, "Did you mean macro_f1"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "word"), WRONG)
def test_what_is_asked_for_has_to_be_there(arguments, word):
    X, y = labelled()
    with pytest.raises(ParameterError, match=word):
        compare(**{"X": X, "y": y} | arguments)


def test_arrow_tables_are_compared_as_data_frames_and_have_their_columns_in_order():
    X, y = load_iris(return_X_y=True, as_frame=True)
    asked = {"methods": ["oc"], "dims": [2], "preprocess": TableEncoder(splines=0), "cv": 3}
    first, second = (compare(x, y, **asked) for x in (X, pa.table(X)))
    assert first[1].micro_f1 == second[1].micro_f1
    for compared in (compare, retrieval):
        with pytest.raises(ParameterError, match="columns of X in their order"):
            compared(X, y, dims=[2], test=(X[X.columns[::-1]], y))


@pytest.mark.slow
def test_a_fitted_estimator_is_left_as_it_is():
    X, y = labelled()
    online = OnlineSRDA(random_state=0).fit(X, y)
    before = bytes_of(online)
    compare(X, y, [online], [1, 2])
    assert bytes_of(online) == before


def test_more_dimensions_than_there_are_directions_are_the_largest_number_that_can_be_fitted():
    X, y = labelled(n=40, d=60, c=4)
    low = np.hstack([X[:, :3], X[:, :3] @ np.ones((3, 5))])  # of rank 3
    flowers, species = load_iris(return_X_y=True)
    for method, rows, labels, asked, found in (
        ("lda", X, y, [2, 10, 50], [2, 10]),
        ("pca", low, y, [2, 7], [2, 3]),
        ("ccipca", np.hstack([flowers, flowers**2]), species, [6], [6]),
        ("ioc", np.hstack([flowers, flowers**2]), species, [6], [3]),
    ):
        lines = compare(rows, labels, [method], asked, ["knn"], repeats=1)
        assert [(line.dimensions, line.skipped) for line in lines[1:]] == [(p, "") for p in found]


def test_classifiers_that_take_long_are_left_out_of_all_columns_unless_they_are_named(monkeypatch):
    pretend(monkeypatch, "classifiers take long")
    X, y = labelled(n=60, d=6, sparse=True)
    lines = compare(sparse.csr_array(X), y, ["ocfs"], [2], repeats=2)
    done = {(line.method, line.classifier) for line in lines if not line.skipped}
    assert done == {("all columns", "svm"), *(("ocfs", c) for c in ("svm", "logistic", "knn"))}
    assert "all columns: logistic" in str(lines)
    named = ["svm", "logistic", "knn"]
    for given, asked in ((sparse.csr_array(X), named), (X, None)):
        lines = compare(given, y, ["ocfs"], [2], asked, repeats=2)
        assert not any(line.skipped for line in lines)


def test_what_another_classifier_finds_is_said_where_the_svm_finds_nothing():
    chosen = compare(*xor(), ["srda", "ocfs"], [1], repeats=2).recommendation_
    assert chosen.verdict == "nothing"
    assert (chosen.other.method, chosen.other.classifier) == ("all columns", "knn")
    assert "all 4 features with knn" in str(chosen)


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
    test, rarer, given = (X[400:], y[400:]), y[400:] == "leaves", (X[:400], y[:400], ["srda"], [1])
    machine = clone(CLASSIFIERS[classifier]).fit(X[:400], y[:400])
    has = hasattr(machine, "predict_proba")
    scores = machine.predict_proba(test[0])[:, 0] if has else -machine.decision_function(test[0])
    for metric, expected, constant in (
        ("roc_auc", roc_auc_score(rarer, scores), 0.5),
        ("average_precision", average_precision_score(rarer, scores), rarer.mean()),
    ):
        lines = compare(*given, [classifier], test=test, metric=metric)
        assert getattr(lines[0], metric) == pytest.approx(expected, abs=1e-9)
        assert lines.metric == lines.recommendation_.metric == metric
        assert getattr(lines.largest_class_, metric) == pytest.approx(constant)
    lines = compare(*given, [classifier], test=test, metric="log_loss")
    assert lines.recommendation_.best.log_loss == min(line.log_loss for line in lines)


@pytest.mark.parametrize("classes", [2, 3])
def test_log_loss_is_shown_where_classes_are_rare(classes):
    weights = [0.94, 0.06] if classes == 2 else [0.9, 0.07, 0.03]
    X, y = make_classification(
        1500, 10, n_informative=6, n_classes=classes, weights=weights, random_state=0
    )
    X, y, X_test, y_test = X[:1000], y[:1000], X[1000:], y[1000:]
    lines = compare(X, y, ["srda"], [1], ["logistic"], test=(X_test, y_test))
    assert lines.metric == "balanced_accuracy"
    assert "log-loss" in str(lines)
    # of the classes as frequent as they are, though the classifier weights them
    weighted = LogisticRegression(class_weight="balanced", max_iter=1000).fit(X, y)
    equal = weighted.predict_proba(X_test)
    P = equal * np.bincount(y)
    P /= P.sum(axis=1, keepdims=True)
    assert lines[0].log_loss == pytest.approx(log_loss(y_test, P))


def test_a_column_that_alone_predicts_everything_is_named():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.3, "leaves", "stays")
    table = pd.DataFrame({
        "id": rng.permutation(4000)[:400], "age": rng.normal(50, 9, 400).round(1),
        "town": rng.choice(["a", "b", "c"], 400),
        "reason": np.where(y == "leaves", rng.choice(["price", "moved", "other"], 400), ""),
    })  # fmt: skip
    given = {"methods": ["srda", "ocfs"], "preprocess": TableEncoder(), "repeats": 2}
    said = compare(table, y, **given).sentence_
    assert "Column reason alone predicts" in said
    assert "Column id may be" in said
    table["reason"] = rng.permutation(table["reason"])
    assert compare(table.drop(columns="id"), y, **given).notes == []


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_one_feature_that_says_the_target_and_duplicates_are_named(make):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), np.arange(300) % 3
    X[:, 3] = (y * 7) % 3 + 0.01 * X[:, 3]
    for labels, method in ((y, "oc"), (X[:, 3] + 0.5, "correlationfs")):
        [note] = compare(make(X), labels, [method], [1], repeats=1).notes
        assert "Column 3 alone" in note
    X[:, 3] = rng.normal(size=300)
    assert compare(make(X), y, ["oc"], [1], repeats=1).notes == []
    train, test = np.arange(200), np.r_[200:300, 0:40]  # 40 of which are training samples
    lines = compare(make(X[train]), y[train], ["oc"], [1], test=(make(X[test]), y[test]))
    assert "40 of 140 held-out samples are equal" in lines.notes[0]


@pytest.mark.slow
def test_the_command_prints_what_python_finds(run):
    X, y = labelled(n=120, d=6, sparse=True)
    X, y = sparse.csr_array(X), np.unique(y, return_inverse=True)[1]
    dump_svmlight_file(X[:90], y[:90], "a.svm")
    dump_svmlight_file(X[90:], y[90:], "b.svm")
    flags = "--methods oc,ocfs --dims 1,4 --classifier svm,knn,knn1"
    printed = json.loads(run(f"compare a.svm --test b.svm {flags} --json")[1])
    asked = ["oc", "ocfs"], [1, 4], ["svm", "knn", "knn1"]
    expected = compare(X[:90], y[:90], *asked, test=(X[90:], y[90:]))
    found = printed["lines"]
    assert [line["micro_f1"] for line in found] == [line.micro_f1 for line in expected]
    assert (printed["sentence"], printed["metric_because"]) == (expected.sentence_, expected.why)
    assert [tuple(line["to_best"].values()) for line in found] == expected.differences()
    _, metric, _, header, *_ = run(f"compare a.svm {flags} --cv 3")[1].splitlines()
    assert metric.startswith("Metric: accuracy,")
    assert header.split()[:5] == ["method", "dimensions", "svm", "knn", "knn1"]


SEA, LAND = '{"label": "sea", "text": "salt"}\n', '{"label": "land", "text": "tree"}\n'
HEAD = "a,b,class\n"
TABLE = "a,b,kind\n" + "".join(f"{k}.5,{'xyz'[k % 3]},{'uv'[k % 2]}\n" for k in range(60))
USED = {
    "a__jsonl": (SEA + LAND) * 10, "c__jsonl": SEA + LAND + SEA,
    "n__csv": HEAD + "1,0,x\n0,1,y\n" * 10, "one__csv": HEAD + "1,0,x\n0,1,x\n" * 10,
    "few__csv": HEAD + "1,0,x\n0,1,y\n0,2,z\n" * 3, "n__svm": "1 1:1\n2 1:2\n",
    "t__csv": TABLE, "bad__csv": TABLE.replace("40.5,", "oops,"),
}  # fmt: skip


WRONG_USAGE = [
    ("none.svm", 2, "none.svm"), ("a.jsonl --dims few", 2, "--dims"), ("c.jsonl", 1, "'land'"),
    ("n.csv --min-df 2 --dims 1", 2, "--min-df"), ("a.jsonl --classifier tree", 2, "'tree'"),
    ("a.jsonl --test a.jsonl --cv 3", 2, "--test, --cv"), ("a.jsonl --report r.pdf", 2, "html"),
    ("one.csv", 1, "one.csv: expected samples of at least 2 classes"),
    ("few.csv", 1, "few.csv: expected at least 11 samples"),
    ("a.jsonl --test n.svm", 2, "expected texts"),
    ("t.csv t.csv --test bad.csv --label kind --methods srda", 1, "bad.csv:42:"),
    ("a.jsonl --report none/r.html", 2, "folder none"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "status", "word"), WRONG_USAGE)
def test_wrong_usage_is_told(run, command, status, word):
    found, out, err = run(f"compare {command}", **USED)
    assert (found, out) == (status, "")
    assert err.startswith("narrows: ")
    assert word in err


@pytest.mark.slow
@pytest.mark.parametrize("folds", [0, 1])
def test_a_comparison_that_is_interrupted_is_that_of_the_complete_folds(run, monkeypatch, folds):
    calls, fit_moments = [], OCFS.fit_moments

    def stopped(self, moments):
        calls.append(moments)
        if len(calls) > folds:
            raise KeyboardInterrupt
        return fit_moments(self, moments)

    monkeypatch.setattr(OCFS, "fit_moments", stopped)
    X, y = labelled(n=120, d=6)
    np.savez("a.npz", X=X, y=y)
    command = "compare a.npz --methods oc,ocfs --dims 1,2 --cv 3"
    status, out, err = run(f"{command} --report r.html --json")
    assert (status, "interrupted" in err) == (130, True)
    assert ('"ocfs"' in out, json.loads(out)["stopped"]) == (folds > 0, True)
    assert "Stopped before the end" in Path("r.html").read_text()
    found = json.loads(Path("r.json").read_text())
    chosen = found["recommendation"]["dimensions"], found["recommendation"]["method"]
    line = next(x for x in found["lines"] if (x["dimensions"], x["method"]) == chosen)
    assert line["spread"] is None  # of one fold
    wrong = sum(pair["samples"] for pair in found["confusions"])
    assert wrong == pytest.approx(40 * (1 - line["micro_f1"]))


def test_splits_of_several_files_are_joined(run):
    train, test = (
        (SEA + LAND).replace("}", f', "split": "{name}"}}') for name in ("train", "test")
    )
    files = {"both__jsonl": (train + test) * 10, "a__jsonl": train * 10, "b__jsonl": test * 10}
    found = [json.loads(run(f"compare {names} --methods oc --dims 1 --json", **files)[1])
             for names in ("both.jsonl", "a.jsonl b.jsonl")]  # fmt: skip
    assert [each["splits"] for each in found] == [1, 1]
    scores = [[line["micro_f1"] for line in each["lines"]] for each in found]
    assert scores[0] == scores[1]


def noise():
    rng = np.random.default_rng(0)
    return rng.normal(size=(400, 12)), rng.choice(["a", "b", "c"], 400)


def xor():
    X = np.random.default_rng(0).normal(size=(600, 4))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")


def one_percent():
    X = np.random.default_rng(0).normal(size=(2000, 8))
    X[:20, 0] += 0.3
    return X, np.where(np.arange(2000) < 20, "rare", "common")


def hurting():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 8, 1200)
    return rng.normal(size=(8, 10))[y] + 0.6 * rng.normal(size=(1200, 10)), y


def wide_apart(d=2):
    y = np.arange(120) % 2
    return np.random.default_rng(0).normal(size=(120, d)) + 3 * y[:, None], y


CASES = {  # data, options, the verdict, what the sentence says, and what of the metric
    "noise": (noise, "", "nothing", "Nothing .* If you reduce", "accuracy, because"),
    "XOR, neighbours": (xor, "--methods oc,srda --classifier svm,knn", "features only",
                        "No reduction beats .*, but all 4 features do", "accuracy"),
    "a class of 1 %": (one_percent, "", "nothing", "Nothing here .*answering common",
                       "balanced accuracy, because"),
    "reduction hurts": (hurting, "--methods ocfs,oc --dims 1,2,5", "worse",
                        "Every reduction is worse .* use OC.* with 5 dimensions", "accuracy"),
    "two features": (wide_apart, "", "use", r"Use \w+ with 1 dimension", "accuracy"),
}  # fmt: skip
FAST = ("noise", "a class of 1 %", "reduction hurts", "two features")


def to_csv(X, y):
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(np.shape(X)[1])])
    return frame.assign(kind=y).to_csv(index=False)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case if case in FAST else nightly(case) for case in CASES])
def test_the_sentence_is_true_and_the_command_runs(case, run, tmp_path):
    data, options, verdict, sentence, metric = CASES[case]
    (tmp_path / "a b.csv").write_text(to_csv(*data()))
    words = ["compare", "a b.csv", "--label", "kind", *options.split()]
    assert main([*words, "--report", "r.html"]) == 0
    out = run("info none")[1]  # what was printed so far
    first, *rows = out.splitlines()
    assert re.match(sentence, first), first
    second = next(row for row in rows if row.startswith(f"Metric: {metric}"))
    assert "\nalways answering " in out
    command = shlex.split(next(row for row in rows if row.startswith("narrows fit")))
    assert command[:5] == ["narrows", "fit", "a b.csv", "--label", "kind"]
    assert main(command[1:]) == 0
    found = json.loads((tmp_path / "r.json").read_text())
    assert (found["sentence"], found["metric_because"]) == (first, second)
    assert shlex.split(found["fit"]) == command
    assert first in (tmp_path / "r.html").read_text()
    assert found["recommendation"]["verdict"] == verdict
    assert_said_by_differences(found, verdict)


def assert_said_by_differences(found, verdict):
    """The verdict is that of the scores and differences in the JSON."""
    field = {"accuracy": "micro_f1"}.get(found["metric"], found["metric"])
    chosen, which = found["recommendation"], ("method", "dimensions", "classifier")
    [line] = [x for x in found["lines"] if all(x[k] == chosen[k] for k in which)]
    assert line["dimensions"] < line["features"]
    rank = found["ranked_by"]
    lines = [x for x in found["lines"] if not rank or x["classifier"] == rank]
    every = max(x[field] for x in lines if x["method"] == "all columns")
    to_all, to_constant, to_best = (
        (chosen["differences"][key]["mean"], chosen["differences"][key]["standard_error"])
        for key in ("all_columns", "largest_class", "best_reduction")
    )
    assert to_all[0] == pytest.approx(line[field] - every)
    assert to_constant[0] == pytest.approx(line[field] - found["largest_class"][field])
    assert to_best[0] >= -to_best[1]
    assert verdict != "use" or to_constant[0] > 2 * to_constant[1]
    assert verdict not in ("worse", "features only") or to_all[0] < -to_all[1]


@pytest.mark.parametrize("method", [name.lower() for name in METHODS if name != "LEACE"])
def test_the_command_of_every_method_runs(method, run):
    X, y = labelled(n=150, d=8, c=4)
    line = f"compare a.csv --label kind --methods {method} --dims 2,3 --repeats 2"
    command = run(line, a__csv=to_csv(np.abs(X).round(1), y))[1].splitlines()[-1]
    assert command.startswith(f"narrows fit a.csv --label kind --method {method} ")
    assert run(command.removeprefix("narrows "))[0] == 0


@pytest.mark.slow
def test_without_a_reduction_of_narrows_there_is_no_command(run):
    for options, data in ("--methods sklearn-pca", labelled(n=100, d=6)), ("", wide_apart(1)):
        status, out, _ = run(f"compare a.csv --label kind {options}", a__csv=to_csv(*data))
        assert (status, "narrows fit a.csv" in out) == (0, False)


def scored(method, dimensions, accuracy, seconds=1.0, classifier="svm", n=2000, seed=None):
    """A line of 5,000 features; errors of other lines are independent, of the same seed nested."""
    true = np.arange(n) % 2
    seed = sum(map(ord, f"{method}{dimensions}{classifier}")) if seed is None else seed
    wrong = np.random.default_rng(seed).permutation(n)[: round(n * (1 - accuracy))]
    predicted = true.copy()
    predicted[wrong] = 1 - predicted[wrong]
    size = 1000 if method == "all columns" else 8 * dimensions
    return Line(
        method, classifier, dimensions, dimensions, 5000, learn=seconds, transform=0.0,
        row_bytes=size, micro_f1=accuracy, macro_f1=accuracy,
        outcomes=(HeldOutPredictions(true, predicted, 8000),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "chosen", "ties", "words"),
    [
        # the smallest within one standard error, then the fastest
        ([("srda", 19, 0.895, 2.0), ("onlinesrda", 19, 0.893), ("oc", 50, 0.9)],
         ("onlinesrda", 19), ("srda",), "within one standard error of all 5,000 features"),
        ([("srda", 9, 0.96), ("oc", 3, 0.93), ("ocfs", 9, 0.958), ("lda", 9, 0.957)],
         ("srda", 9), ("ocfs", "lda"), "better than all"),
        ([("ocfs", 1, 0.5), ("oc", 5, 0.86), ("chi2", 200, 0.86)],
         ("oc", 5), (), "Every reduction is worse"),
        # of two that tie, the one that narrows can fit, although it is slower
        ([("f_classif", 9, 0.9, 0.1), ("ocfs", 9, 0.9, 5.0)],
         ("ocfs", 9), ("f_classif",), "SelectKBest(f_classif) ties."),
        ([("f_classif", 9, 0.9), ("ocfs", 20, 0.89)],
         ("f_classif", 9), (), "Of narrows, the best choice is OCFS with 20"),
    ],
)  # fmt: skip
def test_a_reduction_is_recommended_by_one_standard_error(lines, chosen, ties, words):
    lines = Comparison([scored("all columns", 5000, 0.896), *(scored(*line) for line in lines)])
    lines.append(Line("ilda", "svm", 4, skipped="too few samples"))
    found = lines.recommendation_
    assert ((found.line.method, found.line.dimensions), found.ties) == (chosen, ties)
    assert words in str(found)
    assert str(lines).startswith(str(found))


def test_a_difference_below_the_margin_does_not_decide():
    """Standard errors go to zero on large files: of 400,000 rows, one in a thousand is sure."""
    large = {"n": 400_000, "seed": 0}
    lines = Comparison([
        scored("all columns", 5000, 0.724, **large), scored("srda", 1, 0.7236, **large),
        scored("forwardfs", 399, 0.7252, **large),
    ])  # fmt: skip
    assert lines.recommendation_.line.method == "srda"
    assert lines.near() == [True, True, True]
    lines.margin = 0.001
    assert lines.recommendation_.line.method == "forwardfs"
    assert lines.near() == [False, False, True]


def test_a_selection_of_all_columns_of_a_table_is_no_reduction():
    """Features that do not vary are not selected; it has fewer features all the same."""
    lines = Comparison([scored("all columns", 260, 0.9), scored("forwardfs", 237, 0.9)])
    lines[1].columns, lines[1].all_columns = 15, True
    assert lines.recommendation_ is None
    assert "every result has all 5,000 features" in lines.sentence_
    lines[1].all_columns = False
    assert lines.recommendation_.line is lines[1]
    lines.columns_in_order_ = [f"c{k}" for k in range(30)]
    assert ", ".join(lines.columns_in_order_[:20]) in str(lines)
    assert lines.columns_in_order_[20] not in str(lines)


def test_the_better_classifier_of_one_reduction_is_recommended():
    lines = Comparison([scored("oc", 2, 0.79), scored("oc", 2, 0.8, classifier="knn")])
    assert lines.recommendation_.line.classifier == "knn"
    assert "No reduction has a higher score" in str(lines)


def test_nothing_is_recommended_where_nothing_was_compared():
    skipped = Comparison([Line("lda", "svm", 2, skipped="no")])
    for lines in (Comparison([scored("all columns", 5000, 0.9)]), skipped, Comparison()):
        assert lines.recommendation_ is None
        assert "accuracy" in str(lines)
    with pytest.raises(ParameterError, match="expected the result of compare"):
        skipped.report("r.html")


class Counting(FunctionTransformer):
    """Notes the samples that it was fitted to, by their first value."""

    fitted: list = []  # noqa: RUF012 - also of copies

    def fit(self, X, y=None):
        self.fitted.append(np.asarray(X)[:, 0].astype(int).tolist())
        return self


@pytest.mark.parametrize("where", ["preprocess", "pipeline"])
def test_preprocessing_is_fitted_to_the_training_samples_alone(where, monkeypatch):
    monkeypatch.setattr(Counting, "fitted", [])
    X, y = labelled(n=100, d=5)
    X = np.column_stack([np.arange(100), X])
    inside = {"methods": ["ocfs"], "preprocess": Counting()}
    if where == "pipeline":
        inside = {"methods": [make_pipeline(Counting(), OCFS())]}
    lines = compare(X, y, dims=[2, 3], repeats=3, seed=5, classifiers=["svm"], **inside)
    splits = StratifiedShuffleSplit(3, test_size=0.2, random_state=5).split(X, y)
    assert Counting.fitted == [train.tolist() for train, _ in splits]
    assert [line.dimensions for line in lines][1:] == [2, 3]


def test_a_pipeline_scores_as_its_steps_by_hand():
    X, y = labelled(n=150, d=6)
    X = X * 10.0 ** np.arange(6)
    X[::7, 2] = np.nan
    before, given = (SimpleImputer(), StandardScaler()), {"classifiers": ["svm"], "repeats": 2}
    every, line = compare(X, y, [make_pipeline(*before, OC())], [2], **given)
    assert every.skipped  # what all features are is not said
    scores = []
    for train, test in StratifiedShuffleSplit(2, test_size=0.2, random_state=0).split(X, y):
        steps = make_pipeline(*before, OC(2), LinearSVC(random_state=0))
        scores.append(steps.fit(X[train], y[train]).score(X[test], y[test]))
    assert line.micro_f1 == pytest.approx(np.mean(scores))
    [_, also] = compare(X, y, ["oc"], [2], preprocess=make_pipeline(*before), **given)
    assert also.micro_f1 == pytest.approx(line.micro_f1)


@pytest.mark.parametrize("X", [["a b", "c d"] * 20, [[np.nan], [1.0]] * 20])
def test_what_is_no_number_needs_preprocessing(X):
    with pytest.raises(ValueError, match="Set `preprocess`, such as Tfidf"):
        compare(X, [0, 1] * 20)
