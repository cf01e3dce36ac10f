"""Supervised dimensionality reduction of large and streaming labelled data.

One criterion, trace(W'AW), and two solution spaces: W picks columns, or W is orthonormal.

    criterion     A                    picks columns     orthonormal
    between       S_b                  OCFS              OC, OCM
    margin        S_b - eps S_w        MMCFS
    total         C                    VarianceFS
    Fisher        the pair S_b, S_w    FisherFS
    contingency   counts of presence   IG, CHI, MI, DF

All of them learn at once (`fit`), batch by batch (`partial_fit`), or from states that add up
(`ClassStats`, `fit_stats`, `merge`), with the same answer.
"""

from importlib.metadata import version

from narrows.families.between import OC, OCFS, OCM
from narrows.families.contingency import CHI, DF, IG, MI
from narrows.families.fisher import FisherFS
from narrows.families.margin import MMCFS
from narrows.families.total import VarianceFS
from narrows.stats import ClassStats
from narrows.store import load, save

__version__ = version("narrows")

__all__ = [
    "CHI",
    "DF",
    "IG",
    "MI",
    "MMCFS",
    "OC",
    "OCFS",
    "OCM",
    "ClassStats",
    "FisherFS",
    "VarianceFS",
    "load",
    "save",
]
