"""docs/reproducibility/items.md and its table: the numbers, and that each name exists."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from pathlib import Path

import pytest
from benchmarks.tables import Table
from examples.papers.experiments import NAMES

import narrows
from narrows import evaluate, text

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reproducibility" / "items.md"
TEXT = PAGE.read_text(encoding="utf-8")
TABLE = Table.read("items", PAGE.parent)
CELLS = [cell for row in TABLE.rows for cell in row]
NAMED = sorted({name for text in (TEXT, *CELLS) for name in re.findall(r"`([^`]+)`", text)})
STATES = ("complete", "in part", "no data")


def test_there_are_128_items_and_the_page_counts_their_states():
    assert "```{rows} items\n" in TEXT
    assert [int(row[0]) for row in TABLE.rows] == list(range(1, 129))
    assert all(len(row) == len(TABLE.header) and all(row) for row in TABLE.rows)
    counts = Counter(row[TABLE.header.index("state")] for row in TABLE.rows)
    assert set(counts) == set(STATES)
    said = re.search(r"128 items, (\d+) are complete, (\d+) in part, and (\d+) have no data", TEXT)
    assert [int(n) for n in said.groups()] == [counts[state] for state in STATES]


def test_the_page_names_experiments_and_files_that_exist():
    experiments = [name for name in NAMED if re.fullmatch(r"y(an|e)\d{4}b?-\w+", name)]
    assert len(experiments) > 20
    assert set(experiments) <= set(NAMES)
    paths = [name for name in NAMED if re.match(r"(tests|examples)/", name)]
    assert len(paths) > 15
    assert all((ROOT / name).exists() for name in paths)


@pytest.mark.parametrize("name", [n for n in NAMED if re.match(r"[A-Z]\w+[^- ]*$", n)])
def test_the_page_names_what_is_public(name):
    first, attribute, parameters = re.fullmatch(r"(\w+)(?:\.(\w+))?(?:\((.*)\))?", name).groups()
    if first not in ("IncrementalPCA", "SVC"):  # of scikit-learn
        [found] = [getattr(m, first) for m in (narrows, evaluate, text) if first in m.__all__]
        assert attribute is None or hasattr(found, attribute)
        assert {*re.findall(r"(\w+)=", parameters or "")} <= {*inspect.signature(found).parameters}
