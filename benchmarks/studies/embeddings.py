"""Embeddings with fewer dimensions: classification, search, and classes that were not seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.harness import data_path
from benchmarks.studies import reducers
from benchmarks.studies.classifiers import NAMES, f1
from benchmarks.studies.corpora import Split
from benchmarks.studies.minilm import minilm
from benchmarks.tables import Table, figure
from narrows import KernelSRDA
from narrows.evaluate.displays import COLOURS, new_figure, save_figure

DIMENSIONS = (8, 16, 19, 32, 64, 128, 256)
SEEDS = range(3)  # of random projections and random features
HALVES = range(5)  # draws of the classes that are held out
SHORT, LONG = 64, 128
COSTS = (0.1, 1.0, 10.0)  # C of the linear SVM, chosen with a fifth of the training samples
ROUNDS = 7
MORE = "LDA(n_components=p)"

METHODS: dict[str, Callable[..., reducers.Reduce]] = {
    "all features": reducers.all_of,
    "all features, centred": reducers.all_centred,
    "truncation": reducers.truncation,
    "random projection": reducers.random_projection,
    "PCA": reducers.pca,
    "LDA of scikit-learn": reducers.lda,
    "SRDA": reducers.srda,
    "KernelSRDA": reducers.kernel_srda,
    "MMC": reducers.mmc,
    "SRDA, PCA of the rest": reducers.srda_and_pca,
    MORE: reducers.more_lda,
}
RANDOM = "random projection", "KernelSRDA"
WHOLE = "all features", "all features, centred"


class Scores(NamedTuple):
    """What vectors are good for; of each classifier, 15 neighbours, and 10 neighbours."""

    svm: float
    logistic: float
    five: float
    knn: float
    same: float


class ByDimension:
    """A score by the number of dimensions, on the split by date."""

    field = ""
    title = ""

    def table(self) -> Table:
        found = by_dimension()
        header = [self.title, *map(str, DIMENSIONS), "384"]
        rows = []
        for name, cells in found.items():
            sizes = (*DIMENSIONS, 384)
            shown = [spread([getattr(s, self.field) for s in cells.get(p, [])]) for p in sizes]
            rows.append([name, *shown])
        return Table(header, rows)


class EmbeddingsSVM:
    """Micro-F1 by each classifier."""

    name = "embeddings_svm"

    def table(self) -> Table:
        sizes = (*DIMENSIONS, 384)
        rows = []
        for name, cells in by_dimension().items():
            for judge, field in zip(NAMES, Scores._fields, strict=False):
                shown = [spread([getattr(s, field) for s in cells.get(p, [])]) for p in sizes]
                rows.append([name, judge, *shown])
        return Table(["micro-F1", "classifier", *map(str, sizes)], rows)


class EmbeddingsKNN(ByDimension):
    """Micro-F1 of 15 nearest neighbours."""

    name, field, title = "embeddings_knn", "knn", "15-NN, micro-F1"


class EmbeddingsNeighbours(ByDimension):
    """The share of the 10 nearest neighbours that are of the same class; and the picture."""

    name, field, title = "embeddings_neighbours", "same", "same class among 10 neighbours"

    def draw(self, folder: Path) -> None:
        """Draw the scores by dimension."""
        draw(by_dimension(), unseen(), folder / "embeddings.png")


class EmbeddingsSummary:
    """A few ways, with bytes, and classes that were not seen in fitting."""

    name = "embeddings"
    rows = (
        ("all features", 384), ("truncation", SHORT), ("random projection", SHORT), ("PCA", 19),
        ("PCA", SHORT), ("LDA of scikit-learn", 19), ("SRDA", 19), (MORE, SHORT),
    )  # fmt: skip

    def table(self) -> Table:
        header = [
            "vectors", "dimensions", "bytes", *NAMES, "15-NN", "same class of 10",
            "same class of 10, unseen classes",
        ]  # fmt: skip
        found, others = by_dimension(), unseen()
        rows = []
        for name, p in self.rows:
            shown = [_mean([getattr(s, kind) for s in found[name][p]]) for kind in Scores._fields]
            size = p if p in others[name] else min(others[name], key=lambda q: abs(q - 9))
            new = _mean([each[0].same for each in others[name][size]])
            rows.append([name, p, 4 * p, *shown, new])
        return Table(header, rows)


class EmbeddingsUnseen:
    """Classes that are held out in fitting."""

    name = "embeddings_unseen"

    def table(self) -> Table:
        header = [
            "", "dimensions", *(f"unseen: {name}" for name in NAMES), "unseen: 15-NN",
            "unseen: same class of 10",
            "seen: 15-NN", "seen: same class of 10", "all: 15-NN", "all: same class of 10",
        ]  # fmt: skip
        rows = []
        for name, sizes in unseen().items():
            for p in (9, SHORT, LONG, 384):
                if p not in sizes:
                    continue
                new, old, every = (list(part) for part in zip(*sizes[p], strict=True))
                shown = [spread([getattr(s, kind) for s in new]) for kind in Scores._fields]
                for part in (old, every):
                    shown += [spread([s.knn for s in part]), spread([s.same for s in part])]
                rows.append([name, p, *shown])
        return Table(header, rows)


class EmbeddingsCheck:
    """The same on sentence embeddings of a transformer."""

    name = "embeddings_check"

    def table(self) -> Table:
        part = minilm()
        wanted = (("all features", 384), ("all features, centred", 384), ("truncation", SHORT),
                  ("random projection", SHORT), ("PCA", 19), ("PCA", SHORT), ("PCA", LONG),
                  ("LDA of scikit-learn", 19), ("SRDA", 19), ("KernelSRDA", 19),
                  ("MMC", SHORT), ("SRDA, PCA of the rest", SHORT),
                  (MORE, SHORT), (MORE, LONG))  # fmt: skip
        names = tuple(dict.fromkeys(name for name, _ in wanted))
        found = _by_dimension(part, names, (19, SHORT, LONG))
        others = _unseen(part, tuple(n for n in names if n in UNSEEN), (9, SHORT, LONG))
        rows = []
        for name, p in wanted:
            shown = [spread([getattr(s, kind) for s in found[name][p]]) for kind in Scores._fields]
            new = others.get(name, {}).get(9 if p == 19 else p, [])
            shown += [spread([getattr(each[0], kind) for each in new]) for kind in Scores._fields]
            rows.append([name, p, *shown])
        header = [
            "sentence embeddings", "dimensions", *NAMES, "15-NN", "same class of 10",
            *(f"unseen: {name}" for name in NAMES), "unseen: 15-NN", "unseen: same class of 10",
        ]  # fmt: skip
        return Table(header, rows)


class EmbeddingsCost:
    """Bytes of a vector, and milliseconds for 1,000 vectors."""

    name = "embeddings_cost"

    def table(self) -> Table:
        part = embeddings()
        few = part.X_test[:1000]
        with threadpool_limits(1):
            rows = [_cost(part, few, p) for p in (*DIMENSIONS, part.X.shape[1])]
            model = KernelSRDA().fit(part.X, part.y)
            mapped = _milliseconds(lambda: model.transform(few))
        [searched] = [each[-1] for each in rows if each[0] == "19"]
        rows.append(["19, KernelSRDA", 76, mapped, searched])
        return Table(["dimensions", "bytes", "transform, ms", "15-NN search, ms"], rows)


def _cost(part: Split, few: np.ndarray, p: int) -> list[Any]:
    d = part.X.shape[1]
    W = np.random.default_rng(0).normal(size=(d, p)).astype(np.float32)
    stored, asked = (part.X, few) if p == d else (part.X @ W, few @ W)
    search = NearestNeighbors(n_neighbors=15, metric="cosine", algorithm="brute").fit(stored)
    transform = "-" if p == d else _milliseconds(lambda: few @ W)
    return [str(p), 4 * p, transform, _milliseconds(lambda: search.kneighbors(asked))]


# -- what is measured ------------------------------------------------------------------------------


@cache
def embeddings() -> Split:
    """Embeddings of 20 Newsgroups, with the split by date."""
    file = np.load(data_path("news20_static384.npz"))
    X, y, train = file["X"].astype(np.float32), file["y"], file["train"].astype(bool)
    return Split(X[train], y[train], X[~train], y[~train])


@cache
def by_dimension() -> dict[str, dict[int, list[Scores]]]:
    return _by_dimension(embeddings(), tuple(METHODS), DIMENSIONS)


@cache
def unseen() -> dict[str, dict[int, list[tuple[Scores, ...]]]]:
    return _unseen(embeddings(), UNSEEN, (9, *DIMENSIONS))


UNSEEN = tuple(name for name in METHODS if name != "KernelSRDA")


def _by_dimension(
    part: Split, names: Sequence[str], sizes: Sequence[int]
) -> dict[str, dict[int, list[Scores]]]:
    """Return the scores of each method for each number of dimensions and each seed."""
    found: dict[str, dict[int, list[Scores]]] = {}
    for name in names:
        cells = found.setdefault(name, {})
        for seed in SEEDS if name in RANDOM else SEEDS[:1]:
            reduce = METHODS[name](part.X, part.y, seed)
            for p in (part.X.shape[1],) if name in WHOLE else sizes:
                Z, Z_test = reduce(part.X, p), reduce(part.X_test, p)
                if Z is not None and Z_test is not None:
                    cells.setdefault(p, []).append(scores(Z, part.y, Z_test, part.y_test))
    return found


def _unseen(
    part: Split, names: Sequence[str], sizes: Sequence[int]
) -> dict[str, dict[int, list[tuple[Scores, ...]]]]:
    """Return scores on classes not seen in fitting, on those seen, and on all of them.

    Classifiers are fitted to reduced samples of the unseen classes, for the shorter sizes.
    """
    found: dict[str, dict[int, list[tuple[Scores, ...]]]] = {name: {} for name in names}
    classes = np.unique(part.y)
    for seed in HALVES:
        half = np.random.default_rng(seed).permutation(classes)[: len(classes) // 2]
        seen, seen_test = np.isin(part.y, half), np.isin(part.y_test, half)
        for name in names:
            reduce = METHODS[name](part.X[seen], part.y[seen], seed)
            for p in (part.X.shape[1],) if name in WHOLE else sizes:
                Z, Z_test = reduce(part.X, p), reduce(part.X_test, p)
                if Z is None or Z_test is None:
                    continue
                each = []
                for rows, rows_test in ((~seen, ~seen_test), (seen, seen_test), (None, None)):
                    few = (slice(None) if r is None else r for r in (rows, rows_test))
                    mine, others = few
                    svm = rows is not None and not seen[rows].any() and p in (9, SHORT, LONG, 384)
                    each.append(scores(Z[mine], part.y[mine], Z_test[others],
                                       part.y_test[others], svm))  # fmt: skip
                found[name].setdefault(p, []).append(tuple(each))
    return found


def scores(
    Z: np.ndarray, y: np.ndarray, Z_test: np.ndarray, y_test: np.ndarray, svm: bool = True
) -> Scores:
    """Return how well samples held out are classified, and how many neighbours are of their class.

    Neighbours of 15 and 10 are by the cosine. Classifiers get dimensions of mean 0, scaled by one
    number.
    """
    labels = neighbours(Z, y, Z_test, 15)
    classes = np.unique(y)
    votes = (labels[:, :, None] == classes).sum(axis=1)
    knn = float(f1_score(y_test, classes[votes.argmax(axis=1)], average="micro"))
    same = float(np.mean(labels[:, :10] == y_test[:, None]))
    return Scores(*(_classified(Z, y, Z_test, y_test) if svm else (np.nan,) * 3), knn, same)


def neighbours(Z: np.ndarray, y: np.ndarray, Z_test: np.ndarray, k: int) -> np.ndarray:
    """Return the labels of the k nearest neighbours by the cosine, nearest first."""
    search = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(Z)
    return y[search.kneighbors(Z_test, return_distance=False)]


def _classified(
    Z: np.ndarray, y: np.ndarray, Z_test: np.ndarray, y_test: np.ndarray
) -> tuple[float, ...]:
    """Return the micro-F1 by each classifier; the cost of the SVM is chosen."""
    mean = Z.mean(axis=0)
    length = np.sqrt(np.mean(np.sum((Z - mean) ** 2, axis=1)))
    Z, Z_test = (Z - mean) / length, (Z_test - mean) / length
    A, B, a, b = train_test_split(Z, y, test_size=0.2, stratify=y, random_state=0)
    held_out = [LinearSVC(C=C, dual=False).fit(A, a).score(B, b) for C in COSTS]
    best = LinearSVC(C=COSTS[int(np.argmax(held_out))], dual=False).fit(Z, y)
    svm = float(f1_score(y_test, best.predict(Z_test), average="micro"))
    return svm, *map(float, f1(Z, y, Z_test, y_test)[1:])


# -- showing ---------------------------------------------------------------------------------------

STYLES = {
    MORE: ("-o", 0), "SRDA": ("-s", 1), "LDA of scikit-learn": ("--^", 2),
    "PCA": ("-.D", 3), "random projection": (":v", 4), "truncation": (":x", 8),
}  # fmt: skip


def draw(
    found: dict[str, dict[int, list[Scores]]],
    others: dict[str, dict[int, list[tuple[Scores, ...]]]],
    path: Path,
) -> None:
    """Draw three scores by the number of dimensions."""
    shown = (
        ("Linear SVM", "micro-F1", lambda name, p: [s.svm for s in found[name].get(p, [])]),
        ("Ten nearest neighbours", "share of the same class",
         lambda name, p: [s.same for s in found[name].get(p, [])]),
        ("The same, classes not seen in fitting", "share of the same class",
         lambda name, p: [each[0].same for each in others[name].get(p, [])]),
    )  # fmt: skip
    picture = new_figure((12, 4.2))
    sizes = sorted({p for each in (found, others) for cells in each.values() for p in cells})
    for ax, (title, label, values) in zip(picture.subplots(1, 3), shown, strict=True):
        for name, (style, colour) in STYLES.items():
            points = [(p, np.mean(values(name, p))) for p in sizes if values(name, p)]
            ax.plot(*zip(*points, strict=True), style, color=COLOURS[colour], label=name, ms=5)
        full = np.mean(values("all features", sizes[-1]))
        ax.axhline(full, color="black", lw=1, ls="--", label="all features")
        ax.set_xscale("log", base=2)
        ticks = [p for p in sizes if p & (p - 1) == 0]
        ax.set_xticks(ticks, map(str, ticks))
        ax.set_title(title)
        ax.set_ylabel(label)
        ax.set_xlabel("dimensions")
        ax.set_ylim(0, None)
        ax.grid(alpha=0.25)
    ax.legend(loc="lower right", frameon=False, fontsize=8)
    save_figure(picture, path)


def _milliseconds(task: Callable[[], Any]) -> str:
    """Return the median time of some rounds, after a first one."""
    taken = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        task()
        taken.append(time.perf_counter() - start)
    return f"{1000 * np.median(taken[1:]):.1f}"


def _mean(values: Sequence[float]) -> str:
    return figure(float(np.mean(values)))


def spread(values: Sequence[float]) -> str:
    """Return the mean, with the standard deviation where there are several."""
    if not len(values) or np.isnan(values).any():
        return "-"
    mean = _mean(values)
    return f"{mean} ± {figure(float(np.std(values, ddof=1)))}" if len(values) > 1 else mean
