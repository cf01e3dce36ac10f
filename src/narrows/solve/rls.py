"""Diagonal recursive least squares on class indicators: SRDA in a single pass.

Each feature has an energy, Q_k = sum w x_k^2 over the samples so far, and a sample changes W, of
shape (n_features, n_classes), by an implicit step that is preconditioned by it,

    p = x / (s2 + Q),    e = (t - xW - b) / (1 + x'p + 1/(1 + qb)),    W += p e',  b += e/(1 + qb)

with t the indicator of its class, or classes, and s2, the prior, the running mean of |x|^2. So
there is no step size, no step overshoots, and rescaling the data changes nothing; a new class adds
a column of zeros, which earlier steps would have left at zero. `narrows.solve.rls_steps` has the
step.

Dense samples are learned about an origin, x - origin in place of x, since energies about 0 are
mostly those of the mean where that is large. The origin is the first sample, and after 2, 4, 8, ...
samples it moves to their mean. Q, s2, b and the class sums about the new origin follow exactly from
those about the old one and from the first moments. Sparse samples are learned about 0, so that they
stay sparse, but for those of few features: these give what the same numbers give in dense form.

Beside it is a reservoir of samples, balanced by class. Where samples are sorted by label some are
repeated from the reservoir, and when the projection is read it is fitted to them once more
(`narrows.solve.rls_read`).

The rule and its parts are narrows' own; the regression is that of Cai, He, Han, "SRDA: An
Efficient Algorithm for Large-Scale Discriminant Analysis", IEEE TKDE 20(1), 2008.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from narrows.solve.arrays import wider
from narrows.solve.reservoir import FIELDS, SLOTS_FIT, Reservoir, Samples
from narrows.solve.rls_origin import FEW, AboutOrigin
from narrows.solve.rls_rule import FACTOR, HITS, LAST, QB, RECENT, REPLAYS, S2, SEEN, WEIGHT, Rule
from narrows.solve.schema import FINITE, NOT_NEGATIVE, WHOLE, Check, Field, between, checked
from narrows.solve.sums import BLOCK, blocks
from narrows.solve.undo import TouchedRows, Undo

WINDOW = 1_000  # samples of the moving score
_EPS = np.finfo(np.float64).eps
_FULL = 0.1  # of the entries: from this density on products are made by dense blocks
_PRODUCTS = 1 << 22  # entries times classes from one return to Python to the next


_SCHEMA = {
    "W": Field("f4 f8", ("d", "c"), FINITE),
    "Q": Field("f8", ("d",), NOT_NEGATIVE),
    "b": Field("f8", ("c",), FINITE),
    "N": Field("f8", (2, "c"), NOT_NEGATIVE),
    "clock": Field("f8", (10,), FINITE),
    "window": Field("u1", (WINDOW,), between(0, 1)),
    # 0.1.0 had none of these
    "origin": Field("f8", ("d",), between(-1e100, 1e100), optional=True),
    "first": Field("f8", (2, "d"), FINITE, optional=True),
    "sums": Field("f8", ("d", "c"), FINITE, optional=True),
    **FIELDS,
}


def _clock_fits(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    clock = arrays["clock"]
    whole = WHOLE.holds(clock[[HITS, SEEN, REPLAYS, RECENT]], sizes)
    return whole and 0 < clock[FACTOR] <= 1 and min(clock[QB], clock[WEIGHT], clock[S2]) >= 0


_RULES = (
    Check(
        "an arena of the type of W", lambda arrays, _: arrays["arena"].dtype == arrays["W"].dtype
    ),
    Check("a clock of integers and a factor from 0 to 1", _clock_fits),
    Check(
        "first moments about an origin",
        lambda arrays, _: ("origin" in arrays) == ("first" in arrays),
    ),
    SLOTS_FIT,
)


class DiagonalRLS(AboutOrigin):
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
    N : ndarray of shape (2, n_classes)
        The weight and the number of samples of each class; both decay.
    Q : ndarray of shape (n_features,)
        The energy of each feature, to be multiplied by ``clock[FACTOR]``.
    clock : ndarray
        Single numbers: qb, n, s2, the lazy factor, the agreement of labels with the ones before,
        the last label, samples predicted correctly, samples predicted, samples repeated, and
        samples predicted since the window started.
    sums : ndarray of shape (n_features, n_classes) or None
        The sum of w x of each class, to be multiplied by ``clock[FACTOR]``; a sample counts for
        each of its labels. None without a reservoir, and from a file of version 0.1.0.
    origin : ndarray of shape (n_features,) or None
        What is subtracted from samples; Q, b, s2 and all sums are about it. None for 0.
    first : ndarray of shape (2, n_features) or None
        The sums of w h x, with w h as in Q, and of w x, to be multiplied by ``clock[FACTOR]``.
        None without an origin.
    reservoir : Reservoir
        The samples held.
    """

    def __init__(self, n_features: int, reservoir: int, seed: int = 0, dtype: Any = np.float64):
        self.W = np.zeros((n_features, 0), dtype)
        self.Q = np.zeros(n_features)
        self.b, self.N = np.zeros(0), np.zeros((2, 0))
        self.clock = np.zeros(10)
        self.clock[FACTOR], self.clock[LAST] = 1.0, -1.0
        self.window = np.zeros(WINDOW, np.uint8)
        self.sums = np.zeros((n_features, 0)) if reservoir else None
        self.origin: np.ndarray | None = None
        self.first: np.ndarray | None = None
        self.reservoir = Reservoir(reservoir, seed, dtype)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as named arrays, for `from_arrays`; no bit changes."""
        arrays = {**vars(self), **vars(self.reservoir)}
        del arrays["reservoir"]
        return {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> DiagonalRLS:
        """Return what `to_arrays` described."""
        checked(arrays, _SCHEMA, _RULES)
        new = cls(0, 0)
        new.origin = new.first = new.sums = None
        for part in (new, new.reservoir):
            names = vars(part).keys() & arrays.keys()
            vars(part).update({name: np.array(arrays[name]) for name in names})
        return new

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.Q)

    @property
    def energy(self) -> np.ndarray:
        """The decayed Q, of shape (n_features,)."""
        return self.clock[FACTOR] * self.Q

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
            self.origin, self.first = (
                np.pad(self.origin, (0, more)),
                np.pad(self.first, ((0, 0), (0, more))),
            )

    def promote(self, dtype: Any) -> None:
        """Hold numbers in this type from now on."""
        self.W = self.W.astype(dtype)
        self.reservoir.promote(dtype)

    @property
    def score(self) -> float:
        """The share of samples whose class was predicted before they were learned."""
        return float(self.clock[HITS] / self.clock[SEEN]) if self.clock[SEEN] else float("nan")

    @property
    def score_of_window(self) -> float:
        """The same over the last samples."""
        window = self.window[: int(self.clock[RECENT])]
        return float(window.mean()) if len(window) else float("nan")

    # -- learning ---------------------------------------------------------------------------

    def note(self, undo: Undo) -> None:
        """Let `undo` restore everything as it is now; `learn` notes W, Q and the class sums."""
        undo.attributes(self)
        for array in (self.b, self.N, self.clock, self.window, self.first):
            if array is not None:
                undo.array(array)
        self.reservoir.note(undo)

    def learn(
        self,
        X: Any,
        targets: tuple[np.ndarray, np.ndarray, np.ndarray],
        rule: Rule,
        reduced: np.ndarray | None = None,
        undo: Undo | None = None,
        hits: np.ndarray | None = None,
    ) -> None:
        """Run one step for each sample, in order.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n_samples, n_features)
            Finite, its squares too; a sparse one without duplicate entries.
        targets : (ndarray of shape (n_samples + 1,), ndarray, ndarray of shape (n_samples,))
            Where the labels of each sample start in the second; labels, numbered by order of
            arrival; and weights.
        rule : Rule
            How to learn.
        reduced : ndarray of shape (n_samples, n_classes), optional
            x(i) W(i), with W as it is after sample i, is added to row i.
        undo : Undo, optional
            Restores W, Q and the sums; `note` covers the rest.
        hits : ndarray of shape (n_samples,) and type uint8, optional
            Set to 1 where the class was predicted before the sample was learned, else to 0; 0 for
            samples of weight 0.

        Notes
        -----
        **Cost** per sample: 2 nnz c operations, twice that if a sample is repeated after it.
        """
        starts, labels, weight = targets
        if self.origin is None:
            self.place(X, weight)
        if self.origin is not None and undo is not None:  # every sample changes all features
            undo.array(self.W)
            self.Q = self.Q.copy()
            self.sums = None if self.sums is None else self.sums.copy()
            undo = None  # and what moves is replaced
        for rows, moves in self.until_moved(weight, rule):
            ends = slice(rows.start, rows.stop + 1)
            mine = starts[ends], labels, weight[rows]
            out, hit = (None if each is None else each[rows] for each in (reduced, hits))
            whole = rows.stop - rows.start == len(weight)
            self._learn(X if whole else X[rows], mine, rule, out, undo, hit)
            if moves:
                self.move(self.mean)

    def _learn(
        self,
        X: Any,
        targets: tuple[np.ndarray, np.ndarray, np.ndarray],
        rule: Rule,
        reduced: np.ndarray | None,
        undo: Undo | None,
        hits: np.ndarray | None,
    ) -> None:
        """Learn samples about the present origin."""
        from narrows.solve.rls_steps import SMALLEST_FACTOR, rls_steps

        starts, labels, weight = targets
        # few types, those of the reservoir, so that little is compiled
        starts, labels = starts.astype(np.int64, copy=False), labels.astype(np.int32, copy=False)
        if undo is not None and self.clock[FACTOR] * rule.keep ** len(weight) < 2 * SMALLEST_FACTOR:
            self.Q = self.Q.copy()  # all of it will change
            self.sums = None if self.sums is None else self.sums.copy()
        dense = isinstance(X, np.ndarray) or self.origin is not None
        lengths = np.full(len(weight), X.shape[1]) if dense else np.diff(X.indptr)
        entries = int(lengths.max(initial=0))
        longest = max(self.reservoir.longest, entries)
        origin, about = (np.zeros(0), 0) if self.origin is None else (self.origin, longest)
        c, centred = len(self.b), np.zeros(about, self.W.dtype)
        work = np.zeros(c), np.zeros(c), np.zeros(longest), origin, centred
        touched = TouchedRows(self.W, self.Q, longest, undo)
        touched.make_room(2 * int(lengths.sum()))
        new = min(len(weight), len(self.reservoir) - self.reservoir.used)  # which will all be held
        room = int(lengths[:new].sum() + starts[new] - starts[0])
        self.reservoir.make_room(min(3 * room // 2, _PRODUCTS))
        if self.sums is not None and undo is not None:
            self.sums = touched.noted(self.sums, int(lengths @ np.diff(starts)))
        sums = np.zeros((0, 0)) if self.sums is None else self.sums
        first = np.zeros((2, 0)) if self.first is None else self.first
        model = self.W, self.b, self.Q, self.N, self.clock, sums, first
        all_rows = None if dense else self._arrays(X)
        for part in self._parts(X):
            ends = slice(part.start, part.stop + 1)
            if all_rows is None:
                rows = self._arrays(self._whole(X[part]))
            else:
                rows = all_rows[0][ends], *all_rows[1:]
            mine = starts[ends], labels, weight[part]
            out = np.zeros((0, 0)) if reduced is None else reduced[part]
            right = np.zeros(0, np.uint8) if hits is None else hits[part]
            done = 0
            while done < part.stop - part.start:
                done = rls_steps(
                    done, rows, mine, rule, model, self.reservoir.arrays, self.window, work,
                    touched.arrays, out, right,
                )  # fmt: skip
                if done < part.stop - part.start:  # it stopped for want of room
                    entries = int(rows[0][done + 1] - rows[0][done])
                    self.reservoir.make_room(entries + int(mine[0][done + 1] - mine[0][done]))
                    touched.make_room(entries)

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

    def _parts(self, X: Any) -> list[slice]:
        """Return samples to learn in one call; dense ones are made sparse part by part."""
        n, is_dense = X.shape[0], isinstance(X, np.ndarray) or self.origin is not None
        entries = (X.shape[1] if is_dense else X.nnz / max(1, n)) or 1
        size = int(min(BLOCK, _PRODUCTS // max(1, len(self.b))) // entries)
        return list(blocks(n, max(1, size)))

    # -- reading ----------------------------------------------------------------------------

    def samples(self) -> Samples:
        """Return the samples held, about the origin, their indicators, and decayed weights."""
        X, Y, weight = self.reservoir.samples(self.n_features, float(self.clock[FACTOR]))
        if self.origin is not None:
            X = sparse.csr_array(self._whole(X.toarray() - self.origin))
        return X, Y, weight
