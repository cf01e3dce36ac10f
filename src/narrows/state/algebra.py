"""States add up: merging, subtracting and scaling, with the origin near most of the weight."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, Self

import numpy as np

from narrows.errors import RangeError
from narrows.state.folds import FAINT, GONE
from narrows.state.labels import union
from narrows.state.origin import Moments, Origin, about, is_far
from narrows.state.readings import Readings
from narrows.state.squares import warn_of_lost_digits
from narrows.solve.sums import HUGE

_MISSING = 1e-9  # of a weight: a subtraction of more than this in excess is not rounding


class Algebra(Readings):
    """The part of `ClassStats` that adds, subtracts and scales states."""

    n_samples: int
    kept: int
    folds: int | None
    _placed: float  # the total weight when the mean was last compared with the origin

    def copy(self) -> Self:
        """Return a state that shares no array with this one."""
        return self._scaled(1.0)

    def emptied(self) -> Self:
        """Return an empty state of the same kind."""
        kind: Any = type(self)
        empty: Self = kind(
            self.n_features,
            second=self.second,
            presence=self.presence,
            kept=self.kept,
            folds=self.folds,
        )
        if self.folds is not None:
            of_all = self._moments["folds"]
            empty._moments["folds"].count_from(of_all.first + of_all.added)
        return empty

    def reduced(self, second: Any, folds: bool = True) -> Self:
        """Return a copy that holds only these second moments; "class" may become "total".

        Without `folds`, it is one without folds.
        """
        if self.folds is not None and not folds:
            return self._of_moments({name: self._of_all(name) for name in self._names}).reduced(
                second
            )
        if second == self.second:
            return self.copy()
        if not self.has(second):
            raise ValueError(
                f"ClassStats: expected second moments that follow from second={self.second!r}, "
                f"got {second!r}."
            )
        if self.folds is None:
            moments = _with_total(self._moments, second)
        else:
            each = self._moments["folds"]
            moments = {"folds": each.of_parts([_with_total(part, second) for part in each.parts])}
        new = self._with(moments, self._origin)
        new.second, new.kept = second, 0
        return new

    def __add__(self, other: Self) -> Self:
        return self.copy()._accumulate(other)

    @classmethod
    def summed(cls, states: Iterable[Self]) -> Self:
        """Return the sum of at least one state, as one that shares nothing with them."""
        first, *others = states
        new = first.copy()
        for other in others:
            new._accumulate(other)
        return new

    def __radd__(self, other: Any) -> Self:
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def __iadd__(self, other: Self) -> Self:
        return self._become(self + other)

    def __sub__(self, other: Self) -> Self:
        return self.copy()._accumulate(other, -1.0)

    def __isub__(self, other: Self) -> Self:
        return self._become(self - other)

    def __mul__(self, weight: Any) -> Self:
        if not (isinstance(weight, Real) and 0 <= float(weight) < np.inf):
            raise ValueError(
                f"ClassStats: expected a factor that is a number >= 0, got {weight!r}. "
                "Use a - b to subtract samples."
            )
        return self._scaled(float(weight))

    __rmul__ = __mul__

    def fade(self, weight: float, fresh: Self) -> Self:
        """Scale all weights, add a state, and return self: `weight * self + fresh`, in place.

        A class of less than 1e-12 of the total weight is dropped: its weight becomes 0.
        """
        new = self._scaled(weight)
        new._accumulate(fresh._later(self.n_samples))
        new._clear(np.flatnonzero(new._counts < GONE * new.n))
        return self._become(new)

    def _later(self, first: int) -> Self:
        """Return a state of samples that were learned after so many others."""
        if not self.kept:
            return self
        name = "kept" if self.folds is None else "folds"
        return self._with(self._moments | {name: self._moments[name].later(first)}, self._origin)

    def _scaled(self, weight: float) -> Self:
        with np.errstate(over="ignore"):  # checked next
            new = self._with(self._each(lambda moment: moment.scaled(weight)), self._origin)
            new._counts = self._counts * weight
        new._recount()
        new._placed = self._placed * weight
        if weight > 1:
            new._check_weight(0.0)
            for moment in new._moments.values():
                moment.check_finite()
        elif weight < 1:
            new._clear(np.flatnonzero(new._counts < FAINT))
        return new

    def _accumulate(self, other: Self, sign: float = 1.0) -> Self:
        """Add `sign` times another state in place; where that fails, this one is not usable."""
        self._check_kind(other)
        if sign < 0:
            self._check_enough(other)
        row = self._grow(other._classes)
        if other._registered.any():
            self._registered = self._registered.copy()
            self._registered[row] |= other._registered
        varied = self._varied() if sign < 0 else None
        if other._counts.any():
            if other._origin is None:
                self._move(None)
            elif sign > 0:
                self._place(other.n, lambda: other._origin)
        moments = about(other._moments, other._counts, other._origin, self._origin)
        self._check_weight(other.n if sign > 0 else 0.0)
        weight = self._counts[row]
        for name, moment in self._moments.items():
            moment.add(row, moments[name], sign)
        self._counts[row] = np.maximum(weight + sign * other._counts, 0.0)
        self._recount()
        self.n_samples += int(sign) * other.n_samples
        if sign < 0:
            self._clear(row[self._counts[row] <= GONE * weight])
            if self._origin is not None and self._counts.any():
                self._move(self.mean)  # most of the weight may be elsewhere now
                self._placed = self.n
        if varied is not None and self.n_samples > 1 and self.n:
            self._check_digits(varied, self.n_samples + other.n_samples)
        return self

    def _check_kind(self, other: Self) -> None:
        if not isinstance(other, Algebra):
            raise TypeError(
                f"ClassStats: expected another state, got {type(other).__name__}. "
                "Use ClassStats.of(X, y) to make a state of samples."
            )
        for what in ("n_features", "second", "presence", "kept", "folds"):
            mine, theirs = getattr(self, what), getattr(other, what)
            if mine != theirs:
                raise ValueError(
                    f"ClassStats: expected states of one kind, got {what}={mine!r} and "
                    f"{what}={theirs!r}."
                    + (" Use widen() on the narrower one." if what == "n_features" else "")
                )

    def _check_enough(self, other: Self) -> None:
        """Raise where more than the weight of a class, or of a class in a fold, is subtracted."""
        advice = "Subtract only what was added."
        self._check_weights(self._counts, other, other._counts, "", advice)
        advice = "Give the samples the numbers that they had, by count_from()."
        for k in range(self.folds or 0):
            mine, theirs = (state._moments["folds"].counts[k] for state in (self, other))
            self._check_weights(mine, other, theirs, f" in fold {k}", advice)

    def _check_weights(
        self, mine: np.ndarray, other: Self, theirs: np.ndarray, where: str, advice: str
    ) -> None:
        weights = dict(zip(self._classes.tolist(), mine.tolist(), strict=True))
        for label, count in zip(other._classes.tolist(), theirs.tolist(), strict=True):
            weight = weights.get(label, 0.0)
            if weight - count < -_MISSING * count:
                raise ValueError(
                    f"ClassStats: expected to subtract a weight of at most {weight:g} from class "
                    f"{label!r}{where}, got {count:g}. {advice}"
                )

    def _check_weight(self, more: float) -> None:
        """Raise where the sum of all weights would be infinite."""
        with np.errstate(over="ignore"):
            total = self.n + more
        if not total <= HUGE:
            expected = f"weights of less than {HUGE:.1e} in all"
            raise RangeError(expected, "more", None, "Use smaller weights.")

    def _check_digits(self, varied: np.ndarray, n_samples: int) -> None:
        """Warn where a subtraction from so many samples left too few digits."""
        p = self.priors()
        noise = self._squares().mean_noise(p, self._counts)
        if noise is not None:
            squares = self._mean_squares(p)
            left = np.maximum(squares - self._centre(p) ** 2, 0.0)
            noise = noise * np.sqrt(n_samples)  # single roundings add up like a random walk
            warn_of_lost_digits(varied, squares, left, noise, self._origin is None)

    def _clear(self, row: np.ndarray) -> None:
        """Remove the rounding that is left of classes that are gone."""
        self._counts[row] = 0
        for moment in self._moments.values():
            moment.clear(row, not self._counts.any())
        self._recount()

    def _recount(self) -> None:
        """Make the weights of classes those of the folds, to the bit."""
        if self.folds is not None:
            self._counts = self._moments["folds"].counts.sum(axis=0)

    def _become(self, other: Self) -> Self:
        """Take over another state, which is not used any more, in one step."""
        vars(self).update(vars(other))
        return self

    # -- the origin -------------------------------------------------------------------------

    def _place(self, weight: float, middle: Callable[[], Origin]) -> None:
        """Before samples of so much weight are added, put the origin near most of the weight.

        That is the middle of the samples if they outweigh the state. Otherwise the mean of the
        state is compared with the origin each time the weight has doubled. Raw sums stay raw.
        """
        if not self._counts.any() or (self._origin is not None and weight >= self.n):
            self._move(middle())
        elif self._origin is None or self.n + weight < 2 * self._placed:
            return
        else:
            p = self.priors()
            with np.errstate(over="ignore", invalid="ignore"):
                squares = self._mean_squares(p)
            if is_far(self._centre(p), squares, self._origin):
                self._move(self.mean)
        self._placed = self.n + weight

    def _move(self, origin: Origin) -> None:
        """Measure all from another origin; with None all is raw."""
        self._moments = about(self._moments, self._counts, self._origin, origin)
        self._origin = origin

    # -- inside -----------------------------------------------------------------------------

    def _grow(self, classes: np.ndarray) -> np.ndarray:
        """Add classes, and return the numbers of these; the moments are new ones then."""
        merged = union(self._classes, classes)
        if len(merged) > len(self._classes):
            old = np.searchsorted(merged, self._classes)
            counts, registered = np.zeros(len(merged)), np.zeros(len(merged), dtype=bool)
            counts[old], registered[old] = self._counts, self._registered
            moments = self._each(lambda moment: moment.spread(old, len(merged)))
            self._classes, self._counts, self._moments = merged, counts, moments
            self._registered = registered
        return np.searchsorted(merged, classes)

    def _each(self, change: Callable[[Any], Any]) -> Moments:
        return {name: change(moment) for name, moment in self._moments.items()}

    def _of_moments(self, moments: Moments) -> Self:
        """Return a state without folds that has these moments."""
        new = self._with(moments, self._origin)
        new.folds = None
        return new

    def _with(self, moments: Moments, origin: Origin) -> Self:
        """Return a state of the same samples, with other moments."""
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        new._counts, new._moments, new._origin = self._counts.copy(), moments, origin
        return new


def _with_total(moments: Moments, second: Any) -> Moments:
    """Return copies of class sums, and the squares of all samples unless `second` is None."""
    found = {"sums": moments["sums"].scaled(1.0)}
    if second is not None:
        (total,) = (moment.total() for moment in moments.values() if hasattr(moment, "total"))
        found[total.names[0]] = total
    return found
