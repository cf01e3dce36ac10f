"""The streams that files and standard input are read from."""

from __future__ import annotations

import glob
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from narrows.errors import DataError, ParameterError

_MARK = b"\xef\xbb\xbf"  # of byte order


def display_name(path: str) -> str:
    """Return how messages call a file."""
    return "standard input" if path == "-" else path


def expand_patterns(inputs: Iterable[str]) -> list[str]:
    """Return the inputs, each pattern such as ``shards/*.svm`` replaced by the files it matches."""
    paths: list[str] = []
    for path in inputs:
        is_pattern = glob.has_magic(path) and not os.path.exists(path)
        found = sorted(glob.glob(path)) if is_pattern else [path]
        if not found:
            raise FileNotFoundError(2, "no file matches", path)
        paths += found
    return paths


class StandardInput:
    """Standard input, whose first row can be inspected, and which can be stored to read it again.

    Attributes
    ----------
    is_stored : bool
        Whether it is in a temporary file.
    """

    def __init__(self) -> None:
        self.is_stored = False

    def open(self) -> Any:
        """Return the stream, at the start if it is stored."""
        if self.is_stored:
            self._stream.seek(0)
        return self._stream

    def store(self) -> None:
        """Copy everything to a temporary file, unless this has been done."""
        if not self.is_stored:
            file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the object
            shutil.copyfileobj(self._stream, file)
            self._stream, self.is_stored = file, True

    def first_row(self, max_line_mb: int) -> bytes:
        """Return the first line that is neither empty nor a comment; it can still be read."""
        head: list[bytes] = []
        row = b""
        left = max_line_mb * 1_000_000
        while not row.split(b"#")[0].strip() and (line := self._stream.readline(left + 1)):
            row = line if head else line.removeprefix(_MARK)
            head.append(line)
            left -= len(line)
            if left < 0:
                raise DataError(
                    display_name("-"),
                    f"expected a row within {max_line_mb} MB, got none. Set max_line_mb "
                    "(--max-line-mb) to read more.",
                    len(head),
                )
        self._stream = io.BufferedReader(_Prefixed(b"".join(head), self._stream))
        return row.strip() if row.split(b"#")[0].strip() else b""

    @cached_property
    def _stream(self) -> Any:
        """A reader of its own: a thread may still wait in it when the process ends."""
        try:
            return open(sys.stdin.fileno(), "rb", closefd=False)
        except (OSError, ValueError, AttributeError):  # replaced by another object
            if sys.stdin is None:
                raise ParameterError("-: expected standard input, got none. Name a file.") from None
            return sys.stdin.buffer


class _Prefixed(io.RawIOBase):
    """A stream after bytes that have been read of it already."""

    def __init__(self, head: bytes, stream: Any):
        self.head, self.stream = head, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.head[: len(buffer)] or self.stream.read1(len(buffer))
        self.head = self.head[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)
