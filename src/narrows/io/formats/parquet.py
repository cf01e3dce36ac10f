"""Parquet files, and the tables of any library that exports them as an Arrow stream.

A sample is its lists `indices` and `values`, or one number in each column; `label` or `class` holds
text, an integer, or a list of the numbers of its classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from scipy import sparse

from narrows.io.chunk import (
    CLASSES,
    Chunk,
    Options,
    check_numbers,
    check_text,
    feature_columns,
    indicator,
    label_column,
    row_of,
)  # fmt: skip
from narrows.io.extras import needing
from narrows.io.formats.base import Format, as_int32, column_names, label_name
from narrows.solve.errors import DataError

INDICES, VALUES = "indices", "values"
WIDTH = b"narrows.width"  # in the metadata of a file: n_features of sparse samples
_CELLS = 4_000_000  # of dense samples in a chunk, at most
_LARGEST = np.iinfo(np.int32).max  # n_features of sparse samples


def pyarrow() -> Any:
    """Return the library; ImportError names the extra."""
    with needing("arrow", "pyarrow", "Parquet files and Arrow tables"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of a Parquet file, whatever its row groups are."""
    with _damage_named(name, "expected a Parquet file, got another file, or a damaged one"):
        file = pyarrow().parquet.ParquetFile(stream, page_checksum_verification=True)
        groups, skipped = list(range(file.num_row_groups)), 0
        while groups and skipped + file.metadata.row_group(groups[0]).num_rows <= options.after:
            skipped += file.metadata.row_group(groups.pop(0)).num_rows
        # one group after the other: of several, pyarrow keeps those that it has read
        size = options.chunk_rows
        batches = (b for group in groups for b in file.iter_batches(size, row_groups=[group]))
        width = (file.metadata.metadata or {}).get(WIDTH, b"0")
        if not width.isdigit() or int(width) > _LARGEST:
            problem = f"expected a number of features, got {width!r}."
            raise DataError(name, f"{problem} Write the file again.")
        options = options.replace(width=options.width or int(width) or None)
        rows = file.metadata.num_rows - skipped
        yield from _chunks(_all(batches, rows, name), file.schema_arrow, name, options, skipped)


def read_table(table: Any, name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of a table that has `__arrow_c_stream__`."""
    with (
        _damage_named(name, "expected a table that Arrow can read, got another one"),
        pyarrow().RecordBatchReader.from_stream(table) as reader,
    ):
        yield from _chunks(reader, reader.schema, name, options, 0)


@contextmanager
def _damage_named(name: str, problem: str) -> Iterator[None]:
    try:
        yield
    except (pyarrow().ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        first_line = str(error).partition("\n")[0]
        raise DataError(name, f"{problem}: {first_line}") from None


def _all(batches: Iterable[Any], rows: int, name: str) -> Iterator[Any]:
    """Yield the batches; DataError where they have fewer rows, which no library checks."""
    missing = rows
    for batch in batches:
        missing -= batch.num_rows
        yield batch
    if missing:
        problem = f"expected {rows:,} rows, got {rows - missing:,}. Write the file again."
        raise DataError(name, problem)


def _chunks(
    batches: Iterable[Any], schema: Any, name: str, options: Options, skipped: int
) -> Iterator[Chunk]:
    """Yield chunks of record batches, the first of which starts after row `skipped`."""
    header = schema.names
    label = label_column(header, options, name)
    is_sparse = {INDICES, VALUES} <= set(header) and any(
        pyarrow().types.is_nested(schema.field(column).type) for column in (INDICES, VALUES)
    )
    index = _index_of(schema)
    features = [column for column in header if column not in index]
    columns = None if is_sparse else feature_columns(features, label, options, name)
    width = options.width or 0
    rows = options.chunk_rows
    if columns is not None:
        rows = max(1, min(rows, _CELLS // len(columns)))
    labels = 0  # columns of an indicator
    for table in _tables(batches, rows, options.after - skipped):
        lines = range(options.after + 1, options.after + 1 + table.num_rows)
        options = options.replace(after=lines.stop - 1)
        X: Any
        with np.errstate(invalid="ignore"):  # a NaN, which is refused later, may signal
            if columns is None:
                X = _sparse(table, width, name, lines)
                width = X.shape[1]
            else:
                X = np.column_stack([_numbers(table, column, name, lines) for column in columns])
            y: Any = None if label is None else _labels(table, label, labels, name, lines)
        if sparse.issparse(y):
            labels = y.shape[1]
        del table  # the chunk may wait for long
        yield Chunk(X, y, lines, None if columns is None else tuple(columns))


def _index_of(schema: Any) -> set[str]:
    """Return the columns that pandas made of an index, which are no features."""
    try:
        columns = (schema.pandas_metadata or {}).get("index_columns", ())
        return {column for column in columns if isinstance(column, str)}
    except (ValueError, TypeError, AttributeError):  # no metadata of pandas
        return set()


def _tables(batches: Iterable[Any], rows: int, skipped: int) -> Iterator[Any]:
    """Yield tables of so many rows each, the last one of the rest, without the first `skipped`."""
    held: list[Any] = []
    have = 0
    for batch in batches:
        skip = min(skipped, batch.num_rows)
        skipped, batch = skipped - skip, batch.slice(skip)
        while batch is not None and batch.num_rows:
            held.append(batch.slice(0, rows - have))
            have += held[-1].num_rows
            is_all = held[-1].num_rows == batch.num_rows
            batch = None if is_all else batch.slice(held[-1].num_rows)  # None holds no memory
            if have == rows:
                ready = [pyarrow().Table.from_batches(held)]
                held, have = [], 0
                yield ready.pop()
    if held:
        yield pyarrow().Table.from_batches(held)


def _sparse(table: Any, width: int, name: str, lines: range) -> sparse.csr_array:
    indices, indptr, top = _indices(table, INDICES, _LARGEST, name, lines)
    counts, values = _lists(table, VALUES, name, lines)
    unlike = np.flatnonzero(counts != np.diff(indptr))
    if len(unlike):
        k = unlike[0]
        n_indices = indptr[k + 1] - indptr[k]
        problem = f"expected {n_indices} {VALUES}, as many as {INDICES}, got {counts[k]}."
        raise DataError(name, problem, lines[k])
    if values.dtype.kind not in "biuf":
        raise DataError(name, f"{VALUES!r}: expected lists of numbers, got {values.dtype}.")
    # always a copy: the arrays of Arrow cannot be written to, as scipy does to sort a row
    values = values.astype(np.float32 if values.dtype == np.float32 else np.float64)
    return sparse.csr_array((values, indices, indptr), shape=(len(counts), max(width, top)))


def _indices(
    table: Any, column: str, most: int, name: str, lines: range
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return lists of integers under `most` as `indices` and `indptr` of CSR, and their width."""
    counts, indices = _lists(table, column, name, lines)
    expected = f"{column!r}: expected lists of integers from 0 to {most - 1}, got"
    if indices.dtype.kind not in "iu":
        raise DataError(name, f"{expected} {indices.dtype}.")
    indptr = np.append(0, np.cumsum(counts))
    top, low = (int(indices.max()), int(indices.min())) if len(indices) else (-1, 0)
    if low < 0 or top >= most:
        k = int(np.flatnonzero((indices < 0) | (indices >= most))[0])
        raise DataError(name, f"{expected} {indices[k]}.", lines[row_of(k, indptr)])
    # scipy keeps both in one type, so that a large one would double the memory of the other
    small = np.int32 if indptr[-1] <= _LARGEST else np.int64
    return indices.astype(np.int32), indptr.astype(small), top + 1


def _lists(table: Any, column: str, name: str, lines: range) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of the lists, and their entries one after another."""
    array = _column(table, column)
    if not _is_list(array.type):
        raise DataError(name, f"column {column!r}: expected lists, got {_shown(array.type)}.")
    _refuse_nulls(array, column, name, lines)
    flat = array.flatten()
    if flat.null_count:
        raise DataError(name, f"column {column!r}: expected lists without nulls, got a null.")
    with _damage_named(name, f"column {column!r}: expected readable values, got others"):
        return array.value_lengths().to_numpy(), flat.to_numpy(zero_copy_only=False)


def _column(table: Any, column: str) -> Any:
    """Return a column as one array; combining a single chunk would copy it."""
    parts = table.column(column)
    return parts.chunk(0) if parts.num_chunks == 1 else parts.combine_chunks()


def _shown(kind: Any) -> str:
    """Return a type on one line: the names of its fields may hold anything."""
    return repr(str(kind))[1:-1]


def _is_list(kind: Any) -> bool:
    types = pyarrow().types
    return types.is_list(kind) or types.is_large_list(kind)


def _refuse_nulls(array: Any, column: str, name: str, lines: range) -> None:
    in_dictionary = pyarrow().types.is_dictionary(array.type) and array.dictionary.null_count
    if array.null_count or in_dictionary:
        nulls = [value is None for value in array.to_pylist()]
        if any(nulls):
            problem = f"column {column!r}: expected no nulls, got one."
            raise DataError(name, problem, lines[nulls.index(True)])


def _numbers(table: Any, column: str, name: str, lines: range) -> np.ndarray:
    array = _column(table, column)
    types = pyarrow().types
    kind = array.type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise DataError(name, f"column {column!r}: expected numbers, got {_shown(kind)}.")
    _refuse_nulls(array, column, name, lines)
    values = array.to_numpy(zero_copy_only=False)
    return values if values.dtype == np.float32 else values.astype(np.float64, copy=False)


def _labels(table: Any, label: str, width: int, name: str, lines: range) -> Any:
    types = pyarrow().types
    if _is_list(table.schema.field(label).type):
        indices, indptr, n_classes = _indices(table, label, CLASSES, name, lines)
        return indicator(indices, indptr, max(width, n_classes))
    array = _column(table, label)
    _refuse_nulls(array, label, name, lines)
    kind = array.type.value_type if types.is_dictionary(array.type) else array.type
    if types.is_integer(kind) or types.is_boolean(kind):
        return np.array(array if kind == array.type else array.to_pylist(), kind.to_pandas_dtype())
    if types.is_floating(kind):
        numbers = _numbers(table, label, name, lines)
        odd = np.flatnonzero(numbers != np.floor(numbers))
        if len(odd):
            problem = f"expected a label that is text or an integer, got {numbers[odd[0]]}."
            raise DataError(name, problem, lines[odd[0]])
        check_numbers(numbers, name, lines)
        return numbers
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        with _damage_named(name, f"column {label!r}: expected readable values, got others"):
            texts = array.to_pylist()
        for text, line in zip(texts, lines, strict=True):
            check_text(text, name, line)
        return np.array(texts)
    raise DataError(name, f"{label!r}: expected text or integers, got {_shown(kind)}.")


class _Writer:
    """Writes `label`, and the lists `indices` and `values` of sparse samples, or their features.

    LZ4, and entries that the schema declares never null, take 0.7 of the default's decoding time.
    """

    typed = True

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None):
        self.names, self.width = names, 0
        self.file: Any = None
        # not Python's file: a signal may raise an error in it, and it is closed before this one
        self.sink = pyarrow().OSFile(stream.name, "wb")

    def write(self, X: Any, y: Any) -> None:
        pa = pyarrow()
        columns: dict[str, Any] = {}
        if sparse.issparse(X):
            X = sparse.csr_array(X)
            ends = X.indptr.astype(np.int32)
            indices = as_int32(X.indices)
            for name, entries in ((INDICES, indices), (VALUES, X.data)):
                entry = pa.field("element", pa.from_numpy_dtype(entries.dtype), nullable=False)
                columns[name] = pa.ListArray.from_arrays(ends, entries, type=pa.list_(entry))
            self.width = max(self.width, X.shape[1])
            features: list[str] = []
        else:
            features = column_names(self.names, X.shape[1])
            columns |= {name: X[:, k] for k, name in enumerate(features)}
        if y is not None:
            label = label_name(features)
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
                self.file.add_key_value_metadata({WIDTH: str(self.width).encode()})
            with self._failing_once():
                self.file.close()
        self.sink.close()

    @contextmanager
    def _failing_once(self) -> Iterator[None]:
        """Keep pyarrow from writing again, when it frees the file, what could not be written."""
        try:
            yield
        except BaseException:
            self.file.is_open = False
            raise


FORMAT = Format(
    "Parquet", (".parquet",), read, _Writer, options=("label",), is_binary=True,
    may_widen=True,
)  # fmt: skip
