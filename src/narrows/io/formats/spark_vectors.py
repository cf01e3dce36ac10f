"""Columns of vectors as Spark's MLlib stores them: each one sparse, or dense."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError

FIELDS = ("type", "size", "indices", "values")
SPARSE, DENSE = 0, 1  # what `type` holds; a dense vector has neither size nor indices


def is_spark_vector(kind: Any) -> bool:
    """Whether a type of Arrow is that of a column of vectors of Spark."""
    n = getattr(kind, "num_fields", 0)
    return n == len(FIELDS) and tuple(kind.field(k).name for k in range(n)) == FIELDS


def spark_vectors(array: Any, column: str, width: int, name: str, lines: range) -> Any:
    """Return vectors without nulls as samples, of `width` features unless it is 0.

    Dense ones give a dense array; a sparse one among them, a CSR array.
    """
    kinds, sizes, indices, values = (array.field(k) for k in range(len(FIELDS)))
    what = f"column {column!r}: expected"

    def refuse(wrong: np.ndarray, expected: str, *got: np.ndarray) -> None:
        if wrong.any():
            k = int(np.argmax(wrong))
            shown = " and ".join(str(each[k]) for each in got) or "a null"
            raise DataError(name, f"{what} {expected}, got {shown}.", lines[k])

    kind = _numbers(kinds, -1)
    refuse((kind != SPARSE) & (kind != DENSE), "vectors of type 0 or 1", kind)
    dense = kind == DENSE
    counts, listed = _numbers(values.value_lengths(), 0), _numbers(indices.value_lengths(), 0)
    found = np.where(dense, counts, _numbers(sizes, -1))
    width = width or int(found[0])
    refuse(found != width, f"vectors of {width} numbers", found)
    refuse(~dense & (listed != counts), "as many indices as values", listed, counts)
    ends = np.append(0, np.cumsum(counts))
    for lists in (values, indices):
        flat = lists.flatten()
        if flat.null_count:
            rows = np.repeat(np.arange(len(array)), _numbers(lists.value_lengths(), 0))
            without = np.isin(np.arange(len(array)), rows[flat.is_null().to_numpy(False)])
            refuse(without, "vectors without nulls")
    numbers = values.flatten().to_numpy(zero_copy_only=False)
    if dense.all():
        return numbers.reshape(len(array), width)
    columns = indices.flatten().to_numpy(zero_copy_only=False)
    if dense.any():
        full, of_dense = columns, np.repeat(dense, counts)
        columns = np.empty(len(numbers), dtype=np.int32)
        columns[of_dense] = np.tile(np.arange(width, dtype=np.int32), int(dense.sum()))
        columns[~of_dense] = full
    outside = (columns < 0) | (columns >= width)
    if outside.any():
        k = int(np.argmax(outside))
        row = int(np.searchsorted(ends, k, side="right")) - 1
        raise DataError(
            name, f"{what} indices from 0 to {width - 1}, got {columns[k]}.", lines[row]
        )
    # a copy, since the arrays of Arrow cannot be written to, as SciPy does to sort a row
    samples = sparse.csr_array((numbers.copy(), columns.copy(), ends), (len(array), width))
    samples.eliminate_zeros()
    return samples


def _numbers(array: Any, null: int) -> np.ndarray:
    """Return integers, with a number for each null."""
    found: np.ndarray = array.fill_null(null).to_numpy(zero_copy_only=False)
    return found.astype(np.int64)
