"""Sessions of both modes run what narrows sends to executors."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

import narrows
from tests.cases import ALL


def batch_of(**columns):
    return pa.RecordBatch.from_pydict({name: [value] for name, value in columns.items()})


def test_executors_are_other_processes_with_these_sources(spark):
    def where(batches):
        import tests.cases

        for _ in batches:
            yield batch_of(
                process=os.getpid(), source=narrows.__file__, methods=len(tests.cases.ALL)
            )

    rows = (
        spark.range(0, 4, 1, 4)
        .mapInArrow(where, "process long, source string, methods long")
        .collect()
    )
    assert len(rows) == 4
    assert os.getpid() not in {row.process for row in rows}
    assert {Path(row.source) for row in rows} == {Path(narrows.__file__)}
    assert {row.methods for row in rows} == {len(ALL)}
