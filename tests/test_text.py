"""Terms of texts against scikit-learn and `re`, and vectorisers in pipelines."""

from __future__ import annotations

import json
import pickle
import re
import sys
import tracemalloc
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import (
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from narrows import OC, OCFS, SRDA, Moments, OnlineSRDA, Window, load, save
from narrows.errors import ParameterError
from narrows.read import Source
from narrows.text import HashedTfidf, Tfidf
from tests.inside import pretend
from tests.traced import run_traced

TOKEN = r"(?u)\b\w+\b"
SEA = ["the sea, the SEA and the salt", "a ship at sea, at sea", "salt of the sea", "", "a b c a b"]


def in_texts(texts, pattern=TOKEN):
    """In how many texts each word is, by `re`."""
    return Counter(word for text in texts for word in set(re.findall(pattern, text.lower())))


def same_rows(found, expected):
    found, expected = found.copy(), expected.copy()
    expected.sort_indices()
    assert found.indices.dtype == found.indptr.dtype == np.int32  # as classifiers need them
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-14)


def stored(tfidf):
    source = Source(tfidf=tfidf)
    return Source.of(json.loads(json.dumps(source.settings())), source.to_arrays()).tfidf


@pytest.mark.nightly
def test_every_character_is_the_word_that_python_makes_of_it():
    """Alone, in a word and at its end, each of them in a text of its own."""
    characters = list(map(chr, range(sys.maxunicode + 1)))
    texts = [f"{c} a{c}B x{c} {c}{c}" for c in characters]
    assert Tfidf().fit(texts).document_frequency_ == in_texts(texts)


@pytest.mark.slow
def test_no_pair_of_characters_has_another_lower_case():
    """Only the dotted I and the last sigma of a word depend on what is beside them."""
    cased = [c for c in map(chr, range(sys.maxunicode + 1)) if c.lower() != c or c.upper() != c]
    beside = [*"Σσςİiı'.\u0307\u0345\u00ad:aB1_ ", "\u0130\u0307", "ΑΣ", "Σ'Α"]
    texts = [f"{a}{c}{b}" for c in cased for a in beside for b in ("", beside[hash(a) % 16])]
    assert Tfidf().fit(texts).document_frequency_ == in_texts(texts)


def random_texts(n, seed):
    """Texts of characters of all planes: some rare, some in nearly every text."""
    rng = np.random.default_rng(seed)
    planes = np.array([0x80, 0x250, 0x800, 0x3000, 0x10000, 0x20000, 0x110000])
    texts = []
    for _ in range(n):
        size = int(rng.integers(0, 60))
        codes = rng.integers(0, planes[rng.integers(0, len(planes), size)])
        codes[rng.random(size) < 0.15] = 32
        texts.append("".join(map(chr, codes)))
    common = [*"aAbBİΣσς_1ß", "e\u0301", " ", "the", "Ⱥ", "\ud800", "\0"]
    return [text + "".join(rng.choice(common, 12)) for text in texts]


def test_memory_of_hashed_texts_does_not_grow_with_the_blocks(monkeypatch):
    pretend(monkeypatch, "small blocks")
    texts = ["salt sea ship sail " * 50] * 500  # 48 blocks
    HashedTfidf().fit_transform(texts[:9])  # loads the compiled loops
    tracemalloc.start()
    HashedTfidf(n_features=1 << 18).fit_transform(texts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 25e6  # 153 MB with a number for each hash and block


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cores", "sizes", "words"),
    [(1, (1, 1), None), (3, (1, 2), "english"), (3, (2, 3), None), (1, (1, 2), ["the", "a", "ⱥ"])],
)
def test_terms_of_random_unicode_are_scikit_learn_s(monkeypatch, cores, sizes, words):
    if cores > 1:
        pretend(monkeypatch, "blocks of texts", 500)
    texts, more = random_texts(600, 0), random_texts(100, 1)
    settings = {"token_pattern": TOKEN, "stop_words": words, "ngram_range": sizes}
    theirs = TfidfVectorizer(sublinear_tf=True, **settings)
    expected = theirs.fit_transform(texts)
    ours = Tfidf(words, ngram_range=sizes)
    same_rows(ours.fit_transform(texts), expected)
    assert ours.terms.tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_array_equal(ours.idf_, theirs.idf_)
    same_rows(ours.transform(more), theirs.transform(more))
    same_rows(stored(ours).transform(more), theirs.transform(more))
    in_batches = Tfidf(words, ngram_range=sizes)
    for start in range(0, 600, 70):
        in_batches.partial_fit(texts[start : start + 70])
    assert in_batches == ours

    hashed = HashedTfidf(1000, words, sizes)
    their_counts = HashingVectorizer(n_features=1000, alternate_sign=False, norm=None, **settings)
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(their_counts.transform(texts))
    same_rows(hashed.fit_transform(texts), expected)
    same_rows(stored(hashed).transform(texts), expected)


SETTINGS = [
    {"min_df": 2},
    {"max_df": 0.5, "min_df": 0.25},
    {"max_features": 3},
    {"max_features": 4, "max_df": 0.5, "ngram_range": (1, 2)},
    {"token_pattern": r"(?u)\b\w\w+\b"},
    {"token_pattern": r"s(\w+)"},
    {"token_pattern": r"\d*", "ngram_range": (1, 2)},
    {"analyzer": "char", "ngram_range": (2, 3)},
    {"analyzer": "char_wb", "ngram_range": (1, 4)},
    {"analyzer": str.split},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_settings_are_scikit_learn_s(settings):
    texts = [*SEA, "the end"]
    theirs = TfidfVectorizer(sublinear_tf=True, **{"token_pattern": TOKEN, **settings})
    expected = theirs.fit_transform(texts)
    ours = Tfidf(**settings)
    same_rows(ours.fit_transform(texts), expected)
    assert ours.terms.tolist() == theirs.get_feature_names_out().tolist()
    merged = Tfidf(**settings).fit(texts[:2]).merge(Tfidf(**settings).fit(texts[2:]))
    same_rows(merged.transform(texts), expected)
    if callable(settings.get("analyzer")):
        with pytest.raises(ParameterError, match="expected an analyzer by name to save it"):
            ours.to_arrays()
        assert merged == ours != Tfidf().fit(texts)
        return
    assert stored(ours) == ours == merged
    assert stored(ours).get_params() == ours.get_params()


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"min_df": 1.5}, "`min_df`"), ({"max_df": 0}, "`max_df`"), ({"max_df": 1}, "max_df=1"),
     ({"max_features": 0}, "`max_features`"), ({"ngram_range": (2, 1)}, "`ngram_range`"),
     ({"ngram_range": 2}, "`ngram_range`"), ({"token_pattern": "("}, "`token_pattern`"),
     ({"token_pattern": "(a)(b)"}, "`token_pattern`"), ({"analyzer": "words"}, "`analyzer`")],
)  # fmt: skip
def test_settings_that_are_wrong(settings, message):
    with pytest.raises(ValueError, match=f"expected .*{message}"):
        Tfidf(**settings).fit_transform(["the sea", "the sea"])


def test_counts_keep_the_parameters_that_they_were_counted_with():
    counted = "as texts were counted, got 2. Fit again"
    with pytest.raises(ParameterError, match=f"max_features=None, {counted}"):
        Tfidf().fit(SEA).set_params(max_features=2).transform(SEA)
    with pytest.raises(ParameterError, match=f"n_features=9, {counted}"):
        HashedTfidf(9).fit(SEA).set_params(n_features=2).partial_fit(SEA).transform(SEA)
    for made in (Tfidf, HashedTfidf):
        with pytest.raises(ParameterError, match="expected `ngram_range` to be two integers"):
            made().fit(SEA).set_params(ngram_range=2).transform(SEA)
    all_terms = Tfidf(max_features=2).fit(SEA).set_params(max_features=None)
    assert Tfidf().fit(SEA) + all_terms == all_terms + Tfidf().fit(SEA) == Tfidf().fit(SEA * 2)


def test_an_analyzer_that_fails_changes_nothing():
    def analyzer(text):
        return [5] if text == "bad" else 1 / len(text) and text.split()

    for made in (Tfidf, HashedTfidf):
        tfidf, other = (made(analyzer=analyzer).fit(["a b", "b"]) for _ in range(2))
        for bad, error in (("", ZeroDivisionError), ("bad", ValueError)):
            with pytest.raises(error):
                tfidf.partial_fit(["c", bad])
        same_rows(tfidf.transform(["a b c"]), other.transform(["a b c"]))


TEXTS = ["The sea, the sea!", "a strait is narrow", "", "The STRAIT of d'Artagnan \u00e9t\u00e9 42"]
MANY = [f"{a} {b} the" for a in ["sea", "strait", "ship"] for b in ["of", "sand", "narrow"]]
both = pytest.mark.parametrize("make", [Tfidf, lambda: HashedTfidf(512)], ids=["terms", "hashed"])


@both
def test_counts_add_up_and_are_taken_out(make):
    whole, a, b = make().update(TEXTS + MANY), make().update(TEXTS), make().update(MANY)
    assert a + b == b + a == whole == stored(a + b)
    assert (whole - a, whole - b) == (b, a)
    assert sum([b], start=a).n_documents == len(TEXTS + MANY)
    same_rows((whole - b).transform(MANY), a.transform(MANY))
    for fewer, more in ((a, whole), (make().update(["x"] * 100), make().update([""] * 99))):
        with pytest.raises(ValueError, match="expected counts added before, got larger ones"):
            fewer - more  # x would be in 100 of 1 text
    for other in (Tfidf(min_df=2), HashedTfidf(64)):
        with pytest.raises(ValueError, match=r"expected .*got"):
            make() + other


def test_stop_words_are_a_set_in_lower_case():
    assert Tfidf({"The", "of"}).update(MANY) == Tfidf(["of", "the", "the"]).update(MANY)
    assert Tfidf([]) == Tfidf()
    for listed in (Tfidf(["english"]), HashedTfidf(8, ["english"])):
        assert stored(listed).stop_words == ("english",)
    for bad in (5, [1], b"the"):
        with pytest.raises(ValueError, match="a list of words or None, got"):
            Tfidf(bad).fit(TEXTS)


WATER = ["a ship on salt water", "the salt of the sea", "waves and a ship", "the sea is salt"]
LAND = ["a tree on a hill of sand", "the tree of the land", "a road on the land", "hills of sand"]
LINES, Y = WATER + LAND, ["sea"] * 4 + ["land"] * 4


@both
def test_what_scikit_learn_expects_of_a_transformer(make):
    tfidf = make().fit(LINES, Y)
    tags = get_tags(tfidf)
    assert (tags.input_tags.string, tags.input_tags.two_d_array) == (True, False)
    assert not tags.target_tags.required
    fresh = clone(tfidf)
    assert fresh.get_params() == tfidf.get_params()
    for call in (lambda: fresh.transform(LINES), fresh.get_feature_names_out):
        with pytest.raises(NotFittedError):
            call()
    assert pickle.loads(pickle.dumps(tfidf)) == tfidf
    assert len(tfidf.get_feature_names_out()) == tfidf.transform(LINES).shape[1]
    if make is Tfidf:
        assert [tfidf.vocabulary_[term] for term in tfidf.terms] == [*range(len(tfidf.terms))]


@both
@pytest.mark.parametrize(
    "bad",
    [["a secret", None], ["a secret", b"\xe9"], "a secret", pd.DataFrame({"t": ["a secret"]})],
    ids=["none", "bytes", "text", "table"],
)
def test_a_failure_changes_nothing_and_shows_no_text(make, bad):
    tfidf = make().fit(WATER)
    for learn in (tfidf.fit, tfidf.partial_fit):
        with pytest.raises(ValueError, match=r"expected|decode") as caught:
            learn(bad)
        assert "secret" not in str(caught.value)
        assert tfidf == make().fit(WATER)


@pytest.mark.slow
@both
def test_an_interrupted_fit_leaves_all_texts_or_none(make):
    more = [*LAND, "a ship, a tree, a new word"]
    before, done = make().fit(WATER), make().fit(WATER)
    lines = run_traced(lambda: done.fit(more), 0)
    for number in range(1, lines, max(1, lines // 40)):
        tfidf = make().fit(WATER)
        tfidf.transform(WATER)
        run_traced(lambda t=tfidf: t.fit(more), number)
        assert tfidf in (before, done), number
        whole = before if tfidf == before else done
        assert (tfidf.transform(more) != whole.transform(more)).nnz == 0


@pytest.mark.parametrize(
    "form",
    [list, np.array, pd.Series, lambda t: [[x] for x in t], lambda t: np.array([t], object).T,
     lambda t: pd.DataFrame({"n": 1.0, "body": t})],
)  # fmt: skip
def test_text_is_refused_with_what_to_do_and_without_showing_it(form):
    learned = [e.fit(np.eye(8), Y) for e in (OCFS(), SRDA(), OnlineSRDA(), Window(OC()))]
    for call in (
        *(e.fit for e in learned), *(e.partial_fit for e in learned), Moments.of,
        lambda X, y: learned[1].transform(X), lambda X, y: learned[1].predict(X),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="expected numbers, got text") as e:
            call(form(LINES), Y)
        assert "ship" not in str(e.value)


class Derived(SRDA):
    """Not found by `load`."""


def test_what_is_not_of_narrows_is_not_saved(tmp_path):
    for model, error in (
        (make_pipeline(Tfidf(), LogisticRegression()).fit(LINES, Y), TypeError),
        (Derived().fit(np.eye(4), [0, 1, 0, 1]), TypeError),
        (make_pipeline(Tfidf(), SRDA()), NotFittedError),
        (Tfidf(), NotFittedError),
    ):
        with pytest.raises(error):
            save(model, tmp_path / "p.narrows")
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_reads_a_vectoriser_and_an_estimator(run, tmp_path):
    rows = [json.dumps({"label": label, "text": t}) for label, t in zip(Y, LINES, strict=True)]
    pipeline = make_pipeline(Tfidf(), SRDA()).fit(LINES, Y)
    save(pipeline, tmp_path / "p.narrows")
    assert run("transform p.narrows a.jsonl -o r.npz", a__jsonl="\n".join([*rows, ""]))[0] == 0
    with np.load(tmp_path / "r.npz") as archive:
        np.testing.assert_array_equal(archive["X"], pipeline.transform(LINES))
    assert "salt" in run("info p.narrows --top 2")[1]
    assert "narrows.load('p.narrows')[0] makes" in run("export p.narrows -o p.onnx")[1]
    assert run("update p.narrows a.jsonl -o new.narrows")[0] == 0
    assert load(tmp_path / "new.narrows").n_samples_seen_ == 16
    save(make_pipeline(Tfidf(), OCFS(n_features=3), OC()).fit(LINES, Y), tmp_path / "q.narrows")
    save(Tfidf().fit(LINES), tmp_path / "t.narrows")
    for name, got in (("q", "OCFS and OC"), ("t", "Tfidf alone")):
        status, _, err = run(f"transform {name}.narrows a.jsonl -o r.npz")
        assert (status, f"expected a model of one method, got {got}" in err) == (2, True)
