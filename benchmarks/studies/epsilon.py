"""Which eps suits MMCFS on sparse text."""

from __future__ import annotations

import warnings

from benchmarks.studies import corpora
from benchmarks.studies.classifiers import by_classifier, each
from benchmarks.tables import Table, spread
from narrows import MMCFS

SIZES = (10, 100, 1_000)


class Epsilon:
    """Micro-F1 on tr41 and RCV1 by eps, and how many columns gain margin; five random splits."""

    name = "selection_eps"

    def table(self) -> Table:
        rows = []
        for title, make in (("tr41", corpora.tr41), ("RCV1, 4 classes", corpora.rcv1)):
            splits = list(corpora.folds(make))
            for eps in (1.0, 0.3, 0.1, 0.03, 0.0):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    fitted = [MMCFS(eps=eps).fit(split.X, split.y) for split in splits]
                positive = sorted(mmcfs.n_positive_ for mmcfs in fitted)
                pairs = list(zip(splits, fitted, strict=True))
                cells = [
                    each(spread, [corpora.f1(s, m.ranking_[:p])[0] for s, m in pairs])
                    for p in SIZES
                ]
                name = f"{eps:g}" + (" (OCFS)" if eps == 0 else "")
                gain = f"{positive[0]:,} to {positive[-1]:,}"
                rows += by_classifier([title, name, gain], cells)
        return Table(
            ["set", "eps", "positive features", "classifier", *(f"{p:,}" for p in SIZES)], rows
        )
