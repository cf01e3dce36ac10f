"""Words of texts in all of Unicode, and the terms made of them, against scikit-learn and `re`."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)

from narrows.errors import ParameterError
from narrows.read import Source, iter_chunks
from narrows.text import HashedTfidf, Tfidf
from tests.conftest import nightly
from tests.inside import pretend

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


# -- characters ----------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("İstanbul IŞIK ışık", ["i", "stanbul", "işik", "ışık"]),
        ("STRASSE Straße STRAẞE", ["strasse", "straße"]),
        ("ΟΔΟΣ ΟΔΟΣ. ΣΑΣ Σ", ["οδος", "σας", "σ"]),
        ("cafe\u0301 caf\u00e9 \u0301x", ["cafe", "café", "x"]),
        ("x_1 _ 2\u00b2 \u0663 \u2460 1.5", ["x_1", "_", "2\u00b2", "\u0663", "\u2460", "1", "5"]),
        ("\ud83ea \udd89 b\ud800c \U0001d400\U0001f989", ["a", "b", "c", "\U0001d400"]),
        ("nul\0nul \0\0 a\0", ["nul", "a"]),
        ("\ufeffmark ma\ufeffrk", ["mark", "ma", "rk"]),
        ("Ⱥ" * 500 + " ", ["ⱥ" * 500]),
        ("K", ["k"]),
        ("\u00ff\u00fe \uffff\U0010ffff z", ["\u00ff\u00fe", "z"]),
    ],
)  # fmt: skip
def test_words(text, words):
    assert sorted(set(re.findall(TOKEN, text.lower()))) == sorted(set(words))  # says Python
    assert set(Tfidf().fit([text]).document_frequency_) == set(words)


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
    counts = CountVectorizer(**settings).fit_transform(texts)
    present = np.bincount(counts.indices, minlength=counts.shape[1])
    assert list(map(ours.document_frequency_.__getitem__, ours.terms)) == present.tolist()
    same_rows(ours.transform(more), theirs.transform(more))
    in_batches = Tfidf(words, ngram_range=sizes)
    for start in range(0, 600, 70):
        in_batches.partial_fit(texts[start : start + 70])
    assert in_batches == ours == stored(ours)
    same_rows(stored(ours).transform(more), theirs.transform(more))

    hashed = HashedTfidf(1000, words, sizes)
    their_counts = HashingVectorizer(n_features=1000, alternate_sign=False, norm=None, **settings)
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(their_counts.transform(texts))
    same_rows(hashed.fit_transform(texts), expected)
    same_rows(stored(hashed).transform(texts), expected)
    half = HashedTfidf(1000, words, sizes).fit(texts[:300])
    assert half.merge(HashedTfidf(1000, words, sizes).fit(texts[300:])) == hashed


@pytest.mark.data
@pytest.mark.parametrize("name", [nightly("20news_bydate.jsonl.gz"), "r8.jsonl.gz"])
@pytest.mark.slow
def test_terms_of_real_texts_are_scikit_learn_s(data, name):
    texts = [text for X, _ in iter_chunks(data / name) for text in X][::7]
    theirs = TfidfVectorizer(sublinear_tf=True, token_pattern=TOKEN, min_df=2)
    expected = theirs.fit_transform(texts)
    ours = Tfidf(min_df=2)
    same_rows(ours.fit_transform(texts), expected)
    assert ours.terms.tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_array_equal(ours.idf_, theirs.idf_)
    hashing = HashingVectorizer(alternate_sign=False, norm=None, token_pattern=TOKEN)
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(hashing.transform(texts))
    same_rows(HashedTfidf().fit_transform(texts), expected)


# -- sizes ---------------------------------------------------------------------------------------


# -- settings ------------------------------------------------------------------------------------


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
    again = stored(ours)
    assert again == ours == merged
    assert again.get_params() == ours.get_params()
    same_rows(again.partial_fit(texts).transform(texts), ours.partial_fit(texts).transform(texts))


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


def test_parameters_that_are_set_later():
    counted = "as texts were counted, got 2. Fit again"
    with pytest.raises(ParameterError, match=f"max_features=None, {counted}"):
        Tfidf().fit(SEA).set_params(max_features=2).transform(SEA)
    with pytest.raises(ParameterError, match=f"n_features=9, {counted}"):
        HashedTfidf(9).fit(SEA).set_params(n_features=2).partial_fit(SEA).transform(SEA)
    for made in (Tfidf, HashedTfidf):
        with pytest.raises(ParameterError, match="expected `ngram_range` to be two integers"):
            made().fit(SEA).set_params(ngram_range=2).transform(SEA)
    tfidf = Tfidf(max_features=2).fit(SEA).set_params(max_features=None).partial_fit(SEA)
    assert tfidf + tfidf == Tfidf().fit(SEA * 4)
    with_totals = Tfidf(max_features=2).fit(SEA).set_params(max_features=None)
    assert Tfidf().fit(SEA) + with_totals == with_totals + Tfidf().fit(SEA) == Tfidf().fit(SEA * 2)


def test_an_analyzer_that_fails_changes_nothing():
    def analyzer(text):
        return [5] if text == "bad" else 1 / len(text) and text.split()

    for made in (Tfidf, HashedTfidf):
        tfidf = made(analyzer=analyzer).fit(["a b", "b"])
        with pytest.raises(ZeroDivisionError):
            tfidf.partial_fit(["c", ""])
        with pytest.raises(ValueError, match="expected an analyzer that returns texts, got 5"):
            tfidf.partial_fit(["c", "bad"])
        assert tfidf.n_documents_ == 2
        same_rows(
            tfidf.transform(["a b c"]),
            made(analyzer=analyzer).fit(["a b", "b"]).transform(["a b c"]),
        )


# -- counts --------------------------------------------------------------------------------------

TEXTS = ["The sea, the sea!", "a strait is narrow", "", "The STRAIT of d'Artagnan \u00e9t\u00e9 42"]
MANY = [f"{a} {b} the" for a in ["sea", "strait", "ship"] for b in ["of", "sand", "narrow"]]


@pytest.mark.parametrize("make", [Tfidf, lambda: HashedTfidf(512)], ids=["terms", "hashed"])
def test_counts_add_up_and_are_taken_out(make):
    whole, a, b = make().update(TEXTS + MANY), make().update(TEXTS), make().update(MANY)
    assert a + b == whole
    assert b + a == whole
    assert whole - b == a
    assert whole - a == b
    assert stored(a + b) == whole
    assert sum([b], start=a).n_documents == len(TEXTS + MANY)
    np.testing.assert_array_equal(
        (whole - b).transform(MANY).toarray(), a.transform(MANY).toarray()
    )
    with pytest.raises(ValueError, match="expected counts added before, got larger ones"):
        a - whole


def test_what_differs_does_not_add_up():
    for other in (HashedTfidf(512), Tfidf(min_df=2), Tfidf("english")):
        with pytest.raises(ValueError, match=r"expected .*got"):
            Tfidf() + other
    with pytest.raises(ValueError, match="got n_features=512 and n_features=64"):
        HashedTfidf(512) + HashedTfidf(64)
    for made in (Tfidf, lambda: HashedTfidf(16)):
        with pytest.raises(ValueError, match="expected counts added before, got larger ones"):
            made().update(["x"] * 100) - made().update([""] * 99)  # x in 100 of 1 text


@pytest.mark.parametrize("given", [pa.array, pl.Series, pd.Series, np.array])
def test_columns_of_other_libraries_are_texts(given):
    np.testing.assert_array_equal(
        Tfidf().fit_transform(given(TEXTS)).toarray(), Tfidf().fit_transform(TEXTS).toarray()
    )


def test_stop_words_are_a_set_in_lower_case():
    a, b = Tfidf({"The", "of"}).update(MANY), Tfidf(["of", "the", "the"]).update(MANY)
    assert a == b
    assert "the" not in a.terms
    assert Tfidf([]) == Tfidf()
    for listed in (Tfidf(["english"]), HashedTfidf(8, ["english"])):
        assert stored(listed) == listed
        assert stored(listed).stop_words == ("english",)
    for bad in (5, [1], b"the"):
        with pytest.raises(ValueError, match="a list of words or None, got"):
            Tfidf(bad).fit(TEXTS)
