"""What SRDA costs on dense samples by cross products, in CPU time beside other ways."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from threadpoolctl import threadpool_limits

from benchmarks.tables import Table
from narrows import SRDA, Moments, OnlineSRDA

ROUNDS = 5
SIZES = ((100_000, 64), (100_000, 384), (20_000, 1024))
CLASSES = 20
BATCH = 100


class CrossCost:
    """Seconds of CPU on one thread: medians of five rounds, each of all rows in turn."""

    name = "cross_cost"

    def table(self) -> Table:
        every = [_measured(*size) for size in SIZES]
        header = ["CPU time, one thread", *(f"{n:,} x {d:,}" for n, d in SIZES)]
        rows = []
        for name in every[0]:
            rows.append([name, *(_shown(*found[name]) for found in every)])
        return Table(header, rows)


class CrossState:
    """Wall-clock time of sums of products, beside BLAS alone; both in turn, medians of ratios."""

    name = "cross_state"

    def table(self) -> Table:
        header = ["features", "type", "threads", "BLAS alone, µs a sample", "narrows", "ratio"]
        rows = []
        for d, n in ((64, 200_000), (384, 50_000), (1024, 20_000), (4096, 10_000)):
            for dtype in (np.float64, np.float32):
                X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
                y = np.arange(n) % CLASSES
                for threads in (1, 2):
                    with threadpool_limits(threads):
                        pairs = [(_bare(X), _learned(X, y)) for _ in range(ROUNDS)]
                    bare, ours = (1e6 * np.median(each) / n for each in zip(*pairs, strict=True))
                    ratio = np.median([b / a for a, b in pairs])
                    cells = (f"{bare:.2f}", f"{ours:.2f}", f"{ratio:.2f}")
                    rows.append([f"{d:,}", np.dtype(dtype).name, str(threads), *cells])
        return Table(header, rows)


def _bare(X: np.ndarray) -> float:
    """Return the seconds of the products of all samples by BLAS, in blocks, in their own type."""
    d, syrk = X.shape[1], blas.ssyrk if X.dtype == np.float32 else blas.dsyrk
    start = time.perf_counter()
    G = np.zeros((d, d), dtype=X.dtype, order="F")
    for first in range(0, len(X), 2048):
        G = syrk(1.0, X[first : first + 2048].T, beta=1.0, c=G, lower=1, overwrite_c=1)
    return time.perf_counter() - start


def _learned(X: np.ndarray, y: np.ndarray) -> float:
    start = time.perf_counter()
    Moments.of(X, y, second="cross").scatters(by_samples=False)
    return time.perf_counter() - start


def _measured(n: int, d: int) -> dict[str, tuple[float, str]]:
    """Return the median and the unit of what was measured, by name."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, n)
    X = rng.normal(size=(n, d)) + 0.3 * rng.normal(size=(CLASSES, d))[y]
    few = min(n, 100 * BATCH)

    def dsyrk() -> None:
        G = np.zeros((d, d), order="F")
        for start in range(0, n, 2048):
            part = X[start : start + 2048]
            G = blas.dsyrk(1.0, part.T, beta=1.0, c=G, lower=1, overwrite_c=1)

    def learn() -> Any:
        return SRDA(n_components=CLASSES - 1, alpha="scale").partial_fit(X, y)

    def stream(model: Any) -> Any:
        for start in range(0, few, BATCH):
            model.partial_fit(X[start : start + BATCH], y[start : start + BATCH])
        return model

    def read(alpha: str) -> Callable[[], float]:
        model = SRDA(n_components=CLASSES - 1, alpha=alpha).partial_fit(X, y)

        def timed() -> float:
            model.partial_fit(X[:BATCH], y[:BATCH])
            start = time.process_time()
            model.predict(X[:BATCH])
            return time.process_time() - start

        return timed

    tasks: dict[str, Any] = {
        "bare `dsyrk`": dsyrk,
        "`partial_fit`, all samples at once": learn,
        'SRDA(alpha="scale"), fit to directions': lambda: SRDA(alpha="scale").fit(X, y),
        "SRDA(), fit to directions": lambda: SRDA().fit(X, y),
        "PCA(50) of scikit-learn": lambda: PCA(50).fit(X),
        'LinearDiscriminantAnalysis(solver="eigen")': lambda: LinearDiscriminantAnalysis(
            solver="eigen", shrinkage=1e-3
        ).fit(X, y),
        f"SRDA, `partial_fit` of {few:,} in batches of {BATCH}": lambda: stream(SRDA()),
        "OnlineSRDA, the same": lambda: stream(OnlineSRDA(random_state=0)),
    }
    reads = {
        f'`predict` after a batch of {BATCH}, alpha="scale"': read("scale"),
        f"`predict` after a batch of {BATCH}, SRDA()": read("auto"),
    }
    taken: dict[str, list[float]] = {name: [] for name in (*tasks, *reads)}
    with threadpool_limits(1):
        for _ in range(ROUNDS):
            for name, task in tasks.items():
                start = time.process_time()
                task()
                taken[name].append(time.process_time() - start)
            for name, timed in reads.items():
                taken[name].append(timed())
    return {
        name: (float(np.median(times)), "ms" if name in reads else "s")
        for name, times in taken.items()
    }


def _shown(seconds: float, unit: str) -> str:
    return f"{1000 * seconds:.0f} ms" if unit == "ms" else f"{seconds:.2g} s"
