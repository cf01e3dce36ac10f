"""Collections of other libraries, which are known by their module: an engine takes those."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import Any

_ENGINES = "narrows.engines"  # by its name: this module imports nothing above it


def is_dask(X: Any) -> bool:
    """Whether X is a collection of dask, without loading that."""
    kind = type(X)  # of which Delayed has none: it says that it has whatever it is asked for
    return kind.__module__.startswith("dask") and hasattr(kind, "to_delayed")


def also_dask(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let `fit` or `transform` hand a collection of dask to `narrows.engines.dask`."""

    @wraps(method)
    def either(self: Any, X: Any, *args: Any, **named: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **named)
        engine = import_module(f"{_ENGINES}.dask")
        if method.__name__ == "transform":
            return engine.transform(self, X)
        given = signature(method).bind(self, X, *args, **named).arguments
        return engine.fit(self, (X, given.get("y"), given.get("sample_weight")))

    return either
