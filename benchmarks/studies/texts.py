"""Texts: vectorisers beside those of scikit-learn, and whole commands beside version 0.2.0."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from benchmarks import harness
from benchmarks.problems import corpus
from benchmarks.tables import Table
from narrows.read import iter_chunks
from narrows.text import HashedTfidf, Tfidf

COPIES, ROUNDS = 8, 2
TOKEN = r"(?u)\b\w+\b"
VECTORISERS = {
    "TfidfVectorizer": lambda: TfidfVectorizer(sublinear_tf=True, token_pattern=TOKEN),
    "HashingVectorizer": lambda: HashingVectorizer(alternate_sign=False, token_pattern=TOKEN),
    "Tfidf": Tfidf,
    "HashedTfidf": HashedTfidf,
}
RUNS = [  # what is run on how many threads, and what it is compared with
    ("TfidfVectorizer", 1, None),
    ("Tfidf", 1, "TfidfVectorizer"),
    ("Tfidf", 2, "TfidfVectorizer"),
    ("HashingVectorizer", 1, None),
    ("HashedTfidf", 1, "HashingVectorizer"),
    ("HashedTfidf", 2, "HashingVectorizer"),
]
METHODS = "srda", "ocfs"


class Run(NamedTuple):
    """Seconds, seconds of processors, the most memory in MB, and that of the matrix."""

    seconds: float
    processors: float
    peak: float
    matrix: float = 0.0


class Texts:
    """`fit_transform` of 320 MB of texts, and `narrows fit` of a CSV file of them.

    The folder of the source of version 0.2.0 is the environment variable NARROWS_0_2_0.
    """

    name = "texts"

    def table(self) -> Table:
        with tempfile.TemporaryDirectory() as folder:
            table, lines = corpus.write(Path(folder), COPIES)
            size = sum(len(t.encode()) for X, _ in iter_chunks(lines) for t in X) / 1e6
            before = {"0.2.0": os.environ["NARROWS_0_2_0"]} if "NARROWS_0_2_0" in os.environ else {}
            found: dict[tuple[str, str], list[Run]] = {}
            for _ in range(ROUNDS):
                for name, threads, _ in RUNS:
                    run = _vectorised(lines, name, threads)
                    found.setdefault((name, str(threads)), []).append(run)
                    print(name, threads, run, file=sys.stderr)
                for method in METHODS:
                    for version, path in {**before, "this version": ""}.items():
                        run = _fitted(table, method, path, Path(folder))
                        found.setdefault((f"narrows fit, {method}", version), []).append(run)
                        print(method, version, run, file=sys.stderr)
        rows = []
        for (name, what), runs in found.items():
            base = next((b for n, t, b in RUNS if (n, str(t)) == (name, what)), None)
            key = (name, "0.2.0") if name.startswith("narrows") else (str(base), "1")
            others = found.get(key, []) if key != (name, what) else []
            faster = [b.seconds / a.seconds for a, b in zip(runs, others, strict=False)]
            seconds = median(run.seconds for run in runs)
            matrix = median(run.peak / run.matrix if run.matrix else 0.0 for run in runs)
            rows.append([
                name, what, f"{seconds:.1f}", f"{median(run.processors for run in runs):.1f}",
                f"{size / seconds:.0f}", f"{median(faster):.1f}" if faster else "",
                f"{median(run.peak for run in runs):,.0f}", f"{matrix:.2f}" if matrix else "",
            ])  # fmt: skip
        header = [
            "what", "threads, or version", "seconds", "seconds of processors", "MB/s",
            "times as fast", "peak MB", "of the matrix",
        ]  # fmt: skip
        return Table(header, rows)


def _vectorised(lines: Path, name: str, threads: int) -> Run:
    code = f"from benchmarks.studies.texts import vectorise; vectorise({str(lines)!r}, {name!r})"
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    return Run(*json.loads(done.stdout))


def vectorise(lines: str, name: str) -> None:
    """Print the run of a vectoriser on the texts of a file, without the memory of the texts."""
    texts = [text for some, _ in iter_chunks(lines) for text in some]
    VECTORISERS[name]().fit_transform(texts[:100])  # loads the compiled loops
    Path("/proc/self/clear_refs").write_text("5")  # the most memory begins with what there is
    before = harness.memory("VmRSS")
    started, processors = perf_counter(), process_time()
    X: Any = VECTORISERS[name]().fit_transform(texts)
    seconds, processors = perf_counter() - started, process_time() - processors
    matrix = sum(part.nbytes for part in (X.data, X.indices, X.indptr)) / 1e6
    print(json.dumps([seconds, processors, harness.memory("VmHWM") - before, matrix]))


def _fitted(table: Path, method: str, source: str, folder: Path) -> Run:
    """Run a command, of another version if its source is given."""
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "narrows", "fit", str(table), "--text", "text"]
    command += ["--label", "label", "--method", method, "-o", str(folder / "m.narrows")]
    code = (  # of a process of its own, whose only child it is
        f"import resource, subprocess, time; t = time.perf_counter(); "
        f"subprocess.run({command!r}, check=True, stdout=subprocess.DEVNULL); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print([time.perf_counter() - t, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3])"
    )
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True
    )
    return Run(*json.loads(done.stdout))
