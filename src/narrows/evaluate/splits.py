"""Splits of samples into training and held-out ones, with the preprocessing fitted inside each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline

from narrows.errors import DataError, ParameterError, some_names
from narrows.io.chunk import DECIDED, TEXT, Options
from narrows.io.dataset import Dataset
from narrows.io.formats import format_of
from narrows.io.source import Source, check_kind, of_maker
from narrows.io.streams import display_name
from narrows.io.table_rows import cells_named, take_rows
from narrows.io.table_rows import joined as concatenated
from narrows.moments.labels import first_labels, joined
from narrows.moments.targets import as_samples
from narrows.solve.cells import CellError
from narrows.solve.sums import stacked, widened
from narrows.text import FeatureMaker

Fold = tuple[Any, np.ndarray, Any, np.ndarray]
Pairs = Sequence[tuple[np.ndarray, np.ndarray]]
Places = Sequence[tuple[str, Sequence[int] | np.ndarray]]
REPEATS = 5
_SHOWN = 100  # characters of a text


class Splits(Sequence[Fold]):
    """Splits (X, y, X_test, y_test), each made when it is read; the last one read is kept.

    Parameters
    ----------
    parts : (X, y) or Fold
        The samples and labels to split by `pairs`, or one split.
    pairs : sequence of (train, test)
        The numbers of the samples of each split; empty if `parts` is one.
    preprocess : transformer or Pipeline, optional
        A copy is fitted to the training samples of each split.
    source : Source, optional
        Where the features come from, if there is no `preprocess`.
    places : tuple of sequences of (file, lines), optional
        Of samples that were read, and of read held-out samples: the files, and their lines there.
    holds : str, optional
        What the samples are that were read from files: "numbers", "texts" or "tables".
    """

    def __init__(
        self,
        parts: tuple[Any, ...],
        pairs: Pairs = (),
        preprocess: Any = None,
        source: Source | None = None,
        places: tuple[Places, Places] = ((), ()),
        holds: str = "",
    ):
        # the samples and labels as they were given: all, or the training ones of the one split
        self.samples, self.y = parts[:2]
        self.parts, self.pairs, self.preprocess, self._source = parts, pairs, preprocess, source
        self._places, self._holds = places, holds
        self._kept: tuple[int, Fold, Any] | None = None

    def __len__(self) -> int:
        return len(self.pairs) or 1

    def __getitem__(self, k: Any) -> Any:
        if not 0 <= k < len(self):
            raise IndexError(k)
        return self._made(k)[0]

    def held_out(self, k: int) -> np.ndarray:
        """Return the labels of the held-out samples of a split."""
        return self.y[self.pairs[k][1]] if len(self.pairs) else self.parts[3]

    @property
    def is_text(self) -> bool:
        """Whether the samples are texts."""
        return isinstance(self.preprocess, FeatureMaker) and self.preprocess.takes == "texts"

    def source(self, k: int) -> Source | None:
        """Return where the features of a split come from, if that is known."""
        return self._source if self.preprocess is None else source_of(self._made(k)[1])

    def groups(self, k: int) -> np.ndarray | None:
        """Return the column of each feature of a table that was read from a file.

        There `narrows fit` selects whole columns by forward selection.
        """
        source = self.source(k) if self._holds == "tables" else None
        encoder = None if source is None else source.encoder
        return None if encoder is None else encoder.groups_

    def texts(self, k: int) -> list[str] | None:
        """Return how the held-out texts of a split begin; None if they are no texts."""
        if not self.is_text:
            return None
        return [" ".join(text[: 2 * _SHOWN].split())[:_SHOWN] for text in self._raw(k)[2]]

    def _raw(self, k: int) -> Fold:
        if not len(self.pairs):
            X, y, X_test, y_test = self.parts
            return X, y, X_test, y_test
        (X, y), (train, test) = self.parts, self.pairs[k]
        return take_rows(X, train), y[train], take_rows(X, test), y[test]

    def _made(self, k: int) -> tuple[Fold, Any]:
        if self._kept is None or self._kept[0] != k:
            X, y, X_test, y_test = self._raw(k)
            fitted = None
            if self.preprocess is not None:
                rows = self.pairs[k] if len(self.pairs) else (range(len(y)), range(len(y_test)))
                places = (self._places[0],) * 2 if len(self.pairs) else self._places
                with _rows_named(rows[0], places[0]):
                    fitted, X = fit_preprocessing(self.preprocess, X, y)
                with _rows_named(rows[1], places[1]):
                    X_test = fitted.transform(X_test)
                X, X_test = as_samples(X), as_samples(X_test)
            self._kept = k, (X, y, X_test, y_test), fitted
        return self._kept[1:]


@contextmanager
def _rows_named(rows: Sequence[int] | np.ndarray, places: Places) -> Iterator[None]:
    """Name the file and line of a wrong cell, or the number of its row among all samples."""
    with cells_named(places):
        try:
            yield
        except CellError as error:
            raise error.at(int(rows[error.row])) from None


def fit_preprocessing(steps: Any, X: Any, y: np.ndarray) -> tuple[Any, Any]:
    """Return a copy of a transformer that is fitted to training samples, and these transformed."""
    pipeline = make_pipeline(clone(steps))
    return pipeline, pipeline.fit_transform(X, y)


def source_of(fitted: Any) -> Source | None:
    """Return the names of the features that a fitted transformer makes, if it has some."""
    last = fitted.steps[-1][1]
    if isinstance(last, FeatureMaker):
        return Source(**of_maker(last))
    try:
        return Source(columns=tuple(map(str, fitted.get_feature_names_out())))
    except (AttributeError, ValueError):
        return None


def pairs_of(
    y: np.ndarray, cv: int | None = None, repeats: int = REPEATS, seed: int = 0
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the numbers of the samples of stratified splits: 4 to 1, or each of cv folds."""
    rows = np.arange(len(y))
    if cv is not None:
        folds = KFold if y.ndim == 2 else StratifiedKFold
        return list(folds(cv, shuffle=True, random_state=seed).split(rows, y))
    drawn = ShuffleSplit if y.ndim == 2 else StratifiedShuffleSplit
    return list(drawn(repeats, test_size=0.2, random_state=seed).split(rows, y))


def check_counts(y: np.ndarray, splits: bool, cv: int | None) -> None:
    """Raise ParameterError where samples are too few to compare, or to hold some of them out."""
    problem, n = "", len(y)
    if y.ndim == 2:  # numbers, of which each part needs two
        least = 2 * (cv or 5) if splits else 2
        if n < least:
            problem = f"at least {least} samples, got {n}. Set `test`."
        elif not np.ptp(y, axis=0).any():
            problem = f"targets that vary, got only {y[0].tolist()}. Check the targets."
    else:
        classes, counts = np.unique(y, return_counts=True)
        labels, least = classes.tolist(), 5 * len(classes) - 4
        if len(classes) == 1:
            problem = f"samples of at least 2 classes to compare, got only class {labels[0]!r}."
        elif splits and cv is not None and cv > counts.max():
            problem = f"`cv` <= {counts.max()}, the samples of the largest class, got {cv}."
        elif splits and cv is None and counts.min() < 2:
            rare = labels[counts.argmin()]
            problem = f"at least 2 samples of class {rare!r}, got 1. Remove it, or set `test`."
        elif splits and cv is None and n < least:
            problem = (
                f"at least {least} samples to hold out a fifth with all {len(classes)} classes, "
                f"got {n}. Set `cv` or `test`."
            )
        if problem and len(classes) > 1 and _are_numbers(classes):
            problem += " For numbers to predict, set `target`."
    if problem:
        raise ParameterError(f"expected {problem}")


def checked_test(test: Any, X: Any) -> tuple[Any, Any]:
    """Return the samples and labels of `test`; ParameterError if they do not fit to samples X."""
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise ParameterError(
            f"expected test=(X, y), got {type(test).__name__}. Pass samples and labels."
        )
    ours, theirs = _names(X), _names(test[0])
    if ours and theirs and ours != theirs:
        raise ParameterError(
            f"expected a test set with the columns of X in their order "
            f"({some_names(ours)}), got {some_names(theirs)}. Select these columns from it."
        )
    return test[0], test[1]


def _names(X: Any) -> tuple[str, ...]:
    """Return the names of the columns; nothing unless all are text, as in scikit-learn."""
    names = tuple(getattr(X, "columns", ()))
    return names if all(isinstance(name, str) for name in names) else ()


def read_folds(
    paths: Sequence[str],
    tests: Sequence[str],
    cv: int | None,
    repeats: int | None,
    seed: int,
    options: Options,
    maker: Any,
) -> Splits:
    """Read files and hold samples out: other files, their `split`, fifths, or each of cv folds.

    For texts and tables, a copy of the unfitted `maker` is fitted to the training samples of each
    split.
    """
    has_split = not (tests or cv or repeats or options.split) and _support(paths, "split")
    parts, source, places, holds = read_parts(paths, tests, options, has_split)
    try:
        check_counts(parts[1], len(parts) == 2, cv)
    except ParameterError as error:
        raise DataError(display_names(paths), str(error)) from None
    pairs = pairs_of(parts[1], cv, repeats or REPEATS, seed) if len(parts) == 2 else []
    if holds == "numbers":
        return Splits(parts, pairs, source=source)
    several = len(paths) + len(tests) > 1  # of one file, the row is enough
    return Splits(parts, pairs, maker, places=places if several else ((), ()), holds=holds)


def read_parts(
    paths: Sequence[str], tests: Sequence[str], options: Options, has_split: bool = False
) -> tuple[tuple[Any, ...], Source | None, tuple[Places, Places], str]:
    """Read (X, y) of files, or a `Fold` of them and of test files or, with `has_split`, of them.

    Texts are an array of objects. Also return where the features come from, if that is known, the
    places of both kinds of samples, and what they are: "numbers", "texts" or "tables".
    """
    both = [*paths, *tests]
    if tests and options.zero_based is None and _support(both, "zero_based"):
        options = Dataset(both, options).options  # zero-based if any file is
    found, source = _splits(paths, options) if has_split else None, None
    parts: tuple[Any, ...]
    places: tuple[Places, Places]
    if found is not None:
        parts, places, holds = found
    else:
        X, y, dataset, at = read_samples(paths, options)
        holds = dataset.holds
        parts, source, places = (X, y), dataset.source(), (at, ())
        if tests:
            columns = None if source is None else source.columns
            options = options.replace(columns=columns).with_found(_decided(dataset))
            if dataset.is_text and _support(tests, "text"):
                options = options.replace(text=options.text or (TEXT,))
            X_test, y_test, held_out, at_test = read_samples(tests, options, source)
            check_kind(display_names(tests), held_out.holds, holds, display_names(paths))
            if y.ndim == 1 and not np.isin(y_test, y).any():
                had, got = first_labels(np.unique(y)), first_labels(np.unique(y_test))
                expected = f"expected labels that {display_names(paths)} has ({had}), got {got}."
                raise DataError(
                    display_names(tests), f"{expected} Check which column has the labels."
                )
            parts, places = (X, y, X_test, y_test), (at, at_test)
    if len(parts) == 4 and holds == "numbers":
        width = max(parts[0].shape[1], parts[2].shape[1])
        parts = widened(parts[0], width), parts[1], widened(parts[2], width), parts[3]
    return parts, source, places, holds


def display_names(paths: Sequence[str]) -> str:
    """Return files as errors name them."""
    return ", ".join(map(display_name, paths))


def read_samples(
    paths: Sequence[str], options: Options, source: Source | None = None
) -> tuple[Any, np.ndarray, Dataset, Places]:
    """Return the samples of files (texts as an array of objects), labels, data set and places."""
    dataset = Dataset(paths, options, source)
    chunks = list(dataset)
    places = [(display_name(paths[chunk.at.file]), chunk.lines) for chunk in chunks]
    if sparse.issparse(chunks[0].y):
        raise ParameterError(
            f"{display_names(paths)}: expected one label per sample to compare, got several. Keep "
            "one."
        )
    found = [chunk.y for chunk in chunks]
    try:
        y = np.concatenate(found) if found[0].ndim == 2 else joined(found)
    except ValueError as error:  # labels of several types
        raise DataError(display_names(paths), str(error)) from None
    X = [chunk.X for chunk in chunks]
    if options.table:
        return concatenated(X), y, dataset, places
    if dataset.is_text:
        return np.array([text for part in X for text in part], dtype=object), y, dataset, places
    return stacked(X), y, dataset, places


def _support(paths: Sequence[str], option: str) -> bool:
    """Whether the formats of all files have an option."""
    return all(path != "-" and option in format_of(path)[0].options for path in paths)


def _are_numbers(classes: np.ndarray) -> bool:
    try:
        return bool(np.isfinite(classes.astype(np.float64)).all())
    except ValueError:
        return False


def _splits(
    paths: Sequence[str], options: Options
) -> tuple[tuple[Any, ...], tuple[Places, Places], str] | None:
    """Return the samples with `split` train and test, if the JSON lines have both."""
    try:  # a file may hold one of them
        of_train, of_test = (options.replace(split=name) for name in ("train", "test"))
        train = read_samples(_files_of_split(paths, of_train), of_train)
        of_test = of_test.with_found(_decided(train[2]))
        test = read_samples(_files_of_split(paths, of_test), of_test)
    except DataError as error:
        if error.line is not None:
            raise
        return None
    return (train[0], train[1], test[0], test[1]), (train[3], test[3]), train[2].holds


def _decided(dataset: Dataset) -> dict[str, Any]:
    """Return the type of labels that the first rows of a data set have decided."""
    return {DECIDED: dataset.options.get(DECIDED)}


def _files_of_split(paths: Sequence[str], options: Options) -> list[str]:
    """Return the files with lines of a split; all where none has some."""
    found = []
    for path in paths if len(paths) > 1 else ():
        next(iter(Dataset([path], options.replace(split=None))))  # or it is empty
        with suppress(DataError):
            next(iter(Dataset([path], options)))
            found.append(path)
    return found or list(paths)
