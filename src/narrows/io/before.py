"""States in files of narrows 0.3, as this version stores them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from narrows.solve.codec import parts_from, parts_of, taken

# in names of arrays that this version has not: digits lost in subtractions, and a loss
_GONE = "noise", "cross_rounding", "softmax"
_WAITING = "_values"  # at the end of names: entries of a table that were not sorted in


def as_now(state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of a state as this version stores them; SchemaError where they are odd."""
    state = {name: a for name, a in state.items() if not any(old in name for old in _GONE)}
    for name in [name.removesuffix(_WAITING) for name in state if name.endswith(_WAITING)]:
        if f"{name}_shape" in state:
            _sort_in(state, name)
    return state


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
