"""What imports what."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
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
    ".".join(("narrows", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in FILES
}
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
    imports["narrows.methods.methods"] |= set(MODULES_OF)
    return imports


def room_of(module):
    """The room of a module; the package itself, and its command, stand above all of them."""
    name = module.partition(".")[2].partition(".")[0]
    return ROOMS.index(name) if name not in ("", "__main__") else len(ROOMS)


@pytest.mark.slow
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
    # `base.py` finds the engine of a collection of another library
    assert users == {"base.py", "methods.py", "__init__.py"}


def test_the_house_has_a_dozen_rooms_and_four_modules():
    entries = {path.name for path in PACKAGE.iterdir()} - {"__init__.py", "__main__.py"}
    entries -= {"__pycache__"}
    assert entries == {"py.typed"} | {
        room if (PACKAGE / room).is_dir() else f"{room}.py" for room in ROOMS
    }
    assert len(entries) <= 20  # with the bridges to other libraries: anndata, export, spark


NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(text):
    """The lines with a token that is no docstring, comment or blank."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        has_one = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if has_one and ast.get_docstring(node) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def is_too_long(text):
    return code_lines(text) > 700 and " because " not in text.partition("\n")[0]


@pytest.mark.slow
def test_no_module_is_long_without_a_reason():
    """One of more than 700 lines of code says why in the first line of its docstring."""
    for name, path in MODULES.items():
        assert not is_too_long(path.read_text()), name


def test_lines_of_code_are_counted():
    text = '''"""A module.

With a docstring."""

# a comment
def f(x):
    """A docstring."""
    y = """two
lines"""
    return (
        x  # and a comment

    )
'''
    assert code_lines(text) == 6
    assert not is_too_long(text + "y = 1\n" * 694)
    assert is_too_long(text + "y = 1\n" * 695)
    assert not is_too_long(text.replace(".", ", long because of it.", 1) + "y = 1\n" * 695)


# -- what the package uses of others -------------------------------------------------------------

PROTECTED = {  # names with an underscore, by the file that needs them: there are no public ones
    "export.py": {"_parse", "_parse_sklearn_pipeline"},  # skl2onnx parses steps of pipelines
    "solve/arrays.py": {"_sklearn_output_config"},  # scikit-learn's `set_output`
    "spark/reducer.py": {  # what pyspark.ml has for subclasses of Params; files of Hadoop
        "_copyValues", "_dummy", "_input_kwargs", "_resetUid", "_set", "_setDefault",
        "_jsparkSession", "_jvm",
    },
}  # fmt: skip
OF_NAMED_TUPLES = {"_fields", "_replace"}  # which are public


def is_private(name):
    return isinstance(name, str) and re.match(r"_[^_]", name) is not None


def names_defined(tree):
    """What a file defines: functions, classes, arguments, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield getattr(node, "id", getattr(node, "attr", None))


def private_names_of_others(tree, ours):
    """Modules and names that a file imports of other packages, and attributes that are not ours."""
    for node in ast.walk(tree):
        names = ()
        if isinstance(node, ast.Import):
            names = [part for alias in node.names for part in alias.name.split(".")]
        elif isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] != "narrows":
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
        elif isinstance(node, ast.Attribute) and node.attr not in ours:
            names = [node.attr]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr"):
            names = [arg.value for arg in node.args[1:2] if isinstance(arg, ast.Constant)]
            names = [name for name in names if name not in ours]
        yield from filter(is_private, names)


def test_no_private_name_of_another_package_is_used():
    trees = {str(path.relative_to(PACKAGE)): ast.parse(path.read_text()) for path in FILES}
    ours = {name for tree in trees.values() for name in names_defined(tree)} | OF_NAMED_TUPLES
    found = {path: set(private_names_of_others(tree, ours)) for path, tree in trees.items()}
    assert {path: names for path, names in found.items() if names} == PROTECTED


@pytest.mark.parametrize(
    "text",
    [
        "import _signal",
        "import sklearn._loss",
        "from sklearn.utils import _safe_indexing",
        "from sklearn.utils._set_output import get",
        "def f():\n    from skl2onnx._parse import parse",
        "meta = X._meta",
        "sklearn.utils._safe_indexing(X, 1)",
        "asked = getattr(X, '_meta', None)",
    ],
)
def test_a_private_name_of_another_package_would_be_found(text):
    assert list(private_names_of_others(ast.parse(named(text)), {"_learned"}))


def test_own_private_names_may_be_used():
    text = "from NARROWS.io.models import _crc\nself._learned = model._learned\nX.__len__\n_ = 1"
    assert not list(private_names_of_others(ast.parse(named(text)), {"_learned"}))


# -- what tests import ---------------------------------------------------------------------------

TESTS = Path(__file__).parent
PUBLIC = {
    "narrows", "narrows.anndata", "narrows.command.cli", "narrows.criteria", "narrows.engines",
    "narrows.engines.dask", "narrows.engines.local", "narrows.errors", "narrows.evaluate",
    "narrows.export", "narrows.read", "narrows.river", "narrows.spark", "narrows.table",
    "narrows.testing", "narrows.text",
}  # fmt: skip
SOLVE, INSIDE = "tests/solvers.py", "tests/inside.py"  # which alone import more
OF_ANOTHER_VERSION = "tests/models_0_3_0/"
CHANGING = {"setattr", "delattr", "patch", "import_module"}  # functions that take names as strings
OF_OTHERS = {"_jvm", "_gateway", "_multiclass", "_replace"}  # PySpark, River, named tuples


def names_reached(tree):
    """What a file of tests names of the package: in imports, patches and programs in strings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in CHANGING:
                yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            programs = re.findall(r"^from ([\w.]+) import (\w+)", node.value, flags=re.M)
            yield from (".".join(found) for found in programs)
            yield from re.findall(r"^import (narrows[\w.]*)", node.value, flags=re.M)


def is_public(name):
    """Whether a name is that of a public module, or in one."""
    module, _, last = name.rpartition(".")
    if module in PUBLIC and last in getattr(import_module(module), "__all__", ()):
        return True
    return (name if name in MODULES else module) in PUBLIC


def private_names():
    """What the package calls by a name that begins with one underscore."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            for attribute in ("name", "attr", "id"):
                name = getattr(node, attribute, None)
                if isinstance(name, str) and re.match(r"_[^_]", name):
                    yield name


def private_names_used(tree, private):
    """Attributes of these names, but of `self`, and strings that patches name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in private:
            if getattr(node.value, "id", None) not in ("self", "cls", "os"):
                yield node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in CHANGING:
            yield from {arg.value for arg in node.args if isinstance(arg, ast.Constant)} & private


def wrong_in(path, text, private):
    """What a file of tests reaches that only two files may."""
    tree = ast.parse(text)
    names = [n for n in names_reached(tree) if isinstance(n, str) and n.startswith("narrows.")]
    wrong = [name for name in names if not is_public(name)]
    if path == SOLVE:
        return [name for name in wrong if not name.startswith("narrows.solve.")]
    return wrong + list(private_names_used(tree, private))


@pytest.mark.slow
def test_tests_reach_the_inside_by_two_files_alone():
    """`inside.py`, and `solvers.py` for functions on arrays: so that the inside can be rebuilt."""
    private, checked = set(private_names()) - OF_OTHERS, 0
    for path in sorted(TESTS.rglob("*.py")):
        name = str(path.relative_to(TESTS.parent))
        if name != INSIDE and not name.startswith(OF_ANOTHER_VERSION):
            assert wrong_in(name, path.read_text(), private) == [], name
            checked += 1
    assert checked > 100


def named(text):
    """A text with the name of the package, which would be found in this file, too."""
    return text.replace("NARROWS", "narrows")


@pytest.mark.parametrize(
    "text",
    [
        "import NARROWS.io.models",
        "from NARROWS.io import store",
        "from NARROWS.io.models import _crc",
        "from NARROWS import methods",
        "from NARROWS.evaluate.angles import drift",
        "from NARROWS.solve import span",
        "def test_a(monkeypatch):\n    from NARROWS.engines import parts",
        "def test_a(patch):\n    patch.setattr('NARROWS.io.lines.BLOCK', 1)",
        "program = 'import os\\nfrom NARROWS.engines import parts\\n'",
        "program = 'import NARROWS.io.models'",
        "oc._fitted.state",
        "def test_a(patch):\n    patch.setattr(table, '_PENDING', 1)",
    ],
)
def test_a_test_that_reaches_the_inside_would_be_found(text):
    assert wrong_in("tests/test_any.py", named(text), {"_fitted", "_PENDING"})


@pytest.mark.slow
def test_all_of_the_inside_that_is_named_is_used():
    others = [path for path in TESTS.rglob("*.py") if path.name not in ("inside.py", "solvers.py")]
    every = "\n".join(path.read_text() for path in others)
    for name in [*inside.SITUATIONS, *inside.NAMES, *(n for n in vars(solvers) if n[0] != "_")]:
        assert re.search(rf"\b{re.escape(name)}\b", every), name


def test_public_names_may_be_used():
    text = (
        "import NARROWS\nfrom NARROWS import OC, criteria\nfrom NARROWS.evaluate import drift\n"
        "from NARROWS.engines import ENGINES, dask, local\nfrom NARROWS.command import cli\n"
        "from NARROWS.command.cli import main\nfrom tests.inside import Lines\nself._fitted\n"
    )
    assert wrong_in("tests/test_any.py", named(text), {"_fitted"}) == []
    assert wrong_in(SOLVE, named("from NARROWS.solve.span import Span"), set()) == []


def test_only_the_kernels_import_numba():
    users = {path.name for path in FILES if any("numba" in name for name in imports_of(path))}
    assert users == {"kernels.py"}


@pytest.mark.parametrize(
    ("what", "heavy"),
    [
        ("narrows, narrows.command.cli", "numpy scipy sklearn tqdm"),
        (", ".join(["narrows.spark", *MODULES_OF]), ""),
    ],
    ids=["names", "methods"],
)  # fmt: skip
@pytest.mark.slow
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
    deprecated = {"ClassStats", "TargetStats"}  # which are found, but not listed
    assert typed - {"MODULES"} - deprecated == set(narrows.__all__) <= set(dir(narrows))
    for name in narrows.__all__:
        assert getattr(narrows, name).__name__ == name
    assert set(METHODS) < set(narrows.__all__)
    assert narrows.evaluate.compare is not None
    with pytest.raises(AttributeError, match="'narrows' has no attribute 'LDAA'"):
        narrows.LDAA  # noqa: B018


def test_removed_names_say_what_to_use():
    with pytest.raises(ImportError, match=r"removed convergence\. It is examples/papers/conv"):
        from narrows.evaluate import convergence  # noqa: F401
    with pytest.raises(ImportError, match=r"removed selection_overlap.* ranking_"):
        narrows.evaluate.selection_overlap  # noqa: B018
    with pytest.raises(AttributeError, match=r"'narrows\.evaluate' has no attribute 'drifts'"):
        narrows.evaluate.drifts  # noqa: B018


@pytest.mark.slow
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


def test_nothing_is_pickled():
    for path in FILES:
        assert not any("pickle" in name for name in imports_of(path)), path
        assert "allow_pickle=True" not in path.read_text()
