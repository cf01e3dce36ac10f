"""Compressed text files: the only module that knows `.gz`."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO, Any

from narrows.solve.errors import DataError

SUFFIX = ".gz"
_STARTS = (b"\x1f\x8b", b"PK\x03\x04")  # of gzip, and of the archives that .npz files are


def suffix_of(path: str) -> tuple[str, bool]:
    """Return the suffix that names the format, in lower case, and whether the file is gzipped."""
    root, suffix = os.path.splitext(path.lower())
    return (os.path.splitext(root)[1], True) if suffix == SUFFIX else (suffix, False)


def is_compressed(head: bytes) -> bool:
    """Whether a file that starts like this is compressed."""
    return head.startswith(_STARTS)


@contextmanager
def decompressed(raw: IO[bytes], name: str, is_gzipped: bool) -> Iterator[Any]:
    """Give the stream to read a file from; DataError with its name where that is damaged."""
    try:
        if is_gzipped:
            with gzip.open(raw, "rb") as stream:
                yield stream
        else:
            yield raw
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            name, f"expected a whole gzip file, got a damaged one, or a part: {error}."
        ) from None


def compressed(raw: IO[bytes], is_gzipped: bool) -> AbstractContextManager[Any]:
    """Give the stream to write a file to."""
    return gzip.GzipFile("", "wb", 6, raw, mtime=0) if is_gzipped else nullcontext(raw)
