"""svmlight files: `label column:value column:value … # comment`, a row a line."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import IO

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from narrows.errors import DataError
from narrows.read.chunk import Chunk, Options

_COLUMN_ZERO = re.compile(rb"\s0+:")
_SEARCHED = 1 << 24  # bytes at a time
_EXACT = 2.0**53  # from here on floating point, which labels are read as, skips numbers


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of sparse rows; empty lines and comments are no rows."""
    number = 0
    while block := list(islice(stream, options.chunk_rows)):
        if number == 0:
            block[0] = block[0].removeprefix(b"\xef\xbb\xbf")
        lines = [at for at, line in enumerate(block, number + 1) if line.split(b"#", 1)[0].strip()]
        rows = [block[at - number - 1] for at in lines]
        number += len(block)
        if not rows:
            continue
        X, y = _parse(rows, lines, name, bool(options.zero_based))
        width = options.width
        if width is not None and X.shape[1] > width:
            row = np.searchsorted(X.indptr, np.flatnonzero(X.indices >= width)[0], "right") - 1
            first = 0 if options.zero_based else 1
            raise DataError(
                name,
                f"column {X[[row]].indices.max() + first} came, but columns go from {first} to "
                f"{width - 1 + first}.",
                lines[row],
            )
        odd = np.flatnonzero(~(np.abs(y) < _EXACT) | (y != np.floor(y)))
        if len(odd):
            raise DataError(
                name,
                f"label {y[odd[0]]:.17g}: labels must be whole numbers under 2^53.",
                lines[odd[0]],
            )
        yield Chunk(X, y.astype(np.int64), lines)


def has_column_zero(stream: IO[bytes]) -> bool:
    """Whether any row has a column 0, so that columns count from 0."""
    while lines := stream.readlines(_SEARCHED):
        block = b"".join(lines)
        for match in _COLUMN_ZERO.finditer(block):
            row = block[block.rfind(b"\n", 0, match.start() + 1) + 1 : match.start()]
            if b"#" not in row:
                return True
    return False


def _parse(
    rows: list[bytes], lines: list[int], name: str, zero_based: bool
) -> tuple[sparse.csr_array, np.ndarray]:
    try:
        X, y = load_svmlight_file(io.BytesIO(b"".join(rows)), zero_based=zero_based)
    except (ValueError, OverflowError) as error:
        if len(rows) == 1:
            raise DataError(name, f"not a svmlight row: {error}", lines[0]) from None
        for row, line in zip(rows, lines, strict=True):
            _parse([row], [line], name, zero_based)  # one of them raises, with its line
        raise
    return sparse.csr_array(X), y
