"""Ye et al. (2005) Fig. 10: time of one update of IDR/QR.

Batch is lines 1 to 6 of the algorithm, as in the paper.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from examples.papers import draw
from examples.papers.data import COMMAND, has_ar
from examples.papers.updated import SHARES, runs
from examples.papers.verdict import Row, judged, untested

DATA = ("orl", "tr41", "re0", "re1")
OPTIONAL = ("ar",)


def run(out: Path) -> list[Row]:
    found = runs()
    figure, axes = draw.panels(len(found), width=3.6)
    rows = []
    for ax, (name, orders) in zip(axes, found.items(), strict=True):
        update = 1e3 * np.median(
            [[np.median(part) for part in np.array_split(times[0], len(SHARES))]
             for _, times in orders], axis=0
        )  # fmt: skip
        again = 1e3 * np.median([times[1] for _, times in orders], axis=0)
        draw.curves(ax, 100 * SHARES, {"batch": again, "one update": update}, log="y",
                    title=name, xlabel="% of samples learned",
                    ylabel="ms" if ax is axes[0] else "")  # fmt: skip
        first, last = again[:4] / update[:4], again[-4:] / update[-4:]
        rows += [
            Row(
                "ye2005", f"Fig. 10, {name}", "an update takes significantly less time than batch",
                "significantly", f"batch takes {np.median(again / update):.0f} times as long",
                judged(np.median(again / update) > 2), "Holds from twice as long.",
            ),
            Row(
                "ye2005", f"Fig. 10, constant, {name}", "the time of an update is nearly constant",
                "almost a constant",
                f"{update[0]:.2f} ms at the start, {update[-1]:.2f} ms at the end",
                judged(0.67 < update[-1] / update[0] < 1.5), "Within a factor of 1.5.",
            ),
            Row(
                "ye2005", f"Fig. 10, speed-up, {name}",
                "the speed-up over batch grows with the number "
                "of samples", "keeps increasing", f"{np.median(first):.0f} times at the start, "
                f"{np.median(last):.0f} at the end", judged(np.median(last) > np.median(first)),
                "Medians of the first and the last four points.",
            ),
        ]  # fmt: skip
    draw.save(figure, out, "ye2005_fig10")
    how = f"`{COMMAND} ye2005-fig10 --ar FILE` (.npz of X and y)"
    here = untested("ye2005", "Fig. 10, AR", "an update takes significantly less time than batch",
                  "significantly", how)  # fmt: skip
    return rows if has_ar() else [*rows, here]
