"""Model files: a JSON header and plain arrays in one safetensors container.

The metadata of the container have one entry, ``narrows``: the header, a JSON object of the form
`_HEADER`. The arrays are those of the state (``state.counts``, ``state.sums``, …), of the feature
names and of the vectoriser; `narrows.io.arrays` says how text is stored. Nothing is pickled, and
the same model gives the same bytes.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.metadata import version
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from narrows.errors import DataError, ParameterError
from narrows.methods._atomic import lock_of
from narrows.methods._base import Estimator, Fitted
from narrows.io.atomic import replacing
from narrows.io.entries import (
    ESTIMATOR,
    described,
    is_known,
    is_passing,
    of_estimator,
    of_steps,
    steps_described,
)
from narrows.io.source import Source
from narrows.solve.schema import SchemaError, check_plain
from narrows.text.base import Vectoriser

FORMAT, FORMAT_OF_STEPS = 1, 2  # of an estimator; of a pipeline, or a vectoriser alone
_FIRST_KEYS = {"format": int, "library": str, "crc32": int}  # in every format; crc32 of the others
_HEADER = {
    **ESTIMATOR,
    "library": str,  # version of narrows that wrote the file
    "checksums": dict,  # crc32 of each array
    # "progress": in checkpoints only, see `narrows.io.checkpoint`
    # "finished": the run that made a model of an update in place, see `save_finished`
}
_HEADER_OF_STEPS = {
    "library": str,
    "checksums": dict,
    "pipeline": bool,  # whether the steps are those of a pipeline, or one vectoriser
    "steps": list,  # each with a name; the arrays of step k begin with "step{k}."
}


# -- public --------------------------------------------------------------------------------------


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator, or a pipeline of these, to a file.

    An existing file is replaced only when the new one is complete.

    Parameters
    ----------
    estimator : narrows estimator, vectoriser, or Pipeline of these
        Fitted. The whole state is saved, so that a loaded estimator continues to learn as if it had
        never been saved.
    path : str or path-like
        The file, usually with the suffix ``.narrows``.

    Raises
    ------
    TypeError
        If the estimator, or a step of the pipeline, does not belong to narrows, or has a parameter
        that cannot be stored.
    NotFittedError
        If the estimator is not fitted.
    OSError
        If the file cannot be written; an existing file is left unchanged.

    See Also
    --------
    load : Load an estimator from a file.

    Notes
    -----
    **Cost**: the size of the state, 8 c d bytes, written once, without a copy in memory.

    References
    ----------
    The file is a safetensors file. The page "Model files" of the documentation describes its
    header.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from narrows import OC, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(OC().fit(*load_iris(return_X_y=True)), os.path.join(folder, "iris.narrows"))
    ...     print(os.listdir(folder))
    ['iris.narrows']
    """
    _write(estimator, path)


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator from a file.

    Parameters
    ----------
    path : str or path-like
        A file that `save` or the command line wrote.

    Returns
    -------
    estimator : narrows estimator, vectoriser, or Pipeline of these
        As it was saved. It can transform, merge and continue to learn.

    Raises
    ------
    DataError
        If the file is not a model, is damaged, has a newer format, or contains invalid arrays or
        parameters.
    OSError
        If the file cannot be read.

    See Also
    --------
    save : Save a fitted estimator to a file.

    Notes
    -----
    **Cost**: the file is read once; attributes are computed from the state on first access.

    References
    ----------
    The format is that of `save`. Nothing is unpickled, so loading a file runs no code from it.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from narrows import OC, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.narrows")
    ...     save(OC().fit(X[::2], y[::2]), path)
    ...     oc = load(path)
    >>> oc.partial_fit(X[1::2], y[1::2]).n_samples_seen_
    150
    """
    estimator, _ = _read(path)
    if isinstance(estimator, Estimator) and not estimator._is_finished(estimator._fitted.state):
        raise DataError(
            path, "expected a model, got a checkpoint of an unfinished fit. Resume the fit first."
        )
    return estimator


# -- for the command line ------------------------------------------------------------------------


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load an estimator; of a pipeline, its estimator, which then knows the vectoriser before it.

    Raises
    ------
    ParameterError
        The pipeline has several estimators, or none.
    """
    model = load(path)
    if isinstance(model, Estimator):
        return model
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    steps = [step for step in steps if not is_passing(step)]
    tfidf = steps.pop(0) if isinstance(steps[0], Vectoriser) else None
    if len(steps) != 1:
        got = " and ".join(type(step).__name__ for step in steps) or "a vectoriser alone"
        raise ParameterError(
            f"{os.fspath(path)}: expected a model of one method, got {got}. Use it in Python, with "
            "narrows.load."
        )
    (estimator,) = steps
    return estimator if tfidf is None else estimator._remember(Source(tfidf=tfidf))


def save_checkpoint(
    estimator: Any, state: Any, source: Any, path: str | os.PathLike[str], progress: dict[str, Any]
) -> None:
    """Save a state in the middle of a fit, and `progress`, ready for JSON."""
    copy = clone(estimator)
    if hasattr(estimator, "feature_names_in_"):
        copy.feature_names_in_ = estimator.feature_names_in_
    copy._fitted = Fitted(state, source)
    _write(copy, path, progress=progress)


def load_checkpoint(path: str | os.PathLike[str]) -> tuple[Any, Any, dict[str, Any]]:
    """Return the estimator, the state in the middle of a fit, and the progress."""
    estimator, header = _read(path)
    if "progress" not in header or "steps" in header:
        problem = "expected a checkpoint, got a finished model. There is nothing to resume."
        raise DataError(path, problem)
    return estimator, estimator._fitted.state, header["progress"]


def save_finished(estimator: Any, path: str | os.PathLike[str], run: dict[str, Any]) -> None:
    """Save a model that replaces the one it was made from, and `run`, which identifies the run."""
    _write(estimator, path, finished=run)


def identity(path: str | os.PathLike[str]) -> tuple[int, dict[str, Any] | None]:
    """Return a checksum of a model, and the run that `save_finished` stored in it."""
    with safe_open(os.fspath(path), framework="numpy") as file:
        metadata = file.metadata() or {}
    return _crc_of_text(metadata["narrows"]), _header(path, metadata).get("finished")


def is_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Return whether the header of a file is that of a checkpoint; its arrays may be damaged."""
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            return "progress" in _header(path, file.metadata() or {})
    except (SafetensorError, DataError):
        return False


# -- writing -------------------------------------------------------------------------------------


def _write(estimator: Any, path: str | os.PathLike[str], **more: Any) -> None:
    """Write an estimator, or the steps of a pipeline, with more entries of the header."""
    arrays: dict[str, np.ndarray] = {}
    if isinstance(estimator, Estimator):
        check_is_fitted(estimator)
        with lock_of(estimator):  # no other thread changes the state meanwhile
            header = {"format": FORMAT, **described(estimator, arrays)}
            _write_file(header, arrays, path, more)
        return
    is_pipeline = isinstance(estimator, Pipeline)
    steps = estimator.steps if is_pipeline else [("", estimator)]
    for name, step in steps:
        if not (isinstance(step, Estimator | Vectoriser) or (is_pipeline and is_passing(step))):
            what = f"step {name!r}" if is_pipeline else "it"
            raise TypeError(
                f"save: expected an estimator of narrows, or a pipeline of these, got "
                f"{type(step).__name__}. Save {what} by other means, and the steps of narrows here."
            )
    with ExitStack() as locks:
        described_steps = steps_described(steps, arrays, locks)
        header = {"format": FORMAT_OF_STEPS, "pipeline": is_pipeline, "steps": described_steps}
        _write_file(header, arrays, path, more)


def _write_file(
    header: dict[str, Any], arrays: dict[str, np.ndarray], path: Any, more: dict[str, Any]
) -> None:
    """Write a header and arrays, with checksums of both."""
    header |= {
        "library": version("narrows"),
        "checksums": {name: _crc(array) for name, array in arrays.items()},
        **more,
    }
    header["crc32"] = _crc_of_text(json.dumps(header))
    metadata = {"narrows": json.dumps(header)}  # safetensors has no order for several entries
    with replacing(path) as temporary:
        try:
            save_file(arrays, temporary, metadata=metadata)
        except SafetensorError as error:
            raise OSError(
                f"{os.fspath(path)}: expected a file that can be written, got {error}."
            ) from None


# -- reading -------------------------------------------------------------------------------------


def _read(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return an estimator and its header."""
    with open(path, "rb"):
        pass  # OSError where the file is missing or unreadable
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = _header(path, file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise DataError(
            path, f"expected a narrows model, got another file, or a damaged one ({error})."
        ) from None
    checksums = header["checksums"]
    if set(arrays) != set(checksums) or any(
        _crc(arrays[name]) != checksums[name] for name in arrays
    ):
        raise DataError(path, "expected contents that match their checksums, got damaged ones.")
    for each in header.get("steps", [header]):
        name = each.get("estimator") if isinstance(each, dict) else None
        if not is_known(name, "steps" in header):
            problem = f"expected a method of this version, got {name!r:.100}. Update narrows."
            raise DataError(path, problem)
    try:
        return (of_steps if "steps" in header else of_estimator)(header, arrays), header
    except (SchemaError, ParameterError) as error:
        problem = f"damaged, or of another version: {error} Save the model again."
        raise DataError(path, problem) from None


def _header(path: str | os.PathLike[str], metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the header that is stored in the metadata of a file, checked."""
    if "narrows" not in metadata:
        raise DataError(path, "expected a narrows model, got a file without its header.")
    try:
        header = json.loads(metadata["narrows"])
        check_plain(header, _FIRST_KEYS, "header")
        checksum = header.pop("crc32")
        written = json.dumps(header)
    except (ValueError, RecursionError):
        raise DataError(path, "expected a narrows header, got a damaged one.") from None
    if header["format"] > FORMAT_OF_STEPS:
        raise DataError(
            path,
            f"expected format {FORMAT_OF_STEPS} or lower, got format {header['format']} of narrows "
            f"{header['library']}. Update narrows.",
        )
    if checksum != _crc_of_text(written):
        raise DataError(path, "expected a header that matches its checksum, got a damaged one.")
    try:
        form = _HEADER_OF_STEPS if header["format"] == FORMAT_OF_STEPS else _HEADER
        check_plain(header, form, "header")
    except SchemaError as error:
        raise DataError(path, f"damaged, or of another version: {error}") from None
    return header


def _crc_of_text(text: str) -> int:
    return zlib.crc32(text.encode())


def _crc(array: np.ndarray) -> int:
    return zlib.crc32(array.reshape(-1).view(np.uint8).data) if array.size else 0
