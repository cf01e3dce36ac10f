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
from time import perf_counter, sleep

from benchmarks.problems.rcv1_like import RCV1Like
from benchmarks.studies.tables import markdown
from narrows.io.write import writer

PIECE, PIECES = 130_000, 8  # rows of one, 270 MB as svmlight; in the whole
METHODS = ("ocfs", "oc", "ioc", "onlinesrda")
SKLEARN = """
import sys
from sklearn.datasets import load_svmlight_file
from sklearn.feature_selection import SelectKBest, chi2
SelectKBest(chi2, k=1000).fit(*load_svmlight_file(sys.argv[1], zero_based=False))
"""


class Files:
    """`narrows fit` on a quarter, a half and all of 2 GB, beside scikit-learn's reader and chi2."""

    name = "files"

    def table(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            return markdown(
                [
                    "file", "rows", "method", "seconds", "MB/s", "rows/s",
                    "memory above the model's own, MB", "against `load_svmlight_file` + `chi2`",
                ],
                self._rows(Path(folder)),
            )  # fmt: skip

    def _rows(self, folder: Path) -> list[list[str]]:
        files = {share: _made(folder, share) for share in (0.25, 0.5, 1.0)}
        rows = []
        for share, (svm, parquet, n) in files.items():
            size = os.path.getsize(svm)
            base = None
            command = [sys.executable, "-c", SKLEARN, str(svm)]
            if share == 0.25:  # as far as memory reaches
                base, peak = _measured(command)
                rows.append(_row(svm, n, "load_svmlight_file + chi2", base, size, peak, ""))
            for file in (svm, parquet):
                for method in METHODS:
                    model = folder / "m.narrows"
                    command = [sys.executable, "-m", "narrows", "fit", str(file), "-o", str(model)]
                    seconds, peak = _measured([*command, "--method", method])
                    ratio = "" if base is None else f"{base / seconds:.1f}"
                    own = os.path.getsize(model)
                    rows.append(_row(file, n, method, seconds, size, peak - own, ratio))
        return rows


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


def _measured(command: list[str]) -> tuple[float, int]:
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
