"""Ye et al. (2005) Fig. 8: error on the first dimensions of IDR/QR.

The paper keeps 20 of 126 dimensions on AR; here 20 and 6 of 40 on ORL.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from examples.papers import draw
from examples.papers.data import COMMAND, ar, faces, has_ar
from examples.papers.neighbours import cross_validated
from examples.papers.verdict import Row, judged, untested

from narrows import IDRQR

DATA = ("orl",)
OPTIONAL = ("ar",)
FIRST, ALL_AR = 20, 126
NEAR = 2.0  # percentage points of error: accuracy that is "sufficiently high"
CLAIM = "the first 20 of 126 dimensions are enough"


def run(out: Path) -> list[Row]:
    data = {"ORL": faces()} | ({"AR": ar()} if has_ar() else {})
    figure, [ax] = draw.panels(1, width=6)
    errors, lines = {}, {}
    for name, (X, y) in data.items():
        c = len(np.unique(y))
        few = round(c * FIRST / ALL_AR)
        sizes = sorted({1, 2, 4, few, 10, 15, FIRST, 30, c})
        errors[name] = {
            p: 100 * float(cross_validated([IDRQR(n_components=p)], X, y).mean()) for p in sizes
        }
        lines[name] = errors[name]
        ax.plot(sizes, list(lines[name].values()), label=name, **draw.style(len(lines) - 1))
    ax.set(title="1-NN on the first dimensions of IDR/QR", xlabel="dimensions", ylabel="error, %")
    ax.grid(alpha=0.25)
    ax.legend(fontsize=8)
    draw.save(figure, out, "ye2005_fig8")
    of = errors["ORL"]
    c = max(of)
    few = round(c * FIRST / ALL_AR)
    rows = [
        Row(
            "ye2005", f"Fig. 8, ORL, {p}", f"the first {p} of {c} dimensions are enough",
            "20 of 126 on AR", f"error {of[p]:.1f}%, with all {c} {of[c]:.1f}%",
            judged(of[p] - of[c] < NEAR), "Enough: within 2 percentage points.",
        )
        for p in (FIRST, few)
    ]  # fmt: skip
    if not has_ar():
        how = f"`{COMMAND} ye2005-fig8 --ar FILE` (.npz of X and y)"
        return [*rows, untested("ye2005", "Fig. 8, AR", CLAIM, "sufficiently high", how)]
    of = errors["AR"]
    ours = f"error {of[FIRST]:.1f}%, with all {max(of)} {of[max(of)]:.1f}%"
    verdict = judged(of[FIRST] - of[max(of)] < NEAR)
    return [*rows, Row("ye2005", "Fig. 8, AR", CLAIM, "sufficiently high", ours, verdict)]
