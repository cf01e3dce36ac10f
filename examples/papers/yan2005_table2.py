"""Yan et al. (2005) Tables 2 and 3: features that OCFS, IG and CHI share on comp.*."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from examples.papers import draw, texts
from examples.papers.verdict import Row, judged

from narrows import CHI, IG, OCFS

DATA = ("20news",)
SIZES = (10, 100, 1_000, 10_000)
PRINTED = {
    "OCFS, IG": (7, 62, 532, 6_494),
    "OCFS, CHI": (6, 55, 509, 6_530),
    "IG, CHI": (9, 85, 831, 9_096),
}
TERMS = {"OCFS": {"drive", "file", "edu", "card"}, "IG": {"drive", "3d1", "x11r5", "motif"},
         "CHI": {"lcs", "3d1", "x11r5", "motif"}}  # fmt: skip


def run(out: Path) -> list[Row]:
    comp = texts.comp()
    fitted = [method.fit(comp.X, comp.y) for method in (OCFS(), IG(), CHI())]
    shared = {
        pair: [len(np.intersect1d(fitted[a].ranking_[:p], fitted[b].ranking_[:p])) for p in SIZES]
        for pair, a, b in (("OCFS, IG", 0, 1), ("OCFS, CHI", 0, 2), ("IG, CHI", 1, 2))
    }
    figure, [ax] = draw.panels(1, width=6)
    parts = {pair: [n / p for n, p in zip(of, SIZES, strict=True)] for pair, of in shared.items()}
    printed = {f"{pair} (paper)": [n / p for n, p in zip(of, SIZES, strict=True)]
               for pair, of in PRINTED.items()}  # fmt: skip
    draw.curves(ax, SIZES, parts | printed, log="x", ticks=True, title="comp.*: shared features",
                xlabel="features", ylabel="share that both select")  # fmt: skip
    ax.set_ylim(0, 1.02)
    draw.save(figure, out, "yan2005_table2")
    close = [
        abs(a - b) <= max(2, 0.15 * b)
        for pair, of in PRINTED.items()
        for a, b in zip(shared[pair], of, strict=True)
    ]
    apart = [1 - share for pair in ("OCFS, IG", "OCFS, CHI") for share in parts[pair]]
    best = {
        name: set(comp.terms[method.ranking_[:10]])
        for name, method in zip(TERMS, fitted, strict=True)
    }
    common = set.intersection(*best.values())
    other = {name: terms - common for name, terms in best.items()}
    return [
        Row(
            "yan2005", "Table 2", "how many of 10, 100, 1,000 and 10,000 features two methods "
            "share", _listed(PRINTED), _listed(shared), judged(*close),
            f"{sum(close)} of 12 within 15% (or 2 features) of the paper's. The vocabulary "
            f"differs: {comp.X.shape[1]:,} terms here.",
        ),
        Row(
            "yan2005", "Table 2, IG and CHI", "IG and CHI select mostly the same features",
            "90%, 85%, 83%, 91%", ", ".join(f"{share:.0%}" for share in parts["IG, CHI"]),
            judged(*(share > 0.8 for share in parts["IG, CHI"])),
            "Mostly: over 80%, at each of the four sizes.",
        ),
        Row(
            "yan2005", "Table 2, OCFS",
            "IG or CHI do not select about half of the features of OCFS",
            "30% to 49%", f"{min(apart):.0%} to {max(apart):.0%}",
            judged(*(0.3 <= share <= 0.7 for share in apart)),
            "About half: 30% to 70%, at each of the four sizes.",
        ),
        Row(
            "yan2005", "Table 3", "terms among the ten best that not all three methods select",
            "; ".join(f"{name}: {', '.join(sorted(terms))}" for name, terms in TERMS.items()),
            "; ".join(f"{name}: {', '.join(sorted(terms))}" for name, terms in other.items()),
            judged(*(term in other[name] for name, terms in TERMS.items() for term in terms)),
            "Holds if all printed terms are found, in part if at least one is.",
        ),
    ]  # fmt: skip


def _listed(shared: dict) -> str:
    return "; ".join(f"{pair}: {', '.join(f'{n:,}' for n in of)}" for pair, of in shared.items())
