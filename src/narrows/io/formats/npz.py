"""NumPy archives: the parts of a CSR matrix or a dense `X`, and `y` where there are labels."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError
from narrows.io import kinds
from narrows.io.chunk import CLASSES, Chunk, Options, check_numbers
from narrows.io.formats.base import Format, as_int32
from narrows.solve.sums import blocks

_BLOCK = 1 << 20  # bytes that are copied at a time
_DAMAGE = (
    ValueError, TypeError, IndexError, AttributeError, OverflowError, EOFError, OSError,
    RuntimeError, MemoryError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of samples; the whole archive is in memory meanwhile."""
    if stream.read(4) != b"PK\x03\x04":
        raise DataError(name, "expected a NumPy archive, got another file.")
    stream.seek(0)
    try:
        with np.load(stream, allow_pickle=False) as archive:
            arrays = dict(archive)
        with np.errstate(invalid="ignore", over="ignore"):  # infinite values are refused later
            X, y = _rows(arrays, stream), _labels(arrays, options.label)
            if y is not None and y.ndim == 1 and y.dtype.kind == "f":
                check_numbers(y, name, range(1, len(y) + 1))
    except DataError:
        raise
    except KeyError as error:
        parts = "an array X, or data, indices, indptr and shape of a CSR matrix, and y for labels"
        got = f"no array {error} among {', '.join(arrays) or 'none'}"
        raise DataError(name, f"expected {parts}, got {got}.") from None
    except _DAMAGE as error:
        problem = f"expected an archive of samples, got another, or a damaged one: {error}"
        raise DataError(name, problem) from None
    if y is not None and y.shape[0] != X.shape[0]:
        raise DataError(name, f"expected {X.shape[0]} labels, got {y.shape[0]}.")
    if y is None and options.labels_required:
        raise DataError(name, f"expected labels, got no array {options.label or 'y'!r}.")
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
            raise ValueError(f"expected labels up to {CLASSES - 1}, got yshape {y.shape}.")
        return y
    y = arrays.get(label or "y")
    if y is not None and y.dtype.kind not in "biufU":
        raise ValueError(f"expected labels that are text or integers, got {y.dtype}.")
    if y is None or y.ndim == 1:
        return y
    return y.ravel() if y.shape[1:] == (1,) else sparse.csr_array(y)  # several labels per sample


def _csr(arrays: Mapping[str, np.ndarray], *parts: str) -> sparse.csr_array:
    data, indices, indptr, shape = (arrays[part] for part in parts)
    X = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    X.check_format(full_check=True)
    return X


def _numbers(X: Any) -> Any:
    if X.ndim != 2:
        raise ValueError(f"expected X of shape (n_samples, n_features), got {X.shape}.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"expected values that are numbers, got {X.dtype}.")
    is_single = X.dtype.kind == "f" and X.dtype.itemsize == 4
    return X.astype(np.float32 if is_single else np.float64, copy=False)


class _Writer:
    """Writes `X` dense, or `data, indices, indptr, shape` of CSR; and `y`, or the parts of its CSR.

    The pieces of each array wait in a temporary file, because an archive holds them together.
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
                is_small = name.endswith("indptr") and part.last < 2**31
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    part.copy_to(entry, np.int32 if is_small else part.dtype)
            for name, width in (("shape", self.width), ("yshape", self.labels)):
                if name.replace("shape", "indptr") in self.parts:
                    with archive.open(f"{name}.npy", "w") as entry:
                        np.lib.format.write_array(entry, np.array([self.rows, width]))

    def _csr(self, X: Any, data: str, indices: str, indptr: str) -> None:
        X = sparse.csr_array(X)
        started = self.parts[indices].rows if indices in self.parts else 0
        self._add(data, X.data)
        self._add(indices, as_int32(X.indices))
        ends = started + X.indptr.astype(np.int64)
        self._add(indptr, ends if indptr not in self.parts else ends[1:])

    def _add(self, name: str, array: np.ndarray) -> None:
        self.parts.setdefault(name, _Array()).add(array)


class _Array:
    """An array that grows at its end, in a temporary file."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the array
        self.rows, self.shape, self.dtype = 0, (), np.dtype(np.float64)
        self.text: list[np.ndarray] = []  # as wide as the longest
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


FORMAT = Format(kinds.NPZ, read, _Writer, options=("label",))
