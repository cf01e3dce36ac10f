"""Command line of the reproduced experiments: ``python -m examples.papers``."""

from __future__ import annotations

import os
import tempfile
import warnings
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time

import click
from benchmarks.harness import UnavailableError
from examples.papers import page
from threadpoolctl import threadpool_limits

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*20*_*.py"))


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[NAME]...")
@click.option("--write", is_flag=True, help="Write docs/reproducibility/papers.")
@click.option("--rcv1", type=click.Path(exists=True), help="Folder of the LYRL2004 files.")
@click.option("--ar", type=click.Path(exists=True), help="AR faces, .npz of X and y.")
@click.option("--odp", type=click.Path(exists=True), help="ODP, any file that narrows reads.")
def main(names: tuple[str, ...], write: bool, **brought: str | None) -> None:
    """Run the experiments of the papers, all of them or those named.

    Prints tables of claims, numbers and verdicts. --write saves the pictures and results.json in
    docs/reproducibility/papers, which the page shows. The data are read from the folder
    NARROWS_DATA.
    """
    for name, path in brought.items():
        if path:
            os.environ[f"NARROWS_{name.upper()}"] = path
    out = page.FOLDER if write else Path(tempfile.mkdtemp(prefix="papers-"))
    results, begun = page.load(out), perf_counter()
    for name in names or NAMES:
        start = process_time()
        with threadpool_limits(1), warnings.catch_warnings():  # CPU seconds of one thread
            warnings.filterwarnings("ignore", "I?MMC")  # directions without margin: intended
            try:
                rows = import_module(f"examples.papers.{name}").run(out)
            except (UnavailableError, FileNotFoundError) as missing:
                raise click.ClickException(f"{name}: {missing}") from None
        taken = process_time() - start
        results[name] = {"seconds": round(taken, 1), "rows": [row.as_dict() for row in rows]}
        page.dump(out, results)
        click.echo(f"## {name} ({taken:.0f} s)\n\n{page.table(results[name]['rows'])}\n")
    click.echo(f"{(perf_counter() - begun) / 60:.1f} minutes. Pictures: {out}")


if __name__ == "__main__":
    main()
