"""Spark as an engine: what a function returns for each part is in rows of a DataFrame.

Only `mapInArrow` and `applyInArrow` are used, so that Spark Connect works too. Of a task that Spark
repeats, or runs twice, it takes the rows once.

Value k has at least one row, and several if it has more than `ROW` bytes. The first one also says
what is known about the value: the features of a part, or the error that took its place.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, reduce
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from narrows.engines.engine import Engine, Function
from narrows.engines.parts import partition
from narrows.errors import DataError

ROW = 4_000_000  # bytes of a value in one row
GATHER = 64_000_000  # bytes that one task adds up, and that come to this process at a time
AT_ONCE = 8  # values that one task adds up, if they are small
_SCHEMA = "k long, row int, about binary, data binary"
_SENT: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # names of files, by session
# errors that a second attempt does not mend
_LASTING = (ValueError, TypeError, ImportError, FileNotFoundError, PermissionError)


class Spark(Engine):
    """A Spark session; a result is a DataFrame of the rows of all values.

    It is a context manager, which frees at the end what the executors hold.
    """

    def __init__(self, session: Any):
        self.session = session
        self.kept: list[Any] = []

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

    def reduce(self, add: Function, results: list[Any], seen: Function | None = None) -> Any:
        """Return the sum of values, of which tasks add a few until the rest is small, or one."""
        from pyspark.sql import functions

        def together(key: Any, table: Any) -> Any:
            return _table(_rows(key[0].as_py(), reduce(add, _values_of(table))))

        frame, sizes, known = self._measured(results[0])
        left, largest = max(sizes) + 1, max(sizes.values())
        if seen is not None:
            for k in range(left):
                seen(k, known.get(k))
        few, summed = min(AT_ONCE, max(2, GATHER // largest)), frame
        while left > 1 and left * largest > GATHER:
            groups = summed.groupBy(functions.expr(f"k div {few}").alias("sum"))
            summed, left = groups.applyInArrow(together, _SCHEMA), -(-left // few)
        if summed is not frame:
            frame, sizes, _ = self._measured(summed)
        return reduce(add, _values_of(_gathered(frame, max(sizes.values()))))

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
        """Return values."""
        return [value for frame in results for value in _values_of(_computed(frame))]

    def head(self, data: Any, n: int = 1) -> Any:
        """Return the first n rows of a DataFrame, or any one of them; other data as they are."""
        from pyspark.sql import functions

        if not hasattr(data, "mapInArrow"):
            return data
        if n > 1:  # else Spark takes rows of any partitions, in any order
            data = data.orderBy(functions.monotonically_increasing_id())
        return data.limit(n)

    def _measured(self, frame: Any) -> tuple[Any, Counter[int], dict[int, Any]]:
        """Compute rows and keep them; return them, and the bytes and what is known of values."""
        from pyspark.sql import functions

        frame = frame.persist()
        self.kept.append(frame)
        table = _computed(frame.select("k", "about", functions.length("data").alias("nbytes")))
        if not table.num_rows:
            raise DataError("DataFrame", "expected at least one sample, got none.")
        sizes: Counter[int] = Counter()
        known: dict[int, Any] = {}
        for row in table.to_pylist():
            sizes[row["k"]] += row["nbytes"]
            if row["about"] is not None:
                known[row["k"]] = _loads(row["about"])
        for k in sorted(known):
            if isinstance(known[k], Exception):
                raise known[k]
        return frame, sizes, known


def _gathered(frame: Any, largest: int) -> Any:
    """Return the rows of values of at most so many bytes; `GATHER` of a value come at a time."""
    import pyarrow
    from pyspark.sql import functions

    row, at_once = functions.col("row"), max(1, GATHER // ROW)
    starts = range(0, -(-largest // ROW), at_once)
    windows = (frame.where(row.between(at, at + at_once - 1)) for at in starts)
    return pyarrow.concat_tables([window.toArrow() for window in windows])


def _computed(frame: Any) -> Any:
    """Return the rows of a DataFrame; ImportError where an executor lacks narrows."""
    try:
        return frame.toArrow()
    except Exception as error:
        if "No module named 'narrows" not in str(error):
            raise
    raise ImportError(
        "expected narrows on the executors, got some without it. Install it where their "
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
    """Return what Spark sends for a value; what was learned is plain arrays."""
    from pyspark.serializers import CloudPickleSerializer

    return bytes(CloudPickleSerializer().dumps(value))


def _loads(data: Any) -> Any:
    """Return the value that was sent."""
    from pyspark.serializers import CloudPickleSerializer

    return CloudPickleSerializer().loads(data)


# -- values as rows --------------------------------------------------------------------------------


def _rows_of(k: int, function: Function, *args: Any) -> Iterator[Any]:
    """Yield the rows of what a function returns, or of the error that it raises."""
    try:
        value = function(*args)
    except _LASTING as error:
        yield _row(k, 0, error, b"")
        return
    yield from _rows(k, value)


def _rows(k: int, value: Any) -> Iterator[Any]:
    data = _dumps(value)
    about = getattr(value, "features", None)  # of a part
    for row, start in enumerate(range(0, len(data), ROW)):
        yield _row(k, row, None if row else about, data[start : start + ROW])


def _row(k: int, row: int, about: Any, data: bytes) -> Any:
    import pyarrow as pa

    said = None if about is None else _dumps(about)
    kinds = {"k": pa.int64(), "row": pa.int32(), "about": pa.binary(), "data": pa.binary()}
    values = zip((k, row, said, data), kinds.values(), strict=True)
    return pa.RecordBatch.from_arrays([pa.array([value], kind) for value, kind in values], [*kinds])


def _table(batches: Iterable[Any]) -> Any:
    import pyarrow

    return pyarrow.Table.from_batches(list(batches))


def _values_of(table: Any) -> Iterator[Any]:
    """Yield the values in a table of rows, in their order; raise where one is an error."""
    rows: dict[int, list[int]] = {}
    places = zip(table.column("k").to_pylist(), table.column("row").to_pylist(), strict=True)
    for (k, _), i in sorted((place, i) for i, place in enumerate(places)):
        rows.setdefault(k, []).append(i)
    about, data = table.column("about"), table.column("data")
    for first, *others in rows.values():
        if not others and not data[first].as_buffer().size:
            raise _loads(about[first].as_py())
        parts = [data[i].as_buffer() for i in (first, *others)]
        yield _loads(b"".join(parts) if others else parts[0])


def stream_of(batches: Iterator[Any]) -> Any:
    """Return what exports record batches as an Arrow stream; None where there are none."""
    import pyarrow

    first = next(batches, None)
    if first is None:
        return None
    return pyarrow.RecordBatchReader.from_batches(first.schema, chain([first], batches))
