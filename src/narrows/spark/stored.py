"""Stages of pyspark.ml in a folder: Spark's metadata, and the fitted estimator as a model file.

The model file is a file of its own where that can be written: anywhere by a classic session, and to
files of the machines by Spark Connect. Connect has no call that writes one file to a path such as
``s3a://…``; the bytes of the model file are then the rows of a Parquet folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter
from sklearn.utils.validation import check_is_fitted

from narrows.engines.spark import GATHER
from narrows.engines.spark_rows import ROW
from narrows.errors import DataError
from narrows.io.models import constructed, constructor, load, save
from narrows.methods.methods import METHODS
from narrows.solve.schema import SchemaError

FILE = "estimator.narrows"
PIECES = "estimator.narrows.parquet"  # where there can be no file of its own
_ENTRY = "estimator"
_AT_ONCE = GATHER  # bytes of a model file that come to this process at a time, a multiple of _ROW
_ROW = ROW
_ROWS = "start long, data binary"


class Writer(MLWriter):
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
        fitted = _is_model(type(stage))
        if fitted:
            check_is_fitted(estimator)
        given = DefaultParamsWriter.extractJsonParams(stage, [_ENTRY])
        more = {_ENTRY: constructor(estimator)}
        text = DefaultParamsWriter._get_metadata_to_save(stage, session, more, given)
        rows = session.createDataFrame([(text,)], "value string").coalesce(1)
        rows.write.text(os.path.join(path, "metadata"))
        if fitted:
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
            stage._resetUid(metadata["uid"])
            DefaultParamsReader.getAndSetParams(stage, metadata, skipParams=[_ENTRY])
            if not _is_model(self.kind):
                entry = metadata[_ENTRY]
                if entry["estimator"] not in METHODS:
                    got = f"{entry['estimator']!r:.100}"
                    raise SchemaError(f"expected an estimator of narrows, got {got}.")
                return stage._set(estimator=constructed(entry))
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
            problem = (
                f"expected a saved {self.kind.__name__}, got damaged metadata ({error!s:.300})"
            )
            raise DataError(path, f"{problem}. Save it again.") from None
        return stage._set(estimator=self._fitted(path))

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


def _is_model(kind: Any) -> bool:
    return bool(kind.__name__.endswith("Model"))


def _is_connect(session: Any) -> bool:
    return ".connect." in type(session).__module__


# -- a model file, from and to the folder of a stage whose metadata are there ----------------------


def _put(session: Any, local: Path, path: str) -> None:
    """Copy a model file into a folder of any file system that Spark knows."""
    if not _is_connect(session):
        system, to = _hadoop(session, os.path.join(path, FILE))
        system.copyFromLocalFile(_hadoop(session, f"file://{local}")[1], to)
        return
    session.addArtifacts(str(local), file=True)  # in small pieces; a message has at most 128 MB
    one, folder = session.range(0, 1, 1, 1), _folder_of_machine(session, path)
    if folder is None:
        rows = one.mapInArrow(partial(_slices_sent, local.name, _ROW), _ROWS)
        rows.write.parquet(os.path.join(path, PIECES))
    else:
        to = os.path.join(folder, FILE)
        one.mapInArrow(partial(_copy_sent, local.name, to), "id long").collect()


def _get(session: Any, path: str, local: Path) -> bool:
    """Copy a model file from a folder; return whether there is one."""
    if not _is_connect(session):
        system, source = _hadoop(session, os.path.join(path, FILE))
        found = bool(system.exists(source))
        if found:
            to = _hadoop(session, f"file://{local}")[1]
            system.copyToLocalFile(False, source, to, True)
        return found
    read, start = _reading(session, path), 0
    with local.open("wb") as file:
        while data := read(start):
            start += file.write(data)
    return start > 0


def _hadoop(session: Any, path: str) -> tuple[Any, Any]:
    """Return the file system of a path, and the path, of Java."""
    at = session._jvm.org.apache.hadoop.fs.Path(path)
    return at.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()), at


def _folder_of_machine(session: Any, path: str) -> str | None:
    """Return the folder where the metadata are if it is one of the machines, else None."""
    (file, *_) = session.read.text(os.path.join(path, "metadata")).inputFiles()
    parts = urlsplit(file)
    return os.path.dirname(os.path.dirname(unquote(parts.path))) if parts.scheme == "file" else None


def _reading(session: Any, path: str) -> Callable[[int], bytes]:
    """Return what reads `_AT_ONCE` bytes of a model file from a byte on, by Connect."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions

    folder, size = _folder_of_machine(session, path), _AT_ONCE
    if folder is not None:
        file = os.path.join(folder, FILE)

        def of_machine(start: int) -> bytes:
            slices = partial(_slices_of_file, file, start, size, _ROW)
            return _joined(session.range(0, 1, 1, 1).mapInArrow(slices, _ROWS))

        return of_machine
    try:
        whole = session.read.format("binaryFile").load(os.path.join(path, FILE))
        whole.count()
    except AnalysisException:
        pass
    else:
        return lambda start: bytes(
            whole.select(functions.substring("content", start + 1, size)).head()[0]
        )
    try:
        rows = session.read.schema(_ROWS).parquet(os.path.join(path, PIECES))
        rows.count()
    except AnalysisException:
        return lambda start: b""
    return lambda start: _joined(rows.where(f"start >= {start} and start < {start + size}"))


def _joined(rows: Any) -> bytes:
    table = rows.toArrow().sort_by("start")
    return b"".join(data.as_py() for data in table.column("data"))


# -- on the executors ------------------------------------------------------------------------------


def _copy_sent(name: str, path: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Copy a file that was sent to a path, where it appears as a whole."""
    from pyspark import SparkFiles, TaskContext

    for batch in batches:
        part = f"{path}.{TaskContext.get().taskAttemptId()}.part"  # one task may run twice at once
        shutil.copyfile(SparkFiles.get(name), part)
        os.replace(part, path)
        yield batch


def _slices_sent(name: str, row: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the rows of a file that was sent."""
    from pyspark import SparkFiles

    path = SparkFiles.get(name)
    return _slices_of_file(path, 0, os.path.getsize(path), row, batches)


def _slices_of_file(
    path: str, start: int, size: int, row: int, batches: Iterator[Any]
) -> Iterator[Any]:
    """Yield `size` bytes of a file from a byte on, as rows; none if there is no such file."""
    import pyarrow as pa

    for batch in batches:
        if not (batch.num_rows and os.path.exists(path)):
            continue
        with open(path, "rb") as file:
            file.seek(start)
            for first in range(start, start + size, row):
                data = file.read(row)
                if not data:
                    break
                yield pa.RecordBatch.from_arrays(
                    [pa.array([first], pa.int64()), pa.array([data], pa.binary())],
                    names=["start", "data"],
                )
