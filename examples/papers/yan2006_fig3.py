"""Yan et al. (2006) Fig. 3: two synthetic classes in six directions, and convergence of IOC.

Means and covariances are those of Yan et al. (2004), with three variances of the wide axis, since
the paper prints none. The picture shows one draw.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from examples.papers import draw
from examples.papers.convergence import convergence
from examples.papers.converging import CONVERGED
from examples.papers.data import two_normals
from examples.papers.measure import cosine
from examples.papers.verdict import Row, judged, several
from sklearn.decomposition import PCA

from narrows import IOC, LDA, MMC, OC, OCFS

DATA = ()
DRAWS = 100
# variances of the wide axis: by the eigenvalue of Yan et al. (2004), by its text, and a narrow one
WIDE = (84.0, 25.0, 4.0)
NEAR = 0.99  # |cosine| of directions that are drawn as one


def run(out: Path) -> list[Row]:
    found = [_directions(*two_normals(seed)) for seed in range(DRAWS)]
    curves = np.array([_curve(*two_normals(seed)) for seed in range(DRAWS)])
    X, y = two_normals(0)
    figure, axes = draw.panels(2)
    draw.background(axes[0], X, y, "two classes, six directions")
    for number, (name, w) in enumerate(found[0].items()):
        draw.line(axes[0], w, number, name, 9.0 - number)
    axes[0].legend(fontsize=8, loc="center right")
    n = np.arange(1, 101)
    quartiles = np.percentile(curves, [25, 50, 75], axis=0)
    lines = {"draw on the left": curves[0], "median of 100 draws": quartiles[1]}
    draw.curves(axes[1], n, lines, marker=False, title="IOC against batch OC", xlabel="samples",
                ylabel="|cosine|")  # fmt: skip
    axes[1].set_ylim(0, 1.03)
    axes[1].axvline(40, color="black", lw=0.8, ls=":", label="converged, the paper")
    axes[1].legend(fontsize=8)
    axes[1].fill_between(n, quartiles[0], quartiles[2], alpha=0.2, color="#888888")
    draw.save(figure, out, "yan2006_fig3")

    errors = {name: _median(_error(w[name], *two_normals(s)) for s, w in enumerate(found))
              for name in found[0]}  # fmt: skip
    alike = {pair: _median(cosine(w[pair[0]], w[pair[1]]) for w in found) for pair in
             (("OCFS", "LDA"), ("OCFS", "MMC"), ("LDA", "MMC"))}  # fmt: skip
    at = {wide: _reached(wide) for wide in WIDE}
    return [
        Row(
            "yan2006", "Fig. 3a, OCFS, LDA, MMC", "the directions of OCFS, LDA and MMC coincide",
            "one line in the figure",
            several({f"{a}-{b}": value for (a, b), value in alike.items()}),
            judged(*(value > NEAR for value in alike.values())),
            f"|cosine|, median of 100 draws. Above {NEAR} counts.",
        ),
        Row(
            "yan2006", "Fig. 3a, IOC and OC", "the directions of IOC and batch OC coincide",
            "one line in the figure", "|cosine| after 100 samples: " + _listed(at, 1),
            judged(*(of[1] > NEAR for of in at.values())),
            "By variance of the wide axis. IOC starts from the first sample, which lies far out "
            f"on this axis. Above {NEAR} counts.",
        ),
        Row(
            "yan2006", "Fig. 3a, PCA", "PCA mixes the classes, IOC and OCFS separate them "
            "better", "seen in the figure", "error: " + several(errors),
            judged(*(errors[name] < errors["PCA"] - 0.05 for name in ("IOC", "OCFS"))),
            "Error: share of samples whose projection is nearer to the mean of the other class; "
            "median of 100 draws; chance is 0.5. Better: by more than 0.05.",
        ),
        Row(
            "yan2006", "Fig. 3b", "IOC converges after about 40 training samples", "about 40",
            "|cosine| after 40 samples: " + _listed(at, 0),
            judged(*(of[0] > CONVERGED for of in at.values())),
            f"Against batch OC of all samples. Converged: above {CONVERGED}.",
        ),
    ]  # fmt: skip


def _directions(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    made: dict[str, Any] = {
        "OC": OC(), "IOC": IOC(1), "OCFS": OCFS(n_features=1), "LDA": LDA(mu=0.5), "MMC": MMC(1),
        "PCA": PCA(1),
    }  # fmt: skip
    found = {}
    for name, method in made.items():
        method.fit(X, y)
        found[name] = np.eye(2)[method.ranking_[0]] if name == "OCFS" else method.components_[0]
    return found


def _reached(wide: float) -> np.ndarray:
    """Return medians of the |cosine| of IOC with OC after 40 and 100 samples."""
    found = []
    for seed in range(DRAWS):
        X, y = two_normals(seed, wide)
        found.append(convergence(IOC(1), X, y, OC().fit(X, y), at=[40, 100]).cosines[:, 0])
    return np.median(found, axis=0)


def _listed(at: dict[float, np.ndarray], which: int) -> str:
    return several({f"variance {wide:.0f}:": of[which] for wide, of in at.items()})


def _curve(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return convergence(IOC(1), X, y, OC().fit(X, y), at="every").cosines[:, 0]


def _error(w: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    z = X @ w
    nearer = np.abs(z - z[y == 1].mean()) < np.abs(z - z[y == 0].mean())
    return float(np.mean(nearer != y))


def _median(values: Any) -> float:
    return float(np.median(list(values)))
