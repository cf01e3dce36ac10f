"""An estimator learns from files, by chunks, with a checkpoint where one is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from narrows.engines import local
from narrows.io.checkpoint import Begun, Checkpoint
from narrows.io.chunk import Chunk, Options, Position
from narrows.io.dataset import Dataset
from narrows.solve.errors import DataError, ParameterError, RangeError
from narrows.text import Tfidf, Vectoriser

Through = Callable[[Dataset, str], Iterator[Chunk]]


class Run:
    """One fit or update.

    Parameters
    ----------
    estimator : narrows estimator
        Unfitted for a fit; what was learnt goes on for an update.
    inputs : sequence of str
        Files of one format, or "-".
    options : Options
        How to read them.
    source : Source or None
        What a fitted estimator remembers of its files.
    through : callable
        Goes through the chunks of a data set, and shows how far it is.
    checkpoint : Checkpoint, optional
        Where to keep what is learnt on the way.
    begun : Begun, optional
        What to go on from.
    begins_there : bool
        Whether the input begins where `begun` stopped, and does not repeat what was read.
    vectoriser : Vectoriser, optional
        What is to count the terms of texts, where no source says it.
    sample : int, optional
        Count the terms of so many texts only, those that come first, and read once.
    """

    def __init__(
        self,
        estimator: Any,
        inputs: Sequence[str],
        options: Options,
        source: Any,
        through: Through,
        checkpoint: Checkpoint | None = None,
        begun: Begun | None = None,
        begins_there: bool = False,
        vectoriser: Vectoriser | None = None,
        sample: int | None = None,
    ):
        self.estimator, self.checkpoint, self.begun = estimator, checkpoint, begun
        self.inputs, self.through = list(inputs), through
        if begun is not None:
            source = begun.estimator._source
            options = _as_before(begun, options, begins_there)
        self.dataset = Dataset(inputs, options, source)
        self.tfidf: Vectoriser | None = None if source is None else source.tfidf
        self._vectoriser, self._sample = vectoriser or Tfidf(), sample
        if checkpoint is not None and checkpoint.base is None and begun is not None and self.tfidf:
            _check_vectoriser(self.tfidf, self._vectoriser, checkpoint.path)
        self.header = None if begun is None else begun.header
        self._chunk: Chunk | None = None
        if begun is not None:
            self.dataset.resume_from(begun.at, begins_there)

    @property
    def at(self) -> Position:
        """Where the last chunk ended that was learnt or is being learnt."""
        return Position() if self._chunk is None else self._chunk.at

    def fit(self) -> Any:
        """Fit the estimator, from the start or from where it stopped; return it."""
        estimator, dataset, begun = self.estimator, self.dataset, self.begun
        passes = estimator._passes_in_order() - (0 if begun is None else begun.passes)
        to_count = dataset.is_text and self.tfidf is None and self._sample is None
        if passes > 1 or to_count:
            dataset.store_stdin()
        if to_count:
            for chunk in self.through(dataset, "counting terms"):
                self._vectoriser.update(chunk.X)
            self._let_it_stand()
        begin = None if begun is None else (begun.state, begun.passes)
        try:
            local.fit(estimator, _Pairs(self), begin, self._after)
        except (DataError, ParameterError):
            raise
        except ValueError as error:  # of the data as a whole: one class only, equal means
            raise DataError(", ".join(self.inputs), self._said(error)) from None
        return estimator._remember(dataset.source(self.tfidf))

    def update(self) -> Any:
        """Let the estimator learn the rows as well; return it."""
        estimator = self.estimator if self.begun is None else self.begun.estimator

        def after() -> None:
            self._after(estimator._learnt.state, 0)

        try:
            return local.update(estimator, _Pairs(self), after)
        except (DataError, ParameterError):
            raise
        except ValueError as error:
            raise DataError(", ".join(self.inputs), self._said(error)) from None

    def _said(self, error: ValueError) -> str:
        """What an error says, with the name that a feature has in the files."""
        source = self.dataset.source(self.tfidf)
        names = None if source is None else source.names
        if names is not None and isinstance(error, RangeError) and error.feature is not None:
            error = error.named(error.who, str(names[error.feature]))
        return str(error)

    def rows(self, chunk: Chunk) -> Any:
        """The rows of a chunk, of its texts if it holds these."""
        return chunk.X if self.tfidf is None else self.tfidf.transform(chunk.X)

    def chunks(self) -> Iterator[Chunk]:
        """The chunks to learn; those that come first are counted first, if they are the sample."""
        chunks = self.through(self.dataset, "learning")
        if self.dataset.is_text and self.tfidf is None:
            held: list[Chunk] = []
            sample = self._sample or 0
            for chunk in chunks:
                held.append(chunk)
                self._vectoriser.update(chunk.X[: sample - self._vectoriser.n_documents])
                if self._vectoriser.n_documents >= sample:
                    break
            self._let_it_stand()
            yield from held
        yield from chunks

    def _let_it_stand(self) -> None:
        if not self._vectoriser.n_terms:
            least = getattr(self._vectoriser, "min_df", 1)
            no = "no words" if least == 1 else f"no words that {least:,} of them have"
            raise DataError(self.inputs[0], f"the texts hold {no}.")
        self.tfidf = self._vectoriser

    def _after(self, state: Any, passes: int) -> None:
        if self.checkpoint is None or self._chunk is None:
            return
        learnt = getattr(self.estimator, "_learnt", None)  # of an update
        source = self.dataset.source(self.tfidf) if learnt is None else learnt.source
        header = self._chunk.header or self.header
        self.checkpoint.after(state, source, passes, self._chunk, header)


def _check_vectoriser(was: Vectoriser, now: Vectoriser, path: str) -> None:
    try:
        was.check_settings(now)
    except ValueError as error:
        raise ParameterError(
            f"{path}: a checkpoint of another run. {error} Give what was given then, or leave "
            "--resume out to begin afresh."
        ) from None


def _as_before(begun: Begun, options: Options, begins_there: bool) -> Options:
    """Options by which rows are read as they were before the stop."""
    source, classes = begun.estimator._source, begun.state.classes
    columns = None if source is None else source.columns
    facts = {
        "header": begun.header if begins_there else None,
        "several_labels": begun.several_labels,
        "number_labels": None if not len(classes) else classes.dtype.kind in "biu",
    }
    return options.replace(columns=options.columns or columns).with_found(facts)


class _Pairs:
    """(X, y) of the chunks of a run, from the start each time they are gone through."""

    def __init__(self, run: Run):
        self.run = run

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for chunk in self.run.chunks():
            self.run._chunk = chunk
            yield self.run.rows(chunk), chunk.y
