"""The labels of inputs, and the classes of models, as one type; how predictions agree with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from narrows.command.console import say
from narrows.errors import DataError
from narrows.solve.paired import BY_SCORES, Outcome, score
from narrows.solve.sums import widened
from narrows.state.labels import (
    are_text,
    as_one_type,
    integers,
    is_integer,
    read_like,
    same_integer,
    some,
    written,
)


def for_update(estimator: Any, y: Any, asked: str | None, model: str, path: str) -> Any:
    """Return labels in the type of the classes of a model, which become text if they have to.

    Raises
    ------
    DataError
        A label may be a class that is written in another way, and no type was asked for.
    """
    classes = estimator._fitted.state.classes
    if y is None or sparse.issparse(y) or not len(classes):
        return y
    if not (are_text(y) or are_text(classes)):
        return y
    if asked == "integer" and integers(classes) is not None:
        _make_integers(estimator, model)
        return y
    if asked != "text":
        _check_spelling(path, y, model, classes)
        y = read_like(y, classes)
    if are_text(y) and not are_text(classes):
        label = next((text for text in y.tolist() if not is_integer(text)), y[0])
        _make_text(estimator, model, f"{path} has the label {str(label)!r}")
    return y


def for_merge(estimators: Sequence[Any], models: Sequence[str], asked: str | None) -> None:
    """Give models classes of one type: what was asked for, or text if some have text.

    Raises
    ------
    DataError
        A class is no integer, or may be a class of another model that is written in another way.
    """
    classes = [estimator._fitted.state.classes for estimator in estimators]
    if asked == "integer":
        for estimator, model in zip(estimators, models, strict=True):
            _make_integers(estimator, model)
        return
    texts = [k for k, each in enumerate(classes) if len(each) and are_text(each)]
    if not texts and asked is None:
        return
    for k, (estimator, model) in enumerate(zip(estimators, models, strict=True)):
        if len(classes[k]) and not are_text(classes[k]):
            for other in texts if asked is None else ():
                _check_spelling(model, classes[k], models[other], classes[other])
            _make_text(
                estimator, model, f"{models[texts[0]]} has text" if texts else "--labels is text"
            )


class Unlike:
    """The labels of a file, as long as none of them is a class of the model.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Those of the model; without any, no label is unlike them.
    """

    def __init__(self, classes: np.ndarray):
        self.classes, self.labels = classes, classes[:0]
        self._may_be = len(classes) > 0

    def add(self, y: np.ndarray, classes: np.ndarray) -> None:
        """Add labels; `classes` are those of the model, maybe in another type."""
        if self._may_be and len(y):
            self._may_be = not np.isin(*as_one_type(y, classes)).any()
            self.labels = np.unique(y) if self._may_be else self.classes[:0]

    def warn(self, path: str, model: str, advice: str) -> None:
        """Say on standard error that no label was a class of the model, if that is so."""
        if len(self.labels):
            expected = f"expected labels that are classes of {model} ({some(self.classes)})"
            say(f"warning: {path}: {expected}, got {some(self.labels)}. {advice}")


class Agreement:
    """Counts the labels of a file that are those predicted.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Those of the model.
    asked : str, optional
        The type of labels that was asked for.

    Attributes
    ----------
    n, equal : int
        How many samples there are, and how many of them have the labels that were predicted.
    labels : Counter
        How many samples have each label; empty where they have several.
    """

    def __init__(self, classes: np.ndarray, asked: str | None = None):
        self.classes = classes
        self._as_asked = None if asked != "integer" or not are_text(classes) else integers(classes)
        self.n, self.equal, self.labels = 0, 0, Counter[Any]()
        self._unlike = Unlike(classes)
        self.rarer: int | None = None  # of two classes, which `scores` finds
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []

    @property
    def share(self) -> float | None:
        """The share of labels that are equal, None without labels."""
        return self.equal / self.n if self.n else None

    @property
    def most_frequent(self) -> tuple[Any, float] | None:
        """The most frequent label and its share, None without one label for each sample."""
        return next(((label, n / self.n) for label, n in self.labels.most_common(1)), None)

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
        outcome = Outcome(true, true, 1, probabilities, probabilities, self.rarer)
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
            classes = self.classes
            if self._as_asked is not None:
                predicted = self._as_asked[np.searchsorted(classes, predicted)]
                classes = self._as_asked
            found, labels = as_one_type(predicted, y)
            self.equal += int(np.count_nonzero(found.astype(object) == labels.astype(object)))
            self.labels.update(y.tolist())
            self._unlike.add(y, classes)
            known, labels = as_one_type(classes, y)
            code = {label: k for k, label in enumerate(known.tolist())}
            codes = np.array([code.get(label, -1) for label in labels.tolist()], np.int32)
            self._kept.append((codes[codes >= 0], probabilities[codes >= 0]))

    def warn_if_unlike(self, path: str, model: str) -> None:
        """Say on standard error that no label was a class of the model, if that is so."""
        labels = self._unlike.labels
        may_be = self._as_asked is None and len(labels) and same_integer(labels, self.classes)
        advice = 'Set labels="integer".' if may_be else "Check which column has the labels."
        self._unlike.warn(path, model, advice)


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


def _check_spelling(path: str, labels: np.ndarray, model: str, classes: np.ndarray) -> None:
    """Raise where a label may be a class that is written in another way; warn where both are text.

    Those are two classes.
    """
    distinct = np.unique(labels)
    if np.isin(*as_one_type(distinct, classes)).all():
        return
    found = same_integer(distinct, classes)
    if found is None:
        return
    got, known = found
    if are_text(labels) and are_text(classes):
        say(f"warning: {path}: the label {got!r} is another class than {known!r} of {model}.")
        return
    problem = f"expected labels that are written as the classes of {model}, got {got!r}, which may "
    may_be_one = are_text(labels) or integers(classes) is not None
    advice = 'Set labels="integer" if it is, or set' if may_be_one else "Set"
    raise DataError(
        path,
        f'{problem}be the class {known!r} or another one. {advice} labels="text" if it is another.',
    )


def _make_text(estimator: Any, model: str, why: str) -> None:
    """Turn the classes of an estimator into text."""
    _rename(estimator, model, written(estimator._fitted.state.classes), f"text, since {why}")


def _make_integers(estimator: Any, model: str) -> None:
    """Turn the classes of an estimator into integers."""
    classes = estimator._fitted.state.classes
    if not len(classes) or not are_text(classes):
        return
    numbers = integers(classes)
    if numbers is None:
        problem = f"expected classes that are different integers, got {some(classes)}."
        raise DataError(model, f'{problem} Set labels="text".')
    _rename(estimator, model, numbers, "integers")


def _rename(estimator: Any, model: str, classes: np.ndarray, what: str) -> None:
    """Give an estimator other classes, and say what they become."""
    from narrows.methods.routes import check_adds_up  # not to predict

    check_adds_up(estimator, estimator._fitted.state)
    estimator._rename_classes(classes)
    say(f"{model}: its classes become {what}.")
