"""What the header of a model file says of an estimator, or of the steps of a pipeline."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from narrows.methods._atomic import lock_of
from narrows.methods._base import Estimator, Fitted
from narrows.methods.methods import METHODS
from narrows.io.arrays import get, put
from narrows.io.source import Source, vectoriser_of
from narrows.state.priors import by_class
from narrows.solve.schema import Field, SchemaError, check_known, check_plain, checked
from narrows.text import HashedTfidf, Tfidf
from narrows.text.base import Vectoriser

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
    put(arrays, "state", fitted.state.to_arrays())
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


def is_known(name: Any, in_steps: bool) -> bool:
    """Whether this version has an estimator, or a step, of this name."""
    known = (*METHODS, _PASSES, *_VECTORISERS) if in_steps else tuple(METHODS)
    return isinstance(name, str) and name in known


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


def of_estimator(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Return the estimator that a header and arrays describe; SchemaError where they do not."""
    estimator = constructed(header)
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
