"""Fit to files, and reduce them, by the readers of narrows on the executors of Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils import get_tags

from narrows.engines import parts
from narrows.engines.spark import Spark
from narrows.io.chunk import Options
from narrows.spark.session import connect
from narrows.text import Vectoriser


def fit_files(
    estimator: Any,
    files: Sequence[str],
    session: Any = None,
    *,
    vectoriser: Vectoriser | None = None,
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
    vectoriser : Vectoriser, optional
        As for `fit`.
    progress : bool, default=False
        Show progress on stderr, if Spark is started by this call.
    **reading
        How to read the files: ``label``, ``text``, ``vector``, ``split``, ``width``,
        ``zero_based``, ``chunk_rows``, ``max_line_mb`` and ``labels`` of
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
    estimator._check_parameters_alone()
    needed = get_tags(estimator).target_tags.required
    options = Options(labels_required=needed, **reading)
    listed = parts.list_parts(files)
    with connect(session, progress) as found, Spark(found) as engine:
        return parts.fit(engine, estimator, listed, options, None, vectoriser)


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
    options = parts.options_for(estimator, reading)
    listed = parts.list_parts(files)
    with connect(session) as found, Spark(found) as engine:
        return parts.transform(engine, estimator, listed, options, output)
