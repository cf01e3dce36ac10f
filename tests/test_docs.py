"""The documentation is complete: an API page, docstrings and help for everything public."""

import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.studies import STUDIES
from benchmarks.tables import RESULTS, Table
from examples.papers.experiments import NAMES as EXPERIMENTS

import narrows

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "narrows"
GALLERY = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
OF_NOTHING = {  # what they return
    "narrows.save", "narrows.export.register_converters", "narrows.export.to_sentence_transformers",
}  # fmt: skip
NOT_BUILT = [ROOT / "examples" / "gallery" / "search_faiss.py"]  # for want of libraries

# modules that import pyspark, which is not here, and what they have; see tests/spark/test_page.py
SPARK = "narrows.spark."
OF_SPARK = {"narrows.spark.Reducer", "narrows.spark.ReducerModel"}


def public():
    """All public names: what `__all__` of narrows and of its modules has; the rest has none."""
    for info in pkgutil.walk_packages(narrows.__path__, "narrows."):
        if not info.name.endswith(".__main__") and not info.name.startswith(SPARK):
            module = importlib.import_module(info.name)
            yield from (f"{info.name}.{name}" for name in getattr(module, "__all__", ()))
    yield from (f"narrows.{name}" for name in narrows.__all__)


def found(name):
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def sections(docstring):
    """The sections of a numpydoc docstring, by name."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(docstring), flags=re.M)
    return dict(zip(["", *parts[1::2]], parts[0::2], strict=True))


NAMES = sorted(set(public()) - OF_SPARK)
RECORDS = {
    "narrows.evaluate.Comparison", "narrows.evaluate.Retrieval", "narrows.read.Source",
    "narrows.testing.Outcome",
}  # fmt: skip
ERRORS = {name for name in NAMES if name.startswith("narrows.errors.")}


def test_the_api_page_lists_what_is_public_and_nothing_else():
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    listed, module = [], ""
    for line in page.splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            listed.append(f"{module}.{line.strip()}")
    assert sorted(listed) == sorted({*NAMES, *OF_SPARK})


@pytest.mark.parametrize("name", NAMES)
def test_a_docstring_has_all_its_sections(name):
    said = sections(found(name).__doc__)
    assert ">>>" in said["Examples"]
    assert "See Also" in said
    if name in ERRORS:
        return
    assert "Parameters" in said or not inspect.signature(found(name)).parameters
    if name not in RECORDS:
        assert "Display" in name or said["Raises"]
        assert "Display" in name or re.search(r"\*\*Cost\*\*[^:]*: ", said["Notes"])
    if not inspect.isclass(found(name)):
        assert name in OF_NOTHING or "Returns" in said or "Yields" in said
    if name.count(".") == 1:
        assert said["References"]
    if name.count(".") == 1 and inspect.isclass(found(name)):
        assert "shape (" in said["Attributes"]


FILES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}


def test_the_table_of_files_is_true():
    """Each file that CONTRIBUTING.md names exists, and each file of the package is named."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = page.split("| files | what they have |")[1].split("\n\n")[0].splitlines()[2:]
    named = [name for row in rows for name in re.findall("`([^`]+)`", row.split("|")[1])]
    found = {name: set(PACKAGE.glob(name)) for name in named}
    assert [name for name, files in found.items() if not files] == []
    whole = [PACKAGE / name for name in ("io/formats", "spark", "testing")]
    missing = set(FILES.values()).difference(*found.values())
    missing = {path for path in missing if not set(path.parents) & set(whole)}
    assert {path.name for path in missing} <= {"__init__.py", "__main__.py"}


@pytest.mark.nightly
@pytest.mark.parametrize("example", [*GALLERY, *NOT_BUILT], ids=lambda path: path.stem)
def test_the_gallery_needs_no_data(example, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "NARROWS_DATA"}
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, env=environment | {"MPLBACKEND": "Agg"},
        capture_output=True, text=True, check=False, timeout=540,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout


DOCS = RESULTS.parent
SHOWN = re.compile(r"^```\{(study|rows)\} (.+)$(?:\n:only: (.+)$)?", re.M)
# by `python -m benchmarks performance` and `python -m examples.streams`
BY_OTHERS = {"speed", "speed_machine", "streams_by_tenth"}


def test_every_table_is_shown_has_a_study_and_is_as_its_study_writes_it(tmp_path):
    shown = set()
    for page in DOCS.rglob("*.md"):
        for kind, name, first in SHOWN.findall(page.read_text(encoding="utf-8")):
            folder = RESULTS if kind == "study" else page.parent
            shown.add(folder / f"{name}.csv")
            assert not first or Table.read(name, folder).only(first).rows, (name, first)
    assert shown == {*RESULTS.glob("*.csv"), *(DOCS / "reproducibility").rglob("*.csv")}
    assert {path.stem for path in RESULTS.glob("*.csv")} - BY_OTHERS == set(STUDIES)
    for path in shown:
        table = Table.read(path.stem, path.parent)
        assert {len(row) for row in table.rows} == {len(table.header)}
        table.write(tmp_path / "again.csv")
        assert (tmp_path / "again.csv").read_bytes() == path.read_bytes(), path


def test_what_follows_from_other_results_is_up_to_date():
    for name in ("claims", "held_out_summary"):
        table, stored = STUDIES[name]().table(), Table.read(name)
        assert (table.header, table.rows) == (stored.header, stored.rows)


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *DOCS.rglob("*.md")], ids=lambda p: p.name)
def test_pages_are_in_the_words_of_the_field(page):
    said = re.search(
        r"\b(learnt|told|begun|fades?|faded|wanted|tells? apart)\b|not to be had|[Pp]apers? 00\d"
        r"|(?<![\w.`\])*])\.\d\d+\b",  # .866 for 0.866
        "" if "_build" in page.parts else page.read_text(encoding="utf-8"),
    )
    assert said is None, said[0]


def test_the_items_of_the_papers_name_experiments_and_files_that_exist():
    cells = [c for row in Table.read("items", DOCS / "reproducibility").rows for c in row]
    named = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    experiments = {name for name in named if re.fullmatch(r"y(an|e)\d{4}b?-\w+", name)}
    paths = [ROOT / name for name in named if re.match(r"(tests|examples)/", name)]
    assert min(len(experiments), len(paths)) > 10
    assert experiments <= set(EXPERIMENTS)
    assert all(path.exists() for path in paths)
