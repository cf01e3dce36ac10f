"""The classifiers behind each reduction, as `compare` has them: a row of a table for each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from narrows.evaluate.comparison import CLASSIFIERS

TITLES = {"svm": "linear SVM", "logistic": "logistic regression", "knn": "5-NN"}
NAMES = tuple(TITLES.values())


def f1(Z: Any, y: np.ndarray, Z_test: Any, y_test: np.ndarray, *averages: str) -> np.ndarray:
    """Return the micro-F1 by each classifier, or a row of these for each kind of mean."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of machines that stop
        found = [CLASSIFIERS[name](Z, y, None, False).predict(Z_test) for name in TITLES]
    scores = [
        [float(f1_score(y_test, each, average=kind)) for each in found]
        for kind in averages or ("micro",)
    ]
    return np.array(scores if averages else scores[0])


def behind(model: Any, part: Any, rows: Any = None) -> np.ndarray:
    """Return the micro-F1 by each classifier on the samples of a split that a model reduces."""
    X, y = (part.X, part.y) if rows is None else (part.X[rows], part.y[rows])
    return f1(model.transform(X), y, model.transform(part.X_test), part.y_test)


def by_classifier(
    first: Sequence[Any], cells: Sequence[Sequence[Any]], last: Sequence[Any] = ()
) -> list[list[Any]]:
    """Return a row for each classifier: the first cells, its name, and its part of each cell.

    The `last` cells, which depend on no classifier, stand in the first row.
    """
    return [
        [*first, name, *(cell[k] for cell in cells), *(last if k == 0 else [""] * len(last))]
        for k, name in enumerate(NAMES)
    ]


def each(show: Callable[[Any], str], found: Sequence[Any]) -> list[str]:
    """Return what is shown for each classifier of scores of several splits."""
    return [show(column) for column in np.array(found).T]
