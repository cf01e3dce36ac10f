"""A data set in parts, wherever they are, and what a Dask cluster makes of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length
from tqdm import tqdm

from narrows.engines.features import Features, PartFeatures
from narrows.engines.rows import SpreadRows, kept, stats_of_rows
from narrows.engines.there import counted, labelled_rows, source_of, state_of, surveyed
from narrows.engines.tree import LIMIT, TreeSum
from narrows.families._elsewhere import is_dask
from narrows.io.chunk import LABELS, Options, feature_columns
from narrows.io.formats import common_format
from narrows.io.formats.parquet import INDICES, VALUES
from narrows.io.source import Source
from narrows.io.streams import expand_patterns
from narrows.moments.labels import as_array
from narrows.moments.stats import ClassStats
from narrows.solve.errors import DataError, ParameterError
from narrows.text import Tfidf, Vectoriser

IN_MEMORY = 4 * LIMIT  # bytes of a state that is brought home whole; more is put into files


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
        self._are_texts = bool(self._files) and common_format(self._files).holds_texts

    def sum(self, estimator: Any) -> Any:
        """Return the sum of the states that the estimator makes of the parts."""
        alone = clone(estimator)
        with self._bar("learning") as bar:
            begin = self._begin(state_of, alone)
            pieces = TreeSum(self.client, alone._add_states).of(begin, self._checking(bar))
        first = pieces[0][2].result().state
        if not isinstance(first, ClassStats):
            return first
        starts = [start for start, _, _ in pieces]

        def in_full(k: int) -> ClassStats:
            state: ClassStats = first if k == 0 else pieces[k][2].result().state
            width = starts[k + 1] - starts[k] if k + 1 < len(starts) else state.n_features
            return state.widen(width) if width > state.n_features else state

        in_memory = sum(size for _, size, _ in pieces) <= IN_MEMORY
        return ClassStats.beside(map(in_full, range(len(pieces))), in_memory)

    def rows(self, estimator: Any) -> tuple[SpreadRows, ClassStats]:
        """Return the rows less their mean as an operator, and their sums by class.

        The rows stay on the workers.
        """
        with self._bar("reading") as bar:
            held = [begin() for begin in self._begin(labelled_rows, clone(estimator))]
            states = [self._submitting(stats_of_rows, part) for part in held]
            pieces = TreeSum(self.client, ClassStats.__add__, None).of(states, self._checking(bar))
        stats = ClassStats.beside([pieces[0][2].result().state])
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
        return estimator._remember(self.source)

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

    def _checking(self, bar: Any) -> Callable[[int, Features | None], None]:
        """What to do when the state of a part is there."""
        together = PartFeatures(self.where)

        def done(k: int, features: Features | None) -> None:
            together.add(k, features)
            bar.update()

        return done

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
            [self.client.submit(surveyed, path, self.options, pure=False) for path in files]
        )
        self.options = self.options.with_found(common_format(files).combine(found))
        self.source = self.client.submit(source_of, files, self.options, pure=False).result()
        if self.source is not None and self.source.columns is not None:
            self.options = self.options.replace(columns=self.source.columns)
        if not self._are_texts:
            return
        vectoriser = vectoriser or Tfidf()
        with self._bar("counting terms") as bar:
            begun = [self.compute(counted, path, path, vectoriser) for path in files]
            for future in begun:
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
            return paths_of(partitions)
        if is_frame(partitions):
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
            listed += paths_of(part) if is_path else [part]
        frames = [part for part in listed if hasattr(type(part), "columns")]
        if frames and len(frames) == len(listed):
            self._name_columns(frames[0])
            if self.names is not None and self.options.columns is None:
                self.options = self.options.replace(columns=tuple(self.names))
        return listed

    def _name_columns(self, frame: Any) -> None:
        if not has_lists(frame):
            label = label_of(frame, self.options)
            self.names = [str(name) for name in frame.columns if name != label]

    def _side_by_side(self, X: Any, y: Any = None, weight: Any = None) -> list[Any]:
        """Blocks of rows with their labels and weights."""
        if is_frame(X):
            if all(isinstance(name, str) for name in X.columns):
                self.names = list(X.columns)
            rows, sizes = X.to_delayed(), (np.nan,) * X.npartitions
        else:
            X = whole_rows(X)
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
    y = y if sparse.issparse(y) else as_array(y)
    if y.shape[0] != sum(sizes):
        raise ValueError(f"narrows.engines.dask: X has {sum(sizes)} rows, {name} {y.shape[0]}.")
    stops = np.cumsum(sizes).tolist()
    return [y[stop - size : stop] for size, stop in zip(sizes, stops, strict=True)]


def paths_of(path: Any) -> list[str]:
    """The files that a path or pattern names, as a worker in another folder finds them."""
    if path == "-":
        raise ParameterError("- (standard input) is for one machine, and not for a cluster.")
    return [os.path.abspath(found) for found in expand_patterns([os.fspath(path)])]


def is_frame(X: Any) -> bool:
    """Whether X is a DataFrame of dask."""
    return is_dask(X) and hasattr(X, "columns")


def label_of(frame: Any, options: Options) -> str | None:
    """Return the label column of a frame, if it has one."""
    names = [options.label] if options.label else LABELS
    return next((name for name in names if name in frame.columns), None)


def has_lists(frame: Any) -> bool:
    """Whether the rows of a frame are lists of column numbers and of values."""
    return {INDICES, VALUES} <= set(frame.columns)


def numbers_of(frame: Any, options: Options) -> Any:
    """The columns of a dask DataFrame that are no labels, those of the fit in their order."""
    there = {str(name): name for name in frame.columns}
    wanted = feature_columns(list(there), label_of(frame, options), options, "DataFrame")
    return frame[[there[name] for name in wanted]]


def whole_rows(X: Any) -> Any:
    """A dask array cut by rows only."""
    if X.ndim != 2:
        raise ValueError(
            f"narrows.engines.dask: rows of shape (n, d) wanted, but shape {X.shape} came."
        )
    return X.rechunk({1: -1})
