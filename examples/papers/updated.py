"""Ye et al. (2005), section 6.3: incremental against batch IDR/QR, runs of Figs. 9 and 10."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from time import perf_counter, process_time
from typing import Any

import numpy as np
from examples.papers.data import sets
from scipy.linalg import subspace_angles
from sklearn.neighbors import KNeighborsClassifier

from narrows import IDRQR

Runs = list[tuple[dict[str, list[float]], tuple[list[float], list[float]]]]
ORDERS = range(3)
SHARES = np.arange(0.35, 0.951, 0.05)  # of the samples learned, where errors are compared


@cache
def runs() -> dict[str, Runs]:
    """Return, by set and order, errors at each share and seconds of updates and of batch."""
    found: dict[str, Runs] = {}
    for name, X, y in sets():
        for order in ORDERS:
            rows = np.random.default_rng(order).permutation(len(y))
            errors, _, times = run(X[rows], y[rows], process_time)
            found.setdefault(name, []).append((errors, times))
    return found


def run(X: Any, y: np.ndarray, clock: Callable[[], float] = perf_counter) -> Any:
    """Return errors at each share, the largest angle with batch at the last, and seconds."""
    n, first = len(y), int(0.3 * len(y))
    learners = {
        name: IDRQR(update=name).fit(X[:first], y[:first]) for name in ("paper", "transport")
    }
    errors: dict[str, list[float]] = {"batch": [], "paper": [], "transport": []}
    update, recomputed, done = [], [], first
    for share in SHARES:
        end = int(share * n)
        for i in range(done, end):
            for name, learner in learners.items():
                start = clock()
                learner.partial_fit(X[i : i + 1], y[i : i + 1])
                if name == "paper":
                    update.append(clock() - start)
        done = end
        start = clock()
        batch = IDRQR().fit(X[:end], y[:end])  # lines 1 to 6 of Algorithm 1, as the paper counts
        recomputed.append(clock() - start)
        for name, learner in {"batch": batch, **learners}.items():
            knn = KNeighborsClassifier(1).fit(learner.transform(X[:end]), y[:end])
            errors[name].append(1 - knn.score(learner.transform(X[end:]), y[end:]))
    exact = IDRQR().fit(X[:end], y[:end]).components_[:-1].T
    angles = {
        name: float(np.degrees(subspace_angles(learner.components_[:-1].T, exact).max()))
        for name, learner in learners.items()
    }
    return errors, angles, (update, recomputed)
