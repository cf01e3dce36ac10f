"""NumPy's files: `.npy` with an array of samples, and `.npz` with a dense `X` or the parts of CSR.

`label` or `target` of a `.npy` file name others, with the label or targets of each sample; an
archive has `y`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import IO, Any

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError, warn
from narrows.io import kinds
from narrows.io.chunk import (
    CLASSES,
    Chunk,
    Options,
    as_targets,
    target_columns,
)
from narrows.io.formats.base import Format, Writer, as_int32, damage_named
from narrows.io.formats.matrix import CSC, CSR, Dense, chunks_of
from narrows.solve.sums import blocks

_NAME = kinds.NPY.name
_CELLS = 4_000_000  # in a chunk, at most
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_EXPECTED = {"samples": "numbers", "labels": "text or integers", "targets": "numbers"}
_BLOCK = 1 << 20  # bytes that are copied at a time
_PARTS = "data", "indices", "indptr", "shape"


def read_array(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of dense samples, each read from the file when it is due."""
    X = Dense(_Stored(stream, name, "samples", "biuf"), name)
    if not X.shape[1]:
        problem = "expected samples of shape (n_samples, n_features)"
        raise DataError(name, f"{problem}, got {X.shape}.")
    with ExitStack() as files:
        yield from chunks_of(X, _beside(X.shape[0], files, name, options), options)


def _beside(n: int, files: ExitStack, name: str, options: Options) -> Callable[[int, int], Any]:
    """Return a function that returns labels or targets of some samples, in files that it opens."""
    if options.label is not None:
        y = _labels_of(options.label, n, files)
        return lambda start, stop: _cells(y.read(start, stop), y.name)
    targets = options.target or () if options.has_labels else ()
    if not targets and options.labels_required:
        advice = "Set `label` to a .npy file of labels."
        raise DataError(name, f"expected labels, got none. {advice}")
    found = [_labels_of(path, n, files, "targets") for path in targets]
    return _targets_of(found, targets, name) if targets else _none


def _targets_of(
    found: Sequence[_Stored], targets: Sequence[str], name: str
) -> Callable[[int, int], Any]:
    """Return a function that returns the targets of some samples, side by side."""

    def targets_of(start: int, stop: int) -> np.ndarray:
        rows = np.hstack([Y.read(start, stop) for Y in found])
        return as_targets(rows, targets, name, range(start + 1, stop + 1))

    return targets_of


def _labels_of(path: str, n: int, files: ExitStack, what: str = "labels") -> _Stored:
    """Return the labels or the targets in a file, which stays open."""
    if not path.endswith(kinds.NPY.suffixes):
        option = what.removesuffix("s")
        problem = f"`{option}`: expected a {_NAME} file of {what}, got {path!r}."
        raise ParameterError(f"{problem} Name the file beside that of the samples.")
    if not os.path.isfile(path):
        raise FileNotFoundError(2, "no such file", path)
    file = files.enter_context(open(path, "rb"))  # noqa: SIM115 - the stack closes it
    y = _Stored(file, path, what, "biufU" if what == "labels" else "biuf")
    if y.shape not in ((n,), (n, 1)):
        raise DataError(path, f"expected {n} {what}, got an array of shape {y.shape}.")
    return y


def _cells(labels: np.ndarray, name: str) -> Any:
    """Return the cells of single labels: an array of numbers, or a list of text."""
    labels = labels.reshape(-1)
    if labels.dtype.kind != "U":
        return labels
    try:
        return labels.tolist()
    except ValueError as error:  # a character beyond those of Unicode
        raise DataError(name, f"expected labels in Unicode, got others: {error}") from None


_NO_ARCHIVE = "expected an archive of samples, got another, or a damaged one"


class _Stored:
    """An array in a file, of which any rows can be read.

    Parameters
    ----------
    stream : binary stream
        The file.
    name : str
        The file, for errors.
    what : str
        What the array holds.
    kinds : str
        The kinds of types that it may have.
    size : int, optional
        The number of bytes in the stream, for one whose end is not to be looked for.
    problem : str
        What is wrong with a file that is something else.
    """

    chunks = None  # as an array of HDF5 that is not compressed

    def __init__(
        self,
        stream: IO[bytes],
        name: str,
        what: str,
        kinds: str,
        size: int | None = None,
        problem: str = f"expected a {_NAME} file, got another file, or a damaged one",
    ):
        self.stream, self.name = stream, name
        with damage_named(name, problem):
            version = np.lib.format.read_magic(stream)
            if version not in _HEADERS:
                raise ValueError(f"version {version}")
            self.shape, self.by_column, self.dtype = _HEADERS[version](stream)
        if self.dtype.kind not in kinds or self.dtype.itemsize == 0:
            got = "Python objects" if self.dtype.hasobject else f"{self.dtype}"
            raise DataError(name, f"expected {what} that are {_EXPECTED[what]}, got {got}.")
        self.start = stream.tell()
        self.width = int(np.prod(self.shape[1:], dtype=object))
        self.in_order = size is not None
        size = stream.seek(0, 2) if size is None else size
        have, need = size - self.start, self.dtype.itemsize * self.width
        if min(self.shape, default=-1) < 0 or have < need * self.shape[0]:
            problem = f"expected an array of shape {self.shape}, got only {have:,} bytes of it."
            raise DataError(name, f"{problem} Write the file again.")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice) -> np.ndarray:
        found = self.read(*rows.indices(len(self))[:2])
        return found if self.ndim > 1 else found.reshape(-1)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return some rows, in the byte order of this machine."""
        n, d = self.shape[0], self.width
        if self.by_column:
            columns = [self._numbers(k * n + start, stop - start) for k in range(d)]
            rows = np.stack(columns, axis=1)
        else:
            rows = self._numbers(start * d, (stop - start) * d).reshape(stop - start, d)
        return rows.astype(self.dtype.newbyteorder("="), copy=False)

    def _numbers(self, first: int, count: int) -> np.ndarray:
        """Return numbers that follow each other in the file."""
        size = self.dtype.itemsize
        at = self.start + first * size
        if self.in_order:  # since zipfile of Python 3.12 and 3.13 may lose its place in a seek
            while (ahead := at - self.stream.tell()) > 0 and self.stream.read(min(ahead, _BLOCK)):
                pass
        else:
            self.stream.seek(at)
        found = bytearray(count * size)  # which may be written to
        if self.stream.readinto(found) < len(found):  # type: ignore[attr-defined]
            raise DataError(self.name, "expected the whole file, got less. Write the file again.")
        return np.frombuffer(found, self.dtype)


class _ArrayWriter(Writer):
    """Writes dense samples, without labels; the header is written again when all are counted."""

    typed = True
    rows, dtype = 0, np.dtype(np.float64)
    has_header = has_labels = False

    def write(self, X: Any, y: Any) -> None:
        if not self.has_header:
            self.width, self.dtype, self.has_header = X.shape[1], X.dtype, True
            _write_header(self.stream, self.dtype, (0, self.width))
        if y is not None and not self.has_labels:
            self.has_labels = True
            warn(
                f"{_NAME} files: expected samples without labels, got some with labels, which are "
                "left out. Write to .npz to keep them."
            )
        self.check_width(X, _NAME, ".npz")
        for rows in blocks(X.shape[0], max(1, _CELLS // max(1, self.width))):
            part = X[rows].toarray() if sparse.issparse(X) else X[rows]
            self.stream.write(np.ascontiguousarray(part).data)
        self.rows += X.shape[0]

    def finish(self) -> None:
        self.stream.seek(0)
        _write_header(self.stream, self.dtype, (self.rows, self.width))


def _write_header(stream: IO[bytes], dtype: Any, shape: tuple[int, ...]) -> None:
    """Write the header of an array; NumPy pads it to the same length for any number of rows."""
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)


def read_archive(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of samples, each read from the members of the archive when it is due."""
    if stream.read(4) != b"PK\x03\x04":
        raise DataError(name, "expected a NumPy archive, got another file.")
    from zipfile import ZipFile

    with (
        damage_named(name, _NO_ARCHIVE),
        ZipFile(stream) as file,
        ExitStack() as opened,
    ):
        archive = _Archive(file, opened, name)
        X = _samples_of(archive, stream)
        labels: Callable[[int, int], Any] = _none
        if options.target is not None:
            labels = _targets(archive, options, X.shape[0])
        elif options.has_labels:
            labels = _labels(archive, options, X.shape[0])

        def y_of(start: int, stop: int) -> Any:
            at = stream.tell()
            y = labels(start, stop)
            stream.seek(at)  # which says how much has been read
            return y

        yield from chunks_of(X, y_of, options)


class _Archive(dict[str, Any]):
    """The members of an archive that are arrays; each is opened by `array`.

    Parameters
    ----------
    file : ZipFile
        The archive.
    opened : ExitStack
        What closes the members.
    name : str
        The file, for errors.
    """

    def __init__(self, file: Any, opened: ExitStack, name: str):
        for each in file.infolist():  # raises where a damaged name would hide an array
            file.open(each).close()
        infos = [each for each in file.infolist() if each.filename.endswith(".npy")]
        super().__init__({each.filename.removesuffix(".npy"): each for each in infos})
        self.file, self.opened, self.name = file, opened, name

    def array(self, part: str, what: str = "samples", again: bool = False) -> _Stored:
        """Return an array whose rows are read in their order, or in any order (`again`)."""
        info, kinds = self[part], "biufU" if what == "labels" else "biuf"
        stream = self.opened.enter_context(self.file.open(info))
        found = _Stored(stream, self.name, what, kinds, info.file_size, _NO_ARCHIVE)
        if not again and not found.by_column:
            return found
        copy = self.opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        with self.file.open(info) as stream:
            shutil.copyfileobj(stream, copy, _BLOCK)
        copy.seek(0)
        return _Stored(copy, self.name, what, kinds)

    def shape(self, part: str) -> tuple[int, int]:
        """Return a shape that the archive says."""
        n, d = self.small(part).tolist()
        return n, d

    def small(self, part: str) -> np.ndarray:
        """Return an array of a few numbers, or a text."""
        with self.file.open(self[part]) as stream:
            return np.lib.format.read_array(stream)

    def csr(self, data: str, indices: str, indptr: str, shape: str) -> CSR:
        """Return the CSR matrix of these arrays."""
        X = {"data": self.array(data), "indices": self.array(indices)}
        found = CSR(X | {"indptr": self.array(indptr, again=True)}, self.shape(shape), self.name)
        found.most = len(found.data)  # an entry may be there several times
        return found


def _samples_of(archive: _Archive, stream: IO[bytes]) -> Dense | CSR:
    """Return what reads the samples; DataError where there are none."""
    if "X" in archive:
        return Dense(archive.array("X"), archive.name)
    if "format" in archive:  # scipy's save_npz
        kind = archive.small("format").item().decode()
        if kind == "csc":
            parts = {part: archive.array(part, again=True) for part in _PARTS[:3]}
            return CSC(parts, archive.shape("shape"), archive.name)
        if kind != "csr":
            stream.seek(0)
            X = sparse.csr_array(sparse.load_npz(stream))
            return CSR({part: getattr(X, part) for part in _PARTS[:3]}, X.shape, archive.name)
    missing = next((part for part in _PARTS if part not in archive), None)
    if missing is not None:
        problem = (
            "expected an array X, or data, indices, indptr and shape of a CSR matrix, and y "
            f"for labels, got no array {missing!r} among {', '.join(archive) or 'none'}."
        )
        raise DataError(archive.name, problem)
    return archive.csr(*_PARTS)


def _none(start: int, stop: int) -> None:
    """Return no labels."""


def _labels(archive: _Archive, options: Options, n: int) -> Callable[[int, int], Any]:
    """Return a function that returns the labels of the next samples."""
    name, label = archive.name, options.label or "y"
    if options.label is None and "yindptr" in archive:
        several = archive.csr("yindices", "yindices", "yindptr", "yshape")
        if several.shape[1] > CLASSES:
            raise ValueError(f"expected labels up to {CLASSES - 1}, got yshape {several.shape}.")
        _check_count(name, n, several.shape[0], "labels")

        def next_rows(start: int, stop: int) -> Any:
            parts = list(several.chunks(start, stop - start, stop))
            y = sparse.csr_array(sparse.vstack(parts))
            y.data[:] = 1
            return y

        return next_rows
    if label not in archive:
        if options.labels_required or options.named:
            raise DataError(name, f"expected labels, got no array {label!r}.")
        return _none
    y = archive.array(label, "labels")
    _check_count(name, n, y.shape[0], "labels")

    def next_labels(start: int, stop: int) -> Any:
        found = y.read(start, stop)
        if found.shape[1] > 1:
            return sparse.csr_array(found)  # several labels per sample
        return _cells(found, name)

    return next_labels


def _targets(archive: _Archive, options: Options, n: int) -> Callable[[int, int], Any]:
    """Return a function that returns the targets of the next samples."""
    found, names = [], list[str]()
    for target in target_columns(archive, options, archive.name):
        Y = archive.array(target, "targets")
        if len(Y.shape) not in (1, 2):
            problem = f"target {target!r}: expected numbers of shape (n_samples,), got {Y.dtype}"
            raise DataError(archive.name, f"{problem} of shape {Y.shape}.")
        _check_count(archive.name, n, Y.shape[0], "targets")
        found.append(Y)
        names += [target] * Y.width
    return _targets_of(found, names, archive.name) if found else _none


def _check_count(name: str, n: int, got: int, what: str) -> None:
    """Raise where not every sample has a label or target."""
    if got != n:
        raise DataError(name, f"expected {n} {what}, got {got}.")


class _ArchiveWriter(Writer):
    """Writes `X` dense, or `data, indices, indptr, shape` of CSR; and `y`, or the parts of its CSR.

    The pieces of each array wait in a temporary file, because an archive holds them together.
    """

    typed = True

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None):
        super().__init__(stream, names)
        self.parts: dict[str, _Growing] = {}
        self.rows = self.labels = 0

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
        from zipfile import ZipFile

        with ZipFile(self.stream, "w", allowZip64=True) as archive:
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
        self.parts.setdefault(name, _Growing()).add(array)


class _Growing:
    """An array that grows at its end, in a temporary file."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the array
        weakref.finalize(self, self.file.close)
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
        _write_header(entry, dtype, (self.rows, *self.shape))
        self.file.seek(0)
        while block := self.file.read(_BLOCK):
            entry.write(np.frombuffer(block, self.dtype).astype(dtype, copy=False).tobytes())


NPY = Format(kinds.NPY, read_array, _ArrayWriter, labels_apart=True)
NPZ = Format(kinds.NPZ, read_archive, _ArchiveWriter)
