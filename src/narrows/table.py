"""Tables of numbers, dates, categories and texts as sparse samples, by a map that is frozen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from narrows.errors import ParameterError, did_you_mean, warn
from narrows.methods.parameters import (
    NONE,
    Constraint,
    check_constraints,
    is_integer,
    whole,
    word,
)
from narrows.solve.arrays import as_asked, plain
from narrows.solve.cells import (
    CATEGORY,
    DATE,
    DAY_FIRST,
    DAYS,
    LIKE_NUMBER,
    MONTH_FIRST,
    NUMBER,
    TEXT,
    Cells,
    folded,
    form_of_dates,
    reads_as_number,
    size_of,
    table_of,
)
from narrows.solve.codec import check_known, taken
from narrows.solve.table_columns import (
    ANY_CASE,
    OTHER,
    Column,
    ColumnDecision,
    TableMap,
    days_of,
)
from narrows.text import FeatureMaker, Tfidf

__all__ = ["TableEncoder"]

LISTS = "categories", "text", "numbers", "drop"  # parameters of an encoder
_NUMBERS = "splines", "min_frequency", "max_terms", "max_categories"
FEW = 40  # distinct values of a category, as in skrub, and samples in which all values may differ
WORDS = 4  # of a text, on average
_MOSTLY = 0.9  # of the values are numbers, or differ
_RARE = 0.1  # of the cells may be texts that stand for missing values
_OFTEN, _SHARE = 5, 0.005  # cells with one value, and of all, that may be a code
_MOST_CODES = 3
_USUAL = re.compile(r"-\d+|-?[789]*\.?[789]+")  # codes of missing values, beside 0
_SEVERAL = 10  # values that show how far others are apart
_FEWEST = 100  # integers of which an id is known
_HOUSEHOLD = 5  # samples with one id, on average, and _OFTEN times as many at most,
_HOUSEHOLDS = 1000  # where there are so many
# symbols that are no currency: of ranks, and of the ends of a range such as 65+
_POINTED = re.compile(r"\s*[-+]?[1-9]\d{0,2}\.\d{3}\s*")  # a decimal, or thousands
_NO_AMOUNT = re.compile(r"\s*[<>+#*~]|.*[<>+#*~]\s*$")


# -- decisions -----------------------------------------------------------------------------------


def _count_up(numbers: np.ndarray) -> bool:
    """Return whether numbers are integers, each of them once, at least every other of a range."""
    if len(numbers) < FEW or not np.isfinite(numbers).all() or (numbers % 1 != 0).any():
        return False
    in_order = np.sort(numbers)
    dense = in_order[-1] - in_order[0] < 2 * len(numbers)
    return bool(dense and (np.diff(in_order) > 0).all())


def _codes(numbers: np.ndarray, of_dates: bool) -> tuple[list[float], np.ndarray]:
    """Return frequent values far outside all others, such as 999 of an age, and those others.

    There are three at most. Far is a tenth of the range of 98 % of the others for what looks like a
    code, and the range for other integers; ten times the range where others are few; or below zero.
    """
    numbers = numbers[~np.isnan(numbers)]
    found: list[float] = []
    least = max(_OFTEN, _SHARE * len(numbers))
    if (
        not len(numbers)
        or max((numbers == e).sum() for e in (numbers.min(), numbers.max())) < least
    ):
        return [], numbers
    values, counts = np.unique(numbers, return_counts=True)

    def is_code(k: int) -> bool:
        rest = values[:-1] if k else values[1:]
        if counts[k] < least or len(rest) < 2 or values[k] == -rest[-1 - k]:  # a limit of both
            return False
        gap = abs(values[k] - rest[k])
        if len(rest) < _SEVERAL:
            return bool(gap > 10 * (rest[-1] - rest[0]))
        low, high = np.quantile(rest, [0.01, 0.99])
        shown = _shown(values[k])
        is_usual = shown == "0" or (_USUAL.fullmatch(shown) is not None and not of_dates)
        if not (is_usual or float(shown).is_integer()):
            return False
        far = gap > max((high - low) / (10 if is_usual else 1), 5 * np.median(np.diff(rest)))
        return bool(far or (values[k] < 0 <= rest[0] and not of_dates))

    while len(values) and (k := next((k for k in (-1, 0) if is_code(k)), None)) is not None:
        found.append(float(values[k]))
        rest = slice(-1) if k else slice(1, None)
        values, counts = values[rest], counts[rest]
    return sorted(found) if len(found) <= _MOST_CODES else [], values


def _hardly_repeat(numbers: np.ndarray) -> tuple[bool, bool]:
    """Return whether numbers are integers that hardly repeat, and whether they are spread evenly.

    Nearly all of them differ, or few of each are spread evenly, such as numbers of households.
    Amounts that differ are rarely even: most have many small ones and few large ones.
    """
    numbers = numbers[~np.isnan(numbers)]
    if len(numbers) < _FEWEST or (numbers % 1 != 0).any():
        return False, False
    numbers = np.sort(numbers)
    _, counts = np.unique(numbers, return_counts=True)
    places = (numbers - numbers[0]) / (numbers[-1] - numbers[0] or 1)
    even = bool(np.abs(places - np.linspace(0, 1, len(numbers))).max() < 0.2)
    few = len(numbers) <= _HOUSEHOLD * len(counts) and counts.max() <= _OFTEN * _HOUSEHOLD
    many = len(counts) >= _HOUSEHOLDS
    return len(counts) >= _MOSTLY * len(numbers) or (even and few and many), even


def _shown(number: float) -> str:
    return f"{number:.15g}"


def _shown_day(days: float) -> str:
    moment = np.datetime64(0, "s") + np.timedelta64(round(days * 86400), "s")
    return str(moment).removesuffix("T00:00:00")


def _written_otherwise(cells: Cells) -> str:
    """Return how many texts there are with case and outer spaces, and one of them, for a reason."""
    labels, one = cells.labels[0], cells.one_case[0]
    if len(labels) == len(one):
        return ""
    known = {folded(label): label for label in one}
    other = min(label for label in labels if label != known[folded(label)])
    return f", {len(labels)} as written: {other!r:.40} is {known[folded(other)]!r:.40}"


def _named(tokens: Sequence[str], otherwise: str) -> str:
    """Return a reason, and which texts stand for missing values."""
    named = ", ".join(f"{token!r:.40}" for token in tokens)
    return f"{otherwise}, and {named} for missing values" if tokens else otherwise


@dataclass
class _Rules:
    """Decides on columns by their cells."""

    splines: int
    min_frequency: float
    max_categories: int | None
    max_terms: int
    dates: str

    def column(self, cells: Cells, listed: str | None) -> Column:
        """Return the map of a column; `listed` is the parameter that names it."""
        name = cells.column
        if listed == "drop":
            return Column(name, "dropped", "listed in drop")
        if listed == "categories":
            return self._category(cells, "listed in categories", one_case=False)
        if listed == "text":
            return self._text(cells, "listed in text")
        if listed == "numbers":
            return self._number(cells, "listed in numbers")
        kind = self._kind(cells)
        missing, n_values = self._counted(cells, kind)
        if not n_values or (n_values == 1 and not missing):
            return Column(name, "constant", "one value only" if n_values else "no values")
        if n_values == 1:
            return self._category(cells, "one value, or none")
        if kind == CATEGORY:
            return self._category(cells, "a type of categories")
        if kind == DATE:
            return self._date(cells, missing)
        if kind == TEXT:
            return self._words(cells)
        if _count_up(cells.numbers):
            return Column(name, "identifier", "integers that count up")
        column = self._number(cells, "all values are numbers")
        self._warn_of_points(cells)
        self._warn_of_id(column, cells.numbers)
        self._warn_of_codes(column, cells.numbers, _shown)
        return column

    def _kind(self, cells: Cells) -> str:
        """Return what cells are, and let them be read so."""
        if cells.is_categorical:
            return CATEGORY
        if cells.are_booleans:  # as in a file of texts
            return TEXT
        if cells.array.dtype.kind == "M":
            return DATE
        if cells.holds(NUMBER):
            return TEXT if cells.are_rounded else NUMBER
        if cells.holds(DATE):
            return DATE
        if (tokens := cells.exceptions(NUMBER, _RARE)) is not None:
            cells.tokens = tokens
            return TEXT if cells.are_rounded else NUMBER
        order = DAY_FIRST if self.dates == "auto" else self.dates
        cells.form, unsure = form_of_dates(cells.distinct[0], order)
        tokens = cells.exceptions(DATE, _RARE)
        if tokens is not None and (not unsure or self.dates != "auto"):
            cells.tokens = tokens
            return DATE
        if tokens is not None:
            warn(
                f"expected dates whose day or month is known in column "
                f"{cells.column!r}, got {unsure!r} and others with no number above 12. Set `dates` "
                f"to {DAY_FIRST!r} or {MONTH_FIRST!r}, or name the column in `categories` "
                "or `drop`."
            )
        cells.form = ""
        return TEXT

    def _counted(self, cells: Cells, kind: str) -> tuple[bool, int]:
        """Return whether cells are missing, and how many values the others have: 0, 1, or 2."""
        found = cells.one_case[1] if kind in (CATEGORY, TEXT) else cells.values(kind)
        missing = found < 0 if kind in (CATEGORY, TEXT) else found != found
        some = found[~missing]
        return bool(missing.any()), int(len(some) and 1 + bool((some != some[0]).any()))

    def _number(self, cells: Cells, reason: str) -> Column:
        if not cells.holds(NUMBER):  # that a column is listed as numbers
            cells.tokens = cells.exceptions(NUMBER, 1) or ()
        cells.check_finite()
        numbers = cells.numbers
        missing = bool(np.isnan(numbers).any())
        column = Column(cells.column, NUMBER, _named(cells.tokens, reason), missing)
        column.values, column.form = [*cells.tokens], DAYS * cells.are_durations
        return column.standardize(numbers, self.splines)

    def _date(self, cells: Cells, missing: bool) -> Column:
        reason = "all values are dates" + f", {cells.form}" * bool(cells.form)
        column = Column(cells.column, DATE, _named(cells.tokens, reason), missing)
        column.values, column.form = [*cells.tokens], cells.form
        moments = cells.moments
        column.span(moments, self.splines)
        self._warn_of_codes(column, days_of(moments), _shown_day)
        return column

    def _warn_of_points(self, cells: Cells) -> None:
        """Name texts such as 950 and 1.250, which no decimals are: these end in no 0, or all do."""
        if cells.array.dtype.kind in "biufm":
            return
        texts = [text for text in cells.labels[0] if text.strip() not in cells.tokens]
        pointed = [text for text in texts if "." in text]
        plain = next((text for text in texts if text.strip().isdecimal()), None)
        ending = next((text for text in pointed if text.strip().endswith("0")), None)
        if plain and ending and all(map(_POINTED.fullmatch, pointed)):
            warn(
                f"expected numbers such as 1234.5 in column {cells.column!r}, got "
                f"{plain!r:.40} and {ending!r:.40}, as with points between thousands. Write them "
                "without, or name the column in `numbers`."
            )

    def _warn_of_id(self, column: Column, numbers: np.ndarray) -> None:
        """Name integers that may be an id."""
        hardly_repeat, evenly = _hardly_repeat(numbers)
        if hardly_repeat:
            column.reason += ", integers that hardly repeat: an id?"
        if hardly_repeat and evenly:
            warn(
                f"expected numbers in column {column.name!r}, got integers that "
                "hardly repeat, as those of an id. If it is one, name the column in `drop`; "
                "if not, in `numbers`."
            )

    def _warn_of_codes(
        self, column: Column, numbers: np.ndarray, shown: Callable[[float], str]
    ) -> None:
        """Name frequent values far from all others, which may be codes of a missing value."""
        codes, others = _codes(numbers, column.kind == DATE)
        if codes:
            named, ends = " and ".join(map(shown, codes)), map(shown, (others[0], others[-1]))
            column.reason += f", {named} far from all others ({' to '.join(ends)})"
            keep = "" if column.kind == DATE else "; if not, name the column in `numbers`"
            warn(
                f"expected {column.kind}s of one range in column {column.name!r}, "
                f"got {named}, frequent and far from all others. If this stands for a missing "
                f"value, leave the cell empty{keep}."
            )

    def _words(self, cells: Cells) -> Column:
        labels, codes = cells.one_case
        words = [label for label in labels if not reads_as_number(label)]
        alike = [label for label in words if LIKE_NUMBER.fullmatch(label)]
        # of numbers, and of what is meant as one
        share = 1 + (len(alike) - len(words)) / len(labels)
        few = len(labels) < FEW
        amounts = [label for label in alike if not _NO_AMOUNT.match(label)]
        if share > _MOSTLY and (len(amounts) == len(words) > 1 if few else words):
            tokens = cells.exceptions(NUMBER, 1)
            lists = "`numbers`, " if tokens is not None else ""
            warn(
                f"expected numbers such as 1234.5 in column {cells.column!r}, got "
                f"{words[0]!r:.40}. Write them so, and nothing for a missing value; or name the "
                f"column in {lists}`categories` or `drop`."
            )
        if few:
            return self._category(cells, f"{len(labels)} distinct values")
        no_number = f", and {words[0]!r:.40} is no number" if words and share > 0.5 else ""
        n_words = np.mean([len(label.split()) for label in cells.labels[0]])
        if n_words >= WORDS:
            return self._text(cells, f"{n_words:.1f} words on average")
        if len(cells.labels[0]) == (codes >= 0).sum():
            return Column(cells.column, "identifier", f"all values differ{no_number}")
        column = self._category(cells, "")
        if not column.values:
            return Column(cells.column, "identifier", f"no value is frequent{no_number}")
        frequent = f"{len(column.values)} frequent of {len(labels)} distinct values"
        column.reason = frequent + no_number + column.reason
        return column

    def _category(self, cells: Cells, reason: str, one_case: bool = True) -> Column:
        """Return a category; values that differ by case or outer spaces may be one."""
        labels, codes = cells.one_case if one_case else cells.labels
        counts = np.bincount(codes[codes >= 0], minlength=len(labels))
        order = np.array(sorted(range(len(labels)), key=labels.__getitem__), dtype=np.int64)
        frequent = self._frequent(counts[order], len(codes))
        values = [labels[k] for k in order[frequent] if labels[k] != OTHER]
        missing = bool((codes < 0).any())
        other = len(values) < len(labels)
        if one_case:
            reason += _written_otherwise(cells)
        column = Column(cells.column, CATEGORY, reason, missing, values=values, other=other)
        column.form = ANY_CASE * one_case
        return column

    def _frequent(self, counts: np.ndarray, n: int) -> np.ndarray:
        """Return which counts are those of frequent values, as scikit-learn's OneHotEncoder."""
        least = self.min_frequency
        frequent = counts >= (least if is_integer(least, 1) else least * n)
        most = self.max_categories
        if most is not None and frequent.sum() + (not frequent.all()) > most:
            frequent[np.argsort(counts, kind="stable")[: len(counts) - most + 1]] = False
        return frequent

    def _text(self, cells: Cells, reason: str) -> Column:
        terms = Tfidf(max_features=self.max_terms).fit(cells.texts)
        if not terms.n_terms:
            return Column(cells.column, "constant", "no words")
        missing = bool((cells.labels[1] < 0).any())
        return Column(cells.column, TEXT, reason, missing, terms=terms)


# -- the encoder ---------------------------------------------------------------------------------

_NAMES = NONE | Constraint(
    lambda value: (
        isinstance(value, Sequence | np.ndarray)
        and not isinstance(value, str)
        and all(isinstance(each, str) for each in value)
    ),
    ("a list of names of columns",),
)


class TableEncoder(FeatureMaker):
    """Encoder of tables with numbers, dates, categories, texts and missing values.

    The encoder decides by the first samples what each column is. The map of columns to features is
    then frozen: later samples get the same features, in any batches. Samples become sparse. Columns
    are matched by name and may come in any order.

    - **number**: integers, floats, and texts that all read as numbers. Up to five other texts
      without digits, such as ``-``, in at most a tenth of the rows are missing values, in any case
      and with outer spaces. Durations are numbers of days, and do not mix with plain numbers. The
      features are the standardised number and cubic B-splines of it, with which a linear method
      fits a smooth curve for each column. There are no splines where quantiles of the numbers have
      fewer than three distinct values. A missing number is replaced by the mean.
    - **date**: times, and texts such as ``2026-03-14`` or ``2026-03-14 15:09``, or all in one form
      with four digits for the year, such as ``14.03.2026`` or ``3/14/2026 3:09 pm``. Numbers above
      12 decide whether the day or the month is first; without any, `dates` does. A few other texts
      are missing values, as among numbers. The features are those of a number, in days since 1970,
      and categories of the month, of the day of the week (1 is Monday), and, if there are times, of
      the hour. Each needs dates in the first samples that span enough time: splines three years,
      months one year, days of the week two weeks, and hours two days. Times with a zone are read in
      UTC. The number of days is limited to the range of these dates, so that later samples have
      that of the last date.
    - **category**: booleans, fewer than 40 distinct texts, or more if some are frequent. Texts that
      differ by case or outer spaces only are one, except in `categories`. Each frequent value has
      the feature ``column=value``; the others share ``column=(other)``. A value that is not known
      belongs to the others; its features are zero if there are none. ``1.0`` is known as ``1``,
      ``true`` as ``True`` and a time at midnight as its date, and the reverse, unless the first
      samples had both. A warning names a column without any known value.
    - **text**: at least 40 distinct texts, of 4 words or more on average. The features are those of
      `Tfidf`.
    - Columns without features: **identifier**, if all texts or nearly all differ, or integers count
      up; **constant**, if there is one value only; and **dropped**, as `drop` says.

    Of features that would have one name, each has its column behind the name: ``a=b=x [a]``.

    A column with missing values in the first samples also has the feature ``column=(missing)``.
    None, NaN, empty texts, and ``NA``, ``NULL``, ``?`` and the like are missing values. In a column
    without that feature, a missing category or text later is one that is not known.

    Warnings name numbers that are written otherwise, such as ``1,250``; frequent values far outside
    all others, such as 999 of an age, which may be codes of missing values; and integers that
    hardly repeat, which may be an id. `numbers` and `categories` silence them.

    Parameters
    ----------
    splines : int
        Number of knots of the splines, at quantiles of the first samples: 0, or at least 2. With k
        knots a column has k + 2 splines.
    min_frequency : int or float
        Frequent values of a category are those of so many samples; a float is a share of the first
        samples.
    max_categories : int, optional
        Most features of a category, that of other values included.
    max_terms : int
        Most features of a text: the terms that occur most often.
    categories, text, numbers, drop : list of str, optional
        Names of columns that are categories, texts or numbers, or that are left out, whatever they
        hold. Up to five texts in a column of `numbers` are missing values, in any number of rows.
    dates : {"auto", "day-first", "month-first"}
        How to read dates such as ``03.04.2026`` in a column without a number above 12. With "auto"
        a warning asks for it, and the column is no date.

    Attributes
    ----------
    decisions_ : list of named tuples
        For each column its name (`column`), its `kind`, the `reason` and the number of features
        (`n_features`).
    groups_ : ndarray of shape (n_features_out,)
        For each feature the index of its column, for `groups` of `ForwardFS`, which then selects
        whole columns.
    n_samples_seen_ : int
        Number of samples.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str objects of shape (n_columns,)
        Names of the columns.

    Raises
    ------
    ParameterError
        A parameter is out of range, or names a column that does not exist, or one column is in two
        lists.
    ValueError
        X is not a table, a column is missing or new, two columns have one name, a number is
        infinite or larger than 1e150, a later cell of a column of numbers or of dates is neither
        that nor missing, no column has features, or encoders with different maps are merged. The
        encoder is then unchanged. An error of a cell has its `column` and its `row`, from 0.

    See Also
    --------
    narrows.text.Tfidf : TF-IDF of a single column of texts.
    narrows.ForwardFS : Selects whole columns by ``groups=encoder.groups_``.
    sklearn.compose.ColumnTransformer : Encoders of columns that are listed by hand.

    Notes
    -----
    **Cost**: one pass over the cells of a batch; memory proportional to the batch. A sample has up
    to 5 values that are not zero for a number, and 1 for a category.

    Categories and their limits are those of scikit-learn's OneHotEncoder, but that `max_categories`
    does not count ``(other)`` where all values are frequent; splines are those of its
    SplineTransformer with ``extrapolation="constant"``. Numbers are standardised since the ridge of
    `SRDA` and other methods would otherwise depend on their units.

    Each `fit` makes its own map. To encode parts alike, fit one encoder, use copies of it
    (`emptied`) for the other parts, and add their samples (`merge`).

    Examples
    --------
    >>> from narrows.table import TableEncoder
    >>> table = {
    ...     "age": [31, 58, None, 44, 27, 39],
    ...     "plan": ["basic", "basic", "pro", "pro", "basic", None],
    ...     "joined": ["2026-01-31", "2025-11-02", "2024-07-09", None, "2026-02-11", "2025-05-05"],
    ... }
    >>> encoder = TableEncoder(splines=3).fit(table)
    >>> for decision in encoder.decisions_:
    ...     print(*decision, sep=", ")
    age, number, all values are numbers, 7
    plan, category, 2 distinct values, 3
    joined, date, all values are dates, 21
    >>> encoder.get_feature_names_out()[:10].tolist()
    ['age', 'age_sp_0', 'age_sp_1', 'age_sp_2', 'age_sp_3', 'age_sp_4', 'age=(missing)',
     'plan=basic', 'plan=pro', 'plan=(missing)']

    In a pipeline, before any method:

    >>> from narrows import SRDA
    >>> from sklearn.pipeline import make_pipeline
    >>> stays = ["yes", "yes", "no", "no", "yes", "no"]
    >>> pipeline = make_pipeline(TableEncoder(), SRDA()).fit(table, stays)
    >>> pipeline.predict({"age": [29], "plan": ["basic"], "joined": ["2026-03-01"]}).tolist()
    ['yes']
    """

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
        **dict.fromkeys(LISTS, _NAMES),
        "dates": word("auto", DAY_FIRST, MONTH_FIRST),
    }
    takes = "tables"
    _map: TableMap

    def __init__(
        self,
        splines: int = 8,
        min_frequency: float = 0.002,
        max_categories: int | None = 100,
        max_terms: int = 4000,
        categories: Sequence[str] | None = None,
        text: Sequence[str] | None = None,
        numbers: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        dates: str = "auto",
    ) -> None:
        self.splines, self.min_frequency = splines, min_frequency
        self.max_categories, self.max_terms = max_categories, max_terms
        self.categories, self.text, self.numbers, self.drop = categories, text, numbers, drop
        self.dates = dates

    def __sklearn_is_fitted__(self) -> bool:
        return "_map" in vars(self)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same map."""
        if not (
            isinstance(other, TableEncoder) and hasattr(self, "_map") and hasattr(other, "_map")
        ):
            return self is other
        return self._map.is_same(other._map)

    __hash__ = None  # type: ignore[assignment]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget all earlier samples and decide what the columns are by new ones.

        Parameters
        ----------
        X : DataFrame, Arrow table, or mapping of str to array-like of shape (n_samples,)
            The samples. DataFrames of pandas and polars are accepted.
        y : ignored

        Returns
        -------
        self : object

        Raises
        ------
        ParameterError, ValueError
            See the class. The encoder is then unchanged.

        See Also
        --------
        partial_fit : Count more samples, with the same map.
        """
        table = table_of(X)
        return self._take(self._decided(table), size_of(table))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Do what `fit` and then `transform` do, and read the cells only once.

        Parameters
        ----------
        X : DataFrame, Arrow table, or mapping of str to array-like of shape (n_samples,)
            The samples.
        y : ignored

        Returns
        -------
        X_new : csr_matrix or csr_array of shape (n_samples, n_features_out)
            As `transform` returns it.

        Raises
        ------
        ParameterError, ValueError
            As for `fit`.

        See Also
        --------
        transform : Encode other samples.
        """
        table = table_of(X)
        new = self._decided(table)
        X_new = new.encoded(table)
        self._take(new, size_of(table))
        return as_asked(X_new, self, X, to_dense=True)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Decide what the columns are by the first samples; check and count later ones.

        Parameters
        ----------
        X : DataFrame, Arrow table, or mapping of str to array-like of shape (n_samples,)
            The samples. Only those of the first call decide: let it have some thousands.
        y : ignored

        Returns
        -------
        self : object

        Raises
        ------
        ParameterError, ValueError
            See the class. The encoder is then unchanged.

        See Also
        --------
        merge : Add the samples of other encoders.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X)
        self.n_samples_seen_ += size_of(self._map.checked(X))
        return self

    def transform(self, X: Any) -> Any:
        """Encode samples.

        Parameters
        ----------
        X : DataFrame, Arrow table, or mapping of str to array-like of shape (n_samples,)
            The samples, with the columns of the first ones in any order. Columns without features
            may be missing.

        Returns
        -------
        X_new : csr_matrix or csr_array of shape (n_samples, n_features_out)
            The features, in float64. A matrix, but an array where scikit-learn's setting
            ``sparse_interface`` is "sparray", and a DataFrame after ``set_output``: of sparse
            columns for ``transform="pandas"``, of dense ones for ``"polars"``.

        Raises
        ------
        NotFittedError
            The encoder is not fitted.
        ValueError
            See the class.

        See Also
        --------
        get_feature_names_out : Return the names of the features.
        """
        check_is_fitted(self)
        return as_asked(self.samples_of(X), self, X, to_dense=True)

    def samples_of(self, X: Any) -> sparse.csr_array:
        """Return samples of a table, whatever scikit-learn's settings are."""
        return self._map.encoded(self._map.checked(X))

    def merge(self, *others: Self) -> Self:
        """Add the samples of other encoders with the same map.

        Parameters
        ----------
        *others : TableEncoder
            They are not changed. This one may be unfitted.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            The maps differ.

        See Also
        --------
        emptied : Return a copy with the same map.
        """
        fitted: list[Self] = []
        for each in (self, *others):
            self.check_same_kind(each)
            if each.__sklearn_is_fitted__():
                fitted.append(each)
        for each in fitted[1:]:
            if fitted[0] != each:
                raise ValueError(
                    "expected encoders with one map, got two maps, since each fit "
                    "makes its own. Fit one, and let its emptied() copies count the other samples."
                )
        if not fitted:
            return self
        return self._take(fitted[0]._map, sum(each.n_samples_seen_ for each in fitted))

    def emptied(self) -> Self:
        """Return a copy with the same map and no samples, which `merge` can add later."""
        check_is_fitted(self)
        return type(self)(**self.get_params())._take(self._map, 0)

    @property
    def decisions_(self) -> list[ColumnDecision]:
        """What each column was taken for: (column, kind, reason, n_features)."""
        check_is_fitted(self)
        return self._map.decisions

    @property
    def groups_(self) -> np.ndarray:
        """The number of the column of each feature, of shape (n_features,)."""
        check_is_fitted(self)
        return self._map.groups

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features; `input_features` is ignored.

        Returns
        -------
        names : ndarray of str objects of shape (n_features_out,)
            The names.

        See Also
        --------
        transform : Encode samples.
        """
        check_is_fitted(self)
        return self._map.names

    # -- inside -------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return parameters, map and the number of samples as named arrays; see `from_arrays`."""
        check_is_fitted(self)
        check_constraints(self)
        found = {"n_samples": np.array(self.n_samples_seen_)}
        for name, value in self.get_params().items():
            if name == "dates":
                found |= {} if value == "auto" else {name: np.array([value], dtype=object)}
            elif value is not None:
                found[name] = np.array(plain(value), dtype=object if name in LISTS else None)
        return found | {f"map.{name}": array for name, array in self._map.to_arrays().items()}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], vectoriser: Callable[[dict[str, np.ndarray]], Any]
    ) -> Self:
        """Return the encoder that `to_arrays` described; SchemaError where arrays do not fit.

        `vectoriser` makes one of arrays.
        """
        start = "map."
        of_map = {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}
        own = {name: array for name, array in arrays.items() if not name.startswith(start)}
        n_samples = int(taken(own, "n_samples", ("i8",), (), {}, ("whole",)))
        parameters: dict[str, Any] = {}
        for name in (*LISTS, *_NUMBERS, "dates"):
            types, shape = (("i8", "f8"), ()) if name in _NUMBERS else (("O",), ("n",))
            if name in own:
                parameters[name] = taken(own, name, types, shape).tolist()
            elif name != "dates":
                parameters[name] = None
        if "dates" in parameters:
            (parameters["dates"],) = parameters["dates"] or [None]
        check_known("table", own, ())
        new = cls(**parameters)
        check_constraints(new)
        return new._take(TableMap.of(of_map, vectoriser), n_samples)

    def _take(self, new: TableMap, n: int) -> Self:
        """Have a map and so many samples."""
        names = np.array([column.name for column in new.columns], dtype=object)
        self.__dict__.update(
            _map=new, n_samples_seen_=n, n_features_in_=len(names), feature_names_in_=names
        )  # at once
        return self

    def _decided(self, table: dict[str, Cells]) -> TableMap:
        """Return the map of a table."""
        check_constraints(self)
        if not size_of(table):
            raise ValueError("expected at least one sample, got none.")
        listed = self._listed(list(table))
        rules = _Rules(
            self.splines, self.min_frequency, self.max_categories, self.max_terms, self.dates
        )
        columns = [rules.column(cells, listed.get(name)) for name, cells in table.items()]
        if not any(column.features for column in columns):
            reasons = ", ".join(f"{c.name!r} ({c.reason})" for c in columns[:3])
            raise ParameterError(
                f"expected a column to encode, got none: {reasons}. Name columns in "
                "`numbers` or `categories`."
            )
        return TableMap(columns)

    def _listed(self, known: list[str]) -> dict[str, str]:
        """Return the parameter that names a column, for each column that one names."""
        found: dict[str, str] = {}
        for parameter in LISTS:
            for name in getattr(self, parameter) or ():
                if name not in known:
                    raise ParameterError(
                        f"expected `{parameter}` to have columns of "
                        f"the table, got {name!r}. {did_you_mean(name, known)}"
                    )
                if found.setdefault(name, parameter) != parameter:
                    raise ParameterError(
                        f"expected each column in one list, got {name!r} in "
                        f"{found[name]} and {parameter}. Choose one."
                    )
        return found
