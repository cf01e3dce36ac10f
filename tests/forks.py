"""What tests of threads share."""

from __future__ import annotations

import os
import signal
import threading


def holds_in_a_fork(lock, works):
    """Whether `works()` is true in a fork that is made while another thread holds the lock."""
    held, go_on = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            go_on.wait(timeout=60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(timeout=60)
    child = os.fork()
    if not child:
        signal.alarm(30)
        os._exit(17 if works() else 1)
    _, status = os.waitpid(child, 0)
    go_on.set()
    thread.join(timeout=60)
    return os.waitstatus_to_exitcode(status) == 17
