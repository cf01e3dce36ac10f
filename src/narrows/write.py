"""Rows to files, chunk by chunk: npz, svmlight, CSV and Parquet; texts to JSON lines."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from typing import IO, Any, Protocol, cast

import numpy as np
from scipy import sparse

from narrows.errors import ParameterError
from narrows.read import READERS, arrow, suffix_of
from narrows.read.chunk import Chunk, Options
from narrows.store import replacing

_BLOCK = 1 << 20  # bytes that are copied at a time
_COLUMNS_OF_LABELS = ("label", "class", "__label__")


class Writer(Protocol):
    """Takes chunks of rows, each as wide as those before it, or wider where they are sparse."""

    def write(self, X: Any, y: Any) -> None:
        """Add rows, or texts; y may be None."""

    def finish(self) -> None:
        """Write what has to come last."""


@contextmanager
def writer(
    path: str,
    names: Sequence[str] | None,
    texts: bool = False,
    check: Callable[[str], None] = lambda written: None,
) -> Iterator[Writer]:
    """Give a writer for the format of `path`, which appears when the block succeeds.

    Parameters
    ----------
    path : str
        Ends in .npz, .parquet, .svm, .svmlight, .libsvm or .csv, the last four with .gz after it
        too; "-" writes CSV to standard output. For texts, .jsonl, and "-" writes that.
    names : sequence of str, optional
        Names of the columns, for CSV and dense rows in Parquet; x0, x1, … if left out.
    texts : bool
        Whether texts will come, not rows.
    check : callable
        Called with the name of the whole new file, before it takes its place.

    Raises
    ------
    ParameterError
        Another suffix.
    """
    kind, zipped = format_of(path, texts)
    if path == "-":
        out = kind(sys.stdout.buffer, names)
        yield out
        out.finish()
        sys.stdout.buffer.flush()
        return
    with replacing(path) as temporary:
        with open(temporary, "wb") as raw, _zipping(raw, zipped) as stream:
            out = kind(stream, names)
            yield out
            out.finish()
        check(temporary)


def _zipping(raw: IO[bytes], zipped: bool) -> Any:
    """What to write to: the file itself, or gzip over it."""
    return gzip.GzipFile("", "wb", 6, raw, mtime=0) if zipped else nullcontext(raw)


def rows_in(written: str, path: str, first: Chunk) -> int:
    """Read a file of the format of `path` again, of which `first` came first; count its rows."""
    suffix, zipped = suffix_of(path)
    label = None if first.columns is None or first.y is None else label_beside(first.columns)
    with open(written, "rb") as raw, gzip.open(raw) if zipped else nullcontext(raw) as stream:
        options = Options(label, zero_based=False, several_labels=sparse.issparse(first.y))
        chunks = READERS[suffix](cast(IO[bytes], stream), path, options)
        return sum(len(chunk.lines) for chunk in chunks)


def label_beside(names: Sequence[str]) -> str:
    """Return a name for the column of the labels that no other column has."""
    return next(name for name in _COLUMNS_OF_LABELS if name not in names)


def _named(names: Sequence[str] | None, width: int) -> list[str]:
    return [f"x{k}" for k in range(width)] if names is None else list(names)


class _Npz:
    """`X` dense, or `data, indices, indptr, shape` of CSR; and `y`, or the parts of its CSR.

    The pieces of each array wait in a temporary file, because an archive wants them together.
    """

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None):
        self.stream = stream
        self.parts: dict[str, _Array] = {}
        self.rows = self.width = self.labels = 0

    def write(self, X: Any, y: Any) -> None:
        self.rows, self.width = self.rows + X.shape[0], max(self.width, X.shape[1])
        if sparse.issparse(X):
            self._csr(X, "data", "indices", "indptr")
        else:
            self._add("X", X)
        if sparse.issparse(y):
            self.labels = max(self.labels, y.shape[1])
            self._csr(y, "yones", "yindices", "yindptr")
        elif y is not None:
            self._add("y", y)

    def finish(self) -> None:
        self.parts.pop("yones", None)
        with zipfile.ZipFile(self.stream, "w", allowZip64=True) as archive:
            for name, part in self.parts.items():
                small = name.endswith("indptr") and part.last < 2**31
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    part.copy_to(entry, np.int32 if small else part.dtype)
            for name, width in (("shape", self.width), ("yshape", self.labels)):
                if name.replace("shape", "indptr") in self.parts:
                    with archive.open(f"{name}.npy", "w") as entry:
                        np.lib.format.write_array(entry, np.array([self.rows, width]))

    def _csr(self, X: Any, data: str, indices: str, indptr: str) -> None:
        X = sparse.csr_array(X)
        started = self.parts[indices].rows if indices in self.parts else 0
        self._add(data, X.data)
        self._add(indices, X.indices.astype(np.int32, copy=False))
        ends = started + X.indptr.astype(np.int64)
        self._add(indptr, ends if indptr not in self.parts else ends[1:])

    def _add(self, name: str, array: np.ndarray) -> None:
        self.parts.setdefault(name, _Array()).add(array)


class _Array:
    """An array that grows at its end, in a temporary file."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the array
        self.rows, self.shape, self.dtype = 0, (), np.dtype(np.float64)
        self.text: list[np.ndarray] = []  # whose width is that of the longest
        self.last: Any = None

    def add(self, array: np.ndarray) -> None:
        if array.ndim == 1 and len(array):
            self.last = array[-1]
        self.rows, self.shape, self.dtype = self.rows + len(array), array.shape[1:], array.dtype
        if array.dtype.kind == "U":
            self.text.append(array)
        else:
            self.file.write(np.ascontiguousarray(array).data)

    def copy_to(self, entry: IO[bytes], dtype: Any) -> None:
        if self.text:
            np.lib.format.write_array(entry, np.concatenate(self.text))
            return
        header = {
            "descr": np.lib.format.dtype_to_descr(np.dtype(dtype)),
            "fortran_order": False,
            "shape": (self.rows, *self.shape),
        }
        np.lib.format.write_array_header_2_0(entry, header)
        self.file.seek(0)
        while block := self.file.read(_BLOCK):
            entry.write(np.frombuffer(block, self.dtype).astype(dtype, copy=False).tobytes())


class _Parquet:
    """`label`, and the lists `indices` and `values` of sparse rows, or a column a feature.

    LZ4, and entries that a schema says are never null, take .7 of the default's time to decode.
    """

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None):
        self.stream, self.names, self.width = stream, names, 0
        self.file: Any = None
        arrow.pyarrow()

    def write(self, X: Any, y: Any) -> None:
        pa = arrow.pyarrow()
        columns: dict[str, Any] = {}
        if sparse.issparse(X):
            X = sparse.csr_array(X)
            ends = X.indptr.astype(np.int32)
            indices = X.indices.astype(np.int32, copy=False)
            for name, entries in ((arrow.INDICES, indices), (arrow.VALUES, X.data)):
                entry = pa.field("element", pa.from_numpy_dtype(entries.dtype), nullable=False)
                columns[name] = pa.ListArray.from_arrays(ends, entries, type=pa.list_(entry))
            self.width = max(self.width, X.shape[1])
            taken: list[str] = []
        else:
            taken = _named(self.names, X.shape[1])
            columns |= {name: X[:, k] for k, name in enumerate(taken)}
        if y is not None:
            label = label_beside(taken)
            if sparse.issparse(y):
                y = sparse.csr_array(y)
                columns[label] = pa.ListArray.from_arrays(
                    y.indptr.astype(np.int32), y.indices.astype(np.int64)
                )
            else:
                columns[label] = pa.array(y)
        table = pa.table(columns)
        if self.file is None:
            self.file = pa.parquet.ParquetWriter(self.stream, table.schema, compression="lz4")
        self.file.write_table(table)

    def finish(self) -> None:
        if self.file is not None:
            if self.width:
                self.file.add_key_value_metadata({arrow.WIDTH: str(self.width).encode()})
            self.file.close()


class _Jsonl:
    """Texts: `label` where there is one, and `text`."""

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None):
        self.stream = stream

    def write(self, X: Any, y: Any) -> None:
        labels = [None] * len(X) if y is None else y.tolist()
        for text, label in zip(X, labels, strict=True):
            row = {"text": text} if label is None else {"label": label, "text": text}
            line = json.dumps(row, ensure_ascii=False)
            # half a pair of surrogates is written as the escape that it was read from
            self.stream.write(line.encode(errors="backslashreplace") + b"\n")

    def finish(self) -> None:
        pass


class _Svmlight:
    """Columns count from 1; without labels every row has label 0."""

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None):
        self.stream = stream

    def write(self, X: Any, y: Any) -> None:
        y = np.zeros(X.shape[0], dtype=np.int64) if y is None else y
        if not sparse.issparse(y) and y.dtype.kind not in "biuf":
            raise ParameterError(
                f"svmlight files hold numbers for labels, but {str(y[0])!r} came. "
                "Write to .npz or .csv instead."
            )
        X = sparse.csr_array(X, copy=True)
        X.sum_duplicates()  # which puts them in order, too
        # repr is the shortest number that is read as the same one
        entries = [
            f"{column}:{repr(value).removesuffix('.0')}"
            for column, value in zip((X.indices + 1).tolist(), X.data.tolist(), strict=True)
        ]
        if sparse.issparse(y):
            y = sparse.csr_array(y)
            heads = [",".join(map(str, row)) for row in _by_row(y, y.indices.tolist())]
        else:
            heads = list(map(str, _whole(y).tolist()))
        for head, row in zip(heads, _by_row(X, entries), strict=True):
            line = " ".join([head, *row]) or " 1:0"  # where an empty line would be no row
            self.stream.write(line.encode() + b"\n")

    def finish(self) -> None:
        pass


def _by_row(rows: sparse.csr_array, entries: list) -> Iterator[list]:
    """Cut what belongs to the entries of all rows into a list a row."""
    return (entries[a:b] for a, b in pairwise(rows.indptr.tolist()))


def _whole(y: np.ndarray) -> np.ndarray:
    """Labels as integers, where they are whole: text is read as these, or as text."""
    if y.dtype.kind == "b" or (y.dtype.kind == "f" and (np.floor(y) == y).all()):
        return y.astype(np.int64)
    return y


class _Ends:
    """Lines of `csv`, which quotes both characters of a line's end if it ends lines with both."""

    def __init__(self, text: IO[str]):
        self.text = text

    def write(self, line: str) -> None:
        self.text.write(line.removesuffix("\r\n") + "\n")


class _Csv:
    """A header, and the label in the last column where there is one."""

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None):
        self.text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
        self.rows = csv.writer(_Ends(self.text), lineterminator="\r\n")
        self.names, self.width = names, 0

    def write(self, X: Any, y: Any) -> None:
        if sparse.issparse(y):
            raise ParameterError(
                "CSV files hold one label a row, but these rows have several. "
                "Write to .npz or .svm instead."
            )
        if not self.width:
            names = _named(self.names, X.shape[1])
            self.rows.writerow(names if y is None else [*names, label_beside(names)])
            self.width = len(names)
        if X.shape[1] != self.width:
            raise ParameterError(
                f"CSV files have rows of one width, but after {self.width} columns "
                f"{X.shape[1]} came. Say by --width how many there are, or write to .parquet."
            )
        labels = [[]] * X.shape[0] if y is None else [[label] for label in _whole(y).tolist()]
        for at in range(X.shape[0]):
            row = X[[at]].toarray()[0] if sparse.issparse(X) else X[at]
            self.rows.writerow(row.tolist() + labels[at])

    def finish(self) -> None:
        self.text.detach()


Kind = Callable[[IO[bytes], Sequence[str] | None], Writer]
_WRITERS: dict[str, Kind] = {
    ".npz": _Npz,
    ".parquet": _Parquet,
    ".svm": _Svmlight,
    ".svmlight": _Svmlight,
    ".libsvm": _Svmlight,
    ".csv": _Csv,
}
_OF_TEXTS: dict[str, Kind] = {".jsonl": _Jsonl}


def format_of(path: str, texts: bool = False) -> tuple[Kind, bool]:
    """Return the writer for a path, and whether it is gzipped; ParameterError for none."""
    if path == "-":
        return (_Jsonl if texts else _Csv), False
    kinds = _OF_TEXTS if texts else _WRITERS
    suffix, zipped = suffix_of(path, _WRITERS | _OF_TEXTS)
    if suffix not in kinds:
        raise ParameterError(
            f"{path}: texts are written to .jsonl or .jsonl.gz alone; transform makes numbers of "
            "them with a model."
            if texts
            else f"{path}: .jsonl is for texts; numbers are written to {', '.join(kinds)}."
        )
    return kinds[suffix], zipped
