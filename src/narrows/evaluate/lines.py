"""The result of a comparison: a line for each model and classifier, and which one to use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from narrows.methods import MODULES

ALL = "all columns"
_SCORES = ("precision", "recall", "micro_f1", "macro_f1", "error")
_AVERAGED = ("learn", "transform", "train", "row_bytes", *_SCORES)
_NAMES = {name.lower(): name for name in MODULES} | {
    "truncatedsvd": "TruncatedSVD",
    "sklearn-pca": "scikit-learn's PCA",
    "sparserandomprojection": "SparseRandomProjection",
    "chi2": "SelectKBest(chi2)",
    "f_classif": "SelectKBest(f_classif)",
    "lineardiscriminantanalysis": "LinearDiscriminantAnalysis",
}
_NAN = float("nan")


@dataclass
class Line:
    """One line of a comparison: means over the folds.

    Parameters
    ----------
    method, classifier : str
        Names of the reduction and of the classifier.
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
    precision, recall, macro_f1 : float
        Unweighted means over the classes.
    micro_f1, error : float
        Micro-F1, which is the accuracy since each sample has one label, and 1 - accuracy.
    standard_error : float
        The standard error of the accuracy a: sqrt(a (1 - a) / n) for n held-out samples, with one
        correct and one wrong prediction added, so that it is never 0. For a mean over folds, the
        larger of the one from the errors of the folds and the one from their standard deviation.
    spread : dict
        Standard deviation of each score over the folds, if there are several.
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
    precision: float = _NAN
    recall: float = _NAN
    micro_f1: float = _NAN
    macro_f1: float = _NAN
    error: float = _NAN
    standard_error: float = _NAN
    spread: dict[str, float] | None = None
    wrong: Counter = field(default_factory=Counter, repr=False)
    skipped: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, ready for JSON."""
        if self.skipped:
            names = "method", "classifier", "asked", "skipped"
            return {name: getattr(self, name) for name in names}
        fields = asdict(replace(self, wrong=Counter()))
        del fields["skipped"], fields["wrong"]
        return fields


@dataclass(frozen=True)
class Recommendation:
    """The reduction to use, by the rule of one standard error (Breiman et al., 1984).

    Of the reductions whose accuracy is within one standard error of the best line, the one with the
    fewest dimensions; of these, the one that takes the least time to learn and to reduce. If there
    is none, the most accurate reduction.

    Parameters
    ----------
    line : Line
        The reduction.
    best : Line
        The most accurate line, of all features or of a reduction.
    ties : tuple of str
        Other methods within one standard error of `best` with as many dimensions.
    all_columns : Line or None
        The line of all features with the same classifier.
    """

    line: Line
    best: Line
    ties: tuple[str, ...]
    all_columns: Line | None

    @property
    def is_within(self) -> bool:
        """Whether the reduction is within one standard error of the best line."""
        return _is_within(self.line, self.best)

    def __str__(self) -> str:
        line, every = self.line, self.all_columns
        what = f"{title(line.method)} with {_count(line.dimensions, 'dimension')}"
        if line.micro_f1 == self.best.micro_f1:
            said = f"Use {what}: no result is better (accuracy {line.micro_f1:.3f}"
            if every is not None:
                said += f"; {_named(every)}: {every.micro_f1:.3f}"
        elif self.is_within:
            said = (
                f"Use {what}: within one standard error ({self.best.standard_error:.3f}) of the "
                f"best result (accuracy {line.micro_f1:.3f} of {self.best.micro_f1:.3f}, "
                f"{_named(self.best)}"
            )
        else:
            said = (
                f"No reduction is within one standard error ({self.best.standard_error:.3f}) of "
                f"{_named(self.best)}. The most accurate is {what} (accuracy {line.micro_f1:.3f} "
                f"of {self.best.micro_f1:.3f}"
            )
        said += f"; {line.classifier})."
        if every is not None and line.row_bytes < every.row_bytes:
            factor = every.row_bytes / line.row_bytes
            said += f" The data become {factor:.{0 if factor >= 9.95 else 1}f} times smaller."
        if self.ties:
            names = ", ".join(map(title, self.ties))
            said += f" {names} {'ties' if len(self.ties) == 1 else 'tie'}."
        return said

    def as_dict(self) -> dict[str, Any]:
        """Return the recommendation ready for JSON."""
        return {
            "method": self.line.method,
            "dimensions": self.line.dimensions,
            "classifier": self.line.classifier,
            "within_one_standard_error": self.is_within,
            "ties": list(self.ties),
            "best": {name: getattr(self.best, name) for name in ("method", "dimensions")},
            "sentence": str(self),
        }


class Comparison(list[Line]):
    """The lines of a comparison: all features, then each method by dimensions and classifier.

    Each `Line` has the names of the method and of the classifier, the number of dimensions, scores,
    times and the size of a reduced sample. `print` shows a table.

    Parameters
    ----------
    iterable : iterable of Line
        The lines.

    Attributes
    ----------
    n_folds : int
        The number of folds over which the lines are means.

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

    n_folds = 1

    @property
    def recommendation_(self) -> Recommendation | None:
        """The reduction to use, and why; None if no reduction was compared."""
        done = [line for line in self if not line.skipped]
        reductions = [line for line in done if line.method != ALL]
        if not reductions:
            return None
        best = max(done, key=lambda line: (line.micro_f1, -line.dimensions))
        near = [line for line in reductions if _is_within(line, best)]
        if near:
            chosen = min(near, key=_preferred)
        else:
            chosen = max(reductions, key=lambda line: (line.micro_f1, -line.dimensions))
        equal = [line.method for line in near if line.dimensions == chosen.dimensions]
        ties = tuple(name for name in dict.fromkeys(equal) if name != chosen.method)
        every = (line for line in done if line.method == ALL)
        same = next((line for line in every if line.classifier == chosen.classifier), None)
        return Recommendation(chosen, best, ties, same)

    def near(self) -> list[bool]:
        """Return which lines are within one standard error of the best of their classifier."""
        best: dict[str, Line] = {}
        for line in self:
            if not line.skipped:
                best[line.classifier] = max(
                    best.get(line.classifier, line), line, key=lambda each: each.micro_f1
                )
        return [not line.skipped and _is_within(line, best[line.classifier]) for line in self]

    def __str__(self) -> str:
        """Return the recommendation, and a table with a header."""
        chosen = self.recommendation_
        width = max((len(line.method) for line in self), default=6)
        several = len({line.classifier for line in self}) > 1
        header = (
            f"{'method':<{width}}  {'dimensions':>14}  {'by   ' if several else ''}"
            f"{'accuracy':>15}  {'macro-F1':>8}  {'bytes/row':>9}  {'learn s':>8}  "
            f"{'reduce s':>8}  {'train s':>8}"
        )
        rows = [
            _text(line, near, width, several) for line, near in zip(self, self.near(), strict=True)
        ]
        note = "* within one standard error of the best" if any(self.near()) else ""
        note += " with the same classifier" if note and several else ""
        return "\n".join([*([] if chosen is None else [str(chosen), ""]), header, *rows, note])


def averaged(found: Iterable[Sequence[Line]]) -> Comparison:
    """Return one line for each model and classifier, means over the folds that are complete.

    What has the dimensions of an earlier line of its method is the same model, and left out, as is
    a method that is skipped again for the same reason.
    """
    found = list(found)
    lines, seen = Comparison(), set[Any]()
    lines.n_folds = min(map(len, found), default=1)
    for line in (_mean(each[: lines.n_folds]) for each in found):
        key = line.method, line.skipped or (line.classifier, line.dimensions)
        if key not in seen:
            seen.add(key)
            lines.append(line)
    return lines


def title(method: str) -> str:
    """Return the name of a method as it is written in text."""
    return _NAMES.get(method, method)


def _mean(lines: Sequence[Line]) -> Line:
    """Return the mean of the lines of several folds."""
    first = lines[0]
    if len(lines) == 1 or any(line.skipped for line in lines):
        return next((line for line in lines if line.skipped), first)
    values = {name: [getattr(line, name) for line in lines] for name in _AVERAGED}
    means: dict[str, Any] = {name: float(np.mean(of)) for name, of in values.items()}
    spread = {name: float(np.std(values[name], ddof=1)) for name in _SCORES}
    between = spread["micro_f1"] / len(lines) ** 0.5
    within = sum(line.standard_error**2 for line in lines) ** 0.5 / len(lines)
    return replace(
        first,
        dimensions=max(line.dimensions for line in lines),
        standard_error=max(between, within),
        spread=spread,
        wrong=sum((line.wrong for line in lines), Counter()),
        **means,
    )


def _preferred(line: Line) -> tuple[float, ...]:
    """Return what is smaller for the reduction to prefer of those that are good enough."""
    return line.dimensions, line.learn + line.transform, -line.micro_f1


def _is_within(line: Line, best: Line) -> bool:
    return line.micro_f1 >= best.micro_f1 - best.standard_error


def _named(line: Line) -> str:
    count = _count(line.dimensions, "feature" if line.method == ALL else "dimension")
    return f"all {count}" if line.method == ALL else f"{title(line.method)} with {count}"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" + "s" * (n != 1)


def _text(line: Line, near: bool, width: int, several: bool) -> str:
    start = f"{line.method:<{width}}"
    by = f"{line.classifier:<4} " if several else ""
    if line.skipped:
        return f"{start}  {line.asked or '':>14}  {by}skipped: {line.skipped}"
    score = f"{line.micro_f1:.3f} +-{line.standard_error:.3f}" + (" *" if near else "  ")
    return (
        f"{start}  {line.dimensions:>14,}  {by}{score:>15}  {line.macro_f1:>8.3f}  "
        f"{line.row_bytes:>9,.0f}  {line.learn:>8.3f}  {line.transform:>8.3f}  {line.train:>8.3f}"
    )
