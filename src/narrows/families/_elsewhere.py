"""Collections of Dask, recognised without importing Dask."""

from __future__ import annotations

from typing import Any


def is_dask(X: Any) -> bool:
    """Whether X is a collection of Dask."""
    kind = type(X)  # a `Delayed` seems to have any attribute; its type does not
    return kind.__module__.startswith("dask") and hasattr(kind, "to_delayed")
