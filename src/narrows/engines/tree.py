"""The sum of many states: a tree of additions, cut by features where it gets large."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from narrows.engines.engine import Piece
from narrows.engines.features import Features
from narrows.engines.learn import Part, add_parts

LIMIT = 100_000_000  # bytes of one piece of a state


class _Node:
    """The sum over a run of parts: pieces by their first feature."""

    def __init__(self, level: int, index: int):
        self.level, self.index = level, index
        self.unmeasured = 0
        self.pieces: dict[int, Piece] = {}


class TreeSum:
    """Adds up the states of the parts of a data set, on an engine of futures.

    Parts are added two by two, then these sums two by two, always the same ones, so that the
    answer does not depend on which is there first. A sum of more than `LIMIT` bytes is cut in two
    by features, and each piece goes on by itself: no process ever has to hold a whole wide state.
    Only a few parts run at a time, so that the memory of the cluster does not grow with their
    number.

    Parameters
    ----------
    submit : callable
        ``submit(function, *args, priority=…)`` returns a future.
    finished : distributed.as_completed
        Or what has its `add`, and is an iterator of futures as they are done.
    running : int
        How many parts run at a time.
    add : callable
        Two states, of as many features, to their sum.
    """

    def __init__(
        self, submit: Callable[..., Any], finished: Any, running: int, add: Callable[..., Any]
    ):
        self.submit, self.finished, self.running, self.add = submit, finished, running, add
        self.measured: dict[Any, tuple[_Node, int, Any]] = {}
        self.nodes: dict[tuple[int, int], _Node] = {}

    def of(
        self, starts: Sequence[Callable[[], Any]], seen: Callable[[int, Features | None], Any]
    ) -> list[Piece]:
        """Return the pieces of the sum, in the order of their features.

        Parameters
        ----------
        starts : sequence of callables
            Each starts the work on one part, and returns the future of its `Part`.
        seen : callable
            Called with the number of a part and its features when its state is there.
        """
        counts = [len(starts)]
        while counts[-1] > 1:
            counts.append((counts[-1] + 1) // 2)
        started = done = 0
        while True:
            while started < min(len(starts), done + self.running):
                self._measure(_Node(0, started), 0, starts[started]())
                started += 1
            future = next(self.finished)
            node, first, part = self.measured.pop(future)
            size, middle, features = future.result()
            node.unmeasured -= 1
            if size > LIMIT and middle:
                for start, stop in ((0, middle), (middle, None)):
                    self._measure(node, first + start, self._submit(Part.cut, part, start, stop))
            else:
                node.pieces[first] = Piece(first, size, part)
            if node.unmeasured:
                continue
            if not node.level:
                done += 1
                seen(node.index, features)
            top = self._ascend(node, counts)
            if top is not None:
                return [top.pieces[first] for first in sorted(top.pieces)]

    def _ascend(self, node: _Node, counts: list[int]) -> _Node | None:
        """Add a node to its neighbour if that is there; return the one that is the whole sum."""
        while node.level < len(counts) - 1:
            level, neighbour = node.level, node.index ^ 1
            if neighbour < counts[level]:
                other = self.nodes.pop((level, neighbour), None)
                if other is None:
                    self.nodes[level, node.index] = node
                else:
                    self._combine(*sorted((node, other), key=lambda each: each.index))
                return None
            node.level, node.index = level + 1, node.index // 2
        return node

    def _combine(self, left: _Node, right: _Node) -> None:
        both = _Node(left.level + 1, left.index // 2)
        firsts = sorted({*left.pieces, *right.pieces})
        for first, stop in zip(firsts, [*firsts[1:], None], strict=True):
            halves: list[Any] = []
            for node in (left, right):
                start = max(k for k in node.pieces if k <= first)
                whole = start == first and (stop is None or stop in node.pieces)
                cut = None if whole else (first - start, None if stop is None else stop - start)
                halves += [node.pieces[start].result, cut]
            self._measure(both, first, self._submit(_add_cut, self.add, *halves))

    def _measure(self, node: _Node, first: int, part: Any) -> None:
        node.unmeasured += 1
        future = self._submit(Part.measure, part, priority=2)
        self.measured[future] = node, first, part
        self.finished.add(future)

    def _submit(self, function: Callable[..., Any], *args: Any, priority: int = 1) -> Any:
        return self.submit(function, *args, priority=priority)


def _add_cut(add: Callable[[Any, Any], Any], a: Part, of_a: Any, b: Part, of_b: Any) -> Part:
    """Return the sum of two states, or of the given features of these."""
    return add_parts(add, *(p if cut is None else p.cut(*cut) for p, cut in ((a, of_a), (b, of_b))))
