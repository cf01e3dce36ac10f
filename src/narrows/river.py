"""One dict at a time, as River has them: an adapter, and batches for those who can wait.

River is not imported, and not needed; where it is there, its pipelines take `OneByOne` for one of
their own transformers.
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
    """Return dicts as rows, by hashed columns.

    Parameters
    ----------
    dicts : iterable of mapping
        From names to numbers, which stay what they are; to text, of which ``name=text`` becomes a
        column of its own that is 1; or to None, which is left out.
    n_features : int, default=2**18
        d, at most 2**31 - 1. Names that share a column are added up.

    Returns
    -------
    X : csr_array of shape (n, n_features)

    Raises
    ------
    ParameterError
        n_features out of range.
    ValueError
        A name that is no text, or a value that is neither a number nor text nor None.

    Notes
    -----
    **Cost**: the hashing of every name, in Python; docs/streams.md has what was measured.

    Examples
    --------
    >>> from narrows.river import rows_of
    >>> X = rows_of([{"length": 2.5, "colour": "red", "note": None}], n_features=1024)
    >>> X.shape, sorted(X.data.tolist())
    ((1, 1024), [1.0, 2.5])
    """
    check_whole("rows_of", "n_features", n_features)
    if n_features > MOST:  # scikit-learn does not look, and the process ends
        raise ParameterError(f"rows_of: n_features must be <= {MOST:,}, but {n_features!r} came.")
    hasher = FeatureHasher(n_features=n_features, alternate_sign=False)
    given = [{k: v for k, v in row.items() if v is not None} for row in dicts]
    # scikit-learn refuses to make no rows
    try:
        return sparse.csr_array(hasher.transform(given) if given else (0, n_features))
    except (TypeError, OverflowError) as error:
        odd = next(((k, v) for row in given for k, v in row.items() if not _hashable(k, v)), None)
        raise ValueError(
            "rows_of: dicts from str to numbers, text or None wanted, but "
            + (str(error) if odd is None else f"{odd[0]!r}: {odd[1]!r:.60}")
            + " came."
        ) from None


def _hashable(key: Any, value: Any) -> bool:
    try:
        return isinstance(key, str) and (isinstance(value, str) or float(value) is not None)
    except (TypeError, ValueError, OverflowError):
        return False


def batches(
    stream: Iterable[tuple[Row, Any]], rows: int = 1000, n_features: int = 2**18
) -> Iterator[tuple[sparse.csr_array, np.ndarray]]:
    """Yield (X, y) for `partial_fit` of a stream of (dict, label), so many rows at a time.

    Parameters
    ----------
    stream : iterable of (mapping, label)
        What River's data sets are.
    rows : int, default=1000
        In a batch; the last one may have fewer.
    n_features : int, default=2**18
        See `rows_of`.

    Yields
    ------
    X : csr_array of shape (n, n_features)
    y : ndarray of shape (n,)

    Raises
    ------
    ParameterError, ValueError
        Those of `rows_of`, and rows that is no whole number >= 1.

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
    held: list[Row] = []
    labels: list[Any] = []
    for row, label in stream:
        held.append(row)
        labels.append(label)
        if len(held) == rows:
            yield rows_of(held, n_features), as_array(labels)
            held, labels = [], []
    if held:
        yield rows_of(held, n_features), as_array(labels)


class OneByOne(BaseEstimator):
    """An estimator with `learn_one`, `transform_one` and `predict_one`, for River's pipelines.

    Parameters
    ----------
    estimator : narrows estimator with partial_fit
        It is cloned.
    n_features : int, default=2**18
        How many hashed columns.
    batch : int, default=1
        Rows that are held back and learnt together. What is worked out from the state is worked
        out anew after each batch: with 100 a row of 170 words took a quarter of the time, and what
        is known is at most 99 rows behind.

    Attributes
    ----------
    estimator_ : estimator
        What has been learnt; there after the first batch.

    Raises
    ------
    NotFittedError
        `transform_one`, before a row was learnt.
    ParameterError, ValueError
        Those of `rows_of` and of the estimator.

    Notes
    -----
    **Cost** of a row: some tenths of a millisecond of Python and hashing, and O(nnz) of what is
    learnt; after each batch O(c^2 d) for OC, O(c d) for a selector. `batches` takes a tenth of
    that, and rows of a matrix, without hashing, a hundredth: docs/streams.md has what was measured.

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
        # what isinstance looks at, by which River's pipelines ask what learns and transforms: they
        # are told then, for River may be imported later than this was made or unpickled
        kind = type(self)
        base = getattr(sys.modules.get("river"), "base", None)
        for name in () if base is None else ("Transformer", "SupervisedTransformer"):
            getattr(base, name).register(kind)
        return kind

    def clone(
        self, new_params: Mapping[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """Return one that has learnt nothing, or a copy with `include_attributes`; for River."""
        new = deepcopy(self) if include_attributes else clone(self)
        return new.set_params(**(new_params or {}))

    def learn_one(self, x: Row, y: Any) -> Self:
        """Learn a dict and its label, at once or with its batch; return self.

        Where a batch cannot be learnt it is left out, and the error is raised.
        """
        if not hasattr(self, "_held"):
            check_whole("OneByOne", "batch", self.batch)
            if not hasattr(self.estimator, "partial_fit"):
                raise ParameterError(
                    "OneByOne: an estimator with partial_fit wanted, but "
                    f"{type(self.estimator).__name__} came. Use OC or OnlineSRDA."
                )
            self._held: list[tuple[Row, Any]] = []
            self._learning = clone(self.estimator)
        self._held.append((dict(x), y))
        if len(self._held) >= self.batch:
            try:
                (X, labels), *_ = batches(self._held, len(self._held), self.n_features)
                self.estimator_ = self._learning.partial_fit(X, labels)
            except (ValueError, TypeError):
                self._held = []
                raise
            except BaseException:  # an interrupt: the same call can be made again
                self._held.pop()
                raise
            self._held = []
        return self

    def transform_one(self, x: Row) -> dict[str, Any]:
        """Return the reduced dict: what is kept of it, or one number a direction.

        Empty while there is nothing yet to reduce by.
        """
        if not hasattr(self, "estimator_"):
            return {}
        try:
            if isinstance(self.estimator_, Selector):
                kept = self.estimator_.get_support()
                entries = rows_of([{k: v} for k, v in x.items()], self.n_features)
                found = np.diff(np.append(0, np.cumsum(kept[entries.indices]))[entries.indptr])
                return {k: v for (k, v), n in zip(x.items(), found, strict=True) if n}
            reduced = self.estimator_.transform(rows_of([x], self.n_features))[0]
        except NotFittedError:  # classes are still to come
            return {}
        names = self.estimator_.get_feature_names_out()
        return dict(zip(names.tolist(), reduced.tolist(), strict=True))

    def predict_one(self, x: Row) -> Any:
        """Return the class of a dict, where the estimator predicts; None while it knows none."""
        if not hasattr(self, "estimator_"):
            return None
        if not hasattr(self.estimator_, "predict"):
            raise AttributeError(
                f"OneByOne: {type(self.estimator_).__name__} does not predict, it reduces. Use "
                "OnlineSRDA, or a classifier after it."
            )
        return self.estimator_.predict(rows_of([x], self.n_features)).tolist()[0]
