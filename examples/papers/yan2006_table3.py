"""Yan et al. (2006) Table 3: complexities of IOC, OCFS, IMMC and IIS.

The exponent of a size is the slope of log time against log size. Iterations are those of the
papers' tables, line by line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from examples.papers import draw
from examples.papers.measure import exponent, seconds
from examples.papers.printed.iis import iis
from examples.papers.printed.immc import immc
from examples.papers.printed.ioc import ioc
from examples.papers.verdict import Row, judged, several
from scipy import sparse

from narrows import CHI, IG, IOC, OCFS, Moments

DATA = ()
ITERATIONS = {"IOC": ioc, "IIS": iis, "IMMC": partial(immc, theta=0.1)}
Exponents = dict[str, dict[str, float]]  # by method and size
ABOUT = 0.25  # largest difference from the claimed exponent


def run(out: Path) -> list[Row]:
    printed = {
        name: {
            "d": _slope((10_000, 20_000, 40_000), lambda d, s=step: _printed(s, 40, d, 8, 4)),
            "c": _slope((8, 16, 32), lambda c, s=step: _printed(s, 80, 10_000, c, 4)),
            "p": _slope((4, 8, 16), lambda p, s=step: _printed(s, 40, 10_000, 8, p)),
            "n": _slope((25, 50, 100), lambda n, s=step: _printed(s, n, 10_000, 8, 4)),
        }
        for name, step in ITERATIONS.items()
    }
    ours = {
        "d": _slope((10_000, 20_000, 40_000), lambda d: _learns(20_000, d, 80)),
        "non-zeros": _slope((100, 200, 400), lambda k: _learns(10_000, 10_000, k)),
        "n": _slope((10_000, 20_000, 40_000), lambda n: _learns(n, 10_000, 80)),
    }
    scored = {
        name: {
            "d": _slope((50_000, 100_000, 200_000), lambda d, m=method: _from_state(m, 16, d)),
            "c": _slope((32, 64, 128), lambda c, m=method: _from_state(m, c, 50_000)),
        }
        for name, method in (("OCFS", OCFS()), ("IG", IG()), ("CHI", CHI()))
    }
    n = _slope((20_000, 40_000, 80_000), lambda n: _ranks(n, 5_000, 80))
    _draw(out, printed, scored)
    shares = "; ".join(f"{name}: {several(of, 2)}" for name, of in scored.items())
    rows = [
        Row(
            paper, where, f"{name} takes O(cdp) per sample and O(cdpn) in all",
            "exponent 1 in d, c, p and n", several(printed[name], 2),
            judged(*(abs(e - 1) < ABOUT for e in printed[name].values())),
            f"Exponents of CPU time of the paper's table, line by line. Within {ABOUT} counts."
            + (f" narrows: {several(ours, 2)}." if name == "IOC" else ""),
        )
        for paper, where, name in (
            ("yan2006", "Table 3, IOC", "IOC"), ("yan2004", "section 3, complexity", "IMMC"),
            ("yan2006b", "section 3.1.2, complexity", "IMMC"),
            ("yan2006b", "section 3.2.2, complexity", "IIS"),
        )
    ]  # fmt: skip
    return [
        *rows,
        Row(
            "yan2006", "Table 3, OCFS", "OCFS, IG and CHI take O(cd) for the scores",
            "exponent 1 in d and c", shares,
            judged(*(abs(e - 1) < ABOUT for of in scored.values() for e in of.values())),
            f"Exponents of CPU time, from given class means or counts. Within {ABOUT} counts.",
        ),
        Row(
            "yan2006", "Table 3, OCFS, all data",
            "OCFS takes O(cd) for all training data, for any n",
            "exponent 0 in n", f"n {n:.2f}", judged(abs(n) < ABOUT),
            "The class means need every sample: O(non-zeros), as for IG and CHI.",
        ),
    ]  # fmt: skip


def _draw(out: Path, printed: Exponents, scored: Exponents) -> None:
    figure, axes = draw.panels(2, width=5.5)
    for ax, found, title in (
        (axes[0], printed, "the iterations, line by line"),
        (axes[1], scored, "scores, from means or counts"),
    ):
        sizes = list(next(iter(found.values())))
        lines = {name: [of[size] for size in sizes] for name, of in found.items()}
        draw.bars(ax, sizes, {"the paper": [1.0] * len(sizes)} | lines, title=title,
                  xlabel="size", ylabel="exponent of the time")  # fmt: skip
    draw.save(figure, out, "yan2006_table3")


def _slope(sizes: Sequence[int], make: Any) -> float:
    times = seconds({str(size): make(size) for size in sizes}, rounds=2)
    return exponent(sizes, list(times.values()))


def _printed(step: Any, n: int, d: int, c: int, p: int) -> Any:
    X = np.random.default_rng(0).random((n, d))
    return lambda: deque(step(X, np.arange(n) % c, p), maxlen=0)


def _learns(n: int, d: int, k: int) -> Any:
    X, y = _sparse(n, d, k)
    learner = IOC(3).partial_fit(X[:100], y[:100])
    return lambda: learner.partial_fit(X, y)


def _ranks(n: int, d: int, k: int) -> Any:
    X, y = _sparse(n, d, k)
    return lambda: OCFS().fit(X, y).scores_


def _sparse(n: int, d: int, k: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, d, (n, k)), axis=1).ravel()
    parts = (rng.random(n * k), columns, np.arange(0, n * k + 1, k))
    X = sparse.csr_array(parts, shape=(n, d))
    X.sum_duplicates()
    return X, np.arange(n) % 4


def _from_state(method: Any, c: int, d: int) -> Any:
    X = np.random.default_rng(0).random((2 * c, d))
    X[X < 0.5] = 0
    moments = Moments.of(X if isinstance(method, OCFS) else X != 0, np.arange(2 * c) % c)
    return lambda: method.fit_moments(moments).scores_
