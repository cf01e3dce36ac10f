"""TF-IDF with hashed features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.utils.validation import check_is_fitted

from narrows.solve.undo import Undo
from narrows.text.base import TOKEN, StopWords, Vectoriser, check

MOST = 2**31 - 1  # features at most


class HashedTfidf(ClassNamePrefixFeaturesOutMixin, Vectoriser):
    """TF-IDF vectoriser with hashed features and additive document frequencies.

    The hash of a term is its feature, for streams with an unknown vocabulary. Memory is constant,
    features have no names, and terms with the same hash share a feature.

    Parameters
    ----------
    n_features : int
        Number of features.
    stop_words : {"english"}, collection of str or None
        Words to ignore: scikit-learn's list, or your own.

    Attributes
    ----------
    document_frequency_ : ndarray of shape (n_features,)
        Number of texts that contain a term of each feature.
    n_documents_ : int
        Number of texts counted.

    Raises
    ------
    ParameterError
        n_features is out of range, or stop words are invalid.
    ValueError
        X contains something other than texts, or more is subtracted than was counted.

    See Also
    --------
    Tfidf : TF-IDF with one named feature per term.
    sklearn.feature_extraction.text.HashingVectorizer : Hashed counts without idf.

    Notes
    -----
    **Cost**: one pass over the words of each text, in scikit-learn; memory 8 n_features bytes.

    Examples
    --------
    >>> from narrows.text import HashedTfidf
    >>> hashed = HashedTfidf(n_features=1024).fit(["the sea", "the strait"])
    >>> hashed.transform(["a strange new word"]).shape
    (1, 1024)
    """

    _compared = ("n_features", "stop_words")

    def __init__(self, n_features: int = 2**20, stop_words: StopWords = None) -> None:
        self.n_features, self.stop_words = n_features, stop_words

    @property
    def document_frequency(self) -> np.ndarray:
        """Number of texts that contain a term of each feature, of shape (n_features,)."""
        found = getattr(self, "document_frequency_", None)
        return np.zeros(self.n_features, dtype=np.int64) if found is None else found

    @property
    def names(self) -> None:
        """None: hashed features have no names."""
        return None

    @property
    def n_terms(self) -> int:
        """Number of features that have a term."""
        return int(np.count_nonzero(self.document_frequency))

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return int(self.n_features)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return settings and counts as named arrays; `narrows.io.source` reads them."""
        return self._settings() | {"hashed_frequency": self.document_frequency}

    def _check(self) -> None:
        check("HashedTfidf", self.stop_words, "n_features", self.n_features, MOST)

    def _count(self, texts: Sequence[str], undo: Undo) -> None:
        columns = self._hashed(texts).indices  # each feature once per text
        found = np.bincount(columns, minlength=self.n_features)
        self.document_frequency_ = self.document_frequency + found

    def _rows(self, texts: Iterable[str]) -> Any:
        return self._computed.transform(self._hashed(texts), copy=False)

    def _compute(self) -> TfidfTransformer:
        """Return what weighs counts."""
        transformer = TfidfTransformer(sublinear_tf=True)
        transformer.idf_ = self._idf(self.document_frequency)
        return transformer

    def _hashed(self, texts: Iterable[str]) -> Any:
        return HashingVectorizer(
            n_features=self.n_features, alternate_sign=False, norm=None, token_pattern=TOKEN,
            stop_words=self._stop_list,
        ).transform(texts)  # fmt: skip

    def _set_frequencies(self, a: Self, b: Self, sign: int) -> tuple[int, int]:
        self.document_frequency_ = a.document_frequency + sign * b.document_frequency
        return int(self.document_frequency.min()), int(self.document_frequency.max())
