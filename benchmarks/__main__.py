"""The command line of the benchmarks: ``python -m benchmarks run``."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks import harness
from benchmarks.methods import METHODS
from benchmarks.problems import PROBLEMS


@click.group()
def main() -> None:
    """Measure narrows and what else one would use."""


@main.command()
@click.option("--problem", "problems", multiple=True, type=click.Choice(list(PROBLEMS)))
@click.option("--method", "methods", multiple=True, type=click.Choice(list(METHODS)))
@click.option("--rounds", default=5, show_default=True)
@click.option("--budget", default=120.0, show_default=True, help="Seconds for one run, at most.")
@click.option("--base", default="chi2", show_default=True, help="What ratios are taken to.")
@click.option("-o", "--output", default="benchmarks/results/latest.json", show_default=True)
def run(
    problems: tuple[str, ...],
    methods: tuple[str, ...],
    rounds: int,
    budget: float,
    base: str,
    output: str,
) -> None:
    """Run every method on every problem in turn; print a table and write JSON."""
    results = harness.run(
        [PROBLEMS[name]() for name in problems or PROBLEMS],
        [METHODS[name]() for name in methods or METHODS],
        rounds,
        budget,
    )
    click.echo(harness.table(results, base))
    harness.save(results, Path(output))


if __name__ == "__main__":
    main()
