"""A sample of the stream, balanced by class, in arrays that a compiled step can write to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from narrows.solve.schema import FINITE, NOT_NEGATIVE, Check, Field, between
from narrows.solve.undo import Undo

Samples = tuple[sparse.csr_array, sparse.csr_array, np.ndarray]  # X, indicators, weights

FIELDS = {
    "arena_of": Field("i4", ("a",)),
    "arena": Field("f4 f8", ("a",), FINITE),
    "slots": Field("i8", ("m", 5)),
    "kept": Field("f8", (2, "m"), NOT_NEGATIVE),
    "use": Field("i8", ("c+2",)),
    "random": Field("u8", (1,)),
}


def _slots_fit(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    """Return whether the slots in use are places in the arena, each with room of its own."""
    (used, end), counts = arrays["use"][:2].tolist(), arrays["use"][2:]
    if not (0 <= used <= sizes["m"] and 0 <= end <= sizes["a"]):
        return False
    slots = arrays["slots"][:used]
    if arrays["slots"][used:].any() or (slots[:, :4] < 0).any() or (slots[:, :4] > end).any():
        return False
    start, entries, labels, room, one = slots.T
    order = np.lexsort((start + room, start))
    ends, next_start = (start + room)[order], np.append(start[order][1:], end)
    if (entries + labels > room).any() or (ends > next_start).any():
        return False
    features = arrays["arena_of"][_runs(start, entries)]
    classes = arrays["arena_of"][_runs(start + entries, labels)]
    if not (between(0, "d").holds(features, sizes) and between(0, "c").holds(classes, sizes)):
        return False
    alone = np.full(used, -1)
    alone[labels == 1] = arrays["arena_of"][(start + entries)[labels == 1]]
    # the step draws slots until it finds one of the class that it wants to replace
    return np.array_equal(one, alone) and np.array_equal(
        counts, np.bincount(one[one >= 0], minlength=sizes["c"])
    )


SLOTS_FIT = Check(
    "separate slots in the arena, with known features and classes, and matching counts in use",
    _slots_fit,
)


class Reservoir:
    """Samples with their labels and weights.

    Parameters
    ----------
    size : int
        The most samples it holds.
    seed : int
        Of the choice of samples to hold, and to repeat.
    dtype : dtype
        Of the values.

    Attributes
    ----------
    arena_of, arena : ndarray
        The features and values of each sample, one sample after the other, and behind them its
        labels.
    slots : ndarray of shape (size, 5)
        Where each sample starts in the arena, its numbers of features and of labels, its room,
        and its one class or -1.
    kept : ndarray of shape (2, size)
        Weights, as given, and divided by the lazy factor of decay.
    use : ndarray of shape (n_classes + 2,)
        Slots in use, arena in use, and how many samples of each class there are.
    random : ndarray of shape (1,)
        State of the random numbers.
    """

    def __init__(self, size: int, seed: int = 0, dtype: Any = np.float64):
        self.arena_of, self.arena = np.zeros(0, np.int32), np.zeros(0, dtype)
        self.slots, self.kept = np.zeros((size, 5), np.int64), np.zeros((2, size))
        self.use = np.zeros(2, np.int64)
        self.random = np.array([seed], np.uint64)

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def used(self) -> int:
        """Number of samples held."""
        return int(self.use[0])

    @property
    def longest(self) -> int:
        """The most features of a sample held."""
        return int(self.slots[: self.used, 1].max(initial=0))

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What the compiled step needs."""
        return self.arena_of, self.arena, self.slots, self.kept, self.use, self.random

    def add_classes(self, more: int) -> None:
        """Make room for more classes."""
        self.use = np.pad(self.use, (0, more))

    def promote(self, dtype: Any) -> None:
        """Hold values in this type from now on."""
        self.arena = self.arena.astype(dtype)

    def note(self, undo: Undo) -> None:
        """Let `undo` restore everything as it is now.

        The arena needs no copy: a new sample is always written behind the old ones.
        """
        undo.attributes(self)
        for array in (self.slots, self.kept, self.use, self.random):
            undo.array(array)

    def make_room(self, entries: int) -> None:
        """Ensure that the arena has room for so many more numbers.

        If it has not, move the samples close together in a new arena of three times their size.
        """
        if not len(self) or self.use[1] + entries <= len(self.arena):
            return
        size = self.used
        lengths = self.slots[:size, 1] + self.slots[:size, 2]
        ends = np.cumsum(lengths)
        used = int(lengths.sum())
        arena_of = np.zeros(3 * used + 2 * entries, np.int32)
        arena = np.zeros(len(arena_of), self.arena.dtype)
        # they are close together as long as none has replaced another
        close = used == self.use[1] and np.array_equal(self.slots[:size, 0], ends - lengths)
        place = slice(used) if close else _runs(self.slots[:size, 0], lengths)
        arena_of[:used], arena[:used] = self.arena_of[place], self.arena[place]
        self.arena_of, self.arena = arena_of, arena
        self.slots[:size, 0], self.slots[:size, 3] = ends - lengths, lengths
        self.use[1] = used

    def fill(self, X: sparse.csr_array, Y: sparse.csr_array, weight: np.ndarray) -> None:
        """Hold these samples; `weight` is of shape (2, n_samples), as `kept`."""
        size, entries, labels = X.shape[0], np.diff(X.indptr), np.diff(Y.indptr)
        start = np.append(0, np.cumsum(entries + labels))
        self.arena_of = np.zeros(start[-1], np.int32)
        self.arena = np.zeros(start[-1], self.arena.dtype)
        where, those = _runs(start[:-1], entries), _runs(start[:-1] + entries, labels)
        self.arena_of[where], self.arena[where] = X.indices, X.data
        self.arena_of[those], self.arena[those] = Y.indices, 1.0
        one = np.full(size, -1)
        one[labels == 1] = Y.indices[Y.indptr[:-1][labels == 1]]
        self.slots[:size] = np.column_stack([start[:-1], entries, labels, entries + labels, one])
        self.kept[:, :size] = weight
        counts = np.bincount(one[one >= 0], minlength=Y.shape[1])
        self.use = np.concatenate([[size, start[-1]], counts]).astype(np.int64)

    def samples(self, n_features: int, factor: float) -> Samples:
        """Return the samples, their labels as indicators, and their decayed weights."""
        size = self.used
        start, length, labels = self.slots[:size, :3].T
        where, those = _runs(start, length), _runs(start + length, labels)
        X = (self.arena[where], self.arena_of[where], np.append(0, np.cumsum(length)))
        Y = (np.ones(len(those)), self.arena_of[those], np.append(0, np.cumsum(labels)))
        return (
            sparse.csr_array(X, shape=(size, n_features)),
            sparse.csr_array(Y, shape=(size, len(self.use) - 2)),
            factor * self.kept[1, :size],
        )


def balanced(
    samples: Sequence[Samples],
    columns: Sequence[np.ndarray],
    n_classes: int,
    reservoirs: Sequence[Reservoir],
    several: bool,
) -> tuple[sparse.csr_array, sparse.csr_array, np.ndarray]:
    """Return of all samples as many as one reservoir holds, the same number of each class.

    Those with the smallest hashes, in the order of these: the result does not depend on the order
    or the grouping of the reservoirs.

    Parameters
    ----------
    samples : sequence of Samples
        Those of each reservoir.
    columns : sequence of ndarray
        The class in the result of each class of a reservoir.
    n_classes : int
        Number of classes in the result.
    reservoirs : sequence of Reservoir
        Of one size.
    several : bool
        Whether samples have several labels; they are not balanced then.
    """
    X = sparse.vstack([X for X, _, _ in samples], format="csr")
    labels = [
        sparse.csr_array((Y.data, column[Y.indices], Y.indptr), shape=(Y.shape[0], n_classes))
        for (_, Y, _), column in zip(samples, columns, strict=True)
    ]
    Y = sparse.vstack(labels, format="csr")
    given = np.concatenate([held.kept[0, : held.used] for held in reservoirs])
    weight = np.vstack([given, np.concatenate([decayed for _, _, decayed in samples])])
    chosen = np.argsort([_hash(X, i) for i in range(X.shape[0])], kind="stable")
    if not several:
        label = Y.indices[chosen]
        order = np.argsort(label, kind="stable")
        counts = np.bincount(label, minlength=n_classes)
        number = np.empty(len(label), np.int64)  # of a sample among those of its class
        number[order] = np.arange(len(label)) - np.repeat(np.cumsum(counts) - counts, counts)
        first = np.argsort(number, kind="stable")[: len(reservoirs[0])]
        chosen = chosen[np.sort(first)]
    chosen = chosen[: len(reservoirs[0])]
    return X[chosen], Y[chosen], weight[:, chosen]


def _hash(X: sparse.csr_array, i: int) -> int:
    """Return a number for the entries of row i."""
    part = slice(X.indptr[i], X.indptr[i + 1])
    entries = X.indices[part].astype(np.int64), X.data[part].astype(np.float64)
    found = blake2b(b"".join(array.tobytes() for array in entries), digest_size=7)
    return int.from_bytes(found.digest(), "little")


def _runs(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return start[0], start[0] + 1, … for length[0] numbers, then those from start[1], …"""
    ends = np.cumsum(length)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - (ends - length), length)
