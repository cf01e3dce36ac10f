"""What all pictures share: colours, a figure without a screen, and a file that is whole or not."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from narrows.io.atomic import replacing

PICTURES = (".png", ".pdf", ".svg")

# told apart by most who see colours differently; nothing relies on colour alone
COLOURS = (
    "#332288", "#117733", "#44AA99", "#88CCEE", "#DDCC77",
    "#CC6677", "#AA4499", "#882255", "#888888", "#000000",
)  # fmt: skip


def new_figure(figsize: tuple[float, float]) -> Any:
    """Return an empty matplotlib figure, of so many inches; ImportError names the extra."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "matplotlib is needed for the picture: pip install 'narrows[plots]'."
        ) from None
    return Figure(figsize=figsize, layout="constrained", dpi=110)


def as_svg(figure: Any) -> bytes:
    """Return a figure as SVG that names no address, with words as text for a browser to set."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "narrows"}):
        figure.savefig(buffer, format="svg", metadata=nothing)
    svg = buffer.getvalue()
    return svg[svg.index(b"<svg") :]  # what comes before says where SVG is defined


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file that ends in .png, .pdf or .svg, replaced only when complete."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format=Path(path).suffix.lower().removeprefix("."))
