"""Ye et al. (2005) Theorems 1 and 2, Remark 1 and Table 3: U of S_b beside Q of the means.

U is that of `OC`, Q that of `OCM`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from examples.papers import draw
from examples.papers.data import sets
from examples.papers.neighbours import cross_validated, projections
from examples.papers.verdict import Row, f, judged
from scipy.stats import ortho_group

from narrows import OC, OCM, Moments

DATA = ("orl", "tr41", "re0", "re1")
OPTIONAL = ("ar",)
SIZES = {"AR": (1_638, 8_888, 126), "ORL": (400, 10_304, 40), "tr41": (878, 7_454, 10),
         "re0": (1_504, 2_886, 13)}  # fmt: skip
ROUNDING = 1e-10


def run(out: Path) -> list[Row]:
    sizes: dict[str, tuple[int, int, int]] = {}
    lost: dict[str, dict[str, float]] = {"U": {}, "Q": {}, "QM": {}}
    error: dict[str, dict[str, float]] = {"OC, U": {}, "OCM, Q": {}}
    for name, X, y in sets():
        c = len(np.unique(y))
        sizes[name] = (*X.shape, c)
        U, Q = OC().fit(X, y).components_.T, OCM().fit(X, y).components_.T
        H_b = _between(X, y)
        for kind, G in (("U", U), ("Q", Q), ("QM", Q @ ortho_group.rvs(c, random_state=0))):
            lost[kind][name] = _lost(G, H_b)
        steps = projections(c)
        for kind, key in (("OC, U", "OC (c - 1)"), ("OCM, Q", "OCM (c)")):
            error[kind][name] = 100 * float(cross_validated(steps[key], X, y).mean())
    figure, [ax] = draw.panels(1, width=6)
    draw.bars(ax, list(sizes), {kind: list(of.values()) for kind, of in error.items()},
              title="1-NN after OC and OCM", ylabel="error, %")  # fmt: skip
    draw.save(figure, out, "ye2005_theorems")
    a, b = error.values()
    claim = "{} maximises trace(G'S_b G) over G with G'G = I"
    note = f"G'G = I, and 1 - trace(G'S_b G) / trace(S_b), at most. Below {ROUNDING:.0e} counts."
    printed = {name: SIZES[name] for name in sizes if name in SIZES}
    return [
        Row(
            "ye2005", "Theorem 1", claim.format("U of S_b = U Sigma U'"), "proved",
            f"{max(lost['U'].values()):.0e}", judged(*(v < ROUNDING for v in lost["U"].values())),
            note,
        ),
        Row(
            "ye2005", "Theorem 2", claim.format("Q M, for any orthogonal M,"), "proved",
            f"M = I {max(lost['Q'].values()):.0e}, random M {max(lost['QM'].values()):.0e}",
            judged(*(v < ROUNDING for kind in ("Q", "QM") for v in lost[kind].values())), note,
        ),
        Row(
            "ye2005", "Remark 1", "U is as accurate as Q", "comparable",
            "; ".join(f"{name}: U {f(a[name], 1)}%, Q {f(b[name], 1)}%" for name in sizes),
            judged(*(abs(a[name] - b[name]) < 1.0 for name in sizes)),
            "Comparable: within 1 percentage point.",
        ),
        Row(
            "ye2005", "Table 3", "samples, features and classes", _listed(printed),
            _listed({name: sizes[name] for name in printed}),
            judged(*(sizes[name] == size for name, size in printed.items())),
        ),
    ]  # fmt: skip


def _between(X: Any, y: np.ndarray) -> np.ndarray:
    """Return H_b, with S_b = H_b H_b'."""
    m = Moments.of(X, y)
    return (np.sqrt(m.counts)[:, None] * (m.means - m.mean)).T


def _lost(G: np.ndarray, H_b: np.ndarray) -> float:
    """Return by how much G misses G'G = I, or the optimum as a share of it."""
    unit = float(np.abs(G.T @ G - np.eye(G.shape[1])).max())
    return max(unit, abs(1 - float(np.sum((G.T @ H_b) ** 2) / np.sum(H_b**2))))


def _listed(sizes: dict[str, tuple[int, int, int]]) -> str:
    return "; ".join(f"{name} " + ", ".join(f"{n:,}" for n in of) for name, of in sizes.items())
