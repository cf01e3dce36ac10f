"""Paper 002, section 6.3: incremental IDR/QR against batch, error (Fig. 9) and time (Fig. 10)."""

from __future__ import annotations

from statistics import median

import numpy as np
from examples.papers.updated import ORDERS, run
from scipy.stats import ttest_rel

from benchmarks.studies.neighbours import data
from benchmarks.tables import Table


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
