"""Yan et al. (2005) Figs. 2 and 3: F1 and CPU time on five groups of 20 Newsgroups (comp.*).

The training documents have 66,776 terms; the paper has 131,072.
"""

from __future__ import annotations

from pathlib import Path

from examples.papers import selected, texts
from examples.papers.verdict import Row, judged, several

DATA = ("20news",)
SIZES = (10, 100, 200, 500, 1_000, 10_000)


def run(out: Path) -> list[Row]:
    comp = texts.comp()
    found = selected.f1([(comp.X, comp.y, comp.X_test, comp.y_test)], SIZES, samples=None)
    taken = selected.times(comp.X, comp.y, SIZES)
    selected.picture(out, "yan2005_fig2", "comp.*", SIZES, found, taken)
    lead = {p: selected.lead(found, p) for p in SIZES}
    over = {name: found["OCFS"][10] - found[name][10] for name in ("CHI", "IG")}
    ratio = selected.ratios(taken)
    return [
        Row(
            "yan2005", "Fig. 2", "OCFS is constantly better than IG and CHI",
            "higher in the figure",
            ", ".join(f"{p:,}: {value:+.3f}" for p, value in lead.items()),
            judged(*(value > 0 for value in lead.values())),
            "Micro-F1 of OCFS minus that of the better of the two.",
        ),
        Row(
            "yan2005", "Fig. 2, few features",
            "with very few features OCFS leads CHI by about 0.1 and "
            "IG by about 0.05", "about 0.1 and 0.05", several(over),
            judged(over["CHI"] > 0.05, over["IG"] > 0.025),
            "Micro-F1 with 10 features. Holds from half of the paper's leads.",
        ),
        Row(
            "yan2005", "section 5.2.1", "the three perform alike with 100, 1,000 and 10,000 "
            "features, although they select different ones", "comparable",
            ", ".join(f"{p:,}: {abs(lead[p]):.3f} apart" for p in (100, 1_000, 10_000)),
            judged(*(abs(lead[p]) < 0.02 for p in (100, 1_000, 10_000))),
            "OCFS against the better of the two. Alike: within 0.02.",
        ),
        Row(
            "yan2005", "Fig. 3", "OCFS selects in much less time than IG and CHI", "about half",
            selected.relative(ratio),
            judged(*(value < 0.6 for value in ratio.values())),
            "Up to 0.6 counts as half.",
        ),
    ]  # fmt: skip
