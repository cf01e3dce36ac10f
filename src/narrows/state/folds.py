"""Moments by folds: each sample goes to one of K, and the moments of all samples are their sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from narrows.state.batch import Batch, add_all
from narrows.state.moment import Shift
from narrows.state.origin import Moments
from narrows.solve.schema import COUNT, Field, between

GONE = 1e-12  # of its former weight: what a subtraction leaves of a class that is gone
FAINT = 1e-280  # a smaller weight is lost in the rounding of the smallest numbers
OF_ALL = {"classes", "presence", "registered", "origin", "placed"}  # arrays that folds share
MOST_FOLDS = 1000
FOLDS = {
    "folds": Field("i8", (), between(2, MOST_FOLDS)),
    "folds_first": Field("i8", (), COUNT),
    "folds_added": Field("i8", (), COUNT),
}


class Folds:
    """The moments of K folds, in the place of those of a state: sample i is in fold i mod K.

    Folds have the classes and the origin of the state, and their weights add up to its weights.

    Parameters
    ----------
    parts : sequence of dict
        The moments of each fold, by name.
    counts : ndarray of shape (n_folds, n_classes)
        The weight of each class in each fold.
    n_samples : ndarray of shape (n_folds,)
        The number of samples in each fold.
    first, added : int
        The number of the first sample, and how many samples were numbered.
    """

    def __init__(
        self,
        parts: Sequence[Moments],
        counts: np.ndarray,
        n_samples: np.ndarray,
        first: int = 0,
        added: int = 0,
    ):
        self.parts, self.counts, self.n_samples = tuple(parts), counts, n_samples
        self.first, self.added = first, added
        self._sums: Moments = {}  # what was read of all folds together; replaced when they change

    @classmethod
    def of(cls, parts: Sequence[Moments]) -> Self:
        """Return folds of no samples and no classes, with moments that are empty."""
        return cls(parts, np.zeros((len(parts), 0)), np.zeros(len(parts), np.int64))

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.parts[0]["sums"].n_features)

    @property
    def separable(self) -> bool:
        """Whether the features can be in parts, side by side."""
        return all(moment.separable for moment in self.parts[0].values())

    @property
    def nbytes(self) -> int:
        """The bytes of the moments of all folds."""
        return sum(moment.nbytes for part in self.parts for moment in part.values())

    def middle(self) -> int:
        """Return the feature that has about half of the bytes of class sums before it."""
        largest = max(self.parts, key=lambda part: int(part["sums"].nbytes))
        return int(largest["sums"].table.middle())

    # -- reading ------------------------------------------------------------------------------

    def of_all(self, name: str) -> Any:
        """Return a moment of all samples, not to be written to."""
        if name not in self._sums:
            self._sums = self._sums | {name: self._summed([part[name] for part in self.parts])}
        return self._sums[name]

    def total(self) -> Any:
        """Return the squares of all samples, without products, not to be written to."""
        if "total" not in self._sums:
            each = [m.total() for part in self.parts for m in part.values() if hasattr(m, "total")]
            self._sums = self._sums | {"total": self._summed(each)}
        return self._sums["total"]

    def _summed(self, moments: Sequence[Any]) -> Any:
        """Return the sum of moments of folds."""
        first, *others = moments
        found, every = first.scaled(1.0), np.arange(self.counts.shape[1])
        for moment in others:
            found.add(every, moment, 1.0)
        return found

    # -- changing it in place -----------------------------------------------------------------

    def update(self, batch: Batch) -> None:
        """Add samples, each to its fold; `batch.undo` notes what changes."""
        if batch.undo is not None:
            batch.undo.attributes(self)
        n, c, K = batch.X.shape[0], batch.Y.shape[1], len(self.parts)
        at = (self.first + self.added) % K  # the fold of the first sample
        batches = []
        for start in range(min(n, K)):
            batches.append(batch.of_fold(start, K))
            for moment in self.parts[(at + start) % K].values():
                moment.update(batches[-1])
        if batches:
            add_all(batches)
        fold = (at + np.arange(n)) % K
        number = batch.Y.indices + c * np.repeat(fold, np.diff(batch.Y.indptr))
        counts = self.counts.copy()
        counts[:, batch.row] += np.bincount(number, batch.Y.data, c * K).reshape(K, c)
        self.counts = counts
        self.n_samples = self.n_samples + np.bincount(fold, minlength=K)
        self.added += n
        self._sums = {}

    def add(self, row: np.ndarray, other: Self, sign: float) -> None:
        """Add `sign` times folds about the same origin; their class j has the number row[j]."""
        before = self.counts[:, row]
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            for name, moment in mine.items():
                moment.add(row, theirs[name], sign)
        self.counts = self.counts.copy()
        self.counts[:, row] = np.maximum(before + sign * other.counts, 0.0)
        self.n_samples = self.n_samples + int(sign) * other.n_samples
        if sign > 0:
            numbered = [folds.first for folds in (self, other) if folds.added]
            self.first = min(numbered or (self.first, other.first))
            self.added += other.added
        else:
            self._clear([row[gone] for gone in self.counts[:, row] <= GONE * before])
        self._sums = {}

    def clear(self, row: np.ndarray, empty: bool) -> None:
        """Remove the rounding that is left of classes, or of all where the state is empty."""
        self._clear([row] * len(self.parts))

    def _clear(self, rows: Sequence[np.ndarray]) -> None:
        """Remove what is left of some classes of each fold."""
        self.counts = self.counts.copy()
        for part, counts, row in zip(self.parts, self.counts, rows, strict=True):
            counts[row] = 0
            for moment in part.values():
                moment.clear(row, not counts.any())
        self._sums = {}

    def count_from(self, first: int) -> None:
        """Give the next sample this number."""
        first -= self.added
        self.first = first if first >= 0 else first % len(self.parts)

    # -- others made of it --------------------------------------------------------------------

    def chosen(self, k: Sequence[int]) -> tuple[Moments, np.ndarray, int]:
        """Return the moments, the weights of classes and the number of samples of some folds."""
        moments = {name: self._summed([self.parts[i][name] for i in k]) for name in self.parts[0]}
        return moments, self.counts[k].sum(axis=0), int(self.n_samples[k].sum())

    def moved(self, delta: np.ndarray) -> Self:
        """Return the folds about another origin, `delta` before the old one."""
        shifts = [Shift.of(*of, delta) for of in zip(self.parts, self.counts, strict=True)]
        return self.of_parts(
            [
                {name: moment.shifted(shift) for name, moment in part.items()}
                for part, shift in zip(self.parts, shifts, strict=True)
            ]
        )

    def scaled(self, weight: float) -> Self:
        """Return the folds times a number."""
        new = self._each(lambda moment: moment.scaled(weight))
        new.counts = self.counts * weight
        if weight < 1:
            new._clear([np.flatnonzero(counts < FAINT) for counts in new.counts])
        return new

    def later(self, first: int) -> Self:
        """Return the folds as those of samples that were learned after so many others."""
        return self._each(lambda moment: moment.later(first) if "kept" in moment.names else moment)

    def spread(self, row: np.ndarray, n_classes: int) -> Self:
        """Return the folds with more classes; class j has the number row[j]."""
        new = self._each(lambda moment: moment.spread(row, n_classes))
        new.counts = np.zeros((len(self.parts), n_classes))
        new.counts[:, row] = self.counts
        return new

    def widened(self, n_features: int) -> Self:
        """Return the folds with more features, which are 0."""
        return self._each(lambda moment: moment.widened(n_features))

    def cut(self, columns: slice) -> Self:
        """Return some neighbouring features of the folds."""
        return self._each(lambda moment: moment.cut(columns))

    @classmethod
    def beside(cls, parts: Sequence[Self], in_memory: bool) -> Self:
        """Return the folds of all features; their numbers may be in temporary files."""
        return parts[0].of_parts(
            [
                {
                    name: sides[0][name].beside([s[name] for s in sides], in_memory)
                    for name in sides[0]
                }
                for sides in zip(*(each.parts for each in parts), strict=True)
            ]
        )

    def of_parts(self, parts: Sequence[Moments]) -> Self:
        """Return the folds with other moments of the same samples."""
        return type(self)(parts, self.counts, self.n_samples, self.first, self.added)

    def _each(self, change: Callable[[Any], Any]) -> Self:
        return self.of_parts([{k: change(m) for k, m in part.items()} for part in self.parts])

    def check_finite(self) -> None:
        """Raise RangeError where a number is infinite."""
        for part in self.parts:
            for moment in part.values():
                moment.check_finite()

    # -- storage ------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the folds as named arrays: those of fold k begin with ``fold{k}_``."""
        arrays = {
            "folds": np.array(len(self.parts)),
            "folds_first": np.array(self.first),
            "folds_added": np.array(self.added),
        }
        for k, part in enumerate(self.parts):
            own = {"counts": self.counts[k], "n_samples": np.array(self.n_samples[k])}
            for moment in part.values():
                own |= moment.to_arrays()
            arrays |= {f"fold{k}_{name}": array for name, array in own.items()}
        return arrays


def of_fold(arrays: Mapping[str, np.ndarray], k: int) -> dict[str, np.ndarray]:
    """Return the arrays of one fold, named as those of a state without folds."""
    start = f"fold{k}_"
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
