"""Files that a command reads and then replaces, while others do the same."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from narrows import load, save
from narrows.command import cli
from narrows.errors import DataError
from tests.forks import exit_code, forked
from tests.inside import before_chunk, reserved, without_locks

WAIT = 120  # seconds


def rows(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    lines = [",".join(map(str, row)) + f",{k % 2}" for k, row in enumerate(X.tolist())]
    return "a,b,c,label\n" + "\n".join(lines) + "\n"


@pytest.fixture
def run(run):
    """The command line, in a folder with three models."""
    for name, n in (("m", 20), ("one", 30), ("two", 50)):
        with open(f"{name}.csv", "w") as file:
            file.write(rows(n, seed=n))
        assert run(f"fit {name}.csv --method oc -o {name}.narrows")[0] == 0
    return run


@pytest.mark.parametrize(("locks", "output"), [(True, "m.narrows"), (False, "link")])
def test_a_model_that_has_changed_since_it_was_read_stays(run, monkeypatch, locks, output):
    os.symlink("m.narrows", "link")
    if not locks:
        without_locks(monkeypatch)
    update = f"update m.narrows one.csv -o {output}"
    with monkeypatch.context() as patch:
        before_chunk(patch, lambda number, size: os.replace("two.narrows", "m.narrows"))
        status, out, err = run(update)
    assert (status, out, "another process wrote" in err) == (1, "", True)
    assert load("m.narrows").n_samples_seen_ == 50
    names = {"link", "m.csv", "m.narrows", "one.csv", "one.narrows", "two.csv"}
    assert set(os.listdir()) == names
    assert run(update)[0] == 0
    assert load("m.narrows").n_samples_seen_ == 80


def test_models_are_merged_into_one_of_them_by_one_process(run, monkeypatch):
    statuses = []

    def merged_meanwhile(number, size):
        for output in ("m", "new"):
            merge = f"merge one.narrows m.narrows -o {output}.narrows".split()
            statuses.append(exit_code(forked(lambda merge=merge: cli.main(merge))))

    with monkeypatch.context() as patch:
        before_chunk(patch, merged_meanwhile)
        assert run("update m.narrows two.csv -o m.narrows")[0] == 0
    assert statuses == [1, 0]
    assert load("m.narrows").n_samples_seen_ == 70
    assert load("new.narrows").n_samples_seen_ == 50


@pytest.mark.parametrize(
    ("name", "other"),
    [("m", "fit --like one.narrows"), ("m", "update m.narrows"), ("new", "fit"), ("new", "save")],
)
def test_a_model_is_written_by_one_process(run, monkeypatch, name, other):
    """The other one is refused before it reads samples, and nothing is lost or left."""
    output, statuses = f"{name}.narrows", []

    def write():
        if other != "save":
            return cli.main(f"{other} two.csv -o {output}".split())
        try:
            save(load("two.narrows"), output)
        except DataError:
            return 1

    def written_meanwhile(number, size):
        before = load(output).n_samples_seen_ if name == "m" else None
        statuses.append(exit_code(forked(write)))
        assert (load(output).n_samples_seen_ if name == "m" else None) == before

    files = {*os.listdir(), output}
    with monkeypatch.context() as patch:
        before_chunk(patch, written_meanwhile)
        assert run(f"fit one.csv --method oc -o {output}")[0] == 0
    assert statuses == [1]
    assert load(output).n_samples_seen_ == 30
    assert set(os.listdir()) == files
    assert write() in (0, None)
    assert load(output).n_samples_seen_ > 30


def test_a_reservation_ends_with_its_process(run):
    def killed():
        with reserved("m.narrows"), reserved("m.narrows"):
            os.kill(os.getpid(), signal.SIGKILL)

    files = sorted(os.listdir())
    assert exit_code(forked(killed)) == -signal.SIGKILL
    assert len(os.listdir()) == len(files) + 1
    assert run("update m.narrows one.csv -o m.narrows")[0] == 0
    assert sorted(os.listdir()) == files


@pytest.mark.parametrize(("chunk", "status"), [(2, 1), (3, 0)])
def test_a_checkpoint_of_another_run_stays(run, monkeypatch, chunk, status):
    """The other one is written before the second checkpoint, or after the last."""
    fit = "fit one.csv --method oc --chunk-rows 10 --checkpoint c.narrows -o new.narrows"

    def other_fit(number, size):
        if number == chunk:
            os.replace("two.narrows", "c.narrows")

    with monkeypatch.context() as patch:
        before_chunk(patch, other_fit)
        assert run(f"{fit} --every {10 if status else 1000}")[0] == status
    assert load("c.narrows").n_samples_seen_ == 50
    assert os.path.exists("new.narrows") == (not status)
