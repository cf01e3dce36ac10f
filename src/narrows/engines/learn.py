"""Learning from chunks of samples, and what a worker does with one part of a data set.

`add_chunks` is the loop of every fit: over the chunks of files in one process (`local.py`), and
over those of a part on a worker. A `Part` is a pair (data, name): a path, a `FilePart`, (X, y),
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

from narrows.errors import DataError, ParameterError, features_named
from narrows.io.chunk import DECIDED, Chunk, Options, check_finite, feature_columns
from narrows.io.dataset import Dataset
from narrows.io.formats import format_of
from narrows.io.formats.arrow import FORMAT as TABLE
from narrows.io.formats.arrow import read_table
from narrows.io.labels import labelled
from narrows.io.parts import FilePart, n_lines_before, path_of
from narrows.io.source import Source, remembered
from narrows.io.table_rows import TableRows, cells_named
from narrows.io.write import writer
from narrows.methods.base import checked_targets, has_numbers
from narrows.moments.labels import as_array
from narrows.moments.targets import as_samples
from narrows.solve.sums import widened
from narrows.text import Vectoriser

Part = tuple[Any, str]
Reading = tuple[Options, Source | None]  # how files and tables are read
Samples = Iterable[tuple[Any, ...]]  # chunks (X, y) or (X, y, sample_weight)
_NAMED = 5  # features that a message lists


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


# -- one pass ------------------------------------------------------------------------------------


def add_chunks(
    estimator: Any,
    step: Any,
    state: Any,
    chunks: Samples,
    after: Callable[[Any, Any], None] = lambda step, state: None,
    n_features: int = 0,
) -> tuple[Any, Any]:
    """Return a step of a plan and its state with more samples, which come in chunks.

    Parameters
    ----------
    estimator : narrows estimator
        It says what y has to be.
    step, state
        The state is None at first, and stays so where no chunk comes.
    chunks : iterable of (X, y) or (X, y, sample_weight)
        Sparse chunks may have fewer or more features than those before them; what is missing is 0.
        Dense ones may not.
    after : callable, optional
        Called with the step and the state after each chunk.
    n_features : int
        The least number of features, if more are known to come.
    """
    for X, y, *weight in chunks:
        with features_named(estimator):
            X = as_samples(X)
            before = 0 if state is None else step.n_features(state)
            if not Features.of(X).follow(before):
                raise ValueError(
                    f"expected dense samples of {before} features as before, got "
                    f"{X.shape[1]}. Give all samples the same features."
                )
            if state is None:
                state = step.empty(max(n_features, X.shape[1]))
            if X.shape[1] > step.n_features(state):
                step, state = step.widened(state, X.shape[1])
            y = checked_targets(estimator, X, y, step.numeric)
            state = step.add(state, widened(X, step.n_features(state)), y, *weight)
        after(step, state)
    return step, state


class PartialState(NamedTuple):
    """What was learned of a part, or of several, as it is sent: arrays, None without samples.

    `seen` has the features of parts with samples and what errors call these parts; of parts with
    the same features one after the other, it has the first.
    """

    step: Any
    arrays: dict[str, np.ndarray] | None
    seen: tuple[tuple[str, Features], ...] = ()

    @classmethod
    def of(cls, step: Any, state: Any, seen: tuple[tuple[str, Features], ...]) -> Self:
        """Return what was learned, to be sent."""
        return cls(step, None if state is None else step.to_arrays(state), seen)

    @property
    def state(self) -> Any:
        """The state; None without samples."""
        return None if self.arrays is None else self.step.of_arrays(dict(self.arrays), self.step)[1]


def learn_part(part: Part, reading: Reading, estimator: Any, step: Any) -> PartialState:
    """Return what a step learns of a part."""
    with _located(part):
        seen: list[Features] = []
        found = add_chunks(estimator, step, None, _chunks(part, reading, seen))
        return PartialState.of(*found, tuple((part[1], last) for last in seen[-1:]))


def joined(estimator: Any, a: PartialState, b: PartialState) -> PartialState:
    """Return what was learned of two parts; the narrower one has zeros in the other's features."""
    with features_named(estimator):
        if a.arrays is None or b.arrays is None:
            return b if a.arrays is None else a
        states, steps = [a.state, b.state], [a.step, b.step]
        width = max(step.n_features(state) for step, state in zip(steps, states, strict=True))
        for k, (step, state) in enumerate(zip(steps, states, strict=True)):
            if step.n_features(state) < width:
                steps[k], states[k] = step.widened(state, width)
        same = a.seen[-1][1] == b.seen[0][1]
        return PartialState.of(steps[0], steps[0].joined(*states), a.seen + b.seen[same:])


def check_alike(seen: Iterable[tuple[str, Features]]) -> None:
    """Raise DataError where the features of a part do not fit those of the parts before it.

    `seen` has what errors call each part and its features, in the order of the parts.
    """
    number, widest = 0, ""
    names: tuple[str, ...] | None = None
    named = ""
    for where, features in seen:
        if None not in (names, features.names) and names != features.names:
            raise DataError(where, _unlike(features.names or (), names or (), named))
        as_many = names is None or features.number == len(names)
        if not as_many or not features.follow(number):
            raise DataError(
                where,
                f"expected {number} features as in {widest}, got {features.number}. "
                "Give every part the same features.",
            )
        if features.number > number:
            number, widest = features.number, where
        if names is None and features.names is not None:
            names, named = features.names, where


def _unlike(names: tuple[str, ...], expected: tuple[str, ...], where: str) -> str:
    """Return how the names of features differ from those of another part."""
    got = [f"without {name}" for name in expected if name not in names]
    got += [f"with {name}" for name in names if name not in expected]
    more = ", …" if len(got) > _NAMED else ""
    return (
        f"expected the features of {where}, got them "
        f"{', '.join(got[:_NAMED]) or 'in another order'}{more}. "
        "Give every part the same features, in one order."
    )


# -- the samples of a part -------------------------------------------------------------------------


def _chunks(part: Part, reading: Reading, seen: list[Features]) -> Iterator[tuple[Any, ...]]:
    """Yield the samples of a part in chunks (X, y) or (X, y, sample_weight), all finite.

    `seen` gets the features of each.
    """
    for X, y, names, weight in _read(part, reading):
        seen.append(Features.of(X, names))
        yield (X, y) if weight is None else (X, y, weight)


def first_features(part: Part, reading: Reading, estimator: Any) -> tuple[Features, bool] | None:
    """Return the features of the first samples of a part; None if it has none.

    And whether their targets are numbers for an estimator.
    """
    with _located(part):
        for X, y, names, _ in _read(part, reading):
            if X.shape[0]:
                return Features.of(X, names), has_numbers(estimator, y)
    return None


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
    part_path: tuple[Part, str],
    reading: Reading,
    reduce: Callable[[Any], Any],
    names: Sequence[str],
) -> str | None:
    """Write the reduced samples of a part and their labels to a file, if there are any."""
    part, path = part_path
    with _located(part):
        chunks = (chunk for chunk in _read(part, reading) if chunk[0].shape[0])
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
    is_file = bool(path_of(data))
    maker = None if source is None else source.maker
    is_table = options.table or getattr(source, "encoder", None) is not None
    if isinstance(data, tuple | list) and not is_file and not is_table:
        X, y, *weight = data
        names = Features.of(X, X.columns).names if hasattr(X, "columns") else None
        if names is not None and options.columns is not None:
            X, names = X[feature_columns(names, None, options, name)], options.columns
        X = as_samples(X, finite=False)
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
                X = maker.samples_of(X)
        # an encoder has looked at the columns of a table, and its features have other names
        yield X, chunk.y, None if is_table else chunk.columns, chunk.weight


def _chunks_of(part: Part, reading: Reading) -> Iterator[Chunk]:
    """Return the chunks of a file, a part of one, or a table."""
    (data, name), (options, source) = part, reading
    if path_of(data):
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
