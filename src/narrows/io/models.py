"""Named arrays for safetensors: C-contiguous, and text as bytes.

An array of text ``name`` is stored as ``name.text``, its UTF-8 bytes, and ``name.ends``, the end of
each piece.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from narrows.errors import DataError, ParameterError
from narrows.io.atomic import replacing
from narrows.io.source import Source, vectoriser_of
from narrows.methods.base import Estimator, Fitted, lock_of
from narrows.methods.methods import METHODS
from narrows.solve.schema import Field, SchemaError, check_known, check_plain, checked
from narrows.state.class_stats import ClassStats
from narrows.state.labels import by_class
from narrows.state.mapped import Mapped
from narrows.text import HashedTfidf, Tfidf, Vectoriser

_UTF8 = "utf-8", "surrogatepass"  # labels may have half a surrogate pair
_TEXT, _ENDS = Field("u1", ("t",)), Field("i8", ("n",))


def put(arrays: dict[str, np.ndarray], group: str, more: Mapping[str, np.ndarray]) -> None:
    """Add arrays, with names that begin with `group`.

    They are made C-contiguous: safetensors writes the memory of any array as if it were.
    """
    for name, array in more.items():
        key = f"{group}.{name}"
        if array.dtype.kind in "OU":
            pieces = [str(piece).encode(*_UTF8) for piece in array]
            arrays[f"{key}.text"] = np.frombuffer(b"".join(pieces), dtype=np.uint8)
            arrays[f"{key}.ends"] = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
        else:
            arrays[key] = np.asarray(array, order="C")


def get(arrays: Mapping[str, np.ndarray], group: str) -> dict[str, np.ndarray]:
    """Return the arrays of `group` by the names that `put` was given; text as str objects."""
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
                raise SchemaError(
                    f"{group}.{name}.ends: expected the ends of its text, got others."
                )
            try:
                pieces = [text[a:b].decode(*_UTF8) for a, b in pairwise(starts.tolist())]
            except UnicodeDecodeError:
                raise SchemaError(f"{group}.{name}: expected UTF-8, got other bytes.") from None
            found[name] = np.array(pieces, dtype=object)
        else:
            found[name] = array
    return found


ESTIMATOR = {
    "estimator": str,  # name of its class
    "parameters": dict,  # those of its constructor
    "labels": str,  # type of the class labels, as NumPy writes it
    "source": (dict, None),  # how files became columns: `Source.settings`
}
_STEP = {"name": str, "estimator": str}  # and of an estimator the rest of `ESTIMATOR`
_PASSES = "passthrough"
_VECTORISERS = {each.__name__ for each in (Tfidf, HashedTfidf)}
_PARAMETER_ERRORS = ValueError, TypeError, ArithmeticError, RecursionError
_SPARE_CHARACTERS = 1 << 27  # that the type of labels may have beyond the longest label, in all


# -- writing -------------------------------------------------------------------------------------


def described(estimator: Any, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the entries of the header that describe a fitted estimator, and put in its arrays."""
    fitted = estimator._fitted
    put(arrays, "state", estimator._to_save().to_arrays())
    if hasattr(estimator, "feature_names_in_"):
        put(arrays, "input", {"names": estimator.feature_names_in_})
    if fitted.source is not None:
        put(arrays, "source", fitted.source.to_arrays())
    return {
        **constructor(estimator),
        "labels": fitted.state.classes.dtype.str,
        "source": None if fitted.source is None else fitted.source.settings(),
    }


def constructor(estimator: Any) -> dict[str, Any]:
    """Return the entries that describe an estimator that may be unfitted."""
    parameters = estimator.get_params(deep=False).items()
    return {
        "estimator": type(estimator).__name__,
        "parameters": {name: _plain(estimator, name, value) for name, value in parameters},
    }


def steps_described(
    steps: list[tuple[str, Any]], arrays: dict[str, np.ndarray], locks: ExitStack
) -> list[dict[str, Any]]:
    """Return the entries of the header that describe fitted steps, and put in their arrays.

    Estimators are locked until `locks` are released.
    """
    found = []
    for k, (name, step) in enumerate(steps):
        own: dict[str, np.ndarray] = {}
        entry: dict[str, Any] = {"estimator": _PASSES}
        if not is_passing(step):
            check_is_fitted(step)
            entry = {"estimator": type(step).__name__}
        if isinstance(step, Estimator):
            locks.enter_context(lock_of(step))
            entry = described(step, own)
        elif isinstance(step, Vectoriser):
            put(own, "tfidf", step.to_arrays())
        found.append({"name": name, **entry})
        arrays |= {f"step{k}.{key}": array for key, array in own.items()}
    return found


def is_passing(step: Any) -> bool:
    """Whether a step of a pipeline does nothing."""
    return step is None or (isinstance(step, str) and step == _PASSES)


def _plain(estimator: Any, name: str, value: Any) -> Any:
    """Return the value of a parameter as JSON has it."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return {"array": value.tolist(), "dtype": value.dtype.str}
    given = by_class(value)
    if given is not None:
        pairs = [_plain(estimator, name, pair) for pair in given.items()]
        if all(map(_is_pair, pairs)):
            return {"pairs": pairs}
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


def of_steps(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Return the pipeline, or the vectoriser, of a header and arrays; else SchemaError."""
    steps: list[tuple[str, Any]] = []
    left = dict(arrays)
    for k, entry in enumerate(header["steps"]):
        start = f"step{k}."
        names = [name for name in left if name.startswith(start)]
        own = {name.removeprefix(start): left.pop(name) for name in names}
        check_plain(entry, _STEP, f"steps[{k}]")
        kind, name = entry["estimator"], entry["name"]
        step: Any
        if kind in METHODS:
            check_plain(entry, ESTIMATOR, f"steps[{k}]")
            step = of_estimator(entry, own)
            if not step._is_finished(step._fitted.state):
                raise SchemaError(f"steps[{k}]: expected a finished fit, got another.")
        elif kind in _VECTORISERS:
            step = vectoriser_of(get(own, "tfidf"))
            if type(step).__name__ != kind:
                raise SchemaError(f"steps[{k}]: expected {kind}, got {type(step).__name__}.")
        else:
            step = _PASSES
        steps.append((name, step))
    check_known("arrays", left, ())
    if not header["pipeline"]:
        if len(steps) != 1 or not isinstance(steps[0][1], Vectoriser):
            raise SchemaError("steps: expected one vectoriser, got others.")
        return steps[0][1]
    pipeline = Pipeline(steps)
    try:
        pipeline._validate_names([name for name, _ in steps])
    except ValueError as error:
        raise SchemaError(f"steps: {error!s:.300}") from None
    estimators = [step for _, step in steps if not is_passing(step)]
    if not estimators or any(isinstance(step, Vectoriser) for step in estimators[1:]):
        raise SchemaError("steps: expected a vectoriser in front of all estimators, if any.")
    return pipeline


# arrays of 0.2, which multiplied float32 samples in single precision
_OF_0_2 = ("cross_single", "cross_short_rows", "cross_short_weight")


def of_estimator(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Return the estimator that a header and arrays describe; SchemaError where they do not."""
    estimator = constructed(header)
    state = get(arrays, "state")
    checked(state, {"classes": Field("b i u f O", ("c",))})
    state["classes"] = _as_type(state["classes"], header["labels"])
    names_in_file = {name for name in state if not name.endswith(_OF_0_2)}
    fitted = Fitted(estimator._state_from(state))
    if not isinstance(fitted.state, ClassStats | Mapped):  # which check their own
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


def constructed(header: Mapping[str, Any]) -> Any:
    """Return the unfitted estimator that `constructor` described; SchemaError where it does not."""
    kind = METHODS[header["estimator"]]
    parameters = {name: _from_plain(name, value) for name, value in header["parameters"].items()}
    check_known("parameters", parameters, kind._get_param_names())
    return kind(**parameters)


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
    if "pairs" in value:
        check_plain(value, {"pairs": list}, name)
        if all(_is_pair(pair) for pair in value["pairs"]):
            return dict(value["pairs"])
        raise SchemaError(f"{name}: expected pairs of a label and a number, got others.")
    check_plain(value, {"array": (list, bool, int, float), "dtype": str}, name)
    try:
        if re.fullmatch("[<>|][biuf][1248]", value["dtype"]):
            return np.array(value["array"], dtype=value["dtype"])
    except (ValueError, TypeError, OverflowError):
        pass
    raise SchemaError(f"{name}: expected an array of numbers, got another one.")


def _is_pair(pair: Any) -> bool:
    """Whether this is a label and a number."""
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], bool | int | float | str)
        and isinstance(pair[1], int | float)
        and not isinstance(pair[1], bool)
    )


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
        never been saved. With ``keep=0``, the estimator drops the samples that it
        still has; their sums stay.
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
    known = {*METHODS, _PASSES, *_VECTORISERS} if "steps" in header else set(METHODS)
    for each in header.get("steps", [header]):
        name = each.get("estimator") if isinstance(each, dict) else None
        if not isinstance(name, str) or name not in known:
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
