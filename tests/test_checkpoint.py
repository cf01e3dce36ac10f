"""Fits that are stopped, killed and gone on with: the same bytes as if never stopped."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from signal import SIGTERM

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from narrows import load
from narrows.command import cli
from narrows.read import source_of
from tests.cases import assert_same, labelled
from tests.conftest import slow
from tests.forks import exit_code, forked
from tests.inside import before_chunk

pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin", "ignore:.*more passes")


@pytest.fixture
def run(run):
    """The command line, in a folder of files."""
    X, y = labelled(n=230, d=12, sparse=True)
    codes = np.unique(y, return_inverse=True)[1]
    dump_svmlight_file(X, codes, "a.svm", zero_based=False)
    dump_svmlight_file(X[:100, :9], codes[:100], "one.svm", zero_based=False)
    dump_svmlight_file(X[100:], codes[100:], "two.svm", zero_based=False)
    table = pd.DataFrame(X, columns=[f"c{k}" for k in range(12)]).assign(**{"class": y})
    table.to_csv("a.csv", index=False)
    words = np.array(["sea", "salt", "ship", "wave", "tree", "hill", "sand", "stone"])
    texts = [" ".join(words[(i * np.arange(1, 5) + len(y[i])) % 8]) for i in range(230)]
    lines = pd.DataFrame({"label": y, "text": texts}).to_json(orient="records", lines=True)
    Path("a.jsonl").write_text(lines.replace("\n", "\n\n"))
    return run


def stop_after(monkeypatch, chunks):
    """Let Ctrl-C come while so many chunks have been learned, and the next is being learned."""

    def stop(number, size):
        if number == chunks + 1:
            signal.raise_signal(signal.SIGINT)

    before_chunk(monkeypatch, stop)


def bytes_of(name):
    return Path(name).read_bytes()


def assert_resumed_is_whole(run, monkeypatch, command, chunks=4):
    """A run that is stopped and resumed saves what an undisturbed one does; return what it said."""
    assert run(f"{command} -o whole.narrows")[0] == 0
    with monkeypatch.context() as patch:
        stop_after(patch, chunks)
        status, out, stopped = run(f"{command} -o m.narrows --checkpoint c.narrows --every 60")
    assert (status, out) == (130, "")
    assert not os.path.exists("m.narrows")
    status, _, resumed = run(f"{command} -o m.narrows --checkpoint c.narrows --resume")
    assert status == 0, resumed
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")
    assert not os.path.exists("c.narrows")
    return stopped, resumed


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ig", "ioc --param passes=2", "ilda", "idrqr", "onlinesrda"])
@pytest.mark.parametrize("chunks", [0, 3, 8, 12])
def test_ctrl_c_finishes_the_chunk_and_a_second_run_goes_on(run, monkeypatch, method, chunks):
    if chunks > 8 and method not in ("ioc --param passes=2", "idrqr"):
        pytest.skip("it makes one pass, which is over by then")
    fit = f"fit one.svm two.svm --method {method} --chunk-rows 30"
    stopped, resumed = assert_resumed_is_whole(run, monkeypatch, fit, chunks)
    sizes = [30, 30, 30, 10, 30, 30, 30, 30, 10]
    rows = sum(sizes[: chunks % len(sizes) + 1])
    assert f"interrupted after {rows} rows" in stopped
    assert f"resuming after {rows} rows" in resumed


@pytest.mark.parametrize(
    "command",
    [
        "fit a.csv --method oc",
        "fit a.jsonl --method oc",
        "fit a.csv --method forwardfs --n-features 4 --start c7,c2",
        "fit a.npz --method ioc",
        slow("fit a.parquet --method ioc"),
        slow("fit t.csv --method srda"),
        slow("fit a.csv --method lda"),
        slow("fit a.csv --method pca"),
        "update base.narrows a.svm",
    ],
)
def test_runs_on_every_kind_of_file_are_gone_on_with(run, monkeypatch, command):
    for name in ("a.npz", "a.parquet"):
        assert name not in command or run(f"convert a.csv {name}")[0] == 0
    assert run("fit one.svm --method ioc --width 12 -o base.narrows")[0] == 0
    rows = [f"{k % 7 or ''},{'abc'[k % 3]},{'xy'[k % 5 < 2]}\n" for k in range(400)]
    Path("t.csv").write_text("n,kind,label\n" + "".join(rows))
    assert_resumed_is_whole(run, monkeypatch, f"{command} --chunk-rows 30")


@pytest.mark.parametrize("place", ["", "file://{}/"], ids=["file", "address"])
@pytest.mark.parametrize("moment", ["a chunk", "the model is saved"])
def test_sigterm_writes_the_checkpoint(run, monkeypatch, place, moment):
    fit = f"fit {place.format(os.getcwd())}two.svm --method oc --chunk-rows 30 -o"
    assert run(f"{fit} whole.narrows")[0] == 0
    replace = os.replace

    def ended(source, target):
        if Path(target).name == "m.narrows":
            signal.raise_signal(SIGTERM)
        replace(source, target)

    with monkeypatch.context() as patch:
        if moment == "a chunk":
            before_chunk(patch, lambda number, size: number == 2 and signal.raise_signal(SIGTERM))
        else:
            patch.setattr(os, "replace", ended)
        with pytest.raises(SystemExit) as stopped:
            run(f"{fit} m.narrows --checkpoint c.narrows")
    assert stopped.value.code == 128 + SIGTERM
    assert not os.path.exists("m.narrows")
    status, _, err = run(f"{fit} m.narrows --checkpoint c.narrows --resume")
    rows = 60 if moment == "a chunk" else 130
    assert (status, f"resuming after {rows} rows" in err) == (0, True), err
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")


@pytest.mark.parametrize("method", ["oc", "srda --param solver=lsqr"])
def test_ctrl_c_without_a_checkpoint_changes_no_file(run, monkeypatch, method):
    stop_after(monkeypatch, 1)
    status, out, err = run(f"fit a.svm --method {method} --chunk-rows 30 -o m.narrows")
    assert (status, out, "no file was changed" in err) == (130, "", True)
    assert ("--checkpoint" in err) == ("lsqr" not in method)  # which refuses it
    assert not os.path.exists("m.narrows")


@pytest.mark.slow
@pytest.mark.parametrize(
    "texts", ["--vectorizer hashing --hash-columns 64 --idf-sample 50", "--stop-words english"]
)
def test_texts_keep_the_weights_they_began_with(run, monkeypatch, texts):
    fit = f"fit a.jsonl --method onlinesrda --chunk-rows 30 {texts} -o "
    assert run(fit + "whole.narrows")[0] == 0
    counted = source_of(load("whole.narrows")).tfidf
    assert counted.n_documents == (50 if "sample" in texts else 230)
    fit += "m.narrows --checkpoint c.narrows"
    with monkeypatch.context() as patch:
        stop_after(patch, 4)
        assert run(fit)[0] == 130
    other = fit.replace(texts, "--stop-words english --min-df 2")
    status, _, err = run(other + " --resume")
    assert (status, "another run" in err) == (2, True)
    assert run(fit + " --resume")[0] == 0
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")
    assert run("update m.narrows a.jsonl -o more.narrows")[0] == 0
    assert source_of(load("more.narrows")).tfidf == counted


def dies(name, when, path, command):
    """Run a command in a process that dies before or after a call with this path."""

    def run():
        owner = os if name == "replace" else Path
        call = getattr(owner, name)

        def dying(*args, **more):
            mine = os.path.basename(args[-1]) == path
            if mine and when == "before":
                os._exit(9)
            call(*args, **more)
            if mine:
                os._exit(9)

        setattr(owner, name, dying)
        return cli.main(command.split())

    assert exit_code(forked(run)) == 9


# where the process ends: what is then there of the new model and of the checkpoint
DEATHS = [
    ("replace", "before", "m.narrows", False, True),
    ("replace", "after", "m.narrows", True, True),
    ("unlink", "before", "c.narrows", True, True),
    ("unlink", "after", "c.narrows", True, False),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "death"),
    [
        *(("update m.narrows two.svm", death) for death in DEATHS),
        ("update base.narrows two.svm", DEATHS[1]),
        ("fit two.svm --method oc", DEATHS[2]),
    ],
)
def test_rows_are_learned_once_wherever_a_run_is_killed(run, kind, death):
    name, when, path, done, kept = death
    assert run("fit one.svm --method oc -o base.narrows")[0] == 0
    shutil.copy("base.narrows", "m.narrows")
    assert run(f"{kind} -o whole.narrows --chunk-rows 30")[0] == 0
    whole, before = load("whole.narrows"), bytes_of("m.narrows")
    command = f"{kind} -o m.narrows --chunk-rows 30 --checkpoint c.narrows --every 60 --resume"
    dies(name, when, path, command)
    killed = bytes_of("m.narrows")
    assert (killed != before, os.path.exists("c.narrows")) == (done, kept)
    for _ in range(2):
        status, out, err = run(command)
        assert (status, "saved to m.narrows" in out) == (0, True), err
        assert_same(load("m.narrows"), whole, rtol=0, atol=0)
        assert not os.path.exists("c.narrows")
        if kind.startswith("update m.narrows") and done:
            assert "already finished" in err
            assert bytes_of("m.narrows") == killed


def test_another_run_is_not_taken_for_the_finished_one(run):
    update = "update m.narrows today.svm -o m.narrows --checkpoint c.narrows"
    stat = os.stat("two.svm")

    def rows_after(command):
        assert run(command)[0] == 0
        return load("m.narrows").n_samples_seen_

    def today(name, change=b"", later=0):
        shutil.copy(name, "today.svm")
        with open("today.svm", "r+b") as file:
            file.seek(-2, os.SEEK_END)
            file.write(change)
        os.utime("today.svm", ns=(stat.st_atime_ns, stat.st_mtime_ns + later))

    assert run("fit one.svm --method oc -o m.narrows")[0] == 0
    today("two.svm")
    assert rows_after(update + " --resume") == 230
    assert rows_after(update + " --resume") == 230  # already finished
    assert rows_after(update) == 360  # asked for once more
    today("one.svm")  # the next day: another size at the same time
    assert rows_after(update + " --resume") == 460
    today("one.svm", b"7", 1)  # and another: the same size, another end
    assert rows_after(update + " --resume") == 560
    assert rows_after(update + " --resume --chunk-rows 7") == 660  # cut otherwise: another run
    assert rows_after("update m.narrows one.svm -o m.narrows") == 760  # of which nothing is noted
    assert rows_after(update + " --resume --chunk-rows 7") == 860


def test_a_run_that_is_begun_once_more_is_gone_on_with(run, monkeypatch):
    update = "update m.narrows two.svm -o m.narrows --chunk-rows 30 --checkpoint c.narrows"
    assert run("fit one.svm --method oc -o m.narrows")[0] == 0
    assert run(update)[0] == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        assert run(update)[0] == 130
    shutil.copy("c.narrows", "old.narrows")
    assert load("old.narrows").n_samples_seen_ == 320  # a model that can be used meanwhile
    assert run(update + " --resume")[0] == 0
    assert load("m.narrows").n_samples_seen_ == 360
    # what was made from a model that is not there any more is not gone on with
    assert run("update m.narrows one.svm -o m.narrows")[0] == 0
    before = bytes_of("m.narrows")
    os.rename("old.narrows", "c.narrows")
    status, out, err = run(update + " --resume")
    assert (status, out, "m.narrows has changed" in err) == (2, "", True)
    assert bytes_of("m.narrows") == before


def test_what_is_not_the_same_is_refused(run, monkeypatch):
    for name in ("base", "other"):
        assert run(f"fit one.svm --method oc -o {name}.narrows")[0] == 0
    update = "update base.narrows a.svm -o m.narrows --chunk-rows 30 --checkpoint c.narrows"
    fit = update.replace("update base.narrows", "fit --method oc")
    changes = {
        fit: {"oc": "ocfs", "oc ": "oc --priors sqrt ", "30": "40", "a.svm": "one.svm"},
        update: {"base.narrows": "other.narrows", "update base.narrows": "fit --method oc"},
    }
    for command, changed in changes.items():
        with monkeypatch.context() as patch:
            stop_after(patch, 3)
            assert run(command)[0] == 130
        for old, new in changed.items():
            status, out, err = run(command.replace(old, new) + " --resume")
            assert (status, out, "another run" in err) == (2, "", True)
    for name in ("a.svm", "c.narrows"):
        whole = bytes_of(name)
        cut = len(whole) // 2 if name == "a.svm" else len(whole) - 1
        Path(name).write_bytes(whole[:cut] + bytes([whole[cut] ^ 1]) * (name == "c.narrows"))
        status, _, err = run(update + " --resume")
        assert (status, "c.narrows" in err) == (1, True)
        Path(name).write_bytes(whole)
    assert run(update + " --resume")[0] == 0
    assert run(update + " --resume")[0] == 0  # without a checkpoint


WRONG = [
    # a checkpoint takes the place of nothing else
    ("fit a.svm --method oc -o m.narrows --checkpoint m.narrows", 2, "got the model"),
    ("fit a.svm --method oc -o m.narrows --checkpoint link.narrows", 2, "got the model"),
    ("fit a.svm --method oc -o n.narrows --checkpoint ./n.narrows", 2, "got the model"),
    ("update m.narrows a.svm -o n.narrows --checkpoint m.narrows", 2, "got an input"),
    ("fit a.svm --method oc -o n.narrows --checkpoint a.svm", 2, "got an input"),
    ("fit a.svm --method oc -o n.narrows --checkpoint m.narrows", 2, "got another file"),
    ("fit a.svm --method oc -o n.narrows --checkpoint latin.txt", 2, "got another file"),
    ("fit a.svm --method oc -o n.narrows --checkpoint -", 2, "got another file"),
    ("fit a.svm --method oc -o n --checkpoint none/c", 2, "a folder"),
    # what has none
    ("fit a.svm --method srda --param solver=lsqr -o n --checkpoint c", 2, "partial_fit"),
    ("fit a.csv --method lda --param solver=pca -o n --checkpoint c", 2, "partial_fit"),
    ("fit a.svm --method pca --width 8193 -o n --checkpoint c", 2, "8,192 features"),
    ("fit - --one-based --method oc -o n --checkpoint c --resume", 2, "a pipe"),
    ("fit pipe.svm --method oc -o n --checkpoint c --resume", 2, "a pipe"),
    ("fit a.svm --method oc -o n --resume", 2, "--checkpoint"),
    ("fit a.svm --method oc -o n --checkpoint c --resume --from-position", 2, "removed"),
    # options of texts
    ("fit a.svm --method oc -o n --min-df 2", 2, "--min-df"),
    ("fit a.jsonl --method oc -o n --hash-columns 9", 2, "--vectorizer hashing"),
    ("fit a.jsonl --method oc -o n --stop-words none.txt", 2, "none.txt"),
    ("fit a.jsonl --method oc -o n --stop-words latin.txt", 1, "latin.txt"),
    ("fit a.jsonl --method oc -o n --min-df 10000", 1, "min_df=10,000"),
]


@pytest.mark.parametrize(("command", "status", "word"), WRONG)
def test_wrong_usage_is_an_error_and_changes_nothing(run, command, status, word):
    assert run("fit a.svm --method oc -o m.narrows")[0] == 0
    os.mkfifo("pipe.svm")
    os.symlink("m.narrows", "link.narrows")
    Path("latin.txt").write_bytes(b"\xe9t\xe9")
    before = {name: bytes_of(name) for name in ("m.narrows", "latin.txt", "a.svm")}
    found, out, err = run(command)
    assert (found, out, word in err) == (status, "", True), err
    assert {name: bytes_of(name) for name in before} == before
    assert not os.path.exists("n")
