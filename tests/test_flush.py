"""`narrows predict --flush` and `transform --flush` answer a row at a time."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

from narrows.command import cli

TEXTS = ["the sea, the SEA and the salt", "a ship at sea", "salt of the land", "a hill on the land"]
SECONDS = 60  # that a program may take on a busy machine
OPTIONS = {"iris.csv": "", "texts.csv": "--text body"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Samples and texts, and a model of each."""
    folder, before = tmp_path_factory.mktemp("applying"), os.getcwd()
    X, y = (each[::3] for each in load_iris(return_X_y=True))
    rows = [",".join([*map(repr, x), "abc"[label]]) for x, label in zip(X.tolist(), y, strict=True)]
    (folder / "iris.csv").write_text("\n".join(["a,b,c,d,class", *rows]) + "\n")
    rows = [f'"{text}",{label}' for text, label in zip(TEXTS * 3, "ssll" * 3, strict=True)]
    (folder / "texts.csv").write_text("\n".join(["body,class", *rows]) + "\n")
    os.chdir(folder)
    try:
        for name, options in OPTIONS.items():
            assert cli.main(f"fit {name} {options} --method srda -o {name}.narrows".split()) == 0
    finally:
        os.chdir(before)
    return folder


class Conversation:
    """A command whose standard input stays open while its answers are read."""

    def __init__(self, folder, *command):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "narrows", *command], cwd=folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        self.rest = b""

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")

    def answer(self):
        """The next line, which comes before any more is said."""
        until = time.monotonic() + SECONDS
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            assert left > 0, "no answer"
            if select.select([self.process.stdout], [], [], left)[0]:
                found = os.read(self.process.stdout.fileno(), 1 << 16)
                assert found, self.process.communicate(timeout=SECONDS)[1].decode()
                self.rest += found
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def end(self):
        """The exit status, the rest of the answers, and the messages."""
        self.process.stdin.close()
        self.process.stdin = None
        rest, messages = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, self.rest.decode() + rest.decode(), messages.decode()


@pytest.fixture
def talk(folder):
    """Start conversations, all of which end with the test."""
    begun = []

    def start(*command):
        begun.append(Conversation(folder, *command))
        return begun[-1]

    yield start
    for each in begun:
        each.process.kill()
        each.process.communicate(timeout=SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "name"), [("predict", "iris.csv"), ("transform", "texts.csv")])
def test_each_row_is_answered_before_the_next(folder, monkeypatch, talk, name, verb):
    monkeypatch.chdir(folder)
    options = OPTIONS[name].split()
    assert cli.main([verb, f"{name}.narrows", name, *options, "-o", "whole.csv"]) == 0
    header, *rows = Path("whole.csv").read_text().splitlines()
    command = talk(verb, f"{name}.narrows", "-", *options, "--flush")
    names, *lines = Path(name).read_text().splitlines()
    command.say(names)
    for k, (line, row) in enumerate(zip(lines, rows, strict=True)):
        command.say(line)
        if not k:
            assert command.answer() == header
        for a, b in zip(command.answer().split(","), row.split(","), strict=True):
            assert a == b or float(a) == pytest.approx(float(b), rel=1e-9)
    if verb == "predict":
        command.say("5,3,x,0.2,a")  # which ends the answers
    status, rest, messages = command.end()
    assert (status, rest) == (int(verb == "predict"), "")
    assert verb != "predict" or f"standard input:{len(lines) + 2}" in messages


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("predict iris.csv.narrows iris.csv", "--output"),
        ("predict iris.csv.narrows iris.csv --flush -o out.csv", "-o"),
        ("transform iris.csv.narrows iris.csv -o new --engine dask --flush", "--engine"),
    ],
)
def test_only_standard_output_is_flushed(folder, monkeypatch, capfd, command, word):
    monkeypatch.chdir(folder)
    assert cli.main(command.split()) == 2
    assert word in capfd.readouterr().err
