"""Yan et al. (2006) section 3.1.1: orthogonality of the directions of IOC, by passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from examples.papers import draw
from examples.papers.data import rcv1, uci
from examples.papers.verdict import Row, judged, several

from narrows import IOC, OC

DATA = ("rcv1", "iris", "wine")
PASSES = (1, 2, 5, 10, 20, 50, 100)
SMALL = 0.01  # set before the experiment was run


def run(out: Path) -> list[Row]:
    found = {
        "RCV1": _largest(*rcv1(), 3),
        "Iris": _largest(*uci("iris"), 2),
        "Wine": _largest(*uci("wine", standard=True), 2),
    }
    figure, [ax] = draw.panels(1)
    lines = {name: largest for name, (largest, _) in found.items()}
    draw.curves(ax, PASSES, lines, log="xy", ticks=True, title="directions of IOC",
                xlabel="passes", ylabel="largest |u'u|")  # fmt: skip
    draw.save(figure, out, "yan2006_orthogonality")
    first, last = ({name: of[at] for name, of in lines.items()} for at in (0, -1))
    near = {name: cosine for name, (_, cosine) in found.items()}
    return [
        Row(
            "yan2006", "section 3.1.1, orthogonality", "the directions are orthogonal when "
            "they have converged",
            "always enforced", f"after {PASSES[-1]} passes: {several(last)}",
            judged(*(value < SMALL for value in last.values())),
            f"Largest |u'u| of two directions. Below {SMALL:.2f} counts. The least |cosine| with "
            f"OC is then {several(near)}.",
        ),
        Row(
            "yan2006", "section 3.1.1, early stages", "at early stages they are not "
            "exactly orthogonal",
            "not exactly", f"after one pass: {several(first)}",
            judged(*(value > SMALL for value in first.values())), f"Above {SMALL:.2f} counts.",
        ),
    ]  # fmt: skip


def _largest(X: Any, y: np.ndarray, p: int) -> tuple[list[float], float]:
    """Return the largest |u_i'u_j| by passes, and the least |cosine| with OC after the last."""
    learner, found, rng = IOC(p), [], np.random.default_rng(0)
    for number in range(1, PASSES[-1] + 1):
        order = rng.permutation(len(y))
        learner.partial_fit(X[order], y[order])
        if number in PASSES:
            W = learner.components_
            found.append(float(np.abs(W @ W.T - np.eye(p)).max()))
    cosines = np.abs((learner.components_ * OC(p).fit(X, y).components_).sum(axis=1))
    return found, float(cosines.min())
