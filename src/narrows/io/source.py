"""What a model remembers of the files it was fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError
from narrows.io.chunk import SPARE, TEXT, Options, names_as_json, names_of
from narrows.io.formats.base import Format
from narrows.solve.codec import SchemaError, Sizes, check_known, check_plain, from_arrays, taken
from narrows.solve.terms import (
    ENGLISH,
    Counted,
    TermFeatures,
    TermTable,
    Words,
    idf,
    with_feature,
)

if TYPE_CHECKING:
    from narrows.table import TableEncoder
    from narrows.text import FeatureMaker, Vectoriser

_SETTINGS = {
    "zero_based": (bool, None), "label": (str, None), "text": (str, [str], None),
    "vector": (str, None), "target": (str, [str], None),
}  # fmt: skip
_NAMES = {"texts": "tfidf", "tables": "encoder"}  # of what makes features of them
_MORE = "vector", "target"  # only where it was set


@dataclass(frozen=True)
class Source:
    """How files become features, so that later files give the same features.

    Parameters
    ----------
    zero_based : bool, optional
        Whether svmlight files count columns from 0.
    label, vector : str, optional
        Names of the columns of labels and of vectors, where these were set.
    text : tuple of str, optional
        Names of the columns, or JSON keys, of the texts, where these were set.
    columns : tuple of str, optional
        The feature names of files that have some.
    tfidf : Vectoriser, optional
        Turns texts into samples.
    target : tuple of str, optional
        Names of the columns, or JSON keys, of numeric targets, where these were set.
    encoder : TableEncoder, optional
        Turns the columns of a table into samples.

    See Also
    --------
    Dataset : Files of one format as one data set.
    source_of : The source of a fitted model.
    iter_chunks : Read files, or a table, in chunks.

    Examples
    --------
    >>> from narrows.read import Source
    >>> Source(columns=("length", "width")).names.tolist()
    ['length', 'width']
    """

    zero_based: bool | None = None
    label: str | None = None
    text: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    tfidf: Vectoriser | None = None
    vector: str | None = None
    target: tuple[str, ...] | None = None
    encoder: TableEncoder | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", names_of(self.text))
        object.__setattr__(self, "target", names_of(self.target, "target"))

    @property
    def names(self) -> np.ndarray | None:
        """Return the feature names as an array of str objects, where there are any."""
        if self.tfidf is not None:
            return self.tfidf.names
        if self.encoder is not None:
            return self.encoder.get_feature_names_out()
        return None if self.columns is None else np.array(self.columns, dtype=object)

    @property
    def spare(self) -> tuple[str, ...]:
        """The columns of a table of which the encoder makes no features."""
        decisions = () if self.encoder is None else self.encoder.decisions_
        return tuple(each.column for each in decisions if not each.n_features)

    def settings(self) -> dict[str, Any]:
        """Return the settings for a JSON header."""
        names = {name: names_as_json(getattr(self, name)) for name in ("text", "target")}
        found = {name: getattr(self, name) for name in _SETTINGS} | names
        return {name: v for name, v in found.items() if name not in _MORE or v is not None}

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the rest as named arrays."""
        arrays: dict[str, np.ndarray] = {}
        if self.columns is not None:
            arrays["columns"] = np.array(self.columns, dtype=object)
        if self.tfidf is not None:
            arrays |= {f"tfidf.{key}": value for key, value in self.tfidf.to_arrays().items()}
        if self.encoder is not None:
            arrays |= {f"table.{key}": value for key, value in self.encoder.to_arrays().items()}
        return arrays

    @property
    def maker(self) -> FeatureMaker | None:
        """What makes samples of texts or of a table; None where files hold numbers."""
        return self.encoder if self.tfidf is None else self.tfidf

    @property
    def holds(self) -> str:
        """What the files hold: numbers, texts, or tables with columns of any kind."""
        return "numbers" if self.maker is None else self.maker.takes

    @classmethod
    def of(
        cls, settings: Any, arrays: Mapping[str, np.ndarray], is_applied: bool = False
    ) -> Source:
        """Return the source that `settings` and `to_arrays` described.

        If it is only applied, what makes samples of texts need not be a vectoriser.
        """
        check_plain({**dict.fromkeys(_MORE), **settings}, _SETTINGS, "source")
        check_known("source", settings, _SETTINGS)
        for name in ("text", "target"):
            if settings.get(name) == []:
                raise SchemaError(f"source.{name}: expected a name, got none.")
        columns = None
        if "columns" in arrays:
            columns = tuple(taken(dict(arrays), "columns", ("O",), ("d",)))
        tfidf, table = (
            {name.removeprefix(start): arrays[name] for name in arrays if name.startswith(start)}
            for start in ("tfidf.", "table.")
        )
        made: dict[str, Any] = {}
        if tfidf:
            stored = StoredVectoriser.of(tfidf)
            made["tfidf"] = stored if is_applied and stored.is_plain else vectoriser_of(stored)
        if table:
            made["encoder"] = encoder_of(table)
        return cls(**settings, columns=columns, **made)


def of_maker(maker: FeatureMaker | None) -> dict[str, Any]:
    """Return what makes samples, if anything does, by its name in a `Source`."""
    if maker is None:
        return {}
    return {_NAMES[maker.takes]: maker}


def source_of_step(maker: FeatureMaker) -> Source:
    """Return the source of a model with a step of a pipeline in front that makes its samples."""
    columns = tuple(maker.feature_names_in_) if maker.takes == "tables" else None
    return Source(columns=columns, **of_maker(maker))


def remembered(source: Source, options: Options, format: Format) -> dict[str, Any]:
    """Return what a model remembers of its files, as far as these options and a format use it."""
    found = {name: getattr(source, name, None) for name in format.options}
    if options.label is not None:
        found.pop("target", None)
    elif options.target is not None:
        found.pop("label", None)
    if format.labels_apart:  # where these are names of files, not of columns
        found = {name: found[name] for name in found if name not in ("label", "target")}
    if options.vector is not None:
        found.pop("text", None)
    elif options.text is not None:
        found.pop("vector", None)
    elif source.encoder is not None and "table" in found:
        found |= {"table": True, SPARE: source.spare}
    elif source.tfidf is not None and "text" in found and not format.kind.holds_texts:
        found["text"] = source.text or (TEXT,)
    return found


def check_terms(vectoriser: Vectoriser, path: str) -> None:
    """Raise DataError where the texts of a file, which were counted, hold no terms."""
    if not vectoriser.n_terms:
        least, most = getattr(vectoriser, "min_df", 1), getattr(vectoriser, "max_df", 1.0)
        problem = f"expected texts with words, got none for min_df={least:,} and max_df={most:,}."
        raise DataError(path, f"{problem} Name other texts, or set other limits.")


def is_of_texts(source: Source | None) -> bool:
    """Whether the files were texts."""
    return source is not None and source.tfidf is not None


def kind_of(source: Source | None) -> str:
    """Return what the files hold; see `Source.holds`."""
    return "numbers" if source is None else source.holds


def check_kind(path: str, got: str, expected: str, before: str) -> None:
    """Raise ParameterError where a file holds something else than that before it."""
    if got != expected:
        raise ParameterError(
            f"{path}: expected {expected}, as {before} has, got {got}. Name other files."
        )


# -- stored vectorisers and encoders -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StoredVectoriser:
    """What is stored of a vectoriser: its parameters, and what it counted.

    Where these are plain, it makes the same samples, which takes no scikit-learn.
    """

    takes = "texts"

    n_documents: Annotated[int, "i8 whole"]
    stop_words: Annotated[np.ndarray | None, "O", "w"]
    ngram_range: Annotated[np.ndarray | None, "i8 whole", "2"]
    token_pattern: Annotated[np.ndarray | None, "O", "1"]
    analyzer: Annotated[np.ndarray | None, "O", "1"]
    min_df: Annotated[float | None, "i8 f8 >=0"]
    max_df: Annotated[float | None, "i8 f8 >=0"]
    max_features: Annotated[int | None, "i8 whole >0"]
    terms: Annotated[np.ndarray | None, "O sorted", "t"]
    document_frequency: Annotated[np.ndarray | None, "i8 whole >0", "t"]
    occurrences: Annotated[np.ndarray | None, "i8 whole >0", "t"]
    hashed_frequency: Annotated[np.ndarray | None, "i8 whole", "h"]

    @property
    def frequency(self) -> np.ndarray:
        """In how many documents each term is."""
        counted = [f for f in (self.document_frequency, self.hashed_frequency) if f is not None]
        if len(counted) != 1 or (self.terms is None) != (self.document_frequency is None):
            raise SchemaError("terms: expected counted terms, or hashed ones, got others.")
        return counted[0]

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where terms are in more documents than there are."""
        if self.frequency.max(initial=0) > self.n_documents:
            raise SchemaError("n_documents: expected at least document frequencies, got less.")

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return what `to_arrays` of a vectoriser described."""
        stored: Self = from_arrays(cls, left := dict(arrays))
        check_known("tfidf", left, ())
        return stored

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the vectoriser, as far as they are not those by default."""
        names = "token_pattern", "analyzer", "min_df", "max_df", "max_features", "ngram_range"
        found = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        for name, value in found.items():
            if isinstance(value, np.ndarray):
                found[name] = tuple(value.tolist()) if name == "ngram_range" else value[0]
        if self.stop_words is not None:  # a list of this word is stored twice; once is the name
            is_name = self.stop_words.tolist() == [ENGLISH]
            found["stop_words"] = ENGLISH if is_name else tuple(dict.fromkeys(self.stop_words))
        return found

    @cached_property
    def counts(self) -> Counted:
        """The terms and their counts."""
        table = None if self.terms is None else TermTable(self.terms)
        return Counted.of(table, self.frequency, self.occurrences)

    @property
    def is_plain(self) -> bool:
        """Whether terms are words, or several, and all parameters are in range."""
        given = self.parameters
        low, high = given.get("ngram_range", (1, 1))
        limits = [given[name] for name in ("min_df", "max_df") if name in given]
        return (
            given.keys().isdisjoint(("analyzer", "token_pattern"))
            and given.get("stop_words") != ENGLISH
            and 1 <= low <= high and len(self.frequency) > 0
            and all(limit <= 1 if isinstance(limit, float) else limit >= 1 for limit in limits)
            and (self.max_features is None or self.occurrences is not None)
            and (self.terms is not None or not (limits or self.max_features))
        )  # fmt: skip

    @cached_property
    def _chosen(self) -> Any:
        """The numbers of the terms that have a feature; all hashes have one."""
        if self.terms is None:
            return slice(None)
        given = self.parameters
        limits = given.get("min_df", 1), given.get("max_df", 1.0), self.max_features
        return with_feature(self.frequency, self.n_documents, *limits, self.occurrences)

    @property
    def names(self) -> np.ndarray | None:
        """The terms in the order of the features; None if hashed."""
        return None if self.terms is None else self.terms[self._chosen]

    @cached_property
    def _features(self) -> TermFeatures:
        weights = idf(self.frequency[self._chosen], self.n_documents)
        return TermFeatures(self.counts, self._chosen, weights)

    def samples_of(self, X: Sequence[str]) -> sparse.csr_array:
        """Return samples of texts."""
        stop_words = {word.lower() for word in self.parameters.get("stop_words", ())}
        words = Words(stop_words, self.parameters.get("ngram_range", (1, 1)))
        return self._features.samples_of(X, words)


def vectoriser_of(stored: StoredVectoriser) -> Vectoriser:
    """Return a vectoriser that was stored; SchemaError where its parts do not fit."""
    from narrows.methods.parameters import check_constraints
    from narrows.text import HashedTfidf, Tfidf

    is_hashed, more = stored.terms is None, stored.parameters
    new: Any = HashedTfidf(len(stored.frequency), **more) if is_hashed else Tfidf(**more)
    check_constraints(new)
    new._counts, new.n_documents_ = stored.counts, stored.n_documents
    return new


def encoder_of(arrays: Mapping[str, np.ndarray]) -> TableEncoder:
    """Return the encoder that `to_arrays` described."""
    from narrows.table import TableEncoder

    return TableEncoder.from_arrays(arrays, lambda own: vectoriser_of(StoredVectoriser.of(own)))
