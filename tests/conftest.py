"""What tests share: the real data, where it is, and the command line."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from narrows.command import cli

EVERYTHING = os.environ.get("NARROWS_TESTS") == "all"  # make test-all

settings.register_profile("narrows", deadline=None, derandomize=True, max_examples=12)
settings.register_profile("everything", deadline=None, max_examples=60, print_blob=True)
settings.load_profile("everything" if EVERYTHING else "narrows")

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
    """Run a command in an empty folder; return (status, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(line, **files):
        for name, content in files.items():
            (tmp_path / name.replace("__", ".")).write_text(content)
        status = cli.main(line.split())
        out, err = capfd.readouterr()
        return status, out, err

    return run
