"""Atomic replacement: a file is written completely, or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from narrows.errors import DataError

_ROOM = re.compile(r"\..{1,40}\.[0-9a-f]{16}\.part", re.DOTALL)
_LOCK = "lock"
Version = tuple[int, ...]  # what differs once a file is written or replaced; () for no file


@contextmanager
def replacing(path: str | os.PathLike[str], read: Version | None = None) -> Iterator[str]:
    """Yield the name of a new file that replaces `path` if the block succeeds.

    The new file is in the same folder; it is synced and then renamed, or removed if the block
    fails. An existing path that is not a regular file (a pipe, a device) is not replaced: the new
    file is copied into it. Files of killed processes in the same folder are removed first.

    DataError where `path` is no longer the version that was `read`; None replaces any.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with room(tempfile.gettempdir(), "narrows") as folder:
            temporary = folder / "new"
            yield str(temporary)
            with temporary.open("rb") as source, open(path, "wb") as sink:
                shutil.copyfileobj(source, sink)
        return
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(target.parent))
    try:
        with room(target.parent, target.name) as folder:
            temporary = folder / "new"
            temporary.touch()
            mode = (target if target.exists() else temporary).stat().st_mode
            yield str(temporary)
            temporary.chmod(mode)  # the block may have made it private
            _sync(temporary)
            if read not in (None, version(target)):
                raise DataError(
                    os.fspath(path),
                    "expected the file that was read, got one that another process wrote since. "
                    "It is left as it is. Run the command again when no other process writes it.",
                )
            os.replace(temporary, target)
    except OSError as error:
        if error.filename is None and error.errno is not None:  # for instance a full disk
            error.filename = os.fspath(path)
        raise
    _sync(target.parent)


def version(path: str | os.PathLike[str] | int) -> Version:
    """Return the version of a file, or of the one that a descriptor is of."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def reserved(path: str | os.PathLike[str]) -> Iterator[Version]:
    """Yield the version of a file that is read and then replaced, locked against others like this.

    DataError if another process has locked it. The lock is on the file itself, so that it is gone
    once the file is replaced, and ends with the process. Where the file system does not support
    locks, only `replacing` compares versions.
    """
    descriptor, found = -1, Version()
    try:
        while not found or found != version(path):  # or it was replaced before it was locked
            if descriptor >= 0:
                os.close(descriptor)
            descriptor = os.open(path, os.O_RDWR)  # network disks lock no file that is only read
            if _locked(descriptor) is False:
                raise DataError(
                    os.fspath(path),
                    "expected a model that no other process updates, got one that is locked. Run "
                    "the command again when the other is over.",
                )
            found = version(descriptor)
        yield found
    finally:
        if descriptor >= 0:
            os.close(descriptor)


@contextmanager
def room(parent: str | os.PathLike[str], name: str) -> Iterator[Path]:
    """Yield a hidden folder in `parent` to write a file called `name` in, and remove it afterwards.

    A folder also holds the further files that libraries write beside the one they are given. A
    file in the folder is locked while it is in use, and the lock ends with the process. Folders
    without a lock were left by killed processes; those in `parent` are removed first.
    """
    clear_unfinished(parent)

    def unused() -> Path:  # at most 255 bytes, up to 4 a character
        return Path(parent, f".{name[:40]}.{os.urandom(8).hex()}.part")

    made, lock = unused(), None
    try:
        while lock is None:
            made.mkdir(0o700)
            with suppress(FileNotFoundError):  # another process removed it, not yet locked
                lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
                if _locked(lock) is False or not os.fstat(lock).st_nlink:
                    os.close(lock)
                    lock = None
            made = made if lock is not None else unused()
        yield made
    finally:
        _remove(made)
        if lock is not None:
            os.close(lock)


def clear_unfinished(parent: str | os.PathLike[str]) -> None:
    """Remove the hidden folders of `room` whose processes have ended, as far as possible."""
    with suppress(OSError), os.scandir(parent) as entries:
        for left in [Path(entry) for entry in entries if _ROOM.fullmatch(entry.name)]:
            with suppress(OSError):
                if not left.is_symlink():
                    _clear(left)


def _clear(left: Path) -> None:
    try:
        lock = os.open(left / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        left.rmdir()  # only if empty: its process was killed before it made the lock
        return
    try:
        if _locked(lock):
            _remove(left)
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last, so that an interrupted removal can be repeated."""
    with suppress(OSError):
        for entry in folder.iterdir():
            if entry.name != _LOCK:
                entry.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _locked(descriptor: int) -> bool | None:
    """Return whether a file could be locked; None where the file system does not support locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
