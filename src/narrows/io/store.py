"""One file format for models: a JSON header and plain arrays in a safetensors container.

A `.narrows` file is a safetensors file. Its metadata hold ``narrows``, the header as JSON::

    {"format": 1, "library": "0.1.0", "estimator": "OCFS", "parameters": {…},
     "labels": "<i8", "source": {…} or null, "checksums": {array: crc32},
     "progress": {…} in checkpoints only, "finished": {…} after some updates,
     "crc32": of all this}

The arrays are those of the state (``state.counts``, ``state.sums``, …), of the feature names
and of the vectoriser. Text is kept as UTF-8 bytes (``name.text``) and the ends of the pieces
(``name.ends``). Nothing is ever pickled. The same model makes the same bytes.
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
_HEADER = {
    "library": str, "estimator": str, "parameters": dict, "labels": str, "source": (dict, None),
    "checksums": dict,
}  # fmt: skip
_ODD = ValueError, TypeError, ArithmeticError, RecursionError  # of a parameter of any kind
_WIDE = 1 << 27  # characters that labels may take besides those they have


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file, replacing it only when the new one is complete.

    Parameters
    ----------
    estimator : narrows estimator
        Fitted. All it has learnt is kept, so that the loaded one goes on as if never stopped.
    path : str or path-like
        Usually ends in ``.narrows``.

    Raises
    ------
    TypeError
        Not an estimator of this library, or a parameter that has no plain form.
    NotFittedError
        Nothing learnt yet.
    OSError
        The file cannot be written; what was there before is untouched.

    Notes
    -----
    **Cost**: the size of the state, 8 c d bytes, written once; no copy in memory.

    References
    ----------
    A safetensors file, whose header docs/model_files.md describes.

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
    _save(estimator, path, {})


def save_checkpoint(
    estimator: Any, state: Any, source: Any, path: str | os.PathLike[str], progress: dict[str, Any]
) -> None:
    """Write a state in the middle of a fit, and `progress`, plain data that says where."""
    shell = clone(estimator)
    if hasattr(estimator, "feature_names_in_"):
        shell.feature_names_in_ = estimator.feature_names_in_
    shell._learnt = Fitted(state, source)
    _save(shell, path, {"progress": progress})


def load_checkpoint(path: str | os.PathLike[str]) -> tuple[Any, Any, dict[str, Any]]:
    """Return the estimator, the state that was being made, and the progress of a checkpoint."""
    estimator, header = _load(path)
    if "progress" not in header:
        raise DataError(path, "a finished model, not a checkpoint: there is nothing to resume.")
    return estimator, estimator._learnt.state, header["progress"]


def save_finished(estimator: Any, path: str | os.PathLike[str], run: dict[str, Any]) -> None:
    """Write a model that replaces the one it was made from, and `run`, which tells what of."""
    _save(estimator, path, {"finished": run})


def identity(path: str | os.PathLike[str]) -> tuple[int, dict[str, Any] | None]:
    """Return a checksum of a model, and what `save_finished` told of the run that made it."""
    with safe_open(os.fspath(path), framework="numpy") as file:
        metadata = file.metadata() or {}
    return _crc_of_text(metadata["narrows"]), _header(path, metadata).get("finished")


def is_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a checkpoint, by its header alone: it may be damaged."""
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            return "progress" in _header(path, file.metadata() or {})
    except (SafetensorError, DataError):
        return False


def _save(estimator: Any, path: str | os.PathLike[str], more: dict[str, Any]) -> None:
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"save: an estimator of narrows wanted, but {type(estimator).__name__} came. "
            "Save the step of a pipeline that is one."
        )
    check_is_fitted(estimator)
    with lock_of(estimator):  # the numbers are those of one moment
        _write(estimator, path, more)


def _write(estimator: Any, path: str | os.PathLike[str], more: dict[str, Any]) -> None:
    state, source = estimator._learnt.state, estimator._learnt.source
    arrays: dict[str, np.ndarray] = {}
    put(arrays, "state", state.to_arrays())
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        put(arrays, "input", {"names": names})
    if source is not None:
        put(arrays, "source", source.to_arrays())
    header = {
        "format": FORMAT,
        "library": version("narrows"),
        "estimator": type(estimator).__name__,
        "parameters": {
            name: _plain(estimator, name, value)
            for name, value in estimator.get_params(deep=False).items()
        },
        "labels": state.classes.dtype.str,
        "source": None if source is None else source.settings(),
        "checksums": {name: _crc(array) for name, array in arrays.items()},
        **more,
    }
    header["crc32"] = _crc_of_text(json.dumps(header))
    metadata = {"narrows": json.dumps(header)}  # a second entry would make their order random
    with replacing(path) as temporary:
        try:
            save_file(arrays, temporary, metadata=metadata)
        except SafetensorError as error:
            raise OSError(f"{os.fspath(path)}: cannot be written ({error}).") from None


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save` or the command line wrote.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator : narrows estimator
        Ready to transform, to be merged, and to go on learning.

    Raises
    ------
    DataError
        Not a model, a damaged one, one of a newer format, or one whose arrays or parameters are
        none that a fit leaves.
    OSError
        The file cannot be read.

    Notes
    -----
    **Cost**: the file is read once; what is worked out from the state waits until it is asked for.

    References
    ----------
    The format is that of `save`. Nothing is unpickled, so reading a file runs no code of it.

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
    estimator, _ = _load(path)
    if not isinstance(estimator._learnt.state, estimator._state_type):
        raise DataError(path, "a checkpoint before the fit was done; resume it first.")
    return estimator


def _load(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    with open(path, "rb"):
        pass  # a missing or unreadable file is an OSError that says so
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            header = _header(path, metadata)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise DataError(path, f"not a narrows model, or a damaged one ({error}).") from None
    if set(arrays) != set(header["checksums"]) or any(
        _crc(array) != header["checksums"][name] for name, array in arrays.items()
    ):
        raise DataError(path, "damaged: its contents do not match their checksums.")
    try:
        return _made(_estimator_class(path, header["estimator"]), header, arrays), header
    except (SchemaError, ParameterError) as error:
        raise DataError(
            path, f"damaged, or of another version: {error} Save the model again."
        ) from None


def _made(kind: Any, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Return the estimator that a header and arrays describe; SchemaError where they do not."""
    parameters = {name: _unplain(name, value) for name, value in header["parameters"].items()}
    check_known("parameters", parameters, kind._get_param_names())
    estimator = kind(**parameters)
    state = get(arrays, "state")
    checked(state, {"classes": Field("b i u f O", ("c",))})
    state["classes"] = _labels(state["classes"], header["labels"])
    given = set(state)
    learnt = Fitted(estimator._state_from(state))
    check_known("state", given, learnt.state.to_arrays())
    _check_parameters(estimator, learnt.state.n_features)
    estimator.n_features_in_ = learnt.state.n_features
    if header["source"] is not None:
        learnt.source = Source.of(header["source"], get(arrays, "source"))
    named = get(arrays, "input")
    if named:
        checked(named, {"names": Field("O", ("d",))})
        estimator.feature_names_in_ = named["names"]
    estimator._learnt = learnt
    names = estimator._column_names()
    if names is not None and len(names) != estimator.n_features_in_:
        raise SchemaError(
            f"names: expected those of {estimator.n_features_in_} columns, got {len(names)}."
        )
    return estimator


def _check_parameters(estimator: Any, n_features: int) -> None:
    """Raise where a parameter is out of range for the columns so far, and whatever may come."""
    try:
        estimator._check_parameters(n_features)
    except _ODD:
        try:
            estimator._check_parameters_alone()
        except _ODD as error:
            raise SchemaError(f"parameters: {error!s:.300}") from None


def _labels(classes: np.ndarray, told: str) -> np.ndarray:
    """Return labels in the type that they had."""
    if classes.dtype.kind == "O":
        width = re.fullmatch(r"[<>]U(\d{1,9})", told)
        longest = max(map(len, classes), default=0)
        most = longest + _WIDE // (len(classes) or 1)
        if told == "|O" or (width and longest <= int(width[1]) <= most):
            return classes.astype(told)
    elif told == classes.dtype.str:
        return classes
    raise SchemaError(f"labels: expected the type of {classes.dtype} in classes, got {told!r:.20}.")


def _header(path: str | os.PathLike[str], metadata: Mapping[str, str]) -> dict[str, Any]:
    if "narrows" not in metadata:
        raise DataError(path, "not a narrows model: it has no header of one.")
    try:
        header = json.loads(metadata["narrows"])
        check_plain(header, {"format": int, "library": str, "crc32": int}, "header")
        checksum = header.pop("crc32")
        written = json.dumps(header)
    except (ValueError, RecursionError):
        raise DataError(path, "damaged: its header cannot be read.") from None
    if header["format"] > FORMAT:
        raise DataError(
            path,
            f"format {header['format']} of narrows {header['library']}, but this version "
            f"reads up to format {FORMAT}. Use a newer narrows.",
        )
    if checksum != _crc_of_text(written):
        raise DataError(path, "damaged: its header does not match its checksum.")
    try:
        check_plain(header, _HEADER, "header")
    except SchemaError as error:
        raise DataError(path, f"damaged, or of another version: {error}") from None
    return header


def _estimator_class(path: str | os.PathLike[str], name: str) -> Any:
    found = METHODS.get(name)
    if found is None:
        raise DataError(path, f"a model of {name!r}, a method this version does not have.")
    return found


def _plain(estimator: Any, name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype != object:
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, list | tuple):
        return [_plain(estimator, name, entry) for entry in value]
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"save: {type(estimator).__name__}.{name} is {value!r}, which has no plain form in a "
        "file. Use numbers, text, None or an array."
    )


def _unplain(name: str, value: Any) -> Any:
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
