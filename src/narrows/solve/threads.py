"""A thread pool on all available cores, for functions that release the GIL."""

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
    """Return the number of cores that this process may use.

    That is `OMP_NUM_THREADS` where it is set, as in each worker of a cluster; else what CPU
    affinity, the limits of a container, and `LOKY_MAX_CPU_COUNT` allow.
    """
    given = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return joblib.cpu_count()
    except ValueError:  # LOKY_MAX_CPU_COUNT is not a number
        return os.cpu_count() or 1


CORES = _cores()


Part = TypeVar("Part")
Answer = TypeVar("Answer")


@cache
def _threads() -> ThreadPoolExecutor:
    """Return the pool of this process: starting new threads costs as much as their work."""
    return ThreadPoolExecutor(CORES, "narrows")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a fork has no threads


def each(function: Callable[[Part], Answer], parts: Iterable[Part]) -> list[Answer]:
    """Return [function(part) for part in parts], computed on all cores.

    `parts` is consumed only one part ahead of the work. `function` must not call `each`.
    """
    source = iter(parts)
    first = list(islice(source, 2))
    if len(first) < 2:
        return [function(part) for part in first]
    running: deque[Future[Answer]] = deque()
    answers: list[Answer] = []
    try:
        for part in chain(first, source):
            if len(running) > CORES:
                answers.append(running[0].result())
                running.popleft()
            running.append(_threads().submit(function, part))
        return answers + [future.result() for future in running]
    finally:  # after an error, too, no thread continues in the background
        for future in running:
            future.cancel()
        wait(running)
