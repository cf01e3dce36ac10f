"""Evaluation of reductions: comparisons, convergence, drift, overlap of selections, and plots."""

from narrows.evaluate.comparison import Comparison, compare
from narrows.evaluate.convergence import Convergence, ConvergenceDisplay, convergence
from narrows.evaluate.displays import ComparisonDisplay, EnergyDisplay
from narrows.evaluate.drift import drift
from narrows.evaluate.overlap import Overlap, selection_overlap
from narrows.evaluate.scatter import ScatterDisplay

__all__ = [
    "Comparison",
    "ComparisonDisplay",
    "Convergence",
    "ConvergenceDisplay",
    "EnergyDisplay",
    "Overlap",
    "ScatterDisplay",
    "compare",
    "convergence",
    "drift",
    "selection_overlap",
]
