"""Dense samples as they are, far from the origin."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.studies.classifiers import NAMES, behind
from benchmarks.studies.corpora import Split
from benchmarks.studies.online import RESERVOIRS, SEEDS, folds, predicted, reservoir
from benchmarks.tables import Table, middle
from narrows import OnlineSRDA

SETS = ("ORL, each 4th pixel", "digits", "pima_diabetes", "waveform", "embeddings")
ADDED = ("0", "1,000", "100 standard deviations")


class Offsets:
    """Prequential and held-out scores of unscaled dense samples, and with an offset."""

    name = "online_srda_offsets"

    def table(self) -> Table:
        header = [
            "unscaled, median of 5 orders (least to most)", "added", "before learning",
            "classifier", *(f"reservoir {room}" for room in RESERVOIRS),
        ]  # fmt: skip
        rows = []
        for title in SETS:
            for added in ADDED:
                found = [_scores(title, added, seed) for seed in SEEDS]
                before, after = (np.array(part) for part in zip(*found, strict=True))
                shown = list(map(middle, before.T))
                for k, name in enumerate((*NAMES, "predict")):
                    scores = map(middle, after[:, :, k].T)
                    rows.append([title, added, *(shown if k == 0 else [""]), name, *scores])
        return Table(header, rows)


def _scores(title: str, added: str, seed: int) -> list[float]:
    """Return the scores before learning, over all samples, and the means over the folds."""
    data = [_moved(part, added) for part in folds(title)]
    X, y = (
        np.concatenate(pair) for pair in ((data[0].X, data[0].X_test), (data[0].y, data[0].y_test))
    )
    order = np.random.default_rng(seed).permutation(len(y))
    before = OnlineSRDA(random_state=seed).partial_fit(X[order], y[order]).score_
    return [before], np.mean([_held_out(part, seed) for part in data], axis=0)


def _moved(data: Split, added: str) -> Split:
    """Return the samples with the same number added to all features, or one for each feature."""
    if added == "100 standard deviations":
        by = 100 * data.X.std(axis=0)
    else:
        by = np.full(data.X.shape[1], float(added.replace(",", "")))
    return Split(data.X + by, data.y, data.X_test + by, data.y_test)


def _held_out(data: Split, seed: int) -> list[Any]:
    found = []
    for room in RESERVOIRS:
        size = reservoir(room, len(data.y))
        model = OnlineSRDA(keep=size, random_state=seed).fit(data.X, data.y)
        found.append([*behind(model, data), predicted(model, data)])
    return found
