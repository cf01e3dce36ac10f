"""What a reader gets, `Options`, and returns, a `Chunk`; and which columns hold what."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from narrows.errors import (
    ADD_MISSING,
    DataError,
    ParameterError,
    did_you_mean,
    some_names,
    unlike,
    warn,
)
from narrows.io.options import ON_ERROR, READING
from narrows.io.streams import MAX_LINE_MB
from narrows.io.table_rows import TableRows, take_rows
from narrows.methods.names import method_of
from narrows.solve.cells import reads_as_number


def names_of(columns: Any, what: str = "text") -> tuple[str, ...] | None:
    """Return the columns that hold texts or targets, given as a name, as several, or None."""
    if columns is None:
        return None
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names or not all(isinstance(name, str) for name in names):
        raise ParameterError(
            f"`{what}`: expected the name of a column, or several, got {columns!r:.100}."
        )
    return names


def names_as_json(names: tuple[str, ...] | None) -> str | list[str] | None:
    """Return the names of columns as JSON stores them: a name, or a list of several."""
    return names if names is None else names[0] if len(names) == 1 else list(names)


# options that exclude each other
_ALONE = (
    ("text", "vector"), ("table", "text"), ("table", "vector"), ("label", "target"),
    ("labels", "target"),
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """How to read files; each format uses what concerns it. See `narrows.read.iter_chunks`."""

    label: str | None = None
    text: tuple[str, ...] | None = None  # columns or keys; a str is one of them
    split: str | None = None
    width: int | None = None
    zero_based: bool | None = None
    columns: tuple[str, ...] | None = None  # the features of a fit
    chunk_rows: int = 10_000
    labels_required: bool = False
    named: bool = False  # whether a label or target was typed, whose column has to be there
    after: int = 0  # lines, or rows of arrays, to skip
    may_be_empty: bool = False  # a file, as one of many may be
    max_line_mb: int = MAX_LINE_MB  # of text
    facts: Mapping[str, Any] = field(default_factory=dict)  # a format's own; see `with_found`
    vector: str | None = None
    weight: str | None = None  # the column of weights, of a table
    has_labels: bool = True  # if not, no column is taken for the labels, whatever its name
    labels: str | None = None  # the type of all labels: "text" or "integer"
    target: tuple[str, ...] | None = None  # columns or keys of numbers; a str is one of them
    table: bool | None = None  # whether columns hold anything, and samples are `TableRows`
    separator: str | None = None  # between the cells of a row; by default that of the suffix
    encoding: str | None = None  # of text files; by default UTF-8, or what a byte order mark says
    on_error: str | None = None  # what becomes of rows that cannot be read: "skip", "missing"
    no_header: bool | None = None  # whether the first row is a sample, and columns are x0, x1, …

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", names_of(self.text))
        object.__setattr__(self, "target", names_of(self.target, "target"))
        for names in _ALONE:
            if all(getattr(self, name) for name in names):
                both = ", ".join(f"`{name}`" for name in names)
                raise ParameterError(f"{both}: expected one of them, got both. Leave one out.")
        before = [*(self.text or ()), self.vector]
        for column in self.target or [self.label]:
            if column is not None and column in before:
                name = "target" if self.target else "label"
                raise ParameterError(
                    f"`{name}`: expected columns that are named once, got {column!r} "
                    "twice. Leave one out."
                )
            before.append(column)
        for option in (*READING, ON_ERROR):
            option.check(getattr(self, option.name))
        one = "\t" if self.separator == r"\t" else self.separator
        object.__setattr__(self, "separator", one)
        if one is not None and (len(one.encode()) != 1 or one in '"\r\n\0'):
            raise ParameterError(
                f"`separator`: expected one character of ASCII, got {one!r:.100}. Change it."
            )
        if self.encoding is not None:
            try:
                codecs.getincrementaldecoder(self.encoding)
                "".encode(self.encoding)
            except LookupError:
                raise ParameterError(
                    "`encoding`: expected the name of an encoding that Python has, such "
                    f"as cp1252 or utf-16, got {self.encoding!r:.100}. Change it."
                ) from None

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values."""
        return replace(self, **changes)

    def with_found(self, found: Mapping[str, Any]) -> Self:
        """Return a copy with facts about the files; options that the caller has set stay."""
        names = self.__dataclass_fields__
        found = {name: value for name, value in found.items() if value is not None}
        options = {name: found[name] for name in found if name in names and self.get(name) is None}
        facts = {name: found[name] for name in found if name not in names}
        return replace(self, **options, facts={**self.facts, **facts})

    def get(self, name: str) -> Any:
        """Return an option or a fact, None if it is unknown."""
        return self.facts.get(name, getattr(self, name, None))


class Position(NamedTuple):
    """Where a chunk ends: the file, its line (or row), and the number of rows so far."""

    file: int = 0
    line: int = 0
    rows: int = 0


class Chunk(NamedTuple):
    """Some samples, their labels if any, and the line that each sample comes from.

    Formats give single labels as an array of numbers, or as a list of numbers, text and None, of
    which `Labels` makes labels. Targets take the place of labels: float64, of shape (n_samples,
    n_targets). `label` names the column of labels, `columns` the features, `header` all columns of
    a CSV file; `is_truncated` is whether the last line has no end, so that a number may have lost
    digits; the data set sets `at`; `weight` is that of each sample, in tables only.
    """

    X: Any
    y: Any
    lines: Sequence[int] | np.ndarray
    columns: tuple[str, ...] | None = None
    header: tuple[str, ...] | None = None
    is_truncated: bool = False
    at: Position = Position()
    weight: np.ndarray | None = None
    label: str | None = None

    def replace(self, **changes: Any) -> Chunk:
        """Return a copy with other values."""
        return self._replace(**changes)

    def take(self, rows: np.ndarray) -> Chunk:
        """Return some of the samples, by their indices."""
        y, weight = self.y, self.weight
        return self.replace(
            X=take_rows(self.X, rows),
            y=None if y is None else take_rows(y, rows),
            lines=[self.lines[k] for k in rows],
            weight=None if weight is None else weight[rows],
        )

    @property
    def holds(self) -> str:
        """What the samples are: numbers, texts, or rows of a table."""
        if isinstance(self.X, list):
            return "texts"
        return "tables" if isinstance(self.X, TableRows) else "numbers"


def row_of(entry: int, indptr: np.ndarray) -> int:
    """Return the row of an entry of a CSR matrix."""
    return int(np.searchsorted(indptr, entry, side="right")) - 1


def check_finite(chunk: Chunk, name: str) -> None:
    """Raise DataError, with the row, where a number is not finite."""
    if chunk.holds != "numbers":
        return
    X = chunk.X
    finite = np.isfinite(X.data if sparse.issparse(X) else X)
    if not finite.all():
        first = np.flatnonzero(~finite)[0]
        row = row_of(first, X.indptr) if sparse.issparse(X) else first // X.shape[1]
        raise DataError(name, "expected finite values, got NaN or infinity.", chunk.lines[row])


SPARE = "spare"  # a fact: the columns of a table of which an encoder makes no features
MAY_HAVE_MORE = "may_have_more"  # a fact: whether columns that a fit did not have are ignored
LABELS = ("class", "label")  # the label column, where none is named
OF_CLASSES = "Set `label` instead of `target` if the column holds classes."
OF_FEATURES = (
    "Set `text` for texts, `vector` for lists or `label` for labels, or use TableEncoder (`table`) "
    "for columns of any kind with missing cells."
)
OTHER_ENCODING = "Set `encoding` to that of the file, such as cp1252 of Windows."
TEXT = "text"  # the column of texts, where none is named
CLASSES = 1 << 24  # with several labels per sample they number the columns of y, which all count


def label_column(
    header: Sequence[str], options: Options, name: str, line: int | None = None
) -> str | None:
    """Return the name of the column that holds the labels, if there is one."""
    if len(set(header)) < len(header):
        twice = next(column for column in header if header.count(column) > 1)
        problem = f"expected columns of different names, got two {twice!r}. Rename one of them"
        raise DataError(name, f"{problem}, or use `no_header` if the file has no header.", line)
    if not options.has_labels or options.target is not None:
        return None
    read = {*(options.text or ()), options.vector, options.weight}  # for something else
    candidates = [options.label] if options.label else [c for c in LABELS if c not in read]
    found = [column for column in candidates if column in header]
    if len(found) > 1:
        problem = "expected one label column, got 'class' and 'label'. Set `label`."
        raise DataError(name, problem, line)
    if not found and (options.labels_required or options.named):
        expected = " ".join(["a label column", " or ".join(map(repr, candidates))]).strip()
        problem = f"expected {expected}, got the columns {some_names(header, 10)}."
        advice = "Set `label`."
        if options.label:
            advice = _to_one_of(header, options.label, "label")
        if any(map(reads_as_number, header)):
            advice = (
                "If the file has no header, use `no_header`, which names its columns "
                f"x0, x1, …, and one of them as `label`, such as x{len(header) - 1}."
            )
        raise DataError(name, f"{problem} {advice}", line)
    return found[0] if found else None


def target_columns(
    header: Collection[str], options: Options, name: str, line: int | None = None
) -> tuple[str, ...]:
    """Return the columns of the targets; none where some are missing that are not required."""
    targets = options.target or ()
    if options.labels_required or options.named:
        check_columns(list(header), targets, "target", name, line)
    return targets if set(targets) <= set(header) and options.has_labels else ()


def as_targets(
    Y: np.ndarray, targets: Sequence[str], name: str, lines: Sequence[int] | np.ndarray
) -> np.ndarray:
    """Return numbers as targets; DataError where one is not finite."""
    wrong = np.argwhere(~np.isfinite(Y))
    if len(wrong):
        row, k = wrong[0].tolist()
        problem = f"target {targets[k]!r}: expected a finite number, got {Y[row, k]}."
        raise DataError(name, f"{problem} Leave out rows without a target.", lines[row])
    return Y.astype(np.float64, copy=False)


def feature_columns(
    header: Sequence[str],
    label: str | None,
    options: Options,
    name: str,
    line: int | None = None,
) -> list[str]:
    """Return the columns of the features: those of a fit where `options` name them."""
    others = {label, options.weight, *(options.target or ())}
    present = [column for column in header if column not in others]
    if options.columns is None:
        if not present:
            beside = ", ".join(map(repr, options.target or [label]))
            raise DataError(name, f"expected features, got no column beside {beside}.", line)
        return present
    found, known = set(present), {*options.columns, *(options.get(SPARE) or ())}
    missing = [column for column in options.columns if column not in found]
    new = [column for column in present if column not in known]
    if missing or (new and not options.get(MAY_HAVE_MORE)):
        add = ADD_MISSING if options.table else "Add what is missing, or fit again without it."
        which = "columns with features" if options.table else "columns"
        problem = f"expected the {len(options.columns)} {which} of the fit"
        raise DataError(name, f"{problem}, got {unlike(missing, new, add)}", line)
    if new:  # the same warning is shown once
        warn(f"columns that the model was not fitted to are ignored: {some_names(new)}.")
    return list(options.columns)


def check_columns(
    header: Sequence[str],
    wanted: Sequence[str],
    what: str,
    name: str,
    line: int | None = None,
) -> None:
    """Raise where a column is missing that an option names: `what` is ``text``, for example."""
    for column in wanted:
        if column not in header:
            problem = f"expected a column {column!r}, got the columns {some_names(header, 10)}."
            raise DataError(name, f"{problem} {_to_one_of(header, column, what)}", line)


def _to_one_of(header: Sequence[str], column: str, what: str) -> str:
    """Return advice on an option that names a column which is not there."""
    or_cut = ", or `separator`" * (len(header) == 1)
    return did_you_mean(column, header, repr, f"Set `{what}` to one of them{or_cut}.")


def indicator(labels: np.ndarray, indptr: np.ndarray, n_classes: int) -> sparse.csr_array:
    """Return several labels per sample as a 0-1 matrix of shape (n_samples, n_classes)."""
    y = sparse.csr_array((np.ones(len(labels)), labels, indptr), (len(indptr) - 1, n_classes))
    y.sum_duplicates()
    y.data[:] = 1
    return y


DECIDED = "decided"  # a fact: the type of labels that `Labels` has decided


def for_targets(estimator: Any, options: Options, source: Any = None) -> Options:
    """Return options by which files have targets for an estimator of numbers, labels for others.

    Parameters
    ----------
    estimator : narrows estimator
        Fitted or not. One that needs no labels gets neither.
    options : Options
        How to read the files; labels that are required are targets of an estimator of numbers.
    source : Source, optional
        What a fitted estimator remembers of its files.

    Raises
    ------
    ParameterError
        The options name labels for an estimator of numbers, or targets for another one.
    """
    known = getattr(source, "target", None)
    if options.target and known and sorted(options.target) == sorted(known):
        options = options.replace(target=known)  # in its order
    target = options.target or known
    if options.target is not None and estimator._takes_numbers is None:
        estimator.set_params(target="numeric")
    numeric = bool(estimator._takes_numbers)
    name = method_of(estimator)
    if numeric and options.label is None and target is not None:
        return options
    if numeric and (options.labels_required or options.label is not None):
        got = "none" if options.label is None else f"label {options.label!r}"
        raise ParameterError(
            f"`target`: expected the name of a column of numbers, since the targets "
            f"of {name} are numbers, got {got}. Name it, or use a method for classes, such as "
            "SRDA."
        )
    if options.target is not None and not numeric and estimator._needs_y:
        raise ParameterError(
            f"`target`: expected `label`, since {name} is for classes, got "
            f"target {options.target[0]!r}. For numbers use a regressor, such as PLS."
        )
    return options if target is None and not numeric else options.replace(has_labels=False)
