"""How well classifiers do on the best columns of each method."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.studies import corpora
from benchmarks.studies.classifiers import by_classifier
from benchmarks.tables import Table
from narrows import CHI, DF, IG, MI, MMCFS, OCFS

SIZES = (3, 10, 100, 1_000, 10_000)
METHODS = {
    "OCFS": OCFS(),
    "MMCFS, eps 1": MMCFS(),
    "MMCFS, eps 0.1": MMCFS(eps=0.1),
    "IG": IG(),
    "CHI": CHI(),
    "MI": MI(),
    "DF": DF(),
}


class F1ByColumns:
    """Micro- and macro-F1 at 3 to 10,000 columns, on three corpora."""

    name = "selection_f1"

    def table(self) -> Table:
        rows = []
        for title, make in (
            ("`comp.*` of 20 Newsgroups", corpora.comp),
            ("R8", corpora.r8),
            ("RCV1, 4 classes", corpora.rcv1),
        ):
            split = make()
            for name, method in METHODS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of columns without margin
                    ranking = method.fit(split.X, split.y).ranking_
                cells = [_both(split, ranking[:p]) for p in SIZES]
                rows += by_classifier([title, name], [*cells, [""] * 3])
            d = split.X.shape[1]
            every = _both(split, np.arange(d))
            rows += by_classifier([title, f"all {d:,} features"], [*[[""] * 3] * len(SIZES), every])
        header = ["set", "micro-F1 / macro-F1", "classifier", *(f"{p:,}" for p in SIZES), "all"]
        return Table(header, rows)


def _both(split: corpora.Split, columns: np.ndarray) -> list[str]:
    return [f"{micro:.3f} / {macro:.3f}" for micro, macro in corpora.f1(split, columns).T]
