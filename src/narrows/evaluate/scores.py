"""Scores of two classifiers on reduced held-out samples."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC


@dataclass(frozen=True)
class Score:
    """One line of a comparison.

    Parameters
    ----------
    method : str
        Name of the reduction.
    dimensions : int
        Number of dimensions of the reduced data.
    svm, knn : float
        Micro-F1 of a linear support vector machine and of 5 nearest neighbours on held-out
        samples, which is the accuracy since each sample has one label.
    seconds : float
        Time to fit the reduction; 0 without one.
    """

    method: str
    dimensions: int
    svm: float
    knn: float
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


def score(
    method: str, reducer: Any, train: tuple[Any, np.ndarray], test: tuple[Any, np.ndarray]
) -> Score:
    """Fit a reduction and two classifiers to training samples, and score held-out samples.

    Parameters
    ----------
    method : str
        Name of the reduction.
    reducer : estimator with fit and transform, or None
        None keeps all features.
    train, test : (X, y)
        X of shape (n_samples, n_features), y of shape (n_samples,).

    Returns
    -------
    Score
    """
    (X, y), (X_test, y_test) = train, test
    started = perf_counter()
    if reducer is not None:
        reducer.fit(X, y)
    seconds = perf_counter() - started if reducer is not None else 0.0
    if reducer is not None:
        X, X_test = reducer.transform(X), reducer.transform(X_test)
    classifiers = LinearSVC(random_state=0, max_iter=10_000), KNeighborsClassifier()
    svm, knn = (
        f1_score(y_test, classifier.fit(X, y).predict(X_test), average="micro")
        for classifier in classifiers
    )
    return Score(method, X.shape[1], float(svm), float(knn), seconds)


def table(scores: list[Score]) -> str:
    """Return scores as a text table with a header."""
    width = max(len("method"), *(len(s.method) for s in scores))
    lines = [f"{'method':<{width}}  dimensions  SVM F1  k-NN F1  seconds"]
    lines += [
        f"{s.method:<{width}}  {s.dimensions:>10}  {s.svm:>6.3f}  {s.knn:>7.3f}  "
        + (f"{s.seconds:>7.4f}" if s.seconds else f"{'-':>7}")
        for s in scores
    ]
    return "\n".join(lines)
