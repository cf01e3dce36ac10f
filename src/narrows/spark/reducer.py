"""A stage of a Pipeline of pyspark.ml, the model that it becomes, and their folders.

A folder has Spark's metadata, and the fitted estimator as a model file. This is a file of its own
where that can be written: anywhere by a classic session, and to files of the machines by Spark
Connect. Connect has no call that writes one file to a path such as ``s3a://…``; the bytes of the
model file are then the rows of a Parquet folder. Either is read by any session.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from pyspark import keyword_only
from pyspark.errors import AnalysisException
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasOutputCol, HasWeightCol
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import functions
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from narrows.engines.spark import GATHER, ROW
from narrows.errors import DataError, ParameterError
from narrows.io.models import constructed, constructor, load, save
from narrows.methods.base import Reducer as Reduction
from narrows.methods.methods import METHODS
from narrows.solve.codec import SchemaError
from narrows.spark.frames import fit, predict, transform

FILE = "estimator.narrows"
PIECES = "estimator.narrows.parquet"  # where there can be no file of its own
_ENTRY = "estimator"
_AT_ONCE = GATHER  # bytes of a model file that come to this process at a time, a multiple of _ROW
_ROW = ROW
_ROWS = "start long, data binary"


class _Stage(HasFeaturesCol, HasLabelCol, HasWeightCol, HasOutputCol, MLWritable, MLReadable):
    """What both stages have: their parameters, and their folders."""

    is_fitted = False  # whether a folder has a model file beside the metadata
    estimator: Param[Any] = Param(Params._dummy(), "estimator", "the estimator of narrows")
    predictionCol: Param[str] = Param(  # noqa: N815 - as MLlib names it
        Params._dummy(),
        "predictionCol",
        "a new column of predicted classes, where the estimator predicts; none by default",
        typeConverter=TypeConverters.toString,
    )
    probabilityCol: Param[str] = Param(  # noqa: N815
        Params._dummy(),
        "probabilityCol",
        "a new column of the probabilities of the classes; none by default",
        typeConverter=TypeConverters.toString,
    )

    def _given(self, name: str) -> Any:
        """Return the value of a parameter, None if it has none."""
        return self.getOrDefault(name) if self.isDefined(name) else None

    def getEstimator(self) -> Any:
        """Return the estimator of narrows."""
        return self._given("estimator")

    def setFeaturesCol(self, value: str) -> Self:
        """Set the column of the samples."""
        return self._set(featuresCol=value)

    def setLabelCol(self, value: str) -> Self:
        """Set the column of labels."""
        return self._set(labelCol=value)

    def setWeightCol(self, value: str) -> Self:
        """Set the column of weights."""
        return self._set(weightCol=value)

    def setOutputCol(self, value: str) -> Self:
        """Set the new column of reduced samples."""
        return self._set(outputCol=value)

    def setPredictionCol(self, value: str) -> Self:
        """Set the new column of predicted classes."""
        return self._set(predictionCol=value)

    def setProbabilityCol(self, value: str) -> Self:
        """Set the new column of probabilities."""
        return self._set(probabilityCol=value)

    def _reduction(self) -> Any:
        """Return the estimator; ParameterError where it is missing or another one."""
        estimator = self.getEstimator()
        if not isinstance(estimator, Reduction):
            raise ParameterError(
                f"expected an estimator of narrows, such as SRDA(), got "
                f"{type(estimator).__name__}. Set `estimator`."
            )
        return estimator

    def restore(self, metadata: dict[str, Any]) -> None:
        """Take the identity and the parameters, but for the estimator, that metadata have."""
        self._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(self, metadata, skipParams=[_ENTRY])

    def write(self) -> StageWriter:
        """Return the writer of the stage."""
        return StageWriter(self)

    @classmethod
    def read(cls) -> Reader:
        """Return the reader of stages."""
        return Reader(cls)


class Reducer(Estimator, _Stage):
    """An estimator of narrows as a stage of a Pipeline of pyspark.ml.

    Parameters
    ----------
    estimator : narrows estimator
        The estimator to fit, as for `fit`. It is not changed.
    featuresCol : str, default="features"
        The column of vectors, arrays of floats, or texts.
    labelCol : str, default="label"
        The column of labels: text, integers or whole numbers. No StringIndexer is needed.
    weightCol : str, optional
        The column of weights.
    outputCol : str, default="reduced"
        The new column of reduced samples.
    predictionCol, probabilityCol : str, optional
        New columns of predicted classes and of probabilities, if the estimator predicts.

    Raises
    ------
    ParameterError
        In `fit`: there is no estimator, or a column for predictions is set and it does not predict.
        Others as for `fit`.

    See Also
    --------
    ReducerModel : The fitted stage.
    fit : The same as a function.

    Notes
    -----
    **Cost**: that of `fit`. Each name is also a ``Param``, so that ``ParamGridBuilder`` and
    ``CrossValidator`` can choose between estimators and their parameters:
    ``addGrid(reducer.estimator, [OC(), SRDA(alpha=0.1)])``.

    ``write().overwrite().save(path)`` and ``Reducer.load(path)`` store the name of the estimator
    and its parameters as JSON.

    Examples
    --------
    >>> from narrows import SRDA  # doctest: +SKIP
    >>> from narrows.spark import Reducer  # doctest: +SKIP
    >>> from pyspark.ml import Pipeline  # doctest: +SKIP
    >>> from pyspark.ml.classification import LogisticRegression  # doctest: +SKIP
    >>> reduce = Reducer(estimator=SRDA(), outputCol="z")  # doctest: +SKIP
    >>> model = Pipeline(stages=[reduce, LogisticRegression(featuresCol="z")])  # doctest: +SKIP
    >>> model.fit(df).transform(df)  # doctest: +SKIP
    """

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        estimator: Any = None,
        featuresCol: str = "features",
        labelCol: str = "label",
        weightCol: str | None = None,
        outputCol: str = "reduced",
        predictionCol: str | None = None,
        probabilityCol: str | None = None,
    ):
        super().__init__()
        self._setDefault(featuresCol="features", labelCol="label", outputCol="reduced")
        self.setParams(**self._input_kwargs)

    def setParams(self, **given: Any) -> Reducer:
        """Set parameters by name."""
        return self._set(**given)  # which leaves out those that are None

    def setEstimator(self, value: Any) -> Reducer:
        """Set the estimator of narrows."""
        return self._set(estimator=value)

    def _fit(self, dataset: Any) -> ReducerModel:
        estimator = self._reduction()
        for name in ("predictionCol", "probabilityCol"):
            if self._given(name) and not hasattr(estimator, "predict"):
                raise ParameterError(
                    f"expected an estimator that predicts, such as SRDA, got "
                    f"{type(estimator).__name__}. Leave {name} out."
                )
        names = (self._given(name) for name in ("featuresCol", "labelCol", "weightCol"))
        # of another uid: CrossValidator sets parameters of this one in models of the same uid,
        # and the estimator of its grid is not the fitted one
        model = ReducerModel(estimator=fit(clone(estimator), dataset, *names))
        return self._copyValues(model, {self.getParam("estimator"): model.getEstimator()})


class ReducerModel(Model, _Stage):
    """A fitted estimator of narrows as a stage of a PipelineModel of pyspark.ml.

    Parameters
    ----------
    estimator : narrows estimator
        A fitted estimator, wherever it was fitted.

    See Also
    --------
    Reducer : The stage that is fitted.
    transform : The same as a function.

    Notes
    -----
    **Cost**: that of `transform` and `predict`. Set columns as for `Reducer`:
    ``model.set(model.outputCol, "z")``.

    ``write().overwrite().save(path)`` stores the estimator as the model file ``estimator.narrows``
    in the folder, which `narrows.load` also reads, and the metadata of Spark. Spark Connect cannot
    write such a file to HDFS or an object store; there the folder contains its bytes in Parquet,
    which only `ReducerModel.load` reads, in any session.

    Examples
    --------
    >>> import narrows  # doctest: +SKIP
    >>> from narrows.spark import ReducerModel  # doctest: +SKIP
    >>> ReducerModel(estimator=narrows.load("model.narrows")).transform(df)  # doctest: +SKIP
    """

    is_fitted = True

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(self, *, estimator: Any = None):
        super().__init__()
        self._setDefault(featuresCol="features", labelCol="label", outputCol="reduced")
        self._set(**self._input_kwargs)

    def _transform(self, dataset: Any) -> Any:
        estimator, features = self._reduction(), self._given("featuresCol")
        check_is_fitted(estimator)
        found = transform(estimator, dataset, self.getOutputCol(), features_col=features)
        prediction, probability = self._given("predictionCol"), self._given("probabilityCol")
        if prediction is not None or probability is not None:
            name = prediction or f"prediction_{self.uid}"
            found = predict(
                estimator, found, name, probability_col=probability, features_col=features
            )
            found = found if prediction else found.drop(name)
        return found


# -- folders ---------------------------------------------------------------------------------------


class StageWriter(MLWriter):
    """Saves a stage in a folder that Spark can write to.

    Parameters
    ----------
    stage : Reducer or ReducerModel
        The stage.
    """

    def __init__(self, stage: Any):
        super().__init__()
        self.stage = stage

    def _handleOverwrite(self, path: str) -> None:
        if not _is_connect(self.sparkSession):
            super()._handleOverwrite(path)
            return
        from pyspark.ml.connect.readwrite import RemoteMLWriter

        RemoteMLWriter.handleOverwrite(path, True)

    def saveImpl(self, path: str) -> None:
        """Save the stage in an empty folder."""
        session, stage = self.sparkSession, self.stage
        estimator = stage._reduction()
        if stage.is_fitted:
            check_is_fitted(estimator)
        given = DefaultParamsWriter.extractJsonParams(stage, [_ENTRY])
        more = {_ENTRY: constructor(estimator)}
        DefaultParamsWriter.saveMetadata(stage, path, session, more, given)
        if stage.is_fitted:
            with tempfile.TemporaryDirectory(prefix="narrows-") as folder:
                local = Path(folder, f"narrows-{uuid4().hex}")
                save(estimator, local)
                _put(session, local, path)


class Reader(MLReader):
    """Loads a stage from a folder.

    Parameters
    ----------
    kind : type
        Reducer or ReducerModel.
    """

    def __init__(self, kind: Any):
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """Return the stage; DataError where it is not there, or another one."""
        metadata = self._metadata(path)
        stage = self.kind()
        try:
            stage.restore(metadata)
            if not stage.is_fitted:
                entry = metadata[_ENTRY]
                if entry["estimator"] not in METHODS:
                    got = f"{entry['estimator']!r:.100}"
                    raise SchemaError(f"expected an estimator of narrows, got {got}.")
                stage.set(stage.estimator, constructed(entry))
                return stage
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
            problem = (
                f"expected a saved {self.kind.__name__}, got damaged metadata ({error!s:.300})"
            )
            raise DataError(path, f"{problem}. Save it again.") from None
        stage.set(stage.estimator, self._fitted(path))
        return stage

    def _metadata(self, path: str) -> dict[str, Any]:
        kind = f"{self.kind.__module__}.{self.kind.__name__}"
        try:
            metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
            found = str(metadata["class"])
        except Exception as error:  # of Spark, JSON, and a folder of something else
            problem = str(error).strip().partition("\n")[0][:200]
            raise DataError(path, f"expected a saved {kind}, got none. {problem}") from None
        if found != kind:
            raise DataError(path, f"expected a saved {kind}, got a {found:.100}.")
        return metadata

    def _fitted(self, path: str) -> Any:
        name = os.path.join(path, FILE)
        with tempfile.TemporaryDirectory(prefix="narrows-") as folder:
            local = Path(folder, FILE)
            try:
                found = _get(self.sparkSession, path, local)
            except Exception as error:  # of Spark, Java or an executor
                said = getattr(error, "java_exception", None) or error  # without a call's number
                problem = str(said).strip().partition("\n")[0][:200]
                problem = f"expected a model file that can be read, got an error: {problem}"
                raise DataError(name, problem) from error
            if not found:
                raise DataError(name, "expected a model file, got none. Save the model again.")
            try:
                return load(local)
            except DataError as error:
                problem = str(error).removeprefix(str(local)).lstrip(": ")
                raise DataError(name, problem) from None


# -- a model file, from and to the folder of a stage whose metadata are there ----------------------


def _is_connect(session: Any) -> bool:
    return ".connect." in type(session).__module__


def _hadoop(session: Any, path: str) -> tuple[Any, Any]:
    """Return the file system of a path, and the path, of Java."""
    at = session._jvm.org.apache.hadoop.fs.Path(path)
    return at.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()), at


def _put(session: Any, local: Path, path: str) -> None:
    """Copy a model file into a folder of any file system that Spark knows."""
    if not _is_connect(session):
        system, to = _hadoop(session, os.path.join(path, FILE))
        system.copyFromLocalFile(_hadoop(session, f"file://{local}")[1], to)
        return
    (metadata, *_) = session.read.text(os.path.join(path, "metadata")).inputFiles()
    if urlsplit(metadata).scheme == "file":  # of the machines
        session.addArtifacts(str(local), file=True)  # in small pieces; a message has 128 MB at most
        folder = Path(unquote(urlsplit(metadata).path)).parents[1]
        copy = partial(_copy_sent, local.name, str(folder / FILE))
        session.range(0, 1, 1, 1).mapInArrow(copy, _ROWS).collect()
        return
    size = local.stat().st_size
    with local.open("rb") as file:
        for start in range(0, size, _AT_ONCE):
            places = range(start, min(start + _AT_ONCE, size), _ROW)
            rows = session.createDataFrame([(at, file.read(_ROW)) for at in places], _ROWS)
            rows.write.mode("append").parquet(os.path.join(path, PIECES))


def _get(session: Any, path: str, local: Path) -> bool:
    """Copy a model file from a folder; return whether there is one."""
    if not _is_connect(session):  # a file of any size
        system, source = _hadoop(session, os.path.join(path, FILE))
        if system.exists(source):
            to = _hadoop(session, f"file://{local}")[1]
            system.copyToLocalFile(False, source, to, True)
            return True
    for read in (_of_file, _of_pieces):
        with local.open("wb") as file, suppress(AnalysisException):  # where there is none
            while data := read(session, path, file.tell()):
                file.write(data)
            return True
    return False


def _of_file(session: Any, path: str, start: int) -> bytes:
    """Return `_AT_ONCE` bytes of a model file from a byte on."""
    content = functions.substring("content", start + 1, _AT_ONCE)
    whole = session.read.format("binaryFile").load(os.path.join(path, FILE))
    return bytes(whole.select(content).head()[0])


def _of_pieces(session: Any, path: str, start: int) -> bytes:
    """Return `_AT_ONCE` bytes of a model file that is in pieces from a byte on."""
    rows = session.read.schema(_ROWS).parquet(os.path.join(path, PIECES))
    table = rows.where(f"start >= {start} and start < {start + _AT_ONCE}").toArrow()
    return b"".join(data.as_py() for data in table.sort_by("start").column("data"))


def _copy_sent(name: str, path: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Copy a file that was sent to a path, where it appears as a whole; yield no rows."""
    from pyspark import SparkFiles, TaskContext

    for batch in batches:
        if batch.num_rows:
            # a task may run twice at once
            part = f"{path}.{TaskContext.get().taskAttemptId()}.part"
            shutil.copyfile(SparkFiles.get(name), part)
            os.replace(part, path)
    yield from ()
