"""States in files of narrows 0.3, as this version stores them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from narrows.solve.codec import SchemaError, parts_from, parts_of, taken

# in names of arrays that this version has not: digits lost in subtractions, and a loss
_GONE = "noise", "cross_rounding", "softmax"
_CHOSEN = "map_chosen", "map_width"  # of this version
_NONE = np.empty(0)
_WAITING = "_values"  # at the end of names: entries of a table that were not sorted in


def as_now(state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of a state as this version stores them; SchemaError where they are odd."""
    state = {name: a for name, a in state.items() if not any(old in name for old in _GONE)}
    for name in [name.removesuffix(_WAITING) for name in state if name.endswith(_WAITING)]:
        if f"{name}_shape" in state:
            _sort_in(state, name)
    if "arena" in state:
        _as_regression(state)
    if "map_band" in state:
        try:
            _only_chosen(state)
        except (LookupError, ValueError, TypeError) as error:
            raise SchemaError(
                f"map: expected that of chosen features, got another ({error})."
            ) from None
    return state


def _as_regression(state: dict[str, np.ndarray]) -> None:
    """Give a regression what 0.3 did not store, in place: times, and registered labels."""
    if "clock" in state and state["clock"].shape == (10,) and state.get("N", _NONE).ndim == 2:
        for name in ("N", "clock"):
            state[name] = np.append(state[name], state[name][:1] * 0, 0)
    state.setdefault("registered", np.zeros(len(state["classes"]), bool))
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
