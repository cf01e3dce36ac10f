"""Spark as an engine: what a function returns for each part is in rows of a DataFrame.

Only `mapInArrow` and `applyInArrow` are used, so that Spark Connect works too. Of a task that Spark
repeats, or runs twice, it takes the rows once.

Value k has at least one row. A value of more than `ROW` bytes has several, and a state that can get
large is in pieces, by its first feature. The first row of a value also says what is known about it:
`Facts` about a state, or the error that took its place.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, reduce
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from narrows.engines.engine import Engine, Function, Piece
from narrows.engines.learn import Features, PartialState
from narrows.engines.parts import partition
from narrows.errors import DataError

NAME = "narrows.spark"  # for messages
ROW = 4_000_000  # bytes of a value in one row
GATHER = 64_000_000  # bytes that one task adds up, and that come to this process at a time
AT_ONCE = 8  # values that one task adds up, if they are small
# bytes of one piece of a state if all sums were non-zero; half of it has to be more than
# `state.table.SMALL`, or sparse sums would become arrays
LIMIT = 80_000_000
_SCHEMA = "k long, first long, row int, about binary, data binary"
_SENT: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # names of files, by session
# errors that a second attempt does not mend
_LASTING = (ValueError, TypeError, ImportError, FileNotFoundError, PermissionError)


class Sum(NamedTuple):
    """A result: the sum of the values of a piece, whose bytes are known by their numbers.

    They are fetched together with those of all pieces from the first to the last of `run`.
    """

    frame: Any
    first: int
    nbytes: dict[int, int]
    add: Function
    run: tuple[int, int]


class Spark(Engine):
    """A Spark session; results are one DataFrame of the rows of all values, and each `Sum`.

    It is a context manager, which frees at the end what the executors hold.
    """

    name = NAME

    def __init__(self, session: Any):
        self.session = session
        self.kept: list[Any] = []
        self.run: Any = None  # what was fetched last, and its rows
        self.rows: Any = None

    def __enter__(self) -> Spark:
        return self

    def __exit__(self, *_: object) -> None:
        while self.kept:
            self.kept.pop().unpersist()

    def map(self, function: Function, *iterables: Iterable[Any]) -> list[Any]:
        """Return the values of a function of each item, or of each partition of a DataFrame."""
        items = list(zip(*iterables, strict=False))
        part, *shared = items[0]
        if len(items) == 1 and isinstance(part, tuple) and hasattr(part[0], "mapInArrow"):

            def of_partition(batches: Iterator[Any]) -> Iterator[Any]:
                from pyspark import TaskContext

                k = TaskContext.get().partitionId()
                yield from _rows_of(k, function, (stream_of(batches), partition(k)), *shared)

            return [part[0].mapInArrow(of_partition, _SCHEMA)]

        def of_items(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                for k in batch.column(0).to_pylist():
                    yield from _rows_of(k, function, *items[k])

        numbers = self.session.range(0, len(items), 1, len(items))
        return [numbers.mapInArrow(of_items, _SCHEMA)]

    def reduce(self, add: Function, results: Sequence[Any]) -> Any:
        """Return the sum of values."""
        (frame,) = results
        frame, sizes, _ = self._measured(frame)
        return self._added(frame, sizes, add)[0]

    def broadcast(self, thing: Any) -> Any:
        """Return a thing or, where it is large, what stands for it: Spark sends it as a file."""
        data = _dumps(thing)
        if len(data) < ROW:
            return thing
        name = f"narrows-{sha256(data).hexdigest()}"
        path = os.path.join(_folder().name, name)
        if not os.path.exists(path):
            Path(path).write_bytes(data)
        if name not in _SENT.setdefault(self.session, set()):
            self.session.addArtifacts(path, file=True)
            _SENT[self.session].add(name)
        return _Sent(name)

    def collect(self, results: Sequence[Any]) -> list[Any]:
        """Return values, and sums; no more than `GATHER` bytes of a sum come at a time."""
        values: list[Any] = []
        for result in results:
            if isinstance(result, Sum):
                values.append(reduce(result.add, self._fetched(result)))
            else:
                values += [value for _, value in _values_of(_computed(result))]
        return values

    def head(self, data: Any, n: int = 1) -> Any:
        """Return the first n rows of a DataFrame, or any one of them; other data as they are."""
        from pyspark.sql import functions

        if not hasattr(data, "mapInArrow"):
            return data
        if n > 1:  # else Spark takes rows of any partitions, in any order
            data = data.orderBy(functions.monotonically_increasing_id())
        return data.limit(n)

    def sum(
        self, add: Function, seen: Function, function: Function, *iterables: Iterable[Any]
    ) -> list[Piece]:
        """Return the pieces of the sum of states; states that may get large are cut by features."""
        (frame,) = self.map(function, *iterables)
        frame, sizes, facts = self._measured(frame)
        for k in range(max(facts) + 1):
            seen(k, facts[k].features if k in facts else None)
        sums = self._added(*self._cut_alike(frame, sizes, facts), add)
        return [Piece(each.first, sum(each.nbytes.values()), each) for each in sums]

    # -- inside -----------------------------------------------------------------------------

    def _measured(self, frame: Any) -> tuple[Any, dict[tuple[int, int], int], dict[int, Any]]:
        """Compute rows and keep them; return them, their bytes by (first, k), and the facts."""
        from pyspark.sql import functions

        frame = frame.persist()
        self.kept.append(frame)
        nbytes = functions.length("data").alias("nbytes")
        table = _computed(frame.select("k", "first", "about", nbytes))
        if not table.num_rows:
            raise DataError("DataFrame", "expected at least one sample, got none.")
        found: dict[int, Any] = {}
        sizes: dict[tuple[int, int], int] = {}
        for row in table.to_pylist():
            at = row["first"], row["k"]
            sizes[at] = sizes.get(at, 0) + row["nbytes"]
            if row["about"] is not None:
                found[row["k"]] = _loads(row["about"])
        facts = {k: found[k] for k in sorted(found)}
        for each in facts.values():
            if isinstance(each, Exception):
                raise each
        return frame, sizes, facts

    def _cut_alike(
        self, frame: Any, sizes: dict[tuple[int, int], int], facts: dict[int, Facts]
    ) -> tuple[Any, dict[tuple[int, int], int]]:
        """Cut all states into the pieces of their sum."""
        whole = Facts.of_sum(facts.values())
        width, step = whole.n_features, whole.step()
        cut_so = all((each.step(), each.n_features) == (step, width) for each in facts.values())
        if not step or cut_so:
            return frame, sizes
        widths = {k: each.n_features for k, each in facts.items()}

        def cut(key: Any, table: Any) -> Any:
            ((k, part),), first = _values_of(table), key[0].as_py()
            stop = first + part.state.n_features
            stop = width if stop >= widths[k] else stop
            return _table(_pieces(k, part, step, stop, first))

        return self._measured(frame.groupBy("first", "k").applyInArrow(cut, _SCHEMA))[:2]

    def _added(self, frame: Any, sizes: dict[tuple[int, int], int], add: Function) -> list[Sum]:
        """Return the sum of the values of each piece, after a tree that leaves few of them."""
        from pyspark.sql import functions

        def together(key: Any, table: Any) -> Any:
            first, k = (each.as_py() for each in key)
            return _table(_rows(k, first, reduce(add, (value for _, value in _values_of(table)))))

        largest, left = max(sizes.values()), max(k for _, k in sizes) + 1
        few = min(AT_ONCE, max(2, GATHER // largest))
        summed = frame
        while left > 1 and left * largest > GATHER:
            groups = summed.groupBy("first", functions.expr(f"k div {few}").alias("sum"))
            summed, left = groups.applyInArrow(together, _SCHEMA), -(-left // few)
        if summed is not frame:
            frame, sizes, _ = self._measured(summed)
        pieces: dict[int, dict[int, int]] = {}
        for (first, k), nbytes in sorted(sizes.items()):
            pieces.setdefault(first, {})[k] = nbytes
        return [
            Sum(frame, first, pieces[first], add, (run[0], run[-1]))
            for run in _runs({first: sum(each.values()) for first, each in pieces.items()})
            for first in run
        ]

    def _fetched(self, result: Sum) -> Iterator[Any]:
        """Yield the values of a piece; no more than `GATHER` bytes come at a time."""
        import pyarrow
        from pyarrow import compute
        from pyspark.sql import functions

        if sum(result.nbytes.values()) <= GATHER:
            if self.run is not result.run:
                inside = functions.col("first").between(*result.run)
                self.run, self.rows = result.run, result.frame.where(inside).toArrow()
            own = self.rows.filter(compute.field("first") == result.first)
            yield from (value for _, value in _values_of(own))
            return
        at_once = GATHER // ROW
        for k, nbytes in result.nbytes.items():
            own = result.frame.where(f"first = {result.first} and k = {k}")
            starts = range(0, -(-nbytes // ROW), at_once)
            windows = (functions.col("row").between(at, at + at_once - 1) for at in starts)
            tables = [own.where(window).toArrow() for window in windows]
            yield from (value for _, value in _values_of(pyarrow.concat_tables(tables)))


def _runs(nbytes: dict[int, int]) -> list[list[int]]:
    """Return the pieces in runs that have at most `GATHER` bytes each, or are one piece."""
    runs: list[list[int]] = []
    held = GATHER
    for first, more in nbytes.items():
        held += more
        if held > GATHER:
            runs, held = [*runs, []], more
        runs[-1].append(first)
    return runs


def _computed(frame: Any) -> Any:
    """Return the rows of a DataFrame; ImportError where an executor lacks narrows."""
    try:
        return frame.toArrow()
    except Exception as error:
        if "No module named 'narrows" not in str(error):
            raise
    raise ImportError(
        f"{NAME}: expected narrows on the executors, got some without it. Install it where their "
        "Python is, or send an environment with it (spark.addArtifacts(…, archive=True))."
    )


# -- what is sent ----------------------------------------------------------------------------------


class _Sent(NamedTuple):
    """What a broadcast thing is until it is there: a file among those of the session."""

    name: str

    def __reduce__(self) -> Any:
        return _received, (self.name,)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for files of sessions, which read them late; it goes as the process ends."""
    return tempfile.TemporaryDirectory(prefix="narrows-")


@cache
def _received(name: str) -> Any:
    from pyspark import SparkFiles

    return _loads(Path(SparkFiles.getRootDirectory(), name).read_bytes())


def _dumps(value: Any) -> bytes:
    """Return what Spark sends for a value; a state is plain arrays in there (`PartialState`)."""
    from pyspark.serializers import CloudPickleSerializer

    return bytes(CloudPickleSerializer().dumps(value))


def _loads(data: Any) -> Any:
    """Return the value that was sent."""
    from pyspark.serializers import CloudPickleSerializer

    return CloudPickleSerializer().loads(data)


# -- values as rows --------------------------------------------------------------------------------


class Facts(NamedTuple):
    """What is known of the state of a part, or of a sum of some."""

    features: Features | None
    n_features: int
    classes: frozenset[Any]
    unit: int  # bytes for each class and feature; 0 where the state cannot be cut

    @classmethod
    def of(cls, part: PartialState) -> Facts:
        """Return the facts about a state."""
        state, unit = part.state, 0
        if part.middle():
            unit = 8 * (1 + (state.second == "class") + state.presence) * (state.folds or 1)
        return cls(part.features, state.n_features, frozenset(state.classes.tolist()), unit)

    @classmethod
    def of_sum(cls, facts: Iterable[Facts]) -> Facts:
        """Return the facts about the sum of states."""
        _, widths, classes, units = zip(*facts, strict=True)
        return cls(None, max(widths), frozenset().union(*classes), max(units))

    def step(self) -> int:
        """Return the features of a piece; 0 if the state is in one piece, however large."""
        most = self.unit * max(1, len(self.classes))
        if most * self.n_features <= LIMIT:
            return 0
        return 1 << max(0, (LIMIT // most).bit_length() - 1)


def _rows_of(k: int, function: Function, *args: Any) -> Iterator[Any]:
    """Yield the rows of what a function returns, or of the error that it raises."""
    try:
        value = function(*args)
    except _LASTING as error:
        yield _row(k, 0, 0, _dumps(error), b"")
        return
    if isinstance(value, PartialState):
        facts = Facts.of(value)
        yield from _pieces(k, value, facts.step(), facts.n_features, about=facts)
    else:
        yield from _rows(k, 0, value)


def _pieces(
    k: int, part: PartialState, step: int, stop: int, first: int = 0, about: Facts | None = None
) -> Iterator[Any]:
    """Yield the rows of a state whose features begin at `first`, cut at multiples of `step`."""
    if not step:
        yield from _rows(k, first, part, about)
        return
    for at in range(first, stop, step):
        piece = part.cut(at - first, min(at + step, stop) - first)
        yield from _rows(k, at, piece, about if at == first else None)


def _rows(k: int, first: int, value: Any, about: Facts | None = None) -> Iterator[Any]:
    data = _dumps(value)
    said = None if about is None else _dumps(about)
    for row, start in enumerate(range(0, len(data), ROW)):
        yield _row(k, first, row, None if row else said, data[start : start + ROW])


def _row(k: int, first: int, row: int, about: bytes | None, data: bytes) -> Any:
    import pyarrow as pa

    kinds = pa.int64(), pa.int64(), pa.int32(), pa.binary(), pa.binary()
    names = "k", "first", "row", "about", "data"
    values = zip((k, first, row, about, data), kinds, strict=True)
    return pa.RecordBatch.from_arrays([pa.array([value], kind) for value, kind in values], names)


def _table(batches: Iterable[Any]) -> Any:
    import pyarrow

    return pyarrow.Table.from_batches(list(batches))


def _values_of(table: Any) -> Iterator[tuple[int, Any]]:
    """Yield the number of each value in a table of rows, and the value; raise where it is an error.

    A piece counts as a value.
    """
    held: list[Any] = []
    rows = zip(*(table.column(name).to_pylist() for name in ("k", "first", "row")), strict=True)
    order = sorted((at, i) for i, at in enumerate(rows))
    about, data = table.column("about"), table.column("data")
    for n, ((k, first, _), i) in enumerate(order):
        held.append(data[i].as_buffer())
        if n + 1 < len(order) and order[n + 1][0][:2] == (k, first):
            continue
        if not held[0].size and len(held) == 1:
            raise _loads(about[i].as_py())
        yield k, _loads(b"".join(held) if len(held) > 1 else held[0])
        held = []


def stream_of(batches: Iterator[Any]) -> Any:
    """Return what exports record batches as an Arrow stream; None where there are none."""
    import pyarrow

    first = next(batches, None)
    if first is None:
        return None
    return pyarrow.RecordBatchReader.from_batches(first.schema, chain([first], batches))
