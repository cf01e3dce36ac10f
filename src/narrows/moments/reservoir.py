"""A few of the samples themselves, for questions that sums do not answer, such as held-out ones.

Those with the smallest hashes are kept. So which ones does not depend on batches, order or merging.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from narrows.solve.codec import MOST, SAMPLES, SchemaError, Sizes, from_arrays, taken, to_arrays
from narrows.solve.sums import stacked, widened

EVERY = MOST  # samples to keep: all
_WIDEST = 2**31 - 1  # features
_LAST = np.uint64(2**64 - 1)


class KeptSamples(NamedTuple):
    """Some samples, in the order of their hashes."""

    X: Annotated[Any, SAMPLES, "q w", ""]  # ndarray or csr_array, float64
    code: Annotated[np.ndarray, "i8 <c", "q"]  # the number of the class of each; 0 for numbers
    weight: Annotated[np.ndarray, "f8", "q"]
    keys: Annotated[np.ndarray, "u8", "q"]
    # the number of each in the stream that its moments learned
    when: Annotated[np.ndarray, "i8 whole", "q"]
    Y: Annotated[np.ndarray | None, "f8", "q t"] = None  # numeric targets

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where samples are not in the order of their hashes and classes."""
        same = self.keys[1:] == self.keys[:-1]
        if not ((self.keys[1:] > self.keys[:-1]) | (same & (self.code[1:] > self.code[:-1]))).all():
            raise SchemaError("kept_keys: expected samples in their order, got others.")
        if self.Y is not None and self.code.any():
            raise SchemaError("kept_code: expected 0 for numeric targets, got others.")


class Reservoir:
    """The samples with the smallest hashes, of those that were learned.

    All samples with a hash of at most `bound` are kept; those that are equal, of one class, count
    as one of more weight. Its arrays never change: they are replaced.

    Parameters
    ----------
    n_features : int
        The number of features.
    most : int
        The number of samples to keep; with 0, there are none.
    n_targets : int, optional
        The number of numeric targets.
    """

    def __init__(self, n_features: int, most: int, n_targets: int | None = None):
        self.most, self.bound = most, _LAST
        none, Y = np.empty(0, np.int64), None if n_targets is None else np.empty((0, n_targets))
        X, keys = np.empty((0, n_features)), np.empty(0, np.uint64)
        # those that are kept, and others, which still have to be sorted in; replaced together
        self._held: tuple[KeptSamples, ...] = (KeptSamples(X, none, np.empty(0), keys, none, Y),)

    @property
    def samples(self) -> KeptSamples:
        """The samples that are kept, in the order of their hashes."""
        if len(self._held) > 1:
            self._settle()
        return self._held[0]

    @property
    def width(self) -> int:
        """The number of features of the samples that are kept."""
        return self._held[0].X.shape[1]

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(array.nbytes for array in self.to_arrays("").values())

    # -- changing it in place -----------------------------------------------------------------

    def add(
        self, X: Any, keys: np.ndarray, when: np.ndarray, T: Any, Y: np.ndarray | None = None
    ) -> None:
        """Add samples, in place.

        Parameters
        ----------
        X : {ndarray, csr_array} of shape (n_samples, n_features)
            The samples.
        keys, when : ndarray of shape (n_samples,)
            Their hashes, and their numbers in the stream.
        T : csr_array of shape (n_samples, n_classes)
            Their weights in all classes; of one column for numbers.
        Y : ndarray of shape (n_samples, n_targets), optional
            The numbers.
        """
        if not self.most:
            return
        T = sparse.coo_array(T)
        row, column = T.coords
        counted = T.data > 0
        row, column, weight = row[counted], column[counted], T.data[counted]
        keys = keys[row]
        some = np.flatnonzero(keys <= self.bound)
        if not len(some):
            return
        if len(some) > self.most:
            ordered = np.sort(keys[some])
            distinct = ordered[np.append(True, ordered[1:] != ordered[:-1])]
            some = np.flatnonzero(keys <= distinct[: self.most][-1])
        row = row[some]
        Y = None if Y is None else Y[row]
        X = X[row].astype(np.float64)
        self._take(
            KeptSamples(X, column[some].astype(np.int64), weight[some], keys[some], when[row], Y)
        )

    def merge(self, other: Self, sign: float, row: np.ndarray) -> None:
        """Add `sign` times the weights of others, in place; their class j is number row[j]."""
        if not self.most:
            return
        self.bound, theirs = min(self.bound, other.bound), other.samples
        when = theirs.when if sign > 0 else np.full_like(theirs.when, MOST)
        weight, code = sign * theirs.weight, row[theirs.code]
        self._take(theirs._replace(code=code, weight=weight, when=when))

    def _take(self, more: KeptSamples) -> None:
        """Keep the samples of least hash, of those kept and these; sorting can wait."""
        self._held = *self._held, more
        if sum(len(each.keys) for each in self._held[1:]) > self.most // 2:
            self._settle()

    def _settle(self) -> None:
        """Sort the samples by their hashes, and keep the first ones."""
        every = [each for each in self._held if len(each.keys)] or [self._held[0]]
        X = stacked([each.X for each in every])
        code, weight, keys, when = (np.concatenate([s[k] for s in every]) for k in range(1, 5))
        Y = None if every[0].Y is None else np.concatenate([s.Y for s in every if s.Y is not None])
        order = np.lexsort((code, keys))
        code, weight, keys, when = code[order], weight[order], keys[order], when[order]
        new = np.append(True, (keys[1:] != keys[:-1]) | (code[1:] != code[:-1]))[: len(keys)]
        number = np.cumsum(new) - 1
        code, keys, order = code[new], keys[new], order[new]
        weight = np.bincount(number, weight, len(keys)).astype(np.float64)
        first = np.full(len(keys), MOST)
        np.minimum.at(first, number, when)
        kept = (keys <= self.bound) & (weight > 1e-12 * np.abs(weight).max(initial=0.0))
        if kept.sum() > self.most:
            self.bound = keys[kept][self.most - 1]
            kept &= keys <= self.bound
        at = order[kept]
        Y = None if Y is None else Y[at]
        self._held = (KeptSamples(X[at], code[kept], weight[kept], keys[kept], first[kept], Y),)

    def forget(self, gone: np.ndarray) -> None:
        """Remove the samples of classes that are gone, in place."""
        left = ~gone[self.samples.code]
        if not left.all():
            some: Any = (None if each is None else each[left] for each in self.samples)
            self._held = (KeptSamples(*some),)

    # -- others made of it --------------------------------------------------------------------

    def scaled(self, factor: float) -> Self:
        """Return the samples with weights times a number."""
        return self.with_samples(weight=self.samples.weight * factor)

    def later(self, n: int) -> Self:
        """Return the samples as those that were learned after n others."""
        return self.with_samples(when=np.minimum(self.samples.when + max(0, n), MOST))

    def renumbered(self, when: np.ndarray) -> Self:
        """Return the samples with other numbers in their stream: that of sample i is when[i]."""
        return self.with_samples(when=when[self.samples.when])

    def regrouped(self, row: np.ndarray) -> Self:
        """Return the samples with other numbers of their classes: that of class j is row[j]."""
        new = self.with_samples(code=row[self.samples.code])
        if (row[1:] <= row[:-1]).any():  # samples of one hash are in the order of their classes
            new._settle()
        return new

    def widened(self, n_features: int) -> Self:
        """Return the samples with more features, which are 0."""
        return self.with_samples(X=widened(self.samples.X, n_features))

    def with_samples(self, **changed: Any) -> Self:
        """Return a reservoir of the same samples with other arrays, such as ``weight=``."""
        new = object.__new__(type(self))
        new.most, new.bound = self.most, self.bound
        new._held = (self.samples._replace(**changed),)
        return new

    # -- storage ------------------------------------------------------------------------------

    def to_arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return it as arrays whose names begin with `name`."""
        if not self.most:
            return {}
        numbers = {"": self.most, "_bound": self.bound, "_width": self.width}
        arrays = {f"{name}{end}": np.array(number) for end, number in numbers.items()}
        return arrays | to_arrays(self.samples, f"{name}_")

    @classmethod
    def read_from(
        cls, arrays: dict[str, np.ndarray], name: str, shape: tuple[str, ...], sizes: Sizes
    ) -> Self:
        """Return the reservoir of `to_arrays`, of "c" classes."""
        if name not in arrays:
            return cls(0, 0)
        own = {"c": sizes["c"], "w": int(taken(arrays, f"{name}_width", ("i8",)))}
        new = cls(0, int(taken(arrays, name, ("i8",), (), own, ("whole", ">0"))))
        new.bound = np.uint64(taken(arrays, f"{name}_bound", ("u8",)))
        if not 0 <= own["w"] <= _WIDEST:
            raise SchemaError(f"{name}_width: expected a number of features, got {own['w']}.")
        new._held = (from_arrays(KeptSamples, arrays, own, f"{name}_"),)
        return new
