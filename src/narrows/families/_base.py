"""What all estimators share: what they have learnt, and how it is read and checked.

The ways to learn are `_additive.py` (states that add up), `_batch.py` (all rows at once) and
`_sequential.py` (a row at a time; `_online.py` on the engine of the iterations); `_select.py` and
`_project.py` are the two solution spaces.
"""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from numbers import Integral, Real
from threading import RLock
from typing import Any, ClassVar, NoReturn, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from narrows.families._elsewhere import is_dask
from narrows.solve.errors import ParameterError, RangeError
from narrows.solve.sums import all_finite, with_one_index_type
from narrows.solve.undo import Undo


class Learnt:
    """All that an estimator has learnt: its state, and what was computed from it when read.

    `source` says how files became the columns (`narrows.read.Source`); it travels with a model.
    """

    def __init__(self, state: Any, source: Any = None):
        self.state, self.source = state, source
        self.solution: Any = None
        self.solved: dict[str, Any] = {}  # the parameters that the solution is for

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "solution": None}


def same(a: Any, b: Any) -> bool:
    """Whether two values of a parameter mean the same: 1 column is not 1.0 of them."""
    return np.array_equal(a, b) and isinstance(a, Integral) == isinstance(b, Integral)


def held(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as they are now: of arrays and lists, which may be written to, copies."""
    return {k: np.array(v) if np.ndim(v) else v for k, v in parameters.items()}


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view of a fitted array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def is_number(value: Any, low: float, above: bool = False) -> bool:
    """Whether a parameter is a finite number >= low, or > low."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    number = float(value)
    return bool(np.isfinite(number) and (number > low if above else number >= low))


def check_whole(who: str, name: str, value: Any, otherwise: str = "") -> None:
    """Raise ParameterError where a parameter is no whole number >= 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ParameterError(
            f"{who}: {name} must be a whole number >= 1{otherwise}, but {value!r} came."
        )


def check_half_life(who: str, value: Any) -> None:
    """Raise ParameterError where a half-life is neither None nor a number of rows."""
    if value is not None and not is_number(value, 0, above=True):
        raise ParameterError(
            f"{who}: half_life must be a number of rows > 0 or None, but {value!r} came."
        )


def check_parts(who: str, half_life: Any) -> None:
    """Raise ParameterError where a half-life would need rows in order, which parts are not."""
    if half_life is not None:
        raise ParameterError(
            f"{who}: half_life={half_life:g} needs rows in order, but the parts of a distributed "
            "fit have none. Leave half_life out, or learn them as a stream."
        )


def absent(verb: str, why: str) -> Any:
    """Return what stands in the place of a method that cannot be had: hasattr is false.

    The AttributeError says why, and, from `_instead` of the class, what to use.
    """

    def refuse(estimator: Any) -> NoReturn:
        raise AttributeError(
            f"{type(estimator).__name__} has no {verb}, {why}. Use {estimator._instead}."
        )

    return property(refuse, doc=f"Not to be had, {why}. The AttributeError names what is.")


_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # beside the estimators: a lock of
# theirs could be neither copied nor pickled
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LOCKS.clear)  # the threads that hold them are not there


def lock_of(estimator: Any) -> Any:
    """Return the lock of an estimator: one thread at a time learns, or solves."""
    return _LOCKS.setdefault(estimator, RLock())


def whole(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method learn wholly or not at all, and in one thread at a time.

    Whatever is raised, also by a signal handler, the estimator's attributes are then as they were
    before; a state that is changed in place sees to itself.
    """

    @wraps(method)
    def learning(self: Any, *args: Any, **named: Any) -> Any:
        def learn() -> Any:
            with naming(self):  # before the names of the features are gone again
                return method(self, *args, **named)

        with lock_of(self):
            return Undo(self).guard(learn)

    return learning


@contextmanager
def naming(estimator: Any) -> Iterator[None]:
    """Let an error about magnitudes name the estimator, and the feature as the data did."""
    try:
        yield
    except RangeError as error:
        raise said_by(estimator, error) from None


def said_by(estimator: Any, error: RangeError) -> RangeError:
    """Return an error about magnitudes, said by the estimator, of a feature as the data call it."""
    name = None if error.feature is None else feature_name(estimator, error.feature)
    return error.named(type(estimator).__name__, name)


def feature_name(estimator: Any, k: int) -> str:
    """Return the name of feature k, also of an estimator that is only being fitted."""
    names = getattr(estimator, "feature_names_in_", None)
    source = getattr(getattr(estimator, "_learnt", None), "source", None)
    if names is None and source is not None:
        names = source.names
    return f"x{k}" if names is None else str(names[k])


@whole
def take_state(estimator: Any, state: Any) -> Any:
    """Take a state for what an estimator has learnt, of columns without names; return it."""
    estimator._check_parameters(state.n_features)
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    estimator.n_features_in_ = state.n_features
    return estimator._finish(state)


class Estimator(TransformerMixin, BaseEstimator):
    """An estimator that has a state, and an answer that is a function of it and its parameters.

    So `set_params` needs no new `fit`: the next answer that is read is that of the new ones. A
    state says `classes` (sorted), `counts`, `n_samples` and `n_features`, can be made wider by
    `widen`, and becomes plain arrays and back by `to_arrays` and `from_arrays`.
    """

    _state_type: ClassVar[Any]
    _needs_y: ClassVar[bool] = True
    _instead: ClassVar[str]  # of the verbs that are absent
    _learnt: Learnt
    n_features_in_: int

    # -- learning, a piece at a time ----------------------------------------------------------

    @abstractmethod
    def _empty_state(self, n_features: int) -> Any:
        """Return a state of this method's kind with nothing in it yet."""

    @abstractmethod
    def _update_state(self, state: Any, X: Any, y: Any) -> Any:
        """Learn rows in the place of `partial_fit`, in place."""

    @abstractmethod
    def _fit_state(self, state: Any) -> Self:
        """Take a state for what was learnt, as `fit` of the rows it was made of would."""

    def _fit_parts(self, parts: Any) -> Self:
        """Learn from the parts of a data set, wherever they are (`narrows.engines`).

        Parameters
        ----------
        parts : narrows.engines.parts.Parts
            Gives the `sum` of their states, or the `rows` as an operator.

        Raises
        ------
        ParameterError
            Here it needs all rows one after the other; the message names what does not.
        """
        raise ParameterError(
            f"{type(self).__name__}: it learns from one row after the other, or from all at once, "
            f"so parts cannot be learnt side by side. Use {self._instead}."
        )

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Any:
        """Return the state that gave these arrays, a finished one or one in the making."""
        return self._state_type.from_arrays(arrays)

    def _passes_in_order(self) -> int:
        """How often `fit` goes through the rows, if it takes them in the order of a file."""
        return 1

    def _next_pass(self, state: Any) -> None:
        """Tell the state that it has seen all rows once, and that they will come again."""
        return

    # -- reading ----------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        """The labels seen with positive weight, sorted; of shape (c,)."""
        stats = self._state
        return stats.classes[stats.counts > 0]

    @property
    def class_count_(self) -> np.ndarray:
        """N_j, the weight of each class, of shape (c,)."""
        counts = self._state.counts
        return counts[counts > 0]

    @property
    def n_samples_seen_(self) -> int:
        """How many rows have been learnt from, whatever their weights and number of labels."""
        return self._state.n_samples

    @property
    def _source(self) -> Any:
        """How files became columns, for a model that was fitted to files; else None."""
        check_is_fitted(self)
        return self._learnt.source

    def _column_name(self, k: int) -> str:
        """Return the name of column k: that of the data, or x0, x1, … where they had none."""
        names = self._column_names()
        return f"x{k}" if names is None else str(names[k])

    def _column_names(self) -> np.ndarray | None:
        """Return the names that the columns had in the data, of shape (d,), if they had any."""
        names = getattr(self, "feature_names_in_", None)
        if names is None and self._source is not None:
            names = self._source.names
        return names

    def _file_columns(self) -> tuple[str, ...] | None:
        """Return the names by which columns are found in a file or table, if they have any."""
        names, source = getattr(self, "feature_names_in_", None), self._source
        if source is not None:
            columns: tuple[str, ...] | None = source.columns
            return columns
        return None if names is None else tuple(names)

    def _remember(self, source: Any) -> Self:
        """Keep, with what has been learnt, how files became columns (`narrows.read.Source`)."""
        check_is_fitted(self)
        self._learnt.source = source
        return self

    def _widen(self, n_features: int) -> Self:
        """Let there be more columns, 0 in all rows so far; only where columns have no names."""
        if self._column_names() is not None:
            raise ValueError(
                f"{type(self).__name__}: {self.n_features_in_} named columns wanted, but "
                f"{n_features} came."
            )
        learnt = self._learnt
        learnt.state, learnt.solution = learnt.state.widen(n_features), None
        self.n_features_in_ = n_features
        return self

    @property
    def _state(self) -> Any:
        check_is_fitted(self)
        return self._learnt.state

    @property
    def _solution(self) -> Any:
        """The answer of the state and the parameters of the moment; worked out when first read."""
        check_is_fitted(self)
        with lock_of(self):
            learnt, now = self._learnt, self.get_params(deep=False)
            if learnt.solution is None or not all(same(learnt.solved[k], now[k]) for k in now):
                self._check_parameters(self.n_features_in_)
                with naming(self):
                    learnt.solution, learnt.solved = self._solve(learnt.state), held(now)
            return learnt.solution

    # -- inside -----------------------------------------------------------------------------

    @abstractmethod
    def _solve(self, state: Any) -> Any:
        """The answer, from the state; the parameters are known to be in range."""

    def _check_parameters(self, n_features: int) -> None:
        """Raise ParameterError where a parameter is out of range for this many columns."""
        return

    def _check_parameters_alone(self) -> None:
        """Raise ParameterError where a parameter is out of range whatever the data."""
        self._check_parameters(sys.maxsize)

    def _check_two_classes(self, state: Any) -> None:
        classes = int((state.counts > 0).sum())
        if classes < 2 and self._needs_y:
            raise ValueError(
                f"{type(self).__name__}: two classes of positive weight wanted, but "
                f"{classes} class{'' if classes == 1 else 'es'} came. "
                "Check the labels, or use partial_fit while classes are still to come."
            )

    def _labels(self, X: Any, y: Any) -> Any:
        """Return y, or where labels play no part and it is None the one class 0 for all rows."""
        if y is None and self._needs_y:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Pass one label a row, or a 0-1 indicator matrix."
            )
        return np.zeros(X.shape[0], dtype=np.int64) if y is None else y

    def _check_X(self, X: Any, **options: Any) -> Any:
        if is_dask(X):
            raise TypeError(
                f"{type(self).__name__}: only fit and transform take Dask collections. For the "
                "other methods loop over the partitions and compute each; to fit on a cluster use "
                "narrows.engines.dask.fit."
            )
        if "ensure_all_finite" not in options:
            options["ensure_all_finite"] = not all_finite(X)
        with np.errstate(over="ignore", invalid="ignore"):  # of a sum that scikit-learn looks at
            X = validate_data(
                self, X, accept_sparse="csr", dtype=[np.float64, np.float32], **options
            )
        return with_one_index_type(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learnt")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._needs_y
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def merge_into(estimator: Any, others: tuple[Any, ...], combine: Callable[[list[Any]], Any]) -> Any:
    """Let an estimator know what it and others know, by `combine` of their states; return it.

    `combine` returns a new state that shares nothing with those it is given.
    """
    for other in others:
        check_alike(estimator, other)
    with ExitStack() as held:
        for each in sorted({estimator, *others}, key=id):  # in one order: no two wait for another
            held.enter_context(lock_of(each))
        return _merged_into(estimator, others, combine)


@whole
def _merged_into(
    estimator: Any, others: tuple[Any, ...], combine: Callable[[list[Any]], Any]
) -> Any:
    fitted = [e for e in (estimator, *others) if e.__sklearn_is_fitted__()]
    for other in fitted[1:]:
        check_columns(fitted[0], other)
    if others and fitted:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(others[0], name):
                setattr(estimator, name, getattr(others[0], name))
        combined = combine([e._learnt.state for e in fitted])
        estimator._learnt = Learnt(combined, fitted[0]._learnt.source)
    return estimator


def check_alike(estimator: Estimator, other: Any) -> None:
    """Raise where another method, or other parameters, would be merged in."""
    name = type(estimator).__name__
    if type(other) is not type(estimator):
        raise ValueError(
            f"{name}: only an {name} can be merged in, but {type(other).__name__} came."
        )
    check_is_fitted(other)
    mine, theirs = estimator.get_params(), other.get_params()
    unlike = [key for key in mine if not same(mine[key], theirs[key])]
    if unlike:
        raise ValueError(
            f"{name}: only an estimator of the same parameters can be merged in, but "
            + ", ".join(f"{key} is {mine[key]!r} here, {theirs[key]!r} there" for key in unlike)
            + ". Use set_params first if that is what you want."
        )


def check_columns(estimator: Estimator, other: Any) -> None:
    """Raise where the columns of two estimators are not the same."""
    name = type(estimator).__name__
    if estimator.n_features_in_ != other.n_features_in_:
        raise ValueError(
            f"{name}: {estimator.n_features_in_} columns wanted, but an estimator of "
            f"{other.n_features_in_} columns came. Fit both to the same columns."
        )
    named_alike = same(estimator._column_names(), other._column_names())
    if not named_alike or estimator._source != other._source:
        raise ValueError(
            f"{name}: the columns of the two do not have the same names or origin. "
            "Fit both to the same columns, in the same order."
        )
