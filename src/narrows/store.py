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

import errno
import fcntl
import json
import os
import re
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

import narrows
from narrows.errors import DataError, ParameterError
from narrows.families._base import Estimator, Learnt, lock_of
from narrows.read.source import Source
from narrows.solve.schema import Field, SchemaError, check_known, check_plain, checked

FORMAT = 1
_ROOM = re.compile(r"\..{1,40}\.[0-9a-f]{16}\.part", re.DOTALL)
_LOCK = "lock"
_HEADER = {
    "library": str, "estimator": str, "parameters": dict, "labels": str, "source": (dict, None),
    "checksums": dict,
}  # fmt: skip
_UTF8 = "utf-8", "surrogatepass"  # half a pair is no Unicode, but may be a label all the same
_TEXT, _ENDS = Field("u1", ("t",)), Field("i8", ("n",))
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
    shell._learnt = Learnt(state, source)
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
    _put(arrays, "state", state.to_arrays())
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        _put(arrays, "input", {"names": names})
    if source is not None:
        _put(arrays, "source", source.to_arrays())
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
    state = _get(arrays, "state")
    checked(state, {"classes": Field("b i u f O", ("c",))})
    state["classes"] = _labels(state["classes"], header["labels"])
    given = set(state)
    learnt = Learnt(estimator.state_from(state))
    check_known("state", given, learnt.state.to_arrays())
    _check_parameters(estimator, learnt.state.n_features)
    estimator.n_features_in_ = learnt.state.n_features
    if header["source"] is not None:
        learnt.source = Source.of(header["source"], _get(arrays, "source"))
    named = _get(arrays, "input")
    if named:
        checked(named, {"names": Field("O", ("d",))})
        estimator.feature_names_in_ = named["names"]
    estimator._learnt = learnt
    names = estimator.column_names()
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
            estimator.check_parameters()
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


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give the name of a new file that takes the place of `path` when the block succeeds.

    It is in the same folder, synced before it is renamed, and removed if the block fails. A
    path that is there and is no regular file (a pipe, a device) is never replaced: what was
    written is copied into it. What killed writers left in the same folder is removed first.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with room(tempfile.gettempdir(), "narrows") as folder:
            temporary = folder / "new"
            yield str(temporary)
            with temporary.open("rb") as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(target.parent))
    try:
        with room(target.parent, target.name) as folder:
            temporary = folder / "new"
            temporary.touch()
            mode = (target if target.exists() else temporary).stat().st_mode
            yield str(temporary)
            temporary.chmod(mode)  # whoever wrote it may have made it private
            _sync(temporary)
            os.replace(temporary, target)
    except OSError as error:
        if error.filename is None and error.errno is not None:  # a full disk, say
            error.filename = os.fspath(path)
        raise
    _sync(target.parent)


@contextmanager
def room(parent: str | os.PathLike[str], name: str) -> Iterator[Path]:
    """Give a hidden folder in `parent`, for what is written on behalf of `name`; remove it after.

    Libraries may write to yet another file beside the one that they were told. While the folder
    is in use a file in it is locked, and the lock ends with the process, however that ends. So
    a folder without a lock is what a killed process left; such ones in `parent` are removed first.
    """
    clear_unfinished(parent)

    def unused() -> Path:  # names have 255 bytes at most, and a character up to 4
        return Path(parent, f".{name[:40]}.{secrets.token_hex(8)}.part")

    made, lock = unused(), None
    try:
        while lock is None:
            made.mkdir(0o700)
            with suppress(FileNotFoundError):  # removed as one that was left, before it was locked
                lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
                if _locked(lock) is False or not os.fstat(lock).st_nlink:
                    os.close(lock)
                    lock = None
            made = made if lock is not None else unused()
        yield made
    finally:
        _remove(made)
        if lock is not None:
            os.close(lock)


def clear_unfinished(parent: str | os.PathLike[str]) -> None:
    """Remove the hidden folders of `room` whose processes are gone; what fails is left."""
    with suppress(OSError), os.scandir(parent) as entries:
        for left in [Path(entry) for entry in entries if _ROOM.fullmatch(entry.name)]:
            with suppress(OSError):
                if not left.is_symlink():
                    _clear(left)


def _clear(left: Path) -> None:
    try:
        lock = os.open(left / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        left.rmdir()  # if it is empty: its process was killed before it made the lock
        return
    try:
        if _locked(lock):
            _remove(left)
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last: if this is killed, the rest is known by it."""
    with suppress(OSError):
        for entry in folder.iterdir():
            if entry.name != _LOCK:
                entry.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _locked(descriptor: int) -> bool | None:
    """Lock a file if nobody else has; None where the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    found = getattr(narrows, name, None) if name in narrows.__all__ else None
    if not (isinstance(found, type) and issubclass(found, Estimator)):
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


def _put(arrays: dict[str, np.ndarray], group: str, more: Mapping[str, np.ndarray]) -> None:
    """Add arrays under `group`; text as bytes and ends, everything C-contiguous.

    safetensors writes the memory of a strided or Fortran-ordered array as if it were in C order.
    """
    for name, array in more.items():
        key = f"{group}.{name}"
        if array.dtype.kind in "OU":
            pieces = [str(piece).encode(*_UTF8) for piece in array]
            arrays[f"{key}.text"] = np.frombuffer(b"".join(pieces), dtype=np.uint8)
            arrays[f"{key}.ends"] = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
        else:
            arrays[key] = np.asarray(array, order="C")


def _get(arrays: Mapping[str, np.ndarray], group: str) -> dict[str, np.ndarray]:
    """Return the arrays of `group`, by the names they had before `_put`; text as objects."""
    found: dict[str, np.ndarray] = {}
    for key, array in arrays.items():
        name = key.removeprefix(f"{group}.")
        if name == key or name.endswith(".ends"):
            continue
        if name.endswith(".text"):
            name = name.removesuffix(".text")
            checked(arrays, {key: _TEXT, f"{group}.{name}.ends": _ENDS})
            ends = arrays[f"{group}.{name}.ends"]
            starts, text = np.append(0, ends), array.tobytes()
            if (starts[1:] < starts[:-1]).any() or starts[-1] != len(text):
                raise SchemaError(f"{group}.{name}.ends: expected ends of its text, got others.")
            try:
                pieces = [text[a:b].decode(*_UTF8) for a, b in pairwise(starts.tolist())]
            except UnicodeDecodeError:
                raise SchemaError(f"{group}.{name}: expected UTF-8, got other bytes.") from None
            found[name] = np.array(pieces, dtype=object)
        else:
            found[name] = array
    return found


def _crc_of_text(text: str) -> int:
    return zlib.crc32(text.encode())


def _crc(array: np.ndarray) -> int:
    return zlib.crc32(array.reshape(-1).view(np.uint8).data) if array.size else 0
