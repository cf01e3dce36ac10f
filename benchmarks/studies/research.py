"""What a sample costs the research methods, and the tables of the papers written out."""

from __future__ import annotations

from statistics import median

from threadpoolctl import threadpool_limits

from benchmarks import harness
from benchmarks.methods import METHODS
from benchmarks.methods.literal import ROWS
from benchmarks.methods.rivals import FIRST
from benchmarks.problems.orl import Orl
from benchmarks.problems.rcv1_like import RCV1LikeLong
from benchmarks.tables import Table

ROUNDS, BUDGET = 3, 300.0
SHOWN = {
    "bare": "class sums by SciPy, for comparison",
    **{name: f"`{name}`" for name in ("IOC", "IIS", "IMMC", "CCIPCA")},
    f"table/{ROWS}": "`IOC` as published",
    f"dense numpy/{ROWS}": "`IOC` as published, in optimised NumPy",
    f"IncrementalPCA/{FIRST}": "`IncrementalPCA` of scikit-learn",
}


class ResearchTime:
    """Microseconds of one thread a sample; medians of three runs in turn.

    Methods whose names end with a number take only so many first samples.
    """

    name = "research_time"

    def table(self) -> Table:
        methods, problems = [METHODS[name] for name in SHOWN], [RCV1LikeLong(), Orl()]
        found = {}
        with threadpool_limits(1):
            for problem in problems:
                n = len(problem.load()[1])
                for result in harness.run([problem], methods, ROUNDS, BUDGET):
                    if result.skipped:
                        raise RuntimeError(f"{result.method}: {result.skipped}")
                    first = int(result.method.partition("/")[2] or n)
                    micro = 1e6 * median(result.seconds) / min(first, n)
                    found[result.method, problem.name] = f"{float(f'{micro:.2g}'):,g}"
        header = ["µs a sample", "a million sparse samples", "400 faces"]
        rows = [[SHOWN[m], *(found[m, problem.name] for problem in problems)] for m in SHOWN]
        return Table(header, rows)
