"""The protocol of second moments of the features: what methods need beside sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from narrows.moments.table import Table
from narrows.solve.devices import in_memory
from narrows.solve.sums import check_finite


class Second:
    """Sums over samples of products of their features, about the origin of `Moments`.

    A subclass with a ``kind`` of its own is a new second moment, which ``Moments(second=kind)``
    has. Its attributes are arrays whose last axis is that of the features, and instances of
    `Table`, declared as those of `narrows.solve.codec`.

    `make_room`, `add`, `merge`, `forget` and `empty` change it in place; the other methods return
    new ones, which share no array with it that these write to.

    Attributes
    ----------
    kinds : dict of str or None to type
        All second moments.
    table : Table or None
        Sums of squares, if it has any. `Moments` adds to them in the pass in which it sums the
        samples; `add` adds all else.
    """

    kind: ClassVar[str | None]
    kinds: ClassVar[dict[str | None, type[Second]]] = {}
    table: Table | None

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            Second.kinds[cls.kind] = cls

    @classmethod
    def zeros(cls, n_classes: int, n_features: int) -> Self:
        """Return that of no samples."""
        raise NotImplementedError

    # -- learning -----------------------------------------------------------------------------

    def table_row(self, n_classes: int) -> np.ndarray:
        """Return the row of `table` that the samples of each class add to."""
        return np.zeros(n_classes, np.intp)

    def make_room(self, n: int) -> None:
        """Do, before n samples are added, what can be done while signals are not held back."""
        if self.table is not None:
            self.table.sort_in()

    def add(self, X: Any, T: sparse.csr_array, weight: np.ndarray, origin: Any) -> None:
        """Add samples, less the origin if there is one, in place; but not their squares to `table`.

        T has the weights of each sample by class, and `weight` their sums.
        """

    def shared(self) -> Self:
        """Return one with the same arrays, which can be given others."""
        return self._each(shallow, lambda array: array)

    # -- arithmetic ---------------------------------------------------------------------------

    def merge(self, other: Any, sign: float, row: np.ndarray) -> None:
        """Add `sign` times another one, in place; its class j has the number row[j] here."""
        for name, mine in vars(self).items():
            theirs = getattr(other, name)
            if isinstance(mine, Table):
                mine.add(row if mine.shape[0] > 1 else np.arange(mine.shape[0]), theirs, sign)
            else:
                mine += sign * theirs

    def about(self, shift: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> Self:
        """Return that of the samples plus a shift.

        Before it, the samples of the classes have these weights and sums, about the origin.
        """
        raise NotImplementedError

    def scaled(self, factor: float) -> Self:
        """Return that of samples with weights times a number."""
        return self._each(lambda table: table.scaled(factor), lambda array: array * factor)

    def widened(self, n_features: int) -> Self:
        """Return that of samples with more features, which are 0."""
        return self._each(
            lambda t: t.spread(np.arange(t.shape[0]), (t.shape[0], n_features)),
            lambda a: np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, n_features - a.shape[-1])]),
        )

    def regrouped(self, row: np.ndarray, n_classes: int) -> Self:
        """Return that of so many classes, of which class j here is number row[j]."""
        return self

    def settled(self) -> Self:
        """Return that of the same samples, without the samples themselves."""
        return self

    def forget(self, gone: np.ndarray) -> None:
        """Remove the rounding that is left of classes without weight, in place."""
        if gone.all():
            for value in vars(self).values():
                if isinstance(value, Table):
                    value.clear(np.arange(value.shape[0]))
                else:
                    value[:] = 0.0

    def empty(self, features: np.ndarray) -> None:
        """Let all samples be at the origin in some features, in place."""
        for value in vars(self).values():
            if isinstance(value, Table):
                value.empty(features)
            else:
                value[..., features] = 0.0

    # -- reading ------------------------------------------------------------------------------

    @property
    def squares(self) -> np.ndarray:
        """The sums of squares of the features, of shape (n_features,)."""
        raise NotImplementedError

    def mean_squares(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the mean squares of the features under priors p of classes of such weights."""
        n = float(counts.sum())
        if not np.allclose(p * n, counts, rtol=1e-12, atol=0):
            raise not_enough(self.kind)
        return self.squares * (1 / (n or 1.0))

    @property
    def by_class(self) -> np.ndarray:
        """The sums of squares, of each class if there are such."""
        return self.squares

    @property
    def n_waiting(self) -> int:
        """How many samples it has as they are."""
        return 0

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        return sum(value.nbytes for value in vars(self).values())

    def check_finite(self) -> None:
        """Raise RangeError where a number is infinite."""
        for value in vars(self).values():
            if isinstance(value, Table):
                value.check_finite()
            else:
                check_finite(value)

    def _each(
        self, of_table: Callable[[Table], Table], of_array: Callable[[np.ndarray], np.ndarray]
    ) -> Self:
        new = shallow(self)
        for name, value in vars(self).items():
            changed: Any = of_table(value) if isinstance(value, Table) else of_array(value)
            setattr(new, name, changed)
        return new


class Nothing(Second):
    """No second moments."""

    kind = None
    table = None

    @classmethod
    def zeros(cls, n_classes: int, n_features: int) -> Self:
        """Return that of no samples."""
        return cls()

    def about(self, shift: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> Self:
        """Return that of the samples plus a shift."""
        return self

    @property
    def squares(self) -> np.ndarray:
        """Raise ValueError."""
        raise not_enough(None)


def shallow(item: Any) -> Any:
    """Return an object of the same class with the same attributes."""
    new = object.__new__(type(item))
    vars(new).update(vars(item))
    return new


def about_origin(X: Any, origin: np.ndarray | None) -> Any:
    """Return a copy of samples about the origin, in double precision; sparse ones are about 0."""
    if sparse.issparse(X):
        return X
    X = in_memory(X)
    return X.astype(np.float64) if origin is None else X - origin


def ratio(a: Any, b: np.ndarray) -> np.ndarray:
    """Return a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(len(b)), where=b > 0)


def not_enough(second: str | None) -> ValueError:
    """Return the error of variances that second moments do not determine."""
    return ValueError(
        f"expected sums of squares for variances with these priors, got "
        f'second={second!r}. Use second="class" ("total" is enough for empirical priors).'
    )
