"""How the features of a model are called: functions that classes take as methods."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np

from narrows.errors import ParameterError
from narrows.methods.parameters import parameter_of_features
from narrows.moments.labels import are_text, union

_DIGITS = re.compile("[0-9]{1,15}")  # of an index


def method_of(model: Any) -> str:
    """Return the name of the method."""
    return vars(model).get("_method", type(model).__name__)


def predictor(model: Any) -> Any:
    """Return what predicts: the model, or what was fitted to the features that it selects."""
    then = model._learned.then
    return model if then is None else then.estimator


def source_of(model: Any) -> Any:
    """Return how files became features, for a model that was fitted to files; else None."""
    learned = vars(model).get("_learned")
    return None if learned is None else learned.source


def labels_of(model: Any) -> np.ndarray:
    """Return the labels of a model, sorted, also those that only may occur; none of numbers."""
    learned, solution = model._learned, model._learned.solution
    if learned.state is not None:
        labels = learned.moments.classes
        return labels if learned.known is None else union(labels, learned.known)
    if solution is None or solution.classes is None:
        return np.empty(0, np.int64)
    return solution.classes.labels


def has_text_labels(model: Any) -> bool | None:
    """Return whether the classes of a model are text; None without classes."""
    labels = labels_of(predictor(model))
    return are_text(labels) if len(labels) else None


def column_names(model: Any) -> np.ndarray | None:
    """Return the names of the features in the data, of shape (n_features,), if any."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and source_of(model) is not None:
        names = source_of(model).names
    return names


def file_columns(model: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a file or table to read, if they have names.

    Those of which an encoder makes no features are not read.
    """
    names, source = getattr(model, "feature_names_in_", None), source_of(model)
    if source is not None:
        spare = set(source.spare)
        return source.columns and tuple(name for name in source.columns if name not in spare)
    return None if names is None else tuple(names)


def targets_of(model: Any) -> list[str]:
    """Return the names of the targets of a model of numbers; y, or y0, y1, … without names."""
    names, n = getattr(source_of(model), "target", None), model._learned.n_targets
    if names is not None and len(names) == n:
        return list(names)
    return [f"y{k}" for k in range(n)] if n > 1 else ["y"]


def listed(model: Any) -> list[Any]:
    """Return the features that a parameter lists, as they were given; none where it does not."""
    parameter = parameter_of_features(model.__class__)
    given: Any = getattr(model, parameter) if parameter else None
    return list(given) if np.ndim(given) == 1 else []


def listed_indices(model: Any, n_features: int) -> list[int]:
    """Return the indices of the features that a parameter lists by indices or names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and model.__sklearn_is_fitted__():
        names = column_names(model)
    known = _numbered(names)
    return [_index(model, each, known, n_features) for each in listed(model)]


def use_names(model: Any, source: Any) -> None:
    """Replace names that a parameter lists by indices, before a fit to files or tables.

    What is no name may be that of a column of a table, which stands for its first feature, or an
    index in digits.
    """
    given = listed(model)
    if any(isinstance(each, str) for each in given):
        known = _numbered(None if source is None else source.names)
        columns = _first_features(getattr(source, "encoder", None))

        def index_or_name(each: Any) -> Any:
            if not isinstance(each, str) or each in known:
                return each
            if each in columns:
                return columns[each]
            return int(each) if _DIGITS.fullmatch(each) else each

        found = map(index_or_name, given)
        indices = [_index(model, each, known, len(known) or sys.maxsize) for each in found]
        model.set_params(**{parameter_of_features(model.__class__): indices})


def _first_features(encoder: Any) -> dict[str, int]:
    """Return the index of the first feature of each column of an encoder that has some."""
    if encoder is None:
        return {}
    columns, first = np.unique(encoder.groups_, return_index=True)
    names = encoder.feature_names_in_[columns].tolist()
    return dict(zip(names, first.tolist(), strict=True))


def _numbered(names: np.ndarray | None) -> dict[str, int]:
    """Return the index of each name."""
    return {} if names is None else {name: k for k, name in enumerate(names.tolist())}


def _index(model: Any, each: Any, known: dict[str, int], n_features: int) -> int:
    """Return the index of a feature from its index or its name."""
    is_name, parameter = isinstance(each, str), parameter_of_features(model.__class__)
    if is_name and each in known:
        return known[each]
    if not isinstance(each, bool) and isinstance(each, Integral) and 0 <= int(each) < n_features:
        return int(each)
    what = "names" if is_name and known else "indices"
    of = "features" if n_features == sys.maxsize else f"{n_features} features"
    more = "" if known or not is_name else ", since they have no names"
    near = get_close_matches(each, known, 1) if is_name else []
    hint = f"Did you mean {near[0]}?" if near else f"Use {what} that the data have."
    raise ParameterError(
        f"expected `{parameter}` to have {what} of the {of}{more}, got {each!r}. {hint}"
    )
