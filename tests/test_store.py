"""Model files: whole, checked, replaced at once and by one process, and never a pickle."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import stat
import subprocess

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file
from scipy import sparse

import narrows
from narrows import OC, OCFS, SRDA, ForwardFS
from narrows.command import cli
from narrows.errors import DataError
from narrows.read import Source, source_of
from narrows.table import TableEncoder
from narrows.text import Tfidf
from tests.cases import assert_same, labelled
from tests.forks import exit_code, forked
from tests.inside import before_chunk, remember, replacing, without_locks


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.narrows"
    save_any(path)
    return path


def save_any(path):
    narrows.save(OC().fit(*labelled()), path)


def names_of(folder):
    return sorted(path.name for path in folder.iterdir())


def test_names_labels_and_the_source_survive(tmp_path):
    names, labels = ["a", "\ud800", "\u00e7", "d d", ""], ["\ud800", "b", "a\udfff"]
    fitted = OCFS(n_features=2).fit(np.eye(5)[[0, 1, 2, 0]], [*labels, "b"])
    fitted.feature_names_in_ = np.array(names, dtype=object)
    source = Source(zero_based=False, label="l", columns=tuple(names), tfidf=Tfidf().update(["x"]))
    remember(fitted, source)
    narrows.save(fitted, tmp_path / "a.narrows")
    loaded = narrows.load(tmp_path / "a.narrows")
    assert source_of(loaded) == source
    assert loaded.feature_names_in_.tolist() == names
    assert loaded.classes_.tolist() == sorted(labels)


COLUMNS = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 5)), columns=list("abcde"))


@pytest.mark.parametrize(
    "estimator",
    [OC(np.int32(2)), OCFS(energy=0.123456789012345678), SRDA(standardize=COLUMNS.columns[1:2]),
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
    difference = loaded.transform(X) - estimator.transform(X)
    assert not (difference.nnz if sparse.issparse(difference) else np.any(difference))
    if hasattr(estimator, "half_life"):
        loaded.merge(estimator).merge(loaded)
    for name, value in estimator.get_params().items():
        # a Series of priors is a mapping of the classes
        expected = value.to_dict() if name == "priors" and hasattr(value, "to_dict") else value
        np.testing.assert_array_equal(loaded.get_params()[name], expected)


def test_every_cut_and_every_flipped_bit_of_a_file_is_an_error_that_names_it(model, tmp_path):
    whole, bad = model.read_bytes(), tmp_path / "bad.narrows"
    cuts = [whole[:size] for size in (0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1)]
    flipped = [
        whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] for at in range(0, len(whole), 11)
    ]
    save_file({"a": np.ones(2)}, bad)  # of another program
    for content in [bad.read_bytes(), *cuts, *flipped]:
        bad.write_bytes(content)
        with pytest.raises(DataError, match=r"bad\.narrows: "):
            narrows.load(bad)


def test_what_cannot_be_saved(tmp_path):
    fitted, path = OC().fit(*labelled()), tmp_path / "a"
    for model, where, error, word in (
        ([], path, TypeError, "got list"),
        (OC(), path, ValueError, "not fitted"),
        (fitted, tmp_path / "none" / "a.narrows", OSError, "no such folder"),
        (OC().fit(*labelled()).set_params(priors={1, 2}), path, TypeError, "priors"),
    ):
        with pytest.raises(error, match=word):
            narrows.save(model, where)
    with pytest.raises(TypeError, match="expected an estimator"):
        source_of([])
    assert names_of(tmp_path) == []


@pytest.mark.parametrize(("name", "error"), [("fsync", OSError), ("replace", KeyboardInterrupt)])
def test_a_failing_write_leaves_the_old_file_and_nothing_else(model, monkeypatch, name, error):
    before = model.read_bytes()

    def fail(*args):
        raise error

    monkeypatch.setattr(os, name, fail)
    with pytest.raises(error):
        save_any(model)
    assert model.read_bytes() == before
    assert names_of(model.parent) == ["m.narrows"]


def test_a_replaced_file_keeps_its_mode_and_its_links(model, tmp_path):
    model.chmod(0o640)
    link = tmp_path / "link.narrows"
    link.symlink_to(model)
    save_any(link)
    assert link.is_symlink()
    assert stat.S_IMODE(model.stat().st_mode) == 0o640
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
    assert names_of(tmp_path) == ["copy.narrows", "pipe.narrows"]


def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path):
    replace = os.replace

    def during(source, target):
        os.replace = replace
        assert exit_code(forked(lambda: save_any(tmp_path / "a.narrows"))) == 0
        os.kill(os.getpid(), signal.SIGKILL)

    def write():
        os.replace = during
        save_any(tmp_path / "other.narrows")

    assert exit_code(forked(write)) == -signal.SIGKILL
    assert len(names_of(tmp_path)) > 1  # another process leaves it while its writer lives
    save_any(tmp_path / "other.narrows")  # whose reservation ended with the writer
    assert names_of(tmp_path) == ["a.narrows", "other.narrows"]


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


@pytest.fixture
def command(run):
    """The command line, in a folder with three models."""
    for name, n in (("m", 20), ("one", 30), ("two", 50)):
        X = np.random.default_rng(n).normal(size=(n, 3))
        table = pd.DataFrame(X, columns=list("abc")).assign(label=np.arange(n) % 2)
        table.to_csv(f"{name}.csv", index=False)
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


@pytest.mark.parametrize(
    ("name", "other"),
    [("m", "fit --like one.narrows"), ("m", "merge one.narrows"), ("new", "save")],
)
def test_a_model_is_written_by_one_process(command, monkeypatch, name, other):
    """The other one is refused before it reads samples, and nothing is lost or left."""
    output, statuses = f"{name}.narrows", []

    def write():
        if other != "save":
            source = "m.narrows" if other.startswith("merge") else "two.csv"
            return cli.main(f"{other} {source} -o {output}".split())
        try:
            narrows.save(narrows.load("two.narrows"), output)
        except DataError:
            return 1

    files = {*os.listdir(), output}
    with monkeypatch.context() as patch:
        before_chunk(patch, lambda number, size: statuses.append(exit_code(forked(write))))
        assert command(f"fit one.csv --method oc -o {output}")[0] == 0
    assert statuses == [1]
    assert narrows.load(output).n_samples_seen_ == 30
    assert set(os.listdir()) == files
    assert write() in (0, None)
    assert narrows.load(output).n_samples_seen_ > 30


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
