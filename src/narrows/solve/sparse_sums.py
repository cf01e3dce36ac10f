"""Sums of sparse samples by class, added to the rows of arrays in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from narrows.solve.sums import blocks, canonical
from narrows.solve.undo import Undo

_ENTRIES = 1 << 21  # non-zeros from one return to Python, where signals are seen, to the next


class Places(NamedTuple):
    """Where labels add their samples: to a row of one of several arrays.

    Parameters
    ----------
    tables : sequence of ndarray of shape (n_rows, n_features)
        The arrays.
    row : ndarray of shape (n_labels,)
        The row for each label.
    table : ndarray of shape (n_labels,) or int
        The number of the array for each label, or for all.
    """

    tables: Sequence[np.ndarray]
    row: np.ndarray
    table: np.ndarray | int = 0

    def addresses(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where each row starts, and how far its numbers are apart, in numbers."""
        starts = np.array([table.ctypes.data for table in self.tables], np.int64)
        strides = np.array([table.strides for table in self.tables], np.int64)
        row = self.row.astype(np.int64, copy=False)
        steps = np.broadcast_to(strides[self.table, 1] // 8, row.shape)
        return starts[self.table] + row * strides[self.table, 0], np.ascontiguousarray(steps)

    def note(self, size: int, undo: Undo) -> bool:
        """Let `undo` restore the rows, where these are no more than `size` numbers; else False."""
        width = self.tables[0].shape[1]
        each = np.broadcast_to(self.table, self.row.shape)
        changed = [np.unique(self.row[each == k]) for k in range(len(self.tables))]
        if size < width * sum(map(len, changed)):
            return False
        for table, rows in zip(self.tables, changed, strict=True):
            undo.array(table, rows if len(rows) < len(table) else ...)
        return True


def add_sparse(
    X: sparse.csr_array,
    Y: sparse.csr_array,
    sums: Places,
    squares: Places | None = None,
    presence: bool = False,
    undo: Undo | None = None,
) -> None:
    """Add samples to the sums of their classes, in place; O(nnz).

    Parameters
    ----------
    X : csr_array of shape (n_samples, n_features)
        The samples.
    Y : csr_array of shape (n_samples, k)
        The weight of each sample in each of k classes.
    sums : Places
        Where sums are, for each entry of Y.
    squares : Places, optional
        Where sums of squares are.
    presence : bool
        Add 1 for each non-zero instead of its value.
    undo : Undo, optional
        Notes what changes.
    """
    from narrows.solve.kernels import add_class_rows, put_back

    if presence or squares is not None:
        X = canonical(X)
    labels = np.diff(Y.indptr)
    size = int(labels @ np.diff(X.indptr)) if undo is not None and len(labels) else 0
    progress, nothing = np.zeros(2, np.int64), np.empty(0)
    where: list[np.ndarray] = []
    for places in (sums, squares):
        if places is None:
            where += [np.empty(0, np.int64)] * 2 + [nothing]
            continue
        at, step = places.addresses()
        before = nothing
        if undo is not None and size and not places.note(size, undo):
            before = np.empty(size)

            def restore(at: Any = at, step: Any = step, before: Any = before) -> None:
                done = int(progress[0])
                put_back(X.indptr[: done + 1], X.indices, Y.indptr, at, step, before, progress[1])

            undo.step(restore)
        where += [at, step, before]
    for part in _parts(X):
        ends = slice(part.start, part.stop + 1)
        add_class_rows(
            X.indptr[ends], X.indices, X.data, Y.indptr[ends], Y.data, presence, *where, progress
        )


def _parts(X: sparse.csr_array) -> Iterator[slice]:
    """Yield the rows to add in one call."""
    return blocks(X.shape[0], max(1, _ENTRIES * X.shape[0] // max(1, X.nnz)))
