"""The samples of files in chunks: read ahead, with a progress bar; signals wait for a chunk."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from narrows.command.console import n_empty, say_decisions
from narrows.errors import DataError, ParameterError, RangeError
from narrows.io.chunk import Chunk, Options, Position
from narrows.io.dataset import Dataset
from narrows.io.source import Source, check_terms
from narrows.io.streams import display_name, prefetch
from narrows.io.table_rows import DECIDING, TableRows, cells_named, in_file, joined
from narrows.solve.cells import CellError
from narrows.solve.in_place import SignalsHeld

if TYPE_CHECKING:
    from narrows.text import Vectoriser

T = TypeVar("T")


class FileSamples:
    """The samples of files.

    Iterating yields (X, y) of each chunk; each iteration is a pass over the files.

    Parameters
    ----------
    inputs : sequence of str
        Files of one format, or "-".
    options : Options
        How to read them.
    source : Source, optional
        What a model remembers of its files: these are read as the same features.
    maker : Vectoriser or TableEncoder, optional
        Makes samples of texts or tables, unless the source does; not fitted. By default `Tfidf`,
        or a `TableEncoder`.
    sample : int, optional
        Number of texts, the first ones, whose terms are counted; the input is then read once.

    Attributes
    ----------
    at : Position
        Where the last chunk ended.
    n_empty : int
        The number of empty texts of the first pass.
    """

    def __init__(
        self, inputs: Sequence[str], options: Options, source: Source | None = None,
        maker: Any = None, sample: int | None = None,
    ) -> None:  # fmt: skip
        self.inputs, self.dataset = list(inputs), Dataset(inputs, options, source)
        self.maker: Any = None if source is None else source.maker
        self.chunk: Chunk | None = None
        self.at, self.n_empty = Position(), 0
        self._given, self._sample = maker, sample
        self._passes = 0  # that were begun
        self._peeked: Iterator[tuple[Any, Any]] | None = None

    @cached_property
    def _counter(self) -> Vectoriser:
        from narrows.text import Tfidf  # takes time to import

        return self._given or Tfidf()

    def transformed(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield a chunk with its samples, made of texts or of a table if it has these.

        Where cells cannot be read and this is allowed, it comes in parts: the rows of these cells
        are left out, or the cells are missing.
        """
        if self.maker is None:
            yield chunk
            return
        skipped, name = self.dataset.skipped, display_name(self.inputs[chunk.at.file])
        try:
            yield chunk.replace(X=self.maker.samples_of(chunk.X))
        except CellError as error:
            if skipped is None:
                raise in_file(error, name, chunk.lines) from None
            n = len(chunk.lines)
            if n > 1:
                for rows in (np.arange(n // 2), np.arange(n // 2, n)):
                    yield from self.transformed(chunk.take(rows))
                return
            if skipped.how == "missing":
                cells = {column: chunk.X[column].copy() for column in chunk.X}
                cell = cells[error.column]
                if cell.dtype == object and cell[0] is not None:
                    cell[0] = None
                    skipped.add_cell(name, int(chunk.lines[0]), error.column)
                    yield from self.transformed(chunk.replace(X=TableRows(cells)))
                    return
            skipped.add(in_file(error, name, chunk.lines))

    def source(self) -> Source | None:
        """Return what a model of these samples remembers of the files."""
        return self.dataset.source(self.maker)

    @property
    def counts_first(self) -> bool:
        """Whether the terms of all texts have to be counted before they are samples."""
        return self.dataset.is_text and self.maker is None and self._sample is None

    def count_terms(self, lists: Iterable[Any] | None = None) -> None:
        """Count the terms of lists of texts, by default of all texts, in a pass of its own."""
        if lists is None:
            lists = (chunk.X for chunk in progress(self.dataset, "counting terms"))
        for texts in lists:
            self._counter.update(texts)
        check_terms(self._counter, self.inputs[0])  # or say that there are none
        self.maker = self._counter

    def peek(self) -> Any:
        """Return the samples of the first chunk of the next pass, None if there is none."""
        chunks = self.one_pass()
        first = list(islice(chunks, 1))
        self._peeked = chain(first, chunks)
        return first[0][0] if first else None

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        chunks, self._peeked = self._peeked or self.one_pass(), None
        return chunks

    def one_pass(
        self, description: str = "learning", learns: bool = True
    ) -> Iterator[tuple[Any, Any]]:
        """Yield (X, y) of each chunk; a pass that does not learn is not where the fit has come."""
        if self._passes:
            self.dataset.store_stdin()  # or say why not
        self._passes += 1
        for chunk in progress(self.dataset, description, self._transformed()):
            if learns:
                self.chunk, self.at = chunk, chunk.at
            yield chunk.X, chunk.y

    def _transformed(self) -> Iterator[Chunk]:
        """Yield the chunks of a pass, their texts as samples."""
        chunks, first, is_text = iter(self.dataset), list[Chunk](), self.dataset.is_text
        if self.maker is None and (is_text or self.dataset.options.table):
            enough, rows = (self._sample or 0) if is_text else DECIDING, 0
            for chunk in chunks:
                first.append(chunk)
                rows += len(chunk.lines)
                if rows >= enough:
                    break
            if is_text:
                texts = chain.from_iterable(chunk.X for chunk in first)
                self.count_terms([list(islice(texts, enough))])
            elif first:
                self._decide(first)
        for chunk in chain(first, chunks):
            if is_text and self._passes == 1:
                self.n_empty += n_empty(chunk.X)
            yield from self.transformed(chunk)

    def _decide(self, first: list[Chunk]) -> None:
        """Decide by the first rows of a table how its columns become features, and say it."""
        from narrows.table import TableEncoder  # takes time to import

        with cells_named((display_name(self.inputs[each.at.file]), each.lines) for each in first):
            cells = joined([chunk.X for chunk in first]).rows(slice(DECIDING))
            self.maker = (self._given or TableEncoder()).fit(cells)
        say_decisions(self.maker)

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Name the inputs in errors of the data as a whole, such as a single class."""
        try:
            yield
        except (DataError, ParameterError):
            raise
        except RangeError as error:
            source = self.source()
            names = None if source is None else source.names
            if names is not None and error.feature is not None:
                error = error.named(str(names[error.feature]))
            raise DataError(", ".join(self.inputs), str(error)) from None
        except ValueError as error:
            raise DataError(", ".join(self.inputs), str(error)) from None


def progress(
    dataset: Dataset, description: str | None, chunks: Iterable[Chunk] | None = None
) -> Generator[Chunk, None, None]:
    """Yield the chunks of a data set, or made of them, ahead; described by a bar on a terminal.

    Ctrl-C and SIGTERM take effect between two chunks, or while the next one is awaited.
    """
    with closing(prefetch(dataset if chunks is None else chunks)) as items:
        ahead = interrupt_between(items)
        if description is None or not sys.stderr.isatty():
            yield from ahead
            return
        from tqdm import tqdm  # takes time to import

        with tqdm(
            total=dataset.size or None, desc=description, unit="B", unit_scale=True, delay=0.5,
            file=sys.stderr,
        ) as bar:  # fmt: skip
            for chunk in ahead:
                yield chunk
                bar.update(dataset.position - bar.n)


def interrupt_between(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, and delay Ctrl-C and SIGTERM until the loop's body is over.

    While the next item is awaited, they take effect at once. Ignored ones stay ignored.
    """
    for item in items:
        with SignalsHeld():
            yield item
