"""The experiments by name, such as `yan2006-fig4`, and what each module declares.

The first line of a module's docstring is the title: papers, tables and figures, and what is run.
The page shows the rest of it. `DATA` names the sets that it needs, `OPTIONAL` those that it also
uses if they are there, by the keys of `sources.SOURCES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import cleandoc
from pathlib import Path

from examples.papers.verdict import Row

NAMES = sorted(path.stem.replace("_", "-") for path in Path(__file__).parent.glob("*20*_*.py"))


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
    """Import the module of an experiment."""
    module = import_module(f"examples.papers.{name.replace('-', '_')}")
    title, _, text = cleandoc(module.__doc__).partition("\n")
    optional = getattr(module, "OPTIONAL", ())
    return Experiment(
        name, title.removesuffix("."), text.strip(), module.DATA, optional, module.run
    )
