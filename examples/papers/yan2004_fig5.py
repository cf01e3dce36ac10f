"""Yan et al. (2004) Fig. 5: F1 of weighted IMMC by number of documents of RCV1.

eps = theta = 0, as in the paper. A truncated SVD replaces IPCA in 500 dimensions.
"""

from __future__ import annotations

from pathlib import Path

from examples.papers import draw
from examples.papers.data import rcv1_folds
from examples.papers.learned import STEPS, found, mean
from examples.papers.verdict import Row, f, judged, several

DATA = ("rcv1",)


def run(out: Path) -> list[Row]:
    everything = f"IMMC 3@{STEPS[-1]}"
    rivals = {name: mean(name) for name in ("IG 3", "IG 500", "IPCA 3", "IPCA 500")}
    sizes = [*STEPS[:-1], len(rcv1_folds()[0][1])]
    figure, [ax] = draw.panels(1, width=6)
    lines = {"IMMC 3, eps = 0": [mean(f"IMMC 3@{step}") for step in STEPS]}
    lines |= {name: [value] * len(sizes) for name, value in rivals.items()}
    draw.curves(ax, sizes, lines, log="x", ticks=True, title="RCV1: linear SVM",
                xlabel="documents learned by IMMC (last point: all)",
                ylabel="micro-F1")  # fmt: skip
    ax.set_xticks(sizes[:-1], [f"{n:,}" for n in sizes[:-1]])
    draw.save(figure, out, "yan2004_fig5")
    ours = mean(everything)
    eps = {"0": ours, "0.05": mean("IMMC 3, eps 0.05"), "1": mean("IMMC 3, eps 1")}
    return [
        Row(
            "yan2004", "Fig. 5",
            "weighted IMMC in three dimensions has a higher F1 than IG and IPCA",
            "higher than IG 3, IG 500, IPCA 3, IPCA 500", f"IMMC {f(ours)}; " + several(rivals),
            judged(*(ours > value for value in rivals.values())),
            f"{len(found()[everything])} folds, all documents learned. The number after a method "
            "is its number of dimensions.",
        ),
        Row(
            "yan2004", "section 4.2, eps",
            "eps = 1 is not the best for classification, a smaller eps "
            "is better", "a proper eps",
            several({f"eps {key}:": value for key, value in eps.items()}),
            judged(max(eps.values()) > eps["1"] + 0.002),
            "RCV1, three dimensions. Leads of more than 0.002 count.",
        ),
    ]  # fmt: skip
