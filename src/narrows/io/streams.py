"""Streams of bytes: lines of limited length, compression, encodings, and standard input."""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import io
import lzma
import os
import queue
import re
import shutil
import sys
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import IO, Any, NamedTuple, NoReturn, TypeVar

from narrows.errors import DataError, ParameterError
from narrows.io.addresses import is_address, matching, without_options

BLOCK = 1 << 22  # bytes at a time
BEGINNING = 4096  # bytes of an input, which must not change between two runs
MARK = b"\xef\xbb\xbf"  # of byte order
# of byte order in other encodings; UTF-32 begins as UTF-16 does
_MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32",
          b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}  # fmt: skip
_LONE_RETURN = re.compile(rb"\r[^\n]")
MAX_LINE_MB = 256


class Lines:
    """The lines of a stream in blocks of whole lines, without a byte order mark.

    Parameters
    ----------
    stream : binary stream
        Where the lines come from.
    name : str
        The file, for errors.
    max_line_mb : int
        The longest line, in millions of bytes.

    Attributes
    ----------
    longest : int
        The longest line, in bytes.
    line : int
        The number of the next line, which the code that iterates over blocks counts.
    is_truncated : bool
        Whether the last line has been read and lacks an end. It gets one.
    """

    def __init__(self, stream: Any, name: str, max_line_mb: int):
        self.stream, self.name = stream, name
        self.longest = max_line_mb * 1_000_000
        self.line, self.is_truncated = 1, False

    def __iter__(self) -> Iterator[bytes]:
        """Yield blocks; of a pipe the data so far, without waiting for more."""
        take = self.stream.read if self.stream.seekable() else self.stream.read1
        held = [self.stream.readline(3).removeprefix(MARK)]
        if held[0].endswith(b"\n"):  # a pipe may have no more yet
            yield held.pop()
        length = sum(map(len, held))
        while piece := take(min(BLOCK, self.longest)):
            first, end = piece.find(b"\n"), piece.rfind(b"\n") + 1
            stop = first if end else len(piece)
            length += stop
            if length > self.longest:
                self.refuse()
            if end:
                block, held, length = b"".join([*held, piece[:end]]), [], len(piece) - end
                yield block
            held.append(piece[end:])
        rest = b"".join(held)
        if rest:
            self.is_truncated = bool(rest.strip()) and not rest.endswith(b"\n")
            yield rest if rest.endswith(b"\n") else rest + b"\n"

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line with its number."""
        for block in self:
            for line in io.BytesIO(block):
                yield self.line, line
                self.line += 1

    def refuse(self) -> NoReturn:
        """Raise: the next line is too long."""
        raise DataError(
            self.name,
            f"expected a line of at most {self.longest // 1_000_000} MB, got a longer one. "
            "Set `max_line_mb` to read it.",
            self.line,
        )


class Compression(NamedTuple):
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


def _read_zstd(raw: IO[bytes]) -> Any:
    from pyarrow import CompressedInputStream

    return io.BufferedReader(CompressedInputStream(raw, "zstd"), BLOCK)


def _write_zstd(raw: IO[bytes]) -> Any:
    from pyarrow import CompressedOutputStream

    return CompressedOutputStream(raw, "zstd")


COMPRESSIONS = {
    ".gz": Compression(
        "gzip", b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw),
        lambda raw: gzip.GzipFile("", "wb", 6, raw, mtime=0)
    ),
    ".bz2": Compression("bzip2", b"BZh", bz2.BZ2File, lambda raw: bz2.BZ2File(raw, "wb")),
    ".xz": Compression("xz", b"\xfd7zXZ\x00", lzma.LZMAFile, lambda raw: lzma.LZMAFile(raw, "wb")),  # noqa: SIM115
    ".zst": Compression("zstd", b"\x28\xb5\x2f\xfd", _read_zstd, _write_zstd),
}  # fmt: skip
SUFFIXES = f"{', '.join(list(COMPRESSIONS)[:-1])} or {list(COMPRESSIONS)[-1]}"
_ARCHIVE = b"PK\x03\x04"  # that .npz files are


def suffix_of(path: str) -> tuple[str, str]:
    """Return the suffix that names the format, in lower case, and that of the compression or ""."""
    root, suffix = os.path.splitext(without_options(path).lower())
    return (os.path.splitext(root)[1], suffix) if suffix in COMPRESSIONS else (suffix, "")


def is_compressed(head: bytes) -> bool:
    """Whether a file that starts like this is compressed."""
    return head.startswith((_ARCHIVE, *(kind.start for kind in COMPRESSIONS.values())))


def in_utf8(stream: Any, name: str, encoding: str | None) -> Any:
    """Return the stream of a text file, in UTF-8 with lines that end with a line feed.

    Without an encoding it has that of its mark of byte order, or is UTF-8.
    """
    head = stream.peek(1) if hasattr(stream, "peek") else b""
    mark = next((each for start, each in _MARKS.items() if head.startswith(start)), None)
    returns = b"\n" not in head and _LONE_RETURN.search(head) is not None
    encoding = encoding or mark
    if encoding is None and not returns:
        return stream
    return io.BufferedReader(_Recoded(stream, name, encoding, returns))


def starts_otherwise(head: bytes) -> bool:
    """Whether a text file with these first bytes cannot be cut at the line feeds of UTF-8."""
    return head.startswith(tuple(_MARKS))


class _Recoded(io.RawIOBase):
    """A text file in UTF-8; with `returns`, lines that end with these end with line feeds."""

    def __init__(self, stream: Any, name: str, encoding: str | None, returns: bool):
        self.stream, self.name, self.encoding = stream, name, encoding
        self.returns, self.held, self.ended, self.line = returns, b"", False, 1
        self.decoder = None if encoding is None else codecs.getincrementaldecoder(encoding)()

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; of a pipe the data so far, without waiting for more."""
        while not self.held and not self.ended:
            piece = self.stream.read1(BLOCK)
            self.ended = not piece
            if self.decoder is not None:
                try:
                    piece = self.decoder.decode(piece, self.ended).encode()
                except UnicodeError as error:
                    problem = f"expected text in {self.encoding}, got other bytes: {error}."
                    raise DataError(
                        self.name, f"{problem} Set `encoding` to that of the file.",
                        self.line,
                    ) from None  # fmt: skip
            if self.returns:
                piece = piece.replace(b"\r", b"\n")
            self.line += piece.count(b"\n")
            self.held = piece
        n = min(len(buffer), len(self.held))
        buffer[:n], self.held = self.held[:n], self.held[n:]
        return n


@contextmanager
def decompressed(raw: IO[bytes], name: str, suffix: str) -> Iterator[Any]:
    """Give the stream to read a file from; DataError with its name where that is damaged."""
    if not suffix:
        yield raw
        return
    kind = COMPRESSIONS[suffix]
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
    return COMPRESSIONS[suffix].write(raw) if suffix else nullcontext(raw)


def display_name(path: str) -> str:
    """Return how messages call a file."""
    return "standard input" if path == "-" else path


def expand_patterns(inputs: Iterable[str]) -> list[str]:
    """Return the inputs, each pattern such as ``shards/*.svm`` replaced by the files it matches."""
    paths: list[str] = []
    for path in inputs:
        if is_address(path):
            found = matching(path)
        elif glob.has_magic(path) and not os.path.exists(path):
            found = sorted(glob.glob(path))
        else:
            found = [path]
        if not found:
            raise FileNotFoundError(2, "no file matches", path)
        paths += found
    return paths


class StandardInput:
    """Standard input, whose first row can be inspected, and which can be stored to read it again.

    Parameters
    ----------
    encoding : str, optional
        That of the text.

    Attributes
    ----------
    is_stored : bool
        Whether it is in a temporary file.
    """

    is_stored = False

    def __init__(self, encoding: str | None = None):
        self.encoding = encoding

    def open(self) -> Any:
        """Return the stream, at the start if it is stored."""
        if self.is_stored:
            self._stream.seek(0)
        return self._stream

    def store(self) -> None:
        """Copy everything to a temporary file, unless this has been done."""
        if not self.is_stored:
            file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the object
            weakref.finalize(self, file.close)
            shutil.copyfileobj(self._stream, file)
            self._stream, self.is_stored = file, True

    def first_row(self, max_line_mb: int) -> bytes:
        """Return the first line that is neither empty nor a comment; it can still be read."""
        head: list[bytes] = []
        row = b""
        left = max_line_mb * 1_000_000
        while not row.split(b"#")[0].strip() and (line := self._stream.readline(left + 1)):
            row = line if head else line.removeprefix(MARK)
            head.append(line)
            left -= len(line)
            if left < 0:
                raise DataError(
                    display_name("-"),
                    f"expected a row within {max_line_mb} MB, got none. Set `max_line_mb` "
                    "to read more.",
                    len(head),
                )
        self._stream = io.BufferedReader(Section(self._stream, b"".join(head)))
        return row.strip() if row.split(b"#")[0].strip() else b""

    @cached_property
    def _stream(self) -> Any:
        """A reader of its own: a thread may still wait in it when the process ends."""
        try:
            stream: Any = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
        except (OSError, ValueError, AttributeError):  # replaced by another object
            if sys.stdin is None:
                raise ParameterError("-: expected standard input, got none. Name a file.") from None
            stream = sys.stdin.buffer
        return in_utf8(stream, display_name("-"), self.encoding)


class Section(io.RawIOBase):
    """So many bytes of a stream at most, after `head`, which has been read of it already."""

    def __init__(self, stream: Any, head: bytes = b"", most: int = sys.maxsize):
        self.stream, self.head, self.left = stream, head, most

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; of a pipe the data so far, without waiting for more."""
        most = min(self.left, len(buffer))
        piece = self.head[:most] or self.stream.read1(most)
        self.head, self.left = self.head[len(piece) :], self.left - len(piece)
        buffer[: len(piece)] = piece
        return len(piece)


T = TypeVar("T")
_DEPTH = 1  # items that wait while another is being made
_LONGEST = 0.3  # seconds to wait for a thread that is not needed any more


def prefetch(items: Iterable[T]) -> Generator[T]:
    """Yield the items, which a thread makes, at most two of them ahead.

    One item waits while the next is being made. An error of the thread is raised here, after the
    items before it. The thread ends with the generator, and never keeps the process alive.
    """
    waiting: queue.Queue[Any] = queue.Queue(_DEPTH)
    stopped = threading.Event()
    end = object()

    def put(item: Any) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            for item in items:
                if not put((item, None)):
                    return
        except BaseException as error:  # any error is raised where the items are used
            put((end, error))
        else:
            put((end, None))

    thread = threading.Thread(target=read, name="narrows-reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = waiting.get()
            if error is not None:
                raise error
            if item is end:
                return
            yield item
    finally:
        stopped.set()
        thread.join(_LONGEST)  # Python may abort where it ends while a library reads in a thread
