"""What merging of OnlineSRDA loses, by the number and the size of the parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.studies import corpora
from benchmarks.studies.classifiers import NAMES, f1
from benchmarks.studies.corpora import Split
from benchmarks.studies.online import RESERVOIRS, folds, predicted, reservoir
from benchmarks.tables import Table, figure
from narrows import OnlineSRDA

PARTS = (2, 4, 8, 16, 32)
SETS = {  # the sizes of the parts
    "20 Newsgroups": (250, 1000, 2500),
    "RCV1": (250, 1000, 2500, 10_000),
    "R8": (250, 1000, 2500),
    "digits": (250,),
    "waveform": (250, 1000),
    "electricity": (10_000,),
}
SEEDS = range(3)


class Merging:
    """Merged estimators less a single one that learned the same samples."""

    name = "online_srda_merging"

    def table(self) -> Table:
        header = [
            "merged less single, median of 3", "samples a part", "reservoir", "classifier",
            *(f"{count} parts" for count in PARTS),
            "most parts: on samples learned / on others",
        ]  # fmt: skip
        rows = []
        for title, sizes in SETS.items():
            data = _data(title)
            for room in RESERVOIRS:
                if room != RESERVOIRS[0] and reservoir(room, PARTS[0] * sizes[0]) == 2000:
                    continue  # they are the same
                single: dict[tuple[int, int], np.ndarray] = {}
                for size in sizes:
                    for row in _rows(data, size, room, single):
                        rows.append([title, f"{size:,}", room, *row])
        return Table(header, rows)


def _data(title: str) -> Split:
    if title != "RCV1":
        return folds(title)[0]
    X, y = corpora.archive("rcv1_4class")  # fewer held out, for two parts of 10,000
    train, test = train_test_split(np.arange(len(y)), test_size=3400, stratify=y, random_state=0)
    return Split(X[train], y[train], X[test], y[test])


def _rows(data: Split, size: int, room: str, single: dict[Any, np.ndarray]) -> list[list[str]]:
    """Return a row for each classifier, and for `predict`."""
    names = (*NAMES, "predict")
    cells, both = [[name] for name in names], [""] * len(names)
    for count in PARTS:
        n = count * size
        if n > len(data.y):
            for row in cells:
                row.append("")
            continue
        found = []
        for seed in SEEDS:
            made = {"random_state": seed, "keep": reservoir(room, n)}
            samples = np.random.default_rng(seed).permutation(len(data.y))[:n]
            X, y = data.X[samples], data.y[samples]
            if (n, seed) not in single:
                single[n, seed] = _scores(OnlineSRDA(**made).partial_fit(X, y), X, y, data)
            parts = [
                OnlineSRDA(**made).partial_fit(X[some], y[some])
                for some in np.array_split(np.arange(n), count)
            ]
            merged = _scores(OnlineSRDA(**made).merge(*parts), X, y, data)
            found.append([*merged, merged[1] - single[n, seed][1]])
        own, others, apart = np.median(found, axis=0)
        for row, difference in zip(cells, apart, strict=True):
            row.append(f"{difference:+.3f}")
        both = [f"{figure(a)} / {figure(b)}" for a, b in zip(own, others, strict=True)]
    return [[*row, shown] for row, shown in zip(cells, both, strict=True)]


def _scores(model: OnlineSRDA, X: Any, y: np.ndarray, data: Split) -> np.ndarray:
    """Return the scores of classifiers and of `predict` on samples learned, and on others."""
    Z = model.transform(X)
    return np.array(
        [
            [*f1(Z, y, Z, y), np.mean(model.predict(X) == y)],
            [*f1(Z, y, model.transform(data.X_test), data.y_test), predicted(model, data)],
        ]
    )
