"""Yan et al. (2004) Fig. 3: eigenvalues and convergence on Balance Scale.

Medians of 15 orders; the paper shows one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from examples.papers import draw
from examples.papers.converging import CONVERGED, curve, targets
from examples.papers.data import scatters, uci
from examples.papers.verdict import Row, f, fs, judged

from narrows import CCIPCA, IMMC

DATA = ("balance_scale",)
PRINTED = np.array([-2.0, -2.0, -1.9774, 0.7067])


def run(out: Path) -> list[Row]:
    X, y = uci("balance_scale")
    S_b, C = scatters(X, y)
    values = np.linalg.eigvalsh(2 * S_b - C)
    to = targets(X, y)
    found = {}
    for name, method, of in (
        ("IMMC, theta = 2", IMMC(1, eps=1.0, theta=2.0), "IMMC"),
        ("IMMC, theta = auto", IMMC(1, eps=1.0), "IMMC"),
        ("CCIPCA", CCIPCA(1), "CCIPCA"),
    ):
        n, levels = curve(method, X, y, to[of])
        found[name] = levels[2]
    figure, [left, ax] = draw.panels(2, width=5)
    draw.beside(left, ["first", "second", "third", "fourth"], PRINTED, values, digits=4,
                title="Balance Scale", ylabel="eigenvalue of 2 S_b - C")  # fmt: skip
    draw.curves(ax, n, found, marker=False, title="Balance Scale",
                xlabel="samples", ylabel="|cosine| with its batch direction")  # fmt: skip
    ax.set_ylim(0, 1.03)
    draw.save(figure, out, "yan2004_fig3")
    equal = np.isclose(values, PRINTED, atol=2e-4)
    rows = [
        Row(
            paper, where, "the eigenvalues of the criterion matrix on Balance Scale",
            fs(PRINTED, 4),
            fs(values, 4), judged(*equal),
            "Those of 2 S_b - C, printed as those of 2 S_b - C + theta I. The third has a wrong "
            "digit.",
        )
        for paper, where in (("yan2004", "section 4.2, eigenvalues"),
                             ("yan2006b", "section 5.2.2, Balance Scale, eigenvalues"))
    ]  # fmt: skip
    end, pca = float(found["IMMC, theta = 2"][-1]), float(found["CCIPCA"][-1])
    return [
        *rows,
        Row(
            "yan2004", "Fig. 3, IMMC", "IMMC with theta = 2 converges on Balance Scale",
            "to about 1",
            f"|cosine| {f(end)} after {len(y)} samples", judged(end > CONVERGED),
            f"Median of 15 random orders. Converged: above {CONVERGED}.",
        ),
        Row(
            "yan2004", "Fig. 3, CCIPCA", "CCIPCA does not converge on Balance Scale",
            "seen in the figure",
            f"|cosine| {f(pca)} after {len(y)} samples", judged(pca < CONVERGED),
            f"The covariance is {f(float(C[0, 0]), 0)} times the identity, so no direction has the "
            "largest variance.",
        ),
    ]  # fmt: skip
