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

from narrows.solve.sums import BLOCK, blocks

WINDOW = 1_000  # rows of the moving score
_SPREAD = (0.1, 1.0, 10.0)  # of the polish: how firmly it is held to what was learnt
_HELD_OUT = 5  # one row of so many of the store judges the polish
_ENOUGH = 50  # rows in the store for one
_ROWS = 256  # of the store, whose inner products with all are made at a time
_EPS = np.finfo(np.float64).eps
_FULL = 0.1  # of the numbers of rows: from here on products are made by dense blocks

# where in `clock` what stands
QB, WEIGHT, S2, FACTOR, AGREE, LAST, HITS, SEEN, REPLAYS, RECENT = range(10)


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

    def learn(
        self,
        X: Any,
        targets: tuple[np.ndarray, np.ndarray, np.ndarray],
        rule: Rule,
        reduced: np.ndarray | None = None,
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

        Notes
        -----
        **Cost** a row: 2 nnz c operations, twice that for a row after which one is repeated.
        """
        from narrows.solve.rls_steps import rls_steps

        starts, labels, weight = targets
        # few types, those of the store, so that little is compiled
        starts, labels = starts.astype(np.int64, copy=False), labels.astype(np.int32, copy=False)
        work = np.zeros(len(self.b)), np.zeros(len(self.b))
        for part in self._parts(X):
            rows = sparse.csr_array(X[part]) if isinstance(X, np.ndarray) else X
            indptr = rows.indptr.astype(np.int64, copy=False)
            indices = rows.indices.astype(np.int32, copy=False)
            parts = indptr, indices, rows.data.astype(self.W.dtype, copy=False)
            mine = starts[part.start : part.stop + 1], labels, weight[part]
            out = None if reduced is None else reduced[part]
            done = 0
            while done < part.stop - part.start:
                store = (self.arena_of, self.arena, self.slots, self.kept, self.use, self.random)
                model = (self.W, self.b, self.Q, self.N, self.clock)
                done = rls_steps(done, parts, mine, rule, model, store, self.window, work, out)
                if done < part.stop - part.start:
                    entries = rows.indptr[done + 1] - rows.indptr[done]
                    self._make_room(int(entries + mine[0][done + 1] - mine[0][done]))

    def _parts(self, X: Any) -> list[slice]:
        """Dense rows go in as sparse ones, a block at a time."""
        size = max(1, BLOCK // max(1, X.shape[1])) if isinstance(X, np.ndarray) else X.shape[0]
        return list(blocks(X.shape[0], max(1, size)))

    def _make_room(self, entries: int) -> None:
        """Put the rows kept close together in a new arena, with room for as much again."""
        size = int(self.use[0])
        lengths = self.slots[:size, 1] + self.slots[:size, 2]
        ends = np.cumsum(lengths)
        used = int(lengths.sum())
        arena_of = np.zeros(2 * used + 2 * entries, np.int32)
        arena = np.zeros(len(arena_of), self.arena.dtype)
        close = used == self.use[1]  # already, as long as none gave way to a longer one
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
