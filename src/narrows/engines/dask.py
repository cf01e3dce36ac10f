"""Fit and transform on a Dask cluster, whose workers learn the parts of a data set.

Needs the extra ``dask``. In a script, work goes under ``if __name__ == "__main__":``, because a
local cluster starts processes that import it.
"""

from __future__ import annotations

import operator
import signal
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from logging import CRITICAL
from multiprocessing import resource_tracker
from threading import Lock
from traceback import clear_frames
from typing import Any
from uuid import uuid4

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length

from narrows.engines import parts
from narrows.engines.engine import Engine, Function
from narrows.engines.learn import reduce_part
from narrows.engines.parts import feature_names, label_of, list_parts
from narrows.io.chunk import Options, feature_columns, for_targets
from narrows.io.extras import needing
from narrows.io.streams import MAX_LINE_MB
from narrows.methods.base import reducer_of
from narrows.methods.names import source_of
from narrows.moments.labels import as_array
from narrows.moments.targets import as_samples
from narrows.solve.arrays import output_of
from narrows.solve.in_place import SignalsHeld
from narrows.table import TableEncoder
from narrows.text import Vectoriser

__all__ = ["fit", "transform"]

_OURS = Lock()  # a cluster of ours has all cores, and its limits are those of the process
_WAIT = "5 minutes"  # for workers of a cluster of ours to start, and to come back
_LIMITS = {
    "distributed.scheduler.no-workers-timeout": _WAIT,
    # after which a worker that is being restarted is closed for good: 15 s on a busy machine
    "distributed.deploy.lost-worker-timeout": _WAIT,
}


def fit(
    estimator: Any,
    partitions: Any,
    client: Any = None,
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
    vectoriser: Vectoriser | TableEncoder | None = None,
    progress: bool = False,
    target: str | Sequence[str] | None = None,
) -> Any:
    """Fit an estimator to the parts of a data set on a Dask cluster.

    ::

        state = state(part 1) + state(part 2) + ...,  added two by two as a tree

    Parameters
    ----------
    estimator : narrows estimator
        All selectors, OC, OCM and, for at most 8,192 features, SRDA, LDA, MMC and PCA give the
        result of a local fit, because their states add up; KernelSRDA does so in two passes.
        OnlineSRDA is merged approximately. Other methods raise an error that names an alternative.
    partitions : dask collection, tuple, or list
        - A tuple (X, y) or (X, y, sample_weight) of dask arrays of shape (n_samples, n_features)
          and (n_samples,), with dense or SciPy sparse blocks. y may also be a NumPy array, or a
          0-1 indicator matrix.
        - A dask DataFrame with a label column, and either one number in each other column or the
          lists ``indices`` and ``values``; or a tuple (DataFrame, Series).
        - A list of paths or patterns such as ``"shards/*.parquet"``, of (X, y) or
          (X, y, sample_weight), of DataFrames with the same columns, or of `dask.delayed` of any
          of these. One worker reads each file, under this path. Dense parts
          need the same number of features, and named features the same names. Sparse parts may
          differ in width.
    client : distributed.Client, optional
        The client of a cluster, or the address of its scheduler. By default the current client; if
        there is none, a local cluster with one process for each core is started, and closed at the
        end.
    label, text, vector, split, width, zero_based, chunk_rows, max_line_mb, labels, target
        How to read files and tables; see `narrows.read.iter_chunks`.
    vectoriser : Vectoriser or TableEncoder, optional
        Counts the terms of texts, in a separate pass; `narrows.text.Tfidf` by default. A
        `narrows.table.TableEncoder` encodes CSV and Parquet files, and DataFrames with a label
        column, whose columns are no numbers: the first 50,000 rows decide on the columns. The
        estimator stores a fitted copy.
    progress : bool, default=False
        Show on stderr how many parts are done.

    Returns
    -------
    estimator : narrows estimator
        The same estimator, fitted.

    Raises
    ------
    ParameterError
        The method needs samples in order or all in one place, or has a `half_life`, or the files
        differ in format.
    DataError
        A file or a part is damaged, or its features differ from those of other parts. The message
        names the file or part, and the row.
    ConnectionError
        The scheduler cannot be reached or was lost, or workers died repeatedly.

    Warns
    -----
    UserWarning
        OnlineSRDA: the merged result is an approximation.

    See Also
    --------
    transform : Reduce the parts of a data set on a cluster.
    narrows.read.iter_chunks : Read a data set in chunks, in this process.
    narrows.Moments : The sums that add up.

    Notes
    -----
    **Cost**: that of a local fit, divided by the number of workers. Each part sends one state over
    the network: at most 8 c d bytes, or about 12 bytes for each of its non-zeros if that is less.
    States of SRDA, LDA, MMC and PCA have 4 d^2 bytes on the network and 8 d^2 in memory, and those
    of SRDA and LDA hold up to 2,000 samples. Each worker holds a few states in memory, however many
    parts there are. `ForwardFS` reads all parts again if only a later one has more than 8,192
    features. Dask replaces a worker that dies, and its parts are learned again.

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
    options = parts.options_to_fit(
        estimator, label=label, text=text, vector=vector, split=split, width=width,
        zero_based=zero_based, chunk_rows=chunk_rows, max_line_mb=max_line_mb,
        labels=labels, target=target,
    )  # fmt: skip
    if _is_frame(partitions):
        options = for_targets(estimator, options)
    with _connect(client) as connected:
        data, names = _parts(partitions, options)
        return parts.fit(Dask(connected), estimator, data, options, names, vectoriser, progress)


def transform(
    estimator: Any,
    partitions: Any,
    output: str | None = None,
    client: Any = None,
    **reading: Any,
) -> Any:
    """Reduce the parts of a data set, each on one worker.

    Parameters
    ----------
    estimator : narrows estimator
        A fitted estimator.
    partitions : dask collection or list
        As for `fit`; labels are not needed. Files are read with the options of the fit. The
        features of files and tables are found by name if the fit saw names.
    output : str, optional
        A folder, created if necessary. The reduced samples and their labels are written there, one
        Parquet file for each part that has samples, named ``part-00000.parquet`` and so on. Other
        files in the folder are kept.
    client : distributed.Client, optional
        As for `fit`; only used with `output`.
    **reading
        How to read files and tables, as for `fit`.

    Returns
    -------
    X_r : dask array of shape (n_samples, n_components)
        A lazy array; its blocks are CSR if a selector picks features of sparse samples. The number
        of samples is unknown (NaN) if that of the parts is. Of a DataFrame, after
        ``estimator.set_output(transform="pandas")``, a lazy DataFrame with its index and the names
        of the features out. With `output`, the list of the files written.

    Raises
    ------
    ParameterError
        An output file is also an input, or the files hold texts and the fit saw numbers.
    DataError
        A file or a part is damaged; raised when it is computed or written.
    ConnectionError
        As for `fit`.

    See Also
    --------
    fit : Fit an estimator on a cluster.
    narrows.load : Read a fitted estimator from a file.

    Notes
    -----
    **Cost**: each worker receives W, 8 p d bytes, or the numbers of the selected features.

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
    _import_distributed()
    from dask import array, delayed
    from dask.array.utils import meta_from_array

    reduce, source, d = reducer_of(estimator), source_of(estimator), estimator.n_features_in_
    options = parts.options_for(estimator, reading)
    if output is not None:
        with _connect(client) as connected:
            if _is_dask(partitions) and not _is_frame(partitions):
                partitions = partitions, None
            data, _ = _parts(partitions, options)
            return parts.transform(Dask(connected), estimator, data, options, output)
    p = len(estimator.get_feature_names_out())
    if isinstance(partitions, tuple) and _is_dask(partitions[0]):
        partitions = partitions[0]
    if _is_frame(partitions) and source is not None:
        found = {name: getattr(source, name) for name in ("text", "vector", "target")}
        options = options.with_found(found)
    is_table = source is not None and source.encoder is not None
    if _is_frame(partitions) and not is_table and feature_names(partitions, options) is not None:
        columns = {str(name): name for name in partitions.columns}
        label = label_of(partitions, options)
        features = feature_columns(list(columns), label, options, "DataFrame")
        partitions = partitions[[columns[name] for name in features]]
        if output_of(estimator) == "pandas":
            from dask import dataframe
            from dask.dataframe.dispatch import make_meta

            names, empty = estimator.get_feature_names_out(), make_meta(partitions)
            is_single = empty.to_numpy().dtype == np.float32
            none = np.empty((0, p), np.float32 if is_single else np.float64)
            meta = type(empty)(none, index=empty.index, columns=names)
            shared = delayed(reduce), delayed(names)  # map_partitions of old versions leaves these
            blocks = [delayed(_reduce_frame)(part, *shared) for part in partitions.to_delayed()]
            ends = partitions.divisions if partitions.known_divisions else None
            return dataframe.from_delayed(blocks, meta, ends, verify_meta=False)
        partitions = partitions.to_dask_array()
    if not isinstance(partitions, array.Array):
        listed = parts.Parts(Dask(None), _parts(partitions, options)[0], options)
        listed.use_source(source)
        shared = delayed((options, source)), delayed(reduce)
        blocks = [delayed(reduce_part)(part, *shared) for part in listed.parts]
        arrays = [array.from_delayed(b, (np.nan, p), meta=np.empty((0, 0))) for b in blocks]
        return array.concatenate(arrays, allow_unknown_chunksizes=True)
    X = _whole_samples(partitions)
    if X.shape[1] != d:
        raise ValueError(
            f"expected {d} features as in the fit, got {X.shape[1]}. Give the features of the fit."
        )
    picks = hasattr(estimator, "get_support") and sparse.issparse(meta_from_array(X))
    dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
    meta = sparse.csr_array((0, 0), dtype=dtype) if picks else np.empty((0, 0), dtype)
    chunks = (X.chunks[0], (p,))
    return X.map_blocks(_reduce_block, delayed(reduce), chunks=chunks, dtype=dtype, meta=meta)


# -- dask collections as parts ---------------------------------------------------------------------


def _parts(partitions: Any, options: Options) -> tuple[list[Any], list[str] | None]:
    """Return the parts of whatever `fit` takes, and the names of the features if known."""
    from dask import is_dask_collection

    if _is_frame(partitions):
        return list(partitions.to_delayed()), feature_names(partitions, options)
    if _is_dask(partitions):
        raise TypeError("expected a tuple (X, y), got one array. Give the labels as well.")
    if isinstance(partitions, tuple) and _is_dask(partitions[0]):
        X = partitions[0]
        named = _is_frame(X) and all(isinstance(name, str) for name in X.columns)
        return _blocks(*partitions), list(X.columns) if named else None
    one = is_dask_collection(partitions)  # a `delayed`
    return [partitions] if one else list_parts(partitions), None


def _is_dask(X: Any) -> bool:
    """Whether X is a collection of Dask."""
    kind = type(X)  # a `Delayed` seems to have any attribute; its type does not
    return kind.__module__.startswith("dask") and hasattr(kind, "to_delayed")


def _is_frame(X: Any) -> bool:
    """Whether X is a DataFrame of dask."""
    return _is_dask(X) and hasattr(X, "columns")


def _blocks(X: Any, y: Any = None, weight: Any = None) -> list[Any]:
    """Return blocks of samples with their labels and weights."""
    if _is_frame(X):
        blocks, sizes = X.to_delayed(), (np.nan,) * X.npartitions
    else:
        X = _whole_samples(X)
        blocks, sizes = X.to_delayed().ravel(), X.chunks[0]
    more = [] if weight is None else [_blocks_of(weight, "sample_weight", sizes, X)]
    return list(zip(blocks, _blocks_of(y, "y", sizes, X), *more, strict=True))


def _with_sizes(X: Any, name: str) -> str:
    """Return what gives a collection blocks of known sizes; empty where they are known."""
    if hasattr(X, "to_dask_array"):  # a DataFrame or a Series
        return f"{name}.to_dask_array(lengths=True)"
    if not hasattr(X, "chunks"):  # a bag
        return f"{name}.compute()"
    return f"{name}.compute_chunk_sizes()" if np.isnan(X.shape[0]) else ""


def _blocks_of(y: Any, name: str, sizes: tuple[Any, ...], X: Any) -> list[Any]:
    """Return the labels or weights of each block of samples."""
    known = not any(np.isnan(size) for size in sizes)
    is_bag = _is_dask(y) and not hasattr(y, "ndim")
    if y is None or (not is_bag and np.ndim(y) == 0):  # or one weight for all samples
        return [y] * len(sizes)
    if _is_dask(y):
        if hasattr(y, "chunks"):
            y = y.rechunk({1: -1}) if y.ndim > 1 else y
            if known and y.chunks[0] != sizes and not np.isnan(y.shape[0]):
                check_consistent_length(np.empty(sum(sizes)), np.empty(y.shape[0]))
                y = y.rechunk({0: sizes})
        blocks = np.ravel(y.to_delayed()).tolist()
        if len(blocks) != len(sizes):
            advice = " and ".join(filter(None, [_with_sizes(X, "X"), _with_sizes(y, name)]))
            raise ValueError(
                f"expected {len(sizes)} blocks of {name} as of X, got {len(blocks)}. "
                f"Use {advice}, whose blocks are cut alike."
            )
        return blocks
    if not known:
        raise ValueError(
            f"expected {name} as a dask collection with the blocks of X, whose sizes "
            f"are unknown, got {type(y).__name__}. Or use {_with_sizes(X, 'X')}."
        )
    y = y if sparse.issparse(y) else as_array(y)
    if y.shape[0] != sum(sizes):
        raise ValueError(f"expected {sum(sizes)} samples in {name} as in X, got {y.shape[0]}.")
    stops = np.cumsum(sizes).tolist()
    return [y[stop - size : stop] for size, stop in zip(sizes, stops, strict=True)]


def _whole_samples(X: Any) -> Any:
    """Return a dask array that is cut between samples only."""
    if X.ndim != 2:
        raise ValueError(f"expected X of shape (n_samples, n_features), got shape {X.shape}.")
    return X.rechunk({1: -1})


def _reduce_block(X: Any, reduce: Function) -> Any:
    """Return the reduced samples of a block of an array."""
    return reduce(as_samples(X))


def _reduce_frame(frame: Any, reduce: Function, names: Sequence[str]) -> Any:
    """Return the reduced samples of a DataFrame as one, with its index."""
    return type(frame)(reduce(as_samples(as_array(frame))), index=frame.index, columns=names)


# -- the engine ------------------------------------------------------------------------------------


class Dask(Engine):
    """A Dask cluster. Dask places tasks, and repeats those of workers that die."""

    def __init__(self, client: Any):
        self.client = client

    def map(self, function: Function, parts: Sequence[Any]) -> list[Any]:
        """Return the values of a function of each part."""
        return self.client.gather(self._started(_tasks(function, parts)))

    def map_reduce(
        self,
        function: Function,
        parts: Sequence[Any],
        add: Function,
        done: Function | None = None,
    ) -> Any:
        """Return the sum, of a tree: two by two, always the same two, whichever are there first.

        It is one graph, so that Dask adds before it learns more parts, and few states exist.
        """
        from dask import delayed

        tasks, plus = _tasks(function, parts), delayed(add, pure=False)
        asked = tasks if done else []
        while len(tasks) > 1:
            pairs = [plus(*two) for two in zip(tasks[::2], tasks[1::2], strict=False)]
            tasks = pairs + tasks[2 * len(pairs) :]
        total, *left = self._started([*tasks, *asked])
        while left and done:  # a future that has a name is kept
            left.pop().add_done_callback(done)
        return total.result()

    def _started(self, tasks: list[Any]) -> list[Any]:
        """Return the futures of tasks."""
        with warnings.catch_warnings():  # parts in the memory of this process have to be sent
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return list(self.client.compute(tasks))


def _tasks(function: Function, parts: Sequence[Any]) -> list[Any]:
    """Return a task for each part. Their function is a task, too, and sent to each worker once."""
    from dask import delayed

    call, sent = delayed(operator.call, pure=False), delayed(function, pure=False, traverse=False)
    name = f"part-{uuid4().hex}"  # one for all, so that Dask starts few at a time
    return [call(sent, part, dask_key_name=(name, k)) for k, part in enumerate(parts)]


# -- the cluster -----------------------------------------------------------------------------------


def _import_distributed() -> Any:
    """Return Dask's `distributed`; ImportError where it is not installed."""
    with needing("dask", "distributed"):
        import distributed
    return distributed


@contextmanager
def _connect(client: Any) -> Iterator[Any]:
    """Give the client passed, or of an address, or the current one, or of a new local cluster."""
    distributed = _import_distributed()
    with ExitStack() as ours:
        if client is None:
            client = _current_client(distributed, ours)
        elif isinstance(client, str):
            try:
                client = ours.enter_context(distributed.Client(client, set_as_default=False))
            except (OSError, TimeoutError, ValueError) as error:
                raise ConnectionError(
                    f"expected a Dask scheduler at {client}, got no answer ({error}). "
                    "Start it, or give the address of another one."
                ) from None
        address = client.scheduler.address if client.scheduler else "?"
        try:
            yield client
        except BaseException as error:
            # the frames of the error hold futures, and these what is on the cluster
            clear_frames(error.__traceback__)
            problem = _problem(distributed, address, error)
            if problem is None:
                raise
            raise ConnectionError(f"expected {problem}") from None


def _problem(distributed: Any, address: str, error: BaseException) -> str | None:
    """Return what is wrong with the cluster, if that is the error."""
    if isinstance(error, distributed.KilledWorker):
        return (
            f"workers at {address} that live, got several that died on one part, most often of too "
            f"little memory ({error}). Give them more memory, or smaller parts."
        )
    if isinstance(error, CancelledError | distributed.comm.CommClosedError):
        return (
            f"answers of the Dask scheduler at {address}, got a lost connection "
            f"({type(error).__name__}: {error}). Start the scheduler and the fit again."
        )
    if type(error).__name__ in ("NoWorkerError", "NoValidWorkerError"):
        return (
            f"workers of the Dask cluster at {address}, got none for too long "
            f"({str(error).splitlines()[0]}). Start workers, then the fit again."
        )
    return None


def _current_client(distributed: Any, ours: ExitStack) -> Any:
    """Return the client of the task that this runs in, or the default one, or of a new cluster."""
    try:
        distributed.get_worker()
    except ValueError:
        pass
    else:
        return ours.enter_context(distributed.worker_client())
    with suppress(ValueError):
        return distributed.default_client()
    cluster = ours.enter_context(_our_cluster(distributed))
    # not the default one: another fit, in another thread, would lose it with this one's end
    return ours.enter_context(distributed.Client(cluster, set_as_default=False))


@contextmanager
def _our_cluster(distributed: Any) -> Iterator[Any]:
    """Start a cluster, whose processes ignore Ctrl-C: it is for the one that starts them."""
    import dask

    with _OURS, dask.config.set(_LIMITS), ExitStack() as ours:
        with SignalsHeld():  # half a cluster would not be closed
            resource_tracker.ensure_running()  # it would undo this
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                options = {"silence_logs": CRITICAL + 1, "death_timeout": _WAIT}
                cluster = ours.enter_context(
                    distributed.LocalCluster(
                        threads_per_worker=1, dashboard_address=":0", **options
                    )
                )
            except (OSError, RuntimeError) as error:
                raise ConnectionError(
                    f"expected a Dask cluster on this machine, got none that starts "
                    f"({str(error) or 'no answer'}). Give the client of a running cluster."
                ) from None
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield cluster
