"""Chunks of the columns of record batches: features, labels, targets, texts, vectors, weights.

A sample is one number in each column, its lists `indices` and `values`, or what the columns hold
that options name: texts, or a list of numbers. `label` or `class` holds text, an integer, or a list
of the numbers of its classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError
from narrows.io.chunk import (
    CLASSES,
    OF_CLASSES,
    OF_FEATURES,
    TEXT,
    Chunk,
    Options,
    as_targets,
    check_columns,
    feature_columns,
    indicator,
    label_column,
    row_of,
    target_columns,
)
from narrows.io.formats.base import damage_named
from narrows.io.table_rows import TableRows
from narrows.moments.labels import is_integer
from narrows.solve.arrays import as_objects, beyond_floats

INDICES, VALUES = "indices", "values"
LARGEST = np.iinfo(np.int32).max  # n_features of sparse samples
_CELLS = 4_000_000  # of dense samples in a chunk, at most
FIELDS = ("type", "size", "indices", "values")
# what `type` of a vector of Spark holds; a dense vector has neither size nor indices
SPARSE, DENSE = 0, 1

# the lines or rows of a file, and their cells: a table or a record batch
Piece = tuple[Sequence[int] | np.ndarray, Any]


def pyarrow() -> Any:
    """Return the library, which takes long to import."""
    import pyarrow

    return pyarrow


class Columns:
    """What the columns of a file hold, and the chunks of its record batches.

    Parameters
    ----------
    header : sequence of str
        The names of the columns.
    options : Options
        How to read them.
    name : str
        The file, for errors.
    schema : Schema, optional
        The types of the columns; without it, cells are text, of which labels may be integers.
    line : int, optional
        The line of the header.

    Attributes
    ----------
    label : str or None
        The column of the labels.
    features : tuple of str or None
        The names of the features.
    read, numbers : list of str
        The columns to read, and those that hold numbers.
    rows : int
        The number of rows of a chunk.
    """

    def __init__(
        self, header: Sequence[str], options: Options, name: str,
        schema: Any = None, line: int | None = None,
    ):  # fmt: skip
        self.options, self.name, self._schema = options, name, schema
        self.label = label_column(header, options, name, line)
        self.targets = target_columns(header, options, name, line)
        weight = [] if options.weight is None else [options.weight]
        check_columns(header, weight, "weight", name, line)
        self.features: tuple[str, ...] | None = None
        samples: Sequence[str]
        if options.text is not None or options.vector is not None:
            samples, what = options.text or (str(options.vector),), TEXT
            check_columns(header, samples, what if options.text else "vector", name, line)
        elif self._has_lists(header):
            samples = INDICES, VALUES
        else:
            index = _index_of(schema)
            present = [column for column in header if column not in index]
            samples = feature_columns(present, self.label, options, name, line)
            self.features = tuple(samples)
        if options.table and self.features is None and options.text is None:
            problem = "expected the columns of a table, got samples as lists."
            raise DataError(name, f"{problem} Leave out the options of tables.", line)
        hold_numbers = self.features is not None and not options.table
        self.numbers = [*(samples if hold_numbers else ()), *self.targets, *weight]
        label = [] if self.label is None else [self.label]
        self.read = [*dict.fromkeys((*samples, *label, *self.targets, *weight))]
        cells = _CELLS // 4 if options.table else _CELLS  # objects take more room
        self.rows = max(1, min(options.chunk_rows, cells // len(samples)))
        self._width, self._n_classes = options.width or 0, 0

    def _has_lists(self, header: Sequence[str]) -> bool:
        """Whether samples are lists of indices and values."""
        return (
            self._schema is not None
            and {INDICES, VALUES} <= set(header)
            and any(
                pyarrow().types.is_nested(self._schema.field(k).type) for k in (INDICES, VALUES)
            )
        )

    def fitting(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Return the batches; a chunk of their vectors is not too large from now on."""
        first = next(batches, None)
        if first is not None and self.options.vector is not None:
            vectors = column_of(first, self.options.vector)
            vectors = getattr(vectors, "storage", vectors)
            if is_vector(vectors.type) and len(vectors):
                width = len(vectors.flatten()) // len(vectors)
                self.rows = max(1, min(self.rows, _CELLS // max(1, width)))
        return batches if first is None else chain([first], batches)

    def chunks(self, pieces: Iterable[Piece]) -> Iterator[Chunk]:
        """Yield chunks of so many rows each, the last one of the rest."""
        held: list[Piece] = []
        have = 0
        for lines, batch in pieces:
            while batch is not None and batch.num_rows:
                most = self.rows - have
                held.append((lines[:most], batch.slice(0, most)))
                have += held[-1][1].num_rows
                lines, batch = lines[most:], batch.slice(most) if batch.num_rows > most else None
                if have == self.rows:
                    some = _together(held)
                    held, have = [], 0
                    chunk = self.chunk(*some)
                    del some  # the chunk may wait for long
                    yield chunk
        if held:
            yield self.chunk(*_together(held))

    def chunk(self, lines: Any, table: Any) -> Chunk:
        """Return the samples of some rows, with their labels or targets."""
        y = weight = None
        with np.errstate(invalid="ignore"):  # a NaN, which is refused later, may signal
            X = self._samples(table, lines)
            if self.label is not None:
                y = self._labels(table, lines)
            elif self.targets:
                columns = [self._numbers(table, each, lines, OF_CLASSES) for each in self.targets]
                y = as_targets(np.column_stack(columns), self.targets, self.name, lines)
            if self.options.weight is not None:
                weight = self._numbers(table, self.options.weight, lines)
        return Chunk(X, y, lines, self.features, weight=weight, label=self.label)

    def _samples(self, table: Any, lines: Any) -> Any:
        options = self.options
        if options.text is not None:
            texts = [self._texts(table, column, lines) for column in options.text]
            return texts[0] if len(texts) == 1 else [*map("\n".join, zip(*texts, strict=True))]
        if self.features is None:
            if options.vector is None:
                X = self._lists_of_samples(table, lines)
            else:
                X = self._vectors(table, options.vector, lines)
            self._width = X.shape[1]
            return X
        if options.table:
            return TableRows(
                {column: self._cells(table, column, lines) for column in self.features}
            )
        return np.column_stack([self._numbers(table, each, lines) for each in self.features])

    def _refuse(self, column: str, problem: str, lines: Any = (), wrong: Any = None) -> None:
        """Raise DataError at the first row that is `wrong`, if any is; without it, always."""
        line = None
        if wrong is not None:
            if not np.any(wrong):
                return
            line = int(lines[int(np.argmax(wrong))])
        raise DataError(self.name, f"column {column!r}: expected {problem}", line)

    def _refuse_nulls(self, array: Any, column: str, lines: Any, advice: str = "") -> None:
        in_dictionary = pyarrow().types.is_dictionary(array.type) and array.dictionary.null_count
        if array.null_count or in_dictionary:
            nulls = [value is None for value in array.to_pylist()]
            self._refuse(column, f"no nulls, got one. {advice}".strip(), lines, nulls)

    def _numbers(self, table: Any, column: str, lines: Any, of: str = OF_FEATURES) -> np.ndarray:
        """Return a column of numbers; they are float32 where it is, else float64."""
        array = column_of(table, column)
        kind = array.type
        if not (_is_number(kind) or pyarrow().types.is_boolean(kind)):
            self._refuse(column, f"numbers, got {shown(kind)}. {of}")
        self._refuse_nulls(array, column, lines, of)
        # of others, pyarrow makes arrays by way of pandas, which takes long to import
        values: np.ndarray = np.from_dlpack(array) if _is_number(kind) else array.to_numpy(False)
        return values if values.dtype == np.float32 else values.astype(np.float64, copy=False)

    def _cells(self, table: Any, column: str, lines: Any) -> np.ndarray:
        """Return a column of a table: float64 of which NaN is missing, dates, booleans, or strings.

        Strings are objects, and so are booleans where some are missing, which is None, and integers
        where one is so large that floats would round it.
        """
        array, pa = column_of(table, column), pyarrow()
        types, kind = pa.types, _value_type(array)
        if types.is_null(kind):
            return np.full(len(array), None, dtype=object)
        if _is_string(kind):
            return np.array(self._strings(array, column, lines), dtype=object)
        if types.is_boolean(kind):
            return np.array(array.to_pylist(), dtype=object if array.null_count else bool)
        is_date = types.is_date(kind) or types.is_timestamp(kind)
        if not (is_date or types.is_decimal(kind) or _is_number(kind)):
            self._refuse(column, f"numbers, dates or strings, got {shown(kind)}. Leave it out.")
        cells = array.cast(pa.timestamp("us") if is_date else pa.float64(), safe=False)
        found: np.ndarray = cells.to_numpy(zero_copy_only=False)
        is_exact = is_date or types.is_floating(kind) or not beyond_floats(found)
        return found if is_exact else as_objects(array)

    def _texts(self, table: Any, column: str, lines: Any) -> list[str]:
        array = column_of(table, column)
        if not _is_string(_value_type(array)):
            self._refuse(column, f"texts, got {shown(array.type)}.")
        self._refuse_nulls(array, column, lines)
        return self._strings(array, column, lines)

    def _strings(self, array: Any, column: str, lines: Any) -> list[str]:
        """Return strings as a list; DataError with the row of one that is not UTF-8."""
        with damage_named(self.name, f"column {column!r}: expected readable values, got others"):
            try:
                return list(array.to_pylist())
            except UnicodeDecodeError:
                for line, value in zip(lines, array, strict=True):
                    try:
                        value.as_py()
                    except UnicodeDecodeError as error:
                        self._refuse(column, f"UTF-8, got other bytes: {error}.", [line], [True])
                raise

    def _labels(self, table: Any, lines: Any) -> Any:
        """Return the cells of labels, or an indicator matrix for lists."""
        types, label = pyarrow().types, str(self.label)
        array = column_of(table, label)
        if _is_list(array.type):
            indices, indptr, n_classes = self._indices(array, label, CLASSES, lines)
            self._n_classes = max(self._n_classes, n_classes)
            return indicator(indices, indptr, self._n_classes)
        self._refuse_nulls(array, label, lines)
        kind = _value_type(array)
        if types.is_decimal(kind):
            return [int(x) if x == int(x) else float(x) for x in array.to_pylist()]
        if types.is_integer(kind) or types.is_boolean(kind):
            cells = array if kind == array.type else array.to_pylist()
            return np.array(cells, kind.to_pandas_dtype())
        if types.is_floating(kind):
            return self._numbers(table, label, lines)
        if not _is_string(kind):
            self._refuse(label, f"text or integers, got {shown(kind)}.")
        found = self._strings(array, label, lines)
        if self._schema is not None:
            return found
        read = {cell: int(cell) if is_integer(cell) else cell or None for cell in set(found)}
        return [read[cell] for cell in found]

    def _lists_of_samples(self, table: Any, lines: Any) -> sparse.csr_array:
        """Return the lists `indices` and `values`, at least as wide as those before."""
        indices, indptr, top = self._indices(column_of(table, INDICES), INDICES, LARGEST, lines)
        counts, values = self._lists(column_of(table, VALUES), VALUES, lines)
        problem = f"as many as {INDICES!r} has, got more or less."
        self._refuse(VALUES, problem, lines, counts != np.diff(indptr))
        if values.dtype.kind not in "biuf":
            self._refuse(VALUES, f"lists of numbers, got {values.dtype}.")
        # always a copy: the arrays of Arrow cannot be written to, as scipy does to sort a row
        values = values.astype(np.float32 if values.dtype == np.float32 else np.float64)
        return sparse.csr_array((values, indices, indptr), (len(counts), max(self._width, top)))

    def _indices(
        self, array: Any, column: str, most: int, lines: Any
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Return lists of integers under `most` as `indices` and `indptr` of CSR; and the width."""
        counts, indices = self._lists(array, column, lines)
        expected = f"lists of integers from 0 to {most - 1}, got"
        if indices.dtype.kind not in "iu":
            self._refuse(column, f"{expected} {indices.dtype}.")
        indptr = np.append(0, np.cumsum(counts))
        top, low = (int(indices.max()), int(indices.min())) if len(indices) else (-1, 0)
        if low < 0 or top >= most:
            k = int(np.flatnonzero((indices < 0) | (indices >= most))[0])
            self._refuse(column, f"{expected} {indices[k]}.", [lines[row_of(k, indptr)]], [True])
        # scipy keeps both in one type, so that a large one would double the memory of the other
        small = np.int32 if indptr[-1] <= LARGEST else np.int64
        return indices.astype(np.int32), indptr.astype(small), top + 1

    def _lists(self, array: Any, column: str, lines: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the lengths of the lists, and their entries one after another."""
        if not _is_list(array.type):
            self._refuse(column, f"lists, got {shown(array.type)}.")
        self._refuse_nulls(array, column, lines)
        flat = array.flatten()
        if flat.null_count:
            self._refuse(column, "lists without nulls, got a null.")
        with damage_named(self.name, f"column {column!r}: expected readable values, got others"):
            return array.value_lengths().to_numpy(), flat.to_numpy(zero_copy_only=False)

    def _vectors(self, table: Any, column: str, lines: Any) -> Any:
        """Return lists of numbers, or vectors of a Spark DataFrame, as samples of one width.

        Lists of float32 and float64 are the memory of Arrow, which cannot be written to. Others
        become float32, or float64 for integers of more than 16 bits.
        """
        array, width = column_of(table, column), self._width
        if isinstance(array.type, pyarrow().BaseExtensionType):
            array = array.storage
        of_spark = is_spark_vector(array.type)
        if not (of_spark or is_vector(array.type)):
            self._refuse(column, f"lists of numbers, got {shown(array.type)}.")
        if array.null_count:
            nulls = array.is_null().to_numpy(zero_copy_only=False)
            self._refuse(column, "a vector, got a null.", lines, nulls)
        if of_spark:
            is_dense = array.field(0).to_numpy() == DENSE
            counts = array.field(3).value_lengths().to_numpy()
            sizes = np.where(is_dense, counts, array.field(1).fill_null(0).to_numpy())
        elif pyarrow().types.is_fixed_size_list(array.type):
            sizes = np.full(len(array), array.type.list_size)
        else:
            sizes = array.value_lengths().to_numpy()
        width = width or int(sizes[0])
        odd = (sizes != width) | (sizes == 0)
        got = sizes[int(np.argmax(odd))]
        expected = f"vectors of {width or 'several'} numbers, got {got}."
        self._refuse(column, expected, lines, odd)
        if of_spark:
            return _spark_vectors(array, is_dense, counts, width)
        flat = array.flatten()
        if flat.null_count:
            nulls = flat.is_null().to_numpy(zero_copy_only=False).reshape(-1, width).any(axis=1)
            self._refuse(column, "vectors without nulls, got a null.", lines, nulls)
        values: np.ndarray = flat.to_numpy(zero_copy_only=False).reshape(-1, width)
        is_single = values.dtype.itemsize <= (2 if values.dtype.kind in "biu" else 4)
        return values.astype(np.float32 if is_single else np.float64, copy=False)


def _together(pieces: Sequence[Piece]) -> Piece:
    """Return consecutive rows as one table."""
    lines, batches = zip(*pieces, strict=True)
    if isinstance(lines[0], range):
        return range(lines[0].start, lines[-1].stop), pyarrow().Table.from_batches(batches)
    return np.concatenate(lines).tolist(), pyarrow().Table.from_batches(batches)


def _index_of(schema: Any) -> set[str]:
    """Return the columns that pandas made of an index, which are no features."""
    try:
        columns = (schema.pandas_metadata or {}).get("index_columns", ())
        return {column for column in columns if isinstance(column, str)}
    except (ValueError, TypeError, AttributeError):  # no metadata of pandas
        return set()


def column_of(table: Any, column: str) -> Any:
    """Return a column as one array; combining a single chunk would copy it."""
    found = table.column(column)
    if not hasattr(found, "num_chunks"):  # of a record batch
        return found
    return found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()


def shown(kind: Any) -> str:
    """Return a type on one line: the names of its fields may hold anything."""
    return repr(str(kind))[1:-1]


def _value_type(array: Any) -> Any:
    kind = array.type
    return kind.value_type if pyarrow().types.is_dictionary(kind) else kind


def _is_list(kind: Any) -> bool:
    types = pyarrow().types
    return types.is_list(kind) or types.is_large_list(kind)


def _is_number(kind: Any) -> bool:
    types = pyarrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind))


def _is_string(kind: Any) -> bool:
    types = pyarrow().types
    found = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(found)


def is_vector(kind: Any) -> bool:
    """Whether a column of this type holds lists of numbers."""
    if isinstance(kind, pyarrow().BaseExtensionType):
        kind = kind.storage_type
    types = pyarrow().types
    are_lists = _is_list(kind) or types.is_fixed_size_list(kind)
    return are_lists and (_is_number(kind.value_type) or types.is_boolean(kind.value_type))


def is_spark_vector(kind: Any) -> bool:
    """Whether a type of Arrow is that of a column of vectors of Spark."""
    n = getattr(kind, "num_fields", 0)
    return n == len(FIELDS) and tuple(kind.field(k).name for k in range(n)) == FIELDS


def _spark_vectors(array: Any, is_dense: np.ndarray, counts: np.ndarray, width: int) -> Any:
    """Return vectors of Spark as samples: a dense array, or CSR where one of them is sparse."""
    numbers = array.field(3).flatten().to_numpy()
    if is_dense.all():
        return numbers.reshape(len(array), width)
    of_dense, ends = np.repeat(is_dense, counts), np.append(0, np.cumsum(counts))
    columns = np.empty(len(numbers), np.int32)
    columns[of_dense] = np.tile(np.arange(width, dtype=np.int32), int(is_dense.sum()))
    columns[~of_dense] = array.field(2).flatten().to_numpy()
    # a copy, since the arrays of Arrow cannot be written to, as SciPy does to sort a row
    samples = sparse.csr_array((numbers.copy(), columns, ends), (len(array), width))
    samples.check_format()
    samples.eliminate_zeros()
    return samples
