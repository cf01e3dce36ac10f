"""Interrupts at any line of the library, and what is called there."""

from __future__ import annotations

import copy
import linecache
import signal
import sys
from contextlib import suppress
from pathlib import Path

import narrows

SOURCE = str(Path(narrows.__file__).parent)


class AtLine:
    """Sends SIGINT to this process at one line of the library that is run, or calls a function."""

    def __init__(self, number, call=lambda: signal.raise_signal(signal.SIGINT)):
        self.left, self.call = number, call

    def __call__(self, frame, event, arg):
        code = frame.f_code
        if not code.co_filename.startswith(SOURCE):
            return None
        line = linecache.getline(code.co_filename, frame.f_lineno)
        # at the end of a `with` its line comes again, where no signal handler is ever called
        if event == "line" and not line.strip().startswith("with "):
            self.left -= 1
            if self.left == 0:
                self.call()
        return self


def run_traced(function, number=0):
    """Call the function, interrupt it at its line of that number, and say how many were run.

    KeyboardInterrupt has to come before its end, if there is a line of that number.
    """
    at = AtLine(number)
    before = sys.gettrace()
    sys.settrace(at)
    try:
        with suppress(KeyboardInterrupt):
            function()
            assert not number or at.left > 0, "an interrupt was lost"
    finally:
        sys.settrace(before)
    return number - at.left


def interleaved(model, act, share, call):
    """Return ``act(model)``, with `call` called after this share of its lines."""
    for _ in range(2):
        one = copy.deepcopy(model)
        lines = run_traced(lambda one=one: act(one))
    at = AtLine(max(1, int(share * lines)), call)
    before = sys.gettrace()
    sys.settrace(at)
    try:
        return act(model)
    finally:
        sys.settrace(before)
        assert at.left <= 0


def stopped(model, act, times):
    """Yield copies of a model, or a state, interrupted at another line of `act` each."""
    unread = copy.deepcopy(model)  # reading may sort in what waits
    for _ in range(2):  # the first may import and compile
        done = copy.deepcopy(unread)
        lines = run_traced(lambda done=done: act(done))
    numbers, missed = range(1, lines, max(1, lines // times)), 0
    for number in numbers:
        one = copy.deepcopy(unread)
        if run_traced(lambda one=one: act(one), number) < number:
            missed += 1  # other threads have run some of the lines
        yield one
    assert missed <= len(numbers) / 2
