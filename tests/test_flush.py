"""`narrows predict --flush` and `transform --flush` answer a row at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

from narrows.command import cli

TEXTS = ["the sea, the SEA and the salt", "a ship at sea", "salt of the land", "a hill on the land"]
OPTIONS = {"iris.csv": [], "texts.csv": ["--text", "body"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Samples and texts, and a model of each."""
    monkeypatch.chdir(tmp_path)
    X, y = (each[::3] for each in load_iris(return_X_y=True))
    rows = [",".join([*map(repr, x), "abc"[label]]) for x, label in zip(X.tolist(), y, strict=True)]
    Path("iris.csv").write_text("\n".join(["a,b,c,d,class", *rows]) + "\n")
    rows = [f'"{text}",{label}' for text, label in zip(TEXTS * 3, "ssll" * 3, strict=True)]
    Path("texts.csv").write_text("\n".join(["body,class", *rows]) + "\n")
    for name, options in OPTIONS.items():
        assert cli.main(["fit", name, *options, "--method", "srda", "-o", f"{name}.narrows"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "name"), [("predict", "iris.csv"), ("transform", "texts.csv")])
def test_each_row_is_answered_before_the_next(folder, name, verb):
    command = [verb, f"{name}.narrows", name, *OPTIONS[name]]
    assert cli.main([*command, "-o", "whole.csv"]) == 0
    header, *rows = Path("whole.csv").read_text().splitlines()
    names, *lines = Path(name).read_text().splitlines(keepends=True)
    command[2] = "-"
    with subprocess.Popen(
        [sys.executable, "-m", "narrows", *command, "--flush"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            process.stdin.write(names)
            for k, (line, row) in enumerate(zip(lines, rows, strict=True)):
                process.stdin.write(line)
                process.stdin.flush()
                assert k or process.stdout.readline() == header + "\n"
                for a, b in zip(process.stdout.readline().split(","), row.split(","), strict=True):
                    assert a.strip() == b or float(a) == pytest.approx(float(b), rel=1e-9)
            wrong = "5,3,x,0.2,a\n" if verb == "predict" else ""  # ends the answers
            rest, messages = process.communicate(wrong, timeout=60)
        finally:
            process.kill()
    assert (process.returncode, rest) == (int(verb == "predict"), "")
    assert verb != "predict" or f"standard input:{len(lines) + 2}" in messages


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("predict iris.csv.narrows iris.csv", "--output"),
        ("predict iris.csv.narrows iris.csv --flush -o out.csv", "-o"),
        ("transform iris.csv.narrows iris.csv -o new --engine dask --flush", "--engine"),
    ],
)
def test_only_standard_output_is_flushed(folder, capfd, command, word):
    assert cli.main(command.split()) == 2
    assert word in capfd.readouterr().err
