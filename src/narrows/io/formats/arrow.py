"""Columns of Arrow tables as arrays and lists, without nulls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError
from narrows.io.chunk import CLASSES, check_text, check_whole, indicator, row_of
from narrows.io.extras import needing
from narrows.io.formats.spark_vectors import is_spark_vector, spark_vectors

INDICES, VALUES = "indices", "values"
LARGEST = np.iinfo(np.int32).max  # n_features of sparse samples


def pyarrow() -> Any:
    """Return the library; ImportError names the extra."""
    with needing("arrow", "pyarrow", "Parquet files and Arrow tables"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow


@contextmanager
def damage_named(name: str, problem: str) -> Iterator[None]:
    """Raise a DataError about the file instead of an error of the library."""
    try:
        yield
    except (pyarrow().ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        first_line = str(error).partition("\n")[0]
        raise DataError(name, f"{problem}: {first_line}") from None


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


def _refuse_nulls(array: Any, column: str, name: str, lines: range) -> None:
    in_dictionary = pyarrow().types.is_dictionary(array.type) and array.dictionary.null_count
    if array.null_count or in_dictionary:
        nulls = [value is None for value in array.to_pylist()]
        if any(nulls):
            problem = f"column {column!r}: expected no nulls, got one."
            raise DataError(name, problem, lines[nulls.index(True)])


def numbers(table: Any, column: str, name: str, lines: range) -> np.ndarray:
    """Return a column of numbers; they are float32 where it is, else float64."""
    array = _column(table, column)
    types = pyarrow().types
    kind = array.type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        advice = " Set text (--text) to read texts." * _is_string(kind)
        raise DataError(name, f"column {column!r}: expected numbers, got {shown(kind)}.{advice}")
    _refuse_nulls(array, column, name, lines)
    values = array.to_numpy(zero_copy_only=False)
    return values if values.dtype == np.float32 else values.astype(np.float64, copy=False)


def vectors(table: Any, column: str, width: int, name: str, lines: range) -> Any:
    """Return lists of floats, or vectors of Spark, as samples of `width` features unless it is 0.

    Lists are the memory of Arrow, which cannot be written to, except for float16.
    """
    array = _column(table, column)
    if isinstance(array.type, pyarrow().BaseExtensionType):
        array = array.storage
    if not is_vector(array.type):
        problem = f"column {column!r}: expected lists of floats, got {shown(array.type)}."
        raise DataError(name, problem)
    if array.null_count:
        k = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise DataError(name, f"column {column!r}: expected a vector, got a null.", lines[k])
    if is_spark_vector(array.type):
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
    return values.astype(np.float32) if values.dtype == np.float16 else values


def is_vector(kind: Any) -> bool:
    """Whether a column of this type holds lists of floats, or vectors of Spark."""
    if isinstance(kind, pyarrow().BaseExtensionType):
        kind = kind.storage_type
    types = pyarrow().types
    if is_spark_vector(kind):
        return True
    are_lists = _is_list(kind) or types.is_fixed_size_list(kind)
    return are_lists and bool(types.is_floating(kind.value_type))


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


def labels_of(table: Any, label: str, width: int, name: str, lines: range) -> Any:
    """Return the labels, or an indicator matrix of at least `width` columns for lists of them."""
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
        found = numbers(table, label, name, lines)
        check_whole(found, name, lines)
        return found
    if _is_string(kind):
        texts = _strings(array, label, name, lines)
        for text, line in zip(texts, lines, strict=True):
            check_text(text, name, line)
        return np.array(texts)
    raise DataError(name, f"{label!r}: expected text or integers, got {shown(kind)}.")
