"""Atomic replacement: a file is written completely, or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from narrows.errors import DataError

_ROOM = re.compile(r"\..{1,40}\.[0-9a-f]{16}\.part", re.DOTALL)
_LOCK = "lock"
_TRIES = 20  # to lock what another process may be about to remove
_RESERVED: set[tuple[int, Path]] = set()  # by processes with these ids: forks have copies
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


def version(path: str | os.PathLike[str]) -> Version:
    """Return the version of a file."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def reserved(path: str | os.PathLike[str]) -> Iterator[Version]:
    """Yield the version of a file, which no other process reserves meanwhile.

    DataError if another process has reserved it. The reservation ends with the process at the
    latest. Within it, the process may reserve the file again. Where the file system does not
    support locks, and for what is not a regular file, nothing is reserved.
    """
    target = Path(os.path.realpath(path))
    key, is_file = (os.getpid(), target), os.path.isfile(path) or not os.path.exists(path)
    if key in _RESERVED or not is_file or not target.parent.is_dir():
        yield version(path)
        return
    with room(target.parent, target.name, of=os.fspath(path)):
        _RESERVED.add(key)
        try:
            yield version(path)
        finally:
            _RESERVED.discard(key)


@contextmanager
def room(parent: str | os.PathLike[str], name: str, of: str | None = None) -> Iterator[Path]:
    """Yield a hidden folder in `parent` to write a file called `name` in, and remove it afterwards.

    A folder also holds the further files that libraries write beside the one they are given. A
    file in the folder is locked while it is in use, and the lock ends with the process. Folders
    without a lock were left by killed processes; those in `parent` are removed first.

    With `of`, as errors call the file, it is the only one for this file, and DataError is raised
    where another process has it.
    """
    clear_unfinished(parent)

    def unused() -> Path:  # at most 255 bytes, up to 4 a character
        key = os.urandom(8) if of is None else blake2b(os.fsencode(name), digest_size=8).digest()
        return Path(parent, f".{name[:40]}.{key.hex()}.part")

    made, lock, tries = unused(), None, 0
    try:
        while lock is None:
            made.mkdir(0o700, exist_ok=of is not None)
            with suppress(FileNotFoundError):  # another process removed it, not yet locked
                lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
                if (is_free := _locked(lock)) is False or not os.fstat(lock).st_nlink:
                    os.close(lock)
                    lock = None
                    tries += is_free is False and of is not None
            if tries == _TRIES:
                raise DataError(
                    str(of),
                    "expected a model that no other process writes, got one that another writes "
                    "now. Try again when that is over.",
                )
            if lock is None and tries:
                time.sleep(0.01)
            made = made if lock is not None else unused()
        yield made
    finally:
        if lock is not None or of is None:
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
