"""Model files: a JSON header and plain arrays in one safetensors container.

The metadata of the container have one entry, ``narrows``: the header, a JSON object of the form
`_HEADER`. The arrays are those of the state (``state.counts``, ``state.sums``, …), of the feature
names and of the vectoriser; `narrows.io.arrays` says how text is stored. Nothing is pickled, and
the same model gives the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from narrows.families import METHODS
from narrows.families._atomic import lock_of
from narrows.families._base import Estimator, Fitted
from narrows.io.arrays import get, put
from narrows.io.atomic import replacing
from narrows.io.source import Source
from narrows.solve.errors import DataError, ParameterError
from narrows.solve.schema import Field, SchemaError, check_known, check_plain, checked

FORMAT = 1
_FIRST_KEYS = {"format": int, "library": str, "crc32": int}  # in every format; crc32 of the others
_HEADER = {
    "library": str,  # version of narrows that wrote the file
    "estimator": str,  # name of its class
    "parameters": dict,  # those of its constructor
    "labels": str,  # type of the class labels, as NumPy writes it
    "source": (dict, None),  # how files became columns: `Source.settings`
    "checksums": dict,  # crc32 of each array
    # "progress": in checkpoints only, see `narrows.io.checkpoint`
    # "finished": the run that made a model of an update in place, see `save_finished`
}
_PARAMETER_ERRORS = ValueError, TypeError, ArithmeticError, RecursionError
_SPARE_CHARACTERS = 1 << 27  # that the type of labels may have beyond the longest label, in all


# -- public --------------------------------------------------------------------------------------


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator to a file.

    An existing file is replaced only when the new one is complete.

    Parameters
    ----------
    estimator : narrows estimator
        A fitted estimator. Its whole state is saved, so that a loaded estimator continues to
        learn as if it had never been saved.
    path : str or path-like
        The file, usually with the suffix ``.narrows``.

    Raises
    ------
    TypeError
        If the estimator is not one of this library, or has a parameter that cannot be stored.
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
    The file is a safetensors file, whose header is described in docs/model_files.md.

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
    estimator : narrows estimator
        The fitted estimator, which can transform, merge and continue to learn.

    Raises
    ------
    DataError
        If the file is not a model, is damaged, has a newer format, or holds arrays or parameters
        that no fit produces.
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
    if not estimator._is_finished(estimator._fitted.state):
        raise DataError(
            path, "expected a model, got a checkpoint of an unfinished fit. Resume the fit first."
        )
    return estimator


# -- for the command line ------------------------------------------------------------------------


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
    if "progress" not in header:
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
    """Write an estimator, with more entries of the header."""
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"save: expected an estimator of narrows, got {type(estimator).__name__}. "
            "For a pipeline, save the narrows step."
        )
    check_is_fitted(estimator)
    with lock_of(estimator):  # no other thread changes the state meanwhile
        fitted = estimator._fitted
        arrays: dict[str, np.ndarray] = {}
        put(arrays, "state", fitted.state.to_arrays())
        if hasattr(estimator, "feature_names_in_"):
            put(arrays, "input", {"names": estimator.feature_names_in_})
        if fitted.source is not None:
            put(arrays, "source", fitted.source.to_arrays())
        header = {
            "format": FORMAT,
            "library": version("narrows"),
            "estimator": type(estimator).__name__,
            "parameters": {
                name: _plain(estimator, name, value)
                for name, value in estimator.get_params(deep=False).items()
            },
            "labels": fitted.state.classes.dtype.str,
            "source": None if fitted.source is None else fitted.source.settings(),
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


def _plain(estimator: Any, name: str, value: Any) -> Any:
    """Return the value of a parameter as JSON has it."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, list | tuple):
        return [_plain(estimator, name, entry) for entry in value]
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"{type(estimator).__name__}: expected {name} to be numbers, text, None or an array, which "
        f"a model file can store, got {value!r}."
    )


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
    name = header["estimator"]
    if name not in METHODS:
        raise DataError(path, f"expected a method of this version, got {name!r}. Update narrows.")
    try:
        return _estimator(METHODS[name], header, arrays), header
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
    if header["format"] > FORMAT:
        raise DataError(
            path,
            f"expected format {FORMAT} or lower, got format {header['format']} of narrows "
            f"{header['library']}. Update narrows.",
        )
    if checksum != _crc_of_text(written):
        raise DataError(path, "expected a header that matches its checksum, got a damaged one.")
    try:
        check_plain(header, _HEADER, "header")
    except SchemaError as error:
        raise DataError(path, f"damaged, or of another version: {error}") from None
    return header


def _estimator(kind: Any, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Return the estimator that a header and arrays describe; SchemaError where they do not."""
    parameters = {name: _from_plain(name, value) for name, value in header["parameters"].items()}
    check_known("parameters", parameters, kind._get_param_names())
    estimator = kind(**parameters)
    state = get(arrays, "state")
    checked(state, {"classes": Field("b i u f O", ("c",))})
    state["classes"] = _as_type(state["classes"], header["labels"])
    names_in_file = set(state)
    fitted = Fitted(estimator._state_from(state))
    check_known("state", names_in_file, fitted.state.to_arrays())
    _check_parameters(estimator, fitted.state.n_features)
    estimator.n_features_in_ = fitted.state.n_features
    if header["source"] is not None:
        fitted.source = Source.of(header["source"], get(arrays, "source"))
    given = get(arrays, "input")
    if given:
        checked(given, {"names": Field("O", ("d",))})
        estimator.feature_names_in_ = given["names"]
    estimator._fitted = fitted
    names, d = estimator._column_names(), estimator.n_features_in_
    if names is not None and len(names) != d:
        raise SchemaError(f"names: expected those of {d} features, got {len(names)}.")
    return estimator


def _check_parameters(estimator: Any, n_features: int) -> None:
    """Raise SchemaError where a parameter is out of range for any number of features."""
    try:
        estimator._check_parameters(n_features)
    except _PARAMETER_ERRORS:  # more features may come
        try:
            estimator._check_parameters_alone()
        except _PARAMETER_ERRORS as error:
            raise SchemaError(f"parameters: {error!s:.300}") from None


def _as_type(labels: np.ndarray, dtype: str) -> np.ndarray:
    """Return labels in the type that they had when they were saved."""
    if labels.dtype.kind == "O":
        width = re.fullmatch(r"[<>]U(\d{1,9})", dtype)
        longest = max(map(len, labels), default=0)
        widest = longest + _SPARE_CHARACTERS // (len(labels) or 1)
        if dtype == "|O" or (width and longest <= int(width[1]) <= widest):
            return labels.astype(dtype)
    elif dtype == labels.dtype.str:
        return labels
    raise SchemaError(f"labels: expected the type of {labels.dtype} in classes, got {dtype!r:.20}.")


def _from_plain(name: str, value: Any) -> Any:
    """Return the value of a parameter that `_plain` wrote."""
    if not isinstance(value, dict):
        return value
    name = f"parameters.{name}"
    check_plain(value, {"array": (list, bool, int, float), "dtype": str}, name)
    try:
        if re.fullmatch("[<>|][biuf][1248]", value["dtype"]):
            return np.array(value["array"], dtype=value["dtype"])
    except (ValueError, TypeError, OverflowError):
        pass
    raise SchemaError(f"{name}: expected an array of numbers, got another one.")


def _crc_of_text(text: str) -> int:
    return zlib.crc32(text.encode())


def _crc(array: np.ndarray) -> int:
    return zlib.crc32(array.reshape(-1).view(np.uint8).data) if array.size else 0
