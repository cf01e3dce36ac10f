"""Peak memory of a fit to made samples, in a process of its own.

    python -m examples.papers.memory METHOD n d c

prints the MB that the process held at most, less what it held before the fit.
"""

from __future__ import annotations

import ctypes
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA

from narrows import IDRQR, IIS, IMMC, IOC, LDA, OCM
from narrows.engines import local

WHOLE = {  # methods that take the samples as one array
    "PCA+LDA": LDA(solver="pca"),
    "LDA/GSVD": LDA(solver="gsvd"),
    "PCA": PCA(svd_solver="full"),
}
CHUNKS = {"IDR/QR": IDRQR(), "OCM": OCM()}  # methods that read them twice, or once, in chunks
STREAMS = {"IOC": IOC(3), "IIS": IIS(3), "IMMC": IMMC(3, eps=1.0)}  # sparse samples
ROWS = 20  # of a chunk; of sparse samples 50 times as many
TERMS = 76  # of a sparse sample, as in RCV1


class Chunks:
    """Normal samples in chunks, the same ones each time; `y` counts through the classes."""

    def __init__(self, n: int, d: int, c: int):
        self.n, self.d, self.c = n, d, c

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, self.n, ROWS):
            rows = np.arange(start, min(start + ROWS, self.n))
            yield np.random.default_rng(start).normal(size=(len(rows), self.d)), rows % self.c


def documents(n: int, d: int, c: int) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield sparse samples in chunks."""
    for start in range(0, n, 50 * ROWS):
        rng, k = np.random.default_rng(start), min(50 * ROWS, n - start)
        ends = np.arange(0, TERMS * k + 1, TERMS)
        X = sparse.csr_array((rng.random(TERMS * k), rng.integers(0, d, TERMS * k), ends), (k, d))
        X.sum_duplicates()
        yield X, rng.integers(0, c, k)


def learn(name: str, n: int, d: int, c: int) -> Any:
    """Fit a method to n samples with d features of c classes; return what it found."""
    if name in STREAMS:
        learner = clone(STREAMS[name])
        for X, y in documents(n, d, c):
            learner.partial_fit(X, y)
        return learner.components_
    if name in CHUNKS:
        return local.fit(clone(CHUNKS[name]), Chunks(n, d, c)).components_
    X = np.empty((n, d))
    for start, (rows, _) in zip(range(0, n, ROWS), Chunks(n, d, c), strict=True):
        X[start : start + len(rows)] = rows
    return WHOLE[name].fit(X, np.arange(n) % c)


def most() -> float:
    """Return the MB that this process held at most.

    On Linux by its status, since `getrusage` counts what the process held before it started this
    program: as much as the one that started it.
    """
    with suppress(OSError):
        status = Path("/proc/self/status").read_text()
        return float(status.partition("VmHWM:")[2].split()[0]) / 2**10
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def now() -> float:
    """Return the MB that this process holds, without free memory where Linux gives it back."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 2**20
    return most()


@cache
def peak(name: str, n: int, d: int, c: int) -> float:
    """Return the MB that a new process takes for a fit, in addition to what it held before."""
    command = [sys.executable, "-m", "examples.papers.memory", name, *map(str, (n, d, c))]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(run.stdout)


if __name__ == "__main__":
    sizes = [int(size) for size in sys.argv[2:]]
    first = 5_000 if sys.argv[1] in STREAMS else 60  # after which loops are compiled
    learn(sys.argv[1], first, 200, 4)
    before = now()
    learn(sys.argv[1], *sizes)
    print(most() - before)
