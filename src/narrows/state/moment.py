"""What a state is made of: moments, which are sums over labelled samples and add up.

A moment is a class with the public methods of `TableMoment`. A second moment, which is a row in
`stats.SECOND`, also has those of `Squares`. What a method returns shares no array with the moment
that either of them writes to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from narrows.state.batch import Batch
from narrows.state.table import Table
from narrows.solve.schema import Check, Field


class Shift(NamedTuple):
    """A change of the origin.

    Parameters
    ----------
    delta : ndarray of shape (n_features,) or (1,)
        The old origin less the new one.
    first : ndarray of shape (n_classes, n_features)
        N_j delta, which the shift adds to the class sums.
    sums : Table
        The class sums about the old origin.
    """

    delta: np.ndarray
    first: np.ndarray
    sums: Table

    @classmethod
    def of(cls, moments: Mapping[str, Any], counts: np.ndarray, delta: np.ndarray) -> Shift:
        """Return the shift of the moments of classes of these weights."""
        return cls(delta, counts[:, None] * delta, moments["sums"].table)


class TableMoment(ABC):
    """What moments that are tables have in common.

    Parameters
    ----------
    table : Table
        The sums: one row for each class, or one in all.
    noise : Table, optional
        Of the same shape: how far the sums may be off by the rounding of larger ones.

    Attributes
    ----------
    names : tuple of str
        The names of the tables in a file; the first one marks the moment.
    """

    names: ClassVar[tuple[str, ...]]
    of: ClassVar[str] = ""  # in messages
    by_class: ClassVar[bool] = True
    separable: ClassVar[bool] = True  # whether the features can be in parts, side by side

    def __init__(self, table: Table, noise: Table | None = None):
        self.table, self.noise = table, noise

    @classmethod
    def empty(cls, n_features: int) -> Self:
        """Return the moment of no samples and no classes."""
        return cls(Table((0 if cls.by_class else 1, n_features)))

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.table.shape[1]

    @property
    def nbytes(self) -> int:
        """The bytes of the numbers."""
        return sum(array.nbytes for array in self.to_arrays().values())

    # -- changing it in place -----------------------------------------------------------------

    @abstractmethod
    def update(self, batch: Batch) -> None:
        """Add samples; `batch.undo` notes what changes."""

    def add(self, row: np.ndarray, other: Self, sign: float) -> None:
        """Add `sign` times a moment about the same origin; its class j has the number row[j]."""
        self.table.add(self._rows(row), other.table, sign, self.of)

    def clear(self, row: np.ndarray, empty: bool) -> None:
        """Remove the rounding that is left of classes, or of all where the state is empty."""
        for table in self._tables():
            table.clear(row if self.by_class else np.zeros(int(empty), np.intp))

    # -- others made of it --------------------------------------------------------------------

    @abstractmethod
    def shifted(self, shift: Shift) -> Self:
        """Return the moment about another origin."""

    def scaled(self, weight: float) -> Self:
        """Return the moment times a number."""
        return self._each(lambda table: table.scaled(weight))

    def spread(self, row: np.ndarray, n_classes: int) -> Self:
        """Return the moment with more classes; class j has the number row[j]."""
        if not self.by_class:
            return self.scaled(1.0)
        return self._each(lambda table: table.spread(row, (n_classes, table.shape[1])))

    def widened(self, n_features: int) -> Self:
        """Return the moment with more features, which are 0."""
        return self._each(lambda t: t.spread(np.arange(t.shape[0]), (t.shape[0], n_features)))

    def cut(self, columns: slice) -> Self:
        """Return the moment of some neighbouring features."""
        return self._each(lambda table: table.cut(columns))

    @classmethod
    def beside(cls, parts: Sequence[Self], in_memory: bool) -> Self:
        """Return the moment of all features; its numbers may be in temporary files."""
        tables = zip(*(part._tables() for part in parts), strict=True)
        return cls(*(Table.beside(each, in_memory) for each in tables))

    def _each(self, change: Callable[[Table], Table]) -> Self:
        return type(self)(*map(change, self._tables()))

    def _tables(self) -> list[Table]:
        return [self.table] if self.noise is None else [self.table, self.noise]

    def _rows(self, row: np.ndarray) -> np.ndarray:
        """The rows of the tables for classes of these numbers."""
        return row if self.by_class else np.zeros(1, np.intp)

    # -- reading and storage ------------------------------------------------------------------

    def check_finite(self) -> None:
        """Raise RangeError where a number is infinite."""
        self.table.check_finite(self.of)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return it as named arrays."""
        arrays: dict[str, np.ndarray] = {}
        for name, table in zip(self.names, self._tables(), strict=False):
            arrays |= table.to_arrays(name)
        return arrays

    @classmethod
    def schema(cls, arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, Field], tuple[Check, ...]]:
        """Return the schema of its arrays, in the form that they have, and rules."""
        fields: dict[str, Field] = {}
        rules: tuple[Check, ...] = ()
        for name in cls._given(arrays):
            more, checks = Table.schema(arrays, name, "c" if cls.by_class else 1)
            fields, rules = fields | more, rules + checks
        return fields, rules

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the moment of `to_arrays`, which fits `schema`."""
        return cls(*(Table.from_arrays(arrays, name) for name in cls._given(arrays)))

    @classmethod
    def _given(cls, arrays: Mapping[str, np.ndarray]) -> list[str]:
        given = [name for name in cls.names[1:] if any(array.startswith(name) for array in arrays)]
        return [cls.names[0], *given]
