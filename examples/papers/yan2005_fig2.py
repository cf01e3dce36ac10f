"""001 Figs. 2 and 3: the five comp.* groups of 20 Newsgroups; F1 and CPU time by columns.

By date, as distributed; a linear SVM by SMO on all rows to learn from. The terms are those of
the documents to learn from, 66,776; the paper has 131,072.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.studies import corpora
from examples.papers import selected
from examples.papers.verdict import Row, judged, several

SIZES = (10, 100, 200, 500, 1_000, 10_000)


def run(out: Path) -> list[Row]:
    comp = corpora.comp()
    found = selected.f1([(comp.X, comp.y, comp.X_test, comp.y_test)], SIZES, rows=None)
    taken = selected.times(comp.X, comp.y, SIZES)
    selected.picture(out, "yan2005_fig2", "comp.*", SIZES, found, taken)
    lead = {p: selected.ahead(found, p) for p in SIZES}
    over = {name: found["OCFS"][10] - found[name][10] for name in ("CHI", "IG")}
    ratio = selected.ratios(taken)
    return [
        Row(
            "yan2005", "Fig. 2", "OCFS is constantly better than IG and CHI", "ahead in the figure",
            ", ".join(f"{p:,}: {value:+.3f}" for p, value in lead.items()),
            judged(*(value > 0 for value in lead.values())),
            "Micro-F1, OCFS less the better of the two.",
        ),
        Row(
            "yan2005", "Fig. 2, few columns", "in very few columns OCFS is about .1 ahead of CHI and "
            ".05 ahead of IG", "about .1 and .05", several(over),
            judged(over["CHI"] > 0.05, over["IG"] > 0.025), "10 columns; holds from half of that.",
        ),
        Row(
            "yan2005", "section 5.2.1", "the three perform alike at 100, 1,000 and 10,000 columns, "
            "though their columns differ", "comparable",
            ", ".join(f"{p:,}: {abs(lead[p]):.3f} apart" for p in (100, 1_000, 10_000)),
            judged(*(abs(lead[p]) < 0.02 for p in (100, 1_000, 10_000))),
            "OCFS and the better of the two; alike: within two points.",
        ),
        Row(
            "yan2005", "Fig. 3", "OCFS selects in much less time than IG and CHI", "about half",
            several({f"of {name}'s time": value for name, value in ratio.items()}, 2),
            judged(*(value < 0.6 for value in ratio.values())),
            "Up to .6 is held to be half.",
        ),
    ]  # fmt: skip
