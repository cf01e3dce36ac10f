"""Figures: colours, a figure without a screen, and files written atomically."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from narrows.io.atomic import replacing
from narrows.io.extras import needing

_SVG = "http://www.w3.org/2000/svg"
PICTURES = (".png", ".pdf", ".svg")

# a palette that colour-blind readers distinguish; no plot relies on colour alone
COLOURS = (
    "#332288", "#117733", "#44AA99", "#88CCEE", "#DDCC77",
    "#CC6677", "#AA4499", "#882255", "#888888", "#000000",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
_LONGEST = 24  # characters of a name in a plot


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


def as_inline_svg(figure: Any, titles: Mapping[str, Sequence[str]]) -> str:
    """Return a figure as SVG for a page, whose points have titles: by `gid`, in their order."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    root = ElementTree.fromstring(as_svg(figure))
    for style in [*root.iter(f"{{{_SVG}}}defs")]:
        for each in style.findall(f"{{{_SVG}}}style"):
            style.remove(each)  # it would apply to the page
    for gid, names in titles.items():
        group = next(each for each in root.iter() if each.get("id") == gid)
        for point, name in zip(group.iter(f"{{{_SVG}}}use"), names, strict=True):
            ElementTree.SubElement(point, f"{{{_SVG}}}title").text = name
    for size in ("width", "height"):
        del root.attrib[size]
    return ElementTree.tostring(root, encoding="unicode")


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure to a .png, .pdf or .svg file, atomically."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format=Path(path).suffix.lower().removeprefix("."))


def axes_of(ax: Any, figsize: tuple[float, float]) -> tuple[Any, Any]:
    """Return given axes, or those of a new figure of this size, and their figure."""
    ax = new_figure(figsize=figsize).subplots() if ax is None else ax
    return ax, ax.figure


def printed(name: Any) -> str:
    """Return a name for a plot: no formula, no control characters, shortened."""
    text = "".join(c if c.isprintable() else " " for c in str(name)).replace("$", r"\$")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
