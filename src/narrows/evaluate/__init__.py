"""Evaluation of reductions: comparisons, convergence, drift, overlap of selections, and plots."""

from narrows.evaluate.comparison import Comparison, compare
from narrows.evaluate.convergence import Convergence, ConvergenceDisplay, convergence
from narrows.evaluate.displays import (
    ComparisonDisplay,
    EnergyDisplay,
    GainDisplay,
    ScatterDisplay,
)
from narrows.evaluate.overlap import Overlap, drift, selection_overlap

__all__ = [
    "Comparison",
    "ComparisonDisplay",
    "Convergence",
    "ConvergenceDisplay",
    "EnergyDisplay",
    "GainDisplay",
    "Overlap",
    "ScatterDisplay",
    "compare",
    "convergence",
    "drift",
    "selection_overlap",
]
