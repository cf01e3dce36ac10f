"""Neighbours of reduced vectors, of classes seen in fitting and of others, by dimensions."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import data_path
from benchmarks.tables import Table, figure
from narrows import LDA, PCA
from narrows.evaluate import Retrieval, RetrievalDisplay, retrieval
from narrows.evaluate.displays import save_figure
from narrows.evaluate.table import ALL

SIZES = (16, 32, 64, 128)
RIDGES = (0.1, 1.0, 10.0)
EMBEDDINGS = "20 Newsgroups, embeddings"
DRAWN = ALL, "lda", "LDA, ridge 1", "pca"
CLASSES = "seen", "left-out"
SCORES = "recall@1", "recall@10", "precision@10"
FEW = 2000  # samples of which NeighborhoodComponentsAnalysis is fitted to those of half the classes
ROUNDS = 3


class ByDimensions:
    """A score by the number of dimensions."""

    score = ""

    def table(self) -> Table:
        rows = []
        for title, lines in found().items():
            rows += [[title, *row] for row in _rows(lines, self.score, (_beside(lines), *SIZES))]
        return Table(["set", "method", *_columns(["n_classes - 1", *map(str, SIZES)])], rows)


class RecallAt1(ByDimensions):
    """The share of queries whose nearest neighbour has their class."""

    name, score = "retrieval_recall_1", "recall@1"

    def draw(self, folder: Path) -> None:
        """Draw this score of embeddings by the number of dimensions."""
        lines = copy(found()[EMBEDDINGS])
        lines[:] = [line for line in lines if line.method in DRAWN]
        display = RetrievalDisplay(lines).plot(metric=self.score, legend="right")
        save_figure(display.figure_, folder / "retrieval.png")


class RecallAt10(ByDimensions):
    """The share of queries with their class among the ten nearest neighbours."""

    name, score = "retrieval_recall_10", "recall@10"


class PrecisionAt10(ByDimensions):
    """The share of the ten nearest neighbours that have the class of the query."""

    name, score = "retrieval_precision_10", "precision@10"


class RetrievalRivals:
    """The same on 2,000 samples, where NeighborhoodComponentsAnalysis is feasible."""

    name = "retrieval_nca"

    def table(self) -> Table:
        sizes, rows = SIZES[:3], []
        for title, X, y in _sets():
            if len(y) < FEW // 2:
                continue
            few = np.random.default_rng(0).permutation(len(y))[:FEW]
            dims = [p for p in sizes if p < X.shape[1]]
            nca = {_shown(made): made for made in map(_nca, dims)}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # of so few iterations
                lines = retrieval(X[few], y[few], ["lda", "pca", *nca.values()], dims, repeats=2)
            for line in lines:
                line.method = "NCA" if line.method in nca else line.method
            for score in SCORES:
                rows += [[title, score, *row] for row in _rows(lines, score, sizes)]
        return Table(["set", "score", "method", *_columns(map(str, sizes))], rows)


class RetrievalTime:
    """Time of fits, relative to that of PCA."""

    name = "retrieval_time"

    def table(self) -> Table:
        rows = []
        for title, X, y in _sets():
            p = 32 if X.shape[1] < 128 else 64
            few = np.random.default_rng(0).permutation(len(y))[: FEW // 2]
            fits: dict[str, Callable[[], Any]] = {
                "PCA": lambda p=p, X=X, y=y: PCA(p).fit(X, y),
                "LDA": lambda p=p, X=X, y=y: LDA(p).fit(X, y),
                "LDA, mu=1": lambda p=p, X=X, y=y: LDA(p, mu=1.0).fit(X, y),
                "LDA, n_classes - 1 directions": lambda X=X, y=y: LDA().fit(X, y),
            }
            if len(y) >= FEW // 2:
                name = f"NCA, of {len(few):,} samples"
                fits[name] = lambda p=p, X=X[few], y=y[few]: _nca(p).fit(X, y)
            taken: dict[str, list[float]] = {name: [] for name in fits}
            for _ in range(ROUNDS + 1):
                for name, fit in fits.items():
                    start = time.perf_counter()
                    fit()
                    taken[name].append(time.perf_counter() - start)
            unit = np.array(taken["PCA"][1:])
            for name, seconds in taken.items():
                ratios = np.array(seconds[1:]) / unit
                low, mid, high = ratios.min(), np.median(ratios), ratios.max()
                rows.append([title, *X.shape, name, f"{mid:.1f} ({low:.1f} to {high:.1f})"])
        return Table(["set", "samples", "features", "method", "time, relative to PCA"], rows)


@cache
def found() -> dict[str, Retrieval]:
    """Return the scores of each set."""
    whole = StandardScaler(with_std=False)
    centred = {each: make_pipeline(whole, each) for each in (LDA(), PCA())}
    names = {_shown(whole): "all features, centred"}
    names |= {f"{_shown(whole)} + {each!r}": f"{type(each).__name__}, centred" for each in centred}
    made: dict[str, Retrieval] = {}
    for title, X, y in _sets():
        repeats = 3 if len(y) > 10_000 else 10
        methods = ["lda", "pca", whole, *centred.values()]
        lines = retrieval(X, y, methods, ridges=RIDGES, repeats=repeats)
        for line in lines:
            line.method = names.get(line.method, line.method)
        made[title] = lines
    return made


def _shown(estimator: Any) -> str:
    return " ".join(repr(estimator).split())


def _sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    file = np.load(data_path("news20_static384.npz"))
    yield EMBEDDINGS, file["X"].astype(np.float32), file["y"]
    file = np.load(data_path("orl_faces.npz"))
    yield "ORL faces, all pixels", file["X"].astype(np.float64), file["y"]
    yield "digits", *load_digits(return_X_y=True)


def _nca(p: int) -> NeighborhoodComponentsAnalysis:
    return NeighborhoodComponentsAnalysis(p, max_iter=50, random_state=0)


def _columns(sizes: Iterable[str]) -> list[str]:
    return [f"{name}: {size}" for size in (*sizes, "all") for name in CLASSES]


def _rows(lines: Retrieval, score: str, sizes: Sequence[int]) -> Iterator[list[str]]:
    """Yield a row for each method: for each number of dimensions, seen and left-out classes."""
    by_method: dict[str, dict[int, Any]] = {}
    for line in lines:
        by_method.setdefault(line.method, {})[line.dimensions] = line
    names = {ALL: "all features", "lda": "LDA", "pca": "PCA"}
    for method, cells in by_method.items():
        whole = lines[0].dimensions
        found = (cells.get(p) for p in (*(p if p < whole else 0 for p in sizes), whole))
        shown = [[figure(line.mean(name, score)) if line else "" for name in CLASSES]
                 for line in found]  # fmt: skip
        yield [names.get(method, method), *(cell for both in shown for cell in both)]


def _beside(lines: Retrieval) -> int:
    """Return the number of classes that were fitted less one."""
    return next(line.dimensions for line in lines[1:] if line.dimensions not in SIZES)
