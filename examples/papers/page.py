"""The page docs/reproducibility/papers.md and its tables, from results.json and the modules.

The tables are CSV files in the folder of results.json, which the page shows.
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.tables import Table
from examples.papers import sources
from examples.papers.experiments import Experiment
from examples.papers.verdict import PAPERS, VERDICTS

from narrows.io.atomic import replacing

FOLDER = Path(__file__).parents[2] / "docs" / "reproducibility" / "papers"
TEMPLATE = Path(__file__).with_name("page.md")
Results = dict[str, dict[str, Any]]
HEADER = ("paper", "where", "claim", "the paper", "here", "verdict", "note", "experiment")


def load(out: Path) -> Results:
    """Read results.json of a folder."""
    path = out / "results.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def dump(out: Path, results: Results) -> None:
    """Write results.json."""
    with replacing(out / "results.json") as temporary:
        text = json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False)
        Path(temporary).write_text(text + "\n", encoding="utf-8")


def text(rows: list[dict[str, str]]) -> str:
    """Return rows as text for a terminal, each claim below its paper and its place in it."""
    lines = []
    for row in rows:
        lines.append(f"\n{PAPERS[row['paper']]}, {row['where']}: {row['verdict'].upper()}")
        for name, key in (("claim", "claim"), ("paper", "theirs"), ("here", "ours"),
                          ("note", "note")):  # fmt: skip
            if row[key]:
                lines.append(
                    textwrap.fill(f"{name:>7}: {row[key]}", 100, subsequent_indent=" " * 9)
                )
    return "\n".join(lines) + "\n"


def listed(experiments: Iterable[Experiment]) -> str:
    """Return the experiments as text: title, seconds, data and verdicts, paper by paper."""
    results, lines = load(FOLDER), []
    by_paper: dict[str, list[Experiment]] = {paper: [] for paper in PAPERS}
    for experiment in experiments:
        by_paper[experiment.name.split("-")[0]].append(experiment)
    for paper, some in by_paper.items():
        lines.append(f"{PAPERS[paper]}\n")
        for experiment in some:
            found = results.get(experiment.name, {"seconds": 0.0, "rows": []})
            data = [f"{sources.SOURCES[key].title} ({_place(key)})" for key in experiment.data]
            data += [
                f"{sources.SOURCES[key].title} (optional, {_place(key)})"
                for key in experiment.optional
            ]
            counts = Counter(row["verdict"] for row in found["rows"])
            verdicts = ", ".join(f"{v} {counts[v]}" for v in VERDICTS if counts[v])
            title = experiment.title.removeprefix(f"{PAPERS[paper]} ")
            lines.append(f"  {experiment.name:22} {title}")
            lines.append(f"{'':25}data: {', '.join(data) or 'generated'}")
            lines.append(f"{'':25}{found['seconds']:.0f} CPU seconds; {verdicts}\n")
    return "\n".join(lines)


def _place(key: str) -> str:
    """Return from where a set is read, or that it is missing and whether it can be downloaded."""
    return sources.where(key) or ("--download" if sources.SOURCES[key].fetcher else "missing")


def tables(results: Results, experiments: Iterable[Experiment]) -> dict[str, Table]:
    """Return the tables: verdicts by paper, claims, and experiments that have results."""
    found = _found(results, experiments)
    rows = [{**row, "experiment": f"`{each.name}`"} for each in found
            for row in results[each.name]["rows"]]  # fmt: skip
    claims = []
    for paper in PAPERS:
        shown = [row for row in rows if row["paper"] == paper]
        shown.sort(key=lambda row: not row["experiment"].startswith(f"`{paper}-"))  # own ones first
        claims += map(_cells, shown)
    described = []
    for each in found:
        place, what = _parts(each)
        seconds = f"{results[each.name]['seconds']:.0f}"
        described.append([f"`{each.name}`", place, what, _needed(each), seconds])
    header = ("experiment", "of", "what", "data", "CPU seconds")
    return {
        "verdicts": _verdicts(rows),
        "claims": Table(HEADER, claims),
        "experiments": Table(header, described),
    }


def markdown(results: Results, experiments: Iterable[Experiment]) -> str:
    """Return the page: the template with the texts and pictures of the experiments in it."""
    page = TEMPLATE.read_text(encoding="utf-8")
    found = _found(results, experiments)
    for paper in PAPERS:
        own = [each for each in found if each.name.split("-")[0] == paper]
        sections = "\n\n".join(_section(each, results[each.name]["pictures"]) for each in own)
        page = page.replace(f"{{{{{paper}}}}}\n", f"{sections}\n")
    return page


def _found(results: Results, experiments: Iterable[Experiment]) -> list[Experiment]:
    return [experiment for experiment in experiments if experiment.name in results]


def _verdicts(rows: list[dict[str, str]]) -> Table:
    """Return how many claims of each paper have each verdict."""
    counts = {paper: Counter(r["verdict"] for r in rows if r["paper"] == paper) for paper in PAPERS}
    total = sum(counts.values(), Counter())
    lines = [[PAPERS[paper], *(of[v] for v in VERDICTS)] for paper, of in counts.items()]
    bold = ["**all**", *(f"**{total[verdict]}**" for verdict in VERDICTS)]
    return Table(["paper", *VERDICTS], [*lines, bold])


def _cells(row: dict[str, str]) -> list[str]:
    keys = ("where", "claim", "theirs", "ours", "verdict", "note", "experiment")
    cells = [f"**{row[key]}**" if key == "verdict" else row[key] for key in keys]
    return [PAPERS[row["paper"]], *cells]


def _parts(experiment: Experiment) -> tuple[str, str]:
    """Return of which papers and figures an experiment is, and what it runs."""
    place, _, what = experiment.title.partition(": ")
    return place, _code(what)


def _needed(experiment: Experiment) -> str:
    return ", ".join(sources.SOURCES[key].title for key in experiment.data) or "generated"


def _code(text: str) -> str:
    return text.replace("comp.*", "`comp.*`")


def _section(experiment: Experiment, pictures: list[str]) -> str:
    """Return how an experiment differs from the paper, and its pictures."""
    place, what = _parts(experiment)
    short = place.removeprefix(f"{PAPERS[experiment.name.split('-')[0]]} ").split(",")[0]
    images = [f"![{short}]({FOLDER.name}/{name})" for name in pictures]
    parts = [f"### {experiment.name}: {what}", _code(experiment.text), *images]
    return "\n\n".join(filter(None, parts))


def write(out: Path, experiments: Iterable[Experiment]) -> Path:
    """Write the tables to the folder of the results, and the page beside it."""
    path, results, experiments = out.with_suffix(".md"), load(out), list(experiments)
    for name, table in tables(results, experiments).items():
        table.write(out / f"{name}.csv")
    with replacing(path) as temporary:
        Path(temporary).write_text(markdown(results, experiments), encoding="utf-8")
    return path
