"""An update happens completely or not at all, and in one thread at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

from narrows.methods._errors import errors_named_after
from narrows.solve.undo import Undo

# Locks are not attributes of the estimators, which could then be neither copied nor pickled.
_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
if hasattr(os, "register_at_fork"):  # the threads that hold locks do not exist in the child
    os.register_at_fork(after_in_child=_LOCKS.clear)


def lock_of(estimator: Any) -> Any:
    """Return the lock of an estimator: only one thread at a time updates or solves."""
    return _LOCKS.setdefault(estimator, RLock())


def atomic(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method update the estimator completely or not at all, in one thread at a time.

    Whatever is raised, also by a signal handler, the attributes of the estimator are then as
    before the call. States that change in place restore themselves.
    """

    @wraps(method)
    def update(self: Any, *args: Any, **named: Any) -> Any:
        def call() -> Any:
            with errors_named_after(self):  # before the names of the features are restored
                return method(self, *args, **named)

        with lock_of(self):
            return Undo(self).guard(call)

    return update
