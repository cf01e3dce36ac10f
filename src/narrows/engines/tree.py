"""The sum of many states on a cluster: a tree of additions, cut by columns where it gets large."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from narrows.engines.features import Features

LIMIT = 100_000_000  # bytes of one piece of a state


class Part(NamedTuple):
    """The state of a part, or of several, or of some columns of these.

    `features` are those of the rows of one part, and None where it has no rows.
    """

    state: Any
    features: Features | None = None


class _Node:
    """The sum over a run of parts: pieces by their first column."""

    def __init__(self, level: int, index: int):
        self.level, self.index = level, index
        self.to_come = 0
        self.pieces: dict[int, Any] = {}
        self.sizes: dict[int, int] = {}


class TreeSum:
    """Adds up states, each in a `Part`, that a cluster makes of the parts of a data set.

    Parts are added two by two, then these sums two by two, always the same ones, so that the
    answer does not depend on which is there first. A sum of more than `limit` bytes is cut in two
    by columns, and each piece goes on by itself: no process ever has to hold a whole wide state.
    Only a few parts more than there are threads are begun at a time, so that the memory of the
    cluster does not grow with their number.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    add : callable
        Two states, of as many columns, to their sum.
    limit : int, optional
        Bytes of a piece; None where states cannot be cut.
    """

    def __init__(self, client: Any, add: Callable[[Any, Any], Any], limit: int | None = LIMIT):
        from distributed import as_completed

        self.client, self.add, self.limit = client, add, limit
        self.finished = as_completed(loop=client.loop)
        self.measured: dict[Any, tuple[_Node, int, Any]] = {}
        self.nodes: dict[tuple[int, int], _Node] = {}

    def of(
        self, parts: Sequence[Callable[[], Any]], done: Callable[[int, Features | None], Any]
    ) -> list[tuple[int, int, Any]]:
        """Return (first column, bytes, future of a `Part`) of the pieces of the sum, in order.

        Parameters
        ----------
        parts : sequence of callables
            Each begins the work on one part, and returns the future of its `Part`.
        done : callable
            Called with the number of a part and its features when its state is there.
        """
        counts = [len(parts)]
        while counts[-1] > 1:
            counts.append((counts[-1] + 1) // 2)
        at_once = 2 * max(1, sum(self.client.nthreads().values()))
        begun = running = 0
        while True:
            while begun < len(parts) and running < at_once:
                self._measure(_Node(0, begun), 0, parts[begun]())
                begun, running = begun + 1, running + 1
            future = next(self.finished)
            node, start, state = self.measured.pop(future)
            size, middle, features = future.result()
            node.to_come -= 1
            if self.limit is not None and size > self.limit and middle:
                for first, last in ((0, middle), (middle, None)):
                    self._measure(node, start + first, self._submit(_cut, state, first, last))
            else:
                node.pieces[start], node.sizes[start] = state, size
            if node.to_come:
                continue
            if not node.level:
                running -= 1
                done(node.index, features)
            top = self._whole(node, counts)
            if top is not None:
                return [(k, top.sizes[k], top.pieces[k]) for k in sorted(top.pieces)]

    def _whole(self, node: _Node, counts: list[int]) -> _Node | None:
        """Add a node to its neighbour if that is there; return the one that is the whole sum."""
        while node.level < len(counts) - 1:
            level, neighbour = node.level, node.index ^ 1
            if neighbour < counts[level]:
                other = self.nodes.pop((level, neighbour), None)
                if other is None:
                    self.nodes[level, node.index] = node
                else:
                    left, right = sorted((node, other), key=lambda each: each.index)
                    self._combine(left, right)
                return None
            node.level, node.index = level + 1, node.index // 2
        return node

    def _combine(self, left: _Node, right: _Node) -> None:
        both = _Node(left.level + 1, left.index // 2)
        starts = sorted({*left.pieces, *right.pieces})
        for start, stop in zip(starts, [*starts[1:], None], strict=True):
            halves = []
            for node in (left, right):
                first = max(k for k in node.pieces if k <= start)
                last = None if stop is None else stop - first
                whole = start == first and (stop is None or stop in node.pieces)
                halves += [node.pieces[first], None if whole else (start - first, last)]
            self._measure(both, start, self._submit(_sum, self.add, *halves, priority=1))

    def _measure(self, node: _Node, start: int, state: Any) -> None:
        node.to_come += 1
        future = self._submit(_measured, state, priority=2)
        self.measured[future] = node, start, state
        self.finished.add(future)

    def _submit(self, function: Callable[..., Any], *args: Any, priority: int = 1) -> Any:
        return self.client.submit(function, *args, priority=priority, pure=False)


def _measured(part: Part) -> tuple[int, int, Features | None]:
    """How many bytes a state takes, the column that has half of them before it, the features."""
    state = part.state
    return state.nbytes, state.middle() if hasattr(state, "cut") else 0, part.features


def _cut(part: Part, first: int, last: int | None) -> Part:
    return part._replace(state=part.state.cut(slice(first, last)))


def _sum(add: Callable[[Any, Any], Any], a: Part, of_a: Any, b: Part, of_b: Any) -> Part:
    one, other = (
        part.state if columns is None else part.state.cut(slice(*columns))
        for part, columns in ((a, of_a), (b, of_b))
    )
    width = max(one.n_features, other.n_features)
    one, other = (s if s.n_features == width else s.widen(width) for s in (one, other))
    return Part(add(one, other))
