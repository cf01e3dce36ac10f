"""TF-IDF whose document frequencies add up: over a vocabulary, or over hashed columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
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
from narrows.solve.schema import COUNT, SORTED, Check, Field, between, checked

__all__ = ["HashedTfidf", "Tfidf"]

TOKEN = r"(?u)\b\w+\b"
StopWords = str | Collection[str] | None
_ENGLISH = "english"  # the name of scikit-learn's list
MOST = 2**31 - 1  # columns that can be hashed


class Vectoriser(ABC):
    """Counts in how many texts each term occurs, and turns texts into rows by that.

    Lower case; tokens are runs of word characters, single ones too; a row is
    (1 + ln tf) (ln((1 + n) / (1 + df)) + 1), scaled to length 1. scikit-learn makes the rows; the
    counting is here, because its vectorisers cannot be fitted in chunks, or added up.

    Counts add up and can be taken out: ``a + b`` and ``a - b``. Rows do not: each has been scaled
    by all of its terms, so what was learnt from rows of one idf is nothing to those of another.

    Attributes
    ----------
    n_documents : int
        Texts counted.
    """

    _told: ClassVar[tuple[str, ...]]
    n_documents: int
    stop_words: StopWords

    def update(self, texts: Iterable[str]) -> Self:
        """Count the terms of more texts."""
        texts = _texts(texts)
        self._count(texts)
        self.n_documents += len(texts)
        self._forget()
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
        """Return one row a text, of shape (n, d); terms that were never counted are left out."""
        return sparse.csr_array(self._rows(_texts(texts)))

    @property
    @abstractmethod
    def names(self) -> np.ndarray | None:
        """The terms in the order of the columns, as an array of str objects; None if hashed."""

    @property
    @abstractmethod
    def n_terms(self) -> int:
        """How many columns have a term."""

    @abstractmethod
    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return settings and counts as named arrays, for `from_arrays`."""

    def check_settings(self, other: object) -> None:
        """Raise ValueError where another one has other terms for the same texts."""
        name = type(self).__name__
        if type(other) is not type(self):
            raise ValueError(
                f"{name}: counts of another {name} wanted, but {type(other).__name__} came."
            )
        for setting in self._told:
            mine, theirs = getattr(self, setting), getattr(other, setting)
            if mine != theirs:
                raise ValueError(
                    f"{name}: only counts of the same settings add up, but {setting} is {mine!r} "
                    f"here and {theirs!r} there."
                )

    # -- inside -----------------------------------------------------------------------------

    @abstractmethod
    def _count(self, texts: Sequence[str]) -> None:
        """Add to the document frequencies."""

    @abstractmethod
    def _rows(self, texts: Iterable[str]) -> Any:
        """The rows of texts."""

    @abstractmethod
    def _combined(self, other: Self, sign: int) -> Self:
        """A new one, of both counts."""

    @property
    def _stop_list(self) -> Any:
        """As scikit-learn wants them."""
        words = self.stop_words
        return words if words is None or isinstance(words, str) else list(words)

    def _idf(self, frequency: np.ndarray) -> np.ndarray:
        return np.log((1 + self.n_documents) / (1 + frequency.astype(np.float64))) + 1

    def _forget(self) -> None:
        """Let go of what was worked out from the counts before."""
        for cached in ("terms", "_vectorizer"):
            self.__dict__.pop(cached, None)

    def _settings(self) -> dict[str, np.ndarray]:
        words = self.stop_words
        told = {"n_documents": np.array(self.n_documents)}
        if words is not None:
            kept = [words] if isinstance(words, str) else list(words)
            if words == (_ENGLISH,):  # a list of this one word: twice, for once is the name
                kept *= 2
            told["stop_words"] = np.array(kept, dtype=object)
        return told


class Tfidf(Vectoriser):
    """A column for each term, in alphabetical order; see `Vectoriser`.

    Parameters
    ----------
    stop_words : {"english"}, collection of str or None
        Words that are no terms: scikit-learn's list, or one's own.
    min_df : int
        Terms of fewer texts have no column. They are counted all the same.

    Attributes
    ----------
    document_frequency : Counter
        In how many texts each term occurs.

    Raises
    ------
    ParameterError
        min_df below 1, stop words that are none.
    ValueError
        Something else than texts; no term in enough of them; more taken out than was counted.

    Notes
    -----
    **Cost**: one pass over the words of each text, in scikit-learn; memory for each term.

    Columns and their weights are settled only when all texts have been counted: count first, then
    transform.

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

    _told = ("stop_words", "min_df")

    def __init__(self, stop_words: StopWords = None, min_df: int = 1) -> None:
        _check(stop_words, "min_df", min_df)
        self.stop_words, self.min_df = _words(stop_words), int(min_df)
        self.n_documents = 0
        self.document_frequency: Counter[str] = Counter()

    @cached_property
    def terms(self) -> np.ndarray:
        """The terms in the order of the columns, as an array of str objects."""
        common = (t for t, texts in self.document_frequency.items() if texts >= self.min_df)
        return np.array(sorted(common), dtype=object)

    @property
    def names(self) -> np.ndarray:
        """The terms."""
        return self.terms

    @property
    def n_terms(self) -> int:
        """How many terms there are."""
        return len(self.terms)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return settings and counts as named arrays, for `from_arrays`."""
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
        found: Counter[str] = Counter()  # first: it may raise
        for text in texts:
            found.update(set(tokens(text)))
        self.document_frequency.update(found)

    def _rows(self, texts: Iterable[str]) -> Any:
        return self._vectorizer.transform(texts)

    def _combined(self, other: Self, sign: int) -> Self:
        self.check_settings(other)
        new = type(self)(self.stop_words, self.min_df)
        new.n_documents = self.n_documents + sign * other.n_documents
        new.document_frequency = self.document_frequency.copy()
        for term, texts in other.document_frequency.items():
            new.document_frequency[term] += sign * texts
            if new.document_frequency[term] == 0:
                del new.document_frequency[term]
        counts = new.document_frequency.values()
        if min(counts, default=0) < 0 or new.n_documents < max(counts, default=0):
            raise ValueError("Tfidf: more was to be taken out than was counted.")
        return new

    @cached_property
    def _vectorizer(self) -> TfidfVectorizer:
        terms = self.terms
        if not len(terms):
            raise ValueError(
                f"Tfidf: at least one term wanted, but none of {self.n_documents} texts is in "
                f"min_df={self.min_df} of them. Use update with texts first, or a smaller min_df."
            )
        vectorizer = TfidfVectorizer(
            sublinear_tf=True, token_pattern=TOKEN, vocabulary=terms, stop_words=self._stop_list
        )
        vectorizer.idf_ = self._idf(np.array([self.document_frequency[term] for term in terms]))
        return vectorizer


class HashedTfidf(Vectoriser):
    """A fixed number of columns, the term's hash saying which; see `Vectoriser`.

    For streams whose words nobody knows beforehand: memory is fixed, nothing has a name, and terms
    that share a column are one.

    Parameters
    ----------
    n_features : int
        d, how many columns.
    stop_words : {"english"}, collection of str or None
        Words that are no terms.

    Attributes
    ----------
    document_frequency : ndarray of shape (d,)
        In how many texts a term of each column occurs.

    Raises
    ------
    ParameterError
        n_features out of range, stop words that are none.
    ValueError
        Something else than texts; more taken out than was counted.

    Notes
    -----
    **Cost**: one pass over the words of each text, in scikit-learn; memory 8 d bytes.

    Examples
    --------
    >>> from narrows.text import HashedTfidf
    >>> hashed = HashedTfidf(n_features=1024).update(["the sea", "the strait"])
    >>> hashed.transform(["a strange new word"]).shape
    (1, 1024)
    """

    _told = ("n_features", "stop_words")

    def __init__(self, n_features: int = 2**20, stop_words: StopWords = None) -> None:
        _check(stop_words, "n_features", n_features, MOST)
        self.n_features, self.stop_words = int(n_features), _words(stop_words)
        self.n_documents = 0
        self.document_frequency = np.zeros(n_features, dtype=np.int64)

    @property
    def names(self) -> None:
        """A hash cannot be turned back: no names."""
        return None

    @property
    def n_terms(self) -> int:
        """How many columns have a term."""
        return int(np.count_nonzero(self.document_frequency))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return settings and counts as named arrays, for `from_arrays`."""
        return self._settings() | {"hashed_frequency": self.document_frequency}

    def _count(self, texts: Sequence[str]) -> None:
        columns = self._hashed(texts).indices  # of each text once
        self.document_frequency += np.bincount(columns, minlength=self.n_features)

    def _rows(self, texts: Iterable[str]) -> Any:
        return self._vectorizer.transform(self._hashed(texts), copy=False)

    def _hashed(self, texts: Iterable[str]) -> Any:
        return HashingVectorizer(
            n_features=self.n_features, alternate_sign=False, norm=None, token_pattern=TOKEN,
            stop_words=self._stop_list,
        ).transform(texts)  # fmt: skip

    def _combined(self, other: Self, sign: int) -> Self:
        self.check_settings(other)
        new = type(self)(self.n_features, self.stop_words)
        new.n_documents = self.n_documents + sign * other.n_documents
        new.document_frequency = self.document_frequency + sign * other.document_frequency
        if new.document_frequency.min() < 0 or new.n_documents < new.document_frequency.max():
            raise ValueError("HashedTfidf: more was to be taken out than was counted.")
        return new

    @cached_property
    def _vectorizer(self) -> TfidfTransformer:
        transformer = TfidfTransformer(sublinear_tf=True)
        transformer.idf_ = self._idf(self.document_frequency)
        return transformer


def _frequencies_fit(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    name = "hashed_frequency" if "hashed_frequency" in arrays else "document_frequency"
    return bool(arrays[name].max(initial=0) <= arrays["n_documents"])


_COUNTED = {"n_documents": Field("i8", (), COUNT), "stop_words": Field("O", ("w",), optional=True)}
_TERMS = {
    "terms": Field("O", ("t",), SORTED),
    "document_frequency": Field("i8", ("t",), between(1, 2**53)),
    "min_df": Field("i8", (), between(1, 2**53), optional=True),
}
_HASHED = {"hashed_frequency": Field("i8", ("t",), COUNT)}
_RULES = (Check("no term in more texts than were counted", _frequencies_fit),)


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Vectoriser:
    """Return the vectoriser that `to_arrays` described."""
    checked(arrays, _COUNTED | (_HASHED if "hashed_frequency" in arrays else _TERMS), _RULES)
    words = arrays.get("stop_words")
    stop_words: StopWords = None if words is None else tuple(words.tolist())
    if stop_words == (_ENGLISH,):
        stop_words = _ENGLISH
    new: Any
    if "hashed_frequency" in arrays:
        new = HashedTfidf(len(arrays["hashed_frequency"]), stop_words)
        new.document_frequency = np.array(arrays["hashed_frequency"])
    else:
        new = Tfidf(stop_words, int(arrays.get("min_df", 1)))
        counts = zip(arrays["terms"].tolist(), arrays["document_frequency"].tolist(), strict=True)
        new.document_frequency = Counter(dict(counts))
    new.n_documents = int(arrays["n_documents"])
    return new


def _texts(texts: Iterable[str]) -> list[str]:
    found = list(texts)
    odd = [text for text in found if not isinstance(text, str | bytes)]
    if odd or isinstance(texts, str | bytes):
        came = repr(odd[0] if odd else texts)
        raise ValueError(f"a list of texts wanted, each a str, but {came:.60} came.")
    return found


def _words(stop_words: StopWords) -> StopWords:
    """As they are compared and stored: in one order, in lower case like the terms."""
    if stop_words is None or isinstance(stop_words, str):
        return stop_words
    return tuple(sorted({word.lower() for word in stop_words})) or None


def _check(stop_words: StopWords, name: str, value: Any, most: float = np.inf) -> None:
    words: Any = () if stop_words is None or stop_words == _ENGLISH else stop_words
    listed = isinstance(words, Collection) and not isinstance(words, str | bytes)
    if not listed or not all(isinstance(word, str) for word in words):
        raise ParameterError(
            f'stop_words must be "english", a list of words or None, but {stop_words!r} came.'
        )
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= most:
        limit = "" if most == np.inf else f" and <= {most:,}"
        raise ParameterError(f"{name} must be a whole number >= 1{limit}, but {value!r} came.")
