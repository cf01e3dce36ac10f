"""`narrows.read`: labelled samples from files and tables, in chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from narrows.io.chunk import Options
from narrows.io.dataset import Dataset, check_finite
from narrows.io.formats import arrow
from narrows.io.lines import MAX_LINE_MB
from narrows.io.source import Source

__all__ = ["Dataset", "Source", "iter_chunks"]


def iter_chunks(
    inputs: Any,
    *,
    label: str | None = None,
    text: str | None = None,
    split: str | None = None,
    width: int | None = None,
    zero_based: bool | None = None,
    chunk_rows: int = 10_000,
    max_line_mb: int = MAX_LINE_MB,
) -> Iterator[tuple[Any, Any]]:
    r"""Read files, or a table, as (X, y), a number of rows at a time.

    Parameters
    ----------
    inputs : path, sequence of paths, or table
        Files of one format, known by its suffix: ``.svm .svmlight .libsvm .csv .jsonl`` (with
        ``.gz`` too), ``.npz``, ``.parquet``; several are one data set. ``"-"`` is standard input,
        its format known by its first line. Or anything with ``__arrow_c_stream__``: a table of
        polars, pandas, pyarrow, duckdb. Parquet and tables have one number in each column, or the
        lists ``indices`` and ``values``.
    label : str, optional
        The column, JSON key or npz array with the labels. In CSV, Parquet and tables ``class``
        or ``label``, in JSON ``label``, in npz ``y`` (or the parts of an indicator matrix) if left
        out.
    text : str, optional
        The JSON key with the text, ``text`` if left out.
    split : str, optional
        Keep only the JSON lines whose ``split`` is this.
    width : int, optional
        d, the number of columns. Without it svmlight rows are as wide as the largest column
        number so far, so later chunks may be wider.
    zero_based : bool, optional
        Whether svmlight columns count from 0. If left out, the files are searched for a
        column 0 first.
    chunk_rows : int, default=10_000
        Rows in a chunk, at most.
    max_line_mb : int, default=256
        The longest line of a text file, in millions of bytes; a longer one is an error. In CSV the
        longest row, where quoted cells hold several lines. In lines of more than 4 MB each comma
        or opening bracket counts for 16 bytes more.

    Yields
    ------
    X : csr_array or ndarray of shape (n, d), or list of str
        A list for JSON lines of text.
    y : ndarray of shape (n,), csr_array of shape (n, c), or None
        None where the data hold no labels.

    Raises
    ------
    ParameterError
        An unknown suffix, mixed formats, a pipe that would have to be read twice.
    DataError
        Something wrong inside a file, named with the line.
    FileNotFoundError
        No such file.

    Warns
    -----
    UserWarning
        The last line of a svmlight or CSV file has no end: its last number may lack digits.

    Notes
    -----
    **Cost**: one pass, and a fast search before it for svmlight; the memory of one chunk.

    Examples
    --------
    >>> import os, tempfile
    >>> from narrows import OC
    >>> from narrows.read import iter_chunks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "three.svm")
    ...     with open(path, "w") as file:
    ...         _ = file.write("0 1:2.5\n1 2:1.5\n1 2:0.5 3:1\n")
    ...     oc = OC()
    ...     for X, y in iter_chunks(path, width=3):
    ...         oc = oc.partial_fit(X, y)
    >>> oc.components_.shape, oc.class_count_.tolist()
    ((1, 3), [1.0, 2.0])
    """
    options = Options(
        label, text, split, width, zero_based, None, chunk_rows, max_line_mb=max_line_mb
    )
    if hasattr(inputs, "__arrow_c_stream__"):
        name = type(inputs).__name__
        for chunk in arrow.read_table(inputs, name, options):
            check_finite(chunk, name)
            yield chunk.X, chunk.y
        return
    if isinstance(inputs, str | os.PathLike):
        inputs = [inputs]
    for chunk in Dataset([os.fspath(path) for path in inputs], options):
        yield chunk.X, chunk.y
