"""Spark as an engine: what a function returns for each part is in rows of a DataFrame.

Only `mapInArrow` and `applyInArrow` are used, so that Spark Connect works too. Of a task that Spark
repeats, or runs twice, it takes the rows once.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial, reduce
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from narrows.engines import spark_rows as rows
from narrows.engines.engine import Engine, Function, Piece
from narrows.engines.learn import add_parts
from narrows.engines.parts import partition
from narrows.errors import DataError

NAME = "narrows.spark"  # for messages
GATHER = 64_000_000  # bytes that one task adds up, and that come to this process at a time
AT_ONCE = 8  # values that one task adds up, if they are small
_SENT: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # names of files, by session


class Values(NamedTuple):
    """Results: all values in a DataFrame of rows."""

    frame: Any


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
    """A Spark session; results are `Values`, all in one, and a `Sum`.

    It is a context manager, which frees at the end what the executors hold.
    """

    name = NAME
    keeps_results = False

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
        table = _table_in(items)
        if table is not None:
            shared = items[0][1:]

            def of_partition(batches: Iterator[Any]) -> Iterator[Any]:
                from pyspark import TaskContext

                k = TaskContext.get().partitionId()
                part = rows.stream_of(batches), partition(k)
                yield from rows.rows_of(k, function, part, *shared)

            return [Values(table.mapInArrow(of_partition, rows.SCHEMA))]

        def of_items(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                for k in batch.column(0).to_pylist():
                    yield from rows.rows_of(k, function, *items[k])

        numbers = self.session.range(0, len(items), 1, len(items))
        return [Values(numbers.mapInArrow(of_items, rows.SCHEMA))]

    def reduce(self, add: Function, results: Sequence[Any]) -> Any:
        """Return the sum of values."""
        ((frame,),) = results
        frame, sizes, _ = self._measured(frame)
        return self._added(frame, sizes, add)[0]

    def broadcast(self, thing: Any) -> Any:
        """Return a thing or, where it is large, what stands for it: Spark sends it as a file."""
        data = rows.dumps(thing)
        if len(data) < rows.ROW:
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
                values += [value for _, value in rows.values_of(_computed(result.frame))]
        return values

    def head(self, data: Any) -> Any:
        """Return the first row of a DataFrame; other data as they are."""
        return data.limit(1) if hasattr(data, "mapInArrow") else data

    def sum(
        self, add: Function, seen: Function, function: Function, *iterables: Iterable[Any]
    ) -> list[Piece]:
        """Return the pieces of the sum of states; states that may get large are cut by features."""
        ((frame,),) = self.map(function, *iterables)
        frame, sizes, facts = self._measured(frame)
        for k in range(max(facts) + 1):
            seen(k, facts[k].features if k in facts else None)
        frame, sizes = self._cut_alike(frame, sizes, facts)
        sums = self._added(frame, sizes, partial(add_parts, add))
        return [Piece(each.first, sum(each.nbytes.values()), each) for each in sums]

    # -- inside -----------------------------------------------------------------------------

    def _measured(self, frame: Any) -> tuple[Any, dict[tuple[int, int], int], dict[int, Any]]:
        """Compute rows and keep them; return them, their bytes by (first, k), and the facts."""
        from pyspark.sql import functions

        self.kept.append(frame.persist())
        found = self.kept[-1].select(
            "k", "first", "about", functions.length("data").alias("nbytes")
        )
        table = _computed(found)
        if not table.num_rows:
            raise DataError("DataFrame", "expected at least one sample, got none.")
        facts, sizes = rows.facts_in(table), dict[tuple[int, int], int]()
        for row in table.drop(["about"]).to_pylist():
            at = row["first"], row["k"]
            sizes[at] = sizes.get(at, 0) + row["nbytes"]
        return self.kept[-1], sizes, facts

    def _cut_alike(
        self, frame: Any, sizes: dict[tuple[int, int], int], facts: dict[int, rows.Facts]
    ) -> tuple[Any, dict[tuple[int, int], int]]:
        """Cut all states into the pieces of their sum."""
        widths = {k: each.n_features for k, each in facts.items()}
        width, step = rows.width_and_step(facts.values())
        cut_so = all((each.step(), each.n_features) == (step, width) for each in facts.values())
        if not step or cut_so:
            return frame, sizes

        def cut(key: Any, table: Any) -> Any:
            ((k, part),), first = rows.values_of(table), key[0].as_py()
            stop = first + part.state.n_features
            stop = width if stop >= widths[k] else stop
            return _table(rows.pieces_of(k, part, step, stop, first))

        return self._measured(frame.groupBy("first", "k").applyInArrow(cut, rows.SCHEMA))[:2]

    def _added(self, frame: Any, sizes: dict[tuple[int, int], int], add: Function) -> list[Sum]:
        """Return the sum of the values of each piece, after a tree that leaves few of them."""
        from pyspark.sql import functions

        largest, left = max(sizes.values()), max(k for _, k in sizes) + 1
        few = min(AT_ONCE, max(2, GATHER // largest))
        summed = frame
        while left > 1 and left * largest > GATHER:
            groups = summed.groupBy("first", functions.expr(f"k div {few}").alias("sum"))
            summed, left = groups.applyInArrow(_adding(add), rows.SCHEMA), -(-left // few)
        if summed is not frame:
            frame, sizes, _ = self._measured(summed)
        pieces: dict[int, dict[int, int]] = {}
        for (first, k), nbytes in sorted(sizes.items()):
            pieces.setdefault(first, {})[k] = nbytes
        sums: list[Sum] = []
        for run in _runs({first: sum(each.values()) for first, each in pieces.items()}):
            ends = run[0], run[-1]
            sums += [Sum(frame, first, pieces[first], add, ends) for first in run]
        return sums

    def _fetched(self, result: Sum) -> Iterator[Any]:
        """Yield the values of a piece; no more than `GATHER` bytes come at a time."""
        from pyspark.sql import functions

        if sum(result.nbytes.values()) <= GATHER:
            if self.run is not result.run:
                inside = functions.col("first").between(*result.run)
                self.run, self.rows = result.run, result.frame.where(inside).toArrow()
            piece = rows.piece_of(self.rows, result.first)
            yield from (value for _, value in rows.values_of(piece))
            return
        import pyarrow

        at_once = GATHER // rows.ROW
        for k, nbytes in result.nbytes.items():
            own = result.frame.where(f"first = {result.first} and k = {k}")
            starts = range(0, -(-nbytes // rows.ROW), at_once)
            windows = (functions.col("row").between(at, at + at_once - 1) for at in starts)
            parts = [own.where(window).toArrow() for window in windows]
            yield from (value for _, value in rows.values_of(pyarrow.concat_tables(parts)))


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

    with open(os.path.join(SparkFiles.getRootDirectory(), name), "rb") as file:
        return rows.loads(file.read())


def _adding(add: Function) -> Callable[[Any, Any], Any]:
    """Return what adds up the values of a group."""

    def together(key: Any, table: Any) -> Any:
        first, k = (each.as_py() for each in key)
        return _table(rows.sum_of(k, first, add, (value for _, value in rows.values_of(table))))

    return together


def _table(batches: Iterable[Any]) -> Any:
    import pyarrow

    return pyarrow.Table.from_batches(list(batches))


def _table_in(items: list[tuple[Any, ...]]) -> Any:
    """Return the DataFrame that the only part is, if it is one."""
    part = items[0][0]
    data = part[0] if isinstance(part, tuple) else None
    return data if len(items) == 1 and hasattr(data, "mapInArrow") else None
