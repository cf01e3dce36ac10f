"""What OnlineSRDA keeps, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from benchmarks import harness
from benchmarks.methods import METHODS
from benchmarks.studies import corpora
from benchmarks.studies.classifiers import NAMES, f1
from benchmarks.studies.corpora import Split
from benchmarks.studies.online import SEEDS, reservoir
from benchmarks.tables import Table, figure
from narrows import OC, SRDA, OnlineSRDA

ROUNDS = 3
NEAR = "15-NN (cosine)"


class OnePass:
    """Micro-F1 by each classifier and by 15 nearest neighbours, by training order and reservoir."""

    name = "online_srda"

    def table(self) -> Table:
        header = [
            "micro-F1, median of 5 orders",
            "classifier",
            "all features",
            "OC",
            "SRDA",
            "OnlineSRDA, keep=0",
            "**OnlineSRDA**",
            "reservoir n/10",
            "sorted by label, keep=0",
            "sorted by label",
            "sorted by label, reservoir n/10",
        ]
        rows = []
        for title, data in _texts():
            cells = [_shown([_scores(data.X, data.X_test, data)])]
            cells += [_reduced([model.fit(data.X, data.y)], data) for model in (OC(), SRDA())]
            sizes = 0, 2000, reservoir("n/10", len(data.y))
            for by_label in (False, True):
                cells += [_reduced(_learned(data, size, by_label), data) for size in sizes]
            title = f"{title} ({len(np.unique(data.y))})"
            rows += [[title, *row] for row in zip((*NAMES, NEAR), *cells, strict=True)]
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
            "OnlineSRDA, reservoir n/10, read": OnlineSRDA(keep=tenth, random_state=0),
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
            scores = map(float, _scores(Z, Z_test, split))
            rows.append([name, f"{seconds:.2f}", f"{peak:.0f}", *scores])
        header = ["one core", "seconds", "MB above the data", *NAMES, NEAR]
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
        model = OnlineSRDA(keep=size, random_state=seed)
        yield model.partial_fit(data.X[order], data.y[order])


def _scores(Z: Any, Z_test: Any, split: Any) -> list[float]:
    """Return the scores of the classifiers, and of 15 neighbours by the cosine."""
    neighbours = KNeighborsClassifier(15, metric="cosine").fit(Z, split.y)
    near = float(neighbours.score(Z_test, split.y_test))
    return [*map(float, f1(Z, split.y, Z_test, split.y_test)), near]


def _reduced(models: Iterable[Any], data: Split) -> list[str]:
    """Return the medians of the scores."""
    pairs = ((model.transform(data.X), model.transform(data.X_test)) for model in models)
    return _shown([_scores(*pair, data) for pair in pairs])


def _shown(scores: list[list[float]]) -> list[str]:
    return list(map(figure, np.median(scores, axis=0)))
