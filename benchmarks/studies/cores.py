"""What is left: how near paths come to the bounds of one core, and what a second core brings."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np

from benchmarks.problems.dense import Embeddings
from benchmarks.problems.rcv1_like import RCV1Like
from benchmarks.tables import Table
from narrows import OC, OCFS, SRDA, OnlineSRDA
from narrows.engines.local import fit
from narrows.io.write import writer
from narrows.read import iter_chunks

ROUNDS = 7
N_SPARSE, N_DENSE, D_DENSE = 200_000, 100_000, 384


class Task(NamedTuple):
    """What is run, the bytes that it reads, and its operations."""

    name: str
    run: Callable[[], Any]
    n_bytes: float
    operations: float


class Cores:
    """Five paths with one thread and with two, beside what the machine can do."""

    name = "cores"

    def table(self) -> Table:
        found = {threads: _measured(threads) for threads in (1, 2)}
        rows = []
        for name, (seconds, n_bytes, operations, where) in found[1].items():
            rows.append([
                name, f"{1000 * seconds:.0f}", f"{1000 * found[2][name][0]:.0f}",
                f"{seconds / found[2][name][0]:.2f}", f"{n_bytes / seconds / 1e9:.1f}",
                f"{operations / seconds / 1e9:.1f}", where,
            ])  # fmt: skip
        header = [
            "path", "ms, one thread", "ms, two threads", "times as fast",
            "GB/s of samples, one thread", "GFlop/s, one thread", "where its time goes (perf)",
        ]  # fmt: skip
        return Table(header, rows)


def _measured(threads: int) -> dict[str, list[Any]]:
    """Run this module in a process with so many threads."""
    names = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"
    environment = os.environ | dict.fromkeys(names, str(threads))
    command = [sys.executable, "-m", "benchmarks.studies.cores"]
    out = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    found: dict[str, list[Any]] = json.loads(out.stdout)
    return found


def _tasks(folder: Path) -> list[Task]:
    X, y = RCV1Like(rows=N_SPARSE).load()
    Z, labels = Embeddings(N_DENSE, D_DENSE, 20).load()
    file = folder / "a.svm"
    with writer(str(file), None) as out:
        out.write(X, y)
    W = OC().fit(X, y)
    dense, entries = Z.nbytes, X.nnz * 12
    A, B = np.random.default_rng(0).random((2, 2000, 2000))
    big = np.ones(40_000_000)
    return [
        Task("copying 320 MB (NumPy)", big.copy, 2 * big.nbytes, 0),
        Task("a product of 2,000 x 2,000 (BLAS)", lambda: A @ B, 0, 2 * 2000**3),
        Task("OCFS.fit, 200,000 sparse samples", lambda: OCFS(100).fit(X, y).scores_, entries,
              2 * X.nnz),
        Task("OC.transform, the same", lambda: W.transform(X), entries, 6 * X.nnz),
        Task("OnlineSRDA.partial_fit, the same",
              lambda: OnlineSRDA(random_state=0).partial_fit(X, y), entries, 16 * X.nnz),
        Task('SRDA(alpha="scale").fit, 100,000 x 384',
              lambda: SRDA(alpha="scale").fit(Z, labels).components_, dense,
              N_DENSE * D_DENSE**2),
        Task("OCFS of a svmlight file of 0.4 GB",
              lambda: fit(OCFS(100), iter_chunks(str(file), zero_based=False)),
              file.stat().st_size, 2 * X.nnz),
    ]  # fmt: skip


_LIBRARIES = {
    "compiled loops": ("[JIT]",),
    "BLAS": ("openblas",),
    "NumPy and SciPy": ("_umath", "_sparsetools", "scipy", "_cython", "lapack"),
    "Python": ("libpython", "python3"),
    "the system": ("kernel", "libc", "ld-linux", "libgcc"),
}


def _where(run: Callable[[], Any], folder: Path) -> str:
    """Return the shares of the libraries in the samples of perf; "" where that is not there."""
    if shutil.which("perf") is None:
        return ""
    out = folder / "perf.data"
    options = ["-q", "-e", "cpu-clock", "-F", "999", "-p", str(os.getpid()), "-o", str(out)]
    with subprocess.Popen(["perf", "record", *options], stderr=subprocess.DEVNULL) as perf:
        sleep(1)
        for _ in range(ROUNDS):
            run()
        perf.send_signal(signal.SIGINT)
        perf.wait(60)
    command = ["perf", "report", "-i", str(out), "--sort", "dso", "--stdio", "-q"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    shares = dict.fromkeys([*_LIBRARIES, "others"], 0.0)
    for percent, library in re.findall(r"([\d.]+)%\s+(\S.*)", text):
        kinds = [kind for kind, names in _LIBRARIES.items() if any(n in library for n in names)]
        shares[(kinds or ["others"])[0]] += float(percent)
    best = sorted(shares, key=lambda kind: -shares[kind])
    return ", ".join(f"{kind} {shares[kind]:.0f} %" for kind in best if shares[kind] >= 4)


def _main() -> None:
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for task in _tasks(Path(folder)):
            task.run()
            times = []
            for _ in range(ROUNDS):
                start = perf_counter()
                task.run()
                times.append(perf_counter() - start)
            where = _where(task.run, Path(folder))
            found[task.name] = [median(times), task.n_bytes, task.operations, where]
    print(json.dumps(found))


if __name__ == "__main__":
    _main()
