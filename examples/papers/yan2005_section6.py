"""Yan et al. (2005) section 6, future work: OCFS selects candidates for IG.

R8, five splits, 2,000 candidates.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from examples.papers import texts
from examples.papers.measure import smo
from examples.papers.verdict import Row, judged, several

from narrows import IG, OCFS
from narrows.solve.columns import take

DATA = ("r8",)
FIRST = 2_000  # candidates that OCFS selects
SIZES, SEEDS = (10, 100), range(5)


def run(out: Path) -> list[Row]:
    found: dict[int, dict[str, list[float]]] = {p: {} for p in SIZES}
    for seed in SEEDS:
        split = texts.r8_again(seed)
        ocfs = OCFS().fit(split.X, split.y).ranking_
        first = ocfs[:FIRST]
        rankings = {
            "OCFS": ocfs,
            "IG": IG().fit(split.X, split.y).ranking_,
            "both": first[IG().fit(take(split.X, first), split.y).ranking_],
        }
        for p in SIZES:
            for name, ranking in rankings.items():
                Z, Z_test = take(split.X, ranking[:p]), take(split.X_test, ranking[:p])
                micro = smo(Z, split.y, Z_test, split.y_test)[0]
                found[p].setdefault(name, []).append(micro)
    means = {p: {name: float(np.mean(of)) for name, of in found[p].items()} for p in SIZES}
    return [
        Row(
            "yan2005", "section 6, two stages", f"OCFS to {FIRST:,} features, then IG, is better "
            "than either alone", "expected",
            "; ".join(f"{p} features: {several(means[p])}" for p in SIZES),
            judged(*(of["both"] > max(of["OCFS"], of["IG"]) + 0.001 for of in means.values())),
            "R8, micro-F1, five random splits. Leads of more than 0.001 count. See also "
            "[more data](../benchmarks/selection.md).",
        )
    ]  # fmt: skip
