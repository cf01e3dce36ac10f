"""What is lost where OnlineSRDA learns samples sorted by label instead of shuffled ones."""

from __future__ import annotations

import numpy as np

from benchmarks.studies.classifiers import NAMES, behind
from benchmarks.studies.online import RESERVOIRS, SEEDS, folds, predicted, reservoir
from benchmarks.tables import Table, middle
from narrows import OnlineSRDA

SETS = (
    "20 Newsgroups", "R8", "re0", "re1", "RCV1", "tr41", "digits",
    "20 Newsgroups, two classes", "RCV1, two classes", "mails",
)  # fmt: skip
ORDERS = ("shuffled", "sorted")


class Order:
    """Classifiers on the reduced samples, and `predict`, by order and reservoir."""

    name = "online_srda_order"

    def table(self) -> Table:
        header = [
            "held-out accuracy, median of 5 orders (least to most)", "reservoir",
            "classifier", "shuffled", "sorted by label",
        ]  # fmt: skip
        rows = []
        for title in SETS:
            for room in RESERVOIRS:
                found = np.array([_scores(title, room, seed) for seed in SEEDS])
                for k, name in enumerate((*NAMES, "predict")):
                    rows.append([title, room, name, *map(middle, found[:, :, k].T)])
        return Table(header, rows)


def _scores(title: str, room: str, seed: int) -> np.ndarray:
    """Return the classifiers and `predict`, shuffled and then sorted; means over folds."""
    found = []
    for data in folds(title):
        shuffled = np.random.default_rng(seed).permutation(len(data.y))
        by_label = shuffled[np.argsort(data.y[shuffled], kind="stable")]
        models = [
            OnlineSRDA(keep=reservoir(room, len(data.y)), random_state=seed).partial_fit(
                data.X[order], data.y[order]
            )
            for order in (shuffled, by_label)
        ]
        found.append([[*behind(model, data), predicted(model, data)] for model in models])
    return np.mean(found, axis=0)
