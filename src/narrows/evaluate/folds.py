"""Training and held-out samples of a comparison, read from files into memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError
from narrows.evaluate.splits import REPEATS, Splits, pairs_of
from narrows.io.chunk import TEXT, Options
from narrows.io.dataset import Dataset
from narrows.io.formats import format_of
from narrows.io.source import Source, check_kind
from narrows.solve.sums import widened
from narrows.state.labels import as_one_type, joined, some
from narrows.text import Vectoriser


def read_folds(
    path: str,
    test: str | None,
    cv: int | None,
    repeats: int | None,
    seed: int,
    options: Options,
    vectoriser: Vectoriser,
) -> Splits:
    """Read a file and hold samples out: another file, its `split`, fifths, or each of cv folds.

    For texts, a copy of the unfitted `vectoriser` is fitted to the training samples of each split.
    """
    if test is not None and options.zero_based is None and _count_columns(path, test):
        options = Dataset([path, test], options).options  # zero-based if either file is
    parts: tuple[Any, ...] | None = None
    asked = test or cv or repeats or options.split
    if not asked and _supports(path, "split"):
        parts = _splits(path, options)
    source, pairs = None, list[Any]()
    if parts is None:
        X, y, dataset = rows(path, options)
        parts, source = (X, y), dataset.source()
        if test is not None:
            columns = None if source is None else source.columns
            options = options.replace(columns=columns)
            if dataset.is_text and _supports(test, "text"):
                options = options.replace(text=options.text or (TEXT,))
            X_test, y_test, held_out = rows(test, options, source)
            check_kind(test, held_out.is_text, dataset.is_text, path)
            y, y_test = as_one_type(y, y_test)
            _refuse_others(test, y_test, path, y)
            parts = X, y, X_test, y_test
    _check_classes(path, parts[1])
    if len(parts) == 2:
        _refuse_rare(path, parts[1], cv)
        pairs = pairs_of(parts[1], cv, repeats or REPEATS, seed)
    if parts[0].dtype == object:  # texts
        return Splits(parts, pairs, vectoriser)
    if len(parts) == 4:
        width = max(parts[0].shape[1], parts[2].shape[1])
        parts = widened(parts[0], width), parts[1], widened(parts[2], width), parts[3]
    return Splits(parts, pairs, source=source)


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


def _check_classes(path: str, y: np.ndarray) -> None:
    classes = np.unique(y)
    if len(classes) == 1:
        raise DataError(
            path,
            f"expected samples of at least 2 classes to compare, got only class "
            f"{classes.tolist()[0]!r}. Check --label, or give a file with several classes.",
        )


def _refuse_others(test: str, y_test: np.ndarray, path: str, y: np.ndarray) -> None:
    if not np.isin(y_test, y).any():
        raise DataError(
            test,
            f"expected labels that {path} has ({some(np.unique(y))}), got "
            f'{some(np.unique(y_test))}. Set labels="integer" if both are integers.',
        )


def _refuse_rare(path: str, y: np.ndarray, cv: int | None) -> None:
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < (cv or 2):
        raise DataError(
            path,
            f"expected at least {cv or 2} samples of class {classes.tolist()[counts.argmin()]!r} "
            f"to hold some out, got {counts.min()}. Give --test, a smaller --cv, or remove the "
            "class.",
        )
    least = 5 * len(classes) - 4
    if cv is None and len(y) < least:
        raise DataError(
            path,
            f"expected at least {least} samples to hold out a fifth with all {len(classes)} "
            f"classes, got {len(y)}. Give --test or --cv.",
        )


def _splits(path: str, options: Options) -> tuple[Any, ...] | None:
    """Return the samples with `split` train and test, if the JSON lines have both."""
    try:
        train, test = (rows(path, options.replace(split=name)) for name in ("train", "test"))
    except DataError:
        return None
    y, y_test = as_one_type(train[1], test[1])
    return train[0], y, test[0], y_test
