"""Named arrays for safetensors: C-contiguous, and text as bytes.

An array of text ``name`` is stored as ``name.text``, its UTF-8 bytes, and ``name.ends``, the end of
each piece.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from narrows.solve.schema import Field, SchemaError, checked

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
