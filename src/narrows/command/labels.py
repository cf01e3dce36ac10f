"""The labels of inputs, and the classes of models, as one type; how predictions agree with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from narrows.command.console import say
from narrows.errors import DataError
from narrows.methods.names import labels_of
from narrows.moments.labels import are_text, first_labels, integers, written
from narrows.solve.paired import BY_SCORES, HeldOutPredictions, score
from narrows.solve.sums import widened


def as_type(labels: np.ndarray, kind: str | None, model: str) -> np.ndarray:
    """Return the classes of a model as text or as integers, where one of them was asked for.

    Raises
    ------
    DataError
        A class is no integer, or two are the same one.
    """
    if kind is None or (kind == "text") == are_text(labels):
        return labels
    found = written(labels) if kind == "text" else integers(labels)
    if found is None:
        problem = f"expected classes that are different integers, got {first_labels(labels)}."
        raise DataError(model, f"{problem} Set `labels` to text.")
    return found


def make_type(estimator: Any, kind: str | None, model: str) -> None:
    """Turn the classes of an estimator into text or integers, and say it."""
    from narrows.methods.base import check_adds_up, rename_classes  # not to predict

    classes = labels_of(estimator)
    if not len(classes) or (found := as_type(classes, kind, model)) is classes:
        return
    check_adds_up(estimator)
    rename_classes(estimator, found)
    say(f"{model}: its classes become {'text' if kind == 'text' else 'integers'}.")


def make_one_type(estimators: Sequence[Any], models: Sequence[str], kind: str | None) -> None:
    """Give models to merge classes of one type, which was asked for.

    Raises
    ------
    DataError
        The classes of some are text and those of others integers, and no type was asked for.
    """
    known = [labels_of(estimator) for estimator in estimators]
    texts, numbers = (
        [k for k, classes in enumerate(known) if len(classes) and are_text(classes) == is_text]
        for is_text in (True, False)
    )
    if kind is None and texts and numbers:
        if estimators[0]._needs_y:
            first, other = sorted((texts[0], numbers[0]))
            what = "text" if first in texts else "integers"
            problem = f"expected classes that are {what}, as {models[first]} has"
            got = f"got {first_labels(known[other])}"
            raise DataError(models[other], f"{problem}, {got}. Set `labels` to text.")
        kind = "text"
    for estimator, model in zip(estimators, models, strict=True):
        make_type(estimator, kind, model)


def say_if_unlike(labels: Collection[Any], classes: np.ndarray, path: str, model: str) -> None:
    """Say on standard error that no label of a file is a class of the model, where that is so."""
    if labels and len(classes) and not np.isin(found := np.unique(list(labels)), classes).any():
        expected = f"expected labels that are classes of {model} ({first_labels(classes)})"
        got = f"got {first_labels(found)}. Check which column has the labels."
        say(f"warning: {path}: {expected}, {got}")


class Agreement:
    """Counts the labels of a file that are those predicted.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Those of the model.
    as_in_file : ndarray of shape (n_classes,)
        These as the type of labels that was asked for.

    Attributes
    ----------
    n, equal : int
        How many samples there are, and how many of them have the labels that were predicted.
    labels : Counter
        How many samples have each label; empty where they have several.
    """

    def __init__(self, classes: np.ndarray, as_in_file: np.ndarray):
        self._predicted, self.classes = classes, as_in_file
        self.n, self.equal, self.labels = 0, 0, Counter[Any]()
        self.rarer: int | None = None  # of two classes, which `scores` finds
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []

    @property
    def share(self) -> float | None:
        """The share of labels that are equal, None without labels."""
        return self.equal / self.n if self.n else None

    def scores(self) -> dict[str, float]:
        """Return scores of the probabilities of samples whose label is a class of the model.

        The area under the ROC curve, the average precision (of the rarer of two classes, else means
        over the classes) and the log-loss.
        """
        true = np.concatenate([codes for codes, _ in self._kept] or [np.empty(0, np.int32)])
        counts = np.bincount(true, minlength=len(self.classes))
        if np.count_nonzero(counts) < 2:
            return {}
        probabilities = np.concatenate([each for _, each in self._kept])
        self.rarer = None if len(counts) > 2 else int(counts[1] <= counts[0])
        outcome = HeldOutPredictions(true, true, 1, probabilities, probabilities, self.rarer)
        found = {name: score(outcome, name) for name in BY_SCORES}
        return found | {"log_loss": -found["log_loss"]}

    def add(self, predicted: np.ndarray, y: Any, probabilities: np.ndarray) -> None:
        """Add samples: what was predicted, their labels, and the probabilities of the classes."""
        self.n += len(predicted)
        if sparse.issparse(y) and predicted.ndim == 2:
            width = max(y.shape[1], predicted.shape[1])
            wrong = widened(sparse.csr_array(predicted), width) != widened(y, width)
            self.equal += len(predicted) - int(np.count_nonzero(wrong.sum(axis=1)))
        elif not sparse.issparse(y) and predicted.ndim == 1:
            found = self.classes[np.searchsorted(self._predicted, predicted)]
            self.equal += int(np.count_nonzero(found.astype(object) == y.astype(object)))
            self.labels.update(y.tolist())
            code = {label: k for k, label in enumerate(self.classes.tolist())}
            codes = np.array([code.get(label, -1) for label in y.tolist()], np.int32)
            self._kept.append((codes[codes >= 0], probabilities[codes >= 0]))


class Explained:
    """The share of the variance of the targets of a file that predictions explain: R^2.

    Attributes
    ----------
    n : int
        How many samples there are with targets.
    """

    def __init__(self) -> None:
        self.n = 0

    def add(self, predicted: np.ndarray, y: np.ndarray) -> None:
        """Add what was predicted, and the targets, each of shape (n_samples, n_targets)."""
        if not self.n:
            self._origin, self._sums = y.mean(axis=0), np.zeros((3, y.shape[1]))
        away = y - self._origin  # which keeps the digits of the sums
        self.n += len(y)
        terms = away, np.square(away), np.square(y - predicted)
        self._sums += [term.sum(axis=0) for term in terms]

    @property
    def shares(self) -> list[float | None]:
        """R^2 of each target, None where it does not vary; empty without targets."""
        if not self.n:
            return []
        mean, squares, errors = self._sums / self.n
        total = squares - mean**2
        pairs = zip(
            errors.tolist(), total.tolist(), (total > 1e-12 * squares).tolist(), strict=True
        )
        return [1 - error / whole if varies else None for error, whole, varies in pairs]
