"""Reducer: the base of all estimators, which learns moments and shows a solution of them."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import replace
from functools import cache, reduce, wraps
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from narrows.errors import (
    AdvisedError,
    ParameterError,
    RangeError,
    WidthError,
    features_named,
)
from narrows.methods import COLLECTIONS
from narrows.methods.learned import Learned, Method, atomic, latest_or, lock_of
from narrows.methods.merging import merge_into
from narrows.methods.names import column_names, labels_of
from narrows.methods.parameters import (
    HALF_LIFE,
    KEEP,
    PRIORS,
    Constraint,
    check_constraints,
    check_names,
    check_parts,
    chosen,
    copied,
    is_integer,
    same,
)
from narrows.methods.plan import (
    AT_ONCE,
    Data,
    Gather,
    Plan,
    Where,
    aligned,
    at_hand,
    check_one_map,
    learn,
    total,
)
from narrows.methods.texts import with_shared_texts
from narrows.moments.labels import (
    FEW_CLASSES,
    are_labels,
    are_numeric,
    by_class,
    check_among,
    is_matrix,
    lacks_classes,
    places_of,
    union,
    warn_of_numbers,
)
from narrows.moments.maps import ONE_MAP
from narrows.moments.moments import Moments
from narrows.moments.products import MOST
from narrows.moments.targets import numbers_of
from narrows.removed import check_attribute, check_removed, deprecated
from narrows.solutions.projectors import sized
from narrows.solve.arrays import checked_samples
from narrows.solve.codec import SchemaError
from narrows.solve.devices import as_given
from narrows.solve.in_place import SignalsHeld
from narrows.solve.products import SMALL, one_blas_thread
from narrows.solve.solution import Classes, Solution
from narrows.solve.sums import are_many

# verbs of River, which are looked for here
_OF_RIVER = {
    "learn_one", "learn_many", "predict_one", "predict_proba_one", "transform_one",
}  # fmt: skip
_ADDS = "partial_fit", "merge", "fit_moments"  # verbs that need sums
# names of version 0.3; no properties, which tools that read all attributes would read
_RENAMED = {"fit_stats": "fit_moments", "stats_": "moments_"}
_OF_CLASSES = "classes_", "class_count_"


def _asks_for_numbers(estimator: Any) -> bool | None:
    """Whether the parameter `target` asks for numbers; None while samples have to decide."""
    if estimator.target == "auto" and estimator.__sklearn_is_fitted__():
        return bool(estimator._is_numeric)
    return {"numeric": True, "classes": False}.get(estimator.target)


BY_TARGET: Any = property(_asks_for_numbers)  # `_takes_numbers` of methods with a parameter for it


def where(has: Callable[[Any], Any]) -> Callable[[Method], Method]:
    """Return scikit-learn's decorator of methods that only some estimators of a class have."""
    return cast(Callable[[Method], Method], available_if(has))


def can_add(estimator: Any) -> bool:
    """Whether an estimator learns sums, to which samples and other sums can be added."""
    return getattr(estimator, "solver", "auto") not in AT_ONCE


def accepts_collections(method: Method) -> Method:
    """Let `fit` or `transform` hand a collection to its engine."""

    @wraps(method)
    def either(self: Any, X: Any, *args: Any, **named: Any) -> Any:
        engine = engine_of(X)
        if engine is None:
            found = method(self, X, *args, **named)
            return as_given(found, X) if method.__name__ == "transform" else found
        if method.__name__ == "transform":
            return engine.transform(self, X)
        given = signature(method).bind(self, X, *args, **named).arguments
        fitted = engine.fit(self, (X, given.get("y"), given.get("sample_weight")))
        if fitted is self and getattr(given.get("y"), "ndim", 1) == 1:  # no indicator matrix
            with features_named(self):
                self._warn_of_numbers(None)
        return fitted

    return cast(Method, either)


def engine_of(X: Any) -> Any:
    """Return the engine of a collection, by `COLLECTIONS`; None for other samples.

    The library is recognised by the name of its module and is not imported.
    """
    kind = type(X)  # a `dask.delayed.Delayed` seems to have any attribute; its type does not
    if not (hasattr(kind, "shape") or hasattr(kind, "columns")):
        return None
    engine = COLLECTIONS.get(kind.__module__.partition(".")[0])
    return None if engine is None else import_module(engine)


class Reducer(TransformerMixin, BaseEstimator):
    """An estimator that learns a state, and whose solution is a function of it and the parameters.

    So `set_params` needs no new `fit`: the next attribute that is read is that of the new
    parameters, or raises ParameterError after a fit that needed all samples at once.

    A method declares its parameters (`parameters`), what they may be (`_constraints`), what it sums
    up (`_sums`), and which function solves for that (`_solve`).
    """

    _needs_y: ClassVar[bool] = True
    _takes_numbers: ClassVar[bool | None] = False  # as targets; None: as well as classes
    _selects: ClassVar[bool] = False  # whether it keeps features as they are
    _instead: ClassVar[str] = ""  # what to use for what it does not support
    _constraints: ClassVar[dict[str, Constraint]] = {
        "priors": PRIORS, "half_life": HALF_LIFE, "keep": KEEP,
    }  # fmt: skip
    _learned: Learned
    n_features_in_: int

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
            """Return what has another name now, or say what to use instead of what is missing."""
            if name in _RENAMED and hasattr(self, _RENAMED[name]):
                deprecated(name, _RENAMED[name])
                return getattr(self, _RENAMED[name])
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
        name = _RENAMED.get(name, name)
        if name in _OF_RIVER and self.__sklearn_tags__().input_tags.sparse:
            return (
                "it takes samples in batches. Use narrows.river.OneByOne"
                f"({type(self).__name__}()), which takes one at a time."
            )
        if name in _ADDS and not can_add(self):
            return f"solver={getattr(self, 'solver', None)!r} needs all samples at once"
        if name in _OF_CLASSES and self._is_numeric:
            return "its targets are numbers. Use SRDA or OCFS for classes."
        kinds = (vars(kind)[name] for kind in type(self).__mro__ if name in vars(kind))
        return getattr(next(kinds, None), "why", None)  # of `Missing`

    # -- what it sums up ------------------------------------------------------------------------

    @abstractmethod
    def _sums(self, data: Data) -> Any:
        """Return the pass whose state `_solve` takes."""

    def _plan(self, data: Any, where: Where, samples: Any) -> Plan:
        """Return how samples are learned; see `plan_of`."""
        return Plan((self._sums(data),))

    @abstractmethod
    def _solve(self, learned: Learned) -> Solution:
        """Return the solution for what was learned; the parameters have been checked."""

    def _solve_samples(self, X: Any, y: Any, weight: np.ndarray) -> Solution:
        """Return the solution for all samples at once, of methods that can."""
        raise NotImplementedError

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
        fit_moments : Fit to moments instead of samples.
        """
        by_sums = self._sums_show_nan(X, y, sample_weight)
        X = self._check_X(X, not by_sums, reset=True)
        self._check_parameters(X.shape[1])
        numeric = has_numbers(self, y)
        y = self._labels(X, y, numeric)
        plan = plan_of(self, Data.of(X, numeric), "memory", (X, y, sample_weight))
        with self._naming_nan(X, by_sums):
            step, state = learn(plan, at_hand(X, y, sample_weight))
        self._store(step, state)._warn_of_numbers(y)
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
            Any number of samples, also 0 or 1. SRDA, LDA, MMC, PCA, LEACE, KernelSRDA, PLS and
            ReducedRank accept at most 8,192 features.
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
        allowed, n_known = self._check_classes(classes, y), self._n_known
        before = self._learned if self.__sklearn_is_fitted__() else None
        by_sums = sparse.issparse(X) and self._sums_show_nan(X, y, sample_weight)
        if before is not None:
            check_adds_up(self)
        X = self._check_X(X, not by_sums, reset=before is None, ensure_min_samples=0)
        checked = self._check_parameters(X.shape[1], None if before is None else before.checked)
        learns = before is not None and before.n_samples
        numeric = self._is_numeric or (not learns and has_numbers(self, y))
        y = self._labels(X, y, numeric)
        then = before.then if before is not None else None
        if then is not None:
            then = then.updated(X, y, sample_weight)
        if before is None or numeric != before.step.numeric:  # which had no samples yet
            (step,) = plan_of(self, Data.of(X, numeric), "stream").passes
            source = before and before.source
            learned = Learned(step, step.empty(X.shape[1]), source=source, checked=checked)
            self._learned = learned  # so that an interrupt leaves its blocks
        else:
            learned = before
            learned.step = self._next_step(learned)
            before.forget()  # first, since an interrupt may come after the update
        with (
            self._naming_nan(X, by_sums),
            SignalsHeld() if then else nullcontext(),
        ):  # both or neither
            self._advance(learned, X, y, sample_weight)
            learned.then = then
        if allowed is None:
            self._warn_of_numbers(y, n_known)
        elif shows_all_classes(self):
            known = learned.known
            learned.known = allowed if known is None else union(known, allowed)
        return self

    def _next_step(self, learned: Learned) -> Any:
        """Return the pass by which more samples are learned."""
        half_life = getattr(self, "half_life", None)  # which may be another one now
        same = half_life == learned.step.half_life
        return learned.step if same else replace(learned.step, half_life=half_life)

    def _advance(self, learned: Learned, X: Any, y: Any, sample_weight: Any) -> None:
        """Add samples to what was learned, in place."""
        learned.state = learned.step.add(learned.state, X, y, sample_weight)

    @where(can_add)
    @atomic
    def fit_moments(self, moments: Any) -> Self:
        """Fit to moments; the result is that of `fit` on their samples.

        Parameters
        ----------
        moments : Moments, or list of Moments
            Moments of the kind that the method needs, or with additional second moments; a list has
            those of each fold, for parameters that are "cv". They are copied. IG, CHI, MI and DF
            expect moments of zeros and ones, ``Moments.of(X != 0, y)``: other numbers raise an
            error only where sums show them.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            The moments are of another kind, or `fit` would raise for their samples.

        See Also
        --------
        fit : Fit to samples.
        narrows.Moments : The moments.
        """
        given = list(moments) if isinstance(moments, list | tuple) else [moments]
        if not given:
            raise ValueError(
                "expected the moments of at least one fold, got an empty "
                "list. Use Moments.of(X, y)."
            )
        for m in given:
            self._check_kind(m)
            given[0].check_kind(m)
        step = self._sums(Data(given[0].n_features, False, given[0].is_numeric))
        if step.map is not None:
            step.map.check_moments(given)
        given = given if step.n_folds > 1 else [total(given)]
        state = aligned([m.reduced(step.second) for m in given])
        if not self._may_keep():
            state = step.without_kept(state)
        step = replace(step, keep=state[0].keep, n_folds=len(state))
        return fit_learned(self, step, state)

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
        narrows.Moments : The sums that are added.
        """
        for each in (self, *others):
            if isinstance(each, Reducer) and each.__sklearn_is_fitted__():
                check_adds_up(each)
        return merge_into(self, others, self._merged)

    def _merged(self, learned: list[Learned]) -> Learned:
        """Return the sum of what estimators have learned, which shares nothing with them."""
        maps = {each.step.map is None for each in learned}
        if len(maps) > 1:
            problem = "expected estimators that all have a map, or none that has, got both."
            raise AdvisedError(f"{problem} Each fit decides on its own map.", ONE_MAP)
        first = learned[0].step
        for each in learned[1:]:
            check_one_map(first.map, each.step.map)
        known = [each.known for each in learned if each.known is not None]
        states = [each.state for each in learned]
        return Learned(first, first.summed(states), known=reduce(union, known) if known else None)

    # -- reading --------------------------------------------------------------------------------

    @property
    def moments_(self) -> Moments:
        """The moments of all samples, which determine all attributes; copy them to change them."""
        check_is_fitted(self)
        if self._learned.state is None:
            raise AttributeError(
                f"{type(self).__name__} does not support moments_ after a fit to all samples at "
                "once, which makes no sums."
            )
        return cast(Moments, self._learned.moments)

    @property
    def classes_(self) -> np.ndarray:
        """The labels seen with positive weight, sorted; of shape (n_classes,)."""
        return self._classes.labels.copy()

    @property
    def class_count_(self) -> np.ndarray:
        """The weight of each class, of shape (n_classes,)."""
        return self._classes.counts.copy()

    @property
    def n_samples_seen_(self) -> int:
        """The number of samples seen, whatever their weights and number of labels."""
        check_is_fitted(self)
        return self._learned.n_samples

    @property
    def _classes(self) -> Classes:
        """The classes; while another thread updates, those of what was read last."""
        check_is_fitted(self)
        if self._is_numeric:
            raise AttributeError
        found: Learned | Solution = latest_or(self, lambda latest: True, lambda: self._learned)
        return found.classes

    @property
    def _is_numeric(self) -> bool:
        """Whether the targets are numbers."""
        if "_learned" in vars(self):
            return bool(getattr(self._learned.step, "numeric", False))
        return bool(self._takes_numbers)

    @property
    def _solution(self) -> Solution:
        """The solution for the present state and parameters.

        `fit` computes it; it is computed again when it is read after `partial_fit` or `set_params`.
        """
        check_is_fitted(self)
        with lock_of(self):
            learned = self._learned
            checked = self._check_parameters(self.n_features_in_, learned.checked)
            if learned.state is None:
                with features_named(self):
                    return self._of_all_samples(learned)
            if learned.solution is None or checked is not learned.checked:
                with features_named(self):
                    learned.solution = self._solved(learned)
                learned.checked = checked
            return learned.solution

    def _solved(self, learned: Learned) -> Solution:
        """Return the solution for what was learned."""
        shown = self._shown(learned)
        m = shown.moments
        if self._waits(m):
            raise NotFittedError(
                f"expected {np.size(self._priors)} classes, one for each of "
                f"the priors, got {len(learned.classes.labels)} so far. Continue with partial_fit."
            )
        small = min(m.n_features, m.n_samples) <= SMALL
        with one_blas_thread(small and getattr(m, "second", None) == "cross"):
            found = self._solve(shown)
        if not learned.step.numeric:
            found = replace(found, classes=learned.classes)
        return replace(found, n_samples=m.n_samples)

    def _shown(self, learned: Learned) -> Learned:
        """Return what a solution is read of: with ``keep=0``, moments without kept samples."""
        if self._may_keep():
            return learned
        return Learned(learned.step, learned.step.without_kept(learned.state))

    def _of_all_samples(self, learned: Learned) -> Solution:
        """Return the solution of a fit of all samples at once, of the size asked for."""
        for name, value in learned.checked.items():
            now = getattr(self, name)
            if name not in ("n_components", "keep") and not same(value, now):
                raise ParameterError(
                    f"expected {name}={value!r} as in fit, which had all "
                    f"samples at once, got {now!r}. Call fit again."
                )
        check_at_once(self)
        was, now = (each["n_components"] for each in (learned.checked, self._parameters()))
        return sized(cast(Solution, learned.solution), now, was)

    def _read(self, calibrated: bool = False) -> Solution:
        """Return the solution; while another thread updates, what was read last.

        So nobody waits for the update, nor for its solution. With `calibrated`, its rule has a
        temperature.
        """
        check_is_fitted(self)

        def is_enough(latest: Solution) -> bool:
            return not calibrated or latest.rule is None or latest.rule.temperature > 0

        def read() -> Solution:
            found = self._calibrated() if calibrated else self._solution
            self._learned.latest = found
            return found

        return cast(Solution, latest_or(self, is_enough, read))

    def _calibrated(self) -> Solution:
        """Return the solution, with probabilities where it predicts classes."""
        found, learned = self._solution, self._learned
        if found.rule is None or found.rule.temperature:
            return found
        new = self._with_probabilities(self._shown(learned), found)
        learned.solution = new  # last: an interrupt may come before
        return new

    def _with_probabilities(self, learned: Learned, found: Solution) -> Solution:
        """Return the solution with the probabilities that kept samples determine."""
        return found

    @abstractmethod
    def _applied(self) -> Solution:
        """Return the solution that `transform` applies; raise where it reduces to nothing."""

    # -- what others need -----------------------------------------------------------------------

    def _may_keep(self) -> bool:
        """Whether samples may be kept as they are; not with ``keep=0``."""
        return vars(self).get("keep") != 0

    @property
    def _priors(self) -> Any:
        """The parameter `priors`, which not all methods have."""
        return vars(self).get("priors", "empirical")

    def _waits(self, m: Any) -> bool:
        """Whether there is no solution before more classes are seen: those that have priors.

        An explicit number of components holds from the first samples on.
        """
        explicit = is_integer(vars(self).get("n_components"), 1)
        return not explicit and lacks_classes(self._priors, m.counts)

    def _sums_show_nan(self, X: Any, y: Any, sample_weight: Any) -> bool:
        """Whether the sums show NaN and infinity, so that X need not be read for them before."""
        shape: Any = getattr(X, "shape", ())
        decays = getattr(self, "half_life", None) is not None
        if len(shape) != 2 or decays:
            return False
        one_each = getattr(y, "ndim", 0) == 1 and sample_weight is None
        if not (sparse.issparse(X) or (one_each and are_many(X))):
            return False
        check_constraints(self)  # on which the plan depends
        plan = self._plan(Data(shape[1]), "memory", None)
        return plan.show_nan and (shape[1] <= MOST or plan.passes[0].second != "cross")

    @contextmanager
    def _naming_nan(self, X: Any, by_sums: bool) -> Iterator[None]:
        """With `by_sums`, the sums show numbers that are not finite; name the first in X then."""
        try:
            yield
        except RangeError:
            if by_sums:
                self._check_X(X, reset=False, ensure_min_samples=0)  # or it is the sum
            raise

    def _store(self, step: Any, state: Any) -> Self:
        """Solve for the last state of a fit, with the checks of `fit`, and store both."""
        self._check_state(step, state)
        learned = Learned(step, state, checked=copied(self._parameters()))
        if not step.gathers:
            self._learned = learned
            if self._waits(learned.moments):
                learned.moments.priors(self._priors)  # raises: here no more classes will come
            learned.solution = self._solved(learned)
            self._check_solution(learned.solution)
        else:
            learned.solution, learned.state = self._of_gathered(step, state), None
            self._learned = learned
            self._check_solution(learned.solution)
            _ = self._solution  # which raises where it has not the wanted size
        return self

    def _of_gathered(self, step: Gather, state: Any) -> Solution:
        """Return the solution for all samples at once."""
        X, y, weight = step.samples(state)
        n, live = len(weight), weight > 0
        if not live.all():
            X, y, weight = X[live], y[live], weight[live]
        return replace(self._solve_samples(X, y, weight), n_samples=n)

    def _check_solution(self, found: Solution) -> None:
        """Raise in `fit` where the solution is not the one asked for; a stream waits instead."""

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

    def _check_state(self, step: Any, state: Any) -> None:
        """Raise where `fit` had no weight at all, or fewer than the two classes it needs."""
        counts, n = step.counts(state), step.n_samples(state)
        classes = int((counts > 0).sum())
        if getattr(step, "numeric", False):
            if not classes:
                raise ValueError(
                    "expected samples with a non-zero weight, got none. Check sample_weight."
                )
            return
        if n and not classes:
            raise ValueError(
                "expected samples with a label and a non-zero weight, got none. "
                "Check y and sample_weight."
            )
        if classes < 2 and self._needs_y:
            streams = hasattr(self, "partial_fit")
            raise ValueError(
                f"expected two classes of positive weight, got {classes} "
                f"class{'' if classes == 1 else 'es'}. Check the labels"
                + (", or use partial_fit where more classes will come." if streams else ".")
            )

    def _check_classes(self, classes: Any, y: Any) -> np.ndarray | None:
        """Return the classes that were given; raise where labels are not among them."""
        if classes is None:
            return None
        if self._takes_numbers or self._is_numeric:
            raise ParameterError(
                "expected no classes, since its targets are numbers, got "
                "some. Leave classes out, or use SRDA or OCFS for classes."
            )
        known = np.empty(0, np.int64)
        if self._needs_y and self.__sklearn_is_fitted__():
            known = self.classes_
        return check_among(classes, y if self._needs_y else None, known)

    def _check_kind(self, m: Any) -> None:
        """Raise where moments are not of the kind that the method needs."""
        numeric = self._takes_numbers
        if not isinstance(m, Moments):
            raise TypeError(
                f"expected Moments for fit_moments, got {type(m).__name__}. "
                "Use Moments.of(X, y), or fit for samples."
            )
        of_numbers = m.is_numeric
        if numeric is not None and numeric != of_numbers:
            kinds = "numeric targets", "classes"
            raise ValueError(
                f"expected moments of {kinds[not numeric]}, got some of "
                f"{kinds[numeric]}. Make them with Moments.of(X, y, numeric={numeric})."
            )
        second = self._sums(Data(m.n_features)).second
        if not m.has(second):
            raise ValueError(
                f"expected moments with second={second!r}, got some with "
                f"second={m.second!r}. Make them with Moments.of(X, y, second={second!r})."
            )

    def _labels(self, X: Any, y: Any, numeric: bool | None = None) -> Any:
        """Return y as it is learned: labels, numbers, or the class 0 where y is not needed.

        `numeric` is whether it has numbers, if that was decided by samples before these.
        """
        name = type(self).__name__
        if self._is_numeric if numeric is None else numeric:
            return numbers_of(y, X.shape[0])
        if y is None and self._needs_y:
            raise ValueError(  # in the words that scikit-learn's checks expect
                f"{name} requires y to be passed, but the target y is None. "
                "Pass one label per sample, or a 0-1 indicator matrix."
            )
        if not self._needs_y and (y is None or not are_labels(y)):
            return np.zeros(X.shape[0], dtype=np.int64)
        return y

    @property
    def _n_known(self) -> int:
        """The number of classes seen so far; 0 where targets are numbers."""
        if not self.__sklearn_is_fitted__() or self._is_numeric:
            return 0
        return len(self._learned.classes.labels)

    def _warn_of_numbers(self, y: Any, known: int | None = None) -> None:
        """Warn where labels look like numbers; on a stream, `known` classes were seen before.

        A few samples of a stream may have as many classes: there, only floats are noticed.
        """
        if not self._needs_y or self._is_numeric or is_matrix(y):
            return
        labels = self._learned.classes.labels
        if known is None or (known <= FEW_CLASSES and labels.dtype.kind == "f"):
            warn_of_numbers(labels, self._learned.n_samples)

    def _check_X(self, X: Any, finite: bool = True, **options: Any) -> Any:
        """Return samples as an array or CSR; with `finite`, without NaN and infinity."""
        engine = engine_of(X)
        if engine is not None:
            library = type(X).__module__.partition(".")[0]
            raise TypeError(
                f"expected samples in memory, got a {library} collection, "
                "which only fit and transform accept. Loop over the partitions and compute each, "
                f"or fit on a cluster with {engine.__name__}.fit."
            )
        return checked_samples(self, X, finite=finite, **options)

    def __sklearn_is_fitted__(self) -> bool:
        return "_learned" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._needs_y
        tags.target_tags.multi_output = bool(self._takes_numbers)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


# -- plans ---------------------------------------------------------------------------------------


def plan_of(estimator: Reducer, data: Any, where: Where, samples: Any = None) -> Plan:
    """Return how an estimator learns samples.

    Parameters
    ----------
    estimator : Reducer
        The estimator.
    data : Data, or parts of a data set
        The number of features, which is asked for only where it matters, and of chunks whether they
        are sparse.
    where : {"memory", "chunks", "parts", "stream"}
        Whether the samples are at hand, come in chunks that can be read again, are on workers, or
        come once.
    samples : (X, y, sample_weight), optional
        The samples at hand.

    Raises
    ------
    ParameterError
        A stream, sparse chunks or parts cannot be learned so: the message says what to use.
    """
    plan = estimator._plan(data, where, samples)
    if where == "parts":
        check_parts(getattr(estimator, "half_life", None))
        if not plan.passes[0].adds_up:
            refuse_parts(estimator, data.n_features, plan.passes[0].gathers)
    return plan


def wider_plan_of(estimator: Reducer, n_features: int) -> Plan | None:
    """Return how an estimator learns parts that have more features than the first; None if not."""
    plan = estimator._plan(Data(n_features), "parts", None)
    return plan if len(plan.passes) > 1 else None


def most_passes(estimator: Reducer, n_features: int = MOST + 1) -> int:
    """Return how often at most a fit reads chunks of so many features."""
    check_alone(estimator)
    return len(plan_of(estimator, Data(n_features), "chunks").passes)


def refuse_parts(estimator: Any, n_features: int, gathers: bool = True) -> NoReturn:
    """Raise, since the method needs all samples in one place, one by one or together."""
    if n_features > MOST and gathers:
        raise WidthError(
            f"expected at most {MOST:,} features for fits of parts, got {n_features:,}. "
            "Use OC, OCFS or OnlineSRDA, or select features first, for example with OCFS or "
            "VarianceFS.",
            n_features,
        )
    raise ParameterError(
        f"expected all samples in one place, since the method does not combine fits of "
        f"parts, got parts of a data set. Use {estimator._instead}."
    )


# -- what fits of files and clusters, and models, do with estimators ------------------------------


@atomic
def fit_learned(estimator: Reducer, step: Any, state: Any) -> Any:
    """Fit to the last state of a plan, as `fit` does to the samples it was made of."""
    n_features = step.n_features(state)
    estimator._check_parameters(n_features)
    if hasattr(estimator, "feature_names_in_"):  # there are no names
        del estimator.feature_names_in_
    estimator.n_features_in_ = n_features
    return estimator._store(step, state)


def has_numbers(estimator: Reducer, y: Any) -> bool:
    """Whether y has numeric targets for a new fit of an estimator."""
    new = type(estimator)(**estimator._parameters())  # which may have had others
    takes: bool | None = new._takes_numbers
    return are_numeric(y) if takes is None else takes


def shows_all_classes(estimator: Any) -> bool:
    """Whether an estimator shows classes that have no sample yet: it predicts their probability."""
    return hasattr(type(estimator), "predict_proba")


def checked_targets(estimator: Reducer, X: Any, y: Any, numeric: bool) -> Any:
    """Return y as a step learns it, with the checks of `fit`."""
    return estimator._labels(X, y, numeric)


def reducer_of(estimator: Reducer, p: int | None = None) -> Callable[[Any], Any]:
    """Return a function that does what `transform` does, for samples that were checked.

    With p, it returns the first p directions only, or all there are.
    """
    found = estimator._applied()
    return (found if p is None else found.first(min(p, found.width))).reduce


def solution_of(estimator: Reducer, calibrated: bool = False) -> Solution:
    """Return the solution that an estimator applies; with `calibrated`, its rule is calibrated."""
    return estimator._read(calibrated)


def settle(estimator: Reducer, learned: Learned) -> None:
    """With ``keep=0``, let what was learned hold sums only, and no samples, in place."""
    if vars(estimator).get("keep") != 0 or learned.state is None or not learned.n_samples:
        return
    if getattr(learned.step, "keep", 0):
        shown = estimator._shown(learned)  # of a kernel, behind its map
        learned.step, learned.state = replace(shown.step, keep=0), shown.state
    only = learned.step.sums_only(learned.state)
    if isinstance(learned.state, list):  # which a fit goes on with
        learned.state[:] = only
    else:
        learned.state = only


def state_of(
    estimator: Reducer, arrays: dict[str, np.ndarray], data: Data, number: int | None = None
) -> tuple[Any, Any]:
    """Return a step and its state from named arrays, which are taken out of the dict.

    Parameters
    ----------
    estimator : Reducer
        Unfitted.
    arrays : dict of str to ndarray
        Those of `step.to_arrays`.
    data : Data
        Of the samples.
    number : int, optional
        The number of the pass of a fit in chunks that is not finished; else the state is a model's.

    Raises
    ------
    SchemaError
        They are not those of a state of the estimator.
    """
    takes, plan = estimator._takes_numbers, estimator._plan(data, "chunks", None)
    if takes is not None and takes != data.numeric:
        raise SchemaError("targets: expected those of the method, got others.")
    expected = [estimator._sums(data)] if number is None else []
    expected += plan.passes[-1:] if number is None else plan.passes[number : number + 1]
    expected = [each for each in expected if not each.gathers]
    if not expected:
        raise SchemaError("state: expected none, got one.")
    step, state = expected[0].of_arrays(arrays, expected[0])
    behind = number is None or number > 0
    kinds = [type(each.map) for each in expected] + [plan.map_kind] * behind
    fits = type(step.map) in kinds and step.n_features(state) == data.n_features
    if not fits or bool(step.numeric) != data.numeric:
        raise SchemaError("state: expected one of the method, got another.")
    return step, state


def check_alone(estimator: Reducer) -> None:
    """Raise ParameterError where a parameter is out of range whatever the data."""
    estimator._check_parameters(sys.maxsize)


def remember(estimator: Reducer, source: Any) -> Any:
    """Store how files became features (`narrows.read.Source`), and return the estimator."""
    check_is_fitted(estimator)
    estimator._learned.source = source
    return estimator


def emptied_copy(estimator: Reducer) -> Any:
    """Return a fitted copy that has learned no samples, with the same features and map."""
    new, learned = clone(estimator), estimator._learned
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(new, name, deepcopy(getattr(estimator, name)))
    then = learned.then
    if then is not None:
        then = then._replace(estimator=emptied_copy(then.estimator))
    state = learned.step.empty(learned.n_features)
    new._learned = Learned(learned.step, state, source=learned.source, then=then)
    return new


def widen(estimator: Reducer, n_features: int) -> Any:
    """Append features that are 0 in all samples so far; only where features have no names."""
    if column_names(estimator) is not None:
        raise ValueError(
            f"expected {estimator.n_features_in_} named features, got {n_features}. "
            "Use the features of the fit."
        )
    check_adds_up(estimator)
    learned = estimator._learned
    pairs = getattr(learned.step, "second", None) == "cross" and learned.step.map is None
    if n_features > MOST and pairs:
        refuse_more(estimator, n_features)
    with features_named(estimator), SignalsHeld():
        learned.step, learned.state = learned.step.widened(learned.state, n_features)
        learned.forget()
        estimator.n_features_in_ = n_features
    return estimator


@atomic
def rename_classes(estimator: Reducer, names: np.ndarray) -> None:
    """Give the classes other labels, different ones, in the order of `names.labels_of`."""
    learned, priors = estimator._learned, getattr(estimator, "priors", None)
    given, m, labels = by_class(priors), learned.moments, labels_of(estimator)
    own, known = names[places_of(m.classes, labels)], learned.known
    if known is not None:
        known = np.sort(names[places_of(known, labels)])
    live = np.argsort(own[m.counts > 0])
    if given is not None:
        new = dict(zip(labels.tolist(), names.tolist(), strict=True))
        estimator.set_params(priors={new.get(label, label): p for label, p in given.items()})
    elif priors is not None and np.size(priors) == len(live) > 1:  # in the order of classes_
        estimator.set_params(priors=np.asarray(priors)[live])
    then, state = learned.then, learned.step.renamed(learned.state, own)
    estimator._learned = Learned(learned.step, state, None, learned.source, then, known)
    if then is not None:
        rename_classes(then.estimator, names)


def what_is_lost(estimator: Any) -> str:
    """Return what a model cannot do because no samples are kept; "" if it can do everything."""
    then, what = estimator._learned.then, list[str]()
    if then is not None:
        return what_is_lost(then.estimator)
    if vars(estimator).get("keep") == 0:
        if "auto" in (getattr(estimator, "alpha", None), getattr(estimator, "mu", None)):
            what.append("the ridge follows a rule")
        if getattr(estimator, "polish", False):
            what.append("nothing is polished")
        if hasattr(estimator, "predict_proba"):
            what.append("probabilities are not calibrated")
    return f"no samples kept: {', '.join(what)}" if what else ""


def n_kept(estimator: Any) -> int:
    """Return how many samples a model holds as they are."""
    learned = estimator._learned
    own = 0 if learned.state is None else learned.step.n_held(learned.state)
    return int(own + (0 if learned.then is None else n_kept(learned.then.estimator)))


def check_adds_up(estimator: Any) -> None:
    """Raise WidthError where a model was made of all samples, to which no others can be added."""
    check_is_fitted(estimator)
    if estimator._learned.state is None:
        refuse_more(estimator, estimator.n_features_in_)


def check_at_once(estimator: Any) -> None:
    """Raise ParameterError where "cv" needs what a fit of all samples at once does not keep."""
    solver, name = getattr(estimator, "solver", "auto"), type(estimator).__name__
    sums = "regularized" if name == "LDA" else "cross"
    needs = "folds of sums" if estimator._takes_numbers else "held-out samples"
    for what in chosen(estimator):
        none = what == "n_components" and not estimator._takes_numbers
        instead = f"`{what}` to a number" + " or None" * none
        if solver not in ("auto", sums):
            raise ParameterError(
                f'expected solver="{sums}" for {what}="cv", which needs {needs}, got '
                f'"{solver}". Use another solver, or set {instead}.'
            )
        raise ParameterError(
            f'expected at most {MOST:,} features for {what}="cv", which needs {needs}, '
            f"got more. Set {instead}."
        )


def refuse_more(estimator: Any, n_features: int, what: str = "partial_fit and merge") -> NoReturn:
    """Raise, since there are no sums to add to for so many features."""
    if n_features > MOST:
        raise WidthError(
            f"expected at most {MOST:,} features for {what}, got "
            f"{n_features:,}. Use {estimator._instead}.",
            n_features,
        )
    raise ParameterError(
        "expected sums for partial_fit and merge, got a model that "
        "another solver made of all samples at once. Call fit again."
    )


@cache
def names_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the parameters of a class."""
    parameters = signature(kind.__init__).parameters.values()
    named = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return tuple(sorted(name for name in named if name != "self"))
