"""The lines of text files, none longer than a limit, which bounds the memory, too."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, NoReturn

from narrows.errors import DataError

BLOCK = 1 << 22  # bytes at a time
MAX_LINE_MB = 256
_LONG = 1 << 22  # bytes of a line whose entries are counted, too
_ENTRY = 16  # bytes that an entry counts for beside its length, as every object takes memory


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
    longest, long : int
        The longest line, and one whose commas and brackets `weight` counts, in bytes.
    line : int
        The number of the next line, which the code that iterates over blocks counts.
    is_truncated : bool
        Whether the last line has been read and lacks an end. It gets one.
    """

    def __init__(self, stream: Any, name: str, max_line_mb: int = MAX_LINE_MB):
        self.stream, self.name, self.longest = stream, name, max_line_mb * 1_000_000
        self.long = min(_LONG, self.longest)
        self.line, self.is_truncated = 1, False

    def __iter__(self) -> Iterator[bytes]:
        """Yield blocks; of a pipe the data so far, without waiting for more."""
        take = self.stream.read if self.stream.seekable() else self.stream.read1
        held = [self.stream.read(3).removeprefix(b"\xef\xbb\xbf")]
        length = len(held[0])
        while piece := take(min(BLOCK, self.longest)):
            first, end = piece.find(b"\n"), piece.rfind(b"\n") + 1
            stop = first if end else len(piece)
            length += stop
            if length > self.long:
                length += weight(piece, stop)
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
            f"expected a line of at most {self.longest // 1_000_000} MB, got a longer one, or one "
            "of too many entries. Set max_line_mb (--max-line-mb) to read it.",
            self.line,
        )


def weight(text: bytes, stop: int) -> int:
    """Return the bytes that the entries of a long line count for, besides its length."""
    return _ENTRY * sum(text.count(c, 0, stop) for c in b",[{")
