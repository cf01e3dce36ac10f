"""Parquet files, and the tables of any library that hands them on as an Arrow stream.

A row is its lists `indices` and `values`, or one number in each column; `label` or `class` holds
text, a whole number, or a list of the numbers of its classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    label_column,
    wanted_columns,
)  # fmt: skip
from narrows.solve.errors import DataError

INDICES, VALUES = "indices", "values"
WIDTH = b"narrows.width"  # in the metadata of a file: how many columns its sparse rows have
_CELLS = 4_000_000  # of dense rows in a chunk, at most
_LARGEST = np.iinfo(np.int32).max  # width of sparse rows


def pyarrow() -> Any:
    """Return the library; ImportError names the extra."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            "pyarrow is needed for Parquet files and Arrow tables: pip install 'narrows[arrow]'."
        ) from None
    return pyarrow


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of a Parquet file, whatever its row groups are."""
    pa = pyarrow()
    try:
        file = pa.parquet.ParquetFile(stream, page_checksum_verification=True)
        groups, passed = list(range(file.num_row_groups)), 0
        while groups and passed + file.metadata.row_group(groups[0]).num_rows <= options.after:
            passed += file.metadata.row_group(groups.pop(0)).num_rows
        # one group after the other: asked for all of them, pyarrow holds on to what it has read
        size = options.chunk_rows
        batches = (b for group in groups for b in file.iter_batches(size, row_groups=[group]))
        told = (file.metadata.metadata or {}).get(WIDTH, b"0")
        if not told.isdigit() or int(told) > _LARGEST:
            raise DataError(name, f"a damaged Parquet file: it says that it has {told!r} columns.")
        options = options.having(width=options.width or int(told) or None)
        rows = file.metadata.num_rows - passed
        yield from _chunks(_all(batches, rows, name), file.schema_arrow, name, options, passed)
    except DataError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(name, f"not a Parquet file, or a damaged one: {_said(error)}") from None


def read_table(table: Any, name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of a table that has `__arrow_c_stream__`."""
    pa = pyarrow()
    try:
        with pa.RecordBatchReader.from_stream(table) as reader:
            yield from _chunks(reader, reader.schema, name, options, 0)
    except DataError:
        raise
    except (pa.ArrowException, OverflowError, UnicodeDecodeError) as error:
        raise DataError(name, f"not a table that Arrow can take: {_said(error)}") from None


def _all(batches: Iterable[Any], rows: int, name: str) -> Iterator[Any]:
    """The batches, and an error where they end before so many rows: no library's reader minds."""
    for batch in batches:
        rows -= batch.num_rows
        yield batch
    if rows:
        raise DataError(name, f"a damaged Parquet file: {rows:,} of its rows do not come.")


def _said(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _chunks(
    batches: Iterable[Any], schema: Any, name: str, options: Options, passed: int
) -> Iterator[Chunk]:
    """Chunks of record batches, the first of which begins after row `passed`."""
    header = schema.names
    if len(set(header)) < len(header):
        twice = next(column for column in header if header.count(column) > 1)
        raise DataError(name, f"two columns are named {twice!r}; names must differ.")
    label = label_column(header, options, name)
    is_sparse = {INDICES, VALUES} <= set(header) and any(
        pyarrow().types.is_nested(schema.field(column).type) for column in (INDICES, VALUES)
    )
    index = _index_of(schema)
    features = [column for column in header if column not in index]
    columns = None if is_sparse else wanted_columns(features, label, options, name)
    if columns == []:
        raise DataError(name, "no column but the label's; numbers to learn from are wanted.")
    width = options.width or 0
    rows = options.chunk_rows
    if columns is not None:
        rows = max(1, min(rows, _CELLS // len(columns)))
    labels = 0  # columns of an indicator
    for table in _cut(batches, rows, options.after - passed):
        lines = range(options.after + 1, options.after + 1 + table.num_rows)
        options = options.having(after=lines.stop - 1)
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
    """The columns that pandas made of an index, which is no number of its rows."""
    try:
        told = (schema.pandas_metadata or {}).get("index_columns", ())
        return {column for column in told if isinstance(column, str)}
    except (ValueError, TypeError, AttributeError):  # no metadata of pandas
        return set()


def _cut(batches: Iterable[Any], rows: int, passed: int) -> Iterator[Any]:
    """Tables of so many rows each, the last one of what is left; `passed` rows are left out."""
    held: list[Any] = []
    have = 0
    for batch in batches:
        passed, batch = max(0, passed - batch.num_rows), batch.slice(min(passed, batch.num_rows))
        while batch is not None and batch.num_rows:
            held.append(batch.slice(0, rows - have))
            have += held[-1].num_rows
            few = held[-1].num_rows == batch.num_rows
            batch = None if few else batch.slice(held[-1].num_rows)  # none holds no memory
            if have == rows:
                ready = [pyarrow().Table.from_batches(held)]
                held, have = [], 0
                yield ready.pop()
    if held:
        yield pyarrow().Table.from_batches(held)


def _sparse(table: Any, width: int, name: str, lines: range) -> sparse.csr_array:
    (counts, indices), (also, values) = (
        _lists(table, column, name, lines) for column in (INDICES, VALUES)
    )
    unlike = np.flatnonzero(counts != also)
    if len(unlike):
        k = unlike[0]
        raise DataError(name, f"{counts[k]} {INDICES}, but {also[k]} {VALUES}.", lines[k])
    indptr = np.append(0, np.cumsum(counts))
    if indices.dtype.kind not in "iu" or values.dtype.kind not in "biuf":
        raise DataError(
            name,
            f"whole numbers in {INDICES!r} and numbers in {VALUES!r} wanted, but "
            f"{indices.dtype} and {values.dtype} came.",
        )
    top, low = (int(indices.max()), int(indices.min())) if len(indices) else (-1, 0)
    if low < 0 or top >= _LARGEST:
        k = int(np.flatnonzero((indices < 0) | (indices >= _LARGEST))[0])
        row = int(np.searchsorted(indptr, k, side="right")) - 1
        raise DataError(name, f"column {indices[k]}; 0 to 2^31 - 2 wanted.", lines[row])
    # a copy in any case: what Arrow hands on cannot be written to, as scipy does to sort a row
    values = values.astype(np.float32 if values.dtype == np.float32 else np.float64)
    shape = (len(counts), max(width, top + 1))
    # scipy takes both of one type, and twice the memory for indices if one of them needs it
    small = np.int32 if indptr[-1] <= _LARGEST else np.int64
    parts = (values, indices.astype(np.int32), indptr.astype(small))
    return sparse.csr_array(parts, shape=shape)


def _lists(table: Any, column: str, name: str, lines: range) -> tuple[np.ndarray, np.ndarray]:
    """How long each list is, and all of them after one another."""
    array = _whole(table, column)
    if not _is_list(array.type):
        raise DataError(
            name, f"lists wanted in the column {column!r}, but {_shown(array.type)} came."
        )
    _refuse_nulls(array, column, name, lines)
    flat = array.flatten()
    if flat.null_count:
        raise DataError(name, f"a list in the column {column!r} has an entry that is nothing.")
    with _named(column, name):
        return array.value_lengths().to_numpy(), flat.to_numpy(zero_copy_only=False)


def _whole(table: Any, column: str) -> Any:
    """The column as one array; to combine a single one would copy it."""
    parts = table.column(column)
    return parts.chunk(0) if parts.num_chunks == 1 else parts.combine_chunks()


@contextmanager
def _named(column: str, name: str) -> Iterator[None]:
    try:
        yield
    except (pyarrow().ArrowException, UnicodeDecodeError) as error:
        raise DataError(name, f"column {column!r} cannot be read: {_said(error)}") from None


def _shown(kind: Any) -> str:
    """A type on one line: in its fields' names there can be anything."""
    return repr(str(kind))[1:-1]


def _is_list(kind: Any) -> bool:
    types = pyarrow().types
    return types.is_list(kind) or types.is_large_list(kind)


def _refuse_nulls(array: Any, column: str, name: str, lines: range) -> None:
    in_dictionary = pyarrow().types.is_dictionary(array.type) and array.dictionary.null_count
    if array.null_count or in_dictionary:
        nulls = [value is None for value in array.to_pylist()]
        if any(nulls):
            raise DataError(name, f"column {column!r} holds nothing.", lines[nulls.index(True)])


def _numbers(table: Any, column: str, name: str, lines: range) -> np.ndarray:
    array = _whole(table, column)
    types = pyarrow().types
    kind = array.type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise DataError(name, f"column {column!r} holds {_shown(kind)}; numbers wanted.")
    _refuse_nulls(array, column, name, lines)
    values = array.to_numpy(zero_copy_only=False)
    return values if values.dtype == np.float32 else values.astype(np.float64, copy=False)


def _labels(table: Any, label: str, width: int, name: str, lines: range) -> Any:
    types = pyarrow().types
    if _is_list(table.schema.field(label).type):
        counts, indices = _lists(table, label, name, lines)
        indptr = np.append(0, np.cumsum(counts))
        problem = f"{label!r}: lists of whole numbers from 0 on, under 2^24, wanted."
        if indices.dtype.kind not in "iu":
            raise DataError(name, problem)
        bad = np.flatnonzero((indices < 0) | (indices >= CLASSES))
        if len(bad):
            row = int(np.searchsorted(indptr, bad[0], side="right")) - 1
            raise DataError(name, problem, lines[row])
        indices = indices.astype(np.int32)
        shape = (len(counts), max(width, int(indices.max(initial=-1)) + 1))
        y = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
        y.sum_duplicates()
        y.data[:] = 1
        return y
    array = _whole(table, label)
    _refuse_nulls(array, label, name, lines)
    kind = array.type.value_type if types.is_dictionary(array.type) else array.type
    if types.is_integer(kind) or types.is_boolean(kind):
        return np.array(array if kind == array.type else array.to_pylist(), kind.to_pandas_dtype())
    if types.is_floating(kind):
        numbers = _numbers(table, label, name, lines)
        odd = np.flatnonzero(numbers != np.floor(numbers))
        if len(odd):
            problem = f"label {numbers[odd[0]]}: text or whole numbers wanted."
            raise DataError(name, problem, lines[odd[0]])
        check_numbers(numbers, name, lines)
        return numbers
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        with _named(label, name):
            texts = array.to_pylist()
        for text, line in zip(texts, lines, strict=True):
            check_text(text, name, line)
        return np.array(texts)
    raise DataError(name, f"{label!r} holds {_shown(kind)}; text or whole numbers wanted.")
