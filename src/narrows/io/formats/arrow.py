"""Parquet, Arrow and ORC files, and tables of any library that exports them as Arrow streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import IO, Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError
from narrows.io import kinds
from narrows.io.chunk import Chunk, Options, check_finite
from narrows.io.formats.base import Format, Writer, as_int32, column_names, damage_named, label_name
from narrows.io.formats.columns import INDICES, LARGEST, VALUES, Columns, Piece, pyarrow
from narrows.io.kinds import Kind
from narrows.io.parts import FilePart, between

WIDTH = (
    b"narrows.width"  # in the metadata of a file or its last batch: n_features of sparse samples
)
_ARROW = b"ARROW1"  # that files of Arrow begin with, and streams do not
_ROWS = 1000  # of ORC that are read at a time, at most
_FEW = 10  # rows of Parquet that show how long vectors are
_BUFFER = 1 << 20  # bytes of a column that are read at a time
_BUFFERS = 64  # at most


def _parquet() -> Any:
    import pyarrow.parquet

    return pyarrow.parquet


def read(
    stream: IO[bytes], name: str, options: Options, kind: Kind = kinds.PARQUET
) -> Iterator[Chunk]:
    """Yield chunks of a file, whatever its record batches are."""
    with opened(kind, stream, name, options) as (columns, pieces):
        yield from columns.chunks(pieces)


@contextmanager
def opened(
    kind: Kind, stream: IO[bytes], name: str, options: Options
) -> Iterator[tuple[Columns, Iterator[Piece]]]:
    """Give the columns of a file, and its record batches with the numbers of their rows.

    DataError with its name where it is damaged.
    """
    expected = f"expected {'a' if kind is kinds.PARQUET else 'an'} {kind.name} file"
    problem = f"{expected}, got another file, or a damaged one"
    with damage_named(name, problem), _native(stream, kind) as source:
        columns, batches, skipped = _OPENED[kind](source, stream, name, options)
        yield columns, _numbered(batches, skipped, options.after)


def _numbered(batches: Iterable[Any], done: int, after: int) -> Iterator[Piece]:
    """Yield the rows behind number `after`, of batches the first of which is behind `done`."""
    for batch in batches:
        first, done = max(done, after), done + batch.num_rows
        if first < done:
            yield range(first + 1, done + 1), batch.slice(batch.num_rows - (done - first))


# what opens a file returns its columns, its batches, and the number of rows that it left out
_Opened = tuple[Columns, Iterator[Any], int]


def _of_parquet(source: Any, stream: IO[bytes], name: str, options: Options) -> _Opened:
    file = _parquet_file(source)
    metadata, groups, skipped = file.metadata, list(range(file.num_row_groups)), 0
    rows, stop = [metadata.row_group(k).num_rows for k in groups], options.get("stop")
    while groups and skipped + rows[groups[0]] <= options.after:
        skipped += rows[groups.pop(0)]
    while groups and stop and sum(rows[: groups[-1]]) >= stop:
        groups.pop()
    schema = file.schema_arrow
    columns = Columns(schema.names, _with_width(options, metadata.metadata, name), name, schema)
    if groups and options.vector is not None:
        columns.fitting(file.iter_batches(_FEW, row_groups=groups[:1], columns=columns.read))
    # one group after the other: of several, pyarrow keeps those that it has read
    batches = (
        batch
        for group in groups
        for batch in file.iter_batches(columns.rows, row_groups=[group], columns=columns.read)
    )
    n = metadata.num_rows
    return columns, _counted(batches, skipped, stop or n, n, stream, name), skipped


def _of_arrow(source: Any, stream: IO[bytes], name: str, options: Options) -> _Opened:
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
    columns, size = Columns(file.schema.names, options, name, file.schema), source.size()
    whole = columns.fitting(whole)

    def batches() -> Iterator[Any]:
        for k, batch in enumerate(whole):
            some = batch.select(columns.read)
            some.validate()  # a slice would count missing values again
            for first in range(0, batch.num_rows, columns.rows):
                part = some.slice(first, columns.rows)
                part.validate(full=True)  # in a damaged file, offsets may be anything
                read = k + min(1, (first + columns.rows) / batch.num_rows)
                stream.seek(source.tell() if is_stream else int(size * read / n))
                yield part

    return columns, batches(), 0


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


def _of_orc(source: Any, stream: IO[bytes], name: str, options: Options) -> _Opened:
    from pyarrow.dataset import OrcFileFormat
    from pyarrow.orc import ORCFile

    file = ORCFile(source)
    columns = Columns(file.schema.names, options, name, file.schema)
    some = OrcFileFormat().make_fragment(source).to_batches(
        columns=columns.read, batch_size=min(options.chunk_rows, _ROWS), batch_readahead=0,
        fragment_readahead=0, use_threads=False,
    )  # fmt: skip
    batches = columns.fitting(iter(some))
    return columns, _counted(batches, 0, file.nrows, file.nrows, stream, name), 0


_OPENED = {kinds.PARQUET: _of_parquet, kinds.ARROW: _of_arrow, kinds.ORC: _of_orc}


def _with_width(options: Options, metadata: Any, name: str) -> Options:
    """Return options with the number of features that the metadata of a file has, if any."""
    width = (metadata or {}).get(WIDTH, b"0")
    if not width.isdigit() or int(width) > LARGEST:
        problem = f"expected a number of features, got {width!r}."
        raise DataError(name, f"{problem} Write the file again.")
    return options.replace(width=options.width or int(width) or None)


def cut(path: str, size: int) -> list[FilePart]:
    """Cut a file at the borders of row groups, into ranges of rows."""
    with damage_named(path, "expected a Parquet file, got another file, or a damaged one"):
        metadata = _parquet().read_metadata(path)
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
    parquet_file = _parquet().ParquetFile
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
        columns = Columns(reader.schema.names, options, name, reader.schema)
        batches = columns.fitting(iter(reader))
        for chunk in columns.chunks(_numbered(batches, 0, options.after)):
            check_finite(chunk, name)
            yield chunk


# -- writing -------------------------------------------------------------------------------------


class _Writer(Writer):
    """Writes labels or targets, and `indices` and `values` of sparse samples, or their features.

    LZ4, and entries that the schema declares never null, take 0.7 of the default's decoding time.
    """

    typed = True

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
        return _parquet().ParquetWriter(self.sink, schema, compression="lz4")

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
