"""The columns of a DataFrame of Spark: which hold the samples, and how samples become a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from narrows.errors import DataError
from narrows.io.formats.arrow import INDICES, VALUES, pyarrow
from narrows.io.formats.spark_vectors import DENSE, FIELDS, SPARSE

FEATURES = "features"  # the column of the samples, where none is named
VECTOR, ARRAY = "vector", "array"  # types of new columns, beside those that Spark has names for
_SHOWN = 10  # columns that a message lists


class Columns(NamedTuple):
    """The columns that hold the samples, and as what: vectors, arrays, lists, texts or numbers."""

    kind: str
    names: list[str]

    @property
    def options(self) -> dict[str, Any]:
        """How to read them, as keyword arguments of `Options`."""
        if self.kind == "texts":
            return {"text": tuple(self.names)}
        return {"vector": self.names[0]} if self.kind in ("vectors", "arrays") else {}


def columns_of(df: Any, features_col: Any, others: Sequence[str | None]) -> Columns:
    """Return the columns that hold the samples of a DataFrame; `others` hold something else."""
    types = {field.name: field.dataType for field in df.schema.fields}
    if features_col is None:
        features_col = _default(types, others)
    names = [features_col] if isinstance(features_col, str) else list(features_col)
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"features_col: expected names of columns, got {features_col!r:.100}.")
    check_present(df, names, "features_col")
    kinds = {_kind(types[name]) for name in names}
    if set(names) == {INDICES, VALUES} and kinds == {"arrays"}:
        return Columns("lists", [INDICES, VALUES])
    if len(kinds) > 1 or (len(names) > 1 and kinds & {"vectors", "arrays"}) or None in kinds:
        shown = ", ".join(f"{name}: {types[name].simpleString()}" for name in names[:_SHOWN])
        raise DataError(
            "DataFrame",
            "expected one column of vectors or arrays, or columns of numbers, or of texts, got "
            f"{shown}. Set features_col.",
        )
    for name in names:
        _check_floats(name, types[name])
    (kind,) = kinds
    return Columns(str(kind), names)


def _default(types: dict[str, Any], others: Sequence[str | None]) -> Any:
    if FEATURES in types:
        return FEATURES
    if {_kind(types.get(name)) for name in (INDICES, VALUES)} == {"arrays"}:
        return [INDICES, VALUES]
    names = [name for name in types if name not in others]
    if not names:
        raise DataError("DataFrame", f"expected features, got only {', '.join(types)}.")
    return names


def _kind(of: Any) -> str | None:
    """Return what a column of a type holds; None if it is nothing to learn from."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import ArrayType, BooleanType, NumericType, StringType

    if isinstance(of, VectorUDT):
        return "vectors"
    if isinstance(of, ArrayType) and isinstance(of.elementType, NumericType):
        return "arrays"
    if isinstance(of, StringType):
        return "texts"
    return "numbers" if isinstance(of, NumericType | BooleanType) else None


def _check_floats(name: str, of: Any) -> None:
    """Raise where a column holds decimals, or arrays of anything but floats."""
    from pyspark.sql.types import ArrayType, DecimalType, DoubleType, FloatType

    expected, to = "", ""
    if isinstance(of, DecimalType):
        expected, to = "numbers", "double"
    elif isinstance(of, ArrayType) and not isinstance(of.elementType, DoubleType | FloatType):
        expected, to = "arrays of floats", "array<double>"
    if expected:
        problem = f"column {name!r}: expected {expected}, got {of.simpleString()}."
        raise DataError("DataFrame", f'{problem} Cast it: df.withColumn({name!r}, '
                        f'df[{name!r}].cast("{to}")).')  # fmt: skip


def check_weight(df: Any, name: str) -> None:
    """Raise where a column is missing, or cannot hold weights."""
    check_present(df, [name], "weight_col")
    of = df.schema[name].dataType
    _check_floats(name, of)
    if _kind(of) != "numbers":
        problem = f"column {name!r}: expected weights, got {of.simpleString()}. Set weight_col."
        raise DataError("DataFrame", problem)


def check_different(names: Sequence[str | None]) -> None:
    """Raise where a column is named for two purposes."""
    for name in names:
        if name is not None and names.count(name) > 1:
            raise DataError(
                "DataFrame",
                f"expected different columns for features, labels and weights, got {name!r} twice. "
                "Set features_col, label_col or weight_col.",
            )


def check_frame(df: Any) -> None:
    """Raise where something is no DataFrame of Spark."""
    kind = type(df)
    if not hasattr(kind, "mapInArrow"):
        advice = " Call its to_spark()." if hasattr(kind, "to_spark") else ""
        raise TypeError(
            f"narrows.spark: expected a DataFrame of Spark, got {kind.__module__}.{kind.__name__}."
            f"{advice}"
        )


def check_present(df: Any, names: Sequence[str], parameter: str) -> None:
    """Raise where a DataFrame lacks a column that a parameter names, or has two of the name."""
    for name in names:
        if name not in df.columns:
            shown = ", ".join(df.columns[:_SHOWN]) + ", …" * (len(df.columns) > _SHOWN)
            problem = f"expected a column {name!r}, got the columns {shown}. Set {parameter}."
            raise DataError("DataFrame", problem)


def check_absent(df: Any, name: str, parameter: str) -> None:
    """Raise where a DataFrame has a column of the name of a new one; Spark ignores the case."""
    if name.lower() in (column.lower() for column in df.columns):
        problem = f"expected a new column, got {name!r}, which is there. Set {parameter}."
        raise DataError("DataFrame", problem)


def check_names(columns: Sequence[str]) -> None:
    """Raise where `mapInArrow` would not find a column."""
    lower = [name.lower() for name in columns]
    for name in columns:
        problem = ""
        if "." in name or "`" in name:
            problem = f"expected names of columns without dots and backquotes, got {name!r}."
        elif lower.count(name.lower()) > 1:
            problem = f"expected columns of different names, got two {name!r}."
        if problem:
            raise DataError("DataFrame", f"{problem} Rename it (withColumnRenamed), or drop it.")


def selected(df: Any, names: Sequence[str | None]) -> Any:
    """Return a DataFrame of some columns, for `mapInArrow`."""
    chosen = [name for name in names if name is not None]
    lower = {name.lower() for name in chosen}
    check_names([name for name in df.columns if name.lower() in lower])
    return df.select(*chosen)


def schema_with(schema: Any, kinds: dict[str, str]) -> Any:
    """Return a schema with more columns, of types that are named."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import ArrayType, DoubleType, StructType

    types = {VECTOR: VectorUDT(), ARRAY: ArrayType(DoubleType())}
    schema = StructType(list(schema.fields))
    for name, kind in kinds.items():
        schema = schema.add(name, types.get(kind, kind))
    return schema


def as_vectors(X: Any) -> Any:
    """Return samples as an Arrow array of vectors of Spark, sparse ones if X is sparse."""
    pa = pyarrow()
    n, width = X.shape
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        ends = pa.array(X.indptr.astype(np.int32))
        indices = pa.ListArray.from_arrays(ends, pa.array(X.indices.astype(np.int32)))
        values, kind = pa.array(X.data.astype(np.float64)), SPARSE
        sizes = pa.array(np.full(n, width, np.int32))
    else:
        ends = pa.array(np.arange(n + 1, dtype=np.int32) * np.int32(width))
        indices, sizes = pa.nulls(n, pa.list_(pa.int32())), pa.nulls(n, pa.int32())
        values, kind = pa.array(np.ascontiguousarray(X, np.float64).ravel()), DENSE
    kinds = pa.array(np.full(n, kind, np.int8))
    lists = pa.ListArray.from_arrays(ends, values)
    return pa.StructArray.from_arrays([kinds, sizes, indices, lists], names=list(FIELDS))


def as_arrays(X: Any) -> Any:
    """Return dense samples as an Arrow array of lists of float64."""
    return as_vectors(X).field(FIELDS.index("values"))
