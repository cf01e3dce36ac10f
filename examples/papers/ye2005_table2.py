"""Ye et al. (2005) Table 2: exponents of the time of five reductions.

PCA is scikit-learn's full SVD, as in the paper.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from examples.papers import draw
from examples.papers.measure import exponent, seconds
from examples.papers.verdict import Row, judged, several
from sklearn.decomposition import PCA

from narrows import IDRQR, LDA, OCM

DATA = ()
METHODS: dict[str, Any] = {
    "IDR/QR": IDRQR(),
    "PCA+LDA": LDA(solver="pca"),
    "LDA/GSVD": LDA(solver="gsvd"),
    "OCM": OCM(),
    "PCA": PCA(svd_solver="full"),
}
CLAIMED = {  # exponents of n and d; LDA/GSVD has (n + c)^2
    "IDR/QR": ("O(ndc)", 1, 1), "PCA+LDA": ("O(n²d)", 2, 1), "LDA/GSVD": ("O((n+c)²d)", 2, 1),
    "OCM": ("O(nd + c²d)", 1, 1), "PCA": ("O(n²d)", 2, 1),
}  # fmt: skip
SIZES = {"n": (250, 500, 1_000), "d": (3_000, 6_000, 12_000), "c": (20, 40, 80)}
BASE = {"n": 300, "d": 6_000, "c": 10}
NEAR = 0.35


def run(out: Path) -> list[Row]:
    found: dict[str, dict[str, float]] = {name: {} for name in METHODS}
    figure, axes = draw.panels(3, 2, width=3.6, height=3)
    for ax, (what, sizes) in zip(axes[:3], SIZES.items(), strict=True):
        times: dict[str, list[float]] = {name: [] for name in METHODS}
        for size in sizes:
            X, y = _samples(**BASE | {what: size} | ({"n": 400} if what == "c" else {}))
            work = {name: fits(method, X, y) for name, method in METHODS.items()}
            for name, second in seconds(work, rounds=2).items():
                times[name].append(second)
        for name in METHODS:
            found[name][what] = exponent(sizes, times[name])
        draw.curves(ax, sizes, times, log="xy", ticks=True, xlabel=what, legend=False,
                    title=f"time by {what}",
                    ylabel="CPU seconds" if what == "n" else "")  # fmt: skip
    for ax, what in zip(axes[3:], SIZES, strict=True):
        claimed = {name: {"n": n, "d": d, "c": np.nan} for name, (_, n, d) in CLAIMED.items()}
        claimed["IDR/QR"]["c"] = 1
        names = [name.replace("/", "/\n").replace("+", "+\n") for name in METHODS]
        draw.beside(ax, names, [claimed[name][what] for name in METHODS],
                    [found[name][what] for name in METHODS],
                    legend=what == "c", title=f"exponent of {what}")  # fmt: skip
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5,
                  fontsize=8)  # fmt: skip
    draw.save(figure, out, "ye2005_table2")
    rows = []
    for name, (claim, n, d) in CLAIMED.items():
        e = found[name]
        parts = [abs(e["n"] - n) < NEAR, abs(e["d"] - d) < NEAR]
        if name == "IDR/QR":
            parts.append(abs(e["c"] - 1) < NEAR)
        rows.append(
            Row(
                "ye2005", f"Table 2, {name}", f"{name} takes {claim}", f"n {n}, d {d}"
                + (", c 1" if name == "IDR/QR" else ""), several(e, 2), judged(*parts),
                f"Exponents of CPU time. Within {NEAR} counts.",
            )
        )  # fmt: skip
    return rows


def _samples(n: int, d: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(0).normal(size=(n, d)), (np.arange(n) % c).astype(str)


def fits(method: Any, X: np.ndarray, y: np.ndarray) -> Any:
    return lambda: getattr(method.fit(X, y), "components_", None)
