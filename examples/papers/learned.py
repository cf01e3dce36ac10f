"""RCV1 by so many samples: papers 003, Fig. 5, and 004, Fig. 3 and Table 5, run once for all.

Five folds. The SVM, by SMO, learns from 4,000 random rows of the fold whatever reduced them, so
that 500 columns and three directions are judged alike. IPCA is CCIPCA; at 500 directions its step
takes some p^2 operations on small matrices, hours for a fold: its limit, a truncated SVD of all
rows, stands in for it in F1, and its time is that of 600 documents.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from examples.papers.data import rcv1_folds
from examples.papers.measure import SVM_ROWS, cpu, smo
from sklearn.decomposition import TruncatedSVD

from narrows import CCIPCA, IG, IIS, IMMC


class Found(NamedTuple):
    """One method on one fold: F1, and CPU seconds to reduce and to classify."""

    micro: float
    macro: float
    reduce: float
    classify: float


ALL = "all"
STEPS = (10, 100, 1_000, 10_000, ALL)


@cache
def found() -> dict[str, list[Found]]:
    """Every method on every fold."""
    results: dict[str, list[Found]] = {}
    X, y, *_ = rcv1_folds()[0]
    for method in (IIS(3), IMMC(3), CCIPCA(3), IG(n_features=3)):
        method.fit(X[:500], y[:500])  # compiled, before anything is timed
    for fold in rcv1_folds():
        n = len(fold[1])
        for step in STEPS:
            rows = n if step == ALL else int(step)
            results.setdefault(f"IIS 3@{step}", []).append(_one(IIS(3), fold, rows))
            weighted = IMMC(3, eps=0.0, theta=0.0)
            results.setdefault(f"IMMC 3@{step}", []).append(_one(weighted, fold, rows))
        for name, method in (
            ("IG 3", IG(n_features=3)),
            ("IG 500", IG(n_features=500)),
            ("IPCA 3", CCIPCA(3)),
            ("IPCA 500", TruncatedSVD(500, random_state=0, n_iter=3)),
            ("IMMC 3, eps 1", IMMC(3)),
            ("IMMC 3, eps .05", IMMC(3, eps=0.05)),
        ):
            results.setdefault(name, []).append(_one(method, fold, n))
    return results


def mean(name: str, what: str = "micro") -> float:
    """The mean of a figure over the folds."""
    return float(np.mean([getattr(one, what) for one in found()[name]]))


def _one(method: Any, fold: Any, rows: int) -> Found:
    X, y, X_test, y_test = fold
    _, reduce = cpu(lambda: method.fit(X[:rows], y[:rows]))
    Z, Z_test = method.transform(X[:SVM_ROWS]), method.transform(X_test)
    scores, classify = cpu(lambda: smo(Z, y[:SVM_ROWS], Z_test, y_test))
    return Found(*scores, reduce, classify)
