"""TF-IDF with additive document frequencies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)

from narrows.solve.errors import ParameterError

__all__ = ["HashedTfidf", "Tfidf"]

TOKEN = r"(?u)\b\w+\b"
StopWords = str | Collection[str] | None
ENGLISH = "english"  # the name of scikit-learn's list
MOST = 2**31 - 1  # hashed features at most


class Vectoriser(ABC):
    """Base of the vectorisers: counts the texts that hold each term, and transforms texts.

    scikit-learn transforms the texts; its vectorisers support neither fitting in chunks nor
    merging, so the counting is here. Samples transformed with different document frequencies are
    not comparable: count all texts first, then transform.
    """

    _compared: ClassVar[tuple[str, ...]]
    n_documents: int
    stop_words: StopWords

    def update(self, texts: Iterable[str]) -> Self:
        """Count the terms of more texts."""
        texts = self._texts(texts)
        self._count(texts)
        self.n_documents += len(texts)
        self._drop_computed()
        return self

    def __add__(self, other: Self) -> Self:
        return self._combined(other, 1)

    def __sub__(self, other: Self) -> Self:
        return self._combined(other, -1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vectoriser):
            return False
        mine, theirs = self.to_arrays(), other.to_arrays()
        return mine.keys() == theirs.keys() and all(
            np.array_equal(mine[name], theirs[name]) for name in mine
        )

    __hash__ = None  # type: ignore[assignment]

    def transform(self, texts: Iterable[str]) -> sparse.csr_array:
        """Return texts as a matrix of shape (n_samples, n_features); unknown terms are ignored."""
        return sparse.csr_array(self._rows(self._texts(texts)))

    @property
    @abstractmethod
    def names(self) -> np.ndarray | None:
        """The terms in the order of the features, an array of str objects; None if hashed."""

    @property
    @abstractmethod
    def n_terms(self) -> int:
        """Number of features that have a term."""

    @abstractmethod
    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return settings and counts as named arrays; `narrows.io.source` reads them."""

    def _check_settings(self, other: object) -> None:
        """Raise ValueError if another vectoriser has other settings."""
        name = type(self).__name__
        if type(other) is not type(self):
            raise ValueError(f"{name}: expected another {name}, got {type(other).__name__}.")
        for setting in self._compared:
            mine, theirs = getattr(self, setting), getattr(other, setting)
            if mine != theirs:
                raise ValueError(
                    f"{name}: expected the same settings, got {setting}={mine!r} and "
                    f"{setting}={theirs!r}."
                )

    # -- inside -----------------------------------------------------------------------------

    def _texts(self, texts: Iterable[str]) -> list[str]:
        found = list(texts)
        odd = [text for text in found if not isinstance(text, str | bytes)]
        if odd or isinstance(texts, str | bytes):
            got, who = repr(odd[0] if odd else texts), type(self).__name__
            raise ValueError(f"{who}: expected a list of texts, each a str, got {got:.60}.")
        return found

    @abstractmethod
    def _count(self, texts: Sequence[str]) -> None:
        """Add to the document frequencies."""

    @abstractmethod
    def _rows(self, texts: Iterable[str]) -> Any:
        """The transformed texts."""

    def _combined(self, other: Self, sign: int) -> Self:
        """Return a new vectoriser with the sum or difference of the counts."""
        self._check_settings(other)
        new = type(self)(**{name: getattr(self, name) for name in self._compared})
        new.n_documents = self.n_documents + sign * other.n_documents
        smallest, largest = new._set_frequencies(self, other, sign)
        if smallest < 0 or new.n_documents < largest:
            raise ValueError(
                f"{type(self).__name__}: expected counts added before, got larger ones."
            )
        return new

    @abstractmethod
    def _set_frequencies(self, a: Self, b: Self, sign: int) -> tuple[int, int]:
        """Set the document frequencies to a + sign b; return the smallest and the largest."""

    @property
    def _stop_list(self) -> Any:
        """The stop words as scikit-learn takes them."""
        words = self.stop_words
        return words if words is None or isinstance(words, str) else list(words)

    def _idf(self, frequency: np.ndarray) -> np.ndarray:
        return np.log((1 + self.n_documents) / (1 + frequency.astype(np.float64))) + 1

    def _drop_computed(self) -> None:
        """Drop what was computed from the earlier counts."""
        for cached in ("terms", "_vectorizer"):
            self.__dict__.pop(cached, None)

    def _settings(self) -> dict[str, np.ndarray]:
        words = self.stop_words
        arrays = {"n_documents": np.array(self.n_documents)}
        if words is not None:
            listed = [words] if isinstance(words, str) else list(words)
            if words == (ENGLISH,):  # a list of this word is stored twice; once is the name
                listed *= 2
            arrays["stop_words"] = np.array(listed, dtype=object)
        return arrays


class Tfidf(Vectoriser):
    """TF-IDF vectoriser with one feature per term and additive document frequencies.

    Texts are lower-cased; tokens are runs of word characters, including single ones; a value is
    (1 + ln tf) (ln((1 + n) / (1 + df)) + 1), and each sample is scaled to length 1.

    Parameters
    ----------
    stop_words : {"english"}, collection of str or None
        Words to ignore: scikit-learn's list, or your own.
    min_df : int
        Terms in fewer texts get no feature. They are counted nevertheless.

    Attributes
    ----------
    document_frequency : Counter
        Number of texts that hold each term.
    n_documents : int
        Number of texts counted.

    Raises
    ------
    ParameterError
        min_df below 1, or invalid stop words.
    ValueError
        Anything but texts, no term in at least min_df texts, or more subtracted than was counted.

    See Also
    --------
    HashedTfidf : TF-IDF with a fixed number of features, for streams.
    sklearn.feature_extraction.text.TfidfVectorizer : The same transform, fitted to all texts.

    Notes
    -----
    **Cost**: one pass over the words of each text, in scikit-learn; memory for each term.

    Features and their weights depend on all texts counted: call `update` with all texts first, and
    `transform` afterwards. ``a + b`` and ``a - b`` add and subtract counts.

    Examples
    --------
    >>> from narrows.text import Tfidf
    >>> tfidf = Tfidf().update(["the sea", "the strait"])
    >>> tfidf.terms.tolist()
    ['sea', 'strait', 'the']
    >>> tfidf.transform(["the the sea"]).shape
    (1, 3)
    >>> (tfidf + Tfidf().update(["a strait"])).document_frequency["strait"]
    2
    """

    _compared = ("stop_words", "min_df")

    def __init__(self, stop_words: StopWords = None, min_df: int = 1) -> None:
        _check("Tfidf", stop_words, "min_df", min_df)
        self.stop_words, self.min_df = _words(stop_words), int(min_df)
        self.n_documents = 0
        self.document_frequency: Counter[str] = Counter()

    @cached_property
    def terms(self) -> np.ndarray:
        """The terms in the order of the features, an array of str objects."""
        common = (t for t, texts in self.document_frequency.items() if texts >= self.min_df)
        return np.array(sorted(common), dtype=object)

    @property
    def names(self) -> np.ndarray:
        """The terms."""
        return self.terms

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return len(self.terms)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return settings and counts as named arrays; `narrows.io.source` reads them."""
        terms = np.array(sorted(self.document_frequency), dtype=object)
        frequency = [self.document_frequency[term] for term in terms]
        return self._settings() | {
            "terms": terms,
            "document_frequency": np.array(frequency, dtype=np.int64),
            "min_df": np.array(self.min_df),
        }

    def _count(self, texts: Sequence[str]) -> None:
        analyzer = CountVectorizer(token_pattern=TOKEN, stop_words=self._stop_list)
        tokens = analyzer.build_analyzer()
        found: Counter[str] = Counter()  # kept apart until no text raises
        for text in texts:
            found.update(set(tokens(text)))
        self.document_frequency.update(found)

    def _rows(self, texts: Iterable[str]) -> Any:
        return self._vectorizer.transform(texts)

    def _set_frequencies(self, a: Self, b: Self, sign: int) -> tuple[int, int]:
        found = a.document_frequency.copy()
        for term, texts in b.document_frequency.items():
            found[term] += sign * texts
        self.document_frequency = Counter({t: texts for t, texts in found.items() if texts})
        return min(found.values(), default=0), max(found.values(), default=0)

    @cached_property
    def _vectorizer(self) -> TfidfVectorizer:
        terms = self.terms
        if not len(terms):
            raise ValueError(
                f"Tfidf: expected at least one term in min_df={self.min_df} texts, got none in "
                f"{self.n_documents} texts. Call update with texts first, or use a smaller min_df."
            )
        vectorizer = TfidfVectorizer(
            sublinear_tf=True, token_pattern=TOKEN, vocabulary=terms, stop_words=self._stop_list
        )
        vectorizer.idf_ = self._idf(np.array([self.document_frequency[term] for term in terms]))
        return vectorizer


class HashedTfidf(Vectoriser):
    """TF-IDF vectoriser with hashed features and additive document frequencies.

    Each term's hash is its feature, for streams with an unknown vocabulary: memory is fixed,
    features have no names, and terms with the same hash share a feature.

    Parameters
    ----------
    n_features : int
        Number of features.
    stop_words : {"english"}, collection of str or None
        Words to ignore: scikit-learn's list, or your own.

    Attributes
    ----------
    document_frequency : ndarray of shape (n_features,)
        Number of texts that hold a term of each feature.
    n_documents : int
        Number of texts counted.

    Raises
    ------
    ParameterError
        n_features out of range, or invalid stop words.
    ValueError
        Anything but texts, or more subtracted than was counted.

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
    >>> hashed = HashedTfidf(n_features=1024).update(["the sea", "the strait"])
    >>> hashed.transform(["a strange new word"]).shape
    (1, 1024)
    """

    _compared = ("n_features", "stop_words")

    def __init__(self, n_features: int = 2**20, stop_words: StopWords = None) -> None:
        _check("HashedTfidf", stop_words, "n_features", n_features, MOST)
        self.n_features, self.stop_words = int(n_features), _words(stop_words)
        self.n_documents = 0
        self.document_frequency = np.zeros(n_features, dtype=np.int64)

    @property
    def names(self) -> None:
        """None: hashed features have no names."""
        return None

    @property
    def n_terms(self) -> int:
        """Number of features that have a term."""
        return int(np.count_nonzero(self.document_frequency))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return settings and counts as named arrays; `narrows.io.source` reads them."""
        return self._settings() | {"hashed_frequency": self.document_frequency}

    def _count(self, texts: Sequence[str]) -> None:
        columns = self._hashed(texts).indices  # each feature once per text
        self.document_frequency += np.bincount(columns, minlength=self.n_features)

    def _rows(self, texts: Iterable[str]) -> Any:
        return self._vectorizer.transform(self._hashed(texts), copy=False)

    def _hashed(self, texts: Iterable[str]) -> Any:
        return HashingVectorizer(
            n_features=self.n_features, alternate_sign=False, norm=None, token_pattern=TOKEN,
            stop_words=self._stop_list,
        ).transform(texts)  # fmt: skip

    def _set_frequencies(self, a: Self, b: Self, sign: int) -> tuple[int, int]:
        self.document_frequency = a.document_frequency + sign * b.document_frequency
        return int(self.document_frequency.min()), int(self.document_frequency.max())

    @cached_property
    def _vectorizer(self) -> TfidfTransformer:
        transformer = TfidfTransformer(sublinear_tf=True)
        transformer.idf_ = self._idf(self.document_frequency)
        return transformer


def _words(stop_words: StopWords) -> StopWords:
    """Return stop words sorted and in lower case, as they are compared and stored."""
    if stop_words is None or isinstance(stop_words, str):
        return stop_words
    return tuple(sorted({word.lower() for word in stop_words})) or None


def _check(who: str, stop_words: StopWords, name: str, value: Any, most: float = np.inf) -> None:
    words: Any = () if stop_words is None or stop_words == ENGLISH else stop_words
    listed = isinstance(words, Collection) and not isinstance(words, str | bytes)
    if not listed or not all(isinstance(word, str) for word in words):
        raise ParameterError(
            f'{who}: expected stop_words to be "english", a list of words or None, '
            f"got {stop_words!r}."
        )
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= most:
        limit = "" if most == np.inf else f" and <= {most:,}"
        raise ParameterError(f"{who}: expected {name} to be an integer >= 1{limit}, got {value!r}.")
