"""RCV1 by number of samples: the runs of Yan et al. (2004) Fig. 5, (2006b) Fig. 3 and Table 5.

Five folds. The SVM (SMO) learns from 4,000 random samples of the fold after every reduction, so
500 features and three directions are compared alike. IPCA is CCIPCA. With 500 directions one fold
of it takes hours: the F1 is that of its limit, a truncated SVD of all samples, and the time is
that of 600 documents.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from examples.papers.data import rcv1_folds
from examples.papers.measure import SVM_SAMPLES, cpu, smo
from sklearn.decomposition import TruncatedSVD

from narrows import CCIPCA, IG, IIS, IMMC


class Found(NamedTuple):
    """One method on one fold: F1, and CPU seconds of the reduction and of the classifier."""

    micro: float
    macro: float
    reduce: float
    classify: float


ALL = "all"
STEPS = (10, 100, 1_000, 10_000, ALL)


@cache
def found() -> dict[str, list[Found]]:
    """Return the results of every method on every fold."""
    results: dict[str, list[Found]] = {}
    X, y, *_ = rcv1_folds()[0]
    for method in (IIS(3), IMMC(3, eps=1.0), CCIPCA(3), IG(n_features=3)):
        method.fit(X[:500], y[:500])  # compile before the timing
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
            ("IMMC 3, eps 1", IMMC(3, eps=1.0)),
            ("IMMC 3, eps 0.05", IMMC(3, eps=0.05)),
        ):
            results.setdefault(name, []).append(_one(method, fold, n))
    return results


def mean(name: str, what: str = "micro") -> float:
    """Return the mean of a number over the folds."""
    return float(np.mean([getattr(one, what) for one in found()[name]]))


def _one(method: Any, fold: Any, rows: int) -> Found:
    X, y, X_test, y_test = fold
    _, reduce = cpu(lambda: method.fit(X[:rows], y[:rows]))
    Z, Z_test = method.transform(X[:SVM_SAMPLES]), method.transform(X_test)
    scores, classify = cpu(lambda: smo(Z, y[:SVM_SAMPLES], Z_test, y_test))
    return Found(*scores, reduce, classify)
