"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_ROOM = re.compile(r"\..{1,40}\.[0-9a-f]{16}\.part", re.DOTALL)
_LOCK = "lock"


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give the name of a new file that takes the place of `path` when the block succeeds.

    It is in the same folder, synced before it is renamed, and removed if the block fails. A
    path that is there and is no regular file (a pipe, a device) is never replaced: what was
    written is copied into it. What killed writers left in the same folder is removed first.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with room(tempfile.gettempdir(), "narrows") as folder:
            temporary = folder / "new"
            yield str(temporary)
            with temporary.open("rb") as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(target.parent))
    try:
        with room(target.parent, target.name) as folder:
            temporary = folder / "new"
            temporary.touch()
            mode = (target if target.exists() else temporary).stat().st_mode
            yield str(temporary)
            temporary.chmod(mode)  # whoever wrote it may have made it private
            _sync(temporary)
            os.replace(temporary, target)
    except OSError as error:
        if error.filename is None and error.errno is not None:  # a full disk, say
            error.filename = os.fspath(path)
        raise
    _sync(target.parent)


@contextmanager
def room(parent: str | os.PathLike[str], name: str) -> Iterator[Path]:
    """Give a hidden folder in `parent`, for what is written on behalf of `name`; remove it after.

    Libraries may write to yet another file beside the one that they were told. While the folder
    is in use a file in it is locked, and the lock ends with the process, however that ends. So
    a folder without a lock is what a killed process left; such ones in `parent` are removed first.
    """
    clear_unfinished(parent)

    def unused() -> Path:  # names have 255 bytes at most, and a character up to 4
        return Path(parent, f".{name[:40]}.{secrets.token_hex(8)}.part")

    made, lock = unused(), None
    try:
        while lock is None:
            made.mkdir(0o700)
            with suppress(FileNotFoundError):  # removed as one that was left, before it was locked
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
    """Remove the hidden folders of `room` whose processes are gone; what fails is left."""
    with suppress(OSError), os.scandir(parent) as entries:
        for left in [Path(entry) for entry in entries if _ROOM.fullmatch(entry.name)]:
            with suppress(OSError):
                if not left.is_symlink():
                    _clear(left)


def _clear(left: Path) -> None:
    try:
        lock = os.open(left / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        left.rmdir()  # if it is empty: its process was killed before it made the lock
        return
    try:
        if _locked(lock):
            _remove(left)
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last: if this is killed, the rest is known by it."""
    with suppress(OSError):
        for entry in folder.iterdir():
            if entry.name != _LOCK:
                entry.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _locked(descriptor: int) -> bool | None:
    """Lock a file if nobody else has; None where the file system has no locks."""
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
