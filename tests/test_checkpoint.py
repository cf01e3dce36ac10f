"""Fits that are stopped, killed and gone on with: the same bytes as if never stopped."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from signal import SIGTERM

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from narrows import load
from narrows.command import cli
from narrows.read import source_of
from tests.cases import labelled
from tests.forks import exit_code, forked, piped_input
from tests.inside import before_chunk

METHODS = ["ocfs", "oc", "ig", "ioc", "iis", "immc", "ccipca", "ilda", "idrqr", "onlinesrda"]
pytestmark = pytest.mark.filterwarnings("ignore:.*gains? margin", "ignore:.*more passes")


@pytest.fixture
def run(run):
    """The command line, in a folder of files."""
    X, y = labelled(n=230, d=12, sparse=True)
    codes = np.unique(y, return_inverse=True)[1]
    dump_svmlight_file(X, codes, "a.svm", zero_based=False)
    dump_svmlight_file(X[:100, :9], codes[:100], "one.svm", zero_based=False)
    dump_svmlight_file(X[100:], codes[100:], "two.svm", zero_based=False)
    with open("a.csv", "w") as file:
        file.write(",".join(f"c{k}" for k in range(12)) + ",class\n")
        for row, label in zip(X, y, strict=True):
            file.write(",".join(map(repr, row.tolist())) + f",{label}\n")
    words = ["sea", "salt", "ship", "wave", "tree", "hill", "sand", "stone"]
    with open("a.jsonl", "w") as file:
        for i, label in enumerate(y):
            text = " ".join(words[(i * k + len(label)) % 8] for k in range(1, 5))
            file.write(json.dumps({"label": str(label), "text": text}) + "\n\n")
    return run


def stop_after(monkeypatch, chunks):
    """Let Ctrl-C come while so many chunks have been learned, and the next is being learned."""

    def stop(number, size):
        if number == chunks + 1:
            signal.raise_signal(signal.SIGINT)

    before_chunk(monkeypatch, stop)


def bytes_of(name):
    with open(name, "rb") as file:
        return file.read()


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
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("chunks", [0, 3, 8, 12])
def test_ctrl_c_finishes_the_chunk_and_a_second_run_goes_on(run, monkeypatch, method, chunks):
    twice = method in ("ioc", "immc")
    if chunks > 8 and not (twice or method == "idrqr"):
        pytest.skip("it makes one pass, which is over by then")
    fit = f"fit one.svm two.svm --method {method} --chunk-rows 30"
    fit += " --param passes=2" if twice else ""
    stopped, resumed = assert_resumed_is_whole(run, monkeypatch, fit, chunks)
    sizes = [30, 30, 30, 10, 30, 30, 30, 30, 10]
    rows = sum(sizes[: chunks % len(sizes) + 1])
    assert f"interrupted after {rows} rows, which are saved in c.narrows" in stopped
    assert f"resuming after {rows} rows" in resumed


def test_a_fit_is_gone_on_with_that_starts_with_named_features(run, monkeypatch):
    fit = "fit a.csv --method forwardfs --n-features 4 --start c7,c2 --chunk-rows 30"
    assert_resumed_is_whole(run, monkeypatch, fit)
    assert load("m.narrows").ranking_[:2].tolist() == [7, 2]


@pytest.mark.parametrize("verb", ["fit two.svm --method oc", "update base.narrows two.svm"])
def test_sigterm_writes_the_checkpoint_after_the_chunk(run, monkeypatch, verb):
    assert run("fit one.svm --method oc -o base.narrows")[0] == 0
    assert run(f"{verb} --chunk-rows 30 -o whole.narrows")[0] == 0
    command = f"{verb} --chunk-rows 30 -o m.narrows --checkpoint c.narrows"
    with monkeypatch.context() as patch:
        before_chunk(patch, lambda number, size: number == 2 and signal.raise_signal(SIGTERM))
        with pytest.raises(SystemExit) as ended:
            run(command)
    assert ended.value.code == 128 + SIGTERM
    assert not os.path.exists("m.narrows")
    status, _, err = run(f"{command} --resume")
    assert (status, "resuming after 60 rows" in err) == (0, True), err
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")


@pytest.mark.parametrize("place", ["", "file://{}/"], ids=["file", "address"])
def test_sigterm_while_the_model_is_saved_writes_the_checkpoint(run, monkeypatch, place):
    fit = f"fit {place.format(os.getcwd())}two.svm --method oc --chunk-rows 30 -o"
    assert run(f"{fit} whole.narrows")[0] == 0
    replace = os.replace

    def ended(source, target):
        if Path(target).name == "m.narrows":
            signal.raise_signal(SIGTERM)
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", ended)
        with pytest.raises(SystemExit):
            run(f"{fit} m.narrows --checkpoint c.narrows")
    assert not os.path.exists("m.narrows")
    status, _, err = run(f"{fit} m.narrows --checkpoint c.narrows --resume")
    assert (status, "resuming after 130 rows" in err) == (0, True), err
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")
    assert not os.path.exists("c.narrows")


def test_ctrl_c_without_a_checkpoint_says_how_to_keep_one(run, monkeypatch):
    for command, hint in (
        ("fit a.svm --method oc", "no file was changed. Use --checkpoint FILE to save progress"),
        ("fit a.svm --method srda", "no file was changed. Use --checkpoint FILE to save progress"),
        ("fit a.svm --method srda --param solver=lsqr", "no file was changed."),
    ):
        with monkeypatch.context() as patch:
            stop_after(patch, 1)
            status, out, err = run(f"{command} --chunk-rows 30 -o m.narrows")
        assert (status, out, f"interrupted; {hint}" in err) == (130, "", True), err
        assert not os.path.exists("m.narrows")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["srda", "lda", "mmc", "pca"])
def test_cross_products_are_gone_on_with(run, monkeypatch, method):
    lines = Path("a.csv").read_text().splitlines()
    Path("a.csv").write_text("\n".join([*lines, *lines[1:], *lines[1:], ""]))  # some do not wait
    fit = f"fit a.csv --method {method} --chunk-rows 30"
    assert run(f"{fit} -o whole.narrows")[0] == 0
    fit += " --checkpoint c.narrows --every 60"
    with monkeypatch.context() as patch:
        before_chunk(patch, _fail_after(15))
        with pytest.raises(_Killed):
            run(f"{fit} -o m.narrows")
    assert os.path.exists("c.narrows")
    assert run(f"{fit} -o m.narrows --resume")[0] == 0
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")
    for chunks in (2, 12):
        os.remove("m.narrows")
        with monkeypatch.context() as patch:
            stop_after(patch, chunks)
            assert run(f"{fit} -o m.narrows")[0] == 130
        assert run(f"{fit} -o m.narrows --resume")[0] == 0
        assert bytes_of("m.narrows") == bytes_of("whole.narrows")
    assert load("m.narrows").n_samples_seen_ == 690


class _Killed(BaseException):
    """The end of a process that can do nothing more."""


def _fail_after(chunks):
    """What ends a run after so many chunks, as if it were killed."""

    def fail(number, size):
        if number > chunks:
            raise _Killed

    return fail


@pytest.mark.parametrize("file", ["a.csv", "a.jsonl"])
@pytest.mark.parametrize("method", ["oc", "ioc"])
def test_lines_of_other_formats(run, monkeypatch, file, method):
    assert_resumed_is_whole(run, monkeypatch, f"fit {file} --method {method} --chunk-rows 30")


@pytest.mark.slow
def test_tables_are_gone_on_with(run, monkeypatch):
    rows = [f"{k % 7 or ''},{'abc'[k % 3]},{'xy'[k % 5 < 2]}\n" for k in range(400)]
    Path("t.csv").write_text("n,kind,label\n" + "".join(rows))
    assert_resumed_is_whole(run, monkeypatch, "fit t.csv --method srda --chunk-rows 30")


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_arrays_are_gone_on_with(run, monkeypatch, kind):
    assert run(f"convert a.csv a.{kind}")[0] == 0
    assert_resumed_is_whole(run, monkeypatch, f"fit a.{kind} --method ioc --chunk-rows 30")


def test_an_update_is_gone_on_with(run, monkeypatch):
    assert run("fit one.svm --method ioc -o base.narrows")[0] == 0
    update = "update base.narrows two.svm --chunk-rows 30 -o "
    assert run(update + "whole.narrows")[0] == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        assert run(update + "m.narrows --checkpoint c.narrows")[0] == 130
    assert load("c.narrows").n_samples_seen_ == 190  # a model that can be used meanwhile
    assert run(update + "m.narrows --checkpoint c.narrows --resume")[0] == 0
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")


@pytest.mark.slow
@pytest.mark.parametrize(
    "texts", ["--vectorizer hashing --hash-columns 64 --idf-sample 50", "--stop-words english"]
)
def test_texts_keep_the_weights_they_began_with(run, monkeypatch, texts):
    fit = f"fit a.jsonl --method onlinesrda --chunk-rows 30 {texts} -o "
    assert run(fit + "whole.narrows")[0] == 0
    counted = source_of(load("whole.narrows")).tfidf
    assert counted.n_documents == (50 if "sample" in texts else 230)
    assert ("ship" in counted.names) if counted.names is not None else counted.n_features == 64
    with monkeypatch.context() as patch:
        stop_after(patch, 4)
        assert run(fit + "m.narrows --checkpoint c.narrows")[0] == 130
    for other in ("--vectorizer hashing --hash-columns 32", "--stop-words english --min-df 2"):
        status, out, err = run(
            fit.replace(texts, other) + "m.narrows --checkpoint c.narrows --resume"
        )
        assert (status, out, "got one of another run" in err) == (2, "", True)
    assert run(fit + "m.narrows --checkpoint c.narrows --resume")[0] == 0
    assert bytes_of("m.narrows") == bytes_of("whole.narrows")
    assert run("update m.narrows a.jsonl -o more.narrows")[0] == 0
    assert source_of(load("more.narrows")).tfidf == counted
    assert run("fit a.jsonl --method onlinesrda -o other.narrows")[0] == 0
    status, _, err = run("merge m.narrows other.narrows -o x.narrows")
    assert (status, "narrows fit --like MODEL" in err) == (1, True)


def dies(name, when, path, command, stdin=b""):
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
        with piped_input(stdin):
            return cli.main(command.split())

    process = forked(run)
    assert exit_code(process) == 9


# where the process ends: what is then there of the new model and of the checkpoint
DEATHS = [
    ("replace", "before", "m.narrows", False, True),
    ("replace", "after", "m.narrows", True, True),
    ("unlink", "before", "c.narrows", True, True),
    ("unlink", "after", "c.narrows", True, False),
]


@pytest.mark.slow
@pytest.mark.parametrize("death", DEATHS, ids=lambda death: "-".join(death[:2]))
@pytest.mark.parametrize("kind", ["in place", "beside", "fit"])
def test_rows_are_learned_once_wherever_a_run_is_killed(run, kind, death):
    name, when, path, done, kept = death
    assert run("fit one.svm --method oc -o base.narrows")[0] == 0
    shutil.copy("base.narrows", "m.narrows")
    verb = {
        "in place": "update m.narrows two.svm", "beside": "update base.narrows two.svm",
        "fit": "fit two.svm --method oc",
    }[kind]  # fmt: skip
    assert run(f"{verb} -o whole.narrows --chunk-rows 30")[0] == 0
    whole, before = load("whole.narrows"), bytes_of("m.narrows")
    command = f"{verb} -o m.narrows --chunk-rows 30 --checkpoint c.narrows --every 60 --resume"
    dies(name, when, path, command)
    assert (bytes_of("m.narrows") != before, os.path.exists("c.narrows")) == (done, kept)
    killed = bytes_of("m.narrows")
    for _ in range(2):
        status, out, err = run(command)
        assert (status, "saved to m.narrows" in out) == (0, True), err
        found = load("m.narrows")
        assert found.n_samples_seen_ == whole.n_samples_seen_
        assert dict(zip(found.classes_, found.class_count_, strict=True)) == dict(
            zip(whole.classes_, whole.class_count_, strict=True)
        )
        np.testing.assert_array_equal(found.components_, whole.components_)
        assert not os.path.exists("c.narrows")
        if kind == "in place" and done:
            assert "already finished" in err
            assert bytes_of("m.narrows") == killed


def test_another_run_is_not_taken_for_the_finished_one(run):
    update = "update m.narrows today.svm -o m.narrows --checkpoint c.narrows"

    def rows():
        return load("m.narrows").n_samples_seen_

    def today(source, stat=None):
        shutil.copy(source, "today.svm")
        if stat is not None:
            os.utime("today.svm", ns=(stat.st_atime_ns, stat.st_mtime_ns))

    assert run("fit one.svm --method oc -o m.narrows")[0] == 0
    today("two.svm")
    assert run(update + " --resume")[0] == 0
    assert rows() == 230
    status, out, err = run(update + " --resume --json")
    assert (status, json.loads(out)["rows"], "already finished" in err) == (0, 230, True)
    assert run(update)[0] == 0  # asked for once more
    assert rows() == 360
    assert run(update + " --resume")[0] == 0
    assert rows() == 360
    stat = os.stat("today.svm")
    today("one.svm", stat)  # the next day: another size
    assert run(update + " --resume")[0] == 0
    assert rows() == 460
    with open("today.svm", "r+b") as file:  # and another: the same size, another end
        file.seek(-2, os.SEEK_END)
        file.write(b"7")
    os.utime("today.svm", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert run(update + " --resume")[0] == 0
    assert rows() == 560
    assert run(update + " --resume --chunk-rows 7")[0] == 0  # cut otherwise: another run
    assert rows() == 660
    assert run("update m.narrows one.svm -o m.narrows")[0] == 0  # of which nothing is noted
    assert run(update + " --resume --chunk-rows 7")[0] == 0
    assert rows() == 860


def test_a_run_that_is_begun_once_more_is_gone_on_with(run, monkeypatch):
    update = "update m.narrows two.svm -o m.narrows --chunk-rows 30 --checkpoint c.narrows"
    assert run("fit one.svm --method oc -o m.narrows")[0] == 0
    assert run(update)[0] == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        assert run(update)[0] == 130
    shutil.copy("c.narrows", "old.narrows")
    status, _, err = run(update + " --resume")
    assert (status, "resuming after 90 rows" in err) == (0, True)
    assert load("m.narrows").n_samples_seen_ == 360
    # what was made from a model that is not there any more is not gone on with
    assert run("update m.narrows one.svm -o m.narrows")[0] == 0
    before = bytes_of("m.narrows")
    os.rename("old.narrows", "c.narrows")
    status, out, err = run(update + " --resume")
    assert (status, out) == (2, "")
    assert "m.narrows has changed" in err
    assert bytes_of("m.narrows") == before


def test_what_is_not_the_same_is_refused(run, monkeypatch):
    fit = "fit a.svm --method oc -o m.narrows --chunk-rows 30 --checkpoint c.narrows"
    status, _, err = run(fit + " --resume")
    assert (status, "no checkpoint c.narrows yet; starting from the beginning" in err) == (0, True)
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        assert run(fit)[0] == 130
    for other, message in (
        (fit.replace("oc", "ocfs"), "method was 'OC', now 'OCFS'"),
        (fit.replace("oc ", "oc --priors sqrt "), "priors was 'empirical', now 'sqrt'"),
        (fit.replace("30", "40"), "chunk_rows was 30, now 40"),
        (fit.replace("a.svm", "one.svm"), "inputs was ['a.svm'], now ['one.svm']"),
    ):
        status, out, err = run(other + " --resume")
        assert (status, out, message in err) == (2, "", True)
    text = bytes_of("a.svm")
    with open("a.svm", "wb") as file:
        file.write(text[: len(text) // 2])
    status, _, err = run(fit + " --resume")
    assert (status, "expected the file that c.narrows was written for, got" in err) == (1, True)
    with open("a.svm", "wb") as file:
        file.write(text)
    damaged = bytearray(bytes_of("c.narrows"))
    damaged[-5] ^= 1
    with open("c.narrows", "wb") as file:
        file.write(damaged)
    status, _, err = run(fit + " --resume")
    assert (status, "damaged" in err) == (1, True)


def test_a_checkpoint_takes_the_place_of_nothing_else(run):
    assert run("fit a.svm --method oc -o m.narrows")[0] == 0
    with open("notes.txt", "w") as file:
        file.write("notes")
    os.symlink("m.narrows", "link.narrows")
    before = {name: bytes_of(name) for name in ("m.narrows", "notes.txt")}
    for command, message in (
        (
            "fit a.svm --method oc -o m.narrows --checkpoint m.narrows",
            "expected a checkpoint, got the model",
        ),
        (
            "fit a.svm --method oc -o m.narrows --checkpoint link.narrows",
            "expected a checkpoint, got the model",
        ),
        (
            "fit a.svm --method oc -o n.narrows --checkpoint ./n.narrows",
            "expected a checkpoint, got the model",
        ),
        (
            "update m.narrows a.svm -o n.narrows --checkpoint m.narrows",
            "expected an output, got an input",
        ),
        (
            "fit a.svm --method oc -o n.narrows --checkpoint m.narrows",
            "expected a checkpoint, got another file",
        ),
        (
            "fit a.svm --method oc -o n.narrows --checkpoint notes.txt",
            "expected a checkpoint, got another file",
        ),
        (
            "fit a.svm --method oc -o n.narrows --checkpoint -",
            "-: expected a checkpoint, got another file",
        ),
    ):
        status, out, err = run(command)
        assert (status, out, message in err) == (2, "", True), err
        assert {name: bytes_of(name) for name in before} == before


def test_a_checkpoint_belongs_to_a_fit_or_to_the_update_of_one_model(run, monkeypatch):
    for name in ("a", "b"):
        assert run(f"fit one.svm --method oc -o {name}.narrows")[0] == 0
    update = "update a.narrows two.svm -o m.narrows --chunk-rows 30 --checkpoint c.narrows"
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        assert run(update)[0] == 130
    fit = update.replace("update a.narrows", "fit --method oc")
    for other in (update.replace("a.narrows", "b.narrows"), fit):
        status, out, err = run(other + " --resume")
        assert (status, out, "got one of another run: model was" in err) == (
            2,
            "",
            True,
        )
    assert run(update + " --resume")[0] == 0


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "fit a.svm --method srda --param solver=lsqr -o m --checkpoint c",
            "SRDA does not support partial_fit",
        ),
        (
            "fit a.csv --method lda --param solver=pca -o m --checkpoint c",
            "LDA does not support partial_fit",
        ),
        (
            "fit a.svm --method pca --width 8193 -o m --checkpoint c",
            "expected at most 8,192 features for --checkpoint, got 8,193. Use ",
        ),
        ("fit a.svm --method oc -o m --resume", "--resume: expected --checkpoint FILE beside it"),
        (
            "fit a.svm --method oc -o m --min-df 2",
            "--min-df: expected texts (.jsonl), got numbers in a.svm",
        ),
        (
            "fit a.jsonl --method oc -o m --hash-columns 9",
            "--hash-columns: expected --vectorizer hashing beside it",
        ),
        ("fit a.jsonl --method oc -o m --stop-words none.txt", "none.txt"),
        (
            "fit - --one-based --method oc -o m --checkpoint c --resume",
            "--resume: expected files, got standard input, a pipe, which cannot be read again",
        ),
        ("fit a.svm --method oc -o m --checkpoint none/c", "expected a folder none, got none"),
        ("fit a.svm --method oc -o m --checkpoint a.svm", "expected an output, got an input"),
        (
            "fit a.svm --method oc -o m --checkpoint c --resume --from-position",
            "Version 0.4 removed it: a pipe cannot be read again",
        ),
    ],
)
def test_wrong_usage_is_told(run, command, message):
    status, out, err = run(command)
    assert (status, out) == (2, "")
    assert message in err


def test_a_pipe_with_a_name_is_not_resumed(run):
    os.mkfifo("pipe.svm")
    status, out, err = run("fit pipe.svm --method oc -o m --checkpoint c.narrows --resume")
    assert (status, out) == (2, "")
    assert "--resume: expected files, got pipe.svm, a pipe, which cannot be read again" in err


def test_a_file_of_stop_words_is_utf_8(run):
    with open("words.txt", "wb") as file:
        file.write("\ufeffSHIP\r\nthe\r\n".encode())
    assert run("fit a.jsonl --method oc --stop-words words.txt -o m")[0] == 0
    assert "ship" not in source_of(load("m")).names
    with open("words.txt", "wb") as file:
        file.write(b"\xe9t\xe9")
    status, out, err = run("fit a.jsonl --method oc --stop-words words.txt -o m")
    assert (status, out, "words.txt: expected stop words in UTF-8" in err) == (1, "", True)
    status, out, err = run("fit a.jsonl --method oc --min-df 10000 -o m")
    assert (status, out, "words, got none for min_df=10,000 and max_df=1.0" in err) == (1, "", True)


@pytest.mark.nightly
def test_killed_twenty_times_it_ends_with_the_same_bytes(tmp_path, monkeypatch):
    """A state of 48 MB, so that most of the time goes into writing it."""
    rng, random_moment = np.random.default_rng(0), random.Random(0)
    lines = [
        f"{j} {a + 1}:{x:.3f} {b + 500_000}:1\n"
        for j, a, b, x in zip(
            rng.integers(0, 4, 100_000), rng.integers(0, 400_000, 100_000),
            rng.integers(0, 900_000, 100_000), rng.normal(size=100_000), strict=True,
        )
    ]  # fmt: skip
    (tmp_path / "a.svm").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    fit = "fit a.svm --method oc --width 1500000 --one-based --chunk-rows 500 -o "
    assert cli.main((fit + "whole.narrows").split()) == 0
    kept = f"{fit}m.narrows --checkpoint c.narrows --every 500 --resume"
    checkpoint, model, whole = (tmp_path / f"{name}.narrows" for name in ("c", "m", "whole"))
    killed = writing = 0
    last = False
    while not last:
        last = killed >= 20 and writing >= 5
        assert killed < 60, "the writes are never met"
        process = forked(lambda: cli.main(kept.split()))
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.is_alive():  # one write at least
            if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
                break
            time.sleep(0.005)
        time.sleep(random_moment.uniform(0, 0.3))
        if writing < 5:  # wait until one is under way
            while process.is_alive() and not list(tmp_path.glob(".c.narrows.*.part")):
                assert time.monotonic() < deadline + 60
                time.sleep(0.0005)
        if not last:
            process.kill()
        code = exit_code(process)
        assert code in (0, -signal.SIGKILL)
        killed += code != 0
        writing += bool(list(tmp_path.glob(".c.narrows.*.part")))
        if model.exists():  # it was done, and is begun again
            assert model.read_bytes() == whole.read_bytes()
            assert load(model).n_samples_seen_ == 100_000
            model.rename(tmp_path / "done.narrows")
        else:
            load(checkpoint)  # whole, whenever it was
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.svm", "done.narrows", "whole.narrows"
    ]  # fmt: skip


@pytest.mark.nightly
def test_the_example_from_the_shell(tmp_path):
    script = Path(__file__).parent.parent / "examples" / "pipe.sh"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(script), str(tmp_path)], env=os.environ | {"PATH": path},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "OnlineSRDA: 12,000 rows" in done.stdout
    with np.load(tmp_path / "reduced.npz") as reduced:
        assert reduced["X"].shape == (12_000, 2)
