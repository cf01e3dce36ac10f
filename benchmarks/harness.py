"""Measuring: each run in a process of its own, methods in turn, medians and ratios at the end."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import platform
import re
import statistics
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Protocol

import joblib
import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

from narrows.solve.products import compiled_pays

_MANY = 1 << 23  # numbers of a dense array


class Problem(Protocol):
    """Labelled data."""

    name: str

    def load(self) -> tuple[Any, np.ndarray]:
        """Return X of shape (n, d) and y of shape (n,); UnavailableError where it cannot be had."""


class Method(Protocol):
    """One way to learn from them."""

    name: str

    def run(self, X: Any, y: np.ndarray) -> Any:
        """Learn all that a user would read, and return it."""


class UnavailableError(Exception):
    """A problem cannot be had here; the reason is its text."""


def data_path(name: str) -> Path:
    """Return where a file of the folder NARROWS_DATA is; UnavailableError where it is not."""
    path = Path(os.environ.get("NARROWS_DATA", ".")) / name
    if not path.exists():
        raise UnavailableError(f"{name} is not in the folder NARROWS_DATA")
    return path


@dataclass
class Result:
    """What one method cost on one problem."""

    problem: str
    method: str
    seconds: list[float]  # wall clock, one a run
    cpu: list[float]
    peak: list[float]  # MB above what the problem itself takes
    skipped: str = ""
    state: list[float] = field(default_factory=list)  # MB; 0 for methods of others


def measure(method: Method, X: Any, y: np.ndarray, budget: float) -> dict[str, float] | str:
    """Run a method once in a forked process, after a first run on a few rows to compile.

    Returns the reason if it did not come to an end within `budget` seconds.
    """
    ours, theirs = multiprocessing.Pipe(duplex=False)

    def child() -> None:
        try:
            use_compiled_loops()
            some = np.arange(_few(X))
            few = np.unique(np.append(some, np.unique(y, return_index=True)[1]))
            method.run(X[few], y[few])
            ctypes.CDLL(None).malloc_trim(0)  # or what is free already would hide what is used
            before = memory("VmRSS")
            Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
            wall, cpu = perf_counter(), process_time()
            found = method.run(X, y)
            wall, cpu = perf_counter() - wall, process_time() - cpu
            peak, state = memory("VmHWM") - before, _megabytes(found)
            theirs.send({"seconds": wall, "cpu": cpu, "peak": peak, "state": state})
        except Exception as error:
            theirs.send(f"{type(error).__name__}: {error}".splitlines()[0])

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    answer = ours.recv() if ours.poll(budget) else f"over {budget:g} s"
    process.kill()
    process.join()
    return answer


def _megabytes(found: Any) -> float:
    """Return the size of the state of an estimator of narrows."""
    learned = getattr(found, "_learned", None)
    if learned is None or learned.state is None:
        return 0.0
    arrays = learned.step.to_arrays(learned.state).values()
    return float(sum(array.nbytes for array in arrays)) / 1e6


def run(problems: list[Problem], methods: list[Method], rounds: int, budget: float) -> list[Result]:
    """Measure every method on every problem, in turn, `rounds` times."""
    results = []
    for problem in problems:
        _say(f"{problem.name}: loading")
        try:
            X, y = problem.load()
        except UnavailableError as reason:
            results.append(Result(problem.name, "", [], [], [], str(reason)))
            continue
        mine = {method.name: Result(problem.name, method.name, [], [], []) for method in methods}
        for number in range(rounds):
            for method in methods:
                result = mine[method.name]
                if result.skipped:
                    continue
                _say(f"{problem.name}: round {number + 1} of {rounds}, {method.name}")
                answer = measure(method, X, y, budget)
                if isinstance(answer, str):
                    result.skipped = answer
                    continue
                for key, value in answer.items():
                    getattr(result, key).append(value)
        results += mine.values()
    return results


def table(results: list[Result], base: str) -> str:
    """Return medians, spread, peak memory, and ratios to the method `base`, as text."""
    lines = []
    for problem in dict.fromkeys(result.problem for result in results):
        mine = [result for result in results if result.problem == problem]
        bases = [result for result in mine if result.method == base and not result.skipped]
        lines += [
            "",
            problem,
            f"{'method':<22}{'median s':>10}{'min':>10}{'max':>10}{'peak MB':>10}{'x ' + base:>16}",
        ]
        for result in mine:
            if result.skipped:
                lines.append(f"{result.method:<22}skipped: {result.skipped}")
                continue
            against = ratio(result, bases[0]) if bases else float("nan")
            lines.append(
                f"{result.method:<22}{statistics.median(result.seconds):>10.4f}"
                f"{min(result.seconds):>10.4f}{max(result.seconds):>10.4f}"
                f"{statistics.median(result.peak):>10.1f}{against:>16.2f}"
            )
    return "\n".join(lines[1:])


def ratio(result: Result, base: Result) -> float:
    """How long a method takes against another: the median of the ratios of each round.

    What slows the machine down for a while slows both.
    """
    pairs = zip(result.seconds, base.seconds, strict=True)
    return statistics.median(mine / other for mine, other in pairs)


def load(path: Path) -> list[Result]:
    """Read what `save` wrote."""
    return [Result(**each) for each in json.loads(path.read_text())["results"]]


def save(results: list[Result], path: Path) -> None:
    """Write all that was measured, and where, as JSON."""
    about = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "sklearn": sklearn.__version__,
        "machine": _processor(),
        "cores": joblib.cpu_count(),
        "load": round(os.getloadavg()[2], 1),  # of the last quarter of an hour
        "blas": max(
            (p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"), default=1
        ),
        "date": datetime.now(UTC).date().isoformat(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"about": about, "results": [asdict(r) for r in results]}, indent=1))


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", info.read_text()) if info.exists() else None
    return found[1] if found else platform.machine()


def use_compiled_loops() -> None:
    """Load compiled loops where they are called: the first runs of a process would do without."""
    compiled_pays(1 << 40)


def _few(X: Any) -> int:
    """Samples of a first run: of many dense ones as many as have compiled loops of their own."""
    many = -(-_MANY // X.shape[1])
    return many if isinstance(X, np.ndarray) and len(X) > 2 * many else min(64, X.shape[0])


def memory(what: str) -> float:
    """VmRSS, what the process holds now, or VmHWM, the most it held; in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{what}:")[1].split()[0]) * 1024 / 1e6


def _say(message: str) -> None:
    print(message, file=sys.stderr)
