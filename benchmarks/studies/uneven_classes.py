"""Whether priors help rare classes: R8, whose largest class has 77 times the rows of its least."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.studies import corpora
from benchmarks.studies.classifiers import by_classifier, each
from benchmarks.tables import Table, spread
from narrows import CHI, IG, MI, MMCFS, OCFS, FisherFS

SIZES = (10, 100, 1_000)
METHODS = {
    "OCFS": OCFS,
    "MMCFS, eps 0.1": lambda priors: MMCFS(eps=0.1, priors=priors),
    "FisherFS": FisherFS,
    "IG": IG,
    "CHI": CHI,
    "MI": MI,
}


class UnevenClasses:
    """Macro-F1 by priors, mean and standard deviation of five random splits."""

    name = "selection_priors"

    def table(self) -> Table:
        found: dict[tuple[str, int, str], list[np.ndarray]] = {}
        for split in corpora.folds(corpora.r8_again):
            for name, method in METHODS.items():
                for priors in ("empirical", "sqrt", "balanced"):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        ranking = method(priors=priors).fit(split.X, split.y).ranking_
                    for p in SIZES:
                        macro = corpora.f1(split, ranking[:p])[1]
                        found.setdefault((name, p, priors), []).append(macro)
        rows = []
        for name in METHODS:
            for p in SIZES:
                kinds = (found[name, p, kind] for kind in ("empirical", "sqrt", "balanced"))
                rows += by_classifier([name, p], [each(spread, kind) for kind in kinds])
        return Table(
            ["macro-F1 on R8", "features", "classifier", "empirical", "sqrt", "balanced"], rows
        )
