"""Labelled data from files, chunk by chunk: svmlight, Parquet, npz, CSV, and JSON lines of text."""

from __future__ import annotations

import glob
import gzip
import io
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import IO, Any

import numpy as np
from scipy import sparse

from narrows.io.chunk import Chunk, Options, Position
from narrows.io.formats import arrow, csv, jsonl, npz, svmlight
from narrows.io.source import Source
from narrows.solve.errors import DataError, ParameterError, warn
from narrows.text import Vectoriser

# a reader turns a binary stream, its name and the options into chunks
READERS: dict[str, Callable[[IO[bytes], str, Options], Iterator[Chunk]]] = {
    ".svm": svmlight.read,
    ".svmlight": svmlight.read,
    ".libsvm": svmlight.read,
    ".npz": npz.read,
    ".parquet": arrow.read,
    ".csv": csv.read,
    ".jsonl": jsonl.read,
}
BINARY = {".npz", ".parquet"}  # no .gz, no pipe
_USED_BY: dict[str, set[Any]] = {
    "text": {jsonl.read},
    "split": {jsonl.read},
    "label": {csv.read, jsonl.read, npz.read, arrow.read, arrow.read_table},
    "zero_based": {svmlight.read},
}


def suffix_of(path: str, formats: Iterable[str] = READERS) -> tuple[str, bool]:
    """Return the suffix that names the format, one of `formats`, and whether it is gzipped."""
    root, suffix = os.path.splitext(path.lower())
    zipped = suffix == ".gz"
    if zipped:
        suffix = os.path.splitext(root)[1]
    if suffix not in formats or (zipped and suffix in BINARY):
        raise ParameterError(
            f"{path}: unknown suffix; one of {', '.join(formats)} wanted, with .gz after it if it "
            "is gzipped text."
        )
    return suffix, zipped


def _reader_of(suffixes: set[str]) -> Callable[[IO[bytes], str, Options], Iterator[Chunk]]:
    if len({READERS[suffix] for suffix in suffixes}) != 1:
        raise ParameterError(
            f"files of one format wanted, but {', '.join(sorted(suffixes))} came. "
            "Run once for each, or convert them."
        )
    return READERS[min(suffixes)]


def hold_texts(paths: Iterable[str]) -> bool:
    """Whether files, of one format, hold texts instead of rows; ParameterError if of several."""
    return _reader_of({suffix_of(path)[0] for path in paths}) is jsonl.read


class Dataset:
    r"""Files of one format as one data set, which can be gone through again and again.

    Parameters
    ----------
    paths : sequence of str
        The files, or "-" for standard input.
    options : Options
        How to read them.
    source : Source, optional
        What a model remembers of the files it was fitted to, where `options` do not say.

    Attributes
    ----------
    is_text : bool
        Whether chunks hold texts instead of rows.
    position, size : int
        Bytes read so far of this pass, and in all (0 if unknown).

    Raises
    ------
    ParameterError, DataError, FileNotFoundError
        As `iter_chunks`.

    Notes
    -----
    **Cost** of a pass: as `iter_chunks`, which is made of it and is what to use.

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

    def __init__(self, paths: Sequence[str], options: Options, source: Source | None = None):
        if not paths:
            raise ParameterError("no file was named; at least one is wanted.")
        for path in paths:
            if path != "-" and not os.path.exists(path):
                raise FileNotFoundError(2, "no such file", path)
            if os.path.isdir(path):
                raise ParameterError(f"{path}: a file wanted, but this is a folder.")
        if list(paths).count("-") > 1:
            raise ParameterError("- (standard input) can be read only once.")
        self.paths, self.options = list(paths), options
        self.position = 0
        self.size = sum(os.path.getsize(path) for path in paths if path != "-")
        self._kept: IO[bytes] | None = None
        self._start, self._line = Position(), 0
        self._columns: tuple[str, ...] | None = None
        self._cut: set[str] = set()  # files that were warned of
        self._read = _reader_of({self._format(path)[0] for path in paths})
        self.is_text = self._read is jsonl.read
        self._refuse_unused()
        for name in ("label", "text", "zero_based"):
            used = source is not None and self._read in _USED_BY[name]
            if used and getattr(options, name) is None:
                options = options.having(**{name: getattr(source, name)})
        self.options = options
        if self._read is svmlight.read and None in (options.zero_based, options.several_labels):
            self.options = self._surveyed()
        if self._read is csv.read and options.number_labels is None and self._regular(paths):
            self.options = options.having(number_labels=self._number_labels())

    def __iter__(self) -> Iterator[Chunk]:
        """Go through all chunks; finite numbers and equal widths are seen to here."""
        (first, after, rows), self._start = self._start, Position()
        done = self.position = width = classes = 0
        options = self.options
        for number, path in enumerate(self.paths):
            before = rows
            if number < first:
                done += os.path.getsize(path)
                continue
            resumed, line = number == first and rows > 0, 0
            if resumed:
                line, after = self._line, after - self._line
                options = options.having(after=after)
            with self._open(path) as (stream, raw):
                for chunk in self._read(stream, _name(path), options):
                    rows += len(chunk.lines)
                    self._check(chunk, _name(path), width)
                    if chunk.cut and path not in self._cut:
                        self._cut.add(path)
                        warn(f"{_name(path)}: the last line has no end; it may have been cut off.")
                    if sparse.issparse(chunk.X):  # as wide as the widest so far, or as told
                        width = max(width, options.width or 0, chunk.X.shape[1])
                        chunk.X.resize(chunk.X.shape[0], width)
                    elif not self.is_text:
                        width = chunk.X.shape[1]
                    if sparse.issparse(chunk.y):
                        classes = max(classes, chunk.y.shape[1])
                        chunk.y.resize(chunk.y.shape[0], classes)
                    options = options.having(several_labels=sparse.issparse(chunk.y))
                    if chunk.columns is not None:  # later files have these, in any order
                        self._columns = chunk.columns
                        options = options.having(columns=chunk.columns)
                    self.position = done + raw.tell() if raw.seekable() else 0
                    at = Position(number, line + int(chunk.lines[-1]), rows)
                    yield chunk._replace(at=at)
            options = options.having(after=0, header=None)
            if rows == before and not resumed and not options.may_be_empty:
                raise DataError(_name(path), "holds no rows; at least one is wanted.")
            done += 0 if path == "-" else os.path.getsize(path)

    def go_on_from(self, start: Position, begins_there: bool = False) -> None:
        """Let the next pass begin after the chunk that ended at `start`.

        What comes before is passed over, unless the input itself begins there: a pipe whose
        producer does not repeat what was read. A CSV header is then taken from `options`.
        """
        self._start, self._line = start, start.line if begins_there else 0

    def keep(self) -> None:
        """Hold standard input in a temporary file, so that it can be gone through again."""
        pipes = [path for path in self.paths if path != "-" and not os.path.isfile(path)]
        if pipes:
            raise ParameterError(f"{pipes[0]}: a pipe cannot be read twice; give it as -.")
        if "-" in self.paths and self._kept is None:
            self._kept = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the data set
            shutil.copyfileobj(self._stdin, self._kept)

    def source(self, tfidf: Vectoriser | None = None) -> Source | None:
        """What a model fitted to these files has to remember of them, after a pass."""
        options = self.options
        source = Source(
            zero_based=options.zero_based if self._read is svmlight.read else None,
            label=options.label,
            text=options.text,
            columns=self._columns,
            tfidf=tfidf,
        )
        return None if source == Source() else source

    @cached_property
    def _stdin(self) -> Any:
        """Standard input, as a reader of its own: a thread may still wait in it at the end."""
        try:
            return open(sys.stdin.fileno(), "rb", closefd=False)
        except (OSError, ValueError, AttributeError):  # not the process's own
            if sys.stdin is None:
                raise ParameterError("-: there is no standard input.") from None
            return sys.stdin.buffer

    def _regular(self, paths: Sequence[str]) -> bool:
        """Whether all can be read twice: pipes cannot."""
        return all(os.path.isfile(path) for path in paths)

    def _refuse_unused(self) -> None:
        """Raise where an option was given that this format has no use for."""
        for name, readers in _USED_BY.items():
            if getattr(self.options, name) is not None and self._read not in readers:
                raise ParameterError(
                    f"{name.replace('_', '-')} was given, but is of no use for "
                    f"{', '.join(map(_name, self.paths))}."
                )

    def _number_labels(self) -> bool:
        numbers = True
        for path in self.paths:
            with self._open(path) as (stream, _):
                numbers &= csv.labels_are_numbers(stream, _name(path), self.options)
        return numbers

    def _surveyed(self) -> Options:
        """Return the options, with what only the whole of svmlight files can tell."""
        options = self.options
        if self._regular(self.paths):
            found = [False, False]
            for path in self.paths:
                with self._open(path) as (stream, _):
                    seen = svmlight.survey(stream, _name(path), options)
                    found = [a or b for a, b in zip(found, seen, strict=True)]
            zero_based = found[0] if options.zero_based is None else options.zero_based
            several = found[1] if options.several_labels is None else options.several_labels
            options = options.having(zero_based=zero_based, several_labels=several)
        elif options.zero_based is None:
            raise ParameterError(
                "standard input, or a pipe, cannot be searched for a column 0 first: say whether "
                "its svmlight columns are --zero-based or --one-based."
            )
        return options

    def _check(self, chunk: Chunk, name: str, before: int) -> None:
        X = chunk.X
        if isinstance(X, list):
            return
        width = self.options.width or (0 if sparse.issparse(X) else before)
        if width and X.shape[1] != width and self._read is not svmlight.read:
            raise DataError(
                name, f"rows of {width} columns wanted, but {X.shape[1]} came.", chunk.lines[0]
            )
        check_finite(chunk, name)

    def _format(self, path: str) -> tuple[str, bool]:
        if path != "-":
            return suffix_of(path)
        head: list[bytes] = []
        room = self.options.max_line_mb * 1_000_000
        while line := self._stdin.readline(room + 1):
            head.append(line)
            room -= len(line)
            if room < 0:
                raise DataError(
                    "standard input",
                    f"expected a row within {self.options.max_line_mb} MB, got none. Set "
                    "max_line_mb (--max-line-mb) if more has to be read.",
                    len(head),
                )
            if line.removeprefix(b"\xef\xbb\xbf").split(b"#")[0].strip():
                break
        suffix = _sniff(b"".join(head))
        self._stdin = io.BufferedReader(_Again(b"".join(head), self._stdin))
        return suffix, False

    @contextmanager
    def _open(self, path: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Give the stream to read from, and the raw file under it, whose position tells."""
        if path == "-":
            stream: Any = self._kept or self._stdin
            if self._kept is not None:
                stream.seek(0)
            with _damage_named("standard input"):
                yield stream, stream
            return
        _, zipped = suffix_of(path)
        with open(path, "rb") as raw, _damage_named(path):
            if zipped:
                with gzip.open(raw, "rb") as stream:
                    yield stream, raw
            else:
                yield raw, raw


class _Again(io.RawIOBase):
    """A stream, beginning with what has been read of it already."""

    def __init__(self, head: bytes, stream: Any):
        self.head, self.stream = head, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.head[: len(buffer)] or self.stream.read1(len(buffer))
        self.head = self.head[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)


def expanded(inputs: Iterable[str]) -> list[str]:
    """Return the inputs, with the files that a pattern such as ``shards/*.svm`` matches for it."""
    paths: list[str] = []
    for path in inputs:
        is_pattern = glob.has_magic(path) and not os.path.exists(path)
        found = sorted(glob.glob(path)) if is_pattern else [path]
        if not found:
            raise FileNotFoundError(2, "no file matches", path)
        paths += found
    return paths


def check_finite(chunk: Chunk, name: str) -> None:
    """Raise DataError, with the row, where a number is not finite."""
    X = chunk.X
    values = X.data if sparse.issparse(X) else X
    if not np.isfinite(values).all():
        bad = ~np.isfinite(values)
        row = (
            np.searchsorted(X.indptr, np.flatnonzero(bad)[0], side="right") - 1
            if sparse.issparse(X)
            else np.flatnonzero(bad.any(axis=1))[0]
        )
        raise DataError(name, "NaN or infinity; every value must be finite.", chunk.lines[row])


@contextmanager
def _damage_named(name: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(name, f"damaged or cut short: {error}.") from None


def _name(path: str) -> str:
    return "standard input" if path == "-" else path


def _sniff(head: bytes) -> str:
    """Return the suffix of a format that starts like this."""
    if head.startswith((b"\x1f\x8b", b"PK\x03\x04")):
        raise ParameterError(
            "standard input: text wanted, but a compressed file came. Unpack it first, or name it."
        )
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    line = next((line.strip() for line in lines if line.split(b"#")[0].strip()), b"")
    if not line:
        raise DataError("standard input", "holds no rows; at least one is wanted.")
    if line.startswith(b"{"):
        return ".jsonl"
    if re.fullmatch(rb"[-+.\deE]+\s*(#.*)?|([-+.\deE,]+\s+)?(qid:\S+\s+)?\d+:\S.*", line):
        return ".svm"
    if b"," in line:
        return ".csv"
    raise ParameterError(
        "standard input: JSON lines, svmlight or CSV with a header wanted, but it starts with "
        f"{line[:40]!r}."
    )
