"""Yan et al. (2004) Fig. 4: IMMC on Ionosphere, medians of 15 orders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from examples.papers import draw
from examples.papers.converging import CONVERGED, curve, targets
from examples.papers.data import scatters, six, uci
from examples.papers.sources import SIX
from examples.papers.verdict import Row, f, judged, several

from narrows import IMMC

DATA = ("ionosphere", *SIX)
EPS = (1.0, 0.1, 0.001)


def run(out: Path) -> list[Row]:
    X, y = uci("ionosphere")
    S_b, C = scatters(X, y)
    values = np.linalg.eigvalsh(2 * S_b - C)
    immc, target = IMMC(1, eps=1.0, theta=0.0), targets(X, y)["IMMC"]
    n, (_, low, median, high, _) = curve(immc, X, y, target, passes=5)
    figure, [ax] = draw.panels(1, width=6)
    draw.curves(ax, n, {"IMMC, theta = 0, median of 15 orders": median}, marker=False,
                title="Ionosphere, five passes", xlabel="samples", ylabel="|cosine|")  # fmt: skip
    ax.fill_between(n, low, high, color="#888888", alpha=0.25, label="quartiles")
    ax.axvline(len(y), color="black", lw=0.8, ls=":", label="end of the first pass")
    ax.set_ylim(0, 1.03)
    ax.legend(fontsize=8)
    draw.save(figure, out, "yan2004_fig4")
    one, five = float(np.interp(len(y), n, median)), float(median[-1])
    least = {}
    for name, A, labels in six():
        between, total = scatters(A, labels)
        least[name] = min(
            np.linalg.eigvalsh((1 + eps) * between - eps * total)[0] for eps in EPS[1:]
        )
    return [
        Row(
            "yan2004", "section 4.2, Ionosphere",
            "the smallest eigenvalue of 2 S_b - C is close to 0",
            "very close to zero",
            f"{f(float(values[0]))}; the largest is {f(float(values[-1]), 4)}",
            judged(abs(values[0]) < 0.1),
            "Close: within 0.1. The matrix is not nonnegative definite with theta = 0.",
        ),
        Row(
            "yan2004", "Fig. 4", "IMMC with theta = 0 converges on Ionosphere", "in the figure",
            f"|cosine| {f(one)} after one pass, {f(five)} after five",
            judged(one > CONVERGED, five > CONVERGED),
            f"Median of 15 random orders. Converged: above {CONVERGED}; in part if only after five "
            "passes. A positive largest eigenvalue is enough.",
        ),
        Row(
            "yan2004", "section 4.2, weighted", "a small eps in S_b - eps S_w makes the matrix "
            "nonnegative definite and replaces theta", "claimed",
            "smallest eigenvalue for eps = 0.1 or 0.001: " + several(least, 4),
            judged(*(value > -1e-9 for value in least.values())),
            "S_b has rank c - 1, so any eps > 0 gives negative eigenvalues. A small eps makes the "
            "leading ones positive: see [theta](../benchmarks/research_methods.md#theta-of-immc).",
        ),
    ]  # fmt: skip
