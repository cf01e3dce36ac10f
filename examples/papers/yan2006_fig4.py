"""Yan et al. (2006) Fig. 4, (2005) Figs. 4 and 5: F1 and time by number of features on RCV1.

Features are ranked on all samples of a fold.
"""

from __future__ import annotations

from pathlib import Path

from examples.papers import selected
from examples.papers.data import rcv1_folds
from examples.papers.verdict import Row, f, judged, several

DATA = ("rcv1",)
SIZES = (10, 100, 200, 500, 1_000, 10_000)
LEVEL = 0.005  # differences of F1 below it do not count


def run(out: Path) -> list[Row]:
    found = selected.f1(rcv1_folds(), SIZES)
    X, y, *_ = rcv1_folds()[0]
    taken = selected.times(X, y, SIZES)
    selected.picture(out, "yan2006_fig4", "RCV1", SIZES, found, taken)
    lead = {p: selected.lead(found, p) for p in SIZES}
    ratio = selected.ratios(taken)
    shown = ", ".join(f"{p:,}: {value:+.3f}" for p, value in lead.items())
    few = several({name: of[10] for name, of in found.items()})
    many = several({name: of[10_000] for name, of in found.items()})
    spread = max(of[10_000] for of in found.values()) - min(of[10_000] for of in found.values())
    rows = [
        Row(
            "yan2006", "Fig. 4a",
            "OCFS has a higher F1 than IG and CHI at every number of features",
            "higher in the figure", shown, judged(*(value > 0 for value in lead.values())),
            "Micro-F1 of OCFS minus that of the better of the two.",
        ),
        Row(
            "yan2006", "section 4.3, few features", "OCFS leads most with very few features",
            "significantly better", f"10 features: {few}",
            judged(lead[10] > LEVEL, max(lead.values()) == lead[10]),
            f"Leads of more than {LEVEL} count. The largest is {f(max(lead.values()))}, at "
            f"{max(lead, key=lambda p: lead[p]):,} features.",
        ),
        Row(
            "yan2006", "section 4.3, many features",
            "with enough features all selectors are comparable",
            "comparable", f"10,000 features: {many}", judged(spread < LEVEL),
            f"Comparable: within {LEVEL} of each other.",
        ),
        Row(
            "yan2006", "Fig. 4b", "OCFS selects in half the time of IG and CHI", "about half",
            selected.relative(ratio),
            judged(*(value < 0.6 for value in ratio.values())),
            "Up to 0.6 counts as half. See the [time of selectors](../benchmarks/selection.md).",
        ),
    ]  # fmt: skip
    return [
        *rows, rows[0].also("yan2005", "Fig. 4"), rows[3].also("yan2005", "Fig. 5"),
        rows[1].also("yan2005", "section 5.3, few features"),
        rows[2].also("yan2005", "section 5.3, many features"),
    ]  # fmt: skip
