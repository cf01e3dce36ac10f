"""Reduced data to files, chunk by chunk: npz, svmlight and CSV."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, Protocol, cast

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from narrows.errors import ParameterError
from narrows.read import suffix_of
from narrows.solve.sums import widened
from narrows.store import replacing

_COLUMNS_OF_LABELS = ("label", "class", "__label__")


class Writer(Protocol):
    """Takes chunks of rows; `finish` writes what has to come last."""

    def write(self, X: Any, y: Any) -> None:
        """Add rows; y may be None."""

    def finish(self) -> None:
        """Write what has to come last."""


@contextmanager
def writer(path: str, names: Sequence[str]) -> Iterator[Writer]:
    """Give a writer for the format of `path`, which appears when the block succeeds.

    Parameters
    ----------
    path : str
        Ends in .npz, .svm, .svmlight, .libsvm or .csv, the last four with .gz after it too;
        "-" writes CSV to standard output.
    names : sequence of str
        Names of the columns, for CSV.

    Raises
    ------
    ParameterError
        Another suffix.
    """
    kind, zipped = format_of(path)
    if path == "-":
        out = kind(sys.stdout.buffer, names)
        yield out
        out.finish()
        sys.stdout.buffer.flush()
        return
    with replacing(path) as temporary, open(temporary, "wb") as raw:
        if zipped:
            with cast(IO[bytes], gzip.GzipFile("", "wb", 6, raw, mtime=0)) as stream:
                out = kind(stream, names)
                yield out
                out.finish()
        else:
            out = kind(raw, names)
            yield out
            out.finish()


class _Npz:
    """`X` dense, or `data, indices, indptr, shape` of CSR; and `y`, or the parts of its CSR."""

    def __init__(self, stream: IO[bytes], names: Sequence[str]):
        self.stream, self.X, self.y = stream, [], []  # type: ignore[var-annotated]

    def write(self, X: Any, y: Any) -> None:
        self.X.append(X)
        self.y.append(y)

    def finish(self) -> None:
        arrays: dict[str, Any] = {}
        if sparse.issparse(self.X[0]):
            X = sparse.csr_array(sparse.vstack(self.X))
            arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr}
            arrays["shape"] = np.array(X.shape)
        else:
            arrays["X"] = np.concatenate(self.X)
        if sparse.issparse(self.y[0]):
            widest = max(y.shape[1] for y in self.y)  # classes may come late
            y = sparse.csr_array(sparse.vstack([widened(y, widest) for y in self.y]))
            arrays |= {"yindices": y.indices, "yindptr": y.indptr, "yshape": np.array(y.shape)}
        elif self.y[0] is not None:
            arrays["y"] = np.concatenate(self.y)
        np.savez(self.stream, **arrays)


class _Svmlight:
    """Columns count from 1; without labels every row has label 0."""

    def __init__(self, stream: IO[bytes], names: Sequence[str]):
        self.stream = stream

    def write(self, X: Any, y: Any) -> None:
        y = np.zeros(X.shape[0], dtype=np.int64) if y is None else y
        if not sparse.issparse(y) and y.dtype.kind not in "biuf":
            raise ParameterError(
                f"svmlight files hold numbers for labels, but {str(y[0])!r} came. "
                "Write to .npz or .csv instead."
            )
        if sparse.issparse(X):  # scikit-learn writes no wide indices
            X = sparse.csr_array(
                (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape
            )
        dump_svmlight_file(X, y, self.stream, zero_based=False, multilabel=bool(sparse.issparse(y)))

    def finish(self) -> None:
        pass


class _Csv:
    """A header, and the label in the last column where there is one."""

    def __init__(self, stream: IO[bytes], names: Sequence[str]):
        self.text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
        self.rows = csv.writer(self.text, lineterminator="\n")
        self.names, self.begun = list(names), False

    def write(self, X: Any, y: Any) -> None:
        if sparse.issparse(y):
            raise ParameterError(
                "CSV files hold one label a row, but these rows have several. "
                "Write to .npz or .svm instead."
            )
        if not self.begun:
            label = next(name for name in _COLUMNS_OF_LABELS if name not in self.names)
            self.rows.writerow(self.names if y is None else [*self.names, label])
            self.begun = True
        for at in range(X.shape[0]):
            row = X[[at]].toarray()[0] if sparse.issparse(X) else X[at]
            cells = row.tolist()
            self.rows.writerow(cells if y is None else [*cells, y[at]])

    def finish(self) -> None:
        self.text.detach()


_WRITERS: dict[str, Callable[[IO[bytes], Sequence[str]], Writer]] = {
    ".npz": _Npz,
    ".svm": _Svmlight,
    ".svmlight": _Svmlight,
    ".libsvm": _Svmlight,
    ".csv": _Csv,
}


def format_of(path: str) -> tuple[Callable[[IO[bytes], Sequence[str]], Writer], bool]:
    """Return the writer for a path, and whether it is gzipped; ParameterError for none."""
    if path == "-":
        return _Csv, False
    suffix, zipped = suffix_of(path, _WRITERS)
    return _WRITERS[suffix], zipped
