"""TF-IDF against scikit-learn's, however the texts are cut up."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from narrows.text import TOKEN, Tfidf

TEXTS = ["The sea, the sea!", "a strait is narrow", "", "The STRAIT of d'Artagnan \u00e9t\u00e9 42"]


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
    again = Tfidf.from_arrays(ours.to_arrays())
    assert again == ours
    assert again != Tfidf().update(TEXTS[1:])
    np.testing.assert_array_equal(again.transform(TEXTS).toarray(), ours.transform(TEXTS).toarray())
