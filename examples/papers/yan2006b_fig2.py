"""Yan et al. (2006b) Fig. 2: directions of IIS, IMMC, LDA and PCA on a synthetic set.

The set is that of Yan et al. (2004), since the paper prints no means or covariances.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from examples.papers import draw
from examples.papers.data import two_normals
from examples.papers.measure import cosine, nearest
from examples.papers.verdict import Row, f, judged, several
from sklearn.decomposition import PCA

from narrows import IIS, IMMC, LDA

DATA = ()
DRAWS = 100


def run(out: Path) -> list[Row]:
    near: dict[str, list[float]] = {"IIS": [], "IMMC": [], "PCA": []}
    error: dict[str, list[float]] = {"IIS": [], "IMMC": [], "PCA": [], "LDA": []}
    first: dict[str, np.ndarray] = {}
    for seed in range(DRAWS):
        X, y = two_normals(seed)
        X_test, y_test = two_normals(seed + DRAWS)
        found = {
            "IIS": IIS(1).fit(X, y), "IMMC": IMMC(1, eps=1.0).fit(X, y), "PCA": PCA(1).fit(X),
            "LDA": LDA(mu=0.5).fit(X, y),
        }  # fmt: skip
        w = {name: method.components_[0] for name, method in found.items()}
        first = first or w
        for name in near:
            near[name].append(cosine(w[name], w["LDA"]))
        for name in error:
            error[name].append(nearest(X @ w[name][:, None], y, X_test @ w[name][:, None], y_test))
    X, y = two_normals(0)
    figure, [ax] = draw.panels(1, width=5.5)
    draw.background(ax, X, y, "two classes, four directions")
    for number, (name, direction) in enumerate(first.items()):
        draw.line(ax, direction, number, name, 9.0 - number)
    ax.legend(fontsize=8, loc="center right")
    draw.save(figure, out, "yan2006b_fig2")
    cosines = {name: float(np.median(of)) for name, of in near.items()}
    wrong = {name: float(np.median(of)) for name, of in error.items()}
    return [
        Row(
            "yan2006b", "Fig. 2, IMMC", "IMMC has the direction of LDA", "the same",
            f"|cosine| {f(cosines['IMMC'])}", judged(cosines["IMMC"] > 0.99),
            "Median of 100 draws. Above 0.99 counts.",
        ),
        Row(
            "yan2006b", "Fig. 2, IIS", "the direction of IIS is close to that of LDA", "close",
            f"|cosine| {f(cosines['IIS'])}", judged(cosines["IIS"] > 0.95),
            "Close: above 0.95. The spread of the wide axis enters the class means.",
        ),
        Row(
            "yan2006b", "Fig. 2, PCA", "IIS outperforms PCA and is comparable to LDA", "comparable",
            "error: " + several(wrong),
            judged(wrong["IIS"] < wrong["PCA"], wrong["IIS"] - wrong["LDA"] < 0.05),
            "1-NN on new samples, median of 100 draws. Comparable: within 0.05.",
        ),
    ]  # fmt: skip
