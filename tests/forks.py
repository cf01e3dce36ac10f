"""Work in forks of this process: processes of their own that have imported everything."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from unittest import mock


def holds_in_a_fork(hold, works):
    """Whether `works()` is true in a fork that is made while another thread is in ``hold(wait)``.

    That has to call ``wait()`` in the middle of what it does.
    """
    held, go_on = threading.Event(), threading.Event()

    def wait():
        held.set()
        go_on.wait(timeout=60)

    thread = threading.Thread(target=hold, args=(wait,))
    thread.start()
    assert held.wait(timeout=60)
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # not that of pytest-timeout
        signal.alarm(30)
        os._exit(17 if works() else 1)
    _, status = os.waitpid(child, 0)
    go_on.set()
    thread.join(timeout=60)
    return os.waitstatus_to_exitcode(status) == 17


def forked(work):
    """Start `work()` in a fork; its exit code is what `work` returns, or that of SIGALRM."""

    def run():
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # not that of pytest-timeout
        signal.alarm(120)
        os._exit(work() or 0)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    return process


def exit_code(process, limit=150):
    """Wait until a fork has ended, and return its exit code; kill one that does not end."""
    process.join(timeout=limit)
    if process.is_alive():
        process.kill()
        process.join(timeout=limit)
        raise AssertionError(f"expected a process that ends within {limit} s, got one that runs")
    return process.exitcode


@contextmanager
def piped_input(content):
    """Make standard input a pipe with this content, which another thread writes."""
    reading, writing = os.pipe()

    def write():
        with suppress(BrokenPipeError), open(writing, "wb") as sink:
            sink.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with open(reading) as stdin, mock.patch.object(sys, "stdin", stdin):
            yield
            for thread in threading.enumerate():  # one may still read from the pipe
                if thread.name == "narrows-reader":
                    thread.join(timeout=60)
    finally:
        writer.join(timeout=60)
