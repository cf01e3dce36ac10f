"""Saving and loading of estimators, pipelines and checkpoints."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from narrows.errors import DataError, ParameterError, RangeError
from narrows.io.atomic import Version
from narrows.io.before import as_now
from narrows.io.container import (
    ENCODER,
    ESTIMATOR,
    FORMAT,
    FORMAT_OF_STEPS,
    MAKERS,
    OLD,
    PASSES,
    SOLVED,
    STEP,
    THEN,
    VECTORISERS,
    get,
    labels_in,
    names_in,
    put,
    read_file,
    read_header,
    solution_in,
    then_in,
    write_file,
)
from narrows.io.source import StoredVectoriser, encoder_of, source_of_step, vectoriser_of
from narrows.methods.base import (
    Reducer,
    check_alone,
    most_passes,
    n_kept,
    names_of,
    reducer_of,
    remember,
    settle,
    solution_of,
    state_of,
    what_is_lost,
)
from narrows.methods.describe import shown_of_directions
from narrows.methods.learned import Learned, lock_of
from narrows.methods.methods import METHODS
from narrows.methods.names import column_names, labels_of, targets_of
from narrows.methods.parameters import copied, same
from narrows.methods.plan import Data
from narrows.methods.then import Then
from narrows.moments.labels import by_class
from narrows.removed import RemovedError, without_removed
from narrows.solve.codec import SchemaError, check_known, check_plain, taken, to_arrays
from narrows.solve.solution import Solution
from narrows.text import FeatureMaker

_PARAMETER_ERRORS = ValueError, TypeError, ArithmeticError, RecursionError


# -- writing -------------------------------------------------------------------------------------
_SAMPLED = 1 << 20  # bytes of a file at each end that its fingerprint depends on
_OF_MAKERS = {"texts": "tfidf", "tables": "table"}  # what their arrays are called
_MOST_LEARNED = 100  # fingerprints that a model remembers


def described(estimator: Any, arrays: dict[str, np.ndarray], solved: bool = True) -> dict[str, Any]:
    """Return the entries of the header that describe a fitted estimator, and put in its arrays.

    With `solved` also its solution, where there is one.
    """
    settle(estimator, estimator._learned)
    learned, more = estimator._learned, dict[str, Any]()
    if learned.state is not None:
        put(arrays, "state", learned.step.to_arrays(learned.state))
    found = _solution(estimator) if solved else None
    if found is not None:
        put(arrays, "solution", to_arrays(found))
    if hasattr(estimator, "feature_names_in_"):
        put(arrays, "input", {"names": estimator.feature_names_in_})
    if learned.known is not None:
        put(arrays, "known", {"labels": learned.known})
    if learned.source is not None:
        put(arrays, "source", learned.source.to_arrays())
    if learned.then is not None:
        own = {"chosen": learned.then.chosen}
        more["then"] = described(learned.then.estimator, own, solved)
        arrays |= {f"{THEN}{name}": array for name, array in own.items()}
    numeric, at_once = estimator._takes_numbers, learned.state is None
    return {
        **constructor(estimator),
        "labels": labels_of(estimator).dtype.str,
        "source": None if learned.source is None else learned.source.settings(),
        "n_features": int(estimator.n_features_in_),
        "needs_y": bool(estimator._needs_y),
        "targets": targets_of(estimator) if numeric else None,
        "directions": shown_of_directions(estimator),
        "kept": n_kept(estimator),
        "lost": what_is_lost(estimator),
        "score": getattr(estimator, "score_", None),
        "size": solution_of(estimator).width if at_once and not estimator._selects else None,
        **more,
    }


def _solution(estimator: Any) -> Solution | None:
    """Return the solution that a file has; None where there is none yet, or no room for it."""
    try:
        reducer_of(estimator)
        found = solution_of(estimator, calibrated=True)
    except (ValueError, MemoryError):
        return None
    predicts = found.rule is not None
    if estimator._takes_numbers and not (estimator._selects or predicts or found.taken is not None):
        return None
    return found if estimator._learned.state is not None else estimator._learned.solution


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
        entry: dict[str, Any] = {"estimator": PASSES}
        if not is_passing(step):
            check_is_fitted(step)
            entry = {"estimator": type(step).__name__}
            if entry["estimator"] in METHODS:
                locks.enter_context(lock_of(step))
                entry = described(step, own)
            else:
                put(own, _OF_MAKERS[step.takes], step.to_arrays())
        found.append({"name": name, **entry})
        arrays |= {f"step{k}.{key}": array for key, array in own.items()}
    return found


def is_passing(step: Any) -> bool:
    """Whether a step of a pipeline does nothing."""
    return step is None or (isinstance(step, str) and step == PASSES)


def _plain(estimator: Any, name: str, value: Any) -> Any:
    """Return the value of a parameter as JSON has it."""
    if name != "priors" and hasattr(value, "to_list"):  # of pandas; a Series of priors has classes
        value = value.to_list()
    if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
        value = value.tolist()
    if isinstance(value, np.ndarray):
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
        f"expected {name} to be numbers, text, None or an array, which "
        f"a model file can store, got {value!r}."
    )


# -- reading -------------------------------------------------------------------------------------


def of_steps(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Return the pipeline, vectoriser or encoder of a header and arrays; else SchemaError."""
    steps: list[tuple[str, Any]] = []
    left = dict(arrays)
    for k, entry in enumerate(header["steps"]):
        start = f"step{k}."
        names = [name for name in left if name.startswith(start)]
        own = {name.removeprefix(start): left.pop(name) for name in names}
        check_plain(entry, STEP, f"steps[{k}]")
        kind, name = entry["estimator"], entry["name"]
        step: Any
        if kind in METHODS:
            is_old = header["format"] in OLD
            check_plain(entry, ESTIMATOR if is_old else SOLVED, f"steps[{k}]")
            step = of_estimator(entry, own, is_old)
        elif kind in VECTORISERS:
            step = vectoriser_of(StoredVectoriser.of(get(own, "tfidf")))
            if type(step).__name__ != kind:
                raise SchemaError(f"steps[{k}]: expected {kind}, got {type(step).__name__}.")
        elif kind == ENCODER:
            step = encoder_of(get(own, "table"))
        else:
            step = PASSES
        steps.append((name, step))
    check_known("arrays", left, ())
    kinds = [entry["estimator"] for entry in header["steps"]]
    if not header["pipeline"]:
        if len(kinds) != 1 or kinds[0] not in MAKERS:
            raise SchemaError("steps: expected one vectoriser or encoder, got others.")
        return steps[0][1]
    names, pipeline = [name for name, _ in steps], Pipeline(steps)
    reserved = pipeline.get_params(deep=False)
    if len(set(names)) < len(names) or any("__" in name or name in reserved for name in names):
        raise SchemaError(f"steps: expected different names of steps, got {str(names)[:300]}.")
    kinds = [kind for kind in kinds if kind != PASSES]
    if not kinds or not MAKERS.isdisjoint(kinds[1:]):
        raise SchemaError("steps: expected a vectoriser or encoder in front of all estimators.")
    return pipeline


def of_estimator(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], is_old: bool = False
) -> Any:
    """Return the estimator that a header and arrays describe; SchemaError where they do not."""
    estimator, solution = constructed(header), None
    names, source = names_in(header, arrays)
    if is_old:
        header, state, solution, known = as_now(estimator, header, get(arrays, "state"))
    else:
        state, solution = get(arrays, "state"), solution_in(header, arrays)
        labels = labels_in(get(arrays, "known"), header["labels"])
        known = taken(labels, "labels", ("labels",), ("k",)) if labels else None
    state = labels_in(state, header["labels"])
    d, numeric, step, held = header["n_features"], header["targets"] is not None, None, None
    _check_parameters(estimator, d)
    if state:
        step, held = _state(estimator, state, Data(d, False, numeric), header.get("progress"))
        check_known("state", state, ())  # what was not taken
    elif solution is None or "progress" in header:
        raise SchemaError("state: expected one, or the solution of a finished fit, got none.")
    estimator.n_features_in_ = d
    if names is not None:
        estimator.feature_names_in_ = names
    learned = Learned(step, held, solution, source, known=known)
    learned.checked = copied(estimator.get_params(deep=False))
    estimator._learned = learned
    if solution is not None:
        _check_solution(estimator, solution)
    if "then" in header:
        if not estimator._selects:
            raise SchemaError("then: expected a method that selects features, got another.")
        learned.then = _then_of(header, arrays)
    names = column_names(estimator)
    if names is not None and len(names) != d:
        raise SchemaError(f"names: expected those of {d} features, got {len(names)}.")
    return estimator


def _state(
    estimator: Any, arrays: dict[str, np.ndarray], data: Data, progress: Any
) -> tuple[Any, Any]:
    """Return the step and the state of a model, or of a fit that is not finished."""
    number = None
    if isinstance(progress, dict) and progress.get("base") is None:
        check_plain(progress, {"passes": int}, "progress")
        number = progress["passes"]
    try:
        return state_of(estimator, arrays, data, number)
    except SchemaError:
        raise
    except ValueError as error:  # there is no plan for so many features
        raise SchemaError(f"state: {error!s:.300}") from None


def _then_of(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Then:
    """Return what predicts by selected features, of a header and arrays."""
    entry, own, chosen = then_in(header, arrays)
    if entry["estimator"] not in METHODS or "then" in entry:
        raise SchemaError(f"then: expected a method, got {entry['estimator']!r:.100}.")
    estimator = of_estimator(entry, own)
    if not hasattr(estimator, "predict"):
        raise SchemaError("then: expected a method that predicts, got another.")
    return Then(chosen, estimator)


def _check_solution(estimator: Any, found: Solution) -> None:
    """Raise SchemaError where a solution is not of the kind of an estimator and its state."""
    learned = estimator._learned
    fits = estimator._selects == (found.chosen is not None)
    if learned.state is None:
        fits = fits and (found.rule is not None or not hasattr(estimator, "predict"))
        fits = fits and (found.classes is not None or bool(estimator._takes_numbers))
    elif found.classes is not None:
        pairs = zip(_parts(found.classes), _parts(learned.classes), strict=True)
        fits = fits and all(same(a, b) for a, b in pairs)
    if not fits:
        raise SchemaError("solution: expected that of the estimator, got another one.")


def _parts(classes: Any) -> tuple[Any, ...]:
    return classes.labels, classes.counts, classes.n_labels


def constructed(header: Mapping[str, Any]) -> Any:
    """Return the unfitted estimator that `constructor` described; SchemaError where it does not."""
    kind = METHODS[header["estimator"]]
    given = without_removed(header["estimator"], header["parameters"])
    parameters = {name: _from_plain(name, value) for name, value in given.items()}
    check_known("parameters", parameters, names_of(kind))
    return kind(**parameters)


def _check_parameters(estimator: Any, n_features: int) -> None:
    """Raise SchemaError where a parameter is out of range for any number of features."""
    try:
        estimator._check_parameters(n_features)
    except _PARAMETER_ERRORS:  # more features may come
        try:
            check_alone(estimator)
        except _PARAMETER_ERRORS as error:
            raise SchemaError(f"parameters: {error!s:.300}") from None


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
    with suppress(ValueError, TypeError, OverflowError):
        if re.fullmatch("[<>|][biuf][1248]", value["dtype"]):
            return np.array(value["array"], dtype=value["dtype"])
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


# -- public --------------------------------------------------------------------------------------


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator, or a pipeline of these, to a file.

    An existing file is replaced only when the new one is complete.

    Parameters
    ----------
    estimator : narrows estimator, vectoriser, TableEncoder, or Pipeline of these
        Fitted. The whole state is saved, so that a loaded estimator continues to learn as if it had
        never been saved. With ``keep=0``, the estimator drops the samples that it
        still has; their sums stay.
    path : str or path-like
        The file, usually with the suffix ``.narrows``.

    Raises
    ------
    TypeError
        If the estimator, or a step of the pipeline, does not belong to narrows (classes that are
        derived from those of narrows do not), or has a parameter that cannot be stored.
    NotFittedError
        If the estimator is not fitted.
    DataError
        If another process writes the file at the same time.
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
    estimator : narrows estimator, vectoriser, TableEncoder, or Pipeline of these
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
    estimator, header = _read(path)
    if "progress" in header and not _is_finished(estimator, header["progress"]):
        raise DataError(
            path, "expected a model, got a checkpoint of an unfinished fit. Resume the fit first."
        )
    return estimator


def _is_finished(estimator: Any, progress: Any) -> bool:
    """Whether the state of a checkpoint is that of a model."""
    if not isinstance(progress, dict) or progress.get("base") is not None:
        return True
    if isinstance(estimator, Pipeline) or not isinstance(progress.get("passes"), int):
        return False  # of no fit that there can be
    return bool(progress["passes"] + 1 == most_passes(estimator, estimator.n_features_in_))


# -- for the command line ------------------------------------------------------------------------


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load an estimator; of a pipeline, its estimator, which then knows what is before it.

    Raises
    ------
    ParameterError
        The pipeline has several estimators, or none.
    """
    model = load(path)
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    steps = [step for step in steps if not is_passing(step)]
    maker = steps.pop(0) if isinstance(steps[0], FeatureMaker) else None
    if len(steps) != 1:
        got = " and ".join(type(step).__name__ for step in steps) or type(maker).__name__ + " alone"
        raise ParameterError(
            f"{os.fspath(path)}: expected a model of one method, got {got}. Use it in Python, with "
            "narrows.load."
        )
    (estimator,) = steps
    if maker is None:
        return estimator
    return remember(estimator, source_of_step(maker))


def save_checkpoint(
    estimator: Any,
    learned: Learned,
    path: str,
    progress: dict[str, Any],
    read: Version | None = None,
) -> None:
    """Save what was learned in the middle of a fit, and `progress`, ready for JSON."""
    copy = clone(estimator)
    if hasattr(estimator, "feature_names_in_"):
        copy.feature_names_in_ = estimator.feature_names_in_
    copy._learned, copy.n_features_in_ = learned, learned.n_features
    _write(copy, path, read, progress=progress)


def load_checkpoint(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return the estimator, with the state in the middle of a fit, and the progress."""
    estimator, header = _read(path)
    if "progress" not in header or "steps" in header:
        problem = "expected a checkpoint, got a finished model. There is nothing to resume."
        raise DataError(path, problem)
    return estimator, header["progress"]


def save_model(
    estimator: Any,
    path: str | os.PathLike[str],
    read: Version | None = None,
    run: dict[str, Any] | None = None,
    learned: Sequence[list[int]] = (),
) -> None:
    """Save a model, in place of the version that was read; `run` identifies what replaces it.

    `learned` has the fingerprints of its files.
    """
    more: dict[str, Any] = {} if run is None else {"finished": run}
    if learned:
        more["learned"] = list(learned)[-_MOST_LEARNED:]
    _write(estimator, path, read, **more)


def fingerprint(path: str) -> list[int] | None:
    """Return the size of a regular file, and a checksum of its beginning and end; else None."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        found = zlib.crc32(file.read(_SAMPLED))
        file.seek(max(0, size - _SAMPLED))
        return [size, zlib.crc32(file.read(_SAMPLED), found)]


def learned_by(path: str | os.PathLike[str]) -> list[list[int]]:
    """Return the fingerprints of the files that a model has learned last."""
    found = read_header(path)[0].get("learned")
    return [each for each in found if isinstance(each, list)] if isinstance(found, list) else []


def identity(path: str | os.PathLike[str]) -> tuple[int, dict[str, Any] | None]:
    """Return a checksum of a model, and the run that `save_model` stored in it."""
    header, checksum = read_header(path)
    return checksum, header.get("finished")


# -- writing -------------------------------------------------------------------------------------


def _write(
    estimator: Any, path: str | os.PathLike[str], read: Version | None = None, **more: Any
) -> None:
    """Write an estimator, or the steps of a pipeline, with more entries of the header."""
    arrays: dict[str, np.ndarray] = {}
    is_pipeline = isinstance(estimator, Pipeline)
    steps = estimator.steps if is_pipeline else [("", estimator)]
    for name, step in steps:
        known = METHODS.get(type(step).__name__)  # not a derived class, which `load` cannot find
        ours = known is type(step) or isinstance(step, FeatureMaker)
        if not (ours or (is_pipeline and is_passing(step))):
            what = f"step {name!r}" if is_pipeline else "it"
            advice = f"Save {what} by other means, and the steps of narrows here."
            if hasattr(type(step), "estimator_") and not is_pipeline:  # a Window
                advice = "Save its estimator_ instead."
            raise TypeError(
                f"expected an estimator of narrows, or a pipeline of these, got "
                f"{type(step).__name__}. {advice}"
            )
    if isinstance(estimator, Reducer):
        check_is_fitted(estimator)
        with lock_of(estimator):  # no other thread changes the state meanwhile
            solved = "progress" not in more
            header = {"format": FORMAT, **described(estimator, arrays, solved)}
            write_file(header, arrays, path, more, read)
        return
    with ExitStack() as locks:
        described_steps = steps_described(steps, arrays, locks)
        header = {"format": FORMAT_OF_STEPS, "pipeline": is_pipeline, "steps": described_steps}
        write_file(header, arrays, path, more)


# -- reading -------------------------------------------------------------------------------------


def _read(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return an estimator and its header."""
    header, arrays = read_file(path)
    try:
        if "steps" in header:
            return of_steps(header, arrays), header
        return of_estimator(header, arrays, header["format"] in OLD), header
    except RemovedError as error:
        raise DataError(path, str(error)) from None
    except (SchemaError, ParameterError, RangeError) as error:
        problem = f"damaged, or of another version: {error} Save the model again."
        raise DataError(path, problem) from None
