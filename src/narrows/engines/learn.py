"""What a worker does with one part of a data set: learn its state, or reduce its samples.

A part is a pair (data, name): a path, a `FilePart`, (X, y), (X, y, sample_weight), X, a table, or
None where there are no samples, and what errors call it. A state crosses the network as bytes
(`to_bytes`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load, save
from scipy import sparse
from sklearn.base import clone

from narrows.engines import local
from narrows.engines.features import Features
from narrows.errors import DataError, ParameterError
from narrows.io.chunk import Chunk, Options, check_finite
from narrows.io.dataset import Dataset
from narrows.io.formats.parquet import FORMAT as TABLE
from narrows.io.formats.parquet import read_table
from narrows.io.models import get, put
from narrows.io.parts import FilePart
from narrows.io.source import Source, remembered
from narrows.io.write import writer
from narrows.methods.routes import check_adds_up
from narrows.solve.sums import stacked
from narrows.state.class_stats import ClassStats, checked_rows
from narrows.state.labels import joined, one_a_row, weights
from narrows.state.mapped import Mapped
from narrows.text import Vectoriser

Data = tuple[Any, str]
Reading = tuple[Options, Source | None]  # how files and tables are read

# -- states ----------------------------------------------------------------------------------------


def to_bytes(state: Any) -> bytes:
    """Return the state of a method as bytes: plain arrays in a safetensors container."""
    arrays: dict[str, np.ndarray] = {}
    put(arrays, "state", state.to_arrays())
    put(arrays, "labels", {"dtype": np.array([state.classes.dtype.str])})
    return save(arrays)


def from_bytes(data: bytes, read: Callable[[dict[str, np.ndarray]], Any]) -> Any:
    """Return the state that `to_bytes` described.

    `read` makes it of its arrays: `estimator._state_from`, or `from_arrays` of its class.
    """
    arrays = load(data)
    state = get(arrays, "state")
    (dtype,) = get(arrays, "labels")["dtype"]
    state["classes"] = state["classes"].astype(dtype)
    return read(state)


class Part:
    """The state of a part, or of several, or of some of their features; it is sent as bytes.

    Parameters
    ----------
    state : object
        Such as `estimator._update_state` takes and returns.
    features : Features, optional
        Those of the samples of one part; None where it has no samples.
    """

    def __init__(self, state: Any, features: Features | None = None):
        self.state, self.features = state, features

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (to_bytes(self.state), type(self.state), self.features)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + int(self.state.nbytes)

    def cut(self, first: int, last: int | None) -> Part:
        """Return the state of some neighbouring features."""
        return Part(self.state.cut(slice(first, last)), self.features)

    def measure(self) -> tuple[int, int, Features | None]:
        """Return the bytes of the state, the feature at half of them, and the features."""
        middle = self.state.middle() if hasattr(self.state, "cut") else 0
        return self.state.nbytes, middle, self.features


def _received(data: bytes, kind: Any, features: Features | None) -> Part:
    def read(arrays: dict[str, np.ndarray]) -> Any:
        if "kept_width" in arrays and kind is ClassStats:  # may be of coordinates
            return kind.from_arrays(arrays, int(arrays["kept_width"]))
        return kind.from_arrays(arrays)

    return Part(from_bytes(data, read), features)


def add_parts(add: Callable[[Any, Any], Any], a: Part, b: Part) -> Part:
    """Return the sum of two states; the narrower one has zeros in the features that it lacks."""
    width = max(a.state.n_features, b.state.n_features)
    return Part(add(*(s if s.n_features == width else s.widen(width) for s in (a.state, b.state))))


def first_features(part: Data, reading: Reading) -> Features | None:
    """Return the features of the first samples of a part; None if it has none."""
    with _located(part):
        return next((Features.of(X) for X, *_ in _chunks(part, reading)), None)


def learn_state(part: Data, reading: Reading, estimator: Any, empty: Any = None) -> Part:
    """Return the state of a part; without samples it has no features either.

    With `empty`, that of one pass, which starts there; of a `Mapped` only what adds up.
    """
    features: list[Features] = []
    with _located(part):
        chunks = _chunks(part, reading, features)
        if empty is not None:
            state = local.learn_once(estimator, chunks, empty.emptied())
            state = state.stats if isinstance(state, Mapped) else state
            return Part(state, features[-1] if features else None)
        state = local.learn(estimator, chunks)
        if state is not None:
            check_adds_up(estimator, state)
        return Part(estimator._empty_state(0)) if state is None else Part(state, features[-1])


def learn_in_fold(part: Data, reading: Reading, estimator: Any, fold: tuple[int, int]) -> Part:
    """Return the state of a part as one fold of a state; the others are without samples."""
    learned, (number, n_folds) = learn_state(part, reading, estimator), fold
    states = [learned.state.emptied() for _ in range(n_folds)]
    states[number] = learned.state
    return Part(ClassStats.in_folds(states), learned.features)


# -- samples that stay on their worker -------------------------------------------------------------


class Samples(NamedTuple):
    """Samples with one label each and a weight, and their features."""

    X: Any
    labels: np.ndarray
    weight: np.ndarray
    features: Features | None = None


def read_samples(part: Data, reading: Reading, estimator: Any) -> Samples | None:
    """Return all samples of a part, or None if it has none."""
    features: list[Features] = []
    with _located(part):
        chunks = (
            (X, estimator._labels(X, y), *weight)
            for X, y, *weight in _chunks(part, reading, features)
        )
        samples = join_samples(chunks, type(estimator).__name__)
        return samples and samples._replace(features=features[-1])


def join_samples(chunks: Iterable[tuple[Any, ...]], who: str) -> Samples | None:
    """Return the samples of all chunks (X, y) or (X, y, sample_weight); None if there are none."""
    parts = []
    for X, y, *weight in chunks:
        X = checked_rows(X, who)
        classes, codes = one_a_row(X, y, who)
        parts.append((X, classes[codes], weights(weight[0] if weight else None, len(codes), who)))
    if not parts:
        return None
    X, labels, weight = map(list, zip(*parts, strict=True))
    return Samples(stacked(X), joined(labels), np.concatenate(weight))


def sum_samples(samples: Samples | None) -> Part:
    """Return the class sums of samples."""
    if samples is None:
        return Part(ClassStats(0))
    return Part(ClassStats.of(*samples[:3]), samples.features)


# -- reduced samples -------------------------------------------------------------------------------


def of_chunks(part: Data, reading: Reading, function: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield what a function makes of the samples of each chunk of a part."""
    with _located(part):
        width = reading[0].width
        for X, *_ in _chunks(part, reading):
            if width and X.shape[1] != width:
                raise DataError(
                    part[1], f"expected {width} features as in the fit, got {X.shape[1]}."
                )
            yield function(X)


def reduce_part(part: Data, reading: Reading, reduce: Callable[[Any], Any]) -> Any:
    """Return the reduced samples of a part."""
    with _located(part):
        reduced = list(of_chunks(part, reading, reduce))
        if not reduced:
            shape = (0, reading[0].width)
            named = reading[0].columns is not None
            reduced = [reduce(np.empty(shape) if named else sparse.csr_array(shape))]
        return sparse.vstack(reduced) if any(map(sparse.issparse, reduced)) else np.vstack(reduced)


def reduce_block(X: Any, who: str, reduce: Callable[[Any], Any]) -> Any:
    """Return the reduced samples of a block of an array."""
    return reduce(checked_rows(X, who))


def write_reduced(
    part: Data, path: str, reading: Reading, reduce: Callable[[Any], Any], names: Sequence[str]
) -> str | None:
    """Write the reduced samples of a part and their labels to a file, if there are any."""
    with _located(part):
        chunks = (chunk for chunk in _chunks(part, reading) if chunk[0].shape[0])
        first = next(chunks, None)
        if first is None:
            return None
        with writer(path, names) as out:
            for X, y, *_ in chain([first], chunks):
                out.write(reduce(X), y, part[1])
    return path


# -- files -----------------------------------------------------------------------------------------


def survey(data: str | FilePart, options: Options) -> dict[str, bool]:
    """Return the facts that a survey of a whole file, or of a part of one, finds."""
    return _dataset(data, options).found


def source_of(files: list[str], options: Options) -> Source | None:
    """Return what a model has to remember of files."""
    for path in files:
        dataset = Dataset([path], options.replace(may_be_empty=True))
        if next(iter(dataset), None) is not None:
            break
    return dataset.source()


def count_terms(part: Data, options: Options, vectoriser: Vectoriser) -> Vectoriser:
    """Return a vectoriser with these settings, with the terms of a file or table counted."""
    counted: Vectoriser = clone(vectoriser)
    with _located(part):
        for texts, *_ in _named_chunks(part, (options, None)):
            if not isinstance(texts, list):
                raise DataError(part[1], "expected a file or a table of texts, got an array.")
            counted.update(texts)
    return counted


def _dataset(data: Any, options: Options, source: Source | None = None) -> Dataset:
    """Return a file, or a part of one, as a data set."""
    if isinstance(data, FilePart):
        return Dataset([data.path], options, source, data)
    return Dataset([os.fspath(data)], options, source)


# -- inside ----------------------------------------------------------------------------------------


def _chunks(
    part: Data, reading: Reading, features: list[Features] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Yield (X, y) or (X, y, sample_weight), finite; `features` gets those of each chunk."""
    for X, names, *labels in _named_chunks(part, reading):
        if features is not None:
            features.append(Features.of(X, names))
        yield X, *labels


def _named_chunks(part: Data, reading: Reading) -> Iterator[tuple[Any, ...]]:
    """Yield X, the names of its features if they have any, labels and weights."""
    (data, name), (options, source) = part, reading
    if data is None:
        return
    tfidf = None if source is None else source.tfidf
    vectorised = (lambda X: X) if tfidf is None else tfidf.transform
    if isinstance(data, np.ndarray) or sparse.issparse(data):
        data = data, None
    if isinstance(data, str | os.PathLike | FilePart):
        for chunk in _dataset(data, options.replace(may_be_empty=True), source):
            yield vectorised(chunk.X), chunk.columns, chunk.y
    elif isinstance(data, tuple | list):
        X, y, *weight = data
        names = getattr(X, "columns", None)
        X = checked_rows(X, finite=False)
        if options.width and X.shape[1] != options.width:
            raise DataError(name, f"expected {options.width} features, got {X.shape[1]}.")
        check_finite(Chunk(X, y, range(1, X.shape[0] + 1)), name)
        yield X, names, y, *weight
    else:
        if source is not None:
            options = options.with_found(remembered(source, options, TABLE))
        for chunk in read_table(data, name, options):
            check_finite(chunk, name)
            weight = [] if chunk.weight is None else [chunk.weight]
            yield vectorised(chunk.X), chunk.columns, chunk.y, *weight


@contextmanager
def _located(part: Data) -> Iterator[None]:
    """Name the part in errors about it."""
    try:
        yield
    except (DataError, ParameterError):
        raise
    except (ValueError, TypeError) as error:
        raise DataError(part[1], str(error)) from error
