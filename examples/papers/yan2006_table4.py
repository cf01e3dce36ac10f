"""000 Table 4: RCV1 in three dimensions by seven methods; F1, time, and the 0.06 stop.

Five folds; a linear SVM by SMO on all rows of a fold. IPCA is CCIPCA. No step size of ILDA and no
theta of IMMC is printed: `eta` = 1 (0.1 and 10 do the same, `"auto"` does not move on rows of unit
length: it is in the note), theta found. The stop is the first sample after which the directions
move by less than 0.06 in sum, once two classes and three samples are there. Times of extraction
are compared line by line, as the paper programmed it; narrows' own hardly differ (in the note).
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from examples.papers import draw
from examples.papers.data import full_rcv1, rcv1_folds
from examples.papers.measure import cpu, seconds, smo
from examples.papers.verdict import Row, f, judged, several
from tests.papers.ccipca import ccipca
from tests.papers.ilda import ilda
from tests.papers.immc import immc
from tests.papers.ioc import ioc

from narrows import CCIPCA, CHI, IG, ILDA, IMMC, IOC, OC, OCFS
from narrows.evaluate import convergence

STOP: dict[str, Any] = {"tol": 0.06, "patience": 1}
METHODS: dict[str, Any] = {
    "IPCA": CCIPCA(3, **STOP),
    "IMMC": IMMC(3, **STOP),
    "ILDA": ILDA(3, eta=1.0, **STOP),
    "IOC": IOC(3, **STOP),
    "IG": IG(n_features=3),
    "CHI": CHI(n_features=3),
    "OCFS": OCFS(n_features=3),
    "ILDA, auto": ILDA(3),
}
MOST = 20_000  # rows for the SVM, more than a fold of the sample has
DENSE = 150  # documents for the tables line by line
EXTRACT, SELECT = ("IPCA", "IMMC", "ILDA", "IOC"), ("IG", "CHI", "OCFS")


def run(out: Path) -> list[Row]:
    found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in METHODS}
    for method in METHODS.values():
        X, y, *_ = rcv1_folds()[0]
        method.fit(X[:500], y[:500])  # compiled, before it is timed
    shares = []
    for X, y, X_test, y_test in rcv1_folds():
        for name, method in METHODS.items():
            _, second = cpu(lambda m=method, X=X, y=y: m.fit(X, y))
            micro = smo(method.transform(X), y, method.transform(X_test), y_test, MOST)[0]
            found[name].append((micro, second, getattr(method, "n_samples_still_", None) or 0))
        at = found["IOC"][-1][2]
        shares.append(float(convergence(IOC(3), X[:at], y[:at], OC().fit(X, y), at=[at]).share[0]))
    f1 = {name: float(np.mean([one[0] for one in of])) for name, of in found.items()}
    second = {name: float(np.median([one[1] for one in of])) for name, of in found.items()}
    stop = {name: float(np.median([one[2] for one in found[name]])) for name in EXTRACT}
    auto = f1.pop("ILDA, auto")
    printed = _printed()
    X, y, *_ = rcv1_folds()[0]
    batch = seconds({"OC": lambda: OC().fit(X, y).components_}, rounds=3)["OC"]
    best = max(f1[name] for name in EXTRACT if name != "IOC")
    _draw(out, f1, second)
    return [
        Row(
            "yan2006", "Table 4, F1, extraction", "IOC has the best F1 of the four extractions",
            "IOC .8169, ILDA .8169, IMMC .8063, IPCA .4806", several({k: f1[k] for k in EXTRACT}),
            judged(f1["IOC"] >= best),
            "rcv1_4class, not the full RCV1: its documents of several top topics are left out.",
        ),
        Row(
            "yan2006", "Table 4, IOC and ILDA", "ILDA has the F1 of IOC, and takes longer",
            "both .8169; 70,574 s and 26,885 s",
            f"{f(f1['ILDA'])} and {f(f1['IOC'])}; ILDA takes {printed['ILDA']:.2f} of IOC's time",
            judged(abs(f1["ILDA"] - f1["IOC"]) < 0.01, printed["ILDA"] > 1),
            f'eta = 1; the default, "auto", gives {f(auto)}. Time line by line, as below.',
        ),
        Row(
            "yan2006", "Table 4, IPCA", "IPCA is cheaper than IOC and far behind it in F1",
            "22,960 s against 26,885 s; .4806 against .8169",
            f"{printed['IPCA']:.2f} of IOC's time; {f(f1['IPCA'])} against {f(f1['IOC'])}",
            judged(printed["IPCA"] < 1, f1["IOC"] - f1["IPCA"] > 0.05),
            f"The lead is {f(f1['IOC'] - f1['IPCA'])}; the paper's .336.",
        ),
        Row(
            "yan2006", "Table 4, IG, CHI, OCFS", "in three dimensions IG, CHI and OCFS have one F1",
            ".4475, all three", several({k: f1[k] for k in SELECT}),
            judged(max(f1[k] for k in SELECT) - min(f1[k] for k in SELECT) < 0.005),
            "So the paper's own table has OCFS no better at very few columns.",
        ),
        Row(
            "yan2006", "Table 4, extraction and selection", "in three dimensions every extraction is "
            "ahead of every selection", ".4806 and more against .4475",
            f"{f(min(f1[k] for k in EXTRACT))} and more, {f(max(f1[k] for k in SELECT))} and less",
            judged(min(f1[k] for k in EXTRACT) > max(f1[k] for k in SELECT)),
        ),
        Row(
            "yan2006", "Table 4, time of IOC", "IOC is cheaper than IMMC and ILDA",
            "26,885 s against 48,814 s and 70,574 s",
            "of IOC's time: " + several({k: printed[k] for k in EXTRACT}, 2),
            judged(printed["IMMC"] > 1, printed["ILDA"] > 1),
            f"The papers' tables line by line, the first {DENSE} documents made dense. narrows' "
            f"own, on the non-zeros of {len(rcv1_folds()[0][1]):,}: "
            f"{several({k: second[k] for k in EXTRACT}, 2)} s. The paper's figure for IOC is of "
            "100,000 documents: paper 004, Table 5.",
        ),
        Row(
            "yan2006", "Table 4, time of selection", "OCFS selects in half the time of IG and CHI",
            "36 s against 67 s and 69 s", several({k: second[k] for k in SELECT}, 3) + " s",
            judged(*(second["OCFS"] / second[k] < 0.6 for k in ("IG", "CHI"))),
            "Held to be so up to .6.",
        ),
        Row(
            "yan2006", "Table 4, convergence", "the stop comes after 1,362 (IPCA) to 10,023 (ILDA) "
            "samples", "1,362 / 4,657 / 10,023 / 1,776",
            " / ".join(f"{stop[name]:,.0f}" for name in EXTRACT),
            judged(*(0.5 < stop[k] / n < 2 for k, n in zip(EXTRACT, (1362, 4657, 10023, 1776),
                                                           strict=True))),
            "IPCA, IMMC, ILDA, IOC; median of five folds. Steps shrink like 1/n in any case.",
        ),
        Row(
            "yan2006", "section 4.2.2, the 0.06 stop", "an iteration that moves less than 0.06 in sum "
            "has converged", "converged",
            f"IOC then has {f(float(np.mean(shares)))} of the optimum of the fold",
            judged(np.mean(shares) > 0.9),
            "It says that nothing moves, not that anything is reached.",
        ),
        Row(
            "yan2006", "section 4.2.2, batch", "the target of IOC cannot be computed by a batch "
            "algorithm, so that no curve of convergence can be drawn", "too large",
            f"exact OC of a fold takes {batch:.3f} s, IOC {second['IOC']:.3f} s",
            judged(batch > 100 * second["IOC"]),
            "From class sums, without a d x d matrix; [projection](projection.md) has the curve. "
            "Holds if it takes a hundred times as long.",
        ),
        *full_rcv1(
            "yan2006", "Table 4, full RCV1", "all of the above on 789,670 documents", "as above",
            "yan2006_table4 yan2006_fig4",
        ),
    ]  # fmt: skip


def _printed() -> dict[str, float]:
    """The time of each iteration as printed, over that of IOC."""
    X, y, *_ = rcv1_folds()[0]
    A, labels = X[:DENSE].toarray(), y[:DENSE]
    taken = seconds({
        "IPCA": lambda: deque(ccipca(A, 3), maxlen=0),
        "IMMC": lambda: deque(immc(A, labels, 3, 0.1), maxlen=0),
        "ILDA": lambda: deque(ilda(A, labels, 3, 1.0), maxlen=0),
        "IOC": lambda: deque(ioc(A, labels, 3), maxlen=0),
    }, rounds=3)  # fmt: skip
    return {name: second / taken["IOC"] for name, second in taken.items()}


def _draw(out: Path, f1: dict[str, float], second: dict[str, float]) -> None:
    figure, [left, right] = draw.panels(2)
    names = list(f1)
    draw.bars(left, names, {"F1": list(f1.values())}, title="RCV1 in three dimensions",
              ylabel="micro-F1")  # fmt: skip
    draw.bars(right, names, {"ms": [1e3 * second[k] for k in names]}, title="to learn them",
              ylabel="CPU ms, narrows' own")  # fmt: skip
    for ax in (left, right):
        ax.get_legend().remove()
        ax.tick_params(axis="x", labelsize=8)
    draw.save(figure, out, "yan2006_table4")
