"""Parts of the work side by side, on all cores: for what lets go of the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar


def _cores() -> int:
    """How many there are to be used: fewer where told, as each worker of a cluster is."""
    told = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return int(told) if told.isdigit() and int(told) else os.cpu_count() or 1


CORES = _cores()


Part = TypeVar("Part")
Answer = TypeVar("Answer")


def each(function: Callable[[Part], Answer], parts: Iterable[Part]) -> list[Answer]:
    """Return [function(part) for part in parts], as many at a time as there are cores."""
    parts = list(parts)
    if len(parts) < 2:
        return [function(part) for part in parts]
    with ThreadPoolExecutor(min(CORES, len(parts))) as threads:
        return list(threads.map(function, parts))
