"""Whether OCFS to a generous number of columns, then IG among those, does better than either."""

from __future__ import annotations

from benchmarks.studies import corpora
from benchmarks.studies.tables import markdown, spread
from narrows import IG, OCFS

FIRST = 2_000
SIZES = (10, 100, 1_000)


class TwoStages:
    """Micro-F1 of OCFS, IG, and IG among the 2,000 best of OCFS; five random splits."""

    name = "two-stages"

    def table(self) -> str:
        parts = []
        for title, make in (("R8", corpora.r8_again), ("RCV1, 4 classes", corpora.rcv1)):
            found: dict[tuple[str, int], list[float]] = {}
            for split in corpora.folds(make):
                ocfs = OCFS().fit(split.X, split.y).ranking_
                first = ocfs[:FIRST]
                both = first[IG().fit(split.X[:, first], split.y).ranking_]
                rankings = {
                    "OCFS": ocfs,
                    "IG": IG().fit(split.X, split.y).ranking_,
                    f"OCFS to {FIRST:,}, then IG": both,
                }
                for name, ranking in rankings.items():
                    for p in SIZES:
                        found.setdefault((name, p), []).append(split.f1(ranking[:p])[0])
            names = list(dict.fromkeys(name for name, _ in found))
            rows = [[name, *(spread(found[name, p]) for p in SIZES)] for name in names]
            parts.append(markdown([f"{title}, micro-F1", *(f"{p:,}" for p in SIZES)], rows))
        return "\n\n".join(parts)
