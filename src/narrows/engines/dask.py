"""A Dask cluster: parts of a data set are learnt side by side, and their states added up.

Needs the extra ``dask``. In a script, work goes under ``if __name__ == "__main__":``, because a
local cluster starts processes that import it.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags

from narrows.engines.cluster import connected, need_distributed
from narrows.engines.parts import Parts, has_lists, is_frame, numbers_of, whole_rows
from narrows.engines.rows import kept
from narrows.engines.there import reduced_block, reduced_part, write_reduced
from narrows.families._elsewhere import is_dask
from narrows.io.chunk import Options
from narrows.io.lines import MAX_LINE_MB
from narrows.solve.errors import ParameterError
from narrows.text import Vectoriser

__all__ = ["fit", "transform"]


def fit(
    estimator: Any,
    partitions: Any,
    client: Any = None,
    *,
    label: str | None = None,
    text: str | None = None,
    split: str | None = None,
    width: int | None = None,
    zero_based: bool | None = None,
    chunk_rows: int = 10_000,
    max_line_mb: int = MAX_LINE_MB,
    vectoriser: Vectoriser | None = None,
    progress: bool = False,
) -> Any:
    """Fit an estimator to a data set in parts, each of which a worker reads and learns.

    ::

        state = state(part 1) + state(part 2) + ...,  added two by two as a tree

    Parameters
    ----------
    estimator : narrows estimator
        An exact method that adds up (all selectors, OC, OCM): the answer is that of a local fit.
        MMC and SRDA: their products with the rows are made where the rows are. OnlineSRDA: by its
        approximate merge. The others are refused, and the message names what to use.
    partitions : dask collection, tuple, or list
        - a tuple (X, y) or (X, y, sample_weight) of dask arrays of shape (n, d) and (n,), their
          blocks dense or scipy sparse; y also a NumPy array, or a 0-1 indicator matrix;
        - a dask DataFrame, with a label column and a number in each other one, or the lists
          ``indices`` and ``values``; or a tuple (DataFrame, Series);
        - a list, of paths or patterns such as ``"shards/*.parquet"`` (each file is read by one
          worker, which has to find it under that name), of (X, y) or (X, y, sample_weight), of
          DataFrames of the same columns, or of `dask.delayed` of any of these. Dense parts need the
          same number of features, named ones the same names; sparse ones may have fewer or more.
    client : distributed.Client, optional
        Of the cluster. If left out, the client of the moment; where there is none a local cluster
        with one process for each core is started, and closed at the end.
    label, text, split, width, zero_based, chunk_rows, max_line_mb
        How to read files and tables; see `narrows.read.iter_chunks`.
    vectoriser : Vectoriser, optional
        What counts the terms of texts (JSON lines); `Tfidf` if left out. The texts are then read
        twice.
    progress : bool, default=False
        Show on stderr how many parts are done.

    Returns
    -------
    estimator : the same, fitted

    Raises
    ------
    ParameterError
        A method that needs rows in order, or a `half_life`; files of several formats.
    DataError
        Something wrong in a file or a part, named with the row; a part whose features differ.
    ConnectionError
        The scheduler cannot be reached or was lost, or workers died again and again.

    Warns
    -----
    UserWarning
        OnlineSRDA: what is merged is an approximation.

    Notes
    -----
    **Cost**: that of a local fit, divided by the number of workers; over the network goes one state
    a part, at most 8 c d bytes, and about 12 for each of its non-zeros where that is less. States
    of more than 100 MB are cut by columns, so that no process holds more than a few such pieces.
    More than 400 MB in all are not brought home into memory but into temporary files. A worker
    that dies is replaced by Dask, and its parts are learnt again.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from narrows import OC
    >>> from narrows.engines.dask import fit
    >>> X, y = (da.from_array(a, chunks=50) for a in load_iris(return_X_y=True))
    >>> with Client(processes=False, dashboard_address=None) as client:  # or of a cluster
    ...     fit(OC(), (X, y), client)
    OC()
    """
    needed = get_tags(estimator).target_tags.required
    options = Options(
        label, text, split, width, zero_based, None, chunk_rows, needed, max_line_mb=max_line_mb
    )
    estimator._check_parameters_alone()
    with connected(client) as here:
        parts = Parts(here, partitions, options, progress)
        parts.look_at_files(vectoriser)
        estimator._fit_parts(parts)
    return parts.told(estimator)


def transform(
    estimator: Any,
    partitions: Any,
    output: str | None = None,
    client: Any = None,
    **reading: Any,
) -> Any:
    """Reduce the parts of a data set, each where it is.

    Parameters
    ----------
    estimator : narrows estimator
        Fitted.
    partitions : dask collection or list
        As for `fit`; labels are not needed. For files the options that the estimator was fitted
        with are remembered, and the columns of files and tables are found by their names where the
        fit saw any.
    output : str, optional
        A folder, made if need be: the reduced rows are written there, with their labels, a Parquet
        file for each part that has rows, ``part-00000.parquet`` and so on, each in its place at
        once. Other files that are there stay.
    client : distributed.Client, optional
        As for `fit`; only used with `output`.
    **reading
        How to read files and tables, as for `fit`.

    Returns
    -------
    X_r : dask array of shape (n, p)
        Of nothing computed yet; its blocks are CSR where a selector picks columns of sparse rows.
        The number of rows is unknown (NaN) where that of the parts is. With `output` the list of
        the files written.

    Raises
    ------
    ParameterError
        A file that would take the place of one that is read, or texts where numbers were learnt.
    DataError
        Something wrong in a file or a part, when it is computed or written.
    ConnectionError
        As for `fit`.

    Notes
    -----
    **Cost**: every worker gets W, 8 p d bytes, or the numbers of the columns picked.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from narrows import OC
    >>> from narrows.engines.dask import transform
    >>> X, y = load_iris(return_X_y=True)
    >>> reduced = transform(OC().fit(X, y), da.from_array(X, chunks=50))
    >>> reduced.shape, reduced.compute().shape
    ((150, 2), (150, 2))
    """
    need_distributed()
    from dask import array, delayed

    source, d = estimator._source, estimator.n_features_in_
    given = {name: value for name, value in reading.items() if value is not None}
    options = Options(**{"width": d, "columns": estimator._file_columns(), **given})
    reduce, p = estimator._reducer(), len(estimator.get_feature_names_out())
    if output is not None:
        with connected(client) as here:
            alone = is_dask(partitions) and not is_frame(partitions)
            parts = Parts(here, (partitions, None) if alone else partitions, options)
            parts.turn_into_columns_by(source)
            names = [str(name) for name in estimator.get_feature_names_out()]
            output = os.path.abspath(output)
            paths = [os.path.join(output, f"part-{k:05}.parquet") for k in range(len(parts.raw))]
            read = {os.path.realpath(raw) for raw in parts.raw if isinstance(raw, str)}
            for path in paths:
                if os.path.realpath(path) in read:
                    raise ParameterError(f"{path}: this is what is read; write to another folder.")
            os.makedirs(output, exist_ok=True)
            reducer = kept(here, reduce)
            written = here.gather(
                [
                    parts.compute(write_reduced, raw, where, reducer, names, path)
                    for raw, where, path in zip(parts.raw, parts.where, paths, strict=True)
                ]
            )
            return [path for path in written if path is not None]
    if isinstance(partitions, tuple) and is_dask(partitions[0]):
        partitions = partitions[0]
    if is_frame(partitions) and not has_lists(partitions):
        partitions = numbers_of(partitions, options).to_dask_array()
    if not isinstance(partitions, array.Array):
        parts = Parts(None, partitions, options)
        parts.turn_into_columns_by(source)
        shared, reducer = delayed((options, source)), delayed(reduce)
        blocks = [
            delayed(reduced_part)(shared, raw, where, reducer)
            for raw, where in zip(parts.raw, parts.where, strict=True)
        ]
        arrays = [array.from_delayed(b, (np.nan, p), meta=np.empty((0, 0))) for b in blocks]
        return array.concatenate(arrays, allow_unknown_chunksizes=True)
    X = whole_rows(partitions)
    if X.shape[1] != d:
        raise ValueError(
            f"{type(estimator).__name__}: {d} columns wanted, but {X.shape[1]} came. "
            "Give those of the fit."
        )
    picks = hasattr(estimator, "get_support") and sparse.issparse(X._meta)
    dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
    meta = sparse.csr_array((0, 0), dtype=dtype) if picks else np.empty((0, 0), dtype)
    return X.map_blocks(
        reduced_block,
        type(estimator).__name__,
        delayed(reduce),
        chunks=(X.chunks[0], (p,)),
        dtype=dtype,
        meta=meta,
    )
