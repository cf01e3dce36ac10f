"""What a cluster has to offer, so that everything else here works on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from narrows.engines.learn import add_parts

Function = Callable[..., Any]


class Piece(NamedTuple):
    """The sum over all parts, of neighbouring features: the result is of a `learn.Part`."""

    first: int
    nbytes: int
    result: Any


class Engine(ABC):
    """A cluster on which functions run where the data are.

    What a function returns stays on the cluster, as a *result*: a handle that later calls accept in
    the place of the value. Functions and arguments have to be such that they can be sent.

    Attributes
    ----------
    name : str
        The module that a user calls, for messages.
    keeps_results : bool
        Whether `map` accepts results of other calls, which are still there.
    """

    name: ClassVar[str]
    keeps_results: ClassVar[bool] = True

    @abstractmethod
    def map(self, function: Function, *iterables: Iterable[Any]) -> list[Any]:
        """Return the results of a function of each item, as the built-in `map`.

        An item may be a table in many parts; the function is then called for each of these, and
        there are as many values.
        """

    @abstractmethod
    def reduce(self, add: Function, results: Sequence[Any]) -> Any:
        """Return the result of adding up results, always in the same order."""

    @abstractmethod
    def broadcast(self, thing: Any) -> Any:
        """Return a result whose value is a thing of this process, sent once to each worker."""

    @abstractmethod
    def collect(self, results: Sequence[Any]) -> list[Any]:
        """Return the values of results."""

    def head(self, data: Any) -> Any:
        """Return data with at least the first of their samples, and less if that is cheap."""
        return data

    def sum(
        self, add: Function, seen: Function, function: Function, *iterables: Iterable[Any]
    ) -> list[Piece]:
        """Return the sum of the states that a function returns for each item, each in a `Part`.

        `seen` is called with the number and the features of each part. An engine that can should
        limit how many states exist at a time, and their size (`tree.py`).
        """
        parts = self.map(function, *iterables)
        for k, features in enumerate(self.collect(self.map(attrgetter("features"), parts))):
            seen(k, features)
        return [Piece(0, 0, self.reduce(partial(add_parts, add), parts))]
