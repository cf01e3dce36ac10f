"""Spark: the time and memory of narrows and of MLlib on the same rows, with one core and two."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.problems.rcv1_like import RCV1Like
from benchmarks.tables import Table

ROWS, SHARDS, ROUNDS = 62_500, 16, 3
MEMORY, LIMIT = "8g", 900  # of Java; seconds of a run
LABEL, SELECTED = "label", 1000


class Spark:
    """OCFS, OC and CHI by `narrows.spark`, selectors and PCA of MLlib; 10^6 rows of Parquet."""

    name = "spark"

    def table(self) -> Table:
        with tempfile.TemporaryDirectory() as folder:
            _make(Path(folder))
            runs = [(job, cores) for job in JOBS for cores in (2, 1) if cores == 2 or job in ALONE]
            found: dict[Any, list[Any]] = {run: [] for run in runs}
            for k in range(ROUNDS):
                for run in runs:
                    if k == 0 or not isinstance(found[run][0], str):
                        found[run].append(_in_a_process(*run, folder))
        rows = []
        for (job, cores), each in found.items():
            if isinstance(each[0], str):
                rows.append([job, str(cores), each[0], "", ""])
                continue
            seconds = median(seconds for seconds, _ in each)
            peak = max(peak for _, peak in each)
            alone = found.get((job, 1))
            gain = median(s for s, _ in alone) / seconds if alone and cores == 2 else None
            ratio = "" if gain is None else f"{gain:.2f}"
            rows.append([job, str(cores), f"{seconds:.1f}", f"{peak / 1e6:,.0f}", ratio])
        return Table(["fit", "cores", "seconds", "memory, MB", "against one core"], rows)


def _make(folder: Path) -> None:
    """Write the rows as lists, and by Spark as vectors of MLlib, with their values and with 1."""
    from narrows.spark.frames import VECTOR, as_vectors, schema_with

    (folder / "lists").mkdir()
    with ProcessPoolExecutor(2, get_context("spawn")) as made:
        list(made.map(_write, [str(folder / "lists" / f"{k}.parquet") for k in range(SHARDS)]))
    session = _session(2)
    lists = session.read.parquet(str(folder / "lists"))
    for name, ones in (("vectors", False), ("ones", True)):

        def converted(batches: Iterator[Any], ones: bool = ones) -> Iterator[Any]:
            import pyarrow as pa
            from scipy import sparse

            for batch in batches:
                indices, values, label = batch.columns
                ends = indices.offsets.to_numpy()
                numbers = values.flatten().to_numpy()
                numbers = numbers**0 if ones else numbers
                inside = indices.flatten().to_numpy(), ends - ends[0]
                X = sparse.csr_array((numbers, *inside), (len(label), RCV1Like().columns))
                columns = [as_vectors(X), label.cast(pa.float64())]
                yield pa.RecordBatch.from_arrays(columns, ["features", LABEL])

        schema = schema_with(session.createDataFrame([], "x int").drop("x").schema,
                             {"features": VECTOR, LABEL: "double"})  # fmt: skip
        columns = lists.select("indices", "values", LABEL)
        columns.mapInArrow(converted, schema).write.parquet(str(folder / name))
    session.stop()


def _write(path: str) -> None:
    from narrows.io.write import writer

    X, y = RCV1Like(rows=ROWS, seed=int(Path(path).stem)).load()
    with writer(path, None) as out:
        for start in range(0, ROWS, 10_000):
            out.write(X[start : start + 10_000], y[start : start + 10_000])


# -- what is timed ---------------------------------------------------------------------------------


def _narrows(make: Callable[[Any], Any], form: str) -> Callable[[Any, Any], Any]:
    def run(session: Any, path: Path) -> Any:
        import narrows
        from narrows.spark import fit, fit_files

        method = make(narrows)
        if form == "files":
            return fit_files(method, [str(path / "lists" / "*.parquet")], session, label=LABEL)
        return fit(method, session.read.parquet(str(path / form)))

    return run


def _chi2(selector: str) -> Callable[[Any, Any], Any]:
    def run(session: Any, path: Path) -> Any:
        from pyspark.ml.feature import ChiSqSelector, UnivariateFeatureSelector

        df = session.read.parquet(str(path / ("vectors" if selector == "f" else "ones")))
        if selector == "ChiSqSelector":
            return ChiSqSelector(numTopFeatures=SELECTED, labelCol=LABEL).fit(df)
        univariate = UnivariateFeatureSelector(labelCol=LABEL, selectionMode="numTopFeatures")
        univariate.setLabelType("categorical").setSelectionThreshold(SELECTED)
        kind = "continuous" if selector == "f" else "categorical"
        return univariate.setFeatureType(kind).fit(df)

    return run


def _pca(session: Any, path: Path) -> Any:
    from pyspark.ml.feature import PCA

    df = session.read.parquet(str(path / "vectors"))
    return PCA(k=3, inputCol="features", outputCol="z").fit(df)


def _decode(form: str) -> Callable[[Any, Any], Any]:
    def run(session: Any, path: Path) -> Any:
        import pyarrow as pa

        def count(batches: Iterator[Any]) -> Iterator[Any]:
            n = sum(batch.num_rows for batch in batches)
            yield pa.RecordBatch.from_arrays([pa.array([n])], ["n"])

        df = session.read.parquet(str(path / form))
        return df.mapInArrow(count, "n long").collect()

    return run


def _ocfs(narrows: Any) -> Any:
    return narrows.OCFS(n_features=SELECTED)


JOBS: dict[str, Callable[[Any, Any], Any]] = {
    "Spark alone: lists, decoded and counted": _decode("lists"),
    "Spark alone: vectors, decoded and counted": _decode("vectors"),
    "narrows OCFS, lists": _narrows(_ocfs, "lists"),
    "narrows OCFS, vectors": _narrows(_ocfs, "vectors"),
    "narrows OCFS, files": _narrows(_ocfs, "files"),
    "narrows CHI, vectors of ones": _narrows(lambda n: n.CHI(n_features=SELECTED), "ones"),
    "narrows OC, lists": _narrows(lambda n: n.OC(), "lists"),
    "MLlib UnivariateFeatureSelector, F, vectors": _chi2("f"),
    "MLlib UnivariateFeatureSelector, chi2, vectors of ones": _chi2("chi2"),
    "MLlib ChiSqSelector, vectors of ones": _chi2("ChiSqSelector"),
    "MLlib PCA, vectors": _pca,
}
ALONE = "narrows OCFS, lists", "narrows OCFS, files", "narrows OC, lists"


def _session(cores: int) -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {MEMORY} pyspark-shell"
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{cores}]")
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, "false")
    return builder.config("spark.log.level", "OFF").getOrCreate()


def _in_a_process(job: str, cores: int, folder: str) -> Any:
    with ProcessPoolExecutor(1, get_context("spawn")) as one:
        found = one.submit(_timed, job, cores, folder).result(2 * LIMIT)
    print(job, cores, found, file=sys.stderr, flush=True)
    return found


def _timed(job: str, cores: int, folder: str) -> Any:
    """Return the seconds of a fit and the most memory of Java and its Python, or the error."""
    session = _session(cores)
    session.range(0, 10**6, 1, 4).mapInArrow(lambda batches: batches, "id long").count()
    peak, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            peak[0] = max(peak[0], _held(os.getpid()))

    watching = threading.Thread(target=watch)
    watching.start()
    stop = threading.Timer(LIMIT, session.sparkContext.cancelAllJobs)
    stop.start()
    started = time.perf_counter()
    try:
        JOBS[job](session, Path(folder))
        return time.perf_counter() - started, peak[0]
    except Exception as error:
        seconds = time.perf_counter() - started
        lines = [line for line in str(error).splitlines() if "Exception" in line or "Error" in line]
        return f"{(lines or [str(error)])[0][:160]} ({seconds:.0f} s, {peak[0] / 1e6:,.0f} MB)"
    finally:
        stop.cancel()
        over.set()
        watching.join()
        session.stop()


def _held(process: int) -> int:
    """Return the bytes of memory of a process and of those it started."""
    total = 0
    try:
        total += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096
        for task in Path(f"/proc/{process}/task").iterdir():
            total += sum(_held(int(k)) for k in (task / "children").read_text().split())
    except (OSError, ValueError):
        pass
    return total
