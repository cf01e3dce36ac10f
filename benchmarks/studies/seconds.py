"""How long each method takes to rank all columns of a matrix in memory."""

from __future__ import annotations

import statistics
import warnings
from time import perf_counter

from benchmarks import harness
from benchmarks.studies import corpora
from benchmarks.studies.f1_by_columns import METHODS
from benchmarks.tables import Table


class Seconds:
    """Median of nine runs in turn, and the ratio to OCFS in the same run."""

    name = "selection_seconds"

    def table(self) -> Table:
        rows: dict[str, list[str]] = {name: [name] for name in METHODS}
        harness.use_compiled_loops()
        for make in (corpora.comp, corpora.r8, corpora.rcv1):
            split = make()
            taken: dict[str, list[float]] = {name: [] for name in METHODS}
            for _ in range(10):
                for name, method in METHODS.items():
                    started = perf_counter()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        method.fit(split.X, split.y).ranking_  # noqa: B018 - computed when read
                    taken[name].append(perf_counter() - started)
            for name, times in taken.items():
                ratios = [a / b for a, b in zip(times[1:], taken["OCFS"][1:], strict=True)]
                rows[name].append(
                    f"{1000 * statistics.median(times[1:]):.0f} ms, "
                    f"x{statistics.median(ratios):.1f}"
                )
        return Table(["", "`comp.*`", "R8", "RCV1"], rows.values())
