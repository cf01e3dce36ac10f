"""Labelled samples that are added to the moments of a state, in one pass over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from narrows.errors import warn
from narrows.solve.schema import Check, Field
from narrows.solve.sums import (
    add_sparse,
    canonical,
    dense_sums,
    near,
    with_labels,
    with_values,
)
from narrows.solve.undo import Undo
from narrows.state.table import Table


class ToKeep(NamedTuple):
    """What is kept of each sample, if not the sample itself, and the hashes to keep by."""

    X: Any
    keys: np.ndarray


@dataclass
class Batch:
    """Samples, their labels, and the tables that they are added to.

    A moment that is a table of sums, or of sums of squares, puts it here, and `add_all` fills them.
    Other moments read the samples themselves.

    Parameters
    ----------
    X, Y, presence, undo
        See `solve.sparse_sums.add_sparse`.
    row : ndarray of shape (n_classes,)
        The number that each column of Y has in the state, ascending.
    origin : ndarray of shape (n_features,), optional
        What dense samples are measured from.
    to_keep : ToKeep, optional
        What is kept instead of X.
    in_place : bool
        Whether arrays that a moment made itself may be lost if the update fails.
    first : int
        The number of the first of these samples among those that the state has learned.
    start, step : int
        Which of the samples to add: those of a fold are numbers start, start + step, and so on.
    whole : Batch, optional
        All samples, of which these are some.

    Attributes
    ----------
    sums, squares : Table or None
        What to add to.
    by_class : bool
        Whether `squares` has a row for each class, or one in all.
    """

    X: Any
    Y: sparse.csr_array
    row: np.ndarray
    presence: bool
    origin: np.ndarray | None
    undo: Undo | None
    to_keep: ToKeep | None = None
    in_place: bool = False
    first: int = 0
    start: int = 0
    step: int = 1
    whole: Batch | None = None
    sums: Any = None
    squares: Any = None
    by_class: bool = False

    def of_fold(self, start: int, step: int) -> Batch:
        """Return the batch of some of the samples."""
        new = copy(self)
        vars(new).pop("weight", None)
        new.start, new.step, new.whole = start, step, self
        return new

    def some(self, rows: Any) -> Any:
        """Return the rows of the samples to add."""
        return rows if self.step == 1 else rows[self.start :: self.step]

    @cached_property
    def samples(self) -> tuple[Any, sparse.csr_array]:
        """The samples to add, and their labels."""
        return self.some(self.X), self.some(self.Y)

    @cached_property
    def weight(self) -> np.ndarray:
        """The weight of each of the samples, in all their classes."""
        if self.whole is not None:
            weight: np.ndarray = self.some(self.whole.weight)
            return weight
        return np.asarray(self.Y.sum(axis=1), dtype=np.float64).ravel()

    @property
    def tables(self) -> list[Table]:
        """What to add to."""
        return [self.sums] if self.squares is None else [self.sums, self.squares]

    def add_alone(self) -> None:
        """Add sparse samples to tables, one of which holds its non-zeros."""
        X, Y = self.samples
        if self.presence or self.squares is not None:
            X = canonical(X)
        values = (X.data != 0).astype(np.float64) if self.presence else X.data
        self.sums.add_samples(with_values(X, values), Y, self.row, self.undo)
        if self.squares is not None:
            where = self.row if self.by_class else np.zeros_like(self.row)
            X = with_values(X, values.astype(np.float64) ** 2)
            self.squares.add_samples(X, Y, where, self.undo)


def add_all(batches: Sequence[Batch]) -> None:
    """Add samples to their tables: to arrays in place, to non-zeros as entries.

    Parameters
    ----------
    batches : sequence of Batch
        One, or those of the folds that the samples go to, which differ in their tables and in
        `start` only, and are in the order of it.
    """
    tables = [table for batch in batches for table in batch.tables]
    for batch in batches:
        if batch.undo is not None:
            for table in batch.tables:
                batch.undo.attributes(table)
    if not sparse.issparse(batches[0].X):
        _add_dense(batches)
    elif all(table.array is not None for table in tables):
        _add_to_arrays(batches)
    else:
        for batch in batches:
            batch.add_alone()


def _fold_of_label(batches: Sequence[Batch]) -> Any:
    """Return the number of the batch that each label goes to."""
    if len(batches) == 1:
        return 0
    n, Y = batches[0].X.shape[0], batches[0].Y
    return np.repeat(np.arange(n) % batches[0].step, np.diff(Y.indptr))


def _add_to_arrays(batches: Sequence[Batch]) -> None:
    """Add sparse samples to arrays."""
    for batch in batches:
        X, Y = batch.samples
        sums, squares, of_squares = batch.sums.array, None, None
        row = batch.row[Y.indices]
        if batch.undo is not None:
            batch.undo.array(sums, np.unique(row))
        if batch.squares is not None:
            squares = batch.squares.array
            of_squares = np.arange(len(sums)) if batch.by_class else np.zeros(len(sums), np.intp)
            if batch.undo is not None:
                batch.undo.array(squares, np.unique(of_squares[row]))
        labels = with_labels(Y, row, len(sums))
        add_sparse(X, labels, sums, squares, of_squares, batch.presence)


def _add_dense(batches: Sequence[Batch]) -> None:
    """Add dense samples, in one pass; no array is made for classes that do not occur."""
    first, Y, c = batches[0], batches[0].Y, batches[0].Y.shape[1]
    number = Y.indices + c * _fold_of_label(batches)  # of the class and the fold of each label
    occurs = np.bincount(number, minlength=c * len(batches)) > 0
    given = np.flatnonzero(occurs)
    if not len(given):
        return
    if len(given) < len(occurs):
        number = (np.cumsum(occurs) - 1)[number]
    if len(batches) > 1 or len(given) < len(occurs):
        Y = with_labels(Y, number, len(given))
    square_row = None
    if first.squares is not None:
        square_row = np.arange(len(given)) if first.by_class else given // c
    sums, squares = dense_sums(first.X, Y, square_row, first.presence, first.origin)
    ends = np.searchsorted(given, c * np.arange(len(batches) + 1))
    for k, batch in enumerate(batches):
        own = slice(ends[k], ends[k + 1])
        if own.start == own.stop:
            continue
        row = first.row[given[own] - c * k]
        added = [(batch.sums, row, sums[own], "")]
        if first.squares is not None:
            in_all = np.zeros(1, np.intp), squares[k : k + 1]
            rows, more = (row, squares[own]) if first.by_class else in_all
            added.append((batch.squares, rows, more, " of squares"))
        for table, rows, more, of in added:
            table.add(rows, Table(more.shape, more), of=of, undo=first.undo)


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


EPS = float(np.finfo(np.float64).eps)
Origin = np.ndarray | None
Moments = dict[str, Any]  # by name; the class sums are the first


def middle(X: np.ndarray, Y: sparse.csr_array) -> np.ndarray:
    """A point in the middle of the samples that have weight."""
    each = Y.sum(axis=1)
    counted = (each > 0) & (each >= each.max(initial=0.0) / 2)
    return near(X if counted.all() else X[counted])


def about(moments: Moments, counts: np.ndarray, old: Origin, new: Origin) -> Moments:
    """Return moments about another origin: an exact shift."""
    if new is old or not counts.any():
        return moments
    delta = (np.zeros(1) if old is None else old) - (np.zeros(1) if new is None else new)
    with np.errstate(over="ignore", invalid="ignore"):  # checked next
        if "folds" in moments:
            shifted = {"folds": moments["folds"].moved(delta)}
        else:
            shift = Shift.of(moments, counts, delta)
            shifted = {name: moment.shifted(shift) for name, moment in moments.items()}
    for moment in shifted.values():
        moment.check_finite()
    return shifted


def is_far(mean: np.ndarray, squares: np.ndarray, origin: Origin) -> bool:
    """Whether the mean is farther from the origin, in any feature, than samples are from it.

    `mean` and `squares`, the mean square, are about the origin.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # no where squares are infinite
        return bool((mean**2 > 4 * (squares - mean**2) + resolution(origin)).any())


def resolution(origin: Origin) -> np.ndarray | float:
    """The largest squared deviation that may be the rounding of dense samples themselves."""
    return 0.0 if origin is None else (8 * EPS * origin) ** 2


class First(TableMoment):
    """S_j, of shape (n_classes, n_features)."""

    names = ("sums",)

    def update(self, batch: Batch) -> None:
        """Have the batch add its sums to the table."""
        batch.sums = self.table

    def shifted(self, shift: Shift) -> First:
        """Return the sums of x - o + delta from those of x - o."""
        return First(Table(self.table.shape, self.table.toarray() + shift.first))


NOISE = 4 * float(np.finfo(np.float64).eps)  # of a sum of squares: its rounding
_DIGITS = 6  # of each variance, that a subtraction promises to leave


class Squares(TableMoment):
    """Sums of squares about the origin; `noise` is the rounding of those that were subtracted."""

    of = " of squares"

    def update(self, batch: Batch) -> None:
        """Have the batch add its sums of squares to the table."""
        batch.squares, batch.by_class = self.table, self.by_class

    def add(self, row: np.ndarray, other: Self, sign: float) -> None:
        """Add `sign` times a moment; a subtraction adds to `noise`."""
        rounding = self.table.scaled(NOISE) if sign < 0 else None
        super().add(row, other, sign)
        if other.noise is not None:
            self._add_noise(self._rows(row), other.noise)
        if rounding is not None:
            every = np.arange(rounding.shape[0])
            rounding.clear(np.setdiff1d(every, self._rows(row)))
            self._add_noise(every, rounding)

    def _add_noise(self, rows: np.ndarray, noise: Table) -> None:
        if self.noise is None:
            self.noise = Table(self.table.shape)
        self.noise.add(rows, noise)

    def shifted(self, shift: Shift) -> Self:
        """Return sums of (x - o + delta)^2 from those of x - o and of (x - o)^2."""
        change = 2 * shift.delta * shift.sums.toarray() + shift.first * shift.delta
        if not self.by_class:
            change = change.sum(axis=0, keepdims=True)
        return type(self)(Table(self.table.shape, self.table.toarray() + change), self.noise)

    def total(self) -> TotalSquares:
        """Return a copy that holds only what ``second="total"`` holds."""
        return TotalSquares(*map(_in_one, self._tables()))

    # -- reading ----------------------------------------------------------------------------

    def squares(self) -> np.ndarray:
        """Return sums, of shape (n_classes, n_features), or (n_features,) over all samples."""
        return self.table.toarray() if self.by_class else self.table.toarray()[0]

    def mean(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the mean square about the origin under priors p, of shape (n_features,)."""
        # the rounding that a subtraction left may be less than 0
        return np.maximum(self.table.weighted(self._weights(p, counts)), 0.0)

    def mean_noise(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
        """Return how far `mean` may be off by earlier subtractions; None without any."""
        return None if self.noise is None else self.noise.weighted(self._weights(p, counts))

    @abstractmethod
    def _weights(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The weight of each row of the table in a mean under priors p."""


class TotalSquares(Squares):
    """The sum of the squares of all samples, of shape (1, n_features)."""

    names = ("squares_total", "noise")
    by_class = False

    def _weights(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray:
        n = float(counts.sum())
        if not np.allclose(p * n, counts, rtol=1e-12, atol=0):
            raise not_enough("total")
        return np.array([1 / (n or 1.0)])


class ClassSquares(Squares):
    """The sums of the squares of the samples of each class, of shape (n_classes, n_features)."""

    names = ("squares_class", "noise")

    def _weights(self, p: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return ratio(p, counts)


def not_enough(second: str | None) -> ValueError:
    """Return the error of variances that the second moments of a state do not determine."""
    return ValueError(
        f"ClassStats: expected sums of squares for variances with these priors, got "
        f'second={second!r}. Use second="class" ("total" is enough for empirical priors).'
    )


def warn_of_lost_digits(
    varied: np.ndarray, squares: np.ndarray, variances: np.ndarray, noise: np.ndarray, raw: bool
) -> None:
    """Warn where a subtraction left fewer digits of a variance than it promises.

    Parameters
    ----------
    varied : ndarray of shape (n_features,)
        Whether the feature varied before.
    squares, variances, noise : ndarray of shape (n_features,)
        Mean squares, variances and their noise after it.
    raw : bool
        Whether the samples are sparse: a feature of which nothing is left is gone then.
    """
    lost = varied & (noise * 10**_DIGITS > variances)
    if raw:
        lost &= squares > noise
    if not lost.any():
        return
    digits = np.full(len(lost), np.inf)
    digits[lost] = np.log10(np.maximum(variances[lost] / noise[lost], 1.0))
    worst = int(digits.argmin())
    warn(
        f"ClassStats: expected at least {_DIGITS} correct digits of each variance after a "
        f"subtraction, got about {int(digits[worst])} for feature {worst}; {int(lost.sum())} "
        f"of {len(lost)} features have fewer than {_DIGITS}. Most of the spread stems from the "
        "samples subtracted: add up the states that remain instead."
    )


def ratio(a: Any, b: np.ndarray) -> np.ndarray:
    """a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(len(b)), where=b > 0)


def _in_one(table: Table) -> Table:
    """The sum of the rows, as a table of one row."""
    return Table((1, table.shape[1]), table.weighted(np.ones(table.shape[0]))[None, :])
