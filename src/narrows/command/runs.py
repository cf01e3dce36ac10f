"""Fitting and updating an estimator from files, chunk by chunk, with checkpoints."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from narrows.command.interrupts import interrupt_between
from narrows.command.labels import for_update
from narrows.engines import local
from narrows.errors import DataError, ParameterError, RangeError, WidthError
from narrows.io.checkpoint import Checkpoint, ResumePoint, another_run
from narrows.io.chunk import NUMBERS, Chunk, Options, Position
from narrows.io.dataset import Dataset
from narrows.io.source import check_terms
from narrows.io.streams import display_name, prefetch
from narrows.methods.routes import Data, check_adds_up, most_passes, route_of
from narrows.state.cross import MOST
from narrows.state.labels import are_text
from narrows.text import Tfidf, Vectoriser


class Run:
    """An estimator and files: a fit, an update, or a transform.

    Iterating over a run yields (X, y) of each chunk; each iteration is a pass over the files.

    Parameters
    ----------
    estimator : narrows estimator
        Unfitted for a fit; fitted for an update, which continues from its state.
    inputs : sequence of str
        Files of one format, or "-".
    options : Options
        How to read them.
    checkpoint : Checkpoint, optional
        Where progress is saved.
    resumed : ResumePoint, optional
        Where to continue.
    from_position : bool
        Whether the input starts at that point, instead of being repeated from its beginning.
    vectoriser : Vectoriser, optional
        Counts the terms of texts; `Tfidf` by default. A fitted estimator has its own.
    sample : int, optional
        Number of texts, the first ones, whose terms are counted; the input is then read once.
    """

    def __init__(
        self,
        estimator: Any,
        inputs: Sequence[str],
        options: Options,
        checkpoint: Checkpoint | None = None,
        resumed: ResumePoint | None = None,
        from_position: bool = False,
        vectoriser: Vectoriser | None = None,
        sample: int | None = None,
    ):
        self.estimator, self.checkpoint, self.inputs = estimator, checkpoint, list(inputs)
        self._resumed, self._sample, self._from_position = resumed, sample, from_position
        self._chunk: Chunk | None = None
        self._passes = 0  # that were begun
        self.model = ""  # the file of the estimator of an update
        self._new_vectoriser = vectoriser or Tfidf()
        fitted = estimator if resumed is None else resumed.estimator
        self._is_update = hasattr(estimator, "n_features_in_")
        source = fitted._source if self._is_update or resumed is not None else None
        self.vectoriser: Vectoriser | None = None if source is None else source.tfidf
        if resumed is not None:
            options = _options_as_before(resumed, options, from_position, self._is_update)
            if not self._is_update and self.vectoriser is not None and checkpoint is not None:
                _check_same_settings(self.vectoriser, self._new_vectoriser, checkpoint.path)
        self.dataset = Dataset(inputs, options, source)
        if resumed is not None:
            self.dataset.resume_from(resumed.at, from_position)

    @property
    def at(self) -> Position:
        """Where the last chunk ended that was learned, or is being learned."""
        return Position() if self._chunk is None else self._chunk.at

    def fit(self) -> Any:
        """Fit the estimator, from the beginning or from where it was stopped, and return it."""
        estimator, dataset, resumed = self.estimator, self.dataset, self._resumed
        passes = most_passes(estimator, 1) - (0 if resumed is None else resumed.passes)
        if passes > 1 and resumed is not None and self._from_position:
            raise ParameterError(
                f"--from-position: expected a run that has to read its input once more, got "
                f"{type(estimator).__name__} before its last pass, which needs all rows again. "
                "Leave it out, and repeat the input from the beginning."
            )
        count_first = dataset.is_text and self.vectoriser is None and self._sample is None
        if passes > 1 or count_first or ("-" in self.inputs and self._may_read_again()):
            dataset.store_stdin()
        if count_first:
            for chunk in progress(dataset, "counting terms"):
                self._new_vectoriser.update(chunk.X)
            self._use_new_vectoriser()
        start = None if resumed is None else (resumed.state, resumed.passes)
        with self._inputs_in_errors():
            local.fit(estimator, self, start, self._record, self._start_over)
        return estimator._remember(dataset.source(self.vectoriser))

    def update(self) -> Any:
        """Update the estimator with the samples, and return it."""
        if self._resumed is not None:
            self.estimator = self._resumed.estimator
        with self._inputs_in_errors():
            return local.update(
                self.estimator,
                self._labelled_alike(),
                lambda: self._record(self.estimator._fitted.state, 0),
            )

    def _labelled_alike(self) -> Iterator[tuple[Any, Any]]:
        """Yield chunks whose labels have the type of the classes of the estimator."""
        for X, y in self:
            path = display_name(self.inputs[self.at.file])
            asked = self.dataset.options.labels
            if not self.estimator._needs_y:  # it may ignore them
                y = self.estimator._labels(X, y)
            yield X, for_update(self.estimator, y, asked, self.model, path)

    def _may_read_again(self) -> bool:
        """Whether samples may have more features than products can be summed for."""
        in_bands, width = most_passes(self.estimator) > 1, self.dataset.options.width
        if width is not None:
            return in_bands and width > MOST
        if self.checkpoint is not None and not in_bands:
            return False
        may_be_wide = self.dataset.format.may_widen or self.dataset.is_text
        state = route_of(self.estimator, Data(1, True), "chunks").empty(1)
        return may_be_wide and getattr(state, "second", None) == "cross"

    def _start_over(self, n_features: int) -> None:
        """Prepare the inputs to be read again, by a fit in bands or of all samples."""
        if self.checkpoint is not None:
            if most_passes(self.estimator) == 1:
                raise self._too_wide(n_features)
            if self._resumed is not None:
                raise ParameterError(
                    f"--resume: expected at most {MOST:,} columns as before the stop, got "
                    f"{n_features:,}. Leave it out, or set --width {n_features} or more."
                )
        try:
            self.dataset.store_stdin()
        except ParameterError as error:  # a named pipe
            raise ParameterError(f"{error} Or set --width {n_features} or more.") from None

    def _too_wide(self, n_features: int) -> ParameterError:
        return ParameterError(
            f"--checkpoint: expected at most {MOST:,} columns for "
            f"{type(self.estimator).__name__.lower()}, got {n_features:,}. Leave it out, or use "
            f"{self.estimator._instead}."
        )

    def samples(self, chunk: Chunk) -> Any:
        """Return the samples of a chunk; the vectoriser makes them of texts."""
        return chunk.X if self.vectoriser is None else self.vectoriser.transform(chunk.X)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        if self._passes:
            self.dataset.store_stdin()  # or say why not
        self._passes += 1
        for chunk in self._chunks():
            self._chunk = chunk
            yield self.samples(chunk), chunk.y

    def _chunks(self) -> Iterator[Chunk]:
        """Yield the chunks to learn; with a sample, its terms are counted first."""
        chunks = progress(self.dataset, "learning")
        if self.dataset.is_text and self.vectoriser is None:
            counted: list[Chunk] = []
            sample, vectoriser = self._sample or 0, self._new_vectoriser
            for chunk in chunks:
                counted.append(chunk)
                vectoriser.update(chunk.X[: sample - vectoriser.n_documents])
                if vectoriser.n_documents >= sample:
                    break
            self._use_new_vectoriser()
            yield from counted
        yield from chunks

    def _use_new_vectoriser(self) -> None:
        """Turn texts into samples by the terms counted so far; DataError where there are none."""
        check_terms(self._new_vectoriser, self.inputs[0])
        self.vectoriser = self._new_vectoriser

    def _record(self, state: Any, passes: int) -> None:
        """Give the checkpoint the state after a chunk."""
        if self.checkpoint is None or self._chunk is None:
            return
        try:
            check_adds_up(self.estimator, state)
        except WidthError as error:
            raise self._too_wide(error.n_features) from None
        fitted = self._is_update
        source = self.estimator._source if fitted else self.dataset.source(self.vectoriser)
        header = self._chunk.header or (None if self._resumed is None else self._resumed.header)
        self.checkpoint.record(state, source, passes, self._chunk, header)

    @contextmanager
    def _inputs_in_errors(self) -> Iterator[None]:
        """Name the inputs in errors of the data as a whole, such as a single class."""
        try:
            yield
        except (DataError, ParameterError):
            raise
        except ValueError as error:
            source = self.dataset.source(self.vectoriser)
            names = None if source is None else source.names
            if names is not None and isinstance(error, RangeError) and error.feature is not None:
                error = error.named(error.who, str(names[error.feature]))
            raise DataError(", ".join(self.inputs), str(error)) from None


def _check_same_settings(before: Vectoriser, now: Vectoriser, path: str) -> None:
    try:
        before._check_settings(now)
    except ValueError as error:
        raise another_run(path, str(error)) from None


def _options_as_before(
    resumed: ResumePoint, options: Options, from_position: bool, is_update: bool
) -> Options:
    """Return options by which samples are read as they were before the stop."""
    source, classes = resumed.estimator._source, resumed.state.classes
    found = {
        "header": resumed.header if from_position else None,
        "several_labels": resumed.several_labels,
        NUMBERS: not are_text(classes) if len(classes) and not is_update else None,
    }
    columns = options.columns or (None if source is None else source.columns)
    return options.replace(columns=columns).with_found(found)


def progress(dataset: Dataset, description: str) -> Iterator[Chunk]:
    """Yield the chunks of a data set, read ahead, with a progress bar on a terminal.

    Ctrl-C takes effect between two chunks, or while the next one is awaited.
    """
    with tqdm(
        total=dataset.size or None, desc=description, unit="B", unit_scale=True, delay=0.5,
        disable=None, file=sys.stderr,
    ) as bar:  # fmt: skip
        for chunk in interrupt_between(prefetch(dataset)):
            yield chunk
            bar.update(dataset.position - bar.n)
