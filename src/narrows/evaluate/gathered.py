"""Files as rows to learn from and rows held out, all in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError
from narrows.evaluate.comparison import Fold, split
from narrows.read import Dataset
from narrows.read.chunk import Options
from narrows.solve.sums import widened
from narrows.text import Tfidf


def folds(path: str, test: str | None, cv: int | None, seed: int, options: Options) -> list[Fold]:
    """Read a file, and hold rows out: another file, its own `split`, a fifth, or each of cv folds.

    Texts become rows by the terms of those to learn from alone.
    """
    if test is not None:
        (X, y), (X_test, y_test) = rows(path, options), rows(test, options)
        parts = [(X, y, X_test, y_test)]
    else:
        by_split = None if cv is not None or options.split else _splits(path, options)
        if by_split is not None:
            (X, y), (X_test, y_test) = by_split
            parts = [(X, y, X_test, y_test)]
        else:
            X, y = rows(path, options)
            classes, counts = np.unique(y, return_counts=True)
            if counts.min() < (cv or 2):
                raise DataError(
                    path,
                    f"class {classes[counts.argmin()]!r} has {counts.min()} row(s), too few to be "
                    "learnt from and held out. Give --test, or leave the class out.",
                )
            parts = list(split(X, y, cv, seed))
    return [_as_rows(*part) for part in parts]


def rows(path: str, options: Options) -> tuple[Any, np.ndarray]:
    """All rows of a file, or its texts as an array of objects; and one label each."""
    chunks = list(Dataset([path], options))
    y = np.concatenate([chunk.y for chunk in chunks])
    if y.ndim != 1:
        raise ParameterError(f"{path}: one label a row wanted to compare, but it holds several.")
    X = [chunk.X for chunk in chunks]
    if isinstance(X[0], list):
        return np.array([text for part in X for text in part], dtype=object), y
    width = max(part.shape[1] for part in X)
    X = [widened(part, width) for part in X]
    return (sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X)), y


def _splits(path: str, options: Options) -> Any:
    """The rows whose `split` is train and those whose it is test, of JSON lines that have both."""
    if ".jsonl" not in path:
        return None
    found = []
    for name in ("train", "test"):
        try:
            found.append(rows(path, options.having(split=name)))
        except DataError:
            return None
    return found


def _as_rows(X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Fold:
    if isinstance(X, np.ndarray) and X.dtype == object:
        tfidf = Tfidf().update(X)
        X, X_test = tfidf.transform(X), tfidf.transform(X_test)
    width = max(X.shape[1], X_test.shape[1])
    return widened(X, width), y, widened(X_test, width), y_test
