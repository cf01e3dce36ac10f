"""What tests share: the real data, where it is, the command line, and what is said of skips."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter, defaultdict
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from zlib import crc32

# before NumPy is loaded, and for the processes that tests start: several workers with as many
# threads as there are cores each would spend most of their time in waiting for each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import pytest
from hypothesis import settings

import narrows
from narrows.command import cli
from tests.forks import piped_input
from tests.inside import pretend

pretend(pytest.MonkeyPatch(), "loops are compiled")  # tests/test_compiled.py has the plain ones
EVERYTHING = os.environ.get("NARROWS_TESTS") == "all"  # more draws, and random ones


def slow(*values):
    """A row of parameters that `make test` leaves out."""
    return pytest.param(*values, marks=pytest.mark.slow)


def nightly(*values):
    """A row of parameters that only `make nightly` takes."""
    return pytest.param(*values, marks=pytest.mark.nightly)


ONE_BY_ONE = {  # whose tests take seconds, and share nothing
    f"tests/test_{name}.py" for name in ("readme", "docs", "memory", "reference", "forgery")
}

settings.register_profile("narrows", deadline=None, derandomize=True, max_examples=12)
settings.register_profile("everything", deadline=None, max_examples=25, print_blob=True)
settings.load_profile("everything" if EVERYTHING else "narrows")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a shell script
    signal.signal(signal.SIGINT, signal.default_int_handler)  # children would ignore it, too


collect_ignore = [] if find_spec("pyspark") else ["spark"]


def pytest_report_header():
    """Say what is left out."""
    return [f"{folder}: left out, needs pyspark (make test-spark)" for folder in collect_ignore]


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of real data sets, or skip."""
    folder = os.environ.get("NARROWS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip(
            "they need real data sets. NARROWS_DATA=FOLDER make nightly runs them, with the files "
            "that CONTRIBUTING.md lists in FOLDER."
        )
    return Path(folder)


# tests whose slow cases only make nightly runs, where others are fast
NIGHTLY = (
    "test_a_window_is_the_fit_of_its_rows",
    "test_many_dense_rows_are_added_on_all_cores",
    "test_micro_f1_of_texts",
    "test_random_rows",
)


# of each law, how many estimators `make test` and then `make test-slow` take; the rest is nightly
CASES = {"slow": 2, "nightly": 1}
ESTIMATOR = re.compile(
    rf"(?<=[-\[])((?:{'|'.join(name for name in narrows.__all__ if name[0].isupper())})"
    r"(?:\(.*?\))?)(?=[-\]])",
    re.IGNORECASE,  # commands have names of methods in lower case
)


def mark_all_but_a_sample(items):
    """Mark the cases of laws that hold for many estimators, but for a few estimators of each law.

    The estimator is what the id of a test names, such as ``OC(n_components=1)``, and the law is
    the rest of the id. A law takes the estimators that the laws above it in the file took least
    often; of several, those whose ids have the lowest hash. What has no estimator is no such case.
    """
    items = [item for item in items if "[" in item.nodeid]
    for mark, number in CASES.items():
        laws, taken = defaultdict(list), Counter()
        for item in items:
            law, *named = ESTIMATOR.split(item.nodeid)
            if named and not any(map(item.get_closest_marker, (mark, "skip"))):
                laws[law, *named[1::2]].append(((item.path, *named[::2]), item))
        for cases in laws.values():
            cases.sort(key=lambda case: (taken[case[0]], crc32(case[1].nodeid.encode())))
            taken.update(named for named, _ in cases[:number])
            for _, item in cases[number:]:
                item.add_marker(mark)
        items = [item for item in items if item.get_closest_marker(mark)]


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks and names
def pytest_collection_modifyitems(items):
    """Mark what is slow and nightly, and the tests of hypothesis, which NARROWS_TESTS=all extends.

    Of `NIGHTLY` only cases that are slow.
    """
    for item in items:
        name = getattr(item, "originalname", "")
        if item.get_closest_marker("nightly"):
            item.add_marker(pytest.mark.slow)
        if name in NIGHTLY and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.nightly)
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.more)
    mark_all_but_a_sample(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let each file have one worker, as clusters and commands want it, but for a few long files."""
    from xdist.scheduler import LoadFileScheduling

    class FilesAndLongTests(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return nodeid if file in ONE_BY_ONE else file

    return FilesAndLongTests(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter):
    """Say in a line for each reason how many tests were skipped."""
    skipped = terminalreporter.stats.get("skipped", ())
    for reason, n in Counter(
        each.longrepr[2].removeprefix("Skipped: ") for each in skipped
    ).items():
        terminalreporter.write_line(f"{n} tests skipped: {reason}")


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Run a command in an empty folder, perhaps with standard input; (status, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(line, stdin=None, **files):
        for name, content in files.items():
            (tmp_path / name.replace("__", ".")).write_text(content)
        with nullcontext() if stdin is None else piped_input(stdin):
            status = cli.main(line.split())
        out, err = capfd.readouterr()
        return status, out, err

    return run
