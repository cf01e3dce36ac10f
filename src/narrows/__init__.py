"""Supervised dimensionality reduction of large and streaming labelled data.

One criterion, trace(W'AW), and two solution spaces: W picks columns, or W is orthonormal; and two
schedules: exact, or one step a sample.

    criterion    A                   picks columns    orthonormal, exact   one step a sample
    between      S_b                 OCFS             OC, OCM              IOC, IIS
    margin       S_b - eps S_w       MMCFS            MMC                  IMMC
    total        C                   VarianceFS                            CCIPCA
    Fisher       the pair S_b, S_w   FisherFS         LDA, SRDA, IDRQR     ILDA, IDRQR, OnlineSRDA
    contingency  counts of presence  IG, CHI, MI, DF

MMC, LDA and SRDA want all rows at once. The others learn at once (`fit`) or batch by batch
(`partial_fit`), with the same answer but for IDRQR, and OnlineSRDA, which shuffles; the selectors,
OC and OCM also from states that add up (`ClassStats`, `fit_stats`, `merge`); these forget by
`half_life`, or know the last rows alone in a `Window`.
"""

import sys
from importlib.metadata import version

from narrows.families.between import OC, OCFS, OCM
from narrows.families.between_online import IIS, IOC
from narrows.families.contingency import CHI, IG, MI
from narrows.families.document_frequency import DF
from narrows.families.fisher import ILDA, FisherFS
from narrows.families.idrqr import IDRQR
from narrows.families.lda import LDA
from narrows.families.margin import MMC, MMCFS
from narrows.families.margin_online import IMMC
from narrows.families.online_srda import OnlineSRDA
from narrows.families.srda import SRDA
from narrows.families.total import CCIPCA, VarianceFS
from narrows.families.window import Window
from narrows.io import read
from narrows.io.store import load, save
from narrows.moments.stats import ClassStats
from narrows.solve import errors

__version__ = version("narrows")

__all__ = [
    "CCIPCA",
    "CHI",
    "DF",
    "IDRQR",
    "IG",
    "IIS",
    "ILDA",
    "IMMC",
    "IOC",
    "LDA",
    "MI",
    "MMC",
    "MMCFS",
    "OC",
    "OCFS",
    "OCM",
    "SRDA",
    "ClassStats",
    "FisherFS",
    "OnlineSRDA",
    "VarianceFS",
    "Window",
    "load",
    "save",
]

# their public names, as `os.path` has one
sys.modules.update({"narrows.errors": errors, "narrows.read": read})
