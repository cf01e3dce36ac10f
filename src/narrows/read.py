"""`narrows.read`: labelled samples from files and tables, in chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from narrows.io.chunk import Options, names_of
from narrows.io.dataset import Dataset
from narrows.io.formats import arrow
from narrows.io.labels import labelled
from narrows.io.source import Source
from narrows.io.streams import MAX_LINE_MB
from narrows.methods.base import Reducer
from narrows.methods.names import source_of as known_source

__all__ = ["Dataset", "Source", "iter_chunks", "source_of"]


def iter_chunks(
    inputs: Any,
    *,
    label: str | None = None,
    text: str | Sequence[str] | None = None,
    vector: str | None = None,
    split: str | None = None,
    width: int | None = None,
    zero_based: bool | None = None,
    chunk_rows: int = 10_000,
    max_line_mb: int = MAX_LINE_MB,
    labels: str | None = None,
    target: str | Sequence[str] | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    no_header: bool = False,
) -> Iterator[tuple[Any, Any]]:
    r"""Read labelled samples from files, or a table, in chunks.

    Parameters
    ----------
    inputs : path, address, sequence of these, or table
        Files of one format, which the suffix names (see the page "File formats" of the
        documentation). Several files are one data set. ``"-"`` is standard input; its first line
        determines the format. pyarrow reads addresses such as ``s3://bucket/part.parquet``. Also
        any object with ``__arrow_c_stream__``: a table of polars, pandas, pyarrow or duckdb.
        Parquet, Arrow and ORC files and tables have one number in each column, or the lists
        ``indices`` and ``values``, or the columns that `text` or `vector` name.
    label : str, optional
        The column, JSON key or npz array with the labels. By default ``class`` or ``label`` in
        CSV, Parquet, Arrow, ORC and tables, ``label`` in JSON, and ``y`` (or the parts of an
        indicator matrix) in npz. For a ``.npy`` file, the path of another one with the labels; for
        ``.h5ad``, a column of ``obs``.
    text : str or sequence of str, optional
        The column of CSV, Parquet, Arrow, ORC or a table, or the JSON key, that holds texts;
        several are joined by a newline. The other columns, except the labels, are then ignored. By
        default ``text`` in JSON; without `text`, the columns of other formats are numbers.
    vector : str, optional
        The column of Parquet, Arrow, ORC or a table that holds each sample as a list of numbers.
        The other columns, except the labels, are then ignored.
    split : str, optional
        Read only the JSON lines with this value of ``split``.
    width : int, optional
        The number of features. By default svmlight chunks have the largest column number so far as
        width, so that later chunks may be wider.
    zero_based : bool, optional
        Whether svmlight columns are numbered from 0. By default they are if the files, which are
        searched first, have a column 0.
    chunk_rows : int, default=10_000
        The maximum number of samples in a chunk.
    max_line_mb : int, default=256
        The longest line of a text file, in millions of bytes; a longer one is an error. In CSV the
        limit is on rows, in which quoted cells may hold several lines.
    labels : {"text", "integer"}, optional
        The type of the labels. ``"text"`` reads numbers as the text that they are written as, and
        ``"integer"`` text such as ``01`` as the integer. By default the first chunk decides: labels
        are integers if all of them are numbers, or cells of CSV such as ``7`` and ``-1``, and text
        otherwise.
    target : str or sequence of str, optional
        The columns, JSON keys, npz arrays or ``.npy`` files of numbers to predict, in place of
        labels. The other columns are features. In svmlight, names for the numbers at the beginning
        of each line.
    separator : str, optional
        The character between the cells of CSV and TSV files. By default that of the suffix, or of a
        first line such as ``sep=;``.
    encoding : str, optional
        The encoding of CSV, TSV and JSON lines, such as ``"cp1252"``. By default UTF-8, or what a
        byte order mark says.
    no_header : bool, default=False
        Whether the first row of CSV and TSV files is a sample; columns are then ``x0``, ``x1``, …

    Yields
    ------
    X : csr_array or ndarray of shape (n_samples, n_features), or list of str
        A list for texts.
    y : ndarray of shape (n_samples,), csr_array of shape (n_samples, n_classes), or None
        None if the data have no labels. With `target`, float64, of shape (n_samples,) or
        (n_samples, n_targets).

    Raises
    ------
    ParameterError
        A suffix is not supported, files have different formats, or a pipe must be read twice.
    DataError
        A file holds an error; the message names the file and the line.
    FileNotFoundError
        A file does not exist.

    Warns
    -----
    UserWarning
        The last line of a svmlight or CSV file has no line end, so that its last number may be
        incomplete.

    See Also
    --------
    Dataset : Files of one format as one data set, with the line of each sample.
    Source : How files become features, as stored in models.
    source_of : Return the source of a fitted model.

    Notes
    -----
    **Cost**: one pass, after a fast search of svmlight files; the memory of one chunk.

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
        label,
        names_of(text),
        split,
        width,
        zero_based,
        chunk_rows=chunk_rows,
        max_line_mb=max_line_mb,
        vector=vector,
        labels=labels,
        target=names_of(target, "target"),
        separator=separator,
        encoding=encoding,
        no_header=no_header or None,
    )
    if hasattr(inputs, "__arrow_c_stream__"):
        name = type(inputs).__name__
        chunks = labelled(arrow.read_table(inputs, name, options), name, options)
    else:
        if isinstance(inputs, str | os.PathLike):
            inputs = [inputs]
        chunks = iter(Dataset([os.fspath(path) for path in inputs], options))
    for chunk in chunks:
        is_one = options.target is not None and chunk.y is not None and chunk.y.shape[1] == 1
        yield chunk.X, chunk.y[:, 0] if is_one else chunk.y


def source_of(estimator: Any) -> Source | None:
    """Return how files became the features of a fitted estimator.

    Parameters
    ----------
    estimator : narrows estimator
        A fitted estimator, usually one that `narrows.load` returned.

    Returns
    -------
    source : Source or None
        Names and numbering of columns, and in `tfidf` the vectoriser of texts. None for an
        estimator that was fitted to arrays, or to files without any of these.

    Raises
    ------
    TypeError
        The estimator does not belong to narrows.
    NotFittedError
        The estimator is not fitted.

    See Also
    --------
    iter_chunks : Read the files or texts that are to be transformed.
    narrows.load : Load a model from a file.

    Notes
    -----
    **Cost**: none; the estimator stores it.

    Examples
    --------
    >>> from narrows import OC, load
    >>> from narrows.read import source_of
    >>> source_of(OC().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])) is None
    True
    >>> model = load("mails.narrows")  # doctest: +SKIP
    >>> X = source_of(model).tfidf.transform(["a new mail"])  # doctest: +SKIP
    >>> model.transform(X)  # doctest: +SKIP
    """
    if not isinstance(estimator, Reducer):
        kind = type(estimator).__name__
        raise TypeError(f"expected an estimator of narrows, got {kind}. Pass a step of a pipeline.")
    check_is_fitted(estimator)
    found: Source | None = known_source(estimator)
    return found
