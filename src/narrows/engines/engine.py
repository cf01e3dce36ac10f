"""What a cluster has to offer, so that everything else here works on it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Function = Callable[..., Any]


class Engine:
    """Where functions run: here in this process; on a cluster, where the data are.

    What a function returns stays on the cluster, as a *result*: a handle that later calls accept in
    the place of the value. In this process it is the value. Functions and arguments have to be such
    that they can be sent. An engine of a cluster overrides `map`, `reduce`, `broadcast` and
    `collect`.
    """

    def map(self, function: Function, *iterables: Iterable[Any]) -> list[Any]:
        """Return the results of a function of each item, as the built-in `map`.

        An item may be a table in many parts; the function is then called for each of these, and
        there are as many values.
        """
        return [function(*items) for items in zip(*iterables, strict=False)]

    def reduce(self, add: Function, results: list[Any], seen: Function | None = None) -> Any:
        """Return the value of the sum of results, which are always added in the same order.

        `seen`, if any, is called with the number and the `features` of each value, in their order.
        The list is not used afterwards: an engine may empty it, so that it can free results.
        """
        if seen is not None:
            for k, value in enumerate(results):
                seen(k, value.features)
        return functools.reduce(add, results)

    def broadcast(self, thing: Any) -> Any:
        """Return a result whose value is a thing of this process, sent once to each worker."""
        return thing

    def collect(self, results: Sequence[Any]) -> list[Any]:
        """Return the values of results."""
        return list(results)

    def head(self, data: Any, n: int = 1) -> Any:
        """Return data with at least their first n samples, or any one if n is 1.

        And less if that is cheap.
        """
        return data
