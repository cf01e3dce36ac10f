"""Fit to a DataFrame of Spark, and add columns of reduced samples and predictions to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.utils import get_tags

from narrows.engines import parts
from narrows.engines.spark import NAME, Spark
from narrows.errors import DataError, ParameterError
from narrows.io.chunk import Options
from narrows.io.formats.arrow import pyarrow
from narrows.io.source import is_of_texts
from narrows.methods.base import Estimator
from narrows.methods.discriminant import Decision
from narrows.spark.columns import (
    ARRAY,
    VECTOR,
    as_arrays,
    as_vectors,
    check_absent,
    check_different,
    check_frame,
    check_present,
    check_weight,
    columns_of,
    selected,
)
from narrows.spark.widened import with_columns
from narrows.text import Vectoriser

_LABELS = {"i": "long", "u": "long", "b": "boolean", "f": "double"}  # by the kind of an array
_CHUNK_ROWS = 10_000


def fit(
    estimator: Any,
    df: Any,
    features_col: str | Sequence[str] | None = None,
    label_col: str | None = "label",
    weight_col: str | None = None,
    *,
    vectoriser: Vectoriser | None = None,
    progress: bool = False,
) -> Any:
    """Fit an estimator to the partitions of a Spark DataFrame on a cluster.

    ::

        state = state(partition 0) + state(partition 1) + ...

    Parameters
    ----------
    estimator : narrows estimator
        All selectors, OC, OCM and, for at most 8,192 features, SRDA, LDA, MMC and PCA give the
        result of a local fit, because their states add up; SRDA and MMC also for more features of
        sparse samples, in two passes (bands), and KernelSRDA in two passes. OnlineSRDA is merged
        approximately. Other methods raise an error that names an alternative.
    df : pyspark.sql.DataFrame
        A DataFrame of a classic session or of Spark Connect, not a stream. Spark computes it in
        each pass: cache it if this takes long and the method makes two passes.
    features_col : str or sequence of str, optional
        A column of vectors (dense or sparse), of arrays of floats or of texts; or several columns
        of numbers, each of which is a feature, or of texts, which are joined by a newline. By
        default ``features`` if there is such a column, else the arrays ``indices`` and ``values``
        of sparse samples, else all other columns.
    label_col : str, default="label"
        The column of labels: text, integers, or whole numbers such as those of a StringIndexer. The
        column may be missing if the method needs no labels; with None, no labels are read.
    weight_col : str, optional
        The column of weights, 0 or from 1e-100 to 1e100.
    vectoriser : Vectoriser, optional
        Counts the terms of texts, in a separate pass; `narrows.text.Tfidf` by default. With
        `narrows.text.HashedTfidf`, features have no names.
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
        The method needs samples in order or all in one place, or has a `half_life`, or a
        `tolerance` other than 0.

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
    bytes; sums that may exceed 80 MB are cut by features, and a task adds up 64 MB, or two pieces.
    The states of SRDA, LDA, MMC and PCA are not cut: 4 d^2 bytes. Executors keep the states in
    memory or on disk until the fit ends. Tasks that Spark repeats are counted once.

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
    if not isinstance(estimator, Estimator):
        raise TypeError(f"{NAME}: expected an estimator of narrows, got {estimator!r:.100}.")
    if df.isStreaming:
        raise TypeError(
            f"{NAME}: expected a DataFrame with an end, got a stream. Fit the DataFrame of each "
            "batch in foreachBatch, and merge the estimators."
        )
    estimator._check_parameters_alone()
    if getattr(estimator, "tolerance", None):
        raise ParameterError(
            f"{type(estimator).__name__}: expected tolerance=None or 0 for a DataFrame, of which "
            f"Spark computes all partitions, got {estimator.tolerance}. Use fit_files, or fit "
            "df.sample(…)."
        )
    needed = get_tags(estimator).target_tags.required
    columns = columns_of(df, features_col, (label_col, weight_col))
    if weight_col is not None:
        check_weight(df, weight_col)
    label = label_col if needed or label_col in df.columns else None
    if needed:
        if label is None:
            raise ParameterError("label_col: expected the name of a column, got None.")
        check_present(df, [label], "label_col")
    check_different([*columns.names, label, weight_col])
    options = Options(
        label=label,
        weight=weight_col,
        labels_required=needed,
        has_labels=label is not None,
        **columns.options,
    )
    with Spark(df.sparkSession) as engine:
        return parts.fit(
            engine,
            estimator,
            [selected(df, [*columns.names, label, weight_col])],
            options,
            columns.names if columns.kind == "numbers" else None,
            vectoriser,
            progress,
        )


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
    arrays = columns.kind == "arrays"
    kind = ARRAY if arrays else VECTOR
    reduce = Spark(df.sparkSession).broadcast(estimator._reducer())
    new = partial(_reduced, reduce=reduce, convert=as_arrays if arrays else as_vectors)
    return with_columns(df, estimator, columns.names, options, {output_col: kind}, new)


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
    name = type(estimator).__name__
    if not hasattr(estimator, "_decision"):
        raise ParameterError(
            f"{name}: expected an estimator that predicts, such as SRDA, got another. Use "
            "transform, and a classifier of Spark."
        )
    check_frame(df)
    for column, parameter in ((output_col, "output_col"), (probability_col, "probability_col")):
        if column is not None:
            check_absent(df, column, parameter)
    columns, options = _read_as_fitted(estimator, df, features_col)
    if output_col == probability_col:
        raise DataError(
            "DataFrame", f"expected different new columns, got {output_col!r} twice. Change one."
        )
    if estimator._several:
        raise ParameterError(
            f"{name}: expected one label for each sample, got several. Use its predict locally."
        )
    classes, seen = estimator.classes_, estimator.class_count_ > 0
    kinds = {output_col: _LABELS.get(classes.dtype.kind, "string")}
    if probability_col is not None:
        kinds[probability_col] = VECTOR
    rule = Spark(df.sparkSession).broadcast(_Rule(estimator._decision(), classes, seen))
    new = partial(_predicted, rule=rule, with_probability=probability_col is not None)
    return with_columns(df, estimator, columns.names, options, kinds, new)


# -- inside ----------------------------------------------------------------------------------------


def _columns_given(given: Sequence[Any], label_col: str | None) -> tuple[str | None, str | None]:
    """Return the columns of labels and weights that `estimator.fit(df, y, sample_weight)` named."""
    for name, column in zip(("y", "sample_weight"), given, strict=True):
        if not (column is None or isinstance(column, str)):
            raise TypeError(
                f"{NAME}: expected {name} as the name of a column of the DataFrame, got "
                f"{type(column).__name__}. Name the column."
            )
    return given[0] or label_col, given[1]


def _read_as_fitted(estimator: Any, df: Any, features_col: Any) -> tuple[Any, Options]:
    """Return the columns that hold the features of a fit, and how to read them."""
    source = estimator._source
    if features_col is None and source is not None:
        features_col = source.text or source.vector
    features_col = features_col or estimator._file_columns()
    columns = columns_of(df, features_col, (source.label if source else "label",))
    if (columns.kind == "texts") != is_of_texts(source):
        texts = "texts", "numbers"
        expected, got = texts if is_of_texts(source) else texts[::-1]
        problem = f"expected {expected} as in the fit, got {got} in {', '.join(columns.names[:5])}."
        raise DataError("DataFrame", f"{problem} Set features_col.")
    reading = {**columns.options, "chunk_rows": _CHUNK_ROWS}
    options = parts.options_for(estimator, reading)
    if columns.kind != "numbers":
        options = options.replace(columns=None)
    elif len(columns.names) != estimator.n_features_in_:
        shown = ", ".join(columns.names[:10])
        raise DataError(
            "DataFrame",
            f"expected {estimator.n_features_in_} columns of features as in the fit, got "
            f"{len(columns.names)}: {shown}. Set features_col.",
        )
    return columns, options.replace(has_labels=False)


def _reduced(X: Any, reduce: Callable[[Any], Any], convert: Callable[[Any], Any]) -> list[Any]:
    return [convert(reduce(X))]


class _Rule(NamedTuple):
    """What predicts classes, of which only those seen are ever predicted."""

    decision: Decision
    classes: np.ndarray
    seen: np.ndarray


def _predicted(X: Any, rule: _Rule, with_probability: bool) -> list[Any]:
    scores = rule.decision.scores(X)
    pa = pyarrow()
    kinds = {"i": pa.int64(), "u": pa.int64(), "f": pa.float64()}
    labels = rule.classes[rule.seen][scores.argmax(axis=1)]
    found = [pa.array(labels.tolist(), kinds.get(labels.dtype.kind))]
    if with_probability:
        every = np.zeros((len(scores), len(rule.classes)))
        every[:, rule.seen] = softmax(scores, axis=1)
        found.append(as_vectors(every))
    return found
