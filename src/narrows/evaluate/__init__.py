"""What is left of the classes after a reduction: scores, comparisons and pictures."""

from narrows.evaluate.comparison import compare
from narrows.evaluate.convergence import Convergence, ConvergenceDisplay, convergence
from narrows.evaluate.overlap import Overlap, selection_overlap

__all__ = [
    "Convergence",
    "ConvergenceDisplay",
    "Overlap",
    "compare",
    "convergence",
    "selection_overlap",
]
