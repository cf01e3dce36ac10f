"""The page docs/reproducibility/papers.md and its tables, from results.json and the modules."""

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
HEADER = ("where", "claim", "the paper", "here", "verdict", "note", "experiment")


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


def markdown(results: Results, experiments: Iterable[Experiment]) -> str:
    """Return the page: the template with the tables, texts and pictures in it."""
    page = TEMPLATE.read_text(encoding="utf-8")
    found = [experiment for experiment in experiments if experiment.name in results]
    rows = [{**row, "experiment": f"`{experiment.name}`"} for experiment in found
            for row in results[experiment.name]["rows"]]  # fmt: skip
    minutes = sum(results[experiment.name]["seconds"] for experiment in found) / 60
    parts = {
        "summary": _summary(rows),
        "seconds": f"All {len(found)} experiments take {minutes:.0f} minutes of CPU time.",
    }
    for paper in PAPERS:
        own = [experiment for experiment in found if experiment.name.split("-")[0] == paper]
        shown = [row for row in rows if row["paper"] == paper]
        shown.sort(key=lambda row: not row["experiment"].startswith(f"`{paper}-"))  # own ones first
        table = Table(HEADER, map(_cells, shown)).markdown()
        parts[paper] = "\n\n".join([table, *(_section(each, results) for each in own)])
    for name, text in parts.items():
        page = page.replace(f"{{{{{name}}}}}\n", f"{text}\n")
    return page


def _summary(rows: list[dict[str, str]]) -> str:
    """Return how many claims of each paper have each verdict."""
    counts = {paper: Counter(r["verdict"] for r in rows if r["paper"] == paper) for paper in PAPERS}
    total = sum(counts.values(), Counter())
    lines = [[PAPERS[paper], *(of[v] for v in VERDICTS)] for paper, of in counts.items()]
    bold = ["**all**", *(f"**{total[verdict]}**" for verdict in VERDICTS)]
    return Table(["paper", *VERDICTS], [*lines, bold]).markdown()


def _cells(row: dict[str, str]) -> list[str]:
    keys = ("where", "claim", "theirs", "ours", "verdict", "note", "experiment")
    return [f"**{row[key]}**" if key == "verdict" else row[key] for key in keys]


def _section(experiment: Experiment, results: Results) -> str:
    """Return what an experiment does, how to run it, and its pictures."""
    found = results[experiment.name]
    needed = ", ".join(sources.SOURCES[key].title for key in experiment.data) or "generated"
    title = experiment.title.removeprefix(f"{PAPERS[experiment.name.split('-')[0]]} ")
    parts = [
        f"### {title[0].upper()}{title[1:]}",
        experiment.text,
        f"`python -m examples.papers {experiment.name}`: {found['seconds']:.0f} CPU seconds. "
        f"Data: {needed}.",
        *(f"![{title}]({FOLDER.name}/{name})" for name in found["pictures"]),
    ]
    return "\n\n".join(part.replace("comp.*", "`comp.*`") for part in parts if part)


def write(out: Path, experiments: Iterable[Experiment]) -> Path:
    """Write the page beside the folder of the results."""
    path = out.with_suffix(".md")
    with replacing(path) as temporary:
        Path(temporary).write_text(markdown(load(out), experiments), encoding="utf-8")
    return path
