"""How much of each selection survives wrong labels."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.studies import corpora
from benchmarks.studies.f1_by_columns import METHODS
from benchmarks.tables import Table, spread

SHARES = (0.05, 0.1, 0.2)
SIZES = (100, 1_000)


class FlippedLabels:
    """The share of the best columns that is still chosen; five seeds of flips on comp.*."""

    name = "selection_flips"

    def table(self) -> Table:
        split = corpora.comp()
        classes = np.unique(split.y)
        rows = []
        for p in SIZES:
            for name, method in METHODS.items():
                kept = set(_ranking(method, split.X, split.y)[:p])
                cells = []
                for share in SHARES:
                    survived = []
                    for seed in corpora.SEEDS:
                        rng = np.random.default_rng(seed)
                        flipped = rng.permutation(len(split.y))[: int(share * len(split.y))]
                        y = split.y.copy()
                        others = [classes[classes != label] for label in y[flipped]]
                        y[flipped] = [rng.choice(labels) for labels in others]
                        now = set(_ranking(method, split.X, y)[:p])
                        survived.append(len(kept & now) / p)
                    cells.append(spread(survived))
                rows.append([f"{p:,} features", name, *cells])
        shares = (f"{share:.0%} flipped" for share in SHARES)
        return Table(["selection", "share kept", *shares], rows)


def _ranking(method: object, X: object, y: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method.fit(X, y).ranking_
