"""Diagonal recursive least squares on class indicators: SRDA in one pass.

Each column keeps the energy it has brought, Q_k = sum w x_k^2, and a sample changes W (d, c) by an
implicit step that is preconditioned by it,

    p = x / (s2 + Q),    e = (t - xW - b) / (1 + x'p + 1/(1 + qb)),    W += p e',  b += e/(1 + qb)

with t the indicator of its class, or classes, and s2, the prior, the running mean of |x|^2. So
there is no step size, no step overshoots, and rescaling the data changes nothing; a new class is a
column of zeros, which is what it would have been. `narrows.solve.rls_steps` has the step.

Beside it a store of rows, balanced by class. Where rows come in the order of their labels some of
them are repeated from there, and when the projection is read it is fitted to them once more
(`polished`).

The rule and what belongs to it are narrows' own; the regression is that of Cai, He, Han, "SRDA: An
Efficient Algorithm for Large-Scale Discriminant Analysis", IEEE TKDE 20(1), 2008.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from narrows.solve.schema import FINITE, NOT_NEGATIVE, WHOLE, Check, Field, between, checked
from narrows.solve.sums import BLOCK, blocks
from narrows.solve.undo import Undo

WINDOW = 1_000  # rows of the moving score
_SPREAD = (0.1, 1.0, 10.0)  # of the polish: how firmly it is held to what was learnt
_HELD_OUT = 5  # one row of so many of the store judges the polish
_ENOUGH = 50  # rows in the store for one
_ROWS = 256  # of the store, whose inner products with all are made at a time
_EPS = np.finfo(np.float64).eps
_FULL = 0.1  # of the numbers of rows: from here on products are made by dense blocks
_PRODUCTS = 1 << 22  # entries times classes from one return to Python to the next

# where in `clock` what stands
QB, WEIGHT, S2, FACTOR, AGREE, LAST, HITS, SEEN, REPLAYS, RECENT = range(10)

_SCHEMA = {
    "W": Field("f4 f8", ("d", "c"), FINITE),
    "Q": Field("f8", ("d",), NOT_NEGATIVE),
    "b": Field("f8", ("c",), FINITE),
    "N": Field("f8", (2, "c"), NOT_NEGATIVE),
    "clock": Field("f8", (10,), FINITE),
    "window": Field("u1", (WINDOW,), between(0, 1)),
    "arena_of": Field("i4", ("a",)),
    "arena": Field("f4 f8", ("a",), FINITE),
    "slots": Field("i8", ("m", 5)),
    "kept": Field("f8", (2, "m"), NOT_NEGATIVE),
    "use": Field("i8", ("c+2",)),
    "random": Field("u8", (1,)),
}


def _clock_fits(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    clock = arrays["clock"]
    whole = WHOLE.holds(clock[[HITS, SEEN, REPLAYS, RECENT]], sizes)
    return whole and 0 < clock[FACTOR] <= 1 and min(clock[QB], clock[WEIGHT]) >= 0


def _slots_fit(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    """Whether the slots in use are places in the arena, each with room of its own."""
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
    columns = arrays["arena_of"][_runs(start, entries)]
    classes = arrays["arena_of"][_runs(start + entries, labels)]
    if not (between(0, "d").holds(columns, sizes) and between(0, "c").holds(classes, sizes)):
        return False
    alone = np.full(used, -1)
    alone[labels == 1] = arrays["arena_of"][(start + entries)[labels == 1]]
    # a row to be replaced is looked for until one of its class is found
    return np.array_equal(one, alone) and np.array_equal(
        counts, np.bincount(one[one >= 0], minlength=sizes["c"])
    )


_RULES = (
    Check("arena of the type of W", lambda arrays, _: arrays["arena"].dtype == arrays["W"].dtype),
    Check("clock of whole numbers and a factor from 0 to 1", _clock_fits),
    Check("slots apart in the arena, whose columns and classes there are, and counts in use that "
          "are theirs", _slots_fit),
)  # fmt: skip


class Rule(NamedTuple):
    """How rows are learnt.

    Parameters
    ----------
    keep : float
        What all that was counted is multiplied by at each row; 1 forgets nothing.
    softmax : bool
        Residuals of softmax instead of plain outputs.
    several : bool
        Rows may have several labels, or none.
    """

    keep: float = 1.0
    softmax: bool = False
    several: bool = False


class DiagonalRLS:
    """The regression of class indicators on rows, one step a row.

    Parameters
    ----------
    n_features : int
        d.
    reservoir : int
        Rows that are kept.
    seed : int
        Of the choice of rows to keep and to repeat.
    dtype : dtype
        Of W and the rows kept: float32 or float64.

    Attributes
    ----------
    W : ndarray of shape (d, c)
        One column a class, in order of arrival.
    b : ndarray of shape (c,)
        The bias.
    N : ndarray of shape (2, c)
        The weight of each class, and its rows; both fade.
    Q : ndarray of shape (d,)
        The energy of each column, to be multiplied by ``clock[FACTOR]``.
    clock : ndarray
        Single numbers: qb, n, s2, the lazy factor, the agreement of labels with the ones before,
        the last label, rows predicted right, rows predicted, rows repeated, and rows predicted
        since the window began.
    """

    def __init__(self, n_features: int, reservoir: int, seed: int = 0, dtype: Any = np.float64):
        self.W = np.zeros((n_features, 0), dtype)
        self.Q = np.zeros(n_features)
        self.b, self.N = np.zeros(0), np.zeros((2, 0))
        self.clock = np.zeros(10)
        self.clock[FACTOR], self.clock[LAST] = 1.0, -1.0
        self.window = np.zeros(WINDOW, np.uint8)
        # a row: columns and values, and behind them its labels, in the arena; its slot says where
        # it starts, how many columns and labels it has, what room there is, and its one class or
        # -1; kept has its weight, and that divided by the lazy factor
        self.arena_of, self.arena = np.zeros(0, np.int32), np.zeros(0, dtype)
        self.slots, self.kept = np.zeros((reservoir, 5), np.int64), np.zeros((2, reservoir))
        self.use = np.zeros(2, np.int64)  # slots and arena in use, then rows kept of each class
        self.random = np.array([seed], np.uint64)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as named arrays, for `from_arrays`; numbers are kept to the bit."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> DiagonalRLS:
        """Return what `to_arrays` described."""
        checked(arrays, _SCHEMA, _RULES)
        new = cls(0, 0)
        vars(new).update({name: np.array(arrays[name]) for name in vars(new)})
        return new

    @property
    def n_features(self) -> int:
        """d."""
        return len(self.Q)

    @property
    def energy(self) -> np.ndarray:
        """Q as it is now, of shape (d,)."""
        return self.clock[FACTOR] * self.Q

    def add_classes(self, more: int) -> None:
        """Let there be more classes: their targets and outputs so far were 0."""
        self.W = np.pad(self.W, ((0, 0), (0, more)))
        self.b, self.N = np.pad(self.b, (0, more)), np.pad(self.N, ((0, 0), (0, more)))
        self.use = np.pad(self.use, (0, more))

    def widen(self, n_features: int) -> None:
        """Append columns that were 0 in every row so far."""
        more = n_features - len(self.Q)
        self.W, self.Q = np.pad(self.W, ((0, more), (0, 0))), np.pad(self.Q, (0, more))

    def promote(self, dtype: Any) -> None:
        """Hold numbers in this type from now on."""
        self.W, self.arena = self.W.astype(dtype), self.arena.astype(dtype)

    # -- learning ---------------------------------------------------------------------------

    def note(self, undo: Undo) -> None:
        """Let `undo` put everything back as it is now, but W and Q, to which `learn` sees.

        The arena needs no copy: a row that is kept goes where none was before.
        """
        undo.attributes(self)
        for array in (self.b, self.N, self.clock, self.window, self.use, self.random):
            undo.array(array)
        undo.array(self.slots)
        undo.array(self.kept)

    def learn(
        self,
        X: Any,
        targets: tuple[np.ndarray, np.ndarray, np.ndarray],
        rule: Rule,
        reduced: np.ndarray | None = None,
        undo: Undo | None = None,
    ) -> None:
        """Take one step for each row, in order.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, d)
            Finite, its squares too; a sparse one without duplicate entries.
        targets : (ndarray of shape (n + 1,), ndarray, ndarray of shape (n,))
            Where the labels of each row start in the second, by order of arrival; and weights.
        rule : Rule
        reduced : ndarray of shape (n, c), optional
            Row i becomes x(i) W(i), with W as it is after row i.
        undo : Undo, optional
            Note there what is changed of W and Q; `note` saw to the rest.

        Notes
        -----
        **Cost** a row: 2 nnz c operations, twice that for a row after which one is repeated.
        """
        from narrows.solve.rls_steps import FADED, rls_steps

        starts, labels, weight = targets
        # few types, those of the store, so that little is compiled
        starts, labels = starts.astype(np.int64, copy=False), labels.astype(np.int32, copy=False)
        work = np.zeros(len(self.b)), np.zeros(len(self.b))
        if undo is not None and self.clock[FACTOR] * rule.keep ** len(weight) < 2 * FADED:
            self.Q = self.Q.copy()  # all of it will change
        touched = Touched(self.W, self.Q, self._longest(X), undo)
        touched.make_room(2 * (X.size if isinstance(X, np.ndarray) else X.nnz))
        all_rows = None if isinstance(X, np.ndarray) else self._arrays(X)
        for part in self._parts(X):
            ends = slice(part.start, part.stop + 1)
            if all_rows is None:
                rows = self._arrays(sparse.csr_array(X[part]))
            else:
                rows = all_rows[0][ends], *all_rows[1:]
            mine = starts[ends], labels, weight[part]
            out = None if reduced is None else reduced[part]
            done = 0
            while done < part.stop - part.start:
                store = (self.arena_of, self.arena, self.slots, self.kept, self.use, self.random)
                model = (self.W, self.b, self.Q, self.N, self.clock)
                done = rls_steps(
                    done, rows, mine, rule, model, store, self.window, work, touched.arrays, out
                )
                if done < part.stop - part.start:
                    entries = int(rows[0][done + 1] - rows[0][done])
                    more = entries + int(mine[0][done + 1] - mine[0][done])
                    if len(self.slots) and self.use[1] + more > len(self.arena):
                        self._make_room(more)
                    touched.make_room(entries)

    def _arrays(self, X: sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """CSR parts in the types of the store."""
        return (
            X.indptr.astype(np.int64, copy=False),
            X.indices.astype(np.int32, copy=False),
            X.data.astype(self.W.dtype, copy=False),
        )

    def _parts(self, X: Any) -> list[slice]:
        """Rows to go in at once; dense ones go in as sparse ones."""
        n, is_dense = X.shape[0], isinstance(X, np.ndarray)
        entries = (X.shape[1] if is_dense else X.nnz / max(1, n)) or 1
        size = int(min(BLOCK, _PRODUCTS // max(1, len(self.b))) // entries)
        return list(blocks(n, max(1, size)))

    def _longest(self, X: Any) -> int:
        """The most entries of a row that is kept or comes."""
        kept = int(self.slots[: self.use[0], 1].max(initial=0))
        here = X.shape[1] if isinstance(X, np.ndarray) else np.diff(X.indptr).max(initial=0)
        return max(kept, int(here))

    def _make_room(self, entries: int) -> None:
        """Put the rows kept close together in a new arena, with room for twice as much again."""
        size = int(self.use[0])
        lengths = self.slots[:size, 1] + self.slots[:size, 2]
        ends = np.cumsum(lengths)
        used = int(lengths.sum())
        arena_of = np.zeros(3 * used + 2 * entries, np.int32)
        arena = np.zeros(len(arena_of), self.arena.dtype)
        # they are already, as long as none gave way to another
        close = used == self.use[1] and np.array_equal(self.slots[:size, 0], ends - lengths)
        place = slice(used) if close else _runs(self.slots[:size, 0], lengths)
        arena_of[:used], arena[:used] = self.arena_of[place], self.arena[place]
        self.arena_of, self.arena = arena_of, arena
        self.slots[:size, 0], self.slots[:size, 3] = ends - lengths, lengths
        self.use[1] = used

    def _fill(self, X: sparse.csr_array, Y: sparse.csr_array, weight: np.ndarray) -> None:
        """Let these be the rows kept; their weights, and those faded, are of shape (2, size)."""
        size, entries, labels = X.shape[0], np.diff(X.indptr), np.diff(Y.indptr)
        start = np.append(0, np.cumsum(entries + labels))
        self.arena_of = np.zeros(start[-1], np.int32)
        self.arena = np.zeros(start[-1], self.W.dtype)
        where, those = _runs(start[:-1], entries), _runs(start[:-1] + entries, labels)
        self.arena_of[where], self.arena[where] = X.indices, X.data
        self.arena_of[those], self.arena[those] = Y.indices, 1.0
        one = np.full(size, -1)
        one[labels == 1] = Y.indices[Y.indptr[:-1][labels == 1]]
        self.slots[:size] = np.column_stack([start[:-1], entries, labels, entries + labels, one])
        self.kept[:, :size] = weight
        counts = np.bincount(one[one >= 0], minlength=len(self.b))
        self.use = np.concatenate([[size, start[-1]], counts]).astype(np.int64)

    # -- reading ----------------------------------------------------------------------------

    def rows_kept(self) -> tuple[sparse.csr_array, sparse.csr_array, np.ndarray]:
        """The rows in the store, their labels as indicators, and their weights, faded as all is."""
        size = int(self.use[0])
        start, length, labels = self.slots[:size, :3].T
        where, those = _runs(start, length), _runs(start + length, labels)
        X = (self.arena[where], self.arena_of[where], np.append(0, np.cumsum(length)))
        Y = (np.ones(len(those)), self.arena_of[those], np.append(0, np.cumsum(labels)))
        return (
            sparse.csr_array(X, shape=(size, self.n_features)),
            sparse.csr_array(Y, shape=(size, len(self.b))),
            self.clock[FACTOR] * self.kept[1, :size],
        )

    def polished(self) -> tuple[np.ndarray, np.ndarray]:
        """W and b, fitted once more to the rows in the store; the state does not change.

        ::

            minimise |E - R D|^2 + mu D' diag(L) D

        with E the residuals of the rows R, a 1 appended for the bias, each by its weight, faded
        with its age, and L = s2 + (1 - share) Q, share being that of all weight that R has. mu is
        that of 0.1, 1 and 10 which, fitted to four fifths of the rows, does best on the other
        fifth; if none does better than D = 0, W is left as it is. O(m^3 + m nnz) for m rows, by the
        inner products of the rows.
        """
        size, s2 = int(self.use[0]), self.clock[S2]
        if size < _ENOUGH or not s2 > 0:
            return self.W, self.b
        R, Y, weight = self.rows_kept()
        R = R.astype(np.float64)
        root = np.sqrt(weight)[:, None]
        left = 1 - min(1.0, weight.sum() / self.clock[WEIGHT])
        L = s2 + left * self.energy
        L_b = 1 + left * self.clock[FACTOR] * self.clock[QB]
        E = root * (Y.toarray() - (R @ self.W + self.b))
        if R.nnz > _FULL * R.shape[0] * R.shape[1]:
            R = R.toarray()
        K = np.empty((size, size))
        for rows in blocks(size, _ROWS):
            part = (R[rows] / L) @ R.T
            K[rows] = part.toarray() if sparse.issparse(part) else part
        K += 1 / L_b
        K *= root
        K *= root.T
        order = np.random.default_rng(0).permutation(size)
        held, fitted = order[: size // _HELD_OUT], order[size // _HELD_OUT :]
        best, mu = float(np.sum(E[held] ** 2)), 0.0
        for tried in _SPREAD:
            Z = _ridge(K[np.ix_(fitted, fitted)], tried, E[fitted])
            loss = float(np.sum((E[held] - K[np.ix_(held, fitted)] @ Z) ** 2))
            if loss < best:
                best, mu = loss, tried
        if not mu:
            return self.W, self.b
        Z = root * _ridge(K, mu, E)
        return self.W + (R.T @ Z) / L[:, None], self.b + Z.sum(axis=0) / L_b


class Touched:
    """What steps change of W and Q, as it was when each feature was first touched.

    Parameters
    ----------
    W : ndarray of shape (d, c)
    Q : ndarray of shape (d,)
    longest : int
        The most entries that a row has.
    undo : Undo or None
        What is to put them back; None: nothing is kept.
    """

    def __init__(self, W: np.ndarray, Q: np.ndarray, longest: int, undo: Undo | None):
        self.W, self.Q = W, Q
        seen = np.zeros(0 if undo is None else len(Q), np.uint8)
        # which features, their rows of W, and of Q; how many they are, and `longest`
        self.which, self.of_W = np.empty(0, np.int32), np.empty((0, W.shape[1]), W.dtype)
        self.of_Q, self.use = np.empty(0), np.array([0, longest])
        self.seen = seen
        if undo is not None:
            undo.step(self.restore)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What the compiled step knows it by."""
        return self.seen, self.which, self.of_W, self.of_Q, self.use

    def make_room(self, entries: int) -> None:
        """Let there be room for a row of so many entries, and for one that is repeated."""
        wanted = min(int(self.use.sum()) + entries, len(self.seen))
        if wanted <= len(self.which):
            return
        size, used = min(max(wanted, 2 * len(self.which)), len(self.seen)), int(self.use[0])
        for name in ("which", "of_W", "of_Q"):
            old = getattr(self, name)
            new = np.empty((size, *old.shape[1:]), old.dtype)
            new[:used] = old[:used]
            setattr(self, name, new)

    def restore(self) -> None:
        """Put the numbers back."""
        used = int(self.use[0])
        which = self.which[:used]
        self.W[which], self.Q[which] = self.of_W[:used], self.of_Q[:used]


def merged(
    parts: Sequence[DiagonalRLS], columns: Sequence[np.ndarray], classes: int, rule: Rule
) -> DiagonalRLS:
    """What several have learnt, as one: the natural parameters (s2 + Q) W add up, as Q does.

    Parameters
    ----------
    parts : sequence of DiagonalRLS
        Of the same columns and reservoir.
    columns : sequence of ndarray
        Which column of the answer each column of W of a part is.
    classes : int
        How many there are in all.
    rule : Rule
        By which they learnt.
    """
    first, least = parts[0], 0.1 if rule.softmax else 1.0
    dtype = np.result_type(*(part.W.dtype for part in parts))
    clocks = np.array([part.clock for part in parts])
    n = clocks[:, WEIGHT].sum()
    new = DiagonalRLS(first.n_features, len(first.slots), 0, dtype)
    new.add_classes(classes)
    share = clocks[:, WEIGHT] / n if n else np.zeros(len(parts))
    clock = new.clock
    clock[QB] = clocks[:, FACTOR] @ clocks[:, QB]
    clock[[WEIGHT, S2, AGREE]] = n, share @ clocks[:, S2], share @ clocks[:, AGREE]
    clock[[HITS, SEEN, REPLAYS]] = clocks[:, [HITS, SEEN, REPLAYS]].sum(axis=0)
    Q = np.sum([part.energy for part in parts], axis=0)
    W = np.zeros((len(Q), classes))
    for part, column in zip(parts, columns, strict=True):
        own = least * part.clock[S2] + part.energy
        W[:, column] += own[:, None] * part.W
        new.b[column] += (least + part.clock[FACTOR] * part.clock[QB]) * part.b
        new.N[:, column] += part.N
    energy = least * clock[S2] + Q
    np.divide(W, energy[:, None], out=W, where=energy[:, None] > 0)
    new.b /= least + clock[QB]
    new.W, new.Q = W.astype(dtype), Q
    new.random = np.array([clock[SEEN]], np.uint64)
    if len(first.slots):
        new._fill(*_balanced(parts, columns, classes, rule))
    return new


def _balanced(
    parts: Sequence[DiagonalRLS], columns: Sequence[np.ndarray], classes: int, rule: Rule
) -> tuple[sparse.csr_array, sparse.csr_array, np.ndarray]:
    """The rows that all parts keep, as many as one may, the same number of each class.

    Those of the smallest hashes, in the order of these: so it does not matter in which order, and
    in which groups, the parts come.
    """
    rows = [part.rows_kept() for part in parts]
    X = sparse.vstack([X for X, _, _ in rows], format="csr")
    labels = [
        sparse.csr_array((Y.data, column[Y.indices], Y.indptr), shape=(Y.shape[0], classes))
        for (_, Y, _), column in zip(rows, columns, strict=True)
    ]
    Y = sparse.vstack(labels, format="csr")
    weight = np.vstack(
        [
            np.concatenate([part.kept[0, : part.use[0]] for part in parts]),
            np.concatenate([faded for _, _, faded in rows]),
        ]
    )
    kept = np.argsort([_hash(X, i) for i in range(X.shape[0])], kind="stable")
    if not rule.several:
        label = Y.indices[kept]
        order = np.argsort(label, kind="stable")
        counts = np.bincount(label, minlength=classes)
        number = np.empty(len(label), np.int64)  # of a row among those of its class
        number[order] = np.arange(len(label)) - np.repeat(np.cumsum(counts) - counts, counts)
        first = np.argsort(number, kind="stable")[: len(parts[0].slots)]
        kept = kept[np.sort(first)]
    kept = kept[: len(parts[0].slots)]
    return X[kept], Y[kept], weight[:, kept]


def _hash(X: sparse.csr_array, i: int) -> int:
    """A number for the entries of row i."""
    part = slice(X.indptr[i], X.indptr[i + 1])
    entries = X.indices[part].astype(np.int64), X.data[part].astype(np.float64)
    found = blake2b(b"".join(array.tobytes() for array in entries), digest_size=7)
    return int.from_bytes(found.digest(), "little")


def _ridge(K: np.ndarray, mu: float, E: np.ndarray) -> np.ndarray:
    """(K + mu I)^-1 E; K, which is symmetric, is written over."""
    K.flat[:: len(K) + 1] += max(mu, 4 * len(K) * _EPS * K.diagonal().max())  # beyond rounding
    factor = linalg.cho_factor(K.T, overwrite_a=True, check_finite=False)
    return linalg.cho_solve(factor, E, check_finite=False)


def _runs(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """start[0], start[0] + 1, … for length[0] numbers, then those from start[1], …"""
    ends = np.cumsum(length)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - (ends - length), length)
