"""What tests share: the real data, where it is, and the command line."""

from __future__ import annotations

import os
import signal
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import settings

from narrows.command import cli
from tests.forks import piped_input

settings.register_profile("narrows", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("narrows")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a shell script
    signal.signal(signal.SIGINT, signal.default_int_handler)  # children would ignore it, too


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of real data sets, or skip."""
    folder = os.environ.get("NARROWS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs real data: set NARROWS_DATA to the folder that holds it")
    return Path(folder)


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
