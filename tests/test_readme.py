"""Every block of the README and of the pages runs as printed, and prints what stands below it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import nightly, slow

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
MADE = ("_build", "gallery", "reference/api")  # by Sphinx, in docs/
PAGES = sorted(
    page
    for page in (ROOT / "docs").rglob("*.md")
    if not page.relative_to(ROOT / "docs").as_posix().startswith(MADE)
)
ELSEWHERE = {"how_to/spark"}  # in tests/spark
MARK = "-- the end of a block"


class Block(NamedTuple):
    """A block of code, and the text printed below it, if any."""

    kind: str
    code: str
    printed: str | None = None


def blocks_of(path):
    """The blocks of a page that can be run; a block of text is what the one above it prints."""
    blocks = []
    found = re.findall(r"^```(\w+)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)
    for kind, code in found:
        assert kind in ("python", "sh", "text", "bibtex"), f"{path.name}: a block of {kind}"
        if kind == "text":
            blocks[-1] = blocks[-1]._replace(printed=code)
        elif kind != "bibtex":
            blocks.append(Block(kind, code))
    return blocks


def program(blocks):
    """One program of all blocks: names are shared by those of Python, the folder by all."""
    lines = []
    for block in blocks:
        shell = f"__import__('subprocess').run(['bash', '-euc', {block.code!r}], check=True)"
        lines += [block.code if block.kind == "python" else shell, f"print({MARK!r}, flush=True)"]
    return "\n".join(lines)


def run(blocks, folder):
    """Run blocks in their order, and return what each printed, and what went to stderr."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program(blocks)],
        cwd=folder, env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=540,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split(f"{MARK}\n")[:-1], done.stderr


def name_of(page):
    """The name of a page, with its folder."""
    return page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")


RUN = [page for page in PAGES if blocks_of(page) and name_of(page) not in ELSEWHERE]


def test_most_pages_that_say_how_have_blocks():
    assert len(RUN) > 10


@pytest.mark.more  # in a process of its own for each page, where all is imported anew
@pytest.mark.parametrize("page", [slow(README), *map(nightly, RUN)], ids=name_of)
def test_the_blocks_of_a_page_run(page, tmp_path):
    blocks = [b for b in blocks_of(page) if not b.code.startswith(("make ", "pip install "))]
    if page == README:
        (tmp_path / "examples").mkdir()
        for table in (ROOT / "examples").glob("*.csv"):
            shutil.copy(table, tmp_path / "examples")
    found, said = run(blocks, tmp_path)
    for block, printed in zip(blocks, found, strict=True):
        assert block.printed in (None, printed), block.code
    if page == README:
        assert said == ""
        assert found[-1].endswith(" predictions written to predicted.csv\n")
