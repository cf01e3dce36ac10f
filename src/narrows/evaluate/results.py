"""The result of `compare`: its lines, which reduction to use, and a table."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from narrows.errors import ParameterError, printable
from narrows.evaluate.methods import RIVALS, Method
from narrows.evaluate.report import of_comparison, write
from narrows.evaluate.splits import Splits
from narrows.evaluate.table import (
    ALL,
    FIELDS,
    Cell,
    Choice,
    Row,
    Table,
    as_numbers,
    count,
    marks,
    named,
    place,
    title,
)
from narrows.solve.paired import (
    BY_SCORES,
    MARGIN,
    METRICS,
    Difference,
    HeldOutPredictions,
    difference,
    ratio_of,
    standard_error,
)

OF_CLASSES = "accuracy", "macro_f1", "balanced_accuracy"
_SHORT = METRICS | {"rmse": "RMSE", "roc_auc": "ROC area", "average_precision": "av. precision"}
_SCORES = tuple(FIELDS.values())
_AVERAGED = ("learn", "transform", "train", "row_bytes", *_SCORES)
_NAN = float("nan")
_SHOWN = 20  # columns in order
_FEWEST_EQUAL = 3  # reductions that may be equally good
_CLEAR = 2  # standard errors that a result must be better than the largest class
# A constant prediction has a lower macro-F1 than random ones, but not a lower balanced accuracy
_AGAINST_CONSTANT = {"macro_f1": "balanced_accuracy"}


@dataclass(eq=False)
class Line(Row):
    """One line of a comparison: means over the splits.

    Scores of classes are NaN for numeric targets, and those of targets for classes. `Row` has the
    other fields.

    Parameters
    ----------
    learn, transform, train : float
        CPU seconds to fit the reduction, without reading; to reduce the training samples; and to
        train the classifier on them.
    row_bytes : float
        Bytes of a reduced training sample in memory: its numbers, and if it is sparse, the column
        of each.
    macro_f1 : float
        The unweighted mean over the classes.
    micro_f1 : float
        Micro-F1, which is the accuracy since each sample has one label.
    balanced_accuracy : float
        The mean over the classes of the share of samples that are predicted correctly.
    r2, rmse : float
        The coefficient of determination of numeric targets, and the root of the mean squared error;
        of several targets, the means.
    converged : bool
        Whether the logistic regression converged.
    roc_auc, average_precision, log_loss : float
        The area under the ROC curve and the average precision of the rarer of two classes, of
        more classes the means over the classes, and the log-loss. NaN with more than two classes,
        unless results are compared by one of these or by the balanced accuracy.
    standard_error : float
        The standard error of the accuracy or R^2, as `narrows.solve.paired` defines it. To the
        accuracy, one correct and one wrong prediction are added, so that it is never 0.
    spread : dict
        Standard deviation of each score over the splits, if there are several.
    columns : int
        Number of columns of a table that are selected as a whole; 0 for other reductions.
    all_columns : bool
        Whether these are all columns of the table, or all features after `LEACE`, which is no
        reduction.
    chosen : tuple of str
        The selected columns of a table, or features, by name, best first, in the first split.
    outcomes : tuple of HeldOutPredictions
        Classes or targets and predictions of the held-out samples, for each split.
    wrong : Counter
        The number of held-out samples of one class that were predicted as another, by the two
        labels.
    """

    learn: float = _NAN
    transform: float = _NAN
    train: float = _NAN
    row_bytes: float = _NAN
    micro_f1: float = _NAN
    macro_f1: float = _NAN
    balanced_accuracy: float = _NAN
    r2: float = _NAN
    rmse: float = _NAN
    roc_auc: float = _NAN
    average_precision: float = _NAN
    log_loss: float = _NAN
    standard_error: float = _NAN
    spread: dict[str, float] | None = None
    wrong: Counter = field(default_factory=Counter, repr=False)
    columns: int = 0
    all_columns: bool = False
    converged: bool = True
    chosen: tuple[str, ...] = ()
    outcomes: tuple[HeldOutPredictions, ...] = field(default=(), repr=False)

    @property
    def is_reduction(self) -> bool:
        """Whether the line is done, and has fewer dimensions than there are features."""
        return super().is_reduction and not self.all_columns

    @property
    def is_rival(self) -> bool:
        """Whether the method is one of scikit-learn."""
        return self.method in RIVALS

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, ready for JSON."""
        if self.skipped:
            names = "method", "classifier", "asked", "skipped"
            return {name: getattr(self, name) for name in names}
        fields = asdict(replace(self, wrong=Counter(), outcomes=()))
        for name in ("skipped", "wrong", "outcomes"):
            del fields[name]
        if self.classifier != "logistic":
            del fields["converged"]
        return {name: value for name, value in fields.items() if value == value}  # not NaN


def value(line: Line, metric: str) -> float:
    """Return the score of a line by a metric, of which larger is better."""
    found: float = getattr(line, FIELDS[metric])
    return -found if metric == "log_loss" else found


def top(lines: Iterable[Line], metric: str) -> Any:
    """Return the line with the highest score, of equal ones the smallest; None of no lines."""
    return max(lines, key=lambda line: (value(line, metric), -line.dimensions), default=None)


def mean(lines: Sequence[Line]) -> Line:
    """Return the mean of the lines of several splits."""
    first = lines[0]
    if len(lines) == 1:
        return first
    values = {name: [getattr(line, name) for line in lines] for name in _AVERAGED}
    means: dict[str, Any] = {name: float(np.mean(of)) for name, of in values.items()}
    outcomes = tuple(outcome for line in lines for outcome in line.outcomes)
    variances = [line.standard_error**2 for line in lines]
    scores = [name for name in _SCORES if not np.isnan(means[name])]
    of_error = "r2" if "r2" in scores else "micro_f1"
    return replace(
        first,
        dimensions=max(line.dimensions for line in lines),
        features=max(line.features for line in lines),
        standard_error=standard_error(values[of_error], variances, ratio_of(outcomes)),
        spread={name: float(np.std(values[name], ddof=1)) for name in scores},
        converged=all(line.converged for line in lines),
        wrong=sum((line.wrong for line in lines), Counter()),
        outcomes=outcomes,
        **means,
    )


class Recommendation(Choice):
    """The reduction to use, by the rule of one standard error (Breiman et al., 1984), or a margin.

    Of the reductions that are equivalent to the best reduction, the one with the fewest dimensions;
    of these, a method of narrows before one of scikit-learn, then the one that takes the least time
    to learn and to reduce. Reductions that are better than the largest class, and then those that
    are not worse than all features, come first.

    Parameters
    ----------
    lines : Comparison
        The lines, of which one at least is a reduction.

    Attributes
    ----------
    line : Line
        The reduction.
    best : Line
        The line with the highest score, of all features or of a reduction.
    ties : tuple of str
        Other methods that qualify with as many dimensions.
    metric : {"accuracy", "macro_f1", "balanced_accuracy", "roc_auc", "average_precision", \
            "log_loss", "r2"}
        The score.
    margin : float
        A difference that does not count, however sure it is.
    best_reduction : Line
        The reduction with the highest score.
    every : Line or None
        The best line of all features.
    largest_class : Line or None
        The line that predicts the largest class, or the mean, for all samples.
    verdict : {"use", "worse", "features only", "nothing"}
        "use": recommended. "worse": every reduction is worse than all features, not equivalent.
        "features only": all features are better than the largest class by more than
        two standard errors, and no reduction is. "nothing": no result is.
    of_narrows : Line or None
        The reduction to use of those by methods of narrows; `line`, if it is one.
    other : Line or None
        If the verdict is "nothing", the best line of a classifier that does not rank, if that is
        better than the largest class by more than two standard errors.
    """

    def __init__(self, lines: Comparison):
        self.metric, self.margin = lines.metric, lines.margin
        self.largest_class = lines.largest_class_
        self.against = _AGAINST_CONSTANT.get(self.metric, self.metric)
        self._done, reductions = lines._ranked(), lines._reductions()
        whole = [line for line in self._done if line.method == ALL]
        self.every, self.best = top(whole, self.metric), top(self._done, self.metric)
        self.best_reduction = top(reductions, self.metric)
        self.line, near = self._choose(reductions)
        equal = [each.method for each in near if each.dimensions == self.line.dimensions]
        self.ties = tuple(name for name in dict.fromkeys(equal) if name != self.line.method)
        mine = [line for line in reductions if not line.is_rival]
        self.of_narrows: Line | None = self.line
        if self.line.is_rival:
            self.of_narrows = self._choose(mine)[0] if mine else None
        self.other: Line | None = None
        if self._beat_largest(reductions):
            worse = whole and all(self.is_worse(each, self.every) for each in reductions)
            self.verdict = "worse" if worse else "use"
        elif whole and self._beat_largest([self.every]):
            self.verdict = "features only"
        else:
            self.verdict = "nothing"
            known = self._beat_largest([line for line in lines if not line.skipped])
            self.other = top(known, self.against)

    def _choose(self, lines: list[Line]) -> tuple[Line, list[Line]]:
        """Return which of some reductions to use, and all that are good enough."""
        best = top(lines, self.metric)
        near = [line for line in lines if not self.is_worse(line, best)]
        near = self._beat_largest(near) or near
        if self.every is not None:
            near = [line for line in near if not self.is_worse(line, self.every)] or near
        return min(near, key=self._order), near

    def _order(self, line: Line) -> tuple[float, ...]:
        """Return what is smaller for the reduction to prefer of those that are good enough."""
        seconds = line.learn + line.transform
        return line.dimensions, line.is_rival, seconds, -value(line, self.metric)

    def _beat_largest(self, lines: list[Line]) -> list[Line]:
        """Return the lines that are clearly better than the largest class."""
        largest = self.largest_class
        return lines if largest is None else [
            line for line in lines
            if difference(line.outcomes, largest.outcomes, self.against).is_better(by=_CLEAR)
        ]  # fmt: skip

    @property
    def is_within(self) -> bool:
        """Whether the reduction is within one standard error, or the margin, of the best line."""
        return not self.is_worse(self.line, self.best)

    def apart(self, other: Line, row: Line | None = None) -> Difference:
        """Return the paired difference of a line, by default the reduction, from another line."""
        return difference((row or self.line).outcomes, other.outcomes, self.metric)

    def score(self, row: Line) -> str:
        """Return the score of a line as text, with its classifier if that is another one."""
        by = "" if row.classifier in ("", self.line.classifier) else f" with {row.classifier}"
        return f"{getattr(row, FIELDS[self.metric]):.3f}{by}"

    def __str__(self) -> str:
        if self.verdict == "nothing":
            return self._verdict()
        line = self.line
        use = "Use" if self.verdict == "use" else "If you reduce the data, use"
        said = f"{use} {named(line)}: {METRICS[self.metric]} {self.score(line)} ({line.classifier})"
        said = self.compared(said, self.every, self.best_reduction)
        if self.verdict != "use":
            said = f"{self._verdict()} {said}"
        of_all = [each.row_bytes for each in self._done
                  if (each.method, each.classifier) == (ALL, line.classifier)]  # fmt: skip
        if of_all and line.row_bytes < of_all[0]:
            factor = of_all[0] / line.row_bytes
            said += f" The data become {factor:.{0 if factor >= 9.95 else 1}f} times smaller."
        largest = self.largest_class
        if self.verdict == "use" and largest is not None and self.metric != "r2":
            said += f" A{largest.method[1:]} has {getattr(largest, FIELDS[self.metric]):.3f}."
        if self.ties:
            names = ", ".join(map(title, self.ties))
            said += f" {names} {'ties' if len(self.ties) == 1 else 'tie'}."
        if line.is_rival:
            said += f" {title(line.method)} is a method of scikit-learn."
            if (mine := self.of_narrows) is not None:
                apart = self.apart(line, mine)
                said += f" Of narrows, the best choice is {named(mine)} ({self.score(mine)}; "
                said += f"difference {apart})."
        return said

    def _verdict(self) -> str:
        """Say why no reduction is recommended without reserve."""
        every, largest, other = self.every, self.largest_class, self.other
        if self.verdict == "worse":
            margin = f" and the margin of {self.margin:g}" * bool(self.margin)
            said = f"Every reduction is worse than {named(every)} by more than one standard error"
            return f"{said}{margin}."
        assert largest is not None
        score = FIELDS[self.against]
        shown = top(self._done, self.against) if self.verdict == "nothing" else every
        apart = difference(shown.outcomes, largest.outcomes, self.against)
        found = f"{getattr(shown, score):.3f}, {shown.classifier}; difference {apart}"
        than = f"{largest.method} ({METRICS[self.against]} {getattr(largest, score):.3f})"
        if self.verdict == "features only":
            return (
                f"No reduction beats {than} by more than two standard errors, but {named(shown)} "
                f"{'does' if shown.dimensions == 1 else 'do'} ({found})."
            )
        unless = "" if other is None else (
            f" with {shown.classifier}, by which results are compared; {named(other)} "
            f"with {other.classifier} {'do' if other.method == ALL else 'does'} "
            f"({getattr(other, score):.3f})"
        )  # fmt: skip
        return (
            f"Nothing here beats {than} by more than two standard errors{unless}. "
            f"The best result is {named(shown)} ({found}). If you reduce the data all the "
            f"same, use {named(self.of_narrows or self.line)}."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the recommendation ready for JSON."""
        others = {
            "all_columns": self.every,
            "best_reduction": self.best_reduction,
            constant(self.metric): self.largest_class,
        }
        return {
            **place(self.line),
            "metric": self.metric,
            "verdict": self.verdict,
            "margin": self.margin,
            "within_one_standard_error": not self.apart(self.best).is_worse(0),
            "within_margin": self.is_within,
            "chosen": list(self.line.chosen),
            "ties": list(self.ties),
            "best": place(self.best),
            "differences": {
                name: place(line) | as_numbers(self.apart(line))
                for name, line in others.items()
                if line is not None
            },
            "of_narrows": self.of_narrows and place(self.of_narrows),
            "other": self.other and place(self.other),
            "sentence": str(self),
        }


def constant(metric: str) -> str:
    """Return what a constant prediction is: the name of its line in JSON."""
    return "mean" if metric == "r2" else "largest_class"


class Comparison(Table[Line]):
    """The lines of a comparison: all features, then each method by dimensions and classifier.

    Each `Line` has the names of the method and of the classifier, the number of dimensions, scores,
    times and the size of a reduced sample. `print` shows a table.

    Parameters
    ----------
    iterable : iterable of Line
        The lines.
    splits : Splits, optional
        The samples, for `report`.
    methods : sequence, optional
        The methods, fitted to the last split.

    Attributes
    ----------
    n_folds : int
        The number of splits over which the lines are means.
    metric : {"accuracy", "macro_f1", "balanced_accuracy", "roc_auc", "average_precision", \
            "log_loss", "r2"}
        The score by which results are compared.
    why : str
        Which metric, and why.
    margin : float
        A difference that does not count, however sure it is.
    ranked_by : str
        The classifier whose results the recommendation compares; empty if those of all are.
    notes : list of str
        What makes results too good: a column that alone predicts the target, held-out samples that
        are equal to training samples, columns that may be ids.
    largest_class_ : Line or None
        The line that predicts the largest class, or the mean, for all samples.
    columns_in_order_ : list of str
        Columns of a table file in the order in which `ForwardFS` selects them from the training
        samples of the first split; empty without it.
    stopped : bool
        Whether Ctrl-C ended `narrows compare` early; `compare` itself raises KeyboardInterrupt.

    See Also
    --------
    compare : Compute the lines.
    ComparisonDisplay : Plot the lines.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from narrows.evaluate import compare
    >>> lines = compare(*load_iris(return_X_y=True), ["srda", "ocfs"], dims=[1, 2])
    >>> lines.recommendation_.line.method
    'srda'
    """

    _heading = "Comparison of dimensionality reductions", "on"
    n_folds, metric, why, margin, ranked_by = 1, "accuracy", "", MARGIN, ""
    notes: Sequence[str] = ()
    largest_class_: Line | None = None
    columns_in_order_: Sequence[str] = ()
    stopped = False

    def __init__(
        self,
        iterable: Iterable[Line] = (),
        splits: Splits | None = None,
        methods: Sequence[Method] = (),
    ):
        super().__init__(iterable)
        self._splits, self._methods = splits, methods

    def of(self, lines: Iterable[Line]) -> Self:
        """Return some of the lines as results of the same comparison."""
        some = type(self)(lines)
        some.__dict__.update(self.__dict__)
        return some

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the comparison as one HTML page, and its figures as JSON beside it.

        The page loads nothing from the network. It requires the extra plots.

        Parameters
        ----------
        path : str or path-like
            A file that ends in .html or .htm.

        Raises
        ------
        ParameterError
            The file does not end so, or the lines do not come from `compare`.
        ImportError
            A library that reports need is not installed.

        See Also
        --------
        ComparisonDisplay : Plot the scores alone.
        """
        if self._splits is None:
            raise ParameterError(
                "expected the result of compare to report, got lines alone. Call "
                "report of what compare returned."
            )
        write(path, self)

    @property
    def recommendation_(self) -> Recommendation | None:
        """The reduction to use, and why; None if no reduction was compared."""
        return Recommendation(self) if self._reductions() else None

    def _ranked(self) -> list[Line]:
        """Return the lines that the recommendation compares."""
        done = (line for line in self if not line.skipped)
        return [line for line in done if self.ranked_by in ("", line.classifier)]

    def _reductions(self) -> list[Line]:
        """Return the reductions that the recommendation compares."""
        return [line for line in self._ranked() if line.is_reduction]

    def score(self, line: Line) -> float:
        """Return the score of a line by which results are compared."""
        return value(line, self.metric)

    def differences(self) -> list[Difference | None]:
        """Return the paired difference of each line from the best with the same classifier.

        None for a line that was skipped.
        """
        done = [line for line in self if not line.skipped]
        best = {by: max((line for line in done if line.classifier == by), key=self.score)
                for by in self._classifiers()}  # fmt: skip
        return [
            None if line.skipped else
            difference(line.outcomes, best[line.classifier].outcomes, self.metric) for line in self
        ]  # fmt: skip

    def near(self) -> list[bool]:
        """Return which lines are equivalent to the best of their classifier."""
        apart = self.differences()
        return [each is not None and not each.is_worse(self.margin) for each in apart]

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return the lines ready for JSON, with their differences from the best ones."""
        return [
            line.as_dict() | ({} if apart is None else {"to_best": as_numbers(apart)})
            for line, apart in zip(self, self.differences(), strict=True)
        ]

    def _contents(self) -> dict[str, Any]:
        """Return what JSON has besides the sentence, the margin and the lines."""
        chosen, largest = self.recommendation_, self.largest_class_
        return {
            "recommendation": None if chosen is None else chosen.as_dict(),
            "metric": self.metric,
            "metric_because": self.why,
            "ranked_by": self.ranked_by,
            "notes": list(self.notes),
            "splits": self.n_folds,
            "stopped": self.stopped,
            "columns_in_order": list(self.columns_in_order_),
            constant(self.metric): None if largest is None else largest.as_dict(),
        }

    def _page(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what the report adds to the contents, and what it shows."""
        assert self._splits is not None
        return of_comparison(self, self._splits, self._methods, self._ranked())

    @property
    def sentence_(self) -> str:
        """The recommendation, or why there is none."""
        chosen, reductions = self.recommendation_, self._reductions()
        if chosen is not None:
            said = [str(chosen)]
            several = len({line.method for line in reductions}) > 1
            unequal = any(chosen.is_worse(line, chosen.best_reduction) for line in reductions)
            many = several and len(reductions) >= _FEWEST_EQUAL
            if chosen.verdict == "use" and many and not unequal:
                equal = f"All {len(reductions)} reductions are equally good"
                said.append(f"{equal}: choose by size, time or features.")
            return " ".join([*said, *self.notes])
        tried = [line for line in self if line.method != ALL]
        d = max((line.features for line in self), default=0)
        if d == 1:
            why = ": the samples have 1 feature"
        elif any(not line.skipped for line in tried):
            why = f": every result has all {count(d, 'feature')}"
        else:
            why = ": every method was skipped" if tried else ""
        return " ".join([f"No reduction was compared{why}.", *self.notes])

    def _classifiers(self) -> list[str]:
        """Return the classifiers or regressors that have results."""
        return list(dict.fromkeys(line.classifier for line in self if not line.skipped))

    def _size(self, row: Line) -> str:
        """Return the size of a line as text."""
        if not row.classifier or not row.columns:
            return "" if not row.classifier else super()._size(row)
        columns = ALL if row.all_columns else count(row.columns, "column")
        return f"{columns}, {row.dimensions:,}"

    def _more(self) -> list[str]:
        """Return the scores that are shown beside the metric."""
        if self.metric == "r2":
            return ["rmse"]
        done = [line for line in self if not line.skipped]
        ranked = bool(done) and all(line.roc_auc == line.roc_auc for line in done)
        names = OF_CLASSES + BY_SCORES if ranked else OF_CLASSES
        return [name for name in names if name != self.metric]

    def _cells(self, full: bool = False) -> tuple[list[str], list[tuple[Line, list[Any]]]]:
        """Return a header, and the cells of each reduction, or of each line with all scores.

        The last row is that of the largest class.
        """
        apart = dict(zip(self, self.differences(), strict=True))
        classifiers, field = self._classifiers() or [""], FIELDS[self.metric]
        several, first = len(classifiers) > 1, classifiers[0]
        last = [] if self.largest_class_ is None else [self.largest_class_]
        second = {"accuracy": "macro_f1", "r2": "rmse"}.get(self.metric, "accuracy")
        more = self._more() if full else [] if several else [second]
        if self.metric == "balanced_accuracy" and not full:
            more.append("log_loss")  # where classes are rare, probabilities say more than hits

        def score(line: Line | None) -> Any:
            if line is None:
                return "-  "
            spread = (line.spread or {}).get(field) if full or not several else None
            near = (to_best := apart.get(line)) is not None and not to_best.is_worse(self.margin)
            return Cell(getattr(line, field), spread, near)

        def others(line: Line) -> list[Any]:
            to_best, values = apart.get(line), [getattr(line, FIELDS[each]) for each in more]
            times = [line.learn, line.transform]
            return [
                "" if to_best is None else Cell(*to_best, form="+.3f"),
                *(Cell(value, form=f",.{3 if value < 1e4 else 0}f") for value in values),
                Cell(line.row_bytes, form=",.0f"),
                *map(Cell, [*times, line.train] if full else [sum(times)]),
            ]

        rows: dict[Any, dict[str, Line]] = {}
        for line in [*self, *last] if full else self._without_left_out():
            key = line if full else (line.method, line.skipped or line.dimensions)
            rows.setdefault(key, {})[line.classifier] = line
        if not full:
            rows |= {line: dict.fromkeys(classifiers, line) for line in last}
        found = []
        for row in rows.values():
            line = row.get(first) or next(iter(row.values()))
            scores = [line] if full else [row.get(each) for each in classifiers]
            cells = [line.classifier] if full and several else []
            if line.skipped:
                found.append((line, [*cells, f"skipped: {line.skipped}"]))
            else:
                found.append((line, [*cells, *map(score, scores), *others(line)]))
        header = ["classifier"] if full and several else []
        header += classifiers if several and not full else [_SHORT[self.metric]]
        header += [f"{first} to the best" if several and not full else "to the best"]
        header += [
            f"{first} {_SHORT[each]}" if several and not full else _SHORT[each] for each in more
        ]
        times = ["bytes", "learn", "reduce", "train"] if full else ["bytes/row", "seconds"]
        return [*header, *times], found

    def _without_left_out(self) -> list[Line]:
        """Return the lines without those of all features that were left out to save time."""
        known = any(line.method == ALL and not line.skipped for line in self)
        return [line for line in self if not (known and line.method == ALL and line.skipped)]

    def _above(self) -> list[str]:
        """Return the columns of the recommended selection, and which metric compares."""
        return [*self._chosen_columns(), *filter(None, [self.why])]

    def _chosen_columns(self) -> list[str]:
        """Return a line with the columns that the recommended selection keeps, by name."""
        chosen = self.recommendation_
        if chosen is None or chosen.verdict == "nothing" or not (names := chosen.line.chosen):
            return []
        what = "Columns" if chosen.line.columns else "Features"
        more = f" and {len(names) - _SHOWN:,} more" * (len(names) > _SHOWN)
        split = " in the first split" * (self.n_folds > 1)
        return [f"{what}, best first{split}: {', '.join(map(printable, names[:_SHOWN]))}{more}."]

    def _below(self) -> list[str]:
        """Return lines that explain the table, and the first columns that were selected."""
        several = len({line.classifier for line in self}) > 1
        what = "regressor" if self.metric == "r2" else "classifier"
        split = f"means over {self.n_folds} splits{' +- standard deviation' * (not several)}; "
        notes = [
            f"{split * (self.n_folds > 1)}to the best{f' with the same {what}' * several}: paired "
            f"difference +- standard error; {marks(self.margin).format('')}; seconds: to fit and "
            "to reduce"
        ]
        known = set(self._without_left_out())
        notes += [f"{ALL}: {line.skipped}" for line in self if line not in known]
        if stopped := sum(not line.converged for line in self):
            notes.append(f"logistic: {count(stopped, 'result')} without convergence.")
        names, n = self.columns_in_order_[:_SHOWN], len(self.columns_in_order_)
        if names and not self._chosen_columns():
            first = "" if n == len(names) else f"the first {_SHOWN} of {n:,}, "
            one = "" if self.n_folds == 1 else " of the first split"
            shown = ", ".join(map(printable, names))
            notes.append(
                f"columns in the order of ForwardFS ({first}training samples{one}): {shown}"
            )
        return notes
