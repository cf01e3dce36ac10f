"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; figures are shortened as the papers do, .873 for 0.873."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join(lines)


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over the seeds."""
    return f"{_cell(float(np.mean(values)))} ± {_cell(float(np.std(values, ddof=1)))}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}".replace("0.", ".", 1) if 0 <= value < 1 else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
