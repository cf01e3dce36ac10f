"""A Dask cluster: how much faster two processes are than one, and what each of them holds."""

from __future__ import annotations

import re
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.problems.rcv1_like import RCV1Like
from benchmarks.tables import Table
from narrows import OC, OCFS
from narrows.io.write import writer

ROWS, SHARDS, ROUNDS = 250_000, 16, 3


class Cluster:
    """OC and OCFS of Parquet shards on local clusters of one and of two single-thread processes."""

    name = "dask"

    def table(self) -> Table:
        with tempfile.TemporaryDirectory() as folder:
            shards = _made(Path(folder))
            runs = [(OCFS, 1, 1), (OCFS, 2, 1), (OCFS, 2, 4), (OC, 1, 1), (OC, 2, 1)]
            found: dict[Any, list[tuple[float, float, float]]] = {run: [] for run in runs}
            for _ in range(ROUNDS):
                for run in runs:
                    found[run].append(_measured(*run, shards))
        rows = []
        for (method, workers, times), each in found.items():
            seconds, memory, sent = (median(values) for values in zip(*each, strict=True))
            alone = median(seconds for seconds, _, _ in found[method, 1, 1])
            n = SHARDS * times
            rows.append([
                method.__name__.lower(), str(workers), str(n), f"{n * ROWS:,}", f"{seconds:.1f}",
                f"{n * ROWS / seconds:,.0f}", f"{alone / seconds:.2f}" if times == 1 else "",
                f"{memory / 1e6:.0f}", f"{sent / n / 1e6:.2f}",
            ])  # fmt: skip
        return Table(
            [
                "method", "processes", "shards", "samples", "seconds", "samples/s",
                "against one process", "memory of a worker at most, MB",
                "sent between workers for a shard, MB",
            ],
            rows,
        )  # fmt: skip


def _made(folder: Path) -> list[str]:
    """Shards of other rows each."""
    paths = [str(folder / f"{k}.parquet") for k in range(SHARDS)]
    with ProcessPoolExecutor(2) as made:
        list(made.map(_write, paths, range(SHARDS)))
    return paths


def _write(path: str, seed: int) -> None:
    X, y = RCV1Like(rows=ROWS, seed=seed).load()
    with writer(path, None) as out:
        for start in range(0, ROWS, 10_000):
            out.write(X[start : start + 10_000], y[start : start + 10_000])


def _measured(
    method: Any, workers: int, times: int, shards: list[str]
) -> tuple[float, float, float]:
    """Seconds of the fit, the most bytes that a worker held, and bytes that workers sent."""
    from distributed import Client, LocalCluster

    from narrows.engines.dask import fit

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(workers)
        fit(method(), shards[:workers], client)  # what is imported and compiled once
        started = perf_counter()
        fit(method(), shards * times, client)
        seconds = perf_counter() - started
        return seconds, max(client.run(_held).values()), sum(client.run(_sent).values())


def _held() -> int:
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def _sent(dask_worker: Any) -> int:
    return sum(entry["total"] for entry in dask_worker.transfer_outgoing_log)
