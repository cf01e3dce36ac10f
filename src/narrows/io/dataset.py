"""Files of one format as one data set, chunk by chunk."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy import sparse

from narrows.errors import DataError, ParameterError, warn
from narrows.io import addresses, streams
from narrows.io.addresses import is_address
from narrows.io.chunk import DECIDED, Chunk, Options, Position, check_finite
from narrows.io.formats import OPTIONS, common_format, format_of, format_of_row
from narrows.io.formats.base import Format
from narrows.io.labels import Labels
from narrows.io.parts import FilePart, n_lines_before
from narrows.io.skipping import Tolerance
from narrows.io.source import Source, of_maker, remembered
from narrows.io.streams import Section, StandardInput, display_name
from narrows.io.table_rows import TableRows
from narrows.solve.cells import is_missing

_MAY_LACK = "labels_may_lack"  # a fact: whether single rows may be without a label
_FIRST = 1000  # rows that show whether a file is a table


class Dataset:
    r"""Files of one format as one data set, for repeated iteration.

    Parameters
    ----------
    paths : sequence of str
        The files, or "-" for standard input.
    options : Options
        How to read them.
    source : Source, optional
        The source of a fitted model; `options` take precedence.
    part : FilePart, optional
        The part of a single file to read. Errors name the line in the whole file.

    Attributes
    ----------
    format : Format
        The format of the files.
    is_text : bool
        Whether chunks hold texts instead of numbers.
    found : dict
        Properties of the files that a first search found.
    position, size : int
        Bytes read so far in this pass, and total bytes (0 if unknown).

    Raises
    ------
    ParameterError, DataError, FileNotFoundError
        As `iter_chunks`.

    See Also
    --------
    iter_chunks : Read files, or a table, in chunks; the function to use.
    Source : How files become features, as stored in models.

    Notes
    -----
    **Cost** of a pass: as `iter_chunks`.

    Examples
    --------
    >>> import os, tempfile
    >>> from narrows.read import Dataset
    >>> from narrows.io.chunk import Options
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "two.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("a,b,class\n1,2,x\n3,4,y\n")
    ...     for chunk in Dataset([path], Options()):
    ...         print(chunk.X.tolist(), chunk.y.tolist())
    [[1.0, 2.0], [3.0, 4.0]] ['x', 'y']
    """

    def __init__(
        self,
        paths: Sequence[str],
        options: Options,
        source: Source | None = None,
        part: FilePart | None = None,
    ):
        if not paths:
            raise ParameterError("expected at least one file, got none. Name a file.")
        if list(paths).count("-") > 1:
            raise ParameterError("-: expected standard input once, got it twice. Name it once.")
        self.paths, self.options = list(paths), options
        self.position = 0
        self._sizes = {path: _size_of(path) for path in paths}
        self.size = sum(map(self._sizes.__getitem__, paths))
        self._stdin = StandardInput(options.encoding)
        self._start = Position()
        self._columns = options.columns  # a resumed run may have no chunk left to read
        self._truncated: set[str] = set()  # files with a warning
        self._null_labels = False  # whether there was a warning
        how = options.on_error
        self.skipped = None if how in (None, "stop") else Tolerance(how)
        self.format = common_format({display_name(path): self._format_of(path) for path in paths})
        self._refuse_unused()
        self.format.check_labels_apart(paths, options)
        if source is not None:
            self.options = options.with_found(remembered(source, options, self.format))
        self.is_text = self.format.is_text(self.options)
        self._part = part
        if part is not None:
            self.size = part.last - part.first
            self.options = self._options_of(part)
        self.found = self._survey()
        self.options = self.options.with_found(self.found)

    def __iter__(self) -> Iterator[Chunk]:
        """Yield all chunks, their values finite and their widths equal, or growing if sparse."""
        (first, after, rows), self._start = self._start, Position()
        done = self.position = width = classes = 0
        options = self.options
        for number, path in enumerate(self.paths):
            before, name = rows, display_name(path)
            if number < first:
                done += self._sizes[path]
                continue
            resumed = number == first and rows > 0
            if resumed:
                options = options.replace(after=after)
            of_labels = options.label if self.format.labels_apart else None
            labels = Labels(of_labels or name, options)
            with self._open(path) as (stream, raw):
                for chunk in self._chunks(stream, name, options, labels):
                    rows += len(chunk.lines)
                    self._check(chunk, name, width)
                    if chunk.is_truncated and path not in self._truncated:
                        self._truncated.add(path)
                        warn(
                            f"{name}: expected an end of the last line, got none. Look whether the "
                            "line was cut off."
                        )
                    if sparse.issparse(chunk.X):  # as wide as the widest so far, or as expected
                        width = max(width, options.width or 0, chunk.X.shape[1])
                        chunk.X.resize(chunk.X.shape[0], width)
                    elif self.holds == "numbers":
                        width = chunk.X.shape[1]
                    if sparse.issparse(chunk.y):
                        classes = max(classes, chunk.y.shape[1])
                        chunk.y.resize(chunk.y.shape[0], classes)
                    found = {"several_labels": sparse.issparse(chunk.y), DECIDED: labels.decided}
                    options = options.with_found(found)
                    if self.options.get(DECIDED) is None:  # for later passes
                        self.options = self.options.with_found({DECIDED: labels.decided})
                    if chunk.columns is not None:  # later files have these, in any order
                        self._columns = chunk.columns
                        options = options.replace(columns=chunk.columns)
                    self.position = done + raw.tell() if raw.seekable() else 0
                    at = Position(number, int(chunk.lines[-1]), rows)
                    self._warn_of_null(chunk.y, name, chunk.lines)
                    yield chunk.replace(at=at)
            options = options.replace(after=0)
            if rows == before and not resumed and not options.may_be_empty:
                raise DataError(name, "expected at least one row, got none.")
            done += self._sizes[path]

    @property
    def holds(self) -> str:
        """What chunks hold: numbers, texts, or tables with columns of any kind."""
        return "texts" if self.is_text else "tables" if self.options.table else "numbers"

    def resume_from(self, start: Position) -> None:
        """Let the next pass start after the chunk that ended at `start`: skip earlier rows."""
        self._start = start

    def store_stdin(self) -> None:
        """Store standard input in a temporary file, so that it can be read several times."""
        pipes = [path for path in self.paths if path != "-" and not _is_file(path)]
        if pipes:
            raise ParameterError(
                f"{pipes[0]}: expected a file, to read twice, got a pipe. Name it -."
            )
        if "-" in self.paths:
            self._stdin.store()

    @property
    def can_repeat(self) -> bool:
        """Whether the files can be read again: none is a pipe that is not stored."""
        stored = self._stdin.is_stored
        return all(stored if path == "-" else _is_file(path) for path in self.paths)

    def source(self, made_by: Any = None) -> Source | None:
        """Return the source that a model of these files stores, after a pass.

        `made_by` made samples of texts or of a table.
        """
        options = self.options
        kept = options.replace(label=None, target=None) if self.format.labels_apart else options
        source = Source(
            kept.zero_based, kept.label, kept.text, self._columns, vector=kept.vector,
            target=kept.target, **of_maker(made_by),
        )  # fmt: skip
        return None if source == Source() else source

    def _refuse_unused(self) -> None:
        """Raise where an option was set that this format does not support."""
        for name in OPTIONS:
            if self.options.get(name) is not None and name not in self.format.options:
                raise ParameterError(
                    f"{', '.join(map(display_name, self.paths))}: expected no `{name}`, which "
                    f"{self.format.name} does not support, got one. Leave it out."
                )

    def _survey(self) -> dict[str, bool]:
        """Find the unknown facts that depend on all rows, where the files can be read twice."""
        format, options = self.format, self.options
        unknown = [name for name in format.surveyed if options.get(name) is None]
        if format.survey is None or not unknown:
            return {}
        if not all(map(_is_file, self.paths)):
            if format.surveyed[0] in unknown:
                raise ParameterError(
                    "standard input, or a pipe: expected `zero_based`, or its opposite, since "
                    "svmlight columns count from 0 or 1, got none."
                )
            return {}
        found = []
        for path in self.paths:
            with self._open(path) as (stream, _):
                found.append(format.survey(stream, path, options))
        return format.combine(found)

    def _chunks(self, stream: Any, name: str, options: Options, labels: Labels) -> Iterator[Chunk]:
        """Yield the chunks of a file with their labels, without the rows to skip."""
        may_lack = bool(options.get(_MAY_LACK))
        for chunks in self._pieces(stream, name, options):
            if self.skipped is not None:
                yield from self.skipped.labelled(chunks, labels, may_lack)
            else:
                yield from (chunk.replace(y=labels.of(chunk)) for chunk in chunks)

    def _pieces(self, stream: Any, name: str, options: Options) -> Iterator[list[Chunk]]:
        """Return the chunks that are read together: several only if rows are skipped."""
        if self.skipped is not None:
            return self.skipped.pieces(self.format, stream, name, options)
        return ([chunk] for chunk in self.format.read(stream, name, options))

    def _warn_of_null(self, y: Any, name: str, lines: Sequence[int] | np.ndarray) -> None:
        """Warn where a label is the text of a missing value, once for all files."""
        if self._null_labels or not isinstance(y, np.ndarray) or y.dtype.kind != "U":
            return
        distinct, first = np.unique(y, return_index=True)
        for label, row in zip(distinct.tolist(), first.tolist(), strict=True):
            if is_missing(label):
                self._null_labels = True
                warn(
                    f"{name}:{lines[row]}: the label {label!r} is a class. If the label is missing "
                    "there, remove these rows."
                )
                return

    def _check(self, chunk: Chunk, name: str, before: int) -> None:
        if chunk.holds != "numbers":
            return
        X = chunk.X
        width = self.options.width or (0 if sparse.issparse(X) else before)
        if width and X.shape[1] != width:
            problem = f"expected rows of {width} columns, got {X.shape[1]}."
            raise DataError(name, problem, chunk.lines[0])
        check_finite(chunk, name)

    def _format_of(self, path: str) -> Format:
        if path == "-":
            row = self._stdin.first_row(self.options.max_line_mb)
            one = self.options.separator
            return format_of_row(row if one is None else row.replace(one.encode(), b","))
        return format_of(path)[0]

    @contextmanager
    def _open(self, path: str) -> Iterator[tuple[Any, IO[bytes]]]:
        """Give the stream to read from, and the raw file under it, which knows its position.

        Errors in the block count lines from the beginning of the file, also where a part is read.
        """
        if path == "-":
            stream = self._stdin.open()
            yield stream, stream
            return
        compressed = format_of(path)[1]
        with self._raw(path) as raw, streams.decompressed(raw, path, compressed) as stream:
            part, encoding = self._part, self.options.encoding
            if self.format.kind.is_binary:
                yield stream, raw
                return
            if part is None:
                yield streams.in_utf8(stream, path, encoding), raw
                return
            raw.seek(part.first)
            size = part.last - part.first
            some: Any = io.BufferedReader(Section(raw, most=size), min(size, streams.BLOCK))
            try:
                yield some if encoding is None else streams.in_utf8(some, path, encoding), raw
            except DataError as error:
                if error.line is None:
                    raise
                line = error.line + n_lines_before(part)
                raise DataError(error.path, error.problem, line) from None

    @contextmanager
    def _raw(self, path: str) -> Iterator[Any]:
        """Give a file as it is stored."""
        if not is_address(path):
            with open(path, "rb") as raw:
                yield raw
            return
        try:
            with addresses.opened(path) as file:
                yield file if self.format.kind.is_binary else io.BufferedReader(file, streams.BLOCK)
        except OSError as error:
            raise addresses.unreachable(path, error) from None

    def _options_of(self, part: FilePart) -> Options:
        """Return options with what the reader has to know to read a part of a file."""
        options, format = self.options, self.format
        if format.kind.is_binary:
            return options.replace(after=part.first).with_found({"stop": part.last})
        if not format.has_header or not part.first:
            return options
        with open(part.path, "rb") as raw:  # errors of the header are found here
            stream = streams.in_utf8(raw, part.path, options.encoding)
            first = next(format.read(stream, part.path, options.replace(chunk_rows=1)))
        return options.with_found({"header": first.header})


def _is_file(path: str) -> bool:
    """Whether a path can be read again, as standard input and pipes cannot."""
    return is_address(path) or os.path.isfile(path)


def _size_of(path: str) -> int:
    """Return the size of an input, 0 of standard input; raise where it is no file."""
    if path == "-":
        return 0
    if is_address(path):
        return addresses.size_at(path)
    if not os.path.exists(path):
        raise FileNotFoundError(2, "no such file", path)
    if os.path.isdir(path):
        raise ParameterError(f"{path}: expected a file, got a folder.")
    return os.path.getsize(path)


def first_cells(path: str, options: Options) -> TableRows | None:
    """Return the first rows of a file as those of a table; None where it cannot be one."""
    if not _is_file(path):  # a pipe is read once
        return None
    with catch_warnings():
        simplefilter("ignore")  # reading gives them, too
        try:
            if "table" not in format_of(path)[0].options:
                return None
            rows = options.replace(table=True, text=None, chunk_rows=_FIRST)
            dataset = Dataset([path], rows)
            with dataset._open(path) as (stream, _):  # whatever the labels are
                pieces = dataset._pieces(stream, path, dataset.options)
                first = next((chunk for chunks in pieces for chunk in chunks), None)
        except (DataError, ParameterError, OSError):  # which another reader words better
            return None
    return first.X if first is not None and first.holds == "tables" else None
