"""Files larger than one likes to hold: memory and speed by length, as svmlight and as Parquet."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.problems.dense import Embeddings
from benchmarks.problems.rcv1_like import RCV1Like
from benchmarks.tables import Table
from narrows.io.write import writer

PIECE, PIECES = 130_000, 8  # rows of one, 270 MB as svmlight; in the whole
METHODS = ("ocfs", "oc", "ioc", "onlinesrda")
ALONE = {"ocfs": ["--then", "none"]}  # without a classifier behind it
ROUNDS, LOADED = 3, "load_svmlight_file + chi2"
SKLEARN = """
import sys
from sklearn.datasets import load_svmlight_file
from sklearn.feature_selection import SelectKBest, chi2
SelectKBest(chi2, k=1000).fit(*load_svmlight_file(sys.argv[1], zero_based=False))
"""

LDA = """
import sys
import numpy as np
import pyarrow.parquet as pq
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
table = pq.read_table(sys.argv[1])
X = table["x"].combine_chunks().flatten().to_numpy().reshape(len(table), -1)
LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-3).fit(X, table["y"].to_numpy())
"""


class Files:
    """`narrows fit` on a quarter, a half and all of 2 GB, beside scikit-learn's reader and chi2."""

    name = "files"

    def table(self) -> Table:
        with tempfile.TemporaryDirectory() as folder:
            return Table(
                [
                    "file", "samples", "method", "seconds", "MB/s", "samples/s",
                    "memory above the model's own, MB", "against `load_svmlight_file` + `chi2`",
                ],
                self._rows(Path(folder)),
            )  # fmt: skip

    def _rows(self, folder: Path) -> list[list[str]]:
        files = {share: _made(folder, share) for share in (0.25, 0.5, 1.0)}
        model = folder / "m.narrows"
        fit = [sys.executable, "-m", "narrows", "fit", "-o", str(model), "--method"]
        rows = []
        for share, (svm, parquet, n) in files.items():
            size, quarter = os.path.getsize(svm), share == 0.25  # as far as memory reaches
            commands = {
                (f, m): [*fit, m, str(f), *ALONE.get(m, [])]
                for f in (svm, parquet)
                for m in METHODS
            }
            if quarter:
                commands = {(svm, LOADED): [sys.executable, "-c", SKLEARN, str(svm)], **commands}
            found: dict[tuple[Path, str], list[tuple[float, int]]] = {each: [] for each in commands}
            for _ in range(ROUNDS if quarter else 1):
                for each, command in commands.items():
                    seconds, peak = measured(command)
                    own = 0 if each[1] == LOADED else os.path.getsize(model)
                    found[each].append((seconds, peak - own))
            for (file, what), runs in found.items():
                ratios = zip(found.get((svm, LOADED), []), runs, strict=False)
                ratio = median(base[0] / own[0] for base, own in ratios) if quarter else 0
                seconds, peak = (median(values) for values in zip(*runs, strict=True))
                shown = f"{ratio:.1f}" if quarter and what != LOADED else ""
                rows.append(_row(file, n, what, seconds, size, peak, shown))
        return rows


class EmbeddingFiles:
    """A million embeddings of 384 numbers of 32 bits in Parquet, as a column of lists."""

    name = "files_of_embeddings"

    def table(self) -> Table:
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            file, model = Path(folder) / "embeddings.parquet", Path(folder) / "m.narrows"
            _put_embeddings(file)
            size = os.path.getsize(file)
            commands = {
                "scikit-learn, by hand": [sys.executable, "-c", LDA, str(file)],
                **{
                    f"narrows, {method}": [
                        sys.executable, "-m", "narrows", "fit", str(file), "--vector", "x",
                        "--label", "y", "--method", method, "-o", str(model),
                        *ALONE.get(method, []),
                    ]
                    for method in ("ocfs", "oc", "lda", "srda")
                },
            }  # fmt: skip
            for name, command in commands.items():
                runs = [measured(command) for _ in range(3)]
                seconds, peak = (median(each) for each in zip(*runs, strict=True))
                row = [name, f"{seconds:.1f}", f"{size / 1e6 / seconds:.0f}", f"{peak / 1e6:,.0f}"]
                rows.append(row)
        return Table(["whole process", "seconds", "MB/s", "peak MB"], rows)


def _put_embeddings(file: Path) -> None:
    X, y = Embeddings(100_000, 384, 20).load()
    lists = pa.FixedSizeListArray.from_arrays(X.ravel(), 384)
    table = pa.table({"x": lists, "y": y})
    with pq.ParquetWriter(file, table.schema) as out:
        for _ in range(10):
            out.write_table(table, row_group_size=20_000)


def _row(
    file: Path, n: int, what: str, seconds: float, size: int, memory: float, ratio: str
) -> list[str]:
    return [
        f"{file.suffix}, {os.path.getsize(file) / 1e9:.2f} GB", f"{n:,}", what, f"{seconds:.1f}",
        f"{size / 1e6 / seconds:.0f}", f"{n / seconds:,.0f}", f"{memory / 1e6:.0f}", ratio,
    ]  # fmt: skip


def _made(folder: Path, share: float) -> tuple[Path, Path, int]:
    """A file of so many of the pieces, as svmlight and as Parquet; the same rows come again."""
    piece, part = folder / "piece.svm", RCV1Like(rows=PIECE)
    X, y = part.load()
    if not piece.exists():
        with writer(str(piece), None) as out:
            out.write(X, y)
    times = round(share * PIECES)
    svm, parquet = folder / f"{share}.svm", folder / f"{share}.parquet"
    with svm.open("wb") as whole, writer(str(parquet), None) as rows:
        for _ in range(times):
            with piece.open("rb") as again:
                shutil.copyfileobj(again, whole)
            for start in range(0, X.shape[0], 10_000):
                rows.write(X[start : start + 10_000], y[start : start + 10_000])
    return svm, parquet, times * X.shape[0]


def measured(command: list[str]) -> tuple[float, int]:
    """Seconds, and the most memory in bytes that the process held."""
    started, peak = perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        # what wait4 tells would begin with the memory of this process
        with suppress(OSError):
            found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
            peak = max(peak, int(found[1]) * 1024 if found else 0)
        sleep(0.02)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return perf_counter() - started, peak
