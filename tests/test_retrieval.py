"""Retrieval: against neighbours by brute force, with classes left out, and at the command line."""

from __future__ import annotations

import html
import json
import math

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler, normalize

from narrows import LDA, PCA
from narrows.errors import ParameterError
from narrows.evaluate import compare, retrieval
from tests.inside import nearest

SCORES = "recall@1", "recall@10", "precision@10", "overlap@10"


class Recorder(FunctionTransformer):
    """Leaves samples as they are, and keeps those of each fit."""

    fits: list = []  # noqa: RUF012 - of all clones

    def fit(self, X, y):
        self.fits.append((X, y))
        return self


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
    test = np.vstack([Q, Q[:3]]), np.append(asked, [99] * 3)  # of a class without samples
    lines = retrieval(X, y, [LDA(mu=3.0), "pca"], [2, 9], test=test, left_out=0)
    reductions = {("all columns", 12): lambda samples: samples}
    for p in (2, 9):
        reductions["LDA(mu=3.0)", p] = LDA(p, mu=3.0).fit(X, y).transform
        reductions["pca", p] = PCA(p).fit(X).transform
    assert {(line.method, line.dimensions) for line in lines} == set(reductions)
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
def test_sizes_beyond_the_rank_are_left_out():
    X, y = samples(6, c=4, n=5, d=30)  # 8 samples of 2 classes are fitted: rank 7
    lines = retrieval(X, y, ["lda", "srda", "lineardiscriminantanalysis"], [2, 7, 8], repeats=2)
    assert [line.dimensions for line in lines] == [30, 2, 7, 1, 1]
    lines = retrieval(sparse.csr_array(X), y, [LDA(solver="gsvd")], [2], repeats=2)
    assert "sparse" in lines[1].skipped
    assert lines.best() is None
    assert "was skipped." in str(lines)


@pytest.mark.parametrize("n_indexed", [30, 300, 1003])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_neighbours_in_blocks_are_those_of_a_sort(make, n_indexed):
    rng = np.random.default_rng(0)
    U, Q = (normalize(rng.normal(size=(n, 150))).astype(np.float32) for n in (n_indexed, 70))
    expected = np.argsort(-(Q.astype(float) @ U.T.astype(float)), axis=1)[:, :10]
    found = nearest(make(U), make(Q), 10, block=1000)
    np.testing.assert_array_equal(found, expected)
    assert nearest(make(U[:3]), make(Q), 3).shape == (70, 3)


def test_transformers_and_pipelines_are_cut_where_their_size_is_open():
    piped = [make_pipeline(StandardScaler(), step) for step in (LDA(), PCA(2))]
    methods = [*piped, decomposition.PCA(), "truncatedsvd", "ocfs", LDA, LDA()]
    lines = retrieval(*samples(8), methods, [3, 6], repeats=1)[1:]
    assert [line.dimensions for line in lines] == [3, 6, 2] + [3, 6] * 5
    assert {"LDA()", "LDA() (2)"} < {line.method for line in lines}


@pytest.mark.parametrize(
    ("given", "said"),
    [({"dims": [0]}, "`dims`"), ({"left_out": 1.0}, "`left_out`"), ({"left_out": 0.9}, "2 seen"),
     ({"ridges": [1, -1]}, "`ridges`"), ({"repeats": 0}, "`repeats`"), ({"methods": [3]}, "got 3"),
     ({"methods": ["pcas"]}, "Did you mean pca"), ({"test": (np.eye(3), [0, 1, 2])}, "12 features"),
     ({"test": (np.eye(12), np.full(12, 99))}, "classes of the index"),
     ({"y": np.arange(80)}, "queries of seen classes, got none")],
)  # fmt: skip
def test_parameters_are_checked(given, said):
    X, y = samples(0)
    with pytest.raises(ParameterError, match=f"expected .*{said}"):
        retrieval(**{"X": X, "y": y} | given)


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
    X, y = X[::2], y[::2]
    lines = retrieval(X, y, ["pca", "truncation"], [4, 16, 32, 64])
    chosen = lines.best()
    by = "left-out", "recall@1"
    reductions = [line for line in lines if line.dimensions < 64]
    best = max(reductions, key=lambda line: line.mean(*by))
    near = [line for line in reductions if not lines.score(line, *by, best).is_worse(0.005)]
    assert chosen.best is best
    assert chosen.line in near
    assert chosen.line.dimensions == min(line.dimensions for line in near) < 64
    poor = retrieval(X, y, ["truncation"], [2, 4]).best("precision@10", "seen")
    assert poor.are_all_worse
    assert str(poor).startswith("Every reduction is worse than all 64 features.")
    with pytest.raises(ParameterError, match="`metric`"):
        lines.best("recall")
    np.testing.assert_array_equal(poor.estimator.fit(X).transform(X), X[:, :4])


@pytest.fixture
def vectors(tmp_path):
    X, y = samples(11)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    return X, y


ASKED = "compare x.npy --label y.npy --task retrieval"


@pytest.mark.slow
def test_the_command_prints_the_table_of_python_and_a_command_that_runs(run, vectors):
    line = f"{ASKED} --dims 2,8 --ridges 0.5"
    out = run(line)[1]
    assert out.startswith(str(retrieval(*vectors, dims=[2, 8], ridges=[0.5])))
    fit = out.strip().splitlines()[-1]
    assert fit.startswith("narrows fit x.npy --label y.npy --method ")
    assert run(fit.removeprefix("narrows "))[0] == 0
    out = run(f"{ASKED} --methods truncation --dims 2")[1]
    assert out.endswith("No command: narrows fit lacks truncation.\n")
    found = json.loads(run(f"{line} --json --left-out 0.25 --repeats 2 --seed 3")[1])
    lines = retrieval(*vectors, dims=[2, 8], ridges=[0.5], left_out=0.25, repeats=2, seed=3)
    assert found["lines"] == lines.as_dicts()
    assert found["left-out"] == lines.best().as_dict()
    assert found["seen"]["sentence"] == str(lines.best(classes="seen"))


@pytest.mark.slow
def test_the_report_of_retrieval_has_the_table_and_the_curves(run, vectors, tmp_path):
    pytest.importorskip("matplotlib")
    assert run(f"{ASKED} --methods pca,srda --dims 4 --repeats 2 --report r.html")[0] == 0
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["lines"] == retrieval(*vectors, ["pca", "srda"], [4], repeats=2).as_dicts()
    page = (tmp_path / "r.html").read_text()
    assert page.count("<img") == len(SCORES)
    assert found["sentence"] in html.unescape(page)
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("options", "said"),
    [("--cv 3", "--cv"), ("--metric auto", "--metric"), ("--classifier svm", "--classifier"),
     ("--target y", "--target"), ("--methods pls", "for classes"), ("--ridges a", "--ridges"),
     ("--task classification --ridges 1", "--ridges"), ("--left-out 1", "range"),
     ("--task classification --left-out 0.5", "--left-out"), ("--min-df 2", "--min-df"),
     ("--left-out 0.9", "2 left-out classes")],
)  # fmt: skip
def test_what_does_not_go_together_is_one_line(run, vectors, options, said):
    code, out, err = run(f"{ASKED} {options}")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    texts = '{"text": "a", "label": 1}\n{"text": "b", "label": 2}\n'
    assert "got texts" in run("compare t.jsonl --task retrieval", t__jsonl=texts)[2]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["onlinesrda", "ilda", "oc"])
def test_a_number_of_dimensions_has_one_answer_beside_any_others(method):
    X, y = load_digits(return_X_y=True)
    test, found = (X[500:600], y[500:600]), []
    for dims in ([3], [3, 10]):
        lines = retrieval(X[:500], y[:500], [method], dims, test=test, left_out=0, repeats=1)
        compared = compare(X[:500], y[:500], [method], dims, ["knn"], test=test)
        for each in (lines, compared):
            assert [line.asked for line in each][:2] == [None, 3]
        found.append((lines[1].found["seen"][0], compared[1].micro_f1))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
    many = retrieval(X[:500], y[:500], [method], [3, 60], test=test, left_out=0, repeats=1)
    assert not any(line.skipped for line in many)
