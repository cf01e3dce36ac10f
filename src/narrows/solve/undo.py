"""What an update changes in place, and how all of it is put back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

_TRIES = 8  # an interrupt may arrive while things are put back; a step can be repeated
Answer = TypeVar("Answer")


class Undo:
    """Keeps what an update is about to change, so that an update that fails changes nothing.

    The update, called by `guard`, notes each thing before it changes it; whatever is raised then,
    even by a signal handler, all of it is restored to the bit. What is replaced, and not changed in
    place, needs no copy: noting the attributes of its owner is enough.
    """

    def __init__(self, *owners: Any):
        self._steps: list[Callable[[], Any]] = []
        for owner in owners:
            self.attributes(owner)

    def attributes(self, owner: Any) -> None:
        """Note which objects the attributes of `owner` are."""
        before = dict(vars(owner))

        def restore() -> None:
            vars(owner).update(before)
            for name in vars(owner).keys() - before.keys():
                del vars(owner)[name]

        self._steps.append(restore)

    def array(self, array: np.ndarray, index: Any = ...) -> None:
        """Note the numbers in a part of an array; O(size of the part)."""
        kept = array[index]
        if np.may_share_memory(kept, array):  # not so where places are listed one by one
            kept = kept.copy()
        self._steps.append(lambda: array.__setitem__(index, kept))

    def step(self, restore: Callable[[], Any]) -> None:
        """Note a function that restores something, and may be called more than once."""
        self._steps.append(restore)

    def guard(self, update: Callable[[], Answer]) -> Answer:
        """Return what an update does, or restore everything noted and raise what it raised."""
        try:
            return update()
        except BaseException:
            try:
                self.back()
            except BaseException:  # a second signal was there before the first was raised
                self.back()
                raise
            raise

    def back(self) -> None:
        """Restore everything noted, the last first."""
        for tried in range(_TRIES):
            try:
                for restore in reversed(self._steps):
                    restore()
                return
            except BaseException:
                if tried == _TRIES - 1:
                    raise
