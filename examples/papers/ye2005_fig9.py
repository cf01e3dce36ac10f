"""Ye et al. (2005) Fig. 9: error of incremental and of batch IDR/QR.

30% of the samples are learned at once, the others one at a time, in three orders; the samples not
yet learned are the test set.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from examples.papers import draw
from examples.papers.data import COMMAND, has_ar
from examples.papers.updated import SHARES, runs
from examples.papers.verdict import Row, judged, untested
from scipy.stats import ttest_rel

DATA = ("orl", "tr41", "re0", "re1")
OPTIONAL = ("ar",)
PRINTED = {"AR": 0.0067, "ORL": 0.0014, "tr41": 0.0054, "re1": 0.0045}


def run(out: Path) -> list[Row]:
    found = runs()
    figure, axes = draw.panels(len(found), width=3.6)
    rows = []
    for ax, (name, orders) in zip(axes, found.items(), strict=True):
        batch, paper = (
            100 * np.array([errors[kind] for errors, _ in orders]) for kind in ("batch", "paper")
        )
        lines = {"batch": batch.mean(axis=0), "incremental": paper.mean(axis=0)}
        draw.curves(ax, 100 * SHARES, lines, title=name, xlabel="% of samples learned",
                    ylabel="1-NN error, %" if ax is axes[0] else "")  # fmt: skip
        ax.set_ylim(bottom=0)
        gap = np.abs(paper - batch)
        p = float(ttest_rel(paper.ravel(), batch.ravel()).pvalue)
        fall = batch.mean(axis=0)
        rows += [
            Row(
                "ye2005", f"Fig. 9, {name}", "the error of incremental stays within 4% of batch",
                "within 4 percent", f"{gap.mean():.1f} on average, {gap.max():.1f} at most; "
                f"{np.sum(gap <= 4)} of {gap.size} within 4",
                judged(gap.max() <= 4, np.mean(gap <= 4) > 0.9),
                "Differences in percentage points. Holds in part if over 90% of them are within 4.",
            ),
            Row(
                "ye2005", f"section 6.3, p, {name}", "the paired t-test finds a significant "
                "difference to batch",
                f"p = {PRINTED[name]}" if name in PRINTED else "not printed",
                f"p = {p:.2g}", judged(p < 0.01),
                "Significant: p below 0.01, as all of the paper's.",
            ),
            Row(
                "ye2005", f"Fig. 9, trend, {name}", "the error falls with the samples learned",
                "a trend",
                f"batch: {fall[0]:.1f}% at 35% of the samples, {fall[-1]:.1f}% at 95%",
                judged(fall[-1] < fall[0]),
            ),
        ]  # fmt: skip
    draw.save(figure, out, "ye2005_fig9")
    if has_ar():
        return rows
    how = f"`{COMMAND} ye2005-fig9 --ar FILE` (.npz of X and y)"
    return [*rows, untested("ye2005", "Fig. 9, AR",
                     "the error of incremental stays within 4% of batch",
                     f"within 4 percent, p = {PRINTED['AR']}", how)]  # fmt: skip
