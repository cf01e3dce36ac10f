"""Paper 002, Figs. 4 to 6: the error of the nearest neighbour on what a projection leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from examples.papers.neighbours import cross_validated, projections

from benchmarks.studies import corpora
from benchmarks.tables import Table
from narrows import IDRQR


class NearestNeighbour:
    """1-NN error in percent by 10-fold cross-validation, mean and standard deviation over folds."""

    name = "nearest_neighbour"

    def table(self) -> Table:
        rows = []
        for title, X, y in data():
            c = len(np.unique(y))
            for method, steps in projections(c).items():
                error = cross_validated(steps, X, y)
                rows.append(
                    [title, method, f"{100 * error.mean():.1f} ± {100 * error.std(ddof=1):.1f}"]
                )
        names = list(dict.fromkeys(title for title, *_ in rows))
        methods = list(dict.fromkeys(method for _, method, _ in rows))
        cells = {(title, method): cell for title, method, cell in rows}
        return Table(
            ["1-NN error, %", *names],
            [[method, *(cells[name, method] for name in names)] for method in methods],
        )


class Mu:
    """The error of batch IDR/QR by mu."""

    name = "idrqr_mu"

    def table(self) -> Table:
        values = (1e-4, 1e-2, 0.1, 0.5, 1.0, 10.0, 100.0, 1e4)
        rows = []
        for title, X, y in data():
            errors = [cross_validated([IDRQR(mu=mu)], X, y) for mu in values]
            rows.append([title, *(f"{100 * error.mean():.1f}" for error in errors)])
        return Table(["1-NN error, %; mu =", *(f"{mu:g}" for mu in values)], rows)


def data() -> Any:
    """The three sets of the paper that are available."""
    yield "ORL", *corpora.faces()
    yield "tr41", *corpora.documents("tr41")
    yield "re0", *corpora.documents("re0")
