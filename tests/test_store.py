"""Model files: whole, checked, replaced at once, and never a pickle."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import narrows
from narrows import LDA, OC, OCFS, PCA, SRDA, ForwardFS, KernelSRDA
from narrows.errors import DataError
from narrows.read import Source, source_of
from narrows.table import TableEncoder
from narrows.text import Tfidf
from tests.cases import assert_same, labelled
from tests.forks import exit_code, forked
from tests.inside import remember, replacing


@pytest.fixture
def model(tmp_path):
    X, y = labelled()
    path = tmp_path / "m.narrows"
    narrows.save(OCFS(n_features=3).fit(X, y), path)
    return path


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "\u00fc\n"],
        np.array(["b", "a", "long"], dtype=object),
        [3, -1, 2**60],
        np.array([1, 2, 3], dtype=np.uint8),
        [1.0, 2.0, 3.0],
        [True, False, True],
        np.array([1, 2, 3], dtype=object),
        np.array([1, 2, 3], dtype=">i8"),
        np.array([1, 2, 3], dtype=np.longdouble),
    ],
)
def test_labels_of_any_type_survive(tmp_path, labels):
    fitted = OC().fit(np.eye(3), labels)
    narrows.save(fitted, tmp_path / "a.narrows")
    loaded = narrows.load(tmp_path / "a.narrows")
    assert loaded.classes_.dtype == fitted.classes_.dtype
    assert loaded.classes_.tolist() == fitted.classes_.tolist()
    assert_same(loaded.partial_fit(np.eye(3), labels), fitted.partial_fit(np.eye(3), labels))


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


@pytest.mark.parametrize(
    "parameters", [{"n_features": np.int64(2)}, {"priors": np.array([0.2, 0.3, 0.5])},
                   {"priors": [0.2, 0.3, 0.5]}, {"energy": 0.123456789012345678}],
)  # fmt: skip
def test_parameters_survive(tmp_path, parameters):
    X, y = labelled()
    narrows.save(OCFS(**parameters).fit(X, y), tmp_path / "a.narrows")
    loaded = narrows.load(tmp_path / "a.narrows").get_params()
    for name, value in parameters.items():
        np.testing.assert_array_equal(loaded[name], value)


COLUMNS = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 5)), columns=list("abcde"))


@pytest.mark.parametrize(
    "estimator",
    [OC(np.int32(2)), LDA(np.uint8(2)), KernelSRDA(np.uint8(2)), PCA(np.int16(2)),
     SRDA(standardize=np.array(["a"])), SRDA(standardize=COLUMNS.columns[1:2]),
     ForwardFS(2, groups=np.array(list("aabbc"))), ForwardFS(2, groups=pd.Series([0, 0, 1, 1, 2])),
     ForwardFS(2, start=np.array(["b"], dtype=object)), OCFS(2, priors=pd.Series([0.1, 0.2, 0.7]))],
    ids=str,
)  # fmt: skip
def test_parameters_of_other_types_survive(tmp_path, estimator):
    estimator.fit(COLUMNS, np.arange(60) % 3)
    narrows.save(estimator, tmp_path / "a.narrows")
    loaded = narrows.load(tmp_path / "a.narrows")
    np.testing.assert_array_equal(loaded.transform(COLUMNS), estimator.transform(COLUMNS))
    for name, value in estimator.get_params().items():
        # a Series of priors is a mapping of the classes
        expected = value.to_dict() if name == "priors" and hasattr(value, "to_dict") else value
        np.testing.assert_array_equal(loaded.get_params()[name], expected)


@pytest.mark.parametrize("maker", [Tfidf(min_df=np.int32(1)), TableEncoder(splines=np.int32(3))])
def test_settings_of_other_types_survive(tmp_path, maker):
    maker.fit(["a b"] if isinstance(maker, Tfidf) else COLUMNS)
    narrows.save(maker, tmp_path / "a.narrows")
    loaded = narrows.load(tmp_path / "a.narrows")
    assert loaded.get_feature_names_out().tolist() == maker.get_feature_names_out().tolist()


def test_every_cut_of_a_file_is_an_error_that_names_it(model, tmp_path):
    whole = model.read_bytes()
    cut = tmp_path / "cut.narrows"
    for size in (0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1):
        cut.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"cut\.narrows: .*damaged"):
            narrows.load(cut)


def test_every_flipped_bit_is_an_error_that_names_the_file(model, tmp_path):
    whole = bytearray(model.read_bytes())
    bad = tmp_path / "bad.narrows"
    for at in range(0, len(whole), 11):
        spoilt = whole.copy()
        spoilt[at] ^= 4
        bad.write_bytes(spoilt)
        with pytest.raises(DataError, match=r"bad\.narrows: "):
            narrows.load(bad)


def changed_header(model, **changes):
    with safe_open(model, framework="numpy") as file:
        header = json.loads(file.metadata()["narrows"])
    del header["crc32"]
    header |= changes
    header["crc32"] = zlib.crc32(json.dumps(header).encode())
    save_file(load_file(model), model, metadata={"narrows": json.dumps(header)})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"format": 5, "library": "9.9"},
            r"format 4 or lower, got format 5 of narrows 9\.9",
        ),
        ({"estimator": "Nope"}, "expected a method of this version, got"),
        ({"estimator": "Moments"}, "expected a method of this version, got"),
        ({"estimator": "load"}, "expected a method of this version, got"),
        ({"estimator": "__builtins__"}, "expected a method of this version, got"),
    ],
)
def test_files_from_elsewhere(model, changes, message):
    changed_header(model, **changes)
    with pytest.raises(DataError, match=message):
        narrows.load(model)


def test_other_files_are_not_models(tmp_path):
    save_file({"a": np.ones(2)}, tmp_path / "a.safetensors")
    with pytest.raises(DataError, match="got a file without its header"):
        narrows.load(tmp_path / "a.safetensors")
    with pytest.raises(FileNotFoundError):
        narrows.load(tmp_path / "none.narrows")


def test_only_an_estimator_has_a_source():
    with pytest.raises(TypeError, match="expected an estimator of narrows, got list"):
        source_of([])
    assert source_of(OC().fit(*labelled())) is None


def test_what_cannot_be_saved(tmp_path):
    X, y = labelled()
    with pytest.raises(TypeError, match="or a pipeline of these, got list"):
        narrows.save([], tmp_path / "a")
    with pytest.raises(ValueError, match="not fitted"):
        narrows.save(OC(), tmp_path / "a")
    with pytest.raises(TypeError, match="expected priors to be numbers, text"):
        narrows.save(OC().fit(X, y).set_params(priors={1, 2}), tmp_path / "a")
    with pytest.raises(OSError, match="no such folder"):
        narrows.save(OC().fit(X, y), tmp_path / "none" / "a.narrows")
    assert list(tmp_path.iterdir()) == []


def test_a_failing_write_leaves_the_old_file_and_nothing_else(model, monkeypatch):
    before = model.read_bytes()

    def fail(error):
        def failing(*args):
            raise error

        return failing

    X, y = labelled()
    for name, error in (("fsync", OSError("full")), ("replace", KeyboardInterrupt())):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail(error))
            with pytest.raises(type(error)):
                narrows.save(OC().fit(X, y), model)
        assert model.read_bytes() == before
        assert list(model.parent.iterdir()) == [model]


def test_a_replaced_file_keeps_its_mode_and_its_links(model, tmp_path):
    model.chmod(0o640)
    link = tmp_path / "link.narrows"
    link.symlink_to(model)
    X, y = labelled()
    narrows.save(OC().fit(X, y), link)
    assert link.is_symlink()
    assert stat.S_IMODE(model.stat().st_mode) == 0o640
    assert type(narrows.load(model)) is OC
    mask = os.umask(0)
    os.umask(mask)
    narrows.save(OC().fit(X, y), tmp_path / "new.narrows")
    assert stat.S_IMODE((tmp_path / "new.narrows").stat().st_mode) == 0o666 & ~mask


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    X, y = labelled()
    pipe, copy = tmp_path / "pipe.narrows", tmp_path / "copy.narrows"
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", pipe, copy]) as reader:
        try:
            narrows.save(OC().fit(X, y), pipe)
            assert reader.wait(timeout=60) == 0
        finally:
            reader.kill()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert_same(narrows.load(copy), OC().fit(X, y))
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


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_what_a_killed_cleaner_left_goes_with_the_next_one(tmp_path, moment):
    left = tmp_path / ".a.0123456789abcdef.part"
    left.mkdir()
    for name in ("lock", "new"):
        (left / name).touch()

    def clear():
        removals = itertools.count(1)

        def die(event, args):
            if event in ("os.remove", "os.rmdir") and next(removals) == moment:
                os._exit(9)

        sys.addaudithook(die)
        save_any(tmp_path / "m.narrows")

    process = forked(clear)
    assert exit_code(process) == 9
    assert left.exists()
    save_any(tmp_path / "m.narrows")
    assert not left.exists()


def test_a_writer_in_another_thread_keeps_its_room(tmp_path, monkeypatch):
    replace, held, go_on = os.replace, threading.Event(), threading.Event()

    def waiting(source, target):
        if Path(target).name == "a":
            held.set()
            go_on.wait(timeout=60)
        replace(source, target)

    monkeypatch.setattr(os, "replace", waiting)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(save_any, tmp_path / "a")
        assert held.wait(timeout=60)
        save_any(tmp_path / "b")
        go_on.set()
        first.result(timeout=60)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_nothing_else_is_removed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    name = ".a.0123456789abcdef.part"
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / name).symlink_to(elsewhere)
    (folder / name.replace("a", "b", 1)).write_text("a file")
    for other in (".c.0123456789abcdef.parts", ".c.0123.part", "c.0123456789abcdef.part", ".part"):
        (folder / other).mkdir()
        (folder / other / "lock").touch()
    without = folder / name.replace("a", "d", 1)  # not made by us: it has no lock
    without.mkdir()
    (without / "notes").touch()
    before = sorted(folder.rglob("*"))
    left = folder / name.replace("a", "e", 1)
    left.mkdir()
    (left / "lock").touch()
    empty = folder / name.replace("a", "f", 1)
    empty.mkdir()
    save_any(folder / "m.narrows")
    assert sorted(folder.rglob("*")) == sorted([*before, folder / "m.narrows"])
    assert (elsewhere / "lock").exists()


def test_what_cannot_be_removed_breaks_no_run(tmp_path, monkeypatch):
    left = tmp_path / ".a.0123456789abcdef.part"
    left.mkdir()
    (left / "lock").touch()

    scandir = os.scandir

    def refused(what):
        if what == tmp_path:
            raise PermissionError(13, "Permission denied")
        return scandir(what)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refused)
        save_any(tmp_path / "a")
    with monkeypatch.context() as patch:  # a file system without locks: nobody can tell
        patch.setattr(fcntl, "flock", lambda *_: refused(tmp_path))
        save_any(tmp_path / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == [left.name, "a", "b"]


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
    X, y = labelled()
    narrows.save(OC().fit(X, y), tmp_path / name)
    assert_same(narrows.load(tmp_path / name), OC().fit(X, y))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_waits_for_a_pipe_is_removed_where_its_process_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X, y = labelled()
    left = tmp_path / ".narrows.0123456789abcdef.part"
    left.mkdir()
    (left / "lock").touch()
    narrows.save(OC().fit(X, y), os.devnull)
    assert list(tmp_path.iterdir()) == []
