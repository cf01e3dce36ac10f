"""`.npy` files: an array of samples; `label` names another file, with the label of each sample."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import IO, Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError, warn
from narrows.io import kinds
from narrows.io.chunk import Chunk, Options, check_text, check_whole
from narrows.io.formats.base import Format
from narrows.solve.sums import blocks

_NAME = kinds.NPY.name
_CELLS = 4_000_000  # in a chunk, at most
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_EXPECTED = {"samples": "numbers", "labels": "text or integers"}


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of dense samples, each read from the file when it is due."""
    X = _Array(stream, name, "samples", "biuf")
    if len(X.shape) != 2 or not X.shape[1]:
        shape = "expected samples of shape (n_samples, n_features)"
        raise DataError(name, f"{shape}, got {X.shape}.")
    n, d = X.shape
    dtype = np.float32 if X.dtype.kind == "f" and X.dtype.itemsize <= 4 else np.float64
    with ExitStack() as files:
        y = None if options.label is None else _labels(options.label, n, files)
        if y is None and options.labels_required:
            advice = "Set label (--label) to a .npy file of labels."
            raise DataError(name, f"expected labels, got none. {advice}")
        size = max(1, min(options.chunk_rows, _CELLS // d))
        for start in range(options.after, n, size):
            stop = min(n, start + size)
            with np.errstate(invalid="ignore", over="ignore"):  # infinite values are refused later
                rows = X.read(start, stop).astype(dtype, copy=False)
            labels = None if y is None else _checked(y.read(start, stop).reshape(-1), start, y.name)
            yield Chunk(rows, labels, range(start + 1, stop + 1))


def _labels(path: str, n: int, files: ExitStack) -> _Array:
    """Return the labels in a file, which stays open."""
    if not path.endswith(kinds.NPY.suffixes):
        problem = f"label (--label): expected a {_NAME} file of labels, got {path!r}."
        raise ParameterError(f"{problem} Name the file beside that of the samples.")
    if not os.path.isfile(path):
        raise FileNotFoundError(2, "no such file", path)
    file = files.enter_context(open(path, "rb"))  # noqa: SIM115 - the stack closes it
    y = _Array(file, path, "labels", "biufU")
    if y.shape not in ((n,), (n, 1)):
        raise DataError(path, f"expected {n} labels, got an array of shape {y.shape}.")
    return y


def _checked(labels: np.ndarray, start: int, name: str) -> np.ndarray:
    """Return labels; DataError with the row of one that is neither text nor an integer."""
    lines = range(start + 1, start + 1 + len(labels))
    if labels.dtype.kind == "f":
        check_whole(labels, name, lines)
        return labels.astype(np.float64, copy=False)
    if labels.dtype.kind == "U":
        try:
            distinct, first = np.unique(labels, return_index=True)
            for label, k in zip(distinct.tolist(), first.tolist(), strict=True):
                check_text(label, name, lines[k])
        except ValueError as error:  # a character beyond those of Unicode
            raise DataError(name, f"expected labels in Unicode, got others: {error}") from None
    return labels


class _Array:
    """An array in a file, of which any rows can be read.

    Parameters
    ----------
    stream : binary stream
        The file.
    name : str
        The file, for errors.
    what : str
        What the array holds.
    kinds : str
        The kinds of types that it may have.
    """

    def __init__(self, stream: IO[bytes], name: str, what: str, kinds: str):
        self.stream, self.name = stream, name
        try:
            version = np.lib.format.read_magic(stream)
            if version not in _HEADERS:
                raise ValueError(f"version {version}")
            self.shape, self.by_column, self.dtype = _HEADERS[version](stream)
        except Exception as error:  # the parser raises what Python's tokenizer does, and others
            problem = f"expected a {_NAME} file, got another file, or a damaged one"
            first_line = str(error).partition("\n")[0]
            raise DataError(name, f"{problem}: {first_line}") from None
        if self.dtype.kind not in kinds or self.dtype.itemsize == 0:
            got = "Python objects" if self.dtype.hasobject else f"{self.dtype}"
            raise DataError(name, f"expected {what} that are {_EXPECTED[what]}, got {got}.")
        self.start = stream.tell()
        self.width = int(np.prod(self.shape[1:], dtype=object))
        have, need = stream.seek(0, 2) - self.start, self.dtype.itemsize * self.width
        if min(self.shape, default=-1) < 0 or have < need * self.shape[0]:
            problem = f"expected an array of shape {self.shape}, got only {have:,} bytes of it."
            raise DataError(name, f"{problem} Write the file again.")

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return some rows, in the byte order of this machine."""
        n, d = self.shape[0], self.width
        if self.by_column:
            columns = [self._numbers(k * n + start, stop - start) for k in range(d)]
            rows = np.stack(columns, axis=1)
        else:
            rows = self._numbers(start * d, (stop - start) * d).reshape(stop - start, d)
        return rows.astype(self.dtype.newbyteorder("="), copy=False)

    def _numbers(self, first: int, count: int) -> np.ndarray:
        """Return numbers that follow each other in the file."""
        size = self.dtype.itemsize
        self.stream.seek(self.start + first * size)
        found = self.stream.read(count * size)
        if len(found) < count * size:
            raise DataError(self.name, "expected the whole file, got less. Write the file again.")
        return np.frombuffer(found, self.dtype)


class _Writer:
    """Writes dense samples, without labels; the header is written again when all are counted."""

    typed = True

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None):
        self.stream = stream
        self.rows, self.width, self.dtype = 0, 0, np.dtype(np.float64)
        self.has_header = self.has_labels = False

    def write(self, X: Any, y: Any) -> None:
        if not self.has_header:
            self.width, self.dtype, self.has_header = X.shape[1], X.dtype, True
            self.stream.write(self._header())
        if y is not None and not self.has_labels:
            self.has_labels = True
            warn(
                f"{_NAME} files: expected samples without labels, got some with labels, which are "
                "left out. Write to .npz to keep them."
            )
        if X.shape[1] != self.width:
            before = f"{_NAME} files: expected {self.width} columns, as in the rows before, got"
            advice = "Set width (--width), or write to .npz."
            raise ParameterError(f"{before} {X.shape[1]}. {advice}")
        for rows in blocks(X.shape[0], max(1, _CELLS // max(1, self.width))):
            part = X[rows].toarray() if sparse.issparse(X) else X[rows]
            self.stream.write(np.ascontiguousarray(part).data)
        self.rows += X.shape[0]

    def finish(self) -> None:
        self.stream.seek(0)
        self.stream.write(self._header())

    def _header(self) -> bytes:
        """Return the header; NumPy pads it to the same length for any number of rows."""
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header,
            {
                "descr": np.lib.format.dtype_to_descr(self.dtype),
                "fortran_order": False,
                "shape": (self.rows, self.width),
            },
        )
        return header.getvalue()


FORMAT = Format(kinds.NPY, read, _Writer, options=("label",), labels_apart=True)
