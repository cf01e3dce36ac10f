"""Training and held-out samples of a comparison, read from files into memory."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError
from narrows.evaluate.comparison import Fold, split
from narrows.io.chunk import TEXT, Options
from narrows.io.dataset import Dataset
from narrows.io.formats import format_of
from narrows.io.source import Source, check_kind
from narrows.solve.sums import widened
from narrows.state.labels import joined, some
from narrows.state.written import as_one_type
from narrows.text import Vectoriser

_SHOWN = 100  # characters of a text


@dataclass(frozen=True)
class Folds:
    """Training and held-out samples, and of the last fold, the source of the features.

    Of texts, also how those begin that are held out in the last fold.
    """

    folds: list[Fold]
    source: Source | None
    texts: list[str] | None = None


def read_folds(
    path: str,
    test: str | None,
    cv: int | None,
    seed: int,
    options: Options,
    vectoriser: Vectoriser,
) -> Folds:
    """Read a file and hold samples out: another file, its `split`, a fifth, or each of cv folds.

    For texts, a copy of the unfitted `vectoriser` is fitted to the training samples of each fold.
    """
    if test is not None and options.zero_based is None and _count_columns(path, test):
        options = Dataset([path, test], options).options  # zero-based if either file is
    by_split = cv is None and test is None and not options.split and _supports(path, "split")
    parts, source = (_splits(path, options) if by_split else None), None
    if parts is None:
        X, y, dataset = rows(path, options)
        source = dataset.source()
        if test is not None:
            columns = None if source is None else source.columns
            options = options.replace(columns=columns)
            if dataset.is_text and _supports(test, "text"):
                options = options.replace(text=options.text or (TEXT,))
            held_out = rows(test, options, source)
            check_kind(test, held_out[2].is_text, dataset.is_text, path)
            X_test, y_test, _ = held_out
            y, y_test = as_one_type(y, y_test)
            _refuse_others(test, y_test, path, y)
            parts = [(X, y, X_test, y_test)]
        else:
            _refuse_rare(path, y, cv or 2)
            parts = list(split(X, y, cv, seed))
    done = [_as_rows(part, vectoriser) for part in parts]
    tfidf = done[-1][1]
    folds = [fold for fold, _ in done]
    if tfidf is None:
        return Folds(folds, source)
    return Folds(
        folds,
        Source(tfidf=tfidf),
        [" ".join(text[: 2 * _SHOWN].split())[:_SHOWN] for text in parts[-1][2]],
    )


def rows(
    path: str, options: Options, source: Source | None = None
) -> tuple[Any, np.ndarray, Dataset]:
    """Return the samples of a file (texts as an array of objects), their labels, the data set."""
    dataset = Dataset([path], options, source)
    chunks = list(dataset)
    if sparse.issparse(chunks[0].y):
        raise ParameterError(f"{path}: expected one label per sample to compare, got several.")
    y = joined([chunk.y for chunk in chunks])
    X = [chunk.X for chunk in chunks]
    if dataset.is_text:
        return np.array([text for part in X for text in part], dtype=object), y, dataset
    width = max(part.shape[1] for part in X)
    X = [widened(part, width) for part in X]
    stacked = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X)
    return stacked, y, dataset


def _count_columns(*paths: str) -> bool:
    return all("zero_based" in format_of(path)[0].options for path in paths)


def _supports(path: str, option: str) -> bool:
    return path != "-" and option in format_of(path)[0].options


def _refuse_rare(path: str, y: np.ndarray, least: int) -> None:
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < least:
        raise DataError(
            path,
            f"expected at least {least} samples of class {classes.tolist()[counts.argmin()]!r} to "
            f"hold some out, got {counts.min()}. Give --test, a smaller --cv, or remove the class.",
        )


def _refuse_others(test: str, y_test: np.ndarray, path: str, y: np.ndarray) -> None:
    if not np.isin(y_test, y).any():
        raise DataError(
            test,
            f"expected labels that {path} has ({some(np.unique(y))}), got "
            f'{some(np.unique(y_test))}. Set labels="integer" if both are integers.',
        )


def _splits(path: str, options: Options) -> list[Any] | None:
    """Return the samples with `split` train and test, if the JSON lines have both."""
    try:
        train, test = (rows(path, options.replace(split=name)) for name in ("train", "test"))
    except DataError:
        return None
    y, y_test = as_one_type(train[1], test[1])
    return [(train[0], y, test[0], y_test)]


def _as_rows(part: Fold, vectoriser: Vectoriser) -> tuple[Fold, Vectoriser | None]:
    X, y, X_test, y_test = part
    counted = None
    if isinstance(X, np.ndarray) and X.dtype == object:
        counted = deepcopy(vectoriser).update(X)
        X, X_test = counted.transform(X), counted.transform(X_test)
    width = max(X.shape[1], X_test.shape[1])
    return (widened(X, width), y, widened(X_test, width), y_test), counted
