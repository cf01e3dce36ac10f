"""The paper's Tables 2 and 3: which columns the methods share."""

from __future__ import annotations

from collections import Counter

from benchmarks.studies import corpora
from benchmarks.studies.tables import markdown
from narrows import CHI, IG, OCFS
from narrows.evaluate import selection_overlap


class SharedColumns:
    """OCFS, IG and CHI on comp.*: columns shared, and the terms that only one of them picks."""

    name = "overlap"

    def table(self) -> str:
        split = corpora.comp()
        fitted = [method.fit(split.X, split.y) for method in (OCFS(), IG(), CHI())]
        sizes = (10, 100, 1_000, 10_000)
        overlaps = selection_overlap(fitted, sizes)
        pairs = ((0, 1, "OCFS, IG"), (0, 2, "OCFS, CHI"), (1, 2, "IG, CHI"))
        shared = markdown(
            ["shared features", *(f"{p:,}" for p in sizes)],
            [[title, *(int(o.shared[a, b]) for o in overlaps)] for a, b, title in pairs],
        )
        best = {type(method).__name__: split.terms[method.ranking_[:10]] for method in fitted}
        picks = Counter(term for terms in best.values() for term in terms)
        only = markdown(
            ["of the ten best", "only this method picks"],
            [
                [name, ", ".join(term for term in terms if picks[term] == 1) or "-"]
                for name, terms in best.items()
            ],
        )
        return f"{shared}\n\n{only}"
