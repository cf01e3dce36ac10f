"""What makes a comparison too good: columns that say the target, duplicates, ids."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_selection import f_classif, f_regression
from sklearn.metrics import get_scorer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from narrows.errors import printable
from narrows.io.source import Source

_PERFECT = 0.99  # a score above which single columns are tried
_TRIED = 20  # columns
_SHARE = 0.05  # of the held-out samples that are duplicates, beside
_TIMES = 3  # as many as there would be by chance if columns were independent
_FEWEST = 100  # samples of ids
_MOST = 10_000  # features among which ids are looked for
_NAMED = 3


def notes_of(
    fold: tuple[Any, np.ndarray, Any, np.ndarray],
    best: float,
    metric: str,
    source: Source | None,
    raw: Any,
) -> list[str]:
    """Return what to check in the samples of a split, with the best score of all results.

    `raw` are the samples before they are preprocessed.
    """
    X, y, X_test, y_test = fold
    X, X_test = (each if sparse.issparse(each) else np.asarray(each) for each in (X, X_test))
    notes = []
    of_numbers = X, y, X_test, y_test
    if best >= _PERFECT and (found := _telltale(of_numbers, best, metric, source)):
        name, score = found
        notes.append(
            f"Column {printable(name)} alone predicts the target (score {score:.3f} by a tree): "
            "check whether it is known before the target, or leave it out."
        )
    known, n = set(_keys(X)), X_test.shape[0]
    equal = sum(key in known for key in _keys(X_test))
    if equal >= (_SHARE + _TIMES * _by_chance(X, source)) * n:
        notes.append(
            f"{equal:,} of {n:,} held-out samples are equal to training samples, so that scores "
            "may be too high: remove duplicates, or hold whole groups of them out with test."
        )
    if ids := ids_of(raw):
        shown = ", ".join(printable(name) for name in ids[:_NAMED])
        more = f" and {len(ids) - _NAMED:,} more" * (len(ids) > _NAMED)
        what = "Columns" if len(ids) > 1 else "Column"
        notes.append(f"{what} {shown}{more} may be ids, with another integer for each sample.")
    return notes


def _groups(X: Any, source: Source | None) -> np.ndarray:
    """Return the column of each feature."""
    encoder = None if source is None else source.encoder
    return np.arange(X.shape[1]) if encoder is None else np.asarray(encoder.groups_)


def _by_chance(X: Any, source: Source | None) -> float:
    """Return the expected share of samples that equal one of these, if columns are independent.

    It matters in tables of a few categories; other sparse samples hardly coincide.
    """
    groups, share = _groups(X, source), float(X.shape[0])
    if sparse.issparse(X) and (source is None or source.encoder is None):
        return 0.0
    for group in np.unique(groups):
        values = np.array(list(Counter(_keys(X[:, groups == group])).values()))
        share *= float(np.square(values / X.shape[0]).sum())
        if share < _SHARE / 10:
            return 0.0
    return share


def _keys(X: Any) -> list[int]:
    """Return a number for each sample, which equal ones share."""
    if not sparse.issparse(X):
        X = np.ascontiguousarray(X) + X.dtype.type(0)  # -0 is 0
        return [hash(row.tobytes()) for row in X]
    X = sparse.csr_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    bounds = zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
    indices = X.indices.astype(np.int64)
    return [hash((indices[a:b].tobytes(), X.data[a:b].tobytes())) for a, b in bounds]


def ids_of(raw: Any) -> list[str]:
    """Return the names of the columns with another integer for each sample."""
    if sparse.issparse(raw) or isinstance(raw, list | tuple) or not hasattr(raw, "shape"):
        return []
    names = getattr(raw, "column_names", getattr(raw, "columns", None))
    names = list(raw) if names is None and hasattr(raw, "keys") else names
    if len(raw.shape) != 2 or raw.shape[0] < _FEWEST or raw.shape[1] > _MOST:
        return []
    found = []
    for k in range(raw.shape[1]):
        column = np.asarray(raw[:, k] if names is None else raw[names[k]])
        if column.dtype == object:
            texts = list(map(str, column.tolist()))
            if not all(map(str.isdecimal, texts)):
                continue
            column = np.unique(texts, return_inverse=True)[1]
        is_integer = column.dtype.kind in "iu" or (
            column.dtype.kind == "f" and bool(np.all(column == np.floor(column)))
        )
        if is_integer and len(np.unique(column)) == len(column):
            found.append(str(k if names is None else names[k]))
    return found


def _telltale(
    fold: tuple[Any, np.ndarray, Any, np.ndarray], best: float, metric: str, source: Source | None
) -> tuple[str, float] | None:
    """Return the column that alone predicts as well as the best result, and its score."""
    X, y, X_test, y_test = fold
    encoder = None if source is None else source.encoder
    groups = _groups(X, source)
    if len(np.unique(groups)) < 2:
        return None
    numeric = y.ndim == 2
    with np.errstate(all="ignore"):
        found = f_regression(X, y[:, 0])[0] if numeric else f_classif(X, y)[0]
    found = np.where(np.isnan(found), -1, found)
    order = list(dict.fromkeys(groups[np.argsort(-found, kind="stable")].tolist()))
    leaves = 64 if numeric else 4 * len(np.unique(y)) + 16
    balanced = metric in ("balanced_accuracy", "macro_f1")
    measure = get_scorer("r2" if numeric else "balanced_accuracy" if balanced else "accuracy")
    tree = (DecisionTreeRegressor if numeric else DecisionTreeClassifier)(
        max_leaf_nodes=leaves, random_state=0
    )
    if balanced:
        tree.set_params(class_weight="balanced")
    scored: list[tuple[float, int]] = []
    for place, group in enumerate(order[:_TRIED]):
        columns = np.flatnonzero(groups == group)
        sides = (X[:, columns], y), (X_test[:, columns], y_test)
        score, other = (float(measure(tree.fit(*a), *b)) for a, b in (sides, sides[::-1]))
        if other >= 2 * _PERFECT - 1:  # few held-out samples may be predicted by chance
            scored.append((score, -place))
    score, place = max(scored, default=(0.0, 0))
    if score < max(_PERFECT, best - (1 - _PERFECT)):
        return None
    group = order[-place]
    if encoder is not None:
        return encoder.decisions_[group].column, score
    names = None if source is None else source.names
    return (str(group) if names is None else str(names[group])), score
