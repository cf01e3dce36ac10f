"""Ye et al. (2005), section 6.3: incremental against batch IDR/QR, runs of Figs. 9 and 10."""

from __future__ import annotations

from functools import cache
from time import process_time

import numpy as np
from benchmarks.studies.updates import ORDERS, run
from examples.papers.data import sets

Runs = list[tuple[dict[str, list[float]], tuple[list[float], list[float]]]]


@cache
def runs() -> dict[str, Runs]:
    """Return, by set and order, errors at each share and seconds of updates and of batch."""
    found: dict[str, Runs] = {}
    for name, X, y in sets():
        for order in ORDERS:
            rows = np.random.default_rng(order).permutation(len(y))
            errors, _, times = run(X[rows], y[rows], process_time)
            found.setdefault(name, []).append((errors, times))
    return found
