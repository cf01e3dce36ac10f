"""Labels: from `y` to class names and a weighted indicator, and labels as text and integers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import reduce
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy import sparse

from narrows.errors import ParameterError, RangeError, warn
from narrows.solve.arrays import EXACT, as_numpy
from narrows.solve.sums import check_places

SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100  # samples times these stay finite
_NUMBERS, _TEXT = "biuf", "UO"
_CLOSE = 1_000  # an array of so many numbers is always small
_FOR_NUMBERS = (
    "For targets that are numbers, use PLS, ReducedRank, CorrelationFS, or "
    'target="numeric" of ForwardFS and LEACE.'
)


FEW_CLASSES = 20  # with more, whole numbers may be no classes


def are_numeric(y: Any) -> bool:
    """Whether labels are finite floats that are no classes: fractions, or many whole numbers.

    Whole numbers are taken for numeric targets with a warning.
    """
    numbers = None if y is None or sparse.issparse(y) else as_array(y)
    if numbers is None or numbers.dtype.kind != "f" or not np.isfinite(numbers).all():
        return False
    if (numbers != np.floor(numbers)).any():
        return True
    distinct = len(np.unique(numbers))
    if distinct <= FEW_CLASSES or is_matrix(numbers):
        return False
    warn(
        f"y has {distinct:,} distinct values of type {numbers.dtype}, which are taken for "
        "numbers to predict. If they are classes, use y.astype(int)."
    )
    return True


def may_be_numeric(classes: np.ndarray, n_samples: int) -> bool:
    """Whether classes look like numbers to predict.

    More than `FEW_CLASSES` are numbers, and of a float type or more than a tenth of the samples.
    """
    if len(classes) <= FEW_CLASSES or classes.dtype.kind not in "iuf":
        return False
    return classes.dtype.kind == "f" or 10 * len(classes) > n_samples


def warn_of_numbers(classes: np.ndarray, n_samples: int) -> None:
    """Warn where classes look like numbers to predict."""
    if may_be_numeric(classes, n_samples):
        warn(
            f"expected classes, got {len(classes):,} distinct numbers of type {classes.dtype} in "
            f"{n_samples:,} samples. {_FOR_NUMBERS} For classes, use y.astype(str)."
        )


def indicator(X: Any, y: Any, sample_weight: Any = None) -> tuple[np.ndarray, sparse.csr_array]:
    """Return class names and the weighted indicator matrix of the labels of X.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (n_samples, n_features)
        The samples; only their number is used.
    y : array-like of shape (n_samples,) or (n_samples, 1), or {array, sparse matrix} of shape \
(n_samples, n_classes)
        One label per sample, or a 0-1 indicator matrix of the classes of each sample.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, 0 or from 1e-100 to 1e100; 1 by default.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        The labels, sorted; the column numbers for an indicator matrix.
    Y : csr_array of shape (n_samples, n_classes)
        Y[i, j] is the weight of sample i if it belongs to class j, otherwise 0.

    Raises
    ------
    ValueError
        Labels missing, of mixed types, not whole numbers, not 0-1 in an indicator; weights
        negative, not finite, or of another length.
    """
    y = _given(y)
    if is_matrix(y):
        classes, Y = _from_matrix(y)
    else:
        classes, codes = _from_column(y)
        n = len(codes)
        Y = sparse.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, len(classes)))
    _check_lengths(X, Y)
    if sample_weight is not None:
        weight = weights(sample_weight, Y.shape[0])
        Y.data = Y.data * np.repeat(weight, np.diff(Y.indptr))
    return classes, Y


def _check_lengths(X: Any, y: Any) -> None:
    """Raise ValueError, as scikit-learn does, where there is not one label for each sample."""
    if getattr(X, "shape", (None,))[0] != y.shape[0]:
        from sklearn.utils.validation import check_consistent_length  # takes time to import

        check_consistent_length(X, y)


def one_a_row(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return class names, sorted, and the number of the class of each sample.

    For methods with one label per sample. Parameters and errors are those of `indicator`; an
    indicator matrix is a ValueError.
    """
    y = _given(y)
    if is_matrix(y):
        raise ValueError(
            f"expected one label per sample, got y of shape {y.shape}. The selectors, OC, "
            "OCM, OnlineSRDA and KernelSRDA support several, and SRDA and MMC by cross "
            "products."
        )
    classes, codes = _from_column(y)
    _check_lengths(X, codes)
    return classes, codes


def check_among(classes: Any, y: Any, known: np.ndarray) -> np.ndarray:
    """Return `classes`, distinct and sorted.

    ValueError where a label of `y`, or one that is known, is not one of them.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        All labels that may occur.
    y : array-like, or None
        As for `indicator`; the labels of an indicator matrix are the numbers of its columns.
    known : ndarray of shape (n_known,)
        Labels of earlier samples.
    """
    allowed = _from_column(_given(classes))[0]
    labels = known
    if y is not None:
        y = _given(y)
        given = np.arange(y.shape[1]) if is_matrix(y) else _from_column(y)[0]
        labels = union(known, given)
    kind = union(allowed, labels).dtype  # raises for labels of another type
    other = np.setdiff1d(labels.astype(kind), allowed.astype(kind))
    if len(other):
        raise ValueError(
            f"expected labels among the given classes {first_labels(allowed)}, got "
            f"{first_labels(other)}. Leave classes out, or give all labels that may occur."
        )
    return allowed


def first_labels(labels: np.ndarray, most: int = 10) -> str:
    """Return the first labels as text."""
    shown = ", ".join(map(repr, labels[:most].tolist()))
    return shown + (f", … ({len(labels):,})" if len(labels) > most else "")


def _given(y: Any) -> Any:
    if y is None:
        raise ValueError(
            "fit requires y to be passed, but the target y is None. "
            "Pass one label per sample, or a 0-1 indicator matrix."
        )
    return y if sparse.issparse(y) else as_array(y)


def as_array(y: Any) -> np.ndarray:
    """Return labels as an array, of objects where NumPy would change the labels of a list."""
    array = np.asarray(as_numpy(y, "y"))
    if not isinstance(y, list | tuple) or not (array.ndim == 1 or array.shape[1:] == (1,)):
        return array
    if array.ndim == 2:
        y = [label for row in y for label in row]
    types = {type(label) for label in y}
    if array.dtype.kind == "U" and all(issubclass(kind, str) for kind in types):
        changed = "\0" in "".join(y)  # NumPy drops it at the end of a text
    else:
        rounded = array.dtype.kind == "f" and any(issubclass(kind, int) for kind in types)
        changed = len(types) > 1 or rounded
    if not changed:
        return array
    objects = np.empty(len(y), dtype=object)
    objects[:] = y
    return objects


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """Return arrays of labels as one; ValueError where `union` raises it."""
    kind = reduce(union, (distinct(part)[0] for part in parts)).dtype
    return np.concatenate([part.astype(kind, copy=False) for part in parts])


def union(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return all labels of `a` and `b`, sorted; ValueError for numbers and text together."""
    if not len(a) or not len(b):
        return a if len(a) else b
    numbers = [labels.dtype.kind in _NUMBERS for labels in (a, b)]
    if numbers[0] == numbers[1]:
        if {a.dtype.kind, b.dtype.kind} == {"i", "u"}:  # NumPy would make floats of 64 bits
            kind = np.int64 if max(int(a[-1]), int(b[-1])) < 2**63 else np.uint64
            if kind == np.int64 or min(int(a[0]), int(b[0])) >= 0:
                return np.union1d(a.astype(kind), b.astype(kind))
        both = np.union1d(a, b)
        if not numbers[0] or all(
            x.dtype == both.dtype or x.astype(both.dtype).tolist() == x.tolist() for x in (a, b)
        ):  # the common type did not round any label
            return both
    raise _of_several_types((a.tolist()[0], a.dtype), (b.tolist()[0], b.dtype))


def places_of(labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return where labels are among sorted ones, which `union` made of them and of others."""
    # integers of two types would be compared as floats
    return np.searchsorted(known, labels.astype(known.dtype, copy=False))


def _of_several_types(*labels: tuple[Any, Any]) -> ValueError:
    given = " and ".join(f"{label!r} ({kind})" for label, kind in labels)
    return ValueError(
        f"expected labels of one type, got {given}. Turn all labels into text, or all into "
        "numbers of one type; for files, set `labels` to text."
    )


def arrivals(
    known: np.ndarray, number: np.ndarray, classes: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Number labels in the order in which they occur.

    Parameters
    ----------
    known, number : ndarray of shape (n_classes,)
        Earlier labels, sorted, and their numbers, from 0.
    classes, codes : ndarray
        Labels, sorted, and for each sample, in order, which of them it has.

    Returns
    -------
    known, number : ndarray
        The earlier labels and the new ones that a sample has.
    """
    merged = union(known, classes)
    first = np.full(len(classes), len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # the first sample of each is written last
    given = places_of(classes, merged)
    numbers = np.full(len(merged), -1)
    numbers[places_of(known, merged)] = number
    order = np.argsort(first)
    new = order[(numbers[given[order]] < 0) & (first[order] < len(codes))]
    numbers[given[new]] = np.arange(len(known), len(known) + len(new))
    return merged[numbers >= 0], numbers[numbers >= 0]


def as_labels(y: Any) -> np.ndarray:
    """Return one label per sample in the type in which `indicator` returns class names."""
    classes, codes = _from_column(_given(y))
    return classes[codes]


def is_matrix(y: Any) -> bool:
    """Whether y is an indicator matrix, and not one label per sample."""
    y = y if sparse.issparse(y) else np.asarray(as_numpy(y, "y"))
    return y.ndim == 2 and (sparse.issparse(y) or y.shape[1] != 1)


def are_labels(y: Any) -> bool:
    """Whether y has classes: text, numbers without fractions, or an indicator matrix."""
    try:
        if is_matrix(y):
            _from_matrix(y)
        elif (labels := as_array(y)).dtype.kind not in "biu":
            _from_column(labels)
    except ValueError:
        return False
    return True


def _from_column(y: Any) -> tuple[np.ndarray, np.ndarray]:
    labels = y
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind not in _NUMBERS:
        from sklearn.utils.validation import column_or_1d

        labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "T":  # numpy's variable-width strings
        labels = labels.astype(object)
    if labels.dtype.kind == "O" and not any(isinstance(label, str) for label in labels):
        objects = labels.tolist()
        try:
            labels = np.array(objects)  # numbers, as objects
        except ValueError:
            raise ValueError(
                "expected labels that are numbers or text, got lists. "
                "Give one label a sample, or a matrix of 0 and 1 with a column for each class."
            ) from None
        if labels.dtype.kind == "f" and objects:
            labels = _exact(objects, labels)
    if labels.dtype.kind in _NUMBERS:
        labels = labels.astype(labels.dtype.newbyteorder("="), copy=False)
        if labels.dtype.itemsize > 8:
            long = labels
            with np.errstate(over="ignore"):  # checked next
                labels = long.astype(np.float64)
            if not np.array_equal(labels, long, equal_nan=True):
                k = int((labels != long).argmax())
                raise _of_several_types((long[k], long.dtype))
    if labels.dtype.kind not in _NUMBERS + _TEXT:
        are_bytes = labels.dtype.kind == "S"
        text = "[label.decode() for label in y]" if are_bytes else "np.asarray(y).astype(str)"
        raise ValueError(
            f"expected labels that are numbers or text, got {labels.dtype}. Use {text}."
        )
    if labels.dtype.kind == "f" and not np.all(labels == np.floor(labels)):
        raise ValueError(
            f"Unknown label type: continuous. Expected labels that are whole numbers or "
            f"text, got NaN or fractions. {_FOR_NUMBERS}"
        )
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError("expected labels that are whole numbers or text, got infinity.")
    odd = [label for label in labels if not isinstance(label, str)] if labels.dtype == "O" else []
    if odd:
        raise ValueError(
            f"expected labels that are all text or all numbers, got {odd[0]!r}. "
            "Turn all labels into text, and fill or drop missing ones."
        )
    return distinct(labels)


def _exact(objects: list[Any], numbers: np.ndarray) -> np.ndarray:
    """Return labels that NumPy turned into floats; ValueError where that changes integers."""
    whole = [label for label in objects if isinstance(label, int | np.integer)]
    if whole and len(whole) == len(objects):
        try:
            return np.array(list(map(int, whole)), np.uint64 if min(whole) >= 0 else np.int64)
        except OverflowError:  # no type holds all of them
            pass
    for label, number in zip(objects, numbers.tolist(), strict=True):
        if isinstance(label, int | np.integer) and (
            int(label) != number or len(whole) == len(objects)
        ):
            other = next((b for b in objects if type(b) is not type(label) or b < 0), label)
            raise _of_several_types((label, type(label).__name__), (other, type(other).__name__))
    return numbers


def distinct(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return distinct labels, sorted, and the number of each label; O(n) for close integers."""
    if len(labels) == 1:
        return labels.copy(), np.zeros(1, np.int64)
    if labels.dtype.kind in "iu" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        if high - low < max(len(labels), _CLOSE):
            wide = labels if labels.dtype.kind == "u" else labels.astype(np.int64)
            place = (wide - wide.dtype.type(low)).astype(np.int64)
            occurs = np.bincount(place) > 0
            classes = np.flatnonzero(occurs).astype(wide.dtype) + wide.dtype.type(low)
            return classes.astype(labels.dtype), (np.cumsum(occurs) - 1)[place]
    return np.unique(labels, return_inverse=True)


def _from_matrix(y: Any) -> tuple[np.ndarray, sparse.csr_array]:
    check_places(y, "y")
    Y = sparse.csr_array(y, dtype=np.float64, copy=True)
    Y.sum_duplicates()
    Y.eliminate_zeros()
    if not np.all(Y.data == 1):
        raise ValueError(
            f"expected an indicator matrix of 0 and 1, got other numbers in y of shape "
            f"{Y.shape}. Pass a single column for one label per sample. {_FOR_NUMBERS}"
        )
    return np.arange(Y.shape[1]), Y


def _as_reals(given: Any) -> np.ndarray:
    """Return numbers as float64; TypeError or ValueError for others, complex ones, and times."""
    array = np.asarray(given)
    casting: Any = "safe" if array.dtype.kind in "cmM" else "unsafe"
    return array.astype(np.float64, casting=casting, copy=False)


def weights(sample_weight: Any, n: int) -> np.ndarray:
    """Return weights of shape (n_samples,); ValueError where one is negative or not finite."""
    given = 1.0 if sample_weight is None else as_numpy(sample_weight, "sample_weight")
    try:
        weight = _as_reals(given)
    except (TypeError, ValueError):
        raise ValueError(
            "expected sample_weight of numbers, got others. Give one number per sample."
        ) from None
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(
            f"expected sample_weight of shape ({n},), one number per sample, got {weight.shape}."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        raise ValueError(f"expected finite sample_weight >= 0, got {weight[bad][0]:g}.")
    odd = (weight > LARGEST_WEIGHT) | ((weight > 0) & (weight < SMALLEST_WEIGHT))
    if odd.any():
        i = int(odd.argmax())
        raise RangeError(
            f"sample weights of 0 or between {SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}",
            f"{weight[i]:g} for sample {i}",
            advice="Scale sample_weight, and use 0 for samples that do not count.",
        )
    return weight


_POWERS = {"empirical": 1.0, "sqrt": 0.5, "balanced": 0.0}


def priors(kind: Any, counts: np.ndarray) -> np.ndarray:
    """Return p_j, the weight of each class in a criterion.

    Parameters
    ----------
    kind : {"empirical", "sqrt", "balanced"} or array-like
        p_j proportional to N_j, to N_j^(1/2), to 1, or to the given numbers, one for each class
        of positive weight, in order.
    counts : ndarray of shape (n_classes,)
        N_j.

    Returns
    -------
    p : ndarray of shape (n_classes,)
        Sums to 1; 0 for classes of weight 0.

    Raises
    ------
    ParameterError
        Another word, or numbers that are negative, not finite, all zero, or not one for each
        class.
    """
    seen = counts > 0
    p = np.zeros(len(counts))
    if isinstance(kind, str):
        check_word(kind)
        p[seen] = counts[seen] ** _POWERS[kind]
        return p / (p.sum() or 1.0)
    given = given_numbers(kind)
    if given.shape != (seen.sum(),):
        raise ParameterError(
            f"expected priors of shape ({seen.sum()},), one number for each class, "
            f"got shape {given.shape}."
        )
    if not np.all(np.isfinite(given)) or np.any(given < 0) or not given.any():
        raise ParameterError(
            f"expected priors to be finite, >= 0 and not all 0, got {given.tolist()}."
        )
    p[seen] = given
    return p / p.sum()


def given_numbers(kind: Any) -> np.ndarray:
    """Return priors that are given as numbers; ParameterError for others."""
    try:
        return _as_reals(as_numpy(kind, "priors"))
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"expected priors to be numbers, got {kind!r:.100}.") from None


def log_change(
    kind: Any, classes: np.ndarray, counts: np.ndarray, several: bool = False
) -> np.ndarray:
    """Return what other priors at prediction add to log posteriors, of shape (n_classes,).

    The logarithm of the prior of each class divided by its share in the fit; 0 for a class that was
    not seen, which is not predicted with any priors.

    Parameters
    ----------
    kind : {"empirical", "sqrt", "balanced"}, dict or array-like of shape (n_classes,)
        A dict has the classes that were seen.
    classes, counts : ndarray of shape (n_classes,)
        The classes, and their weights in the fit.
    several : bool, default=False
        Whether samples have several labels, which have no priors that sum to 1.

    Raises
    ------
    ParameterError
        As in `priors`, or samples have several labels.
    """
    if several:
        raise ParameterError(
            f"expected priors=None, since samples may have several labels, got {kind!r}"
            ". Compare probabilities with other limits than 1/2 instead."
        )
    seen, given = counts > 0, by_class(kind)
    if given is not None:
        kind = of_classes(given, classes[seen].tolist())
    elif not isinstance(kind, str):
        kind = priors(kind, np.ones(len(counts)))[
            seen
        ]  # one for each class, also for those to come
    change, share = np.zeros(len(counts)), priors("empirical", counts)[seen]
    with np.errstate(divide="ignore"):  # a prior may be 0
        change[seen] = np.log(priors(kind, counts)[seen]) - np.log(share)
    return change


def by_class(given: Any) -> Mapping[Any, Any] | None:
    """Return priors that are given by class, as a dict or a Series of pandas; None for others."""
    given = given.to_dict() if hasattr(given, "to_dict") else given
    return given if isinstance(given, Mapping) else None


def of_classes(given: Mapping[Any, Any], classes: Sequence[Any]) -> list[float]:
    """Return the priors that a mapping gives for these classes, in their order.

    Text is taken for a label that is printed so, as of JSON, which has no other keys.

    Raises
    ------
    ParameterError
        The mapping lacks a class, or has something else than numbers.
    """
    for label, value in given.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ParameterError(f"expected priors to be numbers, got {value!r} for {label!r}.")
    found = [given.get(label, given.get(str(label))) for label in classes]
    if None in found:
        missing = classes[found.index(None)]
        raise ParameterError(f"expected priors for each class, got none for {missing!r}. Add it.")
    return [float(value) for value in found if value is not None]


def lacks_classes(kind: Any, counts: np.ndarray) -> bool:
    """Whether there are priors for more classes than have weight, in the order of the classes."""
    in_order = not isinstance(kind, str) and by_class(kind) is None
    return in_order and bool(np.size(kind) > (counts > 0).sum())


def check_word(kind: str) -> None:
    """Raise ParameterError where `kind` is not one of the words."""
    if kind not in _POWERS:
        raise ParameterError(
            'expected priors to be "empirical", "sqrt", "balanced", a dict by class or '
            f"an array, got {kind!r}."
        )


def second_for(kind: Any) -> Literal["total", "class"]:
    """Return the second moments that variances require: by class for other priors."""
    return "total" if isinstance(kind, str) and kind == "empirical" else "class"


# -- labels as text and as integers ---------------------------------------------------------------

_INTEGER = re.compile(r"([-+]?0*\d{1,19})(\.0*)?", re.ASCII)
_TRUTH = ("false", "true")


def are_text(labels: np.ndarray) -> bool:
    """Whether labels are text, and not numbers."""
    return labels.dtype.kind in _TEXT


def is_integer(text: str) -> bool:
    """Whether a text is an integer of 64 bits as it is usually written: not 01, not +1, not 1_0."""
    try:
        return str(int(text)) == text and abs(int(text)) < 2**63
    except ValueError:
        return False


def number_of(text: str) -> int | float:
    """Return the number that a text is: an int where it is an integer that floats may round."""
    number = float(text)
    if EXACT <= abs(number) < 2.0**64:
        exact = Decimal(text)
        return int(exact) if exact == int(exact) else number
    return number


def integer_of(label: Any) -> int | None:
    """Return the integer that a label is, also one that is written as 01, +1, 1.0 or true.

    None where it is none, or has more than 64 bits.
    """
    if isinstance(label, str):
        word = label.strip(" \t")
        if word.lower() in _TRUTH:
            return _TRUTH.index(word.lower())
        whole = _INTEGER.fullmatch(word)
        value = int(whole[1]) if whole else None
    else:
        value = int(label) if label == label // 1 else None
    return None if value is None or not -(2**63) <= value < 2**63 else value


def written(labels: np.ndarray) -> np.ndarray:
    """Return labels as text; whole numbers, also of floating point, as integers."""
    if labels.dtype.kind != "f":
        return labels if are_text(labels) else labels.astype(str)
    return np.array(list(map(text_of, labels.tolist())), dtype=str)


def text_of(label: Any) -> str:
    """Return a label as text."""
    is_whole = isinstance(label, float) and label.is_integer()
    return str(int(label) if is_whole else label)


def integers(labels: np.ndarray) -> np.ndarray | None:
    """Return distinct labels as integers; None if one is no integer, or two are the same one."""
    found = [integer_of(label) for label in labels.tolist()]
    if None in found or len(set(found)) < len(found):
        return None
    return np.array(found, dtype=np.int64)
