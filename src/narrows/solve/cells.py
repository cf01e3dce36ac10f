"""The columns of a table by their names, and their cells as numbers, times and texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from narrows.errors import ParameterError
from narrows.solve.arrays import (
    as_objects,
    beyond_floats,
    check_not_lazy,
    check_not_masked,
    readable,
)

NUMBER, DATE, CATEGORY, TEXT = "number", "date", "category", "text"
MISSING = "(missing)"
# texts of missing values in lower case, as skrub and pandas have them
NULLS = {
    "", "na", "n/a", "nan", "-nan", "null", "none", "nat", "#na", "#n/a", "#n/a n/a", "<na>", "?",
    "...", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan", MISSING,
}  # fmt: skip
_INTEGER = re.compile(r"\s*[-+]?\d{1,40}\s*", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?\s*")
# where tables on clusters are fitted, and a method that only these have
_ENGINES = {"narrows.engines.dask": "to_delayed", "narrows.spark": "mapInArrow"}
_CATEGORICAL = re.compile("categor|enum|dictionary", re.IGNORECASE)  # types of columns


class CellError(ParameterError):
    """A cell that is not what its column has; `row` counts from 0."""

    def __init__(self, problem: str, advice: str, column: str, row: int):
        super().__init__(f"{problem} in row {row}. {advice}")
        self.problem, self.advice, self.column, self.row = problem, advice, column, row

    def __reduce__(self) -> tuple:
        return CellError, (self.problem, self.advice, self.column, self.row)

    def at(self, row: int) -> CellError:
        """Return the error with the number that the row has elsewhere."""
        return CellError(self.problem, self.advice, self.column, row)


def is_missing(value: Any) -> bool:
    """Whether a value is missing, or the text of a missing value."""
    if isinstance(value, str):
        return len(value) < 12 and value.strip().lower() in NULLS
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return not hasattr(value, "__len__") and bool(value != value)  # an array is no value


def reads_as_number(value: Any) -> bool:
    """Whether a value is a number, or the text of one."""
    try:
        _number(value)
    except (TypeError, ValueError):
        return False
    return True


_LARGEST = 1e150
_AS_TEXT = "Correct it, or fit with the column in categories (--categories) or text (--text)."


def _number(value: Any) -> float:
    if isinstance(value, str) and "_" in value:  # which Python allows
        raise ValueError
    try:
        return float(value)
    except OverflowError:
        return np.inf


def moment_of(value: Any) -> np.datetime64:
    """Return a date or time, or the text of one, in UTC; TypeError or ValueError for others."""
    if isinstance(value, str):
        if not _DATE.fullmatch(value):
            raise ValueError
        value = datetime.fromisoformat(value.rstrip())
    if not isinstance(value, date):
        raise TypeError
    if isinstance(value, datetime) and value.tzinfo is not None:
        with suppress(OverflowError):  # at the ends of the calendar
            value = value.astimezone(UTC)
        value = value.replace(tzinfo=None)
    return np.datetime64(value, "us")


def _label(value: Any) -> str:
    """Return a value as text; a number that is an integer has one text in all types."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite():
        return str(int(value)) if value == int(value) else format(value.normalize(), "f")
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


class Cells:
    """The cells of a column, which become numbers, dates or texts when they are asked for."""

    def __init__(self, column: str, given: Any):
        check_not_masked(given, f"column {column!r}", "TableEncoder")
        self.type = str(getattr(given, "dtype", getattr(given, "type", "")))
        self.is_categorical = _CATEGORICAL.match(self.type) is not None
        self.column, self.given = column, readable(given)

    def __len__(self) -> int:
        return len(self.given) if hasattr(self.given, "__len__") else len(self.array)

    @cached_property
    def array(self) -> np.ndarray:
        """The cells as an array; ParameterError where there is not one value in each."""
        try:
            zoned = self.type.startswith("datetime64[") and "," in self.type  # of pandas, to UTC
            array = np.asarray(self.given, dtype="datetime64[us]" if zoned else None)
        except ValueError:  # of lists of several lengths
            array = np.zeros((0, 0))
        if array.ndim != 1:
            raise ParameterError(
                f"TableEncoder: expected one value in each cell of column {self.column!r}, got "
                "others. Make a column of each value, or name the column in drop (--drop)."
            )
        if array.dtype.kind == "c":
            raise ParameterError(
                f"TableEncoder: expected texts, numbers or dates in column {self.column!r}, got "
                "complex numbers. Make a column of each part, or name it in drop (--drop)."
            )
        if array.dtype.kind == "U" and isinstance(self.given, list | tuple):
            return np.array(self.given, dtype=object)  # 2.0 is no text
        return array

    @cached_property
    def exact(self) -> np.ndarray:
        """The cells as an array, of objects where NumPy would round integers to floats."""
        array = self.array
        if array.dtype != np.float64 or isinstance(self.given, np.ndarray):
            return array
        return as_objects(self.given) if beyond_floats(array) else array

    @property
    def are_rounded(self) -> bool:
        """Whether the cells are numbers of which floats hold at most every other integer."""
        if not beyond_floats(self.numbers):
            return False
        integers = {int(x) if _INTEGER.fullmatch(x) else float(x) for x in self.labels[0]}
        return 2 * len({*map(float, integers)}) <= len(integers)

    @property
    def are_booleans(self) -> bool:
        """Whether all cells that are not missing are true or false, and some are."""
        if self.array.dtype.kind != "O":
            return self.array.dtype.kind == "b"
        some = (cell for cell in self.array.tolist() if not is_missing(cell))
        kinds = bool, np.bool_
        return isinstance(next(some, None), kinds) and all(isinstance(x, kinds) for x in some)

    @cached_property
    def distinct(self) -> tuple[list[Any], np.ndarray]:
        """The values that are not missing, and which of them each cell has; -1 where none."""
        array = self.exact
        cells = (np.datetime_as_string(array) if array.dtype.kind == "M" else array).tolist()
        try:
            numbers: dict[Any, int] = dict.fromkeys(cells, -1)
        except TypeError:
            raise ParameterError(
                f"TableEncoder: expected texts, numbers or dates in column {self.column!r}, got "
                "lists or other objects. Name the column in drop (--drop)."
            ) from None
        values = [value for value in numbers if not is_missing(value)]
        numbers.update(zip(values, range(len(values)), strict=True))
        return values, np.fromiter(map(numbers.__getitem__, cells), np.int64, len(cells))

    @cached_property
    def labels(self) -> tuple[list[str], np.ndarray]:
        """The values as text, and which of them each cell has; -1 where none."""
        values, codes = self.distinct
        if self.array.dtype.kind == "f" and self.array.dtype.itemsize < 8:  # .1, as it is written
            values = [float(str(self.array.dtype.type(value))) for value in values]
        numbers: dict[str, int] = {}
        of = [numbers.setdefault(_label(value), len(numbers)) for value in values]
        return list(numbers), np.array([*of, -1])[codes]

    @cached_property
    def numbers(self) -> np.ndarray:
        """The cells as numbers, NaN where they are missing; CellError where one is no number."""
        kind = self.array.dtype.kind
        if kind in "biuf":
            return self.array.astype(np.float64)
        if kind == "m":
            return self.array / np.timedelta64(1, "D")
        if kind == "M":
            there = ~np.isnat(self.array)
            if there.any():
                self._refuse("numbers", int(there.argmax()), _AS_TEXT)
            return np.full(len(self.array), np.nan)
        found = self._numbers_at_once()
        if found is not None:
            return found
        return np.array([*self._parsed(_number, "numbers"), np.nan])[self.distinct[1]]

    def _numbers_at_once(self) -> np.ndarray | None:
        """Return numbers, texts of numbers and None as numbers; None where there is more."""
        try:
            found = self.array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        texts = "".join([cell for cell in self.array.tolist() if isinstance(cell, str)])
        return None if "_" in texts else found

    def check_finite(self) -> None:
        """Raise CellError where a number is infinite, or its square is close to it."""
        large = np.abs(self.numbers) >= _LARGEST
        if large.any():
            row = int(large.argmax())
            is_finite = bool(np.isfinite(self.numbers[row]))
            expected = "numbers of less than 1e150" if is_finite else "finite numbers"
            self._refuse(expected, row, "Make it a missing value.")

    @cached_property
    def moments(self) -> np.ndarray:
        """The cells as times in microseconds, NaT where they are missing; CellError for others."""
        if self.array.dtype.kind == "M":
            return self.array.astype("datetime64[us]")
        found = [*self._parsed(moment_of, "dates"), np.datetime64("NaT")]
        return np.array(found, dtype="datetime64[us]")[self.distinct[1]]

    def values(self, kind: str) -> np.ndarray:
        """Return numbers, times, or codes of texts, by the kind of a column."""
        if kind == NUMBER:
            return self.numbers
        return self.moments if kind == DATE else self.labels[1]

    def holds(self, kind: str) -> bool:
        """Return whether all cells that are not missing are numbers, or dates."""
        try:
            self.values(kind)
        except CellError:
            return False
        return True

    @property
    def texts(self) -> list[str]:
        """The cells as text, empty where they are missing."""
        values, codes = self.labels
        return [*map([*values, ""].__getitem__, codes)]

    def _parsed(self, parse: Callable[[Any], Any], expected: str) -> list[Any]:
        found: list[Any] = []
        try:
            found.extend(map(parse, self.distinct[0]))
        except (TypeError, ValueError):
            row = int((self.distinct[1] == len(found)).argmax())
            self._refuse(expected, row, _AS_TEXT)
        return found

    def _refuse(self, expected: str, row: int, advice: str) -> None:
        got = self.exact[row : row + 1].tolist()[0]
        problem = f"TableEncoder: expected {expected} in column {self.column!r}, got {got!r:.100}"
        raise CellError(problem, advice, self.column, row)


def table_of(X: Any) -> dict[str, Cells]:
    """Return the columns of a table by their names."""
    check_not_lazy(X, "TableEncoder")
    if isinstance(X, Mapping):
        names, columns = list(X), list(X.values())
    elif hasattr(X, "column_names") and hasattr(X, "column"):  # of Arrow
        names = list(X.column_names)
        columns = [X.column(k) for k in range(len(names))]
    elif engine := next((e for e, mark in _ENGINES.items() if hasattr(type(X), mark)), None):
        raise ValueError(
            f"TableEncoder: expected a table in memory, got one on a cluster. Fit it with an "
            f"estimator: {engine}.fit(SRDA(), X, vectoriser=TableEncoder())."
        )
    elif hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names, columns = list(X.columns), []
    else:
        raise ValueError(
            f"TableEncoder: expected a DataFrame, an Arrow table or a mapping of columns, got "
            f"{type(X).__name__}. Make one, such as pandas.DataFrame(X)."
        )
    twice = [name for name, n in Counter(map(str, names)).items() if n > 1]
    if twice:
        raise ValueError(
            f"TableEncoder: expected columns of different names, got two of {twice[0]!r}. Rename "
            "one of them."
        )
    columns = columns or [X[name] for name in names]
    table = {str(name): Cells(str(name), c) for name, c in zip(names, columns, strict=True)}
    first = next(iter(table.values()), None)
    for cells in table.values():
        if first is not None and len(cells) != len(first):
            raise ValueError(
                f"TableEncoder: expected columns of one length, got {len(first)} cells in column "
                f"{first.column!r} and {len(cells)} in column {cells.column!r}. Leave out samples."
            )
    return table


def size_of(table: dict[str, Cells]) -> int:
    """Return the number of samples of a table."""
    return len(next(iter(table.values()), ()))
