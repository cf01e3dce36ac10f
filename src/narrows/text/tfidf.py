"""TF-IDF with one feature per term."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from narrows.solve.undo import Undo
from narrows.text.base import TOKEN, StopWords, Vectoriser, check


class Tfidf(Vectoriser):
    """TF-IDF vectoriser with one feature per term and additive document frequencies.

    Texts are converted to lower case. Tokens are runs of one or more word characters. A value is (1
    + ln tf) (ln((1 + n) / (1 + df)) + 1), and each sample is scaled to norm 1.

    Parameters
    ----------
    stop_words : {"english"}, collection of str or None
        Words to ignore: scikit-learn's list, or your own.
    min_df : int
        Terms in fewer texts are counted, but have no feature.

    Attributes
    ----------
    document_frequency_ : Counter
        Number of texts that contain each term.
    n_documents_ : int
        Number of texts counted.
    vocabulary_ : dict
        The feature of each term.
    idf_ : ndarray of shape (n_features,)
        The weight of each feature, ln((1 + n) / (1 + df)) + 1.
    terms : ndarray of str objects of shape (n_features,)
        The terms in the order of the features.

    Raises
    ------
    ParameterError
        min_df is below 1, or stop words are invalid.
    ValueError
        X contains something other than texts, no term is in at least min_df texts, or more is
        subtracted than was counted.

    See Also
    --------
    HashedTfidf : TF-IDF with a fixed number of features, for streams.
    sklearn.feature_extraction.text.TfidfVectorizer : The same transform, fitted to all texts.

    Notes
    -----
    **Cost**: one pass over the words of each text, in scikit-learn; memory proportional to the
    number of terms.

    Features and their weights depend on all texts counted: count all texts first, with `fit`,
    `partial_fit` or `merge`, and transform afterwards. ``a + b`` and ``a - b`` return new
    vectorisers with added or subtracted counts.

    Examples
    --------
    >>> from narrows.text import Tfidf
    >>> tfidf = Tfidf().fit(["the sea", "the strait"])
    >>> tfidf.terms.tolist()
    ['sea', 'strait', 'the']
    >>> tfidf.transform(["the the sea"]).shape
    (1, 3)
    >>> tfidf.merge(Tfidf().fit(["a strait"])).document_frequency_["strait"]
    2

    In a pipeline, before any method:

    >>> from narrows import SRDA
    >>> from sklearn.pipeline import make_pipeline
    >>> texts = ["a ship at sea", "salt of the sea", "a tree on a hill", "the tree of the land"]
    >>> pipeline = make_pipeline(Tfidf(), SRDA()).fit(texts, ["sea", "sea", "land", "land"])
    >>> pipeline.predict(["a salty ship at sea"]).tolist()
    ['sea']
    """

    _compared = ("stop_words", "min_df")

    def __init__(self, stop_words: StopWords = None, min_df: int = 1) -> None:
        self.stop_words, self.min_df = stop_words, min_df

    @property
    def document_frequency(self) -> Counter[str]:
        """Number of texts that contain each term."""
        found: Counter[str] | None = getattr(self, "document_frequency_", None)
        return Counter() if found is None else found

    @property
    def terms(self) -> np.ndarray:
        """The terms in the order of the features, an array of str objects."""
        return self._computed[0]

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The feature of each term."""
        check_is_fitted(self)
        return {term: k for k, term in enumerate(self.terms.tolist())}

    @property
    def idf_(self) -> np.ndarray:
        """ln((1 + n) / (1 + df)) + 1 of each feature, of shape (n_features,)."""
        check_is_fitted(self)
        frequency = self.document_frequency
        return self._idf(np.array([frequency[term] for term in self.terms], dtype=np.int64))

    @property
    def names(self) -> np.ndarray:
        """The terms."""
        return self.terms

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return len(self.terms)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the terms in the order of the features; `input_features` is ignored.

        Returns
        -------
        names : ndarray of str objects of shape (n_features,)
            The terms.

        See Also
        --------
        transform : Transform texts to samples.
        """
        check_is_fitted(self)
        return self.terms

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return settings and counts as named arrays; `narrows.io.source` reads them."""
        frequency = self.document_frequency
        terms = np.array(sorted(frequency), dtype=object)
        return self._settings() | {
            "terms": terms,
            "document_frequency": np.array([frequency[term] for term in terms], dtype=np.int64),
            "min_df": np.array(self.min_df),
        }

    def _check(self) -> None:
        check("Tfidf", self.stop_words, "min_df", self.min_df)

    def _count(self, texts: Sequence[str], undo: Undo) -> None:
        analyzer = CountVectorizer(token_pattern=TOKEN, stop_words=self._stop_list)
        tokens = analyzer.build_analyzer()
        found: Counter[str] = Counter()  # kept apart until no text raises
        for text in texts:
            found.update(set(tokens(text)))
        frequency = self.document_frequency
        before = {term: frequency[term] for term in found}

        def restore() -> None:
            frequency.update({term: count - frequency[term] for term, count in before.items()})
            for term in [term for term, count in before.items() if not count]:
                frequency.pop(term, None)

        undo.step(restore)
        self.document_frequency_ = frequency
        frequency.update(found)

    def _rows(self, texts: Iterable[str]) -> Any:
        vectorizer = self._computed[1]
        if vectorizer is None:
            raise ValueError(
                f"Tfidf: expected at least one term in min_df={self.min_df} texts, got none in "
                f"{self.n_documents} texts. Count other texts first, or use a smaller min_df."
            )
        return vectorizer.transform(texts)

    def _set_frequencies(self, a: Self, b: Self, sign: int) -> tuple[int, int]:
        found = a.document_frequency.copy()
        for term, texts in b.document_frequency.items():
            found[term] += sign * texts
        self.document_frequency_ = Counter({t: texts for t, texts in found.items() if texts})
        return min(found.values(), default=0), max(found.values(), default=0)

    def _compute(self) -> tuple[np.ndarray, TfidfVectorizer | None]:
        """Return the terms, and what transforms texts if there are terms."""
        frequency = self.document_frequency
        common = (term for term, texts in frequency.items() if texts >= self.min_df)
        terms = np.array(sorted(common), dtype=object)
        if not len(terms):
            return terms, None
        vectorizer = TfidfVectorizer(
            sublinear_tf=True, token_pattern=TOKEN, vocabulary=terms, stop_words=self._stop_list
        )
        vectorizer.idf_ = self._idf(np.array([frequency[term] for term in terms]))
        return terms, vectorizer
