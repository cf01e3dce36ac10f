"""Vectorisers and estimators in a pipeline of scikit-learn: fitted, searched, saved, loaded."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from narrows import OC, OCFS, SRDA, Moments, OnlineSRDA, Window, load, save
from narrows.text import HashedTfidf, Tfidf
from tests.traced import run_traced

SEA = ["a ship on salt water", "the salt of the sea", "waves and a ship", "the sea is salt"]
LAND = ["a tree on a hill of sand", "the tree of the land", "a road on the land", "hills of sand"]
TEXTS, Y = SEA + LAND, ["sea"] * 4 + ["land"] * 4
MAKE = [Tfidf, lambda: HashedTfidf(512)]
both = pytest.mark.parametrize("make", MAKE, ids=["terms", "hashed"])


@both
@pytest.mark.parametrize("form", [np.array, lambda t: np.array(t, object), pd.Series, iter])
def test_fit_forgets_and_partial_fit_and_merge_do_not(make, form):
    whole = make().fit(TEXTS)
    assert make().fit(LAND).fit(form(TEXTS)) == whole
    assert make().partial_fit(form(SEA)).partial_fit(form(LAND)) == whole
    left, right = make().fit(SEA), make().fit(LAND)
    assert make().merge(left, right) == whole
    assert left == make().fit(SEA)
    assert left.merge(right) is left
    assert left == whole
    left.partial_fit(SEA)
    assert right == make().fit(LAND)
    assert (make().fit_transform(form(TEXTS)) != whole.transform(TEXTS)).nnz == 0


@both
def test_what_scikit_learn_expects_of_a_transformer(make):
    tfidf = make()
    tags = get_tags(tfidf)
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert not tags.target_tags.required
    tfidf.fit(TEXTS, Y)
    for fresh in (make(), clone(tfidf)):
        assert fresh.get_params() == tfidf.get_params()
        with pytest.raises(NotFittedError):
            fresh.transform(TEXTS)
        with pytest.raises(NotFittedError):
            fresh.get_feature_names_out()
    assert pickle.loads(pickle.dumps(tfidf)) == tfidf
    assert len(tfidf.get_feature_names_out()) == tfidf.transform(TEXTS).shape[1]
    if make is Tfidf:
        vocabulary = dict(zip(tfidf.terms.tolist(), range(len(tfidf.terms)), strict=True))
        assert tfidf.vocabulary_ == vocabulary


@both
def test_a_failure_changes_nothing_and_shows_no_text(make):
    tfidf = make().fit(SEA)
    table = pd.DataFrame({"t": ["a secret"]})
    for bad in (["a secret", None], ["a secret", b"\xe9"], "a secret", ["a secret", 5], table):
        for learn in (tfidf.fit, tfidf.partial_fit):
            with pytest.raises(ValueError, match=r"expected|decode") as caught:
                learn(bad)
            assert "secret" not in str(caught.value)
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


# -- raw text without a vectoriser ---------------------------------------------------------------


@pytest.mark.parametrize("estimator", [OCFS(), SRDA(), OnlineSRDA(), Window(OC())], ids=str)
@pytest.mark.parametrize(
    "form",
    [list, np.array, pd.Series, lambda t: [[x] for x in t], lambda t: np.array([t], object).T,
     lambda t: pd.DataFrame({"body": t})],
    ids=["list", "array", "Series", "lists", "objects", "table"],
)  # fmt: skip
def test_text_is_refused_with_what_to_do_and_without_showing_it(estimator, form):
    for method in ("fit", "partial_fit"):
        with pytest.raises(
            ValueError, match=r"^expected numbers, got text.*(Tfidf|TableEncoder)\(\)"
        ) as e:
            getattr(clone(estimator), method)(form(TEXTS), Y)
        assert "ship" not in str(e.value)
    srda = SRDA().fit(Tfidf().fit_transform(TEXTS), Y)
    for call in (srda.transform, srda.predict, lambda X: Moments.of(X, Y)):
        with pytest.raises(ValueError, match="expected numbers, got text"):
            call(form(TEXTS))


# -- pipelines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pipeline",
    [
        make_pipeline(HashedTfidf(64, stop_words=["the"]), OCFS(n_features=5), OC()),
        Pipeline([("words", Tfidf("english")), ("nothing", "passthrough"), ("last", OnlineSRDA())]),
    ],
    ids=["three", "named"],
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


class Derived(SRDA):
    """Not found by `load`."""


def test_what_is_not_of_narrows_is_not_saved(tmp_path):
    for model, error in (
        (make_pipeline(Tfidf(), LogisticRegression()).fit(TEXTS, Y), TypeError),
        (Derived().fit(np.eye(4), [0, 1, 0, 1]), TypeError),
        (make_pipeline(Tfidf(), SRDA()), NotFittedError),
        (Tfidf(), NotFittedError),
    ):
        with pytest.raises(error):
            save(model, tmp_path / "p.narrows")
    assert list(tmp_path.iterdir()) == []


# -- the command line ----------------------------------------------------------------------------


def test_the_command_line_reads_a_vectoriser_and_an_estimator(run, tmp_path):
    rows = [json.dumps({"label": label, "text": t}) for label, t in zip(Y, TEXTS, strict=True)]
    pipeline = make_pipeline(Tfidf(), SRDA()).fit(TEXTS, Y)
    save(pipeline, tmp_path / "p.narrows")
    assert run("transform p.narrows a.jsonl -o r.npz", a__jsonl="\n".join([*rows, ""]))[0] == 0
    with np.load(tmp_path / "r.npz") as archive:
        np.testing.assert_array_equal(archive["X"], pipeline.transform(TEXTS))
    status, out, _ = run("predict p.narrows a.jsonl -o p.csv --json")
    assert (status, json.loads(out)["accuracy"]) == (0, 1.0)
    assert "salt" in run("info p.narrows --top 2")[1]
    assert "narrows.load('p.narrows')[0] makes" in run("export p.narrows -o p.onnx")[1]
    assert run("update p.narrows a.jsonl -o new.narrows")[0] == 0
    assert load(tmp_path / "new.narrows").n_samples_seen_ == 16
    save(make_pipeline(Tfidf(), OCFS(n_features=3), OC()).fit(TEXTS, Y), tmp_path / "q.narrows")
    save(Tfidf().fit(TEXTS), tmp_path / "t.narrows")
    for name, got in (("q", "OCFS and OC"), ("t", "Tfidf alone")):
        status, _, err = run(f"transform {name}.narrows a.jsonl -o r.npz")
        assert (status, f"expected a model of one method, got {got}" in err) == (2, True)
