"""A state in folds: each sample goes to one of K states, which add up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from scipy import sparse

from narrows.moments.batch import ToKeep
from narrows.moments.labels import union
from narrows.moments.state import Second, State
from narrows.solve.errors import ParameterError
from narrows.solve.schema import COUNT, LABELS, Field, SchemaError, between, checked
from narrows.solve.undo import Undo

_MOST = 1000  # folds
_OF_ALL = ("_classes", "_counts", "_registered", "n_samples")  # of all folds
_SUMMED = ("_origin", "_placed", "_moments")  # which cost more
_SCHEMA = {
    "folds": Field("i8", (), between(2, _MOST)),
    "next": Field("i8", (), COUNT),
    "classes": LABELS,
}


class Folds(State):
    """A state that is the sum of K others, or one without folds; see `ClassStats`.

    With folds, what is read of all samples is summed when it is needed, and forgotten when a fold
    changes.
    """

    folds: int | None

    def __init__(
        self,
        n_features: int,
        *,
        second: Second = None,
        presence: bool = False,
        kept: int = 0,
        folds: int | None = None,
    ):
        super().__init__(n_features, second=second, presence=presence, kept=kept)
        whole = isinstance(folds, int | np.integer) and not isinstance(folds, bool)
        if folds is not None and not (whole and 2 <= folds <= _MOST):
            raise ParameterError(
                f"ClassStats: expected folds to be an integer from 2 to {_MOST:,} or None, got "
                f"{folds!r}."
            )
        self.folds = None if folds is None else int(folds)
        self._next = 0  # the number of the next sample
        self._parts: tuple[Self, ...] = ()
        if folds is not None:
            kind: Any = type(self)
            parts = (kind(n_features, second=second, presence=presence, kept=kept),) * int(folds)
            self._parts = tuple(part.copy() for part in parts)
            self._drop_sum()

    def fold(self, k: int) -> Self:
        """Return the state of the samples of a fold.

        Parameters
        ----------
        k : int
            From 0 to `folds` - 1.

        Returns
        -------
        stats : ClassStats
            Without folds; a copy. Classes of which the fold has no sample have weight 0.

        Raises
        ------
        ValueError
            The state has no fold of this number.

        See Also
        --------
        of : Return the state of samples.
        """
        if not 0 <= k < len(self._parts):
            raise ValueError(
                f"ClassStats: expected the number of one of {len(self._parts)} folds, got {k}. "
                "Make the state with folds=K, and number them from 0 to K - 1."
            )
        part = self._parts[k].copy()
        part._grow(self._classes)
        return part

    def without(self, k: int) -> Self:
        """Return the state of the samples of all folds but one, without folds."""
        return type(self).summed(part for i, part in enumerate(self._parts) if i != k)

    def count_from(self, first: int) -> Self:
        """Give the next sample this number, which decides on its fold; in place."""
        self._next = int(first)
        return self

    # -- all folds together ---------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        """Return what is read of all folds together, which is computed when it is needed."""
        parts = vars(self).get("_parts")
        if not parts or name not in (*_OF_ALL, *_SUMMED):
            raise AttributeError(f"ClassStats has no attribute {name!r}.")
        if name in _OF_ALL:
            classes = parts[0]._classes
            for part in parts[1:]:
                classes = union(classes, part._classes)
            counts, registered = np.zeros(len(classes)), np.zeros(len(classes), dtype=bool)
            for part in parts:
                row = np.searchsorted(classes, part._classes)
                counts[row] += part._counts
                registered[row] |= part._registered
            n_samples = sum(part.n_samples for part in parts)
            found: tuple[Any, ...] = classes, counts, registered, n_samples
            vars(self).update(zip(_OF_ALL, found, strict=True))
        else:
            whole = type(self).summed(parts)
            vars(self).update({each: getattr(whole, each) for each in (*_OF_ALL, *_SUMMED)})
        return vars(self)[name]

    def _drop_sum(self) -> None:
        """Forget what was read of all folds together, after one has changed."""
        for name in (*_OF_ALL, *_SUMMED):
            vars(self).pop(name, None)

    def _by_fold(self, change: Callable[[Self], Self]) -> Self:
        """Return a state of the same samples, with other folds."""
        new = object.__new__(type(self))
        vars(new).update({k: v for k, v in vars(self).items() if k not in (*_OF_ALL, *_SUMMED)})
        new._parts = tuple(change(part) for part in self._parts)
        return new

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self._parts[0].n_features if self._parts else super().n_features

    @property
    def nbytes(self) -> int:
        """The bytes of the moments."""
        if self._parts:
            return sum(part.nbytes for part in self._parts)
        return super().nbytes

    def middle(self) -> int:
        """Return the feature that has about half of the bytes of the state before it.

        0 if the state cannot be cut there, since it holds products of features.
        """
        return self._parts[0].middle() if self._parts else super().middle()

    # -- learning -------------------------------------------------------------------------------

    def add_samples(
        self,
        X: Any,
        classes: np.ndarray,
        Y: sparse.csr_array,
        to_keep: ToKeep | None = None,
        in_place: bool = False,
        undo: Undo | None = None,
    ) -> Self:
        """Add checked samples, of what `indicator` makes of their labels, in place; see `Batch`."""
        if not self._parts:
            return super().add_samples(X, classes, Y, to_keep, in_place, undo)
        self._check_weight(float(Y.sum()))
        n, noted = X.shape[0], undo or Undo()
        noted.attributes(self)

        def add() -> None:
            for k, part in enumerate(self._parts):
                some = slice((k - self._next) % len(self._parts), n, len(self._parts))
                if some.start >= n:
                    continue
                kept = to_keep and ToKeep(*(each[some] for each in to_keep))
                part.add_samples(_rows(X, some), classes, Y[some], kept, in_place, noted)
            self._next += n
            self._drop_sum()

        noted.guard(add)
        return self

    def register(self, classes: np.ndarray) -> None:
        """Note distinct labels, sorted, as classes to come, in place."""
        if not self._parts:
            super().register(classes)
            return
        first = self._parts[0].copy()
        first.register(classes)
        self._parts = first, *self._parts[1:]
        self._drop_sum()

    # -- adding up ------------------------------------------------------------------------------

    def emptied(self) -> Self:
        """Return an empty state of the same kind, whose first sample has the next number."""
        if not self._parts:
            return super().emptied()
        return self._by_fold(lambda part: part.emptied())

    def reduced(self, second: Any) -> Self:
        """Return a copy that holds only these second moments; "class" may become "total"."""
        if not self._parts:
            return super().reduced(second)
        new = self._by_fold(lambda part: part.reduced(second))
        new.second, new.kept = second, new._parts[0].kept
        return new

    def _scaled(self, weight: float) -> Self:
        if not self._parts:
            return super()._scaled(weight)
        new = self._by_fold(lambda part: part._scaled(weight))
        if weight > 1:
            new._check_weight(0.0)
        return new

    def _accumulate(self, other: Self, sign: float = 1.0) -> Self:
        if not getattr(self, "_parts", ()):
            return super()._accumulate(other, sign)
        self._check_kind(other)
        self._check_weight(other.n if sign > 0 else 0.0)
        if sign < 0:
            self._check_enough(other)
            self._check_folds(other)
        for part, more in zip(self._parts, other._parts, strict=True):
            part._accumulate(more, sign)
        if sign > 0:
            self._next += max(0, other.n_samples)
        self._drop_sum()
        return self

    def _check_folds(self, other: Self) -> None:
        """Raise where more than the weight of a class would be subtracted from a fold."""
        for part, more in zip(self._parts, other._parts, strict=True):
            try:
                part._check_enough(more)
            except ValueError:
                raise ValueError(
                    "ClassStats: expected samples to subtract that are in the same folds, got "
                    "others. Subtract states of samples that had the same numbers modulo folds="
                    f"{self.folds}, or use states without folds."
                ) from None

    def _later(self, first: int) -> Self:
        if not self._parts:
            return super()._later(first)
        return self._by_fold(lambda part: part._later(first))

    def _clear(self, row: np.ndarray) -> None:
        if not self._parts:
            super()._clear(row)
            return
        for part in self._parts:
            part._clear(np.flatnonzero(np.isin(part._classes, self._classes[row])))
        self._drop_sum()

    def _become(self, other: Self) -> Self:
        if self._parts:
            self._drop_sum()
        return super()._become(other)

    # -- features -------------------------------------------------------------------------------

    def widen(self, n_features: int) -> Self:
        """Return the same state with more features; the new ones are zero.

        Parameters
        ----------
        n_features : int
            The new number of features, at least the present one.

        See Also
        --------
        cut : Return the state of some neighbouring features.
        """
        if not self._parts:
            return super().widen(n_features)
        return self._by_fold(lambda part: part.widen(n_features))

    def cut(self, columns: slice) -> Self:
        """Return the state of some neighbouring features of the same samples."""
        if not self._parts:
            return super().cut(columns)
        return self._by_fold(lambda part: part.cut(columns))

    def _joined(self, parts: list[Self], in_memory: bool) -> Self:
        if not self._parts:
            return super()._joined(parts, in_memory)
        new = self._by_fold(lambda part: part)
        each_fold = zip(*(part._parts for part in parts), strict=True)
        new._parts = tuple(fold[0]._joined(list(fold), in_memory) for fold in each_fold)
        return new

    # -- storage --------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the state as named arrays, for `from_arrays`; numbers keep all bits."""
        if not self._parts:
            return super().to_arrays()
        arrays = {
            "folds": np.array(self.folds),
            "next": np.array(self._next),
            "classes": self.classes,
        }
        for k, part in enumerate(self._parts):
            own = part.to_arrays()
            own["classes"] = np.searchsorted(self._classes, part._classes)
            arrays |= {f"fold{k}_{name}": array for name, array in own.items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], kept_width: int | None = None) -> Self:
        """Return the state that `to_arrays` described.

        `kept_width` is the number of features of kept samples, if not that of the state.
        """
        if "folds" not in arrays:
            return super().from_arrays(arrays, kept_width)
        checked(arrays, _SCHEMA)
        classes, parts = np.array(arrays["classes"]), []
        for k in range(int(arrays["folds"])):
            start = f"fold{k}_"
            own = {name[len(start) :]: a for name, a in arrays.items() if name.startswith(start)}
            part = super().from_arrays(own, kept_width)
            if part._classes.dtype.kind != "i" or not _are_numbers(part._classes, len(classes)):
                raise SchemaError(f"{start}classes: expected numbers of classes, got others.")
            part._classes = classes[part._classes]
            parts.append(part)
        first = parts[0]
        kind = first.n_features, first.second, first.presence, first.kept
        if any((p.n_features, p.second, p.presence, p.kept) != kind for p in parts):
            raise SchemaError("folds: expected states of one kind, got others.")
        new = cls(0, second=first.second, presence=first.presence, folds=len(parts))
        new.kept, new._next, new._parts = first.kept, int(arrays["next"]), tuple(parts)
        return new


def _are_numbers(codes: np.ndarray, n: int) -> bool:
    """Whether these are numbers of n classes, in order."""
    return not len(codes) or bool(codes[0] >= 0 and codes[-1] < n)


def _rows(X: Any, some: slice) -> Any:
    """Return some samples; dense ones in one piece, which several moments read."""
    return X[some] if sparse.issparse(X) else np.ascontiguousarray(X[some])
