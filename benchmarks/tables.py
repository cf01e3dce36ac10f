"""Tables of results: CSV files in docs/results, which the pages of the documentation show."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent.parent / "docs" / "results"
_GROUPED = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
_LONG = re.compile(r"-?\d{4,}(\.\d+)?")


class Table:
    """Cells as text, in Markdown; numbers without the commas that the pages show."""

    def __init__(self, header: Sequence[str], rows: Iterable[Sequence[Any]]):
        self.header = list(header)
        self.rows = [[_cell(value) for value in row] for row in rows]

    @classmethod
    def read(cls, name: str, folder: Path = RESULTS) -> Table:
        """Read the table of a name in a folder."""
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        return cls(header, rows)

    def write(self, path: Path) -> None:
        """Write a CSV file."""
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([self.header, *self.rows])

    def only(self, value: str) -> Table:
        """Return the rows whose first cell is the value, without this cell."""
        return Table(self.header[1:], [row[1:] for row in self.rows if row[0] == value])

    def cell(self, column: str, *keys: str) -> str:
        """Return the cell of a column in the one row that begins with these cells."""
        [row] = [row for row in self.rows if tuple(row[: len(keys)]) == keys]
        return row[self.header.index(column)]

    def markdown(self) -> str:
        """Return a Markdown table."""
        lines = ["| " + " | ".join(self.header) + " |", "|" + "---|" * len(self.header)]
        lines += ["| " + " | ".join(map(_shown, row)) + " |" for row in self.rows]
        return "\n".join(lines)


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation over the seeds."""
    return f"{figure(float(np.mean(values)))} ± {figure(float(np.std(values, ddof=1)))}"


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
    text = str(value)
    return text.replace(",", "") if _GROUPED.fullmatch(text) else text


def _shown(cell: str) -> str:
    if _LONG.fullmatch(cell):
        whole, point, decimals = cell.partition(".")
        return f"{int(whole):,}{point}{decimals}"
    return cell.replace("|", r"\|")
