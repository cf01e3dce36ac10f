"""Spark as an engine: what a function returns for each part is in rows of a DataFrame.

Only `mapInArrow` and `applyInArrow` are used, so that Spark Connect works too. Of a task that Spark
repeats, or runs twice, it takes the rows once.

Value k has one row, or several if it has more than `ROW` bytes. An error that took its place is
row -1.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache, reduce
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from narrows.engines.engine import Engine, Function
from narrows.engines.parts import partition
from narrows.errors import DataError

ROW = 4_000_000  # bytes of a value in one row
GATHER = 64_000_000  # bytes that one task adds up, and that come to this process at a time
AT_ONCE = 8  # values that one task adds up, if they are small
_SCHEMA = "k long, row int, data binary"
_ERROR = -1  # the row of an error
_SENT: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # names of files, by session
# errors that a second attempt does not mend
_LASTING = (ValueError, TypeError, ImportError, FileNotFoundError, PermissionError)


class Spark(Engine):
    """A Spark session. Spark places tasks, and repeats those of executors that die."""

    def __init__(self, session: Any):
        self.session = session

    def map(self, function: Function, parts: Sequence[Any]) -> list[Any]:
        """Return the values of a function of each part, or of each partition of a DataFrame."""
        return list(_values_of(_computed(self._rows_of(function, parts))))

    def map_reduce(
        self,
        function: Function,
        parts: Sequence[Any],
        add: Function,
        done: Function | None = None,
    ) -> Any:
        """Return the sum of values, of which tasks add a few until the rest is small, or one."""
        from pyspark.sql import functions

        def together(key: Any, table: Any) -> Any:
            return _table(_rows(key[0].as_py(), reduce(add, _values_of(table))))

        with ExitStack() as held:  # what executors hold, each computed once
            rows = self._rows_of(function, parts)
            held.callback(rows.persist().unpersist)
            nbytes = functions.length("data").alias("nbytes")
            sizes: Counter[int] = Counter()
            for each in _computed(rows.select("k", "row", nbytes)).to_pylist():
                if each["row"] == _ERROR:
                    next(_values_of(_computed(rows.where(f"row = {_ERROR}"))))  # which raises
                sizes[each["k"]] += each["nbytes"]
            if not sizes:
                raise DataError("DataFrame", "expected at least one sample, got none.")
            if done:
                for k in sizes:
                    done(k)
            left, largest = max(sizes) + 1, max(sizes.values())
            few = min(AT_ONCE, max(2, GATHER // largest))
            while left > 1 and left * largest > GATHER:
                groups = rows.groupBy(functions.expr(f"k div {few}").alias("sum"))
                rows, left = groups.applyInArrow(together, _SCHEMA), -(-left // few)
            held.callback(rows.persist().unpersist)
            return reduce(add, _values_of(_gathered(rows)))

    def _rows_of(self, function: Function, parts: Sequence[Any]) -> Any:
        """Return a DataFrame of the values of a function of each part."""
        function = self.sent(function)
        if len(parts) == 1 and hasattr(parts[0][0], "mapInArrow"):

            def of_partition(batches: Iterator[Any]) -> Iterator[Any]:
                from pyspark import TaskContext

                k = TaskContext.get().partitionId()
                yield from _rows_or_error(k, function, (stream_of(batches), partition(k)))

            return parts[0][0].mapInArrow(of_partition, _SCHEMA)

        def of_parts(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                for k in batch.column(0).to_pylist():
                    yield from _rows_or_error(k, function, parts[k])

        return self.session.range(0, len(parts), 1, len(parts)).mapInArrow(of_parts, _SCHEMA)

    def sent(self, function: Function) -> Any:
        """Return a function or, where it is large, one that reads it: Spark sends it as a file."""
        data = _dumps(function)
        if len(data) < ROW:
            return function
        name = f"narrows-{sha256(data).hexdigest()}"
        path = os.path.join(_folder().name, name)
        if not os.path.exists(path):
            Path(path).write_bytes(data)
        if name not in _SENT.setdefault(self.session, set()):
            self.session.addArtifacts(path, file=True)
            _SENT[self.session].add(name)
        return _Sent(name)

    def head(self, data: Any, n: int = 1) -> Any:
        """Return the first n rows of a DataFrame, or any one of them; other data as they are."""
        from pyspark.sql import functions

        if not hasattr(data, "mapInArrow"):
            return data
        if n > 1:  # else Spark takes rows of any partitions, in any order
            data = data.orderBy(functions.monotonically_increasing_id())
        return data.limit(n)


def _gathered(rows: Any) -> Any:
    """Return the rows of values as a table; `GATHER` bytes of a value come at a time."""
    import pyarrow
    from pyspark.sql import functions

    tables, step = [], max(1, GATHER // ROW)
    for start in count(0, step):
        stop = start + step - 1
        tables.append(rows.where(functions.col("row").between(start, stop)).toArrow())
        if stop not in tables[-1]["row"].to_pylist():
            return pyarrow.concat_tables(tables)


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
    """What a large function is until it is there: a file among those of the session."""

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


def _rows_or_error(k: int, function: Function, part: Any) -> Iterator[Any]:
    """Yield the rows of what a function returns, or of the error that it raises."""
    try:
        value = function(part)
    except _LASTING as error:
        yield _row(k, _ERROR, _dumps(error))
        return
    yield from _rows(k, value)


def _rows(k: int, value: Any) -> Iterator[Any]:
    data = _dumps(value)
    for row, start in enumerate(range(0, len(data), ROW)):
        yield _row(k, row, data[start : start + ROW])


def _row(k: int, row: int, data: bytes) -> Any:
    import pyarrow as pa

    arrays = pa.array([k], pa.int64()), pa.array([row], pa.int32()), pa.array([data], pa.binary())
    return pa.RecordBatch.from_arrays(list(arrays), names=["k", "row", "data"])


def _table(batches: Iterable[Any]) -> Any:
    import pyarrow

    return pyarrow.Table.from_batches(list(batches))


def _values_of(table: Any) -> Iterator[Any]:
    """Yield the values in a table of rows, in their order; raise where one is an error."""
    rows: dict[int, list[int]] = {}
    places = zip(table.column("k").to_pylist(), table.column("row").to_pylist(), strict=True)
    for (k, row), i in sorted((place, i) for i, place in enumerate(places)):
        if row == _ERROR:
            raise _loads(table.column("data")[i].as_py())
        rows.setdefault(k, []).append(i)
    for at in rows.values():
        parts = [table.column("data")[i].as_buffer() for i in at]
        yield _loads(b"".join(parts) if len(parts) > 1 else parts[0])


def stream_of(batches: Iterator[Any]) -> Any:
    """Return what exports record batches as an Arrow stream; None where there are none."""
    import pyarrow

    first = next(batches, None)
    if first is None:
        return None
    return pyarrow.RecordBatchReader.from_batches(first.schema, chain([first], batches))
