"""Comparisons: against scikit-learn by hand, and from the command line."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import (
    dump_svmlight_file,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from narrows import OC, OCFS, SRDA, ForwardFS, Moments, OnlineSRDA
from narrows.command.cli import main
from narrows.errors import ParameterError
from narrows.evaluate import Comparison, compare, retrieval
from narrows.table import TableEncoder
from tests.cases import METHODS, labelled
from tests.inside import check_methods, pretend, steps_of
from tests.test_recommendation import scored

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*gains? margin", "ignore:.*expected a positive score of"
)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)


@pytest.mark.slow
@threadpool_limits.wrap(limits=1)  # as `compare`: the steps of LSQR magnify rounding
def test_scores_are_those_of_scikit_learn(digits):
    X, X_test, y, y_test = digits
    methods = ["oc", OCFS(per_class=2), SRDA(alpha=5.0), "onlinesrda"]
    lines = compare(X, y, methods, [3, 20], ["svm", "knn", "smo"], test=(X_test, y_test))
    machines = {
        "svm": LinearSVC(random_state=0),
        "knn": KNeighborsClassifier(),
        "smo": SVC(kernel="linear"),
    }
    by_hand = {
        "all columns": {None: None},
        "oc": {3: OC(3), 20: OC()},
        "OCFS(per_class=2)": {3: OCFS(3), 20: OCFS(20)},
        "SRDA(alpha=5.0)": {3: SRDA(3, alpha=5.0), 20: SRDA(alpha=5.0)},
        "onlinesrda": {3: None, 20: None},
    }
    seen = []
    for line in lines:
        seen.append((line.method, line.asked, line.classifier))
        if line.method == "onlinesrda":
            assert (line.dimensions, line.micro_f1 > 0.3) == (min(line.asked, 10), True)
            continue
        made = by_hand[line.method][line.asked]
        Z, Z_test = X, X_test
        if made is not None:
            Z, Z_test = (made.fit(X, y).transform(rows) for rows in (X, X_test))
        found = machines[line.classifier].fit(Z, y).predict(Z_test)
        assert line.dimensions == Z.shape[1]
        assert line.micro_f1 == pytest.approx(np.mean(found == y_test))
        expected = f1_score(y_test, found, average="macro", zero_division=0)
        assert line.macro_f1 == pytest.approx(expected)
        assert line.learn >= 0 and line.transform >= 0 and line.train > 0  # noqa: PT018
    assert seen == [
        (method, asked, judge) for method, sizes in by_hand.items() for asked in sizes
        for judge in ("svm", "knn", "smo")
    ]  # fmt: skip
    assert all(line.micro_f1 + sum(line.wrong.values()) / 360 == 1 for line in lines)


def test_folds_are_averaged():
    X, y = labelled(n=120, d=6)
    [_, line] = compare(X, y, ["oc"], [1], ["svm"], cv=4, seed=3)
    scores = []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=3).split(X, y):
        oc = OC(1).fit(X[train], y[train])
        machine = LinearSVC(random_state=0).fit(oc.transform(X[train]), y[train])
        scores.append(machine.score(oc.transform(X[test]), y[test]))
    assert line.micro_f1 == pytest.approx(np.mean(scores))
    assert line.spread["micro_f1"] == pytest.approx(np.std(scores, ddof=1))
    corrected = np.std(scores, ddof=1) * np.sqrt(1 / 4 + 30 / 90)
    within = np.sqrt(np.mean(scores) * (1 - np.mean(scores)) / 30 * (1 / 4 + 30 / 90))
    assert line.standard_error >= corrected
    assert line.standard_error == pytest.approx(max(corrected, within), rel=0.1)
    assert sum(line.wrong.values()) == pytest.approx(120 * (1 - np.mean(scores)))


@pytest.mark.slow
def test_estimators_whose_texts_are_shortened_alike_are_both_compared():
    X, y = labelled(c=3, d=6)
    priors = {"ant": 1, "bee": 1, "cat": 1} | {f"class {k}": 1 for k in range(40)}
    other = priors | {"class 39": 2}
    lines = compare(X, y, [OCFS(priors=priors), OCFS(priors=other)], [2], ["svm"])
    assert len({line.method for line in lines}) == 3  # with all columns


def test_splits_with_other_largest_classes_are_averaged():
    X, y = load_digits(return_X_y=True)
    lines = compare(X, y, ["oc"], dims=[3], classifiers=["knn"], repeats=4)
    answers = {int(each.predicted[0]) for each in lines.largest_class_.outcomes}
    assert len(answers) > 1  # or nothing is tested
    assert lines.n_folds == len(lines.largest_class_.outcomes) == 4
    assert [len(line.outcomes) for line in lines] == [4, 4]


@pytest.mark.slow
def test_an_interrupted_cross_validation_is_that_of_the_complete_folds(run, tmp_path, monkeypatch):
    X, y = labelled(n=120, d=6)
    np.savez(tmp_path / "a.npz", X=X, y=y)
    fit_moments, calls = OCFS.fit_moments, []

    def stopped(self, stats):
        calls.append(stats)
        if len(calls) == 2:  # the second of three folds
            raise KeyboardInterrupt
        return fit_moments(self, stats)

    monkeypatch.setattr(OCFS, "fit_moments", stopped)
    status, _, _ = run("compare a.npz --methods oc,ocfs --dims 1,2 --cv 3 --report r.html --json")
    assert status == 130
    found = json.loads((tmp_path / "r.json").read_text())
    chosen = found["recommendation"]["dimensions"], found["recommendation"]["method"]
    line = next(x for x in found["lines"] if (x["dimensions"], x["method"]) == chosen)
    assert line["spread"] is None  # one fold
    wrong = sum(pair["samples"] for pair in found["confusions"])
    assert wrong == pytest.approx(40 * (1 - line["micro_f1"]))
    page = (tmp_path / "r.html").read_text()
    matrix = page[page.index('class="matrix"') : page.index("</table>", page.index('"matrix"'))]
    counts = [int(n) for n in re.findall(r'<td class="n[^>]*>(\d+)</td>', matrix)]
    assert sum(counts) == 40


@pytest.mark.slow
def test_the_error_of_an_accuracy_is_that_of_the_bootstrap(digits):
    X, X_test, y, y_test = digits
    _, line = compare(X, y, ["oc"], [3], ["svm"], test=(X_test, y_test))
    Z, Z_test = (OC(3).fit(X, y).transform(rows) for rows in (X, X_test))
    right = LinearSVC(random_state=0).fit(Z, y).predict(Z_test) == y_test
    draws = np.random.default_rng(0).integers(0, len(right), (4000, len(right)))
    assert line.standard_error == pytest.approx(right[draws].mean(axis=1).std(), rel=0.05)
    perfect = compare(*load_iris(return_X_y=True), ["lda"], [2], test=load_iris(return_X_y=True))
    assert all(line.standard_error > 0 for line in perfect)


@pytest.mark.slow
def test_a_comparison_can_be_repeated(digits):
    X, X_test, y, y_test = digits
    found = [
        compare(X, y, ["onlinesrda", "immc"], [2], test=(X_test, y_test), seed=seed)
        for seed in (1, 1, 2)
    ]
    scores = [[line.micro_f1 for line in lines] for lines in found]
    assert scores[0] == scores[1] != scores[2]


def test_what_is_asked_for_twice_is_done_once():
    X, y = labelled(n=100, d=6)
    lines = compare(X, y, ["oc", "oc"], [1, 1], ["svm", "svm"])
    assert [line.method for line in lines] == ["all columns", "oc"]
    assert sum(lines[1].wrong.values()) <= 5 * 20


@pytest.mark.slow
def test_one_state_serves_all_methods_that_add_up(monkeypatch):
    X, y = labelled(n=100, d=6, sparse=True)
    made, add = [], Moments.add

    def counted(self, rows, *args):
        made.append(rows.shape[0])
        return add(self, rows, *args)

    monkeypatch.setattr(Moments, "add", counted)
    names = ["oc", "ocm", "ocfs", "mmcfs", "fisherfs", "ig", "chi2", "chi", "df"]
    compare(X, y, names, [1, 2, 4], repeats=1)
    assert made.count(80) == 3  # values, their squares, and presence, of all training samples


@pytest.mark.slow
@threadpool_limits.wrap(limits=1)
def test_methods_with_shared_states_are_those_that_fit_alone(digits):
    X, X_test, y, y_test = digits
    names = ["srda", "lda", "mmc", "pca", "oc", "fisherfs"]
    _, *lines = compare(X, y, names, [5], ["svm"], test=(X_test, y_test))
    assert [line.method for line in lines] == names
    for line in lines:
        alone = METHODS[{name.lower(): name for name in METHODS}[line.method]](5).fit(X, y)
        Z, Z_test = alone.transform(X), alone.transform(X_test)
        right = LinearSVC(random_state=0).fit(Z, y).score(Z_test, y_test)
        assert line.micro_f1 == pytest.approx(right, abs=0.006)  # two samples
        assert line.learn > 0


@pytest.mark.slow
def test_selections_by_forward_steps_are_the_first_of_one_path(digits):
    X, X_test, y, y_test = digits
    groups = np.arange(64) // 2
    methods = ["forwardfs", ForwardFS(start=[9]), ForwardFS(groups=groups)]
    _, *lines = compare(X, y, methods, [2, 7, 30], ["svm"], test=(X_test, y_test))
    assert len(lines) == 9
    for line, method in zip(lines, np.repeat([ForwardFS(), *methods[1:]], 3), strict=True):
        alone = clone(method).set_params(n_features=line.asked).fit(X, y)
        Z, Z_test = alone.transform(X), alone.transform(X_test)
        assert line.dimensions == Z.shape[1]
        assert line.micro_f1 == LinearSVC(random_state=0).fit(Z, y).score(Z_test, y_test)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_forward_selection_is_a_default_where_its_sums_are_small(monkeypatch):
    X, y = labelled(n=100, d=6)
    X[:, 4:] = 1
    made, add = [], Moments.add

    def counted(self, rows, *args):
        made.append((rows.shape[0], self.second))
        return add(self, rows, *args)

    monkeypatch.setattr(Moments, "add", counted)
    lines = compare(X, y, dims=[2, 5], repeats=1, classifiers=["svm"])
    names = ["ocfs", "forwardfs", "oc", "srda", "onlinesrda"]
    assert list(dict.fromkeys(line.method for line in lines)) == ["all columns", *names]
    assert [line.dimensions for line in lines if line.method == "forwardfs"] == [2, 4]  # that vary
    of_all = [second for n, second in made if n == 80]  # training samples
    assert sorted(of_all, key=str) == [None, "cross"]  # that of srda serves forwardfs
    X = wide(X)
    lines = compare(X, y, dims=[2], repeats=1)
    names.remove("forwardfs")
    assert list(dict.fromkeys(line.method for line in lines)) == ["all columns", *names]
    lines = compare(X, y, ["forwardfs"], [2], ["svm"], repeats=1)
    assert [line.method for line in lines] == ["all columns", "forwardfs"]


def wide(X):
    """The same samples with features that are 0, more than cross products are summed for."""
    X = sparse.csr_array(X)
    X.resize(X.shape[0], 8193)
    return X


@pytest.mark.slow
def test_pca_is_that_of_narrows_and_sklearn_pca_its_rival(digits):
    X, X_test, y, y_test = digits
    lines = compare(X, y, ["pca", "sklearn-pca"], [5], ["svm"], test=(X_test, y_test))
    assert [line.method for line in lines] == ["all columns", "pca", "sklearn-pca"]
    assert lines[1].micro_f1 == pytest.approx(lines[2].micro_f1, abs=0.02)
    assert (
        compare(X, y, ["PCA"], [5], ["svm"], test=(X_test, y_test))[1].micro_f1 == lines[1].micro_f1
    )


RIVALS = (
    "truncatedsvd", "sklearn-pca", "sparserandomprojection", "chi2", "f_classif",
    "lineardiscriminantanalysis",
)  # fmt: skip


def test_a_rival_is_for_comparisons_alone(run):
    for name in RIVALS:
        status, _, err = run(f"fit a.svm --method {name} -o m.narrows")
        assert (status, f"'{name}' is not one of" in err) == (2, True)


@pytest.mark.nightly
def test_every_method_can_be_compared():
    X, y = labelled(n=150, d=8, c=4, sparse=True)
    names = [name.lower() for name in METHODS]
    lines = compare(sparse.csr_array(X), y, [*names, *RIVALS], [2, 6], ["svm"])
    skipped = {line.method: line.skipped for line in lines if line.skipped}
    assert set(skipped) == {"lineardiscriminantanalysis", "chi2", "leace"}
    assert "egative" in skipped["chi2"]  # of scikit-learn's own words
    for name in RIVALS:  # is called by the name of its class
        said = Comparison([scored("all columns", 50, 0.9), scored(name, 2, 0.95)]).recommendation_
        assert not str(said).startswith(f"Use {name} ")
    for line in lines:
        if not line.skipped:
            assert 1 <= line.dimensions <= (line.asked or 8)
            assert 0 < line.micro_f1 <= 1
    assert len(lines) == len({(line.method, line.dimensions) for line in lines})  # each once
    assert "skipped: " in str(lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"methods": ["pcaa"]}, "got 'pcaa'"),
        (
            {"classifiers": ["tree"]},
            "expected a classifier, got 'tree'. Choose from knn, knn1, logistic, smo, svm",
        ),
        ({"classifiers": ["svn"]}, "got 'svn'. Did you mean svm?"),
        ({"dims": [0]}, "expected `dims` to be a list of integers >= 1"),
        ({"dims": []}, "expected `dims` to be a list of integers >= 1"),
        ({"dims": (p for p in [1])}, "expected `dims` to be a list of integers >= 1"),
        ({"dims": 5}, "expected `dims` to be a list of integers >= 1, got 5"),
        ({"methods": "oc"}, "expected a list of methods, got 'oc'"),
        ({"cv": 3, "test": labelled()}, "expected test or cv, got both"),
        ({"cv": 3, "repeats": 2}, "expected cv or repeats, got both"),
        ({"cv": 1}, "expected `cv` to be an integer >= 2, got 1"),
        ({"cv": 1_000}, r"expected `cv` <= \d+, the samples of the largest class, got 1000"),
        ({"test": labelled()[0]}, r"expected test=\(X, y\), got ndarray"),
        ({"test": (labelled()[0][:, 1:], labelled()[1])}, r"a test set with \d+ features, got \d+"),
        ({"test": (labelled()[0][:0], labelled()[1][:0])}, "a test set with samples, got none"),
        ({"repeats": 0}, "`repeats` to be an integer >= 1 .*got 0"),
        (
            {"metric": "macro-f1"},
            "expected a metric of classes, got 'macro-f1'. Did you mean macro_f1",
        ),
    ],
)
def test_what_is_asked_for_has_to_be_there(arguments, message):
    with pytest.raises(ParameterError, match=message):
        compare(*labelled(), **arguments)


def test_arrow_tables_are_compared_as_data_frames_and_mappings_are_refused():
    X, y = load_iris(return_X_y=True, as_frame=True)
    asked = {"methods": ["oc"], "dims": [2], "preprocess": TableEncoder(splines=0), "cv": 3}
    scores = [[line.micro_f1 for line in compare(x, y, **asked)] for x in (X, pa.table(X))]
    assert scores[0] == scores[1]
    with pytest.raises(ParameterError, match="expected samples in an array or a table, got a map"):
        compare({name: X[name] for name in X}, y, **asked)


@pytest.mark.parametrize("compared", [compare, retrieval])
def test_columns_of_another_order_are_no_test_set(compared):
    X, y = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(ParameterError, match=r"columns of X in their order \('sepal length"):
        compared(X, y, dims=[2], test=(X[X.columns[::-1]], y))


@pytest.mark.slow
def test_a_fifth_is_held_out_if_it_can_have_all_classes():
    X, y = labelled(n=11, c=3)
    y = np.arange(11) % 3
    assert len(compare(X, y, ["oc"], [1], ["svm"])) == 2
    with pytest.raises(ParameterError, match=r"expected at least 11 samples .* 3 classes, got 10"):
        compare(X[:10], y[:10], ["oc"], [1])


# -- the command line ----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_prints_what_python_finds(run):
    X, y = labelled(n=120, d=6, sparse=True)
    codes = np.unique(y, return_inverse=True)[1]
    dump_svmlight_file(X[:90], codes[:90], "a.svm")
    dump_svmlight_file(X[90:], codes[90:], "b.svm")
    flags = "--methods oc,ocfs --dims 1,4 --classifier svm,knn,knn1"
    status, out, _ = run(f"compare a.svm --test b.svm {flags} --json")
    assert status == 0
    printed = json.loads(out)
    found = printed["lines"]
    test = sparse.csr_array(X[90:]), codes[90:]
    expected = compare(
        sparse.csr_array(X[:90]),
        codes[:90],
        ["oc", "ocfs"],
        [1, 4],
        ["svm", "knn", "knn1"],
        test=test,
    )
    assert [line["micro_f1"] for line in found] == [line.micro_f1 for line in expected]
    assert printed["sentence"] == expected.sentence_
    assert printed["metric_because"] == expected.why
    apart = [tuple(line["to_best"].values()) for line in found]
    assert apart == expected.differences()
    status, out, _ = run(f"compare a.svm {flags}")
    assert status == 0
    _, metric, blank, header, *rows = out.splitlines()
    assert (metric[:17], blank) == ("Metric: accuracy,", "")
    assert header.split()[:5] == ["method", "dimensions", "svm", "knn", "knn1"]
    assert len(rows) == 1 + 2 * 2 + 4  # a row a reduction, the largest class, and notes
    assert run(f"compare a.svm {flags} --cv 3")[0] == 0
    for width, named in ((6, True), (8193, False)):
        command = f"compare a.svm --width {width} --repeats 1 --dims 2 --json"
        found = json.loads(run(command)[1])["lines"]
        assert ("forwardfs" in {line["method"] for line in found}) == named


def test_both_files_count_columns_from_the_same(run):
    with open("a.svm", "w") as a, open("b.svm", "w") as b:
        a.writelines("0 1:1 3:1\n1 2:1\n" for _ in range(10))
        b.write("0 0:0.5 1:1 3:1\n1 2:2\n")
    status, out, _ = run("compare a.svm --test b.svm --methods oc --dims 1 --classifier svm --json")
    assert status == 0
    assert [line["micro_f1"] for line in json.loads(out)["lines"]] == [1.0, 1.0]


def texts(n, split):
    words = {"sea": "salt water ship wave", "land": "tree hill sand stone"}
    rng = np.random.default_rng(0 if split else 1)
    for i in range(n):
        label = ("sea", "land")[i % 2]
        text = " ".join(rng.choice(words[label].split(), 3)) + " and"
        yield (
            json.dumps({"label": label, "text": text} | ({"split": split} if split else {})) + "\n"
        )


@pytest.mark.slow
def test_texts_are_split_by_their_own_key(run, tmp_path):
    (tmp_path / "a.jsonl").write_text("".join([*texts(20, "train"), *texts(6, "test")]))
    status, out, _ = run("compare a.jsonl --methods oc --dims 1 --json")
    assert status == 0
    assert json.loads(out)["lines"][1]["micro_f1"] == 1.0
    (tmp_path / "b.jsonl").write_text("".join(texts(20, None)))
    assert run("compare b.jsonl --methods oc,onlinesrda --dims 1,2")[0] == 0
    assert run("compare b.jsonl --methods lda --dims 1")[0] == 0


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("compare none.svm", 2, "no such file: none.svm"),
        ("compare a.jsonl --methods pcaa", 2, "got 'pcaa'"),
        ("compare a.jsonl --dims few", 2, "--dims: expected integers separated by commas, got"),
        ("compare n.csv --min-df 2 --dims 1", 2, "--min-df: expected texts (.jsonl), got numbers"),
        (
            "compare a.jsonl --classifier tree",
            2,
            "got 'tree'. Choose from knn, knn1, logistic, smo, svm",
        ),
        (
            "compare a.jsonl --test a.jsonl --cv 3",
            2,
            "--test, --cv: expected one of them, got both",
        ),
        ("compare a.jsonl --cv 3 --repeats 2", 2, "--cv, --repeats: expected one of them"),
        ("compare c.jsonl", 1, "at least 2 samples of class 'land'"),
        ("compare one.csv", 1, "one.csv: expected samples of at least 2 classes to compare, got"),
        ("compare few.csv", 1, "few.csv: expected at least 11 samples to hold out a fifth with"),
    ],
)
def test_wrong_usage_is_told(run, tmp_path, command, status, message):
    (tmp_path / "a.jsonl").write_text("".join(texts(20, None)))
    (tmp_path / "c.jsonl").write_text("".join(texts(3, None)))
    (tmp_path / "n.csv").write_text("a,b,class\n" + "1,0,x\n0,1,y\n" * 10)
    (tmp_path / "one.csv").write_text("a,b,class\n" + "1,0,x\n0,1,x\n" * 10)
    (tmp_path / "few.csv").write_text("a,b,class\n" + "1,0,x\n0,1,y\n0,2,z\n" * 3)
    found, out, err = run(command)
    assert (found, out) == (status, "")
    assert err.startswith("narrows: ")
    assert message in err


def test_what_was_done_is_printed_when_it_is_stopped(run, tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text("".join(texts(20, None)))

    def stopped(self, stats):
        raise KeyboardInterrupt

    monkeypatch.setattr(OCFS, "fit_moments", stopped)
    status, out, err = run("compare a.jsonl --methods oc,ocfs --dims 1")
    assert status == 130
    first = [line.split()[0] for line in out.splitlines()[3:-3]]
    assert first == ["method", "all", "oc", "always"]
    assert "interrupted; the lines above are complete" in err
    status, out, _ = run("compare a.jsonl --methods oc,ocfs --dims 1 --json")
    assert json.loads(out)["stopped"]


@pytest.mark.slow
def test_a_fitted_estimator_is_left_as_it_is():
    X, y = labelled()
    online = OnlineSRDA(random_state=0).fit(X, y)
    before = online.components_.copy()
    compare(X, y, [online], [1, 2])
    np.testing.assert_array_equal(online.components_, before)
    assert online.n_components is None


@pytest.mark.slow
@pytest.mark.parametrize("classifier", ["svm", "smo"])
def test_a_rare_class_is_predicted_where_balanced_accuracy_compares(classifier):
    rng = np.random.default_rng(0)
    y = np.arange(600) % 20 == 0
    X = rng.normal(size=(600, 5)) + 1.2 * y[:, None] * [1, 0, 0, 0, 0]
    lines = compare(X, y.astype(int), ["srda"], [1], [classifier], repeats=2)
    assert lines.why.endswith('SVMs have class_weight="balanced".')
    of_all, reduced, *_ = lines
    assert min(of_all.balanced_accuracy, reduced.balanced_accuracy) > 0.6  # 0.5 without weights
    assert lines.recommendation_ is not None
    lines = compare(X, y.astype(int), ["srda"], [1], [classifier], repeats=2, metric="accuracy")
    assert lines[0].balanced_accuracy < 0.55


def test_ilda_is_fitted_for_each_number_of_dimensions():
    X, y = load_digits(return_X_y=True)
    given = {"repeats": 1, "classifiers": ["knn"], "methods": ["ilda"]}
    alone, beside = (compare(X[:600], y[:600], dims=d, **given) for d in ([3], [3, 7]))
    scores = [[line.micro_f1 for line in found if line.asked == 3] for found in (alone, beside)]
    assert scores[0] == scores[1]


def test_more_dimensions_than_there_are_directions_are_the_largest_number_that_can_be_fitted():
    X, y = labelled(n=40, d=60, c=4)
    lines = compare(X, y, ["lda"], [2, 10, 50], ["knn"], repeats=1)
    assert [(line.dimensions, line.skipped) for line in lines[1:]] == [(2, ""), (10, "")]
    X = np.hstack([X[:, :3], X[:, :3] @ np.ones((3, 5))])  # of rank 3
    lines = compare(X, y, ["pca"], [2, 7], ["knn"], repeats=1)
    assert [line.dimensions for line in lines[1:]] == [2, 3]


def test_progress_is_reported_as_often_as_is_announced():
    X, y = labelled(n=60, d=6)
    methods, said = ["oc", OCFS(n_features=3), make_pipeline(StandardScaler(), OC())], []
    compare(X, y, methods, [1, 2], ["knn", "svm"], repeats=2, progress=said.append)
    assert len(said) == 2 * steps_of(check_methods(methods, 0), 2, 2)
    assert said[:4] == ["all columns, knn", "all columns, svm", "oc, 1, knn", "oc, 1, svm"]


def test_components_of_streams_are_not_limited_by_the_classes():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, X**2])
    found = compare(X, y, ["ccipca", "immc", "ioc"], dims=[6], repeats=1, classifiers=["knn"])
    assert [line.dimensions for line in found if line.asked == 6] == [6, 6, 3]


def test_reports_have_parameters_of_any_type(tmp_path):
    X, y = load_iris(return_X_y=True)
    methods = ["oc", SRDA(alpha=np.float32(1)), OnlineSRDA(random_state=np.random.RandomState(0))]
    found = compare(X, y, methods, dims=np.array([1, 2]), seed=np.int64(3), repeats=1)
    json.dumps(found.as_dicts())
    found.report(tmp_path / "x.html")
    assert "</html>" in (tmp_path / "x.html").read_text()


def test_tables_of_numbers_before_pipelines_have_a_line_of_all_columns():
    X, y = load_iris(return_X_y=True)
    method = make_pipeline(StandardScaler(), OCFS())
    found = compare(pd.DataFrame(X), y, [method], repeats=1, classifiers=["knn"])
    expected = compare(X, y, ["oc"], dims=[1], repeats=1, classifiers=["knn"])
    assert found[0].micro_f1 == expected[0].micro_f1
    assert {line.asked for line in found} == {None, 2}
    with pytest.raises(ValueError, match="got NaN or fractions"):
        compare(X, np.where(np.arange(150) == 3, np.nan, y), ["oc"], dims=[1])


# -- several classifiers ------------------------------------------------------------------------


def test_three_classifiers_stand_behind_each_reduction_and_the_svm_ranks(run):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400] / 16, y[:400]
    train, test = next(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    lines = compare(X[train], y[train], ["oc", "srda"], [3, 9], test=(X[test], y[test]))
    by_hand = {
        "svm": LinearSVC(random_state=0), "logistic": LogisticRegression(),
        "knn": KNeighborsClassifier(), "knn1": KNeighborsClassifier(1),
    }  # fmt: skip
    assert [line.classifier for line in lines] == ["svm", "logistic", "knn"] * 5
    oc = OC(3).fit(X[train], y[train])
    for line in lines[3:6]:
        machine = by_hand[line.classifier].fit(oc.transform(X[train]), y[train])
        assert line.micro_f1 == machine.score(oc.transform(X[test]), y[test])
    assert lines.ranked_by == lines.recommendation_.line.classifier == "svm"
    of_svm = compare(X[train], y[train], ["oc", "srda"], [3, 9], ["svm"], test=(X[test], y[test]))
    assert of_svm.sentence_ == lines.sentence_
    [_, line] = compare(X[train], y[train], [oc], [3], ["knn1"], test=(X[test], y[test]))
    machine = by_hand["knn1"].fit(oc.transform(X[train]), y[train])
    assert line.micro_f1 == machine.score(oc.transform(X[test]), y[test])
    header, *rows = str(lines).split("\n\n")[-1].splitlines()
    assert header.split()[:5] == ["method", "dimensions", "svm", "logistic", "knn"]
    assert max(map(len, [header, *rows[:6]])) <= 100
    for row, of in zip(rows, np.split(np.arange(15), 5), strict=False):
        shown = [cell for cell in row.split() if cell != "*"][-8:-5]
        assert shown == [f"{lines[k].micro_f1:.3f}" for k in of]


@pytest.mark.parametrize("X", [np.ones((8, 2)), sparse.csr_array(np.ones((8, 2)))])
def test_fewer_samples_than_neighbours_are_all_neighbours(X):
    y = np.arange(8) % 2
    X = X * (1.0 + y)[:, None]
    lines = compare(X[:4], y[:4], ["ocfs"], [1], ["knn", "knn1"], test=(X[4:], y[4:]))
    assert [line.micro_f1 for line in lines] == [0.5, 1.0] * 2


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_logistic_regression_that_does_not_converge_is_named():
    X, y = load_wine(return_X_y=True)
    lines = compare(X, y, ["srda"], [2], ["logistic"], test=(X, y))
    assert [line.converged for line in lines] == [False, True]
    assert str(lines).count("1 result without convergence") == 1
    with pytest.warns(ConvergenceWarning):
        LogisticRegression().fit(X, y)


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
    X = np.random.default_rng(0).normal(size=(600, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")
    chosen = compare(X, y, ["srda", "ocfs"], [1], repeats=2).recommendation_
    assert (chosen.verdict, chosen.other.method, chosen.other.classifier) == (
        "nothing", "all columns", "knn"
    )  # fmt: skip
    assert "all 4 features with knn" in str(chosen)
    assert chosen.as_dict()["other"]["classifier"] == "knn"


# -- several files ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_several_files_and_patterns_are_compared_as_one_that_holds_all(run, tmp_path, kind):
    frame = load_iris(as_frame=True).frame.sample(frac=1, random_state=0)
    frame["target"] = np.array(["a, b", "c", "d"])[frame["target"]]
    parts = {"all": frame, **{f"part {k}": frame[k::3] for k in range(3)}}
    parts["part 1"] = parts["part 1"][frame.columns[::-1]]  # in another order
    parts["all"] = pd.concat([parts[f"part {k}"] for k in range(3)])
    for name, part in parts.items():
        getattr(part, f"to_{kind}")(f"{name}.{kind}", index=False)

    def compared(*words):
        given = ["--label", "target", "--methods", "oc,ocfs", "--dims", "1,2"]
        assert main(["compare", *words, *given, "--json"]) == 0
        found = json.loads(run("info none")[1].splitlines()[0])
        return [line["micro_f1"] for line in found["lines"]], shlex.split(found["fit"])

    files = [f"part {k}.{kind}" for k in range(3)]
    whole, _ = compared(f"all.{kind}", "--repeats", "2")
    for inputs in (files, [f"part *.{kind}"], [files[0], f"part [12].{kind}"]):
        scores, command = compared(*inputs, "--repeats", "2")
        assert scores == whole
        assert command[2 : 2 + len(inputs)] == inputs
        assert main(command[1:]) == 0
        assert "150 rows" in run("info none")[1]
    tests = [word for file in files[1:] for word in ("--test", file)]
    assert compared(files[0], *tests)[0] == compared(files[0], "--test", f"part [12].{kind}")[0]
    frame.drop(columns=frame.columns[0]).to_csv("bad.csv", index=False)
    if kind == "csv":
        status, _, err = run("compare all.csv bad.csv --label target")
        assert (status, "bad.csv:1: expected the 4 columns" in err) == (1, True)


def test_splits_of_several_files_are_joined(run, tmp_path):
    rows = {split: list(texts(20, split)) for split in ("train", "test")}
    files = {f"{split}{k}__jsonl": "".join(some[k::2]) for split, some in rows.items()
             for k in (0, 1)}  # fmt: skip
    files["both__jsonl"] = "".join([*rows["train"], *rows["test"]])
    flags = "--methods oc --dims 1 --json"
    every = "train0.jsonl train1.jsonl test0.jsonl test1.jsonl"
    found = [json.loads(run(f"compare {names} {flags}", **files)[1])
             for names in ("both.jsonl", every)]  # fmt: skip
    assert [each["splits"] for each in found] == [1, 1]
    scores = [[line["micro_f1"] for line in each["lines"]] for each in found]
    assert scores[0] == scores[1]


def test_a_wrong_cell_of_several_files_has_its_file_and_line(run):
    head, rows = "a,b,kind\n", [f"{k}.5,{'xyz'[k % 3]},{'uv'[k % 2]}\n" for k in range(60)]
    files = {"one__csv": head + "".join(rows[:30]), "two__csv": head + "".join(rows[30:])}
    files["bad__csv"] = files["two__csv"].replace("40.5,", "oops,")
    status, _, err = run(
        "compare one.csv two.csv --test bad.csv --label kind --methods srda", **files
    )
    assert (status, "bad.csv:12:" in err, "'oops'" in err) == (1, True, True)


def rare(classes):
    weights = [0.94, 0.06] if classes == 2 else [0.9, 0.07, 0.03]
    return make_classification(
        1500, 10, n_informative=6, n_classes=classes, weights=weights, random_state=0
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_log_loss_is_shown_where_classes_are_rare(classes):
    X, y = rare(classes)
    given = X[1000:], y[1000:]
    lines = compare(X[:1000], y[:1000], ["srda"], [1], ["logistic"], test=given)
    assert lines.metric == "balanced_accuracy"
    header = next(line for line in str(lines).splitlines() if line.startswith("method"))
    assert header.index("accuracy") < header.index("log-loss")
    # of the classes as frequent as they are, though the classifier weights them
    weighted = LogisticRegression(class_weight="balanced", max_iter=1000).fit(X[:1000], y[:1000])
    equal = weighted.predict_proba(X[1000:])
    P = equal * np.bincount(y[:1000])
    P /= P.sum(axis=1, keepdims=True)
    assert lines[0].log_loss == pytest.approx(log_loss(y[1000:], P))
    plain = LogisticRegression(max_iter=1000).fit(X[:1000], y[:1000]).predict_proba(X[1000:])
    least, most = (log_loss(y[1000:], each) for each in (plain, equal))
    assert lines[0].log_loss - least < 0.1 * (most - least)
    of_both = compare(X[:1000], y[:1000], ["srda"], [1], ["knn", "logistic"], test=given)
    assert "knn log-loss" in str(of_both)
    of_equal = compare(X[:1000], np.arange(1000) % 3, ["srda"], [1], ["logistic"], repeats=1)
    assert "log-loss" not in str(of_equal)


def test_the_report_shows_how_reliable_probabilities_are(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    X, y = rare(3)
    lines = compare(X, y, ["srda"], [2], ["logistic"], repeats=1)
    lines.report(tmp_path / "r.html")
    found = json.loads((tmp_path / "r.json").read_text("utf-8"))["reliability"]
    (outcome,) = lines.recommendation_.line.outcomes
    P = outcome.probabilities
    order = np.argsort(P.max(axis=1), kind="stable")
    right = (P.argmax(axis=1) == outcome.true)[order]
    tenths = np.array_split(right, 10)
    np.testing.assert_allclose(found["share"], [each.mean() for each in tenths])
    assert "Reliability of SRDA" in (tmp_path / "r.html").read_text("utf-8")
