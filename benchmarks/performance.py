"""What `docs/benchmarks/speed.md` shows: what is run, the targets, and the tables."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass
class Target:
    """A ratio that is wanted: a method against another, at most or at least so much."""

    problem: str
    methods: tuple[str, ...]
    base: str
    bound: float
    faster: bool = False  # how many times as fast it is, at least; else how long it takes, at most

    def lines(self, results: dict[tuple[str, str], harness.Result]) -> list[list[str]]:
        """Rows of the table: method, where, wanted, measured, and whether it is met."""
        rows = []
        for method in self.methods:
            mine, base = (results.get((self.problem, name)) for name in (method, self.base))
            if mine is None or base is None or mine.skipped or base.skipped:
                continue
            ratio = harness.ratio(mine, base) * _share(self.problem, self.base)
            if self.faster:
                ratio = 1 / ratio
            met = ratio >= self.bound if self.faster else ratio <= self.bound
            wanted = f"{'≥' if self.faster else '≤'} {self.bound:,g}"
            what = f"{'times as fast as' if self.faster else 'the time of'} `{self.base}`"
            row = [f"`{method}`", self.problem, f"{wanted} {what}", _short(ratio)]
            rows.append([*row, "yes" if met else "**no**"])
        return rows


TARGETS = [
    Target("rcv1_like_1m", ("OCFS", "OC"), "bare", 0.7),
    Target("rcv1_like_1m", ("OCFS", "OC"), "chi2", 5, faster=True),
    Target("rcv1_like_1m", ("IG", "CHI"), "bare", 1.2),
    Target("rcv1_like_1m", ("IOC", "IIS", "CCIPCA"), "bare", 3),
    Target("rcv1_like_1m", ("IMMC",), "bare", 4),
    Target("rcv1_like_1m", ("IOC", "IIS", "IMMC", "CCIPCA"), "IncrementalPCA/1000", 1000, True),
    Target("rcv1_like_1m", ("OnlineSRDA",), "bare", 3),
    Target("20news", ("IOC", "IIS", "IMMC", "CCIPCA"), "bare", 20),
    Target("20news", ("OnlineSRDA",), "bare", 3),
    Target("20news", ("SRDA",), "LSQR, one by one", 3, faster=True),
    Target("faces", ("IOC",), "table/400", 1500, faster=True),
    *(Target(name, ("IG",), "chi2", 1, faster=True) for name in ("tr41", "re0", "re1")),
    *(
        Target(name, _CROSS[:3], "LinearDiscriminantAnalysis", 1, faster=True)
        for name in ("embeddings_384", "embeddings_768", "embeddings_1536")
    ),
    *(
        Target(name, ("PCA(50)",), "PCA(50) of scikit-learn", 1, faster=True)
        for name in ("embeddings_384", "embeddings_768", "embeddings_1536")
    ),
    *(Target(name, ("OC",), "limit, products", 1.5) for name in ("wide", "many_classes")),
    Target("embeddings_384", ("OC",), "sum", 2),
    Target("embeddings_384", ("KernelSRDA",), "Nystroem, RidgeClassifier", 1, faster=True),
]


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
        "speed_targets": Table(
            ["method", "problem", "target", "measured", "met"],
            [row for target in TARGETS for row in target.lines(results)],
        ),
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


def _share(problem: str, method: str) -> float:
    """Which share of the rows a method takes, by its name: "table/400" takes 400."""
    found = re.search(r"/(\d+)$", method)
    return int(found[1]) / PROBLEMS[problem]().rows if found else 1.0


def _short(value: Any) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 4
    return f"{value:,.{digits}f}"
