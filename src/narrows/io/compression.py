"""Compressed text files: a row for each kind, which no other module knows."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO, Any, NamedTuple

from narrows.errors import DataError


class Kind(NamedTuple):
    """A kind of compression.

    Parameters
    ----------
    name : str
        How messages call it.
    start : bytes
        What its files begin with.
    read, write : callable
        Return the stream of a binary file, which may consist of several compressed streams, one
        after the other. What is written depends on nothing else.
    """

    name: str
    start: bytes
    read: Callable[[IO[bytes]], Any]
    write: Callable[[IO[bytes]], Any]


KINDS = {
    ".gz": Kind(
        "gzip", b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw),
        lambda raw: gzip.GzipFile("", "wb", 6, raw, mtime=0)
    ),
    ".bz2": Kind("bzip2", b"BZh", bz2.BZ2File, lambda raw: bz2.BZ2File(raw, "wb")),
    ".xz": Kind("xz", b"\xfd7zXZ\x00", lzma.LZMAFile, lambda raw: lzma.LZMAFile(raw, "wb")),  # noqa: SIM115
}  # fmt: skip
SUFFIXES = f"{', '.join(list(KINDS)[:-1])} or {list(KINDS)[-1]}"
_ARCHIVE = b"PK\x03\x04"  # that .npz files are


def suffix_of(path: str) -> tuple[str, str]:
    """Return the suffix that names the format, in lower case, and that of the compression or ""."""
    root, suffix = os.path.splitext(path.lower())
    return (os.path.splitext(root)[1], suffix) if suffix in KINDS else (suffix, "")


def is_compressed(head: bytes) -> bool:
    """Whether a file that starts like this is compressed."""
    return head.startswith((_ARCHIVE, *(kind.start for kind in KINDS.values())))


@contextmanager
def decompressed(raw: IO[bytes], name: str, suffix: str) -> Iterator[Any]:
    """Give the stream to read a file from; DataError with its name where that is damaged."""
    if not suffix:
        yield raw
        return
    kind = KINDS[suffix]
    try:
        with kind.read(raw) as stream:
            yield stream
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the file, not its contents
            raise
        raise DataError(
            name, f"expected a whole {kind.name} file, got a damaged one, or a part: {error}."
        ) from None


def compressed(raw: IO[bytes], suffix: str) -> AbstractContextManager[Any]:
    """Give the stream to write a file to."""
    writer: AbstractContextManager[Any] = KINDS[suffix].write(raw) if suffix else nullcontext(raw)
    return writer
