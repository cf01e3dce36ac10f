"""TF-IDF with document frequencies that add up, and the base of what makes features."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError
from narrows.methods.parameters import (
    NONE,
    Constraint,
    Hinting,
    check_constraints,
    is_integer,
    same,
    whole,
    word,
)
from narrows.solve.arrays import as_asked, plain
from narrows.solve.cells import is_missing
from narrows.solve.in_place import ChangesInPlace
from narrows.solve.terms import (
    ENGLISH,
    Counted,
    KeptEntries,
    TermFeatures,
    Words,
    count,
    idf,
    with_feature,
)

__all__ = ["HashedTfidf", "Tfidf"]


TOKEN = r"(?u)\b\w+\b"
MOST = 2**31 - 1  # features at most

StopWords = str | Collection[str] | None
Analyzer = str | Callable[[str], Sequence[str]]


def _are_stop_words(value: Any) -> bool:
    if value is None or isinstance(value, str | bytes):
        return value in (None, ENGLISH)
    return isinstance(value, Collection) and all(isinstance(each, str) for each in value)


def _are_sizes(value: Any) -> bool:
    pair = isinstance(value, tuple | list) and len(value) == 2
    return pair and is_integer(value[0], 1) and is_integer(value[1], int(value[0]))


def _is_pattern(value: Any) -> bool:
    try:
        return isinstance(value, str) and re.compile(value).groups <= 1
    except re.error:
        return False


_CHARACTERS = 1 << 24  # of texts whose terms are counted before a signal can come between
_TEXTS = whole(1) | Constraint(
    lambda value: isinstance(value, float) and 0 <= value <= 1, ("a float from 0 to 1",)
)


class FeatureMaker(Hinting, TransformerMixin, BaseEstimator, ABC):
    """Base of what makes features, in front of all estimators: of texts, or of tables."""

    takes: ClassVar[str]  # "texts" or "tables"

    @abstractmethod
    def samples_of(self, X: Any) -> sparse.csr_array:
        """Return samples of texts or of a table, whatever scikit-learn's settings are."""

    def check_same_kind(self, other: object) -> None:
        """Raise ValueError for an object of another class, which has nothing to merge."""
        name = type(self).__name__
        if type(other) is not type(self):
            raise ValueError(f"expected another {name}, got {type(other).__name__}.")


class Vectoriser(ChangesInPlace, FeatureMaker):
    """Base of the vectorisers: counts the texts that hold each term, and transforms texts.

    The vectorisers of scikit-learn support neither fitting in chunks nor merging. Samples
    transformed with different document frequencies are not comparable: count all texts first, then
    transform.
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "stop_words": Constraint(_are_stop_words, ('"english"', "a list of words", "None")),
        "ngram_range": Constraint(_are_sizes, ("two integers >= 1 in order",)),
        "token_pattern": Constraint(_is_pattern, ("a regular expression with at most one group",)),
        "analyzer": word("word", "char", "char_wb") | Constraint(callable, ("a callable",)),
    }
    takes = "texts"
    stop_words: StopWords
    ngram_range: tuple[int, int]
    token_pattern: str
    analyzer: Analyzer
    _counts: Counted

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
        return self._take(type(self)(**self.get_params()).partial_fit(X))

    def fit_transform(self, X: Iterable[str], y: Any = None) -> Any:
        """Do what `fit` and then `transform` do, and cut the texts into words only once.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : ignored

        Returns
        -------
        X_new : csr_matrix or csr_array of shape (n_samples, n_features)
            As `transform` returns it.

        Raises
        ------
        ParameterError, ValueError
            As for `fit` and `transform`.

        See Also
        --------
        transform : Transform other texts.
        """
        new = type(self)(**self.get_params())
        kept = new._learn(X, keep=True)
        X_new = new._features().weighed(kept)
        self._take(new)
        return as_asked(X_new, self, X)

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
        self._learn(X)
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

    def __eq__(self, other: Any) -> bool:
        if type(other) is not type(self):
            return False
        mine, theirs = self._arrays(), other._arrays()
        settings = zip(self._settings().values(), other._settings().values(), strict=True)
        return all(same(*pair) for pair in settings) and all(
            np.array_equal(mine[name], theirs[name]) for name in mine.keys() & theirs.keys()
        )

    __hash__ = None  # type: ignore[assignment]

    def transform(self, X: Iterable[str]) -> Any:
        """Transform texts to samples; unknown terms are ignored.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        X_new : csr_matrix or csr_array of shape (n_samples, n_features)
            The weights of the terms; each sample has norm 1, or 0 without known terms. A matrix,
            but an array where scikit-learn's setting ``sparse_interface`` is "sparray", and a
            DataFrame of sparse columns after ``set_output(transform="pandas")``.

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
        return as_asked(self.samples_of(X), self, X)

    def samples_of(self, X: Iterable[str]) -> sparse.csr_array:
        """Return samples of texts, whatever scikit-learn's settings are."""
        texts, words = self._texts(X), self._words()
        return self._features().samples_of(texts, words)

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

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return settings and counts as named arrays; `narrows.io.source` reads them."""
        arrays, stored = self._arrays(), self._settings()
        words, _ = stored.pop("stop_words"), stored.pop("n_features", None)
        if words is not None:
            listed = [words] if isinstance(words, str) else list(words)
            if words == (ENGLISH,):  # a list of this word is stored twice; once is the name
                listed *= 2
            arrays["stop_words"] = np.array(listed, dtype=object)
        defaults = type(self)()._settings()
        for name, value in stored.items():
            if callable(value):
                raise ParameterError(
                    f"expected an analyzer by name to save it, got "
                    f"{value!r}. Set `token_pattern`, or save the model of the transformed texts."
                )
            if not same(value, defaults[name]):
                value, is_text = plain(value), isinstance(value, str)
                arrays[name] = np.array([value], dtype=object) if is_text else np.array(value)
        return arrays

    @abstractmethod
    def _arrays(self) -> dict[str, np.ndarray]:
        """Return the counts as named arrays."""

    def check_same_settings(self, other: Any) -> None:
        """Raise ValueError if another vectoriser has other settings."""
        self.check_same_kind(other)
        theirs = other._settings()
        for setting, mine in self._settings().items():
            if not same(mine, theirs[setting]):
                raise ValueError(
                    f"expected the same settings, got {setting}={mine!r} and "
                    f"{setting}={theirs[setting]!r}."
                )

    # -- inside -----------------------------------------------------------------------------

    def _texts(self, texts: Iterable[str]) -> list[str]:
        expected = "expected a list of texts, each a str, got"
        if isinstance(texts, str | bytes):
            raise ValueError(f"{expected} one text. Pass a list of it.")
        if hasattr(texts, "columns"):
            raise ValueError(f"{expected} a table. Pass one of its columns.")
        if hasattr(texts, "to_pylist"):  # of Arrow
            texts = texts.to_pylist()
        found = texts.tolist() if isinstance(texts, np.ndarray) else list(texts)
        for k, text in enumerate(found):
            if not isinstance(text, str | bytes):
                kind = "a missing value" if is_missing(text) else f"{type(text).__name__}"
                raise ValueError(f'{expected} {kind} at position {k}. Pass "" for no text.')
        try:
            return [text.decode() if isinstance(text, bytes) else text for text in found]
        except UnicodeDecodeError as error:
            raise ValueError(f"{expected} bytes that are no UTF-8: {error}. Decode them.") from None

    @property
    def _computed(self) -> TermFeatures:
        """What follows from the counts; computed again after others, or other parameters."""
        of = list(self._settings().values())
        made = vars(self).get("_made")
        if made is None or not all(map(same, made[0], of)):
            made = self._made = of, self._compute()
        return made[1]

    @abstractmethod
    def _compute(self) -> TermFeatures:
        """Return what `_computed` holds."""

    def _features(self) -> TermFeatures:
        """Return the features, of which there is one at least, else ValueError."""
        return self._computed

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_made"}

    def _take(self, other: Self) -> Self:
        """Become what another vectoriser is, which is not used any more."""
        parameters = self.get_params()
        learned = {name: value for name, value in vars(other).items() if name not in parameters}
        self.__dict__.update({"_made": None, **learned})  # at once
        return self

    def _empty(self) -> Counted:
        """Return the counts of no texts, of the kind of those there are."""
        known = vars(self).get("_counts")
        if known is not None:
            return Counted(width=known.width, totals=known.totals)
        width, most = (getattr(self, name, None) for name in ("n_features", "max_features"))
        return Counted(width=int(width or 0), totals=most is not None)

    def _learn(self, X: Iterable[str], keep: bool = False) -> KeptEntries:
        """Count texts; return the entries of each part if asked to."""
        words, texts, kept = self._words(), self._texts(X), KeptEntries()
        (low, high), start = self.ngram_range, 0
        size = np.cumsum([len(text) for text in texts]) // (_CHARACTERS // (high - low + 1))
        for end in [*(np.flatnonzero(np.diff(size)) + 1).tolist(), len(texts)]:
            parts = count(texts[start:end], words, self._empty(), keep, True)
            with self.changing():
                self.__dict__.pop("_made", None)
                while parts:
                    part, entries = parts.pop(0)
                    if hasattr(self, "_counts"):
                        kept.append((self._counts.add(part), entries))
                    else:
                        self._counts = part
                        kept.append((None, entries))
                self.n_documents_ = self.n_documents + end - start
            start = end
        return kept

    def _words(self) -> Words:
        """Return what cuts texts into words."""
        settings = self._settings()
        words, sizes = settings["stop_words"] or (), settings["ngram_range"]
        if self.analyzer == "word" and self.token_pattern == TOKEN:
            return Words(ENGLISH_STOP_WORDS if words == ENGLISH else words, sizes)
        given = words if isinstance(words, str) else list(words) or None
        vectorizer = CountVectorizer(
            analyzer=self.analyzer, token_pattern=self.token_pattern, ngram_range=sizes,
            stop_words=given,
        )  # fmt: skip
        return Words(analyzer=vectorizer.build_analyzer())

    def _combined(self, other: Self, sign: int) -> Self:
        """Return a new vectoriser with the sum or difference of the counts."""
        self.check_same_settings(other)
        new = type(self)(**self.get_params())
        new.n_documents_ = self.n_documents + sign * other.n_documents
        new._counts = self._known.copy()
        new._counts.add(other._known, sign)
        frequency = new._counts.frequency
        if frequency.min(initial=0) < 0 or new.n_documents < frequency.max(initial=0):
            raise ValueError("expected counts added before, got larger ones.")
        return new

    @property
    def _known(self) -> Counted:
        """What was counted, which may be nothing."""
        return self._counts if hasattr(self, "_counts") else self._empty()

    def _settings(self) -> dict[str, Any]:
        """Return the parameters as they are compared and stored: stop words sorted, for example.

        ParameterError where one of them is not valid.
        """
        check_constraints(self)
        found: dict[str, Any] = self.get_params()
        words = found["stop_words"]
        if words is not None and not isinstance(words, str):
            found["stop_words"] = tuple(sorted({each.lower() for each in words})) or None
        found["ngram_range"] = tuple(found["ngram_range"])
        return found


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
    ngram_range : (int, int)
        The fewest and the most words of a term.
    token_pattern : str
        What a word is. Any other pattern than the default is as slow as in scikit-learn.
    analyzer : {"word", "char", "char_wb"} or callable
        What terms are made of, as in scikit-learn, and as slow. A callable returns the terms of a
        text, and cannot be saved.

    Attributes
    ----------
    document_frequency_ : ndarray of shape (n_features,)
        Number of texts that contain a term of each feature.
    n_documents_ : int
        Number of texts counted.

    Raises
    ------
    ParameterError
        A parameter is out of range.
    ValueError
        X contains something other than texts, or more is subtracted than was counted.

    See Also
    --------
    Tfidf : TF-IDF with one named feature per term.
    sklearn.feature_extraction.text.HashingVectorizer : Hashed counts without idf.

    Notes
    -----
    **Cost**: one pass over the words of each text, on all cores; memory 8 n_features bytes.

    Examples
    --------
    >>> from narrows.text import HashedTfidf
    >>> hashed = HashedTfidf(n_features=1024).fit(["the sea", "the strait"])
    >>> hashed.transform(["a strange new word"]).shape
    (1, 1024)
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"n_features": whole(1, MOST)}

    def __init__(
        self,
        n_features: int = 2**20,
        stop_words: StopWords = None,
        ngram_range: tuple[int, int] = (1, 1),
        token_pattern: str = TOKEN,
        analyzer: Analyzer = "word",
    ) -> None:
        self.n_features, self.stop_words, self.ngram_range = n_features, stop_words, ngram_range
        self.token_pattern, self.analyzer = token_pattern, analyzer

    @property
    def document_frequency_(self) -> np.ndarray:
        """Number of texts that contain a term of each feature, of shape (n_features,)."""
        return self._counts.frequency

    @property
    def document_frequency(self) -> np.ndarray:
        """Number of texts that contain a term of each feature, of shape (n_features,)."""
        return self._known.frequency

    @property
    def n_terms(self) -> int:
        """Number of features that have a term."""
        return int(np.count_nonzero(self.document_frequency))

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return int(self.n_features)

    def _arrays(self) -> dict[str, np.ndarray]:
        return {
            "n_documents": np.array(self.n_documents),
            "hashed_frequency": self.document_frequency,
        }

    def _compute(self) -> TermFeatures:
        if self._known.width != self.n_features:
            raise ParameterError(
                f"expected n_features={self._known.width}, as texts were counted, got "
                f"{self.n_features}. Fit again."
            )
        weights = idf(self.document_frequency, self.n_documents)
        return TermFeatures(self._known, np.empty(0, np.int32), weights)


class Tfidf(Vectoriser):
    """TF-IDF vectoriser with one feature per term and additive document frequencies.

    Texts are converted to lower case. Tokens are runs of one or more word characters. A value is (1
    + ln tf) (ln((1 + n) / (1 + df)) + 1), and each sample is scaled to norm 1.

    Parameters
    ----------
    stop_words : {"english"}, collection of str or None
        Words to ignore: scikit-learn's list, or your own.
    min_df, max_df : int or float
        Terms in fewer or in more texts are counted, but have no feature. A float is a share of the
        texts.
    max_features : int, optional
        The number of features: the terms that occur most often; of ties those that
        scikit-learn keeps.
    ngram_range : (int, int)
        The fewest and the most words of a term.
    token_pattern : str
        What a word is. Any other pattern than the default is as slow as in scikit-learn.
    analyzer : {"word", "char", "char_wb"} or callable
        What terms are made of, as in scikit-learn, and as slow. A callable returns the terms of a
        text, and cannot be saved.

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
        A parameter is out of range.
    ValueError
        X contains something other than texts, no term has a feature, or more is subtracted than
        was counted.

    See Also
    --------
    HashedTfidf : TF-IDF with a fixed number of features, for streams.
    sklearn.feature_extraction.text.TfidfVectorizer : The same transform, fitted to all texts.

    Notes
    -----
    **Cost**: one pass over the words of each text, on all cores; memory proportional to the number
    of terms. `fit_transform` makes one pass, `fit` and then `transform` two.

    **Variant**: Salton's TF-IDF is tf ln(n / df). Here a weight grows with the logarithm of tf, and
    a term of all texts keeps one, as in scikit-learn's TfidfVectorizer with ``sublinear_tf=True``.

    Features and their weights depend on all texts counted: count all texts first, with `fit`,
    `partial_fit` or `merge`, and transform afterwards. ``a + b`` and ``a - b`` return new
    vectorisers with added or subtracted counts.

    **Not available** from scikit-learn's TfidfVectorizer: `lowercase`, `strip_accents`,
    `preprocessor`, `tokenizer`, `build_analyzer`, `build_preprocessor`, `build_tokenizer`,
    `get_stop_words`, `binary`, `norm`, `use_idf`, `smooth_idf`, `sublinear_tf`, `dtype`, `input`,
    `encoding`, `decode_error`, `decode`, `vocabulary`, `fixed_vocabulary_`, `inverse_transform`.
    There is one weighting, so that counts add up. A callable as `analyzer` replaces lower case,
    tokens and stop words.

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

    _constraints: ClassVar[dict[str, Constraint]] = {
        "min_df": _TEXTS,
        "max_df": _TEXTS,
        "max_features": whole(1) | NONE,
    }

    def __init__(
        self,
        stop_words: StopWords = None,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        ngram_range: tuple[int, int] = (1, 1),
        token_pattern: str = TOKEN,
        analyzer: Analyzer = "word",
    ) -> None:
        self.stop_words, self.ngram_range = stop_words, ngram_range
        self.min_df, self.max_df, self.max_features = min_df, max_df, max_features
        self.token_pattern, self.analyzer = token_pattern, analyzer

    @property
    def document_frequency_(self) -> Counter[str]:
        """Number of texts that contain each term."""
        arrays = self._counts.table, self._counts.frequency
        names = arrays[0].strings(np.arange(arrays[0].n)).tolist()
        pairs = zip(names, arrays[1].tolist(), strict=True)
        return Counter({term: texts for term, texts in pairs if texts})

    @property
    def document_frequency(self) -> Counter[str]:
        """Number of texts that contain each term."""
        return self.document_frequency_ if hasattr(self, "_counts") else Counter()

    @property
    def terms(self) -> np.ndarray:
        """The terms in the order of the features, an array of str objects."""
        return self._computed.terms

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The feature of each term."""
        check_is_fitted(self)
        return {term: k for k, term in enumerate(self.terms.tolist())}

    @property
    def idf_(self) -> np.ndarray:
        """ln((1 + n) / (1 + df)) + 1 of each feature, of shape (n_features,)."""
        check_is_fitted(self)
        return self._computed.idf

    @property
    def names(self) -> np.ndarray:
        """The terms."""
        return self.terms

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return len(self._computed.chosen)

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
        return super().to_arrays() | {"min_df": np.array(plain(self.min_df))}

    def _arrays(self) -> dict[str, np.ndarray]:
        counts = self._known
        order = counts.table.order()
        order = order[counts.frequency[order] > 0]
        found = {
            "n_documents": np.array(self.n_documents),
            "terms": counts.table.strings(order),
            "document_frequency": counts.frequency[order],
        }
        return found | ({"occurrences": counts.total[order]} if counts.totals else {})

    def _compute(self) -> TermFeatures:
        counts, n = self._known, self.n_documents
        order = counts.table.order()
        if self.max_features is not None and not counts.totals:
            raise ParameterError(
                f"expected max_features=None, as texts were counted, got "
                f"{self.max_features}. Fit again."
            )
        total = counts.total[order] if counts.totals else None
        limits = self.min_df, self.max_df, self.max_features
        chosen = order[with_feature(counts.frequency[order], n, *limits, total)]
        return TermFeatures(counts, chosen, idf(counts.frequency[chosen], n))

    def _features(self) -> TermFeatures:
        features = self._computed
        if not len(features.chosen):
            limits = [f"min_df={self.min_df}"]
            limits += [f"max_df={self.max_df}"] * (not same(self.max_df, 1.0))
            raise ValueError(
                f"expected at least one term in {' and '.join(limits)} texts, got none in "
                f"{self.n_documents} texts. Count other texts first, or use a smaller min_df."
            )
        return features
