"""What the scripts measure alike: CPU seconds, exponents, and classifiers on what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

SVM_ROWS = 4_000  # SMO learns from so many rows of a fold where there are many columns: it is slow


def cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its CPU seconds."""
    start = process_time()
    found = work()
    return found, process_time() - start


def seconds(work: Mapping[str, Callable[[], Any]], rounds: int = 5) -> dict[str, float]:
    """Median CPU seconds of several calls made in turn, after a round that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in work}
    for counts in [False] + [True] * rounds:
        for name, call in work.items():
            second = cpu(call)[1]
            if counts:
                taken[name].append(second)
    return {name: median(times) for name, times in taken.items()}


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """b of time = a size^b, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def smo(
    Z: Any, y: np.ndarray, Z_test: Any, y_test: np.ndarray, rows: int | None = None
) -> tuple[float, float]:
    """Micro- and macro-F1 of a linear SVM by SMO, learnt from the first rows of those given."""
    Z, y = Z[:rows], y[:rows]
    if sparse.issparse(Z):  # the same machine, from its kernel: libsvm is slow on sparse rows
        machine = SVC(kernel="precomputed").fit((Z @ Z.T).toarray(), y)
        found = machine.predict((Z_test @ Z.T).toarray())
    else:
        found = SVC(kernel="linear").fit(Z, y).predict(Z_test)
    return tuple(float(f1_score(y_test, found, average=kind)) for kind in ("micro", "macro"))


def nearest(Z: np.ndarray, y: np.ndarray, Z_test: np.ndarray, y_test: np.ndarray) -> float:
    """The error of the nearest neighbour."""
    return float(1 - KNeighborsClassifier(1).fit(Z, y).score(Z_test, y_test))


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """|cosine| of two directions."""
    return float(abs(a @ b) / (np.linalg.norm(a) * np.linalg.norm(b)))
