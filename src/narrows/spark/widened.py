"""DataFrames of Spark with new columns, which executors make of the samples in others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from narrows.engines import learn, parts
from narrows.engines.spark import Spark
from narrows.engines.spark_rows import stream_of
from narrows.io.chunk import Options
from narrows.io.formats.arrow import pyarrow
from narrows.spark.columns import check_names, schema_with


def with_columns(
    df: Any,
    estimator: Any,
    names: list[str],
    options: Options,
    kinds: dict[str, str],
    of_samples: Callable[[Any], list[Any]],
) -> Any:
    """Return a DataFrame with more columns, which a function makes of the samples.

    `kinds` has their names and types, in the order of the arrays that the function returns.
    """
    check_names([*df.columns, *kinds])
    source = estimator._source
    reading = options, source and Spark(df.sparkSession).broadcast(source)

    def widened(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        held: deque[Any] = deque()
        own = (_held(batch, held).select(names) for batch in batches)
        part = stream_of(own), parts.partition(TaskContext.get().partitionId())
        for arrays in learn.of_chunks(part, reading, of_samples):
            rows = _taken(held, len(arrays[0]))
            yield pyarrow().RecordBatch.from_arrays(
                [*rows.columns, *arrays], names=[*rows.schema.names, *kinds]
            )

    return df.mapInArrow(widened, schema_with(df.schema, kinds))


def _held(batch: Any, held: deque[Any]) -> Any:
    held.append(batch)
    return batch


def _taken(held: deque[Any], n: int) -> Any:
    """Return the first n rows of record batches, which are taken from there, as one."""
    taken = []
    while n:
        batch = held.popleft()
        taken.append(batch.slice(0, n))
        n -= taken[-1].num_rows
        if taken[-1].num_rows < batch.num_rows:
            held.appendleft(batch.slice(taken[-1].num_rows))
    (rows,) = pyarrow().Table.from_batches(taken).combine_chunks().to_batches()
    return rows
