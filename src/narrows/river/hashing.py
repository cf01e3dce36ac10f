"""Dicts from names to values, hashed into the rows of sparse matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher

from narrows.errors import ParameterError
from narrows.methods._parameters import check_whole
from narrows.state.labels import as_array
from narrows.text.hashed import MOST

Row = Mapping[str, Any]


def rows_of(dicts: Iterable[Row], n_features: int = 2**18) -> sparse.csr_array:
    """Hash dicts into the rows of a sparse matrix.

    Parameters
    ----------
    dicts : iterable of mapping
        Dicts of names and values. A number is kept; a text becomes a feature ``name=text`` with
        value 1; None is ignored.
    n_features : int, default=2**18
        At most 2**31 - 1. Values whose names share a feature are added.

    Returns
    -------
    X : csr_array of shape (n_samples, n_features)
        One row for each dict.

    Raises
    ------
    ParameterError
        n_features is out of range.
    ValueError
        A name is not text, or a value is neither a number nor text nor None.

    See Also
    --------
    batches : Batches of a stream of dicts, for `partial_fit`.
    sklearn.feature_extraction.FeatureHasher : Hashes the names.

    Notes
    -----
    **Cost**: every name is hashed in Python.

    Examples
    --------
    >>> from narrows.river import rows_of
    >>> X = rows_of([{"length": 2.5, "colour": "red", "note": None}], n_features=1024)
    >>> X.shape, sorted(X.data.tolist())
    ((1, 1024), [1.0, 2.5])
    """
    check_whole("rows_of", "n_features", n_features)
    if n_features > MOST:  # scikit-learn does not check, and the process ends
        raise ParameterError(f"rows_of: expected n_features <= {MOST:,}, got {n_features!r}.")
    hasher = FeatureHasher(n_features=n_features, alternate_sign=False)
    given = [{k: v for k, v in row.items() if v is not None} for row in dicts]
    # scikit-learn refuses an empty list
    try:
        return sparse.csr_array(hasher.transform(given) if given else (0, n_features))
    except (TypeError, OverflowError) as error:
        odd = next(((k, v) for row in given for k, v in row.items() if not _hashable(k, v)), None)
        raise ValueError(
            "rows_of: expected dicts from str to numbers, text or None, got "
            + (str(error) if odd is None else f"{odd[0]!r}: {odd[1]!r:.60}")
            + "."
        ) from None


def _hashable(key: Any, value: Any) -> bool:
    try:
        return isinstance(key, str) and (isinstance(value, str) or float(value) is not None)
    except (TypeError, ValueError, OverflowError):
        return False


def batches(
    stream: Iterable[tuple[Row, Any]], rows: int = 1000, n_features: int = 2**18
) -> Iterator[tuple[sparse.csr_array, np.ndarray]]:
    """Yield batches (X, y) for `partial_fit` from a stream of (dict, label).

    Parameters
    ----------
    stream : iterable of (mapping, label)
        For example a data set of River.
    rows : int, default=1000
        The number of samples in a batch; the last one may have fewer.
    n_features : int, default=2**18
        See `rows_of`.

    Yields
    ------
    X : csr_array of shape (n_samples, n_features)
        The samples of a batch.
    y : ndarray of shape (n_samples,)
        Their labels.

    Raises
    ------
    ParameterError, ValueError
        As for `rows_of`, or rows is not an integer >= 1.

    See Also
    --------
    rows_of : Hash the dicts.
    OneByOne : One sample at a time, for River's pipelines.

    Notes
    -----
    **Cost**: that of `rows_of`.

    Examples
    --------
    >>> from narrows import OC
    >>> from narrows.river import batches
    >>> oc = OC()
    >>> for X, y in batches([({"a": 1.0}, "x"), ({"b": 2.0}, "y")], n_features=16):
    ...     oc = oc.partial_fit(X, y)
    >>> oc.components_.shape
    (1, 16)
    """
    check_whole("batches", "rows", rows)
    dicts: list[Row] = []
    labels: list[Any] = []
    for row, label in stream:
        dicts.append(row)
        labels.append(label)
        if len(dicts) == rows:
            yield rows_of(dicts, n_features), as_array(labels)
            dicts, labels = [], []
    if dicts:
        yield rows_of(dicts, n_features), as_array(labels)
