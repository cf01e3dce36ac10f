"""Vectorisers and estimators in a pipeline of scikit-learn: fitted, searched, saved, loaded."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from narrows import OC, OCFS, SRDA, KernelSRDA, Moments, OnlineSRDA, Window, load, save
from narrows.errors import ParameterError
from narrows.text import HashedTfidf, Tfidf
from tests.traced import run_traced

TOKEN = r"(?u)\b\w+\b"  # words of one letter, too
SEA = ["a ship on salt water", "the salt of the sea", "waves and a ship", "the sea is salt"]
LAND = ["a tree on a hill of sand", "the tree of the land", "a road on the land", "hills of sand"]
TEXTS, Y = SEA + LAND, ["sea"] * 4 + ["land"] * 4
MAKE = [Tfidf, lambda: HashedTfidf(512)]
both = pytest.mark.parametrize("make", MAKE, ids=["terms", "hashed"])


@both
def test_fit_forgets_and_partial_fit_and_merge_do_not(make):
    whole = make().fit(TEXTS)
    assert make().fit(LAND).fit(TEXTS) == whole
    assert make().partial_fit(SEA).partial_fit(iter(LAND)) == whole
    left, right = make().fit(SEA), make().fit(LAND)
    assert make().merge(left, right) == whole
    assert left == make().fit(SEA)
    assert left.merge(right) is left
    assert left == whole
    left.partial_fit(SEA)
    assert right == make().fit(LAND)
    expected = whole.transform(TEXTS)
    found = make().fit_transform(TEXTS)
    assert (found != expected).nnz == 0


@both
@pytest.mark.parametrize(
    "form", [tuple, np.array, lambda t: np.array(t, object), pd.Series, iter],
    ids=["tuple", "array", "objects", "Series", "iterator"],
)  # fmt: skip
def test_texts_come_in_any_sequence(make, form):
    assert make().fit(form(TEXTS)) == make().fit(TEXTS)


@both
def test_what_scikit_learn_expects_of_a_transformer(make):
    tfidf = make()
    tags = get_tags(tfidf)
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert not tags.target_tags.required
    with pytest.raises(NotFittedError):
        tfidf.transform(TEXTS)
    with pytest.raises(NotFittedError):
        tfidf.get_feature_names_out()
    tfidf.fit(TEXTS, Y)
    again = clone(tfidf)
    assert again.get_params() == tfidf.get_params()
    with pytest.raises(NotFittedError):
        again.transform(TEXTS)
    assert pickle.loads(pickle.dumps(tfidf)) == tfidf
    names = tfidf.get_feature_names_out()
    assert len(names) == tfidf.transform(TEXTS).shape[1]


def test_names_vocabulary_and_weights_are_scikit_learn_s():
    theirs = TfidfVectorizer(sublinear_tf=True, token_pattern=TOKEN, min_df=2).fit(TEXTS)
    ours = Tfidf(min_df=2).fit(TEXTS)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.vocabulary_ == theirs.vocabulary_
    np.testing.assert_allclose(ours.idf_, theirs.idf_, rtol=1e-15)
    assert HashedTfidf(8).fit(TEXTS).get_feature_names_out()[-1] == "hashedtfidf7"


def test_other_parameters_and_counts_are_seen_at_once():
    tfidf = Tfidf().fit(TEXTS)
    many = tfidf.transform(TEXTS).shape[1]
    assert tfidf.set_params(min_df=2).transform(TEXTS).shape[1] < many
    other = ["x y", "x z", *TEXTS[2:]]
    assert tfidf.set_params(min_df=1).fit(other).terms.tolist() == Tfidf().fit(other).terms.tolist()


@both
def test_a_failure_changes_nothing(make):
    tfidf = make().fit(SEA)
    for bad in (["x", None], ["x", b"\xe9"], "x"):
        for learn in (tfidf.fit, tfidf.partial_fit):
            with pytest.raises(ValueError, match=r"expected|decode"):
                learn(bad)
            assert tfidf == make().fit(SEA)


@pytest.mark.slow
@both
def test_an_interrupt_at_any_line_leaves_all_texts_or_none(make):
    more = [*LAND, "a ship, a tree, a new word"]

    def learned(tfidf):
        return {name: array.tolist() for name, array in tfidf.to_arrays().items()}

    for learn in ("partial_fit", "fit"):
        before, done = make().fit(SEA), make().fit(SEA)
        lines = run_traced(lambda done=done, learn=learn: getattr(done, learn)(more), 0)
        for number in range(1, lines, max(1, lines // 40)):
            tfidf = make().fit(SEA)
            tfidf.transform(SEA)
            run_traced(lambda t=tfidf, learn=learn: getattr(t, learn)(more), number)
            assert learned(tfidf) in (learned(before), learned(done)), number
            whole = before if learned(tfidf) == learned(before) else done
            assert (tfidf.transform(more) != whole.transform(more)).nnz == 0


def test_a_parameter_that_was_set_to_nonsense_is_named():
    tfidf = Tfidf().fit(TEXTS).set_params(min_df=1.5)
    with pytest.raises(
        ParameterError, match=r"expected `min_df` to be an integer >= 1 or a .* 1\.5"
    ):
        tfidf.transform(TEXTS)


@both
def test_no_text_is_in_a_message(make):
    for bad in ("a secret", ["a secret", 5], pd.DataFrame({"t": ["a secret"]})):
        with pytest.raises(ValueError, match="expected a list of texts") as caught:
            make().fit(bad)
        assert "secret" not in str(caught.value)


# -- raw text without a vectoriser ---------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [OC(), OCFS(), SRDA(), OnlineSRDA(), KernelSRDA(), Window(OC())], ids=str
)
@pytest.mark.parametrize(
    "form",
    [list, np.array, pd.Series, lambda t: [[x] for x in t], lambda t: np.array([t], object).T],
    ids=["list", "array", "Series", "lists", "objects"],
)
def test_text_is_refused_with_what_to_do_and_without_showing_it(estimator, form):
    name = type(getattr(estimator, "estimator", estimator)).__name__
    for method in ("fit", "partial_fit"):
        message = r"^expected numbers, got text\. Put Tfidf\(\) before it"
        with pytest.raises(ValueError, match=message) as e:
            getattr(clone(estimator), method)(form(TEXTS), Y)
        assert f"make_pipeline(Tfidf(), {name}())" in str(e.value)
        assert "ship" not in str(e.value)


def test_text_is_refused_in_transform_predict_and_states():
    srda = SRDA().fit(Tfidf().fit_transform(TEXTS), Y)
    for method in (srda.transform, srda.predict, srda.predict_proba):
        with pytest.raises(ValueError, match="expected numbers, got text"):
            method(TEXTS)
    with pytest.raises(ValueError, match=r"^expected numbers, got text\. Put T"):
        Moments.of(TEXTS, Y)


def test_the_column_of_a_table_that_holds_text_is_named():
    table = pd.DataFrame({"length": np.arange(8.0), "body": TEXTS})
    with pytest.raises(ValueError, match="expected numbers, got text in column 'body'"):
        OC().fit(table, Y)


# -- pipelines -----------------------------------------------------------------------------------


@both
def test_a_pipeline_fits_clones_and_predicts(make):
    pipeline = make_pipeline(make(), SRDA()).fit(TEXTS, Y)
    assert pipeline.predict(["salt water", "sand and trees on a hill"]).tolist() == ["sea", "land"]
    assert clone(pipeline).fit(TEXTS, Y).predict(TEXTS).tolist() == Y
    assert pipeline.transform(TEXTS).shape == (8, 1)


def test_a_search_goes_through_parameters_of_the_vectoriser():
    pipeline = make_pipeline(Tfidf(), SRDA())
    search = GridSearchCV(
        pipeline, {"tfidf__min_df": [1, 2], "srda__alpha": [0.1, 1.0]}, cv=2, error_score="raise"
    ).fit(TEXTS, Y)
    assert search.best_params_["tfidf__min_df"] in (1, 2)
    assert len(search.cv_results_["params"]) == 4


@pytest.mark.parametrize(
    "pipeline",
    [
        make_pipeline(Tfidf(min_df=2), SRDA()),
        make_pipeline(HashedTfidf(64, stop_words=["the"]), OCFS(n_features=5), OC()),
        Pipeline([("words", Tfidf("english")), ("nothing", "passthrough"), ("last", OnlineSRDA())]),
    ],
    ids=["two", "three", "named"],
)
def test_a_saved_pipeline_is_the_same_and_learns_on(pipeline, tmp_path):
    pipeline = clone(pipeline).fit(TEXTS, Y)
    save(pipeline, tmp_path / "p.narrows")
    again = load(tmp_path / "p.narrows")
    assert [name for name, _ in again.steps] == [name for name, _ in pipeline.steps]
    assert again[0] == pipeline[0]
    np.testing.assert_array_equal(again.transform(TEXTS), pipeline.transform(TEXTS))
    if hasattr(pipeline, "predict"):
        assert again.predict(TEXTS).tolist() == pipeline.predict(TEXTS).tolist()
    Z = again[:-1].transform(LAND)
    again[-1].partial_fit(Z, Y[4:])
    pipeline[-1].partial_fit(Z, Y[4:])
    np.testing.assert_array_equal(again.transform(TEXTS), pipeline.transform(TEXTS))
    save(again, tmp_path / "again.narrows")
    save(pipeline, tmp_path / "p.narrows")
    assert (tmp_path / "again.narrows").read_bytes() == (tmp_path / "p.narrows").read_bytes()


@both
def test_a_vectoriser_is_saved_alone(make, tmp_path):
    save(make().fit(TEXTS), tmp_path / "t.narrows")
    assert load(tmp_path / "t.narrows") == make().fit(TEXTS)


class Derived(SRDA):
    """Not found by `load`."""


def test_what_is_not_of_narrows_is_not_saved(tmp_path):
    pipeline = make_pipeline(Tfidf(), LogisticRegression()).fit(TEXTS, Y)
    with pytest.raises(TypeError, match="Save step 'logisticregression' by"):
        save(pipeline, tmp_path / "p.narrows")
    with pytest.raises(TypeError, match=r"or a pipeline of these, got Derived\. Save it by"):
        save(Derived().fit(np.eye(4), [0, 1, 0, 1]), tmp_path / "p.narrows")
    with pytest.raises(NotFittedError):
        save(make_pipeline(Tfidf(), SRDA()), tmp_path / "p.narrows")
    with pytest.raises(NotFittedError):
        save(Tfidf(), tmp_path / "p.narrows")
    assert list(tmp_path.iterdir()) == []


# -- the command line ----------------------------------------------------------------------------


def write(path):
    rows = [json.dumps({"label": label, "text": t}) for label, t in zip(Y, TEXTS, strict=True)]
    path.write_text("\n".join(rows) + "\n")


def test_the_command_line_reads_a_vectoriser_and_an_estimator(run, tmp_path):
    write(tmp_path / "a.jsonl")
    pipeline = make_pipeline(Tfidf(), SRDA()).fit(TEXTS, Y)
    save(pipeline, tmp_path / "p.narrows")
    assert run("transform p.narrows a.jsonl -o r.npz")[0] == 0
    with np.load(tmp_path / "r.npz") as archive:
        np.testing.assert_array_equal(archive["X"], pipeline.transform(TEXTS))
    status, out, _ = run("predict p.narrows a.jsonl -o p.csv --json")
    assert (status, json.loads(out)["accuracy"]) == (0, 1.0)
    status, out, _ = run("info p.narrows --top 2")
    assert status == 0
    assert "salt" in out
    status, out, _ = run("export p.narrows -o p.onnx")
    assert status == 0
    assert "narrows.load('p.narrows')[0] makes them" in out
    save(make_pipeline(Tfidf(), OC()).fit(TEXTS, Y), tmp_path / "oc.narrows")
    assert run("update oc.narrows a.jsonl -o new.narrows")[0] == 0
    assert load(tmp_path / "new.narrows").n_samples_seen_ == 16


def test_the_command_line_refuses_several_estimators(run, tmp_path):
    write(tmp_path / "a.jsonl")
    save(make_pipeline(Tfidf(), OCFS(n_features=3), OC()).fit(TEXTS, Y), tmp_path / "p.narrows")
    save(Tfidf().fit(TEXTS), tmp_path / "t.narrows")
    for name, got in (("p", "OCFS and OC"), ("t", "Tfidf alone")):
        status, _, err = run(f"transform {name}.narrows a.jsonl -o r.npz")
        assert status == 2
        assert f"{name}.narrows: expected a model of one method, got {got}. Use it in Pyt" in err


@pytest.mark.slow
@pytest.mark.data
def test_real_mails_get_the_numbers_of_scikit_learn(data):
    from narrows.read import iter_chunks

    texts = [text for X, _ in iter_chunks(data / "r8.jsonl.gz", split="train") for text in X]
    theirs = TfidfVectorizer(sublinear_tf=True, token_pattern=TOKEN, min_df=3).fit(texts)
    ours = Tfidf(min_df=3).fit(texts[:3000]).partial_fit(texts[3000:])
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    found, expected = ours.transform(texts), theirs.transform(texts)
    assert abs(found - expected).max() <= 1e-15
