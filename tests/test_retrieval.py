"""Retrieval: against neighbours by brute force, with classes left out, and at the command line."""

from __future__ import annotations

import html
import json
import math
import re

import numpy as np
import pytest
from benchmarks.studies import retrieval as study
from scipy import sparse
from sklearn import decomposition
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from narrows import LDA, PCA, Moments
from narrows.errors import ParameterError
from narrows.evaluate import RetrievalDisplay, retrieval
from tests.inside import check, n_steps, nearest

SCORES = "recall@1", "recall@10", "precision@10", "overlap@10"


class Recorder(TransformerMixin, BaseEstimator):
    """Leaves samples as they are, and keeps those of each fit."""

    fits: list = []  # noqa: RUF012 - of all clones

    def fit(self, X, y):
        self.fits.append((X, y))
        return self

    def transform(self, X):
        return X


def samples(seed, c=8, n=10, d=12):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(c), n)
    return rng.normal(size=(c * n, d)) + 0.7 * rng.normal(size=(c, d))[y], y


def ten_nearest(Z, q):
    cosines = [z @ q / math.sqrt(z @ z) / math.sqrt(q @ q) for z in Z]
    return sorted(range(len(Z)), key=lambda i: -cosines[i])[:10]


def by_hand(Z, y, Q, asked, full):
    """The four scores of each query: one at a time, with all cosines and a sort."""
    found = []
    for q, label, whole in zip(Q, asked, full[1], strict=True):
        nearest = ten_nearest(Z, q)
        same = [y[i] == label for i in nearest]
        kept = len({*nearest} & {*ten_nearest(full[0], whole)}) / len(nearest)
        found.append((same[0], any(same), sum(same) / len(same), kept))
    return np.array(found, dtype=float)


def test_neighbours_are_those_of_brute_force():
    (X, y), (Q, asked) = samples(0), samples(1)
    lines = retrieval(X, y, [LDA(mu=3.0), "pca"], [2, 9], test=(Q, asked), left_out=0)
    reductions = {
        ("all columns", 12): lambda samples: samples,
        ("LDA(mu=3.0)", 2): LDA(2, mu=3.0).fit(X, y).transform,
        ("LDA(mu=3.0)", 9): LDA(9, mu=3.0).fit(X, y).transform,
        ("pca", 2): PCA(2).fit(X).transform,
        ("pca", 9): PCA(9).fit(X).transform,
    }
    assert [(line.method, line.dimensions) for line in lines] == list(reductions)
    assert lines.classes == ("seen",)
    for line in lines:
        reduce = reductions[line.method, line.dimensions]
        expected = by_hand(reduce(X), y, reduce(Q), asked, (X, Q))
        [found] = line.found["seen"]
        np.testing.assert_allclose(found, expected, atol=1e-6)
        for score, column in zip(SCORES, expected.T, strict=True):
            own = lines.score(line, "seen", score)
            assert own.mean == pytest.approx(column.mean(), abs=1e-6)
            assert own.standard_error == pytest.approx(column.std() / len(column) ** 0.5, abs=1e-6)


@pytest.mark.parametrize("share", [0.5, 0.25])
def test_left_out_classes_are_neither_fitted_nor_mixed_with_the_others(share):
    (X, y), (Q, asked) = samples(2), samples(3)
    Recorder.fits.clear()
    lines = retrieval(X, y, [Recorder()], test=(Q, asked), left_out=share, repeats=3)
    every, kept = lines
    assert len(Recorder.fits) == 3
    drawn = set()
    for draw, (fitted, codes) in enumerate(Recorder.fits):
        seen = np.unique(codes)
        drawn.add(tuple(seen))
        assert len(seen) == 8 - round(8 * share)
        np.testing.assert_array_equal(fitted, X[np.isin(y, seen)])
        for name, classes in (("seen", seen), ("left-out", np.setdiff1d(y, seen))):
            a, b = np.isin(y, classes), np.isin(asked, classes)
            expected = by_hand(X[a], y[a], Q[b], asked[b], (X[a], Q[b]))
            np.testing.assert_allclose(every.found[name][draw], expected, atol=1e-6)
            np.testing.assert_array_equal(kept.found[name][draw], every.found[name][draw])
    assert len(drawn) > 1


def test_a_fifth_of_each_class_are_queries_and_single_samples_are_not():
    counts = [1, 2, 5, 6, 11, 1]
    y = np.repeat(list("abcdef"), counts)
    X = np.random.default_rng(0).normal(size=(len(y), 4))
    Recorder.fits.clear()
    [every, _] = retrieval(X, y, [Recorder()], left_out=0, repeats=2)
    for _, codes in Recorder.fits:
        assert np.bincount(codes).tolist() == [1, 1, 4, 4, 8, 1]
    assert [len(draw) for draw in every.found["seen"]] == [7, 7]
    (first, _), (second, _) = Recorder.fits
    assert not np.array_equal(first, second)


def test_there_have_to_be_queries():
    X, y = np.random.default_rng(0).normal(size=(6, 4)), np.arange(6)
    with pytest.raises(ParameterError, match="expected queries of seen classes, got none"):
        retrieval(X, y)
    with pytest.raises(ParameterError, match=r"queries of classes of the index \(0, 1.*got 7"):
        retrieval(X, y, test=(X, np.full(6, 7)))
    with pytest.raises(ParameterError, match="expected queries with 4 features, got 3"):
        retrieval(X, y, test=(X[:, :3], y))
    known = retrieval(X, y, ["pca"], [2], test=(X, np.append(y[:5], 7)), left_out=0)
    assert len(known[0].found["seen"][0]) == 5


def test_errors_are_those_of_draws_that_share_classes():
    X, y = samples(4)
    lines = retrieval(X, y, ["lda"], [5], left_out=0.25, repeats=6)
    every, line = lines
    for name, ratio in (("seen", 3.0), ("left-out", 1 / 3)):
        apart = [a - b for a, b in zip(line.found[name], every.found[name], strict=True)]
        for column, score in enumerate(SCORES):
            values = [part[:, column].mean(dtype=float) for part in apart]
            within = np.mean([part[:, column].var() / len(part) for part in apart])
            found = lines.score(line, name, score, every)
            assert found.mean == pytest.approx(np.mean(values))
            variance = max(np.var(values, ddof=1), within) * (1 / 6 + ratio)
            assert found.standard_error == pytest.approx(variance**0.5, rel=1e-5)


@pytest.mark.slow
def test_prefixes_are_the_answers_for_fewer_dimensions():
    X, y = samples(5)
    both = retrieval(X, y, ["lda", "pca", "truncation"], [3, 7])
    alone = retrieval(X, y, [LDA(3), PCA(3)])
    for line, name in zip(alone[1:], ("lda", "pca"), strict=True):
        [same] = [each for each in both if (each.method, each.dimensions) == (name, 3)]
        for classes in both.classes:
            for a, b in zip(line.found[classes], same.found[classes], strict=True):
                np.testing.assert_array_equal(a, b)
    [cut] = [each for each in both if (each.method, each.dimensions) == ("truncation", 7)]
    [whole] = retrieval(X[:, :7], y, [])
    labels = (each.found["left-out"][0][:, :3] for each in (cut, whole))  # full vectors differ
    np.testing.assert_array_equal(*labels)


@pytest.mark.slow
def test_sizes_beyond_the_rank_are_left_out():
    X, y = samples(6, c=4, n=5, d=30)  # 8 samples of 2 classes are fitted: rank 7
    lines = retrieval(X, y, ["lda", "srda"], [1, 7, 8, 20], repeats=2)
    assert [(line.method, line.dimensions) for line in lines[1:]] == [
        ("lda", 1), ("lda", 7), ("srda", 1),
    ]  # fmt: skip
    lines = retrieval(X, y, ["srda", "lineardiscriminantanalysis"], [2], repeats=2)
    assert [line.dimensions for line in lines] == [30, 1, 1]  # none but their own
    assert lines.best().line.dimensions == 1
    lines = retrieval(sparse.csr_array(X), y, [LDA(solver="gsvd")], [2], repeats=2)
    assert "sparse" in lines[1].skipped
    assert lines.best() is None
    assert "was skipped." in str(lines)


def test_progress_has_a_step_for_each_size_and_as_many_as_are_announced():
    X, y = samples(6, c=6, n=6, d=12)
    for methods, dims in ((["lda", "onlinesrda"], [1, 2, 20]), (["truncation", LDA(2)], [2, 3])):
        said = []
        retrieval(X, y, methods, dims, repeats=2, progress=said.append)
        assert len(said) == n_steps(y, 12, check(methods), dims, repeats=2)


@pytest.mark.parametrize("n_indexed", [30, 300, 1003])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_neighbours_in_blocks_are_those_of_a_sort(make, n_indexed):
    rng = np.random.default_rng(0)
    U, Q = (normalize(rng.normal(size=(n, 150))).astype(np.float32) for n in (n_indexed, 70))
    expected = np.argsort(-(Q.astype(float) @ U.T.astype(float)), axis=1)[:, :10]
    found = nearest(make(U), make(Q), 10, block=1000)
    np.testing.assert_array_equal(found, expected)
    assert nearest(make(U[:3]), make(Q), 3).shape == (70, 3)


def test_the_report_of_retrieval_has_the_table_and_the_curves(run, vectors, tmp_path):
    pytest.importorskip("matplotlib")
    status, out, _ = run("compare x.npy --label y.npy --task retrieval --methods pca,srda --dims 4 "
                         "--repeats 2 --report r.html")  # fmt: skip
    assert (status, "report written to r.html" in out) == (0, True)
    found = json.loads((tmp_path / "r.json").read_text())
    lines = retrieval(*vectors, ["pca", "srda"], [4], repeats=2)
    assert found["lines"] == lines.as_dicts()
    page = (tmp_path / "r.html").read_text()
    assert page.count("<img") == len(SCORES)
    assert found["sentence"] in html.unescape(page)
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.slow
def test_sparse_samples_are_those_of_their_dense_array():
    X, y = samples(7)
    X[X < 0] = 0
    dense, thin = (
        retrieval(A, y, [LDA(mu=1.0), "pca"], [2, 8], test=(A, y)) for A in (X, sparse.csr_array(X))
    )
    for a, b in zip(dense, thin, strict=True):
        assert (a.method, a.dimensions) == (b.method, b.dimensions)
        for name in dense.classes:
            for one, other in zip(a.found[name], b.found[name], strict=True):
                np.testing.assert_allclose(one, other, atol=1e-6)
    wide, y = sparse.random(60, 9000, 0.01, "csr", random_state=0), np.arange(60) % 6
    lines = retrieval(wide, y, ["lda", LDA(solver="gsvd")], [5, 20], repeats=1)
    assert [line.dimensions for line in lines] == [9000, 5, 20, 0]
    assert "sparse" in lines[3].skipped


def test_vectors_of_zeros_are_found_by_each_other():
    X = np.array([[1.0, 0], [1, 0.1], [0, 0], [0, 0], [0, 1], [0.1, 1]])
    y = np.array([0, 0, 1, 1, 2, 2])
    [every] = retrieval(X, y, [], test=(X[[0, 2, 4]], [0, 1, 2]), left_out=0)
    assert every.found["seen"][0][:, 0].tolist() == [1, 1, 1]


def test_transformers_and_pipelines_are_cut_where_their_size_is_open():
    X, y = samples(8)
    methods = [
        make_pipeline(StandardScaler(), LDA()), make_pipeline(StandardScaler(), PCA(2)),
        decomposition.PCA(), "sklearn-pca", "truncatedsvd", "ocfs",
    ]  # fmt: skip
    found = {}
    for line in retrieval(X, y, methods, [3, 6], repeats=1)[1:]:
        found.setdefault(line.method, []).append(line.dimensions)
    assert list(found.values()) == [[3, 6], [2], [3, 6], [3, 6], [3, 6], [3, 6]]
    twice = retrieval(X, y, [LDA(), LDA()], [3], repeats=1)
    assert [line.method for line in twice[1:]] == ["LDA()", "LDA() (2)"]
    with pytest.raises(ParameterError, match=r"expected names of methods, or est.* got 3"):
        retrieval(X, y, [3])
    assert [line.dimensions for line in retrieval(X, y, [LDA], [3], repeats=1)[1:]] == [3]
    with pytest.raises(ParameterError, match=r"got 'pcas'\. Did you mean pca\?"):
        retrieval(X, y, ["pcas"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"dims": [0]}, "expected `dims` to be an integer >= 1, got 0"),
        ({"left_out": 1.0}, "expected `left_out` to be a number >= 0 and < 1, got 1.0"),
        ({"left_out": 0.9}, "expected at least 2 seen and 2 left-out classes, got 1 and 7"),
        ({"ridges": [1, -1]}, "expected `ridges` to be a number > 0, got -1"),
        ({"repeats": 0}, "expected `repeats` to be an integer >= 1, got 0"),
    ],
)
def test_parameters_are_checked(given, said):
    with pytest.raises(ParameterError, match=re.escape(said)):
        retrieval(*samples(0), **given)


def test_a_ridge_is_a_multiple_of_the_scatter_of_the_fitted_samples():
    X, y = samples(9)
    lines = retrieval(X, y, [], [4], ridges=[2.5], test=(X, y), left_out=0)
    chosen = lines.best()
    assert (chosen.line.method, chosen.line.dimensions) == ("LDA, ridge 2.5", 4)
    mu = 2.5 * ((X - X.mean(axis=0)) ** 2).sum() / 12
    assert chosen.estimator.mu == pytest.approx(mu)
    assert chosen.estimator.n_components == 4
    model = LDA(4, mu=mu).fit(X, y)
    expected = by_hand(model.transform(X), y, model.transform(X), y, (X, X))
    np.testing.assert_allclose(lines[1].found["seen"][0], expected, atol=1e-6)


@pytest.mark.slow
def test_the_choice_is_within_one_standard_error_and_never_all_columns():
    X, y = load_digits(return_X_y=True)
    lines = retrieval(X, y, ["pca", "truncation"], [4, 16, 32, 64])
    chosen = lines.best()
    by = "left-out", "recall@1"
    reductions = [line for line in lines if line.dimensions < 64]
    best = max(reductions, key=lambda line: line.mean(*by))
    near = [line for line in reductions if not lines.score(line, *by, best).is_worse(0.005)]
    assert chosen.best is best
    assert chosen.line in near
    assert chosen.line.dimensions == min(line.dimensions for line in near) < 64
    assert str(chosen) in str(lines)
    poor = retrieval(X, y, ["truncation"], [2, 4]).best("precision@10", "seen")
    assert poor.are_all_worse
    assert str(poor).startswith(
        "Every reduction is worse than all 64 features. If you reduce the vectors, use truncation "
        "with 4 dimensions: precision@10 of seen classes 0."
    )
    np.testing.assert_array_equal(poor.estimator.fit(X).transform(X), X[:, :4])
    with pytest.raises(
        ParameterError, match='expected `metric` to be "recall@1", "recall@10", "pre'
    ):
        lines.best("recall")
    with pytest.raises(ParameterError, match='expected `classes` to be "seen", got'):
        retrieval(X, y, ["pca"], [2], left_out=0, repeats=1).best(classes="left-out")


def test_sums_are_added_up_once_for_all_methods_of_a_draw(monkeypatch):
    X, y = samples(9)
    made, add = [], Moments.add

    def counted(self, rows, *args):
        made.append(rows.shape[0])
        return add(self, rows, *args)

    monkeypatch.setattr(Moments, "add", counted)
    retrieval(X, y, ["lda", "pca"], [2, 3], ridges=[0.5, 1], test=(X, y), left_out=0.25)
    assert made == [60] * 5  # of six of eight classes, in five draws


def test_columns_of_methods_that_are_nested_are_fitted_once(monkeypatch):
    X, y = samples(9)
    fits, fit = [], decomposition.PCA.fit

    def counted(self, *args):
        fits.append(self.n_components)
        return fit(self, *args)

    monkeypatch.setattr(decomposition.PCA, "fit", counted)
    lines = retrieval(X, y, ["sklearn-pca"], [2, 5], repeats=1)
    assert fits == [5]
    alone = retrieval(X, y, ["sklearn-pca"], [2], repeats=1)
    for classes in lines.classes:
        np.testing.assert_array_equal(lines[1].found[classes][0], alone[1].found[classes][0])


def test_curves_of_both_kinds_of_classes():
    pytest.importorskip("matplotlib")
    lines = retrieval(*samples(10), ["lda", "pca"], [2, 8])
    display = RetrievalDisplay(lines).plot(metric="recall@10")
    assert [ax.get_title() for ax in display.axes_] == ["seen classes", "left-out classes"]
    assert display.ax_ is display.axes_[1]
    assert display.ax_.figure is display.figure_
    names = [text.get_text() for text in display.axes_[-1].get_legend().get_texts()]
    assert sorted(names) == ["LDA", "PCA", "all 12 features"]
    found = {c.get_label(): c.lines[0].get_xydata() for c in display.axes_[1].containers}
    lda = [(line.dimensions, line.mean("left-out", "recall@10")) for line in lines[1:3]]
    np.testing.assert_allclose(found["LDA"], lda)
    with pytest.raises(ParameterError, match=r"expected `metric` to be .*, got 'recall'"):
        RetrievalDisplay(lines).plot(metric="recall")


# -- at the command line ---------------------------------------------------------------------------


@pytest.fixture
def vectors(tmp_path):
    X, y = samples(11)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    with (tmp_path / "q.csv").open("w") as file:
        file.write(",".join([*(f"x{j}" for j in range(12)), "label"]) + "\n")
        for row, label in zip(*samples(12), strict=True):
            file.write(",".join(map(str, [*row, label])) + "\n")
    (tmp_path / "t.jsonl").write_text('{"text": "a", "label": 1}\n{"text": "b", "label": 2}\n')
    return X, y


@pytest.mark.slow
def test_the_command_prints_the_table_of_python_and_a_command_that_runs(run, vectors):
    line = "compare x.npy --label y.npy --task retrieval --dims 2,8 --ridges 0.5"
    status, out, _ = run(line)
    lines = retrieval(*vectors, dims=[2, 8], ridges=[0.5])
    assert status == 0
    assert out.startswith(str(lines))
    fit = out.strip().splitlines()[-1]
    assert fit.startswith("narrows fit x.npy --label y.npy --method ")
    assert run(fit.removeprefix("narrows "))[0] == 0
    status, out, _ = run(f"{line} --json --left-out 0.25 --repeats 2 --seed 3")
    found = json.loads(out)
    lines = retrieval(*vectors, dims=[2, 8], ridges=[0.5], left_out=0.25, repeats=2, seed=3)
    assert found["lines"] == lines.as_dicts()
    assert found["left-out"] == lines.best().as_dict()
    assert found["seen"]["sentence"] == str(lines.best(classes="seen"))


def test_the_ridge_of_the_command_is_that_of_all_samples(run, vectors):
    X, _ = vectors
    _, out, _ = run("compare x.npy --label y.npy --task retrieval --methods truncation --dims 4 "
                    "--left-out 0 --ridges 2 --json")  # fmt: skip
    mu = 2 * len(X) * X.var(axis=0).mean()
    assert json.loads(out)["fit"].split()[6:10] == ["lda", "--n-components", "4", "--mu"]
    assert float(json.loads(out)["fit"].split()[10]) == pytest.approx(mu, rel=1e-5)
    _, out, _ = run("compare x.npy --label y.npy --task retrieval --methods truncation --dims 2")
    assert out.endswith("No command: narrows fit lacks truncation.\n")


def test_queries_of_another_file(run, vectors):
    _, out, _ = run("compare q.csv --test q.csv --task retrieval --left-out 0 --json --dims 2")
    scores = json.loads(out)["lines"][0]["seen"]
    assert scores["recall@1"]["mean"] == 1  # each query finds itself


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        ("--task retrieval --cv 3", 2, "--cv: expected --task classification, got --task retr"),
        ("--task retrieval --metric auto", 2, "--metric: expected --task classification, got"),
        ("--task retrieval --classifier svm", 2, "--classifier: expected --task classification"),
        ("--task retrieval --report a.pdf", 2, "expected a report that ends in .html"),
        ("--task retrieval --target y", 2, "--target: expected --task classification, got --task"),
        ("--task retrieval --methods pls", 2, "expected methods for classes (ocfs, "),
        ("--ridges 1", 2, "--ridges: expected --task retrieval, got --task classification. Leave"),
        ("--left-out 0.5", 2, "--left-out: expected --task retrieval, got --task classification"),
        ("--task retrieval --ridges a", 2, "--ridges: expected numbers separated by commas, got"),
        ("--task retrieval --left-out 1", 2, "1.0 is not in the range 0<=x<1"),
        ("--task retrieval --dims 0", 2, "expected --dims to be an integer >= 1, got 0"),
        ("--task retrieval --methods nope", 2, "expected the name of a method, or an estim"),
        ("--task retrieval --min-df 2", 2, "--min-df: expected texts"),
        ("--task retrieval --left-out 0.9", 2, "expected at least 2 seen and 2 left-out classes"),
    ],
)
def test_what_does_not_go_together_is_one_line(run, vectors, options, status, said):
    code, out, err = run(f"compare x.npy --label y.npy {options}")
    assert (code, out) == (status, "")
    assert len(err.strip().splitlines()) == 1
    assert said in err


def test_texts_have_no_neighbours(run, vectors):
    status, out, err = run("compare t.jsonl --task retrieval")
    assert (status, out) == (1, "")
    assert "t.jsonl: expected vectors for --task retrieval, got texts." in err


# -- in the benchmarks -----------------------------------------------------------------------------


@pytest.mark.nightly
def test_the_study_has_a_row_for_each_method_and_a_column_for_each_size(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    X, y = samples(13, d=40)
    monkeypatch.setattr(study, "_sets", lambda: iter([(study.EMBEDDINGS, X, y)]))
    study.found.cache_clear()
    table = study.RecallAt1().table()
    lines = study.found()[study.EMBEDDINGS]
    study.RecallAt1().draw(tmp_path)
    study.found.cache_clear()
    assert (tmp_path / "retrieval.png").stat().st_size
    rows = {row[1]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert [*rows][:6] == [
        "all columns", "lda", "pca", "all features, centred", "LDA, centred", "PCA, centred",
    ]  # fmt: skip
    for line in lines:
        if line.asked not in (None, line.dimensions):  # above the rank
            continue
        sizes = {3: "n_classes - 1", 40: "all"}
        place = f"left-out: {sizes.get(line.dimensions, line.dimensions)}"
        assert rows[line.method][place] == f"{line.mean('left-out', 'recall@1'):.3f}"
    assert rows["all columns"]["seen: 16"] == rows["lda"]["seen: 64"] == ""


@pytest.mark.parametrize("method", ["onlinesrda", "ilda", "oc"])
def test_a_number_of_dimensions_has_one_answer_beside_any_others(method):
    X, y = load_digits(return_X_y=True)
    given = {"test": (X[500:], y[500:]), "left_out": 0, "repeats": 1}
    alone, beside = (retrieval(X[:500], y[:500], [method], dims=d, **given) for d in ([3], [3, 10]))
    lines = [[line for line in found if line.asked == 3] for found in (alone, beside)]
    assert len(lines[0]) == len(lines[1]) == 1
    (kind,) = lines[0][0].found
    np.testing.assert_array_equal(*(of[0].found[kind] for of in lines))
    assert [line.asked for line in beside][:2] == [None, 3]
    many = retrieval(X[:500], y[:500], [method], dims=[3, 60], **given)
    assert [line.asked for line in many][:2] == [None, 3]
    assert not any(line.skipped for line in many)
