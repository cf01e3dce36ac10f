"""Parts of the work side by side, on all cores: for what lets go of the GIL."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import chain, islice
from typing import TypeVar

import joblib


def _cores() -> int:
    """Return how many this process may use.

    `OMP_NUM_THREADS` says so where it is set, as in each worker of a cluster; else what CPU
    affinity, the limits of a container, and `LOKY_MAX_CPU_COUNT` leave.
    """
    given = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return joblib.cpu_count()
    except ValueError:  # LOKY_MAX_CPU_COUNT is no number
        return os.cpu_count() or 1


CORES = _cores()


Part = TypeVar("Part")
Answer = TypeVar("Answer")


@cache
def _threads() -> ThreadPoolExecutor:
    """Those of this process: new ones would wait for a core as long as their work takes."""
    return ThreadPoolExecutor(CORES, "narrows")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a fork has none of them


def each(function: Callable[[Part], Answer], parts: Iterable[Part]) -> list[Answer]:
    """Return [function(part) for part in parts], as many at a time as there are cores.

    `parts` is read as far as is begun, and one further. `function` does not call this.
    """
    source = iter(parts)
    first = list(islice(source, 2))
    if len(first) < 2:
        return [function(part) for part in first]
    begun: deque[Future[Answer]] = deque()
    answers: list[Answer] = []
    try:
        for part in chain(first, source):
            if len(begun) > CORES:
                answers.append(begun[0].result())
                begun.popleft()
            begun.append(_threads().submit(function, part))
        return answers + [future.result() for future in begun]
    finally:  # after an error, too, none goes on behind the caller's back
        for future in begun:
            future.cancel()
        wait(begun)
