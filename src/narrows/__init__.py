"""Supervised dimensionality reduction of large and streaming labelled data.

One criterion, trace(W'AW), and two solution spaces: W picks columns, or W is orthonormal.

    criterion   A      picks columns   orthonormal
    between     S_b    OCFS            OC, OCM

All of them learn at once (`fit`), batch by batch (`partial_fit`), or from states that add up
(`ClassStats`, `fit_stats`, `merge`), with the same answer.
"""

from narrows.families.between import OC, OCFS, OCM
from narrows.stats import ClassStats
from narrows.store import load, save

__all__ = ["OC", "OCFS", "OCM", "ClassStats", "load", "save"]
