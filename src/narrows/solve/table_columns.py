"""The map of a table: the features of each column, which stay as the first samples made them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from narrows.errors import ADD_MISSING, ParameterError, unique, unlike, warn
from narrows.solve.cells import (
    CATEGORY,
    DATE,
    DATE_FORMS,
    DAYS,
    MISSING,
    NUMBER,
    TEXT,
    Cells,
    folded,
    moment_of,
    table_of,
)
from narrows.solve.codec import SchemaError, Sizes, check_known, from_arrays
from narrows.solve.columns import narrowed

KINDS = NUMBER, DATE, CATEGORY, TEXT, "identifier", "constant", "dropped"  # numbered in files
OTHER = "(other)"
PARTS = {"month": 12, "weekday": 7, "hour": 24}  # of a date, and how many values each has
# days between the first date and the last that a part needs: a year, two weeks, and two days, of
# which the last day or hour has just begun
_SPANS = {"month": 364, "weekday": 13, "hour": 47 / 24}
_CURVED = 3 * 365 - 1  # and splines: over fewer years, their end is that of a season or of a week
_EVER = 2e8  # days since 1970: more than a time has
_BOOLEANS = {"0": "false", "1": "true"}
_WHOLE = re.compile(r"(-?\d+)\.0+")
# cells of no known value from which on a warning names the column, and where others have a feature
_UNKNOWN, _OTHERS = 20, 100
ANY_CASE = "any case"  # form of categories that may differ in case and outer spaces
_EITHER = "numbers or days"  # form of numbers of models without forms
_FORMS = {  # by kind
    NUMBER: {"", DAYS, _EITHER}, DATE: {"", *DATE_FORMS}, CATEGORY: {"", ANY_CASE},
}  # fmt: skip
_DEGREE = 3
_APART = 1e-9  # standard deviations between two knots


class ColumnDecision(NamedTuple):
    """What a column of the table was taken for, why, and how many features it has."""

    column: str
    kind: str
    reason: str
    n_features: int


@dataclass(eq=False)
class Column:
    """The map of a column."""

    name: str
    kind: str
    reason: str
    missing: bool = False  # whether it has an indicator of missing values
    mean: float = 0.0
    scale: float = 1.0
    knots: np.ndarray = field(default_factory=lambda: np.zeros(0))  # in standard deviations
    parts: Sequence[str] = ()  # of dates
    days: tuple[float, float] = (-_EVER, _EVER)  # the first and the last date
    # of categories, those with a feature each; of numbers and dates, texts of missing values
    values: list[str] = field(default_factory=list)
    form: str = ""  # how numbers, dates and categories are written, if not as usual
    other: bool = False  # whether the others have one
    terms: Any = None  # the vectoriser of a text

    @cached_property
    def features(self) -> list[str]:
        """The names of the features."""
        name, found = self.name, []
        if self.kind in (NUMBER, DATE):
            n_curves = len(self.knots) + _DEGREE - 1 if len(self.knots) else 0
            found = [name, *(f"{name}_sp_{k}" for k in range(n_curves))]
            for part in self.parts:
                first = part != "hour"
                found += [f"{name}.{part}={k + first}" for k in range(PARTS[part])]
        elif self.kind == CATEGORY:
            found = [f"{name}={value}" for value in [*self.values, *[OTHER] * self.other]]
        elif self.kind == TEXT:
            found = [f"{name}={term}" for term in self.terms.names]
        return found + [f"{name}={MISSING}"] * self.missing

    def check(self, cells: Cells | None) -> None:
        """Raise CellError where a cell is not what the column has."""
        if cells is None or self.kind not in (NUMBER, DATE, CATEGORY, TEXT):
            return
        if self.kind in (NUMBER, DATE):
            cells.form, cells.tokens = self.form, self.values
        cells.values(self.kind)
        if self.kind == NUMBER:
            cells.check_finite()
            if self.form != _EITHER:
                cells.check_unit(self.form)

    def encoded(self, cells: Cells) -> list[Any]:
        """Return the features of cells, as sparse blocks that stand side by side."""
        if self.kind == NUMBER:
            numbers = cells.numbers
            blocks, missing = self._smooth(numbers), np.isnan(numbers)
        elif self.kind == DATE:
            moments = cells.moments
            days, missing = np.clip(days_of(moments), *self.days), np.isnat(moments)
            blocks = self._smooth(days)
            blocks += [_one_hot(_part(moments, part), PARTS[part]) for part in self.parts]
        elif self.kind == CATEGORY:
            labels, codes = cells.labels
            of = [self._code_of(label) for label in labels]
            self._warn_of_unknown(labels, codes, of)
            missing = codes < 0
            unseen = -1 if self.missing else self._rest
            found = np.array([*of, unseen])[codes]
            blocks = [_one_hot(found, len(self.values) + self.other)]
        elif self.kind == TEXT:
            blocks, missing = [self.terms.samples_of(cells.texts)], cells.labels[1] < 0
        else:
            return []
        return blocks + [_one_hot(np.where(missing, 0, -1), 1)] * self.missing

    @property
    def _rest(self) -> int:
        return len(self.values) if self.other else -1

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {self._spelled(value): k for k, value in enumerate(self.values)}

    def _spelled(self, label: str) -> str:
        return folded(label) if self.form == ANY_CASE else label

    @cached_property
    def _forms(self) -> tuple[dict[str, int], bool]:
        """The codes of the forms that one value has, and whether 0 and 1 are booleans."""
        forms = [self._spelled(_form(value)) for value in self.values]
        are_booleans = {*forms} <= {*_BOOLEANS, *_BOOLEANS.values()}
        forms = [_BOOLEANS.get(form, form) if are_booleans else form for form in forms]
        times = Counter(forms)
        return {f: k for k, f in enumerate(forms) if times[f] == 1}, are_booleans

    def _code_of(self, label: str) -> int:
        """Return the code of a value as it is written, or as other types and files write it."""
        code = self._codes.get(self._spelled(label))
        if code is not None:
            return code
        forms, are_booleans = self._forms
        form = self._spelled(_form(label.strip() if self.form == ANY_CASE else label))
        return forms.get(_BOOLEANS.get(form, form) if are_booleans else form, self._rest)

    def _warn_of_unknown(self, labels: list[str], codes: np.ndarray, of: list[int]) -> None:
        """Warn where many cells have no value with a feature of its own."""
        fewest = _OTHERS if self.other else _UNKNOWN
        if self.values and {*of} == {self._rest} and (codes >= 0).sum() >= fewest:
            warn(
                f"expected some of the known values in column {self.name!r}, such as "
                f"{self.values[0]!r:.40}, got others only, such as {labels[0]!r:.40}. Write them "
                "as in the first samples."
            )

    def standardize(self, numbers: np.ndarray, splines: int) -> Self:
        """Set mean, scale and knots by numbers, some of which may be NaN."""
        numbers = numbers[~np.isnan(numbers)]
        if not len(numbers):
            return self
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean, scale = float(numbers.mean()), float(numbers.std())
        if not np.isfinite(scale):
            raise ParameterError(
                f"expected numbers of less than 1e150 in column {self.name!r}, got "
                "larger ones. Scale them, or name the column in `drop`."
            )
        # of equal numbers it is rounding, by scikit-learn's bound for StandardScaler
        error = np.finfo(np.float64).eps * len(numbers) * abs(self.mean)
        if scale**2 <= np.finfo(np.float64).eps * len(numbers) * scale**2 + error**2:
            scale, splines = 0.0, 0
        self.scale = scale or 1.0
        z = (numbers - self.mean) / self.scale
        if splines:
            knots = np.quantile(z, np.linspace(0, 1, splines))
            knots = knots[np.diff(knots, prepend=-np.inf) > _APART]
            self.knots = knots if len(knots) > 2 else self.knots
        return self

    def span(self, moments: np.ndarray, splines: int) -> Self:
        """Set the range of dates, parts and splines by times, some of which may be NaT, not all."""
        some = moments[~np.isnat(moments)]
        ends = np.array([some.min(), some.max()])
        self.days = tuple(days_of(ends).tolist())
        days = (ends[1] - ends[0]) / np.timedelta64(1, "D")
        known = {part: days >= span for part, span in _SPANS.items()}
        known["hour"] &= bool((some != some.astype("datetime64[D]")).any())
        self.parts = [part for part in PARTS if known[part]]
        return self.standardize(days_of(moments), splines if days >= _CURVED else 0)

    def _smooth(self, numbers: np.ndarray) -> list[Any]:
        """Return standardised numbers, and cubic B-splines of them; a missing one is the mean."""
        z = np.nan_to_num((numbers - self.mean) / self.scale)
        parts = z, np.zeros(len(z), np.int32), np.arange(len(z) + 1)
        blocks = [sparse.csr_array(parts, (len(z), 1))]
        return blocks + ([_curves(z, self.knots)] if len(self.knots) else [])


def _form(label: str) -> str:
    """Return one text for what types and files write as 1 and 1.0, true and True, or a time."""
    if label.lower() in _BOOLEANS.values():
        return label.lower()
    if whole := _WHOLE.fullmatch(label):
        return whole[1]
    try:
        return str(moment_of(label))
    except ValueError:
        return label


def _curves(z: np.ndarray, knots: np.ndarray) -> sparse.csr_array:
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
    return sparse.csr_array(parts, (len(z), len(t) - _DEGREE - 1))


def days_of(moments: np.ndarray) -> np.ndarray:
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


def _one_hot(codes: np.ndarray, width: int) -> sparse.csr_array:
    """Return a row for each code: 1 in its column, or zeros for -1."""
    has = codes >= 0
    ends = np.concatenate([[0], np.cumsum(has)])
    return sparse.csr_array((np.ones(ends[-1]), codes[has], ends), (len(codes), width))


# -- maps ----------------------------------------------------------------------------------------


class _StoredMap(NamedTuple):
    """The arrays of a `TableMap`, but for those of texts; of k knots and v values in all."""

    names: Annotated[np.ndarray, "O", "c"]
    kinds: Annotated[np.ndarray, "i8", "c"]
    reasons: Annotated[np.ndarray, "O", "c"]
    flags: Annotated[np.ndarray, "b", "c 3"]
    numbers: Annotated[np.ndarray, "f8", "c 2"]
    knots: Annotated[np.ndarray, "f8", "k"]
    knot_ends: Annotated[np.ndarray, "i8", "c"]
    values: Annotated[np.ndarray, "O", "v"]
    value_ends: Annotated[np.ndarray, "i8", "c"]
    # maps without these have months and days of the week of all dates, and no range
    calendar: Annotated[np.ndarray | None, "b", "c 2"] = None
    days: Annotated[np.ndarray | None, "f8", "c 2"] = None
    forms: Annotated[np.ndarray | None, "O", "c"] = None

    @property
    def knots_of(self) -> list[np.ndarray]:
        """The knots of each column."""
        return np.split(self.knots, self.knot_ends[:-1])

    @property
    def values_of(self) -> list[np.ndarray]:
        """The values of each column."""
        return np.split(self.values, self.value_ends[:-1])

    def check_arrays(self, sizes: Sizes) -> None:
        """Raise SchemaError where numbers are out of range or order."""
        for ends, of in ((self.knot_ends, self.knots), (self.value_ends, self.values)):
            if not len(ends) or np.diff(ends, prepend=0).min() < 0 or ends[-1] != len(of):
                raise SchemaError("knot_ends, value_ends: expected ends in order, got others.")
        days = np.zeros((1, 2)) if self.days is None else self.days
        kinds = (self.kinds >= 0) & (self.kinds < len(KINDS))
        for name, fits in (
            ("kinds", kinds.all()),
            ("numbers", self.numbers[:, 1].min() > 0),
            ("days", (np.diff(days) >= 0).all() and np.abs(days).max() <= _EVER),
            ("knots", all(len(part) != 1 and (np.diff(part) > 0).all() for part in self.knots_of)),
            ("knots", np.abs(self.knots).max(initial=0.0) <= 1e150),
            ("names", len(set(self.names)) == len(self.names)),
            ("values", all(len(set(part)) == len(part) for part in self.values_of)),
        ):
            if not fits:
                raise SchemaError(f"{name}: expected values of a map in range, got others.")


@dataclass(frozen=True)
class TableMap:
    """The maps of all columns."""

    columns: Sequence[Column]

    @property
    def names(self) -> np.ndarray:
        """The names of the features."""
        found = [(name, column.name) for column in self.columns for name in column.features]
        names = [name for name, _ in found]
        # as a=b=x, of the value b=x in column a, and of the value x in column a=b
        longer = [name if name == column else f"{name} [{column}]" for name, column in found]
        return np.array(unique(names, longer), dtype=object)

    def checked(self, X: Any) -> dict[str, Cells]:
        """Return the columns of a table that has those of the first samples, in any order."""
        table = table_of(X)
        known = [column.name for column in self.columns]
        missing = [c.name for c in self.columns if c.features and c.name not in table]
        new = [name for name in table if name not in known]
        if missing or new:
            got = unlike(missing, new, ADD_MISSING)
            raise ValueError(f"expected the columns of the first samples, got {got}")
        for column in self.columns:
            column.check(table.get(column.name))
        return table

    def encoded(self, table: Mapping[str, Cells]) -> sparse.csr_array:
        """Return the features of checked columns."""
        with_features = [column for column in self.columns if column.features]
        blocks = [b for c in with_features for b in c.encoded(table[c.name])]
        return narrowed(sparse.hstack(blocks, format="csr"))

    @property
    def groups(self) -> np.ndarray:
        """The number of the column of each feature."""
        sizes = [len(column.features) for column in self.columns]
        return np.repeat(np.arange(len(sizes)), sizes)

    @property
    def decisions(self) -> list[ColumnDecision]:
        """What each column was taken for."""
        return [ColumnDecision(c.name, c.kind, c.reason, len(c.features)) for c in self.columns]

    def is_same(self, other: TableMap) -> bool:
        """Return whether another map gives the same features."""
        mine, theirs = self.to_arrays(), other.to_arrays()
        return mine.keys() == theirs.keys() and all(
            np.array_equal(mine[name], theirs[name]) for name in mine
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the map as named arrays."""
        columns = self.columns
        parts = np.array([[part in c.parts for part in PARTS] for c in columns])
        found = {
            "names": np.array([c.name for c in columns], dtype=object),
            "kinds": np.array([KINDS.index(c.kind) for c in columns], dtype=np.int64),
            "reasons": np.array([c.reason for c in columns], dtype=object),
            "flags": np.array([(c.missing, "hour" in c.parts, c.other) for c in columns]),
            "calendar": parts[:, :2],
            "days": np.array([c.days for c in columns], dtype=np.float64),
            "numbers": np.array([(c.mean, c.scale) for c in columns], dtype=np.float64),
            "knots": np.concatenate([c.knots for c in columns]),
            "knot_ends": np.cumsum([len(c.knots) for c in columns], dtype=np.int64),
            "values": np.array([value for c in columns for value in c.values], dtype=object),
            "value_ends": np.cumsum([len(c.values) for c in columns], dtype=np.int64),
            "forms": np.array([c.form for c in columns], dtype=object),
        }
        for k, column in enumerate(columns):
            if column.terms is not None:
                terms = column.terms.to_arrays()
                found |= {f"text{k}.{name}": array for name, array in terms.items()}
        return found

    @classmethod
    def of(
        cls, arrays: Mapping[str, np.ndarray], vectoriser: Callable[[dict[str, np.ndarray]], Any]
    ) -> Self:
        """Return the map that `to_arrays` described; SchemaError where arrays do not fit.

        `vectoriser` makes one of arrays.
        """
        left = dict(arrays)
        stored: _StoredMap = from_arrays(_StoredMap, left)
        values_of, knots_of, columns = stored.values_of, stored.knots_of, list[Column]()
        for k, name in enumerate(stored.names.tolist()):
            column = Column(name, KINDS[stored.kinds[k]], stored.reasons[k])
            column.missing, hours, column.other = stored.flags[k].tolist()
            if column.missing and column.kind not in (NUMBER, DATE, CATEGORY, TEXT):
                raise SchemaError(f"flags: expected none of column {name!r:.100}, got one.")
            if column.kind == DATE:
                given = (True, True) if stored.calendar is None else stored.calendar[k]
                known = *given, hours
                column.parts = [part for part, has in zip(PARTS, known, strict=True) if has]
                if stored.days is not None:
                    column.days = tuple(stored.days[k].tolist())
            forms = stored.forms
            column.form = _EITHER * (column.kind == NUMBER) if forms is None else forms[k]
            if column.form not in _FORMS.get(column.kind, {""}):
                raise SchemaError(
                    f"forms: expected a known one of column {name!r:.100}, got another."
                )
            column.mean, column.scale = stored.numbers[k].tolist()
            column.values, column.knots = values_of[k].tolist(), knots_of[k]
            if column.kind == TEXT:
                start = f"text{k}."
                names = [n for n in left if n.startswith(start)]
                found = vectoriser({n.removeprefix(start): left.pop(n) for n in names})
                if found.names is None or not len(found.names):
                    raise SchemaError(f"{start}terms: expected terms with features, got none.")
                column.terms = found
            columns.append(column)
        check_known("map", left, ())
        new = cls(columns)
        if not len(new.names):
            raise SchemaError("map: expected a column with features, got none.")
        return new
