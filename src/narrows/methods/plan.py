"""Plan: which passes over the samples a method makes, and what it sums up in each of them.

`base.plan_of` chooses the passes of an estimator:

=========================== =====================================================================
method, samples             passes
=========================== =====================================================================
sums of each feature        one `Pass`: moments, which add up
sums of pairs of features   one `Pass` for at most 8,192 features
the same, more features     two for ForwardFS: the first chooses candidates, which a map keeps;
                            else all samples at once (`Gather`), in memory or from files
behind a kernel             two: the first determines a map, with which the second is made
two classes, refined        two: the first determines log odds, at which a Newton step starts
one sample at a time        `InOrder`, once or several times
=========================== =====================================================================

`learn` carries a plan out. Arrays in memory, chunks of files and parts on workers differ only in
how they add up the samples of a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse

from narrows.errors import AdvisedError
from narrows.methods.parameters import is_cv
from narrows.moments.folds import errors_of_fold
from narrows.moments.labels import (
    SMALLEST_WEIGHT,
    distinct,
    joined,
    one_a_row,
    union,
    weights,
)
from narrows.moments.maps import ONE_MAP, map_in
from narrows.moments.moments import Moments, with_later
from narrows.moments.targets import Targets
from narrows.solve.codec import SchemaError, taken, to_arrays
from narrows.solve.devices import in_memory
from narrows.solve.in_place import SignalsHeld, block_size, some_rows
from narrows.solve.sums import blocks, check_summable, stacked, widened

FOLDS = 5  # of the moments of an estimator with a parameter that is "cv"
MOST_FOLDS = 1000
AT_ONCE = "lsqr", "pca", "gsvd"  # solvers that need all samples
Where = Literal["memory", "chunks", "parts", "stream"]
_SHORTEST = 1e-6  # samples: after one sample, nothing is left for shorter half-lives either


def n_folds(size: Any) -> int:
    """Return the number of folds that choose a size: several where it is "cv"."""
    return FOLDS if is_cv(size) else 1


class Data(NamedTuple):
    """What a plan depends on."""

    n_features: int
    is_sparse: bool = False
    numeric: bool = False  # whether the targets are numbers, of methods that take both

    @classmethod
    def of(cls, X: Any, numeric: bool = False) -> Data:
        """Return what a plan depends on, of samples."""
        return cls(X.shape[1], sparse.issparse(X), numeric)


# -- the passes ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pass:
    """One pass in which moments are summed: behind a map, in folds, and with older ones decaying.

    Parameters
    ----------
    map : map of `narrows.moments.maps`, optional
        What makes coordinates of samples; they are the features if None.
    second : {None, "total", "class", "cross"}
        The second moments.
    keep : int
        How many samples are kept.
    n_folds : int
        The number of folds; sample number i is in fold i mod n_folds.
    half_life : float, optional
        The number of samples after which weights are halved.
    numeric : bool
        Whether the targets are numbers.
    """

    adds_up: ClassVar[bool] = True  # whether states of parts do
    gathers: ClassVar[bool] = False  # whether a state is all samples

    map: Any = None
    second: Any = None
    keep: int = 0
    n_folds: int = 1
    half_life: float | None = None
    numeric: bool = False

    def after(self, state: list[Moments], map_of: Any) -> Pass:
        """Return the pass with the map that the moments of the pass before it determine."""
        return replace(self, map=map_of(total(state)))

    def empty(self, n_features: int) -> list[Moments]:
        """Return the moments of no samples, for each fold."""
        if self.map is None or self.second != "cross":
            width = n_features if self.map is None else self.map.width
            kind = {"second": self.second, "keep": self.keep, "numeric": self.numeric}
            return [Moments(width, **kind) for _ in range(self.n_folds)]
        return [Moments.of_coordinates(self.map.width, self.keep, self.map.n_features)]

    def add(
        self, state: list[Moments], X: Any, y: Any, weight: Any = None, first: int | None = None
    ) -> list[Moments]:
        """Return the moments of each fold with more samples, added in place.

        An interrupt leaves a whole number of blocks of samples added; an error leaves none.
        `first` is the number of the first sample, if not that of those before it.
        """
        first = sum(each.n_samples for each in state) if first is None else first
        if self.half_life is not None:
            return self._decayed(state, X, y, weight, first)
        targets = (Targets.of_numbers if self.numeric else Targets.of_labels)(X, y, weight)
        if self.n_folds == 1 and self.map is not None:
            return self.add_targets(state, X, targets)
        if self.n_folds == 1:
            if self.numeric or self.second == "cross" or sparse.issparse(X):  # else sums show it
                check_summable(X, float(targets.weight.sum()))
            state[0].add(X, targets)
            return state
        self._check_summable(X, targets)  # so that no fold fails after another
        for rows in blocks(X.shape[0], block_size(state[0].cost(X))):
            with SignalsHeld():
                for k, each in enumerate(state):
                    start = rows.start + (k - first - rows.start) % self.n_folds
                    part = slice(start, rows.stop, self.n_folds)
                    if self.map is None:
                        each.add(X[part], targets.rows(part))
                    else:
                        (state[k],) = self.add_targets([each], X[part], targets.rows(part))
        return state

    def add_targets(self, state: list[Moments], X: Any, targets: Targets) -> list[Moments]:
        """Return moments with the coordinates of more samples, behind the map."""
        X = in_memory(X)
        self._check_summable(X, targets)
        parts = list(blocks(X.shape[0], self.map.n_samples_at_once(X)))
        (new,) = state if len(parts) < 2 else [state[0].copy()]  # all of them or none
        for part in parts:
            Z, kept = self.map.mapped(some_rows(X, part), bool(self.keep))
            new.add(Z, targets.rows(part), kept)
        return [new]

    def _check_summable(self, X: Any, targets: Targets) -> None:
        """Raise RangeError where sums of the samples, or of what a map makes of them, overflow."""
        if self.map is None or self.map.sees_values:
            check_summable(X, float(targets.weight.sum()))

    def _decayed(
        self, state: list[Moments], X: Any, y: Any, weight: Any, first: int
    ) -> list[Moments]:
        """Return moments that decay by these samples, which are added, the newest with weight 1."""
        age = np.arange(X.shape[0])[::-1]
        half_life = max(float(self.half_life or 0.0), _SHORTEST)
        decayed, unit = 0.5 ** (age / half_life), 1.0
        if weight is not None:
            given = weights(weight, len(decayed))
            unit = 2.0 ** np.frexp(given.max(initial=0.0))[1]
            decayed = decayed * (given / unit)
        decayed[decayed < SMALLEST_WEIGHT] = 0.0  # nothing beside the newest samples
        plain, left = replace(self, half_life=None), 0.5 ** (len(age) / half_life)
        fresh = plain.add(plain.empty(X.shape[1]), X, y, decayed, first)
        with SignalsHeld():
            for each, more in zip(state, fresh, strict=True):
                each.fade(left, more if unit == 1 else more * unit)
        return state

    def summed(self, states: Iterable[list[Moments]]) -> list[Moments]:
        """Return the sums of the moments of each fold, which share nothing with them."""
        return [Moments.summed(folds) for folds in zip(*states, strict=True)]

    def joined(self, a: list[Moments], b: list[Moments]) -> list[Moments]:
        """Return the sums of the moments of samples, and of others after them."""
        n = sum(each.n_samples for each in a)
        return [with_later(one, other, n) for one, other in zip(a, b, strict=True)]

    def n_features(self, state: list[Moments]) -> int:
        """Return the number of features, not of coordinates."""
        return int(state[0].n_features if self.map is None else self.map.n_features)

    def widened(self, state: list[Moments], n_features: int) -> tuple[Pass, list[Moments]]:
        """Return the pass and moments for more features, which are 0 so far."""
        if self.map is not None:
            map = self.map.widened(n_features)
            same = map.width == self.map.width
            return replace(self, map=map), state if same else [m.widen(map.width) for m in state]
        return self, [each.widen(n_features) for each in state]

    @property
    def shows_nan(self) -> bool:
        """Whether sums show NaN and infinity."""
        return self.map is None and self.half_life is None

    def counts(self, state: list[Moments]) -> np.ndarray:
        """Return the weight of each class, or the weight of samples with numbers."""
        return np.atleast_1d(total(state).counts)

    def n_samples(self, state: list[Moments]) -> int:
        """Return the number of samples."""
        return sum(each.n_samples for each in state)

    def n_held(self, state: list[Moments]) -> int:
        """Return how many samples are held as they are."""
        return sum(each.n_held for each in state)

    def renamed(self, state: list[Moments], names: np.ndarray) -> list[Moments]:
        """Return the moments with other labels, different ones, in the order of the present."""
        return [each.renamed(names) for each in state]

    def without_kept(self, state: list[Moments]) -> list[Moments]:
        """Return the moments without kept samples."""
        return [each.without_kept() for each in state]

    def sums_only(self, state: list[Moments]) -> list[Moments]:
        """Return the moments without samples: kept ones, and those that wait."""
        return [each.sums_only() for each in state]

    def nbytes(self, state: list[Moments]) -> int:
        """Return the bytes of the sums."""
        return sum(each.nbytes for each in state)

    def to_arrays(self, state: list[Moments]) -> dict[str, np.ndarray]:
        """Return map and moments as named arrays, for `of_arrays`."""
        arrays = {} if self.map is None else to_arrays(self.map)
        if self.n_folds == 1:
            return arrays | state[0].to_arrays()
        arrays["folds"] = np.array(self.n_folds)
        for k, each in enumerate(state):
            arrays |= {f"fold{k}_{name}": array for name, array in each.to_arrays().items()}
        return arrays

    @classmethod
    def of_arrays(cls, arrays: dict[str, np.ndarray], expected: Pass) -> tuple[Pass, list[Moments]]:
        """Return the pass and moments of named arrays, which are taken out of the dict.

        `expected` is the pass of the estimator; SchemaError where the arrays are of another one.
        """
        map, K = map_in(arrays), 1
        if "folds" in arrays:
            K = int(taken(arrays, "folds", ("i8",)))
            if not 2 <= K <= MOST_FOLDS:
                raise SchemaError(f"folds: expected a number from 2 to {MOST_FOLDS}, got {K}.")
        state = []
        for k in range(K):
            own, start = arrays, f"fold{k}_"
            if K > 1:
                names = [name for name in arrays if name.startswith(start)]
                own = {name.removeprefix(start): arrays.pop(name) for name in names}
            with errors_of_fold(k) if K > 1 else nullcontext():
                state.append(Moments.read_from(own))
            state[0].check_kind(state[k])
        kind = state[0]
        step = cls(map, kind.second, kind.keep, K, expected.half_life, kind.is_numeric)
        if map is not None and kind.n_features != map.width:
            raise SchemaError("map: expected the moments of its coordinates, got others.")
        return step, state


@dataclass(frozen=True)
class Gather:
    """One pass that gathers samples, which are then solved for together."""

    adds_up: ClassVar[bool] = False
    gathers: ClassVar[bool] = True
    shows_nan: ClassVar[bool] = False
    map: ClassVar[Any] = None

    half_life: float | None = None
    numeric: bool = False

    def empty(self, n_features: int) -> Gathered:
        """Return no samples."""
        return Gathered(n_features)

    def add(self, state: Gathered, X: Any, y: Any, weight: Any = None) -> Gathered:
        """Add checked samples, in place."""
        if self.numeric:
            state.check_targets(y)
        else:
            classes, codes = one_a_row(X, y)
            y = classes[codes]
        state.chunks.append((in_memory(X), y, weights(weight, X.shape[0])))
        return state

    def n_features(self, state: Gathered) -> int:
        """Return the number of features."""
        return state.n_features

    def counts(self, state: Gathered) -> np.ndarray:
        """Return the weight of each class, or that of all samples with numbers."""
        _, y, weight = self.samples(state)
        if self.numeric:
            return np.array([weight.sum()])
        _, codes = distinct(y)
        return np.bincount(codes, weight)

    def n_samples(self, state: Gathered) -> int:
        """Return the number of samples."""
        return sum(len(weight) for _, _, weight in state.chunks)

    def widened(self, state: Gathered, n_features: int) -> tuple[Gather, Gathered]:
        """Return the pass and samples with more features, which are 0 so far."""
        return self, replace(state, n_features=n_features)

    def samples(self, state: Gathered) -> tuple[Any, Any, np.ndarray]:
        """Return all samples, what was learned beside them, and their weights."""
        every, y, w = zip(*state.chunks, strict=True)
        weight: np.ndarray = np.concatenate(w)
        X = stacked([widened(x, state.n_features) for x in every])
        if sparse.issparse(X):
            X.sum_duplicates()  # since entries are squared; the rows are a copy
        if self.half_life is not None:
            weight = weight * 0.5 ** (np.arange(len(weight))[::-1] / self.half_life)
        return X, np.concatenate(y) if self.numeric else joined(list(y)), weight


@dataclass(frozen=True)
class Gathered:
    """Samples that come in chunks (X, y, weight)."""

    n_features: int
    chunks: list[tuple[Any, Any, np.ndarray]] = field(default_factory=list)

    def check_targets(self, y: np.ndarray) -> None:
        """Raise ValueError where there are other targets than before."""
        if self.chunks and self.chunks[0][1].shape[1] != y.shape[1]:
            raise ValueError(
                f"expected {self.chunks[0][1].shape[1]} targets as before, got {y.shape[1]}. "
                "Give all samples the same targets."
            )


def aligned(state: list[Moments]) -> list[Moments]:
    """Return the moments of folds with the classes of all of them."""
    if state[0].is_numeric:
        return state
    every = reduce(union, (each.classes for each in state))
    return [each.with_labels(every) for each in state]


def check_one_map(a: Any, b: Any) -> None:
    """Raise ValueError where two maps differ."""
    mine, theirs = (({} if each is None else to_arrays(each)) for each in (a, b))
    if mine.keys() != theirs.keys() or any(
        not np.array_equal(mine[name], theirs[name]) for name in mine
    ):
        problem = "expected moments with one map to add up, got two maps."
        raise AdvisedError(f"{problem} Each fit decides on its own map.", ONE_MAP)


def total(state: list[Moments]) -> Moments:
    """Return the moments of all folds; of one fold, or of a Newton step, those of its classes."""
    first, *more = state
    return Moments.summed(state) if more and more[0].is_numeric == first.is_numeric else first


# -- plans -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """The passes over all samples, and how more are learned after them.

    Parameters
    ----------
    passes : tuple of Pass, Gather or InOrder
        One after the other.
    map_of : callable, optional
        It returns the map of the second pass, of the moments of the first.
    map_kind : type, optional
        Of that map.
    goes_on : InOrder, optional
        By which more samples are learned, if not by the last pass.
    """

    passes: tuple[Any, ...]
    map_of: Callable[[Any], Any] | None = None
    map_kind: type | None = None
    goes_on: Any = None

    @property
    def show_nan(self) -> bool:
        """Whether sums show NaN and infinity, so that samples need not be read for them before."""
        return len(self.passes) == 1 and bool(self.passes[0].shows_nan)


AddUp = Callable[[Any], tuple[Any, Any]]


def learn(plan: Plan, add_up: AddUp) -> tuple[Any, Any]:
    """Return the pass by which more samples can be added, and the state of all of a plan.

    `add_up` returns the state of all samples after a pass, and the pass, which may have been made
    for fewer features than there turn out to be.
    """
    step, *later = plan.passes
    step, state = add_up(step)
    for each in later:
        step, state = add_up(each.after(state, plan.map_of))
    return plan.goes_on or step, state


def at_hand(X: Any, y: Any, weight: Any) -> AddUp:
    """Return how to add up samples in memory."""
    return lambda step: (step, step.add(step.empty(X.shape[1]), X, y, weight))
