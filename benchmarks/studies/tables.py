"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; figures have three decimals."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join(lines)


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over the seeds."""
    return f"{_cell(float(np.mean(values)))} ± {_cell(float(np.std(values, ddof=1)))}"


def middle(values: Sequence[float]) -> str:
    """Median over the seeds, with the smallest and the largest value where they differ."""
    low, mid, high = (figure(f(values)) for f in (min, np.median, max))
    return mid if low == high else f"{mid} ({low} to {high})"


def figure(value: float) -> str:
    """Three decimals."""
    return f"{value:.3f}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return figure(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
