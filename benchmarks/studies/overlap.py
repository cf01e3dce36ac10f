"""The paper's Tables 2 and 3: which columns the methods share."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from benchmarks.studies import corpora
from benchmarks.tables import Table
from narrows import CHI, IG, OCFS


class SharedColumns:
    """The number of columns that OCFS, IG and CHI share on comp.*."""

    name = "selection_overlap"

    def table(self) -> Table:
        _, fitted = _fitted()
        sizes = (10, 100, 1_000, 10_000)
        pairs = ((0, 1, "OCFS, IG"), (0, 2, "OCFS, CHI"), (1, 2, "IG, CHI"))
        return Table(
            ["shared features", *(f"{p:,}" for p in sizes)],
            [[title, *(shared(fitted[a], fitted[b], p) for p in sizes)] for a, b, title in pairs],
        )


class OwnTerms:
    """The terms among the ten best that only one of OCFS, IG and CHI picks."""

    name = "selection_own_terms"

    def table(self) -> Table:
        split, fitted = _fitted()
        best = {type(method).__name__: split.terms[method.ranking_[:10]] for method in fitted}
        picks = Counter(term for terms in best.values() for term in terms)
        return Table(
            ["of the ten best", "only this method picks"],
            [
                [name, ", ".join(term for term in terms if picks[term] == 1) or "-"]
                for name, terms in best.items()
            ],
        )


def shared(a: Any, b: Any, p: int) -> int:
    """Return how many of the p best features two selectors share."""
    return len(np.intersect1d(a.ranking_[:p], b.ranking_[:p]))


def _fitted() -> tuple[corpora.Split, list[Any]]:
    split = corpora.comp()
    return split, [method.fit(split.X, split.y) for method in (OCFS(), IG(), CHI())]
