"""The page of verdicts: rows of results.json, put between the marks of docs/reproducibility/papers.md."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.studies.tables import markdown
from examples.papers.verdict import PAPERS, VERDICTS

from narrows.io.atomic import replacing

Results = dict[str, dict[str, Any]]
HEADER = ("where", "claim", "the paper", "here", "verdict", "note")


def load(out: Path) -> Results:
    """What results.json of a folder holds."""
    path = out / "results.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def dump(out: Path, results: Results) -> None:
    """Write results.json."""
    with replacing(out / "results.json") as temporary:
        text = json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False)
        Path(temporary).write_text(text + "\n", encoding="utf-8")


def table(rows: list[dict[str, str]]) -> str:
    """Rows as a Markdown table."""
    return markdown(HEADER, [[_cell(row, name) for name in HEADER] for row in rows])


def _cell(row: dict[str, str], name: str) -> str:
    text = row[{"the paper": "theirs", "here": "ours"}.get(name, name)].replace("|", r"\|")
    return f"**{text}**" if name == "verdict" else text


def parts(results: Results) -> dict[str, str]:
    """What the page has between its marks, by their names."""
    rows = [row for _, found in sorted(results.items()) for row in found["rows"]]
    found = {
        f"rows {paper}": table([row for row in rows if row["paper"] == paper]) for paper in PAPERS
    }
    counts = {paper: Counter(r["verdict"] for r in rows if r["paper"] == paper) for paper in PAPERS}
    total = Counter(row["verdict"] for row in rows)
    found["summary"] = markdown(
        ["paper", *VERDICTS],
        [
            *([PAPERS[paper], *(counts[paper][verdict] for verdict in VERDICTS)] for paper in PAPERS),
            ["**all**", *(f"**{total[verdict]}**" for verdict in VERDICTS)],
        ],
    )
    taken = {name: results[name]["seconds"] for name in sorted(results)}
    found["seconds"] = (
        f"All {len(taken)} scripts: {sum(taken.values()) / 60:.1f} minutes. In seconds, 0 where "
        "another script has made the same runs: "
        + ", ".join(f"`{name}` {second:.0f}" for name, second in taken.items())
        + "."
    )
    return found


def fill(path: Path, results: Results) -> None:
    """Put the tables in their places."""
    text = filled(path.read_text(encoding="utf-8"), results)
    with replacing(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")


def filled(text: str, results: Results) -> str:
    """The page with what the results say between its marks."""
    for name, part in parts(results).items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        found = place.search(text)
        if not found:
            raise ValueError(f"the page has no place for {name}.")
        text = f"{text[: found.start()]}{found[1]}\n{part}\n\n{found[2]}{text[found.end() :]}"
    return text
