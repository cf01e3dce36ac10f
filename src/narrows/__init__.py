"""Supervised dimensionality reduction of large and streaming labelled data.

One criterion, trace(W'AW), and two solution spaces: W picks columns, or W is orthonormal; and two
schedules: exact, or one step a sample.

    criterion     A                    picks columns     orthonormal, exact   one step a sample
    between       S_b                  OCFS              OC, OCM              IOC, IIS
    margin        S_b - eps S_w        MMCFS                                  IMMC
    total         C                    VarianceFS                             CCIPCA
    Fisher        the pair S_b, S_w    FisherFS                               ILDA
    contingency   counts of presence   IG, CHI, MI, DF

All of them learn at once (`fit`) or batch by batch (`partial_fit`), with the same answer; the
exact ones also from states that add up (`ClassStats`, `fit_stats`, `merge`).
"""

from importlib.metadata import version

from narrows.families.between import IIS, IOC, OC, OCFS, OCM
from narrows.families.contingency import CHI, DF, IG, MI
from narrows.families.fisher import ILDA, FisherFS
from narrows.families.margin import IMMC, MMCFS
from narrows.families.total import CCIPCA, VarianceFS
from narrows.stats import ClassStats
from narrows.store import load, save

__version__ = version("narrows")

__all__ = [
    "CCIPCA",
    "CHI",
    "DF",
    "IG",
    "IIS",
    "ILDA",
    "IMMC",
    "IOC",
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
