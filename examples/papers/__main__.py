"""Command line of the reproduced experiments: ``python -m examples.papers``."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from time import perf_counter

import click
from benchmarks.harness import UnavailableError
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
    try:
        if names or everything:
            _run_all([_known(name) for name in names] or NAMES, everything, download, write)
        elif write:
            click.echo(f"Wrote {page.write(page.FOLDER, map(experiments.load, NAMES))}.")
        else:
            click.echo(page.listed(map(experiments.load, NAMES)))
    except UnavailableError as error:
        raise click.ClickException(str(error)) from None


def _run_all(names: Sequence[str], everything: bool, download: bool, write: bool) -> None:
    """Run experiments one after the other; leave out those whose data are missing, or fail."""
    begun, ran = perf_counter(), 0
    left: dict[str, list[str]] = {}  # experiments by the set that they lack
    out = page.FOLDER if write else Path(tempfile.mkdtemp(prefix="papers-"))
    for experiment in map(experiments.load, names):
        if download:
            _download(experiment)
        absent = sources.missing(experiment.data)
        if absent:
            for key in absent:
                left.setdefault(key, []).append(experiment.name)
            continue
        _run(experiment, out)
        ran += 1
    if write:
        page.write(out, map(experiments.load, NAMES))
    lines = [f"{sources.advice(key)} Left out: {', '.join(of)}." for key, of in left.items()]
    if left and not everything:
        raise UnavailableError("\n".join(lines))
    minutes = (perf_counter() - begun) / 60
    click.echo(
        "\n".join([*lines, f"{ran} of {len(names)} experiments ran in {minutes:.1f} minutes."])
    )


def _run(experiment: Experiment, out: Path) -> None:
    """Run an experiment; print and save what it finds."""
    click.echo(f"{experiment.name}: {experiment.title}")
    for key in (*experiment.data, *experiment.optional):
        if sources.where(key):
            click.echo(f"Data: {sources.used(key)}.")
    before, start = {path: path.stat().st_mtime_ns for path in out.glob("*.png")}, _cpu()
    with threadpool_limits(1), warnings.catch_warnings():  # CPU seconds of one thread
        warnings.filterwarnings("ignore", ".* components that gain margin")  # intended
        warnings.filterwarnings("ignore", "expected classes, got 40 distinct")  # people of ORL
        rows = [row.as_dict() for row in experiment.run(out)]
    taken = _cpu() - start
    drawn = [path for path in out.glob("*.png") if before.get(path) != path.stat().st_mtime_ns]
    pictures = sorted(path.name for path in drawn)
    results = page.load(out)
    results[experiment.name] = {"seconds": round(taken, 1), "pictures": pictures, "rows": rows}
    page.dump(out, results)
    click.echo(page.text(rows))
    for name in pictures:
        click.echo(f"Picture: {out / name}")
    click.echo(f"{taken:.0f} CPU seconds.\n")


def _cpu() -> float:
    """Return the CPU seconds of this process and of those it started that have ended."""
    return sum(os.times()[:4])


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
