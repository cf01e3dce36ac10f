"""Entries of a model file: its solution, the names of its features, and what predicts behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from narrows.io.container import SOLVED, THEN, get, labels_in
from narrows.io.source import Source
from narrows.solve.codec import SchemaError, check_plain, taken
from narrows.solve.solution import Solution


def solution_in(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Solution | None:
    """Return the solution in a file; SchemaError where it does not fit, None where there is none.

    Of one that all samples were solved for at once, the file may have more directions.
    """
    found = get(arrays, "solution")
    if not found:
        return None
    solution, targets = Solution.of_arrays(labels_in(found, header["labels"])), header["targets"]
    fits, size = solution.n_features == header["n_features"], header["size"]
    if targets is not None:
        rule = solution.rule
        fits = fits and solution.classes is None
        fits = fits and (rule is None or len(rule.intercept) == len(targets))
    elif solution.rule is not None:
        fits = fits and solution.classes is not None
    if not fits or (size is not None and (solution.W is None or size > solution.W.shape[1])):
        raise SchemaError("solution: expected that of the model, got another one.")
    return solution


def names_in(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], is_applied: bool = False
) -> tuple[np.ndarray | None, Source | None]:
    """Return the names of features in a file, if there are any, and how files became features."""
    given, source = get(arrays, "input"), header["source"]
    names = taken(given, "names", ("O",), ("d",)) if given else None
    return names, None if source is None else Source.of(source, get(arrays, "source"), is_applied)


def then_in(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, np.ndarray], np.ndarray]:
    """Return the header and arrays of what predicts by selected features, and which these are."""
    entry, d = header["then"], header["n_features"]
    check_plain(entry, SOLVED, "then")
    own = {name.removeprefix(THEN): a for name, a in arrays.items() if name.startswith(THEN)}
    chosen = taken(own, "chosen", ("i8",), ("k",), {}, ("sorted",))
    if not 0 < len(chosen) == entry["n_features"] or not 0 <= chosen[0] <= chosen[-1] < d:
        raise SchemaError("then.chosen: expected the features of then, got others.")
    return entry, own, chosen
