"""TF-IDF against scikit-learn's, however the texts are cut up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import (
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.pipeline import make_pipeline

from narrows.read import Source
from narrows.text import HashedTfidf, Tfidf

TOKEN = r"(?u)\b\w+\b"  # words of one letter, too
TEXTS = ["The sea, the sea!", "a strait is narrow", "", "The STRAIT of d'Artagnan \u00e9t\u00e9 42"]


def stored(tfidf):
    """What a model file holds of a vectoriser, as a vectoriser."""
    source = Source(tfidf=tfidf)
    return Source.of(source.settings(), source.to_arrays()).tfidf


@pytest.mark.parametrize("cut", [0, 1, 3, 4])
def test_it_is_scikit_learn_s_in_any_chunks(cut):
    theirs = TfidfVectorizer(sublinear_tf=True, token_pattern=TOKEN)
    expected = theirs.fit_transform(TEXTS)
    ours = Tfidf().update(TEXTS[:cut]).update(TEXTS[cut:])
    assert ours.terms.tolist() == theirs.get_feature_names_out().tolist()
    new = ["the the narrow unknown", "unknown"]
    np.testing.assert_allclose(ours.transform(TEXTS).toarray(), expected.toarray(), atol=1e-15)
    np.testing.assert_allclose(
        ours.transform(new).toarray(), theirs.transform(new).toarray(), atol=1e-15
    )


def test_counting_after_transforming_is_seen():
    ours = Tfidf().update(TEXTS[:2])
    ours.transform(TEXTS)
    ours.update(TEXTS[2:])
    assert ours == Tfidf().update(TEXTS)
    assert ours.transform(TEXTS).shape == (4, len(ours.terms))


def test_arrays_hold_all_there_is():
    ours = Tfidf().update(TEXTS)
    again = stored(ours)
    assert again == ours
    assert again != Tfidf().update(TEXTS[1:])
    np.testing.assert_array_equal(again.transform(TEXTS).toarray(), ours.transform(TEXTS).toarray())


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
    for other, message in (
        (HashedTfidf(512), "expected another Tfidf, got HashedTfidf"),
        (Tfidf(min_df=2), "got min_df=1 and min_df=2"),
        (Tfidf("english"), "got stop_words=None and stop_words='english'"),
    ):
        with pytest.raises(ValueError, match=message):
            Tfidf() + other
    with pytest.raises(ValueError, match="got n_features=512 and n_features=64"):
        HashedTfidf(512) + HashedTfidf(64)
    for bad, named in (
        (lambda: Tfidf("german"), "stop_words"),
        (lambda: Tfidf(min_df=0), "min_df"),
        (lambda: HashedTfidf(0), "n_features"),
    ):
        with pytest.raises(ValueError, match=named):
            bad().fit(TEXTS)


@pytest.mark.parametrize("words", [None, "english", ["the", "of"]])
@pytest.mark.parametrize("least", [1, 3])
def test_stop_words_and_rare_terms_are_scikit_learn_s(words, least):
    theirs = TfidfVectorizer(
        sublinear_tf=True, token_pattern=TOKEN, stop_words=words, min_df=least
    ).fit(MANY)
    ours = Tfidf(words, least).update(MANY[:4]).update(MANY[4:])
    assert ours.terms.tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_allclose(
        ours.transform(TEXTS).toarray(), theirs.transform(TEXTS).toarray(), atol=1e-15
    )
    assert stored(ours) == ours


@pytest.mark.parametrize("words", [None, "english"])
def test_hashed_rows_are_scikit_learn_s(words):
    theirs = make_pipeline(
        HashingVectorizer(
            n_features=64, alternate_sign=False, norm=None, token_pattern=TOKEN, stop_words=words
        ),
        TfidfTransformer(sublinear_tf=True),
    ).fit(MANY)
    ours = HashedTfidf(64, words).update(MANY[:5]).update(MANY[5:])
    np.testing.assert_allclose(
        ours.transform(TEXTS).toarray(), theirs.transform(TEXTS).toarray(), atol=1e-15
    )
    again = stored(ours)
    assert again == ours
    np.testing.assert_array_equal(again.transform(MANY).toarray(), ours.transform(MANY).toarray())


@pytest.mark.parametrize("given", [pa.array, pl.Series, pd.Series, np.array])
def test_columns_of_other_libraries_are_texts(given):
    np.testing.assert_array_equal(
        Tfidf().fit_transform(given(TEXTS)).toarray(), Tfidf().fit_transform(TEXTS).toarray()
    )


@pytest.mark.parametrize("made", [Tfidf, lambda: HashedTfidf(16)], ids=["terms", "hashed"])
@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ("a text", "got one text"),
        (["one", None], "got a missing value at position 1"),
        (["one", float("nan")], "got a missing value at position 1"),
        (["one", pd.NA], "got a missing value at position 1"),
        (["one", 2], "got int at position 1"),
        ([b"\xe9"], r"bytes that are no UTF-8: .* can't decode byte 0xe9.*Decode them"),
    ],
)
def test_what_is_no_list_of_texts_is_refused_and_not_counted(made, bad, named):
    ours = made().update(TEXTS)
    with pytest.raises(ValueError, match=named):
        ours.update(bad)
    assert ours == made().update(TEXTS)
    with pytest.raises(ValueError, match=named):
        ours.transform(bad)


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


def test_counts_that_cannot_be():
    for made in (Tfidf, lambda: HashedTfidf(16)):
        with pytest.raises(ValueError, match="expected counts added before, got larger ones"):
            made().update(["x"] * 100) - made().update([""] * 99)  # x in 100 of 1 text
    with pytest.raises(ValueError, match="expected `n_features` to be an integer from 1 to 2,147"):
        HashedTfidf(2**31).fit(TEXTS)
    with pytest.raises(ValueError, match="at least one term in min_df=100 texts, got none in 9"):
        Tfidf(min_df=np.int64(100)).update(MANY).transform(MANY)
