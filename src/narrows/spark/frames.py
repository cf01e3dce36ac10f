"""Fits to DataFrames of Spark and to files, and new columns of samples and predictions."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

from narrows.engines import learn, parts
from narrows.engines.spark import Spark, stream_of
from narrows.errors import DataError, ParameterError
from narrows.io.chunk import Options
from narrows.io.extras import needing
from narrows.io.formats.columns import DENSE, FIELDS, INDICES, SPARSE, VALUES, pyarrow
from narrows.io.source import is_of_texts, kind_of
from narrows.methods.base import Reducer, reducer_of
from narrows.methods.names import file_columns, source_of
from narrows.methods.projectors import predictor_of
from narrows.solve.solution import Solution
from narrows.table import TableEncoder
from narrows.text import Vectoriser

FEATURES = "features"  # the column of the samples, where none is named
VECTOR, ARRAY = "vector", "array"  # types of new columns, beside those that Spark has names for
_SHOWN = 10  # columns that a message lists
_NUMBERS = {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal"}
_LABELS = {"i": "long", "u": "long", "b": "boolean", "f": "double"}  # by the kind of an array
_CHUNK_ROWS = 10_000
_SETTINGS = {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}


def fit(
    estimator: Any,
    df: Any,
    features_col: str | Sequence[str] | None = None,
    label_col: str | None = "label",
    weight_col: str | None = None,
    *,
    vectoriser: Vectoriser | TableEncoder | None = None,
    progress: bool = False,
) -> Any:
    """Fit an estimator to the partitions of a Spark DataFrame on a cluster.

    ::

        state = state(partition 0) + state(partition 1) + ...

    Parameters
    ----------
    estimator : narrows estimator
        All selectors, OC, OCM and, for at most 8,192 features, SRDA, LDA, MMC and PCA give the
        result of a local fit, because their states add up; KernelSRDA does so in two passes.
        OnlineSRDA is merged approximately. Other methods raise an error that names an alternative.
    df : pyspark.sql.DataFrame
        A DataFrame of a classic session or of Spark Connect, not a stream. Spark computes it in
        each pass: cache it if this takes long and the method makes two passes.
    features_col : str or sequence of str, optional
        A column of vectors (dense or sparse), of arrays of floats or of texts; or several columns
        of numbers, each of which is a feature, or of texts, which are joined by a newline. By
        default ``features`` if there is such a column, else the arrays ``indices`` and ``values``
        of sparse samples, else all other columns.
    label_col : str, default="label"
        The column of labels: text, integers, or whole numbers such as those of a StringIndexer; for
        PLS and other methods for numbers, the target. The column may be missing if the method needs
        no labels; with None, no labels are read.
    weight_col : str, optional
        The column of weights, 0 or from 1e-100 to 1e100.
    vectoriser : Vectoriser or TableEncoder, optional
        Counts the terms of texts, in a separate pass; `narrows.text.Tfidf` by default. With
        `narrows.text.HashedTfidf`, features have no names. A `narrows.table.TableEncoder` encodes
        columns of any type: the first 50,000 rows decide on them. The estimator stores a fitted
        copy.
    progress : bool, default=False
        Show on stderr how many partitions are done.

    Returns
    -------
    estimator : narrows estimator
        The same estimator, fitted; it does not depend on Spark.

    Raises
    ------
    TypeError
        `df` is not a Spark DataFrame, or is a stream.
    DataError
        A column is missing or of another type, or holds a null, NaN or infinity, or vectors of
        different lengths. The message names the column, the partition and its row.
    ParameterError
        The method needs samples in order or all in one place, or has a `half_life`.

    Warns
    -----
    UserWarning
        OnlineSRDA: the merged result is an approximation.

    See Also
    --------
    transform : Add a column of reduced samples to a DataFrame.
    predict : Add a column of predicted classes to a DataFrame.
    Reducer : The same as a stage of a Pipeline of pyspark.ml.
    narrows.engines.dask.fit : Fit on a Dask cluster.

    Notes
    -----
    **Cost**: that of a local fit divided by the number of executor cores, plus the time that Spark
    takes to compute `df` and to convert its rows. Each partition has one state, at most 8 c d
    bytes, or 4 d^2 bytes for SRDA, LDA, MMC and PCA; a task adds up states of 64 MB in total, or
    two larger ones. Executors keep the states in memory or on disk until the fit ends. Tasks that
    Spark repeats are counted once.

    Examples
    --------
    >>> from pyspark.sql import SparkSession  # doctest: +SKIP
    >>> from narrows import OCFS  # doctest: +SKIP
    >>> from narrows.spark import fit, transform  # doctest: +SKIP
    >>> spark = SparkSession.builder.getOrCreate()  # doctest: +SKIP
    >>> df = spark.read.parquet("clicks.parquet")  # doctest: +SKIP
    >>> ocfs = fit(OCFS(n_features=1000), df, label_col="clicked")  # doctest: +SKIP
    >>> transform(ocfs, df).select("clicked", "reduced").show()  # doctest: +SKIP
    """
    if isinstance(df, tuple):  # of `estimator.fit`
        df, *given = df
        label_col, weight_col = _columns_given(given, label_col)
    check_frame(df)
    if not isinstance(estimator, Reducer):
        raise TypeError(f"expected an estimator of narrows, got {estimator!r:.100}.")
    if df.isStreaming:
        raise TypeError(
            "expected a DataFrame with an end, got a stream. Fit the DataFrame of each "
            "batch in foreachBatch, and merge the estimators."
        )
    is_table = vectoriser is not None and vectoriser.takes == "tables"
    columns = columns_of(df, features_col, (label_col, weight_col), is_table)
    if weight_col is not None:
        check_weight(df, weight_col)
    options = parts.options_to_fit(estimator, weight=weight_col, **columns.options)
    label = label_col if options.labels_required or label_col in df.columns else None
    if options.labels_required:
        if label is None:
            raise ParameterError("label_col: expected the name of a column, got None.")
        check_present(df, [label], "label_col")
    check_different([*columns.names, label, weight_col])
    data = [selected(df, [*columns.names, label, weight_col])]
    names = columns.names if columns.kind in ("numbers", "tables") else None
    name = "target" if estimator._takes_numbers else "label"
    options = options.replace(**{name: label, "has_labels": label is not None})
    engine = Spark(df.sparkSession)
    return parts.fit(engine, estimator, data, options, names, vectoriser, progress)


def transform(
    estimator: Any,
    df: Any,
    output_col: str = "reduced",
    *,
    features_col: str | Sequence[str] | None = None,
) -> Any:
    """Add a column of reduced samples to a DataFrame of Spark.

    Parameters
    ----------
    estimator : narrows estimator
        A fitted estimator, wherever it was fitted.
    df : pyspark.sql.DataFrame
        A DataFrame with the features of the fit; other columns are kept.
    output_col : str, default="reduced"
        The new column: arrays of float64 if the features are arrays, else vectors, which are
        sparse if a selector picks features of sparse samples.
    features_col : str or sequence of str, optional
        As for `fit`; by default the columns of the fit.

    Returns
    -------
    df : pyspark.sql.DataFrame
        A lazy DataFrame with the new column.

    Raises
    ------
    DataError
        A column is missing or of another type, or there is a column of that name. Spark raises
        errors in rows when it computes them, with the same message.

    See Also
    --------
    fit : Fit an estimator to a DataFrame.
    predict : Add a column of predicted classes to a DataFrame.

    Notes
    -----
    **Cost**: each executor receives W, 8 p d bytes, or the numbers of the selected features.

    Examples
    --------
    >>> from narrows import load  # doctest: +SKIP
    >>> from narrows.spark import transform  # doctest: +SKIP
    >>> transform(load("model.narrows"), df, "z").write.parquet("reduced")  # doctest: +SKIP
    """
    check_frame(df)
    check_absent(df, output_col, "output_col")
    columns, options = _read_as_fitted(estimator, df, features_col)
    kind, convert = (ARRAY, as_arrays) if columns.kind == "arrays" else (VECTOR, as_vectors)
    new = partial(_reduced, reduce=reducer_of(estimator), convert=convert)
    return _with_columns(df, estimator, columns.names, options, {output_col: kind}, new)


def predict(
    estimator: Any,
    df: Any,
    output_col: str = "prediction",
    *,
    probability_col: str | None = None,
    features_col: str | Sequence[str] | None = None,
) -> Any:
    """Add a column of predicted classes to a DataFrame of Spark.

    Parameters
    ----------
    estimator : narrows estimator
        A fitted classifier: SRDA, LDA, KernelSRDA or OnlineSRDA.
    df : pyspark.sql.DataFrame
        A DataFrame with the features of the fit; other columns are kept.
    output_col : str, default="prediction"
        The new column, of labels as in the fit: long, double, boolean or string.
    probability_col : str, optional
        Another new column: vectors of the probabilities of the classes, in the order of
        `classes_`.
    features_col : str or sequence of str, optional
        As for `fit`; by default the columns of the fit.

    Returns
    -------
    df : pyspark.sql.DataFrame
        A lazy DataFrame with the new column.

    Raises
    ------
    ParameterError
        The estimator does not predict, or predicts several labels per sample.
    DataError
        As for `transform`.

    See Also
    --------
    fit : Fit an estimator to a DataFrame.
    transform : Add a column of reduced samples to a DataFrame.

    Notes
    -----
    **Cost**: each executor receives the classifier, 8 c d bytes.

    Examples
    --------
    >>> from narrows.spark import predict  # doctest: +SKIP
    >>> predict(srda, df).groupBy("label", "prediction").count().show()  # doctest: +SKIP
    """
    if not is_classifier(estimator):
        raise ParameterError(
            "expected an estimator that predicts, such as SRDA, got "
            f"{type(estimator).__name__}. Use transform, and a classifier of Spark."
        )
    check_frame(df)
    for column, parameter in ((output_col, "output_col"), (probability_col, "probability_col")):
        if column is not None:
            check_absent(df, column, parameter)
    columns, options = _read_as_fitted(estimator, df, features_col)
    if output_col == probability_col:
        raise _refused(f"expected different new columns, got {output_col!r} twice. Change one.")
    rule = predictor_of(estimator)
    if rule.classes.n_labels:
        raise ParameterError(
            "expected one label for each sample, got several. Use the estimator's predict."
        )
    kinds = {output_col: _LABELS.get(rule.classes.labels.dtype.kind, "string")}
    if probability_col is not None:
        kinds[probability_col] = VECTOR
    rule = replace(rule, W=None)
    new = partial(_predicted, rule=rule, with_probability=probability_col is not None)
    return _with_columns(df, estimator, columns.names, options, kinds, new)


def fit_files(
    estimator: Any,
    files: Sequence[str],
    session: Any = None,
    *,
    vectoriser: Vectoriser | TableEncoder | None = None,
    progress: bool = False,
    **reading: Any,
) -> Any:
    """Fit an estimator to files on a Spark cluster, with the readers of narrows.

    Parameters
    ----------
    estimator : narrows estimator
        As for `fit`.
    files : sequence of str
        Paths or patterns such as ``"shards/*.parquet"``, of one format. One task reads each file,
        or each part of about 64 MB of a large file, under this path.
    session : SparkSession or str, optional
        A session, or the URL of a master or of a Spark Connect server (``sc://host``); the session
        of a URL is stopped at the end. By default the active session; if there is none, Spark is
        started with the cores of this machine.
    vectoriser : Vectoriser or TableEncoder, optional
        As for `fit`.
    progress : bool, default=False
        Show progress on stderr, if Spark is started by this call.
    **reading
        How to read the files: ``label``, ``text``, ``vector``, ``split``, ``width``,
        ``zero_based``, ``chunk_rows``, ``max_line_mb``, ``labels`` and ``target`` of
        `narrows.read.iter_chunks`.

    Returns
    -------
    estimator : narrows estimator
        The same estimator, fitted.

    Raises
    ------
    DataError
        A file is damaged, or its features differ from those of other parts. The message names the
        file and the line or row.
    ParameterError
        As for `fit`, or the files differ in format.
    ConnectionError
        Spark does not start or answer.

    See Also
    --------
    fit : Fit an estimator to a DataFrame.
    transform_files : Reduce files.

    Notes
    -----
    **Cost**: as for `fit`, without Spark's conversion of rows, which takes longer than the fit.

    Examples
    --------
    >>> from narrows import OC  # doctest: +SKIP
    >>> from narrows.spark import fit_files  # doctest: +SKIP
    >>> fit_files(OC(), ["/shared/shards/*.svm.gz"], "spark://host:7077")  # doctest: +SKIP
    OC()
    """
    options, data = parts.options_to_fit(estimator, **reading), parts.list_parts(files)
    with _connect(session, progress) as found:
        return parts.fit(Spark(found), estimator, data, options, None, vectoriser)


def transform_files(
    estimator: Any, files: Sequence[str], output: str, session: Any = None, **reading: Any
) -> list[str]:
    """Reduce files to Parquet files on a Spark cluster, with the readers of narrows.

    Parameters
    ----------
    estimator : narrows estimator
        A fitted estimator.
    files : sequence of str
        As for `fit_files`; labels are not needed.
    output : str
        A folder that all executors reach under this path, created if necessary. Each part of the
        files that has samples becomes a Parquet file ``part-00000.parquet`` and so on, with the
        labels. Other files in the folder are kept.
    session : SparkSession or str, optional
        As for `fit_files`.
    **reading
        As for `fit_files`; by default as in the fit.

    Returns
    -------
    written : list of str
        The files written, in the order of the samples.

    Raises
    ------
    ParameterError
        An output file is also an input, or the files hold texts and the fit saw numbers.
    DataError
        A file is damaged.
    ConnectionError
        Spark does not start or answer.

    See Also
    --------
    fit_files : Fit an estimator to files.
    transform : Add a column of reduced samples to a DataFrame.

    Notes
    -----
    **Cost**: each executor receives W, 8 p d bytes, or the numbers of the selected features.

    Examples
    --------
    >>> from narrows import load  # doctest: +SKIP
    >>> from narrows.spark import transform_files  # doctest: +SKIP
    >>> transform_files(load("m.narrows"), ["shards/*.svm"], "reduced")  # doctest: +SKIP
    """
    options, data = parts.options_for(estimator, reading), parts.list_parts(files)
    with _connect(session) as found:
        return parts.transform(Spark(found), estimator, data, options, output)


# -- columns ---------------------------------------------------------------------------------------


class SampleColumns(NamedTuple):
    """The columns that hold the samples: vectors, arrays, lists, texts, numbers, or tables."""

    kind: str
    names: list[str]

    @property
    def options(self) -> dict[str, Any]:
        """How to read them, as keyword arguments of `Options`."""
        if self.kind == "texts":
            return {"text": tuple(self.names)}
        return {"vector": self.names[0]} if self.kind in ("vectors", "arrays") else {}


def columns_of(
    df: Any, features_col: Any, others: Sequence[str | None], is_table: bool = False
) -> SampleColumns:
    """Return the columns that hold the samples of a DataFrame; `others` hold something else."""
    types = {field.name: field.dataType.simpleString() for field in df.schema.fields}
    if features_col is None:
        features_col = _default(types, others, is_table)
    names = [features_col] if isinstance(features_col, str) else list(features_col)
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"features_col: expected names of columns, got {features_col!r:.100}.")
    check_present(df, names, "features_col")
    if is_table:
        return SampleColumns("tables", names)
    kinds = {_kind(types[name]) for name in names}
    if set(names) == {INDICES, VALUES} and kinds == {"arrays"}:
        return SampleColumns("lists", [INDICES, VALUES])
    if len(kinds) > 1 or (len(names) > 1 and kinds & {"vectors", "arrays"}) or "" in kinds:
        shown = ", ".join(f"{name}: {types[name]}" for name in names[:_SHOWN])
        raise _refused(
            "expected one column of vectors or arrays, or columns of numbers, or of texts, got "
            f"{shown}. Set `features_col`."
        )
    for name in names:
        _check_floats(name, types[name])
    return SampleColumns(kinds.pop(), names)


def _default(types: dict[str, str], others: Sequence[str | None], is_table: bool) -> Any:
    if FEATURES in types and not is_table:
        return FEATURES
    if {_kind(types.get(name, "")) for name in (INDICES, VALUES)} == {"arrays"} and not is_table:
        return [INDICES, VALUES]
    names = [name for name in types if name not in others]
    if not names:
        raise _refused(f"expected features, got only {', '.join(types)}.")
    return names


def _kind(of: str) -> str:
    """Return what a column of a type holds; "" if it is nothing to learn from."""
    item = of.removeprefix("array<").removesuffix(">")
    if item.split("(")[0] in _NUMBERS:
        return "numbers" if item == of else "arrays"
    if of == "boolean":
        return "numbers"
    return "texts" if of.split()[:1] == ["string"] else "vectors" if of == "vector" else ""


def _check_floats(name: str, of: str) -> None:
    """Raise where a column holds decimals, or arrays of anything but floats."""
    expected, to = "", ""
    if of.startswith("decimal"):
        expected, to = "numbers", "double"
    elif of.startswith("array") and of not in ("array<double>", "array<float>"):
        expected, to = "arrays of floats", "array<double>"
    if expected:
        raise _refused(
            f"column {name!r}: expected {expected}, got {of}. Cast it: "
            f'df.withColumn({name!r}, df[{name!r}].cast("{to}")).'
        )


def _refused(problem: str) -> DataError:
    return DataError("DataFrame", problem)


def check_weight(df: Any, name: str) -> None:
    """Raise where a column is missing, or cannot hold weights."""
    check_present(df, [name], "weight_col")
    of = df.schema[name].dataType.simpleString()
    _check_floats(name, of)
    if _kind(of) != "numbers":
        raise _refused(f"column {name!r}: expected weights, got {of}. Set `weight_col`.")


def check_different(names: Sequence[str | None]) -> None:
    """Raise where a column is named for two purposes."""
    for name in names:
        if name is not None and names.count(name) > 1:
            raise _refused(
                "expected different columns for features, labels and weights, got "
                f"{name!r} twice. Set `features_col`, `label_col` or `weight_col`."
            )


def check_frame(df: Any) -> None:
    """Raise where something is no DataFrame of Spark."""
    kind = type(df)
    if not hasattr(kind, "mapInArrow"):
        advice = " Call its to_spark()." if hasattr(kind, "to_spark") else ""
        raise TypeError(
            f"expected a DataFrame of Spark, got {kind.__module__}.{kind.__name__}.{advice}"
        )


def check_present(df: Any, names: Sequence[str], parameter: str) -> None:
    """Raise where a DataFrame lacks a column that a parameter names."""
    for name in names:
        if name not in df.columns:
            shown = ", ".join(df.columns[:_SHOWN]) + ", …" * (len(df.columns) > _SHOWN)
            raise _refused(
                f"expected a column {name!r}, got the columns {shown}. Set `{parameter}`."
            )


def check_absent(df: Any, name: str, parameter: str) -> None:
    """Raise where a DataFrame has a column of the name of a new one; Spark ignores the case."""
    if name.lower() in (column.lower() for column in df.columns):
        raise _refused(f"expected a new column, got {name!r}, which is there. Set `{parameter}`.")


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
            raise _refused(f"{problem} Rename it (withColumnRenamed), or drop it.")


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


# -- new columns -----------------------------------------------------------------------------------


def _columns_given(given: Sequence[Any], label_col: str | None) -> tuple[str | None, str | None]:
    """Return the columns of labels and weights that `estimator.fit(df, y, sample_weight)` named."""
    for name, column in zip(("y", "sample_weight"), given, strict=True):
        if not (column is None or isinstance(column, str)):
            raise TypeError(
                f"expected {name} as the name of a column of the DataFrame, got "
                f"{type(column).__name__}. Name the column."
            )
    return given[0] or label_col, given[1]


def _read_as_fitted(estimator: Any, df: Any, features_col: Any) -> tuple[Any, Options]:
    """Return the columns that hold the features of a fit, and how to read them."""
    source = source_of(estimator)
    if features_col is None and source is not None:
        features_col = source.text or source.vector
    features_col = features_col or file_columns(estimator)
    is_table = kind_of(source) == "tables"
    columns = columns_of(df, features_col, (source.label if source else "label",), is_table)
    if (columns.kind == "texts") != is_of_texts(source):
        texts = "texts", "numbers"
        expected, got = texts if is_of_texts(source) else texts[::-1]
        problem = f"expected {expected} as in the fit, got {got} in {', '.join(columns.names[:5])}."
        raise _refused(f"{problem} Set `features_col`.")
    reading = {**columns.options, "chunk_rows": _CHUNK_ROWS}
    options = parts.options_for(estimator, reading)
    if columns.kind != "numbers":
        options = options.replace(columns=None)
    elif len(columns.names) != estimator.n_features_in_:
        shown = ", ".join(columns.names[:_SHOWN])
        raise _refused(
            f"expected {estimator.n_features_in_} columns of features as in the fit, got "
            f"{len(columns.names)}: {shown}. Set `features_col`."
        )
    return columns, options.replace(has_labels=False)


def _reduced(X: Any, reduce: Callable[[Any], Any], convert: Callable[[Any], Any]) -> list[Any]:
    return [convert(reduce(X))]


def _predicted(X: Any, rule: Solution, with_probability: bool) -> list[Any]:
    scores, pa = rule.scores(X), pyarrow()
    kinds = {"i": pa.int64(), "u": pa.int64(), "f": pa.float64()}
    labels = rule.predicted(scores)
    found = [pa.array(labels.tolist(), kinds.get(labels.dtype.kind))]
    if with_probability:
        found.append(as_vectors(rule.probabilities(scores)))
    return found


def _with_columns(
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
    reading = options, source_of(estimator)
    reduce = Spark(df.sparkSession).sent(
        partial(learn.reduce_chunks, reading=reading, reduce=of_samples)
    )

    def widened(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        held: list[Any] = []  # record batches whose samples were not all read

        def samples() -> Iterator[Any]:
            for batch in batches:
                held.append(batch)
                yield batch.select(names)

        part = stream_of(samples()), parts.partition(TaskContext.get().partitionId())
        for arrays in reduce(part):
            table, n = pyarrow().Table.from_batches(held), len(arrays[0])
            (rows,) = table.slice(0, n).combine_chunks().to_batches()
            held[:] = table.slice(n).to_batches()
            yield pyarrow().RecordBatch.from_arrays(
                [*rows.columns, *arrays], names=[*rows.schema.names, *kinds]
            )

    return df.mapInArrow(widened, schema_with(df.schema, kinds))


# -- sessions --------------------------------------------------------------------------------------


@contextmanager
def _connect(session: Any, progress: bool = False) -> Iterator[Any]:
    """Give the session passed, or of a master's URL, or the active one, or of this machine."""
    with needing("spark", "pyspark"):
        from pyspark.sql import SparkSession
    if session is None:
        session = SparkSession.getActiveSession()
    if session is not None and not isinstance(session, str):
        yield session
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("narrows")
    shown = {"spark.ui.showConsoleProgress": str(progress).lower()}
    try:
        if session is not None and session.startswith("sc://"):
            _check_reached(session)  # Spark would try for ten minutes, deaf to signals
            started = builder.remote(session).getOrCreate()
        else:
            builder = builder.config(map=_SETTINGS | shown)
            started = builder.master(session or "local[*]").getOrCreate()
        started.range(1).count()  # Connect asks the server, and a master its executors
    except Exception as error:  # of py4j, gRPC, sockets and Spark
        line = str(error).strip().partition("\n")[0][:300]
        raise ConnectionError(
            f"expected Spark at {session or 'this machine'}, got none that starts "
            f"({line}). Check the URL; a Spark of this machine needs "
            "Java 17."
        ) from None
    try:
        yield started
    finally:
        started.stop()


def _check_reached(url: str) -> None:
    """Raise OSError where nothing listens at the URL of a Connect server."""
    server = urlsplit(url)
    with socket.create_connection((server.hostname or "", server.port or 15002), timeout=10):
        pass
