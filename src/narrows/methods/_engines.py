"""`fit` and `transform` hand a collection of another library, such as Dask, to its engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import Any


def engine_of(X: Any) -> Any:
    """Return the engine of a collection, by `narrows.engines.ENGINES`; None for other samples.

    The library is recognised by the name of its module and is not imported.
    """
    kind = type(X)  # a `dask.delayed.Delayed` seems to have any attribute; its type does not
    if not (hasattr(kind, "shape") or hasattr(kind, "columns")):
        return None
    # by its name, since imports only point down
    engines = import_module("narrows.engines").ENGINES
    engine = engines.get(kind.__module__.partition(".")[0])
    return None if engine is None else import_module(engine)


def accepts_collections(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let `fit` or `transform` hand a collection to its engine."""

    @wraps(method)
    def either(self: Any, X: Any, *args: Any, **named: Any) -> Any:
        engine = engine_of(X)
        if engine is None:
            return method(self, X, *args, **named)
        if method.__name__ == "transform":
            return engine.transform(self, X)
        given = signature(method).bind(self, X, *args, **named).arguments
        return engine.fit(self, (X, given.get("y"), given.get("sample_weight")))

    return either
