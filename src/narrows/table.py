"""Tables of numbers, dates, categories and texts as sparse samples, by a map that is frozen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError, did_you_mean
from narrows.methods.parameters import (
    NONE,
    Constraint,
    check_constraints,
    is_integer,
    whole,
)
from narrows.solve.schema import (
    COUNT,
    FINITE,
    Check,
    Field,
    SchemaError,
    between,
    check_known,
    checked,
)
from narrows.text import Tfidf

__all__ = ["TableEncoder"]

NUMBER, DATE, CATEGORY, TEXT = "number", "date", "category", "text"
KINDS = NUMBER, DATE, CATEGORY, TEXT, "identifier", "constant", "dropped"  # numbered in files
OTHER, MISSING = "(other)", "(missing)"
PARTS = {"month": 12, "weekday": 7, "hour": 24}  # of a date, and how many values each has
FEW = 40  # distinct values of a category, as in skrub, and samples in which all values may differ
WORDS = 4  # of a text, on average
# texts of missing values in lower case, as skrub and pandas have them
NULLS = {
    "", "na", "n/a", "nan", "-nan", "null", "none", "nat", "#na", "#n/a", "#n/a n/a", "<na>", "?",
    "...", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan", MISSING,
}  # fmt: skip
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?\s*")
_CATEGORICAL = re.compile("categor|enum|dictionary", re.IGNORECASE)  # types of columns
_DEGREE = 3
_APART = 1e-9  # standard deviations between two knots


class Decision(NamedTuple):
    """What a column of the table was taken for, why, and how many features it has."""

    column: str
    kind: str
    reason: str
    n_features: int


class CellError(ValueError):
    """A cell that is not what its column has; `row` counts from 0."""

    def __init__(self, message: str, column: str, row: int):
        super().__init__(message)
        self.column, self.row = column, row

    def __reduce__(self) -> tuple:
        return CellError, (str(self), self.column, self.row)


# -- cells ---------------------------------------------------------------------------------------


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) < 12 and value.strip().lower() in NULLS
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _number(value: Any) -> float:
    if isinstance(value, str) and "_" in value:  # which Python allows
        raise ValueError
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _moment(value: Any) -> np.datetime64:
    if isinstance(value, str):
        if not _DATE.fullmatch(value):
            raise ValueError
        value = datetime.fromisoformat(value.rstrip())
    if not isinstance(value, date):
        raise TypeError
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value, "us")


def _label(value: Any) -> str:
    """Return a value as text; a number that is an integer has one text in all types."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


class _Cells:
    """The cells of a column, which become numbers, dates or texts when they are asked for."""

    def __init__(self, column: str, given: Any):
        self.column = column
        kind = getattr(given, "dtype", getattr(given, "type", ""))
        self.is_categorical = _CATEGORICAL.match(str(kind)) is not None
        try:
            self.array = np.asarray(given)
        except ValueError:  # of lists of several lengths
            self.array = np.zeros((0, 0))
        if self.array.ndim != 1:
            raise ValueError(
                f"TableEncoder: expected one value in each cell of column {column!r}, got others. "
                "Make a column of each value, or name the column in drop=."
            )

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def distinct(self) -> tuple[list[Any], np.ndarray]:
        """The values that are not missing, and which of them each cell has; -1 where none."""
        array = self.array
        cells = (np.datetime_as_string(array) if array.dtype.kind == "M" else array).tolist()
        try:
            numbers: dict[Any, int] = dict.fromkeys(cells, -1)
        except TypeError:
            raise ValueError(
                f"TableEncoder: expected texts, numbers or dates in column {self.column!r}, got "
                "lists or other objects. Name the column in drop=."
            ) from None
        values = [value for value in numbers if not _is_missing(value)]
        numbers.update(zip(values, range(len(values)), strict=True))
        return values, np.fromiter(map(numbers.__getitem__, cells), np.int64, len(cells))

    @cached_property
    def labels(self) -> tuple[list[str], np.ndarray]:
        """The values as text, and which of them each cell has; -1 where none."""
        values, codes = self.distinct
        numbers: dict[str, int] = {}
        of = [numbers.setdefault(_label(value), len(numbers)) for value in values]
        return list(numbers), np.array([*of, -1])[codes]

    @cached_property
    def numbers(self) -> np.ndarray:
        """The cells as numbers, NaN where they are missing; CellError where one is no number."""
        kind = self.array.dtype.kind
        if kind in "biuf":
            found = self.array.astype(np.float64)
        elif kind == "m":
            found = self.array / np.timedelta64(1, "D")
        else:
            found = np.array([*self._parsed(_number, "numbers"), np.nan])[self.distinct[1]]
        infinite = np.isinf(found)
        if infinite.any():
            self._refuse("finite numbers", int(infinite.argmax()), "Make it a missing value.")
        return found

    @cached_property
    def moments(self) -> np.ndarray:
        """The cells as times in microseconds, NaT where they are missing; CellError for others."""
        if self.array.dtype.kind == "M":
            return self.array.astype("datetime64[us]")
        found = [*self._parsed(_moment, "dates"), np.datetime64("NaT")]
        return np.array(found, dtype="datetime64[us]")[self.distinct[1]]

    def holds(self, what: str) -> bool:
        """Return whether all cells that are not missing are `numbers`, or `moments`."""
        try:
            getattr(self, what)
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
            advice = "Name the column in categories=, or in text=."
            self._refuse(expected, row, advice, ", as in the first samples")
        return found

    def _refuse(self, expected: str, row: int, advice: str, more: str = "") -> None:
        got = self.array[row : row + 1].tolist()[0]
        raise CellError(
            f"TableEncoder: expected {expected} in column {self.column!r}{more}, got {got!r:.100} "
            f"in row {row}. {advice}",
            self.column,
            row,
        )


# -- columns -------------------------------------------------------------------------------------


@dataclass
class _Column:
    """The map of a column."""

    name: str
    kind: str
    reason: str
    missing: bool = False  # whether it has an indicator of missing values
    mean: float = 0.0
    scale: float = 1.0
    knots: np.ndarray = field(default_factory=lambda: np.zeros(0))  # in standard deviations
    hours: bool = False  # of dates
    values: list[str] = field(default_factory=list)  # those with a feature each
    other: bool = False  # whether the others have one
    terms: Any = None  # the vectoriser of a text

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        name, found = self.name, []
        if self.kind in (NUMBER, DATE):
            n_curves = len(self.knots) + _DEGREE - 1 if len(self.knots) else 0
            found = [name, *(f"{name}_sp_{k}" for k in range(n_curves))]
            for part, size in self._parts().items():
                first = part != "hour"
                found += [f"{name}.{part}={k + first}" for k in range(size)]
        elif self.kind == CATEGORY:
            found = [f"{name}={value}" for value in [*self.values, *[OTHER] * self.other]]
        elif self.kind == TEXT:
            found = [f"{name}={term}" for term in self.terms.terms]
        return found + [f"{name}={MISSING}"] * self.missing

    def _parts(self) -> dict[str, int]:
        if self.kind != DATE:
            return {}
        return PARTS if self.hours else {part: PARTS[part] for part in ("month", "weekday")}

    def encoded(self, cells: _Cells) -> list[Any]:
        """Return the features of cells, as sparse blocks side by side."""
        if self.kind == NUMBER:
            numbers = cells.numbers
            blocks, missing = self._smooth(numbers), np.isnan(numbers)
        elif self.kind == DATE:
            moments = cells.moments
            blocks, missing = self._smooth(_days(moments)), np.isnat(moments)
            blocks += [_one_hot(_part(moments, p), size) for p, size in self._parts().items()]
        elif self.kind == CATEGORY:
            labels, codes = cells.labels
            numbers_of = {value: k for k, value in enumerate(self.values)}
            rest = len(self.values) if self.other else -1
            of = [numbers_of.get(label, rest) for label in labels]
            missing = codes < 0
            unseen = -1 if self.missing else rest
            found = np.array([*of, unseen])[codes]
            blocks = [_one_hot(found, len(self.values) + self.other)]
        elif self.kind == TEXT:
            blocks, missing = [self.terms.transform(cells.texts)], cells.labels[1] < 0
        else:
            return []
        return blocks + [_one_hot(np.where(missing, 0, -1), 1)] * self.missing

    def standardize(self, numbers: np.ndarray, splines: int) -> Self:
        """Set mean, scale and knots by numbers, some of which may be NaN."""
        numbers = numbers[~np.isnan(numbers)]
        if not len(numbers):
            return self
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean, scale = float(numbers.mean()), float(numbers.std())
        if not np.isfinite(scale):
            raise ValueError(
                f"TableEncoder: expected numbers of less than 1e150 in column {self.name!r}, got "
                "larger ones. Scale them, or name the column in drop=."
            )
        self.scale = scale or 1.0
        z = (numbers - self.mean) / self.scale
        if splines:
            knots = np.quantile(z, np.linspace(0, 1, splines))
            knots = knots[np.diff(knots, prepend=-np.inf) > _APART]
            self.knots = knots if len(knots) > 2 else self.knots
        return self

    def _smooth(self, numbers: np.ndarray) -> list[Any]:
        """Return standardised numbers, and cubic B-splines of them; a missing one is the mean."""
        z = np.nan_to_num((numbers - self.mean) / self.scale)
        parts = z, np.zeros(len(z), np.int32), np.arange(len(z) + 1)
        blocks = [sparse.csr_array(parts, shape=(len(z), 1))]
        return blocks + ([_curves(z, self.knots)] if len(self.knots) else [])


def _curves(z: np.ndarray, knots: np.ndarray) -> Any:
    """Return cubic B-splines of numbers, constant outside of the knots; four are not zero.

    They are those of scikit-learn's SplineTransformer.
    """
    before = knots[0] + (knots[1] - knots[0]) * np.arange(-_DEGREE, 0)
    after = knots[-1] + (knots[-1] - knots[-2]) * np.arange(1, _DEGREE + 1)
    z, t = np.clip(z, knots[0], knots[-1]), np.concatenate([before, knots, after])
    at = np.clip(np.searchsorted(t, z, "right") - 1, _DEGREE, len(t) - _DEGREE - 2)
    values = [np.ones(len(z))]  # of the splines of degree 0, 1, ... that are not zero
    for degree in range(1, _DEGREE + 1):
        rest, higher = np.zeros(len(z)), []
        for k, value in enumerate(values):
            left, right = t[at + k + 1 - degree], t[at + k + 1]
            share = value / (right - left)
            higher.append(rest + (right - z) * share)
            rest = (z - left) * share
        values = [*higher, rest]
    indices = at[:, None] + np.arange(-_DEGREE, 1)
    parts = np.stack(values, axis=1).ravel(), indices.ravel(), np.arange(len(z) + 1) * len(values)
    return sparse.csr_array(parts, shape=(len(z), len(t) - _DEGREE - 1))


def _days(moments: np.ndarray) -> np.ndarray:
    """Return the days since 1970."""
    return (moments - np.datetime64(0, "us")) / np.timedelta64(1, "D")


def _part(moments: np.ndarray, part: str) -> np.ndarray:
    """Return months, days of the week or hours, from 0; -1 where a time is missing."""
    if part == "month":
        found = moments.astype("datetime64[M]").astype(np.int64) % 12
    elif part == "weekday":  # 1970 began on a Thursday
        found = (moments.astype("datetime64[D]").astype(np.int64) + 3) % 7
    else:
        found = moments.astype("datetime64[h]").astype(np.int64) % 24
    return np.where(np.isnat(moments), -1, found)


def _one_hot(codes: np.ndarray, width: int) -> Any:
    """Return a row for each code: 1 in its column, or zeros for -1."""
    has = codes >= 0
    ends = np.concatenate([[0], np.cumsum(has)])
    return sparse.csr_array((np.ones(ends[-1]), codes[has], ends), shape=(len(codes), width))


# -- decisions -----------------------------------------------------------------------------------


def _count_up(numbers: np.ndarray) -> bool:
    """Return whether numbers are integers, each of them once, at least every other of a range."""
    if len(numbers) < FEW or np.isnan(numbers).any() or (numbers != np.floor(numbers)).any():
        return False
    in_order = np.sort(numbers)
    dense = in_order[-1] - in_order[0] < 2 * len(numbers)
    return bool(dense and (np.diff(in_order) > 0).all())


@dataclass
class _Rules:
    """Decides on columns by their cells."""

    splines: int
    min_frequency: float
    max_categories: int | None
    max_terms: int

    def column(self, cells: _Cells, listed: str | None) -> _Column:
        """Return the map of a column; `listed` is the parameter that names it."""
        name = cells.column
        if listed == "drop":
            return _Column(name, "dropped", "listed in drop")
        if listed is not None:
            decide = {"numbers": self._number, "categories": self._category, "text": self._text}
            return decide[listed](cells, f"listed in {listed}", True)
        kind = self._only(cells)
        if kind is not None:
            return kind
        if cells.is_categorical:
            return self._category(cells, "a type of categories", True)
        if cells.array.dtype.kind == "M":
            return self._date(cells, "all values are dates")
        if cells.holds("numbers"):
            return self._number(cells, "all values are numbers")
        if cells.holds("moments"):
            return self._date(cells, "all values are dates")
        return self._words(cells)

    def _only(self, cells: _Cells) -> _Column | None:
        """Return the map of a column of one value, or of none."""
        if cells.array.dtype.kind in "biufmM":
            missing = cells.array != cells.array
            some = cells.array[~missing]
            n, has_missing = min(len(some), 1 + bool((some != some[:1]).any())), missing.any()
        else:
            labels, codes = cells.labels
            n, has_missing = len(labels), (codes < 0).any()
        if n > 1:
            return None
        if n == 1 and has_missing:
            return self._category(cells, "one value, or none", True)
        return _Column(cells.column, "constant", "one value only" if n else "no values")

    def _number(self, cells: _Cells, reason: str, listed: bool = False) -> _Column:
        numbers = cells.numbers
        if not listed and _count_up(numbers):
            return _Column(cells.column, "identifier", "integers that count up")
        missing = bool(np.isnan(numbers).any())
        return _Column(cells.column, NUMBER, reason, missing).standardize(numbers, self.splines)

    def _date(self, cells: _Cells, reason: str) -> _Column:
        moments = cells.moments
        missing = np.isnat(moments)
        midnight = moments.astype("datetime64[D]")
        hours = bool((moments[~missing] != midnight[~missing]).any())
        column = _Column(cells.column, DATE, reason, bool(missing.any()), hours=hours)
        return column.standardize(_days(moments), self.splines)

    def _words(self, cells: _Cells) -> _Column:
        labels, codes = cells.labels
        if len(labels) < FEW:
            return self._category(cells, f"{len(labels)} distinct values")
        n_words = np.mean([len(label.split()) for label in labels])
        if n_words >= WORDS:
            return self._text(cells, f"{n_words:.1f} words on average")
        if len(labels) == (codes >= 0).sum():
            return _Column(cells.column, "identifier", "all values differ")
        column = self._category(cells, "")
        if not column.values:
            return _Column(cells.column, "identifier", "no value is frequent")
        column.reason = f"{len(column.values)} frequent of {len(labels)} distinct values"
        return column

    def _category(self, cells: _Cells, reason: str, listed: bool = False) -> _Column:
        labels, codes = cells.labels
        counts = np.bincount(codes[codes >= 0], minlength=len(labels))
        order = np.array(sorted(range(len(labels)), key=labels.__getitem__), dtype=np.int64)
        frequent = self._frequent(counts[order], len(codes))
        values = [labels[k] for k in order[frequent] if labels[k] != OTHER]
        missing = bool((codes < 0).any())
        other = len(values) < len(labels)
        return _Column(cells.column, CATEGORY, reason, missing, values=values, other=other)

    def _frequent(self, counts: np.ndarray, n: int) -> np.ndarray:
        """Return which counts are those of frequent values, as scikit-learn's OneHotEncoder."""
        least = self.min_frequency
        frequent = counts >= (least if is_integer(least, 1) else least * n)
        most = self.max_categories
        if most is not None and frequent.sum() + (not frequent.all()) > most:
            frequent[np.argsort(counts, kind="stable")[: len(counts) - most + 1]] = False
        return frequent

    def _text(self, cells: _Cells, reason: str, listed: bool = False) -> _Column:
        terms = Tfidf(max_features=self.max_terms).fit(cells.texts)
        if not terms.n_terms:
            return _Column(cells.column, "constant", "no words")
        missing = bool((cells.labels[1] < 0).any())
        return _Column(cells.column, TEXT, reason, missing, terms=terms)


# -- stored maps ---------------------------------------------------------------------------------


def _are_ends(name: str, of: str) -> Check:
    def holds(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
        ends = arrays[name]
        steps = np.diff(ends, prepend=0)
        return bool(len(ends) and steps.min() >= 0 and ends[-1] == len(arrays[of]))

    return Check(f"ends of {of} in order", holds)


def _are_knots(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    parts = np.split(arrays["knots"], arrays["knot_ends"][:-1])
    return all(len(part) != 1 and (np.diff(part) > 0).all() for part in parts)


def _differ(arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> bool:
    parts = np.split(arrays["values"], arrays["value_ends"][:-1])
    return all(len(set(part)) == len(part) for part in [*parts, arrays["names"]])


_LISTS = "categories", "text", "numbers", "drop"  # parameters
_OPTIONAL = (*_LISTS, "max_categories")
_SCHEMA = {
    "n_samples": Field("i8", (), COUNT),
    "names": Field("O", ("c",)),
    "kinds": Field("i8", ("c",), between(0, len(KINDS) - 1)),
    "reasons": Field("O", ("c",)),
    "flags": Field("b", ("c", 3)),
    "numbers": Field("f8", ("c", 2), FINITE),
    "knots": Field("f8", ("k",), between(-1e150, 1e150)),
    "knot_ends": Field("i8", ("c",)),
    "values": Field("O", ("v",)),
    "value_ends": Field("i8", ("c",)),
    **{
        f"parameters.{name}": Field("i8 f8", (), between(0, 2**53), name in _OPTIONAL)
        for name in ("splines", "min_frequency", "max_terms", "max_categories")
    },
    **{f"parameters.{name}": Field("O", (f"{name}_",), optional=True) for name in _LISTS},
}
_CHECKS = (
    _are_ends("knot_ends", "knots"),
    _are_ends("value_ends", "values"),
    Check("knots in order", _are_knots),
    Check("different names, and different values of a column", _differ),
    Check("scales > 0", lambda arrays, sizes: arrays["numbers"][:, 1].min() > 0),
)


# -- tables --------------------------------------------------------------------------------------


def _table(X: Any) -> dict[str, _Cells]:
    """Return the columns of a table by their names."""
    if isinstance(X, Mapping):
        names, columns = list(X), list(X.values())
    elif hasattr(X, "column_names") and hasattr(X, "column"):  # of Arrow
        names = list(X.column_names)
        columns = [X.column(k) for k in range(len(names))]
    elif hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names, columns = list(X.columns), []
    else:
        raise ValueError(
            f"TableEncoder: expected a DataFrame, an Arrow table or a mapping of columns, got "
            f"{type(X).__name__}. Make one, such as pandas.DataFrame(X)."
        )
    texts = [str(name) for name in names]
    for k, name in enumerate(texts):
        if name in texts[:k]:
            raise ValueError(
                f"TableEncoder: expected columns of different names, got two of {name!r}. Rename "
                "one of them."
            )
    columns = columns or [X[name] for name in names]
    table = {text: _Cells(text, column) for text, column in zip(texts, columns, strict=True)}
    first = next(iter(table.values()), None)
    for cells in table.values():
        if first is not None and len(cells) != len(first):
            raise ValueError(
                f"TableEncoder: expected columns of one length, got {len(first)} cells in column "
                f"{first.column!r} and {len(cells)} in column {cells.column!r}. Leave out samples."
            )
    return table


def _size(table: dict[str, _Cells]) -> int:
    return len(next(iter(table.values()), ()))


_NAMES = NONE | Constraint(
    lambda value: (
        isinstance(value, Sequence | np.ndarray)
        and not isinstance(value, str)
        and all(isinstance(each, str) for each in value)
    ),
    ("a list of names of columns",),
)


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encoder of tables with numbers, dates, categories, texts and missing values."""

    _constraints: ClassVar[dict[str, Constraint]] = {
        "splines": Constraint(
            lambda value: is_integer(value, 0) and value != 1, ("0", "an integer >= 2")
        ),
        "min_frequency": whole(1)
        | Constraint(
            lambda value: isinstance(value, float) and 0 < value < 1, ("a float between 0 and 1",)
        ),
        "max_categories": whole(2) | NONE,
        "max_terms": whole(1),
        **dict.fromkeys(_LISTS, _NAMES),
    }
    _columns: list[_Column]

    def __init__(
        self,
        splines: int = 8,
        min_frequency: float = 10,
        max_categories: int | None = 100,
        max_terms: int = 4000,
        categories: Sequence[str] | None = None,
        text: Sequence[str] | None = None,
        numbers: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
    ) -> None:
        self.splines, self.min_frequency, self.max_categories = (
            splines,
            min_frequency,
            max_categories,
        )
        self.max_terms, self.categories, self.text = max_terms, categories, text
        self.numbers, self.drop = numbers, drop

    def __sklearn_is_fitted__(self) -> bool:
        return "_columns" in vars(self)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same map."""
        if not (
            isinstance(other, TableEncoder)
            and hasattr(self, "_columns")
            and hasattr(other, "_columns")
        ):
            return self is other
        mine, theirs = self._map(), other._map()
        return mine.keys() == theirs.keys() and all(
            np.array_equal(mine[name], theirs[name]) for name in mine
        )

    __hash__ = None  # type: ignore[assignment]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget all earlier samples, and decide on the columns by new ones."""
        table = _table(X)
        return self._take(self._decided(table), _size(table))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Do what `fit` and then `transform` do, and read the cells only once."""
        table = _table(X)
        columns = self._decided(table)
        X_new = _encoded(columns, table)
        self._take(columns, _size(table))
        return X_new

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Decide on the columns by the first samples; check and count later ones."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X)
        table = self._checked(X)
        for column in self._columns:
            if column.kind in (NUMBER, DATE):
                cells = table[column.name]
                cells.numbers if column.kind == NUMBER else cells.moments  # noqa: B018
        self.n_samples_seen_ += _size(table)
        return self

    def transform(self, X: Any) -> Any:
        """Encode samples."""
        check_is_fitted(self)
        return _encoded(self._columns, self._checked(X))

    def merge(self, *others: Self) -> Self:
        """Add the samples of other encoders with the same map."""
        fitted: list[Self] = []
        for each in (self, *others):
            if not isinstance(each, TableEncoder):
                raise ValueError(
                    f"TableEncoder: expected another TableEncoder, got {type(each).__name__}."
                )
            if each.__sklearn_is_fitted__():
                fitted.append(each)
        for each in fitted[1:]:
            if fitted[0] != each:
                raise ValueError(
                    "TableEncoder: expected encoders with one map, got two maps, since each fit "
                    "makes its own. Fit one, and let its emptied() copies count the other samples."
                )
        if not fitted:
            return self
        return self._take(fitted[0]._columns, sum(each.n_samples_seen_ for each in fitted))

    def emptied(self) -> Self:
        """Return a copy that has seen no samples, with the same map."""
        check_is_fitted(self)
        return type(self)(**self.get_params())._take(self._columns, 0)

    @property
    def decisions_(self) -> list[Decision]:
        """What each column was taken for: (column, kind, reason, n_features)."""
        check_is_fitted(self)
        return [Decision(c.name, c.kind, c.reason, len(c.features)) for c in self._columns]

    @property
    def groups_(self) -> np.ndarray:
        """The number of the column of each feature, of shape (n_features,)."""
        check_is_fitted(self)
        sizes = [len(column.features) for column in self._columns]
        return np.repeat(np.arange(len(sizes)), sizes)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features; `input_features` is ignored."""
        check_is_fitted(self)
        return np.array([name for c in self._columns for name in c.features], dtype=object)

    # -- inside -------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return parameters, map and the number of samples as named arrays; see `from_arrays`."""
        check_is_fitted(self)
        check_constraints(self)
        found = {"n_samples": np.array(self.n_samples_seen_), **self._map()}
        for name, value in self.get_params().items():
            if value is not None:
                kind = object if name in _LISTS else None
                found[f"parameters.{name}"] = np.array(value, dtype=kind)
        return found

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], vectoriser: Callable[[dict[str, np.ndarray]], Any]
    ) -> Self:
        """Return the encoder that `to_arrays` described; SchemaError where arrays do not fit.

        `vectoriser` makes one of arrays.
        """
        own = {name: array for name, array in arrays.items() if not name.startswith("text")}
        check_known("table", own, _SCHEMA)
        checked(own, _SCHEMA, _CHECKS)
        new = cls()
        start = "parameters."
        given = {name.removeprefix(start) for name in own if name.startswith(start)}
        values = {name: own[start + name].tolist() if name in given else None for name in _OPTIONAL}
        new.set_params(**values, **{n: own[start + n].item() for n in given - {*_OPTIONAL}})
        check_constraints(new)
        columns = []
        values_of = np.split(own["values"], own["value_ends"][:-1])
        knots_of = np.split(own["knots"], own["knot_ends"][:-1])
        for k, name in enumerate(own["names"].tolist()):
            column = _Column(name, KINDS[own["kinds"][k]], own["reasons"][k])
            column.missing, column.hours, column.other = own["flags"][k].tolist()
            column.mean, column.scale = own["numbers"][k].tolist()
            column.values, column.knots = values_of[k].tolist(), knots_of[k]
            columns.append(column)
        texts = {f"text{k}.": column for k, column in enumerate(columns) if column.kind == TEXT}
        of_texts = {name: name.partition(".")[0] + "." for name in arrays if name not in own}
        check_known("text", of_texts.values(), texts)
        for start, column in texts.items():
            terms = {n.removeprefix(start): arrays[n] for n in of_texts if n.startswith(start)}
            column.terms = vectoriser(terms)
            if not isinstance(column.terms, Tfidf) or not column.terms.n_terms:
                raise SchemaError(f"{start}terms: expected those of a Tfidf, got others.")
        if not any(column.features for column in columns):
            raise SchemaError("columns: expected one with features, got none.")
        return new._take(columns, own["n_samples"].item())

    def _map(self) -> dict[str, np.ndarray]:
        """Return the map as named arrays."""
        columns = self._columns
        found = {
            "names": np.array([c.name for c in columns], dtype=object),
            "kinds": np.array([KINDS.index(c.kind) for c in columns], dtype=np.int64),
            "reasons": np.array([c.reason for c in columns], dtype=object),
            "flags": np.array([(c.missing, c.hours, c.other) for c in columns], dtype=bool),
            "numbers": np.array([(c.mean, c.scale) for c in columns], dtype=np.float64),
            "knots": np.concatenate([c.knots for c in columns]),
            "knot_ends": np.cumsum([len(c.knots) for c in columns], dtype=np.int64),
            "values": np.array([value for c in columns for value in c.values], dtype=object),
            "value_ends": np.cumsum([len(c.values) for c in columns], dtype=np.int64),
        }
        for k, column in enumerate(columns):
            if column.terms is not None:
                terms = column.terms.to_arrays()
                found |= {f"text{k}.{name}": array for name, array in terms.items()}
        return found

    def _take(self, columns: list[_Column], n: int) -> Self:
        """Have a map and so many samples."""
        names = np.array([column.name for column in columns], dtype=object)
        self.__dict__.update(
            _columns=columns, n_samples_seen_=n, n_features_in_=len(names), feature_names_in_=names
        )  # at once
        return self

    def _decided(self, table: dict[str, _Cells]) -> list[_Column]:
        """Return the map of a table."""
        check_constraints(self)
        if not _size(table):
            raise ValueError("TableEncoder: expected at least one sample, got none.")
        listed = self._listed(list(table))
        rules = _Rules(self.splines, self.min_frequency, self.max_categories, self.max_terms)
        columns = [rules.column(cells, listed.get(name)) for name, cells in table.items()]
        if not any(column.features for column in columns):
            reasons = ", ".join(f"{c.name!r} ({c.reason})" for c in columns[:3])
            raise ValueError(
                f"TableEncoder: expected a column to encode, got none: {reasons}. Name columns in "
                "numbers=, categories= or text=."
            )
        return columns

    def _listed(self, known: list[str]) -> dict[str, str]:
        """Return the parameter that names a column, for each column that one names."""
        found: dict[str, str] = {}
        for parameter in _LISTS:
            for name in getattr(self, parameter) or ():
                if name not in known:
                    raise ParameterError(
                        f"TableEncoder: expected {parameter} (--{parameter}) to have columns of "
                        f"the table, got {name!r}. {did_you_mean(name, known)}"
                    )
                if found.setdefault(name, parameter) != parameter:
                    raise ParameterError(
                        f"TableEncoder: expected each column in one list, got {name!r} in "
                        f"{found[name]} and {parameter}. Choose one."
                    )
        return found

    def _checked(self, X: Any) -> dict[str, _Cells]:
        """Return the columns of a table that has those of the first samples, in any order."""
        table = _table(X)
        known = [column.name for column in self._columns]
        needed = [column.name for column in self._columns if column.features]
        for name in needed:
            if name not in table:
                new = [other for other in table if other not in known]
                hint = did_you_mean(name, new) if new else "Add it, with missing values."
                raise ValueError(
                    f"TableEncoder: expected column {name!r}, as in the first samples, got none. "
                    f"{hint}"
                )
        for name in table:
            if name not in known:
                raise ValueError(
                    f"TableEncoder: expected the columns of the first samples, got {name!r} "
                    f"besides. Leave it out, or fit again."
                )
        return table


def _encoded(columns: list[_Column], table: dict[str, _Cells]) -> Any:
    """Return the features of a table."""
    blocks = [block for c in columns if c.features for block in c.encoded(table[c.name])]
    X = sparse.hstack(blocks, format="csr", dtype=np.float64)
    if X.nnz < 2**31:  # scikit-learn's classifiers need such indices
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
