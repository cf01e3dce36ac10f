"""The paper's Tables 2 and 3: which columns the methods share."""

from __future__ import annotations

from benchmarks.studies import corpora
from benchmarks.studies.tables import markdown
from narrows import CHI, IG, OCFS
from narrows.evaluate import selection_overlap
from narrows.read import Source


class SharedColumns:
    """OCFS, IG and CHI on comp.*: columns shared, and the terms that only one of them picks."""

    name = "overlap"

    def table(self) -> str:
        split = corpora.comp()
        fitted = [
            method.fit(split.X, split.y)._remember(Source(columns=tuple(split.terms)))
            for method in (OCFS(), IG(), CHI())
        ]
        sizes = (10, 100, 1_000, 10_000)
        overlaps = selection_overlap(fitted, sizes)
        pairs = ((0, 1, "OCFS, IG"), (0, 2, "OCFS, CHI"), (1, 2, "IG, CHI"))
        shared = markdown(
            ["columns shared", *(f"{p:,}" for p in sizes)],
            [[title, *(int(o.shared[a, b]) for o in overlaps)] for a, b, title in pairs],
        )
        only = markdown(
            ["of the ten best", "only this method picks"],
            [[name, ", ".join(terms) or "-"] for name, terms in overlaps[0].only.items()],
        )
        return f"{shared}\n\n{only}"
