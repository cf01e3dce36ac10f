"""What all estimators have: a state, a solution that is read from it, and the verbs."""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from copy import deepcopy
from functools import cache, wraps
from inspect import signature
from threading import RLock, get_ident
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from narrows.errors import (
    ParameterError,
    RangeError,
    WidthError,
    errors_named_after,
    feature_name,
    fit_alike,
)
from narrows.methods.names import column_names, file_columns, use_names
from narrows.methods.parameters import (
    HALF_LIFE,
    KEEP,
    PRIORS,
    Constraint,
    check_constraints,
    check_names,
    copied,
    same,
)
from narrows.methods.routes import (
    Data,
    Gathered,
    Sums,
    can_add,
    check_adds_up,
    engine_of,
    is_first_pass,
    refuse_more,
    route_of,
)
from narrows.methods.texts import with_shared_texts
from narrows.methods.then import Then
from narrows.removed import check_attribute, check_removed
from narrows.solve.applied import Applied
from narrows.solve.arrays import checked_samples
from narrows.solve.codec import SchemaError, from_arrays
from narrows.solve.in_place import Held
from narrows.solve.sums import are_many
from narrows.state.class_stats import ClassStats, Second, checked_rows
from narrows.state.cross import MOST
from narrows.state.labels import (
    FEW_CLASSES,
    SMALLEST_WEIGHT,
    are_labels,
    are_text,
    by_class,
    check_among,
    is_matrix,
    warn_of_numbers,
    weights,
)
from narrows.state.mapped import ONE_MAP, Mapped

# Locks are not attributes of the estimators, which could then be neither copied nor pickled.
_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
if hasattr(os, "register_at_fork"):  # the threads that hold locks do not exist in the child
    os.register_at_fork(after_in_child=_LOCKS.clear)


def lock_of(estimator: Any) -> Any:
    """Return the lock of an estimator: only one thread at a time updates or solves."""
    return _LOCKS.setdefault(estimator, RLock())


Method = TypeVar("Method", bound=Callable[..., Any])


def where(has: Callable[[Any], Any]) -> Callable[[Method], Method]:
    """Return scikit-learn's decorator of methods that only some estimators of a class have."""
    return cast(Callable[[Method], Method], available_if(has))


def atomic(method: Method) -> Method:
    """Let a method update the estimator in one thread at a time, and change nothing if it raises.

    But for the blocks of samples that `partial_fit` has added when an interrupt comes, which stay.
    Errors name the class of the estimator, also those of states and solvers, which know none.
    """
    in_blocks = method.__name__ in ("partial_fit", "transform_while_learning")

    @wraps(method)
    def update(self: Any, *args: Any, **named: Any) -> Any:
        with lock_of(self):
            before = dict(vars(self))
            fitted = before.get("_fitted") if method.__name__ == "partial_fit" else None
            try:
                if fitted is not None:
                    fitted.begin()
                with errors_named_after(self):  # before the names of the features are restored
                    found = method(self, *args, **named)
                if fitted is not None:
                    fitted.hand_over(self)
                return found
            except BaseException as error:
                if isinstance(error, Exception) or not (in_blocks and _has_learned(self)):
                    self.__dict__ = before  # at once
                raise
            finally:
                if fitted is not None:
                    fitted.updating = self._fitted.updating = 0

    return cast(Method, update)


def _has_learned(estimator: Any) -> bool:
    """Whether an estimator has a state that has learned samples."""
    fitted = vars(estimator).get("_fitted")
    return fitted is not None and bool(fitted.state.n_samples)


def accepts_collections(method: Method) -> Method:
    """Let `fit` or `transform` hand a collection to its engine."""

    @wraps(method)
    def either(self: Any, X: Any, *args: Any, **named: Any) -> Any:
        engine = engine_of(X)
        if engine is None:
            return method(self, X, *args, **named)
        if method.__name__ == "transform":
            return engine.transform(self, X)
        given = signature(method).bind(self, X, *args, **named).arguments
        fitted = engine.fit(self, (X, given.get("y"), given.get("sample_weight")))
        if fitted is self and getattr(given.get("y"), "ndim", 1) == 1:  # no indicator matrix
            with errors_named_after(self):
                self._warn_of_numbers(None)
        return fitted

    return cast(Method, either)


class Fitted:
    """The state of a fitted estimator, and the solution that was computed from it.

    `source` says how files became features (`narrows.read.Source`); it is saved with a model, and
    so is `then`, what predicts by selected features.
    """

    then: Then | None = None

    def __init__(self, state: Any, source: Any = None, checked: dict[str, Any] | None = None):
        self.state, self.source = state, source
        self.solution: Any = None
        self.saved: Applied | None = None  # what a model file has of the solution
        self.checked = checked or {}  # the parameters that were checked; the solution is for them
        self._nobody_reads()

    def _nobody_reads(self) -> None:
        self.updating = 0  # the thread that updates the state and solves for it
        self.latest: dict[str, Any] = {}  # what was read last, by the method that reads it
        self.readers: dict[int, int] = {}  # for how many more updates each thread is a reader

    def __getstate__(self) -> dict[str, Any]:
        own = {name: vars(self)[name] for name in ("state", "source", "saved", "checked")}
        return {**own, "then": self.then, "solution": None}

    def __setstate__(self, own: dict[str, Any]) -> None:
        vars(self).update(own)
        self._nobody_reads()

    def begin(self) -> None:
        """Let other threads read what was read last while this one updates an estimator.

        The one who calls this sets `updating` to 0 at the end.
        """
        self.updating = get_ident()
        if not self._is_read():
            self.latest = {}  # which takes memory

    def _is_read(self) -> bool:
        """Whether other threads than the one that updates read something lately."""
        return any(thread != self.updating for thread in list(self.readers))

    def hand_over(self, estimator: Estimator) -> None:
        """Let other threads read what was read last of the updated estimator.

        If some did so lately, solve for the new state, so that they do not have to.
        """
        after = estimator._fitted
        after.latest, after.updating = self.latest, self.updating
        latest = dict(self.latest)
        for name in latest if self._is_read() else ():
            with suppress(ValueError):  # which those who read will get
                latest[name] = getattr(estimator, name)()
        after.latest = latest  # all at once
        left = [(thread, updates - 1) for thread, updates in list(self.readers.items())]
        after.readers = {thread: updates for thread, updates in left if updates}

    def forget(self) -> None:
        """Drop what was computed of the state, before this changes."""
        self.solution = self.saved = None


_READS = 10  # updates in a row that solve at once for a thread that read before them
_WAIT = 0.001  # seconds, after which a reader looks again whether another thread updates

# verbs of River, which are looked for here
_OF_RIVER = {
    "learn_one", "learn_many", "predict_one", "predict_proba_one", "transform_one",
}  # fmt: skip


class Estimator(TransformerMixin, BaseEstimator):
    """An estimator with a state, and a solution that is a function of it and the parameters.

    So `set_params` needs no new `fit`: the next attribute that is read is that of the new
    parameters, or raises ParameterError after a fit that needed all samples at once. A state has
    `classes` (sorted), `counts`, `n_samples` and `n_features`, becomes wider by `widen`, and
    becomes plain arrays and back by `to_arrays` and `from_arrays`.
    """

    _state_type: ClassVar[Any]
    _needs_y: ClassVar[bool] = True
    _selects: ClassVar[bool] = False  # whether it keeps features as they are
    _takes_numbers: ClassVar[bool | None] = False  # as targets; None: as well as classes
    _unsupported: ClassVar[dict[str, str]] = {}  # verbs of other methods: why not, and what to use
    _instead: ClassVar[str]  # what those messages recommend
    _constraints: ClassVar[dict[str, Constraint]] = {}  # of parameters; bases have more
    _only_route: ClassVar[Any] = None  # a Route; None: `route_of` chooses by the samples
    _wide: ClassVar[Any] = None  # the Route where there are too many features; None: `route_of`
    _fitted: Fitted
    n_features_in_: int
    _lists_features: ClassVar[str] = ""  # the parameter that has names or indices of features
    _column_names, _file_columns, _use_names = column_names, file_columns, use_names
    keep: Any  # how many samples to keep; not of all methods

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = cls.__module__.startswith("narrows.")  # others may change what is reduced
        if own and "transform" in vars(cls):  # before `set_output`: an engine knows the names
            cls.transform = accepts_collections(vars(cls)["transform"])
        cls.__doc__ = with_shared_texts(cls.__doc__)

    if not TYPE_CHECKING:  # so that a wrong parameter or attribute is still found by mypy

        def __new__(cls, /, *args: Any, **parameters: Any) -> Self:
            """Say which parameter is meant by one that the class does not take."""
            check_names(cls, parameters)
            return super().__new__(cls)

        def __getattr__(self, name: str) -> Any:
            """Say what to use instead of a verb that is not supported."""
            check_attribute(type(self).__name__, name)
            why = self._why_not(name)
            if why is None:
                return super().__getattribute__(name)  # raises once more what got us here
            advice = f"{why}. Use {self._instead}." if "Use " not in why else why
            raise AttributeError(f"{type(self).__name__} does not support {name}: {advice}")

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as scikit-learn does.

        Parameters
        ----------
        **params : dict
            Parameters and their values.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            There is no such parameter, or an earlier version had it.

        See Also
        --------
        get_params : Return the parameters.
        """
        check_removed(type(self).__name__, params)
        return super().set_params(**params)

    def _why_not(self, name: str) -> str | None:
        """Return why a verb is not supported; None for other names."""
        if name in _OF_RIVER:
            return (
                "it takes samples in batches. Use narrows.river.OneByOne"
                f"({type(self).__name__}()), which takes one at a time."
            )
        return type(self)._unsupported.get(name)

    # -- fitting --------------------------------------------------------------------------------

    @abstractmethod
    def _empty_state(self, n_features: int) -> Any:
        """Return an empty state of this method's kind."""

    @abstractmethod
    def _update_state(self, state: Any, X: Any, y: Any) -> Any:
        """Update a state with samples, in place, and return it."""

    @atomic
    def _fit_state(self, state: Any) -> Self:
        """Fit to the last state of a route, as `fit` does to the samples it was made of."""
        self._check_parameters(state.n_features)
        if hasattr(self, "feature_names_in_"):  # there are no names
            del self.feature_names_in_
        self.n_features_in_ = state.n_features
        return self._store(self._finished(state))

    def _fit_parts(self, parts: Any) -> Self:
        """Fit to the parts of a data set, wherever they are (`narrows.engines.parts.Parts`)."""
        with errors_named_after(self):
            route = route_of(self, parts, "parts")
            try:
                state = route.of_parts(parts)
            except WidthError:  # later parts have more features
                if self._wide is None or isinstance(route, self._wide):
                    raise
                state = self._wide(self).of_parts(parts)
            return self._fit_state(state)

    def _finished(self, state: Any) -> Any:
        """Return the state of a model, of the last state of a route."""
        return state.solved(self) if isinstance(state, Gathered) else state

    def _is_finished(self, state: Any) -> bool:
        """Whether a state is that of a model, and not one that a fit has to make another of."""
        return isinstance(state, self._state_type)

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Any:
        """Return the state that gave these arrays, a finished or an unfinished one."""
        return from_arrays(self._state_type, arrays)

    # -- reading --------------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        """The labels seen with positive weight, sorted; of shape (n_classes,)."""
        stats = self._state
        return stats.classes[stats.counts > 0]

    @property
    def class_count_(self) -> np.ndarray:
        """The weight of each class, of shape (n_classes,)."""
        counts = self._state.counts
        return counts[counts > 0]

    @property
    def n_samples_seen_(self) -> int:
        """The number of samples seen, whatever their weights and number of labels."""
        return self._state.n_samples

    @property
    def _has_text_labels(self) -> bool | None:
        """Whether the classes are text; None without classes."""
        classes = self._fitted.state.classes
        return are_text(classes) if len(classes) else None

    @property
    def _source(self) -> Any:
        """How files became features, for a model that was fitted to files; else None."""
        check_is_fitted(self)
        return self._fitted.source

    def _column_name(self, k: int) -> str:
        """Return the name of feature k: that of the data, or x0, x1, … where they had none."""
        return feature_name(self, k)

    def _remember(self, source: Any) -> Self:
        """Store how files became features (`narrows.read.Source`)."""
        check_is_fitted(self)
        self._fitted.source = source
        return self

    def _emptied(self) -> Self:
        """Return a fitted copy that has learned no samples, with the same features and map."""
        new, state = clone(self), self._state
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(new, name, deepcopy(getattr(self, name)))
        empty = (
            state.emptied() if hasattr(state, "emptied") else self._empty_state(state.n_features)
        )
        new._fitted = Fitted(empty, self._source)
        return new

    def _widen(self, n_features: int) -> Self:
        """Append features that are 0 in all samples so far; only where features have no names."""
        if self._column_names() is not None:
            raise ValueError(
                f"{type(self).__name__}: expected {self.n_features_in_} named features, got "
                f"{n_features}. Use the features of the fit."
            )
        fitted = self._fitted
        with errors_named_after(self), Held():
            fitted.state = fitted.state.widen(n_features)
            fitted.forget()
            self.n_features_in_ = n_features
        return self

    @atomic
    def _rename_classes(self, names: np.ndarray) -> None:
        """Give the classes other labels, different ones, in the order of the state's `classes`."""
        fitted, priors = self._fitted, getattr(self, "priors", None)
        given, classes = by_class(priors), fitted.state.classes.tolist()
        live = np.argsort(names[fitted.state.counts > 0])
        if given is not None:
            new = dict(zip(classes, names.tolist(), strict=True))
            self.set_params(priors={new.get(label, label): p for label, p in given.items()})
        elif priors is not None and np.size(priors) == len(live) > 1:  # in the order of classes_
            self.set_params(priors=np.asarray(priors)[live])
        self._fitted = Fitted(fitted.state.renamed(names), fitted.source)

    def _to_save(self) -> Any:
        """Return the state, which holds what a file of it may hold from now on."""
        self._settle(self._state)
        return self._state

    def _settle(self, state: Any) -> None:
        """With ``keep=0``, let a state hold sums only, in place."""
        if not self._may_keep(state):
            vars(state).update(vars(state.sums_only()))

    def _may_keep(self, state: Any) -> bool:
        """Whether a state may hold samples as they are; not with ``keep=0``."""
        return vars(self).get("keep") != 0 or not hasattr(state, "sums_only")

    @property
    def _rows_kept(self) -> int:
        """How many samples the state holds as they are."""
        return getattr(self._state, "n_held", 0)

    @property
    def _lost(self) -> str:
        """What a model cannot do because no samples are kept; "" if it can do everything."""
        what = []
        if not self._may_keep(self._state):
            if "auto" in (getattr(self, "alpha", None), getattr(self, "mu", None)):
                what.append("the ridge follows a rule")
            if hasattr(self, "predict_proba"):
                what.append("probabilities are not calibrated")
        elif getattr(self, "reservoir", None) == 0:
            what = ["nothing is polished", "probabilities are not calibrated"]
        return f"no samples kept: {', '.join(what)}" if what else ""

    def _shown(self, state: Any) -> Any:
        """Return what a solution is read from: a state, with ``keep=0`` without kept samples."""
        return state if self._may_keep(state) else state.without_kept()

    @property
    def _state(self) -> Any:
        """The state."""
        check_is_fitted(self)
        return self._fitted.state

    @property
    def _solution(self) -> Any:
        """The solution for the present state and parameters.

        `fit` computes it; it is computed again when it is read after `partial_fit` or `set_params`.
        """
        check_is_fitted(self)
        with lock_of(self):
            fitted = self._fitted
            checked = self._check_parameters(self.n_features_in_, fitted.checked)
            if fitted.solution is None or checked is not fitted.checked:
                with errors_named_after(self):
                    fitted.solution = self._solve(fitted.state)
                if checked is not fitted.checked:
                    fitted.saved, fitted.checked = None, checked
            return fitted.solution

    @property
    def _saved(self) -> Applied | None:
        """What a model file had of the solution, for the same state and parameters; else None."""
        check_is_fitted(self)
        with lock_of(self):
            fitted = self._fitted
            if fitted.saved is None:
                return None
            checked = self._check_parameters(self.n_features_in_, fitted.checked)
            return fitted.saved if checked is fitted.checked else None

    @property
    def _applied(self) -> Any:
        """What `transform` needs: that of a model file, or else the solution."""
        return self._latest("_to_reduce")

    def _to_reduce(self) -> Any:
        return self._saved or self._solution

    def _latest(self, name: str) -> Any:
        """Return what a method reads; while another thread updates, what it read last.

        So nobody waits for the update, nor for its solution. What the method returns is of one
        moment, and no update changes it.
        """
        check_is_fitted(self)
        lock, me = lock_of(self), get_ident()
        while True:
            fitted = self._fitted
            fitted.readers[me] = _READS
            if fitted.updating not in (0, me) and name in fitted.latest:
                return fitted.latest[name]
            if lock.acquire(timeout=_WAIT):
                break
        try:
            found = getattr(self, name)()
            self._fitted.latest[name] = found
            return found
        finally:
            lock.release()

    @abstractmethod
    def _to_apply(self) -> Applied:
        """Return what a model file has of the solution; raise where there is none yet."""

    # -- inside ---------------------------------------------------------------------------------

    @abstractmethod
    def _solve(self, state: Any) -> Any:
        """Return the solution for a state; the parameters have been checked."""

    def _store(self, state: Any) -> Self:
        """Store the state of all samples, with the checks of `fit`."""
        self._check_two_classes(state)
        self._fitted = Fitted(state, checked=copied(self._parameters()))
        return self

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in names_of(type(self))}  # type: ignore[arg-type]

    def _check_parameters(
        self, n_features: int, known: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the parameters; raise ParameterError if one is out of range for the features.

        If they are those that are known to be right, return these.
        """
        now = self._parameters()
        if known and all(same(known[name], now[name]) for name in now):
            return known
        check_constraints(self)
        self._check_together(n_features)
        return copied(now)

    def _check_together(self, n_features: int) -> None:
        """Raise ParameterError where parameters do not fit each other or so many features."""

    def _check_parameters_alone(self) -> None:
        """Raise ParameterError where a parameter is out of range whatever the data."""
        self._check_parameters(sys.maxsize)

    def _check_two_classes(self, state: Any) -> None:
        """Raise where `fit` had no weight at all, or fewer than the two classes it needs."""
        name, classes = type(self).__name__, int((state.counts > 0).sum())
        if state.n_samples and not classes:
            raise ValueError(
                f"{name}: expected samples with a label and a non-zero weight, got none. "
                "Check y and sample_weight."
            )
        if classes < 2 and self._needs_y:
            streams = hasattr(self, "partial_fit")
            raise ValueError(
                f"{name}: expected two classes of positive weight, got {classes} "
                f"class{'' if classes == 1 else 'es'}. Check the labels"
                + (", or use partial_fit where more classes will come." if streams else ".")
            )

    def _check_classes(self, classes: Any, y: Any) -> np.ndarray | None:
        """Return the classes that were given; raise where labels are not among them."""
        if classes is None:
            return None
        known = np.empty(0, np.int64)
        if self._needs_y and self.__sklearn_is_fitted__():
            known = self.classes_
        return check_among(classes, y if self._needs_y else None, known, type(self).__name__)

    def _labels(self, X: Any, y: Any) -> Any:
        """Return y, or the class 0 for all samples where y is not needed and has no labels."""
        if y is None and self._needs_y:
            raise ValueError(  # in the words that scikit-learn's checks expect
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Pass one label per sample, or a 0-1 indicator matrix."
            )
        if self._needs_y or (y is not None and are_labels(y)):
            return y
        return np.zeros(X.shape[0], dtype=np.int64)

    @property
    def _n_known(self) -> int:
        """The number of classes seen so far; 0 where targets are numbers."""
        if not self.__sklearn_is_fitted__() or self._takes_numbers:
            return 0
        return len(self._fitted.state.classes)

    def _warn_of_numbers(self, y: Any, known: int | None = None) -> None:
        """Warn where labels look like numbers; on a stream, `known` classes were seen before.

        A few samples of a stream may have as many classes: there, only floats are noticed.
        """
        if not self._needs_y or self._takes_numbers or is_matrix(y):
            return
        state = self._fitted.state
        if known is None or (known <= FEW_CLASSES and state.classes.dtype.kind == "f"):
            warn_of_numbers(state.classes, state.n_samples)

    def _check_X(self, X: Any, late: bool = False, **options: Any) -> Any:
        """Return samples as an array or CSR; `late`: NaN and infinity are found later."""
        engine = engine_of(X)
        if engine is not None:
            library = type(X).__module__.partition(".")[0]
            raise TypeError(
                f"{type(self).__name__}: expected samples in memory, got a {library} collection, "
                "which only fit and transform accept. Loop over the partitions and compute each, "
                f"or fit on a cluster with {engine.__name__}.fit."
            )
        return checked_samples(self, X, finite=not late, **options)

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._needs_y
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def merge_into(estimator: Any, others: tuple[Any, ...], combine: Callable[[list[Any]], Any]) -> Any:
    """Merge other estimators into one, by `combine` of their states, and return it.

    `combine` returns a new state that shares nothing with those it gets.
    """
    for other in others:
        check_alike(estimator, other)
    with ExitStack() as locks:
        for each in sorted({estimator, *others}, key=id):  # in one order: no two wait for another
            locks.enter_context(lock_of(each))
        return _merge(estimator, others, combine)


@atomic
def _merge(estimator: Any, others: tuple[Any, ...], combine: Callable[[list[Any]], Any]) -> Any:
    fitted = [e for e in (estimator, *others) if e.__sklearn_is_fitted__()]
    for other in fitted[1:]:
        check_features(fitted[0], other)
    if others and fitted:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(others[0], name):
                setattr(estimator, name, getattr(others[0], name))
        combined = combine([e._shown(e._fitted.state) for e in fitted])
        merged = Fitted(combined, fitted[0]._fitted.source)
        merged.then, estimator._fitted = Then.merged(fitted), merged
    return estimator


def check_alike(estimator: Estimator, other: Any) -> None:
    """Raise where two estimators differ in their class or their parameters."""
    name = type(estimator).__name__
    if type(other) is not type(estimator):
        raise ValueError(
            f"{name}: expected another {name} to merge, got {type(other).__name__}. "
            "Merge estimators of one class."
        )
    check_is_fitted(other)
    mine, theirs = estimator.get_params(), other.get_params()
    unlike = [key for key in mine if not same(mine[key], theirs[key])]
    if unlike:
        raise ValueError(
            f"{name}: expected an estimator with the same parameters to merge, got "
            + ", ".join(f"{key}={theirs[key]!r} instead of {mine[key]!r}" for key in unlike)
            + ". Merge estimators with the same parameters."
        )


def check_features(estimator: Estimator, other: Any) -> None:
    """Raise where two estimators were fitted to different features."""
    name = type(estimator).__name__
    mine, theirs = (getattr(each._source, "encoder", None) for each in (estimator, other))
    if mine != theirs:
        raise ValueError(
            f"{name}: expected estimators of tables that were encoded alike, got others. "
            + fit_alike("columns", "Fit one, and update it with the other table.")
        )
    if estimator.n_features_in_ != other.n_features_in_:
        raise ValueError(
            f"{name}: expected an estimator with {estimator.n_features_in_} features to merge, got "
            f"one with {other.n_features_in_}. " + _other_features(estimator)
        )
    named_alike = same(estimator._column_names(), other._column_names())
    if not named_alike or estimator._source != other._source:
        raise ValueError(
            f"{name}: expected an estimator with the same feature names and source to merge, got "
            "others. " + _other_features(estimator)
        )


def _other_features(estimator: Estimator) -> str:
    """Return advice on two estimators of different features."""
    otherwise = "Fit both to the same features, in the same order."
    is_text = getattr(estimator._source, "tfidf", None) is not None
    return fit_alike("terms", otherwise) if is_text else otherwise


@cache
def names_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the parameters of a class."""
    return tuple(kind._get_param_names())


_SHORTEST = 1e-6  # samples: after one sample, nothing is left for shorter half-lives either


class Additive(Estimator):
    """An estimator whose solution is a function of a `ClassStats` and its parameters."""

    _state_type: ClassVar[Any] = ClassStats
    _only_route: ClassVar[Any] = Sums
    _presence: ClassVar[bool] = False
    _gathers: ClassVar[Any] = Gathered  # the state of all samples at once
    _gathers_sparse: ClassVar[bool] = True  # whether sparse chunks of many features, too
    _of_map: ClassVar[str] = ""  # which models have a map, where some have
    _constraints: ClassVar[dict[str, Constraint]] = {
        "priors": PRIORS, "half_life": HALF_LIFE, "keep": KEEP,
    }  # fmt: skip
    half_life: float | None
    priors: Any

    # -- fitting --------------------------------------------------------------------------------

    @accepts_collections
    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to all samples at once.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; sparse matrices are never converted to dense arrays.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_classes)
            Labels; or a 0-1 indicator matrix, where every pair of a sample and a class counts as a
            sample. Numbers for the methods with numeric targets, of shape (n_samples,) or
            (n_samples, n_targets). Optional only for methods that use no labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100; a weight of 2 stands for two equal samples.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            Fewer than two classes of positive weight, all weights zero, NaN or infinity, or a
            parameter that does not fit the data. The estimator is then unchanged.

        See Also
        --------
        partial_fit : Update with more samples.
        fit_stats : Fit to a state instead of samples.
        """
        late = self._sums_show_nan(X, y, sample_weight)
        X = self._check_X(X, late, reset=True)
        self._check_parameters(X.shape[1])
        route = route_of(self, Data.of(X), "memory")
        with self._naming_nan(X, late):
            state = route.of_samples(X, y, sample_weight)
        self._store(self._finished(state))._warn_of_numbers(y)
        return self

    @where(can_add)
    @atomic
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, classes: Any = None
    ) -> Self:
        """Update with more samples; the result is that of `fit` on all samples so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Any number of samples, also 0 or 1. SRDA, LDA, MMC, PCA, KernelSRDA, PLS and ReducedRank
            accept at most 8,192 features.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_classes)
            Labels as for `fit`; new classes may appear at any time.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, 0 or from 1e-100 to 1e100.
        classes : array-like of shape (n_classes,), optional
            All labels that may occur. Never required, in contrast to scikit-learn; if given, other
            labels raise an error. `classes_` has the labels that were seen; that of a classifier
            has all of them, with probability 0 until they are seen.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            NaN or infinity, another number of features or too many, or labels of another type or
            not among `classes`. The estimator is then unchanged.

        See Also
        --------
        fit : Fit to all samples at once.
        merge : Add the samples of other estimators.
        """
        allowed, known = self._check_classes(classes, y), self._n_known
        before = self._fitted if self.__sklearn_is_fitted__() else None
        late = sparse.issparse(X) and self._sums_show_nan(X, y, sample_weight)
        if before is not None:
            check_adds_up(self, before.state)
        X = self._check_X(X, late, reset=before is None, ensure_min_samples=0)
        checked = self._check_parameters(X.shape[1], None if before is None else before.checked)
        if before is None:
            state, source = route_of(self, Data.of(X), "stream").empty(X.shape[1]), None
            then = None
            self._fitted = Fitted(state, source, checked)  # so that an interrupt leaves its blocks
        else:
            state, source = before.state, before.source
            then = before.then and before.then.updated(X, y, sample_weight)
            before.forget()  # first, since an interrupt may come after the update
        with self._naming_nan(X, late), Held() if then else nullcontext():  # both or neither
            after = self._learned(state, X, y, sample_weight)
            if after is not state:
                self._fitted = Fitted(after, source, checked)
            self._fitted.then = then
        if allowed is not None:
            self._register(allowed)
        else:
            self._warn_of_numbers(y, known)
        return self

    def _register(self, classes: np.ndarray) -> None:
        """Note the classes that may occur; only classifiers show them."""

    @where(can_add)
    @atomic
    def fit_stats(self, stats: ClassStats) -> Self:
        """Fit to a state; the result is that of `fit` on its samples.

        Parameters
        ----------
        stats : ClassStats, or TargetStats for numeric targets
            A state of the kind that the method needs, or with additional second moments. It is
            copied.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            The state is of another kind, or `fit` would raise for its samples.

        See Also
        --------
        fit : Fit to samples.
        narrows.ClassStats : The state.
        """
        self._check_kind(stats)
        return self._fit_state(
            self._shown(stats.reduced(self._second(), self._folds() is not None))
        )

    def _add_states(self, a: ClassStats, b: ClassStats) -> ClassStats:
        """Return the state of the samples of both, which stay as they are; b has the later ones."""
        with errors_named_after(self):
            return a + b._later(a.n_samples)

    @where(can_add)
    def merge(self, *others: Self) -> Self:
        """Merge other estimators of the same method and parameters into this one.

        The result is that of one estimator that saw all samples. With a `half_life`, the estimators
        count as parallel streams: each decays with its own samples only. The other estimators are
        not changed.

        Parameters
        ----------
        *others : estimators of this class
            Fitted. This one may be unfitted.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            The estimators differ in method, parameters (the message names them), features or kind
            of state.

        See Also
        --------
        partial_fit : Update with more samples.
        narrows.ClassStats : The states that are added.
        """
        for each in (self, *others):
            if isinstance(each, Additive) and each.__sklearn_is_fitted__():
                check_adds_up(each, each._state)
        return merge_into(self, others, self._summed)

    def _summed(self, states: list[Any]) -> Any:
        """Return the sum of states, as one that shares nothing with them."""
        if len({isinstance(state, Mapped) for state in states}) > 1:
            raise ValueError(
                f"{type(self).__name__}: expected estimators that all have a map, or none that "
                "has, got both. " + fit_alike("map", ONE_MAP)
            )
        return type(states[0]).summed(states)

    def _empty_state(self, n_features: int) -> ClassStats:
        """Return an empty state of the kind that `fit_stats` expects."""
        return ClassStats(
            n_features, second=self._second(), presence=self._presence, folds=self._folds()
        )

    def _is_finished(self, state: Any) -> bool:
        return super()._is_finished(state) and not (self._of_map and is_first_pass(state))

    def _widen(self, n_features: int) -> Self:
        check_adds_up(self, self._state)
        if (
            n_features > MOST
            and not isinstance(self._state, Mapped)
            and self._state.second == "cross"
        ):
            refuse_more(self, n_features)
        return super()._widen(n_features)

    def _frozen(self) -> Mapped:
        """Return the state, with its map."""
        if not isinstance(self._state, Mapped):
            raise ParameterError(
                f"{type(self).__name__}: expected a model that {self._of_map}, got another, "
                "which has no map. Use sklearn.base.clone."
            )
        return self._state

    def _state_from(self, arrays: dict[str, np.ndarray]) -> Any:
        """Return the state that gave these arrays; it has to count what this method counts."""
        if self._of_map and Mapped.is_in(arrays):
            return Mapped.read_from(arrays)
        state = ClassStats.read_from(arrays)
        state.check_kept()
        if state.presence != self._presence:
            raise SchemaError(f"presence: expected {self._presence}, got {state.presence}.")
        return state

    # -- reading --------------------------------------------------------------------------------

    @property
    def stats_(self) -> ClassStats:
        """The state, a `ClassStats`, that determines all attributes; copy it before changing it."""
        return self._state

    @property
    def _solution(self) -> Any:
        if self._waits(self._state):
            raise NotFittedError(
                f"{type(self).__name__}: expected {np.size(self.priors)} classes, one for each of "
                f"the priors, got {len(self.classes_)} so far. Continue with partial_fit."
            )
        return super()._solution

    # -- inside ---------------------------------------------------------------------------------

    def _priors(self) -> Any:
        """The parameter `priors`, which not all methods have."""
        return vars(self).get("priors", "empirical")

    def _lacks_classes(self, stats: ClassStats) -> bool:
        """Whether there are priors for more classes than were seen so far."""
        priors = self._priors()
        in_order = not isinstance(priors, str) and by_class(priors) is None
        return in_order and bool(np.size(priors) > (stats.counts > 0).sum())

    def _waits(self, stats: ClassStats) -> bool:
        """Whether there is no solution before more classes are seen."""
        return self._lacks_classes(stats)

    def _sums_show_nan(self, X: Any, y: Any, sample_weight: Any) -> bool:
        """Whether the sums show NaN and infinity, so that X need not be read for them before."""
        if sparse.issparse(X):
            return not self._presence and self.half_life is None
        every_row = getattr(y, "ndim", 0) == 1 and sample_weight is None and self.half_life is None
        return every_row and not self._presence and are_many(X)

    def _second(self) -> Second:
        """Return which second moments the state has to hold."""
        return None

    def _folds(self) -> int | None:
        """Return how many folds the state has to have, for parameters that are "cv"."""
        return None

    @abstractmethod
    def _check_solution(self, solution: Any, stats: ClassStats) -> None:
        """Raise in `fit` where the solution is not the one asked for; a stream waits instead."""

    def _store(self, stats: Any) -> Self:
        """Solve for the state of all samples, with the checks of `fit`, and store both."""
        super()._store(stats)
        if self._lacks_classes(stats):
            stats.priors(self._priors())  # raises: a stream waits for classes; here none will come
        self._fitted.solution = self._solve(stats)
        self._check_solution(self._fitted.solution, stats)
        return self

    @contextmanager
    def _naming_nan(self, X: Any, late: bool) -> Iterator[None]:
        """With `late`, let numbers that are not finite be found in the sums."""
        try:
            yield
        except RangeError:
            if late:
                self._check_X(X, reset=False, ensure_min_samples=0)  # or it is the sum
            raise

    def _learned(self, state: ClassStats, X: Any, y: Any, sample_weight: Any) -> ClassStats:
        """Return a state with more samples, the same or another one."""
        return self._update_state(state, X, y, sample_weight, check_input=False)

    def _update_state(
        self, state: Any, X: Any, y: Any, sample_weight: Any = None, *, check_input: bool = True
    ) -> Any:
        """Add samples to a state, as `ClassStats.update` does.

        Where labels are not used, y may be None; all samples are then of the one class 0. With a
        `half_life` the state decays first, and older samples weigh less than newer ones.
        """
        if check_input:
            X = checked_rows(X, type(self).__name__)
        y = self._labels(X, y)
        if self.half_life is None or isinstance(state, Gathered):
            return state.update(X, y, sample_weight, check_input=False)
        return self._decayed(state, X, y, sample_weight)

    def _decayed(self, state: ClassStats, X: Any, y: Any, sample_weight: Any) -> ClassStats:
        """Let a state decay by these samples, and add them, the newest with the weight 1."""
        age = np.arange(X.shape[0])[::-1]
        half_life = max(float(self.half_life or 0.0), _SHORTEST)
        weight, unit = 0.5 ** (age / half_life), 1.0
        if sample_weight is not None:
            given = weights(sample_weight, len(weight), type(self).__name__)
            unit = 2.0 ** np.frexp(given.max(initial=0.0))[1]
            weight = weight * (given / unit)
        weight[weight < SMALLEST_WEIGHT] = 0.0  # nothing beside the newest samples
        fresh = state.emptied().update(X, y, weight, check_input=False)
        return state.fade(0.5 ** (len(age) / half_life), fresh if unit == 1 else fresh * unit)

    def _check_kind(self, stats: ClassStats) -> None:
        name = type(self).__name__
        if not isinstance(stats, ClassStats):
            raise TypeError(
                f"{name}: expected a ClassStats for fit_stats, got {type(stats).__name__}. "
                "Use fit for samples."
            )
        second = self._second()
        if stats.presence != self._presence or not stats.has(second):
            raise ValueError(
                f"{name}: expected a state with second={second!r} and presence={self._presence}, "
                f"got one with second={stats.second!r} and presence={stats.presence}. "
                f"Make it with ClassStats.of(X, y, second={second!r}, presence={self._presence})."
            )
