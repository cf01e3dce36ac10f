"""Ctrl-C between two steps of a loop, and never in the middle of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def interrupt_between(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, and delay Ctrl-C until the loop's body has finished with an item.

    While the next item is awaited, Ctrl-C takes effect at once.
    """
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or previous is None:
        yield from items
        return
    waiting, caught = False, False

    def on_interrupt(number: int, frame: object) -> None:
        nonlocal caught
        caught = True
        if waiting:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, on_interrupt)
    try:
        iterator = iter(items)
        while True:
            waiting = True
            try:
                if caught:
                    raise KeyboardInterrupt
                item = next(iterator)
            except StopIteration:
                return
            finally:
                waiting = False
            yield item
    finally:
        signal.signal(signal.SIGINT, previous)
