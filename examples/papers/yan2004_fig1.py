"""Yan et al. (2004) Figs. 1 and 2: directions and convergence of IMMC on a synthetic set.

theta is 85, as printed. The picture shows one draw; the numbers are medians of 100.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from examples.papers import draw
from examples.papers.convergence import convergence
from examples.papers.data import leading, scatters, two_normals
from examples.papers.measure import cosine
from examples.papers.verdict import Row, f, fs, judged
from sklearn.decomposition import PCA

from narrows import IMMC, LDA

DATA = ()
DRAWS, THETA = 100, 85.0
_BETWEEN = np.array([0.0, 2.25])  # S_b of means (0, 1) and (0, -2), halves; diagonal
_WITHIN = np.array([1.5, 25.0])  # S_w of diag(1, 25) and diag(2, 25)


def run(out: Path) -> list[Row]:
    literal, auto, same, far = [], [], [], []
    for seed in range(DRAWS):
        X, y = two_normals(seed)
        S_b, C = scatters(X, y)
        A = 2 * S_b - C
        target = leading(A)
        for curves, theta in ((literal, THETA), (auto, "auto")):
            curves.append(
                convergence(IMMC(1, eps=1.0, theta=theta), X, y, target, at="every").cosines[:, 0]
            )
        same.append(cosine(target[0], LDA(mu=0.5).fit(X, y).components_[0]))
        far.append(
            [cosine(PCA(1).fit(X).components_[0], np.eye(2)[0]), cosine(target[0], np.eye(2)[1])]
        )
    figure, axes = draw.panels(2)
    X, y = two_normals(0)
    draw.background(axes[0], X, y, "two classes, two directions")
    draw.line(
        axes[0], IMMC(1, eps=1.0, theta=THETA).fit(X, y).components_[0], 0, "IMMC, theta = 85", 9
    )
    draw.line(axes[0], PCA(1).fit(X).components_[0], 1, "PCA", 9)
    axes[0].legend(fontsize=8, loc="upper right")
    n = np.arange(1, 101)
    lines = {
        "theta = 85, draw on the left": literal[0],
        "theta = 85, median of 100 draws": np.median(literal, axis=0),
        "theta = auto, median of 100 draws": np.median(auto, axis=0),
    }
    draw.curves(axes[1], n, lines, marker=False, title="IMMC against batch MMC", xlabel="samples",
                ylabel="|cosine|")  # fmt: skip
    axes[1].set_ylim(0, 1.03)
    draw.save(figure, out, "yan2004_fig1")
    ends = {name: float(np.median([curve[-1] for curve in of])) for name, of in
            (("theta = 85", literal), ("auto", auto))}  # fmt: skip
    printed = 2 * _BETWEEN - (_BETWEEN + _WITHIN)
    return [
        Row(
            "yan2004", "section 4.1, eigenvalues",
            "2 S_b - C has the eigenvalues 0.25 on the second "
            "axis and -84.42 on the first, with covariances diag(1, 25) and diag(2, 25)",
            "0.25, -84.42",
            f"{f(printed[1], 2)} on the second, {f(printed[0], 2)} on the first axis",
            judged(abs(printed[1] - 0.25) < 0.1, abs(printed[0] + 84.42) < 0.1),
            "Computed from means and covariances, without drawing samples. Printed as those of "
            "2 S_b - C + theta I.",
        ),
        Row(
            "yan2004", "Fig. 1, PCA",
            "PCA finds the wide axis, IMMC the axis that separates the classes",
            "(-1, 0) and (0, -1)", "|cosine| with these axes: " + fs(np.median(far, axis=0)),
            judged(*(np.median(far, axis=0) > 0.99)), "For IMMC, batch MMC. Above 0.99 counts.",
        ),
        Row(
            "yan2004", "Fig. 1, MMC and LDA", "MMC and LDA have the same direction", "the same",
            f"|cosine| {f(float(np.median(same)))}", judged(np.median(same) > 0.99),
            "Above 0.99 counts.",
        ),
        Row(
            "yan2004", "Fig. 2",
            "IMMC converges to batch MMC if theta makes the matrix nonnegative "
            "definite",
            "to about 1 in 100 samples", f"|cosine| after 100 samples {f(ends['theta = 85'])}",
            judged(ends["theta = 85"] > 0.99, ends["theta = 85"] > 0.9),
            f'Median of {DRAWS} draws; theta = "auto": {f(ends["auto"])}. Holds above 0.99, in '
            'part '
            "above 0.9.",
        ),
    ]  # fmt: skip
