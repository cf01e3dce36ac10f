"""Probes of activations: samples in batches of torch, beside the same arrays of NumPy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import memory
from benchmarks.tables import Table

FEATURES, SAMPLES, CLASSES = 4_096, 24_576, 10
METHODS = ("SRDA()", 'SRDA(alpha="scale", keep=0)', "LEACE()", "OC()", "SGDClassifier()")
BATCHES = (256, 4_096)
ROUNDS = 3


class Probes:
    """Seconds for a million samples of 4,096 features, in batches, and peak memory."""

    name = "probes"

    def table(self) -> Table:
        rows = []
        for method in METHODS:
            for batch in BATCHES:
                runs: dict[str, list[Any]] = {"numpy": [], "torch": []}
                for _ in range(ROUNDS):
                    for library, found in runs.items():
                        found.append(_run(method, library, batch))
                seconds = {k: median(run["seconds"] for run in found) for k, found in runs.items()}
                last = runs["torch"]
                rows.append([
                    f"`{method}`", f"{batch:,}", f"{seconds['torch'] * 1e6 / SAMPLES:,.0f}",
                    f"{seconds['torch'] / seconds['numpy']:.2f}",
                    f"{median(run['solved'] for run in last):.1f}",
                    f"{median(run['peak'] for run in last):,.0f}",
                ])  # fmt: skip
        head = ["method", "batch", "s for 10^6 samples", "of NumPy's time", "s to solve", "peak MB"]
        return Table(head, rows)


def _run(method: str, library: str, batch: int) -> Any:
    """Return what one process measures."""
    command = [sys.executable, "-m", "benchmarks.studies.probes", method, library, str(batch)]
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    found = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=1_800
    )
    return json.loads(found.stdout)


def batches(size: int) -> Any:
    """Yield activations with a class in ten of the directions, and their classes; float32."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(CLASSES, FEATURES)).astype(np.float32) / 10
    for _ in range(SAMPLES // size):
        y = rng.integers(0, CLASSES, size)
        yield rng.standard_normal((size, FEATURES), dtype=np.float32) + means[y] + 1, y


def main(method: str, library: str, size: int) -> None:
    """Print the seconds of all batches and of the solution, and the peak above the data."""
    import sklearn
    import torch
    from sklearn.linear_model import SGDClassifier

    import narrows

    names = vars(narrows) | {name: getattr(narrows, name) for name in narrows.__all__}
    model = eval(method, names | {"SGDClassifier": SGDClassifier})
    options = {"classes": np.arange(CLASSES)} if isinstance(model, SGDClassifier) else {}
    given = list(batches(size))
    if library == "torch":
        given = [(torch.from_numpy(X), torch.from_numpy(y)) for X, y in given]
    before, seconds = memory("VmRSS"), 0.0
    with sklearn.config_context(array_api_dispatch=library == "torch" and not options):
        for X, y in given:
            start = time.perf_counter()
            model.partial_fit(X, y, **options)
            seconds += time.perf_counter() - start
        start = time.perf_counter()
        (model.predict if options else model.transform)(X)
        solved = time.perf_counter() - start
    peak = memory("VmHWM") - before
    print(json.dumps({"seconds": seconds, "solved": solved, "peak": peak}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
