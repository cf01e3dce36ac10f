"""Figures: colours, a figure without a screen, and files written atomically."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from narrows.io.atomic import replacing
from narrows.io.extras import needing

PICTURES = (".png", ".pdf", ".svg")

# a palette that colour-blind readers distinguish; no plot relies on colour alone
COLOURS = (
    "#332288", "#117733", "#44AA99", "#88CCEE", "#DDCC77",
    "#CC6677", "#AA4499", "#882255", "#888888", "#000000",
)  # fmt: skip


def new_figure(figsize: tuple[float, float]) -> Any:
    """Return an empty matplotlib figure of this size in inches."""
    with needing("plots", "matplotlib", "Plots"):
        from matplotlib.figure import Figure
    return Figure(figsize=figsize, layout="constrained", dpi=110)


def as_svg(figure: Any) -> bytes:
    """Return a figure as SVG without addresses in its metadata, with words as text."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "narrows"}):
        figure.savefig(buffer, format="svg", metadata=nothing)
    svg = buffer.getvalue()
    return svg[svg.index(b"<svg") :]  # without the document type, which is an address


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure to a .png, .pdf or .svg file, atomically."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format=Path(path).suffix.lower().removeprefix("."))
