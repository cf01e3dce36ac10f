"""Spark: fit to DataFrames, and reduce and predict their rows, on a cluster or by Spark Connect.

Needs the extra ``spark``, here and on the executors. These send sums, which add up to those of a
fit on one machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from narrows.spark.frames import fit, fit_files, predict, transform, transform_files

if TYPE_CHECKING:
    from narrows.spark.reducer import Reducer, ReducerModel

__all__ = [
    "Reducer", "ReducerModel", "fit", "fit_files", "predict", "transform", "transform_files",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import the stages of pyspark.ml when they are asked for."""
    if name not in ("Reducer", "ReducerModel"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from narrows.io.extras import needing

    with needing("spark", "pyspark"):
        from narrows.spark import reducer
    return getattr(reducer, name)
