"""Reading ahead, so that parsing goes on while what was read is learnt."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
_DEPTH = 1  # items that wait, while another is being made


def prefetch(items: Iterable[T]) -> Iterator[T]:
    """Yield what `items` yields, made by a thread of its own that is at most two items ahead.

    One waits while the next is being made. What goes wrong there is raised here, in its turn. The
    thread ends with the generator; it never holds the process up.
    """
    waiting: queue.Queue[Any] = queue.Queue(_DEPTH)
    stopped = threading.Event()
    end = object()

    def put(what: Any) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(what, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            for item in items:
                if not put((item, None)):
                    return
        except BaseException as error:  # whatever it is, it is for whoever waits
            put((end, error))
        else:
            put((end, None))

    thread = threading.Thread(target=read, name="narrows-reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = waiting.get()
            if error is not None:
                raise error
            if item is end:
                return
            yield item
    finally:
        stopped.set()
