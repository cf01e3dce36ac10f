"""Yan et al. (2006) Fig. 5, section 4.2.3, and (2005) Fig. 6: ODP, or 20 Newsgroups.

Without `--odp FILE`, claims on ODP have a row on 20 Newsgroups.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from examples.papers import selected, texts
from examples.papers.data import COMMAND, odp
from examples.papers.measure import SVM_SAMPLES, smo
from examples.papers.verdict import Row, f, judged, untested

from narrows import CCIPCA, IOC, OC, OCFS
from narrows.evaluate.splits import Fold

DATA = ("20news",)
OPTIONAL = ("odp",)
SIZES = (100, 200, 500, 1_000, 10_000)
CLAIMS = {
    "Fig. 5a": (
        "OCFS has a higher F1 than IG and CHI at every number of features",
        "higher in the figure",
    ),
    "Fig. 5b": ("OCFS takes less than half the time of IG and CHI", "less than half"),
    "section 4.2.3, IOC": ("the F1 of IOC in 15 dimensions exceeds that of IPCA by 57.2%", "57.2%"),
    "section 4.2.3, 10 features": ("with 10 features most documents are empty", "most"),
}


def run(out: Path) -> list[Row]:
    found = odp()
    data = "ODP" if found else "20 Newsgroups"
    folds = list(texts.split(*found, cv=5, seed=0)) if found else [_news()]
    measured = _measured(out, folds, data)
    if found:
        return measured
    how = f"`{COMMAND} yan2006-fig5 --odp FILE`"
    open_claims = [untested("yan2006", where, *claim, how) for where, claim in CLAIMS.items()]
    return [*open_claims, open_claims[0].also("yan2005", "Fig. 6"), *measured]


def _measured(out: Path, folds: list[Fold], data: str) -> list[Row]:
    found = selected.f1(folds, SIZES)
    X, y, *_ = folds[0]
    taken = selected.times(X, y, SIZES)
    selected.picture(out, "yan2006_fig5", data, SIZES, found, taken)
    lead = {p: selected.lead(found, p) for p in SIZES}
    ratio = selected.ratios(taken)
    f1: dict[str, list[float]] = {"IOC": [], "IPCA": [], "OC": []}
    for A, labels, B, labels_test in folds:
        most = min(15, len(np.unique(labels)) - 1)
        for name, method in (("IOC", IOC(15)), ("IPCA", CCIPCA(15)), ("OC", OC(most))):
            method.fit(A, labels)
            micro = smo(method.transform(A), labels, method.transform(B), labels_test, SVM_SAMPLES)[
                0
            ]
            f1[name].append(micro)
    ioc, ipca, oc = (float(np.mean(f1[name])) for name in ("IOC", "IPCA", "OC"))
    empty = float(np.mean(np.diff(OCFS(n_features=10).fit(X, y).transform(X).indptr) == 0))
    verdicts = {
        "Fig. 5a": (
            ", ".join(f"{p:,}: {value:+.3f}" for p, value in lead.items()),
            judged(*(value > 0 for value in lead.values())),
            "Micro-F1 of OCFS minus that of the better of the two.",
        ),
        "Fig. 5b": (
            selected.relative(ratio),
            judged(*(value < 0.5 for value in ratio.values())), "",
        ),
        "section 4.2.3, IOC": (
            f"{ioc / ipca - 1:.1%}: {f(ioc)} against {f(ipca)}",
            judged(ioc / ipca - 1 > 0.286, ioc > ipca),
            f"Exact OC, to which IOC converges: {f(oc)}. Holds from half of the paper's lead, in "
            "part for any lead.",
        ),
        "section 4.2.3, 10 features": (
            f"{empty:.0%} are empty", judged(empty > 0.5), "The ten best features of OCFS.",
        ),
    }  # fmt: skip
    return [
        Row("yan2006", f"{where}, {data}", *CLAIMS[where], *verdicts[where]) for where in CLAIMS
    ]


def _news() -> Fold:
    news = texts.news()
    order = np.random.default_rng(0).permutation(len(news.y))
    return news.X[order], news.y[order], news.X_test, news.y_test
