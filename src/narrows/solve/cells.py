"""The columns of a table by their names, and their cells as numbers, times and texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
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
# dates as people write them: three numbers, one of them a year, and perhaps a time
_WRITTEN = re.compile(r"\s*(\d{1,2}|\d{4})([./-])(\d{1,2})\2(\d{1,2}|\d{4})(?:,?[ T]+(.*\S))?\s*")
_TIME = re.compile(r"(\d{1,2})(:\d\d(?::\d\d)?)(?: ?([ap])\.?m\.?)?", re.IGNORECASE)
DAY_FIRST, MONTH_FIRST = "day-first", "month-first"  # what `dates` of TableEncoder may be
_ORDERS = {DAY_FIRST: "day.month.year", MONTH_FIRST: "month.day.year", "": "year.month.day"}
DATE_FORMS = {order.replace(".", by) for order in _ORDERS.values() for by in "./-"}
DAYS = "days"  # form of numbers that are durations
_FEW = 5  # texts that stand for missing values, at most
# of numbers: separators of thousands, a decimal point or comma, and symbols such as a currency
LIKE_NUMBER = re.compile(
    r"\s*[-+]?[^\w\s]?\s?(\d+|\d{1,3}([.,'’\s]\d{3})+)([.,]\d+)?\s?[^\w\s]?\s*"
)
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
_OF_DURATION = "Divide the column by a unit, such as datetime.timedelta(hours=1)."
_AS_DURATION = "Make the column durations, such as by pandas.to_timedelta(column, unit='h')."
_AS_TEXT = "Correct it, or fit with the column in `categories` or `text`."


_OF_NUMPY = np.datetime64, np.timedelta64  # which Python makes numbers of their units


def _number(value: Any) -> float:
    if isinstance(value, str) and "_" in value:  # which Python allows
        raise ValueError
    if isinstance(value, _OF_NUMPY):
        raise TypeError
    try:
        return float(value)
    except OverflowError:
        return np.inf


def moment_of(value: Any, form: str = "") -> np.datetime64:
    """Return a date or time, or the text of one, in UTC; TypeError or ValueError for others.

    `form` is one of `DATE_FORMS`, in which texts may be, too.
    """
    if isinstance(value, str):
        if not _DATE.fullmatch(value):
            value = _rewritten(value, form)
        value = datetime.fromisoformat(value.rstrip())
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]")
    if not isinstance(value, date):
        raise TypeError
    if isinstance(value, datetime) and value.tzinfo is not None:
        with suppress(OverflowError):  # at the ends of the calendar
            value = value.astimezone(UTC)
        value = value.replace(tzinfo=None)
    return np.datetime64(value, "us")


def _rewritten(text: str, form: str) -> str:
    """Return a date in a form, and the time behind it, in ISO 8601; ValueError for other texts."""
    found = form and _WRITTEN.fullmatch(text)
    if not found or found[2] not in form:
        raise ValueError
    parts = dict(zip(form.split(found[2]), found.group(1, 3, 4), strict=True))
    day = "{year}-{month:0>2}-{day:0>2}".format(**parts)
    if found[5] is None:
        return day
    time = _TIME.match(found[5])
    if time is None:
        raise ValueError
    hour, half = int(time[1]), (time[3] or "").lower()
    if half and not 1 <= hour <= 12:
        raise ValueError
    hour = hour % 12 + 12 * (half == "p") if half else hour
    return f"{day} {hour:02}{time[2]}{found[5][time.end() :]}"


def form_of_dates(values: Iterable[Any], otherwise: str) -> tuple[str, str | None]:
    """Return the form that dates are written in, and one of them if the order is not sure.

    Numbers above 12 are days and decide on the order. Without one, it is `otherwise`. The form is
    empty where no text is such a date, or texts have several forms.
    """
    separators, orders, unsure = set(), set(), None
    for value in values:
        found = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
        if not found or {len(found[1]), len(found[4])} not in ({4, 1}, {4, 2}):
            continue
        year_first = len(found[1]) == 4
        a, b = map(int, found.group(3, 4) if year_first else found.group(1, 3))
        if not (a and b) or min(a, b) > 12:  # of no month, such as 00.00.0000
            continue
        separators.add(found[2])
        if year_first:
            orders.add("")
        elif max(a, b) > 12:
            orders.add(DAY_FIRST if a > 12 else MONTH_FIRST)
        elif unsure is None:
            unsure = value
    if len(separators) != 1 or len(orders) > 1 or (unsure and "" in orders):
        return "", None
    sure = bool(orders)
    form = _ORDERS[orders.pop() if orders else otherwise].replace(".", separators.pop())
    return form, None if sure else unsure


def _means_value(text: str, kind: str) -> bool:
    """Return whether a text that is no number, or no date, has one, perhaps in another form."""
    if kind == NUMBER:  # but for the errors of spreadsheets, such as #DIV/0!
        return not text.startswith("#") and any(map(str.isdigit, text))
    for form in DATE_FORMS:
        with suppress(ValueError):
            moment_of(text, form)
            return True
    return False


def folded(label: str) -> str:
    """Return a text without what differs in case or outer spaces only."""
    return label.strip().casefold()


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
        check_not_masked(given, f"column {column!r}")
        self.type = str(getattr(given, "dtype", getattr(given, "type", "")))
        self.is_categorical = _CATEGORICAL.match(self.type) is not None
        self.column, self.given = column, readable(given)
        self.form = ""  # of dates, or `DAYS`; with the tokens it is set before cells are read
        self.tokens: Sequence[str] = ()  # texts that stand for missing values

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
                f"expected one value in each cell of column {self.column!r}, got "
                "others. Make a column of each value, or name the column in `drop`."
            )
        if array.dtype.kind == "c":
            raise ParameterError(
                f"expected texts, numbers or dates in column {self.column!r}, got "
                "complex numbers. Make a column of each part, or name it in `drop`."
            )
        if array.dtype.kind == "U" and isinstance(self.given, list | tuple):
            return np.array(self.given, dtype=object)  # 2.0 is no text
        if array.dtype.kind == "O":
            some = [None if is_missing(cell) else cell for cell in array.tolist()]
            if {*map(type, some)} - {type(None)} and all(
                isinstance(cell, timedelta | np.timedelta64) for cell in some if cell is not None
            ):
                return np.array(some, dtype="m8[us]")
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
        texts = filter(reads_as_number, self.labels[0])  # no booleans, and no missing values
        integers = {int(x) if _INTEGER.fullmatch(x) else float(x) for x in texts}
        return 2 * len({*map(float, integers)}) <= len(integers)

    @property
    def are_durations(self) -> bool:
        """Whether the cells are differences of times, which are numbers of days."""
        return self.array.dtype.kind == "m"

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
                f"expected texts, numbers or dates in column {self.column!r}, got "
                "lists or other objects. Name the column in `drop`."
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
    def one_case(self) -> tuple[list[str], np.ndarray]:
        """As `labels`, but texts that differ by case or outer spaces only are the most frequent."""
        labels, codes = self.labels
        counts = np.bincount(codes[codes >= 0], minlength=len(labels))
        times: Counter[str] = Counter()
        for label, n in zip(labels, counts.tolist(), strict=True):
            times[label.strip()] += n
        chosen: dict[str, str] = {}
        for label in sorted(times, key=lambda label: (-times[label], label)):
            chosen.setdefault(folded(label), label)
        numbers: dict[str, int] = {}
        of = [numbers.setdefault(chosen[folded(label)], len(numbers)) for label in labels]
        return list(numbers), np.array([*of, -1])[codes]

    @cached_property
    def numbers(self) -> np.ndarray:
        """The cells as numbers, NaN where they are missing; CellError where one is no number."""
        kind = self.array.dtype.kind
        if kind in "biuf":
            return self.array.astype(np.float64)
        if kind == "m":
            with suppress(TypeError):  # of months and years
                return self.array / np.timedelta64(1, "D")
            advice = "Make it one of days, such as by astype('m8[D]')."
            self._refuse_any("durations of one length", ~np.isnat(self.array), advice)
            return np.full(len(self.array), np.nan)
        if kind == "M":
            self._refuse_any("numbers", ~np.isnat(self.array), _AS_TEXT)
            return np.full(len(self.array), np.nan)
        found = self._numbers_at_once()
        if found is not None:
            return found
        return np.array([*self._parsed(_number, "numbers", np.nan), np.nan])[self.distinct[1]]

    def check_unit(self, form: str) -> None:
        """Raise CellError for durations among numbers, or numbers among durations."""
        if self.are_durations and form != DAYS:
            self._refuse_any("numbers", ~np.isnat(self.array), _OF_DURATION)
        elif form == DAYS and not self.are_durations:
            self._refuse_any("durations", ~np.isnan(self.numbers), _AS_DURATION)

    def _numbers_at_once(self) -> np.ndarray | None:
        """Return numbers, texts of numbers and None as numbers; None where there is more."""
        try:
            found = self.array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        cells = self.array.tolist()
        texts = "".join([cell for cell in cells if isinstance(cell, str)])
        return None if "_" in texts or {*map(type, cells)} & {*_OF_NUMPY} else found

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
        none = np.datetime64("NaT", "us")
        found = [*self._parsed(self._moment, "dates", none), none]
        return np.array(found, dtype="datetime64[us]")[self.distinct[1]]

    def _moment(self, value: Any) -> np.datetime64:
        return moment_of(value, self.form)

    def values(self, kind: str) -> np.ndarray:
        """Return numbers, times, or codes of texts, by the kind of a column."""
        if kind == NUMBER:
            return self.numbers
        return self.moments if kind == DATE else self.labels[1]

    def exceptions(self, kind: str, share: float) -> list[str] | None:
        """Return the texts that stand for missing values, where all others are numbers, or dates.

        None where others are not, for example since these are more than a share of the cells, or
        of more than five kinds, or since one of them looks like a number or a date.
        """
        values, codes = self.distinct
        parse: Callable[[Any], Any] = _number if kind == NUMBER else self._moment
        some: set[Any] = set()  # values, of which two are enough
        tokens: dict[str, str] = {}
        is_token = np.zeros(len(values) + 1, dtype=bool)
        for k, value in enumerate(values):
            try:
                found = parse(value)
            except (TypeError, ValueError):
                if not isinstance(value, str) or _means_value(value, kind):
                    return None
                tokens.setdefault(folded(value), value.strip())
                is_token[k] = True
                if len(tokens) > _FEW:
                    return None
            else:
                if len(some) < 2:
                    some.add(found)
        n, n_missing = int(is_token[codes].sum()), int((codes < 0).sum())
        are_many = n > share * len(codes) or (share < 1 and 2 * n > len(codes) - n_missing)
        return None if len(some) < 2 or are_many else sorted(tokens.values())

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

    def _parsed(self, parse: Callable[[Any], Any], expected: str, missing: Any) -> list[Any]:
        found: list[Any] = []
        tokens = {*map(folded, self.tokens)}

        def parsed(value: Any) -> Any:
            is_token = tokens and isinstance(value, str) and folded(value) in tokens
            return missing if is_token else parse(value)

        try:
            found.extend(map(parsed, self.distinct[0]))
        except (TypeError, ValueError):
            row = int((self.distinct[1] == len(found)).argmax())
            self._refuse(expected, row, _AS_TEXT)
        return found

    def _refuse_any(self, expected: str, wrong: np.ndarray, advice: str) -> None:
        if wrong.any():
            self._refuse(expected, int(wrong.argmax()), advice)

    def _refuse(self, expected: str, row: int, advice: str) -> None:
        cell = self.exact[row : row + 1]
        with suppress(TypeError):  # of months; nanoseconds would be integers
            cell = cell.astype(f"{cell.dtype.kind}8[us]") if cell.dtype.kind in "mM" else cell
        got = cell.tolist()[0]
        problem = f"expected {expected} in column {self.column!r}, got {got!r:.100}"
        raise CellError(problem, advice, self.column, row)


def table_of(X: Any) -> dict[str, Cells]:
    """Return the columns of a table by their names."""
    check_not_lazy(X)
    if isinstance(X, Mapping):
        names, columns = list(X), list(X.values())
    elif hasattr(X, "column_names") and hasattr(X, "column"):  # of Arrow
        names = list(X.column_names)
        columns = [X.column(k) for k in range(len(names))]
    elif engine := next((e for e, mark in _ENGINES.items() if hasattr(type(X), mark)), None):
        raise ValueError(
            f"expected a table in memory, got one on a cluster. Fit it with an "
            f"estimator: {engine}.fit(SRDA(), X, vectoriser=TableEncoder())."
        )
    elif hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names, columns = list(X.columns), []
    else:
        raise ValueError(
            f"expected a DataFrame, an Arrow table or a mapping of columns, got "
            f"{type(X).__name__}. Make one, such as pandas.DataFrame(X)."
        )
    twice = [name for name, n in Counter(map(str, names)).items() if n > 1]
    if twice:
        raise ValueError(
            f"expected columns of different names, got two of {twice[0]!r}. Rename one of them."
        )
    columns = columns or [X[name] for name in names]
    table = {str(name): Cells(str(name), c) for name, c in zip(names, columns, strict=True)}
    first = next(iter(table.values()), None)
    for cells in table.values():
        if first is not None and len(cells) != len(first):
            raise ValueError(
                f"expected columns of one length, got {len(first)} cells in column "
                f"{first.column!r} and {len(cells)} in column {cells.column!r}. Leave out samples."
            )
    return table


def size_of(table: dict[str, Cells]) -> int:
    """Return the number of samples of a table."""
    return len(next(iter(table.values()), ()))
