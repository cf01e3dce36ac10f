"""Ye et al. (2005) Fig. 4: error of batch IDR/QR by mu, over ten folds.

The paper prints no values of mu. It is on the scale of sums over the samples.
"""

from __future__ import annotations

from pathlib import Path

from examples.papers import draw
from examples.papers.data import COMMAND, has_ar, sets
from examples.papers.neighbours import cross_validated
from examples.papers.verdict import Row, judged, untested

from narrows import IDRQR

DATA = ("orl", "tr41", "re0", "re1")
OPTIONAL = ("ar",)
MU = (1e-4, 1e-2, 0.1, 0.5, 1.0, 10.0, 100.0)
LITTLE = 1.0  # percentage points of error
CLAIM = "the error of IDR/QR does not depend on mu"


def run(out: Path) -> list[Row]:
    found = {
        name: [100 * float(cross_validated([IDRQR(mu=mu)], X, y).mean()) for mu in MU]
        for name, X, y in sets()
    }
    figure, [ax] = draw.panels(1, width=6)
    draw.curves(ax, MU, found, log="x", title="1-NN on batch IDR/QR", xlabel="mu",
                ylabel="error, %")  # fmt: skip
    ax.set_ylim(bottom=0)
    draw.save(figure, out, "ye2005_fig4")
    rows = [
        Row(
            "ye2005", f"Fig. 4, {name}", CLAIM, "insensitive",
            f"{min(errors):.1f} to {max(errors):.1f}% for mu from 0.0001 to 100",
            judged(max(errors) - min(errors) < LITTLE), "Within 1 percentage point.",
        )
        for name, errors in found.items()
    ]  # fmt: skip
    how = f"`{COMMAND} ye2005-fig4 --ar FILE` (.npz of X and y)"
    return (
        rows if has_ar() else [*rows, untested("ye2005", "Fig. 4, AR", CLAIM, "insensitive", how)]
    )
