"""What is left of the classes after a reduction: scores, comparisons and pictures."""

from narrows.evaluate.overlap import Overlap, selection_overlap

__all__ = ["Overlap", "selection_overlap"]
