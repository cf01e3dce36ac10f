"""What the defaults of ILDA and IMMC are worth in one pass, beside other settings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.studies import corpora
from benchmarks.studies.classifiers import behind, by_classifier, each
from benchmarks.tables import Table, middle
from narrows import ILDA, IMMC

ORDERS = range(3)
METHODS = {
    "**`ILDA()`**": ILDA(), "`ILDA(eta=1)`": ILDA(eta=1.0), "**`IMMC()`**": IMMC(),
    "`IMMC(eps=1)`": IMMC(eps=1.0), "`IMMC(eps=0.05)`": IMMC(eps=0.05),
}  # fmt: skip
DENSE = {  # and whether it is standardised
    "Iris": ("iris", True), "Wine": ("wine", True), "Waveform": ("waveform", True),
    "Balance Scale": ("balance_scale", True), "Pima": ("pima_diabetes", True),
    "Ionosphere": ("ionosphere", True),
}  # fmt: skip


class OneByOne:
    """Micro-F1 in c - 1 dimensions, at most 5; median of three random orders, and the range."""

    name = "one_by_one"

    def table(self) -> Table:
        rows = []
        for title, split in _data():
            p = min(5, len(np.unique(split.y)) - 1)
            cells = [_cells(method, split, p) for method in METHODS.values()]
            rows += by_classifier([title], cells)
        return Table(["set", "classifier", *METHODS], rows)


def _cells(method: Any, split: corpora.Split, p: int) -> list[str]:
    found = []
    for order in ORDERS:
        rows = np.random.default_rng(order).permutation(len(split.y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of directions without margin
            method.set_params(n_components=p).fit(split.X[rows], split.y[rows])
            found.append(behind(method, split))
    return each(middle, found)


def _data() -> Iterator[tuple[str, corpora.Split]]:
    for title, (name, standard) in DENSE.items():
        yield title, _split(*corpora.uci(name), standard)
    yield "digits", _split(*load_digits(return_X_y=True), False)
    for name in ("re0", "re1", "tr41"):
        yield name, _split(*corpora.documents(name), False)
    yield "R8", corpora.r8()
    yield "comp.*", corpora.comp()
    yield "RCV1", corpora.rcv1()


def _split(X: Any, y: np.ndarray, standard: bool) -> corpora.Split:
    train, test = train_test_split(np.arange(len(y)), test_size=0.25, stratify=y, random_state=0)
    X, X_test = X[train], X[test]
    if standard:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return corpora.Split(X, y[train], X_test, y[test])
