"""One session of Spark for each mode, for all tests of this folder."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.spark import sessions

SECONDS = 120  # a test, with the start of its session
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """End the run where a test takes too long.

    A test that is interrupted as it waits for Java leaves a connection with half an answer to the
    next ones. Where Python ends, Java ends as well.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(SECONDS, method="thread"))


@pytest.fixture(scope="session", autouse=True)
def spark_folder(tmp_path_factory):
    """Return the folder of all that Spark writes, or skip without Spark or Java."""
    if not find_spec("pyspark"):
        pytest.skip("needs pyspark: make test-spark")
    folder = tmp_path_factory.mktemp("spark")
    try:
        variables = sessions.environment(folder)
    except RuntimeError as reason:
        pytest.skip(str(reason))
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("SPARK_", "PYSPARK_")):
                patch.delenv(name)
        for name, value in variables.items():
            patch.setenv(name, value)
        yield folder
        sessions.end()


def of_mode(mode):
    """A mode, whose tests run in one process, which has one session of Spark."""
    return pytest.param(mode, marks=pytest.mark.xdist_group(mode))


@pytest.fixture(scope="session", params=list(map(of_mode, sessions.MODES)))
def spark(request):
    """Return the session of a mode."""
    session = sessions.start(request.param)
    yield session
    session.stop()
