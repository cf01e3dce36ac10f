"""Parts of large files, which engines read side by side."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from narrows.io.streams import MARK

SIZE = 1 << 26  # bytes of a part, about; a file of fewer than two is one part
_BLOCK = 1 << 22
SEPARATOR_LINE = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=(.)"?\r?\n', re.IGNORECASE)  # of Excel
_NEWLINE, _QUOTE = b'\n"'
ENDS = np.frombuffer(b',\n\r"', np.uint8)  # what may stand beside the quotes of a cell


class FilePart(NamedTuple):
    """A part of a file: whole lines of a text file, or rows of a Parquet file.

    Parameters
    ----------
    path : str
        The file.
    first, last : int
        The first byte, or row, and that after the last one.
    """

    path: str
    first: int
    last: int


def path_of(data: Any) -> str:
    """Return the file that data are, or are a part of; "" for other data."""
    if isinstance(data, FilePart):
        return data.path
    return os.fspath(data) if isinstance(data, str | os.PathLike) else ""


def between(path: str, cuts: list[int]) -> list[FilePart]:
    """Return the parts of a file between cuts, the last of which is its end."""
    return [FilePart(path, *edge) for edge in pairwise(sorted({0, *cuts}))]


def _before_text(path: str, cuts: list[int]) -> list[FilePart]:
    """Return the parts of a text file between cuts, none of which is before a mark of byte order.

    It is part of the text there, and a reader would take it for the beginning of a file.
    """
    with open(path, "rb") as file:

        def starts_with_mark(cut: int) -> bool:
            file.seek(cut)
            return file.read(len(MARK)) == MARK

        return between(path, [cut for cut in cuts if not starts_with_mark(cut)])


def by_lines(path: str, size: int) -> list[FilePart]:
    """Cut a file at the ends of lines."""
    n = os.path.getsize(path)
    cuts = [n]
    with open(path, "rb") as file:
        for target in range(size, n - size // 2, size):
            file.seek(target - 1)
            line = file.readline(size)
            if line.endswith(b"\n"):
                cuts.append(target - 1 + len(line))
    return _before_text(path, cuts)


def by_rows(path: str, size: int) -> list[FilePart]:
    """Cut a CSV file at the ends of rows, which are no line ends within quotation marks.

    A file in which a quotation mark stands elsewhere than at the border of a cell is not cut, since
    it does not show where cells are.
    """
    n = os.path.getsize(path)
    cuts, target, quotes = [n], size, 0
    last = _NEWLINE
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            at = file.tell() - len(block)
            if at == 0 and SEPARATOR_LINE.match(block):  # which the other parts would not know
                return between(path, [n])
            found = np.frombuffer(block, np.uint8)
            if at == 0 and block.startswith(MARK):
                found = found.copy()
                found[2] = _NEWLINE
            marks = np.flatnonzero(found == _QUOTE)
            if len(marks) or last == _QUOTE:
                around = np.concatenate([[last], found]).astype(np.uint8)
                opening = marks[(quotes + np.arange(len(marks))) % 2 == 0]
                closing = marks[(quotes + np.arange(len(marks))) % 2 == 1]
                before, after = around[opening], around[closing[closing < len(found) - 1] + 2]
                if last == _QUOTE and quotes % 2 == 0:  # what follows the end of a cell
                    after = np.append(after, found[0])
                if not (np.isin(before, ENDS).all() and np.isin(after, ENDS).all()):
                    return between(path, [n])
            if target < n - size // 2 and at + len(block) > target:
                ends = np.flatnonzero(found == _NEWLINE)
                ends = ends[(quotes + np.searchsorted(marks, ends)) % 2 == 0] + at + 1
                while target < n - size // 2:
                    k = int(np.searchsorted(ends, target))
                    if k == len(ends):
                        break
                    cuts.append(int(ends[k]))
                    target = max(target + size, int(ends[k]) + 1)
            quotes += len(marks)
            last = int(found[-1])
    return _before_text(path, [n] if quotes % 2 else cuts)


def n_lines_before(part: FilePart) -> int:
    """Return the number of lines of a file before a part."""
    count, left = 0, part.first
    with open(part.path, "rb") as file:
        while left and (block := file.read(min(_BLOCK, left))):
            count += block.count(b"\n")
            left -= len(block)
    return count
