"""Samples are written to files of any format, chunk by chunk; texts to JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError
from narrows.io import formats, streams
from narrows.io.atomic import replacing
from narrows.io.chunk import row_of
from narrows.io.formats.base import Writer
from narrows.io.kinds import output_kind
from narrows.solve.sums import blocks, widened

_CELLS = 4_000_000  # of sparse samples that become dense at a time, at most
_NUMBERS, _TEXT = "labels that are numbers", "labels that are text"
_AS_TEXT = "Set `labels` to text, or write to separate outputs."


class SampleWriter:
    """Passes samples to a writer; the first chunk decides the types of all of them.

    These are the types of values and labels, whether labels are present, whether they are text,
    numbers or several per sample, and whether samples are sparse. Later chunks are cast where no
    value changes.

    Parameters
    ----------
    writer : Writer
        Of the format.
    """

    def __init__(self, writer: Writer):
        self.writer = writer
        self._labels: Any = None

    def write(self, X: Any, y: Any, name: str = "", lines: Sequence[int] | Any = ()) -> None:
        """Add samples.

        Parameters
        ----------
        X : csr_array or ndarray of shape (n_samples, n_features), or list of str
            The samples, or texts.
        y : ndarray of shape (n_samples,) or (n_samples, n_targets), csr_array of shape \
(n_samples, n_classes), or None
            Their labels or targets.
        name : str
            The file that they come from, for errors.
        lines : sequence of int
            The line of each sample in it, for errors.

        Raises
        ------
        DataError, ParameterError
            Samples or labels unlike those of the first chunk; a DataError names the file.
        """
        texts = isinstance(X, list)
        if self._labels is None:  # these are the first samples
            self._dtype: Any = None if texts else self._fixed(X.dtype)
            self._sparse, self._width = sparse.issparse(X), 0 if texts else X.shape[1]
            self._labels = _kind(y) if _kind(y) != _NUMBERS else self._fixed(y.dtype)
        self._name, self._lines = name, lines
        y = self._as_first_labels(y)
        if not texts:
            X = self._as_first_rows(X)
        if self._sparse:
            X = sparse.csr_array(X)
        if texts or sparse.issparse(X) == self._sparse:
            self.writer.write(X, y)
            return
        X = widened(X, self._width)
        for rows in blocks(X.shape[0], max(1, _CELLS // max(1, self._width))):
            self.writer.write(X[rows].toarray(), None if y is None else y[rows])

    def _fixed(self, dtype: np.dtype) -> np.dtype:
        """Return the type of all numbers, where this is the type of the first ones."""
        if self.writer.typed or dtype.kind not in "biuf" or dtype.itemsize >= 8:
            return dtype
        return np.dtype(np.float64 if dtype.kind == "f" else np.int64)

    def _as_first_labels(self, y: Any) -> Any:
        kind, fixed = _kind(y), self._labels
        first = fixed if isinstance(fixed, str) else _NUMBERS
        if kind != first:
            advice = (
                _AS_TEXT if {kind, first} == {_NUMBERS, _TEXT} else "Write to separate outputs."
            )
            problem = f"expected {first}, as in the rows before, got {kind}."
            self._refuse(problem, advice=advice)
        return y if kind != _NUMBERS else self._cast(y, fixed, "labels")

    def _as_first_rows(self, X: Any) -> Any:
        width = X.shape[1]
        is_fixed = not (self._sparse or (sparse.issparse(X) and width < self._width))
        if is_fixed and width != self._width:
            self._refuse(f"expected {self._width} columns, as in the rows before, got {width}.")
        if X.dtype == self._dtype:
            return X
        if not sparse.issparse(X):
            return self._cast(X, self._dtype, "values")
        X = sparse.csr_array(X)
        data = self._cast(X.data, self._dtype, "values", X.indptr)
        return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)

    def _cast(
        self, numbers: np.ndarray, dtype: np.dtype, what: str, indptr: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the numbers as `dtype`; raise where one of them would change."""
        if numbers.dtype == dtype:
            return numbers
        with np.errstate(all="ignore"):
            cast = numbers.astype(dtype)
            back = cast.astype(numbers.dtype)
        # signs too: an integer that wraps around is cast back to itself
        same = (back == numbers) & ((cast < 0) == (numbers < 0))
        same |= (cast != cast) & (numbers != numbers)
        if not same.all():
            first = tuple(index[0] for index in np.nonzero(~same))
            self._refuse(
                f"expected {what} that {dtype} holds, as in the rows before, got "
                f"{numbers[first].item()!r}.",
                int(first[0]) if indptr is None else row_of(first[0], indptr),
                "Name the files with the wider type first.",
            )
        return cast

    def _refuse(
        self, problem: str, row: int | None = None, advice: str = "Write to separate outputs."
    ) -> NoReturn:
        """Raise: a chunk is unlike the first one, from this row of it on."""
        if not self._name:
            raise ParameterError(f"{problem} {advice}")
        line = None if row is None or not len(self._lines) else int(self._lines[row])
        raise DataError(self._name, f"{problem} {advice}", line)


def _kind(y: Any) -> str:
    """Return the kind of labels, in words."""
    if y is None:
        return "no labels"
    if sparse.issparse(y):
        return "several labels per sample"
    return _NUMBERS if y.dtype.kind in "biuf" else _TEXT


@contextmanager
def writer(
    path: str,
    names: Sequence[str] | None,
    texts: bool = False,
    csv_safe: bool = False,
    targets: Sequence[str] | None = None,
) -> Iterator[SampleWriter]:
    """Give a writer for the format of `path`; the file appears when the block succeeds.

    Parameters
    ----------
    path : str
        Its suffix names the format; ``.gz``, ``.bz2``, ``.xz`` or
        ``.zst`` may follow it in text formats. "-" is standard output:
        CSV, or JSON lines for texts.
    names : sequence of str, optional
        Feature names, for CSV and dense samples in Parquet and Arrow; x0, x1, … if left out.
    texts : bool
        Whether samples are texts, not numbers.
    csv_safe : bool
        For CSV: put an apostrophe before names of columns and text labels that a spreadsheet
        would take for formulas.
    targets : sequence of str, optional
        Names of the columns of numeric targets, for CSV, Parquet and Arrow.

    Raises
    ------
    ParameterError
        The suffix is not supported, or is not for texts, or only for texts.
    """
    kind, compressed = output_kind(path, texts)
    format = formats.of_kind(kind)
    settings = {}
    if csv_safe:
        settings["csv_safe"] = True
        if "csv_safe" not in format.options:
            raise ParameterError(
                f"{path}: expected no `csv_safe`, which {format.name} does not support, "
                "got it. Leave it out."
            )
    with ExitStack() as opened:
        if path == "-":
            stream: Any = sys.stdout.buffer
        else:
            raw = opened.enter_context(open(opened.enter_context(replacing(path)), "wb"))
            stream = opened.enter_context(streams.compressed(raw, compressed))
        out = format.writer(stream, names, **settings)
        out.targets = targets or ()
        yield SampleWriter(out)
        out.finish()
        if path == "-":
            stream.flush()
