"""Reading ahead: a thread parses the next chunks while the estimator learns."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
_DEPTH = 1  # items that wait while another is being made
_LONGEST = 0.3  # seconds to wait for a thread that is not needed any more


def prefetch(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, which a thread makes, at most two of them ahead.

    One item waits while the next is being made. An error of the thread is raised here, after the
    items before it. The thread ends with the generator, and never keeps the process alive.
    """
    waiting: queue.Queue[Any] = queue.Queue(_DEPTH)
    stopped = threading.Event()
    end = object()

    def put(item: Any) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            for item in items:
                if not put((item, None)):
                    return
        except BaseException as error:  # any error is raised where the items are used
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
        thread.join(_LONGEST)  # Python may abort where it ends while a library reads in a thread
