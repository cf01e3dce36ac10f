"""What an estimator has learned, and how threads update and read it at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from threading import RLock, get_ident
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from narrows.errors import features_named
from narrows.methods.plan import total
from narrows.methods.then import Then
from narrows.moments.labels import places_of, union
from narrows.moments.moments import Moments
from narrows.solve.solution import Classes, Solution

# Locks are not attributes of the estimators, which could then be neither copied nor pickled.
_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
if hasattr(os, "register_at_fork"):  # the threads that hold locks do not exist in the child
    os.register_at_fork(after_in_child=_LOCKS.clear)

_READS = 10  # updates in a row that solve at once for a thread that read before them
_WAIT = 0.001  # seconds, after which a reader looks again whether another thread updates

Method = TypeVar("Method", bound=Callable[..., Any])


def lock_of(estimator: Any) -> Any:
    """Return the lock of an estimator: only one thread at a time updates or solves."""
    return _LOCKS.setdefault(estimator, RLock())


def atomic(method: Method) -> Method:
    """Let a method update the estimator in one thread at a time, and change nothing if it raises.

    But for the blocks of samples that `partial_fit` has added when an interrupt comes, which stay.
    Errors name the class of the estimator, also those of moments and solvers, which know none.
    """
    in_blocks = method.__name__ in ("partial_fit", "transform_while_learning")

    @wraps(method)
    def update(self: Any, *args: Any, **named: Any) -> Any:
        with lock_of(self):
            before = dict(vars(self))
            learned = before.get("_learned") if method.__name__ == "partial_fit" else None
            step = None if learned is None else learned.step
            try:
                if learned is not None:
                    learned.begin()
                with features_named(self):  # before the names of the features are restored
                    found = method(self, *args, **named)
                if learned is not None:
                    learned.hand_over(
                        self._learned,
                        lambda calibrated: self._calibrated() if calibrated else self._solution,
                    )
                return found
            except BaseException as error:
                if isinstance(error, Exception) or not (in_blocks and _has_learned(self)):
                    self.__dict__ = before  # at once
                    if learned is not None:
                        learned.step = step
                raise
            finally:
                if learned is not None:
                    learned.updating = self._learned.updating = 0

    return cast(Method, update)


def _has_learned(estimator: Any) -> bool:
    """Whether an estimator has learned samples."""
    learned = vars(estimator).get("_learned")
    return learned is not None and bool(learned.n_samples)


class Learned:
    """What an estimator has learned, and the solution that is read of it.

    Parameters
    ----------
    step : Pass, Gather or InOrder
        How samples are added to the state.
    state : object
        The moments of each fold; an iteration; or None after a fit of all samples at once.
    solution : Solution, optional
        The solution for the state; found when it is read.
    source : narrows.read.Source, optional
        How files became features; it is saved with a model.
    then : Then, optional
        What predicts by selected features.
    known : ndarray, optional
        Labels that may occur, sorted, as classifiers were told.
    checked : dict
        The parameters that were checked; the solution is for them.
    """

    def __init__(
        self, step: Any, state: Any, solution: Solution | None = None, source: Any = None,
        then: Then | None = None, known: np.ndarray | None = None,
        checked: dict[str, Any] | None = None,
    ):  # fmt: skip
        self.step, self.state, self.solution, self.source = step, state, solution, source
        self.then, self.known, self.checked = then, known, checked or {}
        self._nobody_reads()

    def _nobody_reads(self) -> None:
        self.updating = 0  # the thread that updates the state and solves for it
        self.latest: Solution | None = None  # that was read last
        self.readers: dict[int, int] = {}  # for how many more updates each thread is a reader

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "updating": 0, "latest": None, "readers": {}}

    @property
    def moments(self) -> Any:
        """The moments of all samples, or the iteration."""
        return total(self.state) if isinstance(self.state, list) else self.state

    @property
    def folds(self) -> list[Moments]:
        """The moments of each fold."""
        return cast(list[Moments], self.state)

    @property
    def n_samples(self) -> int:
        """The number of samples learned."""
        if self.state is None:
            return 0 if self.solution is None else self.solution.n_samples
        return int(self.step.n_samples(self.state))

    @property
    def n_targets(self) -> int:
        """The number of numeric targets."""
        if self.state is None:
            rule = None if self.solution is None else self.solution.rule
            return 0 if rule is None else len(rule.intercept)
        return int(self.moments.n_targets)

    @property
    def n_features(self) -> int:
        """The number of features."""
        if self.state is None:
            return 0 if self.solution is None else self.solution.n_features
        return int(self.step.n_features(self.state))

    @property
    def classes(self) -> Classes:
        """The classes that have weight, or may occur; those of numbers are empty."""
        if self.state is None:
            none = Classes(np.empty(0, np.int64), np.empty(0))
            return none if self.solution is None else self.solution.classes or none
        m = self.moments
        labels, counts = m.classes, m.counts
        if self.known is not None:
            every = union(labels, self.known)
            place, more = places_of(labels, every), np.zeros(len(every))
            more[place], seen = counts, np.zeros(len(every), dtype=bool)
            seen[place], seen[places_of(self.known, every)] = counts > 0, True
            labels, counts = every, more
        else:
            seen = counts > 0
        return Classes(labels[seen], counts[seen], getattr(m, "n_labels", 0))

    def begin(self) -> None:
        """Let other threads read what was read last while this one updates an estimator.

        The one who calls this sets `updating` to 0 at the end.
        """
        self.updating = get_ident()
        if not self._is_read():
            self.latest = None  # which takes memory

    def _is_read(self) -> bool:
        """Whether other threads than the one that updates read something lately."""
        return any(thread != self.updating for thread in list(self.readers))

    def hand_over(self, after: Learned, read: Callable[[bool], Solution]) -> None:
        """Let other threads read what was read last of an updated estimator.

        `after` is what it has learned now, and `read` returns its solution, calibrated or not.

        If some did so lately, solve for the new state, so that they do not have to.
        """
        latest = self.latest
        after.latest, after.updating = latest, self.updating
        if latest is not None and self._is_read():
            probable = latest.rule is not None and latest.rule.temperature > 0
            with suppress(ValueError):  # which those who read will get
                latest = read(probable)
        after.latest = latest  # at once
        left = [(thread, updates - 1) for thread, updates in list(self.readers.items())]
        after.readers = {thread: updates for thread, updates in left if updates}

    def forget(self) -> None:
        """Drop what was computed of the state, before this changes."""
        self.solution = None


def latest_or(self: Any, is_enough: Callable[[Solution], bool], read: Callable[[], Any]) -> Any:
    """Return what is read of an estimator, in one thread at a time.

    While another thread updates it, return the solution that was read last, if it is enough.
    """
    lock, me = lock_of(self), get_ident()
    while True:
        learned = self._learned
        learned.readers[me] = _READS
        latest = learned.latest
        if learned.updating not in (0, me) and latest is not None and is_enough(latest):
            return latest
        if lock.acquire(timeout=_WAIT):
            break
    try:
        return read()
    finally:
        lock.release()
