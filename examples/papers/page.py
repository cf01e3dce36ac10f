"""The tables of verdicts that docs/reproducibility/papers.md shows, from results.json."""

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
Results = dict[str, dict[str, Any]]
HEADER = ("where", "claim", "the paper", "here", "verdict", "note")


def load(out: Path) -> Results:
    """Read results.json of a folder."""
    path = out / "results.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def dump(out: Path, results: Results) -> None:
    """Write results.json."""
    with replacing(out / "results.json") as temporary:
        text = json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False)
        Path(temporary).write_text(text + "\n", encoding="utf-8")


def table(rows: list[dict[str, str]]) -> str:
    """Return rows as a Markdown table."""
    return Table(HEADER, [[_cell(row, name) for name in HEADER] for row in rows]).markdown()


def _cell(row: dict[str, str], name: str) -> str:
    text = row[{"the paper": "theirs", "here": "ours"}.get(name, name)]
    return f"**{text}**" if name == "verdict" else text


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
            data = [
                f"{sources.SOURCES[key].title} ({sources.where(key) or 'missing'})"
                for key in experiment.data
            ]
            data += [
                f"{sources.SOURCES[key].title} (optional, {sources.where(key) or 'missing'})"
                for key in experiment.optional
            ]
            counts = Counter(row["verdict"] for row in found["rows"])
            verdicts = ", ".join(f"{v} {counts[v]}" for v in VERDICTS if counts[v])
            title = experiment.title.removeprefix(f"{PAPERS[paper]} ")
            lines.append(f"  {experiment.name:20} {title}")
            lines.append(f"{'':23}data: {', '.join(data) or 'made'}")
            lines.append(f"{'':23}{found['seconds']:.0f} CPU seconds; {verdicts}\n")
    return "\n".join(lines)


def parts(results: Results) -> dict[str, str]:
    """Return the tables by paper, their summary, and the CPU seconds of the scripts."""
    order = {paper: position for position, paper in enumerate(PAPERS)}
    names = sorted(results, key=lambda name: (order.get(name.split("-")[0], len(order)), name))
    rows = [row for name in names for row in results[name]["rows"]]
    found = {paper: table([row for row in rows if row["paper"] == paper]) for paper in PAPERS}
    counts = {paper: Counter(r["verdict"] for r in rows if r["paper"] == paper) for paper in PAPERS}
    total = Counter(row["verdict"] for row in rows)
    found["summary"] = Table(
        ["paper", *VERDICTS],
        [
            *(
                [title, *(counts[paper][verdict] for verdict in VERDICTS)]
                for paper, title in PAPERS.items()
            ),
            ["**all**", *(f"**{total[verdict]}**" for verdict in VERDICTS)],
        ],
    ).markdown()
    taken = {name: results[name]["seconds"] for name in names}
    found["seconds"] = (
        f"All {len(taken)} scripts take {sum(taken.values()) / 60:.1f} minutes of CPU time. CPU "
        "seconds by script, 0 where a script reuses the runs of another: "
        + ", ".join(f"`{name}` {second:.0f}" for name, second in taken.items())
        + "."
    )
    return found
