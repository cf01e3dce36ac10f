"""Model files of narrows 0.3: their headers, states and solutions as this version has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from narrows.io.container import labels_in
from narrows.methods.plan import Pass
from narrows.moments.before import moments_of
from narrows.moments.maps import Presence, map_in
from narrows.removed import check_removed_state
from narrows.solve.codec import SchemaError, check_known, parts_from, parts_of, taken
from narrows.solve.solution import Classes, Rule, Solution

# in names of arrays that this version has not: digits lost in subtractions, and a loss
_GONE = "noise", "cross_rounding", "softmax"
_CHOSEN = "map_chosen", "map_width"  # of this version
_NONE = np.empty(0)
_WAITING = "_values"  # at the end of names: entries of a table that were not sorted in
# of a fit of all samples at once: the types and the shape of each array
_SOLVED = {
    "W": ("f8", "d k"), "eigenvalues": ("f8", "k"), "classes": ("labels", "c"),
    "counts": ("f8 >=0", "c"), "n_samples": ("i8 whole", ""), "more": ("i8 whole", ""),
    "alpha": ("f8 i8 >=0", ""), "coef": ("f8", "k c"), "intercept": ("f8", "c"),
    "mean_square": ("f8 >=0", ""), "centre": ("f8", "k"), "separating": ("i8 whole", ""),
}  # fmt: skip
_OPTIONAL = "coef", "intercept", "mean_square", "centre", "separating"


def as_now(
    estimator: Any, header: Mapping[str, Any], state: dict[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, np.ndarray], Solution | None, np.ndarray | None]:
    """Return header, state and solution of an estimator of 0.3 as this version stores them.

    And the labels that may occur, if classifiers were told.

    Parameters
    ----------
    estimator : narrows estimator
        Unfitted.
    header : dict
        The header of the estimator.
    state : dict of str to ndarray
        The arrays of its state.

    Raises
    ------
    SchemaError
        They are odd.
    RemovedError
        The state depends on what was removed.
    """
    check_removed_state(header["estimator"], state)
    state = labels_in(state, header["labels"])
    state = {name: a for name, a in state.items() if not any(old in name for old in _GONE)}
    for name in [name.removesuffix(_WAITING) for name in state if name.endswith(_WAITING)]:
        if f"{name}_shape" in state:
            _sort_in(state, name)
    solution, n_targets, known = None, 0, _registered(state)
    if "more" in state:
        solution, state = _solved(state, bool(estimator._takes_numbers)), {}
        if getattr(estimator, "solver", "") in ("pca", "gsvd"):  # which have no ridge
            solution = replace(solution, alpha=0.0)
        d = solution.n_features
        n_targets = 0 if solution.rule is None else len(solution.rule.intercept)
    elif "presence" in state:
        if "n_targets" in state:
            n_targets = int(taken(dict(state), "n_targets", ("i8",), (), {}, ("whole",)))
        d, state = _of_moments(state)
    else:
        if "arena" in state:
            _as_regression(state)
        d = len(state.get("Q", state.get("S", _NONE)))  # a row for each feature
    numeric = n_targets > 0 or bool(estimator._takes_numbers)
    more = {"n_features": d, "targets": [""] * n_targets if numeric else None, "size": None}
    return {**header, **more}, state, solution, known


def _registered(state: dict[str, np.ndarray]) -> np.ndarray | None:
    """Return the labels that were registered, which are taken out of the dict; None without any."""
    if "registered" not in state:
        return None
    sizes: dict[str, int] = {}
    labels = taken({"classes": state.get("classes", _NONE)}, "classes", ("labels",), ("c",), sizes)
    registered = taken(state, "registered", ("b",), ("c",), sizes)
    return labels[registered] if registered.any() else None


def _solved(state: dict[str, np.ndarray], numeric: bool) -> Solution:
    """Return the solution of a fit of all samples at once."""
    left, sizes, found = dict(state), dict[str, int](), dict[str, Any]()
    for name, (words, shape) in _SOLVED.items():
        types, conditions = (
            tuple(w for w in words.split() if (w in (">=0", "whole")) == is_condition)
            for is_condition in (False, True)
        )
        if name in left or name not in _OPTIONAL:
            found[name] = taken(left, name, types, tuple(shape.split()), sizes, conditions)
    check_known("state", left, ())
    linear: Any = None
    W, values = found["W"], found["eigenvalues"]
    rule, separating = found.get("intercept"), found.get("separating")
    if rule is not None:
        linear = Rule(W @ found["coef"], rule) if "coef" in found else None
    of_all = float(values[: None if separating is None else int(separating)].sum())
    solution = Solution(
        len(W), values, W, rank=len(values), rule=linear, alpha=float(found["alpha"]),
        total=float(found.get("mean_square", of_all)) if numeric else of_all,
        separating=None if separating is None else int(separating),
        n_positive=int(found["more"]), n_iter=max(1, int(found["more"])),
        n_samples=int(found["n_samples"]),
        classes=None if numeric else Classes(found["classes"], found["counts"]),  # type: ignore[arg-type]
        loadings=found.get("coef") if numeric else None,
        centre=found.get("centre") if numeric else None,
    )  # fmt: skip
    return Solution.of_arrays(solution.to_named_arrays())  # checked


def _of_moments(state: dict[str, np.ndarray]) -> tuple[int, dict[str, np.ndarray]]:
    """Return the number of features, and the arrays of moments and of their map."""
    if "map_band" in state:
        try:
            _only_chosen(state)
        except (LookupError, ValueError, TypeError) as error:
            raise SchemaError(
                f"map: expected that of chosen features, got another ({error})."
            ) from None
    presence = bool(taken({"presence": state["presence"]}, "presence", ("b",)))
    map = map_in(state)
    moments = moments_of(state)
    if presence:
        map = Presence(moments[0].n_features)
    d = moments[0].n_features if map is None else map.n_features
    return d, Pass(map, n_folds=len(moments)).to_arrays(moments)


def _as_regression(state: dict[str, np.ndarray]) -> None:
    """Give a regression what 0.3 did not store, in place: times."""
    if "clock" in state and state["clock"].shape == (10,) and state.get("N", _NONE).ndim == 2:
        for name in ("N", "clock"):
            state[name] = np.append(state[name], state[name][:1] * 0, 0)
    several = state.get("several", _NONE)
    if several.dtype.kind == "i" and several.ndim == 0:
        del state["several"]
        if several >= 0:
            state["several"] = np.array(bool(several))


def _sort_in(state: dict[str, np.ndarray], name: str) -> None:
    """Add the entries of a table that waited to its other ones, in place."""
    shape = taken(state, f"{name}_shape", ("i8",), ("2",), {}, ("whole",))
    sizes = dict(zip(("c", "d"), shape.tolist(), strict=True))
    stored = sparse.csc_array(parts_from(state, f"{name}_", "d", "c", sizes), shape=shape)
    more = [
        taken(state, f"{name}_{part}", types, ("m",), sizes, conditions)
        for part, types, conditions in (
            ("values", ("f8",), ()), ("rows", ("i4",), ("<c",)), ("columns", ("i4", "i8"), ("<d",)),
        )
    ]  # fmt: skip
    before = stored.tocoo()
    every = map(np.concatenate, zip((before.data, before.row, before.col), more, strict=True))
    values, *places = every
    new = sparse.coo_array((values, tuple(places)), shape=shape).tocsc()
    state |= {f"{name}_shape": shape, **parts_of(new, f"{name}_")}


def _only_chosen(state: dict[str, np.ndarray]) -> None:
    """Leave out what samples had outside of the chosen features, their last coordinate, in place.

    The features were those of `SomeFeatures`, in a map that could have bands of others besides.
    """
    chosen = taken(state, "map_head", ("i8",), ("h",), {}, ("sorted",))
    h, d = len(chosen), len(state["map_band"])
    state |= {"map_chosen": chosen, "map_width": np.array(d), "cross_width": np.array(h)}
    for name in [name for name in state if name.startswith("map_") and name not in _CHOSEN]:
        del state[name]
    for start in ("sums_", "cross_"):
        if f"{start}indptr" in state:
            index, data = state[f"{start}indices"], state[f"{start}data"]
            ends = state[f"{start}indptr"]
            if start == "sums_":  # columns are the coordinates
                ends = ends[: h + 1]
                kept: Any = slice(0, int(ends[-1]))
                state["sums_shape"] = np.array([state["sums_shape"][0], h])
            else:
                kept = index < h
                ends = np.append(0, np.cumsum(kept))[ends]
            state |= {f"{start}indptr": ends}
            state |= {f"{start}indices": index[kept], f"{start}data": data[kept]}
    for name in ("sums", "cross_rows"):
        if name in state:
            state[name] = state[name][:, :h]
    if "cross" in state:  # the lower triangle, one column after the other
        state["cross"] = np.delete(state["cross"], np.cumsum(np.arange(h + 1, 0, -1)) - 1)
