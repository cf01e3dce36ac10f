"""The table of a comparison: methods on splits of samples, rows of scores, a choice, and text."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from narrows.evaluate.methods import RIVALS, Method, States
from narrows.methods import MODULES
from narrows.solve.paired import METRICS, Difference

ALL = "all columns"
ALWAYS = "always answering "
FIELDS = {name: name for name in (*METRICS, "rmse")} | {"accuracy": "micro_f1"}  # of a line
_NAMES = {name.lower(): name for name in MODULES} | {
    name: type(each).__name__ + (f"({name})" if hasattr(each, "score_func") else "")
    for name, each in RIVALS.items()
}
_NAMES["sklearn-pca"] = "scikit-learn's PCA"
_WIDTH = 100  # of the table, unless names of methods get too short
_SHORTEST = 20  # characters of such a name


@dataclass(eq=False)
class Row:
    """What is known of one reduction.

    Parameters
    ----------
    method, classifier : str
        Names of the reduction, and of the classifier or regressor; empty for neighbours.
    asked : int or None
        Number of dimensions requested; None for all features, and for a size of its own.
    dimensions : int
        Number of dimensions of the reduced data; smaller if the method has fewer.
    features : int
        Number of features before the reduction.
    skipped : str
        Why the method was skipped; empty if it was not.
    """

    method: str
    classifier: str = ""
    asked: int | None = None
    dimensions: int = 0
    features: int = 0
    skipped: str = ""

    @property
    def is_reduction(self) -> bool:
        """Whether the row is done, and has fewer dimensions than there are features."""
        return not self.skipped and self.method != ALL and self.dimensions < self.features


R = TypeVar("R", bound=Row)


@dataclass(frozen=True)
class Reduced:
    """A method, and what it made of samples; CPU seconds to learn and to reduce."""

    method: Method
    asked: int | None
    reduce: Callable[[Any], Any]
    Z: Any
    learn: float
    transform: float


def run(
    methods: Sequence[Method],
    fitted: tuple[Any, np.ndarray],
    samples: Any,
    sizes: Sequence[int],
    row: type[R],
    judges: Sequence[str],
    judge: Callable[[str, Reduced], R],
    progress: Callable[[str], None],
    cut: bool = False,
) -> Iterator[R]:
    """Fit methods to samples and labels, reduce others, and yield the rows that judges make.

    Sums are added up once for all methods. A number of dimensions that a method does not have is
    the largest that it has, which is judged once. An error of a method is a row, too. With `cut`,
    sizes fall, and the first columns of the largest reduction are the smaller ones.
    """
    states = States(*fitted)
    for method in methods:
        learned: float | str | None = None
        done: dict[tuple[int, str], R] = {}
        whole: Reduced | str | None = None
        for asked in sizes if method.is_sized else [None]:
            made: Reduced | str | None = None
            for name in judges:
                progress(", ".join(filter(None, [method.name, str(asked or ""), name])))
                if learned is None:
                    learned = _learned(method, *fitted, states, sizes)
                cuts = cut and method.is_nested and made is None
                if cuts and whole is not None and not isinstance(whole, str):
                    made = replace(whole, asked=asked, Z=whole.Z[:, :asked])
                elif made is None:
                    made = whole = _reduced(method, asked, fitted[0], samples, learned)
                if isinstance(made, str):
                    yield row(method=method.name, classifier=name, asked=asked, skipped=made)
                    continue
                key = made.Z.shape[1], name
                if key not in done:
                    done[key] = judge(name, made)
                yield replace(done[key], asked=asked)


def n_steps(methods: Sequence[Method], n_sizes: int, n_judges: int = 1) -> int:
    """Return how often `run` reports progress, also of all columns."""
    return n_judges * (1 + sum(n_sizes if method.is_sized else 1 for method in methods))


def _learned(
    method: Method, X: Any, y: np.ndarray, states: States, sizes: Sequence[int]
) -> float | str:
    """Fit for the largest size that the method has; return the CPU seconds, or why it fails."""
    why = ""
    for most in [*sorted(sizes, reverse=True), 0] if method.is_sized else [0]:
        try:
            return method.learn(X, y, states, most)
        except (ValueError, TypeError) as error:
            why = why or str(error).splitlines()[0]
    return why


def _reduced(
    method: Method, asked: int | None, X: Any, samples: Any, learned: float | str
) -> Reduced | str:
    """Reduce samples with a method that was fitted to X; return why if it fails."""
    if isinstance(learned, str):
        return learned
    started = time.process_time()
    try:
        reduce = method.reducer(asked, X)
        fitted = time.process_time()
        Z = reduce(samples)
    except (ValueError, TypeError) as error:
        return str(error).splitlines()[0]
    seconds = learned + fitted - started, time.process_time() - fitted
    return Reduced(method, asked, reduce, Z, *seconds)


def merged(rows: Iterable[R], merge: Callable[[Sequence[R]], R]) -> tuple[list[R], int]:
    """Return a row for each model and judge, and over how many splits: those that are complete.

    What has the dimensions of an earlier row of its method is the same model, and left out, as is
    a method that is skipped again for the same reason.
    """
    found: dict[Any, list[R]] = {}
    for row in rows:
        found.setdefault((row.method, row.asked, row.classifier), []).append(row)
    n = min(map(len, found.values()), default=1)
    done: dict[Any, R] = {}
    for each in found.values():
        row = next((row for row in each[:n] if row.skipped), None) or merge(each[:n])
        key = row.method, row.skipped or (row.classifier, row.dimensions)
        done.setdefault(key, row)
    return list(done.values()), n


# -- the rule of one standard error, and its words -------------------------------------------------


def title(method: str) -> str:
    """Return the name of a method as it is written in text."""
    return _NAMES.get(method, method.removesuffix("()"))


def count(n: int, what: str) -> str:
    """Return a number of things as text."""
    return f"{n:,} {what}" + "s" * (n != 1)


def named(row: Row) -> str:
    """Return the name and the number of dimensions of a row as text."""
    size = count(row.dimensions, "feature" if row.method == ALL else "dimension")
    if columns := getattr(row, "columns", 0):
        size = f"{count(columns, 'column')}, {size}"
    return f"all {size}" if row.method == ALL else f"{title(row.method)} with {size}"


def place(row: Row) -> dict[str, Any]:
    """Return which row it is, ready for JSON."""
    found: dict[str, Any] = {"method": row.method, "dimensions": row.dimensions}
    return found | ({"classifier": row.classifier} if row.classifier else {})


def as_numbers(difference: Difference) -> dict[str, float]:
    """Return a difference ready for JSON."""
    return {"mean": difference.mean, "standard_error": difference.standard_error}


class Choice:
    """The row to use, by the rule of one standard error (Breiman et al., 1984), or a margin.

    Results are equivalent if the one is not worse by more than one standard error of the paired
    difference, or not by more than a margin. Those who inherit have the chosen `line`, the
    `margin`, `apart(other, row)`, the difference of a row (by default the chosen one) from another
    one, and `score(row)`, which is text.
    """

    def is_worse(self: Any, row: Any, other: Any) -> bool:
        """Whether a row is worse than another one, and not equivalent."""
        return self.apart(other, row).is_worse(self.margin)

    def compared(self: Any, said: str, every: Row | None, best: Row) -> str:
        """Return a sentence that goes on with the differences from all columns and the best row."""
        if every is not None:
            said += f", {self._against(every, named(every))}"
        if best is self.line:
            return f"{said}. No reduction has a higher score."
        return f"{said}, and {self._against(best, f'the best reduction, {named(best)}')}."

    def _against(self: Any, other: Row, name: str) -> str:
        apart = self.apart(other)
        how = "within one standard error of"
        if abs(apart.mean) > apart.standard_error:
            how = f"within the margin of {self.margin:g} of"
        how = "worse than" if apart.is_worse(self.margin) else how
        how = "better than" if apart.is_better(self.margin) else how
        return f"{how} {name} ({self.score(other)}; difference {apart})"


class Cell(NamedTuple):
    """A number of the table, its error, and whether it is marked; None where none are."""

    value: float
    error: float | None = None
    marked: bool | None = None
    form: str = ".3f"

    @property
    def number(self) -> str:
        """The number as text."""
        return f"{self.value:{self.form}}"

    def __str__(self) -> str:
        error = "" if self.error is None else f" +- {self.error:.3f}"
        return self.number + error + {None: "", True: " *", False: "  "}[self.marked]


class Table(list[R]):
    """Rows of scores, and their text.

    Those who inherit have `sentence_`, `as_dicts` and `_contents` for JSON, `_cells(full)`, a
    header and the cells of each row in the text, or all cells, the lines of text `_above` and
    `_below` the table, and `_page`, what a report adds and shows; its title is `_heading`.
    """

    def _size(self, row: R) -> str:
        """Return the size of a row as text."""
        return str(row.asked or "") if row.skipped else f"{row.dimensions:,}"

    def __str__(self: Any) -> str:
        """Return the sentence, and a table of at most 100 characters a line if that is possible.

        Long names lose their middle.
        """
        header, rows = self._cells()
        right = [["dimensions", *header]]
        right += [[self._size(row), *map(str, cells)] for row, cells in rows]
        room = max(_SHORTEST, _WIDTH - 2 - len(_aligned(right, 0)[0]))
        names = ["method", *(_shortened(row.method, room) for row, _ in rows)]
        table = _aligned([[name, *cells] for name, cells in zip(names, right, strict=True)], 1)
        return "\n".join([self.sentence_, *self._above(), "", *table, *self._below()])


def marks(margin: float) -> str:
    """Return what the marks of a table mean."""
    more = f", or by more than {margin:g}" * bool(margin)
    return f"* not worse{{}} by more than that{more}"


def _aligned(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return the lines of a table, whose first row is a header; the first columns are to the left.

    The last cell of a row with fewer cells takes no part in the widths.
    """
    n = len(rows[0])
    full = [row if len(row) == n else row[:-1] for row in rows]
    wide = [max(len(row[k]) for row in full if k < len(row)) for k in range(n)]
    return [
        "  ".join(
            [*(f"{cell:{'<' if k < left else '>'}{wide[k]}}" for k, cell in enumerate(known)),
             *row[len(known) :]]
        )
        for row, known in zip(rows, full, strict=True)
    ]  # fmt: skip


def _shortened(name: str, most: int) -> str:
    """Return a name of at most so many characters: a method without its middle."""
    if len(name) <= most:
        return name
    left = most - 1 if name.startswith(ALWAYS) else most // 2
    return f"{name[:left]}…{name[len(name) - most + left + 1 :]}"
