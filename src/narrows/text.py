"""TF-IDF whose document frequencies add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

TOKEN = r"(?u)\b\w+\b"


class Tfidf:
    """Turn texts into rows of TF-IDF, with terms counted chunk by chunk.

    Lower case; tokens are runs of word characters, single ones too; a row is
    (1 + ln tf) (ln((1 + n) / (1 + df)) + 1), scaled to length 1. This is scikit-learn's
    ``TfidfVectorizer(sublinear_tf=True, token_pattern=TOKEN)``, which makes the rows; the
    counting is here, because that one cannot be fitted in chunks.

    Attributes
    ----------
    n_documents : int
        Texts counted.
    document_frequency : Counter
        In how many texts each term occurs.

    Notes
    -----
    The columns are the terms in alphabetical order, so they and their weights are settled only
    when all texts have been counted: count first, then transform.

    Examples
    --------
    >>> from narrows.text import Tfidf
    >>> tfidf = Tfidf().update(["the sea", "the strait"])
    >>> tfidf.terms.tolist()
    ['sea', 'strait', 'the']
    >>> tfidf.transform(["the the sea"]).shape
    (1, 3)
    """

    def __init__(self) -> None:
        self.n_documents = 0
        self.document_frequency: Counter[str] = Counter()

    def update(self, texts: Iterable[str]) -> Self:
        """Count the terms of more texts."""
        tokens = CountVectorizer(token_pattern=TOKEN).build_analyzer()
        for text in texts:
            self.document_frequency.update(set(tokens(text)))
            self.n_documents += 1
        for cached in ("terms", "_vectorizer"):
            self.__dict__.pop(cached, None)
        return self

    def transform(self, texts: Iterable[str]) -> sparse.csr_array:
        """Return one row a text, of shape (n, number of terms); unknown terms are left out."""
        return sparse.csr_array(self._vectorizer.transform(texts))

    @cached_property
    def terms(self) -> np.ndarray:
        """The terms in the order of the columns, as an array of str objects."""
        return np.array(sorted(self.document_frequency), dtype=object)

    @cached_property
    def _vectorizer(self) -> TfidfVectorizer:
        terms = self.terms
        vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=TOKEN, vocabulary=terms)
        df = np.array([self.document_frequency[term] for term in terms], dtype=np.float64)
        vectorizer.idf_ = np.log((1 + self.n_documents) / (1 + df)) + 1
        return vectorizer

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tfidf)
            and self.n_documents == other.n_documents
            and self.document_frequency == other.document_frequency
        )

    __hash__ = None  # type: ignore[assignment]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the counts as named arrays, for `from_arrays`."""
        terms = self.terms
        frequency = np.array([self.document_frequency[term] for term in terms], dtype=np.int64)
        return {
            "terms": terms,
            "document_frequency": frequency,
            "n_documents": np.array(self.n_documents),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Tfidf:
        """Return the vectoriser that `to_arrays` described."""
        new = cls()
        new.n_documents = int(arrays["n_documents"])
        frequency = arrays["document_frequency"].tolist()
        new.document_frequency = Counter(
            dict(zip(arrays["terms"].tolist(), frequency, strict=True))
        )
        return new
