"""Yan et al. (2005) section 4.4.1, (2006) section 3.2, (2006b) section 3.2.2: wrong labels.

The papers report no numbers. Labels of comp.* change at random, with three seeds; the SVM learns
the right ones on the 100 selected features.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from examples.papers import draw, texts
from examples.papers.measure import smo
from examples.papers.selected import METHODS
from examples.papers.verdict import Row, judged, several

from narrows import OC
from narrows.solve.columns import take

DATA = ("20news",)
SHARES = (0.0, 0.05, 0.1, 0.2)
LITTLE, P, SEEDS = 0.05, 100, range(3)


def run(out: Path) -> list[Row]:
    comp = texts.comp()
    kept: dict[str, list[float]] = {name: [] for name in METHODS}
    f1: dict[str, list[float]] = {name: [] for name in (*METHODS, "OC")}
    best = {
        name: set(method().fit(comp.X, comp.y).ranking_[:P]) for name, method in METHODS.items()
    }
    for share in SHARES:
        now: dict[str, list[float]] = {name: [] for name in f1}
        stay: dict[str, list[float]] = {name: [] for name in METHODS}
        for seed in SEEDS if share else [0]:
            y = _relabelled(comp.y, share, seed)
            for name, method in METHODS.items():
                ranking = method().fit(comp.X, y).ranking_[:P]
                stay[name].append(len(best[name] & set(ranking)) / P)
                now[name].append(_f1(comp, take(comp.X, ranking), take(comp.X_test, ranking)))
            oc = OC().fit(comp.X, y)
            now["OC"].append(_f1(comp, oc.transform(comp.X), oc.transform(comp.X_test)))
        for name in f1:
            f1[name].append(float(np.mean(now[name])))
        for name in METHODS:
            kept[name].append(float(np.mean(stay[name])))
    figure, [left, right] = draw.panels(2)
    draw.curves(left, SHARES, kept, title="comp.*: 100 best features",
                xlabel="share of wrong labels", ylabel="share of features that stay")  # fmt: skip
    draw.curves(right, SHARES, f1, title="comp.*: linear SVM", xlabel="share of wrong labels",
                ylabel="micro-F1")  # fmt: skip
    draw.save(figure, out, "yan2005_mislabelled")
    at = SHARES.index(LITTLE)
    stays = {name: of[at] for name, of in kept.items()}
    loss = {name: of[0] - of[at] for name, of in f1.items()}
    row = Row(
        "yan2005", "section 4.4.1, robust", "a few wrong labels do not change what OCFS selects",
        "argued, not measured",
        f"5% wrong labels: {stays['OCFS']:.0%} of 100 features stay, F1 changes by "
        f"{-loss['OCFS']:+.3f}",
        judged(stays["OCFS"] > 0.9, abs(loss["OCFS"]) < 0.01),
        f"Features that stay: {several(stays, 2)}. More than 90% and a change of F1 below 0.01 "
        "count.",
    )  # fmt: skip
    iis = Row(
        "yan2006b", "section 3.2.2, robust", "IIS is robust, because it is made of class means",
        "argued, not measured",
        f"5% wrong labels: F1 of OC, to which IIS converges, changes by {-loss['OC']:+.3f}",
        judged(abs(loss["OC"]) < 0.01), "4 directions on comp.*. Changes below 0.01 count.",
    )  # fmt: skip
    return [row, row.also("yan2006", "section 3.2, robust"), iis]


def _relabelled(y: np.ndarray, share: float, seed: int) -> np.ndarray:
    rng, classes = np.random.default_rng(seed), np.unique(y)
    found = y.copy()
    for i in rng.permutation(len(y))[: int(share * len(y))]:
        found[i] = rng.choice(classes[classes != y[i]])
    return found


def _f1(comp: texts.Split, Z: object, Z_test: object) -> float:
    return smo(Z, comp.y, Z_test, comp.y_test)[0]
