"""Which reduction `compare` recommends, in which words, and the command that fits it."""

from __future__ import annotations

import json
import pickle
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from narrows import OC, OCFS
from narrows.command.cli import main
from narrows.errors import ParameterError
from narrows.evaluate import Comparison, compare
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


def far():
    return one_percent(8)


def hurting():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 8, 1200)
    return rng.normal(size=(8, 10))[y] + 0.6 * rng.normal(size=(1200, 10)), y


def wide_apart(d=2):
    y = np.arange(120) % 2
    return np.random.default_rng(0).normal(size=(120, d)) + 3 * y[:, None], y


RARE, KERNEL = "balanced accuracy, because", "ocfs,oc,srda,kernelsrda"
CASES = {  # data, options, the verdict, what the sentence says, and what of the metric
    "noise": (noise, "", "nothing", "Nothing .* If you reduce", "accuracy, because"),
    "XOR, kernel": (xor, f"--methods {KERNEL}", "use", "Use KernelSRDA with 1 dim", "accuracy"),
    "XOR, neighbours": (xor, "--methods oc,srda --classifier svm,knn", "features only",
                        "No reduction beats .*, but all 4 features do", "accuracy"),
    "a class of 1 %": (one_percent, "", "nothing", "Nothing here .*answering common", RARE),
    "a class of 1 % that is far": (far, "", "use", r"Use \w+ with 1 dimension: balanced", RARE),
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
    d = max(line["features"] for line in found["lines"])
    field = {"accuracy": "micro_f1"}.get(found["metric"], found["metric"])
    chosen, which = found["recommendation"], ("method", "dimensions", "classifier")
    [line] = [x for x in found["lines"] if all(x[k] == chosen[k] for k in which)]
    assert line["dimensions"] < d
    ranked = (found["ranked_by"] or line["classifier"] for line in found["lines"])
    lines = [x for x, by in zip(found["lines"], ranked, strict=True) if x["classifier"] == by]
    every = max((x[field] for x in lines if x["method"] == "all columns"), default=0)
    constant, (to_all, to_constant, to_best) = found["largest_class"][field], (
        (chosen["differences"][key]["mean"], chosen["differences"][key]["standard_error"])
        for key in ("all_columns", "largest_class", "best_reduction")
    )  # fmt: skip
    assert to_all[0] == pytest.approx(line[field] - every)
    assert to_constant[0] == pytest.approx(line[field] - constant)
    assert to_best[0] >= -to_best[1]
    if verdict == "use":
        assert to_constant[0] > 2 * to_constant[1]
    if verdict in ("worse", "features only"):
        assert to_all[0] < -to_all[1]


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
def test_without_a_reduction_of_narrows_there_is_no_command(run):
    for options, data in ("--methods sklearn-pca", labelled(n=100, d=6)), ("", wide_apart(1)):
        status, out, _ = run(f"compare a.csv --label kind {options}", a__csv=to_csv(*data))
        assert (status, "narrows fit a.csv" in out) == (0, False)


@pytest.mark.slow
def test_all_features_are_no_reduction():
    X, y = wide_apart(3)
    lines = compare(X, y, ["ocfs", "pca"], [3, 50], ["svm"])
    assert [line.dimensions for line in lines] == [3, 3, 3]
    assert lines.recommendation_ is None
    assert compare(X, y, ["ocfs"], [1, 3]).recommendation_.line.dimensions == 1
    assert compare(X, y, [StandardScaler], [5], repeats=1).recommendation_ is None


@pytest.mark.slow
def test_all_splits_of_texts_have_the_same_sizes_and_the_command_has_their_options(run):
    rng = np.random.default_rng(0)  # the number of terms depends on the split
    rows = [f"{k % 2},w{rng.integers(40)} w{rng.integers(40)} t{k % 2}\n" for k in range(60)]
    given = "a.csv --label kind --text body --ngram-range 1,2 --max-df 0.9"
    command = f"compare {given} --methods ocfs --classifier svm --json"
    found = json.loads(run(command, a__csv="kind,body\n" + "".join(rows))[1])
    assert (found["splits"], len(found["lines"])) == (5, 4)
    assert found["fit"].startswith(f"narrows fit {given}")
    assert run(found["fit"].removeprefix("narrows "))[0] == 0


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


@pytest.mark.slow
def test_a_comparison_writes_its_report(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    rng = np.random.default_rng(0)
    y = rng.choice(3, 600, p=[0.9, 0.07, 0.03])
    X = pd.DataFrame(rng.normal(size=(600, 10)) + 2 * np.eye(3, 10)[y]).add_prefix("x ")
    methods = ["srda", OCFS(priors=np.float32([0.2, 0.3, 0.5])), "sklearn-pca"]  # of any type
    lines = compare(X, y, methods, np.array([2]), ["logistic"], repeats=1, seed=np.int64(3))
    pickle.loads(pickle.dumps(lines)).report(tmp_path / "r.html")
    page, found = ((tmp_path / f"r.{kind}").read_text("utf-8") for kind in ("html", "json"))
    found = json.loads(found)
    assert found["sentence"] == lines.sentence_
    assert ("Reliability of " in page, "<h2>Command</h2>" in page) == (True, False)
    assert [line["micro_f1"] for line in found["lines"]] == [line.micro_f1 for line in lines]
    (outcome,) = lines.recommendation_.line.outcomes
    P = outcome.probabilities
    right = (P.argmax(axis=1) == outcome.true)[np.argsort(P.max(axis=1), kind="stable")]
    shares = [tenth.mean() for tenth in np.array_split(right, 10)]
    np.testing.assert_allclose(found["reliability"]["share"], shares)
    with pytest.raises(ParameterError, match="html"):
        lines.report(tmp_path / "r.pdf")
