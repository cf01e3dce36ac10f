"""What OnlineSRDA keeps, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks import harness
from benchmarks.methods import METHODS
from benchmarks.studies import corpora
from benchmarks.studies.corpora import Split
from benchmarks.studies.online import SEEDS, reservoir
from benchmarks.tables import Table, figure
from narrows import OC, SRDA, OnlineSRDA

ROUNDS = 3


class OnePass:
    """Micro-F1 of a linear SVM and of 15 nearest neighbours, by training order and reservoir."""

    name = "online_srda"

    def table(self) -> Table:
        header = [
            "micro-F1, linear SVM / 15-NN (cosine), median of 5 orders",
            "all features",
            "OC",
            "SRDA",
            "OnlineSRDA, reservoir=0",
            "**OnlineSRDA**",
            "reservoir n/10",
            "sorted by label, reservoir=0",
            "sorted by label",
            "sorted by label, reservoir n/10",
        ]
        rows = []
        for title, data in _texts():
            cells = [_both(data.X, data.X_test, data)]
            cells += [_reduced([model.fit(data.X, data.y)], data) for model in (OC(), SRDA())]
            sizes = 0, 2000, reservoir("n/10", len(data.y))
            for by_label in (False, True):
                cells += [_reduced(_learned(data, size, by_label), data) for size in sizes]
            rows.append([f"{title} ({len(np.unique(data.y))})", *cells])
        return Table(header, rows)


class Rivals:
    """20 Newsgroups: seconds, memory, and what is left, beside what else one would take."""

    name = "online_srda_cost"

    def table(self) -> Table:
        split = corpora.news()
        X, y, X_test = split.X, split.y, split.X_test
        rows, tenth = [], len(y) // 10
        made = {
            "OnlineSRDA": OnlineSRDA(random_state=0, polish=False),
            "OnlineSRDA, read": OnlineSRDA(random_state=0),
            "OnlineSRDA, reservoir n/10, read": OnlineSRDA(reservoir=tenth, random_state=0),
            "SRDA": SRDA(),
            "OC": OC(),
            "TruncatedSVD 100": TruncatedSVD(100, random_state=0),
            "SGDClassifier": SGDClassifier(random_state=0),
        }
        found: dict[str, list[Any]] = {name: [] for name in made}
        with threadpool_limits(1):  # which the process that is measured inherits
            for _ in range(ROUNDS):
                for name in made:
                    found[name].append(harness.measure(METHODS[name], X, y, 120.0))
        for name, model in made.items():
            seconds, peak = (median(run[key] for run in found[name]) for key in ("seconds", "peak"))
            model.fit(X, y)
            reduce = getattr(model, "transform", None) or model.decision_function
            Z, Z_test = reduce(X), reduce(X_test)
            rows.append([name, f"{seconds:.2f}", f"{peak:.0f}", _svm(Z, Z_test, split),
                         _knn(Z, Z_test, split)])  # fmt: skip
        header = ["one core", "seconds", "MB above the data", "linear SVM", "15-NN (cosine)"]
        return Table(header, rows)


def _texts() -> Any:
    yield "20 Newsgroups", corpora.news()
    yield "R8", corpora.r8()
    yield "tr41", corpora.tr41()
    yield "RCV1", corpora.rcv1()


def _learned(data: Split, size: int, by_label: bool) -> Iterator[OnlineSRDA]:
    """Yield an estimator for each seed, fitted to the samples in a random order or by label."""
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(len(data.y))
        if by_label:
            order = order[np.argsort(data.y[order], kind="stable")]
        model = OnlineSRDA(reservoir=size, random_state=seed)
        yield model.partial_fit(data.X[order], data.y[order])


def _svm(Z: Any, Z_test: Any, split: Any) -> float:
    machine = LinearSVC(random_state=0).fit(Z, split.y)
    return float(machine.score(Z_test, split.y_test))


def _knn(Z: Any, Z_test: Any, split: Any) -> float:
    neighbours = KNeighborsClassifier(15, metric="cosine").fit(Z, split.y)
    return float(neighbours.score(Z_test, split.y_test))


def _reduced(models: Iterable[Any], data: Split) -> str:
    """Return the medians of both scores."""
    pairs = [(model.transform(data.X), model.transform(data.X_test)) for model in models]
    found = [(_svm(*pair, data), _knn(*pair, data)) for pair in pairs]
    return " / ".join(map(figure, np.median(found, axis=0)))


def _both(Z: Any, Z_test: Any, split: Any) -> str:
    return f"{figure(_svm(Z, Z_test, split))} / {figure(_knn(Z, Z_test, split))}"
