"""Yan et al. (2006b) Fig. 5: error of the nearest neighbour by number of dimensions.

Twenty random halves; of Monk 1, which has its own split, twenty orders. theta is "auto". IMMC and
IIS make 20 passes, IMMC also one. Wine is standardised.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from examples.papers import draw
from examples.papers.data import six, uci
from examples.papers.measure import nearest
from examples.papers.verdict import Row, judged, several
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from narrows import IIS, IMMC, LDA

DATA = ("iris", "balance_scale", "monk1", "wine")
SETS, HALVES = ("Iris", "Balance Scale", "Monk 1", "Wine"), 20
LEVEL = 0.01  # of error


def run(out: Path) -> list[Row]:
    figure, axes = draw.panels(4, width=3.1, height=3.2)
    best: dict[str, dict[str, float]] = {}
    one: dict[str, dict[str, float]] = {}
    for ax, name in zip(axes, SETS, strict=True):
        [(X, y)] = [(X, y) for title, X, y in six() if title == name]
        c, d = len(np.unique(y)), X.shape[1]
        lines = {
            "IMMC": {
                p: _error(lambda p=p: IMMC(p, eps=1.0, passes=20), name, X, y) for p in _sizes(d)
            },
            "PCA": {p: _error(lambda p=p: PCA(p), name, X, y) for p in _sizes(d)},
            "LDA": {
                p: _error(lambda p=p: LDA(n_components=p, mu=0.5), name, X, y) for p in range(1, c)
            },
            "IIS": {p: _error(lambda p=p: IIS(p, passes=20), name, X, y) for p in range(1, c)},
            "IMMC, one pass": {
                p: _error(lambda p=p: IMMC(p, eps=1.0), name, X, y) for p in _sizes(d)
            },
        }
        best[name] = {method: min(of.values()) for method, of in lines.items()}
        one[name] = {method: of[1] for method, of in lines.items()}
        for number, (method, of) in enumerate(lines.items()):
            ax.plot(list(of), list(of.values()), label=method, **draw.style(number))
        ax.set(title=name, xlabel="dimensions", xticks=list(lines["IMMC"]))
        ax.set_ylim(bottom=0)
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("1-NN error")
    axes[0].legend(fontsize=8)
    draw.save(figure, out, "yan2006b_fig5")
    balance = one["Balance Scale"]
    return [
        Row(
            "yan2006b", "Fig. 5, PCA", "IMMC outperforms PCA", "in the figure",
            _listed(one, "IMMC", "PCA"),
            judged(*(of["IMMC"] < of["PCA"] - LEVEL for of in one.values())),
            f"Error in one dimension, after 20 passes of IMMC. Leads of more than {LEVEL} count.",
        ),
        Row(
            "yan2006b", "Fig. 5, PCA, one pass", "IMMC outperforms PCA", "in the figure",
            _listed(one, "IMMC, one pass", "PCA"),
            judged(*(of["IMMC, one pass"] < of["PCA"] - LEVEL for of in one.values())),
            "Error in one dimension, after one pass of IMMC, as for a stream. Leads of more than "
            f"{LEVEL} count.",
        ),
        Row(
            "yan2006b", "Fig. 5, LDA, one pass", "IMMC is comparable to LDA", "comparable",
            _listed(best, "IMMC, one pass", "LDA"),
            judged(*(of["IMMC, one pass"] < of["LDA"] + 0.02 for of in best.values())),
            "Best error over the dimensions, after one pass of IMMC. Comparable: at most 0.02 "
            "higher.",
        ),
        Row(
            "yan2006b", "Fig. 5, LDA", "IMMC is comparable to LDA", "comparable",
            _listed(best, "IMMC", "LDA"),
            judged(*(of["IMMC"] < of["LDA"] + 0.02 for of in best.values())),
            "Best error over the dimensions, after 20 passes. Comparable: at most 0.02 higher.",
        ),
        Row(
            "yan2006b", "Fig. 5, better",
            "IMMC outperforms LDA, which is limited to c - 1 dimensions",
            "outperforms", _listed(best, "IMMC", "LDA"),
            judged(*(of["IMMC"] < of["LDA"] - LEVEL for of in best.values())),
            f"Best error over the dimensions. Leads of more than {LEVEL} count.",
        ),
        Row(
            "yan2006b", "section 5.2.2, Balance Scale, PCA", "PCA does not work well on Balance "
            "Scale, whose covariance is the identity", "could not work well",
            "error in one dimension: " + several({k: balance[k] for k in ("PCA", "LDA", "IMMC")}),
            judged(balance["PCA"] > balance["LDA"] + 0.05),
            "Leads of LDA of more than 0.05 count. The covariance is twice the identity.",
        ),
        Row(
            "yan2006b", "section 3.2.2, IMMC and IIS",
            "IMMC classifies better than IIS, which ignores "
            "the scatter within the classes", "in theory", _listed(best, "IMMC", "IIS"),
            judged(*(of["IMMC"] < of["IIS"] - LEVEL for of in best.values())),
            f"Best error over the dimensions. Leads of more than {LEVEL} count.",
        ),
    ]  # fmt: skip


def _sizes(d: int) -> list[int]:
    return [p for p in (1, 2, 3, 4, 6, 9, 13) if p <= d]


def _listed(found: dict[str, dict[str, float]], *methods: str) -> str:
    return "; ".join(
        f"{name}: {several({method: of[method] for method in methods})}"
        for name, of in found.items()
    )


def _error(make: Any, name: str, X: np.ndarray, y: np.ndarray) -> float:
    found = []
    for half in range(HALVES):
        if name == "Monk 1":
            (A, labels), (B, labels_test) = uci("monk1_train"), uci("monk1_test")
            order = np.random.default_rng(half).permutation(len(labels))
            A, labels = A[order], labels[order]
        else:
            A, B, labels, labels_test = train_test_split(
                X, y, test_size=0.5, stratify=y, random_state=half
            )
        method = make().fit(A, labels)
        found.append(nearest(method.transform(A), labels, method.transform(B), labels_test))
    return float(np.mean(found))
