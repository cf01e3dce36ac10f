"""Model files: whole, checked, replaced at once and by one process, and never a pickle."""

from __future__ import annotations

import fcntl
import itertools
import os
import shutil
import signal
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file
from scipy import sparse

import narrows
from narrows import OC, OCFS, SRDA, ForwardFS, KernelSRDA
from narrows.command import cli
from narrows.errors import DataError
from narrows.read import Source, source_of
from narrows.table import TableEncoder
from narrows.text import Tfidf
from tests.cases import assert_same, labelled
from tests.forks import exit_code, forked
from tests.inside import before_chunk, remember, replacing, reserved, without_locks


@pytest.fixture
def model(tmp_path):
    X, y = labelled()
    path = tmp_path / "m.narrows"
    narrows.save(OCFS(n_features=3).fit(X, y), path)
    return path


def test_names_and_the_source_survive(tmp_path):
    X, y = labelled()
    names = ["a", "b", "\u00e7", "d d", "", "f", "g"]
    fitted = OCFS(n_features=2).fit(pd.DataFrame(X, columns=names), y)
    source = Source(zero_based=False, label="l", columns=tuple(names), tfidf=Tfidf().update(["x"]))
    remember(fitted, source)
    narrows.save(fitted, tmp_path / "a.narrows")
    loaded = narrows.load(tmp_path / "a.narrows")
    assert source_of(loaded) == source
    assert loaded.feature_names_in_.tolist() == names
    assert loaded.feature_names_in_.dtype == object
    assert loaded.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()


COLUMNS = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 5)), columns=list("abcde"))


@pytest.mark.parametrize(
    "estimator",
    [OC(np.int32(2)), KernelSRDA(np.uint8(2)), OCFS(energy=0.123456789012345678),
     SRDA(standardize=np.array(["a"])), SRDA(standardize=COLUMNS.columns[1:2]),
     ForwardFS(2, groups=np.array(list("aabbc"))), ForwardFS(2, groups=pd.Series([0, 0, 1, 1, 2])),
     ForwardFS(2, start=np.array(["b"], dtype=object)), OCFS(2, priors=pd.Series([0.1, 0.2, 0.7])),
     Tfidf(min_df=np.int32(1)), TableEncoder(splines=np.int32(3))],
    ids=str,
)  # fmt: skip
def test_parameters_of_every_type_survive(tmp_path, estimator):
    X = ["a b", "b c"] if isinstance(estimator, Tfidf) else COLUMNS
    estimator.fit(X, np.arange(len(X)) % 3)
    narrows.save(estimator, tmp_path / "a.narrows")
    loaded = narrows.load(tmp_path / "a.narrows")
    found, expected = (each.transform(X) for each in (loaded, estimator))
    np.testing.assert_array_equal(*map(np.asarray, map(dense, (found, expected))))
    if hasattr(estimator, "half_life"):
        loaded.merge(estimator).merge(loaded)
    for name, value in estimator.get_params().items():
        # a Series of priors is a mapping of the classes
        expected = value.to_dict() if name == "priors" and hasattr(value, "to_dict") else value
        np.testing.assert_array_equal(loaded.get_params()[name], expected)


def dense(Z):
    return Z.toarray() if sparse.issparse(Z) else Z


def test_every_cut_and_every_flipped_bit_of_a_file_is_an_error_that_names_it(model, tmp_path):
    whole, bad = model.read_bytes(), tmp_path / "bad.narrows"
    cuts = [whole[:size] for size in (0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1)]
    flipped = [
        whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] for at in range(0, len(whole), 11)
    ]
    for content in cuts + flipped:
        bad.write_bytes(content)
        with pytest.raises(DataError, match=r"bad\.narrows: "):
            narrows.load(bad)


def test_other_files_are_not_models(tmp_path):
    save_file({"a": np.ones(2)}, tmp_path / "a.safetensors")
    with pytest.raises(DataError, match="without its header"):
        narrows.load(tmp_path / "a.safetensors")
    with pytest.raises(FileNotFoundError):
        narrows.load(tmp_path / "none.narrows")


def test_what_cannot_be_saved(tmp_path):
    fitted, path = OC().fit(*labelled()), tmp_path / "a"
    with pytest.raises(TypeError, match="got list"):
        narrows.save([], path)
    with pytest.raises(ValueError, match="not fitted"):
        narrows.save(OC(), path)
    with pytest.raises(OSError, match="no such folder"):
        narrows.save(fitted, tmp_path / "none" / "a.narrows")
    with pytest.raises(TypeError, match="priors"):
        narrows.save(fitted.set_params(priors={1, 2}), path)
    with pytest.raises(TypeError, match="expected an estimator"):
        source_of([])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "error"), [("fsync", OSError), ("replace", KeyboardInterrupt)])
def test_a_failing_write_leaves_the_old_file_and_nothing_else(model, monkeypatch, name, error):
    before = model.read_bytes()

    def fail(*args):
        raise error

    monkeypatch.setattr(os, name, fail)
    with pytest.raises(error):
        save_any(model)
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


def test_a_replaced_file_keeps_its_mode_and_its_links(model, tmp_path):
    model.chmod(0o640)
    link = tmp_path / "link.narrows"
    link.symlink_to(model)
    save_any(link)
    assert link.is_symlink()
    assert stat.S_IMODE(model.stat().st_mode) == 0o640
    assert type(narrows.load(model)) is OC
    mask = os.umask(0)
    os.umask(mask)
    save_any(tmp_path / "new.narrows")
    assert stat.S_IMODE((tmp_path / "new.narrows").stat().st_mode) == 0o666 & ~mask


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe, copy = tmp_path / "pipe.narrows", tmp_path / "copy.narrows"
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", pipe, copy]) as reader:
        try:
            save_any(pipe)
            assert reader.wait(timeout=60) == 0
        finally:
            reader.kill()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert_same(narrows.load(copy), OC().fit(*labelled()))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.narrows", "pipe.narrows"]


def save_any(path):
    narrows.save(OC().fit(*labelled()), path)


@pytest.fixture
def writing(tmp_path):
    """A process that is in the middle of writing a file; ended with the test."""
    started, stopped = os.pipe()

    def replace(source, target):
        os.write(stopped, b"writing")
        signal.pause()

    def write():
        os.replace = replace
        save_any(tmp_path / "other.narrows")

    process = forked(write)
    try:
        assert os.read(started, 7) == b"writing"
        yield process
    finally:
        process.kill()
        exit_code(process)
        os.close(started)
        os.close(stopped)


def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path, writing):
    def save_again():
        save_any(tmp_path / "a.narrows")
        return sorted(path.name for path in tmp_path.iterdir())

    left = sorted(path.name for path in tmp_path.iterdir())  # what is written, and a reservation
    assert save_again() == [*left, "a.narrows"]  # its process lives
    assert [path.stat().st_size > 0 for path in tmp_path.glob(".*/new")] == [True]
    writing.kill()
    assert exit_code(writing) == -signal.SIGKILL
    assert save_again() == ["a.narrows"]


@pytest.fixture
def left(tmp_path):
    """What a writer that is gone has left."""
    folder = tmp_path / ".a.0123456789abcdef.part"
    folder.mkdir()
    (folder / "lock").touch()
    return folder


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_what_a_killed_cleaner_left_goes_with_the_next_one(tmp_path, left, moment):
    (left / "new").touch()

    def clear():
        removals = itertools.count(1)

        def die(event, args):
            if event in ("os.remove", "os.rmdir") and next(removals) == moment:
                os._exit(9)

        sys.addaudithook(die)
        save_any(tmp_path / "m.narrows")

    assert exit_code(forked(clear)) == 9
    assert left.exists()
    save_any(tmp_path / "m.narrows")
    assert not left.exists()


def test_nothing_else_is_removed(tmp_path):
    """Links, files, other names, and folders that have no lock."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    name = ".{}.0123456789abcdef.part"
    others = [".c.0123456789abcdef.parts", ".c.0123.part", "c.0123456789abcdef.part", ".part"]
    for each in (elsewhere, *(folder / other for other in others)):
        each.mkdir(parents=True)
        (each / "lock").touch()
    (folder / name.format("a")).symlink_to(elsewhere)
    (folder / name.format("b")).write_text("a file")
    (folder / name.format("d")).mkdir()
    (folder / name.format("d") / "notes").touch()
    before = sorted(folder.rglob("*"))
    (folder / name.format("f")).mkdir()  # which is empty
    save_any(folder / "m.narrows")
    assert sorted(folder.rglob("*")) == sorted([*before, folder / "m.narrows"])
    assert (elsewhere / "lock").exists()


@pytest.mark.parametrize("name", ["os.scandir", "fcntl.flock"])
def test_what_cannot_be_removed_breaks_no_run(tmp_path, left, monkeypatch, name):
    original = os.scandir

    def refused(what, *how):
        if what == tmp_path or how:
            raise PermissionError(13, "Permission denied")
        return original(what)

    monkeypatch.setattr(name, refused)  # without locks nobody can tell
    save_any(tmp_path / "a")
    monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == [left.name, "a"]


def test_a_room_that_is_removed_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    """As when another process takes it for one that was left."""
    flock, rooms = fcntl.flock, []

    def late(descriptor, how):
        if len(rooms) < 3:
            rooms.append(next(tmp_path.glob(".*.part")))
            if len(rooms) < 3:
                shutil.rmtree(rooms[-1])
            if len(rooms) == 2:
                raise BlockingIOError
        return flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with replacing(tmp_path / "a"):
        pass
    assert rooms[2] != rooms[1] != rooms[0]
    rooms.clear()
    save_any(tmp_path / "a")  # which reserves it first, always in the same place
    assert len(rooms) == 3
    assert_same(narrows.load(tmp_path / "a"), OC().fit(*labelled()))


@pytest.mark.parametrize("name", ["m" * 255, "a." + "b" * 253, "\u00fc" * 127, "." * 254, "x\n"])
def test_a_file_may_have_any_name(tmp_path, name):
    save_any(tmp_path / name)
    assert_same(narrows.load(tmp_path / name), OC().fit(*labelled()))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def csv_of(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    lines = [",".join(map(str, row)) + f",{k % 2}" for k, row in enumerate(X.tolist())]
    return "a,b,c,label\n" + "\n".join(lines) + "\n"


@pytest.fixture
def command(run):
    """The command line, in a folder with three models."""
    for name, n in (("m", 20), ("one", 30), ("two", 50)):
        with open(f"{name}.csv", "w") as file:
            file.write(csv_of(n, seed=n))
        assert run(f"fit {name}.csv --method oc -o {name}.narrows")[0] == 0
    return run


@pytest.mark.parametrize(("locks", "output"), [(True, "m.narrows"), (False, "link")])
def test_a_model_that_has_changed_since_it_was_read_stays(command, monkeypatch, locks, output):
    os.symlink("m.narrows", "link")
    if not locks:
        without_locks(monkeypatch)
    update = f"update m.narrows one.csv -o {output}"
    with monkeypatch.context() as patch:
        before_chunk(patch, lambda number, size: os.replace("two.narrows", "m.narrows"))
        status, out, err = command(update)
    assert (status, out, "another process wrote" in err) == (1, "", True)
    assert narrows.load("m.narrows").n_samples_seen_ == 50
    names = {"link", "m.csv", "m.narrows", "one.csv", "one.narrows", "two.csv"}
    assert set(os.listdir()) == names
    assert command(update)[0] == 0
    assert narrows.load("m.narrows").n_samples_seen_ == 80


def test_models_are_merged_into_one_of_them_by_one_process(command, monkeypatch):
    statuses = []

    def merged_meanwhile(number, size):
        for output in ("m", "new"):
            merge = f"merge one.narrows m.narrows -o {output}.narrows".split()
            statuses.append(exit_code(forked(lambda merge=merge: cli.main(merge))))

    with monkeypatch.context() as patch:
        before_chunk(patch, merged_meanwhile)
        assert command("update m.narrows two.csv -o m.narrows")[0] == 0
    assert statuses == [1, 0]
    assert narrows.load("m.narrows").n_samples_seen_ == 70
    assert narrows.load("new.narrows").n_samples_seen_ == 50


@pytest.mark.parametrize(
    ("name", "other"),
    [("m", "fit --like one.narrows"), ("m", "update m.narrows"), ("new", "fit"), ("new", "save")],
)
def test_a_model_is_written_by_one_process(command, monkeypatch, name, other):
    """The other one is refused before it reads samples, and nothing is lost or left."""
    output, statuses = f"{name}.narrows", []

    def write():
        if other != "save":
            return cli.main(f"{other} two.csv -o {output}".split())
        try:
            narrows.save(narrows.load("two.narrows"), output)
        except DataError:
            return 1

    def written_meanwhile(number, size):
        before = narrows.load(output).n_samples_seen_ if name == "m" else None
        statuses.append(exit_code(forked(write)))
        assert (narrows.load(output).n_samples_seen_ if name == "m" else None) == before

    files = {*os.listdir(), output}
    with monkeypatch.context() as patch:
        before_chunk(patch, written_meanwhile)
        assert command(f"fit one.csv --method oc -o {output}")[0] == 0
    assert statuses == [1]
    assert narrows.load(output).n_samples_seen_ == 30
    assert set(os.listdir()) == files
    assert write() in (0, None)
    assert narrows.load(output).n_samples_seen_ > 30


def test_a_reservation_ends_with_its_process(command):
    def killed():
        with reserved("m.narrows"), reserved("m.narrows"):
            os.kill(os.getpid(), signal.SIGKILL)

    files = sorted(os.listdir())
    assert exit_code(forked(killed)) == -signal.SIGKILL
    assert len(os.listdir()) == len(files) + 1
    assert command("update m.narrows one.csv -o m.narrows")[0] == 0
    assert sorted(os.listdir()) == files


@pytest.mark.parametrize(("chunk", "status"), [(2, 1), (3, 0)])
def test_a_checkpoint_of_another_run_stays(command, monkeypatch, chunk, status):
    """The other one is written before the second checkpoint, or after the last."""
    fit = "fit one.csv --method oc --chunk-rows 10 --checkpoint c.narrows -o new.narrows"

    def other_fit(number, size):
        if number == chunk:
            os.replace("two.narrows", "c.narrows")

    with monkeypatch.context() as patch:
        before_chunk(patch, other_fit)
        assert command(f"{fit} --every {10 if status else 1000}")[0] == status
    assert narrows.load("c.narrows").n_samples_seen_ == 50
    assert os.path.exists("new.narrows") == (not status)
