"""000 Fig. 4, 001 Figs. 4 and 5: RCV1, F1 and CPU time by number of columns, five folds.

Columns are ranked on all rows of a fold; the SVM, by SMO, learns from its first 4,000, which are
random: on all of them it takes minutes. 200 and 500 columns are added to the paper's.
"""

from __future__ import annotations

from pathlib import Path

from examples.papers import selected
from examples.papers.data import rcv1_folds
from examples.papers.verdict import Row, f, judged, several

SIZES = (10, 100, 200, 500, 1_000, 10_000)
LEVEL = 0.005  # of F1: a difference under it is none


def run(out: Path) -> list[Row]:
    found = selected.f1(rcv1_folds(), SIZES)
    X, y, *_ = rcv1_folds()[0]
    taken = selected.times(X, y, SIZES)
    selected.picture(out, "yan2006_fig4", "RCV1", SIZES, found, taken)
    lead = {p: selected.ahead(found, p) for p in SIZES}
    ratio = selected.ratios(taken)
    shown = ", ".join(f"{p:,}: {value:+.3f}" for p, value in lead.items())
    few = several({name: of[10] for name, of in found.items()})
    many = several({name: of[10_000] for name, of in found.items()})
    spread = max(of[10_000] for of in found.values()) - min(of[10_000] for of in found.values())
    rows = [
        Row(
            "yan2006", "Fig. 4a", "OCFS is ahead of IG and CHI at every number of columns",
            "ahead in the figure", shown, judged(*(value > 0 for value in lead.values())),
            "OCFS less the better of the two.",
        ),
        Row(
            "yan2006", "section 4.3, few columns", "OCFS is most ahead where columns are very few",
            "significantly better", f"10 columns: {few}",
            judged(lead[10] > LEVEL, max(lead.values()) == lead[10]),
            f"Most ahead at {max(lead, key=lambda p: lead[p]):,} columns: {f(max(lead.values()))}.",
        ),
        Row(
            "yan2006", "section 4.3, many columns", "with enough columns all selections are comparable",
            "comparable", f"10,000 columns: {many}", judged(spread < LEVEL),
            f"Within {LEVEL} of each other is held to be comparable.",
        ),
        Row(
            "yan2006", "Fig. 4b", "OCFS selects in half the time of IG and CHI", "about half",
            several({f"of {name}'s time": value for name, value in ratio.items()}, 2),
            judged(*(value < 0.6 for value in ratio.values())),
            "Up to .6 is held to be half. One state, arrays and no logarithm for OCFS: see "
            "[selection](selection.md).",
        ),
    ]  # fmt: skip
    return [
        *rows, rows[0].also("yan2005", "Fig. 4"), rows[3].also("yan2005", "Fig. 5"),
        rows[1].also("yan2005", "section 5.3, few columns"),
        rows[2].also("yan2005", "section 5.3, many columns"),
    ]  # fmt: skip
