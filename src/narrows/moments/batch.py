"""Labelled samples that are added to the moments of a state, in one pass over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from narrows.moments.table import Table
from narrows.solve.sums import add_sparse, canonical, dense_sums, with_values
from narrows.solve.undo import Undo


class ToKeep(NamedTuple):
    """What is kept of each sample, if not the sample itself, and the hashes to keep by."""

    X: Any
    keys: np.ndarray


@dataclass
class Batch:
    """Samples, their labels, and the tables that they are added to.

    A moment that is a table of sums, or of sums of squares, puts it here, and `add` fills both.
    Other moments read the samples themselves.

    Parameters
    ----------
    X, Y, row, presence, undo
        See `solve.sums.add_sparse`.
    origin : ndarray of shape (n_features,), optional
        What dense samples are measured from.
    to_keep : ToKeep, optional
        What is kept instead of X.
    in_place : bool
        Whether arrays that a moment made itself may be lost if the update fails.
    first : int
        The number of the first of these samples among those that the state has learned.

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
    sums: Any = None
    squares: Any = None
    by_class: bool = False

    def add(self) -> None:
        """Add the samples to the tables: to arrays in place, to non-zeros as entries."""
        X, Y, row, sums, squares = self.X, self.Y, self.row, self.sums, self.squares
        tables = [sums] if squares is None else [sums, squares]
        for table in tables:
            if self.undo is not None:
                self.undo.attributes(table)
        if not sparse.issparse(X):
            if sums.array is None:  # no array for classes that do not occur
                given = np.unique(Y.indices)
                Y, row = Y[:, given], row[given]
            in_all, squared = not self.by_class, squares is not None
            added = dense_sums(X, Y, squared, in_all, self.presence, self.origin)
            for table, more, of in zip(tables, added, ("", " of squares"), strict=False):
                rows = np.zeros(1, np.intp) if of and in_all else row
                table.add(rows, Table(more.shape, more), of=of, undo=self.undo)
            return
        where = row if self.by_class else np.zeros_like(row)
        if all(table.array is not None for table in tables):
            second = None if squares is None else squares.array
            add_sparse(X, Y, row, sums.array, (second, where), self.presence, self.undo)
            return
        if self.presence or squares is not None:
            X = canonical(X)
        values = (X.data != 0).astype(np.float64) if self.presence else X.data
        sums.add_samples(with_values(X, values), Y, row, self.undo)
        if squares is not None:
            X = with_values(X, values.astype(np.float64) ** 2)
            squares.add_samples(X, Y, where, self.undo)
