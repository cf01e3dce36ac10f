"""What vectorisers have in common: settings, counts that add up, and the checks of texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError
from narrows.solve.undo import Undo

TOKEN = r"(?u)\b\w+\b"
StopWords = str | Collection[str] | None
ENGLISH = "english"  # the name of scikit-learn's list


class Vectoriser(TransformerMixin, BaseEstimator, ABC):
    """Base of the vectorisers: counts the texts that hold each term, and transforms texts.

    scikit-learn transforms the texts; its vectorisers support neither fitting in chunks nor
    merging, so the counting is here. Samples transformed with different document frequencies are
    not comparable: count all texts first, then transform.
    """

    _compared: ClassVar[tuple[str, ...]]
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
        texts, undo = self._texts(X), Undo(self)

        def count() -> None:
            self.__dict__.pop("_made", None)
            self._count(texts, undo)
            self.n_documents_ = self.n_documents + len(texts)

        undo.guard(count)
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

    @abstractmethod
    def _check(self) -> None:
        """Raise ParameterError where a parameter is out of range."""

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
    def _count(self, texts: Sequence[str], undo: Undo) -> None:
        """Add to the document frequencies; `undo` notes what changes in place."""

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


def check(who: str, stop_words: StopWords, name: str, value: Any, most: float = np.inf) -> None:
    """Raise ParameterError for invalid stop words, or where a value is no integer in range."""
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
