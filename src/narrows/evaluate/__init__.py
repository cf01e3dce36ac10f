"""Evaluation of reductions: comparisons, retrieval, drift, and plots."""

from typing import Any

from narrows.evaluate.angles import drift
from narrows.evaluate.comparison import compare
from narrows.evaluate.displays import (
    ComparisonDisplay,
    EnergyDisplay,
    GainDisplay,
    RetrievalDisplay,
    ScatterDisplay,
)
from narrows.evaluate.results import Comparison
from narrows.evaluate.retrieval import Retrieval, retrieval
from narrows.removed import check_name

__all__ = [
    "Comparison",
    "ComparisonDisplay",
    "EnergyDisplay",
    "GainDisplay",
    "Retrieval",
    "RetrievalDisplay",
    "ScatterDisplay",
    "compare",
    "drift",
    "retrieval",
]


def __getattr__(name: str) -> Any:
    check_name("narrows.evaluate", name)
    raise AttributeError(f"module 'narrows.evaluate' has no attribute {name!r}")
