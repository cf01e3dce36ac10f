"""Yan et al. (2006b) Fig. 3: F1 of IIS by number of samples of RCV1.

"All" is 22,090 documents, in place of 100,000.
"""

from __future__ import annotations

from pathlib import Path

from examples.papers import draw
from examples.papers.data import full_rcv1
from examples.papers.learned import STEPS, found, mean
from examples.papers.verdict import Row, f, judged
from scipy.stats import ttest_rel

DATA = ("rcv1",)
OTHERS = ("IG 3", "IG 500", "IPCA 3")


def run(out: Path) -> list[Row]:
    names = [*(f"IIS 3@{step}" for step in STEPS), *OTHERS]
    figure, [ax] = draw.panels(1, width=8)
    lines = {f"{kind}-F1": [mean(name, kind) for name in names] for kind in ("micro", "macro")}
    draw.bars(ax, [name.replace("@", "\n@") for name in names], lines, title="RCV1: linear SVM",
              ylabel="F1")  # fmt: skip
    draw.save(figure, out, "yan2006b_fig3")
    at_100, at_10000, all_ = (mean(f"IIS 3@{step}") for step in (100, 10_000, "all"))
    rows = []
    for name in ("IPCA 3", "IG 3"):
        ours, theirs = ([one.micro for one in found()[key]] for key in ("IIS 3@100", name))
        p = float(ttest_rel(ours, theirs).pvalue)
        rows.append(
            Row(
                "yan2006b", f"Fig. 3, IIS 3@100, {name}", "IIS after 100 samples is significantly "
                f"better than {name}", "significantly better",
                f"{f(at_100)} against {f(mean(name))}, p = {p:.2g}",
                judged(at_100 > mean(name) and p < 0.05),
                "Paired t-test over five folds. Significant: p below 0.05.",
            )
        )  # fmt: skip
    macro = Row(
        "yan2006b", "Fig. 3, macro", "macro-F1 leads to the same conclusion as micro-F1",
        "a similar conclusion",
        _order(names), judged(_ranked(names, "micro") == _ranked(names, "macro")),
        "Holds if both rank the eight methods in the same order. IIS 3@100: three dimensions, "
        "after 100 samples.",
    )  # fmt: skip
    return [
        *rows,
        Row(
            "yan2006b", "Fig. 3, IIS 3@100,000",
            "IIS after 100,000 samples is comparable to IG 500",
            "comparable", f"{f(all_)} after all samples, against {f(mean('IG 500'))}",
            judged(mean("IG 500") - all_ < 0.02), "Comparable: at most 0.02 lower.",
        ),
        Row(
            "yan2006b", "Fig. 3, IIS 3@10,000", "IIS is near its best after 10,000 samples",
            "near optimal", f"{f(at_10000)} after 10,000, {f(all_)} after all",
            judged(all_ - at_10000 < 0.02), "Near: at most 0.02 lower.",
        ),
        macro,
        macro.also("yan2006", "section 4.1.3, macro"),
        Row(
            "yan2006b", "section 6, IIS, IMMC and IPCA", "IIS and IMMC classify better than IPCA",
            "outperform", f"IIS {f(all_)}, IMMC {f(mean('IMMC 3, eps 1'))}, IPCA "
            f"{f(mean('IPCA 3'))}",
            judged(*(value > mean("IPCA 3") for value in (all_, mean("IMMC 3, eps 1")))),
            "F1 in three dimensions, all documents learned.",
        ),
        *full_rcv1(
            "yan2006b", "Fig. 3 and Table 5, full RCV1",
            "the claims above, on about 630,000 samples",
            "as above", "yan2006b-fig3 yan2006b-table5 yan2004-fig5",
        ),
    ]  # fmt: skip


def _ranked(names: list[str], kind: str) -> list[str]:
    return sorted(names, key=lambda name: -mean(name, kind))


def _order(names: list[str]) -> str:
    return "; ".join(f"{kind}: {' > '.join(_ranked(names, kind))}" for kind in ("micro", "macro"))
