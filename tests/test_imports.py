"""What imports what."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import narrows

PACKAGE = Path(narrows.__file__).parent


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


MODULES = {
    ".".join(("narrows", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in FILES
}


def graph():
    """Which modules of ours each one imports, wherever in the file it does so."""
    return {
        name: {found for found in imports_of(path) if found in MODULES and found != name}
        for name, path in MODULES.items()
    }


def test_the_imports_have_no_circle():
    list(TopologicalSorter(graph()).static_order())  # CycleError names the circle


ROOMS = ["solve", "moments", "criteria", "families", "io", "engines", "evaluate", "command"]


def test_imports_point_down():
    """A room imports from those before it in the list, and from itself."""
    level = {room: number for number, room in enumerate(ROOMS)}
    for name, imported in graph().items():
        room = level.get(name.split(".")[1]) if "." in name else None
        for other in imported if room is not None else ():
            below = level.get(other.split(".")[1]) if "." in other else None
            assert below is None or below <= room, f"{name} imports {other}"


def test_the_house_has_a_dozen_rooms():
    entries = {path.name for path in PACKAGE.iterdir()} - {"__init__.py", "__main__.py"}
    assert len(entries - {"__pycache__"}) <= 12


def test_only_the_kernels_import_numba():
    users = {path.name for path in FILES if any("numba" in name for name in imports_of(path))}
    assert users == {"kernels.py"}


@pytest.mark.parametrize("what", ["narrows", "narrows.command.cli"])
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
