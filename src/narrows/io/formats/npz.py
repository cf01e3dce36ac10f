"""NumPy archives: the parts of a CSR matrix or a dense `X`, and `y` where there are labels."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np
from scipy import sparse

from narrows.io.chunk import CLASSES, Chunk, Options, check_numbers
from narrows.solve.errors import DataError
from narrows.solve.sums import blocks

_DAMAGE = (
    ValueError, TypeError, IndexError, AttributeError, OverflowError, EOFError, OSError,
    RuntimeError, MemoryError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of rows; the whole archive is in memory meanwhile."""
    if stream.read(4) != b"PK\x03\x04":
        raise DataError(name, "not a NumPy archive (.npz).")
    stream.seek(0)
    try:
        with np.load(stream, allow_pickle=False) as archive:
            arrays = dict(archive)
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is refused later
            X, y = _rows(arrays, stream), _labels(arrays, options.label)
            if y is not None and y.ndim == 1 and y.dtype.kind == "f":
                check_numbers(y, name, range(1, len(y) + 1))
    except DataError:
        raise
    except KeyError as error:
        raise DataError(
            name,
            f"no array named {error}; it holds {', '.join(arrays) or 'nothing'}. Wanted: X, or "
            "data, indices, indptr and shape of a CSR matrix; and y for labels.",
        ) from None
    except _DAMAGE as error:
        raise DataError(name, f"not an archive of rows, or a damaged one: {error}") from None
    if y is not None and y.shape[0] != X.shape[0]:
        raise DataError(name, f"{X.shape[0]} rows, but {y.shape[0]} labels.")
    if y is None and options.labels_required:
        raise DataError(name, f"no labels: no array named {options.label or 'y'!r}.")
    for rows in blocks(X.shape[0], options.chunk_rows):
        if rows.start >= options.after:
            lines = range(rows.start + 1, rows.stop + 1)
            yield Chunk(X[rows], None if y is None else y[rows], lines)


def _rows(arrays: Mapping[str, np.ndarray], stream: IO[bytes]) -> Any:
    if "X" in arrays:
        return _numbers(arrays["X"])
    if "format" in arrays:  # scipy's save_npz
        stream.seek(0)
        return _numbers(sparse.csr_array(sparse.load_npz(stream)))
    return _numbers(_csr(arrays, "data", "indices", "indptr", "shape"))


def _labels(arrays: Mapping[str, np.ndarray], label: str | None) -> Any:
    if label is None and "yindptr" in arrays:
        ones = np.ones(len(arrays["yindices"]))
        y = _csr({**arrays, "ones": ones}, "ones", "yindices", "yindptr", "yshape")
        if y.shape[1] > CLASSES:
            raise ValueError(f"labels up to {CLASSES - 1} wanted, but yshape is {y.shape}.")
        return y
    y = arrays.get(label or "y")
    if y is not None and y.dtype.kind not in "biufU":
        raise ValueError(f"labels must be text or whole numbers, but {y.dtype} came.")
    if y is None or y.ndim == 1:
        return y
    return y.ravel() if y.shape[1:] == (1,) else sparse.csr_array(y)  # several labels a row


def _csr(arrays: Mapping[str, np.ndarray], *parts: str) -> sparse.csr_array:
    data, indices, indptr, shape = (arrays[part] for part in parts)
    X = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    X.check_format(full_check=True)
    return X


def _numbers(X: Any) -> Any:
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, but its shape is {X.shape}.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"values must be numbers, but {X.dtype} came.")
    is_single = X.dtype.kind == "f" and X.dtype.itemsize == 4
    return X.astype(np.float32 if is_single else np.float64, copy=False)
