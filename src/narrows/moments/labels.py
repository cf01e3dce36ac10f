"""Labels: from whatever scikit-learn takes as ``y`` to class names and a weighted indicator."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, column_or_1d

from narrows.solve.errors import RangeError

SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100  # what rows times these are is a number
_NUMBERS, _TEXT = "biuf", "UO"
_CLOSE = 1_000  # a table of so many numbers is always small


def indicator(
    X: Any, y: Any, sample_weight: Any = None, who: str = "ClassStats"
) -> tuple[np.ndarray, sparse.csr_array]:
    """Class names and the weighted indicator matrix of the labels of X.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (n, d)
        The samples; only their number is used.
    y : array-like of shape (n,) or (n, 1), or {array, sparse matrix} of shape (n, c)
        One label a sample, or a 0-1 indicator matrix in which a row marks every class it has.
    sample_weight : array-like of shape (n,), optional
        Weights, 0 or from 1e-100 to 1e100; 1 where left out.
    who : str
        Named in errors.

    Returns
    -------
    classes : ndarray of shape (c,)
        The labels, sorted; the column numbers for an indicator matrix.
    Y : csr_array of shape (n, c)
        Y[i, j] is the weight of sample i where it belongs to class j, 0 elsewhere.

    Raises
    ------
    ValueError
        Labels missing, of mixed types, not whole numbers, not 0-1 in an indicator; weights
        negative, not finite, or of another length.
    """
    y = _given(y, who)
    if is_matrix(y):
        classes, Y = _from_matrix(y, who)
    else:
        classes, codes = _from_column(y, who)
        n = len(codes)
        Y = sparse.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, len(classes)))
    check_consistent_length(X, Y)
    if sample_weight is not None:
        weight = weights(sample_weight, Y.shape[0], who)
        Y.data = Y.data * np.repeat(weight, np.diff(Y.indptr))
    return classes, Y


def one_a_row(X: Any, y: Any, who: str) -> tuple[np.ndarray, np.ndarray]:
    """Class names, sorted, and which of them each row of X has, for a method of one label a row.

    Parameters and errors are those of `indicator`; an indicator matrix is refused.
    """
    y = _given(y, who)
    if is_matrix(y):
        raise ValueError(
            f"{who}: one label a row wanted, but y of shape {y.shape} came. Several labels a row "
            "are for the exact methods."
        )
    classes, codes = _from_column(y, who)
    check_consistent_length(X, codes)
    return classes, codes


def _given(y: Any, who: str) -> Any:
    if y is None:
        raise ValueError(
            f"{who} requires y to be passed, but the target y is None. "
            "Pass one label a row, or a 0-1 indicator matrix."
        )
    return y if sparse.issparse(y) else as_array(y)


def as_array(y: Any) -> np.ndarray:
    """Return labels as an array; of objects where NumPy would make others of those of a list."""
    array = np.asarray(y)
    if not isinstance(y, list | tuple) or not (array.ndim == 1 or array.shape[1:] == (1,)):
        return array
    if array.ndim == 2:
        y = [label for row in y for label in row]
    types = {type(label) for label in y}
    if array.dtype.kind == "U" and all(issubclass(kind, str) for kind in types):
        changed = "\0" in "".join(y)  # at the end of a text NumPy drops it
    else:
        rounded = array.dtype.kind == "f" and any(issubclass(kind, int) for kind in types)
        changed = len(types) > 1 or rounded
    if not changed:
        return array
    objects = np.empty(len(y), dtype=object)
    objects[:] = y
    return objects


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """Return labels one after the other; ValueError where `union` would raise."""
    reduce(union, (distinct(part)[0] for part in parts))
    return np.concatenate(parts)


def union(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """All labels of `a` and `b`, sorted; ValueError where numbers would meet text."""
    if not len(a) or not len(b):
        return a if len(a) else b
    numbers = [labels.dtype.kind in _NUMBERS for labels in (a, b)]
    if numbers[0] == numbers[1]:
        both = np.union1d(a, b)
        if not numbers[0] or all(
            x.dtype == both.dtype or x.astype(both.dtype).tolist() == x.tolist() for x in (a, b)
        ):
            return both  # no label was rounded on the way to a common type
    raise _of_several_types((a.tolist()[0], a.dtype), (b.tolist()[0], b.dtype))


def _of_several_types(*labels: tuple[Any, Any], who: str = "") -> ValueError:
    given = " and ".join(f"{label!r} ({kind})" for label, kind in labels)
    return ValueError(
        f"{who}expected labels of one type, got {given}. Turn all labels into text, or all into "
        "numbers of one type."
    )


def arrivals(
    known: np.ndarray, number: np.ndarray, classes: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Number labels in the order in which they come.

    Parameters
    ----------
    known, number : ndarray of shape (c,)
        Labels that came before, sorted, and their numbers, from 0.
    classes, codes : ndarray
        Labels, sorted, and which of them came now, in order.

    Returns
    -------
    known, number : ndarray
        With the new ones that came; of `classes` not all have to.
    """
    merged = union(known, classes)
    first = np.full(len(classes), len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # of several the last one written stays
    given = np.searchsorted(merged, classes)
    numbers = np.full(len(merged), -1)
    numbers[np.searchsorted(merged, known)] = number
    order = np.argsort(first)
    new = order[(numbers[given[order]] < 0) & (first[order] < len(codes))]
    numbers[given[new]] = np.arange(len(known), len(known) + len(new))
    return merged[numbers >= 0], numbers[numbers >= 0]


def is_matrix(y: Any) -> bool:
    """Whether labels come as an indicator matrix, and not one a row."""
    y = y if sparse.issparse(y) else np.asarray(y)
    return y.ndim == 2 and (sparse.issparse(y) or y.shape[1] != 1)


def _from_column(y: Any, who: str) -> tuple[np.ndarray, np.ndarray]:
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "T":  # numpy's variable-width strings
        labels = labels.astype(object)
    if labels.dtype.kind == "O" and not any(isinstance(label, str) for label in labels):
        objects = labels.tolist()
        try:
            labels = np.array(objects)  # numbers, each an object of its own
        except ValueError:
            raise ValueError(f"{who}: labels must be numbers or text, not lists.") from None
        if labels.dtype.kind == "f" and objects:
            labels = _exact(objects, labels, who)
    if labels.dtype.kind in _NUMBERS:
        labels = labels.astype(labels.dtype.newbyteorder("="), copy=False)
        if labels.dtype.itemsize > 8:
            long = labels
            with np.errstate(over="ignore"):  # of what is seen next
                labels = long.astype(np.float64)
            if not np.array_equal(labels, long, equal_nan=True):
                k = int((labels != long).argmax())
                raise _of_several_types((long[k], long.dtype), who=f"{who}: ")
    if labels.dtype.kind not in _NUMBERS + _TEXT:
        raise ValueError(f"{who}: labels must be numbers or text, but {labels.dtype} came.")
    if labels.dtype.kind == "f" and not np.all(labels == np.floor(labels)):
        raise ValueError(
            f"{who}: Unknown label type: continuous. Labels must be whole numbers or text, "
            "but y holds NaN or fractions. Cut a continuous target into classes first."
        )
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError(f"{who}: labels must be whole numbers or text, but y holds infinity.")
    odd = [label for label in labels if not isinstance(label, str)] if labels.dtype == "O" else []
    if odd:
        raise ValueError(
            f"{who}: labels must be all text or all numbers, but {odd[0]!r} came. "
            "Turn all labels into text, and fill or drop missing ones."
        )
    return distinct(labels)


def _exact(objects: list[Any], numbers: np.ndarray, who: str) -> np.ndarray:
    """Return labels that NumPy made floats of; ValueError where whole ones do not stay that."""
    whole = [label for label in objects if isinstance(label, int | np.integer)]
    if whole and len(whole) == len(objects):
        try:
            return np.array(list(map(int, whole)), np.uint64 if min(whole) >= 0 else np.int64)
        except OverflowError:  # no type holds all
            pass
    for label, number in zip(objects, numbers.tolist(), strict=True):
        if isinstance(label, int | np.integer) and (
            int(label) != number or len(whole) == len(objects)
        ):
            other = next((b for b in objects if type(b) is not type(label) or b < 0), label)
            raise _of_several_types(
                (label, type(label).__name__), (other, type(other).__name__), who=f"{who}: "
            )
    return numbers


def distinct(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different labels, sorted, and which of them each is; O(n) for numbers close together."""
    if labels.dtype.kind in "iu" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        if high - low < max(len(labels), _CLOSE):
            wide = labels if labels.dtype.kind == "u" else labels.astype(np.int64)
            place = (wide - wide.dtype.type(low)).astype(np.int64)
            came = np.bincount(place) > 0
            classes = np.flatnonzero(came).astype(wide.dtype) + wide.dtype.type(low)
            return classes.astype(labels.dtype), (np.cumsum(came) - 1)[place]
    return np.unique(labels, return_inverse=True)


def _from_matrix(y: Any, who: str) -> tuple[np.ndarray, sparse.csr_array]:
    Y = sparse.csr_array(y, dtype=np.float64, copy=True)
    Y.sum_duplicates()
    Y.eliminate_zeros()
    if not np.all(Y.data == 1):
        raise ValueError(
            f"{who}: a y of shape {Y.shape} is read as an indicator matrix and must hold "
            "0 and 1 only. Pass a single column for one label a row."
        )
    return np.arange(Y.shape[1]), Y


def weights(sample_weight: Any, n: int, who: str) -> np.ndarray:
    """Return one weight a row, of shape (n,); ValueError where one is negative or not finite."""
    weight = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(
            f"{who}: sample_weight must have shape ({n},), one number a row, "
            f"but {weight.shape} came."
        )
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise ValueError(f"{who}: sample_weight must be finite and >= 0.")
    odd = (weight > LARGEST_WEIGHT) | ((weight > 0) & (weight < SMALLEST_WEIGHT))
    if odd.any():
        i = int(odd.argmax())
        raise RangeError(
            f"sample weights of 0 or between {SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}",
            f"{weight[i]:g} for sample {i}",
            advice="Scale sample_weight, and use 0 for what is to count for nothing.",
            who=who,
        )
    return weight
