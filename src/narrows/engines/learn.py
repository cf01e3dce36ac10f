"""Learning from chunks of samples, and what a worker does with one part of a data set.

`learn` is the loop of every fit: over the chunks of files in one process (`local.py`), and over
those of a part on a worker. A `Part` is a pair (data, name): a path, a `FilePart`, (X, y),
(X, y, sample_weight), X, a table, or None where there are no samples, and what errors call it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from narrows.errors import DataError, ParameterError, errors_named_after
from narrows.io.chunk import DECIDED, Chunk, Options, check_finite, feature_columns
from narrows.io.dataset import Dataset
from narrows.io.formats import format_of
from narrows.io.formats.arrow import FORMAT as TABLE
from narrows.io.formats.arrow import read_table
from narrows.io.labels import labelled
from narrows.io.parts import FilePart, n_lines_before
from narrows.io.source import Source, remembered
from narrows.io.table_rows import TableRows, cells_named
from narrows.io.write import writer
from narrows.methods.routes import Data, check_adds_up, route_of, route_of_state
from narrows.solve.codec import from_arrays, to_arrays
from narrows.solve.sums import widened
from narrows.state.class_stats import ClassStats, checked_rows
from narrows.moments.labels import as_array
from narrows.state.mapped import Mapped
from narrows.text import Vectoriser

Part = tuple[Any, str]
Reading = tuple[Options, Source | None]  # how files and tables are read


class Features(NamedTuple):
    """The number of features of samples, whether these are dense, and the names if any."""

    number: int
    dense: bool
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: Any, names: Iterable[Any] | None = None) -> Self:
        """Return those of samples; only names that are all text count, as in scikit-learn."""
        listed = () if names is None else tuple(names)
        named = bool(listed) and all(isinstance(name, str) for name in listed)
        return cls(X.shape[1], not sparse.issparse(X), listed if named else None)

    def follow(self, number: int) -> bool:
        """Whether these samples may follow others of so many features, or of 0: none.

        Sparse samples may have fewer, or more; what is missing in either is 0. Dense ones may not.
        """
        return not (self.dense and number and self.number != number)


# -- the loop --------------------------------------------------------------------------------------


def learn(
    estimator: Any,
    chunks: Iterable[tuple[Any, ...]],
    start: tuple[Any, int] | None = None,
    after: Callable[[Any, int], None] = lambda state, number: None,
    once: bool = False,
) -> Any:
    """Return the state of samples that come in chunks; None if there are none.

    Sparse chunks may have fewer or more features than those before them; what is missing is 0.
    Dense ones may not.

    Parameters
    ----------
    estimator : narrows estimator
        Its parameters say how; it is not changed.
    chunks : iterable of (X, y) or (X, y, sample_weight)
        Iterated once for each pass that the estimator makes.
    start : (state, int), optional
        A state to resume from, and the number of the pass in which it was left.
    after : callable, optional
        Called with the state and the number of the pass after each chunk.
    once : bool
        Whether to return the state of the first pass, whatever follows it.
    """
    estimator._check_parameters_alone()
    state, number = start or (None, 0)
    while True:
        for X, *labels in chunks:  # y, and weights where there are any
            with errors_named_after(estimator):
                if state is None:
                    state = route_of(estimator, Data.of(X), "chunks").empty(X.shape[1])
                elif not Features.of(X).follow(state.n_features):
                    raise ValueError(
                        f"{type(estimator).__name__}: expected dense samples of "
                        f"{state.n_features} features as before, got {X.shape[1]}. Give all "
                        "samples the same features."
                    )
                elif X.shape[1] > state.n_features:
                    state = state.widen(X.shape[1])
                state = estimator._update_state(state, widened(X, state.n_features), *labels)
            after(state, number)
        if state is None or once:
            return state
        with errors_named_after(estimator):
            again = route_of_state(estimator, state).next(state, number)
        if again is None:
            return state
        state, number = again, number + 1


# -- states ----------------------------------------------------------------------------------------


class PartialState:
    """The state of a part, or of several; it is sent as arrays.

    Parameters
    ----------
    state : object
        Such as `estimator._update_state` takes and returns.
    features : Features, optional
        Those of the samples of one part; None where it has no samples.
    """

    def __init__(self, state: Any, features: Features | None = None):
        self.state, self.features = state, features
        sums = getattr(state, "stats", state)
        if isinstance(sums, ClassStats):  # as if it was sent: the same bits wherever it is added
            sums.sort_in()

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (to_arrays(self.state), type(self.state), self.features)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + int(self.state.nbytes)


def _received(arrays: dict[str, np.ndarray], kind: Any, features: Features | None) -> PartialState:
    return PartialState(from_arrays(kind, arrays), features)


def add_partial(add: Callable[..., Any], a: PartialState, b: PartialState) -> PartialState:
    """Return the sum of two states; the narrower one has zeros in the features that it lacks."""
    width = max(a.state.n_features, b.state.n_features)
    states = (s if s.n_features == width else s.widen(width) for s in (a.state, b.state))
    return PartialState(add(*states))


def learn_part(part: Part, reading: Reading, estimator: Any, empty: Any = None) -> PartialState:
    """Return the state of a part; without samples it has no features either.

    With `empty`, that of one pass, which starts there; of a `Mapped` only what adds up.
    """
    with _located(part):
        chunks = _Chunks(part, reading)
        if empty is not None:
            state = learn(estimator, chunks, (empty.emptied(), 0), once=True)
            state = state.stats if isinstance(state, Mapped) else state
        else:
            state = learn(estimator, chunks)
            if state is None:
                state = estimator._empty_state(0)
            else:
                check_adds_up(estimator, state)
        return PartialState(state, chunks.features)


# -- the samples of a part -------------------------------------------------------------------------


class _Chunks:
    """The samples of a part in chunks (X, y) or (X, y, sample_weight), all finite.

    `features` are those of the last chunk, None before the first one.
    """

    def __init__(self, part: Part, reading: Reading):
        self.part, self.reading = part, reading
        self.features: Features | None = None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for X, y, names, weight in _read(self.part, self.reading):
            self.features = Features.of(X, names)
            yield (X, y) if weight is None else (X, y, weight)


def first_features(part: Part, reading: Reading) -> Features | None:
    """Return the features of the first samples of a part; None if it has none."""
    with _located(part):
        chunks = _Chunks(part, reading)
        next(iter(chunks), None)
        return chunks.features


def reduce_chunks(part: Part, reading: Reading, reduce: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield what a function makes of the samples of each chunk of a part."""
    with _located(part):
        width = reading[0].width
        for X, *_ in _read(part, reading):
            if width and X.shape[1] != width:
                raise DataError(
                    part[1], f"expected {width} features as in the fit, got {X.shape[1]}."
                )
            yield reduce(X)


def reduce_part(part: Part, reading: Reading, reduce: Callable[[Any], Any]) -> Any:
    """Return the reduced samples of a part."""
    options = reading[0]
    with _located(part):
        found = list(reduce_chunks(part, reading, reduce))
        if not found:
            shape = (0, options.width)
            found = [reduce(np.empty(shape) if options.columns else sparse.csr_array(shape))]
        return sparse.vstack(found) if any(map(sparse.issparse, found)) else np.vstack(found)


def write_reduced(
    part: Part, path: str, reading: Reading, reduce: Callable[[Any], Any], names: Sequence[str]
) -> str | None:
    """Write the reduced samples of a part and their labels to a file, if there are any."""
    with _located(part):
        chunks = (chunk for chunk in _Chunks(part, reading) if chunk[0].shape[0])
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


def source_of(files: list[str], options: Options) -> tuple[Source | None, Any]:
    """Return what a model has to remember of files, and the type of labels of the first chunk."""
    for path in files:
        dataset = Dataset([path], options.replace(may_be_empty=True))
        if next(iter(dataset), None) is not None:
            break
    return dataset.source(), dataset.options.get(DECIDED)


def count_terms(part: Part, options: Options, vectoriser: Vectoriser) -> Vectoriser:
    """Return a vectoriser with these settings, with the terms of a file or table counted."""
    counted: Vectoriser = clone(vectoriser)
    with _located(part):
        for texts, *_ in _read(part, (options, None)):
            if not isinstance(texts, list):
                raise DataError(part[1], "expected a file or a table of texts, got an array.")
            counted.update(texts)
    return counted


def first_rows(
    part: Part, options: Options, n: int
) -> list[tuple[TableRows, tuple[str, list[int]]]]:
    """Return the chunks with the first n rows of a table, and the file and the lines of each."""
    found: list[tuple[TableRows, tuple[str, list[int]]]] = []
    with _located(part):
        for chunk in _chunks_of(part, (options, None)):
            found.append((chunk.X, (part[1], _lines_in_file(part[0], chunk))))
            n -= len(chunk.lines)
            if n <= 0:
                break
    return found


def _dataset(data: Any, options: Options, source: Source | None = None) -> Dataset:
    """Return a file, or a part of one, as a data set."""
    if isinstance(data, FilePart):
        return Dataset([data.path], options, source, data)
    return Dataset([os.fspath(data)], options, source)


# -- inside ----------------------------------------------------------------------------------------


def _read(part: Part, reading: Reading) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield X or texts, labels, the names of the features if they have any, and weights if any."""
    (data, name), (options, source) = part, reading
    if isinstance(data, np.ndarray) or sparse.issparse(data):
        data = data, None
    is_file = isinstance(data, str | os.PathLike | FilePart)
    maker = None if source is None else source.maker
    is_table = options.table or getattr(source, "encoder", None) is not None
    if isinstance(data, tuple | list) and not is_file and not is_table:
        X, y, *weight = data
        names = Features.of(X, X.columns).names if hasattr(X, "columns") else None
        if names is not None and options.columns is not None:
            X, names = X[feature_columns(names, None, options, name)], options.columns
        X = checked_rows(X, finite=False)
        y = y if y is None or sparse.issparse(y) else as_array(y)
        if options.width and X.shape[1] != options.width:
            raise DataError(name, f"expected {options.width} features, got {X.shape[1]}.")
        check_finite(Chunk(X, y, range(1, X.shape[0] + 1)), name)
        yield X, y, names, weight[0] if weight else None
        return
    for chunk in _chunks_of(part, reading):
        X = chunk.X
        if maker is not None:
            with cells_named((name, _lines_in_file(data, c)) for c in [chunk]):  # only if needed
                X = maker._samples_of(X)
        # an encoder has looked at the columns of a table, and its features have other names
        yield X, chunk.y, None if is_table else chunk.columns, chunk.weight


def _chunks_of(part: Part, reading: Reading) -> Iterator[Chunk]:
    """Return the chunks of a file, a part of one, or a table."""
    (data, name), (options, source) = part, reading
    if isinstance(data, str | os.PathLike | FilePart):
        return iter(_dataset(data, options.replace(may_be_empty=True), source))
    if data is None:
        return iter(())
    if not hasattr(data, "__arrow_c_stream__"):
        raise DataError(
            name, "expected a table with a label column, got an array or a pair (X, y). Give that."
        )
    if source is not None:
        options = options.with_found(remembered(source, options, TABLE))
    return labelled(read_table(data, name, options), name, options)


def _lines_in_file(data: Any, chunk: Chunk) -> list[int]:
    """Return the lines of a chunk, in the whole file where a part is read."""
    in_part = isinstance(data, FilePart) and not format_of(data.path)[0].kind.is_binary
    before = n_lines_before(data) if in_part else 0
    return [int(line) + before for line in chunk.lines]


@contextmanager
def _located(part: Part) -> Iterator[None]:
    """Name the part in errors about it."""
    try:
        yield
    except (DataError, ParameterError):
        raise
    except (ValueError, TypeError) as error:
        raise DataError(part[1], str(error)) from error
