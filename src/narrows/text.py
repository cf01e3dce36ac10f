"""TF-IDF with document frequencies that add up: vectorisers for streams and pipelines of texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError
from narrows.solve.interrupted import ChangesInPlace

__all__ = ["HashedTfidf", "Tfidf"]


TOKEN = r"(?u)\b\w+\b"
ENGLISH = "english"  # the name of scikit-learn's list
MOST = 2**31 - 1  # features at most

StopWords = str | Collection[str] | None


class Vectoriser(ChangesInPlace, TransformerMixin, BaseEstimator, ABC):
    """Base of the vectorisers: counts the texts that hold each term, and transforms texts.

    scikit-learn transforms the texts; its vectorisers support neither fitting in chunks nor
    merging, so the counting is here. Samples transformed with different document frequencies are
    not comparable: count all texts first, then transform.
    """

    _compared: ClassVar[tuple[str, ...]]
    _limited: ClassVar[tuple[str, float]]  # the parameter that is an integer, and the largest one
    stop_words: StopWords

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_documents_")

    def fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Forget all earlier texts and count the terms of new texts.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : ignored

        Returns
        -------
        self : object

        Raises
        ------
        ParameterError
            A parameter is out of range.
        ValueError
            X contains something other than texts. The vectoriser is then unchanged.

        See Also
        --------
        partial_fit : Count the terms of more texts.
        """
        self._check()
        return self._take(type(self)(**self.get_params()).partial_fit(X))

    def partial_fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Count the terms of more texts.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : ignored

        Returns
        -------
        self : object

        Raises
        ------
        ParameterError, ValueError
            As for `fit`.

        See Also
        --------
        merge : Add the counts of other vectorisers.
        """
        self._check()
        texts = self._texts(X)
        count = self._counted(texts)
        with self.changing():
            self.__dict__.pop("_made", None)
            count()
            self.n_documents_ = self.n_documents + len(texts)
        return self

    def update(self, texts: Iterable[str]) -> Self:
        """Do what `partial_fit` does."""
        return self.partial_fit(texts)

    def merge(self, *others: Self) -> Self:
        """Add the counts of other vectorisers with the same settings.

        Parameters
        ----------
        *others : vectoriser of the same class
            They are not changed. This one may be unfitted.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            The vectorisers differ in class or settings.

        See Also
        --------
        partial_fit : Count the terms of more texts.
        """
        whole = self
        for other in others:
            whole = whole + other
        return self._take(whole)

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

    def transform(self, X: Iterable[str]) -> sparse.csr_array:
        """Transform texts to samples; unknown terms are ignored.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        X_new : csr_array of shape (n_samples, n_features)
            The weights of the terms; each sample has norm 1, or 0 without known terms.

        Raises
        ------
        NotFittedError
            No texts were counted yet.
        ValueError
            Anything but texts.

        See Also
        --------
        get_feature_names_out : Return the names of the features.
        """
        check_is_fitted(self)
        return sparse.csr_array(self._rows(self._texts(X)))

    @property
    def n_documents(self) -> int:
        """Number of texts counted, 0 before any."""
        return int(getattr(self, "n_documents_", 0))

    @property
    def names(self) -> np.ndarray | None:
        """The terms in the order of the features, an array of str objects; None if hashed."""
        return None

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
            mine, theirs = (plain(getattr(each, setting)) for each in (self, other))
            if mine != theirs:
                raise ValueError(
                    f"{name}: expected the same settings, got {setting}={mine!r} and "
                    f"{setting}={theirs!r}."
                )

    # -- inside -----------------------------------------------------------------------------

    def _texts(self, texts: Iterable[str]) -> list[str]:
        expected = f"{type(self).__name__}: expected a list of texts, each a str, got"
        if isinstance(texts, str | bytes):
            raise ValueError(f"{expected} one text. Pass a list of it.")
        if hasattr(texts, "columns"):
            raise ValueError(f"{expected} a table. Pass one of its columns.")
        found = texts.tolist() if isinstance(texts, np.ndarray) else list(texts)
        for k, text in enumerate(found):
            if not isinstance(text, str | bytes):
                kind = "a missing value" if _is_missing(text) else f"{type(text).__name__}"
                raise ValueError(f'{expected} {kind} at position {k}. Pass "" for no text.')
        return found

    def _check(self) -> None:
        """Raise ParameterError for invalid stop words, or where a number is no integer in range."""
        who, words, (name, most) = type(self).__name__, self.stop_words, self._limited
        given: Any = () if words is None or words == ENGLISH else words
        listed = isinstance(given, Collection) and not isinstance(given, str | bytes)
        if not listed or not all(isinstance(word, str) for word in given):
            raise ParameterError(
                f'{who}: expected stop_words to be "english", a list of words or None, '
                f"got {words!r}."
            )
        value = getattr(self, name)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not 1 <= int(value) <= most:
            limit = "" if most == np.inf else f" and <= {most:,}"
            raise ParameterError(
                f"{who}: expected {name} to be an integer >= 1{limit}, got {value!r}."
            )

    @property
    def _computed(self) -> Any:
        """What follows from the counts; computed again after others, or other parameters."""
        of = [plain(getattr(self, name)) for name in self._compared]
        if vars(self).get("_made", [None])[0] != of:
            self._check()
            self._made = of, self._compute()
        return self._made[1]

    @abstractmethod
    def _compute(self) -> Any:
        """Return what `_computed` holds."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_made"}

    def _take(self, other: Self) -> Self:
        """Become what another vectoriser is, which is not used any more."""
        parameters = self.get_params()
        learned = {name: value for name, value in vars(other).items() if name not in parameters}
        self.__dict__.update({"_made": [None], **learned})  # at once
        return self

    @abstractmethod
    def _counted(self, texts: Sequence[str]) -> Callable[[], None]:
        """Return a function that adds texts to the document frequencies, which no text fails."""

    @abstractmethod
    def _rows(self, texts: Iterable[str]) -> Any:
        """The transformed texts."""

    def _combined(self, other: Self, sign: int) -> Self:
        """Return a new vectoriser with the sum or difference of the counts."""
        self._check_settings(other)
        new = type(self)(**self.get_params())
        new.n_documents_ = self.n_documents + sign * other.n_documents
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
        words = plain(self.stop_words)
        return words if words is None or isinstance(words, str) else list(words)

    def _idf(self, frequency: np.ndarray) -> np.ndarray:
        return np.log((1 + self.n_documents) / (1 + frequency.astype(np.float64))) + 1

    def _settings(self) -> dict[str, np.ndarray]:
        words = plain(self.stop_words)
        arrays = {"n_documents": np.array(self.n_documents)}
        if words is not None:
            listed = [words] if isinstance(words, str) else list(words)
            if words == (ENGLISH,):  # a list of this word is stored twice; once is the name
                listed *= 2
            arrays["stop_words"] = np.array(listed, dtype=object)
        return arrays


def plain(setting: Any) -> Any:
    """Return a setting as it is compared and stored: stop words sorted and in lower case."""
    if not isinstance(setting, Collection) or isinstance(setting, str):
        return setting
    return tuple(sorted({word.lower() for word in setting})) or None


def _is_missing(text: Any) -> bool:
    """Whether something is None, NaN, or pandas' missing value."""
    return text is None or text != text or type(text).__name__ in ("NAType", "NaTType")


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
    _limited = ("n_features", MOST)

    def __init__(self, n_features: int = 2**20, stop_words: StopWords = None) -> None:
        self.n_features, self.stop_words = n_features, stop_words

    @property
    def document_frequency(self) -> np.ndarray:
        """Number of texts that contain a term of each feature, of shape (n_features,)."""
        found = getattr(self, "document_frequency_", None)
        return np.zeros(self.n_features, dtype=np.int64) if found is None else found

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

    def _counted(self, texts: Sequence[str]) -> Callable[[], None]:
        columns = self._hashed(texts).indices  # each feature once per text
        found = self.document_frequency + np.bincount(columns, minlength=self.n_features)
        return lambda: setattr(self, "document_frequency_", found)

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
    _limited = ("min_df", np.inf)

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

    def _counted(self, texts: Sequence[str]) -> Callable[[], None]:
        analyzer = CountVectorizer(token_pattern=TOKEN, stop_words=self._stop_list)
        tokens = analyzer.build_analyzer()
        found: Counter[str] = Counter()
        for text in texts:
            found.update(set(tokens(text)))

        def count() -> None:
            frequency = self.document_frequency
            frequency.update(found)
            self.document_frequency_ = frequency

        return count

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
