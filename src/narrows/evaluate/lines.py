"""The lines of a comparison: the scores of each model and classifier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from narrows.methods import MODULES
from narrows.solve.paired import Outcome, standard_error

ALL = "all columns"
FIELDS = {"accuracy": "micro_f1", "macro_f1": "macro_f1", "balanced_accuracy": "balanced_accuracy"}
_SCORES = ("precision", "recall", "micro_f1", "macro_f1", "balanced_accuracy", "error")
_AVERAGED = ("learn", "transform", "train", "row_bytes", *_SCORES)
_RIVALS = {
    "truncatedsvd": "TruncatedSVD",
    "sklearn-pca": "scikit-learn's PCA",
    "sparserandomprojection": "SparseRandomProjection",
    "chi2": "SelectKBest(chi2)",
    "f_classif": "SelectKBest(f_classif)",
    "lineardiscriminantanalysis": "LinearDiscriminantAnalysis",
}
_NAMES = {name.lower(): name for name in MODULES} | _RIVALS
_NAN = float("nan")


@dataclass
class Line:
    """One line of a comparison: means over the splits.

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
    balanced_accuracy : float
        The mean over the classes of the share of samples that are predicted correctly.
    standard_error : float
        The standard error of the accuracy, as `narrows.solve.paired` defines it. Of n held-out
        samples, one correct and one wrong prediction are added, so that it is never 0.
    spread : dict
        Standard deviation of each score over the splits, if there are several.
    features : int
        Number of features before the reduction.
    outcomes : tuple of Outcome
        Classes and predictions of the held-out samples, for each split.
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
    balanced_accuracy: float = _NAN
    error: float = _NAN
    standard_error: float = _NAN
    spread: dict[str, float] | None = None
    wrong: Counter = field(default_factory=Counter, repr=False)
    skipped: str = ""
    features: int = 0
    outcomes: tuple[Outcome, ...] = field(default=(), repr=False)

    @property
    def is_reduction(self) -> bool:
        """Whether the line is done, and has fewer dimensions than there are features."""
        return not self.skipped and self.method != ALL and self.dimensions < self.features

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
        return fields


def title(method: str) -> str:
    """Return the name of a method as it is written in text."""
    return _NAMES.get(method, method)


def named(line: Line) -> str:
    """Return the name and the number of dimensions of a line as text."""
    size = count(line.dimensions, "feature" if line.method == ALL else "dimension")
    return f"all {size}" if line.method == ALL else f"{title(line.method)} with {size}"


def count(n: int, what: str) -> str:
    """Return a number of things as text."""
    return f"{n:,} {what}" + "s" * (n != 1)


def mean(lines: Sequence[Line]) -> Line:
    """Return the mean of the lines of several splits."""
    first = lines[0]
    if len(lines) == 1 or any(line.skipped for line in lines):
        return next((line for line in lines if line.skipped), first)
    values = {name: [getattr(line, name) for line in lines] for name in _AVERAGED}
    means: dict[str, Any] = {name: float(np.mean(of)) for name, of in values.items()}
    outcomes = tuple(outcome for line in lines for outcome in line.outcomes)
    variances = [line.standard_error**2 for line in lines]
    return replace(
        first,
        dimensions=max(line.dimensions for line in lines),
        features=max(line.features for line in lines),
        standard_error=standard_error(values["micro_f1"], variances, outcomes),
        spread={name: float(np.std(values[name], ddof=1)) for name in _SCORES},
        wrong=sum((line.wrong for line in lines), Counter()),
        outcomes=outcomes,
        **means,
    )
