"""Whether OCFS to a generous number of columns, then IG among those, does better than either."""

from __future__ import annotations

import numpy as np

from benchmarks.studies import corpora
from benchmarks.studies.classifiers import by_classifier, each
from benchmarks.tables import Table, spread
from narrows import IG, OCFS

FIRST = 2_000
SIZES = (10, 100, 1_000)


class TwoStages:
    """Micro-F1 of OCFS, IG, and IG among the 2,000 best of OCFS; five random splits."""

    name = "selection_two_stages"

    def table(self) -> Table:
        rows = []
        for title, make in (("R8", corpora.r8_again), ("RCV1, 4 classes", corpora.rcv1)):
            found: dict[tuple[str, int], list[np.ndarray]] = {}
            for split in corpora.folds(make):
                ocfs = OCFS().fit(split.X, split.y).ranking_
                first = ocfs[:FIRST]
                both = first[IG().fit(split.X[:, first], split.y).ranking_]
                rankings = {
                    "OCFS": ocfs,
                    "IG": IG().fit(split.X, split.y).ranking_,
                    f"OCFS to {FIRST:,}, then IG": both,
                }
                for name, ranking in rankings.items():
                    for p in SIZES:
                        found.setdefault((name, p), []).append(corpora.f1(split, ranking[:p])[0])
            names = list(dict.fromkeys(name for name, _ in found))
            for name in names:
                cells = [each(spread, found[name, p]) for p in SIZES]
                rows += by_classifier([title, name], cells)
        return Table(["set", "micro-F1", "classifier", *(f"{p:,}" for p in SIZES)], rows)
