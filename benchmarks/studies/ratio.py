"""What the exact optimum of the trace ratio keeps, beside the ranking by Fisher's score."""

from __future__ import annotations

import numpy as np

from benchmarks.studies import corpora
from benchmarks.studies.classifiers import NAMES
from benchmarks.tables import Table
from narrows import FisherFS


class TraceRatio:
    """Ten columns of R8 by each: their ratio, in how many documents they are, and the F1."""

    name = "selection_trace_ratio"

    def table(self) -> Table:
        split = corpora.r8()
        documents = np.asarray((split.X != 0).sum(axis=0)).ravel()
        score = FisherFS(n_features=10).fit(split.X, split.y)
        ratio = FisherFS(n_features=10, optimum="trace_ratio").fit(split.X, split.y)
        rows = []
        for name, fitted in (("score", score), ("trace_ratio", ratio)):
            best = fitted.ranking_[:10]
            rows.append(
                [
                    name,
                    ", ".join(f"{split.terms[k]} ({documents[k]:,})" for k in best),
                    *map(float, corpora.f1(split, best)[0]),
                ]
            )
        scores = [f"micro-F1, {name}" for name in NAMES]
        return Table(["optimum, R8", "ten features (documents with them)", *scores], rows)
