"""What imports what."""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import narrows
from tests import inside, solvers
from tests.cases import METHODS

PACKAGE = Path(narrows.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {
    ".".join(("narrows", *path.relative_to(PACKAGE).with_suffix("").parts)): path for path in FILES
}
MODULES = {name.removesuffix(".__init__"): path for name, path in MODULES.items()}
# a room imports from those before it, and from itself
MODULES_OF = sorted({method.__module__ for method in METHODS.values()})
ROOMS = [
    "errors", "removed", "solve", "moments", "criteria", "solutions", "methods", "text", "table",
    "io", "read", "engines", "evaluate", "river", "anndata", "export", "spark", "testing",
    "command",
]  # fmt: skip


@cache
def imports_of(path):
    """What a file imports, wherever in the file it does so; of a name also as a module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def graph():
    """Which modules of ours each one imports."""
    imports = {name: imports_of(path) & set(MODULES) - {name} for name, path in MODULES.items()}
    imports["narrows.methods.methods"] |= set(MODULES_OF)
    return imports


def room_of(module):
    """The room of a module; the package itself, and its command, stand above all of them."""
    name = module.partition(".")[2].partition(".")[0]
    return ROOMS.index(name) if name not in ("", "__main__") else len(ROOMS)


@pytest.mark.slow
def test_imports_point_down_and_have_no_circle():
    imports = graph()
    assert sum(map(len, imports.values())) > len(MODULES)  # or they were not found
    assert sorted(TopologicalSorter(imports).static_order()) == sorted(MODULES)
    for name, imported in imports.items():
        above = [other for other in imported - {"narrows"} if room_of(other) > room_of(name)]
        assert above == [], name
    entries = {path.name.removesuffix(".py") for path in PACKAGE.iterdir()}
    assert entries - {"__init__", "__main__", "__pycache__", "py.typed"} == set(ROOMS)
    users = {name.split(".")[1] for name, found in imports.items() if "narrows" in found}
    assert users <= {"command", "evaluate"}  # import the package for its public names
    wrong = imports | {"narrows.solve.exact": {"narrows.io.models"}}
    with pytest.raises(CycleError, match=r"narrows\.solve\.exact"):
        list(TopologicalSorter(wrong).static_order())


def test_some_packages_are_imported_in_one_place_or_nowhere():
    users = {path.name for path in FILES if any("numba" in name for name in imports_of(path))}
    assert users == {"kernels.py"}
    for path in FILES:
        assert not any("pickle" in name for name in imports_of(path)), path
        assert "allow_pickle=True" not in path.read_text()


OF_OTHERS = {"_fields", "_replace", "_jvm", "_gateway", "_multiclass"}  # public, or of PySpark


def is_private(name):
    return isinstance(name, str) and re.match(r"_[^_]", name) is not None


def names_in(tree):
    """The names that a file defines, and the private ones that it uses of others."""
    defined, used = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            defined.add(getattr(node, "id", getattr(node, "attr", None)))
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr"):
            used |= {arg.value for arg in node.args[1:2] if isinstance(arg, ast.Constant)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            if not any(name.startswith("narrows") for name in names):
                used |= {part for name in names for part in name.split(".")}
    return defined, set(filter(is_private, used))


TESTS = Path(__file__).parent
PUBLIC = {
    "narrows", *(f"narrows.{name}" for name in (
        "anndata", "command.cli", "criteria", "engines", "engines.dask", "engines.local", "errors",
        "evaluate", "export", "read", "river", "spark", "table", "testing", "text",
    )),
}  # fmt: skip
SOLVE, INSIDE = "tests/solvers.py", "tests/inside.py"  # which alone import more
OF_ANOTHER_VERSION = "tests/models_0_3_0/"
CHANGING = {"setattr", "delattr", "patch", "import_module"}  # functions that take names as strings
PROGRAM = re.compile(r"^(?:from (narrows[\w.]*) import (\w+)|import (narrows[\w.]*))", re.M)


def names_reached(tree):
    """What a file of tests names of the package: in imports, patches and programs in strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            constants = (arg.value for arg in node.args if isinstance(arg, ast.Constant))
            yield from map(str, constants) if called in CHANGING else ()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (f"{a}.{b}" if a else c for a, b, c in PROGRAM.findall(node.value))


def is_public(name):
    """Whether a name is that of a public module, or in one."""
    module, _, last = name.rpartition(".")
    if module in PUBLIC and last in getattr(import_module(module), "__all__", ()):
        return True
    return (name if name in MODULES else module) in PUBLIC


def wrong_in(path, text, private):
    """What a file of tests reaches that only two files may."""
    tree = ast.parse(text)
    names = list(names_reached(tree))
    wrong = [name for name in names if name.startswith("narrows.") and not is_public(name)]
    if path == SOLVE:
        return [name for name in wrong if not name.startswith("narrows.solve.")]
    used = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    used = (n for n in used if getattr(n.value, "id", None) not in ("self", "cls", "os"))
    return wrong + [name for name in [*names, *(n.attr for n in used)] if name in private]


@pytest.mark.slow
def test_tests_reach_the_inside_by_two_files_alone():
    """`inside.py`, and `solvers.py` for functions on arrays: so that the inside can be rebuilt."""
    trees = [names_in(ast.parse(path.read_text())) for path in FILES]
    private = set(filter(is_private, set().union(*(d | u for d, u in trees)))) - OF_OTHERS
    checked = 0
    for path in sorted(TESTS.rglob("*.py")):
        name = str(path.relative_to(TESTS.parent))
        if name != INSIDE and not name.startswith(OF_ANOTHER_VERSION):
            assert wrong_in(name, path.read_text(), private) == [], name
            checked += 1
    assert checked > 60
    for text in ("import NARROWS.io.models", "patch.setattr('NARROWS.io.lines.BLOCK', 1)",
                 "t = 'os\\nfrom NARROWS.engines import parts'", "oc._fitted.state"):  # fmt: skip
        assert wrong_in("tests/test_any.py", text.replace("NARROWS", "narrows"), {"_fitted"})


@pytest.mark.slow
def test_all_of_the_inside_that_is_named_is_used():
    others = [path for path in TESTS.rglob("*.py") if path.name not in ("inside.py", "solvers.py")]
    every = "\n".join(path.read_text() for path in others)
    for name in [*inside.SITUATIONS, *inside.NAMES, *(n for n in vars(solvers) if n[0] != "_")]:
        assert re.search(rf"\b{re.escape(name)}\b", every), name


@pytest.mark.slow
@pytest.mark.parametrize("what", ["narrows, narrows.command.cli", ", ".join(MODULES_OF)])
def test_importing_is_light(what):
    heavy = ["numpy", "scipy", "sklearn", "tqdm"] if "cli" in what else []
    code = (  # where pandas is installed scikit-learn imports it, and it pyarrow
        f"import sys; heavy = {heavy!r};\n"
        "if not heavy: import sklearn.utils\n"
        f"before = set(sys.modules);import {what};"
        "heavy += ['numba', 'matplotlib', 'dask', 'pyarrow', 'anndata', 'h5py', 'pyspark'];"
        "assert not set(heavy) & set(sys.modules) - before"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=120)


def test_every_public_name_is_found_when_it_is_used():
    """In the order of `__all__`, which `dir` shows, and for a type-checker."""
    typed = {name.rpartition(".")[2] for name in imports_of(Path(narrows.__file__))}
    assert set(narrows.__all__) <= typed
    assert set(narrows.__all__) <= set(dir(narrows))
    for name in narrows.__all__:
        assert getattr(narrows, name).__name__ == name
    assert set(METHODS) < set(narrows.__all__)
    with pytest.raises(AttributeError, match="'narrows' has no attribute 'LDAA'"):
        _ = narrows.LDAA


def test_removed_names_say_what_to_use():
    with pytest.raises(ImportError, match=r"removed convergence\. It is examples/papers/conv"):
        from narrows.evaluate import convergence  # noqa: F401
    with pytest.raises(ImportError, match=r"removed selection_overlap.* ranking_"):
        narrows.evaluate.selection_overlap  # noqa: B018
