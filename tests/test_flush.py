"""`narrows predict --flush` and `transform --flush` answer a row at a time."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from narrows.command import cli

TEXTS = ["the sea, the SEA and the salt", "a ship at sea", "salt of the land", "a hill on the land"]
SECONDS = 60  # that a program may take on a busy machine
OPTIONS = {
    "iris.csv": "", "iris.svm": "", "texts.jsonl": "", "texts.csv": "--text body",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Samples in every format, and a model of each."""
    folder, before = tmp_path_factory.mktemp("applying"), os.getcwd()
    X, number = (each[::3] for each in load_iris(return_X_y=True))
    y = np.array(["setosa", "versicolor", "virginica"])[number]
    rows = [",".join([*map(repr, x), label]) for x, label in zip(X.tolist(), y, strict=True)]
    (folder / "iris.csv").write_text("\n".join(["a,b,c,d,class", *rows]) + "\n")
    rows = [f"{k} 1:{a} 3:{c} 4:{d}" for k, (a, _, c, d) in zip(number, X.tolist(), strict=True)]
    (folder / "iris.svm").write_text("\n".join(rows) + "\n")
    labelled = list(zip(TEXTS, "ssll", strict=True)) * 3
    lines = [json.dumps({"text": text, "label": label}) for text, label in labelled]
    (folder / "texts.jsonl").write_text("\n".join(lines) + "\n")
    rows = [f'"{text}",{label}' for text, label in labelled]
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


def answers(folder, monkeypatch, verb, name, *more):
    """What a command without --flush writes for the whole file."""
    monkeypatch.chdir(folder)
    command = [verb, f"{name}.narrows", name, *OPTIONS[name].split(), "-o", "whole.csv", *more]
    assert cli.main(command) == 0
    return Path("whole.csv").read_text().splitlines()


def assert_alike(found, expected):
    """Equal cells, but for rounding: products of one row are added in another order."""
    for a, b in zip(found.split(","), expected.split(","), strict=True):
        assert a == b or float(a) == pytest.approx(float(b), rel=1e-9)


@pytest.mark.parametrize(
    ("verb", "name"),
    [("predict", "iris.csv"), ("transform", "iris.svm"), ("predict", "texts.jsonl"),
     ("transform", "texts.csv")],
)  # fmt: skip
@pytest.mark.slow
def test_each_row_is_answered_before_the_next(folder, monkeypatch, talk, name, verb):
    header, *rows = answers(folder, monkeypatch, verb, name)
    command = talk(verb, f"{name}.narrows", "-", *OPTIONS[name].split(), "--flush")
    lines = (folder / name).read_text().splitlines()
    if name.endswith(".csv"):
        command.say(lines.pop(0))
    for k, (line, row) in enumerate(zip(lines, rows, strict=True)):
        command.say(line)
        if not k:
            assert command.answer() == header
        assert_alike(command.answer(), row)
    status, rest, messages = command.end()
    assert (status, rest) == (0, "")
    assert f"{len(rows)} {'predictions' if verb == 'predict' else 'rows x'}" in messages


@pytest.mark.slow
def test_a_wrong_row_ends_the_answers(talk):
    command = talk("predict", "iris.csv.narrows", "-", "--flush")
    for line in ("a,b,c,d", "5,3,1.5,0.2"):
        command.say(line)
    assert command.answer() == "probability,label"
    assert command.answer().endswith("setosa")
    command.say("5,3,x,0.2")
    status, rest, messages = command.end()
    assert (status, rest, "standard input:3" in messages) == (1, "", True)


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
