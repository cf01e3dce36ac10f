"""Samples as dicts, as River has them: an adapter for one at a time, and batches.

River and pandas are neither needed nor imported. Where River is installed, it accepts `OneByOne` as
a transformer, and as a classifier or regressor if its estimator predicts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils import get_tags

from narrows.errors import ParameterError, WidthError
from narrows.methods.parameters import check_whole
from narrows.moments.labels import as_array
from narrows.moments.products import MOST

__all__ = ["OneByOne", "batches", "rows_of"]


Row = Mapping[Any, Any]

_TRANSFORMERS = (
    "Transformer", "SupervisedTransformer",
    "MiniBatchTransformer", "MiniBatchSupervisedTransformer",
)  # fmt: skip
_CLASSIFIERS = ("Classifier", "MiniBatchClassifier")
_REGRESSORS = ("Regressor", "MiniBatchRegressor")
_OF_RIVER = {  # what River reads of its estimators beside their methods
    "_get_params", "_is_stochastic", "_memory_usage", "_more_tags", "_mutable_attributes",
    "_raw_memory_usage", "_tags", "_unit_test_skips", "mutate",
}  # fmt: skip


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
        A value is neither a finite number nor text nor None.

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
    return _hashed(dicts, n_features)


def _hashed(dicts: Iterable[Row], n_features: int) -> sparse.csr_array:
    """Return what `rows_of` does."""
    check_whole("n_features", n_features)  # scikit-learn would end the process
    hasher = FeatureHasher(n_features=n_features, alternate_sign=False, input_type="pair")
    given = [[(str(k), v) for k, v in row.items() if v is not None] for row in dicts]
    expected = "expected dicts from names to finite numbers, text or None, got"
    try:  # scikit-learn refuses an empty list
        X = sparse.csr_array(hasher.transform(given) if given else (0, n_features))
    except (TypeError, OverflowError) as error:
        odd = next(((k, v) for row in given for k, v in row if not _hashable(v)), None)
        raise ValueError(
            f"{expected} {error if odd is None else f'{odd[0]!r}: {odd[1]!r:.60}'}."
        ) from None
    if not np.isfinite(X.data).all():
        pairs = ((k, v) for row in given for k, v in row if not isinstance(v, str))
        odd = next(((k, v) for k, v in pairs if not np.isfinite(float(v))), None)
        if odd is None:
            raise ValueError(f"{expected} numbers whose sum is infinite. Scale the data down.")
        raise ValueError(
            f"{expected} {odd[0]!r}: {odd[1]!r}. Leave out what is missing, or use None."
        )
    return X


def _hashable(value: Any) -> bool:
    try:
        return isinstance(value, str) or float(value) is not None
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
    check_whole("rows", rows)
    dicts: list[Row] = []
    labels: list[Any] = []
    for row, label in stream:
        dicts.append(row)
        labels.append(label)
        if len(dicts) == rows:
            yield _hashed(dicts, n_features), as_array(labels)
            dicts, labels = [], []
    if dicts:
        yield _hashed(dicts, n_features), as_array(labels)


# -- DataFrames ------------------------------------------------------------------------------------


def pandas() -> Any:
    """pandas, which was imported before if there is a DataFrame; None if it was not."""
    return sys.modules.get("pandas")


def rows_of_frame(X: Any, n_features: int) -> sparse.csr_array:
    """Hash a DataFrame into rows; text that is missing is left out.

    Parameters
    ----------
    X : DataFrame of shape (n_samples, n_columns)
        Columns of numbers, which may be sparse, and of text.
    n_features : int
        As for `rows_of`.

    Returns
    -------
    rows : csr_array of shape (n_samples, n_features)
        One row for each sample.

    Raises
    ------
    TypeError
        X is no DataFrame.
    ValueError
        A number is missing, or a value is neither a number nor text.
    """
    if pandas() is None or not isinstance(X, pandas().DataFrame):
        raise TypeError(
            f"expected a pandas DataFrame, got {type(X).__module__}."
            f"{type(X).__qualname__}. For dicts use the methods for one sample."
        )
    numeric = _numeric(X)
    rows = _rows_of_text(X.loc[:, ~numeric], n_features)
    if numeric.any():
        numbers = X.loc[:, numeric]
        hashed = rows_of([{name: 1.0} for name in numbers.columns], n_features)
        rows = rows + _values(numbers) @ hashed
        rows.sum_duplicates()
    return rows


def _rows_of_text(X: Any, n_features: int) -> sparse.csr_array:
    """The same for columns that are not numeric: dicts without what is missing."""
    values, given = X.to_numpy(dtype=object), X.notna().to_numpy()
    dicts = (
        {name: value for name, value, here in zip(X.columns, *row, strict=True) if here}
        for row in zip(values, given, strict=True)
    )
    return rows_of(dicts, n_features)


def _values(X: Any) -> sparse.csr_array:
    """The numbers of a DataFrame; ValueError if one is missing."""
    if all(getattr(dtype, "fill_value", None) == 0 for dtype in X.dtypes):
        values = sparse.csr_array(X.sparse.to_coo(), dtype=np.float64)
    else:
        values = sparse.csr_array(X.to_numpy(np.float64, na_value=np.nan))
    missing = np.isnan(values.data)
    if missing.any():
        name = X.columns[values.indices[missing.argmax()]]
        raise ValueError(
            f"expected numbers in column {name!r}, got NaN. Use X.fillna(0), which counts "
            "as leaving a value out of a dict does."
        )
    return values


def selected_columns(X: Any, selected: Callable[[list[Row]], np.ndarray]) -> Any:
    """Return the columns of a DataFrame that are selected; text that is not is None.

    Parameters
    ----------
    X : DataFrame of shape (n_samples, n_columns)
        As for `rows_of_frame`.
    selected : callable
        Whether the feature of each dict, of one entry at most, is selected.
    """
    numeric, kept = _numeric(X), selected([{name: 1.0} for name in X.columns])
    found = {}
    for k, (name, column) in enumerate(X.items()):
        if numeric[k]:
            if kept[k]:
                found[name] = column
            continue
        values = column.astype(object).where(column.notna(), None)
        here = selected([{name: value} for value in values])
        if here.any():
            found[name] = values.where(here, None)
    return pandas().DataFrame(found, index=X.index)


def _numeric(X: Any) -> np.ndarray:
    """Whether each column of a DataFrame has numbers."""
    return np.array([dtype.kind in "biuf" for dtype in X.dtypes], dtype=bool)


# -- one at a time ---------------------------------------------------------------------------------


class OneByOne(BaseEstimator):
    """An estimator with the methods of River's transformers, classifiers and regressors.

    If the estimator predicts, River treats it as a classifier, or as a regressor for PLS and
    ReducedRank, in the last step of a pipeline, and as a transformer in any other step. Otherwise
    it is a transformer.

    Parameters
    ----------
    estimator : narrows estimator with partial_fit
        The estimator that learns; it is cloned.
    n_features : int, default=2**18
        The number of hashed features; at most 8,192 for SRDA, LDA, MMC and PCA.
    batch : int, default=1
        The number of samples that `learn_one` collects and learns together. The reduction is
        recomputed after each batch: a larger batch takes less time per sample, and the reduction is
        at most batch - 1 samples behind.

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
    after each batch O(c^2 d) for OC, O(c d) for a selector. `batches` takes a tenth of that, and a
    matrix, without hashing, a hundredth.

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

    def __init__(self, estimator: Any, n_features: int = 2**18, batch: int = 1):
        self.estimator = estimator
        self.n_features = n_features
        self.batch = batch

    # -- a step of River's pipelines ------------------------------------------------------------

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # isinstance reads this, by which River asks what an object does: the class is registered
        # then, as River may be imported after an instance was made or unpickled, and the estimator
        # may be replaced
        base = getattr(sys.modules.get("river"), "base", None)
        if base is None:
            return type(self)
        kind: Any = type(self)
        predictors = self._predictors
        if predictors:
            kind = _predicting(kind, predictors)
        for name in _TRANSFORMERS + predictors:
            if hasattr(base, name):
                getattr(base, name).register(kind)
        return kind

    def __reduce__(self) -> Any:  # that of object compares type(self) with __class__
        return object.__new__, (type(self),), self.__getstate__()

    def __getattr__(self, name: str) -> Any:
        base = getattr(sys.modules.get("river"), "base", None)
        if name not in _OF_RIVER or base is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(base.Estimator, name).__get__(self)

    def __or__(self, other: Any) -> Any:
        compose = sys.modules.get("river.compose")
        if compose is None or not isinstance(other, OneByOne):
            return NotImplemented  # River's steps know what to do
        return compose.Pipeline(self, other)

    @property
    def _supervised(self) -> bool:  # as River asks: whether learn_one needs y
        return bool(get_tags(self.estimator).target_tags.required)

    def _unit_test_params(self) -> Iterator[dict[str, Any]]:  # as River's checks ask
        yield self.get_params(deep=False)

    @property
    def _multiclass(self) -> bool:
        return self._predictors == _CLASSIFIERS

    @property
    def _predictors(self) -> tuple[str, ...]:
        estimator = self.__dict__.get("estimator")
        if not hasattr(estimator, "predict"):
            return ()
        return _REGRESSORS if is_regressor(estimator) else _CLASSIFIERS

    def clone(
        self, new_params: Mapping[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """Return an unfitted clone, or a copy with `include_attributes`, as River's `clone`."""
        new = deepcopy(self) if include_attributes else clone(self)
        return new.set_params(**(new_params or {}))

    # -- learning -------------------------------------------------------------------------------

    def learn_one(self, x: Row, y: Any = None) -> Self:
        """Learn a dict and its label, if the estimator needs one, at once or with its batch.

        If a batch cannot be learned, it is dropped, and the error is raised. After an interrupt,
        the same call can be made again, unless `n_samples_seen_` of `estimator_` has grown.
        """
        self._start()
        row = dict(x), y
        try:
            self._batch.append(row)
            if len(self._batch) >= self.batch:
                self._learn_batch()
        except BaseException:
            if self._batch and self._batch[-1] is row:  # an interrupt, before it was learned
                self._batch.pop()
            raise
        return self

    def learn_many(self, X: Any, y: Any = None) -> Self:
        """Learn a pandas DataFrame and its labels, if the estimator needs them, at once.

        Samples that `learn_one` has collected are learned first. Column names are used like the
        names of a dict, and may differ between calls. Missing text is left out; missing numbers are
        an error.
        """
        rows = rows_of_frame(X, self.n_features)
        labels = [None] * len(X) if y is None else y.tolist() if hasattr(y, "tolist") else list(y)
        if len(labels) != len(X):
            raise ValueError(
                f"expected one label for each of {len(X):,} samples, got {len(labels):,}."
            )
        self._start()
        if self._batch:
            self._learn_batch()
        if labels:
            self._learn(rows, as_array(labels))
        return self

    def _start(self) -> None:
        if not hasattr(self, "_batch"):
            check_whole("batch", self.batch)
            if not hasattr(self.estimator, "partial_fit"):
                raise ParameterError(
                    f"expected an estimator with partial_fit, got "
                    f"{type(self.estimator).__name__}. Use OC or OnlineSRDA."
                )
            if not get_tags(self.estimator).input_tags.sparse:
                raise ParameterError(
                    "expected an estimator that takes sparse samples, got "
                    f"{type(self.estimator).__name__}. Use OC or OnlineSRDA."
                )
            self._batch: list[tuple[Row, Any]] = []
            self._learner = clone(self.estimator)

    @property
    def _n_learned(self) -> int:
        return int(getattr(self._learner, "n_samples_seen_", 0))

    def _learn_batch(self) -> None:
        batch, before = self._batch, self._n_learned
        try:
            dicts, labels = zip(*batch, strict=True)
            self._learn(self._rows(dicts), as_array(list(labels)))
            self._batch = []
        except (ValueError, TypeError):
            self._batch = []
            raise
        except BaseException:  # an interrupt: those that were learned have left the batch
            self._batch = batch[self._n_learned - before :]
            raise

    def _learn(self, X: sparse.csr_array, labels: Any) -> None:
        try:
            self.estimator_ = self._learner.partial_fit(X, labels)
        except WidthError as error:
            fewer = f"Or hash the names of features to fewer: n_features={MOST} of OneByOne."
            raise WidthError(f"{error} {fewer}", error.n_features) from None
        except BaseException:
            if self._n_learned:  # before an interrupt
                self.estimator_ = self._learner
            raise

    # -- reading --------------------------------------------------------------------------------

    def transform_one(self, x: Row) -> dict[str, Any]:
        """Return the reduced dict: the selected entries, or one number for each component.

        Empty until the estimator can transform.
        """
        if not hasattr(self, "estimator_"):
            return {}
        try:
            if hasattr(self.estimator_, "get_support"):
                kept = self._selected([{k: 1.0 if v == 0 else v} for k, v in x.items()])
                return {k: v for (k, v), keep in zip(x.items(), kept, strict=True) if keep}
            reduced = self._reduced(self._rows([x]))[0]
        except NotFittedError:  # classes are still to come
            return {}
        names = self.estimator_.get_feature_names_out()
        return dict(zip(names.tolist(), reduced.tolist(), strict=True))

    def transform_many(self, X: Any) -> Any:
        """Return the reduced DataFrame: the selected columns, or one for each component.

        Without columns until the estimator can transform. Text that is not selected is None.
        """
        rows = rows_of_frame(X, self.n_features)
        if not hasattr(self, "estimator_"):
            return X.iloc[:, :0]
        try:
            if hasattr(self.estimator_, "get_support"):
                return selected_columns(X, self._selected)
            reduced = self._reduced(rows)
        except NotFittedError:  # classes are still to come
            return X.iloc[:, :0]
        names = self.estimator_.get_feature_names_out()
        return pandas().DataFrame(reduced, index=X.index, columns=names)

    def predict_one(self, x: Row) -> Any:
        """Return the predicted class or target of a dict; None before the first batch."""
        found = self._ask("predict", lambda: self._rows([x]), AttributeError)
        return None if found is None else found.tolist()[0]

    def predict_many(self, X: Any) -> Any:
        """Return what is predicted of a DataFrame as a Series; None before the first batch.

        Several targets are the columns of a DataFrame.
        """
        rows = rows_of_frame(X, self.n_features)
        found = self._ask("predict", lambda: rows, AttributeError)
        if found is None:
            return pandas().Series([None] * len(X), index=X.index, dtype=object)
        frame = pandas().DataFrame if np.ndim(found) > 1 else pandas().Series  # of several targets
        return frame(found, index=X.index)

    def predict_proba_one(self, x: Row) -> dict[Any, float]:
        """Return the probability of each class for a dict; empty before the first batch."""
        found = self._ask("predict_proba", lambda: self._rows([x]))
        if found is None:
            return {}
        return dict(zip(self.estimator_.classes_.tolist(), found[0].tolist(), strict=True))

    def predict_proba_many(self, X: Any) -> Any:
        """Return probabilities as a DataFrame, with a column for each class seen so far."""
        rows = rows_of_frame(X, self.n_features)
        found = self._ask("predict_proba", lambda: rows)
        if found is None:
            return X.iloc[:, :0]
        classes = self.estimator_.classes_.tolist()
        return pandas().DataFrame(found, index=X.index, columns=classes)

    def _ask(
        self, method: str, rows: Any, error: type[Exception] = NotImplementedError
    ) -> np.ndarray | None:
        """Return what a method of the estimator says of rows; None while it cannot say."""
        if not hasattr(self, "estimator_"):
            return None
        if not hasattr(self.estimator_, method):
            raise error(
                f"expected an estimator with {method}, got "
                f"{type(self.estimator_).__name__}. Use OnlineSRDA, or a classifier after it."
            )
        try:
            found: np.ndarray = getattr(self.estimator_, method)(rows())
        except NotFittedError:
            return None
        return found

    # -- hashing --------------------------------------------------------------------------------

    def _rows(self, dicts: Iterable[Row]) -> sparse.csr_array:
        return _hashed(dicts, self.n_features)

    def _reduced(self, rows: sparse.csr_array) -> np.ndarray:
        """Return reduced samples as an array, whatever `set_output` asks of the estimator."""
        return np.asarray(self.estimator_.transform(rows))

    def _selected(self, entries: list[Row]) -> np.ndarray:
        """Whether the feature of each dict, of one entry at most, is selected."""
        rows = self._rows(entries)
        selected = self.estimator_.get_support()[rows.indices]
        return np.diff(np.append(0, np.cumsum(selected))[rows.indptr]) > 0


@cache
def _predicting(kind: type, predictors: tuple[str, ...]) -> type:
    """Return the class that an object of `kind` shows River if its estimator predicts.

    No object is of it: a call makes one of `kind`. Each is registered with River separately.
    """
    names = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    made = {"__new__": lambda cls, *args, **kwargs: kind(*args, **kwargs)}
    return type(kind.__name__, (kind,), names | made)
