"""What a cluster has to offer, so that everything else here works on it: map, and reduce."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

Function = Callable[..., Any]


class Engine:
    """Where functions of parts run: here in this process; on a cluster, where the data are.

    The engine of a cluster overrides all methods. Functions and parts have to be such that they can
    be sent; a function is sent once to each worker if it is large.
    """

    def map(self, function: Function, parts: Sequence[Any]) -> list[Any]:
        """Return the values of a function of each part.

        A part may be a table in many parts; the function is then called for each of these, and
        there are as many values.
        """
        return [function(part) for part in parts]

    def map_reduce(
        self,
        function: Function,
        parts: Sequence[Any],
        add: Function,
        done: Function | None = None,
    ) -> Any:
        """Return the sum of the values of a function of each part, always added in the same order.

        Values stay where they are, and only the sum comes here. `done`, if any, is called once
        for each part, with anything.
        """
        values = self.map(function, parts)
        if done:
            for value in values:
                done(value)
        return reduce(add, values)

    def head(self, data: Any, n: int = 1) -> Any:
        """Return data with at least their first n samples, or any one if n is 1.

        And less if that is cheap.
        """
        return data
