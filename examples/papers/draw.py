"""Helpers for the pictures: each method has its own colour, line style and marker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from narrows.evaluate.displays import COLOURS, new_figure, save_figure

_ORDER = (0, 5, 1, 3, 9, 6, 4, 8)  # of the colours, so that the first few differ most
_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), "-")
PRINTED = "#bbbbbb"  # bars of the numbers that a paper prints
_MARKERS = "os^DvPX*"


def style(number: int, marker: bool = True) -> dict[str, Any]:
    """Return colour, line style and marker of the curve with this number."""
    return {
        "color": COLOURS[_ORDER[number % len(_ORDER)]],
        "linestyle": _STYLES[number % len(_STYLES)],
        "marker": _MARKERS[number % len(_MARKERS)] if marker else "",
        "markersize": 5,
        "linewidth": 1.5,
    }


def panels(columns: int, rows: int = 1, width: float = 4.3, height: float = 3.5) -> Any:
    """Return a figure and its axes, in one flat list."""
    figure = new_figure((width * columns, height * rows))
    figure.set_dpi(90)
    return figure, figure.subplots(rows, columns, squeeze=False).ravel().tolist()


def curves(
    ax: Any,
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    marker: bool = True,
    log: str = "",
    ticks: bool = False,
    legend: bool = True,
    **words: str,
) -> None:
    """Draw lines over x; `log` names the axes with a log scale; words are title, xlabel, ylabel."""
    for number, (name, y) in enumerate(lines.items()):
        ax.plot(x[: len(y)], y, label=name, **style(number, marker))
    if "x" in log:
        ax.set_xscale("log")
    if "y" in log:
        ax.set_yscale("log")
    if ticks:
        ax.set_xticks(x, [f"{value:,}" for value in x], fontsize=8)
        ax.set_xticks([], minor=True)
    ax.set(**words)
    ax.grid(alpha=0.25)
    if legend:
        ax.legend(fontsize=8, framealpha=0.8)


def bars(
    ax: Any, groups: Sequence[str], lines: Mapping[str, Sequence[float]], **words: str
) -> None:
    """Draw bars side by side, each method with its own hatch and colour."""
    width = 0.8 / len(lines)
    for number, (name, heights) in enumerate(lines.items()):
        at = np.arange(len(groups)) + (number - (len(lines) - 1) / 2) * width
        colour = PRINTED if name == "the paper" else COLOURS[_ORDER[number % len(_ORDER)]]
        hatch = ("", "//", "..", "xx", "--")[number % 5]
        here = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.5}
        ax.bar(at, heights, width, label=name, **here)
    ax.set_xticks(range(len(groups)), groups)
    ax.set(**words)
    ax.grid(axis="y", alpha=0.25)
    ax.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))


def beside(
    ax: Any,
    groups: Sequence[str],
    printed: Sequence[float],
    here: Sequence[float],
    digits: int = 2,
    log: bool = False,
    legend: bool = True,
    **words: str,
) -> None:
    """Draw the numbers that a paper prints as bars beside ours, with the numbers above them."""
    kinds = (("the paper", printed, PRINTED, "///"), ("here", here, COLOURS[0], ""))
    for number, (name, heights, colour, hatch) in enumerate(kinds):
        look = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.5}
        drawn = ax.bar(
            np.arange(len(groups)) + 0.4 * number - 0.2, heights, 0.4, label=name, **look
        )
        shown = [_short(value, digits) for value in heights]
        ax.bar_label(drawn, shown, fontsize=6, rotation=90, padding=2)
    ax.set_xticks(range(len(groups)), groups, fontsize=8)
    ax.set(**words)
    if log:
        ax.set_yscale("log")
    ax.margins(y=0.3)
    ax.grid(axis="y", alpha=0.25)
    if legend:
        ax.legend(fontsize=8, framealpha=0.8)


def _short(value: float, digits: int) -> str:
    """Write a number with at most these decimals, from 100 on none; nothing for a missing one."""
    if np.isnan(value):
        return ""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


def points(ax: Any, X: np.ndarray, y: np.ndarray, **words: str) -> None:
    """Draw samples with two features, each class with its own marker and colour."""
    for number, label in enumerate(np.unique(y)):
        here = style(number)
        ax.plot(*X[y == label].T, here["marker"], color=here["color"], ms=4, alpha=0.7, label=label)
    ax.set(**words)
    ax.grid(alpha=0.25)


def background(ax: Any, X: np.ndarray, y: np.ndarray, title: str) -> None:
    """Draw samples with two features in grey and black, with room for directions and a legend."""
    for label, marker, colour in zip(np.unique(y), "os", ("#999999", "black"), strict=True):
        here = {"markerfacecolor": "none", "markeredgecolor": colour, "ms": 4, "linestyle": ""}
        ax.plot(*X[y == label].T, marker, label=f"class {label + 1}", **here)
    ax.set(title=title, xlim=(-28, 52), ylim=(-10, 10))
    ax.set(xlabel="first feature", ylabel="second feature")
    ax.grid(alpha=0.25)


def line(ax: Any, direction: np.ndarray, number: int, label: str, high: float) -> None:
    """Draw a direction through the origin, up to a height or 25 to the side."""
    a, b = np.abs(direction)
    end = direction * (high / b if 25 * b > high * a else 25 / a)
    ax.plot([-end[0], end[0]], [-end[1], end[1]], label=label, **style(number, marker=False))


def save(figure: Any, out: Path, name: str) -> None:
    """Save a picture with 256 colours, which keeps the file small."""
    path = out / f"{name}.png"
    save_figure(figure, path)
    with Image.open(path) as image:
        few = image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)
    few.save(path, optimize=True)
