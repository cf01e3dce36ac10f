"""What imports what."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import narrows
from narrows.methods import MODULES as MODULES_OF

PACKAGE = Path(narrows.__file__).parent


FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {
    ".".join(("narrows", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in FILES
}
# a room imports from those before it, and from itself
ROOMS = [
    "errors", "solve", "state", "criteria", "methods", "text", "io", "read", "engines",
    "evaluate", "river", "anndata", "export", "spark", "testing", "command",
]  # fmt: skip


@cache
def imports_of(path):
    """What a file imports, wherever in the file it does so; of a name also as a module."""
    return tuple(names_imported(path))


def names_imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def graph():
    """Which modules of ours each one imports."""
    imports = {
        name: {found for found in imports_of(path) if found in MODULES and found != name}
        for name, path in MODULES.items()
    }
    imports["narrows.methods.methods"] |= {f"narrows.methods.{m}" for m in MODULES_OF.values()}
    return imports


def room_of(module):
    """The room of a module; the package itself, and its command, stand above all of them."""
    name = module.partition(".")[2].partition(".")[0]
    return ROOMS.index(name) if name not in ("", "__main__") else len(ROOMS)


def test_the_imports_have_no_circle():
    order = list(TopologicalSorter(graph()).static_order())  # CycleError names the circle
    assert sorted(order) == sorted(MODULES)
    assert sum(map(len, graph().values())) > len(MODULES)  # or they were not found


def test_a_circle_would_be_found():
    with pytest.raises(CycleError, match=r"narrows\.solve\.exact"):
        list(
            TopologicalSorter(
                graph() | {"narrows.solve.exact": {"narrows.io.models"}}
            ).static_order()
        )


def test_imports_point_down():
    # a package may be imported for its public names, from above only, or for its modules
    names_of_all = {"narrows"}
    checked = 0
    for name, imported in graph().items():
        for other in imported - names_of_all:
            assert room_of(other) <= room_of(name), f"{name} imports {other}"
            checked += 1
    assert checked > len(MODULES)


def test_the_package_is_imported_by_commands_and_comparisons_alone():
    users = {name.split(".")[1] for name, found in graph().items() if "narrows" in found}
    assert users <= {"command", "evaluate"}


def test_only_methods_and_engines_are_imported_by_their_names():
    """`import_module` would pass by all that is asserted here."""
    dynamic = {"import_module", "__import__"}
    users = {
        path.name
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if getattr(node, "id", getattr(node, "attr", None)) in dynamic
    }
    # `base.py` hands a collection of another library to its engine
    assert users == {"base.py", "methods.py", "__init__.py"}


def test_the_house_has_a_dozen_rooms_and_three_modules():
    entries = {path.name for path in PACKAGE.iterdir()} - {"__init__.py", "__main__.py"}
    entries -= {"__pycache__"}
    assert entries == {"py.typed"} | {
        room if (PACKAGE / room).is_dir() else f"{room}.py" for room in ROOMS
    }
    assert len(entries) <= 17  # with the bridges to other libraries: anndata, export, spark


def code_lines(path):
    """How many lines have a token that is not a docstring or a comment."""
    source = path.read_text()
    documented = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    blank = {
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
        tokenize.ENDMARKER,
    }  # fmt: skip
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {
        line
        for token in tokens
        if token.type not in blank
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - documented)


def test_no_module_is_long():
    """A module has at most 700 lines of code; docstrings do not count."""
    lines = {name: code_lines(path) for name, path in MODULES.items()}
    assert max(lines.values()) <= 700, max(lines, key=lines.get)
    assert lines["narrows.errors"] < len(MODULES["narrows.errors"].read_text().splitlines())


def test_only_the_kernels_import_numba():
    users = {path.name for path in FILES if any("numba" in name for name in imports_of(path))}
    assert users == {"kernels.py"}


@pytest.mark.parametrize(
    ("what", "heavy"),
    [
        ("narrows, narrows.command.cli", "numpy scipy sklearn tqdm"),
        (f"narrows.spark, {', '.join(f'narrows.methods.{m}' for m in MODULES_OF.values())}", ""),
    ],
    ids=["names", "methods"],
)  # fmt: skip
def test_importing_is_light(what, heavy):
    code = (  # where pandas is installed scikit-learn imports it, and it pyarrow
        f"import sys; heavy = {heavy.split()!r};\n"
        "if not heavy: import sklearn.utils\n"
        f"before = set(sys.modules);import {what};"
        "heavy += ['numba', 'matplotlib', 'dask', 'pyarrow', 'anndata', 'h5py', 'pyspark'];"
        "sys.exit(', '.join(set(heavy) & set(sys.modules) - before) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_found_when_it_is_used():
    """In the order of `__all__`, which `dir` shows, for a type-checker, and for `import *`."""
    typed = {
        alias.name
        for node in ast.walk(ast.parse(Path(narrows.__file__).read_text()))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("narrows.")
        for alias in node.names
    }
    assert typed - {"MODULES"} == set(narrows.__all__) <= set(dir(narrows))
    for name in narrows.__all__:
        assert getattr(narrows, name).__name__ == name
    assert set(MODULES_OF) < set(narrows.__all__)
    assert narrows.evaluate.compare is not None
    with pytest.raises(AttributeError, match="'narrows' has no attribute 'LDAA'"):
        narrows.LDAA  # noqa: B018


def test_threads_may_use_names_for_the_first_time_together():
    code = (
        "import narrows; from concurrent.futures import ThreadPoolExecutor as T\n"
        "with T(4) as pool:\n"
        "    names = 'IDRQR', 'text', 'load', 'OCFS', 'evaluate', 'SRDA'\n"
        "    found = [pool.submit(getattr, narrows, name) for name in names]\n"
        "print([future.exception() for future in found])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == f"{[None] * 6}\n"


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
