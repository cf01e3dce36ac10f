"""What merging of OnlineSRDA loses, by the number and the size of the parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from benchmarks.studies import corpora
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
            "merged less single: SVM / predict, median of 3", "samples a part", "reservoir",
            *(f"{count} parts" for count in PARTS),
            "most parts: SVM on samples learned / on others",
        ]  # fmt: skip
        rows = []
        for title, sizes in SETS.items():
            data = _data(title)
            for room in RESERVOIRS:
                if room != RESERVOIRS[0] and reservoir(room, PARTS[0] * sizes[0]) == 2000:
                    continue  # they are the same
                single: dict[tuple[int, int], list[float]] = {}
                for size in sizes:
                    rows.append([title, f"{size:,}", room, *_row(data, size, room, single)])
        return Table(header, rows)


def _data(title: str) -> Split:
    if title != "RCV1":
        return folds(title)[0]
    X, y = corpora.archive("rcv1_4class")  # fewer held out, for two parts of 10,000
    train, test = train_test_split(np.arange(len(y)), test_size=3400, stratify=y, random_state=0)
    return Split(X[train], y[train], X[test], y[test])


def _row(data: Split, size: int, room: str, single: dict[Any, list[float]]) -> list[str]:
    cells, both = [], ""
    for count in PARTS:
        n = count * size
        if n > len(data.y):
            cells.append("")
            continue
        found = []
        for seed in SEEDS:
            made = {"random_state": seed, "reservoir": reservoir(room, n)}
            samples = np.random.default_rng(seed).permutation(len(data.y))[:n]
            X, y = data.X[samples], data.y[samples]
            if (n, seed) not in single:
                single[n, seed] = _scores(OnlineSRDA(**made).partial_fit(X, y), X, y, data)
            parts = [
                OnlineSRDA(**made).partial_fit(X[some], y[some])
                for some in np.array_split(np.arange(n), count)
            ]
            merged = _scores(OnlineSRDA(**made).merge(*parts), X, y, data)
            found.append([*merged, *np.subtract(merged, single[n, seed])])
        own, others, _, _, svm, predict = np.median(found, axis=0)
        cells.append(f"{svm:+.3f} / {predict:+.3f}")
        both = f"{figure(own)} / {figure(others)}"
    return [*cells, both]


def _scores(model: OnlineSRDA, X: Any, y: np.ndarray, data: Split) -> list[float]:
    """Return the score of an SVM on the samples learned and on others, and that of `predict`."""
    Z = model.transform(X)
    machine = LinearSVC(random_state=0).fit(Z, y)
    others = machine.score(model.transform(data.X_test), data.y_test)
    return [float(machine.score(Z, y)), float(others), predicted(model, data)]
