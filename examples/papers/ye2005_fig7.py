"""Ye et al. (2005) Fig. 7: time to fit five reductions.

PCA is a full SVD of dense samples, as in the paper. Text is made dense before, for the three
methods that need it.
"""

from __future__ import annotations

from pathlib import Path

from examples.papers import draw
from examples.papers.data import COMMAND, has_ar, sets
from examples.papers.measure import seconds
from examples.papers.verdict import Row, judged, untested
from examples.papers.ye2005_table2 import METHODS, fits
from scipy import sparse

DATA = ("orl", "tr41", "re0", "re1")
OPTIONAL = ("ar",)
CLAIM = "{} is significantly faster than PCA+LDA, LDA/GSVD and PCA"


def run(out: Path) -> list[Row]:
    found: dict[str, dict[str, float]] = {}
    for title, X, y in sets():
        dense = X.toarray() if sparse.issparse(X) else X
        work = {
            name: fits(method, X if name in ("IDR/QR", "OCM") else dense, y)
            for name, method in METHODS.items()
        }
        found[title] = seconds(work, rounds=1)
    figure, [ax] = draw.panels(1, width=7)
    lines = {name: [of[name] for of in found.values()] for name in METHODS}
    draw.bars(
        ax, list(found), lines, title="time to compute the transformation", ylabel="CPU seconds"
    )
    ax.set_yscale("log")
    draw.save(figure, out, "ye2005_fig7")
    rows = []
    for name in ("IDR/QR", "OCM"):
        faster = {
            title: min(of[k] for k in ("PCA+LDA", "LDA/GSVD", "PCA")) / of[name]
            for title, of in found.items()
        }
        rows.append(
            Row(
                "ye2005", f"Fig. 7, {name}", CLAIM.format(name), "an order of magnitude",
                "the fastest of the three takes " + ", ".join(
                    f"{ratio:.0f} times as long ({title})" for title, ratio in faster.items()),
                judged(*(ratio > 10 for ratio in faster.values())), "Holds from 10 times as long.",
            )
        )  # fmt: skip
    how = f"`{COMMAND} ye2005-fig7 --ar FILE` (.npz of X and y)"
    here = untested("ye2005", "Fig. 7, AR", CLAIM.format("IDR/QR"), "an order of magnitude", how)
    return rows if has_ar() else [*rows, here]
