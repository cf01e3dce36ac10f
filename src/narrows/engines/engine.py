"""What a cluster has to offer, so that everything else here works on it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

Function = Callable[..., Any]


class Piece(NamedTuple):
    """The sum over all parts, of neighbouring features: the result is of a `PartialState`."""

    first: int
    nbytes: int
    result: Any


class Engine:
    """Where functions run: here in this process; on a cluster, where the data are.

    What a function returns stays on the cluster, as a *result*: a handle that later calls accept in
    the place of the value. In this process it is the value. Functions and arguments have to be such
    that they can be sent. An engine of a cluster overrides `map`, `reduce`, `broadcast` and
    `collect`.

    Attributes
    ----------
    name : str
        The module that a user calls, for messages.
    """

    name = "narrows"

    def map(self, function: Function, *iterables: Iterable[Any]) -> list[Any]:
        """Return the results of a function of each item, as the built-in `map`.

        An item may be a table in many parts; the function is then called for each of these, and
        there are as many values.
        """
        return [function(*items) for items in zip(*iterables, strict=False)]

    def reduce(self, add: Function, results: Sequence[Any]) -> Any:
        """Return the result of adding up results, always in the same order."""
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

    def sum(
        self, add: Function, seen: Function, function: Function, *iterables: Iterable[Any]
    ) -> list[Piece]:
        """Return the sum of the states that a function returns for each item: a `PartialState`.

        `seen` is called with the number and the features of each part. An engine that can should
        limit how many states exist at a time, and their size.
        """
        parts = self.map(function, *iterables)
        for k, features in enumerate(self.collect(self.map(attrgetter("features"), parts))):
            seen(k, features)
        return [Piece(0, 0, self.reduce(add, parts))]
