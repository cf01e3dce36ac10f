"""Reading ahead in a thread, and Ctrl-C between two items."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from tests.inside import interrupt_between, prefetch


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "narrows-reader"]


def gone():
    """Wait until no reader is left."""
    until = time.monotonic() + 10
    while readers() and time.monotonic() < until:
        time.sleep(0.01)
    return not readers()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_items_and_an_error_come_in_their_order(error):
    def items():
        yield from range(1000)
        yield None
        raise error("here")

    reading = prefetch(items())
    assert [next(reading) for _ in range(1001)] == [*range(1000), None]
    with pytest.raises(error, match="here"):
        next(reading)
    assert list(prefetch([])) == []
    assert gone()


@pytest.mark.slow
def test_it_is_never_far_ahead():
    made = []

    def items():
        for k in range(20):
            made.append(k)
            yield k

    reading = prefetch(items())
    assert made == []
    for k in reading:
        time.sleep(0.01)
        assert len(made) <= k + 4  # this one, two that wait, and one in the making
    assert made == list(range(20))


def test_a_reader_that_is_left_ends_and_closes_what_it_read():
    closed = threading.Event()

    def items():
        try:
            while True:
                yield 1
        finally:
            closed.set()

    reading = prefetch(items())
    assert next(reading) == 1
    reading.close()
    assert gone()
    assert closed.wait(10)
    reading = prefetch(items())
    next(reading)
    del reading
    assert gone()


def test_an_interrupt_waits_for_the_item_to_be_done():
    done, before = [], signal.getsignal(signal.SIGINT)

    def work():
        for item in interrupt_between([1, 2, 3]):
            if item == 2:
                signal.raise_signal(signal.SIGINT)
            done.append(item)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1, 2]
    reading = interrupt_between([1, 2])
    next(reading)
    assert signal.getsignal(signal.SIGINT) is not before
    reading.close()
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_while_waiting_comes_at_once():
    before, never = signal.getsignal(signal.SIGINT), threading.Event()

    def items():
        yield 1
        never.wait(60)

    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(interrupt_between(prefetch(items())))
    assert time.monotonic() - started < 10
    assert signal.getsignal(signal.SIGINT) is before
    never.set()
    assert gone()
