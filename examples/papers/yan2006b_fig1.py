"""Yan et al. (2006b) Fig. 1: two classes in three dimensions, by PCA, LDA and MMC.

Means (0, 0, 0) and (5, 5, 5), 100 samples each. The paper prints no covariance: one set has the
identity, one a variance of 100 orthogonal to the line of the means.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from examples.papers import draw
from examples.papers.measure import nearest
from examples.papers.verdict import Row, f, judged, several
from sklearn.decomposition import PCA

from narrows import LDA, MMC

DATA = ()
WIDE = 100.0


def run(out: Path) -> list[Row]:
    errors: dict[str, dict[str, float]] = {}
    figure, axes = draw.panels(2, 2, width=4, height=3)
    for row, (title, wide) in enumerate((("identity", 1.0), ("two wide axes", WIDE))):
        (X, y), (X_test, y_test) = _samples(wide, 0), _samples(wide, 1)
        errors[title] = {}
        for column, (name, make) in enumerate((("PCA", PCA), ("MMC", MMC))):
            for p in (1, 2):
                method = make(p).fit(X, y)
                Z, Z_test = method.transform(X), method.transform(X_test)
                errors[title][f"{name} {p}"] = nearest(Z, y, Z_test, y_test)
            ax = axes[2 * row + column]
            draw.points(ax, Z, np.array(["class 1", "class 2"])[y], title=f"{name}, {title}")
    axes[0].legend(fontsize=8)
    draw.save(figure, out, "yan2006b_fig1")
    X, y = _samples(WIDE, 0)
    lda = len(LDA(mu=0.5).fit(X, y).components_)
    pca = [errors[title][f"PCA {p}"] for title in errors for p in (1, 2)]
    return [
        Row(
            "yan2006b", "Fig. 1, PCA", "PCA mixes the two classes in one and in two dimensions",
            "seen in the figure",
            "; ".join(f"{title}: error {several({k: of[k] for k in ('PCA 1', 'PCA 2')})}"
                      for title, of in errors.items()),
            judged(*(value > 0.3 for value in pca)),
            "1-NN on new samples; mixed: error above 0.3. The result depends on covariances that "
            "the paper does not print.",
        ),
        Row(
            "yan2006b", "Fig. 1, LDA", "with two classes LDA has one direction", "one", f"{lda}",
            judged(lda == 1),
        ),
        Row(
            "yan2006b", "Fig. 1, MMC", "MMC separates the classes in any lower dimension",
            "seen in the figure",
            "; ".join(f"{title}: error {several({k: of[k] for k in ('MMC 1', 'MMC 2')})}"
                      for title, of in errors.items()),
            judged(*(of[f"MMC {p}"] < 0.05 for of in errors.values() for p in (1, 2))),
            f"1-NN on new samples; separated: error below 0.05. PCA 1 with two wide axes: "
            f"{f(errors['two wide axes']['PCA 1'])}.",
        ),
    ]  # fmt: skip


def _samples(wide: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    along = np.ones(3) / np.sqrt(3)
    across = np.linalg.svd(along[None])[2][1:]
    y = np.repeat([0, 1], 100)
    noise = rng.normal(size=(200, 1)) * along + np.sqrt(wide) * rng.normal(size=(200, 2)) @ across
    return 5.0 * y[:, None] * np.ones(3) + noise, y
