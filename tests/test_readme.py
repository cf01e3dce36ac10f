"""Every block of the README runs as printed, in its order, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
DOCS = sorted((README.parent / "docs").glob("*.md"))


def blocks_of(path):
    return re.findall(r"^```(\w+)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)


BLOCKS = blocks_of(README)


def test_the_readme_has_the_two_commands_and_a_picture():
    first_screen = README.read_text(encoding="utf-8")[:3000]
    assert "\nmake demo " in first_screen
    assert "\nmake test " in first_screen
    picture = re.search(r"!\[.+\]\((.+?)\)", first_screen)[1]
    assert (README.parent / picture).read_bytes().startswith(b"\x89PNG")


def test_every_block_runs(tmp_path):
    shell = [code for kind, code in BLOCKS if kind == "sh" and "narrows" in code]
    [sample] = [code for kind, code in BLOCKS if kind == "sh" and code.startswith("cat > ")]
    commands = [code for code in shell if code.startswith("narrows ")]
    assert commands
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    }
    for code in (sample, *commands):
        done = subprocess.run(
            ["bash", "-euc", code], cwd=tmp_path, env=environment, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    python = "\n".join(code for kind, code in BLOCKS if kind == "python")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", python],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['data', 'indices', 'indptr', 'shape']\n"


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_blocks_of_the_other_pages_run(page, tmp_path):
    for kind, code in blocks_of(page):
        assert kind == "python"
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def test_no_other_kind_of_block_hides_from_this_test():
    for kind, code in BLOCKS:
        assert kind == "python" or (
            kind == "sh" and code.startswith(("make ", "pip install ", "cat > ", "narrows "))
        )
