"""Reads the structure of an HDF5 file as a program: damage can crash the library, or stop it."""

from __future__ import annotations

import sys
from typing import Any

_CELLS = 1_000_000  # of a larger array of numbers only the places of its parts are read


def _look(thing: Any) -> None:
    """Read the attributes of an object, and what it holds."""
    for name in thing.attrs:
        thing.attrs[name]
    if hasattr(thing, "keys"):
        for each in thing.values():
            _look(each)
    elif thing.dtype.hasobject or thing.size <= _CELLS:
        thing[()]
    elif thing.chunks:
        for number in range(thing.id.get_num_chunks()):
            thing.id.get_chunk_info(number)


if __name__ == "__main__":
    import h5py

    with h5py.File(sys.argv[1], "r") as file:
        _look(file)
