"""NumPy's files: `.npy` with an array of samples, and `.npz` with a dense `X` or the parts of CSR.

`label` or `target` of a `.npy` file name others, with the label or targets of each sample; an
archive has `y`. Arrays are mapped; those of an archive are unpacked to a temporary folder first.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any
from zipfile import ZipFile

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError, warn
from narrows.io import kinds
from narrows.io.chunk import CLASSES, Chunk, Options, as_targets, target_columns
from narrows.io.formats.base import Format, Writer, as_int32, damage_named
from narrows.io.formats.matrix import CSC, CSR, Dense, chunks_of
from narrows.solve.sums import blocks

_NAME = kinds.NPY.name
_CELLS = 4_000_000  # in a chunk, at most
_EXPECTED = {"samples": "numbers", "labels": "text or integers", "targets": "numbers"}
_BLOCK = 1 << 20  # bytes that are copied at a time
_Y = Callable[[int, int], Any]  # returns labels or targets of the samples from one to another
_PARTS = "data", "indices", "indptr", "shape"


class _Array:
    """An array in a `.npy` file, of which any rows can be read.

    Each time, the file is mapped anew, so that what has been read takes no memory.

    Parameters
    ----------
    path : str
        The file.
    name : str
        How errors call it.
    what : {"samples", "labels", "targets"}
        What the array holds.
    """

    chunks = None  # as an array of HDF5 that is not compressed

    def __init__(self, path: str, name: str, what: str = "samples"):
        self.path, self.name = path, name
        with (
            damage_named(name, f"expected a {_NAME} array, got another file, or a damaged one"),
            np.errstate(over="ignore"),  # in the size of an impossible shape
        ):
            found = np.lib.format.open_memmap(path, mode="r")
            self.shape, self.ndim, self.dtype = found.shape, found.ndim, found.dtype
        if self.dtype.kind not in ("biufU" if what == "labels" else "biuf"):
            raise DataError(name, f"expected {what} that are {_EXPECTED[what]}, got {self.dtype}.")

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice) -> np.ndarray:
        found = np.lib.format.open_memmap(self.path, mode="r")[rows]
        return np.array(found, self.dtype.newbyteorder("="))

    def check_count(self, n: int, what: str) -> None:
        """Raise where not every sample has a label or target."""
        if self.ndim not in (1, 2) or len(self) != n:
            problem = f"expected {n} {what}, got an array of shape {self.shape}."
            raise DataError(self.name, problem)


@contextmanager
def _local(stream: IO[bytes]) -> Iterator[str]:
    """Give the path of a file, which is copied where it is at an address."""
    path = getattr(stream, "name", None)
    if isinstance(path, str):
        yield path
        return
    with tempfile.NamedTemporaryFile() as copy:
        shutil.copyfileobj(stream, copy, _BLOCK)
        copy.flush()
        yield copy.name


def read_array(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of dense samples, each read from the file when it is due."""
    with _local(stream) as path:
        X = Dense(_Array(path, name), name)
        n = X.shape[0]
        if not X.shape[1]:
            problem = "expected samples of shape (n_samples, n_features)"
            raise DataError(name, f"{problem}, got {X.shape}.")
        y_of: _Y = _none
        if options.label is not None:
            y_of = _labels_of(_beside(options.label, n, "labels"))
        elif options.target and options.has_labels:
            found = {path: _beside(path, n, "targets") for path in options.target}
            y_of = _targets_of(found, name)
        elif options.labels_required:
            raise DataError(name, "expected labels, got none. Set `label` to a .npy file of them.")
        yield from _placed(chunks_of(X, y_of, options), stream, n)


def _placed(chunks: Iterable[Chunk], stream: IO[bytes], n: int) -> Iterator[Chunk]:
    """Yield chunks; the position of the stream shows which share of n samples has been read."""
    size = stream.seek(0, 2)
    for chunk in chunks:
        stream.seek(size * chunk.lines[-1] // n)
        yield chunk


def _beside(path: str, n: int, what: str) -> _Array:
    """Return the labels or the targets in a file."""
    if not path.endswith(kinds.NPY.suffixes):
        option = what.removesuffix("s")
        problem = f"`{option}`: expected a {_NAME} file of {what}, got {path!r}."
        raise ParameterError(f"{problem} Name the file beside that of the samples.")
    if not os.path.isfile(path):
        raise FileNotFoundError(2, "no such file", path)
    found = _Array(path, path, what)
    found.check_count(n, what)
    if found.shape[1:] not in ((), (1,)):
        raise DataError(path, f"expected {n} {what}, got an array of shape {found.shape}.")
    return found


def _none(start: int, stop: int) -> None:
    """Return no labels."""


def _labels_of(y: _Array) -> _Y:
    """Return a function that returns the labels of some samples: numbers, or a list of text."""

    def labels_of(start: int, stop: int) -> Any:
        found = y[start:stop].reshape(stop - start, -1)
        if found.shape[1] > 1:
            return sparse.csr_array(found)  # several labels per sample
        if found.dtype.kind != "U":
            return found[:, 0]
        with damage_named(y.name, "expected labels in Unicode, got others"):
            return found[:, 0].tolist()

    return labels_of


def _targets_of(found: Mapping[str, _Array], name: str) -> _Y:
    """Return a function that returns the targets of some samples, side by side."""

    def targets_of(start: int, stop: int) -> np.ndarray:
        parts = [Y[start:stop].reshape(stop - start, -1) for Y in found.values()]
        names = [each for each, Y in zip(found, parts, strict=True) for _ in range(Y.shape[1])]
        return as_targets(np.hstack(parts), names, name, range(start + 1, stop + 1))

    return targets_of


class _Growing:
    """An array in a `.npy` file that grows at its end; the header is written again at last.

    Text waits until the longest one is known.
    """

    def __init__(self, stream: IO[bytes]):
        self.stream, self.rows = stream, 0
        self.none: np.ndarray | None = None  # of its rows
        self.text: list[np.ndarray] = []

    def add(self, array: np.ndarray) -> None:
        """Add rows."""
        if self.none is None:
            self.none = array[:0]
            self._write_header(self.none)
        self.rows += len(array)
        if array.dtype.kind == "U":
            self.text.append(array)
        else:
            self.stream.write(np.ascontiguousarray(array).data)

    def finish(self) -> None:
        """Write what is known at the end."""
        self.stream.seek(0)
        if self.text:
            np.lib.format.write_array(self.stream, np.concatenate(self.text))
        else:
            self._write_header(np.empty((0, 0)) if self.none is None else self.none)

    def _write_header(self, none: np.ndarray) -> None:
        """Write the header, which NumPy pads to the same length for any number of rows."""
        descr = np.lib.format.dtype_to_descr(none.dtype)
        header = {"descr": descr, "fortran_order": False, "shape": (self.rows, *none.shape[1:])}
        np.lib.format.write_array_header_1_0(self.stream, header)


class _ArrayWriter(Writer):
    """Writes dense samples, without labels."""

    typed = True
    has_labels = False

    def __init__(self, stream: IO[bytes], names: Sequence[str] | None):
        super().__init__(stream, names)
        self.array = _Growing(stream)

    def write(self, X: Any, y: Any) -> None:
        self.width = self.width or X.shape[1]
        if y is not None and not self.has_labels:
            self.has_labels = True
            warn(
                f"{_NAME} files: expected samples without labels, got some with labels, which are "
                "left out. Write to .npz to keep them."
            )
        self.check_width(X, _NAME, ".npz")
        for rows in blocks(X.shape[0], max(1, _CELLS // max(1, self.width))):
            self.array.add(X[rows].toarray() if sparse.issparse(X) else X[rows])

    def finish(self) -> None:
        self.array.finish()


def read_archive(stream: IO[bytes], name: str, options: Options) -> Iterator[Chunk]:
    """Yield chunks of samples, each read from the members of the archive when it is due."""
    if stream.read(4) != b"PK\x03\x04":
        raise DataError(name, "expected a NumPy archive, got another file.")
    with (
        damage_named(name, "expected an archive of samples, got another, or a damaged one"),
        ZipFile(stream) as file,
        tempfile.TemporaryDirectory() as folder,
    ):
        archive = _Archive(file, folder, name)
        X = _samples_of(archive, stream)
        n = X.shape[0]
        y_of: _Y = _none
        if options.target is not None:
            targets = target_columns(archive, options, name)
            found = {each: archive.array(each, "targets") for each in targets}
            for Y in found.values():
                Y.check_count(n, "targets")
            y_of = _targets_of(found, name) if found else _none
        elif options.has_labels:
            y_of = _labels(archive, options, n)
        yield from _placed(chunks_of(X, y_of, options), stream, n)


class _Archive(dict[str, Any]):
    """The members of an archive that are arrays; `array` unpacks one to a folder."""

    def __init__(self, file: ZipFile, folder: str, name: str):
        for each in file.infolist():  # raises where a damaged name would hide an array
            file.open(each).close()
        infos = [each for each in file.infolist() if each.filename.endswith(".npy")]
        super().__init__({each.filename.removesuffix(".npy"): each for each in infos})
        self.file, self.folder, self.name = file, folder, name

    def array(self, part: str, what: str = "samples") -> _Array:
        """Return an array."""
        path = os.path.join(self.folder, f"{[*self].index(part)}.npy")
        with self.file.open(self[part]) as stream, open(path, "wb") as copy:
            shutil.copyfileobj(stream, copy, _BLOCK)
        return _Array(path, self.name, what)

    def small(self, part: str) -> np.ndarray:
        """Return an array of a few numbers, or a text."""
        with self.file.open(self[part]) as stream:
            return np.lib.format.read_array(stream)

    def csr(self, names: Sequence[str] = _PARTS, kind: type[CSR] = CSR) -> CSR:
        """Return the CSR or CSC matrix of these arrays."""
        arrays = {of: self.array(name) for of, name in zip(_PARTS[:3], names[:3], strict=True)}
        n, d = self.small(names[3]).tolist()
        found = kind(arrays, (n, d), self.name)
        if kind is CSR:
            found.most = len(found.data)  # an entry may be there several times
        return found


def _samples_of(archive: _Archive, stream: IO[bytes]) -> Dense | CSR:
    """Return what reads the samples; DataError where there are none."""
    if "X" in archive:
        return Dense(archive.array("X"), archive.name)
    form = archive.small("format").item().decode() if "format" in archive else "csr"
    if form not in ("csr", "csc"):  # of SciPy's save_npz
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
    return archive.csr(kind=CSC if form == "csc" else CSR)


def _labels(archive: _Archive, options: Options, n: int) -> _Y:
    """Return a function that returns the labels of some samples."""
    name, label = archive.name, options.label or "y"
    if options.label is None and "yindptr" in archive:
        several = archive.csr(("yindices", "yindices", "yindptr", "yshape"))
        if several.shape[0] != n or several.shape[1] > CLASSES:
            problem = f"expected {n} rows of labels up to {CLASSES - 1}, got yshape"
            raise DataError(name, f"{problem} {several.shape}.")

        def rows_of(start: int, stop: int) -> Any:
            y = sparse.csr_array(sparse.vstack([*several.chunks(start, stop - start, stop)]))
            y.data[:] = 1
            return y

        return rows_of
    if label not in archive:
        if options.labels_required or options.named:
            raise DataError(name, f"expected labels, got no array {label!r}.")
        return _none
    y = archive.array(label, "labels")
    y.check_count(n, "labels")
    return _labels_of(y)


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
        for name, width in (("shape", self.width), ("yshape", self.labels)):
            if name.replace("shape", "indptr") in self.parts:
                self._add(name, np.array([self.rows, width]))
        with ZipFile(self.stream, "w", allowZip64=True) as archive:
            for name, part in self.parts.items():
                part.finish()
                part.stream.seek(0)
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    shutil.copyfileobj(part.stream, entry, _BLOCK)

    def _csr(self, X: Any, data: str, indices: str, indptr: str) -> None:
        X = sparse.csr_array(X)
        started = self.parts[indices].rows if indices in self.parts else 0
        self._add(data, X.data)
        self._add(indices, as_int32(X.indices))
        ends = started + X.indptr.astype(np.int64)
        self._add(indptr, ends if indptr not in self.parts else ends[1:])

    def _add(self, name: str, array: np.ndarray) -> None:
        if name not in self.parts:
            file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the writer
            weakref.finalize(self, file.close)
            self.parts[name] = _Growing(file)
        self.parts[name].add(array)


NPY = Format(kinds.NPY, read_array, _ArrayWriter, labels_apart=True)
NPZ = Format(kinds.NPZ, read_archive, _ArchiveWriter)
