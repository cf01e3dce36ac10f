"""Models that are only applied: the same answers as the estimator, and what is imported."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.datasets import dump_svmlight_file

import narrows
from narrows import IOC, OCFS, PCA, PLS, SRDA
from narrows.command import cli
from narrows.errors import DataError
from narrows.read import Dataset, source_of
from tests.cases import ALL, NUMERIC, labelled
from tests.inside import Options, load_model, open_model, pretend, show, solves
from tests.test_forgery import rewritten

CASES = {case.name: case for case in [*ALL, *NUMERIC]}
VERBS = "transform", "predict", "predict_proba"


def saved(case):
    """Fit an estimator and save it to m.narrows; return it and its samples."""
    X, y = case.labelled()
    y = np.round(X[:, :2] + 1) if case in NUMERIC else y
    with warnings.catch_warnings(action="ignore"):
        estimator = case.new().fit(case.form(X), y)
    narrows.save(estimator, "m.narrows")
    return estimator, case.form(X)


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def assert_same_answers(found, expected, X):
    for verb in VERBS:
        if hasattr(expected, verb):
            a, b = (dense(getattr(each, verb)(X)) for each in (found, expected))
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    names = (each.get_feature_names_out().tolist() for each in (found, expected))
    assert next(names) == next(names)


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_answers_and_what_is_shown_are_those_of_the_estimator_to_the_bit(name, monkeypatch):
    estimator, X = saved(CASES[name])
    loaded, model = narrows.load("m.narrows"), open_model("m.narrows")
    solved = solves(monkeypatch)
    for other in (X, X.astype(np.float32), CASES[name].form(X)):
        assert_same_answers(loaded, estimator, other)
        assert_same_answers(model, estimator, other)
    assert not solved
    shown = open_model("m.narrows", facts=True)
    assert show(shown, per_class=False) == show(load_model("m.narrows"), per_class=False)
    has_arrays = any(name in repr(estimator) for name in ("priors=", "groups="))
    for each in (model, shown):  # the estimator is not loaded
        assert has_arrays * (each is shown) or not isinstance(each, BaseEstimator)


@pytest.mark.parametrize("estimator", [SRDA(), OCFS(n_features=2)], ids=str)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float16, bool])
def test_samples_of_other_types_are_reduced_as_by_the_estimator(estimator, dtype):
    X, y = labelled()
    narrows.save(estimator.fit(X, y), "m.narrows")
    X = (np.abs(X) * 3).astype(dtype)
    for form in (np.asarray, sparse.csr_array) if dtype != np.float16 else (np.asarray,):
        assert_same_answers(open_model("m.narrows"), narrows.load("m.narrows"), form(X))


def test_samples_of_another_width_name_the_model():
    X, y = labelled()
    narrows.save(SRDA().fit(X, y), "m.narrows")
    for verb in VERBS:
        with pytest.raises(DataError, match=r"m\.narrows: .*\b3 features, got one of 7\b"):
            getattr(open_model("m.narrows"), verb)(X[:, :3])


WRONG = {
    "W": lambda W: W[:-1],
    "rule_coef": lambda W: np.full_like(W, np.nan),
    "rule_intercept": lambda b: b[:-1],
    "rule_temperature": lambda t: np.array(-1.0),
    "classes_counts": np.zeros_like,
    "classes_n_labels": lambda n: n.astype(float),
    "classes_labels.text": lambda text: text[::-1].copy(),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_solution_that_does_not_fit_is_an_error_that_names_the_file(name, run):
    narrows.save(SRDA().fit(*labelled()), "m.narrows")
    key = f"solution.{name}"
    rewritten("m.narrows", {key: WRONG[name](load_file("m.narrows")[key])})
    with pytest.raises(DataError, match=r"m\.narrows: damaged, or of another version: "):
        narrows.load("m.narrows")
    verb = "transform" if name == "W" else "predict"
    status, out, err = run(f"{verb} m.narrows a.svm -o b.csv", a__svm="1:1 2:2\n")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "damaged, or of another version" in err


@pytest.mark.parametrize("estimator", [SRDA(), PCA(), PLS(), IOC(), OCFS(n_features=3)], ids=str)
def test_info_of_a_file_without_an_array_to_show_answers_or_names_the_file(estimator, run):
    X, y = labelled(90)
    estimator.fit(X, X[:, 0] if isinstance(estimator, PLS) else y)
    narrows.save(estimator, "m.narrows")
    for name in (name for name in load_file("m.narrows") if name.startswith("solution.")):
        narrows.save(estimator, "m.narrows")
        rewritten("m.narrows", {name: None})
        status, _, err = run("info m.narrows")
        assert (status, err.count("\n")) in {(0, 0), (1, 1)}
        assert not err or err.startswith("narrows: m.narrows: damaged")


HEAVY = ("sklearn", "numba", "joblib", "tqdm", "pandas", "pyarrow")


def run_apart(lines):
    """Run commands in a new process; return which large packages it imported."""
    code = (
        "import sys; from narrows.command.cli import main\n"
        f"for line in {lines!r}: assert main(line.split()) == 0, line\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


@pytest.fixture
def rows(in_folder):
    """Files of texts and of a table with columns of each kind, in one row a sample."""
    rng, sold = np.random.default_rng(0), np.arange(200) % 2
    notes = [" ".join(rng.choice(["the", "sea", "İ", "ship"], 6)) for _ in sold]
    texts = [f"{note} {('salt', 'tree')[k % 2]}" for k, note in enumerate(notes)]
    pd.DataFrame({"text": texts, "label": sold}).to_json("t.jsonl", orient="records", lines=True)
    pd.DataFrame({
        "size": np.where(np.arange(200) % 9, rng.normal(sold).round(3), np.nan), "note": notes,
        "plan": rng.choice(["basic", "pro", ""], 200), "vip": np.arange(200) % 3 == 0,
        "joined": np.datetime64("2021-01-01") + rng.integers(0, 1461, 200), "sold": sold,
    }).to_csv("t.csv", index=False)  # fmt: skip


@pytest.mark.slow
def test_a_model_is_applied_without_scikit_learn(rows):
    X, y = labelled(40)
    narrows.save(SRDA().fit(X, y), "m.narrows")
    narrows.save(PLS().fit(X, X[:, 0]), "n.narrows")
    narrows.save(OCFS(n_features=2).fit(X, y), "s.narrows")
    np.save("a.npy", X)
    pd.DataFrame(X).to_csv("a.csv", index=False)
    dump_svmlight_file(X, y == y[0], "a.svm", zero_based=False)
    heavy = []
    for name in ("a.npy", "a.svm", "a.csv"):
        assert heavy == []
        lines = ["info m.narrows", "info s.narrows"]
        lines += [f"predict {model}.narrows {name} -o out.csv" for model in "mn"]
        lines += [f"transform {model}.narrows {name} -o out.npy" for model in "ms"]
        lines += [f"predict m.narrows {name} -o out.csv --priors balanced"]
        heavy = run_apart(lines)
    assert heavy == ["pyarrow"]
    assert cli.main(["fit", "t.jsonl", "--method", "onlinesrda", "-o", "t.narrows"]) == 0
    lines = ["predict t.narrows t.jsonl -o out.csv", "transform t.narrows t.jsonl -o out.npz"]
    assert set(run_apart(lines)) <= {"numba", "joblib"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "fit",
    [
        "t.jsonl --method onlinesrda", "t.jsonl --method srda --stop-words english",
        "t.jsonl --method srda --ngram-range 1,2 --min-df 3 --max-df 0.9 --max-features 9",
        "t.jsonl --method onlinesrda --vectorizer hashing", "t.csv --label sold --method srda",
        "t.csv --label sold --method ocfs --n-features 5 --then srda",
    ],
)  # fmt: skip
def test_texts_and_tables_have_the_answers_of_the_estimator(fit, rows):
    assert cli.main(f"fit {fit} -o m.narrows".split()) == 0
    path, model = fit.split()[0], load_model("m.narrows")
    if path == "t.jsonl":
        X = source_of(model).tfidf.transform(pd.read_json(path, lines=True)["text"])
    else:
        X = source_of(model).encoder.transform(pd.read_csv(path).drop(columns="sold"))
    for priors in ("empirical", "balanced"):
        command = f"predict m.narrows {path} --proba -o p.csv --priors {priors}"
        assert cli.main(command.split()) == 0
        found = np.loadtxt("p.csv", delimiter=",", skiprows=1)
        np.testing.assert_array_equal(found[:, :2], model.predict_proba(X, priors))
        np.testing.assert_array_equal(found[:, 2], model.predict(X, priors))
    assert cli.main(f"transform m.narrows {path} -o x.csv".split()) == 0
    X_r = dense(model.transform(X))
    found = np.loadtxt("x.csv", delimiter=",", skiprows=1, ndmin=2)[:, : X_r.shape[1]]
    np.testing.assert_array_equal(found, X_r)


def read(content, zero_based, rows):
    """What is read of a file, and the error after it."""
    Path("a.svm").write_bytes(content)
    found = []
    try:
        options = Options(zero_based=zero_based, chunk_rows=rows, may_be_empty=True)
        for chunk in Dataset(["a.svm"], options):
            X, y = chunk.X, chunk.y
            found += [X.shape, *map(np.ndarray.tolist, (X.data, X.indices, X.indptr))]
            found += [repr(y), np.asarray(chunk.lines).tolist()]
    except DataError as error:
        found.append(str(error))
    return found


ROWS = [
    b"1 1:2 3:4.5\n", b"-1 2:1e-3 \n", b"0\n", b"+2 7:1 9:-2.25\r\n", b"1 0:1 2:1\n", b"\n",
    b"1 3:1 2:1\n", b"1,2 3:1\n", b"1 3:1 # comment\n", b"x 1:1\n", b"1 1:nan\n", b"1 5:1e400\n",
    b"1 1:1_0\n", b"1 99999999999:1\n", b"1 2147483647:1\n", b"1 2147483648:1\n", b"1 1:1e5-\n",
    b"1 qid:3 2:1\n", b" 1 2:1\n", b"1  2:1\n", b"1.5 2:1\n", b"1 00:1\n", b"1 1:1",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("zero_based", [None, True, False])
@pytest.mark.parametrize("chunk_rows", [2, 1000])
def test_few_rows_are_what_compiled_loops_read_of_them(zero_based, chunk_rows, monkeypatch):
    rng = np.random.default_rng(0)
    contents = [b"".join(rng.choice(ROWS[:4], 5)) + row for row in ROWS]
    contents += [b"".join(rng.choice(ROWS, rng.integers(1, 4))) for _ in range(300)]
    numbers = [f"{v!r}" for v in (rng.normal(size=300) * 10.0 ** rng.integers(-300, 300, 300))]
    contents.append("".join(f"1 1:{v} 2:{v[:9]}\n" for v in numbers).encode())
    found = []
    for how in ("loops are compiled", "loops are plain"):
        pretend(monkeypatch, how)
        found.append([read(each, zero_based, chunk_rows) for each in contents])
    assert found[0] == found[1]
