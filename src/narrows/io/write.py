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
from functools import partial
from itertools import pairwise
from typing import IO, Any, Protocol, cast

import numpy as np
from scipy import sparse

from narrows.io.atomic import replacing
from narrows.io.chunk import Chunk, Options
from narrows.io.dataset import READERS, suffix_of
from narrows.io.formats import arrow
from narrows.solve.errors import DataError, ParameterError
from narrows.solve.sums import blocks, widened

_BLOCK = 1 << 20  # bytes that are copied at a time
_CELLS = 4_000_000  # of sparse rows that become dense ones at a time, at most
_NUMBERS = "labels that are numbers"
_WRITE_APART = "Write such files to outputs of their own."
_COLUMNS_OF_LABELS = ("label", "class", "__label__")


class Writer(Protocol):
    """Writes chunks of one type and kind, each as wide as those before, or wider if sparse."""

    typed: bool  # whether files of the format say what type numbers have

    def write(self, X: Any, y: Any) -> None:
        """Add rows, or texts; y may be None."""

    def finish(self) -> None:
        """Write what has to come last."""


class Rows:
    """Rows on their way to a writer; the first chunk fixes what all of them are.

    The types of values and labels, whether there are labels, whether these are text, numbers or
    several a row, and whether rows are sparse. Later chunks are cast where no value changes.

    Parameters
    ----------
    writer : Writer
        Of the format.
    """

    def __init__(self, writer: Writer):
        self.writer = writer
        self._dtype: Any = None
        self._labels: Any = None
        self._sparse, self._width = False, 0
        self._is_first = True

    def write(self, X: Any, y: Any, name: str = "", lines: Sequence[int] | Any = ()) -> None:
        """Add rows, or texts; y may be None.

        Parameters
        ----------
        X : csr_array or ndarray of shape (n, d), or list of str
            The rows, or the texts.
        y : ndarray of shape (n,), csr_array of shape (n, c), or None
            Their labels.
        name : str
            The file that they come from, for errors.
        lines : sequence of int
            The line of each row in it, for errors.

        Raises
        ------
        DataError, ParameterError
            Rows or labels unlike those of the first chunk; the former names the file.
        """
        texts = isinstance(X, list)
        if self._is_first:
            self._dtype = None if texts else self._fixed(X.dtype)
            self._sparse, self._width = sparse.issparse(X), 0 if texts else X.shape[1]
            self._labels = _kind(y) if _kind(y) != _NUMBERS else self._fixed(y.dtype)
            self._is_first = False
        try:
            y = self._as_first_labels(y)
            if not texts:
                X = self._as_first_rows(X)
        except _UnlikeError as unlike:
            line = None if unlike.row is None or not len(lines) else int(lines[unlike.row])
            if name:
                raise DataError(name, str(unlike), line) from None
            raise ParameterError(str(unlike)) from None
        if texts or sparse.issparse(X) == self._sparse:
            self.writer.write(X, y)
            return
        if self._sparse:
            self.writer.write(sparse.csr_array(X), y)
            return
        X = widened(X, self._width)
        for rows in blocks(X.shape[0], max(1, _CELLS // max(1, self._width))):
            self.writer.write(X[rows].toarray(), None if y is None else y[rows])

    def _fixed(self, dtype: np.dtype) -> np.dtype:
        """The type of all numbers, where this is the first one's."""
        if self.writer.typed or dtype.kind not in "biuf" or dtype.itemsize >= 8:
            return dtype
        return np.dtype(np.float64 if dtype.kind == "f" else np.int64)

    def _as_first_labels(self, y: Any) -> Any:
        kind, fixed = _kind(y), self._labels
        first = fixed if isinstance(fixed, str) else _NUMBERS
        if kind != first:
            raise _UnlikeError(
                f"expected {first}, as in the rows before, got {kind}. {_WRITE_APART}"
            )
        return y if kind != _NUMBERS else _cast(y, fixed, "labels")

    def _as_first_rows(self, X: Any) -> Any:
        width = X.shape[1]
        is_fixed = not (self._sparse or (sparse.issparse(X) and width < self._width))
        if is_fixed and width != self._width:
            raise _UnlikeError(
                f"expected {self._width} columns, as in the rows before, got {width}. "
                f"{_WRITE_APART}"
            )
        if X.dtype == self._dtype:
            return X
        if not sparse.issparse(X):
            return _cast(X, self._dtype, "values")
        X = sparse.csr_array(X)
        try:
            data = _cast(X.data, self._dtype, "values")
        except _UnlikeError as unlike:
            unlike.row = int(np.searchsorted(X.indptr, unlike.row or 0, side="right")) - 1
            raise
        return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


class _UnlikeError(Exception):
    """A chunk is unlike the first one, from this row of it on."""

    def __init__(self, problem: str, row: int | None = None):
        super().__init__(problem)
        self.row = row


def _kind(y: Any) -> str:
    """What the labels of rows are, in words."""
    if y is None:
        return "no labels"
    if sparse.issparse(y):
        return "several labels a row"
    return _NUMBERS if y.dtype.kind in "biuf" else "labels that are text"


def _cast(numbers: np.ndarray, dtype: np.dtype, what: str) -> np.ndarray:
    """The numbers as `dtype`; _UnlikeError where one of them would be another number."""
    if numbers.dtype == dtype:
        return numbers
    with np.errstate(all="ignore"):
        cast = numbers.astype(dtype)
        back = cast.astype(numbers.dtype)
    # signs, because what wraps around comes back
    same = (back == numbers) & ((cast < 0) == (numbers < 0))
    same |= (cast != cast) & (numbers != numbers)
    if not same.all():
        first = tuple(index[0] for index in np.nonzero(~same))
        raise _UnlikeError(
            f"expected {what} that {dtype} holds, as in the rows before, got "
            f"{numbers[first].item()!r}. Name the files with the wider type first.",
            int(first[0]),
        )
    return cast


@contextmanager
def writer(
    path: str,
    names: Sequence[str] | None,
    texts: bool = False,
    check: Callable[[str], None] = lambda written: None,
    csv_safe: bool = False,
) -> Iterator[Rows]:
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
    csv_safe : bool
        For CSV: put an apostrophe before names of columns and text labels that a spreadsheet
        would take for formulas.

    Raises
    ------
    ParameterError
        Another suffix.
    """
    kind, zipped = format_of(path, texts)
    if csv_safe:
        if kind is not _Csv:
            raise ParameterError(f"{path}: --csv-safe is for CSV. Leave it out.")
        kind = partial(_Csv, safe=True)
    if path == "-":
        out = kind(sys.stdout.buffer, names)
        yield Rows(out)
        out.finish()
        sys.stdout.buffer.flush()
        return
    with replacing(path) as temporary:
        with open(temporary, "wb") as raw, _zipping(raw, zipped) as stream:
            out = kind(stream, names)
            yield Rows(out)
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


def _small(indices: np.ndarray) -> np.ndarray:
    """Columns as all files hold them."""
    if indices.max(initial=0) > np.iinfo(np.int32).max:
        raise ParameterError(
            f"expected columns under 2^31 to write, got {indices.max()}. Write to .svm instead."
        )
    return indices.astype(np.int32, copy=False)


class _Npz:
    """`X` dense, or `data, indices, indptr, shape` of CSR; and `y`, or the parts of its CSR.

    The pieces of each array wait in a temporary file, because an archive wants them together.
    """

    typed = True

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
        self._add(indices, _small(X.indices))
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

    typed = True

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None):
        self.names, self.width = names, 0
        self.file: Any = None
        # not through Python's file, in which a signal may raise, and which is closed before this
        self.sink = arrow.pyarrow().OSFile(stream.name, "wb")

    def write(self, X: Any, y: Any) -> None:
        pa = arrow.pyarrow()
        columns: dict[str, Any] = {}
        if sparse.issparse(X):
            X = sparse.csr_array(X)
            ends = X.indptr.astype(np.int32)
            indices = _small(X.indices)
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
            self.file = pa.parquet.ParquetWriter(self.sink, table.schema, compression="lz4")
        with self._failing_once():
            self.file.write_table(table)

    def finish(self) -> None:
        if self.file is not None:
            if self.width:
                self.file.add_key_value_metadata({arrow.WIDTH: str(self.width).encode()})
            with self._failing_once():
                self.file.close()
        self.sink.close()

    @contextmanager
    def _failing_once(self) -> Iterator[None]:
        """Let a file that could not be written not try it again when it is let go."""
        try:
            yield
        except BaseException:
            self.file.is_open = False
            raise


class _Jsonl:
    """Texts: `label` where there is one, and `text`."""

    typed = False

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

    typed = False

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
            heads = list(map(str, _whole(y)))
        for head, row in zip(heads, _by_row(X, entries), strict=True):
            line = " ".join([head, *row]) or " 1:0"  # where an empty line would be no row
            self.stream.write(line.encode() + b"\n")

    def finish(self) -> None:
        pass


def _by_row(rows: sparse.csr_array, entries: list) -> Iterator[list]:
    """Cut what belongs to the entries of all rows into a list a row."""
    return (entries[a:b] for a, b in pairwise(rows.indptr.tolist()))


def _whole(y: np.ndarray) -> list[Any]:
    """Labels, each that is whole as an integer: the same label is the same text in every chunk."""
    return [int(label) if y.dtype.kind in "bf" and label == label // 1 else label
            for label in y.tolist()]  # fmt: skip


def _no_formula(text: str) -> str:
    """The text, so that no spreadsheet computes it."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


class _Ends:
    """Lines of `csv`, which quotes both characters of a line's end if it ends lines with both."""

    def __init__(self, text: IO[str]):
        self.text = text

    def write(self, line: str) -> None:
        self.text.write(line.removesuffix("\r\n") + "\n")


class _Csv:
    """A header, and the label in the last column where there is one."""

    typed = False

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None, safe: bool = False):
        self.text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
        self.rows = csv.writer(_Ends(self.text), lineterminator="\r\n")
        self.names, self.width = names, 0
        self.words: Callable[[str], str] = _no_formula if safe else str

    def write(self, X: Any, y: Any) -> None:
        if sparse.issparse(y):
            raise ParameterError(
                "CSV files hold one label a row, but these rows have several. "
                "Write to .npz or .svm instead."
            )
        if not self.width:
            names = _named(self.names, X.shape[1])
            header = list(map(self.words, names))
            self.rows.writerow(header if y is None else [*header, label_beside(header)])
            self.width = len(names)
        if X.shape[1] != self.width:
            raise ParameterError(
                f"CSV files have rows of one width, but after {self.width} columns "
                f"{X.shape[1]} came. Say by --width how many there are, or write to .parquet."
            )
        labels = [] if y is None else _whole(y)
        labels = [[self.words(label) if isinstance(label, str) else label] for label in labels]
        labels = labels or [[]] * X.shape[0]
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
