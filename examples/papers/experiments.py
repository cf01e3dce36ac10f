"""The experiments by name, such as `yan2006-fig4`, and what each module declares.

The first line of a module's docstring is the title: papers, tables and figures, and what is run.
The page shows the rest of it. `DATA` names the sets that it needs, `OPTIONAL` those that it also
uses if they are there, by the keys of `sources.SOURCES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

from benchmarks.harness import UnavailableError
from examples.papers.verdict import Row


def _order(name: str) -> list[str | int]:
    """Return a key that sorts fig4 before fig10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


NAMES = sorted(
    (path.stem.replace("_", "-") for path in Path(__file__).parent.glob("*20*_*.py")), key=_order
)


@dataclass(frozen=True)
class Experiment:
    """A module: its title and text, the sets that it needs, and the function that runs it."""

    name: str
    title: str
    text: str
    data: tuple[str, ...]
    optional: tuple[str, ...]
    run: Callable[[Path], list[Row]]


def load(name: str) -> Experiment:
    """Import the module of an experiment; UnavailableError without the extra `plots`."""
    try:
        module = import_module(f"examples.papers.{name.replace('-', '_')}")
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"expected the packages of the extra `plots`, got: {error}. "
            "Install them with pip install '.[plots]'."
        ) from None
    title, _, text = cleandoc(module.__doc__).partition("\n")
    optional = getattr(module, "OPTIONAL", ())
    return Experiment(
        name, title.removesuffix("."), text.strip(), module.DATA, optional, module.run
    )
