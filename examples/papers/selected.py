"""OCFS, IG and CHI by number of features: F1 of an SVM, and the time to rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from examples.papers import draw
from examples.papers.measure import SVM_SAMPLES, seconds, smo

from narrows import CHI, IG, OCFS
from narrows.evaluate.splits import Fold
from narrows.solve.columns import take

METHODS = {"OCFS": OCFS, "IG": IG, "CHI": CHI}
F1 = dict[str, dict[int, float]]


def f1(folds: Iterable[Fold], sizes: Sequence[int], samples: int | None = SVM_SAMPLES) -> F1:
    """Return micro-F1 (SMO) by method and number of features, mean over the folds."""
    found: dict[str, dict[int, list[float]]] = {name: {p: [] for p in sizes} for name in METHODS}
    for X, y, X_test, y_test in folds:
        for name, method in METHODS.items():
            ranking = method().fit(X, y).ranking_
            for p in sizes:
                kept = ranking[:p]
                micro = smo(take(X, kept), y, take(X_test, kept), y_test, samples)[0]
                found[name][p].append(micro)
    return {name: {p: float(np.mean(of[p])) for p in sizes} for name, of in found.items()}


def lead(found: F1, p: int) -> float:
    """Return the F1 of OCFS minus that of the better of IG and CHI."""
    return found["OCFS"][p] - max(found["IG"][p], found["CHI"][p])


def times(X: object, y: np.ndarray, sizes: Sequence[int]) -> dict[str, list[float]]:
    """Return CPU seconds to rank all features and select the given numbers of them."""
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    for p in sizes:
        work = {name: _selects(method(n_features=p), X, y) for name, method in METHODS.items()}
        for name, second in seconds(work, rounds=7).items():
            found[name].append(second)
    return found


def _selects(selector: OCFS, X: object, y: np.ndarray) -> object:
    return lambda: selector.fit(X, y).get_support()


def ratios(found: dict[str, list[float]]) -> dict[str, float]:
    """Return the time of OCFS divided by that of IG and CHI, median over the sizes."""
    return {name: float(np.median(np.divide(found["OCFS"], found[name]))) for name in ("IG", "CHI")}


def picture(
    out: Path, name: str, data: str, sizes: Sequence[int], found: F1, taken: dict[str, list[float]]
) -> None:
    """Draw F1 and CPU time."""
    figure, [left, right] = draw.panels(2)
    lines = {method: [of[p] for p in sizes] for method, of in found.items()}
    draw.curves(left, sizes, lines, log="x", ticks=True, title=f"{data}: linear SVM",
                xlabel="features", ylabel="micro-F1")  # fmt: skip
    milli = {method: [1e3 * second for second in of] for method, of in taken.items()}
    draw.curves(right, sizes, milli, log="x", ticks=True, title=f"{data}: time to select",
                xlabel="features", ylabel="CPU ms")  # fmt: skip
    right.set_ylim(bottom=0)
    draw.save(figure, out, name)


def relative(ratio: dict[str, float]) -> str:
    """Write the ratios of the times as text."""
    return ", ".join(f"{value:.2f} of the time of {name}" for name, value in ratio.items())
