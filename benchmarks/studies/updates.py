"""Paper 002, section 6.3: incremental IDR/QR against batch, error (Fig. 9) and time (Fig. 10)."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from scipy.stats import ttest_rel
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.studies.neighbours import data
from benchmarks.tables import Table
from narrows import IDRQR

ORDERS = range(3)
SHARES = np.arange(0.35, 0.951, 0.05)  # of the rows learnt, where errors are compared


class Updates:
    """30 % of the rows at once, then one at a time; those not yet learnt are the test set."""

    name = "idrqr_updates"

    def table(self) -> Table:
        rows = []
        for title, X, y in data():
            errors: dict[str, list[float]] = {"batch": [], "paper": [], "transport": []}
            turned: dict[str, list[float]] = {"paper": [], "transport": []}
            update, recomputed = [], []
            for order in ORDERS:
                rows_in_order = np.random.default_rng(order).permutation(len(y))
                one, angles, times = run(X[rows_in_order], y[rows_in_order])
                for name, values in one.items():
                    errors[name] += values
                for name, angle in angles.items():
                    turned[name].append(angle)
                update += times[0]
                recomputed += times[1]
            batch = np.array(errors["batch"])
            for name in ("paper", "transport"):
                gap = 100 * (np.array(errors[name]) - batch)
                rows.append(
                    [
                        f"{title}, {name}",
                        f"{100 * batch.mean():.1f}",
                        f"{100 * np.mean(errors[name]):.1f}",
                        f"{gap.mean():+.2f}",
                        f"{np.abs(gap).max():.1f}",
                        f"{ttest_rel(errors[name], batch).pvalue:.2g}" if gap.any() else "-",
                        f"{np.mean(turned[name]):.1f}",
                        *(_times(update, recomputed) if name == "paper" else ("", "", "")),
                    ]
                )
        header = [
            "update",
            "batch, error %",
            "incremental",
            "difference",
            "largest",
            "p of the paired t-test",
            "angle at the end, degrees",
            "one update, ms",
            "batch again, ms",
            "ratio",
        ]
        return Table(header, rows)


def _times(update: list[float], recomputed: list[float]) -> tuple[str, str, str]:
    a, b = 1e3 * median(update), 1e3 * median(recomputed)
    return f"{a:.2f}", f"{b:.1f}", f"{b / a:.0f}"


def run(X: Any, y: np.ndarray, clock: Callable[[], float] = perf_counter) -> Any:
    """Errors at each share; the largest angle with batch at the last; seconds."""
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
