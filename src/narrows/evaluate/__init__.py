"""Evaluation of reductions: comparisons, convergence, drift, overlap of selections, and plots."""

from narrows.evaluate.comparison import Comparison, compare
from narrows.evaluate.convergence import Convergence, ConvergenceDisplay, convergence
from narrows.evaluate.displays import (
    ComparisonDisplay,
    EnergyDisplay,
    GainDisplay,
    RetrievalDisplay,
    ScatterDisplay,
)
from narrows.evaluate.overlap import Overlap, drift, selection_overlap
from narrows.evaluate.retrieval import Retrieval, retrieval

__all__ = [
    "Comparison",
    "ComparisonDisplay",
    "Convergence",
    "ConvergenceDisplay",
    "EnergyDisplay",
    "GainDisplay",
    "Overlap",
    "Retrieval",
    "RetrievalDisplay",
    "ScatterDisplay",
    "compare",
    "convergence",
    "drift",
    "retrieval",
    "selection_overlap",
]
