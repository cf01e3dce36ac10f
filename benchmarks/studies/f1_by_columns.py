"""How well a linear SVM does on the best columns of each method."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.studies import corpora
from benchmarks.studies.tables import markdown
from narrows import CHI, DF, IG, MI, MMCFS, OCFS

SIZES = (3, 10, 100, 1_000, 10_000)
METHODS = {
    "OCFS": OCFS(),
    "MMCFS, eps 1": MMCFS(),
    "MMCFS, eps 0.1": MMCFS(eps=0.1),
    "IG": IG(),
    "CHI": CHI(),
    "MI": MI(),
    "DF": DF(),
}


class F1ByColumns:
    """Micro- and macro-F1 at 3 to 10,000 columns, on three corpora."""

    name = "f1"

    def table(self) -> str:
        parts = []
        for title, make in (
            ("`comp.*` of 20 Newsgroups", corpora.comp),
            ("R8", corpora.r8),
            ("RCV1, 4 classes", corpora.rcv1),
        ):
            split = make()
            header = [f"{title} (micro / macro)", *(f"{p:,}" for p in SIZES)]
            rows = []
            for name, method in METHODS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of columns without margin
                    ranking = method.fit(split.X, split.y).ranking_
                rows.append([name, *(_both(split, ranking[:p]) for p in SIZES)])
            d = split.X.shape[1]
            everything = f"All {d:,} features: {_both(split, np.arange(d))}."
            parts.append(f"{markdown(header, rows)}\n\n{everything}")
        return "\n\n".join(parts)


def _both(split: corpora.Split, columns: np.ndarray) -> str:
    return " / ".join(f"{value:.3f}" for value in split.f1(columns))
