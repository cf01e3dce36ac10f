"""Samples as dicts, as River has them: an adapter for one at a time, and batches.

River is neither needed nor imported. Where it is installed, its pipelines accept `OneByOne` as one
of their own transformers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import FeatureHasher

from narrows.families._parameters import check_whole
from narrows.families._select import Selector
from narrows.moments.labels import as_array
from narrows.solve.errors import ParameterError
from narrows.text import MOST

__all__ = ["OneByOne", "batches", "rows_of"]

Row = Mapping[str, Any]


def rows_of(dicts: Iterable[Row], n_features: int = 2**18) -> sparse.csr_array:
    """Hash dicts into the rows of a sparse matrix.

    Parameters
    ----------
    dicts : iterable of mapping
        From names to values. A number is kept; a text becomes a feature ``name=text`` with value 1;
        None is left out.
    n_features : int, default=2**18
        At most 2**31 - 1. Values whose names share a feature are added up.

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
    sklearn.feature_extraction.FeatureHasher : What hashes the names.

    Notes
    -----
    **Cost**: every name is hashed in Python; docs/streams.md has measurements.

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
        Such as River's data sets.
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
    rows_of : What hashes the dicts.
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


class OneByOne(BaseEstimator):
    """An estimator with `learn_one`, `transform_one` and `predict_one`, for River's pipelines.

    Parameters
    ----------
    estimator : narrows estimator with partial_fit
        The estimator that learns; it is cloned.
    n_features : int, default=2**18
        The number of hashed features; at most 8,192 for SRDA, MMC and PCA.
    batch : int, default=1
        The number of samples that are collected and learned together. The reduction is recomputed
        after each batch: with ``batch=100`` a sample of 170 words took a quarter of the time, and
        the reduction is at most 99 samples behind.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator; available after the first batch.

    Raises
    ------
    ParameterError, ValueError
        As for `rows_of` and the estimator.

    See Also
    --------
    batches : Batches of a stream of dicts, for `partial_fit`; faster.
    narrows.OnlineSRDA : A method for streams that also predicts.

    Notes
    -----
    **Cost** of a sample: some tenths of a millisecond of Python and hashing, and O(nnz) to learn;
    after each batch O(c^2 d) for OC, O(c d) for a selector. `batches` takes a tenth of that, and
    the rows of a matrix, without hashing, a hundredth; docs/streams.md has measurements.

    Examples
    --------
    >>> from narrows import OnlineSRDA
    >>> from narrows.river import OneByOne
    >>> model = OneByOne(OnlineSRDA(), n_features=64)
    >>> for x, y in [({"a": 1.0}, "x"), ({"b": 1.0}, "y")] * 5:
    ...     model = model.learn_one(x, y)
    >>> model.predict_one({"a": 1.0})
    'x'
    """

    _supervised = True  # as River asks

    def __init__(self, estimator: Any, n_features: int = 2**18, batch: int = 1):
        self.estimator = estimator
        self.n_features = n_features
        self.batch = batch

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # isinstance reads this, by which River's pipelines ask what learns and transforms: this
        # class is registered then, as River may be imported after an instance was made or unpickled
        kind = type(self)
        base = getattr(sys.modules.get("river"), "base", None)
        for name in () if base is None else ("Transformer", "SupervisedTransformer"):
            getattr(base, name).register(kind)
        return kind

    def clone(
        self, new_params: Mapping[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """Return an unfitted clone, or a copy with `include_attributes`, as River's `clone`."""
        new = deepcopy(self) if include_attributes else clone(self)
        return new.set_params(**(new_params or {}))

    def learn_one(self, x: Row, y: Any) -> Self:
        """Learn a dict and its label, at once or with its batch; return self.

        A batch that cannot be learned is left out, and the error is raised.
        """
        if not hasattr(self, "_batch"):
            check_whole("OneByOne", "batch", self.batch)
            if not hasattr(self.estimator, "partial_fit"):
                raise ParameterError(
                    "OneByOne: expected an estimator with partial_fit, got "
                    f"{type(self.estimator).__name__}. Use OC or OnlineSRDA."
                )
            self._batch: list[tuple[Row, Any]] = []
            self._learner = clone(self.estimator)
        self._batch.append((dict(x), y))
        if len(self._batch) >= self.batch:
            try:
                (X, labels), *_ = batches(self._batch, len(self._batch), self.n_features)
                self.estimator_ = self._learner.partial_fit(X, labels)
            except (ValueError, TypeError):
                self._batch = []
                raise
            except BaseException:  # an interrupt: the same call can be made again
                self._batch.pop()
                raise
            self._batch = []
        return self

    def transform_one(self, x: Row) -> dict[str, Any]:
        """Return the reduced dict: the selected entries, or one number for each component.

        Empty until the estimator can reduce.
        """
        if not hasattr(self, "estimator_"):
            return {}
        try:
            if isinstance(self.estimator_, Selector):
                selected = self.estimator_.get_support()
                entries = rows_of([{k: v} for k, v in x.items()], self.n_features)
                found = np.diff(np.append(0, np.cumsum(selected[entries.indices]))[entries.indptr])
                return {k: v for (k, v), n in zip(x.items(), found, strict=True) if n}
            reduced = self.estimator_.transform(rows_of([x], self.n_features))[0]
        except NotFittedError:  # classes are still to come
            return {}
        names = self.estimator_.get_feature_names_out()
        return dict(zip(names.tolist(), reduced.tolist(), strict=True))

    def predict_one(self, x: Row) -> Any:
        """Return the predicted class of a dict; None before the first batch."""
        if not hasattr(self, "estimator_"):
            return None
        if not hasattr(self.estimator_, "predict"):
            raise AttributeError(
                f"OneByOne: expected an estimator with predict, got "
                f"{type(self.estimator_).__name__}. Use OnlineSRDA, or a classifier after it."
            )
        return self.estimator_.predict(rows_of([x], self.n_features)).tolist()[0]
