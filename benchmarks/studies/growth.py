"""How seconds and memory grow with the samples, the features and the classes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks import harness
from benchmarks.methods import METHODS
from benchmarks.problems.dense import Embeddings
from benchmarks.problems.rcv1_like import RCV1Like
from benchmarks.tables import Table
from narrows import CCIPCA, CHI, IG, IIS, IMMC, IOC, OC, OCFS, OnlineSRDA

CHUNK = 100_000
SAMPLES = 100_000, 1_000_000, 10_000_000
FEATURES = 10_000, 100_000, 1_000_000, 10_000_000
CLASSES = 10, 100, 1_000, 10_000
ROUNDS = 3
BUDGET = 600.0


class ByMeasure:
    """Methods on problems of several sizes, each run in a process of its own."""

    name: str
    what: str
    sizes: Sequence[int]
    methods: Sequence[str]

    def problem(self, size: int) -> Any:
        raise NotImplementedError

    def table(self) -> Table:
        seconds: dict[str, list[float]] = {name: [] for name in self.methods}
        peaks: dict[str, list[str]] = {name: [] for name in self.methods}
        with threadpool_limits(1):
            for size in self.sizes:
                methods = [METHODS[name] for name in self.methods]
                for result in harness.run([self.problem(size)], methods, ROUNDS, BUDGET):
                    if result.skipped:
                        raise RuntimeError(f"{result.method}: {result.skipped}")
                    seconds[result.method].append(statistics.median(result.seconds))
                    peak, state = (statistics.median(of) for of in (result.peak, result.state))
                    shown = f"{peak:,.0f} ({state:,.0f})" if state else f"{peak:,.0f}"
                    peaks[result.method].append(shown)
        header = _header(self.sizes, self.what)
        header += [f"peak MB (state) at {size:,}" for size in self.sizes[-2:]]
        rows = [[*_row(name, seconds[name], self.sizes), *peaks[name][-2:]] for name in seconds]
        return Table(header, rows)


class ByFeatures(ByMeasure):
    """100,000 sparse samples of 83 non-zeros, 4 classes."""

    name, what, sizes = "growth_by_features", "features", FEATURES
    methods = ("bare", "OCFS", "OC", "IG", "IOC", "OnlineSRDA", "SRDA", "TruncatedSVD")

    def problem(self, size: int) -> Any:
        return RCV1Like(rows=CHUNK, columns=size)


class ByClasses(ByMeasure):
    """100,000 dense samples of 384 numbers of 32 bits."""

    name, what, sizes = "growth_by_classes", "classes", CLASSES
    methods = ("OCFS", "OC", 'SRDA(alpha="scale")', "SRDA", "LDA", "LinearDiscriminantAnalysis")

    def problem(self, size: int) -> Any:
        return Embeddings(CHUNK, 384, size)


class BySamples:
    """Sparse samples in chunks of 100,000, each in another order, learned by `partial_fit`.

    Seconds are those of `partial_fit` alone, and of reading the result once at the end; others of
    their kind learned some samples before.
    """

    name = "growth_by_samples"

    def table(self) -> Table:
        models: dict[str, Any] = {each.__name__: each(n_features=100) for each in (OCFS, IG, CHI)}
        models |= {"OC": OC(), "OnlineSRDA": OnlineSRDA(random_state=0)}
        models |= {each.__name__: each(3) for each in (IOC, IIS, IMMC, CCIPCA)}
        harness.use_compiled_loops()
        X, y = next(_chunks(CHUNK))
        for model in models.values():
            clone(model).partial_fit(X[:64], y[:64])
        taken = dict.fromkeys(models, 0.0)
        seconds: dict[str, list[float]] = {name: [] for name in models}
        with threadpool_limits(1):
            for count, (X, y) in enumerate(_chunks(max(SAMPLES)), 1):
                for name, model in models.items():
                    start = perf_counter()
                    model.partial_fit(X, y)
                    if count * CHUNK in SAMPLES:
                        getattr(model, "scores_" if hasattr(model, "scores_") else "components_")
                    taken[name] += perf_counter() - start
                    if count * CHUNK in SAMPLES:
                        seconds[name].append(taken[name])
        rows = [_row(name, seconds[name], SAMPLES) for name in models]
        return Table(_header(SAMPLES, "samples"), rows)


def _chunks(n: int) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield the same samples in another order each time, n in all; none are stored."""
    X, y = RCV1Like(rows=CHUNK).load()
    rng = np.random.default_rng(0)
    for _ in range(n // CHUNK):
        order = rng.permutation(CHUNK)
        yield X[order], y[order]


def _header(sizes: Sequence[int], what: str) -> list[str]:
    steps = [f"exponent to {size:,}" for size in sizes[1:]]
    return ["seconds", *(f"{size:,} {what}" for size in sizes), *steps]


def _row(name: str, seconds: Sequence[float], sizes: Sequence[int]) -> list[str]:
    steps = [
        math.log(seconds[i + 1] / seconds[i]) / math.log(sizes[i + 1] / sizes[i])
        for i in range(len(sizes) - 1)
    ]
    return [f"`{name}`", *(f"{each:.3g}" for each in seconds), *(f"{step:.2f}" for step in steps)]
