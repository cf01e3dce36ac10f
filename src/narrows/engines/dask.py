"""A Dask cluster: parts of a data set are learnt side by side, and their states added up.

Needs the extra ``dask``. In a script, work goes under ``if __name__ == "__main__":``, because a
local cluster starts processes that import it.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from logging import CRITICAL, getLogger
from multiprocessing import resource_tracker
from traceback import clear_frames
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length
from tqdm import tqdm

from narrows.engines import local
from narrows.engines.rows import SpreadRows, kept, rows_of, stats_of_rows
from narrows.engines.tree import LIMIT, TreeSum
from narrows.errors import DataError, ParameterError
from narrows.families._base import is_dask
from narrows.read import Dataset, Source, check_finite, expanded, hold_texts
from narrows.read.arrow import INDICES, VALUES, read_table
from narrows.read.chunk import LABELS, Chunk, Options, wanted_columns
from narrows.stats import ClassStats, checked_rows
from narrows.text import Tfidf, Vectoriser
from narrows.write import writer

__all__ = ["fit", "transform"]

IN_MEMORY = 4 * LIMIT  # bytes of a state that is brought home whole; more is put into files


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
          DataFrames of the same columns, or of `dask.delayed` of any of these.
    client : distributed.Client, optional
        Of the cluster. If left out, the client of the moment; where there is none a local cluster
        with one process for each core is started, and closed at the end.
    label, text, split, width, zero_based, chunk_rows
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
        Something wrong in a file or a part, named with the row.
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
    options = Options(label, text, split, width, zero_based, None, chunk_rows, needed)
    estimator.check_parameters()
    with _connected(client) as here:
        parts = Parts(here, partitions, options, progress)
        parts.look_at_files(vectoriser)
        estimator.fit_parts(parts)
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
    _distributed()
    from dask import array, delayed

    source, d = estimator.source_, estimator.n_features_in_
    given = {name: value for name, value in reading.items() if value is not None}
    options = Options(**{"width": d, "columns": estimator.file_columns(), **given})
    reduce, p = estimator.reducer(), len(estimator.get_feature_names_out())
    if output is not None:
        os.makedirs(output, exist_ok=True)
        with _connected(client) as here:
            alone = is_dask(partitions) and not _is_frame(partitions)
            parts = Parts(here, (partitions, None) if alone else partitions, options)
            parts.turn_into_columns_by(source)
            names = [str(name) for name in estimator.get_feature_names_out()]
            output = os.path.abspath(output)
            paths = [os.path.join(output, f"part-{k:05}.parquet") for k in range(len(parts.raw))]
            read = {os.path.realpath(raw) for raw in parts.raw if isinstance(raw, str)}
            for path in paths:
                if os.path.realpath(path) in read:
                    raise ParameterError(f"{path}: this is what is read; write to another folder.")
            reducer = kept(here, reduce)
            written = here.gather(
                [
                    parts.compute(_write, raw, where, reducer, names, path)
                    for raw, where, path in zip(parts.raw, parts.where, paths, strict=True)
                ]
            )
            return [path for path in written if path is not None]
    if isinstance(partitions, tuple) and is_dask(partitions[0]):
        partitions = partitions[0]
    if _is_frame(partitions) and not _has_lists(partitions):
        partitions = _numbers_of(partitions, options).to_dask_array()
    if not isinstance(partitions, array.Array):
        parts = Parts(None, partitions, options)
        parts.turn_into_columns_by(source)
        shared, reducer = delayed((options, source)), delayed(reduce)
        blocks = [
            delayed(_reduced_part)(shared, raw, where, reducer)
            for raw, where in zip(parts.raw, parts.where, strict=True)
        ]
        arrays = [array.from_delayed(b, (np.nan, p), meta=np.empty((0, 0))) for b in blocks]
        return array.concatenate(arrays, allow_unknown_chunksizes=True)
    X = _whole_rows(partitions)
    if X.shape[1] != d:
        raise ValueError(
            f"{type(estimator).__name__}: {d} columns wanted, but {X.shape[1]} came. "
            "Give those of the fit."
        )
    picks = hasattr(estimator, "get_support") and sparse.issparse(X._meta)
    dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
    meta = sparse.csr_array((0, 0), dtype=dtype) if picks else np.empty((0, 0), dtype)
    return X.map_blocks(
        _reduced_block,
        type(estimator).__name__,
        delayed(reduce),
        chunks=(X.chunks[0], (p,)),
        dtype=dtype,
        meta=meta,
    )


class Parts:
    """The parts of a data set, wherever they are, and what can be made of them.

    Parameters
    ----------
    client : distributed.Client or None
        Of the cluster; None where nothing is to be computed yet.
    partitions
        See `fit`.
    options : Options
        How to read files and tables.
    progress : bool
        Show how many are done.

    Attributes
    ----------
    raw, where : list
        What each part is, and how it is called in errors.
    """

    def __init__(self, client: Any, partitions: Any, options: Options, progress: bool = False):
        self.client, self.options, self.progress = client, options, progress
        self.names: list[str] | None = None
        self.source: Source | None = None
        self._source_there: Any = None  # where the workers find it
        self.raw = self._listed(partitions)
        if not self.raw:
            raise ValueError("narrows.engines.dask: there are no parts; at least one is wanted.")
        self.where = [
            raw if isinstance(raw, str) else f"partition {k}" for k, raw in enumerate(self.raw)
        ]
        self._files = [raw for raw in self.raw if isinstance(raw, str)]
        self._are_texts = bool(self._files) and hold_texts(self._files)

    def sum(self, estimator: Any) -> Any:
        """Return the sum of the states that the estimator makes of the parts."""
        alone = clone(estimator)
        with self._bar("learning") as bar:
            begin = self._begin(_state_of, alone)
            pieces = TreeSum(self.client, alone.add_states).of(begin, bar.update)
        first = pieces[0][2].result()
        if not isinstance(first, ClassStats):
            return first
        starts = [start for start, _, _ in pieces]

        def in_full(k: int) -> ClassStats:
            state: ClassStats = first if k == 0 else pieces[k][2].result()
            width = starts[k + 1] - starts[k] if k + 1 < len(starts) else state.n_features
            return state.widen(width) if width > state.n_features else state

        in_memory = sum(size for _, size, _ in pieces) <= IN_MEMORY
        return ClassStats.beside(map(in_full, range(len(pieces))), in_memory)

    def rows(self, estimator: Any) -> tuple[SpreadRows, ClassStats]:
        """Return the rows less their mean as an operator, and their sums by class.

        The rows stay on the workers.
        """
        with self._bar("reading") as bar:
            held = [begin() for begin in self._begin(_rows_of, clone(estimator))]
            states = [self._submitting(stats_of_rows, part) for part in held]
            pieces = TreeSum(self.client, ClassStats.__add__, None).of(states, bar.update)
        stats = ClassStats.beside([pieces[0][2].result()])
        return SpreadRows(self.client, held, stats), stats

    def compute(self, function: Callable[..., Any], raw: Any, where: str, *args: Any) -> Any:
        """Begin the work on one part; return its future."""
        from dask import delayed

        with warnings.catch_warnings():  # a part that is in memory here has to be sent
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            shared = (self.options, self._source_there)
            task = delayed(function, pure=False, traverse=True)(shared, raw, where, *args)
            return self.client.compute(task)

    def told(self, estimator: Any) -> Any:
        """Let a fitted estimator remember how its columns came about; return it."""
        if self.names is not None:
            estimator.feature_names_in_ = np.array(self.names, dtype=object)
        return estimator.remember(self.source)

    # -- inside -----------------------------------------------------------------------------

    def _begin(self, function: Callable[..., Any], *args: Any) -> list[Callable[[], Any]]:
        return [
            partial(self.compute, function, raw, where, *args)
            for raw, where in zip(self.raw, self.where, strict=True)
        ]

    def _submitting(self, function: Callable[..., Any], future: Any) -> Callable[[], Any]:
        return partial(self.client.submit, function, future, pure=False)

    def _bar(self, what: str) -> Any:
        return tqdm(total=len(self.raw), desc=what, unit="part", disable=not self.progress)

    def turn_into_columns_by(self, source: Source | None) -> None:
        """Let files become the columns that they were for an estimator when it was fitted."""
        if self._files and self._are_texts != (source is not None and source.tfidf is not None):
            made_of = ("numbers", "texts")
            raise ParameterError(
                f"{self._files[0]}: this file holds {made_of[self._are_texts]}, but "
                f"{made_of[not self._are_texts]} were learnt."
            )
        if source is not None and self.client is not None:
            self._source_there = kept(self.client, source)

    def look_at_files(self, vectoriser: Vectoriser | None = None) -> None:
        """Find out what only all files together tell, and count the terms of texts."""
        files = self._files
        if vectoriser is not None and not self._are_texts:
            raise ParameterError("a vectoriser was given, but it is for texts (.jsonl).")
        if not files:
            return
        found = self.client.gather(
            [self.client.submit(_surveyed, path, self.options, pure=False) for path in files]
        )
        for name, over in (("zero_based", any), ("several_labels", any), ("number_labels", all)):
            told = [getattr(each, name) for each in found]
            self.options = self.options.having(**{name: None if None in told else over(told)})
        self.source = self.client.submit(_source_of, files, self.options, pure=False).result()
        if self.source is not None and self.source.columns is not None:
            self.options = self.options.having(columns=self.source.columns)
        if not self._are_texts:
            return
        vectoriser = vectoriser or Tfidf()
        with self._bar("counting terms") as bar:
            counted = [self.compute(_counted, path, path, vectoriser) for path in files]
            for future in counted:
                vectoriser = vectoriser + future.result()
                bar.update()
        if not vectoriser.n_terms:
            raise DataError(files[0], "the texts hold no words.")
        self.source = replace(self.source or Source(), tfidf=vectoriser)
        self._source_there = kept(self.client, self.source)

    def _listed(self, partitions: Any) -> list[Any]:
        """The parts: paths, tuples (X, y), (X, y, weight), tables, or `delayed` of these."""
        from dask import is_dask_collection

        if isinstance(partitions, str | os.PathLike):
            return _paths(partitions)
        if _is_frame(partitions):
            self._name_columns(partitions)
            return list(partitions.to_delayed())
        if is_dask(partitions):
            raise TypeError(
                "narrows.engines.dask: rows and labels wanted, (X, y), but only one array came."
            )
        if isinstance(partitions, tuple) and is_dask(partitions[0]):
            return self._side_by_side(*partitions)
        if is_dask_collection(partitions):  # one `delayed`
            return [partitions]
        if isinstance(partitions, tuple) and hasattr(partitions[0], "shape"):
            return [partitions]
        listed: list[Any] = []
        for part in partitions:
            is_path = isinstance(part, str | os.PathLike)
            listed += _paths(part) if is_path else [part]
        frames = [part for part in listed if hasattr(type(part), "columns")]
        if frames and len(frames) == len(listed):
            self._name_columns(frames[0])
            if self.names is not None and self.options.columns is None:
                self.options = self.options.having(columns=tuple(self.names))
        return listed

    def _name_columns(self, frame: Any) -> None:
        if not _has_lists(frame):
            label = _label_of(frame, self.options)
            self.names = [str(name) for name in frame.columns if name != label]

    def _side_by_side(self, X: Any, y: Any = None, weight: Any = None) -> list[Any]:
        """Blocks of rows with their labels and weights."""
        if _is_frame(X):
            if all(isinstance(name, str) for name in X.columns):
                self.names = list(X.columns)
            rows, sizes = X.to_delayed(), (np.nan,) * X.npartitions
        else:
            X = _whole_rows(X)
            rows, sizes = X.to_delayed().ravel(), X.chunks[0]
        columns = [list(rows)]
        for name, other in (("y", y), ("sample_weight", weight)):
            if other is None and name == "sample_weight":
                continue
            columns.append(_blocks_of(other, name, sizes))
        return list(zip(*columns, strict=True))


def _blocks_of(y: Any, name: str, sizes: tuple[Any, ...]) -> list[Any]:
    """The labels or weights of each block of rows."""
    known = not any(np.isnan(size) for size in sizes)
    if y is None:
        return [None] * len(sizes)
    if is_dask(y):
        if hasattr(y, "chunks"):
            y = y.rechunk({1: -1}) if y.ndim > 1 else y
            if known and y.chunks[0] != sizes and not np.isnan(y.shape[0]):
                check_consistent_length(np.empty(sum(sizes)), np.empty(y.shape[0]))
                y = y.rechunk({0: sizes})
        blocks = np.ravel(y.to_delayed()).tolist()
        if len(blocks) != len(sizes):
            raise ValueError(
                f"narrows.engines.dask: {name} has {len(blocks)} blocks, but X has {len(sizes)}. "
                "Cut both alike, or call compute_chunk_sizes() on them first."
            )
        return blocks
    if not known:
        raise ValueError(
            f"narrows.engines.dask: the blocks of X have unknown sizes, so {name} has to be a "
            "dask collection of the same blocks. Or call X.compute_chunk_sizes() first."
        )
    y = y if sparse.issparse(y) else np.asarray(y)
    if y.shape[0] != sum(sizes):
        raise ValueError(f"narrows.engines.dask: X has {sum(sizes)} rows, {name} {y.shape[0]}.")
    stops = np.cumsum(sizes).tolist()
    return [y[stop - size : stop] for size, stop in zip(sizes, stops, strict=True)]


def _paths(path: Any) -> list[str]:
    """The files that a path or pattern names, as a worker in another folder finds them."""
    if path == "-":
        raise ParameterError("- (standard input) is for one machine, and not for a cluster.")
    return [os.path.abspath(found) for found in expanded([os.fspath(path)])]


def _is_frame(X: Any) -> bool:
    return is_dask(X) and hasattr(X, "columns")


def _label_of(frame: Any, options: Options) -> str | None:
    names = [options.label] if options.label else LABELS
    return next((name for name in names if name in frame.columns), None)


def _has_lists(frame: Any) -> bool:
    return {INDICES, VALUES} <= set(frame.columns)


def _numbers_of(frame: Any, options: Options) -> Any:
    """The columns of a dask DataFrame that are no labels, those of the fit in their order."""
    there = {str(name): name for name in frame.columns}
    wanted = wanted_columns(list(there), _label_of(frame, options), options, "DataFrame")
    return frame[[there[name] for name in wanted]]


def _whole_rows(X: Any) -> Any:
    """A dask array cut by rows only."""
    if X.ndim != 2:
        raise ValueError(
            f"narrows.engines.dask: rows of shape (n, d) wanted, but shape {X.shape} came."
        )
    return X.rechunk({1: -1})


# -- on the workers --------------------------------------------------------------------------------

Shared = tuple[Options, Source | None]


def _surveyed(path: str, options: Options) -> Options:
    return Dataset([path], options).options


def _source_of(files: list[str], options: Options) -> Source | None:
    """What a model has to remember of files."""
    for path in files:
        dataset = Dataset([path], options.having(may_be_empty=True))
        for _ in dataset:
            break
        else:
            continue
        break
    return dataset.source()


def _counted(shared: Shared, path: str, where: str, vectoriser: Vectoriser) -> Vectoriser:
    for chunk in Dataset([path], shared[0].having(may_be_empty=True)):
        vectoriser.update(chunk.X)
    return vectoriser


def _chunks(shared: Shared, raw: Any, where: str) -> Iterator[tuple[Any, ...]]:
    """The rows, labels and weights of a part, finite."""
    options, source = shared
    if isinstance(raw, np.ndarray) or sparse.issparse(raw):
        raw = raw, None
    if isinstance(raw, str | os.PathLike):
        tfidf = None if source is None else source.tfidf
        for chunk in Dataset([os.fspath(raw)], options.having(may_be_empty=True), source):
            yield chunk.X if tfidf is None else tfidf.transform(chunk.X), chunk.y
    elif isinstance(raw, tuple | list):
        X, y, *weight = raw
        X = checked_rows(X, finite=False)
        check_finite(Chunk(X, y, range(1, X.shape[0] + 1)), where)
        yield X, y, *weight
    else:
        for chunk in read_table(raw, where, options):
            check_finite(chunk, where)
            yield chunk.X, chunk.y


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Say which part it is where something is wrong with it."""
    try:
        yield
    except (DataError, ParameterError):
        raise
    except (ValueError, TypeError) as error:
        raise DataError(where, str(error)) from error


def _state_of(shared: Shared, raw: Any, where: str, estimator: Any) -> Any:
    """The state of a part; one that has no rows has no columns either."""
    with _named(where):
        state = local.learn(estimator, _chunks(shared, raw, where))
        return estimator.empty_state(0) if state is None else state


def _rows_of(shared: Shared, raw: Any, where: str, estimator: Any) -> Any:
    """All rows of a part with one label each and a weight."""
    with _named(where):
        return rows_of(_chunks(shared, raw, where), type(estimator).__name__)


def _reduced_part(shared: Shared, raw: Any, where: str, reduce: Callable[[Any], Any]) -> Any:
    with _named(where):
        parts = [reduce(chunk[0]) for chunk in _chunks(shared, raw, where)]
        if not parts:
            shape = (0, shared[0].width)
            named = shared[0].columns is not None
            parts = [reduce(np.empty(shape) if named else sparse.csr_array(shape))]
        return sparse.vstack(parts) if any(map(sparse.issparse, parts)) else np.vstack(parts)


def _reduced_block(X: Any, who: str, reduce: Callable[[Any], Any]) -> Any:
    return reduce(checked_rows(X, who))


def _write(
    shared: Shared,
    raw: Any,
    where: str,
    reduce: Callable[[Any], Any],
    names: Sequence[str],
    path: str,
) -> str | None:
    """Write the reduced rows of a part, with their labels, to a file, where there are any."""
    with _named(where):
        chunks = (chunk for chunk in _chunks(shared, raw, where) if chunk[0].shape[0])
        first = next(chunks, None)
        if first is None:
            return None
        with writer(path, names) as out:
            for X, y, *_ in chain([first], chunks):
                out.write(reduce(X), y)
    return path


# -- the cluster -----------------------------------------------------------------------------------


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ImportError("clusters need the extra `dask`: pip install narrows[dask]") from None
    return distributed


@contextmanager
def _connected(client: Any) -> Iterator[Any]:
    """The client given, or that of the moment, or one of a local cluster, which is closed."""
    distributed = _distributed()
    ours = ExitStack()
    if client is None:
        client = _of_the_moment(distributed, ours)
    elif isinstance(client, str):
        try:
            client = ours.enter_context(distributed.Client(client, set_as_default=False))
        except (OSError, TimeoutError, ValueError) as error:
            raise ConnectionError(f"no Dask scheduler answers at {client}: {error}") from None
    address = client.scheduler.address if client.scheduler else "?"
    try:
        with _letting_go():
            yield client
    except distributed.KilledWorker as error:
        raise ConnectionError(
            f"workers of the Dask cluster at {address} died again and again on one part, most "
            f"often for want of memory; give more of it, or smaller parts. {error}"
        ) from None
    except (CancelledError, distributed.comm.CommClosedError) as error:
        raise ConnectionError(
            f"the Dask scheduler at {address} was lost, and with it what was learnt; start it "
            f"again, and the fit. ({type(error).__name__}: {error})"
        ) from None
    finally:
        ours.close()


def _of_the_moment(distributed: Any, ours: ExitStack) -> Any:
    """The client of the task that this is in, or the default one, or of a cluster that is ours."""
    try:
        distributed.get_worker()
    except ValueError:
        pass
    else:
        return ours.enter_context(distributed.worker_client())
    try:
        return distributed.default_client()
    except ValueError:
        for name in ("distributed", "asyncio"):  # what goes wrong is said in our own words
            getLogger(name).setLevel(CRITICAL)
    with _deaf_to_interrupts():
        cluster = ours.enter_context(
            distributed.LocalCluster(
                threads_per_worker=1, dashboard_address=":0", silence_logs=CRITICAL
            )
        )
    # not the default one: another fit, in another thread, would lose it with this one's end
    return ours.enter_context(distributed.Client(cluster, set_as_default=False))


@contextmanager
def _letting_go() -> Iterator[None]:
    """Let nothing stay on the cluster after an error: its frames hold futures, and these it."""
    try:
        yield
    except BaseException as error:
        clear_frames(error.__traceback__)
        raise


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Let processes begin to whom a Ctrl-C says nothing: it is for the one that began them."""
    resource_tracker.ensure_running()  # which would undo it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
