"""Restoring what an update has changed in place, if it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

_TRIES = 8  # an interrupt may arrive during the restoration; a step can be repeated
Answer = TypeVar("Answer")


class Undo:
    """A record of what an update is about to change, so that an update that fails changes nothing.

    The update, called by `guard`, notes each thing before it changes it. Whatever it raises, even
    by a signal handler, everything noted is restored to the bit. What is replaced, and not changed
    in place, needs no copy: noting the attributes of its owner is enough.
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
        before = array[index]
        if np.may_share_memory(before, array):  # a list of indices makes a copy by itself
            before = before.copy()
        self._steps.append(lambda: array.__setitem__(index, before))

    def step(self, restore: Callable[[], Any]) -> None:
        """Note a function that restores something, and may be called more than once."""
        self._steps.append(restore)

    def guard(self, update: Callable[[], Answer]) -> Answer:
        """Return what an update returns, or restore everything noted and raise its error."""
        try:
            return update()
        except BaseException:
            try:
                self.back()
            except BaseException:  # a second signal arrived before the first was raised
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


class TouchedRows:
    """The rows of W and Q that steps change, as they were before each first changed.

    And the entries of class sums, as they were before each change.

    Parameters
    ----------
    W : ndarray of shape (n_features, n_classes)
        Restored in place.
    Q : ndarray of shape (n_features,)
        Restored in place.
    longest : int
        The most entries of a sample.
    undo : Undo or None
        What calls `restore`; None if nothing needs to be recorded.
    """

    def __init__(self, W: np.ndarray, Q: np.ndarray, longest: int, undo: Undo | None):
        self.W, self.Q = W, Q
        self.seen = np.zeros(0 if undo is None else len(Q), np.uint8)
        # which features, their rows of W, and of Q; how many they are, and `longest`
        self.which, self.of_W = np.empty(0, np.int32), np.empty((0, W.shape[1]), W.dtype)
        # the third of `use`: how many entries of sums are noted, in the order of their changes
        self.of_Q, self.use = np.empty(0), np.array([0, longest, 0])
        self.sums: np.ndarray | None = None
        self.cells, self.of_sums = np.empty(0, np.int64), np.empty(0)
        if undo is not None:
            undo.step(self.restore)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What the compiled step needs."""
        return self.seen, self.which, self.of_W, self.of_Q, self.use, self.cells, self.of_sums

    def noted(self, sums: np.ndarray, changes: int) -> np.ndarray:
        """Return the class sums to change so many entries of: these, or a copy if that is less.

        `restore` restores the entries; a copy needs no restoration, but by its owner.
        """
        if 2 * changes >= sums.size:
            return sums.copy()
        self.cells, self.of_sums = np.empty(changes, np.int64), np.empty(changes)
        self.sums = sums
        return sums

    def make_room(self, entries: int) -> None:
        """Ensure room for a sample of so many entries, and for one that is repeated."""
        needed = min(int(self.use[:2].sum()) + entries, len(self.seen))
        if needed <= len(self.which):
            return
        size, used = min(max(needed, 2 * len(self.which)), len(self.seen)), int(self.use[0])
        for name in ("which", "of_W", "of_Q"):
            old = getattr(self, name)
            new = np.empty((size, *old.shape[1:]), old.dtype)
            new[:used] = old[:used]
            setattr(self, name, new)

    def restore(self) -> None:
        """Restore the numbers."""
        used = int(self.use[0])
        which = self.which[:used]
        self.W[which], self.Q[which] = self.of_W[:used], self.of_Q[:used]
        if self.sums is not None:
            noted = int(self.use[2])
            cells, first = np.unique(self.cells[:noted], return_index=True)
            self.sums[np.unravel_index(cells, self.sums.shape)] = self.of_sums[first]
