"""Rows of tables whose columns hold anything, as an encoder takes them, and of other samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from narrows.errors import DataError
from narrows.solve.cells import NULLS, CellError, reads_as_number

DECIDING = 50_000  # rows of a table, the first ones, that decide what its columns are


class TableRows(Mapping[str, np.ndarray]):
    """The columns of some rows by name, in order.

    Parameters
    ----------
    columns : dict of str to ndarray of shape (n_rows,)
        Numbers, dates, or strings and None.
    """

    def __init__(self, columns: dict[str, np.ndarray]):
        self._columns = columns

    def __getitem__(self, name: str) -> np.ndarray:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return len(next(iter(self._columns.values()), ())), len(self._columns)

    def rows(self, which: Any) -> TableRows:
        """Return some rows: a slice, or their indices."""
        return TableRows({name: column[which] for name, column in self.items()})


def n_rows(X: Any) -> int:
    """Return the number of rows of a table, an array, a sparse matrix or a list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_rows(X: Any, which: Any) -> Any:
    """Return some rows, by their indices, of a table, an array, a sparse matrix or a list."""
    if isinstance(X, TableRows):
        return X.rows(which)
    if isinstance(X, list | tuple):
        return [X[row] for row in which]
    if hasattr(X, "column_names"):  # of Arrow
        return X.take(which)
    return X.iloc[which] if hasattr(X, "iloc") else X[which]


def joined(parts: Sequence[TableRows]) -> TableRows:
    """Return the rows of several tables with the same columns."""
    if len(parts) == 1:
        return parts[0]
    return TableRows({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def in_file(error: CellError, name: str, lines: Sequence[int] | np.ndarray) -> DataError:
    """Return an error of a cell as one of a file, whose rows have these lines."""
    return DataError(name, f"{error.problem}. {error.advice}", int(lines[error.row]))


@contextmanager
def cells_named(places: Iterable[tuple[str, Sequence[int] | np.ndarray]]) -> Iterator[None]:
    """Name the file and the line of a cell that is not as it should be.

    `places` has the files of the rows, and their lines.
    """
    try:
        yield
    except CellError as error:
        for name, lines in places:
            if error.row < len(lines):
                raise in_file(error, name, lines) from None
            error = error.at(error.row - len(lines))
        raise


def are_numbers(cells: TableRows) -> bool:
    """Whether no cell is missing, and at least half the cells of each column are numbers.

    A word among numbers is rather a mistake than a category.
    """
    return all(map(_of_numbers, cells.values()))


def _of_numbers(column: np.ndarray) -> bool:
    if column.dtype != object:
        return column.dtype.kind in "biuf" and not np.isnan(column.astype(np.float64)).any()
    if any(cell is None or str(cell).strip().lower() in NULLS for cell in column):
        return False
    return 2 * sum(map(reads_as_number, column)) >= len(column)
