"""How many functions and modules a call passes through: a limit for each, which only goes down."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import narrows
from narrows import OCFS, SRDA
from narrows.command.cli import main

ROOT = str(Path(narrows.__file__).parent)


class Counter:
    """Counts the functions of the package that are called, their modules, and changes of module."""

    def __init__(self):
        self.functions, self.modules, self.changes, self.last = set(), set(), 0, None

    def __call__(self, frame, event, arg):
        code = frame.f_code
        inside = code.co_filename.startswith(ROOT) and not code.co_name.startswith("<")
        if event != "call" or not inside:
            return
        self.changes += self.last not in (None, code.co_filename)
        self.functions.add(code)
        self.modules.add(code.co_filename)
        self.last = code.co_filename


def counted(call):
    """Return the numbers of functions, modules and changes of module of a call."""
    call()  # imports and compiles
    counter = Counter()
    sys.setprofile(counter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(counter.functions), len(counter.modules), counter.changes


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return rng.standard_normal((500, 20)), rng.integers(0, 4, 500)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "limits"),
    [
        ("SRDA.fit", (207, 24, 235)),
        ("OCFS.partial_fit", (95, 14, 63)),
        ("narrows fit", (388, 50, 831)),
    ],
)
def test_a_way_passes_through_few_functions(way, limits, samples, tmp_path):
    X, y = samples
    if way == "narrows fit":
        rng, path = np.random.default_rng(0), tmp_path / "big.svm"
        rows = [np.sort(rng.choice(20_000, 20, replace=False)) for _ in range(300)]
        path.write_text(
            "".join(
                f"{i % 4} " + " ".join(f"{k + 1}:{rng.random():.3f}" for k in row) + "\n"
                for i, row in enumerate(rows)
            )
        )
        command = ["fit", str(path), "--method", "srda", "-o", str(tmp_path / "m"), "--one-based"]
        found = counted(lambda: main(command))
    else:
        calls = {
            "SRDA.fit": lambda: SRDA().fit(X, y),
            "OCFS.partial_fit": lambda: OCFS(n_features=5).partial_fit(X, y),
        }
        found = counted(calls[way])
    assert all(n <= limit for n, limit in zip(found, limits, strict=True)), found
    assert found[0] > 20  # or nothing was counted


def test_an_estimator_has_few_bases():
    ours = [base.__name__ for base in SRDA.__mro__ if base.__module__.startswith("narrows")]
    assert len(ours) <= 7, ours
