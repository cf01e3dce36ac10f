"""What a model file has of the solution: the same answers as the estimator, without solving."""

import warnings

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

import narrows
from narrows import IOC, OCFS, PCA, PLS, SRDA, ForwardFS, OnlineSRDA
from narrows.errors import DataError
from narrows.text import HashedTfidf, Tfidf
from tests.cases import ALL, NUMERIC, labelled
from tests.inside import load_model, open_model, show, solves
from tests.test_forgery import rewritten

CASES = {case.name: case for case in [*ALL, *NUMERIC]}
VERBS = "transform", "predict", "predict_proba"


def fitted(case):
    X, y = case.labelled()
    y = np.round(X[:, :2] + 1) if case in NUMERIC else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.new().fit(case.form(X), y), case.form(X)


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


@pytest.mark.parametrize("name", CASES)
def test_the_answers_are_those_of_the_estimator_to_the_bit(name, tmp_path, monkeypatch):
    estimator, X = fitted(CASES[name])
    path = str(tmp_path / "m.narrows")
    narrows.save(estimator, path)
    loaded, model = narrows.load(path), open_model(path)
    solved = solves(monkeypatch)
    for other in (X, X.astype(np.float32), CASES[name].form(X)):
        assert_same_answers(loaded, estimator, other)
        assert_same_answers(model, estimator, other)
    assert not solved
    assert not isinstance(model, BaseEstimator)  # which was not loaded


@pytest.mark.parametrize("vectoriser", [Tfidf(), HashedTfidf(64)], ids=str)
@pytest.mark.parametrize("estimator", [SRDA(), OCFS(n_features=2)], ids=str)
def test_a_pipeline_of_texts_is_one_model(vectoriser, estimator, tmp_path):
    texts, y = ["the sea", "a tree", "the sea of trees", "sand"] * 3, ["w", "l", "l", "w"] * 3
    path = str(tmp_path / "m.narrows")
    pipeline = make_pipeline(vectoriser, estimator).fit(texts, y)
    narrows.save(pipeline, path)
    model = open_model(path)
    X = pipeline[0].transform(texts)
    assert_same_answers(model, load_model(path), X)
    np.testing.assert_array_equal(dense(model.transform(X)), dense(pipeline.transform(texts)))


@pytest.mark.parametrize("estimator", [SRDA(), OCFS(n_features=2)], ids=str)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float16, bool])
def test_samples_of_other_types_are_reduced_as_by_the_estimator(estimator, dtype, tmp_path):
    X, y = labelled()
    path = str(tmp_path / "m.narrows")
    narrows.save(estimator.fit(X, y), path)
    X = (np.abs(X) * 3).astype(dtype)
    for form in (np.asarray, sparse.csr_array) if dtype != np.float16 else (np.asarray,):
        assert_same_answers(open_model(path), narrows.load(path), form(X))


def test_samples_of_another_width_name_the_model(tmp_path):
    X, y = labelled()
    path = str(tmp_path / "m.narrows")
    narrows.save(SRDA().fit(X, y), path)
    for verb in VERBS:
        with pytest.raises(DataError, match=r"m\.narrows: .*\b3 features, got one of 7\b"):
            getattr(open_model(path), verb)(X[:, :3])


@pytest.mark.parametrize(
    "estimator", [SRDA(), PLS(), OnlineSRDA(), ForwardFS(target="classes")], ids=str
)
def test_a_state_without_a_solution_is_saved_without(estimator, tmp_path):
    X, y = labelled()
    y = X[:, 0] if isinstance(estimator, PLS) else y
    estimator.partial_fit(X[:0], y[:0])
    path = str(tmp_path / "m.narrows")
    narrows.save(estimator, path)
    assert not [name for name in load_file(path) if name.startswith("solution")]
    loaded = narrows.load(path).partial_fit(X, y)
    assert_same_answers(loaded, estimator.partial_fit(X, y), X)


def test_a_fit_of_all_samples_at_once_has_a_solution_alone(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 9000), density=0.01, rng=rng, format="csr")
    estimator = SRDA(alpha=1.0).fit(X, np.arange(30) % 3)
    path = str(tmp_path / "m.narrows")
    narrows.save(estimator, path)
    assert not [name for name in load_file(path) if not name.startswith("solution.")]
    assert_same_answers(open_model(path), estimator, X)
    assert_same_answers(narrows.load(path), estimator, X)


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
def test_a_solution_that_does_not_fit_is_an_error_that_names_the_file(name, tmp_path, run):
    X, y = labelled()
    path = str(tmp_path / "m.narrows")
    narrows.save(SRDA().fit(X, y), path)
    key = f"solution.{name}"
    rewritten(path, {key: WRONG[name](load_file(path)[key])})
    with pytest.raises(DataError, match=r"m\.narrows: damaged, or of another version: "):
        narrows.load(path)
    verb = "transform" if name == "W" else "predict"
    status, out, err = run(f"{verb} m.narrows a.svm -o b.csv", a__svm="1:1 2:2\n")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert "damaged, or of another version" in err


@pytest.mark.parametrize("name", CASES)
def test_what_is_shown_of_a_model_is_what_the_estimator_shows(name, tmp_path, monkeypatch):
    estimator, _ = fitted(CASES[name])
    path = str(tmp_path / "m.narrows")
    narrows.save(estimator, path)
    model = open_model(path, facts=True)
    assert show(model, per_class=False) == show(load_model(path), per_class=False)
    has_arrays = any(name in repr(estimator) for name in ("priors=", "groups="))
    assert has_arrays or not isinstance(model, BaseEstimator)


@pytest.mark.parametrize("estimator", [SRDA(), PCA(), PLS(), IOC(), OCFS(n_features=3)], ids=str)
def test_info_of_a_file_without_an_array_to_show_answers_or_names_the_file(
    estimator, tmp_path, run
):
    X, y = labelled(90)
    path = str(tmp_path / "m.narrows")
    narrows.save(estimator.fit(X, X[:, 0] if isinstance(estimator, PLS) else y), path)
    names = [name for name in load_file(path) if name.startswith("solution.")]
    assert names
    for name in names:
        narrows.save(estimator, path)
        rewritten(path, {name: None})
        status, _, err = run("info m.narrows")
        assert (status, err.count("\n")) in {(0, 0), (1, 1)}
        assert not err or err.startswith("narrows: m.narrows: damaged")
