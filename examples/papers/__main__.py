"""Command line of the reproduced experiments: ``python -m examples.papers``."""

from __future__ import annotations

import os
import tempfile
import warnings
from difflib import get_close_matches
from pathlib import Path
from time import perf_counter, process_time

import click
from examples.papers import downloads, experiments, page, sources
from examples.papers.experiments import NAMES, Experiment
from threadpoolctl import threadpool_limits

_LIST = "\n".join(f"  {name}" for name in NAMES)


@click.command(epilog=f"\b\nExperiments:\n{_LIST}")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Run all whose data are here.")
@click.option("--download", is_flag=True, help="Download missing data by scikit-learn.")
@click.option("--write", is_flag=True, help="Write the page and its results; alone, the page.")
@click.option("--rcv1", type=click.Path(exists=True), help="Folder of the LYRL2004 files.")
@click.option("--ar", type=click.Path(exists=True), help="AR faces, .npz of X and y.")
@click.option("--odp", type=click.Path(exists=True), help="ODP, any file that narrows reads.")
def main(
    names: tuple[str, ...], everything: bool, download: bool, write: bool, **brought: str | None
) -> None:
    """Run experiments of the papers, or list them without a NAME.

    A run prints each claim of the papers with the paper's number, the number measured here and the
    verdict, and saves its pictures.
    """
    for name, path in brought.items():
        if path:
            os.environ[f"NARROWS_{name.upper()}"] = path
    if write and not (names or everything):
        click.echo(f"Wrote {page.write(page.FOLDER, map(experiments.load, NAMES))}.")
        return
    if not (names or everything):
        click.echo(page.listed([experiments.load(name) for name in NAMES]))
        return
    chosen = [experiments.load(_known(name)) for name in names or NAMES]
    begun, ran, left = perf_counter(), 0, []
    out = page.FOLDER if write else Path(tempfile.mkdtemp(prefix="papers-"))
    for experiment in chosen:
        if download:
            _download(experiment)
        absent = sources.missing(experiment.data)
        if absent:
            left += [f"{experiment.name}: {sources.advice(key)}" for key in absent]
            continue
        _run(experiment, out)
        ran += 1
    if left and not everything:
        raise click.ClickException("\n".join(left))
    if write:
        page.write(out, map(experiments.load, NAMES))
    click.echo("".join(f"Left out {line}\n" for line in left), nl=False)
    click.echo(f"{ran} experiments ran in {(perf_counter() - begun) / 60:.1f} minutes.")


def _run(experiment: Experiment, out: Path) -> None:
    """Run an experiment; print and save what it finds."""
    click.echo(f"{experiment.name}: {experiment.title}")
    for key in (*experiment.data, *experiment.optional):
        if sources.where(key):
            click.echo(f"Data: {sources.used(key)}.")
    before, start = {path: path.stat().st_mtime_ns for path in out.glob("*.png")}, process_time()
    with threadpool_limits(1), warnings.catch_warnings():  # CPU seconds of one thread
        warnings.filterwarnings("ignore", "I?MMC")  # directions without margin: intended
        rows = [row.as_dict() for row in experiment.run(out)]
    taken = process_time() - start
    drawn = [path for path in out.glob("*.png") if before.get(path) != path.stat().st_mtime_ns]
    pictures = sorted(path.name for path in drawn)
    results = page.load(out)
    results[experiment.name] = {"seconds": round(taken, 1), "pictures": pictures, "rows": rows}
    page.dump(out, results)
    click.echo(page.text(rows))
    for name in pictures:
        click.echo(f"Picture: {out / name}")
    click.echo(f"{taken:.0f} CPU seconds.\n")


def _download(experiment: Experiment) -> None:
    """Download the sets of an experiment that scikit-learn fetches and that are in no folder."""
    for key in experiment.data:
        source = sources.SOURCES[key]
        here = sources.given(key) or source.in_folder() or source.downloaded()
        if source.fetcher and not here:
            click.echo(f"Downloading {source.title}: scikit-learn's {source.fetcher}.")
            try:
                downloads.download(key)
            except Exception as error:  # of the network, or of what came
                click.echo(f"{source.title} was not downloaded: {error}", err=True)


def _known(name: str) -> str:
    """Return the name of an experiment; the error names one like it."""
    known = name.replace("_", "-")
    if known not in NAMES:
        near = get_close_matches(known, NAMES, 1)
        hint = f"Did you mean {near[0]}?" if near else "Without a name, the command lists them."
        raise click.UsageError(f"expected the name of an experiment, got {name!r}. {hint}")
    return known


if __name__ == "__main__":
    main()
