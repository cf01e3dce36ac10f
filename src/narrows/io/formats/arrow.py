"""Parquet, Arrow and ORC files, and tables of any library that exports them as Arrow streams.

A sample is its lists `indices` and `values`, or one number in each column, or what the columns hold
that options name: texts, or a list of numbers. `label` or `class` holds text, an integer, or a list
of the numbers of its classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError
from narrows.io import kinds
from narrows.io.chunk import (
    CLASSES,
    EXACT,
    MAY_BE_TABLE,
    OF_CLASSES,
    OF_TABLE,
    TEXT,
    Chunk,
    Options,
    as_targets,
    check_columns,
    check_finite,
    feature_columns,
    indicator,
    label_column,
    row_of,
    target_columns,
)
from narrows.io.formats.base import Format, Writer, as_int32, column_names, damage_named, label_name
from narrows.io.kinds import Kind
from narrows.io.parts import FilePart, between
from narrows.io.table_rows import TableRows
from narrows.solve.arrays import as_objects, beyond_floats

INDICES, VALUES = "indices", "values"
LARGEST = np.iinfo(np.int32).max  # n_features of sparse samples
WIDTH = (
    b"narrows.width"  # in the metadata of a file or its last batch: n_features of sparse samples
)
_CELLS = 4_000_000  # of dense samples in a chunk, at most
_ARROW = b"ARROW1"  # that files of Arrow begin with, and streams do not
_ROWS = 1000  # of ORC that are read at a time, at most
_FEW = 10  # rows of Parquet that show how long vectors are
_BUFFER = 1 << 20  # bytes of a column that are read at a time
_BUFFERS = 64  # at most
FIELDS = ("type", "size", "indices", "values")
# what `type` of a vector of Spark holds; a dense vector has neither size nor indices
SPARSE, DENSE = 0, 1


class _Batches(NamedTuple):
    """The record batches of a file, and the number of rows before them, which are skipped.

    `options` have what the file says: how many rows are a chunk, and the number of features.
    """

    schema: Any
    batches: Iterator[Any]
    options: Options
    skipped: int = 0


def read(
    stream: IO[bytes], name: str, options: Options, kind: Kind = kinds.PARQUET
) -> Iterator[Chunk]:
    """Yield chunks of a file, whatever its record batches are."""
    with opened(kind, stream, name, options) as file:
        yield from _chunks(file.batches, file.schema, name, file.options, file.skipped)


@contextmanager
def opened(kind: Kind, stream: IO[bytes], name: str, options: Options) -> Iterator[_Batches]:
    """Give the record batches of a file; DataError with its name where it is damaged."""
    expected = f"expected {'a' if kind is kinds.PARQUET else 'an'} {kind.name} file"
    problem = f"{expected}, got another file, or a damaged one"
    with damage_named(name, problem), _native(stream, kind) as source:
        yield _OPENED[kind](source, stream, name, options)


def _of_parquet(source: Any, stream: IO[bytes], name: str, options: Options) -> _Batches:
    file = _parquet_file(source)
    schema, groups, skipped = file.schema_arrow, list(range(file.num_row_groups)), 0
    rows = [file.metadata.row_group(group).num_rows for group in groups]
    while groups and skipped + rows[groups[0]] <= options.after:
        skipped += rows[groups.pop(0)]
    while groups and options.get("stop") and sum(rows[: groups[-1]]) >= options.get("stop"):
        groups.pop()
    if groups and options.vector in schema.names:
        first = file.iter_batches(_FEW, row_groups=groups[:1], columns=[options.vector])
        _, options = _fitting(first, options)
    # one group after the other: of several, pyarrow keeps those that it has read
    size, columns = options.chunk_rows, _columns_read(schema, name, options)
    batches: Iterator[Any] = (
        batch
        for group in groups
        for batch in file.iter_batches(size, row_groups=[group], columns=columns)
    )
    options = _with_width(options, file.metadata.metadata, name)
    n = file.metadata.num_rows
    batches = _counted(batches, skipped, options.get("stop") or n, n, stream, name)
    return _Batches(schema, batches, options, skipped)


def _of_arrow(source: Any, stream: IO[bytes], name: str, options: Options) -> _Batches:
    ipc = pyarrow().ipc
    is_stream = source.read(len(_ARROW)) != _ARROW
    if is_stream:
        source.seek(0)
        file, n = ipc.open_stream(source), 0
        whole = _of_stream(file, source, name)
    else:
        file = ipc.open_file(source)
        n = file.num_record_batches
        whole = (file.get_batch(k) for k in range(n))
        if n:  # the last batch has the width, which is known when all is written
            last = file.get_batch_with_custom_metadata(n - 1)
            options = _with_width(options, last.custom_metadata, name)
    columns = _columns_read(file.schema, name, options)
    whole, options = _fitting(whole, options)
    size, rows = source.size(), options.chunk_rows

    def batches() -> Iterator[Any]:
        for k, batch in enumerate(whole):
            some = batch if columns is None else batch.select(columns)
            for first in range(0, batch.num_rows, rows):
                part = some.slice(first, rows)
                part.validate(full=True)  # in a damaged file, offsets may be anything
                read = k + min(1, (first + rows) / batch.num_rows)
                stream.seek(source.tell() if is_stream else int(size * read / n))
                yield part

    return _Batches(file.schema, batches(), options)


def _of_stream(reader: Any, source: Any, name: str) -> Iterator[Any]:
    """Yield the batches of a stream; DataError where it lacks its end, which no library checks."""
    while True:
        at = source.tell()
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            if source.tell() == at:
                problem = "expected the end of an Arrow stream, got none, as of a part of a file."
                raise DataError(name, f"{problem} Write the file again.") from None
            return
        yield batch


def _of_orc(source: Any, stream: IO[bytes], name: str, options: Options) -> _Batches:
    from pyarrow.dataset import OrcFileFormat
    from pyarrow.orc import ORCFile

    file = ORCFile(source)
    columns = _columns_read(file.schema, name, options)
    some = OrcFileFormat().make_fragment(source).to_batches(
        columns=columns, batch_size=min(options.chunk_rows, _ROWS), batch_readahead=0,
        fragment_readahead=0, use_threads=False,
    )  # fmt: skip
    batches, options = _fitting(iter(some), options)
    return _Batches(
        file.schema, _counted(batches, 0, file.nrows, file.nrows, stream, name), options
    )


_OPENED = {kinds.PARQUET: _of_parquet, kinds.ARROW: _of_arrow, kinds.ORC: _of_orc}


def _with_width(options: Options, metadata: Any, name: str) -> Options:
    """Return options with the number of features that the metadata of a file has, if any."""
    width = (metadata or {}).get(WIDTH, b"0")
    if not width.isdigit() or int(width) > LARGEST:
        problem = f"expected a number of features, got {width!r}."
        raise DataError(name, f"{problem} Write the file again.")
    return options.replace(width=options.width or int(width) or None)


def _fitting(batches: Iterator[Any], options: Options) -> tuple[Iterator[Any], Options]:
    """Return the batches, and options by which a chunk of their vectors is not too large."""
    first = next(batches, None)
    if first is None:
        return batches, options
    if options.vector in first.schema.names:
        vectors = first.column(options.vector)
        vectors = getattr(vectors, "storage", vectors)
        if is_vector(vectors.type):
            options = _within_memory(options, len(vectors.flatten()) // max(1, len(vectors)))
    return chain([first], batches), options


def cut(path: str, size: int) -> list[FilePart]:
    """Cut a file at the borders of row groups, into ranges of rows."""
    with damage_named(path, "expected a Parquet file, got another file, or a damaged one"):
        metadata = pyarrow().parquet.read_metadata(path)
        groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
        cuts, row, held = [metadata.num_rows], 0, 0
        for group in groups[:-1]:
            row, held = row + group.num_rows, held + group.total_byte_size
            if held >= size:
                cuts, held = [*cuts, row], 0
    return between(path, cuts)


@contextmanager
def _native(stream: IO[bytes], kind: Kind) -> Iterator[Any]:
    """Give a file that pyarrow reads by itself, while another thread holds the interpreter.

    A file of Arrow is mapped, since it may be a single batch that is larger than memory.
    """
    path, pa = getattr(stream, "name", None), pyarrow()
    if not isinstance(path, str):
        yield stream
        return
    with pa.memory_map(path) if kind is kinds.ARROW else pa.OSFile(path) as file:
        yield file


def _counted(
    batches: Iterable[Any], first: int, stop: int, rows: int, stream: IO[bytes], name: str
) -> Iterator[Any]:
    """Yield the batches; DataError where they do not end at row `stop`, which no library checks.

    The position of `stream` shows which share of all rows has been read.
    """
    done, size = first, stream.seek(0, 2)
    for batch in batches:
        done += batch.num_rows
        stream.seek(size * done // rows)
        yield batch
    if done != stop:
        problem = f"expected {stop - first:,} rows, got {done - first:,}. Write the file again."
        raise DataError(name, problem)


def _parquet_file(stream: Any) -> Any:
    """Return a Parquet file; of few columns, it does not read a whole row group at once."""
    parquet_file = pyarrow().parquet.ParquetFile
    metadata = parquet_file(stream, page_checksum_verification=True).metadata
    buffered = {"buffer_size": _BUFFER, "pre_buffer": False}
    more = buffered if metadata.num_columns <= _BUFFERS else {}
    return parquet_file(stream, metadata=metadata, page_checksum_verification=True, **more)


def read_table(table: Any, name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of a table that has `__arrow_c_stream__`."""
    with (
        damage_named(name, "expected a table that Arrow can read, got another one"),
        pyarrow().RecordBatchReader.from_stream(table) as reader,
    ):
        batches, options = _fitting(iter(reader), options)
        for chunk in _chunks(batches, reader.schema, name, options, 0):
            check_finite(chunk, name)
            yield chunk


def _within_memory(options: Options, width: int) -> Options:
    """Return options by which a chunk of so many features is not too large; 0 is unknown."""
    most = max(1, _CELLS // max(1, width))
    return options if options.chunk_rows <= most else options.replace(chunk_rows=most)


def _chunks(
    batches: Iterable[Any], schema: Any, name: str, options: Options, skipped: int
) -> Iterator[Chunk]:
    """Yield chunks of record batches, the first of which starts after row `skipped`."""
    label = label_column(schema.names, options, name)
    targets = target_columns(schema.names, options, name)
    if options.weight is not None:
        check_columns(schema.names, [options.weight], "weight", name)
    samples, columns = _samples_of(schema, label, name, options)
    rows = _within_memory(options, len(columns or ())).chunk_rows
    width, labels = options.width or 0, 0  # features, and columns of an indicator
    after = options.after
    for table in _tables(batches, rows, after - skipped):
        lines = range(after + 1, after + 1 + table.num_rows)
        after = lines.stop - 1
        y: Any = None
        with np.errstate(invalid="ignore"):  # a NaN, which is refused later, may signal
            X = samples(table, width, name, lines)
            if label is not None:
                y = labels_of(table, label, name, lines, labels)
            elif targets:
                y = np.column_stack(
                    [numbers(table, each, name, lines, OF_CLASSES) for each in targets]
                )
                y = as_targets(y, targets, name, lines)
            weight = None
            if options.weight is not None:
                weight = numbers(table, options.weight, name, lines)
        if options.text is None:
            width = X.shape[1]
        if sparse.issparse(y):
            labels = y.shape[1]
        del table  # the chunk may wait for long
        yield Chunk(X, y, lines, columns, weight=weight)


def _samples_of(
    schema: Any, label: str | None, name: str, options: Options
) -> tuple[Callable[..., Any], tuple[str, ...] | None]:
    """Return what makes samples of (table, width, name, lines), and the names of the features."""
    header, texts, types = schema.names, options.text, pyarrow().types
    if texts is not None:
        check_columns(header, texts, TEXT, name)
        return lambda table, width, *where: texts_of(table, texts, *where), None
    if options.vector is not None:
        vector = options.vector
        check_columns(header, [vector], "vector", name)
        return lambda table, width, *where: vectors(table, vector, width, *where), None
    if {INDICES, VALUES} <= set(header) and any(
        types.is_nested(schema.field(column).type) for column in (INDICES, VALUES)
    ):
        return sparse_samples, None
    index = _index_of(schema)
    present = [column for column in header if column not in index]
    columns = tuple(feature_columns(present, label, options, name))
    for column in columns:
        _refuse_spark_vector(schema, column, name)
        kind = schema.field(column).type
        if is_vector(kind):
            problem = f"column {column!r}: expected numbers, got {shown(kind)}."
            problem += f" Set `vector` to {column!r} to read each list as a sample."
            raise DataError(name, problem)
    is_exact = any(types.is_integer(schema.field(each).type) for each in columns)
    if options.table or (is_exact and options.get(EXACT)):
        cells = anything if options.table else exact_numbers
        return lambda table, width, *where: TableRows(
            {column: cells(table, column, *where) for column in columns}
        ), columns
    advice = (OF_TABLE, f" {OF_TABLE}") if options.get(MAY_BE_TABLE) else ()
    return lambda table, width, *where: np.column_stack(
        [numbers(table, column, *where, *advice) for column in columns]
    ), columns


def _refuse_spark_vector(schema: Any, column: str, name: str) -> None:
    """Raise where a column of a file holds vectors of Spark."""
    if is_spark_vector(schema.field(column).type):
        problem = f"column {column!r}: expected lists of numbers, got vectors of Spark."
        raise DataError(
            name,
            f"{problem} Write pyspark.ml.functions.vector_to_array({column!r}) in its place, or "
            "fit the DataFrame with narrows.spark.fit.",
        )


def _index_of(schema: Any) -> set[str]:
    """Return the columns that pandas made of an index, which are no features."""
    try:
        columns = (schema.pandas_metadata or {}).get("index_columns", ())
        return {column for column in columns if isinstance(column, str)}
    except (ValueError, TypeError, AttributeError):  # no metadata of pandas
        return set()


def _columns_read(schema: Any, name: str, options: Options) -> list[str] | None:
    """Return the columns to read of a file; None for all of them."""
    if options.text is None and options.vector is None:
        return None
    label = label_column(schema.names, options, name)
    targets = target_columns(schema.names, options, name)
    samples: Sequence[str] = options.text or ()
    if options.vector is not None:
        samples = [options.vector]
    check_columns(schema.names, samples, TEXT if options.text else "vector", name)
    if options.vector is not None:
        _refuse_spark_vector(schema, options.vector, name)
    return [column for column in (*samples, label, *targets) if column is not None]


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


# -- columns -------------------------------------------------------------------------------------


def pyarrow() -> Any:
    """Return the library, which takes long to import."""
    import pyarrow
    import pyarrow.parquet

    return pyarrow


def sparse_samples(table: Any, width: int, name: str, lines: range) -> sparse.csr_array:
    """Return the lists `indices` and `values`, of at least `width` features."""
    indices, indptr, top = _indices(table, INDICES, LARGEST, name, lines)
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
    small = np.int32 if indptr[-1] <= LARGEST else np.int64
    return indices.astype(np.int32), indptr.astype(small), top + 1


def _lists(table: Any, column: str, name: str, lines: range) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of the lists, and their entries one after another."""
    array = _column(table, column)
    if not _is_list(array.type):
        raise DataError(name, f"column {column!r}: expected lists, got {shown(array.type)}.")
    _refuse_nulls(array, column, name, lines)
    flat = array.flatten()
    if flat.null_count:
        raise DataError(name, f"column {column!r}: expected lists without nulls, got a null.")
    with damage_named(name, f"column {column!r}: expected readable values, got others"):
        return array.value_lengths().to_numpy(), flat.to_numpy(zero_copy_only=False)


def _column(table: Any, column: str) -> Any:
    """Return a column as one array; combining a single chunk would copy it."""
    parts = table.column(column)
    return parts.chunk(0) if parts.num_chunks == 1 else parts.combine_chunks()


def shown(kind: Any) -> str:
    """Return a type on one line: the names of its fields may hold anything."""
    return repr(str(kind))[1:-1]


def _is_list(kind: Any) -> bool:
    types = pyarrow().types
    return types.is_list(kind) or types.is_large_list(kind)


def _refuse_nulls(array: Any, column: str, name: str, lines: range, advice: str = "") -> None:
    in_dictionary = pyarrow().types.is_dictionary(array.type) and array.dictionary.null_count
    if array.null_count or in_dictionary:
        nulls = [value is None for value in array.to_pylist()]
        if any(nulls):
            problem = f"column {column!r}: expected no nulls, got one.{advice}"
            raise DataError(name, problem, lines[nulls.index(True)])


def numbers(
    table: Any,
    column: str,
    name: str,
    lines: range,
    of_texts: str = "Set `text` to read texts.",
    of_nulls: str = "",
) -> np.ndarray:
    """Return a column of numbers; they are float32 where it is, else float64."""
    array = _column(table, column)
    types = pyarrow().types
    kind = array.type
    if not (_is_number(types, kind) or types.is_boolean(kind)):
        advice = f" {of_texts}" * _is_string(kind)
        raise DataError(name, f"column {column!r}: expected numbers, got {shown(kind)}.{advice}")
    _refuse_nulls(array, column, name, lines, of_nulls)
    values = array.to_numpy(zero_copy_only=False)
    return values if values.dtype == np.float32 else values.astype(np.float64, copy=False)


def exact_numbers(table: Any, column: str, name: str, lines: range) -> np.ndarray:
    """Return a column of finite numbers, in its own type if they are integers."""
    found = numbers(table, column, name, lines)
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        raise DataError(name, "expected finite values, got NaN or infinity.", lines[wrong[0]])
    array = _column(table, column)
    is_integer = pyarrow().types.is_integer(array.type)
    return array.to_numpy(zero_copy_only=False) if is_integer else found


def anything(table: Any, column: str, name: str, lines: range) -> np.ndarray:
    """Return a column of a table: float64 of which NaN is missing, dates, booleans, or strings.

    Strings are objects, and so are booleans where some are missing, which is None, and integers
    where one is so large that floats would round it.
    """
    array, pa = _column(table, column), pyarrow()
    types, kind = pa.types, array.type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_null(kind):
        return np.full(len(array), None, dtype=object)
    if _is_string(kind):
        return np.array(_strings(array, column, name, lines), dtype=object)
    is_date = types.is_date(kind) or types.is_timestamp(kind)
    if types.is_boolean(kind):
        return np.array(array.to_pylist(), dtype=object if array.null_count else bool)
    if not (is_date or types.is_decimal(kind) or _is_number(types, kind)):
        problem = f"column {column!r}: expected numbers, dates or strings, got {shown(kind)}."
        raise DataError(name, f"{problem} Write the file without it.")
    cells = array.cast(pa.timestamp("us") if is_date else pa.float64(), safe=False)
    found: np.ndarray = cells.to_numpy(zero_copy_only=False)
    is_exact = is_date or types.is_floating(kind) or not beyond_floats(found)
    return found if is_exact else as_objects(array)


def _is_number(types: Any, kind: Any) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind))


def vectors(table: Any, column: str, width: int, name: str, lines: range) -> Any:
    """Return lists of numbers, or vectors of a Spark DataFrame, as samples.

    They have `width` features, unless that is 0.

    Lists of float32 and float64 are the memory of Arrow, which cannot be written to. Others become
    float32, or float64 for integers of more than 16 bits.
    """
    array = _column(table, column)
    if isinstance(array.type, pyarrow().BaseExtensionType):
        array = array.storage
    is_of_spark = is_spark_vector(array.type)
    if not (is_of_spark or is_vector(array.type)):
        problem = f"column {column!r}: expected lists of numbers, got {shown(array.type)}."
        raise DataError(name, problem)
    if array.null_count:
        k = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise DataError(name, f"column {column!r}: expected a vector, got a null.", lines[k])
    if is_of_spark:
        return spark_vectors(array, column, width, name, lines)
    flat, n = array.flatten(), len(array)
    if pyarrow().types.is_fixed_size_list(array.type):
        found, odd = array.type.list_size, None
    else:
        counts = array.value_lengths().to_numpy()
        found = width or int(counts[0])
        odd = int(np.argmax(counts != found)) if (counts != found).any() else None
    if odd is not None or (width and found != width) or not found:
        expected, got = (width or found or "several"), (found if odd is None else counts[odd])
        problem = f"column {column!r}: expected vectors of {expected} numbers, got {got}."
        raise DataError(name, problem, lines[odd or 0])
    if flat.null_count:
        k = int(np.argmax(flat.is_null().to_numpy(zero_copy_only=False))) // found
        problem = f"column {column!r}: expected vectors without nulls, got a null."
        raise DataError(name, problem, lines[k])
    values = flat.to_numpy(zero_copy_only=False).reshape(n, found)
    is_single = values.dtype.itemsize <= (2 if values.dtype.kind in "biu" else 4)
    return values.astype(np.float32 if is_single else np.float64, copy=False)


def is_vector(kind: Any) -> bool:
    """Whether a column of this type holds lists of numbers."""
    if isinstance(kind, pyarrow().BaseExtensionType):
        kind = kind.storage_type
    types = pyarrow().types
    are_lists = _is_list(kind) or types.is_fixed_size_list(kind)
    return are_lists and (_is_number(types, kind.value_type) or types.is_boolean(kind.value_type))


def texts_of(table: Any, columns: Sequence[str], name: str, lines: range) -> list[str]:
    """Return the texts of each row, joined by a newline."""
    texts = []
    for column in columns:
        array = _column(table, column)
        types, kind = pyarrow().types, array.type
        if not _is_string(kind.value_type if types.is_dictionary(kind) else kind):
            raise DataError(name, f"column {column!r}: expected texts, got {shown(kind)}.")
        _refuse_nulls(array, column, name, lines)
        texts.append(_strings(array, column, name, lines))
    return texts[0] if len(texts) == 1 else ["\n".join(row) for row in zip(*texts, strict=True)]


def _is_string(kind: Any) -> bool:
    types = pyarrow().types
    found = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(found)


def _strings(array: Any, column: str, name: str, lines: range) -> list[str]:
    """Return an array of strings as a list; DataError with the row of one that is not UTF-8."""
    with damage_named(name, f"column {column!r}: expected readable values, got others"):
        try:
            return list(array.to_pylist())
        except UnicodeDecodeError:
            for line, value in zip(lines, array, strict=True):
                try:
                    value.as_py()
                except UnicodeDecodeError as error:
                    problem = f"column {column!r}: expected UTF-8, got other bytes: {error}."
                    raise DataError(name, problem, line) from None
            raise


def labels_of(table: Any, label: str, name: str, lines: range, width: int) -> Any:
    """Return the cells of labels, or an indicator matrix of at least `width` columns for lists."""
    types = pyarrow().types
    if _is_list(table.schema.field(label).type):
        indices, indptr, n_classes = _indices(table, label, CLASSES, name, lines)
        return indicator(indices, indptr, max(width, n_classes))
    array = _column(table, label)
    _refuse_nulls(array, label, name, lines)
    kind = array.type.value_type if types.is_dictionary(array.type) else array.type
    if types.is_decimal(kind):
        return [int(x) if x == int(x) else float(x) for x in array.to_pylist()]
    if types.is_integer(kind) or types.is_boolean(kind):
        return np.array(array if kind == array.type else array.to_pylist(), kind.to_pandas_dtype())
    if types.is_floating(kind):
        return numbers(table, label, name, lines)
    if _is_string(kind):
        return _strings(array, label, name, lines)
    raise DataError(name, f"{label!r}: expected text or integers, got {shown(kind)}.")


# -- vectors of a DataFrame of Spark: each one sparse, or dense ----------------------------------


def is_spark_vector(kind: Any) -> bool:
    """Whether a type of Arrow is that of a column of vectors of Spark."""
    n = getattr(kind, "num_fields", 0)
    return n == len(FIELDS) and tuple(kind.field(k).name for k in range(n)) == FIELDS


def spark_vectors(array: Any, column: str, width: int, name: str, lines: range) -> Any:
    """Return vectors, as Spark checked them, as samples of `width` features unless it is 0.

    Dense ones give a dense array; a sparse one among them, a CSR array.
    """
    kinds, sizes, indices, values = (array.field(k) for k in range(len(FIELDS)))
    dense, counts = kinds.to_numpy() == DENSE, values.value_lengths().to_numpy()
    found = np.where(dense, counts, sizes.fill_null(0).to_numpy())
    width = width or int(found[0])
    if (found != width).any():
        k = int(np.argmax(found != width))
        problem = f"column {column!r}: expected vectors of {width} numbers, got {found[k]}."
        raise DataError(name, problem, lines[k])
    numbers = values.flatten().to_numpy()
    if dense.all():
        return numbers.reshape(len(array), width)
    of_dense, ends = np.repeat(dense, counts), np.append(0, np.cumsum(counts))
    columns = np.empty(len(numbers), np.int32)
    columns[of_dense] = np.tile(np.arange(width, dtype=np.int32), int(dense.sum()))
    columns[~of_dense] = indices.flatten().to_numpy()
    # a copy, since the arrays of Arrow cannot be written to, as SciPy does to sort a row
    samples = sparse.csr_array((numbers.copy(), columns, ends), (len(array), width))
    samples.check_format()
    samples.eliminate_zeros()
    return samples


# -- writing -------------------------------------------------------------------------------------


class _Writer(Writer):
    """Writes labels or targets, and `indices` and `values` of sparse samples, or their features.

    LZ4, and entries that the schema declares never null, take 0.7 of the default's decoding time.
    """

    typed = by_column = True

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None):
        super().__init__(stream, names)
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
            columns |= dict(zip(features, X.T, strict=True))
        if y is not None:
            if sparse.issparse(y):
                y = sparse.csr_array(y)
                columns[label_name(features)] = pa.ListArray.from_arrays(
                    y.indptr.astype(np.int32), y.indices.astype(np.int64)
                )
            else:
                of_y = zip(self.of_labels(y, features), y.reshape(len(y), -1).T, strict=True)
                columns |= {label: pa.array(values) for label, values in of_y}
        table = pa.table(columns)
        if self.file is None:
            self.file = self.start(table.schema)
        with self._failing_once():
            self.file.write(table)

    def finish(self) -> None:
        if self.file is not None:
            with self._failing_once():
                self.end()
        self.sink.close()

    def start(self, schema: Any) -> Any:
        """Return what writes tables to a new file."""
        return pyarrow().parquet.ParquetWriter(self.sink, schema, compression="lz4")

    def end(self) -> None:
        """Write what is known when all samples are written: their width."""
        if self.width:
            self.file.add_key_value_metadata({WIDTH: str(self.width).encode()})
        self.file.close()

    @contextmanager
    def _failing_once(self) -> Iterator[None]:
        """Keep pyarrow from writing again, when it frees the file, what could not be written."""
        try:
            yield
        except BaseException:
            if hasattr(self.file, "is_open"):  # of Parquet
                self.file.is_open = False
            raise


class _WriterOfArrow(_Writer):
    def start(self, schema: Any) -> Any:
        self.schema, ipc = schema, pyarrow().ipc
        return ipc.new_file(self.sink, schema, options=ipc.IpcWriteOptions(compression="lz4"))

    def end(self) -> None:
        if self.width:
            last = pyarrow().RecordBatch.from_pylist([], self.schema)
            self.file.write_batch(last, {WIDTH: str(self.width).encode()})
        self.file.close()


class _WriterOfOrc(_Writer):
    def write(self, X: Any, y: Any) -> None:
        if sparse.issparse(X):
            problem = "ORC files: expected dense samples, got sparse ones, whose number of features"
            raise ParameterError(f"{problem} the format does not keep. Write to .parquet instead.")
        try:
            super().write(X, y)
        except pyarrow().ArrowNotImplementedError as error:  # unsigned integers, float16
            problem = f"ORC files: expected types of numbers that these have, got another: {error}."
            raise ParameterError(f"{problem} Write to .parquet instead.") from None

    def start(self, schema: Any) -> Any:
        from pyarrow.orc import ORCWriter

        return ORCWriter(self.sink, compression="lz4")

    def end(self) -> None:
        self.file.close()


FORMAT = Format(
    kinds.PARQUET, read, _Writer,
    cut=cut, may_widen=True,
)  # fmt: skip
ARROW = replace(
    FORMAT, kind=kinds.ARROW, read=partial(read, kind=kinds.ARROW), writer=_WriterOfArrow, cut=None
)
ORC = replace(
    FORMAT, kind=kinds.ORC, read=partial(read, kind=kinds.ORC), writer=_WriterOfOrc, cut=None
)  # fmt: skip
