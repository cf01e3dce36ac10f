"""Diagonal recursive least squares on class indicators: state, reservoir, merging, origin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from hashlib import blake2b
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from narrows.solve import regression_steps as at
from narrows.solve.arrays import wider
from narrows.solve.codec import MOST, PART, SchemaError, Sizes
from narrows.solve.in_place import RANDOM, entries
from narrows.solve.products import compiled_pays
from narrows.solve.regression_steps import UpdateRule, rls_steps
from narrows.solve.sums import BLOCK, blocks, number_in_class, ranges

FEW = 64  # sparse samples of at most so many features are learned about an origin too
WINDOW = 1_000  # samples of the moving score
_FARTHEST = 1e100  # of the origin
_OFTEN = 32  # samples, at least, from one move of the origin to the next where samples decay
_PRODUCTS = 1 << 22  # entries times classes from one return to Python to the next

Samples = tuple[sparse.csr_array, sparse.csr_array, np.ndarray]  # X, indicators, weights


class SampleReservoir:
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

    arena_of: Annotated[np.ndarray, "i4", "a"]
    arena: Annotated[np.ndarray, "f4 f8", "a"]
    slots: Annotated[np.ndarray, "i8", "m 5"]
    kept: Annotated[np.ndarray, "f8 >=0", "2 m"]
    use: Annotated[np.ndarray, "i8", "c+2"]
    random: Annotated[np.ndarray, "u8", "1"]

    def __init__(self, size: int, seed: int = 0, dtype: Any = np.float64):
        self.arena_of, self.arena = np.zeros(0, np.int32), np.zeros(0, dtype)
        self.slots, self.kept = np.zeros((size, 5), np.int64), np.zeros((2, size))
        self.use = np.zeros(2, np.int64)
        self.random = np.array([seed], np.uint64)

    def __len__(self) -> int:
        return len(self.slots)

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError unless slots in use are separate places of the arena."""
        if not self._slots_fit(sizes):
            raise SchemaError("slots: expected samples of known features and classes, got others.")

    def _slots_fit(self, sizes: Sizes) -> bool:
        (used, end), counts = self.use[:2].tolist(), self.use[2:]
        if not (0 <= used <= sizes["m"] and 0 <= end <= sizes["a"]):
            return False
        slots = self.slots[:used]
        if self.slots[used:].any() or (slots[:, :4] < 0).any() or (slots[:, :4] > end).any():
            return False
        start, entries, labels, room, one = slots.T
        order = np.lexsort((start + room, start))
        ends, next_start = (start + room)[order], np.append(start[order][1:], end)
        if (entries + labels > room).any() or (ends > next_start).any():
            return False
        for first, lengths, most in (
            (start, entries, sizes["d"]), (start + entries, labels, sizes["c"])
        ):  # fmt: skip
            found = self.arena_of[ranges(first, lengths)]
            if found.min(initial=0) < 0 or found.max(initial=-1) >= most:
                return False
        alone = np.full(used, -1)
        alone[labels == 1] = self.arena_of[(start + entries)[labels == 1]]
        # the step draws slots until it finds one of the class that it wants to replace
        return np.array_equal(one, alone) and np.array_equal(
            counts, np.bincount(one[one >= 0], minlength=sizes["c"])
        )

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
        place = slice(used) if close else ranges(self.slots[:size, 0], lengths)
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
        where, those = ranges(start[:-1], entries), ranges(start[:-1] + entries, labels)
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
        where, those = ranges(start, length), ranges(start + length, labels)
        X = (self.arena[where], self.arena_of[where], np.append(0, np.cumsum(length)))
        Y = (np.ones(len(those)), self.arena_of[those], np.append(0, np.cumsum(labels)))
        return (
            sparse.csr_array(X, shape=(size, n_features)),
            sparse.csr_array(Y, shape=(size, len(self.use) - 2)),
            factor * self.kept[1, :size],
        )


def balanced(
    parts: Sequence[DiagonalRLS], columns: Sequence[np.ndarray], n_classes: int, several: bool
) -> tuple[sparse.csr_array, sparse.csr_array, np.ndarray]:
    """Return of all samples held as many as one reservoir holds, the same number of each class.

    Those with the smallest hashes, in the order of these: the result does not depend on the order
    or the grouping of the reservoirs.

    Parameters
    ----------
    parts : sequence of DiagonalRLS
        With reservoirs of one size.
    columns : sequence of ndarray
        The class in the result of each class of a part.
    n_classes : int
        Number of classes in the result.
    several : bool
        Whether samples have several labels; they are not balanced then.
    """
    reservoirs = [part.reservoir for part in parts]
    samples = [part.reservoir.samples(part.n_features, part.clock[at.FACTOR]) for part in parts]
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
        number = number_in_class(label, np.argsort(label, kind="stable"))
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


class DiagonalRLS:
    """The regression of class indicators on samples, one step a sample.

    Parameters
    ----------
    n_features : int
        Number of features.
    reservoir : int
        Number of samples that are held.
    seed : int
        Of the choice of samples to hold and to repeat.
    dtype : dtype
        Of W and the samples held: float32 or float64.

    Attributes
    ----------
    W : ndarray of shape (n_features, n_classes)
        One column a class, in order of arrival.
    b : ndarray of shape (n_classes,)
        The bias.
    N : ndarray of shape (3, n_classes)
        The weight, the number of samples and the sum of their times of each class; all decay. The
        time is the number of samples before, since the last merge; there, that of each part is
        measured from its mean.
    Q : ndarray of shape (n_features,)
        The energy of each feature, to be multiplied by ``clock[FACTOR]``.
    clock : ndarray
        Single numbers: qb, n, s2, the lazy factor, the agreement of labels with the ones before,
        the last label, samples predicted correctly, samples predicted, samples repeated, samples
        predicted since the window started, and the sum of squares of all times.
    sums : ndarray of shape (n_features, n_classes) or None
        The sum of w x of each class, to be multiplied by ``clock[FACTOR]``; a sample counts for
        each of its labels. None without a reservoir, and where 0.1.0 began to learn.
    origin : ndarray of shape (n_features,) or None
        What is subtracted from samples; Q, b, s2 and all sums are about it. None for 0.
    first : ndarray of shape (2, n_features) or None
        The sums of w h x, with w h as in Q, and of w x, to be multiplied by ``clock[FACTOR]``.
        None without an origin.
    reservoir : SampleReservoir
        The samples held.
    """

    W: Annotated[np.ndarray, "f4 f8", "d c"]
    Q: Annotated[np.ndarray, "f8 >=0", "d"]
    b: Annotated[np.ndarray, "f8", "c"]
    N: Annotated[np.ndarray, "f8", "3 c"]
    clock: Annotated[np.ndarray, "f8", "11"]
    window: Annotated[np.ndarray, "u1 <2", "1000"]
    origin: Annotated[np.ndarray | None, "f8", "d"]
    first: Annotated[np.ndarray | None, "f8", "2 d"]
    sums: Annotated[np.ndarray | None, "f8", "d c"]
    reservoir: Annotated[SampleReservoir, PART]

    def __init__(self, n_features: int, reservoir: int, seed: int = 0, dtype: Any = np.float64):
        self.W = np.zeros((n_features, 0), dtype)
        self.Q = np.zeros(n_features)
        self.b, self.N = np.zeros(0), np.zeros((3, 0))
        self.clock = np.zeros(11)
        self.clock[at.FACTOR], self.clock[at.LAST] = 1.0, -1.0
        self.window = np.zeros(WINDOW, np.uint8)
        self.sums = np.zeros((n_features, 0)) if reservoir else None
        self.origin = self.first = None
        self.reservoir = SampleReservoir(reservoir, seed, dtype)

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where arrays do not fit each other."""
        counts = self.clock[[at.HITS, at.SEEN, at.REPLAYS, at.RECENT]]
        weights = *self.clock[[at.QB, at.WEIGHT, at.S2, at.TIMES]], *self.N[:2].ravel(), *counts
        whole = (counts == np.floor(counts)).all() and counts.max() <= MOST
        if not (whole and 0 < self.clock[at.FACTOR] <= 1 and min(weights) >= 0):
            raise SchemaError("clock: expected weights and counts >= 0, got others.")
        if self.reservoir.arena.dtype != self.W.dtype:
            raise SchemaError("arena: expected the type of W, got another.")
        far = 0.0 if self.origin is None else np.abs(self.origin).max(initial=0.0)
        if (self.origin is None) != (self.first is None) or far > _FARTHEST:
            raise SchemaError("origin: expected one in range beside first moments, got another.")

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.Q)

    @property
    def energy(self) -> np.ndarray:
        """The decayed Q, of shape (n_features,)."""
        return self.clock[at.FACTOR] * self.Q

    def add_classes(self, more: int) -> None:
        """Append classes, whose targets and outputs so far were 0."""
        self.W = wider(self.W, more)
        self.b, self.N = np.pad(self.b, (0, more)), np.pad(self.N, ((0, 0), (0, more)))
        if self.sums is not None:
            self.sums = wider(self.sums, more)
        self.reservoir.add_classes(more)

    def widen(self, n_features: int) -> None:
        """Append features that were 0 in every sample so far."""
        if n_features > FEW:
            self.move(None)
        more = n_features - len(self.Q)
        self.W, self.Q = np.pad(self.W, ((0, more), (0, 0))), np.pad(self.Q, (0, more))
        if self.sums is not None:
            self.sums = np.pad(self.sums, ((0, more), (0, 0)))
        if self.origin is not None and self.first is not None:
            self.origin = np.pad(self.origin, (0, more))
            self.first = np.pad(self.first, ((0, 0), (0, more)))

    def promote(self, dtype: Any) -> None:
        """Hold numbers in this type from now on."""
        self.W = self.W.astype(dtype)
        self.reservoir.promote(dtype)

    def without_kept(self) -> DiagonalRLS:
        """Return the regression without the samples held and without class sums; it shares W."""
        new = copy(self)
        new.reservoir, new.sums = SampleReservoir(0, 0, self.reservoir.arena.dtype), None
        new.reservoir.add_classes(len(self.b))
        return new

    def cost(self, X: Any, classes: int) -> float:
        """Return about how many operations one of the samples X of so many classes takes."""
        return 50 + entries(X) * (RANDOM + max(classes, len(self.b)))

    @property
    def score(self) -> float:
        """The share of samples whose class was predicted before they were learned."""
        hits, seen = self.clock[[at.HITS, at.SEEN]].tolist()
        return hits / seen if seen else float("nan")

    @property
    def score_of_window(self) -> float:
        """The same over the last samples."""
        window = self.window[: int(self.clock[at.RECENT])]
        return float(window.mean()) if len(window) else float("nan")

    # -- learning ---------------------------------------------------------------------------

    def learn(
        self,
        X: Any,
        targets: tuple[np.ndarray, np.ndarray, np.ndarray],
        rule: UpdateRule,
        reduced: np.ndarray | None = None,
    ) -> None:
        """Run one step for each sample, in order.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_samples, n_features)
            Finite, its squares too; a sparse one without duplicate entries.
        targets : (ndarray of shape (n_samples + 1,), ndarray, ndarray of shape (n_samples,))
            Where the labels of each sample start in the second; labels, numbered by order of
            arrival; and weights.
        rule : UpdateRule
            How to learn.
        reduced : ndarray of shape (n_samples, n_classes), optional
            x(i) W(i), with W as it is after sample i, is added to row i.

        Notes
        -----
        **Cost** per sample: 2 nnz c operations, twice that if a sample is repeated after it.
        """
        starts, labels, weight = targets
        if self.origin is None:
            self.place(X, weight)
        for rows, moves in self.until_moved(weight, rule):
            ends = slice(rows.start, rows.stop + 1)
            mine = starts[ends], labels, weight[rows]
            out = None if reduced is None else reduced[rows]
            whole = rows.stop - rows.start == len(weight)
            self._learn(X if whole else X[rows], mine, rule, out)
            if moves:
                self.move(self.mean)

    def _learn(
        self,
        X: Any,
        targets: tuple[np.ndarray, np.ndarray, np.ndarray],
        rule: UpdateRule,
        reduced: np.ndarray | None,
    ) -> None:
        """Learn samples about the present origin."""
        (starts, labels, weight), c = targets, len(self.b)
        # few types, those of the reservoir, so that little is compiled
        starts, labels = starts.astype(np.int64, copy=False), labels.astype(np.int32, copy=False)
        dense = isinstance(X, np.ndarray) or self.origin is not None
        n, d = X.shape
        lengths = np.full(n, d) if dense else np.diff(X.indptr)
        fast = compiled_pays(0, 50 * n + 2 * c * int(lengths.sum()))
        run = rls_steps if fast else rls_steps.plain
        longest = max(self.reservoir.longest, int(lengths.max(initial=0)))
        most = min(BLOCK, _PRODUCTS // max(1, c)) // max(1, int(lengths.sum()) // max(1, n))
        origin, about = (np.zeros(0), 0) if self.origin is None else (self.origin, longest)
        centred = np.zeros(about, self.W.dtype)
        work = np.zeros(c), np.zeros(c), np.zeros(longest), origin, centred
        new = min(n, len(self.reservoir) - self.reservoir.used)  # which will all be held
        room = int(lengths[:new].sum() + starts[new] - starts[0])
        self.reservoir.make_room(min(3 * room // 2, _PRODUCTS))
        sums = np.zeros((0, 0)) if self.sums is None else self.sums
        first = np.zeros((2, 0)) if self.first is None else self.first
        model = self.W, self.b, self.Q, self.N, self.clock, sums, first
        all_rows = None if dense else self._arrays(X)
        for part in blocks(n, max(1, most)):  # dense samples are made sparse part by part
            ends = slice(part.start, part.stop + 1)
            if all_rows is None:
                rows = self._arrays(self._whole(X[part]))
            else:
                rows = all_rows[0][ends], *all_rows[1:]
            mine = starts[ends], labels, weight[part]
            out = np.zeros((0, 0)) if reduced is None else reduced[part]
            done = 0
            while done < part.stop - part.start:
                done = run(
                    done, rows, mine, rule, model, self.reservoir.arrays, self.window, work, out
                )
                if done < part.stop - part.start:  # it stopped for want of room
                    entries = int(rows[0][done + 1] - rows[0][done])
                    self.reservoir.make_room(entries + int(mine[0][done + 1] - mine[0][done]))

    def _whole(self, X: Any) -> sparse.csr_array:
        """Return dense samples as sparse ones; with zeros, where these are not 0 when centred."""
        if self.origin is None:
            return sparse.csr_array(X)
        X = X.toarray() if sparse.issparse(X) else X
        n, d = X.shape
        return sparse.csr_array(
            (X.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), (n, d)
        )

    def _arrays(self, X: sparse.csr_array) -> tuple[np.ndarray, ...]:
        """Return CSR parts in the types of the reservoir."""
        return (
            X.indptr.astype(np.int64, copy=False),
            X.indices.astype(np.int32, copy=False),
            X.data.astype(self.W.dtype, copy=False),
        )

    # -- reading ----------------------------------------------------------------------------

    def samples(self) -> Samples:
        """Return the samples held, about the origin, their indicators, and decayed weights."""
        X, Y, weight = self.reservoir.samples(self.n_features, float(self.clock[at.FACTOR]))
        if self.origin is not None:
            X = sparse.csr_array(self._whole(X.toarray() - self.origin))
        return X, Y, weight

    # -- the origin -------------------------------------------------------------------------

    @property
    def mean(self) -> np.ndarray:
        """The decayed mean of all samples, of shape (n_features,), where there is an origin."""
        assert self.origin is not None
        assert self.first is not None
        return self.origin + self.clock[at.FACTOR] * self.first[1] / self.clock[at.WEIGHT]

    def move(self, origin: np.ndarray | None) -> None:
        """Measure samples from another origin; outputs stay the same.

        Nothing is changed in place.
        """
        if self.origin is None:
            return
        new = np.zeros_like(self.Q) if origin is None else origin
        delta, clock, first = new - self.origin, self.clock.copy(), self.first
        factor, qb, weight = clock[at.FACTOR], clock[at.QB], clock[at.WEIGHT] / clock[at.FACTOR]
        assert first is not None
        # not by BLAS, whose last digits depend on where arrays are in memory
        self.b = self.b + (delta[:, None] * self.W).sum(axis=0)
        self.Q = np.maximum(self.Q + delta * (qb * delta - 2 * first[0]), 0)
        if weight > 0:
            clock[at.S2] = max(clock[at.S2] + (delta * (delta - 2 * first[1] / weight)).sum(), 0)
        if self.sums is not None:
            self.sums = self.sums - delta[:, None] * (self.N[0] / factor)
        self.first = None if origin is None else first - np.array([[qb], [weight]]) * delta
        self.origin, self.clock = origin, clock

    def place(self, X: Any, weight: np.ndarray) -> None:
        """Take the first sample for the origin, if it is dense or has few features."""
        if self.clock[at.SEEN] or not weight.any():
            return
        if isinstance(X, np.ndarray) or X.shape[1] <= FEW:
            sample = X[[int((weight > 0).argmax())]]
            sample = sample.toarray() if sparse.issparse(sample) else sample
            self.origin, self.first = sample[0].astype(np.float64), np.zeros((2, X.shape[1]))

    def until_moved(self, weight: np.ndarray, rule: UpdateRule) -> Iterator[tuple[slice, bool]]:
        """Yield successive samples, and whether the origin moves after them.

        It moves after 1, 2, 4, 8, ... samples; with a half-life, after so many again and again.
        """
        done = 0
        if self.origin is not None:
            number = int(self.clock[at.SEEN]) + np.cumsum(weight > 0)
            moves = number & (number - 1) == 0
            if rule.keep < 1:
                with np.errstate(divide="ignore"):  # of the smallest half-lives, keep is 0
                    half_life = np.log(0.5) / np.log(rule.keep)
                moves |= number % max(_OFTEN, int(np.ceil(half_life - 1e-6))) == 0
            for end in (np.flatnonzero(moves & (weight > 0)) + 1).tolist():
                yield slice(done, end), True
                done = end
        if done < len(weight):
            yield slice(done, len(weight)), False


def merged(
    parts: Sequence[DiagonalRLS], columns: Sequence[np.ndarray], n_classes: int, rule: UpdateRule
) -> DiagonalRLS:
    """Return several regressions as one: the natural parameters (s2 + Q) W add up, as Q does.

    Where there are origins, Q and b stay about the mean of each part, so that the order and the
    grouping of parts do not matter.

    Parameters
    ----------
    parts : sequence of DiagonalRLS
        With the same features and size of the reservoir.
    columns : sequence of ndarray
        The column in the result of each column of W of a part.
    n_classes : int
        Number of classes in the result.
    rule : UpdateRule
        That of all parts.
    """
    first = parts[0]
    parts, origin = _about_means(parts)
    dtype = np.result_type(*(part.W.dtype for part in parts))
    clocks = np.array([part.clock for part in parts])
    n = clocks[:, at.WEIGHT].sum()
    seen = clocks[:, [at.HITS, at.SEEN, at.REPLAYS]].sum(axis=0)
    new = DiagonalRLS(first.n_features, len(first.reservoir), int(seen[1]), dtype)
    new.add_classes(n_classes)
    share = clocks[:, at.WEIGHT] / n if n else np.zeros(len(parts))
    clock = new.clock
    clock[at.QB] = clocks[:, at.FACTOR] @ clocks[:, at.QB]
    clock[[at.WEIGHT, at.S2, at.AGREE]] = n, share @ clocks[:, at.S2], share @ clocks[:, at.AGREE]
    clock[[at.HITS, at.SEEN, at.REPLAYS]] = seen
    Q = np.sum([part.energy for part in parts], axis=0)
    W = np.zeros((len(Q), n_classes))
    new.sums = np.zeros(W.shape) if all(part.sums is not None for part in parts) else None
    if origin is not None:
        new.origin, new.first = origin, np.zeros((2, len(Q)))
    for part, column in zip(parts, columns, strict=True):
        own, factor = part.clock[at.S2] + part.energy, part.clock[at.FACTOR]
        rows = np.flatnonzero(part.W.any(axis=1))
        W[np.ix_(rows, column)] += own[rows, None] * part.W[rows]
        new.b[column] += (1.0 + factor * part.clock[at.QB]) * part.b
        times = part.N[2].sum() / max(part.N[1].sum(), 1e-300)
        new.N[:2, column] += part.N[:2]
        new.N[2, column] += part.N[2] - times * part.N[1]
        clock[at.TIMES] += max(part.clock[at.TIMES] - times * part.N[2].sum(), 0.0)
        if new.first is not None and part.first is not None:
            new.first += factor * part.first
        if new.sums is not None and part.sums is not None:
            rows = np.flatnonzero(part.sums.any(axis=1))
            new.sums[np.ix_(rows, column)] += factor * part.sums[rows]
            if origin is not None and part.origin is not None:
                new.sums[:, column] += (part.origin - origin)[:, None] * part.N[0]
    energy = clock[at.S2] + Q
    np.divide(W, energy[:, None], out=W, where=energy[:, None] > 0)
    new.b /= 1.0 + clock[at.QB]
    new.W, new.Q = W.astype(dtype), Q
    if len(first.reservoir):
        new.reservoir.fill(*balanced(parts, columns, n_classes, rule.several))
    return new


def _about_means(parts: Sequence[DiagonalRLS]) -> tuple[list[DiagonalRLS], np.ndarray | None]:
    """Return parts, each about its own mean, and the mean of all samples; copies.

    All are about 0, and the mean is None, where one of them is.
    """
    parts = [copy(part) for part in parts]
    seen = [part for part in parts if part.clock[at.SEEN]]
    together = bool(seen) and all(part.origin is not None for part in seen)
    for part in seen:
        part.move(part.mean if together else None)
    if not together:
        return parts, None
    share = np.array([part.clock[at.WEIGHT] for part in seen])
    means = np.array([part.origin for part in seen])
    return parts, (share[:, None] / share.sum() * means).sum(axis=0)
