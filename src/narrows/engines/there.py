"""What a worker of a cluster does with a part."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from narrows.engines import local
from narrows.engines.features import Features
from narrows.engines.rows import Rows, rows_of
from narrows.engines.tree import Part
from narrows.io.chunk import Chunk, Options, check_finite
from narrows.io.dataset import Dataset
from narrows.io.formats.parquet import read_table
from narrows.io.source import Source
from narrows.io.write import writer
from narrows.moments.stats import checked_rows
from narrows.solve.errors import DataError, ParameterError
from narrows.text import Vectoriser

Shared = tuple[Options, Source | None]


def surveyed(path: str, options: Options) -> dict[str, bool]:
    """Return the facts that a survey of a whole file finds."""
    return Dataset([path], options).found


def source_of(files: list[str], options: Options) -> Source | None:
    """What a model has to remember of files."""
    for path in files:
        dataset = Dataset([path], options.replace(may_be_empty=True))
        for _ in dataset:
            break
        else:
            continue
        break
    return dataset.source()


def counted(shared: Shared, path: str, where: str, vectoriser: Vectoriser) -> Vectoriser:
    """Return the vectoriser, with the terms of a file counted."""
    for chunk in Dataset([path], shared[0].replace(may_be_empty=True)):
        vectoriser.update(chunk.X)
    return vectoriser


def _chunks(
    shared: Shared, raw: Any, where: str, features: list[Features] | None = None
) -> Iterator[tuple[Any, ...]]:
    """The rows, labels and weights of a part, finite; `features` gets those of each chunk."""
    for X, names, *labels in _named_chunks(shared, raw, where):
        if features is not None:
            features.append(Features.of(X, names))
        yield X, *labels


def _named_chunks(shared: Shared, raw: Any, where: str) -> Iterator[tuple[Any, ...]]:
    """The rows, the names of their features where they have any, labels and weights."""
    options, source = shared
    if isinstance(raw, np.ndarray) or sparse.issparse(raw):
        raw = raw, None
    if isinstance(raw, str | os.PathLike):
        tfidf = None if source is None else source.tfidf
        for chunk in Dataset([os.fspath(raw)], options.replace(may_be_empty=True), source):
            X = chunk.X if tfidf is None else tfidf.transform(chunk.X)
            yield X, chunk.columns, chunk.y
    elif isinstance(raw, tuple | list):
        X, y, *weight = raw
        names = getattr(X, "columns", None)
        X = checked_rows(X, finite=False)
        if options.width and X.shape[1] != options.width:
            raise DataError(where, f"expected {options.width} features, got {X.shape[1]}.")
        check_finite(Chunk(X, y, range(1, X.shape[0] + 1)), where)
        yield X, names, y, *weight
    else:
        for chunk in read_table(raw, where, options):
            check_finite(chunk, where)
            yield chunk.X, chunk.columns, chunk.y


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Say which part it is where something is wrong with it."""
    try:
        yield
    except (DataError, ParameterError):
        raise
    except (ValueError, TypeError) as error:
        raise DataError(where, str(error)) from error


def state_of(shared: Shared, raw: Any, where: str, estimator: Any) -> Part:
    """The state of a part; one that has no rows has no columns either."""
    features: list[Features] = []
    with _named(where):
        state = local.learn(estimator, _chunks(shared, raw, where, features))
        return Part(estimator._empty_state(0)) if state is None else Part(state, features[-1])


def labelled_rows(shared: Shared, raw: Any, where: str, estimator: Any) -> Rows | None:
    """All rows of a part with one label each and a weight."""
    features: list[Features] = []
    with _named(where):
        rows = rows_of(_chunks(shared, raw, where, features), type(estimator).__name__)
        return None if rows is None else Rows(*rows, features[-1])


def reduced_part(shared: Shared, raw: Any, where: str, reduce: Callable[[Any], Any]) -> Any:
    """Return the reduced rows of a part."""
    with _named(where):
        parts = [reduce(chunk[0]) for chunk in _chunks(shared, raw, where)]
        if not parts:
            shape = (0, shared[0].width)
            named = shared[0].columns is not None
            parts = [reduce(np.empty(shape) if named else sparse.csr_array(shape))]
        return sparse.vstack(parts) if any(map(sparse.issparse, parts)) else np.vstack(parts)


def reduced_block(X: Any, who: str, reduce: Callable[[Any], Any]) -> Any:
    """Return the reduced rows of a block of an array."""
    return reduce(checked_rows(X, who))


def write_reduced(
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
                out.write(reduce(X), y, where)
    return path
