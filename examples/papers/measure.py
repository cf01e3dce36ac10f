"""Measurements that the scripts share: CPU seconds, exponents, and errors of classifiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

SVM_SAMPLES = 4_000  # training samples of SMO, which is slow with many features
FEW = 10  # features with which sparse samples are faster if made dense


def cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a call and its CPU seconds."""
    start = process_time()
    found = work()
    return found, process_time() - start


def seconds(work: Mapping[str, Callable[[], Any]], rounds: int = 5) -> dict[str, float]:
    """Return median CPU seconds of calls made in turn, after a warm-up round."""
    taken: dict[str, list[float]] = {name: [] for name in work}
    for counts in [False] + [True] * rounds:
        for name, call in work.items():
            second = cpu(call)[1]
            if counts:
                taken[name].append(second)
    return {name: median(times) for name, times in taken.items()}


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Return b of time = a size^b, by least squares on the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def smo(
    Z: Any, y: np.ndarray, Z_test: Any, y_test: np.ndarray, samples: int | None = None
) -> tuple[float, float]:
    """Return micro- and macro-F1 of a linear SVM (SMO) fitted on the first samples given."""
    Z, y = Z[:samples], y[:samples]
    if sparse.issparse(Z) and Z.shape[1] <= FEW:
        Z, Z_test = Z.toarray(), Z_test.toarray()
    if sparse.issparse(Z):  # the same SVM, by its kernel: libsvm is slow on sparse samples
        machine = SVC(kernel="precomputed").fit((Z @ Z.T).toarray(), y)
        found = machine.predict((Z_test @ Z.T).toarray())
    else:
        found = SVC(kernel="linear").fit(Z, y).predict(Z_test)
    return tuple(float(f1_score(y_test, found, average=kind)) for kind in ("micro", "macro"))


def best(methods: Sequence[Any], X: Any, y: np.ndarray) -> Any:
    """Return the method after which an SVM (SMO) predicts a held-out fifth of these samples best.

    Samples are in random order; of equal methods, the first.
    """
    n = len(y) * 4 // 5
    scores = []
    for method in methods:
        fitted = clone(method).fit(X[:n], y[:n])
        Z, Z_held = fitted.transform(X[:n]), fitted.transform(X[n:])
        scores.append(smo(Z, y[:n], Z_held, y[n:], SVM_SAMPLES)[0])
    return clone(methods[int(np.argmax(scores))])


def nearest(Z: np.ndarray, y: np.ndarray, Z_test: np.ndarray, y_test: np.ndarray) -> float:
    """Return the error of the nearest neighbour."""
    return float(1 - KNeighborsClassifier(1).fit(Z, y).score(Z_test, y_test))


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Return the |cosine| of two directions."""
    return float(abs(a @ b) / (np.linalg.norm(a) * np.linalg.norm(b)))
