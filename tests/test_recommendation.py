"""Which reduction `compare` recommends, in which words, and the command that fits it."""

from __future__ import annotations

import html
import json
import pickle
import re
import shlex

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from narrows import OC, OCFS
from narrows.command.cli import main
from narrows.errors import ParameterError
from narrows.evaluate import Comparison, compare
from narrows.text import Tfidf
from tests.cases import METHODS, labelled
from tests.conftest import nightly
from tests.inside import Line
from tests.solvers import HeldOutPredictions

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*gains? margin", "ignore:.*expected a positive score of"
)


def noise():
    rng = np.random.default_rng(0)
    return rng.normal(size=(400, 12)), rng.choice(["a", "b", "c"], 400)


def xor():
    X = np.random.default_rng(0).normal(size=(600, 4))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")


def one_percent(shift=0.3):
    X = np.random.default_rng(0).normal(size=(2000, 8))
    X[:20, 0] += shift
    return X, np.where(np.arange(2000) < 20, "rare", "common")


def hurting():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 8, 1200)
    return rng.normal(size=(8, 10))[y] + 0.6 * rng.normal(size=(1200, 10)), y


def wide_apart(d):
    y = np.arange(120) % 2
    return np.random.default_rng(0).normal(size=(120, d)) + 3 * y[:, None], y


FIGURE = r"-?\d\.\d{3}"
DIFFERENCE = rf"difference [+-]\d\.\d{{3}} \+- {FIGURE}"
# data, arguments, the verdict, the sentence, and the line about the metric
CASES = {
    "noise": (
        noise, {}, "nothing",
        rf"Nothing here beats always answering \w \(accuracy {FIGURE}\) by more than two standard "
        rf"errors\. The best result is .* \({FIGURE}, svm; {DIFFERENCE}\)\. If you reduce the data "
        r"all the same, use \w+ with \d+ dimensions?\.",
        "Metric: accuracy, because",
    ),
    "XOR, linear": (
        xor, {}, "nothing",
        rf"Nothing here beats always answering \w+ \(accuracy {FIGURE}\) by more than two .*",
        "Metric: accuracy",
    ),
    "XOR, kernel": (
        xor, {"methods": "ocfs,oc,srda,kernelsrda"}, "use",
        rf"Use KernelSRDA with 1 dimension: accuracy {FIGURE} \(svm\), better than all 4 "
        rf"features \({FIGURE}; {DIFFERENCE}\)\. No reduction has a higher score\. The data "
        rf"become 4\.0 times smaller\. Always answering \w+ has {FIGURE}\.",
        "Metric: accuracy",
    ),
    "XOR, neighbours": (
        xor, {"methods": "oc,srda", "classifier": "svm,knn"}, "features only",
        rf"No reduction beats always answering \w+ \(accuracy {FIGURE}\) by more than two standard "
        rf"errors, but all 4 features do \({FIGURE}, knn; {DIFFERENCE}\)\. If you reduce the data, "
        r"use \w+ with 1 dimension: .*, worse than all 4 features .*",
        "Metric: accuracy",
    ),
    "a class of 1 %": (
        one_percent, {}, "nothing",
        r"Nothing here beats always answering common \(balanced accuracy 0\.500\) by more than .*",
        "Metric: balanced accuracy, because the largest class has 99 times as many samples as the "
        "smallest (more than 9).",
    ),
    "a class of 1 %, by accuracy": (
        one_percent, {"metric": "accuracy"}, "nothing",
        r"Nothing here beats always answering common \(accuracy 0\.990\) by more than .*",
        "Metric: accuracy, as requested.",
    ),
    "a class of 1 %, by macro-F1": (
        one_percent, {"metric": "macro-f1"}, "nothing",
        r"Nothing here beats always answering common \(balanced accuracy 0\.500\) by more than .*",
        "Metric: macro-F1, as requested.",
    ),
    "a class of 1 % that is far away": (
        lambda: one_percent(8), {}, "use",
        rf"Use \w+ with 1 dimension: balanced accuracy {FIGURE} \(svm\), within one standard error "
        rf"of all 8 features \({FIGURE}; {DIFFERENCE}\).*",
        "Metric: balanced accuracy",
    ),
    "reduction hurts": (
        hurting, {"methods": "ocfs,oc", "dims": "1,2,5"}, "worse",
        r"Every reduction is worse than all 10 features by more than one standard error and the "
        rf"margin of 0\.005\. If you reduce the data, use OC with 5 dimensions: accuracy {FIGURE} "
        rf"\(svm\), worse than all 10 features \({FIGURE}; {DIFFERENCE}\)\. No reduction has a "
        r"higher score\. The data become 2\.0 times smaller\.( OCFS ties\.)?",
        "Metric: accuracy",
    ),
    "noise, and a method of scikit-learn": (
        noise, {"methods": "f_classif,srda", "dims": "1,2"}, "nothing",
        r"Nothing here beats .* If you reduce the data all the same, use SRDA with \d dimension.*",
        "Metric: accuracy",
    ),
    "two features": (
        lambda: wide_apart(2), {}, "use",
        rf"Use \w+ with 1 dimension: accuracy {FIGURE} \(svm\), (within one standard error of|"
        rf"better than) all 2 features \({FIGURE}; {DIFFERENCE}\).*",
        "Metric: accuracy",
    ),
    "a method of scikit-learn": (
        load_digits, {"methods": "ocfs,lineardiscriminantanalysis", "dims": "9", "repeats": "3"},
        "use",
        r"Use LinearDiscriminantAnalysis with 9 dimensions: .* LinearDiscriminantAnalysis is a "
        r"method of scikit-learn\. Of narrows, the best choice is OCFS with 9 dimensions "
        rf"\({FIGURE}; difference -{FIGURE} \+- {FIGURE}\)\.",
        "Metric: accuracy",
    ),
}  # fmt: skip


def to_csv(X, y):
    names = [*(f"c{k}" for k in range(X.shape[1])), "kind"]
    rows = [
        ",".join([*map(repr, map(float, x)), str(label)]) for x, label in zip(X, y, strict=True)
    ]
    return "\n".join([",".join(names), *rows]) + "\n"


FAST = ("noise", "a class of 1 %", "reduction hurts", "two features")


@pytest.mark.slow
@pytest.mark.parametrize("case", [case if case in FAST else nightly(case) for case in CASES])
def test_the_sentence_is_true_and_the_command_runs(case, run, tmp_path):
    data, flags, verdict, sentence, metric = CASES[case]
    X, y = data(return_X_y=True) if data is load_digits else data()
    (tmp_path / "a b.csv").write_text(to_csv(X, y))
    given = [word for flag, value in flags.items() for word in (f"--{flag}", value)]
    words = ["compare", "a b.csv", "--label", "kind", *given]
    assert main([*words, "--report", "r.html"]) == 0
    out = run("info none")[1]  # what was printed so far
    first, second, *_ = out.splitlines()
    assert re.fullmatch(sentence, first), first
    assert second.startswith(metric)
    assert "\nalways answering " in out
    command = shlex.split(next(row for row in out.splitlines() if row.startswith("narrows fit")))
    assert command[:5] == ["narrows", "fit", "a b.csv", "--label", "kind"]
    assert main(command[1:]) == 0
    assert (tmp_path / "model.narrows").exists()
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["recommendation"]["verdict"] == verdict
    assert found["sentence"] == first
    assert found["metric_because"] == second
    assert shlex.split(found["fit"]) == command
    page = (tmp_path / "r.html").read_text()
    assert first in page
    assert found["largest_class"]["method"] in page
    assert_said_by_differences(found, verdict)


def assert_said_by_differences(found, verdict):
    """The verdict is that of the scores and differences in the JSON."""
    d = max(line["features"] for line in found["lines"])
    field = {"accuracy": "micro_f1"}.get(found["metric"], found["metric"])
    chosen = found["recommendation"]
    [line] = [x for x in found["lines"] if all(x[k] == chosen[k] for k in WHICH)]
    assert line["dimensions"] < d
    apart = chosen["differences"]
    ranks = (found["ranked_by"] or line["classifier"] for line in found["lines"])
    lines = [x for x, by in zip(found["lines"], ranks, strict=True) if x["classifier"] == by]
    every = max((x[field] for x in lines if x["method"] == "all columns"), default=0)
    assert apart["all_columns"]["mean"] == pytest.approx(line[field] - every)
    assert apart["largest_class"]["mean"] == pytest.approx(
        line[field] - found["largest_class"][field]
    )
    if verdict == "use":
        assert apart["largest_class"]["mean"] > 2 * apart["largest_class"]["standard_error"]
    if verdict in ("worse", "features only"):
        assert apart["all_columns"]["mean"] < -apart["all_columns"]["standard_error"]
    assert apart["best_reduction"]["mean"] >= -apart["best_reduction"]["standard_error"]


WHICH = "method", "dimensions", "classifier"


@pytest.mark.parametrize("method", [name.lower() for name in METHODS if name != "LEACE"])
def test_the_command_of_every_method_runs(method, run):
    X, y = labelled(n=150, d=8, c=4)
    status, out, _ = run(
        f"compare a.csv --label kind --methods {method} --dims 2,3 --repeats 2",
        a__csv=to_csv(np.abs(X).round(1), y),
    )
    assert status == 0
    command = out.splitlines()[-1]
    assert command.startswith(f"narrows fit a.csv --label kind --method {method} ")
    assert run(command.removeprefix("narrows "))[0] == 0


@pytest.mark.slow
def test_there_is_no_command_without_a_method_of_narrows(run):
    X, y = labelled(n=100, d=6)
    status, out, _ = run("compare a.csv --label kind --methods sklearn-pca", a__csv=to_csv(X, y))
    assert status == 0
    assert out.splitlines()[-1].startswith("No command: narrows fit has none of these methods.")


@pytest.mark.slow
def test_one_feature_cannot_be_reduced(run):
    X, y = wide_apart(1)
    status, out, _ = run("compare a.csv --label kind", a__csv=to_csv(X, y))
    assert (status, out.splitlines()[0]) == (
        0, "No reduction was compared: the samples have 1 feature."
    )  # fmt: skip
    assert "narrows fit" not in out
    assert compare(X, y).recommendation_ is None


def test_one_class_is_refused(run):
    X, y = np.ones((40, 3)), np.repeat("a", 40)
    with pytest.raises(ParameterError, match="samples of at least 2 classes to compare, got only"):
        compare(X, y)
    (status, out, err) = run("compare a.csv --label kind", a__csv=to_csv(X, y))
    assert (status, out) == (1, "")
    assert "a.csv: expected samples of at least 2 classes to compare, got only class 'a'" in err


@pytest.mark.nightly
def test_noise_is_rarely_recommended():
    used = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        lines = compare(rng.normal(size=(200, 20)), rng.integers(0, 2, 200), seed=seed)
        used += lines.recommendation_.verdict != "nothing"
    assert used <= 4


@pytest.mark.slow
def test_all_features_are_no_reduction():
    X, y = wide_apart(3)
    lines = compare(X, y, ["ocfs", "pca"], [3, 50], ["svm"])
    assert [line.dimensions for line in lines] == [3, 3, 3]
    assert lines.recommendation_ is None
    assert lines.sentence_ == "No reduction was compared: every result has all 3 features."
    chosen = compare(X, y, ["ocfs"], [1, 3]).recommendation_
    assert chosen.line.dimensions == 1


@pytest.mark.parametrize(
    ("d", "sizes"),
    [(2, [1]), (3, [1]), (5, [2]), (12, [2, 6]), (150, [2, 10, 75]), (300, [2, 10, 100])],
)
def test_the_default_sizes_are_below_the_number_of_features(d, sizes):
    X, y = labelled(n=60, d=d)
    lines = compare(X, y, ["ocfs"], repeats=1, classifiers=["svm"])
    assert [line.dimensions for line in lines if line.method == "ocfs"] == sizes


@pytest.mark.slow
def test_all_splits_have_the_same_sizes(run):
    """Also of texts, whose number of terms depends on the split."""
    rng = np.random.default_rng(0)
    rows = [f"{k % 2},w{rng.integers(40)} w{rng.integers(40)} t{k % 2}" for k in range(60)]
    status, out, _ = run(
        "compare a.csv --label kind --text body --methods ocfs --classifier svm --json",
        a__csv="\n".join(["kind,body", *rows]),
    )
    found = json.loads(out)
    assert (status, found["splits"], len(found["lines"])) == (0, 5, 4)


@pytest.mark.slow
def test_differences_are_those_of_scikit_learn_by_hand():
    X, y = hurting()
    lines = compare(X, y, ["oc"], [3], ["svm"], repeats=4, seed=2)
    apart, ratio = [], None
    for train, test in StratifiedShuffleSplit(4, test_size=0.2, random_state=2).split(X, y):
        oc = OC(3).fit(X[train], y[train])
        scores = [
            LinearSVC(random_state=0).fit(Z(X[train]), y[train]).score(Z(X[test]), y[test])
            for Z in (oc.transform, lambda rows: rows)
        ]
        apart.append(scores[0] - scores[1])
        ratio = len(test) / len(train)
    found = lines.differences()[1]
    assert found.mean == pytest.approx(np.mean(apart))
    between = np.var(apart, ddof=1) * (1 / 4 + ratio)
    assert found.standard_error >= between**0.5 - 1e-12
    assert found.standard_error == pytest.approx(between**0.5, rel=0.5)
    assert lines[1].spread["micro_f1"] > 0
    assert lines.n_folds == 4


# -- the rule, on lines that are made up ---------------------------------------------------------


def scored(method, dimensions, accuracy, seconds=1.0, classifier="svm", seed=0):
    """A line of 1,000 of 5,000 features; errors of other lines are independent."""
    true = np.arange(2000) % 2
    name = sum(map(ord, f"{method}{dimensions}{classifier}"))
    wrong = np.random.default_rng(name).permutation(2000)[: round(2000 * (1 - accuracy))]
    predicted = true.copy()
    predicted[wrong] = 1 - predicted[wrong]
    size = 1000 if method == "all columns" else 8 * dimensions
    return Line(
        method, classifier, dimensions, dimensions, 5000, learn=seconds, transform=0.0,
        row_bytes=size, micro_f1=accuracy, macro_f1=accuracy,
        outcomes=(HeldOutPredictions(true, predicted, 8000),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "chosen", "ties", "said"),
    [
        (  # the smallest within one standard error, then the fastest
            [("srda", 19, 0.895, 2.0), ("onlinesrda", 19, 0.893), ("oc", 50, 0.9)],
            ("onlinesrda", 19), ("srda",),
            r"Use OnlineSRDA with 19 dimensions: accuracy 0\.893 \(svm\), within one standard "
            r"error of all 5,000 features \(0\.896; difference -0\.003 \+- 0\.0\d\d\), and within "
            r"one standard error of the best reduction, OC with 50 dimensions \(0\.900; difference "
            r"-0\.007 \+- 0\.0\d\d\)\. The data become 6\.6 times smaller\. SRDA ties\.",
        ),
        (
            [("srda", 9, 0.96), ("oc", 3, 0.93), ("ocfs", 9, 0.958), ("lda", 9, 0.957)],
            ("srda", 9), ("ocfs", "lda"),
            r"Use SRDA with 9 dimensions: accuracy 0\.960 \(svm\), better than all 5,000 features "
            r"\(0\.896; difference \+0\.064 \+- 0\.00\d\)\. No reduction has a higher score\. The "
            r"data become 14 times smaller\. OCFS, LDA tie\.",
        ),
        (
            [("ocfs", 1, 0.5), ("oc", 5, 0.86), ("chi2", 200, 0.86)],
            ("oc", 5), (),
            r"Every reduction is worse than all 5,000 features by more than one standard error and "
            r"the margin of 0\.005\. If you reduce the data, use OC with 5 dimensions: .* The data "
            r"become 25 times smaller\.",
        ),
        (  # of two that tie, the one that narrows can fit, although it is slower
            [("f_classif", 9, 0.9, 0.1), ("ocfs", 9, 0.9, 5.0)], ("ocfs", 9), ("f_classif",),
            r"Use OCFS with 9 dimensions: .* SelectKBest\(f_classif\) ties\.",
        ),
        (
            [("f_classif", 9, 0.9), ("ocfs", 20, 0.89)], ("f_classif", 9), (),
            r"Use SelectKBest\(f_classif\) with 9 dimensions: .* SelectKBest\(f_classif\) is a "
            r"method of scikit-learn\. Of narrows, the best choice is OCFS with 20 dimensions "
            r"\(0\.890; difference -0\.010 \+- 0\.0\d\d\)\.",
        ),
    ],
)  # fmt: skip
def test_a_reduction_is_recommended_by_one_standard_error(lines, chosen, ties, said):
    lines = Comparison([scored("all columns", 5000, 0.896), *(scored(*line) for line in lines)])
    lines.append(Line("ilda", "svm", 4, skipped="too few samples"))
    found = lines.recommendation_
    assert (found.line.method, found.line.dimensions) == chosen
    assert found.ties == ties
    assert re.fullmatch(said, str(found)), str(found)
    assert str(lines).startswith(str(found))
    assert found.as_dict()["sentence"] == str(found)
    assert found.is_within == (found.verdict == "use")


def test_a_difference_below_the_margin_does_not_decide():
    """Standard errors go to zero on large files: of 400,000 rows, one in a thousand is sure."""
    true = np.arange(400_000) % 2
    lines = []
    for method, dimensions, accuracy in (
        ("all columns", 5000, 0.724), ("srda", 1, 0.7236), ("forwardfs", 399, 0.7252),
    ):  # fmt: skip
        wrong = np.random.default_rng(0).permutation(400_000)[: round(400_000 * (1 - accuracy))]
        predicted = true.copy()
        predicted[wrong] = 1 - predicted[wrong]
        outcomes = (HeldOutPredictions(true, predicted, 400_000),)
        lines.append(
            Line(method, "svm", dimensions, dimensions, micro_f1=accuracy, features=5000,
                 row_bytes=8 * dimensions, outcomes=outcomes)
        )  # fmt: skip
    lines[2].columns, lines[2].chosen = 10, ("age", "income")
    found = Comparison(lines)
    chosen = found.recommendation_
    assert (chosen.line.method, chosen.verdict) == ("srda", "use")
    said = str(chosen)
    assert "0.724" in said
    assert "0.725; difference -0.002 +- 0.000" in said
    assert (said.count("margin of 0.005"), said.count("better")) == (2, 0)
    assert chosen.as_dict()["margin"] == 0.005
    assert found.near() == [True, True, True]
    found.margin = 0.001
    assert found.recommendation_.line.method == "forwardfs"
    assert str(found).splitlines()[1] == "Columns, best first: age, income."
    assert found.near() == [False, False, True]


def test_margins_are_checked_and_the_chosen_columns_stand_under_the_sentence(run):
    X, y = load_digits(return_X_y=True)
    with pytest.raises(ParameterError, match="margin"):
        compare(X, y, ["oc"], margin=-0.1)
    rows = to_csv(X[:300, 20:32], y[:300])
    asked = "compare a.csv --label kind --methods ocfs,forwardfs --dims 1,3,5 --repeats 2"
    status, out, _ = run(f"{asked} --margin 1", a__csv=rows)
    first, second, *_ = out.splitlines()
    assert (status, "with 1 dimension:" in first) == (0, True)
    assert re.fullmatch(r"Features, best first in the first split: c\d+\.", second)
    assert run(f"{asked} --margin 0")[1].splitlines()[0] != first


def test_the_better_classifier_of_one_reduction_is_recommended():
    lines = Comparison([scored("oc", 2, 0.79), scored("oc", 2, 0.8, classifier="knn")])
    assert lines.recommendation_.line.classifier == "knn"
    assert "No reduction has a higher score" in str(lines.recommendation_)


def test_a_selection_of_all_columns_of_a_table_is_no_reduction():
    """Features that do not vary are not selected; it has fewer features all the same."""
    lines = Comparison([scored("all columns", 260, 0.9), scored("forwardfs", 237, 0.9)])
    lines[1].columns, lines[1].all_columns = 15, True
    assert lines.recommendation_ is None
    assert "forwardfs    all columns, 237  " in str(lines)
    lines[1].all_columns = False
    assert lines.recommendation_.line is lines[1]
    assert "forwardfs    15 columns, 237  " in str(lines)


def test_the_first_twenty_columns_are_shown_in_order():
    lines = Comparison([scored("all columns", 260, 0.9), scored("forwardfs", 37, 0.9)])
    lines.columns_in_order_ = [f"c{k}" for k in range(30)]
    shown = ", ".join(lines.columns_in_order_[:20])
    expected = f"(the first 20 of 30, training samples): {shown}"
    assert str(lines).endswith(f"columns in the order of ForwardFS {expected}")


def test_nothing_is_recommended_where_nothing_was_compared():
    assert Comparison([scored("all columns", 5000, 0.9)]).recommendation_ is None
    skipped = Comparison([Line("lda", "svm", 2, skipped="no")])
    assert skipped.recommendation_ is None
    assert skipped.sentence_ == "No reduction was compared: every method was skipped."
    assert "accuracy" in str(Comparison())
    with pytest.raises(ParameterError, match="expected the result of compare to report"):
        skipped.report("r.html")


# -- preprocessing, pipelines and reports --------------------------------------------------------


class Counting(TransformerMixin, BaseEstimator):
    """Notes the samples that it was fitted to, by their first value."""

    fitted: list = []  # noqa: RUF012 - also of copies

    def fit(self, X, y=None):
        self.n_ = len(X)
        self.fitted.append(np.asarray(X)[:, 0].astype(int).tolist())
        return self

    def transform(self, X):
        return np.asarray(X)[:, 1:]


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
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), OC())
    every, line = compare(X, y, [pipeline], [2], ["svm"], repeats=2)
    assert every.skipped  # what all features are is not said
    assert line.method == "SimpleImputer() + StandardScaler() + OC()"
    scores = []
    for train, test in StratifiedShuffleSplit(2, test_size=0.2, random_state=0).split(X, y):
        steps = make_pipeline(SimpleImputer(), StandardScaler(), OC(2), LinearSVC(random_state=0))
        scores.append(steps.fit(X[train], y[train]).score(X[test], y[test]))
    assert line.micro_f1 == pytest.approx(np.mean(scores))
    before = make_pipeline(SimpleImputer(), StandardScaler())
    [first, also] = compare(X, y, ["oc"], [2], ["svm"], repeats=2, preprocess=before)
    assert also.micro_f1 == pytest.approx(line.micro_f1)
    assert first.dimensions == 6
    # a transformer that keeps all features
    [_, scaled] = compare(X, y, [before], repeats=2, classifiers=["svm"])
    assert (scaled.dimensions, scaled.skipped, scaled.is_reduction) == (6, "", False)


@pytest.mark.slow
def test_frames_and_texts_are_preprocessed():
    pandas = pytest.importorskip("pandas")
    y = np.arange(60) % 2
    rng = np.random.default_rng(0)
    words = ["salt water ship", "tree hill sand"]
    texts = [f"{words[label]} {rng.choice(['a', 'the'])}" for label in y]
    frame = pandas.DataFrame({"body": texts, "size": rng.normal(size=60)})
    for X, steps in ((texts, Tfidf()), (np.array(texts), Tfidf()), (frame["body"], Tfidf())):
        lines = compare(X, y, ["ocfs"], [1], ["svm"], preprocess=steps)
        assert [line.micro_f1 for line in lines] == [1.0, 1.0]
    held_out = compare(texts[:40], y[:40], ["oc"], [1], test=(texts[40:], y[40:]), preprocess=steps)
    assert held_out[3].micro_f1 == 1.0


@pytest.mark.parametrize("X", [["a b", "c d"] * 20, [[np.nan], [1.0]] * 20])
def test_what_is_no_number_needs_preprocessing(X):
    with pytest.raises(ValueError, match="Set `preprocess`, such as Tfidf") as raised:
        compare(X, [0, 1] * 20)
    assert "make_pipeline" not in str(raised.value)


@pytest.mark.slow
def test_a_comparison_writes_its_report(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    X, y = load_digits(return_X_y=True, as_frame=True)
    steps = make_pipeline(StandardScaler(), OCFS())
    lines = compare(X[:400], y[:400], ["srda", "ocfs", steps, "sklearn-pca"], [2, 9], repeats=2)
    pickle.loads(pickle.dumps(lines)).report(tmp_path / "digits.html")
    found = json.loads((tmp_path / "digits.json").read_text())
    page = (tmp_path / "digits.html").read_text()
    assert found["sentence"] == lines.sentence_
    assert found["sentence"] in html.unescape(page)
    assert "<h2>Command</h2>" not in page
    assert [line["micro_f1"] for line in found["lines"]] == [line.micro_f1 for line in lines]
    models = {model["name"]: model for model in found["models"]}
    assert set(models) == {"srda", "ocfs", "StandardScaler() + OCFS()"}
    assert models["ocfs"]["kept"][0]["name"].startswith("pixel_")
    with pytest.raises(ParameterError, match=r"expected a report that ends in \.html"):
        lines.report(tmp_path / "digits.pdf")


@pytest.mark.slow
def test_the_report_of_texts_shows_terms_and_how_texts_begin(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    texts = ["salt water ship", "tree hill sand", "moon star sky"] * 20
    y = ["sea", "land", "air"] * 20
    lines = compare(texts, y, ["oc", "ocfs"], [2], preprocess=Tfidf())
    lines.report(tmp_path / "t.html")
    found = json.loads((tmp_path / "t.json").read_text())
    names = {entry["name"] for model in found["models"] for entry in model.get("kept", [])}
    assert names <= set(" ".join(texts).split())
    assert found["data"]["columns_are"] == "terms of texts"
    assert "sea: salt water ship" in (tmp_path / "t.html").read_text()


@pytest.mark.slow
def test_the_command_has_the_options_of_texts(run, tmp_path):
    texts = ["sea salt of the sea", "hill of the trees", "sea ship of salt", "hill and trees"] * 5
    rows = [json.dumps({"text": text, "label": text[0]}) for text in texts]
    (tmp_path / "t.jsonl").write_text("\n".join(rows) + "\n")
    given = ["--ngram-range", "1,2", "--max-df", "0.9"]
    assert main(["compare", "t.jsonl", *given, "--dims", "1", "--classifier", "knn"]) == 0
    out = run("info none")[1]
    command = shlex.split(next(row for row in out.splitlines() if row.startswith("narrows fit")))
    assert command[3:7] == given
    assert main(command[1:]) == 0
