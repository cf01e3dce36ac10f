"""The command line of the benchmarks: ``python -m benchmarks run``, ``performance``, ``study``."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks import harness, performance
from benchmarks.methods import METHODS
from benchmarks.problems import PROBLEMS
from benchmarks.studies import STUDIES
from benchmarks.tables import RESULTS


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
        [METHODS[name] for name in methods or METHODS],
        rounds,
        budget,
    )
    click.echo(harness.table(results, base))
    harness.save(results, Path(output))


@main.command()
@click.argument("names", nargs=-1, type=click.Choice(list(STUDIES)), metavar="[NAME]...")
@click.option("--write", is_flag=True, help="Write the tables to docs/results.")
@click.option("--pictures", type=click.Path(exists=True, path_type=Path), help="Draw into it.")
def study(names: tuple[str, ...], write: bool, pictures: Path | None) -> None:
    """Make the tables of the documentation, those named or all.

    The pictures of studies that have some go into the folder of --pictures.
    """
    for name in names or STUDIES:
        made = STUDIES[name]()
        table = made.table()
        click.echo(f"## {name}\n\n{table.markdown()}\n")
        if pictures and hasattr(made, "draw"):
            made.draw(pictures)
        if write:
            table.write(RESULTS / f"{name}.csv")


@main.command("performance")
@click.argument("names", nargs=-1, type=click.Choice(list(PROBLEMS)))
@click.option("--results", default="benchmarks/results/performance.json", show_default=True)
@click.option("--write", is_flag=True, help="Write the tables to docs/results.")
@click.option("--measure/--no-measure", default=True, help="Or take the results there are.")
def suite(names: tuple[str, ...], results: str, write: bool, measure: bool) -> None:
    """Run what docs/benchmarks/speed.md reports, all or some problems, and print the tables."""
    if measure:
        performance.run(names, Path(results))
    for name, table in performance.tables(Path(results)).items():
        click.echo(f"## {name}\n\n{table.markdown()}\n")
        if write:
            table.write(RESULTS / f"{name}.csv")


if __name__ == "__main__":
    main()
