"""Labelled samples that are added to the moments of a state, in one pass over them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from narrows.state.table import Table
from narrows.solve.sparse_sums import Places, add_sparse
from narrows.solve.sums import canonical, dense_sums, with_labels, with_values
from narrows.solve.undo import Undo


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
    """Add sparse samples to arrays, in one pass."""
    first, fold = batches[0], _fold_of_label(batches)
    row = first.row[first.Y.indices]
    squares = None
    if first.squares is not None:
        of_squares = row if first.by_class else np.zeros_like(row)
        squares = Places([batch.squares.array for batch in batches], of_squares, fold)
    sums = Places([batch.sums.array for batch in batches], row, fold)
    add_sparse(first.X, first.Y, sums, squares, first.presence, first.undo)


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
