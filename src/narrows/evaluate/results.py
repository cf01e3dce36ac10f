"""Results of a comparison: its lines, which reduction to use, and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from narrows.errors import printable
from narrows.methods import MODULES
from narrows.solve.paired import (
    MARGIN,
    METRICS,
    Difference,
    HeldOutPredictions,
    difference,
    ratio_of,
    standard_error,
)

ALL = "all columns"
FIELDS = {
    "accuracy": "micro_f1", "macro_f1": "macro_f1", "balanced_accuracy": "balanced_accuracy",
    "roc_auc": "roc_auc", "average_precision": "average_precision", "log_loss": "log_loss",
    "r2": "r2", "rmse": "rmse",
}  # fmt: skip
_TITLES = METRICS | {"rmse": "RMSE"}
OF_CLASSES = "accuracy", "macro_f1", "balanced_accuracy"
_SCORES = tuple(FIELDS.values())
_AVERAGED = ("learn", "transform", "train", "row_bytes", *_SCORES)
_RIVALS = {
    "truncatedsvd": "TruncatedSVD",
    "sklearn-pca": "scikit-learn's PCA",
    "sparserandomprojection": "SparseRandomProjection",
    "chi2": "SelectKBest(chi2)",
    "f_classif": "SelectKBest(f_classif)",
    "lineardiscriminantanalysis": "LinearDiscriminantAnalysis",
    "plsregression": "PLSRegression",
    "f_regression": "SelectKBest(f_regression)",
}
_NAMES = {name.lower(): name for name in MODULES} | _RIVALS
_NAN = float("nan")
ALWAYS = "always answering "
_SHOWN = 20  # columns in order
_WIDTH = 100  # of the table, unless names of methods get too short
_SHORTEST = 20  # characters of such a name
_SHORT = {"roc_auc": "ROC area", "average_precision": "av. precision"}  # in the table
_FEWEST_EQUAL = 3  # reductions that may be equally good
_CLEAR = 2  # standard errors that a result must be better than the largest class
# A constant prediction has a lower macro-F1 than random ones, but not a lower balanced accuracy
_AGAINST_CONSTANT = {"macro_f1": "balanced_accuracy"}


@dataclass
class Line:
    """One line of a comparison: means over the splits.

    Scores of classes are NaN for numeric targets, and those of targets for classes.

    Parameters
    ----------
    method, classifier : str
        Names of the reduction and of the classifier or regressor.
    asked : int or None
        Number of dimensions requested; None for all features.
    dimensions : int
        Number of dimensions of the reduced data; smaller if the method has fewer.
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
        unless results are compared by one of these.
    standard_error : float
        The standard error of the accuracy or R^2, as `narrows.solve.paired` defines it. To the
        accuracy, one correct and one wrong prediction are added, so that it is never 0.
    spread : dict
        Standard deviation of each score over the splits, if there are several.
    features : int
        Number of features before the reduction.
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
    skipped : str
        Why the method was skipped; empty if it was not.
    """

    method: str
    classifier: str
    asked: int | None
    dimensions: int = 0
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
    skipped: str = ""
    features: int = 0
    columns: int = 0
    all_columns: bool = False
    converged: bool = True
    chosen: tuple[str, ...] = ()
    outcomes: tuple[HeldOutPredictions, ...] = field(default=(), repr=False)

    @property
    def is_reduction(self) -> bool:
        """Whether the line is done, and has fewer dimensions than there are features."""
        less = self.dimensions < self.features and not self.all_columns
        return not self.skipped and self.method != ALL and less

    @property
    def is_rival(self) -> bool:
        """Whether the method is one of scikit-learn."""
        return self.method in _RIVALS

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, ready for JSON."""
        if self.skipped:
            names = "method", "classifier", "asked", "skipped"
            return {name: getattr(self, name) for name in names}
        fields = asdict(replace(self, wrong=Counter(), outcomes=()))
        del fields["skipped"], fields["wrong"], fields["outcomes"]
        if self.classifier != "logistic":
            del fields["converged"]
        return {name: value for name, value in fields.items() if value == value}  # not NaN


def value(line: Line, metric: str) -> float:
    """Return the score of a line by a metric, of which larger is better."""
    found: float = getattr(line, FIELDS[metric])
    return -found if metric == "log_loss" else found


def title(method: str) -> str:
    """Return the name of a method as it is written in text."""
    return _NAMES.get(method, method.removesuffix("()"))


class Sized(Protocol):
    """What has the name of a method, and a number of dimensions."""

    method: str
    dimensions: int


def named(line: Sized) -> str:
    """Return the name and the number of dimensions of a line as text."""
    size = count(line.dimensions, "feature" if line.method == ALL else "dimension")
    if columns := getattr(line, "columns", 0):
        size = f"{count(columns, 'column')}, {size}"
    return f"all {size}" if line.method == ALL else f"{title(line.method)} with {size}"


def against(apart: Difference, other: str, score: str, margin: float) -> str:
    """Return as text how a result differs from another one, which has a score."""
    how = "within one standard error of"
    if abs(apart.mean) > apart.standard_error:
        how = f"within the margin of {margin:g} of"
    how = "worse than" if apart.is_worse(margin) else how
    how = "better than" if apart.is_better(margin) else how
    return f"{how} {other} ({score}; difference {apart})"


def placed(parts: Sequence[str], best: str | None) -> str:
    """Return parts of a sentence, and how the choice differs from the best, unless it is that."""
    said = ", ".join(parts)
    return f"{said}. No reduction has a higher score." if best is None else f"{said}, and {best}."


def count(n: int, what: str) -> str:
    """Return a number of things as text."""
    return f"{n:,} {what}" + "s" * (n != 1)


def constant(metric: str) -> str:
    """Return what a constant prediction is: the name of its line in JSON."""
    return "mean" if metric == "r2" else "largest_class"


def curves(lines: Iterable[Line]) -> dict[tuple[str, str], list[Line]]:
    """Return the lines of each method and classifier, one for each number of dimensions."""
    found: dict[tuple[str, str], dict[int, Line]] = {}
    for line in lines:
        if not line.skipped and line.method != ALL:
            found.setdefault((line.method, line.classifier), {})[line.dimensions] = line
    return {key: [points[p] for p in sorted(points)] for key, points in found.items()}


def mean(lines: Sequence[Line]) -> Line:
    """Return the mean of the lines of several splits."""
    first = lines[0]
    if len(lines) == 1 or any(line.skipped for line in lines):
        return next((line for line in lines if line.skipped), first)
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


@dataclass(frozen=True)
class Recommendation:
    """The reduction to use, by the rule of one standard error (Breiman et al., 1984), or a margin.

    Results are equivalent if the one is not worse by more than one standard error of the paired
    difference, or not by more than a margin. Of the reductions that are equivalent to the best
    reduction, the one with the fewest dimensions; of these, a method of narrows before one of
    scikit-learn, then the one that takes the least time to learn and to reduce. Reductions that are
    better than the largest class, and then those that are not worse than all features, come first.

    Parameters
    ----------
    line : Line
        The reduction.
    best : Line
        The line with the highest score, of all features or of a reduction.
    ties : tuple of str
        Other methods that qualify with as many dimensions.
    all_columns : Line or None
        The line of all features with the same classifier.
    metric : {"accuracy", "macro_f1", "balanced_accuracy", "roc_auc", "average_precision", \
            "log_loss", "r2"}
        The score.
    best_reduction : Line
        The reduction with the highest score.
    every : Line or None
        The best line of all features.
    largest_class : Line or None
        The line that predicts the largest class, or the mean, for all samples.
    clearest : Line
        The line with the highest score of those by which results are compared with the largest
        class: the balanced accuracy in place of macro-F1.
    verdict : {"use", "worse", "features only", "nothing"}
        "use": recommended. "worse": every reduction is worse than all features, not equivalent.
        "features only": all features are better than the largest class by more than
        two standard errors, and no reduction is. "nothing": no result is.
    of_narrows : Line or None
        The reduction to use of those by methods of narrows; `line`, if it is one.
    margin : float
        A difference that does not count, however sure it is.
    other : Line or None
        If the verdict is "nothing", the best line of a classifier that does not rank, if that is
        better than the largest class by more than two standard errors.
    """

    line: Line
    best: Line
    ties: tuple[str, ...]
    all_columns: Line | None
    metric: str
    best_reduction: Line
    every: Line | None
    largest_class: Line | None
    clearest: Line
    verdict: str
    of_narrows: Line | None
    margin: float = MARGIN
    other: Line | None = None

    @property
    def is_within(self) -> bool:
        """Whether the reduction is within one standard error, or the margin, of the best line."""
        return not self._from(self.best).is_worse(self.margin)

    def _from(self, other: Line) -> Difference:
        return difference(self.line.outcomes, other.outcomes, self.metric)

    def _score(self, line: Line) -> str:
        by = "" if line.classifier in ("", self.line.classifier) else f" with {line.classifier}"
        return f"{getattr(line, FIELDS[self.metric]):.3f}{by}"

    def __str__(self) -> str:
        if self.verdict == "nothing":
            return self._verdict()
        said = f"{self._verdict()} {self._choice()}" if self.verdict != "use" else self._choice()
        line, every = self.line, self.all_columns
        if every is not None and line.row_bytes < every.row_bytes:
            factor = every.row_bytes / line.row_bytes
            said += f" The data become {factor:.{0 if factor >= 9.95 else 1}f} times smaller."
        largest = self.largest_class
        if self.verdict == "use" and largest is not None and self.metric != "r2":
            score = getattr(largest, FIELDS[self.metric])
            said += f" A{largest.method[1:]} has {score:.3f}."
        if self.ties:
            names = ", ".join(map(title, self.ties))
            said += f" {names} {'ties' if len(self.ties) == 1 else 'tie'}."
        if self.line.is_rival:
            said += f" {title(self.line.method)} is a method of scikit-learn."
            if self.of_narrows is not None:
                apart = difference(self.of_narrows.outcomes, line.outcomes, self.metric)
                said += (
                    f" Of narrows, the best choice is {named(self.of_narrows)} "
                    f"({self._score(self.of_narrows)}; difference {apart})."
                )
        return said

    def _verdict(self) -> str:
        """Say why no reduction is recommended without reserve."""
        every, largest = self.every, self.largest_class
        if self.verdict == "worse":
            assert every is not None
            return (
                f"Every reduction is worse than {named(every)} by more than one standard error"
                f"{f' and the margin of {self.margin:g}' if self.margin else ''}."
            )
        assert largest is not None
        against = _AGAINST_CONSTANT.get(self.metric, self.metric)
        score = FIELDS[against]
        shown = self.clearest if self.verdict == "nothing" else every
        assert shown is not None
        apart = difference(shown.outcomes, largest.outcomes, against)
        found = f"{getattr(shown, score):.3f}, {shown.classifier}; difference {apart}"
        than = f"{largest.method} ({METRICS[against]} {getattr(largest, score):.3f})"
        if self.verdict == "nothing":
            unless = ""
            if (other := self.other) is not None:
                unless = (
                    f" with {shown.classifier}, by which results are compared; {named(other)} "
                    f"with {other.classifier} {'do' if other.method == ALL else 'does'} "
                    f"({getattr(other, score):.3f})"
                )
            return (
                f"Nothing here beats {than} by more than two standard errors{unless}. "
                f"The best result is {named(shown)} ({found}). If you reduce the data all the "
                f"same, use {named(self.of_narrows or self.line)}."
            )
        return (
            f"No reduction beats {than} by more than two standard errors, but {named(shown)} "
            f"{'does' if shown.dimensions == 1 else 'do'} ({found})."
        )

    def _choice(self) -> str:
        """Say which reduction to use, and its difference from the others."""
        line, every, best = self.line, self.every, self.best_reduction
        use = "Use" if self.verdict == "use" else "If you reduce the data, use"
        said = f"{use} {named(line)}: {METRICS[self.metric]} {self._score(line)} "
        parts = [said + f"({line.classifier})"]
        if every is not None:
            parts.append(self._placed(every, named(every)))
        apart = None if best is line else self._placed(best, f"the best reduction, {named(best)}")
        return placed(parts, apart)

    def _placed(self, other: Line, name: str) -> str:
        return against(self._from(other), name, self._score(other), self.margin)

    def as_dict(self) -> dict[str, Any]:
        """Return the recommendation ready for JSON."""
        places = {
            "all_columns": self.every,
            "best_reduction": self.best_reduction,
            constant(self.metric): self.largest_class,
        }
        return {
            "method": self.line.method,
            "dimensions": self.line.dimensions,
            "classifier": self.line.classifier,
            "metric": self.metric,
            "verdict": self.verdict,
            "margin": self.margin,
            "within_one_standard_error": not self._from(self.best).is_worse(0),
            "within_margin": self.is_within,
            "chosen": list(self.line.chosen),
            "ties": list(self.ties),
            "best": _place(self.best),
            "differences": {
                name: _place(line) | as_numbers(self._from(line))
                for name, line in places.items()
                if line is not None
            },
            "of_narrows": None if self.of_narrows is None else _place(self.of_narrows),
            "other": None if self.other is None else _place(self.other),
            "sentence": str(self),
        }


class Results(list[Line]):
    """The lines of a comparison, and what follows from them.

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
        A difference that does not count.
    notes : list of str
        What makes results too good.
    largest_class_ : Line or None
        The line that predicts the largest class, or the mean, for all samples.
    columns_in_order_ : list of str
        The columns of a table in the order of forward selection, in the first split.
    ranked_by : str
        The classifier whose results are compared; empty if those of all are.
    stopped : bool
        Whether Ctrl-C ended the comparison.
    """

    n_folds, metric, why, margin, ranked_by = 1, "accuracy", "", MARGIN, ""
    notes: Sequence[str] = ()
    largest_class_: Line | None = None
    columns_in_order_: Sequence[str] = ()
    stopped = False

    def of(self, lines: Iterable[Line]) -> Results:
        """Return some of the lines as results of the same comparison."""
        some = Results(lines)
        some.__dict__.update(self.__dict__)
        return some

    @property
    def recommendation_(self) -> Recommendation | None:
        """The reduction to use, and why; None if no reduction was compared."""
        every_one = [line for line in self if not line.skipped]
        done = [line for line in every_one if is_ranked(self, line)]
        reductions = [line for line in done if line.is_reduction]
        if not reductions:
            return None
        every = self._top(line for line in done if line.method == ALL)
        line, near = self._choose(reductions, every)
        mine = [line for line in reductions if not line.is_rival]
        equal = [each.method for each in near if each.dimensions == line.dimensions]
        if self._beat_largest(reductions):
            worse = every is not None and all(self._is_worse(each, every) for each in reductions)
            verdict = "worse" if worse else "use"
        else:
            only = every is not None and self._beat_largest([every])
            verdict = "features only" if only else "nothing"
        against = _AGAINST_CONSTANT.get(self.metric, self.metric)
        return Recommendation(
            line,
            self._top(done),
            tuple(name for name in dict.fromkeys(equal) if name != line.method),
            next((x for x in done if (x.method, x.classifier) == (ALL, line.classifier)), None),
            self.metric,
            self._top(reductions),
            every,
            self.largest_class_,
            self._top(done, against),
            verdict,
            line if not line.is_rival else self._choose(mine, every)[0] if mine else None,
            self.margin,
            self._top(self._beat_largest(every_one), against) if verdict == "nothing" else None,
        )

    def _top(self, lines: Iterable[Line], metric: str | None = None) -> Any:
        """Return the line with the highest score, of equal ones the smallest; None of no lines."""
        by = metric or self.metric
        return max(lines, key=lambda line: (value(line, by), -line.dimensions), default=None)

    def _choose(self, lines: list[Line], every: Line | None) -> tuple[Line, list[Line]]:
        """Return which of some reductions to use, and all that are good enough."""
        best = self._top(lines)
        near = [line for line in lines if not self._is_worse(line, best)]
        near = self._beat_largest(near) or near
        if every is not None:
            near = [line for line in near if not self._is_worse(line, every)] or near
        return min(near, key=self._order), near

    def _order(self, line: Line) -> tuple[float, ...]:
        """Return what is smaller for the reduction to prefer of those that are good enough."""
        return line.dimensions, line.is_rival, line.learn + line.transform, -self.score(line)

    def score(self, line: Line) -> float:
        """Return the score of a line by which results are compared."""
        return value(line, self.metric)

    def _is_worse(self, line: Line, other: Line) -> bool:
        return difference(line.outcomes, other.outcomes, self.metric).is_worse(self.margin)

    def _beat_largest(self, lines: list[Line]) -> list[Line]:
        """Return the lines that are clearly better than the largest class."""
        largest, metric = self.largest_class_, _AGAINST_CONSTANT.get(self.metric, self.metric)
        if largest is None:
            return lines
        return [
            line for line in lines
            if difference(line.outcomes, largest.outcomes, metric).is_better(by=_CLEAR)
        ]  # fmt: skip

    def differences(self) -> list[Difference | None]:
        """Return the paired difference of each line from the best with the same classifier.

        None for a line that was skipped.
        """
        done = [line for line in self if not line.skipped]
        best = {
            by: max((line for line in done if line.classifier == by), key=self.score)
            for by in {line.classifier for line in done}
        }
        return [
            None
            if line.skipped
            else difference(line.outcomes, best[line.classifier].outcomes, self.metric)
            for line in self
        ]

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

    @property
    def sentence_(self) -> str:
        """The recommendation, or why there is none."""
        chosen = self.recommendation_
        if chosen is not None:
            return " ".join([str(chosen), *self._all_equal(chosen), *self.notes])
        tried = [line for line in self if line.method != ALL]
        done = [line for line in tried if not line.skipped]
        d = max((line.features for line in self), default=0)
        if d == 1:
            why = ": the samples have 1 feature"
        elif done:
            why = f": every result has all {count(d, 'feature')}"
        else:
            why = ": every method was skipped" if tried else ""
        return " ".join([f"No reduction was compared{why}.", *self.notes])

    def _all_equal(self, chosen: Recommendation) -> list[str]:
        """Say that all reductions are equivalent, if that is so and there are several methods."""
        lines = [line for line in self if line.is_reduction and is_ranked(self, line)]
        several = len({line.method for line in lines}) > 1 and len(lines) >= _FEWEST_EQUAL
        unequal = any(self._is_worse(line, chosen.best_reduction) for line in lines)
        if chosen.verdict != "use" or not several or unequal:
            return []
        return [f"All {len(lines)} reductions are equally good: choose by size, time or features."]

    def __str__(self) -> str:
        """Return the recommendation, the metric, and a table of at most 100 characters a line.

        A row has the scores by all classifiers behind one reduction. Long names lose their middle.
        """
        said = [self.sentence_, *chosen_columns(self), *filter(None, [self.why]), ""]
        return "\n".join([*said, *self._table(), *self._notes(), *self._in_order()])

    def _table(self) -> list[str]:
        """Return a header and a row for each reduction, and one for the largest class."""
        classifiers, rows = classifiers_of(self) or [""], by_reduction(self)
        apart = dict(zip(map(id, self), self.differences(), strict=True))
        several, name = len(classifiers) > 1, _SHORT.get(self.metric, METRICS[self.metric])
        first, second = classifiers[0], [] if len(classifiers) > 1 else [_TITLES[self._second]]
        header = [*(classifiers if several else [name]), f"{first} to the best" if several else
                  "to the best", *second, "bytes/row", "seconds"]  # fmt: skip
        cells = [
            [f"skipped: {line.skipped}"] if line.skipped else [
                *(self._score(row.get(each), apart, several) for each in classifiers),
                str(apart.get(id(line)) or ""), *([self._other(line)] if second else []),
                f"{line.row_bytes:,.0f}", f"{line.learn + line.transform:.3f}",
            ]
            for row in rows for line in [row.get(first) or next(iter(row.values()))]
        ]  # fmt: skip
        lines = [next(iter(row.values())) for row in rows]
        sized = zip(["dimensions", *map(_size, lines)], [header, *cells], strict=True)
        right = [[size, *row] for size, row in sized]
        room = max(_SHORTEST, _WIDTH - 2 - len(aligned(right, ())[0]))
        names = ["method", *(_shortened(line.method, room) for line in lines)]
        return aligned([[name, *row] for name, row in zip(names, right, strict=True)])

    def _score(self, line: Line | None, apart: dict[int, Difference | None], several: bool) -> str:
        """Return the score of a line, marked if it is equivalent to the best."""
        if line is None:
            return "-  "
        score, to_best = f"{getattr(line, FIELDS[self.metric]):.3f}", apart.get(id(line))
        if line.spread is not None and not several:
            score += f" +-{line.spread[FIELDS[self.metric]]:.3f}"
        near = to_best is not None and not to_best.is_worse(self.margin)
        return score + (" *" if near else "  ")

    def _other(self, line: Line) -> str:
        score = getattr(line, FIELDS[self._second])
        return f"{score:,.{3 if score < 1e4 else 0}f}"  # the RMSE of a price may be long

    def _without_left_out(self) -> list[Line]:
        """Return the lines without those of all features that were left out to save time."""
        known = any(line.method == ALL and not line.skipped for line in self)
        return [line for line in self if not (known and line.method == ALL and line.skipped)]

    def _in_order(self) -> list[str]:
        """Return a line with the first columns of a table, if they were selected in order."""
        names, n = self.columns_in_order_[:_SHOWN], len(self.columns_in_order_)
        if not names or chosen_columns(self):
            return []
        first = "" if n == len(names) else f"the first {_SHOWN} of {n:,}, "
        split = "" if self.n_folds == 1 else " of the first split"
        shown = ", ".join(map(printable, names))
        return [f"columns in the order of ForwardFS ({first}training samples{split}): {shown}"]

    @property
    def _second(self) -> str:
        """The metric that is shown beside the one by which results are compared."""
        return {"accuracy": "macro_f1", "r2": "rmse"}.get(self.metric, "accuracy")

    def _notes(self) -> list[str]:
        """Return lines below the table that explain it."""
        several = len({line.classifier for line in self}) > 1
        what = "regressor" if self.metric == "r2" else "classifier"
        split = f"means over {self.n_folds} splits{' +- standard deviation' * (not several)}; "
        margin = f", or by more than {self.margin:g}" * bool(self.margin)
        return [
            f"{split * (self.n_folds > 1)}to the best{f' with the same {what}' * several}: paired "
            f"difference +- standard error; * not worse by more than that{margin}; seconds: to fit "
            "and to reduce",
            *notes_on_classifiers(self),
        ]


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Return the lines of a table, whose first row is a header; some columns are to the left.

    The last cell of a row with fewer cells takes no part in the widths.
    """
    n = len(rows[0])
    full = [row if len(row) == n else row[:-1] for row in rows]
    wide = [max(len(row[k]) for row in full if k < len(row)) for k in range(n)]
    return [
        "  ".join(
            [*(f"{cell:{'<' if k in left else '>'}{wide[k]}}" for k, cell in enumerate(known)),
             *row[len(known) :]]
        )
        for row, known in zip(rows, full, strict=True)
    ]  # fmt: skip


def is_ranked(lines: Results, line: Line) -> bool:
    """Whether the recommendation depends on the classifier of a line."""
    return lines.ranked_by in ("", line.classifier)


def classifiers_of(lines: Results) -> list[str]:
    """Return the classifiers or regressors that have results."""
    return list(dict.fromkeys(line.classifier for line in lines if not line.skipped))


def by_reduction(lines: Results) -> list[dict[str, Line]]:
    """Return the lines of each reduction by classifier, and last those of the largest class."""
    rows: dict[Any, dict[str, Line]] = {}
    for line in lines._without_left_out():
        key = line.method, line.skipped or line.dimensions
        rows.setdefault(key, {})[line.classifier] = line
    largest = lines.largest_class_
    last = [] if largest is None else [dict.fromkeys(classifiers_of(lines) or [""], largest)]
    return [*rows.values(), *last]


def notes_on_classifiers(lines: Results) -> list[str]:
    """Return what was done otherwise than with each classifier's defaults, in sentences."""
    known = set(map(id, lines._without_left_out()))
    said = [f"{ALL}: {line.skipped}" for line in lines if id(line) not in known]
    stopped = [line for line in lines if not line.converged]
    if stopped:
        said.append(f"logistic: {count(len(stopped), 'result')} without convergence.")
    return said


def chosen_columns(lines: Results) -> list[str]:
    """Return a line with the columns that the recommended selection keeps, by name."""
    recommended = lines.recommendation_
    if recommended is None or recommended.verdict == "nothing":
        return []
    names = recommended.line.chosen
    if not names:
        return []
    what = "Columns" if recommended.line.columns else "Features"
    more = f" and {len(names) - _SHOWN:,} more" * (len(names) > _SHOWN)
    split = " in the first split" * (lines.n_folds > 1)
    return [f"{what}, best first{split}: {', '.join(map(printable, names[:_SHOWN]))}{more}."]


def _shortened(name: str, most: int) -> str:
    """Return a name of at most so many characters: a method without its middle."""
    if len(name) <= most:
        return name
    left = most - 1 if name.startswith(ALWAYS) else most // 2
    return f"{name[:left]}…{name[len(name) - most + left + 1 :]}"


def _size(line: Line) -> str:
    """Return the size of a line as the table shows it."""
    if line.skipped or not line.classifier:
        return str(line.asked or "")
    columns = ALL if line.all_columns else count(line.columns, "column")
    return (f"{columns}, " if line.columns else "") + f"{line.dimensions:,}"


def averaged(found: Iterable[Sequence[Line]]) -> Results:
    """Return one line for each model and classifier, means over the splits that are complete.

    What has the dimensions of an earlier line of its method is the same model, and left out, as is
    a method that is skipped again for the same reason.
    """
    found = list(found)
    lines, seen = Results(), set[Any]()
    lines.n_folds = min(map(len, found), default=1)
    for line in (mean(each[: lines.n_folds]) for each in found):
        key = line.method, line.skipped or (line.classifier, line.dimensions)
        if key in seen:
            continue
        seen.add(key)
        if line.method.startswith(ALWAYS):
            lines.largest_class_ = line
        else:
            lines.append(line)
    return lines


def as_numbers(difference: Difference) -> dict[str, float]:
    """Return a difference ready for JSON."""
    return {"mean": difference.mean, "standard_error": difference.standard_error}


def _place(line: Line) -> dict[str, Any]:
    return {name: getattr(line, name) for name in ("method", "dimensions", "classifier")}
