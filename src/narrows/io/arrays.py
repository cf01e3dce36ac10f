"""Named arrays as safetensors takes them: text as bytes, everything C-contiguous."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from narrows.solve.schema import Field, SchemaError, checked

_UTF8 = "utf-8", "surrogatepass"  # half a pair is no Unicode, but may be a label all the same
_TEXT, _ENDS = Field("u1", ("t",)), Field("i8", ("n",))


def put(arrays: dict[str, np.ndarray], group: str, more: Mapping[str, np.ndarray]) -> None:
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


def get(arrays: Mapping[str, np.ndarray], group: str) -> dict[str, np.ndarray]:
    """Return the arrays of `group`, by the names they had before `put`; text as objects."""
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
