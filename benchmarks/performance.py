"""What `docs/benchmarks/speed.md` shows: what is run, and the tables."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.methods import METHODS
from benchmarks.problems import PROBLEMS
from benchmarks.tables import Table

_EXACT = ("OCFS", "OC", "IG", "CHI")
_STEPS = ("IOC", "IIS", "IMMC", "CCIPCA", "OnlineSRDA")
_SCORES = ("f_classif", "mutual_info/200", "River SelectKBest/1000")
_SUMS = ("bare", "limit", "limit, products", "OCFS", "OC", "IG", "chi2")
_SCALE = 'SRDA(alpha="scale")'
_TEXT = ("bare", *_EXACT, "chi2", *_STEPS, "SRDA", "TruncatedSVD", "SGDClassifier")
_LDAS = tuple(f"LinearDiscriminantAnalysis{by}" for by in ("", '("lsqr")', '("eigen")'))
_CROSS = ("SRDA", _SCALE, "LDA", "PCA(50)")
_COMPONENTS = ("PCA(50) of scikit-learn", "IncrementalPCA(50)")
_DENSE = ("sum", "limit", "OCFS", "OC", "f_classif", *_CROSS, *_LDAS, *_COMPONENTS)
# what is run: a problem, its methods, the one that ratios are taken to, rounds
SUITE: list[tuple[str, tuple[str, ...], str, int]] = [
    (
        "rcv1_like_1m",
        ("bare", "limit", *_EXACT, "chi2", "f_classif", *_STEPS, "IncrementalPCA/1000"),
        "bare",
        5,
    ),
    ("rcv1_like_100k", (*_TEXT, "MMCFS", "FisherFS", "IDRQR"), "bare", 3),
    ("20news", (*_TEXT, "limit", "OnlineSRDA, read", "LSQR, one by one", "IDRQR"), "bare", 7),
    ("rcv1_4class", (*_TEXT, "limit", *_SCORES, "table/400"), "bare", 3),
    ("tr41", (*_TEXT, "LSQR, one by one"), "bare", 5),
    *((name, _TEXT, "bare", 5) for name in ("r8", "re0", "re1", "katakis_spam_stream")),
    ("rcv1_topics", ("bare", *_EXACT, "OnlineSRDA", "TruncatedSVD"), "bare", 3),
    ("wide", (*_SUMS, "OnlineSRDA"), "bare", 3),
    ("many_classes", _SUMS, "bare", 3),
    ("embeddings_384", _DENSE, "LinearDiscriminantAnalysis", 3),
    (
        "embeddings_384",
        ("KernelSRDA", "Nystroem, RidgeClassifier"),
        "Nystroem, RidgeClassifier",
        3,
    ),
    ("embeddings_768", _DENSE, "LinearDiscriminantAnalysis", 3),
    ("embeddings_1536", (*_DENSE, "MMC"), "LinearDiscriminantAnalysis", 3),
    ("faces", ("IOC", "table/400", "dense numpy/400"), "dense numpy/400", 1),
]  # fmt: skip


def run(names: Sequence[str], path: Path) -> None:
    """Run the suite, or the problems named, and keep the results with those of other problems."""
    for name in dict.fromkeys(problem for problem, *_ in SUITE):
        if names and name not in names:
            continue
        parts = [(methods, rounds) for problem, methods, _, rounds in SUITE if problem == name]
        results = [
            result
            for methods, rounds in parts
            for result in harness.run(
                [PROBLEMS[name]()], [METHODS[method] for method in methods], rounds, 400.0
            )
        ]
        kept = [r for r in harness.load(path) if r.problem != name] if path.exists() else []
        harness.save([*kept, *results], path)


def tables(path: Path) -> dict[str, Table]:
    """The tables of docs/results, by their names, from results on disk."""
    about = json.loads(path.read_text())["about"]
    results = {(r.problem, r.method): r for r in harness.load(path)}
    keys = ("date", "machine", "cores", "load", "blas", "python", "numpy", "scipy", "sklearn")
    shown = {"load": "load average", "blas": "threads of BLAS"}
    return {
        "speed": _speed(results),
        "speed_machine": Table([shown.get(k, k) for k in keys], [[about[key] for key in keys]]),
    }


def _speed(results: dict[tuple[str, str], harness.Result]) -> Table:
    header = ["problem", "method", "median s", "min – max", "peak MB", "state MB", "ratio", "to"]
    rows: list[list[str]] = []
    for name, methods, base, _ in SUITE:
        for method in methods:
            result = results.get((name, method))
            if result is None:
                continue
            if result.skipped:
                rows.append([name, method, f"skipped: {result.skipped}", "", "", "", "", ""])
                continue
            state = statistics.median(result.state or [0.0])
            spread = f"{_short(min(result.seconds))} – {_short(max(result.seconds))}"
            ratio = harness.ratio(result, results[name, base])
            rows.append(
                [name, method, _short(statistics.median(result.seconds)), spread,
                 f"{statistics.median(result.peak):,.0f}",
                 f"{state:,.0f}" if state else "", _short(ratio), base]
            )  # fmt: skip
    return Table(header, rows)


def _short(value: Any) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 4
    return f"{value:,.{digits}f}"
