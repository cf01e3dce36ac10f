"""What imports what."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import narrows

PACKAGE = Path(narrows.__file__).parent
# from the top down; a file may import from its own layer and from those below
LAYERS = [
    {"cli", "options", "__main__"},
    {"checkpoint", "engines", "evaluate", "read", "river", "runs", "store", "text", "write"},
    {"families"},
    {"solve", "criteria", "stats", "labels", "priors", "errors", "interrupts"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield node.module
            if node.module == "narrows":
                yield from (f"narrows.{alias.name}" for alias in node.names)


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    room = path.relative_to(PACKAGE).with_suffix("").parts[0]
    if room == "__init__":
        return
    for name in imports_of(path):
        parts = name.split(".")
        if (path.name, name) == ("_base.py", "narrows.engines"):
            continue  # inside a function: what a cluster holds is learnt there
        if parts[0] == "narrows" and len(parts) > 1 and parts[1] in LEVEL:
            assert LEVEL[parts[1]] >= LEVEL[room], f"{room} imports {name}"


def test_every_file_has_a_layer():
    rooms = {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in FILES}
    assert rooms - {"__init__"} == set(LEVEL)


def test_only_the_kernels_import_numba():
    users = {path.name for path in FILES if any("numba" in name for name in imports_of(path))}
    assert users == {"kernels.py"}


@pytest.mark.parametrize("what", ["narrows", "narrows.cli"])
def test_importing_is_light(what):
    code = (  # where pandas is installed scikit-learn imports it, and it pyarrow
        "import sys, sklearn.utils; before = set(sys.modules);"
        f"import {what}; heavy = {{'numba', 'matplotlib', 'dask', 'pyarrow'}};"
        "sys.exit(', '.join(heavy & set(sys.modules) - before) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_dense_rows_need_no_numba():
    code = (
        "import sys, narrows; narrows.OC().fit([[0., 1.], [1., 0.]], [0, 1]);"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_nothing_is_pickled():
    for path in FILES:
        assert not any("pickle" in name for name in imports_of(path)), path
        assert "allow_pickle=True" not in path.read_text()
